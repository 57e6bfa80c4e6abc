"""The comparison page's figures, as HTML with inline SVG: no library, no script. Colours are the classes s0 ... s11 of the
methods.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

import numpy as np

from .figures import plot, scale, ticks
from .tables import number

COLOURS = 12


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
            edge = [(a, v) for a, v in zip(across, highs, strict=True) if v == v]
            edge += [(a, v) for a, v in reversed(list(zip(across, lows, strict=True))) if v == v]
            band = " ".join(f"{x(a):.2f},{y(v):.2f}" for a, v in edge)
            marks.append(f'<polygon class="band {kind}" points="{band}"/>')
        if len(points) == 1:
            labels.append(
                f'<i class="pt {kind}" style="left:{points[0][0]:.2f}%;top:{points[0][1]:.2f}%" title="{escape(name)}"></i>'
            )
            continue
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
            f'<i class="pt {colour(places[name])}" style="left:{left:.2f}%;top:{y(value):.2f}%" title="{escape(tooltip)}">'
            f"{text}</i>"
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


def critical_differences(
    names: Sequence[str], ranks: Any, nemenyi: float, groups: Sequence[Sequence[int]], places: Mapping[str, int]
) -> str:
    """A critical difference diagram: the methods on a line of mean ranks, best on the left; bars join those that Nemenyi's test
    does not tell apart."""
    ranks = np.asarray(ranks, float)
    k = len(ranks)
    order = np.argsort(ranks, kind="stable")
    half = (k + 1) // 2
    left, right, top = 150.0, 150.0, 46.0
    width = 760.0
    inner = width - left - right
    first, last = 1.0, float(k)

    def x(rank: float) -> float:
        return left + inner * (rank - first) / max(last - first, 1e-9)

    bars = top + 12 + 9 * len(groups)
    height = bars + 22 * half + 16
    out = [f'<line class="axis" x1="{left}" x2="{width - right}" y1="{top}" y2="{top}"/>']
    step = 1 if k <= 16 else 5
    for rank in (rank for rank in range(1, k + 1) if rank in (1, k) or (rank % step == 0 and k - rank >= step / 2)):
        out.append(f'<line class="axis" x1="{x(rank):.1f}" x2="{x(rank):.1f}" y1="{top - 6}" y2="{top}"/>')
        out.append(f'<text x="{x(rank):.1f}" y="{top - 10}" text-anchor="middle">{rank}</text>')
    end = min(x(1 + nemenyi), width - 6)
    out.append(f'<path class="cd" d="M{x(1):.1f} 16H{end:.1f}M{x(1):.1f} 11v10M{end:.1f} 11v10"/>')
    out.append(f'<text x="{(x(1) + end) / 2:.1f}" y="10" text-anchor="middle">CD {nemenyi:.3f}</text>')
    for number_, group in enumerate(groups):
        a, z = min(ranks[i] for i in group), max(ranks[i] for i in group)
        at = top + 10 + 9 * number_
        out.append(f'<line class="same" x1="{x(a) - 4:.1f}" x2="{x(z) + 4:.1f}" y1="{at}" y2="{at}"/>')
    for position, method in enumerate(order):
        west = position < half
        row = position if west else k - 1 - position
        at = bars + 22 * row + 8
        side = left - 12 if west else width - right + 12
        anchor = "end" if west else "start"
        name, kind = names[method], colour(places[names[method]])
        out.append(f'<path class="lead {kind}" d="M{x(ranks[method]):.1f} {top}V{at:.1f}H{side:.1f}"/>')
        text = f"{escape(name)} {ranks[method]:.2f}" if west else f"{ranks[method]:.2f} {escape(name)}"
        out.append(f'<text x="{side + (-5 if west else 5):.1f}" y="{at + 4:.1f}" text-anchor="{anchor}">{text}</text>')
    summary = ", ".join(f"{names[i]} {ranks[i]:.2f}" for i in order)
    drawing = (
        f'<svg class="cdd" viewBox="0 0 {width:.0f} {height:.0f}" role="img" '
        f'aria-label="Mean ranks: {escape(summary)}">{"".join(out)}</svg>'
    )
    return f"<p class=hint>the diagram scrolls sideways →</p><div class=wide>{drawing}</div>"


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
