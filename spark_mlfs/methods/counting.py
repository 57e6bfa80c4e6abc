"""Shared by the counting methods: their parameters, relevance from two-way counts, and greedy
selection from links."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import ClassVar

import numpy as np
from numpy import ndarray

from ..engine.base import Engine
from ..errors import BudgetError, DataError, ParameterError, WorkerBudgetError, must_fit, setting
from ..kernels import information as info
from ..kernels import sparse_counts
from ..kernels.categories import MAX_BINS
from ..kernels.rare_features import RareSums, most_rows
from ..lazy import cached_property
from ..params import Choice, Integer, Parameter, Values
from ..solvers.greedy import forward
from ..solvers.units import UNCONSTRAINED, PickConstraints
from ..statistics.base import FeatureNumbers, Reduction, Statistic, cuts
from ..statistics.contingency import Counts, TwoWay
from ..statistics.joint import JointCounts
from ..statistics.label_ranges import LabelRanges
from ..statistics.labelsets import LabelsetCounts, Labelsets
from ..statistics.links import label_pair_counts, pair_counts
from ..statistics.stretched import Beside, commonest, may_stretch
from ..statistics.targets import Classes, Everything, LabelPairs, Labels, Target
from .base import Method, Scores
from .label_entries import Information, Measure, Strongest, informations
from .label_settings import LABEL_NOISE, LABEL_WEIGHTS, labels_of, refuse_with_labelsets

NUM_BINS = Parameter("num_bins", 5, Integer(2, MAX_BINS), "bins of a discretised feature")


BINNING = Parameter(
    "binning", "width", Choice(("width", "quantile")), "equal-width or quantile bins"
)


CORRECTION = Parameter(
    "bias_correction",
    "none",
    Choice(("none", "miller-madow")),
    "correction of the plug-in entropies for the number of cells",
)


CHANCE = replace(
    CORRECTION,
    constraint=Choice(("none", "miller-madow", "chance")),
    doc=f"{CORRECTION.doc}, or of the informations for what they are by chance, given how often "
    "each value occurs",
)


LABELS = Parameter(
    "label_coding",
    "br",
    Choice(("br", "lp")),
    "binary relevance (sum over labels) or label powerset (the labelset as one class)",
)


COUNTING = (NUM_BINS, BINNING, CORRECTION)


BY_LABEL = (*COUNTING, LABEL_WEIGHTS, LABEL_NOISE)


CODED = (*COUNTING, LABELS, LABEL_WEIGHTS, LABEL_NOISE)


BY_CHANCE = (NUM_BINS, BINNING, CHANCE)  # where the criterion is a sum of informations between two


PAIR_COPIES = 12  # tables of label pairs that are looked at together


MANY_CELLS = 1 << 18  # of sparse counts, from which on a table of terms is worth its while


MOST_CLASSES = 1 << 16  # that what comes later is reckoned with


def picking(engine: Engine) -> Callable[[int, int], None] | None:
    """Return the report of how many features are picked, None where nobody watches the engine."""
    return partial(engine.progress, "features picked") if engine.progress else None


def known_labelsets(engine: Engine) -> Labelsets:
    """Return the labelsets of the rows whose labels are all known.

    `DataError` where there are none."""
    (sets,) = engine.run(LabelsetCounts())
    if not len(sets.counts):
        raise DataError(
            "no row has all its labels known: labelsets need fully known rows; drop the labels "
            "that are never known"
        )
    return sets


@dataclass(frozen=True)
class Relevance(Reduction):
    """R(f): the sum of I(f; Y_l) over the labels, by their weights, or I(f; class), of groups that
    are a `target`'s. Where the labels are plain the sum is exact, and sparse counts are not made
    dense. Plug-in values are clipped at 0."""

    in_any_order = True
    target: Labels | Classes
    logs: info.CountLogs
    tables: dict[bytes, RareSums] = field(default_factory=dict, compare=False, repr=False)

    def worker_view(self) -> Relevance:
        return replace(self, tables={})

    def __call__(self, counts: Counts) -> ndarray:
        logs = self.logs
        values = np.empty(counts.count)
        if counts.coding.sparse and isinstance(self.target, Classes):
            rows = counts.totals.sum()
            for part, stored in counts.stored(False):
                terms = sparse_counts.stored_class_terms(logs, stored, counts.totals)
                values[part] = logs.nats(terms, rows)
            return values if logs.corrected else np.maximum(values, 0.0)
        if counts.coding.sparse and isinstance(self.target, Labels) and self.target.plain:
            rows = int(counts.totals[0])
            rare, sums = self._of_rare(counts)
            values[rare] = logs.nats(sums, rows)
            others = np.delete(np.arange(counts.count), rare)
            for part, stored in counts.stored(True, places=others):
                terms = sparse_counts.summed_stored_information(logs, stored, counts.label_rows)
                values[part] = logs.nats(terms, rows)
            return values
        for part, table in counts.chunks(6):
            values[part] = self.of_tables(table)
        return values

    def _of_rare(self, counts: Counts) -> tuple[ndarray, ndarray]:
        """Return features of sparse counts that are quick by a table, and their sums.

        They have two codes and few rows, and are many."""
        none = np.zeros(0, np.int64), np.zeros(0, np.int64)
        table = counts.table
        rows = counts.rows_of_slots if table.shape[1] == counts.count else None
        if rows is None:
            return none
        labels = counts.label_rows
        q = len(labels.positive)
        rare = np.flatnonzero(rows <= most_rows(q, labels.n))
        if np.diff(table.indptr).take(rare).sum() < MANY_CELLS:
            return none
        key = counts.totals.tobytes()
        if key not in self.tables:
            summed = partial(sparse_counts.summed_stored_information, self.logs, rows=labels)
            self.tables[key] = RareSums(summed, q, labels.n)
        sums = self.tables[key].of_slots(
            table.data,
            table.indices,
            table.indptr,
            rare,
            rows.take(rare),
        )
        return rare, sums

    def of_tables(self, counts: ndarray) -> ndarray:
        """Return (F,) the relevance by dense counts (F, values, groups)."""
        logs = self.logs
        target = self.target
        if isinstance(target, Classes):
            values = info.class_information(logs, counts)
            return values if logs.corrected else np.maximum(values, 0.0)
        if target.plain:
            terms = info.summed_label_information(logs, counts, target.q)
            return logs.nats(terms, counts[..., 0].sum(axis=1))
        return target.summed(informations(target, logs, counts))


class Counting:
    """The counts and informations of one run, each computed when first asked for."""

    def __init__(
        self,
        engine: Engine,
        p: Values,
        target: Target | None = None,
        rows: int | None = None,
    ) -> None:
        self.engine = engine
        self.p = p
        self.coding = engine.coding(p["num_bins"], p["binning"])
        by_labelset = p.get("label_coding") == "lp"
        if by_labelset:
            refuse_with_labelsets(p)
        if target is None and by_labelset:
            sets = known_labelsets(engine)
            target = Classes(sets.hashes, sets.counts)
            rows = int(sets.counts.sum())
        self.target = target if target is not None else labels_of(engine, p)
        correction = p.get("bias_correction", "none")
        if correction != "none" and engine.profile.weight_unit < 1:
            engine.refuse_weights(
                f"bias_correction={correction!r}, which counts rows, takes weights that are whole "
                "numbers; else it"
            )
        if correction != "none" and p.get("label_noise") is not None:
            raise ParameterError(
                f"{setting('label_noise')} goes with {setting('bias_correction', 'none')}: "
                "corrected counts are no rows"
            )
        terms = 8 * (engine.profile.q + 2)
        rows = rows or engine.profile.total
        self.logs = self._row_logs = info.CountLogs(rows, terms, correction)
        if isinstance(self.target, Labels) and self.target.noise:
            self.logs = info.CountLogs(rows << self.target.noise_bits, terms)
        self.correction = correction

    @property
    def two_way(self) -> Counts:
        return self.engine.run(TwoWay(self.coding, self.target))[0]

    @property
    def _shows_stretched(self) -> bool:
        """Whether counts may show that features are stretched: in bins of equal width, of all
        rows."""
        binned = self.coding.edges is None and self.target.has_everyone
        return binned and may_stretch(self.engine.profile)

    def statistic_of(self, reduction: Reduction, once: bool = False) -> FeatureNumbers:
        """Return what `numbers` asks for."""
        if self._shows_stretched:
            reduction = Beside(reduction, commonest)
        return FeatureNumbers((TwoWay(self.coding, self.target),), reduction, once)

    def numbers(self, reduction: Reduction, once: bool = False) -> ndarray:
        """Return (k, v) the numbers that `reduction` makes of the two-way counts.

        `once`: it is all that is made of them."""
        numbers = self.engine.run(self.statistic_of(reduction, once))[0]
        if not self._shows_stretched:
            return numbers
        self.note_stretched(numbers[-2:])
        return numbers[:-2]

    def note_stretched(self, of_commonest: ndarray) -> None:
        """Note stretched features by their `commonest` codes and the rows of these, (2, v)."""
        engine = self.engine
        engine.stretched.note_counts(engine.profile, self.coding.num_bins, of_commonest)

    @cached_property
    def relevance(self) -> ndarray:
        """Return (v,) R(f): the sum of I(f; Y_l) over the labels, or I(f; labelset)."""
        return self.numbers(self.relevance_of)[0]

    def joint_counts(self, groups: Sequence[tuple[int, ...]]) -> list[JointCounts]:
        """Return the statistics that count the joint values of groups of features.

        One, or several where one would take too many bytes."""
        counts = JointCounts(self.coding, self.target, tuple(groups))
        budgets = self.engine.budgets
        limit = min(TwoWay.gathered_bytes, budgets.worker // 8, budgets.driver // 4)
        edges = cuts(counts.bytes_of(self.engine.profile), limit)
        return [
            replace(counts, families=counts.families[first:last])
            for first, last in itertools.pairwise(edges)
        ]

    @property
    def relevance_of(self) -> Relevance:
        assert isinstance(self.target, (Labels, Classes))
        return Relevance(self.target, self.logs)

    @cached_property
    def entropy(self) -> ndarray:
        return info.entropy(self._row_logs, self._all_rows.rows_by_code())

    @cached_property
    def _all_rows(self) -> Counts:
        """Return counts of which group 0 is all rows.

        The two-way counts themselves, where the engine brings their states together."""
        statistic = TwoWay(self.coding, self.target)
        if not self.engine.collects_whole_states(statistic):
            statistic = TwoWay(self.coding, Everything())
        counts: Counts = self.engine.run(statistic)[0]
        if self._shows_stretched:
            self.note_stretched(commonest(counts))
        return counts

    @cached_property
    def _commonest(self) -> ndarray:
        return self.coding.zero.astype(int) if self.coding.sparse else self._all_rows.commonest()

    def links(self, features: list[int], target: Target | None = None) -> dict[int, ndarray]:
        """Return {s: (2, v)} Σ_l I(f; Y_l | s) and I(f; s) of some `features` s.

        One request for all of them, if their counts fit the budgets."""
        commonest = [int(self._commonest[s]) for s in features]
        target = target or self.target
        has_noise = isinstance(target, Labels) and target.noise
        counts = pair_counts(
            self.coding,
            target,
            features,
            commonest,
            self.logs if has_noise else self._row_logs,
        )
        if len(features) > 1 and not self.engine.fits_budgets(counts):
            half = len(features) // 2
            return {**self.links(features[:half], target), **self.links(features[half:], target)}
        (numbers,) = self.engine.run(counts, keep=False)
        return {s: numbers[2 * index : 2 * index + 2] for index, s in enumerate(features)}

    def label_pairs(self, labels: tuple[int, ...]) -> ndarray:
        """Return (2, v) two sums over the pairs a < b of `labels`.

        Σ co(f, a, b), and Σ [I(f; Y_a | Y_b) + I(f; Y_b | Y_a)]."""
        if len(labels) < 2:
            return np.zeros((2, self.engine.num_features))
        target = LabelPairs(labels)
        # bytes of one feature's tables, while its informations are summed
        table = 8 * PAIR_COPIES * self.coding.width * target.size
        remedy = (
            f"lower {setting('num_bins')}, give fewer labels, or use mim, jmi, d2f or mdmr: "
            "they pair none"
        )
        needs = f"the {target.size} pairs of {len(labels)} labels need"
        error = WorkerBudgetError if self.engine.in_one_process else BudgetError
        must_fit(
            table,
            *self.engine.state_budget,
            needs,
            remedy,
            "for each feature",
            error,
        )
        profile = self.engine.profile
        counts = label_pair_counts(
            self.coding,
            target,
            profile.has_unknown,
            8 * (profile.q + 2),
            self.correction,
        )
        return self.engine.run(counts, keep=False)[0]


@dataclass(frozen=True)
class Criterion:
    """A greedy criterion over counts.

    `first` (v,) what the first pick maximises; `term(s, conditional, pair)` (v,) what the pick s
    adds to a sum over the picks, by Σ_l I(f; Y_l | s) and I(f; s); `value(sum, picks)` (v,) the
    criterion of further picks; `target` of the links, if another."""

    first: ndarray
    term: Callable[[int, ndarray, ndarray], ndarray]
    value: Callable[[ndarray, int], ndarray]
    target: Target | None = None


class CountingMethod(Method):
    """A method that starts from two-way counts."""

    cost = "one scan"
    strength = "information in nats"
    parameters: ClassVar[tuple[Parameter, ...]] = COUNTING
    statistics = (TwoWay,)

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        if p.get("label_coding") == "lp":
            refuse_with_labelsets(p)
            return [LabelsetCounts()]
        counting = Counting(engine, p)
        once = type(self).score is CountingMethod.score
        return [counting.statistic_of(self.reduction(counting), once)]

    def later(self, engine: Engine, p: Values) -> list[Statistic]:
        if LabelsetCounts not in map(type, self.needs(engine, p)):
            return []
        sets = min(engine.profile.most_labelsets, MOST_CLASSES)
        classes = Classes(np.zeros(sets, np.uint64), np.zeros(sets, np.int64))
        counting = Counting(engine, {**p, "label_coding": "br"}, classes, engine.profile.n)
        return [counting.statistic_of(counting.relevance_of)]

    def reduction(self, counting: Counting) -> Reduction:
        """Return the reduction of the two-way counts that it starts from."""
        return counting.relevance_of

    def label_sets(
        self,
        engine: Engine,
        p: Values,
        kept: ndarray,
        scores: Scores,
    ) -> list[Statistic]:
        if p.get("label_coding") == "lp":
            return []
        counting = Counting(engine, {**p, CORRECTION.name: "none"})
        if not isinstance(counting.target, Labels):
            return []
        strongest = Strongest(counting.target, self.measure(counting))
        return [LabelRanges((TwoWay(counting.coding, counting.target),), strongest)]

    def measure(self, counting: Counting) -> Measure:
        """Return how strong what a feature says of a label is."""
        return Information(counting.logs)

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        counting = Counting(engine, p)
        return Scores(counting.numbers(self.reduction(counting), once=True)[0])


class GreedyCountingMethod(CountingMethod):
    """A counting method that picks one by one, by its criterion."""

    greedy = True
    conditions = True

    def later(self, engine: Engine, p: Values) -> list[Statistic]:
        if p.get("label_coding") == "lp":
            return super().later(engine, p)
        counting = Counting(engine, p)
        return [pair_counts(counting.coding, counting.target, [0], [0], counting.logs)]

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        """Return the criterion over these counts.

        With `costs` its values are gains, which are compared with costs."""
        raise NotImplementedError

    def score(
        self,
        engine: Engine,
        p: Values,
        count: int,
        terms: PickConstraints = UNCONSTRAINED,
    ) -> Scores:
        counting = Counting(engine, p)
        criterion = self.criterion(counting, terms.costs is not None)
        path = forward(
            criterion.first,
            lambda s, link: criterion.term(s, *link),
            criterion.value,
            lambda features: counting.links(list(features), criterion.target),
            min(count, engine.num_features),
            engine.look_ahead,
            picking(engine),
            terms,
        )
        return Scores(criterion.first, path)
