"""SPEC on the n x n multi-label graph, from Zhao & Liu's definitions. Independent of the
library."""

from __future__ import annotations

import numpy as np

from oracles.information import varying_labels
from oracles.neighbours import label_similarity


def spec(X: np.ndarray, Y: np.ndarray, criterion: str = "phi1", k: int | None = None) -> np.ndarray:
    """-phi1, -phi2 or phi3 of each column of X, standardised over all rows; isolated rows leave the
    graph."""
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    A = label_similarity(Y)
    np.fill_diagonal(A, 0.0)
    live = A.sum(axis=1) > 0
    A, Z = A[live][:, live], Z[live]
    degree = A.sum(axis=1)
    D, L = np.diag(degree), np.diag(degree) - A
    half = np.diag(degree**-0.5)
    gamma, xi = np.linalg.eigh(half @ L @ half)
    first = np.sqrt(degree) / np.linalg.norm(np.sqrt(degree))
    k = varying_labels(Y).shape[1] if k is None else k
    out = np.empty(Z.shape[1])
    for f, x in enumerate(Z.T):
        energy = x @ D @ x
        if energy <= 1e-12 * degree.sum():
            out[f] = 0.0 if criterion == "phi3" else -2.0
            continue
        if criterion == "phi1":
            out[f] = -(x @ L @ x) / energy
            continue
        unit = np.sqrt(degree) * x / np.sqrt(energy)
        if 1 - (unit @ first) ** 2 <= 1e-12:
            out[f] = 0.0 if criterion == "phi3" else -2.0
        elif criterion == "phi2":
            out[f] = -((x @ L @ x) / energy) / (1 - (unit @ first) ** 2)
        else:
            cut = gamma[min(k, len(gamma)) - 1] + 1e-9
            # of the null space only xi_1 = D^1/2 1 is removed; eigh may return any basis of it
            out[f] = -2 * (unit @ first) ** 2
            out[f] += sum(
                (2 - g) * (unit @ v) ** 2 for g, v in zip(gamma, xi.T, strict=True) if g <= cut
            )
    return out
