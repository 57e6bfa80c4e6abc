"""R(f)·(1 − Σ_s I(f; s)/H(f)): the redundancy is label-free.

    J(f) = R(f)·(1 − Σ_{s∈S} I(f; s)/H(f)),    R(f) = Σ_l I(f; Y_l)

Greedy: the first pick maximises R, each further one J; unpicked features follow by R.
Symbols: $two; $plugin, with Y_l over the rows where label l is known; H entropy, as I. A feature
that falls into one bin has H = 0 and J = R = 0. Score R (v,); value of a pick J.
Raises: $counts; $range.
Source: Lee & Kim, "SCLS: Multi-label feature selection based on scalable criterion for large label
set", 2017.
Deviations: none; unknown labels are an addition."""

from __future__ import annotations

import numpy as np

from ..statistics.targets import Everything
from .counting import BY_LABEL, Counting, Criterion, GreedyCountingMethod


class SCLS(GreedyCountingMethod):
    """R(f)·(1 − Σ_s I(f; s)/H(f)): the redundancy is label-free."""

    name = "scls"
    title = "relevance scaled by label-free redundancy"
    source = "Lee & Kim 2017"
    when = "very many labels: what features repeat is measured without them"
    cost = "one pair count a pick"
    parameters = BY_LABEL

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        relevance = counting.relevance
        entropy = counting.entropy

        def term(s: int, conditional: np.ndarray, pair: np.ndarray) -> np.ndarray:
            # a varying feature may still fall into one bin: it tells nothing and scores 0
            return np.divide(pair, entropy, out=np.zeros_like(pair), where=entropy > 0)

        return Criterion(
            relevance, term, lambda share, picks: relevance * (1 - share), Everything()
        )
