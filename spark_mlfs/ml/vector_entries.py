"""Entries of a vector column as a vector column, and missing entries filled.

Spark ML's VectorSlicer, and on a Connect client before 4.0, which has no class of the JVM,
expressions of Spark's, which visit every entry one by one."""

from __future__ import annotations

import numpy as np
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..frames.names import column_named
from ..frames.sessions import jvm_within_reach
from ..frames.vectors import SPARSE, other_length, sparse_cell

_CHECKED = "__spark_mlfs_checked__"


def wrong_length(cell: str, size: Column, width: int) -> Column:
    """Return an expression that raises `DataError`: the cell has `size` entries, not `width`."""
    problem = other_length(cell.replace("%", "%%"), "%d", width)
    return F.raise_error(F.format_string(f"spark_mlfs.errors.DataError: {problem}", size))


def sliced(
    dataset: DataFrame,
    column: str,
    output: str,
    places: np.ndarray,
    width: int,
) -> DataFrame:
    """Add `output`, the entries `places` of the vectors in `column`, in that order.

    Vectors of `width` entries. A dense vector stays dense, a sparse one sparse (with the stored
    ones of the entries), a null null. The action raises `DataError` for a vector of another
    width."""
    cell = column_named(column)
    parts = F.unwrap_udt(cell)
    values = parts["values"]
    stored = parts["indices"]
    sparse = parts["type"] == SPARSE
    size = F.when(sparse, parts["size"]).otherwise(F.size(values))
    wrong = wrong_length(f"a vector in {column!r}", size, width).cast(VectorUDT())
    if len(places) and jvm_within_reach():
        from pyspark.ml.feature import VectorSlicer

        # the slicer stumbles over a null: in its place a vector without entries
        empty = sparse_cell(F.array(), F.array(), width)
        checked = F.when(cell.isNull(), empty).when(size == width, cell).otherwise(wrong)
        indices = [int(place) for place in places]
        slicer = VectorSlicer(inputCol=_CHECKED, outputCol=output, indices=indices)
        out = slicer.transform(dataset.withColumn(_CHECKED, checked)).drop(_CHECKED)
        return out.withColumn(output, F.when(cell.isNotNull(), column_named(output)))
    if len(places):
        dense = array_to_vector(
            F.transform(_numbers(places + 1), lambda place: F.element_at(values, place))
        )
        entries = F.when(sparse, _sparse(stored, values, places, width)).otherwise(dense)
    else:
        entries = array_to_vector(F.array().cast("array<double>"))
    checked = F.when(cell.isNull(), None).when(size == width, entries).otherwise(wrong)
    return dataset.withColumn(output, checked)


def filled_vector(column: Column, fill: np.ndarray) -> Column:
    """Return vectors with `fill` in place of their NaN; the others as they are."""
    parts = F.unwrap_udt(column)
    values = parts["values"]
    stored = parts["indices"]
    fills = _numbers(fill, "double")

    def filled_entry(value: Column, position: Column) -> Column:
        index = F.element_at(stored, position + 1)
        return F.nanvl(value, F.element_at(fills, index + 1))

    dense = array_to_vector(filled_array(values, fill))
    sparse = sparse_cell(stored, F.transform(values, filled_entry), len(fill))
    vector = F.when(parts["type"] == SPARSE, sparse).otherwise(dense)
    return F.when(F.array_contains(values, float("nan")), vector).otherwise(column)


def filled_array(column: Column, fill: np.ndarray) -> Column:
    """Return arrays of doubles with `fill` in place of NaN and null."""
    fills = _numbers(fill, "double")

    def filled_entry(value: Column, position: Column) -> Column:
        substitute = F.element_at(fills, position + 1)
        return F.coalesce(F.nanvl(value, substitute), substitute)

    return F.transform(column, filled_entry)


def _sparse(
    stored: Column,
    values: Column,
    places: np.ndarray,
    width: int,
) -> Column:
    """Return the entries `places` of a sparse vector with the indices `stored`."""
    slots = np.zeros(width, np.int64)  # where an entry goes, from 1; 0: nowhere
    slots[places] = np.arange(1, len(places) + 1)
    slot_column = _numbers(slots)

    def slot(index: Column) -> Column:
        return F.element_at(slot_column, index + 1)

    selected = F.filter(stored, lambda index: slot(index) > 0)
    indices = F.transform(selected, lambda index: slot(index) - 1)
    entries = F.filter(values, lambda _, position: slot(F.element_at(stored, position + 1)) > 0)
    if (np.diff(places) < 0).any():
        pairs = F.array_sort(F.arrays_zip(indices.alias("i"), entries.alias("x")))
        indices = pairs["i"]
        entries = pairs["x"]
    return sparse_cell(indices, entries, len(places))


def _numbers(values: np.ndarray, kind: str = "int") -> Column:
    """Return numbers as an array column, to the bit.

    One literal, folded once, where `F.array` would plan an expression a number."""
    text = ",".join(map(repr, values.tolist()))
    return F.split(F.lit(text), ",").cast(f"array<{kind}>")
