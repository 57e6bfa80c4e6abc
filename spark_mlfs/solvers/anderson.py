"""Guesses where an iteration is going, from its last iterates."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray

_MEMORY = 10  # iterates looked back on
_LEAST = 3  # iterates a guess needs


class Anderson:
    """The last iterates of a fixed-point iteration x ← F(x), as arrays of one shape, and a guess
    from them.

    With g_j = F(x_j) and r_j = g_j − x_j type II takes the combination of the g_j whose residuals
    cancel best,

        x = g_k − Σ_j w_j (g_{j+1} − g_j),
        w = argmin ‖r_k − Σ_j w_j (r_{j+1} − r_j)‖² + ridge·‖w‖²,

    ridge 1e-10 of the trace of the differences' Gram matrix. It may raise the objective: callers
    keep it only where it does not. Sources: Anderson 1965; Walker & Ni 2011; `affine_extrapolation`
    Bertrand & Massias 2021."""

    def __init__(self) -> None:
        self.images: list[ndarray] = []
        self.residuals: list[ndarray] = []

    def add(self, image: ndarray, residual: ndarray) -> None:
        """Add F(x) and F(x) − x of the next iterate."""
        self.images.append(image)
        self.residuals.append(residual)
        self.forget(_MEMORY + 1)

    def forget(self, remaining: int = 0) -> None:
        """Drop all iterates but the last `remaining` ones."""
        first = max(0, len(self.images) - remaining)
        del self.images[:first], self.residuals[:first]

    def restrict(self, rows: ndarray) -> None:
        """Drop all rows of the iterates but these."""
        self.images = [v[rows] for v in self.images]
        self.residuals = [v[rows] for v in self.residuals]

    def lead(self, before: Sequence[ndarray], after: Sequence[ndarray]) -> list[ndarray] | None:
        """Add the step of an iterate of several arrays; return the guess in their shapes."""
        image = np.concatenate([part.ravel() for part in after])
        point = np.concatenate([part.ravel() for part in before])
        self.add(image, image - point)
        guess = self.guess()
        if guess is None:
            return None
        ends = np.cumsum([part.size for part in after])
        pieces = np.split(guess, ends[:-1])
        return [piece.reshape(part.shape) for piece, part in zip(pieces, after, strict=True)]

    def guess(self) -> ndarray | None:
        """Guess where the iteration is going.

        None with fewer than three iterates, or where they do not determine it."""
        if len(self.images) < _LEAST:
            return None
        of_residuals = np.diff(np.array(self.residuals), axis=0)
        of_images = np.diff(np.array(self.images), axis=0)
        gram = of_residuals @ of_residuals.T
        ridge = 1e-10 * np.trace(gram)
        if not ridge > 0:
            return None
        gram[np.diag_indices_from(gram)] += ridge
        try:
            weights = np.linalg.solve(gram, of_residuals @ self.residuals[-1])
        except np.linalg.LinAlgError:
            return None
        out = self.images[-1] - weights @ of_images
        return out if np.isfinite(out).all() else None


def affine_extrapolation(points: ndarray) -> ndarray | None:
    """Guess Σ_j c_j x_{j+1} from consecutive iterates `points` (k + 1, d).

    Σ c = 1, with the shortest Σ_j c_j (x_{j+1} − x_j): for cyclic coordinate descent, of which the
    iterates are all there is. None where they do not determine it."""
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
