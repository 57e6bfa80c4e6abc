"""n·I(f; labels | cell) of every feature, where rows fall into many joint cells: only occupied
(cell, group) pairs are looked at.

Within a cell, f matters only through the rows in which it has a code and a label. With p running
over the occupied (cell, class) pairs, c over the cells, and T(k) = k log k,

    n·I(f; Y | cell) = Σ_{v,p} T(N(v, p)) − Σ_{v,c} T(N(v, c)) − Σ_p T(n_p) + Σ_c T(n_c),

where for binary relevance the classes are, label by label, "has it" and "has it not"; a label that
no row of a cell has adds nothing there. The cost is rows × features (dense) or stored entries
(sparse), not cells × classes. Sums are fixed point (`information.CountLogs`), so parts over
different cells add up exactly."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from ..lazy import cached_property
from .information import CountLogs
from .matrix import runs, sums_between


def numbered(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Values replaced by 0..count-1 in their order, and count."""
    distinct, number = np.unique(values, return_inverse=True)
    return number, len(distinct)


def joint_cells(columns: Iterable[np.ndarray], n: int, width: int) -> np.ndarray:
    """(n,) a number for each row's joint code in the columns, codes 0..width-1: equal codes, equal
    numbers (among these rows)."""
    cells = np.zeros(n, np.int64)
    count = 1
    for codes in columns:
        if count > (1 << 62) // width:
            cells, count = numbered(cells)
        cells = cells * width + codes
        count *= width
    return cells


def informative_rows(cells: np.ndarray, labelsets: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Those of `rows` whose cell holds rows of different labelsets: the others tell nothing about
    the labels."""
    cell, count = numbered(cells[rows])
    reference = np.zeros(count, np.uint64)
    reference[cell] = labelsets[rows]
    mixed = np.zeros(count, bool)
    mixed[cell[labelsets[rows] != reference[cell]]] = True
    return rows[mixed[cell]]


@dataclass(frozen=True)
class CellPairs:
    """The occupied pairs (cell, group) of n rows: `cell` (n,) each row's cell 0..C-1; `rows` and
    `pair` (r,) which row is in which pair 0..P-1; `owner` (P,) each pair's cell; `labels` whether
    groups are labels, which overlap, or classes; `mass` (n,) of rows."""

    cell: np.ndarray
    rows: np.ndarray
    pair: np.ndarray
    owner: np.ndarray
    labels: bool
    mass: np.ndarray | None = None

    @staticmethod
    def of(
        cell: np.ndarray,
        rows: np.ndarray,
        groups: np.ndarray,
        labels: bool,
        mass: np.ndarray | None = None,
    ) -> CellPairs:
        """From the rows' groups; of labels, group 0 is all rows and is left out."""
        if labels:
            rows, groups = rows[groups > 0], groups[groups > 0]
        pair, count = numbered(cell[rows] * (int(groups.max(initial=0)) + 1) + groups)
        owner = np.zeros(count, np.int64)
        owner[pair] = cell[rows]
        return CellPairs(cell, rows, pair, owner, labels, mass)

    @cached_property
    def in_cell(self) -> np.ndarray:
        """(C,) rows of each cell."""
        return self.by_cell(self.cell)

    @cached_property
    def in_pair(self) -> np.ndarray:
        """(P,) rows of each pair."""
        return self.by_pair(self.pair)

    def by_cell(self, numbers: np.ndarray, size: int = 0) -> np.ndarray:
        """Rows of each of the `numbers` (n,)."""
        return np.bincount(numbers, self.mass, minlength=size).astype(np.int64)

    def by_pair(self, numbers: np.ndarray, size: int = 0) -> np.ndarray:
        """Rows of each of the `numbers` (r,)."""
        return np.bincount(
            numbers, None if self.mass is None else self.mass[self.rows], minlength=size
        ).astype(np.int64)


def dense_cell_information(
    codes: np.ndarray, width: int, per_byte: int, features: int, pairs: CellPairs, logs: CountLogs
) -> np.ndarray:
    """(features,) int64 fixed-point n·I(f; groups | cell) from packed codes, as
    `counts.count_dense` reads them."""
    in_cell, in_pair, owner = pairs.in_cell, pairs.in_pair, pairs.owner
    pair_base, cell_base = pairs.pair * width, pairs.cell * width
    own = (
        _label_terms(logs, in_pair, in_cell[owner]).sum()
        if pairs.labels
        else logs(in_pair).sum() - logs(in_cell).sum()
    )
    out = np.empty(features, np.int64)
    for byte in range(len(codes)):
        packed = codes[byte].astype(np.int64)
        for feature in range(byte * per_byte, min(features, byte * per_byte + per_byte)):
            code = packed % width
            packed //= width
            by_pair = pairs.by_pair(pair_base + code[pairs.rows], len(owner) * width)
            by_cell = pairs.by_cell(cell_base + code, len(in_cell) * width)
            if pairs.labels:
                of_owner = by_cell.reshape(-1, width)[owner].reshape(-1)
                out[feature] = _label_terms(logs, by_pair, of_owner).sum() - own
            else:
                out[feature] = logs(by_pair).sum() - logs(by_cell).sum() - own
    return out


def sparse_cell_information(
    onehot: sp.csr_matrix, bins: np.ndarray, pairs: CellPairs, logs: CountLogs
) -> np.ndarray:
    """(v,) fixed-point n·I(f; groups | cell) from one-hot slots (n, Σ(bins − 1)) of the stored
    codes, `bins` (v,) a feature."""
    v, n = len(bins), onehot.shape[0]
    in_cell, in_pair, owner = pairs.in_cell, pairs.in_pair, pairs.owner
    slots = onehot.T.tocsr()
    mass = np.ones(n, np.int32) if pairs.mass is None else pairs.mass
    cells = sp.csr_matrix((mass, (np.arange(n), pairs.cell)), shape=(n, len(in_cell)))
    members = sp.csr_matrix((mass[pairs.rows], (pairs.rows, pairs.pair)), shape=(n, len(owner)))
    of_slot = np.repeat(np.arange(v), bins - 1)
    slot_cell, slot_pair = _in_order(slots @ cells), _in_order(slots @ members)
    if (bins == 2).all():
        feature_cell, feature_pair = slot_cell, slot_pair
    else:
        gather = sp.csr_matrix(
            (np.ones(len(of_slot), np.int32), (of_slot, np.arange(len(of_slot)))),
            shape=(v, len(of_slot)),
        )
        feature_cell, feature_pair = _in_order(gather @ slot_cell), _in_order(gather @ slot_pair)
    if not pairs.labels:
        return (
            _by_feature(logs(slot_pair.data), slot_pair, of_slot, v)
            - _by_feature(logs(slot_cell.data), slot_cell, of_slot, v)
            + _by_feature(_rest(logs, in_pair, feature_pair), feature_pair, None, v)
            - _by_feature(_rest(logs, in_cell, feature_cell), feature_cell, None, v)
        )
    # stored codes: a pair without such rows adds nothing
    stored = _label_terms(logs, slot_pair.data, _values_at_owner(slot_cell, slot_pair, owner))
    total = _by_feature(stored, slot_pair, of_slot, v)
    # code that is not stored: every pair of a cell that meets one changes, by an amount that depends on
    # the cell and the rows removed from it, …
    removed = feature_cell.data.astype(np.int64)
    base = int(removed.max(initial=0)) + 1
    distinct, case = np.unique(
        feature_cell.indices.astype(np.int64) * base + removed, return_inverse=True
    )
    total += _by_feature(
        _unstored(logs, distinct // base, distinct % base, pairs)[case], feature_cell, None, v
    )
    # … and by another where rows of the pair itself were removed
    removed = _values_at_owner(feature_cell, feature_pair, owner)
    of = feature_pair.indices
    left, n_pair = in_cell[owner[of]] - removed, in_pair[of]
    pair_terms = _label_terms(logs, n_pair - feature_pair.data, left) - _label_terms(
        logs, n_pair, left
    )
    return total + _by_feature(pair_terms, feature_pair, None, v)


def _label_terms(logs: CountLogs, positive: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """T(p) + T(r − p) − T(r); where p exceeds r (rows of a pair were removed) a dummy that
    cancels."""
    positive = np.minimum(positive, rows)
    return logs(positive) + logs(rows - positive) - logs(rows)


def _unstored(
    logs: CountLogs, cell: np.ndarray, removed: np.ndarray, pairs: CellPairs
) -> np.ndarray:
    """Σ over the pairs p of each listed cell of [terms after `removed` rows without p left − terms
    before]."""
    order = np.argsort(pairs.owner, kind="stable")
    ordered = pairs.owner[order]
    start = np.searchsorted(ordered, cell)
    length = np.searchsorted(ordered, cell, side="right") - start
    out = np.zeros(len(cell), np.int64)
    step = max(1, (1 << 22) // max(1, int(length.max(initial=1))))
    for a in range(0, len(cell), step):
        z = min(len(cell), a + step)
        counts = length[a:z]
        which = np.repeat(np.arange(a, z), counts)
        n_pair = pairs.in_pair[order[runs(start[a:z], start[a:z] + counts)]]
        n_cell = pairs.in_cell[cell[which]]
        change = _label_terms(logs, n_pair, n_cell - removed[which]) - _label_terms(
            logs, n_pair, n_cell
        )
        out[a:z] = sums_between(change, np.concatenate([[0], np.cumsum(counts)]))
    return out


def _rest(logs: CountLogs, rows: np.ndarray, removed: sp.csr_matrix) -> np.ndarray:
    """T(rows left) − T(rows) of each entry of `removed`, whose columns are cells or pairs with
    `rows` rows."""
    before = rows[removed.indices]
    return logs(before - removed.data) - logs(before)


def _by_feature(
    values: np.ndarray, at: sp.csr_matrix, of_row: np.ndarray | None, v: int
) -> np.ndarray:
    """Exact int64 sums of the entries' values per row of `at`, rows gathered by feature."""
    by_row = sums_between(values, at.indptr)
    if of_row is None:
        return by_row
    out = np.zeros(v, np.int64)
    np.add.at(out, of_row, by_row)
    return out


def _values_at_owner(table: sp.csr_matrix, pairs: sp.csr_matrix, owner: np.ndarray) -> np.ndarray:
    """For every entry (row, pair) of `pairs`, the value of `table` at (row, the pair's cell)."""
    row = np.repeat(np.arange(pairs.shape[0], dtype=np.int64), np.diff(pairs.indptr))
    stored = (
        np.repeat(np.arange(table.shape[0], dtype=np.int64), np.diff(table.indptr)) * table.shape[1]
        + table.indices
    )
    return table.data[np.searchsorted(stored, row * table.shape[1] + owner[pairs.indices])].astype(
        np.int64
    )


def _in_order(matrix: sp.spmatrix) -> sp.csr_matrix:
    matrix = matrix.tocsr()
    matrix.sort_indices()
    return matrix
