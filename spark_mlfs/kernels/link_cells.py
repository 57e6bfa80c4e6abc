"""Sums of the informations of sparse features over the rows left when some are taken away.

Every greedy pick asks for them again. With m rows that hold a stored code of f and label l, c of
the code, p of the label and r of the code that is not stored, n rows:

    n·I(f; Y_l) = Σ_codes [T(m) + T(c − m) − T(c)]
                  + T(p − Σm) + T(r − p + Σm) − T(r) − T(p) − T(n − p) + T(n),    T(c) = c log c.

A label that meets no stored code gives T(max(r − p, 0)) − T(r) − T(n − p) + T(n): a table over the
distinct r and p."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from .information import CountLogs
from .matrix import sums_between
from .sparse_counts import LabelRows, unstored_sums

CHUNK = 1 << 17  # cells that are looked at together: they stay near the processor


@dataclass
class Cells:
    """The stored cells of the features first..last, feature by feature, of each the labels in
    order, of each the codes.

    `key` (c,) ascending, all three in one number; `slot`, `count` (c,); `label` (p,) of each pair
    of feature and label, `pair` (p,) its first cell (None: each is one); `cells` and `pairs`
    (features + 1,) where each feature begins."""

    first: int
    last: int
    key: ndarray
    slot: ndarray
    count: ndarray
    label: ndarray
    pair: ndarray | None
    cells: ndarray
    pairs: ndarray


class LinkCells:
    """Two-way counts of sparse features and labels, laid out for `summed`: 16 to 32 bytes a label
    cell and 24 a slot.

    `table` (slots, 1 + q): rows with a code, and of them with each label; `offsets` (v + 1,) where
    each feature begins."""

    def __init__(self, table: sp.csr_matrix, offsets: ndarray) -> None:
        self.offsets = np.asarray(offsets, np.int64)
        self.v = len(offsets) - 1
        self.size = table.shape[1]
        codes = np.diff(self.offsets)
        self.codes = int(codes.max(initial=1))
        self.feature = np.repeat(np.arange(self.v), codes)
        self.rows = column_of_rows(table)
        # labels that meet each code
        self.of_slot = np.diff(table.indptr).astype(np.int64) - (self.rows > 0)
        self.parts: list[Cells] = []
        edges = table.indptr[self.offsets]
        first = 0
        while first < self.v:
            within = int(np.searchsorted(edges, edges[first] + CHUNK, side="right")) - 1
            last = min(max(first + 1, within), self.v)
            self.parts.append(self._part(table, first, last))
            first = last

    def _keys(
        self, table: sp.csr_matrix, first: int, last: int
    ) -> tuple[ndarray, ndarray, ndarray, ndarray]:
        """Return (key, slot, label, count) of the label cells of the features first..last.

        They are in the order of the slots."""
        start = self.offsets[first]
        end = self.offsets[last]
        cells = slice(table.indptr[start], table.indptr[end])
        group = table.indices[cells]
        is_label = group > 0
        slot = np.repeat(np.arange(start, end), np.diff(table.indptr[start : end + 1]))[is_label]
        count = table.data[cells][is_label]
        group = group[is_label].astype(np.int64)
        feature = self.feature[slot]
        code = slot - self.offsets[feature]
        key = ((feature - first) * self.size + group) * self.codes + code
        return key, slot, group - 1, count

    def _part(self, table: sp.csr_matrix, first: int, last: int) -> Cells:
        key, slot, label, count = self._keys(table, first, last)
        if not (key[1:] > key[:-1]).all():
            order = np.argsort(key, kind="stable")
            key = key[order]
            slot = slot[order]
            label = label[order]
            count = count[order]
        starts = None
        pair = key // self.codes
        if self.codes > 1 and len(key):
            is_first = np.concatenate([[True], pair[1:] != pair[:-1]])
            starts = np.flatnonzero(is_first)
            label = label[starts]
            pair = pair[starts]
            starts = starts.astype(np.int32)  # within a part
        features = np.arange(last + 1 - first)
        cells = np.searchsorted(key, features * self.size * self.codes)
        pairs = np.searchsorted(pair, features * self.size)
        narrowest = np.int32 if len(features) * self.size * self.codes < 1 << 31 else np.int64
        key = key.astype(narrowest)
        slot = slot.astype(np.int32)
        label = label.astype(np.int32)
        return Cells(
            first,
            last,
            key,
            slot,
            count,
            label,
            starts,
            cells,
            pairs,
        )

    def summed(self, logs: CountLogs, removed: Sequence[sp.csr_matrix], totals: ndarray) -> ndarray:
        """Return (v,) fixed-point Σ_l n·I(f; Y_l) over the rows but those in `removed` tables.

        `totals` (1 + q,) of the other rows."""
        n = int(totals[0])
        positive = totals[1:].astype(np.int64)
        rows = self.rows - sum(column_of_rows(table) for table in removed)
        r_of_feature = n - sums_between(rows, self.offsets)
        out = unstored_sums(logs, r_of_feature, LabelRows(positive, n), lambda value: value)
        out -= sums_between(self.of_slot * logs(rows), self.offsets)
        of_label = logs(positive)
        for part in self.parts:
            count = part.count.astype(np.int64)
            for table in removed:
                key, _, _, fewer = self._keys(table, part.first, part.last)
                count[np.searchsorted(part.key, key.astype(part.key.dtype))] -= fewer
            terms = logs(count) + logs(rows[part.slot] - count)
            features = slice(part.first, part.last)
            out[features] += sums_between(terms, part.cells)
            if part.pair is not None and len(count):
                count = np.add.reduceat(count, part.pair)
            r = np.repeat(r_of_feature[features], np.diff(part.pairs))
            missed = positive[part.label] - count
            unstored = logs(np.maximum(r - missed - count, 0))
            terms = logs(missed) + logs(r - missed) - of_label[part.label] - unstored
            out[features] += sums_between(terms, part.pairs)
        return out


def column_of_rows(table: sp.csr_matrix) -> ndarray:
    """Return (slots,) column 0 of a table whose rows are in order.

    It comes first where it is stored."""
    filled = np.flatnonzero(np.diff(table.indptr))
    out = np.zeros(table.shape[0], np.int64)
    starts = table.indptr[filled]
    has_rows = table.indices[starts] == 0
    out[filled[has_rows]] = table.data[starts[has_rows]]
    return out
