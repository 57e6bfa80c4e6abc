"""l2,1-regularised least squares by reweighting: MSSL, CSFS, OMFS, MSFS, RFS.

All are one convex problem in (A, C, beta), A symmetric and positive semidefinite (d x d), C d x q:

    f(W) = tr W'AW - 2 tr W'C + beta ||W||_21,          (A + beta U) W = C,   U = diag(1 / (2||w_i||)).

Reweighting fixes U, solves, and updates U. 1/(2||w_i||) grows without bound as a row vanishes; with s = U^(-1/2) the
same step is W = s (sAs + beta I)^-1 s C, whose matrix is bounded below by beta, so Cholesky serves. U is bounded by
1/eps, eps = 1e-10 of the largest 2||w_i|| of the first iterate, and what falls monotonically is the Huberised objective

    f with h(||w_i||) in place of ||w_i||,   h(t) = t if 2t >= eps, else t^2/eps + eps/4.

The start is U = I; the solver stops at max|dW| <= 1e-9 max|W|. Two things make it quick without changing the optimum of
the convex problem: Anderson extrapolation of the row norms, kept only when the objective does not rise, and setting rows aside once they shrink
geometrically towards 0, checked against the optimality conditions at the end and brought back when they violate them.
"""

from __future__ import annotations

import numpy as np
from scipy import linalg

from spark_mlfs.errors import ParameterError
from spark_mlfs.solvers.gram import Solution, solve_positive

_EPS = 1e-10  # of the largest 2||w_i||: the bound of U
_MEMORY = 10  # iterates Anderson extrapolation looks back on


def huber(norms: np.ndarray, eps: float) -> np.ndarray:
    """h(t): the norm with its kink at 0 rounded off below eps/2, whose derivative is 2t / max(2t, eps)."""
    if eps <= 0:
        return norms
    return np.where(2 * norms >= eps, norms, norms * norms / eps + eps / 4)


def reweighted_step(A: np.ndarray, C: np.ndarray, beta: float, s2: np.ndarray) -> np.ndarray:
    """(A + beta diag(1/s2))^-1 C in scaled form; s2 = 1/U_ii."""
    s = np.sqrt(s2)
    M = A * s
    M *= s[:, None]
    M[np.diag_indices_from(M)] += beta
    rhs = s[:, None] * C
    try:
        factor = linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:  # beta is below the rounding of sAs
        M = A * np.outer(s, s)
        M[np.diag_indices_from(M)] += beta
        return s[:, None] * solve_positive(M, rhs)
    return s[:, None] * linalg.cho_solve(factor, rhs, overwrite_b=True, check_finite=False)


def minimise_l21(
    A: np.ndarray,
    C: np.ndarray,
    beta: float,
    constant: float = 0.0,
    factor: float = 1.0,
    start: np.ndarray | None = None,
    tol: float = 1e-9,
    max_iter: int = 2000,
    accelerate: bool = True,
) -> Solution:
    """Minimise factor * (tr W'AW - 2 tr W'C + beta ||W||_21 + constant) over W (d x q).

    `constant` (usually ||HY||^2) and `factor` only serve the reported objective. `start` is a warm start, W of a
    neighbouring problem. `accelerate=False` runs the plain iteration, which agrees but may need thousands of steps.
    `iterations` counts linear solves. Rows set aside end as exact zeros. The intercept is left at 0 for the caller.
    """
    if not beta >= 0:
        raise ParameterError(f"the weight of the l2,1 penalty is {beta}; it must be at least 0")
    d, q = C.shape
    zero = np.zeros(q)
    if d == 0 or not np.any(C):  # nothing to explain: W = 0 is optimal
        return Solution(np.zeros((d, q)), zero, [factor * constant], True, 0)
    if beta == 0:
        W = solve_positive(A, C)
        value = (W * (A @ W)).sum() - 2 * (W * C).sum()
        return Solution(W, zero, [factor * float(value + constant)], True, 1)
    state = _Reweighting(A, C, beta, tol, accelerate)
    trace = [factor * (v + constant) for v in state.run(start, max_iter)]
    # Values are differences of sums as large as `constant`: a rise within their rounding is reported as none.
    slack = 1e-13 * factor * (abs(constant) + abs((state.W * C).sum()))
    for i in range(1, len(trace)):
        if trace[i - 1] < trace[i] <= trace[i - 1] + slack:
            trace[i] = trace[i - 1]
    return Solution(state.W, zero, trace, state.converged, state.solves, {"eps": state.eps})


class _Reweighting:
    def __init__(self, A: np.ndarray, C: np.ndarray, beta: float, tol: float, accelerate: bool):
        self.A, self.C, self.beta, self.tol, self.accelerate = A, C, beta, tol, accelerate
        self.d = len(C)
        self.rows = np.arange(self.d)  # rows in play
        self.Ar, self.Cr = A, C
        self.solves, self.converged, self.eps = 0, False, 0.0
        self.W = np.zeros_like(C, dtype=np.float64)

    def step(self, s2: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """The next W of the rows in play, its row norms and Huberised objective. AW = C - beta U W needs no product."""
        W = reweighted_step(self.Ar, self.Cr, self.beta, s2)
        self.solves += 1
        t = np.linalg.norm(W, axis=1)
        aside = (self.d - len(self.rows)) * self.eps / 4  # h(0) of the rows set aside
        value = -(W * self.Cr).sum() - self.beta * (t * t / s2).sum() + self.beta * (huber(t, self.eps).sum() + aside)
        return W, t, float(value)

    def restrict(self, rows: np.ndarray) -> None:
        self.rows = rows
        whole = len(rows) == self.d
        self.Ar = self.A if whole else self.A[np.ix_(rows, rows)]
        self.Cr = self.C if whole else self.C[rows]

    def run(self, start: np.ndarray | None, max_iter: int) -> list[float]:
        if start is None or not np.any(start):
            s2 = np.ones(self.d)
        else:
            # A row at 0 would grow only geometrically from eps: every row starts with a share it can use.
            s2 = 2 * np.linalg.norm(start, axis=1)
            s2 = np.maximum(s2, 1e-2 * s2.max())
        W, t, _ = self.step(s2)
        self.eps = _EPS * 2 * float(t.max())
        if self.eps == 0:
            self.W, self.converged = W, True
            return [0.0]
        aside = (self.d - len(self.rows)) * self.eps / 4
        value = float(
            -(W * self.Cr).sum() - self.beta * (t * t / s2).sum() + self.beta * (huber(t, self.eps).sum() + aside)
        )
        trace = [value]
        x = np.maximum(2 * t, self.eps)
        images: list[np.ndarray] = []
        residuals: list[np.ndarray] = []
        extrapolated = False
        while self.solves < max_iter:
            W_new, t_new, new = self.step(x)
            if extrapolated and new > value:  # not a descent: fall back to the plain step from the last iterate
                x = np.maximum(2 * t, self.eps)
                images, residuals, extrapolated = [], [], False
                continue
            change, size = np.abs(W_new - W).max(), np.abs(W_new).max()
            ratio = 2 * t_new / x  # 2||C_i - A_i W|| / beta: below 1 the row is on its way to 0
            W, t, value = W_new, t_new, new
            trace.append(value)
            image = np.maximum(2 * t, self.eps)
            if change <= self.tol * size:
                W, t, value = self.bring_back(W, t, value)
                if len(t) == len(image):
                    self.converged = True
                    break
                x, images, residuals, extrapolated = np.maximum(2 * t, self.eps), [], [], False
                continue
            if self.accelerate:
                keep = ~((t < 1e-5 * t.max()) & (ratio < 0.9))
                if keep.sum() <= 0.9 * len(keep):
                    W, t, value, keep = self.set_aside(W, t, value, keep)
                    image, x = image[keep], x[keep]
                    images = [v[keep] for v in images]
                    residuals = [v[keep] for v in residuals]
            images.append(image)
            residuals.append(image - x)
            del images[: -_MEMORY - 1], residuals[: -_MEMORY - 1]
            x, extrapolated = image, False
            if self.accelerate and len(images) > 2:
                guess = _anderson(images, residuals)
                if guess is not None:
                    x, extrapolated = np.maximum(np.clip(guess, 1e-2 * image, 1e2 * image), self.eps), True
        self.W = np.zeros_like(self.C, dtype=np.float64)
        self.W[self.rows] = W
        return trace

    def objective(self, W: np.ndarray, t: np.ndarray) -> float:
        aside = (self.d - len(self.rows)) * self.eps / 4
        fit = (W * (self.Ar @ W)).sum() - 2 * (W * self.Cr).sum()
        return float(fit + self.beta * (huber(t, self.eps).sum() + aside))

    def set_aside(self, W, t, value, keep):
        """Put the rows not in `keep` at 0 and out of play, unless that would raise the objective."""
        before = self.rows, self.Ar, self.Cr
        self.restrict(self.rows[keep])
        new = self.objective(W[keep], t[keep])
        if new <= value:
            return W[keep], t[keep], new, keep
        self.rows, self.Ar, self.Cr = before
        return W, t, value, np.ones(len(t), dtype=bool)

    def bring_back(self, W, t, value):
        """Check the rows out of play, or too small to have grown back, against ||C_i - A_i W|| <= beta/2.

        A violating row takes its exact minimiser given the others (a descent step) and returns to play."""
        full = np.zeros_like(self.C, dtype=np.float64)
        full[self.rows] = W
        norms = np.zeros(self.d)
        norms[self.rows] = t
        gradient = self.C - self.A @ full
        small = norms < 1e-8 * norms.max()
        curvature = np.diag(self.A)
        gradient[small] += curvature[small, None] * full[small]
        limit = 0.5 * self.beta
        wrong = np.flatnonzero(small & (np.linalg.norm(gradient, axis=1) > limit * (1 + 1e-7)) & (curvature > 0))
        if not len(wrong):
            return W, t, value
        block = self.A[np.ix_(wrong, wrong)]
        entered = []
        for j, i in enumerate(wrong):
            g = gradient[i]
            size = np.sqrt(g @ g)
            if size <= limit * (1 + 1e-7):
                continue
            w = g * ((1 - limit / size) / curvature[i])
            step = w - full[i]
            full[i] = w
            entered.append(i)
            others = np.arange(len(wrong)) != j
            gradient[wrong[others]] -= block[others, j, None] * step
        # Rows too small to be in play are put at 0 with the rest, so that the set in play changes.
        norms = np.linalg.norm(full, axis=1)
        rows = np.flatnonzero((norms >= 1e-8 * norms.max()) | np.isin(np.arange(self.d), self.rows))
        if len(rows) == len(self.rows):
            # All violators were in play already: leave one tiny row out so the caller goes on from the new point.
            self.restrict(rows)
            self._restarted = True
        self.restrict(rows)
        W, t = full[rows], norms[rows]
        return W, t, self.objective(W, t)


def _anderson(images: list[np.ndarray], residuals: list[np.ndarray]) -> np.ndarray | None:
    """Anderson extrapolation (type II): the combination of images whose residuals cancel best."""
    dF = np.diff(np.array(residuals), axis=0)
    dG = np.diff(np.array(images), axis=0)
    gram = dF @ dF.T
    ridge = 1e-10 * np.trace(gram)
    if not ridge > 0:
        return None
    gram[np.diag_indices_from(gram)] += ridge
    try:
        weights = np.linalg.solve(gram, dF @ residuals[-1])
    except np.linalg.LinAlgError:
        return None
    guess = images[-1] - weights @ dG
    return guess if np.isfinite(guess).all() else None
