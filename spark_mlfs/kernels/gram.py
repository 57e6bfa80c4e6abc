"""Sufficient statistics of the regression family: how they add up, and how they are scaled for a
solver.

Every regression method sees the data only through

    n, X'1, Y'1, X'X (d x d), X'Y (d x q), Y'Y (q x q),

which add over rows: partitions, batches, hash blocks (cross-validation folds and half-samples
without another scan). `GramStatistics` holds them about a provisional centre, `GramView` is the
same thing scaled, on the features that vary.

Second moments by fold of the rows, and how much of the labels of rows held out each feature
explains alone."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import DataError


@dataclass
class GramStatistics:
    """Additive second moments of rows (x, y), weighted by r >= 0, about a provisional centre (a,
    b):

        n = sum r,  sum_x = sum r (x-a),  sum_y = sum r (y-b),  xx = sum r (x-a)(x-a)',  xy, yy
        likewise.

    A centre near the mean avoids cancellation: about zero, 1e9 + {0, 1, 2} has no variance left in
    float64. `+` moves the right operand to the left one's centre. `low` and `high`, the features'
    extremes, decide which are constant; `minmax` needs them."""

    n: float
    sum_x: np.ndarray
    sum_y: np.ndarray
    xx: np.ndarray
    xy: np.ndarray
    yy: np.ndarray
    centre_x: np.ndarray
    centre_y: np.ndarray
    low: np.ndarray | None = None
    high: np.ndarray | None = None

    @property
    def d(self) -> int:
        return len(self.sum_x)

    @property
    def q(self) -> int:
        return len(self.sum_y)

    def recentred(self, centre_x: np.ndarray, centre_y: np.ndarray) -> GramStatistics:
        """The same data about another centre; arrays are shared when the centre is already this
        one."""
        u, v = centre_x - self.centre_x, centre_y - self.centre_y
        move_x, move_y = bool(np.any(u)), bool(np.any(v))
        if not (move_x or move_y):
            return self
        sx, sy, n = self.sum_x, self.sum_y, self.n
        xx, xy, yy = self.xx, self.xy, self.yy
        if move_x:
            cross = np.outer(sx - 0.5 * n * u, u)
            xx = xx - cross - cross.T
        xy = xy - np.outer(sx, v) - np.outer(u, sy - n * v)
        if move_y:
            cross = np.outer(sy - 0.5 * n * v, v)
            yy = yy - cross - cross.T
        return GramStatistics(
            n,
            sx - n * u,
            sy - n * v,
            xx,
            xy,
            yy,
            np.array(centre_x),
            np.array(centre_y),
            self.low,
            self.high,
        )

    def __add__(self, other: GramStatistics) -> GramStatistics:
        out = self._with(other, operator.add)
        if (
            self.low is not None
            and other.low is not None
            and self.high is not None
            and other.high is not None
        ):
            out.low, out.high = np.minimum(self.low, other.low), np.maximum(self.high, other.high)
        return out

    def __sub__(self, other: GramStatistics) -> GramStatistics:
        """Take rows out again. The extremes of what is left are unknown: `leave_out` restores them
        from the blocks."""
        return self._with(other, operator.sub)

    def _with(self, other: GramStatistics, operation: Callable[[Any, Any], Any]) -> GramStatistics:
        o = other.recentred(self.centre_x, self.centre_y)
        sums = {
            name: operation(getattr(self, name), getattr(o, name))
            for name in ("n", "sum_x", "sum_y", "xx", "xy", "yy")
        }
        return replace(self, low=None, high=None, **sums)

    def with_labels_times(self, scale: np.ndarray) -> GramStatistics:
        across = np.outer(scale, scale)
        return replace(
            self,
            sum_y=self.sum_y * scale,
            xy=self.xy * scale,
            yy=self.yy * across,
            centre_y=self.centre_y * scale,
        )

    def flattened(self) -> GramStatistics:
        """The same, of rows whose extremes are those of more rows: what varies by 1e-12 of its
        squares at most is constant."""
        if self.low is None or self.high is None or self.n <= 0:
            return self
        return replace(self, high=np.where(self._squares() > self._rounding(), self.high, self.low))

    def _squares(self) -> np.ndarray:
        """(d,) sum r (x - mean)^2."""
        return np.diag(self.xx) - self.n * (self.sum_x / self.n) ** 2

    def _rounding(self) -> np.ndarray:
        """(d,) what `_squares` may be of a constant feature: the difference of two terms that are
        rounded."""
        return 1e-12 * (np.diag(self.xx) + self.n * (self.sum_x / self.n) ** 2 + self.n * 1e-300)

    def centred(self, scaling: str = "standard") -> GramView:
        """G = X'HX, C = X'HY, S = Y'HY on the varying features, H = I - 11'/n, over the population
        deviation, the range, or 1."""
        return self._view(scaling, centre=True)

    def uncentred(self, scaling: str = "standard") -> GramView:
        """X'X, X'Y, Y'Y on the varying features, for methods without an intercept: X z-scored
        (`standard`; Y is not), (x - min)/(max - min) (`minmax`) or as it is (`none`)."""
        return self._view(scaling, centre=False)

    def _view(self, scaling: str, centre: bool) -> GramView:
        if self.n <= 0:
            raise DataError(
                "no row has all its labels known: label some rows, or drop the labels that are "
                "never known"
            )
        if scaling == "minmax" and self.low is None:
            raise DataError(
                "minmax scaling needs the features' minimum and maximum, which these statistics "
                "lack"
            )
        mean_sx, mean_sy = self.sum_x / self.n, self.sum_y / self.n
        squares = self._squares()
        if self.low is not None and self.high is not None:
            varying = (self.high > self.low) & (
                squares > 0
            )  # squares underflow when the range is below ~1e-160
        else:
            varying = squares > self._rounding()
        keep = np.flatnonzero(varying)
        m, centre_x = mean_sx[keep], self.centre_x[keep]
        if scaling == "standard":
            scale = np.sqrt(squares[keep] / self.n)
        elif scaling == "minmax" and self.low is not None and self.high is not None:
            scale = (self.high - self.low)[keep]
        else:
            scale = np.ones(len(keep))
        G = self.xx[np.ix_(keep, keep)] if len(keep) < self.d else self.xx.copy()
        G -= self.n * np.outer(m, m)
        G /= scale[:, None]
        G /= scale
        G = 0.5 * (G + G.T)
        if scaling == "standard":
            G[np.diag_indices_from(G)] = self.n
        C = (self.xy[keep] - np.outer(m, self.sum_y)) / scale[:, None]
        S = self.yy - self.n * np.outer(mean_sy, mean_sy)
        mean_y = mean_sy + self.centre_y
        shift, offset_y = m, mean_y
        if not centre:
            if scaling == "minmax" and self.low is not None:
                shift = self.low[keep] - centre_x
            elif scaling == "none":
                shift = -centre_x
            offset_y = np.zeros(self.q)
            rest = (m - shift) / scale
            G += self.n * np.outer(rest, rest)
            C = C + self.n * np.outer(rest, mean_y)
            S = S + self.n * np.outer(mean_y, mean_y)
        return GramView(self.n, G, C, S, centre_x, shift, scale, offset_y, keep, self.d)

    def in_view(self, view: GramView) -> GramStatistics:
        """These statistics in the coordinates of `view`: (x - offset)/scale of its features, about
        the centre, so nothing cancels."""
        k, s = view.varying, view.scale
        return replace(
            self,
            sum_x=self.sum_x[k] / s,
            xx=self.xx[np.ix_(k, k)] / np.outer(s, s),
            xy=self.xy[k] / s[:, None],
            centre_x=view.scaled(self.centre_x[k]),
            low=None if self.low is None else view.scaled(self.low[k]),
            high=None if self.high is None else view.scaled(self.high[k]),
        )

    def squared_error(self, weights: np.ndarray, intercept: np.ndarray) -> np.ndarray:
        """sum r (y - W'x - b)^2 per output, for W (d x q) and b (q) in input units: the loss on a
        held-out fold."""
        b = self.centre_y - intercept - self.centre_x @ weights  # residual = (y-cy) - W'(x-cx) + b
        return np.maximum(
            np.diag(self.yy)
            - 2 * (weights * self.xy).sum(axis=0)
            + (weights * (self.xx @ weights)).sum(axis=0)
            + 2 * b * (self.sum_y - self.sum_x @ weights)
            + self.n * b**2,
            0.0,
        )


@dataclass
class GramView:
    """Scaled second moments on the features that vary: x~ = (x - offset)/scale, y~ = y - offset_y,

        G = sum x~x~' (v x v),  C = sum x~y~' (v x q),  S = sum y~y~' (q x q),

    `varying` the positions of the v features among all d; `penalties` (v,) what their penalties are
    multiplied by (None: 1). The offset is kept as `centre` + `shift`, the provisional centre of the
    statistics and what is left: of a feature about 1e9 the sum has no digits below 1e-7, its parts
    have."""

    n: float
    G: np.ndarray
    C: np.ndarray
    S: np.ndarray
    centre: np.ndarray
    shift: np.ndarray
    scale: np.ndarray
    offset_y: np.ndarray
    varying: np.ndarray
    d: int
    penalties: np.ndarray | None = None

    @property
    def offset(self) -> np.ndarray:
        return self.centre + self.shift

    def scaled(self, x: np.ndarray) -> np.ndarray:
        """(x - offset)/scale of values of the varying features along the last axis."""
        return ((x - self.centre) - self.shift) / self.scale

    def expand(self, weights: np.ndarray) -> np.ndarray:
        """Weights of the varying features put among all d features, the constant ones 0."""
        out = np.zeros((self.d, *weights.shape[1:]))
        out[self.varying] = weights
        return out

    def scores(self, weights: np.ndarray) -> np.ndarray:
        """Row norms over all d features; below 1e-8 of the largest they count as 0, constant
        features are 0."""
        return self.expand(row_norms(weights))


def row_norms(weights: np.ndarray, floor: float = 1e-8) -> np.ndarray:
    """2-norm of each row of W; those below `floor` times the largest are 0."""
    norms = np.linalg.norm(weights, axis=1)
    if norms.size:
        norms[norms < floor * norms.max()] = 0.0
    return norms


def total(blocks: Iterable[GramStatistics]) -> GramStatistics:
    """Sum of the blocks in the order given (the order fixes the rounding)."""
    every = list(blocks)
    if not every:
        raise DataError("there are no blocks of statistics to add; is the data set empty?")
    return functools.reduce(operator.add, every)


def leave_out(blocks: Sequence[GramStatistics], out: Iterable[int]) -> GramStatistics:
    """All rows but those of the blocks numbered in `out`, by the fewer additions, with the extremes
    of what remains."""
    dropped = sorted(set(out))
    rest = [i for i in range(len(blocks)) if i not in set(dropped)]
    if not rest:
        raise DataError(f"all {len(blocks)} blocks are left out; leave at least one in")
    if len(dropped) >= len(rest):
        return total(blocks[i] for i in rest)
    everything = total(blocks)
    if not dropped:
        return everything
    result = everything - total(blocks[i] for i in dropped)
    lows = [low for i in rest if (low := blocks[i].low) is not None]
    highs = [high for i in rest if (high := blocks[i].high) is not None]
    if len(lows) == len(rest):
        result.low, result.high = np.min(lows, axis=0), np.max(highs, axis=0)
    return result


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


def alone(
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
