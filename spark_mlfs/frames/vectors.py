"""Batches of vectors as NumPy arrays, to and from the Arrow form of ``VectorUDT``, rows at once.

A ``VectorUDT`` column travels as ``struct<type:int8, size:int32, indices:list<int32>,
values:list<double>>``: type 0 is sparse, type 1 is dense and then has neither size nor indices."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from numpy import ndarray

from ..errors import DataError
from ..lazy import Column, DataFrame, F, T
from .frame import CANONICAL, Batches
from .stages import LastStage, mapped


def canonical(frame: DataFrame, function: Callable[[Batches], Batches]) -> DataFrame:
    """Return the canonical frame of what `function` makes of the batches of another."""
    stage = LastStage(function, frame.columns)
    rows: DataFrame = mapped(frame, stage, CANONICAL, never_null=[*CANONICAL])
    return rows


def canonical_batch(ids: ndarray, features: Vectors, labels: Vectors) -> pa.RecordBatch:
    """Return rows of the canonical frame."""
    cells = [pa.array(ids), features.to_arrow(), labels.to_arrow()]
    return pa.RecordBatch.from_arrays(cells, [*CANONICAL])


SPARSE = 0  # the struct's `type` of a sparse vector; 1 of a dense one
_INT32_MAX = 2**31 - 1


def sparse_cell(indices: Column, entries: Column, width: int) -> Column:
    """Return a sparse vector of its parts."""
    from pyspark.ml.linalg import VectorUDT

    kind = F.lit(SPARSE).cast("tinyint")
    cell = F.struct(
        kind.alias("type"),
        F.lit(width).alias("size"),
        indices.alias("indices"),
        entries.alias("values"),
    )
    # no expression makes a sparse vector of its parts but the reader of JSON, which gives every
    # double its bits back
    text = F.to_json(F.struct(cell.alias("v")))
    schema = T.StructType([T.StructField("v", VectorUDT())])
    return F.from_json(text, schema)["v"]


@dataclass
class Vectors:
    """n vectors of `size` slots: `dense` flags, `lengths`, `indices` and `values` row by row.

    Dense rows have indices, too; `null` marks rows without a vector."""

    size: int
    dense: ndarray
    lengths: ndarray
    indices: ndarray
    values: ndarray
    null: ndarray | None = None

    def __len__(self) -> int:
        return len(self.lengths)

    @property
    def rows(self) -> ndarray:
        """Return the row position of every stored value."""
        return np.repeat(np.arange(len(self)), self.lengths)

    def take(self, rows: ndarray) -> Vectors:
        """Return the vectors of some rows, in that order."""
        lengths = self.lengths[rows]
        starts = np.cumsum(self.lengths) - self.lengths
        stored = np.repeat(starts[rows], lengths) + within(lengths)
        null = None if self.null is None else self.null[rows]
        return Vectors(
            self.size,
            self.dense[rows],
            lengths,
            self.indices[stored],
            self.values[stored],
            null,
        )

    def entries(self, places: ndarray, fill: ndarray | None = None) -> Vectors:
        """Return the entries `places` of every vector, in that order.

        `fill` has the values of missing ones."""
        if self.dense.all() and (self.lengths == self.size).all():
            x = self.values.reshape(len(self), self.size)[:, places]
            if fill is not None:
                x = np.where(np.isnan(x), fill, x)
            return dense(x)
        slot_of = np.full(self.size, -1, np.int64)
        slot_of[places] = np.arange(len(places))
        slots = slot_of[self.indices]
        stored = np.flatnonzero(slots >= 0)
        rows = self.rows[stored]
        slots = slots[stored]
        values = self.values[stored]
        if len(places) > 1 and (np.diff(places) < 0).any():
            order = np.lexsort((slots, rows))
            slots = slots[order]
            values = values[order]
        if fill is not None:
            values = np.where(np.isnan(values), fill[slots], values)
        lengths = np.bincount(rows, minlength=len(self))
        return Vectors(
            len(places),
            self.dense,
            lengths,
            slots.astype(np.int32),
            values,
            self.null,
        )

    def toarray(self) -> ndarray:
        out = np.zeros((len(self), self.size))
        out[self.rows, self.indices] = self.values
        return out

    def to_arrow(self) -> pa.StructArray:
        dense = self.dense
        indices = self.indices
        if dense.all():
            indices = indices[:0]
        elif dense.any():
            indices = indices[np.repeat(~dense, self.lengths)]
        slots = pa.array(indices.astype(np.int32, copy=False))
        values = pa.array(self.values.astype(np.float64, copy=False))
        fields = [
            pa.array(dense.astype(np.int8)),
            pa.array(np.full(len(self), self.size, np.int32), mask=dense),
            lists_of(np.where(dense, 0, self.lengths), slots, pa.array(dense)),
            lists_of(self.lengths, values),
        ]
        mask = None if self.null is None or not self.null.any() else pa.array(self.null)
        return pa.StructArray.from_arrays(fields, ["type", "size", "indices", "values"], mask=mask)


def lists_of(lengths: ndarray, values: pa.Array, nulls: pa.Array | None = None) -> pa.ListArray:
    """Return lists of these lengths, but for `nulls`."""
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    if offsets[-1] > _INT32_MAX:
        raise OverflowError(
            "an Arrow batch holds more than 2^31 values: lower "
            "spark.sql.execution.arrow.maxRecordsPerBatch"
        )
    return pa.ListArray.from_arrays(pa.array(offsets.astype(np.int32)), values, mask=nulls)


def lengths_of(lists: pa.Array) -> ndarray:
    """Return the lengths (n,) int64 of lists, 0 of null."""
    return np.asarray(lists.value_lengths().fill_null(0)).astype(np.int64)


def dense(matrix: ndarray) -> Vectors:
    """Return every row of an n×d matrix as a dense vector."""
    n, size = matrix.shape
    indices = np.tile(np.arange(size, dtype=np.int32), n)
    values = np.ascontiguousarray(matrix, np.float64).ravel()
    return Vectors(
        size,
        np.ones(n, bool),
        np.full(n, size),
        indices,
        values,
    )


def sparse(
    n: int,
    size: int,
    rows: ndarray,
    indices: ndarray,
    values: ndarray,
) -> Vectors:
    """Return n sparse vectors from (row, index, value) triples in any order.

    Zeros are not stored, NaN is."""
    stored = values != 0
    if not stored.all():
        rows = rows[stored]
        indices = indices[stored]
        values = values[stored]
    key = rows.astype(np.int64) * size + indices
    in_order = key[1:] > key[:-1]
    if not in_order.all():
        order = np.argsort(key, kind="stable")
        rows = rows[order]
        indices = indices[order]
        values = values[order]
    return Vectors(
        size,
        np.zeros(n, bool),
        np.bincount(rows, minlength=n),
        indices,
        values,
    )


def sparse_from_matrix(matrix: ndarray) -> Vectors:
    """Return the rows of an n×d matrix as sparse vectors."""
    n, size = matrix.shape
    rows, indices = np.nonzero(matrix)
    return sparse(
        n,
        size,
        rows,
        indices,
        matrix[rows, indices],
    )


def merge(rows: Sequence[ndarray], parts: Sequence[Vectors]) -> Vectors:
    """Return one batch out of several, each with the row positions it fills."""
    if len(parts) == 1:
        return parts[0]
    merged = Vectors(
        parts[0].size,
        np.concatenate([part.dense for part in parts]),
        np.concatenate([part.lengths for part in parts]),
        np.concatenate([part.indices for part in parts]),
        np.concatenate([part.values for part in parts]),
    )
    return merged.take(np.argsort(np.concatenate(rows)))


def from_arrow(column: pa.Array, width: int | None = None) -> Vectors:
    """Return a received ``VectorUDT`` column, as wide as its widest.

    Raises `DataError` for a vector of another than `width` entries."""
    vectors, sizes = vectors_and_sizes(column)
    sizes = sizes[np.asarray(column.is_valid())]
    other = sizes[sizes != width] if width is not None else sizes[:0]
    if len(other):
        raise DataError(other_length("a vector", other[0], width))
    vectors.size = int(sizes.max()) if len(sizes) else width or 0
    return vectors


def other_length(cell: str, size: object, width: int | None) -> str:
    """Return the message on a cell of another length than the rows of the fit had."""
    return f"{cell} has {size} entries, the selection was fitted on {width}: give the same features"


def vectors_and_sizes(column: pa.StructArray) -> tuple[Vectors, ndarray]:
    """Return a received column of vectors, whose size is not looked at, and the size of each."""
    kind, size, indices, values = column.flatten()
    dense = np.asarray(kind.fill_null(1)) == 1
    lengths = lengths_of(values)
    slots = within(lengths).astype(np.int32)
    if not dense.all():
        slots[np.repeat(~dense, lengths)] = indices.flatten().to_numpy(zero_copy_only=False)
    flat = values.flatten().to_numpy(zero_copy_only=False)
    sizes = np.where(dense, lengths, np.asarray(size.fill_null(0)))
    return Vectors(
        0,
        dense,
        lengths,
        slots,
        flat,
        np.asarray(column.is_null()),
    ), sizes


def raw_bytes(texts: pa.Array) -> tuple[ndarray, ndarray]:
    """Return the bytes of a column of texts, not copied, and (n + 1,) where each text's begin."""
    _, offsets, data = texts.buffers()
    large = pa.types.is_large_string(texts.type)
    kind = np.dtype("int64") if large else np.dtype("int32")
    content = np.frombuffer(data, np.uint8) if data is not None else np.empty(0, np.uint8)
    if offsets is None or not len(texts):
        return content[:0], np.zeros(1, kind)
    bounds = np.frombuffer(offsets, kind, len(texts) + 1, kind.itemsize * texts.offset)
    return content[bounds[0] : bounds[-1]], bounds - bounds[0]


def texts_of(bounds: ndarray, content: Any) -> pa.Array:
    """Return the texts that begin at the `bounds` (n + 1,) int64 of bytes, not copied."""
    buffers = pa.py_buffer(bounds), pa.py_buffer(content)
    return pa.LargeStringArray.from_buffers(len(bounds) - 1, *buffers)


def within(lengths: ndarray) -> ndarray:
    """Return the place of each entry of lists of these lengths within its list."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)
