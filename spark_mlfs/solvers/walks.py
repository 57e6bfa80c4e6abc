"""The sampled neighbourhood graph of MSFS, on a sparse or dense similarity T of rows.

P = D⁻¹T; C visits of walks over P, or E[C] = Σ_{s≤k} P^s; S = (C + C')/2. A row without mass goes
nowhere. What the method needs is X'LX, L the Laplacian of S: sampled walks leave S sparse; for
expected ones Σ P^s X is summed by Horner's rule."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.sparse as sp

from ..kernels.matrix import Matrix

COLUMNS = 64  # of X in use at once: bounds the memory of the expected walk
PAIRS = 1 << 16  # of rows of grades that are compared at once
VISIT_BYTES = 48  # of memory a visit of a sampled walk takes until the graph is used


def ruzicka(grades: sp.csr_matrix, left: np.ndarray, right: np.ndarray) -> np.ndarray:
    """(t,) Σ_l min(y_il, y_jl)/Σ_l max(y_il, y_jl) of listed pairs of rows of grades, 0 of empty
    ones; of 0 and 1 it is Jaccard's index."""
    size, shared = np.asarray(grades.sum(axis=1)).ravel(), np.empty(len(left))
    for first in range(0, len(left), PAIRS):
        part = slice(first, first + PAIRS)
        shared[part] = np.asarray(
            grades[left[part]].minimum(grades[right[part]]).sum(axis=1)
        ).ravel()
    either = size[left] + size[right] - shared
    return np.divide(shared, either, out=np.zeros(len(left)), where=either > 0)


def ruzicka_table(grades: sp.csr_matrix, rows: slice) -> np.ndarray:
    """(len(rows), n) `ruzicka` of some of the rows with all of them."""
    size, columns, some = (
        np.asarray(grades.sum(axis=1)).ravel(),
        grades.tocsc(),
        grades[rows].tocsc(),
    )
    shared = np.zeros((some.shape[0], len(size)))
    for label in range(grades.shape[1]):
        mine, all_ = (slice(m.indptr[label], m.indptr[label + 1]) for m in (some, columns))
        least = np.minimum.outer(some.data[mine], columns.data[all_])
        shared[np.ix_(some.indices[mine], columns.indices[all_])] += least
    either = size[rows][:, None] + size - shared
    return np.divide(shared, either, out=np.zeros_like(shared), where=either > 0)


def kernel(squares: np.ndarray, product: np.ndarray | float) -> np.ndarray:
    """exp(−d²/(σ_iσ_j)); 1 where both are 0, 0 where only the scale is."""
    product = np.broadcast_to(np.asarray(product, np.float64), squares.shape)
    return np.exp(
        -np.divide(squares, product, out=np.where(squares > 0, np.inf, 0.0), where=product > 0)
    )


def symmetric_edges(i: np.ndarray, j: np.ndarray, values: np.ndarray, n: int) -> sp.csr_matrix:
    """(n, n) symmetric matrix from directed edges i → j: an edge if either end lists the other."""
    edges = sp.csr_matrix((values, (i, j)), shape=(n, n))
    return edges.maximum(edges.T).tocsr()


def laplacian(edges: sp.csr_matrix) -> sp.csr_matrix:
    """D − S of a symmetric graph S, D its degrees."""
    return (sp.diags(np.asarray(edges.sum(axis=1)).ravel()) - edges).tocsr()


def transitions(T: Matrix) -> Matrix:
    """P = D⁻¹T; a row without mass stays zero."""
    mass = np.asarray(T.sum(axis=1)).ravel()
    inverse = np.divide(1.0, mass, out=np.zeros_like(mass), where=mass > 0)
    return sp.csr_matrix(sp.diags(inverse) @ T) if sp.issparse(T) else T * inverse[:, None]


def sampled_visits(
    P: Matrix, steps: int, walk: str, uniform: Callable[[int], np.ndarray]
) -> sp.csr_matrix:
    """C: visits by one walk of `steps` steps (``"dfs"``), or `steps` draws of one step (``"bfs"``),
    from every row; `uniform(s)` gives (n,) numbers in [0, 1): step s of row i goes where the
    cumulated row of P passes them."""
    P = sp.csr_matrix(P)
    P.sort_indices()
    n = P.shape[0]
    total = np.concatenate([[0.0], np.cumsum(P.data)])
    begin, end = P.indptr[:-1], P.indptr[1:]
    at = np.arange(n)
    seen = np.full((n, steps), -1, np.int32)
    for step in range(steps):
        origin = at if walk == "dfs" else np.arange(n)
        moving = np.flatnonzero(end[origin] > begin[origin])
        left = origin[moving]
        low, high = total[begin[left]], total[end[left]]
        goal = low + uniform(step)[moving] * (high - low)
        edge = np.searchsorted(total, goal, side="right") - 1
        edge = np.clip(edge, begin[left], end[left] - 1)
        seen[moving, step] = target = P.indices[edge]
        at = at.copy()
        at[moving] = target
    seen.sort(axis=1)
    taken = seen >= 0
    ends = np.concatenate([[0], np.cumsum(taken.sum(axis=1))])
    seen = seen[taken]
    visits = sp.csr_matrix(
        (np.ones(len(seen), np.float32), seen, ends), shape=(n, n)
    )  # whole numbers, exact
    visits.sum_duplicates()
    return visits


def expected_form(P: Matrix, steps: int, X: Matrix) -> np.ndarray:
    """X'LX (v, v), L the Laplacian of (E[C] + E[C]')/2, E[C] = Σ_{1≤s≤steps} P^s: X'CX column by
    column from Z = X + PZ."""
    n, v = X.shape

    def powers(M: Matrix, start: np.ndarray) -> np.ndarray:
        out = M @ start
        for _ in range(steps - 1):
            out = M @ (start + out)
        return out

    degree = 0.5 * (
        powers(P, np.ones(n)) + powers(P.T.tocsr() if sp.issparse(P) else P.T, np.ones(n))
    )
    cross = np.empty((v, v))
    for a in range(0, v, COLUMNS):
        part = X[:, a : a + COLUMNS]
        part = part.toarray() if sp.issparse(part) else np.ascontiguousarray(part)
        cross[:, a : a + COLUMNS] = X.T @ powers(P, part)
    squares = (
        (X.T @ sp.csr_matrix(X.multiply(degree[:, None]))).toarray()
        if sp.issparse(X)
        else X.T @ (X * degree[:, None])
    )
    return squares - 0.5 * (cross + cross.T)
