"""I(f; labels | X_S) with the selected features S taken jointly: the rows fall into joint cells, and cells become many.

While the cells are few, their counts add up over any blocks (`cell_counts`). When they are many, the rows of a cell are brought
together and only what is occupied is looked at (`CellInformation`, `kernels.cells`): rows alone in their cell, and cells whose
rows agree on all labels, tell nothing and are dropped first. Sums are fixed point: both give the same bits.
"""

from __future__ import annotations

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
from .base import FeatureNumbers, Reduction, Statistic
from .contingency import Counts, TwoWay
from .targets import Classes, Labels, Target, groups_of

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
    wholly = True

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


@dataclass(frozen=True)
class JointCells(Target):
    """The groups of `target` once for each joint code of the `selected` features."""

    target: Target
    coding: Coding
    selected: tuple[int, ...]
    asked_once = True

    @property
    def cells(self) -> int:
        """How many joint cells there may be; from `MANY` on only that they are too many to count one by one."""
        return min(self.coding.width ** len(self.selected), MANY)

    @property
    def size(self) -> int:
        return self.cells * self.target.size

    def groups(self, block: CodedBlock) -> tuple[np.ndarray, np.ndarray]:
        rows, groups = groups_of(block, self.target)
        return rows, cells_of(block, self.coding, self.selected)[rows] * self.target.size + groups

    def bounds(self, profile: Profile) -> tuple[int, int]:
        return self.target.bounds(profile)


def cell_counts(coding: Coding, target: Target, selected: tuple[int, ...], logs: CountLogs) -> FeatureNumbers:
    """The same, (1, v), while the joint cells are few: N(f = v, cell, group) adds up over any blocks."""
    cells = JointCells(target, coding, selected)
    return FeatureNumbers((TwoWay(coding, cells),), InformationInCells(cells, logs))


@dataclass(frozen=True)
class InformationInCells(Reduction):
    """I(f; target | cell), from the counts of the groups in each cell."""

    cells: JointCells
    logs: CountLogs

    def __call__(self, counts: Counts) -> np.ndarray:
        logs, target, cells, out = self.logs, self.cells.target, self.cells.cells, np.empty(counts.count, np.int64)
        own = counts.totals.reshape(cells, target.size)
        for at, part in counts.chunks(4):
            part = part.reshape(-1, counts.coding.width, cells, target.size)
            if isinstance(target, Classes):
                out[at] = logs(part).sum(axis=(1, 2, 3)) - logs(part.sum(axis=3)).sum(axis=(1, 2))
                out[at] += logs(own.sum(axis=1)).sum() - logs(own).sum()
                continue
            every, positive = part[..., :1], part[..., 1:]
            out[at] = (logs(positive) + logs(every - positive) - logs(every)).sum(axis=(1, 2, 3))
            out[at] -= (logs(own[:, 1:]) + logs(own[:, :1] - own[:, 1:]) - logs(own[:, :1])).sum()
        return logs.nats(out)
