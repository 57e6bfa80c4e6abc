"""ℓ2,1-regularised least squares by reweighting: MSSL, CSFS, OMFS, MSFS, RFS.

All are one convex problem in (A, C, β), A symmetric and positive semidefinite (d × d), C d × q:

    f(W) = tr W'AW − 2 tr W'C + β‖W‖₂,₁,          (A + βU) W = C,   U = diag(1 / (2‖w_i‖)).

Reweighting fixes U, solves, and updates U. 1/(2‖w_i‖) grows without bound as a row vanishes; with s
= U^−½ the same step is W = s (sAs + βI)⁻¹ s C, whose matrix is bounded below by β, so Cholesky
serves. U is bounded by 1/eps, eps = 1e-10 of the largest 2‖w_i‖ of the first iterate, and what
falls monotonically is the Huberised objective

    f with h(‖w_i‖) in place of ‖w_i‖,   h(t) = t if 2t ≥ eps, else t²/eps + eps/4.

The start is U = I; the solver stops at max|ΔW| ≤ 1e-9 max|W|. Reweighting alone converges slowly
where rows vanish or nearly copy one another. As min over x ≥ eps of t²/x + x/4 is h(t), the
Huberised problem is the minimisation over
x = diag(U)⁻¹ alone of the convex, smooth

    g(x) = −tr C'(A + β diag(1/x))⁻¹ C + β/4 Σ x,    x ≥ eps,    W(x) = (A + β diag(1/x))⁻¹ C,

of d unknowns whatever q is: after a few reweightings (with Anderson extrapolation of x) the solver
takes Newton steps on it, `BoxNewton`. Both are kept only when the objective does not rise.
Identical columns are solved as one and share its weight alike, as reweighting has it. Rows that
vanish are set aside, checked against the optimality conditions at the end and brought back when
they violate them."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg

from .anderson import Anderson
from .box_newton import BoxNewton
from .problems import Merged, Penalised, Solution, copies, settled, solve_positive

EPS = 1e-10  # of the largest 2‖w_i‖: the bound of U
_REWEIGHTINGS = 8  # before the first Newton step
# of the largest norm, and of a row's last one: below both it is on its way to 0; the smaller, the
# slower it may shrink
VANISHING = (1e-3, 0.8), (1e-5, 0.9), (1e-7, 0.99)


def huber(norms: np.ndarray, eps: float | np.ndarray) -> np.ndarray:
    """h(t): the norm with its kink at 0 rounded off below eps/2, whose derivative is 2t / max(2t,
    eps)."""
    if not np.any(eps):
        return norms
    return np.where(2 * norms >= eps, norms, norms * norms / eps + eps / 4)


def steady(guess: np.ndarray, W: np.ndarray, norms: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """An extrapolated W and its row norms; rows whose norm, and so their weight in U, leapt from
    `norms` stay as in `W`."""
    sizes = np.linalg.norm(guess, axis=1)
    off = (sizes > 10 * norms) | (sizes < 0.1 * norms)
    return np.where(off[:, None], W, guess), np.where(off, norms, sizes)


def reweighted_step(A: np.ndarray, C: np.ndarray, beta: float, s2: np.ndarray) -> np.ndarray:
    """(A + β diag(1/s2))⁻¹ C in scaled form; s2 = 1/U_ii."""
    return factored_step(A, C, beta, s2)[0]


def factored_step(
    A: np.ndarray, C: np.ndarray, beta: float, s2: np.ndarray
) -> tuple[np.ndarray, np.ndarray | None]:
    """`reweighted_step` and the lower Cholesky factor of sAs + βI, None where there is none."""
    s = np.sqrt(s2)
    M = A * s
    M *= s[:, None]
    M[np.diag_indices_from(M)] += beta
    rhs = s[:, None] * C
    try:  # the transpose of the symmetric M has the order LAPACK overwrites
        factor = linalg.cho_factor(M.T, lower=True, overwrite_a=True, check_finite=False)
    except linalg.LinAlgError:  # β is below the rounding of sAs
        M = A * np.outer(s, s)
        M[np.diag_indices_from(M)] += beta
        return s[:, None] * solve_positive(M, rhs), None
    return s[:, None] * linalg.cho_solve(factor, rhs, overwrite_b=True, check_finite=False), factor[
        0
    ]


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
    penalties: np.ndarray | None = None,
    unit: np.ndarray | None = None,
) -> Solution:
    """Minimise factor * (tr W'AW − 2 tr W'C + β‖W‖₂,₁ + constant) over W (d × q), or with
    `penalties` p (d,) βΣ p_i ‖w_i‖.

    `constant` (usually ‖HY‖²) and `factor` only serve the reported objective. `start` (without
    penalties): W of a neighbouring problem. `accelerate=False` runs the plain iteration, which may
    need thousands of steps. `iterations` counts linear solves. Rows set aside end as exact zeros.
    The intercept is left at 0. `unit` (d,): what counts as 1 of each row where rows are compared,
    by the start, the bound of U and `tol`."""
    if penalties is not None:
        part = Penalised(A, C, penalties)
        constant -= float(np.trace(part.explained))
        solution = minimise_l21(
            part.A, part.C, beta, constant, factor, None, tol, max_iter, accelerate, unit=part.p
        )
        return replace(solution, weights=part.weights(solution.weights))
    d, q = C.shape
    zero = np.zeros(q)
    if d == 0 or not np.any(C):  # nothing to explain: W = 0 is optimal
        return Solution(np.zeros((d, q)), zero, [factor * constant], True, 0)
    if beta == 0:
        W = solve_positive(A, C)
        value = (W * (A @ W)).sum() - 2 * (W * C).sum()
        return Solution(W, zero, [factor * float(value + constant)], True, 1)
    alike = [  # all through, to rounding: a correlation of 1 − 1e-12 is not
        (j, i, sign)
        for j, i, sign in (copies(A) if accelerate else ())
        if np.abs(A[j] - sign * A[i]).max() <= 1e-11 * A[i, i]
        and np.abs(C[j] - sign * C[i]).max() <= 1e-11 * np.abs(C).max()
    ]
    merged = Merged(alike, d)
    kept = merged.kept
    if merged.alike:
        A, C = A[np.ix_(kept, kept)], C[kept]
    state = _Reweighting(
        A, C, beta, tol, accelerate, merged.parts, 1.0 if unit is None else unit[kept]
    )
    start = None if start is None else merged.gathered(start)
    # Values are differences of sums as large as `constant`: a rise within their rounding is
    # reported as none.
    state.rounding = 1e-14 * abs(constant)
    trace = [factor * (v + constant) for v in state.run(start, max_iter)]
    slack = 1e-13 * factor * (abs(constant) + abs((state.W * state.C).sum()))
    for i in range(1, len(trace)):
        trace[i] = settled(trace[i - 1], trace[i], slack)
    return Solution(
        merged.spread(state.W), zero, trace, state.converged, state.solves, {"eps": state.eps}
    )


class _Reweighting:
    """`parts`: how many identical coordinates a row stands for; its x, 2‖w‖ at most, is the sum of
    theirs, in their `unit`s."""

    def __init__(
        self,
        A: np.ndarray,
        C: np.ndarray,
        beta: float,
        tol: float,
        accelerate: bool,
        parts: np.ndarray,
        unit: np.ndarray | float,
    ):
        self.A, self.C, self.beta, self.tol, self.accelerate = A, C, beta, tol, accelerate
        self.d, self.parts, self.unit = len(C), parts * unit, np.broadcast_to(unit, len(C))
        self.rows = np.arange(self.d)  # rows in play
        self.Ar, self.Cr = A, C
        self.factor: np.ndarray | None = None
        self.solves, self.converged, self.eps, self.rounding = 0, False, 0.0, 0.0
        self.W = np.zeros_like(C, dtype=np.float64)

    @property
    def floor(self) -> np.ndarray:
        """The least x of the rows in play."""
        return self.eps * self.parts[self.rows]

    def penalty(self, t: np.ndarray) -> float:
        """The Huberised norm of all rows, those set aside included with h(0)."""
        floor = self.floor
        return float(huber(t, floor).sum() + (self.eps * self.parts.sum() - floor.sum()) / 4)

    def step(self, x: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
        """W(x) of the rows in play, its row norms and Huberised objective. AW = C − βU W needs no
        product."""
        self.factor = None  # frees it before the next is formed
        W, self.factor = factored_step(self.Ar, self.Cr, self.beta, x)
        self.solves += 1
        t = np.linalg.norm(W, axis=1)
        return (
            W,
            t,
            float(
                -(W * self.Cr).sum() - self.beta * (t * t / x).sum() + self.beta * self.penalty(t)
            ),
        )

    def restrict(self, rows: np.ndarray) -> None:
        self.rows, self.factor = rows, None
        whole = len(rows) == self.d
        self.Ar = self.A if whole else self.A[np.ix_(rows, rows)]
        self.Cr = self.C if whole else self.C[rows]

    def run(self, start: np.ndarray | None, max_iter: int) -> list[float]:
        """Reweighting and Newton steps until W rests or `max_iter` solves; the objective after each
        step that was kept."""
        x = self.parts.copy()  # U = I
        if start is not None and np.any(start):
            # A row at 0 would grow only geometrically from eps: every row starts with a share it
            # can use.
            x = 2 * np.linalg.norm(start, axis=1)
            x = np.maximum(x, 1e-2 * x.max())
        W, t, _ = self.step(x)
        self.eps = EPS * 2 * float((t / self.parts).max())
        if self.eps == 0:
            self.W, self.converged = W, True
            return [0.0]
        value = float(
            -(W * self.Cr).sum() - self.beta * (t * t / x).sum() + self.beta * self.penalty(t)
        )
        trace = [value]
        if np.linalg.norm(self.C, axis=1).max() <= 0.5 * self.beta:
            # W = 0 is optimal. The Huberised minimiser, about eps C / β, still orders the features
            # by ‖C_i‖.
            W, t, value = self.step(self.floor)
            if (2 * t <= self.floor * (1 + 1e-9)).all() and value <= trace[0]:
                self.W, self.converged = W, True
                return [*trace, value]
        x = np.maximum(2 * t, self.floor)
        memory = Anderson()
        first_newton, damping = (
            (_REWEIGHTINGS, 1e-2) if start is None else (1, 1e-4)
        )  # a warm start is near enough
        guessed, newton = False, None
        while self.solves < max_iter:
            W_new, t_new, new = self.step(x)
            slack = self.rounding + 1e-14 * abs(value)
            if (
                guessed and not new <= value + slack
            ):  # not a descent: damp, or fall back to the plain step
                memory, guessed = Anderson(), False
                damping = min(30 * damping, 1.0)
                if newton is not None and damping < 1:
                    x, guessed = newton.step(damping), True
                else:
                    x, newton = np.maximum(2 * t, self.floor), None
                continue
            unit = self.unit[self.rows]
            change, largest = (
                np.abs((W_new - W) / unit[:, None]).max(),
                np.abs(W_new / unit[:, None]).max(),
            )
            idle = (
                newton is not None and value - new <= slack
            )  # what is left is below the rounding of the objective
            if newton is not None:
                damping = max(0.1 * damping, 1e-13)
            at, newton = x, None
            ratio = 2 * t_new / x  # 2‖C_i − A_i W‖ / β: below 1 the row is on its way to 0
            W, t, value = W_new, t_new, new
            trace.append(value)
            image = np.maximum(2 * t, self.floor)
            if change <= self.tol * largest:
                back = self.bring_back(W, t)
                if back is None:
                    self.converged = True
                    break
                W, t, value = back
                x, memory, guessed = np.maximum(2 * t, self.floor), Anderson(), False
                continue
            if self.accelerate:
                share = (t / unit) / (t / unit).max()
                keep = ~np.any(
                    [(share < size) & (ratio < rate) for size, rate in VANISHING], axis=0
                )
                if keep.sum() <= 0.9 * len(keep):
                    W, t, value, keep = self.set_aside(W, t, value, keep)
                    image, at = image[keep], at[keep]
                    memory.restrict(keep)
            memory.add(image, image - at)
            x, guessed = image, False
            if not self.accelerate or idle:
                continue
            if self.solves >= first_newton:
                if self.factor is not None:
                    newton = BoxNewton.of_l21(self.factor, W, at, self.beta, self.floor)
                    self.factor = None  # overwritten
                    x, guessed = newton.step(damping), True
            else:
                guess = memory.guess()
                if guess is not None:
                    x, guessed = (
                        np.maximum(np.clip(guess, 1e-2 * image, 1e2 * image), self.floor),
                        True,
                    )
        self.W = np.zeros_like(self.C, dtype=np.float64)
        self.W[self.rows] = W
        return trace

    def objective(self, W: np.ndarray, t: np.ndarray) -> float:
        fit = (W * (self.Ar @ W)).sum() - 2 * (W * self.Cr).sum()
        return float(fit + self.beta * self.penalty(t))

    def set_aside(
        self, W: np.ndarray, t: np.ndarray, value: float, keep: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float, np.ndarray]:
        """Put the rows not in `keep` at 0 and out of play, unless that would raise the
        objective."""
        before = self.rows, self.Ar, self.Cr, self.factor
        self.restrict(self.rows[keep])
        new = self.objective(W[keep], t[keep])
        if new <= value:
            return W[keep], t[keep], new, keep
        self.rows, self.Ar, self.Cr, self.factor = before
        return W, t, value, np.ones(len(t), dtype=bool)

    def bring_back(
        self, W: np.ndarray, t: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray, float] | None:
        """Check the rows out of play, or too small to have grown back, against ‖C_i − A_i W‖ ≤ β/2:
        None when all satisfy it; a violating row takes its exact minimiser given the others (a
        descent step) and returns to play."""
        full = np.zeros_like(self.C, dtype=np.float64)
        full[self.rows] = W
        norms = np.linalg.norm(full, axis=1) / self.unit
        curvature = np.diag(self.A)
        small = np.flatnonzero((norms < 1e-8 * norms.max()) & (curvature > 0))
        gradient = self.C[small] - self.A[small] @ full + curvature[small, None] * full[small]
        limit = 0.5 * self.beta * (1 + 1e-7)
        wrong = np.linalg.norm(gradient, axis=1) > limit
        if not wrong.any():
            return None
        small, gradient = small[wrong], gradient[wrong]
        block = self.A[np.ix_(small, small)]
        for j, i in enumerate(small):
            size = np.linalg.norm(gradient[j])
            w = (
                gradient[j] * (1 - 0.5 * self.beta / size) / curvature[i]
                if size > limit
                else full[i]
            )
            moved = np.outer(block[:, j], w - full[i])
            moved[j] = 0.0
            gradient -= moved
            full[i] = w
        self.restrict(np.union1d(self.rows, small))
        W, t = full[self.rows], np.linalg.norm(full[self.rows], axis=1)
        return W, t, self.objective(W, t)
