"""Row norms of the elastic net of every label, or of its group form.

    min (1/2n)‖HY − HXW‖² + α Σ_i p_i [ρ Σ_l |w_il| + (1 − ρ)/2 ‖w_i‖²]    (``group=True``: ρ‖w_i‖)
    score ‖w_i‖

Coordinate descent on the Gram matrix, duality gap at most 1e-10. α ≥ max|C|/(nρ) gives W = 0, C =
X'HY (``group=True``: max_i ‖C_i‖/(nρ)), of which ``alpha_share`` is α's share.
Symbols: $rows; H = I − 11'/n; $weights; α ≥ 0 ``alpha``; ρ ∈ [0, 1] ``rho``, 1 the LASSO, 0 ridge;
$penalty. $scores.
Raises: $gram.
Source: Zou & Hastie 2005 (their naive elastic net); Yuan & Lin 2006 (group).
Deviations: the paper multiplies the solution by 1 + λ₂; that changes no ranking and is left out."""

from __future__ import annotations

from ..params import Number, Parameter
from .lasso import Lasso


class ElasticNet(Lasso):
    """Row norms of the elastic net of every label, or of its group form."""

    name = "elastic-net"
    title = "row norms of the elastic net of all labels"
    source = "Zou & Hastie 2005"
    when = "as lasso, where features are correlated in groups"
    parameters = (
        Lasso.parameters[0],
        Parameter("rho", 0.5, Number(0, 1), "share of the ℓ1 norm in the penalty"),
        *Lasso.parameters[1:],
    )
