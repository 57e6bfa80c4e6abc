"""Scaling of columns: what is taken off, and what divides.

    x̃ = (x − offset) / scale

    "standard"   offset the mean, scale the population standard deviation
    "minmax"     offset the minimum, scale the range
    "none"       0 and 1

A column without spread has scale 1. Sparse rows are divided, never moved: they stay sparse, and no
distance between rows changes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp

from .matrix import Matrix, dense

SCALINGS = ("standard", "minmax", "none")


@dataclass(frozen=True)
class Scaling:
    """`offset` and `scale` (v,) float64, in the units of the columns; `scale` > 0."""

    offset: np.ndarray
    scale: np.ndarray

    @staticmethod
    def none(width: int) -> Scaling:
        return Scaling(np.zeros(width), np.ones(width))

    @staticmethod
    def of_range(low: np.ndarray, high: np.ndarray) -> Scaling:
        """To [0, 1] between the columns' minima and maxima (v,)."""
        return Scaling(low, _divisor(high - low))

    @staticmethod
    def of_moments(
        n: float, total: np.ndarray, square: np.ndarray, centre: np.ndarray | float = 0.0
    ) -> Scaling:
        """z-scores from n rows' sums and sums of squares (v,) of x − `centre`; a centre near the
        mean avoids cancellation."""
        mean = total / n
        return Scaling(centre + mean, _divisor(np.sqrt(np.maximum(square / n - mean * mean, 0.0))))

    @staticmethod
    def of_rows(x: Matrix, how: str) -> Scaling:
        """From the rows x (n, v) themselves, `how` one of `SCALINGS`; of sparse rows the offset is
        0."""
        if how == "none":
            return Scaling.none(x.shape[1])
        low, high = (
            dense(end).ravel().astype(np.float64) for end in (x.min(axis=0), x.max(axis=0))
        )
        if how == "minmax":
            out = Scaling.of_range(low, high)
        elif sp.issparse(x):
            x = x.astype(np.float64)
            mean = np.asarray(x.mean(axis=0)).ravel()
            square = np.asarray(x.multiply(x).mean(axis=0)).ravel()
            out = Scaling(mean, _divisor(np.sqrt(np.maximum(square - mean**2, 0)), high > low))
        else:
            x = x.astype(np.float64)
            out = Scaling(x.mean(axis=0), _divisor(x.std(axis=0), high > low))
        return Scaling(np.zeros(x.shape[1]), out.scale) if sp.issparse(x) else out

    def apply(self, x: Matrix, columns: np.ndarray | None = None) -> Matrix:
        """(x − offset)/scale of the rows x, or of their `columns` (ascending), in new float64; CSR
        stays CSR and is not moved."""
        if columns is not None and len(columns) < x.shape[1]:
            x = x[:, columns]
        if sp.issparse(x):
            x = sp.csr_matrix(x, dtype=np.float64, copy=True)
            x.data /= self.scale[x.indices]
            return x
        x = x.astype(np.float64)
        x -= self.offset
        x /= self.scale
        return x


def _divisor(spread: np.ndarray, varies: np.ndarray | bool = True) -> np.ndarray:
    """`spread` where a column varies: of equal values a deviation may hold what rounding leaves."""
    return np.where((spread > 0) & varies, spread, 1.0)
