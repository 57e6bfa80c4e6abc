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

from ..lazy import cached_property
from .block import Block
from .codec import Buffer, decode, encode
from .grades import BITS, ONE
from .weights import MOST, TOO_FAR, exponent_of, in_units

REACH = 480  # features within 2^±REACH have squares, and products and sums of those, within float64
THIN = 0.3  # share of a dense block's cells that are not zero, from which it counts as full


@dataclass(frozen=True)
class MergeRule:
    """How a fact follows `of_both` sets of rows. By label there is `none`, of a label without rows;
    weights are `in_units`."""

    of_both: Callable[[Any, Any], Any]
    none: int | None = None
    in_units: bool = False

    def merged(self, one: Any, other: Any) -> Any:
        """The fact about both sets of rows."""
        if self.none is None:
            return self.of_both(one, other)
        q = max(len(one), len(other))
        return self.of_both(self.padded(one, q), self.padded(other, q))

    def padded(self, fact: np.ndarray, q: int) -> np.ndarray:
        """(q,) the fact where more labels are counted."""
        more = q - len(fact)
        return np.concatenate([fact, np.full(more, self.none, fact.dtype)]) if more else fact


def _first_problem(*problems: Any) -> Any:
    return min((p for p in problems if p), key=lambda p: p[1], default=None)


SUM, LARGEST, SUMS, WEIGHTS = (
    MergeRule(add),
    MergeRule(max),
    MergeRule(add, none=0),
    MergeRule(add, none=0, in_units=True),
)


def _fact(rule: MergeRule, default: Any = 0) -> Any:
    """A field with its rule; a dtype for `default` is an empty array."""
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

    `categories` (d,) codes of features that are categories, 0 of numbers; empty where there are
    none.

    Where rows have weights (`blocks.weights`) these are whole numbers of units 2^`weight_exponent`
    (None: no weights); `weight` of all rows, `heaviest` of one, `weight_positive`, `weight_unknown`
    (q,) and `weight_unlabelled` of those counted above.

    Where some grades are not 1 (`graded`; `blocks.grades`), in units of 2⁻¹⁵: `grade` (q,) their
    sums, `grade_low` and `grade_high` (q,) the least and the largest above 0, `weight_grade` (q,)
    their sums times the weights."""

    n: int = _fact(SUM)
    d: int = _fact(LARGEST)
    q: int = _fact(LARGEST)
    low: np.ndarray = _fact(MergeRule(np.minimum), float)
    high: np.ndarray = _fact(MergeRule(np.maximum), float)
    binary: np.ndarray = _fact(MergeRule(np.logical_and), bool)
    nonzero: int = _fact(SUM)
    positive: np.ndarray = _fact(SUMS, np.int64)
    unknown: np.ndarray = _fact(SUMS, np.int64)
    unlabelled: int = _fact(SUM)
    labelled: int = _fact(SUM)
    size: int = _fact(SUM)
    partitions: int = _fact(SUM)
    sparse: bool = _fact(LARGEST, False)
    fingerprint: int = _fact(MergeRule(lambda a, b: (a + b) & (2**64 - 1)))
    problem: tuple[str, Any, int | None] | None = _fact(MergeRule(_first_problem), None)
    named_ids: bool = _fact(LARGEST, False)
    content_ids: bool = _fact(LARGEST, False)
    stored: np.ndarray = _fact(SUM, np.int64)
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
    weight_positive: np.ndarray = _fact(WEIGHTS, np.int64)
    weight_unknown: np.ndarray = _fact(WEIGHTS, np.int64)
    weight_unlabelled: int = _fact(MergeRule(add, in_units=True))
    graded: bool = _fact(LARGEST, False)
    grade: np.ndarray = _fact(SUMS, np.int64)
    grade_low: np.ndarray = _fact(MergeRule(np.minimum, none=ONE), np.int64)
    grade_high: np.ndarray = _fact(MergeRule(np.maximum, none=0), np.int64)
    weight_grade: np.ndarray = _fact(WEIGHTS, np.int64)
    categories: np.ndarray = _fact(MergeRule(lambda a, b: a), np.int64)

    @cached_property
    def varying(self) -> np.ndarray:
        """Indices of the features that are not constant."""
        return np.flatnonzero(self.high > self.low)

    def only(self, features: np.ndarray) -> Profile:
        """The same rows, of which every statistic reads the given features only: ascending indices
        of varying ones."""
        out = replace(self)
        out.__dict__["varying"] = np.asarray(features)
        return out

    def over_all(self, values: np.ndarray) -> np.ndarray:
        """(d,) `values` (v,) of the varying features, NaN for the others."""
        out = np.full(self.d, np.nan)
        out[self.varying] = values
        return out

    def exponent_shift(self) -> np.ndarray | None:
        """(d,) exponents of powers of two that take features beyond 2^±`REACH` back, one for all if
        that will do; or None."""
        exponent = np.frexp(np.maximum(np.abs(self.low), np.abs(self.high)))[1][self.varying]
        top, bottom, out = (
            exponent.max(initial=0),
            exponent.min(initial=0),
            np.zeros(self.d, np.int64),
        )
        if max(top, -bottom) <= REACH:
            return None
        some = np.clip(exponent, -REACH, REACH) - exponent
        one = some[np.argmax(np.abs(some))]
        out[self.varying] = one if (np.abs(exponent + one) <= REACH).all() else some
        out[np.flatnonzero(self.categories)] = 0
        return out

    def times(self, shift: np.ndarray) -> Profile:
        """The profile of the rows whose feature j is multiplied by 2^`shift`[j]."""
        low, high = np.ldexp(self.low, shift), np.ldexp(self.high, shift)
        return replace(self, low=low, high=high, binary=self.binary & (shift == 0)).only(
            self.varying
        )

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
        """(q,) the sum of the grades of each label over the rows, by weight: `positive_total` where
        labels are 0 and 1."""
        if not self.graded:
            return self.positive_total
        return np.ldexp(
            (self.weight_grade if self.weighted else self.grade).astype(np.float64), -BITS
        )

    @property
    def label_varies(self) -> np.ndarray:
        """(q,) whether a label has several values over the rows in which it is known."""
        varies = (self.positive > 0) & (self.positive < self.observed)
        return varies | (self.grade_high > self.grade_low) if self.graded else varies

    @property
    def unknown_total(self) -> np.ndarray:
        """(q,) rows whose label is unknown, or their units of weight."""
        return (
            self.weight_unknown + self.weight_unlabelled
            if self.weighted
            else self.unknown + self.unlabelled
        )

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
        """How many distinct labelsets the rows whose labels are all known have at most; of graded
        labels, rows of grades."""
        if self.labelsets:
            return self.labelsets
        sets, most = 0, self.labelled + 1  # one more has no label
        for size in range(min(self.q, self.most_labels) + 1):
            sets += comb(self.q, size)
            if sets >= most or self.graded:
                return min(self.n, most)
        return min(self.n, sets)

    def rows_bytes(self, rows: int) -> int:
        """How many bytes so many rows have as blocks at most, headers and alignment of a block
        aside."""
        features = 12 * min(self.widest, self.d) + 4 if self.sparse else 8 * self.d
        labels = (6 if self.graded else 4) * self.most_labels + 4
        unknown = 4 * self.most_unknown + 4 + (8 if self.unlabelled else 0)
        return min(rows, self.n) * (features + 8 + (8 if self.weighted else 0) + labels + unknown)

    def merge(self, other: Profile) -> Profile:
        """The profile of both sets of rows together."""
        if not other.n:
            return self if self.n or not other.problem else other
        if not self.n:
            return other
        if self.d != other.d:  # a part that could not be read has d = 0 and says why
            sizes = f"feature vectors of size {self.d} and of size {other.d}"
            return Profile(
                n=self.n + other.n,
                problem=_first_problem(self.problem, other.problem) or (sizes, [], None),
            )
        left, right = self._comparable(other), other._comparable(self)
        out = Profile(
            **{
                name: rule.merged(getattr(left, name), getattr(right, name))
                for name, rule in RULES.items()
            }
        )
        small, large = sorted((self.declared_num_labels, other.declared_num_labels))
        if small and small != large:
            told = f"some rows have {small} labels, others {large}; give all rows one length"
            out.problem = out.problem or (told, [], None)
        if out.weight_exponent is not None and out.weight >= MOST:
            out.problem = out.problem or (TOO_FAR.format(2.0**out.weight_exponent), [], None)
        return out

    def _comparable(self, other: Profile) -> Profile:
        """The same facts with grades and weights where the other has some, in the finer unit."""
        out = replace(self)
        if other.weight_exponent is not None:
            if self.weight_exponent is None:  # each row has the weight 1
                out.weight_exponent, out.weight, out.heaviest = 0, self.n, 1
                out.weight_positive, out.weight_unknown, out.weight_unlabelled = (
                    self.positive,
                    self.unknown,
                    self.unlabelled,
                )
            out._use_unit(other.weight_exponent)
        if other.graded and not self.graded:
            out.graded, out.grade, out.weight_grade = (
                True,
                out.positive << BITS,
                out.weight_positive << BITS,
            )
            out.grade_low, out.grade_high = (
                np.full(self.q, ONE),
                np.where(self.positive > 0, ONE, 0),
            )
        return out

    def _use_unit(self, exponent: int) -> None:
        """Take weights in the finer unit 2^`exponent`; what is more than `MOST` is refused
        anyhow."""
        assert self.weight_exponent is not None
        shift = min(self.weight_exponent - exponent, 64)
        if shift > 0:
            self.weight_exponent = exponent
            for name, rule in RULES.items():
                if rule.in_units:
                    value = getattr(self, name)
                    setattr(
                        self,
                        name,
                        value << shift if rule.none is not None else min(value << shift, MOST),
                    )

    def with_labels(self, q: int) -> None:
        """The first of `q` labels are those there were; no row has the others."""
        for name, rule in RULES.items():
            if rule.none is not None and q > self.q:
                setattr(self, name, rule.padded(getattr(self, name), q))
        self.q = max(q, self.q)

    def without_weights_of_one(self) -> None:
        """Weights that are all 1 are none."""
        if self.weight_exponent == 0 and self.weight == self.n and self.heaviest == 1:
            self.weight_exponent = None

    def encode(self) -> bytearray:
        return encode({k: v for k, v in vars(self).items() if k != "varying"})

    @staticmethod
    def decode(data: Buffer) -> Profile:
        facts = decode(data)
        facts["problem"] = tuple(facts["problem"]) if facts["problem"] else None
        return Profile(**facts)


RULES: dict[str, MergeRule] = {each.name: each.metadata["rule"] for each in fields(Profile)}
Ranges = tuple[
    dict[str, Any], np.ndarray
]  # facts about the features of a block; (n,) features that are not zero in each row


def _ranges_of_sparse(x: sp.csr_matrix) -> Ranges:
    n, d = x.shape
    in_row = np.diff(x.indptr).astype(np.int64)
    if (
        x.dtype == np.uint8 and x.nnz and x.data.min() == 1 == x.data.max()
    ):  # the column of a one does not matter then
        counts = np.bincount(x.indices, minlength=d).astype(np.int64)
        low, high = (counts == n).astype(float), (counts > 0).astype(float)
        return {
            "low": low,
            "high": high,
            "binary": np.ones(d, bool),
            "nonzero": x.nnz,
            "stored": counts,
        }, in_row
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
    return {
        "low": low,
        "high": high,
        "binary": binary,
        "nonzero": nonzero,
        "stored": counts.astype(np.int64),
    }, in_row


def _ranges_of_dense(x: np.ndarray) -> Ranges:
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
    filled = x != 0
    nonzero = int(np.count_nonzero(filled))  # of numbers it takes thrice as long
    if nonzero < THIN * x.size:
        stored, in_row = filled.sum(axis=0), filled.sum(axis=1)
    else:  # counted exactly only where it can matter: dense rows are counted in full tables
        stored, in_row = np.full(d, n, np.int64), np.full(n, d, np.int64)
    return {
        "low": low,
        "high": high,
        "binary": binary,
        "nonzero": nonzero,
        "stored": stored,
    }, in_row


def profile_block(block: Block, width: int) -> Profile:
    """The profile of one block whose rows tell `width` labels (0: not told)."""
    features, in_row = _ranges_of_sparse(block.x) if block.sparse else _ranges_of_dense(block.x)
    labels, unlabelled, (of_unknown, unknown) = (
        np.diff(block.label_indptr),
        block.unlabelled_rows(),
        block.unknown_entries(),
    )
    unknown_labels = np.bincount(of_unknown, minlength=block.n)
    q = max(width, int(block.label_indices.max(initial=-1)) + 1)

    def by_label(entries: np.ndarray, amounts: np.ndarray | None = None) -> np.ndarray:
        return np.bincount(entries, amounts, minlength=q).astype(
            np.int64
        )  # amounts: whole numbers, together below 2⁵³

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
        declared_num_labels=width,
        **features,
    )
    if block.grades is not None and (block.grades != ONE).any():
        label, units = block.label_indices, block.grade_units()
        profile.graded, profile.grade = True, by_label(label, units)
        profile.grade_low, profile.grade_high = np.full(q, ONE), np.zeros(q, np.int64)
        np.minimum.at(profile.grade_low, label, units)
        np.maximum.at(profile.grade_high, label, units)
    if block.weights is not None:
        profile.weight_exponent = exponent = exponent_of(block.weights)
        with np.errstate(over="ignore"):
            profile.weight = int(min(np.ldexp(block.weights, -exponent).sum(), MOST))
        mass = (
            in_units(block.weights, exponent)
            if profile.weight < MOST
            else np.zeros(block.n, np.int64)
        )
        if profile.weight >= MOST:
            profile.problem = (TOO_FAR.format(2.0**exponent), [], None)
        profile.heaviest = int(mass.max(initial=0))
        of_entries = mass[block.label_rows()]
        profile.weight_positive = by_label(block.label_indices, of_entries)
        profile.weight_unknown = by_label(unknown, mass[of_unknown])
        profile.weight_unlabelled = int(mass[unlabelled].sum())
        if profile.graded:
            profile.weight_grade = np.zeros(q, np.int64)
            np.add.at(profile.weight_grade, block.label_indices, block.grade_units() * of_entries)
    return profile
