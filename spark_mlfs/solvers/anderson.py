"""Guesses where an iteration is going, from its last iterates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

_MEMORY = 10  # iterates looked back on
_LEAST = 3  # iterates a guess needs


class Anderson:
    """The last iterates of a fixed-point iteration x ← F(x), as arrays of one shape, and a guess
    from them. With g_j = F(x_j) and r_j = g_j − x_j type II takes the combination of the g_j whose
    residuals cancel best,

        x = g_k − Σ_j w_j (g_{j+1} − g_j),    w = argmin ‖r_k − Σ_j w_j (r_{j+1} − r_j)‖² +
        ridge·‖w‖²,

    ridge 1e-10 of the trace of the differences' Gram matrix. It may raise the objective: callers
    keep it only where it does not. Sources: Anderson 1965; Walker & Ni 2011; `affine_extrapolation`
    Bertrand & Massias 2021."""

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

    def lead(
        self, before: Sequence[np.ndarray], after: Sequence[np.ndarray]
    ) -> list[np.ndarray] | None:
        """`add` the step of an iterate of several arrays from `before` to `after`; the `guess` in
        their shapes."""
        image = np.concatenate([part.ravel() for part in after])
        self.add(image, image - np.concatenate([part.ravel() for part in before]))
        guess = self.guess()
        if guess is None:
            return None
        pieces = np.split(guess, np.cumsum([part.size for part in after])[:-1])
        return [piece.reshape(part.shape) for piece, part in zip(pieces, after, strict=True)]

    def guess(self) -> np.ndarray | None:
        """Where the iteration may be going to; None with fewer than three iterates, or where they
        tell nothing."""
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
    """Σ_j c_j x_{j+1} of consecutive iterates `points` (k + 1, d), Σ c = 1, with the shortest Σ_j
    c_j (x_{j+1} − x_j): for cyclic coordinate descent, whose iterates alone are at hand. None where
    they tell nothing."""
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
