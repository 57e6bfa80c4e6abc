"""Labels from the labels of the nearest rows: neighbour counts, ML-kNN's tables and its posterior.

    P(l | j) = P(l) P(j|l) / (P(l) P(j|l) + P(¬l) P(j|¬l))

Symbols: j ∈ {0, …, k} how many of a row's k nearest training rows have label l of q; in full in
`classify.knn`."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .knn import Rows
from .matrix import Matrix
from .nearest import NONE, Nearest, nearest


def label_counts(best: Nearest, y: sp.csr_matrix) -> np.ndarray:
    """(rows, q) labels among the neighbours, whose ids are positions in y."""
    taken = best.ids != NONE
    indptr = np.concatenate([[0], np.cumsum(taken.sum(axis=1))])
    chosen = sp.csr_matrix(
        (np.ones(indptr[-1]), best.ids[taken], indptr), shape=(len(best.ids), y.shape[0])
    )
    return np.rint((chosen @ y).toarray()).astype(np.int64)


def posterior_tables(
    counts: np.ndarray, y: sp.csr_matrix, s: float, k: int
) -> dict[str, np.ndarray]:
    """`prior` (q,), `with`, `without` (q, k+1): P(l), P(j|l), P(j|¬l), from neighbour counts (n, q)
    of the training rows."""
    n, q = y.shape
    have = y.toarray() > 0
    cell = np.arange(q) * (k + 1) + counts
    size = q * (k + 1)
    kappa = [np.bincount(cell[mask], minlength=size).reshape(q, k + 1) for mask in (have, ~have)]
    tables = [(s + c) / (s * (k + 1) + c.sum(axis=1, keepdims=True)) for c in kappa]
    return {"prior": (s + have.sum(axis=0)) / (2 * s + n), "with": tables[0], "without": tables[1]}


def odds(counts: np.ndarray, tables: dict[str, np.ndarray]) -> tuple[np.ndarray, np.ndarray]:
    """(rows, q) P(l) P(j|l) and P(¬l) P(j|¬l) of rows with these neighbour counts."""
    at = np.arange(counts.shape[1])
    return tables["prior"] * tables["with"][at, counts], (1 - tables["prior"]) * tables["without"][
        at, counts
    ]


def posteriors(
    x: Matrix, y: sp.csr_matrix, query: Matrix, k: int = 10, s: float = 1.0
) -> np.ndarray:
    """(rows, q) P(l | j) of the rows `query` (rows, v), learned of training rows x (n, v), y (n,
    q), k < n."""
    reference = Rows(x, np.arange(x.shape[0]))
    own = label_counts(nearest(reference, reference, k), y)
    strange = Rows(query, -1 - np.arange(query.shape[0]))  # a row to predict is no training row
    yes, no = odds(label_counts(nearest(strange, reference, k), y), posterior_tables(own, y, s, k))
    return yes / (yes + no)
