"""Metrics of the k best labels of a row, as extreme multi-label classification goes by.

Symbols: y_l whether label l is true, (i) the label of the i-th best score (of a tie the smallest
index is first), |y| the row's labels, p_l the propensity of label l (`propensities`).

- `precisionAtK`   P@k = 1/k Σ_{i ≤ k} y_(i)
- `ndcgAtK`        nDCG@k = Σ_{i ≤ k} y_(i) / log2(i + 1)  /  Σ_{i ≤ min(k, |y|)} 1 / log2(i + 1);
                   0 of a row without labels
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
import pandas as pd
import scipy.sparse as sp
from numpy import ndarray
from numpy.typing import ArrayLike

from ..blocks.codec import decode, encode
from ..blocks.profile import Profile
from ..blocks.tables import column_names, in_order, label_matrices
from ..errors import DataError, ParameterError
from ..kernels.matrix import Matrix
from ..lazy import DataFrame
from .metrics import CELLS, column_sums, label_names

AT = (1, 3, 5)
MOST = 1000  # labels of a row, and what a label is worth beside a common one
# a row's value, below 2²⁰, in fixed point of 2⁻⁴², its halves summed apart: exact up to 2³² rows
_UNIT, _HALF = 42, 31
NAMES = ("precisionAt", "ndcgAt"), ("pspAt", "psndcgAt")
SHORT = {
    "precisionAt": "P",
    "ndcgAt": "nDCG",
    "pspAt": "PSP",
    "psndcgAt": "PSnDCG",
}
LEAST_ROWS = 3  # of training, that propensities take


def normalised(name: str) -> str:
    """Return the name of a metric divided by the best possible."""
    return f"normalised{name[0].upper()}{name[1:]}"


# the titles of the metrics, by name
AT_K = {f"{name}{k}": f"{SHORT[name]}@{k}" for names in NAMES for name in names for k in AT} | {
    f"{normalised(name)}{k}": f"{SHORT[name]}@{k}, normalised" for name in NAMES[1] for k in AT
}


def propensities(
    counts: ArrayLike,
    rows: int,
    a: float = 0.55,
    b: float = 1.5,
) -> ndarray | pd.Series:
    """Return the propensities (q,) of labels that `counts` (q,) of N training `rows` have.

        p_l = 1 / (1 + C (N_l + b)^−a),     C = (ln N − 1)(b + 1)^a

    A series of counts gives a series. Raises `DataError` for fewer than three rows and for counts
    that are not between 0 and N; `ParameterError` for a, b ≤ 0.

    >>> propensities([0, 10, 1000], 1000).round(3)
    array([0.113, 0.282, 0.821])"""
    positive = np.asarray(counts, np.float64)
    if not (a > 0 and b > 0):
        raise ParameterError(f"a = {a}, b = {b}: both are above 0")
    if rows < LEAST_ROWS or not ((positive >= 0) & (positive <= rows)).all():
        raise DataError(
            "propensities take three training rows or more, and of each label 0 to all of them; "
            f"the number of rows is {rows}"
        )
    C = (np.log(rows) - 1) * (b + 1) ** a
    values = np.asarray(1 / (1 + C * (positive + b) ** -a))
    return pd.Series(values, counts.index) if isinstance(counts, pd.Series) else values


def propensities_of(profile: Profile) -> ndarray | None:
    """Return the propensities (q,) of the labels of training rows that have a profile.

    None of fewer rows with known labels than propensities take."""
    rows = profile.n - profile.unlabelled
    return None if rows < LEAST_ROWS else np.asarray(propensities(profile.positive, rows))


@dataclass(frozen=True)
class SumsAtK:
    """Sums over rows that the metrics are made of; they add up.

    `values` (w, 2, 2, m, 2) int64: of y and, with propensities, of y/p; reached and best possible;
    Σ y_(i) and nDCG; at k = 1 to m; high and low halves in fixed point."""

    rows: int
    values: ndarray
    q: int = 0  # labels; 0 of sums that were saved without

    def __add__(self, other: SumsAtK) -> SumsAtK:
        if self.values.shape != other.values.shape:
            raise ParameterError(
                "sums of other k, or of rows with and without propensities, do not add up"
            )
        return SumsAtK(self.rows + other.rows, self.values + other.values, max(self.q, other.q))

    @staticmethod
    def of(
        truth: Matrix,
        scores: Matrix,
        most: int = max(AT),
        propensities: ArrayLike | None = None,
    ) -> SumsAtK:
        """Sum up truth (rows, q) 0/1 and scores (rows, q), up to k = `most`.

        They are dense or sparse, or frames, whose rows go by their index and whose labels, and
        those of a series of propensities, by their names. Raises `DataError` for shapes, rows or
        names that differ, labels other than 0 or 1, scores and propensities that cannot be."""
        t, s = label_matrices(truth=truth, scores=scores)
        if t.shape != s.shape or t.ndim != 2 or not t.shape[1]:
            raise DataError(
                f"truth {t.shape}, scores {s.shape}: both must have one shape, (rows, labels)"
            )
        worth = [np.ones(t.shape[1])]
        if propensities is not None:
            names = next(filter(None, map(column_names, (truth, scores))), None)
            p = _by_label(propensities, names)
            one_a_label = p.shape == worth[0].shape
            if not one_a_label or not ((p >= 1 / MOST) & (p <= 1)).all():
                raise DataError(
                    f"propensities {p.shape}: give one a label, {t.shape[1]} of them, "
                    f"{1 / MOST:.2g} to 1"
                )
            worth.append(1 / p)
        values = np.zeros((len(worth), 2, 2, most, 2), np.int64)
        step = max(1, CELLS // max(most, _row_width(t), _row_width(s)))
        for start in range(0, t.shape[0], step):
            part = slice(start, start + step)
            values += _sums(t[part], s[part], most, worth)
        return SumsAtK(t.shape[0], values, t.shape[1])

    def metrics(self, at: Sequence[int] = AT) -> dict[str, float]:
        """Return every metric by name, at each k; NaN where there are no rows.

        Normalised ones are NaN also where no row has a label."""
        high = self.values[..., 0].astype(object)  # Python's integers: the sum exceeds 64 bits
        low = self.values[..., 1]
        totals = (high * (1 << _HALF) + low) / (1 << _UNIT)
        metrics = {}
        named_totals = zip(totals, NAMES, strict=False)
        for (sums, names), kind, k in product(named_totals, range(2), at):
            name = names[kind]
            reached, best = sums[:, kind, k - 1]
            divisor = self.rows if kind else self.rows * k  # precision is a mean over k, too
            metrics[f"{name}{k}"] = reached / divisor if divisor else np.nan
            if names is NAMES[1]:
                metrics[f"{normalised(name)}{k}"] = reached / best if best else np.nan
        return metrics

    def encode(self) -> bytearray:
        """Encode the sums as bytes, for a file or another process."""
        return encode({"rows": self.rows, "values": self.values, "q": self.q})

    @staticmethod
    def decode(data: bytes | bytearray) -> SumsAtK:
        return SumsAtK(**decode(data))


def at_k(
    truth: Matrix,
    scores: Matrix,
    k: Sequence[int] = AT,
    propensities: ArrayLike | None = None,
) -> dict[str, float]:
    """Return every metric at each `k` of arrays (rows, q): 0/1 truth, and scores.

    They are dense or sparse, or frames, which go by index and names; a larger score is likelier.
    Metrics that go by propensities come where these are given, (q,), or as a series by the labels'
    names. Errors as of `SumsAtK.of`; `ParameterError` for k below 1.

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
    """Return every metric at each `k` of a frame of predictions, from one job.

    The columns hold vectors or arrays of q numbers. Rows whose true labels are null, or hold a NaN
    or null, are left out, as `evaluate.metrics.sums_of` has it. A series of propensities goes by
    the labels' names in the columns' metadata. Errors as of `at_k`."""
    columns = (labelsCol, rawPredictionCol)
    return sums_at_k_of(frame, columns, _most(k), propensities).metrics(k)


def sums_at_k_of(
    frame: DataFrame,
    columns: Sequence[str],
    most: int = max(AT),
    propensities: ArrayLike | None = None,
) -> SumsAtK:
    """Return the `SumsAtK` of two columns, the true labels and the scores, up to k = `most`."""
    if isinstance(propensities, pd.Series):
        names = next(iter(label_names(frame, columns).values()), None)
        propensities = _by_label(propensities, names)
    sum_up = partial(SumsAtK.of, most=most, propensities=propensities)
    return column_sums(frame, columns, sum_up, SumsAtK.decode)


def _by_label(propensities: ArrayLike, names: Sequence[str] | None) -> ndarray:
    """Return propensities (q,), those of a series in the order of the labels' `names`."""
    if names is not None and isinstance(propensities, pd.Series):
        row = pd.DataFrame([propensities.to_numpy()], columns=propensities.index)
        propensities = in_order(row, names, "propensities", "truth").to_numpy()[0]
    return np.asarray(propensities, np.float64)


def _most(k: Sequence[int]) -> int:
    if not len(k) or not 1 <= min(k) <= max(k) <= MOST:
        raise ParameterError(f"k = {list(k)}: give numbers of labels, 1 to {MOST}")
    return max(k)


def _row_width(matrix: Matrix) -> int:
    """Return the cells of a row, of a sparse matrix the mean of those it stores."""
    if sp.issparse(matrix):
        return int(matrix.nnz // max(1, matrix.shape[0]))
    return int(matrix.shape[1])


def _sums(
    truth: Matrix,
    scores: Matrix,
    most: int,
    worth: list[ndarray],
) -> ndarray:
    """Return the `SumsAtK.values` (w, 2, 2, most, 2) of some rows."""
    n, q = truth.shape
    true = sp.csr_matrix(truth, copy=True)
    true.sum_duplicates()
    true.eliminate_zeros()
    if (true.data != 1).any():
        raise DataError(f"a true label is {true.data[true.data != 1][0]}; labels are 0 or 1")
    sizes = np.diff(true.indptr)
    rows = np.repeat(np.arange(n), sizes)
    labels = true.indices.astype(np.int64)
    predicted = best_of(*stored(scores, most), n, most)
    cells = predicted + q * np.arange(n)[:, None]
    right = (predicted >= 0) & np.isin(cells, labels + q * rows)
    discounts = 1 / np.log2(np.arange(most) + 2)
    ideal_by_size = np.concatenate([[np.inf], discounts.cumsum()])  # no gain without labels: 0 / ∞
    ideal = ideal_by_size[np.minimum(sizes[:, None], np.arange(1, most + 1))]
    values = []
    for gains in worth:
        best = best_of(
            rows,
            labels,
            gains[labels],
            n,
            most,
        )
        reached = np.where(right, gains[predicted], 0)
        possible = np.where(best >= 0, gains[best], 0)
        for gain in (reached, possible):
            values.append(gain.cumsum(axis=1))
            values.append((gain * discounts).cumsum(axis=1) / ideal)
    fixed = np.rint(np.array(values) * 2.0**_UNIT).astype(np.int64)
    high = fixed >> _HALF
    low = fixed & ((1 << _HALF) - 1)
    halves = np.stack([high, low], axis=-1).sum(axis=1)
    return np.asarray(
        halves.reshape(
            len(worth),
            2,
            2,
            most,
            2,
        )
    )


def stored(scores: Matrix, most: int) -> tuple[ndarray, ndarray, ndarray]:
    """Return row, label and score of the predictions that may be among the `most` best of a row."""
    cells = scores.data if sp.issparse(scores) else scores
    values = np.asarray(cells, np.float64)
    if not np.isfinite(values).all():
        raise DataError("a score is not a finite number; look at what the classifier gave")
    if sp.issparse(scores):
        rows = np.repeat(np.arange(scores.shape[0]), np.diff(scores.indptr))
        return rows, scores.indices, values
    last = max(0, values.shape[1] - most)
    limits = np.partition(values, last, axis=1)[:, last:][
        :, :1
    ]  # no column where there is no label
    rows, labels = np.nonzero(values >= limits)
    return rows, labels, values[rows, labels]


def best_of(
    rows: ndarray,
    labels: ndarray,
    values: ndarray,
    n: int,
    most: int,
) -> ndarray:
    """Return the labels (n, most) of each row by falling value, of a tie the smallest first.

    They are −1 where a row has no more."""
    order = np.lexsort((labels, -values, rows))
    rows = rows[order]
    labels = labels[order]
    starts = np.searchsorted(rows, np.arange(n))
    rank = np.arange(len(rows)) - starts[rows]
    near = rank < most
    best = np.full((n, most), -1, np.int64)
    best[rows[near], rank[near]] = labels[near]
    return best
