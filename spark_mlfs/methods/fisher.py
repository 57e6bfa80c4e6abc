"""Fisher score.

``labels="br"`` (default): per label with the classes {in, out}, Σ_c n_c(μ_c − μ)² / Σ_c n_c var_c over the rows where the label
is known, mean over the labels that take both values; equals r²/(1 − r²) per label. ``"overlap"``: the labels as overlapping
classes around the global mean.
``"lp"``: the labelsets as classes. Denominators floored at 1e-12·(numerator + denominator). Source: Gu, Li & Han 2011.
Scale invariant, so no scaling is applied.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.base import Engine
from ..params import Choice, Parameter
from ..solvers.scatter import class_scatter, floored_ratio, overlapping_scatter
from ..statistics.base import Statistic
from ..statistics.contingency import Classes, LabelsetCounts
from ..statistics.moments import GroupMoments, known_range
from .base import Method, Scores


class Fisher(Method):
    """Fisher score Σ_c n_c(μ_c − μ)² / Σ_c n_c var_c, mean over labels; or over overlapping labels, or labelsets."""

    name = "fisher"
    title = "Fisher score"
    source = "Gu, Li & Han 2011"
    parameters = (
        Parameter("labels", "br", Choice(("br", "overlap", "lp")), "mean over labels, overlapping labels, or labelsets"),
    )

    def needs(self, engine: Engine, p: Mapping[str, Any]) -> list[Statistic]:
        return [LabelsetCounts()] if p["labels"] == "lp" else [GroupMoments(engine.labels())]

    def score(self, engine: Engine, p: Mapping[str, Any], count: int) -> Scores:
        if p["labels"] == "lp":
            (sets,) = engine.run(LabelsetCounts())
            (m,) = engine.run(GroupMoments(Classes(sets.hashes)))
            low, high = known_range(engine)
            varying = np.flatnonzero(high > low)
            scores = floored_ratio(*class_scatter(m.count, m.total[:, varying], m.square[:, varying]))
            return Scores.of_varying(scores, varying, engine.num_features)
        (m,) = engine.run(*self.needs(engine, p))
        q = engine.profile.q
        part = slice(1, 1 + q)
        if p["labels"] == "overlap":
            mean = m.total[0] / m.count[0]
            return Scores(floored_ratio(*overlapping_scatter(m.count[part], m.total[part], m.square[part], mean)))
        rows, total, square = (np.repeat(each[:1], q, axis=0) for each in (m.count, m.total, m.square))
        watch = list(engine.labels().watch)
        for all_, each in ((rows, m.count), (total, m.total), (square, m.square)):
            all_[watch] -= each[1 + q :]
        scores, varies = [], np.zeros(engine.num_features, bool)
        for label in range(q):
            n = np.array([m.count[1 + label], rows[label] - m.count[1 + label]])
            if n.min() == 0:
                continue
            sums = np.stack([m.total[1 + label], total[label] - m.total[1 + label]])
            squares = np.stack([m.square[1 + label], square[label] - m.square[1 + label]])
            between, within = class_scatter(n, sums, squares)
            varies |= between + within > 0
            scores.append(floored_ratio(between, within))
        varying = np.flatnonzero(varies)
        return Scores.of_varying(np.mean(scores, axis=0)[varying], varying, engine.num_features)
