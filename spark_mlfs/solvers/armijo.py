"""OMFS by the descent of its paper, which checks `l21.minimise_l21`."""

from __future__ import annotations

import numpy as np

from .problems import Solution


def omfs_armijo(
    A: np.ndarray,
    C: np.ndarray,
    gamma: float = 0.8,
    constant: float = 0.0,
    tol: float = 1e-9,
    max_iter: int = 20_000,
) -> Solution:
    """OMFS once Y ≈ VB is factorised, A = X'X (v × v), C = X'V (v × c), `constant` = ‖V‖², by the
    paper's own descent (Valadi et al., algorithm, steps 2-7) where `minimise_l21` finds the same: W
    ← W − step * gradient of

        J(W) = ‖XW − V‖² + γ Σ_i √(‖w_i‖² + e),    gradient 2(X'(XW − V) + γD W),

    D = diag(1/(2 √(‖w_i‖² + e))), the step by Armijo's rule, from W = 0. The paper leaves open: the
    gradient is divided row by row by 2 (X'X)_ii + 2 γD_ii (else rows near 0 stall the descent), the
    first trial step is Barzilai and Borwein's, and e falls by hundreds to (1e-6 of the largest row
    norm)²: J falls with it. Stops when at the last e the scaled gradient is below `tol` times its
    first size, or 100 steps lower J by less than 1e-12 relative."""
    W, q = np.zeros(C.shape, dtype=np.float64), C.shape[1]
    if not np.any(C):
        return Solution(W, np.zeros(q), [float(constant)], True, 0)
    curvature = 2 * np.diag(A)[:, None]
    e = float(np.max(np.linalg.norm(C, axis=1) / np.diag(A)) * 0.1) ** 2

    def norms(W: np.ndarray) -> np.ndarray:
        return np.sqrt((W * W).sum(axis=1) + e)

    def value(W: np.ndarray, AW: np.ndarray) -> float:
        return float((W * AW).sum() - 2 * (W * C).sum() + gamma * norms(W).sum() + constant)

    def gradient(W: np.ndarray, AW: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        inverse = 1.0 / norms(W)[:, None]
        return 2 * (AW - C) + gamma * inverse * W, curvature + gamma * inverse

    AW, first = np.zeros_like(W), None
    J, (g, metric) = value(W, AW), gradient(W, AW)
    trace: list[float] = []
    step, converged, window = 1.0, False, 0
    for _ in range(max_iter):
        P = g / metric
        slope = float((g * P).sum())
        first = slope if first is None else first
        AP, moved = A @ P, False  # the quadratic is known along the line from this one product
        while not moved and step > 1e-16:  # Armijo's rule
            W_new, AW_new = W - step * P, AW - step * AP
            J_new = value(W_new, AW_new)
            moved = J_new <= J - 1e-4 * step * slope
            step = step if moved else 0.5 * step
        if moved:
            g_new, metric_new = gradient(W_new, AW_new)
            curve = float(((W_new - W) * (g_new - g)).sum())
            step = step * step * slope / curve if curve > 0 else 2 * step
            W, AW, J, g, metric = W_new, AW_new, J_new, g_new, metric_new
        trace.append(J)
        window += 1
        e_end = (1e-6 * float(np.linalg.norm(W, axis=1).max())) ** 2
        small = slope <= tol**2 * first
        if e > e_end:
            if small or not moved or (window >= 20 and trace[-20] - J <= 1e-7 * abs(J)):
                e, window = max(e / 100, e_end), 0
        elif small or not moved or (window >= 100 and trace[-100] - J <= 1e-12 * abs(J)):
            # No step that lowers J in float64 is the end as well: the descent is at its rounding.
            converged = True
            break
        if window == 0 or len(trace) % 500 == 0:
            AW = A @ W  # the running product drifts
            J, (g, metric), step = min(J, value(W, AW)), gradient(W, AW), max(min(step, 1.0), 1e-3)
    return Solution(W, np.zeros(q), trace, converged, len(trace), {"e": e})
