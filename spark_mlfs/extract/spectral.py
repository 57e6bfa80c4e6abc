"""Projections by leading eigenvectors of second moments."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ..blocks.codec import State
from ..engine.base import Engine, one_thread
from ..methods.regression import labelled_view
from ..params import Choice, Integer, Number, Optional, Parameter, Values
from ..solvers.factorise import signed
from .base import SCALING, Linear


class MDDM(Linear):
    """Projection of maximum dependence on the labels.

        variant="p"   max tr P'CC'P  under  P'P = I
        variant="f"   max tr P'CC'P  under  P'BP = I,    B = μG/n + (1 − μ)I

    The eigenvectors of CC' (against B) follow from a thin SVD of C (of L⁻¹C, B = LL'): rank at most
    q. Extracted: P'x. Ranking of the features: row norms of P√λ; with dim = q these are ‖C_i‖ for p
    and ‖(B⁻¹C)_i‖ for f. One scan.
    Symbols: $rows; H = I − 11'/n, G = X'HX, C = X'HY; P (v, r), r ≤ min(``dim``, rank C) extracted
    features, by default at most q; λ (r,) the eigenvalues; μ ∈ [0, 1] ``mu``, 1 with a ridge of
    1e-10 of the mean diagonal.
    Raises: $one_value; `BudgetError` where the Gram matrix exceeds $budget; $range.
    Source: Zhang & Zhou 2010.
    Deviations: none known; the ranking of the original features is ours."""

    name = "mddm"
    title = "projection of maximum dependence on the labels"
    source = "Zhang & Zhou 2010"
    when = "a few combinations of all features that depend most on the labels"
    cost = "one scan"
    parameters = (
        Parameter(
            "variant", "p", Choice(("p", "f")), "orthonormal projection, or uncorrelated features"
        ),
        Parameter(
            "mu", 0.5, Number(0, 1), "weight of the features' covariance in the constraint (f)"
        ),
        Parameter(
            "dim",
            None,
            Optional(Integer(1)),
            "extracted features; None: as many as labels, at most the rank",
        ),
        SCALING,
    )

    def learn(self, engine: Engine, p: Values) -> State:
        view = labelled_view(engine, p["scaling"])
        with one_thread():
            if p["variant"] == "f":
                B = p["mu"] * view.G / view.n
                B[np.diag_indices_from(B)] += 1 - p["mu"]
                if p["mu"] == 1:  # the covariance alone may be singular
                    B[np.diag_indices_from(B)] += 1e-10 * np.trace(B) / len(B)
                L = linalg.cholesky(B, lower=True)
                C = linalg.solve_triangular(L, view.C, lower=True)
            else:
                C = view.C
            left, size, _ = linalg.svd(C, full_matrices=False)
            rank = int((size > 1e-10 * size.max(initial=0.0)).sum())
            width = min(rank, p["dim"] or engine.profile.q)
            P = left[:, :width]
            if p["variant"] == "f":
                P = linalg.solve_triangular(L, P, lower=True, trans="T")
            P = signed(P)
        size = size[:width]
        scores = view.expand(np.linalg.norm(P * size, axis=1))
        return self.state_of(
            engine,
            view,
            P,
            eigenvalues=size**2,
            scores=scores,
        )


class MLSI(Linear):
    """Latent features that keep both the inputs and the labels.

        max tr P'AP  under  P'BP = I,    A = (1 − β)G² + βCC',    B = G + γI

    by the leading generalised eigenvectors. Extracted: P'x. Ranking of the features: row norms of
    P√λ. One scan.
    Symbols: $rows; H = I − 11'/n, G = X'HX, C = X'HY; P (v, r), r = min(``dim``, v) extracted
    features; λ (r,) the eigenvalues; β ∈ [0, 1] ``beta``, γ > 0 ``gamma``.
    Raises: $one_value; `BudgetError` where the Gram matrix exceeds $budget; $range.
    Source: Yu, Yu & Tresp 2005.
    Deviations: none known; the ranking of the original features is ours."""

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
            beta = p["beta"]
            A = (1 - beta) * (view.G @ view.G) + beta * (view.C @ view.C.T)
            B = view.G.copy()
            B[np.diag_indices_from(B)] += p["gamma"]
            v = len(A)
            width = min(p["dim"], v)
            values, vectors = linalg.eigh(
                (A + A.T) / 2, B, subset_by_index=(v - width, v - 1), check_finite=False
            )
            values = values[::-1]
            P = signed(vectors[:, ::-1])
        roots = np.sqrt(np.maximum(values, 0))
        scores = view.expand(np.linalg.norm(P * roots, axis=1))
        return self.state_of(
            engine,
            view,
            P,
            eigenvalues=values,
            scores=scores,
        )
