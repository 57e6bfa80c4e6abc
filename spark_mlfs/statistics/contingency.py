"""Contingency counts: how many rows with code v of feature f fall into each group of a target.

The counts N(f = v, group) are what every filter starts from. A target's groups are all rows and the
rows of each label, or of each labelset (`targets`). Counts given another feature, and given the
joint values of several, are the same operation with the groups split by these (`links`, `joint`).

Sparse rows are counted by *slots*: a slot is a code of a feature other than the code of 0, whose
counts are what the slots leave of the rows of each group. Counts are int64 and exact, whatever the
partitioning.

Shapes: v varying features, `width` codes (the most that a feature has), `size` groups."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.codec import State, envelope
from ..blocks.coding import CodedBlock, Coding
from ..blocks.profile import Profile
from ..kernels import sparse_counts
from ..kernels.counts import (
    count_dense,
    count_slots,
    count_sparse,
    members,
    rows_by_group,
    slotwise,
)
from ..kernels.information import CELLS
from ..kernels.link_cells import LinkCells
from ..kernels.matrix import Matrix
from ..lazy import cached_property
from .base import PerFeatureStatistic
from .targets import Target, groups_of

CHUNK_BYTES = 32 << 20
Grouping = tuple[ndarray, ndarray, Target]  # rows, the groups that they are in, of a target


@dataclass
class Counts:
    """Counts of every varying feature, code and group: what `TwoWay` comes to.

    `table` is dense, (v, width, size), or CSC, (size, slots); `totals` (size,) are the rows of each
    group. Of the range first..last of the features where `last` is given, of all otherwise."""

    coding: Coding
    totals: ndarray
    table: Matrix
    first: int = 0
    last: int = None  # type: ignore[assignment]  # then all: __post_init__ sets how many

    def __post_init__(self) -> None:
        self.last = len(self.coding.features) if self.last is None else self.last

    @property
    def size(self) -> int:
        return len(self.totals)

    @property
    def count(self) -> int:
        return self.last - self.first

    @property
    def _starts(self) -> ndarray:
        """Where the slots of each of these features begin in a sparse table, (count + 1,)."""
        offsets = self.coding.offsets[self.first : self.last + 1]
        return offsets - offsets[0]

    @cached_property
    def label_rows(self) -> sparse_counts.LabelRows:
        """Of groups that are all rows and the labels: the labels' rows."""
        return sparse_counts.LabelRows(self.totals[1:], int(self.totals[0]))

    @cached_property
    def by_slot(self) -> sp.csr_matrix:
        """A sparse table slot by slot, (slots, size) int64: every link reads two-way counts."""
        table = self.table.T.tocsr().astype(np.int64)
        table.sort_indices()
        return table

    @cached_property
    def links(self) -> LinkCells:
        """Sparse counts of all rows and the labels, as the links of every pick read them."""
        table = self.table.T.tocsr()  # the same arrays
        table.sort_indices()
        return LinkCells(table, self._starts)

    def dense(self, first: int, last: int) -> ndarray:
        """Return the counts of the features first..last, (last - first, width, size) int64."""
        if not sp.issparse(self.table):
            return self.table[first - self.first : last - self.first]
        coding = self.coding
        start, first_slot, last_slot = coding.offsets[[self.first, first, last]]
        bins = coding.bins[first:last]
        zero = coding.zero[first:last]
        features = np.arange(last - first)
        feature_of_slot = np.repeat(features, bins - 1)
        code = np.arange(first_slot, last_slot) - coding.offsets[first:last][feature_of_slot]
        code = code + (code >= zero[feature_of_slot])  # the code of 0 has no slot
        out = np.zeros((last - first, coding.width, self.size), np.int64)
        slots = slice(first_slot - start, last_slot - start)
        out[feature_of_slot, code] = self.table[:, slots].toarray().T
        out[features, zero] += self.totals - out.sum(axis=1)
        return out

    def stored(
        self, labels: bool, limit: int = CELLS
    ) -> Iterator[tuple[slice, sparse_counts.StoredCounts]]:
        """Yield (place among these features, counts) of about `limit` cells of a sparse table each.

        Groups are all rows and the `labels`, or else classes; labels, or classes, are numbered
        from 0 in the pieces."""
        starts = self._starts
        cells_before = self.table.indptr[starts]
        first = 0
        while first < self.count:
            room = cells_before[first] + limit
            last = int(np.searchsorted(cells_before, room, side="right")) - 1
            last = max(first + 1, last)
            slots = slice(starts[first], starts[last])
            yield slice(first, last), self._stored_piece(first, last, slots, labels)
            first = last

    def _stored_piece(
        self,
        first: int,
        last: int,
        slots: slice,
        labels: bool,
    ) -> sparse_counts.StoredCounts:
        """Return the stored counts of the features at first..last, which have these `slots`."""
        indptr = self.table.indptr[slots.start : slots.stop + 1]
        cells = slice(indptr[0], indptr[-1])
        count = self.table.data[cells].astype(np.int64)
        group = self.table.indices[cells].astype(np.int64)
        num_slots = slots.stop - slots.start
        slot = np.repeat(np.arange(num_slots), np.diff(indptr))
        bins = self.coding.bins[self.first + first : self.first + last]
        feature_of_slot = np.repeat(np.arange(last - first), bins - 1)
        rows = np.zeros(num_slots, np.int64)
        if labels:  # group 0 has the rows of each slot
            all_rows = group == 0
            rows[slot[all_rows]] = count[all_rows]
            has_label = ~all_rows
            count = count[has_label]
            group = group[has_label] - 1
            slot = slot[has_label]
        else:
            np.add.at(rows, slot, count)
        return sparse_counts.StoredCounts(
            last - first,
            count,
            group,
            slot,
            feature_of_slot,
            rows,
        )

    def chunks(self, copies: int) -> Iterator[tuple[slice, ndarray]]:
        """Yield (place among these features, dense counts) of some MB each.

        `copies`: how many times larger the caller makes them."""
        feature_bytes = self.coding.width * self.size * 8 * copies
        step = max(1, CHUNK_BYTES // max(1, feature_bytes))
        for first in range(0, self.count, step):
            last = min(self.count, first + step)
            yield slice(first, last), self.dense(self.first + first, self.first + last)

    def codes(self) -> ndarray:
        """Return the rows of each code in group 0, (v, width)."""
        if not sp.issparse(self.table):
            return self.table[:, :, 0]
        table = self.table[[0]].tocsc()
        group = Counts(
            self.coding,
            self.totals[:1],
            table,
            self.first,
            self.last,
        )
        return group.dense(self.first, self.last)[:, :, 0]

    def commonest(self) -> ndarray:
        """Return the commonest code of each feature, (v,), the smallest of a tie.

        Over group 0; of sparse counts, whose groups may be classes, over all groups."""
        out = np.empty(self.count, np.int64)
        for place, counts in self.chunks(1):
            rows = counts.sum(axis=2) if self.coding.sparse else counts[:, :, 0]
            out[place] = rows.argmax(axis=1)
        return out


def table_bytes(
    coding: Coding,
    target: Target,
    profile: Profile,
    first: int = 0,
    last: int | None = None,
) -> int:
    """Return the most bytes of the counts of the features first..last, with the groups' totals.

    Sparse counts are bounded by the cells of a full table, by Σ over rows of features times groups
    that the profile knows, and by what each row can store."""
    last = len(coding.features) if last is None else last
    size = target.size
    if not coding.sparse:
        return (last - first) * coding.width * size * 8 + 8 * size
    rows = target.most_rows(profile)
    groups_a_row, cells_of_all_rows = target.bounds(profile)
    stored = np.minimum(profile.stored[coding.features[first:last]], rows)
    full = (coding.bins[first:last] - 1).astype(np.int64) * size
    cells = min(
        int(np.minimum(full, stored * groups_a_row).sum()),
        cells_of_all_rows,
        rows * min(profile.widest, last - first) * groups_a_row,
    )
    slots = int(coding.offsets[last] - coding.offsets[first])
    index_bytes = 8 if max(cells, slots, size) >= 1 << 31 else 4
    count_bytes = 8 if profile.total >= 1 << 31 else 4
    return cells * (count_bytes + index_bytes) + (size + 1) * index_bytes + 8 * size


@dataclass
class TwoWay(PerFeatureStatistic, weighted=True, read_again=True):
    """N(f = v, group) for every varying feature, as `Counts`.

    State: `table`, (v, width, size) or CSR (size, slots), of a range of features (slots, size); and
    the `totals`, the rows of each group."""

    coding: Coding
    target: Target

    def __post_init__(self) -> None:
        self.asked_once = self.target.asked_once
        self.multiple = 1 if self.coding.sparse else self.coding.per_byte

    def partial(self, block: CodedBlock, profile: Profile) -> State:
        coding = self.coding
        size = self.target.size
        mass = block.masses(profile)
        rows, groups = groups_of(block, self.target)
        totals = rows_by_group(rows, groups, size, mass)
        if block.onehot is not None:
            return {
                "table": count_sparse(
                    block.onehot,
                    rows,
                    groups,
                    size,
                    mass,
                ),
                "totals": totals,
            }
        assert block.codes is not None
        packed = (block.codes, coding.width, coding.per_byte)
        features = (0, len(coding.features))
        table = count_dense(
            *packed,
            rows,
            groups,
            size,
            features,
            mass,
        )
        return {"table": table, "totals": totals}

    def finish(self, state: State, profile: Profile) -> Counts:
        table = state["table"]
        table = table.tocsc() if sp.issparse(table) else table
        return Counts(self.coding, state["totals"], table)

    def state_bytes(self, profile: Profile) -> int:
        return table_bytes(self.coding, self.target, profile) + envelope(4)

    def feature_bytes(self, profile: Profile) -> ndarray:
        coding = self.coding
        if not coding.sparse:
            dense_bytes = coding.width * self.target.size * 8
            return np.full(len(coding.features), dense_bytes, np.int64)
        groups_a_row, _ = self.target.bounds(profile)
        slots = coding.bins - 1
        full = slots.astype(np.int64) * self.target.size
        cells = np.minimum(full, profile.stored[coding.features] * groups_a_row)
        cell_bytes = 8 if profile.total < 1 << 31 else 12
        return cells * cell_bytes + 4 * slots

    def shard_bytes(self, profile: Profile, first: int, last: int) -> int:
        groups_a_row, _ = self.target.bounds(profile)
        total_bytes = 12 if profile.total < 1 << 31 else 16
        totals = total_bytes * min(self.target.size, profile.n * groups_a_row) + 16
        slots = int(self.coding.offsets[last] - self.coding.offsets[first]) + 1
        table = table_bytes(
            self.coding,
            self.target,
            profile,
            first,
            last,
        )
        return table + 8 * slots + totals + envelope(7)

    @staticmethod
    def shards(
        parts: Sequence[TwoWay],
        blocks: list[CodedBlock],
        profile: Profile,
        edges: ndarray,
    ) -> Iterator[list[State]]:
        mass = None
        if profile.weighted:
            mass = np.concatenate([block.masses(profile) for block in blocks])
        groupings = [_grouping(blocks, part.target) for part in parts]
        totals: list[State] = []
        for rows, groups, target in groupings:
            own_totals: State = {}
            if target.totals(profile) is None:
                total = rows_by_group(rows, groups, target.size, mass)
                own_totals["totals"] = sp.csr_matrix(total)
            totals.append(own_totals)
        for tables in range_tables(
            blocks,
            parts[0].coding,
            groupings,
            edges,
            mass,
        ):
            pairs = zip(tables, totals, strict=True)
            yield [{"table": table, **own_totals} for table, own_totals in pairs]

    def finish_shard(
        self,
        state: State,
        first: int,
        last: int,
        profile: Profile,
    ) -> Counts:
        table = state["table"]
        table = table.T if sp.issparse(table) else table
        totals = self.target.totals(profile)
        if totals is None:
            totals = state["totals"].toarray()[0].astype(np.int64)
        return Counts(
            self.coding,
            totals,
            table,
            first,
            last,
        )


def _grouping(blocks: list[CodedBlock], target: Target) -> Grouping:
    """Return the groups of a target over the blocks' rows, one block after the other."""
    starts = np.cumsum([0, *(block.n for block in blocks)])
    pairs = [groups_of(block, target) for block in blocks]
    rows = [rows + start for (rows, _), start in zip(pairs, starts, strict=False)]
    return np.concatenate(rows), np.concatenate([groups for _, groups in pairs]), target


def range_tables(
    blocks: list[CodedBlock],
    coding: Coding,
    groupings: list[Grouping],
    edges: ndarray,
    mass: ndarray | None,
) -> Iterator[list[Matrix]]:
    """Yield the tables of the groupings, range by range of the features.

    A table is (features, width, size), or CSR (slots, size)."""
    ranges = itertools.pairwise(edges.tolist())
    if coding.sparse:
        return _sparse_tables(
            blocks,
            coding,
            groupings,
            ranges,
            mass,
        )
    return _dense_tables(
        blocks,
        coding,
        groupings,
        ranges,
        mass,
    )


def _dense_tables(
    blocks: list[CodedBlock],
    coding: Coding,
    groupings: list[Grouping],
    ranges: Iterable[tuple[int, int]],
    mass: ndarray | None,
) -> Iterator[list[Matrix]]:
    codes = blocks[0].codes
    if len(blocks) > 1:
        codes = np.concatenate([b.codes for b in blocks if b.codes is not None], axis=1)
    assert codes is not None
    packed = (codes, coding.width, coding.per_byte)
    for features in ranges:
        yield [
            count_dense(
                *packed,
                rows,
                groups,
                target.size,
                features,
                mass,
            )
            for rows, groups, target in groupings
        ]


def _sparse_tables(
    blocks: list[CodedBlock],
    coding: Coding,
    groupings: list[Grouping],
    ranges: Iterable[tuple[int, int]],
    mass: ndarray | None,
) -> Iterator[list[Matrix]]:
    n = sum(block.n for block in blocks)
    columns = slotwise([block.onehot for block in blocks])
    memberships = []
    for rows, groups, target in groupings:
        size = target.size
        if target.has_everyone:  # all rows need no membership: a slot's own rows are the count
            in_label = groups > 0
            rows = rows[in_label]
            groups = groups[in_label] - 1
            size -= 1
        memberships.append(
            (
                members(
                    rows,
                    groups,
                    n,
                    size,
                    mass,
                ),
                target.has_everyone,
            )
        )
    for first, last in ranges:
        slots = (int(coding.offsets[first]), int(coding.offsets[last]))
        yield [
            count_slots(
                columns,
                *slots,
                member,
                has_everyone,
                mass,
            )
            for member, has_everyone in memberships
        ]
