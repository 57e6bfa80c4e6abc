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
Huberised problem is the minimisation over x = diag(U)⁻¹ alone of the convex, smooth

    g(x) = −tr C'(A + β diag(1/x))⁻¹ C + β/4 Σ x,    x ≥ eps,    W(x) = (A + β diag(1/x))⁻¹ C,

of d unknowns whatever q is: after a few reweightings (with Anderson extrapolation of x) the solver
takes Newton steps on it, `BoxNewton`. Both are kept only when the objective does not rise.
Identical columns are solved as one and share its weight alike, as reweighting has it. Rows that
vanish are set aside, checked against the optimality conditions at the end and brought back when
they violate them."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import numpy as np
from scipy import linalg, sparse

from ..kernels.gram import GramView
from .linear import Anderson, Merged, Penalised, Solution, copies, settled, solve_positive
from .manifolds import laplacian, symmetric_edges

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


class BoxNewton:
    """Damped Newton steps for a convex, smooth g(x) over x ≥ floor, in the scaled unknowns y = p /
    √x, p = dx.

    H (its lower triangle is read) and g are the scaled Hessian and right-hand side, `unit` what H's
    diagonal is at most near the optimum: H + damping * unit with a large damping is a short
    reweighting. What crosses the floor is fixed there, so steps along directions in which H is
    nearly singular (near copies of a column) end where a row vanishes."""

    def __init__(
        self,
        H: np.ndarray,
        g: np.ndarray,
        x: np.ndarray,
        floor: np.ndarray,
        unit: float | np.ndarray,
    ):
        self.H, self.g, self.x, self.floor = H, g, x, floor
        self.s, self.unit = np.sqrt(x), np.broadcast_to(unit, x.shape)

    @classmethod
    def of_l21(
        cls, factor: np.ndarray, W: np.ndarray, x: np.ndarray, beta: float, floor: np.ndarray
    ) -> BoxNewton:
        """At x, for W = W(x), M = sAs + βI = LL' (overwritten), s² = x and r_i = (C − AW)_i = β
        w_i/x_i:

            g'_i = β/4 − ‖r_i‖²/β,   g'' = (2/β) K ∘ (RR'),   K = s⁻¹ (I − βM⁻¹) s⁻¹ = A (βI +
            xA)⁻¹.

        In y, up to the factor 2/β, H = (I − βM⁻¹) ∘ RR'. The right-hand side is that of Newton's
        method on 1/‖r_i‖ = 2/β, as in trust regions: for one coordinate alone 1/‖r‖ is linear in x,
        and rows that vanish are not overshot."""
        R = W * (beta / x)[:, None]
        size = np.linalg.norm(R, axis=1)
        H, _ = linalg.lapack.dpotri(factor, lower=1, overwrite_c=1)
        H *= -beta
        H[np.diag_indices_from(H)] += 1.0
        for first in range(0, len(x), 512):
            part = slice(first, first + 512)
            H[first:, part] *= R[first:] @ R[part].T
        return cls(H, np.sqrt(x) * size**2 * (1 - 2 * size / beta), x, floor, beta * beta / 4)

    def step(self, damping: float) -> np.ndarray:
        """The x to try next; no row below its floor."""
        lowest = (self.floor - self.x) / self.s
        free = (self.x > self.floor) | (self.g < 0)
        y = np.zeros(len(self.x))
        fixed = np.zeros(0, dtype=np.int64)  # those the model itself brought to the floor
        for _ in range(6):
            rows = np.flatnonzero(free)
            H = self.H[np.ix_(rows, rows)]
            H[np.diag_indices_from(H)] += damping * self.unit[rows]
            rhs = -self.g[rows]
            if len(fixed):
                cross = np.where(
                    rows[:, None] >= fixed,
                    self.H[np.ix_(rows, fixed)],
                    self.H[np.ix_(fixed, rows)].T,
                )
                rhs -= cross @ lowest[fixed]
            try:
                factor = linalg.cho_factor(H.T, lower=False, overwrite_a=True, check_finite=False)
            except linalg.LinAlgError:
                return np.maximum(self.x - self.s * self.g / self.unit, self.floor)
            y[rows] = linalg.cho_solve(factor, rhs, check_finite=False)
            crossing = rows[y[rows] < lowest[rows]]
            if not len(crossing):
                break
            free[crossing] = False
            y[crossing] = lowest[crossing]
            fixed = np.concatenate([fixed, crossing])
        return np.maximum(self.x + self.s * y, self.floor)


# --- the methods whose statistics are one Gram matrix: formulas and sources are in the methods'
# modules ----------------------


def csfs(gram: GramView, mu: float = 1.0, **options: Any) -> Solution:
    """`methods.scanned` with every row labelled; for unlabelled rows see
    `l21_scans.csfs_unlabelled`."""
    return _with_intercept(
        gram, minimise_l21(gram.G, gram.C, mu, float(np.trace(gram.S)), **options)
    )


def msfs(
    gram: GramView,
    xlx: np.ndarray,
    alpha: float = 0.1,
    beta: float = 10.0,
    rho: float = 0.5,
    **options: Any,
) -> Solution:
    """`methods.manifolds`, given X'LX (v × v) of the sampled neighbourhood graph in the view's
    coordinates. ρ = 0, α = 0 is ridge(β); α = 0, ρ = 1 is fully labelled CSFS(β)."""
    A = gram.G + alpha * xlx if alpha else gram.G.copy()
    A[np.diag_indices_from(A)] += beta * (1 - rho)
    return _with_intercept(
        gram, minimise_l21(A, gram.C, beta * rho, float(np.trace(gram.S)), 0.5, **options)
    )


def mssl(
    gram: GramView, alpha: float = 0.1, beta: float = 1.0, k: int = 10, **options: Any
) -> Solution:
    """`methods.regression`, L_f the `feature_laplacian` of the k nearest features, from the Gram
    matrix."""
    A = gram.G + alpha * feature_laplacian(gram.G, gram.n, k).toarray() if alpha else gram.G
    more = options | {"penalties": gram.penalties}
    return _with_intercept(
        gram, minimise_l21(A, gram.C, beta, float(np.trace(gram.S)), 0.5, **more)
    )


def _with_intercept(gram: GramView, solution: Solution) -> Solution:
    solution.intercept = gram.offset_y.copy()
    return solution


def feature_laplacian(G: np.ndarray, n: float, k: int) -> sparse.csr_matrix:
    """Laplacian of the k-nearest-feature graph: binary weights, an edge if either feature lists the
    other; d²_ij = G_ii + G_jj − 2 G_ij (columns of the scaled X), neighbours ordered by round(d²/n,
    10), then index."""
    d = len(G)
    k = min(k, d - 1)
    if k < 1:
        return sparse.csr_matrix((d, d))
    square = np.diag(G)
    neighbours = np.empty((d, k), dtype=np.int64)
    for first in range(0, d, 512):  # blocks bound the memory
        rows = np.arange(first, min(first + 512, d))
        distance = np.round((square[rows, None] + square - 2 * G[rows]) / n, 10)
        distance[np.arange(len(rows)), rows] = np.inf
        kth = np.partition(distance, k - 1, axis=1)[:, k - 1]
        for i, row in enumerate(rows):
            near = np.flatnonzero(
                distance[i] <= kth[i]
            )  # ascending index, so a stable sort settles the ties
            neighbours[row] = near[np.argsort(distance[i, near], kind="stable")[:k]]
    return laplacian(
        symmetric_edges(np.repeat(np.arange(d), k), neighbours.ravel(), np.ones(d * k), d)
    )


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
