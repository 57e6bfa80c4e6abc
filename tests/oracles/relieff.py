"""Multi-label ReliefF by loops over label pairs and rows. Independent of the library."""

from __future__ import annotations

import numpy as np

from oracles.neighbours import nearest, squared_distances


def unit_range(X: np.ndarray) -> np.ndarray:
    return (X - X.min(axis=0)) / (X.max(axis=0) - X.min(axis=0))


def pairwise(X: np.ndarray, Y: np.ndarray, k: int = 3, anchors=None) -> np.ndarray:
    """Sum over label pairs of two-class ReliefF on the rows with exactly one of the two labels."""
    X = unit_range(X)
    n, d = X.shape
    q = Y.shape[1]
    d2 = squared_distances(X)
    anchors = range(n) if anchors is None else anchors
    score = np.zeros(d)
    for a in range(q):
        for b in range(a + 1, q):
            first, second = Y[:, a] > 0, Y[:, b] > 0
            sides = [np.flatnonzero(first & ~second), np.flatnonzero(second & ~first)]
            if min(map(len, sides)) < k + 1:
                continue
            total, used = np.zeros(d), 0
            for own, other in (sides, sides[::-1]):
                for i in own:
                    if i not in anchors:
                        continue
                    used += 1
                    for j in nearest(d2[i], own[own != i], k, d):
                        total -= np.abs(X[i] - X[j])
                    for j in nearest(d2[i], other, k, d):
                        total += np.abs(X[i] - X[j])
            if used:
                score += total / (used * k)
    return score


def hamming(X: np.ndarray, Y: np.ndarray, k: int = 3, anchors=None) -> np.ndarray:
    """RReliefF's estimate with the Hamming distance of the labelsets (over q) as the target's
    difference."""
    X = unit_range(X)
    n, d = X.shape
    d2 = squared_distances(X)
    m_dl, m_df, m_dldf, m = 0.0, np.zeros(d), np.zeros(d), 0.0
    for i in range(n) if anchors is None else anchors:
        for j in nearest(d2[i], np.delete(np.arange(n), i), k, d):
            difference = np.abs(X[i] - X[j])
            labels = float((Y[i] != Y[j]).mean())
            m_dl += labels
            m_df += difference
            m_dldf += labels * difference
            m += 1
    out = np.zeros(d)
    if m_dl > 0:
        out += m_dldf / m_dl
    if m - m_dl > 1e-12:
        out -= (m_df - m_dldf) / (m - m_dl)
    return out
