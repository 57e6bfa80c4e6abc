"""Stochastic gates in front of a small network, trained by Adam: `methods.deepfs` has the
formulas."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import expit

from ..errors import DataError
from .problems import Solution

_LOW, _HIGH, _T = -0.1, 1.1, 2.0 / 3.0
_SHIFT = _T * np.log(-_LOW / _HIGH)
PATIENCE = 10


def keep_probability(log_alpha: np.ndarray) -> np.ndarray:
    """P(z > 0) of a hard-concrete gate."""
    return expit(log_alpha - _SHIFT)


def deepfs(
    X: np.ndarray,
    Y: np.ndarray,
    hidden: Sequence[int],
    lam: float,
    epochs: int,
    batch: int,
    rate: float,
    seed: int,
) -> Solution:
    """Train gates and network by Adam (Kingma & Ba 2015); `weights` (d × 1) are the keep
    probabilities.

    X n × d standardised and dense, Y n × q in {0, 1}; `hidden` one or two layer widths. The best
    parameters by the penalised loss of the whole sample after an epoch, every gate noise-free, are
    returned; `objective` is the best so far. `converged`: `PATIENCE` epochs brought no improvement
    of 1e-4 relative, no claim of an optimum. `extra["loss"]`: of every epoch."""
    X, Y = np.asarray(X, dtype=np.float64), np.asarray(Y, dtype=np.float64)
    n, d = X.shape
    q = Y.shape[1]
    rng = np.random.default_rng(seed)
    parameters = _start([d, *hidden, q], Y, rng)
    first, second, steps = (
        [np.zeros_like(p) for p in parameters],
        [np.zeros_like(p) for p in parameters],
        0,
    )
    best, best_value, since, converged = None, np.inf, 0, False
    trace, raw = list[float](), list[float]()
    for _ in range(epochs):
        order = rng.permutation(n)
        for start in range(0, n, batch):
            rows = order[start : start + batch]
            _, gradients = loss_and_gradients(
                parameters, X[rows], Y[rows], lam, rng.random((len(rows), d))
            )
            steps += 1
            for p, g, m, v in zip(
                parameters, gradients, first, second, strict=True
            ):  # Adam with decay .9 and .999
                m += 0.1 * (g - m)
                v += 0.001 * (g * g - v)
                p -= rate * (m / (1 - 0.9**steps)) / (np.sqrt(v / (1 - 0.999**steps)) + 1e-8)
        value, _ = loss_and_gradients(parameters, X, Y, lam, None)
        raw.append(value)
        if value < best_value:
            since = since + 1 if value > best_value - 1e-4 * abs(best_value) else 0
            best, best_value = [p.copy() for p in parameters], value
        else:
            since += 1
        trace.append(best_value)
        if converged := since >= PATIENCE:
            break
    if best is None:
        raise DataError(
            "the training loss is not a number; are there missing or infinite feature values?"
        )
    return Solution(
        keep_probability(best[0])[:, None], best[-1], trace, converged, len(trace), {"loss": raw}
    )


def _start(widths: list[int], Y: np.ndarray, rng: np.random.Generator) -> list[np.ndarray]:
    """[a, W1, b1, …]: open and closed gates alike, weights by fan-in, the last intercepts the
    labels' log-odds."""
    parameters = [np.zeros(widths[0])]
    for i in range(len(widths) - 1):
        scale = np.sqrt((2.0 if i < len(widths) - 2 else 1.0) / widths[i])
        parameters += [rng.normal(0.0, scale, (widths[i], widths[i + 1])), np.zeros(widths[i + 1])]
    prior = np.clip(Y.mean(axis=0), 1e-3, 1 - 1e-3)
    parameters[-1] = np.log(prior / (1 - prior))
    return parameters


def loss_and_gradients(
    parameters: list[np.ndarray], X: np.ndarray, Y: np.ndarray, lam: float, noise: np.ndarray | None
) -> tuple[float, list[np.ndarray]]:
    """Penalised loss and its gradient in [a, W1, b1, ..., ]; `noise` u (rows x d), or None for
    noise-free gates."""
    a, layers = parameters[0], parameters[1:]
    if noise is None:
        s = expit(a / _T)  # the same for all rows
    else:
        # 1/T = 3/2: sigmoid((log u − log(1 − u) + a) / T) = 1/(1 + r √r), r = (1/u − 1) exp(−a),
        # without logarithms
        r = 1.0 / np.clip(noise, 1e-6, 1 - 1e-6)
        r -= 1.0
        r *= np.exp(np.minimum(-a, 400.0))
        s = np.sqrt(r)
        s *= r
        s += 1.0
        np.divide(1.0, s, out=s)
    stretched = s * (_HIGH - _LOW)
    stretched += _LOW
    z = np.clip(stretched, 0.0, 1.0)
    inputs, h = [], X * z
    for i in range(0, len(layers), 2):
        inputs.append(h)
        h = h @ layers[i] + layers[i + 1]
        if i + 2 < len(layers):
            h = np.maximum(h, 0.0)
    p = keep_probability(a)
    loss = float((np.logaddexp(0.0, h) - Y * h).sum() / len(X) + lam * p.sum())
    back = (expit(h) - Y) / len(X)
    gradients: list[np.ndarray] = []
    for i in range(len(layers) - 2, -1, -2):
        x = inputs[i // 2]
        gradients = [x.T @ back, back.sum(axis=0), *gradients]
        back = back @ layers[i].T
        if i > 0:
            back = back * (x > 0)
    slope = 1 - s
    slope *= s
    slope *= z == stretched  # inside the bounds
    back *= X
    gate = back.sum(axis=0) * slope if slope.ndim == 1 else np.einsum("ij,ij->j", back, slope)
    return loss, [gate * ((_HIGH - _LOW) / _T) + lam * p * (1 - p), *gradients]
