"""Informations and χ² of sparse features from the counts of their stored codes alone.

Of a label that meets no stored code of a feature only its count matters: such labels are summed
through a table over the distinct counts, and the pairs (feature, label) that meet are looked at one
by one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

from ..lazy import cached_property
from .information import CELLS, CountLogs, difference, small_terms
from .matrix import sums_between

Unstored = Callable[
    [np.ndarray, np.ndarray], np.ndarray
]  # of rows a feature has left, and rows of a label


@dataclass(frozen=True)
class StoredCounts:
    """The counts of `width` features of which one code, the commonest by far, is not stored: its
    rows are the rest.

    `count` (c,) rows with a stored code and a group, `group` (c,) and `slot` (c,) which ones,
    ordered by slot; `feature` (s,) the feature 0..width-1 of each slot (feature and code),
    ascending, `rows` (s,) rows with the slot's code."""

    width: int
    count: np.ndarray
    group: np.ndarray
    slot: np.ndarray
    feature: np.ndarray
    rows: np.ndarray

    def by_feature(self, values: np.ndarray) -> np.ndarray:
        """(width,) int64 sums of the slots' values."""
        return sums_between(values, self._slots)

    @cached_property
    def _slots(self) -> np.ndarray:
        """(width + 1,) the first slot of each feature."""
        return np.searchsorted(self.feature, np.arange(self.width + 1))

    @cached_property
    def _pairs(
        self,
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, Callable[[np.ndarray], np.ndarray]]:
        """(feature, group, first pair of each feature, what makes sums over the pairs of the cells'
        values)."""
        of, group = self.feature.take(self.slot), self.group
        several = np.flatnonzero(
            (np.diff(self._slots) > 1).take(of)
        )  # cells of features with several stored codes
        if not len(several):
            return of, group, np.searchsorted(of, np.arange(self.width + 1)), lambda values: values
        key = of[several] * (int(group.max()) + 1) + group[several]
        order = np.argsort(key, kind="stable")
        key, order = key[order], several[order]
        starts = np.flatnonzero(np.concatenate([[True], key[1:] != key[:-1]]))
        places, kept = (
            several[starts],
            np.ones(len(of), bool),
        )  # the runs lie in order, each pair where one of its cells was
        kept[several] = False
        kept[places] = True

        def summed(values: np.ndarray) -> np.ndarray:
            out = values.copy()
            out[places] = np.add.reduceat(values[order], starts)
            return out[kept]

        of, group = of.copy(), group.copy()
        of[places], group[places] = of[order[starts]], group[order[starts]]
        of, group = of[kept], group[kept]
        return of, group, np.searchsorted(of, np.arange(self.width + 1)), summed

    def pairs(self, *values: np.ndarray) -> tuple[np.ndarray, ...]:
        """The pairs (feature, group) that have a stored code, and the sums of the cells' values
        over each."""
        of, group, _, summed = self._pairs
        return of, group, *map(summed, values)

    def over_pairs(self, values: np.ndarray) -> np.ndarray:
        """(width,) sums of the pairs' values: exact of whole numbers, else in the order of the
        groups."""
        return sums_between(values, self._pairs[2])


class LabelRows:
    """Rows of n with each label: `positive` (q,); as `distinct` numbers of `labels` labels each,
    label l's the `case[l]`-th."""

    def __init__(self, positive: np.ndarray, n: int) -> None:
        self.positive, self.n = np.asarray(positive, np.int64), n
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
    feature: np.ndarray
    group: np.ndarray
    total: np.ndarray
    square: np.ndarray
    all_total: np.ndarray
    all_square: np.ndarray

    @cached_property
    def edges(self) -> np.ndarray:
        """(count + 1,) the first pair of each feature."""
        return np.searchsorted(self.feature, np.arange(self.count + 1))

    def over(self, values: np.ndarray) -> np.ndarray:
        """(count,) sums of the pairs' values, in the order of the groups."""
        return sums_between(values, self.edges)


def summed_stored_information(
    logs: CountLogs, stored: StoredCounts, rows: LabelRows, clip: bool = True
) -> np.ndarray:
    """`summed_label_information` from stored counts whose groups are the labels, to the bit;
    without `clip` the sum as it is.

    Of a label that meets no stored code of f only its count matters, by g(r, p) = T(r − p) − T(r) −
    T(n − p) + T(n), r the rows with the code that is not stored, T(c) = c log c: a table over the
    distinct r and p. The stored cells correct it."""
    n, positive = rows.n, rows.positive
    rest = n - stored.by_feature(stored.rows)
    kept = logs.clip if clip else lambda value: value
    by_rest = unstored_sums(logs, rest, rows, kept)
    terms = (
        logs(stored.count)
        + logs(stored.rows.take(stored.slot) - stored.count)
        - logs(stored.rows).take(stored.slot)
    )
    f, label, met, terms = stored.pairs(stored.count, terms)
    p, r = positive.take(label), rest.take(f)
    left = p - met
    terms = terms + logs(left) + logs(r - left) - logs(positive).take(label)
    unstored = logs(np.maximum(r - p, 0))
    if not clip:  # most of the two values' terms are the same
        return by_rest + stored.over_pairs(terms - unstored)
    common = (logs(n) - logs(n - positive)).take(label) - logs(rest).take(f)
    if logs.chance:
        by_rest -= stored.by_feature(
            logs.chance.summed(stored.rows, positive, n)
        ) + logs.chance.summed(rest, positive, n)
    return by_rest + stored.over_pairs(kept(terms + common) - kept(unstored + common))


def unstored_sums(
    logs: CountLogs, rest: np.ndarray, rows: LabelRows, kept: Callable[[np.ndarray], np.ndarray]
) -> np.ndarray:
    """(F,) Σ_l g(r, p) of `summed_stored_information` over all labels, as `kept`, of features with
    `rest` (F,) rows r."""
    r, case = np.unique(rest, return_inverse=True)
    of_label, table = logs(rows.n) - logs(rows.n - rows.distinct), np.empty(len(r), np.int64)
    step = max(1, CELLS // max(1, len(rows.distinct)))
    for a in range(0, len(r), step):
        some = r[a : a + step, None]
        # where p exceeds r the label meets a stored code, and the value cancels
        table[a : a + step] = (
            kept(logs(np.maximum(some - rows.distinct, 0)) - logs(some) + of_label) @ rows.labels
        )
    return table[case]


def stored_class_terms(logs: CountLogs, stored: StoredCounts, classes: np.ndarray) -> np.ndarray:
    """(F,) fixed-point n·I(f; class) from stored counts of classes with `classes` (m,) rows:
    `class_information`, to the bit."""
    n, rest = classes.sum(), classes.sum() - stored.by_feature(stored.rows)
    _, group, met, terms = stored.pairs(stored.count, logs(stored.count))
    change = stored.over_pairs(terms + logs(classes[group] - met) - logs(classes[group]))
    if logs.chance:
        change = (
            change
            - stored.by_feature(logs.chance.summed(stored.rows, classes))
            - logs.chance.summed(rest, classes)
        )
    return change - stored.by_feature(logs(stored.rows)) - logs(rest) + logs(n)


def stored_label_sums(
    stored: StoredCounts,
    rows: LabelRows,
    pair_values: np.ndarray,
    unstored: Callable[[np.ndarray, np.ndarray], np.ndarray],
) -> np.ndarray:
    """(F,) Σ_l of a value over all labels: `pair_values` of the pairs (feature, label) with a stored
    code, `unstored(r, p)` of the others, by their rows p and the feature's rows r with the code
    that is not stored. Nothing is subtracted."""
    f, label = stored.pairs()
    rest = rows.n - stored.by_feature(stored.rows)
    out = stored.over_pairs(pair_values)
    add_unstored(
        out,
        rows,
        f,
        label,
        stored._pairs[2],
        lambda some: unstored(rest[some, None], rows.distinct),
    )
    return out


def add_unstored(
    out: np.ndarray,
    rows: LabelRows,
    feature: np.ndarray,
    label: np.ndarray,
    edges: np.ndarray,
    values: Callable[[slice], np.ndarray],
    kept: np.ndarray | slice = slice(None),
) -> None:
    """Add to each feature's sum in `out` (F,) the `values` (features, distinct), for a slice of
    them, of the labels in no pair with it; `feature` and `label` (p,) are the pairs, from `edges`
    (F + 1,) on each feature's; `kept` of the distinct numbers."""
    count = len(rows.distinct)
    step = max(1, CELLS // max(1, count))
    for a in range(0, len(out), step):
        z = min(len(out), a + step)
        pairs = slice(edges[a], edges[z])
        met = np.bincount(
            (feature[pairs] - a) * count + rows.case[label[pairs]], minlength=(z - a) * count
        )
        left = (rows.labels - met.reshape(z - a, count))[:, kept]
        # a sum's bits go by the layout
        out[a:z] += np.ascontiguousarray(np.where(left > 0, left * values(slice(a, z)), 0.0)).sum(
            axis=1
        )


def stored_label_information(
    logs: CountLogs, stored: StoredCounts, rows: LabelRows
) -> tuple[np.ndarray, Unstored]:
    """I(f; Y_l), in nats, of the pairs (feature, label) with a stored code, and of others by (r,
    p): see `stored_label_sums`."""
    n, rest = rows.n, rows.n - stored.by_feature(stored.rows)
    code = stored.rows[stored.slot]
    f, label, met, terms = stored.pairs(
        stored.count, logs(stored.count) + logs(code - stored.count) - logs(code)
    )
    p, r = rows.positive[label], rest[f]
    left = p - met
    exact = terms + logs(left) + logs(r - left) - logs(r) - logs(p) - logs(n - p) + logs(n)

    def unstored(r: np.ndarray, p: np.ndarray) -> np.ndarray:
        value = logs(np.maximum(r - p, 0)) - logs(r) - logs(n - p) + logs(n)
        return logs.nats(logs.clip(value), n)

    return logs.nats(logs.clip(exact), n), unstored


def small_stored_information(
    stored: StoredCounts, rows: LabelRows, correction: str = "none"
) -> tuple[np.ndarray, Unstored]:
    """`small_label_information` of the pairs (feature, label) with a stored code, and of the others
    by (r, p)."""
    n, rest = rows.n, rows.n - stored.by_feature(stored.rows)
    cell = partial(small_terms, n)
    code, p = stored.rows[stored.slot], rows.positive[stored.group]
    terms = cell(stored.count, code, p) + cell(code - stored.count, code, n - p)
    codes = stored.by_feature((stored.rows > 0).astype(np.int64)) + (rest > 0)
    occupied = np.ones(len(code), np.int64) + (code > stored.count)
    f, label, met, of_codes, pair_values, occupied, seen = stored.pairs(
        stored.count, code, terms, occupied, np.ones_like(code)
    )
    p, r = rows.positive[label], rest[f]
    left, others = (
        p - met,
        n - r - of_codes,
    )  # rows of the stored codes that the label does not meet
    pair_values = (
        pair_values
        + cell(left, r, p)
        + cell(r - left, r, n - p)
        + cell(np.zeros_like(p), others, p)
    )
    pair_values = pair_values + cell(others, others, n - p)
    if correction == "miller-madow":
        cells = occupied + (left > 0) + (r > left) + (codes[f] - (r > 0) - seen)
        pair_values = pair_values + 0.5 * (codes[f] - 1 - (cells - (p > 0) - (p < n)))

    def unstored(r: np.ndarray, p: np.ndarray) -> np.ndarray:
        p = np.minimum(p, r)
        value = (
            cell(p, r, p)
            + cell(r - p, r, n - p)
            + cell(np.zeros_like(p), n - r, p)
            + cell(n - r, n - r, n - p)
        )
        if correction == "miller-madow":
            value = value + 0.5 * (1 - (r > p))
        return value / n

    return pair_values / n, unstored


def stored_chi_square(stored: StoredCounts, rows: LabelRows) -> tuple[np.ndarray, Unstored]:
    """χ² of the pairs (feature, label) with a stored code, and of the others by (r, p), as
    `chi_square`: with O of n_a rows of a code, χ² = n/(p(n − p)) Σ_a (O − n_a p/n)² n/n_a; labels
    with one value have none."""
    n, rest = rows.n, rows.n - stored.by_feature(stored.rows)

    def scaled(value: np.ndarray, p: np.ndarray) -> np.ndarray:
        both = p.astype(np.float64) * (n - p)
        return np.divide(value, both, out=np.zeros_like(value), where=both > 0)

    def term(count: np.ndarray, of_code: np.ndarray, p: np.ndarray) -> np.ndarray:
        excess = difference(n, count, of_code, p)
        return np.divide(excess**2, of_code, out=np.zeros_like(excess), where=of_code > 0)

    code = stored.rows[stored.slot]
    f, label, met, of_codes, cells = stored.pairs(
        stored.count, code, term(stored.count, code, rows.positive[stored.group])
    )
    p, r = rows.positive[label], rest[f]
    others = (n - r - of_codes).astype(np.float64)

    def unstored(r: np.ndarray, p: np.ndarray) -> np.ndarray:
        return scaled(term(p, r, p) + (n - r).astype(np.float64) * p * p, p)

    return scaled(cells + term(p - met, r, p) + others * p * p, p), unstored


def largest_stored(
    stored: StoredCounts, rows: LabelRows, pair_values: np.ndarray, unstored: Unstored
) -> np.ndarray:
    """(F,) the largest value over the labels, where that of a label without stored codes grows with
    its rows."""
    f, label = stored.pairs()
    rank = np.empty(len(rows.positive), np.int64)
    by_rows = np.argsort(-rows.positive, kind="stable")
    rank[by_rows] = np.arange(len(by_rows))
    order = np.lexsort((rank[label], f))
    edges = stored._pairs[2]
    missing = np.diff(edges).copy()  # the first label, by its rows, that does not meet the feature
    place = np.arange(len(f)) - edges[f]
    np.minimum.at(missing, f[order], np.where(rank[label][order] != place, place, len(rank)))
    out = np.zeros(stored.width)
    np.maximum.at(out, f, pair_values)
    some = missing < len(rank)
    rest = rows.n - stored.by_feature(stored.rows)
    out[some] = np.maximum(out[some], unstored(rest[some], rows.positive[by_rows[missing[some]]]))
    return out


def stored_class_chi_square(stored: StoredCounts, classes: np.ndarray) -> np.ndarray:
    """`class_chi_square` from stored counts whose groups are the classes, with `classes` (m,)
    rows."""
    n, rest = int(classes.sum()), classes.sum() - stored.by_feature(stored.rows)

    def term(count: np.ndarray, of_code: np.ndarray, of_class: np.ndarray) -> np.ndarray:
        expected = of_code.astype(np.float64) * of_class
        return np.divide(
            (n * count - expected) ** 2,
            expected * n,
            out=np.zeros_like(expected),
            where=expected > 0,
        )

    code, m = stored.rows[stored.slot], classes[stored.group]
    # of a stored code, each class it does not meet adds its expectation
    of_slot = (
        np.bincount(stored.slot, m, len(stored.rows)).astype(np.int64)
        if len(m)
        else np.zeros(len(stored.rows), np.int64)
    )
    f, group, met, cells = stored.pairs(stored.count, term(stored.count, code, m))
    m = classes[group]
    out = stored.over_pairs(cells + term(m - met, rest[f], m))
    out += stored.by_feature(stored.rows * (n - of_slot)) / n
    away = (n - stored.over_pairs(m)).astype(np.float64)  # rows of classes that meet no stored code
    gone = (n - rest).astype(np.float64)
    return out + np.divide(
        away * gone**2, n * rest.astype(np.float64), out=np.zeros(stored.width), where=rest > 0
    )
