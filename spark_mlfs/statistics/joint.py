"""Joint values of several features."""

from __future__ import annotations

from collections.abc import Iterator
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
from ..kernels.hashing import mix
from ..kernels.information import CountLogs
from .base import FeatureNumbers, Reduction, Statistic
from .contingency import Counts, TwoWay
from .targets import Classes, Labels, Target, groups_of

MANY = 1 << 31  # cells: as a size, times groups and codes, it stays within int64


def cells_of(block: CodedBlock, coding: Coding, selected: tuple[int, ...]) -> np.ndarray:
    """(n,) a number for each row's joint code of the selected features: equal codes, equal numbers
    (within the block)."""
    return joint_cells((block.feature(coding, s) for s in selected), block.n, coding.width)


@dataclass
class CellInformation(Statistic, layout="cells", weighted=True, wholly=True):
    """I(f; target | X_S) of every feature, (v,) nats, of so many joint cells that only what is
    occupied is looked at (`kernels.cells`): rows alone in their cell, and cells whose rows agree on
    all labels, tell nothing and are dropped first. Every row of a cell must be in one block: the
    engines see to that. Sums are fixed point, the bits those of `cell_counts`."""

    coding: Coding
    target: Target
    selected: tuple[int, ...]
    logs: CountLogs

    def partial(self, block: CodedBlock, profile: Profile) -> State:
        coding, cells = self.coding, cells_of(block, self.coding, self.selected)
        in_a_group = np.zeros(block.n, bool)
        in_a_group[groups_of(block, self.target)[0]] = True
        kept = informative_rows(cells, block.labelset_hash, np.flatnonzero(in_a_group))
        if not len(kept):
            return {"sums": np.zeros(len(coding.features), np.int64)}
        part, (cell, _) = block.take(kept), numbered(cells[kept])
        pairs = CellPairs.of(
            cell,
            *groups_of(part, self.target),
            isinstance(self.target, Labels),
            part.masses(profile),
        )
        if part.onehot is not None:
            return {"sums": sparse_cell_information(part.onehot, coding.bins, pairs, self.logs)}
        assert part.codes is not None
        packing = coding.width, coding.per_byte, len(coding.features)
        return {"sums": dense_cell_information(part.codes, *packing, pairs, self.logs)}

    def finish(self, state: State, profile: Profile) -> np.ndarray:
        return self.logs.nats(state["sums"])

    def state_bytes(self, profile: Profile) -> int:
        return 8 * len(self.coding.features) + envelope(1)


@dataclass(frozen=True)
class JointCells(Target, asked_once=True):
    """The groups of `target` once for each joint code of the `selected` features."""

    target: Target
    coding: Coding
    selected: tuple[int, ...]

    @property
    def cells(self) -> int:
        """How many joint cells there may be; from `MANY` on only that they are too many to count
        one by one."""
        return min(self.coding.width ** len(self.selected), MANY)

    @property
    def size(self) -> int:
        return self.cells * self.target.size

    def groups(self, block: CodedBlock) -> tuple[np.ndarray, np.ndarray]:
        rows, groups = groups_of(block, self.target)
        return rows, cells_of(block, self.coding, self.selected)[rows] * self.target.size + groups

    def bounds(self, profile: Profile) -> tuple[int, int]:
        return self.target.bounds(profile)


def cell_counts(
    coding: Coding, target: Target, selected: tuple[int, ...], logs: CountLogs
) -> FeatureNumbers:
    """The same, (1, v), while the joint cells are few: N(f = v, cell, group) adds up over any
    blocks."""
    cells = JointCells(target, coding, selected)
    return FeatureNumbers((TwoWay(coding, cells),), InformationInCells(cells, logs))


@dataclass(frozen=True)
class InformationInCells(Reduction):
    """I(f; target | cell), from the counts of the groups in each cell."""

    cells: JointCells
    logs: CountLogs

    def __call__(self, counts: Counts) -> np.ndarray:
        logs, target, out = self.logs, self.cells.target, np.empty(counts.count, np.int64)
        shape = counts.coding.width, self.cells.cells, target.size

        def summed(part: np.ndarray) -> np.ndarray:
            """−n·H(target | code, cell), summed over codes and cells, of each feature."""
            if isinstance(target, Classes):
                return logs(part).sum(axis=(1, 2, 3)) - logs(part.sum(axis=3)).sum(axis=(1, 2))
            every, positive = part[..., :1], part[..., 1:]
            return (logs(positive) + logs(every - positive) - logs(every)).sum(axis=(1, 2, 3))

        for at, part in counts.chunks(4):
            out[at] = summed(part.reshape(-1, *shape))
        return logs.nats(out - summed(counts.totals.reshape(1, 1, *shape[1:])))


MOST_VALUES = 1024  # distinct joint values of a family that are counted


@dataclass
class JointCounts(Statistic, divisible=False, weighted=True):
    """N(X_F = v, group) for the families F of features, v the values that the codes of a family
    take together: for each the counts (values, groups), int64, of weighted rows in units of their
    weight; or None of more than `most` values. A value is known by the 64-bit hash of its codes:
    two of k share one with probability k²/2⁶⁵. State: 8·(1 + groups) bytes a value."""

    coding: Coding
    target: Target
    families: tuple[tuple[int, ...], ...]
    most: int = MOST_VALUES

    def partial(self, block: CodedBlock, profile: Profile) -> State:
        rows, groups = groups_of(block, self.target)
        mass, size = block.masses(profile), self.target.size
        weights = None if mass is None else mass[rows].astype(np.float64)  # whole: sums are exact
        out: State = {}
        for i, hashes in enumerate(self._hashes(block)):
            values, at = np.unique(hashes[rows], return_inverse=True)
            if len(values) > self.most:
                out |= {f"{i} values": None, f"{i} table": None}
                continue
            cells = np.bincount(at * size + groups, weights, minlength=len(values) * size)
            out |= {
                f"{i} values": values,
                f"{i} table": cells.astype(np.int64).reshape(len(values), size),
            }
        return out

    def _hashes(self, block: CodedBlock) -> Iterator[np.ndarray]:
        """(n,) uint64 of the joint value of each family in turn: the sum of its codes' hashes."""
        coding = self.coding
        stored = None if block.onehot is None else block.onehot.tocsc()
        with np.errstate(over="ignore"):
            for family in self.families:
                out = np.zeros(block.n, np.uint64)
                for f in family:
                    of_code = mix(f * 256 + np.arange(coding.bins[f]), 0x101)
                    if stored is None:
                        out += of_code[block.feature(coding, f)]
                        continue
                    other = np.delete(np.arange(coding.bins[f]), coding.zero[f])
                    for slot, code in enumerate(other, int(coding.offsets[f])):
                        out[stored.indices[stored.indptr[slot] : stored.indptr[slot + 1]]] += (
                            of_code[code]
                        )
                yield out

    def merge(self, left: State, right: State) -> State:
        out: State = dict.fromkeys(left)
        for i in range(len(self.families)):
            one, other = left[f"{i} values"], right[f"{i} values"]
            if one is None or other is None:
                continue
            values, at = np.unique(np.concatenate([one, other]), return_inverse=True)
            if len(values) <= self.most:
                table = np.zeros((len(values), self.target.size), np.int64)
                table[at[: len(one)]] = left[f"{i} table"]
                table[at[len(one) :]] += right[f"{i} table"]
                out |= {f"{i} values": values, f"{i} table": table}
        return out

    def finish(self, state: State, profile: Profile) -> list[np.ndarray | None]:
        tables = (state[f"{i} table"] for i in range(len(self.families)))
        return [None if table is None else table.astype(np.int64) for table in tables]

    def bytes_of(self, profile: Profile) -> np.ndarray:
        """(families,) what each takes of a state at most."""
        values = [
            float(np.prod(self.coding.bins[list(family)].astype(float))) for family in self.families
        ]
        return (
            np.minimum(values, min(self.most, profile.n)).astype(np.int64)
            * 8
            * (1 + self.target.size)
            + 8
        )

    def state_bytes(self, profile: Profile) -> int:
        return int(self.bytes_of(profile).sum()) + envelope(2 * len(self.families))
