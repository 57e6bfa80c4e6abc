"""How many features? Rules that say which features are worth keeping; the method's ranking says in
which order.

    fpr, fdr, fwe  a G-test of every feature with every label, combined over the labels, corrected
                   over the varying features (`solvers.gtests`): any method, one additive count.
                   Marginal: a copy of a relevant feature passes, too.
    knockoffs      Gaussian second-order knockoffs (`solvers.knockoffs`): the expected share of
                   false ones among the kept is at most `fdr`, false meaning that it says nothing
                   beyond the other features. Methods that finish on the Gram matrix; one more scan.
    stability      the share of 100 half-samples in which a feature is among the method's `count`
                   best. With π the threshold, d features and K̄ the mean number chosen, at most
                   K̄²/((2π − 1)·d) of the kept are expected to be noise, where the method chooses
                   noise features no more often than by chance and all alike (Meinshausen &
                   Bühlmann, JRSS B 72 (2010), Theorem 1; Shah & Samworth, JRSS B 75 (2013), for
                   complementary pairs, without these assumptions: the expected number of kept
                   features that a half-sample chooses with probability at most K̄/d). Half-samples
                   are unions of 30 of the 60 groups of rows (`kernels.hashing.group_of`) and come
                   in 50 complementary pairs: sums of Gram matrices by group, from one scan, for
                   methods that finish on the Gram matrix; for the others where the data run in one
                   task.

All three keep the evidence of every feature, so that another level can be asked for later. Rows
with an unknown label do not take part in knockoffs, and in G-tests of that label.

Analyses beside a ranking: which features are worth keeping, how well the method predicts."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.folds import Hashed, Split
from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..engine.local import LocalEngine, part_of
from ..errors import DataError, ParameterError
from ..kernels import exact, products
from ..kernels.gram import GramStatistics, leave_out, total
from ..kernels.hashing import GROUPS, normal
from ..kernels.information import CountLogs
from ..methods import METHODS
from ..methods.base import GramProblem, Method, Scores
from ..methods.counting import BINNING, NUM_BINS, Counting
from ..methods.regression import labelled_view
from ..solvers import gtests, knockoffs
from ..solvers.ties import complete
from ..statistics.base import Statistic
from ..statistics.contingency import TwoWay
from ..statistics.gram import Gram, features_of
from ..statistics.moments import row_parts, unit_of
from ..statistics.targets import Labels
from .modes import COLUMNS, RULES, SETTINGS, TESTS


class SideAnalysis:
    """Base of every extra of a request; immutable, hashable and picklable.

    In a run: `before` and `needs` of every request, one scan for all that is needed, then request
    by request `outcome`, the method's scores, and `after`. `key` is the outcome's name in the
    result."""

    key: ClassVar[str]
    weighted: ClassVar[bool] = False  # takes rows that have weights
    graded: bool = False  # takes labels that are grades

    def check(self, method: Method, screened: bool) -> None:
        """`ParameterError` where the method, or one behind a filter (`screened`), cannot have
        it."""

    def before(self, engine: Engine, method: Method, p: Mapping[str, Any]) -> None:
        """Asks for statistics that answer what the method needs as well, so that these are not
        computed twice."""

    def needs(self, engine: Engine, p: Mapping[str, Any]) -> list[Statistic]:
        """Statistics known beforehand: they share the method's scan."""
        return []

    def outcome(self, engine: Engine, method: Method, p: Mapping[str, Any]) -> Any:
        raise NotImplementedError

    def picks(self, outcome: Any) -> int | None:
        """How many features a greedy method picks at most, in the light of the outcome; None: as
        many as are asked for."""
        return None

    def after(self, outcome: Any, scores: Scores) -> None:
        """Adds to the method's scores what belongs there."""

    def columns(self, outcome: Any) -> dict[str, np.ndarray]:
        """Columns of the ranking, (d,) by feature."""
        return {}

    def kept(self, outcome: Any) -> np.ndarray | None:
        """(d,) which features to keep; None where it does not say."""
        return None


@dataclass(frozen=True)
class CrossValidation(SideAnalysis):
    """Mean squared error a label and row of the method's predictions on rows it was not fitted on,
    over `folds` folds by hash of the row id; None for a method that needs more than the Gram
    matrix. Where a sketch stands for the labels it is the sketch's error, the same on average. In
    the scores' details as ``cv_loss``."""

    folds: int
    key: ClassVar[str] = "cv_loss"
    weighted: ClassVar[bool] = True
    graded = True

    def before(self, engine: Engine, method: Method, p: Mapping[str, Any]) -> None:
        """One scan for the Gram matrix of every fold; the whole is their sum and needs no scan of
        its own."""
        problem = method.gram_problem(engine.profile, p)
        if problem is not None:
            (parts,) = engine.run(Gram(self.folds, problem.sketch))
            engine.cache_result(Gram(sketch=problem.sketch), total(parts.values()))

    def outcome(self, engine: Engine, method: Method, p: Mapping[str, Any]) -> float | None:
        problem = method.gram_problem(engine.profile, p)
        if problem is None:
            return None
        parts = [*engine.run(Gram(self.folds, problem.sketch))[0].values()]
        with one_thread():
            error = sum(held_out_error(problem, parts, fold) for fold in range(len(parts)))
        return error / (sum(part.n for part in parts) * engine.profile.q)

    def after(self, outcome: float | None, scores: Scores) -> None:
        if outcome is not None:
            scores.details[self.key] = outcome


def held_out_error(problem: GramProblem, parts: Sequence[GramStatistics], fold: int) -> float:
    """Σ‖y − W'x − b‖² over the rows of one of the folds `parts`, W and b fitted on the others."""
    view = problem.view(leave_out(parts, [fold]).flattened())
    solution = problem.solve(view)
    return float(
        problem.scaled(parts[fold])
        .in_view(view)
        .squared_error(solution.weights, solution.intercept)
        .sum()
    )


PAIRS = 50
# whose rankings of windows are compared, and by which settings windows are (`states.changes`):
DRIFT_METHOD = "mim"
DRIFT = (NUM_BINS, BINNING, SETTINGS["fdr"].parameter, SETTINGS["combination"].parameter)
Gathered = tuple[
    dict[str, np.ndarray], dict[str, Any]
]  # columns (v,) by name of the varying features; facts


@dataclass(frozen=True)
class Rule(SideAnalysis):
    """`mode` one of `RULES`; `level` the rate (fpr, fdr, fwe, knockoffs) or the threshold of the
    frequency (stability); `count` K of stability; `combination` of the labels' p-values; `seed` of
    the knockoffs and half-samples."""

    mode: str
    level: float
    count: int | None = None
    combination: str = "cauchy"
    seed: int = 0
    key: ClassVar[str] = "selection"

    @property
    def graded(self) -> bool:  # type: ignore[override]
        """Half-samples are of the rows as they are; tests count them, and knockoffs are made for
        labels of 0 and 1."""
        return self.mode == "stability"

    def check(self, method: Method, screened: bool = False) -> None:
        if self.mode not in RULES:
            raise ParameterError(
                f"selection {self.mode!r} is not known; choose one of {', '.join(RULES)}"
            )
        if self.mode in TESTS:
            return
        if screened:
            told = f"{self.mode} does not hold for features that a filter chose by the same labels"
            raise ParameterError(f"{told}: leave the screen out, or select by fdr")
        if self.mode == "knockoffs" and not method.takes_grams():
            told = f"knockoffs need a method that finishes on the Gram matrix, not {method.name}"
            raise ParameterError(f"{told}: give {gram_methods()}")

    def before(self, engine: Engine, method: Method, p: Mapping[str, Any]) -> None:
        """Where stability is asked of Gram matrices: one scan for those of the groups; the whole is
        their sum."""
        problem = method.gram_problem(engine.profile, p) if self.mode == "stability" else None
        if problem is not None:
            (groups,) = engine.run(Gram(GROUPS, problem.sketch))
            engine.cache_result(Gram(sketch=problem.sketch), total(groups.values()))

    def needs(self, engine: Engine, p: Mapping[str, Any]) -> list[Statistic]:
        if self.mode in TESTS:
            return [TwoWay(engine.coding(*_bins_of(p)), engine.labels())]
        return [Gram()] if self.mode == "knockoffs" else []

    def outcome(self, engine: Engine, method: Method, p: Mapping[str, Any]) -> Evidence:
        if self.mode in TESTS:
            columns, facts = _g_tests(self, engine, p)
        elif self.mode == "knockoffs":
            columns, facts = _against_knockoffs(self, engine, method, p)
        else:
            columns, facts = _stability(self, engine, method, p)
        return Evidence(
            self, {name: engine.profile.over_all(values) for name, values in columns.items()}, facts
        )

    def picks(self, outcome: Evidence) -> int | None:
        return max(1, outcome.kept) if self.mode in TESTS else None

    def columns(self, outcome: Evidence) -> dict[str, np.ndarray]:
        return outcome.columns

    def kept(self, outcome: Evidence) -> np.ndarray:
        return outcome.passed


@dataclass
class Evidence:
    """Evidence for each feature: `columns` of (d,) values by name, NaN for features that were not
    tested (constant ones), and `facts` for the summary."""

    rule: Rule
    columns: dict[str, np.ndarray]
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> np.ndarray:
        """(d,) which features the rule keeps."""
        return passing(self.rule.mode, self.rule.level, self.columns[COLUMNS[self.rule.mode]])

    @property
    def kept(self) -> int:
        return int(self.passed.sum())

    def why_none(self) -> str:
        """One line for a selection that is empty."""
        level = f"{self.rule.level:g}"
        if self.rule.mode == "knockoffs":
            least = int(np.ceil(1 / self.rule.level - 1e-9))
            return (
                f"no feature passes knockoffs at fdr {level}: {least} must, or none can; raise "
                "fdr, or give more rows"
            )
        if self.rule.mode == "stability":
            top = float(np.nanmax(self.columns["frequency"]))
            return (
                f"no feature is chosen in {level} of the half-samples (the most is {top:g}); "
                "lower the threshold, or raise K"
            )
        return (
            f"no feature passes {self.rule.mode} {level} (the smallest p-value is "
            f"{np.nanmin(self.columns['p_value']):.3g})"
        )


def passing(mode: str, level: float, values: np.ndarray) -> np.ndarray:
    """Which features a rule keeps at `level`, from its column of evidence."""
    values = np.asarray(values, np.float64)
    with np.errstate(invalid="ignore"):
        if mode in TESTS:
            return gtests.corrected(values, mode) <= level
        if mode == "knockoffs":
            return values >= knockoffs.threshold(values, level)
        return values >= level - 1e-9  # frequencies are hundredths


def gram_methods() -> str:
    """The methods that can finish on a Gram matrix, for messages."""
    return ", ".join(name for name, method in METHODS.items() if method.takes_grams())


# ---- G-tests ----


def _g_tests(rule: Rule, engine: Engine, p: Mapping[str, Any]) -> Gathered:
    """p-values of the features, and q-values where they are corrected."""
    num_bins, binning = _bins_of(p)
    counting = Counting(engine, {"num_bins": num_bins, "binning": binning})
    q, n, labels = engine.profile.q, engine.profile.n, counting.target
    assert isinstance(labels, Labels)
    logs = CountLogs(n, 8 * (q + 2))
    values = np.empty(engine.num_features)
    tests = thin = 0
    for at, counts in counting.two_way.chunks(6):
        p_values, rough = gtests.g_tests(logs, counts, q, labels.unknown(counts))
        tests, thin = tests + int((~np.isnan(p_values)).sum()), thin + int(rough.sum())
        values[at] = gtests.combine(p_values, rule.combination, n)
    columns = {"p_value": values}
    if rule.mode != "fpr":
        columns["q_value"] = gtests.corrected(values, rule.mode)
    return columns, {
        "features_tested": engine.num_features,
        "tests": tests,
        "tests_with_expected_counts_below_1": thin,
        "combination": rule.combination,
        "num_bins": num_bins,
        "binning": binning,
    }


def _bins_of(p: Mapping[str, Any]) -> tuple[int, str]:
    """Bins and binning of the G-tests: those of the method, where it counts."""
    return p.get("num_bins", NUM_BINS.default), p.get("binning", "width")


# ---- knockoffs ----


NORMAL = 16.0  # no normal deviate of `hashing.normal` is larger


@dataclass
class KnockoffGram(Statistic, layout="identified", quantised=True):
    """`GramStatistics` of [X, X̃] over the labelled rows, k features of `sampler` and their
    knockoffs, which depend on (seed, row id) and the sampler alone; `plain` (driver side only) is
    the Gram matrix of all varying features, which is not computed again. Exact sums of quantised
    knockoffs. State: 32·k² + 16·kq bytes; the result has 32·k²."""

    sampler: knockoffs.Sampler
    seed: int
    plain: GramStatistics | None

    def key(self) -> Hashable:
        return "knockoff gram", self.seed

    def worker_view(self) -> KnockoffGram:
        return KnockoffGram(self.sampler, self.seed, None)

    def partial(self, block: Block, profile: Profile) -> State:
        block, k, unit, reach = (
            block.known(),
            self.sampler.positions,
            self._unit(profile),
            self._reach(profile),
        )
        wide = profile.n >= exact.WIDE_ROWS
        out: State = {"low": np.full(len(k), np.inf), "high": np.full(len(k), -np.inf)}
        for part in row_parts(block):
            x = features_of(part, profile)
            x = x[:, k] if len(k) < x.shape[1] else x
            rows = exact.quantised(x if isinstance(x, np.ndarray) else x.toarray(), unit)
            z = exact.quantised(
                normal(part.ids, profile.varying[k], self.seed), np.full(len(k), NORMAL)
            )
            copies = self.sampler.shift + exact.applied(*rows, unit, self.sampler.mean)
            copies += exact.applied(*z, np.full(len(k), NORMAL), self.sampler.root)
            ends = {
                "low": copies.min(axis=0, initial=np.inf),
                "high": copies.max(axis=0, initial=-np.inf),
            }
            made = exact.quantised(copies, reach)
            others = sp.hstack([part.labels(profile.q), np.ones((part.n, 1))], format="csr")
            pairs = {
                "squares ": (made, made),
                "cross ": (rows, made),
                "xy ": (made, (others, None)),
            }
            state = {
                prefix + name: v
                for prefix, pair in pairs.items()
                for name, v in exact.cross(*pair, wide).items()
            }
            out = self.merge(out, state | ends)
        return out

    def _unit(self, profile: Profile) -> np.ndarray:
        return unit_of(profile)[self.sampler.positions]

    def _reach(self, profile: Profile) -> np.ndarray:
        """(k,) powers of two that no knockoff exceeds in size."""
        s = self.sampler
        most = (
            np.abs(s.shift)
            + self._unit(profile) @ np.abs(s.mean)
            + NORMAL * np.abs(s.root).sum(axis=0)
        )
        return exact.power_above(1.01 * most)

    def merge(self, left: State, right: State) -> State:
        how = {"low": np.minimum, "high": np.maximum}
        sums = [
            {name: value for name, value in side.items() if name not in how}
            for side in (left, right)
        ]
        return exact.add(*sums) | {name: of(left[name], right[name]) for name, of in how.items()}

    def finish(self, state: State, profile: Profile) -> GramStatistics:
        plain, k, unit, reach = (
            self.plain,
            self.sampler.positions,
            self._unit(profile),
            self._reach(profile),
        )
        assert plain is not None and plain.low is not None and plain.high is not None
        ones = np.full(profile.q + 1, 2.0**products.BITS)  # a label is 1 of the grid
        with_labels = exact.product_of(state, reach, ones, "xy ")
        total = with_labels[:, -1]
        own = {name: getattr(plain, name)[k] for name in ("sum_x", "xy", "centre_x", "low", "high")}
        first = replace(plain, xx=plain.xx[np.ix_(k, k)], **own)
        second = replace(
            first,
            sum_x=total,
            xx=exact.product_of(state, reach, reach, "squares "),
            xy=with_labels[:, :-1] - np.outer(total, plain.centre_y),
            low=state["low"] + first.centre_x,
            high=state["high"] + first.centre_x,
        )
        return knockoffs.joined(first, second, exact.product_of(state, unit, reach, "cross "))

    def state_bytes(self, profile: Profile) -> int:
        k = len(self.sampler.positions)
        words = 2 if profile.n < exact.WIDE_ROWS else 3
        return 8 * k * (words * (2 * k + profile.q + 1) + 2) + envelope(3 * words + 2)


def _against_knockoffs(
    rule: Rule, engine: Engine, method: Method, p: Mapping[str, Any]
) -> Gathered:
    """W of every varying feature, and facts, among them the threshold."""
    problem = method.gram_problem(engine.profile, p)
    if problem is None:
        raise ParameterError(
            f"knockoffs: {method.name} fills in unknown labels by further scans; take lasso or mssl"
        )
    (plain,) = engine.run(Gram())
    with one_thread():
        sampler = knockoffs.sampler(labelled_view(engine, "standard"), plain.centre_x)
    (both,) = engine.run(KnockoffGram(sampler, rule.seed, plain))
    if (
        problem.penalties is not None
    ):  # a knockoff has its feature's: no other would leave the two alike
        problem = replace(problem, penalties=np.tile(problem.penalties[sampler.positions], 2))
    with one_thread():
        view = problem.view(both)
        solution = problem.solve(view)
    w = np.zeros(engine.num_features)
    w[sampler.positions] = knockoffs.statistic(view.expand(solution.weights))
    return {"knockoff": w}, {
        "threshold": knockoffs.threshold(w, rule.level),
        "shrinkage": sampler.shrinkage,
        "mean_s": float(sampler.s.mean()),
        "knockoffs_above": int((w < 0).sum()),
        "converged": solution.converged,
    }


# ---- stability ----


def error_bound(kept: float, threshold: float, d: int) -> float:
    """K̄²/((2π − 1)·d): at most so many of the features kept at frequency π are expected to be
    noise; π above ½."""
    if not 0.5 < threshold <= 1:
        raise ParameterError(
            f"the threshold of the frequency must be above 0.5, at most 1, not {threshold}"
        )
    return kept * kept / ((2 * threshold - 1) * d)


def _stability(rule: Rule, engine: Engine, method: Method, p: Mapping[str, Any]) -> Gathered:
    """How often each feature is among the `count` best of a half-sample, of Gram matrices by group
    or of the rows."""
    count, profile = min(rule.count or engine.num_features, engine.num_features), engine.profile
    problem = method.gram_problem(profile, p)
    if problem is None and not engine.in_one_process:
        raise ParameterError(
            f"stability of {method.name} needs 100 runs on half of the rows, which are only done "
            "where the data run in one task; take a sample of the rows, or a method that finishes "
            f"on the Gram matrix: {gram_methods()}"
        )
    groups = {} if problem is None else engine.run(Gram(GROUPS, problem.sketch))[0]
    chosen = np.zeros((2 * PAIRS, profile.d), bool)
    with one_thread():
        for number, half in enumerate(halves(rule.seed)):
            if problem is not None:
                if engine.progress:
                    engine.progress("half-samples", number, 2 * PAIRS)
                view = problem.view(
                    half_sample([part for group, part in groups.items() if half[group]])
                )
                if len(view.varying):
                    chosen[number] = _top(
                        view.scores(problem.solve(view).weights), profile.varying, profile.d, count
                    )
                continue
            assert isinstance(engine, LocalEngine)
            repeat, side = divmod(number, 2)
            split = Split(
                f"half-sample {number + 1}", repeat, side, Hashed((0.5, 0.5), rule.seed, repeat)
            )
            rows = part_of(engine, split, True)
            if len(rows.profile.varying):
                scores = method.score(rows, p, min(count, rows.num_features))
                picks = None if scores.path is None else scores.path.picks
                chosen[number] = _top(
                    scores.values, rows.profile.varying, profile.d, count, picks, scores.constant
                )
    kept = float(chosen.sum(axis=1).mean())
    return {"frequency": chosen.mean(axis=0)[profile.varying]}, {
        "half_samples": len(chosen),
        "count": count,
        "mean_chosen": kept,
        "expected_false_at_most": error_bound(kept, rule.level, engine.num_features),
    }


def halves(seed: int) -> np.ndarray:
    """(100, 60) whether each half-sample has each group of rows: 50 pairs, the second of each the
    complement of the first."""
    first = np.array([Hashed((0.5, 0.5), seed, repeat).groups == 0 for repeat in range(PAIRS)])
    return np.stack([first, ~first], axis=1).reshape(2 * PAIRS, GROUPS)


def _top(
    values: np.ndarray,
    varying: np.ndarray,
    d: int,
    count: int,
    picks: list[int] | None = None,
    constant: Any = None,
) -> np.ndarray:
    """(d,) whether a feature is among the `count` best of the varying ones; where no score is
    negative, one of 0 is no choice."""
    order, _ = complete(values, varying, d, picks, constant)
    best = order[: min(count, len(varying))]
    if picks is None and values.min(initial=0.0) >= 0:
        best = best[np.isin(best, varying[values > 0])]
    out = np.zeros(d, bool)
    out[best] = True
    return out


def half_sample(parts: list[GramStatistics]) -> GramStatistics:
    """The sum of Gram matrices by group, as statistics whose constant features are known: what does
    not vary beyond rounding over these rows is taken as constant."""
    if not parts or not sum(part.n for part in parts):
        raise DataError(
            "a half-sample has no labelled rows; there are too few of them for stability selection"
        )
    return total(parts).flattened()
