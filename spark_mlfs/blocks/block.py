"""A block: some thousands of rows as raw buffers, their labels as CSR lists, and their ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Protocol

import numpy as np
import scipy.sparse as sp

from .codec import Buffer, State, decode, encode
from .grades import BITS, ONE
from .rowhash import mix
from .weights import in_units


class Weighed(Protocol):
    """What says in which units rows are weighed: the profile."""

    weight_exponent: int | None


class LabelledRows:
    """What raw and coded blocks share: CSR lists of each row's positive and unknown labels, rows without label information, and
    the rows' weights (`blocks.weights`) where they have any."""

    n: int
    label_indptr: np.ndarray
    label_indices: np.ndarray
    unknown_indptr: np.ndarray | None
    unknown_indices: np.ndarray | None
    unlabelled: np.ndarray | None
    weights: np.ndarray | None

    def masses(self, profile: Weighed) -> np.ndarray | None:
        """(n,) int64 weights in the units of the profile; None where every row counts once."""
        if profile.weight_exponent is None:
            return None
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
        grades = getattr(self, "grades", None)
        if grades is None:
            return self.labelset_hash
        with np.errstate(over="ignore"):
            part = (grades.astype(np.int64) & (ONE - 1)) << 32
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

    def take_labels(self, rows: np.ndarray) -> tuple:
        """The five label fields of some of the rows, in the order of `rows`, and their weights."""
        fields: list[np.ndarray | None] = []
        for indptr, indices in ((self.label_indptr, self.label_indices), (self.unknown_indptr, self.unknown_indices)):
            if indptr is None:
                fields += [None, None]
                continue
            width = int(indices.max(initial=0)) + 1
            picked = sp.csr_matrix((np.ones(len(indices), np.int8), indices, indptr), shape=(self.n, width))[rows]
            fields += [picked.indptr.astype(np.int32), picked.indices.astype(np.int32)]
        unlabelled = None
        if self.unlabelled is not None:
            mask = np.zeros(self.n, bool)
            mask[self.unlabelled] = True
            unlabelled = np.flatnonzero(mask[rows])
        return (*fields, unlabelled, None if self.weights is None else self.weights[rows])


def concatenate_labels(blocks: Sequence[LabelledRows]) -> tuple:
    """The five label fields of all rows of the blocks, in order, and their weights."""
    out: list[np.ndarray | None] = []
    for name in ("label", "unknown"):
        pairs = [(getattr(b, name + "_indptr"), getattr(b, name + "_indices"), b.n) for b in blocks]
        if all(indptr is None for indptr, _, _ in pairs):
            out += [None, None]
            continue
        lengths = [np.diff(p) if p is not None else np.zeros(n, np.int32) for p, _, n in pairs]
        out.append(np.concatenate([[0], np.cumsum(np.concatenate(lengths))]).astype(np.int32))
        out.append(np.concatenate([i if i is not None else np.zeros(0, np.int32) for _, i, _ in pairs]))
    starts = np.cumsum([0] + [b.n for b in blocks])
    unlabelled = [b.unlabelled + a for b, a in zip(blocks, starts, strict=False) if b.unlabelled is not None]
    weights = None if blocks[0].weights is None else np.concatenate([b.weights for b in blocks])
    return (*out, np.concatenate(unlabelled) if unlabelled else None, weights)


@dataclass
class Block(LabelledRows):
    """Some rows. `x` is (n, d), dense or CSR; labels are CSR lists over the rows, `grades` (uint16, `blocks.grades`) those of
    `label_indices` where not all are 1."""

    x: np.ndarray | sp.csr_matrix
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
    def n(self) -> int:
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
        size += sum(each.nbytes for each in (self.weights, self.grades) if each is not None)
        return size + self.ids.nbytes + self.label_indices.nbytes + self.label_indptr.nbytes

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
        if self.unknown_indptr is None:
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
        return Block(self.x[rows], self.ids[rows], *self.take_labels(rows), self._take_grades(rows))

    def part(self, first: int, last: int) -> Block:
        """The block of a run of rows; dense features are not copied."""
        rows = np.arange(first, last)
        return Block(self.x[first:last], self.ids[first:last], *self.take_labels(rows), self._take_grades(rows))

    def times(self, shift: np.ndarray) -> Block:
        """The block with feature j multiplied by 2^`shift`[j]."""
        x = self.x.astype(np.float64)
        if not self.sparse:
            return replace(self, x=np.ldexp(x, shift))
        x.data = np.ldexp(x.data, shift[x.indices])
        return replace(self, x=x)

    def _take_grades(self, rows: np.ndarray) -> np.ndarray | None:
        """The grades of some of the rows, in the order of `rows`."""
        if self.grades is None:
            return None
        lengths = np.diff(self.label_indptr)[rows]
        within = np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
        return self.grades[np.repeat(self.label_indptr[rows], lengths) + within]

    def encode(self) -> bytearray:
        """The block as bytes."""
        state: State = {"x": self.x, "ids": self.ids, "lp": self.label_indptr, "li": self.label_indices}
        optional = {"up": self.unknown_indptr, "ui": self.unknown_indices, "ul": self.unlabelled, "w": self.weights}
        optional["g"] = self.grades
        return encode(state | {name: value for name, value in optional.items() if value is not None})

    @staticmethod
    def decode(data: Buffer) -> Block:
        return Block.from_state(decode(data))

    @staticmethod
    def from_state(s: State) -> Block:
        return Block(s["x"], s["ids"], s["lp"], s["li"], s.get("up"), s.get("ui"), s.get("ul"), s.get("w"), s.get("g"))


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
    grades = None
    if any(b.grades is not None for b in blocks):
        grades = np.concatenate([b.grade_units().astype(np.uint16) for b in blocks])
    return Block(x, np.concatenate([b.ids for b in blocks]), *concatenate_labels(blocks), grades)


def in_order_of_ids(blocks: list[Block]) -> Block:
    """One block of all rows, in the order of their ids."""
    block = concatenate(blocks)
    return block.take(np.argsort(block.ids, kind="stable"))
