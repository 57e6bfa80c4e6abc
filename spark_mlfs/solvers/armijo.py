"""OMFS by the descent of its paper; `l21.minimise_l21` finds the same."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from .problems import Solution


def omfs_armijo(
    A: ndarray,
    C: ndarray,
    gamma: float = 0.8,
    constant: float = 0.0,
    tol: float = 1e-9,
    max_iter: int = 20_000,
) -> Solution:
    """Solve OMFS once Y ≈ VB is factorised, by the paper's own descent.

    A = X'X (v × v), C = X'V (v × c), `constant` = ‖V‖². The descent (Valadi et al., algorithm,
    steps 2-7) is W ← W − step * gradient of

        J(W) = ‖XW − V‖² + γ Σ_i √(‖w_i‖² + e),    gradient 2(X'(XW − V) + γD W),

    D = diag(1/(2 √(‖w_i‖² + e))), the step by Armijo's rule, from W = 0. The paper leaves open: the
    gradient is divided row by row by 2 (X'X)_ii + 2 γD_ii (else rows near 0 stall the descent), the
    first trial step is Barzilai and Borwein's, and e falls by hundreds to (1e-6 of the largest row
    norm)²: J falls with it. Stops when at the last e the scaled gradient is below `tol` times its
    first size, or 100 steps lower J by less than 1e-12 relative."""
    if not np.any(C):
        zero = np.zeros(C.shape, dtype=np.float64)
        return Solution(
            zero,
            np.zeros(C.shape[1]),
            [float(constant)],
            True,
            0,
        )
    return _Descent(A, C, gamma, constant).run(tol, max_iter)


class _Descent:
    """W, AW and J, with the `gradient` at W and the `metric` that divides it, for the current e."""

    def __init__(
        self,
        A: ndarray,
        C: ndarray,
        gamma: float,
        constant: float,
    ) -> None:
        self.A, self.C = A, C
        self.gamma, self.constant = gamma, constant
        self.curvature = 2 * np.diag(A)[:, None]
        least_squares = np.linalg.norm(C, axis=1) / np.diag(A)  # of each row alone
        self.e = float(np.max(least_squares) * 0.1) ** 2
        self.W = np.zeros(C.shape, dtype=np.float64)
        self.AW = np.zeros_like(self.W)
        self.J = self.value(self.W, self.AW)
        self.gradient, self.metric = self.slopes(self.W, self.AW)
        self.length = 1.0

    def norms(self, W: ndarray) -> ndarray:
        return np.sqrt((W * W).sum(axis=1) + self.e)

    def value(self, W: ndarray, AW: ndarray) -> float:
        fit = (W * AW).sum() - 2 * (W * self.C).sum()
        return float(fit + self.gamma * self.norms(W).sum() + self.constant)

    def slopes(self, W: ndarray, AW: ndarray) -> tuple[ndarray, ndarray]:
        """Return the gradient and the metric."""
        inverse = 1.0 / self.norms(W)[:, None]
        gradient = 2 * (AW - self.C) + self.gamma * inverse * W
        return gradient, self.curvature + self.gamma * inverse

    def step(self, P: ndarray, slope: float) -> bool:
        """Step against P by Armijo's rule; return whether any step lowers J."""
        AP = self.A @ P  # the quadratic is known along the line from this one product
        while self.length > 1e-16:
            W = self.W - self.length * P
            AW = self.AW - self.length * AP
            J = self.value(W, AW)
            if J <= self.J - 1e-4 * self.length * slope:
                break
            self.length *= 0.5
        else:
            return False
        gradient, metric = self.slopes(W, AW)
        curve = float(((W - self.W) * (gradient - self.gradient)).sum())
        length = self.length
        self.length = length * length * slope / curve if curve > 0 else 2 * length
        self.W, self.AW = W, AW
        self.J = J
        self.gradient, self.metric = gradient, metric
        return True

    def refresh(self) -> None:
        """Compute all anew: the running product drifts, and e may have changed."""
        self.AW = self.A @ self.W
        self.J = min(self.J, self.value(self.W, self.AW))
        self.gradient, self.metric = self.slopes(self.W, self.AW)
        self.length = max(min(self.length, 1.0), 1e-3)

    def run(self, tol: float, max_iter: int) -> Solution:
        """Descend until the scaled gradient is small at the last e, or J rests."""
        trace: list[float] = []
        window = 0  # steps at the current e
        first = None
        converged = False

        def rests(steps: int, share: float) -> bool:
            return window >= steps and trace[-steps] - self.J <= share * abs(self.J)

        for _ in range(max_iter):
            P = self.gradient / self.metric
            slope = float((self.gradient * P).sum())
            first = slope if first is None else first
            is_stuck = not self.step(P, slope)
            trace.append(self.J)
            window += 1
            last_e = (1e-6 * float(np.linalg.norm(self.W, axis=1).max())) ** 2
            # No step that lowers J in float64 is the end as well: the descent is at its rounding.
            ends = slope <= tol**2 * first or is_stuck
            if self.e > last_e:
                if ends or rests(20, 1e-7):
                    self.e = max(self.e / 100, last_e)
                    window = 0
            elif ends or rests(100, 1e-12):
                converged = True
                break
            if window == 0 or len(trace) % 500 == 0:
                self.refresh()
        extra = {"e": self.e}
        intercept = np.zeros(self.C.shape[1])
        return Solution(
            self.W,
            intercept,
            trace,
            converged,
            len(trace),
            extra,
        )
