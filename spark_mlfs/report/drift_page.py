"""What changed over windows of rows: `spark_mlfs.drift`, its tables, and its page, self-contained and without scripts."""

from __future__ import annotations

import shlex
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..adapters.arrays import memory_of
from ..blocks.arrays import hold, kind_of
from ..blocks.dataset import Dataset
from ..errors import ParameterError
from ..evaluate.stability import agreement
from ..markup import number, render
from ..output.manifest import now
from ..params import Choice, Parameter
from ..pipeline import Progress, Request, rank
from ..select.rules import DRIFT_METHOD
from ..states.compare import Change, Window, compare
from ..statistics.base import Budgets
from .comparison_page import DARK
from .figures import COLOURS, LIGHT, Plot, lines, mark, scatter

AGAINST = Parameter("against", "first", Choice(("first", "previous")), "window that each later one is compared with")
SIZES = 10, 20, 50, 100, 200, 500  # of the best
SHOWN, MOST_ROWS = 10, 200  # features of a figure; rows of a table
SMALLEST = 1e-300  # of a p-value on a logarithmic axis


@dataclass
class Drift:
    """What changed: `changes` of each later one of `windows`; their `rankings` by `method`; `stability` of the best."""

    windows: list[str]
    changes: list[Change]
    rankings: list[pd.DataFrame]
    stability: pd.DataFrame
    method: str

    @property
    def features(self) -> pd.DataFrame:
        """A row a feature, what changed most first (`states.compare.compare`), with its ranks; of several windows one each."""
        places = {name: dict(zip(r["name"], r["rank"], strict=True)) for name, r in zip(self.windows, self.rankings, strict=True)}
        tables = []
        for change in self.changes:
            table = change.features.sort_values(["p_value", "psi"], ascending=[True, False], kind="stable", ignore_index=True)
            for side in ("before", "after"):
                table[f"rank_{side}"] = table["feature"].map(places[getattr(change, side)]).astype("Int64")
            tables.append(table)
        return self._stacked(tables)

    @property
    def pairs(self) -> pd.DataFrame:
        """The pairs of a feature and a label whose relation changed."""
        return self._stacked([change.pairs for change in self.changes])

    @property
    def labels(self) -> pd.DataFrame:
        """How common each label is, before and after."""
        return self._stacked([change.labels for change in self.changes])

    def _stacked(self, tables: list[pd.DataFrame]) -> pd.DataFrame:
        if len(tables) == 1:
            return tables[0]
        named = zip(self.changes, tables, strict=True)
        return pd.concat([t.assign(window=c.after)[["window", *t.columns]] for c, t in named], ignore_index=True)

    @property
    def facts(self) -> dict[str, Any]:
        """What a manifest says of the run."""
        told = [{"before": change.before, "after": change.after, **change.facts} for change in self.changes]
        return {"windows": self.windows, "method": self.method, "changes": told, "stability": self.stability.to_dict("records")}

    def page(self, manifest: Mapping[str, Any] | None = None) -> str:
        """The page as HTML text."""
        return render("drift.html.j2", shown=_Shown(self), drift=self, manifest=manifest or {"finished": now()},
                      command=shlex.join((manifest or {}).get("command", ())), most=MOST_ROWS,
                      colours=list(zip(LIGHT, DARK, strict=True)))  # fmt: skip


def over(
    windows: Sequence[Window],
    method: str = DRIFT_METHOD,
    method_params: Mapping[str, Any] | None = None,
    against: str = "first",
    progress: Progress | None = None,
    **settings: Any,
) -> Drift:
    """Return what changed over windows, in their order; `settings` are those of `select.rules.DRIFT`."""
    request, names = Request.of(method, dict(method_params or {})), [window.name for window in windows]
    if len(names) < 2 or len(set(names)) < len(names):
        raise ParameterError(f"drift compares at least two windows of different names, not {', '.join(names) or 'none'}")
    first = AGAINST.accept(against) == "first"
    changes = [compare(windows[0 if first else i - 1], windows[i], progress, **settings) for i in range(1, len(names))]
    rankings = []
    for window in windows:
        driver, worker = window.budgets.driver, window.budgets.worker
        (result,) = rank(window.rows, [request], progress=progress, driver_bytes=driver, worker_bytes=worker)
        rankings.append(result.ranking)
    orders = [list(ranking["name"]) for ranking in rankings]
    rows = []
    for size in [k for k in SIZES if k < min(map(len, orders))]:
        for i, name in enumerate(names[1:], 1):
            pair = orders[0 if first else i - 1], orders[i]
            rows.append((name, size, len({*pair[0][:size]} & {*pair[1][:size]}) / size, agreement(pair, size).value))
        if len(names) > 2:
            rows.append(("all", size, np.nan, agreement(orders, size).value))
    return Drift(names, changes, rankings, pd.DataFrame(rows, columns=["window", "features", "overlap", "stability"]), method)


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
) -> Drift:
    """Tell what changed between windows of rows: of each feature its distribution, and what it says about each label.

    Parameters
    ----------
    before, after : windows, each (X, Y) or (X, Y, sample_weight) as `rank` takes them, or a Spark frame; `after` may be several
    names : of the windows
    method, method_params : method whose rankings are compared
    against : what later windows are compared with, the "first" or the "previous" one
    features, labels, weight : columns of a Spark frame
    memory_bytes : bytes that rows and counts may take
    reading : of tables, `label_delimiter` and `missing` as `rank` takes them
    num_bins, binning, fdr, combination : codes and tests (`spark_mlfs.states.compare`); fdr .05

    Weights are whole numbers: how often a row counts. Grades are refused: cut them to labels first. Rows whose label is unknown
    (NaN) are left out of that label's tests. Gives a `Drift`: tables `features`, `pairs`, `labels`, `stability`, and `page()`.

    >>> X, Y = np.tile(np.eye(2), (40, 1)), np.tile([[1], [0]], (40, 1))
    >>> drift((X, Y), (X, 1 - Y)).features["changed"].tolist()
    [True, True]
    """
    memory = memory_of(memory_bytes)
    budgets = Budgets(driver=memory, worker=memory, worker_setting="memory_bytes")
    rows, packed, given = [], [], [before, *after]
    called = list(names or (("before", "after") if len(given) == 2 else map(str, range(1, len(given) + 1))))
    if len(called) != len(given):
        raise ParameterError(f"names has {len(called)} for {len(given)} windows; give each one")
    try:
        for name, window in zip(called, given, strict=True):
            if isinstance(window, tuple | list) and len(window) in (2, 3):
                options = {to: value for to, value in (reading or {}).items() if to in ("label_delimiter", "missing")}
                options["delimiter"] = options.pop("label_delimiter", None)
                held: Dataset = hold(*window, **options)[0]
            elif not isinstance(window, tuple | list) and kind_of(window) == "pyspark":
                from ..blocks.pack import pack

                held, budgets = pack(window, features, labels, weight=weight), Budgets()
                packed.append(held)
            else:
                raise ParameterError(f"window {name!r} is {type(window).__name__}: give (X, Y), (X, Y, weights) or a Spark frame")
            rows.append(Window(name, held, budgets))
        return over(rows, method, method_params, against, **settings)
    finally:
        for one in packed:
            one.release()


class _Shown:
    """The figures and rows of the page."""

    def __init__(self, of: Drift) -> None:
        self.of, self.last = of, of.changes[-1]
        tables = [change.features.set_index("feature") for change in of.changes]
        names = list(dict.fromkeys(name for table in tables for name in table.index))
        self.p, self.psi = (pd.DataFrame([t[c].reindex(names) for t in tables]).to_numpy(float) for c in ("p_value", "psi"))
        least = np.nanmin(np.where(np.isnan(self.p), 1.0, self.p), axis=0)
        moved = np.lexsort((-np.nanmax(self.psi, axis=0), least))[:SHOWN]
        self.top = [names[i] for i in moved]
        self.at, self.named = dict(zip(self.top, moved, strict=True)), np.array(names, object)
        self.places = {name: place for place, name in enumerate(self.top)}
        self.marks = [(place, place % COLOURS, mark(place), name) for name, place in self.places.items()]

    @property
    def rows(self) -> list[Any]:
        """The features that changed, or shifted, most first."""
        table = self.of.features
        level = self.last.facts["fdr"]
        moved = table[table["changed"] | (table["shift_q_value"] <= level)]
        pairs = self.of.pairs
        told: dict[Any, str] = {}
        keys = ["window", "feature"] if "window" in pairs else ["feature"]
        for row in pairs.to_dict("records"):
            text = f"{row['label']}: {number(row['correlation_before'], 2)} → {number(row['correlation_after'], 2)}"
            told.setdefault(tuple(row[key] for key in keys), text)
        return [dict(row, told=told.get(tuple(row[key] for key in keys), "")) for row in moved.head(MOST_ROWS).to_dict("records")]

    def map(self) -> Plot | None:
        """Both kinds of change of two windows: the largest, a point each."""
        if len(self.of.changes) > 1:
            return None
        points = [(name, max(self.psi[0, i], 1e-6), self._strength(self.p[0, i])) for name, i in self.at.items()]
        return scatter("change of the relation, −log₁₀ p, against the feature's own (PSI)", points, self.places, "PSI")

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
        same = self.of.stability[self.of.stability["window"] != "all"].pivot(index="window", columns="features", values="overlap")
        overlap = {f"{k} best": same.loc[windows[1:], k].tolist() for k in same.columns}
        plots = [
            lines("change of the relation, −log₁₀ p", later, relation, self.places, "window"),
            lines("change of the feature itself, PSI", later, shift, self.places, "window"),
            _downwards(lines(f"rank by {self.of.method}", range(1, len(windows) + 1), bumps, self.places, "window")),
            lines("share of the best that stay", later, overlap, {name: i for i, name in enumerate(overlap)}, "window"),
        ]
        return [self._dated(plot) for plot in plots]

    def _dated(self, plot: Plot | None) -> Plot | None:
        """The plot with the windows' names in the place of their numbers."""
        if plot is not None:
            named = {number(i): name for i, name in enumerate(self.of.windows, 1)}
            plot.texts = [(k, s, named.get(t, "") if k.startswith("tx") else t) for k, s, t in plot.texts]
        return plot


def _downwards(plot: Plot | None) -> Plot | None:
    """A plot of negative numbers as one of positive ones, the smallest on top."""
    if plot is not None:
        plot.texts = [(kind, style, text.removeprefix("−")) for kind, style, text in plot.texts]
        plot.shapes = [(tag, kind, at, tip.replace("−", "")) for tag, kind, at, tip in plot.shapes]
    return plot
