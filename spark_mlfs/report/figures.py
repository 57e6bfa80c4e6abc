"""The report's figures, as HTML with inline SVG: no library, no script, nothing loaded from outside.

A curve's SVG is stretched to the width it gets, while its axis labels are HTML placed by per cent: text keeps its size on a phone
and on a wide screen alike. Bars are HTML for the same reason.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from html import escape

import numpy as np

from .tables import number

MOST_POINTS = 1500  # of a curve: more cannot be told apart


def ticks(low: float, high: float, about: int = 4) -> list[float]:
    """Round numbers between `low` and `high`."""
    span = high - low
    if not span > 0:
        return [low]
    raw = span / about
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(unit * k for k in (1, 2, 2.5, 5, 10) if unit * k >= raw * 0.999)
    first = math.ceil(low / step - 1e-9)
    return [k * step for k in range(first, math.floor(high / step + 1e-9) + 1)]


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
) -> str:
    """A line of `values` over the whole numbers from `first`; `mark` draws a line at that x; `names` of up to 100 points are
    shown when they are pointed at; `levels` are further straight lines: their height at the first and at the last point, a name;
    `band` the lower and the upper edge of what the line may be.
    """
    n = len(values)
    if n < 2:
        return ""
    heights = [h for ends, _ in levels for h in ends] + [h for edge in band or () for h in edge]
    low, high = min(0.0, *values, *heights), max(0.0, *values, *heights)
    if high == low:
        high = low + 1.0
    if min(values) > 0.5 * high:  # far from zero: show the shape
        margin = 0.08 * (high - min(values)) or 0.5 * high
        low = max(0.0, min(values) - margin)
    high += 0.04 * (high - low)

    def x(position: float) -> float:
        return 100.0 * (position - first) / (n - 1)

    def y(value: float) -> float:
        return 100.0 * (1 - (value - low) / (high - low))

    step = max(1, -(-n // MOST_POINTS))
    places = sorted({*range(0, n, step), n - 1})
    line = " ".join(f"{x(i + first):.3f},{y(values[i]):.3f}" for i in places)
    # an area says "from zero": none where the axis starts elsewhere
    area = f'<polygon class="area" points="0,{y(0.0):.3f} {line} 100,{y(0.0):.3f}"/>' if low <= 0 and band is None else ""
    if band is not None:
        edges = [(i, band[1][i]) for i in places] + [(i, band[0][i]) for i in reversed(places)]
        corners = " ".join(f"{x(i + first):.3f},{y(h):.3f}" for i, h in edges)
        area = f'<polygon class="area" points="{corners}"/>'
    marks, labels = scale(low, high, y, 3)
    across = sorted({first, *(int(t) for t in ticks(first, first + n - 1, 5) if t == int(t) and t > first)})
    for position in across:
        edge = " end" if x(position) > 96 else ""
        labels.append(f'<span class="tx{edge}" style="left:{x(position):.3f}%">{number(position)}</span>')
    if mark is not None and first < mark < first + n - 1:
        marks.append(f'<line class="mark" x1="{x(mark):.3f}" x2="{x(mark):.3f}" y1="0" y2="100"/>')
        side = "right:" + f"{100 - x(mark):.3f}%" if x(mark) > 60 else "left:" + f"{x(mark):.3f}%"
        labels.append(f'<span class="note" style="{side}">{escape(mark_text)}</span>')
    for (start, end), what in levels:
        marks.append(f'<line class="mark" x1="0" x2="100" y1="{y(start):.3f}" y2="{y(end):.3f}"/>')
        top = y(end) + 1 if y(end) < 85 else y(end) - 11  # below the line, or above where there is no room
        labels.append(f'<span class="note" style="right:0;top:{top:.3f}%">{escape(what)}</span>')
    marks.append(f'{area}<polyline class="line" points="{line}"/>')
    for i, (name, value) in enumerate(zip(names, values, strict=False) if n <= 100 else ()):
        where = f"left:{x(i + first):.3f}%;top:{y(value):.3f}%"
        labels.append(f'<i class="dot" style="{where}" title="{escape(f"{i + first}. {name}: {number(value)}")}"></i>')
    summary = f"{y_title} from {number(values[0])} at {first} to {number(values[-1])} at {first + n - 1}"
    return plot(y_title, marks, labels, x_title, summary)


def path_of(points: Sequence[tuple[float, float]], x_title: str, y_title: str, names: Sequence[str], mark: float | None) -> str:
    """A line through points of rising x, from (0, 0); `names` of up to 100 of them are shown when they are pointed at; `mark`
    draws a line at that x."""
    if not points:
        return ""
    points = [(0.0, 0.0), *points]
    right = max(points[-1][0], mark or 0.0)
    low, high = min(0.0, *(value for _, value in points)), 1.04 * max(value for _, value in points) or 1.0

    def x(position: float) -> float:
        return 100.0 * position / right

    def y(value: float) -> float:
        return 100.0 * (1 - (value - low) / (high - low))

    line = " ".join(f"{x(a):.3f},{y(b):.3f}" for a, b in points)
    marks, labels = scale(low, high, y, 3)
    marks.append(f'<polyline class="line" points="{line}"/>')
    for position in ticks(0.0, right, 5):
        edge = " end" if x(position) > 96 else ""
        labels.append(f'<span class="tx{edge}" style="left:{x(position):.3f}%">{number(position, 3)}</span>')
    if mark is not None:
        marks.append(f'<line class="mark" x1="{x(mark):.3f}" x2="{x(mark):.3f}" y1="0" y2="100"/>')
        labels.append(f'<span class="note" style="right:{100 - x(mark):.3f}%">budget {number(mark)}</span>')
    for name, (a, b) in zip(names, points[1:], strict=True) if len(names) <= 100 else ():
        text = escape(f"{name}: {number(b)} for {number(a)}")
        labels.append(f'<i class="dot" style="left:{x(a):.3f}%;top:{y(b):.3f}%" title="{text}"></i>')
    summary = f"{y_title} up to {number(points[-1][1])} at {x_title} {number(points[-1][0])}"
    return plot(y_title, marks, labels, x_title, summary)


def scale(low: float, high: float, y: Callable[[float], float], digits: int) -> tuple[list[str], list[str]]:
    """The vertical axis: lines of a grid, to `digits` decimals of the plot's per cents, and the values beside them."""
    values = ticks(low, high)
    marks = [f'<line class="grid" x1="0" x2="100" y1="{y(v):.{digits}f}" y2="{y(v):.{digits}f}"/>' for v in values]
    return marks, [f'<span class="ty" style="top:{y(v):.{digits}f}%">{number(v, 3)}</span>' for v in values]


def plot(title: str, marks: Sequence[str], labels: Sequence[str], x_title: str, summary: str) -> str:
    """A figure of SVG `marks`, stretched to the page's width, and HTML `labels` over it, which are not."""
    return (
        f'<figure class="curve"><figcaption>{escape(title)}</figcaption><div class="plot">'
        f'<svg viewBox="0 0 100 100" preserveAspectRatio="none" role="img" aria-label="{escape(summary)}">{"".join(marks)}</svg>'
        f'{"".join(labels)}</div><div class="xtitle">{escape(x_title)}</div></figure>'
    )


def bar(share: float, kind: str = "") -> str:
    """A bar of a share 0..1 of the cell it stands in."""
    return f'<span class="bar {kind}"><b style="width:{100 * min(1.0, max(0.0, share)):.2f}%"></b></span>'


def stack(parts: Sequence[tuple[str, float, str]]) -> str:
    """One bar of several named parts (name, amount, text), with its legend."""
    whole = sum(amount for _, amount, _ in parts) or 1.0
    cells = "".join(
        f'<b class="c{k % 6}" style="flex:{max(amount / whole, 0.004):.4f}" title="{escape(name)}: {escape(text)}"></b>'
        for k, (name, amount, text) in enumerate(parts)
    )
    legend = "".join(
        f'<li><i class="c{k % 6}"></i>{escape(name)} <span>{escape(text)}</span></li>' for k, (name, _, text) in enumerate(parts)
    )
    return f'<div class="stack">{cells}</div><ul class="legend">{legend}</ul>'
