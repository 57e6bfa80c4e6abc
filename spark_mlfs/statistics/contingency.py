"""Contingency counts: feature codes against groups of rows, two-way, three-way, and against pairs
of labels; and the joint values of several features, such as a column's one-hot family.

Everything here is one operation (`kernels.counts`): how many rows with code v of feature f fall
into each group of a target (`targets`). A three-way count for a selected feature s is the same with
the groups split by s; the rows in which s has its commonest code are left out and come back by
subtraction from the two-way counts.

Counts are int64 and exact, whatever the partitioning."""

from __future__ import annotations

import itertools
import os
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace

import numpy as np
import scipy.sparse as sp

from ..blocks.codec import State, envelope
from ..blocks.coding import CodedBlock, Coding
from ..blocks.profile import Profile
from ..errors import DataError
from ..kernels import information as info
from ..kernels.cells import (
    CellPairs,
    dense_cell_information,
    informative_rows,
    joint_cells,
    numbered,
    sparse_cell_information,
)
from ..kernels.counts import (
    LinkCells,
    column_of_rows,
    count_dense,
    count_slots,
    count_sparse,
    members,
    rows_by_group,
    slotwise,
)
from ..kernels.hashing import mix
from ..kernels.information import CountLogs
from ..kernels.matrix import Matrix
from ..lazy import cached_property
from .base import FeatureNumbers, PerFeatureStatistic, Reduction, Statistic
from .targets import Classes, Crossed, LabelPairs, Labels, SomeLabels, Target, groups_of

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
    def label_rows(self) -> info.LabelRows:
        """Of groups that are all rows and the labels: the labels' rows."""
        return info.LabelRows(self.totals[1:], int(self.totals[0]))

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
        self, labels: bool, limit: int = info.CELLS
    ) -> Iterator[tuple[slice, info.StoredCounts]]:
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
                info.StoredCounts(last - first, count, group, slot, feature, rows),
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


def pair_counts(
    coding: Coding,
    target: Target,
    selected: Sequence[int],
    commonest: Sequence[int],
    logs: info.CountLogs,
) -> FeatureNumbers:
    """(2·selected, v), two rows a listed feature s: Σ_l I(f; Y_l | s) (or I(f; class | s); 0 over
    `Everything`) and I(f; s), in nats, from one three-way count a feature, without its commonest
    code, and the two-way counts."""
    crossed = (
        TwoWay(coding, Crossed(target, coding, s, common))
        for s, common in zip(selected, commonest, strict=True)
    )
    return FeatureNumbers((TwoWay(coding, target), *crossed), LinkInformation(target, logs))


@dataclass(frozen=True)
class LinkInformation(Reduction):
    """Σ_l I(f; Y_l | s) (or I(f; class | s)) and I(f; s), in nats, from the two-way counts and the
    three-way counts of each s."""

    target: Target
    logs: info.CountLogs
    threads: int = field(default=os.cpu_count() or 1, compare=False)

    def worker_view(self) -> LinkInformation:
        return replace(self, threads=1)

    def __call__(self, two_way: Counts, *each: Counts) -> np.ndarray:
        coding, labels = two_way.coding, self.target if isinstance(self.target, Labels) else None
        stored = coding.sparse and (
            isinstance(self.target, Classes) if labels is None else labels.plain
        )
        inform = stored_linked_information if stored else linked_information  # the same bits
        threads = min(len(each), self.threads)
        if threads == 1:
            return np.concatenate(
                [inform(self.logs, self.target, counts, two_way) for counts in each]
            )
        if stored and labels is not None:
            two_way.links  # noqa: B018 (made once, before the threads ask for it)
        with ThreadPoolExecutor(threads) as pool:  # NumPy lets go of the lock
            return np.concatenate(
                [*pool.map(lambda counts: inform(self.logs, self.target, counts, two_way), each)]
            )


def linked_information(
    logs: info.CountLogs, target: Target, counts: Counts, two_way: Counts
) -> np.ndarray:
    """(2, counts.count) Σ_l I(f; Y_l | s) (or I(f; class | s)) and I(f; s), from N(f = v, s = w,
    group), w not the commonest."""
    size, width = target.size, counts.coding.width
    out = np.zeros((2, counts.count))
    for at, counted in counts.chunks(4):
        counted = counted.reshape(-1, width, counts.size // size, size)
        rest = two_way.dense(counts.first + at.start, counts.first + at.stop) - counted.sum(axis=2)
        full = np.concatenate([counted, rest[:, :, None, :]], axis=2)
        if isinstance(target, Labels):
            full, weights = (
                target.denoised_counts(full),
                None if target.weights is None else np.array(target.weights),
            )
            out[0, at] = info.conditional_label_information(
                logs, full, target.q, target.unknown(full), weights, target.joint
            )
        elif isinstance(target, Classes):
            out[0, at] = info.conditional_class_information(logs, full)
        out[1, at] = info.class_information(
            logs, full.sum(axis=3) if isinstance(target, Classes) else full[..., 0]
        )
    return out


def stored_linked_information(
    logs: info.CountLogs, target: Target, counts: Counts, two_way: Counts
) -> np.ndarray:
    """`linked_information` of sparse counts over classes, or labels that are all known, to the bit:
    nothing is made dense."""
    size, labels, coding = target.size, isinstance(target, Labels), counts.coding
    every = counts.by_slot
    tables = [
        every if counts.size == size else every[:, a : a + size]
        for a in range(0, counts.size, size)
    ]
    totals = [counts.totals[a : a + size] for a in range(0, counts.size, size)]
    rest = two_way.totals - sum(totals)
    if labels:  # the rows with the commonest code: what is left of the two-way counts
        conditional = two_way.links.summed(logs, tables, rest)
        of_code = [column_of_rows(table) for table in tables]
        of_code.append(two_way.links.rows - sum(of_code))
    else:
        tables.append(two_way.by_slot - sum(tables[1:], tables[0]))
        conditional = np.zeros(counts.count, np.int64)
        of_code = [np.asarray(table.sum(axis=1)).ravel().astype(np.int64) for table in tables]
    totals.append(rest)
    for table, total in zip(tables, totals, strict=False):
        part = Counts(coding, total, table.T, counts.first, counts.last)
        for at, some in part.stored(labels):
            if labels:
                conditional[at] += info.summed_stored_information(
                    logs, some, part.label_rows, clip=False
                )
            else:
                conditional[at] += info.stored_class_terms(logs, some, total)
    starts = coding.offsets[counts.first : counts.last] - coding.offsets[counts.first]
    n = int(two_way.totals[0] if labels else two_way.totals.sum())
    pair = np.full(counts.count, logs(n), np.int64)
    for rows, total in zip(of_code, totals, strict=True):
        n_s = int(total[0] if labels else total.sum())
        pair += (
            np.add.reduceat(logs(rows), starts)
            + logs(n_s - np.add.reduceat(rows, starts))
            - logs(n_s)
        )
    of_slots = sum(of_code)
    pair -= np.add.reduceat(logs(of_slots), starts) + logs(n - np.add.reduceat(of_slots, starts))
    return np.stack([logs.nats(conditional, None if labels else n), logs.nats(pair, n)])


def label_pair_counts(
    coding: Coding, target: LabelPairs, unknown: bool, terms: int, correction: str = "none"
) -> FeatureNumbers:
    """(2, v) over pairs a < b of the listed labels: Σ co(f, a, b) and Σ [I(f; Y_a | Y_b) + I(f; Y_b
    | Y_a)], in nats, of the rows whose labels are all known; co(f, a, b) = I(f; Y_a) − I(f; Y_a |
    Y_b). `terms` and `correction` are those of `CountLogs`."""
    parts = TwoWay(coding, target), TwoWay(coding, SomeLabels(target.labels, unknown))
    return FeatureNumbers(parts, LabelPairInformation(target, terms, correction))


@dataclass(frozen=True)
class LabelPairInformation(Reduction):
    """The numbers of `label_pair_counts`, from N(f = v, a, b) and N(f = v, a)."""

    target: LabelPairs
    terms: int
    correction: str

    def __call__(self, both: Counts, single: Counts) -> np.ndarray:
        if not single.totals[0]:
            raise DataError(
                "every row has an unknown label, so no pair of labels can be counted; use mim, "
                "jmi, d2f or mdmr"
            )
        logs = info.CountLogs(int(single.totals[0]), self.terms, self.correction)
        out, (ia, ib) = np.zeros((2, both.count)), self.target.pairs
        for at, pairs in both.chunks(1):
            counts = single.dense(both.first + at.start, both.first + at.stop)
            every, positive = counts[:, :, :1], counts[:, :, 1:]
            relevance = info.label_information(logs, counts, positive.shape[2])
            one, two = positive[:, :, ia], positive[:, :, ib]
            a_given_b = info.label_pair_information(logs, pairs, one, two, every)
            b_given_a = info.label_pair_information(logs, pairs, two, one, every)
            out[0, at] = (relevance[:, ia] - a_given_b).sum(axis=1)
            out[1, at] = (a_given_b + b_given_a).sum(axis=1)
        return out


# ---- given the joint values of selected features ----


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


# ---- of the values that several features take together ----


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
