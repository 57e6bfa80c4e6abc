"""R(f) − mean_s [I(f; s) − Σ_l I(f; Y_l | s)].

    J(f) = R(f) − (1/|S|) Σ_{s∈S} [I(f; s) − Σ_l I(f; Y_l | s)],    R(f) = Σ_l I(f; Y_l)

Greedy: the first pick maximises R, each further one J; unpicked features follow by R.
Symbols: $two; $plugin, with Y_l over the rows where label l is known. Score R (v,); value of a pick
J.
Raises: $counts; $range.
Source: Lin, Hu, Liu & Duan, "Multi-label feature selection based on max-dependency and
min-redundancy", 2015.
Deviations: none; unknown labels are an addition."""

from __future__ import annotations

from .counting import BY_LABEL, Counting, Criterion, GreedyCountingMethod


class MDMR(GreedyCountingMethod):
    """R(f) − mean_s [I(f; s) − Σ_l I(f; Y_l | s)]."""

    name = "mdmr"
    title = "maximum dependency, minimum redundancy"
    source = "Lin et al. 2015"
    when = "as jmi, where repetition counts as far as it is not about the labels"
    cost = "as `jmi`"
    parameters = BY_LABEL

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        relevance = counting.relevance
        return Criterion(
            relevance,
            lambda s, link, pair: pair - link,
            lambda total, picks: relevance - total / picks,
        )
