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
et al., NIPS 2006), the group form by guarded Anderson extrapolation and Newton steps."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg

from ..kernels.gram import GramView
from .anderson import affine_extrapolation
from .problems import Penalised, Solution, copies, settled, solve_positive

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
