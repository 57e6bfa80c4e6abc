"""Forward selection by held-out explained variance (`methods.forward`), from second moments by fold alone.

Of fold f, T its training rows and H those held out, every column is z_j = x̃_j − Σ_i g_ij p_i, p_i the i-th pick as it was picked,
so that all products with the next pick p = z_s follow from one column of each fold's moments:

    ⟨p, x̃_j⟩ = ⟨x̃_s, x̃_j⟩ − Σ_i g_is ⟨p_i, x̃_j⟩,    ⟨p, z_j⟩ = ⟨p, x̃_j⟩ − Σ_i g_ij ⟨p, p_i⟩    on T and on H,

O(v·(k + q)) operations a fold for pick k. Shrunk fits leave the picks correlated, therefore the ⟨p, p_i⟩."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from scipy import linalg

from ..kernels.gram import FoldSums, divisor, positive
from .greedy import UNCONSTRAINED, Path, PickConstraints, Pool


class _Side:
    """Products over some rows of a fold, the training rows or the held-out ones: ⟨z, z⟩ (v,), √w⟨z, r⟩ (v, q), and those of the
    picks."""

    def __init__(self, squares: np.ndarray, labels: np.ndarray, picks: int) -> None:
        self.squares, self.labels = squares, labels
        self.with_columns = np.empty((picks, len(squares)))  # ⟨p_i, x̃_j⟩
        self.with_pick = np.empty(0)

    def products(self, column: np.ndarray, pick: int, before: list[int], g: np.ndarray) -> np.ndarray:
        """(v,) ⟨p, z_j⟩ of the next pick, whose `column` is ⟨x̃_s, x̃_j⟩; `g` (k, v) of the picks `before`."""
        k = len(before)
        own, known = self.with_columns[k], self.with_columns[:k]
        np.subtract(column, g[:, pick] @ known, out=own)
        if not k:
            return own.copy()
        lower = np.tril(g[:, before].T, -1) + np.eye(k)
        return own - linalg.solve_triangular(lower, own[before], lower=True, unit_diagonal=True, check_finite=False) @ g

    def take(self, products: np.ndarray, pick: int, g: np.ndarray, b: np.ndarray) -> None:
        """z_j ← z_j − g_j p, r_l ← r_l − b_l p."""
        square = products[pick]
        self.squares -= g * (2 * products - g * square)
        self.labels -= np.column_stack([products - g * square, g]) @ np.stack([b, self.labels[pick]])


class _Fold:
    """A fold, its columns of unit variance, about their means over the training rows."""

    def __init__(self, at: int, z: FoldSums, root: np.ndarray, penalty: np.ndarray, picks: int) -> None:
        """Fold number `at` of `z`, sums of the scaled columns about the means over all rows, with ``xx`` (F, v) squares alone."""
        self.at, self.n, self.held = at, z.trained[0][at], z.n[at]
        self.penalty, self.own, y = penalty * self.n, z.sum_x[at], z.trained[1][at] / self.n
        self.mean = -self.own / self.n
        squares = z.xx.sum(axis=0) - z.xx[at] - self.n * self.mean**2
        labels = z.xy.sum(axis=0) - z.xy[at] + np.outer(self.own, y)
        self.trained = _Side(squares, labels * root, picks)
        squares = z.xx[at] - 2 * self.mean * self.own + self.held * self.mean**2
        labels = z.xy[at] - np.outer(self.mean, z.sum_y[at]) - np.outer(self.own - self.held * self.mean, y)
        self.tested = _Side(squares, labels * root, picks)
        self.g = np.empty((picks, len(self.own)))

    @property
    def explained(self) -> np.ndarray:
        """(v,) what each column explains of the labels held out."""
        share = 1 / divisor(self.trained.squares, self.penalty, self.n)
        both = np.einsum("jl,jl->j", self.trained.labels, self.tested.labels)
        fit = np.einsum("jl,jl->j", self.trained.labels, self.trained.labels)
        return 2 * both * share - fit * share**2 * self.tested.squares

    def take(self, pick: int, before: list[int], columns: np.ndarray) -> None:
        """The pick's part out of every column and label; `columns` (F, v) ⟨x̃_s, x̃_j⟩ of each fold about the means of all."""
        k, held = len(before), columns[self.at]
        here = held - self.mean[pick] * self.own - self.mean * (self.own[pick] - self.held * self.mean[pick])
        there = columns.sum(axis=0) - held - self.n * self.mean * self.mean[pick]
        products = self.trained.products(there, pick, before, self.g[:k])
        tested = self.tested.products(here, pick, before, self.g[:k])
        share = 1 / divisor(products[pick], self.penalty[pick], self.n)
        g, b = products * share, self.trained.labels[pick] * share
        self.trained.take(products, pick, g, b)
        self.tested.take(tested, pick, g, b)
        self.g[k] = g


def select(
    sums: FoldSums,
    weights: np.ndarray,
    penalty: np.ndarray | float,
    count: int,
    terms: PickConstraints = UNCONSTRAINED,
    progress: Callable[[int, int], None] | None = None,
) -> tuple[np.ndarray, Path, np.ndarray]:
    """(J of every feature before the first pick (v,), the picks with their J, the share that each explains of each fold (F, k)).

    `sums` of features that vary, `weights` (q,) of the labels, `penalty` of all features or (v,) of each; at most `count` are
    picked."""
    center, own = sums.sum_x.sum(axis=0) / sums.n.sum(), sums.n[:, None]
    squares = np.einsum("fii->fi", sums.xx) - center * (2 * sums.sum_x - own * center)
    scale = np.sqrt(np.maximum(squares.sum(axis=0), 0.0) / sums.n.sum())
    scale[scale == 0] = 1.0  # constant in these folds
    pool, penalty = Pool(len(center), count, terms), np.broadcast_to(penalty, len(center))
    z = replace(
        sums,
        sum_x=(sums.sum_x - own * center) / scale,
        xx=squares / scale**2,
        xy=(sums.xy - center[:, None] * sums.sum_y[:, None, :]) / scale[:, None],
    )
    folds = [_Fold(at, z, np.sqrt(weights), penalty, pool.left) for at in range(len(sums.n))]
    variation = sums.variation(weights)
    whole, each = positive(variation.sum()), positive(variation)
    explained = np.stack([fold.explained for fold in folds])
    relevance, shares = explained.sum(axis=0) / whole, list[np.ndarray]()

    def revalue(pick: int, path: Path) -> np.ndarray:
        nonlocal explained
        shares.append(explained[:, pick] / each)
        columns = sums.xx[:, pick] - center[pick] * sums.sum_x - center * (sums.sum_x[:, [pick]] - own * center[pick])
        columns /= scale * scale[pick]
        for fold in folds:
            fold.take(pick, path.picks[:-1], columns)
        explained = np.stack([fold.explained for fold in folds])
        return explained.sum(axis=0) / whole

    path = pool.run(relevance, revalue, pool.left, progress)
    shares += [explained[:, pick] / each for pick in path.picks[len(shares) :]]  # the last one
    return relevance, path, np.stack(shares, axis=1) if shares else np.zeros((len(folds), 0))


def enough(gain: np.ndarray, error: np.ndarray) -> int:
    """How many picks are enough: the fewest whose cumulative held-out `gain` is within one standard `error` of the largest; none
    where the largest is not above one."""
    best = int(np.nanargmax(gain)) if np.isfinite(gain).any() else 0
    if not len(gain) or not gain[best] > error[best]:
        return 0
    return 1 + int(np.flatnonzero(gain >= gain[best] - error[best])[0])


def nested(
    sums: FoldSums, weights: np.ndarray, penalty: np.ndarray | float, count: int, terms: PickConstraints = UNCONSTRAINED
) -> np.ndarray:
    """(F, count) what each of the picks made without a fold explains of it: of noise nothing, though of many features the best
    seems to explain some of the rows that it was picked by. With two folds there are none to pick by: zeros."""
    folds = np.arange(len(sums.n))
    out = np.zeros((len(folds), count))
    for f in folds if len(folds) > 2 else ():
        _, path, _ = select(sums.of(folds != f), weights, penalty, count, terms)
        given = PickConstraints(include=tuple(int(pick) for pick in path.picks))
        _, _, shares = select(sums, weights, penalty, len(path.picks), given)
        out[f, : len(path.picks)] = shares[f]
    return out
