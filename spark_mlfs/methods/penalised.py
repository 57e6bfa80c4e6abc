"""Linear models with a penalty whose Gram matrix is all they need: ridge, LASSO, elastic net, MSSL."""

from __future__ import annotations

from typing import ClassVar

from ..blocks.profile import Profile
from ..kernels.gram import GramView
from ..params import Flag, Integer, Number, Parameter, Values
from ..solvers import l21, regression
from ..solvers.linear import Solution
from .labels import LABEL_WEIGHTS
from .regression import LABEL_SKETCH, MAX_ITER, SCALING, TOL, GramMethod, no_sketch


class Ridge(GramMethod):
    """Row norms of the multi-output ridge regression.

        min ‖HY − HXW‖² + α Σ_i p_i ‖w_i‖²,    W = (G + α diag p)⁻¹C,    score ‖w_i‖

    Symbols: $rows; H = I − 11'/n, so that the intercept is not penalised; G = X'HX, C = X'HY; $weights; α ≥ 0 ``alpha``;
    $penalty. $scores (under ``scaling="standard"``: per standard deviation).
    Raises: $gram.
    Source: Hoerl & Kennard 1970.
    Deviations: none. α = 0 with a singular G takes the solution of least norm."""

    name = "ridge"
    title = "row norms of multi-output ridge regression"
    source = "Hoerl & Kennard 1970"
    when = "numeric features, a linear model behind; parameters by cross-validated loss"
    penalised = True
    parameters = (Parameter("alpha", 1.0, Number(0), "weight of the penalty"), SCALING, LABEL_SKETCH, LABEL_WEIGHTS)

    def solve(self, view: GramView, p: Values) -> Solution:
        return regression.ridge(view, p["alpha"])


class Lasso(GramMethod):
    """Row norms of the LASSO of every label, or of the group LASSO.

        min (1/2n)‖HY − HXW‖² + α Σ_il p_i |w_il|        (``group=True``: α Σ_i p_i ‖w_i‖),    score ‖w_i‖

    Coordinate descent on the Gram matrix, duality gap at most 1e-10; of identical columns the first takes all. α ≥ max|C|/n gives
    W = 0, and max|C|/n ≤ ½ for 0/1 labels and z-scores: α = 1 selects nothing on any data.
    Symbols: $rows; H = I − 11'/n; C = X'HY; $weights; α ≥ 0 ``alpha``; $penalty. $scores.
    Raises: $gram.
    Source: Tibshirani 1996; Yuan & Lin 2006 (group).
    Deviations: the penalty's form instead of Tibshirani's bound on Σ|w|; the same solutions."""

    name = "lasso"
    title = "row norms of the LASSO of all labels"
    source = "Tibshirani 1996"
    when = "numeric features, a linear model behind, many weights exactly 0 (group=true: for all labels at once)"
    penalised = True
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("alpha", 0.01, Number(0), "weight of the penalty"),
        Parameter("group", False, Flag(), "the ℓ2,1 norm instead of the ℓ1 norm: a feature is in or out for all labels"),
        SCALING,
        MAX_ITER,
        LABEL_SKETCH,
        LABEL_WEIGHTS,
    )

    def sketch(self, profile: Profile, p: Values) -> int:
        """Of the ℓ2,1 form only: ‖W‖₁ changes with a rotation of the labels."""
        return super().sketch(profile, p) if p["group"] else no_sketch(p, "goes with group=True: the ℓ1 norm is of single labels")

    def solve(self, view: GramView, p: Values) -> Solution:
        return regression.elastic_net(view, p["alpha"], p.get("rho", 1.0), group=p["group"], max_iter=p["max_iter"])


class ElasticNet(Lasso):
    """Row norms of the elastic net of every label, or of its group form.

        min (1/2n)‖HY − HXW‖² + α Σ_i p_i [ρ Σ_l |w_il| + (1 − ρ)/2 ‖w_i‖²]        (``group=True``: ρ‖w_i‖),    score ‖w_i‖

    Coordinate descent on the Gram matrix, duality gap at most 1e-10.
    Symbols: $rows; H = I − 11'/n; $weights; α ≥ 0 ``alpha``; ρ ∈ [0, 1] ``rho``, 1 the LASSO, 0 ridge; $penalty. $scores.
    Raises: $gram.
    Source: Zou & Hastie 2005 (their naive elastic net); Yuan & Lin 2006 (group).
    Deviations: the paper multiplies the solution by 1 + λ₂; that changes no ranking and is left out."""

    name = "elastic-net"
    title = "row norms of the elastic net of all labels"
    source = "Zou & Hastie 2005"
    when = "as lasso, where features are correlated in groups"
    parameters = (
        Lasso.parameters[0],
        Parameter("rho", 0.5, Number(0, 1), "share of the ℓ1 norm in the penalty"),
        *Lasso.parameters[1:],
    )


class MSSL(GramMethod):
    """ℓ2,1-regularised regression that is smooth over the graph of neighbouring features.

        min ½‖XW + 1b' − Y‖² + (α/2) tr W'L_fW + (β/2) Σ_i p_i ‖w_i‖,    W = (G + αL_f + βU)⁻¹C,    score ‖w_i‖

    Reweighting U_ii = p_i/max(2‖w_i‖, ε) from U = diag p, then Newton steps (`solvers.l21`). Distances come from the Gram matrix.
    Symbols: $rows; H = I − 11'/n, G = X'HX, C = X'HY; $weights; b (q,) the intercept; L_f (v, v) the Laplacian of the
    k-nearest-feature graph: binary weights, an edge if either feature lists the other, distances ‖Hx_i − Hx_j‖; $penalty;
    α ≥ 0 ``alpha``, β > 0 ``beta``; ε 1e-10 of the largest 2‖w_i‖ of the first iterate. $scores.
    Raises: $gram.
    Source: Cai & Zhu 2018 (the MSSL of Li & Zhai).
    Deviations: none known but the floor ε and the Newton steps, which lead to the same optimum."""

    name = "mssl"
    title = "feature-manifold regularised ℓ2,1 regression"
    source = "Cai & Zhu 2018"
    when = "neighbouring features, such as bands or pixels, shall weigh alike"
    penalised = True
    parameters = (
        Parameter("alpha", 0.1, Number(0), "weight of the feature manifold"),
        Parameter("beta", 1.0, Number(0, above=True), "weight of the ℓ2,1 norm"),
        Parameter("k", 10, Integer(1), "nearest features in the graph"),
        SCALING,
        MAX_ITER,
        TOL,
        LABEL_SKETCH,
        LABEL_WEIGHTS,
    )

    def solve(self, view: GramView, p: Values) -> Solution:
        return l21.mssl(view, p["alpha"], p["beta"], p["k"], tol=p["tol"], max_iter=p["max_iter"])
