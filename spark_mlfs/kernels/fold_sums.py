"""Second moments by fold of the rows, and how much of the labels of rows held out each feature
explains alone."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

ROUNDING = 1e-14  # of a label's mean square: a variance below is that of a constant


DEPENDENT = 1e-8  # of the variance, without a penalty: what is left of a column that the picks span


@dataclass
class FoldSums:
    """Sums over the rows of each of the F folds that have any, by weight: `n` (F,), `sum_x` (F, v),
    `xx` (F, v, v), `sum_y` and `yy`, of squares, (F, q), `xy` (F, v, q); `folds` their numbers."""

    n: np.ndarray
    sum_x: np.ndarray
    xx: np.ndarray
    sum_y: np.ndarray
    yy: np.ndarray
    xy: np.ndarray
    folds: tuple[int, ...]

    def label_weights(self, times: np.ndarray | float = 1.0) -> np.ndarray:
        """(q,) `times` 1/Var(y_l) over all rows; 0 for a label of one value."""
        n, square = self.n.sum(), self.yy.sum(axis=0)
        variance = square / n - (self.sum_y.sum(axis=0) / n) ** 2
        varies = variance > ROUNDING * square / n
        return np.divide(times, variance, out=np.zeros(len(square)), where=varies)

    def of(self, folds: np.ndarray) -> FoldSums:
        """The sums of some folds alone, a mask (F,)."""
        kept = {
            name: getattr(self, name)[folds] for name in ("n", "sum_x", "xx", "sum_y", "yy", "xy")
        }
        return FoldSums(**kept, folds=tuple(int(f) for f in np.array(self.folds)[folds]))

    @property
    def trained(self) -> tuple[np.ndarray, np.ndarray]:
        """(F,) rows that each fold leaves for training, (F, q) their labels' sums."""
        return self.n.sum() - self.n, self.sum_y.sum(axis=0) - self.sum_y

    def variation(self, weights: np.ndarray) -> np.ndarray:
        """(F,) Σ_l w_l ⟨ỹ_l, ỹ_l⟩ over the held-out rows."""
        n, sums = self.trained
        mean = sums / n[:, None]
        return (self.yy - 2 * mean * self.sum_y + self.n[:, None] * mean**2) @ weights


def scores_alone(
    base: FoldSums,
    weights: np.ndarray,
    penalty: float,
    total: np.ndarray,
    square: np.ndarray,
    pairs: np.ndarray,
    met: np.ndarray,
) -> np.ndarray:
    """(m,) J of each feature alone, NaN where it is constant: `total`, `square` (m, F) its sums and
    its squares'; `met` (p, F) its sums over the rows with a label, of the `pairs` (2, p), feature
    by feature, that meet in a row; `base` of no features.

    Of the labels that a feature never meets only the means matter: they are summed once for all."""
    n, held = base.trained[0], base.n
    y_t, y_h, count = base.trained[1].T, base.sum_y.T, len(total)
    mean = total.sum(axis=1) / held.sum()
    variance = square.sum(axis=1) / held.sum() - mean**2
    variance[variance <= ROUNDING * square.sum(axis=1) / held.sum()] = np.nan
    trained = total.sum(axis=1, keepdims=True) - total
    a = trained / n
    b = (total - held * a) / n
    z_t = square.sum(axis=1, keepdims=True) - square - n * a**2
    z_h = square - 2 * a * total + held * a**2
    j, label = pairs
    w, a_of, y_t_of = (
        weights[label][:, None],
        a.take(j, axis=0),
        y_t.take(label, axis=0),
    )  # `take`: the quickest
    c_t = met.sum(axis=1, keepdims=True) - met - a_of * y_t_of
    c_h = met - a_of * y_h.take(label, axis=0) - b.take(j, axis=0) * y_t_of

    labels, ones = (
        np.bincount(j, minlength=count),
        np.ones(len(j)),
    )  # how many labels each feature meets
    starts, missed = np.concatenate([[0], np.cumsum(labels)]), labels[:, None] < len(weights)
    over = sp.csr_matrix((ones, np.arange(len(j)), starts), shape=(count, len(j)))
    of_labels = sp.csr_matrix((ones, label, starts), shape=(count, len(weights)))
    weighted, mean_t = w * c_t, weights[:, None] * y_t
    fit, both = over @ (weighted * c_t), over @ (weighted * c_h)
    rest_tt = np.where(missed, weights @ y_t**2 - of_labels @ (mean_t * y_t), 0.0)
    rest_th = np.where(missed, weights @ (y_t * y_h) - of_labels @ (mean_t * y_h), 0.0)
    fit += a**2 * rest_tt
    both += a**2 * rest_th + a * b * rest_tt
    share = 1 / divisor(z_t / variance[:, None], penalty * n, n) / variance[:, None]
    return (2 * both * share - fit * share**2 * z_h).sum(axis=1) / positive(
        base.variation(weights).sum()
    )


def divisor(squares: np.ndarray, penalty: np.ndarray | float, n: np.ndarray | float) -> np.ndarray:
    """⟨z, z⟩ + λn, infinite where there is nothing left of a column that no penalty shrinks."""
    left = np.maximum(squares, 0.0)
    return np.where(
        (np.asarray(penalty) > 0) | (left > DEPENDENT * np.asarray(n)), left + penalty, np.inf
    )


def positive(total: np.ndarray | float) -> np.ndarray:
    """What shares are of: infinite where there is nothing to explain."""
    return np.where(np.asarray(total) > 0, total, np.inf)
