"""GMBA by loops over rows, hits and misses, from the paper's equations. Independent of the
library."""

from __future__ import annotations

from functools import cached_property

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit

from oracles.neighbours import label_similarity, nearest, squared_distances


class Gmba:
    """Hits, misses and margins of every row; then loss, gradient and the three modes."""

    def __init__(
        self, X: np.ndarray, Y: np.ndarray, k: int = 3, s_min: float = 1.0, lam: float = 1.0
    ):
        self.X, self.k, self.lam = np.asarray(X, float), k, lam
        self.n, self.d = self.X.shape
        self.s = label_similarity(Y)
        d2 = squared_distances(self.X)
        self.anchors = []
        for i in range(self.n):
            others = np.delete(np.arange(self.n), i)
            alike = self.s[i, others] >= s_min
            sim, dissim = others[alike], others[~alike]
            if len(sim) < k or not len(dissim):
                continue
            hits = nearest(d2[i], sim, k, self.d)
            miss = nearest(d2[i], dissim, 1, self.d)[0]
            self.anchors.append((i, hits, dissim, abs(d2[i, hits[0]] - d2[i, miss])))

    def terms(self, i, hits, dissim, margin, v):
        """Loss and gradient in v of one anchor; the hinge's activity at v."""
        delta = (self.X[i] - self.X) ** 2
        d2 = delta @ v
        loss, gradient = 0.0, np.zeros(self.d)
        r = dissim
        for j in hits:
            loss += self.s[i, j] * d2[j]
            gradient += self.s[i, j] * delta[j]
            inside = margin + d2[j] - d2[r]
            on = np.round(inside / self.d, 10) >= 0
            c = self.lam * (self.s[i, j] - self.s[i, r])
            loss += (c * np.maximum(inside, 0)).sum()
            pairs = np.zeros(self.n)  # of the misses, which differ
            pairs[r] = c * on
            gradient += pairs.sum() * delta[j] - pairs @ delta
        return loss, gradient

    def loss(self, v):
        return sum(self.terms(*anchor, v)[0] for anchor in self.anchors)

    def gradients(self, v=None):
        """{row: g_i}"""
        if v is None:
            return self.at_ones
        return {anchor[0]: self.terms(*anchor, v)[1] for anchor in self.anchors}

    @cached_property
    def at_ones(self):
        return self.gradients(np.ones(self.d))

    def closed(self):
        return -sum(self.gradients().values())

    def paper(self, order, beta=0.9):
        """Eq. 15 as printed; the anchors in the given order of rows."""
        g = self.gradients()
        w = np.ones(self.d)
        for i in order:
            if i in g:
                grad = 2 * w * g[i]
                norm = np.linalg.norm(grad)
                if norm > 0:
                    w = w - beta * grad / norm
        return w

    def eta(self):
        return 0.01 * np.abs(sum(self.gradients().values())).mean()

    def objective(self, v):
        return self.loss(v) + self.eta() / 2 * ((v - 1) ** 2).sum()

    def minimise(self):
        """(v, objective, lower bound). The loss is base'v + sum_p c_p [m_p + delta_p'v]_+ over the
        pairs p = (hit, miss). Each hinge is smoothed to c t log(1 + exp(inside / t)), t falling; a
        = c / (1 + exp(-inside / t)) is then feasible in the dual

        max over 0 <= a <= c of  a'm + min_{v >= 0} (base + a'delta)'v + eta/2 ||v - 1||^2

        and bounds the minimum from below. Small problems only.
        """
        base, deltas, margins, caps = np.zeros(self.d), [], [], []
        for i, hits, dissim, margin in self.anchors:
            delta = (self.X[i] - self.X) ** 2
            for j in hits:
                base += self.s[i, j] * delta[j]
                for r in dissim:
                    deltas.append(delta[j] - delta[r])
                    margins.append(margin)
                    caps.append(self.lam * (self.s[i, j] - self.s[i, r]))
        deltas, margins, caps = np.array(deltas), np.array(margins), np.array(caps)
        eta = self.eta()
        v = np.ones(self.d)
        for t in 10.0 ** np.arange(0, -7, -0.5):

            def smooth(v, t=t):
                inside = margins + deltas @ v
                value = (
                    base @ v
                    + (caps * t * np.logaddexp(0, inside / t)).sum()
                    + eta / 2 * ((v - 1) ** 2).sum()
                )
                return value, base + (caps * expit(inside / t)) @ deltas + eta * (v - 1)

            options = {"maxiter": 2000, "ftol": 1e-16, "gtol": 1e-12}
            v = minimize(
                smooth, v, jac=True, method="L-BFGS-B", bounds=[(0, None)] * self.d, options=options
            ).x
            if t < 1e-6 * np.abs(margins).max():
                break
        a = caps * expit((margins + deltas @ v) / t)
        low = np.maximum(0.0, 1 - (base + a @ deltas) / eta)
        bound = a @ margins + (base + a @ deltas) @ low + eta / 2 * ((low - 1) ** 2).sum()
        return v, self.objective(v), bound
