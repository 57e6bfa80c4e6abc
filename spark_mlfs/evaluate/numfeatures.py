"""How many features? Rules that say which features are worth keeping; the method's ranking says in which order.

    fpr, fdr, fwe  a G-test of every feature with every label, combined over the labels, corrected over the varying features
                   (`solvers.gtest`): any method, one additive count. Marginal: a copy of a relevant feature passes, too.
    knockoffs      Gaussian second-order knockoffs (`solvers.knockoffs`): the expected share of false ones among the kept is at
                   most `fdr`, false meaning that it says nothing beyond the other features. Methods that finish on the Gram
                   matrix; one more scan.
    stability      the share of 100 half-samples in which a feature is among the method's `count` best. With π the threshold, d
                   features and K̄ the mean number chosen, at most K̄²/((2π − 1)·d) of the kept are expected to be noise, where
                   the method chooses noise features no more often than by chance and all alike (Meinshausen & Bühlmann, JRSS B
                   72 (2010), Theorem 1; Shah & Samworth, JRSS B 75 (2013), for complementary pairs, without these assumptions:
                   the expected number of kept features that a half-sample chooses with probability at most K̄/d).
                   Half-samples are unions of 30 of the 60 groups of rows (`prepare.blocks.group_of`) and come in 50
                   complementary pairs: sums of Gram matrices by group, from one scan, for methods that finish on the Gram
                   matrix; for the others where the data run in one task.

All three keep the evidence of every feature, so that another level can be asked for later. Rows with an unknown label do not take
part in knockoffs, and in G-tests of that label.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from ..errors import DataError, ParameterError
from ..methods.base import Method
from ..methods.counting import NUM_BINS, Counting
from ..methods.regression import labelled_view
from ..prepare.blocks import GROUPS
from ..registry import METHODS
from ..solvers import gtest, knockoffs
from ..solvers.gram import GramStatistics, total
from ..solvers.information import CountLogs
from ..solvers.ranking import complete
from ..statistics.base import Statistic
from ..statistics.contingency import TwoWay
from ..statistics.gram import Gram
from ..statistics.knockoffs import GroupGrams, KnockoffGram
from ..statistics.runner import Engine, LocalEngine, one_thread
from .protocol import Hashed, Split, part_of

TESTS = gtest.CORRECTIONS
RULES = (*TESTS, "knockoffs", "stability")
LEVELS = {"fpr": 0.05, "fdr": 0.05, "fwe": 0.05, "knockoffs": 0.1, "stability": 0.6}  # where none is given
COLUMNS = {**dict.fromkeys(TESTS, "p_value"), "knockoffs": "knockoff", "stability": "frequency"}
PAIRS = 50


@dataclass(frozen=True)
class Rule:
    """`mode` one of `RULES`; `level` the rate (fpr, fdr, fwe, knockoffs) or the threshold of the frequency (stability);
    `count` K of stability; `combination` of the labels' p-values; `seed` of the knockoffs and half-samples."""

    mode: str
    level: float
    count: int | None = None
    combination: str = "cauchy"
    seed: int = 0

    def check(self, method: Method, screened: bool = False) -> None:
        """`ParameterError` where the method cannot be cut by this rule."""
        if self.mode not in RULES:
            raise ParameterError(f"selection {self.mode!r} is not known; choose one of {', '.join(RULES)}")
        if self.mode in TESTS:
            return
        if screened:
            raise ParameterError(
                f"{self.mode} does not hold for features that a filter chose by the same labels: leave the screen out, or select "
                "by fdr"
            )
        if self.mode == "knockoffs" and not method.gram:
            raise ParameterError(f"knockoffs need a method that finishes on the Gram matrix, not {method.name}: give {_able()}")

    def needs(self, engine: Engine, p: Mapping[str, Any]) -> list[Statistic]:
        """Statistics known beforehand: they share the method's scan."""
        if self.mode in TESTS:
            return [TwoWay(engine.coding(*_bins(p)), engine.labels())]
        return [Gram()] if self.mode == "knockoffs" else []


@dataclass
class Evidence:
    """What a rule found: `columns` of (d,) values by name, NaN for features that were not tested (constant ones), and `told`,
    facts for the summary."""

    rule: Rule
    columns: dict[str, np.ndarray]
    told: dict[str, Any] = field(default_factory=dict)

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
            return f"no feature passes knockoffs at fdr {level}: {least} must, or none can; raise fdr, or give more rows"
        if self.rule.mode == "stability":
            top = float(np.nanmax(self.columns["frequency"]))
            return f"no feature is chosen in {level} of the half-samples (the most is {top:g}); lower the threshold, or raise K"
        return f"no feature passes {self.rule.mode} {level} (the smallest p-value is {np.nanmin(self.columns['p_value']):.3g})"


def passing(mode: str, level: float, values: np.ndarray) -> np.ndarray:
    """Which features a rule keeps at `level`, from its column of evidence."""
    values = np.asarray(values, np.float64)
    with np.errstate(invalid="ignore"):
        if mode in TESTS:
            return gtest.corrected(values, mode) <= level
        if mode == "knockoffs":
            return values >= knockoffs.threshold(values, level)
        return values >= level - 1e-9  # frequencies are hundredths


def error_bound(kept: float, threshold: float, d: int) -> float:
    """K̄²/((2π − 1)·d): at most so many of the features kept at frequency π are expected to be noise; π above ½."""
    if not 0.5 < threshold <= 1:
        raise ParameterError(f"the threshold of the frequency must be above 0.5, at most 1, not {threshold}")
    return kept * kept / ((2 * threshold - 1) * d)


def choose(engine: Engine, method: Method, p: Mapping[str, Any], rule: Rule) -> Evidence:
    """The evidence for every feature."""
    if rule.mode in TESTS:
        return _tests(engine, p, rule)
    if rule.mode == "knockoffs":
        return _knockoffs(engine, method, p, rule)
    return _stability(engine, method, p, rule)


def gather(engine: Engine, method: Method, rule: Rule) -> None:
    """Where stability is asked of Gram matrices: one scan for those of the groups; the whole is their sum."""
    if rule.mode == "stability" and method.on_gram(engine.profile):
        (groups,) = engine.run(GroupGrams())
        engine.know(Gram(), total(groups.values()))


def _able() -> str:
    return ", ".join(name for name, made in METHODS.items() if made.gram)


def _wide(engine: Engine, values: np.ndarray) -> np.ndarray:
    """Values of the varying features over all d."""
    out = np.full(engine.profile.d, np.nan)
    out[engine.profile.varying] = values
    return out


# ---- tests ----


def _bins(p: Mapping[str, Any]) -> tuple[int, str]:
    return p.get("num_bins", NUM_BINS.default), p.get("binning", "width")


def _tests(engine: Engine, p: Mapping[str, Any], rule: Rule) -> Evidence:
    num_bins, binning = _bins(p)
    counting = Counting(engine, {"num_bins": num_bins, "binning": binning})
    q, n = engine.profile.q, engine.profile.n
    logs = CountLogs(n, 8 * (q + 2))
    values = np.empty(engine.count)
    tests = thin = 0
    for first, last, counts in counting.two_way.chunks(copies=6):
        found, rough = gtest.g_tests(logs, counts, q, counting.target.unknown(counts))
        tests, thin = tests + int((~np.isnan(found)).sum()), thin + int(rough.sum())
        values[first:last] = gtest.combine(found, rule.combination, n)
    columns = {"p_value": _wide(engine, values)}
    if rule.mode != "fpr":
        columns["q_value"] = gtest.corrected(columns["p_value"], rule.mode)
    out = Evidence(rule, columns)
    out.told = {
        "features_tested": engine.count,
        "tests": tests,
        "tests_with_expected_counts_below_1": thin,
        "combination": rule.combination,
        "num_bins": num_bins,
        "binning": binning,
    }
    return out


# ---- knockoffs ----


def _knockoffs(engine: Engine, method: Method, p: Mapping[str, Any], rule: Rule) -> Evidence:
    if not method.on_gram(engine.profile):
        raise ParameterError(f"knockoffs: {method.name} fills in unknown labels by further scans; take lasso or mssl")
    (plain,) = engine.run(Gram())
    with one_thread():
        made = knockoffs.sampler(labelled_view(engine, "standard"), plain.centre_x)
    (both,) = engine.run(KnockoffGram(made, rule.seed, plain))
    with one_thread():
        view = both.centred(p["scaling"]) if method.centred else both.uncentred(p["scaling"])
        solution = method.solve(view, p)
    w = np.zeros(engine.count)
    w[made.places] = knockoffs.statistic(view.expand(solution.weights))
    out = Evidence(rule, {"knockoff": _wide(engine, w)})
    out.told = {
        "threshold": knockoffs.threshold(w, rule.level),
        "shrinkage": made.shrinkage,
        "mean_s": float(made.s.mean()),
        "knockoffs_above": int((w < 0).sum()),
        "converged": solution.converged,
    }
    return out


# ---- stability ----


def _stability(engine: Engine, method: Method, p: Mapping[str, Any], rule: Rule) -> Evidence:
    count = min(rule.count or engine.count, engine.count)
    if method.on_gram(engine.profile):
        chosen = _halves_of_grams(engine, method, p, rule, count)
    elif engine.whole:
        chosen = _halves_of_rows(engine, method, p, rule, count)
    else:
        raise ParameterError(
            f"stability of {method.name} needs 100 runs on half of the rows, which are only done where the data run in one task; "
            f"take a sample of the rows, or a method that finishes on the Gram matrix: {_able()}"
        )
    frequency = chosen.mean(axis=0)
    kept = float(chosen.sum(axis=1).mean())
    out = Evidence(rule, {"frequency": np.full(engine.profile.d, np.nan)})
    v = engine.profile.varying
    out.columns["frequency"][v] = frequency[v]
    out.told = {
        "half_samples": len(chosen),
        "count": count,
        "mean_chosen": kept,
        "expected_false_at_most": error_bound(kept, rule.level, engine.count),
    }
    return out


def halves(seed: int) -> np.ndarray:
    """(100, 60) whether each half-sample has each group of rows: 50 pairs, the second of each the complement of the first."""
    first = np.array([Hashed((0.5, 0.5), seed, repeat).groups == 0 for repeat in range(PAIRS)])
    return np.stack([first, ~first], axis=1).reshape(2 * PAIRS, GROUPS)


def _top(values: np.ndarray, varying: np.ndarray, d: int, count: int, picks: list[int] | None = None) -> np.ndarray:
    """(d,) whether a feature is among the `count` best of the varying ones; where no score is negative, one of 0 is no choice."""
    order, _ = complete(values, varying, d, picks)
    best = order[: min(count, len(varying))]
    if picks is None and values.min(initial=0.0) >= 0:
        nothing = np.ones(d, bool)
        nothing[varying[values > 0]] = False
        best = best[~nothing[best]]
    out = np.zeros(d, bool)
    out[best] = True
    return out


def _halves_of_grams(engine: Engine, method: Method, p: Mapping[str, Any], rule: Rule, count: int) -> np.ndarray:
    """(100, d) choices, from Gram matrices by group."""
    (groups,) = engine.run(GroupGrams())
    d, varying = engine.profile.d, engine.profile.varying
    out = np.zeros((2 * PAIRS, d), bool)
    with one_thread():
        for number, half in enumerate(halves(rule.seed)):
            if engine.progress:
                engine.progress("half-samples", number, 2 * PAIRS)
            found = half_sample([part for group, part in groups.items() if half[group]])
            view = found.centred(p["scaling"]) if method.centred else found.uncentred(p["scaling"])
            if len(view.varying):
                out[number] = _top(view.scores(method.solve(view, p).weights), varying, d, count)
    return out


def half_sample(parts: list[GramStatistics]) -> GramStatistics:
    """The sum of Gram matrices by group, as statistics whose constant features are known: what does not vary beyond rounding over
    these rows is taken as constant."""
    if not parts or not sum(part.n for part in parts):
        raise DataError("a half-sample has no labelled rows; there are too few of them for stability selection")
    out = total(parts)
    mean = out.sum_x / out.n
    square = np.diag(out.xx)
    flat = square - out.n * mean**2 <= 1e-12 * (square + out.n * mean**2)
    out.high = np.where(flat, out.low, out.high)
    return out


def _halves_of_rows(engine: Engine, method: Method, p: Mapping[str, Any], rule: Rule, count: int) -> np.ndarray:
    """(100, d) choices, from the rows."""
    assert isinstance(engine, LocalEngine)
    d = engine.profile.d
    out = np.zeros((2 * PAIRS, d), bool)
    for repeat in range(PAIRS):
        for side in (0, 1):
            name = f"half-sample {2 * repeat + side + 1}"
            half = part_of(engine, Split(name, repeat, side, Hashed((0.5, 0.5), rule.seed, repeat)), True)
            if not len(half.profile.varying):
                continue
            scores = method.score(half, p, min(count, half.count))
            picks = None if scores.path is None else scores.path.picks
            out[2 * repeat + side] = _top(scores.values, half.profile.varying, d, count, picks)
    return out
