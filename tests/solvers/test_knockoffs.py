"""Knockoffs: their second moments, s against a general optimiser, the threshold against its
definition, error and power."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_memory.grams import gram_of_rows
from scipy.optimize import minimize
from sklearn.covariance import oas

from spark_mlfs.errors import DataError
from spark_mlfs.solvers import l21_gram, linear
from spark_mlfs.solvers.knockoffs import (
    equicorrelated,
    joined,
    minimum_variance,
    sampler,
    shrunk,
    statistic,
    threshold,
)


def correlation(seed, v, n=40):
    x = np.random.default_rng(seed).normal(size=(n, v)) @ np.random.default_rng(seed + 1).normal(
        size=(v, v)
    )
    return np.corrcoef(x, rowvar=False)


def test_shrinkage_is_near_scikit_learns_and_vanishes():
    x = np.random.default_rng(0).normal(size=(150, 120))
    x[:, 1:] += x[:, :-1]
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    R = x.T @ x / len(x)
    sigma, share = shrunk(R, len(x))
    assert share == pytest.approx(oas(x)[1], rel=0.02)  # which leaves out the terms in 2/v
    assert np.allclose(np.diag(sigma), 1) and np.allclose(sigma[0, 1:], (1 - share) * R[0, 1:])
    assert shrunk(R, 240)[1] == 0 and np.array_equal(shrunk(R, 240)[0], R)


def test_exact_copies_are_handled():
    x = np.random.default_rng(0).normal(size=(50, 4))
    x = np.column_stack([x, x[:, 0], -x[:, 1]])
    sigma, share = shrunk(np.corrcoef(x, rowvar=False), 1e12)
    assert np.linalg.eigvalsh(sigma)[0] >= 0.99e-6 and share < 1e-5
    s = minimum_variance(sigma)
    assert (s > 0).all() and np.linalg.eigvalsh(2 * sigma - np.diag(s))[0] > -1e-12


@settings(max_examples=15, deadline=None)
@given(seed=st.integers(0, 10**6), v=st.integers(2, 6))
def test_s_is_the_optimum(seed, v):
    """Coordinate steps end where a general optimiser does; every s on the way is inside its
    limits."""
    sigma = 0.8 * correlation(seed, v) + 0.2 * np.eye(v)

    def objective(logs):
        s = np.exp(logs)
        A = 2 * sigma - np.diag(s)
        return (1 / s).sum() + np.trace(np.linalg.inv(A)) if np.linalg.eigvalsh(A)[0] > 0 else 1e12

    start = equicorrelated(sigma)
    optimum = minimum_variance(sigma, 200, 1e-12)
    best = minimize(
        objective,
        np.log(start * 0.9),
        method="Nelder-Mead",
        options={"maxiter": 8000, "fatol": 1e-10},
    )
    assert objective(np.log(optimum)) <= best.fun * (1 + 1e-6)
    before = np.inf
    for sweeps in range(4):
        s = minimum_variance(sigma, sweeps, 0.0)
        assert (s > 0).all() and np.linalg.eigvalsh(2 * sigma - np.diag(s))[0] > 0
        assert objective(np.log(s)) <= before
        before = objective(np.log(s))


def test_knockoffs_have_the_second_moments_they_must():
    """By algebra: cov(x̃) = Σ, cov(x, x̃) = Σ − S, E x̃ = μ, in the units of the data; a constant
    feature has none."""
    rng = np.random.default_rng(2)
    x = (rng.normal(size=(300, 6)) @ rng.normal(size=(6, 6))) * [1, 10, 0.1, 3, 1, 1] + 5
    x[:, 3] = 2.0
    view = gram_of_rows(x, np.zeros((300, 1))).centred()
    drawing = sampler(view, np.full(6, 4.0))
    assert drawing.positions.tolist() == [0, 1, 2, 4, 5]
    sd = x[:, drawing.positions].std(axis=0)
    sigma, _ = shrunk(view.G / view.n, view.n)
    cov = sigma * np.outer(sd, sd)
    assert np.allclose(drawing.mean.T @ cov @ drawing.mean + drawing.root.T @ drawing.root, cov)
    assert np.allclose(cov @ drawing.mean, cov - np.diag(drawing.s) * np.outer(sd, sd))
    mean = x[:, drawing.positions].mean(axis=0) - 4.0
    assert np.allclose(drawing.shift + mean @ drawing.mean, mean)


@settings(max_examples=100, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    m=st.integers(1, 40),
    fdr=st.sampled_from([0.05, 0.2, 0.5, 1.0]),
    shift=st.sampled_from([0, 2]),
)
def test_threshold_is_its_definition(seed, m, fdr, shift):
    w = np.round(np.random.default_rng(seed).normal(size=m) + shift, 1)
    allowed = [t for t in set(np.abs(w)) - {0.0} if (1 + sum(w <= -t)) / max(1, sum(w >= t)) <= fdr]
    assert threshold(np.append(w, np.nan), fdr) == (min(allowed) if allowed else np.inf)


def test_statistic_changes_sign_when_a_pair_is_swapped():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(8, 3))
    w = statistic(weights)
    swapped = weights[[4, 1, 2, 3, 0, 5, 6, 7]]
    assert np.allclose(statistic(swapped), w * [-1, 1, 1, 1])


def run(seed, solve, n=1000, d=100, q=5, relevant=20, binary=False, copies=0):
    """One planted data set: share of false features at fdr 0.1, share of the relevant ones found,
    signs of the irrelevant W."""
    rng = np.random.default_rng(seed)
    x = (
        rng.normal(size=(n, d))
        @ np.linalg.cholesky(0.5 ** np.abs(np.subtract.outer(np.arange(d), np.arange(d)))).T
    )
    if binary:
        x = (x > 0.5).astype(float)
    true = rng.choice(d, relevant, replace=False)
    irrelevant = np.setdiff1d(np.arange(d), true)
    for original, copy in zip(true[:copies], irrelevant, strict=False):
        x[:, copy] = x[:, original] + 0.3 * rng.normal(size=n)
    effect = np.zeros((d, q))
    effect[true] = 0.25 * rng.normal(size=(relevant, q)) * (2 if binary else 1)
    y = (x @ effect + rng.normal(size=(n, q)) > 0.3).astype(float)
    plain = gram_of_rows(x, y)
    drawing = sampler(plain.centred(), plain.centre_x)
    first = x - plain.centre_x
    second = drawing.shift + first @ drawing.mean + rng.normal(size=first.shape) @ drawing.root
    copies = gram_of_rows(second, y, centre_x=np.zeros(d))
    both = joined(plain, copies, first.T @ second)
    w = statistic(solve(both.centred()).weights)
    kept = w >= threshold(w, 0.1)
    return (
        kept[irrelevant].sum() / max(1, kept.sum()),
        kept[true].mean(),
        (w[irrelevant] > 0).mean(),
    )


@pytest.mark.slow
@pytest.mark.parametrize("binary", [False, True], ids=["gaussian", "binary"])
@pytest.mark.parametrize(
    "solve",
    [lambda view: linear.ridge(view, 1.0), lambda view: l21_gram.csfs(view, 1.0)],
    ids=["ridge", "csfs"],
)
def test_false_discoveries_are_held_and_features_found(solve, binary):
    """40 planted runs, 20 of 100 correlated features relevant to five labels: mean share of false
    ones at most 1.2 times the target of 0.1, power 0.7; W of an irrelevant feature is no more often
    positive than negative (a little less: Σ is estimated from the same rows)."""
    runs = np.array([run(seed, solve, binary=binary) for seed in range(40)])
    false, power, positive = runs.mean(axis=0)
    assert false <= 0.12, runs[:, 0]
    assert power >= 0.7, power
    assert 0.42 < positive < 0.5 + 4 * 0.5 / np.sqrt(40 * 80)


@pytest.mark.slow
def test_copies_of_relevant_features_are_told_apart():
    """Ten irrelevant features are relevant ones plus noise, correlated with them at 0.96: any
    marginal test passes them."""
    runs = np.array(
        [
            run(seed, lambda view: l21_gram.csfs(view, 1.0), n=2500, d=80, copies=10)
            for seed in range(40)
        ]
    )
    assert runs[:, 0].mean() <= 0.12 and runs[:, 1].mean() >= 0.6, runs.mean(axis=0)


def test_what_is_wrong_is_told():
    x = np.column_stack([np.arange(5.0), np.ones(5)])
    with pytest.raises(DataError, match="at least two features"):
        sampler(gram_of_rows(x, np.ones((5, 1))).centred(), np.zeros(2))
