"""R(f) − Σ_s Σ_l co(f, s, l) − Σ_{l<l'} co(f, l, l').

    J(f) = R(f) − Σ_{s∈S} Σ_l co(f, s, l) − Q(f)
    R(f) = Σ_l I(f; Y_l),    Q(f) = Σ_{l<l'} co(f, l, l')
    co(f, s, l) = I(f; Y_l) − I(f; Y_l | s),         co(f, l, l') = I(f; Y_l) − I(f; Y_l | Y_l')

Greedy: the first pick maximises R − Q, each further one J; unpicked features follow by R − Q. co is
the interaction information.
Symbols: $two; $plugin, over rows where label l is known, in Q where all are. Score R − Q (v,);
value of a pick J.
Raises: $pairs.
Source: Lee & Kim, "Feature selection for multi-label classification using multivariate mutual
information", 2013.
Deviations: none; unknown labels are an addition."""

from __future__ import annotations

from .counting import Counting, Criterion, GreedyCountingMethod


class PMU(GreedyCountingMethod):
    """R(f) − Σ_s Σ_l co(f, s, l) − Σ_{l<l'} co(f, l, l')."""

    name = "pmu"
    title = "multivariate mutual information up to three variables"
    source = "Lee & Kim 2013"
    when = "pairs of labels that a feature tells together"
    cost = "as `jmi`, and label pairs"

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        relevance = counting.relevance
        labels = tuple(range(counting.engine.profile.q))
        first = relevance - counting.label_pairs(labels)[0]
        return Criterion(
            first,
            lambda s, conditional, pair: relevance - conditional,
            lambda total, picks: first - total,
        )
