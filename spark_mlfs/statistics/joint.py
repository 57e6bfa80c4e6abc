"""Counts and information given the joint values of several features, such as a one-hot family.

A *cell* is a joint code of selected features. While cells are few they are counted as groups of
rows (`cell_counts`); of so many that only what is occupied can be looked at rows are met cell by
cell (`CellInformation`, `kernels.cells`). Both give the same bits."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

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
MOST_VALUES = 1024  # distinct joint values of a family that are counted
# of counts by cell, laid out dense: what reduces them goes over some 2·10⁷ numbers a second
DENSE_BYTES = 64 << 20


def cells_of(block: CodedBlock, coding: Coding, selected: tuple[int, ...]) -> ndarray:
    """Return a number for each row's joint code of the selected features, (n,).

    Equal codes have equal numbers, within the block."""
    return joint_cells((block.feature(coding, s) for s in selected), block.n, coding.width)


@dataclass
class CellInformation(Statistic, layout="cells", weighted=True, wholly=True):
    """I(f; target | X_S) of every feature, (v,) nats, from the cells that rows occupy.

    Rows alone in their cell, and cells whose rows agree on all labels, have no information and are
    dropped first. Every row of a cell must be in one block: the engines see to that. Sums are fixed
    point, the bits those of `cell_counts`."""

    coding: Coding
    target: Target
    selected: tuple[int, ...]
    logs: CountLogs

    def partial(self, block: CodedBlock, profile: Profile) -> State:
        coding = self.coding
        cells = cells_of(block, coding, self.selected)
        grouped_rows, _ = groups_of(block, self.target)
        has_group = np.zeros(block.n, bool)
        has_group[grouped_rows] = True
        informative = informative_rows(cells, block.labelset_hash, np.flatnonzero(has_group))
        if not len(informative):
            return {"sums": np.zeros(len(coding.features), np.int64)}
        part = block.take(informative)
        cell, _ = numbered(cells[informative])
        rows, groups = groups_of(part, self.target)
        by_label = isinstance(self.target, Labels)
        pairs = CellPairs.of(
            cell,
            rows,
            groups,
            by_label,
            part.masses(profile),
        )
        if part.onehot is not None:
            return {"sums": sparse_cell_information(part.onehot, coding.bins, pairs, self.logs)}
        assert part.codes is not None
        packing = (coding.width, coding.per_byte, len(coding.features))
        return {"sums": dense_cell_information(part.codes, *packing, pairs, self.logs)}

    def finish(self, state: State, profile: Profile) -> ndarray:
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
        """How many joint cells there may be, `MANY` at most: then they are too many to count."""
        return min(self.coding.width ** len(self.selected), MANY)

    @property
    def size(self) -> int:
        return self.cells * self.target.size

    def groups(self, block: CodedBlock) -> tuple[ndarray, ndarray]:
        rows, groups = groups_of(block, self.target)
        return rows, cells_of(block, self.coding, self.selected)[rows] * self.target.size + groups

    def bounds(self, profile: Profile) -> tuple[int, int]:
        return self.target.bounds(profile)


def cell_counts(
    coding: Coding,
    target: Target,
    selected: tuple[int, ...],
    logs: CountLogs,
) -> FeatureNumbers:
    """Return the statistic of I(f; target | X_S), (1, v), while the joint cells are few.

    Its counts N(f = v, cell, group) add up over any blocks."""
    cells = JointCells(target, coding, selected)
    return FeatureNumbers((TwoWay(coding, cells),), InformationInCells(cells, logs))


def few_cells(coding: Coding, target: Target, selected: tuple[int, ...]) -> bool:
    """Return whether counts by cell are quick to reduce, even where few of them occur.

    A state of sparse rows has only the cells that occur, and its reduction all that there may
    be."""
    cells = JointCells(target, coding, selected)
    return 8 * len(coding.features) * coding.width * cells.size <= DENSE_BYTES


@dataclass(frozen=True)
class InformationInCells(Reduction):
    """I(f; target | cell), from the counts of the groups in each cell."""

    cells: JointCells
    logs: CountLogs

    def __call__(self, counts: Counts) -> ndarray:
        shape = (counts.coding.width, self.cells.cells, self.cells.target.size)
        out = np.empty(counts.count, np.int64)
        for place, table in counts.chunks(4):
            out[place] = self._negative_entropy(table.reshape(-1, *shape))
        of_target = self._negative_entropy(counts.totals.reshape(1, 1, *shape[1:]))
        return self.logs.nats(out - of_target)

    def _negative_entropy(self, counts: ndarray) -> ndarray:
        """Return −n·H(target | code, cell), summed over codes and cells, of each feature."""
        logs = self.logs
        if isinstance(self.cells.target, Classes):
            of_classes = logs(counts).sum(axis=(1, 2, 3))
            return of_classes - logs(counts.sum(axis=3)).sum(axis=(1, 2))
        all_rows = counts[..., :1]
        positive = counts[..., 1:]
        terms = logs(positive) + logs(all_rows - positive) - logs(all_rows)
        return terms.sum(axis=(1, 2, 3))


@dataclass
class JointCounts(Statistic, divisible=False, weighted=True):
    """N(X_F = v, group) for the families F of features, v their joint values.

    For each family the counts (values, groups), int64, of weighted rows in units of their weight;
    or None of more than `most` values. A value is known by the 64-bit hash of its codes: two of k
    share one with probability k²/2⁶⁵. State: 8·(1 + groups) bytes a value."""

    coding: Coding
    target: Target
    families: tuple[tuple[int, ...], ...]
    most: int = MOST_VALUES

    def partial(self, block: CodedBlock, profile: Profile) -> State:
        rows, groups = groups_of(block, self.target)
        mass = block.masses(profile)
        size = self.target.size
        weights = None if mass is None else mass[rows].astype(np.float64)  # whole: sums are exact
        out: State = {}
        for i, hashes in enumerate(self._hashes(block)):
            out |= {f"{i} values": None, f"{i} table": None}
            values, places = np.unique(hashes[rows], return_inverse=True)
            if len(values) <= self.most:
                cells = np.bincount(places * size + groups, weights, minlength=len(values) * size)
                out[f"{i} values"] = values
                out[f"{i} table"] = cells.astype(np.int64).reshape(len(values), size)
        return out

    def _hashes(self, block: CodedBlock) -> Iterator[ndarray]:
        """Yield the joint values of each family, (n,) uint64: the sums of its codes' hashes."""
        stored = None if block.onehot is None else block.onehot.tocsc()
        with np.errstate(over="ignore"):
            for family in self.families:
                out = np.zeros(block.n, np.uint64)
                for f in family:
                    hash_of_code = mix(f * 256 + np.arange(self.coding.bins[f]), 0x101)
                    if stored is None:
                        out += hash_of_code[block.feature(self.coding, f)]
                    else:
                        self._add_stored(out, stored, f, hash_of_code)
                yield out

    def _add_stored(
        self,
        out: ndarray,
        stored: sp.csc_matrix,
        f: int,
        hash_of_code: ndarray,
    ) -> None:
        """Add the hashes of a feature's codes to the rows that store them."""
        codes = np.delete(np.arange(self.coding.bins[f]), self.coding.zero[f])
        for slot, code in enumerate(codes, int(self.coding.offsets[f])):
            rows = stored.indices[stored.indptr[slot] : stored.indptr[slot + 1]]
            out[rows] += hash_of_code[code]

    def merge(self, left: State, right: State) -> State:
        out: State = dict.fromkeys(left)
        for i in range(len(self.families)):
            left_values = left[f"{i} values"]
            right_values = right[f"{i} values"]
            if left_values is None or right_values is None:
                continue
            joined = np.concatenate([left_values, right_values])
            values, places = np.unique(joined, return_inverse=True)
            if len(values) <= self.most:
                table = np.zeros((len(values), self.target.size), np.int64)
                table[places[: len(left_values)]] = left[f"{i} table"]
                table[places[len(left_values) :]] += right[f"{i} table"]
                out[f"{i} values"] = values
                out[f"{i} table"] = table
        return out

    def finish(self, state: State, profile: Profile) -> list[ndarray | None]:
        tables = (state[f"{i} table"] for i in range(len(self.families)))
        return [None if table is None else table.astype(np.int64) for table in tables]

    def bytes_of(self, profile: Profile) -> ndarray:
        """Return what each family takes of a state at most, (families,)."""
        bins = self.coding.bins.astype(float)
        values = [float(np.prod(bins[list(family)])) for family in self.families]
        most = np.minimum(values, min(self.most, profile.n)).astype(np.int64)
        return most * 8 * (1 + self.target.size) + 8

    def state_bytes(self, profile: Profile) -> int:
        return int(self.bytes_of(profile).sum()) + envelope(2 * len(self.families))
