"""LASSO on all labels: min (1/2n)‖HY − HXW‖² + α Σ|w_ij| (``group``: α‖W‖₂,₁) on the scaled features; score ‖w_i‖.

Coordinate descent on the Gram matrix, duality gap at most 1e-10; of identical columns the first takes all. α ≥ max|C|/n gives W
= 0, and max|C|/n ≤ ½ for 0/1 labels and z-scores: α = 1 selects nothing on any data. Sources: Tibshirani 1996; Yuan & Lin 2006
(group).
"""

from __future__ import annotations

from typing import Any

from ..kernels.gram import GramView
from ..params import Flag, Number, Parameter
from ..solvers import regression
from ..solvers.linear import Solution
from .regression import MAX_ITER, SCALING, GramMethod

GROUP = Parameter("group", False, Flag(), "the ℓ2,1 norm instead of the ℓ1 norm: a feature is in or out for all labels")


class Lasso(GramMethod):
    """Row norms of the LASSO of every label, or of the group LASSO."""

    name = "lasso"
    title = "row norms of the LASSO of all labels"
    source = "Tibshirani 1996"
    parameters = (Parameter("alpha", 0.01, Number(0), "weight of the penalty"), GROUP, SCALING, MAX_ITER)

    def solve(self, view: GramView, p: Any) -> Solution:
        return regression.lasso(view, p["alpha"], group=p["group"], max_iter=p["max_iter"])
