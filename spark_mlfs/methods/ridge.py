"""Row norms of the multi-output ridge regression.

    min ‖HY − HXW‖² + α Σ_i p_i ‖w_i‖²,    W = (G + α diag p)⁻¹C,    score ‖w_i‖

Symbols: $rows; H = I − 11'/n, so that the intercept is not penalised; G = X'HX, C = X'HY; $weights;
α ≥ 0 ``alpha``; $penalty. $scores (under ``scaling="standard"``: per standard deviation).
Raises: $gram.
Source: Hoerl & Kennard 1970.
Deviations: none. α = 0 with a singular G takes the solution of least norm."""

from __future__ import annotations

from ..kernels.gram import GramView
from ..params import Number, Parameter, Values
from ..solvers import linear
from ..solvers.problems import Solution
from .label_settings import LABEL_WEIGHTS
from .regression import LABEL_SKETCH, SCALING, GramMethod


class Ridge(GramMethod):
    """Row norms of the multi-output ridge regression."""

    name = "ridge"
    title = "row norms of multi-output ridge regression"
    source = "Hoerl & Kennard 1970"
    when = "numeric features, a linear model behind; parameters by cross-validated loss"
    penalised = True
    parameters = (
        Parameter("alpha", 1.0, Number(0), "weight of the penalty"),
        SCALING,
        LABEL_SKETCH,
        LABEL_WEIGHTS,
    )

    def solve(self, view: GramView, p: Values) -> Solution:
        return linear.ridge(view, p["alpha"])
