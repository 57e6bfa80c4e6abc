"""Linear models that need a Gram matrix only (ridge, LASSO, elastic net, MSSL), and what the
regression methods share."""

from __future__ import annotations

from dataclasses import replace
from typing import ClassVar

import numpy as np

from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..errors import DataError, ParameterError
from ..kernels.gram import GramView, row_norms
from ..kernels.scaling import SCALINGS
from ..params import Choice, Flag, Integer, Number, Optional, Parameter, Values
from ..solvers import l21_gram, linear
from ..solvers.problems import Solution
from ..statistics.base import Statistic
from ..statistics.gram import Gram
from ..statistics.moments import KnownRows, known_range
from .base import GramProblem, Method, Scores, penalties_of
from .counting import LABEL_WEIGHTS, label_scale

SCALING = Parameter(
    "scaling",
    "standard",
    Choice(SCALINGS),
    "z-scores, ranges to [0, 1], or the features as they are",
)
MAX_ITER = Parameter("max_iter", 10_000, Integer(1), "iterations at most")
MANY_LABELS, SKETCH_WIDTH = 10_000, 256
LABEL_SKETCH = Parameter(
    "label_sketch",
    None,
    Optional(Integer(0)),
    f"columns of the random sketch that stands for the labels; None: {SKETCH_WIDTH} above "
    f"{MANY_LABELS} labels; 0: never",
)
TOL = Parameter(
    "tol",
    1e-9,
    Number(0, above=True),
    "stops when no weight changes by more than this share of the largest",
)
ITERATED = (SCALING, MAX_ITER, TOL, LABEL_SKETCH)


class GramMethod(Method):
    """A method that needs one scan for the Gram matrix and finishes on the driver. Scores with
    ``label_sketch`` are row norms that no rotation of the labels changes: YR/√s (`kernels.labels`)
    may stand for them, within about √(2/r), r the columns."""

    cost = "one scan"
    row_norms = True
    centred: ClassVar[bool] = True
    statistics = (Gram, KnownRows)

    def gram_problem(self, profile: Profile, p: Values) -> GramProblem | None:
        more = label_scale(profile, p), penalties_of(profile, p)
        return GramProblem(
            lambda view: self.solve(view, p),
            p["scaling"],
            self.centred,
            self.sketch(profile, p),
            *more,
        )

    def sketch(self, profile: Profile, p: Values) -> int:
        """How many columns of a sketch stand for the labels; 0 where they stand for themselves."""
        if p.get("label_weights", "uniform") != "uniform":
            return no_sketch(p, "has no labels to weigh")
        return sketch_width(profile, p)

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        return [Gram(sketch=self.sketch(engine.profile, p))]

    def solve(self, view: GramView, p: Values) -> Solution:
        raise NotImplementedError

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        sketch = self.sketch(engine.profile, p)
        view = labelled_view(
            engine, p["scaling"], self.centred, sketch, label_scale(engine.profile, p)
        )
        if (penalties := penalties_of(engine.profile, p)) is not None:
            view = replace(view, penalties=penalties[view.varying])
        with one_thread():  # the same bits on any driver
            return scores_of(self.solve(view, p), view, engine, sketch)


def sketch_width(profile: Profile, p: Values) -> int:
    """The width that ``label_sketch`` comes to; 0 where the method has none, or it would not be
    narrower than the labels. `ParameterError` where it was asked for and labels are graded."""
    if profile.graded:
        return no_sketch(p, "stands for labels of 0 and 1, not for grades")
    width = p.get("label_sketch", 0)
    if width is None:
        width = SKETCH_WIDTH if profile.q > MANY_LABELS else 0
    return width if width < profile.q else 0


def no_sketch(p: Values, why: str) -> int:
    """0, where labels cannot be sketched; `ParameterError` where that was asked for."""
    if p.get("label_sketch"):
        raise ParameterError(f"label_sketch = {p['label_sketch']} {why}; leave it out, or give 0")
    return 0


def labelled_view(
    engine: Engine,
    scaling: str,
    centred: bool = True,
    sketch: int = 0,
    scale: np.ndarray | None = None,
) -> GramView:
    """The scaled Gram matrix of the rows whose labels are all known, of the features that vary over
    them, with the labels, times `scale` (q,), or `sketch` columns that stand for them; `DataError`
    where there are none."""
    (statistics,) = engine.run(Gram(sketch=sketch))
    low, high = known_range(engine)
    statistics = replace(statistics, low=low, high=high)
    statistics = statistics if scale is None else statistics.with_labels_times(scale)
    view = statistics.centred(scaling) if centred else statistics.uncentred(scaling)
    if not len(view.varying):
        raise DataError(
            "no feature varies over the rows whose labels are all known; label more rows"
        )
    return view


def scores_of(solution: Solution, view: GramView, engine: Engine, sketch: int = 0) -> Scores:
    """Row norms of the weights as scores; `sketch` as in `labelled_view`."""
    return Scores.of_varying(
        row_norms(solution.weights),
        view.varying,
        engine.num_features,
        objective=[float(v) for v in solution.objective],
        converged=solution.converged,
        details={
            "iterations": solution.iterations,
            "labelled_rows": int(view.n),
            **({"label_sketch": sketch} if sketch else {}),
        },
    )


class Ridge(GramMethod):
    """Row norms of the multi-output ridge regression.

        min ‖HY − HXW‖² + α Σ_i p_i ‖w_i‖²,    W = (G + α diag p)⁻¹C,    score ‖w_i‖

    Symbols: $rows; H = I − 11'/n, so that the intercept is not penalised; G = X'HX, C = X'HY;
    $weights; α ≥ 0 ``alpha``; $penalty. $scores (under ``scaling="standard"``: per standard
    deviation). Raises: $gram. Source: Hoerl & Kennard 1970. Deviations: none. α = 0 with a singular
    G takes the solution of least norm."""

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


class Lasso(GramMethod):
    """Row norms of the LASSO of every label, or of the group LASSO.

        min (1/2n)‖HY − HXW‖² + α Σ_il p_i |w_il|        (``group=True``: α Σ_i p_i ‖w_i‖),    score
        ‖w_i‖

    Coordinate descent on the Gram matrix, duality gap at most 1e-10; of identical columns the first
    takes all. α ≥ max|C|/n gives W = 0, and max|C|/n ≤ ½ for 0/1 labels and z-scores: α = 1 selects
    nothing on any data. Symbols: $rows; H = I − 11'/n; C = X'HY; $weights; α ≥ 0 ``alpha``;
    $penalty. $scores. Raises: $gram. Source: Tibshirani 1996; Yuan & Lin 2006 (group). Deviations:
    the penalty's form instead of Tibshirani's bound on Σ|w|; the same solutions."""

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
        """Of the ℓ2,1 form only: ‖W‖₁ changes with a rotation of the labels."""
        return (
            super().sketch(profile, p)
            if p["group"]
            else no_sketch(p, "goes with group=True: the ℓ1 norm is of single labels")
        )

    def solve(self, view: GramView, p: Values) -> Solution:
        return linear.elastic_net(
            view, p["alpha"], p.get("rho", 1.0), group=p["group"], max_iter=p["max_iter"]
        )


class ElasticNet(Lasso):
    """Row norms of the elastic net of every label, or of its group form.

        min (1/2n)‖HY − HXW‖² + α Σ_i p_i [ρ Σ_l |w_il| + (1 − ρ)/2 ‖w_i‖²]        (``group=True``:
        ρ‖w_i‖),    score ‖w_i‖

    Coordinate descent on the Gram matrix, duality gap at most 1e-10. Symbols: $rows; H = I − 11'/n;
    $weights; α ≥ 0 ``alpha``; ρ ∈ [0, 1] ``rho``, 1 the LASSO, 0 ridge; $penalty. $scores. Raises:
    $gram. Source: Zou & Hastie 2005 (their naive elastic net); Yuan & Lin 2006 (group). Deviations:
    the paper multiplies the solution by 1 + λ₂; that changes no ranking and is left out."""

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

        min ½‖XW + 1b' − Y‖² + (α/2) tr W'L_fW + (β/2) Σ_i p_i ‖w_i‖,    W = (G + αL_f + βU)⁻¹C,
        score ‖w_i‖

    Reweighting U_ii = p_i/max(2‖w_i‖, ε) from U = diag p, then Newton steps (`solvers.l21`).
    Distances come from the Gram matrix. Symbols: $rows; H = I − 11'/n, G = X'HX, C = X'HY;
    $weights; b (q,) the intercept; L_f (v, v) the Laplacian of the k-nearest-feature graph: binary
    weights, an edge if either feature lists the other, distances ‖Hx_i − Hx_j‖; $penalty; α ≥ 0
    ``alpha``, β > 0 ``beta``; ε 1e-10 of the largest 2‖w_i‖ of the first iterate. $scores. Raises:
    $gram. Source: Cai & Zhu 2018 (the MSSL of Li & Zhai). Deviations: none known but the floor ε
    and the Newton steps, which lead to the same optimum."""

    name = "mssl"
    title = "feature-manifold regularised ℓ2,1 regression"
    source = "Cai & Zhu 2018"
    when = "neighbouring features, such as bands or pixels, shall weigh alike"
    penalised = True
    parameters = (
        Parameter("alpha", 0.1, Number(0), "weight of the feature manifold"),
        Parameter("beta", 1.0, Number(0, above=True), "weight of the ℓ2,1 norm"),
        Parameter("k", 10, Integer(1), "nearest features in the graph"),
        *ITERATED,
        LABEL_WEIGHTS,
    )

    def solve(self, view: GramView, p: Values) -> Solution:
        return l21_gram.mssl(
            view, p["alpha"], p["beta"], p["k"], tol=p["tol"], max_iter=p["max_iter"]
        )
