"""ℓ2,1 regression on label factors that are learned with it and smooth over neighbouring rows.

    min ‖XW − V‖² + α‖Y − VB‖² + β tr V'LV + γ‖W‖₂,₁
    score ‖w_i‖ with the rows of B scaled to length one

by exact block updates W, B, V (`solvers.mifs`), the objective never rises. With β = 0, V is linear
in [X, Y] and the Gram matrices suffice; with β > 0 the rows are held in one process. There is no
intercept. Rows with unknown labels are left out.
Symbols: X (n, v) the scaled features that vary, Y (n, q) the 0/1 labels; V (n, c) the latent
labels, B (c, q) what they mean, c by default ⌈0.3q⌉ and at most the rank of Y; W (v, c), w_i its
row of feature i; L (n, n) the Laplacian of the heat graph of the k nearest rows, weight exp(−d²/t),
t the mean d² of the directed edges, an edge if either end lists the other; ‖W‖₂,₁ = Σ_i ‖w_i‖; α, β
≥ 0, γ > 0 ``alpha``, ``beta``, ``gamma``. Score (v,), latent labels per scaled unit of the feature.
Raises: $nothing, or they have no label; `BudgetError` where the Gram matrix, or with β > 0 the
rows, exceed $budget; $range.
Source: Jian, Li, Shu & Liu 2016, as Valadi et al. give it (Eq. 1 and 2; Eq. 1 omits γ).
Deviations:
- as printed the problem has no minimiser, (aV, aW, B/a) with a → 0 lowers every term but the
  second: ``constraint="orthonormal"`` (default) asks BB' = I; ``"none"`` is the paper's, where the
  number of iterations decides;
- exact updates of blocks, then extrapolation and Newton steps, instead of gradient steps: the
  paper's fixed points."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.sparse.linalg import LinearOperator

from ..blocks.block import Block
from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..kernels.gram import GramView
from ..kernels.nearest import NONE
from ..params import Choice, Integer, Number, Optional, Parameter, Values
from ..solvers import mifs
from ..statistics import neighbours
from ..statistics.gram import Gram
from ..statistics.neighbours import Geometry, Neighbourhood
from ..statistics.sample import SampledRows
from .base import Method, Scores
from .regression import SCALING, TOL, labelled_view, scores_of


class MIFS(Method):
    """ℓ2,1 regression on label factors that are learned with it and smooth over neighbouring
    rows."""

    name = "mifs"
    title = "joint label factorisation and selection"
    source = "Jian et al. 2016"
    row_norms = True
    shrinks = True
    statistics = (Gram, SampledRows, neighbours.NearestRows)
    when = "noisy labels that a few factors stand behind"
    cost = "one scan; neighbours where β > 0"
    always = (Gram(),)
    parameters = (
        Parameter(
            "alpha",
            1.0,
            Number(0, above=True),
            "weight of the label factorisation, all that ties V to the labels",
        ),
        Parameter("beta", 0.1, Number(0), "weight of the row manifold"),
        Parameter("gamma", 1.0, Number(0, above=True), "weight of the ℓ2,1 norm"),
        Parameter("c", None, Optional(Integer(1)), "latent width; None: ⌈0.3 q⌉"),
        Parameter("k", 5, Integer(1), "nearest rows in the graph"),
        Parameter(
            "constraint",
            "orthonormal",
            Choice(mifs.CONSTRAINTS),
            "BB' = I, or none as in the paper",
        ),
        SCALING,
        Parameter("max_iter", 2000, Integer(1), "iterations at most"),
        TOL,
    )

    def pairs(self, profile: Profile, p: Values) -> int:
        return profile.n**2 if p["beta"] else 0

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        view = labelled_view(engine, p["scaling"], centred=False)
        options = {
            name: p[name]
            for name in ("alpha", "beta", "gamma", "c", "constraint", "tol", "max_iter")
        }
        with one_thread():
            if p["beta"]:
                columns = engine.profile.varying[view.varying]
                geometry = Geometry(columns, view.offset, view.scale, centre=view.centre)
                block = neighbours.anchors_of(engine, None, 0)
                (near,) = neighbours.nearest_rows(engine, block, geometry, (Neighbourhood(p["k"]),))
                rows = np.where(near.ids == NONE, -1, np.searchsorted(block.ids, near.ids))
                options["X"] = _operator(block, columns, view)
                options["Y"] = block.labels(engine.profile.q).toarray()
                options["laplacian"] = mifs.heat_laplacian(rows, near.squares)
            return scores_of(mifs.mifs(view, **options), view, engine)


def _operator(block: Block, columns: np.ndarray, view: GramView) -> np.ndarray | LinearOperator:
    """Return X in the view's coordinates; a sparse one is shifted on the fly."""
    if not block.sparse:
        return view.scaled(block.x[:, columns].astype(np.float64))
    x = sp.csr_matrix(block.x[:, columns], dtype=np.float64, copy=True)
    # a feature about another centre than 0 stores every row
    x.data = (x.data - view.centre[x.indices]) / view.scale[x.indices]
    shift = view.shift / view.scale
    return LinearOperator(
        x.shape,
        dtype=np.float64,
        matvec=lambda w: x @ w - shift @ w,
        rmatvec=lambda u: x.T @ u - shift * u.sum(),
        matmat=lambda w: x @ w - shift @ w,
        rmatmat=lambda u: x.T @ u - np.outer(shift, u.sum(axis=0)),
    )
