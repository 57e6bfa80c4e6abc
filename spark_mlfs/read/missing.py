"""Missing feature values, the same for every reader.

`missing`
    ``"error"`` (default)  a missing value is refused, naming where it is
    ``"mean"``             the mean of the column's known values (of a sparse column, its zeros included); a column without
                           any known value becomes 0
    ``"zero"``             0
    ``"drop"``             the row is left out; the other rows keep their ids
Inside the readers a missing value is NaN.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..errors import DataError, ParameterError
from ..schema import FEATURES
from . import vectors
from .faults import reading
from .vectors import Vectors

POLICIES = ("error", "mean", "zero", "drop")
_BITS = 30


def check_policy(missing: str) -> None:
    if missing not in POLICIES:
        raise ParameterError(f"missing={missing!r} is not known: it is one of {', '.join(map(repr, POLICIES))}")


def settle(
    features: Vectors, missing: str, where: Callable[[int, int], str], means: np.ndarray | None = None
) -> tuple[np.ndarray, Vectors]:
    """The rows to keep and their vectors under a policy; for ``"mean"`` without `means` NaN stays for `impute`."""
    n = len(features)
    everything = np.arange(n)
    unknown = np.isnan(features.values)
    if not unknown.any() or (missing == "mean" and means is None):
        return everything, features
    if missing == "error":
        at = int(np.flatnonzero(unknown)[0])
        row, slot = int(np.searchsorted(np.cumsum(features.lengths), at, side="right")), int(features.indices[at])
        raise DataError(f"{where(row, slot)}: the value is missing; pass missing='mean', 'zero' or 'drop', or correct the data")
    if missing == "drop":
        keep = np.ones(n, bool)
        keep[features.rows[unknown]] = False
        return np.flatnonzero(keep), features.take(keep)
    filled = features.values.copy()
    filled[unknown] = 0.0 if missing == "zero" else means[features.indices[unknown]]
    # A stored 0 in a sparse vector is legal, but no reader stores one.
    zero = unknown & (filled == 0) & ~np.repeat(features.dense, features.lengths)
    if not zero.any():
        return everything, Vectors(features.size, features.dense, features.lengths, features.indices, filled)
    lengths = features.lengths - np.bincount(features.rows[zero], minlength=n)
    return everything, Vectors(features.size, features.dense, lengths, features.indices[~zero], filled[~zero])


def impute(frame: DataFrame, missing: str, names: Sequence[str] | None) -> DataFrame:
    """`frame` with NaN in the column ``features`` replaced or its row dropped; for ``"mean"`` it reads the data twice.

    The means are exact sums of fixed-point numbers, so they do not depend on the partitioning.
    """
    check_policy(missing)
    means = _means(frame) if missing == "mean" else None
    if means is not None and not len(means):
        return frame
    dense_means = None
    if means is not None:
        dense_means = np.zeros(max(means) + 1)
        dense_means[list(means)] = list(means.values())
    return frame.mapInArrow(partial(_impute, missing=missing, names=names, means=dense_means), frame.schema)


def _impute(
    batches: Iterator[pa.RecordBatch], missing: str, names: Sequence[str] | None, means: np.ndarray | None
) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        at = batch.schema.get_field_index(FEATURES)
        features = vectors.from_arrow(batch.column(at))
        ids = batch.column(0)

        def where(row: int, slot: int, ids: pa.Array = ids) -> str:
            return f"row {ids[row].as_py()}: feature {names[slot] if names else slot!r}"

        kept, settled = settle(features, missing, where, means)
        if len(kept):
            columns = [c if len(kept) == batch.num_rows else c.take(pa.array(kept)) for c in batch.columns]
            columns[at] = settled.to_arrow()
            yield pa.RecordBatch.from_arrays(columns, names=batch.schema.names)


def _means(frame: DataFrame) -> dict[int, float]:
    """Mean of the known values of every column with a missing one; exact, whatever the partitioning."""
    features = frame.select(FEATURES)
    with reading():
        extents = (
            features.mapInArrow(_extent, "slot int, missing long, largest double, rows long")
            .groupBy("slot")
            .agg(F.sum("missing").alias("missing"), F.max("largest").alias("largest"), F.sum("rows").alias("rows"))
            .where("missing > 0 or slot = -1")
            .collect()
        )
        rows = sum(r["rows"] for r in extents)
        columns = sorted((r["slot"], r["missing"], r["largest"]) for r in extents if r["slot"] >= 0)
        if not columns:
            return {}
        slots = np.array([c[0] for c in columns])
        # A power of two above the largest value: scaling by it is exact.
        scale = np.array([np.ldexp(1.0, int(np.frexp(c[2])[1])) if c[2] > 0 else 1.0 for c in columns])
        sums = (
            features.mapInArrow(partial(_fixed_point, slots=slots, scale=scale), "slot int, high long, low long")
            .groupBy("slot")
            .agg(F.sum("high").alias("high"), F.sum("low").alias("low"))
            .collect()
        )
    total = {r["slot"]: (r["high"] << _BITS) + r["low"] for r in sums}
    means = {}
    for (slot, missing, _), factor in zip(columns, scale, strict=True):
        known = rows - missing
        means[slot] = (total.get(slot, 0) / known) / float(1 << 2 * _BITS) * float(factor) if known else 0.0
    return means


def _extent(batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Missing values and largest magnitude of every column with a missing value or a stored one; slot -1 counts rows."""
    rows, missing, largest = 0, np.zeros(0, np.int64), np.zeros(0)
    for batch in batches:
        v = vectors.from_arrow(batch.column(0))
        rows += int((~v.null).sum())
        if v.size > len(missing):
            missing = np.pad(missing, (0, v.size - len(missing)))
            largest = np.pad(largest, (0, v.size - len(largest)))
        unknown = np.isnan(v.values)
        missing += np.bincount(v.indices[unknown], minlength=len(missing))
        np.maximum.at(largest, v.indices[~unknown], np.abs(v.values[~unknown]))
    slots = np.flatnonzero((missing > 0) | (largest > 0))
    yield pa.RecordBatch.from_arrays(
        [
            pa.array(np.concatenate([[-1], slots]).astype(np.int32)),
            pa.array(np.concatenate([[0], missing[slots]])),
            pa.array(np.concatenate([[0.0], largest[slots]])),
            pa.array(np.concatenate([[rows], np.zeros(len(slots), np.int64)])),
        ],
        ["slot", "missing", "largest", "rows"],
    )


def _fixed_point(batches: Iterator[pa.RecordBatch], slots: np.ndarray, scale: np.ndarray) -> Iterator[pa.RecordBatch]:
    """Sums of the known values of some columns as integers of 2·30 bits below the column's scale."""
    high, low = np.zeros(len(slots), np.int64), np.zeros(len(slots), np.int64)
    for batch in batches:
        v = vectors.from_arrow(batch.column(0))
        column = np.searchsorted(slots, v.indices).clip(max=len(slots) - 1)
        used = (slots[column] == v.indices) & ~np.isnan(v.values)
        column, values = column[used], v.values[used]
        scaled = values / scale[column] * float(1 << _BITS)
        whole = np.rint(scaled)
        rest = np.rint((scaled - whole) * float(1 << _BITS))
        np.add.at(high, column, whole.astype(np.int64))
        np.add.at(low, column, rest.astype(np.int64))
    yield pa.RecordBatch.from_arrays([pa.array(slots.astype(np.int32)), pa.array(high), pa.array(low)], ["slot", "high", "low"])
