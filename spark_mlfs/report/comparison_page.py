"""comparison.html, and `spark_mlfs.compare`, a comparison from Python.

The page is self-contained and without scripts; `paper_files` has what a paper takes of it. The same
tables give the same bytes."""

from __future__ import annotations

import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pandas as pd

from ..errors import in_python, spelled_by
from ..evaluate import summary as tables
from ..evaluate.compare import ForgetfulJournal, run
from ..evaluate.families import K_BEST, titled
from ..evaluate.outcome import Outcome, leakage_line
from ..evaluate.plan import OF_METHODS, Comparison, comparison, published, read_comparison
from ..evaluate.trials import ALL_FEATURES
from ..frames.frame import LocalSession
from ..lazy import SparkSession
from ..markup import number, render
from ..output.manifest import now, versions
from ..pipeline import Progress
from .dot_plots import DotPlot, around
from .figures import (
    COLOURS,
    PALETTE,
    Plot,
    heat,
    key_of,
    lines,
    scatter,
)
from .paper_files import capital, cd_diagram, check_formats, diagram, rank_table, saved

FEW = 4  # data sets below which a test has no verdict
MOST_LABELS = 40


def comparison_page(outcome: Outcome, plan: Comparison, manifest: Mapping[str, Any]) -> str:
    """Return the page of a comparison as HTML text."""
    return render(
        "comparison.html.j2",
        outcome=outcome,
        plan=plan,
        view=ComparisonView(outcome, plan),
        notes=[paragraph.strip() for paragraph in plan.notes.strip().split("\n\n")],
        manifest=manifest,
        colours=PALETTE,
        all_features=ALL_FEATURES,
        few=FEW,
    )


class ComparisonView:
    """An outcome as the page shows it, the figures by the first classifier.

    `places` give each method its colour and sign."""

    def __init__(self, outcome: Outcome, plan: Comparison) -> None:
        self.outcome = outcome
        self.plan = plan
        self.classifiers = [spec.title for spec in plan.design().classifiers]
        self.classifier = self.classifiers[0]
        run = set(outcome.cells["method"])
        self.methods = [method for method in outcome.methods if method in run]
        self.places = {method: i for i, method in enumerate(self.methods)}
        self.marks = key_of(self.places)
        self.kind, self.metric = tables.main_metric(plan)
        self.metrics = tables.measured(outcome.cells, plan.protocol.metrics)
        self.others = [pair for pair in self.metrics if pair != (self.kind, self.metric)]
        self.apart = leakage_line(plan, outcome.data)

    def summary(
        self, classifier: str, kind: str | None = None, metric: str | None = None
    ) -> tables.Summary:
        """Return means and spreads by a classifier, by default of the main metric."""
        kind = kind or self.kind
        metric = metric or self.metric
        return tables.summary(
            self.outcome.cells,
            kind,
            metric,
            classifier,
            self.methods,
        )

    def table(
        self,
        classifier: str,
        kind: str,
        metric: str,
        suffix: str = "",
    ) -> dict[str, Any]:
        """Return means ± spreads under their title, a row a method.

        The best of a data set is marked."""
        summary = self.summary(classifier, kind, metric)
        table = self.titled(kind, metric, suffix)
        table["heads"] = ["", *summary.mean.index]
        table["rows"] = list(tables.summary_rows(summary, metric))
        return table

    def titled(self, kind: str, metric: str, suffix: str = "") -> dict[str, Any]:
        """Return the name and the title of a metric, and which values are better."""
        name = titled(metric, kind)
        return {
            "name": name,
            "title": capital(name + suffix),
            "better": tables.better(metric),
        }

    def verdict(self) -> list[tuple[str, dict[str, Any]]]:
        """Return the findings by each classifier that has some."""
        verdict = []
        for classifier in self.classifiers:
            findings = self._findings(self.summary(classifier))
            if any(findings.values()):
                verdict.append((classifier, findings))
        return verdict

    def _findings(self, summary: tables.Summary) -> dict[str, Any]:
        """Return the values of comparison_verdict.html.j2.

        They are the best-ranked methods and those near them, and who beats all features where."""
        test = tables.test_of(summary, self.metric)
        beaten, unbeaten = tables.against_all(summary, self.metric)
        return {
            "ranked": None if isinstance(test, str) else _best_ranked(test),
            "best": self._best(summary) if isinstance(test, str) else [],
            "beaten": beaten,
            "unbeaten": unbeaten,
        }

    def _best(self, summary: tables.Summary) -> list[tuple[Any, list[str], float]]:
        """Return the best methods of each data set and their value, to four decimals."""
        selections = summary.mean.drop(columns=ALL_FEATURES, errors="ignore")
        best = []
        if selections.shape[1] > 1:
            for data, row in selections.iterrows():
                value = row.max() if tables.LARGER[self.metric] else row.min()
                methods = list(row.index[row.round(4) == round(value, 4)])
                best.append((data, methods, value))
        return best

    def tests(self) -> dict[str, Any] | None:
        """Return Friedman's test with its diagram, Wilcoxon's, and mean ranks by every metric."""
        ranks = rank_table(self.outcome, self.classifier, self.methods)
        if ranks is None:
            return None
        tests: dict[str, Any] = {"heads": ["", *ranks.columns], "ranks": ranks.rows}
        tests |= {"refused": None, "test": None}
        test = tables.test_of(self.summary(self.classifier), self.metric)
        if isinstance(test, str):
            tests["refused"] = test
            return tests
        tests["test"] = test
        tests["wilcoxon"] = list(test.wilcoxon.itertuples())
        tests["diagram"] = diagram(test)
        return tests

    def charts(
        self, kind: str | None = None, metric: str | None = None, classifier: str | None = None
    ) -> list[Plot | None]:
        """Return a metric (the main one) against the number of features, a figure a data set."""
        kind = kind or self.kind
        metric = metric or self.metric
        classifier = classifier or self.classifier
        charts = []
        for data in self.outcome.data["name"]:
            table, level = tables.curves(
                self.outcome.cells,
                kind,
                metric,
                classifier,
                data,
            )
            if len(table) > 1:
                series = {m: table[m].to_numpy() for m in self.methods if m in table}
                numbers = table.index.to_numpy()
                charts.append(
                    lines(
                        data,
                        numbers,
                        series,
                        self.places,
                        "features",
                        level,
                    )
                )
        return charts

    def paper(self) -> Iterator[dict[str, Any]]:
        """Yield by metric the paper's numbers and ours."""
        paper = published(self.plan.published)
        if paper is None:
            return
        for (kind, metric), rows in paper.groupby(["metrics", "metric"], sort=False):
            methods = set(rows["method"])
            names = [method for method in self.methods if method in methods]
            names += [method for method in dict.fromkeys(rows["method"]) if method not in names]
            published_sets = set(rows["data"])
            sets = [name for name in self.outcome.data["name"] if name in published_sets]
            ours = pd.DataFrame()
            if kind in self.plan.protocol.metrics:
                ours = self.summary(self.classifier, kind, metric).mean
            ours = ours.reindex(index=sets, columns=names)
            theirs = rows.set_index(["data", "method"])["value"]
            lines = []
            for name in names:
                published_values = [theirs.get((data, name), float("nan")) for data in sets]
                pairs = zip(published_values, ours[name], strict=True)
                lines.append((name, list(pairs)))
            heads = ["", *sets] if sets else []
            yield self.titled(kind, metric) | {"heads": heads, "rows": lines}

    def time(self) -> list[Plot | None]:
        """Return the main metric against the seconds of one ranking, a figure a data set."""
        mean = self.summary(self.classifier).mean
        trials = self.outcome.trials.groupby(["data", "method"], sort=False)
        seconds = trials["select_seconds"].mean()
        title = "seconds to rank (one ranking, one task)"
        charts = []
        for data in mean.index:
            points = [
                (method, float(seconds[(data, method)]), float(mean.loc[data, method]))
                for method in self.methods
                if method != ALL_FEATURES and (data, method) in seconds.index
            ]
            level = float(mean.loc[data, ALL_FEATURES]) if ALL_FEATURES in mean.columns else None
            charts.append(
                scatter(
                    data,
                    points,
                    self.places,
                    title,
                    level,
                )
            )
        return charts if any(charts) else []

    def stability(self) -> dict[str, Any] | None:
        """Return Nogueira's index by number of features, with its interval, a plot a data set."""
        indices = tables.stability(self.outcome.rankings, self.outcome.cells, self.outcome.data)
        if not len(indices):
            return None
        bounds = around(indices[["low", "high"]].to_numpy().ravel(), 0.0, 1.0)
        charts = [
            self._stability_of(str(data), rows, bounds)
            for data, rows in indices.groupby("data", sort=False)
        ]
        return {"charts": charts, "runs": int(indices["runs"].min())}

    def _stability_of(self, data: str, rows: pd.DataFrame, bounds: tuple[float, float]) -> DotPlot:
        """Return a row a method, with a dot and its interval for each number of features."""
        plot = DotPlot(data, ["method"], *bounds)
        for method in self.methods:
            indices = rows[rows["method"] == method].dropna().sort_values("features")
            values = indices["stability"].tolist()
            if not values:
                continue
            kind = f"s s{self.places[method] % COLOURS}"
            marks = []
            for i, index in enumerate(indices.itertuples()):
                top = f"{100 * (i + 0.5) / len(values):.1f}%"
                marks.append(plot.bar(kind, (index.low, index.high), top))
                value, low, high = (number(v, 2) for v in (index.stability, index.low, index.high))
                tooltip = f"{method}, {number(index.features)} features: {value} ({low} to {high})"
                marks.append(plot.dot(kind, index.stability, top, tooltip))
            plot.lines = max(plot.lines, len(values))
            ends = dict.fromkeys((number(values[0], 2), number(values[-1], 2)))
            plot.rows.append(([method], " … ".join(ends), marks))
        return plot

    def parameters(self) -> dict[str, Any]:
        """Return the parameters that were chosen, by which metric, and means of the inner folds."""
        choose = self.plan.protocol.choose
        trials = self.outcome.trials
        searched = trials[trials["parameters"] != ""]
        if not len(searched):
            return {"chosen": []}
        heats = [
            heat(title, table, tables.LARGER[choose.metric])
            for title, table in tables.sensitivity(self.outcome.choices)
        ]
        seconds = searched.groupby(["data", "method"])["choose_seconds"].mean()
        without_signs = str.maketrans("", "", '{}"')  # of JSON
        chosen = []
        groups = searched.groupby(["data", "method", "parameters"], sort=False)
        for (data, method, parameters), rows in groups:
            sizes = sorted({str(size) for size in rows["size"] if size is not None})
            text = parameters.translate(without_signs)
            spent = seconds[(data, method)]
            chosen.append((data, method, text, ", ".join(sizes), len(rows), spent))
        title = titled(choose.metric, choose.metrics)
        return {
            "chosen": chosen,
            "by": title,
            "heats": heats,
        }

    def settings(self, entry: Any) -> dict[str, Any]:
        """Return the parameters and constraints of a method or a classifier of the plan."""
        settings = dict(entry.parameters)
        for name in OF_METHODS:
            features = getattr(entry, name, None)
            if features:
                settings[name] = ", ".join(map(str, features))
        return settings

    def labels(self) -> dict[str, Any] | None:
        """Return macro-F1 of the rarest labels, and F1 of every label; None of metrics at k."""
        kind = next((kind for kind in self.plan.protocol.metrics if kind != K_BEST), None)
        if kind is None:
            return None
        rare = self.table(self.classifier, kind, "tailMacroF1")
        table = self.outcome.labels
        if not len(table):
            return {"rare": rare, "sets": []}
        table = table[table["classifier"] == self.classifier].copy()
        predicted_and_actual = table["predicted"] + table["actual"]
        table["f1"] = 2 * table["true_positives"] / predicted_and_actual.clip(lower=1)
        groups = table.groupby("data", sort=False)
        return {"rare": rare, "sets": [self._f1_by_label(data, rows) for data, rows in groups]}

    def _f1_by_label(self, data: Any, rows: pd.DataFrame) -> tuple[str, list[str], list[Any]]:
        """Return title, heads and lines of a table, the rarest labels first."""
        wide = rows.pivot_table(
            index=["label", "actual"], columns="method", values="f1", sort=False
        ).reset_index()
        wide = wide.sort_values("actual", kind="stable").head(MOST_LABELS)
        names = [method for method in self.methods if method in wide.columns]
        title = f"F1 of each label of {data}"
        if rows["label"].nunique() > MOST_LABELS:
            title += f" (the {MOST_LABELS} rarest)"
        lines = []
        for _, row in wide.iterrows():
            values = [row[name] for name in names]
            lines.append((row["label"], int(row["actual"]), values))
        return title, ["label", "test rows", *names], lines

    def run(self) -> list[tuple[str, list[float]]]:
        """Return the seconds of each method's trials, by what they were spent on, and of all."""
        fit = ["data", "method", "split", "classifier", "features"]
        fits = self.outcome.cells.drop_duplicates(fit).groupby("method", sort=False)
        trials = self.outcome.trials.groupby("method", sort=False)
        spent = pd.concat(
            [
                trials[["choose_seconds", "select_seconds"]].sum(),
                fits[["fit_seconds", "predict_seconds"]].sum(),
            ],
            axis=1,
        ).fillna(0.0)
        seconds = spent.to_numpy()
        names = [*spent.index, "all"]
        rows = [*seconds, seconds.sum(axis=0)]
        return [(name, [*row, sum(row)]) for name, row in zip(names, rows, strict=True)]


def _best_ranked(test: tables.Test) -> dict[str, Any]:
    """Return the methods of the best mean rank, and those that Nemenyi's test leaves beside."""
    ranks = test.friedman.ranks.round(6)
    best = ranks.min()
    top = [name for name, rank in zip(test.names, ranks, strict=True) if rank == best]
    others = ranks.argsort(kind="stable")[len(top) :]
    near = [test.names[i] for i in others if ranks[i] - best < test.nemenyi]
    return {
        "test": test.friedman,
        "rank": best,
        "top": top,
        "near": near,
    }


# ---- from Python ----


class ComparisonOutcome(Outcome):
    """The tables of a comparison (`evaluate.outcome.Outcome`), and their page."""

    def page(self) -> str:
        """Return the comparison as one HTML page."""
        assert self.plan is not None
        manifest = {
            "finished": now(),
            "seconds": {"trials": float(self.trials["wall_seconds"].sum())},
            "versions": versions(""),
            "command": [],
            "trials": len(self.trials),
        }
        return comparison_page(self, self.plan, manifest)

    def cd_diagram(self, path: str | os.PathLike[str], classifier: str | None = None) -> None:
        """Write the critical difference diagram of the main metric as .pdf, .svg or .png.

        It is by a classifier, the first one by default."""
        assert self.plan is not None
        suffix = Path(path).suffix[1:].lower()
        check_formats([suffix], [])
        title = classifier or self.plan.design().classifiers[0].title
        Path(path).write_bytes(saved(cd_diagram(self, title), suffix))


def compare(
    spark: SparkSession | LocalSession,
    plan: Mapping[str, Any] | str | os.PathLike[str],
    progress: Progress | None = None,
) -> ComparisonOutcome:
    """Run a comparison: `plan` is the path of a TOML file, or a dict of its sections.

    They are described in `evaluate.plan`. Gives a `ComparisonOutcome`; raises `ParameterError` for
    whatever is wrong with the plan. Long ones are better run by ``spark-mlfs compare``, which takes
    up what was cut short.

    >>> from spark_mlfs.frames.frame import LocalSession  # in this process; or a Spark session
    >>> options = {"num_rows": 90, "num_features": 8, "num_labels": 2}
    >>> data = [{"name": "planted", "format": "planted", "options": options}]
    >>> methods = [{"name": "mim"}, {"name": "jmi"}]
    >>> plan = {"data": data, "method": methods, "protocol": {"folds": "3-fold", "sizes": [2]}}
    >>> compare(LocalSession(), plan).summary().round(2).loc["planted"].to_dict()
    {'mim': 1.0, 'jmi': 1.0, 'all features': 0.97}"""
    with spelled_by(in_python):
        if isinstance(plan, (str, os.PathLike)):
            checked = read_comparison(os.fspath(plan))
        else:
            checked = comparison(plan, "plan")
        outcome = run(
            spark,
            checked,
            ForgetfulJournal(),
            None,
            progress,
        )
    return ComparisonOutcome(**vars(outcome))
