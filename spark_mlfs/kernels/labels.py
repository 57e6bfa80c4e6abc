"""Labels of rows as vectors: how similar two rows are through them, where they stand by their
scores, a random sketch of many.

Similarity of rows through their labels, kept per distinct labelset.

    s(u, v) = sum over shared labels of n_l  /  sum over labels in either of n_l,   0 when both are
    empty

is the GMBA paper's Eq. 2 (n_l rows with label l); with n_l = 1 it is the Jaccard index. Rows of one
labelset share every value, so the m distinct labelsets stand for the n rows and nothing is n x n.
Both sums are whole numbers, exact in float64 up to 2^53, and IEEE division rounds correctly: s = 1
if and only if the sums are equal, and `s >= s_min` holds for every ratio that the decimal s_min was
meant to admit (1/10 >= 0.1).

A random sign sketch of 0/1 labels: Z = YR with R (q, r) sparse, so that ‖w'R‖ ≈ ‖w‖ for weights w
(q,) of many labels.

R is √s times the sketch: label l has s entries ±1, one in each of s equal ranges of the r columns
(the block form of the sparse Johnson–Lindenstrauss transform: Kane & Nelson, "Sparser
Johnson–Lindenstrauss transforms", JACM 61, 2014), columns and signs from the hash of (label, range)
alone. E‖w'R‖²/s = ‖w‖², relative standard deviation at most √(2/r). Sums of Z are exact."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .hashing import GOLDEN, mixed
from .matrix import Matrix

BLOCK_BYTES = 32 << 20


class LabelsetSimilarity:
    """The m x m similarity of a table of distinct labelsets, block of rows by block of rows, from
    `members` (m, q) 0/1 and `weights` (q,) whole numbers n_l ≥ 0, the rows with each label (Eq. 2),
    or None for the Jaccard index."""

    def __init__(self, members: Matrix, weights: np.ndarray | None = None) -> None:
        members = sp.csr_matrix(members, dtype=np.float64)
        members.eliminate_zeros()
        self.size, q = members.shape
        weights = np.ones(q) if weights is None else np.asarray(weights, np.float64)
        self.members, self.weights = members, weights
        self.totals = members @ weights  # weight of all labels of each labelset
        self._weighted = sp.csr_matrix(members.multiply(weights))
        self._columns = members.T.tocsr()

    @property
    def self_similarity(self) -> np.ndarray:
        """(m,) s(u, u): 1, or 0 where the labelset has no weight."""
        return (self.totals > 0).astype(np.float64)

    def similarity(self, rows: np.ndarray, columns: np.ndarray | None = None) -> np.ndarray:
        """(len(rows), len(columns)) s between labelsets, by their indices; `columns` None: all."""
        right = self._columns if columns is None else self.members[columns].T
        shared = (self._weighted[rows] @ right).toarray()
        either = (
            self.totals[rows][:, None]
            + (self.totals if columns is None else self.totals[columns])
            - shared
        )
        return np.divide(shared, either, out=np.zeros_like(shared), where=either > 0)

    def between(self, left: np.ndarray, right: np.ndarray) -> Lookup:
        """s between two lists of rows, `left` and `right` their labelset codes, as a table over the
        codes that occur."""
        rows, at_rows = np.unique(left, return_inverse=True)
        columns, at_columns = np.unique(right, return_inverse=True)
        return Lookup(self.similarity(rows, columns), at_rows, at_columns)

    def blocks(self) -> Iterator[tuple[np.ndarray, np.ndarray]]:
        """(rows, s[rows, :]) over all rows, at most about `BLOCK_BYTES` at a time."""
        step = max(1, BLOCK_BYTES // max(1, 8 * self.size))
        for first in range(0, self.size, step):
            rows = np.arange(first, min(first + step, self.size))
            yield rows, self.similarity(rows)

    def degrees(self, counts: np.ndarray) -> np.ndarray:
        """(m,) degree of a row of each labelset in the graph of the rows, `counts` (m,): sum_v
        counts_v s(u, v) - s(u, u)."""
        out, own = np.empty(self.size), self.self_similarity
        for rows, s in self.blocks():
            s[np.arange(len(rows)), rows] = (
                0.0  # added apart: a large count less one would lose a small degree
            )
            out[rows] = s @ counts + own[rows] * np.maximum(counts[rows] - 1, 0)
        return out


class Lookup:
    """A small table with the position of each row of two lists in it: value[i, j] = table[rows[i],
    columns[j]]."""

    def __init__(self, table: np.ndarray, rows: np.ndarray, columns: np.ndarray) -> None:
        self.table, self.rows, self.columns = table, rows, columns

    def full(self) -> np.ndarray:
        return self.table[self.rows][:, self.columns]

    def take(self, rows: np.ndarray) -> Lookup:
        return Lookup(self.table, self.rows[rows], self.columns)

    def transposed(self) -> Lookup:
        return Lookup(self.table.T, self.columns, self.rows)

    def pairs(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return self.table[self.rows[i], self.columns[j]]

    def where(self, compare: np.ufunc, limit: float) -> Lookup:
        """Whether the values compare so with a limit: above 0 where rows share a label (of positive
        weight)."""
        return Lookup(compare(self.table, limit), self.rows, self.columns)


def shared_labels(
    members: sp.csr_matrix, left: np.ndarray, right: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Labels in common (p,), and in one plus the other (p,), of the distinct pairs of codes, and
    (t,) which pair each is."""
    m, size = members.shape[0], np.asarray(members.sum(axis=1)).ravel()
    pairs, at = np.unique(np.asarray(left, np.int64) * m + right, return_inverse=True)
    u, v = np.divmod(pairs, m)
    return np.asarray(members[u].multiply(members[v]).sum(axis=1)).ravel(), size[u] + size[v], at


@dataclass(frozen=True)
class LabelRanks:
    """The q labels of n rows by falling score: `relevant`, `rank` (how many score at least as
    much), `above` (relevant such)."""

    relevant: np.ndarray
    rank: np.ndarray
    above: np.ndarray

    @staticmethod
    def of(truth: np.ndarray, scores: np.ndarray) -> LabelRanks:
        n, q = truth.shape
        order = np.argsort(-scores, axis=1, kind="stable")
        s, t = np.take_along_axis(scores, order, axis=1), np.take_along_axis(truth, order, axis=1)
        last = np.concatenate([s[:, 1:] != s[:, :-1], np.ones((n, 1), bool)], axis=1)
        rank = np.minimum.accumulate(np.where(last, np.arange(1, q + 1), q + 1)[:, ::-1], axis=1)[
            :, ::-1
        ]
        return LabelRanks(t, rank, np.take_along_axis(np.cumsum(t, axis=1), rank - 1, axis=1))

    def precision(self) -> np.ndarray:
        """(n,) average precision; 0 of a row without labels."""
        return (self.above / self.rank * self.relevant).sum(axis=1) / np.maximum(
            1, self.relevant.sum(axis=1)
        )

    def reversed_pairs(self) -> np.ndarray:
        """(n,) pairs of a relevant label and an irrelevant one that scores at least as much."""
        return ((self.rank - self.above) * self.relevant).sum(axis=1)

    def depth(self) -> np.ndarray:
        """(n,) labels before the last relevant one; -1 of a row without labels."""
        return np.where(self.relevant, self.rank, 0).max(axis=1) - 1


ENTRIES = 4  # of a label
SEED = 0x51C7


def entries(width: int) -> int:
    """s: how many entries a label has in a sketch of `width` columns."""
    return min(ENTRIES, width)


def sketched_labels(indptr: np.ndarray, indices: np.ndarray, width: int) -> sp.csr_matrix:
    """(n, width) float64 YR/√s of rows whose labels are CSR lists; no entry exceeds the row's
    labels over √s."""
    out = sign_sketch(indptr, indices, width).astype(np.float64)
    out.data /= np.sqrt(entries(width))
    return out


def sign_sketch(
    indptr: np.ndarray, indices: np.ndarray, width: int, sizes: np.ndarray | None = None
) -> sp.csr_matrix:
    """(n, width) int64 Z of rows whose labels are CSR lists; divided by √`entries` it is the
    sketch. Label l counts `sizes`[l] times, a whole number, where that is given."""
    s = entries(width)
    edges = np.arange(s + 1) * width // s
    with np.errstate(over="ignore"):
        start = np.asarray(indices, np.int64).view(np.uint64) * np.uint64(s)
        bits = mixed(
            mixed(start[:, None] + np.arange(s, dtype=np.uint64) + np.uint64(SEED))
            + np.uint64(GOLDEN)
        )
    sign = 1 - 2 * (bits & np.uint64(1)).astype(np.int64)
    sign = sign if sizes is None else sign * sizes[indices][:, None]
    column = edges[:-1] + ((bits >> np.uint64(1)) % np.diff(edges).astype(np.uint64)).astype(
        np.int64
    )
    out = sp.csr_matrix(
        (sign.ravel(), column.ravel(), np.asarray(indptr, np.int64) * s),
        shape=(len(indptr) - 1, width),
    )
    out.sum_duplicates()
    return out
