"""Forward selection by held-out explained variance, from second moments by fold alone
(`methods.forward`).

Of a fold f, T are its training rows and H those held out. x̃_j is feature j of unit variance, about
its mean over T. After k picks its column is what they leave of it, z_j = x̃_j − Σ_i g_ij p_i: p_i is
the i-th pick's column when it was picked, and g_ij its shrunken coefficient in x̃_j. All products
with the next pick p = z_s follow from one column of each fold's moments:

    ⟨p, x̃_j⟩ = ⟨x̃_s, x̃_j⟩ − Σ_i g_is ⟨p_i, x̃_j⟩,
    ⟨p, z_j⟩ = ⟨p, x̃_j⟩ − Σ_i g_ij ⟨p, p_i⟩    on T and on H,

O(v·(k + q)) operations a fold for pick k of v features and q labels. Shrunk fits leave the picks
correlated, therefore the ⟨p, p_i⟩."""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from scipy import linalg

from ..kernels.fold_sums import FoldSums, divisor, positive
from .pool import Path, Pool, Progress
from .units import PickConstraints


class _Folds:
    """Some folds, their columns of unit variance, about their means over the training rows.

    For both sides of each of the F folds, the training rows and those held out, it has products:
    `squares` ⟨z, z⟩ (2, F, v); `labels` √w⟨z, r⟩ (2, F, v, q), r what the picks leave of the
    labels; `known` ⟨p_i, x̃_j⟩ (2, F, k, v). `own_sums` (F, v) are those of the held-out rows,
    `own_n` (F, 1) how many they are; `mean` (F, v) is that of the `n` (F, 1) training rows."""

    def __init__(
        self,
        sums: FoldSums,
        weights: ndarray,
        penalty: ndarray,
        picks: int,
        part: slice = slice(None),
    ) -> None:
        """Take the folds of a `part` of the `sums` of all, for at most so many `picks`."""
        self.sums, self.part = sums, part
        self.picks: list[int] = []
        rows = sums.n[:, None]
        self.center = sums.sum_x.sum(axis=0) / sums.n.sum()
        squares = sums.squares - self.center * (2 * sums.sum_x - rows * self.center)
        self.scale = np.sqrt(np.maximum(squares.sum(axis=0), 0.0) / sums.n.sum())
        self.scale[self.scale == 0] = 1.0  # constant in these folds
        train_n, train_sum_y = sums.trained
        self.n = train_n[part, None]
        self.own_n = rows[part]
        self.own_sums = ((sums.sum_x - rows * self.center) / self.scale)[part]
        self.mean = -self.own_sums / self.n
        self.penalty = penalty * self.n
        self.squares = self._squares(squares / self.scale**2)
        self.labels = self._labels((train_sum_y[part] / self.n)[:, None])
        self.labels *= np.sqrt(weights)
        self.known = np.empty((*self.squares.shape[:2], picks, len(self.center)))
        self.g = np.empty(self.known.shape[1:])

    def _squares(self, xx: ndarray) -> ndarray:
        """Return ⟨x̃, x̃⟩ about the training rows' means from those about the means of all."""
        held_out = xx[self.part]
        out = np.empty((2, *self.own_sums.shape))
        out[0] = xx.sum(axis=0) - held_out - self.n * self.mean**2
        out[1] = held_out - 2 * self.mean * self.own_sums + self.own_n * self.mean**2
        return out

    def _labels(self, mean_y: ndarray) -> ndarray:
        """Return ⟨x̃, y⟩ about the training rows' means; `mean_y` (F, 1, q) is the labels'."""
        sums = self.sums
        xy = sums.xy - self.center[:, None] * sums.sum_y[:, None]
        xy = xy / self.scale[:, None]
        held_out = xy[self.part]
        out = np.empty((2, *held_out.shape))
        trained, tested = out
        np.subtract(xy.sum(axis=0), held_out, out=trained)
        trained += self.own_sums[:, :, None] * mean_y
        own_sum_y = sums.sum_y[self.part][:, None]
        np.subtract(held_out, self.mean[:, :, None] * own_sum_y, out=tested)
        tested -= (self.own_sums - self.own_n * self.mean)[:, :, None] * mean_y
        return out

    @property
    def explained(self) -> ndarray:
        """Return (F, v) what each column explains of the labels held out."""
        share = 1 / divisor(self.squares[0], self.penalty, self.n)
        trained, tested = self.labels
        across = np.einsum("fjl,fjl->fj", trained, tested)
        within = np.einsum("fjl,fjl->fj", trained, trained)
        return 2 * across * share - within * share**2 * self.squares[1]

    def take(self, pick: int) -> None:
        """Take the part of a pick out of every column and label.

        z_j ← z_j − g_j p, r_l ← r_l − b_l p."""
        columns, rows = self._step(pick, self.labels[:, :, pick])
        self._take_of_labels(columns, rows)

    def take_all(self, picks: list[int]) -> None:
        """Take the parts of some picks out, those of the labels at once.

        In between only the labels of the picks are looked at."""
        step = 2 * np.arange(len(picks))
        columns = np.empty((*self.squares.shape, 2 * len(picks)))
        rows = np.empty((*self.labels.shape[:2], 2 * len(picks), self.labels.shape[3]))
        for first, pick in zip(step.tolist(), picks, strict=True):
            before = columns[:, :, None, pick, :first] @ rows[:, :, :first]
            labels = self.labels[:, :, pick] - before[:, :, 0]
            place = slice(first, first + 2)
            columns[..., place], rows[:, :, place] = self._step(pick, labels)
        self._take_of_labels(columns, rows)

    def _take_of_labels(self, columns: ndarray, rows: ndarray) -> None:
        for side, fold in np.ndindex(*rows.shape[:2]):
            self.labels[side, fold] -= columns[side, fold] @ rows[side, fold]

    def _step(self, pick: int, labels: ndarray) -> tuple[ndarray, ndarray]:
        """Take a pick out of every column; return what to take from the labels of columns.

        As (2, F, v, 2) and (2, F, 2, q), whose product it is; `labels` (2, F, q) are the pick's."""
        products = self._products(pick)
        square = products[:, :, [pick]]
        share = 1 / divisor(square[0], self.penalty[:, [pick]], self.n)
        g = products[0] * share
        b = labels[0] * share
        self.squares -= g * (2 * products - g * square)
        remaining = products - g * square
        self.g[:, len(self.picks)] = g
        self.picks.append(pick)
        columns = np.stack([remaining, np.broadcast_to(g, remaining.shape)], axis=3)
        return columns, np.stack([np.broadcast_to(b, labels.shape), labels], axis=2)

    def _products(self, pick: int) -> ndarray:
        """Return (2, F, v) ⟨p, z_j⟩ of the next pick."""
        k = len(self.picks)
        g = self.g[:, :k]
        known = self.known[:, :, k]
        of_picks = g[:, None, :, pick] @ self.known[:, :, :k]
        np.subtract(self._centred_products(pick), of_picks[:, :, 0], out=known)
        if not k:
            return known.copy()
        with_picks = np.empty((*known.shape[:2], 1, k))
        for side, fold in np.ndindex(*known.shape[:2]):
            upper = g[fold][:, self.picks]  # below the diagonal it is not read
            right = known[side, fold, self.picks]
            with_picks[side, fold] = linalg.lapack.dtrtrs(upper, right, trans=1, unitdiag=1)[0]
        return known - (with_picks @ g)[:, :, 0]

    def _centred_products(self, pick: int) -> ndarray:
        """Return (2, F, v) ⟨x̃_s, x̃_j⟩ of a pick s, about the training rows' means."""
        sums = self.sums
        center = self.center[pick]
        columns = sums.products(pick) - center * sums.sum_x
        deviation = sums.sum_x[:, [pick]] - sums.n[:, None] * center
        columns -= self.center * deviation
        columns /= self.scale * self.scale[pick]  # ⟨x̃_s, x̃_j⟩ about the means of all
        held_out = columns[self.part]
        mean = self.mean[:, [pick]]
        trained = columns.sum(axis=0) - held_out - self.n * self.mean * mean
        shift = self.mean * (self.own_sums[:, [pick]] - self.own_n * mean)
        tested = held_out - mean * self.own_sums - shift
        return np.stack([trained, tested])


def select_held_out(
    sums: FoldSums,
    weights: ndarray,
    penalty: ndarray,
    count: int,
    constraints: PickConstraints,
    progress: Progress = None,
) -> tuple[ndarray, Path, ndarray]:
    """Return J of every feature before the first pick, the picks, and their shares.

    J (v,) is the part of the labels' held-out variance that a feature explains beside the picks.
    The picks have their J; shares (F, k) are the same of each fold. `sums` are of features that
    vary, with a `penalty` (v,) each, `weights` (q,) of the labels; at most `count` are picked."""
    variation = sums.variation(weights)
    total = positive(variation.sum())
    by_fold = positive(variation)
    pool = Pool(sums.sum_x.shape[1], count, constraints)
    folds = _Folds(sums, weights, penalty, pool.remaining)
    explained = folds.explained
    relevance = explained.sum(axis=0) / total
    shares: list[ndarray] = []

    def revalue(pick: int, path: Path) -> ndarray:
        nonlocal explained
        shares.append(explained[:, pick] / by_fold)
        folds.take(pick)
        explained = folds.explained
        return explained.sum(axis=0) / total

    path = pool.run(relevance, revalue, pool.remaining, progress)
    shares += [explained[:, pick] / by_fold for pick in path.picks[len(shares) :]]  # the last one
    if not shares:
        return relevance, path, np.zeros((len(sums.n), 0))
    return relevance, path, np.stack(shares, axis=1)


def gains_beside(
    sums: FoldSums,
    weights: ndarray,
    penalty: ndarray,
    picks: ndarray,
) -> ndarray:
    """Return (v,) J of every feature beside the `picks`, taken in their order."""
    folds = _Folds(sums, weights, penalty, len(picks))
    folds.take_all(picks.tolist())
    return np.asarray(folds.explained.sum(axis=0) / positive(sums.variation(weights).sum()))


def enough(gain: ndarray, error: ndarray) -> int:
    """Return how many picks are enough.

    The fewest whose cumulative held-out `gain` is within one standard `error` of the largest; none
    where the largest is not above its standard error."""
    best = int(np.nanargmax(gain)) if np.isfinite(gain).any() else 0
    if not len(gain) or not gain[best] > error[best]:
        return 0
    return 1 + int(np.flatnonzero(gain >= gain[best] - error[best])[0])


def nested(
    sums: FoldSums,
    weights: ndarray,
    penalty: ndarray,
    count: int,
    constraints: PickConstraints,
) -> ndarray:
    """Return (F, count) what each of the picks made without a fold explains of it.

    So the gains are not those of the rows that the picks were made by, of which the best of many
    features explains some even where all are noise. With two folds there are none to pick by:
    zeros."""
    folds = np.arange(len(sums.n))
    out = np.zeros((len(folds), count))
    if len(folds) <= 2:
        return out
    variation = positive(sums.variation(weights))
    for f in folds:
        _, path, _ = select_held_out(
            sums.of(folds != f),
            weights,
            penalty,
            count,
            constraints,
        )
        fold = _Folds(
            sums,
            weights,
            penalty,
            len(path.picks),
            slice(f, f + 1),
        )
        for i, pick in enumerate(path.picks):
            out[f, i] = fold.explained[0, pick] / variation[f]
            fold.take(pick)
    return out
