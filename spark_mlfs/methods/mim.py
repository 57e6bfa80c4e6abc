"""Mutual information maximisation: R(f) = Σ_l I(f; Y_l), or I(f; labelset).

    label_coding="br"   R(f) = Σ_l I(f; Y_l)
    label_coding="lp"   R(f) = I(f; Y)

Symbols: $one; $label; Y the labelset as one class of m, the empty one included. I(A; B) = Σ_ab p(a,
b) ln p(a, b)/(p(a) p(b)), p the shares of the n rows: the plug-in estimate, in nats, clipped at 0;
or with the Miller–Madow correction of its entropies; or ("chance") less its mean over all tables
with the same margins, so that a feature of many values has no advantage (`kernels.chance`). I(f;
Y_l) is over the rows where label l is known, I(f; Y) over those where all are. Score R, (v,). A
group of features (``groups``) scores R of its members' joint value, of which 1024 are counted at
most: one that has more scores the mean of its three best members. ``bias_correction`` takes off
what many values add to the plug-in estimate, their number over 2n.
Cost: one two-way count, n·d·(1 + labels a row); of "chance" about 1 µs for every pair of different
code and label counts more.
Raises: $coded.
Source: Sechidis, Nikolaou & Brown 2014, Eq. 7 (br) and Eq. 5 (lp); Vinh, Epps & Bailey 2010, Eq.
24a (chance).
Deviations: none; unknown labels and the corrections are additions."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..engine.base import Engine
from ..params import Values
from ..statistics.base import Statistic
from .counting import BY_CHANCE, CODED, Counting, CountingMethod


class MIM(CountingMethod):
    """Mutual information maximisation: R(f) = Σ_l I(f; Y_l), or I(f; labelset)."""

    name = "mim"
    title = "mutual information with each label (or the labelset)"
    source = "Sechidis et al. 2014, Eq. 5 and 7"
    when = (
        "very many features, one pass; a filter in front of other methods. Copies of a good "
        "feature come with it"
    )
    parameters = (*BY_CHANCE, *CODED[len(BY_CHANCE) :])

    def group_needs(
        self, engine: Engine, p: Values, groups: Sequence[tuple[int, ...]]
    ) -> list[Statistic]:
        if p["label_coding"] == "lp":  # classes are not known beforehand
            return []
        statistics = Counting(engine, p).joint_counts(groups)
        return [*statistics] if len(statistics) == 1 else []

    def group_scores(
        self, engine: Engine, p: Values, groups: Sequence[tuple[int, ...]]
    ) -> np.ndarray:
        counting = Counting(engine, p)
        scores: list[float] = []
        for statistic in counting.joint_counts(groups):
            (tables,) = engine.run(statistic, keep=False)
            for table in tables:
                if table is None:
                    scores.append(np.nan)
                else:
                    scores.append(float(counting.relevance_of.of_tables(table[None])[0]))
        return np.array(scores)
