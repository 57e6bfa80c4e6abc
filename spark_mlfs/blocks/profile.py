"""The profile of the data: what one pass over the blocks tells, merged in any order."""

# ruff: noqa: RUF009  `_fact` makes a field

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from math import comb
from operator import add
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..errors import DataError
from ..lazy import cached_property
from .block import Block
from .codec import Buffer, decode, encode
from .grades import BITS, ONE
from .weights import MOST, TOO_FAR, exponent_of, in_units

REACH = 480  # features within 2^±REACH have squares, and products and sums of those, within float64
THIN = 0.3  # share of a dense block's cells that are not zero, from which it counts as full


@dataclass(frozen=True)
class MergeRule:
    """How a fact follows `of_both` sets of rows.

    Facts by label have `none`, the fact of a label without rows; weights are `in_units`."""

    of_both: Callable[[Any, Any], Any]
    none: int | None = None
    in_units: bool = False

    def merged(self, left: Any, right: Any) -> Any:
        """Return the fact about both sets of rows."""
        if self.none is None:
            return self.of_both(left, right)
        q = max(len(left), len(right))
        return self.of_both(self.padded(left, q), self.padded(right, q))

    def padded(self, fact: ndarray, q: int) -> ndarray:
        """Return (q,) the fact where more labels are counted."""
        added = q - len(fact)
        if not added:
            return fact
        return np.concatenate([fact, np.full(added, self.none, fact.dtype)])


def _bits_of_both(left: ndarray, right: ndarray) -> ndarray:
    return left | right if len(left) == len(right) else max(left, right, key=len)


def _first_problem(*problems: Any) -> Any:
    return min((p for p in problems if p), key=lambda p: p[1], default=None)


def _if_both(of_both: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Return the rule of a fact that older states do not tell of their rows: it is empty then."""
    return lambda a, b: of_both(a, b) if len(a) and len(b) else a[:0]


SUM = MergeRule(add)
LARGEST = MergeRule(max)
SUMS = MergeRule(add, none=0)  # by label
WEIGHTS = MergeRule(add, none=0, in_units=True)  # by label


def _fact(rule: MergeRule, default: Any = 0) -> Any:
    """Make a field with its rule; a dtype for `default` is an empty array."""
    return field(
        default_factory=lambda: np.zeros(0, default) if isinstance(default, type) else default,
        metadata={"rule": rule},
    )


@dataclass
class Profile:
    """Facts about the data from one pass. Merges by `merge`; the merge does not depend on the
    order.

    n rows, d features, q labels; `low`, `high` (d,) and `binary` (d,) whether a feature holds only
    0 and 1; `nonzero` stored entries; `positive`, `unknown` (q,) rows per label; `unlabelled` rows
    with a null label cell; `size` bytes of the blocks; `fingerprint` sum of the rows' 64-bit
    hashes; `problem` the first thing wrong, as (what, the row by its id or by its partition and
    place or nothing, feature or None); `named_ids` whether the row ids come from a column of the
    user's, `content_ids` whether they are hashes of the rows' content (`blocks.identity`).

    What states can grow to follows from upper bounds: `stored` (d,) rows in which a feature is not
    zero; `widest` features that are not zero in one row, `most_labels` and `most_unknown` labels of
    one row; `feature_label_pairs` and `feature_unknown_pairs` Σ over rows of features that are not
    zero times (unknown) labels, `unlabelled_stored` of the former in rows with a null label cell. A
    dense block counts as full. `declared_num_labels` each row tells of, 0 if none. `labelsets`
    distinct ones of the rows whose labels are all known, once they have been counted (0: not yet).

    `filled` (d,) are the rows in which a feature is not 0, exactly, by weight; `two_valued` (d,)
    whether it has no other values than `low` and `high`; `label_pairs` (q,) Σ over the rows with a
    label of features that are not zero, at most.

    `terms`: features are terms of texts, of which counts see whether they occur.

    `categories` (d,) codes of features that are categories, 0 of numbers; empty where there are
    none. `left_out`: the constant labels that are none of the q (`of_varying_labels`), by their
    places among all. `variety` (d,) bits of hashes of values, of one row of 32
    (`blocks.identity`): many where a feature has many values; empty where it is not known.

    Where rows have weights (`blocks.weights`) these are whole numbers of units 2^`weight_exponent`
    (None: no weights); `weight` of all rows, `heaviest` of one, `weight_positive`, `weight_unknown`
    (q,) and `weight_unlabelled` of those counted above.

    Where some grades are not 1 (`graded`; `blocks.grades`), in units of 2⁻¹⁵: `grade` (q,) their
    sums, `grade_low` and `grade_high` (q,) the least and the largest above 0, `weight_grade` (q,)
    their sums times the weights."""

    n: int = _fact(SUM)
    d: int = _fact(LARGEST)
    q: int = _fact(LARGEST)
    low: ndarray = _fact(MergeRule(np.minimum), float)
    high: ndarray = _fact(MergeRule(np.maximum), float)
    binary: ndarray = _fact(MergeRule(np.logical_and), bool)
    nonzero: int = _fact(SUM)
    positive: ndarray = _fact(SUMS, np.int64)
    unknown: ndarray = _fact(SUMS, np.int64)
    unlabelled: int = _fact(SUM)
    labelled: int = _fact(SUM)
    size: int = _fact(SUM)
    partitions: int = _fact(SUM)
    sparse: bool = _fact(LARGEST, False)
    fingerprint: int = _fact(MergeRule(lambda a, b: (a + b) & (2**64 - 1)))
    problem: tuple[str, Any, int | None] | None = _fact(MergeRule(_first_problem), None)
    named_ids: bool = _fact(LARGEST, False)
    content_ids: bool = _fact(LARGEST, False)
    stored: ndarray = _fact(SUM, np.int64)
    widest: int = _fact(LARGEST)
    most_labels: int = _fact(LARGEST)
    most_unknown: int = _fact(LARGEST)
    feature_label_pairs: int = _fact(SUM)
    feature_unknown_pairs: int = _fact(SUM)
    unlabelled_stored: int = _fact(SUM)
    labelsets: int = _fact(MergeRule(lambda a, b: 0))
    declared_num_labels: int = _fact(LARGEST)
    weight_exponent: int | None = _fact(MergeRule(lambda a, b: a), None)
    weight: int = _fact(MergeRule(lambda a, b: min(a + b, MOST), in_units=True))
    heaviest: int = _fact(MergeRule(max, in_units=True))
    weight_positive: ndarray = _fact(WEIGHTS, np.int64)
    weight_unknown: ndarray = _fact(WEIGHTS, np.int64)
    weight_unlabelled: int = _fact(MergeRule(add, in_units=True))
    graded: bool = _fact(LARGEST, False)
    grade: ndarray = _fact(SUMS, np.int64)
    grade_low: ndarray = _fact(MergeRule(np.minimum, none=ONE), np.int64)
    grade_high: ndarray = _fact(MergeRule(np.maximum, none=0), np.int64)
    weight_grade: ndarray = _fact(WEIGHTS, np.int64)
    categories: ndarray = _fact(MergeRule(lambda a, b: a), np.int64)
    variety: ndarray = _fact(MergeRule(_bits_of_both), np.uint16)
    left_out: ndarray = _fact(MergeRule(lambda a, b: a), np.int64)
    filled: ndarray = _fact(MergeRule(_if_both(add), in_units=True), np.int64)
    two_valued: ndarray = _fact(MergeRule(_if_both(np.logical_and)), bool)
    label_pairs: ndarray = _fact(SUMS, np.int64)
    terms: bool = _fact(LARGEST, False)

    @cached_property
    def varying(self) -> ndarray:
        """Return the indices of the features that are not constant."""
        return np.flatnonzero(self.high > self.low)

    def only(self, features: ndarray) -> Profile:
        """Return the same rows, of which every statistic reads some features only.

        `features`: ascending indices of varying ones."""
        profile = replace(self)
        profile.__dict__["varying"] = np.asarray(features)
        return profile

    def of_varying_labels(self) -> Profile:
        """Return the profile of the same rows without the labels that are constant.

        Those have one value wherever they are known, and are known somewhere. Where none varies all
        stay."""
        varies = self.label_varies
        if not varies.any():
            return self
        varies |= self.observed == 0  # methods name such a label as the reason
        if varies.all():
            return self
        everywhere = int((self.positive == self.n).sum())  # in every row
        places = np.delete(np.arange(self.q + len(self.left_out)), self.left_out)
        facts = {
            name: getattr(self, name)[varies]
            for name, rule in RULES.items()
            if rule.none is not None and len(getattr(self, name))
        }
        profile = replace(
            self,
            **facts,
            q=int(varies.sum()),
            left_out=np.sort(np.concatenate([self.left_out, places[~varies]])),
            most_labels=self.most_labels - everywhere,
            feature_label_pairs=self.feature_label_pairs - everywhere * int(self.stored.sum()),
        )
        return profile.only(self.varying)

    def over_all(self, values: ndarray) -> ndarray:
        """Return (d,) `values` (v,) of the varying features, NaN for the others."""
        of_all = np.full(self.d, np.nan)
        of_all[self.varying] = values
        return of_all

    def exponent_shift(self) -> ndarray | None:
        """Return (d,) exponents of powers of two that take features within 2^±`REACH`.

        One for all if that will do. None where no feature is beyond."""
        largest = np.maximum(np.abs(self.low), np.abs(self.high))
        exponent = np.frexp(largest)[1][self.varying]
        if max(exponent.max(initial=0), -exponent.min(initial=0)) <= REACH:
            return None
        shifts = np.clip(exponent, -REACH, REACH) - exponent
        largest_shift = shifts[np.argmax(np.abs(shifts))]
        one_will_do = (np.abs(exponent + largest_shift) <= REACH).all()
        shift = np.zeros(self.d, np.int64)
        shift[self.varying] = largest_shift if one_will_do else shifts
        shift[np.flatnonzero(self.categories)] = 0
        return shift

    def refuse_extremes(self) -> None:
        """Raise `DataError` where squares of a feature leave float64."""
        if self.exponent_shift() is not None:
            raise DataError(
                "a feature is beyond 1e144 in size, or below 1e-144 throughout: give it in another "
                "unit"
            )

    def times(self, shift: ndarray) -> Profile:
        """Return the profile of the rows whose feature j is multiplied by 2^`shift`[j]."""
        low = np.ldexp(self.low, shift)
        high = np.ldexp(self.high, shift)
        shifted = replace(self, low=low, high=high, binary=self.binary & (shift == 0))
        return shifted.only(self.varying)

    @property
    def density(self) -> float:
        """Return the share of the cells that are not zero."""
        return self.nonzero / max(1, self.n * self.d)

    @property
    def weighted(self) -> bool:
        """Return whether rows have weights that are not all 1."""
        return self.weight_exponent is not None

    @property
    def weight_unit(self) -> float:
        """Return the unit of `total` and the like."""
        return 1.0 if self.weight_exponent is None else 2.0**self.weight_exponent

    @property
    def total(self) -> int:
        """Return the rows, or the units of weight of all of them."""
        return self.weight if self.weighted else self.n

    @property
    def positive_total(self) -> ndarray:
        """Return (q,) the rows with the label, or their units of weight."""
        return self.weight_positive if self.weighted else self.positive

    @property
    def label_mass(self) -> ndarray:
        """Return (q,) the sum of the grades of each label over the rows, by weight.

        It is `positive_total` where labels are 0 and 1."""
        if not self.graded:
            return self.positive_total
        units = self.weight_grade if self.weighted else self.grade
        return np.ldexp(units.astype(np.float64), -BITS)

    @property
    def label_varies(self) -> ndarray:
        """Return (q,) whether a label has several values over the rows in which it is known."""
        varies = (self.positive > 0) & (self.positive < self.observed)
        return varies | (self.grade_high > self.grade_low) if self.graded else varies

    @property
    def one_class(self) -> bool:
        """Return whether the labels say one thing: there is one, or every row has one of two."""
        in_turn = self.most_labels == 1 and self.positive.sum() == self.n
        return self.q == 1 or (self.q == 2 and in_turn)

    @property
    def unknown_total(self) -> ndarray:
        """Return (q,) the rows whose label is unknown, or their units of weight."""
        if self.weighted:
            return self.weight_unknown + self.weight_unlabelled
        return self.unknown + self.unlabelled

    @property
    def observed_total(self) -> ndarray:
        """Return (q,) the rows whose label is known, or their units of weight."""
        return self.total - self.unknown_total

    @property
    def observed(self) -> ndarray:
        """Return (q,) the rows in which the label is known."""
        return self.n - self.unlabelled - self.unknown

    @property
    def has_unknown(self) -> bool:
        """Return whether some label of some row is unknown."""
        return bool(self.unlabelled or self.unknown.any())

    @property
    def most_labelsets(self) -> int:
        """Return how many distinct labelsets the rows whose labels are all known have at most.

        Of graded labels, rows of grades."""
        if self.labelsets:
            return self.labelsets
        sets = 0
        most = self.labelled + 1  # the one without labels
        for size in range(min(self.q, self.most_labels) + 1):
            sets += comb(self.q, size)
            if sets >= most or self.graded:
                return min(self.n, most)
        return min(self.n, sets)

    def rows_bytes(self, rows: int) -> int:
        """Return the bytes of so many rows as blocks at most.

        Headers and alignment of a block aside."""
        features = 12 * min(self.widest, self.d) + 4 if self.sparse else 8 * self.d
        labels = (6 if self.graded else 4) * self.most_labels + 4
        unknown = 4 * self.most_unknown + 4 + (8 if self.unlabelled else 0)
        weight = 8 if self.weighted else 0
        id = 8
        return min(rows, self.n) * (features + id + weight + labels + unknown)

    def merge(self, other: Profile) -> Profile:
        """Return the profile of both sets of rows together."""
        if not other.n:
            return self if self.n or not other.problem else other
        if not self.n:
            return other
        if self.d != other.d:  # a part that could not be read has d = 0 and a problem
            sizes = f"feature vectors of size {self.d} and of size {other.d}"
            problem = _first_problem(self.problem, other.problem)
            return Profile(n=self.n + other.n, problem=problem or (sizes, [], None))
        left = self._comparable(other)
        right = other._comparable(self)
        facts = {
            name: rule.merged(getattr(left, name), getattr(right, name))
            for name, rule in RULES.items()
            if name != "filled"
        }
        if left.filled is left.stored and right.filled is right.stored:  # as of sparse rows
            facts["filled"] = facts["stored"]
        else:
            facts["filled"] = RULES["filled"].merged(left.filled, right.filled)
        merged = Profile(**facts)
        if len(merged.two_valued) and not merged.binary.all():
            for side in (left, right):  # a value of one side may be a third one
                for ends in (side.low, side.high):
                    merged.two_valued &= (ends == merged.low) | (ends == merged.high)
        small, large = sorted((self.declared_num_labels, other.declared_num_labels))
        if small and small != large:
            message = f"some rows have {small} labels, others {large}; give all rows one length"
            merged.problem = merged.problem or (message, [], None)
        if merged.weight_exponent is not None and merged.weight >= MOST:
            message = TOO_FAR.format(2.0**merged.weight_exponent)
            merged.problem = merged.problem or (message, [], None)
        return merged

    def _comparable(self, other: Profile) -> Profile:
        """Return the same facts with the grades and weights that the other has.

        In the finer unit of both."""
        facts = replace(self)
        if other.weight_exponent is not None:
            if self.weight_exponent is None:  # each row has the weight 1
                facts.weight_exponent = 0
                facts.weight = self.n
                facts.heaviest = 1
                facts.weight_positive = self.positive
                facts.weight_unknown = self.unknown
                facts.weight_unlabelled = self.unlabelled
            facts._use_unit(other.weight_exponent)
        if other.graded and not self.graded:
            facts.graded = True
            facts.grade = facts.positive << BITS
            facts.weight_grade = facts.weight_positive << BITS
            facts.grade_low = np.full(self.q, ONE)
            facts.grade_high = np.where(self.positive > 0, ONE, 0)
        return facts

    def _use_unit(self, exponent: int) -> None:
        """Take weights in the finer unit 2^`exponent`; more than `MOST` is refused anyhow."""
        assert self.weight_exponent is not None
        shift = min(self.weight_exponent - exponent, 64)
        if shift <= 0:
            return
        self.weight_exponent = exponent
        for name, rule in RULES.items():
            if rule.in_units:
                value = getattr(self, name) << shift
                if rule.none is None:
                    value = np.minimum(value, MOST) if name == "filled" else min(value, MOST)
                setattr(self, name, value)

    def with_labels(self, q: int) -> None:
        """Count `q` labels, of which no row has the added ones."""
        for name, rule in RULES.items():
            if rule.none is not None and q > self.q:
                setattr(self, name, rule.padded(getattr(self, name), q))
        self.q = max(q, self.q)

    def without_weights_of_one(self) -> None:
        """Forget weights that are all 1."""
        if self.weight_exponent == 0 and self.weight == self.n and self.heaviest == 1:
            self.weight_exponent = None

    def without_grades_of_one(self) -> None:
        """Forget grades that are all 1."""
        if self.graded and (self.grade_low == ONE).all():
            self.graded = False
            for name in ("grade", "grade_low", "grade_high", "weight_grade"):
                setattr(self, name, np.zeros(0, np.int64))

    def encode(self) -> bytearray:
        facts = {k: v for k, v in vars(self).items() if k not in ("varying", "left_out")}
        return encode(facts)

    @staticmethod
    def decode(data: Buffer) -> Profile:
        facts = decode(data)
        facts["problem"] = tuple(facts["problem"]) if facts["problem"] else None
        return Profile(**facts)


RULES: dict[str, MergeRule] = {fact.name: fact.metadata["rule"] for fact in fields(Profile)}
# facts about the features of a block; (n,) features that are not zero in each row
Ranges = tuple[dict[str, Any], ndarray]


def _ranges_of_sparse(x: sp.csr_matrix, mass: ndarray | None) -> Ranges:
    n, d = x.shape
    in_row = np.diff(x.indptr).astype(np.int64)
    small = x.dtype == np.uint8 and x.nnz > 0
    if small and x.data.min() == 1 == x.data.max():  # counts of the columns are enough then
        counts = np.bincount(x.indices, minlength=d).astype(np.int64)
        facts = {
            "low": (counts == n).astype(float),
            "high": (counts > 0).astype(float),
            "binary": np.ones(d, bool),
            "nonzero": x.nnz,
            "stored": counts,
            "filled": counts if mass is None else _entries_of(x, mass),
            "two_valued": np.ones(d, bool),
        }
        return facts, in_row
    columns = x.tocsc()
    low = np.zeros(d)
    high = np.zeros(d)
    binary = np.ones(d, bool)
    two_valued = np.ones(d, bool)
    counts = np.diff(columns.indptr)
    filled = np.flatnonzero(counts)
    if len(filled):
        starts = columns.indptr[filled]
        low[filled] = np.minimum.reduceat(columns.data, starts)
        high[filled] = np.maximum.reduceat(columns.data, starts)
        is_binary = (columns.data == 1) | (columns.data == 0)
        binary[filled] = np.logical_and.reduceat(is_binary, starts)
        two_valued = low == high  # of what is stored; some others have no more values in all
        for column in np.flatnonzero(~two_valued & ((counts == n) | (low == 0) | (high == 0))):
            stored = columns.data[columns.indptr[column] : columns.indptr[column + 1]]
            two_valued[column] = _has_ends_alone(stored, low[column], high[column])
        partial = filled[counts[filled] < n]  # the zeros that are not stored count too
        low[partial] = np.minimum(low[partial], 0)
        high[partial] = np.maximum(high[partial], 0)
    facts = {
        "low": low,
        "high": high,
        "binary": binary,
        "nonzero": int(np.count_nonzero(x.data)),
        "stored": counts.astype(np.int64),
        "filled": _entries_of(x, mass),
        "two_valued": two_valued,
    }
    return facts, in_row


def _entries_of(x: sp.csr_matrix, mass: ndarray | None) -> ndarray:
    """Return (d,) int64 the rows in which a feature is not 0, or what they weigh."""
    nonzero = x.data != 0
    if mass is None:
        weights = None if nonzero.all() else nonzero
    else:
        weights = np.repeat(mass, np.diff(x.indptr)) * nonzero  # whole, together below 2⁵³
    return np.bincount(x.indices, weights, minlength=x.shape[1]).astype(np.int64)


def _ranges_of_dense(x: ndarray, mass: ndarray | None) -> Ranges:
    n, d = x.shape
    low = x.min(axis=0).astype(float)
    high = x.max(axis=0).astype(float)
    binary = (low >= 0) & (high <= 1)
    if x.dtype != np.uint8:
        binary &= (low == 0) | (low == 1)
        binary &= (high == 0) | (high == 1)
        candidates = np.flatnonzero(binary)
        if len(candidates):
            part = x[:, candidates] if len(candidates) < d else x
            binary[candidates] = ((part == 0) | (part == 1)).all(axis=0)
            del part
    filled = x != 0
    nonzero = int(np.count_nonzero(filled))  # of numbers it takes thrice as long
    in_column = _column_sums(filled)
    if nonzero < THIN * x.size:
        stored = in_column
        in_row = filled.sum(axis=1)
    else:  # counted exactly only where it can matter: dense rows are counted in full tables
        stored = np.full(d, n, np.int64)
        in_row = np.full(n, d, np.int64)
    facts = {
        "low": low,
        "high": high,
        "binary": binary,
        "nonzero": nonzero,
        "stored": stored,
        "filled": in_column if mass is None else _column_sums(filled, mass),
        "two_valued": _two_valued(x, low, high, binary),
    }
    return facts, in_row


def _column_sums(filled: ndarray, mass: ndarray | None = None) -> ndarray:
    """Return (d,) int64 how many rows of each column are filled, or what they weigh."""
    n, d = filled.shape
    if mass is not None:
        return np.array([mass[filled[:, j]].sum() for j in range(d)], np.int64)
    last = n - n % 255  # of so many rows a sum fits a byte, which is quick
    runs = filled[:last].view(np.uint8).reshape(n // 255, 255, d)
    sums = runs.sum(axis=1, dtype=np.uint8).sum(axis=0, dtype=np.int64)
    return np.asarray(sums + filled[last:].sum(axis=0))


def _two_valued(
    x: ndarray,
    low: ndarray,
    high: ndarray,
    binary: ndarray,
) -> ndarray:
    """Return (d,) whether a column has no other values than its lowest and its highest.

    Of `binary` ones this is known."""
    out = binary.copy()
    first = x[:64]  # most columns have a third value there
    for column in np.flatnonzero(((first == low) | (first == high)).all(axis=0) & ~binary):
        out[column] = _has_ends_alone(x[:, column], low[column], high[column])
    return out


def _has_ends_alone(values: ndarray, low: float, high: float) -> bool:
    return bool(((values == low) | (values == high)).all())


def _mass_of(block: Block) -> tuple[ndarray | None, int]:
    """Return (n,) the rows' weights in whole units of 2^exponent, and it.

    None where there are no weights; 0 of all where they are too large together."""
    if block.weights is None:
        return None, 0
    exponent = exponent_of(block.weights)
    with np.errstate(over="ignore"):
        total = np.ldexp(block.weights, -exponent).sum()
    if total >= MOST:
        return np.zeros(block.n, np.int64), exponent
    return in_units(block.weights, exponent), exponent


def profile_block(block: Block, width: int) -> Profile:
    """Return the profile of one block whose rows declare `width` labels (0: none)."""
    mass, exponent = _mass_of(block)
    ranges_of = _ranges_of_sparse if block.sparse else _ranges_of_dense
    features, in_row = ranges_of(block.x, mass)
    labels = np.diff(block.label_indptr)
    unlabelled = block.unlabelled_rows()
    rows_of_unknown, unknown = block.unknown_entries()
    unknown_labels = np.bincount(rows_of_unknown, minlength=block.n)
    q = max(width, int(block.label_indices.max(initial=-1)) + 1)

    def by_label(entries: ndarray, amounts: ndarray | None = None) -> ndarray:
        # amounts: whole numbers, together below 2⁵³
        return np.bincount(entries, amounts, minlength=q).astype(np.int64)

    profile = Profile(
        n=block.n,
        d=block.d,
        q=q,
        positive=by_label(block.label_indices),
        unknown=by_label(unknown),
        unlabelled=len(unlabelled),
        labelled=int(np.count_nonzero(labels)),
        size=block.nbytes,
        sparse=block.sparse,
        widest=int(in_row.max(initial=0)),
        most_labels=int(labels.max(initial=0)),
        most_unknown=int(unknown_labels.max(initial=0)),
        feature_label_pairs=int(in_row @ labels),
        feature_unknown_pairs=int(in_row @ unknown_labels),
        unlabelled_stored=int(in_row[unlabelled].sum()),
        label_pairs=by_label(block.label_indices, in_row[block.label_rows()]),
        declared_num_labels=width,
        **features,
    )
    if block.grades is not None and (block.grades != ONE).any():
        label = block.label_indices
        units = block.grade_units()
        profile.graded = True
        profile.grade = by_label(label, units)
        profile.grade_low = np.full(q, ONE)
        profile.grade_high = np.zeros(q, np.int64)
        np.minimum.at(profile.grade_low, label, units)
        np.maximum.at(profile.grade_high, label, units)
    if block.weights is not None:
        assert mass is not None
        profile.weight_exponent = exponent
        with np.errstate(over="ignore"):
            profile.weight = int(min(np.ldexp(block.weights, -exponent).sum(), MOST))
        if profile.weight >= MOST:
            profile.problem = (TOO_FAR.format(2.0**exponent), [], None)
        profile.heaviest = int(mass.max(initial=0))
        of_entries = mass[block.label_rows()]
        profile.weight_positive = by_label(block.label_indices, of_entries)
        profile.weight_unknown = by_label(unknown, mass[rows_of_unknown])
        profile.weight_unlabelled = int(mass[unlabelled].sum())
        if profile.graded:
            profile.weight_grade = np.zeros(q, np.int64)
            np.add.at(profile.weight_grade, block.label_indices, block.grade_units() * of_entries)
    return profile
