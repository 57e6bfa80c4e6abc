"""Scaling of columns: what is taken off, and what divides.

    x̃ = (x − offset) / scale

    "standard"   offset the mean, scale the population standard deviation
    "minmax"     offset the minimum, scale the range
    "none"       0 and 1

A column without spread has scale 1. Sparse rows are divided, never moved: they stay sparse, and no
distance between rows changes.

Rows may be brought to length 1 afterwards (`unit_rows`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from .matrix import Matrix, dense

SCALINGS = ("standard", "minmax", "none")
MODERATE = (1e-140, 1e140)  # lengths whose squares stay in double precision


@dataclass(frozen=True)
class Scaling:
    """`offset` and `scale` (v,) float64, in the units of the columns; `scale` > 0."""

    offset: ndarray
    scale: ndarray

    @staticmethod
    def none(width: int) -> Scaling:
        return Scaling(np.zeros(width), np.ones(width))

    @staticmethod
    def of_range(low: ndarray, high: ndarray) -> Scaling:
        """Scale to [0, 1] between the columns' minima and maxima (v,)."""
        return Scaling(low, _divisor(high - low))

    @staticmethod
    def of_moments(
        n: float,
        total: ndarray,
        square: ndarray,
        centre: ndarray | float = 0.0,
    ) -> Scaling:
        """Scale to z-scores from n rows' sums and sums of squares (v,) of x − `centre`.

        A centre near the mean avoids cancellation."""
        mean = total / n
        variance = np.maximum(square / n - mean * mean, 0.0)
        return Scaling(centre + mean, _divisor(np.sqrt(variance)))

    @staticmethod
    def of_rows(x: Matrix, scaling: str) -> Scaling:
        """Scale by the rows x (n, v) themselves; of sparse rows the offset is 0.

        `scaling` is one of `SCALINGS`."""
        if scaling == "none":
            return Scaling.none(x.shape[1])
        low = dense(x.min(axis=0)).ravel().astype(np.float64)
        high = dense(x.max(axis=0)).ravel().astype(np.float64)
        no_offset = np.zeros(x.shape[1])
        if scaling == "minmax":
            by_range = Scaling.of_range(low, high)
            return Scaling(no_offset, by_range.scale) if sp.issparse(x) else by_range
        size = np.maximum(np.abs(low), np.abs(high))
        is_moderate = (size == 0) | ((size > MODERATE[0]) & (size < MODERATE[1]))
        exponent = np.where(is_moderate, 0, np.frexp(size)[1])
        mean, deviation = _moments(_shifted(x.astype(np.float64), -exponent))
        scale = _divisor(np.ldexp(deviation, exponent), high > low)
        return Scaling(no_offset if sp.issparse(x) else np.ldexp(mean, exponent), scale)

    def apply(self, x: Matrix, columns: ndarray | None = None) -> Matrix:
        """Return (x − offset)/scale of the rows x, or of their `columns` (ascending).

        In new float64; CSR stays CSR and is not moved."""
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


def _shifted(x: Matrix, exponent: ndarray) -> Matrix:
    """Return float64 columns times powers of two, which is exact."""
    if not exponent.any():
        return x
    if not sp.issparse(x):
        return np.ldexp(x, exponent)
    x.data = np.ldexp(x.data, exponent[x.indices])
    return x


def _moments(x: Matrix) -> tuple[ndarray, ndarray]:
    """Return the mean and the deviation (v,) of float64 columns."""
    if not sp.issparse(x):
        return x.mean(axis=0), x.std(axis=0)
    mean = np.asarray(x.mean(axis=0)).ravel()
    # of differences, as the mean's square may drown the variance
    unstored = x.shape[0] - np.bincount(x.indices, minlength=x.shape[1])
    square = np.bincount(x.indices, (x.data - mean[x.indices]) ** 2, x.shape[1])
    return mean, np.sqrt((square + unstored * mean**2) / x.shape[0])


def _divisor(spread: ndarray, varies: ndarray | bool = True) -> ndarray:
    """Return `spread` where a column varies, else 1.

    Of equal values a deviation may hold what rounding leaves."""
    return np.where((spread > 0) & varies, spread, 1.0)


def unit_rows(x: Matrix) -> Matrix:
    """Divide the rows of float64 x (n, v) by their lengths, in place; rows of zeros stay.

    A row's length does not depend on the rows beside it."""
    lengths = _lengths(x)
    far = ~((lengths > MODERATE[0]) & (lengths < MODERATE[1]))
    if far.any() and x.shape[1]:
        largest = dense(abs(x).max(axis=1)).ravel()
        _divide_rows(x, np.where(far & (largest > 0), largest, 1.0))
        lengths = _lengths(x)
    _divide_rows(x, np.where(lengths > 0, lengths, 1.0))
    return x


def _lengths(x: Matrix) -> ndarray:
    with np.errstate(over="ignore", under="ignore"):
        if sp.issparse(x):
            return np.sqrt(np.bincount(_row_of_entry(x), x.data * x.data, x.shape[0]))
        return np.sqrt(np.einsum("ij,ij->i", x, x))


def _divide_rows(x: Matrix, divisors: ndarray) -> None:
    if sp.issparse(x):
        x.data /= divisors[_row_of_entry(x)]
    else:
        x /= divisors[:, None]


def _row_of_entry(x: sp.csr_matrix) -> ndarray:
    return np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
