"""Counting codes: how many rows with code v of feature f fall into each group, (feature, code,
group).

A row may be in several groups (all rows, each of its labels, …), so what is counted are listed
pairs: `rows` and `groups` of equal length. Dense columns hold several features to a byte, so that
one `bincount` serves them all; of sparse rows only the stored codes are looked at, in one product
of CSR matrices. Counts are exact.

Σ_l n·I(f; Y_l) of sparse features over the rows left when some are taken away, which every greedy
pick asks for again.

With m rows that hold a stored code of f and label l, c of the code, p of the label and r of the
code that is not stored, n rows: n·I(f; Y_l) = Σ_codes [T(m) + T(c − m) − T(c)] + T(p − Σm) + T(r −
p + Σm) − T(r) − T(p) − T(n − p) + T(n), T(c) = c log c. A label that meets no stored code gives
T(max(r − p, 0)) − T(r) − T(n − p) + T(n): a table over the distinct r and p."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from .information import CountLogs, LabelRows, unstored_sums
from .matrix import sums_between, with_values

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


CHUNK = 1 << 17  # cells that are looked at together: they stay near the processor


@dataclass
class Cells:
    """The stored cells of the features first..last, feature by feature, of each the labels in
    order, of each the codes: `key` (c,) ascending, all three in one number; `slot`, `count` (c,);
    `label` (p,) of each pair of feature and label, `pair` (p,) its first cell (None: each is one);
    `cells` and `pairs` (features + 1,) where each feature begins."""

    first: int
    last: int
    key: np.ndarray
    slot: np.ndarray
    count: np.ndarray
    label: np.ndarray
    pair: np.ndarray | None
    cells: np.ndarray
    pairs: np.ndarray


class LinkCells:
    """Two-way counts of sparse features and labels, laid out for `summed`: 16 to 32 bytes a label
    cell and 24 a slot."""

    def __init__(self, table: sp.csr_matrix, offsets: np.ndarray) -> None:
        """`table` (slots, 1 + q): rows with a code, and of them with each label; `offsets` (v + 1,)
        where each feature begins."""
        self.offsets = np.asarray(offsets, np.int64)
        self.v, self.size = len(offsets) - 1, table.shape[1]
        self.feature = np.repeat(np.arange(self.v), np.diff(self.offsets))
        self.codes = int(np.diff(self.offsets).max(initial=1))
        self.rows = column_of_rows(table)
        self.of_slot = np.diff(table.indptr).astype(np.int64) - (
            self.rows > 0
        )  # labels that meet each code
        edges, first = table.indptr[self.offsets], 0
        self.parts: list[Cells] = []
        while first < self.v:
            last = max(
                first + 1, int(np.searchsorted(edges, edges[first] + CHUNK, side="right")) - 1
            )
            self.parts.append(self._part(table, first, min(last, self.v)))
            first = min(last, self.v)

    def _keys(
        self, table: sp.csr_matrix, first: int, last: int
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """(key, slot, label, count) of the label cells of the features first..last, in the order of
        the slots."""
        a, z = self.offsets[first], self.offsets[last]
        cells = slice(table.indptr[a], table.indptr[z])
        group, count = table.indices[cells], table.data[cells]
        slot = np.repeat(np.arange(a, z), np.diff(table.indptr[a : z + 1]))
        met = group > 0
        group, count, slot = group[met].astype(np.int64), count[met], slot[met]
        feature = self.feature[slot]
        key = ((feature - first) * self.size + group) * self.codes + slot - self.offsets[feature]
        return key, slot, group - 1, count

    def _part(self, table: sp.csr_matrix, first: int, last: int) -> Cells:
        key, slot, label, count = self._keys(table, first, last)
        if not (key[1:] > key[:-1]).all():
            order = np.argsort(key, kind="stable")
            key, slot, label, count = key[order], slot[order], label[order], count[order]
        starts, pair = None, key // self.codes
        features = np.arange(first, last + 1)
        if self.codes > 1 and len(key):
            starts = np.flatnonzero(np.concatenate([[True], pair[1:] != pair[:-1]]))
            label, pair = label[starts], pair[starts]
        cells = np.searchsorted(key, (features - first) * self.size * self.codes)
        pairs = np.searchsorted(pair, (features - first) * self.size)
        short = np.int32 if len(features) * self.size * self.codes < 1 << 31 else np.int64
        starts = None if starts is None else starts.astype(np.int32)  # within a part
        return Cells(
            first,
            last,
            key.astype(short),
            slot.astype(np.int32),
            count,
            label.astype(np.int32),
            starts,
            cells,
            pairs,
        )

    def summed(
        self, logs: CountLogs, away: Sequence[sp.csr_matrix], totals: np.ndarray
    ) -> np.ndarray:
        """(v,) fixed-point Σ_l n·I(f; Y_l) over the rows but those in the tables of `away`;
        `totals` (1 + q,) of the others."""
        n, positive = int(totals[0]), totals[1:].astype(np.int64)
        rows = self.rows - sum(column_of_rows(table) for table in away)
        rest = n - sums_between(rows, self.offsets)
        out = unstored_sums(logs, rest, LabelRows(positive, n), lambda value: value)
        out -= sums_between(self.of_slot * logs(rows), self.offsets)
        of_label = logs(positive)
        for part in self.parts:
            count = part.count.astype(np.int64)
            for table in away:
                key, _, _, less = self._keys(table, part.first, part.last)
                count[np.searchsorted(part.key, key.astype(part.key.dtype))] -= less
            terms = logs(count) + logs(rows[part.slot] - count)
            out[part.first : part.last] += sums_between(terms, part.cells)
            if part.pair is not None:
                count = np.add.reduceat(count, part.pair) if len(count) else count
            r = np.repeat(rest[part.first : part.last], np.diff(part.pairs))
            left = positive[part.label] - count
            terms = (
                logs(left)
                + logs(r - left)
                - of_label[part.label]
                - logs(np.maximum(r - left - count, 0))
            )
            out[part.first : part.last] += sums_between(terms, part.pairs)
        return out


def column_of_rows(table: sp.csr_matrix) -> np.ndarray:
    """(slots,) column 0 of a table whose rows are in order: it comes first where it is stored."""
    filled = np.flatnonzero(np.diff(table.indptr))
    out = np.zeros(table.shape[0], np.int64)
    starts = table.indptr[filled]
    has = table.indices[starts] == 0
    out[filled[has]] = table.data[starts[has]]
    return out
