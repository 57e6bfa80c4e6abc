"""Counting filters: each method makes one number a feature of its two-way counts, one scan."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..engine.base import Engine
from ..kernels import information as info
from ..params import Choice, Integer, Parameter, Values
from ..statistics.base import Reduction, Statistic
from ..statistics.contingency import Counts
from ..statistics.labelsets import LabelsetCounts
from ..statistics.targets import NOISE_BITS, Labels, Target
from .base import Scores
from .counting import (
    BINNING,
    BY_CHANCE,
    BY_LABEL,
    CODED,
    COUNTING,
    LABELS,
    NUM_BINS,
    Counting,
    CountingMethod,
    informations,
    known_labelsets,
)
from .labels import LABEL_NOISE, LABEL_WEIGHTS


@dataclass(frozen=True)
class ChiSquare(Reduction):
    """χ², times the `unit` of the rows' weights, against each label, combined by `aggregate`, or against the class."""

    target: Target
    aggregate: str
    unit: float

    def __call__(self, counts: Counts) -> np.ndarray:
        labels, out = self.target if isinstance(self.target, Labels) else None, np.empty(counts.count)
        if not counts.coding.sparse or (labels is not None and not labels.plain):
            over = getattr(np, self.aggregate)
            for at, table in counts.chunks(4):
                out[at] = info.class_chi_square(table) if labels is None else over(self._each(labels, table), axis=1)
            return out * self.unit
        for at, some in counts.stored(labels is not None):
            if labels is None:
                out[at] = info.stored_class_chi_square(some, counts.totals)
                continue
            combine = info.largest_stored if self.aggregate == "max" else info.stored_label_sums
            out[at] = combine(some, counts.label_rows, *info.stored_chi_square(some, counts.label_rows))
        return (out / labels.q if labels is not None and self.aggregate == "mean" else out) * self.unit

    def _each(self, target: Labels, counts: np.ndarray) -> np.ndarray:
        """(F, q) χ² of each label, times its weight."""
        unit = 1.0 if target.noise is None else 2.0**-NOISE_BITS
        counts = target.denoised_counts(counts)
        each = info.chi_square(counts, target.q, target.unknown(counts)) * unit
        return each if target.weights is None else each * np.array(target.weights)


class Chi2(CountingMethod):
    """χ² statistic of feature against each label (sum, mean or maximum over labels), or against the labelset.

        χ²(f, l) = Σ_{a,y} (O_ay − E_ay)²/E_ay,    E_ay = O_a· O_·y / O_··

    ``label_coding="br"``: score Σ_l χ²(f, l), its mean over all q labels, or max_l, by ``aggregate``; ``"lp"``: χ² against the
    labelset as one class. Cells with E = 0 are skipped. For a 2 × 2 table χ² = n·r², r the correlation.
    Symbols: $one; a its value; y ∈ {0, 1} that of label l of q, or one of m labelsets, the empty one included; O_ay rows with
    both (of label l: of those where it is known), a dot sums. Score (v,), without unit.
    Raises: $coded.
    Source: Trohidis, Tsoumakas, Kalliris & Vlahavas 2008.
    Deviations: none known; the sum over the labels ranks as the mean does."""

    name = "chi2"
    title = "χ² statistic of feature against label"
    source = "Trohidis et al. 2008"
    when = "counts or categories, very many features, one pass; a filter in front of other methods"
    parameters = (
        NUM_BINS,
        BINNING,
        LABELS,
        Parameter("aggregate", "sum", Choice(("sum", "mean", "max")), "how the labels' statistics are combined (br only)"),
        LABEL_WEIGHTS,
        LABEL_NOISE,
    )

    def reduction(self, counting: Counting) -> ChiSquare:
        return ChiSquare(counting.target, counting.p["aggregate"], counting.engine.profile.weight_unit)


@dataclass(frozen=True)
class InformationNorm(Reduction):
    """‖(√w_l I(f; Y_l))_l‖₂, w_l = 1 but for weighted labels."""

    target: Labels
    logs: info.CountLogs

    def __call__(self, counts: Counts) -> np.ndarray:
        target, logs, out = self.target, self.logs, np.empty(counts.count)
        if counts.coding.sparse and target.plain:
            for at, some in counts.stored(True):
                touched, untouched = info.stored_label_information(logs, some, counts.label_rows)
                out[at] = info.stored_label_sums(some, counts.label_rows, touched**2, lambda r, p: untouched(r, p) ** 2)  # noqa: B023
        else:
            for at, table in counts.chunks(6):
                out[at] = target.summed(informations(target, logs, table) ** 2)
        return np.sqrt(out)


class ENM(CountingMethod):
    """‖(I(f; Y_l))_l‖₂.

        score(f) = ‖(I(f; Y_1), …, I(f; Y_q))‖₂

    Symbols: $one; $label; $plugin, clipped at 0, over the rows where label l is known. Score (v,), nats.
    Raises: $counts; $range.
    Source: $measures.
    Deviations: none known; unknown labels are an addition."""

    name = "enm"
    title = "Euclidean norm of the per-label mutual informations"
    source = "Gonzalez-Lopez et al. 2020"
    when = "a feature that tells one label very well shall beat one that tells many a little"
    parameters = BY_LABEL

    def reduction(self, counting: Counting) -> InformationNorm:
        assert isinstance(counting.target, Labels)
        return InformationNorm(counting.target, counting.logs)


class FIMF(CountingMethod):
    """R(f) − Σ over pairs of the highest-entropy labels of co(f, l, l').

        score(f) = R(f) − Σ_{l<l', both in Q} co(f, l, l'),   R(f) = Σ_l I(f; Y_l),   co(f, l, l') = I(f; Y_l) − I(f; Y_l | Y_l')

    One pass, no greedy search. R is over all q labels, the pairs are unordered and over Q alone.
    Symbols: $one; $label; Q the ``num_labels`` labels of highest entropy H(Y_l) (ties by index); $plugin, in R over the rows
    where label l is known, in co, the interaction information, over the rows whose labels are all known. Score (v,), nats.
    Raises: $pairs.
    Source: Lee & Kim, "Fast multi-label feature selection based on information-theoretic feature ranking", 2015.
    Deviations: none; unknown labels are an addition."""

    name = "fimf"
    title = "relevance less interaction of the highest-entropy labels"
    source = "Lee & Kim 2015"
    when = "very many labels, one pass: only those of the highest entropy interact"
    cost = "one scan, and label pairs"
    parameters = (*COUNTING, Parameter("num_labels", 10, Integer(0), "how many labels of highest entropy are paired"))

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        counting = Counting(engine, p)
        profile = engine.profile
        rows = np.stack([profile.positive_total, profile.observed_total - profile.positive_total], axis=1)
        order = np.argsort(-np.round(info.entropy(counting.logs, rows), 12), kind="stable")
        labels = tuple(sorted(int(label) for label in order[: p["num_labels"]]))
        return Scores(counting.relevance - counting.label_pairs(labels)[0])


FLOOR = 1e-12


@dataclass(frozen=True)
class GeometricMean(Reduction):
    """The geometric mean of max(I(f; Y_l), 1e-12) over the labels of `both` values."""

    target: Labels
    both: np.ndarray
    correction: str

    def __call__(self, counts: Counts) -> np.ndarray:
        target, out = self.target, np.zeros(counts.count)
        if not self.both.any():
            return out
        if counts.coding.sparse and not target.watch:
            rows = counts.label_rows

            def logarithm(each: np.ndarray, p: np.ndarray) -> np.ndarray:
                return np.where((p > 0) & (p < rows.n), np.log(np.maximum(each, FLOOR)), 0.0)

            for at, some in counts.stored(True):
                touched, untouched = info.small_stored_information(some, rows, self.correction)
                met = logarithm(touched, rows.positive[some.pairs()[1]])
                sums = info.stored_label_sums(some, rows, met, lambda r, p: logarithm(untouched(r, p), p))  # noqa: B023
                out[at] = sums / np.count_nonzero(self.both)
        else:
            for at, table in counts.chunks(8):
                each = info.small_label_information(table, target.q, target.unknown(table), self.correction)[:, self.both]
                each = np.ascontiguousarray(each)  # a sum's bits go by the layout, and that of one feature is another
                out[at] = np.log(np.maximum(each, FLOOR)).mean(axis=1)
        return np.exp(out)


class GMM(CountingMethod):
    """Geometric mean over the labels of I(f; Y_l), each floored at 1e-12.

        score(f) = (Π_{l∈L} max(I(f; Y_l), 1e-12))^(1/|L|)

    Symbols: $one; $label; L the labels that take both values; $plugin, over the rows where label l is known. Score (v,), nats.
    Raises: $counts; $range.
    Source: $measures.
    Deviations: labels with one value are left out; the floor at 1e-12: one label without information does not make features
    equal."""

    name = "gmm"
    title = "geometric mean of the per-label mutual informations"
    source = "Gonzalez-Lopez et al. 2020"
    when = "a feature shall say something of every label"

    def reduction(self, counting: Counting) -> GeometricMean:
        profile = counting.engine.profile
        both = (profile.positive > 0) & (profile.positive < profile.observed)  # weights are above 0
        assert isinstance(counting.target, Labels)
        return GeometricMean(counting.target, both, counting.correction)


@dataclass(frozen=True)
class CodeEntropy(Reduction):
    """H(f) over the rows in a class."""

    logs: info.CountLogs

    def __call__(self, counts: Counts) -> np.ndarray:
        logs, out = self.logs, np.empty(counts.count)
        if counts.coding.sparse:
            n = int(counts.totals.sum())
            for at, some in counts.stored(False):
                codes = some.by_feature(logs(some.rows)) + logs(n - some.by_feature(some.rows))
                out[at] = logs.nats(logs(n) - codes, n)
        else:
            for at, table in counts.chunks(4):
                out[at] = info.entropy(logs, table.sum(axis=2))
        return out


class IGMF(CountingMethod):
    """2·I(f; labelset) / (H(f) + H(labelset)).

        score(f) = 2·I(f; Y) / (H(f) + H(Y))

    The symmetric uncertainty, a number in [0, 1]; 0 where neither varies. Rows with an unknown label are left out.
    Symbols: $one; Y the labelset as one class of m, the empty one included; $plugin, H entropy, as I: the score (v,) has no unit.
    Raises: $unlabelled; $counts; $range.
    Source: Li, Liu, Ma, Mo, Duan, Zhou & Zhao, "Multi-label feature selection via information gain", ADMA 2014.
    Deviations: none known; unknown labels are an addition."""

    name = "igmf"
    title = "symmetric uncertainty with the labelset"
    source = "Li et al. 2014"
    when = "features with few values beside features with many: informations are normalised"
    cost = "two scans"

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        return [LabelsetCounts()]

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        sets = known_labelsets(engine)
        counting = Counting(engine, {**p, "label_coding": "lp"})
        spread = counting.numbers(CodeEntropy(counting.logs))[0]
        spread += info.entropy(counting.logs, sets.counts)
        return Scores(np.divide(2 * counting.relevance, spread, out=np.zeros(engine.num_features), where=spread > 0))


class MIM(CountingMethod):
    """Mutual information maximisation: R(f) = Σ_l I(f; Y_l), or I(f; labelset).

        label_coding="br"   R(f) = Σ_l I(f; Y_l)
        label_coding="lp"   R(f) = I(f; Y)

    Symbols: $one; $label; Y the labelset as one class of m, the empty one included. I(A; B) = Σ_ab p(a, b) ln p(a, b)/(p(a)
    p(b)), p the shares of the n rows: the plug-in estimate, in nats, clipped at 0; or with the Miller–Madow correction of its
    entropies; or ("chance") less its mean over all tables with the same margins, so that a feature of many values has no
    advantage (`kernels.chance`). I(f; Y_l) is over the rows where label l is known, I(f; Y) over those where all are. Score R,
    (v,). A group of features (``groups``) scores R of its members' joint value, of which 1024 are counted at most: one that has
    more scores the mean of its three best members. ``bias_correction`` takes off what many values add to the plug-in estimate,
    their number over 2n.
    Cost: one two-way count, n·d·(1 + labels a row); of "chance" about 1 µs for every pair of different code and label counts
    more.
    Raises: $coded.
    Source: Sechidis, Nikolaou & Brown 2014, Eq. 7 (br) and Eq. 5 (lp); Vinh, Epps & Bailey 2010, Eq. 24a (chance).
    Deviations: none; unknown labels and the corrections are additions."""

    name = "mim"
    title = "mutual information with each label (or the labelset)"
    source = "Sechidis et al. 2014, Eq. 5 and 7"
    when = "very many features, one pass; a filter in front of other methods. Copies of a good feature come with it"
    parameters = (*BY_CHANCE, *CODED[len(BY_CHANCE) :])

    def group_needs(self, engine: Engine, p: Values, groups: Sequence[tuple[int, ...]]) -> list[Statistic]:
        if p["label_coding"] == "lp":  # classes are not known beforehand
            return []
        wanted = Counting(engine, p).joint_counts(groups)
        return [*wanted] if len(wanted) == 1 else []

    def group_scores(self, engine: Engine, p: Values, groups: Sequence[tuple[int, ...]]) -> np.ndarray:
        return Counting(engine, p).joint_relevance(groups)
