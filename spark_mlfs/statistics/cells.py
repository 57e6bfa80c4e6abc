"""I(f; labels | X_S) with the selected features S taken jointly: the rows fall into joint cells, and cells become many.

Within a cell, f matters only through the rows in which it has a code and a label. With p running over the occupied (cell,
class) pairs, c over the cells, and T(k) = k log k,

    n·I(f; Y | X_S) = Σ_{v,p} T(N(v, p)) − Σ_{v,c} T(N(v, c)) − Σ_p T(n_p) + Σ_c T(n_c),

where for binary relevance the classes are, label by label, "has it" and "has it not"; a label that no row of a cell has adds
nothing there. Only occupied pairs are ever looked at: the cost is rows × features (dense) or stored entries (sparse), not cells
× classes. Rows alone in their cell, and cells whose rows agree on all labels, tell nothing and are dropped first. Sums are
fixed point, so parts computed on different machines add up exactly.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..blocks.codec import State, envelope
from ..blocks.coding import CodedBlock, Coding
from ..blocks.profile import Profile
from ..kernels.information import CountLogs
from .base import Statistic
from .contingency import Classes, Labels, count_state, counts_of, groups_of, table_bytes


@dataclass
class CellInformation(Statistic):
    """I(f; target | X_S) of every feature, (v,) nats. Every row of a cell must be in one block: the engines see to that."""

    coding: Coding
    target: Any
    selected: tuple[int, ...]
    logs: CountLogs
    layout: str = field(default="cells", init=False)

    def key(self) -> Hashable:
        return "cells", self.coding.key, self.target.key(), self.selected

    def partial(self, block: CodedBlock, profile: Profile) -> State:
        rows, groups = groups_of(block, self.target)
        inside = np.zeros(block.n, bool)
        inside[rows] = True
        cells = joint_cells(block, self.coding, self.selected)
        kept = informative_rows(cells, block.labelset_hash, np.flatnonzero(inside))
        if not len(kept):
            return {"sums": np.zeros(len(self.coding.features), np.int64)}
        part = block.take(kept)
        cell, _ = rank(cells[kept])
        return {"sums": joint_information(part, self.coding, self.target, cell, self.logs)}

    def finish(self, state: State, profile: Profile) -> np.ndarray:
        return self.logs.nats(state["sums"])

    def state_bytes(self, profile: Profile) -> int:
        return 8 * len(self.coding.features) + envelope(1)


@dataclass
class CellCounts(Statistic):
    """The same, while the joint cells are few: N(f = v, cell, group) adds up over any blocks. Result: (v,) nats."""

    coding: Coding
    target: Any
    selected: tuple[int, ...]
    logs: CountLogs | None

    def key(self) -> Hashable:
        return "cell counts", self.coding.key, self.target.key(), self.selected

    def lean(self) -> CellCounts:
        return CellCounts(self.coding, self.target, self.selected, None)

    @property
    def cells(self) -> int:
        return self.coding.width ** len(self.selected)

    def partial(self, block: CodedBlock, profile: Profile) -> State:
        cell = joint_cells(block, self.coding, self.selected)
        rows, groups = groups_of(block, self.target)
        return count_state(block, self.coding, rows, cell[rows] * self.target.size + groups, self.cells * self.target.size)

    def finish(self, state: State, profile: Profile) -> np.ndarray:
        counts, logs = counts_of(state, self.coding), self.logs
        out = np.empty(len(self.coding.features), np.int64)
        own = counts.totals.reshape(self.cells, self.target.size)
        for first, last, part in counts.chunks(copies=4):
            part = part.reshape(last - first, self.coding.width, self.cells, self.target.size)
            if isinstance(self.target, Classes):
                out[first:last] = logs(part).sum(axis=(1, 2, 3)) - logs(part.sum(axis=3)).sum(axis=(1, 2))
                out[first:last] += logs(own.sum(axis=1)).sum() - logs(own).sum()
                continue
            whole, with_label = part[..., :1], part[..., 1:]
            out[first:last] = (logs(with_label) + logs(whole - with_label) - logs(whole)).sum(axis=(1, 2, 3))
            out[first:last] -= (logs(own[:, 1:]) + logs(own[:, :1] - own[:, 1:]) - logs(own[:, :1])).sum()
        return logs.nats(out)

    def state_bytes(self, profile: Profile) -> int:
        return table_bytes(self.coding, self.target, profile, self.cells) + envelope(4)


def rank(values: np.ndarray) -> tuple[np.ndarray, int]:
    """Values replaced by 0..count-1 in their order, and count."""
    distinct, place = np.unique(values, return_inverse=True)
    return place, len(distinct)


def joint_cells(block: CodedBlock, coding: Coding, selected: tuple[int, ...]) -> np.ndarray:
    """(n,) a number for each row's joint code of the selected features: equal codes, equal numbers (within the block)."""
    cells = np.zeros(block.n, np.int64)
    count = 1
    for s in selected:
        if count > (1 << 62) // coding.width:
            cells, count = rank(cells)
        cells = cells * coding.width + block.feature(coding, s)
        count *= coding.width
    return cells


def informative_rows(cells: np.ndarray, labelsets: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """Those of `rows` whose cell holds rows of different labelsets."""
    place, count = rank(cells[rows])
    reference = np.zeros(count, np.uint64)
    reference[place] = labelsets[rows]
    mixed = np.zeros(count, bool)
    mixed[place[labelsets[rows] != reference[place]]] = True
    return rows[mixed[place]]


def joint_information(block: CodedBlock, coding: Coding, target: Any, cell: np.ndarray, logs: CountLogs) -> np.ndarray:
    """(v,) int64 fixed-point n·I(f; target | cell) over the rows of a block; `cell` (n,) numbers 0..C-1."""
    rows, groups = groups_of(block, target)
    if isinstance(target, Labels):
        rows, groups = rows[groups > 0], groups[groups > 0]
    pair, count = rank(cell[rows] * (target.size + 1) + groups)
    owner = np.zeros(count, np.int64)  # the pair's cell
    owner[pair] = cell[rows]
    work = _sparse_sums if block.onehot is not None else _dense_sums
    return work(block, coding, isinstance(target, Labels), cell, rows, pair, owner, logs)


def _dense_sums(
    block: CodedBlock,
    coding: Coding,
    labels: bool,
    cell: np.ndarray,
    rows: np.ndarray,
    pair: np.ndarray,
    owner: np.ndarray,
    logs: CountLogs,
) -> np.ndarray:
    width = coding.width
    in_cell, in_pair = np.bincount(cell), np.bincount(pair)
    pair_base, cell_base = pair * width, cell * width
    if labels:
        own = (logs(in_pair) + logs(in_cell[owner] - in_pair) - logs(in_cell[owner])).sum()
    else:
        own = logs(in_pair).sum() - logs(in_cell).sum()
    out = np.empty(len(coding.features), np.int64)
    per = coding.per_byte
    for byte in range(len(block.codes)):
        codes = block.codes[byte].astype(np.int64)
        for feature in range(byte * per, min(len(out), byte * per + per)):
            code = codes % width
            codes //= width
            by_pair = np.bincount(pair_base + code[rows], minlength=len(owner) * width)
            by_cell = np.bincount(cell_base + code, minlength=len(in_cell) * width)
            if labels:
                whole = by_cell.reshape(-1, width)[owner].reshape(-1)
                out[feature] = (logs(by_pair) + logs(whole - by_pair) - logs(whole)).sum() - own
            else:
                out[feature] = logs(by_pair).sum() - logs(by_cell).sum() - own
    return out


def _sparse_sums(
    block: CodedBlock,
    coding: Coding,
    labels: bool,
    cell: np.ndarray,
    rows: np.ndarray,
    pair: np.ndarray,
    owner: np.ndarray,
    logs: CountLogs,
) -> np.ndarray:
    """The stored codes' counts come from sparse products; the code of 0 has what they leave of each cell and pair."""
    v = len(coding.features)
    in_cell, in_pair = np.bincount(cell), np.bincount(pair)
    onehot = block.onehot.T.tocsr()
    cells = sp.csr_matrix((np.ones(block.n, np.int32), (np.arange(block.n), cell)), shape=(block.n, len(in_cell)))
    pairs = sp.csr_matrix((np.ones(len(rows), np.int32), (rows, pair)), shape=(block.n, len(owner)))
    of_slot = np.repeat(np.arange(v), coding.bins - 1)
    slot_cell, slot_pair = _sorted_csr(onehot @ cells), _sorted_csr(onehot @ pairs)
    if (coding.bins == 2).all():
        feature_cell, feature_pair = slot_cell, slot_pair
    else:
        gather = sp.csr_matrix((np.ones(len(of_slot), np.int32), (of_slot, np.arange(len(of_slot)))), shape=(v, len(of_slot)))
        feature_cell, feature_pair = _sorted_csr(gather @ slot_cell), _sorted_csr(gather @ slot_pair)
    if not labels:
        return (
            _by_feature(logs(slot_pair.data), slot_pair, of_slot, v)
            - _by_feature(logs(slot_cell.data), slot_cell, of_slot, v)
            + _by_feature(_rest(logs, in_pair, feature_pair), feature_pair, None, v)
            - _by_feature(_rest(logs, in_cell, feature_cell), feature_cell, None, v)
        )
    # stored codes: a pair without such rows adds nothing
    whole = _lookup(slot_cell, slot_pair, owner)
    stored = logs(slot_pair.data) + logs(whole - slot_pair.data) - logs(whole)
    total = _by_feature(stored, slot_pair, of_slot, v)
    # code of 0: every pair of a touched cell changes, by an amount that depends on the cell and the rows taken from it, …
    taken = feature_cell.data.astype(np.int64)
    key = feature_cell.indices.astype(np.int64) * (int(taken.max(initial=0)) + 1) + taken
    distinct, place = np.unique(key, return_inverse=True)
    base = int(taken.max(initial=0)) + 1
    total += _by_feature(
        _untouched(logs, distinct // base, distinct % base, owner, in_cell, in_pair)[place], feature_cell, None, v
    )
    # … and by another where rows of the pair itself were taken
    rows_taken = _lookup(feature_cell, feature_pair, owner)
    of = feature_pair.indices
    left, n_pair = in_cell[owner[of]] - rows_taken, in_pair[of]
    touched = _label_terms(logs, n_pair - feature_pair.data, left) - _label_terms(logs, n_pair, left)
    return total + _by_feature(touched, feature_pair, None, v)


def _label_terms(logs: CountLogs, positive: np.ndarray, whole: np.ndarray) -> np.ndarray:
    """T(p) + T(w − p) − T(w); where `positive` exceeds `whole` (a pair whose rows were partly taken) the value is a dummy that
    cancels."""
    positive = np.minimum(positive, whole)
    return logs(positive) + logs(whole - positive) - logs(whole)


def _untouched(
    logs: CountLogs, cell: np.ndarray, taken: np.ndarray, owner: np.ndarray, in_cell: np.ndarray, in_pair: np.ndarray
) -> np.ndarray:
    """Σ over the pairs p of each cell of [terms after `taken` rows without p left − terms before]."""
    order = np.argsort(owner, kind="stable")
    start = np.searchsorted(owner[order], cell)
    length = np.searchsorted(owner[order], cell, side="right") - start
    out = np.zeros(len(cell), np.int64)
    step = max(1, (1 << 22) // max(1, int(length.max(initial=1))))
    for a in range(0, len(cell), step):
        z = min(len(cell), a + step)
        counts = length[a:z]
        which = np.repeat(np.arange(a, z), counts)
        position = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
        n_pair = in_pair[order[start[which] + position]]
        n_cell = in_cell[cell[which]]
        change = _label_terms(logs, n_pair, n_cell - taken[which]) - _label_terms(logs, n_pair, n_cell)
        sums = np.concatenate([[0], np.cumsum(change)])
        ends = np.cumsum(counts)
        out[a:z] = sums[ends] - sums[ends - counts]
    return out


def _rest(logs: CountLogs, have: np.ndarray, taken: sp.csr_matrix) -> np.ndarray:
    before = have[taken.indices]
    return logs(before - taken.data) - logs(before)


def _by_feature(values: np.ndarray, at: sp.csr_matrix, of_row: np.ndarray | None, v: int) -> np.ndarray:
    """Exact int64 sums of the entries' values per row of `at`, rows gathered by feature."""
    sums = np.concatenate([[0], np.cumsum(values, dtype=np.int64)])
    by_row = sums[at.indptr[1:]] - sums[at.indptr[:-1]]
    if of_row is None:
        return by_row
    out = np.zeros(v, np.int64)
    np.add.at(out, of_row, by_row)
    return out


def _lookup(table: sp.csr_matrix, wanted: sp.csr_matrix, owner: np.ndarray) -> np.ndarray:
    """For every entry (row, pair) of `wanted`, the value of `table` at (row, the pair's cell)."""
    row = np.repeat(np.arange(wanted.shape[0], dtype=np.int64), np.diff(wanted.indptr))
    have = np.repeat(np.arange(table.shape[0], dtype=np.int64), np.diff(table.indptr)) * table.shape[1] + table.indices
    return table.data[np.searchsorted(have, row * table.shape[1] + owner[wanted.indices])].astype(np.int64)


def _sorted_csr(matrix: sp.spmatrix) -> sp.csr_matrix:
    matrix = matrix.tocsr()
    matrix.sort_indices()
    return matrix
