"""Forward selection by held-out explained variance (`methods.forward`), from second moments by fold
alone.

Of fold f, T its training rows and H those held out, every column is z_j = x̃_j − Σ_i g_ij p_i, p_i
the i-th pick as it was picked, so that all products with the next pick p = z_s follow from one
column of each fold's moments:

    ⟨p, x̃_j⟩ = ⟨x̃_s, x̃_j⟩ − Σ_i g_is ⟨p_i, x̃_j⟩,    ⟨p, z_j⟩ = ⟨p, x̃_j⟩ − Σ_i g_ij ⟨p, p_i⟩
    on T and on H,

O(v·(k + q)) operations a fold for pick k. Shrunk fits leave the picks correlated, therefore the ⟨p,
p_i⟩.

Greedy sum of squared canonical correlations (`methods.forward`), from second moments alone.

G = X'X, C = X'Y and Y'Y hold all of it: P = X'V = C·B with B = (Y'Y)^(−1/2) on its range, and a
pivoted Cholesky factor of G holds the residuals. A pick s at step k takes one column of G,

    w = (G_s − Σ_{j<k} L_js·L_j) / ‖x_s⊥‖,   ‖x_f⊥‖² ← ‖x_f⊥‖² − w_f²,   P_f ← P_f − w_f·P_s/‖x_s⊥‖,

O(v·(k + q)) operations; G is read, never copied or changed.

Minimum redundancy, maximum relevance: both from second moments, and the greedy selection by either
scheme."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from scipy import linalg

from ..kernels.gram import FoldSums, GramView, divisor, positive
from .greedy import UNCONSTRAINED, Path, PickConstraints, Pool, Progress, forward


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
    terms: PickConstraints,
    progress: Progress = None,
) -> tuple[np.ndarray, Path, np.ndarray]:
    """(J of every feature before the first pick (v,), the picks with their J, the share that each
    explains of each fold (F, k)).

    `sums` of features that vary, `weights` (q,) of the labels, `penalty` (v,) of each; at most
    `count` are picked."""
    v, variation = sums.sum_x.shape[1], sums.variation(weights)
    pool, whole, each = Pool(v, count, terms), positive(variation.sum()), positive(variation)
    folds = _Folds(sums, weights, penalty, pool.left)
    explained = folds.explained
    relevance, shares = explained.sum(axis=0) / whole, list[np.ndarray]()

    def revalue(pick: int, path: Path) -> np.ndarray:
        nonlocal explained
        shares.append(explained[:, pick] / each)
        folds.take(pick)
        explained = folds.explained
        return explained.sum(axis=0) / whole

    path = pool.run(relevance, revalue, pool.left, progress)
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
    sums: FoldSums, weights: np.ndarray, penalty: np.ndarray, count: int, terms: PickConstraints
) -> np.ndarray:
    """(F, count) what each of the picks made without a fold explains of it: of noise nothing,
    though of many features the best seems to explain some of the rows that it was picked by. With
    two folds there are none to pick by: zeros."""
    folds = np.arange(len(sums.n))
    out, each = np.zeros((len(folds), count)), positive(sums.variation(weights))
    for f in folds if len(folds) > 2 else ():
        _, path, _ = select_held_out(sums.of(folds != f), weights, penalty, count, terms)
        fold = _Folds(sums, weights, penalty, len(path.picks), slice(f, f + 1))
        for at, pick in enumerate(path.picks):
            out[f, at] = fold.explained[0, pick] / each[f]
            fold.take(pick)
    return out


SATURATED = (
    1e-10  # no feature adds more: the picks already span what the features and the labels share
)
# of the largest eigenvalue of the labels' correlations: below it labels are linearly dependent
LABEL_RANK = 1e-10


def label_basis(S: np.ndarray) -> np.ndarray:
    """(q, c) B with V = Y·B orthonormal, c the rank of the centred labels, from S = Y'Y (q, q); 0
    for labels with one value. They are brought to the same length first: a rare label is no smaller
    part of their span than a frequent one."""
    squares = np.diag(S)
    present = squares > LABEL_RANK * squares.max(initial=0.0)
    length = np.sqrt(squares[present])
    correlation = S[np.ix_(present, present)] / np.outer(length, length)
    out = np.zeros((len(S), int(present.sum())))
    if not present.any():
        return out
    values, vectors = linalg.eigh(correlation, check_finite=False)
    kept = values > LABEL_RANK * values[-1]
    out = out[:, kept]
    out[present] = vectors[:, kept] / np.sqrt(values[kept]) / length[:, None]
    return out


def select_canonical(
    view: GramView,
    count: int,
    tol: float = 0.01,
    terms: PickConstraints = UNCONSTRAINED,
    progress: Progress = None,
) -> tuple[np.ndarray, Path]:
    """(J of every feature before the first pick (v,), the picks with their J), from a centred view,
    whose G has a positive diagonal; equal J (within 1e-10) go to the smaller index.

    `count` features at most; fewer where no feature is left, or none adds anything (every J below
    1e-10). Features with ‖x_f⊥‖ ≤ tol·‖x_f‖ are linearly dependent on the picks and left out; those
    that `terms` include are picked first, J = 0 if they depend."""
    G = view.G
    squares = np.diag(G).copy()
    share = view.C @ label_basis(view.S)  # V'x_f⊥, row by row
    relevance = (share**2).sum(axis=1) / squares
    least = tol * tol * squares
    pool = Pool(len(G), count, terms, SATURATED)
    factor, size, values = np.empty((pool.left, len(G))), 0, relevance

    def revalue(pick: int, path: Path) -> np.ndarray:
        nonlocal size, squares, share, values
        if size and squares[pick] <= least[pick]:  # it depends on the picks before
            return values
        length = np.sqrt(squares[pick])
        w = (G[pick] - factor[:size, pick] @ factor[:size]) / length
        factor[size] = w
        size += 1
        squares -= w * w
        share -= np.outer(w, share[pick] / length)
        pool.open &= squares > least
        values = np.divide(
            (share**2).sum(axis=1), squares, out=np.zeros(len(G)), where=squares > least
        )
        return values

    return relevance, pool.run(relevance, revalue, pool.left, progress)


FLOOR = 1e-3  # of a correlation
NO_INFORMATION = 1e-12  # floor of an information that is divided by
COPY = 1e-10  # a correlation this near to 1 is one of identical columns
NONE = 1e-11  # a correlation this small is what rounding leaves of none
SEPARATED = 1e-12  # floor of 1 − r²


def f_relevance(view: GramView) -> np.ndarray:
    """(v,) mean over the labels of the two-class F statistic r²(n − 2)/(1 − r²), r the correlation
    of feature and 0/1 label, 1 − r² ≥ 1e-12, from a centred view. A label with one value adds 0."""
    squares = np.diag(view.S)
    # what rounding leaves of the spread of a constant 0/1 label is far below that of a single row
    two_valued = squares > 1e-6
    if not two_valued.any():
        return np.zeros(len(view.C))
    r = view.C[:, two_valued] / np.sqrt(np.diag(view.G)[:, None] * squares[two_valued])
    square = np.where(np.abs(r) <= NONE, 0.0, np.minimum(r * r, 1.0))
    return (
        max(view.n - 2, 1) * (square / np.maximum(1 - square, SEPARATED)).sum(axis=1) / len(squares)
    )


def correlation_with(G: np.ndarray, s: int) -> np.ndarray:
    """(v,) max(|r_fs|, .001) of every feature f with s; identical columns (up to sign and scale)
    have exactly 1."""
    squares = np.diag(G)
    r = np.abs(G[s]) / np.sqrt(squares * squares[s])
    return np.where(r >= 1 - COPY, 1.0, np.maximum(r, FLOOR))


def select_mrmr(
    relevance: np.ndarray,
    links: Callable[[Sequence[int]], dict[int, np.ndarray]],
    scheme: str,
    count: int,
    candidates: np.ndarray | None = None,
    ahead: int = 1,
    progress: Progress = None,
    terms: PickConstraints = UNCONSTRAINED,
) -> Path:
    """Greedy selection: the argmax of `relevance` (v,), then of that less (``"difference"``) or
    over (``"quotient"``) the mean redundancy over the picks. `links(features)` gives {s: (v,)
    redundancy of every feature with s}, asked for `ahead` at a time; only `candidates` (ascending;
    all by default) and what `terms` include are picked, `count` at most. In a quotient 0 counts as
    1e-12, and a mean redundancy of exactly 1 as infinite: a copy of all that is picked has value
    0."""
    at = np.arange(len(relevance))
    if candidates is not None:
        at = np.union1d(candidates, np.array(terms.include, int))
    first = relevance[at]

    def of(features: Sequence[int]) -> dict[int, np.ndarray]:
        asked = links([int(at[f]) for f in features])
        return {f: asked[int(at[f])][at] for f in features}

    def term(s: int, redundancy: np.ndarray) -> np.ndarray:
        return np.maximum(redundancy, NO_INFORMATION) if scheme == "quotient" else redundancy

    def value(total: np.ndarray, picks: int) -> np.ndarray:
        mean = total / picks
        return first - mean if scheme == "difference" else np.where(mean == 1.0, 0.0, first / mean)

    path = forward(first, term, value, of, min(count, len(at)), ahead, progress, terms.among(at))
    return path.spread(at, len(relevance))
