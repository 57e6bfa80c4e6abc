"""The sampled neighbourhood graph of MSFS, on a sparse or dense similarity T of rows.

P = D⁻¹T; C visits of walks over P, or E[C] = Σ_{s≤k} P^s; S = (C + C')/2. A row without mass goes
nowhere. What the method needs is X'LX, L the Laplacian of S: sampled walks leave S sparse; for
expected ones Σ P^s X is summed by Horner's rule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..kernels.matrix import Matrix

COLUMNS = 64  # of X in use at once: bounds the memory of the expected walk
PAIRS = 1 << 16  # of rows of grades that are compared at once
VISIT_BYTES = 48  # of memory a visit of a sampled walk takes until the graph is used


def ruzicka(grades: sp.csr_matrix, left: ndarray, right: ndarray) -> ndarray:
    """Return (t,) Σ_l min(y_il, y_jl)/Σ_l max(y_il, y_jl) of listed pairs of rows of grades.

    It is 0 of empty ones; of grades 0 and 1 it is Jaccard's index."""
    size = np.asarray(grades.sum(axis=1)).ravel()
    shared = np.empty(len(left))
    for first in range(0, len(left), PAIRS):
        part = slice(first, first + PAIRS)
        least = grades[left[part]].minimum(grades[right[part]])
        shared[part] = np.asarray(least.sum(axis=1)).ravel()
    either = size[left] + size[right] - shared
    return np.divide(shared, either, out=np.zeros(len(left)), where=either > 0)


def ruzicka_table(grades: sp.csr_matrix, rows: slice) -> ndarray:
    """Return (len(rows), n) `ruzicka` of some of the rows with all of them."""
    size = np.asarray(grades.sum(axis=1)).ravel()
    columns = grades.tocsc()
    part = grades[rows].tocsc()
    shared = np.zeros((part.shape[0], len(size)))
    for label in range(grades.shape[1]):
        in_part = slice(part.indptr[label], part.indptr[label + 1])
        in_all = slice(columns.indptr[label], columns.indptr[label + 1])
        least = np.minimum.outer(part.data[in_part], columns.data[in_all])
        shared[np.ix_(part.indices[in_part], columns.indices[in_all])] += least
    either = size[rows][:, None] + size - shared
    return np.divide(shared, either, out=np.zeros_like(shared), where=either > 0)


def kernel(squares: ndarray, product: ndarray | float) -> ndarray:
    """Return exp(−d²/(σ_iσ_j)); 1 where both are 0, 0 where only the scale is."""
    product = np.broadcast_to(np.asarray(product, np.float64), squares.shape)
    ratio = np.where(squares > 0, np.inf, 0.0)
    return np.exp(-np.divide(squares, product, out=ratio, where=product > 0))


def symmetric_edges(
    i: ndarray,
    j: ndarray,
    values: ndarray,
    n: int,
) -> sp.csr_matrix:
    """Return the symmetric matrix (n, n) of directed edges i → j.

    It has an edge if either end lists the other."""
    edges = sp.csr_matrix((values, (i, j)), shape=(n, n))
    return edges.maximum(edges.T).tocsr()


def laplacian(edges: sp.csr_matrix) -> sp.csr_matrix:
    """Return D − S of a symmetric graph S, D its degrees."""
    degrees = np.asarray(edges.sum(axis=1)).ravel()
    return (sp.diags(degrees) - edges).tocsr()


def transitions(T: Matrix) -> Matrix:
    """Return P = D⁻¹T; a row without mass stays zero."""
    mass = np.asarray(T.sum(axis=1)).ravel()
    inverse = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0)
    if sp.issparse(T):
        return sp.csr_matrix(sp.diags(inverse) @ T)
    return T * inverse[:, None]


def sampled_visits(
    P: Matrix,
    steps: int,
    walk: str,
    uniform: Callable[[int], ndarray],
) -> sp.csr_matrix:
    """Return C, the visits of sampled walks from every row.

    A row has one walk of `steps` steps (``"dfs"``), or `steps` draws of one step (``"bfs"``).
    `uniform(s)` gives (n,) numbers in [0, 1): step s of row i goes where the cumulated row of P
    passes them."""
    P = sp.csr_matrix(P)
    P.sort_indices()
    n = P.shape[0]
    total = np.concatenate([[0.0], np.cumsum(P.data)])
    begin = P.indptr[:-1]
    end = P.indptr[1:]
    rows = np.arange(n)
    position = rows.copy()
    visited = np.full((n, steps), -1, np.int32)
    for step in range(steps):
        origin = position if walk == "dfs" else rows
        moving = np.flatnonzero(end[origin] > begin[origin])
        departed = origin[moving]
        low = total[begin[departed]]
        high = total[end[departed]]
        goal = low + uniform(step)[moving] * (high - low)
        edge = np.searchsorted(total, goal, side="right") - 1
        edge = np.clip(edge, begin[departed], end[departed] - 1)
        target = P.indices[edge]
        visited[moving, step] = target
        position[moving] = target
    visited.sort(axis=1)
    is_visit = visited >= 0
    ends = np.concatenate([[0], np.cumsum(is_visit.sum(axis=1))])
    columns = visited[is_visit]
    del visited, is_visit
    counts = np.ones(len(columns), np.float32)  # whole numbers, exact
    visits = sp.csr_matrix((counts, columns, ends), shape=(n, n))
    visits.sum_duplicates()
    return visits


def expected_form(P: Matrix, steps: int, X: Matrix) -> ndarray:
    """Return X'LX (v, v), L the Laplacian of (E[C] + E[C]')/2, E[C] = Σ_{1≤s≤steps} P^s.

    X'CX comes column by column from Z = X + PZ."""
    n, v = X.shape

    def powers(M: Matrix, start: ndarray) -> ndarray:
        out = M @ start
        for _ in range(steps - 1):
            out = M @ (start + out)
        return out

    backward = P.T.tocsr() if sp.issparse(P) else P.T
    degree = 0.5 * (powers(P, np.ones(n)) + powers(backward, np.ones(n)))
    del backward
    cross = np.empty((v, v))
    for first in range(0, v, COLUMNS):
        columns = slice(first, first + COLUMNS)
        part = X[:, columns]
        part = part.toarray() if sp.issparse(part) else np.ascontiguousarray(part)
        cross[:, columns] = X.T @ powers(P, part)
    if sp.issparse(X):
        squares = (X.T @ sp.csr_matrix(X.multiply(degree[:, None]))).toarray()
    else:
        squares = X.T @ (X * degree[:, None])
    return squares - 0.5 * (cross + cross.T)
