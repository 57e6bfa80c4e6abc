"""ℓ2,1-regularised regression that is smooth over the graph of neighbouring features.

    min ½‖XW + 1b' − Y‖² + (α/2) tr W'L_fW + (β/2) Σ_i p_i ‖w_i‖
    W = (G + αL_f + βU)⁻¹C,    score ‖w_i‖

Reweighting U_ii = p_i/max(2‖w_i‖, ε) from U = diag p, then Newton steps (`solvers.l21`). Distances
come from the Gram matrix.
Symbols: $rows; H = I − 11'/n, G = X'HX, C = X'HY; $weights; b (q,) the intercept; L_f (v, v) the
Laplacian of the k-nearest-feature graph: binary weights, an edge if either feature lists the other,
distances ‖Hx_i − Hx_j‖; $penalty; α ≥ 0 ``alpha``, β > 0 ``beta``; ε 1e-10 of the largest 2‖w_i‖ of
the first iterate. $scores.
Raises: $gram.
Source: Cai & Zhu 2018 (the MSSL of Li & Zhai).
Deviations: none known but the floor ε and the Newton steps, which lead to the same optimum."""

from __future__ import annotations

from ..kernels.gram import GramView
from ..params import Integer, Number, Parameter, Values
from ..solvers import l21_gram
from ..solvers.problems import Solution
from .label_settings import LABEL_WEIGHTS
from .regression import ITERATED, GramMethod


class MSSL(GramMethod):
    """ℓ2,1-regularised regression that is smooth over the graph of neighbouring features."""

    name = "mssl"
    title = "feature-manifold regularised ℓ2,1 regression"
    source = "Cai & Zhu 2018"
    when = "neighbouring features, such as bands or pixels, shall weigh alike"
    penalised = True
    shrinks = True
    parameters = (
        Parameter("alpha", 0.1, Number(0), "weight of the feature manifold"),
        Parameter("beta", 1.0, Number(0, above=True), "weight of the ℓ2,1 norm"),
        Parameter("k", 10, Integer(1), "nearest features in the graph"),
        *ITERATED,
        LABEL_WEIGHTS,
    )

    def solve(self, view: GramView, p: Values) -> Solution:
        return l21_gram.mssl(
            view,
            p["alpha"],
            p["beta"],
            p["k"],
            tol=p["tol"],
            max_iter=p["max_iter"],
        )
