"""Contingency counts: feature codes against groups of rows, two-way, three-way, and against pairs
of labels; and the joint values of several features, such as a column's one-hot family.

Everything here is one operation (`kernels.counts`): how many rows with code v of feature f fall
into each group of a target (`targets`). A three-way count for a selected feature s is the same with
the groups split by s; the rows in which s has its commonest code are left out and come back by
subtraction from the two-way counts.

Counts are int64 and exact, whatever the partitioning."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

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
Grouping = tuple[np.ndarray, np.ndarray, Target]  # rows, the groups that they are in, of a target


@dataclass
class Counts:
    """Counts (v, width, size) of every varying feature, code and group; dense, or CSR over the
    stored codes. `totals` (size,) rows per group: what the code of 0 has is the rest. Of a range of
    the features where `last` is given, with their numbers."""

    coding: Coding
    totals: np.ndarray
    table: Matrix
    first: int = 0
    last: int = None  # type: ignore[assignment]  # then all: __post_init__ says how many

    def __post_init__(self) -> None:
        self.last = len(self.coding.features) if self.last is None else self.last

    @property
    def size(self) -> int:
        return len(self.totals)

    @property
    def count(self) -> int:
        return self.last - self.first

    @cached_property
    def label_rows(self) -> sparse_counts.LabelRows:
        """Of groups that are all rows and the labels: the labels' rows."""
        return sparse_counts.LabelRows(self.totals[1:], int(self.totals[0]))

    @cached_property
    def by_slot(self) -> sp.csr_matrix:
        """A sparse table slot by slot, (slots, size) int64: of every link the two-way counts are
        read again."""
        table = self.table.T.tocsr().astype(np.int64)
        table.sort_indices()
        return table

    @cached_property
    def links(self) -> LinkCells:
        """Sparse counts of all rows and the labels as the links of picks ask for them, again and
        again."""
        table = self.table.T.tocsr()  # the same arrays
        table.sort_indices()
        return LinkCells(
            table, self.coding.offsets[self.first : self.last + 1] - self.coding.offsets[self.first]
        )

    def dense(self, first: int, last: int) -> np.ndarray:
        """(last - first, width, size) int64."""
        if not sp.issparse(self.table):
            return self.table[first - self.first : last - self.first]
        coding = self.coding
        start, a, z = coding.offsets[[self.first, first, last]]
        out = np.zeros((last - first, coding.width, self.size), np.int64)
        feature = np.repeat(np.arange(first, last), coding.bins[first:last] - 1)
        code = np.arange(a, z) - coding.offsets[feature]
        out[feature - first, code + (code >= coding.zero[feature])] = (
            self.table[:, a - start : z - start].toarray().T
        )
        out[np.arange(last - first), coding.zero[first:last]] += self.totals - out.sum(axis=1)
        return out

    def stored(
        self, labels: bool, limit: int = CELLS
    ) -> Iterator[tuple[slice, sparse_counts.StoredCounts]]:
        """(place among these features, counts) pieces of about `limit` stored cells of a sparse
        table, whose groups are all rows and the `labels`, or else classes: the pieces number the
        labels, or the classes, from 0."""
        table, offsets = self.table, self.coding.offsets[self.first : self.last + 1]
        offsets, bins, first = offsets - offsets[0], self.coding.bins[self.first : self.last], 0
        before = table.indptr[offsets]
        while first < self.count:
            last = max(
                first + 1, int(np.searchsorted(before, before[first] + limit, side="right")) - 1
            )
            a, z = offsets[first], offsets[last]
            cells = slice(table.indptr[a], table.indptr[z])
            count, group = table.data[cells].astype(np.int64), table.indices[cells].astype(np.int64)
            slot = np.repeat(np.arange(z - a), np.diff(table.indptr[a : z + 1]))
            feature = np.repeat(np.arange(last - first), bins[first:last] - 1)
            rows = np.zeros(z - a, np.int64)
            if labels:
                of_all = group == 0
                rows[slot[of_all]] = count[of_all]
                count, group, slot = count[~of_all], group[~of_all] - 1, slot[~of_all]
            else:
                np.add.at(rows, slot, count)
            yield (
                slice(first, last),
                sparse_counts.StoredCounts(last - first, count, group, slot, feature, rows),
            )
            first = last

    def chunks(self, copies: int) -> Iterator[tuple[slice, np.ndarray]]:
        """(place among these features, dense counts) pieces of some MB; `copies`: how many times
        larger the caller makes them."""
        step = max(1, CHUNK_BYTES // max(1, self.coding.width * self.size * 8 * copies))
        for first in range(0, self.count, step):
            last = min(self.count, first + step)
            yield slice(first, last), self.dense(self.first + first, self.first + last)

    def codes(self) -> np.ndarray:
        """(v, width) rows of each code in group 0."""
        table = self.table[[0]].tocsc() if sp.issparse(self.table) else self.table[:, :, :1]
        return Counts(self.coding, self.totals[:1], table, self.first, self.last).dense(
            self.first, self.last
        )[:, :, 0]

    def commonest(self) -> np.ndarray:
        """(v,) the commonest code of each feature over group 0 (classes: over all groups); of a tie
        the smallest."""
        out = np.empty(self.count, np.int64)
        for at, counts in self.chunks(1):
            out[at] = (counts.sum(axis=2) if self.coding.sparse else counts[:, :, 0]).argmax(axis=1)
        return out


def table_bytes(
    coding: Coding, target: Target, profile: Profile, first: int = 0, last: int | None = None
) -> int:
    """Bytes of the counts of the features first..last over the groups of `target`, with their
    totals, at most."""
    last, size = len(coding.features) if last is None else last, target.size
    if not coding.sparse:
        return (last - first) * coding.width * size * 8 + 8 * size
    rows = target.most_rows(profile)
    each, met = target.bounds(profile)
    stored = np.minimum(profile.stored[coding.features[first:last]], rows)
    table = (coding.bins[first:last] - 1).astype(np.int64) * size
    cells = min(
        int(np.minimum(table, stored * each).sum()),
        met,
        rows * min(profile.widest, last - first) * each,
    )
    slots = int(coding.offsets[last] - coding.offsets[first])
    wide = 8 if max(cells, slots, size) >= 1 << 31 else 4
    return cells * ((8 if profile.total >= 1 << 31 else 4) + wide) + (size + 1) * wide + 8 * size


@dataclass
class TwoWay(PerFeatureStatistic, weighted=True, read_again=True):
    """N(f = v, group) for every varying feature, the counts every filter starts from, as `Counts`.
    State: `table`, (v, width, size) or CSR (size, slots), of a range of features (slots, size); and
    the rows of each group."""

    coding: Coding
    target: Target

    def __post_init__(self) -> None:
        self.asked_once = self.target.asked_once
        self.multiple = 1 if self.coding.sparse else self.coding.per_byte

    def partial(self, block: CodedBlock, profile: Profile) -> State:
        coding, size, mass = self.coding, self.target.size, block.masses(profile)
        rows, groups = groups_of(block, self.target)
        totals = rows_by_group(rows, groups, size, mass)
        if block.onehot is not None:
            return {"table": count_sparse(block.onehot, rows, groups, size, mass), "totals": totals}
        assert block.codes is not None
        packed, every = (block.codes, coding.width, coding.per_byte), (0, len(coding.features))
        return {"table": count_dense(*packed, rows, groups, size, every, mass), "totals": totals}

    def finish(self, state: State, profile: Profile) -> Counts:
        table = state["table"]
        return Counts(self.coding, state["totals"], table.tocsc() if sp.issparse(table) else table)

    def state_bytes(self, profile: Profile) -> int:
        return table_bytes(self.coding, self.target, profile) + envelope(4)

    def feature_bytes(self, profile: Profile) -> np.ndarray:
        coding, size = self.coding, self.target.size
        if not coding.sparse:
            return np.full(len(coding.features), coding.width * size * 8, np.int64)
        each, _ = self.target.bounds(profile)
        table = (coding.bins - 1).astype(np.int64) * size
        cell = 8 if profile.total < 1 << 31 else 12
        return np.minimum(table, profile.stored[coding.features] * each) * cell + 4 * (
            coding.bins - 1
        )

    def shard_bytes(self, profile: Profile, first: int, last: int) -> int:
        each, _ = self.target.bounds(profile)
        totals = (12 if profile.total < 1 << 31 else 16) * min(
            self.target.size, profile.n * each
        ) + 16
        slots = int(self.coding.offsets[last] - self.coding.offsets[first]) + 1
        return (
            table_bytes(self.coding, self.target, profile, first, last)
            + 8 * slots
            + totals
            + envelope(7)
        )

    @staticmethod
    def shards(
        parts: Sequence[TwoWay], blocks: list[CodedBlock], profile: Profile, edges: np.ndarray
    ) -> Iterator[list[State]]:
        groupings, totals = [], list[State]()
        mass = (
            np.concatenate([block.masses(profile) for block in blocks])
            if profile.weighted
            else None
        )
        before = np.cumsum([0, *(block.n for block in blocks)])
        for part in parts:
            pairs = [groups_of(block, part.target) for block in blocks]
            rows = np.concatenate([rows + a for (rows, _), a in zip(pairs, before, strict=False)])
            groups = np.concatenate([groups for _, groups in pairs])
            groupings.append((rows, groups, part.target))
            told = part.target.totals(profile) is not None
            totals.append(
                {}
                if told
                else {"totals": sp.csr_matrix(rows_by_group(rows, groups, part.target.size, mass))}
            )
        for tables in range_tables(blocks, parts[0].coding, groupings, edges, mass):
            yield [{"table": table, **own} for table, own in zip(tables, totals, strict=True)]

    def finish_shard(self, state: State, first: int, last: int, profile: Profile) -> Counts:
        table, totals = state["table"], self.target.totals(profile)
        if totals is None:
            totals = state["totals"].toarray()[0].astype(np.int64)
        return Counts(self.coding, totals, table.T if sp.issparse(table) else table, first, last)


def range_tables(
    blocks: list[CodedBlock],
    coding: Coding,
    groupings: list[Grouping],
    edges: np.ndarray,
    mass: np.ndarray | None,
) -> Iterator[list[Matrix]]:
    """Range by range, the table of each grouping (rows, groups, target): (features, width, size),
    or CSR (slots, size)."""
    if not coding.sparse:
        codes = (
            np.concatenate([b.codes for b in blocks if b.codes is not None], axis=1)
            if len(blocks) > 1
            else blocks[0].codes
        )
        assert codes is not None
        for first, last in itertools.pairwise(edges):
            yield [
                count_dense(
                    codes,
                    coding.width,
                    coding.per_byte,
                    rows,
                    groups,
                    target.size,
                    (int(first), int(last)),
                    mass,
                )
                for rows, groups, target in groupings
            ]
        return
    n, columns = sum(block.n for block in blocks), slotwise([block.onehot for block in blocks])
    known = []
    for rows, groups, target in groupings:
        size, everyone = target.size, target.has_everyone
        if everyone:
            rows, groups, size = rows[groups > 0], groups[groups > 0] - 1, size - 1
        known.append((members(rows, groups, n, size, mass), everyone))
    for first, last in itertools.pairwise(edges):
        a, z = int(coding.offsets[first]), int(coding.offsets[last])
        yield [count_slots(columns, a, z, member, everyone, mass) for member, everyone in known]


# ---- given the joint values of selected features ----


# ---- of the values that several features take together ----
