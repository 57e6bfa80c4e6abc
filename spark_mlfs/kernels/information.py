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

from ..lazy import cached_property
from .chance import Chance

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
        total = total + small_terms(n, cells, observed, share).sum(axis=1)
        occupied = occupied + (cells > 0).sum(axis=1) - (share[:, 0] > 0)
    if correction == "miller-madow":
        total = total + 0.5 * ((observed > 0).sum(axis=1) - 1 - occupied + 0.0)
    return total / n[:, 0]


def small_terms(
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
