"""The basis of states: the codes and grids that the first rows freeze, so that later sums add up.

Codes have the edges of the first rows: what lies outside goes into the end bins. A new feature, or
one that was constant at 0, has two codes, 0 and above; another constant c has edges c ± |c|. Sums
of values are whole numbers of a quantum of the feature, 2⁻³⁶ of the power of two above its range in
the first rows: a value may be 16 times as far from the centre as those. A feature that was constant
or two-valued, or is new, may be 1024 times its size. What is beyond is refused: nothing is rounded
to another grid."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.codec import State, binary_array, encode, encoded_cells
from ..blocks.coding import NOT_ZERO, OCCURRENCE, SPARSE_DENSITY, Coding, rules_of
from ..blocks.dataset import Dataset
from ..blocks.identity import feature_hashes
from ..blocks.profile import RULES, Profile
from ..errors import DataError, ParameterError
from ..frames.frame import Batches
from ..kernels import exact
from ..lazy import cached_property
from .kinds import bins_of

HEADROOM = 4  # bits between a feature's range in the first rows and the ends of its grid
FREE_BITS = 10  # the same of a feature whose range is not known yet
TERM_BITS = 20  # of counts of terms, which are whole numbers of quanta
LOG_BITS = 6  # of 1 + their logarithms
TERMS = "terms"  # the option that says how texts became terms
AS_THEY_ARE = "weighed beforehand"  # where it does not: weights may be any numbers
PAIRS_OPTION = "pairs of"  # the option that names the features whose pairs are counted
FEATURE_ARRAYS = ("low", "high", "binary", "centre", "reach")
ABSENT_FEATURE = {
    "low": 0.0,
    "high": 0.0,
    "binary": True,
    "stored": 0,
    "variety": 0,
    "filled": 0,
    "two_valued": True,
}  # facts of one that is 0


@dataclass(frozen=True, eq=False)  # `id` compares them
class Basis:
    """What makes sums comparable: names, codes, grids and options of the first rows.

    `features`, `labels` by name; of each feature `low`, `high` (d,) edges, `binary` whether it has
    two codes, and the `centre` and the `reach` of its grid; its rule in a binning by occurrence as
    `rules`, where there is one; inner quantiles (d, b − 1) as `edges`
    by the number of bins; whether features are `sparse` (0 where rows do not name them) and `thin`
    (counted by what is not 0); `options` of the collection, by name."""

    features: list[str]
    labels: list[str]
    low: ndarray
    high: ndarray
    binary: ndarray
    centre: ndarray
    reach: ndarray
    sparse: bool
    thin: bool
    options: dict[str, Any] = field(default_factory=dict)
    edges: dict[int, ndarray] = field(default_factory=dict)
    rules: ndarray | None = None
    _slots: dict[tuple[str, int], ndarray] = field(default_factory=dict, init=False, repr=False)

    @staticmethod
    def of(
        rows: Dataset,
        options: dict[str, Any],
        edges: dict[int, ndarray],
        by_occurrence: bool = False,
    ) -> Basis:
        """Return the basis of the first rows, with rules `by_occurrence` or without."""
        profile = rows.profile
        profile.refuse_extremes()
        constant = profile.low == profile.high
        binary = profile.binary | (constant & (profile.low == 0))
        size = np.maximum(np.abs(profile.low), np.abs(profile.high))
        low = np.where(constant, np.where(binary, 0.0, profile.low - size), profile.low)
        high = np.where(constant, np.where(binary, 1.0, profile.high + size), profile.high)
        holds_zero = profile.sparse | ((low <= 0) & (high >= 0))
        centre = np.where(holds_zero, 0.0, low + (high - low) / 2)  # zeros stay zeros
        bits = np.where(constant | binary, FREE_BITS, HEADROOM)
        reach = np.ldexp(exact.units(low, high, centre), bits)
        thin = profile.density < SPARSE_DENSITY
        features = list(rows.feature_names)
        labels = list(rows.label_names)
        arrays = (low, high, binary, centre, reach)
        rules = np.where(constant, NOT_ZERO, rules_of(profile)) if by_occurrence else None
        if profile.terms:  # what counts sees whether a term occurs
            zeros = np.zeros_like(low)
            binary = np.ones_like(binary)
            if AS_THEY_ARE not in options.get(TERMS, ()):  # values are whole, or small
                reach = np.full_like(reach, 2.0 ** _free_bits(options))
            arrays = (zeros, zeros + 1, binary, zeros, reach)
            rules = np.full(len(low), NOT_ZERO) if by_occurrence else None
        return Basis(
            features,
            labels,
            *arrays,
            profile.sparse,
            thin,
            options,
            edges,
            rules,
        )

    def arrays(self) -> State:
        """Return what is known of each feature, by name."""
        arrays = {name: getattr(self, name) for name in FEATURE_ARRAYS}
        if self.rules is not None:
            arrays["rules"] = self.rules
        return arrays | {f"edges {bins}": edges for bins, edges in self.edges.items()}

    @cached_property
    def id(self) -> str:
        """Equal ids mean equal bases."""
        facts = {
            "features": self.features,
            "labels": self.labels,
            "sparse": self.sparse,
            "thin": self.thin,
        }
        content = encode(facts | self.options | self.arrays())
        return hashlib.sha256(content).hexdigest()[:32]

    @cached_property
    def paired(self) -> ndarray:
        """The features whose pairs are counted."""
        return np.sort(positions_of(self.options.get(PAIRS_OPTION, ()), self.features))

    def slots(self, kind: str, d: int) -> ndarray:
        """Return where each feature begins in a table of a kind of counts, (d + 1,).

        Such a table has a row for each code of a feature but that of 0."""
        if (kind, d) not in self._slots:
            bins = self.coding(np.arange(d), *bins_of(kind)).bins
            self._slots[kind, d] = np.concatenate([[0], np.cumsum(bins - 1)])
        return self._slots[kind, d]

    # ---- how another basis differs ----

    def difference(self, other: Basis) -> str | None:
        """Return how another basis differs, in one line; None where it does not."""
        if self.id == other.id:
            return None
        return (
            self._difference_of_options(other)
            or _difference_of_names("feature", self.features, other.features)
            or _difference_of_names("label", self.labels, other.labels)
            or self._difference_of_edges(other)
            or "their codes or grids were made of other rows"
        )

    def _difference_of_options(self, other: Basis) -> str | None:
        for name in sorted(self.options.keys() | other.options.keys()):
            mine = self.options.get(name)
            theirs = other.options.get(name)
            if mine == theirs:
                continue
            if name == PAIRS_OPTION:
                return "the features whose pairs are counted are others"
            return f"{name} is {theirs!r} in one and {mine!r} in the other"
        return None

    def _difference_of_edges(self, other: Basis) -> str | None:
        for name in ("low", "high"):
            (different,) = np.nonzero(getattr(self, name) != getattr(other, name))
            if len(different):
                f = different[0]
                theirs = f"{other.low[f]:g} to {other.high[f]:g}"
                mine = f"{self.low[f]:g} to {self.high[f]:g}"
                edges = f"{theirs} in one and {mine} in the other"
                return f"the edges of feature {self.features[f]!r} are {edges}"
        return None

    # ---- codes and grids ----

    def coding(self, features: ndarray, num_bins: int, binning: str) -> Coding:
        """Return the codes of features by position; new features follow those of the basis."""
        edges = None
        rules = None
        if binning.endswith(OCCURRENCE):
            if self.rules is None:
                raise ParameterError(
                    "states have no rules by which quota takes columns: collect the first one with "
                    "--for quota"
                )
            rules = _of_features(features, self.rules, new=NOT_ZERO)
        if TERMS in self.options:
            rules = np.full(len(features), NOT_ZERO)
        if binning.startswith("quantile"):
            if num_bins not in self.edges:
                raise ParameterError(
                    f"states have no edges of {num_bins} quantile bins: collect the first one with "
                    f"--set num_bins={num_bins} --set binning=quantile"
                )
            edges = _of_features(features, self.edges[num_bins], new=np.inf)
        low = _of_features(features, self.low, new=0.0)
        high = _of_features(features, self.high, new=1.0)
        binary = _of_features(features, self.binary, new=True)
        return Coding(
            num_bins,
            binning,
            features,
            low,
            high,
            binary,
            edges,
            self.thin,
            clipped=True,
            rules=rules,
        )

    def check_rules(self, profile: Profile, names: Sequence[str]) -> None:
        """Raise `DataError` for the first feature that quota would take in another way by now."""
        if self.rules is None or profile.terms:
            return
        features = profile.varying
        first_rules = _of_features(features, self.rules, new=NOT_ZERO)
        changed = features[rules_of(profile)[features] != first_rules]
        if len(changed):
            raise DataError(
                f"feature {names[changed[0]]!r} is no longer of the kind that it was in the first "
                "state (0 in more than half of the rows, two values, or others), by which quota "
                "takes it: collect a new first state, or exclude it"
            )

    def grid(self, profile: Profile) -> Profile:
        """Return a profile with the ends of the grids in the place of the features' own.

        Sums that are taken by it are whole numbers of the same quanta, whatever the rows."""
        features = np.arange(profile.d)
        centre = _of_features(features, self.centre, new=0.0)
        reach = _of_features(features, self.reach, new=2.0 ** _free_bits(self.options))
        binary = np.zeros(profile.d, bool)
        frozen = self.frozen(profile)
        return replace(frozen, low=centre - reach, high=centre + reach, binary=binary)

    def frozen(self, profile: Profile) -> Profile:
        """Return the profile as sparse as the first rows, which decides how sums are kept."""
        cells = profile.n * profile.d
        if self.thin:
            return replace(profile, nonzero=min(profile.nonzero, cells // 8))
        return replace(profile, nonzero=max(profile.nonzero, cells // 4))

    def check(self, profile: Profile, names: Sequence[str]) -> None:
        """Raise `DataError` for the first feature with values beyond its grid."""
        grid = self.grid(profile)
        beyond = np.flatnonzero((profile.low < grid.low) | (profile.high > grid.high))
        if not len(beyond):
            return
        f = beyond[0]
        values = f"{profile.low[f]:g} to {profile.high[f]:g}"
        ends = f"{grid.low[f]:g} to {grid.high[f]:g}"
        raise DataError(
            f"feature {names[f]!r} goes from {values} here, beyond the grid of the first state, "
            f"{ends}: collect a new first state, or clip the feature"
        )


def _free_bits(options: dict[str, Any]) -> int:
    """Return the bits between 1 and the ends of the grid of a feature whose range is not known."""
    if AS_THEY_ARE in options.get(TERMS, (AS_THEY_ARE,)):
        return FREE_BITS
    return LOG_BITS if "sublinear=True" in options[TERMS] else TERM_BITS


def _difference_of_names(noun: str, mine: list[str], theirs: list[str]) -> str | None:
    if mine == theirs:
        return None
    one_sided = sorted(set(mine) ^ set(theirs))
    if not one_sided:
        return f"the {noun}s stand in another order"
    return f"only one has the {noun} {one_sided[0]!r}"


def _of_features(features: ndarray, known: ndarray, new: Any) -> ndarray:
    """Return `known` of features by position, `new` of those that the basis has not."""
    out = np.full((len(features), *known.shape[1:]), new, known.dtype)
    of_basis = features < len(known)
    out[of_basis] = known[features[of_basis]]
    return out


def positions_of(names: Sequence[str], among: Sequence[str]) -> ndarray:
    """Return where each of the names is, (len(names),)."""
    positions = {name: position for position, name in enumerate(among)}
    return np.array([positions[name] for name in names], np.int64)


# ---- rows laid out as a basis has them ----


@dataclass(frozen=True)
class RowLayout:
    """Where rows' features and labels stand among those of the basis and new ones.

    The position of each column and of each label; `d`, `q` with those that are new; how many are
    `basis_features`. Rows without ids of the user's are known by the hash of these features
    alone."""

    columns: ndarray
    labels: ndarray
    d: int
    q: int
    basis_features: int
    named_ids: bool
    weighted: bool  # whether rows have weights, 1 where none are given

    @staticmethod
    def of(rows: Dataset, basis: Basis, weighted: bool) -> tuple[RowLayout, list[str], list[str]]:
        """Return the layout of these rows, and the features and labels that are new.

        Raises `DataError` where dense features differ."""
        new = sorted(set(rows.feature_names) - set(basis.features))
        if not basis.sparse:
            _check_dense_features(basis, rows.feature_names, new)
        new_labels = sorted(set(rows.label_names) - set(basis.labels))
        features = basis.features + new
        labels = basis.labels + new_labels
        layout = RowLayout(
            positions_of(rows.feature_names, features),
            positions_of(rows.label_names, labels),
            len(features),
            len(labels),
            len(basis.features),
            rows.profile.named_ids,
            weighted,
        )
        return layout, new, new_labels

    @property
    def in_place(self) -> bool:
        """Whether the features and labels are the first of all, in their order."""
        places = (self.columns, self.labels)
        return all(np.array_equal(positions, np.arange(len(positions))) for positions in places)

    def __call__(self, block: Block) -> Block:
        """Return the rows of a block as the basis has them."""
        block = self._with_labels(self._with_features(block))
        if self.weighted and block.weights is None:
            block = replace(block, weights=np.ones(block.n))
        if self.named_ids:
            return block
        # ids that are hashes must not change with the features that a day brings
        hashed = block
        if self.d > self.basis_features:
            hashed = replace(block, x=block.x[:, : self.basis_features])
        return replace(block, ids=feature_hashes(hashed).view(np.int64))

    def _with_features(self, block: Block) -> Block:
        if np.array_equal(self.columns, np.arange(self.d)):
            return block
        if block.sparse:
            values = block.x.data.copy()  # sorting moves the values
            cells = (values, self.columns[block.x.indices], block.x.indptr)
            x = sp.csr_matrix(cells, shape=(block.n, self.d))
            x.sort_indices()
        else:
            x = np.zeros((block.n, self.d), block.x.dtype)
            x[:, self.columns] = block.x
        return replace(block, x=x)

    def _with_labels(self, block: Block) -> Block:
        if np.array_equal(self.labels, np.arange(len(self.labels))):
            return block
        labels = self.labels[block.label_indices].astype(np.int32)
        order = np.lexsort((labels, block.label_rows()))
        grades = None if block.grades is None else block.grades[order]
        block = replace(block, label_indices=labels[order], grades=grades)
        if block.unknown_indices is None:
            return block
        rows, unknown = block.unknown_entries()
        labels = self.labels[unknown].astype(np.int32)
        return replace(block, unknown_indices=labels[np.lexsort((labels, rows))])

    def batches(self, batches: Batches) -> Iterator[pa.RecordBatch]:
        """Yield encoded blocks laid out, on Spark's workers."""
        for data in encoded_cells(batches):
            block = self(Block.decode(data))
            yield pa.RecordBatch.from_pydict({"block": binary_array(block.encode())})

    def profile(self, profile: Profile) -> Profile:
        """Return the profile of the rows as they are laid out."""
        partitions = max(1, profile.partitions)
        profile = replace(profile, declared_num_labels=0, content_ids=False, partitions=partitions)
        return laid_out(
            profile,
            self.columns,
            self.d,
            self.labels,
            self.q,
        )


def _check_dense_features(basis: Basis, names: Sequence[str], new: list[str]) -> None:
    """Raise `DataError` where dense rows have a `new` feature, or lack one of the basis."""
    known = set(names)
    absent = [name for name in basis.features if name not in known]
    if new:
        fault = f"a new feature {new[0]!r}"
    elif absent:
        fault = f"no feature {absent[0]!r}"
    else:
        return
    raise DataError(
        f"these rows have {fault}: dense features must be those of the first state, as nothing "
        "tells what values others have; give it, leave it out, or collect a new first state"
    )


def laid_out(
    profile: Profile,
    columns: ndarray,
    d: int,
    labels: ndarray,
    q: int,
) -> Profile:
    """Return the profile with its features at `columns` of d, its labels at `labels` of q.

    The other features and labels are 0."""
    out = replace(profile, d=d, q=q)
    for name, rule in RULES.items():
        value = getattr(profile, name)
        if name in ABSENT_FEATURE:
            setattr(out, name, _scattered(value, columns, d, ABSENT_FEATURE[name]))
        elif rule.none is not None:
            setattr(out, name, _scattered(value, labels, q, rule.none))
    return out


def _scattered(
    values: ndarray,
    positions: ndarray,
    size: int,
    empty: Any,
) -> ndarray:
    """Return (size,) with the values at their positions; no values where there are none."""
    if not len(values):
        return values
    out = np.full(size, empty, values.dtype)
    out[positions] = values
    return out
