"""Fisher score Σ_c n_c(μ_c − μ)² / Σ_c n_c var_c, mean over labels; or over overlapping labels, or
labelsets.

    s(f; classes) = Σ_c n_c (μ_c − μ)² / Σ_c n_c σ²_c
    label_coding="br"        (1/|L|) Σ_{l∈L} s(f; l, not l)
    label_coding="overlap"   s(f; 1, …, q), the labels as classes that share rows
    label_coding="lp"        s(f; the labelsets)

Under "br" s = r²/(1 − r²), r the correlation with the label. Denominators are floored at
1e-12·(numerator + denominator): 0/0 = 0, perfect separation 1e12. Scale invariant, so no scaling is
applied. Where labels are graded a row of grade g is g of a row with the label and 1 − g of one
without it.
Symbols: f one of the v features that vary; n_c, μ_c, σ²_c rows, mean and population variance of f
in class c; μ the mean of all n rows; L the labels of q that take both values; rows are those where
the label, or under "lp" all, are known. Score (v,).
Raises: `BudgetError` where the sums (labels or labelsets × features) exceed $budget; under "lp"
$unlabelled; $range.
Source: Gu, Li & Han 2011 (the score of one class label).
Deviations: the three ways to many labels are ours: the source has one label."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from ..engine.base import Engine
from ..kernels.sparse_counts import PairMoments
from ..params import Choice, Parameter, Values
from ..solvers.scatter import class_scatter, floored_ratio, stored_two_class_ratio
from ..statistics.base import FeatureNumbers, Reduction, Statistic
from ..statistics.labelsets import LabelsetCounts
from ..statistics.moments import GroupMoments, KnownRows, Moments, known_range, label_moments, thin
from ..statistics.targets import Classes
from .base import Method, Scores
from .counting import known_labelsets
from .label_settings import LABEL_WEIGHTS, label_weights, refuse_with_labelsets
from .scatter import Scatter, moment_numbers, run_moment_numbers


@dataclass(frozen=True)
class LabelRatios(Reduction):
    """The mean over the labels of the ratio of scatters, and whether a feature varies.

    `watch`: the labels that are unknown in some rows."""

    watch: tuple[int, ...]
    weights: ndarray | None

    def __call__(self, m: Moments | PairMoments) -> ndarray:
        if isinstance(m, PairMoments):
            return np.stack(stored_two_class_ratio(m))
        q = len(m.count) - 1 - len(self.watch)
        rows = self._over_known(m.count, q)
        total = self._over_known(m.total, q)
        square = self._over_known(m.square, q)
        ratios = []
        labels = []  # that take both values
        varies = np.zeros(m.total.shape[1], bool)
        for label in range(q):
            group = 1 + label
            n = np.array([m.count[group], rows[label] - m.count[group]])
            if n.min() == 0:
                continue
            sums = np.stack([m.total[group], total[label] - m.total[group]])
            squares = np.stack([m.square[group], square[label] - m.square[group]])
            between, within = class_scatter(n, sums, squares)
            varies |= between + within > 0
            ratios.append(floored_ratio(between, within))
            labels.append(label)
        if not labels:
            return np.zeros((2, len(varies)))
        if self.weights is None:
            return np.stack([np.mean(ratios, axis=0), varies])
        weights = self.weights[labels]
        weighted_sum = (np.array(ratios) * weights[:, None]).sum(axis=0)
        mean = weighted_sum / max(float(weights.sum()), np.finfo(float).tiny)
        return np.stack([mean, varies])

    def _over_known(self, sums: ndarray, q: int) -> ndarray:
        """Return (q, …) sums over the rows in which each label is known."""
        known = np.repeat(sums[:1], q, axis=0)
        known[list(self.watch)] -= sums[1 + q :]
        return known


class Fisher(Method):
    """Fisher score Σ_c n_c(μ_c − μ)² / Σ_c n_c var_c, mean over labels; or over overlapping labels,
    or labelsets."""

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
        profile = engine.profile
        labels = engine.labels()
        if p["label_coding"] == "br":
            watched = profile.has_unknown or p["label_weights"] != "uniform"
            ratios = LabelRatios(labels.watch, label_weights(profile, p))
            return [moment_numbers(label_moments(profile, labels, watched=watched), ratios)]
        refuse_with_labelsets(p)
        if p["label_coding"] == "lp":
            return [LabelsetCounts()]
        scatter = Scatter(1, profile.q, about_all=True)
        return [moment_numbers(label_moments(profile, labels), scatter)]

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        if p["label_coding"] == "lp":
            sets = known_labelsets(engine)
            low, high = known_range(engine)
            varying = np.flatnonzero(high > low)
            moments = GroupMoments(Classes(sets.hashes, sets.counts), thin(engine.profile))
            (scatter,) = engine.run(FeatureNumbers((moments,), Scatter()))
            return Scores.of_varying(floored_ratio(*scatter)[varying], varying, engine.num_features)
        numbers = run_moment_numbers(engine, *self.needs(engine, p))
        if p["label_coding"] == "overlap":
            return Scores(floored_ratio(*numbers))
        scores, varies = numbers
        varying = np.flatnonzero(varies)
        if not len(varying):  # no label takes both values
            return Scores(np.zeros(engine.num_features))
        return Scores.of_varying(scores[varying], varying, engine.num_features)
