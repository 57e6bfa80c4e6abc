"""ℓ2,1 problems that scan the rows once an iteration: RFS, and CSFS with unknown labels.

Both are convex in (W, b), so that neither the start nor the steps change the optimum: each step
solves a problem of second moments on the driver, and Anderson extrapolation of (W, b), kept only
where the objective does not rise, saves scans."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray
from scipy import sparse

from ..kernels.gram import GramStatistics
from ..kernels.matrix import Matrix, dense
from .anderson import Anderson
from .l21 import EPS, huber, minimise_l21, reweighted_step, steady
from .problems import Solution, at_rest, settled

Weights = tuple[ndarray, ndarray]  # W (v, q) and b (q,)
Scan = Callable[[ndarray | None, ndarray | None], Any]  # of W and b, or of None and None


@dataclass
class _Scanned:
    """A problem in (W, b) whose every evaluation reads the rows.

    `read(W, b)` scans them; `step(W, scan)` gives the next (W, b) by the scan at the last one;
    `objective(W, b, scan)`; `adjusted(guess, W)` an extrapolated W as it may be tried, where the
    plain step gives W; `rounding(scan, value)` the rise that is none. `memory` iterates stay after
    a guess that failed; with `strict` the last step must not rise."""

    read: Scan
    step: Callable[[ndarray, Any], Weights]
    objective: Callable[[ndarray, ndarray, Any], float]
    adjusted: Callable[[ndarray, ndarray], ndarray]
    rounding: Callable[[Any, float], float]
    memory: int = 0
    strict: bool = False

    def descend(
        self,
        W: ndarray,
        b: ndarray,
        tol: float,
        max_iter: int,
        accelerate: bool = True,
    ) -> Solution:
        """Step from (W, b) until W rests, or `max_iter` scans."""
        scan = self.read(W, b)
        scans = 2  # this one, and that of the start
        converged = False
        memory = Anderson()
        trace = [self.objective(W, b, scan)]
        while scans < max_iter and not converged:
            new_W, new_b = self.step(W, scan)
            converged = at_rest(new_W, W, tol)
            guess = None
            if accelerate and not converged:
                guess = memory.lead((W, b), (new_W, new_b))
            if guess is not None:
                guessed_W = self.adjusted(guess[0], new_W)
                guessed_b = guess[1]
                guessed_scan = self.read(guessed_W, guessed_b)
                scans += 1
                value = self.objective(guessed_W, guessed_b, guessed_scan)
                if value <= trace[-1]:
                    W, b = guessed_W, guessed_b
                    scan = guessed_scan
                    trace.append(value)
                    continue
                memory.forget(self.memory)
            scan = self.read(new_W, new_b)
            scans += 1
            value = self.objective(new_W, new_b, scan)
            if converged and self.strict and not value <= trace[-1]:
                break
            W, b = new_W, new_b
            trace.append(settled(trace[-1], value, self.rounding(scan, value)))
        return Solution(
            W,
            b,
            trace,
            converged,
            len(trace),
            {"scans": scans},
        )


def residual_floor(Y: Matrix, counts: ndarray | None = None) -> float:
    """Return 1e-8 of mean ‖y_i − mean y‖.

    Y has the rows, or the distinct labelsets, dense or CSR, and `counts` theirs."""
    Y = Y.astype(np.float64) if sparse.issparse(Y) else np.asarray(Y, dtype=np.float64)
    counts = np.ones(Y.shape[0]) if counts is None else np.asarray(counts, dtype=np.float64)
    mean = counts @ Y / counts.sum()
    norms = np.zeros(len(counts))
    for first in range(0, len(counts), 1024):  # bounds the memory
        part = slice(first, first + 1024)
        norms[part] = np.linalg.norm(dense(Y[part]) - mean, axis=1)
    return 1e-8 * float(counts @ norms / counts.sum())


def rfs(
    weighted_gram: Scan,
    gamma: float = 1.0,
    tol: float = 1e-6,
    max_iter: int = 500,
    accelerate: bool = True,
) -> Solution:
    """Solve RFS (`methods.rfs`).

    `weighted_gram(W, b)` scans the rows once and returns the statistics, in the solver's
    coordinates, weighted by R_ii = 1/(2 max(‖r_i‖, floor)), and the sum of the Huberised residual
    norms at (W, b); with (None, None) the unweighted ones, whose sum is not read. Each iteration,
    of `max_iter` at most, is one scan and W = (X'RX + γD)⁻¹ X'RY, from R = I/γ, D = I: the iterates
    of the paper's n × n form when `accelerate=False`. The bias is a constant column without
    penalty."""
    plain, _ = weighted_gram(None, None)
    W, b = _rfs_step(plain, gamma, np.ones(plain.d), 1.0 / gamma)
    eps = EPS * 2 * float(np.linalg.norm(W, axis=1).max(initial=0.0))

    def step(W: ndarray, scan: tuple[GramStatistics, float]) -> Weights:
        s2 = np.maximum(2 * np.linalg.norm(W, axis=1), eps)
        return _rfs_step(scan[0], gamma, s2, 1.0)

    def objective(W: ndarray, b: ndarray, scan: tuple[GramStatistics, float]) -> float:
        return scan[1] + gamma * float(huber(np.linalg.norm(W, axis=1), eps).sum())

    def adjusted(guess: ndarray, W: ndarray) -> ndarray:
        return steady(guess, W, np.linalg.norm(W, axis=1))[0]

    def rounding(scan: tuple[GramStatistics, float], value: float) -> float:
        return 1e-12 * value

    problem = _Scanned(
        weighted_gram,
        step,
        objective,
        adjusted,
        rounding,
    )
    most = max_iter if eps else 2  # without any weight the first step is the last
    solution = problem.descend(
        W,
        b,
        tol,
        most,
        accelerate,
    )
    solution.converged |= eps == 0
    solution.extra["eps"] = eps
    return solution


def _rfs_step(
    g: GramStatistics,
    gamma: float,
    s2: ndarray,
    weight: float,
) -> Weights:
    """Return (X'RX + γD)⁻¹ X'RY and the bias, both centred by the R-weighted means.

    `weight` multiplies R."""
    A = weight * (g.xx - np.outer(g.sum_x, g.sum_x) / g.n)
    C = weight * (g.xy - np.outer(g.sum_x, g.sum_y) / g.n)
    W = reweighted_step(A, C, gamma, s2)
    mean_x = g.sum_x / g.n + g.centre_x
    mean_y = g.sum_y / g.n + g.centre_y
    return W, mean_y - mean_x @ W


FilledLabels = tuple[ndarray, ndarray, float]  # of F: X'HF (v × q), the mean of F, and ‖HF‖²


def csfs_unlabelled(
    G: ndarray,
    n: float,
    fill_labels: Scan,
    mu: float = 1.0,
    tol: float = 1e-7,
    max_iter: int = 300,
) -> Solution:
    """Solve CSFS with unknown labels (`methods.csfs`), all row weights s_i = 1.

    `G` = X'HX over all n rows, labelled or not. `fill_labels(W, b)` scans the rows once and returns
    what F becomes: clip(XW + 1b', 0, 1) where unknown; with (None, None) 0 there, as the method
    starts. Given F what is left is supervised CSFS, solved on the driver (the paper: one
    reweighting per F). The objective is taken after F is updated; moves of W below `tol` are
    rounding."""
    eps = 0.0  # of the first fit that has any weight

    def fit(F: FilledLabels, start: ndarray | None) -> Solution:
        nonlocal eps
        C, mean, square = F
        solution = minimise_l21(
            G,
            C,
            mu,
            square,
            start=start,
            tol=1e-11,
        )
        solution.intercept = mean.copy()
        eps = eps or solution.extra.get("eps", 0.0)
        return solution

    def step(W: ndarray, F: FilledLabels) -> Weights:
        solution = fit(F, W)
        return solution.weights, solution.intercept

    def objective(W: ndarray, b: ndarray, F: FilledLabels) -> float:
        C, mean, square = F
        explained = (W * (G @ W)).sum() - 2 * (W * C).sum()
        offset = n * ((mean - b) ** 2).sum()
        penalty = mu * huber(np.linalg.norm(W, axis=1), eps).sum()
        return float(explained + square + offset + penalty)

    def adjusted(guess: ndarray, W: ndarray) -> ndarray:
        return np.where(W.any(axis=1, keepdims=True), guess, 0.0)

    def rounding(F: FilledLabels, value: float) -> float:
        return 1e-12 * max(F[2], abs(value))  # of a difference of large sums

    first = fit(fill_labels(None, None), None)
    problem = _Scanned(
        fill_labels,
        step,
        objective,
        adjusted,
        rounding,
        memory=1,
        strict=True,
    )
    solution = problem.descend(first.weights, first.intercept, tol, max_iter)
    solution.extra["eps"] = eps
    return solution
