"""Between- over within-class scatter of single features."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..engine.base import Engine
from ..kernels.information import PairMoments
from ..params import Choice, Parameter, Values
from ..solvers.scatter import class_scatter, floored_ratio, stored_scatter, stored_two_class_ratio
from ..statistics.base import FeatureNumbers, Reduction, Statistic
from ..statistics.labelsets import LabelsetCounts
from ..statistics.moments import GroupMoments, KnownRows, Moments, known_range, label_moments, thin
from ..statistics.targets import Classes
from .base import Method, Scores
from .counting import known_labelsets
from .labels import LABEL_WEIGHTS, label_weights, refuse_with_labelsets


@dataclass(frozen=True)
class FisherScores(Reduction):
    """Score, and whether a feature varies (under "lp" of the `varying` alone); `watch` the labels some rows do not know."""

    labels: str
    watch: tuple[int, ...] = ()
    weights: np.ndarray | None = None
    varying: np.ndarray | None = None

    def __call__(self, moments: Moments | PairMoments) -> np.ndarray:
        if isinstance(moments, PairMoments):
            return self._of_stored(moments)
        if self.labels == "br":
            return self._of_each(moments)
        out = np.ones((2, moments.total.shape[1]))
        if self.labels == "lp":
            some = self.varying
            out[0, some] = floored_ratio(*class_scatter(moments.count, moments.total[:, some], moments.square[:, some]))
            return out
        part = slice(1, len(moments.count) - len(self.watch))  # group 0 is all rows
        mean = moments.total[0] / moments.count[0]
        out[0] = floored_ratio(*class_scatter(moments.count[part], moments.total[part], moments.square[part], mean))
        return out

    def _of_stored(self, moments: PairMoments) -> np.ndarray:
        if self.labels == "br":
            return np.stack(stored_two_class_ratio(moments))
        centre = moments.all_total / moments.rows.n if self.labels == "overlap" else None
        return np.stack([floored_ratio(*stored_scatter(moments, centre)), np.ones(moments.count)])

    def _of_each(self, m: Moments) -> np.ndarray:
        """Of every label by itself, and the mean."""
        q, watch = len(m.count) - 1 - len(self.watch), list(self.watch)
        rows, total, square = (np.repeat(each[:1], q, axis=0) for each in (m.count, m.total, m.square))
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
        mean = (np.array(ratios) * weights[:, None]).sum(axis=0) / max(float(weights.sum()), np.finfo(float).tiny)
        return np.stack([mean, varies])


class Fisher(Method):
    """Fisher score Σ_c n_c(μ_c − μ)² / Σ_c n_c var_c, mean over labels; or over overlapping labels, or labelsets.

        label_coding="br"        (1/|L|) Σ_{l∈L} s(f; l, not l),    s(f; classes) = Σ_c n_c (μ_c − μ)² / Σ_c n_c σ²_c
        label_coding="overlap"   s(f; 1, …, q), the labels as classes that share rows
        label_coding="lp"        s(f; the labelsets)

    Under "br" s = r²/(1 − r²), r the correlation with the label. Denominators are floored at 1e-12·(numerator + denominator): 0/0
    = 0, perfect separation 1e12. Scale invariant, so no scaling is applied. Where labels are graded a row of grade g is g of a
    row with the label and 1 − g of one without it.
    Symbols: f one of the v features that vary; n_c, μ_c, σ²_c rows, mean and population variance of f in class c; μ the mean of
    all n rows; L the labels of q that take both values; rows are those where the label, or under "lp" all, are known. Score (v,).
    Raises: `BudgetError` where the sums (labels or labelsets × features) exceed $budget; under "lp" $unlabelled; $range.
    Source: Gu, Li & Han 2011 (the score of one class label).
    Deviations: the three ways to many labels are ours: the source has one label."""

    name = "fisher"
    title = "Fisher score"
    source = "Gu, Li & Han 2011"
    when = "numeric features without binning, one pass; overlapping labels by its parameter label_coding"
    cost = "one scan"
    statistics = (GroupMoments, LabelsetCounts, KnownRows)
    parameters = (
        Parameter("label_coding", "br", Choice(("br", "overlap", "lp")), "mean over labels, overlapping labels, or labelsets"),
        LABEL_WEIGHTS,
    )

    def takes_grades(self, p: Values) -> bool:
        return p["label_coding"] != "lp"

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        if p["label_coding"] != "br":
            refuse_with_labelsets(p)
        if p["label_coding"] == "lp":
            return [LabelsetCounts()]
        profile, weights = engine.profile, label_weights(engine.profile, p) if p["label_coding"] == "br" else None
        alone = p["label_coding"] == "br" and (profile.has_unknown or p["label_weights"] != "uniform")
        moments = label_moments(profile, engine.labels(), watched=alone)
        return [FeatureNumbers((moments,), FisherScores(p["label_coding"], engine.labels().watch, weights))]

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        if p["label_coding"] == "lp":
            sets = known_labelsets(engine)
            low, high = known_range(engine)
            varying = np.flatnonzero(high > low)
            moments = GroupMoments(Classes(sets.hashes, sets.counts), thin(engine.profile))
            (numbers,) = engine.run(FeatureNumbers((moments,), FisherScores("lp", varying=varying)))
            return Scores.of_varying(numbers[0][varying], varying, engine.num_features)
        ((scores, varies),) = engine.run(*self.needs(engine, p))
        varying = np.flatnonzero(varies)
        if not len(varying):  # no label takes both values
            return Scores(np.zeros(engine.num_features))
        return Scores.of_varying(scores[varying], varying, engine.num_features)


@dataclass(frozen=True)
class BetweenWithin(Reduction):
    """Sb and Sw over `q` labels."""

    q: int

    def __call__(self, moments: Moments | PairMoments) -> np.ndarray:
        if isinstance(moments, PairMoments):
            return np.stack(stored_scatter(moments))
        part = slice(1, 1 + self.q)  # group 0 is all rows
        return np.stack(class_scatter(moments.count[part], moments.total[part], moments.square[part]))


class FStatistic(Method):
    """F = (n − q)/(q − 1) · Σ n_l(μ_l − μ)² / Σ_l Σ_{i∈l}(x_i − μ_l)².

        F(f) = max(n − q, 1)/max(q − 1, 1) · Sb/Sw,    Sb = Σ_l n_l (μ_l − μ)²,    Sw = Σ_l Σ_{i∈l} (x_i − μ_l)²

    A row counts once for each of its labels, where labels are graded to the degree of its grade; unknown labels are not positive
    ones. The denominator is floored at 1e-12·(Sb + Sw): 0/0 = 0, perfect separation 1e12. No scaling would change it.
    Symbols: x_i the value of feature f, one of the v that vary, in row i of n; i ∈ l the n_l rows with label l of q; μ_l their
    mean; μ = Σ n_l μ_l / Σ n_l. Score F (v,), without unit.
    Raises: `BudgetError` where the sums (labels × features) exceed $budget. It has no parameters.
    Source: Kong, Ding, Huang & Zhao 2012 (the MLFS of Yan & Li 2016).
    Deviations: factor and denominator are floored; the authors' code divides by a sum of unweighted variances: not followed."""

    name = "f-statistic"
    title = "multi-label F statistic"
    source = "Kong et al. 2012"
    when = "numeric features without binning, one pass"
    cost = "one scan"
    statistics = (GroupMoments,)

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        return [FeatureNumbers((label_moments(engine.profile, engine.labels()),), BetweenWithin(engine.profile.q))]

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        ((between, within),) = engine.run(*self.needs(engine, p))
        q = engine.profile.q
        factor = max(engine.profile.total * engine.profile.weight_unit - q, 1) / max(q - 1, 1)
        return Scores(factor * floored_ratio(between, within))
