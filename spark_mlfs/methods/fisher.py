"""Fisher score.

    label_coding="br"        (1/|L|) Σ_{l∈L} s(f; l, not l),    s(f; classes) = Σ_c n_c (μ_c − μ)² / Σ_c n_c σ²_c
    label_coding="overlap"   s(f; 1, …, q), the labels as classes that share rows
    label_coding="lp"        s(f; the labelsets)

Under "br" s = r²/(1 − r²), r the correlation with the label. Denominators are floored at 1e-12·(numerator + denominator):
0/0 = 0, perfect separation 1e12. Scale invariant, so no scaling is applied. Where labels are graded a row of grade g is g of a
row with the label and 1 − g of one without it.
Symbols: f one of the v features that vary; n_c, μ_c, σ²_c rows, mean and population variance of f in class c; μ the mean of all
n rows; L the labels of q that take both values; under "br" label l's rows are those where it is known, under "lp" those where
all are. Score (v,), without unit.
Raises: `BudgetError` where the sums (labels or labelsets × features) exceed ``driverBytes``, or a worker's share
``workerBytes``; `DataError` where ``label_coding="lp"`` and no row has all its labels known; `ParameterError` where
``label_coding`` is none of the three.
Source: Gu, Li & Han 2011 (the score of one class label).
Deviations: the three ways to many labels are ours: the source has one label.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from ..engine.base import Engine
from ..params import Choice, Parameter
from ..solvers.scatter import class_scatter, floored_ratio, overlapping_scatter, stored_scatter, stored_two_class_ratio
from ..statistics.base import Statistic
from ..statistics.labelsets import LabelsetCounts
from ..statistics.moments import GroupMoments, MomentsNumbers, PairMoments, known_range, label_units, thin
from ..statistics.targets import Classes, Labels
from .base import Method, Scores
from .counting import known_labelsets
from .labels import LABEL_WEIGHTS, label_weights, refuse_with_labelsets


@dataclass(frozen=True)
class StoredFisher:
    """Score of sparse features, and whether they vary."""

    labels: str

    def key(self) -> Hashable:
        return "fisher", self.labels

    def __call__(self, moments: PairMoments) -> np.ndarray:
        rows = moments.rows
        if self.labels == "br":
            return np.stack(stored_two_class_ratio(moments, rows.positive, rows.case, rows.distinct, rows.labels, rows.n))
        centre = moments.all_total / rows.n if self.labels == "overlap" else None
        scores = floored_ratio(*stored_scatter(rows.positive, moments, centre))
        return np.stack([scores, np.ones(moments.count)])


class Fisher(Method):
    """Fisher score Σ_c n_c(μ_c − μ)² / Σ_c n_c var_c, mean over labels; or over overlapping labels, or labelsets."""

    name = "fisher"
    title = "Fisher score"
    source = "Gu, Li & Han 2011"
    when = "numeric features without binning, one pass; overlapping labels by its parameter label_coding"
    cost = "one scan"
    weighted = True
    graded = True
    parameters = (
        Parameter(
            "label_coding", "br", Choice(("br", "overlap", "lp")), "mean over labels, overlapping labels, or labelsets", "labels"
        ),
        LABEL_WEIGHTS,
    )

    def takes_grades(self, p: Mapping[str, Any]) -> bool:
        return p["label_coding"] != "lp"

    def needs(self, engine: Engine, p: Mapping[str, Any]) -> list[Statistic]:
        if p["label_coding"] != "br":
            refuse_with_labelsets(p)
        if p["label_coding"] == "lp":
            return [LabelsetCounts()]
        profile, single = engine.profile, p["label_coding"] == "br"
        if thin(profile) and not (single and (profile.has_unknown or p["label_weights"] != "uniform")):
            return [MomentsNumbers(Labels(profile.q), label_units(profile), StoredFisher(p["label_coding"]))]
        return [GroupMoments(engine.labels())]

    def score(self, engine: Engine, p: Mapping[str, Any], count: int) -> Scores:
        if p["label_coding"] == "lp":
            sets = known_labelsets(engine)
            low, high = known_range(engine)
            varying = np.flatnonzero(high > low)
            if thin(engine.profile):
                (found,) = engine.run(MomentsNumbers(Classes(sets.hashes), sets.counts, StoredFisher("lp")))
                return Scores.of_varying(found[0][varying], varying, engine.num_features)
            (m,) = engine.run(GroupMoments(Classes(sets.hashes)))
            scores = floored_ratio(*class_scatter(m.count, m.total[:, varying], m.square[:, varying]))
            return Scores.of_varying(scores, varying, engine.num_features)
        (statistic,) = self.needs(engine, p)
        (m,) = engine.run(statistic)
        if statistic.sharded:
            varying = np.flatnonzero(m[1])
            if not len(varying):  # no label takes both values
                return Scores(np.zeros(engine.num_features))
            return Scores.of_varying(m[0][varying], varying, engine.num_features)
        q = engine.profile.q
        part = slice(1, 1 + q)
        if p["label_coding"] == "overlap":
            mean = m.total[0] / m.count[0]
            return Scores(floored_ratio(*overlapping_scatter(m.count[part], m.total[part], m.square[part], mean)))
        rows, total, square = (np.repeat(each[:1], q, axis=0) for each in (m.count, m.total, m.square))
        watch = list(engine.labels().watch)
        for all_, each in ((rows, m.count), (total, m.total), (square, m.square)):
            all_[watch] -= each[1 + q :]
        ratios, used, varies = [], [], np.zeros(engine.num_features, bool)
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
            return Scores(np.zeros(engine.num_features))
        varying = np.flatnonzero(varies)
        weights = label_weights(engine.profile, p)
        if weights is None:
            mean = np.mean(ratios, axis=0)
        else:
            weights = weights[used]
            mean = (np.array(ratios) * weights[:, None]).sum(axis=0) / max(float(weights.sum()), np.finfo(float).tiny)
        return Scores.of_varying(mean[varying], varying, engine.num_features)
