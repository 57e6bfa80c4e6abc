"""The profile of the data: what one pass over the blocks tells, merged in any order."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from math import comb
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..lazy import cached_property
from .block import Block
from .codec import Buffer, decode, encode
from .grades import BITS, ONE
from .grades import MOST as MOST_GRADED
from .weights import MOST, TOO_FAR, exponent_of, in_units

REACH = 480  # features within 2^±REACH have squares, and products and sums of those, within float64
THIN = 0.3  # share of a dense block's cells that are not zero, from which it counts as full


@dataclass
class Profile:
    """Facts about the data from one pass. Merges by `merge`; the merge does not depend on the order.

    n rows, d features, q labels; `low`, `high` (d,) and `binary` (d,) whether a feature holds only 0 and 1; `nonzero` stored
    entries; `positive`, `unknown` (q,) rows per label; `unlabelled` rows with a null label cell; `size` bytes of the blocks;
    `fingerprint` sum of the rows' 64-bit hashes; `problem` the first thing wrong, as (what, the row by its id or by
    its partition and place or nothing, feature or None); `named_ids` whether the row ids come from a column of the user's.

    What states can grow to follows from upper bounds: `stored` (d,) rows in which a feature is not zero; `widest` features that
    are not zero in one row, `most_labels` and `most_unknown` labels of one row; `feature_label_pairs` and
    `feature_unknown_pairs` Σ over rows of features that are not zero times (unknown) labels, `unlabelled_stored` of the former
    in rows with a null label cell. A dense block counts as full. `declared_num_labels` each row tells of, 0 if none.
    `labelsets` distinct ones of the rows whose labels are all known, once they have been counted (0: not yet).

    Where rows have weights (`blocks.weights`) these are whole numbers of units 2^`weight_exponent` (None: no weights); `weight`
    of all rows, `heaviest` of one, `weight_positive`, `weight_unknown` (q,) and `weight_unlabelled` of those counted above.

    Where some grades are not 1 (`graded`; `blocks.grades`), in units of 2⁻¹⁵: `grade` (q,) their sums, `grade_low` and
    `grade_high` (q,) the least and the largest above 0, `weight_grade` (q,) their sums times the weights.
    """

    n: int = 0
    d: int = 0
    q: int = 0
    low: np.ndarray = field(default_factory=lambda: np.zeros(0))
    high: np.ndarray = field(default_factory=lambda: np.zeros(0))
    binary: np.ndarray = field(default_factory=lambda: np.zeros(0, bool))
    nonzero: int = 0
    positive: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    unknown: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    unlabelled: int = 0
    labelled: int = 0
    size: int = 0
    partitions: int = 0
    sparse: bool = False
    fingerprint: int = 0
    problem: tuple[str, Any, int | None] | None = None
    named_ids: bool = False
    stored: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    widest: int = 0
    most_labels: int = 0
    most_unknown: int = 0
    feature_label_pairs: int = 0
    feature_unknown_pairs: int = 0
    unlabelled_stored: int = 0
    labelsets: int = 0
    declared_num_labels: int = 0
    weight_exponent: int | None = None
    weight: int = 0
    heaviest: int = 0
    weight_positive: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    weight_unknown: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    weight_unlabelled: int = 0
    graded: bool = False
    grade: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    grade_low: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    grade_high: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))
    weight_grade: np.ndarray = field(default_factory=lambda: np.zeros(0, np.int64))

    @cached_property
    def varying(self) -> np.ndarray:
        """Indices of the features that are not constant."""
        return np.flatnonzero(self.high > self.low)

    def only(self, features: np.ndarray) -> Profile:
        """The same rows, of which every statistic reads the given features only: ascending indices of varying ones."""
        out = replace(self)
        out.__dict__["varying"] = np.asarray(features)
        return out

    def excess(self) -> np.ndarray | None:
        """(d,) exponents of the powers of two that take varying features beyond 2^±`REACH` back to there; one for all where one
        will do, so that proportions stay. None where no feature is beyond."""
        exponent = np.frexp(np.maximum(np.abs(self.low), np.abs(self.high)))[1][self.varying]
        top, bottom, out = exponent.max(initial=0), exponent.min(initial=0), np.zeros(self.d, np.int64)
        if max(top, -bottom) <= REACH:
            return None
        some = np.clip(exponent, -REACH, REACH) - exponent
        one = some[np.argmax(np.abs(some))]
        out[self.varying] = one if (np.abs(exponent + one) <= REACH).all() else some
        return out

    def times(self, shift: np.ndarray) -> Profile:
        """The profile of the rows whose feature j is multiplied by 2^`shift`[j]."""
        low, high = np.ldexp(self.low, shift), np.ldexp(self.high, shift)
        return replace(self, low=low, high=high, binary=self.binary & (shift == 0)).only(self.varying)

    @property
    def density(self) -> float:
        """Share of the cells that are not zero."""
        return self.nonzero / max(1, self.n * self.d)

    @property
    def weighted(self) -> bool:
        """Whether rows have weights that are not all 1."""
        return self.weight_exponent is not None

    @property
    def weight_unit(self) -> float:
        """Return the unit of `total` and the like."""
        return 1.0 if self.weight_exponent is None else 2.0**self.weight_exponent

    @property
    def total(self) -> int:
        """Rows, or the units of weight of all of them."""
        return self.weight if self.weighted else self.n

    @property
    def positive_total(self) -> np.ndarray:
        """(q,) rows with the label, or their units of weight."""
        return self.weight_positive if self.weighted else self.positive

    @property
    def label_mass(self) -> np.ndarray:
        """(q,) the sum of the grades of each label over the rows, by weight: `positive_total` where labels are 0 and 1."""
        if not self.graded:
            return self.positive_total
        return np.ldexp((self.weight_grade if self.weighted else self.grade).astype(np.float64), -BITS)

    @property
    def label_varies(self) -> np.ndarray:
        """(q,) whether a label has several values over the rows in which it is known."""
        varies = (self.positive > 0) & (self.positive < self.observed)
        return varies | (self.grade_high > self.grade_low) if self.graded else varies

    @property
    def unknown_total(self) -> np.ndarray:
        """(q,) rows whose label is unknown, or their units of weight."""
        return self.weight_unknown + self.weight_unlabelled if self.weighted else self.unknown + self.unlabelled

    @property
    def observed_total(self) -> np.ndarray:
        """(q,) rows whose label is known, or their units of weight."""
        return self.total - self.unknown_total

    @property
    def observed(self) -> np.ndarray:
        """(q,) rows in which the label is known."""
        return self.n - self.unlabelled - self.unknown

    @property
    def has_unknown(self) -> bool:
        """Whether some label of some row is unknown."""
        return bool(self.unlabelled or self.unknown.any())

    @property
    def most_labelsets(self) -> int:
        """How many distinct labelsets the rows whose labels are all known have at most; of graded labels, rows of grades."""
        if self.labelsets:
            return self.labelsets
        if self.graded:
            return min(self.n, self.labelled + 1)
        sets = 0
        for size in range(min(self.q, self.most_labels) + 1):
            sets += comb(self.q, size)
            if sets > self.labelled:
                return min(self.n, self.labelled + 1)  # one more has no label
        return min(self.n, sets)

    def rows_bytes(self, rows: int) -> int:
        """How many bytes so many rows have as blocks at most, headers and alignment of a block aside."""
        features = 12 * min(self.widest, self.d) + 4 if self.sparse else 8 * self.d
        features += 2 * self.most_labels if self.graded else 0
        unknown = 4 * self.most_unknown + 4 + (8 if self.unlabelled else 0)
        weight = 8 if self.weighted else 0
        return min(rows, self.n) * (features + 8 + weight + 4 * self.most_labels + 4 + unknown)

    def merge(self, other: Profile) -> Profile:
        """The profile of both sets of rows together."""
        if not other.n:
            return self if self.n or not other.problem else other
        if not self.n:
            return other
        problem = min((p for p in (self.problem, other.problem) if p), key=lambda p: p[1], default=None)
        if self.d != other.d:  # a part that could not be read has d = 0 and says why
            problem = problem or (f"feature vectors of size {self.d} and of size {other.d}", [], None)
            return Profile(n=self.n + other.n, problem=problem)
        if self.declared_num_labels and other.declared_num_labels and self.declared_num_labels != other.declared_num_labels:
            small, large = sorted((self.declared_num_labels, other.declared_num_labels))
            problem = problem or (f"some rows have {small} labels, others {large}; give all rows one length", [], None)
        q = max(self.q, other.q)

        def longer(a: np.ndarray) -> np.ndarray:
            return np.pad(a, (0, q - len(a)))

        out = Profile(
            self.n + other.n,
            self.d,
            q,
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
            self.binary & other.binary,
            self.nonzero + other.nonzero,
            longer(self.positive) + longer(other.positive),
            longer(self.unknown) + longer(other.unknown),
            self.unlabelled + other.unlabelled,
            self.labelled + other.labelled,
            self.size + other.size,
            self.partitions + other.partitions,
            self.sparse or other.sparse,
            (self.fingerprint + other.fingerprint) & (2**64 - 1),
            problem,
            self.named_ids or other.named_ids,
            self.stored + other.stored,
            max(self.widest, other.widest),
            max(self.most_labels, other.most_labels),
            max(self.most_unknown, other.most_unknown),
            self.feature_label_pairs + other.feature_label_pairs,
            self.feature_unknown_pairs + other.feature_unknown_pairs,
            self.unlabelled_stored + other.unlabelled_stored,
            declared_num_labels=max(self.declared_num_labels, other.declared_num_labels),
        )
        if self.graded or other.graded:
            out._add_grades(self._grades(q), other._grades(q))
        if self.weight_exponent is not None and other.weight_exponent is not None:
            out._add_weights(self, other, longer)
        return out

    def _grades(self, q: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """(q,) sum, least and largest of the grades above 0 of the first `q` labels."""
        if self.graded:
            ends = ((self.grade, 0), (self.grade_low, ONE), (self.grade_high, 0))
        else:
            ones = np.full(len(self.positive), ONE)
            ends = ((self.positive << BITS, 0), (ones, ONE), (np.where(self.positive > 0, ones, 0), 0))
        return tuple(np.pad(each, (0, q - len(each)), constant_values=none) for each, none in ends)  # type: ignore[return-value]

    def _add_grades(self, left: tuple[np.ndarray, ...], right: tuple[np.ndarray, ...]) -> None:
        """The grades of two sets of rows."""
        self.graded = True
        self.grade = left[0] + right[0]
        self.grade_low, self.grade_high = np.minimum(left[1], right[1]), np.maximum(left[2], right[2])

    def with_labels(self, q: int) -> None:
        """The first of `q` labels are those there were; no row has the others."""
        if q > self.q:
            if self.graded:
                self.grade, self.grade_low, self.grade_high = self._grades(q)
            more = (0, q - self.q)
            self.positive, self.unknown, self.q = np.pad(self.positive, more), np.pad(self.unknown, more), q

    def _add_weights(self, left: Profile, right: Profile, longer: Callable[[np.ndarray], np.ndarray]) -> None:
        """The weights of two sets of rows in the finer of their units; a problem where they take too many of them."""
        a, b = left.weight_exponent, right.weight_exponent
        assert a is not None and b is not None
        exponent = min(a, b)
        totals = [part.weight << min(each - exponent, 64) for part, each in ((left, a), (right, b))]
        self.weight_exponent, self.weight = exponent, min(sum(totals), MOST)
        if sum(totals) >= MOST:
            self.problem = self.problem or (TOO_FAR.format(2.0**exponent), [], None)
            self.weight_positive = self.weight_unknown = np.zeros(self.q, np.int64)
            return
        one, two = a - exponent, b - exponent
        self.heaviest = max(left.heaviest << one, right.heaviest << two)
        self.weight_positive = (longer(left.weight_positive) << one) + (longer(right.weight_positive) << two)
        self.weight_unknown = (longer(left.weight_unknown) << one) + (longer(right.weight_unknown) << two)
        self.weight_unlabelled = (left.weight_unlabelled << one) + (right.weight_unlabelled << two)
        if self.graded and self.weight < MOST_GRADED:  # else the run is refused
            parts = [p.weight_grade if p.graded else p.weight_positive << BITS for p in (left, right)]
            self.weight_grade = (longer(parts[0]) << one) + (longer(parts[1]) << two)

    def without_weights_of_one(self) -> None:
        """Weights that are all 1 are none."""
        if self.weight_exponent == 0 and self.weight == self.n and self.heaviest == 1:
            self.weight_exponent = None

    def encode(self) -> bytearray:
        """The profile as bytes."""
        return encode({k: v for k, v in vars(self).items() if k != "varying"})

    @staticmethod
    def decode(data: Buffer) -> Profile:
        fields = decode(data)
        fields["problem"] = tuple(fields["problem"]) if fields["problem"] else None
        return Profile(**fields)


@dataclass
class FeatureRanges:
    """Of the features of one block: `low`, `high` (d,), `binary` (d,) whether they hold 0 and 1 only, `nonzero` cells that are
    not zero, `stored` (d,) rows in which each is not zero, `in_row` (n,) features that are not zero in each row."""

    low: np.ndarray
    high: np.ndarray
    binary: np.ndarray
    nonzero: int
    stored: np.ndarray
    in_row: np.ndarray


def _ranges_of_sparse(x: sp.csr_matrix) -> FeatureRanges:
    n, d = x.shape
    if x.dtype == np.uint8 and x.nnz and x.data.min() == 1 == x.data.max():  # the column of a one does not matter then
        counts = np.bincount(x.indices, minlength=d).astype(np.int64)
        low, high = (counts == n).astype(float), (counts > 0).astype(float)
        return FeatureRanges(low, high, np.ones(d, bool), x.nnz, counts, np.diff(x.indptr).astype(np.int64))
    columns = x.tocsc()
    low, high, binary = np.zeros(d), np.zeros(d), np.ones(d, bool)
    counts = np.diff(columns.indptr)
    filled = np.flatnonzero(counts)
    if len(filled):
        starts = columns.indptr[filled]
        low[filled] = np.minimum.reduceat(columns.data, starts)
        high[filled] = np.maximum.reduceat(columns.data, starts)
        binary[filled] = np.logical_and.reduceat((columns.data == 1) | (columns.data == 0), starts)
        partial = filled[counts[filled] < n]  # the zeros that are not stored count too
        low[partial] = np.minimum(low[partial], 0)
        high[partial] = np.maximum(high[partial], 0)
    nonzero = int(np.count_nonzero(x.data))
    return FeatureRanges(low, high, binary, nonzero, counts.astype(np.int64), np.diff(x.indptr).astype(np.int64))


def _ranges_of_dense(x: np.ndarray) -> FeatureRanges:
    n, d = x.shape
    low, high = x.min(axis=0).astype(float), x.max(axis=0).astype(float)
    binary = (low >= 0) & (high <= 1)
    if x.dtype != np.uint8:
        ends = ((low == 0) | (low == 1)) & ((high == 0) | (high == 1))
        binary &= ends
        some = np.flatnonzero(binary)
        if len(some):
            part = x[:, some] if len(some) < d else x
            binary[some] = ((part == 0) | (part == 1)).all(axis=0)
    nonzero = int(np.count_nonzero(x))
    if nonzero < THIN * x.size:
        filled = x != 0
        return FeatureRanges(low, high, binary, nonzero, filled.sum(axis=0), filled.sum(axis=1))
    # counted exactly only where it can matter: dense rows are counted in full tables
    return FeatureRanges(low, high, binary, nonzero, np.full(d, n, np.int64), np.full(n, d, np.int64))


def profile_block(block: Block, width: int) -> Profile:
    """The profile of one block whose rows tell `width` labels (0: not told)."""
    features = _ranges_of_sparse(block.x) if block.sparse else _ranges_of_dense(block.x)
    in_row = features.in_row
    labels = np.diff(block.label_indptr)
    unknown_labels = np.zeros(1, np.int64) if block.unknown_indptr is None else np.diff(block.unknown_indptr)
    q = max(width, int(block.label_indices.max(initial=-1)) + 1)
    unknown = np.zeros(q, np.int64)
    if block.unknown_indices is not None:
        unknown = np.bincount(block.unknown_indices, minlength=q).astype(np.int64)
    profile = Profile(
        block.n,
        block.d,
        q,
        features.low,
        features.high,
        features.binary,
        features.nonzero,
        np.bincount(block.label_indices, minlength=q).astype(np.int64),
        unknown,
        0 if block.unlabelled is None else len(block.unlabelled),
        int(np.count_nonzero(np.diff(block.label_indptr))),
        block.nbytes,
        0,
        block.sparse,
        stored=features.stored,
        widest=int(in_row.max(initial=0)),
        most_labels=int(labels.max(initial=0)),
        most_unknown=int(unknown_labels.max(initial=0)),
        feature_label_pairs=int(in_row @ labels),
        feature_unknown_pairs=0 if block.unknown_indptr is None else int(in_row @ unknown_labels),
        unlabelled_stored=0 if block.unlabelled is None else int(in_row[block.unlabelled].sum()),
        declared_num_labels=width,
    )
    if block.grades is not None and (block.grades != ONE).any():
        _grade(profile, block)
    if block.weights is not None:
        _weigh(profile, block)
    return profile


def _grade(profile: Profile, block: Block) -> None:
    """Enters the grades of the block whose profile it is."""
    label, units = block.label_indices, block.grade_units()
    profile.graded = True
    profile.grade = np.bincount(label, units, minlength=profile.q).astype(np.int64)
    profile.grade_low, profile.grade_high = np.full(profile.q, ONE), np.zeros(profile.q, np.int64)
    np.minimum.at(profile.grade_low, label, units)
    np.maximum.at(profile.grade_high, label, units)


def _weigh(profile: Profile, block: Block) -> None:
    """Enters the weights of the block whose profile it is."""
    assert block.weights is not None
    q, exponent = profile.q, exponent_of(block.weights)
    with np.errstate(over="ignore"):
        profile.weight = int(min(np.ldexp(block.weights, -exponent).sum(), MOST))
    profile.weight_exponent = exponent
    profile.weight_positive = profile.weight_unknown = np.zeros(q, np.int64)
    if profile.weight >= MOST:
        profile.problem = (TOO_FAR.format(2.0**exponent), [], None)
        return
    mass = in_units(block.weights, exponent)
    profile.heaviest = int(mass.max(initial=0))
    positive = np.bincount(block.label_indices, mass[block.label_rows()], minlength=q)
    profile.weight_positive = positive.astype(np.int64)  # whole numbers below 2⁵³
    if profile.graded:
        profile.weight_grade = np.zeros(q, np.int64)
        if profile.weight < MOST_GRADED:  # else the run is refused
            np.add.at(profile.weight_grade, block.label_indices, block.grade_units() * mass[block.label_rows()])
    if block.unknown_indices is not None and block.unknown_indptr is not None:
        rows = np.repeat(np.arange(block.n), np.diff(block.unknown_indptr))
        profile.weight_unknown = np.bincount(block.unknown_indices, mass[rows], minlength=q).astype(np.int64)
    if block.unlabelled is not None:
        profile.weight_unlabelled = int(mass[block.unlabelled].sum())
