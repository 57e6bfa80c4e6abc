"""Counting codes: how many rows with code v of feature f fall into each group, (feature, code, group).

A row may be in several groups (all rows, each of its labels, …), so what is counted are listed pairs: `rows` and `groups` of
equal length. Dense columns hold several features to a byte, so that one `bincount` serves them all; of sparse rows only the
stored codes are looked at, in one product of CSR matrices. Counts are exact.
"""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp

PACKED_TABLE = 1 << 17  # largest table counted for several features of one byte at once


def digit_indicators(width: int, per_byte: int) -> np.ndarray:
    """(width**per_byte, per_byte * width) 0/1: which code each packed value has for each of its features."""
    packed = np.arange(width**per_byte)
    digits = [(packed // width**k) % width for k in range(per_byte)]
    return np.concatenate([(d[:, None] == np.arange(width)) for d in digits], axis=1).astype(np.float32)


def count_dense(
    codes: np.ndarray,
    width: int,
    per_byte: int,
    rows: np.ndarray,
    groups: np.ndarray,
    size: int,
    features: tuple[int, int],
) -> np.ndarray:
    """(last - first, width, size) counts of the `features` first..last, first a multiple of `per_byte`.

    `codes` (bytes, n) uint8: feature f is digit f mod `per_byte`, base `width`, of byte f div `per_byte`; `size` groups.
    """
    first, last = features
    n = codes.shape[1]
    out = np.zeros((last - first, width, size), np.int64)
    all_rows = len(rows) == n and np.array_equal(rows, np.arange(n))  # nothing to pick
    packed_size = width**per_byte
    columns = range(first // per_byte, -(-last // per_byte))
    if packed_size * size <= PACKED_TABLE and n < 1 << 24:
        base = groups * packed_size
        indicators = digit_indicators(width, per_byte)
        for byte in columns:
            column = codes[byte]
            table = np.bincount((column if all_rows else column[rows]) + base, minlength=packed_size * size)
            # counts of one block are below 2**24, so float32 products are exact
            parts = table.reshape(size, packed_size).astype(np.float32) @ indicators
            start = byte * per_byte - first
            stop = min(start + per_byte, last - first)
            out[start:stop] = parts.reshape(size, per_byte, width).transpose(1, 2, 0)[: stop - start]
        return out
    base = groups * width
    for byte in columns:
        column = codes[byte]
        column = (column if all_rows else column[rows]).astype(np.int64)
        for digit in range(per_byte):
            feature = byte * per_byte + digit
            if first <= feature < last:
                code = column % width
                out[feature - first] = np.bincount(code + base, minlength=width * size).reshape(size, width).T
            column = column // width
    return out


def count_sparse(onehot: sp.csr_matrix, rows: np.ndarray, groups: np.ndarray, size: int) -> sp.csr_matrix:
    """(size, slots) CSR counts of the stored codes, from the rows' one-hot slots (n, slots)."""
    order = np.argsort(groups, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=size))])
    member = sp.csr_matrix((np.ones(len(rows), np.int32), rows[order], indptr), shape=(size, onehot.shape[0]))
    return (member @ onehot).tocsr()
