"""What changed over windows of rows: `spark_mlfs.drift`, and its page, self-contained and without
scripts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from typing import Any, TypeAlias

import numpy as np
import pandas as pd

from ..adapters.arrays import memory_of
from ..blocks.arrays import pack_arrays
from ..blocks.dataset import Dataset
from ..blocks.pack import pack
from ..blocks.tables import kind_of
from ..errors import ParameterError
from ..frames.scratch import Scratch
from ..kernels.missing import MISSING
from ..lazy import DataFrame
from ..markup import fixed, number, power, render
from ..output.manifest import now
from ..params import Optional, Parameter, Text, check
from ..select.rules import DRIFT_METHOD
from ..states.changes import Drift, compare_windows, window_names
from ..states.collect import refuse_mean
from ..states.states import States
from ..states.windows import Window
from ..statistics.base import Budgets
from ..typing import Column, Labels, Table
from .dot_plots import DotPlot, before_and_after
from .figures import PALETTE, Plot, key_of, lines, mark, name_points

DELIMITER = Parameter(
    "label_delimiter", None, Optional(Text("a text")), "what stands between the tags of a row"
)
Rows: TypeAlias = "States | DataFrame | tuple[Table, Labels] | tuple[Table, Labels, Column | None]"
MOST_CURVES = 10  # features of a figure
MOST_ROWS = 200  # of a table
SMALLEST = 1e-300  # of a p-value on a logarithmic axis
SOME_SHIFT, LARGE_SHIFT = 0.1, 0.25  # PSI from which a distribution is said to have shifted
BEYOND = f"what is beyond {LARGE_SHIFT:g} stands at the edge"
MOST_PAIRS = 200  # of a feature and a label


class DriftOutcome(Drift):
    """What changed over windows, and its page."""

    def page(self, manifest: Mapping[str, Any] | None = None) -> str:
        """Return the page as HTML text."""
        return render(
            "drift.html.j2",
            view=DriftView(self),
            drift=self,
            manifest=manifest or {"finished": now(), "command": []},
            most=MOST_ROWS,
            colours=PALETTE,
        )


def drift(  # noqa: PLR0913
    before: Rows,
    *after: Rows,
    names: Sequence[str] | None = None,
    method: str = DRIFT_METHOD,
    method_params: Mapping[str, Any] | None = None,
    against: str = "first",
    features: str = "features",
    labels: str = "labels",
    weight: str | None = None,
    memory_bytes: int | None = None,
    reading: Mapping[str, Any] | None = None,
    **settings: Any,
) -> DriftOutcome:
    """Compare windows of rows: each feature's distribution, and what it says about each label.

    Parameters
    ----------
    before, after : windows, each (X, Y) or (X, Y, sample_weight) as `rank` takes them, a Spark
        frame, or `spark_mlfs.states`; there may be several later ones
    names : of the windows
    method, method_params : method whose rankings are compared
    against : what later windows are compared with, the "first" or the "previous" one
    features, labels, weight : columns of a Spark frame
    memory_bytes : bytes that rows and counts may take
    reading : of tables, `label_delimiter` and `missing` as `rank` takes them
    num_bins, binning, fdr, fdr_over, combination : codes and tests (`spark_mlfs.states.changes`);
        fdr .05, over each later window, or over "all" together

    Weights are whole numbers: how often a row counts. Grades are refused: cut them to labels first.
    Rows whose label is unknown (NaN) are left out of that label's tests. Gives a `DriftOutcome`:
    tables `features`, `pairs`, `labels`, `stability`, and `page()`.

    >>> X, Y = np.tile(np.eye(2), (40, 1)), np.tile([[1], [0]], (40, 1))
    >>> drift((X, Y), (X, 1 - Y)).features["changed"].tolist()
    [True, True]"""
    options = check((DELIMITER, MISSING), reading or {}, "reading")
    refuse_mean(options["missing"])
    memory = memory_of(memory_bytes)
    budgets = Budgets(driver=memory, worker=memory, worker_setting="memory_bytes")
    inputs: list[Any] = [before, *after]
    windows = []
    with ExitStack() as released:
        for name, window in zip(window_names(inputs, names), inputs, strict=True):
            rows: Dataset
            budgets_of_window = budgets
            if isinstance(window, States):
                rows = window.dataset()
            elif isinstance(window, tuple | list) and len(window) in (2, 3):
                rows, *_ = pack_arrays(
                    window[0],
                    window[1],
                    window[2] if len(window) == 3 else None,
                    delimiter=options["label_delimiter"],
                    missing=options["missing"],
                    scratch=Scratch(memory),
                )
                released.enter_context(rows)
            elif not isinstance(window, tuple | list) and kind_of(window) == "pyspark":
                rows = released.enter_context(pack(window, features, labels, weight=weight))
                budgets_of_window = Budgets()
            else:
                raise ParameterError(
                    f"window {name!r} is {type(window).__name__}: give (X, Y), (X, Y, weights), a "
                    "Spark frame or states"
                )
            windows.append(Window(name, rows, budgets_of_window))
        changes = compare_windows(
            windows,
            method,
            method_params,
            against,
            **settings,
        )
    return DriftOutcome(**vars(changes))


class DriftView:
    """The figures and rows of the page.

    `top` are the features that changed most, `columns` their columns in the matrices (changes,
    features) `p` of p-values and `psi`; `places` give each its colour and sign. `first`: whether
    later windows are compared with the first one."""

    def __init__(self, drift: Drift) -> None:
        self.drift = drift
        self.last = drift.changes[-1]
        self.first = self.last.before == drift.windows[0]
        tables = [change.features.set_index("feature") for change in drift.changes]
        names = list(dict.fromkeys(name for table in tables for name in table.index))

        def matrix(column: str) -> np.ndarray:
            rows = [table[column].reindex(names) for table in tables]
            return np.asarray(pd.DataFrame(rows), float)

        self.p = matrix("p_value")
        self.psi = matrix("psi")
        least_p = np.fmin(np.fmin.reduce(self.p), np.fmin.reduce(matrix("shift_p_value")))
        order = np.lexsort((-np.nanmax(self.psi, axis=0), least_p))[:MOST_CURVES]
        self.top = [names[column] for column in order]
        self.columns = dict(zip(self.top, order, strict=True))
        self.places = {name: place for place, name in enumerate(self.top)}
        self.marks = key_of(self.places)

    @property
    def rows(self) -> list[Any]:
        """Return the features that changed or shifted, most first.

        Each is as in the window where it did most, with the window since which it does."""
        table = self.drift.features
        pairs = self.drift.pairs
        if "window" not in table:
            table = table.assign(window=self.drift.windows[-1])
            pairs = pairs.assign(window=self.drift.windows[-1])
        changed = table[table["changed"] | (table["shift_q_value"] <= self.last.facts["fdr"])]
        since = changed.drop_duplicates("feature").set_index("feature")["window"].to_dict()
        changed = changed.assign(
            least=changed[["q_value", "shift_q_value"]].min(axis=1),
            changed=changed["changed"].astype(int),
        )
        order = changed.sort_values(["changed", "least"], ascending=[False, True], kind="stable")
        most = order.drop_duplicates("feature").head(MOST_ROWS)
        correlations: dict[tuple[str, str], str] = {}
        for _, pair in pairs[pairs["feature"].isin(most["feature"])].iterrows():
            before = fixed(pair["correlation_before"])
            after = fixed(pair["correlation_after"])
            text = f"{pair['label']}: {before} → {after}"
            correlations.setdefault((pair["window"], pair["feature"]), text)
        ranks = most[["rank_before", "rank_after"]].astype(object)
        ranks = ranks.where(ranks.notna(), "–")
        most = most.assign(ranks=[f"{before} → {after}" for before, after in ranks.to_numpy()])
        rows = []
        for row in most.to_dict("records"):
            row["since"] = since[row["feature"]]
            row["correlation"] = correlations.get((row["window"], row["feature"]), "")
            rows.append(row)
        return rows

    def pairs(self) -> DotPlot | None:
        """Return the correlations that changed, before and after, those that did most first."""
        pairs = self.drift.pairs
        change = (pairs["correlation_after"] - pairs["correlation_before"]).abs()
        most = pairs.assign(change=change).sort_values("change", ascending=False, kind="stable")
        most = most.drop_duplicates(["feature", "label"]).head(MOST_PAIRS)
        columns = ["feature", "label", "correlation_before", "correlation_after"]
        rows = [
            ([feature, label], before, after)
            for feature, label, before, after in most[columns].itertuples(index=False)
        ]
        title = "correlation of feature and label"
        return before_and_after(title, ["feature", "label"], rows, text=fixed)

    def labels(self) -> DotPlot | None:
        """Return how common each label was and is in the last window, by their change."""
        table = self.last.labels.sort_values("p_value", kind="stable")
        rows = []
        for row in table.to_dict("records"):
            names = [row["label"], number(row["q_value"], 2)]
            rows.append((names, 100 * row["share_before"], 100 * row["share_after"]))
        return before_and_after("share of the rows, in %", ["label", "q"], rows)

    def map(self) -> Plot | None:
        """Return both kinds of change of two windows: the largest, a point each."""
        if len(self.drift.changes) > 1:
            return None
        points: list[tuple[str, float, float, str]] = []
        for name, i in self.columns.items():
            psi = float(self.psi[0, i])
            if np.isnan(psi):
                continue
            strength = float(_strength(self.p[0, i]))
            tooltip = f"{name}: PSI {number(psi, 2)}, p {number(10**-strength, 2)}"
            points.append((name, min(psi, LARGE_SHIFT), strength, tooltip))
        plot = Plot(
            "p of the relation’s change, against the PSI of the feature itself",
            f"PSI; {BEYOND}",
            (0.0, LARGE_SHIFT),
            (0.0, _top(strength for _, _, strength, _ in points)),
            2,
        )
        plot.axis([0.0, 0.05, SOME_SHIFT, 0.15, 0.2, LARGE_SHIFT])
        plot.upright("mark", SOME_SHIFT)
        plot.text("note", f"left:{plot.x(SOME_SHIFT):.2f}%", "some shift")
        name_points(plot, points, self.places)
        return _with_p_values(plot)

    def curves(self) -> list[Plot | None]:
        """Return changes of relations, PSI, ranks and agreement of rankings over the windows."""
        windows = self.drift.windows
        if len(windows) < 3:
            return []
        later = range(2, len(windows) + 1)
        strengths = _strength(self.p)
        relation = {name: strengths[:, i].tolist() for name, i in self.columns.items()}
        shift = {name: self.psi[:, i].tolist() for name, i in self.columns.items()}
        top = _top(p for line in relation.values() for p in line)
        plots = [
            lines(
                "change of the relation, p",
                later,
                relation,
                self.places,
                "window",
                up=(0.0, top),
            ),
            lines(
                f"change of the feature itself, PSI ({BEYOND})",
                later,
                shift,
                self.places,
                "window",
                SOME_SHIFT,
                (0.0, LARGE_SHIFT),
            ),
            self._ranks(),
            self._overlaps(),
        ]
        _with_p_values(plots[0])
        if plots[1] is not None:
            plots[1].text("ty", "top:0%", number(LARGE_SHIFT))
        for plot in plots:
            if plot is not None:
                # the first and the last window by their names, not their numbers
                plot.texts = [text for text in plot.texts if not text[0].startswith("tx")]
                first = windows[int(plot.across[0]) - 1]
                plot.text("tx start", "left:0%", first)
                plot.text("tx end", "left:100%", windows[-1])
        return plots

    def _ranks(self) -> Plot | None:
        """Return the ranks over the windows, the smallest on top."""
        ranks = [ranking.set_index("name")["rank"] for ranking in self.drift.rankings]
        heights = {}
        for name in self.top:
            heights[name] = [-float(rank.get(name, np.nan)) for rank in ranks]
        numbers = range(1, len(self.drift.windows) + 1)
        plot = lines(
            f"rank by {self.drift.method}",
            numbers,
            heights,
            self.places,
            "window",
        )
        if plot is not None:  # without the sign that put them upside down
            plot.texts = [(kind, style, text.removeprefix("−")) for kind, style, text in plot.texts]
            plot.shapes = [
                (tag, kind, corners, tooltip.replace("−", ""))
                for tag, kind, corners, tooltip in plot.shapes
            ]
        return plot

    def _overlaps(self) -> Plot | None:
        """Return the shares of the best features that stay, over the later windows."""
        stability = self.drift.stability
        windows = self.drift.windows
        by_window = stability[stability["window"] != "all"]
        table = by_window.pivot(index="window", columns="features", values="overlap")
        table = table.reindex(windows[1:])  # of few features there is none
        overlaps = {str(count): table[count].tolist() for count in table.columns}
        places = {count: i for i, count in enumerate(overlaps)}
        signs = ", ".join(f"{mark(i)} {count}" for count, i in places.items())
        later = range(2, len(windows) + 1)
        return lines(
            f"share of the best that stay: {signs}",
            later,
            overlaps,
            places,
            "window",
        )


def _strength(p: Any) -> Any:
    """Return −log₁₀ p, 0 where p is NaN."""
    known = np.where(np.isnan(p), 1.0, p)
    return -np.log10(np.maximum(known, SMALLEST))


def _top(strengths: Iterable[float]) -> float:
    """Return the end of an axis of −log₁₀ p whose ticks are whole numbers."""
    top = 1.06 * max([5.0, *strengths])
    return max(top, 10.1) if top > 8 else top


def _with_p_values(plot: Plot | None) -> Plot | None:
    """Return a figure whose heights are −log₁₀ p with p beside its axis: 1, 10⁻⁵."""
    if plot is None:
        return None
    texts = []
    for kind, style, text in plot.texts:
        if kind != "ty":
            texts.append((kind, style, text))
        elif text.isdigit():  # between whole powers there is no short number
            texts.append((kind, style, power(-int(text)) if text != "0" else "1"))
    plot.texts = texts
    return plot
