"""comparison.html: one self-contained page without scripts; its figures as PDF, SVG or PNG and its
tables in LaTeX, for a paper; and `spark_mlfs.compare`, a comparison from Python. The same tables
give the same bytes."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from importlib.util import find_spec
from itertools import product
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import ParameterError
from ..evaluate import summary as tables
from ..evaluate.compare import ForgetfulJournal, run
from ..evaluate.metrics import LARGER_IS_BETTER, TITLES
from ..evaluate.outcome import Outcome
from ..evaluate.plan import OF_METHODS, Comparison, comparison, published, read_comparison
from ..evaluate.trials import ALL_FEATURES
from ..frames.frame import LocalSession
from ..lazy import SparkSession
from ..markup import render
from ..output.manifest import now, versions
from ..pipeline import Progress
from .figures import (
    COLOURS,
    LIGHT,
    PALETTE,
    Plot,
    critical_differences,
    heat,
    key_of,
    lines,
    scatter,
)

FEW = 4  # data sets below which a test has no verdict
MOST_LABELS = 40
FIGURES, TABLES = ("pdf", "svg", "png"), ("latex",)
MARKERS = "os^vD*X"  # as `figures.MARKS`
DRAWN = {"axis": ("#5c6677", 1.0), "cd": ("#c2541b", 1.6), "same": ("#1b2330", 4.0)}


def comparison_page(outcome: Outcome, plan: Comparison, manifest: Mapping[str, Any]) -> str:
    """Return the page of a comparison as HTML text."""
    about = {
        "view": ComparisonView(outcome, plan),
        "notes": [p.strip() for p in plan.notes.strip().split("\n\n")],
        "manifest": manifest,
    }
    fixed = {"colours": PALETTE, "all_features": ALL_FEATURES, "few": FEW}
    return render("comparison.html.j2", outcome=outcome, plan=plan, **about, **fixed)


class ComparisonView:
    """An outcome as the page shows it, the figures by the first classifier; `places` give each
    method its colour and sign."""

    def __init__(self, outcome: Outcome, plan: Comparison) -> None:
        self.outcome, self.plan = outcome, plan
        self.judges = [judge.title for judge in plan.design().classifiers]
        self.judge = self.judges[0]
        self.methods = [m for m in outcome.methods if m in set(outcome.cells["method"])]
        self.places = {m: i for i, m in enumerate(self.methods)}
        self.marks = key_of(self.places)
        self.kind, self.metric = main = tables.main_metric(plan)
        self.metrics = list(product(plan.protocol.metrics, LARGER_IS_BETTER))
        self.others = [each for each in self.metrics if each != main]

    def summary(
        self, judge: str, kind: str | None = None, metric: str | None = None
    ) -> tables.Summary:
        """Return means and spreads by a classifier, of the main metric unless another is asked
        for."""
        return tables.summary(
            self.outcome.cells, kind or self.kind, metric or self.metric, judge, self.methods
        )

    def table(self, judge: str, kind: str, metric: str, by: str = "") -> dict[str, Any]:
        """Return means ± spreads under their title, a row a method, the best of a data set
        marked."""
        summary = self.summary(judge, kind, metric)
        rows = list(tables.summary_rows(summary, metric))
        return self.titled(kind, metric, by) | {"heads": ["", *summary.mean.index], "rows": rows}

    def titled(self, kind: str, metric: str, by: str = "") -> dict[str, Any]:
        name = tables.metric_title(metric, kind)
        text = name + by
        return {"name": name, "title": text[:1].upper() + text[1:], "better": tables.better(metric)}

    def verdict(self) -> list[tuple[str, dict[str, Any]]]:
        found = ((judge, self._findings(self.summary(judge))) for judge in self.judges)
        return [(judge, findings) for judge, findings in found if any(findings.values())]

    def _findings(self, summary: tables.Summary) -> dict[str, Any]:
        """Return what comparison_verdict.html.j2 tells: the best-ranked and those near them, and
        who beats all features where."""
        test, ranked, best = tables.test_of(summary, self.metric), None, []
        selections = summary.mean.drop(columns=ALL_FEATURES, errors="ignore")
        if not isinstance(test, str):
            ranks = test.friedman.ranks.round(6)
            top = [
                name for name, rank in zip(test.names, ranks, strict=True) if rank == ranks.min()
            ]
            near = [
                test.names[i]
                for i in ranks.argsort(kind="stable")[len(top) :]
                if ranks[i] - ranks.min() < test.nemenyi
            ]
            ranked = {"test": test.friedman, "rank": ranks.min(), "top": top, "near": near}
        elif len(selections) and selections.shape[1] > 1:
            for data, row in selections.iterrows():
                value = row.max() if tables.LARGER[self.metric] else row.min()
                best.append((data, list(row.index[row.round(4) == round(value, 4)]), value))
        beaten, none = tables.against_all(summary, self.metric)
        return {"ranked": ranked, "best": best, "beaten": beaten, "unbeaten": none}

    def tests(self) -> dict[str, Any] | None:
        """Return Friedman's test with its diagram, Wilcoxon's, and mean ranks by every metric."""
        ranks = tables.mean_ranks(self.outcome.cells, self.plan, self.judge, self.methods)
        if not len(ranks):
            return None
        names = [c for c in ranks.columns if c not in ("metrics", "metric")]
        table = ranks[names].T
        table.columns = list(map(tables.metric_title, ranks["metric"], ranks["metrics"]))
        table["mean"] = table.mean(axis=1)
        won = table.round(6).eq(table.round(6).min())
        found = {"heads": ["", *table.columns], "refused": None, "test": None}
        found["ranks"] = [
            (name, list(zip(table.loc[name], won.loc[name], strict=True))) for name in names
        ]
        test = tables.test_of(self.summary(self.judge), self.metric)
        if isinstance(test, str):
            return found | {"refused": test}
        drawing = critical_differences(test.names, test.friedman.ranks, test.nemenyi, test.groups)
        return found | {
            "test": test,
            "wilcoxon": list(test.wilcoxon.itertuples()),
            "diagram": drawing,
        }

    def charts(
        self, kind: str | None = None, metric: str | None = None, judge: str | None = None
    ) -> list[Plot | None]:
        """Return a metric, the main one unless another is asked for, against the number of
        features, a figure a data set."""
        out = []
        for data in self.outcome.data["name"]:
            at = kind or self.kind, metric or self.metric, judge or self.judge
            table, whole = tables.curves(self.outcome.cells, *at, data)
            if len(table) > 1:
                series = {m: table[m].to_numpy() for m in self.methods if m in table}
                out.append(
                    lines(data, table.index.to_numpy(), series, self.places, "features", whole)
                )
        return out

    def paper(self) -> Iterator[dict[str, Any]]:
        """Yield by metric the paper's numbers and ours."""
        paper, nan = published(self.plan.published), float("nan")
        if paper is None:
            return
        for (kind, metric), rows in paper.groupby(["metrics", "metric"], sort=False):
            ours = (
                self.summary(self.judge, kind, metric).mean
                if kind in self.plan.protocol.metrics
                else pd.DataFrame()
            )
            names = [m for m in self.methods if m in set(rows["method"])]
            names += [m for m in dict.fromkeys(rows["method"]) if m not in names]
            sets, values = (
                [d for d in self.outcome.data["name"] if d in set(rows["data"])],
                rows.set_index(["data", "method"]),
            )
            theirs = values["value"]
            known = ours.reindex(index=sets, columns=names)
            cells = [(m, [(theirs.get((d, m), nan), known.loc[d, m]) for d in sets]) for m in names]
            yield self.titled(kind, metric) | {"heads": ["", *sets] if sets else [], "rows": cells}

    def time(self) -> list[Plot | None]:
        """Return the main metric against the seconds of one ranking, a figure a data set."""
        mean = self.summary(self.judge).mean
        spent, charts = (
            self.outcome.trials.groupby(["data", "method"], sort=False)["select_seconds"].mean(),
            [],
        )
        for data in mean.index:
            ranked = [m for m in self.methods if m != ALL_FEATURES and (data, m) in spent.index]
            points = [(m, float(spent[(data, m)]), float(mean.loc[data, m])) for m in ranked]
            whole = float(mean.loc[data, ALL_FEATURES]) if ALL_FEATURES in mean.columns else None
            charts.append(
                scatter(data, points, self.places, "seconds to rank (one ranking, one task)", whole)
            )
        return charts if any(charts) else []

    def stability(self) -> dict[str, Any] | None:
        indices = tables.stability(self.outcome.rankings, self.outcome.cells, self.outcome.data)
        charts = []
        for data, rows in indices.groupby("data", sort=False) if len(indices) else ():
            values, low, high = (
                rows.pivot(index="features", columns="method", values=c)
                for c in ("stability", "low", "high")
            )
            shown = [m for m in self.methods if m in values]
            series, bands = (
                {m: values[m].to_numpy() for m in shown},
                {m: (low[m].to_numpy(), high[m].to_numpy()) for m in shown},
            )
            charts.append(
                lines(
                    str(data),
                    values.index.to_numpy(),
                    series,
                    self.places,
                    "features",
                    spread=bands,
                )
            )
        return {"charts": charts, "runs": int(indices["runs"].min())} if charts else None

    def parameters(self) -> dict[str, Any]:
        """Return what was chosen, by what, and the means of the inner folds."""
        how, searched = (
            self.plan.protocol.choose,
            self.outcome.trials[self.outcome.trials["parameters"] != ""],
        )
        if not len(searched):
            return {"chosen": []}
        heats = [
            heat(title, table, tables.LARGER[how.metric])
            for title, table in tables.sensitivity(self.outcome.choices)
        ]
        counts = searched.groupby(["data", "method", "parameters"], sort=False).agg(
            splits=("split", "size"),
            sizes=("size", lambda s: ", ".join(sorted({str(v) for v in s if v is not None}))),
        )
        spent = searched.groupby(["data", "method"])["choose_seconds"].mean()
        plain = str.maketrans("", "", '{}"')  # the signs of JSON
        chosen = [
            (d, m, p.translate(plain), r.sizes, r.splits, spent[(d, m)])
            for (d, m, p), r in counts.iterrows()
        ]
        return {
            "chosen": chosen,
            "by": tables.metric_title(how.metric, how.metrics),
            "heats": heats,
        }

    def given(self, entry: Any) -> dict[str, Any]:
        """Return what a method or a classifier of the plan is told."""
        held_to = {
            what: ", ".join(map(str, listed))
            for what in OF_METHODS
            if (listed := getattr(entry, what, None))
        }
        return {**entry.parameters, **held_to}

    def labels(self) -> dict[str, Any]:
        """Return macro-F1 of the rarest labels, and F1 of every label."""
        kind, table = self.plan.protocol.metrics[0], self.outcome.labels
        sets = []
        if len(table):
            table = table[table["classifier"] == self.judge].copy()
            table["f1"] = (
                2 * table["true_positives"] / (table["predicted"] + table["actual"]).clip(lower=1)
            )
            for data, rows in table.groupby("data", sort=False):
                wide = rows.pivot_table(
                    index=["label", "actual"], columns="method", values="f1", sort=False
                ).reset_index()
                wide = wide.sort_values("actual", kind="stable").head(MOST_LABELS)
                names = [m for m in self.methods if m in wide.columns]
                more = (
                    f" (the {MOST_LABELS} rarest)" if rows["label"].nunique() > MOST_LABELS else ""
                )
                cells = [
                    (r["label"], int(r["actual"]), [r[m] for m in names])
                    for _, r in wide.iterrows()
                ]
                sets.append(
                    (f"F1 of each label of {data}{more}", ["label", "test rows", *names], cells)
                )
        return {"rare": self.table(self.judge, kind, "tailMacroF1"), "sets": sets}

    def run(self) -> list[tuple[str, list[float]]]:
        """Return the seconds of each method's trials, by what they were spent on, and of all."""
        fitted = self.outcome.cells.drop_duplicates(
            ["data", "method", "split", "classifier", "features"]
        )
        parts = (
            (self.outcome.trials, ["choose_seconds", "select_seconds"]),
            (fitted, ["fit_seconds", "predict_seconds"]),
        )
        spent = pd.concat(
            [t.groupby("method", sort=False)[columns].sum() for t, columns in parts], axis=1
        ).fillna(0.0)
        rows = [
            *zip(spent.index, spent.to_numpy(), strict=True),
            ("all", spent.to_numpy().sum(axis=0)),
        ]
        return [(name, [*row, sum(row)]) for name, row in rows]


def check_formats(figures: Sequence[str], kinds: Sequence[str]) -> None:
    """Raise `ParameterError` for a format that is not known, or where matplotlib is not
    installed."""
    for given, known, what in ((figures, FIGURES, "figures"), (kinds, TABLES, "tables")):
        if wrong := next((name for name in given if name not in known), None):
            raise ParameterError(f"{what} can be {', '.join(known)}, not {wrong!r}")
    if figures and find_spec("matplotlib") is None:
        raise ParameterError("figures are drawn with matplotlib: pip install 'spark_mlfs[report]'")


def files(
    outcome: Outcome, figures: Sequence[str], kinds: Sequence[str]
) -> Iterator[tuple[str, bytes]]:
    """Yield the names of the files and what is in them."""
    assert outcome.plan is not None
    for judge in [j.title for j in outcome.plan.design().classifiers]:
        drawn = [
            (f"curves-{data}-{judge}", _curves(outcome, data, judge))
            for data in outcome.data["name"]
            if figures
        ]
        with suppress(ParameterError):  # a test needs two data sets
            drawn += [(f"cd-{judge}", cd_diagram(outcome, judge))] if figures else []
        for (name, figure), suffix in product(drawn, figures):
            if figure is not None:
                yield f"figures/{_plain(name)}.{suffix}", saved(figure, suffix)
        for other, metric in product(
            outcome.plan.protocol.metrics, LARGER_IS_BETTER if kinds else ()
        ):
            name = "-".join([metric, *([other] if other != "standard" else []), judge])
            yield f"tables/{_plain(name)}.tex", latex(outcome, other, metric, judge).encode()


def _plain(name: str) -> str:
    return re.sub(r"[^\w.+-]+", "-", name)


def saved(figure: Any, suffix: str) -> bytes:
    """Return the bytes of a matplotlib figure, without the time and with ids that do not change."""
    import matplotlib

    out, when = io.BytesIO(), {"pdf": {"CreationDate": None}, "svg": {"Date": None}}
    with matplotlib.rc_context(
        {"svg.hashsalt": "spark_mlfs", "pdf.fonttype": 42, "svg.fonttype": "none"}
    ):
        figure.savefig(out, format=suffix, dpi=200, metadata=when.get(suffix), bbox_inches="tight")
    return out.getvalue()


def cd_diagram(outcome: Outcome, judge: str) -> Any:
    """Return the critical difference diagram as a matplotlib figure; `ParameterError` where there
    is no test."""
    from matplotlib.figure import Figure

    assert outcome.plan is not None
    kind, metric = tables.main_metric(outcome.plan)
    test = tables.test_of(
        tables.summary(outcome.cells, kind, metric, judge, outcome.methods), metric
    )
    if isinstance(test, str):
        raise ParameterError(
            f"there is no critical difference diagram: {test[0].lower()}{test[1:]}"
        )
    drawing = critical_differences(test.names, test.friedman.ranks, test.nemenyi, test.groups)
    figure = Figure(figsize=(drawing.width / 96, drawing.height / 96))
    ax = figure.add_axes((0, 0, 1, 1), xlim=(0, drawing.width), ylim=(drawing.height, 0))
    ax.axis("off")
    for what, corners in drawing.strokes:
        colour, width = DRAWN.get(what) or ("#" + LIGHT[outcome.methods.index(what) % COLOURS], 1.4)
        ax.plot(
            *zip(*corners, strict=True),
            color=colour,
            linewidth=0.75 * width,
            solid_capstyle="round",
            clip_on=False,
        )
    for x, y, anchor, text in drawing.texts:
        side = {"middle": "center", "end": "right", "start": "left"}[anchor]
        ax.text(x, y, text, ha=side, va="baseline", fontsize=9, parse_math=False)
    return figure


def _curves(outcome: Outcome, data: str, judge: str) -> Any:
    """Return the main metric against the number of features as a matplotlib figure; None of one
    size alone."""
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
            style: Any = {
                "color": "#" + LIGHT[place % COLOURS],
                "marker": MARKERS[place % len(MARKERS)],
                "label": method,
            }
            ax.plot(table.index, table[method], linewidth=1.2, markersize=4, **style)
    if whole is not None:
        ax.axhline(whole, color="#1b2330", linewidth=1, linestyle="--", label=ALL_FEATURES)
    ax.set_title(data, fontsize=10, loc="left", parse_math=False)
    ax.xaxis.get_major_locator().set_params(integer=True)
    ax.spines[["top", "right"]].set_visible(False)
    for text in figure.legend(loc="outside right upper", fontsize=8, frameon=False).get_texts():
        text.set_parse_math(False)
    return figure


def latex(outcome: Outcome, kind: str, metric: str, judge: str) -> str:
    """Return a table in LaTeX with booktabs: a row a method, a column a data set, means ± standard
    deviations, the best bold."""
    summary = tables.summary(outcome.cells, kind, metric, judge, outcome.methods)
    rows, title = list(tables.summary_rows(summary, metric)), tables.metric_title(metric, kind)
    title = title[0].upper() + title[1:]
    return render(
        "table.tex.j2",
        rows=rows,
        data=summary.mean.index,
        title=title,
        better=tables.better(metric),
        judge=judge,
    )


class ComparisonOutcome(Outcome):
    """The tables of a comparison (`evaluate.compare.Outcome`), and their page."""

    def page(self) -> str:
        """The comparison as one HTML page."""
        assert self.plan is not None
        spent = {"trials": float(self.trials["wall_seconds"].sum())}
        about = {
            "finished": now(),
            "seconds": spent,
            "versions": versions(""),
            "command": [],
            "trials": len(self.trials),
        }
        return comparison_page(self, self.plan, about)

    def cd_diagram(self, path: str, classifier: str | None = None) -> None:
        """Write the critical difference diagram of the main metric by a classifier (the first) as
        .pdf, .svg or .png."""
        assert self.plan is not None
        suffix = Path(path).suffix[1:].lower()
        check_formats([suffix], [])
        Path(path).write_bytes(
            saved(cd_diagram(self, classifier or self.plan.design().classifiers[0].title), suffix)
        )


def compare(
    spark: SparkSession | LocalSession,
    plan: Mapping[str, Any] | str,
    progress: Progress | None = None,
) -> ComparisonOutcome:
    """A comparison from Python: `plan` is the path of a TOML file, or a dict of its sections
    (`evaluate.plan`).

    Gives a `ComparisonOutcome`; raises `ParameterError` for whatever is wrong with the plan. Long
    ones are better run by ``spark-mlfs compare``, which takes up what was cut short.

    >>> from spark_mlfs.frames.frame import LocalSession  # in this process; or a Spark session
    >>> made = {"name": "planted", "format": "planted", "options": {"num_rows": 90, "num_features": 8, "num_labels": 2}}
    >>> plan = {"data": [made], "method": [{"name": "mim"}, {"name": "jmi"}], "protocol": {"folds": "3-fold", "sizes": [2]}}
    >>> compare(LocalSession(), plan).summary().round(2).loc["planted"].to_dict()
    {'mim': 1.0, 'jmi': 1.0, 'all features': 0.97}"""
    checked = read_comparison(plan) if isinstance(plan, str) else comparison(plan, "plan")
    return ComparisonOutcome(**vars(run(spark, checked, ForgetfulJournal(), None, progress)))
