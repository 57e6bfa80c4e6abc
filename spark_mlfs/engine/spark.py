"""Persisted blocks on the executors: every request is one job.

States are merged in each task, then on the driver, or, when they are many or large, by key on the
executors first."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np
from numpy import ndarray
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from ..blocks.block import Block, in_order_of_ids
from ..blocks.codec import State, decode
from ..blocks.coding import Coding
from ..blocks.pack import BLOCK_SCHEMA, Packed, at_once, collected, persist
from ..blocks.profile import Profile
from ..blocks.renumber import identified
from ..errors import ON_THE_DRIVER, must_fit
from ..kernels.information import CountLogs
from ..statistics.base import DEFAULT_BUDGETS, Budgets, FeatureShardedStatistic, Statistic, paste
from ..statistics.joint import CellInformation, cell_counts, few_cells
from ..statistics.quantiles import bracketed_quantiles
from ..statistics.targets import Target
from . import tasks
from .base import DIRECT_BYTES, Answer, Engine
from .tasks import STATE_SCHEMA

# of a worker's bytes: coded rows that are counted together, states that are merged in one task
ROWS_SHARE = 8
MOST_PIECES, PIECE_BYTES = 4096, 4096  # into how many a state is cut at most, and how small
SLICE_BYTES = 64 << 20  # of columns that are worked on in one task
POSITIONED = "position bigint, block binary"

Layout = str | tuple[Any, ...]  # which blocks a statistic reads


class SparkEngine(Engine):
    """Persisted blocks on the executors; every request is one job."""

    look_ahead = 8

    def __init__(self, packed: Packed, budgets: Budgets = DEFAULT_BUDGETS) -> None:
        super().__init__(packed.profile, budgets)
        self.packed = packed  # with unique ids, once they are needed
        self._as_packed = packed
        self.parallelism = max(2, packed.profile.partitions)
        self._frames: dict[Layout, tuple[DataFrame, bool]] = {}

    def release(self) -> None:
        """Give back the frames this engine persisted; the packed data are its owner's."""
        for layout in {key[0] for key in self._frames}:
            self._drop(layout)

    def _keep(self, key: Layout, make: Callable[[], DataFrame]) -> DataFrame:
        """Return the persisted frame of a layout, made at first.

        A plan takes 20 ms, and each count of each pick needs one."""
        if key not in self._frames:
            frame = make()
            self._frames[key] = (frame, persist(frame))
        return self._frames[key][0]

    def _relabel(self, varying: Profile) -> None:
        varying.without_grades_of_one()
        packed = self._as_packed
        if not packed.relabelled:
            task = partial(tasks.relabel, profile=self.profile, varying=varying)
            blocks = packed.frame.where("block is not null").select("number", "block")
            # its memo is that of other ids, where these are hashes of what is left
            varying_rows = replace(
                packed,
                frame=blocks.mapInArrow(task, BLOCK_SCHEMA),
                persisted=False,
                memo=[],
                relabelled=[],
                profile=varying,
            )
            packed.relabelled.append(varying_rows)
        self._as_packed = packed.relabelled[0]
        self.packed = self._as_packed

    def raw(self) -> DataFrame:
        """Return the blocks as they were packed: equal rows may share an id."""
        return self._rows(self._as_packed)

    def _rows(self, packed: Packed) -> DataFrame:
        rows = packed.blocks()
        if self.shift is None:
            return rows
        return rows.mapInArrow(partial(tasks.times, shift=self.shift), "block binary")

    def identified(self) -> DataFrame:
        """Return the blocks with ids that no two rows share (`blocks.identity`)."""
        if not self.packed.unique:
            known = bool(self.packed.memo)
            self.packed = identified(self.packed)
            self.cost.jobs += 0 if known else self.packed.memo[0][2]
        return self._rows(self.packed)

    def coded(self, coding: Coding) -> DataFrame:
        """Return the blocks discretised."""
        task = partial(tasks.recode, coding=coding)

        def recoded() -> DataFrame:
            return self.raw().mapInArrow(task, "block binary")

        return self._keep(("coded", coding.key), recoded)

    def by_cells(self, coding: Coding, selected: tuple[int, ...]) -> DataFrame:
        """Return coded blocks with every joint cell of `selected` in one of them."""
        task = partial(
            tasks.spread_cells, coding=coding, selected=selected, buckets=self.parallelism * 4
        )

        def gathered() -> DataFrame:
            spread = self.coded(coding).mapInArrow(task, POSITIONED)
            spread = spread.repartition(self.parallelism, "position")
            return spread.mapInArrow(tasks.gather_coded, "block binary")

        return self._keep(("cells", coding.key, selected), gathered)

    def _frame(self, statistic: Statistic) -> tuple[Layout, DataFrame]:
        """Return the layout a statistic reads and the frame of its blocks."""
        if statistic.layout == "rows":
            return "rows", self.raw()
        if statistic.layout == "identified":
            return "rows by id", self.identified()
        coding = statistic.coding
        if statistic.layout == "coded":
            return ("coded", coding.key), self.coded(coding)
        spread = self._spread_by_cells(coding, statistic.selected)
        if spread is not None:
            return spread, self._frames[spread][0]
        self._drop("cells")  # of another method's picks
        layout = ("cells", coding.key, statistic.selected)
        return layout, self.by_cells(coding, statistic.selected)

    def _spread_by_cells(self, coding: Coding, selected: tuple[int, ...]) -> Layout | None:
        """Return the layout that has every joint cell of `selected` in one block.

        It is spread by some of these features."""
        for key in self._frames:
            if key[0] == "cells" and key[1] == coding.key and set(key[2]) <= set(selected):
                return key
        return None

    def _drop(self, layout: str) -> None:
        """Give back the frames of a layout."""
        for key in [key for key in self._frames if key[0] == layout]:
            frame, persisted = self._frames.pop(key)
            if persisted:
                frame.unpersist()

    def _compute(self, statistics: dict[Hashable, Statistic]) -> dict[Hashable, Any]:
        sharded: dict[Hashable, FeatureShardedStatistic] = {}
        gathered: dict[Hashable, Statistic] = {}
        for key, statistic in statistics.items():
            if isinstance(statistic, FeatureShardedStatistic):
                sharded[key] = statistic
            else:
                gathered[key] = statistic
        states = zip(gathered.items(), self.states(*gathered.values()), strict=True)
        out = {key: statistic.finish(state, self.profile) for (key, statistic), state in states}
        numbers = self._jobs([*sharded.values()], self._sharded_job)
        return out | dict(zip(sharded, numbers, strict=True))

    def states(self, *statistics: Statistic) -> list[State]:
        return self._jobs(statistics, self._job)

    def _jobs(
        self, statistics: Sequence[Any], job: Callable[[DataFrame, list[Any], bool], list[Any]]
    ) -> list[Any]:
        """Return what a `job` over the blocks of each layout makes of the statistics that read it.

        In the statistics' order."""
        by_layout: dict[Layout, tuple[DataFrame, list[int]]] = {}
        for index, statistic in enumerate(statistics):
            layout, frame = self._frame(statistic)
            by_layout.setdefault(layout, (frame, []))[1].append(index)
        out: dict[int, Any] = {}
        for layout, (frame, members) in by_layout.items():
            shuffled = self.packed.shuffled or layout[0] == "cells"
            results = job(frame, [statistics[index] for index in members], shuffled)
            out |= dict(zip(members, results, strict=True))
        return [out[index] for index in range(len(statistics))]

    def _refuse(self, statistics: list[Statistic]) -> list[int]:
        sizes = super()._refuse(statistics)
        self._fit(
            statistics,
            sizes,
            "worker_bytes",
            self.budgets.worker,
            "in a worker process",
        )
        return sizes

    def _fit_pieces(self, statistic: Statistic, size: int) -> None:
        self._fit(
            [statistic],
            [size],
            "driver_bytes",
            self.budgets.driver,
            ON_THE_DRIVER,
        )

    def _job(self, frame: DataFrame, statistics: list[Statistic], shuffled: bool) -> list[State]:
        """Return the merged states over the blocks of `frame`; `shuffled`: see `at_once`."""
        sizes = self._refuse(statistics)
        worker = self.budgets.worker
        if len(statistics) > 1 and sum(sizes) > worker:
            # a task would have the states of all: one scan each
            return [self._job(frame, [statistic], shuffled)[0] for statistic in statistics]
        total = sum(sizes) * self.parallelism
        share = max(1, min(DIRECT_BYTES, worker // 4))
        is_direct = total <= share
        pieces = 1 if is_direct else self._pieces(max(sizes), share)
        views = [s.worker_view() for s in statistics]
        task = partial(tasks.partial_states, statistics=views, profile=self.profile, pieces=pieces)
        rows = frame.mapInArrow(task, STATE_SCHEMA)
        if not is_direct:
            # what a task merges lies side by side in it
            count = min(max(self.parallelism, 4 * total // worker), pieces * len(statistics))
            rows = rows.repartition(count, "statistic", "piece")
            rows = rows.mapInArrow(partial(tasks.merge_states, statistics=views), STATE_SCHEMA)
        parts = (
            ((row.statistic, row.piece), decode(bytes(row.state)))
            for row in self._collect(rows, shuffled)
        )
        merged = tasks.merged_states(statistics, parts)
        pieces_of: list[list[State]] = [[] for _ in statistics]
        for index, piece in sorted(merged):
            pieces_of[index].append(merged[index, piece])
        return [_pasted(states) for states in pieces_of]

    def _pieces(self, size: int, share: int) -> int:
        """Return into how many pieces states are cut that are merged on the executors."""
        finest = min(-(-size * self.parallelism // share), size // PIECE_BYTES, MOST_PIECES)
        return max(self.parallelism, finest)

    def _sharded_job(
        self, frame: DataFrame, statistics: list[FeatureShardedStatistic], shuffled: bool
    ) -> list[ndarray]:
        """Return the numbers of statistics that are finished range by range of features.

        That is done on the executors."""
        worker = self.budgets.worker
        edges = [self.edges_of(statistic) for statistic in statistics]
        shared: dict[str, Any] = {
            "statistics": [s.worker_view() for s in statistics],
            "profile": self.profile,
            "edges": edges,
        }
        task = partial(tasks.sharded_states, **shared, share=max(1, worker // ROWS_SHARE))
        rows = frame.mapInArrow(task, STATE_SCHEMA)
        # what a task takes in of the pieces of all tasks, at most
        total = sum(s.state_bytes(self.profile) for s in statistics) * self.parallelism
        pieces = sum(len(cuts) - 1 for cuts in edges)
        count = min(pieces, max(self.parallelism, -(-total * ROWS_SHARE // worker)))
        rows = rows.repartition(count, "statistic", "piece")
        rows = rows.mapInArrow(partial(tasks.reduce_shards, **shared), STATE_SCHEMA)
        numbers: list[dict[int, ndarray]] = [{} for _ in statistics]
        for row in self._collect(rows, shuffled):
            numbers[row.statistic][row.piece] = decode(bytes(row.state))["numbers"]
        return [
            statistic.gather(ranges.pop(piece) for piece in sorted(ranges))
            for statistic, ranges in zip(statistics, numbers, strict=True)
        ]

    def _collect(self, frame: DataFrame, shuffled: bool) -> list[Row]:
        """Return the rows of one job over the data, and count what they cost.

        `shuffled`: see `at_once`."""
        if shuffled:
            frame = at_once(frame)
        rows = collected(frame)
        self.cost.jobs += 1
        self.cost.scans += 1
        self.cost.driver_bytes += sum(len(row[-1]) for row in rows)
        return rows

    def cell_information(
        self,
        coding: Coding,
        target: Target,
        selected: tuple[int, ...],
        logs: CountLogs,
    ) -> ndarray:
        counts = cell_counts(coding, target, selected, logs)
        is_small = counts.state_bytes(self.profile) <= DIRECT_BYTES
        few = few_cells(coding, target, selected)
        if is_small and few and self._spread_by_cells(coding, selected) is None:
            return self.run(counts, keep=False)[0][0]
        return self.run(CellInformation(coding, target, selected, logs), keep=False)[0]

    def in_memory(self, work: Callable[[ndarray, Block], Answer]) -> Answer:
        self.refuse_weights("a method that goes over the rows themselves")
        size = 8 * self.profile.n * self.num_features
        rows = f"{self.profile.n} rows of {self.num_features} features in one task"
        remedy = "sample the rows, or screen the features first"
        needs = f"this needs all {rows},"
        must_fit(
            size,
            self.budgets.driver,
            "driver_bytes",
            needs,
            remedy,
        )
        self.cost.jobs += 1
        return tasks.run_in_one_task(self.packed, partial(tasks.in_memory, work=work), self.budgets)

    def gathered(self, beside: int = 0) -> Block:
        self.refuse_weights("a method that goes over the rows themselves")
        self.must_hold_rows(beside, *self.state_budget, "one process")
        rows = self._collect(self.identified(), False)
        return in_order_of_ids([Block.decode(bytes(row.block)) for row in rows])

    def over_labels(
        self, work: Callable[[Block, list[int]], State], beside: int = 0
    ) -> list[State]:
        self.refuse_weights("a method that goes over the rows themselves")
        self.must_hold_rows(beside, self.budgets.worker, "worker_bytes", "each task")
        q = self.profile.q
        count = min(q, self.parallelism)
        every_task = F.explode(F.array(*map(F.lit, range(count)))).alias("task")
        spread = self.identified().select(every_task, "block")
        spread = spread.repartitionByRange(count, "task")
        task = partial(tasks.over_labels, work=work, q=q, tasks=count)
        rows = self._collect(spread.mapInArrow(task, "state binary"), True)
        return [decode(bytes(row.state)) for row in rows]

    def over_columns(self, work: Callable[[ndarray, ndarray], ndarray], target: Target) -> ndarray:
        self.refuse_weights("a method that goes over the rows themselves")
        features = self.profile.varying
        by_size = -(-8 * self.profile.n * self.num_features // SLICE_BYTES)
        slices = min(len(features), max(self.parallelism, by_size))
        cut = partial(tasks.spread_columns, features=features, target=target, slices=slices)
        spread = self.identified().mapInArrow(cut, POSITIONED)
        spread = spread.repartition(self.parallelism, "position").sortWithinPartitions("position")
        worked = spread.mapInArrow(partial(tasks.work_on_columns, work=work), POSITIONED)
        rows = sorted(self._collect(worked, True), key=lambda row: row.position)
        return np.concatenate([decode(bytes(row.block))["result"] for row in rows])

    def quantiles(self, shares: ndarray) -> ndarray:
        def count(counts: Statistic) -> Any:
            return self.run(counts, keep=False)[0]

        return bracketed_quantiles(self.profile, shares, count)


def _pasted(pieces: list[State]) -> State:
    """Return the state that was cut into pieces, its int32 counts, as they travel, widened."""
    state = pieces[0] if len(pieces) == 1 else paste(pieces)
    return {name: _widened(value) for name, value in state.items()}


def _widened(value: Any) -> Any:
    if isinstance(value, ndarray) and value.dtype == np.int32:
        return value.astype(np.int64)
    return value
