"""Work on the workers: states of blocks, merges, and the rows laid out anew; all of it Arrow in, Arrow out."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ..blocks.block import Block, in_order_of_ids
from ..blocks.codec import Buffer, State, binary_array, binary_cells, decode, encode
from ..blocks.coding import CodedBlock, Coding, code_block, concatenate_coded
from ..blocks.pack import Packed
from ..blocks.profile import Profile
from ..blocks.renumber import with_row_value
from ..blocks.rowhash import mix
from ..errors import DataError, WorkerBudgetError, worker_errors
from ..statistics.base import DEFAULT_BUDGETS, Budgets, FeatureShardedStatistic, Statistic, compact, cut
from ..statistics.targets import Target
from .base import Answer, one_thread
from .base import side_by_side as side_by_side
from .local import LocalEngine

CODED_BYTES = 8 << 20  # of a coded block, about
STATE_SCHEMA = "statistic int, piece int, state binary"


def _cells(batches: Iterable[pa.RecordBatch]) -> Iterator[Buffer]:
    """The encoded blocks of a task."""
    for batch in batches:
        yield from binary_cells(batch, "block")


def _any_block(data: Buffer) -> Block | CodedBlock:
    """A raw or a coded block, as it was encoded."""
    state = decode(data)
    return CodedBlock.from_state(state) if "n" in state else Block.from_state(state)


@dataclass
class Partials:
    """Worker side of a job: the statistics' states over the blocks of a task."""

    statistics: list[Statistic]
    profile: Profile
    pieces: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        states: list[State | None] = [None] * len(self.statistics)
        with one_thread():
            for data in _cells(batches):
                block = _any_block(data)
                for index, statistic in enumerate(self.statistics):
                    states[index] = statistic.fold(states[index], block, self.profile)
            for index, state in enumerate(states):
                if state is None:  # no block came
                    continue
                divided = self.pieces > 1 and self.statistics[index].divisible
                for piece, part in enumerate(cut(state, self.pieces) if divided else [state]):
                    yield _state_row(index, piece, part)


def _state_row(index: int, piece: int, state: State) -> pa.RecordBatch:
    return pa.RecordBatch.from_arrays(
        [
            pa.array([index], pa.int32()),
            pa.array([piece], pa.int32()),
            binary_array(encode(compact(state))),
        ],
        names=["statistic", "piece", "state"],
    )


def _states(batches: Iterable[pa.RecordBatch]) -> Iterator[tuple[tuple[int, int], State]]:
    """((statistic, piece), state) of the rows that `_state_row` made."""
    for batch in batches:
        statistic, piece, states = (batch.column(i) for i in range(3))
        for key, data in zip(zip(statistic.to_pylist(), piece.to_pylist(), strict=True), states, strict=True):
            yield key, decode(data.as_py())


def merged_states(statistics: list[Statistic], states: Iterable[tuple[tuple[int, int], State]]) -> dict[tuple[int, int], State]:
    """The states of each (statistic, piece) merged."""
    merged: dict[tuple[int, int], State] = {}
    for key, part in states:
        merged[key] = statistics[key[0]].merge(merged[key], part) if key in merged else part
    return merged


@dataclass
class MergeStates:
    """Worker side of a merge by key: all states of one piece of one statistic."""

    statistics: list[Statistic]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for (index, piece), state in merged_states(self.statistics, _states(batches)).items():
            yield _state_row(index, piece, state)


@dataclass
class ShardedPartials:
    """Worker side of a job of sharded statistics: rows are kept up to `share` bytes, then counted range by range of features.

    `edges` of each statistic: where its features are cut."""

    statistics: list[FeatureShardedStatistic]
    profile: Profile
    edges: list[np.ndarray]
    share: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[Block | CodedBlock] = []
        size = 0
        with one_thread():
            for data in _cells(batches):
                waiting.append(_any_block(bytes(data)))  # a batch is not kept for a block of it
                size += len(data)
                if size >= self.share:
                    yield from self._emit(waiting)
                    waiting, size = [], 0
            if waiting:
                yield from self._emit(waiting)

    def _emit(self, blocks: list[Block | CodedBlock]) -> Iterator[pa.RecordBatch]:
        for index, (statistic, edges) in enumerate(zip(self.statistics, self.edges, strict=True)):
            for piece, state in enumerate(statistic.shards(blocks, self.profile, edges)):
                yield _state_row(index, piece, state)


@dataclass
class ReduceShards:
    """Worker side of the merge of sharded statistics: all states of a shard, merged and finished; the numbers go on."""

    statistics: list[FeatureShardedStatistic]
    profile: Profile
    edges: list[np.ndarray]

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        merged: dict[tuple[int, int], list[State]] = {}
        with one_thread():
            for key, part in _states(batches):
                self._take(key, merged.setdefault(key, []), part)
            for index, piece in sorted(merged):
                smallest_first = merged.pop((index, piece))[::-1]
                state = reduce(lambda last, part: self.statistics[index].merge(part, last), smallest_first)
                first, last = (int(edge) for edge in self.edges[index][piece : piece + 2])
                numbers = self.statistics[index].reduce_shard(state, first, last, self.profile)
                yield _state_row(index, piece, {"numbers": numbers})

    def _take(self, key: tuple[int, int], parts: list[State], part: State) -> None:
        """`part` with the others of its piece: those of like size are merged, so that none is added to often."""
        while parts and _size(parts[-1]) <= 2 * _size(part):
            part = self.statistics[key[0]].merge(parts.pop(), part)
        parts.append(part)


def _size(state: State) -> int:
    return sum(value.nnz if sp.issparse(value) else value.size for value in state.values() if hasattr(value, "dtype"))


@dataclass(frozen=True)
class Recode:
    """Raw blocks to coded blocks of a size the counting kernels like."""

    coding: Coding

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        waiting: list[CodedBlock] = []
        size = 0
        for data in _cells(batches):
            coded = code_block(Block.decode(data), self.coding)
            size += coded.onehot.indices.nbytes if coded.codes is None else coded.codes.nbytes
            waiting.append(coded)
            if size >= CODED_BYTES:
                yield _block_row(concatenate_coded(waiting).encode())
                waiting, size = [], 0
        if waiting:
            yield _block_row(concatenate_coded(waiting).encode())


@dataclass(frozen=True)
class Times:
    """Raw blocks with feature j multiplied by 2^`shift`[j]."""

    shift: np.ndarray

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for data in _cells(batches):
            yield _block_row(Block.decode(data).times(self.shift).encode())


def _block_row(data: Buffer, position: int | None = None) -> pa.RecordBatch:
    if position is None:
        return pa.RecordBatch.from_arrays([binary_array(data)], names=["block"])
    return pa.RecordBatch.from_arrays([pa.array([position], pa.int64()), binary_array(data)], names=["position", "block"])


@dataclass(frozen=True)
class SpreadCells:
    """Coded blocks cut by the hash of their rows' joint cell of some features."""

    coding: Coding
    selected: tuple[int, ...]
    buckets: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for data in _cells(batches):
            block = CodedBlock.decode(data)
            cell = np.zeros(block.n, np.uint64)
            for s in self.selected:
                cell = mix(cell.view(np.int64)) + block.feature(self.coding, s)
            bucket = (mix(cell.view(np.int64)) % np.uint64(self.buckets)).astype(np.int64)
            for b in np.unique(bucket):
                yield _block_row(block.take(np.flatnonzero(bucket == b)).encode(), int(b))


def gather_coded(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """All coded parts of a task as one block."""
    parts = [CodedBlock.decode(bytes(data)) for data in _cells(batches)]
    if parts:
        yield _block_row(concatenate_coded(parts).encode())


@dataclass(frozen=True)
class SpreadColumns:
    """Raw blocks cut into slices of columns, with row ids and groups."""

    features: np.ndarray
    target: Target
    slices: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for data in _cells(batches):
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
        index: int | None = None
        parts: list[State] = []
        with one_thread():
            for batch in batches:
                for position, data in zip(batch.column(0).to_pylist(), binary_cells(batch, "block"), strict=True):
                    if parts and position != index:
                        yield self._result(parts, index)
                        parts = []
                    index = position
                    parts.append(decode(bytes(data)))
            if parts:
                yield self._result(parts, index)

    def _result(self, parts: list[State], index: int | None) -> pa.RecordBatch:
        ids = np.concatenate([p["ids"] for p in parts])
        order = np.argsort(ids, kind="stable")
        x = np.concatenate([p["x"].toarray() if sp.issparse(p["x"]) else p["x"] for p in parts])[order]
        groups = np.concatenate([p["groups"] for p in parts])[order]
        return _block_row(encode({"result": self.work(x.astype(np.float64), groups)}), index)


@dataclass(frozen=True)
class OverLabels:
    """Worker side of `Engine.over_labels`: the blocks of a task together, and its share of the labels, dealt in turn."""

    work: Callable[[Block, list[int]], State]
    q: int
    tasks: int

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        of_task: dict[int, list[Block]] = {}
        for batch in batches:
            for task, data in zip(batch.column(0).to_pylist(), binary_cells(batch, "block"), strict=True):
                of_task.setdefault(task, []).append(Block.decode(bytes(data)))
        with one_thread():
            for task, blocks in of_task.items():
                state = self.work(in_order_of_ids(blocks), list(range(task, self.q, self.tasks)))
                yield pa.RecordBatch.from_arrays([binary_array(encode(state))], names=["state"])


@dataclass(frozen=True)
class InMemory:
    """`Engine.in_memory` inside a task."""

    work: Callable[[np.ndarray, Block], Any]

    def __call__(self, engine: LocalEngine) -> Any:
        engine.tame()
        return engine.in_memory(self.work)


@dataclass
class InOneTask:
    """Worker side of a small run: every block in one task, the whole method there, its result pickled."""

    work: Callable[[LocalEngine], Any]
    profile: Profile
    budgets: Budgets

    def __call__(self, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        blocks = [Block.decode(bytes(data)) for data in _cells(batches)]
        with one_thread():
            try:
                answer = self.work(LocalEngine(self.profile, blocks, self.budgets))
            except WorkerBudgetError as error:  # an answer, too: the cluster would run a failed task again
                answer = error
            result = pickle.dumps(answer, protocol=5)
        yield pa.RecordBatch.from_arrays([binary_array(result)], names=["result"])


def run_in_one_task(packed: Packed, work: Callable[[LocalEngine], Answer], budgets: Budgets = DEFAULT_BUDGETS) -> Answer:
    """`work(engine)` over all rows, in one task of one job; its result here. `WorkerBudgetError` where the task may not hold what
    the work asks for."""
    rows = packed.frame.where("block is not null").select("block").coalesce(1)
    try:
        with worker_errors():
            (row,) = rows.mapInArrow(InOneTask(work, packed.profile, budgets), "result binary").collect()
    except DataError as error:
        raise with_row_value(error, packed) from None
    answer = pickle.loads(bytes(row.result))
    if isinstance(answer, WorkerBudgetError):
        raise answer
    return answer
