"""States: sums over batches of rows, which merge, and are taken away, exactly.

A *kind* is what is summed, such as ``"counts 5 width"``: the rows with each of 5 codes of each
feature, by label (`kinds`). A `States` object holds the sums of its kinds over batches of rows, its
`parts`. The first collection fixes the `basis`: the edges that make values codes, and the grids
that make them whole numbers. Later ones reuse it. So all sums are whole numbers, of weights in
units of 2^exponent, and adding rounds nothing.

Features and labels are matched by name: those of the basis in its order, then new ones sorted by
name, so that the order of merges does not show. A sparse feature that a part does not name is 0 in
its rows; dense features must be those of the basis. A label that a part does not name is one that
its rows do not have.

`StateSum` adds states up, or takes them away: it places the sums of each among the features and
labels of all, axis by axis, and brings them to the finest unit of weight (`added` matches
labelsets). Letters of axes:

    f   features
    s   slots: the codes of features but that of 0, feature by feature. Only tables of a `thin`
        basis, of rows that are mostly 0, have this axis; others have one of codes
    q   labels
    g   groups of rows: all rows, then those of each label (`DeclaredLabels`)
    G   these groups but the first
    L   pairs of labels
    k   all rows, then each label"""

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
from ..errors import DataError, ParameterError, shown
from ..kernels.matrix import runs
from ..lazy import cached_property
from ..pipeline import Request
from .basis import Basis, laid_out, positions_of
from .engine import StateRows
from .idf import states_idf
from .kinds import axes_of, describe_kind, dims_of, name_of, select_rows
from .needs import check_available, of_pairs
from .sums import (
    Axis,
    LazySums,
    Places,
    added,
    group_places,
    has_negative_counts,
    same_sums,
    shifted_down,
    shifted_up,
    triangle,
)

BY_FEATURE = ("counts", "moments")  # kinds that may be added up range by range of features
SLOT_KINDS = ("counts", "labelset counts")  # kinds whose tables may go by slots
NOT_MERGED = "the states are not those that were merged"
OUTSIDE = "outside"  # the kind, and its array, of states with values outside the edges


@dataclass(frozen=True, eq=False)
class CollectedPart:
    """What was collected at once: its `name`, when (`time`), from where (`source`), its `profile`.

    `features` and `labels` are only those that the basis does not have. In the profile they follow
    the basis's.

    >>> from spark_mlfs.states import collect
    >>> [part.name for part in collect([[0, 1], [1, 0]], [["a"], ["b"]], name="monday").parts]
    ['monday']"""

    name: str
    time: str
    source: str
    features: list[str]
    labels: list[str]
    profile: Profile
    known: State | None = None  # `KnownRows`, where some labels are unknown

    @property
    def identity(self) -> tuple[str, int, int]:
        """Return name, number and hash of the rows: equal ones mean that parts are the same.

        Without time and source, so that rows collected again under their name are recognised."""
        return self.name, self.profile.n, self.profile.fingerprint

    def __str__(self) -> str:
        return self.name or f"{self.profile.n} rows of {self.time or 'an unknown time'}"


@dataclass(frozen=True, eq=False)  # arrays are not compared
class States:
    """The sums of each kind over the rows of all `parts`, on one `basis`.

    `sums`: the arrays of each kind by name, over all `features` and `labels`, in units of
    2^`exponent`.

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
        """Names of all labels, likewise."""
        return self._names("labels")

    def _names(self, attribute: str) -> list[str]:
        basis_names: list[str] = getattr(self.basis, attribute)
        new_names = {name for part in self.parts for name in getattr(part, attribute)}
        return basis_names + sorted(new_names) if new_names else basis_names

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
        """Return the exponent of the parts' finest unit of weight; 0 without weights."""
        # weights are an option of the basis: all parts have them, or none
        exponents = [part.profile.weight_exponent for part in self.parts]
        return min((e for e in exponents if e is not None), default=0)

    @property
    def has_unknown(self) -> bool:
        """Whether some label of some row is unknown."""
        return any(part.profile.has_unknown for part in self.parts)

    def known(self) -> State:
        """Return the facts of `KnownRows` over all parts: of rows whose labels are all known."""
        # where a part has no `known`, these are all its rows
        profiles = [self._laid_out(part, part.known or {}) for part in self.parts]
        profile = reduce(Profile.merge, profiles)
        return {
            "n": np.array([profile.n]),
            "positive": profile.positive,
            "low": profile.low,
            "high": profile.high,
        }

    def _laid_out(self, part: CollectedPart, known_rows: State) -> Profile:
        """Return the profile of a part among all features and labels.

        Facts in `known_rows` (`CollectedPart.known`, or {}) replace those of all rows."""
        facts = dict(known_rows)
        if facts:
            facts["n"] = int(facts["n"][0])  # states hold arrays alone
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
        """Return a data set that `spark_mlfs.pipeline.rank` takes as it takes rows.

        Where some of the `requests` take pairs, only features whose pairs are counted are ranked.
        Raises `ParameterError` where the states lack sums that `requests` take, `DataError` where
        nothing can be ranked. `partial`: others will be ranked with them, so that one row, or
        labels or features that do not vary, are no error."""
        for request in requests:
            check_available(self.sums, self.has_unknown, request)
        profile = self.basis.frozen(self.profile)
        idf = states_idf(self)
        if idf is not None:  # values become tf · idf: 0 and 1 become 0 and idf
            extremes = {"low": profile.low * idf, "high": profile.high * idf}
            profile = replace(profile, **extremes, binary=np.zeros_like(profile.binary))
        out = StateRows(
            profile,
            self.features,
            self.labels,
            named=True,
            states=self,
        )
        check_and_name(out, "the states", "the states", partial)
        if of_pairs(requests):  # after the checks, which are of all features
            out.profile = out.profile.only(np.intersect1d(out.profile.varying, self.basis.paired))
        return out

    def row_slices(
        self,
        kind: str,
        first: int,
        last: int,
        start: int = 0,
    ) -> dict[str, slice]:
        """Return where the features first..last are along the first axis of a kind's arrays.

        By the letter of this axis, f or s. The arrays begin with the feature `start`."""
        slices = {"f": slice(first - start, last - start)}
        if name_of(kind) in SLOT_KINDS:
            slots = self.basis.slots(kind, len(self.features))
            before = int(slots[start])
            slices["s"] = slice(int(slots[first]) - before, int(slots[last]) - before)
        return slices

    def sums_of(self, kind: str, features: ndarray) -> State:
        """Return the sums of a kind over some `features`: ascending positions, each once.

        Lazy sums that are not made yet are made from the first to the last of these alone."""
        first = int(features[0]) if len(features) else 0
        last = int(features[-1]) + 1 if len(features) else 0
        slices = self.row_slices(kind, first, last)
        if isinstance(self.sums, LazySums):
            state = self.sums.of(kind, first, last)
        else:
            state = select_rows(kind, self.sums[kind], slices)
        if len(features) == last - first:
            return state
        positions: dict[str, Any] = {"f": features - first}
        if "s" in slices:
            slots = self.basis.slots(kind, len(self.features)) - slices["s"].start
            positions["s"] = runs(slots[features], slots[features + 1])
        return select_rows(kind, state, positions)

    # ---- where sums go in those of more rows ----

    def places_in(self, other: States, kind: str) -> Places:
        """Return where the entries of a kind go among those of `other`, by axis.

        `other` has the same basis, and all features and labels of these states."""
        feature_places = other._positions("features", self.features[len(self.basis.features) :])
        label_places = other._positions("labels", self.labels[len(self.basis.labels) :])
        q = len(other.labels)
        groups, num_groups = group_places(
            label_places, q, before=self.has_unknown, after=other.has_unknown
        )
        places = {
            "f": (feature_places, len(other.features)),
            "q": (label_places, q),
            "g": (groups, num_groups),
            "G": (groups[1:] - 1, num_groups - 1),  # without the group of all rows
        }
        if name_of(kind) == "label pairs":
            places["L"] = _label_pair_places(label_places, q)
            # counted over rows whose labels are all known: there are no groups of unknown ones
            places["k"] = group_places(label_places, q, before=False, after=False)
        if name_of(kind) in SLOT_KINDS and self.basis.thin:
            slots = self.basis.slots(kind, len(self.features))
            other_slots = other.basis.slots(kind, len(other.features))
            places["s"] = _slot_places(slots, other_slots, feature_places)
        return places

    def _positions(self, attribute: str, new: Sequence[str]) -> ndarray:
        """Return the places of the basis's features or labels, then of `new` ones, among all."""
        names = getattr(self, attribute)
        num_basis = len(getattr(self.basis, attribute))
        new_positions = num_basis + positions_of(new, names[num_basis:])
        return np.concatenate([np.arange(num_basis), new_positions])


def _label_pair_places(labels: ndarray, q: int) -> Axis:
    """Return where the pairs of labels go; `labels` are the places of the labels among q."""
    a, b = np.triu_indices(len(labels), 1)
    first = np.minimum(labels[a], labels[b])
    second = np.maximum(labels[a], labels[b])
    # pairs a < b of q labels are pairs a ≤ b − 1 of q − 1
    return triangle(first, second - 1, q - 1), q * (q - 1) // 2


def _slot_places(slots: ndarray, other_slots: ndarray, features: ndarray) -> Axis:
    """Return where the slots of features go, the features being at `features`.

    `slots` (d + 1,) and `other_slots` (D + 1,): where those of each feature begin, here and there.
    """
    size = int(other_slots[-1])
    if slots is other_slots:  # a short cut: one array of the basis's cache
        return np.arange(size), size
    starts = other_slots[features]
    return runs(starts, starts + np.diff(slots)), size


def merge(*states: States | Sequence[States]) -> States:
    """Return the states of the rows of all, in whatever order.

    Raises `ParameterError` where they do not fit, in one line that says why.

    >>> from spark_mlfs.states import collect
    >>> first = collect([[0, 1], [1, 0]], [["a"], ["b"]], name="monday")
    >>> merge(first, collect([[1, 1]], [["c"]], like=first, name="tuesday")).labels
    ['a', 'b', 'c']"""
    collected_states = listed(states)
    check(collected_states)
    return summed(collected_states)


def summed(states: Sequence[States], lazy: bool = False) -> States:
    """Return states that fit each other as one; `lazy`: sums are made when needed."""
    out = states[0] if len(states) == 1 else StateSum(states, [1] * len(states)).total
    if lazy or not isinstance(out.sums, LazySums):
        return out
    return replace(out, sums=dict(out.sums))


def subtract(states: States, *taken: States) -> States:
    """Return the states without the rows of others that were merged into them.

    Raises `ParameterError` where they were not, or are given twice.

    >>> from spark_mlfs.states import collect
    >>> first = collect([[0, 1], [1, 0]], [["a"], ["b"]], name="monday")
    >>> later = collect([[1, 1]], [["c"]], like=first, name="tuesday")
    >>> subtract(merge(first, later), first).rows
    1"""
    check_type(states, "give first the one object that loses rows")
    taken = listed(taken)
    check((states, *taken), disjoint=False)
    merged = {part.identity: part for part in states.parts}
    identities: set[tuple[str, int, int]] = set()
    for part in _parts_of(taken):
        twin = merged.get(part.identity)
        if twin is None or not _same_names(part, twin):
            raise ParameterError(
                f"{part} is not among what was merged: only that can be taken away"
            )
        if part.identity in identities:
            raise ParameterError(f"{part} would be taken away twice: give it once")
        identities.add(part.identity)
    parts = tuple(part for part in states.parts if part.identity not in identities)
    if not parts:
        raise ParameterError("nothing is left: every part of the states is taken away")
    difference = StateSum((states, *taken), [1] + [-1] * len(taken))
    remainder = States(states.basis, parts, {})
    # Dropped here: features, labels and groups of unknown labels that no remaining part has. They
    # are 0 in the difference if the sums taken are those that were merged.
    sums = {
        kind: _restricted(difference.total, remainder, kind, state)
        for kind, state in difference.items()
    }
    if any(map(has_negative_counts, sums.values())):
        raise DataError(f"more rows would be taken away than there are: {NOT_MERGED}")
    return replace(remainder, sums=sums)


def _same_names(part: CollectedPart, other: CollectedPart) -> bool:
    return part.features == other.features and part.labels == other.labels


def check(states: Sequence[States], disjoint: bool = True) -> None:
    """Raise `ParameterError` for the first states that do not fit the others.

    Where they must be `disjoint` they may not share rows either."""
    if not states:
        raise ParameterError("there are no states: give at least one")
    for other in states[1:]:
        _check_fit(states[0], other)
    if not disjoint:
        return
    earlier: dict[tuple[int, int], CollectedPart] = {}
    for collected in states:
        of_these: dict[tuple[int, int], CollectedPart] = {}
        for part in collected.parts:  # not with each other: merge has compared them
            content = part.identity[1:]  # whatever the name
            twin = earlier.get(content)
            if twin is not None:
                raise ParameterError(_twice(part, twin))
            of_these[content] = part
        earlier |= of_these


def _twice(part: CollectedPart, twin: CollectedPart) -> str:
    if part.name == twin.name:
        return f"{part} is there twice: its rows would count twice; give it once"
    return (
        f"{part} has the rows of {twin}, under another name: they would count twice; give one of "
        "the two, or collect rows that do occur twice in one call"
    )


def _check_fit(first: States, other: States) -> None:
    """Raise `ParameterError` where other states have another basis, or other kinds of sums."""
    subject = f"{other.parts[0]} does not go with {first.parts[0]}"
    difference = other.basis.difference(first.basis)
    if difference is not None:
        raise ParameterError(f"{subject}: {difference}; collect later states like the first one")
    one_sided = sorted((first.sums.keys() ^ other.sums.keys()) - {OUTSIDE})
    if one_sided:
        sums = describe_kind(one_sided[0])
        raise ParameterError(f"{subject}: only one has {sums}; collect both for the same methods")


def listed(states: Sequence[Any]) -> tuple[States, ...]:
    """Return states that were given one by one, or as one sequence.

    Raises `ParameterError` for anything else."""
    if len(states) == 1 and isinstance(states[0], Iterable):
        states = tuple(states[0])
    for value in states:
        check_type(value, "give them one by one, or as a list")
    return tuple(states)


def check_type(value: Any, remedy: str) -> None:
    """Raise `ParameterError` with the remedy for anything but a `States` object."""
    if not isinstance(value, States):
        raise ParameterError(
            f"states are what collect and load return, not {shown(value)}: {remedy}"
        )


def _parts_of(states: Iterable[States]) -> Iterable[CollectedPart]:
    return (part for collected in states for part in collected.parts)


class StateSum(LazySums):
    """The sums of states, each times its sign; `total` is the `States` object that has them.

    Where a sign is −1, `total.rows` and `total.profile` are not those of its sums: rows that are
    taken away count there. Only its features, labels, `exponent` and `has_unknown` are."""

    def __init__(self, states: Sequence[States], signs: Sequence[int]) -> None:
        super().__init__({kind for collected in states for kind in collected.sums})
        parts_added = _parts_of(s for s, sign in zip(states, signs, strict=True) if sign > 0)
        # sorted: the order of merges does not show
        parts = sorted(parts_added, key=lambda part: (part.time, *part.identity))
        self.total = States(states[0].basis, tuple(parts), self)
        self._terms = [*zip(states, signs, strict=True)]
        self._placed: dict[str, list[tuple[States, Places, int]]] = {}
        # for its checks alone: weights too far apart are refused before any is added up
        self.total.dataset(partial=True)

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
        """Return the sums of the features first..last: of a range, or of all by default.

        They are cut from the sums of all features where these are made already, or where a range
        is asked of a kind that is not `BY_FEATURE`; else they are added up, and not kept."""
        num_features = len(self.total.features)
        last = num_features if last is None else last
        divisible = name_of(kind) in BY_FEATURE or last - first == num_features
        if kind in self._made or not divisible:
            return select_rows(kind, self[kind], self.total.row_slices(kind, first, last))
        sums = []
        places = []
        signs = []
        for states, all_places, sign in self._terms_of(kind):
            range_sums, range_places = self._range_of(
                states,
                all_places,
                kind,
                first,
                last,
            )
            sums.append(range_sums)
            places.append(range_places)
            signs.append(sign)
        graded = bool(self.total.basis.options.get("graded"))  # labelsets differ by grades, too
        return added(
            kind,
            sums,
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
        for letter, span in self.total.row_slices(kind, first, last).items():
            if letter in places:  # slots are there on a thin basis alone
                positions = places[letter][0][own_slices[letter]] - span.start
                range_places[letter] = (positions, span.stop - span.start)
        sums = states.sums_of(kind, np.arange(own_first, own_last))
        return shifted_up(sums, states.exponent - self.total.exponent), range_places


def _restricted(
    total: States,
    remainder: States,
    kind: str,
    state: State,
) -> State:
    """Return the sums cut to the features, labels and unit of weight of the `remainder`.

    Raises `DataError` where what is cut off is not 0."""
    places = remainder.places_in(total, kind)
    bits = remainder.exponent - total.exponent
    lowered = shifted_down(state, bits)
    lost = bits > 0 and not same_sums(shifted_up(lowered, bits), state)
    out: State = {}
    for name, value in lowered.items():
        for axis, letter in enumerate(axes_of(kind, name, dims_of(value))):
            if letter in places:
                positions, _ = places[letter]
                # a subset of total's, in its order: an equal number is all
                if value.shape[axis] != len(positions):
                    others = np.delete(np.arange(value.shape[axis]), positions)
                    along = (slice(None),) * axis
                    # by sum, as CSR matrices have no any()
                    lost = lost or bool((value[(*along, others)] != 0).sum())
                    value = value[(*along, positions)]
        out[name] = value
    if lost:
        raise DataError(f"something of what is taken away would stay behind: {NOT_MERGED}")
    return out


def described_parts(states: States) -> list[dict[str, Any]]:
    """Return the parts as a manifest has them."""
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
    """Return the share of the rows, or of their weight, with a feature outside the basis's edges.

    By name, of the features of which some rows are."""
    counts = states.sums.get(OUTSIDE, {}).get(OUTSIDE, np.zeros(0))
    total = states.profile.total
    return {states.features[f]: float(counts[f] / total) for f in np.flatnonzero(counts)}
