"""Ridge, LASSO and elastic net from G = X'HX and C = X'HY, with the group (ℓ2,1) forms of the last
two.

    ridge         W = (G + αI)⁻¹C
    elastic net   min (1/2n) ‖HY − HXW‖² + α [ ρP(W) + (1 − ρ)/2 ‖W‖² ],
                  P = Σ |w_ij|  or  Σ_i ‖w_i‖

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

from collections.abc import Callable
from dataclasses import replace

import numpy as np
from numpy import ndarray
from scipy import linalg

from ..kernels.gram import GramView, row_norms
from .anderson import affine_extrapolation
from .problems import Penalised, Solution, copies, settled, solve_positive

_BLOCK = 64  # coordinates that share a matrix product
_LARGEST_SUPPORT = 3000  # that is solved exactly


def ridge(gram: GramView, alpha: float = 1.0) -> Solution:
    """Solve ridge regression of all outputs; with α = 0 and a singular G by least norm."""
    A = gram.G.copy()
    p = np.ones(len(A)) if gram.penalties is None else gram.penalties
    A[np.diag_indices_from(A)] += alpha * p
    W = solve_positive(A, gram.C)
    square = (W * (gram.G @ W)).sum()
    fit = np.trace(gram.S) - 2 * (W * gram.C).sum() + square
    objective = float(fit + alpha * (p[:, None] * W * W).sum())
    return Solution(
        W,
        gram.offset_y.copy(),
        [objective],
        True,
        1,
    )


def elastic_net(
    gram: GramView,
    alpha: float = 0.01,
    rho: float = 0.5,
    group: bool = False,
    tol: float = 1e-10,
    max_iter: int = 10_000,
) -> Solution:
    """Solve the elastic net by coordinate descent on the Gram matrix.

    `group=True` takes P = ‖W‖₂,₁ (one feature in or out for all outputs). `tol` bounds the duality
    gap, in the units of the objective, summed over outputs; `extra["gap"]` is that reached.
    `max_iter` counts sweeps; `objective` has a value a sweep."""
    n = gram.n
    if 0 in gram.C.shape:
        objective = float(np.trace(gram.S)) / (2 * n)
        return Solution(
            np.zeros(gram.C.shape),
            gram.offset_y.copy(),
            [objective],
            True,
            0,
        )
    if alpha * rho == 0:
        solution = ridge(gram, n * alpha)
        solution.objective = [value / (2 * n) for value in solution.objective]
        return solution
    l1 = n * alpha * rho
    l2 = n * alpha * (1 - rho)
    p = gram.penalties
    if p is None:
        return _Descent(
            gram,
            l1,
            l2,
            group,
            tol * n,
        ).run(max_iter)
    # squares are rows of 0 labels
    part = Penalised(gram.G + np.diag(l2 * p), gram.C, p)
    unpenalised = replace(gram, G=part.A, C=part.C, S=gram.S - part.explained)
    solution = _Descent(
        unpenalised,
        l1,
        0.0,
        group,
        tol * n,
    ).run(max_iter)
    solution.weights = part.weights(solution.weights)
    return solution


def entries(gram: GramView, rho: float, group: bool) -> ndarray:
    """Return (k,) the α from which on each penalised feature alone has weight 0."""
    p = gram.penalties
    C = gram.C if p is None else Penalised(gram.G, gram.C, p).C
    size = np.linalg.norm(C, axis=1) if group else np.abs(C).max(axis=1, initial=0.0)
    alphas: ndarray = size / (gram.n * rho)
    return alphas


def alpha_for(
    gram: GramView,
    count: int,
    rho: float,
    group: bool,
    tries: int = 30,
) -> float | None:
    """Return an α of two digits at which `count` features have a weight.

    None where it is not among those tried, each .9 of the one before."""
    alpha = np.sort(entries(gram, rho, group))[-count]
    for _ in range(tries):
        if alpha <= 0:
            break
        digit = 10.0 ** (np.floor(np.log10(alpha)) - 1)
        alpha = float(f"{np.floor(alpha / digit) * digit:.1e}")
        weights = elastic_net(gram, alpha, rho, group).weights
        if np.count_nonzero(row_norms(weights)) >= count:
            return alpha
        alpha *= 0.9
    return None


class _Descent:
    """min ½(tr S − 2 tr W'C + tr W'GW) + l1 P(W) + l2/2 ‖W‖²; reported divided by n.

    `open` outputs are still to be solved; the group form couples them all, and has one of the
    `objectives` and `gaps`."""

    def __init__(
        self,
        gram: GramView,
        l1: float,
        l2: float,
        group: bool,
        tol: float,
    ):
        self.G, self.C = gram.G, gram.C
        self.n, self.offset_y = gram.n, gram.offset_y
        self.yy = np.diag(gram.S).astype(np.float64)
        self.l1, self.l2 = l1, l2
        self.group, self.tol = group, tol
        self.curvature = np.maximum(np.diag(self.G), 0.0) + l2
        self.usable = self.curvature > 0  # the views leave out what does not vary
        self.copies = copies(self.G) if l2 == 0 else []
        self._use_copies(False)
        self.open = np.arange(self.C.shape[1])
        solutions = 1 if group else len(self.open)
        self.gaps = np.full(solutions, np.inf)
        self.objectives = self.gaps.copy()
        self.trace: list[float] = []

    def _use_copies(self, usable: bool) -> None:
        self.usable[[j for j, _, _ in self.copies]] = usable

    def values(
        self,
        W: ndarray,
        C: ndarray,
        R: ndarray,
        yy: ndarray,
    ) -> tuple[ndarray, ndarray]:
        """Return objective and duality gap per output, from R = C − GW.

        Of the group form there is one of each."""
        wc = (W * C).sum(axis=0)
        wr = (W * R).sum(axis=0)
        ww = (W * W).sum(axis=0)
        rss = np.maximum(yy - wc - wr, 0.0)  # y'y − 2w'c + w'Gw, as w'Gw = w'c − w'r
        dual = R - self.l2 * W
        if self.group:
            wc = wc.sum(keepdims=True)
            rss = rss.sum(keepdims=True)
            ww = ww.sum(keepdims=True)
            yy = yy.sum(keepdims=True)
            penalty = np.array([self.l1 * np.linalg.norm(W, axis=1).sum()])
            largest = np.array([np.linalg.norm(dual, axis=1).max(initial=0.0)])
        else:
            penalty = self.l1 * np.abs(W).sum(axis=0)
            largest = np.abs(dual).max(axis=0, initial=0.0)
        scale = np.minimum(1.0, self.l1 / np.maximum(largest, 1e-300))
        objective = 0.5 * rss + penalty + 0.5 * self.l2 * ww
        both = 1 + scale**2  # of the primal and the scaled dual point
        gap = 0.5 * rss * both + penalty - scale * (yy - wc) + 0.5 * self.l2 * both * ww
        return objective, gap

    def sweep(
        self,
        W: ndarray,
        C: ndarray,
        rows: ndarray,
        G: ndarray,
    ) -> None:
        """Pass over `rows` once, in place.

        G is their Gram block, W and C are likewise restricted."""
        minimiser = self._group_minimiser if self.group else self._minimiser
        for first in range(0, len(rows), _BLOCK):
            block = slice(first, min(first + _BLOCK, len(rows)))
            inner = G[block, block]
            R = C[block] - G[block] @ W
            W_block = W[block]
            for j, row in enumerate(rows[block]):
                if not self.usable[row]:
                    continue
                w = W_block[j]
                new = minimiser(R[j] + inner[j, j] * w, self.curvature[row])
                step = new - w
                if step.any():
                    W_block[j] = new
                    R[j + 1 :] -= inner[j + 1 :, j, None] * step

    def _minimiser(self, g: ndarray, curvature: float) -> ndarray:
        """Return the weights of a coordinate: g, shrunk by l1 towards 0."""
        new = g - np.clip(g, -self.l1, self.l1)
        new[np.abs(new) <= 1e-13 * self.l1] = 0.0
        new /= curvature
        return new

    def _group_minimiser(self, g: ndarray, curvature: float) -> ndarray:
        size = np.sqrt(g @ g)
        if size > 0:
            return g * (max(1.0 - self.l1 / size, 0.0) / curvature)
        return np.zeros_like(g)

    def run(self, max_iter: int) -> Solution:
        """Sweep until the duality gap is small, or rounding holds it above `tol`."""
        W = np.zeros(self.C.shape)
        idle = 0  # full sweeps that did not halve the gap
        best_gap = np.inf
        while len(self.trace) < max_iter:
            self._sweep_open(W, max_iter)
            total = self.gaps.sum()
            if total <= self.tol or not len(self.open):
                break
            # Rounding can hold the gap above a tolerance finer than it: stop when sweeps no longer
            # improve it.
            idle = 0 if total < 0.5 * best_gap else idle + 1
            best_gap = min(best_gap, total)
            if idle >= 5 and self.copies:  # a near copy, whose own part is above the tolerance
                self._use_copies(True)
                self.copies = []
                idle = 0
            if idle >= 200:
                break
        gap = float(np.maximum(self.gaps, 0.0).sum()) / self.n
        each_converged = (self.gaps <= self.tol / len(self.gaps)).all()
        converged = bool(self.gaps.sum() <= self.tol or each_converged)
        sweeps = len(self.trace)
        return Solution(
            W,
            self.offset_y.copy(),
            self.trace,
            converged,
            sweeps,
            {"gap": gap},
        )

    def _sweep_open(self, W: ndarray, limit: int) -> None:
        """Sweep all rows of the open outputs, which finds what enters, then the rows in use."""
        V = W[:, self.open].copy()
        C = self.C[:, self.open]
        self.sweep(V, C, np.arange(len(W)), self.G)
        V = self.finish(V, C, limit)
        W[:, self.open] = V
        gap = self._note(V, C, C - self.G @ V, self.gaps)
        if not self.group:
            self.open = self.open[gap > self.tol / len(self.gaps)]

    def _note(
        self,
        W: ndarray,
        C: ndarray,
        R: ndarray,
        gaps: ndarray | None = None,
    ) -> ndarray:
        """Add the objective to the trace; return the gap of the open outputs, put into `gaps`."""
        objective, gap = self.values(W, C, R, self.yy[self.open])
        places = slice(None) if self.group else self.open
        self.objectives[places] = objective
        if gaps is not None:
            gaps[places] = gap
        value = float(self.objectives.sum()) / self.n
        if self.trace:
            value = settled(self.trace[-1], value, 1e-12 * abs(self.trace[-1]))
        self.trace.append(value)
        return gap

    def finish(self, V: ndarray, C: ndarray, limit: int) -> ndarray:
        """Sweep the rows in use until their own gap is small.

        In between extrapolate, or solve on the support."""
        rows = np.flatnonzero(V.any(axis=1))
        if not len(rows):
            return V
        G = self.G if len(rows) == len(V) else self.G[np.ix_(rows, rows)]
        W = V[rows].copy()
        C = C[rows]
        tol = 0.1 * (self.tol / len(self.objectives))
        history: list[ndarray] = []
        for step in range(20):
            if len(self.trace) >= limit - 1:
                break
            R = C - G @ W
            gap = self._note(W, C, R)
            # A rough answer is enough while the set of rows is still moving: the next full sweep
            # corrects it.
            if (gap <= tol).all():
                break
            if self.group:
                W = self.newton_step(W, C, G) if step >= 8 else self.extrapolate(history, W, C, G)
            elif step % 5 == 4:
                rough = gap > tol
                parts = (W[:, rough], C[:, rough], R[:, rough])
                W[:, rough] = self.support_step(*parts, G)
            self.sweep(W, C, rows, G)
        out = V.copy()
        out[rows] = W
        return out

    def newton_step(self, W: ndarray, C: ndarray, G: ndarray) -> ndarray:
        """Take one damped Newton step of the group form on its nonzero rows.

        The Hessian is V → (G + l2)V + l1 (v_i − u_i u_i'v_i)/‖w_i‖, u_i = w_i/‖w_i‖; conjugate
        gradients invert it, preconditioned by the reweighting matrix G + l2 + l1 diag(1/‖w_i‖), all
        scaled by ‖w_i‖^½."""
        rows = np.flatnonzero(W.any(axis=1))
        w = W[rows]
        A = G if len(rows) == len(G) else G[np.ix_(rows, rows)]
        norms = np.linalg.norm(w, axis=1)
        u = w / norms[:, None]
        s = np.sqrt(norms)[:, None]
        gradient = A @ w + self.l2 * w - C[rows] + self.l1 * u
        M = A * (s * s.T)
        M[np.diag_indices_from(M)] += self.l2 * norms + self.l1
        try:
            factor = linalg.cho_factor(M, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            return W

        def hessian(z: ndarray) -> ndarray:
            v = s * z
            across = z - u * (u * z).sum(axis=1, keepdims=True)
            return s * (A @ v + self.l2 * v) + self.l1 * across

        step = s * _conjugate_gradients(hessian, -s * gradient, factor)
        now = self._group_objective(W, C, G)
        length = 1.0
        while length > 1e-4:
            trial = W.copy()
            trial[rows] += length * step
            if self._group_objective(trial, C, G) < now:
                return trial
            length *= 0.3
        return W

    def _group_objective(self, W: ndarray, C: ndarray, G: ndarray) -> float:
        objective, _ = self.values(W, C, C - G @ W, self.yy[self.open])
        return objective[0]

    def extrapolate(
        self,
        history: list[ndarray],
        W: ndarray,
        C: ndarray,
        G: ndarray,
    ) -> ndarray:
        """Extrapolate the last sweeps (Bertrand & Massias 2021), where the objective falls by it.

        W has been noted: its objective is known."""
        history.append(W.ravel().copy())
        if len(history) < 6:
            return W
        points = np.array(history)
        history.clear()
        guess = affine_extrapolation(points)
        if guess is None:
            return W
        trial = guess.reshape(W.shape)
        return trial if self._group_objective(trial, C, G) < float(self.objectives[0]) else W

    def support_step(
        self,
        W: ndarray,
        C: ndarray,
        R: ndarray,
        G: ndarray,
    ) -> ndarray:
        """Move each output towards its minimiser on the support with the signs fixed.

        On a fixed orthant the objective is a quadratic, so a step to the first sign change lowers
        it."""
        W = W.copy()
        for label in range(W.shape[1]):
            support = np.flatnonzero(W[:, label])
            if 0 < len(support) <= _LARGEST_SUPPORT:
                Q = G[np.ix_(support, support)]
                parts = (W[support, label], C[support, label], R[support, label])
                W[support, label] = self._signed_minimiser(Q, *parts)
        return W

    def _signed_minimiser(
        self,
        Q: ndarray,
        w: ndarray,
        c: ndarray,
        r: ndarray,
    ) -> ndarray:
        """Return the best of some points on the way to the minimiser; `w` where there is none."""
        A = Q.copy()
        A[np.diag_indices_from(A)] += self.l2
        size = np.sqrt(np.diag(A))
        descent = r - self.l2 * w - self.l1 * np.sign(w)
        try:
            factor = linalg.cho_factor(A, lower=True, overwrite_a=True, check_finite=False)
        except linalg.LinAlgError:
            # a singular support: several optima, coordinate descent decides between them
            return w
        pivots = np.diag(factor[0]) / size
        if pivots.min() <= 1e-6 * pivots.max():
            return w
        step = linalg.cho_solve(factor, descent, check_finite=False)
        # the length at which a weight crosses 0
        crossing = np.divide(-w, step, out=np.full(len(w), np.inf), where=step * w < 0)
        safe = float(min(1.0, crossing.min()))
        best = w
        lowest = np.inf
        # The first crossing always lowers the objective; a longer step, crossed weights at 0,
        # usually does more.
        for length in sorted({1.0, 0.5, 0.25, safe}, reverse=True):
            trial = w + length * step
            trial[(trial * w < 0) | (crossing <= length)] = 0.0
            smooth = 0.5 * trial @ (Q @ trial + self.l2 * trial) - trial @ c
            value = smooth + self.l1 * np.abs(trial).sum()
            if value < lowest:
                best, lowest = trial, value
            if length == safe:
                break
        return best


def _conjugate_gradients(
    hessian: Callable[[ndarray], ndarray], r: ndarray, factor: tuple[ndarray, bool]
) -> ndarray:
    """Solve hessian(z) = r to a thousandth, preconditioned by a Cholesky factor; `r` is used up."""
    z = np.zeros_like(r)
    y = linalg.cho_solve(factor, r, check_finite=False)
    p = y
    ry = float((r * y).sum())
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
        last = ry
        ry = float((r * y).sum())
        p = y + (ry / last) * p
    return z
