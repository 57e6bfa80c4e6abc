"""Where statistics are computed: what a method may ask of the data.

`Engine` is the interface: a method asks for statistics and gets results. `engine.local` holds all
rows in one process, `engine.spark` runs one ``mapInArrow`` job per request over persisted blocks,
whatever the number of statistics in it. Both give the same bits."""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping
from concurrent.futures import Future, ThreadPoolExecutor, as_completed, wait
from contextlib import contextmanager, nullcontext, suppress
from dataclasses import dataclass
from functools import lru_cache
from typing import Any, TypeVar

import numpy as np
import threadpoolctl
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.codec import State
from ..blocks.coding import Coding, inner_edges, plan_coding
from ..blocks.dataset import Releasable
from ..blocks.profile import Profile
from ..blocks.weights import check_size
from ..errors import (
    ON_THE_DRIVER,
    ONE_WORKER,
    BudgetError,
    ParameterError,
    WorkerBudgetError,
    must_fit,
    setting,
)
from ..kernels.information import CountLogs
from ..lazy import SparkSession
from ..statistics.base import (
    DEFAULT_BUDGETS,
    Budgets,
    FeatureNumbers,
    FeatureShardedStatistic,
    PerFeatureStatistic,
    Statistic,
)
from ..statistics.labelsets import LabelsetCounts
from ..statistics.stretched import Stretched
from ..statistics.targets import Labels, Target

SECONDS_BETWEEN_ENDINGS = 0.2  # of Spark's jobs
SECONDS_TO_END = 10.0  # that what is under way has after an interrupt
FEWER_NUMBERS = (
    f"lower {setting('num_bins')} where bins are counted, or screen the features "
    f"first ({setting('screen', 'chi2:5000')})"
)
DIRECT_BYTES = 64 << 20  # states of all tasks together that go straight to the driver
# of counts in one process: what they, their cells laid out for links, and a pick's own counts take
# together
COUNT_COPIES = 5
ROW_COPIES = 2  # as blocks, and in the order of their ids
READ_SHARE = 4  # of a process's bytes: rows on disk that are looked at and coded at once
# copies of rows in their blocks: what is joined, and what is not given back (1.53 measured)
HELD = 1.75
# what a piece of a state takes that is finished apart, at most: a share of a worker's bytes, bytes
SHARDED_SHARES = 32
SHARD_BYTES = 16 << 20
# for each stored entry while sparse rows are coded in one process, rows apart
CODING_BYTES = 24
SLOT_BYTES = 20  # the same while ranges of features are counted, besides
# that are coded, counted and let go at once, where the codes of all rows are too many to keep
STREAMED_ENTRIES = 1 << 26

Answer = TypeVar("Answer")
Key = TypeVar("Key", bound=Hashable)


# ---- one thread of BLAS ----


@contextmanager
def one_thread() -> Iterator[None]:
    """Keep BLAS on one thread inside a task, as Spark has a task per core.

    The number comes back when the last thread leaves."""
    shared, of_thread = _thread_pools(len(sys.modules))
    entry = threading.get_ident(), object()
    try:  # an interrupt may come at any line
        with _guard:
            _inside.append(entry)
            if shared not in _limits:
                _by_any_thread()
                _limits[shared] = shared.limit(limits=1)
        with of_thread.limit(limits=1):
            yield
    finally:
        with _guard:
            _inside[:] = [other for other in _inside if other is not entry]
            _restore()


_guard = threading.Lock()
_inside: list[tuple[int, object]] = []  # the threads that are inside, once for each time
_limits: dict[Any, Any] = {}  # what they limited, by its libraries


def _restore() -> None:
    while _limits and not _inside:
        _by_any_thread()
        _limits.popitem()[1].restore_original_limits()
        _by_any_thread()


def _by_any_thread() -> None:
    """Let any thread set the number of OpenBLAS.

    threadpoolctl 3.8 lets the first one alone, and does nothing for the others."""
    controller = getattr(threadpoolctl, "OpenBLASController", None)
    clear = getattr(controller, "clear_controlling_thread", None)
    if clear is not None:
        clear(force=True)


def _forked() -> None:
    """Forget the threads that a forked process has not: it has the one that forked it alone."""
    _inside[:] = [entry for entry in _inside if entry[0] == threading.get_ident()]
    _restore()
    _guard.release()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_guard.acquire, after_in_parent=_guard.release, after_in_child=_forked
    )


@lru_cache(maxsize=1)
def _thread_pools(modules: int) -> tuple[Any, Any]:
    """Return the libraries with threads of the process, and those with threads of each thread.

    Finding them takes as long as a task: it is done again for another number of `modules`."""
    if not hasattr(threadpoolctl, "ThreadpoolController"):
        return _LeftAlone(), _LeftAlone()
    controller = threadpoolctl.ThreadpoolController()
    of_process: list[str] = []
    of_thread: list[str] = []
    for library in controller.info():
        uses_openmp = "openmp" in (library["user_api"], library.get("threading_layer"))
        (of_thread if uses_openmp else of_process).append(library["filepath"])
    of_process = [path for path in of_process if path not in of_thread]
    return controller.select(filepath=of_process), controller.select(filepath=of_thread)


class _LeftAlone(nullcontext[None]):
    """Libraries whose threads are left as they are.

    threadpoolctl 2, of Databricks 15.4 and 16.4, stumbles over the BLAS of NumPy's wheels and says
    so each time. Spark tells its Python workers the number of threads itself (OMP_NUM_THREADS), and
    no result depends on it."""

    def limit(self, limits: int) -> _LeftAlone:
        return self

    def restore_original_limits(self) -> None:
        pass


# ---- the engine ----


def can_stream_codes(statistic: Statistic) -> bool:
    """Return whether a statistic may look at sparse codes that are let go again.

    It looks at some rows after the others then."""
    if statistic.layout != "coded" or isinstance(statistic, FeatureShardedStatistic):
        return False
    return statistic.coding.sparse


@dataclass
class Cost:
    """Cost of a run so far: Spark jobs started and passes over the data, bytes taken to the
    driver."""

    jobs: int = 0
    scans: int = 0
    driver_bytes: int = 0


class Engine(Releasable):
    """The interface through which a method sees the data. Features are the varying ones, numbered
    0..v-1 in their order."""

    look_ahead = 1  # how many link vectors a greedy method should ask for at once
    shift: ndarray | None = None  # (d,) exponents of what features are multiplied by
    in_one_process = False  # whether all rows are in this process
    on_disk = False  # in a file of its, of which some are looked at after the others
    reads_rows = True  # else it has their sums

    def __init__(self, profile: Profile, budgets: Budgets = DEFAULT_BUDGETS) -> None:
        self.profile = profile
        self.budgets = budgets
        self.stretched = Stretched()  # features, as far as statistics have shown
        self.kept_bytes = 0  # of the states whose results are kept, at most
        self.cost = Cost()
        self.progress: Callable[[str, int, int], None] | None = None
        self._results: dict[Hashable, Any] = {}
        self._codings: dict[tuple[int, str], Coding] = {}

    @property
    def num_features(self) -> int:
        """Number of varying features."""
        return len(self.profile.varying)

    @property
    def state_budget(self) -> tuple[int, str]:
        """The bytes that a state may take, and the setting."""
        if self.in_one_process:
            return self.budgets.worker, self.budgets.worker_setting
        return self.budgets.driver, "driver_bytes"

    def rescale_extremes(self) -> bool:
        """Multiply features whose squares leave float64 by powers of two.

        They are those of `Profile.exponent_shift`; return whether there are any."""
        shift = self.profile.exponent_shift()
        if shift is None:
            return False
        self.profile = self.profile.times(shift)
        self.shift = shift
        return True

    def leave_out_constant_labels(self) -> bool:
        """Leave out the labels with one value, as constant features are; return whether any is."""
        varying = self.profile.of_varying_labels()
        if varying is self.profile:
            return False
        self._relabel(varying)
        self.profile = varying
        self._results.clear()
        return True

    def _relabel(self, varying: Profile) -> None:
        """Read rows without the labels that the profile `varying` leaves out."""

    def run(self, *statistics: Statistic, keep: bool = True) -> list[Any]:
        """Return the results of the statistics, in order.

        Those not known share one scan, and are kept unless not to `keep`."""
        fresh = self.to_compute(statistics)
        for statistic in fresh.values():
            if not statistic.takes_weights():
                self.refuse_weights(statistic.name)
            # counts are whole numbers of the weights' unit, whatever that is
            exponent = self.profile.weight_exponent
            if exponent is not None and statistic.layout not in ("coded", "cells"):
                check_size(exponent, self.profile.total)
            if self.profile.graded and not statistic.takes_grades():
                raise ParameterError(
                    f"{statistic.name} takes labels of 0 and 1, not grades: give "
                    f"{setting('label_cuts')}, or choose a method of moments, such as ridge"
                )
        requested = {s.key(): s for s in statistics}
        results = self._results | (self._compute(fresh) if fresh else {})
        for key, statistic in requested.items():
            if isinstance(statistic, FeatureNumbers) and key not in results:
                results[key] = statistic.reduced([results[part.key()] for part in statistic.parts])
        for key, statistic in (requested | fresh).items():
            lasts = keep if key in requested else not getattr(statistic, "asked_once", False)
            if lasts and key not in self._results:
                self._results[key] = results[key]
                if key in fresh and not isinstance(statistic, FeatureShardedStatistic):
                    self.kept_bytes += statistic.state_bytes(self.profile)
        return [results[s.key()] for s in statistics]

    def to_compute(self, statistics: Iterable[Statistic]) -> dict[Hashable, Statistic]:
        """Return what is computed for statistics, by key: those not known.

        Of numbers their parts where states may meet."""
        unknown = {s.key(): s for s in statistics if s.key() not in self._results}
        numbers = [s for s in unknown.values() if isinstance(s, FeatureNumbers)]
        readers = Counter(part.key() for s in numbers for part in s.parts)
        out = {key: s for key, s in unknown.items() if not isinstance(s, FeatureNumbers)}
        for key, statistic in unknown.items():
            if isinstance(statistic, FeatureNumbers):
                known = self._results | out
                parts = {part.key(): part for part in statistic.parts if part.key() not in known}
                others = sum(map(self.bytes_at_once, out.values()))
                fits = all(self.collects_whole_states(part, others) for part in parts.values())
                unshared = statistic.once and {readers[key] for key in parts} == {1}
                if fits and not (unshared and self._by_range_is_smaller(statistic)):
                    out |= parts
                else:
                    out[key] = statistic
        return out

    def collects_whole_states(self, statistic: PerFeatureStatistic, beside: int = 0) -> bool:
        """Return whether whole states are brought together, `beside` bytes of others.

        Else numbers are, by ranges of features."""
        if statistic.key() in self._results or not statistic.shardable(self.profile):
            return True
        if self.in_one_process and statistic.read_again:
            return self.bytes_of_counts(statistic) + beside <= self.budgets.worker
        shares = (self.budgets.worker // 8, self.budgets.driver // 4)
        return statistic.state_bytes(self.profile) <= min(statistic.gathered_bytes, *shares)

    def _by_range_is_smaller(self, numbers: FeatureNumbers) -> bool:
        """Return whether numbers take less of this process range by range of the features."""
        states = sum(part.state_bytes(self.profile) for part in numbers.parts)
        if not self.in_one_process or self.on_disk or states <= SHARD_BYTES:
            return False
        ranges = self.bytes_in_one_process([numbers], [self.bytes_at_once(numbers)])
        return ranges < sum(map(self.bytes_of_counts, numbers.parts))

    def fits_budgets(self, numbers: FeatureNumbers) -> bool:
        """Return whether one request for these numbers is within the budgets."""
        fresh = self.to_compute([numbers])
        if numbers.key() in fresh:
            return numbers.least_bytes(self.profile) <= self.budgets.worker // 8
        size = sum(s.state_bytes(self.profile) for s in fresh.values())
        return size <= min(self.budgets.driver, self.budgets.worker)

    def refuse_weights(self, name: str) -> None:
        """Raise `ParameterError` where rows have weights, which what is named cannot take."""
        if self.profile.weighted:
            raise ParameterError(
                f"{name} takes no row weights; leave the weights out, or choose a method of counts "
                "or moments"
            )

    def cache_result(self, statistic: Statistic, result: Any) -> None:
        """Let `result`, computed in another way, answer `statistic` from now on."""
        self._results[statistic.key()] = result

    def _compute(self, statistics: dict[Hashable, Statistic]) -> dict[Hashable, Any]:
        """Return the results of statistics that are not known, by their keys."""
        raise NotImplementedError

    def states(self, *statistics: Statistic) -> list[State]:
        """Return the states of all rows as they are before they are finished, in order."""
        raise NotImplementedError

    def edges_of(self, statistic: FeatureShardedStatistic) -> ndarray:
        """Return where the features of a statistic are cut.

        `BudgetError` where the piece of one feature exceeds a worker's share."""
        worker = self.budgets.worker
        of_piece = statistic.piece_bytes(self.profile)
        size = min(SHARD_BYTES, worker // SHARDED_SHARES)
        if of_piece:  # the numbers of all pieces meet on the driver
            fewer = statistic.state_bytes(self.profile) * of_piece // DIRECT_BYTES
            size = max(size, min(fewer, worker // SHARDED_SHARES * 2))
        edges = statistic.edges(self.profile, max(1, size))
        self._fit_pieces(statistic, of_piece * (len(edges) - 1))
        sizes = [
            statistic.shard_bytes(self.profile, first, last)
            for first, last in itertools.pairwise(edges)
        ]
        largest = max(sizes, default=0)
        if largest > worker // 4:
            error = WorkerBudgetError if self.in_one_process else BudgetError
            name = self.budgets.worker_setting
            megabytes = -(-largest >> 20)
            raise error(
                f"{statistic.name} over {self.num_features} features needs {megabytes} MB "
                f"in {ONE_WORKER} for a few of them, more than a quarter of "
                f"{setting(name, worker >> 20, 'MB')}: raise {setting(name)}, "
                f"{FEWER_NUMBERS}"
            )
        return edges

    def _fit_pieces(self, statistic: Statistic, size: int) -> None:
        """Raise `BudgetError` where the numbers of all pieces exceed the driver's budget."""

    # ---- bytes of states, rows and codes ----

    def _refuse(self, statistics: list[Statistic]) -> list[int]:
        """Return the sizes of the states at most; `BudgetError` where one is above the budget."""
        sizes = self._sizes(statistics)
        self._fit(
            statistics,
            sizes,
            "driver_bytes",
            self.budgets.driver,
            ON_THE_DRIVER,
        )
        return sizes

    def _fit(
        self,
        statistics: list[Statistic],
        sizes: list[int],
        name: str,
        budget: int,
        place: str,
    ) -> None:
        """Raise `BudgetError` where a merged state would exceed a budget."""
        for statistic, size in zip(statistics, sizes, strict=True):
            needs = f"{statistic.name} over {self.num_features} features needs"
            must_fit(
                size,
                budget,
                name,
                needs,
                FEWER_NUMBERS,
                place,
            )

    def _sizes(self, statistics: list[Statistic]) -> list[int]:
        """Return the sizes of the states at most.

        The labelsets are counted first where their number could decide."""
        sizes = [self.bytes_at_once(s) for s in statistics]
        if self.profile.labelsets:
            return sizes
        by = "grades" if self.profile.graded else "labels"
        counts = LabelsetCounts(by)
        undecided = [
            size
            for statistic, size in zip(statistics, sizes, strict=True)
            if statistic.by_labelset and statistic.key() != counts.key()
        ]
        smallest_limit = min(DIRECT_BYTES, self.budgets.worker // 4, self.budgets.driver)
        if max(undecided, default=0) <= smallest_limit:
            return sizes
        (sets,) = self.run(counts)
        self.profile.labelsets = max(1, len(sets.counts))
        return [self.bytes_at_once(s) for s in statistics]

    def bytes_at_once(self, statistic: Statistic) -> int:
        """Return the bytes of a state that one process has at once at most."""
        size = statistic.state_bytes(self.profile)
        if isinstance(statistic, FeatureShardedStatistic):
            return min(size, max(1, self.budgets.worker // SHARDED_SHARES * 4))
        return size

    def bytes_in_one_process(self, statistics: list[Statistic], sizes: list[int]) -> int:
        """Return the bytes that everything takes together in one process at most.

        These are the rows, their codes, what is kept and the states."""
        codes = self._bytes_of_codes(statistics, self.keeps_codes(statistics, sizes))
        return self._bytes_beside_codes(statistics, sizes) + codes

    def keeps_codes(self, statistics: list[Statistic], sizes: list[int]) -> bool:
        """Return whether one process has room for the codes of all rows.

        Else those that may be streamed are, some rows after the others."""
        codes = self._bytes_of_codes(statistics, keeps_codes=True)
        return self._bytes_beside_codes(statistics, sizes) + codes <= self.budgets.worker

    def _row_bytes(self, in_order: bool = False) -> int:
        """Return the bytes of the rows in one process, `in_order` of their ids or not.

        Of those on disk what is read and coded at once."""
        if self.on_disk:
            return self.budgets.worker // READ_SHARE
        return int((ROW_COPIES if in_order else HELD) * self.profile.size)

    def _bytes_beside_codes(self, statistics: list[Statistic], sizes: list[int]) -> int:
        in_order = any(statistic.layout == "identified" for statistic in statistics)
        rows = self._row_bytes(in_order)
        return rows + self.kept_bytes + sum(sizes) + max(sizes, default=0)

    def _bytes_of_codes(self, statistics: list[Statistic], keeps_codes: bool) -> int:
        if self.on_disk:
            return 0
        sizes = [0]
        for statistic in statistics:
            coding = getattr(statistic, "coding", None)
            if coding is None:
                continue
            if coding.sparse:
                entries = self.profile.nonzero
                if not keeps_codes and can_stream_codes(statistic):
                    entries = min(entries, STREAMED_ENTRIES)
                by_range = isinstance(statistic, FeatureShardedStatistic)
                sizes.append((CODING_BYTES + by_range * SLOT_BYTES) * entries)
            else:
                bytes_a_row = -(-len(coding.features) // coding.per_byte)
                copies = 2 if statistic.layout == "cells" else 1  # which are of one block
                sizes.append(copies * self.profile.n * bytes_a_row)
        return max(sizes)

    def bytes_of_counts(self, statistic: PerFeatureStatistic) -> int:
        """Return the bytes of rows and of counts that stay for the links of every pick.

        In one process at most."""
        size = statistic.state_bytes(self.profile)
        copies = self._row_bytes() + self.kept_bytes + COUNT_COPIES * size
        return max(self.bytes_in_one_process([statistic], [size]), copies)

    # ---- what methods ask for besides statistics ----

    def coding(self, num_bins: int = 5, binning: str = "width") -> Coding:
        """Return the discretisation of the training data."""
        key = (num_bins, binning)
        if key not in self._codings:
            edges = None
            if binning.startswith("quantile") and not self.profile.terms:
                self.refuse_weights("binning='quantile'")
                shares = np.arange(1, num_bins) / num_bins
                edges = inner_edges(self.quantiles(shares))
            self._codings[key] = plan_coding(self.profile, num_bins, binning, edges)
        return self._codings[key]

    def quantiles(self, shares: ndarray) -> ndarray:
        """Return (v, len(shares)) exact quantiles of the varying features, linear interpolation."""
        raise NotImplementedError

    def cell_information(
        self,
        coding: Coding,
        target: Target,
        selected: tuple[int, ...],
        logs: CountLogs,
    ) -> ndarray:
        """Return (v,) I(f; target | X_S) in nats, S = `selected` jointly."""
        raise NotImplementedError

    def over_columns(self, work: Callable[[ndarray, ndarray], ndarray], target: Target) -> ndarray:
        """Return `work(values (rows, w), groups (rows,))` of slices of varying columns, end to end.

        The rows are grouped."""
        raise NotImplementedError

    def in_memory(self, work: Callable[[ndarray, Block], Answer]) -> Answer:
        """Return `work(x, block)` with all rows in one memory.

        x (n, v) is standardised, rows in the order of their ids."""
        raise NotImplementedError

    def gathered(self, beside: int = 0) -> Block:
        """Return all rows in the order of their ids, in this process.

        `BudgetError` where they, and what is worked out `beside` them, exceed its budget."""
        raise NotImplementedError

    def over_labels(
        self, work: Callable[[Block, list[int]], State], beside: int = 0
    ) -> list[State]:
        """Return `work(all rows by their ids, some labels)` until every label had its turn.

        Each task has all rows, and takes `beside` bytes more. Errors as of `gathered`."""
        raise NotImplementedError

    def must_hold_rows(
        self,
        beside: int,
        budget: int,
        name: str,
        place: str,
    ) -> None:
        """Raise `BudgetError` where all rows and `beside` bytes exceed a budget in one process."""
        must_fit(
            ROW_COPIES * self.profile.size + beside,
            budget,
            name,
            f"this needs all {self.profile.n} rows of {self.num_features} features and "
            f"{self.profile.q} labels in {place},",
            "sample the rows, select features first, or leave rare labels out",
            error=WorkerBudgetError if self.in_one_process else BudgetError,
        )

    def labels(self) -> Labels:
        """Return binary relevance: all rows, each label, and its unknown rows if there are any."""
        profile = self.profile
        watch = range(profile.q) if profile.unlabelled else np.flatnonzero(profile.unknown)
        return Labels(profile.q, tuple(int(label) for label in watch))


def side_by_side(
    spark: SparkSession | None,
    parallelism: int,
    work: Mapping[Key, Callable[[], Answer]],
    on_end: Callable[[Key, Future[Answer]], None],
) -> None:
    """Run the `work`, so many at a time, handing each that ends to `on_end`, in this thread.

    An error waits for those under way, an interrupt some seconds."""
    threads = ThreadPoolExecutor(parallelism)
    running: dict[Future[Answer], Key] = {}
    try:
        for key, task in work.items():
            running[threads.submit(task)] = key
        for future in as_completed(running):
            on_end(running[future], future)
    except BaseException as error:
        threads.shutdown(wait=False, cancel_futures=True)
        under_way = [future for future in running if not future.cancelled()]
        if isinstance(error, KeyboardInterrupt):
            # a thread of its own: a server that does not answer keeps who asks it
            threading.Thread(target=_end_jobs, args=(spark, under_way), daemon=True).start()
        wait(under_way, SECONDS_TO_END if isinstance(error, KeyboardInterrupt) else None)
        raise
    threads.shutdown()


def _end_jobs(spark: SparkSession | None, running: Collection[Future[Any]]) -> None:
    """End Spark's jobs until none is left: one may have begun while others were ended."""
    interrupt = getattr(spark, "interruptAll", None)  # of Spark 3.5: on Connect only
    while interrupt and wait(running, SECONDS_BETWEEN_ENDINGS).not_done:
        with suppress(Exception):
            interrupt()
