"""Joint mutual information: J(f) = Σ_{s∈S} Σ_l I((f, s); Y_l), or with the labelset as one class.

    label_coding="br"   J(f) = Σ_{s∈S} Σ_l I((f, s); Y_l)
    label_coding="lp"   J(f) = Σ_{s∈S} I((f, s); Y)

Greedy: the first pick maximises R(f) = Σ_l I(f; Y_l) or I(f; Y), as `mim`; each further one J. By
the chain rule I((f, s); Y) = I(s; Y) + I(f; Y | s), so a pick adds one three-way count. With
``label_noise`` I((f, s); Y_l) is that of the corrected counts of the joint value. Unpicked features
follow by R.
Symbols: $two; Y the labelset as one class of m, the empty one included; $plugin, for label l over
the rows where it is known, for Y over those where all are. Score R (v,); value of a pick: R of the
first, J of the others; where features have costs, of the others the mean over S of I(f; Y | s),
which orders them as J does and is what f adds.
Raises: $coded.
Source: Sechidis, Nikolaou & Brown 2014, Eq. 8 (br) and Eq. 6 (lp); there "X: partial".
Deviations: none. The paper leaves the first pick open; here it is that of MIM."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from ..statistics.targets import Labels
from .counting import CODED, Counting, Criterion, GreedyCountingMethod


class JMI(GreedyCountingMethod):
    """Joint mutual information: J(f) = Σ_{s∈S} Σ_l I((f, s); Y_l), or with the labelset as one
    class."""

    name = "jmi"
    title = "joint mutual information with the picked features"
    source = "Sechidis et al. 2014, Eq. 6 and 8"
    when = "no idea yet: relevant features that do not repeat each other"
    cost = "one three-way count a pick, in batches"
    parameters = CODED

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        relevance = counting.relevance
        of_pick = np.zeros(counting.engine.num_features)  # I(s; Y) as far as a link includes it
        joint_target = None
        # the chain rule does not hold for counts that are clipped: their links are I((f, s); Y)
        if isinstance(counting.target, Labels) and counting.target.noise:
            of_pick = relevance
            joint_target = replace(counting.target, joint=True)
        if costs:
            return Criterion(
                relevance,
                lambda s, link, pair: link - of_pick[s],
                lambda total, picks: total / picks,
                joint_target,
            )
        return Criterion(
            relevance,
            lambda s, link, pair: relevance[s] - of_pick[s] + link,
            lambda total, picks: total,
            joint_target,
        )
