"""Σ_l n·I(f; Y_l) of sparse features over the rows left when some are taken away, which every greedy
pick asks for again.

With m rows that hold a stored code of f and label l, c of the code, p of the label and r of the
code that is not stored, n rows: n·I(f; Y_l) = Σ_codes [T(m) + T(c − m) − T(c)] + T(p − Σm) + T(r −
p + Σm) − T(r) − T(p) − T(n − p) + T(n), T(c) = c log c. A label that meets no stored code gives
T(max(r − p, 0)) − T(r) − T(n − p) + T(n): a table over the distinct r and p."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .information import CountLogs
from .matrix import sums_between
from .sparse_counts import LabelRows, unstored_sums

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
