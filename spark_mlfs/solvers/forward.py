"""Forward selection by held-out explained variance (`methods.forward`), from second moments by fold
alone.

Of fold f, T its training rows and H those held out, every column is z_j = x̃_j − Σ_i g_ij p_i, p_i
the i-th pick as it was picked, so that all products with the next pick p = z_s follow from one
column of each fold's moments:

    ⟨p, x̃_j⟩ = ⟨x̃_s, x̃_j⟩ − Σ_i g_is ⟨p_i, x̃_j⟩,    ⟨p, z_j⟩ = ⟨p, x̃_j⟩ − Σ_i g_ij ⟨p, p_i⟩
    on T and on H,

O(v·(k + q)) operations a fold for pick k. Shrunk fits leave the picks correlated, therefore the ⟨p,
p_i⟩."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from ..kernels.fold_sums import FoldSums, divisor, positive
from .pool import Path, Pool, Progress
from .units import PickConstraints


class _Folds:
    """Some folds, their columns of unit variance, about their means over the training rows. Of the
    two sides of each, the training rows and those held out: `squares` ⟨z, z⟩ (2, F, v), `labels`
    √w⟨z, r⟩ (2, F, v, q), `known` ⟨p_i, x̃_j⟩ (2, F, k, v)."""

    def __init__(
        self,
        sums: FoldSums,
        weights: np.ndarray,
        penalty: np.ndarray,
        picks: int,
        at: slice = slice(None),
    ) -> None:
        """Those `at` some place in the `sums` of all; at most so many `picks` are taken."""
        self.sums, self.at, rows = sums, at, sums.n[:, None]
        self.center, self.picks = sums.sum_x.sum(axis=0) / sums.n.sum(), list[int]()
        own = sums.sum_x - rows * self.center
        squares = np.einsum("fii->fi", sums.xx) - self.center * (
            2 * sums.sum_x - rows * self.center
        )
        self.scale = np.sqrt(np.maximum(squares.sum(axis=0), 0.0) / sums.n.sum())
        self.scale[self.scale == 0] = 1.0  # constant in these folds
        xx, xy = (
            squares / self.scale**2,
            (sums.xy - self.center[:, None] * sums.sum_y[:, None, :]) / self.scale[:, None],
        )
        rest, sum_y = sums.trained
        self.own, self.n, self.held = (own / self.scale)[at], rest[at, None], rows[at]
        self.mean, y = -self.own / self.n, (sum_y[at] / self.n)[:, None]
        self.penalty = penalty * self.n
        trained, tested = self.squares = np.empty((2, *self.own.shape))
        trained[:] = xx.sum(axis=0) - xx[at] - self.n * self.mean**2
        tested[:] = xx[at] - 2 * self.mean * self.own + self.held * self.mean**2
        trained, tested = self.labels = np.empty((2, *xy[at].shape))
        np.subtract(xy.sum(axis=0), xy[at], out=trained)
        trained += self.own[:, :, None] * y
        np.subtract(xy[at], self.mean[:, :, None] * sums.sum_y[at][:, None], out=tested)
        tested -= (self.own - self.held * self.mean)[:, :, None] * y
        self.labels *= np.sqrt(weights)
        self.known = np.empty((*self.squares.shape[:2], picks, len(self.center)))
        self.g = np.empty(self.known.shape[1:])

    @property
    def explained(self) -> np.ndarray:
        """(F, v) what each column explains of the labels held out."""
        share = 1 / divisor(self.squares[0], self.penalty, self.n)
        both, fit = (np.einsum("fjl,fjl->fj", self.labels[0], side) for side in self.labels[::-1])
        return 2 * both * share - fit * share**2 * self.squares[1]

    def take(self, pick: int) -> None:
        """z_j ← z_j − g_j p, r_l ← r_l − b_l p: the part of a pick out of every column and
        label."""
        products = self._products(pick)
        square = products[:, :, [pick]]
        share = 1 / divisor(square[0], self.penalty[:, [pick]], self.n)
        g, b = products[0] * share, self.labels[0, :, pick] * share
        self.squares -= g * (2 * products - g * square)
        left = products - g * square
        for side, fold in np.ndindex(*square.shape[:2]):
            own = self.labels[side, fold]
            own -= np.column_stack([left[side, fold], g[fold]]) @ np.stack([b[fold], own[pick]])
        self.g[:, len(self.picks)] = g
        self.picks.append(pick)

    def _products(self, pick: int) -> np.ndarray:
        """(2, F, v) ⟨p, z_j⟩ of the next pick."""
        k, sums, at = len(self.picks), self.sums, (slice(None), [pick])
        columns = sums.xx[:, pick] - self.center[pick] * sums.sum_x
        columns -= self.center * (sums.sum_x[at] - sums.n[:, None] * self.center[pick])
        columns /= self.scale * self.scale[pick]  # ⟨x̃_s, x̃_j⟩ about the means of all
        held = columns[self.at]
        there = columns.sum(axis=0) - held - self.n * self.mean * self.mean[at]
        here = (
            held - self.mean[at] * self.own - self.mean * (self.own[at] - self.held * self.mean[at])
        )
        own, g = self.known[:, :, k], self.g[:, :k]
        np.subtract(
            np.stack([there, here]), (g[:, None, :, pick] @ self.known[:, :, :k])[:, :, 0], out=own
        )
        if not k:
            return own.copy()
        with_picks = np.empty((*own.shape[:2], 1, k))
        for side, fold in np.ndindex(*own.shape[:2]):
            upper, right = (
                g[fold][:, self.picks],
                own[side, fold, self.picks],
            )  # below the diagonal it is not read
            with_picks[side, fold] = linalg.lapack.dtrtrs(upper, right, trans=1, unitdiag=1)[0]
        return own - (with_picks @ g)[:, :, 0]


def select_held_out(
    sums: FoldSums,
    weights: np.ndarray,
    penalty: np.ndarray,
    count: int,
    constraints: PickConstraints,
    progress: Progress = None,
) -> tuple[np.ndarray, Path, np.ndarray]:
    """(J of every feature before the first pick (v,), the picks with their J, the share that each
    explains of each fold (F, k)).

    `sums` of features that vary, `weights` (q,) of the labels, `penalty` (v,) of each; at most
    `count` are picked."""
    v, variation = sums.sum_x.shape[1], sums.variation(weights)
    pool, whole, each = Pool(v, count, constraints), positive(variation.sum()), positive(variation)
    folds = _Folds(sums, weights, penalty, pool.remaining)
    explained = folds.explained
    relevance, shares = explained.sum(axis=0) / whole, list[np.ndarray]()

    def revalue(pick: int, path: Path) -> np.ndarray:
        nonlocal explained
        shares.append(explained[:, pick] / each)
        folds.take(pick)
        explained = folds.explained
        return explained.sum(axis=0) / whole

    path = pool.run(relevance, revalue, pool.remaining, progress)
    shares += [explained[:, pick] / each for pick in path.picks[len(shares) :]]  # the last one
    return relevance, path, np.stack(shares, axis=1) if shares else np.zeros((len(sums.n), 0))


def enough(gain: np.ndarray, error: np.ndarray) -> int:
    """How many picks are enough: the fewest whose cumulative held-out `gain` is within one standard
    `error` of the largest; none where the largest is not above one."""
    best = int(np.nanargmax(gain)) if np.isfinite(gain).any() else 0
    if not len(gain) or not gain[best] > error[best]:
        return 0
    return 1 + int(np.flatnonzero(gain >= gain[best] - error[best])[0])


def nested(
    sums: FoldSums,
    weights: np.ndarray,
    penalty: np.ndarray,
    count: int,
    constraints: PickConstraints,
) -> np.ndarray:
    """(F, count) what each of the picks made without a fold explains of it: of noise nothing,
    though of many features the best seems to explain some of the rows that it was picked by. With
    two folds there are none to pick by: zeros."""
    folds = np.arange(len(sums.n))
    out, each = np.zeros((len(folds), count)), positive(sums.variation(weights))
    for f in folds if len(folds) > 2 else ():
        _, path, _ = select_held_out(sums.of(folds != f), weights, penalty, count, constraints)
        fold = _Folds(sums, weights, penalty, len(path.picks), slice(f, f + 1))
        for at, pick in enumerate(path.picks):
            out[f, at] = fold.explained[0, pick] / each[f]
            fold.take(pick)
    return out
