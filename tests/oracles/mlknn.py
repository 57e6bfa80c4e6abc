"""ML-kNN (Zhang & Zhou 2007) row by row, label by label. Independent of the library."""

from __future__ import annotations

import numpy as np

from oracles.neighbours import nearest, squared_distances


class MLkNN:
    """prior P(l) = (s + n_l)/(2s + n); P(j | l) = (s + kappa[j]) / (s(k+1) + sum kappa), kappa[j]
    rows with (without) l that have j neighbours with l, self excluded; the label with the larger
    posterior, 0 when they are equal."""

    def __init__(self, k: int = 10, s: float = 1.0):
        self.k, self.s = k, s

    def fit(self, X: np.ndarray, Y: np.ndarray) -> MLkNN:
        self.X, self.Y = np.asarray(X, float), np.asarray(Y).astype(int)
        n, q = self.Y.shape
        k, s = self.k, self.s
        self.prior = (s + self.Y.sum(axis=0)) / (2 * s + n)
        kappa, kappa_without = np.zeros((q, k + 1)), np.zeros((q, k + 1))
        d2 = squared_distances(self.X)
        for i in range(n):
            near = nearest(d2[i], [j for j in range(n) if j != i], k, self.X.shape[1])
            counts = self.Y[near].sum(axis=0)
            for label in range(q):
                (kappa if self.Y[i, label] else kappa_without)[label, counts[label]] += 1
        self.likelihood = (s + kappa) / (s * (k + 1) + kappa.sum(axis=1, keepdims=True))
        self.likelihood_without = (s + kappa_without) / (
            s * (k + 1) + kappa_without.sum(axis=1, keepdims=True)
        )
        return self

    def counts(self, Z: np.ndarray) -> np.ndarray:
        d2 = squared_distances(np.asarray(Z, float), self.X)
        n, d = self.X.shape
        return np.array([self.Y[nearest(row, range(n), self.k, d)].sum(axis=0) for row in d2])

    def posterior(self, Z: np.ndarray) -> np.ndarray:
        """P(l | count) of each row and label: the scores."""
        counts = self.counts(Z)
        out = np.empty(counts.shape)
        for i, row in enumerate(counts):
            for label, count in enumerate(row):
                yes = self.prior[label] * self.likelihood[label, count]
                no = (1 - self.prior[label]) * self.likelihood_without[label, count]
                out[i, label] = yes / (yes + no)
        return out

    def predict(self, Z: np.ndarray) -> np.ndarray:
        counts = self.counts(Z)
        out = np.zeros(counts.shape, int)
        for i, row in enumerate(counts):
            for label, count in enumerate(row):
                yes = self.prior[label] * self.likelihood[label, count]
                no = (1 - self.prior[label]) * self.likelihood_without[label, count]
                out[i, label] = int(yes > no)
        return out
