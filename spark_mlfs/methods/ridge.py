"""Ridge regression of all labels at once: W = (X'HX + αI)⁻¹X'HY on the scaled features, intercept unpenalised; score ‖w_i‖.

Source: Hoerl & Kennard 1970. One scan; the objective is ‖HY − HXW‖² + α‖W‖².
"""

from __future__ import annotations

from typing import Any

from ..kernels.gram import GramView
from ..params import Number, Parameter
from ..solvers import regression
from ..solvers.linear import Solution
from .regression import SCALING, GramMethod


class Ridge(GramMethod):
    """Row norms of the multi-output ridge regression."""

    name = "ridge"
    title = "row norms of multi-output ridge regression"
    source = "Hoerl & Kennard 1970"
    parameters = (Parameter("alpha", 1.0, Number(0), "weight of the penalty"), SCALING)

    def solve(self, view: GramView, p: Any) -> Solution:
        return regression.ridge(view, p["alpha"])
