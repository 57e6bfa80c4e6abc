"""MDMR: maximum dependency, minimum redundancy.

R(f) − mean_{s∈S} [I(f; s) − Σ_l I(f; Y_l | s)]. First pick: the argmax of R.
Source: Lin, Hu, Liu & Duan, "Multi-label feature selection based on max-dependency and min-redundancy", 2015.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.base import Engine
from .base import Scores
from .counting import Counting, CountingMethod


class MDMR(CountingMethod):
    """R(f) − mean_s [I(f; s) − Σ_l I(f; Y_l | s)]."""

    name = "mdmr"
    title = "maximum dependency, minimum redundancy"
    source = "Lin et al. 2015"
    greedy = True

    def score(self, engine: Engine, p: Mapping[str, Any], count: int) -> Scores:
        counting = Counting(engine, p)
        relevance = counting.relevance
        redundancy = np.zeros(engine.num_features)

        def absorb(s: int, conditional: np.ndarray, pair: np.ndarray) -> None:
            redundancy[:] += pair - conditional

        return counting.select(relevance, lambda picks: relevance - redundancy / picks, absorb, count)
