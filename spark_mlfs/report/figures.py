"""The figures of the reports as values: templates draw them as HTML with inline SVG, which is
stretched to the width it gets, while its texts are placed by per cent and keep their size. Colours
of methods are the classes s0 ... s11."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..markup import number

MOST_POINTS = 1500  # of a curve: more cannot be told apart
COLOURS = 12
LIGHT = (
    "2f63d6 d1495b 1f9d8a b7791f 8a56c9 3d8b37 c4569f 0f86b5 7a5c48 5a6b7f a3a012 e0632d".split()
)
DARK = "82a8ff ff8b98 54c8b5 e8b45c b692ea 86cf7e f096d2 63c6ee c9a58d a5b4c6 d6d356 ff9d6e".split()
PALETTE = list(zip(LIGHT, DARK, strict=True))
MARKS = "●■▲▼◆★✖"  # as many as have no divisor in common with the colours: 84 methods differ


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
    """A figure over the ranges `across` and `up`, its places in per cent, to `digits` decimals:
    `strokes` (kind, x1, x2, y1, y2), `shapes` (tag, kind, corners, tooltip), `texts` (kind, style,
    text) and `points` (kind, style, tooltip, sign, side, name)."""

    def __init__(
        self,
        title: str,
        x_title: str,
        across: tuple[float, float],
        up: tuple[float, float],
        digits: int,
        summary: str = "",
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
        return f"{place:.{self.digits}f}"

    def at(self, x: float, y: float) -> str:
        return f"left:{self.cent(self.x(x))}%;top:{self.cent(self.y(y))}%"

    def line(self, kind: str, start: float, end: float) -> None:
        """Draw a straight line from the left to the right, between two heights."""
        self.strokes.append((kind, "0", "100", self.cent(self.y(start)), self.cent(self.y(end))))

    def upright(self, kind: str, value: float) -> None:
        """Draw a line from the bottom to the top."""
        self.strokes.append((kind, self.cent(self.x(value)), self.cent(self.x(value)), "0", "100"))

    def axis(self, values: Iterable[float], text: Callable[[float], str] = number) -> None:
        for value in values:
            place = self.x(value)
            self.texts.append(
                ("tx end" if place > 96 else "tx", f"left:{self.cent(place)}%", text(value))
            )

    def shape(
        self, tag: str, kind: str, corners: Iterable[tuple[float, float]], tooltip: str = ""
    ) -> None:
        """Draw a polyline or a polygon through values."""
        written = " ".join(f"{self.cent(self.x(a))},{self.cent(self.y(b))}" for a, b in corners)
        self.shapes.append((tag, kind, written, tooltip))

    def dots(self, points: Sequence[tuple[float, float, str]]) -> None:
        """Mark values that tell what they are when they are pointed at; of many none."""
        self.points += [
            ("dot", self.at(a, b), text, "", "", "") for a, b, text in points if len(points) <= 100
        ]


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
    """Return a line of `values` over the whole numbers from `first`; `mark` draws a line at that x;
    `names` of up to 100 points are shown when they are pointed at; `levels` are further straight
    lines: their height at the first and at the last point, a name; `band` the lower and the upper
    edge of what the line may be."""
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
    plot.axis(
        sorted({first, *(int(t) for t in ticks(first, last, 5) if t == int(t) and t > first)})
    )
    if mark is not None and first < mark < last:
        plot.upright("mark", mark)
        left = plot.x(mark)
        plot.texts.append(
            ("note", f"right:{100 - left:.3f}%" if left > 60 else f"left:{left:.3f}%", mark_text)
        )
    for (start, end), what in levels:
        plot.line("mark", start, end)
        place = plot.y(end)  # the text below the line, or above where there is no room
        plot.texts.append(
            ("note", f"right:0;top:{place + 1 if place < 85 else place - 11:.3f}%", what)
        )
    places = sorted({*range(0, n, max(1, -(-n // MOST_POINTS))), n - 1})
    line = [(i + first, values[i]) for i in places]
    if band is not None:
        edges = [(i + first, band[1][i]) for i in places] + [
            (i + first, band[0][i]) for i in reversed(places)
        ]
        plot.shape("polygon", "area", edges)
    elif low <= 0:  # an area says "from zero": none where the axis starts elsewhere
        plot.shape("polygon", "area", [(first, 0.0), *line, (last, 0.0)])
    plot.shape("polyline", "line", line)
    pointed = zip(names, values, strict=False) if n <= 100 else ()
    plot.dots(
        [
            (i, value, f"{i}. {name}: {number(value)}")
            for i, (name, value) in enumerate(pointed, first)
        ]
    )
    return plot


def path_of(
    points: Sequence[tuple[float, float]],
    x_title: str,
    y_title: str,
    names: Sequence[str],
    mark: float | None,
) -> Plot | None:
    """Return a line through points of rising x, from (0, 0), with up to 100 `names`; `mark` draws a
    line at that x."""
    if not points:
        return None
    x, y = points[-1]
    low, high = (
        min(0.0, *(value for _, value in points)),
        1.04 * max(0.0, *(value for _, value in points)) or 1.0,
    )
    right = max(x, mark or 0.0)
    plot = Plot(
        y_title,
        x_title,
        (0.0, right),
        (low, high),
        3,
        f"{y_title} up to {number(y)} at {x_title} {number(x)}",
    )
    plot.shape("polyline", "line", [(0.0, 0.0), *points])
    plot.axis(ticks(0.0, right, 5), lambda value: number(value, 3))
    if mark is not None:
        plot.upright("mark", mark)
        plot.texts.append(("note", f"right:{100 - plot.x(mark):.3f}%", f"budget {number(mark)}"))
    plot.dots(
        [
            (a, b, f"{name}: {number(b)} for {number(a)}")
            for name, (a, b) in zip(names, points, strict=True)
        ]
    )
    return plot


def mark(index: int) -> str:
    """The sign of the method of an index in the plan."""
    return MARKS[index % len(MARKS)]


def key_of(places: Mapping[str, int]) -> list[tuple[int, int, str, str]]:
    """Return place, colour, sign and name of each line or point of a figure."""
    return [(place, place % COLOURS, mark(place), name) for name, place in places.items()]


def _colour(index: int) -> str:
    return f"s s{index % COLOURS}"


def _range(values: Sequence[float], margin: float) -> tuple[float, float]:
    """The least and the largest value, and some room."""
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
    """Return a line a method over `across`; `level` is a dashed line, all features; `spread` (low,
    high) bands."""
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
        kind = _colour(place)
        if name in spread:
            lows, highs = spread[name]
            plot.shape(
                "polygon", f"band {kind}", [*_known(across, highs), *reversed(_known(across, lows))]
            )
        one = len(points) == 1
        for a, b in dict.fromkeys(
            (points[place % len(points)], points[-1])
        ):  # of many lines each has its own elsewhere
            plot.points.append(
                (f"mk {kind}", plot.at(a, b), name if one else "", mark(place), "", "")
            )
        if not one:
            tooltip = (
                f"{name}: {number(points[0][1])} at {number(first)}, "
                f"{number(points[-1][1])} at {number(last)}"
            )
            plot.shape("polyline", f"series {kind}", points, tooltip)
    return plot


def _known(across: Sequence[float], values: Sequence[float]) -> list[tuple[float, float]]:
    return [(a, v) for a, v in zip(across, values, strict=True) if v == v]


def scatter(
    title: str,
    points: Sequence[tuple[str, float, float]],
    places: Mapping[str, int],
    x_title: str,
    level: float | None = None,
) -> Plot | None:
    """Return a point a method: seconds across on a logarithmic axis, a metric upwards."""
    shortest = 1e-3
    known = [
        (name, a, math.log10(max(a, shortest)), v) for name, a, v in points if a == a and v == v
    ]
    if not known:
        return None
    exponents = [exponent for _, _, exponent, _ in known]
    level = math.nan if level is None else level
    first = math.floor(min(exponents))
    last = max(math.ceil(max(exponents) + 1e-9), first + 1)
    plot = Plot(
        title,
        x_title,
        (first, last),
        _range([v for v in (*(v for *_, v in known), level) if v == v], 0.1),
        2,
    )
    for power in range(first, last + 1):
        plot.upright("grid", power)
    plot.axis(range(first, last + 1), lambda power: f"{10.0**power:g}")
    if level == level:
        plot.line("whole", level, level)
    sides = beside(
        [p[0] for p in known], [plot.x(p[2]) for p in known], [plot.y(p[3]) for p in known]
    )
    for (name, seconds, exponent, value), side in zip(known, sides, strict=True):
        tooltip, place = f"{name}: {seconds:.3g} s, {number(value)}", places[name]
        plot.points.append(
            (f"mk {_colour(place)}", plot.at(exponent, value), tooltip, mark(place), side, name)
        )
    return plot


WIDTH, HEIGHT, LETTER, LINE, DOT = (
    210.0,
    210.0,
    6.6,
    15.0,
    8.0,
)  # pixels of the narrowest plot, of its text and points


def beside(names: Sequence[str], x: Sequence[float], y: Sequence[float]) -> list[str]:
    """On which side of its point (in per cent of the plot) each name has room: "left" for text that
    begins there, "right" for text that ends there, "" where it would lie on another name or point.
    The highest points come first."""
    sides = [""] * len(names)
    at = [(WIDTH * a / 100, HEIGHT * b / 100) for a, b in zip(x, y, strict=True)]
    taken = [(a - DOT, b - DOT, a + DOT, b + DOT) for a, b in at]
    for i in sorted(range(len(names)), key=lambda i: at[i][1]):
        (a, b), long = at[i], LETTER * len(names[i])
        spans = {
            "left": (a + DOT + 1, a + DOT + 1 + long),
            "right": (a - DOT - 1 - long, a - DOT - 1),
        }
        for side, (start, end) in spans.items():
            box = (start, b - LINE / 2, end, b + LINE / 2)
            others = taken[:i] + taken[i + 1 :]
            free = all(
                end <= o[0] or start >= o[2] or box[3] <= o[1] or box[1] >= o[3] for o in others
            )
            if free and start >= -40 and end <= WIDTH + 20:
                sides[i] = side
                taken.append(box)
                break
    return sides


@dataclass(frozen=True)
class Drawing:
    """A figure in pixels from the left and from the top: `strokes` (kind, or the method a line
    leads to; corners) and `texts` (x, y, anchor, text)."""

    width: float
    height: float
    strokes: list[tuple[str, list[tuple[float, float]]]]
    texts: list[tuple[float, float, str, str]]


def critical_differences(
    names: Sequence[str], ranks: np.ndarray, nemenyi: float, groups: Sequence[Sequence[int]]
) -> Drawing:
    """A critical difference diagram: methods at their mean ranks; bars join what Nemenyi's test
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
    strokes += [
        ("cd", [(x(1), 11), (x(1), 21)]),
        ("cd", [(x(1), 16), (end, 16)]),
        ("cd", [(end, 11), (end, 21)]),
    ]
    texts = [((x(1) + end) / 2, 10.0, "middle", f"CD {nemenyi:.3f}")]
    step = 1 if k <= 16 else 5
    for rank in (
        rank
        for rank in range(1, k + 1)
        if rank in (1, k) or (rank % step == 0 and k - rank >= step / 2)
    ):
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
        strokes.append(
            (names[method], [(x(ranks[method]), top), (x(ranks[method]), at), (side, at)])
        )
        words = [names[method], f"{ranks[method]:.2f}"]
        texts.append(
            (
                side + (-5 if west else 5),
                at + 4,
                "end" if west else "start",
                " ".join(words if west else words[::-1]),
            )
        )
    return Drawing(width, bars + 22 * half + 16, strokes, texts)


def heat(title: str, table: pd.DataFrame, larger: bool) -> dict[str, Any] | None:
    """Return a table of values as colours, each (value, share of full colour, whether it is the
    best); None where all are nan."""
    values = table.to_numpy(float)
    known = values[np.isfinite(values)]
    if not known.size:
        return None
    low, high = float(known.min()), float(known.max())
    shares = (values - low) / (high - low) if high > low else np.ones_like(values)
    top, shares = (high, shares) if larger else (low, 1 - shares)
    cells = [
        list(zip(*pair, strict=True)) for pair in zip(values, shares, values == top, strict=True)
    ]
    about = {
        "title": title,
        "down": table.index.name,
        "across": table.columns.name,
        "columns": list(table.columns),
    }
    return about | {"rows": list(zip(table.index, cells, strict=True))}
