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
from typing import Any

import numpy as np
from numpy import ndarray

from ..lazy import cached_property
from .chance import Chance

TABLE_ROWS = 1 << 22  # up to so many rows c log c comes from a table
# counts that are looked at together, so that what is made of them stays in the cache
CELLS = 1 << 16


class CountLogs:
    """c log c in fixed point for counts up to n.

    It is as fine as float64 has it, where informations n·I of `terms`/8 labels add up within 62
    bits. Sums on the way there may overflow: they wrap around, and the differences that matter are
    exact."""

    def __init__(self, n: int, terms: int, correction: str = "none") -> None:
        bits = math.ceil(math.log2(max(2.0, n * math.log(max(n, 2)))))
        bits_of_sum = math.ceil(math.log2(max(n, 2) * max(terms / 8, 2)))
        self.shift = min(52 - bits, 61 - max(bits, bits_of_sum))
        self.scale = 2.0**self.shift
        self.half = 0.5 if correction == "miller-madow" else 0.0
        self.n = n
        self.corrected = correction != "none"
        self.key = n, self.shift, correction
        self.chance = Chance(self.scale) if correction == "chance" else None

    @cached_property
    def _table(self) -> ndarray | None:
        if self.n > TABLE_ROWS:
            return None
        table = np.empty(self.n + 1, np.int64)
        for first in range(0, len(table), CELLS):  # of each, some extended numbers at once
            counts = np.arange(first, min(first + CELLS, len(table)))
            table[first : first + CELLS] = self._compute(counts)
        return table

    def __getstate__(self) -> dict[str, Any]:
        # the table is computed again where it is needed
        return {name: value for name, value in vars(self).items() if name != "_table"}

    def _compute(self, counts: ndarray) -> ndarray:
        # the C library's logarithm in extended precision: NumPy's own differs in the last bit
        # between its versions and processors
        c = counts.astype(np.longdouble)
        with np.errstate(divide="ignore", invalid="ignore"):
            value = np.where(c > 0, c * np.log(c) - self.half, 0)
        return np.rint(value * self.scale).astype(np.int64)

    def __call__(self, counts: ndarray | int) -> ndarray:
        if self._table is not None:
            return self._table.take(counts)  # quicker than by index
        return self._compute(np.asarray(counts))

    def clip(self, value: ndarray) -> ndarray:
        """Return fixed-point n·I that rounding took below 0 as 0.

        Corrected estimates may be negative and stay."""
        return value if self.corrected else np.maximum(value, 0)

    def nats(self, value: ndarray | int, n: ndarray | int | None = None) -> ndarray:
        """Return a fixed-point n·I as I, in nats."""
        return np.asarray(value) / self.scale / (self.n if n is None else np.maximum(n, 1))


def entropy(logs: CountLogs, counts: ndarray) -> ndarray:
    """Return H over the last axis of `counts`, in nats."""
    total = counts.sum(axis=-1)
    return logs.nats(logs(total) - logs(counts).sum(axis=-1), total)


def _observed(counts: ndarray, q: int, unknown: ndarray | None) -> tuple[ndarray, ndarray]:
    """Return the rows with each label (…, q), and those in which it is known.

    They are (…, 1) where all labels are."""
    everything = counts[..., :1]
    positive = counts[..., 1 : 1 + q]
    return positive, everything if unknown is None else everything - unknown


# ---- features and labels ----


def label_information(
    logs: CountLogs,
    counts: ndarray,
    q: int,
    unknown: ndarray | None = None,
) -> ndarray:
    """Return I(f; Y_l) for every feature and label, (F, q) nats.

    `counts` (F, b, 1 + q): rows with code v, and those of them with label l; `unknown` (F, b, q)
    rows with code v whose label l is unknown: they are left out of that label's estimate."""
    terms, n = _label_terms(logs, counts, q, unknown)
    if logs.chance:
        terms = terms - logs.chance.by_label(counts, q, unknown)
    return logs.nats(terms, n)


def summed_label_information(logs: CountLogs, counts: ndarray, q: int) -> ndarray:
    """Return Σ_l n·I(f; Y_l), (F,) fixed point, where every label is known.

    It is an exact sum, of values clipped at 0 where they are plug-in estimates. `counts` as in
    `label_information`."""
    terms, _ = _label_terms(logs, counts, q, None)
    sums: ndarray = logs.clip(terms).sum(axis=1)
    if logs.chance and len(counts):
        of_code = counts[:, :, 0]
        of_label = counts[0, :, 1 : 1 + q].sum(axis=0)
        sums -= logs.chance.summed(of_code, of_label, counts[0, :, 0].sum()).sum(axis=1)
    return sums


def _label_terms(
    logs: CountLogs,
    counts: ndarray,
    q: int,
    unknown: ndarray | None,
) -> tuple[ndarray, ndarray]:
    """Return (F, q) fixed-point n·I(f; Y_l), and n."""
    positive, observed = _observed(counts, q, unknown)
    cells = (logs(positive) + logs(observed - positive)).sum(axis=1)
    n = observed.sum(axis=1)
    n_l = positive.sum(axis=1)
    terms = cells - logs(observed).sum(axis=1)
    return terms - logs(n_l) - logs(n - n_l) + logs(n), n


def class_information(logs: CountLogs, counts: ndarray) -> ndarray:
    """Return I(f; class), (F,) nats, from `counts` (F, b, classes): label powerset.

    Or I(f; s) from those of the codes of s."""
    of_code = counts.sum(axis=2)
    of_class = counts.sum(axis=1)
    n = counts.sum(axis=(1, 2))
    margins = logs(of_code).sum(axis=1)
    value = logs(counts).sum(axis=(1, 2)) - margins - logs(of_class).sum(axis=1) + logs(n)
    if logs.chance and len(counts):
        value -= logs.chance.summed(of_code, counts[0].sum(axis=0)).sum(axis=1)
    return logs.nats(value, n)


# ---- given a third variable ----


def conditional_label_information(
    logs: CountLogs,
    counts: ndarray,
    q: int,
    unknown: ndarray | None,
    weights: ndarray | None,
    joint: bool,
) -> ndarray:
    """Return (F,) nats Σ_l w_l I(f; Y_l | s), with `joint` I((f, s); Y_l).

    `counts` (F, b, w, 1 + q); w_l 1 or `weights`."""

    def margins(cells: ndarray) -> ndarray:
        """Return (F, w, …) the cells over the codes of f, or (F, 1, …) also over those of s."""
        return cells.sum(axis=(1, 2), keepdims=True)[:, 0] if joint else cells.sum(axis=1)

    positive, observed = _observed(counts, q, unknown)
    if unknown is None and weights is None:  # what all labels share is computed once
        everything = observed
        cells = (logs(positive) + logs(everything - positive)).sum(axis=(1, 2, 3))
        of_s = margins(counts)
        s_positive, s_all = _observed(of_s, q, None)
        labels = (logs(s_positive) + logs(s_all - s_positive)).sum(axis=(1, 2))
        of_rows = logs(s_all).sum(axis=(1, 2)) - logs(everything).sum(axis=(1, 2, 3))
        return logs.nats(cells - labels + q * of_rows)
    cells = (logs(positive) + logs(observed - positive) - logs(observed)).sum(axis=(1, 2))
    s_observed = margins(observed)
    s_positive = margins(positive)
    labels = (logs(s_positive) + logs(s_observed - s_positive) - logs(s_observed)).sum(axis=1)
    by_label = logs.nats(cells - labels, observed.sum(axis=(1, 2)))
    if weights is not None:
        by_label = by_label * weights
    return by_label.sum(axis=-1)


def conditional_class_information(logs: CountLogs, counts: ndarray) -> ndarray:
    """Return I(f; class | s), (F,) nats, from `counts` (F, b, w, classes)."""
    of_s = counts.sum(axis=1)
    value = logs(counts).sum(axis=(1, 2, 3)) - logs(of_s).sum(axis=(1, 2))
    value += logs(of_s.sum(axis=2)).sum(axis=1)
    value -= logs(counts.sum(axis=3)).sum(axis=(1, 2))
    return logs.nats(value, of_s.sum(axis=(1, 2)))


def label_pair_information(
    logs: CountLogs,
    both: ndarray,
    first: ndarray,
    second: ndarray,
    rows: ndarray,
) -> ndarray:
    """Return I(f; Y_a | Y_b), (F, pairs) nats.

    `both` (F, b, pairs) rows with code v and both labels of a pair, `first` and `second` (F, b,
    pairs) with the one and the other, `rows` (F, b, 1) or (F, b, pairs) all rows (in which both
    labels are known)."""
    n = rows.sum(1)
    by_code = _conditional_entropy(
        logs,
        both,
        first,
        second,
        rows,
    ).sum(axis=1)
    of_all = _conditional_entropy(
        logs,
        both.sum(1),
        first.sum(1),
        second.sum(1),
        n,
    )
    return logs.nats(by_code - of_all, n)


def _conditional_entropy(
    logs: CountLogs,
    both: ndarray,
    first: ndarray,
    second: ndarray,
    rows: ndarray,
) -> ndarray:
    """Return fixed-point −n·H(Y_a | Y_b), of rows with each code or of all."""
    neither = rows - first - second + both
    pairs = logs(both) + logs(first - both) + logs(second - both) + logs(neither)
    return pairs - logs(second) - logs(rows - second)


# ---- to full relative precision ----


def small_label_information(
    counts: ndarray,
    q: int,
    unknown: ndarray | None = None,
    correction: str = "none",
) -> ndarray:
    """Return `label_information`, to full *relative* precision however small.

    It is for products, where the smallest information counts. n·I = Σ_cells e·g((c − e)/e) with c
    the count, e = row·column/n and g(t) = (1 + t)·log(1 + t) − t ≥ 0: nothing cancels."""
    positive, observed = _observed(counts, q, unknown)
    if unknown is None:
        observed = np.broadcast_to(observed, positive.shape)
    n = np.maximum(observed.sum(axis=1, keepdims=True), 1)
    total, occupied = 0.0, 0
    for cells in (positive, observed - positive):
        share = cells.sum(axis=1, keepdims=True)
        total = total + small_terms(n, cells, observed, share).sum(axis=1)
        occupied = occupied + (cells > 0).sum(axis=1) - (share[:, 0] > 0)
    if correction == "miller-madow":
        codes = (observed > 0).sum(axis=1)
        total = total + 0.5 * (codes - 1 - occupied + 0.0)
    return total / n[:, 0]


def small_terms(
    n: ndarray | int,
    count: ndarray,
    row: ndarray,
    column: ndarray,
) -> ndarray:
    """Return e·g((c − e)/e) of cells of `count` c, e = row·column/n."""
    excess = difference(n, count, row, column)
    expected = row.astype(np.float64) * column
    t = np.divide(excess, expected, out=np.zeros_like(expected), where=expected > 0)
    return expected / n * _excess_entropy(t)


def _excess_entropy(t: ndarray) -> ndarray:
    """Return g(t) = (1 + t)·log(1 + t) − t for t ≥ −1, without cancellation near 0.

    There it is the series Σ_{k ≥ 2} (−t)^k / (k(k − 1))."""
    is_near = np.abs(t) < 0.05
    near = np.where(is_near, t, 0.0)
    series = np.zeros_like(near)
    for k in range(13, 1, -1):
        series = series * -near + 1.0 / (k * (k - 1))
    far = np.where(is_near, 0.0, t)
    with np.errstate(divide="ignore", invalid="ignore"):
        direct = np.where(far > -1, (1 + far) * np.log1p(far), 0.0) - far
    return np.where(is_near, near * near * series, direct)


def difference(
    n: ndarray | int,
    count: ndarray,
    row: ndarray,
    column: ndarray,
) -> ndarray:
    """Return n·count − row·column of whole numbers in float64.

    It is computed in int64 while n is below 2³¹, else by products of two words (Dekker)."""
    if np.max(n, initial=0) < 1 << 31:
        return (n * count - row * column).astype(np.float64)
    of_count, below_count = _product(np.asarray(n, np.float64), np.asarray(count, np.float64))
    of_margins, below_margins = _product(
        np.asarray(row, np.float64), np.asarray(column, np.float64)
    )
    return (of_count - of_margins) + (below_count - below_margins)


def _product(a: ndarray, b: ndarray) -> tuple[ndarray, ndarray]:
    """Return a·b as the nearest float64 and what is below it, exact."""
    product = a * b
    a1, a0 = _halves(a)
    b1, b0 = _halves(b)
    return product, ((a1 * b1 - product) + a1 * b0 + a0 * b1) + a0 * b0


def _halves(x: ndarray) -> tuple[ndarray, ndarray]:
    """Return two numbers of 26 bits whose sum is x: the products of such are exact."""
    wide = 134217729.0 * x  # 2²⁷ + 1
    upper = wide - (wide - x)
    return upper, x - upper


# ---- χ² ----


def chi_square(counts: ndarray, q: int, unknown: ndarray | None = None) -> ndarray:
    """Return χ² of feature code against each label, (F, q), from `counts` (F, b, 1 + q).

    Cells with expectation 0 are skipped."""
    positive, observed = _observed(counts, q, unknown)
    return _chi(positive, observed) + _chi(observed - positive, observed)


def class_chi_square(counts: ndarray) -> ndarray:
    """Return χ² of feature code against the class, (F,), from `counts` (F, b, classes)."""
    return _chi(counts, counts.sum(axis=2, keepdims=True)).sum(axis=1)


def _chi(cells: ndarray, observed: ndarray) -> ndarray:
    share = cells.sum(axis=1, keepdims=True) / np.maximum(observed.sum(axis=1, keepdims=True), 1)
    expected = observed * share
    with np.errstate(divide="ignore", invalid="ignore"):
        parts = np.where(expected > 0, (cells - expected) ** 2 / expected, 0.0)
    return parts.sum(axis=1)
