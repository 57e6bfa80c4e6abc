"""Metrics of the k best labels of a row, as extreme multi-label classification goes by.

Symbols: y_l whether label l is true, (i) the label of the i-th best score (of a tie the smallest
index is first), |y| the row's labels, p_l the propensity of label l (`propensities`).

- `precisionAtK`   P@k = 1/k Σ_{i ≤ k} y_(i)
- `ndcgAtK`        nDCG@k = Σ_{i ≤ k} y_(i) / log2(i + 1)  /  Σ_{i ≤ min(k, |y|)} 1 / log2(i + 1); 0
  of a row without labels
- `pspAtK`, `psndcgAtK`  the same with y_l / p_l in place of y_l (above only): rare labels weigh
  more
- `normalisedPspAtK`, `normalisedPsndcgAtK`  these divided by the mean of the best possible value

Each is a mean over the rows whose labels are known. A label that sparse scores do not store is not
predicted; where fewer than k are, the missing ones are wrong. Jain, Prabhu & Varma, "Extreme
multi-label loss functions for recommendation, tagging, ranking & other missing label applications",
KDD 2016; conventions of the Extreme Classification Repository."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import product

import numpy as np
import scipy.sparse as sp
from numpy.typing import ArrayLike

from ..blocks.codec import decode, encode
from ..errors import DataError, ParameterError
from ..kernels.matrix import Matrix
from ..lazy import DataFrame
from .metrics import CELLS, column_sums

AT = (1, 3, 5)
MOST = 1000  # labels of a row, and what a label is worth beside a common one
_UNIT, _HALF = (
    42,
    31,
)  # of a row's value: fixed point of 2⁻⁴², in two halves: exact up to 2³² rows, values below 2²⁰
NAMES = ("precisionAt", "ndcgAt"), ("pspAt", "psndcgAt")


def propensities(counts: ArrayLike, rows: int, a: float = 0.55, b: float = 1.5) -> np.ndarray:
    """(q,) p_l = 1 / (1 + C (N_l + b)^−a), C = (ln N − 1)(b + 1)^a, of labels that `counts` (q,) of
    N training `rows` have.

    `DataError` for fewer than three rows and for counts that are not between 0 and N;
    `ParameterError` for a, b ≤ 0.

    >>> propensities([0, 10, 1000], 1000).round(3)
    array([0.113, 0.282, 0.821])"""
    positive = np.asarray(counts, np.float64)
    if not (a > 0 and b > 0):
        raise ParameterError(f"a = {a}, b = {b}: both are above 0")
    if rows < 3 or not ((positive >= 0) & (positive <= rows)).all():
        raise DataError(
            "propensities take three training rows or more, and of each label 0 to all of them; "
            f"there are {rows} rows"
        )
    return np.asarray(1 / (1 + (np.log(rows) - 1) * (b + 1) ** a * (positive + b) ** -a))


@dataclass(frozen=True)
class SumsAtK:
    """Sums over rows that the metrics are made of; they add up.

    `values` (w, 2, 2, m, 2) int64: of y and, with propensities, of y/p; reached and best possible;
    Σ y_(i) and nDCG; at k = 1 to m; high and low halves in fixed point."""

    rows: int
    values: np.ndarray

    def __add__(self, other: SumsAtK) -> SumsAtK:
        if self.values.shape != other.values.shape:
            raise ParameterError(
                "sums of other k, or of rows with and without propensities, do not add up"
            )
        return SumsAtK(self.rows + other.rows, self.values + other.values)

    @staticmethod
    def of(
        truth: Matrix, scores: Matrix, most: int = max(AT), propensities: ArrayLike | None = None
    ) -> SumsAtK:
        """The sums up to k = `most` of truth (rows, q) 0/1 and scores (rows, q), dense or sparse.
        `DataError` for shapes that differ, labels other than 0 or 1, scores and propensities that
        cannot be."""
        matrices: list[Matrix] = [
            a.tocsr() if sp.issparse(a) else np.asarray(a) for a in (truth, scores)
        ]
        t, s = matrices
        if t.shape != s.shape or t.ndim != 2 or not t.shape[1]:
            raise DataError(
                f"truth {t.shape}, scores {s.shape}: both must have one shape, (rows, labels)"
            )
        worth = [np.ones(t.shape[1])]
        if propensities is not None:
            p = np.asarray(propensities, np.float64)
            if p.shape != worth[0].shape or not ((p >= 1 / MOST) & (p <= 1)).all():
                raise DataError(
                    f"propensities {p.shape}: give one a label, {t.shape[1]} of them, "
                    f"{1 / MOST:.2g} to 1"
                )
            worth.append(1 / p)
        values = np.zeros((len(worth), 2, 2, most, 2), np.int64)
        widths = (x.nnz // max(1, x.shape[0]) if sp.issparse(x) else x.shape[1] for x in matrices)
        step = max(1, CELLS // max(most, *widths))
        for first in range(0, t.shape[0], step):
            values += _sums(t[first : first + step], s[first : first + step], most, worth)
        return SumsAtK(t.shape[0], values)

    def metrics(self, at: Sequence[int] = AT) -> dict[str, float]:
        """Every metric by name, at each k; NaN where there are no rows, normalised ones also where
        no row has a label."""
        whole = (self.values[..., 0].astype(object) * (1 << _HALF) + self.values[..., 1]) / (
            1 << _UNIT
        )
        out = {}
        for (sums, names), kind, k in product(zip(whole, NAMES, strict=False), range(2), at):
            reached, best = sums[:, kind, k - 1]
            rows, name = self.rows * (1 if kind else k), names[kind]
            out[f"{name}{k}"] = reached / rows if rows else np.nan
            if names is NAMES[1]:
                out[f"normalised{name[0].upper()}{name[1:]}{k}"] = (
                    reached / best if best else np.nan
                )
        return out

    def encode(self) -> bytearray:
        """The sums as bytes, for a file or another process."""
        return encode({"rows": self.rows, "values": self.values})

    @staticmethod
    def decode(data: bytes | bytearray) -> SumsAtK:
        return SumsAtK(**decode(data))


def at_k(
    truth: Matrix, scores: Matrix, k: Sequence[int] = AT, propensities: ArrayLike | None = None
) -> dict[str, float]:
    """Every metric at each `k` of arrays (rows, q), dense or sparse: 0/1 truth, scores (larger is
    likelier); those that go by propensities where these are given, (q,). Errors as of `SumsAtK.of`;
    `ParameterError` for k below 1.

    >>> found = at_k([[1, 0, 1], [0, 1, 0]], [[0.9, 0.5, 0.1], [0.2, 0.7, 0.1]], k=[1, 2])
    >>> found["precisionAt1"], found["precisionAt2"], round(found["ndcgAt2"], 4)
    (1.0, 0.5, 0.8066)"""
    return SumsAtK.of(truth, scores, _most(k), propensities).metrics(k)


def at_k_of_frame(
    frame: DataFrame,
    labelsCol: str = "labels",
    rawPredictionCol: str = "rawPrediction",
    k: Sequence[int] = AT,
    propensities: ArrayLike | None = None,
) -> dict[str, float]:
    """Every metric at each `k` of a frame whose columns hold vectors or arrays of q numbers, in one
    job; rows whose true labels are null, or hold a NaN or null, are left out, as
    `evaluate.metrics.sums_of` has it. Errors as of `at_k`."""
    of = partial(SumsAtK.of, most=_most(k), propensities=propensities)
    return column_sums(frame, (labelsCol, rawPredictionCol), of, SumsAtK.decode).metrics(k)


def _most(k: Sequence[int]) -> int:
    if not len(k) or not 1 <= min(k) <= max(k) <= MOST:
        raise ParameterError(f"k = {list(k)}: give numbers of labels, 1 to {MOST}")
    return max(k)


def _sums(truth: Matrix, scores: Matrix, most: int, worth: list[np.ndarray]) -> np.ndarray:
    """(w, 2, 2, most, 2) `SumsAtK.values` of some rows."""
    n, q = truth.shape
    true = sp.csr_matrix(truth, copy=True)
    true.sum_duplicates()
    true.eliminate_zeros()
    if (true.data != 1).any():
        raise DataError(f"a true label is {true.data[true.data != 1][0]}; labels are 0 or 1")
    of, label = np.repeat(np.arange(n), np.diff(true.indptr)), true.indices.astype(np.int64)
    first = best_of(*stored(scores, most), n, most)
    right = (first >= 0) & np.isin(first + q * np.arange(n)[:, None], label + q * of)
    sizes = np.minimum(most, np.diff(true.indptr))
    discounts = 1 / np.log2(np.arange(most) + 2)
    size_at = np.minimum(sizes[:, None], np.arange(1, most + 1))
    ideal = np.concatenate([[np.inf], discounts.cumsum()])[size_at]
    out = []
    for each in worth:
        best = best_of(of, label, each[label], n, most)
        for gain in (np.where(right, each[first], 0), np.where(best >= 0, each[best], 0)):
            out += [gain.cumsum(axis=1), (gain * discounts).cumsum(axis=1) / ideal]
    fixed = np.rint(np.array(out) * 2.0**_UNIT).astype(np.int64)
    halves = np.stack([fixed >> _HALF, fixed & ((1 << _HALF) - 1)], axis=-1).sum(axis=1)
    return np.asarray(halves.reshape(len(worth), 2, 2, most, 2))


def stored(scores: Matrix, most: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(row, label, score) of the predictions that may be among the `most` best of a row."""
    values = np.asarray(scores.data if sp.issparse(scores) else scores, np.float64)
    if not np.isfinite(values).all():
        raise DataError("a score is not a finite number; look at what the classifier gave")
    if sp.issparse(scores):
        return np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr)), scores.indices, values
    last = max(0, values.shape[1] - most)
    rows, labels = np.nonzero(values >= np.partition(values, last, axis=1)[:, last:][:, :1])
    return rows, labels, values[rows, labels]


def best_of(
    rows: np.ndarray, labels: np.ndarray, values: np.ndarray, n: int, most: int
) -> np.ndarray:
    """(n, most) labels of each row by falling value, of a tie the smallest first; −1 where it has
    no more."""
    order = np.lexsort((labels, -values, rows))
    rows, labels = rows[order], labels[order]
    place = np.arange(len(rows)) - np.searchsorted(rows, np.arange(n))[rows]
    out = np.full((n, most), -1, np.int64)
    near = place < most
    out[rows[near], place[near]] = labels[near]
    return out
