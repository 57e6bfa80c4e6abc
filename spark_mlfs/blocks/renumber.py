"""Ids that no two rows share, on the cluster (`blocks.identity` says what they are).

One job that moves 8 bytes a row; where rows do repeat the blocks are written once more, with their
new ids. Which rows repeat travels with the task; where that is much, the blocks of a partition meet
what is shared of it in a shuffle."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from functools import partial

import numpy as np
import pyarrow as pa
from numpy import ndarray
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..errors import DataError, worker_errors
from ..frames.frame import Batches
from ..kernels.hashing import mix
from .block import Block
from .codec import binary_array, binary_cells, decode, encode, numbered_cells
from .identity import OCCURRENCE, SHARED, content_hashes, occurrence_ids, occurrences
from .pack import BLOCK_SCHEMA, Packed, block_row, collected, persist

SHARED_BYTES = 8 << 20  # of what is known of shared ids that travels with a task
_KEY = re.compile(r"share the row id (-?\d+);")


def with_row_value(error: DataError, packed: Packed) -> DataError:
    """Return the error of `with_unique_ids` with the id as it stands in the user's column."""
    key = _KEY.search(str(error))
    if key is None or packed.source is None:
        return error
    named = f"row id {packed.source.value(int(key[1]))} (column {packed.source.name!r});"
    return error.reworded(lambda text: text.replace(f"row id {key[1]};", named))


def identified(packed: Packed) -> Packed:
    """Return the packed data with ids that no two rows share.

    They are worked out once: one job where no row repeats."""
    if packed.unique:
        return packed
    if not packed.memo:
        packed.memo.append(_identify(packed))
    frame, _, _, shuffled = packed.memo[0]
    return replace(
        packed,
        frame=frame,
        unique=True,
        persisted=False,
        shuffled=packed.shuffled or shuffled,
    )


def _identify(packed: Packed) -> tuple[DataFrame, bool, int, bool]:
    """Return the frame of blocks with unique ids, and how it was made.

    Whether it was persisted for that, the jobs, whether blocks were shuffled. It depends on which
    rows are in a partition, not on their blocks: after the loss of an executor rows may come in
    another order."""
    parts = max(2, packed.profile.partitions)
    blocks = packed.frame.where("block is not null").select(
        F.spark_partition_id().alias("part"), "number", "block"
    )
    ids = blocks.mapInArrow(
        partial(spread_ids, buckets=parts), "bucket bigint, part int, ids binary"
    )
    shared = ids.repartition(parts, "bucket").mapInArrow(shared_ids, "part int, shared binary")
    shared_persisted = persist(shared)
    try:
        total = F.sum(F.length("shared")).alias("size")
        size = collected(shared.agg(total))[0].size
        if not size:
            return packed.frame, False, 1, False
        known: Known = None
        shuffled = size > SHARED_BYTES
        if shuffled:
            number = F.lit(-1).cast("bigint").alias("number")
            first = shared.select("part", number, F.col("shared").alias("block"))
            blocks = (
                blocks.unionByName(first)
                .repartition(parts, "part")
                .sortWithinPartitions("part", "number")
            )
        else:
            known = {}
            for row in collected(shared):
                known.setdefault(row.part, []).append(bytes(row.shared))
        if packed.profile.named_ids:
            hashed = partial(hash_duplicates, known=known)
            contents = blocks.mapInArrow(hashed, "id bigint, content bigint")
            _refuse_different(contents, packed)
        frame = blocks.mapInArrow(partial(renumbered, known=known), BLOCK_SCHEMA)
        persisted = persist(frame)
        if shuffled:
            with worker_errors():  # while the shared ids are there
                frame.where("block is null").count()
        return frame, persisted, 2 + packed.profile.named_ids, shuffled
    finally:
        if shared_persisted:
            shared.unpersist()


def _refuse_different(contents: DataFrame, packed: Packed) -> None:
    """Raise `DataError` where rows that differ share an id of the user's."""
    several = (
        contents.groupBy("id")
        .agg(F.min("content").alias("low"), F.max("content").alias("high"))
        .where("low != high")
    )
    worst = collected(several.agg(F.min("id").alias("id")))[0].id
    if worst is not None:
        raise with_row_value(DataError(SHARED.format(worst)), packed)


def spread_ids(batches: Batches, buckets: int) -> Batches:
    """Yield the ids of each block, cut by their hash: equal ids meet in one bucket."""
    for part, data in numbered_cells(batches, "part"):
        ids = Block.decode(data).ids
        bucket = (mix(ids, OCCURRENCE) % np.uint64(buckets)).astype(np.int64)
        order = np.argsort(bucket, kind="stable")
        edges = np.searchsorted(bucket[order], np.arange(buckets + 1))
        occupied = np.flatnonzero(np.diff(edges))
        by_bucket = ids[order]
        ids_of_buckets = [by_bucket[edges[b] : edges[b + 1]].tobytes() for b in occupied]
        cells = pa.array(ids_of_buckets, pa.binary())
        places = {
            "bucket": pa.array(occupied, pa.int64()),
            "part": pa.array([part] * len(occupied), pa.int32()),
        }
        yield pa.RecordBatch.from_pydict({**places, "ids": cells})


def shared_ids(batches: Batches) -> Batches:
    """Yield for every partition the ids that other rows have, too.

    With each how many rows of the partition, and of earlier ones, have it."""
    of_part: dict[int, list[ndarray]] = {}
    for part, data in numbered_cells(batches, "part", "ids"):
        of_part.setdefault(part, []).append(np.frombuffer(bytes(data), np.int64))
    owners = sorted(of_part)
    parts = [np.concatenate(of_part.pop(part)) for part in owners]
    ids = np.concatenate([np.zeros(0, np.int64), *parts])
    times = occurrences(ids)
    if times is None:
        return
    shared = np.unique(ids[times > 0])
    ends = np.cumsum([len(p) for p in parts])
    for part, ids_of_part, end in zip(owners, parts, ends, strict=True):
        distinct, first, count = np.unique(ids_of_part, return_index=True, return_counts=True)
        repeated = np.flatnonzero(np.isin(distinct, shared, assume_unique=True))
        if not len(repeated):
            continue
        state = encode(
            {
                "ids": distinct[repeated],
                "count": count[repeated].astype(np.int64),
                "earlier": times[end - len(ids_of_part) + first[repeated]],
            }
        )
        yield pa.RecordBatch.from_pydict(
            {"part": pa.array([part], pa.int32()), "shared": binary_array(state)}
        )


# the shared ids of each partition; None where they are block -1 of the partition
Known = dict[int, list[bytes]] | None


def _with_shared_ids(
    batches: Batches, known: Known
) -> Iterator[tuple[int, Block, SharedIds | None]]:
    """Yield every block with its number and the shared ids of its partition.

    These are the same object for all blocks of a partition."""
    states: list[bytes] = []
    current = None
    shared = None
    for batch in batches:
        parts = batch.column(0).to_pylist()
        numbers = batch.column(1).to_pylist()
        for part, number, data in zip(parts, numbers, binary_cells(batch, "block"), strict=True):
            if part != current:
                current = part
                shared = None
                states = list((known or {}).get(part, ()))
            if number < 0:
                states.append(bytes(data))
                continue
            if states:
                shared = SharedIds.of(states)
                states = []
            yield number, Block.decode(data), shared


@dataclass
class SharedIds:
    """The shared ids (m,) of a partition, ascending.

    `count` rows of it have each, and `earlier` rows of earlier ones; `renamed` of them have their
    new ids."""

    ids: ndarray
    count: ndarray
    earlier: ndarray
    renamed: ndarray

    @staticmethod
    def of(cells: list[bytes]) -> SharedIds:
        states = [decode(data) for data in cells]
        ids = np.concatenate([state["ids"] for state in states])
        count = np.concatenate([state["count"] for state in states])
        earlier = np.concatenate([state["earlier"] for state in states])
        order = np.argsort(ids)
        return SharedIds(ids[order], count[order], earlier[order], np.zeros(len(ids), np.int64))

    def renumbered(self, ids: ndarray) -> ndarray:
        """Return ids (n,) of rows of the partition that no other row has."""
        positions = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        rows = np.flatnonzero(self.ids[positions] == ids)
        shared = positions[rows]
        times = self.earlier[shared] + self.renamed[shared]
        within = occurrences(ids[rows])
        if within is not None:
            times = times + within
        self.renamed += np.bincount(shared, minlength=len(self.ids))
        unique = ids.copy()
        unique[rows] = occurrence_ids(ids[rows], times)
        return unique

    def check(self) -> None:
        """Raise `DataError` where the rows that were renumbered are not those that were counted."""
        if (self.renamed != self.count).any():
            raise DataError(
                "the data changed while they were read (another reading gave other rows): write "
                "them down first"
            )


def renumbered(batches: Batches, known: Known) -> Batches:
    """Yield blocks with the ids of their rows made unique."""
    last: SharedIds | None = None
    for number, block, shared in _with_shared_ids(batches, known):
        if last is not None and shared is not last:
            last.check()
        last = shared
        if shared is not None:
            block = replace(block, ids=shared.renumbered(block.ids))
        yield block_row(number, block.encode(), None)
    if last is not None:
        last.check()


def hash_duplicates(batches: Batches, known: Known) -> Batches:
    """Yield id and content hash of every row whose id another row has, too."""
    for _, block, shared in _with_shared_ids(batches, known):
        repeated = np.zeros(block.n, bool) if shared is None else np.isin(block.ids, shared.ids)
        rows = block.take(np.flatnonzero(repeated))
        contents = content_hashes(rows).view(np.int64)
        yield pa.RecordBatch.from_pydict({"id": pa.array(rows.ids), "content": pa.array(contents)})
