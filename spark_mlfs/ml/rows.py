"""NumPy functions of rows as columns of a frame, Arrow in and out."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import pyarrow as pa
from pyspark.ml.functions import array_to_vector
from pyspark.ml.param import Params
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..adapters.contributions import ARROW, OF_ROW
from ..adapters.rows import FAULT, CellReader, FeatureCells, RowTask
from ..blocks.pack import are_vectors, check_column
from ..errors import ParameterError
from ..frames.names import column_named, set_apart
from ..frames.sessions import meet
from ..kernels.matrix import Matrix


@dataclass(frozen=True)
class FeatureSource:
    """Where rows get their features from: a column of a frame, and the reader of its cells."""

    column: Column
    read: CellReader
    id: Column | None = None  # what messages call a row


def feature_cells(
    dataset: DataFrame,
    features: str,
    width: int,
    *reading: Any,
    id: Column | None = None,
) -> FeatureSource:
    """Return a column of `width` features; `reading` are further fields of its `FeatureCells`.

    Raises `ParameterError` where the column holds no features."""
    check_column(dataset, features)
    vectors = are_vectors(dataset, features)
    cells = column_named(features)
    cells = F.unwrap_udt(cells) if vectors else cells.cast("array<double>")
    return FeatureSource(cells, FeatureCells(vectors, width, *reading), id)


def map_rows(
    dataset: DataFrame,
    cells: FeatureSource,
    function: Callable[[Matrix], Mapping[str, np.ndarray]],
    outputs: Mapping[str, str],
    rows: int | None = None,
) -> DataFrame:
    """Add columns computed row by row from the features, which `cells` reads.

    `function(x)` takes (rows, width) raw features, dense float64 or CSR, and returns for each key
    of `outputs` what `lists_of` takes. `outputs` maps a new column's name to ``"vector"`` (dense),
    ``array<double>``, ``array<int>``, ``array<string>`` or what contributions have. The function
    and what it closes over travel to the workers: keep it within some tens of MB. `rows`: the most
    it takes at once. Raises `ParameterError` for a column that exists."""
    refuse_existing(dataset, outputs)
    types = [
        "array<double>" if type_name == "vector" else type_name for type_name in outputs.values()
    ]
    schema = ", ".join(f"c{i} {type_name}" for i, type_name in enumerate(types))
    lists = {
        name: pa.list_(_ENTRIES.get(type_name, pa.float64())) for name, type_name in outputs.items()
    }
    task = RowTask(function, lists, cells.read, rows)
    temporary = "__spark_mlfs_rows__"
    input_column = "__spark_mlfs_source__"
    # a step of its own, kept apart by the condition: Spark 4.3 cannot hand a vector column of a
    # Parquet file past a UDF
    dataset = dataset.withColumn(input_column, F.when(F.spark_partition_id() >= 0, cells.column))
    ids = [] if cells.id is None else [cells.id.cast("string")]
    answer = task.udf(schema, len(ids))(column_named(input_column), *ids)
    out = dataset.withColumn(temporary, answer)
    with_results = with_outputs(
        out, outputs, lambda i: F.col(f"{temporary}.c{i}"), F.col(f"{temporary}.{FAULT}")
    )
    return with_results.drop(temporary, input_column)


_ENTRIES = {"array<int>": pa.int32(), "array<string>": pa.string(), OF_ROW: ARROW.value_type}


def or_raise(is_wrong: Column, fault: Column, value: Column) -> Column:
    """Return `value`, but where it is wrong Spark raises `fault`, a text of `errors.for_driver`.

    The message is one line, where that of an error in Python has the stack, too."""
    return F.when(is_wrong, F.raise_error(fault)).otherwise(value)


def beside_twins(
    dataset: DataFrame, stage: Params, work: Callable[[DataFrame], DataFrame]
) -> DataFrame:
    """Return what `work` adds to the rows.

    Other columns may have the names that the Params of `stage` hold, but for the case."""
    meet(dataset.sparkSession)
    params = [p for p in stage.params if p.name.endswith("Col") and stage.isDefined(p)]
    names = [stage.getOrDefault(param) for param in params]
    apart = set_apart(dataset, [name for name in names if name is not None])
    rows = work(apart)
    if apart is dataset:
        return rows
    columns = dataset.columns
    return rows.toDF(*columns, *rows.columns[len(columns) :])


def refuse_existing(dataset: DataFrame, outputs: Iterable[str]) -> None:
    """Raise `ParameterError` for an output column that exists."""
    columns = dataset.columns
    for name in outputs:
        if name in columns:
            raise ParameterError(
                f"column {name!r} exists already; set another output column or drop it"
            )


def with_outputs(
    rows: DataFrame,
    outputs: Mapping[str, str],
    source: Callable[[int], Column],
    fault: Column | None = None,
) -> DataFrame:
    """Add each output, of its type, from the array column `source` of its number.

    A `fault` of the row, where there is one, is raised in its place."""
    for i, (name, type_name) in enumerate(outputs.items()):
        value = source(i)
        if type_name == "vector":
            if not hasattr(F, "arrow_udf"):  # pandas, which is between, makes NaN a null
                value = F.transform(value, lambda cell: F.coalesce(cell, F.lit(math.nan)))
            value = array_to_vector(value)
        if fault is not None:
            value = or_raise(fault.isNotNull(), fault, value)
        rows = rows.withColumn(name, value)
    return rows
