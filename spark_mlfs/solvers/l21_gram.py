"""ℓ2,1 methods whose statistics are one Gram matrix: formulas and sources are in the methods'
modules."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import sparse

from ..kernels.gram import GramView
from .l21 import minimise_l21
from .problems import Solution
from .walks import laplacian, symmetric_edges


def csfs(gram: GramView, mu: float = 1.0, **options: Any) -> Solution:
    """Solve `methods.csfs` with every row labelled.

    For unlabelled rows see `l21_scans.csfs_unlabelled`."""
    return _solve(
        gram,
        gram.G,
        mu,
        1.0,
        options,
    )


def msfs(
    gram: GramView,
    xlx: np.ndarray,
    alpha: float = 0.1,
    beta: float = 10.0,
    rho: float = 0.5,
    **options: Any,
) -> Solution:
    """Solve `methods.msfs`, given X'LX (v × v) of the sampled neighbourhood graph.

    X'LX is in the view's coordinates. ρ = 0, α = 0 is ridge(β); α = 0, ρ = 1 is fully labelled
    CSFS(β)."""
    A = gram.G + alpha * xlx if alpha else gram.G.copy()
    A[np.diag_indices_from(A)] += beta * (1 - rho)
    return _solve(
        gram,
        A,
        beta * rho,
        0.5,
        options,
    )


def mssl(
    gram: GramView,
    alpha: float = 0.1,
    beta: float = 1.0,
    k: int = 10,
    **options: Any,
) -> Solution:
    """Solve `methods.mssl` from the Gram matrix.

    L_f is the `feature_laplacian` of the k nearest features."""
    A = gram.G
    if alpha:
        A = gram.G + alpha * feature_laplacian(gram.G, gram.n, k).toarray()
    return _solve(
        gram,
        A,
        beta,
        0.5,
        options | {"penalties": gram.penalties},
    )


def _solve(
    gram: GramView,
    A: np.ndarray,
    beta: float,
    factor: float,
    options: dict[str, Any],
) -> Solution:
    constant = float(np.trace(gram.S))
    solution = minimise_l21(
        A,
        gram.C,
        beta,
        constant,
        factor,
        **options,
    )
    solution.intercept = gram.offset_y.copy()
    return solution


def feature_laplacian(G: np.ndarray, n: float, k: int) -> sparse.csr_matrix:
    """Return the Laplacian of the k-nearest-feature graph.

    Binary weights, an edge if either feature lists the other; d²_ij = G_ii + G_jj − 2 G_ij (columns
    of the scaled X), neighbours ordered by round(d²/n, 10), then index."""
    d = len(G)
    k = min(k, d - 1)
    if k < 1:
        return sparse.csr_matrix((d, d))
    square = np.diag(G)
    neighbours = np.empty((d, k), dtype=np.int64)
    for first in range(0, d, 512):  # blocks bound the memory
        rows = np.arange(first, min(first + 512, d))
        distance = np.round((square[rows, None] + square - 2 * G[rows]) / n, 10)
        distance[np.arange(len(rows)), rows] = np.inf
        kth = np.partition(distance, k - 1, axis=1)[:, k - 1]
        for i, row in enumerate(rows):
            near = np.flatnonzero(distance[i] <= kth[i])
            # their indices ascend, so a stable sort settles the ties
            neighbours[row] = near[np.argsort(distance[i, near], kind="stable")[:k]]
    features = np.repeat(np.arange(d), k)
    return laplacian(symmetric_edges(features, neighbours.ravel(), np.ones(d * k), d))
