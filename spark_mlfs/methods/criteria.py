"""Greedy criteria over counts: what the first pick maximises, what a pick adds to a sum, and how the sum is read."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..statistics.targets import Everything, Labels
from .counting import BY_LABEL, CODED, Counting, Criterion, GreedyCountingMethod


class D2F(GreedyCountingMethod):
    """R(f) − Σ_s Σ_l co(f, s, l): relevance less what the picked features already tell.

        J(f) = R(f) − Σ_{s∈S} Σ_l co(f, s, l),    R(f) = Σ_l I(f; Y_l),    co(f, s, l) = I(f; Y_l) − I(f; Y_l | s)

    Greedy: the first pick maximises R, each further one J; unpicked features follow by R.
    Symbols: $two; $plugin, over the rows where label l is known; co the interaction information of three variables. Score R (v,);
    value of a pick J, negative where the picks tell more than f adds.
    Raises: $counts; $range.
    Source: Lee & Kim, "Mutual information-based multi-label feature selection using interaction information", 2015.
    Deviations: none; unknown labels are an addition."""

    name = "d2f"
    title = "relevance less three-way interaction with the picked features"
    source = "Lee & Kim 2015"
    when = "as jmi, where repetition shall count more"
    cost = "as `jmi`"
    parameters = BY_LABEL

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        relevance = counting.relevance
        return Criterion(relevance, lambda s, conditional, pair: relevance - conditional, lambda total, picks: relevance - total)


class JMI(GreedyCountingMethod):
    """Joint mutual information: J(f) = Σ_{s∈S} Σ_l I((f, s); Y_l), or with the labelset as one class.

        label_coding="br"   J(f) = Σ_{s∈S} Σ_l I((f, s); Y_l)
        label_coding="lp"   J(f) = Σ_{s∈S} I((f, s); Y)

    Greedy: the first pick maximises R(f) = Σ_l I(f; Y_l) or I(f; Y), as `mim`; each further one J. By the chain rule I((f, s);
    Y) = I(s; Y) + I(f; Y | s), so a pick adds one three-way count. With ``label_noise`` I((f, s); Y_l) is that of the corrected
    counts of the joint value. Unpicked features follow by R.
    Symbols: $two; Y the labelset as one class of m, the empty one included; $plugin, for label l over the rows where it is known,
    for Y over those where all are. Score R (v,); value of a pick: R of the first, J of the others; where features have costs, of
    the others the mean over S of I(f; Y | s), which orders them as J does and is what f adds.
    Raises: $coded.
    Source: Sechidis, Nikolaou & Brown 2014, Eq. 8 (br) and Eq. 6 (lp); there "X: partial".
    Deviations: none. The paper leaves the first pick open; here it is that of MIM."""

    name = "jmi"
    title = "joint mutual information with the picked features"
    source = "Sechidis et al. 2014, Eq. 6 and 8"
    when = "no idea yet: relevant features that do not repeat each other"
    cost = "one three-way count a pick, in batches"
    parameters = CODED

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        relevance, alone, noisy = counting.relevance, np.zeros(counting.engine.num_features), None
        # of counts that are clipped the chain rule does not hold
        if isinstance(counting.target, Labels) and counting.target.noise:
            alone, noisy = relevance, replace(counting.target, joint=True)
        if costs:
            return Criterion(relevance, lambda s, link, pair: link - alone[s], lambda total, picks: total / picks, noisy)
        return Criterion(relevance, lambda s, link, pair: relevance[s] - alone[s] + link, lambda total, picks: total, noisy)


class LRFS(GreedyCountingMethod):
    """Σ_{l≠l'} I(f; Y_l' | Y_l) − mean_s I(f; s).

        J(f) = A(f) − (1/|S|) Σ_{s∈S} I(f; s),    A(f) = Σ_{l≠l'} I(f; Y_l' | Y_l), over ordered pairs of labels

    Greedy: the first pick maximises A, each further one J; unpicked features follow by A.
    Symbols: $two; $plugin, A over the rows whose labels are all known. Score A (v,); value of a pick J.
    Raises: $pairs.
    Source: Zhang, Liu & Gao, "Distinguishing two types of labels for multi-label feature selection", 2019.
    Deviations: none; unknown labels are an addition."""

    name = "lrfs"
    title = "relevance conditioned on the other labels"
    source = "Zhang et al. 2019"
    when = "strongly dependent labels: what a feature says beyond the other labels"
    cost = "pair counts, and label pairs"

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        own = counting.label_pairs(tuple(range(counting.engine.profile.q)))[1]
        return Criterion(own, lambda s, conditional, pair: pair, lambda total, picks: own - total / picks, Everything())


class MDMR(GreedyCountingMethod):
    """R(f) − mean_s [I(f; s) − Σ_l I(f; Y_l | s)].

        J(f) = R(f) − (1/|S|) Σ_{s∈S} [I(f; s) − Σ_l I(f; Y_l | s)],    R(f) = Σ_l I(f; Y_l)

    Greedy: the first pick maximises R, each further one J; unpicked features follow by R.
    Symbols: $two; $plugin, with Y_l over the rows where label l is known. Score R (v,); value of a pick J.
    Raises: $counts; $range.
    Source: Lin, Hu, Liu & Duan, "Multi-label feature selection based on max-dependency and min-redundancy", 2015.
    Deviations: none; unknown labels are an addition."""

    name = "mdmr"
    title = "maximum dependency, minimum redundancy"
    source = "Lin et al. 2015"
    when = "as jmi, where repetition counts as far as it is not about the labels"
    cost = "as `jmi`"
    parameters = BY_LABEL

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        relevance = counting.relevance
        return Criterion(relevance, lambda s, link, pair: pair - link, lambda total, picks: relevance - total / picks)


class PMU(GreedyCountingMethod):
    """R(f) − Σ_s Σ_l co(f, s, l) − Σ_{l<l'} co(f, l, l').

        J(f) = R(f) − Σ_{s∈S} Σ_l co(f, s, l) − Q(f),    R(f) = Σ_l I(f; Y_l),    Q(f) = Σ_{l<l'} co(f, l, l'),
        co(f, s, l) = I(f; Y_l) − I(f; Y_l | s),         co(f, l, l') = I(f; Y_l) − I(f; Y_l | Y_l')

    Greedy: the first pick maximises R − Q, each further one J; unpicked features follow by R − Q. co is the interaction
    information.
    Symbols: $two; $plugin, over rows where label l is known, in Q where all are. Score R − Q (v,); value of a pick J.
    Raises: $pairs.
    Source: Lee & Kim, "Feature selection for multi-label classification using multivariate mutual information", 2013.
    Deviations: none; unknown labels are an addition."""

    name = "pmu"
    title = "multivariate mutual information up to three variables"
    source = "Lee & Kim 2013"
    when = "pairs of labels that a feature tells together"
    cost = "as `jmi`, and label pairs"

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        relevance = counting.relevance
        own = relevance - counting.label_pairs(tuple(range(counting.engine.profile.q)))[0]
        return Criterion(own, lambda s, conditional, pair: relevance - conditional, lambda total, picks: own - total)


class SCLS(GreedyCountingMethod):
    """R(f)·(1 − Σ_s I(f; s)/H(f)): the redundancy is label-free.

        J(f) = R(f)·(1 − Σ_{s∈S} I(f; s)/H(f)),    R(f) = Σ_l I(f; Y_l)

    Greedy: the first pick maximises R, each further one J; unpicked features follow by R.
    Symbols: $two; $plugin, with Y_l over the rows where label l is known; H entropy, as I. A feature that falls into one bin has
    H = 0 and J = R = 0. Score R (v,); value of a pick J.
    Raises: $counts; $range.
    Source: Lee & Kim, "SCLS: Multi-label feature selection based on scalable criterion for large label set", 2017.
    Deviations: none; unknown labels are an addition."""

    name = "scls"
    title = "relevance scaled by label-free redundancy"
    source = "Lee & Kim 2017"
    when = "very many labels: what features repeat is measured without them"
    cost = "one pair count a pick"
    parameters = BY_LABEL

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        relevance, entropy = counting.relevance, counting.entropy

        def term(s: int, conditional: np.ndarray, pair: np.ndarray) -> np.ndarray:
            # a varying feature may still fall into one bin: it tells nothing and scores 0
            return np.divide(pair, entropy, out=np.zeros_like(pair), where=entropy > 0)

        return Criterion(relevance, term, lambda share, picks: relevance * (1 - share), Everything())
