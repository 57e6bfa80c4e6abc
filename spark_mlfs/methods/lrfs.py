"""Σ_{l≠l'} I(f; Y_l' | Y_l) − mean_s I(f; s).

    J(f) = A(f) − (1/|S|) Σ_{s∈S} I(f; s)
    A(f) = Σ_{l≠l'} I(f; Y_l' | Y_l), over ordered pairs of labels

Greedy: the first pick maximises A, each further one J; unpicked features follow by A. Constant
labels are left out. Where one label varies, or every row has one of two, A(f) = I(f; Y).
Symbols: $two; $plugin, A over the rows whose labels are all known. Score A (v,); value of a pick J.
Raises: $pairs.
Source: Zhang, Liu & Gao, "Distinguishing two types of labels for multi-label feature selection",
2019.
Deviations: none; unknown labels are an addition."""

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
        profile = counting.engine.profile
        if profile.one_class:
            relevance = counting.relevance / profile.q
        else:
            relevance = counting.label_pairs(tuple(range(profile.q)))[1]
        return Criterion(
            relevance,
            lambda s, conditional, pair: pair,
            lambda total, picks: relevance - total / picks,
            Everything(),
        )
