"""Counting codes: how many rows with code v of feature f fall into each group, (feature, code,
group).

A row may be in several groups (all rows, each of its labels, …), so what is counted are listed
pairs: `rows` and `groups` of equal length. Dense columns hold several features to a byte, so that
one `bincount` serves them all; of sparse rows only the stored codes are looked at, in one product
of CSR matrices. Counts are exact."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from .matrix import with_values

PACKED_TABLE = 1 << 17  # largest table counted for several features of one byte at once


def rows_by_group(
    rows: ndarray,
    groups: ndarray,
    size: int,
    mass: ndarray | None = None,
) -> ndarray:
    """Return (size,) int64 rows of each group.

    With `mass` (n,) what they weigh, in whole units of 2⁵² together at most."""
    weights = None if mass is None else mass[rows]
    return np.bincount(groups, weights, minlength=size).astype(np.int64)


def count_dense(
    codes: ndarray,
    width: int,
    per_byte: int,
    rows: ndarray,
    groups: ndarray,
    size: int,
    features: tuple[int, int],
    mass: ndarray | None = None,
) -> ndarray:
    """Return (last - first, width, size) counts of `features` first..last; rows weigh `mass`.

    first is a multiple of `per_byte`. `codes` (bytes, n) uint8: feature f is digit f mod
    `per_byte`, base `width`, of byte f div `per_byte`; `size` groups."""
    n = codes.shape[1]
    all_rows = len(rows) == n and np.array_equal(rows, np.arange(n))
    listed = None if all_rows else rows
    weights = None if mass is None else mass[rows].astype(np.float64)  # whole: sums are exact
    if width**per_byte * size <= PACKED_TABLE and n < 1 << 24:
        return _count_bytes(
            codes,
            width,
            per_byte,
            listed,
            groups,
            size,
            features,
            weights,
        )
    first, last = features
    out = np.zeros((last - first, width, size), np.int64)
    base = groups * width
    for byte in range(first // per_byte, -(-last // per_byte)):
        column = codes[byte]
        column = (column if listed is None else column[listed]).astype(np.int64)
        for digit in range(per_byte):
            feature = byte * per_byte + digit
            if first <= feature < last:
                code = column % width
                table = np.bincount(code + base, weights, minlength=width * size)
                out[feature - first] = table.reshape(size, width).T
            column = column // width
    return out


def _count_bytes(
    codes: ndarray,
    width: int,
    per_byte: int,
    listed: ndarray | None,
    groups: ndarray,
    size: int,
    features: tuple[int, int],
    weights: ndarray | None,
) -> ndarray:
    """Return `count_dense` of `listed` rows (None: all), the features of a byte counted at once."""
    first, last = features
    out = np.zeros((last - first, width, size), np.int64)
    packed_size = width**per_byte
    # counts of one block are below 2**24, weights below 2**53, so products are exact
    real: Any = np.float32 if weights is None else np.float64
    # which code each packed value has for each of its features
    digits = [(np.arange(packed_size) // width**k) % width for k in range(per_byte)]
    hot = [digit[:, None] == np.arange(width) for digit in digits]
    indicators = np.concatenate(hot, axis=1).astype(real)
    base = groups * packed_size
    for byte in range(first // per_byte, -(-last // per_byte)):
        column = codes[byte]
        cell = (column if listed is None else column[listed]) + base
        table = np.bincount(cell, weights, minlength=packed_size * size)
        parts = table.reshape(size, packed_size).astype(real) @ indicators
        by_feature = parts.reshape(size, per_byte, width).transpose(1, 2, 0)
        start = byte * per_byte - first
        stop = min(start + per_byte, last - first)
        out[start:stop] = by_feature[: stop - start]
    return out


def count_sparse(
    onehot: sp.csr_matrix,
    rows: ndarray,
    groups: ndarray,
    size: int,
    mass: ndarray | None = None,
) -> sp.csr_matrix:
    """Return (size, slots) CSR counts of the stored codes.

    From the rows' one-hot slots (n, slots); `mass` as in `count_dense`."""
    member = members(groups, rows, size, onehot.shape[0])
    if mass is not None:
        member = with_values(member, mass[member.indices])
    return (member @ onehot).tocsr()


def slotwise(onehots: list[sp.csr_matrix]) -> sp.csc_matrix:
    """Return the one-hot slots of some blocks of rows, (n, slots), slot by slot.

    `count_slots` cuts ranges from them, `count_groups` counts them all."""
    indices = np.concatenate([onehot.indices for onehot in onehots])
    lengths = np.concatenate([[0], *(np.diff(onehot.indptr) for onehot in onehots)])
    shape = (sum(onehot.shape[0] for onehot in onehots), onehots[0].shape[1])
    ones = np.ones(len(indices), np.int8)
    return sp.csr_matrix((ones, indices, np.cumsum(lengths)), shape=shape).tocsc()


def members(
    rows: ndarray,
    groups: ndarray,
    n: int,
    size: int,
    mass: ndarray | None = None,
) -> sp.csr_matrix:
    """Return (n, size) int32 0/1 CSR: which row is in which group.

    With `mass` (n,) int64 by how much."""
    order = np.argsort(rows, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(rows, minlength=n))])
    values = np.ones(len(rows), np.int32) if mass is None else mass[rows[order]]
    return sp.csr_matrix((values, groups[order], indptr), shape=(n, size))


def count_slots(
    columns: sp.csc_matrix,
    first: int,
    last: int,
    member: sp.csr_matrix,
    with_all: bool,
    mass: ndarray | None = None,
    in_order: bool = True,
) -> sp.csr_matrix:
    """Return (last - first, size) CSR counts of slots first..last, groups `in_order`.

    `with_all` puts a group of all rows, of weight `mass`, first. Slot by slot the sums are kept
    over the groups of few rows: what is added up stays near the processor."""
    start = columns.indptr[first]
    end = columns.indptr[last]
    indptr = columns.indptr[first : last + 1] - start
    ones = np.ones(end - start, np.int32)
    part = sp.csr_matrix(
        (ones, columns.indices[start:end], indptr), shape=(last - first, columns.shape[0])
    )
    table = part @ member
    if in_order:
        table = table.tocsc().tocsr()
    if not with_all:
        return table
    filled = np.diff(indptr) > 0
    rows = _rows_by_slot(part, mass)
    starts = table.indptr + np.concatenate([[0], np.cumsum(filled)])
    of_all = np.zeros(starts[-1], bool)
    of_all[starts[:-1][filled]] = True
    counts = np.empty(starts[-1], table.dtype)
    counts[of_all] = rows[filled]
    counts[~of_all] = table.data
    groups = np.zeros(starts[-1], table.indices.dtype)
    groups[~of_all] = table.indices + 1
    return sp.csr_matrix((counts, groups, starts), shape=(last - first, member.shape[1] + 1))


def _rows_by_slot(by_slot: sp.csr_matrix, mass: ndarray | None) -> ndarray:
    """Return what the rows of each slot, (slots, n), weigh together: `mass` (n,), else 1 each."""
    starts = by_slot.indptr
    if mass is None:
        return np.diff(starts)
    mass_before = np.concatenate([[0], np.cumsum(mass[by_slot.indices])])
    return np.asarray(mass_before[starts[1:]] - mass_before[starts[:-1]])


def count_groups(
    columns: sp.csc_matrix,
    member: sp.csc_matrix,
    ranges: Sequence[ndarray],
    mass: ndarray | None = None,
) -> Iterator[sp.csr_matrix]:
    """Yield (1 + groups, slots) CSR counts, slots in order, of each range of groups of `member`.

    The first row has those of all rows, of weight `mass`. As in `count_slots` the sums of a slot
    are over the groups, so that they stay near the processor; of several ranges those of a group
    are over the slots, so that each range looks at its own rows alone."""
    ones = np.ones(columns.nnz, np.int32)
    by_slot = sp.csr_matrix((ones, columns.indices, columns.indptr), shape=columns.shape[::-1])
    of_all = sp.csr_matrix(_rows_by_slot(by_slot, mass))
    by_row = by_slot.T.tocsr() if len(ranges) > 1 else None
    for groups in ranges:
        if by_row is None:
            table = (by_slot @ member[:, groups].tocsr()).tocsc().T
        else:  # twice turned: in order
            table = (member[:, groups].T @ by_row).tocsc().tocsr()
        yield sp.vstack([of_all.astype(table.dtype), table], format="csr")
