"""Ridge, LASSO and elastic net from G = X'HX and C = X'HY, with the group (ℓ2,1) forms of the last
two.

    ridge         W = (G + αI)⁻¹C elastic net   min (1/2n) ‖HY − HXW‖² + α [ ρP(W) + (1 − ρ)/2 ‖W‖²
    ],   P = Σ |w_ij|  or  Σ_i ‖w_i‖

Where a view has penalties of its features, each feature's terms of the penalty are multiplied by
them (`Penalised`). LASSO is ρ = 1. Coordinate descent is cyclic by ascending feature from W = 0 and
ends when the duality gap is at most 1e-10. Of identical (or opposite) columns the first takes all
where the optimum leaves that open, that is at ρ = 1: the copies stay out. (Cyclic descent alone
gives that only for neighbours; with other features between them it may split the weight.) All q
outputs of a coordinate move together, and a block of coordinates shares one matrix product, which
changes the order of the arithmetic but not of the updates. Between full sweeps only the rows in use
are swept. LASSO's outputs are finished by an exact solve on their support (feature-sign search: Lee
et al., NIPS 2006), the group form by guarded Anderson extrapolation and Newton steps.

Shared by the solvers of linear problems: the form of a solution, positive definite systems,
identical columns, guesses."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from scipy import linalg

from ..kernels.gram import GramView


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


_MEMORY = 10  # iterates looked back on
_LEAST = 3  # iterates a guess needs


class Anderson:
    """The last iterates of a fixed-point iteration x ← F(x), as arrays of one shape, and a guess
    from them. With g_j = F(x_j) and r_j = g_j − x_j type II takes the combination of the g_j whose
    residuals cancel best,

        x = g_k − Σ_j w_j (g_{j+1} − g_j),    w = argmin ‖r_k − Σ_j w_j (r_{j+1} − r_j)‖² +
        ridge·‖w‖²,

    ridge 1e-10 of the trace of the differences' Gram matrix. It may raise the objective: callers
    keep it only where it does not. Sources: Anderson 1965; Walker & Ni 2011; `affine_extrapolation`
    Bertrand & Massias 2021."""

    def __init__(self) -> None:
        self.images: list[np.ndarray] = []
        self.residuals: list[np.ndarray] = []

    def add(self, image: np.ndarray, residual: np.ndarray) -> None:
        """F(x) and F(x) − x of the next iterate."""
        self.images.append(image)
        self.residuals.append(residual)
        self.forget(_MEMORY + 1)

    def forget(self, left: int = 0) -> None:
        first = max(0, len(self.images) - left)
        del self.images[:first], self.residuals[:first]

    def restrict(self, rows: np.ndarray) -> None:
        self.images = [v[rows] for v in self.images]
        self.residuals = [v[rows] for v in self.residuals]

    def lead(
        self, before: Sequence[np.ndarray], after: Sequence[np.ndarray]
    ) -> list[np.ndarray] | None:
        """`add` the step of an iterate of several arrays from `before` to `after`; the `guess` in
        their shapes."""
        image = np.concatenate([part.ravel() for part in after])
        self.add(image, image - np.concatenate([part.ravel() for part in before]))
        guess = self.guess()
        if guess is None:
            return None
        pieces = np.split(guess, np.cumsum([part.size for part in after])[:-1])
        return [piece.reshape(part.shape) for piece, part in zip(pieces, after, strict=True)]

    def guess(self) -> np.ndarray | None:
        """Where the iteration may be going to; None with fewer than three iterates, or where they
        tell nothing."""
        if len(self.images) < _LEAST:
            return None
        dF = np.diff(np.array(self.residuals), axis=0)
        dG = np.diff(np.array(self.images), axis=0)
        gram = dF @ dF.T
        ridge = 1e-10 * np.trace(gram)
        if not ridge > 0:
            return None
        gram[np.diag_indices_from(gram)] += ridge
        try:
            weights = np.linalg.solve(gram, dF @ self.residuals[-1])
        except np.linalg.LinAlgError:
            return None
        out = self.images[-1] - weights @ dG
        return out if np.isfinite(out).all() else None


def affine_extrapolation(points: np.ndarray) -> np.ndarray | None:
    """Σ_j c_j x_{j+1} of consecutive iterates `points` (k + 1, d), Σ c = 1, with the shortest Σ_j
    c_j (x_{j+1} − x_j): for cyclic coordinate descent, whose iterates alone are at hand. None where
    they tell nothing."""
    steps = np.diff(points, axis=0)
    gram = steps @ steps.T
    gram[np.diag_indices_from(gram)] += 1e-12 * np.trace(gram)
    try:
        c = np.linalg.solve(gram, np.ones(len(gram)))
    except np.linalg.LinAlgError:
        return None
    if not np.isfinite(c).all() or c.sum() == 0:
        return None
    return (c / c.sum()) @ points[1:]


_BLOCK = 64


def ridge(gram: GramView, alpha: float = 1.0) -> Solution:
    """Ridge regression of all outputs; with α = 0 and a singular G the least-norm solution."""
    A, p = gram.G.copy(), np.ones(len(gram.G)) if gram.penalties is None else gram.penalties
    A[np.diag_indices_from(A)] += alpha * p
    W = solve_positive(A, gram.C)
    fit = np.trace(gram.S) - 2 * (W * gram.C).sum() + (W * (gram.G @ W)).sum()
    return Solution(
        W, gram.offset_y.copy(), [float(fit + alpha * (p[:, None] * W * W).sum())], True, 1
    )


def elastic_net(
    gram: GramView,
    alpha: float = 0.01,
    rho: float = 0.5,
    group: bool = False,
    tol: float = 1e-10,
    max_iter: int = 10_000,
) -> Solution:
    """Elastic net by coordinate descent on the Gram matrix.

    `group=True` takes P = ‖W‖₂,₁ (one feature in or out for all outputs). `tol` bounds the duality
    gap, in the units of the objective, summed over outputs; `extra["gap"]` is that reached.
    `max_iter` counts sweeps; `objective` has a value a sweep."""
    n, d, q = gram.n, *gram.C.shape
    if d == 0 or q == 0:
        return Solution(
            np.zeros((d, q)), gram.offset_y.copy(), [float(np.trace(gram.S)) / (2 * n)], True, 0
        )
    if alpha * rho == 0:
        solution = ridge(gram, n * alpha)
        solution.objective = [value / (2 * n) for value in solution.objective]
        return solution
    l1, l2 = n * alpha * rho, n * alpha * (1 - rho)
    if gram.penalties is None:
        return _Descent(gram, l1, l2, group, tol * n).run(max_iter)
    part = Penalised(
        gram.G + np.diag(l2 * gram.penalties), gram.C, gram.penalties
    )  # squares are rows of 0 labels
    some = replace(gram, G=part.A, C=part.C, S=gram.S - part.explained)
    solution = _Descent(some, l1, 0.0, group, tol * n).run(max_iter)
    solution.weights = part.weights(solution.weights)
    return solution


class _Descent:
    """min ½(tr S − 2 tr W'C + tr W'GW) + l1 P(W) + l2/2 ‖W‖²; reported divided by n."""

    def __init__(self, gram: GramView, l1: float, l2: float, group: bool, tol: float):
        self.G, self.C, self.n, self.offset_y = gram.G, gram.C, gram.n, gram.offset_y
        self.yy = np.diag(gram.S).astype(np.float64)
        self.l1, self.l2, self.group, self.tol = l1, l2, group, tol
        self.curvature = np.maximum(np.diag(self.G), 0.0) + l2
        self.usable = self.curvature > 0  # the views leave out what does not vary
        self.copies = copies(self.G) if l2 == 0 else []
        self.usable[[j for j, _, _ in self.copies]] = False

    def values(
        self, W: np.ndarray, C: np.ndarray, R: np.ndarray, yy: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Objective and duality gap per output (one of each for the group form), from R = C −
        GW."""
        wc, wr, ww = (W * C).sum(axis=0), (W * R).sum(axis=0), (W * W).sum(axis=0)
        rss = np.maximum(yy - wc - wr, 0.0)  # y'y − 2w'c + w'Gw, as w'Gw = w'c − w'r
        dual = R - self.l2 * W
        if self.group:
            wc, rss, ww, yy = (part.sum(keepdims=True) for part in (wc, rss, ww, yy))
            penalty = np.array([self.l1 * np.linalg.norm(W, axis=1).sum()])
            largest = np.array([np.linalg.norm(dual, axis=1).max(initial=0.0)])
        else:
            penalty, largest = (
                self.l1 * np.abs(W).sum(axis=0),
                np.abs(dual).max(axis=0, initial=0.0),
            )
        scale = np.minimum(1.0, self.l1 / np.maximum(largest, 1e-300))
        objective = 0.5 * rss + penalty + 0.5 * self.l2 * ww
        gap = (
            0.5 * rss * (1 + scale**2)
            + penalty
            - scale * (yy - wc)
            + 0.5 * self.l2 * (1 + scale**2) * ww
        )
        return objective, gap

    def sweep(self, W: np.ndarray, C: np.ndarray, rows: np.ndarray, G: np.ndarray) -> None:
        """One cyclic pass over `rows` (G = its Gram block, W and C likewise restricted), in
        place."""
        for first in range(0, len(rows), _BLOCK):
            block = slice(first, min(first + _BLOCK, len(rows)))
            inner = G[block, block]
            R = C[block] - G[block] @ W
            Wb = W[block]
            for j in range(len(inner)):
                row = rows[first + j]
                if not self.usable[row]:
                    continue
                w = Wb[j]
                g = R[j] + inner[j, j] * w
                if self.group:
                    size = np.sqrt(g @ g)
                    new = (
                        g * (max(1.0 - self.l1 / size, 0.0) / self.curvature[row])
                        if size > 0
                        else np.zeros_like(g)
                    )
                else:
                    new = g - np.clip(g, -self.l1, self.l1)
                    new[np.abs(new) <= 1e-13 * self.l1] = 0.0
                    new /= self.curvature[row]
                step = new - w
                if step.any():
                    Wb[j] = new
                    R[j + 1 :] -= inner[j + 1 :, j, None] * step

    def run(self, max_iter: int) -> Solution:
        d, q = self.C.shape
        W, everything = np.zeros((d, q)), np.arange(d)
        open_ = np.arange(q)  # outputs still to be solved; the group form couples them all
        gaps = np.full(1 if self.group else q, np.inf)
        objectives = np.full(1 if self.group else q, np.inf)
        trace: list[float] = []
        tol = self.tol / len(gaps)
        sweeps, idle, best_gap = 0, 0, np.inf
        while sweeps < max_iter:
            # A full sweep over the outputs still open finds what enters; then only the rows in use
            # are swept.
            V, C = W[:, open_].copy(), self.C[:, open_]
            self.sweep(V, C, everything, self.G)
            sweeps += 1
            V = self.finish(V, C, trace, objectives, open_, max_iter)
            sweeps = max(sweeps, len(trace))
            R = C - self.G @ V
            value, gap = self.values(V, C, R, self.yy[open_])
            W[:, open_] = V
            where = slice(None) if self.group else open_
            objectives[where], gaps[where] = value, gap
            self.note(trace, float(objectives.sum()) / self.n)
            sweeps = len(trace)
            if not self.group:
                open_ = open_[gap > tol]
            if gaps.sum() <= self.tol or (not self.group and not len(open_)):
                break
            # Rounding can hold the gap above a tolerance finer than it: stop when sweeps no longer
            # improve it.
            idle = 0 if gaps.sum() < 0.5 * best_gap else idle + 1
            best_gap = min(best_gap, gaps.sum())
            if idle >= 5 and self.copies:  # a near copy, whose own part is above the tolerance
                self.usable[[j for j, _, _ in self.copies]] = True
                self.copies, idle = [], 0
            if idle >= 200:
                break
        reached = float(np.maximum(gaps, 0.0).sum()) / self.n
        converged = bool(gaps.sum() <= self.tol or (gaps <= tol).all())
        return Solution(W, self.offset_y.copy(), trace, converged, sweeps, {"gap": reached})

    def note(self, trace: list[float], value: float) -> None:
        trace.append(settled(trace[-1], value, 1e-12 * abs(trace[-1])) if trace else value)

    def finish(
        self,
        V: np.ndarray,
        C: np.ndarray,
        trace: list[float],
        objectives: np.ndarray,
        open_: np.ndarray,
        limit: int,
    ) -> np.ndarray:
        """Sweep the rows in use until their own gap is small, then extrapolate or solve on the
        support."""
        rows = np.flatnonzero(V.any(axis=1))
        if not len(rows):
            return V
        G = self.G if len(rows) == len(V) else self.G[np.ix_(rows, rows)]
        W, Cr, yy = V[rows].copy(), C[rows], self.yy[open_]
        where = slice(None) if self.group else open_
        tol = self.tol / len(objectives)
        history: list[np.ndarray] = []
        for step in range(20):
            if len(trace) >= limit - 1:
                break
            R = Cr - G @ W
            value, gap = self.values(W, Cr, R, yy)
            objectives[where] = value
            self.note(trace, float(objectives.sum()) / self.n)
            # A rough answer is enough while the set of rows is still moving: the next full sweep
            # corrects it.
            if (gap <= 0.1 * tol).all():
                break
            if self.group and step >= 8:
                W = self.newton_step(W, Cr, G, yy)
            elif self.group:
                W = self.extrapolate(history, W, Cr, G, yy, float(value[0]))
            elif step % 5 == 4:
                rough = gap > 0.1 * tol
                W[:, rough] = self.support_step(W[:, rough], Cr[:, rough], R[:, rough], G)
            self.sweep(W, Cr, rows, G)
        out = V.copy()
        out[rows] = W
        return out

    def newton_step(
        self, W: np.ndarray, C: np.ndarray, G: np.ndarray, yy: np.ndarray
    ) -> np.ndarray:
        """One damped Newton step of the group form on its nonzero rows.

        The Hessian is V → (G + l2)V + l1 (v_i − u_i u_i'v_i)/‖w_i‖, u_i = w_i/‖w_i‖; conjugate
        gradients invert it, preconditioned by the reweighting matrix G + l2 + l1 diag(1/‖w_i‖), all
        scaled by ‖w_i‖^½."""
        rows = np.flatnonzero(W.any(axis=1))
        w, c = W[rows], C[rows]
        A = G if len(rows) == len(G) else G[np.ix_(rows, rows)]
        norms = np.linalg.norm(w, axis=1)
        u, s = w / norms[:, None], np.sqrt(norms)[:, None]
        gradient = A @ w + self.l2 * w - c + self.l1 * u
        M = A * (s * s.T)
        M[np.diag_indices_from(M)] += self.l2 * norms + self.l1
        try:
            factor = linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return W

        def hessian(z: np.ndarray) -> np.ndarray:
            v = s * z
            return s * (A @ v + self.l2 * v) + self.l1 * (
                z - u * (u * z).sum(axis=1, keepdims=True)
            )

        r = -s * gradient
        z = np.zeros_like(r)
        y = linalg.cho_solve(factor, r, check_finite=False)
        p, ry = y, float((r * y).sum())
        first = ry
        for _ in range(60):
            if not ry > 1e-6 * first:
                break
            h = hessian(p)
            bend = float((p * h).sum())
            if not bend > 0:
                break
            z += (ry / bend) * p
            r -= (ry / bend) * h
            y = linalg.cho_solve(factor, r, check_finite=False)
            ry, last = float((r * y).sum()), ry
            p = y + (ry / last) * p
        step = s * z
        now, _ = self.values(W, C, C - G @ W, yy)
        length = 1.0
        while length > 1e-4:
            trial = W.copy()
            trial[rows] += length * step
            value, _ = self.values(trial, C, C - G @ trial, yy)
            if value[0] < now[0]:
                return trial
            length *= 0.3
        return W

    def extrapolate(
        self,
        history: list[np.ndarray],
        W: np.ndarray,
        C: np.ndarray,
        G: np.ndarray,
        yy: np.ndarray,
        now: float,
    ) -> np.ndarray:
        """Anderson extrapolation over the last sweeps (Bertrand & Massias 2021), kept only when the
        objective falls."""
        history.append(W.ravel().copy())
        if len(history) < 6:
            return W
        points = np.array(history)
        history.clear()
        guess = affine_extrapolation(points)
        if guess is None:
            return W
        trial = guess.reshape(W.shape)
        value, _ = self.values(trial, C, C - G @ trial, yy)
        return trial if value[0] < now else W

    def support_step(
        self, W: np.ndarray, C: np.ndarray, R: np.ndarray, G: np.ndarray
    ) -> np.ndarray:
        """Per output, the minimiser on the support with the signs fixed, approached until the first
        sign change.

        On a fixed orthant the objective is a quadratic, so every such step lowers it."""
        W = W.copy()
        for l in range(W.shape[1]):  # noqa: E741  (l is a label here, as in the formulas)
            support = np.flatnonzero(W[:, l])
            if not len(support) or len(support) > 3000:
                continue
            w = W[support, l]
            A = G[np.ix_(support, support)]
            A[np.diag_indices_from(A)] += self.l2
            size = np.sqrt(np.diag(A))
            descent = R[support, l] - self.l2 * w - self.l1 * np.sign(w)
            try:
                factor = linalg.cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
            except linalg.LinAlgError:
                # a singular support: several optima, coordinate descent decides between them
                continue
            pivots = np.diag(factor[0]) / size
            if pivots.min() <= 1e-6 * pivots.max():
                continue
            step = linalg.cho_solve(factor, descent, check_finite=False)
            Q = G[np.ix_(support, support)]
            c = C[support, l]
            ratio = np.divide(-w, step, out=np.full(len(w), np.inf), where=step * w < 0)
            safe = float(min(1.0, ratio.min()))
            best, value = w, np.inf
            # The first crossing always lowers the objective; a longer step, crossed weights at 0,
            # usually does more.
            for length in sorted({1.0, 0.5, 0.25, safe}, reverse=True):
                trial = w + length * step
                trial[(trial * w < 0) | (ratio <= length)] = 0.0
                at = (
                    0.5 * trial @ (Q @ trial + self.l2 * trial)
                    - trial @ c
                    + self.l1 * np.abs(trial).sum()
                )
                if at < value:
                    best, value = trial, at
                if length == safe:
                    break
            w = best
            W[support, l] = w
        return W
