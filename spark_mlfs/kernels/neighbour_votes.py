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

COUNTED = 1 << 20  # labels of rows and of their neighbours that are counted at once


def label_counts(ids: ndarray, y: sp.csr_matrix) -> ndarray:
    """Return (rows, q) labels among the neighbours of `ids` (rows, k), positions in y."""
    return np.rint(_counted(ids, y).toarray()).astype(np.int64)


def _counted(ids: ndarray, y: sp.csr_matrix) -> sp.csr_matrix:
    """Return the same counts, stored where a neighbour has the label."""
    has_neighbour = ids != NONE
    indptr = np.concatenate([[0], np.cumsum(has_neighbour.sum(axis=1))])
    entries = (np.ones(indptr[-1]), ids[has_neighbour], indptr)
    return sp.csr_matrix(entries, shape=(len(ids), y.shape[0])) @ y


def posterior_tables(
    best: Nearest,
    y: sp.csr_matrix,
    s: float,
    k: int,
) -> dict[str, ndarray]:
    """Return `prior` (q,), `with`, `without` (q, k+1): P(l), P(j|l), P(j|¬l).

    From the neighbours of the training rows, which have the labels y (n, q) of 0 and 1."""
    n, q = y.shape
    width = k + 1
    rows_with = np.bincount(y.indices, minlength=q)
    kappa = np.zeros(q * 2 * width, np.int64)  # (label, whether a row has it, j)
    labels_of_a_row = min(q, width * int(np.diff(y.indptr).max(initial=0)))
    step = max(COUNTED, len(kappa)) // max(1, labels_of_a_row)
    for first in range(0, n, step):
        rows = slice(first, first + step)
        # entries of at least k + 1 are those of labels that the row has itself
        cells = _counted(best.ids[rows], y) + width * y[rows]
        places = 2 * width * cells.indices.astype(np.int64) + np.rint(cells.data).astype(np.int64)
        kappa += np.bincount(places, minlength=len(kappa))
    without_label, with_label = np.swapaxes(kappa.reshape(q, 2, width), 0, 1)
    without_label[:, 0] = n - rows_with - without_label[:, 1:].sum(axis=1)
    return {
        "prior": (s + rows_with) / (2 * s + n),
        "with": _shares(with_label, s),
        "without": _shares(without_label, s),
    }


def _shares(kappa: ndarray, s: float) -> ndarray:
    """Return (q, k+1) smoothed shares of rows with j neighbours, of how many there are."""
    return (s + kappa) / (s * kappa.shape[1] + kappa.sum(axis=1, keepdims=True))


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
    tables = posterior_tables(nearest(reference, reference, k), y, s, k)
    new_rows = Rows(query, -1 - np.arange(query.shape[0]))  # a row to predict is no training row
    yes, no = odds(label_counts(nearest(new_rows, reference, k).ids, y), tables)
    return yes / (yes + no)
