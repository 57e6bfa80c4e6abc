"""Counting codes: how many rows with code v of feature f fall into each group, (feature, code,
group).

A row may be in several groups (all rows, each of its labels, …), so what is counted are listed
pairs: `rows` and `groups` of equal length. Dense columns hold several features to a byte, so that
one `bincount` serves them all; of sparse rows only the stored codes are looked at, in one product
of CSR matrices. Counts are exact."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp

from .matrix import with_values

PACKED_TABLE = 1 << 17  # largest table counted for several features of one byte at once


def rows_by_group(
    rows: np.ndarray, groups: np.ndarray, size: int, mass: np.ndarray | None = None
) -> np.ndarray:
    """(size,) int64 rows of each group; with `mass` (n,) what they weigh, in whole units of 2⁵²
    together at most."""
    return np.bincount(groups, None if mass is None else mass[rows], minlength=size).astype(
        np.int64
    )


def count_dense(
    codes: np.ndarray,
    width: int,
    per_byte: int,
    rows: np.ndarray,
    groups: np.ndarray,
    size: int,
    features: tuple[int, int],
    mass: np.ndarray | None = None,
) -> np.ndarray:
    """(last - first, width, size) counts of `features` first..last, first a multiple of `per_byte`;
    rows weigh `mass`.

    `codes` (bytes, n) uint8: feature f is digit f mod `per_byte`, base `width`, of byte f div
    `per_byte`; `size` groups."""
    first, last = features
    n = codes.shape[1]
    out = np.zeros((last - first, width, size), np.int64)
    all_rows = len(rows) == n and np.array_equal(rows, np.arange(n))  # nothing to pick
    weights = None if mass is None else mass[rows].astype(np.float64)  # whole: sums are exact
    packed_size = width**per_byte
    columns = range(first // per_byte, -(-last // per_byte))
    if packed_size * size <= PACKED_TABLE and n < 1 << 24:
        base = groups * packed_size
        real: Any = np.float32 if weights is None else np.float64
        digits = [(np.arange(packed_size) // width**k) % width for k in range(per_byte)]
        # which code each packed value has for each of its features
        indicators = np.concatenate(
            [d[:, None] == np.arange(width) for d in digits], axis=1
        ).astype(real)
        for byte in columns:
            column = codes[byte]
            table = np.bincount(
                (column if all_rows else column[rows]) + base, weights, minlength=packed_size * size
            )
            # counts of one block are below 2**24, weights below 2**53, so products are exact
            parts = table.reshape(size, packed_size).astype(real) @ indicators
            start = byte * per_byte - first
            stop = min(start + per_byte, last - first)
            out[start:stop] = parts.reshape(size, per_byte, width).transpose(1, 2, 0)[
                : stop - start
            ]
        return out
    base = groups * width
    for byte in columns:
        column = codes[byte]
        column = (column if all_rows else column[rows]).astype(np.int64)
        for digit in range(per_byte):
            feature = byte * per_byte + digit
            if first <= feature < last:
                code = column % width
                out[feature - first] = (
                    np.bincount(code + base, weights, minlength=width * size).reshape(size, width).T
                )
            column = column // width
    return out


def count_sparse(
    onehot: sp.csr_matrix,
    rows: np.ndarray,
    groups: np.ndarray,
    size: int,
    mass: np.ndarray | None = None,
) -> sp.csr_matrix:
    """(size, slots) CSR counts of the stored codes, from the rows' one-hot slots (n, slots); `mass`
    as in `count_dense`."""
    member = members(groups, rows, size, onehot.shape[0])
    return (
        (member if mass is None else with_values(member, mass[member.indices])) @ onehot
    ).tocsr()


def slotwise(onehots: list[sp.csr_matrix]) -> sp.csc_matrix:
    """The one-hot slots of some blocks of rows, (n, slots), slot by slot: what `count_slots` cuts
    ranges from."""
    indices = np.concatenate([o.indices for o in onehots])
    lengths = np.concatenate([[0], *(np.diff(o.indptr) for o in onehots)])
    shape = (sum(o.shape[0] for o in onehots), onehots[0].shape[1])
    return sp.csr_matrix(
        (np.ones(len(indices), np.int8), indices, np.cumsum(lengths)), shape=shape
    ).tocsc()


def members(
    rows: np.ndarray, groups: np.ndarray, n: int, size: int, mass: np.ndarray | None = None
) -> sp.csr_matrix:
    """(n, size) int32 0/1 CSR: which row is in which group; with `mass` (n,) int64 by how much."""
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    each = np.ones(len(rows), np.int32) if mass is None else mass[rows[order]]
    return sp.csr_matrix((each, groups[order], indptr), shape=(n, size))


def count_slots(
    columns: sp.csc_matrix,
    first: int,
    last: int,
    member: sp.csr_matrix,
    every: bool,
    mass: np.ndarray | None = None,
) -> sp.csr_matrix:
    """(last - first, size) CSR counts of slots first..last, groups in order; with `every` a group
    of all rows, of weight `mass`, first. Slot by slot the sums are kept over the groups of few
    rows: what is added up stays near the processor."""
    a, z = columns.indptr[first], columns.indptr[last]
    indptr = columns.indptr[first : last + 1] - a
    part = sp.csr_matrix(
        (np.ones(z - a, np.int32), columns.indices[a:z], indptr),
        shape=(last - first, columns.shape[0]),
    )
    table = (part @ member).tocsc().tocsr()  # twice turned: in order
    if not every:
        return table
    rows = np.diff(indptr)
    filled = rows > 0
    if mass is not None:
        before = np.concatenate([[0], np.cumsum(mass[part.indices])])
        rows = before[indptr[1:]] - before[indptr[:-1]]
    starts = table.indptr + np.concatenate([[0], np.cumsum(filled)])
    groups, counts = np.zeros(starts[-1], table.indices.dtype), np.empty(starts[-1], table.dtype)
    of_all = np.zeros(starts[-1], bool)
    of_all[starts[:-1][filled]] = True
    counts[of_all], counts[~of_all] = rows[filled], table.data
    groups[~of_all] = table.indices + 1
    return sp.csr_matrix((counts, groups, starts), shape=(last - first, member.shape[1] + 1))
