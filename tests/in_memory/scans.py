"""The scans that the solvers of `solvers.l21_scans` ask for, over rows held in memory."""

from __future__ import annotations

import numpy as np

from spark_mlfs.solvers.l21 import huber
from spark_mlfs.solvers.l21_scans import residual_floor

from .grams import gram_of_rows


def residual_weights(norms, floor):
    """RFS's row weights 1/(2 max(‖r_i‖, floor)) and the sum of the (Huberised) residual norms."""
    return 0.5 / np.maximum(norms, floor), float(huber(norms, 2 * floor).sum())


class ResidualReweighting:
    """The scan of `rfs`: dense X in the view's coordinates."""

    def __init__(self, X, Y):
        self.X, self.Y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
        self.floor = residual_floor(self.Y)
        self.scans = 0

    def __call__(self, W, b):
        self.scans += 1
        if W is None:
            return gram_of_rows(self.X, self.Y), float("nan")
        weights, loss = residual_weights(
            np.linalg.norm(self.X @ W + b - self.Y, axis=1), self.floor
        )
        return gram_of_rows(self.X, self.Y, weights), loss


class LabelFilling:
    """The scan of `csfs_unlabelled`: F = Y where known (not NaN), else clip(XW + b, 0, 1). X dense,
    in the view's coordinates and centred over all rows."""

    def __init__(self, X, Y):
        self.X, self.Y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
        self.unknown = np.isnan(self.Y)
        self.scans = 0

    def __call__(self, W, b):
        self.scans += 1
        guess = 0.0 if W is None else np.clip(self.X @ W + b, 0.0, 1.0)
        F = np.where(self.unknown, guess, self.Y)
        mean = F.mean(axis=0)
        F = F - mean
        return self.X.T @ F, mean, float((F * F).sum())
