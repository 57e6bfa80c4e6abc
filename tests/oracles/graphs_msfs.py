"""The neighbourhood graph of MSFS in dense form (Li & Zhai, Algorithm 1), naive, n x n.

Independent of the library. T_ij = exp(-d^2_ij / sigma^2) * Jaccard(y_i, y_j); P = D^-1 T; C_ij
counts the visits of j by walks from i; S = (C + C')/2."""

from __future__ import annotations

import numpy as np


def squared_distances(X: np.ndarray) -> np.ndarray:
    return np.array([((X - x) ** 2).sum(axis=1) for x in X])


def jaccard(Y: np.ndarray) -> np.ndarray:
    """Labels in common over labels in either; two empty labelsets share nothing; 0 on the
    diagonal."""
    both = Y @ Y.T
    either = Y.sum(axis=1)[:, None] + Y.sum(axis=1) - both
    R = np.divide(both, either, out=np.zeros_like(both), where=either > 0)
    np.fill_diagonal(R, 0.0)
    return R


def local_scales(X: np.ndarray, k: int = 7) -> np.ndarray:
    """sigma_i^2: the squared distance to the k-th nearest other row, or the smallest positive one
    when that is 0."""
    d2 = squared_distances(X)
    out = np.zeros(len(X))
    for i, row in enumerate(d2):
        others = np.sort(np.delete(row, i))
        out[i] = others[min(k, len(others)) - 1]
        if out[i] == 0 and (others > 0).any():
            out[i] = others[others > 0][0]
    return out


def similarity(
    X: np.ndarray,
    Y: np.ndarray,
    sigma: float | None = None,
    neighbors: int | None = None,
    k: int = 7,
) -> np.ndarray:
    """T: with `sigma` the paper's kernel, otherwise self-tuning; `neighbors` keeps the nearest
    label-sharing rows of each row (by round(d^2/d, 10), then row), kept if either end lists the
    other; None keeps all."""
    n, d = X.shape
    d2, R = squared_distances(X), jaccard(Y)
    if sigma is not None:
        exponent = d2 / sigma**2
    else:
        s2 = local_scales(X, k)
        product = np.sqrt(np.outer(s2, s2))  # sigma_i sigma_j
        exponent = np.divide(d2, product, out=np.where(d2 > 0, np.inf, 0.0), where=product > 0)
    T = np.exp(-exponent) * R
    if neighbors is not None:
        listed = np.zeros((n, n), dtype=bool)
        for i in range(n):
            order = sorted((round(float(d2[i, j]) / d, 10), j) for j in range(n) if R[i, j] > 0)
            for _, j in order[:neighbors]:
                listed[i, j] = True
        T = np.where(listed | listed.T, T, 0.0)
    return T


def transitions(T: np.ndarray) -> np.ndarray:
    """P = D^-1 T; a row without mass stays zero."""
    mass = T.sum(axis=1, keepdims=True)
    return np.divide(T, mass, out=np.zeros_like(T), where=mass > 0)


def expected_visits(P: np.ndarray, steps: int, walk: str = "dfs") -> np.ndarray:
    """E[C]: sum of P^s over s <= steps for the k-step walk, steps * P for k one-step draws."""
    if walk == "bfs":
        return steps * P
    total, power = np.zeros_like(P), np.eye(len(P))
    for _ in range(steps):
        power = power @ P
        total = total + power
    return total


def sampled_visits(P: np.ndarray, steps: int, walk: str, uniforms: np.ndarray) -> np.ndarray:
    """C from given draws in [0, 1): uniforms[i, s] moves the walk of row i at step s, by the
    inverse of the cumulated row of P. A row without mass is never left and visits nothing."""
    n = len(P)
    C = np.zeros((n, n))
    for i in range(n):
        at = i
        for s in range(steps):
            if P[at].sum() == 0:
                break
            cumulated = np.cumsum(P[at])
            j = int(np.searchsorted(cumulated, uniforms[i, s] * cumulated[-1], side="right"))
            j = min(j, int(np.flatnonzero(P[at])[-1]))
            C[i, j] += 1
            at = j if walk == "dfs" else i
    return C


def neighbourhood(C: np.ndarray) -> np.ndarray:
    return (C + C.T) / 2


def laplacian(S: np.ndarray) -> np.ndarray:
    return np.diag(S.sum(axis=1)) - S


def xlx(X: np.ndarray, S: np.ndarray) -> np.ndarray:
    """X'LX as the sum over pairs S_ij (x_i - x_j)(x_i - x_j)'/2."""
    d = X.shape[1]
    out = np.zeros((d, d))
    for i in range(len(X)):
        D = X[i] - X
        out += 0.5 * (D * S[i][:, None]).T @ D
    return out
