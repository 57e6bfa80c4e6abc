"""What changed over windows of rows: `spark_mlfs.drift`, its tables, and its page, self-contained
and without scripts."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np
import pandas as pd

from ..adapters.arrays import memory_of
from ..blocks.arrays import pack_arrays
from ..blocks.dataset import Dataset
from ..blocks.pack import pack
from ..blocks.tables import kind_of
from ..errors import ParameterError
from ..kernels.missing import MISSING
from ..markup import number, render
from ..output.manifest import now
from ..params import Optional, Parameter, Text, check
from ..select.rules import DRIFT_METHOD
from ..states.changes import Drift, compare_windows, window_names
from ..states.collect import refuse_mean
from ..states.states import States
from ..states.windows import Window
from ..statistics.base import Budgets
from .figures import PALETTE, Plot, key_of, lines, mark, scatter

DELIMITER = Parameter(
    "label_delimiter", None, Optional(Text("a text")), "what stands between the tags of a row"
)
SHOWN, MOST_ROWS = 10, 200  # features of a figure; rows of a table
SMALLEST = 1e-300  # of a p-value on a logarithmic axis


class DriftOutcome(Drift):
    """What changed over windows, and its page."""

    def page(self, manifest: Mapping[str, Any] | None = None) -> str:
        """The page as HTML text."""
        about = manifest or {"finished": now(), "command": []}
        return render(
            "drift.html.j2",
            view=DriftView(self),
            drift=self,
            manifest=about,
            most=MOST_ROWS,
            colours=PALETTE,
        )


def drift(
    before: Any,
    *after: Any,
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
    """Tell what changed between windows of rows: of each feature its distribution, and what it says
    about each label.

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
    num_bins, binning, fdr, combination : codes and tests (`spark_mlfs.states.changes`); fdr .05

    Weights are whole numbers: how often a row counts. Grades are refused: cut them to labels first.
    Rows whose label is unknown (NaN) are left out of that label's tests. Gives a `DriftOutcome`:
    tables `features`, `pairs`, `labels`, `stability`, and `page()`.

    >>> X, Y = np.tile(np.eye(2), (40, 1)), np.tile([[1], [0]], (40, 1))
    >>> drift((X, Y), (X, 1 - Y)).features["changed"].tolist()
    [True, True]"""
    told = check((DELIMITER, MISSING), reading or {}, "reading")
    refuse_mean(told["missing"])
    memory = memory_of(memory_bytes)
    budgets = Budgets(driver=memory, worker=memory, worker_setting="memory_bytes")
    rows, given = [], [before, *after]
    with ExitStack() as packed:
        for name, window in zip(window_names(given, names), given, strict=True):
            if isinstance(window, States):
                held: Dataset = window.dataset()
            elif isinstance(window, tuple | list) and len(window) in (2, 3):
                options = {"delimiter": told["label_delimiter"], "missing": told["missing"]}
                held = pack_arrays(*window, **options)[0]
            elif not isinstance(window, tuple | list) and kind_of(window) == "pyspark":
                held, budgets = (
                    packed.enter_context(pack(window, features, labels, weight=weight)),
                    Budgets(),
                )
            else:
                what = f"window {name!r} is {type(window).__name__}"
                raise ParameterError(
                    f"{what}: give (X, Y), (X, Y, weights), a Spark frame or states"
                )
            rows.append(Window(name, held, budgets))
        return DriftOutcome(
            **vars(compare_windows(rows, method, method_params, against, **settings))
        )


class DriftView:
    """The figures and rows of the page."""

    def __init__(self, of: Drift) -> None:
        self.of, self.last, self.first = of, of.changes[-1], of.changes[-1].before == of.windows[0]
        tables = [change.features.set_index("feature") for change in of.changes]
        names = list(dict.fromkeys(name for table in tables for name in table.index))
        columns = ("p_value", "psi", "shift_p_value")
        self.p, self.psi, shift = (
            pd.DataFrame([t[c].reindex(names) for t in tables]).to_numpy(float) for c in columns
        )
        least = np.fmin(np.fmin.reduce(self.p), np.fmin.reduce(shift))
        moved = np.lexsort((-np.nanmax(self.psi, axis=0), least))[:SHOWN]
        self.top = [names[i] for i in moved]
        self.at = dict(zip(self.top, moved, strict=True))
        self.places = {name: place for place, name in enumerate(self.top)}
        self.marks = key_of(self.places)

    @property
    def rows(self) -> list[Any]:
        """The features that changed or shifted, most first, each as in the window where it did
        most, and since which one."""
        table, pairs = self.of.features, self.of.pairs
        if "window" not in table:
            table, pairs = (
                table.assign(window=self.of.windows[-1]),
                pairs.assign(window=self.of.windows[-1]),
            )
        moved = table[table["changed"] | (table["shift_q_value"] <= self.last.facts["fdr"])]
        since = moved.drop_duplicates("feature").set_index("feature")["window"].to_dict()
        moved = moved.assign(
            least=moved[["q_value", "shift_q_value"]].min(axis=1),
            changed=moved["changed"].astype(int),
        )
        most = moved.sort_values(["changed", "least"], ascending=[False, True], kind="stable")
        most = most.drop_duplicates("feature").head(MOST_ROWS)
        told: dict[tuple[str, str], str] = {}
        for _, row in pairs[pairs["feature"].isin(most["feature"])].iterrows():
            text = (
                f"{row['label']}: {number(row['correlation_before'], 2)} → "
                f"{number(row['correlation_after'], 2)}"
            )
            told.setdefault((row["window"], row["feature"]), text)
        ranks = (
            most[["rank_before", "rank_after"]].astype(object).where(lambda own: own.notna(), "–")
        )
        most = most.assign(ranks=[f"{before} → {after}" for before, after in ranks.to_numpy()])
        return [dict(row, since=since[row["feature"]], told=told.get((row["window"], row["feature"]), ""))
                for row in most.to_dict("records")]  # fmt: skip

    def map(self) -> Plot | None:
        """Both kinds of change of two windows: the largest, a point each."""
        if len(self.of.changes) > 1:
            return None
        points = [
            (name, max(self.psi[0, i], 1e-6), self._strength(self.p[0, i]))
            for name, i in self.at.items()
        ]
        return scatter(
            "change of the relation, −log₁₀ p, against the feature's own (PSI)",
            points,
            self.places,
            "PSI",
        )

    @staticmethod
    def _strength(p: Any) -> Any:
        return -np.log10(np.maximum(np.where(np.isnan(p), 1.0, p), SMALLEST))

    def curves(self) -> list[Plot | None]:
        """Over the windows: the change of relations, PSI, ranks, and how far rankings agree."""
        windows = self.of.windows
        if len(windows) < 3:
            return []
        later = list(range(2, len(windows) + 1))
        relation = {name: self._strength(self.p[:, i]).tolist() for name, i in self.at.items()}
        shift = {name: self.psi[:, i].tolist() for name, i in self.at.items()}
        ranks = [dict(zip(r["name"], r["rank"], strict=True)) for r in self.of.rankings]
        bumps = {name: [-float(rank.get(name, np.nan)) for rank in ranks] for name in self.top}
        same = self.of.stability[self.of.stability["window"] != "all"].pivot(
            index="window", columns="features", values="overlap"
        )
        overlap = {f"{k}": same.loc[windows[1:], k].tolist() for k in same.columns}
        signs = ", ".join(f"{mark(i)} {k}" for i, k in enumerate(overlap))
        places = {name: i for i, name in enumerate(overlap)}
        plots = [
            lines("change of the relation, −log₁₀ p", later, relation, self.places, "window"),
            lines("change of the feature itself, PSI", later, shift, self.places, "window"),
            falling := lines(
                f"rank by {self.of.method}",
                range(1, len(windows) + 1),
                bumps,
                self.places,
                "window",
            ),
            lines(f"share of the best that stay: {signs}", later, overlap, places, "window"),
        ]
        if falling is not None:  # ranks are shown as positive numbers, the smallest on top
            falling.texts = [
                (kind, style, text.removeprefix("−")) for kind, style, text in falling.texts
            ]
            falling.shapes = [
                (tag, kind, at, tip.replace("−", "")) for tag, kind, at, tip in falling.shapes
            ]
        for plot in filter(
            None, plots
        ):  # the names of the first and the last window in the place of their numbers
            plot.texts = [text for text in plot.texts if not text[0].startswith("tx")]
            plot.texts += [
                ("tx start", "left:0%", windows[int(plot.across[0]) - 1]),
                ("tx end", "left:100%", windows[-1]),
            ]
        return plots
