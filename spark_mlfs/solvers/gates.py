"""Stochastic gates in front of a small network, trained by Adam: `methods.deepfs` has the
formulas."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy import ndarray
from scipy.special import expit

from ..errors import DataError
from .problems import Solution

_LOW = -0.1
_HIGH = 1.1
_T = 2.0 / 3.0
_SHIFT = _T * np.log(-_LOW / _HIGH)
PATIENCE = 10


def keep_probability(log_alpha: ndarray) -> ndarray:
    """Return P(z > 0) of a hard-concrete gate."""
    return expit(log_alpha - _SHIFT)


def deepfs(
    X: ndarray,
    Y: ndarray,
    hidden: Sequence[int],
    lam: float,
    epochs: int,
    batch: int,
    rate: float,
    seed: int,
) -> Solution:
    """Train gates and network; `weights` (d × 1) are the keep probabilities.

    By Adam (Kingma & Ba 2015). X n × d standardised and dense, Y n × q in {0, 1}; `hidden` one or
    two layer widths. The best parameters by the penalised loss of the whole sample after an epoch,
    every gate noise-free, are returned; `objective` is the best so far. `converged`: `PATIENCE`
    epochs brought no improvement of 1e-4 relative, no claim of an optimum. `extra["loss"]`: of
    every epoch."""
    X = np.asarray(X, dtype=np.float64)
    Y = np.asarray(Y, dtype=np.float64)
    n, d = X.shape
    rng = np.random.default_rng(seed)
    parameters = _start([d, *hidden, Y.shape[1]], Y, rng)
    adam = _Adam(parameters, rate)
    best = None
    best_value = np.inf
    idle = 0  # epochs without an improvement
    trace: list[float] = []
    losses: list[float] = []
    for _ in range(epochs):
        order = rng.permutation(n)
        for start in range(0, n, batch):
            rows = order[start : start + batch]
            noise = rng.random((len(rows), d))
            _, gradients = loss_and_gradients(
                parameters,
                X[rows],
                Y[rows],
                lam,
                noise,
            )
            adam.step(gradients)
        value, _ = loss_and_gradients(
            parameters,
            X,
            Y,
            lam,
            None,
        )
        losses.append(value)
        if value < best_value:
            is_small = value > best_value - 1e-4 * abs(best_value)
            idle = idle + 1 if is_small else 0
            best = [p.copy() for p in parameters]
            best_value = value
        else:
            idle += 1
        trace.append(best_value)
        if idle >= PATIENCE:
            break
    if best is None:
        raise DataError(
            "the training loss is not a number; are there missing or infinite feature values?"
        )
    weights = keep_probability(best[0])[:, None]
    extra = {"loss": losses}
    return Solution(
        weights,
        best[-1],
        trace,
        idle >= PATIENCE,
        len(trace),
        extra,
    )


class _Adam:
    """Adam with decay .9 and .999 of the means, `first`, and of those of squares, `second`."""

    def __init__(self, parameters: list[ndarray], rate: float) -> None:
        self.parameters, self.rate = parameters, rate
        self.first = [np.zeros_like(p) for p in parameters]
        self.second = [np.zeros_like(p) for p in parameters]
        self.steps = 0

    def step(self, gradients: list[ndarray]) -> None:
        """Move the parameters in place."""
        self.steps += 1
        first_share = 1 - 0.9**self.steps
        second_share = 1 - 0.999**self.steps
        for p, g, m, v in zip(
            self.parameters,
            gradients,
            self.first,
            self.second,
            strict=True,
        ):
            m += 0.1 * (g - m)
            v += 0.001 * (g * g - v)
            p -= self.rate * (m / first_share) / (np.sqrt(v / second_share) + 1e-8)


def _start(widths: list[int], Y: ndarray, rng: np.random.Generator) -> list[ndarray]:
    """Draw [a, W1, b1, …].

    Open and closed gates alike, weights by fan-in, the last intercepts the labels' log-odds."""
    parameters = [np.zeros(widths[0])]
    last = len(widths) - 2
    for i in range(last + 1):
        gain = 2.0 if i < last else 1.0
        weights = rng.normal(0.0, np.sqrt(gain / widths[i]), (widths[i], widths[i + 1]))
        parameters += [weights, np.zeros(widths[i + 1])]
    prior = np.clip(Y.mean(axis=0), 1e-3, 1 - 1e-3)
    parameters[-1] = np.log(prior / (1 - prior))
    return parameters


def loss_and_gradients(
    parameters: list[ndarray],
    X: ndarray,
    Y: ndarray,
    lam: float,
    noise: ndarray | None,
) -> tuple[float, list[ndarray]]:
    """Return the penalised loss and its gradient in [a, W1, b1, ..., ].

    `noise` u (rows x d), or None for noise-free gates."""
    a = parameters[0]
    layers = parameters[1:]
    s = _gates(a, noise)
    stretched = s * (_HIGH - _LOW)
    stretched += _LOW
    z = np.clip(stretched, 0.0, 1.0)
    inputs: list[ndarray] = []
    h = X * z
    for i in range(0, len(layers), 2):
        inputs.append(h)
        h = h @ layers[i] + layers[i + 1]
        if i + 2 < len(layers):
            h = np.maximum(h, 0.0)
    p = keep_probability(a)
    log_loss = (np.logaddexp(0.0, h) - Y * h).sum() / len(X)
    loss = float(log_loss + lam * p.sum())
    back = (expit(h) - Y) / len(X)
    gradients: list[ndarray] = []
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
    is_shared = slope.ndim == 1  # by all rows
    of_gates = back.sum(axis=0) * slope if is_shared else np.einsum("ij,ij->j", back, slope)
    of_penalty = lam * p * (1 - p)
    return loss, [of_gates * ((_HIGH - _LOW) / _T) + of_penalty, *gradients]


def _gates(a: ndarray, noise: ndarray | None) -> ndarray:
    """Return the gates before they are stretched: (d,), the same for all rows, without noise."""
    if noise is None:
        return expit(a / _T)
    # 1/T = 3/2: sigmoid((log u − log(1 − u) + a) / T) = 1/(1 + r √r), r = (1/u − 1) exp(−a),
    # without logarithms
    r = 1.0 / np.clip(noise, 1e-6, 1 - 1e-6)
    r -= 1.0
    r *= np.exp(np.minimum(-a, 400.0))
    s = np.sqrt(r)
    s *= r
    s += 1.0
    np.divide(1.0, s, out=s)
    return s
