"""Contingency counts: feature codes against groups of rows, two-way, three-way, and against pairs of labels.

Everything here is one operation (`kernels.counts`): how many rows with code v of feature f fall into each group of a target
(`targets`). A three-way count for a selected feature s is the same with the groups split by s; the rows in which s has its
commonest code are left out and come back by subtraction from the two-way counts.

Counts are int64 and exact, whatever the partitioning.
"""

from __future__ import annotations

import functools
import itertools
import os
from collections.abc import Callable, Hashable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from ..blocks.codec import State, envelope
from ..blocks.coding import CodedBlock, Coding
from ..blocks.profile import Profile
from ..errors import DataError
from ..kernels import information as info
from ..kernels.counts import count_dense, count_slots, count_sparse, members, rows_by_group, slots_first
from ..kernels.links import LinkCells, column_of_rows
from ..kernels.matrix import Matrix
from ..lazy import cached_property
from .base import FeatureShardedStatistic, Statistic, cuts
from .targets import Classes, Everything, LabelPairs, Labels, SomeLabels, Target, finish_key, groups_of

CHUNK_BYTES = 32 << 20


@dataclass
class Counts:
    """Counts (v, width, size) of every varying feature, code and group; dense, or CSR over the stored codes.

    `totals` (size,) rows per group: what the code of 0 has is the rest. Of a range of the features, from `first` on, where `last`
    is given: they keep their numbers.
    """

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
        """How many features these are the counts of."""
        return self.last - self.first

    @cached_property
    def label_rows(self) -> info.LabelRows:
        """Of groups that are all rows and the labels: the labels' rows."""
        return info.LabelRows(self.totals[1:], int(self.totals[0]))

    @cached_property
    def by_slot(self) -> sp.csr_matrix:
        """A sparse table slot by slot, (slots, size) int64: of every link the two-way counts are read again."""
        table = self.table.T.tocsr().astype(np.int64)
        table.sort_indices()
        return table

    @cached_property
    def links(self) -> LinkCells:
        """Sparse counts of all rows and the labels as the links of picks ask for them, again and again."""
        table = self.table.T.tocsr()  # the same arrays
        table.sort_indices()
        return LinkCells(table, self.coding.offsets[self.first : self.last + 1] - self.coding.offsets[self.first])

    def dense(self, first: int, last: int, groups: np.ndarray | None = None) -> np.ndarray:
        """(last - first, width, size) int64; of some groups only, where they are given."""
        if not sp.issparse(self.table):
            part = self.table[first - self.first : last - self.first]
            return part if groups is None else part[:, :, groups]
        coding = self.coding
        a, z = coding.offsets[first], coding.offsets[last]
        start = coding.offsets[self.first]
        table, totals = self.table[:, a - start : z - start], self.totals
        if groups is not None:
            table, totals = table[groups], totals[groups]
        out = np.zeros((last - first, coding.width, len(totals)), np.int64)
        slots = np.arange(a, z)
        feature = np.repeat(np.arange(first, last), coding.bins[first:last] - 1)
        code = slots - coding.offsets[feature]
        code = code + (code >= coding.zero[feature])
        out[feature - first, code] = table.toarray().T
        rest = totals - out.sum(axis=1)
        out[np.arange(last - first), coding.zero[first:last]] += rest
        return out

    def stored(self, labels: bool, limit: int = info.CELLS) -> Iterator[tuple[int, int, info.StoredCounts]]:
        """(first, last, counts) pieces of about `limit` stored cells of a sparse table, whose groups are all rows and the
        `labels`, or else classes: the pieces number the labels, or the classes, from 0."""
        table, offsets = self.table, self.coding.offsets[self.first : self.last + 1]
        offsets = offsets - offsets[0]
        bins = self.coding.bins[self.first : self.last]
        before = table.indptr[offsets]
        first = 0
        while first < self.count:
            last = max(first + 1, int(np.searchsorted(before, before[first] + limit, side="right")) - 1)
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
            some = info.StoredCounts(last - first, count, group, slot, feature, rows)
            yield self.first + first, self.first + last, some
            first = last

    def chunks(self, limit: int = CHUNK_BYTES, copies: int = 1) -> Iterator[tuple[int, int, np.ndarray]]:
        """(first, last, counts) pieces of about `limit` bytes; `copies` says how many times larger the caller makes them."""
        step = max(1, limit // max(1, self.coding.width * self.size * 8 * copies))
        for first in range(self.first, self.last, step):
            last = min(self.last, first + step)
            yield first, last, self.dense(first, last)

    def codes(self) -> np.ndarray:
        """(v, width) rows of each code in group 0."""
        table = self.table[[0]].tocsc() if sp.issparse(self.table) else self.table[:, :, :1]
        return Counts(self.coding, self.totals[:1], table, self.first, self.last).dense(self.first, self.last)[:, :, 0]

    def commonest(self) -> np.ndarray:
        """(v,) the commonest code of each feature over group 0 (classes: over all groups); of a tie the smallest."""
        out = np.empty(self.count, np.int64)
        for first, last, counts in self.chunks():
            rows = counts.sum(axis=2) if self.coding.sparse else counts[:, :, 0]
            out[first - self.first : last - self.first] = rows.argmax(axis=1)
        return out


def count_state(block: CodedBlock, coding: Coding, profile: Profile, rows: np.ndarray, groups: np.ndarray, size: int) -> State:
    """The counts of a block's rows over `size` groups as a state: `table` and `totals` of `Counts`; weighted rows count in units
    of their weight."""
    mass = block.masses(profile)
    totals = rows_by_group(rows, groups, size, mass)
    if block.onehot is not None:
        return {"table": count_sparse(block.onehot, rows, groups, size, mass), "totals": totals}
    return {"table": dense_table(block, coding, rows, groups, size, (0, len(coding.features)), mass), "totals": totals}


def dense_table(
    block: CodedBlock,
    coding: Coding,
    rows: np.ndarray,
    groups: np.ndarray,
    size: int,
    features: tuple[int, int],
    mass: np.ndarray | None = None,
) -> np.ndarray:
    """(last - first, width, size) counts of the `features` first..last of a densely coded block; `mass` (n,) of its rows."""
    assert block.codes is not None
    return count_dense(block.codes, coding.width, coding.per_byte, rows, groups, size, features, mass)


def counts_of(state: State, coding: Coding) -> Counts:
    """The counts of a merged state, ready to be read feature by feature."""
    table = state["table"]
    return Counts(coding, state["totals"], table.tocsc() if sp.issparse(table) else table)


def table_bytes(
    coding: Coding,
    target: Target,
    profile: Profile,
    copies: int = 1,
    rows: int | None = None,
    first: int = 0,
    last: int | None = None,
) -> int:
    """Bytes of the counts of the features first..last over `copies` times the groups of `target`, with their totals, at most. A
    row is in one copy of a group; `rows` bounds the rows that are counted."""
    last = len(coding.features) if last is None else last
    size = copies * target.size
    if not coding.sparse:
        return (last - first) * coding.width * size * 8 + 8 * size
    rows = profile.n if rows is None else min(rows, profile.n)
    each, met = target.bounds(profile)
    stored = np.minimum(profile.stored[coding.features[first:last]], rows)
    table = (coding.bins[first:last] - 1).astype(np.int64) * size
    cells = min(int(np.minimum(table, stored * each).sum()), met, rows * min(profile.widest, last - first) * each)
    slots = int(coding.offsets[last] - coding.offsets[first])
    wide = 8 if max(cells, slots, size) >= 1 << 31 else 4
    return cells * ((8 if profile.total >= 1 << 31 else 4) + wide) + (size + 1) * wide + 8 * size


@dataclass
class TwoWay(Statistic):
    """N(f = v, group) for every varying feature: the counts every filter starts from."""

    coding: Coding
    target: Target
    weighted = True

    def key(self) -> Hashable:
        return "two-way", self.coding.key, self.target.key()

    def partial(self, block: CodedBlock, profile: Profile) -> State:
        return count_state(block, self.coding, profile, *groups_of(block, self.target), self.target.size)

    def finish(self, state: State, profile: Profile) -> Counts:
        return counts_of(state, self.coding)

    def state_bytes(self, profile: Profile) -> int:
        return table_bytes(self.coding, self.target, profile) + envelope(4)


class Reduction(Protocol):
    """A reduction of the counts of some features to a few numbers for each."""

    def key(self) -> Hashable:
        """Equal keys mean equal numbers from equal counts."""

    def __call__(self, counts: Counts) -> np.ndarray:
        """(k, counts.count) numbers; those of a feature depend on its own counts and the totals alone."""


def range_bytes(coding: Coding, target: Target, profile: Profile, copies: int = 1) -> np.ndarray:
    """(v,) what the encoded counts of each feature, over `copies` times the groups, take at most."""
    if not coding.sparse:
        return np.full(len(coding.features), coding.width * copies * target.size * 8, np.int64)
    each, _ = target.bounds(profile)
    table = (coding.bins - 1).astype(np.int64) * target.size * copies
    cell = 8 if profile.total < 1 << 31 else 12
    return np.minimum(table, profile.stored[coding.features] * each) * cell + 4 * (coding.bins - 1)


def group_totals(target: Target, profile: Profile) -> np.ndarray | None:
    """(size,) rows of each group, or their units of weight, where the profile tells."""
    if isinstance(target, Everything):
        return np.array([profile.total])
    if not isinstance(target, Labels) or target.only_known:
        return None
    unknown = profile.unknown_total[list(target.watch)]
    return np.concatenate([[profile.total], profile.positive_total, unknown]).astype(np.int64)


@dataclass
class TwoWayNumbers(FeatureShardedStatistic):
    """Numbers (k, v) that `reduction` makes of the counts N(f = v, group) of `TwoWay`, which may be too many for one process.

    `totals` (size,) rows of each group.
    """

    coding: Coding
    target: Target
    totals: np.ndarray
    reduction: Reduction
    weighted = True

    def key(self) -> Hashable:
        return "two-way numbers", self.coding.key, self.target.key(), self.reduction.key()

    def edges(self, profile: Profile, size: int) -> np.ndarray:
        return cuts(range_bytes(self.coding, self.target, profile), size, 1 if self.coding.sparse else self.coding.per_byte)

    def shard_bytes(self, profile: Profile, first: int, last: int) -> int:
        return (
            table_bytes(self.coding, self.target, profile, first=first, last=last)
            + 8 * (int(self.coding.offsets[last] - self.coding.offsets[first]) + 1)
            + envelope(3)
        )

    def shards(self, blocks: list[CodedBlock], profile: Profile, edges: np.ndarray) -> Iterator[State]:
        whole = in_blocks(blocks, lambda block: groups_of(block, self.target)), self.target.size, has_everyone(self.target)
        for (table,) in range_tables(blocks, self.coding, profile, [whole], edges):
            yield {"table": table}

    def reduce_shard(self, state: State, first: int, last: int, profile: Profile) -> np.ndarray:
        return np.atleast_2d(self.reduction(piece_counts(state["table"], self.coding, self.totals, first, last)))


def piece_counts(table: Matrix, coding: Coding, totals: np.ndarray, first: int, last: int) -> Counts:
    """The counts of a range of features from its table: dense, or CSR (slots, size)."""
    return Counts(coding, totals, table.T if sp.issparse(table) else table, first, last)


Grouping = tuple[tuple[np.ndarray, np.ndarray], int, bool]  # rows and groups, how many groups, whether group 0 is all rows


def in_blocks(blocks: list[CodedBlock], groups: Callable[[CodedBlock], tuple[Any, ...]]) -> tuple[np.ndarray, np.ndarray]:
    """(rows, groups) of some blocks whose rows follow each other; `groups(block)` starts with those of one."""
    found = [groups(block)[:2] for block in blocks]
    before = np.cumsum([0, *(block.n for block in blocks)])
    return np.concatenate([rows + a for (rows, _), a in zip(found, before, strict=False)]), np.concatenate([g for _, g in found])


def masses_of(blocks: list[CodedBlock], profile: Profile) -> np.ndarray | None:
    """The `masses` of all rows of some blocks."""
    return np.concatenate([block.masses(profile) for block in blocks]) if profile.weighted else None


def has_everyone(target: Target) -> bool:
    """Whether group 0 of a target is all rows."""
    return isinstance(target, Everything) or (isinstance(target, Labels) and not target.only_known)


def range_tables(
    blocks: list[CodedBlock], coding: Coding, profile: Profile, groupings: list[Grouping], edges: np.ndarray
) -> Iterator[list[Matrix]]:
    """Range by range of the features, the table of each grouping of the blocks' rows: (features, width, size), or CSR
    (slots, size)."""
    n, mass = sum(block.n for block in blocks), masses_of(blocks, profile)
    if not coding.sparse:
        codes = np.concatenate([b.codes for b in blocks if b.codes is not None], axis=1) if len(blocks) > 1 else blocks[0].codes
        assert codes is not None
        for first, last in itertools.pairwise(edges):
            yield [
                count_dense(codes, coding.width, coding.per_byte, rows, groups, size, (int(first), int(last)), mass)
                for (rows, groups), size, _ in groupings
            ]
        return
    columns = slots_first([block.onehot for block in blocks])
    known = []
    for (rows, groups), size, everyone in groupings:
        if everyone:
            rows, groups, size = rows[groups > 0], groups[groups > 0] - 1, size - 1
        known.append((members(rows, groups, n, size, mass), everyone))
    for first, last in itertools.pairwise(edges):
        a, z = int(coding.offsets[first]), int(coding.offsets[last])
        yield [count_slots(columns, a, z, member, everyone, mass) for member, everyone in known]


@dataclass
class PairInformation(Statistic):
    """For each listed feature s and every f: Σ_l I(f; Y_l | s) (or I(f; class | s)) and I(f; s), in nats.

    One three-way count a feature, N(f = v, s = w, group). `two_way` (driver side only) gives the rows where s has its commonest
    code. Result: {s: (2, v)}; over `Everything` the first row is zero.
    """

    coding: Coding
    target: Target
    selected: tuple[int, ...]
    commonest: tuple[int, ...]
    logs: info.CountLogs | None
    two_way: Counts | None
    weighted = True

    def key(self) -> Hashable:
        return "pairs", self.coding.key, self.target.key(), self.selected, finish_key(self.target, self.logs)

    def worker_view(self) -> PairInformation:
        """Return the part that the workers need."""
        return PairInformation(self.coding, self.target, self.selected, self.commonest, None, None)

    def _split(self, block: CodedBlock, index: int) -> tuple[np.ndarray, np.ndarray, int]:
        rows, groups = groups_of(block, self.target)
        code = block.feature(self.coding, self.selected[index]).astype(np.int64)
        common = self.commonest[index]
        keep = (code != common)[rows]
        rows, groups = rows[keep], groups[keep]
        slot = code[rows]
        slot -= slot > common
        size = (int(self.coding.bins[self.selected[index]]) - 1) * self.target.size
        return rows, slot * self.target.size + groups, size

    def partial(self, block: CodedBlock, profile: Profile) -> State:
        state: State = {}
        for index in range(len(self.selected)):
            part = count_state(block, self.coding, profile, *self._split(block, index))
            state[f"table{index}"], state[f"totals{index}"] = part["table"], part["totals"]
        return state

    def finish(self, state: State, profile: Profile) -> dict[int, np.ndarray]:
        inform = information_of_links(self.coding, self.target)

        def of(index: int) -> np.ndarray:
            part = {"table": state[f"table{index}"], "totals": state[f"totals{index}"]}
            return inform(self.logs, self.target, counts_of(part, self.coding), self.two_way)

        if len(self.selected) == 1:
            return {self.selected[0]: of(0)}
        if inform is stored_linked_information and isinstance(self.target, Labels) and self.two_way is not None:
            self.two_way.links  # noqa: B018 (made once, before the threads ask for it)
        with ThreadPoolExecutor(min(len(self.selected), os.cpu_count() or 1)) as threads:  # NumPy lets go of the lock
            return dict(zip(self.selected, threads.map(of, range(len(self.selected))), strict=True))

    def state_bytes(self, profile: Profile) -> int:
        coding, out = self.coding, envelope(4 * len(self.selected))
        for s, common in zip(self.selected, self.commonest, strict=True):
            rows = int(profile.stored[coding.features[s]]) if coding.sparse and common == coding.zero[s] else None
            out += table_bytes(coding, self.target, profile, int(coding.bins[s]) - 1, rows)
        return out


def linked_information(logs: info.CountLogs, target: Target, counts: Counts, two_way: Counts) -> np.ndarray:
    """(2, counts.count) Σ_l I(f; Y_l | s) (or I(f; class | s)) and I(f; s), from N(f = v, s = w, group) of the codes w of s but
    its commonest, and N(f = v, group)."""
    size, width = target.size, counts.coding.width
    out = np.zeros((2, counts.count))
    for first, last, counted in counts.chunks(copies=4):
        counted = counted.reshape(last - first, width, counts.size // size, size)
        rest = two_way.dense(first, last) - counted.sum(axis=2)
        full = np.concatenate([counted, rest[:, :, None, :]], axis=2)
        full = target.denoised_counts(full) if isinstance(target, Labels) else full
        at = slice(first - counts.first, last - counts.first)
        if isinstance(target, Labels):
            weights = None if target.weights is None else np.array(target.weights)
            out[0, at] = info.conditional_label_information(logs, full, target.q, target.unknown(full), weights, target.joint)
            out[1, at] = info.pair_information(logs, full[..., 0])
        elif isinstance(target, Classes):
            out[0, at] = info.conditional_class_information(logs, full)
            out[1, at] = info.pair_information(logs, full.sum(axis=3))
        else:
            out[1, at] = info.pair_information(logs, full[..., 0])
    return out


def stored_linked_information(logs: info.CountLogs, target: Target, counts: Counts, two_way: Counts) -> np.ndarray:
    """`linked_information` of sparse counts over classes, or labels that are all known, to the bit: nothing is made dense."""
    size, labels, coding = target.size, isinstance(target, Labels), counts.coding
    every = counts.by_slot
    tables = [every if counts.size == size else every[:, a : a + size] for a in range(0, counts.size, size)]
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
        for first, last, some in part.stored(labels):
            at = slice(first - counts.first, last - counts.first)
            if labels:
                conditional[at] += info.summed_stored_information(logs, some, part.label_rows, clip=False)
            else:
                conditional[at] += info.stored_class_terms(logs, some, total)
    starts = coding.offsets[counts.first : counts.last] - coding.offsets[counts.first]
    n = int(two_way.totals[0] if labels else two_way.totals.sum())
    pair = np.full(counts.count, logs(n), np.int64)
    for rows, total in zip(of_code, totals, strict=True):
        n_s = int(total[0] if labels else total.sum())
        pair += np.add.reduceat(logs(rows), starts) + logs(n_s - np.add.reduceat(rows, starts)) - logs(n_s)
    of_slots = sum(of_code)
    pair -= np.add.reduceat(logs(of_slots), starts) + logs(n - np.add.reduceat(of_slots, starts))
    return np.stack([logs.nats(conditional, None if labels else n), logs.nats(pair, n)])


def information_of_links(coding: Coding, target: Target) -> Callable[..., np.ndarray]:
    """`linked_information`, or the way to the same bits that takes the stored cells only."""
    known = not isinstance(target, Labels) or target.plain
    return stored_linked_information if coding.sparse and known and not isinstance(target, Everything) else linked_information


@dataclass
class PairNumbers(FeatureShardedStatistic):
    """`PairInformation` where its counts are too many for one process: (2·selected, v), two rows a listed feature.

    `totals` (size,) rows of each group of the target. A state has the two-way counts, too: those of the rows in which s has its
    commonest code come from them.
    """

    coding: Coding
    target: Target
    selected: tuple[int, ...]
    commonest: tuple[int, ...]
    logs: info.CountLogs
    totals: np.ndarray
    weighted = True

    def key(self) -> Hashable:
        return "pair numbers", self.coding.key, self.target.key(), self.selected, finish_key(self.target, self.logs)

    @property
    def _pairs(self) -> PairInformation:
        return PairInformation(self.coding, self.target, self.selected, self.commonest, None, None)

    def _sizes(self, profile: Profile) -> np.ndarray:
        """(v,) what the counts of each feature take at most."""
        sizes = range_bytes(self.coding, self.target, profile)
        for s in self.selected:
            sizes = sizes + range_bytes(self.coding, self.target, profile, int(self.coding.bins[s]) - 1)
        return sizes

    @property
    def _multiple(self) -> int:
        return 1 if self.coding.sparse else self.coding.per_byte

    def edges(self, profile: Profile, size: int) -> np.ndarray:
        return cuts(self._sizes(profile), size, self._multiple)

    def least_bytes(self, profile: Profile) -> int:
        """Return the most bytes that the smallest shards take."""
        return self._multiple * int(self._sizes(profile).max(initial=0)) + self._totals_bytes(profile)

    def _totals_bytes(self, profile: Profile) -> int:
        each, _ = self.target.bounds(profile)
        slots = [(int(self.coding.bins[s]) - 1) * self.target.size for s in self.selected]
        return sum((12 if profile.total < 1 << 31 else 16) * min(slot, profile.n * each) + 16 for slot in slots)

    def shard_bytes(self, profile: Profile, first: int, last: int) -> int:
        slots = int(self.coding.offsets[last] - self.coding.offsets[first]) + 1
        out = table_bytes(self.coding, self.target, profile, first=first, last=last) + 8 * slots
        for s in self.selected:
            copies = int(self.coding.bins[s]) - 1
            out += table_bytes(self.coding, self.target, profile, copies, first=first, last=last) + 8 * slots
        return out + self._totals_bytes(profile) + envelope(6 * len(self.selected) + 3)

    def shards(self, blocks: list[CodedBlock], profile: Profile, edges: np.ndarray) -> Iterator[State]:
        whole = in_blocks(blocks, lambda block: groups_of(block, self.target)), self.target.size, has_everyone(self.target)
        groupings, totals, pairs = [whole], {}, self._pairs
        for index, s in enumerate(self.selected):
            size = (int(self.coding.bins[s]) - 1) * self.target.size
            some = in_blocks(blocks, functools.partial(pairs._split, index=index))
            groupings.append((some, size, False))
            totals[f"totals{index}"] = sp.csr_matrix(rows_by_group(*some, size, masses_of(blocks, profile))[None])
        for tables in range_tables(blocks, self.coding, profile, groupings, edges):
            yield {"two way": tables[0], **{f"table{i}": table for i, table in enumerate(tables[1:])}, **totals}

    def reduce_shard(self, state: State, first: int, last: int, profile: Profile) -> np.ndarray:
        two_way = piece_counts(state["two way"], self.coding, self.totals, first, last)
        out, inform = [], information_of_links(self.coding, self.target)
        for index in range(len(self.selected)):
            totals = state[f"totals{index}"].toarray()[0].astype(np.int64)
            counts = piece_counts(state[f"table{index}"], self.coding, totals, first, last)
            out.append(inform(self.logs, self.target, counts, two_way))
        return np.concatenate(out)


@dataclass
class LabelPairNumbers(FeatureShardedStatistic):
    """(2, v) over pairs a < b of the listed labels: Σ co(f, a, b) and Σ [I(f; Y_a | Y_b) + I(f; Y_b | Y_a)], in nats, of the rows
    whose labels are all known.

    co(f, a, b) = I(f; Y_a) − I(f; Y_a | Y_b). State: N(f = v, a, b) and N(f = v, a) of a range of features. `unknown` says
    whether any label is; `terms` and `correction` are those of `kernels.information.CountLogs`.
    """

    coding: Coding
    target: LabelPairs
    unknown: bool
    terms: int
    correction: str = "none"
    weighted = True

    def key(self) -> Hashable:
        return "label pairs", self.coding.key, self.target.key(), self.correction

    @property
    def _targets(self) -> tuple[Target, Target]:
        return self.target, SomeLabels(self.target.labels, self.unknown)

    def edges(self, profile: Profile, size: int) -> np.ndarray:
        pairs, labels = (range_bytes(self.coding, target, profile) for target in self._targets)
        return cuts(pairs + labels, size, 1 if self.coding.sparse else self.coding.per_byte)

    def shard_bytes(self, profile: Profile, first: int, last: int) -> int:
        slots = int(self.coding.offsets[last] - self.coding.offsets[first]) + 1
        tables = sum(table_bytes(self.coding, t, profile, first=first, last=last) + 8 * slots for t in self._targets)
        return tables + 8 * sum(t.size for t in self._targets) + envelope(8)

    def shards(self, blocks: list[CodedBlock], profile: Profile, edges: np.ndarray) -> Iterator[State]:
        groupings, totals = [], {}
        for name, target in zip(("pair", "label"), self._targets, strict=True):
            rows, groups = in_blocks(blocks, functools.partial(groups_of, target=target))
            groupings.append(((rows, groups), target.size, False))
            totals[f"{name} totals"] = rows_by_group(rows, groups, target.size, masses_of(blocks, profile))
        for pairs, labels in range_tables(blocks, self.coding, profile, groupings, edges):
            yield {"pairs": pairs, "labels": labels, **totals}

    def reduce_shard(self, state: State, first: int, last: int, profile: Profile) -> np.ndarray:
        both = piece_counts(state["pairs"], self.coding, state["pair totals"], first, last)
        single = piece_counts(state["labels"], self.coding, state["label totals"], first, last)
        if not single.totals[0]:
            raise DataError("every row has an unknown label, so no pair of labels can be counted; use mim, jmi, d2f or mdmr")
        logs = info.CountLogs(int(single.totals[0]), self.terms, self.correction)
        out = np.zeros((2, last - first))
        ia, ib = self.target.pairs
        step = max(1, CHUNK_BYTES // (8 * self.coding.width * self.target.size + 1))
        for at in range(first, last, step):
            part = at, min(last, at + step)
            counts, pairs = single.dense(*part), both.dense(*part)
            every, positive = counts[:, :, :1], counts[:, :, 1:]
            relevance = info.label_information(logs, counts, positive.shape[2])
            one, two = positive[:, :, ia], positive[:, :, ib]
            a_given_b = info.label_pair_information(logs, pairs, one, two, every)
            b_given_a = info.label_pair_information(logs, pairs, two, one, every)
            place = slice(part[0] - first, part[1] - first)
            out[0, place] = (relevance[:, ia] - a_given_b).sum(axis=1)
            out[1, place] = (a_given_b + b_given_a).sum(axis=1)
        return out
