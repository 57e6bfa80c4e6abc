"""Entries of a vector column as a vector column: Spark ML's VectorSlicer, and on a Connect client before 4.0, which has no
class of the JVM, expressions of Spark's, which visit every entry one by one."""

from __future__ import annotations

import numpy as np
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..read.frames import jvm_within_reach

SPARSE = 0  # the struct's `type` of a sparse vector; 1 of a dense one
_CHECKED = "__spark_mlfs_checked__"
_CELL = T.StructType([T.StructField("v", VectorUDT())])


def sliced(dataset: DataFrame, column: str, output: str, places: np.ndarray, width: int) -> DataFrame:
    """`dataset` with `output`, the entries `places` of the vectors of `width` entries in `column`, in the order of `places`.

    A dense vector stays dense, a sparse one sparse (what it stores of the entries), a null null. The action raises `DataError`
    for a vector of another width."""
    parts = F.unwrap_udt(F.col(column))
    values, stored = parts["values"], parts["indices"]
    sparse = parts["type"] == SPARSE
    size = F.when(sparse, parts["size"]).otherwise(F.size(values))
    problem = f"a vector in {column!r} has not the {width} entries the selection was fitted on"
    wrong = F.raise_error(F.lit(f"spark_mlfs.errors.DataError: {problem}")).cast(VectorUDT())
    if len(places) and jvm_within_reach():
        from pyspark.ml.feature import VectorSlicer

        # the slicer stumbles over a null: in its place a vector without entries
        empty = F.from_json(F.lit(f'{{"v": {{"type": {SPARSE}, "size": {width}, "indices": [], "values": []}}}}'), _CELL)["v"]
        cell = F.col(column)
        checked = dataset.withColumn(_CHECKED, F.when(cell.isNull(), empty).when(size == width, cell).otherwise(wrong))
        slicer = VectorSlicer(inputCol=_CHECKED, outputCol=output, indices=[int(place) for place in places])
        return slicer.transform(checked).drop(_CHECKED).withColumn(output, F.when(cell.isNotNull(), F.col(output)))
    if len(places):
        dense = array_to_vector(F.transform(_numbers(places + 1), lambda place: F.element_at(values, place)))
        kept = F.when(sparse, _sparse(stored, values, places, width)).otherwise(dense)
    else:
        kept = array_to_vector(F.array().cast("array<double>"))
    return dataset.withColumn(output, F.when(F.col(column).isNull(), None).when(size == width, kept).otherwise(wrong))


def filled_vector(column: Column, fill: np.ndarray) -> Column:
    """Return vectors with `fill` in place of their NaN; the others as they are."""
    parts = F.unwrap_udt(column)
    values, stored, of = parts["values"], parts["indices"], _doubles(fill)
    dense = array_to_vector(filled_array(values, fill))
    entries = F.transform(values, lambda v, at: F.nanvl(v, F.element_at(of, F.element_at(stored, at + 1) + 1)))
    whole = F.when(parts["type"] == SPARSE, _sparse_cell(stored, entries, len(fill))).otherwise(dense)
    return F.when(F.array_contains(values, float("nan")), whole).otherwise(column)


def filled_array(column: Column, fill: np.ndarray) -> Column:
    """Return arrays of doubles with `fill` in place of NaN and null."""
    of = _doubles(fill)
    return F.transform(column, lambda v, at: F.coalesce(F.nanvl(v, F.element_at(of, at + 1)), F.element_at(of, at + 1)))


def _sparse(stored: Column, values: Column, places: np.ndarray, width: int) -> Column:
    """The entries `places` of a sparse vector with the indices `stored`."""
    slots = np.zeros(width, np.int64)
    slots[places] = np.arange(1, len(places) + 1)
    of = _numbers(slots)  # where an entry goes, from 1; 0: nowhere

    def slot(index: Column) -> Column:
        return F.element_at(of, index + 1)

    indices = F.transform(F.filter(stored, lambda index: slot(index) > 0), lambda index: slot(index) - 1)
    entries = F.filter(values, lambda value, at: slot(F.element_at(stored, at + 1)) > 0)
    if (np.diff(places) < 0).any():
        pairs = F.array_sort(F.arrays_zip(indices.alias("i"), entries.alias("x")))
        indices, entries = pairs["i"], pairs["x"]
    return _sparse_cell(indices, entries, len(places))


def _sparse_cell(indices: Column, entries: Column, width: int) -> Column:
    """A sparse vector of its parts."""
    kind, size = F.lit(SPARSE).cast("tinyint").alias("type"), F.lit(width).alias("size")
    cell = F.struct(kind, size, indices.alias("indices"), entries.alias("values"))
    # no expression makes a sparse vector of its parts but the reader of JSON, which gives every double its bits back
    return F.from_json(F.to_json(F.struct(cell.alias("v"))), _CELL)["v"]


def _numbers(values: np.ndarray) -> Column:
    """Numbers as an array column: one literal, folded once, where `F.array` would plan an expression a number."""
    return F.split(F.lit(",".join(map(str, values.tolist()))), ",").cast("array<int>")


def _doubles(values: np.ndarray) -> Column:
    """The same of doubles, to the bit."""
    return F.split(F.lit(",".join(map(repr, values.tolist()))), ",").cast("array<double>")
