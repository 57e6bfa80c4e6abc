"""ℓ2,1 regression of the features on factorised labels.

    min ‖XW − V‖² + γ‖W‖₂,₁,    score ‖w_i‖

Rows of one labelset have one latent row, so the distinct labelsets, their counts and sums suffice.
``factorizer="nmf"`` (multiplicative updates, V then B, from |U_c|√S, √S|V_c'| of Y's truncated SVD)
or ``"svd"``; ‖b_r‖ = 1 fixes the scale.
``solver="irls"`` (default) reweights, ``"armijo"`` is the paper's descent: the same minimum. There
is no intercept. Rows with unknown labels are left out. ``label_sketch`` puts Z = YR/√s, r columns
(`kernels.sketch`), for Y: Z's truncated SVD is V = ZB', so that X'Z and Z'Z are all it takes, and
neither labelsets nor anything of labels × labels is formed.
``factorizer=None`` (default) is NMF, and the SVD where labels are sketched: NMF does not take a
sketch's signs. Graded labels are factorised as the numbers they are, a labelset being a distinct
row of grades; with ``factorizer="svd"`` X'Y and Y'Y are all it takes, however many such rows there
are.
Symbols: X (n, v) the scaled features that vary, Y (n, q) the labels, 0 and 1 or grades; V (n, c)
the latent labels, B (c, q), b_r its row r; c by default ⌈0.3q⌉ and at most the rank of Y, or of Z;
W (v, c), w_i its row of feature i; ‖W‖₂,₁ = Σ_i ‖w_i‖; γ > 0 ``gamma``. Score (v,), latent labels
per scaled unit of the feature.
Raises: $nothing, or they have no label; `BudgetError` where the Gram matrix, the sums (labelsets ×
features) or the factors exceed $budget; $range, or labels are to be sketched for NMF.
Source: Valadi et al., Eq. 3 to 5 and their algorithm.
Deviations:
- Eq. 3's 2γ tr W'DW is γ‖W‖₂,₁ at its own D, and that is minimised, as the gradient (Eq. 4) with D
  moving does;
- the paper's "simple matrix factorisation" by gradient descent from a random start is NMF or SVD
  without chance;
- the descent (`solvers.armijo`) divides the gradient by its curvature, starts at W = 0 and lowers ε
  by hundreds."""

from __future__ import annotations

import numpy as np

from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..errors import ON_THE_DRIVER, must_fit, setting
from ..kernels.gram import GramView
from ..params import Choice, Integer, Number, Optional, Parameter, Values
from ..solvers import armijo, l21
from ..solvers.factorise import FACTORIZERS, latent_width, leading, nmf, svd
from ..statistics.base import Statistic
from ..statistics.gram import Gram
from ..statistics.labelsets import Labelsets, LabelsetSums
from ..statistics.moments import Moments
from .base import Method, Scores
from .regression import (
    LABEL_SKETCH,
    MAX_ITER,
    SCALING,
    labelled_view,
    no_sketch,
    scores_of,
    sketch_width,
)


class OMFS(Method):
    """ℓ2,1 regression of the features on factorised labels."""

    name = "omfs"
    title = "ℓ2,1 regression on factorised labels"
    source = "Valadi et al."
    row_norms = True
    shrinks = True
    when = "many labels that depend on each other: factors of them are fitted"
    cost = "one scan"
    statistics = (Gram, LabelsetSums)
    parameters = (
        Parameter("gamma", 0.8, Number(0, above=True), "weight of the ℓ2,1 norm"),
        Parameter("c", None, Optional(Integer(1)), "latent width; None: ⌈0.3 q⌉"),
        Parameter(
            "factorizer",
            None,
            Optional(Choice(FACTORIZERS)),
            "how the labels are factorised; None: nmf, a sketch by svd",
        ),
        Parameter(
            "solver", "irls", Choice(("irls", "armijo")), "reweighting, or the paper's descent"
        ),
        SCALING,
        MAX_ITER,
        LABEL_SKETCH,
    )

    def sketch(self, profile: Profile, p: Values) -> int:
        if p["factorizer"] == "nmf":
            return no_sketch(p, "goes with factorizer='svd': NMF does not take a sketch's signs")
        return sketch_width(profile, p)

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        sketch = self.sketch(engine.profile, p)
        if sketch or (engine.profile.graded and p["factorizer"] == "svd"):
            return [Gram(sketch=sketch)]
        by = "grades" if engine.profile.graded else "labels"
        return [Gram(), LabelsetSums(by=by)]

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        sketch = self.sketch(engine.profile, p)
        _, *by_labelset = engine.run(*self.needs(engine, p))
        view = labelled_view(engine, p["scaling"], centred=False, sketch=sketch)
        with one_thread():
            if by_labelset:
                cross, constant, converged = self._of_labelsets(engine, p, view, *by_labelset[0])
            else:  # V = ZB' of the sketch Z, or of grades
                size, B = leading(view.S, p["c"] or latent_width(engine.profile.q))
                cross = view.C @ B.T
                constant = float(size @ size)
                converged = True
            solve = l21.minimise_l21 if p["solver"] == "irls" else armijo.omfs_armijo
            solution = solve(
                view.G,
                cross,
                p["gamma"],
                constant,
                max_iter=p["max_iter"],
            )
            scores = scores_of(solution, view, engine, sketch)
        scores.details |= {"latent_width": cross.shape[1], "factorisation_converged": converged}
        return scores

    def _of_labelsets(
        self,
        engine: Engine,
        p: Values,
        view: GramView,
        sets: Labelsets,
        sums: Moments,
    ) -> tuple[np.ndarray, float, bool]:
        """Return X'V in the view's coordinates, ‖V‖², and whether the factorisation converged."""
        m = len(sets.counts)
        q = engine.profile.q
        c = p["c"] or latent_width(q)
        # three arrays of the labelsets' size, Y'Y and its vectors, V four times
        need = 8 * (3 * m * q + 4 * q * q + 4 * m * c)
        remedy = (
            f"let a sketch stand for the labels ({setting('label_sketch', 256)}, without "
            f"{setting('factorizer', 'nmf')})"
        )
        if engine.profile.graded:
            remedy = f"take {setting('factorizer', 'svd')}, which needs second moments only"
        needs = f"the factors of {m} labelsets of {q} labels need"
        must_fit(
            need,
            engine.budgets.driver,
            "driver_bytes",
            needs,
            f"or {remedy}",
            ON_THE_DRIVER,
        )
        unit = engine.profile.weight_unit
        counts = sets.counts * unit
        factorise = svd if p["factorizer"] == "svd" else nmf
        factors = factorise(sets.matrix(q).toarray().astype(np.float64), counts, p["c"])
        V = factors.V
        # sums are of x less the provisional centre, as the view's shift is
        scaled = sums.total[:, view.varying] * unit
        scaled = (scaled - counts[:, None] * view.shift) / view.scale
        return scaled.T @ V, float(counts @ (V * V).sum(axis=1)), factors.converged
