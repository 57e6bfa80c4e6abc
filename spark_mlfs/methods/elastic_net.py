"""Elastic net on all labels: min (1/2n)‖HY − HXW‖² + α[ρ Σ|w_ij| + (1−ρ)/2 ‖W‖²] (``group``: ‖W‖₂,₁) on the scaled features;
score ‖w_i‖.

Coordinate descent on the Gram matrix, duality gap at most 1e-10. Sources: Zou & Hastie 2005; Yuan & Lin 2006 (group).
"""

from __future__ import annotations

from typing import Any

from ..kernels.gram import GramView
from ..params import Number, Parameter
from ..solvers import regression
from ..solvers.linear import Solution
from .lasso import GROUP
from .regression import MAX_ITER, SCALING, GramMethod


class ElasticNet(GramMethod):
    """Row norms of the elastic net of every label, or of its group form."""

    name = "elastic-net"
    title = "row norms of the elastic net of all labels"
    source = "Zou & Hastie 2005"
    parameters = (
        Parameter("alpha", 0.01, Number(0), "weight of the penalty"),
        Parameter("rho", 0.5, Number(0, 1), "share of the ℓ1 norm in the penalty"),
        GROUP,
        SCALING,
        MAX_ITER,
    )

    def solve(self, view: GramView, p: Any) -> Solution:
        return regression.elastic_net(view, p["alpha"], p["rho"], group=p["group"], max_iter=p["max_iter"])
