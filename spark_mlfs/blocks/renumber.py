"""Ids that no two rows share, on the cluster (`blocks.identity` says what they are).

One job that moves 8 bytes a row; where rows do repeat the blocks are written once more, with their new ids.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace

import numpy as np
import pyarrow as pa
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..errors import DataError, worker_errors
from .block import Block
from .codec import binary_array, binary_cells, decode, encode
from .identity import OCCURRENCE, SHARED, content_hashes, occurrence_ids, occurrences
from .pack import BLOCK_SCHEMA, Packed, persist, row_value
from .rowhash import mix

_KEY = re.compile(r"share the row id (-?\d+);")


def with_row_value(error: DataError, packed: Packed) -> DataError:
    """The error of `with_unique_ids` naming the id as it stands in the user's column."""
    key = _KEY.search(str(error))
    if key is None or packed.source is None:
        return error
    value = row_value(packed.source, int(key[1]))
    return DataError(str(error).replace(f"row id {key[1]};", f"row id {value} (column {packed.source[1]!r});"))


def identified(packed: Packed) -> Packed:
    """The packed data with ids that no two rows share, worked out once: one job where no row repeats."""
    if packed.unique:
        return packed
    if not packed.memo:
        packed.memo.append(_identify(packed))
    frame, _, _ = packed.memo[0]
    return replace(packed, frame=frame, unique=True, persisted=False, shuffled=frame is not packed.frame)


def _identify(packed: Packed) -> tuple[DataFrame, bool, int]:
    """The frame of blocks with unique ids, whether it was persisted for that, and the jobs it took."""
    parts = max(2, packed.profile.partitions)
    # a block is known by its partition and its number there
    blocks = packed.frame.where("block is not null").select(F.spark_partition_id().alias("part"), "number", "block")
    ids = blocks.mapInArrow(SpreadIds(parts), "bucket bigint, part int, number bigint, ids binary")
    shared = ids.repartition(parts, "bucket").mapInArrow(SharedIds(), "part int, number bigint, shared binary")
    kept = persist(shared)
    try:
        with worker_errors():
            repeats = shared.limit(1).count()
        if not repeats:
            return packed.frame, False, 1
        by_block = shared.groupBy("part", "number").agg(F.collect_list("shared").alias("shared"))
        beside = blocks.join(by_block, ["part", "number"], "left").select("number", "block", "shared")
        if packed.profile.named_ids:
            _refuse_different(beside, packed)
        frame = beside.mapInArrow(Renumber(), BLOCK_SCHEMA)
        persisted = persist(frame)
        with worker_errors():  # while what it is made of is there
            frame.where("block is null").count()
        return frame, persisted, 2 + packed.profile.named_ids
    finally:
        if kept:
            shared.unpersist()


def _refuse_different(beside: DataFrame, packed: Packed) -> None:
    """`DataError` where rows that differ share an id of the user's."""
    contents = beside.where("shared is not null").mapInArrow(ContentOfShared(), "id bigint, content bigint")
    several = contents.groupBy("id").agg(F.min("content").alias("low"), F.max("content").alias("high")).where("low != high")
    with worker_errors():
        worst = several.agg(F.min("id")).first()[0]
    if worst is not None:
        raise with_row_value(DataError(SHARED.format(worst)), packed)


@dataclass(frozen=True)
class SpreadIds:
    """The ids of each block, cut by their hash: equal ids meet in one bucket."""

    buckets: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            parts, numbers = batch.column(0).to_pylist(), batch.column(1).to_pylist()
            for part, number, data in zip(parts, numbers, binary_cells(batch, "block"), strict=True):
                ids = Block.decode(data).ids
                bucket = (mix(ids, OCCURRENCE) % np.uint64(self.buckets)).astype(np.int64)
                order = np.argsort(bucket, kind="stable")
                edges = np.searchsorted(bucket[order], np.arange(self.buckets + 1))
                occupied = np.flatnonzero(np.diff(edges))
                yield pa.RecordBatch.from_arrays(
                    [
                        pa.array(occupied, pa.int64()),
                        pa.array([part] * len(occupied), pa.int32()),
                        pa.array([number] * len(occupied), pa.int64()),
                        pa.array([ids[order[edges[b] : edges[b + 1]]].tobytes() for b in occupied], pa.binary()),
                    ],
                    names=["bucket", "part", "number", "ids"],
                )


@dataclass(frozen=True)
class SharedIds:
    """For every block the ids that other rows have, too: how many rows of it have each, and how many rows of earlier blocks."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        parts: list[np.ndarray] = []
        owners: list[tuple[int, int]] = []
        for batch in batches:
            owners += zip(batch.column(1).to_pylist(), batch.column(2).to_pylist(), strict=True)
            parts += [np.frombuffer(bytes(data), np.int64) for data in binary_cells(batch, "ids")]
        if not parts:
            return
        rank = sorted(range(len(owners)), key=owners.__getitem__)
        parts, owners = [parts[i] for i in rank], [owners[i] for i in rank]
        ids = np.concatenate(parts)
        times = occurrences(ids)
        if times is None:
            return
        shared = np.unique(ids[times > 0])
        ends = np.cumsum([len(p) for p in parts])
        for (part, number), mine, end in zip(owners, parts, ends, strict=True):
            own, first, count = np.unique(mine, return_index=True, return_counts=True)
            here = np.flatnonzero(np.isin(own, shared, assume_unique=True))
            if len(here):
                earlier = times[end - len(mine) + first[here]]
                state = encode({"ids": own[here], "count": count[here].astype(np.int64), "earlier": earlier})
                yield pa.RecordBatch.from_arrays(
                    [pa.array([part], pa.int32()), pa.array([number], pa.int64()), binary_array(state)],
                    names=["part", "number", "shared"],
                )


def _shared_of(cell: list[bytes] | None) -> dict[str, np.ndarray] | None:
    """The shared ids of a block, ascending, from the states of its buckets."""
    states = [decode(data) for data in cell or ()]
    if not states:
        return None
    joined = {name: np.concatenate([s[name] for s in states]) for name in ("ids", "count", "earlier")}
    order = np.argsort(joined["ids"])
    return {name: value[order] for name, value in joined.items()}


@dataclass(frozen=True)
class Renumber:
    """Blocks with the ids of their rows made unique."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            numbers, cells = batch.column(0).to_pylist(), batch.column(2)
            for number, data, cell in zip(numbers, binary_cells(batch, "block"), cells, strict=True):
                block, shared = Block.decode(data), _shared_of(cell.as_py())
                if shared is not None:
                    block = replace(block, ids=self._ids(block.ids, shared))
                yield pa.RecordBatch.from_arrays(
                    [pa.array([number], pa.int64()), binary_array(block.encode()), pa.array([None], pa.binary())],
                    names=["number", "block", "summary"],
                )

    def _ids(self, ids: np.ndarray, shared: dict[str, np.ndarray]) -> np.ndarray:
        at = np.minimum(np.searchsorted(shared["ids"], ids), len(shared["ids"]) - 1)
        rows = np.flatnonzero(shared["ids"][at] == ids)
        if not np.array_equal(np.bincount(at[rows], minlength=len(shared["ids"])), shared["count"]):
            raise DataError("the data changed while they were read (another reading gave other rows): write them down first")
        here = occurrences(ids[rows])
        times = shared["earlier"][at[rows]] + (0 if here is None else here)
        out = ids.copy()
        out[rows] = occurrence_ids(ids[rows], times)
        return out


@dataclass(frozen=True)
class ContentOfShared:
    """Id and content hash of every row whose id another row has, too."""

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for data, cell in zip(binary_cells(batch, "block"), batch.column(2), strict=True):
                block, shared = Block.decode(data), _shared_of(cell.as_py())
                rows = block.take(np.flatnonzero(np.isin(block.ids, shared["ids"])))
                yield pa.RecordBatch.from_arrays(
                    [pa.array(rows.ids, pa.int64()), pa.array(content_hashes(rows).view(np.int64), pa.int64())],
                    names=["id", "content"],
                )
