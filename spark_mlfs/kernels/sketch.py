"""A random sign sketch of 0/1 labels: Z = YR with R (q, r) sparse.

Then ‖w'R‖ ≈ ‖w‖ for weights w (q,) of many labels. R is √s times the sketch: label l has s entries
±1, one in each of s equal ranges of the r columns (the block form of the sparse
Johnson–Lindenstrauss transform: Kane & Nelson, "Sparser Johnson–Lindenstrauss transforms", JACM 61,
2014), columns and signs from the hash of (label, range) alone. E‖w'R‖²/s = ‖w‖², relative standard
deviation at most √(2/r). Sums of Z are exact."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from .hashing import GOLDEN, mixed

ENTRIES = 4  # of a label
SEED = 0x51C7


def entries(width: int) -> int:
    """Return s: how many entries a label has in a sketch of `width` columns."""
    return min(ENTRIES, width)


def sketched_labels(indptr: ndarray, indices: ndarray, width: int) -> sp.csr_matrix:
    """Return (n, width) float64 YR/√s of rows whose labels are CSR lists.

    No entry exceeds the row's labels over √s."""
    out = sign_sketch(indptr, indices, width).astype(np.float64)
    out.data /= np.sqrt(entries(width))
    return out


def sign_sketch(
    indptr: ndarray,
    indices: ndarray,
    width: int,
    sizes: ndarray | None = None,
) -> sp.csr_matrix:
    """Return (n, width) int64 Z of rows whose labels are CSR lists.

    Divided by √`entries` it is the sketch. Label l counts `sizes`[l] times, a whole number, where
    that is given."""
    s = entries(width)
    bits = _hashes(indices, s)
    sign = 1 - 2 * (bits & np.uint64(1)).astype(np.int64)
    if sizes is not None:
        sign = sign * sizes[indices][:, None]
    edges = np.arange(s + 1) * width // s
    widths = np.diff(edges).astype(np.uint64)
    column = edges[:-1] + ((bits >> np.uint64(1)) % widths).astype(np.int64)
    starts = np.asarray(indptr, np.int64) * s
    shape = (len(indptr) - 1, width)
    out = sp.csr_matrix((sign.ravel(), column.ravel(), starts), shape=shape)
    out.sum_duplicates()
    return out


def _hashes(labels: ndarray, s: int) -> ndarray:
    """Return (len(labels), s) 64 bits of (label, range)."""
    with np.errstate(over="ignore"):
        start = np.asarray(labels, np.int64).view(np.uint64) * np.uint64(s)
        state = start[:, None] + np.arange(s, dtype=np.uint64) + np.uint64(SEED)
        return mixed(mixed(state) + np.uint64(GOLDEN))
