"""I(f; labels | X_S) with the selected features S taken jointly: the rows fall into joint cells, and cells become many.

While the cells are few, their counts add up over any blocks (`CellCounts`). When they are many, the rows of a cell are brought
together and only what is occupied is looked at (`CellInformation`, `kernels.cells`): rows alone in their cell, and cells whose
rows agree on all labels, tell nothing and are dropped first. Sums are fixed point: both give the same bits.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass

import numpy as np

from ..blocks.codec import State, envelope
from ..blocks.coding import CodedBlock, Coding
from ..blocks.profile import Profile
from ..kernels.cells import (
    CellPairs,
    dense_cell_information,
    informative_rows,
    joint_cells,
    numbered,
    sparse_cell_information,
)
from ..kernels.information import CountLogs
from .base import Statistic
from .contingency import count_state, counts_of, table_bytes
from .targets import Classes, Labels, Target, finish_key, groups_of

MANY = 1 << 31  # cells: as a size, times groups and codes, it stays within int64


def cells_of(block: CodedBlock, coding: Coding, selected: tuple[int, ...]) -> np.ndarray:
    """(n,) a number for each row's joint code of the selected features: equal codes, equal numbers (within the block)."""
    return joint_cells((block.feature(coding, s) for s in selected), block.n, coding.width)


@dataclass
class CellInformation(Statistic):
    """I(f; target | X_S) of every feature, (v,) nats. Every row of a cell must be in one block: the engines see to that."""

    coding: Coding
    target: Target
    selected: tuple[int, ...]
    logs: CountLogs
    layout = "cells"
    weighted = True

    def key(self) -> Hashable:
        return "cells", self.coding.key, self.target.key(), self.selected, finish_key(self.target, self.logs)

    def partial(self, block: CodedBlock, profile: Profile) -> State:
        rows, _ = groups_of(block, self.target)
        in_a_group = np.zeros(block.n, bool)
        in_a_group[rows] = True
        cells = cells_of(block, self.coding, self.selected)
        kept = informative_rows(cells, block.labelset_hash, np.flatnonzero(in_a_group))
        if not len(kept):
            return {"sums": np.zeros(len(self.coding.features), np.int64)}
        part = block.take(kept)
        cell, _ = numbered(cells[kept])
        pairs = CellPairs.of(cell, *groups_of(part, self.target), isinstance(self.target, Labels), part.masses(profile))
        if part.onehot is not None:
            return {"sums": sparse_cell_information(part.onehot, self.coding.bins, pairs, self.logs)}
        assert part.codes is not None
        width, per_byte, features = self.coding.width, self.coding.per_byte, len(self.coding.features)
        return {"sums": dense_cell_information(part.codes, width, per_byte, features, pairs, self.logs)}

    def finish(self, state: State, profile: Profile) -> np.ndarray:
        return self.logs.nats(state["sums"])

    def state_bytes(self, profile: Profile) -> int:
        return 8 * len(self.coding.features) + envelope(1)


@dataclass
class CellCounts(Statistic):
    """The same, while the joint cells are few: N(f = v, cell, group) adds up over any blocks. Result: (v,) nats."""

    coding: Coding
    target: Target
    selected: tuple[int, ...]
    logs: CountLogs | None
    weighted = True

    def key(self) -> Hashable:
        return "cell counts", self.coding.key, self.target.key(), self.selected, finish_key(self.target, self.logs)

    def worker_view(self) -> CellCounts:
        return CellCounts(self.coding, self.target, self.selected, None)

    @property
    def cells(self) -> int:
        """How many joint cells there may be; from `MANY` on only that they are too many to count one by one."""
        return min(self.coding.width ** len(self.selected), MANY)

    def partial(self, block: CodedBlock, profile: Profile) -> State:
        cell = cells_of(block, self.coding, self.selected)
        rows, groups = groups_of(block, self.target)
        groups = cell[rows] * self.target.size + groups
        return count_state(block, self.coding, profile, rows, groups, self.cells * self.target.size)

    def finish(self, state: State, profile: Profile) -> np.ndarray:
        counts, logs = counts_of(state, self.coding), self.logs
        assert logs is not None
        out = np.empty(len(self.coding.features), np.int64)
        own = counts.totals.reshape(self.cells, self.target.size)
        for first, last, part in counts.chunks(copies=4):
            part = part.reshape(last - first, self.coding.width, self.cells, self.target.size)
            if isinstance(self.target, Classes):
                out[first:last] = logs(part).sum(axis=(1, 2, 3)) - logs(part.sum(axis=3)).sum(axis=(1, 2))
                out[first:last] += logs(own.sum(axis=1)).sum() - logs(own).sum()
                continue
            every, positive = part[..., :1], part[..., 1:]
            out[first:last] = (logs(positive) + logs(every - positive) - logs(every)).sum(axis=(1, 2, 3))
            out[first:last] -= (logs(own[:, 1:]) + logs(own[:, :1] - own[:, 1:]) - logs(own[:, :1])).sum()
        return logs.nats(out)

    def state_bytes(self, profile: Profile) -> int:
        return table_bytes(self.coding, self.target, profile, self.cells) + envelope(4)
