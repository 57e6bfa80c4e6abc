"""OMFS by the paper's own descent along the gradient of a smoothed ℓ2,1 norm."""

from __future__ import annotations

import numpy as np

from ..kernels.gram import GramView
from .linear import Solution


def omfs_armijo(
    gram: GramView,
    cross: np.ndarray,
    gamma: float = 0.8,
    constant: float = 0.0,
    tol: float = 1e-9,
    max_iter: int = 20_000,
) -> Solution:
    """OMFS by the paper's own descent (Valadi et al., algorithm, steps 2-7): W ← W − step * gradient of

        J(W) = ‖XW − V‖² + γ Σ_i √(‖w_i‖² + e),    gradient 2(X'(XW − V) + γD W),

    D = diag(1/(2 √(‖w_i‖² + e))), the step by Armijo's rule, from W = 0. The paper leaves open: the gradient is divided row by
    row by 2 (X'X)_ii + 2 γD_ii (else rows near 0 stall the descent), the first trial step is Barzilai and Borwein's, and e
    falls by hundreds to (1e-6 of the largest row norm)²: J falls with it. Stops when at the last e the scaled gradient is
    below `tol` times its first size, or 100 steps lower J by less than 1e-12 relative.
    """
    A, C = gram.G, cross
    W = np.zeros(C.shape, dtype=np.float64)
    q = C.shape[1]
    if not np.any(C):
        return Solution(W, np.zeros(q), [float(constant)], True, 0)
    loss = _SmoothedLoss(A, C, gamma, constant)
    e = float(np.max(np.linalg.norm(C, axis=1) / np.diag(A)) * 0.1) ** 2
    AW = np.zeros_like(W)
    J, (g, metric) = loss.value(W, AW, e), loss.gradient(W, AW, e)
    first = None
    trace: list[float] = []
    step, converged, window = 1.0, False, 0
    for _ in range(max_iter):
        P = g / metric
        slope = float((g * P).sum())
        first = slope if first is None else first
        point, step = loss.search(W, AW, P, J, slope, step, e)
        if point is not None:
            W_new, AW_new, J_new = point
            g_new, metric_new = loss.gradient(W_new, AW_new, e)
            curve = float(((W_new - W) * (g_new - g)).sum())
            step = step * step * slope / curve if curve > 0 else 2 * step
            W, AW, J, g, metric = W_new, AW_new, J_new, g_new, metric_new
        trace.append(J)
        window += 1
        e_end = (1e-6 * float(np.linalg.norm(W, axis=1).max())) ** 2
        small = slope <= tol**2 * first
        if e > e_end:
            if small or point is None or (window >= 20 and trace[-20] - J <= 1e-7 * abs(J)):
                e, window = max(e / 100, e_end), 0
        elif small or point is None or (window >= 100 and trace[-100] - J <= 1e-12 * abs(J)):
            # No step that lowers J in float64 is the end as well: the descent is at its rounding.
            converged = True
            break
        if window == 0 or len(trace) % 500 == 0:
            AW = A @ W  # the running product drifts
            J, (g, metric), step = min(J, loss.value(W, AW, e)), loss.gradient(W, AW, e), max(min(step, 1.0), 1e-3)
    return Solution(W, np.zeros(q), trace, converged, len(trace), {"e": e})


class _SmoothedLoss:
    """J(W) = ‖XW − V‖² + γ Σ_i √(‖w_i‖² + e) from A = X'X (d × d), C = X'V (d × c) and ‖V‖²; AW is handed along."""

    def __init__(self, A: np.ndarray, C: np.ndarray, gamma: float, constant: float) -> None:
        self.A, self.C, self.gamma, self.constant = A, C, gamma, constant
        self.curvature = 2 * np.diag(A)[:, None]

    def norms(self, W: np.ndarray, e: float) -> np.ndarray:
        return np.sqrt((W * W).sum(axis=1) + e)

    def value(self, W: np.ndarray, AW: np.ndarray, e: float) -> float:
        return float((W * AW).sum() - 2 * (W * self.C).sum() + self.gamma * self.norms(W, e).sum() + self.constant)

    def gradient(self, W: np.ndarray, AW: np.ndarray, e: float) -> tuple[np.ndarray, np.ndarray]:
        inverse = 1.0 / self.norms(W, e)[:, None]
        return 2 * (AW - self.C) + self.gamma * inverse * W, self.curvature + self.gamma * inverse

    def search(
        self, W: np.ndarray, AW: np.ndarray, P: np.ndarray, J: float, slope: float, step: float, e: float
    ) -> tuple[tuple[np.ndarray, np.ndarray, float] | None, float]:
        """Armijo's rule along −P from `step` on: (W, AW, J) where it holds, or None, and the step."""
        AP = self.A @ P  # the quadratic is known along the line from this one product
        while step > 1e-16:
            W_new, AW_new = W - step * P, AW - step * AP
            J_new = self.value(W_new, AW_new, e)
            if J_new <= J - 1e-4 * step * slope:
                return (W_new, AW_new, J_new), step
            step *= 0.5
        return None, step
