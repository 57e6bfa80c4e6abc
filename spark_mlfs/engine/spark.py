"""Persisted blocks on the executors: every request is one job.

States are merged in each task, then on the driver, or, when they are many or large, by key on the
executors first."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Sequence
from functools import partial
from typing import Any

import numpy as np
from pyspark.sql import DataFrame, Row
from pyspark.sql import functions as F

from ..blocks.block import Block, in_order_of_ids
from ..blocks.codec import State, decode
from ..blocks.coding import Coding
from ..blocks.pack import Packed, at_once, collected, persist
from ..blocks.renumber import identified
from ..errors import must_fit
from ..kernels.information import CountLogs
from ..statistics.base import DEFAULT_BUDGETS, Budgets, FeatureShardedStatistic, Statistic, paste
from ..statistics.joint import CellInformation, cell_counts
from ..statistics.quantiles import bracketed_quantiles
from ..statistics.targets import Target
from . import tasks
from .base import DIRECT_BYTES, Answer, Engine
from .tasks import STATE_SCHEMA

# of a worker's bytes: coded rows that are counted together, states that are merged in one task
ROWS_SHARE = 8
MOST_PIECES, PIECE_BYTES = 4096, 4096  # into how many a state is cut at most, and how small
POSITIONED = "position bigint, block binary"

Layout = str | tuple[Any, ...]  # which blocks a statistic reads


class SparkEngine(Engine):
    """Persisted blocks on the executors; every request is one job."""

    look_ahead = 8

    def __init__(self, packed: Packed, budgets: Budgets = DEFAULT_BUDGETS) -> None:
        super().__init__(packed.profile, budgets)
        self.packed = self._given = packed
        self.parallelism = max(2, packed.profile.partitions)
        self._frames: dict[Layout, tuple[DataFrame, bool]] = {}

    def release(self) -> None:
        """Give back the frames this engine persisted; the packed data are its owner's."""
        for layout in {key[0] for key in self._frames}:
            self._drop(layout)

    def _keep(self, key: Layout, make: Callable[[], DataFrame]) -> DataFrame:
        """The persisted frame of a layout, made when first asked for: a plan takes 20 ms, and each
        count of each pick asks."""
        if key not in self._frames:
            frame = make()
            self._frames[key] = (frame, persist(frame))
        return self._frames[key][0]

    def raw(self) -> DataFrame:
        """The blocks as they were packed: equal rows may share an id."""
        return self._rows(self._given)

    def _rows(self, packed: Packed) -> DataFrame:
        rows = packed.blocks()
        return (
            rows
            if self.shift is None
            else rows.mapInArrow(partial(tasks.times, shift=self.shift), "block binary")
        )

    def identified(self) -> DataFrame:
        """The blocks with ids that no two rows share (`blocks.identity`)."""
        if not self.packed.unique:
            known = bool(self.packed.memo)
            self.packed = identified(self.packed)
            self.cost.jobs += 0 if known else self.packed.memo[0][2]
        return self._rows(self.packed)

    def coded(self, coding: Coding) -> DataFrame:
        """The blocks discretised."""
        task = partial(tasks.recode, coding=coding)
        return self._keep(
            ("coded", coding.key), lambda: self.raw().mapInArrow(task, "block binary")
        )

    def by_cells(self, coding: Coding, selected: tuple[int, ...]) -> DataFrame:
        """Coded blocks with every joint cell of `selected` in one of them."""
        task = partial(
            tasks.spread_cells, coding=coding, selected=selected, buckets=self.parallelism * 4
        )

        def gathered() -> DataFrame:
            spread = (
                self.coded(coding)
                .mapInArrow(task, POSITIONED)
                .repartition(self.parallelism, "position")
            )
            return spread.mapInArrow(tasks.gather_coded, "block binary")

        return self._keep(("cells", coding.key, selected), gathered)

    def _frame(self, statistic: Statistic) -> tuple[Layout, DataFrame]:
        """The layout a statistic reads and the frame of its blocks."""
        if statistic.layout == "rows":
            return "rows", self.raw()
        if statistic.layout == "identified":
            return "rows by id", self.identified()
        if statistic.layout == "coded":
            return ("coded", statistic.coding.key), self.coded(statistic.coding)
        spread = self._spread_by_cells(statistic.coding, statistic.selected)
        if spread is None:
            self._drop("cells")  # of another method's picks
            return (key := ("cells", statistic.coding.key, statistic.selected)), self.by_cells(
                statistic.coding, key[2]
            )
        return spread, self._frames[spread][0]

    def _spread_by_cells(self, coding: Coding, selected: tuple[int, ...]) -> Layout | None:
        """The frame whose blocks hold every joint cell of `selected` whole: one spread by some of
        these features."""
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
        sharded = {
            key: s for key, s in statistics.items() if isinstance(s, FeatureShardedStatistic)
        }
        whole = {key: s for key, s in statistics.items() if key not in sharded}
        states = zip(whole.items(), self.states(*whole.values()), strict=True)
        out = {key: statistic.finish(state, self.profile) for (key, statistic), state in states}
        return out | dict(
            zip(sharded, self._jobs([*sharded.values()], self._sharded_job), strict=True)
        )

    def states(self, *statistics: Statistic) -> list[State]:
        return self._jobs(statistics, self._job)

    def _jobs(
        self, statistics: Sequence[Any], job: Callable[[DataFrame, list[Any], bool], list[Any]]
    ) -> list[Any]:
        """What a `job` over the blocks of each layout makes of the statistics that read it, in
        their order."""
        by_layout: dict[Layout, tuple[DataFrame, list[int]]] = {}
        for index, statistic in enumerate(statistics):
            layout, frame = self._frame(statistic)
            by_layout.setdefault(layout, (frame, []))[1].append(index)
        out: dict[int, Any] = {}
        for layout, (frame, members) in by_layout.items():
            shuffled = self.packed.shuffled or layout[0] == "cells"
            out |= dict(
                zip(
                    members,
                    job(frame, [statistics[index] for index in members], shuffled),
                    strict=True,
                )
            )
        return [out[index] for index in range(len(statistics))]

    def _refuse(self, statistics: list[Statistic]) -> list[int]:
        sizes = super()._refuse(statistics)
        self._fit(statistics, sizes, "worker_bytes", self.budgets.worker, "in a worker process")
        return sizes

    def _job(self, frame: DataFrame, statistics: list[Statistic], shuffled: bool) -> list[State]:
        """The merged states over the blocks of `frame`; `shuffled`: see `at_once`."""
        sizes = self._refuse(statistics)
        if (
            len(statistics) > 1 and sum(sizes) > self.budgets.worker
        ):  # a task holds the states of all: one scan each
            return [self._job(frame, [statistic], shuffled)[0] for statistic in statistics]
        total, share = (
            sum(sizes) * self.parallelism,
            max(1, min(DIRECT_BYTES, self.budgets.worker // 4)),
        )
        direct = total <= share
        finest = min(
            -(-max(sizes) * self.parallelism // share), max(sizes) // PIECE_BYTES, MOST_PIECES
        )
        pieces = 1 if direct else max(self.parallelism, finest)
        views = [s.worker_view() for s in statistics]
        task = partial(tasks.partial_states, statistics=views, profile=self.profile, pieces=pieces)
        rows = frame.mapInArrow(task, STATE_SCHEMA)
        if not direct:
            # what a task merges lies side by side in it
            count = min(
                max(self.parallelism, 4 * total // self.budgets.worker), pieces * len(statistics)
            )
            rows = rows.repartition(count, "statistic", "piece")
            rows = rows.mapInArrow(partial(tasks.merge_states, statistics=views), STATE_SCHEMA)
        parts = (
            ((r.statistic, r.piece), decode(bytes(r.state))) for r in self._collect(rows, shuffled)
        )
        merged = sorted(tasks.merged_states(statistics, parts).items(), key=lambda item: item[0])
        pieces_of = [
            [state for (index, _), state in merged if index == number]
            for number in range(len(statistics))
        ]
        return [_writable(own[0] if len(own) == 1 else paste(own)) for own in pieces_of]

    def _sharded_job(
        self, frame: DataFrame, statistics: list[FeatureShardedStatistic], shuffled: bool
    ) -> list[np.ndarray]:
        """The numbers of statistics that are finished range by range of features, on the
        executors."""
        edges = [self.edges_of(statistic) for statistic in statistics]
        shared: dict[str, Any] = {
            "statistics": [s.worker_view() for s in statistics],
            "profile": self.profile,
            "edges": edges,
        }
        share = max(1, self.budgets.worker // ROWS_SHARE)
        rows = frame.mapInArrow(partial(tasks.sharded_states, **shared, share=share), STATE_SCHEMA)
        # what a task takes in of the pieces of all tasks, at most
        total = sum(s.state_bytes(self.profile) for s in statistics) * self.parallelism
        pieces = sum(len(cut) - 1 for cut in edges)
        count = min(pieces, max(self.parallelism, -(-total * ROWS_SHARE // self.budgets.worker)))
        merged = rows.repartition(count, "statistic", "piece").mapInArrow(
            partial(tasks.reduce_shards, **shared), STATE_SCHEMA
        )
        found = self._collect(merged, shuffled)
        out = []
        for index in range(len(statistics)):
            parts = {
                r.piece: decode(bytes(r.state))["numbers"] for r in found if r.statistic == index
            }
            out.append(np.concatenate([parts[piece] for piece in sorted(parts)], axis=1))
        return out

    def _collect(self, frame: DataFrame, shuffled: bool) -> list[Row]:
        """The rows of one job over the data, and what they cost; `shuffled`: see `at_once`."""
        rows = collected(at_once(frame) if shuffled else frame)
        self.cost.jobs += 1
        self.cost.scans += 1
        self.cost.driver_bytes += sum(len(row[-1]) for row in rows)
        return rows

    def cell_information(
        self, coding: Coding, target: Target, selected: tuple[int, ...], logs: CountLogs
    ) -> np.ndarray:
        few = cell_counts(coding, target, selected, logs)
        if (
            few.state_bytes(self.profile) <= DIRECT_BYTES
            and self._spread_by_cells(coding, selected) is None
        ):
            return self.run(few, keep=False)[0][0]
        return self.run(CellInformation(coding, target, selected, logs), keep=False)[0]

    def in_memory(self, work: Callable[[np.ndarray, Block], Answer]) -> Answer:
        self.unweighted("a method that goes over the rows themselves")
        size, needs = (
            8 * self.profile.n * self.num_features,
            f"{self.profile.n} rows of {self.num_features} features in one task",
        )
        remedy = "sample the rows, or screen the features first"
        must_fit(size, self.budgets.driver, "driver_bytes", f"this needs all {needs},", remedy)
        self.cost.jobs += 1
        return tasks.run_in_one_task(self.packed, partial(tasks.in_memory, work=work), self.budgets)

    def _must_fit(self, where: str) -> None:
        """`BudgetError` where all rows exceed the driver's budget."""
        needs, remedy = (
            f"this needs all {self.profile.n} rows in {where},",
            "sample the rows, or select features first",
        )
        must_fit(self.profile.size, self.budgets.driver, "driver_bytes", needs, remedy)

    def gathered(self) -> Block:
        self.unweighted("a method that goes over the rows themselves")
        self._must_fit("one process")
        return in_order_of_ids(
            [Block.decode(bytes(row.block)) for row in self._collect(self.identified(), False)]
        )

    def over_labels(self, work: Callable[[Block, list[int]], State]) -> list[State]:
        self.unweighted("a method that goes over the rows themselves")
        self._must_fit("each task")
        q, count = self.profile.q, min(self.profile.q, self.parallelism)
        spread = self.identified().select(
            F.explode(F.array(*map(F.lit, range(count)))).alias("task"), "block"
        )
        task = partial(tasks.over_labels, work=work, q=q, tasks=count)
        rows = self._collect(
            spread.repartitionByRange(count, "task").mapInArrow(task, "state binary"), True
        )
        return [decode(bytes(row.state)) for row in rows]

    def over_columns(
        self, work: Callable[[np.ndarray, np.ndarray], np.ndarray], target: Target
    ) -> np.ndarray:
        self.unweighted("a method that goes over the rows themselves")
        slices = min(
            len(self.profile.varying),
            max(self.parallelism, -(-8 * self.profile.n * self.num_features // (64 << 20))),
        )
        task = partial(
            tasks.spread_columns, features=self.profile.varying, target=target, slices=slices
        )
        spread = (
            self.identified().mapInArrow(task, POSITIONED).repartition(self.parallelism, "position")
        )
        worked = spread.sortWithinPartitions("position").mapInArrow(
            partial(tasks.work_on_columns, work=work), POSITIONED
        )
        rows = self._collect(worked, True)
        return np.concatenate(
            [decode(bytes(row.block))["result"] for row in sorted(rows, key=lambda r: r.position)]
        )

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        return bracketed_quantiles(
            self.profile, shares, lambda counts: self.run(counts, keep=False)[0]
        )


def _writable(state: State) -> State:
    """The state with int32 counts, as they travel, widened again."""
    return {
        name: value.astype(np.int64)
        if isinstance(value, np.ndarray) and value.dtype == np.int32
        else value
        for name, value in state.items()
    }
