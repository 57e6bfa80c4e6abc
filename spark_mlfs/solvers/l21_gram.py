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
    """`methods.csfs` with every row labelled; for unlabelled rows see
    `l21_scans.csfs_unlabelled`."""
    return _with_intercept(
        gram, minimise_l21(gram.G, gram.C, mu, float(np.trace(gram.S)), **options)
    )


def msfs(
    gram: GramView,
    xlx: np.ndarray,
    alpha: float = 0.1,
    beta: float = 10.0,
    rho: float = 0.5,
    **options: Any,
) -> Solution:
    """`methods.msfs`, given X'LX (v × v) of the sampled neighbourhood graph in the view's
    coordinates. ρ = 0, α = 0 is ridge(β); α = 0, ρ = 1 is fully labelled CSFS(β)."""
    A = gram.G + alpha * xlx if alpha else gram.G.copy()
    A[np.diag_indices_from(A)] += beta * (1 - rho)
    return _with_intercept(
        gram, minimise_l21(A, gram.C, beta * rho, float(np.trace(gram.S)), 0.5, **options)
    )


def mssl(
    gram: GramView, alpha: float = 0.1, beta: float = 1.0, k: int = 10, **options: Any
) -> Solution:
    """`methods.mssl`, L_f the `feature_laplacian` of the k nearest features, from the Gram
    matrix."""
    A = gram.G + alpha * feature_laplacian(gram.G, gram.n, k).toarray() if alpha else gram.G
    more = options | {"penalties": gram.penalties}
    return _with_intercept(
        gram, minimise_l21(A, gram.C, beta, float(np.trace(gram.S)), 0.5, **more)
    )


def _with_intercept(gram: GramView, solution: Solution) -> Solution:
    solution.intercept = gram.offset_y.copy()
    return solution


def feature_laplacian(G: np.ndarray, n: float, k: int) -> sparse.csr_matrix:
    """Laplacian of the k-nearest-feature graph: binary weights, an edge if either feature lists the
    other; d²_ij = G_ii + G_jj − 2 G_ij (columns of the scaled X), neighbours ordered by round(d²/n,
    10), then index."""
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
            near = np.flatnonzero(
                distance[i] <= kth[i]
            )  # ascending index, so a stable sort settles the ties
            neighbours[row] = near[np.argsort(distance[i, near], kind="stable")[:k]]
    return laplacian(
        symmetric_edges(np.repeat(np.arange(d), k), neighbours.ravel(), np.ones(d * k), d)
    )
