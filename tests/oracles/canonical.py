"""Naive oracles of `fastcan`: canonical correlations from orthonormal bases, residuals by least
squares.

Never imported by the package.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg import orth

from oracles.information import greedy


def centred(values):
    return np.asarray(values, float) - np.mean(values, axis=0)


def squared_correlations(x, y):
    """The sum of the squared canonical correlations of the columns of x and of y."""
    if not np.size(x) or not np.size(y):
        return 0.0
    return float(((orth(centred(x)).T @ orth(centred(y))) ** 2).sum())


def gains_by_definition(x, y, picked, candidates):
    """{f: what f adds to `squared_correlations` of the picked columns}."""
    before = squared_correlations(x[:, picked], y)
    return {f: squared_correlations(x[:, [*picked, f]], y) - before for f in candidates}


def residuals(x, picked):
    """Every centred column less its least-squares fit on the picked ones."""
    x = centred(x)
    return x - x[:, picked] @ np.linalg.lstsq(x[:, picked], x, rcond=None)[0] if len(picked) else x


def fastcan(x, y, num_features, tol=0.01, constant=None):
    """Picks by J(f) = ‖V'x_f⊥‖²/‖x_f⊥‖², V an orthonormal basis of the centred labels; ‖x_f⊥‖ ≤
    tol·‖x_f‖ is left out, and picking stops when no J reaches 1e-10. Returns (ranking, scores,
    gains) as `information.greedy`."""
    constant = x.max(axis=0) == x.min(axis=0) if constant is None else constant
    v = orth(centred(y))
    size = np.linalg.norm(centred(x), axis=0)

    def criterion(picked):
        rest = residuals(x, picked)
        left = np.linalg.norm(rest, axis=0)
        free = left > tol * size if len(picked) else ~constant
        return np.where(free, ((v.T @ rest) ** 2).sum(axis=0) / np.where(free, left, 1) ** 2, 0.0)

    return greedy(criterion([]), criterion, constant, num_features, stop_below=1e-10)
