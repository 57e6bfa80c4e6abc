"""The contract of a statistic: a state that adds up over blocks of rows, and how a state travels.

A statistic knows Spark as little as it knows the method that needs it. Its state is a dict of
NumPy arrays (or SciPy CSR matrices); states of two sets of rows merge by addition, so a state can
be computed block by block, task by task, and saved and added to later. Where that happens is the
engine's business; a statistic knows of it what is in `Runner`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.codec import State
from ..blocks.coding import Coding
from ..blocks.profile import Profile
from .targets import Crossed, Everything, Keyed


def add(left: State, right: State) -> State:
    """Return two states added name by name, counts as int64, exactly."""
    return {name: _sum(value, right[name]) for name, value in left.items()}


def accumulate(state: State, part: State) -> State:
    """Return `state` with a part added into it; its large arrays are not copied."""
    for name, value in part.items():
        total: Any = state.get(name)
        wide = isinstance(total, ndarray) and total.dtype in (np.int64, np.float64)
        if wide and total.flags.writeable and total.dtype == value.dtype:
            np.add(total, value, out=total)
        else:
            state[name] = value if total is None else _sum(total, value)
    return state


def _sum(a: Any, b: Any) -> Any:
    if isinstance(a, ndarray) and a.dtype.kind == "i":
        return np.add(a, b, dtype=np.int64)
    if sp.issparse(a) and a.dtype.kind == "i":
        largest = int(a.data.max(initial=0)) + int(b.data.max(initial=0))
        dtype = np.int32 if largest < 2**31 else np.int64  # half the memory, where counts allow it
        return a.astype(dtype, copy=False) + b.astype(dtype, copy=False)
    return a + b


def compact(state: State) -> State:
    """Return the state with whole numbers in fewer bytes where they fit.

    Those of int64 arrays become int32, those of CSR matrices the narrowest type."""
    out: State = {}
    for name, value in state.items():
        if sp.issparse(value) and value.dtype.kind == "i":
            largest = max(int(value.data.max(initial=0)), -int(value.data.min(initial=0)) - 1)
            types = (np.int8, np.int16, np.int32, np.int64)
            value = value.astype(next(t for t in types if largest <= np.iinfo(t).max))
        elif isinstance(value, ndarray) and _fits_int32(value):
            value = value.astype(np.int32)
        out[name] = value
    return out


def _fits_int32(value: ndarray) -> bool:
    return bool(value.dtype == np.int64 and value.size and abs(value).max() < 2**31)


def cut(state: State, pieces: int) -> list[State]:
    """Return the state cut along the first axis of each of its arrays.

    Pieces merge on their own, `paste` puts them together."""
    out: list[State] = [{} for _ in range(pieces)]
    for name, value in state.items():
        if not (isinstance(value, ndarray) or sp.issparse(value)):
            for piece in out:
                piece[name] = value
            continue
        edges = np.linspace(0, value.shape[0], pieces + 1).astype(int)
        for piece, (first, last) in zip(out, itertools.pairwise(edges), strict=True):
            piece[name] = value[first:last]
    return out


def paste(pieces: list[State]) -> State:
    """Return the inverse of `cut`."""
    out = dict(pieces[0])
    for name, value in out.items():
        if sp.issparse(value):
            out[name] = sp.vstack([piece[name] for piece in pieces], format="csr")
        elif isinstance(value, ndarray):
            out[name] = np.concatenate([piece[name] for piece in pieces])
    return out


class Statistic(Keyed):
    """Base of every statistic.

    A subclass states what differs from the class attributes here, which decide how every one of its
    instances is computed.

    `layout`       which blocks it reads:
        ``"rows"``        raw blocks, equal rows may share an id
        ``"identified"``  the same, no two rows sharing an id
        ``"coded"``       discretised blocks (the statistic has a `coding`)
        ``"cells"``       the same, every joint cell of `selected` in one block
    `divisible`    whether a state may be cut along the first axes of its arrays, and the pieces
                   merged apart
    `quantised`    whether its integers are sums of quantised values (`kernels.exact`), which finish
                   on the driver
    `by_labelset`  whether a state grows with the distinct labelsets, so that their count, taken
                   first, gives its size
    `weighted`     whether rows that have weights count by them; the engines refuse a statistic of
                   weighted rows that does not
    `graded`       whether it takes labels that are grades (`blocks.grades`), or does not look at
                   labels; so with the engines, too"""

    layout: str = "coded"
    coding: Coding
    selected: tuple[int, ...]
    divisible: bool = True
    by_labelset: ClassVar[bool] = False
    quantised: bool = False
    weighted: ClassVar[bool] = False
    graded: ClassVar[bool] = False

    @property
    def name(self) -> str:
        """Return the name that messages have."""
        return type(self).__name__

    def worker_view(self) -> Statistic:
        """Return the statistic without what only `finish` needs, as it travels to the workers."""
        return self

    def takes_weights(self) -> bool:
        """Return whether it can be computed of rows that have weights."""
        return self.weighted

    def takes_grades(self) -> bool:
        """Return whether it can be computed of labels that are grades."""
        target = getattr(self, "target", None)
        while isinstance(target, Crossed):
            target = target.target
        return self.graded or isinstance(target, Everything)

    def partial(self, block: Any, profile: Profile) -> State:
        """Return the state of one block of rows: a `Block`, or a `CodedBlock` by `layout`.

        A subclass has this, or `fold`."""
        return self.fold(None, block, profile)

    def fold(self, state: State | None, block: Any, profile: Profile) -> State:
        """Return `state` with one more block, as by `merge` and `partial`.

        For states that help with the next block. `state` may be changed; None is that of no
        rows."""
        part = self.partial(block, profile)
        return part if state is None else self.merge_into(state, part)

    def merge(self, left: State, right: State) -> State:
        """Return the state of two sets of rows together."""
        return add(left, right)

    def merge_into(self, state: State, part: State) -> State:
        """Return the sum of `state`, which may be changed, and `part`."""
        if type(self).merge is Statistic.merge:
            return accumulate(state, part)
        return self.merge(state, part)

    def finish(self, state: State, profile: Profile) -> Any:
        """Return the result of the complete state."""
        return state

    def state_bytes(self, profile: Profile) -> int:
        """Return the most bytes a state of any rows takes (`encode` of `compact`).

        By them workers and driver refuse in advance."""
        raise NotImplementedError


class FeatureShardedStatistic(Statistic):
    """A statistic whose state grows with features × groups, its result with features alone.

    The result is a few numbers a feature, (k, v), and no process holds a whole state. A task counts
    its rows range by range of features, the pieces of a range are merged where they meet, and
    finished there; only the numbers travel on, which do not depend on how the features are cut.
    (Or of labels, where it is not `by_features`: the numbers of ranges are then put `together`.)"""

    divisible = False
    by_features: ClassVar[bool] = True

    def edges(self, profile: Profile, size: int) -> ndarray:
        """Return where to cut the features for pieces of about `size` bytes at most.

        (pieces + 1,) ascending, from 0 to v."""
        raise NotImplementedError

    def shard_bytes(self, profile: Profile, first: int, last: int) -> int:
        """Return the most bytes that the encoded state of the features first..last takes."""
        raise NotImplementedError

    def shards(self, blocks: list[Any], profile: Profile, edges: ndarray) -> Iterator[State]:
        """Yield the states of the blocks' rows, one range of features after the other."""
        raise NotImplementedError

    def reduce_shard(
        self,
        state: State,
        first: int,
        last: int,
        profile: Profile,
    ) -> ndarray:
        """Return the numbers of the features first..last, (k, last - first).

        From the complete state of this range."""
        raise NotImplementedError

    def unmerged(self) -> FeatureShardedStatistic:
        """Return the statistic as it counts ranges that are finished as they are."""
        return self

    def piece_bytes(self, profile: Profile) -> int:
        """Return the bytes of numbers that every range has of all features."""
        return 0

    def gather(self, parts: Iterable[ndarray]) -> ndarray:
        """Return the numbers of all features from those of the ranges, in their order."""
        return np.concatenate([*parts], axis=1)

    def partial(self, block: Any, profile: Profile) -> State:
        (state,) = self.shards([block], profile, np.array([0, len(profile.varying)]))
        return state

    def finish(self, state: State, profile: Profile) -> ndarray:
        return self.reduce_shard(state, 0, len(profile.varying), profile)

    def state_bytes(self, profile: Profile) -> int:
        return self.shard_bytes(profile, 0, len(profile.varying))


class PerFeatureStatistic(Statistic):
    """A statistic of every feature apart: it can be counted, and finished, range by range.

    The state of a range of features is what `shards` makes it; that of all features (`partial`) may
    look otherwise."""

    # whether what is counted serves one request: neither groups nor results are kept
    asked_once: bool = False
    gathered_bytes: ClassVar[int] = 32 << 20  # of a state that is brought together, at most
    # whether further numbers are made of it: a process that may hold it whole keeps it
    read_again: ClassVar[bool] = False
    multiple: int = 1  # where features may be cut

    def shardable(self, profile: Profile) -> bool:
        """Return whether it can be cut by ranges of these features."""
        return True

    def in_any_order(self) -> PerFeatureStatistic:
        """Return the statistic whose ranges need not be in order: they are not merged."""
        return self

    def feature_bytes(self, profile: Profile) -> ndarray:
        """Return what the state of each feature takes at most, (v,)."""
        raise NotImplementedError

    def shard_bytes(self, profile: Profile, first: int, last: int) -> int:
        """Return the most bytes that the encoded state of the features first..last takes."""
        raise NotImplementedError

    @staticmethod
    def shards(
        parts: Sequence[Any],
        blocks: list[Any],
        profile: Profile,
        edges: ndarray,
    ) -> Iterator[list[State]]:
        """Yield the states of some statistics of this class, one range of features after the other.

        Of the blocks' rows."""
        raise NotImplementedError

    def finish_shard(
        self,
        state: State,
        first: int,
        last: int,
        profile: Profile,
    ) -> Any:
        """Return the result of the features first..last, from the state of this range."""
        raise NotImplementedError


class Reduction(Keyed):
    """A reduction of the results of `PerFeatureStatistic`s to a few numbers for each feature.

    `in_any_order`: its sums are exact, so that the groups of counts need not be in order."""

    wholly = True
    in_any_order: bool = False

    def worker_view(self) -> Reduction:
        return self

    def __call__(self, *results: Any) -> ndarray:
        """Return (k, features) numbers.

        Those of a feature depend on what the results have of it, and of all rows, alone."""
        raise NotImplementedError


@dataclass
class FeatureNumbers(FeatureShardedStatistic):
    """Numbers (k, v) that a `reduction` makes of the results of `parts`.

    All parts read the same blocks. States are brought together where they are small, else finished
    range by range of the features. Both ways give the same bits. `once`: nothing else is made of
    the states."""

    parts: tuple[PerFeatureStatistic, ...]
    reduction: Reduction
    once: bool = field(default=False, compare=False)

    def __post_init__(self) -> None:
        self.layout = self.parts[0].layout
        if hasattr(self.parts[0], "coding"):
            self.coding = self.parts[0].coding

    @property
    def name(self) -> str:
        return self.parts[-1].name

    def worker_view(self) -> FeatureNumbers:
        return replace(self, reduction=self.reduction.worker_view())

    def unmerged(self) -> FeatureNumbers:
        if not self.reduction.in_any_order:
            return self
        return replace(self, parts=tuple(part.in_any_order() for part in self.parts))

    def takes_weights(self) -> bool:
        return all(part.takes_weights() for part in self.parts)

    def takes_grades(self) -> bool:
        return all(part.takes_grades() for part in self.parts)

    def reduced(self, results: Sequence[Any]) -> ndarray:
        return np.atleast_2d(self.reduction(*results))

    def _sizes(self, profile: Profile) -> ndarray:
        return np.sum([part.feature_bytes(profile) for part in self.parts], axis=0)

    def edges(self, profile: Profile, size: int) -> ndarray:
        return cuts(self._sizes(profile), size, self.parts[0].multiple)

    def shard_bytes(self, profile: Profile, first: int, last: int) -> int:
        return sum(part.shard_bytes(profile, first, last) for part in self.parts)

    def least_bytes(self, profile: Profile) -> int:
        """Return the most bytes that the smallest shards take."""
        empty = sum(part.shard_bytes(profile, 0, 0) for part in self.parts)
        return self.parts[0].multiple * int(self._sizes(profile).max(initial=0)) + empty

    def shards(self, blocks: list[Any], profile: Profile, edges: ndarray) -> Iterator[State]:
        for states in self.parts[0].shards(self.parts, blocks, profile, edges):
            yield self._joined(states)

    @staticmethod
    def _joined(states: Iterable[State]) -> State:
        """Return the states of the parts as one, whose names begin with the number of the part."""
        return {
            f"{index} {name}": value
            for index, state in enumerate(states)
            for name, value in state.items()
        }

    def _by_part(self, state: State) -> list[State]:
        """Return the inverse of `_joined`."""
        states: list[State] = [{} for _ in self.parts]
        for name, value in state.items():
            index, _, name_in_part = name.partition(" ")
            states[int(index)][name_in_part] = value
        return states

    def merge(self, left: State, right: State) -> State:
        sides = zip(self.parts, self._by_part(left), self._by_part(right), strict=True)
        return self._joined(part.merge(a, b) for part, a, b in sides)

    def reduce_shard(
        self,
        state: State,
        first: int,
        last: int,
        profile: Profile,
    ) -> ndarray:
        pairs = zip(self.parts, self._by_part(state), strict=True)
        results = [part.finish_shard(shard, first, last, profile) for part, shard in pairs]
        return self.reduced(results)


def cuts(sizes: ndarray, size: int, multiple: int = 1) -> ndarray:
    """Return where to cut things of these `sizes`, in order, into runs of about `size`.

    (pieces + 1,), at multiples of `multiple`."""
    count = len(sizes)
    before = np.concatenate([[0], np.cumsum(sizes)])
    edges = [0]
    while edges[-1] < count:
        first = edges[-1]
        fitting = int(np.searchsorted(before, before[first] + size, side="right")) - 1 - first
        last = first + max(fitting // multiple, 1) * multiple
        edges.append(min(last, count))
    return np.array(edges)


@dataclass(frozen=True)
class Budgets:
    """Bytes that decide where a run takes place and what it may hold.

    Data whose blocks are below `small` run as one task, the driver takes no state above `driver`, a
    worker process holds no more than `worker`, which `worker_setting` sets."""

    small: int = 64 << 20
    driver: int = 1 << 30
    worker: int = 1 << 30
    worker_setting: str = "worker_bytes"


DEFAULT_BUDGETS = Budgets()


class Runner(Protocol):
    """The part of an engine that a statistic's own helpers use (`engine.base.Engine` is one)."""

    profile: Profile
    budgets: Budgets
    progress: Callable[[str, int, int], None] | None

    def run(self, *statistics: Statistic, keep: bool = True) -> list[Any]:
        """Return the results of the statistics, in order; they are remembered to `keep`."""
