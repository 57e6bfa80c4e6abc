"""Scaling of columns: what is taken off, and what divides."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse as sp


def scaling_of(x: np.ndarray | sp.csr_matrix, how: str) -> tuple[np.ndarray, np.ndarray]:
    """(offset, scale) of the columns of the training rows: x is used as (x − offset) / scale.

    ``"standard"``: mean and population deviation; ``"minmax"``: minimum and range; ``"none"``: 0 and 1. A column without spread
    has scale 1. Sparse columns are scaled but not moved (offset 0).
    """
    d = x.shape[1]
    if how == "none":
        return np.zeros(d), np.ones(d)
    if how == "minmax":
        low, high = x.min(axis=0), x.max(axis=0)
        low, high = ((v.toarray().ravel() if sp.issparse(v) else v).astype(np.float64) for v in (low, high))
        offset, scale = low, high - low
    elif sp.issparse(x):
        x = x.astype(np.float64)
        mean = np.asarray(x.mean(axis=0)).ravel()
        offset, scale = mean, np.sqrt(np.maximum(np.asarray(x.multiply(x).mean(axis=0)).ravel() - mean**2, 0))
    else:
        x = x.astype(np.float64)
        offset, scale = x.mean(axis=0), x.std(axis=0)
    scale = np.where(scale > 0, scale, 1.0)
    return (np.zeros(d) if sp.issparse(x) else offset), scale


def scaled(x: np.ndarray | sp.csr_matrix, columns: np.ndarray, offset: np.ndarray, scale: np.ndarray) -> Any:
    """The columns of x, scaled; float64, CSR stays CSR."""
    x = x[:, columns] if len(columns) < x.shape[1] else x
    if sp.issparse(x):
        x = sp.csr_matrix(x, dtype=np.float64, copy=True)
        x.data /= scale[x.indices]
        return x
    x = x.astype(np.float64)
    x -= offset
    x /= scale
    return x
