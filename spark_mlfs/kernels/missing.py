"""Missing feature values (NaN): what stands for them is fitted on the training rows, and saved with
what was fitted there.

`missing`
    ``"error"`` (default)  a missing value is refused, naming where it is
    ``"mean"``             the mean of the feature's known values in the training rows (of a sparse
                           one, its zeros included); 0 where there is none
    ``"zero"``             0
    ``"drop"``             a training row that lacks one is left out. Later rows are never: one that
                           lacks a selected feature is refused, so that every row is accounted for
    ``"keep"``             of selectors in memory, and `rank`: features are ranked as with their
                           means, and the selected ones pass on with NaN, to a model that takes it

A fitted model fills later rows with the means of the training rows; features that are not selected
may be anything there.

Means are exact sums of fixed-point numbers, which depend on no partitioning."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..params import Choice, Parameter
from .matrix import Matrix

POLICIES = ("error", "mean", "zero", "drop")
MISSING = Parameter(
    "missing",
    "error",
    Choice(POLICIES),
    "what a missing value (NaN) of a feature becomes; a mean is training's",
)
KEEP = "keep"
MISSING_OF_SELECTORS = Parameter(
    "missing",
    "error",
    Choice((*POLICIES, KEEP)),
    "what a missing value (NaN) of a feature becomes; a mean is training's; keep: it is ranked as "
    "the mean, and passes on as NaN",
)
BITS = 30
ROWS = 4096  # at a time
IS_MISSING = "is missing (NaN or null)"
REFUSED = (
    "is missing, and the model fills nothing: fill it, leave the row out, or train with "
    "missing='mean' or 'zero'"
)


def count_missing(indices: ndarray, values: ndarray, width: int) -> tuple[ndarray, ndarray]:
    """Return how many values each of `width` features lacks, and its largest known magnitude."""
    largest = np.zeros(width)
    unknown = np.isnan(values)
    np.maximum.at(largest, indices[~unknown], np.abs(values[~unknown]))
    return np.bincount(indices[unknown], minlength=width), largest


def scale_above(largest: ndarray) -> ndarray:
    """Return a power of two above each magnitude: dividing by it is exact."""
    return np.where(largest > 0, np.ldexp(1.0, np.minimum(np.frexp(largest)[1], 1023)), 1.0)


def sum_known(indices: ndarray, values: ndarray, scale: ndarray) -> tuple[ndarray, ndarray]:
    """Return the sums of the known values of each feature as integers.

    Of `BITS` bits below its scale, and of as many below."""
    known = ~np.isnan(values)
    indices = indices[known]
    values = values[known].astype(np.float64)
    scaled = values / scale[indices] * float(1 << BITS)
    coarse = np.rint(scaled)
    fine = np.rint((scaled - coarse) * float(1 << BITS))
    # sums of integers below 2^53 are exact
    high = np.bincount(indices, weights=coarse, minlength=len(scale))
    low = np.bincount(indices, weights=fine, minlength=len(scale))
    return high.astype(np.int64), low.astype(np.int64)


def means_of_sums(
    high: ndarray,
    low: ndarray,
    known: ndarray,
    scale: ndarray,
) -> list[float]:
    """Return the mean of each feature from its sums and how many values it has; 0 of none."""
    means = []
    for above, below, n, factor in zip(
        high,
        low,
        known,
        scale,
        strict=True,
    ):
        total = (int(above) << BITS) + int(below)
        mean = total / int(n) / float(1 << 2 * BITS) * float(factor) if n else 0.0
        means.append(mean)
    return means


def fill_of_rows(x: Matrix, missing: str) -> dict[str, Any]:
    """Return what `fill_values` takes, of rows (n, d) of this process."""
    if missing != "mean":
        return {} if missing == "error" else {"missing": missing}
    n, d = x.shape
    known = np.full(d, n)
    largest = np.zeros(d)
    for first in range(0, n, ROWS):
        count, magnitude = count_missing(*_entries(x[first : first + ROWS]), d)
        known -= count
        np.maximum(largest, magnitude, out=largest)
    scale = scale_above(largest)
    sums = np.zeros((2, d), np.int64)
    for first in range(0, n, ROWS):
        sums += sum_known(*_entries(x[first : first + ROWS]), scale)
    return {"missing": missing, "fill": means_of_sums(sums[0], sums[1], known, scale)}


def fill_values(fitted: Mapping[str, Any], width: int) -> ndarray | None:
    """Return (width,) what stands for a missing value of each feature; None where nothing does.

    `fitted` holds ``missing``, and of the mean ``fill``, the first features' values; those of
    further ones are 0."""
    if fitted.get("missing") not in ("mean", "zero"):
        return None
    values = np.asarray(fitted.get("fill", ()), np.float64)
    return np.pad(values, (0, width - len(values)))


def filled(x: Matrix, fill: ndarray | None) -> Matrix:
    """Return rows x (n, d) with their missing values filled.

    Themselves where there are none, or no `fill` (d,)."""
    values = x.data if sp.issparse(x) else x
    if fill is None or values.dtype.kind != "f" or not np.isnan(values.sum()):
        return x
    unknown = np.isnan(values)
    x = x.copy() if x.dtype == np.float64 else x.astype(np.float64)
    if not sp.issparse(x):
        x[unknown] = np.broadcast_to(fill, x.shape)[unknown]
        return x
    x.data[unknown] = fill[x.indices[unknown]]
    x.eliminate_zeros()
    return x


def _entries(x: Matrix) -> tuple[ndarray, ndarray]:
    """Return the feature and the value of each entry."""
    if sp.issparse(x):
        return x.indices, x.data
    return np.tile(np.arange(x.shape[1]), len(x)), x.ravel()
