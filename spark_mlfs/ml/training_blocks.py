"""Rows of a frame against a training set that is too large for every task to hold.

The training set is joined block by block. The rows travel in chunks, whole (their Arrow bytes) and
as a feature matrix. Every chunk meets every block of the training set, a pair a row of a cross
join, and keeps its k best; the partial results of a chunk come together by its key. A chunk must be
the same whenever its rows are read, also where a task is run again: the rows are laid out by their
hash first."""

from __future__ import annotations

import functools
import hashlib
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..adapters.rows import FeatureCells, lists_of
from ..blocks.codec import State, binary_array, decode, encode
from ..engine.base import one_thread
from ..errors import DataError, ParameterError, SparkMlfsError, for_driver
from ..frames.names import column_named, quoted
from ..kernels.knn import Rows
from ..kernels.matrix import Matrix
from ..kernels.nearest import Nearest, nearest
from .rows import or_raise, refuse_existing, with_outputs

CHUNK_BYTES = 4 << 20  # of the rows of one chunk
BLOCK_BYTES = 8 << 20  # of the training rows of one block
FRAME_BLOCKS = 8  # handed to Spark at once
KEYED = "key bigint, first bigint, data binary"
FAULTY = -1  # in place of a number of rows, where `data` is the text of an error
Points = Callable[[Matrix, np.ndarray], Rows]  # of features and ids


def training_blocks(spark: SparkSession, x: Matrix) -> DataFrame:
    """Return runs of the training rows as binary cells (first, block).

    `first` is the number of a run's first row."""
    size = x.data.nbytes + x.indices.nbytes if sp.issparse(x) else x.nbytes
    step = max(1, int(x.shape[0] * BLOCK_BYTES / max(1, size)))
    firsts = range(0, x.shape[0], step)
    frames = []
    for i in range(0, len(firsts), FRAME_BLOCKS):
        blocks = [
            (first, bytes(encode({"x": x[first : first + step]})))
            for first in firsts[i : i + FRAME_BLOCKS]
        ]
        frames.append(spark.createDataFrame(blocks, "first bigint, block binary"))
    num_blocks = max(1, -(-x.shape[0] // step))
    return functools.reduce(DataFrame.unionByName, frames).repartitionByRange(num_blocks, "first")


def map_against(  # noqa: PLR0913
    dataset: DataFrame,
    features: str,
    cells: FeatureCells,
    blocks: DataFrame,
    points: Points,
    training: Points,
    k: int,
    finish: Callable[[Nearest], Mapping[str, Any]],
    outputs: Mapping[str, str],
    most_rows: int,
) -> DataFrame:
    """Add columns that `finish` makes of each row's k nearest training rows, `most_rows` at once.

    As `rows.map_rows`; the rows maybe in another order."""
    if dataset.isStreaming:
        raise ParameterError(
            "the training set is too large to travel to every task, and what joins it by blocks "
            "takes no stream: transform the batches, in writeStream.foreachBatch"
        )
    refuse_existing(dataset, outputs)
    # rows pass through Python with their places as names: Spark reads names as expressions there
    fields = dataset.schema.fields
    places = [f"__spark_mlfs_{place}__" for place in range(len(fields))]
    rows = dataset.toDF(*places)
    column = places[dataset.columns.index(features)]
    if not cells.vectors:
        numbers = column_named(column).cast("array<double>")
        column = "__spark_mlfs_features__"
        rows = rows.withColumn(column, numbers)
    chunks = by_hash(rows).mapInArrow(partial(row_chunks, column, cells, not cells.vectors), KEYED)
    chunk = or_raise(F.col("first") == FAULTY, F.col("data").cast("string"), F.col("data"))
    chunks = chunks.repartition("key").select("key", chunk.alias("chunk"))
    start = blocks.agg(F.min("first").alias("start"), F.count("first").alias("blocks"))
    carries = F.when(F.col("first") == F.col("start"), F.col("blocks")).alias("carries")
    pairs = chunks.crossJoin(blocks.crossJoin(start)).select(
        "key",
        "first",
        "chunk",
        "block",
        carries,
    )
    near = pairs.mapInArrow(partial(nearest_in_block, points, training, k), KEYED)
    schema = T.StructType()
    for place, field in zip(places, fields, strict=True):
        schema = schema.add(place, field.dataType, field.nullable)
    for i, type_name in enumerate(outputs.values()):
        entry = T.IntegerType() if type_name == "array<int>" else T.DoubleType()
        schema = schema.add(f"__c{i}__", T.ArrayType(entry))
    by_chunk = near.repartition("key").sortWithinPartitions("key", "first")
    out = by_chunk.mapInArrow(partial(finished_rows, finish, tuple(outputs), most_rows), schema)
    out = with_outputs(out, outputs, lambda i: F.col(f"__c{i}__"))
    out = out.drop(*(f"__c{i}__" for i in range(len(outputs))))
    for place, field in zip(places, fields, strict=True):
        if field.metadata:  # names of vector slots do not pass through Arrow
            out = out.withMetadata(place, field.metadata)
    return out.toDF(*dataset.columns, *outputs)


def by_hash(rows: DataFrame) -> DataFrame:
    """Order rows by the hash of their content, whatever order they come in."""
    key = "__spark_mlfs_hash__"
    kinds = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    # Spark hashes no maps and no variants
    names = [name for name, kind in kinds.items() if "map<" not in kind and "variant" not in kind]
    spread = rows.withColumn(key, F.xxhash64(*map(quoted, names))).repartition(key)
    return spread.sortWithinPartitions(key).drop(key)


def row_chunks(
    features: str,
    cells: FeatureCells,
    drop: bool,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield chunks of Arrow batches: the rows whole, and their features as a matrix."""
    for batch in batches:
        step = max(1, min(4096, int(batch.num_rows * CHUNK_BYTES / max(1, batch.nbytes))))
        for first in range(0, batch.num_rows, step):
            rows = batch.slice(first, step)
            try:
                x = cells(rows.column(rows.schema.get_field_index(features)), None)
            except SparkMlfsError as error:
                yield _row(0, FAULTY, for_driver(error).encode())
                return
            if drop:
                names = rows.schema.names
                rows = rows.select([i for i, name in enumerate(names) if name != features])
            sink = pa.BufferOutputStream()
            with pa.ipc.new_stream(sink, rows.schema) as writer:
                writer.write_batch(rows)
            content = sink.getvalue().to_pybytes()
            digest = hashlib.blake2b(content, digest_size=8).digest()
            key = int.from_bytes(digest, "little", signed=True)
            yield _row(key, 0, encode({"x": x, "rows": np.frombuffer(content, np.uint8)}))


def _row(key: int, first: int, data: bytes | bytearray) -> pa.RecordBatch:
    keys = pa.array([key], pa.int64())
    firsts = pa.array([first], pa.int64())
    cells = [keys, firsts, binary_array(data)]
    return pa.RecordBatch.from_arrays(cells, names=["key", "first", "data"])


def _decoded(cell: pa.Scalar) -> State:
    return decode(memoryview(cell.as_buffer()))


def nearest_in_block(
    points: Points,
    training: Points,
    k: int,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield the k nearest of each row of a chunk in the block beside it.

    The pair with the first block carries the rows on."""
    with one_thread():
        for batch in batches:
            for i in range(batch.num_rows):
                key = batch.column(0)[i].as_py()
                first = batch.column(1)[i].as_py()
                chunk = _decoded(batch.column(2)[i])
                z = _decoded(batch.column(3)[i])["x"]
                num_blocks = batch.column(4)[i].as_py()
                x = chunk["x"]
                rows = points(x, -1 - np.arange(x.shape[0]))
                reference = training(z, first + np.arange(z.shape[0]))
                state: State = nearest(rows, reference, k).state()
                if num_blocks:
                    state["rows"] = chunk["rows"]
                    state["blocks"] = num_blocks
                yield _row(key, first, encode(state))


def finished_rows(
    finish: Callable[[Nearest], Mapping[str, Any]],
    names: Sequence[str],
    most_rows: int,
    batches: Iterable[pa.RecordBatch],
) -> Iterator[pa.RecordBatch]:
    """Yield the rows of a chunk with the new columns, from its partial results.

    Those of a chunk arrive one after the other; so many rows at most are finished at once."""
    cells = (
        (batch.column(0)[i].as_py(), batch.column(2)[i].as_py())
        for batch in batches
        for i in range(batch.num_rows)
    )
    for _, of_chunk in itertools.groupby(cells, lambda cell: cell[0]):
        parts: list[State] = [decode(data) for _, data in of_chunk]
        carriers = [part["rows"] for part in parts if "rows" in part]
        count = len(carriers)  # equal chunks share a key: each of them leaves
        num_blocks = next((part["blocks"] for part in parts if "blocks" in part), 0)
        if not count or len(parts) != count * num_blocks:
            raise DataError(
                "the data changed while they were read (another reading gave other rows): write "
                "them down first"
            )
        by_block = (
            Nearest.from_state({name: part[name] for name in ("keys", "ids", "squares")})
            for part in parts[::count]
        )
        best = functools.reduce(Nearest.merge, by_block)
        new_names = [f"__c{i}__" for i in range(len(names))]
        for first in range(0, len(best.ids), most_rows):
            columns = finish(best.take(slice(first, first + most_rows)))
            for data in carriers:
                with pa.ipc.open_stream(pa.py_buffer(data.tobytes())) as reader:
                    rows = reader.read_next_batch().slice(first, most_rows)
                arrays = [*rows.columns, *(lists_of(columns[name]) for name in names)]
                yield pa.RecordBatch.from_arrays(arrays, names=[*rows.schema.names, *new_names])
