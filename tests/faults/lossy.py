"""Counts, moments and a greedy ranking on a two-executor cluster in one machine, while a worker or an executor is killed.

Run as a script with the kind of loss ("worker" or "executor"); prints one JSON line: what was killed, and whether everything
came out as without the loss.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path

from spark_mlfs import pipeline, read
from spark_mlfs.blocks.pack import pack
from spark_mlfs.engine.spark import SparkEngine
from spark_mlfs.session.local import local_session
from spark_mlfs.statistics.contingency import TwoWay
from spark_mlfs.statistics.moments import GroupMoments
from spark_mlfs.statistics.targets import Labels


def kill(loss: str, driver: int, note: str) -> None:
    """Kill this Python worker, or the executor it works for, once; never a process that is not the driver's descendant."""
    try:
        handle = os.open(note, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
    except FileExistsError:
        return
    import psutil

    me = psutil.Process()
    victim = me
    if loss == "executor":
        victim = next(p for p in me.parents() if "java" in p.name())
        assert victim.pid != driver and driver in [p.pid for p in victim.parents()]
    os.write(handle, f"{victim.name()} {victim.pid}".encode())
    os.close(handle)
    os.kill(victim.pid, signal.SIGKILL)


@dataclass
class LossyCounts(TwoWay):
    """Two-way counts that lose a process on the way."""

    loss: str = ""
    driver: int = 0
    note: str = ""

    def key(self):
        return "lossy", self.note

    def partial(self, block, profile):
        kill(self.loss, self.driver, self.note)
        return super().partial(block, profile)


@dataclass
class LossyMoments(GroupMoments):
    """Float sums by group of rows that lose a process on the way: the shuffle's output goes with it."""

    loss: str = ""
    driver: int = 0
    note: str = ""

    def key(self):
        return "lossy moments", self.note

    def partial(self, block, profile):
        kill(self.loss, self.driver, self.note)
        return super().partial(block, profile)


def main(loss: str) -> None:
    conf = {"spark.master": "local-cluster[2,1,1024]", "spark.executor.memory": "1024m", "spark.ui.enabled": "false"}
    spark = local_session("faults", conf | {"spark.sql.shuffle.partitions": "4"})
    import psutil

    driver = next(p for p in psutil.Process().children(recursive=True) if "java" in p.name()).pid
    frame = read.planted(spark, 4000, 30, 5, seed=2, num_partitions=6)
    folder = Path(tempfile.mkdtemp())
    packed = pack(frame, row_id="id")
    before = pipeline.rank(packed, [pipeline.Request.of("jmi", {}, 8)], small_bytes=0)[0].ranking
    engine = SparkEngine(packed)
    coding, target = engine.coding(), Labels(packed.profile.q)
    counts, moments = engine.run(TwoWay(coding, target), GroupMoments(target))
    lossy_counts, lossy_moments = (
        engine.run(LossyCounts(coding, target, loss=loss, driver=driver, note=str(folder / "counts")), keep=False)[0],
        engine.run(LossyMoments(target, loss=loss, driver=driver, note=str(folder / "moments")), keep=False)[0],
    )
    after = pipeline.rank(packed, [pipeline.Request.of("jmi", {}, 8)], small_bytes=0)[0].ranking
    engine.release()
    same = {
        "counts": counts.table.tobytes() == lossy_counts.table.tobytes(),
        "moments": moments.total.tobytes() == lossy_moments.total.tobytes(),
        "ranking": bool(before.equals(after)),
    }
    print(json.dumps({"killed": [(folder / n).read_text() for n in ("counts", "moments")], **same}))
    spark.stop()


if __name__ == "__main__":
    main(sys.argv[1])
