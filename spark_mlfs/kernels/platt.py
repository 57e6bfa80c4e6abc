"""Platt's probabilities of decision values: a sigmoid that is fitted by Newton's method.

    min over a, b of  −Σ_i t_i log p_i + (1 − t_i) log(1 − p_i),    p_i = 1/(1 + exp(a·f_i + b))

The targets t are those of Platt's prior, (n₊ + 1)/(n₊ + 2) with the label and 1/(n₋ + 2) without,
so that a minimum exists where a decision value separates the two kinds, too (Platt 1999; Lin, Lin &
Weng 2007)."""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from scipy.special import expit

STEPS = 100
RIDGE = 1e-12  # of the Hessian
GRADIENT = 1e-10  # of a row, at which the minimum is reached


def platt(values: ndarray, truth: ndarray) -> tuple[float, float]:
    """Return a and b of decision values (n,), the labels `truth` (n,) of these rows being known."""
    positive = truth > 0
    n = len(values)
    with_label = int(positive.sum())
    targets = np.where(positive, (with_label + 1) / (with_label + 2), 1 / (n - with_label + 2))
    scale = float(np.abs(values).max(initial=0.0)) or 1.0
    f = values / scale
    a = 0.0
    b = float(np.log((n - with_label + 1) / (with_label + 1)))
    loss = _loss(a * f + b, targets)
    for _ in range(STEPS):
        p = expit(-(a * f + b))
        error = targets - p
        slope = np.array([f @ error, error.sum()])
        if np.abs(slope).max() <= GRADIENT * n:
            break
        spread = p * (1 - p)
        along = f * spread
        curvature = np.array([[f @ along, along.sum()], [along.sum(), spread.sum()]])
        step = -np.linalg.solve(curvature + RIDGE * np.eye(2), slope)
        share = 1.0
        while share >= GRADIENT:  # Armijo's rule
            other = _loss((a + share * step[0]) * f + b + share * step[1], targets)
            if other < loss + 1e-4 * share * (slope @ step):
                break
            share /= 2
        else:
            break
        a += share * step[0]
        b += share * step[1]
        loss = other
    return a / scale, b


def _loss(z: ndarray, targets: ndarray) -> float:
    """Return −Σ t log p + (1 − t) log(1 − p) where p = 1/(1 + exp(z))."""
    return float((targets * z + np.logaddexp(0.0, -z)).sum())
