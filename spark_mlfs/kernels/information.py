"""Entropies, informations and χ² from integer counts, exact under any order of addition.

n·H(X) = n log n − Σ c log c over the cells' counts c. Every c log c is rounded once to a multiple
of 2^−s and kept as an int64, so sums of them are exact: the same counts give the same bits whatever
the partitioning, and permuted cells (a column and its complement) tie exactly. The error of an
information is below 1e-12 nats. The Miller–Madow correction, (cells − 1)/2n per entropy, is ½ less
per occupied cell, that is another table of c log c.

Arrays of counts have the axes (feature, its code, …, group); groups are class 0 = all rows, then
one per label (binary relevance), or one per labelset (label powerset). "chance" takes from an
information between two of these what it is by chance (`kernels.chance`), and is for these alone: no
information given a third variable is corrected so."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from ..lazy import cached_property
from .chance import Chance
from .matrix import sums_between

Unstored = Callable[
    [np.ndarray, np.ndarray], np.ndarray
]  # of rows a feature has left, and rows of a label

TABLE_ROWS = 1 << 22  # up to so many rows c log c comes from a table
CELLS = (
    1 << 16
)  # counts that are looked at together, so that what is made of them stays in the cache


class CountLogs:
    """c log c in fixed point for counts up to n, as fine as float64 tells it, where informations
    n·I of `terms`/8 labels add up within 62 bits. Sums on the way there may overflow: they wrap
    around, and the differences that matter are exact."""

    def __init__(self, n: int, terms: int, correction: str = "none") -> None:
        bits = math.ceil(math.log2(max(2.0, n * math.log(max(n, 2)))))
        self.shift = min(
            52 - bits, 61 - max(bits, math.ceil(math.log2(max(n, 2) * max(terms / 8, 2))))
        )
        self.scale = 2.0**self.shift
        self.half = 0.5 if correction == "miller-madow" else 0.0
        self.n, self.corrected = n, correction != "none"
        self.key = n, self.shift, correction
        self.chance = Chance(self.scale) if correction == "chance" else None

    @cached_property
    def _table(self) -> np.ndarray | None:
        return self._compute(np.arange(self.n + 1)) if self.n <= TABLE_ROWS else None

    def __getstate__(self) -> dict[str, Any]:
        return {
            name: value for name, value in vars(self).items() if name != "_table"
        }  # made again where it is needed

    def _compute(self, counts: np.ndarray) -> np.ndarray:
        # the C library's logarithm in extended precision: NumPy's own differs in the last bit
        # between its versions and processors
        c = counts.astype(np.longdouble)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(c > 0, c * np.log(c) - self.half, 0)
        return np.rint(value * self.scale).astype(np.int64)

    def __call__(self, counts: np.ndarray | int) -> np.ndarray:
        if self._table is not None:
            return self._table.take(counts)  # quicker than by index
        return self._compute(np.asarray(counts))

    def clip(self, value: np.ndarray) -> np.ndarray:
        """Fixed-point n·I that rounding took below 0 as 0; corrected estimates may be negative and
        stay."""
        return value if self.corrected else np.maximum(value, 0)

    def nats(self, value: np.ndarray | int, n: np.ndarray | int | None = None) -> np.ndarray:
        """A fixed-point n·I as I, in nats."""
        return np.asarray(value) / self.scale / (self.n if n is None else np.maximum(n, 1))


def difference(
    n: np.ndarray | int, count: np.ndarray, row: np.ndarray, column: np.ndarray
) -> np.ndarray:
    """n·count − row·column of whole numbers in float64: in int64 while n is below 2³¹, else by
    products of two words (Dekker)."""
    if np.max(n, initial=0) < 1 << 31:
        return (n * count - row * column).astype(np.float64)
    one, two = (
        _product(np.asarray(a, np.float64), np.asarray(b, np.float64))
        for a, b in ((n, count), (row, column))
    )
    return (one[0] - two[0]) + (one[1] - two[1])


def _product(a: np.ndarray, b: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """a·b as the nearest float64 and the rest, exact."""

    def halves(x: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        wide = 134217729.0 * x  # 2²⁷ + 1
        upper = wide - (wide - x)
        return upper, x - upper

    product = a * b
    (a1, a0), (b1, b0) = halves(a), halves(b)
    return product, ((a1 * b1 - product) + a1 * b0 + a0 * b1) + a0 * b0


def entropy(logs: CountLogs, counts: np.ndarray) -> np.ndarray:
    """H over the last axis of `counts`, in nats."""
    total = counts.sum(axis=-1)
    return logs.nats(logs(total) - logs(counts).sum(axis=-1), total)


def label_information(
    logs: CountLogs, counts: np.ndarray, q: int, unknown: np.ndarray | None = None
) -> np.ndarray:
    """I(f; Y_l) for every feature and label, (F, q) nats.

    `counts` (F, b, 1 + q): rows with code v, and those of them with label l; `unknown` (F, b, q)
    rows with code v whose label l is unknown: they are left out of that label's estimate."""
    terms, n = _label_terms(logs, counts, q, unknown)
    return logs.nats(terms - logs.chance.by_label(counts, q, unknown) if logs.chance else terms, n)


def summed_label_information(logs: CountLogs, counts: np.ndarray, q: int) -> np.ndarray:
    """Σ_l n·I(f; Y_l), (F,) fixed point, where every label is known: an exact sum, of values
    clipped at 0 where they are plug-in estimates. `counts` as in `label_information`."""
    terms: np.ndarray = logs.clip(_label_terms(logs, counts, q, None)[0]).sum(axis=1)
    if logs.chance and len(counts):
        terms -= logs.chance.summed(
            counts[:, :, 0], counts[0, :, 1 : 1 + q].sum(axis=0), counts[0, :, 0].sum()
        ).sum(axis=1)
    return terms


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
    cell = partial(_small_terms, n)
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


def _label_terms(
    logs: CountLogs, counts: np.ndarray, q: int, unknown: np.ndarray | None
) -> tuple[np.ndarray, np.ndarray]:
    """(F, q) fixed-point n·I(f; Y_l), and n."""
    everything, positive = counts[:, :, :1], counts[:, :, 1 : 1 + q]
    observed = everything if unknown is None else everything - unknown
    cells = (logs(positive) + logs(observed - positive)).sum(axis=1)
    n, n_l = observed.sum(axis=1), positive.sum(axis=1)
    return cells - logs(observed).sum(axis=1) - logs(n_l) - logs(n - n_l) + logs(n), n


def small_label_information(
    counts: np.ndarray, q: int, unknown: np.ndarray | None = None, correction: str = "none"
) -> np.ndarray:
    """As `label_information`, to full *relative* precision however small: for products, where the
    smallest information counts.

    n·I = Σ_cells e·g((c − e)/e) with c the count, e = row·column/n and g(t) = (1 + t)·log(1 + t) −
    t ≥ 0: nothing cancels."""
    everything, positive = counts[:, :, :1], counts[:, :, 1 : 1 + q]
    observed = (
        np.broadcast_to(everything, positive.shape) if unknown is None else everything - unknown
    )
    n = np.maximum(observed.sum(axis=1, keepdims=True), 1)
    total, occupied = 0.0, 0
    for cells in (positive, observed - positive):
        share = cells.sum(axis=1, keepdims=True)
        total = total + _small_terms(n, cells, observed, share).sum(axis=1)
        occupied = occupied + (cells > 0).sum(axis=1) - (share[:, 0] > 0)
    if correction == "miller-madow":
        total = total + 0.5 * ((observed > 0).sum(axis=1) - 1 - occupied + 0.0)
    return total / n[:, 0]


def _small_terms(
    n: np.ndarray | int, count: np.ndarray, row: np.ndarray, column: np.ndarray
) -> np.ndarray:
    """e·g((c − e)/e) of cells of `count` c, e = row·column/n."""
    excess, expected = difference(n, count, row, column), row.astype(np.float64) * column
    t = np.divide(excess, expected, out=np.zeros_like(expected), where=expected > 0)
    return expected / n * _excess_entropy(t)


def _excess_entropy(t: np.ndarray) -> np.ndarray:
    """(1 + t)·log(1 + t) − t for t ≥ −1, without cancellation near 0: there by its series Σ_{k ≥ 2}
    (−t)^k / (k(k − 1))."""
    near = np.abs(t) < 0.05
    s = np.where(near, t, 0.0)
    series = np.zeros_like(s)
    for k in range(13, 1, -1):
        series = series * -s + 1.0 / (k * (k - 1))
    far = np.where(near, 0.0, t)
    with np.errstate(divide="ignore", invalid="ignore"):
        direct = np.where(far > -1, (1 + far) * np.log1p(far), 0.0) - far
    return np.where(near, s * s * series, direct)


def class_information(logs: CountLogs, counts: np.ndarray) -> np.ndarray:
    """I(f; class), (F,) nats, from `counts` (F, b, classes): label powerset; or I(f; s) from those
    of the codes of s."""
    of_code, n = counts.sum(axis=2), counts.sum(axis=(1, 2))
    value = (
        logs(counts).sum(axis=(1, 2))
        - logs(of_code).sum(axis=1)
        - logs(counts.sum(axis=1)).sum(axis=1)
        + logs(n)
    )
    if logs.chance and len(counts):
        value -= logs.chance.summed(of_code, counts[0].sum(axis=0)).sum(axis=1)
    return logs.nats(value, n)


def conditional_label_information(
    logs: CountLogs,
    counts: np.ndarray,
    q: int,
    unknown: np.ndarray | None,
    weights: np.ndarray | None,
    joint: bool,
) -> np.ndarray:
    """(F,) nats Σ_l w_l I(f; Y_l | s), with `joint` I((f, s); Y_l), from `counts` (F, b, w, 1 + q);
    w_l 1 or `weights`."""

    def by_s(each: np.ndarray) -> np.ndarray:
        return each.sum(axis=(1, 2), keepdims=True)[:, 0] if joint else each.sum(axis=1)

    everything, positive = counts[..., :1], counts[..., 1 : 1 + q]
    if unknown is None and weights is None:
        cells = (logs(positive) + logs(everything - positive)).sum(axis=(1, 2, 3))
        per_s = by_s(counts)  # (F, w, 1 + q)
        s_all, s_positive = per_s[..., :1], per_s[..., 1 : 1 + q]
        labels = (logs(s_positive) + logs(s_all - s_positive)).sum(axis=(1, 2))
        rest = logs(s_all).sum(axis=(1, 2)) - logs(everything).sum(axis=(1, 2, 3))
        return logs.nats(cells - labels + q * rest)
    observed = everything if unknown is None else everything - unknown
    cells = (logs(positive) + logs(observed - positive) - logs(observed)).sum(axis=(1, 2))
    s_observed, s_positive = by_s(observed), by_s(positive)
    labels = (logs(s_positive) + logs(s_observed - s_positive) - logs(s_observed)).sum(axis=1)
    each = logs.nats(cells - labels, observed.sum(axis=(1, 2)))
    return (each if weights is None else each * weights).sum(axis=-1)


def conditional_class_information(logs: CountLogs, counts: np.ndarray) -> np.ndarray:
    """I(f; class | s), (F,) nats, from `counts` (F, b, w, classes)."""
    per_s = counts.sum(axis=1)
    value = logs(counts).sum(axis=(1, 2, 3)) - logs(per_s).sum(axis=(1, 2))
    value += logs(per_s.sum(axis=2)).sum(axis=1) - logs(counts.sum(axis=3)).sum(axis=(1, 2))
    return logs.nats(value, per_s.sum(axis=(1, 2)))


def label_pair_information(
    logs: CountLogs, both: np.ndarray, first: np.ndarray, second: np.ndarray, every: np.ndarray
) -> np.ndarray:
    """I(f; Y_a | Y_b), (F, pairs) nats.

    `both` (F, b, pairs) rows with code v and both labels of a pair, `first` and `second` (F, b,
    pairs) with the one and the other, `every` (F, b, 1) or (F, b, pairs) all rows (in which both
    labels are known)."""

    def joint(
        both: np.ndarray, first: np.ndarray, second: np.ndarray, every: np.ndarray
    ) -> np.ndarray:
        """Fixed-point −n·H(Y_a | Y_b), of rows with each code or of all."""
        pairs = (
            logs(both)
            + logs(first - both)
            + logs(second - both)
            + logs(every - first - second + both)
        )
        return pairs - logs(second) - logs(every - second)

    n_both, n_first, n_second, n = both.sum(1), first.sum(1), second.sum(1), every.sum(1)
    return logs.nats(
        joint(both, first, second, every).sum(axis=1) - joint(n_both, n_first, n_second, n), n
    )


def chi_square(counts: np.ndarray, q: int, unknown: np.ndarray | None = None) -> np.ndarray:
    """χ² of feature code against each label, (F, q), from `counts` (F, b, 1 + q); cells with
    expectation 0 are skipped."""
    everything, positive = counts[:, :, :1].astype(float), counts[:, :, 1 : 1 + q].astype(float)
    observed = everything if unknown is None else everything - unknown
    return _chi(positive, observed) + _chi(observed - positive, observed)


def class_chi_square(counts: np.ndarray) -> np.ndarray:
    """χ² of feature code against the class, (F,), from `counts` (F, b, classes)."""
    observed = counts.sum(axis=2, keepdims=True).astype(float)
    return _chi(counts.astype(float), observed).sum(axis=1)


def _chi(cells: np.ndarray, observed: np.ndarray) -> np.ndarray:
    share = cells.sum(axis=1, keepdims=True) / np.maximum(observed.sum(axis=1, keepdims=True), 1)
    expected = observed * share
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(expected > 0, (cells - expected) ** 2 / expected, 0.0)
    return parts.sum(axis=1)
