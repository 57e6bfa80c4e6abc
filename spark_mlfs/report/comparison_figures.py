"""The comparison page's figures as values, which templates draw. Colours are the classes s0 ... s11 of the methods."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..markup import number
from .figures import Plot, ticks

COLOURS = 12
LIGHT = "2f63d6 d1495b 1f9d8a b7791f 8a56c9 3d8b37 c4569f 0f86b5 7a5c48 5a6b7f a3a012 e0632d".split()
MARKS = "●■▲▼◆★✖"  # as many as have no divisor in common with the colours: 84 methods differ


def mark(index: int) -> str:
    """The sign of the method of an index in the plan."""
    return MARKS[index % len(MARKS)]


def colour(index: int) -> str:
    """The class of the method of an index in the plan."""
    return f"s s{index % COLOURS}"


def _range(values: Sequence[float], margin: float) -> tuple[float, float]:
    """Return the least and the largest value, and some room."""
    low, high = min(values), max(values)
    room = margin * (high - low) or abs(high) * 0.05 or 0.5
    return low - room, high + room


def lines(
    title: str,
    across: Sequence[float],
    series: Mapping[str, Sequence[float]],
    places: Mapping[str, int],
    x_title: str,
    level: float | None = None,
    spread: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
) -> Plot | None:
    """Return a line a method over `across`; `level` is a dashed line, all features; `spread` (low, high) bands."""
    spread = spread or {}
    level = math.nan if level is None else level
    rows = [*series.values(), *(side for band in spread.values() for side in band), [level]]
    values = [v for row in rows for v in row if v == v]
    if not values or not len(across):
        return None
    first, last = min(across), max(across)
    plot = Plot(title, x_title, (first, last), _range(values, 0.06), 2)
    plot.axis([t for t in ticks(first, last, 5) if first <= t <= last] if last > first else [first])
    if level == level:
        plot.line("whole", level, level)
    for name, line in series.items():
        points, place = _known(across, line), places[name]
        if not points:
            continue
        kind = colour(place)
        if name in spread:
            lows, highs = spread[name]
            plot.shape("polygon", f"band {kind}", [*_known(across, highs), *reversed(_known(across, lows))])
        one = len(points) == 1
        for a, b in dict.fromkeys((points[place % len(points)], points[-1])):  # of many lines each has its own elsewhere
            plot.points.append((f"mk {kind}", plot.at(a, b), name if one else "", mark(place), "", ""))
        if not one:
            tooltip = f"{name}: {number(points[0][1])} at {number(first)}, {number(points[-1][1])} at {number(last)}"
            plot.shape("polyline", f"series {kind}", points, tooltip)
    return plot


def _known(across: Sequence[float], values: Sequence[float]) -> list[tuple[float, float]]:
    return [(a, v) for a, v in zip(across, values, strict=True) if v == v]


def scatter(
    title: str, points: Sequence[tuple[str, float, float]], places: Mapping[str, int], x_title: str, level: float | None = None
) -> Plot | None:
    """Return a point a method: seconds across on a logarithmic axis, a metric upwards."""
    shortest = 1e-3
    known = [(name, a, math.log10(max(a, shortest)), v) for name, a, v in points if a == a and v == v]
    if not known:
        return None
    exponents = [exponent for _, _, exponent, _ in known]
    level = math.nan if level is None else level
    first = math.floor(min(exponents))
    last = max(math.ceil(max(exponents) + 1e-9), first + 1)
    plot = Plot(title, x_title, (first, last), _range([v for v in (*(v for *_, v in known), level) if v == v], 0.1), 2)
    for power in range(first, last + 1):
        plot.upright("grid", power)
    plot.axis(range(first, last + 1), lambda power: f"{10.0**power:g}")
    if level == level:
        plot.line("whole", level, level)
    sides = beside([p[0] for p in known], [plot.x(p[2]) for p in known], [plot.y(p[3]) for p in known])
    for (name, seconds, exponent, value), side in zip(known, sides, strict=True):
        tooltip, place = f"{name}: {seconds:.3g} s, {number(value)}", places[name]
        plot.points.append((f"mk {colour(place)}", plot.at(exponent, value), tooltip, mark(place), side, name))
    return plot


WIDTH, HEIGHT, LETTER, LINE, DOT = 210.0, 210.0, 6.6, 15.0, 8.0  # pixels of the narrowest plot, of its text and points


def beside(names: Sequence[str], x: Sequence[float], y: Sequence[float]) -> list[str]:
    """On which side of its point (in per cent of the plot) each name has room: "left" for text that begins there, "right" for
    text that ends there, "" where it would lie on another name or point. The highest points come first."""
    sides = [""] * len(names)
    at = [(WIDTH * a / 100, HEIGHT * b / 100) for a, b in zip(x, y, strict=True)]
    taken = [(a - DOT, b - DOT, a + DOT, b + DOT) for a, b in at]
    for i in sorted(range(len(names)), key=lambda i: at[i][1]):
        (a, b), long = at[i], LETTER * len(names[i])
        spans = {"left": (a + DOT + 1, a + DOT + 1 + long), "right": (a - DOT - 1 - long, a - DOT - 1)}
        for side, (start, end) in spans.items():
            box = (start, b - LINE / 2, end, b + LINE / 2)
            others = taken[:i] + taken[i + 1 :]
            free = all(end <= o[0] or start >= o[2] or box[3] <= o[1] or box[1] >= o[3] for o in others)
            if free and start >= -40 and end <= WIDTH + 20:
                sides[i] = side
                taken.append(box)
                break
    return sides


@dataclass(frozen=True)
class Drawing:
    """A figure in pixels from the left and from the top: `strokes` (kind, or the method a line leads to; corners) and `texts`
    (x, y, anchor, text)."""

    width: float
    height: float
    strokes: list[tuple[str, list[tuple[float, float]]]]
    texts: list[tuple[float, float, str, str]]


def critical_differences(names: Sequence[str], ranks: Any, nemenyi: float, groups: Sequence[Sequence[int]]) -> Drawing:
    """A critical difference diagram: the methods on a line of mean ranks, best on the left; bars join those that Nemenyi's test
    does not tell apart."""
    ranks = np.asarray(ranks, float)
    k = len(ranks)
    half = (k + 1) // 2
    left, right, top, width = 150.0, 150.0, 46.0, 760.0

    def x(rank: float) -> float:
        return left + (width - left - right) * (rank - 1) / max(k - 1, 1e-9)

    bars = top + 12 + 9 * len(groups)
    end = min(x(1 + nemenyi), width - 6)
    strokes = [("axis", [(left, top), (width - right, top)])]
    strokes += [("cd", [(x(1), 11), (x(1), 21)]), ("cd", [(x(1), 16), (end, 16)]), ("cd", [(end, 11), (end, 21)])]
    texts = [((x(1) + end) / 2, 10.0, "middle", f"CD {nemenyi:.3f}")]
    step = 1 if k <= 16 else 5
    for rank in (rank for rank in range(1, k + 1) if rank in (1, k) or (rank % step == 0 and k - rank >= step / 2)):
        strokes.append(("axis", [(x(rank), top - 6), (x(rank), top)]))
        texts.append((x(rank), top - 10, "middle", str(rank)))
    for number_, group in enumerate(groups):
        a, z = min(ranks[i] for i in group), max(ranks[i] for i in group)
        at = top + 10 + 9 * number_
        strokes.append(("same", [(x(a) - 4, at), (x(z) + 4, at)]))
    for position, method in enumerate(np.argsort(ranks, kind="stable")):
        west = position < half
        at = bars + 22 * (position if west else k - 1 - position) + 8
        side = left - 12 if west else width - right + 12
        strokes.append((names[method], [(x(ranks[method]), top), (x(ranks[method]), at), (side, at)]))
        words = [names[method], f"{ranks[method]:.2f}"]
        texts.append((side + (-5 if west else 5), at + 4, "end" if west else "start", " ".join(words if west else words[::-1])))
    return Drawing(width, bars + 22 * half + 16, strokes, texts)


def heat(title: str, table: pd.DataFrame, larger: bool) -> dict[str, Any] | None:
    """Return a table of values as colours, each (value, share of full colour, whether it is the best); None where all are nan."""
    values = table.to_numpy(float)
    known = values[np.isfinite(values)]
    if not known.size:
        return None
    low, high = float(known.min()), float(known.max())
    shares = (values - low) / (high - low) if high > low else np.ones_like(values)
    top, shares = (high, shares) if larger else (low, 1 - shares)
    cells = [list(zip(*pair, strict=True)) for pair in zip(values, shares, values == top, strict=True)]
    about = {"title": title, "down": table.index.name, "across": table.columns.name, "columns": list(table.columns)}
    return about | {"rows": list(zip(table.index, cells, strict=True))}
