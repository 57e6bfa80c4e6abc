"""Contingency counts: how many rows with code c of feature f fall into each group of a target.

The counts N(f = c, group) are what every filter starts from, exact whatever the partitioning.
Counts given another feature, and given the joint values of several, are the same operation with the
groups split by these (`links`, `joint`). The groups of a target (`targets`) are, above all,

- labels: group 0 is all rows, group 1 + l the rows with label l; or
- classes: each group is the rows of a labelset, so that no row is in two.

Words:

    position   of a feature among all of the `Coding`, most often those that vary: first..last
    place      of a feature among those of a `Counts`: start..stop
    slot       a feature and one of its codes but that of 0. The slots of a feature stand together
    mass       what a row weighs in whole units (`blocks.weights`); then "rows" are their mass
    size       the number of groups
    width      the most codes that a feature has

Ranges are half-open: the last is not in them. Sparse tables have no counts for the code of 0: they
are the group's total minus the counts of the feature's slots. Layouts of a table:

    dense                 (features, width, size) int64
    sparse, whole state   CSR (size, slots), the product that `TwoWay.partial` makes
    sparse, of a range    CSR (slots, size), as a range is cut from the one-hot columns
    sparse, in `Counts`   CSC (size, slots), from either; its counts may be int32. (Of a range of
                          labels CSR: `label_ranges`)"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

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
from ..kernels.matrix import Matrix, runs
from ..lazy import cached_property
from .base import PerFeatureStatistic, cuts
from .targets import Target, groups_of

CHUNK_BYTES = 32 << 20  # of dense counts at a time, with what the caller makes of them
INT32_END = 1 << 31  # from here on a number does not fit int32

# (rows, groups, target), the first two parallel arrays: row rows[i] is in group groups[i] of the
# target; a row is repeated once a group that it is in
Grouping = tuple[ndarray, ndarray, Target]


@dataclass
class Counts:
    """Counts of the features first..last by code and group: the result of `TwoWay`.

    `table` is dense, (features, width, size), or CSC, (size, slots); `totals` (size,) are the rows
    of each group. `label_rows`, `by_slot`, `links`, `rows_of_slots` and `stored` are of sparse
    tables."""

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
        """Return (count + 1,) the first slot in `table` of each of these features, then the end."""
        offsets = self.coding.offsets[self.first : self.last + 1]
        return offsets - offsets[0]

    @cached_property
    def label_rows(self) -> sparse_counts.LabelRows:
        """Return the rows of each label, where the groups are all rows and the labels."""
        return sparse_counts.LabelRows(self.totals[1:], int(self.totals[0]))

    @cached_property
    def by_slot(self) -> sp.csr_matrix:
        """Return the table as CSR (slots, size) int64, in order: a copy, to calculate with.

        It is kept: the two-way counts of classes are read again for each pick (see `links`)."""
        table = self.table.T.tocsr().astype(np.int64)
        table.sort_indices()
        return table

    @cached_property
    def links(self) -> LinkCells:
        """Return the counts of labels laid out for links.

        A pick is a feature that a greedy method has chosen; its links are the information of every
        feature given it (the module `links`). Each pick reads these counts: they are kept."""
        table = self.table.T.tocsr()  # shares the arrays of self.table,
        table.sort_indices()  # which this puts in order within each slot: it is large, so no copy
        return LinkCells(table, self._starts)

    def dense(self, first: int, last: int) -> ndarray:
        """Return the counts of the features first..last, (last - first, width, size).

        Of a dense table they are a view. As `self.first`, these are positions, not places."""
        if not sp.issparse(self.table):
            return self.table[first - self.first : last - self.first]
        coding = self.coding
        slots_before, first_slot, last_slot = coding.offsets[[self.first, first, last]]
        bins = coding.bins[first:last]
        zero = coding.zero[first:last]
        features = np.arange(last - first)
        feature_of_slot = np.repeat(features, bins - 1)
        code = np.arange(first_slot, last_slot) - coding.offsets[first:last][feature_of_slot]
        code = code + (code >= zero[feature_of_slot])  # the code of 0 has no slot
        out = np.zeros((last - first, coding.width, self.size), np.int64)
        slots = slice(first_slot - slots_before, last_slot - slots_before)
        out[feature_of_slot, code] = self.table[:, slots].toarray().T  # (slots, size)
        out[features, zero] = self.totals - out.sum(axis=1)
        return out

    @cached_property
    def rows_of_slots(self) -> ndarray | None:
        """Return (slots,) the rows with each code, group 0 being all rows, or None.

        None where group 0 is not the first cell of each slot; it may be later, as `links` puts the
        cells in order. Of classes, whose group 0 is one of them, the numbers mean nothing."""
        table = self.table
        filled = np.flatnonzero(np.diff(table.indptr))
        first_cells = table.indptr[filled]
        if table.indices.take(first_cells).any():
            return None
        rows = np.zeros(table.shape[1], np.int64)
        rows[filled] = table.data.take(first_cells)
        return rows

    def stored(
        self,
        by_label: bool,
        limit: int = CELLS,
        places: ndarray | None = None,
    ) -> Iterator[tuple[slice | ndarray, sparse_counts.StoredCounts]]:
        """Yield (places, counts) of pieces of about `limit` cells each.

        `by_label`: in the pieces label l is group l; otherwise groups are classes and keep their
        numbers. `places`: of these features alone, ascending."""
        places = np.arange(self.count) if places is None else places
        first_cells = self.table.indptr[self._starts].astype(np.int64)
        num_cells = first_cells[places + 1] - first_cells[places]
        for begin, end in itertools.pairwise(cuts(num_cells, limit)):
            part: slice | ndarray = places[begin:end]
            if places[end - 1] - places[begin] == end - 1 - begin:  # a slice copies no cells
                part = slice(int(places[begin]), int(places[end - 1]) + 1)
            yield part, self._stored_piece(part, by_label)

    def _stored_piece(self, part: slice | ndarray, by_label: bool) -> sparse_counts.StoredCounts:
        """Return the stored counts of the features at these places."""
        starts = self._starts
        indptr = self.table.indptr
        slots: slice | ndarray
        cells: slice | ndarray
        if isinstance(part, slice):
            slots = slice(starts[part.start], starts[part.stop])
            cells = slice(indptr[slots.start], indptr[slots.stop])
            lengths = np.diff(indptr[slots.start : slots.stop + 1])
        else:
            slots = runs(starts[part], starts[part + 1])
            cells = runs(indptr[slots], indptr[slots + 1])
            lengths = indptr[slots + 1] - indptr[slots]
        count = self.table.data[cells].astype(np.int64)
        group = self.table.indices[cells].astype(np.int64)
        slot = np.repeat(np.arange(len(lengths)), lengths)
        bins = self.coding.bins[self.first : self.last][part]
        feature_of_slot = np.repeat(np.arange(len(bins)), bins - 1)
        rows = np.zeros(len(lengths), np.int64)
        if by_label:  # group 0 has the rows of each slot
            all_rows = group == 0
            rows[slot[all_rows]] = count[all_rows]
            has_label = ~all_rows
            count = count[has_label]
            group = group[has_label] - 1
            slot = slot[has_label]
        else:  # no row is in two classes; bincount would add floats
            np.add.at(rows, slot, count)
        return sparse_counts.StoredCounts(
            len(bins),
            count,
            group,
            slot,
            feature_of_slot,
            rows,
        )

    def chunks(self, copies: int) -> Iterator[tuple[slice, ndarray]]:
        """Yield (places, dense counts) of `CHUNK_BYTES` or one feature each.

        `copies`: how many arrays of their size the caller makes of them."""
        bytes_per_feature = self.coding.width * self.size * 8 * copies
        step = max(1, CHUNK_BYTES // max(1, bytes_per_feature))
        for start in range(0, self.count, step):
            stop = min(self.count, start + step)
            yield slice(start, stop), self.dense(self.first + start, self.first + stop)

    def rows_by_code(self) -> ndarray:
        """Return how many rows of group 0 have each code, (count, width).

        It is all rows, or the first class."""
        if not sp.issparse(self.table):
            return self.table[:, :, 0]
        group_0 = Counts(
            self.coding,
            self.totals[:1],
            self.table[[0]],
            self.first,
            self.last,
        )
        return group_0.dense(self.first, self.last)[:, :, 0]

    def commonest(self) -> ndarray:
        """Return the commonest code of each feature in group 0, (count,), the smallest of a tie.

        Callers take it for the code that `Crossed` leaves out: counts are exact whichever this is,
        a rarer one, such as the first class may have, only costs time."""
        return np.asarray(self.rows_by_code().argmax(axis=1))


def table_bytes(
    coding: Coding,
    target: Target,
    profile: Profile,
    first: int = 0,
    last: int | None = None,
) -> int:
    """Return the most bytes of the counts of the features first..last, with the groups' totals.

    Sparse cells have three bounds: feature by feature, the smaller of a full table and the rows
    that are not 0 with all their groups; what the profile says of all rows; and the widest row."""
    last = len(coding.features) if last is None else last
    size = target.size
    if not coding.sparse:
        return (last - first) * coding.width * size * 8 + 8 * size  # int64 counts, then totals
    rows = target.most_rows(profile)
    groups_a_row, by_profile = target.bounds(profile)
    stored = np.minimum(profile.stored[coding.features[first:last]], rows)
    full = (coding.bins[first:last] - 1).astype(np.int64) * size
    by_feature = int(np.minimum(full, stored * groups_a_row).sum())
    by_row = rows * min(profile.widest, last - first) * groups_a_row
    cells = min(by_feature, by_profile, by_row)
    slots = int(coding.offsets[last] - coding.offsets[first])
    index_bytes = 8 if max(cells, slots, size) >= INT32_END else 4
    count_bytes = 8 if profile.total >= INT32_END else 4  # `compact` makes them int32
    # CSR (size, slots): its data and indices, its indptr; then the totals, int64
    return cells * (count_bytes + index_bytes) + (size + 1) * index_bytes + 8 * size


@dataclass
class TwoWay(PerFeatureStatistic, weighted=True, read_again=True):
    """Count N(f = c, group) for every feature of the coding, as `Counts`.

    State of all features, and of a range:

        table    laid out as the module says
        totals   (size,) the rows of each group; of a range CSR (1, size), as most may be 0, and
                 only where the target does not know them from the profile

    In a range the groups of a slot ascend, unless they need not be `in_order`; a group of all rows
    comes first in any case."""

    coding: Coding
    target: Target
    in_order: bool = field(default=True, compare=False)  # the counts are the same

    def __post_init__(self) -> None:
        self.asked_once = self.target.asked_once
        # dense features are cut where a byte of several ends
        self.multiple = 1 if self.coding.sparse else self.coding.per_byte

    def in_any_order(self) -> TwoWay:
        return replace(self, in_order=False)

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
        assert block.codes is not None  # as there are no one-hot slots
        packed = (block.codes, coding.width, coding.per_byte)
        all_features = (0, len(coding.features))
        table = count_dense(
            *packed,
            rows,
            groups,
            size,
            all_features,
            mass,
        )
        return {"table": table, "totals": totals}

    def finish(self, state: State, profile: Profile) -> Counts:
        table = state["table"]
        table = table.tocsc() if sp.issparse(table) else table
        return Counts(self.coding, state["totals"], table)

    def state_bytes(self, profile: Profile) -> int:
        return table_bytes(self.coding, self.target, profile) + envelope(4)  # CSR: 3, totals: 1

    def feature_bytes(self, profile: Profile) -> ndarray:
        coding = self.coding
        if not coding.sparse:
            dense_bytes = coding.width * self.target.size * 8
            return np.full(len(coding.features), dense_bytes, np.int64)
        groups_a_row, _ = self.target.bounds(profile)
        slots = coding.bins - 1
        full = slots.astype(np.int64) * self.target.size
        cells = np.minimum(full, profile.stored[coding.features] * groups_a_row)
        # a count of 4 or 8 bytes, an int32 index: a range is cut too small for another
        cell_bytes = 8 if profile.total < INT32_END else 12
        return cells * cell_bytes + 4 * slots  # CSR (slots, size): 4 a slot in its indptr

    def shard_bytes(self, profile: Profile, first: int, last: int) -> int:
        groups_a_row, _ = self.target.bounds(profile)
        bytes_per_total = 12 if profile.total < INT32_END else 16  # of a cell, at most
        # CSR (1, size) of the groups with rows; 16: the two numbers of its indptr, of 8 bytes each
        totals = bytes_per_total * min(self.target.size, profile.n * groups_a_row) + 16
        num_starts = int(self.coding.offsets[last] - self.coding.offsets[first]) + 1
        table = table_bytes(
            self.coding,
            self.target,
            profile,
            first,
            last,
        )
        # a range is CSR (slots, size): 8 at most a number of its indptr. More than it takes: dense
        # tables have no indptr, `table_bytes` has totals, too, and two CSR have 6 arrays
        return table + 8 * num_starts + totals + envelope(7)

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
        groupings = [grouping_of(blocks, part.target) for part in parts]
        totals: list[State] = []
        for rows, groups, target in groupings:
            own_totals: State = {}
            if target.totals(profile) is None:
                total = rows_by_group(rows, groups, target.size, mass)
                own_totals["totals"] = sp.csr_matrix(total)
            totals.append(own_totals)
        for tables in range_tables(
            blocks,
            parts[0].coding,  # all have this one
            groupings,
            edges,
            mass,
            any(part.in_order for part in parts),  # for all, where one needs it
        ):
            pairs = zip(tables, totals, strict=True)
            # each range has the totals, as it is finished apart
            yield [{"table": table, **own_totals} for table, own_totals in pairs]

    def finish_shard(
        self,
        state: State,
        first: int,
        last: int,
        profile: Profile,
    ) -> Counts:
        table = state["table"]
        # CSR (slots, size) read as CSC (size, slots), the layout of `Counts`: no copy
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


def grouping_of(blocks: list[CodedBlock], target: Target) -> Grouping:
    """Return the grouping of the blocks' rows, numbered one block after the other."""
    starts = np.cumsum([0, *(block.n for block in blocks)])
    pairs = [groups_of(block, target) for block in blocks]
    rows = [rows + start for (rows, _), start in zip(pairs, starts[:-1], strict=True)]
    return np.concatenate(rows), np.concatenate([groups for _, groups in pairs]), target


def range_tables(
    blocks: list[CodedBlock],
    coding: Coding,
    groupings: list[Grouping],
    edges: ndarray,
    mass: ndarray | None,
    in_order: bool = True,
) -> Iterator[list[Matrix]]:
    """Yield the tables of the groupings, range by range of the features.

    A range is from one of `edges` to the next; `in_order`: the groups of a slot ascend."""
    ranges = itertools.pairwise(edges.tolist())
    if coding.sparse:
        return _sparse_tables(
            blocks,
            coding,
            groupings,
            ranges,
            mass,
            in_order,
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
    if len(blocks) > 1:  # by one dense coding, so that each has codes: the condition is for mypy
        codes = np.concatenate([b.codes for b in blocks if b.codes is not None], axis=1)
    assert codes is not None
    packed = (codes, coding.width, coding.per_byte)
    for feature_range in ranges:
        yield [
            count_dense(
                *packed,
                rows,
                groups,
                target.size,
                feature_range,
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
    in_order: bool,
) -> Iterator[list[Matrix]]:
    n = sum(block.n for block in blocks)
    columns = slotwise([block.onehot for block in blocks])
    memberships = []
    for rows, groups, target in groupings:
        size = target.size
        if target.has_everyone:  # not a member: `count_slots` adds it, weighed by `mass`
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
                in_order,
            )
            for member, has_everyone in memberships
        ]
