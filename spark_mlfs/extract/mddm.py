"""MDDM: the projection that depends most on the labels, by the Hilbert-Schmidt independence criterion with a linear label kernel.

With G = X'HX and C = X'HY of the scaled features: max tr P'CC'P under P'P = I (variant ``p``) or P'(μG/n + (1−μ)I)P = I (``f``).
The eigenvectors of CC' (against B) follow from a thin SVD of C (of L⁻¹C, B = LL'): rank at most q. Ranking of the features: row
norms of P·√λ; with dim = q these are ‖C_i‖ for p and ‖(B⁻¹C)_i‖ for f. One scan. Source: Zhang & Zhou 2010.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from scipy import linalg

from ..blocks.codec import State
from ..engine.base import Engine, one_thread
from ..kernels.gram import SCALINGS
from ..methods.regression import labelled_view
from ..params import Choice, Integer, Number, Optional, Parameter
from .base import Linear, signed

SCALING = Parameter("scaling", "standard", Choice(SCALINGS), "what is done to the features first")


class MDDM(Linear):
    """Projection of maximum dependence on the labels."""

    name = "mddm"
    title = "projection of maximum dependence on the labels"
    source = "Zhang & Zhou 2010"
    parameters = (
        Parameter("variant", "p", Choice(("p", "f")), "orthonormal projection, or uncorrelated features"),
        Parameter("mu", 0.5, Number(0, 1), "weight of the features' covariance in the constraint (f)"),
        Parameter("dim", None, Optional(Integer(1)), "extracted features; None: as many as labels, at most the rank"),
        SCALING,
    )

    def learn(self, engine: Engine, p: Mapping[str, Any]) -> State:
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
        scores = np.zeros(engine.num_features)
        scores[view.varying] = np.linalg.norm(P * size[:width], axis=1)
        columns = engine.profile.varying[view.varying]
        return {
            "columns": columns, "offset": view.offset, "scale": view.scale, "projection": P, "eigenvalues": size[:width] ** 2,
            "scores": scores,
        }  # fmt: skip
