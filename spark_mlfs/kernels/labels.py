"""Similarity of rows through their labels, kept per distinct labelset.

    s(u, v) = sum over shared labels of n_l  /  sum over labels in either of n_l,
              0 when both are empty

is the GMBA paper's Eq. 2 (n_l rows with label l); with n_l = 1 it is the Jaccard index. Rows of one
labelset share every value, so the m distinct labelsets stand for the n rows and nothing is n x n.
Both sums are whole numbers, exact in float64 up to 2^53, and IEEE division rounds correctly: s = 1
if and only if the sums are equal, and `s >= s_min` holds for every ratio that the decimal s_min was
meant to admit (1/10 >= 0.1)."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from .matrix import Matrix

BLOCK_BYTES = 32 << 20


class LabelsetSimilarity:
    """The m x m similarity of a table of distinct labelsets, block of rows by block of rows.

    From `members` (m, q) 0/1 and `weights` (q,) whole numbers n_l ≥ 0, the rows with each label
    (Eq. 2), or None for the Jaccard index."""

    def __init__(self, members: Matrix, weights: ndarray | None = None) -> None:
        members = sp.csr_matrix(members, dtype=np.float64)
        members.eliminate_zeros()
        self.size, q = members.shape
        self.members = members
        self.weights = np.ones(q) if weights is None else np.asarray(weights, np.float64)
        self.totals = members @ self.weights  # weight of all labels of each labelset
        self._weighted = sp.csr_matrix(members.multiply(self.weights))
        self._columns = members.T.tocsr()

    @property
    def self_similarity(self) -> ndarray:
        """(m,) s(u, u): 1, or 0 where the labelset has no weight."""
        return (self.totals > 0).astype(np.float64)

    def similarity(self, rows: ndarray, columns: ndarray | None = None) -> ndarray:
        """Return (len(rows), len(columns)) s between labelsets, by their indices.

        `columns` None: all."""
        if columns is None:
            right = self._columns
            totals = self.totals
        else:
            right = self.members[columns].T
            totals = self.totals[columns]
        shared = (self._weighted[rows] @ right).toarray()
        either = self.totals[rows][:, None] + totals - shared
        return np.divide(shared, either, out=np.zeros_like(shared), where=either > 0)

    def between(self, left: ndarray, right: ndarray) -> Lookup:
        """Return s between two lists of rows, as a table over the codes that occur.

        `left` and `right`: their labelset codes."""
        rows, row_places = np.unique(left, return_inverse=True)
        columns, column_places = np.unique(right, return_inverse=True)
        return Lookup(self.similarity(rows, columns), row_places, column_places)

    def blocks(self) -> Iterator[tuple[ndarray, ndarray]]:
        """Yield (rows, s[rows, :]) over all rows, at most about `BLOCK_BYTES` at a time."""
        step = max(1, BLOCK_BYTES // max(1, 8 * self.size))
        for first in range(0, self.size, step):
            rows = np.arange(first, min(first + step, self.size))
            yield rows, self.similarity(rows)

    def degrees(self, counts: ndarray) -> ndarray:
        """Return (m,) degree of a row of each labelset in the graph of the rows.

        sum_v counts_v s(u, v) - s(u, u), `counts` (m,) the rows."""
        out = np.empty(self.size)
        of_self = self.self_similarity
        for rows, s in self.blocks():
            # added apart: a large count less one would lose a small degree
            s[np.arange(len(rows)), rows] = 0.0
            out[rows] = s @ counts + of_self[rows] * np.maximum(counts[rows] - 1, 0)
        return out


class Lookup:
    """A small table with the position of each row of two lists in it: value[i, j] = table[rows[i],
    columns[j]]."""

    def __init__(self, table: ndarray, rows: ndarray, columns: ndarray) -> None:
        self.table = table
        self.rows = rows
        self.columns = columns

    def full(self) -> ndarray:
        return self.table[self.rows][:, self.columns]

    def take(self, rows: ndarray) -> Lookup:
        return Lookup(self.table, self.rows[rows], self.columns)

    def transposed(self) -> Lookup:
        return Lookup(self.table.T, self.columns, self.rows)

    def pairs(self, i: ndarray, j: ndarray) -> ndarray:
        return self.table[self.rows[i], self.columns[j]]

    def compared(self, compare: np.ufunc, limit: float) -> Lookup:
        """Return whether the values compare so with a limit.

        They are above 0 where rows share a label (of positive weight)."""
        return Lookup(compare(self.table, limit), self.rows, self.columns)


def shared_labels(
    members: sp.csr_matrix, left: ndarray, right: ndarray
) -> tuple[ndarray, ndarray, ndarray]:
    """Return labels in common (p,), and in one plus the other (p,), of the distinct pairs of codes.

    And (t,) which pair each is."""
    m = members.shape[0]
    size = np.asarray(members.sum(axis=1)).ravel()
    key = np.asarray(left, np.int64) * m + right
    pairs, pair_of_key = np.unique(key, return_inverse=True)
    u, v = np.divmod(pairs, m)
    shared = np.asarray(members[u].multiply(members[v]).sum(axis=1)).ravel()
    return shared, size[u] + size[v], pair_of_key
