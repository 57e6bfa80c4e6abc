"""Shared by the solvers of linear problems: the form of a solution, positive definite systems, identical columns, guesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg


@dataclass
class Solution:
    """Result of a solver.

    `weights` (features × outputs) and `intercept` (outputs) are in the coordinates of the statistics given; `objective` after
    each iteration never rises; `converged`: the stopping rule was met; `iterations` taken; `extra` what only one method has."""

    weights: np.ndarray
    intercept: np.ndarray
    objective: list[float]
    converged: bool
    iterations: int
    extra: dict[str, Any] = field(default_factory=dict)


def solve_positive(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A⁻¹ B by Cholesky for symmetric A ≥ 0; the least-norm solution when A is singular to working precision."""
    if not len(A):
        return np.zeros_like(B)
    try:
        factor = linalg.cho_factor(A, lower=True, overwrite_a=False, check_finite=False)
        pivots = np.diag(factor[0])
        if pivots.min() > 1e-7 * pivots.max():  # its square bounds the condition: beyond 1e14 nothing is left
            return linalg.cho_solve(factor, B, check_finite=False)
    except linalg.LinAlgError:
        pass
    values, vectors = linalg.eigh(A, check_finite=False)
    keep = values > len(A) * np.finfo(float).eps * max(values[-1], 0.0)
    vectors = vectors[:, keep]
    return vectors @ ((vectors.T @ B) / values[keep][:, None])


def copies(G: np.ndarray) -> list[tuple[int, int, float]]:
    """(j, i, sign) for every column j equal to sign times an earlier column i, the first of its kind."""
    size = np.sqrt(np.maximum(np.diag(G), 0.0))
    first_of: dict[int, tuple[int, float]] = {}  # of a copy: the column it copies, and the sign
    for i in range(len(G)):
        if i in first_of or size[i] == 0:
            continue
        row = G[i, i + 1 :]
        rest = size[i + 1 :]
        equal = (np.abs(row) >= (1 - 1e-12) * size[i] * rest) & (np.abs(rest - size[i]) <= 1e-12 * size[i])
        for j in np.flatnonzero(equal) + i + 1:
            first_of.setdefault(int(j), (i, 1.0 if G[i, j] > 0 else -1.0))
    return [(j, i, sign) for j, (i, sign) in sorted(first_of.items())]


class Penalised:
    """A problem with the penalties p (d,) of its rows, min ½ tr W'AW − tr W'C + Σ p_i ‖w_i‖ in any norm, as one in which all are
    1: rows of p_i = 0 are solved given the others, w_0 = A_00⁻¹(C_0 − A_01 w_1) (Frisch, Waugh & Lovell; of least norm where that
    leaves a choice), and the others take v_i = p_i w_i.

    `A`, `C` of the k rows `kept`; `p` (k,) theirs; `explained` (q, q) what the free rows take off Y'HY. A row that the free ones
    determine is 0 in both: its weight is 0."""

    def __init__(self, A: np.ndarray, C: np.ndarray, penalties: np.ndarray) -> None:
        self.free, self.kept = np.flatnonzero(penalties == 0), np.flatnonzero(penalties > 0)
        self.p, k = penalties[self.kept], len(self.kept)
        across = A[np.ix_(self.free, self.kept)]
        alone = solve_positive(A[np.ix_(self.free, self.free)], np.hstack([across, C[self.free]]))
        self._by_kept, self._alone = alone[:, :k], alone[:, k:]
        self.explained = C[self.free].T @ self._alone
        before = A[np.ix_(self.kept, self.kept)]
        left, C = before - across.T @ self._by_kept, C[self.kept] - across.T @ self._alone
        gone = np.diag(left) <= 1e-10 * np.diag(before)
        left[gone] = left[:, gone] = C[gone] = 0.0
        self.A, self.C = 0.5 * (left + left.T) / np.outer(self.p, self.p), C / self.p[:, None]

    def gathered(self, W: np.ndarray) -> np.ndarray:
        """(k, q) what is solved for, of weights (d, q) of all rows."""
        return W[self.kept] * self.p[:, None]

    def weights(self, V: np.ndarray) -> np.ndarray:
        """(d, q) the weights of all rows from those (k, q) of the kept ones as they were solved for."""
        out = np.zeros((len(self.free) + len(self.kept), V.shape[1]))
        out[self.kept] = V / self.p[:, None]
        out[self.free] = self._alone - self._by_kept @ out[self.kept]
        return out


class Merged:
    """Columns that are copies (`alike`, as `copies` lists them) solved as one, whose weight they share alike: `kept` (d,) which
    are solved, `parts` (solved,) how many columns each stands for."""

    def __init__(self, alike: list[tuple[int, int, float]], d: int) -> None:
        self.alike = alike
        self.kept, parts = np.ones(d, dtype=bool), np.ones(d)
        for j, i, _ in alike:
            self.kept[j] = False
            parts[i] += 1
        self.parts = parts[self.kept]

    def gathered(self, W: np.ndarray) -> np.ndarray:
        W = W.copy()
        for j, i, sign in self.alike:
            W[i] += sign * W[j]
        return W[self.kept]

    def spread(self, W: np.ndarray) -> np.ndarray:
        out = np.zeros((len(self.kept), W.shape[1]))
        out[self.kept] = W / self.parts[:, None]
        for j, i, sign in self.alike:
            out[j] = sign * out[i]
        return out


def settled(last: float, value: float, slack: float) -> float:
    """The next entry of a falling objective's trace: a rise by no more than `slack`, its rounding, is reported as none."""
    return last if last < value <= last + slack else value


_MEMORY = 10  # iterates looked back on
_LEAST = 3  # iterates a guess needs


class Anderson:
    """The last iterates of a fixed-point iteration x ← F(x), as arrays of one shape, and a guess from them. With g_j = F(x_j) and
    r_j = g_j − x_j type II takes the combination of the g_j whose residuals cancel best,

        x = g_k − Σ_j w_j (g_{j+1} − g_j),    w = argmin ‖r_k − Σ_j w_j (r_{j+1} − r_j)‖² + ridge·‖w‖²,

    ridge 1e-10 of the trace of the differences' Gram matrix. It may raise the objective: callers keep it only where it does not.
    Sources: Anderson 1965; Walker & Ni 2011; `affine_extrapolation` Bertrand & Massias 2021."""

    def __init__(self) -> None:
        self.images: list[np.ndarray] = []
        self.residuals: list[np.ndarray] = []

    def add(self, image: np.ndarray, residual: np.ndarray) -> None:
        """F(x) and F(x) − x of the next iterate."""
        self.images.append(image)
        self.residuals.append(residual)
        self.forget(_MEMORY + 1)

    def forget(self, left: int = 0) -> None:
        first = max(0, len(self.images) - left)
        del self.images[:first], self.residuals[:first]

    def restrict(self, rows: np.ndarray) -> None:
        self.images = [v[rows] for v in self.images]
        self.residuals = [v[rows] for v in self.residuals]

    def lead(self, before: Sequence[np.ndarray], after: Sequence[np.ndarray]) -> list[np.ndarray] | None:
        """`add` the step of an iterate of several arrays from `before` to `after`; the `guess` in their shapes."""
        image = np.concatenate([part.ravel() for part in after])
        self.add(image, image - np.concatenate([part.ravel() for part in before]))
        guess = self.guess()
        if guess is None:
            return None
        pieces = np.split(guess, np.cumsum([part.size for part in after])[:-1])
        return [piece.reshape(part.shape) for piece, part in zip(pieces, after, strict=True)]

    def guess(self) -> np.ndarray | None:
        """Where the iteration may be going to; None with fewer than three iterates, or where they tell nothing."""
        if len(self.images) < _LEAST:
            return None
        dF = np.diff(np.array(self.residuals), axis=0)
        dG = np.diff(np.array(self.images), axis=0)
        gram = dF @ dF.T
        ridge = 1e-10 * np.trace(gram)
        if not ridge > 0:
            return None
        gram[np.diag_indices_from(gram)] += ridge
        try:
            weights = np.linalg.solve(gram, dF @ self.residuals[-1])
        except np.linalg.LinAlgError:
            return None
        out = self.images[-1] - weights @ dG
        return out if np.isfinite(out).all() else None


def affine_extrapolation(points: np.ndarray) -> np.ndarray | None:
    """Σ_j c_j x_{j+1} of consecutive iterates `points` (k + 1, d), Σ c = 1, with the shortest Σ_j c_j (x_{j+1} − x_j): for cyclic
    coordinate descent, whose iterates alone are at hand. None where they tell nothing."""
    steps = np.diff(points, axis=0)
    gram = steps @ steps.T
    gram[np.diag_indices_from(gram)] += 1e-12 * np.trace(gram)
    try:
        c = np.linalg.solve(gram, np.ones(len(gram)))
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(c).all() or c.sum() == 0:
        return None
    return (c / c.sum()) @ points[1:]
