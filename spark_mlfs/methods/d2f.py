"""D2F: relevance less interaction with the picked features.

R(f) − Σ_{s∈S} Σ_l co(f, s, l), co(f, s, l) = I(f; Y_l) − I(f; Y_l | s). First pick: the argmax of R.
Source: Lee & Kim, "Mutual information-based multi-label feature selection using interaction information", 2015.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.base import Engine
from .base import Scores
from .counting import Counting, CountingMethod


class D2F(CountingMethod):
    """R(f) − Σ_s Σ_l co(f, s, l): relevance less what the picked features already tell."""

    name = "d2f"
    title = "relevance less three-way interaction with the picked features"
    source = "Lee & Kim 2015"
    greedy = True

    def score(self, engine: Engine, p: Mapping[str, Any], count: int) -> Scores:
        counting = Counting(engine, p)
        relevance = counting.relevance
        interaction = np.zeros(engine.num_features)

        def absorb(s: int, conditional: np.ndarray, pair: np.ndarray) -> None:
            interaction[:] += relevance - conditional

        return counting.select(relevance, lambda picks: relevance - interaction, absorb, count)
