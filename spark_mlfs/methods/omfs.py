"""OMFS: the labels are factorised once, Y ≈ VB, then the features are regressed on V.

    min ‖XW − V‖² + γ‖W‖₂,₁,    score ‖w_i‖

Rows of one labelset have one latent row, so the factorisation needs the distinct labelsets and their counts, and with v_u the
latent row of labelset u, X'V = Σ_u (Σ_{i∈u} x_i) v_u'. ``factorizer="nmf"`` (multiplicative updates, V then B, from |U_c|√S,
√S|V_c'| of Y's truncated SVD) or ``"svd"``; ‖b_r‖ = 1 fixes the scale. ``solver="irls"`` (default) reweights, ``"armijo"`` is
the paper's descent: the same minimum. There is no intercept. Rows with unknown labels are left out.
Symbols: X (n, v) the scaled features that vary, Y (n, q) the 0/1 labels; V (n, c) the latent labels, B (c, q), b_r its row r; c
by default ⌈0.3q⌉ and at most the rank of Y; W (v, c), w_i its row of feature i; ‖W‖₂,₁ = Σ_i ‖w_i‖; γ > 0 ``gamma``. Score
(v,), latent labels per scaled unit of the feature.
Raises: `DataError` where no row has all its labels known, no feature varies over those, or they have no label; `BudgetError`
where the Gram matrix or the sums (labelsets × features) exceed ``driverBytes``, or a worker's share ``workerBytes``;
`ParameterError` where a parameter is out of its range.
Source: Valadi et al., Eq. 3 to 5 and their algorithm.
Deviations:
- Eq. 3's 2γ tr W'DW is γ‖W‖₂,₁ at its own D, and that is minimised, as the gradient (Eq. 4) with D moving does;
- the paper's "simple matrix factorisation" by gradient descent from a random start is NMF or SVD without chance;
- the Armijo descent divides the gradient by its curvature, starts at W = 0 and lowers ε by hundreds
  (`solvers.l21.omfs_armijo`).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.base import Engine, one_thread
from ..params import Choice, Integer, Number, Optional, Parameter
from ..solvers import l21
from ..solvers.factorise import FACTORIZERS, factorise
from ..statistics.base import Statistic
from ..statistics.gram import Gram
from ..statistics.labelsets import LabelsetSums
from .base import Method, Scores
from .regression import MAX_ITER, SCALING, labelled_view, scores_of


class OMFS(Method):
    """ℓ2,1 regression of the features on factorised labels."""

    name = "omfs"
    title = "ℓ2,1 regression on factorised labels"
    source = "Valadi et al."
    row_norms = True
    when = "many labels that depend on each other: factors of them are fitted"
    cost = "one scan"
    weighted = True
    parameters = (
        Parameter("gamma", 0.8, Number(0, above=True), "weight of the ℓ2,1 norm"),
        Parameter("c", None, Optional(Integer(1)), "latent width; None: ⌈0.3 q⌉"),
        Parameter("factorizer", "nmf", Choice(FACTORIZERS), "how the labels are factorised"),
        Parameter("solver", "irls", Choice(("irls", "armijo")), "reweighting, or the paper's descent"),
        SCALING,
        MAX_ITER,
    )

    def needs(self, engine: Engine, p: Mapping[str, Any]) -> list[Statistic]:
        return [Gram(), LabelsetSums()]

    def score(self, engine: Engine, p: Mapping[str, Any], count: int) -> Scores:
        _, by_labelset = engine.run(*self.needs(engine, p))
        sets, sums = by_labelset.sets, by_labelset.moments
        view = labelled_view(engine, p["scaling"], centred=False)
        counts, unit = sets.counts * engine.profile.weight_unit, engine.profile.weight_unit
        with one_thread():
            factors = factorise(sets.indicator(engine.profile.q).astype(np.float64), counts, p["c"], p["factorizer"])
            # sums are of x less the provisional centre, as the view's shift is
            cross = ((sums.total[:, view.varying] * unit - counts[:, None] * view.shift) / view.scale).T @ factors.V
            constant = float(counts @ (factors.V * factors.V).sum(axis=1))
            solve = l21.omfs if p["solver"] == "irls" else l21.omfs_armijo
            solution = solve(view, cross, p["gamma"], constant, max_iter=p["max_iter"])
            out = scores_of(solution, view, engine)
        out.details |= {"latent_width": factors.V.shape[1], "factorisation_converged": factors.converged}
        return out
