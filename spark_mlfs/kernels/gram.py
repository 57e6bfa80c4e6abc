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
