"""What changed between two windows of rows, by their counts: each feature's own distribution, and
what it says about each label.

Both windows are counted in the codes of the first, values beyond its range in its end bins. A
feature that is 0 throughout there has two codes, 0 and above; another constant c has edges c ± |c|.
Features and labels join by name: one that only one window has is 0 in the other where features are
sparse, and refused where they are dense. Features are counted and tested range by range, so that no
process holds the counts of all; `solvers.drift` has the tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd

from ..errors import ParameterError
from ..evaluate.stability import agreement
from ..methods import METHODS
from ..params import Choice, Parameter, check
from ..pipeline import Progress, Request, rank
from ..select.rules import DRIFT, DRIFT_METHOD
from ..solvers import drift
from ..solvers.gtests import combine, corrected
from .engine import StateRows
from .needs import of_pairs
from .states import States
from .windows import Window, WindowPair

AGAINST = Parameter(
    "against", "first", Choice(("first", "previous")), "window that each later one is compared with"
)
SIZES = 10, 20, 50, 100, 200, 500  # of the best


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
