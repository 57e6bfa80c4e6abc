"""RFS on rows held in memory, by Newton steps on the weights: no scans, quadratic convergence.

    min Σ_i m_i‖W'x_i + b − y_i‖ + γ‖W‖₂,₁,        X n × d, Y n × q, row weights m > 0

Where rows are few a feature, many are fitted exactly, and their weights 1/(2‖r_i‖) grow without
bound. With t ≤ t²/x + x/4 for every residual and every row of W, what is left is the minimisation
of the convex, smooth

    g(x, s) = max over U, 1'U = 0:  2 tr U'Y − tr U'NU + (Σ m x + γ Σ s)/4,
    N = diag(x/m) + X diag(s) X'/γ,

over x ≥ 2 floor (n) and s ≥ eps (d), the Huberised problem that reweighting solves too. U = N⁻¹ (Y
− 1b') and residual = diag(x/m) U, W = diag(s) V/γ, V = X'U. N stays well conditioned as x → 0,
unlike X' diag(m/x) X. With P the inverse of N on 1'U = 0, E = [diag(1/m), X/γ] and Z = [U; V],

    g' = (m_i/4 − ‖u_i‖²/m_i, γ/4 − ‖v_j‖²/γ),     g'' = 2 (E'PE) ∘ (ZZ')."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray
from scipy import linalg

from .box_newton import BoxNewton
from .l21 import EPS, huber
from .l21_scans import residual_floor
from .problems import Merged, Solution, at_rest, copies, settled

_REWEIGHTINGS = 6  # before the first Newton step


@dataclass
class _Problem:
    """Distinct rows X (n × d) and Y (n × q) of positive `mass` (n,), and the penalty γ.

    `floor` (n + d,) of every x and s."""

    X: ndarray
    Y: ndarray
    mass: ndarray
    gamma: float
    floor: ndarray


class _State:
    """Everything at (x, s): the factor of N, U, V, W, b, the residual norms and the Huberised
    objective."""

    def __init__(self, problem: _Problem, weights: ndarray) -> None:
        X = problem.X
        mass = problem.mass
        gamma = problem.gamma
        n = len(X)
        x = weights[:n]
        s = weights[n:]
        N = (X * (s / gamma)) @ X.T
        N[np.diag_indices_from(N)] += x / mass
        self.factor = linalg.cho_factor(N.T, lower=True, overwrite_a=True, check_finite=False)
        right = np.column_stack([problem.Y, np.ones(n)])
        solved = linalg.cho_solve(self.factor, right, check_finite=False)
        self.one = solved[:, -1]
        of_labels = solved[:, :-1]
        self.b = of_labels.sum(axis=0) / self.one.sum()
        self.U = of_labels - np.outer(self.one, self.b)
        self.V = X.T @ self.U
        self.W = s[:, None] * self.V / gamma
        residuals = np.linalg.norm(X @ self.W + self.b - problem.Y, axis=1)
        self.norms = np.concatenate([residuals, np.linalg.norm(self.W, axis=1)])
        loss = (mass * huber(residuals, problem.floor[:n])).sum()
        penalty = huber(self.norms[n:], problem.floor[n:]).sum()
        self.value = float(loss + gamma * penalty)

    def image(self, floor: ndarray) -> ndarray:
        """Return the (x, s) of the plain reweighting step."""
        return np.maximum(2 * self.norms, floor)


def rfs_newton(
    X: ndarray,
    Y: ndarray,
    gamma: float = 1.0,
    tol: float = 1e-9,
    max_iter: int = 500,
    mass: ndarray | None = None,
) -> Solution:
    """Return the optimum of `l21_scans.rfs` from the rows themselves.

    The module's docstring has the formulas. X n × d dense (any centring: the bias is free), Y n ×
    q; `mass` (n,) positive row weights, None: all 1. Start, floors (1e-8 of mean ‖y_i − mean y‖;
    1e-10 of the largest 2‖w_i‖ of the first iterate) and stopping rule max|ΔW| ≤ tol max|W| are the
    same. Identical columns share their weight alike. `iterations` counts solves, each n³ + (n +
    d)³; memory is about four (n + d)² arrays. `objective` never rises. `extra["dual"]` is T = 2U (n
    × q): at the optimum ‖t_i‖ ≤ m_i, ‖X_j'T‖ ≤ γ, 1'T = 0 and tr T'Y is the objective, an
    independent certificate."""
    X = np.asarray(X, dtype=np.float64)
    Y = np.asarray(Y, dtype=np.float64)
    row_mass = np.ones(len(X)) if mass is None else np.asarray(mass, dtype=np.float64)
    # Copies of a row count as one of their weight: N would be nearly singular where they are fitted
    # exactly. In an order of their own, so that neither the order of the rows nor how one is
    # repeated changes a bit.
    rows = np.column_stack([X, Y])
    _, first, kind = np.unique(rows, axis=0, return_index=True, return_inverse=True)
    del rows
    kind = kind.ravel()
    X = X[first]
    Y = Y[first]
    mass = np.bincount(kind, row_mass)
    # The same penalty as for the single columns: w/m each. Rounding would otherwise decide how they
    # share.
    equal_columns = []
    for j, i, sign in copies(X.T @ X):
        difference = X[:, j] - sign * X[:, i]
        if np.abs(difference).max() <= 1e-11:
            equal_columns.append((j, i, sign))
    merged = Merged(equal_columns, X.shape[1])
    if equal_columns:
        X = X[:, merged.is_solved]
    floor = np.zeros(sum(X.shape))
    floor[: len(X)] = 2 * residual_floor(Y, mass)
    solution = _solve(
        _Problem(
            X,
            Y,
            mass,
            gamma,
            floor,
        ),
        merged.parts,
        tol,
        max_iter,
    )
    solution.weights = merged.spread(solution.weights)
    share = row_mass / mass[kind]
    solution.extra["dual"] = solution.extra["dual"][kind] * share[:, None]
    return solution


def _solve(
    problem: _Problem,
    parts: ndarray,
    tol: float,
    max_iter: int,
) -> Solution:
    n = len(problem.X)
    floor = problem.floor
    weights = np.concatenate([np.full(n, problem.gamma), parts])  # R = diag(m)/γ, D = I
    state = _State(problem, weights)
    trace = [state.value]
    solves = 1
    eps = EPS * 2 * float((state.norms[n:] / parts).max(initial=0.0))
    converged = eps == 0
    floor[n:] = eps * parts
    damping = 1e-2
    newton = None
    weights = state.image(floor)
    while solves < max_iter and not converged:
        new = _State(problem, weights)
        solves += 1
        slack = 1e-14 * trace[-1]
        if newton is not None and not new.value <= trace[-1] + slack:
            # damp, or fall back to a reweighting
            damping = min(30 * damping, 1.0)
            if damping < 1:
                weights = newton.step(damping)
            else:
                newton = None
                weights = state.image(floor)
            continue
        converged = at_rest(new.W, state.W, tol)
        idle = False  # what is left is below the objective's rounding
        if newton is not None:
            idle = trace[-1] - new.value <= slack
            damping = max(0.1 * damping, 1e-12)
            newton = None
        trace.append(settled(trace[-1], new.value, 1e-12 * trace[-1]))
        state = new
        point = weights
        weights = state.image(floor)
        if solves >= _REWEIGHTINGS and not idle and not converged:
            newton = _newton(problem, state, point)
            weights = newton.step(damping)
    extra = {"eps": eps, "dual": 2 * state.U}
    return Solution(
        state.W,
        state.b,
        trace,
        converged,
        solves,
        extra,
    )


def _newton(problem: _Problem, state: _State, weights: ndarray) -> BoxNewton:
    X = problem.X
    mass = problem.mass
    gamma = problem.gamma
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
    Z = np.concatenate([state.U, state.V])
    s = np.sqrt(weights)
    for first in range(0, n + d, 512):
        part = slice(first, first + 512)
        products = Z[first:] @ Z[part].T
        H[first:, part] *= products * s[first:, None] * s[part]
    # the penalty of each norm: ‖z‖ ≤ top/2 at the optimum
    top = np.concatenate([mass, np.full(d, gamma)])
    size = np.linalg.norm(Z, axis=1)
    g = s * size**2 / top * (1 - 2 * size / top)
    return BoxNewton(
        H,
        g,
        weights,
        problem.floor,
        top / 4,
    )
