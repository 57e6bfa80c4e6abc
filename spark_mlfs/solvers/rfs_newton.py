"""RFS on rows held in memory, by Newton steps on the weights: no scans, quadratic convergence.

    min Σ_i m_i‖W'x_i + b − y_i‖ + γ‖W‖₂,₁,        X n × d, Y n × q, row weights m > 0 (1)

Where rows are few a feature, many are fitted exactly, and their weights 1/(2‖r_i‖) grow without
bound. With t ≤ t²/x + x/4 for every residual and every row of W, what is left is the minimisation
of the convex, smooth

    g(x, s) = max over U, 1'U = 0:  2 tr U'Y − tr U'NU + (Σ m x + γ Σ s)/4,    N = diag(x/m) + X
    diag(s) X'/γ,

over x ≥ 2 floor (n) and s ≥ eps (d), the Huberised problem that reweighting solves too. U = N⁻¹ (Y
− 1b') and residual = diag(x/m) U, W = diag(s) V/γ, V = X'U. N stays well conditioned as x → 0,
unlike X' diag(m/x) X. With P the inverse of N on 1'U = 0, E = [diag(1/m), X/γ] and Z = [U; V],

    g' = (m_i/4 − ‖u_i‖²/m_i, γ/4 − ‖v_j‖²/γ),     g'' = 2 (E'PE) ∘ (ZZ')."""

from __future__ import annotations

import numpy as np
from scipy import linalg

from .box_newton import BoxNewton
from .l21 import EPS, huber
from .l21_scans import residual_floor
from .problems import Merged, Solution, copies, settled

_REWEIGHTINGS = 6  # before the first Newton step


class _State:
    """Everything at (x, s): the factor of N, U, V, W, b, the residual norms and the Huberised
    objective."""

    def __init__(
        self,
        X: np.ndarray,
        Y: np.ndarray,
        mass: np.ndarray,
        gamma: float,
        weights: np.ndarray,
        floor: np.ndarray,
    ) -> None:
        n = len(X)
        x, s = weights[:n], weights[n:]
        N = (X * (s / gamma)) @ X.T
        N[np.diag_indices_from(N)] += x / mass
        self.factor = linalg.cho_factor(N.T, lower=True, overwrite_a=True, check_finite=False)
        both = linalg.cho_solve(self.factor, np.column_stack([Y, np.ones(n)]), check_finite=False)
        self.one = both[:, -1]
        self.b = both[:, :-1].sum(axis=0) / self.one.sum()
        self.U = both[:, :-1] - np.outer(self.one, self.b)
        self.V = X.T @ self.U
        self.W = s[:, None] * self.V / gamma
        residuals = np.linalg.norm(X @ self.W + self.b - Y, axis=1)
        self.norms = np.concatenate([residuals, np.linalg.norm(self.W, axis=1)])
        self.value = float(
            (mass * huber(residuals, floor[:n])).sum()
            + gamma * huber(self.norms[n:], floor[n:]).sum()
        )


def rfs_newton(
    X: np.ndarray,
    Y: np.ndarray,
    gamma: float = 1.0,
    tol: float = 1e-9,
    max_iter: int = 500,
    mass: np.ndarray | None = None,
) -> Solution:
    """The optimum of `l21_scans.rfs` from the rows themselves; the module's docstring has the
    formulas.

    X n × d dense (any centring: the bias is free), Y n × q; `mass` (n,) positive row weights, None:
    all 1. Start, floors (1e-8 of mean ‖y_i − mean y‖; 1e-10 of the largest 2‖w_i‖ of the first
    iterate) and stopping rule max|ΔW| ≤ tol max|W| are the same. Identical columns share their
    weight alike. `iterations` counts solves, each n³ + (n + d)³; memory is about four (n + d)²
    arrays. `objective` never rises. `extra["dual"]` is T = 2U (n × q): at the optimum ‖t_i‖ ≤ m_i,
    ‖X_j'T‖ ≤ γ, 1'T = 0 and tr T'Y is the objective, an independent certificate."""
    X, Y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    mass = np.ones(len(X)) if mass is None else np.asarray(mass, dtype=np.float64)
    # Copies of a row count as one of their weight: N would be nearly singular where they are fitted
    # exactly. In an order of their own, so that neither the order of the rows nor how one is
    # repeated changes a bit.
    _, first, kind = np.unique(
        np.column_stack([X, Y]), axis=0, return_index=True, return_inverse=True
    )
    kind, each = kind.ravel(), mass
    X, Y, mass = X[first], Y[first], np.bincount(kind, each)
    # The same penalty as for the single columns: w/m each. Rounding would otherwise decide how they
    # share.
    alike = [
        (j, i, sign)
        for j, i, sign in copies(X.T @ X)
        if np.abs(X[:, j] - sign * X[:, i]).max() <= 1e-11
    ]
    merged = Merged(alike, X.shape[1])
    solution = _solve(
        X[:, merged.kept] if alike else X, Y, mass, gamma, merged.parts, tol, max_iter
    )
    solution.weights = merged.spread(solution.weights)
    solution.extra["dual"] = solution.extra["dual"][kind] * (each / mass[kind])[:, None]
    return solution


def _solve(
    X: np.ndarray,
    Y: np.ndarray,
    mass: np.ndarray,
    gamma: float,
    parts: np.ndarray,
    tol: float,
    max_iter: int,
) -> Solution:
    n, d = X.shape
    floor = np.concatenate([np.full(n, 2 * residual_floor(Y, mass)), np.zeros(d)])
    weights = np.concatenate([np.full(n, gamma), parts])  # R = diag(m)/γ, D = I
    state = _State(X, Y, mass, gamma, weights, floor)
    eps = EPS * 2 * float((state.norms[n:] / parts).max(initial=0.0))
    if eps == 0:
        return Solution(state.W, state.b, [state.value], True, 1, {"eps": eps, "dual": 2 * state.U})
    floor[n:] = eps * parts
    trace, solves, converged = [state.value], 1, False
    damping, newton = 1e-2, None
    weights = np.maximum(2 * state.norms, floor)
    while solves < max_iter and not converged:
        new = _State(X, Y, mass, gamma, weights, floor)
        solves += 1
        slack = 1e-14 * trace[-1]
        if (
            newton is not None and not new.value <= trace[-1] + slack
        ):  # damp, or fall back to a reweighting
            damping = min(30 * damping, 1.0)
            if damping < 1:
                weights = newton.step(damping)
            else:
                newton, weights = None, np.maximum(2 * state.norms, floor)
            continue
        converged = bool(np.abs(new.W - state.W).max() <= tol * np.abs(new.W).max())
        idle = (
            newton is not None and trace[-1] - new.value <= slack
        )  # the rest is below the objective's rounding
        if newton is not None:
            damping = max(0.1 * damping, 1e-12)
        trace.append(settled(trace[-1], new.value, 1e-12 * trace[-1]))
        state, at, newton = new, weights, None
        weights = np.maximum(2 * state.norms, floor)
        if solves >= _REWEIGHTINGS and not idle and not converged:
            newton = _newton(X, mass, gamma, state, at, floor)
            weights = newton.step(damping)
    return Solution(state.W, state.b, trace, converged, solves, {"eps": eps, "dual": 2 * state.U})


def _newton(
    X: np.ndarray,
    mass: np.ndarray,
    gamma: float,
    state: _State,
    weights: np.ndarray,
    floor: np.ndarray,
) -> BoxNewton:
    n, d = X.shape
    P = linalg.cho_solve(state.factor, np.eye(n), overwrite_b=True, check_finite=False)
    P -= np.outer(state.one, state.one / state.one.sum())
    H = np.zeros((n + d, n + d))
    H[n:, :n] = X.T @ P / gamma
    H[n:, n:] = H[n:, :n] @ X / gamma
    H[n:, :n] /= mass
    P /= mass
    P /= mass[:, None]
    H[:n, :n] = P
    del P
    Z, s = np.concatenate([state.U, state.V]), np.sqrt(weights)
    for first in range(0, n + d, 512):
        part = slice(first, first + 512)
        H[first:, part] *= (Z[first:] @ Z[part].T) * s[first:, None] * s[part]
    top = np.concatenate(
        [mass, np.full(d, gamma)]
    )  # the penalty of each norm: ‖z‖ ≤ top/2 at the optimum
    size = np.linalg.norm(Z, axis=1)
    return BoxNewton(H, s * size**2 / top * (1 - 2 * size / top), weights, floor, top / 4)
