"""Where statistics are computed: one job for all of them, or one task for everything.

`Engine` is what a method sees: it asks for statistics and gets results. `LocalEngine` holds all rows in memory, inside one task.
`SparkEngine` runs one ``mapInArrow`` job per request over persisted blocks, whatever the number of statistics in it; states are
merged in each task, then on the driver, or, when they are many or large, by key on the executors first. Both give the same bits.
"""

from __future__ import annotations

import pickle
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from pyspark.sql import DataFrame
from pyspark.sql import functions as F
from threadpoolctl import ThreadpoolController

from ..errors import BudgetError, DataError, WorkerBudgetError, worker_errors
from ..prepare.blocks import Block, Packed, Profile, Spans, concatenate, persist
from ..prepare.identity import identified, with_row_value, with_unique_ids
from ..prepare.discretise import CodedBlock, Coding, code_block, concatenate_coded, inner_edges, plan_coding
from ..solvers.information import CountLogs
from . import cells, contingency
from .base import State, Statistic, binary_array, compact, cut, decode, encode, paste
from .quantiles import QuantileBounds, exact_quantiles, quantiles_from_bounds

SMALL_BYTES = 64 << 20  # data whose blocks are below this run as one task
DIRECT_BYTES = 64 << 20  # states of all tasks together that go straight to the driver
DRIVER_BYTES = 1 << 30  # one merged state that the driver takes
WORKER_BYTES = 1 << 30  # rows and states that one worker process holds
MOST_PIECES, PIECE_BYTES = 4096, 4096  # into how many a state is cut at most, and how small
CODING_BYTES = 72  # for each stored entry while sparse rows are coded in one process
CODED_BYTES = 8 << 20
STATE_SCHEMA = "statistic int, piece int, position bigint, state binary"


@contextmanager
def one_thread() -> Iterator[None]:
    """BLAS on one thread inside a task: Spark already runs one task per core."""
    with _thread_pools(len(sys.modules)).limit(limits=1):
        yield


@lru_cache(maxsize=1)
def _thread_pools(modules: int) -> ThreadpoolController:
    """The libraries with threads of this process. Finding them takes as long as a small task: once for what is imported."""
    return ThreadpoolController()


@dataclass
class Cost:
    """What a run has cost so far: Spark jobs started and passes over the data, bytes taken to the driver."""

    jobs: int = 0
    scans: int = 0
    driver_bytes: int = 0
    seconds: dict[str, float] = field(default_factory=dict)


class Engine:
    """What a method may ask of the data. Features are the varying ones, numbered 0..v-1 in their order."""

    ahead = 1  # how many link vectors a greedy method should ask for at once
    whole = False  # whether all rows are in this process
    driver_bytes = DRIVER_BYTES
    worker_bytes = WORKER_BYTES

    def __init__(self, profile: Profile) -> None:
        self.profile = profile
        self.kept_bytes = 0  # of the states whose results are kept, at most
        self.cost = Cost()
        self.progress: Callable[[str, int, int], None] | None = None
        self._results: dict[Hashable, Any] = {}
        self._codings: dict[tuple[int, str], Coding] = {}

    @property
    def count(self) -> int:
        """Number of varying features."""
        return len(self.profile.varying)

    def run(self, *statistics: Statistic) -> list[Any]:
        """The results of the statistics, in order; those not computed before share one scan."""
        fresh = {s.key(): s for s in statistics if s.key() not in self._results}
        if fresh:
            self._results.update(self._compute(fresh))
            self.kept_bytes += sum(s.state_bytes(self.profile) for s in fresh.values())
        return [self._results[s.key()] for s in statistics]

    def know(self, statistic: Statistic, result: Any) -> None:
        """`result` answers `statistic` from now on: it was had in another way."""
        self._results[statistic.key()] = result

    def once(self, *statistics: Statistic) -> list[Any]:
        """As `run`, for results nobody asks for twice: they are not kept."""
        found = self._compute({s.key(): s for s in statistics})
        return [found[s.key()] for s in statistics]

    def _compute(self, statistics: dict[Hashable, Statistic]) -> dict[Hashable, Any]:
        raise NotImplementedError

    def _refuse(self, statistics: list[Statistic]) -> list[int]:
        """The sizes of the states at most; `BudgetError` where one is above the budget."""
        sizes = self._sizes(statistics)
        self._fit_driver(statistics, sizes)
        return sizes

    def _fit_driver(self, statistics: list[Statistic], sizes: list[int]) -> None:
        for statistic, size in zip(statistics, sizes, strict=True):
            if size > self.driver_bytes:
                raise BudgetError(
                    f"{type(statistic).__name__} over {self.count} features needs {size >> 20} MB on the driver, more than "
                    f"driverBytes = {self.driver_bytes >> 20} MB: raise driverBytes, lower numBins where bins are counted, "
                    "or screen the features first (--screen chi2:10000)"
                )

    def _sizes(self, statistics: list[Statistic]) -> list[int]:
        """The sizes of the states at most. Those of sums by labelset follow from the number of labelsets: where that could
        decide, the labelsets are counted first."""
        sizes = [s.state_bytes(self.profile) for s in statistics]
        counts = contingency.LabelsetCounts()
        undecided = [s.by_labelset and s.key() != counts.key() for s in statistics]
        large = max((size for size, some in zip(sizes, undecided, strict=True) if some), default=0)
        if not self.profile.labelsets and large > min(DIRECT_BYTES, self.worker_bytes // 4, self.driver_bytes):
            (sets,) = self.run(counts)
            self.profile.labelsets = max(1, len(sets.counts))
            sizes = [s.state_bytes(self.profile) for s in statistics]
        return sizes

    def in_one_process(self, statistics: list[Statistic], sizes: list[int]) -> int:
        """Bytes that the rows, their codes, what is kept and the states take together in one process at most."""
        codes = [0]
        for coding in {id(c): c for s in statistics if (c := getattr(s, "coding", None)) is not None}.values():
            dense = self.profile.n * -(-len(coding.features) // coding.per_byte)
            codes.append(CODING_BYTES * self.profile.nonzero if coding.sparse else dense)
        return 2 * self.profile.size + max(codes) + self.kept_bytes + sum(sizes) + max(sizes, default=0)

    def coding(self, num_bins: int = 5, binning: str = "width") -> Coding:
        """The discretisation of the training data."""
        key = (num_bins, binning)
        if key not in self._codings:
            edges = None
            if binning == "quantile":
                shares = np.arange(1, num_bins) / num_bins
                edges = inner_edges(self.quantiles(shares))
            self._codings[key] = plan_coding(self.profile, num_bins, binning, edges)
        return self._codings[key]

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        """(v, len(shares)) exact quantiles of the varying features, linear interpolation."""
        raise NotImplementedError

    def cell_information(self, coding: Coding, target: Any, selected: tuple[int, ...], logs: CountLogs) -> np.ndarray:
        """(v,) I(f; target | X_S) in nats, S = `selected` jointly."""
        raise NotImplementedError

    def over_columns(self, work: Callable[[np.ndarray, np.ndarray], np.ndarray], target: Any) -> np.ndarray:
        """`work(values (rows, w), groups (rows,))` over slices of complete columns of the varying features, for the rows that
        `target` puts into a group; its results end to end."""
        raise NotImplementedError

    def in_memory(self, work: Callable[[np.ndarray, Block], Any]) -> Any:
        """`work(x, block)` with all rows in one memory: x (n, v) standardised, rows in the order of their ids."""
        raise NotImplementedError

    def gathered(self) -> Block:
        """All rows in the order of their ids, in this process; `BudgetError` where they exceed its budget."""
        raise NotImplementedError

    def over_labels(self, work: Callable[[Block, list[int]], State]) -> list[State]:
        """`work(all rows in the order of their ids, some labels)` until every label has had its turn: side by side where there
        are several tasks, each of which then holds all rows."""
        raise NotImplementedError

    def labels(self) -> contingency.Labels:
        """Binary relevance: all rows, each label, and each label's unknown rows where there are any."""
        p = self.profile
        watch = range(p.q) if p.unlabelled else np.flatnonzero(p.unknown)
        return contingency.Labels(p.q, tuple(int(i) for i in watch))

    def logs(self, n: int | None = None, correction: str = "none") -> CountLogs:
        """Fixed-point c log c for counts up to n (all rows)."""
        return CountLogs(self.profile.n if n is None else n, 8 * (self.profile.q + 2), correction)


class Outline(Engine):
    """Knows the profile only: what a run will ask for first can be sized before it starts."""

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        low, high = (ends[self.profile.varying][:, None] for ends in (self.profile.low, self.profile.high))
        return low + (high - low) * shares  # any edges: sizes do not depend on them

    def fits(self, statistics: list[Statistic], worker_bytes: int) -> bool:
        """Whether one process may hold the rows and these statistics; what grows with the labelsets is left to a process that
        can count them."""
        statistics = [s for s in statistics if not s.by_labelset]
        return self.in_one_process(statistics, [s.state_bytes(self.profile) for s in statistics]) <= worker_bytes


class LocalEngine(Engine):
    """All rows in this process: the kernels run on them one after the other, no job in between."""

    whole = True

    def __init__(
        self, profile: Profile, blocks: list[Block], driver_bytes: int = DRIVER_BYTES, worker_bytes: int = WORKER_BYTES
    ) -> None:
        super().__init__(profile)
        self.driver_bytes, self.worker_bytes = driver_bytes, worker_bytes
        self.rows = concatenate(blocks)
        self._identified = False
        self._coded: dict[tuple[int, str], CodedBlock] = {}
        self._spans: dict[Spans, list[list[Block]]] = {}

    def identified(self) -> Block:
        """All rows, with ids that no two of them share (`prepare.identity`)."""
        if not self._identified:
            self.rows, self._identified = with_unique_ids(self.rows, self.profile.named_ids), True
        return self.rows

    def _blocks(self, statistic: Statistic) -> list[list[Any]]:
        """The blocks of a statistic, span by span."""
        if statistic.layout == "rows":
            return [[self.rows]]
        if statistic.layout == "spans":
            return self.spans(statistic.spans(self.profile))
        coding = statistic.coding
        if coding.key not in self._coded:
            self._coded[coding.key] = code_block(self.rows, coding)
        return [[self._coded[coding.key]]]

    def _refuse(self, statistics: list[Statistic]) -> list[int]:
        """As on the cluster for what is summed over spans; and everything together must fit this process."""
        sizes = self._sizes(statistics)
        spans = [(s, size) for s, size in zip(statistics, sizes, strict=True) if s.layout == "spans"]
        self._fit_driver([s for s, _ in spans], [size for _, size in spans])
        size = self.in_one_process(statistics, sizes)
        if size > self.worker_bytes:
            largest = type(statistics[int(np.argmax(sizes))]).__name__
            raise WorkerBudgetError(
                f"{largest} over {self.count} features and {self.profile.n} rows needs {size >> 20} MB in one worker process, "
                f"more than workerBytes = {self.worker_bytes >> 20} MB: raise workerBytes, lower numBins where bins are counted, "
                "or screen the features first (--screen chi2:10000)"
            )
        return sizes

    def spans(self, spans: Spans) -> list[list[Block]]:
        """All rows, span by span in chunks."""
        if spans not in self._spans:
            self._spans[spans] = [list(spans.chunks(block)) for _, block in spans.split(self.identified())]
        return self._spans[spans]

    def _compute(self, statistics: dict[Hashable, Statistic]) -> dict[Hashable, Any]:
        self.cost.scans += 1
        self._refuse(list(statistics.values()))
        out = {}
        for key, statistic in statistics.items():
            state: State | None = None
            for span in self._blocks(statistic):  # merged within a span first, as tasks do
                inner: State | None = None
                for block in span:
                    inner = statistic.fold(inner, block, self.profile)
                state = inner if state is None else statistic.merge(state, inner)
            out[key] = statistic.finish(state, self.profile)
        return out

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        return exact_quantiles(self.rows.x, self.profile.varying, shares)

    def cell_information(self, coding: Coding, target: Any, selected: tuple[int, ...], logs: CountLogs) -> np.ndarray:
        return self.once(cells.CellInformation(coding, target, selected, logs))[0]

    def in_memory(self, work: Callable[[np.ndarray, Block], Any]) -> Any:
        size = 2 * self.profile.size + 16 * self.profile.n * self.profile.d
        if size > self.worker_bytes:
            raise WorkerBudgetError(
                f"this needs all {self.profile.n} rows of {self.count} features in one process, {size >> 20} MB, more than "
                f"workerBytes = {self.worker_bytes >> 20} MB: raise workerBytes, sample the rows, or screen the features first"
            )
        block = _sorted([self.identified()])
        x = block.dense()[:, self.profile.varying].astype(np.float64)
        x -= x.mean(axis=0)
        x /= x.std(axis=0)
        return work(x, block)

    def gathered(self) -> Block:
        return _sorted([self.identified()])

    def over_labels(self, work: Callable[[Block, list[int]], State]) -> list[State]:
        return [work(self.gathered(), list(range(self.profile.q)))]

    def over_columns(self, work: Callable[[np.ndarray, np.ndarray], np.ndarray], target: Any) -> np.ndarray:
        block = self.identified()
        rows, groups = target.groups(block)
        order = np.argsort(block.ids[rows], kind="stable")
        x = block.x[rows[order]]
        features = self.profile.varying
        step = max(1, (32 << 20) // (8 * max(1, len(rows))))
        out = []
        for a in range(0, len(features), step):
            part = x[:, features[a : a + step]]
            out.append(work((part.toarray() if sp.issparse(part) else part).astype(np.float64), groups[order]))
        return np.concatenate(out)


class SparkEngine(Engine):
    """Persisted blocks on the executors; every request is one job."""

    ahead = 8

    def __init__(self, packed: Packed, driver_bytes: int = DRIVER_BYTES, worker_bytes: int = WORKER_BYTES) -> None:
        super().__init__(packed.profile)
        self.packed = packed
        self.driver_bytes, self.worker_bytes = driver_bytes, worker_bytes
        self.parallelism = max(2, packed.profile.partitions)
        self._frames: dict[Hashable, tuple[DataFrame, bool]] = {}

    def release(self) -> None:
        for layout in {key[0] for key in self._frames}:
            self._drop(layout)

    def _keep(self, key: Hashable, frame: DataFrame) -> DataFrame:
        if key not in self._frames:
            self._frames[key] = (frame, persist(frame))
        return self._frames[key][0]

    def raw(self) -> DataFrame:
        """The blocks as they were packed: equal rows may share an id."""
        return self.packed.frame.where("block is not null").select("block")

    def identified(self) -> DataFrame:
        """The blocks with ids that no two rows share (`prepare.identity`)."""
        if not self.packed.unique:
            known = bool(self.packed.memo)
            self.packed = identified(self.packed)
            self.cost.jobs += 0 if known else self.packed.memo[0][2]
        return self.raw()

    def coded(self, coding: Coding) -> DataFrame:
        return self._keep(("coded", coding.key), self.raw().mapInArrow(Recode(coding), "block binary"))

    def in_spans(self, spans: Spans) -> DataFrame:
        """Raw blocks in the order of the spans: (position, chunk, block), a span's chunks together and in order."""
        if ("spans", spans) in self._frames:
            return self._frames["spans", spans][0]
        spread = self.identified().mapInArrow(SpreadSpans(spans), "position bigint, block binary")
        tasks = min(spans.count, self.parallelism)
        gathered = spread.repartition(tasks, "position").sortWithinPartitions("position")
        chunks = gathered.mapInArrow(GatherSpans(spans), "position bigint, chunk bigint, block binary")
        return self._keep(("spans", spans), chunks)

    def by_cells(self, coding: Coding, selected: tuple[int, ...]) -> DataFrame:
        """Coded blocks with every joint cell of `selected` in one of them."""
        spread = self.coded(coding).mapInArrow(
            SpreadCells(coding, selected, self.parallelism * 4), "position bigint, block binary"
        )
        gathered = spread.repartition(self.parallelism, "position")
        return self._keep(("cells", coding.key, selected), gathered.mapInArrow(gather_coded, "block binary"))

    def _frame(self, statistic: Statistic) -> tuple[Hashable, DataFrame]:
        if statistic.layout == "rows":
            return "rows", self.raw()
        if statistic.layout == "spans":
            spans = statistic.spans(self.profile)
            return ("spans", spans), self.in_spans(spans)
        if statistic.layout == "coded":
            return ("coded", statistic.coding.key), self.coded(statistic.coding)
        spread = self._spread_by_cells(statistic.coding, statistic.selected)
        if spread is None:
            self._drop("cells")  # of another method's picks
            return (key := ("cells", statistic.coding.key, statistic.selected)), self.by_cells(statistic.coding, key[2])
        return spread, self._frames[spread][0]

    def _spread_by_cells(self, coding: Coding, selected: tuple[int, ...]) -> Hashable | None:
        """The frame whose blocks hold every joint cell of `selected` whole: one spread by some of these features, since finer cells
        split within a block."""
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
        jobs: dict[Hashable, tuple[DataFrame, list[tuple[Hashable, Statistic]]]] = {}
        for key, statistic in statistics.items():
            place, frame = self._frame(statistic)
            in_order = statistic.layout == "spans" and statistic.ordered
            spans = statistic.spans(self.profile).count if in_order else 0
            jobs.setdefault((place, spans), (frame, []))[1].append((key, statistic))
        out: dict[Hashable, Any] = {}
        for (_, spans), (frame, members) in jobs.items():
            states = self._job(frame, [s for _, s in members], spans)
            for (key, statistic), state in zip(members, states, strict=True):
                out[key] = statistic.finish(state, self.profile)
        return out

    def _refuse(self, statistics: list[Statistic]) -> list[int]:
        sizes = super()._refuse(statistics)
        for statistic, size in zip(statistics, sizes, strict=True):
            if size > self.worker_bytes:
                raise BudgetError(
                    f"{type(statistic).__name__} over {self.count} features needs {size >> 20} MB in a worker process, more than "
                    f"workerBytes = {self.worker_bytes >> 20} MB: raise workerBytes, lower numBins where bins are counted, or "
                    "screen the features first (--screen chi2:10000)"
                )
        return sizes

    def _job(self, frame: DataFrame, statistics: list[Statistic], spans: int) -> list[State]:
        sizes = self._refuse(statistics)
        if len(statistics) > 1 and sum(sizes) > self.worker_bytes:  # a task holds the states of all: one scan each
            return [self._job(frame, [statistic], spans)[0] for statistic in statistics]
        copies = spans or self.parallelism
        total, share = sum(sizes) * copies, max(1, min(DIRECT_BYTES, self.worker_bytes // 4))
        direct = total <= share
        finest = min(-(-max(sizes) * copies // share), max(sizes) // PIECE_BYTES, MOST_PIECES)
        pieces = 1 if direct else max(self.parallelism, finest)
        task = Partials([s.lean() for s in statistics], self.profile, pieces, bool(spans))
        rows = frame.mapInArrow(task, STATE_SCHEMA)
        if not direct:
            merge = MergeStates([s.lean() for s in statistics])
            # what a task merges lies side by side in it
            tasks = min(max(self.parallelism, 4 * total // self.worker_bytes), pieces * len(statistics))
            rows = rows.repartition(tasks, "statistic", "piece").mapInArrow(merge, STATE_SCHEMA)
        started = time.perf_counter()
        with worker_errors():
            found = rows.collect()
        self.cost.jobs += 1
        self.cost.scans += 1
        self.cost.driver_bytes += sum(len(row.state) for row in found)
        self.cost.seconds["statistics"] = self.cost.seconds.get("statistics", 0.0) + time.perf_counter() - started
        return collect_states(statistics, [(r.statistic, r.piece, r.position, r.state) for r in found], pieces)

    def cell_information(self, coding: Coding, target: Any, selected: tuple[int, ...], logs: CountLogs) -> np.ndarray:
        few = cells.CellCounts(coding, target, selected, logs)
        if few.state_bytes(self.profile) <= DIRECT_BYTES and self._spread_by_cells(coding, selected) is None:
            return self.once(few)[0]
        return self.once(cells.CellInformation(coding, target, selected, logs))[0]

    def in_memory(self, work: Callable[[np.ndarray, Block], Any]) -> Any:
        size = 8 * self.profile.n * self.count
        if size > self.driver_bytes:
            raise BudgetError(
                f"this needs all {self.profile.n} rows of {self.count} features in one task, {size >> 20} MB, more than "
                f"driverBytes = {self.driver_bytes >> 20} MB: raise driverBytes, sample the rows, or screen the features first"
            )
        self.cost.jobs += 1
        return run_in_one_task(self.packed, InMemory(work), self.driver_bytes, self.worker_bytes)

    def _must_fit(self, where: str) -> None:
        if self.profile.size > self.driver_bytes:
            raise BudgetError(
                f"this needs all {self.profile.n} rows in {where}, {self.profile.size >> 20} MB, more than driverBytes = "
                f"{self.driver_bytes >> 20} MB: raise driverBytes, sample the rows, or select features first"
            )

    def gathered(self) -> Block:
        self._must_fit("one process")
        with worker_errors():
            found = self.identified().collect()
        self.cost.jobs += 1
        self.cost.scans += 1
        self.cost.driver_bytes += sum(len(row.block) for row in found)
        return _sorted([Block.decode(bytes(row.block)) for row in found])

    def over_labels(self, work: Callable[[Block, list[int]], State]) -> list[State]:
        self._must_fit("each task")
        q = self.profile.q
        tasks = min(q, self.parallelism)
        spread = self.identified().withColumn("task", F.explode(F.array(*(F.lit(i) for i in range(tasks))))).select("task", "block")
        rows = spread.repartitionByRange(tasks, "task").mapInArrow(OverLabels(work, q, tasks), "state binary")
        with worker_errors():
            found = rows.collect()
        self.cost.jobs += 1
        self.cost.scans += 1
        return [decode(bytes(row.state)) for row in found]

    def over_columns(self, work: Callable[[np.ndarray, np.ndarray], np.ndarray], target: Any) -> np.ndarray:
        slices = min(len(self.profile.varying), max(self.parallelism, -(-8 * self.profile.n * self.count // (64 << 20))))
        spread = self.identified().mapInArrow(SpreadColumns(self.profile.varying, target, slices), "position bigint, block binary")
        gathered = spread.repartition(self.parallelism, "position").sortWithinPartitions("position")
        with worker_errors():
            rows = gathered.mapInArrow(WorkOnColumns(work), "position bigint, block binary").collect()
        self.cost.jobs += 1
        self.cost.scans += 1
        return np.concatenate([decode(bytes(row.block))["result"] for row in sorted(rows, key=lambda r: r.position)])

    def quantiles(self, shares: np.ndarray) -> np.ndarray:
        bounds = QuantileBounds.start(self.profile, shares)
        while not bounds.done:
            (counts,) = self.once(bounds.statistic())
            bounds = bounds.narrow(counts)
        return quantiles_from_bounds(bounds)


def collect_states(statistics: list[Statistic], rows: list[tuple[int, int, int, Any]], pieces: int) -> list[State]:
    """Merge the states that arrived, each statistic's in the order of their positions."""
    out = []
    for index, statistic in enumerate(statistics):
        parts: list[State] = []
        for piece in range(pieces):
            state: State | None = None
            for _, _, _, data in sorted((r for r in rows if r[0] == index and r[1] == piece), key=lambda r: r[2]):
                part = decode(bytes(data))
                state = part if state is None else statistic.merge(state, part)
            if state is not None:
                parts.append(state)
        state = parts[0] if len(parts) == 1 else paste(parts)
        out.append(_writable(state))
    return out


def _writable(state: State) -> State:
    return {
        name: value.astype(np.int64) if isinstance(value, np.ndarray) and value.dtype == np.int32 else value
        for name, value in state.items()
    }


def _binary(batch: pa.RecordBatch, name: str) -> Iterator[memoryview]:
    for value in batch.column(batch.schema.get_field_index(name)):
        yield memoryview(value.as_buffer())


def _blocks(data: memoryview) -> Any:
    state = decode(data)
    return CodedBlock.from_state(state) if "n" in state else Block.from_state(state)


@dataclass
class Partials:
    """Worker side of a job: the statistics' states over the blocks of a task (per block where `ordered`)."""

    statistics: list[Statistic]
    profile: Profile
    pieces: int
    ordered: bool

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        states: list[State | None] = [None] * len(self.statistics)
        with one_thread():
            position: int | None = None
            for batch in batches:
                places = batch.column(0).to_pylist() if self.ordered else None
                for number, data in enumerate(_binary(batch, "block")):
                    if places is not None and position is not None and places[number] != position:
                        yield from self._emit(states, position)
                        states = [None] * len(self.statistics)
                    position = places[number] if places is not None else 0
                    block = _blocks(data)
                    for index, statistic in enumerate(self.statistics):
                        states[index] = statistic.fold(states[index], block, self.profile)
            if position is not None:
                yield from self._emit(states, position)

    def _divide(self, index: int) -> bool:
        return self.pieces > 1 and self.statistics[index].divisible

    def _emit(self, states: list[State | None], position: int) -> Iterator[pa.RecordBatch]:
        for index, state in enumerate(states):
            for piece, part in enumerate(cut(state, self.pieces) if self._divide(index) else [state]):
                yield _state_row(index, piece, position, part)


def _state_row(index: int, piece: int, position: int, state: State) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array([index], pa.int32()),
            pa.array([piece], pa.int32()),
            pa.array([position], pa.int64()),
            binary_array(encode(compact(state))),
        ],
        names=["statistic", "piece", "position", "state"],
    )


@dataclass
class MergeStates:
    """Worker side of a merge by key: all states of one piece of one statistic, in the order of their positions."""

    statistics: list[Statistic]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: dict[tuple[int, int], list[tuple[int, bytes]]] = {}
        merged: dict[tuple[int, int], State] = {}
        for batch in batches:
            statistic, piece, position = (batch.column(i).to_pylist() for i in range(3))
            for number, data in enumerate(batch.column(3)):
                key = statistic[number], piece[number]
                if self.statistics[key[0]].exact:  # in any order: only the sum is held
                    part = decode(data.as_py())
                    merged[key] = self.statistics[key[0]].merge(merged[key], part) if key in merged else part
                else:
                    held.setdefault(key, []).append((position[number], data.as_py()))
        for (index, piece), state in merged.items():
            yield _state_row(index, piece, 0, state)
        for (index, piece), parts in held.items():
            state: State | None = None
            for _, data in sorted(parts, key=lambda p: p[0]):
                part = decode(data)
                state = part if state is None else self.statistics[index].merge(state, part)
            yield _state_row(index, piece, 0, state)


@dataclass(frozen=True)
class Recode:
    """Raw blocks to coded blocks of a size the counting kernels like."""

    coding: Coding

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: list[CodedBlock] = []
        size = 0
        for batch in batches:
            for data in _binary(batch, "block"):
                coded = code_block(Block.decode(data), self.coding)
                size += coded.codes.nbytes if coded.codes is not None else coded.onehot.indices.nbytes
                held.append(coded)
                if size >= CODED_BYTES:
                    yield _block_row(concatenate_coded(held).encode())
                    held, size = [], 0
        if held:
            yield _block_row(concatenate_coded(held).encode())


def _block_row(data: bytes, position: int | None = None) -> pa.RecordBatch:
    if position is None:
        return pa.RecordBatch.from_arrays([binary_array(data)], names=["block"])
    return pa.RecordBatch.from_arrays([pa.array([position], pa.int64()), binary_array(data)], names=["position", "block"])


@dataclass(frozen=True)
class SpreadSpans:
    """Raw blocks cut by the span of their rows."""

    spans: Spans

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for data in _binary(batch, "block"):
                for span, part in self.spans.split(Block.decode(data)):
                    yield _block_row(part.encode(), span)


@dataclass(frozen=True)
class GatherSpans:
    """The parts of each span (they arrive together) as chunks sorted by row id."""

    spans: Spans

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        span: int | None = None
        held: list[Block] = []
        for batch in batches:
            for place, data in zip(batch.column(0).to_pylist(), _binary(batch, "block"), strict=True):
                if held and place != span:
                    yield from self._chunks(held, span)
                    held = []
                span = place
                held.append(Block.decode(bytes(data)))
        if held:
            yield from self._chunks(held, span)

    def _chunks(self, held: list[Block], span: int) -> Iterator[pa.RecordBatch]:
        for number, chunk in enumerate(self.spans.chunks(_sorted(held))):
            yield pa.RecordBatch.from_arrays(
                [pa.array([span], pa.int64()), pa.array([number], pa.int64()), binary_array(chunk.encode())],
                names=["position", "chunk", "block"],
            )


def _sorted(blocks: list[Block]) -> Block:
    block = concatenate(blocks)
    return block.take(np.argsort(block.ids, kind="stable"))


@dataclass(frozen=True)
class SpreadCells:
    """Coded blocks cut by the hash of their rows' joint cell of some features."""

    coding: Coding
    selected: tuple[int, ...]
    buckets: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        from ..prepare.blocks import mix

        for batch in batches:
            for data in _binary(batch, "block"):
                block = CodedBlock.decode(data)
                cell = np.zeros(block.n, np.uint64)
                for s in self.selected:
                    cell = mix(cell.view(np.int64)) + block.feature(self.coding, s)
                bucket = (mix(cell.view(np.int64)) % np.uint64(self.buckets)).astype(np.int64)
                for b in np.unique(bucket):
                    yield _block_row(block.take(np.flatnonzero(bucket == b)).encode(), int(b))


def gather_coded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All coded parts of a task as one block."""
    held = [CodedBlock.decode(bytes(data)) for batch in batches for data in _binary(batch, "block")]
    if held:
        yield _block_row(concatenate_coded(held).encode())


@dataclass(frozen=True)
class SpreadColumns:
    """Raw blocks cut into slices of columns, with row ids and groups."""

    features: np.ndarray
    target: Any
    slices: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            for data in _binary(batch, "block"):
                block = Block.decode(data)
                rows, groups = self.target.groups(block)
                x = block.x[rows]
                for index, features in enumerate(np.array_split(self.features, self.slices)):
                    yield _block_row(encode({"x": x[:, features], "ids": block.ids[rows], "groups": groups}), index)


@dataclass(frozen=True)
class WorkOnColumns:
    """All parts of a slice of columns, rows in the order of their ids, through a function."""

    work: Callable[[np.ndarray, np.ndarray], np.ndarray]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        place: int | None = None
        held: list[State] = []
        with one_thread():
            for batch in batches:
                for position, data in zip(batch.column(0).to_pylist(), _binary(batch, "block"), strict=True):
                    if held and position != place:
                        yield self._result(held, place)
                        held = []
                    place = position
                    held.append(decode(bytes(data)))
            if held:
                yield self._result(held, place)

    def _result(self, parts: list[State], place: int) -> pa.RecordBatch:
        ids = np.concatenate([p["ids"] for p in parts])
        order = np.argsort(ids, kind="stable")
        x = np.concatenate([p["x"].toarray() if sp.issparse(p["x"]) else p["x"] for p in parts])[order]
        groups = np.concatenate([p["groups"] for p in parts])[order]
        return _block_row(encode({"result": self.work(x.astype(np.float64), groups)}), place)


@dataclass(frozen=True)
class OverLabels:
    """Worker side of `Engine.over_labels`: the blocks of a task together, and its share of the labels, dealt in turn."""

    work: Callable[[Block, list[int]], State]
    q: int
    tasks: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        held: dict[int, list[Block]] = {}
        for batch in batches:
            for task, data in zip(batch.column(0).to_pylist(), _binary(batch, "block"), strict=True):
                held.setdefault(task, []).append(Block.decode(bytes(data)))
        with one_thread():
            for task, blocks in held.items():
                state = self.work(_sorted(blocks), list(range(task, self.q, self.tasks)))
                yield pa.RecordBatch.from_arrays([binary_array(encode(state))], names=["state"])


@dataclass(frozen=True)
class InMemory:
    """`Engine.in_memory` inside a task."""

    work: Callable[[np.ndarray, Block], Any]

    def __call__(self, engine: LocalEngine) -> Any:
        return engine.in_memory(self.work)


@dataclass
class InOneTask:
    """Worker side of a small run: every block in one task, the whole method there, its result pickled."""

    work: Callable[[LocalEngine], Any]
    profile: Profile
    driver_bytes: int
    worker_bytes: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        blocks = [Block.decode(bytes(data)) for batch in batches for data in _binary(batch, "block")]
        with one_thread():
            try:
                found = self.work(LocalEngine(self.profile, blocks, self.driver_bytes, self.worker_bytes))
            except WorkerBudgetError as error:  # an answer: the cluster would run a failed task again
                found = error
            result = pickle.dumps(found, protocol=5)
        yield pa.RecordBatch.from_arrays([binary_array(result)], names=["result"])


def run_in_one_task(
    packed: Packed, work: Callable[[LocalEngine], Any], driver_bytes: int = DRIVER_BYTES, worker_bytes: int = WORKER_BYTES
) -> Any:
    """`work(engine)` over all rows, in one task of one job; its result here. `WorkerBudgetError` where the task may not hold what
    the work asks for."""
    rows = packed.frame.where("block is not null").select("block").coalesce(1)
    try:
        with worker_errors():
            (row,) = rows.mapInArrow(InOneTask(work, packed.profile, driver_bytes, worker_bytes), "result binary").collect()
    except DataError as error:
        raise with_row_value(error, packed) from None
    found = pickle.loads(bytes(row.result))
    if isinstance(found, WorkerBudgetError):
        raise found
    return found
