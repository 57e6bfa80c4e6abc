"""Discretisation: features to small integer codes, and the coded blocks the counting kernels read.

Equal width: code = min(b - 1, floor((x - min) * b / (max - min))), in this order of operations.
Quantile: the number of distinct inner quantiles (linear interpolation) below x. A feature that
holds only 0 and 1 keeps its two values. Constant features leave.

A binning "by occurrence" (`OCCURRENCE` behind its name) takes number columns by their values first:
one in which 0 stands in more than half of the rows, and one of two values, has two codes, of which
1 is not 0, or the larger value. Terms of texts have two codes in every binning: 1 is not 0."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..kernels.hashing import mix
from ..lazy import cached_property
from .block import Block, LabelledRows, decoded, joined
from .codec import Buffer, State, decode, encode
from .profile import Profile

SPARSE_DENSITY = 0.15  # below this share of non-zeros the sparse kernel is the cheaper one
OCCURRENCE = "+occurrence"
BINNED, NOT_ZERO, LARGER = range(3)  # rules by which a column's values become codes
CODED_AT_ONCE = 1 << 14  # stored values, whose temporaries stay in the cache


@dataclass(frozen=True)
class Coding:
    """How values of the varying features become codes.

    `low`, `high` (v,) training range; `binary` (v,); `edges` (v, b-1) inner quantiles padded with
    +inf, None for equal width; `sparse` whether blocks are coded sparsely."""

    num_bins: int
    binning: str
    features: ndarray
    low: ndarray
    high: ndarray
    binary: ndarray
    edges: ndarray | None
    sparse: bool
    # (v,) codes of a category, whose values they are; 0 of a number
    categories: ndarray | None = None
    clipped: bool = False  # whether values may be outside the range: they go into the end bins
    rules: ndarray | None = None  # (v,) of a binning by occurrence; None: `BINNED` all

    @cached_property
    def zero(self) -> ndarray:
        """Return (v,) uint8 the code of 0, which the sparse layout does not store.

        Any code where 0 is outside the range."""
        return self.column_codes(np.clip(0.0, self.low, self.high), slice(None))

    @property
    def key(self) -> tuple[int, str]:
        return self.num_bins, self.binning

    @cached_property
    def bins(self) -> ndarray:
        """Return (v,) how many codes a feature has.

        Those of a category, 2 for a binary one, else num_bins."""
        bins = np.where(self.binary, 2, self.num_bins)
        if self.rules is not None:
            bins = np.where(self.rules != BINNED, 2, bins)
        if self.categories is None:
            return bins
        return np.where(self.categories > 0, self.categories, bins)

    @cached_property
    def occurs(self) -> ndarray:
        """Return (v,) whether a feature has two codes, of which 0 is that of value 0."""
        return (self.bins == 2) & (self.zero == 0)

    @cached_property
    def all_occur(self) -> bool:
        """Return whether a training value that is not 0 has the only other code of its feature."""
        in_turn = self._all_by_occurrence or (self.binary.all() and not self.clipped)
        return bool(in_turn and self.occurs.all())

    @property
    def width(self) -> int:
        """Return how many codes a table has room for."""
        return int(self.bins.max())

    @cached_property
    def offsets(self) -> ndarray:
        """Return (v + 1,) the first slot of each feature in the sparse layout.

        There is one slot per code but the code of 0."""
        return np.concatenate([[0], np.cumsum(self.bins - 1)])

    @cached_property
    def per_byte(self) -> int:
        """Return how many features, digits of base `width`, the dense layout packs into a byte."""
        count = 1
        while self.width ** (count + 1) <= 256:
            count += 1
        return count

    @cached_property
    def span(self) -> ndarray:
        """Return (v,) the highest less the lowest value of each feature."""
        return self.high - self.low

    @cached_property
    def last(self) -> ndarray:
        """Return (v,) uint8 the highest code of each feature."""
        return (self.bins - 1).astype(np.uint8)

    @cached_property
    def _all_by_occurrence(self) -> bool:
        return self.rules is not None and bool((self.rules == NOT_ZERO).all())

    def column_codes(self, values: ndarray, columns: ndarray | slice) -> ndarray:
        """Return the codes, as uint8, of training values.

        Their last axis (or every entry) belongs to `columns` of the varying features."""
        if self._all_by_occurrence:
            return np.asarray(values != 0, np.uint8)
        if self.edges is None:
            if self.clipped:
                values = np.clip(values, self.low[columns], self.high[columns])
            scaled = np.subtract(values, self.low[columns], dtype=np.float64)
            scaled *= self.num_bins
            scaled /= self.span[columns]
            # not negative, so truncation is floor; via int32 it is vectorised
            codes = scaled.astype(np.int32).astype(np.uint8)
        else:
            codes = np.zeros(np.broadcast_shapes(values.shape, self.low[columns].shape), np.uint8)
            for j in range(self.edges.shape[1]):
                codes += self.edges[columns, j] < values
            binary = self.binary[columns]
            if binary.any():
                codes = np.where(binary, values != 0, codes).astype(np.uint8)
        if self.rules is not None:
            rule = self.rules[columns]
            is_one = np.where(rule == LARGER, values == self.high[columns], values != 0)
            codes = np.where(rule == BINNED, codes, is_one).astype(np.uint8)
        if self.categories is not None:
            codes = np.where(self.categories[columns] > 0, values, codes).astype(np.uint8)
        # the maximum belongs to the last bin, and 1 of a binary feature is code 1
        return np.minimum(codes, self.last[columns], out=codes)


def plan_coding(
    profile: Profile,
    num_bins: int,
    binning: str,
    edges: ndarray | None = None,
) -> Coding:
    """Return the coding of the training data by their profile.

    `edges` are those of quantile bins, from `statistics.quantiles`."""
    v = profile.varying
    sparse = profile.density < SPARSE_DENSITY
    categories = None
    low = profile.low[v]
    if profile.categories.any():
        categories = profile.categories[v]
        low = np.where(categories > 0, 0, low)  # value 0 of a category is its code 0
    rules = None
    if binning.endswith(OCCURRENCE):
        rules = rules_of(profile)[v]
        if not (rules[~profile.binary[v]] != BINNED).any():  # the codes are those without rules
            binning = binning.removesuffix(OCCURRENCE)
            rules = None
    if profile.terms:
        rules = np.full(len(v), NOT_ZERO)
    return Coding(
        num_bins,
        binning,
        v,
        low,
        profile.high[v],
        profile.binary[v],
        edges,
        sparse,
        categories,
        rules=rules,
    )


def rules_of(profile: Profile) -> ndarray:
    """Return (d,) the rule of each column in a binning by occurrence."""
    mostly_zero = 2 * (profile.total - profile.filled) > profile.total
    not_zero = mostly_zero | (profile.two_valued & (profile.low == 0))
    rules = np.where(not_zero, NOT_ZERO, np.where(profile.two_valued, LARGER, BINNED))
    if profile.categories.any():
        rules = np.where(profile.categories > 0, BINNED, rules)
    return rules


def inner_edges(quantiles: ndarray) -> ndarray:
    """Return (v, b-1) inner quantiles with repeated ones replaced by +inf.

    So that only distinct ones are counted."""
    edges = np.sort(quantiles, axis=1)
    repeated = np.zeros(edges.shape, bool)
    after = edges[:, 1:]
    repeated[:, 1:] = after == edges[:, :-1]
    return np.where(repeated, np.inf, edges)


class CodedBlock(LabelledRows):
    """Some rows, coded. Dense: `codes` (ceil(v / per_byte), n) uint8, several features to a byte,
    one row a byte column.
    Sparse: `onehot` CSR (n, slots) of the codes that are not the code of 0. Labels as in
    `Block`."""

    def __init__(
        self,
        n: int,
        codes: ndarray | None,
        onehot: Any,
        **attributes: Any,
    ) -> None:
        self.n = n
        self.codes = codes
        self.onehot = onehot
        vars(self).update(attributes)

    def encode(self) -> bytearray:
        state: State = {"n": self.n, **self.encoded()}
        if self.onehot is not None:
            state["oi"] = self.onehot.indices
            state["op"] = self.onehot.indptr
            state["ow"] = self.onehot.shape[1]
        if self.codes is not None:
            state["codes"] = self.codes
        return encode(state)

    @staticmethod
    def decode(data: Buffer) -> CodedBlock:
        return CodedBlock.from_state(decode(data))

    @staticmethod
    def from_state(s: State) -> CodedBlock:
        onehot = _ones(s["oi"], s["op"], (s["n"], s["ow"])) if "oi" in s else None
        return CodedBlock(s["n"], s.get("codes"), onehot, **decoded(s))

    def take(self, rows: ndarray) -> CodedBlock:
        """Return the block of some of the rows, in the order of `rows`."""
        codes = None if self.codes is None else self.codes[:, rows]
        onehot = None if self.onehot is None else self.onehot[rows]
        return CodedBlock(len(rows), codes, onehot, **self.taken(rows))

    def feature(self, coding: Coding, index: int) -> ndarray:
        """Return (n,) the codes of one feature."""
        if self.codes is not None:
            byte, digit = divmod(index, coding.per_byte)
            digits = self.codes[byte] // np.uint8(coding.width**digit)
            return digits % np.uint8(coding.width)
        codes = np.full(self.n, coding.zero[index], np.uint8)
        first = coding.offsets[index]
        last = coding.offsets[index + 1]
        indices = self.onehot.indices
        stored = np.flatnonzero((indices >= first) & (indices < last))
        rows = np.searchsorted(self.onehot.indptr, stored, side="right") - 1
        slots = indices[stored] - first
        codes[rows] = slots + (slots >= coding.zero[index])
        return codes

    def buckets(
        self,
        coding: Coding,
        selected: Sequence[int],
        count: int,
    ) -> ndarray:
        """Return (n,) one of `count` buckets of each row, that of its joint cell of features."""
        cell = np.zeros(self.n, np.uint64)
        for feature in selected:
            cell = mix(cell.view(np.int64)) + self.feature(coding, feature)
        return (mix(cell.view(np.int64)) % np.uint64(count)).astype(np.int64)


def _ones(indices: ndarray, indptr: ndarray, shape: tuple[int, int]) -> sp.csr_matrix:
    return sp.csr_matrix((np.ones(len(indices), np.int32), indices, indptr), shape=shape)


def code_block(block: Block, coding: Coding) -> CodedBlock:
    """Return the coded form of a raw block."""
    if coding.sparse:
        return CodedBlock(block.n, None, _onehot(block.csr(), coding), **block.attributes())
    per = coding.per_byte
    width = coding.width
    count = len(coding.features)
    packed = np.empty((-(-count // per), block.n), np.uint8)
    all_vary = count == block.d
    step = max(1, (1 << 18) // max(1, count))  # so that the float temporaries stay in the cache
    for a in range(0, block.n, step):
        x = block.x[a : a + step]
        x = x.toarray() if sp.issparse(x) else x
        x = x if all_vary else x[:, coding.features]
        codes = coding.column_codes(x, slice(None))
        digits = codes[:, ::per].copy()
        for digit in range(1, per):
            part = codes[:, digit::per]
            digits[:, : part.shape[1]] += part * np.uint8(width**digit)
        packed[:, a : a + step] = digits.T
    return CodedBlock(block.n, packed, None, **block.attributes())


def _onehot(x: sp.csr_matrix, coding: Coding) -> sp.csr_matrix:
    """Return (n, slots) the codes that are not the code of 0."""
    if len(coding.features) < x.shape[1]:
        x = _columns_of(x, coding.features)
    shape = (x.shape[0], int(coding.offsets[-1]))
    if coding.all_occur and x.data.all():  # a slot is a feature
        return _ones(x.indices, x.indptr, shape)
    first = coding.offsets[:-1].astype(np.int32)
    stored = np.zeros(x.nnz + 1, bool)
    slots = np.empty(x.nnz, np.int32)
    count = 0
    for a in range(0, x.nnz, CODED_AT_ONCE):
        columns = x.indices[a : a + CODED_AT_ONCE]
        values = x.data[a : a + CODED_AT_ONCE]
        zero = coding.zero[columns]
        codes = coding.column_codes(values, columns)
        has_slot = codes != zero
        slot = first[columns]
        slot += codes
        slot -= codes > zero
        stored[a + 1 : a + 1 + len(has_slot)] = has_slot
        slot = slot[has_slot]
        slots[count : count + len(slot)] = slot
        count += len(slot)
    indptr = np.cumsum(stored, dtype=np.int32)[x.indptr]
    return _ones(slots[:count], indptr, shape)


def _columns_of(x: sp.csr_matrix, columns: ndarray) -> sp.csr_matrix:
    """Return some columns, ascending, some entries after the others: they stay in the cache."""
    place_of = np.full(x.shape[1], -1, np.int32)
    place_of[columns] = np.arange(len(columns), dtype=np.int32)
    entries = [np.zeros(0, np.int64)]
    indices = [np.zeros(0, np.int32)]
    for a in range(0, x.nnz, CODED_AT_ONCE):
        places = place_of.take(x.indices[a : a + CODED_AT_ONCE])
        stays = np.flatnonzero(places >= 0)
        indices.append(places.take(stays))
        stays += a
        entries.append(stays)
    stored = np.concatenate(entries)
    indptr = np.searchsorted(stored, x.indptr).astype(np.int32)
    parts = (x.data.take(stored), np.concatenate(indices), indptr)
    return sp.csr_matrix(parts, shape=(x.shape[0], len(columns)))


def concatenate_coded(blocks: list[CodedBlock]) -> CodedBlock:
    """Return one coded block of all rows, in the order of the blocks."""
    if len(blocks) == 1:
        return blocks[0]
    codes = None
    onehot = None
    if blocks[0].codes is not None:
        codes = np.concatenate([b.codes for b in blocks], axis=1)
    if blocks[0].onehot is not None:
        onehot = sp.vstack([b.onehot for b in blocks], format="csr")
    return CodedBlock(sum(b.n for b in blocks), codes, onehot, **joined(blocks))


def in_runs(blocks: list[CodedBlock], count: int) -> list[CodedBlock]:
    """Return the blocks joined into `count` of all rows in order, at most.

    The list is emptied, and a run copied at a time."""
    if len(blocks) <= count:
        return blocks
    length = -(-len(blocks) // count)
    runs = []
    while blocks:
        run = [blocks.pop(0) for _ in range(min(length, len(blocks)))]
        runs.append(concatenate_coded(run))
        del run
    return runs
