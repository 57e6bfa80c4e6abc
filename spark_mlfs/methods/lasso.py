"""Row norms of the LASSO of every label, or of the group LASSO.

    min (1/2n)‖HY − HXW‖² + α Σ_il p_i |w_il|    (``group=True``: α Σ_i p_i ‖w_i‖)
    score ‖w_i‖

Coordinate descent on the Gram matrix, duality gap at most 1e-10; of identical columns the first
takes all. α ≥ max|C|/n gives W = 0, and max|C|/n ≤ ½ for 0/1 labels and z-scores: α = 1 selects
nothing on any data. On rare labels the default does: a warning says the α at which as many features
as are kept have a weight. ``alpha_share`` is α over max|C|/n (``group=True``: max_i ‖C_i‖/n).
Symbols: $rows; H = I − 11'/n; C = X'HY; $weights; α ≥ 0 ``alpha``; $penalty. $scores.
Raises: $gram.
Source: Tibshirani 1996; Yuan & Lin 2006 (group).
Deviations: the penalty's form instead of Tibshirani's bound on Σ|w|; the same solutions."""

from __future__ import annotations

from typing import ClassVar

from ..blocks.profile import Profile
from ..kernels.gram import GramView
from ..params import Flag, Number, Optional, Parameter, Values
from ..solvers import linear
from ..solvers.problems import Solution
from .label_settings import LABEL_WEIGHTS
from .regression import LABEL_SKETCH, MAX_ITER, SCALING, GramMethod, no_sketch


class Lasso(GramMethod):
    """Row norms of the LASSO of every label, or of the group LASSO."""

    name = "lasso"
    title = "row norms of the LASSO of all labels"
    source = "Tibshirani 1996"
    when = (
        "numeric features, a linear model behind, many weights exactly 0 (group=true: for all "
        "labels at once)"
    )
    penalised = True
    parameters: ClassVar[tuple[Parameter, ...]] = (
        Parameter("alpha", 0.01, Number(0), "weight of the penalty"),
        Parameter(
            "alpha_share",
            None,
            Optional(Number(0, 1)),
            "alpha as a share of the least that gives every weight 0; None: alpha as it is",
        ),
        Parameter(
            "group",
            False,
            Flag(),
            "the ℓ2,1 norm instead of the ℓ1 norm: a feature is in or out for all labels",
        ),
        SCALING,
        MAX_ITER,
        LABEL_SKETCH,
        LABEL_WEIGHTS,
    )

    def sketch(self, profile: Profile, p: Values) -> int:
        """Return the width of the ℓ2,1 form only: ‖W‖₁ changes with a rotation of the labels."""
        if p["group"]:
            return super().sketch(profile, p)
        return no_sketch(p, "goes with group=True: the ℓ1 norm is of single labels")

    def solve(self, view: GramView, p: Values) -> Solution:
        return linear.elastic_net(
            view,
            self._alpha(view, p),
            p.get("rho", 1.0),
            group=p["group"],
            max_iter=p["max_iter"],
        )

    def _alpha(self, view: GramView, p: Values) -> float:
        """Return α, in the units of the penalty."""
        rho = p.get("rho", 1.0)
        if p["alpha_share"] is None or rho == 0:
            return float(p["alpha"])
        return float(p["alpha_share"] * linear.entries(view, rho, p["group"]).max(initial=0.0))

    def remarks(
        self,
        view: GramView,
        p: Values,
        count: int,
        solution: Solution,
    ) -> list[str]:
        """Return the α at which `count` features have a weight, where none has."""
        rho = p.get("rho", 1.0)
        if solution.weights.any() or rho == 0:
            return []
        alphas = linear.entries(view, rho, p["group"])
        if not alphas.max(initial=0.0) > 0:
            return []
        text = (
            f"{self.name}: alpha = {self._alpha(view, p):.3g} gives every feature weight 0, as "
            f"any from {alphas.max():.3g} on does"
        )
        fitting = linear.alpha_for(view, count, rho, p["group"]) if count < len(alphas) else None
        if fitting is None:
            return [f"{text}: lower it"]
        return [f"{text}; at alpha = {fitting:g} {count} features have a weight"]
