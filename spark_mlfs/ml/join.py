"""Rows of a frame against a training set that is too large for every task to hold: joined block by block.

The rows travel in chunks, whole (their Arrow bytes) and as a feature matrix. Every chunk meets every block of the training set, a
pair a row of a cross join, and keeps its k best; the partial results of a chunk come together by its key. A chunk must be the
same whenever its rows are read, also where a task is run again: the rows are laid out by their hash first."""

from __future__ import annotations

import functools
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
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
from ..errors import DataError, ParameterError
from ..kernels.knn import Rows
from ..kernels.matrix import Matrix
from ..kernels.nearest import Nearest, nearest
from .rows import refuse_taken, with_outputs

CHUNK_BYTES = 4 << 20  # of the rows of one chunk
BLOCK_BYTES = 8 << 20  # of the training rows of one block
FRAME_BLOCKS = 8  # handed to Spark at once
KEYED = "key bigint, first bigint, data binary"


def training_blocks(spark: SparkSession, x: Matrix) -> DataFrame:
    """(first, block): runs of the training rows as binary cells, each with the number of its first row."""
    size = x.data.nbytes + x.indices.nbytes if sp.issparse(x) else x.nbytes
    step = max(1, int(x.shape[0] * BLOCK_BYTES / max(1, size)))
    firsts, frames = range(0, x.shape[0], step), []
    for i in range(0, len(firsts), FRAME_BLOCKS):
        blocks = [(first, bytes(encode({"x": x[first : first + step]}))) for first in firsts[i : i + FRAME_BLOCKS]]
        frames.append(spark.createDataFrame(blocks, "first bigint, block binary"))
    return functools.reduce(DataFrame.unionByName, frames).repartitionByRange(max(1, -(-x.shape[0] // step)), "first")


def map_against(
    dataset: DataFrame,
    features: str,
    cells: FeatureCells,
    blocks: DataFrame,
    points: Callable[[Matrix, np.ndarray], Rows],
    training: Callable[[Matrix, np.ndarray], Rows],
    k: int,
    finish: Callable[[Nearest], Mapping[str, Any]],
    outputs: Mapping[str, str],
) -> DataFrame:
    """`dataset` with what `finish` makes of each row's k nearest training rows, as `rows.map_rows`; maybe in another order."""
    if dataset.isStreaming:
        raise ParameterError(
            "the training set is too large to travel to every task, and what joins it by blocks takes no stream: transform the "
            "batches, in writeStream.foreachBatch"
        )
    refuse_taken(dataset, outputs)
    vectors, extra = cells.vectors, "__spark_mlfs_features__"
    whole = by_hash(dataset if vectors else dataset.withColumn(extra, F.col(features).cast("array<double>")))
    chunks = whole.mapInArrow(RowChunks(features if vectors else extra, cells, not vectors), KEYED)
    chunks = chunks.repartition("key").withColumnRenamed("data", "chunk").withColumnRenamed("first", "nothing")
    start = blocks.agg(F.min("first").alias("start"), F.count("first").alias("blocks"))
    carries = F.when(F.col("first") == F.col("start"), F.col("blocks")).alias("carries")
    pairs = chunks.crossJoin(blocks.crossJoin(start)).select("key", "first", "chunk", "block", carries)
    partial = pairs.mapInArrow(NearestInBlock(points, training, k), KEYED)
    schema = T.StructType(list(dataset.schema.fields))
    for i, type_name in enumerate(outputs.values()):
        schema = schema.add(f"__c{i}__", T.ArrayType(T.IntegerType() if type_name == "array<int>" else T.DoubleType()))
    together = partial.repartition("key").sortWithinPartitions("key", "first")
    out = together.mapInArrow(FinishedRows(k, finish, tuple(outputs)), schema)
    out = with_outputs(out, outputs, "__c{}__").drop(*(f"__c{i}__" for i in range(len(outputs))))
    for field in dataset.schema.fields:  # names of vector slots do not pass through Arrow
        if field.metadata:
            out = out.withMetadata(field.name, field.metadata)
    return out


def by_hash(rows: DataFrame) -> DataFrame:
    """The rows in an order that is theirs, whatever order they come in."""
    key = "__spark_mlfs_hash__"
    kinds = {field.name: field.dataType.simpleString() for field in rows.schema.fields}
    names = [name for name, kind in kinds.items() if not any(unhashed in kind for unhashed in ("map<", "variant"))]
    spread = rows.withColumn(key, F.xxhash64(*("`" + name.replace("`", "``") + "`" for name in names))).repartition(key)
    return spread.sortWithinPartitions(key).drop(key)


@dataclass(frozen=True)
class RowChunks:
    """Arrow batches to chunks: the rows whole, and their features as a matrix."""

    features: str
    cells: FeatureCells
    drop: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            if not batch.num_rows:
                continue
            step = max(1, min(4096, int(batch.num_rows * CHUNK_BYTES / max(1, batch.nbytes))))
            for first in range(0, batch.num_rows, step):
                yield self._chunk(batch.slice(first, step))

    def _chunk(self, rows: pa.RecordBatch) -> pa.RecordBatch:
        column = rows.column(rows.schema.get_field_index(self.features))
        x = self.cells(column, None)
        if self.drop:
            keep = [i for i, name in enumerate(rows.schema.names) if name != self.features]
            rows = pa.RecordBatch.from_arrays([rows.column(i) for i in keep], names=[rows.schema.names[i] for i in keep])
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, rows.schema) as writer:
            writer.write_batch(rows)
        whole = sink.getvalue().to_pybytes()
        data = encode({"x": x, "rows": np.frombuffer(whole, np.uint8)})
        key = int.from_bytes(hashlib.blake2b(whole, digest_size=8).digest(), "little", signed=True)
        return _row(key, 0, data)


def _row(key: int, first: int, data: bytes | bytearray) -> pa.RecordBatch:
    cells = [pa.array([key], pa.int64()), pa.array([first], pa.int64()), binary_array(data)]
    return pa.RecordBatch.from_arrays(cells, names=["key", "first", "data"])


@dataclass(frozen=True)
class NearestInBlock:
    """Chunks beside blocks: the k best of each row; the pair of the first block carries the rows on."""

    points: Callable[[Matrix, np.ndarray], Rows]
    training: Callable[[Matrix, np.ndarray], Rows]
    k: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        with one_thread():
            for batch in batches:
                for i in range(batch.num_rows):
                    key, first = batch.column(0)[i].as_py(), batch.column(1)[i].as_py()
                    chunk, block = (decode(memoryview(batch.column(c)[i].as_buffer())) for c in (2, 3))
                    x, z = chunk["x"], block["x"]
                    rows = self.points(x, -1 - np.arange(x.shape[0]))
                    reference = self.training(z, first + np.arange(z.shape[0]))
                    state: State = nearest(rows, reference, self.k).state()
                    blocks = batch.column(4)[i].as_py()
                    if blocks:
                        state["rows"], state["blocks"] = chunk["rows"], blocks
                    yield _row(key, first, encode(state))


@dataclass(frozen=True)
class FinishedRows:
    """All partial results of a chunk (they arrive together) to its rows with the new columns."""

    k: int
    finish: Callable[[Nearest], Mapping[str, Any]]
    names: tuple[str, ...]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        key: int | None = None
        parts: list[State] = []
        for batch in batches:
            for i in range(batch.num_rows):
                own = batch.column(0)[i].as_py()
                if parts and own != key:
                    yield from self._rows(parts)
                    parts = []
                key = own
                parts.append(decode(batch.column(2)[i].as_py()))
        if parts:
            yield from self._rows(parts)

    def _rows(self, parts: list[State]) -> Iterator[pa.RecordBatch]:
        carriers = [part["rows"] for part in parts if "rows" in part]
        count = len(carriers)  # equal chunks share a key: each of them leaves
        if not count or len(parts) != count * next(part["blocks"] for part in parts if "blocks" in part):
            raise DataError("the data changed while they were read (another reading gave other rows): write them down first")
        own = parts[::count]
        nearest = (Nearest.from_state({name: part[name] for name in ("keys", "ids", "squares")}) for part in own)
        columns = self.finish(functools.reduce(Nearest.merge, nearest))
        for data in carriers:
            with pa.ipc.open_stream(pa.py_buffer(data.tobytes())) as reader:
                rows = reader.read_next_batch()
            arrays = [*rows.columns, *(lists_of(columns[name]) for name in self.names)]
            yield pa.RecordBatch.from_arrays(arrays, names=[*rows.schema.names, *(f"__c{i}__" for i in range(len(self.names)))])
