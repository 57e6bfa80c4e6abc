"""Damped Newton steps for a convex, smooth function of unknowns with a floor."""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from scipy import linalg


class BoxNewton:
    """Damped Newton steps for a convex, smooth g(x) over x ≥ floor.

    The scaled unknowns are y = p / √x, p = dx.

    H (its lower triangle is read) and g are the scaled Hessian and right-hand side, `unit` what H's
    diagonal is at most near the optimum: H + damping * unit with a large damping is a short
    reweighting. What crosses the floor is fixed there, so steps along directions in which H is
    nearly singular (near copies of a column) end where a row vanishes."""

    def __init__(
        self,
        H: ndarray,
        g: ndarray,
        x: ndarray,
        floor: ndarray,
        unit: float | ndarray,
    ):
        self.H, self.g = H, g
        self.x, self.floor = x, floor
        self.s = np.sqrt(x)
        self.unit = np.broadcast_to(unit, x.shape)

    @classmethod
    def of_l21(
        cls,
        factor: ndarray,
        W: ndarray,
        x: ndarray,
        beta: float,
        floor: ndarray,
    ) -> BoxNewton:
        """Return the steps of the ℓ2,1 problem at x, for W = W(x).

        With M = sAs + βI = LL' (overwritten), s² = x and r_i = (C − AW)_i = β w_i/x_i:

            g'_i = β/4 − ‖r_i‖²/β,   g'' = (2/β) K ∘ (RR'),   K = s⁻¹ (I − βM⁻¹) s⁻¹ = A (βI +
            xA)⁻¹.

        In y, up to the factor 2/β, H = (I − βM⁻¹) ∘ RR'. The right-hand side is that of Newton's
        method on 1/‖r_i‖ = 2/β, as in trust regions: for one coordinate alone 1/‖r‖ is linear in x,
        and rows that vanish are not overshot."""
        R = W * (beta / x)[:, None]
        size = np.linalg.norm(R, axis=1)
        H, _ = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
        H *= -beta
        H[np.diag_indices_from(H)] += 1.0
        for first in range(0, len(x), 512):
            part = slice(first, first + 512)
            H[first:, part] *= R[first:] @ R[part].T
        g = np.sqrt(x) * size**2 * (1 - 2 * size / beta)
        return cls(
            H,
            g,
            x,
            floor,
            beta * beta / 4,
        )

    def step(self, damping: float) -> ndarray:
        """Return the x to try next; no row below its floor."""
        lowest = (self.floor - self.x) / self.s
        free = (self.x > self.floor) | (self.g < 0)
        y = np.zeros(len(self.x))
        fixed = np.zeros(0, dtype=np.int64)  # those the model itself brought to the floor
        for _ in range(6):
            rows = np.flatnonzero(free)
            H = self.H[np.ix_(rows, rows)]
            H[np.diag_indices_from(H)] += damping * self.unit[rows]
            rhs = -self.g[rows]
            if len(fixed):
                rhs -= self._between(rows, fixed) @ lowest[fixed]
            try:
                factor = linalg.cho_factor(H.T, lower=False, overwrite_a=True, check_finite=False)
            except linalg.LinAlgError:
                return np.maximum(self.x - self.s * self.g / self.unit, self.floor)
            y[rows] = linalg.cho_solve(factor, rhs, check_finite=False)
            crossing = rows[y[rows] < lowest[rows]]
            if not len(crossing):
                break
            free[crossing] = False
            y[crossing] = lowest[crossing]
            fixed = np.concatenate([fixed, crossing])
        return np.maximum(self.x + self.s * y, self.floor)

    def _between(self, rows: ndarray, fixed: ndarray) -> ndarray:
        """Return the rows × fixed part of H, from its lower triangle."""
        below = self.H[np.ix_(rows, fixed)]
        above = self.H[np.ix_(fixed, rows)].T
        return np.where(rows[:, None] >= fixed, below, above)
