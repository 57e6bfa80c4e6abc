"""R(f) − Σ_s Σ_l co(f, s, l): relevance less what the picked features already tell.

    J(f) = R(f) − Σ_{s∈S} Σ_l co(f, s, l)
    R(f) = Σ_l I(f; Y_l),    co(f, s, l) = I(f; Y_l) − I(f; Y_l | s)

Greedy: the first pick maximises R, each further one J; unpicked features follow by R.
Symbols: $two; $plugin, over the rows where label l is known; co the interaction information of
three variables. Score R (v,); value of a pick J, negative where the picks tell more than f adds.
Raises: $counts; $range.
Source: Lee & Kim, "Mutual information-based multi-label feature selection using interaction
information", 2015.
Deviations: none; unknown labels are an addition."""

from __future__ import annotations

from .counting import BY_LABEL, Counting, Criterion, GreedyCountingMethod


class D2F(GreedyCountingMethod):
    """R(f) − Σ_s Σ_l co(f, s, l): relevance less what the picked features already tell."""

    name = "d2f"
    title = "relevance less three-way interaction with the picked features"
    source = "Lee & Kim 2015"
    when = "as jmi, where repetition shall count more"
    cost = "as `jmi`"
    parameters = BY_LABEL

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        relevance = counting.relevance
        return Criterion(
            relevance,
            lambda s, conditional, pair: relevance - conditional,
            lambda total, picks: relevance - total,
        )
