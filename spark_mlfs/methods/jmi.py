"""JMI: joint mutual information.

Greedy: the first pick maximises R (MIM); then J(f) = Σ_{s∈S} Σ_l I((f, s); Y_l) (``labels="br"``, Eq. 8) or Σ_s I((f,
s); labelset) (``"lp"``, Eq. 6). By the chain rule I((f, s); Y) = I(s; Y) + I(f; Y | s), so each pick adds one
three-way count. Unpicked features follow by R.
Source: Sechidis, Nikolaou & Brown 2014 (there "X: partial").
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.base import Engine
from .base import Scores
from .counting import COUNTING, LABELS, Counting, CountingMethod


class JMI(CountingMethod):
    """Joint mutual information: J(f) = Σ_{s∈S} Σ_l I((f, s); Y_l), or with the labelset as one class."""

    name = "jmi"
    title = "joint mutual information with the picked features"
    source = "Sechidis et al. 2014, Eq. 6 and 8"
    parameters = (*COUNTING, LABELS)
    greedy = True

    def score(self, engine: Engine, p: Mapping[str, Any], count: int) -> Scores:
        counting = Counting(engine, p)
        relevance = counting.relevance
        total = np.zeros(engine.num_features)

        def absorb(s: int, conditional: np.ndarray, pair: np.ndarray) -> None:
            total[:] += relevance[s] + conditional

        return counting.select(relevance, lambda picks: total, absorb, count)
