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

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State, binary_array, encode, encoded_cells
from ..blocks.coding import SPARSE_DENSITY, Coding
from ..blocks.dataset import Dataset, check_and_name
from ..blocks.identity import feature_hashes
from ..blocks.profile import RULES, Profile
from ..errors import DataError, ParameterError
from ..frames.frame import Batches
from ..kernels import exact
from ..kernels.matrix import runs
from ..lazy import cached_property
from ..pipeline import Request
from . import sums as kinds
from .engine import StateRows
from .needs import check_available, of_pairs

BY_FEATURE = ("counts", "moments")  # kinds that may be added up range by range of features
HEADROOM, FREE = (
    4,
    10,
)  # bits between a feature's range and its grid; of one whose range is not known yet
PAIRS_OPTION = "pairs of"  # the option that names the features whose pairs are counted
FEATURE_FACTS = {"low": 0.0, "high": 0.0, "binary": True, "stored": 0}  # of one that is 0


@dataclass(frozen=True)
class Basis:
    """`features`, `labels` by name; of each feature `low`, `high` (d,) edges, `binary` whether it
    has two codes, and the `centre` and the `reach` of its grid; inner quantiles (d, b − 1) as
    `edges` by the number of bins; whether features are `sparse` (0 where rows do not name them) and
    `thin` (counted by what is not 0); `options` of the collection, by name."""

    features: list[str]
    labels: list[str]
    low: np.ndarray
    high: np.ndarray
    binary: np.ndarray
    centre: np.ndarray
    reach: np.ndarray
    sparse: bool
    thin: bool
    options: dict[str, Any] = field(default_factory=dict)
    edges: dict[int, np.ndarray] = field(default_factory=dict)
    _slots: dict[tuple[str, int], np.ndarray] = field(
        default_factory=dict, init=False, compare=False, repr=False
    )

    @staticmethod
    def of(rows: Dataset, options: dict[str, Any], edges: dict[int, np.ndarray]) -> Basis:
        """The basis of the first rows."""
        p = rows.profile
        if p.excess() is not None:
            raise DataError(
                "a feature is beyond 1e144 in size, or below 1e-144 throughout: give it in another "
                "unit"
            )
        low, high, size = p.low, p.high, np.maximum(np.abs(p.low), np.abs(p.high))
        constant = low == high
        two = p.binary | (constant & (low == 0))
        low = np.where(constant, np.where(two, 0.0, low - size), low)
        high = np.where(constant, np.where(two, 1.0, high + size), high)
        holds = p.sparse | ((low <= 0) & (high >= 0))
        centre = np.where(holds, 0.0, low + (high - low) / 2)
        bits = np.where(constant | two, FREE, HEADROOM)
        reach = np.ldexp(exact.units(low, high, centre), bits)
        thin = p.density < SPARSE_DENSITY
        names = list(rows.feature_names), list(rows.label_names)
        return Basis(*names, low, high, two, centre, reach, p.sparse, thin, options, edges)

    def arrays(self) -> State:
        """What is known of each feature, by name."""
        known = {name: getattr(self, name) for name in ("low", "high", "binary", "centre", "reach")}
        return known | {f"edges {bins}": value for bins, value in self.edges.items()}

    @cached_property
    def id(self) -> str:
        """Equal ids mean equal bases."""
        facts = {
            "features": self.features,
            "labels": self.labels,
            "sparse": self.sparse,
            "thin": self.thin,
        }
        return hashlib.sha256(encode(facts | self.options | self.arrays())).hexdigest()[:32]

    @cached_property
    def paired(self) -> np.ndarray:
        """The features whose pairs are counted."""
        return np.sort(places_among(self.options.get(PAIRS_OPTION, ()), self.features))

    def slots(self, kind: str, d: int) -> np.ndarray:
        """(d + 1,) where the codes of each feature begin in a table of codes but for that of 0, of
        a kind that counts them."""
        if (kind, d) not in self._slots:
            bins = self.coding(np.arange(d), *kinds.bins_of(kind)).bins
            self._slots[kind, d] = np.concatenate([[0], np.cumsum(bins - 1)])
        return self._slots[kind, d]

    def difference(self, other: Basis) -> str | None:
        """How another basis differs, in one line; None where it does not."""
        if self.id == other.id:
            return None
        for name in sorted(self.options.keys() | other.options.keys()):
            mine, theirs = self.options.get(name), other.options.get(name)
            if mine != theirs and name == PAIRS_OPTION:
                return "the features whose pairs are counted are others"
            if mine != theirs:
                return f"{name} is {theirs!r} in one and {mine!r} in the other"
        for what, mine, theirs in (
            ("feature", self.features, other.features),
            ("label", self.labels, other.labels),
        ):
            if mine != theirs:
                apart = sorted(set(mine) ^ set(theirs))
                return (
                    f"only one has the {what} {apart[0]!r}"
                    if apart
                    else f"the {what}s stand in another order"
                )
        for name in ("low", "high"):
            (at,) = np.nonzero(getattr(self, name) != getattr(other, name))
            if len(at):
                f = at[0]
                ends = (f"{b.low[f]:g} to {b.high[f]:g}" for b in (other, self))
                return (
                    f"the edges of feature {self.features[f]!r} are "
                    f"{' in one and '.join(ends)} in the other"
                )
        return "their codes or grids were made of other rows"

    def coding(self, features: np.ndarray, num_bins: int, binning: str) -> Coding:
        """The codes of some features by place; those that are new follow those of the basis."""
        edges = None
        if binning == "quantile":
            if num_bins not in self.edges:
                raise ParameterError(
                    f"states have no edges of {num_bins} quantile bins: collect the first one with "
                    f"--set num_bins={num_bins} --set binning=quantile"
                )
            edges = self._of(features, self.edges[num_bins], np.inf)
        low, high, binary = (
            self._of(features, *each)
            for each in ((self.low, 0.0), (self.high, 1.0), (self.binary, True))
        )
        return Coding(
            num_bins, binning, features, low, high, binary, edges, self.thin, clipped=True
        )

    def _of(self, features: np.ndarray, known: np.ndarray, new: Any) -> np.ndarray:
        """`known` of some features by place, `new` of those that are new."""
        out = np.full((len(features), *known.shape[1:]), new, known.dtype)
        old = features < len(known)
        out[old] = known[features[old]]
        return out

    def grid(self, profile: Profile) -> Profile:
        """A profile whose features have the ends of their grid in the place of their own, so that
        sums are taken on it."""
        every = np.arange(profile.d)
        centre, reach = self._of(every, self.centre, 0.0), self._of(every, self.reach, 2.0**FREE)
        return replace(
            self.frozen(profile),
            low=centre - reach,
            high=centre + reach,
            binary=np.zeros(profile.d, bool),
        )

    def frozen(self, profile: Profile) -> Profile:
        """The profile, as sparse as the first rows were, which decides how sums are kept."""
        cells = profile.n * profile.d
        nonzero = (
            min(profile.nonzero, cells // 8) if self.thin else max(profile.nonzero, cells // 4)
        )
        return replace(profile, nonzero=nonzero)

    def check(self, profile: Profile, names: Sequence[str]) -> None:
        """`DataError` for the first feature with values beyond its grid."""
        ends = self.grid(profile)
        beyond = np.flatnonzero((profile.low < ends.low) | (profile.high > ends.high))
        if len(beyond):
            f = beyond[0]
            raise DataError(
                f"feature {names[f]!r} goes from {profile.low[f]:g} to {profile.high[f]:g} here, "
                f"beyond the grid of the first state, {ends.low[f]:g} to {ends.high[f]:g}: collect "
                "a new first state, or clip the feature"
            )


@dataclass(frozen=True)
class RowLayout:
    """Blocks of rows laid out as a basis has them: the place of each column and of each label; `d`,
    `q` with those that are new; `known` features of the basis. Rows without ids of the user's are
    known by the hash of these features alone."""

    columns: np.ndarray
    labels: np.ndarray
    d: int
    q: int
    known: int
    named_ids: bool
    weighted: bool  # whether rows have weights, 1 where none are given

    @staticmethod
    def of(rows: Dataset, basis: Basis, weighted: bool) -> tuple[RowLayout, list[str], list[str]]:
        """How these rows are laid out, and the features and labels that are new. `DataError` where
        dense features differ."""
        new, known = sorted(set(rows.feature_names) - set(basis.features)), set(rows.feature_names)
        absent = [name for name in basis.features if name not in known]
        if not basis.sparse and (new or absent):
            what, name = ("a new feature", new[0]) if new else ("no feature", absent[0])
            raise DataError(
                f"these rows have {what} {name!r}: dense features must be those of the first "
                "state, as nothing tells what values others have; give it, leave it out, or "
                "collect a new first state"
            )
        new_labels = sorted(set(rows.label_names) - set(basis.labels))
        features, labels = basis.features + new, basis.labels + new_labels
        places = places_among(rows.feature_names, features), places_among(rows.label_names, labels)
        fit = RowLayout(
            *places,
            len(features),
            len(labels),
            len(basis.features),
            rows.profile.named_ids,
            weighted,
        )
        return fit, new, new_labels

    def __call__(self, block: Block) -> Block:
        if len(self.columns) < self.d or not np.array_equal(self.columns, np.arange(self.d)):
            if block.sparse:
                moved = self.columns[block.x.indices], block.x.indptr
                x = sp.csr_matrix(
                    (block.x.data.copy(), *moved), shape=(block.n, self.d)
                )  # sorting moves the values
                x.sort_indices()
            else:
                x = np.zeros((block.n, self.d), block.x.dtype)
                x[:, self.columns] = block.x
            block = replace(block, x=x)
        if not np.array_equal(self.labels, np.arange(len(self.labels))):
            moved = self.labels[block.label_indices].astype(np.int32)
            order = np.lexsort((moved, block.label_rows()))
            block = replace(
                block,
                label_indices=moved[order],
                grades=None if block.grades is None else block.grades[order],
            )
            if block.unknown_indices is not None:
                rows, unknown = block.unknown_entries()
                moved = self.labels[unknown].astype(np.int32)
                block = replace(block, unknown_indices=moved[np.lexsort((moved, rows))])
        if self.weighted and block.weights is None:
            block = replace(block, weights=np.ones(block.n))
        if self.named_ids:
            return block
        keyed = block if self.d == self.known else replace(block, x=block.x[:, : self.known])
        return replace(block, ids=feature_hashes(keyed).view(np.int64))

    def batches(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """The same of encoded blocks, on Spark's workers."""
        for data in encoded_cells(batches):
            yield pa.RecordBatch.from_pydict(
                {"block": binary_array(self(Block.decode(data)).encode())}
            )

    def profile(self, given: Profile) -> Profile:
        """The profile of the rows as they are laid out."""
        own = replace(
            given, declared_num_labels=0, content_ids=False, partitions=max(1, given.partitions)
        )
        return laid_out(own, self.columns, self.d, self.labels, self.q)


def laid_out(profile: Profile, columns: np.ndarray, d: int, labels: np.ndarray, q: int) -> Profile:
    """The profile with its features at these `columns` of d, and its labels at these places of q;
    the others are 0."""
    out = replace(profile, d=d, q=q)
    for name, rule in RULES.items():
        value = getattr(profile, name)
        at, size, none = (
            (columns, d, FEATURE_FACTS[name]) if name in FEATURE_FACTS else (labels, q, rule.none)
        )
        if none is not None and len(value):
            placed = np.full(size, none, value.dtype)
            placed[at] = value
            setattr(out, name, placed)
    return out


def places_among(names: Sequence[str], among: Sequence[str]) -> np.ndarray:
    """(len(names),) where each of the names is."""
    place = {name: index for index, name in enumerate(among)}
    return np.array([place[name] for name in names], np.int64)


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
