"""What solvers of linear problems share: the form of a solution, positive definite systems,
penalties of features, and identical columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy import ndarray
from scipy import linalg


@dataclass
class Solution:
    """Result of a solver.

    `weights` (features × outputs) and `intercept` (outputs) are in the coordinates of the
    statistics given; `objective` after each iteration never rises; `converged`: the stopping rule
    was met; `iterations` taken; `extra` what only one method has."""

    weights: ndarray
    intercept: ndarray
    objective: list[float]
    converged: bool
    iterations: int
    extra: dict[str, Any] = field(default_factory=dict)


def solve_positive(A: ndarray, B: ndarray) -> ndarray:
    """Return A⁻¹ B by Cholesky for symmetric A ≥ 0.

    It is the least-norm solution when A, its rows in units of like size, is singular to working
    precision."""
    if not len(A):
        return np.zeros_like(B)
    try:
        factor = linalg.cho_factor(A, lower=True, overwrite_a=False, check_finite=False)
        # whatever the columns' units: beyond 1e-14 nothing is left
        if (np.diag(factor[0]) > 1e-7 * np.sqrt(np.diag(A))).all():
            return linalg.cho_solve(factor, B, check_finite=False)
    except linalg.LinAlgError:
        pass
    return _least_norm(A, B)


def _least_norm(A: ndarray, B: ndarray) -> ndarray:
    squares = np.diag(A)
    size = np.sqrt(np.where(squares > 0, squares, max(squares.max(), 0.0)))
    unit = np.ldexp(1.0, -np.frexp(size)[1])[:, None]  # exact: powers of two
    values, vectors = linalg.eigh(unit * A * unit.T, check_finite=False)
    rounding = max(len(A) * np.finfo(float).eps, 1e-14)
    regular = values > rounding * max(values[-1], 0.0)
    basis = vectors[:, regular]
    W = unit * (basis @ ((basis.T @ (unit * B)) / values[regular][:, None]))
    if regular.all() or (unit == unit[0]).all():
        return W
    null = vectors[:, ~regular]
    free = unit * np.where(np.abs(null) > 1e-7, null, 0.0)  # what is less is rounding
    return W - free @ linalg.lstsq(free, W, check_finite=False)[0]


def copies(G: ndarray) -> list[tuple[int, int, float]]:
    """List (j, i, sign) for every column j equal to sign times column i.

    Column i is an earlier one, the first of its kind."""
    size = np.sqrt(np.maximum(np.diag(G), 0.0))
    original: dict[int, tuple[int, float]] = {}  # of a copy: the column it copies, and the sign
    for i in range(len(G)):
        if i in original or size[i] == 0:
            continue
        later = size[i + 1 :]
        is_parallel = np.abs(G[i, i + 1 :]) >= (1 - 1e-12) * size[i] * later
        is_as_long = np.abs(later - size[i]) <= 1e-12 * size[i]
        for j in np.flatnonzero(is_parallel & is_as_long) + i + 1:
            sign = 1.0 if G[i, j] > 0 else -1.0
            original.setdefault(int(j), (i, sign))
    return [(j, i, sign) for j, (i, sign) in sorted(original.items())]


class Penalised:
    """A problem with penalties of its rows as one in which all penalties are 1.

    With p (d,), min ½ tr W'AW − tr W'C + Σ p_i ‖w_i‖ in any norm: rows of p_i = 0 are solved given
    the others, w_0 = A_00⁻¹(C_0 − A_01 w_1) (Frisch, Waugh & Lovell; of least norm where that
    leaves a choice), and the others take v_i = p_i w_i.

    `A`, `C` of the k rows `penalised`; `p` (k,) theirs; `explained` (q, q) what the free rows take
    off Y'HY. A row that the free ones determine is 0 in both: its weight is 0."""

    def __init__(self, A: ndarray, C: ndarray, penalties: ndarray) -> None:
        free = np.flatnonzero(penalties == 0)
        penalised = np.flatnonzero(penalties > 0)
        self.free, self.penalised = free, penalised
        self.p = penalties[penalised]
        across = A[np.ix_(free, penalised)]
        solved = solve_positive(A[np.ix_(free, free)], np.hstack([across, C[free]]))
        self._slope = solved[:, : len(penalised)]
        self._unpenalised = solved[:, len(penalised) :]
        self.explained = C[free].T @ self._unpenalised
        before = A[np.ix_(penalised, penalised)]
        after = before - across.T @ self._slope
        C = C[penalised] - across.T @ self._unpenalised
        determined = np.diag(after) <= 1e-10 * np.diag(before)
        after[determined] = after[:, determined] = C[determined] = 0.0
        self.A = 0.5 * (after + after.T) / np.outer(self.p, self.p)
        self.C = C / self.p[:, None]

    def weights(self, V: ndarray) -> ndarray:
        """Return the weights (d, q) of all rows from the solution (k, q) of the penalised ones."""
        out = np.zeros((len(self.free) + len(self.penalised), V.shape[1]))
        out[self.penalised] = V / self.p[:, None]
        out[self.free] = self._unpenalised - self._slope @ out[self.penalised]
        return out


class Merged:
    """Columns that are `copies` solved as one, whose weight they share equally: `is_solved` (d,),
    `parts` (solved,) how many columns each stands for."""

    def __init__(self, copies: list[tuple[int, int, float]], d: int) -> None:
        self.copies = copies
        self.is_solved = np.ones(d, dtype=bool)
        parts = np.ones(d)
        for j, i, _ in copies:
            self.is_solved[j] = False
            parts[i] += 1
        self.parts = parts[self.is_solved]

    def gathered(self, W: ndarray) -> ndarray:
        """Return the weights of the solved columns from those of all."""
        W = W.copy()
        for j, i, sign in self.copies:
            W[i] += sign * W[j]
        return W[self.is_solved]

    def spread(self, W: ndarray) -> ndarray:
        """Return the weights of all columns from those of the solved ones."""
        out = np.zeros((len(self.is_solved), W.shape[1]))
        out[self.is_solved] = W / self.parts[:, None]
        for j, i, sign in self.copies:
            out[j] = sign * out[i]
        return out


def at_rest(new: ndarray, old: ndarray, tol: float) -> bool:
    """Return whether an iterate moved by at most `tol` of its largest entry."""
    change = np.abs(new - old).max()
    return bool(change <= tol * np.abs(new).max())


def settled(last: float, value: float, slack: float) -> float:
    """Return the next entry of a falling objective's trace.

    A rise by no more than `slack`, its rounding, is reported as none."""
    return last if last < value <= last + slack else value
