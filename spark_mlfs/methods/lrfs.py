"""LRFS: label redundancy.

Σ_{l≠l'} I(f; Y_l' | Y_l) − mean_{s∈S} I(f; s), ordered pairs. First pick: the argmax of the first sum.
Source: Zhang, Liu & Gao, "Distinguishing two types of labels for multi-label feature selection", 2019.
With unknown labels the first sum is counted over the rows whose labels are all known.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.base import Engine
from ..statistics.contingency import Everything
from .base import Scores
from .counting import Counting, CountingMethod


class LRFS(CountingMethod):
    """Σ_{l≠l'} I(f; Y_l' | Y_l) − mean_s I(f; s)."""

    name = "lrfs"
    title = "relevance conditioned on the other labels"
    source = "Zhang et al. 2019"
    greedy = True

    def score(self, engine: Engine, p: Mapping[str, Any], count: int) -> Scores:
        counting = Counting(engine, p)
        own = counting.label_pairs(tuple(range(engine.profile.q)))[1]
        redundancy = np.zeros(engine.num_features)

        def absorb(s: int, conditional: np.ndarray, pair: np.ndarray) -> None:
            redundancy[:] += pair

        return counting.select(own, lambda picks: own - redundancy / picks, absorb, count, Everything())
