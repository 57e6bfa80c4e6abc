"""States: sums over some rows, which merge, and are taken away, exactly.

The basis of states is frozen with the first one (`basis`), so that the sums of later rows are sums
over the same codes and grids. A later state is collected like the first. Features and labels go by
their names: those of the basis in its order, then new ones by name, wherever they came from, so
that the order of merges does not show. A feature that rows do not name is 0 in them, where features
are sparse; where they are dense both sides must have the same. A label that rows do not name is one
they do not have.

States are added up, or taken away, by `StateSum`: it places the sums of each state among the
features and labels of all, axis by axis, and brings them to the finest unit of weight. Axes have
the letters of `kinds`: f features, s slots (codes but that of 0), q labels, g groups of rows."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
from numpy import ndarray

from ..blocks.codec import State
from ..blocks.dataset import check_and_name
from ..blocks.profile import Profile
from ..errors import DataError, ParameterError
from ..kernels.matrix import runs
from ..lazy import cached_property
from ..pipeline import Request
from .basis import Basis, laid_out, positions_of
from .engine import StateRows
from .kinds import axes_of, describe_kind, dims_of, name_of, select_rows
from .needs import check_available, of_pairs
from .sums import (
    Axis,
    LazySums,
    Places,
    added,
    counts_less,
    group_places,
    shifted_down,
    shifted_up,
    triangle,
)

BY_FEATURE = ("counts", "moments")  # kinds that may be added up range by range of features


@dataclass(frozen=True)
class CollectedPart:
    """What was collected at once.

    Its `name`, when (`time`), from where (`source`); how many rows by `profile`, which is laid out
    as the basis with the `features` and `labels` that are new in it; `known` the features' ends
    over rows of known labels.

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
    """The sums of each kind over the rows of all `parts`, on one `basis`.

    `sums`, by kind, are of the basis's features and of those that are new, by name; in units of the
    parts' finest weight.

    >>> from spark_mlfs.states import collect
    >>> states = collect([[0, 1], [1, 0]], [["a"], ["b"]])
    >>> states.rows, states.features, states.labels
    (2, ['x0', 'x1'], ['a', 'b'])"""

    basis: Basis
    parts: tuple[CollectedPart, ...]
    sums: Mapping[str, State] = field(repr=False)

    # ---- the rows that were summed ----

    @cached_property
    def features(self) -> list[str]:
        """Names of all features: those of the basis, then new ones by name."""
        return self._names("features")

    @cached_property
    def labels(self) -> list[str]:
        """Names of all labels, in the same order."""
        return self._names("labels")

    def _names(self, attribute: str) -> list[str]:
        known: list[str] = getattr(self.basis, attribute)
        new = {name for part in self.parts for name in getattr(part, attribute)}
        return known + sorted(new) if new else known

    @cached_property
    def profile(self) -> Profile:
        """The profile of all rows."""
        return reduce(Profile.merge, [self._laid_out(part, {}) for part in self.parts])

    @property
    def rows(self) -> int:
        """Number of rows."""
        return sum(part.profile.n for part in self.parts)

    @property
    def exponent(self) -> int:
        """Of the unit of weight, 2^exponent; 0 without weights."""
        exponents = [part.profile.weight_exponent for part in self.parts]
        return min((e for e in exponents if e is not None), default=0)

    @property
    def has_unknown(self) -> bool:
        """Whether some label of some row is unknown."""
        return any(part.profile.has_unknown for part in self.parts)

    def known(self) -> State:
        """Return number, positive labels and features' ends of rows whose labels are all known."""
        known_rows = [self._laid_out(part, part.known or {}) for part in self.parts]
        profile = reduce(Profile.merge, known_rows)
        return {
            "n": np.array([profile.n]),
            "positive": profile.positive,
            "low": profile.low,
            "high": profile.high,
        }

    def _laid_out(self, part: CollectedPart, known: State) -> Profile:
        """Return the profile of a part among all features and labels.

        Facts that are `known` of some of its rows stand for those of all."""
        facts = dict(known)
        if facts:
            facts["n"] = int(facts["n"][0])
        profile = replace(part.profile, **facts)
        features = self._positions("features", part.features)
        labels = self._positions("labels", part.labels)
        return laid_out(
            profile,
            features,
            len(self.features),
            labels,
            len(self.labels),
        )

    # ---- sums, by feature ----

    def dataset(self, partial: bool = False, requests: Sequence[Request] = ()) -> StateRows:
        """Return the states in the place of rows, for `spark_mlfs.pipeline.rank`.

        Where `requests` take pairs, of the features that have them. Raises `ParameterError` where
        the states lack what these take, `DataError` where nothing can be ranked (of `partial` rows:
        summed)."""
        for request in requests:
            check_available(self.sums, self.has_unknown, request)
        profile = self.basis.frozen(self.profile)
        out = StateRows(
            profile,
            self.features,
            self.labels,
            True,
            states=self,
        )
        check_and_name(out, "the states", "the states", partial)
        if of_pairs(requests):
            out.profile = out.profile.only(np.intersect1d(out.profile.varying, self.basis.paired))
        return out

    def row_slices(
        self,
        kind: str,
        first: int,
        last: int,
        start: int = 0,
    ) -> dict[str, slice]:
        """Return which rows the features first..last have in the arrays of a kind.

        By the letter of their first axis; the arrays begin with the feature `start`."""
        slices = {"f": slice(first - start, last - start)}
        if "counts" in name_of(kind):
            slots = self.basis.slots(kind, len(self.features))
            before = int(slots[start])
            slices["s"] = slice(int(slots[first]) - before, int(slots[last]) - before)
        return slices

    def sums_of(self, kind: str, features: ndarray) -> State:
        """Return the sums of a kind over some features, ascending.

        What is not made yet is made of the range of these alone."""
        first = int(features[0]) if len(features) else 0
        last = int(features[-1]) + 1 if len(features) else 0
        slices = self.row_slices(kind, first, last)
        if isinstance(self.sums, LazySums):
            state = self.sums.of(kind, first, last)
        else:
            state = select_rows(kind, self.sums[kind], slices)
        if len(features) == last - first:
            return state
        rows: dict[str, Any] = {"f": features - first}
        if "s" in slices:
            slots = self.basis.slots(kind, len(self.features)) - slices["s"].start
            rows["s"] = runs(slots[features], slots[features + 1])
        return select_rows(kind, state, rows)

    # ---- where sums go in those of more rows ----

    def places_in(self, other: States, kind: str) -> Places:
        """Return where the entries of a kind go among those of `other`, by axis.

        `other` has all features and labels of these states."""
        features = other._positions("features", self.features[len(self.basis.features) :])
        labels = other._positions("labels", self.labels[len(self.basis.labels) :])
        q = len(other.labels)
        groups, num_groups = group_places(labels, q, self.has_unknown, other.has_unknown)
        places = {
            "f": (features, len(other.features)),
            "q": (labels, q),
            "g": (groups, num_groups),
            "G": (groups[1:] - 1, num_groups - 1),  # without the group of all rows
        }
        if name_of(kind) == "label pairs":
            places["L"] = _label_pair_places(labels, q)
            places["k"] = group_places(labels, q, False, False)
        if name_of(kind) in ("counts", "labelset counts") and self.basis.thin:
            slots = self.basis.slots(kind, len(self.features))
            other_slots = other.basis.slots(kind, len(other.features))
            places["s"] = _slot_places(slots, other_slots, features)
        return places

    def _positions(self, attribute: str, new: Sequence[str]) -> ndarray:
        """Return where the features or labels of the basis, then `new` ones, are among all."""
        names = getattr(self, attribute)
        known = len(getattr(self.basis, attribute))
        return np.concatenate([np.arange(known), known + positions_of(new, names[known:])])


def _label_pair_places(labels: ndarray, q: int) -> Axis:
    """Return where the pairs of labels go, the labels being at `labels` of q."""
    a, b = np.triu_indices(len(labels), 1)
    first = np.minimum(labels[a], labels[b])
    second = np.maximum(labels[a], labels[b])
    # pairs a < b of q labels are pairs a ≤ b − 1 of q − 1
    return triangle(first, second - 1, q - 1), q * (q - 1) // 2


def _slot_places(slots: ndarray, other_slots: ndarray, features: ndarray) -> Axis:
    """Return where the slots of features go, the features being at `features` of the others.

    (d + 1,) and (D + 1,) are where the slots of each feature begin, here and there."""
    size = int(other_slots[-1])
    if slots is other_slots:
        return np.arange(size), size
    starts = other_slots[features]
    return runs(starts, starts + np.diff(slots)), size


def merge(*states: States) -> States:
    """Return the states of the rows of all, in whatever order.

    Raises `ParameterError` where they do not fit, in one line that says why.

    >>> from spark_mlfs.states import collect
    >>> first = collect([[0, 1], [1, 0]], [["a"], ["b"]], name="monday")
    >>> merge(first, collect([[1, 1]], [["c"]], like=first, name="tuesday")).labels
    ['a', 'b', 'c']"""
    states = _listed(states)
    check(states)
    return summed(states)


def summed(states: Sequence[States], lazy: bool = False) -> States:
    """Return states that fit each other as one; `lazy` ones are added up when sums are needed."""
    out = states[0] if len(states) == 1 else StateSum(states, [1] * len(states)).total
    if lazy or not isinstance(out.sums, LazySums):
        return out
    return replace(out, sums=dict(out.sums))


def subtract(states: States, *taken: States) -> States:
    """Return the states without the rows of others that were merged into them.

    Raises `ParameterError` where they were not.

    >>> from spark_mlfs.states import collect
    >>> first = collect([[0, 1], [1, 0]], [["a"], ["b"]], name="monday")
    >>> later = collect([[1, 1]], [["c"]], like=first, name="tuesday")
    >>> subtract(merge(first, later), first).rows
    1"""
    taken = _listed(taken)
    check((states, *taken), disjoint=False)
    remaining = {part.identity: part for part in states.parts}
    for part in _parts_of(taken):
        if remaining.pop(part.identity, None) is None:
            raise ParameterError(
                f"{part} is not among what was merged: only that can be taken away"
            )
    if not remaining:
        raise ParameterError("nothing is left: every part of the states is taken away")
    difference = StateSum((states, *taken), [1] + [-1] * len(taken))
    parts = tuple(part for part in states.parts if part.identity in remaining)
    left = States(states.basis, parts, {})
    sums = {
        kind: _restricted(difference.total, left, kind, state) for kind, state in difference.items()
    }
    if any(map(counts_less, sums.values())):
        raise DataError(
            "more rows would be taken away than there are: the states are not those that were "
            "merged"
        )
    return replace(left, sums=sums)


def check(states: Sequence[States], disjoint: bool = True) -> None:
    """Raise `ParameterError` for the first states that do not fit the others.

    Where they must be `disjoint` they may not share rows either."""
    if not states:
        raise ParameterError("there are no states: give at least one")
    for other in states[1:]:
        _check_fit(states[0], other)
    if not disjoint:
        return
    identities: set[Any] = set()
    for part in _parts_of(states):
        if part.identity in identities:
            raise ParameterError(f"{part} is there twice: its rows would count twice; give it once")
        identities.add(part.identity)


def _check_fit(first: States, other: States) -> None:
    """Raise `ParameterError` where other states have another basis, or other kinds of sums."""
    subject = f"{other.parts[0]} does not go with {first.parts[0]}"
    difference = other.basis.difference(first.basis)
    if difference is not None:
        raise ParameterError(f"{subject}: {difference}; collect later states like the first one")
    lacking = sorted((first.sums.keys() ^ other.sums.keys()) - {"outside"})
    if lacking:
        sums = describe_kind(lacking[0])
        raise ParameterError(f"{subject}: only one has {sums}; collect both for the same methods")


def _listed(states: tuple[Any, ...]) -> tuple[States, ...]:
    """Return states that were given one by one, or as one sequence."""
    if len(states) == 1 and not isinstance(states[0], States):
        return tuple(states[0])
    return states


def _parts_of(states: Iterable[States]) -> Iterable[CollectedPart]:
    return (part for collected in states for part in collected.parts)


class StateSum(LazySums):
    """The sums of states with `signs`; `total` has these, and the rows of all parts."""

    def __init__(self, states: Sequence[States], signs: Sequence[int]) -> None:
        super().__init__({kind for collected in states for kind in collected.sums})
        parts = sorted(_parts_of(states), key=lambda part: (part.time, *part.identity))
        self.total = States(states[0].basis, tuple(parts), self)
        self.total.dataset(partial=True)  # refuses weights too far apart before any is added up
        self._terms = [*zip(states, signs, strict=True)]
        self._placed: dict[str, list[tuple[States, Places, int]]] = {}

    def _terms_of(self, kind: str) -> list[tuple[States, Places, int]]:
        """Return the states that have a kind, where its entries go, and the signs."""
        if kind not in self._placed:
            self._placed[kind] = [
                (states, states.places_in(self.total, kind), sign)
                for states, sign in self._terms
                if kind in states.sums
            ]
        return self._placed[kind]

    def of(self, kind: str, first: int = 0, last: int | None = None) -> State:
        d = len(self.total.features)
        last = d if last is None else last
        divisible = name_of(kind) in BY_FEATURE or last - first == d
        if kind in self._made or not divisible:
            return select_rows(kind, self[kind], self.total.row_slices(kind, first, last))
        parts = []
        places = []
        signs = []
        for states, own_places, sign in self._terms_of(kind):
            part, range_places = self._range_of(
                states,
                own_places,
                kind,
                first,
                last,
            )
            parts.append(part)
            places.append(range_places)
            signs.append(sign)
        graded = bool(self.total.basis.options.get("graded"))
        return added(
            kind,
            parts,
            places,
            signs,
            graded,
        )

    def _range_of(
        self,
        states: States,
        places: Places,
        kind: str,
        first: int,
        last: int,
    ) -> tuple[State, Places]:
        """Return the sums that states have of the features first..last of all, and their places.

        In the finest unit of weight."""
        # features go to ascending places: those of the range are a range of the states' own
        own_first, own_last = np.searchsorted(places["f"][0], (first, last)).tolist()
        own_slices = states.row_slices(kind, own_first, own_last)
        range_places = dict(places)
        for axis, rows in self.total.row_slices(kind, first, last).items():
            if axis in places:
                positions = places[axis][0][own_slices[axis]] - rows.start
                range_places[axis] = (positions, rows.stop - rows.start)
        sums = states.sums_of(kind, np.arange(own_first, own_last))
        return shifted_up(sums, states.exponent - self.total.exponent), range_places


def _restricted(
    total: States,
    left: States,
    kind: str,
    state: State,
) -> State:
    """Return the sums of the features and labels that the parts which are `left` still name."""
    places = left.places_in(total, kind)
    out: State = {}
    for name, value in shifted_down(state, left.exponent - total.exponent).items():
        for axis, letter in enumerate(axes_of(kind, name, dims_of(value))):
            if letter in places:
                positions, _ = places[letter]
                if value.shape[axis] != len(positions):
                    value = value[(slice(None),) * axis + (positions,)]
        out[name] = value
    return out


def described_parts(states: States) -> list[dict[str, Any]]:
    """Return the parts as a manifest has them, one after the other."""
    return [
        {
            "name": p.name,
            "time": p.time,
            "source": p.source,
            "rows": p.profile.n,
        }
        for p in states.parts
    ]


def out_of_range_shares(states: States) -> dict[str, float]:
    """Return the share of the rows in which a feature lies outside the edges of the basis.

    By name, of the features of which some rows do."""
    counts = states.sums.get("outside", {}).get("outside", np.zeros(0))
    total = states.profile.total
    return {states.features[f]: float(counts[f] / total) for f in np.flatnonzero(counts)}
