"""Dot plots: a row a name, on one axis.

A row has dots with their intervals, or what a value was before and what it is after. They are drawn
as tables, so that names have the room they need and never stand on a tick."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import partial

from ..markup import number
from .figures import ticks

SHORT: Callable[[float], str] = partial(number, digits=2)
Mark = tuple[str, str, str]  # its kind, its place as style, its tooltip


@dataclass
class DotPlot:
    """Rows of (names, values as a text, marks) between `low` and `high`.

    `heads` are the titles of the names; with several `lines` the dots of a row stand below each
    other."""

    title: str
    heads: Sequence[str]
    low: float
    high: float
    rows: list[tuple[Sequence[str], str, list[Mark]]] = field(default_factory=list)
    lines: int = 1  # of dots in a row

    @property
    def axis(self) -> list[tuple[str, str]]:
        """Return the places of the axis' values, and these as texts."""
        values = ticks(self.low, self.high, 4)
        return [(f"{self.place(value):.2f}", number(value)) for value in values]

    def place(self, value: float) -> float:
        """Return the place of a value from the left, in per cent; the edge where it is beyond."""
        share = (value - self.low) / (self.high - self.low)
        return 100 * min(1.0, max(0.0, share))

    def dot(
        self,
        kind: str,
        value: float,
        top: str,
        tooltip: str = "",
    ) -> Mark:
        return f"at {kind}", f"left:{self.place(value):.2f}%;top:{top}", tooltip

    def bar(self, kind: str, values: tuple[float, float], top: str) -> Mark:
        """Return a line between two values."""
        left, right = (self.place(value) for value in sorted(values))
        return f"to {kind}", f"left:{left:.2f}%;width:{right - left:.2f}%;top:{top}", ""


def around(values: Iterable[float], least: float, most: float) -> tuple[float, float]:
    """Return a range of round numbers around values, `least` and `most` within it."""
    known = [value for value in values if math.isfinite(value)]
    low = min([least, *known])
    high = max([most, *known])
    steps = ticks(low, high, 6)
    if len(steps) < 2:
        return low, low + 1.0
    step = steps[1] - steps[0]
    return step * math.floor(low / step + 1e-9), step * math.ceil(high / step - 1e-9)


def before_and_after(
    title: str,
    heads: Sequence[str],
    rows: Iterable[tuple[Sequence[str], float, float]],
    least: float = 0.0,
    most: float = 0.0,
    text: Callable[[float], str] = SHORT,
) -> DotPlot | None:
    """Return a plot of the values of each row before and after, also as `text`; None of no rows.

    The axis reaches from `least` to `most` at least, and has zero in it."""
    listed = list(rows)
    if not listed:
        return None
    values = [value for _, *pair in listed for value in pair]
    low, high = around(values, min(0.0, least), max(0.0, most))
    plot = DotPlot(title, heads, low, high)
    for names, before, after in listed:
        ends = {"was": before, "is": after}
        known = {kind: value for kind, value in ends.items() if math.isfinite(value)}
        marks = [plot.bar("", (before, after), "50%")] if len(known) == 2 else []
        marks += [plot.dot(kind, value, "50%") for kind, value in known.items()]
        plot.rows.append((names, f"{text(before)} → {text(after)}", marks))
    return plot
