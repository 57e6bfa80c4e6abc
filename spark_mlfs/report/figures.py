"""The figures of the reports as values, which templates draw as HTML with inline SVG.

The SVG is stretched to the width it gets, while its texts are placed by per cent and keep their
size. Colours of methods are the classes s0 ... s11."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from typing import Any

import numpy as np
import pandas as pd

from ..markup import number

MOST_POINTS = 1500  # of a curve: more cannot be told apart
MOST_DOTS = 100  # that are marked, with a tooltip each
COLOURS = 12
LIGHT = (
    "2f63d6 d1495b 1f9d8a b7791f 8a56c9 3d8b37 c4569f 0f86b5 7a5c48 5a6b7f 8f8c0f e0632d".split()
)
DARK = "82a8ff ff8b98 54c8b5 e8b45c b692ea 86cf7e f096d2 63c6ee c9a58d a5b4c6 d6d356 ff9d6e".split()
PALETTE = list(zip(LIGHT, DARK, strict=True))
SHORTEST = 1e-3  # seconds on a logarithmic axis
MARKS = "●■▲▼◆★✖"  # as many as have no divisor in common with the colours: 84 methods differ


def ticks(low: float, high: float, count: int = 4) -> list[float]:
    """Return about `count` round numbers between `low` and `high`."""
    span = high - low
    if not span > 0:
        return [low]
    raw = span / count
    unit = 10.0 ** math.floor(math.log10(raw))
    steps = [unit * k for k in (1, 2, 2.5, 5, 10)]
    step = next(step for step in steps if step >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


def log_ticks(low: float, high: float) -> list[float]:
    """Return the powers of ten between two values; of few also twice and five times them."""
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(exponents) <= 4 else (1,)
    values = [float(step * 10**exponent) for exponent in exponents for step in steps]
    return [value for value in values if low <= value <= high]


class Plot:
    """A figure over the ranges `across` and `up`, its places in per cent, to `digits` decimals.

    It has `strokes` (kind, x1, x2, y1, y2), `shapes` (tag, kind, corners, tooltip), `texts` (kind,
    style, text) and `points` (kind, style, tooltip, sign, side, name); `log` of its values across
    is what counts."""

    def __init__(
        self,
        title: str,
        x_title: str,
        across: tuple[float, float],
        up: tuple[float, float],
        digits: int,
        summary: str = "",
        log: bool = False,
    ):
        self.title = title
        self.x_title = x_title
        self.summary = summary or title
        self.log = log
        self.across = across
        self.up = up
        self.digits = digits
        self.strokes: list[tuple[str, str, str, str, str]] = []
        self.shapes: list[tuple[str, str, str, str]] = []
        self.texts: list[tuple[str, str, str]] = []
        self.points: list[tuple[str, str, str, str, str, str]] = []
        for value in ticks(*up):
            self.line("grid", value, value)
            self.text("ty", f"top:{self.y_cent(value)}%", number(value, 3))

    def x(self, value: float) -> float:
        """Return the place of a value from the left, in per cent."""
        first, last = self.across
        if self.log:
            value, first, last = (math.log10(place) for place in (value, first, last))
        return 100.0 * (value - first) / (last - first) if last > first else 50.0

    def y(self, value: float) -> float:
        """Return the place of a value from the top, in per cent."""
        low, high = self.up
        return 100.0 * (1 - (value - low) / (high - low))

    def x_cent(self, value: float) -> str:
        return f"{self.x(value):.{self.digits}f}"

    def y_cent(self, value: float) -> str:
        return f"{self.y(value):.{self.digits}f}"

    def position(self, x: float, y: float) -> str:
        """Return the place of a point as style."""
        return f"left:{self.x_cent(x)}%;top:{self.y_cent(y)}%"

    def line(self, kind: str, start: float, end: float) -> None:
        """Draw a straight line from the left to the right, between two heights."""
        self.strokes.append((kind, "0", "100", self.y_cent(start), self.y_cent(end)))

    def upright(self, kind: str, value: float) -> None:
        """Draw a line from the bottom to the top."""
        x = self.x_cent(value)
        self.strokes.append((kind, x, x, "0", "100"))

    def text(self, kind: str, style: str, text: str) -> None:
        self.texts.append((kind, style, text))

    def axis(self, values: Iterable[float], text: Callable[[float], str] = number) -> None:
        """Write values below the figure."""
        for value in values:
            kind = "tx end" if self.x(value) > 96 else "tx"
            self.text(kind, f"left:{self.x_cent(value)}%", text(value))

    def shape(
        self,
        tag: str,
        kind: str,
        corners: Iterable[tuple[float, float]],
        tooltip: str = "",
    ) -> None:
        """Draw a polyline or a polygon through values."""
        places = " ".join(f"{self.x_cent(x)},{self.y_cent(y)}" for x, y in corners)
        self.shapes.append((tag, kind, places, tooltip))

    def dots(self, points: Sequence[tuple[float, float, str]]) -> None:
        """Mark points (x, y, tooltip); of more than `MOST_DOTS` none."""
        if len(points) <= MOST_DOTS:
            for x, y, tooltip in points:
                self.points.append(("dot", self.position(x, y), tooltip, "", "", ""))


def curve(  # noqa: PLR0913
    values: Sequence[float] | np.ndarray,
    x_title: str,
    y_title: str,
    mark: int | None = None,
    mark_text: str = "",
    names: Sequence[str] = (),
    first: int = 1,
    levels: Sequence[tuple[Sequence[float], str]] = (),
    band: tuple[Sequence[float], Sequence[float]] | None = None,
    log: bool = False,
) -> Plot | None:
    """Return a line of `values` over the whole numbers from `first`.

    `mark` draws a line at that x; `names` of up to `MOST_DOTS` points are shown when they are
    pointed at; `levels` are further straight lines: their height at the first and at the last
    point, a name; `band` the lower and the upper edge of what the line may be; `log`: more than
    `MOST_DOTS` values stand on a logarithmic axis, so that the first can be told apart."""
    n = len(values)
    if n < 2:
        return None
    last = first + n - 1
    heights = [height for ends, _ in levels for height in ends]
    heights += [height for edge in band or () for height in edge]
    low, high = _range_from_zero(values, heights)
    summary = f"{y_title} from {number(values[0])} at {first} to {number(values[-1])} at {last}"
    log = log and n > MOST_DOTS
    plot = Plot(
        y_title,
        f"{x_title}, on a log scale" if log else x_title,
        (first, last),
        (low, high),
        3,
        summary,
        log,
    )
    steps = log_ticks(first, last) if log else ticks(first, last, 5)
    whole_ticks = {int(tick) for tick in steps if tick == int(tick) > first}
    plot.axis(sorted({first, *whole_ticks}))
    if mark is not None and first < mark < last:
        plot.upright("mark", mark)
        left = plot.x(mark)
        style = f"right:{100 - left:.3f}%" if left > 60 else f"left:{left:.3f}%"
        plot.text("note", style, mark_text)
    for (start, end), name in levels:
        plot.line("mark", start, end)
        top = plot.y(end)  # the text is above a line that rises, else below where there is room
        is_above = top >= 85 or (end > start and top > 12)
        top = top - 11 if is_above else top + 1
        plot.text("note", f"right:0;top:{top:.3f}%", name)
    places = _thinned(n, log)
    line = [(i + first, values[i]) for i in places]
    if band is not None:
        lower, upper = band
        edges = [(i + first, upper[i]) for i in places]
        edges += [(i + first, lower[i]) for i in reversed(places)]
        plot.shape("polygon", "area", edges)
    elif low <= 0:  # an area says "from zero": none where the axis starts elsewhere
        plot.shape("polygon", "area", [(first, 0.0), *line, (last, 0.0)])
    plot.shape("polyline", "line", line)
    if n <= MOST_DOTS:
        dots = []
        for i, (name, value) in enumerate(zip(names, values, strict=False), first):
            dots.append((i, value, f"{i}. {name}: {number(value)}"))
        plot.dots(dots)
    return plot


def _thinned(n: int, log: bool) -> list[int]:
    """Return the places of at most about `MOST_POINTS` of n values, the last among them."""
    if log:
        ranks = np.geomspace(1, n, MOST_POINTS).round().astype(int)
        return [int(rank) - 1 for rank in np.unique(ranks)]
    step = max(1, -(-n // MOST_POINTS))
    return sorted({*range(0, n, step), n - 1})


def _range_from_zero(
    values: Sequence[float] | np.ndarray, heights: Sequence[float]
) -> tuple[float, float]:
    """Return the range of a curve: from zero, or where values are far from it around them."""
    low = min(chain((0.0,), values, heights))
    high = max(chain((0.0,), values, heights))
    if high == low:
        high = low + 1.0
    least = min(values)
    if least > 0.5 * high:
        margin = 0.08 * (high - least) or 0.5 * high
        low = max(0.0, least - margin)
    return low, high + 0.04 * (high - low)


def path_of(
    points: Sequence[tuple[float, float]],
    x_title: str,
    y_title: str,
    names: Sequence[str],
    mark: float | None,
) -> Plot | None:
    """Return a line through points of rising x, from (0, 0), with up to `MOST_DOTS` names.

    `mark` draws a line at that x."""
    if not points:
        return None
    last_x, last_y = points[-1]
    heights = [y for _, y in points]
    low = min(0.0, *heights)
    high = 1.04 * max(0.0, *heights) or 1.0
    right = max(last_x, mark or 0.0)
    summary = f"{y_title} up to {number(last_y)} at {x_title} {number(last_x)}"
    plot = Plot(
        y_title,
        x_title,
        (0.0, right),
        (low, high),
        3,
        summary,
    )
    plot.shape("polyline", "line", [(0.0, 0.0), *points])
    plot.axis(ticks(0.0, right, 5), lambda value: number(value, 3))
    if mark is not None:
        plot.upright("mark", mark)
        plot.text("note", f"right:{100 - plot.x(mark):.3f}%", f"budget {number(mark)}")
    dots = []
    for name, (x, y) in zip(names, points, strict=True):
        dots.append((x, y, f"{name}: {number(y)} for {number(x)}"))
    plot.dots(dots)
    return plot


# ---- methods ----


def mark(index: int) -> str:
    """Return the sign of the method of an index in the plan."""
    return MARKS[index % len(MARKS)]


def key_of(places: Mapping[str, int]) -> list[tuple[int, int, str, str]]:
    """Return place, colour, sign and name of each line or point of a figure."""
    return [(place, place % COLOURS, mark(place), name) for name, place in places.items()]


def _colour(index: int) -> str:
    return f"s s{index % COLOURS}"


def _range(values: Sequence[float], margin: float) -> tuple[float, float]:
    """Return the least and the largest value, with some room."""
    low = min(values)
    high = max(values)
    room = margin * (high - low) or abs(high) * 0.05 or 0.5
    return low - room, high + room


def lines(
    title: str,
    across: Sequence[float],
    series: Mapping[str, Sequence[float]],
    places: Mapping[str, int],
    x_title: str,
    level: float | None = None,
    up: tuple[float, float] | None = None,
) -> Plot | None:
    """Return a line a method over `across`.

    `level` is a dashed line, as of all features; what lies outside of the range `up` is drawn at
    its edge."""
    values = [y for line in series.values() for y in line if not math.isnan(y)]
    if level is not None and not math.isnan(level):
        values.append(level)
    if not values or not len(across):
        return None
    first = min(across)
    last = max(across)
    plot = Plot(
        title,
        x_title,
        (first, last),
        up or _range(values, 0.06),
        2,
    )
    if last > first:
        plot.axis([tick for tick in ticks(first, last, 5) if first <= tick <= last])
    else:
        plot.axis([first])
    _draw_level(plot, level)
    for name, line in series.items():
        points = _known(across, line)
        if points:
            _draw_series(plot, name, points, places[name])
    return plot


def _draw_series(
    plot: Plot,
    name: str,
    points: list[tuple[float, float]],
    place: int,
) -> None:
    """Draw the line of a method with its sign, or its only point."""
    kind = _colour(place)
    low, high = plot.up
    drawn = [(x, min(max(y, low), high)) for x, y in points]
    # of many lines each has its sign elsewhere, and at the end
    for x, y in dict.fromkeys((drawn[place % len(drawn)], drawn[-1])):
        tooltip = name if len(points) == 1 else ""
        plot.points.append((f"mk {kind}", plot.position(x, y), tooltip, mark(place), "", ""))
    if len(points) > 1:
        (first, start), (last, end) = points[0], points[-1]
        ends = f"{number(start)} at {number(first)}, {number(end)} at {number(last)}"
        plot.shape("polyline", f"series {kind}", drawn, f"{name}: {ends}")


def bars(
    title: str,
    x_title: str,
    edges: Sequence[float],
    counts: Sequence[float],
) -> Plot:
    """Return a histogram: the count of each of the ranges between `edges`."""
    largest = max(counts)
    first = edges[0]
    last = edges[-1]
    summary = f"{title} from {number(first)} to {number(last)}, at most {number(largest)} in a bar"
    plot = Plot(
        title,
        x_title,
        (first, last),
        (0.0, 1.06 * largest),
        3,
        summary,
    )
    plot.axis([tick for tick in ticks(first, last, 5) if first <= tick <= last])
    for low, high, count in zip(edges[:-1], edges[1:], counts, strict=True):
        corners = [(low, 0.0), (low, count), (high, count), (high, 0.0)]
        tooltip = f"{number(low, 3)} to {number(high, 3)}: {number(count)}"
        plot.shape("polygon", "column", corners, tooltip)
    return plot


def _draw_level(plot: Plot, level: float | None) -> None:
    if level is not None and not math.isnan(level):
        plot.line("whole", level, level)


def _known(across: Sequence[float], values: Sequence[float]) -> list[tuple[float, float]]:
    return [(x, y) for x, y in zip(across, values, strict=True) if not math.isnan(y)]


def scatter(
    title: str,
    points: Sequence[tuple[str, float, float]],
    places: Mapping[str, int],
    x_title: str,
    level: float | None = None,
) -> Plot | None:
    """Return a point a method: seconds across on a logarithmic axis, a metric upwards."""
    known = [point for point in points if not math.isnan(point[1]) and not math.isnan(point[2])]
    if not known:
        return None
    seconds = [max(x, SHORTEST) for _, x, _ in known]
    first = math.floor(math.log10(min(seconds)))
    last = max(math.ceil(math.log10(max(seconds)) + 1e-9), first + 1)
    heights = [y for _, _, y in known]
    if level is not None and not math.isnan(level):
        heights.append(level)
    powers = [10.0**power for power in range(first, last + 1)]
    plot = Plot(
        title,
        x_title,
        (powers[0], powers[-1]),
        _range(heights, 0.1),
        2,
        log=True,
    )
    for power in powers:
        plot.upright("grid", power)
    plot.axis(powers)
    _draw_level(plot, level)
    tooltips = [f"{name}: {number(x, 3)} s, {number(y)}" for name, x, y in known]
    named = [
        (name, x, y, tooltip)
        for (name, _, y), x, tooltip in zip(known, seconds, tooltips, strict=True)
    ]
    name_points(plot, named, places)
    return plot


def name_points(
    plot: Plot, points: Sequence[tuple[str, float, float, str]], places: Mapping[str, int]
) -> None:
    """Mark points (name, x, y, tooltip), with their names where there is room."""
    names = [name for name, *_ in points]
    across = [plot.x(x) for _, x, _, _ in points]
    down = [plot.y(y) for _, _, y, _ in points]
    sides = beside(names, across, down, _drawn_lines(plot))
    for (name, x, y, tooltip), side in zip(points, sides, strict=True):
        place = places[name]
        position = plot.position(x, y)
        plot.points.append((f"mk {_colour(place)}", position, tooltip, mark(place), side, name))


# pixels of the narrowest plot, of its text and points
WIDTH, HEIGHT = 210.0, 210.0
LETTER, LINE = 6.6, 15.0
DOT = 8.0
Box = tuple[float, float, float, float]  # left, top, right, bottom


def _drawn_lines(plot: Plot) -> list[Box]:
    """Return the room of a plot's dashed lines, and of the notes that begin at them."""
    boxes = []
    for kind, *ends in plot.strokes:
        left, right, top, bottom = map(float, ends)
        if kind != "grid":
            x = WIDTH * left / 100
            boxes.append(
                (x - 1, HEIGHT * top / 100 - 1, WIDTH * right / 100 + 1, HEIGHT * bottom / 100 + 1)
            )
    for kind, style, text in plot.texts:
        if kind == "note" and style.startswith("left:"):
            x = WIDTH * float(style.removeprefix("left:").removesuffix("%")) / 100
            boxes.append((x, 0.0, x + 2 * DOT + LETTER * len(text), LINE + 2))
    return boxes


def beside(
    names: Sequence[str],
    x: Sequence[float],
    y: Sequence[float],
    taken: Sequence[Box] = (),
) -> list[str]:
    """Return on which side of its point (in per cent of the plot) each name has room.

    It is "left" for text that begins there, "right" for text that ends there, "" where it would
    lie on another name or point, or on what is `taken`. The highest points come first."""
    sides = [""] * len(names)
    across = [WIDTH * left / 100 for left in x]
    down = [HEIGHT * top / 100 for top in y]
    points = list(zip(across, down, strict=True))
    boxes: list[Box] = [(px - DOT, py - DOT, px + DOT, py + DOT) for px, py in points]
    for i in sorted(range(len(names)), key=lambda i: points[i][1]):
        px, py = points[i]
        length = LETTER * len(names[i])
        others = boxes[:i] + boxes[i + 1 :]
        spans = {
            "left": (px + DOT + 1, px + DOT + 1 + length),
            "right": (px - DOT - 1 - length, px - DOT - 1),
        }
        for side, (start, end) in spans.items():
            box = (start, py - LINE / 2, end, py + LINE / 2)
            # a name over the edge would lie on a tick of an axis
            across_fits = 0 <= box[0] and box[2] <= WIDTH
            down_fits = 0 <= box[1] and box[3] <= HEIGHT
            inside = across_fits and down_fits
            # where the plot is wider, a line is further from the point, and not the name
            reach = (min(px, start), box[1], max(px, end), box[3])
            is_free = not any(_overlap(box, other) for other in others)
            is_free &= not any(_overlap(reach, line) for line in taken)
            if inside and is_free:
                sides[i] = side
                boxes.append(box)
                break
    return sides


def _overlap(box: Box, other: Box) -> bool:
    left, top, right, bottom = box
    return left < other[2] and right > other[0] and top < other[3] and bottom > other[1]


Stroke = tuple[str, list[tuple[float, float]]]


@dataclass(frozen=True)
class Drawing:
    """A figure in pixels from the left and from the top.

    It has `strokes` (kind, or the method a line leads to; corners) and `texts` (x, y, anchor,
    text)."""

    width: float
    height: float
    strokes: list[Stroke]
    texts: list[tuple[float, float, str, str]]


def critical_differences(
    names: Sequence[str],
    ranks: np.ndarray,
    nemenyi: float,
    groups: Sequence[Sequence[int]],
) -> Drawing:
    """Return a critical difference diagram: methods at their mean ranks.

    Bars join what Nemenyi's test does not tell apart."""
    ranks = np.asarray(ranks, float)
    k = len(ranks)
    half = (k + 1) // 2
    left, right = 150.0, 150.0
    top, width = 46.0, 760.0

    def x(rank: float) -> float:
        return left + (width - left - right) * (rank - 1) / max(k - 1, 1e-9)

    start = x(1)
    end = min(x(1 + nemenyi), width - 6)
    strokes: list[Stroke] = [
        ("axis", [(left, top), (width - right, top)]),
        ("cd", [(start, 11), (start, 21)]),
        ("cd", [(start, 16), (end, 16)]),
        ("cd", [(end, 11), (end, 21)]),
    ]
    texts = [((start + end) / 2, 10.0, "middle", f"CD {nemenyi:.3f}")]
    step = 1 if k <= 16 else 5
    for rank in range(1, k + 1):
        if rank in (1, k) or (rank % step == 0 and k - rank >= step / 2):
            place = x(rank)
            strokes.append(("axis", [(place, top - 6), (place, top)]))
            texts.append((place, top - 10, "middle", str(rank)))
    for bar, group in enumerate(groups):
        y = top + 10 + 9 * bar
        best = x(min(ranks[i] for i in group))
        worst = x(max(ranks[i] for i in group))
        strokes.append(("same", [(best - 4, y), (worst + 4, y)]))
    below_bars = top + 12 + 9 * len(groups)
    for position, method in enumerate(np.argsort(ranks, kind="stable")):
        name = names[method]
        rank = ranks[method]
        place = x(rank)
        # the better half is named on the left, downwards, the others on the right, upwards
        if position < half:
            y = below_bars + 22 * position + 8
            side = left - 12
            texts.append((side - 5, y + 4, "end", f"{name} {rank:.2f}"))
        else:
            y = below_bars + 22 * (k - 1 - position) + 8
            side = width - right + 12
            texts.append((side + 5, y + 4, "start", f"{rank:.2f} {name}"))
        strokes.append((name, [(place, top), (place, y), (side, y)]))
    return Drawing(width, below_bars + 22 * half + 16, strokes, texts)


def heat(title: str, table: pd.DataFrame, larger: bool) -> dict[str, Any] | None:
    """Return a table of values as colours; None where all are nan.

    A cell is (value, share of full colour, whether it is the best)."""
    values = table.to_numpy(float)
    known = values[np.isfinite(values)]
    if not known.size:
        return None
    low = float(known.min())
    high = float(known.max())
    shares = np.ones_like(values)
    if high > low:
        shares = (values - low) / (high - low)
    if not larger:
        shares = 1 - shares
    is_best = values == (high if larger else low)
    rows = []
    for name, *columns in zip(
        table.index,
        values,
        shares,
        is_best,
        strict=True,
    ):
        rows.append((name, list(zip(*columns, strict=True))))
    return {
        "title": title,
        "down": table.index.name,
        "across": table.columns.name,
        "columns": list(table.columns),
        "rows": rows,
    }
