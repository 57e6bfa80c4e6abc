"""What changed between two windows of rows, by their counts: each feature's own distribution, and
what it says about each label.

Both windows are counted in the codes of the first, values beyond its range in its end bins. A
feature that is 0 throughout there has two codes, 0 and above; another constant c has edges c ± |c|.
Features and labels join by name: one that only one window has is 0 in the other where features are
sparse, and refused where they are dense. Features are counted and tested range by range, so that no
process holds the counts of all; `solvers.drift` has the tests."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from ..blocks.coding import Coding
from ..blocks.dataset import Dataset
from ..blocks.profile import REACH, Profile
from ..engine.base import Cost, Engine
from ..engine.local import SizingEngine
from ..errors import DataError, ParameterError
from ..evaluate.stability import agreement
from ..methods import METHODS
from ..params import Choice, Parameter, check
from ..pipeline import Progress, Request, compute, rank
from ..select.rules import DRIFT, DRIFT_METHOD
from ..solvers import drift
from ..solvers.filters import combine, corrected
from ..statistics.base import DEFAULT_BUDGETS, Budgets, cuts
from ..statistics.contingency import Counts, TwoWay
from .collect import quantile_edges
from .engine import StateRows
from .needs import of_pairs
from .states import Basis, States
from .states import check as check_states

RANGE_SHARE = 4  # of the budgets: the counts of a range of features, of both windows
AGAINST = Parameter(
    "against", "first", Choice(("first", "previous")), "window that each later one is compared with"
)
SIZES = 10, 20, 50, 100, 200, 500  # of the best
CHUNK_BYTES, PAIR_BYTES = (
    64 << 20,
    384,
)  # of dense counts that are tested together; what a code of a pair takes meanwhile


@dataclass(frozen=True)
class Window:
    """The rows of one time, by its `name`; `budgets` of what is counted of them."""

    name: str
    rows: Dataset
    budgets: Budgets = DEFAULT_BUDGETS

    @property
    def profile(self) -> Profile:
        return self.rows.profile

    @property
    def held(self) -> int:
        """Bytes that one process may hold."""
        return min(self.budgets.driver, getattr(self.rows, "memory", None) or self.budgets.worker)

    def counts(self, coding: Coding) -> Counts:
        """The counts of the features of a coding, by label."""
        rows = self.rows.with_profile(self.profile.only(coding.features))
        counts: Counts = compute(rows, partial(_counts, coding=coding), None, self.budgets)[0]
        return counts

    def check(self) -> None:
        """`ParameterError` or `DataError` for rows that no counts can be compared of."""
        p = self.profile
        if p.graded:
            raise ParameterError("drift counts labels of 0 and 1, not grades: give label_cuts")
        if p.weight_unit < 1:
            raise ParameterError(
                f"drift counts rows, and weights of {self.name} are no whole numbers: give each "
                "row how often it counts, or none"
            )
        if p.excess() is not None:
            raise DataError(
                f"a feature of {self.name} has values beyond 2^±{REACH}: give it in another unit"
            )

    def lacks(self, name: str) -> bool:
        """Whether a feature that it has not got could not be told from 0; a category's value that
        no row has is 0."""
        made = getattr(self.rows, "categories", None)
        return not self.profile.sparse and (
            made is None or name.partition("=")[0] not in dict(made.groups)
        )


def _counts(engine: Engine, coding: Coding) -> tuple[Counts, Cost]:
    return engine.run(TwoWay(coding, engine.labels()), keep=False)[0], engine.cost


class WindowPair:
    """The features and labels of two windows by name, and common codes. `at` (2, U) and `label_at`
    (2, Q): where each window has them, −1 where it has not; `told` those of the features whose
    values differ in some rows."""

    def __init__(self, windows: tuple[Window, Window], num_bins: int, binning: str) -> None:
        self.windows, self.codes = windows, (num_bins, binning)
        states = [window.rows.states for window in windows if isinstance(window.rows, StateRows)]
        if len(states) == 1:
            raise ParameterError(
                "states are compared with states, rows with rows: collect the rows like the states"
            )
        check_states(states, apart=False) if states else None
        first = windows[0]
        edges = (
            {}
            if states
            else quantile_edges(first.rows, [f"counts {num_bins} {binning}"], first.budgets)
        )
        self.basis: Basis = states[0].basis if states else Basis.of(first.rows, {}, edges)
        self.names, self.at = _joined([window.rows.feature_names for window in windows])
        self.labels, self.label_at = _joined([window.rows.label_names for window in windows])
        for place, window in enumerate(windows):
            absent = next(
                (
                    self.names[i]
                    for i in np.flatnonzero(self.at[place] < 0)
                    if window.lacks(self.names[i])
                ),
                None,
            )
            if absent is not None:
                other = windows[1 - place].name
                raise DataError(
                    f"feature {absent!r} is in {other} only: give both the same, or sparse rows, "
                    "where absent is 0"
                )
        low, high = (
            [
                np.where(at >= 0, getattr(window.profile, end)[at], 0.0)
                for at, window in zip(self.at, windows, strict=True)
            ]
            for end in ("low", "high")
        )
        self.told = np.flatnonzero(np.minimum(*low) < np.maximum(*high))

    def coding(self, place: int, features: np.ndarray) -> Coding:
        """The codes of some of the features, as one of the windows has them: those of the basis are
        the first of all."""
        coding: Coding = self.basis.coding(features, *self.codes)
        return replace(coding, features=self.at[place, features])

    def _held(self, place: int, features: np.ndarray) -> np.ndarray:
        """Those of the features that a window has, in its order."""
        held: np.ndarray = features[self.at[place, features] >= 0]
        return held[np.argsort(self.at[place, held], kind="stable")]

    def ranges(self) -> Iterator[np.ndarray]:
        """Yield the features in runs whose counts, of both windows, are within the budgets."""
        sizes = np.zeros(len(self.names), np.int64)
        for place, window in enumerate(self.windows):
            held = self._held(place, self.told)
            labels = SizingEngine(window.profile).labels()
            sizes[held] += TwoWay(self.coding(place, held), labels).feature_bytes(window.profile)
        limit = min(window.held for window in self.windows) // RANGE_SHARE
        for a, z in itertools.pairwise(cuts(sizes[self.told], max(1, limit))):
            yield self.told[a:z]

    def chunks(self, features: np.ndarray) -> Iterator[tuple[np.ndarray, list[_Chunk]]]:
        """Yield some of the features and their dense counts in both windows, which are counted
        once."""
        counted = []
        for place, window in enumerate(self.windows):
            held = self._held(place, features)
            counted.append((held, window.counts(self.coding(place, held)) if len(held) else None))
        every = self.coding(0, features)
        step = max(1, CHUNK_BYTES // (PAIR_BYTES * every.width * max(1, len(self.labels))))
        for a in range(0, len(features), step):
            some = features[a : a + step]
            yield some, [self._dense(place, some, *of, every) for place, of in enumerate(counted)]

    def _dense(
        self, place: int, some: np.ndarray, held: np.ndarray, counts: Counts | None, every: Coding
    ) -> _Chunk:
        window, at, width = self.windows[place], self.label_at[place], every.width
        profile, target = window.profile, SizingEngine(window.profile).labels()
        totals = target.totals(profile)
        assert totals is not None
        table, coding = (
            np.zeros((len(some), width, target.size), np.int64),
            self.coding(place, some),
        )
        table[np.arange(len(some)), coding.zero] = totals  # where it lacks a feature
        if counts is not None:
            where = np.full(len(self.names), -1)
            where[held] = np.arange(len(held))
            own = where[some]
            there = np.flatnonzero(own >= 0)
            breaks = np.flatnonzero(np.diff(own[there]) != 1) + 1
            for run in np.split(there, breaks) if len(there) else ():
                part = counts.dense(int(own[run[0]]), int(own[run[-1]]) + 1)
                table[run] = 0
                table[run, : part.shape[1]] = part
        table *= int(profile.weight_unit)
        positive = np.where(at >= 0, table[:, :, 1 + at], 0)
        unknown = target.unknown(table)
        known = (
            table[:, :, :1]
            if unknown is None
            else table[:, :, :1] - np.where(at >= 0, unknown[:, :, at], 0)
        )
        return _Chunk(table[:, :, 0], known, positive, coding.bins)


@dataclass(frozen=True)
class _Chunk:
    """Rows of each code (F, b), those whose label is known (F, b, q or 1), those that have it; how
    many codes there are (F,)."""

    rows: np.ndarray
    known: np.ndarray
    positive: np.ndarray
    bins: np.ndarray


def _joined(names: list[list[str]]) -> tuple[list[str], np.ndarray]:
    """The names of both, those of the first first, and where each has them (2, U), −1 where it has
    not."""
    places = [{name: place for place, name in enumerate(each)} for each in names]
    every = list(dict.fromkeys(itertools.chain(*names)))
    return every, np.array(
        [[place.get(name, -1) for name in every] for place in places], np.int64
    ).reshape(2, -1)


@dataclass
class Change:
    """What changed between two windows: `features`, a row each; `pairs`, those of a feature and a
    label whose relation changed; `labels`, how common each is; `facts` of the tests."""

    before: str
    after: str
    features: pd.DataFrame
    pairs: pd.DataFrame
    labels: pd.DataFrame
    facts: dict[str, Any]


def change(
    before: Window, after: Window, progress: Progress | None = None, **settings: Any
) -> Change:
    """Compare two windows; `settings` are those of `select.rules.DRIFT`.

    ``features``: `psi`, with p- and q-value of the test that the feature's distribution is the same
    (`shift_p_value`); `p_value` and `q_value` that its relation to all labels is, the labels'
    p-values combined (`combination`) and corrected over features by Benjamini & Hochberg; `changed`
    where the q-value is at most `fdr`; the `label` of the least p-value, and how many
    `labels_tested`. ``pairs``: of the features that changed the labels of which it is told, again
    by Benjamini & Hochberg, at the level fdr·changed/features (Benjamini & Bogomolov, JRSS B 76
    (2014)), with the correlations of label and code."""
    p = check(DRIFT, settings, "drift")
    for window in (before, after):
        window.check()
    shared = WindowPair((before, after), p["num_bins"], p["binning"])
    count = len(shared.names)
    columns = {name: np.full(count, np.nan) for name in ("psi", "shift_p_value", "p_value")}
    columns["psi"][:] = 0.0
    tested, least = np.zeros(count, np.int64), np.full(count, -1)
    found: list[pd.DataFrame] = []
    rows = int(sum(window.profile.total * window.profile.weight_unit for window in (before, after)))
    for features in shared.ranges():
        for some, (one, other) in shared.chunks(features):
            if progress:
                progress(
                    "features compared",
                    int(np.searchsorted(shared.told, some[0])),
                    len(shared.told),
                )
            columns["psi"][some] = drift.psi(one.rows, other.rows, one.bins)
            columns["shift_p_value"][some] = drift.shift_tests(one.rows, other.rows)
            tests = drift.relation_tests((one.known, other.known), (one.positive, other.positive))
            p_values = np.full((len(some), len(shared.labels)), np.nan)
            p_values[tests.feature, tests.label] = tests.p
            tested[some] = (~np.isnan(p_values)).sum(axis=1)
            own = np.flatnonzero(tested[some])
            least[some[own]] = np.nanargmin(p_values[own], axis=1)
            columns["p_value"][some[own]] = combine(p_values[own], p["combination"], rows)
            near = columns["p_value"][some] <= p["fdr"]
            kept = near[tests.feature] & (tests.p <= p["fdr"])
            of = {
                "feature": some[tests.feature],
                "label": tests.label,
                "statistic": tests.statistic,
                "freedom": tests.freedom,
            }
            of |= {
                "p_value": tests.p,
                "correlation_before": tests.correlation[0],
                "correlation_after": tests.correlation[1],
            }
            found.append(pd.DataFrame(of)[kept])
    columns["shift_q_value"], columns["q_value"] = (
        corrected(columns[name], "fdr") for name in ("shift_p_value", "p_value")
    )
    changed = columns["q_value"] <= p["fdr"]
    names, labels = np.array(shared.names, object), np.array([*shared.labels, ""], object)
    columns = {
        name: columns[name]
        for name in ("psi", "shift_p_value", "shift_q_value", "p_value", "q_value")
    }
    columns |= {
        "changed": changed,
        "label": np.where(least >= 0, labels[least], ""),
        "labels_tested": tested,
    }
    table = pd.DataFrame({"feature": names, **columns})
    facts = {
        **p,
        "rows": [
            int(window.profile.total * window.profile.weight_unit) for window in (before, after)
        ],
        "features_tested": int((tested > 0).sum()),
        "features_with_too_few_rows": int((tested[shared.told] == 0).sum()),
        "pairs_tested": int(tested.sum()),
        "changed": int(changed.sum()),
        "shifted": int((columns["shift_q_value"] <= p["fdr"]).sum()),
    }
    pairs = _changed_pairs(pd.concat(found) if found else pd.DataFrame(), changed, tested, p["fdr"])
    pairs["feature"], pairs["label"] = names[pairs["feature"]], labels[pairs["label"]]
    return Change(before.name, after.name, table, pairs, _label_shares(shared), facts)


def _changed_pairs(
    pairs: pd.DataFrame, changed: np.ndarray, tested: np.ndarray, level: float
) -> pd.DataFrame:
    """The pairs of changed features whose label passes among the labels of its feature, the
    smallest p-value first."""
    if not len(pairs):
        names = "feature label statistic freedom p_value correlation_before correlation_after"
        return pd.DataFrame(
            {
                name: np.zeros(0, np.int64 if name in ("feature", "label") else float)
                for name in names.split()
            }
        )
    pairs = pairs[changed[pairs["feature"]]].sort_values(
        ["feature", "p_value", "label"], kind="stable"
    )
    own = pairs["feature"].to_numpy()
    place = np.arange(len(own)) - np.searchsorted(own, own) + 1
    level *= changed.sum() / max(1, (tested > 0).sum())
    passes = pairs["p_value"].to_numpy() <= level * place / np.maximum(1, tested[own])
    last = pd.Series(np.where(passes, place, 0)).groupby(own).transform("max").to_numpy()
    return (
        pairs[place <= last]
        .sort_values(["p_value", "feature", "label"], kind="stable")
        .reset_index(drop=True)
    )


def _label_shares(shared: WindowPair) -> pd.DataFrame:
    """How common each label is, over the rows in which it is known."""
    counts = []
    for at, p in zip(shared.label_at, (window.profile for window in shared.windows), strict=True):
        have = np.where(at >= 0, p.positive_total[at], 0)
        each = np.stack([have, np.where(at >= 0, p.observed_total[at], p.total) - have], axis=1)
        counts.append(each * int(p.weight_unit))
    before, after = (each[:, 0] / np.maximum(each.sum(axis=1), 1) for each in counts)
    out = pd.DataFrame(
        {"label": np.array(shared.labels, object), "share_before": before, "share_after": after}
    )
    p_values = drift.shift_tests(*counts)
    return out.assign(p_value=p_values, q_value=corrected(p_values, "fdr"))


@dataclass
class Drift:
    """What changed: `changes` of each later one of `windows`; their `rankings` by `method`;
    `stability` of the best."""

    windows: list[str]
    changes: list[Change]
    rankings: list[pd.DataFrame]
    stability: pd.DataFrame
    method: str

    @property
    def features(self) -> pd.DataFrame:
        """A row a feature, what changed most first (`change`), with its ranks; of several windows
        one each."""
        places = {
            name: dict(zip(r["name"], r["rank"], strict=True))
            for name, r in zip(self.windows, self.rankings, strict=True)
        }
        tables = []
        for change in self.changes:
            table = change.features.sort_values(
                ["p_value", "psi"], ascending=[True, False], kind="stable", ignore_index=True
            )
            for side in ("before", "after"):
                table[f"rank_{side}"] = (
                    table["feature"].map(places[getattr(change, side)]).astype("Int64")
                )
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
        return pd.concat(
            [t.assign(window=c.after)[["window", *t.columns]] for c, t in named], ignore_index=True
        )

    @property
    def facts(self) -> dict[str, Any]:
        """What a manifest says of the run."""
        told = [
            {"before": change.before, "after": change.after, **change.facts}
            for change in self.changes
        ]
        return {
            "windows": self.windows,
            "method": self.method,
            "changes": told,
            "stability": self.stability.to_dict("records"),
        }


def compare_windows(
    windows: Sequence[Window],
    method: str = DRIFT_METHOD,
    method_params: Mapping[str, Any] | None = None,
    against: str = "first",
    progress: Progress | None = None,
    **settings: Any,
) -> Drift:
    """Return what changed over windows, in their order; `settings` are those of
    `select.rules.DRIFT`."""
    names = [window.name for window in windows]
    if len(names) < 2 or len(set(names)) < len(names):
        raise ParameterError(
            "drift compares at least two windows of different names, not "
            f"{', '.join(names) or 'none'}"
        )
    sums = windows[0].rows.states.sums if isinstance(windows[0].rows, StateRows) else ()
    settings, _, request = settings_by_codes(sums, method, method_params, settings)
    first = AGAINST.accept(against) == "first"
    every = [window.rows for window in windows]
    ranked = [
        rows.states.dataset(requests=[request]) if isinstance(rows, StateRows) else rows
        for rows in every
    ]
    changes = [
        change(windows[0 if first else i - 1], windows[i], progress, **settings)
        for i in range(1, len(names))
    ]
    rankings = []
    for window, own in zip(windows, ranked, strict=True):
        driver, worker = window.budgets.driver, window.budgets.worker
        (result,) = rank(
            own, [request], progress=progress, driver_bytes=driver, worker_bytes=worker
        )
        counted = result.ranking["index"].isin(
            own.profile.varying
        )  # of pairs in states: the others are in no order
        rankings.append(
            result.ranking[counted]
            if isinstance(own, StateRows) and of_pairs([request])
            else result.ranking
        )
    orders = [list(ranking["name"]) for ranking in rankings]
    rows = []
    for size in [k for k in SIZES if k < min(map(len, orders))]:
        for i, name in enumerate(names[1:], 1):
            pair = orders[0 if first else i - 1], orders[i]
            rows.append(
                (
                    name,
                    size,
                    len({*pair[0][:size]} & {*pair[1][:size]}) / size,
                    agreement(pair, size).value,
                )
            )
        if len(names) > 2:
            rows.append(("all", size, np.nan, agreement(orders, size).value))
    return Drift(
        names,
        changes,
        rankings,
        pd.DataFrame(rows, columns=["window", "features", "overlap", "stability"]),
        method,
    )


def settings_by_codes(
    kinds: Iterable[str],
    method: str,
    method_params: Mapping[str, Any] | None,
    settings: Mapping[str, Any],
) -> tuple[dict[str, Any], Request, Request]:
    """Return the settings, a request of counts and that of rankings: by the codes of states that
    hold these kinds of sums, where all counts have one coding."""
    held = [kind.split()[1:] for kind in kinds if kind.startswith("counts ")]
    codes = {"num_bins": int(held[0][0]), "binning": held[0][1]} if len(held) == 1 else {}
    own = {p.name: codes[p.name] for p in METHODS.create(method).parameters if p.name in codes}
    settings = codes | dict(settings)
    counted = Request.of(
        "mim", {name: settings[name] for name in ("num_bins", "binning") if name in settings}
    )
    return settings, counted, Request.of(method, own | dict(method_params or {}))


def compare(
    *states: States, names: Sequence[str] | None = None, method: str = DRIFT_METHOD, **settings: Any
) -> Drift:
    """Return what changed between states, each of a time, on the counts that they hold: the tables
    of `spark_mlfs.drift`, which takes states, too, and has a page of them. `names` of the states;
    `settings`: `method_params`, `against`, `num_bins`, `binning`, `fdr`, `combination`. Raises
    `ParameterError` where they were collected otherwise, or hold no counts.

    >>> from spark_mlfs.states import collect
    >>> first = collect(np.tile(np.eye(2), (40, 1)), np.tile([[1], [0]], (40, 1)))
    >>> later = collect(np.tile(np.eye(2), (40, 1)), np.tile([[0], [1]], (40, 1)), like=first)
    >>> compare(first, later).features["changed"].tolist()
    [True, True]
    """
    windows = [
        Window(name, each.dataset())
        for each, name in zip(states, window_names(states, names), strict=True)
    ]
    return compare_windows(windows, method, **settings)


def window_names(windows: Sequence[Any], names: Sequence[str] | None) -> list[str]:
    """The names of windows: those given, else before and after, or numbers. `ParameterError` where
    there are too few."""
    called = list(
        names
        or (("before", "after") if len(windows) == 2 else map(str, range(1, len(windows) + 1)))
    )
    if len(called) != len(windows):
        raise ParameterError(f"names has {len(called)} for {len(windows)} windows; give each one")
    return called
