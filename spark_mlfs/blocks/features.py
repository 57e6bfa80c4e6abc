"""Feature cells of Arrow batches as a dense matrix or CSR, in the narrowest type that holds every value."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ..kernels.matrix import Matrix
from ..kernels.missing import IS_MISSING
from .arrays import narrowest
from .block import WrongRow
from .labels import vector_entries


def read_features(
    column: pa.Array, vectors: bool, narrow: bool = True, used: np.ndarray | None = None, keep_missing: bool = False
) -> Matrix:
    """The feature cells as a matrix, float64 or as narrow as holds them; `WrongRow` for what is wrong with them where `used`
    (width,) says so, and but for NaN with `keep_missing`."""
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        raise WrongRow("its feature cell is null; fill or drop such rows", row)
    rows = len(column)
    if vectors:
        kind, _, _, values = column.flatten()
        kinds = kind.to_numpy(zero_copy_only=False)
        if not kinds.any():
            x = _all_sparse(column, narrow)
            if x is not None:
                return x
        if not kinds.all():  # some sparse row
            positions, slots, flat, width = vector_entries(column, "feature")
            bad = np.isinf(flat) if keep_missing else ~np.isfinite(flat)
            if used is not None and len(used) == width:
                bad &= used[slots]
            if bad.any():
                at = int(np.flatnonzero(bad)[0])
                raise WrongRow(_not_finite(flat[at]), positions[at], int(slots[at]))
            keep = flat != 0  # true of NaN
            indptr = np.concatenate([[0], np.cumsum(np.bincount(positions[keep], minlength=rows))]).astype(np.int32)
            data = narrowest(flat[keep]) if narrow else flat[keep]
            return sp.csr_matrix((data, slots[keep].astype(np.int32), indptr), shape=(rows, width))
    lists = values if vectors else column
    lengths = np.diff(np.asarray(lists.offsets, np.int64))
    width = int(lengths[0])
    if (lengths != width).any():
        row = int(np.flatnonzero(lengths != width)[0])
        raise WrongRow(f"its feature vector has size {lengths[row]} where others have {width}", row)
    flat = lists.flatten()
    used = None if used is None or len(used) != width or used.all() else used
    if flat.null_count and used is None and not keep_missing:
        at = int(np.flatnonzero(flat.is_null().to_numpy(zero_copy_only=False))[0])
        raise WrongRow(_not_finite(np.nan), at // width, at % width)
    x = flat.to_numpy(zero_copy_only=False).reshape(rows, width)
    if not np.isfinite(x.sum()):  # cheap: the sum is finite when every entry is (overflow aside)
        wrong = np.isinf(x) if keep_missing else ~np.isfinite(x)
        bad = np.flatnonzero(wrong if used is None else wrong & used)
        if len(bad):
            raise WrongRow(_not_finite(x.reshape(-1)[bad[0]]), bad[0] // width, int(bad[0]) % width)
    return narrowest(x) if narrow else np.asarray(x, np.float64)


def _all_sparse(column: pa.StructArray, narrow: bool) -> sp.csr_matrix | None:
    """Sparse cells as CSR, straight from their buffers; None where something is wrong with them, or a zero is stored."""
    _, size, indices, values = column.flatten()
    sizes, offsets = size.to_numpy(zero_copy_only=False), np.asarray(values.offsets)
    flat, slots = values.flatten().to_numpy(zero_copy_only=False), indices.flatten().to_numpy(zero_copy_only=False)
    if (sizes != sizes[0]).any() or len(slots) != len(flat) or not np.isfinite(flat).all() or (flat == 0).any():
        return None
    data = narrowest(flat) if narrow else flat
    return sp.csr_matrix((data, slots, offsets - offsets[0]), shape=(len(column), int(sizes[0])))


def _not_finite(value: float) -> str:
    return IS_MISSING if np.isnan(value) else f"is {value:g}; features must be finite numbers"
