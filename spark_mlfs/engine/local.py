"""All rows in this process: what a small run uses inside its one task, and arrays without Spark."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Hashable, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial, reduce
from typing import Any, TypeVar

import numpy as np
from numpy import ndarray

from ..blocks.block import Block, in_order_of_ids, join
from ..blocks.codec import State
from ..blocks.coding import CodedBlock, Coding, code_block, concatenate_coded, in_runs
from ..blocks.dataset import InMemoryDataset
from ..blocks.folds import Split
from ..blocks.held import mapped
from ..blocks.identity import of_varying_labels, with_unique_ids
from ..blocks.profile import Profile, profile_block
from ..errors import ON_THE_DRIVER, ONE_WORKER, DataError, WorkerBudgetError, must_fit
from ..kernels.information import CountLogs
from ..kernels.matrix import dense
from ..statistics.base import DEFAULT_BUDGETS, Budgets, FeatureShardedStatistic, Statistic, cuts
from ..statistics.joint import CellInformation
from ..statistics.quantiles import exact_quantiles
from ..statistics.targets import Target
from .base import FEWER_NUMBERS, STREAMED_ENTRIES, Answer, Engine, can_stream_codes, one_thread

Item = TypeVar("Item")
PARTS_A_CORE = 4  # of rows in several blocks, at least
STORED_A_CORE = 1 << 20  # stored values from which a statistic is worth several cores
COLUMN_BYTES = 32 << 20  # of the columns that are worked on at once


def part_of(engine: LocalEngine, split: Split, tested: bool) -> LocalEngine:
    """Return an engine over the training or test rows of one that has all rows.

    These are folds inside one task."""
    rows = engine.identified()
    block = rows.take(np.flatnonzero(split.of(rows) == tested))
    if not block.n:
        side = "test" if tested else "training"
        raise DataError(f"{split.name} has no {side} rows; give fewer folds")
    profile = profile_block(block, engine.profile.q)
    profile.categories = engine.profile.categories
    profile.terms = engine.profile.terms
    profile.left_out = engine.profile.left_out
    part = LocalEngine(profile, [block], engine.budgets)
    part.leave_out_constant_labels()
    return part


class SizingEngine(Engine):
    """Knows the profile only: what a run will ask for first can be sized before it starts."""

    in_one_process = True

    def __init__(
        self, profile: Profile, budgets: Budgets = DEFAULT_BUDGETS, on_disk: bool = False
    ) -> None:
        super().__init__(profile, budgets)
        self.on_disk = on_disk

    def quantiles(self, shares: ndarray) -> ndarray:
        low = self.profile.low[self.profile.varying][:, None]
        high = self.profile.high[self.profile.varying][:, None]
        return low + (high - low) * shares  # any edges: sizes do not depend on them

    def fits(self, statistics: list[Statistic]) -> bool:
        """Return whether one process may take the rows and these statistics.

        As far as they do not grow with the labelsets."""
        fresh = [s for s in self.to_compute(statistics).values() if not s.by_labelset]
        sizes = [self.bytes_at_once(s) for s in fresh]
        return self.bytes_in_one_process(fresh, sizes) <= self.budgets.worker


class LocalEngine(Engine):
    """All rows in this process: kernels run on them one after the other, of many rows on `cores`
    parts at once."""

    in_one_process = True

    def __init__(
        self,
        profile: Profile,
        blocks: Sequence[Block],
        budgets: Budgets = DEFAULT_BUDGETS,
        cores: int = 1,
    ) -> None:
        super().__init__(profile, budgets)
        self.cores = cores if profile.nonzero > STORED_A_CORE else 1
        self._blocks = blocks
        self._identified: list[Block] = []  # all rows with unique ids, once they are needed
        self._parts: list[Block] = []
        self._coded: dict[tuple[int, str], list[CodedBlock]] = {}

    def rescale_extremes(self) -> bool:
        if super().rescale_extremes() and self.shift is not None:
            self.map_blocks(partial(Block.times, shift=self.shift))
        return self.shift is not None

    def _relabel(self, varying: Profile) -> None:
        varying.without_grades_of_one()
        self.map_blocks(partial(of_varying_labels, profile=self.profile, varying=varying))
        self._coded.clear()

    def map_blocks(self, work: Callable[[Block], Block]) -> None:
        """Go on with what `work` makes of each block."""
        self._blocks = mapped(self._blocks, work)
        self._parts = []
        self._identified = []

    @property
    def rows(self) -> Block:
        """All rows as one block; several are joined at first, and are one from then on."""
        if len(self._blocks) > 1:
            self._parts = []
        assert isinstance(self._blocks, list)
        return join(self._blocks)

    def _map(self, work: Callable[[Item], Answer], items: Sequence[Item]) -> list[Answer]:
        """Return `work` of some items, in order; of several on several cores."""
        if len(items) < 2:
            return [work(item) for item in items]

        def run(item: Item) -> Answer:
            with one_thread():  # some libraries count their threads for each of ours
                return work(item)

        with ThreadPoolExecutor(self.cores) as threads:
            return list(threads.map(run, items))

    def identified(self) -> Block:
        """Return all rows, with ids that no two of them share (`blocks.identity`)."""
        if not self._identified:
            self._identified = [with_unique_ids(self.rows, self.profile.named_ids)]
        return self._identified[0]

    def as_dataset(self) -> InMemoryDataset:
        """Return the rows as data of their own, with ids that no two of them share."""
        return InMemoryDataset(self.profile, blocks=[self.identified()], cores=self.cores)

    def _read(self, statistic: Statistic) -> Sequence[Any]:
        """Return the rows as a statistic reads them.

        On several cores in parts that share the work out."""
        if statistic.layout == "identified":
            return [self.identified()]
        self._parts = self._parts or self._cut()
        if statistic.layout == "rows":
            return self._parts
        coding = statistic.coding
        if coding.key not in self._coded:
            coded = self._map(partial(code_block, coding=coding), self._parts)
            self._coded[coding.key] = coded
        if coding.sparse and not isinstance(statistic, FeatureShardedStatistic):
            # sparse counts take long to add up: one part a core
            self._coded[coding.key] = in_runs(self._coded[coding.key], self.cores)
        if statistic.layout == "cells":  # of which no part has all rows
            self._coded[coding.key] = [concatenate_coded(self._coded[coding.key])]
        return self._coded[coding.key]

    def _cut(self) -> list[Block]:
        """Return runs of the rows; features are not copied."""
        if self.cores == 1 or len(self._blocks) == 1:
            return self.rows.parts(self.cores)
        count = -(-PARTS_A_CORE * self.cores // len(self._blocks))
        return [part for block in self._blocks for part in block.parts(count)]

    def _state(self, statistic: Statistic, spare: int, keeps_codes: bool) -> State:
        """Return the state of all rows.

        As many states of parts of them are folded at once as `spare` bytes hold beside the
        first."""
        streams = not keeps_codes and can_stream_codes(statistic)
        blocks: Sequence[Any] = self._streamed_runs() if streams else self._read(statistic)
        spare_states = spare // max(1, self.bytes_at_once(statistic))
        lanes = max(1, min(self.cores, len(blocks), 1 + spare_states))

        def folded(lane: int) -> Any:
            state = None
            for rows in blocks[lane::lanes]:
                block = _coded_run(rows, statistic.coding) if streams else rows
                state = statistic.fold(state, block, self.profile)
            return state

        return reduce(statistic.merge_into, self._map(folded, range(lanes)))

    def _streamed_runs(self) -> list[list[Block]]:
        """Return the rows in runs that are coded one after the other.

        Codes that were kept are let go for them."""
        self._coded.clear()
        most = STREAMED_ENTRIES // self.cores
        parts = [
            part for block in self._blocks for part in block.parts(-(-int(block.x.size) // most))
        ]
        edges = cuts(np.array([part.x.size for part in parts]), most)
        return [parts[first:last] for first, last in itertools.pairwise(edges)]

    def _refuse(self, statistics: list[Statistic]) -> list[int]:
        """Refuse as on the cluster what finishes on the driver.

        And everything together must fit this process."""
        sizes = self._sizes(statistics)
        for statistic, size in zip(statistics, sizes, strict=True):
            if statistic.layout == "identified" or statistic.quantised:
                self._fit(
                    [statistic],
                    [size],
                    "driver_bytes",
                    self.budgets.driver,
                    ON_THE_DRIVER,
                )
        size = self.bytes_in_one_process(statistics, sizes)
        largest = statistics[int(np.argmax(sizes))].name if sizes else ""
        needs = f"{largest} over {self.num_features} features and {self.profile.n} rows needs"
        must_fit(
            size,
            *self.state_budget,
            needs,
            FEWER_NUMBERS,
            f"in {ONE_WORKER}",
            WorkerBudgetError,
        )
        return sizes

    def _spare(self, statistics: list[Statistic]) -> tuple[int, bool]:
        """Return the bytes left beside what statistics need, and whether codes of all rows stay."""
        sizes = self._refuse(statistics)
        spare = self.budgets.worker - self.bytes_in_one_process(statistics, sizes)
        return spare, self.keeps_codes(statistics, sizes)

    def _compute(self, statistics: dict[Hashable, Statistic]) -> dict[Hashable, Any]:
        self.cost.scans += 1
        spare, keeps_codes = self._spare([*statistics.values()])
        out: dict[Hashable, Any] = {}
        for key, statistic in statistics.items():
            if isinstance(statistic, FeatureShardedStatistic):
                out[key] = self._sharded(statistic)
                continue
            out[key] = statistic.finish(self._state(statistic, spare, keeps_codes), self.profile)
        return out

    def states(self, *statistics: Statistic) -> list[State]:
        self.cost.scans += 1
        spare, keeps_codes = self._spare([*statistics])
        return [self._state(statistic, spare, keeps_codes) for statistic in statistics]

    def _sharded(self, statistic: FeatureShardedStatistic) -> ndarray:
        """Return the numbers of all features, range by range."""
        edges = self.edges_of(statistic)
        statistic = statistic.unmerged()
        shards = statistic.shards([*self._read(statistic)], self.profile, edges)
        ranges = zip(itertools.pairwise(edges.tolist()), shards, strict=True)
        return statistic.gather(
            statistic.reduce_shard(state, first, last, self.profile)
            for (first, last), state in ranges
        )

    def quantiles(self, shares: ndarray) -> ndarray:
        return exact_quantiles(self.rows.x, self.profile.varying, shares)

    def cell_information(
        self,
        coding: Coding,
        target: Target,
        selected: tuple[int, ...],
        logs: CountLogs,
    ) -> ndarray:
        return self.run(CellInformation(coding, target, selected, logs), keep=False)[0]

    def in_memory(self, work: Callable[[ndarray, Block], Answer]) -> Answer:
        self.refuse_weights("a method that goes over the rows themselves")
        size = 2 * self.profile.size + 16 * self.profile.n * self.profile.d
        rows = f"all {self.profile.n} rows of {self.num_features} features"
        remedy = "sample the rows, or screen the features first"
        needs = f"this needs {rows} in one process,"
        must_fit(
            size,
            *self.state_budget,
            needs,
            remedy,
            error=WorkerBudgetError,
        )
        block = in_order_of_ids([self.identified()])
        x = block.dense()[:, self.profile.varying].astype(np.float64)
        x -= x.mean(axis=0)
        x /= x.std(axis=0)
        return work(x, block)

    def gathered(self, beside: int = 0) -> Block:
        self.refuse_weights("a method that goes over the rows themselves")
        self.must_hold_rows(beside, *self.state_budget, ONE_WORKER)
        return in_order_of_ids([self.identified()])

    def over_labels(
        self, work: Callable[[Block, list[int]], State], beside: int = 0
    ) -> list[State]:
        return [work(self.gathered(beside), list(range(self.profile.q)))]

    def over_columns(self, work: Callable[[ndarray, ndarray], ndarray], target: Target) -> ndarray:
        self.refuse_weights("a method that goes over the rows themselves")
        block = self.identified()
        rows, groups = target.groups(block)
        order = np.argsort(block.ids[rows], kind="stable")
        x = block.x[rows[order]]
        groups = groups[order]
        features = self.profile.varying
        step = max(1, COLUMN_BYTES // (8 * max(1, len(rows))))
        out = []
        for first in range(0, len(features), step):
            part = x[:, features[first : first + step]]
            out.append(work(dense(part).astype(np.float64), groups))
        return np.concatenate(out)


def _coded_run(blocks: list[Block], coding: Coding) -> CodedBlock:
    return concatenate_coded([code_block(block, coding) for block in blocks])
