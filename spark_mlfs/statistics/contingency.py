"""Contingency counts: feature codes against groups of rows, two-way, three-way, and against pairs of labels.

Everything here is one operation, `count`: how many rows with code v of feature f fall into each group, where a row may be in
several groups (all rows, each of its labels, ...). A three-way count for a selected feature s is the same with the groups split
by s; the rows in which s has its commonest code are left out and come back by subtraction from the two-way counts. Dense blocks
hold several features to a byte, so one `bincount` serves them all; sparse blocks count through one product of CSR matrices,
touching only what is stored.

Counts are int64 and exact, whatever the partitioning.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..blocks.codec import State, envelope
from ..blocks.coding import CodedBlock, Coding
from ..blocks.profile import Profile
from ..kernels import information as info
from .base import Statistic

CHUNK_BYTES = 32 << 20
PACKED_TABLE = 1 << 17  # largest table counted for several features of one byte at once


# ---- groups of rows ------------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Everything:
    """One group: all rows."""

    size: int = 1

    def key(self) -> Hashable:
        return "everything"

    def groups(self, block: CodedBlock) -> tuple[np.ndarray, np.ndarray]:
        return np.arange(block.n), np.zeros(block.n, np.int64)

    def most(self, profile: Profile) -> tuple[int, int]:
        return 1, profile.nonzero


@dataclass(frozen=True)
class Labels:
    """Group 0: all rows; 1 + l: rows with label l; then, per label of `watch`, the rows where it is unknown.

    `whole` leaves out the rows with any unknown label instead.
    """

    q: int
    watch: tuple[int, ...] = ()
    whole: bool = False

    @property
    def size(self) -> int:
        return 1 + self.q + len(self.watch)

    def key(self) -> Hashable:
        return "labels", self.whole

    def groups(self, block: CodedBlock) -> tuple[np.ndarray, np.ndarray]:
        rows = [np.arange(block.n), block.label_rows()]
        groups = [np.zeros(block.n, np.int64), 1 + block.label_indices.astype(np.int64)]
        if self.whole and block.complete is not None:
            keep = block.complete[np.concatenate(rows)]
            return np.concatenate(rows)[keep], np.concatenate(groups)[keep]
        if self.watch:
            place = np.full(self.q, -1, np.int64)
            place[list(self.watch)] = 1 + self.q + np.arange(len(self.watch))
            if block.unknown_indptr is not None:
                rows.append(np.repeat(np.arange(block.n), np.diff(block.unknown_indptr)))
                groups.append(place[block.unknown_indices])
            if block.unlabelled is not None:
                rows.append(np.repeat(block.unlabelled, len(self.watch)))
                groups.append(np.tile(place[list(self.watch)], len(block.unlabelled)))
        return np.concatenate(rows), np.concatenate(groups)

    def most(self, profile: Profile) -> tuple[int, int]:
        """How many groups one row is in at most, and Σ over rows of features that are not zero times groups at most."""
        each, met = 1 + profile.most_labels, profile.nonzero + profile.met
        if self.watch:
            each += len(self.watch) if profile.unlabelled else min(profile.most_unknown, len(self.watch))
            met += profile.met_unknown + profile.unlabelled_stored * len(self.watch)
        return each, met

    def unknown(self, counts: np.ndarray) -> np.ndarray | None:
        """The counts of unknown labels spread over all labels (…, q), or None where every label is known."""
        if not self.watch:
            return None
        out = np.zeros((*counts.shape[:-1], self.q), np.int64)
        out[..., list(self.watch)] = counts[..., 1 + self.q :]
        return out


@dataclass(frozen=True)
class Classes:
    """One group per kept labelset (label powerset); `hashes` (m,) sorted. Other rows, and rows with an unknown label, are in no
    group."""

    hashes: np.ndarray

    @property
    def size(self) -> int:
        return len(self.hashes)

    def key(self) -> Hashable:
        return "classes", self.hashes.tobytes()

    def groups(self, block: CodedBlock) -> tuple[np.ndarray, np.ndarray]:
        place = np.minimum(np.searchsorted(self.hashes, block.labelset_hash), len(self.hashes) - 1)
        found = self.hashes[place] == block.labelset_hash
        if block.complete is not None:
            found &= block.complete
        rows = np.flatnonzero(found)
        return rows, place[rows]

    def most(self, profile: Profile) -> tuple[int, int]:
        return 1, profile.nonzero


@dataclass(frozen=True)
class LabelPairs:
    """One group per pair (a, b), a < b, of the listed labels: rows with both. Rows with an unknown label are in no group."""

    labels: tuple[int, ...]

    @property
    def size(self) -> int:
        return len(self.labels) * (len(self.labels) - 1) // 2

    def key(self) -> Hashable:
        return "label pairs", self.labels

    @cached_property
    def pairs(self) -> tuple[np.ndarray, np.ndarray]:
        """Positions in `labels` of the pairs' first and second labels, in the order of the groups."""
        return np.triu_indices(len(self.labels), 1)

    def groups(self, block: CodedBlock) -> tuple[np.ndarray, np.ndarray]:
        count = len(self.labels)
        place = np.full(max(max(self.labels), int(block.label_indices.max(initial=0))) + 1, -1, np.int64)
        place[list(self.labels)] = np.arange(count)
        positions, rows = place[block.label_indices], block.label_rows()
        keep = positions >= 0
        if block.complete is not None:
            keep &= block.complete[rows]
        positions, rows = positions[keep], rows[keep]
        # pair every entry with the later ones of its row, one distance at a time
        out_rows, out_groups = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)]
        distance = 1
        while True:
            same = np.flatnonzero(rows[distance:] == rows[:-distance])
            if not len(same):
                break
            a, b = positions[same], positions[same + distance]
            a, b = np.minimum(a, b), np.maximum(a, b)
            out_rows.append(rows[same])
            out_groups.append(a * count - a * (a + 1) // 2 + b - a - 1)
            distance += 1
        return np.concatenate(out_rows), np.concatenate(out_groups)

    def most(self, profile: Profile) -> tuple[int, int]:
        labels = min(profile.most_labels, len(self.labels))
        return labels * (labels - 1) // 2, profile.met * max(labels - 1, 0) // 2


def groups_of(block: CodedBlock, target: Any) -> tuple[np.ndarray, np.ndarray]:
    """(rows, groups) of a target in a block, kept on the block: every count of a job asks for the same ones."""
    cache = block.__dict__.setdefault("_groups", {})
    key = target.key()
    if key not in cache:
        cache[key] = target.groups(block)
    return cache[key]


# ---- counting ------------------------------------------------------------------------------------------------------------


def _marginals(width: int, per_byte: int) -> np.ndarray:
    """(width**per_byte, per_byte * width) 0/1: which code each packed value has for each of its features."""
    packed = np.arange(width**per_byte)
    digits = [(packed // width**k) % width for k in range(per_byte)]
    return np.concatenate([(d[:, None] == np.arange(width)) for d in digits], axis=1).astype(np.float32)


def count_dense(
    block: CodedBlock, coding: Coding, rows: np.ndarray, groups: np.ndarray, size: int, first: int, last: int
) -> np.ndarray:
    """(last - first, width, size) counts of the features first..last (a multiple of `per_byte` apart from the end)."""
    width, per = coding.width, coding.per_byte
    out = np.zeros((last - first, width, size), np.int64)
    whole = len(rows) == block.n and np.array_equal(rows, np.arange(block.n))
    packed_size = width**per
    if packed_size * size <= PACKED_TABLE and block.n < 1 << 24:
        base = groups * packed_size
        marginals = _marginals(width, per)
        for byte in range(first // per, -(-last // per)):
            column = block.codes[byte]
            table = np.bincount((column if whole else column[rows]) + base, minlength=packed_size * size)
            # counts of one block are below 2**24, so float32 products are exact
            parts = table.reshape(size, packed_size).astype(np.float32) @ marginals
            start = byte * per - first
            stop = min(start + per, last - first)
            out[start:stop] = parts.reshape(size, per, width).transpose(1, 2, 0)[: stop - start]
        return out
    base = groups * width
    for byte in range(first // per, -(-last // per)):
        column = block.codes[byte]
        column = (column if whole else column[rows]).astype(np.int64)
        for digit in range(per):
            feature = byte * per + digit
            if first <= feature < last:
                code = column % width
                out[feature - first] = np.bincount(code + base, minlength=width * size).reshape(size, width).T
            column = column // width
    return out


def count_sparse(block: CodedBlock, rows: np.ndarray, groups: np.ndarray, size: int) -> sp.csr_matrix:
    """(size, slots) CSR counts of the stored codes."""
    order = np.argsort(groups, kind="stable")
    indptr = np.concatenate([[0], np.cumsum(np.bincount(groups, minlength=size))])
    member = sp.csr_matrix((np.ones(len(rows), np.int32), rows[order], indptr), shape=(size, block.n))
    return (member @ block.onehot).tocsr()


@dataclass
class Counts:
    """Counts (v, width, size) of every varying feature, code and group; dense, or CSR over the stored codes.

    `totals` (size,) rows per group: what the code of 0 has is the rest.
    """

    coding: Coding
    totals: np.ndarray
    table: np.ndarray | sp.csc_matrix

    @property
    def size(self) -> int:
        return len(self.totals)

    def dense(self, first: int, last: int, groups: np.ndarray | None = None) -> np.ndarray:
        """(last - first, width, size) int64; of some groups only, where they are given."""
        if not sp.issparse(self.table):
            return self.table[first:last] if groups is None else self.table[first:last][:, :, groups]
        coding = self.coding
        a, z = coding.offsets[first], coding.offsets[last]
        table, totals = self.table[:, a:z], self.totals
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
        table, offsets = self.table, self.coding.offsets
        before = table.indptr[offsets]
        first = 0
        while first < len(offsets) - 1:
            last = max(first + 1, int(np.searchsorted(before, before[first] + limit, side="right")) - 1)
            a, z = offsets[first], offsets[last]
            cells = slice(table.indptr[a], table.indptr[z])
            count, group = table.data[cells].astype(np.int64), table.indices[cells].astype(np.int64)
            slot = np.repeat(np.arange(z - a), np.diff(table.indptr[a : z + 1]))
            feature = np.repeat(np.arange(last - first), self.coding.bins[first:last] - 1)
            rows = np.zeros(z - a, np.int64)
            if labels:
                whole = group == 0
                rows[slot[whole]] = count[whole]
                count, group, slot = count[~whole], group[~whole] - 1, slot[~whole]
            else:
                np.add.at(rows, slot, count)
            yield first, last, info.StoredCounts(last - first, count, group, slot, feature, rows)
            first = last

    def chunks(self, limit: int = CHUNK_BYTES, copies: int = 1) -> Iterator[tuple[int, int, np.ndarray]]:
        """(first, last, counts) pieces of about `limit` bytes; `copies` says how many times larger the caller makes them."""
        count = len(self.coding.features)
        step = max(1, limit // max(1, self.coding.width * self.size * 8 * copies))
        for first in range(0, count, step):
            last = min(count, first + step)
            yield first, last, self.dense(first, last)

    def codes(self) -> np.ndarray:
        """(v, width) rows of each code in group 0."""
        table = self.table[[0]].tocsc() if sp.issparse(self.table) else self.table[:, :, :1]
        return Counts(self.coding, self.totals[:1], table).dense(0, len(self.coding.features))[:, :, 0]

    def commonest(self) -> np.ndarray:
        """(v,) the commonest code of each feature over group 0 (classes: over all groups); of a tie the smallest."""
        out = np.empty(len(self.coding.features), np.int64)
        for first, last, counts in self.chunks():
            out[first:last] = counts.sum(axis=2).argmax(axis=1) if self.coding.sparse else counts[:, :, 0].argmax(axis=1)
        return out


def count_state(block: CodedBlock, coding: Coding, rows: np.ndarray, groups: np.ndarray, size: int) -> State:
    totals = np.bincount(groups, minlength=size).astype(np.int64)
    if block.onehot is not None:
        return {"table": count_sparse(block, rows, groups, size), "totals": totals}
    return {"table": count_dense(block, coding, rows, groups, size, 0, len(coding.features)), "totals": totals}


def counts_of(state: State, coding: Coding) -> Counts:
    table = state["table"]
    return Counts(coding, state["totals"], table.tocsc() if sp.issparse(table) else table)


def table_bytes(
    coding: Coding,
    target: Any,
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
    each, met = target.most(profile)
    stored = np.minimum(profile.stored[coding.features[first:last]], rows)
    table = (coding.bins[first:last] - 1).astype(np.int64) * size
    cells = min(int(np.minimum(table, stored * each).sum()), met, rows * min(profile.widest, last - first) * each)
    slots = int(coding.offsets[last] - coding.offsets[first])
    wide = 8 if max(cells, slots, size) >= 1 << 31 else 4
    return cells * ((8 if profile.n >= 1 << 31 else 4) + wide) + (size + 1) * wide + 8 * size


# ---- statistics ----------------------------------------------------------------------------------------------------------


@dataclass
class Labelsets:
    """The distinct labelsets: `hashes` (m,) sorted uint64, `counts` (m,) rows, and their labels as CSR."""

    hashes: np.ndarray
    counts: np.ndarray
    indptr: np.ndarray
    indices: np.ndarray

    def indicator(self, q: int) -> np.ndarray:
        """(m, q) 0/1 matrix."""
        return sp.csr_matrix((np.ones(len(self.indices), np.int8), self.indices, self.indptr), (len(self.counts), q)).toarray()


@dataclass
class LabelsetCounts(Statistic):
    """The distinct labelsets of the rows whose labels are all known, and how often each occurs. State: O(labelsets)."""

    layout: str = field(default="rows", init=False)
    divisible: bool = field(default=False, init=False)
    by_labelset: bool = field(default=True, init=False)

    def key(self) -> Hashable:
        return "labelset counts"

    def partial(self, block: Any, profile: Profile) -> State:
        hashes = block.labelset_hash
        rows = np.arange(block.n) if block.complete is None else np.flatnonzero(block.complete)
        distinct, first, counts = np.unique(hashes[rows], return_index=True, return_counts=True)
        ones = np.ones(len(block.label_indices), np.int8)
        sets = sp.csr_matrix((ones, block.label_indices, block.label_indptr), shape=(block.n, profile.q))[rows[first]]
        return {
            "hashes": distinct,
            "counts": counts.astype(np.int64),
            "indptr": sets.indptr.astype(np.int64),
            "indices": sets.indices.astype(np.int64),
        }

    def merge(self, left: State, right: State) -> State:
        hashes = np.concatenate([left["hashes"], right["hashes"]])
        distinct, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        counts = np.zeros(len(distinct), np.int64)
        np.add.at(counts, inverse, np.concatenate([left["counts"], right["counts"]]))
        indices = np.concatenate([left["indices"], right["indices"]])
        indptr = np.concatenate([left["indptr"], right["indptr"][1:] + left["indptr"][-1]])
        shape = (len(hashes), int(indices.max(initial=0)) + 1)
        sets = sp.csr_matrix((np.ones(len(indices), np.int8), indices, indptr), shape=shape)[first]
        return {"hashes": distinct, "counts": counts, "indptr": sets.indptr, "indices": sets.indices}

    def finish(self, state: State, profile: Profile) -> Labelsets:
        return Labelsets(state["hashes"], state["counts"], state["indptr"], state["indices"])

    def state_bytes(self, profile: Profile) -> int:
        sets = profile.most_labelsets
        labels = min(sets * profile.most_labels, int(profile.positive.sum()))
        return 8 * (3 * sets + 1 + labels) + envelope(4)


@dataclass
class TwoWay(Statistic):
    """N(f = v, group) for every varying feature: the counts every filter starts from."""

    coding: Coding
    target: Any

    def key(self) -> Hashable:
        return "two-way", self.coding.key, self.target.key()

    def partial(self, block: CodedBlock, profile: Profile) -> State:
        return count_state(block, self.coding, *groups_of(block, self.target), self.target.size)

    def finish(self, state: State, profile: Profile) -> Counts:
        return counts_of(state, self.coding)

    def state_bytes(self, profile: Profile) -> int:
        return table_bytes(self.coding, self.target, profile) + envelope(4)


@dataclass
class PairInformation(Statistic):
    """For each listed feature s and every f: Σ_l I(f; Y_l | s) (or I(f; class | s)) and I(f; s), in nats.

    One three-way count a feature, N(f = v, s = w, group). `two_way` (driver side only) gives the rows where s has its commonest
    code. Result: {s: (2, v)}; over `Everything` the first row is zero.
    """

    coding: Coding
    target: Any
    selected: tuple[int, ...]
    commonest: tuple[int, ...]
    logs: info.CountLogs | None
    two_way: Counts | None

    def key(self) -> Hashable:
        return "pairs", self.coding.key, self.target.key(), self.selected

    def lean(self) -> PairInformation:
        """What the workers need."""
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
            part = count_state(block, self.coding, *self._split(block, index))
            state[f"table{index}"], state[f"totals{index}"] = part["table"], part["totals"]
        return state

    def finish(self, state: State, profile: Profile) -> dict[int, np.ndarray]:
        out = {}
        for index, s in enumerate(self.selected):
            part = {"table": state[f"table{index}"], "totals": state[f"totals{index}"]}
            out[s] = self._information(counts_of(part, self.coding))
        return out

    def _information(self, counts: Counts) -> np.ndarray:
        size = self.target.size
        slots = counts.size // size
        out = np.zeros((2, len(self.coding.features)))
        for first, last, some in counts.chunks(copies=4):
            shape = (last - first, self.coding.width, slots, size)
            some = some.reshape(shape)
            rest = self.two_way.dense(first, last) - some.sum(axis=2)
            full = np.concatenate([some, rest[:, :, None, :]], axis=2)
            if isinstance(self.target, Labels):
                unknown = self.target.unknown(full)
                out[0, first:last] = info.conditional_label_information(self.logs, full, self.target.q, unknown)
                out[1, first:last] = info.pair_information(self.logs, full[..., 0])
            elif isinstance(self.target, Classes):
                out[0, first:last] = info.conditional_class_information(self.logs, full)
                out[1, first:last] = info.pair_information(self.logs, full.sum(axis=3))
            else:
                out[1, first:last] = info.pair_information(self.logs, full[..., 0])
        return out

    def state_bytes(self, profile: Profile) -> int:
        coding, out = self.coding, envelope(4 * len(self.selected))
        for s, common in zip(self.selected, self.commonest, strict=True):
            rows = int(profile.stored[coding.features[s]]) if coding.sparse and common == coding.zero[s] else None
            out += table_bytes(coding, self.target, profile, int(coding.bins[s]) - 1, rows)
        return out


@dataclass
class LabelPairSums(Statistic):
    """Per feature, over pairs a < b of the listed labels: Σ co(f, a, b) and Σ [I(f; Y_a | Y_b) + I(f; Y_b | Y_a)], in nats.

    co(f, a, b) = I(f; Y_a) − I(f; Y_a | Y_b). State: N(f = v, a, b) of a range of features; the caller asks range by range.
    Result: (2, last - first).
    """

    coding: Coding
    target: LabelPairs
    first: int
    last: int
    logs: info.CountLogs | None = None
    two_way: Counts | None = None

    def key(self) -> Hashable:
        return "label pairs", self.coding.key, self.target.key(), self.first, self.last

    def lean(self) -> LabelPairSums:
        return LabelPairSums(self.coding, self.target, self.first, self.last)

    def partial(self, block: CodedBlock, profile: Profile) -> State:
        rows, groups = groups_of(block, self.target)
        if block.onehot is None:
            return {"table": count_dense(block, self.coding, rows, groups, self.target.size, self.first, self.last)}
        a, z = self.coding.offsets[self.first], self.coding.offsets[self.last]
        part = CodedBlock(block.n, None, block.onehot[:, a:z], block.label_indptr, block.label_indices)
        return {
            "table": count_sparse(part, rows, groups, self.target.size),
            "totals": np.bincount(groups, minlength=self.target.size).astype(np.int64),
        }

    def finish(self, state: State, profile: Profile) -> np.ndarray:
        first, last = self.first, self.last
        both = state["table"]
        if sp.issparse(both):
            slots = self.coding.offsets[-1]
            a = self.coding.offsets[first]
            shifted = sp.csc_matrix(
                (
                    both.tocsc().data,
                    both.tocsc().indices,
                    np.concatenate(
                        [np.zeros(a, np.int64), both.tocsc().indptr, np.full(slots - self.coding.offsets[last], both.nnz)]
                    ),
                ),
                shape=(both.shape[0], slots),
            )
            both = Counts(self.coding, state["totals"], shifted).dense(first, last)
        groups = np.concatenate([[0], 1 + np.array(self.target.labels)])
        out = np.zeros((2, last - first))
        step = max(1, CHUNK_BYTES // (8 * both.shape[1] * both.shape[2] + 1))
        ia, ib = self.target.pairs
        for at in range(0, last - first, step):
            part = slice(at, min(last - first, at + step))
            single = self.two_way.dense(first + part.start, first + part.stop, groups)
            every, positive = single[:, :, :1], single[:, :, 1:]
            relevance = info.label_information(self.logs, single, positive.shape[2])
            one, two = positive[:, :, ia], positive[:, :, ib]
            a_given_b = info.label_pair_information(self.logs, both[part], one, two, every)
            b_given_a = info.label_pair_information(self.logs, both[part], two, one, every)
            out[0, part] = (relevance[:, ia] - a_given_b).sum(axis=1)
            out[1, part] = (a_given_b + b_given_a).sum(axis=1)
        return out

    def state_bytes(self, profile: Profile) -> int:
        return table_bytes(self.coding, self.target, profile, first=self.first, last=self.last) + envelope(4)
