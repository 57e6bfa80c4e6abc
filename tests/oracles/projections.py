"""LIFT, LIFT-RSM, MDDM, MLSI and naive Bayes from their definitions, n × n where the papers are.
Independent of the library."""

from __future__ import annotations

import numpy as np
from scipy import linalg


def lloyd(X, centres, iterations=200):
    """Plain k-means from given centres; a centre without rows stays."""
    centres = centres.copy()
    for _ in range(iterations):
        nearest = np.array([np.argmin([((x - c) ** 2).sum() for c in centres]) for x in X])
        moved = np.array(
            [
                X[nearest == j].mean(axis=0) if (nearest == j).any() else c
                for j, c in enumerate(centres)
            ]
        )
        if np.allclose(moved, centres, rtol=0, atol=1e-12):
            return moved
        centres = moved
    return centres


def distances(X, centres):
    return np.array([[np.sqrt(((x - c) ** 2).sum()) for c in centres] for x in X])


def laplacian(S):
    return np.diag(S.sum(axis=1)) - S


def lift_rsm(phi, have, columns, alpha=0.05, beta=0.05):
    """(A, B) of the generalised eigenproblem from n × n graphs averaged over the subspaces
    `columns`."""
    n, D = phi.shape
    near, between = np.zeros((n, n)), np.zeros((n, n))
    for chosen in columns:
        d = distances(phi[:, chosen], phi[:, chosen])
        M = d.mean(axis=1)
        N, B = np.zeros((n, n)), np.zeros((n, n))
        for i in range(n):
            for j in range(n):
                N[i, j] = d[i, j] < M[i] or d[i, j] < M[j]
                B[i, j] = have[i] != have[j] and d[i, j] < M[i]
        near += N / len(columns)
        between += (B + B.T) / 2 / len(columns)
    same = (have[:, None] == have).astype(float)

    def form(S):
        return phi.T @ (2 * laplacian(S)) @ phi

    A = alpha * form(between) + form(1 - near)
    B = form(same) + beta * form(near)
    return A, B + 1e-6 * np.trace(B) / D * np.eye(D)


def mddm(X, Y, variant="p", mu=0.5, dim=None):
    """Leading eigenpairs of X'HYY'HX (n × n label kernel), against I or the mixed constraint."""
    n, d = X.shape
    H = np.eye(n) - np.ones((n, n)) / n
    A = X.T @ H @ (Y @ Y.T) @ H @ X
    B = np.eye(d) if variant == "p" else mu * X.T @ H @ X / n + (1 - mu) * np.eye(d)
    values, vectors = linalg.eigh(A, B)
    dim = Y.shape[1] if dim is None else dim
    return values[::-1][:dim], vectors[:, ::-1][:, :dim]


def mlsi(X, Y, beta=0.5, gamma=1.0, dim=10):
    n, d = X.shape
    K = X @ X.T
    H = np.eye(n) - np.ones((n, n)) / n
    A = X.T @ ((1 - beta) * K + beta * H @ Y @ Y.T @ H) @ X
    values, vectors = linalg.eigh(A, X.T @ X + gamma * np.eye(d))
    return values[::-1][:dim], vectors[:, ::-1][:, :dim]
