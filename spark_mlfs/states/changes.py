"""What changed between two windows of rows, by their counts (`windows`).

Of each feature its own distribution, and its relation to each label. Features are counted and
tested range by range, so that no process holds the counts of all; `solvers.drift` has the tests."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
from numpy import ndarray

from ..blocks.dataset import Dataset
from ..errors import ParameterError
from ..evaluate.stability import agreement
from ..methods import METHODS
from ..params import Choice, Parameter, by_name, check
from ..pipeline import Progress, Request, rank
from ..select.rules import DRIFT, DRIFT_METHOD
from ..solvers import drift
from ..solvers.gtests import combine, corrected
from ..statistics.base import Budgets
from .engine import StateRows
from .kinds import bins_of
from .needs import of_pairs
from .states import States, listed
from .windows import Window, WindowPair

AGAINST = Parameter(
    "against", "first", Choice(("first", "previous")), "window that each later one is compared with"
)
SIZES = (10, 20, 50, 100, 200, 500)  # how many of the best features are compared


@dataclass
class Change:
    """What changed between two windows.

    `features`, a row each; `pairs`, those of a feature and a label whose relation changed;
    `labels`, how common each is; `facts` of the tests."""

    before: str
    after: str
    features: pd.DataFrame
    pairs: pd.DataFrame
    labels: pd.DataFrame
    facts: dict[str, Any]


@dataclass
class _Tests:
    """What two windows' tests give, before a rate says which of them count.

    `columns` (d,) of `_test_features`; `candidates`, the pairs that may have changed."""

    windows: WindowPair
    columns: dict[str, ndarray]
    candidates: pd.DataFrame

    @property
    def num_tested(self) -> int:
        return int((self.columns["tested"] > 0).sum())


def change(
    before: Window,
    after: Window,
    progress: Progress | None = None,
    **settings: Any,
) -> Change:
    """Compare two windows; `settings` are those of `select.rules.DRIFT`.

    ``features``: `psi`, with p- and q-value of the test that the feature's distribution is the same
    (`shift_p_value`); `p_value` and `q_value` that its relation to all labels is, the labels'
    p-values combined (`combination`) and corrected over features by Benjamini & Hochberg; `changed`
    where the q-value is at most `fdr`; the `label` of the least p-value, and how many
    `labels_tested`. ``pairs``: of the features that changed the labels of which it is told, again
    by Benjamini & Hochberg, at the level fdr·changed/features (Benjamini & Bogomolov, JRSS B 76
    (2014)), with the correlations of label and code."""
    checked = check(DRIFT, settings, "drift")
    return _decided([_tested(before, after, checked, progress)], checked)[0]


def _tested(
    before: Window,
    after: Window,
    settings: Mapping[str, Any],
    progress: Progress | None,
) -> _Tests:
    for window in (before, after):
        window.check()
    windows = WindowPair((before, after), settings["num_bins"], settings["binning"])
    return _Tests(windows, *_test_features(windows, settings, progress))


def _decided(family: Sequence[_Tests], settings: Mapping[str, Any]) -> list[Change]:
    """Return what changed, at the rate `fdr` over the features of all windows of the family."""
    fdr = settings["fdr"]
    ends = np.cumsum([len(tests.windows.names) for tests in family])[:-1]

    def q_values(column: str) -> list[ndarray]:
        p_values = np.concatenate([tests.columns[column] for tests in family])
        return np.split(corrected(p_values, "fdr"), ends)

    q_value = q_values("p_value")
    shift_q_value = q_values("shift_p_value")
    num_changed = sum(int((q <= fdr).sum()) for q in q_value)
    num_tested = max(1, sum(tests.num_tested for tests in family))
    level = fdr * num_changed / num_tested
    return [
        _change(tests, q, shift_q, settings, level)
        for tests, q, shift_q in zip(family, q_value, shift_q_value, strict=True)
    ]


def _change(
    tests: _Tests,
    q_value: ndarray,
    shift_q_value: ndarray,
    settings: Mapping[str, Any],
    level: float,
) -> Change:
    """Return the tables of two windows; pairs of a feature and a label pass at `level`."""
    windows = tests.windows
    columns = tests.columns
    fdr = settings["fdr"]
    before, after = windows.windows
    least = columns["least"]
    tested = columns["tested"]
    changed = q_value <= fdr
    names = np.array(windows.names, object)
    labels = np.array([*windows.labels, ""], object)
    features = pd.DataFrame(
        {
            "feature": names,
            "psi": columns["psi"],
            "shift_p_value": columns["shift_p_value"],
            "shift_q_value": shift_q_value,
            "p_value": columns["p_value"],
            "q_value": q_value,
            "changed": changed,
            "label": np.where(least >= 0, labels[least], ""),
            "labels_tested": tested,
        }
    )
    facts = {
        **settings,
        "rows": [before.total, after.total],
        "features_tested": tests.num_tested,
        "features_with_too_few_rows": int((tested[windows.varying] == 0).sum()),
        "pairs_tested": int(tested.sum()),
        "changed": int(changed.sum()),
        "shifted": int((shift_q_value <= fdr).sum()),
    }
    pairs = _changed_pairs(tests.candidates, changed, tested, level)
    pairs["feature"] = names[pairs["feature"]]
    pairs["label"] = labels[pairs["label"]]
    return Change(
        before.name,
        after.name,
        features,
        pairs,
        _label_shares(windows),
        facts,
    )


def _test_features(
    windows: WindowPair, settings: Mapping[str, Any], progress: Progress | None
) -> tuple[dict[str, ndarray], pd.DataFrame]:
    """Test the features chunk by chunk.

    Returns arrays (d,): `psi`, the p-value of a feature's distribution, that of its relation to all
    labels, how many labels were `tested`, the one with the `least` p-value, −1 without; and the
    pairs of features and labels that may turn out to have changed."""
    d = len(windows.names)
    columns = {
        "psi": np.zeros(d),
        "shift_p_value": np.full(d, np.nan),
        "p_value": np.full(d, np.nan),
        "tested": np.zeros(d, np.int64),
        "least": np.full(d, -1),
    }
    pairs = []
    for features in windows.ranges():
        for chunk, counts in windows.chunks(features):
            if progress:
                position = int(np.searchsorted(windows.varying, chunk[0]))
                progress("features compared", position, len(windows.varying))
            before, after = counts
            columns["psi"][chunk] = drift.psi(before.rows, after.rows, before.bins)
            columns["shift_p_value"][chunk] = drift.shift_tests(before.rows, after.rows)
            known = (before.known, after.known)
            tests = drift.relation_tests(known, (before.positive, after.positive))
            pairs.append(
                _test_relations(
                    windows,
                    chunk,
                    tests,
                    settings,
                    columns,
                )
            )
    return columns, pd.concat(pairs) if pairs else pd.DataFrame()


def _test_relations(
    windows: WindowPair,
    chunk: ndarray,
    tests: drift.RelationTests,
    settings: Mapping[str, Any],
    columns: dict[str, ndarray],
) -> pd.DataFrame:
    """Combine the tests of a chunk's features, and return the pairs that may have changed."""
    rows = sum(window.total for window in windows.windows)
    p_values = np.full((len(chunk), len(windows.labels)), np.nan)
    p_values[tests.feature, tests.label] = tests.p
    num_tested = (~np.isnan(p_values)).sum(axis=1)
    columns["tested"][chunk] = num_tested
    tested = np.flatnonzero(num_tested)
    columns["least"][chunk[tested]] = np.nanargmin(p_values[tested], axis=1)
    combined = combine(p_values[tested], settings["combination"], rows)
    columns["p_value"][chunk[tested]] = combined
    # corrected p-values are no smaller: no other pair can pass
    near = columns["p_value"][chunk] <= settings["fdr"]
    candidates = near[tests.feature] & (tests.p <= settings["fdr"])
    pairs = pd.DataFrame(
        {
            "feature": chunk[tests.feature],
            "label": tests.label,
            "statistic": tests.statistic,
            "freedom": tests.freedom,
            "p_value": tests.p,
            "correlation_before": tests.correlation[0],
            "correlation_after": tests.correlation[1],
        }
    )
    return pairs[candidates]


def _changed_pairs(
    pairs: pd.DataFrame,
    changed: ndarray,
    tested: ndarray,
    level: float,
) -> pd.DataFrame:
    """Return the pairs whose label passes at `level` among the labels of a changed feature.

    The smallest p-value first."""
    if not len(pairs):
        places = {name: np.zeros(0, np.int64) for name in ("feature", "label")}
        names = ("statistic", "freedom", "p_value", "correlation_before", "correlation_after")
        return pd.DataFrame(places | {name: np.zeros(0) for name in names})
    pairs = pairs[changed[pairs["feature"]]]
    pairs = pairs.sort_values(["feature", "p_value", "label"], kind="stable")
    feature = pairs["feature"].to_numpy()
    rank_in_feature = np.arange(len(feature)) - np.searchsorted(feature, feature) + 1
    limit = level * rank_in_feature / np.maximum(1, tested[feature])
    passing = pd.Series(np.where(pairs["p_value"].to_numpy() <= limit, rank_in_feature, 0))
    last_passing = passing.groupby(feature).transform("max").to_numpy()
    pairs = pairs[rank_in_feature <= last_passing]
    pairs = pairs.sort_values(["p_value", "feature", "label"], kind="stable")
    return pairs.reset_index(drop=True)


def _label_shares(windows: WindowPair) -> pd.DataFrame:
    """Return how common each label is, over the rows in which it is known."""
    counts = []
    shares = []
    for positions, window in zip(windows.label_positions, windows.windows, strict=True):
        profile = window.profile
        has_label = positions >= 0
        positive = np.where(has_label, profile.positive_total[positions], 0)
        known = np.where(has_label, profile.observed_total[positions], profile.total)
        with_and_without = np.stack([positive, known - positive], axis=1)
        with_and_without = with_and_without * int(profile.weight_unit)
        counts.append(with_and_without)
        shares.append(with_and_without[:, 0] / np.maximum(with_and_without.sum(axis=1), 1))
    p_values = drift.shift_tests(*counts)
    return pd.DataFrame(
        {
            "label": np.array(windows.labels, object),
            "share_before": shares[0],
            "share_after": shares[1],
            "p_value": p_values,
            "q_value": corrected(p_values, "fdr"),
        }
    )


@dataclass
class Drift:
    """What changed over windows.

    `changes` of each later one of `windows`; their `rankings` by `method`; `stability` of the
    best."""

    windows: list[str]
    changes: list[Change]
    rankings: list[pd.DataFrame]
    stability: pd.DataFrame
    method: str

    @property
    def features(self) -> pd.DataFrame:
        """A row a feature, what changed most first (`change`), with its ranks; of several windows
        one each."""
        ranks = {}
        for name, ranking in zip(self.windows, self.rankings, strict=True):
            ranks[name] = dict(zip(ranking["name"], ranking["rank"], strict=True))
        tables = []
        for change in self.changes:
            table = change.features.sort_values(
                ["p_value", "psi"], ascending=[True, False], kind="stable", ignore_index=True
            )
            names = table["feature"]
            table["rank_before"] = names.map(ranks[change.before]).astype("Int64")
            table["rank_after"] = names.map(ranks[change.after]).astype("Int64")
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
        named = []
        for change, table in zip(self.changes, tables, strict=True):
            columns = ["window", *table.columns]
            named.append(table.assign(window=change.after)[columns])
        return pd.concat(named, ignore_index=True)

    @property
    def facts(self) -> dict[str, Any]:
        """What a manifest has of the run."""
        changes = [
            {
                "before": change.before,
                "after": change.after,
                **change.facts,
            }
            for change in self.changes
        ]
        return {
            "windows": self.windows,
            "method": self.method,
            "changes": changes,
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
    """Return what changed over windows, in their order.

    `settings` are those of `select.rules.DRIFT`."""
    names = [window.name for window in windows]
    if len(names) < 2 or len(set(names)) < len(names):
        raise ParameterError(
            "drift compares at least two windows of different names, not "
            f"{', '.join(names) or 'none'}"
        )
    first_rows = windows[0].rows
    kinds = first_rows.states.sums if isinstance(first_rows, StateRows) else ()
    settings, _, request = settings_by_codes(kinds, method, method_params, settings)
    with_first = AGAINST.accept(against) == "first"
    ranked_rows = []
    for window in windows:
        rows = window.rows
        if isinstance(rows, StateRows):
            rows = rows.states.dataset(requests=[request])
        ranked_rows.append(rows)
    earlier = [0 if with_first else i - 1 for i in range(1, len(windows))]
    checked = check(DRIFT, settings, "drift")
    tests = (
        _tested(windows[before], window, checked, progress)
        for before, window in zip(earlier, windows[1:], strict=True)
    )
    if checked["fdr_over"] == "all":
        changes = _decided([*tests], checked)
    else:
        changes = [_decided([window], checked)[0] for window in tests]
    rankings = [
        _ranking(rows, request, window.budgets, progress)
        for window, rows in zip(windows, ranked_rows, strict=True)
    ]
    stability = _stability(names, earlier, [list(ranking["name"]) for ranking in rankings])
    return Drift(
        names,
        changes,
        rankings,
        stability,
        method,
    )


def _ranking(
    rows: Dataset,
    request: Request,
    budgets: Budgets,
    progress: Progress | None,
) -> pd.DataFrame:
    """Return the ranking of the rows of a window."""
    (result,) = rank(
        rows,
        [request],
        progress=progress,
        driver_bytes=budgets.driver,
        worker_bytes=budgets.worker,
    )
    if not (isinstance(rows, StateRows) and of_pairs([request])):
        return result.ranking
    # states have the pairs of some features: the others are in no order
    return result.ranking[result.ranking["index"].isin(rows.profile.varying)]


def _stability(names: list[str], earlier: list[int], orders: list[list[str]]) -> pd.DataFrame:
    """Return how much the best features of each later window are those of an `earlier` one."""
    rows: list[tuple[str, int, float, float]] = []
    fewest = min(map(len, orders))
    for size in SIZES:
        if size >= fewest:
            break
        for name, before, order in zip(names[1:], earlier, orders[1:], strict=True):
            pair = (orders[before], order)
            common = {*orders[before][:size]} & {*order[:size]}
            rows.append((name, size, len(common) / size, agreement(pair, size).value))
        if len(names) > 2:
            rows.append(("all", size, np.nan, agreement(orders, size).value))
    return pd.DataFrame(rows, columns=["window", "features", "overlap", "stability"])


def settings_by_codes(
    kinds: Iterable[str],
    method: str,
    method_params: Mapping[str, Any] | None,
    settings: Mapping[str, Any],
) -> tuple[dict[str, Any], Request, Request]:
    """Return the settings, a request of counts and that of rankings.

    By the codes of states that hold these kinds of sums, where all counts have one coding."""
    counts = [kind for kind in kinds if kind.startswith("counts ")]
    codes: dict[str, Any] = {}
    if len(counts) == 1:
        num_bins, binning = bins_of(counts[0])
        codes = {"num_bins": num_bins, "binning": binning}
    parameters = METHODS.create(method).parameters
    by_codes = {p.name: codes[p.name] for p in parameters if p.name in codes}
    settings = codes | dict(settings)
    bins: dict[str, Any] = {n: settings[n] for n in ("num_bins", "binning") if n in settings}
    of_counts = Request.of("mim", bins)
    named = by_name(method_params, "method_params")
    return settings, of_counts, Request.of(method, by_codes | named)


def compare(
    *states: States,
    names: Sequence[str] | None = None,
    method: str = DRIFT_METHOD,
    **settings: Any,
) -> Drift:
    """Return what changed between states, each of a time, on the counts that they hold.

    The tables are those of `spark_mlfs.drift`, which takes states, too, and has a page of them.
    `names` of the states; `settings`: `method_params`, `against`, `num_bins`, `binning`, `fdr`,
    `fdr_over`, `combination`. Raises `ParameterError` where they were collected otherwise, or hold
    no counts.

    >>> from spark_mlfs.states import collect
    >>> first = collect(np.tile(np.eye(2), (40, 1)), np.tile([[1], [0]], (40, 1)))
    >>> later = collect(np.tile(np.eye(2), (40, 1)), np.tile([[0], [1]], (40, 1)), like=first)
    >>> compare(first, later).features["changed"].tolist()
    [True, True]
    """
    collected_states = listed(states)
    named = zip(collected_states, window_names(collected_states, names), strict=True)
    windows = [Window(name, collected.dataset()) for collected, name in named]
    return compare_windows(windows, method, **settings)


def window_names(windows: Sequence[Any], names: Sequence[str] | None) -> list[str]:
    """Return the names of windows: those given, else before and after, or numbers.

    Raises `ParameterError` where there are too few."""
    if names:
        out = list(names)
    elif len(windows) == 2:
        out = ["before", "after"]
    else:
        out = [str(number) for number in range(1, len(windows) + 1)]
    if len(out) != len(windows):
        raise ParameterError(f"names has {len(out)} for {len(windows)} windows; give each one")
    return out
