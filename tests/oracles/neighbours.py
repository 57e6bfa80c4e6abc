"""k nearest rows under a condition, naive, with the multi-label similarities. Independent of the
library."""

from __future__ import annotations

from fractions import Fraction

import numpy as np

from oracles.information import varying_labels


def squared_distances(X: np.ndarray, Z: np.ndarray | None = None) -> np.ndarray:
    Z = X if Z is None else Z
    return np.array([((Z - x) ** 2).sum(axis=1) for x in X]).reshape(len(X), len(Z))


def nearest(d2_row: np.ndarray, candidates, k: int, features: int) -> list[int]:
    """The k candidates nearest by (round(d2 / features, 10), row)."""
    rows = np.asarray(candidates, dtype=int)
    distance = np.round(d2_row[rows] / features, 10)
    return rows[np.lexsort((rows, distance))[:k]].tolist()


def all_nearest(X: np.ndarray, k: int, allowed: np.ndarray | None = None) -> list[list[int]]:
    """Per row its k nearest other rows among those with allowed[i, j]."""
    n, d = X.shape
    d2 = squared_distances(X)
    rows = range(n)
    return [
        nearest(d2[i], [j for j in rows if j != i and (allowed is None or allowed[i, j])], k, d)
        for i in rows
    ]


def label_fractions(Y: np.ndarray, weights=None) -> list[list[Fraction]]:
    """Eq. 2 of the GMBA paper as exact fractions; `weights` None: n_l. The diagonal is y_i with
    itself."""
    Y = (varying_labels(Y) if weights is None else np.asarray(Y)).astype(int)
    n, q = Y.shape
    weights = [int(Y[:, label].sum()) for label in range(q)] if weights is None else weights
    table = []
    for i in range(n):
        row = []
        for j in range(n):
            both = sum(weights[c] for c in range(q) if Y[i, c] and Y[j, c])
            either = sum(weights[c] for c in range(q) if Y[i, c] or Y[j, c])
            row.append(Fraction(both, either) if either else Fraction(0))
        table.append(row)
    return table


def label_similarity(Y: np.ndarray, weights=None) -> np.ndarray:
    """The same as floats from n x n matrix products, for real sets."""
    Y = (varying_labels(Y) if weights is None else np.asarray(Y)).astype(float)
    w = Y.sum(axis=0) if weights is None else np.asarray(weights, float)
    both = (Y * w) @ Y.T
    mass = Y @ w
    either = mass[:, None] + mass - both
    return np.divide(both, either, out=np.zeros_like(both), where=either > 0)
