"""Rows that are read again, because an executor was lost, may come in another order and lie in
other blocks: what was worked out of the first reading must fit the second. What `lossy` tries by
killing executors, here without."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest
from pyspark.sql import functions as F

from spark_mlfs import DataError
from spark_mlfs.blocks import pack as packing
from spark_mlfs.blocks import renumber
from spark_mlfs.blocks.block import Block
from spark_mlfs.blocks.codec import binary_array, encode
from spark_mlfs.blocks.identity import with_unique_ids
from spark_mlfs.blocks.pack import collected, pack
from spark_mlfs.blocks.renumber import Known, identified, renumbered, shared_ids, spread_ids
from spark_mlfs.frames import sessions
from spark_mlfs.ml.training_blocks import by_hash, finished_rows
from spark_mlfs.testing import frame_of


def rows_of(ids) -> Block:
    ids = np.asarray(ids, np.int64)
    return Block(
        np.zeros((len(ids), 1)), ids, np.zeros(len(ids) + 1, np.int32), np.zeros(0, np.int32)
    )


def batches_of(partition: int, blocks: list[list[int]]) -> list[pa.RecordBatch]:
    """Blocks as `renumber` reads them."""
    return [
        pa.RecordBatch.from_arrays(
            [
                pa.array([partition], pa.int32()),
                pa.array([number], pa.int64()),
                binary_array(rows_of(ids).encode()),
            ],
            names=["part", "number", "block"],
        )
        for number, ids in enumerate(blocks)
    ]


def shared_of(*partitions: list[list[int]], buckets: int = 3) -> dict[int, list[bytes]]:
    """What a cluster finds out about blocks of partitions."""
    spread = [
        batch
        for i, blocks in enumerate(partitions)
        for batch in spread_ids(batches_of(i, blocks), buckets)
    ]
    known: dict[int, list[bytes]] = {}
    for bucket in range(buckets):
        in_bucket = (batch.filter(pa.compute.equal(batch.column(0), bucket)) for batch in spread)
        for batch in shared_ids(reversed([batch for batch in in_bucket if batch.num_rows])):
            for row in batch.to_pylist():
                known.setdefault(row["part"], []).append(row["shared"])
    return known


def ids_of(known: Known, batches: list[pa.RecordBatch]) -> list[int]:
    found = (
        Block.decode(row["block"]).ids
        for batch in renumbered(iter(batches), known)
        for row in batch.to_pylist()
    )
    return [int(i) for ids in found for i in ids]


FIRST, SECOND = (
    [[1, 2, 7], [2, 5, 5]],
    [[2, 9, 7], [8, 2]],
)  # blocks of two partitions; 2, 5 and 7 are shared


def test_ids_fit_rows_that_lie_in_other_blocks_when_they_are_read_again():
    expected = sorted(
        with_unique_ids(rows_of([id for ids in FIRST + SECOND for id in ids]), False).ids.tolist()
    )
    known = shared_of(FIRST, SECOND)
    after = [[5], [7, 5, 2, 2], [1]]  # the rows of the first partition
    found = ids_of(known, batches_of(0, after)) + ids_of(known, batches_of(1, SECOND))
    assert sorted(found) == expected and len(set(found)) == len(found)
    both = [
        pa.RecordBatch.from_arrays(
            [pa.array([i], pa.int32()), pa.array([-1], pa.int64()), binary_array(state)],
            ["part", "number", "block"],
        )
        for i in known
        for state in known[i]
    ]
    among = [
        *(b for b in both if b[0][0].as_py() == 1),
        *batches_of(1, SECOND),
        *(b for b in both if b[0][0].as_py() == 0),
    ]
    assert sorted(ids_of(None, among + batches_of(0, after))) == expected


@pytest.mark.parametrize("after", [[[1, 2, 7], [2, 5, 6]], [[1, 2, 7, 2, 5, 5, 5]], [[1, 6]]])
def test_rows_that_changed_are_told(after):
    with pytest.raises(DataError, match="write them down first"):
        ids_of(shared_of(FIRST, SECOND), batches_of(0, after))


@pytest.mark.parametrize("much", [False, True])
def test_repeated_rows_over_several_blocks(spark, monkeypatch, much):
    """What is shared travels with the task, or, where it is much, beside the blocks."""
    monkeypatch.setattr(packing, "BLOCK_BYTES", 1 << 12)
    monkeypatch.setattr(sessions, "BATCH_BYTES", 1 << 12)
    monkeypatch.setattr(packing, "ENOUGH_BYTES", 1 << 11)
    monkeypatch.setattr(renumber, "SHARED_BYTES", 0 if much else 1 << 20)
    rng = np.random.default_rng(0)
    x, y = rng.integers(0, 4, (900, 12)).astype(float), rng.integers(0, 2, (900, 3))
    x[600:], y[600:] = x[:300], y[:300]
    x[800:], y[800:] = x[0], y[0]
    frame = frame_of(spark, x, y).select("features", "labels").repartition(4)
    packed = pack(frame)
    own = identified(packed)
    ids = [
        Block.decode(bytes(row.block)).ids
        for row in own.frame.where("block is not null").select("block").collect()
    ]
    before = packed.frame.where("block is not null").select("block").collect()
    before = np.concatenate([Block.decode(bytes(row.block)).ids for row in before])
    assert own.shuffled is much and len(ids) > 8
    np.testing.assert_array_equal(
        np.sort(np.concatenate(ids)), np.sort(with_unique_ids(rows_of(before), False).ids)
    )
    packed.release()


@pytest.mark.slow
def test_profiles_merged_on_executors(spark, monkeypatch):
    rng = np.random.default_rng(0)
    frame = frame_of(spark, rng.normal(size=(300, 5)), rng.integers(0, 2, (300, 3))).repartition(5)
    expected = pack(frame).profile
    monkeypatch.setattr(packing, "SMALL_SUMMARY", 0)
    monkeypatch.setattr(packing, "WIDE_SUMMARIES", 1)
    found = pack(frame).profile
    assert bytes(found.encode()) == bytes(expected.encode()) and found.n == 300


class Rows:
    """A frame whose job Spark gives up a few times."""

    def __init__(self, message: str, times: int) -> None:
        self.message, self.times, self.tried = message, times, 0

    def collect(self) -> list[int]:
        self.tried += 1
        if self.tried <= self.times:
            raise RuntimeError(self.message)
        return [1]


ROLLBACK = (
    "Job aborted: A shuffle map stage ... However, Spark cannot rollback the ResultStage 3 "
    "to re-process the input data"
)


def test_a_job_that_spark_gives_up_is_begun_anew():
    assert collected(Rows(ROLLBACK, 2)) == [1]
    for rows, tried in ((Rows(ROLLBACK, 9), 3), (Rows("another error", 1), 1)):
        with pytest.raises(RuntimeError):
            collected(rows)
        assert rows.tried == tried


def test_chunks_are_the_same_whatever_the_order_of_the_rows(spark):
    rng = np.random.default_rng(0)
    x, y = np.repeat(rng.normal(size=(100, 3)), 3, axis=0), rng.integers(0, 2, (300, 2))
    frame = (
        frame_of(spark, x, y)
        .withColumn("a.b", F.lit("word"))
        .withColumn("m", F.create_map(F.lit(1), F.lit(2)))
    )

    def laid_out(rows):
        return (
            by_hash(rows)
            .select(F.spark_partition_id().alias("part"), *(f"`{c}`" for c in frame.columns))
            .collect()
        )

    first = laid_out(frame)
    assert len(first) == 300 and laid_out(frame.orderBy(F.rand(1))) == first == laid_out(
        frame.repartition(7)
    )


def test_a_chunk_that_has_not_met_every_block_is_told():
    parts = {
        "rows": np.zeros(3),
        "blocks": 2,
        "keys": np.zeros((1, 1)),
        "ids": np.zeros((1, 1)),
        "squares": np.zeros((1, 1)),
    }
    for part in (parts, {k: v for k, v in parts.items() if k not in ("rows", "blocks")}):
        cells = [pa.array([1]), pa.array([0]), binary_array(encode(part))]
        batch = pa.RecordBatch.from_arrays(cells, names=["key", "first", "data"])
        with pytest.raises(DataError, match="write them down first"):
            list(finished_rows(lambda nearest: {}, (), 1, [batch]))
