"""Naive NumPy versions of the regression family, straight from the formulas on X and Y, n x n where
the paper is.

Independent of the library: nothing here is imported by it, and nothing of it is imported here.
"""

from __future__ import annotations

import gzip
import re
from pathlib import Path

import numpy as np


def load(name: str, data_dir: Path) -> tuple[np.ndarray, np.ndarray]:
    """X and Y of a dense Mulan set (ARFF and label XML)."""
    folder = Path(data_dir) / name
    labels = re.findall(r'label name="([^"]+)"', (folder / f"{name}.xml").read_text())
    names, rows, data = [], [], False
    with gzip.open(folder / f"{name}.arff.gz", "rt") as lines:
        for line in lines:
            line = line.strip()
            if data and line:
                rows.append([float(v) for v in line.split(",")])
            elif line.lower().startswith("@attribute"):
                names.append(line.split()[1])
            elif line.lower().startswith("@data"):
                data = True
    table = np.array(rows)
    at = [names.index(label) for label in labels]
    rest = [i for i in range(len(names)) if i not in at]
    return table[:, rest], table[:, at]


def standardise(X: np.ndarray) -> np.ndarray:
    """z-scores (population variance) of the columns that vary."""
    X = X[:, X.max(axis=0) > X.min(axis=0)]
    return (X - X.mean(axis=0)) / X.std(axis=0)


def centring(n: int) -> np.ndarray:
    return np.eye(n) - np.ones((n, n)) / n


def l21(W: np.ndarray) -> float:
    return sum(float(np.sqrt((w * w).sum())) for w in W)


def ridge(X, Y, alpha):
    """Least squares on X augmented by sqrt(alpha) I, an intercept column unpenalised."""
    n, d = X.shape
    big = np.block([[X, np.ones((n, 1))], [np.sqrt(alpha) * np.eye(d), np.zeros((d, 1))]])
    solution = np.linalg.lstsq(big, np.vstack([Y, np.zeros((d, Y.shape[1]))]), rcond=None)[0]
    return solution[:d], solution[d]


def reweighted(A, C, beta, iterations=20_000, tol=1e-9):
    """Plain reweighting of tr W'AW - 2 tr W'C + beta ||W||_21 in scaled form, from U = I."""
    s = np.ones(len(A))
    W = eps = None
    for _ in range(iterations):
        last = W
        W = s[:, None] * np.linalg.solve(s[:, None] * A * s + beta * np.eye(len(A)), s[:, None] * C)
        norms = 2 * np.sqrt((W**2).sum(axis=1))
        if eps is None:
            eps = 1e-10 * norms.max()
        s = np.sqrt(np.maximum(norms, eps))
        if last is not None and np.abs(W - last).max() <= tol * np.abs(W).max():
            break
    return W


def proximal(A, C, beta, iterations=200_000):
    """The same minimum by accelerated proximal gradient with restarts: no reweighting, no
    smoothing."""
    step = 0.5 / np.linalg.eigvalsh(A)[-1]
    W = Z = np.zeros_like(C)
    t = 1.0
    for _ in range(iterations):
        V = Z - step * 2 * (A @ Z - C)
        norms = np.sqrt((V**2).sum(axis=1, keepdims=True))
        new = V * np.maximum(1 - step * beta / np.maximum(norms, 1e-300), 0)
        if ((Z - new) * (new - W)).sum() > 0:
            t = 1.0
        t_new = (1 + np.sqrt(1 + 4 * t * t)) / 2
        Z = new + (t - 1) / t_new * (new - W)
        if np.abs(new - W).max() <= 1e-13 * np.abs(new).max(initial=1e-300):
            return new
        W, t = new, t_new
    return W


def rfs_nie(X, Y, gamma, iterations, floor, weights=None):
    """Nie et al.'s form, n x n: min ||U||_21 with [X, gI]U = Y, U = D^-1 A'(AD^-1 A')^-1 Y; the
    bias by bordering. A row of weight m has m times its norm in the sum.

    Returns the list of (W, b)."""
    n, d = X.shape
    m = np.ones(n) if weights is None else weights
    inverse_d, inverse_e = np.ones(d), 1 / m  # D = I over the d weights and the n residuals
    path, eps = [], None
    for _ in range(iterations):
        K = X @ np.diag(inverse_d) @ X.T + gamma**2 * np.diag(inverse_e)
        border = np.block([[K, np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
        z = np.linalg.solve(border, np.vstack([Y, np.zeros((1, Y.shape[1]))]))
        W, b = np.diag(inverse_d) @ X.T @ z[:n], z[n]
        path.append((W, b))
        E = (Y - X @ W - b) / gamma
        norms = 2 * np.sqrt((W**2).sum(axis=1))
        eps = 1e-10 * norms.max() if eps is None else eps
        inverse_d = np.maximum(norms, eps)
        inverse_e = 2 * np.maximum(np.sqrt((E**2).sum(axis=1)), floor / gamma) / m
    return path


def rfs_objective(X, Y, W, b, gamma, weights=1.0):
    return (weights * np.linalg.norm(X @ W + b - Y, axis=1)).sum() + gamma * l21(W)


def csfs(X, Y, mu, iterations=20_000, tol=1e-9):
    """Chang et al.: W = (X'S_cX + mu U)^-1 X'S_cF with n x n S_c; rows of Y that are NaN are free
    in [0, 1], from 0."""
    n = len(X)
    S = np.eye(n)
    ones = np.ones((n, 1))
    Sc = S - S @ ones @ ones.T @ S / (ones.T @ S @ ones)
    free = np.isnan(Y)
    F = np.where(free, 0.0, Y)
    A = X.T @ Sc @ X
    s, W, eps = np.ones(X.shape[1]), None, None
    for _ in range(iterations):
        last = W
        W = s[:, None] * np.linalg.solve(
            s[:, None] * A * s + mu * np.eye(len(A)), s[:, None] * (X.T @ Sc @ F)
        )
        b = (F.sum(axis=0) - (X @ W).sum(axis=0)) / n
        F = np.where(free, np.clip(X @ W + b, 0, 1), F)
        norms = 2 * np.sqrt((W**2).sum(axis=1))
        eps = 1e-10 * norms.max() if eps is None else eps
        s = np.sqrt(np.maximum(norms, eps))
        if last is not None and np.abs(W - last).max() <= tol * np.abs(W).max():
            break
    return W, b, F


def csfs_objective(X, Y, W, b, mu):
    """With F at its best given W and b."""
    P = X @ W + b
    F = np.where(np.isnan(Y), np.clip(P, 0, 1), Y)
    return float(((P - F) ** 2).sum()) + mu * l21(W)


def feature_laplacian(X, k):
    n, d = X.shape
    edges = np.zeros((d, d))
    for i in range(d):
        order = sorted(
            (round(float(((X[:, i] - X[:, j]) ** 2).sum()) / n, 10), j) for j in range(d) if j != i
        )
        for _, j in order[:k]:
            edges[i, j] = edges[j, i] = 1
    return np.diag(edges.sum(axis=1)) - edges


def mssl(X, Y, alpha, beta, k):
    H = centring(len(X))
    return reweighted(X.T @ H @ X + alpha * feature_laplacian(X, k), X.T @ H @ Y, beta)


def msfs(X, Y, S, alpha, beta, rho):
    """Li & Zhai, Eq. 13, for a symmetric neighbourhood matrix S (n x n)."""
    H, L = centring(len(X)), np.diag(S.sum(axis=1)) - S
    A = X.T @ (H + alpha * L) @ X + beta * (1 - rho) * np.eye(X.shape[1])
    W = reweighted(A, X.T @ H @ Y, beta * rho)
    return W, (Y.sum(axis=0) - (X @ W).sum(axis=0)) / len(X)


def nmf(Y, c, iterations):
    """Multiplicative updates over all n rows, V then B, from the truncated SVD's absolute
    values."""
    U, S, Vt = np.linalg.svd(Y, full_matrices=False)
    V, B = np.abs(U[:, :c]) * np.sqrt(S[:c]), np.sqrt(S[:c])[:, None] * np.abs(Vt[:c])
    for _ in range(iterations):
        V = V * (Y @ B.T) / (V @ B @ B.T + 1e-300)
        B = B * (V.T @ Y) / (V.T @ V @ B + 1e-300)
    size = np.sqrt((B**2).sum(axis=1))
    return V * size, B / size[:, None]


def omfs(X, V, gamma):
    return reweighted(X.T @ X, X.T @ V, gamma)


def heat_laplacian(X, k):
    """k nearest rows by (round(d^2/d, 10), row); heat weights with t the mean d^2 of the directed
    edges."""
    n, d = X.shape
    directed = {}
    for i in range(n):
        d2 = ((X - X[i]) ** 2).sum(axis=1)
        order = sorted((round(float(d2[j]) / d, 10), j) for j in range(n) if j != i)
        for _, j in order[:k]:
            directed[i, j] = d2[j]
    t = np.mean(list(directed.values()))
    S = np.zeros((n, n))
    for (i, j), d2 in directed.items():
        S[i, j] = S[j, i] = np.exp(-d2 / t)
    return np.diag(S.sum(axis=1)) - S, directed


def mifs(X, Y, L, alpha, beta, gamma, c, iterations, constraint="orthonormal"):
    """Jian et al., blocks in the order W, B, V, with n x n solves. Returns the objective trace, W,
    V, B."""
    n, d = X.shape
    U, S, Vt = np.linalg.svd(Y, full_matrices=False)
    V, B = U[:, :c] * S[:c], Vt[:c]
    s, eps, trace = np.ones(d), None, []
    for _ in range(iterations):
        W = s[:, None] * np.linalg.solve(
            s[:, None] * (X.T @ X) * s + gamma * np.eye(d), s[:, None] * (X.T @ V)
        )
        norms = 2 * np.sqrt((W**2).sum(axis=1))
        eps = 1e-10 * norms.max() if eps is None else eps
        s = np.sqrt(np.maximum(norms, eps))
        if constraint == "orthonormal":
            P, _, Q = np.linalg.svd(V.T @ Y, full_matrices=False)
            B = P @ Q
        else:
            B = np.linalg.solve(V.T @ V, V.T @ Y)
        # (I + bL)V + aVBB' = R, solved as one system over vec V.
        values, vectors = np.linalg.eigh(B @ B.T)
        R = (X @ W + alpha * Y @ B.T) @ vectors
        V = (
            np.column_stack(
                [
                    np.linalg.solve((1 + alpha * v) * np.eye(n) + beta * L, R[:, r])
                    for r, v in enumerate(values)
                ]
            )
            @ vectors.T
        )
        trace.append(
            ((X @ W - V) ** 2).sum()
            + alpha * ((Y - V @ B) ** 2).sum()
            + beta * np.trace(V.T @ L @ V)
            + gamma * l21(W)
        )
    return trace, W, V, B
