"""Hashes of the cells of rows, as Spark's ``xxhash64`` has them: ids of rows that bring none."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pyarrow as pa
from numpy import ndarray

from ..frames import vectors
from ..frames.frame import Kind, Kinds, NeedsSpark
from ..frames.parquet import VECTOR, kind_of_arrow
from ..kernels import xxhash

_SMALL = ("tinyint", "smallint", "int", "date", "boolean")
_LONG_DIGITS = 18  # of a decimal, up to which Spark hashes it as a whole number


def hash_of_rows(
    batch: pa.RecordBatch,
    names: Sequence[str],
    kinds: Kinds,
    nulls: bool = False,
) -> pa.Array:
    """Return the hash of every row's cells of some columns, over which nulls are passed.

    With `nulls` also of which cells are null."""
    h = np.full(batch.num_rows, xxhash.SEED, np.uint64)
    for name in names:
        _fold(h, batch[name], kinds[name])
    if nulls:
        for name in names:
            xxhash.fold(h, np.asarray(batch[name].is_null()), None, xxhash.of_ints)
    return pa.array(h.view(np.int64))


def is_hashed(kind: Kind) -> bool:
    """Return whether cells of a type are hashed here."""
    if kind.element is not None:
        return is_hashed(kind.element)
    simple = kind.text or kind.number or kind.date or kind.vector
    return simple or kind.name in ("binary", "void")


def _fold(h: ndarray, column: pa.Array, kind: Kind) -> None:
    """Fold a column's cells into the hashes of rows."""
    valid = None if not column.null_count else np.asarray(column.is_valid())
    if kind.vector:
        names = ("type", "size", "indices", "values")
        for name, field in zip(names, column.flatten(), strict=True):
            _fold(h, field, kind_of_arrow(VECTOR.field(name).type))
    elif kind.element is not None:
        _fold_lists(h, column, kind.element)
    elif kind.text or kind.name == "binary":
        _fold_bytes(h, column, valid)
    elif kind.name in ("float", "double"):
        values = column.fill_null(0.0).to_numpy(zero_copy_only=False)
        of_values = xxhash.of_doubles if kind.name == "double" else xxhash.of_floats
        xxhash.fold(h, values, valid, of_values)
    elif kind.integer or kind.date or kind.name == "boolean":
        _fold_whole(h, column, valid, kind.name in _SMALL)
    elif kind.name.startswith("decimal"):
        _fold_decimals(h, column, valid)
    elif kind.name != "void":
        raise NeedsSpark(f"the ids of rows are hashes of a column of type {kind.name}")


def _fold_lists(h: ndarray, column: pa.ListArray, element: Kind) -> None:
    lengths = vectors.lengths_of(column)
    flat = column.flatten()
    starts = np.cumsum(lengths) - lengths
    for k in range(int(lengths.max(initial=0))):
        rows = np.flatnonzero(lengths > k)
        part = h[rows]
        _fold(part, flat.take(pa.array(starts[rows] + k)), element)
        h[rows] = part


def _fold_bytes(h: ndarray, column: pa.Array, valid: ndarray | None) -> None:
    content, bounds = vectors.raw_bytes(column)
    with np.errstate(over="ignore"):
        new = xxhash.of_bytes(content, bounds[:-1], np.diff(bounds), h)
    h[:] = new if valid is None else np.where(valid, new, h)


def _fold_whole(
    h: ndarray,
    column: pa.Array,
    valid: ndarray | None,
    small: bool,
) -> None:
    if pa.types.is_timestamp(column.type):
        column = column.cast(pa.timestamp("us", column.type.tz), safe=False)
    numbers = column.cast(pa.int32() if small else pa.int64()).fill_null(0)
    values = numbers.to_numpy(zero_copy_only=False)
    if small:
        xxhash.fold(h, values, valid, xxhash.of_ints)
    else:
        xxhash.fold(h, values.view(np.uint64), valid, xxhash.of_longs)


def _fold_decimals(h: ndarray, column: pa.Array, valid: ndarray | None) -> None:
    precision = column.type.precision
    if precision <= _LONG_DIGITS:
        column = column.cast(pa.decimal128(_LONG_DIGITS, column.type.scale))
    words = np.frombuffer(column.buffers()[1], np.uint64).reshape(-1, 2)
    words = words[column.offset : column.offset + len(column)]
    if precision <= _LONG_DIGITS:
        xxhash.fold(h, words[:, 0].copy(), valid, xxhash.of_longs)
        return
    numbers = [int.from_bytes(word.tobytes(), "little", signed=True) for word in words]
    # as many bytes as Java's BigInteger gives
    sizes = [((n if n >= 0 else ~n).bit_length() + 8) // 8 for n in numbers]
    content = [n.to_bytes(size, "big", signed=True) for n, size in zip(numbers, sizes, strict=True)]
    _fold_bytes(h, pa.array(content, pa.binary()), valid)
