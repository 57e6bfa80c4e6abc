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
from numpy import ndarray

from ..lazy import cached_property
from .information import CountLogs
from .matrix import runs, sums_between

PAIRS_AT_ONCE = 1 << 22  # pairs of listed cells that are looked at together


def numbered(values: ndarray) -> tuple[ndarray, int]:
    """Return the values replaced by 0..count-1 in their order, and count."""
    distinct, number = np.unique(values, return_inverse=True)
    return number, len(distinct)


def joint_cells(columns: Iterable[ndarray], n: int, width: int) -> ndarray:
    """Return (n,) a number for each row's joint code in the columns, codes 0..width-1.

    Equal codes have equal numbers (among these rows)."""
    cells = np.zeros(n, np.int64)
    count = 1
    for codes in columns:
        if count > (1 << 62) // width:  # the product would leave int64
            cells, count = numbered(cells)
        cells = cells * width + codes
        count *= width
    return cells


def informative_rows(cells: ndarray, labelsets: ndarray, rows: ndarray) -> ndarray:
    """Return those of `rows` whose cell has rows of different labelsets.

    The others tell nothing about the labels."""
    cell, count = numbered(cells[rows])
    reference = np.zeros(count, np.uint64)
    reference[cell] = labelsets[rows]
    mixed = np.zeros(count, bool)
    mixed[cell[labelsets[rows] != reference[cell]]] = True
    return rows[mixed[cell]]


@dataclass(frozen=True)
class CellPairs:
    """The occupied pairs (cell, group) of n rows.

    `cell` (n,) each row's cell 0..C-1; `rows` and `pair` (r,) which row is in which pair 0..P-1;
    `owner` (P,) each pair's cell; `labels` whether groups are labels, which overlap, or classes;
    `mass` (n,) of rows."""

    cell: ndarray
    rows: ndarray
    pair: ndarray
    owner: ndarray
    labels: bool
    mass: ndarray | None = None

    @staticmethod
    def of(
        cell: ndarray,
        rows: ndarray,
        groups: ndarray,
        labels: bool,
        mass: ndarray | None = None,
    ) -> CellPairs:
        """Make the pairs from the rows' groups; of labels, group 0 is all rows and is left out."""
        if labels:
            rows = rows[groups > 0]
            groups = groups[groups > 0]
        pair, count = numbered(cell[rows] * (int(groups.max(initial=0)) + 1) + groups)
        owner = np.zeros(count, np.int64)
        owner[pair] = cell[rows]
        return CellPairs(
            cell,
            rows,
            pair,
            owner,
            labels,
            mass,
        )

    @cached_property
    def in_cell(self) -> ndarray:
        """(C,) rows of each cell."""
        return self.by_cell(self.cell)

    @cached_property
    def in_pair(self) -> ndarray:
        """(P,) rows of each pair."""
        return self.by_pair(self.pair)

    def by_cell(self, numbers: ndarray, size: int = 0) -> ndarray:
        """Count the rows of each of the `numbers` (n,)."""
        return np.bincount(numbers, self.mass, minlength=size).astype(np.int64)

    def by_pair(self, numbers: ndarray, size: int = 0) -> ndarray:
        """Count the rows of each of the `numbers` (r,)."""
        mass = None if self.mass is None else self.mass[self.rows]
        return np.bincount(numbers, mass, minlength=size).astype(np.int64)


def dense_cell_information(
    codes: ndarray,
    width: int,
    per_byte: int,
    features: int,
    pairs: CellPairs,
    logs: CountLogs,
) -> ndarray:
    """Return (features,) int64 fixed-point n·I(f; groups | cell) from packed codes.

    They are as `counts.count_dense` reads them."""
    in_cell = pairs.in_cell
    owner = pairs.owner
    if pairs.labels:
        of_cells = _label_terms(logs, pairs.in_pair, in_cell[owner]).sum()
    else:
        of_cells = logs(pairs.in_pair).sum() - logs(in_cell).sum()
    pair_base = pairs.pair * width
    cell_base = pairs.cell * width
    out = np.empty(features, np.int64)
    for byte in range(len(codes)):
        packed = codes[byte].astype(np.int64)
        first = byte * per_byte
        for feature in range(first, min(features, first + per_byte)):
            code = packed % width
            packed //= width
            by_pair = pairs.by_pair(pair_base + code[pairs.rows], len(owner) * width)
            by_cell = pairs.by_cell(cell_base + code, len(in_cell) * width)
            if pairs.labels:
                of_owner = by_cell.reshape(-1, width)[owner].reshape(-1)
                out[feature] = _label_terms(logs, by_pair, of_owner).sum() - of_cells
            else:
                out[feature] = logs(by_pair).sum() - logs(by_cell).sum() - of_cells
    return out


def sparse_cell_information(
    onehot: sp.csr_matrix,
    bins: ndarray,
    pairs: CellPairs,
    logs: CountLogs,
) -> ndarray:
    """Return (v,) fixed-point n·I(f; groups | cell) from one-hot slots of the stored codes.

    They are (n, Σ(bins − 1)), `bins` (v,) a feature."""
    v = len(bins)
    n = onehot.shape[0]
    cell_count = len(pairs.in_cell)
    pair_count = len(pairs.owner)
    mass = np.ones(n, np.int32) if pairs.mass is None else pairs.mass
    cells = sp.csr_matrix((mass, (np.arange(n), pairs.cell)), shape=(n, cell_count))
    members = sp.csr_matrix((mass[pairs.rows], (pairs.rows, pairs.pair)), shape=(n, pair_count))
    slots = onehot.T.tocsr()
    slot_cell = _in_order(slots @ cells)
    slot_pair = _in_order(slots @ members)
    of_slot = np.repeat(np.arange(v), bins - 1)
    if (bins == 2).all():
        feature_cell = slot_cell
        feature_pair = slot_pair
    else:
        entries = (np.ones(len(of_slot), np.int32), (of_slot, np.arange(len(of_slot))))
        gather = sp.csr_matrix(entries, shape=(v, len(of_slot)))
        feature_cell = _in_order(gather @ slot_cell)
        feature_pair = _in_order(gather @ slot_pair)
    if pairs.labels:
        stored = _label_terms(
            logs, slot_pair.data, _values_at_owner(slot_cell, slot_pair, pairs.owner)
        )
        # a pair without rows of a stored code adds nothing
        of_stored = _by_feature(stored, slot_pair, of_slot, v)
        return of_stored + _unstored_label_terms(logs, feature_cell, feature_pair, pairs)
    of_pairs = _by_feature(logs(slot_pair.data), slot_pair, of_slot, v)
    of_cells = _by_feature(logs(slot_cell.data), slot_cell, of_slot, v)
    pair_changes = sums_between(_removal(logs, pairs.in_pair, feature_pair), feature_pair.indptr)
    cell_changes = sums_between(_removal(logs, pairs.in_cell, feature_cell), feature_cell.indptr)
    return of_pairs - of_cells + pair_changes - cell_changes


def _unstored_label_terms(
    logs: CountLogs,
    feature_cell: sp.csr_matrix,
    feature_pair: sp.csr_matrix,
    pairs: CellPairs,
) -> ndarray:
    """Return (v,) what the code that is not stored adds, less what the cells have without f.

    `feature_cell` (v, C) and `feature_pair` (v, P): rows of each cell and pair with a stored code
    of f, which are removed."""
    # every pair of a cell that loses rows changes, by an amount that depends on the cell and the
    # rows removed from it, …
    removed = feature_cell.data.astype(np.int64)
    base = int(removed.max(initial=0)) + 1
    key = feature_cell.indices.astype(np.int64) * base + removed
    distinct, case = np.unique(key, return_inverse=True)
    changes = _changes_without_pairs(logs, distinct // base, distinct % base, pairs)
    total = sums_between(changes[case], feature_cell.indptr)
    # … and by another where rows of the pair itself were removed
    pair = feature_pair.indices
    removed = _values_at_owner(feature_cell, feature_pair, pairs.owner)
    remaining = pairs.in_cell[pairs.owner[pair]] - removed
    n_pair = pairs.in_pair[pair]
    terms = _label_terms(logs, n_pair - feature_pair.data, remaining)
    terms = terms - _label_terms(logs, n_pair, remaining)
    return total + sums_between(terms, feature_pair.indptr)


def _label_terms(logs: CountLogs, positive: ndarray, rows: ndarray) -> ndarray:
    """Return T(p) + T(r − p) − T(r).

    Where p exceeds r (rows of a pair were removed) it is a dummy that cancels."""
    positive = np.minimum(positive, rows)
    return logs(positive) + logs(rows - positive) - logs(rows)


def _changes_without_pairs(
    logs: CountLogs,
    cell: ndarray,
    removed: ndarray,
    pairs: CellPairs,
) -> ndarray:
    """Return Σ over the pairs p of each listed cell of terms after less terms before.

    After `removed` rows without p left the cell."""
    order = np.argsort(pairs.owner, kind="stable")
    ordered = pairs.owner[order]
    start = np.searchsorted(ordered, cell)
    length = np.searchsorted(ordered, cell, side="right") - start
    out = np.zeros(len(cell), np.int64)
    step = max(1, PAIRS_AT_ONCE // max(1, int(length.max(initial=1))))
    for first in range(0, len(cell), step):
        last = min(len(cell), first + step)
        counts = length[first:last]
        listed = np.repeat(np.arange(first, last), counts)
        n_pair = pairs.in_pair[order[runs(start[first:last], start[first:last] + counts)]]
        n_cell = pairs.in_cell[cell[listed]]
        change = _label_terms(logs, n_pair, n_cell - removed[listed])
        change = change - _label_terms(logs, n_pair, n_cell)
        out[first:last] = sums_between(change, np.concatenate([[0], np.cumsum(counts)]))
    return out


def _removal(logs: CountLogs, rows: ndarray, removed: sp.csr_matrix) -> ndarray:
    """Return T(rows left) − T(rows) of each entry of `removed`.

    Its columns are cells or pairs with `rows` rows."""
    before = rows[removed.indices]
    return logs(before - removed.data) - logs(before)


def _by_feature(
    values: ndarray,
    slots: sp.csr_matrix,
    of_slot: ndarray,
    v: int,
) -> ndarray:
    """Return exact int64 sums of the values of the entries of `slots` by the feature of its row."""
    out = np.zeros(v, np.int64)
    np.add.at(out, of_slot, sums_between(values, slots.indptr))
    return out


def _values_at_owner(table: sp.csr_matrix, pairs: sp.csr_matrix, owner: ndarray) -> ndarray:
    """Return, for every entry (row, pair) of `pairs`, the value of `table` at (row, its cell)."""
    row = np.repeat(np.arange(pairs.shape[0], dtype=np.int64), np.diff(pairs.indptr))
    table_row = np.repeat(np.arange(table.shape[0], dtype=np.int64), np.diff(table.indptr))
    stored = table_row * table.shape[1] + table.indices
    place = np.searchsorted(stored, row * table.shape[1] + owner[pairs.indices])
    return table.data[place].astype(np.int64)


def _in_order(matrix: sp.spmatrix) -> sp.csr_matrix:
    matrix = matrix.tocsr()
    matrix.sort_indices()
    return matrix
