"""PMU: multivariate mutual information truncated at three variables.

R(f) − Σ_{s∈S} Σ_l co(f, s, l) − Σ_{l<l'} co(f, l, l'). First pick: the argmax of R − Q, Q(f) = Σ_{l<l'} co(f, l, l').
Source: Lee & Kim, "Feature selection for multi-label classification using multivariate mutual information", 2013.
With unknown labels Q is counted over the rows whose labels are all known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.base import Engine
from .base import Scores
from .counting import Counting, CountingMethod


class PMU(CountingMethod):
    """R(f) − Σ_s Σ_l co(f, s, l) − Σ_{l<l'} co(f, l, l')."""

    name = "pmu"
    title = "multivariate mutual information up to three variables"
    source = "Lee & Kim 2013"
    greedy = True

    def score(self, engine: Engine, p: Mapping[str, Any], count: int) -> Scores:
        counting = Counting(engine, p)
        relevance = counting.relevance
        own = relevance - counting.label_pairs(tuple(range(engine.profile.q)))[0]
        interaction = np.zeros(engine.num_features)

        def absorb(s: int, conditional: np.ndarray, pair: np.ndarray) -> None:
            interaction[:] += relevance - conditional

        return counting.select(own, lambda picks: own - interaction, absorb, count)
