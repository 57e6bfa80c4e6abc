"""The contract of a statistic: a state that adds up over blocks of rows, and how a state travels.

A statistic knows Spark as little as it knows the method that asks for it. Its state is a dict of
NumPy arrays (or SciPy CSR matrices); states of two sets of rows merge by addition, so a state can
be computed block by block, task by task, and saved and added to later. Where that happens is the
engine's business; a statistic knows of it what `Runner` says."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar, Protocol

import numpy as np
import scipy.sparse as sp

from ..blocks.codec import State
from ..blocks.coding import Coding
from ..blocks.profile import Profile
from .targets import Crossed, Everything, Keyed


def add(left: State, right: State) -> State:
    """The merge of two states: addition name by name, of counts as int64, exactly."""
    return {name: _sum(value, right[name]) for name, value in left.items()}


def accumulate(state: State, part: State) -> State:
    """`add` into `state`, whose large arrays are not copied."""
    for name, value in part.items():
        own: Any = state.get(name)
        wide = isinstance(own, np.ndarray) and own.dtype in (np.int64, np.float64)
        if wide and own.flags.writeable and own.dtype == value.dtype:
            np.add(own, value, out=own)
        else:
            state[name] = value if own is None else _sum(own, value)
    return state


def _sum(a: Any, b: Any) -> Any:
    if isinstance(a, np.ndarray) and a.dtype.kind == "i":
        return np.add(a, b, dtype=np.int64)
    if sp.issparse(a) and a.dtype.kind == "i":
        largest = int(a.data.max(initial=0)) + int(b.data.max(initial=0))
        count = np.int32 if largest < 2**31 else np.int64  # half the memory, where counts allow it
        return a.astype(count, copy=False) + b.astype(count, copy=False)
    return a + b


def compact(state: State) -> State:
    """The state with whole numbers in fewer bytes where they fit: int64 as int32, those of CSR
    matrices as the narrowest."""
    out: State = {}
    for name, value in state.items():
        if sp.issparse(value) and value.dtype.kind == "i":
            most = max(int(value.data.max(initial=0)), -int(value.data.min(initial=0)) - 1)
            value = value.astype(
                next(t for t in (np.int8, np.int16, np.int32, np.int64) if most <= np.iinfo(t).max)
            )
        if (
            isinstance(value, np.ndarray)
            and value.dtype == np.int64
            and value.size
            and abs(value).max() < 2**31
        ):
            value = value.astype(np.int32)
        out[name] = value
    return out


def cut(state: State, pieces: int) -> list[State]:
    """The state cut along the first axis of each of its arrays: pieces merge on their own, `paste`
    puts them together."""
    out: list[State] = [{} for _ in range(pieces)]
    for name, value in state.items():
        whole = not (isinstance(value, np.ndarray) or sp.issparse(value))
        edges = None if whole else np.linspace(0, value.shape[0], pieces + 1).astype(int)
        for index, piece in enumerate(out):
            piece[name] = value if edges is None else value[edges[index] : edges[index + 1]]
    return out


def paste(pieces: list[State]) -> State:
    """The inverse of `cut`."""
    out = dict(pieces[0])
    for name, value in out.items():
        if sp.issparse(value):
            out[name] = sp.vstack([piece[name] for piece in pieces], format="csr")
        elif isinstance(value, np.ndarray):
            out[name] = np.concatenate([piece[name] for piece in pieces])
    return out


class Statistic(Keyed):
    """Base of every statistic.

    A subclass states what differs from the class attributes here: they say how every one of its
    instances is computed.

    `layout`       which blocks it reads:
        ``"rows"``    raw blocks, equal rows may share an id
        ``"identified"``  the same, no two rows sharing an id
        ``"coded"``   discretised blocks (the statistic has a `coding`)
        ``"cells"``   discretised blocks, every joint cell of `selected` in one block (it has a
        `coding`, too)
    `divisible`    whether a state may be cut along the first axes of its arrays, and the pieces
    merged apart `quantised`    whether its integers are sums of quantised values (`kernels.exact`),
    which finish on the driver `by_labelset`  whether a state grows with the distinct labelsets, so
    that counting them first tells its size `weighted`     whether rows that have weights count by
    them; the engines refuse a statistic of weighted rows that does not `graded`       whether it
    takes labels that are grades (`blocks.grades`), or does not look at labels; so with the engines,
    too"""

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
        """The statistic without what only `finish` needs: this is what travels to the workers."""
        return self

    def takes_weights(self) -> bool:
        """Whether it can be computed of rows that have weights."""
        return self.weighted

    def takes_grades(self) -> bool:
        """Whether it can be computed of labels that are grades."""
        target = getattr(self, "target", None)
        while isinstance(target, Crossed):
            target = target.target
        return self.graded or isinstance(target, Everything)

    def partial(self, block: Any, profile: Profile) -> State:
        """The state of one block of rows: a `Block`, or a `CodedBlock` by `layout`. A subclass has
        this, or `fold`."""
        return self.fold(None, block, profile)

    def fold(self, state: State | None, block: Any, profile: Profile) -> State:
        """`state` (None: of no rows, may be changed) with one more block, as by `merge` and
        `partial`: for states that help."""
        part = self.partial(block, profile)
        return part if state is None else self.merge_into(state, part)

    def merge(self, left: State, right: State) -> State:
        """The state of two sets of rows together."""
        return add(left, right)

    def merge_into(self, state: State, part: State) -> State:
        """The sum of `state`, which may be changed, and `part`."""
        return (
            accumulate(state, part)
            if type(self).merge is Statistic.merge
            else self.merge(state, part)
        )

    def finish(self, state: State, profile: Profile) -> Any:
        """The result of the complete state."""
        return state

    def state_bytes(self, profile: Profile) -> int:
        """The most bytes a state of any rows takes (`encode` of `compact`): workers and driver can
        refuse in advance."""
        raise NotImplementedError


class FeatureShardedStatistic(Statistic):
    """A statistic whose state grows with features × groups and whose result is a few numbers a
    feature, (k, v): no process holds a whole state. A task counts its rows range by range of
    features, the pieces of a range are merged where they meet, and finished there; only the numbers
    travel on, which do not depend on how the features are cut."""

    divisible = False

    def edges(self, profile: Profile, size: int) -> np.ndarray:
        """(pieces + 1,) ascending features from 0 to v: where to cut for pieces of about `size`
        bytes at most."""
        raise NotImplementedError

    def shard_bytes(self, profile: Profile, first: int, last: int) -> int:
        """Return the most bytes that the encoded state of the features first..last takes."""
        raise NotImplementedError

    def shards(self, blocks: list[Any], profile: Profile, edges: np.ndarray) -> Iterator[State]:
        """The states of the blocks' rows, one range of features after the other."""
        raise NotImplementedError

    def reduce_shard(self, state: State, first: int, last: int, profile: Profile) -> np.ndarray:
        """(k, last - first) the numbers of the features first..last, of the complete state of this
        range."""
        raise NotImplementedError

    def partial(self, block: Any, profile: Profile) -> State:
        (state,) = self.shards([block], profile, np.array([0, len(profile.varying)]))
        return state

    def finish(self, state: State, profile: Profile) -> np.ndarray:
        return self.reduce_shard(state, 0, len(profile.varying), profile)

    def state_bytes(self, profile: Profile) -> int:
        return self.shard_bytes(profile, 0, len(profile.varying))


class PerFeatureStatistic(Statistic):
    """A statistic of every feature apart: it can be counted, and finished, for a range of features
    alone. The state of a range is what `shards` makes it; that of all features (`partial`) may look
    otherwise."""

    asked_once: bool = (
        False  # whether what is counted serves one request: neither groups nor results are kept
    )
    gathered_bytes: ClassVar[int] = 32 << 20  # of a state that is brought together, at most
    read_again: ClassVar[bool] = (
        False  # whether further numbers are made of it: a process that may hold it whole keeps it
    )
    multiple: int = 1  # where features may be cut

    def shardable(self, profile: Profile) -> bool:
        """Whether it can be cut by ranges of these features."""
        return True

    def feature_bytes(self, profile: Profile) -> np.ndarray:
        """(v,) what the state of each feature takes at most."""
        raise NotImplementedError

    def shard_bytes(self, profile: Profile, first: int, last: int) -> int:
        """Return the most bytes that the encoded state of the features first..last takes."""
        raise NotImplementedError

    @staticmethod
    def shards(
        parts: Sequence[Any], blocks: list[Any], profile: Profile, edges: np.ndarray
    ) -> Iterator[list[State]]:
        """The states of the blocks' rows of some statistics of this class, one range of features
        after the other."""
        raise NotImplementedError

    def finish_shard(self, state: State, first: int, last: int, profile: Profile) -> Any:
        """`finish` of the features first..last, from the state of this range."""
        raise NotImplementedError


class Reduction(Keyed):
    """A reduction of the results of `PerFeatureStatistic`s, over some features, to a few numbers
    for each."""

    wholly = True

    def worker_view(self) -> Reduction:
        return self

    def __call__(self, *results: Any) -> np.ndarray:
        """(k, features) numbers; those of a feature depend on what the results say of it, and of
        all rows, alone."""
        raise NotImplementedError


@dataclass
class FeatureNumbers(FeatureShardedStatistic):
    """Numbers (k, v) that a `reduction` makes of the results of `parts`, which look at the same
    blocks: brought together where their states are small, else finished range by range of the
    features. Both ways give the same bits."""

    parts: tuple[PerFeatureStatistic, ...]
    reduction: Reduction

    def __post_init__(self) -> None:
        self.layout = self.parts[0].layout
        if hasattr(self.parts[0], "coding"):
            self.coding = self.parts[0].coding

    @property
    def name(self) -> str:
        return self.parts[-1].name

    def worker_view(self) -> FeatureNumbers:
        return replace(self, reduction=self.reduction.worker_view())

    def takes_weights(self) -> bool:
        return all(part.takes_weights() for part in self.parts)

    def takes_grades(self) -> bool:
        return all(part.takes_grades() for part in self.parts)

    def reduced(self, results: Sequence[Any]) -> np.ndarray:
        return np.atleast_2d(self.reduction(*results))

    def _sizes(self, profile: Profile) -> np.ndarray:
        return np.sum([part.feature_bytes(profile) for part in self.parts], axis=0)

    def edges(self, profile: Profile, size: int) -> np.ndarray:
        return cuts(self._sizes(profile), size, self.parts[0].multiple)

    def shard_bytes(self, profile: Profile, first: int, last: int) -> int:
        return sum(part.shard_bytes(profile, first, last) for part in self.parts)

    def least_bytes(self, profile: Profile) -> int:
        """Return the most bytes that the smallest shards take."""
        none = sum(part.shard_bytes(profile, 0, 0) for part in self.parts)
        return self.parts[0].multiple * int(self._sizes(profile).max(initial=0)) + none

    def shards(self, blocks: list[Any], profile: Profile, edges: np.ndarray) -> Iterator[State]:
        for states in self.parts[0].shards(self.parts, blocks, profile, edges):
            yield {
                f"{index} {name}": value
                for index, state in enumerate(states)
                for name, value in state.items()
            }

    def _of(self, state: State) -> list[State]:
        own: list[State] = [{} for _ in self.parts]
        for name, value in state.items():
            index, _, rest = name.partition(" ")
            own[int(index)][rest] = value
        return own

    def merge(self, left: State, right: State) -> State:
        merged = (
            part.merge(*both)
            for part, *both in zip(self.parts, self._of(left), self._of(right), strict=True)
        )
        return {
            f"{index} {name}": value
            for index, state in enumerate(merged)
            for name, value in state.items()
        }

    def reduce_shard(self, state: State, first: int, last: int, profile: Profile) -> np.ndarray:
        states = zip(self.parts, self._of(state), strict=True)
        return self.reduced([part.finish_shard(own, first, last, profile) for part, own in states])


def cuts(sizes: np.ndarray, size: int, multiple: int = 1) -> np.ndarray:
    """(pieces + 1,) where to cut things of these `sizes`, in order, into runs of about `size`: at
    multiples of `multiple`."""
    count = len(sizes)
    before = np.concatenate([[0], np.cumsum(sizes)])
    edges = [0]
    while edges[-1] < count:
        first = edges[-1]
        last = int(np.searchsorted(before, before[first] + size, side="right")) - 1
        last = first + max((last - first) // multiple, 1) * multiple
        edges.append(min(last, count))
    return np.array(edges)


@dataclass(frozen=True)
class Budgets:
    """Bytes that decide where a run takes place and what it may hold: data whose blocks are below
    `small` run as one task, the driver takes no state above `driver`, a worker process holds no
    more than `worker`, which `worker_setting` sets."""

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
        """The results of the statistics, in order; without `keep` they are not remembered."""
