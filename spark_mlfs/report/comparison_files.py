"""A comparison's figures as PDF, SVG or PNG and its tables in LaTeX, for a paper; the same tables give the same bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from importlib.util import find_spec
from itertools import product
from typing import Any

from ..errors import ParameterError
from ..evaluate import summary as tables
from ..evaluate.compare import Outcome
from ..evaluate.metrics import LARGER_IS_BETTER, TITLES
from ..evaluate.trials import ALL_FEATURES
from ..markup import render
from .figures import COLOURS, LIGHT, critical_differences

FIGURES, TABLES = ("pdf", "svg", "png"), ("latex",)
MARKERS = "os^vD*X"  # as `figures.MARKS`
DRAWN = {"axis": ("#5c6677", 1.0), "cd": ("#c2541b", 1.6), "same": ("#1b2330", 4.0)}


def check_formats(figures: Sequence[str], kinds: Sequence[str]) -> None:
    """Raise `ParameterError` for a format that is not known, or where matplotlib is not installed."""
    for given, known, what in ((figures, FIGURES, "figures"), (kinds, TABLES, "tables")):
        if wrong := next((name for name in given if name not in known), None):
            raise ParameterError(f"{what} can be {', '.join(known)}, not {wrong!r}")
    if figures and find_spec("matplotlib") is None:
        raise ParameterError("figures are drawn with matplotlib: pip install 'spark_mlfs[report]'")


def files(outcome: Outcome, figures: Sequence[str], kinds: Sequence[str]) -> Iterator[tuple[str, bytes]]:
    """Yield the names of the files and what is in them."""
    assert outcome.plan is not None
    for judge in [j.title for j in outcome.plan.design().judges]:
        drawn = [(f"curves-{data}-{judge}", _curves(outcome, data, judge)) for data in outcome.data["name"] if figures]
        with suppress(ParameterError):  # a test needs two data sets
            drawn += [(f"cd-{judge}", cd_diagram(outcome, judge))] if figures else []
        for (name, figure), suffix in product(drawn, figures):
            if figure is not None:
                yield f"figures/{_plain(name)}.{suffix}", saved(figure, suffix)
        for other, metric in product(outcome.plan.protocol.metrics, LARGER_IS_BETTER if kinds else ()):
            name = "-".join([metric, *([other] if other != "standard" else []), judge])
            yield f"tables/{_plain(name)}.tex", latex(outcome, other, metric, judge).encode()


def _plain(name: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", name)


def saved(figure: Any, suffix: str) -> bytes:
    """Return the bytes of a matplotlib figure, without the time and with ids that do not change."""
    import matplotlib

    out, when = io.BytesIO(), {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    with matplotlib.rc_context({"svg.hashsalt": "spark_mlfs", "pdf.fonttype": 42, "svg.fonttype": "none"}):
        figure.savefig(out, format=suffix, dpi=200, metadata=when.get(suffix), bbox_inches="tight")
    return out.getvalue()


def cd_diagram(outcome: Outcome, judge: str) -> Any:
    """Return the critical difference diagram as a matplotlib figure; `ParameterError` where there is no test."""
    from matplotlib.figure import Figure

    assert outcome.plan is not None
    kind, metric = tables.main_metric(outcome.plan)
    test = tables.test_of(tables.summary(outcome.cells, kind, metric, judge, outcome.methods), metric)
    if isinstance(test, str):
        raise ParameterError(f"there is no critical difference diagram: {test[0].lower()}{test[1:]}")
    drawing = critical_differences(test.names, test.friedman.ranks, test.nemenyi, test.groups)
    figure = Figure(figsize=(drawing.width / 96, drawing.height / 96))
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, drawing.width), ylim=(drawing.height, 0))
    ax.axis("off")
    for what, corners in drawing.strokes:
        colour, width = DRAWN.get(what) or ("#" + LIGHT[outcome.methods.index(what) % COLOURS], 1.4)
        ax.plot(*zip(*corners, strict=True), color=colour, linewidth=0.75 * width, solid_capstyle="round", clip_on=False)
    for x, y, anchor, text in drawing.texts:
        side = {"middle": "center", "end": "right", "start": "left"}[anchor]
        ax.text(x, y, text, ha=side, va="baseline", fontsize=9, parse_math=False)
    return figure


def _curves(outcome: Outcome, data: str, judge: str) -> Any:
    """Return the main metric against the number of features as a matplotlib figure; None of one size alone."""
    from matplotlib.figure import Figure

    assert outcome.plan is not None
    kind, metric = tables.main_metric(outcome.plan)
    table, whole = tables.curves(outcome.cells, kind, metric, judge, data)
    if len(table) < 2:
        return None
    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    ax = figure.add_subplot(xlabel="features", ylabel=f"{TITLES[metric]} ({judge})")
    for place, method in enumerate(outcome.methods):
        if method in table:
            style: Any = {"color": "#" + LIGHT[place % COLOURS], "marker": MARKERS[place % len(MARKERS)], "label": method}
            ax.plot(table.index, table[method], linewidth=1.2, markersize=4, **style)
    if whole is not None:
        ax.axhline(whole, color="#1b2330", linewidth=1, linestyle="--", label=ALL_FEATURES)
    ax.set_title(data, fontsize=10, loc="left", parse_math=False)
    ax.xaxis.get_major_locator().set_params(integer=True)  # type: ignore[call-arg]
    ax.spines[["top", "right"]].set_visible(False)
    for text in figure.legend(loc="outside right upper", fontsize=8, frameon=False).get_texts():
        text.set_parse_math(False)
    return figure


def latex(outcome: Outcome, kind: str, metric: str, judge: str) -> str:
    """Return a table in LaTeX with booktabs: a row a method, a column a data set, means ± standard deviations, the best bold."""
    summary = tables.summary(outcome.cells, kind, metric, judge, outcome.methods)
    rows, title = list(tables.summary_rows(summary, metric)), tables.metric_title(metric, kind)
    title = title[0].upper() + title[1:]
    return render("table.tex.j2", rows=rows, data=summary.mean.index, title=title, better=tables.better(metric), judge=judge)
