"""MLSI: supervised latent semantic indexing.

    max tr P'AP  under  P'BP = I,    A = (1 − β)G² + βCC',    B = G + γI

by the leading generalised eigenvectors. Extracted: P'x. Ranking of the features: row norms of P√λ. One scan.
Symbols: $rows; H = I − 11'/n, G = X'HX, C = X'HY; P (v, r), r = min(``dim``, v) extracted features; λ (r,) the eigenvalues;
β ∈ [0, 1] ``beta``, γ > 0 ``gamma``.
Raises: $one_value; `BudgetError` where the Gram matrix exceeds $budget; $range.
Source: Yu, Yu & Tresp 2005.
Deviations: none known; the ranking of the original features is ours.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ..blocks.codec import State
from ..engine.base import Engine, one_thread
from ..methods.regression import labelled_view
from ..params import Integer, Number, Parameter, Values
from ..solvers.factorise import signed
from .base import Linear
from .mddm import SCALING


class MLSI(Linear):
    """Latent features that keep both the inputs and the labels."""

    name = "mlsi"
    title = "supervised latent semantic indexing"
    source = "Yu, Yu & Tresp 2005"
    when = "a few combinations of sparse features, such as words, that labels share"
    cost = "one scan"
    parameters = (
        Parameter("beta", 0.5, Number(0, 1), "weight of the labels against the features"),
        Parameter("gamma", 1.0, Number(0, above=True), "ridge of the constraint"),
        Parameter("dim", 50, Integer(1), "extracted features, at most as many as there are"),
        SCALING,
    )

    def learn(self, engine: Engine, p: Values) -> State:
        view = labelled_view(engine, p["scaling"])
        with one_thread():
            A = (1 - p["beta"]) * (view.G @ view.G) + p["beta"] * (view.C @ view.C.T)
            B = view.G.copy()
            B[np.diag_indices_from(B)] += p["gamma"]
            v = len(A)
            width = min(p["dim"], v)
            values, vectors = linalg.eigh((A + A.T) / 2, B, subset_by_index=(v - width, v - 1), check_finite=False)
            values, P = values[::-1], signed(vectors[:, ::-1])
        scores = view.expand(np.linalg.norm(P * np.sqrt(np.maximum(values, 0)), axis=1))
        return self.state_of(engine, view, P, eigenvalues=values, scores=scores)
