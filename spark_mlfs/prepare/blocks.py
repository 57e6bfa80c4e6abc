"""Packing: rows of a DataFrame become blocks, once.

A block holds some thousands of instances as raw buffers in one binary cell: features as a dense matrix (in the narrowest of
uint8, float32, float64 that holds every value exactly) or CSR, label lists, row ids. The blocks are persisted; every statistic
reads them through ``mapInArrow``, which moves a buffer at memory speed where rows of vectors cost fifty times as much.

The same pass profiles the data: sizes, per-feature minimum, maximum and whether only 0 and 1 occur, label counts, and the first
thing that is wrong with them.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property
from math import comb
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..errors import DataError, ParameterError, worker_errors
from ..schema import attribute_names
from ..statistics.base import State, binary_array, decode, encode
from .labels import LabelSource, _vector_entries, label_source, read_labels

BLOCK_BYTES = 4 << 20
GROUPS = 60  # rows fall into 60 groups by the hash of their id: 60 divides into 2, 3, 4, 5, 6, 10, 12, 15, 20 and 30 folds
SMALL_SUMMARY = 1 << 16
THIN = 0.3  # share of a dense block's cells that are not zero, from which it counts as full
BLOCK_SCHEMA = "number bigint, block binary, summary binary"


def mix(ids: np.ndarray, seed: int = 0) -> np.ndarray:
    """SplitMix64 of (seed, row id) as uint64: the library's one source of randomness by row."""
    with np.errstate(over="ignore"):
        z = ids.astype(np.int64).view(np.uint64) + np.uint64((0x9E3779B97F4A7C15 * (seed + 1)) & (2**64 - 1))
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def group_of(ids: np.ndarray) -> np.ndarray:
    """The row's group in 0..59, from its id alone."""
    return (mix(ids, 0x5EED) % np.uint64(GROUPS)).astype(np.int64)


@dataclass(frozen=True)
class Spans:
    """How rows are put in an order that depends on their ids alone: `count` spans of consecutive groups, each sorted by row id
    and cut into chunks of `rows`. `count` divides 60."""

    count: int
    rows: int

    @staticmethod
    def of(profile: Profile, blocks: int = 1) -> Spans:
        """Spans of at least a thousand rows or so, their number a multiple of `blocks`; chunks of at most 8 MB of float64."""
        wanted = max(1, profile.n // 1024)
        fitting = [s for s in (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, GROUPS) if s % blocks == 0]
        count = next((s for s in fitting if s >= wanted), GROUPS)
        width = max(1, int(profile.d * max(profile.density, 0.05)) if profile.sparse else profile.d)
        return Spans(count, min(2048, max(128, (8 << 20) // (8 * width))))

    def number(self, ids: np.ndarray) -> np.ndarray:
        """The span of each row id."""
        return group_of(ids) * self.count // GROUPS

    def split(self, block: Block) -> Iterator[tuple[int, Block]]:
        """The rows of a block by span, each span sorted by row id."""
        span = self.number(block.ids)
        order = np.lexsort((block.ids, span))
        span = span[order]
        edges = np.flatnonzero(np.concatenate([[True], span[1:] != span[:-1], [True]]))
        for a, z in zip(edges[:-1], edges[1:], strict=True):
            yield int(span[a]), block.take(order[a:z])

    def chunks(self, span: Block) -> Iterator[Block]:
        """A whole sorted span in chunks of nearly equal size."""
        pieces = max(1, -(-span.n // self.rows))
        cuts = [span.n * i // pieces for i in range(pieces + 1)]
        for a, z in zip(cuts[:-1], cuts[1:], strict=True):
            yield span if pieces == 1 else span.part(a, z)


class LabelledRows:
    """What raw and coded blocks share: CSR lists of each row's positive and unknown labels, and rows without label
    information."""

    n: int
    label_indptr: np.ndarray
    label_indices: np.ndarray
    unknown_indptr: np.ndarray | None
    unknown_indices: np.ndarray | None
    unlabelled: np.ndarray | None

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
        """The five label fields of some of the rows, in the given order."""
        taken: list[np.ndarray | None] = []
        for indptr, indices in ((self.label_indptr, self.label_indices), (self.unknown_indptr, self.unknown_indices)):
            if indptr is None:
                taken += [None, None]
                continue
            width = int(indices.max(initial=0)) + 1
            picked = sp.csr_matrix((np.ones(len(indices), np.int8), indices, indptr), shape=(self.n, width))[rows]
            taken += [picked.indptr.astype(np.int32), picked.indices.astype(np.int32)]
        unlabelled = None
        if self.unlabelled is not None:
            mask = np.zeros(self.n, bool)
            mask[self.unlabelled] = True
            unlabelled = np.flatnonzero(mask[rows])
        return (*taken, unlabelled)


def concatenate_labels(blocks: list) -> tuple:
    """The five label fields of all rows of the blocks, in order."""
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
    return (*out, np.concatenate(unlabelled) if unlabelled else None)


@dataclass
class Block(LabelledRows):
    """Some rows. `x` is (n, d), dense or CSR; labels are CSR lists over the rows."""

    x: np.ndarray | sp.csr_matrix
    ids: np.ndarray
    label_indptr: np.ndarray
    label_indices: np.ndarray
    unknown_indptr: np.ndarray | None = None
    unknown_indices: np.ndarray | None = None
    unlabelled: np.ndarray | None = None

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
        return size + self.ids.nbytes + self.label_indices.nbytes + self.label_indptr.nbytes

    def dense(self) -> np.ndarray:
        """The features as a dense (n, d) matrix."""
        return self.x.toarray() if self.sparse else self.x

    def csr(self) -> sp.csr_matrix:
        """The features as CSR."""
        return self.x if self.sparse else sp.csr_matrix(self.x)

    def labels(self, q: int) -> sp.csr_matrix:
        """(n, q) 0/1 matrix of the positive labels, float64."""
        ones = np.ones(len(self.label_indices))
        return sp.csr_matrix((ones, self.label_indices, self.label_indptr), shape=(self.n, q))

    def unknown(self, q: int) -> sp.csr_matrix | None:
        """(n, q) 0/1 matrix of the unknown labels, or None where every label is known."""
        if self.unknown_indptr is None and self.unlabelled is None:
            return None
        if self.unknown_indptr is None:
            found = sp.csr_matrix((self.n, q))
        else:
            ones = np.ones(len(self.unknown_indices))
            found = sp.csr_matrix((ones, self.unknown_indices, self.unknown_indptr), shape=(self.n, q))
        if self.unlabelled is not None and len(self.unlabelled):
            rows = np.repeat(self.unlabelled, q)
            columns = np.tile(np.arange(q), len(self.unlabelled))
            found = found + sp.csr_matrix((np.ones(len(rows)), (rows, columns)), shape=(self.n, q))
        return found.tocsr()

    def known(self) -> Block:
        """The rows whose labels are all known."""
        complete = self.complete
        return self if complete is None else self.take(np.flatnonzero(complete))

    def take(self, rows: np.ndarray) -> Block:
        """The block of some of the rows, in the given order."""
        return Block(self.x[rows], self.ids[rows], *self.take_labels(rows))

    def part(self, first: int, last: int) -> Block:
        """The block of a run of rows; dense features are not copied."""
        rows = np.arange(first, last)
        return Block(self.x[first:last], self.ids[first:last], *self.take_labels(rows))

    def encode(self) -> bytearray:
        state: State = {"x": self.x, "ids": self.ids, "lp": self.label_indptr, "li": self.label_indices}
        optional = {"up": self.unknown_indptr, "ui": self.unknown_indices, "ul": self.unlabelled}
        return encode(state | {name: value for name, value in optional.items() if value is not None})

    @staticmethod
    def decode(data: Any) -> Block:
        return Block.from_state(decode(data))

    @staticmethod
    def from_state(s: State) -> Block:
        return Block(s["x"], s["ids"], s["lp"], s["li"], s.get("up"), s.get("ui"), s.get("ul"))


def concatenate(blocks: list[Block]) -> Block:
    """One block of all rows, in the given order."""
    if len(blocks) == 1:
        return blocks[0]
    if all(b.sparse for b in blocks):
        x: Any = sp.vstack([b.x for b in blocks], format="csr")
    elif any(b.sparse for b in blocks):
        x = sp.vstack([b.csr() for b in blocks], format="csr")
    else:
        x = np.concatenate([b.x for b in blocks])  # promotes to the widest type among them
    return Block(x, np.concatenate([b.ids for b in blocks]), *concatenate_labels(blocks))


@dataclass
class Profile:
    """What one pass tells about the data. Merges by `merge`; the merge does not depend on the order.

    n rows, d features, q labels; `low`, `high` (d,) and `binary` (d,) whether a feature holds only 0 and 1; `nonzero` stored
    entries; `positive`, `unknown` (q,) rows per label; `unlabelled` rows with a null label cell; `size` bytes of the blocks;
    `fingerprint` sum of the rows' 64-bit hashes; `problem` the first thing wrong, as (what, row id, feature or None); `named_ids`
    whether the row ids come from a column of the user's.

    What states can grow to follows from upper bounds: `stored` (d,) rows in which a feature is not zero; `widest` features that
    are not zero in one row, `most_labels` and `most_unknown` labels of one row; `met` and `met_unknown` Σ over rows of features
    that are not zero times (unknown) labels, `unlabelled_stored` of the former in rows with a null label cell. A dense block
    counts as full. `labelsets` distinct ones of the rows whose labels are all known, once they have been counted (0: not yet).
    """

    n: int = 0
    d: int = 0
    q: int = 0
    low: np.ndarray = field(default_factory=lambda: np.zeros(0))
    high: np.ndarray = field(default_factory=lambda: np.zeros(0))
    binary: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    nonzero: int = 0
    positive: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    unknown: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    unlabelled: int = 0
    labelled: int = 0
    size: int = 0
    partitions: int = 0
    sparse: bool = False
    fingerprint: int = 0
    problem: tuple | None = None
    named_ids: bool = False
    stored: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    widest: int = 0
    most_labels: int = 0
    most_unknown: int = 0
    met: int = 0
    met_unknown: int = 0
    unlabelled_stored: int = 0
    labelsets: int = 0

    @cached_property
    def varying(self) -> np.ndarray:
        """Indices of the features that are not constant."""
        return np.flatnonzero(self.high > self.low)

    def only(self, features: np.ndarray) -> Profile:
        """The same rows, of which every statistic reads the given features only: ascending indices of varying ones."""
        out = replace(self)
        out.__dict__["varying"] = np.asarray(features)
        return out

    @property
    def density(self) -> float:
        """Share of the cells that are not zero."""
        return self.nonzero / max(1, self.n * self.d)

    @property
    def observed(self) -> np.ndarray:
        """(q,) rows in which the label is known."""
        return self.n - self.unlabelled - self.unknown

    @property
    def has_unknown(self) -> bool:
        return bool(self.unlabelled or self.unknown.any())

    @property
    def most_labelsets(self) -> int:
        """How many distinct labelsets the rows whose labels are all known have at most."""
        if self.labelsets:
            return self.labelsets
        sets = 0
        for size in range(min(self.q, self.most_labels) + 1):
            sets += comb(self.q, size)
            if sets > self.labelled:
                return min(self.n, self.labelled + 1)  # one more has no label
        return min(self.n, sets)

    def rows_bytes(self, rows: int) -> int:
        """How many bytes so many rows have as blocks at most, headers and alignment of a block aside."""
        features = 12 * min(self.widest, self.d) + 4 if self.sparse else 8 * self.d
        unknown = 4 * self.most_unknown + 4 + (8 if self.unlabelled else 0)
        return min(rows, self.n) * (features + 8 + 4 * self.most_labels + 4 + unknown)

    def merge(self, other: Profile) -> Profile:
        if not other.n:
            return self if self.n or not other.problem else other
        if not self.n:
            return other
        problem = min((p for p in (self.problem, other.problem) if p), key=lambda p: p[1], default=None)
        if self.d != other.d:  # a part that could not be read has d = 0 and says why
            problem = problem or (f"feature vectors of size {self.d} and of size {other.d}", -1, None)
            return Profile(n=self.n + other.n, problem=problem)
        q = max(self.q, other.q)

        def longer(a: np.ndarray) -> np.ndarray:
            return np.pad(a, (0, q - len(a)))

        return Profile(
            self.n + other.n,
            self.d,
            q,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.binary & other.binary,
            self.nonzero + other.nonzero,
            longer(self.positive) + longer(other.positive),
            longer(self.unknown) + longer(other.unknown),
            self.unlabelled + other.unlabelled,
            self.labelled + other.labelled,
            self.size + other.size,
            self.partitions + other.partitions,
            self.sparse or other.sparse,
            (self.fingerprint + other.fingerprint) & (2**64 - 1),
            problem,
            self.named_ids or other.named_ids,
            self.stored + other.stored,
            max(self.widest, other.widest),
            max(self.most_labels, other.most_labels),
            max(self.most_unknown, other.most_unknown),
            self.met + other.met,
            self.met_unknown + other.met_unknown,
            self.unlabelled_stored + other.unlabelled_stored,
        )

    def encode(self) -> bytearray:
        return encode({k: v for k, v in vars(self).items() if k != "varying"})

    @staticmethod
    def decode(data: Any) -> Profile:
        found = decode(data)
        found["problem"] = tuple(found["problem"]) if found["problem"] else None
        return Profile(**found)


def profile_block(block: Block, width: int) -> Profile:
    """The profile of one block whose rows tell `width` labels (0: not told)."""
    x, d = block.x, block.d
    if block.sparse:
        columns = x.tocsc()
        low, high, binary = np.zeros(d), np.zeros(d), np.ones(d, bool)
        counts = np.diff(columns.indptr)
        filled = np.flatnonzero(counts)
        if len(filled):
            starts = columns.indptr[filled]
            low[filled] = np.minimum.reduceat(columns.data, starts)
            high[filled] = np.maximum.reduceat(columns.data, starts)
            binary[filled] = np.logical_and.reduceat((columns.data == 1) | (columns.data == 0), starts)
            partial = filled[counts[filled] < block.n]  # the zeros that are not stored count too
            low[partial] = np.minimum(low[partial], 0)
            high[partial] = np.maximum(high[partial], 0)
        nonzero = int(np.count_nonzero(x.data))
        stored, in_row = counts.astype(np.int64), np.diff(x.indptr).astype(np.int64)
    else:
        low, high = x.min(axis=0).astype(float), x.max(axis=0).astype(float)
        binary = (low >= 0) & (high <= 1)
        if x.dtype == np.uint8:
            binary &= high <= 1
        else:
            some = np.flatnonzero(binary & (((low != 0) & (low != 1)) | ((high != 0) & (high != 1))))
            binary[some] = False
            some = np.flatnonzero(binary)
            if len(some):
                part = x[:, some] if len(some) < d else x
                binary[some] = ((part == 0) | (part == 1)).all(axis=0)
        nonzero = int(np.count_nonzero(x))
        if nonzero < THIN * x.size:
            filled = x != 0
            stored, in_row = filled.sum(axis=0), filled.sum(axis=1)
        else:  # told exactly only where it can matter: dense rows are counted in full tables
            stored, in_row = np.full(d, block.n, np.int64), np.full(block.n, d, np.int64)
    labels = np.diff(block.label_indptr)
    unknown_labels = np.zeros(1, np.int64) if block.unknown_indptr is None else np.diff(block.unknown_indptr)
    q = max(width, int(block.label_indices.max(initial=-1)) + 1)
    unknown = np.zeros(q, np.int64)
    if block.unknown_indices is not None:
        unknown = np.bincount(block.unknown_indices, minlength=q).astype(np.int64)
    return Profile(
        block.n,
        d,
        q,
        low,
        high,
        binary,
        nonzero,
        np.bincount(block.label_indices, minlength=q).astype(np.int64),
        unknown,
        0 if block.unlabelled is None else len(block.unlabelled),
        int(np.count_nonzero(np.diff(block.label_indptr))),
        block.nbytes,
        0,
        block.sparse,
        stored=stored,
        widest=int(in_row.max(initial=0)),
        most_labels=int(labels.max(initial=0)),
        most_unknown=int(unknown_labels.max(initial=0)),
        met=int(in_row @ labels),
        met_unknown=0 if block.unknown_indptr is None else int(in_row @ unknown_labels),
        unlabelled_stored=0 if block.unlabelled is None else int(in_row[block.unlabelled].sum()),
    )


@dataclass(frozen=True)
class Pack:
    """Arrow batches of (x, y, i, h) to blocks, numbered within the partition; the last row carries the partition's profile."""

    source: LabelSource
    vectors: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        total, number = Profile(partitions=1), 0
        for batch in batches:
            if batch.num_rows:
                for block, profile in self.blocks(batch):
                    # counted once a partition; an empty partition is none
                    total = profile if not total.n and not total.problem else total.merge(profile)
                    if block.n:
                        yield block_row(number, block.encode(), None)
                        number += 1
        if total.n or total.problem:
            total.partitions = 1
            yield block_row(number, None, total.encode())

    def blocks(self, batch: pa.RecordBatch) -> Iterator[tuple[Block, Profile]]:
        ids = batch.column(2).to_numpy(zero_copy_only=False)
        x, problem = read_features(batch.column(0), self.vectors)
        if problem is not None:
            what, row, slot = problem
            yield _nothing(), Profile(n=len(ids), problem=(what, int(ids[row]), slot))
            return
        labels = read_labels(batch.column(1), self.source)
        block = Block(x, ids, labels.indptr, labels.indices, labels.unknown_indptr, labels.unknown_indices, labels.unlabelled)
        pieces = max(1, -(-block.nbytes // BLOCK_BYTES))
        cuts = np.linspace(0, block.n, min(pieces, block.n) + 1).astype(int)
        for a, z in zip(cuts[:-1], cuts[1:], strict=True):
            piece = block if len(cuts) == 2 else block.part(a, z)
            profile = profile_block(piece, labels.width)
            hashes = batch.column(3).to_numpy(zero_copy_only=False)[a:z].astype(np.int64).view(np.uint64)
            with np.errstate(over="ignore"):
                profile.fingerprint = int(hashes.sum(dtype=np.uint64))
            if labels.problem is not None:
                what, row = labels.problem
                profile.problem = (what, int(ids[row]), None)
            yield piece, profile


def _nothing() -> Block:
    return Block(np.zeros((0, 0)), np.zeros(0, np.int64), np.zeros(1, np.int32), np.zeros(0, np.int32))


def block_row(number: int, block: bytes | None, summary: bytes | None) -> pa.RecordBatch:
    """A row of a packed frame: the number of the block within its partition, and the block, or the partition's profile."""
    return pa.RecordBatch.from_arrays(
        [pa.array([number], pa.int64()), binary_array(block), binary_array(summary)],
        names=["number", "block", "summary"],
    )


def read_features(column: pa.Array, vectors: bool, narrow: bool = True) -> tuple[Any, tuple[str, int, int | None] | None]:
    """The feature cells as a dense matrix or CSR, float64 or as narrow as holds them, or what is wrong with them as (what, row,
    slot)."""
    if column.null_count:
        row = int(np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))[0])
        return None, ("its feature cell is null; fill or drop such rows", row, None)
    rows = len(column)
    if vectors:
        kind, _, _, values = column.flatten()
        kinds = kind.to_numpy(zero_copy_only=False)
        if not kinds.all():  # some sparse row
            positions, slots, flat, width, problem = _vector_entries(column)
            if problem is not None:
                what, row = problem
                return None, (what.replace("label", "feature"), row, None)
            bad = ~np.isfinite(flat)
            if bad.any():
                at = int(np.flatnonzero(bad)[0])
                return None, (_not_finite(flat[at]), int(positions[at]), int(slots[at]))
            keep = flat != 0
            indptr = np.zeros(rows + 1, np.int64)
            np.cumsum(np.bincount(positions[keep], minlength=rows), out=indptr[1:])
            data = _narrow(flat[keep]) if narrow else flat[keep]
            return sp.csr_matrix((data, slots[keep].astype(np.int32), indptr.astype(np.int32)), shape=(rows, width)), None
        lists = values
    else:
        lists = column
    lengths = np.diff(np.asarray(lists.offsets, np.int64))
    width = int(lengths[0])
    if (lengths != width).any():
        row = int(np.flatnonzero(lengths != width)[0])
        return None, (f"its feature vector has size {lengths[row]} where others have {width}", row, None)
    flat = lists.flatten()
    if flat.null_count:
        at = int(np.flatnonzero(flat.is_null().to_numpy(zero_copy_only=False))[0])
        return None, (_not_finite(np.nan), at // width, at % width)
    x = flat.to_numpy(zero_copy_only=False).reshape(rows, width)
    if not np.isfinite(x.sum()):  # cheap: the sum is finite when every entry is (overflow aside)
        bad = np.flatnonzero(~np.isfinite(x.reshape(-1)))
        if len(bad):
            return None, (_not_finite(x.reshape(-1)[bad[0]]), int(bad[0]) // width, int(bad[0]) % width)
    return _narrow(x) if narrow else np.asarray(x, np.float64), None


def _not_finite(value: float) -> str:
    if np.isnan(value):
        return "is missing (NaN or null); fill it first (the readers take missing='mean', 'zero' or 'drop')"
    return f"is {value:g}; features must be finite numbers"


def _narrow(x: np.ndarray) -> np.ndarray:
    """`x` in the narrowest of uint8, float32 and float64 that holds every value exactly."""
    probe = x.reshape(-1)[:4096]
    with np.errstate(invalid="ignore", over="ignore"):
        for dtype in (np.uint8, np.float32):
            if (probe.astype(dtype) == probe).all():
                narrow = x.astype(dtype)
                if (narrow == x).all():
                    return narrow
    return np.ascontiguousarray(x, np.float64)


@dataclass
class Packed:
    """The packed data: the persisted frame of blocks, its profile, and the names. `release` gives the memory back.

    `source` the frame that was packed, its id column, and the expression that made ids of it; None where the ids are hashes of
    the rows' content. `unique` whether no two rows share an id, `memo` what `prepare.identity.identified` worked out.
    """

    frame: DataFrame
    profile: Profile
    feature_names: list[str]
    label_names: list[str]
    named: bool  # whether the features' names came with the data
    persisted: bool
    jobs: int
    source: tuple[DataFrame, str, Column] | None = None
    unique: bool = False
    memo: list[tuple[DataFrame, bool, int]] = field(default_factory=list, repr=False)

    def release(self) -> None:
        if self.persisted:
            self.frame.unpersist()
        for frame, persisted, _ in self.memo:
            if persisted:
                frame.unpersist()
        self.memo.clear()


def persist(frame: DataFrame) -> bool:
    """Persist where the platform allows it (Databricks serverless does not); says whether it did."""
    try:
        frame.persist()
        return True
    except Exception as error:  # the platform's own message: anything else must not be hidden
        if "PERSIST" in str(error).upper() and "SUPPORT" in str(error).upper():
            return False
        raise


def pack(
    frame: DataFrame,
    features: str = "features",
    labels: str = "labels",
    row_id: str | None = None,
    labels_form: str = "auto",
) -> Packed:
    """Pack and profile `frame` in one job (one more for tag vocabularies and undecided ``array<int>`` labels).

    Raises `ParameterError` for a column that is absent or of the wrong type, `DataError` for values that cannot be used,
    naming the row id and the feature.
    """
    for column in filter(None, (features, labels, row_id)):
        if column not in frame.columns:
            from difflib import get_close_matches

            near = get_close_matches(column, frame.columns, n=1)
            hint = f"did you mean {near[0]!r}? " if near else ""
            raise ParameterError(f"there is no column {column!r}; {hint}the columns are {', '.join(frame.columns)}")
    kind = frame.schema[features].dataType
    vectors = isinstance(kind, VectorUDT)
    if not vectors and not (isinstance(kind, T.ArrayType) and isinstance(kind.elementType, T.NumericType)):
        raise ParameterError(
            f"features column {features!r} is {kind.simpleString()}; give a vector or an array of numbers "
            "(pyspark.ml.feature.VectorAssembler makes one of numeric columns)"
        )
    source, label_column = label_source(frame, labels, labels_form)
    jobs = 1 + (source.kind == "tags") + (source.kind in ("ids", "multihot") and labels_form == "auto")
    x = F.col(features) if vectors else F.col(features).cast("array<double>")
    fingerprint = F.xxhash64(F.col(features), F.col(labels))
    if row_id is None:
        identity = fingerprint
    else:
        whole = isinstance(frame.schema[row_id].dataType, T.IntegralType)
        identity = F.coalesce(F.col(row_id).cast("bigint") if whole else F.xxhash64(F.col(row_id)), F.lit(0))
    rows = frame.select(x.alias("x"), label_column.alias("y"), identity.alias("i"), fingerprint.alias("h"))
    blocks = rows.mapInArrow(Pack(source, vectors), BLOCK_SCHEMA)
    persisted = persist(blocks)
    summaries = blocks.where("summary is not null").select(
        F.length("summary").alias("size"),
        F.when(F.length("summary") <= SMALL_SUMMARY, F.col("summary")).alias("summary"),
    )
    with worker_errors():
        found = summaries.collect()
        if any(row.summary is None for row in found):
            jobs += 1
            profile = _collect_wide(blocks, sum(row.size for row in found))
        else:
            profile = _merge([bytes(row.summary) for row in found])
    names = attribute_names(frame, features) if vectors else None
    profile.named_ids = row_id is not None
    origin = None if row_id is None else (frame, row_id, identity)
    packed = Packed(blocks, profile, names or [], list(source.names or []), names is not None, persisted, jobs, origin)
    try:
        _refuse(packed, features, labels)
    except DataError:
        packed.release()
        raise
    return packed


def _merge(summaries: list[bytes]) -> Profile:
    profile = Profile()
    for summary in summaries:
        profile = profile.merge(Profile.decode(summary))
    return profile


def _collect_wide(blocks: DataFrame, size: int, limit: int = 256 << 20) -> Profile:
    """Wide profiles: straight to the driver while they fit, else merged pairwise on the executors first."""
    rows = blocks.where("summary is not null").select("summary")
    if size > limit:
        rows = rows.repartition(max(2, int((size / limit) ** 0.5) + 1)).mapInArrow(_merge_batches, "summary binary")
    return _merge([bytes(row.summary) for row in rows.collect()])


def _merge_batches(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    profile = Profile()
    for batch in batches:
        profile = profile.merge(_merge([value.as_py() for value in batch.column(0)]))
    if profile.n:
        yield pa.RecordBatch.from_arrays([binary_array(profile.encode())], names=["summary"])


def _refuse(packed: Packed, features: str, labels: str) -> None:
    """Fill in the names, and raise what is wrong with the data."""
    p = packed.profile
    if p.problem is not None:
        what, row, slot = p.problem
        named = packed.feature_names
        where = "" if row == -1 else f"row {row}: "
        if slot is not None:
            where += f"feature {named[slot] if slot < len(named) else slot} "
        raise DataError(f"{where}{what}")
    if p.n == 0:
        raise DataError("the data have no rows; check the path and the filters before this step")
    if p.n == 1:
        raise DataError("the data have one row; nothing varies, so nothing can be ranked: give at least two")
    if p.d == 0:
        raise DataError(f"the vectors in {features!r} have no entries; give at least one feature")
    if packed.label_names and p.q > len(packed.label_names):
        raise DataError(f"label number {p.q - 1} occurs but the metadata of {labels!r} names {len(packed.label_names)} labels")
    q = max(p.q, len(packed.label_names))
    if q > p.q:
        p.positive, p.unknown, p.q = np.pad(p.positive, (0, q - p.q)), np.pad(p.unknown, (0, q - p.q)), q
    if not p.positive.any():
        raise DataError(f"no row has a label in {labels!r}; check the column and the labels' coding")
    if not ((p.positive > 0) & (p.positive < p.observed)).any():
        raise DataError(f"no label in {labels!r} takes both values; a ranking needs positive and negative rows")
    if not len(p.varying):
        raise DataError(f"every feature in {features!r} is constant; there is nothing to rank")
    if not packed.feature_names:
        packed.feature_names = [f"{features}_{index}" for index in range(p.d)]
    if len(packed.feature_names) != p.d:
        raise DataError(f"the metadata of {features!r} names {len(packed.feature_names)} features, its vectors have {p.d}")
    if not packed.label_names:
        packed.label_names = [f"{labels}_{index}" for index in range(p.q)]
    for column, names in ((features, packed.feature_names), (labels, packed.label_names)):
        if len(set(names)) < len(names):
            twice = next(name for index, name in enumerate(names) if name in set(names[:index]))
            raise DataError(f"two entries of {column!r} are both named {twice!r}; rename one, names identify a selection")
