"""How many features? Rules that say which features are worth keeping.

The method's ranking has their order; a rule looks at evidence for each feature:

    fpr, fdr, fwe  a test of every feature with every label, combined over the labels, corrected
                   over the varying features (`solvers.gtests`): any method, one additive count.
                   Marginal: a copy of a relevant feature passes, too.
    knockoffs      Gaussian second-order knockoffs (`solvers.knockoffs`): the expected share of
                   false ones among the kept is at most `fdr`, false meaning that it says nothing
                   beyond the other features. Methods that finish on the Gram matrix; one more scan.
    stability      the share of 100 half-samples in which a feature is among the method's `count`
                   best, K unless set ⌊(2π − 1)·d⌋, 50 at most. With π the threshold, d features and
                   K̄ the mean number chosen, at most K̄²/((2π − 1)·d) of the kept, which are no more
                   than K̄/π, are expected to be noise, where the method chooses
                   noise features no more often than by chance and all alike (Meinshausen &
                   Bühlmann, JRSS B 72 (2010), Theorem 1; Shah & Samworth, JRSS B 75 (2013), for
                   complementary pairs, without these assumptions: the expected number of kept
                   features that a half-sample chooses with probability at most K̄/d). Half-samples
                   are unions of 30 of the 60 groups of rows (`kernels.hashing.group_of`) and come
                   in 50 complementary pairs: sums of Gram matrices by group, from one scan, for
                   methods that finish on the Gram matrix; for the others where the data run in one
                   task.

All three keep the evidence of every feature, so that another level can be applied later. Rows with
an unknown label do not take part in knockoffs, and in tests of that label."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from ..engine.base import Engine
from ..errors import ParameterError
from ..kernels.gram import total
from ..kernels.hashing import GROUPS
from ..kernels.information import CountLogs
from ..methods import METHODS
from ..methods.base import Method
from ..methods.counting import BINNING, NUM_BINS, Counting
from ..params import Choice, Parameter
from ..solvers import gtests, knockoffs
from ..statistics.base import Statistic
from ..statistics.contingency import TwoWay
from ..statistics.gram import Gram
from ..statistics.stretched import commonest
from ..statistics.targets import Labels
from .analyses import SideAnalysis
from .knockoff_rule import knockoff_evidence
from .modes import COLUMNS, RULES, SETTINGS, TESTS
from .stability_rule import most_chosen, selection_frequencies

# whose rankings of windows are compared, and by which settings windows are (`states.changes`):
DRIFT_METHOD = "mim"
SHOWN = 3  # groups of copies that a message lists
DRIFT = (
    NUM_BINS,
    BINNING,
    SETTINGS["fdr"].parameter,
    Parameter(
        "fdr_over",
        "window",
        Choice(("window", "all")),
        "features that the rate is over: those of a later window, or of all windows together",
    ),
    SETTINGS["combination"].parameter,
)


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
            choices = ", ".join(RULES)
            raise ParameterError(f"selection {self.mode!r} is not known; choose one of {choices}")
        if self.mode in TESTS:
            return
        if screened:
            raise ParameterError(
                f"{self.mode} does not hold for features that a filter chose by the same labels: "
                "leave the screen out, or select by fdr"
            )
        if self.mode == "knockoffs" and not method.takes_grams():
            raise ParameterError(
                f"knockoffs need a method that finishes on the Gram matrix, not {method.name}: "
                f"give {gram_methods()}"
            )

    def before(self, engine: Engine, method: Method, p: Mapping[str, Any]) -> None:
        """Compute the Gram matrix of every group in one scan, for stability; the whole is their
        sum."""
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
            columns, facts = self._label_tests(engine, p)
        elif self.mode == "knockoffs":
            columns, facts = knockoff_evidence(
                engine,
                method,
                p,
                self.level,
                self.seed,
            )
        else:
            columns, facts = selection_frequencies(
                engine,
                method,
                p,
                self.level,
                self.count,
                self.seed,
                gram_methods(),
            )
        by_feature = {name: engine.profile.over_all(values) for name, values in columns.items()}
        return Evidence(self, by_feature, facts)

    def picks(self, outcome: Evidence) -> int | None:
        return max(1, outcome.kept) if self.mode in TESTS else None

    def columns(self, outcome: Evidence) -> dict[str, ndarray]:
        return outcome.columns

    def kept(self, outcome: Evidence) -> ndarray:
        return outcome.passed

    def _label_tests(
        self, engine: Engine, p: Mapping[str, Any]
    ) -> tuple[dict[str, ndarray], dict[str, Any]]:
        """Return p-values (v,) of the varying features, q-values where corrected, and facts."""
        num_bins, binning = _bins_of(p)
        counting = Counting(engine, {"num_bins": num_bins, "binning": binning})
        q = engine.profile.q
        n = engine.profile.n
        labels = counting.target
        assert isinstance(labels, Labels)
        logs = CountLogs(n, 8 * (q + 2))
        p_values = np.empty(engine.num_features)
        tested = exact = squares = thin = 0
        if binning == "width":
            counting.note_stretched(commonest(counting.two_way))
        for features, counts in counting.two_way.chunks(6):
            tests = gtests.label_tests(logs, counts, q, labels.unknown(counts))
            tested += int((~np.isnan(tests.p)).sum())
            exact += int(tests.exact.sum())
            squares += int(tests.squares.sum())
            thin += int(tests.thin.sum())
            p_values[features] = gtests.combine(tests.p, self.combination, n)
        columns = {"p_value": p_values}
        if self.mode != "fpr":
            columns["q_value"] = gtests.corrected(p_values, self.mode)
        facts = {
            "features_tested": engine.num_features,
            "tests": tested,
            "exact_tests": exact,
            "pearson_tests": squares,
            "pearson_tests_with_expected_counts_below_1": thin,
            "combination": self.combination,
            "num_bins": num_bins,
            "binning": binning,
        }
        return columns, facts


@dataclass
class Evidence:
    """Evidence for each feature: `columns` of (d,) values by name, NaN for features that were not
    tested (constant ones), and `facts` for the summary."""

    rule: Rule
    columns: dict[str, ndarray]
    facts: dict[str, Any] = field(default_factory=dict)

    @property
    def passed(self) -> ndarray:
        """(d,) which features the rule keeps."""
        return passing(self.rule.mode, self.rule.level, self.columns[COLUMNS[self.rule.mode]])

    @property
    def kept(self) -> int:
        """The number of features that the rule keeps."""
        return int(self.passed.sum())

    def remark(self, names: Sequence[str]) -> str | None:
        """Return what weakens the evidence, by the `names` of the features; None where nothing."""
        copies = self.facts.get("copies", [])
        if copies:
            groups = [" and ".join(repr(names[f]) for f in group) for group in copies[:SHOWN]]
            further = f" (and {len(copies) - SHOWN} more)" if len(copies) > SHOWN else ""
            return (
                f"knockoffs tell no feature from a copy: {', '.join(groups)}{further} are the same "
                "up to sign and scale; exclude all but one of each"
            )
        if self.rule.mode != "stability":
            return None
        is_constant = np.isnan(self.columns["frequency"])
        d = len(is_constant) - int(is_constant.sum())
        if self.kept < d:
            return None
        bound = self.facts["expected_false_at_most"]
        few = most_chosen(self.rule.level, d)
        return (
            f"stability keeps all {d} features, as a half-sample chooses {self.facts['count']} of "
            f"them; up to {bound:.3g} may be noise: let it choose {few} at most"
        )

    def why_none(self) -> str:
        """Return the line that explains an empty selection."""
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
        smallest = np.nanmin(self.columns["p_value"])
        return (
            f"no feature passes {self.rule.mode} {level} (the smallest p-value is {smallest:.3g})"
        )


def passing(mode: str, level: float, values: ndarray) -> ndarray:
    """Return a mask of the features that a rule keeps at `level`, by its column of evidence."""
    values = np.asarray(values, np.float64)
    with np.errstate(invalid="ignore"):
        if mode in TESTS:
            return gtests.corrected(values, mode) <= level
        if mode == "knockoffs":
            return values >= knockoffs.threshold(values, level)
        return values >= level - 1e-9  # frequencies are hundredths


def gram_methods() -> str:
    """List the methods that can finish on a Gram matrix, for messages."""
    return ", ".join(name for name, method in METHODS.items() if method.takes_grams())


def _bins_of(p: Mapping[str, Any]) -> tuple[int, str]:
    """Return bins and binning of the tests: those of the method, where it counts."""
    return p.get("num_bins", NUM_BINS.default), p.get("binning", "width")
