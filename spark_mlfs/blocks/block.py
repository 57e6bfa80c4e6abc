"""A block: some thousands of rows as raw buffers, their labels as CSR lists, and their ids."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..kernels.hashing import mix, row_sums
from ..kernels.matrix import Matrix, runs
from ..lazy import cached_property
from .codec import Buffer, State, decode, encode
from .grades import BITS, ONE, Grades
from .weights import in_units

LABELSET = 0x1ABE1  # seed of the hashes of labels
Attributes = dict[str, Any]  # of rows: arrays or None by the names of a block's fields


def labelset_hashes(indices: ndarray, indptr: ndarray, grades: ndarray | None = None) -> ndarray:
    """Return (n,) uint64 hashes of the labels of rows as CSR lists, and of their grades.

    Grades are in units of 2⁻¹⁵; a grade of 1 is none."""
    keys = indices
    if grades is not None:
        fractions = grades.astype(np.int64) & (ONE - 1)
        keys = indices | (fractions << 32)
    return row_sums(mix(keys, LABELSET), indptr)


class LabelledRows:
    """Attributes of rows that raw and coded blocks share: CSR lists of positive and unknown labels,
    weights, groups (`blocks.groups`)."""

    n: int
    label_indptr: ndarray
    label_indices: ndarray
    unknown_indptr: ndarray | None
    unknown_indices: ndarray | None
    unlabelled: ndarray | None
    weights: ndarray | None
    groups: ndarray | None
    grades: ndarray | None

    def masses(self, profile: Any) -> ndarray | None:
        """Return (n,) int64 weights in the units of the profile; None where rows count once."""
        if profile.weight_exponent is None:
            return None
        assert self.weights is not None
        return in_units(self.weights, profile.weight_exponent)

    def label_rows(self) -> ndarray:
        """Return the row of each entry of `label_indices`."""
        return np.repeat(np.arange(self.n), np.diff(self.label_indptr))

    def unknown_entries(self) -> tuple[ndarray, ndarray]:
        """Return the row and label of each label that is unknown by itself."""
        if self.unknown_indptr is None or self.unknown_indices is None:
            return np.zeros(0, np.int64), np.zeros(0, np.int64)
        rows = np.repeat(np.arange(self.n), np.diff(self.unknown_indptr))
        return rows, self.unknown_indices

    def unlabelled_rows(self) -> ndarray:
        """Return the rows of which no label is known."""
        return np.zeros(0, np.int64) if self.unlabelled is None else self.unlabelled

    @cached_property
    def labelset_hash(self) -> ndarray:
        """Return (n,) uint64 the hash of each row's set of positive labels.

        It is the sum of the labels' hashes, 0 for the empty set."""
        return labelset_hashes(self.label_indices, self.label_indptr)

    @cached_property
    def grades_hash(self) -> ndarray:
        """Return (n,) uint64 the hash of each row's labels and their grades.

        It is `labelset_hash` where all grades are 1."""
        if self.grades is None:
            return self.labelset_hash
        return labelset_hashes(self.label_indices, self.label_indptr, self.grades)

    @cached_property
    def complete(self) -> ndarray | None:
        """Return (n,) whether every label of the row is known, or None where all are."""
        if self.unknown_indptr is None and self.unlabelled is None:
            return None
        known = np.ones(self.n, bool)
        known[self.unknown_entries()[0]] = False
        known[self.unlabelled_rows()] = False
        return known

    def taken(self, rows: ndarray) -> Attributes:
        """Return the attributes of some of the rows, in the order of `rows`."""
        attributes = self.attributes()
        for name, value in attributes.items():
            if value is None:
                continue
            starts = ROW_ATTRIBUTES[name].starts
            if name == starts:
                attributes[name] = _starts(np.diff(value)[rows])
            elif starts is not None:
                indptr = getattr(self, starts)
                attributes[name] = value[runs(indptr[rows], indptr[rows + 1])]
            elif name == MARKS:
                mask = np.zeros(self.n, bool)
                mask[value] = True
                attributes[name] = np.flatnonzero(mask[rows])
            else:
                attributes[name] = value[rows]
        return attributes

    def without_labels(self, left_out: ndarray, q: int) -> Attributes:
        """Return the attributes without the labels `left_out` of q; the others are renumbered."""
        position = np.full(q, -1, np.int32)
        position[np.delete(np.arange(q), left_out)] = np.arange(q - len(left_out))
        attributes = self.attributes()
        for starts, labels in LABEL_LISTS.items():
            if attributes[starts] is None:
                continue
            attributes[labels] = position[attributes[labels]]
            stays = attributes[labels] >= 0
            before = np.concatenate([[0], np.cumsum(stays)])
            attributes[starts] = before[attributes[starts]].astype(np.int32)
            for name, attribute in ROW_ATTRIBUTES.items():
                if attribute.starts == starts != name and attributes[name] is not None:
                    attributes[name] = attributes[name][stays]
        if not np.size(attributes["unknown_indices"]):
            attributes["unknown_indptr"] = None
            attributes["unknown_indices"] = None
        if attributes["grades"] is not None and (attributes["grades"] == ONE).all():
            attributes["grades"] = None
        return attributes

    def attributes(self) -> Attributes:
        return {name: getattr(self, name) for name in ROW_ATTRIBUTES}

    def encoded(self) -> State:
        """Return the attributes that the rows have, by their keys among bytes."""
        return {
            ROW_ATTRIBUTES[name].key: value
            for name, value in self.attributes().items()
            if value is not None
        }


def decoded(state: State) -> Attributes:
    """Return the attributes that `LabelledRows.encoded` encoded."""
    return {name: state.get(attribute.key) for name, attribute in ROW_ATTRIBUTES.items()}


def joined(blocks: Sequence[LabelledRows]) -> Attributes:
    """Return the attributes of all rows of the blocks, in order."""
    attributes: Attributes = dict.fromkeys(ROW_ATTRIBUTES)
    for name, attribute in ROW_ATTRIBUTES.items():
        values = [getattr(block, name) for block in blocks]
        if all(value is None for value in values):
            continue
        if name == attribute.starts:  # lists are empty in blocks without
            lengths = [
                np.zeros(block.n, np.int32) if value is None else np.diff(value)
                for value, block in zip(values, blocks, strict=True)
            ]
            attributes[name] = _starts(np.concatenate(lengths))
            continue
        if name == MARKS:
            before = np.cumsum([0] + [block.n for block in blocks])
            values = [
                value + first
                for value, first in zip(values, before, strict=False)
                if value is not None
            ]
        elif attribute.starts is not None:
            dtype = next(value.dtype for value in values if value is not None)
            for number, block in enumerate(blocks):
                if values[number] is None:
                    indptr = getattr(block, attribute.starts)
                    count = 0 if indptr is None else indptr[-1]
                    values[number] = np.full(count, attribute.default, dtype)
        attributes[name] = np.concatenate(values)
    return attributes


def _starts(lengths: ndarray) -> ndarray:
    return np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)


class RowAttribute(NamedTuple):
    """How an attribute of rows is kept: its `key` among bytes.

    `starts`: the attribute that says where the list of each row begins, None for a value a row;
    `default`: the entries of blocks without it."""

    key: str
    starts: str | None = None
    default: int = 0


MARKS = "unlabelled"  # the numbers of some rows
LABEL_LISTS = {"label_indptr": "label_indices", "unknown_indptr": "unknown_indices"}
ROW_ATTRIBUTES = {
    "label_indptr": RowAttribute("lp", "label_indptr"),
    "label_indices": RowAttribute("li", "label_indptr"),
    "unknown_indptr": RowAttribute("up", "unknown_indptr"),
    "unknown_indices": RowAttribute("ui", "unknown_indptr"),
    MARKS: RowAttribute("ul"),
    "weights": RowAttribute("w"),
    "groups": RowAttribute("rg"),
    "grades": RowAttribute("g", "label_indptr", ONE),
}


@dataclass
class Block(LabelledRows):
    """Rows: `x` (n, d) dense or CSR, labels as CSR lists, `grades` (uint16) of `label_indices`
    where not all are 1."""

    x: Matrix
    ids: ndarray
    label_indptr: ndarray
    label_indices: ndarray
    unknown_indptr: ndarray | None = None
    unknown_indices: ndarray | None = None
    unlabelled: ndarray | None = None
    weights: ndarray | None = None
    groups: ndarray | None = None
    grades: ndarray | None = None

    @staticmethod
    def empty(d: int) -> Block:
        ids = np.zeros(0, np.int64)
        indptr = np.zeros(1, np.int32)
        return Block(np.zeros((0, d)), ids, indptr, np.zeros(0, np.int32))

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
        arrays = [x.data, x.indices, x.indptr] if sp.issparse(x) else [x]
        arrays.append(self.ids)
        arrays += [value for value in self.attributes().values() if value is not None]
        return sum(array.nbytes for array in arrays)

    def dense(self) -> ndarray:
        return self.x.toarray() if self.sparse else self.x

    def csr(self) -> sp.csr_matrix:
        return self.x if self.sparse else sp.csr_matrix(self.x)

    def labels(self, q: int) -> sp.csr_matrix:
        """Return (n, q) the 0/1 matrix of the positive labels, or of their grades, float64."""
        if self.grades is None:
            values = np.ones(len(self.label_indices))
        else:
            values = np.ldexp(self.grades.astype(np.float64), -BITS)
        return sp.csr_matrix((values, self.label_indices, self.label_indptr), shape=(self.n, q))

    def grade_units(self) -> ndarray:
        """Return (k,) int64 grades of the entries of `label_indices`, in units of 2⁻¹⁵."""
        if self.grades is None:
            return np.full(len(self.label_indices), ONE)
        return self.grades.astype(np.int64)

    def known(self) -> Block:
        """Return the rows whose labels are all known."""
        complete = self.complete
        return self if complete is None else self.take(np.flatnonzero(complete))

    def take(self, rows: ndarray) -> Block:
        """Return the block of some of the rows, in the order of `rows`."""
        return Block(self.x[rows], self.ids[rows], **self.taken(rows))

    def of_some_weight(self) -> Block:
        """Return the rows whose weight is above 0: others are none."""
        if self.weights is None or self.weights.all():
            return self
        return self.take(np.flatnonzero(self.weights))

    def part(self, first: int, last: int) -> Block:
        """Return the block of a run of rows; features are not copied."""
        x = self.x
        if not self.sparse:
            x = x[first:last]
        else:  # SciPy's own slice is a copy
            indptr = x.indptr[first : last + 1]
            cells = slice(indptr[0], indptr[-1])
            stored = (x.data[cells], x.indices[cells], indptr - indptr[0])
            x = sp.csr_matrix(stored, shape=(last - first, self.d), copy=False)
        return Block(x, self.ids[first:last], **self.taken(np.arange(first, last)))

    def parts(self, count: int) -> list[Block]:
        """Return the block cut into `count` runs of rows of about the same stored values."""
        if count < 2 or self.n < 2 * count:
            return [self]
        before = self.x.indptr if self.sparse else np.arange(self.n + 1)
        targets = np.linspace(0, before[-1], count + 1)
        cuts = [int(cut) for cut in np.searchsorted(before, targets[1:-1])]
        runs_of_rows = itertools.pairwise([0, *cuts, self.n])
        return [self.part(first, last) for first, last in runs_of_rows if last > first]

    def times(self, shift: ndarray) -> Block:
        """Return the block with feature j multiplied by 2^`shift`[j]."""
        x = self.x.astype(np.float64)
        if not self.sparse:
            return replace(self, x=np.ldexp(x, shift))
        x.data = np.ldexp(x.data, shift[x.indices])
        return replace(self, x=x)

    def encode(self) -> bytearray:
        return encode(
            {
                "x": self.x,
                "ids": self.ids,
                **self.encoded(),
            }
        )

    @staticmethod
    def decode(data: Buffer) -> Block:
        return Block.from_state(decode(data))

    @staticmethod
    def from_state(s: State) -> Block:
        return Block(s["x"], s["ids"], **decoded(s))


def concatenate(blocks: Sequence[Block]) -> Block:
    """Return one block of all rows, in the order of the blocks."""
    return join(list(blocks))


def join(blocks: list[Block]) -> Block:
    """Return the block of all rows, in order, which the list then holds instead.

    Each block is let go once it is copied."""
    if len(blocks) != 1:
        ids = np.concatenate([b.ids for b in blocks])
        attributes = joined(blocks)
        x = _sparse_rows(blocks) if any(b.sparse for b in blocks) else _dense_rows(blocks, len(ids))
        blocks.append(Block(x, ids, **attributes))
    return blocks[0]


def _dense_rows(blocks: list[Block], n: int) -> ndarray:
    widest = np.result_type(*{b.x.dtype for b in blocks})
    x = np.empty((n, blocks[0].d), widest)
    first = 0
    while blocks:
        part = blocks.pop(0).x
        x[first : first + len(part)] = part
        first += len(part)
    return x


def _sparse_rows(blocks: list[Block]) -> sp.csr_matrix:
    d = blocks[0].d
    widest = np.result_type(*{b.x.dtype for b in blocks})
    sizes = [int(b.x.nnz) if b.sparse else int(np.count_nonzero(b.x)) for b in blocks]
    total = sum(sizes)
    index = np.int32 if max(total, d) <= np.iinfo(np.int32).max else np.int64
    data = np.empty(total, widest)
    indices = np.empty(total, index)
    starts = [np.zeros(1, index)]
    first = 0
    for size in sizes:
        part = blocks.pop(0).csr()
        cells = slice(first, first + size)
        data[cells] = part.data
        indices[cells] = part.indices
        starts.append(part.indptr[1:].astype(index) + index(first))
        first += size
    rows = sum(map(len, starts)) - 1
    return sp.csr_matrix((data, indices, np.concatenate(starts)), shape=(rows, d), copy=False)


def in_order_of_ids(blocks: list[Block]) -> Block:
    """Return one block of all rows, in the order of their ids."""
    block = concatenate(blocks)
    return block.take(np.argsort(block.ids, kind="stable"))


# ---- entries (row, label, value), of Spark batches and of arrays alike, as label fields ----


class WrongRow(Exception):
    """A row cannot be used: the `message`, its place among the rows, the feature or None."""

    def __init__(self, message: str, row: int, slot: int | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.row = int(row)
        self.slot = slot


def wrong_entry(
    values: ndarray, grades: Grades | None, unknown: str = ""
) -> tuple[int, str] | None:
    """Return the position of the first value that is no label, and the message for it.

    A label is 0, 1 or unknown (NaN), or with `grades` a grade. The message ends with the words
    `unknown`: how to write an unknown label, and what else labels may be."""
    if grades is not None:
        wrong = grades.wrong(values)
    else:
        wrong = ~((values == 0) | (values == 1) | np.isnan(values))
    if not wrong.any():
        return None
    position = int(np.argmax(wrong))
    value = float(values.reshape(-1)[position])
    if grades is not None:
        return position, grades.why(value)
    return position, f"{value:g}; labels are 0, 1 or {unknown}"


def label_lists(
    n: int,
    rows: ndarray,
    labels: ndarray,
    values: ndarray | None = None,
    grades: Grades | None = None,
    unlabelled: ndarray | None = None,
) -> Attributes:
    """Return the label fields of a block of n rows from right entries.

    All are positive without `values`; with `grades` each occurs once."""
    unknown = None
    units = None
    if values is not None:
        absent = np.isnan(values)
        unknown = (rows[absent], labels[absent]) if absent.any() else None
        if grades is None:
            positive = values == 1
            rows = rows[positive]
            labels = labels[positive]
        else:
            known = ~absent
            rows, labels, units = grades.entries(rows[known], labels[known], values[known])
            order = np.lexsort((labels, rows))
            rows = rows[order]
            labels = labels[order]
            units = None if (units == ONE).all() else units[order].astype(np.uint16)
            unknown = grades.unknown(*unknown) if unknown else None
    indptr, indices = _csr_of_pairs(n, rows, labels)
    unknown_indptr, unknown_indices = _csr_of_pairs(n, *unknown) if unknown else (None, None)
    return {
        "label_indptr": indptr,
        "label_indices": indices,
        "grades": units,
        "unlabelled": unlabelled if unlabelled is not None and len(unlabelled) else None,
        "unknown_indptr": unknown_indptr,
        "unknown_indices": unknown_indices,
    }


def _csr_of_pairs(n: int, rows: ndarray, labels: ndarray) -> tuple[ndarray, ndarray]:
    """Return CSR (indptr, indices) of pairs (row, label), each row's labels ascending and once."""
    width = int(labels.max(initial=0)) + 1
    key = rows * width + labels
    ascending = key[1:] > key[:-1]
    if not ascending.all():
        rows, labels = np.divmod(np.unique(key), width)
    indptr = np.zeros(n + 1, np.int32)
    np.cumsum(np.bincount(rows, minlength=n), out=indptr[1:])
    return indptr, labels.astype(np.int32)
