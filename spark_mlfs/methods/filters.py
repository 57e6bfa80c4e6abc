"""Filters: each makes one number a feature in one scan, of two-way counts or of moments by
label."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..engine.base import Engine
from ..kernels import information as info
from ..kernels.information import PairMoments
from ..params import Choice, Integer, Parameter, Values
from ..solvers.scatter import class_scatter, floored_ratio, stored_scatter, stored_two_class_ratio
from ..statistics.base import FeatureNumbers, Reduction, Statistic
from ..statistics.contingency import Counts
from ..statistics.labelsets import LabelsetCounts
from ..statistics.moments import GroupMoments, KnownRows, Moments, known_range, label_moments, thin
from ..statistics.targets import NOISE_BITS, Classes, Labels, Target
from .base import Method, Scores
from .counting import (
    BINNING,
    BY_CHANCE,
    BY_LABEL,
    CODED,
    COUNTING,
    LABEL_NOISE,
    LABEL_WEIGHTS,
    LABELS,
    NUM_BINS,
    Counting,
    CountingMethod,
    informations,
    known_labelsets,
    label_weights,
    refuse_with_labelsets,
)


@dataclass(frozen=True)
class ChiSquare(Reduction):
    """χ², times the `unit` of the rows' weights, against each label, combined by `aggregate`, or
    against the class."""

    target: Target
    aggregate: str
    unit: float

    def __call__(self, counts: Counts) -> np.ndarray:
        labels, out = (
            self.target if isinstance(self.target, Labels) else None,
            np.empty(counts.count),
        )
        if not counts.coding.sparse or (labels is not None and not labels.plain):
            over = getattr(np, self.aggregate)
            for at, table in counts.chunks(4):
                out[at] = (
                    info.class_chi_square(table)
                    if labels is None
                    else over(self._each(labels, table), axis=1)
                )
            return out * self.unit
        for at, some in counts.stored(labels is not None):
            if labels is None:
                out[at] = info.stored_class_chi_square(some, counts.totals)
                continue
            combine = info.largest_stored if self.aggregate == "max" else info.stored_label_sums
            out[at] = combine(
                some, counts.label_rows, *info.stored_chi_square(some, counts.label_rows)
            )
        return (
            out / labels.q if labels is not None and self.aggregate == "mean" else out
        ) * self.unit

    def _each(self, target: Labels, counts: np.ndarray) -> np.ndarray:
        """(F, q) χ² of each label, times its weight."""
        unit = 1.0 if target.noise is None else 2.0**-NOISE_BITS
        counts = target.denoised_counts(counts)
        each = info.chi_square(counts, target.q, target.unknown(counts)) * unit
        return each if target.weights is None else each * np.array(target.weights)


class Chi2(CountingMethod):
    """χ² statistic of feature against each label (sum, mean or maximum over labels), or against the
    labelset.

        χ²(f, l) = Σ_{a,y} (O_ay − E_ay)²/E_ay,    E_ay = O_a· O_·y / O_··

    ``label_coding="br"``: score Σ_l χ²(f, l), its mean over all q labels, or max_l, by
    ``aggregate``; ``"lp"``: χ² against the labelset as one class. Cells with E = 0 are skipped. For
    a 2 × 2 table χ² = n·r², r the correlation. Symbols: $one; a its value; y ∈ {0, 1} that of label
    l of q, or one of m labelsets, the empty one included; O_ay rows with both (of label l: of those
    where it is known), a dot sums. Score (v,), without unit. Raises: $coded. Source: Trohidis,
    Tsoumakas, Kalliris & Vlahavas 2008. Deviations: none known; the sum over the labels ranks as
    the mean does."""

    name = "chi2"
    title = "χ² statistic of feature against label"
    source = "Trohidis et al. 2008"
    when = "counts or categories, very many features, one pass; a filter in front of other methods"
    parameters = (
        NUM_BINS,
        BINNING,
        LABELS,
        Parameter(
            "aggregate",
            "sum",
            Choice(("sum", "mean", "max")),
            "how the labels' statistics are combined (br only)",
        ),
        LABEL_WEIGHTS,
        LABEL_NOISE,
    )

    def reduction(self, counting: Counting) -> ChiSquare:
        return ChiSquare(
            counting.target, counting.p["aggregate"], counting.engine.profile.weight_unit
        )


@dataclass(frozen=True)
class InformationNorm(Reduction):
    """‖(√w_l I(f; Y_l))_l‖₂, w_l = 1 but for weighted labels."""

    target: Labels
    logs: info.CountLogs

    def __call__(self, counts: Counts) -> np.ndarray:
        target, logs, out = self.target, self.logs, np.empty(counts.count)
        if counts.coding.sparse and target.plain:
            for at, some in counts.stored(True):
                pair_values, unstored = info.stored_label_information(logs, some, counts.label_rows)
                out[at] = info.stored_label_sums(
                    some,
                    counts.label_rows,
                    pair_values**2,
                    lambda r, p: unstored(r, p) ** 2,  # noqa: B023
                )
        else:
            for at, table in counts.chunks(6):
                out[at] = target.summed(informations(target, logs, table) ** 2)
        return np.sqrt(out)


class ENM(CountingMethod):
    """‖(I(f; Y_l))_l‖₂.

        score(f) = ‖(I(f; Y_1), …, I(f; Y_q))‖₂

    Symbols: $one; $label; $plugin, clipped at 0, over the rows where label l is known. Score (v,),
    nats. Raises: $counts; $range. Source: $measures. Deviations: none known; unknown labels are an
    addition."""

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

        score(f) = R(f) − Σ_{l<l', both in Q} co(f, l, l'),   R(f) = Σ_l I(f; Y_l),   co(f, l, l') =
        I(f; Y_l) − I(f; Y_l | Y_l')

    One pass, no greedy search. R is over all q labels, the pairs are unordered and over Q alone.
    Symbols: $one; $label; Q the ``num_labels`` labels of highest entropy H(Y_l) (ties by index);
    $plugin, in R over the rows where label l is known, in co, the interaction information, over the
    rows whose labels are all known. Score (v,), nats. Raises: $pairs. Source: Lee & Kim, "Fast
    multi-label feature selection based on information-theoretic feature ranking", 2015. Deviations:
    none; unknown labels are an addition."""

    name = "fimf"
    title = "relevance less interaction of the highest-entropy labels"
    source = "Lee & Kim 2015"
    when = "very many labels, one pass: only those of the highest entropy interact"
    cost = "one scan, and label pairs"
    parameters = (
        *COUNTING,
        Parameter("num_labels", 10, Integer(0), "how many labels of highest entropy are paired"),
    )

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        counting = Counting(engine, p)
        profile = engine.profile
        rows = np.stack(
            [profile.positive_total, profile.observed_total - profile.positive_total], axis=1
        )
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
                pair_values, unstored = info.small_stored_information(some, rows, self.correction)
                met = logarithm(pair_values, rows.positive[some.pairs()[1]])
                sums = info.stored_label_sums(
                    some,
                    rows,
                    met,
                    lambda r, p: logarithm(unstored(r, p), p),  # noqa: B023
                )
                out[at] = sums / np.count_nonzero(self.both)
        else:
            for at, table in counts.chunks(8):
                each = info.small_label_information(
                    table, target.q, target.unknown(table), self.correction
                )[:, self.both]
                each = np.ascontiguousarray(
                    each
                )  # a sum's bits go by the layout, and that of one feature is another
                out[at] = np.log(np.maximum(each, FLOOR)).mean(axis=1)
        return np.exp(out)


class GMM(CountingMethod):
    """Geometric mean over the labels of I(f; Y_l), each floored at 1e-12.

        score(f) = (Π_{l∈L} max(I(f; Y_l), 1e-12))^(1/|L|)

    Symbols: $one; $label; L the labels that take both values; $plugin, over the rows where label l
    is known. Score (v,), nats. Raises: $counts; $range. Source: $measures. Deviations: labels with
    one value are left out; the floor at 1e-12: one label without information does not make features
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

    The symmetric uncertainty, a number in [0, 1]; 0 where neither varies. Rows with an unknown
    label are left out. Symbols: $one; Y the labelset as one class of m, the empty one included;
    $plugin, H entropy, as I: the score (v,) has no unit. Raises: $unlabelled; $counts; $range.
    Source: Li, Liu, Ma, Mo, Duan, Zhou & Zhao, "Multi-label feature selection via information
    gain", ADMA 2014. Deviations: none known; unknown labels are an addition."""

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
        return Scores(
            np.divide(
                2 * counting.relevance, spread, out=np.zeros(engine.num_features), where=spread > 0
            )
        )


class MIM(CountingMethod):
    """Mutual information maximisation: R(f) = Σ_l I(f; Y_l), or I(f; labelset).

        label_coding="br"   R(f) = Σ_l I(f; Y_l)
        label_coding="lp"   R(f) = I(f; Y)

    Symbols: $one; $label; Y the labelset as one class of m, the empty one included. I(A; B) = Σ_ab
    p(a, b) ln p(a, b)/(p(a) p(b)), p the shares of the n rows: the plug-in estimate, in nats,
    clipped at 0; or with the Miller–Madow correction of its entropies; or ("chance") less its mean
    over all tables with the same margins, so that a feature of many values has no advantage
    (`kernels.chance`). I(f; Y_l) is over the rows where label l is known, I(f; Y) over those where
    all are. Score R, (v,). A group of features (``groups``) scores R of its members' joint value,
    of which 1024 are counted at most: one that has more scores the mean of its three best members.
    ``bias_correction`` takes off what many values add to the plug-in estimate, their number over
    2n. Cost: one two-way count, n·d·(1 + labels a row); of "chance" about 1 µs for every pair of
    different code and label counts more. Raises: $coded. Source: Sechidis, Nikolaou & Brown 2014,
    Eq. 7 (br) and Eq. 5 (lp); Vinh, Epps & Bailey 2010, Eq. 24a (chance). Deviations: none; unknown
    labels and the corrections are additions."""

    name = "mim"
    title = "mutual information with each label (or the labelset)"
    source = "Sechidis et al. 2014, Eq. 5 and 7"
    when = (
        "very many features, one pass; a filter in front of other methods. Copies of a good "
        "feature come with it"
    )
    parameters = (*BY_CHANCE, *CODED[len(BY_CHANCE) :])

    def group_needs(
        self, engine: Engine, p: Values, groups: Sequence[tuple[int, ...]]
    ) -> list[Statistic]:
        if p["label_coding"] == "lp":  # classes are not known beforehand
            return []
        wanted = Counting(engine, p).joint_counts(groups)
        return [*wanted] if len(wanted) == 1 else []

    def group_scores(
        self, engine: Engine, p: Values, groups: Sequence[tuple[int, ...]]
    ) -> np.ndarray:
        counting, out = Counting(engine, p), list[float]()
        for wanted in counting.joint_counts(groups):
            (tables,) = engine.run(wanted, keep=False)
            out += [
                np.nan if table is None else float(counting.relevance_of.of_tables(table[None])[0])
                for table in tables
            ]
        return np.array(out)


@dataclass(frozen=True)
class Scatter(Reduction):
    """Between and within the groups from the `first` on, `count` of them (None: all), about their
    mean or that of all rows."""

    first: int = 0
    count: int | None = None
    about_all: bool = False

    def __call__(self, m: Moments | PairMoments) -> np.ndarray:
        if isinstance(m, PairMoments):
            return np.stack(stored_scatter(m, m.all_total / m.rows.n if self.about_all else None))
        part = slice(self.first, None if self.count is None else self.first + self.count)
        centre = m.total[0] / m.count[0] if self.about_all else None  # group 0 is all rows then
        return np.stack(class_scatter(m.count[part], m.total[part], m.square[part], centre))


@dataclass(frozen=True)
class LabelRatios(Reduction):
    """The mean over the labels of the ratio of scatters, and whether a feature varies; `watch`:
    labels some rows do not know."""

    watch: tuple[int, ...]
    weights: np.ndarray | None

    def __call__(self, m: Moments | PairMoments) -> np.ndarray:
        if isinstance(m, PairMoments):
            return np.stack(stored_two_class_ratio(m))
        q, watch = len(m.count) - 1 - len(self.watch), list(self.watch)
        rows, total, square = (
            np.repeat(each[:1], q, axis=0) for each in (m.count, m.total, m.square)
        )
        for all_, each in ((rows, m.count), (total, m.total), (square, m.square)):
            all_[watch] -= each[1 + q :]
        ratios, used, varies = [], [], np.zeros(m.total.shape[1], bool)
        for label in range(q):
            n = np.array([m.count[1 + label], rows[label] - m.count[1 + label]])
            if n.min() == 0:
                continue
            sums = np.stack([m.total[1 + label], total[label] - m.total[1 + label]])
            squares = np.stack([m.square[1 + label], square[label] - m.square[1 + label]])
            between, within = class_scatter(n, sums, squares)
            varies |= between + within > 0
            ratios.append(floored_ratio(between, within))
            used.append(label)
        if not ratios:  # no label takes both values
            return np.zeros((2, len(varies)))
        if self.weights is None:
            return np.stack([np.mean(ratios, axis=0), varies])
        weights = self.weights[used]
        mean = (np.array(ratios) * weights[:, None]).sum(axis=0) / max(
            float(weights.sum()), np.finfo(float).tiny
        )
        return np.stack([mean, varies])


class Fisher(Method):
    """Fisher score Σ_c n_c(μ_c − μ)² / Σ_c n_c var_c, mean over labels; or over overlapping labels,
    or labelsets.

        label_coding="br"        (1/|L|) Σ_{l∈L} s(f; l, not l),    s(f; classes) = Σ_c n_c (μ_c −
        μ)² / Σ_c n_c σ²_c label_coding="overlap"   s(f; 1, …, q), the labels as classes that share
        rows label_coding="lp"        s(f; the labelsets)

    Under "br" s = r²/(1 − r²), r the correlation with the label. Denominators are floored at
    1e-12·(numerator + denominator): 0/0 = 0, perfect separation 1e12. Scale invariant, so no
    scaling is applied. Where labels are graded a row of grade g is g of a row with the label and 1
    − g of one without it. Symbols: f one of the v features that vary; n_c, μ_c, σ²_c rows, mean and
    population variance of f in class c; μ the mean of all n rows; L the labels of q that take both
    values; rows are those where the label, or under "lp" all, are known. Score (v,). Raises:
    `BudgetError` where the sums (labels or labelsets × features) exceed $budget; under "lp"
    $unlabelled; $range. Source: Gu, Li & Han 2011 (the score of one class label). Deviations: the
    three ways to many labels are ours: the source has one label."""

    name = "fisher"
    title = "Fisher score"
    source = "Gu, Li & Han 2011"
    when = (
        "numeric features without binning, one pass; overlapping labels by its parameter "
        "label_coding"
    )
    cost = "one scan"
    statistics = (GroupMoments, LabelsetCounts, KnownRows)
    parameters = (
        Parameter(
            "label_coding",
            "br",
            Choice(("br", "overlap", "lp")),
            "mean over labels, overlapping labels, or labelsets",
        ),
        LABEL_WEIGHTS,
    )

    def takes_grades(self, p: Values) -> bool:
        return p["label_coding"] != "lp"

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        profile, labels = engine.profile, engine.labels()
        if p["label_coding"] == "br":
            alone = profile.has_unknown or p["label_weights"] != "uniform"
            numbers: Reduction = LabelRatios(labels.watch, label_weights(profile, p))
            return [FeatureNumbers((label_moments(profile, labels, watched=alone),), numbers)]
        refuse_with_labelsets(p)
        if p["label_coding"] == "lp":
            return [LabelsetCounts()]
        return [
            FeatureNumbers((label_moments(profile, labels),), Scatter(1, profile.q, about_all=True))
        ]

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        if p["label_coding"] == "lp":
            sets = known_labelsets(engine)
            low, high = known_range(engine)
            varying = np.flatnonzero(high > low)
            moments = GroupMoments(Classes(sets.hashes, sets.counts), thin(engine.profile))
            (scatter,) = engine.run(FeatureNumbers((moments,), Scatter()))
            return Scores.of_varying(floored_ratio(*scatter)[varying], varying, engine.num_features)
        (numbers,) = engine.run(*self.needs(engine, p))
        if p["label_coding"] == "overlap":
            return Scores(floored_ratio(*numbers))
        scores, varying = numbers[0], np.flatnonzero(numbers[1])
        if not len(varying):  # no label takes both values
            return Scores(np.zeros(engine.num_features))
        return Scores.of_varying(scores[varying], varying, engine.num_features)


class FStatistic(Method):
    """F = (n − q)/(q − 1) · Σ n_l(μ_l − μ)² / Σ_l Σ_{i∈l}(x_i − μ_l)².

        F(f) = max(n − q, 1)/max(q − 1, 1) · Sb/Sw,    Sb = Σ_l n_l (μ_l − μ)²,    Sw = Σ_l Σ_{i∈l}
        (x_i − μ_l)²

    A row counts once for each of its labels, where labels are graded to the degree of its grade;
    unknown labels are not positive ones. The denominator is floored at 1e-12·(Sb + Sw): 0/0 = 0,
    perfect separation 1e12. No scaling would change it. Symbols: x_i the value of feature f, one of
    the v that vary, in row i of n; i ∈ l the n_l rows with label l of q; μ_l their mean; μ = Σ n_l
    μ_l / Σ n_l. Score F (v,), without unit. Raises: `BudgetError` where the sums (labels ×
    features) exceed $budget. It has no parameters. Source: Kong, Ding, Huang & Zhao 2012 (the MLFS
    of Yan & Li 2016). Deviations: factor and denominator are floored; the authors' code divides by
    a sum of unweighted variances: not followed."""

    name = "f-statistic"
    title = "multi-label F statistic"
    source = "Kong et al. 2012"
    when = "numeric features without binning, one pass"
    cost = "one scan"
    statistics = (GroupMoments,)

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        return [
            FeatureNumbers(
                (label_moments(engine.profile, engine.labels()),), Scatter(1, engine.profile.q)
            )
        ]

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        ((between, within),) = engine.run(*self.needs(engine, p))
        q = engine.profile.q
        factor = max(engine.profile.total * engine.profile.weight_unit - q, 1) / max(q - 1, 1)
        return Scores(factor * floored_ratio(between, within))
