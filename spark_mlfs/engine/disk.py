"""Rows of this process that exceed its memory: a file has them, and each scan reads it.

Some blocks are looked at after the others, by each core, and let go again. Codes are written to a
file of their own once they are asked for again."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import Block, join
from ..blocks.codec import State
from ..blocks.coding import CodedBlock, Coding, code_block, concatenate_coded
from ..blocks.dataset import InMemoryDataset
from ..blocks.held import BlocksOnDisk, OnDemand, with_unique_ids_of
from ..blocks.profile import Profile
from ..errors import ONE_WORKER, PlatformError
from ..frames.scratch import Place
from ..kernels.information import CountLogs
from ..kernels.matrix import Matrix, dense
from ..statistics.base import Budgets, FeatureShardedStatistic, Statistic, cuts
from ..statistics.joint import cell_counts, few_cells
from ..statistics.quantiles import bracketed_quantiles, exact_quantiles
from ..statistics.targets import Target
from .base import DIRECT_BYTES, READ_SHARE, STREAMED_ENTRIES
from .local import PARTS_A_CORE, LocalEngine

CODED_BYTES = 8 << 20  # of dense rows that are coded and counted at once, about
ENTRY_BYTES = 24  # of a stored value of sparse rows that are coded and counted at once
ID_BYTES = 64  # of a row while it is looked for which rows repeat
CELL_BYTES = 32  # of a stored value of sparse columns that are worked on; of a row, by its columns

Run = tuple[tuple[int, int, int], ...]  # parts of blocks: block, part, of how many


def engine_of(rows: InMemoryDataset, budgets: Budgets) -> LocalEngine:
    """Return the engine of rows of this process, wherever they are."""
    blocks = rows.stored
    if isinstance(blocks, BlocksOnDisk):
        return DiskEngine(rows.profile, blocks, budgets, rows.cores)
    return LocalEngine(rows.profile, blocks, budgets, rows.cores)


class DiskEngine(LocalEngine):
    """All rows in a file of this process: kernels run on some blocks after the others, on all
    cores."""

    on_disk = True

    def __init__(
        self,
        profile: Profile,
        blocks: BlocksOnDisk,
        budgets: Budgets,
        cores: int = 1,
    ) -> None:
        super().__init__(profile, blocks, budgets, cores)
        self._scratch = blocks.file.scratch
        self._extents = blocks.extents
        self._codes: dict[tuple[int, str], _Codes] = {}
        self._numbered: list[Sequence[Block]] = []  # one, once ids must be unique

    def release(self) -> None:
        for codes in self._codes.values():
            codes.release()
        self._codes.clear()

    def map_blocks(self, work: Callable[[Block], Block]) -> None:
        super().map_blocks(work)
        self._numbered = []
        self.release()

    @property
    def rows(self) -> Block:
        """All rows as one block in memory; `BudgetError` where they exceed it."""
        return self._in_memory(self._blocks)

    def identified(self) -> Block:
        return self._in_memory(self._with_unique_ids())

    def _in_memory(self, blocks: Sequence[Block]) -> Block:
        self.must_hold_rows(0, *self.state_budget, ONE_WORKER)
        return join([*blocks])

    def _with_unique_ids(self) -> Sequence[Block]:
        if not self._numbered:
            at_once = max(1, self.budgets.worker // READ_SHARE // ID_BYTES)
            named = self.profile.named_ids
            self._numbered = [with_unique_ids_of(self._blocks, named, at_once)]
        return self._numbered[0]

    def as_dataset(self) -> InMemoryDataset:
        blocks: Any = self._with_unique_ids()
        return InMemoryDataset(
            self.profile,
            blocks=blocks,
            cores=self.cores,
            scratch=self._scratch,
        )

    # ---- scans ----

    def keeps_codes(self, statistics: list[Statistic], sizes: list[int]) -> bool:
        return True

    def _read(self, statistic: Statistic) -> Sequence[Any]:
        if statistic.layout == "rows":
            return self._blocks
        if statistic.layout == "identified":
            return self._with_unique_ids()
        if statistic.layout == "coded":
            return self._coded_rows(statistic.coding)
        return self._by_cells(statistic.coding, statistic.selected)

    def _coded_rows(self, coding: Coding, repeatedly: bool = False) -> Sequence[CodedBlock]:
        """Return the coded rows; those that are asked for again, or `repeatedly`, stay on disk."""
        codes = self._codes.get(coding.key)
        if codes is None:
            runs = self._runs(coding)

            def coded(number: int) -> CodedBlock:
                parts = self._of_run(runs[number])
                return concatenate_coded([code_block(part, coding) for part in parts])

            codes = _Codes(coded, len(runs), self._scratch)
            self._codes[coding.key] = codes
        else:
            repeatedly = True
        return OnDemand(codes.get if repeatedly else codes.make, range(codes.count))

    def _runs(self, coding: Coding) -> list[Run]:
        """Return the parts of blocks that are coded and counted at once."""
        share = self.budgets.worker // READ_SHARE
        stored = sum(extent.stored for extent in self._extents)
        if coding.sparse:  # counts take long to add up: one part a core, if that may be
            most = min(share // ENTRY_BYTES, STREAMED_ENTRIES, stored) // self.cores
        else:
            row_bytes = -(-len(coding.features) // coding.per_byte)
            coded = CODED_BYTES * stored // (row_bytes * self.profile.n)
            most = min(share // CELL_BYTES, coded, stored // PARTS_A_CORE) // self.cores
        most = max(1, most)
        parts = []
        sizes = []
        for number, extent in enumerate(self._extents):
            count = min(-(-extent.stored // most), extent.rows) or 1
            parts += [(number, part, count) for part in range(count)]
            sizes += [extent.stored // count] * count
        edges = cuts(np.array(sizes), most)
        return [tuple(parts[first:last]) for first, last in itertools.pairwise(edges)]

    def _of_run(self, run: Run) -> Iterator[Block]:
        for number, part, count in run:
            block = self._blocks[number]
            edges = np.linspace(0, block.n, count + 1).astype(int)
            yield block if count == 1 else block.part(edges[part], edges[part + 1])

    def _by_cells(self, coding: Coding, selected: tuple[int, ...]) -> Sequence[CodedBlock]:
        """Return coded rows with every joint cell of `selected` in one block."""
        coded = self._coded_rows(coding, repeatedly=True)
        entries = self.profile.nonzero
        if not coding.sparse:
            entries = self.profile.n * len(coding.features) // coding.per_byte // ENTRY_BYTES
        share = max(1, self.budgets.worker // READ_SHARE // ENTRY_BYTES // self.cores)
        count = -(-entries // share)
        if count < 2:
            return [concatenate_coded([*coded])]

        def bucket(number: int) -> CodedBlock:
            parts = []
            for block in coded:
                places = block.buckets(coding, selected, count)
                parts.append(block.take(np.flatnonzero(places == number)))
            return concatenate_coded(parts)

        return OnDemand(bucket, range(count))

    def _sharded(self, statistic: FeatureShardedStatistic) -> ndarray:
        """Return the numbers of all features, in one scan for as many ranges as memory holds."""
        edges = self.edges_of(statistic)
        sizes = [
            statistic.shard_bytes(self.profile, first, last)
            for first, last in itertools.pairwise(edges)
        ]
        room = max(self.budgets.worker // 8, (self.budgets.worker - self.kept_bytes) // 2)
        parts: list[ndarray] = []
        for first, last in itertools.pairwise(cuts(np.array(sizes), room)):
            ranges = edges[first : last + 1]
            states = self._range_states(statistic, ranges)
            for start, stop in itertools.pairwise(ranges):
                state = states.pop(0)
                assert state is not None
                number = statistic.reduce_shard(state, int(start), int(stop), self.profile)
                parts.append(number)
        return statistic.gather(parts)

    def _range_states(
        self, statistic: FeatureShardedStatistic, edges: ndarray
    ) -> list[State | None]:
        """Return the states of ranges of features over all rows, from one scan on all cores."""
        rows = self._read(statistic)
        states: list[State | None] = [None] * (len(edges) - 1)
        locks = [threading.Lock() for _ in states]
        lanes = min(self.cores, len(rows))

        def fold(lane: int) -> None:
            for block in rows[lane::lanes]:
                shards = statistic.shards([block], self.profile, edges)
                for place, shard in enumerate(shards):
                    with locks[place]:
                        before = states[place]
                        merged = shard if before is None else statistic.merge_into(before, shard)
                        states[place] = merged

        self._map(fold, range(lanes))
        return states

    # ---- what methods ask for besides statistics ----

    def quantiles(self, shares: ndarray) -> ndarray:
        if CELL_BYTES * self.profile.n > self.budgets.worker // READ_SHARE:

            def count(counts: Statistic) -> Any:
                return self.run(counts, keep=False)[0]

            return bracketed_quantiles(self.profile, shares, count)
        parts = []
        for features in self._slices():
            x = self._columns(self._blocks, features)
            parts.append(exact_quantiles(x, np.arange(len(features)), shares))
        return np.concatenate(parts)

    def _slices(self) -> Iterator[ndarray]:
        """Yield the varying features in slices of which all rows fit a share of the memory."""
        varying = self.profile.varying
        if self.profile.sparse:
            sizes = CELL_BYTES * self.profile.stored[varying]
        else:
            sizes = np.full(len(varying), 8 * self.profile.n)
        edges = cuts(sizes, self.budgets.worker // READ_SHARE)
        for first, last in itertools.pairwise(edges):
            yield varying[first:last]

    def _columns(self, blocks: Sequence[Block], features: ndarray) -> Matrix:
        """Return some columns of all rows, float64."""
        if self.profile.sparse:
            return sp.vstack([block.csr()[:, features] for block in blocks], format="csr")
        x = np.empty((self.profile.n, len(features)), order="F")
        starts = np.cumsum([0] + [extent.rows for extent in self._extents])

        def fill(number: int) -> None:
            rows = slice(starts[number], starts[number + 1])
            x[rows] = blocks[number].dense()[:, features]

        self._map(fill, range(len(blocks)))
        return x

    def over_columns(self, work: Callable[[ndarray, ndarray], ndarray], target: Target) -> ndarray:
        self.refuse_weights("a method that goes over the rows themselves")
        blocks = self._with_unique_ids()
        rows = []
        ids = []
        groups = []
        before = 0
        for block in blocks:
            rows_of_block, groups_of_block = target.groups(block)
            rows.append(rows_of_block + before)
            ids.append(block.ids[rows_of_block])
            groups.append(groups_of_block)
            before += block.n
        order = np.argsort(np.concatenate(ids), kind="stable")
        places = np.concatenate(rows)[order]
        in_order = np.concatenate(groups)[order]
        parts = []
        for features in self._slices():
            x = dense(self._columns(blocks, features)[places]).astype(np.float64)
            parts.append(work(x, in_order))
        return np.concatenate(parts)

    def cell_information(
        self,
        coding: Coding,
        target: Target,
        selected: tuple[int, ...],
        logs: CountLogs,
    ) -> ndarray:
        counts = cell_counts(coding, target, selected, logs)
        is_small = counts.state_bytes(self.profile) <= min(DIRECT_BYTES, self.budgets.worker // 8)
        if is_small and few_cells(coding, target, selected):
            return self.run(counts, keep=False)[0][0]
        return super().cell_information(coding, target, selected, logs)


class _Codes:
    """Coded rows in `count` runs, which `make` codes; each stays on disk once it was asked for."""

    def __init__(self, make: Callable[[int], CodedBlock], count: int, scratch: Any) -> None:
        self.count = count
        self.make = make
        self._scratch = scratch
        self._file: Any = None
        self._places: dict[int, Place] = {}
        self._lock = threading.Lock()
        self._full = False

    def get(self, number: int) -> CodedBlock:
        place = self._places.get(number)
        if place is not None:
            return CodedBlock.decode(self._file.read(place))
        block = self.make(number)
        if not self._full:
            self._keep(number, block)
        return block

    def _keep(self, number: int, block: CodedBlock) -> None:
        """Write a run, unless the disk is full: it is coded again then."""
        try:
            with self._lock:
                self._file = self._file or self._scratch.create(0)
            self._places[number] = self._file.append(block.encode())
        except PlatformError:
            self._full = True

    def release(self) -> None:
        if self._file is not None:
            self._file.close()
