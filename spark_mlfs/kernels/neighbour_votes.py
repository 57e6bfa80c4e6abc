"""Labels from the labels of the nearest rows: neighbour counts, ML-kNN's tables and its posterior.

    P(l | j) = P(l) P(j|l) / (P(l) P(j|l) + P(¬l) P(j|¬l))

Symbols: j ∈ {0, …, k} how many of a row's k nearest training rows have label l of q; in full in
`classify.knn`."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from .knn import Rows
from .matrix import Matrix
from .nearest import NONE, Nearest, nearest


def label_counts(best: Nearest, y: sp.csr_matrix) -> ndarray:
    """Return (rows, q) labels among the neighbours, whose ids are positions in y."""
    has_neighbour = best.ids != NONE
    indptr = np.concatenate([[0], np.cumsum(has_neighbour.sum(axis=1))])
    entries = (np.ones(indptr[-1]), best.ids[has_neighbour], indptr)
    chosen = sp.csr_matrix(entries, shape=(len(best.ids), y.shape[0]))
    return np.rint((chosen @ y).toarray()).astype(np.int64)


def posterior_tables(
    counts: ndarray,
    y: sp.csr_matrix,
    s: float,
    k: int,
) -> dict[str, ndarray]:
    """Return `prior` (q,), `with`, `without` (q, k+1): P(l), P(j|l), P(j|¬l).

    From neighbour counts (n, q) of the training rows."""
    n, q = y.shape
    has_label = y.toarray() > 0
    cell = np.arange(q) * (k + 1) + counts
    return {
        "prior": (s + has_label.sum(axis=0)) / (2 * s + n),
        "with": _shares(cell[has_label], q, s, k),
        "without": _shares(cell[~has_label], q, s, k),
    }


def _shares(
    cells: ndarray,
    q: int,
    s: float,
    k: int,
) -> ndarray:
    """Return (q, k+1) smoothed shares of rows with j neighbours, of the rows' cells (label, j)."""
    kappa = np.bincount(cells, minlength=q * (k + 1)).reshape(q, k + 1)
    return (s + kappa) / (s * (k + 1) + kappa.sum(axis=1, keepdims=True))


def odds(counts: ndarray, tables: dict[str, ndarray]) -> tuple[ndarray, ndarray]:
    """Return (rows, q) P(l) P(j|l) and P(¬l) P(j|¬l) of rows with these neighbour counts."""
    label = np.arange(counts.shape[1])
    prior = tables["prior"]
    return prior * tables["with"][label, counts], (1 - prior) * tables["without"][label, counts]


def posteriors(
    x: Matrix,
    y: sp.csr_matrix,
    query: Matrix,
    k: int = 10,
    s: float = 1.0,
) -> ndarray:
    """Return (rows, q) P(l | j) of the rows `query` (rows, v).

    Learned of training rows x (n, v), y (n, q), k < n."""
    reference = Rows(x, np.arange(x.shape[0]))
    tables = posterior_tables(label_counts(nearest(reference, reference, k), y), y, s, k)
    new_rows = Rows(query, -1 - np.arange(query.shape[0]))  # a row to predict is no training row
    yes, no = odds(label_counts(nearest(new_rows, reference, k), y), tables)
    return yes / (yes + no)
