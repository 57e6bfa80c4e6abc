"""Naive discretisation, column by column, in the contract's order of operations. Never imported by
the package."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def discretise(x, num_bins=5, binning="width"):
    """(n, d) integer codes.

    Width: min(b − 1, ⌊(x − min)·b / (max − min)⌋). Quantile: how many distinct inner quantiles
    (linear interpolation at 1/b … (b−1)/b) lie strictly below x. A column of only 0 and 1 keeps its
    two values, a constant column has the one code 0."""
    x = x.toarray() if sparse.issparse(x) else np.asarray(x, float)
    codes = np.zeros(x.shape, np.int64)
    for j in range(x.shape[1]):
        column = x[:, j]
        low, high = column.min(), column.max()
        if low == high:
            continue
        if np.isin(column, (0.0, 1.0)).all():
            codes[:, j] = column
        elif binning == "width":
            codes[:, j] = np.minimum(
                num_bins - 1, np.floor((column - low) * num_bins / (high - low))
            )
        elif binning == "quantile":
            inner = np.unique(
                np.quantile(column, np.arange(1, num_bins) / num_bins, method="linear")
            )
            codes[:, j] = (inner[None, :] < column[:, None]).sum(axis=1)
        else:
            raise ValueError(f"binning {binning!r}")
    return codes


def constant_columns(x):
    """Boolean mask of the columns with max = min."""
    if sparse.issparse(x):
        return np.asarray(x.max(axis=0).toarray() == x.min(axis=0).toarray()).ravel()
    return np.asarray(x).max(axis=0) == np.asarray(x).min(axis=0)
