"""DeepFS: gradients, seeds, and a planted set it must get right."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest

from spark_mlfs.errors import DataError
from spark_mlfs.solvers import gates
from spark_mlfs.solvers.gates import keep_probability, loss_and_gradients

deepfs = partial(gates.deepfs, hidden=(32,), lam=0.05, epochs=100, batch=64, rate=0.01, seed=0)


def planted():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(400, 25))
    return X, (X[:, :4] @ rng.normal(size=(4, 3)) + 0.3 * rng.normal(size=(400, 3)) > 0).astype(
        float
    )


@pytest.mark.parametrize("hidden", [(5,), (5, 4)])
@pytest.mark.parametrize("noisy", [True, False])
def test_gradients_are_the_slopes_of_the_loss(hidden, noisy):
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(9, 6)), (rng.random((9, 3)) < 0.5).astype(float)
    widths = [6, *hidden, 3]
    parameters = [rng.normal(0, 0.3, 6)]
    for a, b in itertools.pairwise(widths):
        parameters += [rng.normal(size=(a, b)), rng.normal(size=b)]
    noise = rng.random(X.shape) if noisy else None
    _, gradients = loss_and_gradients(parameters, X, Y, 0.3, noise)
    assert [g.shape for g in gradients] == [p.shape for p in parameters]
    for p, g in zip(parameters, gradients, strict=True):
        for at in np.ndindex(p.shape):
            kept = p[at]
            p[at] = kept + 1e-6
            up = loss_and_gradients(parameters, X, Y, 0.3, noise)[0]
            p[at] = kept - 1e-6
            down = loss_and_gradients(parameters, X, Y, 0.3, noise)[0]
            p[at] = kept
            assert (up - down) / 2e-6 == pytest.approx(g[at], abs=1e-5)


def test_keep_probability_is_the_share_of_open_gates():
    u = np.random.default_rng(0).random(200_000)
    for a in (-1.0, 0.0, 1.5):
        s = 1 / (1 + np.exp(-(np.log(u) - np.log(1 - u) + a) / (2 / 3)))
        assert np.mean(s * 1.2 - 0.1 > 0) == pytest.approx(keep_probability(np.array(a)), abs=5e-3)


@pytest.mark.parametrize("hidden", [(16,), (16, 8)])
def test_planted_features_come_first(hidden):
    X, Y = planted()
    got = deepfs(X, Y, hidden=hidden, lam=0.02, epochs=60, seed=3)
    p = got.weights.ravel()
    assert set(np.argsort(-p)[:4]) == {0, 1, 2, 3}
    assert ((p > 0) & (p < 1)).all()
    assert (np.diff(got.objective) <= 0).all() and len(got.objective) == got.iterations
    assert got.objective == list(np.minimum.accumulate(got.extra["loss"]))


def test_one_seed_gives_one_answer():
    X, Y = planted()
    a, b, c = (deepfs(X, Y, epochs=5, seed=s).weights for s in (7, 7, 8))
    assert (a == b).all() and not (a == c).all()


def test_honest_about_stopping_and_errors(monkeypatch):
    X, Y = planted()
    assert not deepfs(X, Y, epochs=2).converged
    monkeypatch.setattr(gates, "PATIENCE", 3)
    assert deepfs(X, Y, epochs=400, rate=0.05).converged
    with np.errstate(invalid="ignore"), pytest.raises(DataError, match="not a number"):
        deepfs(X * np.nan, Y, epochs=1)
