"""Work that is done label by label on the same rows: side by side on a cluster, each task holding a bounded sample of the rows.

The sample is the rows with the smallest seeded hashes of their ids among those whose labels are all known, the same on any
cluster; it goes from the tasks that hold it to the tasks that work on it, not through the driver.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import pyarrow as pa

from ..blocks.block import Block
from ..blocks.codec import State, binary_array, envelope
from ..blocks.profile import Profile
from ..blocks.rowhash import mix
from ..engine.base import Engine
from ..statistics.base import Statistic
from ..statistics.neighbours import anchors_of

Work = Callable[[Block, list[int]], State]


@dataclass
class SmallestHashes(Statistic):
    """The `count` smallest pairs (seeded hash, row id) of the rows whose labels are all known. State: 16 bytes a row."""

    count: int
    seed: int
    layout = "identified"
    divisible = False

    def _best(self, ids: np.ndarray) -> State:
        return {"ids": ids[np.lexsort((ids, mix(ids, self.seed)))[: self.count]]}

    def partial(self, block: Block, profile: Profile) -> State:
        return self._best(block.known().ids)

    def merge(self, left: State, right: State) -> State:
        return self._best(np.concatenate([left["ids"].astype(np.int64), right["ids"]]))

    def state_bytes(self, profile: Profile) -> int:
        return 8 * min(self.count, profile.n) + envelope(1)


@dataclass(frozen=True)
class RowsOfSample:
    """Worker side: of each block the known rows up to `last`, the id of the last row of the sample (None: all of them)."""

    seed: int
    last: int | None

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for cell in batch.column(0):
                block = Block.decode(memoryview(cell.as_buffer())).known()
                if self.last is not None:
                    mine, limit = mix(block.ids, self.seed), mix(np.array([self.last]), self.seed)
                    block = block.take(np.flatnonzero((mine < limit) | ((mine == limit) & (block.ids <= self.last))))
                if block.n:
                    yield pa.RecordBatch.from_arrays([binary_array(block.encode())], names=["block"])


def over_labels(engine: Engine, count: int, seed: int, work: Work) -> list[State]:
    """`work(rows, some labels)` until every label has had its turn, over the same at most `count` rows in the order of their ids.

    `work` must be picklable. `BudgetError` where the rows exceed what a task may hold.
    """
    if engine.in_one_process:
        return [work(anchors_of(engine, count, seed), list(range(engine.profile.q)))]
    from ..engine.spark import SparkEngine

    assert isinstance(engine, SparkEngine)
    profile = engine.profile
    last, kept = None, profile.n
    if profile.n > count:
        (smallest,) = engine.run(SmallestHashes(count, seed), keep=False)
        last, kept = int(smallest["ids"][-1]), len(smallest["ids"])
    rows = engine.identified().mapInArrow(RowsOfSample(seed, last), "block binary")
    fewer = dataclasses.replace(profile, n=kept, size=int(profile.size * kept / max(1, profile.n)) + 1)
    tasks = SparkEngine(dataclasses.replace(engine.packed, frame=rows, profile=fewer), engine.budgets)
    out = tasks.over_labels(work)
    engine.cost.jobs += tasks.cost.jobs
    engine.cost.scans += tasks.cost.scans
    engine.cost.driver_bytes += tasks.cost.driver_bytes
    return out
