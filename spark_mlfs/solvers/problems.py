"""What solvers of linear problems share: the form of a solution, positive definite systems, penalties
of features, and identical columns."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import linalg


@dataclass
class Solution:
    """Result of a solver.

    `weights` (features × outputs) and `intercept` (outputs) are in the coordinates of the
    statistics given; `objective` after each iteration never rises; `converged`: the stopping rule
    was met; `iterations` taken; `extra` what only one method has."""

    weights: np.ndarray
    intercept: np.ndarray
    objective: list[float]
    converged: bool
    iterations: int
    extra: dict[str, Any] = field(default_factory=dict)


def solve_positive(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """A⁻¹ B by Cholesky for symmetric A ≥ 0; the least-norm solution when A, its rows in units of
    like size, is singular to working precision."""
    if not len(A):
        return np.zeros_like(B)
    try:
        factor = linalg.cho_factor(A, lower=True, overwrite_a=False, check_finite=False)
        if (
            np.diag(factor[0]) > 1e-7 * np.sqrt(np.diag(A))
        ).all():  # whatever the columns' units: beyond 1e-14 nothing is left
            return linalg.cho_solve(factor, B, check_finite=False)
    except linalg.LinAlgError:
        pass
    size = np.diag(A)
    unit = np.ldexp(1.0, -np.frexp(np.sqrt(np.where(size > 0, size, max(size.max(), 0.0))))[1])[
        :, None
    ]  # exact: powers of two
    values, vectors = linalg.eigh(unit * A * unit.T, check_finite=False)
    keep = values > max(len(A) * np.finfo(float).eps, 1e-14) * max(values[-1], 0.0)
    W = unit * (vectors[:, keep] @ ((vectors[:, keep].T @ (unit * B)) / values[keep][:, None]))
    if keep.all() or (unit == unit[0]).all():
        return W
    free = unit * np.where(
        np.abs(vectors[:, ~keep]) > 1e-7, vectors[:, ~keep], 0.0
    )  # what is less is rounding
    return W - free @ linalg.lstsq(free, W, check_finite=False)[0]


def copies(G: np.ndarray) -> list[tuple[int, int, float]]:
    """(j, i, sign) for every column j equal to sign times an earlier column i, the first of its
    kind."""
    size = np.sqrt(np.maximum(np.diag(G), 0.0))
    first_of: dict[int, tuple[int, float]] = {}  # of a copy: the column it copies, and the sign
    for i in range(len(G)):
        if i in first_of or size[i] == 0:
            continue
        row = G[i, i + 1 :]
        rest = size[i + 1 :]
        equal = (np.abs(row) >= (1 - 1e-12) * size[i] * rest) & (
            np.abs(rest - size[i]) <= 1e-12 * size[i]
        )
        for j in np.flatnonzero(equal) + i + 1:
            first_of.setdefault(int(j), (i, 1.0 if G[i, j] > 0 else -1.0))
    return [(j, i, sign) for j, (i, sign) in sorted(first_of.items())]


class Penalised:
    """A problem with the penalties p (d,) of its rows, min ½ tr W'AW − tr W'C + Σ p_i ‖w_i‖ in any
    norm, as one in which all are 1: rows of p_i = 0 are solved given the others, w_0 = A_00⁻¹(C_0 −
    A_01 w_1) (Frisch, Waugh & Lovell; of least norm where that leaves a choice), and the others
    take v_i = p_i w_i.

    `A`, `C` of the k rows `kept`; `p` (k,) theirs; `explained` (q, q) what the free rows take off
    Y'HY. A row that the free ones determine is 0 in both: its weight is 0."""

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

    def weights(self, V: np.ndarray) -> np.ndarray:
        """(d, q) the weights of all rows from those (k, q) of the kept ones as they were solved
        for."""
        out = np.zeros((len(self.free) + len(self.kept), V.shape[1]))
        out[self.kept] = V / self.p[:, None]
        out[self.free] = self._alone - self._by_kept @ out[self.kept]
        return out


class Merged:
    """Columns that are copies (`alike`, as `copies` lists them) solved as one, whose weight they
    share alike: `kept` (d,) which are solved, `parts` (solved,) how many columns each stands
    for."""

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
    """The next entry of a falling objective's trace: a rise by no more than `slack`, its rounding,
    is reported as none."""
    return last if last < value <= last + slack else value
