"""The solver of `methods.mifs`: exact block updates in the order W, B, V,

    W = (X'X + γD)⁻¹X'V (D = diag(1/(2‖w_i‖)), scaled form),
    B = (V'V)⁻¹V'Y,
    (I + βL)V + αVBB' = XW + αYB',

from V = U_c S_c, B = V_c' of Y's truncated SVD, D = I; with BB' = I, B = PQ' from the SVD V'Y =
PSQ'.

With BB' = I, from cycle 30 on, (W, B) is extrapolated (Anderson; B back to BB' = I by its polar
factor), kept when the objective does not rise. From then on (with β > 0 from cycle 60 on) V is
eliminated: what is left is an ℓ2,1 problem in W, whose Newton steps (`BoxNewton`) alternate
with steps in B repeated until it rests (`_Eliminated`). The fixed points are those of the cycle; W,
B and V are determined up to a rotation of the latent axes, which changes no score.

With β = 0, V = XP + YQ, so X'X, X'Y and Y'Y suffice (`GramStatistics.uncentred`); with β > 0 X
enters through two products."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from ..kernels.gram import GramView
from ..kernels.matrix import Matrix
from .anderson import Anderson
from .box_newton import BoxNewton
from .factorise import latent_width, lengths, truncated_svd
from .l21 import EPS, factored_step, huber, reweighted_step, steady
from .problems import Solution, copies, settled, solve_positive
from .walks import laplacian, symmetric_edges

CONSTRAINTS = ("orthonormal", "none")
_PLAIN = 30  # cycles before the first extrapolation
_COLUMNS = 256  # features at a time where X is multiplied out
# cycles before V is eliminated where β > 0, which costs a solve with the rows' graph for every
# feature
_ROWS = 60


class _SpannedLatent:
    """V = XP + YQ, seen only through the Gram matrices (no manifold term)."""

    def __init__(self, gram: GramView):
        self.G, self.C = gram.G, gram.C
        self.S = gram.S

    def start(self, Vt: ndarray) -> None:
        self.P = np.zeros((len(self.G), len(Vt)))
        self.Q = Vt.T.copy()

    def update(
        self,
        W: ndarray,
        B: ndarray,
        alpha: float,
        beta: float,
    ) -> None:
        M = np.eye(len(B)) + alpha * (B @ B.T)
        right = np.concatenate([W, alpha * B.T])
        solved = np.linalg.solve(M, right.T).T
        self.P = solved[: len(W)]
        self.Q = solved[len(W) :]

    def with_features(self) -> ndarray:
        return self.G @ self.P + self.C @ self.Q

    def with_labels(self) -> ndarray:
        return self.P.T @ self.C + self.Q.T @ self.S

    def with_itself(self) -> ndarray:
        cross = self.P.T @ self.C @ self.Q
        square = self.P.T @ self.G @ self.P
        return square + cross + cross.T + self.Q.T @ self.S @ self.Q

    def misfit(self, W: ndarray) -> float:
        D = W - self.P
        square = (D * (self.G @ D)).sum()
        cross = (D * (self.C @ self.Q)).sum()
        return float(square - 2 * cross + (self.Q * (self.S @ self.Q)).sum())

    def roughness(self) -> float:
        return 0.0

    def eliminated(self, alpha: float, beta: float) -> tuple[ndarray, ndarray, ndarray]:
        return self.G * (alpha / (1 + alpha)), self.C / (1 + alpha), self.S / (1 + alpha)

    def factors(self, scale: ndarray) -> dict[str, ndarray]:
        return {"P": self.P * scale, "Q": self.Q * scale}


class _ExplicitLatent:
    """V as an n × c array; X only through X @ and X' @."""

    def __init__(self, X: LinearOperator, Y: ndarray, L: sparse.spmatrix):
        self.X, self.Y = X, Y
        self.L = sparse.csr_matrix(L)

    def start(self, Vt: ndarray) -> None:
        self.V = self.Y @ Vt.T

    def update(
        self,
        W: ndarray,
        B: ndarray,
        alpha: float,
        beta: float,
    ) -> None:
        right = self.X @ W + alpha * (self.Y @ B.T)
        values, vectors = np.linalg.eigh(B @ B.T)  # the columns separate in this basis
        shifts = 1 + alpha * values
        rotated = _solve_shifted(
            self.L,
            beta,
            shifts,
            right @ vectors,
            self.V @ vectors,
        )
        self.V = rotated @ vectors.T

    def with_features(self) -> ndarray:
        return self.X.rmatmat(self.V)

    def with_labels(self) -> ndarray:
        return self.V.T @ self.Y

    def with_itself(self) -> ndarray:
        return self.V.T @ self.V

    def misfit(self, W: ndarray) -> float:
        return float(((self.X @ W - self.V) ** 2).sum())

    def roughness(self) -> float:
        return float((self.V * (self.L @ self.V)).sum())

    def eliminated(self, alpha: float, beta: float) -> tuple[ndarray, ndarray, ndarray]:
        """Return P, H and N of `_Eliminated`."""
        d = self.X.shape[1]
        shift = 1 + alpha
        P = np.empty((d, d))
        for first in range(0, d, _COLUMNS):
            part = slice(first, min(first + _COLUMNS, d))
            unit_columns = np.zeros((d, part.stop - first))
            np.fill_diagonal(unit_columns[first:], 1.0)
            x = self.X @ unit_columns
            P[:, part] = self.X.rmatmat(x - self._inverse(x, beta, shift))
        y = self._inverse(self.Y, beta, shift)
        return (P + P.T) / 2, self.X.rmatmat(y), self.Y.T @ y

    def _inverse(self, columns: ndarray, beta: float, shift: float) -> ndarray:
        """Return A⁻¹ of these columns, A = shift·I + βL."""
        shifts = np.repeat(np.array([shift]), columns.shape[1])
        return _solve_shifted(
            self.L,
            beta,
            shifts,
            columns,
            columns / shift,
        )

    def factors(self, scale: ndarray) -> dict[str, ndarray]:
        return {"V": self.V * scale}


_Latent = _SpannedLatent | _ExplicitLatent  # V and what the updates need of it


def _solve_shifted(
    L: sparse.csr_matrix,
    beta: float,
    shifts: ndarray,
    rhs: ndarray,
    x: ndarray,
) -> ndarray:
    """Solve (shift_r I + βL) x_r = rhs_r for every column, from x.

    By conjugate gradients side by side. The shifts are at least 1, so a few dozen products suffice;
    a sparse factorisation of a neighbour graph fills in instead."""
    # Divided by its shift and brought to unit size, no column under- or overflows, however far V
    # and B have drifted apart.
    size = np.abs(rhs).max(axis=0, initial=0.0)
    size = np.where(size > 0, size, 1.0)
    betas = beta / shifts
    rhs = rhs / size
    x = x / size * shifts
    inverse = 1.0 / (1.0 + betas * L.diagonal()[:, None])
    r = rhs - (x + betas * (L @ x))
    z = inverse * r
    p = z.copy()
    rz = (r * z).sum(axis=0)
    goal = 1e-28 * (inverse * rhs * rhs).sum(axis=0)
    for _ in range(5000):
        if (rz <= goal).all():
            break
        h = p + betas * (L @ p)
        bend = (p * h).sum(axis=0)
        moves = (bend > 0) & (rz > goal)
        length = np.divide(rz, bend, out=np.zeros_like(rz), where=moves)
        x = x + length * p
        r = r - length * h
        z = inverse * r
        last = rz
        rz = (r * z).sum(axis=0)
        p = z + np.divide(rz, last, out=np.zeros_like(rz), where=last > 0) * p
    return x / shifts * size


def mifs(  # noqa: PLR0913
    gram: GramView,
    alpha: float = 1.0,
    beta: float = 0.1,
    gamma: float = 1.0,
    c: int | None = None,
    constraint: str = "orthonormal",
    X: Matrix | LinearOperator | None = None,
    Y: ndarray | None = None,
    laplacian: sparse.spmatrix | None = None,
    tol: float = 1e-9,
    max_iter: int = 2000,
    accelerate: bool = True,
) -> Solution:
    """Solve MIFS; the formulas are in the module's docstring.

    `gram` the `uncentred` view: X'X, X'Y, Y'Y; with β = 0 nothing else is read. `X`, `Y`,
    `laplacian` needed when β > 0: X n × v in the view's coordinates, or a LinearOperator (its
    `matmat` and `rmatmat` may be distributed products), Y n × q, and the n × n Laplacian. `c`
    latent width, default ⌈0.3 q⌉, at most the rank of Y. `accelerate` extrapolates from cycle 30
    on; without effect where constraint="none", whose cycles are the method.

    Stops at max|ΔW| ≤ tol max|W|. `objective` is the Huberised one after each cycle. `extra` has B
    (rows of length one, W and V scaled accordingly) and, for β = 0, P and Q of V = XP + YQ, else
    V."""
    q = gram.S.shape[0]
    values, vectors = np.linalg.eigh(gram.S)  # the rows of S^½ stand for the labelsets
    root = (vectors * np.sqrt(np.maximum(values, 0.0))).T
    c = latent_width(q) if c is None else c
    _, _, Vt = truncated_svd(root, np.ones(q), c)
    latent: _Latent
    if beta > 0:
        assert X is not None and Y is not None and laplacian is not None
        latent = _ExplicitLatent(aslinearoperator(X), np.asarray(Y, dtype=np.float64), laplacian)
    else:
        latent = _SpannedLatent(gram)
    orthonormal = constraint == "orthonormal"
    accelerate = accelerate and orthonormal and gamma > 0
    problem = _Alternation(
        gram,
        latent,
        Vt,
        alpha,
        beta,
        gamma,
        orthonormal,
    )
    before_elimination = _ROWS if beta > 0 else _PLAIN
    cycles = min(max_iter, before_elimination) if accelerate else max_iter
    problem.run(cycles, tol, accelerate)
    if accelerate and not problem.converged and len(problem.trace) < max_iter:
        parts = latent.eliminated(alpha, beta)
        problem.eliminated = _Eliminated(
            *parts,
            problem.size,
            alpha,
            gamma,
            problem.eps,
        )
        problem.run(max_iter, tol, accelerate)
        latent.update(problem.W, problem.B, alpha, beta)
    return problem.solution()


class _Alternation:
    """Steps of W and B in turn, extrapolated where the objective does not rise, from V = YB', D =
    diag(1/s2) = I."""

    def __init__(
        self,
        gram: GramView,
        latent: _Latent,
        B: ndarray,
        alpha: float,
        beta: float,
        gamma: float,
        orthonormal: bool,
    ) -> None:
        self.gram, self.latent = gram, latent
        self.orthonormal = orthonormal
        self.alpha, self.beta = alpha, beta
        self.gamma = gamma
        latent.start(B)
        self.W = np.zeros((len(gram.G), len(B)))
        self.B = B
        self.s2 = np.ones(len(gram.G))
        self.eps = 0.0
        self.size = float(np.trace(gram.S))
        # Differences of sums as large as ‖Y‖²: a rise within their rounding is reported as none.
        self.slack = 1e-13 * (1 + alpha) * self.size
        self.trace: list[float] = []
        self.converged = False
        self.eliminated: _Eliminated | None = None

    def run(self, max_iter: int, tol: float, accelerate: bool) -> None:
        """Update W, B and V exactly until W rests or there are `max_iter` cycles.

        With `accelerate` they are extrapolated from the 30th on."""
        memory = Anderson()
        trace = self.trace
        while len(trace) < max_iter and not self.converged:
            before = (self.W, self.B)
            change, norms = self._update()
            value = self._objective(self.W, self.B, norms)
            last = trace[-1] if trace else value
            trace.append(settled(last, value, self.slack))
            self.converged = bool(change <= tol * np.abs(self.W).max(initial=0.0))
            if self.converged or not accelerate or len(trace) < _PLAIN:
                continue
            guess = memory.lead(before, (self.W, self.B))
            if guess is None:
                continue
            W, norms = steady(guess[0], self.W, norms)
            B = _orthonormal(guess[1])
            self._follow(W, B)
            if self._objective(W, B, norms) <= trace[-1]:
                self.W, self.B = W, B
                self.s2 = np.maximum(2 * norms, self.eps)
            else:
                memory.forget()
                self._follow(self.W, self.B)

    def solution(self) -> Solution:
        """Return the solution with rows of B of length one."""
        scale = lengths(self.B)
        extra: dict[str, Any] = {"eps": self.eps, "B": self.B / scale[:, None]}
        extra |= self.latent.factors(scale)
        intercept = np.zeros(len(self.B))
        cycles = len(self.trace)
        return Solution(
            self.W * scale,
            intercept,
            self.trace,
            self.converged,
            cycles,
            extra,
        )

    def _follow(self, W: ndarray, B: ndarray) -> None:
        """Update V to these W and B, where it is not eliminated."""
        if self.eliminated is None:
            self.latent.update(W, B, self.alpha, self.beta)

    def _objective(self, W: ndarray, B: ndarray, norms: ndarray) -> float:
        """Return the Huberised objective at W (`norms` its row norms), B and the latent V."""
        penalty = self.gamma * float(huber(norms, self.eps).sum())
        if self.eliminated is not None:
            return self.eliminated.value(W, B) + penalty
        latent = self.latent
        cross = float((B * latent.with_labels()).sum())
        square = float((B * (latent.with_itself() @ B)).sum())
        fit = self.size - 2 * cross + square
        return latent.misfit(W) + self.alpha * fit + self.beta * latent.roughness() + penalty

    def _update(self) -> tuple[float, ndarray]:
        """Step W, then B and V; return the largest change of W, and its row norms."""
        if self.eliminated is not None:
            W = self.eliminated.weights(self.B, self.s2)
        else:
            W = self._weights(self.latent.with_features())
        norms = np.linalg.norm(W, axis=1)
        self.eps = self.eps or EPS * 2 * float(norms.max(initial=0.0))
        if self.eps:
            self.s2 = np.maximum(2 * norms, self.eps)
        change = np.abs(W - self.W).max(initial=0.0)
        self.W = W
        if self.eliminated is not None:
            self.B = self.eliminated.labels(W, self.B)
        else:
            self.B = self._labels(self.latent.with_labels())
        self._follow(W, self.B)
        return change, norms

    def _weights(self, cross: ndarray) -> ndarray:
        if self.gamma > 0:
            return reweighted_step(self.gram.G, cross, self.gamma, self.s2)
        return solve_positive(self.gram.G, cross)

    def _labels(self, cross: ndarray) -> ndarray:
        if self.orthonormal:
            return _orthonormal(cross)
        return solve_positive(self.latent.with_itself(), cross)


class _Eliminated:
    """The problem in (W, B) once V = A⁻¹(XW + αYB') is eliminated, A = (1 + α)I + βL, BB' = I:

    tr W'PW − 2α tr W'HB' + α tr Y'Y − α² tr BNB' + γ Σ h(‖w_i‖),
    P = X'X − X'A⁻¹X, H = X'A⁻¹Y, N = Y'A⁻¹Y."""

    def __init__(
        self,
        P: ndarray,
        H: ndarray,
        N: ndarray,
        size: float,
        alpha: float,
        gamma: float,
        eps: float,
    ) -> None:
        self.P, self.H = P, H
        self.N, self.size = N, size
        self.alpha, self.gamma = alpha, gamma
        self.floor = np.full(len(P), eps)
        self.damping = 1e-2
        self.group = np.arange(len(P))  # of identical columns, which rounding must not tell apart
        for j, i, _ in copies(P):
            self.group[j] = i
        self.count = np.maximum(np.bincount(self.group, minlength=len(P)), 1)

    def value(self, W: ndarray, B: ndarray) -> float:
        """Return the objective without its penalty."""
        square = (W * (self.P @ W)).sum()
        cross = (W * (self.H @ B.T)).sum()
        labels = float((B * (B @ self.N)).sum())
        fit = float(square - 2 * self.alpha * cross)
        return fit + self.alpha * (self.size - self.alpha * labels)

    def weights(self, B: ndarray, x: ndarray) -> ndarray:
        """Return W for a fixed B by one Newton step from D = diag(1/x).

        By the reweighting when that is no descent."""
        cross = self.alpha * (self.H @ B.T)
        W, factor = factored_step(self.P, cross, self.gamma, x)
        if factor is None:
            return W
        value = self._value_at(W, cross, x)
        x = BoxNewton.of_l21(
            factor,
            W,
            x,
            self.gamma,
            self.floor,
        ).step(self.damping)
        x = (np.bincount(self.group, x, minlength=len(x)) / self.count)[self.group]
        trial = reweighted_step(self.P, cross, self.gamma, x)
        if self._value_at(trial, cross, x) <= value:
            self.damping = max(0.1 * self.damping, 1e-8)
            return trial
        self.damping = min(30 * self.damping, 1.0)
        return W

    def _value_at(self, W: ndarray, cross: ndarray, x: ndarray) -> float:
        """Return tr W'PW − 2 tr W'X'V + γ Σ h, where PW = X'V − γW/x."""
        t = np.linalg.norm(W, axis=1)
        penalty = (huber(t, self.floor) - t * t / x).sum()
        return float(-(W * cross).sum() + self.gamma * penalty)

    def labels(self, W: ndarray, B: ndarray) -> ndarray:
        """Return B for a fixed W: each step raises tr BH'W + α/2 tr BNB'."""
        cross = W.T @ self.H
        for _ in range(100):
            new = _orthonormal(cross + self.alpha * (B @ self.N))
            change = np.abs(new - B).max()
            B = new
            if change <= 1e-12:
                break
        return B


def _orthonormal(A: ndarray) -> ndarray:
    """Return the nearest matrix with orthonormal rows: PQ' of the SVD A = PSQ'."""
    left, _, right = np.linalg.svd(A, full_matrices=False)
    return left @ right


def heat_laplacian(neighbours: ndarray, squared: ndarray) -> sparse.csr_matrix:
    """Return the Laplacian of the k-nearest-neighbour heat graph of the rows.

    `neighbours` (n × k row numbers; −1: none), `squared` (n × k, d²), weight exp(−d²/t), t the mean
    d² of the directed edges (0: weight 1), an edge if either end lists the other."""
    rows, place = np.nonzero(neighbours >= 0)
    columns = neighbours[rows, place]
    d2 = squared[rows, place]
    t = float(d2.mean()) if len(d2) else 0.0
    weights = np.exp(-d2 / t) if t > 0 else np.ones(len(d2))
    return laplacian(symmetric_edges(rows, columns, weights, len(neighbours)))
