"""A block: some thousands of rows as raw buffers, their labels as CSR lists, and their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
import scipy.sparse as sp

from ..kernels.matrix import Matrix
from ..lazy import cached_property
from .codec import Buffer, State, decode, encode
from .grades import BITS, ONE
from .rowhash import mix
from .weights import in_units

Attributes = dict[str, Any]  # of rows: arrays or None by the names of a block's fields


class Weighed(Protocol):
    """Units of row weights: the profile has them."""

    weight_exponent: int | None


class LabelledRows:
    """Attributes of rows that raw and coded blocks share: CSR lists of each row's positive and unknown labels, rows without label
    information, and the rows' weights (`blocks.weights`) where they have any."""

    n: int
    label_indptr: np.ndarray
    label_indices: np.ndarray
    unknown_indptr: np.ndarray | None
    unknown_indices: np.ndarray | None
    unlabelled: np.ndarray | None
    weights: np.ndarray | None
    grades: np.ndarray | None

    def masses(self, profile: Weighed) -> np.ndarray | None:
        """(n,) int64 weights in the units of the profile; None where every row counts once."""
        if profile.weight_exponent is None:
            return None
        assert self.weights is not None
        return in_units(self.weights, profile.weight_exponent)

    def label_rows(self) -> np.ndarray:
        """Row of each entry of `label_indices`."""
        return np.repeat(np.arange(self.n), np.diff(self.label_indptr))

    @cached_property
    def labelset_hash(self) -> np.ndarray:
        """(n,) uint64 hash of each row's set of positive labels: the sum of the labels' hashes, 0 for the empty set."""
        with np.errstate(over="ignore"):
            hashes = mix(self.label_indices.astype(np.int64), 0x1ABE1)
            total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
            return total[self.label_indptr[1:]] - total[self.label_indptr[:-1]]

    @cached_property
    def grades_hash(self) -> np.ndarray:
        """(n,) uint64 hash of each row's labels and their grades: `labelset_hash` where all grades are 1."""
        if self.grades is None:
            return self.labelset_hash
        with np.errstate(over="ignore"):
            part = (self.grades.astype(np.int64) & (ONE - 1)) << 32
            hashes = mix(self.label_indices.astype(np.int64) | part, 0x1ABE1)
            total = np.concatenate([np.zeros(1, np.uint64), np.cumsum(hashes, dtype=np.uint64)])
            return total[self.label_indptr[1:]] - total[self.label_indptr[:-1]]

    @cached_property
    def complete(self) -> np.ndarray | None:
        """(n,) whether every label of the row is known, or None where all are."""
        if self.unknown_indptr is None and self.unlabelled is None:
            return None
        known = np.ones(self.n, bool)
        if self.unknown_indptr is not None:
            known &= np.diff(self.unknown_indptr) == 0
        if self.unlabelled is not None:
            known[self.unlabelled] = False
        return known

    def taken(self, rows: np.ndarray) -> Attributes:
        """The attributes of some of the rows, in the order of `rows`."""
        return {name: value for each in ROW_ATTRIBUTES for name, value in zip(each.fields, each.take(self, rows), strict=True)}

    def attributes(self) -> Attributes:
        """The attributes by the names of their fields."""
        return {name: getattr(self, name) for each in ROW_ATTRIBUTES for name in each.fields}

    def encoded(self) -> State:
        """The attributes that there are, by their keys among bytes."""
        state = {key: getattr(self, name) for each in ROW_ATTRIBUTES for name, key in zip(each.fields, each.keys, strict=True)}
        return {key: value for key, value in state.items() if value is not None}


def decoded(state: State) -> Attributes:
    """The inverse of `LabelledRows.encoded`."""
    return {name: state.get(key) for each in ROW_ATTRIBUTES for name, key in zip(each.fields, each.keys, strict=True)}


def joined(blocks: Sequence[LabelledRows]) -> Attributes:
    """The attributes of all rows of the blocks, in order."""
    return {name: value for each in ROW_ATTRIBUTES for name, value in zip(each.fields, each.join(blocks), strict=True)}


@dataclass(frozen=True)
class RowAttribute:
    """Something that rows have beside their features: the fields of a block that hold it (None: no row has it), and their keys
    among bytes. Blocks, their bytes, parts and unions go by the list `ROW_ATTRIBUTES`."""

    fields: tuple[str, ...]
    keys: tuple[str, ...]

    def take(self, block: LabelledRows, rows: np.ndarray) -> tuple[np.ndarray | None, ...]:
        """The fields for some of the rows, in the order of `rows`."""
        raise NotImplementedError

    def join(self, blocks: Sequence[LabelledRows]) -> tuple[np.ndarray | None, ...]:
        """The fields for all rows of the blocks, in order."""
        raise NotImplementedError


class Lists(RowAttribute):
    """A list of numbers a row, as CSR."""

    def take(self, block: LabelledRows, rows: np.ndarray) -> tuple[np.ndarray | None, ...]:
        indptr, indices = (getattr(block, name) for name in self.fields)
        if indptr is None:
            return None, None
        width = int(indices.max(initial=0)) + 1
        picked = sp.csr_matrix((np.ones(len(indices), np.int8), indices, indptr), shape=(block.n, width))[rows]
        return picked.indptr.astype(np.int32), picked.indices.astype(np.int32)

    def join(self, blocks: Sequence[LabelledRows]) -> tuple[np.ndarray | None, ...]:
        pairs = [(*(getattr(b, name) for name in self.fields), b.n) for b in blocks]
        if all(indptr is None for indptr, _, _ in pairs):
            return None, None
        lengths = [np.diff(p) if p is not None else np.zeros(n, np.int32) for p, _, n in pairs]
        indptr = np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int32)
        return indptr, np.concatenate([i if i is not None else np.zeros(0, np.int32) for _, i, _ in pairs])


class Marks(RowAttribute):
    """The numbers of the rows that have a mark."""

    def take(self, block: LabelledRows, rows: np.ndarray) -> tuple[np.ndarray | None, ...]:
        marked = getattr(block, self.fields[0])
        if marked is None:
            return (None,)
        mask = np.zeros(block.n, bool)
        mask[marked] = True
        return (np.flatnonzero(mask[rows]),)

    def join(self, blocks: Sequence[LabelledRows]) -> tuple[np.ndarray | None, ...]:
        starts = np.cumsum([0] + [b.n for b in blocks])
        marked = [getattr(b, self.fields[0]) for b in blocks]
        known = [rows + start for rows, start in zip(marked, starts, strict=False) if rows is not None]
        return (np.concatenate(known) if known else None,)


class PerRow(RowAttribute):
    """A value a row; every block has it, or none."""

    def take(self, block: LabelledRows, rows: np.ndarray) -> tuple[np.ndarray | None, ...]:
        values = getattr(block, self.fields[0])
        return (None if values is None else values[rows],)

    def join(self, blocks: Sequence[LabelledRows]) -> tuple[np.ndarray | None, ...]:
        values = [getattr(b, self.fields[0]) for b in blocks]
        return (None if values[0] is None else np.concatenate(values),)


@dataclass(frozen=True)
class PerLabel(RowAttribute):
    """A value for each of the rows' positive labels; where a block has none, it is `default`."""

    default: int

    def take(self, block: LabelledRows, rows: np.ndarray) -> tuple[np.ndarray | None, ...]:
        values = getattr(block, self.fields[0])
        if values is None:
            return (None,)
        lengths = np.diff(block.label_indptr)[rows]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return (values[np.repeat(block.label_indptr[rows], lengths) + within],)

    def join(self, blocks: Sequence[LabelledRows]) -> tuple[np.ndarray | None, ...]:
        values = [getattr(b, self.fields[0]) for b in blocks]
        if all(each is None for each in values):
            return (None,)
        whole = [
            np.full(len(b.label_indices), self.default, np.uint16) if each is None else each
            for b, each in zip(blocks, values, strict=True)
        ]
        return (np.concatenate(whole),)


ROW_ATTRIBUTES: tuple[RowAttribute, ...] = (
    Lists(("label_indptr", "label_indices"), ("lp", "li")),
    Lists(("unknown_indptr", "unknown_indices"), ("up", "ui")),
    Marks(("unlabelled",), ("ul",)),
    PerRow(("weights",), ("w",)),
    PerLabel(("grades",), ("g",), ONE),
)


@dataclass
class Block(LabelledRows):
    """Some rows. `x` is (n, d), dense or CSR; labels are CSR lists over the rows, `grades` (uint16, `blocks.grades`) those of
    `label_indices` where not all are 1."""

    x: Matrix
    ids: np.ndarray
    label_indptr: np.ndarray
    label_indices: np.ndarray
    unknown_indptr: np.ndarray | None = None
    unknown_indices: np.ndarray | None = None
    unlabelled: np.ndarray | None = None
    weights: np.ndarray | None = None
    grades: np.ndarray | None = None

    @staticmethod
    def empty(d: int) -> Block:
        """No rows of d features."""
        return Block(np.zeros((0, d)), np.zeros(0, np.int64), np.zeros(1, np.int32), np.zeros(0, np.int32))

    @property
    def n(self) -> int:  # type: ignore[override]
        return self.x.shape[0]

    @property
    def d(self) -> int:
        return self.x.shape[1]

    @property
    def sparse(self) -> bool:
        return sp.issparse(self.x)

    @property
    def nbytes(self) -> int:
        x = self.x
        size = x.data.nbytes + x.indices.nbytes + x.indptr.nbytes if sp.issparse(x) else x.nbytes
        return size + self.ids.nbytes + sum(each.nbytes for each in self.attributes().values() if each is not None)

    def dense(self) -> np.ndarray:
        """The features as a dense (n, d) matrix."""
        return self.x.toarray() if self.sparse else self.x

    def csr(self) -> sp.csr_matrix:
        """The features as CSR."""
        return self.x if self.sparse else sp.csr_matrix(self.x)

    def labels(self, q: int) -> sp.csr_matrix:
        """(n, q) 0/1 matrix of the positive labels, or of their grades, float64."""
        values = np.ones(len(self.label_indices)) if self.grades is None else np.ldexp(self.grades.astype(np.float64), -BITS)
        return sp.csr_matrix((values, self.label_indices, self.label_indptr), shape=(self.n, q))

    def grade_units(self) -> np.ndarray:
        """(k,) int64 grades of the entries of `label_indices`, in units of 2⁻¹⁵."""
        return np.full(len(self.label_indices), ONE) if self.grades is None else self.grades.astype(np.int64)

    def unknown(self, q: int) -> sp.csr_matrix | None:
        """(n, q) 0/1 matrix of the unknown labels, or None where every label is known."""
        if self.unknown_indptr is None and self.unlabelled is None:
            return None
        if self.unknown_indptr is None or self.unknown_indices is None:
            unknown = sp.csr_matrix((self.n, q))
        else:
            ones = np.ones(len(self.unknown_indices))
            unknown = sp.csr_matrix((ones, self.unknown_indices, self.unknown_indptr), shape=(self.n, q))
        if self.unlabelled is not None and len(self.unlabelled):
            rows = np.repeat(self.unlabelled, q)
            columns = np.tile(np.arange(q), len(self.unlabelled))
            unknown = unknown + sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(self.n, q))
        return unknown.tocsr()

    def known(self) -> Block:
        """The rows whose labels are all known."""
        complete = self.complete
        return self if complete is None else self.take(np.flatnonzero(complete))

    def take(self, rows: np.ndarray) -> Block:
        """The block of some of the rows, in the order of `rows`."""
        return Block(self.x[rows], self.ids[rows], **self.taken(rows))

    def of_some_weight(self) -> Block:
        """The rows whose weight is above 0: others are none."""
        return self if self.weights is None or self.weights.all() else self.take(np.flatnonzero(self.weights))

    def part(self, first: int, last: int) -> Block:
        """The block of a run of rows; dense features are not copied."""
        return Block(self.x[first:last], self.ids[first:last], **self.taken(np.arange(first, last)))

    def times(self, shift: np.ndarray) -> Block:
        """The block with feature j multiplied by 2^`shift`[j]."""
        x = self.x.astype(np.float64)
        if not self.sparse:
            return replace(self, x=np.ldexp(x, shift))
        x.data = np.ldexp(x.data, shift[x.indices])
        return replace(self, x=x)

    def encode(self) -> bytearray:
        """The block as bytes."""
        return encode({"x": self.x, "ids": self.ids, **self.encoded()})

    @staticmethod
    def decode(data: Buffer) -> Block:
        return Block.from_state(decode(data))

    @staticmethod
    def from_state(s: State) -> Block:
        return Block(s["x"], s["ids"], **decoded(s))


def concatenate(blocks: list[Block]) -> Block:
    """One block of all rows, in the order of the blocks."""
    if len(blocks) == 1:
        return blocks[0]
    if all(b.sparse for b in blocks):
        x = sp.vstack([b.x for b in blocks], format="csr")
    elif any(b.sparse for b in blocks):
        x = sp.vstack([b.csr() for b in blocks], format="csr")
    else:
        x = np.concatenate([b.x for b in blocks])  # promotes to the widest type among them
    return Block(x, np.concatenate([b.ids for b in blocks]), **joined(blocks))


def in_order_of_ids(blocks: list[Block]) -> Block:
    """One block of all rows, in the order of their ids."""
    block = concatenate(blocks)
    return block.take(np.argsort(block.ids, kind="stable"))
