"""Second moments by fold of the rows, and how much of the labels of rows held out each feature
explains alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

ROUNDING = 1e-14  # of a label's mean square: a variance below is that of a constant
DEPENDENT = 1e-8  # of the variance, without a penalty: what is left of a column that the picks span
_SUMS = ("n", "sum_x", "xx", "sum_y", "yy", "xy")


@dataclass
class FoldSums:
    """Sums over the rows of each of the F folds that have any, by weight.

    `n` (F,), `sum_x` (F, v), `xx` (F, v, v), `sum_y` and `yy`, of squares, (F, q), `xy` (F, v, q);
    `folds` their numbers. Of some `columns` (k,) alone, ascending, `xx` is (F, v, k + 1), the
    diagonal last."""

    n: ndarray
    sum_x: ndarray
    xx: ndarray
    sum_y: ndarray
    yy: ndarray
    xy: ndarray
    folds: tuple[int, ...]
    columns: ndarray | None = None

    @property
    def squares(self) -> ndarray:
        """(F, v) the sums of the features' squares."""
        return np.einsum("fii->fi", self.xx) if self.columns is None else self.xx[:, :, -1]

    def products(self, feature: int) -> ndarray:
        """Return (F, v) the sums of the products with one feature, which is among the `columns`."""
        if self.columns is None:
            return np.asarray(self.xx[:, feature])
        return np.asarray(self.xx[:, :, np.searchsorted(self.columns, feature)])

    def label_weights(self, times: ndarray | float = 1.0, power: float = 1.0) -> ndarray:
        """Return (q,) `times` 1/Var(y_l)^`power` over all rows; 0 for a label of one value."""
        n = self.n.sum()
        square = self.yy.sum(axis=0)
        variance = square / n - (self.sum_y.sum(axis=0) / n) ** 2
        varies = variance > ROUNDING * square / n
        weights = np.zeros(len(square))
        return np.divide(times, variance**power, out=weights, where=varies)

    def of(self, folds: ndarray) -> FoldSums:
        """Return the sums of some folds alone, a mask (F,)."""
        sums = {name: getattr(self, name)[folds] for name in _SUMS}
        numbers = tuple(int(f) for f in np.array(self.folds)[folds])
        return FoldSums(**sums, folds=numbers, columns=self.columns)

    @property
    def trained(self) -> tuple[ndarray, ndarray]:
        """(F,) rows that each fold leaves for training, (F, q) their labels' sums."""
        return self.n.sum() - self.n, self.sum_y.sum(axis=0) - self.sum_y

    def variation(self, weights: ndarray) -> ndarray:
        """Return (F,) Σ_l w_l ⟨ỹ_l, ỹ_l⟩ over the held-out rows."""
        n, sums = self.trained
        mean = sums / n[:, None]
        squares = self.yy - 2 * mean * self.sum_y
        return (squares + self.n[:, None] * mean**2) @ weights


def scores_alone(
    base: FoldSums,
    weights: ndarray,
    penalty: float,
    total: ndarray,
    square: ndarray,
    pairs: ndarray,
    joint: ndarray,
) -> ndarray:
    """Return (m,) J of each feature alone, NaN where it is constant.

    `total`, `square` (m, F) its sums and its squares'; `joint` (p, F) its sums over the rows with a
    label, of the `pairs` (2, p), feature by feature, that meet in a row; `base` of no features. Of
    the labels that a feature never meets only the means matter: they are summed once for all.

    In the names t stands for training rows, h for held-out ones: z_t and z_h are ⟨z, z⟩ of the
    feature less its training mean, c_t and c_h ⟨z, y_l⟩, a and b the feature's mean over the
    training rows and what the held-out sum has beyond it, for each training row."""
    n, y_t = base.trained
    y_t = y_t.T
    y_h = base.sum_y.T
    n_h = base.n
    count = len(total)
    n_all = n_h.sum()
    mean = total.sum(axis=1) / n_all
    variance = square.sum(axis=1) / n_all - mean**2
    variance[variance <= ROUNDING * square.sum(axis=1) / n_all] = np.nan
    trained = total.sum(axis=1, keepdims=True) - total
    a = trained / n
    b = (total - n_h * a) / n
    z_t = square.sum(axis=1, keepdims=True) - square - n * a**2
    z_h = square - 2 * a * total + n_h * a**2

    j, label = pairs
    a_of_pair = a.take(j, axis=0)  # `take`: the quickest
    y_t_of_pair = y_t.take(label, axis=0)
    c_t = joint.sum(axis=1, keepdims=True) - joint - a_of_pair * y_t_of_pair
    c_h = joint - a_of_pair * y_h.take(label, axis=0) - b.take(j, axis=0) * y_t_of_pair

    labels_met = np.bincount(j, minlength=count)
    starts = np.concatenate([[0], np.cumsum(labels_met)])
    ones = np.ones(len(j))
    over_pairs = sp.csr_matrix((ones, np.arange(len(j)), starts), shape=(count, len(j)))
    weighted = weights[label][:, None] * c_t
    fit = over_pairs @ (weighted * c_t)
    both = over_pairs @ (weighted * c_h)

    # of a label that a feature does not meet c_t is −a y_t and c_h is −(a y_h + b y_t)
    of_labels = sp.csr_matrix((ones, label, starts), shape=(count, len(weights)))
    has_unmet = labels_met[:, None] < len(weights)
    weighted_y = weights[:, None] * y_t
    unmet_tt = weights @ y_t**2 - of_labels @ (weighted_y * y_t)
    unmet_tt = np.where(has_unmet, unmet_tt, 0.0)
    unmet_th = weights @ (y_t * y_h) - of_labels @ (weighted_y * y_h)
    unmet_th = np.where(has_unmet, unmet_th, 0.0)
    fit += a**2 * unmet_tt
    both += a**2 * unmet_th + a * b * unmet_tt

    share = 1 / divisor(z_t / variance[:, None], penalty * n, n) / variance[:, None]
    explained = (2 * both * share - fit * share**2 * z_h).sum(axis=1)
    return explained / positive(base.variation(weights).sum())


def divisor(squares: ndarray, penalty: ndarray | float, n: ndarray | float) -> ndarray:
    """Return ⟨z, z⟩ + λn.

    It is infinite where there is nothing left of a column that no penalty shrinks."""
    left = np.maximum(squares, 0.0)
    is_usable = (np.asarray(penalty) > 0) | (left > DEPENDENT * np.asarray(n))
    return np.where(is_usable, left + penalty, np.inf)


def positive(total: ndarray | float) -> ndarray:
    """Return the total that shares are of: infinite where there is nothing to explain."""
    return np.where(np.asarray(total) > 0, total, np.inf)
