"""Informations and χ² of sparse features from the counts of their stored codes alone.

Of a label that meets no stored code of a feature only its count matters: such labels are summed
through a table over the distinct counts, and the pairs (feature, label) that meet are looked at one
by one. Symbols: n rows, p rows with the label, r rows of the feature with the code that is not
stored, T(c) = c log c."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy import ndarray

from ..lazy import cached_property
from .information import CELLS, CountLogs, difference, small_terms
from .matrix import sums_between

# the value of a label that meets no stored code, of r and p
Unstored = Callable[[ndarray, ndarray], ndarray]


@dataclass(frozen=True)
class Pairs:
    """The pairs (feature, group) that meet in a row.

    `feature` and `group` (p,), `edges` (width + 1,) the first pair of each feature; `summed` makes
    sums over the pairs of the cells' values."""

    feature: ndarray
    group: ndarray
    edges: ndarray
    summed: Callable[[ndarray], ndarray]


@dataclass(frozen=True)
class StoredCounts:
    """The counts of `width` features of which one code, the commonest by far, is not stored: its
    rows are those that no stored code has.

    `count` (c,) rows with a stored code and a group, `group` (c,) and `slot` (c,) which ones,
    ordered by slot; `feature` (s,) the feature 0..width-1 of each slot (feature and code),
    ascending, `rows` (s,) rows with the slot's code."""

    width: int
    count: ndarray
    group: ndarray
    slot: ndarray
    feature: ndarray
    rows: ndarray

    def by_feature(self, values: ndarray) -> ndarray:
        """Return (width,) int64 sums of the slots' values."""
        return sums_between(values, self._slots)

    def rows_unstored(self, n: int) -> ndarray:
        """Return (width,) r: of n rows those with the code that is not stored."""
        return n - self.by_feature(self.rows)

    @cached_property
    def _slots(self) -> ndarray:
        """(width + 1,) the first slot of each feature."""
        return self._first_of_each(self.feature)

    def _first_of_each(self, features: ndarray) -> ndarray:
        return np.searchsorted(features, np.arange(self.width + 1))

    @cached_property
    def _pairs(self) -> Pairs:
        feature = self.feature.take(self.slot)
        group = self.group
        # cells of features with several stored codes: a pair may have several of them
        shared = np.flatnonzero((np.diff(self._slots) > 1).take(feature))
        if not len(shared):
            return Pairs(feature, group, self._first_of_each(feature), lambda values: values)
        key = feature[shared] * (int(group.max()) + 1) + group[shared]
        order = np.argsort(key, kind="stable")
        key = key[order]
        order = shared[order]
        is_first = np.concatenate([[True], key[1:] != key[:-1]])
        starts = np.flatnonzero(is_first)
        # the pairs lie in order, each where one of its cells was
        places = shared[starts]
        is_pair = np.ones(len(feature), bool)
        is_pair[shared] = False
        is_pair[places] = True

        def summed(values: ndarray) -> ndarray:
            out = values.copy()
            out[places] = np.add.reduceat(values[order], starts)
            return out[is_pair]

        first_cells = order[starts]
        feature[places] = feature[first_cells]
        feature = feature[is_pair]
        group = group.copy()
        group[places] = group[first_cells]
        group = group[is_pair]
        return Pairs(feature, group, self._first_of_each(feature), summed)

    @property
    def edges(self) -> ndarray:
        """(width + 1,) the first pair of each feature."""
        return self._pairs.edges

    def pairs(self, *values: ndarray) -> tuple[ndarray, ...]:
        """Return feature and group of the pairs that meet, and the sums of the cells' values."""
        pairs = self._pairs
        return pairs.feature, pairs.group, *map(pairs.summed, values)

    def over_pairs(self, values: ndarray) -> ndarray:
        """Return (width,) sums of the pairs' values.

        They are exact of whole numbers, else in the order of the groups."""
        return sums_between(values, self.edges)


class LabelRows:
    """Rows of n with each label: `positive` (q,); as `distinct` numbers of `labels` labels each,
    label l's the `case[l]`-th."""

    def __init__(self, positive: ndarray, n: int) -> None:
        self.positive = np.asarray(positive, np.int64)
        self.n = n
        self.distinct, self.case, self.labels = np.unique(
            self.positive, return_inverse=True, return_counts=True
        )


@dataclass
class PairMoments:
    """Moments of `count` sparse features over groups: of the pairs (feature, group) that meet in a
    row, elsewhere they are 0.

    `feature` and `group` (p,) the pairs, in order; `total`, `square` (p,) their Σx and Σx²; `rows`
    of each group, and how many there are in all; `all_total`, `all_square` (count,) the same over
    all rows."""

    count: int
    rows: LabelRows
    feature: ndarray
    group: ndarray
    total: ndarray
    square: ndarray
    all_total: ndarray
    all_square: ndarray

    @cached_property
    def edges(self) -> ndarray:
        """(count + 1,) the first pair of each feature."""
        return np.searchsorted(self.feature, np.arange(self.count + 1))

    def over(self, values: ndarray) -> ndarray:
        """Return (count,) sums of the pairs' values, in the order of the groups."""
        return sums_between(values, self.edges)


# ---- sums over all labels ----


def summed_stored_information(
    logs: CountLogs,
    stored: StoredCounts,
    rows: LabelRows,
    clip: bool = True,
) -> ndarray:
    """Return `summed_label_information` from stored counts whose groups are the labels, to the bit.

    Without `clip` it is the sum as it is. Of a label that meets no stored code of f only its count
    matters, by g(r, p) = T(r − p) − T(r) − T(n − p) + T(n): a table over the distinct r and p. The
    stored cells correct it."""
    n = rows.n
    positive = rows.positive
    r_of_feature = stored.rows_unstored(n)
    clipped = logs.clip if clip else lambda value: value
    sums = unstored_sums(logs, r_of_feature, rows, clipped)
    in_code = stored.rows.take(stored.slot)
    cell_terms = logs(stored.count) + logs(in_code - stored.count)
    cell_terms = cell_terms - logs(stored.rows).take(stored.slot)
    f, label, joint, terms = stored.pairs(stored.count, cell_terms)
    p = positive.take(label)
    r = r_of_feature.take(f)
    missed = p - joint  # rows with the label that have the code that is not stored
    terms = terms + logs(missed) + logs(r - missed) - logs(positive).take(label)
    unstored = logs(np.maximum(r - p, 0))
    if not clip:  # most of the two values' terms are the same
        return sums + stored.over_pairs(terms - unstored)
    common = (logs(n) - logs(n - positive)).take(label) - logs(r_of_feature).take(f)
    if logs.chance:
        by_code = stored.by_feature(logs.chance.summed(stored.rows, positive, n))
        sums -= by_code + logs.chance.summed(r_of_feature, positive, n)
    return sums + stored.over_pairs(clipped(terms + common) - clipped(unstored + common))


def unstored_sums(
    logs: CountLogs,
    r_of_feature: ndarray,
    rows: LabelRows,
    clipped: Callable[[ndarray], ndarray],
) -> ndarray:
    """Return (F,) Σ_l g(r, p) of `summed_stored_information` over all labels, as `clipped`.

    `r_of_feature` (F,): rows with the code that is not stored."""
    distinct_r, case = np.unique(r_of_feature, return_inverse=True)
    of_label = logs(rows.n) - logs(rows.n - rows.distinct)
    table = np.empty(len(distinct_r), np.int64)
    step = max(1, CELLS // max(1, len(rows.distinct)))
    for first in range(0, len(distinct_r), step):
        r = distinct_r[first : first + step, None]
        # where p exceeds r the label meets a stored code, and the value cancels
        terms = logs(np.maximum(r - rows.distinct, 0)) - logs(r) + of_label
        table[first : first + step] = clipped(terms) @ rows.labels
    return table[case]


def stored_class_terms(logs: CountLogs, stored: StoredCounts, classes: ndarray) -> ndarray:
    """Return (F,) fixed-point n·I(f; class) from stored counts: `class_information`, to the bit.

    `classes` (m,): the rows of each class."""
    n = classes.sum()
    r = stored.rows_unstored(n)
    _, group, joint, terms = stored.pairs(stored.count, logs(stored.count))
    change = stored.over_pairs(terms + logs(classes[group] - joint) - logs(classes[group]))
    if logs.chance:
        change = change - stored.by_feature(logs.chance.summed(stored.rows, classes))
        change = change - logs.chance.summed(r, classes)
    return change - stored.by_feature(logs(stored.rows)) - logs(r) + logs(n)


def stored_label_sums(
    stored: StoredCounts,
    rows: LabelRows,
    pair_values: ndarray,
    unstored: Unstored,
) -> ndarray:
    """Return (F,) Σ_l of a value over all labels. Nothing is subtracted.

    `pair_values` of the pairs (feature, label) with a stored code, `unstored(r, p)` of the
    others."""
    f, label = stored.pairs()
    r = stored.rows_unstored(rows.n)
    out = stored.over_pairs(pair_values)

    def values(features: slice) -> ndarray:
        distinct_r, case = np.unique(r[features], return_inverse=True)
        if 2 * len(distinct_r) > len(case):
            return unstored(r[features, None], rows.distinct)
        return unstored(distinct_r[:, None], rows.distinct)[case]  # rare features share them

    add_unstored(
        out,
        rows,
        f,
        label,
        stored.edges,
        values,
    )
    return out


def add_unstored(
    out: ndarray,
    rows: LabelRows,
    feature: ndarray,
    label: ndarray,
    edges: ndarray,
    values: Callable[[slice], ndarray],
    selected: ndarray | slice = slice(None),
) -> None:
    """Add to each feature's sum in `out` (F,) the values of the labels in no pair with it.

    `values` (features, distinct) for a slice of the features; `feature` and `label` (p,) are the
    pairs, from `edges` (F + 1,) on each feature's; `selected` of the distinct numbers."""
    count = len(rows.distinct)
    step = max(1, CELLS // max(1, count))
    for first in range(0, len(out), step):
        last = min(len(out), first + step)
        pairs = slice(edges[first], edges[last])
        cell = (feature[pairs] - first) * count + rows.case[label[pairs]]
        joint = np.bincount(cell, minlength=(last - first) * count)
        unmet = (rows.labels - joint.reshape(last - first, count))[:, selected]
        terms = np.where(unmet > 0, unmet * values(slice(first, last)), 0.0)
        # a sum's bits go by the layout
        out[first:last] += np.ascontiguousarray(terms).sum(axis=1)


# ---- a value for each pair, and a function for the labels in none ----


def stored_label_information(
    logs: CountLogs, stored: StoredCounts, rows: LabelRows
) -> tuple[ndarray, Unstored]:
    """Return I(f; Y_l), in nats, of the pairs with a stored code, and of others by (r, p).

    They are as `stored_label_sums` takes them."""
    n = rows.n
    r_of_feature = stored.rows_unstored(n)
    in_code = stored.rows[stored.slot]
    cell_terms = logs(stored.count) + logs(in_code - stored.count) - logs(in_code)
    f, label, joint, terms = stored.pairs(stored.count, cell_terms)
    p = rows.positive[label]
    r = r_of_feature[f]
    missed = p - joint
    cells = terms + logs(missed) + logs(r - missed) - logs(r)
    exact = cells - logs(p) - logs(n - p) + logs(n)

    def unstored(r: ndarray, p: ndarray) -> ndarray:
        value = logs(np.maximum(r - p, 0)) - logs(r) - logs(n - p) + logs(n)
        return logs.nats(logs.clip(value), n)

    return logs.nats(logs.clip(exact), n), unstored


def small_stored_information(
    stored: StoredCounts, rows: LabelRows, correction: str = "none"
) -> tuple[ndarray, Unstored]:
    """Return `small_label_information` of the pairs with a stored code, and of others by (r, p)."""
    n = rows.n
    r_of_feature = stored.rows_unstored(n)
    cell = partial(small_terms, n)
    in_code = stored.rows[stored.slot]
    p = rows.positive[stored.group]
    terms = cell(stored.count, in_code, p) + cell(in_code - stored.count, in_code, n - p)
    codes = stored.by_feature((stored.rows > 0).astype(np.int64)) + (r_of_feature > 0)
    occupied = np.ones(len(in_code), np.int64) + (in_code > stored.count)
    f, label, joint, in_codes, values, occupied, codes_met = stored.pairs(
        stored.count,
        in_code,
        terms,
        occupied,
        np.ones_like(in_code),
    )
    p = rows.positive[label]
    r = r_of_feature[f]
    missed = p - joint
    others = n - r - in_codes  # rows of the stored codes that the label does not meet
    values = values + cell(missed, r, p) + cell(r - missed, r, n - p)
    values = values + cell(np.zeros_like(p), others, p)
    values = values + cell(others, others, n - p)
    if correction == "miller-madow":
        codes_unmet = codes[f] - (r > 0) - codes_met
        cells = occupied + (missed > 0) + (r > missed) + codes_unmet
        values = values + 0.5 * (codes[f] - 1 - (cells - (p > 0) - (p < n)))

    def unstored(r: ndarray, p: ndarray) -> ndarray:
        p = np.minimum(p, r)
        value = cell(p, r, p) + cell(r - p, r, n - p)
        value = value + cell(np.zeros_like(p), n - r, p)
        value = value + cell(n - r, n - r, n - p)
        if correction == "miller-madow":
            value = value + 0.5 * (1 - (r > p))
        return value / n

    return values / n, unstored


def stored_chi_square(stored: StoredCounts, rows: LabelRows) -> tuple[ndarray, Unstored]:
    """Return χ² of the pairs with a stored code, and of others by (r, p), as `chi_square`.

    With O of n_a rows of a code, χ² = n/(p(n − p)) Σ_a (O − n_a p/n)² n/n_a; labels with one value
    have none."""
    n = rows.n
    r_of_feature = stored.rows_unstored(n)

    def scaled(value: ndarray, p: ndarray) -> ndarray:
        both = p.astype(np.float64) * (n - p)
        return np.divide(value, both, out=np.zeros_like(value), where=both > 0)

    def term(count: ndarray, of_code: ndarray, p: ndarray) -> ndarray:
        excess = difference(n, count, of_code, p)
        return np.divide(excess**2, of_code, out=np.zeros_like(excess), where=of_code > 0)

    in_code = stored.rows[stored.slot]
    cell_terms = term(stored.count, in_code, rows.positive[stored.group])
    f, label, joint, in_codes, terms = stored.pairs(stored.count, in_code, cell_terms)
    p = rows.positive[label]
    r = r_of_feature[f]
    others = (n - r - in_codes).astype(np.float64)

    def unstored(r: ndarray, p: ndarray) -> ndarray:
        return scaled(term(p, r, p) + (n - r).astype(np.float64) * p * p, p)

    return scaled(terms + term(p - joint, r, p) + others * p * p, p), unstored


def largest_stored(
    stored: StoredCounts,
    rows: LabelRows,
    pair_values: ndarray,
    unstored: Unstored,
) -> ndarray:
    """Return (F,) the largest value over the labels.

    The value of a label without stored codes grows with its rows: of these labels the one of most
    rows will do."""
    f, label = stored.pairs()
    q = len(rows.positive)
    by_rows = np.argsort(-rows.positive, kind="stable")
    rank = np.empty(q, np.int64)
    rank[by_rows] = np.arange(q)
    order = np.lexsort((rank[label], f))
    edges = stored.edges
    # the rank of the first label, by its rows, that does not meet the feature: of the labels that
    # meet it in order, the first one whose rank is not its place
    missing = np.diff(edges).copy()
    place = np.arange(len(f)) - edges[f]
    np.minimum.at(missing, f[order], np.where(rank[label][order] != place, place, q))
    out = np.zeros(stored.width)
    np.maximum.at(out, f, pair_values)
    has_unstored = missing < q
    r = stored.rows_unstored(rows.n)[has_unstored]
    p = rows.positive[by_rows[missing[has_unstored]]]
    out[has_unstored] = np.maximum(out[has_unstored], unstored(r, p))
    return out


def stored_class_chi_square(stored: StoredCounts, classes: ndarray) -> ndarray:
    """Return `class_chi_square` from stored counts whose groups are the classes.

    `classes` (m,): the rows of each class."""
    n = int(classes.sum())
    r = classes.sum() - stored.by_feature(stored.rows)

    def term(count: ndarray, of_code: ndarray, of_class: ndarray) -> ndarray:
        expected = of_code.astype(np.float64) * of_class
        square = (n * count - expected) ** 2
        return np.divide(square, expected * n, out=np.zeros_like(expected), where=expected > 0)

    in_code = stored.rows[stored.slot]
    in_class = classes[stored.group]
    slots = len(stored.rows)
    of_slot = np.zeros(slots, np.int64)  # rows of the classes that the slot meets
    if len(in_class):
        of_slot = np.bincount(stored.slot, in_class, slots).astype(np.int64)
    f, group, joint, terms = stored.pairs(stored.count, term(stored.count, in_code, in_class))
    m = classes[group]
    out = stored.over_pairs(terms + term(m - joint, r[f], m))
    # of a stored code, each class it does not meet adds its expectation
    out += stored.by_feature(stored.rows * (n - of_slot)) / n
    # so do the classes that meet no stored code, of the code that is not stored
    unmet = (n - stored.over_pairs(m)).astype(np.float64)
    in_stored = (n - r).astype(np.float64)
    below = n * r.astype(np.float64)
    return out + np.divide(unmet * in_stored**2, below, out=np.zeros(stored.width), where=r > 0)
