"""The comparison page's figures, as HTML with inline SVG: no library, no script. Colours are the classes s0 ... s11 of the
methods.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import numpy as np

from .figures import plot, scale, ticks
from .tables import number

COLOURS = 12
LIGHT = "2f63d6 d1495b 1f9d8a b7791f 8a56c9 3d8b37 c4569f 0f86b5 7a5c48 5a6b7f a3a012 e0632d".split()
MARKS = "●■▲▼◆★✖"  # as many as have no divisor in common with the colours: 84 methods differ


def mark(index: int) -> str:
    """The sign of the method of an index in the plan."""
    return MARKS[index % len(MARKS)]


def colour(index: int) -> str:
    """The class of the method of an index in the plan."""
    return f"s s{index % COLOURS}"


def lines(
    title: str,
    across: Sequence[float],
    series: Mapping[str, Sequence[float]],
    places: Mapping[str, int],
    x_title: str,
    level: float | None = None,
    spread: Mapping[str, tuple[Sequence[float], Sequence[float]]] | None = None,
) -> str:
    """A line a method over `across`; `level` is a dashed line, all features; `spread` (low, high) bands."""
    spread = spread or {}
    values = [v for line in series.values() for v in line if v == v]
    values += [v for band in spread.values() for side in band for v in side if v == v]
    values += [] if level is None or level != level else [level]
    if not values or not len(across):
        return ""
    low, high = min(values), max(values)
    margin = 0.06 * (high - low) or abs(high) * 0.05 or 0.5
    low, high = low - margin, high + margin
    first, last = min(across), max(across)
    width = (last - first) or 1.0

    def x(value: float) -> float:
        return 100 * (value - first) / width if last > first else 50.0

    def y(value: float) -> float:
        return 100 * (1 - (value - low) / (high - low))

    marks, labels = scale(low, high, y, 2)
    shown = [t for t in ticks(first, last, 5) if first <= t <= last] if last > first else [first]
    for value in shown:
        edge = " end" if x(value) > 96 else ""
        labels.append(f'<span class="tx{edge}" style="left:{x(value):.2f}%">{number(value)}</span>')
    if level is not None and level == level:
        marks.append(f'<line class="whole" x1="0" x2="100" y1="{y(level):.2f}" y2="{y(level):.2f}"/>')
    for name, line in series.items():
        points = [(x(a), y(v)) for a, v in zip(across, line, strict=True) if v == v]
        if not points:
            continue
        kind = colour(places[name])
        if name in spread:
            lows, highs = spread[name]
            around = [(a, v) for a, v in zip(across, highs, strict=True) if v == v]
            around += [(a, v) for a, v in reversed(list(zip(across, lows, strict=True))) if v == v]
            band = " ".join(f"{x(a):.2f},{y(v):.2f}" for a, v in around)
            marks.append(f'<polygon class="band {kind}" points="{band}"/>')
        if len(points) == 1:
            at = f"left:{points[0][0]:.2f}%;top:{points[0][1]:.2f}%"
            labels.append(f'<i class="mk {kind}" style="{at}" title="{escape(name)}">{mark(places[name])}</i>')
            continue
        for a, b in {points[places[name] % len(points)], points[-1]}:  # of many lines each has its own elsewhere
            labels.append(f'<i class="mk {kind}" style="left:{a:.2f}%;top:{b:.2f}%">{mark(places[name])}</i>')
        path = " ".join(f"{a:.2f},{b:.2f}" for a, b in points)
        ends = [v for v in line if v == v]
        tooltip = f"{name}: {number(ends[0])} at {number(first)}, {number(ends[-1])} at {number(last)}"
        marks.append(f'<polyline class="series {kind}" points="{path}"><title>{escape(tooltip)}</title></polyline>')
    return plot(title, marks, labels, x_title, title)


def scatter(
    title: str, points: Sequence[tuple[str, float, float]], places: Mapping[str, int], x_title: str, level: float | None = None
) -> str:
    """A point a method: seconds across on a logarithmic axis, a metric upwards."""
    points = [(name, a, v) for name, a, v in points if a == a and v == v]
    if not points:
        return ""
    shortest = 1e-3
    exponents = [math.log10(max(a, shortest)) for _, a, _ in points]
    first, last = math.floor(min(exponents)), math.ceil(max(exponents) + 1e-9)
    last = max(last, first + 1)
    values = [v for _, _, v in points] + ([] if level is None or level != level else [level])
    low, high = min(values), max(values)
    margin = 0.1 * (high - low) or abs(high) * 0.05 or 0.5
    low, high = low - margin, high + margin

    def y(value: float) -> float:
        return 100 * (1 - (value - low) / (high - low))

    marks, labels = scale(low, high, y, 2)
    for exponent in range(first, last + 1):
        left = 100 * (exponent - first) / (last - first)
        marks.append(f'<line class="grid" x1="{left:.2f}" x2="{left:.2f}" y1="0" y2="100"/>')
        edge = " end" if left > 96 else ""
        text = f"{10.0**exponent:g}"
        labels.append(f'<span class="tx{edge}" style="left:{left:.2f}%">{text}</span>')
    if level is not None and level == level:
        marks.append(f'<line class="whole" x1="0" x2="100" y1="{y(level):.2f}" y2="{y(level):.2f}"/>')
    across = [100 * (exponent - first) / (last - first) for exponent in exponents]
    sides = beside(names=[name for name, _, _ in points], x=across, y=[y(value) for _, _, value in points])
    for (name, seconds, value), left, side in zip(points, across, sides, strict=True):
        tooltip = f"{name}: {seconds:.3g} s, {number(value)}"
        text = f'<em class="{side}">{escape(name)}</em>' if side else ""
        labels.append(
            f'<i class="mk {colour(places[name])}" style="left:{left:.2f}%;top:{y(value):.2f}%" title="{escape(tooltip)}">'
            f"{mark(places[name])}{text}</i>"
        )
    return plot(title, marks, labels, x_title, title)


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


def drawn(drawing: Drawing, places: Mapping[str, int]) -> str:
    """A critical difference diagram as SVG."""
    out = []
    for kind, corners in drawing.strokes:
        path = "L".join(f"{a:.1f} {b:.1f}" for a, b in corners)
        out.append(f'<path class="{f"lead {colour(places[kind])}" if kind in places else kind}" d="M{path}"/>')
    out += [f'<text x="{a:.1f}" y="{b:.1f}" text-anchor="{anchor}">{escape(t)}</text>' for a, b, anchor, t in drawing.texts]
    summary = ", ".join(t for _, _, anchor, t in drawing.texts if anchor != "middle")
    svg = (
        f'<svg class="cdd" viewBox="0 0 {drawing.width:.0f} {drawing.height:.0f}" role="img" '
        f'aria-label="Mean ranks: {escape(summary)}">{"".join(out)}</svg>'
    )
    return f"<p class=hint>the diagram scrolls sideways →</p><div class=wide>{svg}</div>"


def heat(title: str, rows: tuple[str, Sequence[str]], columns: tuple[str, Sequence[str]], values: Any, larger: bool) -> str:
    """A table of values as colours, the best one framed."""
    values = np.asarray(values, float)
    known = values[np.isfinite(values)]
    if not known.size:
        return ""
    low, high = float(known.min()), float(known.max())
    top = high if larger else low
    lines = []
    for name, row in zip(rows[1], values, strict=True):
        cells = []
        for value in row:
            if value != value:
                cells.append("<td>–</td>")
                continue
            share = (value - low) / (high - low) if high > low else 1.0
            share = share if larger else 1 - share
            kind = " class=top" if value == top else ""
            cells.append(f'<td{kind} style="--h:{100 * share:.0f}%">{value:.3f}</td>')
        lines.append(f"<tr><th>{escape(name)}</th>{''.join(cells)}</tr>")
    head = "".join(f"<th>{escape(c)}</th>" for c in columns[1])
    return (
        f'<figure class="heat"><figcaption>{escape(title)}</figcaption><div class=wide><table><thead><tr>'
        f"<th>{escape(rows[0])} ↓ {escape(columns[0])} →</th>{head}</tr></thead><tbody>{''.join(lines)}</tbody></table></div>"
        "</figure>"
    )
