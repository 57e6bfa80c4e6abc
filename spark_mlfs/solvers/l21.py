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
Huberised problem is the minimisation, over x = diag(U)⁻¹ alone, of the convex, smooth

    g(x) = −tr C'(A + β diag(1/x))⁻¹ C + β/4 Σ x,    x ≥ eps,    W(x) = (A + β diag(1/x))⁻¹ C,

of d unknowns whatever q is: after a few reweightings (with Anderson extrapolation of x) the solver
takes Newton steps on it, `BoxNewton`. An extrapolation or a Newton step is kept only where the
objective does not rise.
Identical columns are solved as one and share its weight alike, as reweighting has it. Rows that
vanish are set aside, checked against the optimality conditions at the end and brought back when
they violate them."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy import ndarray
from scipy import linalg

from .anderson import Anderson
from .box_newton import BoxNewton
from .problems import Merged, Penalised, Solution, copies, settled, solve_positive

EPS = 1e-10  # of the largest 2‖w_i‖: the bound of U
_REWEIGHTINGS = 8  # before the first Newton step
# (size, rate): a row below this part of the largest norm whose plain step would leave it this part
# of its norm, or less, is on its way to 0. The smaller a row, the slower it may shrink.
VANISHING = (1e-3, 0.8), (1e-5, 0.9), (1e-7, 0.99)


def huber(norms: ndarray, eps: float | ndarray) -> ndarray:
    """Return h(t): the norm with its kink at 0 rounded off below eps/2.

    Its derivative is 2t / max(2t, eps)."""
    if not np.any(eps):
        return norms
    return np.where(2 * norms >= eps, norms, norms * norms / eps + eps / 4)


def steady(guess: ndarray, W: ndarray, norms: ndarray) -> tuple[ndarray, ndarray]:
    """Return an extrapolated W and its row norms.

    Rows whose norm, and so their weight in U, leapt from `norms` stay as in `W`."""
    sizes = np.linalg.norm(guess, axis=1)
    leapt = (sizes > 10 * norms) | (sizes < 0.1 * norms)
    return np.where(leapt[:, None], W, guess), np.where(leapt, norms, sizes)


def reweighted_step(
    A: ndarray,
    C: ndarray,
    beta: float,
    s2: ndarray,
) -> ndarray:
    """Return (A + β diag(1/s2))⁻¹ C, solved in scaled form; s2 = 1/U_ii."""
    return factored_step(A, C, beta, s2)[0]


def factored_step(
    A: ndarray,
    C: ndarray,
    beta: float,
    s2: ndarray,
) -> tuple[ndarray, ndarray | None]:
    """Return `reweighted_step` and the lower Cholesky factor of sAs + βI.

    The factor is None where there is none."""
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
    scaled = linalg.cho_solve(factor, rhs, overwrite_b=True, check_finite=False)
    return s[:, None] * scaled, factor[0]


def minimise_l21(  # noqa: PLR0913
    A: ndarray,
    C: ndarray,
    beta: float,
    constant: float = 0.0,
    factor: float = 1.0,
    start: ndarray | None = None,
    tol: float = 1e-9,
    max_iter: int = 2000,
    accelerate: bool = True,
    penalties: ndarray | None = None,
    unit: ndarray | None = None,
) -> Solution:
    """Minimise factor * (tr W'AW − 2 tr W'C + β‖W‖₂,₁ + constant) over W (d × q).

    With `penalties` p (d,) the penalty is βΣ p_i ‖w_i‖. `constant` (usually ‖HY‖²) and `factor`
    only serve the reported objective. `start` (without penalties): W of a neighbouring problem.
    `accelerate=False` runs the plain iteration, which may need thousands of steps. `iterations`
    counts linear solves. Rows set aside end as exact zeros. The intercept is left at 0. `unit`
    (d,): what counts as 1 of each row where rows are compared, by the start, the bound of U and
    `tol`."""
    if penalties is not None:
        part = Penalised(A, C, penalties)
        constant -= float(np.trace(part.explained))
        solution = minimise_l21(
            part.A,
            part.C,
            beta,
            constant,
            factor,
            None,
            tol,
            max_iter,
            accelerate,
            unit=part.p,
        )
        return replace(solution, weights=part.weights(solution.weights))
    d, q = C.shape
    zero = np.zeros(q)
    if d == 0 or not np.any(C):  # nothing to explain: W = 0 is optimal
        return Solution(
            np.zeros((d, q)),
            zero,
            [factor * constant],
            True,
            0,
        )
    if beta == 0:
        W = solve_positive(A, C)
        value = (W * (A @ W)).sum() - 2 * (W * C).sum()
        return Solution(
            W,
            zero,
            [factor * float(value + constant)],
            True,
            1,
        )
    equal_columns = _exact_copies(A, C) if accelerate else []
    merged = Merged(equal_columns, d)
    solved = merged.is_solved
    if merged.copies:
        A = A[np.ix_(solved, solved)]
        C = C[solved]
    units = 1.0 if unit is None else unit[solved]
    state = _Reweighting(
        A,
        C,
        beta,
        tol,
        accelerate,
        merged.parts,
        units,
    )
    start = None if start is None else merged.gathered(start)
    # Values are differences of sums as large as `constant`: a rise within their rounding is
    # reported as none.
    state.rounding = 1e-14 * abs(constant)
    trace = [factor * (v + constant) for v in state.run(start, max_iter)]
    slack = 1e-13 * factor * (abs(constant) + abs((state.W * state.C).sum()))
    for i in range(1, len(trace)):
        trace[i] = settled(trace[i - 1], trace[i], slack)
    W = merged.spread(state.W)
    return Solution(
        W,
        zero,
        trace,
        state.converged,
        state.solves,
        {"eps": state.eps},
    )


def _exact_copies(A: ndarray, C: ndarray) -> list[tuple[int, int, float]]:
    """List the copies that are copies in all of A and C, to rounding.

    Columns of a correlation of 1 − 1e-12 are not."""
    largest = np.abs(C).max()

    def is_exact(j: int, i: int, sign: float) -> bool:
        in_A = np.abs(A[j] - sign * A[i]).max()
        in_C = np.abs(C[j] - sign * C[i]).max()
        return in_A <= 1e-11 * A[i, i] and in_C <= 1e-11 * largest

    return [copy for copy in copies(A) if is_exact(*copy)]


@dataclass
class _Iterate:
    """W(x) of the rows in play, its row norms `t` and its Huberised objective."""

    W: ndarray
    t: ndarray
    value: float


class _Reweighting:
    """The iteration over x = 1/U_ii of the rows in play.

    `parts`: how many identical coordinates a row stands for; its x is the sum of theirs, in their
    `unit`s. `x` is tried next. Where it is `guessed`, it is a step of `newton` with `damping`, or
    an extrapolation of the images in `memory`, and may raise the objective; else it is the plain
    step, which cannot."""

    def __init__(
        self,
        A: ndarray,
        C: ndarray,
        beta: float,
        tol: float,
        accelerate: bool,
        parts: ndarray,
        unit: ndarray | float,
    ):
        self.A, self.C = A, C
        self.beta, self.tol = beta, tol
        self.accelerate = accelerate
        self.d = len(C)
        self.parts = parts * unit
        self.unit = np.broadcast_to(unit, self.d)
        self.rows = np.arange(self.d)  # rows in play
        self.Ar, self.Cr = A, C
        self.factor: ndarray | None = None
        self.solves, self.eps = 0, 0.0
        self.converged = False
        self.rounding = 0.0
        self.W = np.zeros_like(C, dtype=np.float64)
        self.memory = Anderson()
        self.newton: BoxNewton | None = None
        self.damping = 1e-2
        self.guessed = False

    @property
    def floor(self) -> ndarray:
        """Return the least x of the rows in play."""
        return self.eps * self.parts[self.rows]

    def penalty(self, t: ndarray) -> float:
        """Return the Huberised norm of all rows; those set aside count as h(0)."""
        floor = self.floor
        set_aside = self.eps * self.parts.sum() - floor.sum()
        return float(huber(t, floor).sum() + set_aside / 4)

    def step(self, x: ndarray) -> _Iterate:
        """Solve at x."""
        self.factor = None  # frees it before the next is formed
        W, self.factor = factored_step(self.Ar, self.Cr, self.beta, x)
        self.solves += 1
        t = np.linalg.norm(W, axis=1)
        return _Iterate(W, t, self._value(W, t, x))

    def restrict(self, rows: ndarray) -> None:
        """Put these rows into play, and no others."""
        self.rows = rows
        self.factor = None
        if len(rows) == self.d:
            self.Ar, self.Cr = self.A, self.C
        else:
            self.Ar = self.A[np.ix_(rows, rows)]
            self.Cr = self.C[rows]

    def run(self, start: ndarray | None, max_iter: int) -> list[float]:  # noqa: C901
        """Take reweighting and Newton steps until W rests or `max_iter` solves.

        Returns the objective after each step that was kept."""
        x = self.parts.copy()  # U = I
        if start is not None and np.any(start):
            # A row at 0 would grow only geometrically from eps: every row starts with a share it
            # can use.
            x = 2 * np.linalg.norm(start, axis=1)
            x = np.maximum(x, 1e-2 * x.max())
        now = self.step(x)
        self.eps = EPS * 2 * float((now.t / self.parts).max())
        if self.eps == 0:
            self.W = now.W
            self.converged = True
            return [0.0]
        now = _Iterate(now.W, now.t, self._value(now.W, now.t, x))
        trace = [now.value]
        if np.linalg.norm(self.C, axis=1).max() <= 0.5 * self.beta:
            # W = 0 is optimal. The Huberised minimiser, about eps C / β, still orders the features
            # by ‖C_i‖.
            now = self.step(self.floor)
            vanish = (2 * now.t <= self.floor * (1 + 1e-9)).all()
            if vanish and now.value <= trace[0]:
                self.W = now.W
                self.converged = True
                return [*trace, now.value]
        first_newton = _REWEIGHTINGS
        if start is not None:  # a warm start is near enough
            first_newton = 1
            self.damping = 1e-4
        self._restart(now)
        while self.solves < max_iter:
            new = self.step(self.x)
            slack = self.rounding + 1e-14 * abs(now.value)
            if self.guessed and not new.value <= now.value + slack:
                self._reject(now)
                continue
            # what is left is below the rounding of the objective
            idle = self.newton is not None and now.value - new.value <= slack
            rests = self._rests(now, new)
            if self.newton is not None:
                self.damping = max(0.1 * self.damping, 1e-13)
                self.newton = None
            now = new
            trace.append(now.value)
            if rests:
                brought = self.bring_back(now)
                if brought is None:
                    self.converged = True
                    break
                now = brought
                self._restart(now)
                continue
            point = self.x
            if self.accelerate:
                now, point = self._set_aside_vanishing(now, point)
            self._propose(now, point, idle, first_newton)
        self.W = np.zeros_like(self.C, dtype=np.float64)
        self.W[self.rows] = now.W
        return trace

    def _value(self, W: ndarray, t: ndarray, x: ndarray) -> float:
        """Return the Huberised objective at W = W(x), t its row norms.

        AW = C − βU W needs no product."""
        explained = (W * self.Cr).sum()
        fit = -explained - self.beta * (t * t / x).sum()
        return float(fit + self.beta * self.penalty(t))

    def _image(self, now: _Iterate) -> ndarray:
        """Return the x of the plain reweighting step."""
        return np.maximum(2 * now.t, self.floor)

    def _restart(self, now: _Iterate) -> None:
        self.x = self._image(now)
        self.memory = Anderson()
        self.guessed = False

    def _reject(self, now: _Iterate) -> None:
        """Damp a guess that was no descent, or fall back to the plain step."""
        self.damping = min(30 * self.damping, 1.0)
        newton = self.newton
        self._restart(now)
        if newton is not None and self.damping < 1:
            self.x = newton.step(self.damping)
            self.guessed = True
        else:
            self.newton = None

    def _rests(self, now: _Iterate, new: _Iterate) -> bool:
        unit = self.unit[self.rows][:, None]
        change = np.abs((new.W - now.W) / unit).max()
        largest = np.abs(new.W / unit).max()
        return change <= self.tol * largest

    def _set_aside_vanishing(self, now: _Iterate, point: ndarray) -> tuple[_Iterate, ndarray]:
        """Set aside rows on their way to 0, where they are a tenth of those in play or more.

        `point` is the x of `now`."""
        ratio = 2 * now.t / point  # 2‖C_i − A_i W‖ / β: below 1 the row is on its way to 0
        sizes = now.t / self.unit[self.rows]
        share = sizes / sizes.max()
        vanishes = [(share < size) & (ratio < rate) for size, rate in VANISHING]
        stays = ~np.any(vanishes, axis=0)
        if stays.sum() > 0.9 * len(stays):
            return now, point
        smaller = self.set_aside(now, stays)
        if smaller is None:
            return now, point
        self.memory.restrict(stays)
        return smaller, point[stays]

    def _propose(
        self,
        now: _Iterate,
        point: ndarray,
        idle: bool,
        first_newton: int,
    ) -> None:
        """Choose the next x: the plain step, a step of Newton's, or an extrapolation."""
        image = self._image(now)
        self.memory.add(image, image - point)
        self.x = image
        self.guessed = False
        if not self.accelerate or idle:
            return
        if self.solves >= first_newton:
            if self.factor is not None:
                self.newton = BoxNewton.of_l21(
                    self.factor,
                    now.W,
                    point,
                    self.beta,
                    self.floor,
                )
                self.factor = None  # overwritten
                self.x = self.newton.step(self.damping)
                self.guessed = True
            return
        guess = self.memory.guess()
        if guess is not None:
            near = np.clip(guess, 1e-2 * image, 1e2 * image)
            self.x = np.maximum(near, self.floor)
            self.guessed = True

    def objective(self, W: ndarray, t: ndarray) -> float:
        """Return the Huberised objective at any W of the rows in play, t its row norms."""
        fit = (W * (self.Ar @ W)).sum() - 2 * (W * self.Cr).sum()
        return float(fit + self.beta * self.penalty(t))

    def set_aside(self, now: _Iterate, stays: ndarray) -> _Iterate | None:
        """Put the other rows at 0 and out of play, unless that would raise the objective."""
        before = (self.rows, self.Ar, self.Cr, self.factor)
        self.restrict(self.rows[stays])
        W = now.W[stays]
        t = now.t[stays]
        value = self.objective(W, t)
        if value <= now.value:
            return _Iterate(W, t, value)
        self.rows, self.Ar, self.Cr, self.factor = before
        return None

    def bring_back(self, now: _Iterate) -> _Iterate | None:
        """Check the rows at 0, or too small to have grown back: ‖C_i − Σ_{j≠i} A_ij w_j‖ ≤ β/2.

        Where it holds, 0 is the best w_i beside the other rows. None when it holds for all; another
        row takes its exact minimiser given the others (a descent step) and returns to play."""
        W = np.zeros_like(self.C, dtype=np.float64)
        W[self.rows] = now.W
        norms = np.linalg.norm(W, axis=1) / self.unit
        curvature = np.diag(self.A)
        small = np.flatnonzero((norms < 1e-8 * norms.max()) & (curvature > 0))
        gradient = self.C[small] - self.A[small] @ W + curvature[small, None] * W[small]
        limit = 0.5 * self.beta * (1 + 1e-7)
        wrong = np.linalg.norm(gradient, axis=1) > limit
        if not wrong.any():
            return None
        small = small[wrong]
        gradient = gradient[wrong]
        block = self.A[np.ix_(small, small)]
        for j, i in enumerate(small):
            size = np.linalg.norm(gradient[j])
            w = W[i]
            if size > limit:
                w = gradient[j] * (1 - 0.5 * self.beta / size) / curvature[i]
            change = np.outer(block[:, j], w - W[i])
            change[j] = 0.0
            gradient -= change
            W[i] = w
        self.restrict(np.union1d(self.rows, small))
        W = W[self.rows]
        t = np.linalg.norm(W, axis=1)
        return _Iterate(W, t, self.objective(W, t))
