"""The kind of matrix that most functions take: dense or sparse by rows."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, TypeAlias

import numpy as np
import scipy.sparse as sp

# np.ndarray | sp.csr_matrix: SciPy tells no types, so a checker would take the union for an array
# alone
Matrix: TypeAlias = Any


def with_values(x: sp.csr_matrix, values: np.ndarray) -> sp.csr_matrix:
    """The matrix with other `values` where it stores some."""
    return sp.csr_matrix((values, x.indices, x.indptr), shape=x.shape)


def changed(x: Matrix, by: Callable[[np.ndarray], np.ndarray]) -> Matrix:
    """The array, or what a CSR matrix stores, changed entry by entry."""
    return with_values(x, by(x.data)) if sp.issparse(x) else by(x)


def dense(x: Matrix) -> np.ndarray:
    """The rows of x as an array."""
    return x.toarray() if sp.issparse(x) else np.asarray(x)


def sums_between(values: np.ndarray, edges: np.ndarray) -> np.ndarray:
    """Sums of the values from edge to edge (k + 1,), the first 0, the last behind all: exact of
    whole numbers, else in order."""
    out = np.zeros(len(edges) - 1, np.int64 if values.dtype.kind == "i" else values.dtype)
    filled = edges[1:] > edges[:-1]
    if filled.any():
        out[filled] = np.add.reduceat(values, edges[:-1][filled])
    return out


def runs(starts: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """starts[0], …, ends[0] − 1, starts[1], …: the runs one behind the other."""
    lengths = ends - starts
    return np.asarray(
        np.arange(lengths.sum()) + np.repeat(starts - np.cumsum(lengths) + lengths, lengths)
    )


def distinct_rows(x: Matrix) -> tuple[np.ndarray, np.ndarray]:
    """The first of each kind of equal rows, and the kind of every row."""
    if sp.issparse(x):
        x = x.copy()
        x.eliminate_zeros()
        x.sort_indices()
        runs = [slice(a, z) for a, z in zip(x.indptr[:-1], x.indptr[1:], strict=True)]
        contents = [(x.indices[run].tobytes(), x.data[run].tobytes()) for run in runs]
    else:
        contents = [row.tobytes() for row in x + 0.0]  # one zero
    kinds: dict[object, int] = {}
    kind = np.array([kinds.setdefault(content, len(kinds)) for content in contents], np.int64)
    return np.unique(kind, return_index=True)[1], kind
