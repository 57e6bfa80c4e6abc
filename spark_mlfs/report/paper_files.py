"""What a paper takes of a comparison: figures as PDF, SVG or PNG, tables in LaTeX.

The same tables give the same bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from importlib.util import find_spec
from itertools import product
from typing import Any

from ..errors import ParameterError
from ..evaluate import summary as tables
from ..evaluate.families import TITLES, redefined, titled
from ..evaluate.outcome import Outcome
from ..evaluate.trials import ALL_FEATURES
from ..markup import render
from ..methods import METHODS
from .figures import COLOURS, LIGHT, Drawing, critical_differences

FIGURES = ("pdf", "svg", "png")
RANKS = "latex:ranks"
TABLES = ("latex", RANKS)
MARKERS = "os^vD*X"  # as `figures.MARKS`
STROKES = {
    "axis": ("#5c6677", 1.0),
    "cd": ("#c2541b", 1.6),
    "same": ("#1b2330", 4.0),
}


def diagram(test: tables.Test) -> Drawing:
    """Return the critical difference diagram of a test."""
    return critical_differences(test.names, test.friedman.ranks, test.nemenyi, test.groups)


def capital(text: str) -> str:
    """Return a text that begins with a capital."""
    return text[:1].upper() + text[1:]


def check_formats(figures: Sequence[str], kinds: Sequence[str]) -> None:
    """Raise `ParameterError` for an unknown format, or where matplotlib is not installed."""
    for name in figures:
        if name not in FIGURES:
            raise ParameterError(f"figures can be {', '.join(FIGURES)}, not {name!r}")
    for name in kinds:
        if name not in TABLES:
            raise ParameterError(f"tables can be {', '.join(TABLES)}, not {name!r}")
    if figures and find_spec("matplotlib") is None:
        raise ParameterError("figures are drawn with matplotlib: pip install 'spark_mlfs[report]'")


def files(
    outcome: Outcome, figures: Sequence[str], kinds: Sequence[str]
) -> Iterator[tuple[str, bytes]]:
    """Yield the names of the files and their bytes."""
    assert outcome.plan is not None
    for spec in outcome.plan.design().classifiers:
        if figures:
            for (name, figure), suffix in product(_figures(outcome, spec.title), figures):
                yield f"figures/{_file_name(name)}.{suffix}", saved(figure, suffix)
        if "latex" in kinds:
            for kind, metric in tables.measured(outcome.cells, outcome.plan.protocol.metrics):
                name = f"{metric}-{kind}" if redefined(kind) else metric
                table = latex(outcome, kind, metric, spec.title)
                yield f"tables/{_file_name(f'{name}-{spec.title}')}.tex", table.encode()
        ranks = rank_table(outcome, spec.title, outcome.methods) if RANKS in kinds else None
        if ranks is not None:
            table = latex_ranks(ranks, spec.title)
            yield f"tables/{_file_name(f'ranks-{spec.title}')}.tex", table.encode()


@dataclass(frozen=True)
class RankTable:
    """`columns`, titles of metrics; `rows` of a method and its (mean rank, whether the best)."""

    columns: list[str]
    rows: list[tuple[str, list[tuple[float, bool]]]]


def rank_table(outcome: Outcome, classifier: str, methods: Sequence[str]) -> RankTable | None:
    """Return the mean rank of each method by every metric, and the mean of these.

    Each cell with whether it is the best of its column; None where methods cannot be ranked."""
    assert outcome.plan is not None
    ranks = tables.mean_ranks(outcome.cells, outcome.plan, classifier, methods)
    if not len(ranks):
        return None
    names = [name for name in ranks.columns if name not in ("metrics", "metric")]
    table = ranks[names].T
    table.columns = list(map(titled, ranks["metric"], ranks["metrics"]))
    table["mean"] = table.mean(axis=1)
    best = table.round(6).eq(table.round(6).min())
    rows = [(name, list(zip(table.loc[name], best.loc[name], strict=True))) for name in names]
    return RankTable(list(table.columns), rows)


def _figures(outcome: Outcome, classifier: str) -> Iterator[tuple[str, Any]]:
    """Yield names and matplotlib figures of a classifier."""
    for data in outcome.data["name"]:
        figure = _curves(outcome, data, classifier)
        if figure is not None:
            yield f"curves-{data}-{classifier}", figure
    with suppress(ParameterError):  # a test needs two data sets
        yield f"cd-{classifier}", cd_diagram(outcome, classifier)


def _file_name(name: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", name)


def saved(figure: Any, suffix: str) -> bytes:
    """Return the bytes of a matplotlib figure, without the time and with ids that do not change."""
    import matplotlib

    file = io.BytesIO()
    times = {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    settings = {
        "svg.hashsalt": "spark_mlfs",
        "pdf.fonttype": 42,
        "svg.fonttype": "none",
    }
    with matplotlib.rc_context(settings):
        metadata = times.get(suffix)
        figure.savefig(
            file,
            format=suffix,
            dpi=200,
            metadata=metadata,
            bbox_inches="tight",
        )
    return file.getvalue()


def cd_diagram(outcome: Outcome, classifier: str) -> Any:
    """Return the critical difference diagram as a matplotlib figure.

    Raises `ParameterError` where there is no test."""
    from matplotlib.figure import Figure

    assert outcome.plan is not None
    kind, metric = tables.main_metric(outcome.plan)
    summary = tables.summary(
        outcome.cells,
        kind,
        metric,
        classifier,
        outcome.methods,
    )
    test = tables.test_of(summary, metric)
    if isinstance(test, str):
        raise ParameterError(
            f"there is no critical difference diagram: {test[0].lower()}{test[1:]}"
        )
    drawing = diagram(test)
    figure = Figure(figsize=(drawing.width / 96, drawing.height / 96))
    axes = figure.add_axes((0, 0, 1, 1))
    axes.set_xlim(0, drawing.width)
    axes.set_ylim(drawing.height, 0)
    axes.axis("off")
    for kind_or_method, corners in drawing.strokes:
        if kind_or_method in STROKES:
            colour, width = STROKES[kind_or_method]
        else:
            colour = _colour(outcome.methods.index(kind_or_method))
            width = 1.4
        coordinates = zip(*corners, strict=True)
        style = {"color": colour, "linewidth": 0.75 * width}
        axes.plot(*coordinates, **style, solid_capstyle="round", clip_on=False)
    for x, y, anchor, text in drawing.texts:
        side = {
            "middle": "center",
            "end": "right",
            "start": "left",
        }[anchor]
        axes.text(
            x,
            y,
            text,
            ha=side,
            va="baseline",
            fontsize=9,
            parse_math=False,
        )
    return figure


def _colour(method: int) -> str:
    return "#" + LIGHT[method % COLOURS]


def _curves(outcome: Outcome, data: str, classifier: str) -> Any:
    """Return the main metric against the number of features as a matplotlib figure.

    Of one size it is None."""
    from matplotlib.figure import Figure

    assert outcome.plan is not None
    kind, metric = tables.main_metric(outcome.plan)
    table, level = tables.curves(
        outcome.cells,
        kind,
        metric,
        classifier,
        data,
    )
    if len(table) < 2:
        return None
    figure = Figure(figsize=(5.6, 3.6), layout="constrained")
    axes = figure.add_subplot(xlabel="features", ylabel=f"{TITLES[metric]} ({classifier})")
    for i, method in enumerate(outcome.methods):
        if method in table:
            axes.plot(
                table.index,
                table[method],
                linewidth=1.2,
                markersize=4,
                color=_colour(i),
                marker=MARKERS[i % len(MARKERS)],
                label=method,
            )
    if level is not None:
        axes.axhline(
            level,
            color="#1b2330",
            linewidth=1,
            linestyle="--",
            label=ALL_FEATURES,
        )
    axes.set_title(data, fontsize=10, loc="left", parse_math=False)
    axes.xaxis.get_major_locator().set_params(integer=True)
    axes.spines[["top", "right"]].set_visible(False)
    for text in figure.legend(loc="outside right upper", fontsize=8, frameon=False).get_texts():
        text.set_parse_math(False)
    return figure


def latex(
    outcome: Outcome,
    kind: str,
    metric: str,
    classifier: str,
) -> str:
    """Return a table in LaTeX with booktabs: a row a method, a column a data set.

    Cells are means ± standard deviations, the best bold."""
    summary = tables.summary(
        outcome.cells,
        kind,
        metric,
        classifier,
        outcome.methods,
    )
    return render(
        "table.tex.j2",
        rows=list(tables.summary_rows(summary, metric)),
        data=summary.mean.index,
        title=capital(titled(metric, kind)),
        better=tables.better(metric),
        classifier=classifier,
    )


def latex_ranks(ranks: RankTable, classifier: str) -> str:
    """Return the table of mean ranks in LaTeX: a row a method, spelled out, a column a metric."""
    return render(
        "ranks.tex.j2",
        columns=ranks.columns,
        rows=[(_spelled_out(name), cells) for name, cells in ranks.rows],
        classifier=classifier,
    )


def _spelled_out(name: str) -> str:
    """Return the name of a method with its title; other names as they are."""
    return f"{name}: {METHODS.create(name).title}" if name in METHODS else name
