"""The kind of matrix that most functions take: dense or sparse by rows."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

# ndarray | sp.csr_matrix: SciPy tells no types, so a checker would take the union for an array
# alone
Matrix: TypeAlias = Any


class TermMatrix(sp.csr_matrix):  # type: ignore[misc]
    """Rows of what terms weigh in texts, of which counts see whether they occur."""


def with_values(x: sp.csr_matrix, values: ndarray) -> sp.csr_matrix:
    """Return the matrix with other `values` where it stores some."""
    return sp.csr_matrix((values, x.indices, x.indptr), shape=x.shape)


def changed(x: Matrix, change: Callable[[ndarray], ndarray]) -> Matrix:
    """Return the array, or what a CSR matrix stores, changed entry by entry."""
    return with_values(x, change(x.data)) if sp.issparse(x) else change(x)


def dense(x: Matrix) -> ndarray:
    """Return the rows of x as an array."""
    return x.toarray() if sp.issparse(x) else np.asarray(x)


def bytes_as_floats(x: Matrix) -> int:
    """Return the bytes of the rows as float64 without their starts, sparse where they are."""
    return int(12 * x.nnz if sp.issparse(x) else 8 * x.size)


def decisions(x: Matrix, weights: ndarray) -> ndarray:
    """Return x w' of the rows x (n, v) and `weights` (q, v), each row's to the bit.

    BLAS rounds a row by its place among the others."""
    if sp.issparse(x):
        return np.asarray(x @ weights.T)
    return np.einsum("ij,kj->ik", np.ascontiguousarray(x), np.ascontiguousarray(weights))


def sums_between(values: ndarray, edges: ndarray) -> ndarray:
    """Return sums of the values from edge to edge (k + 1,), the first 0, the last behind all.

    They are exact of whole numbers, else in order."""
    dtype = np.int64 if values.dtype.kind == "i" else values.dtype
    out = np.zeros(len(edges) - 1, dtype)
    filled = edges[1:] > edges[:-1]
    if filled.any():
        out[filled] = np.add.reduceat(values, edges[:-1][filled])
    return out


def runs(starts: ndarray, ends: ndarray) -> ndarray:
    """Return starts[0], …, ends[0] − 1, starts[1], …: the runs one behind the other."""
    lengths = ends - starts
    shifts = starts - np.cumsum(lengths) + lengths
    return np.asarray(np.arange(lengths.sum()) + np.repeat(shifts, lengths))


def distinct_rows(x: Matrix) -> tuple[ndarray, ndarray]:
    """Return the first of each kind of equal rows, and the kind of every row."""
    if sp.issparse(x):
        x = x.copy()
        x.eliminate_zeros()
        x.sort_indices()
        rows = [slice(*ends) for ends in itertools.pairwise(x.indptr)]
        contents = [(x.indices[row].tobytes(), x.data[row].tobytes()) for row in rows]
    else:
        contents = [row.tobytes() for row in x + 0.0]  # one zero
    kinds: dict[object, int] = {}
    numbers = [kinds.setdefault(content, len(kinds)) for content in contents]
    kind = np.array(numbers, np.int64)
    return np.unique(kind, return_index=True)[1], kind
