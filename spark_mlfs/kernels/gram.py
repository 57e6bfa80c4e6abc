"""Sufficient statistics of the regression family: how they add up, and how they are scaled for a
solver.

Every regression method sees the data only through

    n, X'1, Y'1, X'X (d x d), X'Y (d x q), Y'Y (q x q),

which add over rows: partitions, batches, hash blocks (cross-validation folds and half-samples
without another scan). `GramStatistics` holds them about a provisional centre, `GramView` is the
same thing scaled, on the features that vary."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy import ndarray

from ..errors import DataError

_SUMS = ("n", "sum_x", "sum_y", "xx", "xy", "yy")


@dataclass
class GramStatistics:
    """Additive second moments of rows (x, y), weighted by r >= 0, about a provisional centre (a,
    b):

        n = sum r,  sum_x = sum r (x-a),  sum_y = sum r (y-b),  xx = sum r (x-a)(x-a)',
        xy, yy likewise.

    A centre near the mean avoids cancellation: about zero, 1e9 + {0, 1, 2} has no variance left in
    float64. `+` moves the right operand to the left one's centre. `low` and `high`, the features'
    extremes, decide which are constant; `minmax` needs them."""

    n: float
    sum_x: ndarray
    sum_y: ndarray
    xx: ndarray
    xy: ndarray
    yy: ndarray
    centre_x: ndarray
    centre_y: ndarray
    low: ndarray | None = None
    high: ndarray | None = None

    @property
    def d(self) -> int:
        return len(self.sum_x)

    @property
    def q(self) -> int:
        return len(self.sum_y)

    def recentred(self, centre_x: ndarray, centre_y: ndarray) -> GramStatistics:
        """Return the same data about another centre.

        Arrays are shared when the centre is already this one."""
        u = centre_x - self.centre_x
        v = centre_y - self.centre_y
        moves_x = bool(np.any(u))
        moves_y = bool(np.any(v))
        if not (moves_x or moves_y):
            return self
        n = self.n
        xx = self.xx
        yy = self.yy
        if moves_x:
            cross = np.outer(self.sum_x - 0.5 * n * u, u)
            xx = xx - cross - cross.T
        xy = self.xy - np.outer(self.sum_x, v) - np.outer(u, self.sum_y - n * v)
        if moves_y:
            cross = np.outer(self.sum_y - 0.5 * n * v, v)
            yy = yy - cross - cross.T
        return GramStatistics(
            n=n,
            sum_x=self.sum_x - n * u,
            sum_y=self.sum_y - n * v,
            xx=xx,
            xy=xy,
            yy=yy,
            centre_x=np.array(centre_x),
            centre_y=np.array(centre_y),
            low=self.low,
            high=self.high,
        )

    def __add__(self, other: GramStatistics) -> GramStatistics:
        out = self._with(other, operator.add)
        if self.low is None or self.high is None or other.low is None or other.high is None:
            return out
        out.low = np.minimum(self.low, other.low)
        out.high = np.maximum(self.high, other.high)
        return out

    def __sub__(self, other: GramStatistics) -> GramStatistics:
        """Take rows out again.

        The extremes of what is left are unknown: `leave_out` restores them from the blocks."""
        return self._with(other, operator.sub)

    def _with(self, other: GramStatistics, operation: Callable[[Any, Any], Any]) -> GramStatistics:
        moved = other.recentred(self.centre_x, self.centre_y)
        sums = {name: operation(getattr(self, name), getattr(moved, name)) for name in _SUMS}
        return replace(self, low=None, high=None, **sums)

    def with_labels_times(self, scale: ndarray) -> GramStatistics:
        """Return the same, of labels that are multiplied by `scale` (q,)."""
        return replace(
            self,
            sum_y=self.sum_y * scale,
            xy=self.xy * scale,
            yy=self.yy * np.outer(scale, scale),
            centre_y=self.centre_y * scale,
        )

    def of_labels(self, places: ndarray) -> GramStatistics:
        """Return the same, of some labels, by their places."""
        return replace(
            self,
            sum_y=self.sum_y[places],
            xy=self.xy[:, places],
            yy=self.yy[np.ix_(places, places)],
            centre_y=self.centre_y[places],
        )

    def flattened(self) -> GramStatistics:
        """Return the same, of rows whose extremes are those of more rows.

        What varies by 1e-12 of its squares at most is constant."""
        if self.low is None or self.high is None or self.n <= 0:
            return self
        return replace(self, high=np.where(self._squares() > self._rounding(), self.high, self.low))

    def _squares(self) -> ndarray:
        """Return (d,) sum r (x - mean)^2."""
        return np.diag(self.xx) - self.n * (self.sum_x / self.n) ** 2

    def _rounding(self) -> ndarray:
        """Return (d,) what `_squares` may be of a constant feature.

        It is the difference of two terms that are rounded."""
        of_mean = self.n * (self.sum_x / self.n) ** 2
        return 1e-12 * (np.diag(self.xx) + of_mean + self.n * 1e-300)

    def centred(self, scaling: str = "standard") -> GramView:
        """Return G = X'HX, C = X'HY, S = Y'HY on the varying features, H = I - 11'/n.

        X is divided by the population deviation, the range, or 1."""
        return self._view(scaling, centre=True)

    def uncentred(self, scaling: str = "standard") -> GramView:
        """Return X'X, X'Y, Y'Y on the varying features, for methods without an intercept.

        X is z-scored (`standard`; Y is not), (x - min)/(max - min) (`minmax`) or as it is
        (`none`)."""
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
        squares = self._squares()
        varying = self._varying(squares)
        scale = self._scale(scaling, squares, varying)
        mean_x = (self.sum_x / self.n)[varying]  # less the provisional centre, as mean_y
        mean_y = self.sum_y / self.n
        G = self._centred_squares(varying, mean_x, scale)
        if scaling == "standard":
            G[np.diag_indices_from(G)] = self.n
        C = (self.xy[varying] - np.outer(mean_x, self.sum_y)) / scale[:, None]
        S = self.yy - self.n * np.outer(mean_y, mean_y)
        centre_x = self.centre_x[varying]
        shift = mean_x
        offset_y = mean_y + self.centre_y
        if not centre:
            y = offset_y  # the mean, which stays in Y
            offset_y = np.zeros(self.q)
            if scaling == "minmax" and self.low is not None:
                shift = self.low[varying] - centre_x
            elif scaling == "none":
                shift = -centre_x
            x = (mean_x - shift) / scale  # the mean that stays in X
            G += self.n * np.outer(x, x)
            C = C + self.n * np.outer(x, y)
            S = S + self.n * np.outer(y, y)
        return GramView(
            self.n,
            G,
            C,
            S,
            centre_x,
            shift,
            scale,
            offset_y,
            varying,
            self.d,
        )

    def _varying(self, squares: ndarray) -> ndarray:
        """Return the positions of the features that vary."""
        if self.low is None or self.high is None:
            return np.flatnonzero(squares > self._rounding())
        # squares underflow when the range is below ~1e-160
        return np.flatnonzero((self.high > self.low) & (squares > 0))

    def _scale(self, scaling: str, squares: ndarray, varying: ndarray) -> ndarray:
        """Return the divisors of the features that vary."""
        if scaling == "standard":
            return np.sqrt(squares[varying] / self.n)
        if scaling == "minmax" and self.low is not None and self.high is not None:
            return (self.high - self.low)[varying]
        return np.ones(len(varying))

    def _centred_squares(self, varying: ndarray, mean: ndarray, scale: ndarray) -> ndarray:
        """Return X'HX of the features that vary, scaled."""
        is_cut = len(varying) < self.d
        G = self.xx[np.ix_(varying, varying)] if is_cut else self.xx.copy()
        G -= self.n * np.outer(mean, mean)
        G /= scale[:, None]
        G /= scale
        return 0.5 * (G + G.T)

    def in_view(self, view: GramView) -> GramStatistics:
        """Return these statistics in the coordinates of `view`.

        (x - offset)/scale of its features, about the centre, so nothing cancels."""
        k = view.varying
        s = view.scale
        return replace(
            self,
            sum_x=self.sum_x[k] / s,
            xx=self.xx[np.ix_(k, k)] / np.outer(s, s),
            xy=self.xy[k] / s[:, None],
            centre_x=view.scaled(self.centre_x[k]),
            low=view.scaled_if_any(self.low),
            high=view.scaled_if_any(self.high),
        )

    def squared_error(self, weights: ndarray, intercept: ndarray) -> ndarray:
        """Return sum r (y - W'x - b)^2 per output: the loss on a held-out fold.

        W (d x q) and b (q) are in input units."""
        b = self.centre_y - intercept - self.centre_x @ weights  # residual = (y-cy) - W'(x-cx) + b
        error = np.diag(self.yy) - 2 * (weights * self.xy).sum(axis=0)
        error = error + (weights * (self.xx @ weights)).sum(axis=0)
        error = error + 2 * b * (self.sum_y - self.sum_x @ weights)
        return np.maximum(error + self.n * b**2, 0.0)


@dataclass
class GramView:
    """Scaled second moments on the features that vary: x~ = (x - offset)/scale, y~ = y - offset_y,

        G = sum x~x~' (v x v),  C = sum x~y~' (v x q),  S = sum y~y~' (q x q),

    `varying` the positions of the v features among all d; `penalties` (v,) what their penalties are
    multiplied by (None: 1). The offset is kept as `centre` + `shift`, the provisional centre of the
    statistics and what is left: of a feature about 1e9 the sum has no digits below 1e-7, its parts
    have."""

    n: float
    G: ndarray
    C: ndarray
    S: ndarray
    centre: ndarray
    shift: ndarray
    scale: ndarray
    offset_y: ndarray
    varying: ndarray
    d: int
    penalties: ndarray | None = None

    @property
    def offset(self) -> ndarray:
        return self.centre + self.shift

    def scaled(self, x: ndarray) -> ndarray:
        """Return (x - offset)/scale of values of the varying features along the last axis."""
        return ((x - self.centre) - self.shift) / self.scale

    def scaled_if_any(self, values: ndarray | None) -> ndarray | None:
        """Return values (d,) of all features scaled, those of the varying ones."""
        return None if values is None else self.scaled(values[self.varying])

    def expand(self, weights: ndarray) -> ndarray:
        """Return weights of the varying features among all d features, the constant ones 0."""
        out = np.zeros((self.d, *weights.shape[1:]))
        out[self.varying] = weights
        return out

    def scores(self, weights: ndarray) -> ndarray:
        """Return row norms over all d features; constant features are 0.

        Below 1e-8 of the largest they count as 0."""
        return self.expand(row_norms(weights))


def row_norms(weights: ndarray, floor: float = 1e-8) -> ndarray:
    """Return the 2-norm of each row of W; those below `floor` times the largest are 0."""
    norms = np.linalg.norm(weights, axis=1)
    if norms.size:
        norms[norms < floor * norms.max()] = 0.0
    return norms


def total(blocks: Iterable[GramStatistics]) -> GramStatistics:
    """Return the sum of the blocks in the order given (the order fixes the rounding)."""
    parts = list(blocks)
    if not parts:
        raise DataError("there are no blocks of statistics to add; is the data set empty?")
    return functools.reduce(operator.add, parts)


def leave_out(blocks: Sequence[GramStatistics], out: Iterable[int]) -> GramStatistics:
    """Return the sum of all blocks but those numbered in `out`, by the fewer additions.

    It has the extremes of what remains."""
    dropped = sorted(set(out))
    remaining = [i for i in range(len(blocks)) if i not in set(dropped)]
    if not remaining:
        raise DataError(f"all {len(blocks)} blocks are left out; leave at least one in")
    if len(dropped) >= len(remaining):
        return total(blocks[i] for i in remaining)
    everything = total(blocks)
    if not dropped:
        return everything
    remaining_blocks = [blocks[i] for i in remaining]
    result = everything - total(blocks[i] for i in dropped)
    lows = [block.low for block in remaining_blocks if block.low is not None]
    highs = [block.high for block in remaining_blocks if block.high is not None]
    if len(lows) == len(remaining):
        result.low = np.min(lows, axis=0)
        result.high = np.max(highs, axis=0)
    return result
