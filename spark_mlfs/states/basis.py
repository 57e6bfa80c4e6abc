"""The basis of states."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State, binary_array, encode, encoded_cells
from ..blocks.coding import SPARSE_DENSITY, Coding
from ..blocks.dataset import Dataset
from ..blocks.identity import feature_hashes
from ..blocks.profile import RULES, Profile
from ..errors import DataError, ParameterError
from ..frames.frame import Batches
from ..kernels import exact
from ..lazy import cached_property
from . import sums as kinds

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
        if p.exponent_shift() is not None:
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
