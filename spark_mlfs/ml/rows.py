"""NumPy functions of rows as columns of a frame, Arrow in and out.

Rows of a frame against a training set that is too large for every task to hold: joined block by
block.

The rows travel in chunks, whole (their Arrow bytes) and as a feature matrix. Every chunk meets
every block of the training set, a pair a row of a cross join, and keeps its k best; the partial
results of a chunk come together by its key. A chunk must be the same whenever its rows are read,
also where a task is run again: the rows are laid out by their hash first.

Entries of a vector column as a vector column: Spark ML's VectorSlicer, and on a Connect client
before 4.0, which has no class of the JVM, expressions of Spark's, which visit every entry one by
one."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..adapters.rows import CellReader, FeatureCells, RowTask, lists_of
from ..blocks.codec import State, binary_array, decode, encode
from ..blocks.pack import are_vectors, check_column
from ..engine.base import one_thread
from ..errors import DataError, ParameterError
from ..frames.sessions import jvm_within_reach
from ..frames.vectors import SPARSE, sparse_cell
from ..kernels.knn import Rows
from ..kernels.matrix import Matrix
from ..kernels.nearest import Nearest, nearest


@dataclass(frozen=True)
class FeatureSource:
    """Where rows get their features from: a column of a frame, and what reads its cells in the
    workers."""

    column: Column
    read: CellReader
    id: Column | None = None  # what messages call a row


def feature_cells(
    dataset: DataFrame, features: str, width: int, *how: Any, id: Column | None = None
) -> FeatureSource:
    """A column of `width` features, read as `FeatureCells` is told by `how`; `ParameterError` where
    it is none."""
    check_column(dataset, features)
    vectors = are_vectors(dataset, features)
    cells = F.unwrap_udt(F.col(features)) if vectors else F.col(features).cast("array<double>")
    return FeatureSource(cells, FeatureCells(vectors, width, *how), id)


def map_rows(
    dataset: DataFrame,
    cells: FeatureSource,
    function: Callable[[Matrix], Mapping[str, np.ndarray]],
    outputs: Mapping[str, str],
    rows: int | None = None,
) -> DataFrame:
    """`dataset` with columns computed row by row from its features, which `cells` reads.
    `ParameterError` for one that exists.

    `function(x)` takes (rows, width) raw features, dense float64 or CSR, and returns for each key
    of `outputs` what `lists_of` takes. `outputs` maps a new column's name to ``"vector"`` (dense),
    ``array<double>``, ``array<int>`` or ``array<string>``. The function and what it closes over
    travel to the workers: keep it within some tens of MB. `rows`: the most it takes at once."""
    refuse_taken(dataset, outputs)
    types = [
        "array<double>" if type_name == "vector" else type_name for type_name in outputs.values()
    ]
    schema = ", ".join(f"c{i} {type_name}" for i, type_name in enumerate(types))
    lists = {
        name: pa.list_(_ENTRIES.get(type_name, pa.float64())) for name, type_name in outputs.items()
    }
    task = RowTask(function, lists, cells.read, rows)
    temporary, input_column = "__spark_mlfs_rows__", "__spark_mlfs_source__"
    # a step of its own, kept apart by the condition: Spark 4.3 cannot hand a vector column of a
    # Parquet file past a UDF
    dataset = dataset.withColumn(input_column, F.when(F.spark_partition_id() >= 0, cells.column))
    ids = [] if cells.id is None else [cells.id.cast("string")]
    out = dataset.withColumn(temporary, task.udf(schema, len(ids))(F.col(input_column), *ids))
    return with_outputs(out, outputs, f"{temporary}.c{{}}").drop(temporary, input_column)


_ENTRIES = {"array<int>": pa.int32(), "array<string>": pa.string()}


def refuse_taken(dataset: DataFrame, outputs: Iterable[str]) -> None:
    """`ParameterError` for an output column that exists."""
    for name in outputs:
        if name in dataset.columns:
            raise ParameterError(
                f"column {name!r} exists already; set another output column or drop it"
            )


def with_outputs(rows: DataFrame, outputs: Mapping[str, str], source: str) -> DataFrame:
    """`rows` with each output, of its type, from the array column that `source` gives its
    number."""
    for i, (name, type_name) in enumerate(outputs.items()):
        value = F.col(source.format(i))
        rows = rows.withColumn(name, array_to_vector(value) if type_name == "vector" else value)
    return rows


CHUNK_BYTES = 4 << 20  # of the rows of one chunk
BLOCK_BYTES = 8 << 20  # of the training rows of one block
FRAME_BLOCKS = 8  # handed to Spark at once
KEYED = "key bigint, first bigint, data binary"
Points = Callable[[Matrix, np.ndarray], Rows]  # of features and ids


def training_blocks(spark: SparkSession, x: Matrix) -> DataFrame:
    """(first, block): runs of the training rows as binary cells, each with the number of its first
    row."""
    size = x.data.nbytes + x.indices.nbytes if sp.issparse(x) else x.nbytes
    step = max(1, int(x.shape[0] * BLOCK_BYTES / max(1, size)))
    firsts, frames = range(0, x.shape[0], step), []
    for i in range(0, len(firsts), FRAME_BLOCKS):
        blocks = [
            (first, bytes(encode({"x": x[first : first + step]})))
            for first in firsts[i : i + FRAME_BLOCKS]
        ]
        frames.append(spark.createDataFrame(blocks, "first bigint, block binary"))
    return functools.reduce(DataFrame.unionByName, frames).repartitionByRange(
        max(1, -(-x.shape[0] // step)), "first"
    )


def map_against(
    dataset: DataFrame,
    features: str,
    cells: FeatureCells,
    blocks: DataFrame,
    points: Points,
    training: Points,
    k: int,
    finish: Callable[[Nearest], Mapping[str, Any]],
    outputs: Mapping[str, str],
) -> DataFrame:
    """`dataset` with what `finish` makes of each row's k nearest training rows, as `rows.map_rows`;
    maybe in another order."""
    if dataset.isStreaming:
        raise ParameterError(
            "the training set is too large to travel to every task, and what joins it by blocks "
            "takes no stream: transform the batches, in writeStream.foreachBatch"
        )
    refuse_taken(dataset, outputs)
    vectors, extra = cells.vectors, "__spark_mlfs_features__"
    whole = by_hash(
        dataset if vectors else dataset.withColumn(extra, F.col(features).cast("array<double>"))
    )
    chunks = whole.mapInArrow(
        partial(row_chunks, features if vectors else extra, cells, not vectors), KEYED
    )
    chunks = (
        chunks.repartition("key")
        .withColumnRenamed("data", "chunk")
        .withColumnRenamed("first", "nothing")
    )
    start = blocks.agg(F.min("first").alias("start"), F.count("first").alias("blocks"))
    carries = F.when(F.col("first") == F.col("start"), F.col("blocks")).alias("carries")
    pairs = chunks.crossJoin(blocks.crossJoin(start)).select(
        "key", "first", "chunk", "block", carries
    )
    near = pairs.mapInArrow(partial(nearest_in_block, points, training, k), KEYED)
    schema = T.StructType(list(dataset.schema.fields))
    for i, type_name in enumerate(outputs.values()):
        schema = schema.add(
            f"__c{i}__",
            T.ArrayType(T.IntegerType() if type_name == "array<int>" else T.DoubleType()),
        )
    together = near.repartition("key").sortWithinPartitions("key", "first")
    out = together.mapInArrow(partial(finished_rows, finish, tuple(outputs)), schema)
    out = with_outputs(out, outputs, "__c{}__").drop(*(f"__c{i}__" for i in range(len(outputs))))
    for field in dataset.schema.fields:  # names of vector slots do not pass through Arrow
        if field.metadata:
            out = out.withMetadata(field.name, field.metadata)
    return out


def by_hash(rows: DataFrame) -> DataFrame:
    """The rows in an order that is theirs, whatever order they come in."""
    key = "__spark_mlfs_hash__"
    kinds = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    names = [
        name
        for name, kind in kinds.items()
        if not any(unhashed in kind for unhashed in ("map<", "variant"))
    ]
    spread = rows.withColumn(
        key, F.xxhash64(*("`" + name.replace("`", "``") + "`" for name in names))
    ).repartition(key)
    return spread.sortWithinPartitions(key).drop(key)


def row_chunks(
    features: str, cells: FeatureCells, drop: bool, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Arrow batches to chunks: the rows whole, and their features as a matrix."""
    for batch in batches:
        step = max(1, min(4096, int(batch.num_rows * CHUNK_BYTES / max(1, batch.nbytes))))
        for first in range(0, batch.num_rows, step):
            rows = batch.slice(first, step)
            x = cells(rows.column(rows.schema.get_field_index(features)), None)
            if drop:
                rows = rows.select(
                    [i for i, name in enumerate(rows.schema.names) if name != features]
                )
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, rows.schema) as writer:
                writer.write_batch(rows)
            whole = sink.getvalue().to_pybytes()
            key = int.from_bytes(
                hashlib.blake2b(whole, digest_size=8).digest(), "little", signed=True
            )
            yield _row(key, 0, encode({"x": x, "rows": np.frombuffer(whole, np.uint8)}))


def _row(key: int, first: int, data: bytes | bytearray) -> pa.RecordBatch:
    cells = [pa.array([key], pa.int64()), pa.array([first], pa.int64()), binary_array(data)]
    return pa.RecordBatch.from_arrays(cells, names=["key", "first", "data"])


def nearest_in_block(
    points: Points, training: Points, k: int, batches: Iterable[pa.RecordBatch]
) -> Iterator[pa.RecordBatch]:
    """Chunks beside blocks: the k best of each row; the pair of the first block carries the rows
    on."""
    with one_thread():
        for batch in batches:
            for i in range(batch.num_rows):
                key, first, blocks = (batch.column(c)[i].as_py() for c in (0, 1, 4))
                chunk, block = (decode(memoryview(batch.column(c)[i].as_buffer())) for c in (2, 3))
                x, z = chunk["x"], block["x"]
                reference = training(z, first + np.arange(z.shape[0]))
                state: State = nearest(points(x, -1 - np.arange(x.shape[0])), reference, k).state()
                if blocks:
                    state["rows"], state["blocks"] = chunk["rows"], blocks
                yield _row(key, first, encode(state))


def finished_rows(
    finish: Callable[[Nearest], Mapping[str, Any]],
    names: Sequence[str],
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """All partial results of a chunk (they arrive together) to its rows with the new columns."""
    cells = (
        (batch.column(0)[i].as_py(), batch.column(2)[i].as_py())
        for batch in batches
        for i in range(batch.num_rows)
    )
    for _, of_chunk in itertools.groupby(cells, lambda cell: cell[0]):
        parts: list[State] = [decode(data) for _, data in of_chunk]
        carriers = [part["rows"] for part in parts if "rows" in part]
        count = len(carriers)  # equal chunks share a key: each of them leaves
        if not count or len(parts) != count * next(
            part["blocks"] for part in parts if "blocks" in part
        ):
            raise DataError(
                "the data changed while they were read (another reading gave other rows): write "
                "them down first"
            )
        own = parts[::count]
        nearest = (
            Nearest.from_state({name: part[name] for name in ("keys", "ids", "squares")})
            for part in own
        )
        columns = finish(functools.reduce(Nearest.merge, nearest))
        for data in carriers:
            with pa.ipc.open_stream(pa.py_buffer(data.tobytes())) as reader:
                rows = reader.read_next_batch()
            arrays = [*rows.columns, *(lists_of(columns[name]) for name in names)]
            yield pa.RecordBatch.from_arrays(
                arrays, names=[*rows.schema.names, *(f"__c{i}__" for i in range(len(names)))]
            )


_CHECKED = "__spark_mlfs_checked__"


def sliced(
    dataset: DataFrame, column: str, output: str, places: np.ndarray, width: int
) -> DataFrame:
    """`dataset` with `output`, the entries `places` of the vectors of `width` entries in `column`,
    in the order of `places`.

    A dense vector stays dense, a sparse one sparse (what it stores of the entries), a null null.
    The action raises `DataError` for a vector of another width."""
    parts = F.unwrap_udt(F.col(column))
    values, stored = parts["values"], parts["indices"]
    sparse = parts["type"] == SPARSE
    size = F.when(sparse, parts["size"]).otherwise(F.size(values))
    problem = f"a vector in {column!r} has not the {width} entries the selection was fitted on"
    wrong = F.raise_error(F.lit(f"spark_mlfs.errors.DataError: {problem}")).cast(VectorUDT())
    if len(places) and jvm_within_reach():
        from pyspark.ml.feature import VectorSlicer

        # the slicer stumbles over a null: in its place a vector without entries
        empty, cell = sparse_cell(F.array(), F.array(), width), F.col(column)
        checked = dataset.withColumn(
            _CHECKED, F.when(cell.isNull(), empty).when(size == width, cell).otherwise(wrong)
        )
        slicer = VectorSlicer(
            inputCol=_CHECKED, outputCol=output, indices=[int(place) for place in places]
        )
        return (
            slicer.transform(checked)
            .drop(_CHECKED)
            .withColumn(output, F.when(cell.isNotNull(), F.col(output)))
        )
    if len(places):
        dense = array_to_vector(
            F.transform(_numbers(places + 1), lambda place: F.element_at(values, place))
        )
        kept = F.when(sparse, _sparse(stored, values, places, width)).otherwise(dense)
    else:
        kept = array_to_vector(F.array().cast("array<double>"))
    return dataset.withColumn(
        output, F.when(F.col(column).isNull(), None).when(size == width, kept).otherwise(wrong)
    )


def filled_vector(column: Column, fill: np.ndarray) -> Column:
    """Return vectors with `fill` in place of their NaN; the others as they are."""
    parts = F.unwrap_udt(column)
    values, stored, of = parts["values"], parts["indices"], _numbers(fill, "double")
    dense = array_to_vector(filled_array(values, fill))
    entries = F.transform(
        values, lambda v, at: F.nanvl(v, F.element_at(of, F.element_at(stored, at + 1) + 1))
    )
    whole = F.when(parts["type"] == SPARSE, sparse_cell(stored, entries, len(fill))).otherwise(
        dense
    )
    return F.when(F.array_contains(values, float("nan")), whole).otherwise(column)


def filled_array(column: Column, fill: np.ndarray) -> Column:
    """Return arrays of doubles with `fill` in place of NaN and null."""
    of = _numbers(fill, "double")
    return F.transform(
        column,
        lambda v, at: F.coalesce(F.nanvl(v, F.element_at(of, at + 1)), F.element_at(of, at + 1)),
    )


def _sparse(stored: Column, values: Column, places: np.ndarray, width: int) -> Column:
    """The entries `places` of a sparse vector with the indices `stored`."""
    slots = np.zeros(width, np.int64)
    slots[places] = np.arange(1, len(places) + 1)
    of = _numbers(slots)  # where an entry goes, from 1; 0: nowhere

    def slot(index: Column) -> Column:
        return F.element_at(of, index + 1)

    indices = F.transform(
        F.filter(stored, lambda index: slot(index) > 0), lambda index: slot(index) - 1
    )
    entries = F.filter(values, lambda value, at: slot(F.element_at(stored, at + 1)) > 0)
    if (np.diff(places) < 0).any():
        pairs = F.array_sort(F.arrays_zip(indices.alias("i"), entries.alias("x")))
        indices, entries = pairs["i"], pairs["x"]
    return sparse_cell(indices, entries, len(places))


def _numbers(values: np.ndarray, kind: str = "int") -> Column:
    """Numbers as an array column, to the bit: one literal, folded once, where `F.array` would plan
    an expression a number."""
    return F.split(F.lit(",".join(map(repr, values.tolist()))), ",").cast(f"array<{kind}>")
