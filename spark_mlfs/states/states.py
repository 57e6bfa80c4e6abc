"""States: sums over some rows, and what makes them comparable. They merge, and are taken away,
exactly.

The basis of states is frozen with the first one, so that the sums of later rows are sums over the
same codes and grids. A later state is collected like the first. Features and labels go by their
names: those of the basis in its order, then new ones by name, wherever they came from, so that the
order of merges does not show. A feature that rows do not name is 0 in them, where features are
sparse; where they are dense both sides must have the same. A label that rows do not name is one
they do not have.

Codes have the edges of the first rows: what lies outside goes into the end bins. A new feature, or
one that was constant at 0, has two codes, 0 and above; another constant c has edges c ± |c|. Sums
of values are whole numbers of a quantum of the feature, 2⁻³⁶ of the power of two above its range in
the first rows: a value may be 16 times as far from the centre as those. A feature that was constant
or two-valued, or is new, may be 1024 times its size. What is beyond is refused: nothing is rounded
to another grid."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np

from ..blocks.codec import State
from ..blocks.dataset import check_and_name
from ..blocks.profile import Profile
from ..errors import DataError, ParameterError
from ..kernels.matrix import runs
from ..lazy import cached_property
from ..pipeline import Request
from . import sums as kinds
from .basis import Basis, laid_out, places_among
from .engine import StateRows
from .needs import check_available, of_pairs

BY_FEATURE = ("counts", "moments")  # kinds that may be added up range by range of features


@dataclass(frozen=True)
class CollectedPart:
    """What was collected at once: its `name`, when (`time`), from where (`source`), how many rows
    by `profile`, which is laid out as the basis with the `features` and `labels` that are new in
    it; `known` the features' ends over rows of known labels.

    >>> from spark_mlfs.states import collect
    >>> [part.name for part in collect([[0, 1], [1, 0]], [["a"], ["b"]], name="monday").parts]
    ['monday']"""

    name: str
    time: str
    source: str
    features: list[str]
    labels: list[str]
    profile: Profile
    known: State | None = None

    @property
    def identity(self) -> tuple[str, int, int]:
        """Parts of one identity are the same rows."""
        return self.name, self.profile.n, self.profile.fingerprint

    def __str__(self) -> str:
        return self.name or f"{self.profile.n} rows of {self.time or 'an unknown time'}"


@dataclass(frozen=True)
class States:
    """The sums of each kind over the rows of all `parts`, on one `basis`. `sums`, by kind, are of
    the basis's features and of those that are new, by name; in units of the parts' finest weight.

    >>> from spark_mlfs.states import collect
    >>> states = collect([[0, 1], [1, 0]], [["a"], ["b"]])
    >>> states.rows, states.features, states.labels
    (2, ['x0', 'x1'], ['a', 'b'])"""

    basis: Basis
    parts: tuple[CollectedPart, ...]
    sums: Mapping[str, State] = field(repr=False)

    @cached_property
    def features(self) -> list[str]:
        """Names of all features: those of the basis, then new ones by name."""
        return self._named("features")

    @cached_property
    def labels(self) -> list[str]:
        """Names of all labels, in the same order."""
        return self._named("labels")

    def _named(self, what: str) -> list[str]:
        known: list[str] = getattr(self.basis, what)
        new = {name for part in self.parts for name in getattr(part, what)}
        return known + sorted(new) if new else known

    @cached_property
    def profile(self) -> Profile:
        """The profile of all rows."""
        return reduce(Profile.merge, (self._placed(part, {}) for part in self.parts))

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(part.profile.n for part in self.parts)

    @property
    def exponent(self) -> int:
        """Of the unit of weight, 2^exponent; 0 without weights."""
        return min(
            (e for part in self.parts if (e := part.profile.weight_exponent) is not None), default=0
        )

    @property
    def has_unknown(self) -> bool:
        """Whether some label of some row is unknown."""
        return any(part.profile.has_unknown for part in self.parts)

    def dataset(self, some: bool = False, requests: Sequence[Request] = ()) -> StateRows:
        """The states in the place of rows, for `spark_mlfs.pipeline.rank`; where `requests` take
        pairs, of the features that have them. `ParameterError` where there is not what these take,
        `DataError` where nothing can be ranked, nor, of `some` of the rows, summed."""
        for request in requests:
            check_available(self.sums, self.has_unknown, request)
        out = StateRows(
            self.basis.frozen(self.profile), self.features, self.labels, True, states=self
        )
        check_and_name(out, "the states", "the states", some)
        if of_pairs(requests):
            out.profile = out.profile.only(np.intersect1d(out.profile.varying, self.basis.paired))
        return out

    def known(self) -> State:
        """The rows whose labels are all known: number, positive labels, the features' ends."""
        p = reduce(Profile.merge, (self._placed(part, part.known or {}) for part in self.parts))
        return {"n": np.array([p.n]), "positive": p.positive, "low": p.low, "high": p.high}

    def places_of(self, new: Sequence[str], what: str) -> np.ndarray:
        """Where the features or labels of the basis and the `new` ones are among all of these."""
        known, every = len(getattr(self.basis, what)), getattr(self, what)
        return np.concatenate([np.arange(known), known + places_among(new, every[known:])])

    def _placed(self, part: CollectedPart, known: State) -> Profile:
        """The profile of a part, with what is `known` of some of its rows, among all features and
        labels."""
        columns, labels = (
            self.places_of(part.features, "features"),
            self.places_of(part.labels, "labels"),
        )
        own = replace(part.profile, **(known and known | {"n": int(known["n"][0])}))
        return laid_out(own, columns, len(self.features), labels, len(self.labels))

    def ends(self, kind: str, first: int, last: int, before: int = 0) -> dict[str, slice]:
        """Where the rows of some features lie in the arrays of a kind that begin `before` them, by
        their first axis."""
        out = {"f": slice(first - before, last - before)}
        if "counts" in kinds.name_of(kind):
            start, *edges = self.basis.slots(kind, len(self.features))[
                [before, first, last]
            ].tolist()
            out["s"] = slice(*(edge - start for edge in edges))
        return out

    def some(self, kind: str, features: np.ndarray) -> State:
        """The sums of a kind over some features, ascending; what is not made yet is made of these
        alone."""
        first, last = (int(features[0]), int(features[-1]) + 1) if len(features) else (0, 0)
        ends = self.ends(kind, first, last)
        held = self.sums
        state = (
            held.of(kind, first, last)
            if isinstance(held, kinds.LazySums)
            else kinds.some_rows(kind, held[kind], ends)
        )
        if len(features) < last - first:
            within: dict[str, Any] = {"f": features - first}
            if "s" in ends:
                at = self.basis.slots(kind, len(self.features)) - ends["s"].start
                within["s"] = runs(at[features], at[features + 1])
            state = kinds.some_rows(kind, state, within)
        return state

    def places_in(self, other: States, kind: str) -> kinds.Places:
        """Where the entries of this kind go among those of `other`, which has all features and
        labels of these."""
        f = other.places_of(self.features[len(self.basis.features) :], "features")
        q = other.places_of(self.labels[len(self.basis.labels) :], "labels")
        count = len(other.labels)
        g, size = kinds.group_places(q, count, self.has_unknown, other.has_unknown)
        out = {
            "f": (f, len(other.features)),
            "q": (q, count),
            "g": (g, size),
            "G": (g[1:] - 1, size - 1),
        }
        if kinds.name_of(kind) == "label pairs":
            a, b = (q[each] for each in np.triu_indices(len(q), 1))
            out["L"] = (
                kinds.triangle(np.minimum(a, b), np.maximum(a, b) - 1, count - 1),
                count * (count - 1) // 2,
            )
            out["k"] = kinds.group_places(q, count, False, False)
        if kinds.name_of(kind) in ("counts", "labelset counts") and self.basis.thin:
            own, every = (each.basis.slots(kind, len(each.features)) for each in (self, other))
            out["s"] = (
                np.arange(own[-1]) if own is every else runs(every[f], every[f] + np.diff(own)),
                int(every[-1]),
            )
        return out


def merge(*states: States) -> States:
    """The states of the rows of all, in whatever order. `ParameterError` where they do not fit, in
    one line that says why.

    >>> from spark_mlfs.states import collect
    >>> first = collect([[0, 1], [1, 0]], [["a"], ["b"]], name="monday")
    >>> merge(first, collect([[1, 1]], [["c"]], like=first, name="tuesday")).labels
    ['a', 'b', 'c']"""
    states = tuple(states[0]) if len(states) == 1 and not isinstance(states[0], States) else states
    check(states)
    return summed(states)


def summed(states: Sequence[States], later: bool = False) -> States:
    """States that fit each other as one, whose sums are added up, or will be `later`, when they are
    asked for."""
    out = states[0] if len(states) == 1 else Sum(states, [1] * len(states)).whole
    return (
        out
        if later or not isinstance(out.sums, kinds.LazySums)
        else replace(out, sums=dict(out.sums))
    )


def subtract(states: States, *taken: States) -> States:
    """The states without the rows of others that were merged into them. `ParameterError` where they
    were not.

    >>> from spark_mlfs.states import collect
    >>> first = collect([[0, 1], [1, 0]], [["a"], ["b"]], name="monday")
    >>> later = collect([[1, 1]], [["c"]], like=first, name="tuesday")
    >>> subtract(merge(first, later), first).rows
    1"""
    taken = tuple(taken[0]) if len(taken) == 1 and not isinstance(taken[0], States) else taken
    check((states, *taken), apart=False)
    left = {part.identity: part for part in states.parts}
    for part in (part for each in taken for part in each.parts):
        if left.pop(part.identity, None) is None:
            raise ParameterError(
                f"{part} is not among what was merged: only that can be taken away"
            )
    if not left:
        raise ParameterError("nothing is left: every part of the states is taken away")
    every, parts = (
        Sum((states, *taken), [1] + [-1] * len(taken)),
        (part for part in states.parts if part.identity in left),
    )
    out = States(states.basis, tuple(parts), {})
    out = replace(
        out, sums={kind: _only(every.whole, out, kind, state) for kind, state in every.items()}
    )
    if any(map(kinds.counts_less, out.sums.values())):
        raise DataError(
            "more rows would be taken away than there are: the states are not those that were "
            "merged"
        )
    return out


def check(states: Sequence[States], apart: bool = True) -> None:
    """`ParameterError` for the first states that do not fit the others; `apart`: nor may they share
    rows."""
    if not states:
        raise ParameterError("there are no states: give at least one")
    first = states[0]
    for other in states[1:]:
        said_of = f"{other.parts[0]} does not go with {first.parts[0]}"
        difference = other.basis.difference(first.basis)
        if difference is not None:
            raise ParameterError(
                f"{said_of}: {difference}; collect later states like the first one"
            )
        lacking = sorted((first.sums.keys() ^ other.sums.keys()) - {"outside"})
        if lacking:
            raise ParameterError(
                f"{said_of}: only one has {kinds.describe_kind(lacking[0])}; collect both for the same "
                "methods"
            )
    if apart:
        seen: set[Any] = set()
        for part in (part for each in states for part in each.parts):
            if part.identity in seen:
                raise ParameterError(
                    f"{part} is there twice: its rows would count twice; give it once"
                )
            seen.add(part.identity)


class Sum(kinds.LazySums):
    """The sums of states with `signs`; `whole`: these, and the rows of all parts."""

    def __init__(self, states: Sequence[States], signs: Sequence[int]) -> None:
        super().__init__({kind for each in states for kind in each.sums})
        parts = sorted(
            (part for each in states for part in each.parts),
            key=lambda part: (part.time, *part.identity),
        )
        self.whole, self._terms = (
            States(states[0].basis, tuple(parts), self),
            [*zip(states, signs, strict=True)],
        )
        self.whole.dataset(some=True)  # weights too far apart are refused before they are added up
        self._places: dict[str, list[tuple[States, kinds.Places, int]]] = {}

    def _placed(self, kind: str) -> list[tuple[States, kinds.Places, int]]:
        """The states that have a kind, where its entries go, and the signs."""
        if kind not in self._places:
            having = ((each, sign) for each, sign in self._terms if kind in each.sums)
            self._places[kind] = [
                (each, each.places_in(self.whole, kind), sign) for each, sign in having
            ]
        return self._places[kind]

    def of(self, kind: str, first: int = 0, last: int | None = None) -> State:
        last = len(self.whole.features) if last is None else last
        ends = self.whole.ends(kind, first, last)
        if kind in self._made or (
            kinds.name_of(kind) not in BY_FEATURE and last - first < len(self.whole.features)
        ):
            return kinds.some_rows(kind, self[kind], ends)
        states, placed = [], []
        for each, places, _ in self._placed(kind):
            own = [int(edge) for edge in np.searchsorted(places["f"][0], (first, last))]
            at = each.ends(kind, *own)
            some = {
                axis: (places[axis][0][at[axis]] - e.start, e.stop - e.start)
                for axis, e in ends.items()
                if axis in places
            }
            placed.append(places | some)
            states.append(
                kinds.shifted_up(
                    each.some(kind, np.arange(*own)), each.exponent - self.whole.exponent
                )
            )
        graded = bool(self.whole.basis.options.get("graded"))
        return kinds.added(kind, states, placed, [sign for *_, sign in self._placed(kind)], graded)


def _only(whole: States, some: States, kind: str, state: State) -> State:
    """The sums of the features and labels of `some` of the parts of the whole: those that no row
    names any more go."""
    places, state = (
        some.places_in(whole, kind),
        kinds.shifted_down(state, some.exponent - whole.exponent),
    )
    out: State = {}
    for name, value in state.items():
        for axis, letter in enumerate(kinds.axes_of(kind, name, kinds.dims_of(value))):
            if letter in places and value.shape[axis] != len(places[letter][0]):
                value = value[(slice(None),) * axis + (places[letter][0],)]
        out[name] = value
    return out


def described_parts(states: States) -> list[dict[str, Any]]:
    """The parts, one after the other."""
    return [
        {"name": p.name, "time": p.time, "source": p.source, "rows": p.profile.n}
        for p in states.parts
    ]


def out_of_range_shares(states: States) -> dict[str, float]:
    """The share of the rows in which a feature lies outside the edges of the basis, of features of
    which some do."""
    counts = states.sums.get("outside", {}).get("outside", np.zeros(0))
    return {
        states.features[f]: float(counts[f] / states.profile.total) for f in np.flatnonzero(counts)
    }
