"""A random sign sketch of 0/1 labels: Z = YR with R (q, r) sparse, so that ‖w'R‖ ≈ ‖w‖ for weights w
(q,) of many labels.

R is √s times the sketch: label l has s entries ±1, one in each of s equal ranges of the r columns
(the block form of the sparse Johnson–Lindenstrauss transform: Kane & Nelson, "Sparser
Johnson–Lindenstrauss transforms", JACM 61, 2014), columns and signs from the hash of (label, range)
alone. E‖w'R‖²/s = ‖w‖², relative standard deviation at most √(2/r). Sums of Z are exact."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

from .hashing import GOLDEN, mixed

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
