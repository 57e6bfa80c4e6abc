"""LRFS: label redundancy.

    J(f) = A(f) − (1/|S|) Σ_{s∈S} I(f; s),    A(f) = Σ_{l≠l'} I(f; Y_l' | Y_l), over ordered pairs of labels

Greedy: the first pick maximises A, each further one J; unpicked features follow by A.
Symbols: f, s ∈ {0, …, b − 1} features that vary (v of them), discretised into b ≤ ``num_bins`` bins; S the picked ones;
Y_l ∈ {0, 1} label l of q; I plug-in mutual information in nats (Miller–Madow on request), A over the rows whose labels are all
known. Score A (v,); value of a pick J.
Raises: `DataError` where every row has an unknown label; `BudgetError` where the counts, or the q(q − 1)/2 pairs of labels of
one feature, exceed ``driverBytes`` or a worker's share ``workerBytes``; `ParameterError` where a parameter is out of its range.
Source: Zhang, Liu & Gao, "Distinguishing two types of labels for multi-label feature selection", 2019.
Deviations: none; unknown labels are an addition.
"""

from __future__ import annotations

from ..statistics.targets import Everything
from .counting import Counting, Criterion, GreedyCountingMethod


class LRFS(GreedyCountingMethod):
    """Σ_{l≠l'} I(f; Y_l' | Y_l) − mean_s I(f; s)."""

    name = "lrfs"
    title = "relevance conditioned on the other labels"
    source = "Zhang et al. 2019"
    when = "strongly dependent labels: what a feature says beyond the other labels"
    cost = "pair counts, and label pairs"

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        own = counting.label_pairs(tuple(range(counting.engine.profile.q)))[1]
        return Criterion(own, lambda s, conditional, pair: pair, lambda total, picks: own - total / picks, Everything())
