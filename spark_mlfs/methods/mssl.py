"""MSSL: ½‖XW + 1b − Y‖² + (α/2) tr W'L_fW + (β/2)‖W‖₂,₁, L_f the Laplacian of the k-nearest-feature graph; score ‖w_i‖.

W = (G + αL_f + βU)⁻¹C, U = diag(1/(2‖w_i‖)). Feature distances come from the Gram matrix, so one scan serves all; binary
weights, an edge if either feature lists the other. Source: Cai & Zhu 2018 (the MSFS paper's MSSL).
"""

from __future__ import annotations

from typing import Any

from ..kernels.gram import GramView
from ..params import Integer, Number, Parameter
from ..solvers import l21
from ..solvers.linear import Solution
from .regression import MAX_ITER, SCALING, TOL, GramMethod


class MSSL(GramMethod):
    """ℓ2,1-regularised regression that is smooth over the graph of neighbouring features."""

    name = "mssl"
    title = "feature-manifold regularised ℓ2,1 regression"
    source = "Cai & Zhu 2018"
    parameters = (
        Parameter("alpha", 0.1, Number(0), "weight of the feature manifold"),
        Parameter("beta", 1.0, Number(0, above=True), "weight of the ℓ2,1 norm"),
        Parameter("k", 10, Integer(1), "nearest features in the graph"),
        SCALING,
        MAX_ITER,
        TOL,
    )

    def solve(self, view: GramView, p: Any) -> Solution:
        return l21.mssl(view, p["alpha"], p["beta"], p["k"], tol=p["tol"], max_iter=p["max_iter"])
