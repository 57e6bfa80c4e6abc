"""Work on the workers: states of blocks, merges, and the rows laid out anew; all of it Arrow in,
Arrow out."""

from __future__ import annotations

import itertools
import operator
import pickle
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import Block, in_order_of_ids
from ..blocks.codec import (
    Buffer,
    State,
    binary_array,
    decode,
    encode,
    encoded_cells,
    numbered_cells,
)
from ..blocks.coding import CodedBlock, Coding, code_block, concatenate_coded
from ..blocks.identity import of_varying_labels
from ..blocks.pack import Packed, block_row
from ..blocks.profile import Profile
from ..blocks.renumber import with_row_value
from ..errors import DataError, WorkerBudgetError, worker_errors
from ..frames.frame import Batches
from ..kernels.matrix import dense
from ..statistics.base import (
    DEFAULT_BUDGETS,
    Budgets,
    FeatureShardedStatistic,
    Statistic,
    compact,
    cut,
)
from ..statistics.targets import Target
from .base import Answer, one_thread
from .local import LocalEngine

CODED_BYTES = 8 << 20  # of a coded block, about
STATES_BYTES = 1 << 20  # of states that travel together
STATE_SCHEMA = "statistic int, piece int, state binary"
_STATE_NAMES = ["statistic", "piece", "state"]
AnyBlock = TypeVar("AnyBlock", bound=Block | CodedBlock)


def _any_block(data: Buffer) -> Block | CodedBlock:
    """Return a raw or a coded block, as it was encoded."""
    state = decode(data)
    return CodedBlock.from_state(state) if "n" in state else Block.from_state(state)


def _up_to(share: int, blocks: Iterable[tuple[AnyBlock, int]]) -> Iterator[list[AnyBlock]]:
    """Yield blocks, each given with its bytes, in lists of `share` bytes.

    A list is let go before the next."""
    waiting: list[AnyBlock] = []
    size = 0
    for block, block_bytes in blocks:
        waiting.append(block)
        size += block_bytes
        if size >= share:
            yield waiting
            waiting.clear()
            size = 0
    if waiting:
        yield waiting


# ---- states ----


def partial_states(
    batches: Batches,
    statistics: list[Statistic],
    profile: Profile,
    pieces: int,
) -> Batches:
    """Yield the statistics' states over the blocks of a task, cut into `pieces`."""
    states: list[State | None] = [None] * len(statistics)
    with one_thread():
        for data in encoded_cells(batches):
            block = _any_block(data)
            for index, statistic in enumerate(statistics):
                states[index] = statistic.fold(states[index], block, profile)
        yield from _state_rows(_cut_states(statistics, states, pieces))


def _cut_states(
    statistics: list[Statistic], states: list[State | None], pieces: int
) -> Iterator[tuple[int, int, State]]:
    """Yield (statistic, piece, state) of the states of all statistics."""
    for index, state in enumerate(states):
        if state is None:  # no block came
            continue
        is_cut = pieces > 1 and statistics[index].divisible
        parts = cut(state, pieces) if is_cut else [state]
        for piece, part in enumerate(parts):
            yield index, piece, part


def _state_rows(states: Iterable[tuple[int, int, State]]) -> Batches:
    """Yield (statistic, piece, state) as rows.

    Small states travel together, which copies them: each batch costs Spark some 5 ms of a core. A
    large one goes alone, and before the next is computed."""
    waiting: list[tuple[int, int, Buffer]] = []
    size = 0
    for index, piece, state in states:
        data = encode(compact(state))
        if len(data) >= STATES_BYTES:
            yield _rows_of([(index, piece, data)])
            continue
        if size + len(data) > STATES_BYTES:
            yield _rows_of(waiting)
            waiting = []
            size = 0
        waiting.append((index, piece, data))
        size += len(data)
    if waiting:
        yield _rows_of(waiting)


def _rows_of(states: list[tuple[int, int, Buffer]]) -> pa.RecordBatch:
    index, piece, data = zip(*states, strict=True)
    cells = binary_array(data[0]) if len(data) == 1 else pa.array(map(bytes, data), pa.binary())
    return pa.RecordBatch.from_arrays(
        [pa.array(index, pa.int32()), pa.array(piece, pa.int32()), cells], _STATE_NAMES
    )


def _states(batches: Batches) -> Iterator[tuple[tuple[int, int], State]]:
    """Yield ((statistic, piece), state) of the rows that `_state_rows` made."""
    for batch in batches:
        statistics = batch.column(0).to_pylist()
        pieces = batch.column(1).to_pylist()
        for statistic, piece, data in zip(statistics, pieces, batch.column(2), strict=True):
            yield (statistic, piece), decode(data.as_py())


def merged_states(
    statistics: list[Statistic], states: Iterable[tuple[tuple[int, int], State]]
) -> dict[tuple[int, int], State]:
    """Merge the states of each (statistic, piece)."""
    merged: dict[tuple[int, int], State] = {}
    for key, part in states:
        merged[key] = statistics[key[0]].merge_into(merged[key], part) if key in merged else part
    return merged


def merge_states(batches: Batches, statistics: list[Statistic]) -> Batches:
    """Merge all states of each piece of each statistic into one."""
    merged = merged_states(statistics, _states(batches))
    yield from _state_rows((*key, state) for key, state in merged.items())


def sharded_states(
    batches: Batches,
    statistics: list[FeatureShardedStatistic],
    profile: Profile,
    edges: list[ndarray],
    share: int,
) -> Batches:
    """Yield states of sharded statistics.

    Rows are kept up to `share` bytes, then counted by ranges of features, cut at `edges`."""
    # bytes: a batch is not kept for a block of it
    blocks = ((_any_block(bytes(data)), len(data)) for data in encoded_cells(batches))
    with one_thread():
        for waiting in _up_to(share, blocks):
            for index, (statistic, cuts) in enumerate(zip(statistics, edges, strict=True)):
                shards = statistic.shards(waiting, profile, cuts)
                yield from _state_rows((index, piece, state) for piece, state in enumerate(shards))


def reduce_shards(
    batches: Batches,
    statistics: list[FeatureShardedStatistic],
    profile: Profile,
    edges: list[ndarray],
) -> Batches:
    """Merge and finish all states of each shard; the numbers go on."""
    merged: dict[tuple[int, int], list[State]] = {}
    with one_thread():
        for key, part in _states(batches):
            parts = merged.setdefault(key, [])
            # those of like size are merged, so that none is added to often
            while parts and _size(parts[-1]) <= 2 * _size(part):
                part = statistics[key[0]].merge(parts.pop(), part)
            parts.append(part)

        def reduced() -> Iterator[tuple[int, int, State]]:
            gathered: dict[int, ndarray] = {}  # of statistics that are not cut by features
            first_piece: dict[int, int] = {}
            for index, piece in sorted(merged):
                statistic = statistics[index]
                parts = merged.pop((index, piece))
                state = parts.pop()  # the smallest
                while parts:
                    state = statistic.merge(parts.pop(), state)
                first = int(edges[index][piece])
                last = int(edges[index][piece + 1])
                numbers = statistic.reduce_shard(state, first, last, profile)
                if statistic.by_features:
                    yield index, piece, {"numbers": numbers}
                else:
                    before = [gathered[index]] if index in gathered else []
                    gathered[index] = statistic.gather([*before, numbers])
                    first_piece.setdefault(index, piece)
            for index, numbers in gathered.items():
                yield index, first_piece[index], {"numbers": numbers}

        yield from _state_rows(reduced())


def _size(state: State) -> int:
    return sum(
        value.nnz if sp.issparse(value) else value.size
        for value in state.values()
        if hasattr(value, "dtype")
    )


# ---- rows laid out anew ----


def _block_row(data: Buffer, position: int | None = None) -> pa.RecordBatch:
    place = {} if position is None else {"position": pa.array([position], pa.int64())}
    return pa.RecordBatch.from_pydict({**place, "block": binary_array(data)})


def recode(batches: Batches, coding: Coding) -> Batches:
    """Turn raw blocks into coded blocks of a size the counting kernels like."""
    blocks = (code_block(Block.decode(data), coding) for data in encoded_cells(batches))
    sized = ((block, _code_bytes(block)) for block in blocks)
    for waiting in _up_to(CODED_BYTES, sized):
        yield _block_row(concatenate_coded(waiting).encode())


def _code_bytes(block: CodedBlock) -> int:
    return block.onehot.indices.nbytes if block.codes is None else block.codes.nbytes


def relabel(batches: Batches, profile: Profile, varying: Profile) -> Batches:
    """Leave the labels out of blocks that the profile `varying` leaves out."""
    for number, data in numbered_cells(batches, "number"):
        block = of_varying_labels(Block.decode(data), profile, varying)
        yield block_row(number, block.encode(), None)


def times(batches: Batches, shift: ndarray) -> Batches:
    """Multiply feature j of raw blocks by 2^`shift`[j]."""
    for data in encoded_cells(batches):
        yield _block_row(Block.decode(data).times(shift).encode())


def spread_cells(
    batches: Batches,
    coding: Coding,
    selected: tuple[int, ...],
    buckets: int,
) -> Batches:
    """Cut coded blocks by the hash of their rows' joint cell of some features."""
    for data in encoded_cells(batches):
        block = CodedBlock.decode(data)
        bucket = block.buckets(coding, selected, buckets)
        for number in np.unique(bucket):
            rows = block.take(np.flatnonzero(bucket == number))
            yield _block_row(rows.encode(), int(number))


def gather_coded(batches: Batches) -> Batches:
    """Join all coded parts of a task into one block."""
    parts = [CodedBlock.decode(bytes(data)) for data in encoded_cells(batches)]
    if parts:
        yield _block_row(concatenate_coded(parts).encode())


def spread_columns(
    batches: Batches,
    features: ndarray,
    target: Target,
    slices: int,
) -> Batches:
    """Cut raw blocks into slices of columns, with row ids and groups."""
    for data in encoded_cells(batches):
        block = Block.decode(data)
        rows, groups = target.groups(block)
        x = block.x[rows]
        for index, columns in enumerate(np.array_split(features, slices)):
            part = {
                "x": x[:, columns],
                "ids": block.ids[rows],
                "groups": groups,
            }
            yield _block_row(encode(part), index)


def work_on_columns(batches: Batches, work: Callable[[ndarray, ndarray], ndarray]) -> Batches:
    """Put all parts of a slice of columns, rows in the order of their ids, through a function."""
    with one_thread():
        for index, cells in itertools.groupby(
            numbered_cells(batches, "position"), operator.itemgetter(0)
        ):
            parts = [decode(bytes(data)) for _, data in cells]
            ids = np.concatenate([part["ids"] for part in parts])
            order = np.argsort(ids, kind="stable")
            x = np.concatenate([dense(part["x"]) for part in parts])[order]
            groups = np.concatenate([part["groups"] for part in parts])[order]
            yield _block_row(encode({"result": work(x.astype(np.float64), groups)}), index)


def over_labels(
    batches: Batches,
    work: Callable[[Block, list[int]], State],
    q: int,
    tasks: int,
) -> Batches:
    """Do the work of `Engine.over_labels` in a task.

    Its blocks together, and its share of the labels, dealt in turn."""
    of_task: dict[int, list[Block]] = {}
    for task, data in numbered_cells(batches, "task"):
        of_task.setdefault(task, []).append(Block.decode(bytes(data)))
    with one_thread():
        for task, blocks in of_task.items():
            state = work(in_order_of_ids(blocks), list(range(task, q, tasks)))
            yield pa.RecordBatch.from_pydict({"state": binary_array(encode(state))})


# ---- all rows in one task ----


def in_memory(engine: LocalEngine, work: Callable[[ndarray, Block], Any]) -> Any:
    """Return `Engine.in_memory` inside a task."""
    engine.rescale_extremes()
    return engine.in_memory(work)


def in_one_task(
    batches: Batches,
    work: Callable[[LocalEngine], Any],
    profile: Profile,
    budgets: Budgets,
) -> Batches:
    """Do a small run: every block in one task, the whole method there, its result pickled."""
    blocks = [Block.decode(bytes(data)) for data in encoded_cells(batches)]
    with one_thread():
        try:
            answer = work(LocalEngine(profile, blocks, budgets))
        except WorkerBudgetError as error:
            answer = error  # an answer, too: the cluster would run a failed task again
        result = pickle.dumps(answer, protocol=5)
    yield pa.RecordBatch.from_pydict({"result": binary_array(result)})


def run_in_one_task(
    packed: Packed, work: Callable[[LocalEngine], Answer], budgets: Budgets = DEFAULT_BUDGETS
) -> Answer:
    """Return `work(engine)` over all rows, of one task.

    `WorkerBudgetError` where it may not hold what the work needs."""
    task = partial(in_one_task, work=work, profile=packed.profile, budgets=budgets)
    try:
        with worker_errors():
            (row,) = packed.blocks().coalesce(1).mapInArrow(task, "result binary").collect()
    except DataError as error:
        raise with_row_value(error, packed) from None
    answer = pickle.loads(bytes(row.result))
    if isinstance(answer, WorkerBudgetError):
        raise answer
    return answer
