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
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..errors import DataError, worker_errors
from ..frames.frame import Batches
from ..kernels.hashing import mix
from .block import Block
from .codec import binary_array, binary_cells, decode, encode, numbered_cells
from .identity import OCCURRENCE, SHARED, content_hashes, occurrence_ids, occurrences
from .pack import BLOCK_SCHEMA, Packed, block_row, collected, persist, row_value

SHARED_BYTES = 8 << 20  # of what is known of shared ids that travels with a task
_KEY = re.compile(r"share the row id (-?\d+);")


def with_row_value(error: DataError, packed: Packed) -> DataError:
    """The error of `with_unique_ids` naming the id as it stands in the user's column."""
    key = _KEY.search(str(error))
    if key is None or packed.source is None:
        return error
    value = row_value(packed.source, int(key[1]))
    return DataError(
        str(error).replace(f"row id {key[1]};", f"row id {value} (column {packed.source[1]!r});")
    )


def identified(packed: Packed) -> Packed:
    """The packed data with ids that no two rows share, worked out once: one job where no row
    repeats."""
    if packed.unique:
        return packed
    if not packed.memo:
        packed.memo.append(_identify(packed))
    frame, _, _, shuffled = packed.memo[0]
    return replace(
        packed, frame=frame, unique=True, persisted=False, shuffled=packed.shuffled or shuffled
    )


def _identify(packed: Packed) -> tuple[DataFrame, bool, int, bool]:
    """The frame of blocks with unique ids, whether it was persisted for that, the jobs, whether
    blocks were shuffled. It depends on which rows are in a partition, not on their blocks: after
    the loss of an executor rows may come in another order."""
    parts = max(2, packed.profile.partitions)
    blocks = packed.frame.where("block is not null").select(
        F.spark_partition_id().alias("part"), "number", "block"
    )
    ids = blocks.mapInArrow(
        partial(spread_ids, buckets=parts), "bucket bigint, part int, ids binary"
    )
    shared = ids.repartition(parts, "bucket").mapInArrow(shared_ids, "part int, shared binary")
    kept = persist(shared)
    try:
        size = collected(shared.agg(F.sum(F.length("shared")).alias("size")))[0].size
        if not size:
            return packed.frame, False, 1, False
        beside, known = blocks, dict[int, list[bytes]]() if size <= SHARED_BYTES else None
        if known is not None:
            for row in collected(shared):
                known.setdefault(row.part, []).append(bytes(row.shared))
        else:
            first = shared.select(
                "part", F.lit(-1).cast("bigint").alias("number"), F.col("shared").alias("block")
            )
            beside = (
                blocks.unionByName(first)
                .repartition(parts, "part")
                .sortWithinPartitions("part", "number")
            )
        if packed.profile.named_ids:
            _refuse_different(
                beside.mapInArrow(
                    partial(hash_duplicates, known=known), "id bigint, content bigint"
                ),
                packed,
            )
        frame, shuffled = (
            beside.mapInArrow(partial(renumbered, known=known), BLOCK_SCHEMA),
            beside is not blocks,
        )
        persisted = persist(frame)
        if shuffled:
            with worker_errors():  # while what it is made of is there
                frame.where("block is null").count()
        return frame, persisted, 2 + packed.profile.named_ids, shuffled
    finally:
        if kept:
            shared.unpersist()


def _refuse_different(contents: DataFrame, packed: Packed) -> None:
    """`DataError` where rows that differ share an id of the user's."""
    several = (
        contents.groupBy("id")
        .agg(F.min("content").alias("low"), F.max("content").alias("high"))
        .where("low != high")
    )
    worst = collected(several.agg(F.min("id").alias("id")))[0].id
    if worst is not None:
        raise with_row_value(DataError(SHARED.format(worst)), packed)


def spread_ids(batches: Batches, buckets: int) -> Batches:
    """The ids of each block, cut by their hash: equal ids meet in one bucket."""
    for part, data in numbered_cells(batches, "part"):
        ids = Block.decode(data).ids
        bucket = (mix(ids, OCCURRENCE) % np.uint64(buckets)).astype(np.int64)
        order = np.argsort(bucket, kind="stable")
        edges = np.searchsorted(bucket[order], np.arange(buckets + 1))
        occupied = np.flatnonzero(np.diff(edges))
        cells = pa.array(
            [ids[order[edges[b] : edges[b + 1]]].tobytes() for b in occupied], pa.binary()
        )
        places = {
            "bucket": pa.array(occupied, pa.int64()),
            "part": pa.array([part] * len(occupied), pa.int32()),
        }
        yield pa.RecordBatch.from_pydict({**places, "ids": cells})


def shared_ids(batches: Batches) -> Batches:
    """For every partition the ids that other rows have, too: how many of its rows, and of earlier
    partitions', have each."""
    of_part: dict[int, list[np.ndarray]] = {}
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
    for part, mine, end in zip(owners, parts, ends, strict=True):
        own, first, count = np.unique(mine, return_index=True, return_counts=True)
        here = np.flatnonzero(np.isin(own, shared, assume_unique=True))
        if len(here):
            earlier = times[end - len(mine) + first[here]]
            state = encode(
                {"ids": own[here], "count": count[here].astype(np.int64), "earlier": earlier}
            )
            yield pa.RecordBatch.from_pydict(
                {"part": pa.array([part], pa.int32()), "shared": binary_array(state)}
            )


Known = (
    dict[int, list[bytes]] | None
)  # the shared ids of each partition; None where they are block -1 of the partition


def _beside(batches: Batches, known: Known) -> Iterator[tuple[int, Block, SharedIds | None]]:
    """Every block with its number and the shared ids of its partition, the same object for all of
    them."""
    states: list[bytes] = []
    part, shared = None, None
    for batch in batches:
        parts, numbers = batch.column(0).to_pylist(), batch.column(1).to_pylist()
        for own, number, data in zip(parts, numbers, binary_cells(batch, "block"), strict=True):
            if own != part:
                part, shared, states = own, None, list((known or {}).get(own, ()))
            if number < 0:
                states.append(bytes(data))
                continue
            if states:
                shared, states = SharedIds.of(states), []
            yield number, Block.decode(data), shared


@dataclass
class SharedIds:
    """The shared ids (m,) of a partition, ascending: how many rows of it, and of earlier ones, have
    each; how many were `met`."""

    ids: np.ndarray
    count: np.ndarray
    earlier: np.ndarray
    met: np.ndarray

    @staticmethod
    def of(cells: list[bytes]) -> SharedIds:
        states = [decode(data) for data in cells]
        ids, count, earlier = (
            np.concatenate([s[name] for s in states]) for name in ("ids", "count", "earlier")
        )
        order = np.argsort(ids)
        return SharedIds(ids[order], count[order], earlier[order], np.zeros(len(ids), np.int64))

    def renumbered(self, ids: np.ndarray) -> np.ndarray:
        """Ids (n,) of rows of the partition that no other row has."""
        at = np.minimum(np.searchsorted(self.ids, ids), len(self.ids) - 1)
        rows = np.flatnonzero(self.ids[at] == ids)
        here = occurrences(ids[rows])
        times = self.earlier[at[rows]] + self.met[at[rows]] + (0 if here is None else here)
        self.met += np.bincount(at[rows], minlength=len(self.ids))
        out = ids.copy()
        out[rows] = occurrence_ids(ids[rows], times)
        return out

    def check(self) -> None:
        """`DataError` where the rows that were renumbered are not those that were counted."""
        if (self.met != self.count).any():
            raise DataError(
                "the data changed while they were read (another reading gave other rows): write "
                "them down first"
            )


def renumbered(batches: Batches, known: Known) -> Batches:
    """Blocks with the ids of their rows made unique."""
    last: SharedIds | None = None
    for number, block, shared in _beside(batches, known):
        if last is not None and shared is not last:
            last.check()
        last = shared
        if shared is not None:
            block = replace(block, ids=shared.renumbered(block.ids))
        yield block_row(number, block.encode(), None)
    if last is not None:
        last.check()


def hash_duplicates(batches: Batches, known: Known) -> Batches:
    """Id and content hash of every row whose id another row has, too."""
    for _, block, shared in _beside(batches, known):
        rows = block.take(np.flatnonzero(np.isin(block.ids, [] if shared is None else shared.ids)))
        yield pa.RecordBatch.from_pydict(
            {"id": pa.array(rows.ids), "content": pa.array(content_hashes(rows).view(np.int64))}
        )
