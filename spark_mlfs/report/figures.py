"""The figures of the reports as values: the template `plot` draws them as HTML with inline SVG, without library or script.

The SVG is stretched to the width it gets, while its texts are HTML placed by per cent: they keep their size on a phone and on a
wide screen alike.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence

import numpy as np

from ..markup import number

MOST_POINTS = 1500  # of a curve: more cannot be told apart


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Return round numbers between `low` and `high`."""
    span = high - low
    if not span > 0:
        return [low]
    raw = span / about
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * k for k in (1, 2, 2.5, 5, 10) if unit * k >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


class Plot:
    """A figure over the ranges `across` and `up`, its places in per cent, to `digits` decimals: `strokes` (kind, x1, x2, y1, y2),
    `shapes` (tag, kind, corners, tooltip), `texts` (kind, style, text) and `points` (kind, style, tooltip, sign, side, name)."""

    def __init__(
        self, title: str, x_title: str, across: tuple[float, float], up: tuple[float, float], digits: int, summary: str = ""
    ):
        self.title, self.x_title, self.summary = title, x_title, summary or title
        self.across, self.up, self.digits = across, up, digits
        self.strokes: list[tuple[str, str, str, str, str]] = []
        self.shapes: list[tuple[str, str, str, str]] = []
        self.texts: list[tuple[str, str, str]] = []
        self.points: list[tuple[str, str, str, str, str, str]] = []
        for value in ticks(*up):
            self.line("grid", value, value)
            self.texts.append(("ty", f"top:{self.cent(self.y(value))}%", number(value, 3)))

    def x(self, value: float) -> float:
        """Return the place of a value from the left, in per cent."""
        first, last = self.across
        return 100.0 * (value - first) / (last - first) if last > first else 50.0

    def y(self, value: float) -> float:
        """Return the place of a value from the top, in per cent."""
        low, high = self.up
        return 100.0 * (1 - (value - low) / (high - low))

    def cent(self, place: float) -> str:
        """Return a place as it is written."""
        return f"{place:.{self.digits}f}"

    def at(self, x: float, y: float) -> str:
        """Return the style of what stands at these values."""
        return f"left:{self.cent(self.x(x))}%;top:{self.cent(self.y(y))}%"

    def line(self, kind: str, start: float, end: float) -> None:
        """Draw a straight line from the left to the right, between two heights."""
        self.strokes.append((kind, "0", "100", self.cent(self.y(start)), self.cent(self.y(end))))

    def upright(self, kind: str, value: float) -> None:
        """Draw a line from the bottom to the top."""
        self.strokes.append((kind, self.cent(self.x(value)), self.cent(self.x(value)), "0", "100"))

    def axis(self, values: Iterable[float], text: Callable[[float], str] = number) -> None:
        """Write values below the figure."""
        for value in values:
            place = self.x(value)
            self.texts.append(("tx end" if place > 96 else "tx", f"left:{self.cent(place)}%", text(value)))

    def shape(self, tag: str, kind: str, corners: Iterable[tuple[float, float]], tooltip: str = "") -> None:
        """Draw a polyline or a polygon through values."""
        written = " ".join(f"{self.cent(self.x(a))},{self.cent(self.y(b))}" for a, b in corners)
        self.shapes.append((tag, kind, written, tooltip))

    def dots(self, points: Sequence[tuple[float, float, str]]) -> None:
        """Mark values that tell what they are when they are pointed at; of many none."""
        self.points += [("dot", self.at(a, b), text, "", "", "") for a, b, text in points if len(points) <= 100]


def curve(
    values: Sequence[float] | np.ndarray,
    x_title: str,
    y_title: str,
    mark: int | None = None,
    mark_text: str = "",
    names: Sequence[str] = (),
    first: int = 1,
    levels: Sequence[tuple[Sequence[float], str]] = (),
    band: tuple[Sequence[float], Sequence[float]] | None = None,
) -> Plot | None:
    """Return a line of `values` over the whole numbers from `first`; `mark` draws a line at that x; `names` of up to 100 points
    are shown when they are pointed at; `levels` are further straight lines: their height at the first and at the last point, a
    name; `band` the lower and the upper edge of what the line may be.
    """
    n = len(values)
    if n < 2:
        return None
    heights = [h for ends, _ in levels for h in ends] + [h for edge in band or () for h in edge]
    low, high = min(0.0, *values, *heights), max(0.0, *values, *heights)
    if high == low:
        high = low + 1.0
    if min(values) > 0.5 * high:  # far from zero: show the shape
        margin = 0.08 * (high - min(values)) or 0.5 * high
        low = max(0.0, min(values) - margin)
    high += 0.04 * (high - low)
    last = first + n - 1
    summary = f"{y_title} from {number(values[0])} at {first} to {number(values[-1])} at {last}"
    plot = Plot(y_title, x_title, (first, last), (low, high), 3, summary)
    plot.axis(sorted({first, *(int(t) for t in ticks(first, last, 5) if t == int(t) and t > first)}))
    if mark is not None and first < mark < last:
        plot.upright("mark", mark)
        left = plot.x(mark)
        plot.texts.append(("note", f"right:{100 - left:.3f}%" if left > 60 else f"left:{left:.3f}%", mark_text))
    for (start, end), what in levels:
        plot.line("mark", start, end)
        place = plot.y(end)  # the text below the line, or above where there is no room
        plot.texts.append(("note", f"right:0;top:{place + 1 if place < 85 else place - 11:.3f}%", what))
    places = sorted({*range(0, n, max(1, -(-n // MOST_POINTS))), n - 1})
    line = [(i + first, values[i]) for i in places]
    if band is not None:
        edges = [(i + first, band[1][i]) for i in places] + [(i + first, band[0][i]) for i in reversed(places)]
        plot.shape("polygon", "area", edges)
    elif low <= 0:  # an area says "from zero": none where the axis starts elsewhere
        plot.shape("polygon", "area", [(first, 0.0), *line, (last, 0.0)])
    plot.shape("polyline", "line", line)
    pointed = zip(names, values, strict=False) if n <= 100 else ()
    plot.dots([(i, value, f"{i}. {name}: {number(value)}") for i, (name, value) in enumerate(pointed, first)])
    return plot


def path_of(
    points: Sequence[tuple[float, float]], x_title: str, y_title: str, names: Sequence[str], mark: float | None
) -> Plot | None:
    """Return a line through points of rising x, from (0, 0); `names` of up to 100 of them are shown when they are pointed at;
    `mark` draws a line at that x."""
    if not points:
        return None
    x, y = points[-1]
    low, high = min(0.0, *(value for _, value in points)), 1.04 * max(0.0, *(value for _, value in points)) or 1.0
    right = max(x, mark or 0.0)
    plot = Plot(y_title, x_title, (0.0, right), (low, high), 3, f"{y_title} up to {number(y)} at {x_title} {number(x)}")
    plot.shape("polyline", "line", [(0.0, 0.0), *points])
    plot.axis(ticks(0.0, right, 5), lambda value: number(value, 3))
    if mark is not None:
        plot.upright("mark", mark)
        plot.texts.append(("note", f"right:{100 - plot.x(mark):.3f}%", f"budget {number(mark)}"))
    plot.dots([(a, b, f"{name}: {number(b)} for {number(a)}") for name, (a, b) in zip(names, points, strict=True)])
    return plot
