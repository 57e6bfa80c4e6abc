"""Gram statistics of rows in memory, in floats: what the exact sums of `statistics.gram` are of
large data."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from spark_mlfs.kernels.gram import GramStatistics


def gram_of_rows(X, Y, weights=None, centre_x=None, centre_y=None):
    """Of X n x d and Y n x q, dense or sparse, about `centre_x` (a dense X: its mean; a sparse one:
    0) and `centre_y` (the mean)."""
    n, d = X.shape
    r = np.ones(n) if weights is None else np.asarray(weights, np.float64)
    y = np.asarray(Y.todense() if sparse.issparse(Y) else Y, np.float64)
    centre_y = np.array(
        centre_y if centre_y is not None else y.mean(axis=0) if n else np.zeros(y.shape[1]),
        np.float64,
    )
    y = y - centre_y
    ry = y * r[:, None]
    if sparse.issparse(X):
        rows, about = sparse.csr_matrix(X, dtype=np.float64), np.zeros(d)
        times = rows.multiply(r[:, None]).tocsr()
        sums, xx, xy = (
            np.asarray(times.sum(axis=0)).ravel(),
            np.asarray((rows.T @ times).todense()),
            np.asarray(rows.T @ ry),
        )
        ends = (
            (rows.min(axis=0).toarray().ravel(), rows.max(axis=0).toarray().ravel()) if n else None
        )
    else:
        rows = np.asarray(X, np.float64)
        about = np.array(
            centre_x if centre_x is not None else rows.mean(axis=0) if n else np.zeros(d),
            np.float64,
        )
        x = rows - about
        half = x if weights is None else x * np.sqrt(r)[:, None]
        sums, xx, xy = r @ x, half.T @ half, x.T @ ry
        ends = (rows.min(axis=0), rows.max(axis=0)) if n else None
    low, high = ends or (np.full(d, np.inf), np.full(d, -np.inf))
    out = GramStatistics(
        float(r.sum()), sums, ry.sum(axis=0), xx, xy, y.T @ ry, about, centre_y, low, high
    )
    return (
        out if centre_x is None else out.recentred(np.asarray(centre_x, np.float64), out.centre_y)
    )


def to_input(view, weights, intercept=None):
    """Weights (d x q) and intercept (q) for unscaled features, of those on a view: prediction = x W
    + b."""
    raw = weights / view.scale[:, None]
    base = view.offset_y if intercept is None else intercept
    return view.expand(raw), base - view.offset @ raw
