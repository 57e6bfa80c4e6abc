"""Ridge, LASSO, elastic net and group forms against scikit-learn, and their optimality
conditions."""

from __future__ import annotations

import warnings

import numpy as np
import pytest
from in_memory.grams import gram_of_rows
from oracles import regression as oracle
from sklearn.linear_model import ElasticNet, Lasso, MultiTaskElasticNet, Ridge

from spark_mlfs.solvers.linear import elastic_net, ridge


def planted():
    rng = np.random.default_rng(5)
    X = rng.normal(size=(120, 25)) @ (np.eye(25) + 0.4 * rng.normal(size=(25, 25)))
    X[:, 7] = X[:, 3]
    X[:, 11] = 4 - 2 * X[:, 6]
    return X, (X[:, :5] @ rng.normal(size=(5, 4)) + rng.normal(size=(120, 4)) > 0).astype(float)


@pytest.fixture(params=["planted", "emotions", "yeast"], scope="module")
def case(request):
    if request.param == "planted":
        X, Y = planted()
    else:
        X, Y = oracle.load(request.param, request.getfixturevalue("data_dir"))
    return oracle.standardise(X), Y, gram_of_rows(X, Y).centred()


def falls(trace):
    trace = np.array(trace)
    return (np.diff(trace) <= 1e-12 * np.abs(trace[:-1])).all()


def close(W, want, tolerance):
    return np.abs(W - want).max() <= tolerance * np.abs(want).max()


def folded(X, W):
    """The optimum leaves open how equal columns share a weight: give it all to the first."""
    W = W.copy()
    for j in range(X.shape[1]):
        for i in range(j):
            for sign in (1.0, -1.0):
                if np.allclose(X[:, j], sign * X[:, i], rtol=0, atol=1e-9):
                    W[i] += sign * W[j]
                    W[j] = 0
    return W


@pytest.mark.parametrize("alpha", [0.1, 1.0, 50.0])
def test_ridge(case, alpha):
    X, Y, gram = case
    got = ridge(gram, alpha)
    assert close(got.weights, Ridge(alpha=alpha).fit(X, Y).coef_.T, 1e-8)
    W, b = oracle.ridge(X, Y, alpha)
    assert close(got.weights, W, 1e-8) and np.allclose(got.intercept, b)
    assert got.objective[0] == pytest.approx(
        ((X @ W + b - Y) ** 2).sum() + alpha * (W**2).sum(), rel=1e-10
    )


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "rho"), [(0.05, 1.0), (0.01, 1.0), (0.01, 0.5), (0.001, 0.2)])
def test_elastic_net(case, alpha, rho):
    X, Y, gram = case
    got = elastic_net(gram, alpha, rho)
    assert got.converged and got.extra["gap"] <= 1e-10 and falls(got.objective)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = Lasso(alpha=alpha) if rho == 1 else ElasticNet(alpha=alpha, l1_ratio=rho)
        model.set_params(tol=1e-12, max_iter=50_000)
        want = np.column_stack([model.fit(X, y).coef_.copy() for y in Y.T])
    assert close(got.weights, folded(X, want) if rho == 1 else want, 1e-5)
    n = len(X)
    gradient = X.T @ (X @ got.weights - (Y - Y.mean(axis=0))) / n + alpha * (1 - rho) * got.weights
    used = got.weights != 0
    assert np.abs(gradient + alpha * rho * np.sign(got.weights))[used].max(initial=0) < 1e-6
    assert np.abs(gradient)[~used].max(initial=0) <= alpha * rho * (1 + 1e-6)
    value = ((Y - Y.mean(axis=0) - X @ got.weights) ** 2).sum() / (2 * n)
    value += alpha * (rho * np.abs(got.weights).sum() + (1 - rho) / 2 * (got.weights**2).sum())
    assert got.objective[-1] == pytest.approx(value, rel=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "rho"), [(0.1, 1.0), (0.01, 1.0), (0.01, 0.5), (0.003, 0.3)])
def test_group_elastic_net(case, alpha, rho):
    X, Y, gram = case
    got = elastic_net(gram, alpha, rho, group=True)
    assert got.converged and got.extra["gap"] <= 1e-10 and falls(got.objective)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = MultiTaskElasticNet(alpha=alpha, l1_ratio=rho, tol=1e-12, max_iter=50_000).fit(X, Y)
    want = model.coef_.T
    assert close(got.weights, folded(X, want) if rho == 1 else want, 1e-5)
    gradient = (
        X.T @ (X @ got.weights - (Y - Y.mean(axis=0))) / len(X) + alpha * (1 - rho) * got.weights
    )
    norms = np.linalg.norm(got.weights, axis=1)
    used = norms > 0
    residual = gradient[used] + alpha * rho * got.weights[used] / norms[used, None]
    assert np.abs(residual).max(initial=0) < 1e-6
    assert np.linalg.norm(gradient[~used], axis=1).max(initial=0) <= alpha * rho * (1 + 1e-6)


@pytest.mark.parametrize("group", [False, True])
def test_alpha_max_is_where_weights_appear(case, group):
    gram = case[2]
    size = np.linalg.norm(gram.C, axis=1) if group else np.abs(gram.C)
    top = float(size.max() / (gram.n * 0.7))
    assert not elastic_net(gram, top * (1 + 1e-9), 0.7, group).weights.any()
    assert elastic_net(gram, top * 0.99, 0.7, group).weights.any()
    assert not elastic_net(gram, 1.0, 1.0).weights.any()  # 0/1 labels: max |C|/n <= 1/2


@pytest.mark.parametrize("group", [False, True])
def test_of_equal_columns_the_first_takes_all(group):
    X, Y = planted()
    W = elastic_net(gram_of_rows(X, Y).centred(), 0.005, 1.0, group).weights
    assert W[3].any() and not W[7].any()
    assert W[6].any() and not W[11].any()


@pytest.mark.parametrize("group", [False, True])
def test_a_near_copy_is_no_copy(group):
    X, Y = planted()
    noise = np.random.default_rng(0).normal(size=len(X))
    X = X.copy()
    X[:, 7] = X[:, 3] + 1e-2 * noise
    got = elastic_net(gram_of_rows(X, Y).centred(), alpha=0.005, rho=1.0, group=group)
    assert got.converged and got.extra["gap"] <= 1e-10 and falls(got.objective)
    X[:, 7] = (
        X[:, 3] + 1e-6 * noise
    )  # a condition of 1e12: near the optimum, and honest if the gap stays open
    got = elastic_net(gram_of_rows(X, Y).centred(), alpha=0.005, rho=1.0, group=group, max_iter=500)
    assert (
        got.extra["gap"] < 1e-7
        and got.converged == (got.extra["gap"] <= 1e-10)
        and falls(got.objective)
    )


def test_more_features_than_rows():
    rng = np.random.default_rng(2)
    X, Y = rng.normal(size=(30, 80)), (rng.random((30, 3)) < 0.5).astype(float)
    gram = gram_of_rows(X, Y).centred()
    for group in (False, True):
        got = elastic_net(gram, 0.01, 1.0, group)
        assert got.converged and got.extra["gap"] <= 1e-10
    Z = oracle.standardise(X)
    W = ridge(gram, 0.0).weights
    assert np.abs(Z @ W - (Y - Y.mean(axis=0))).max() < 1e-8
    assert close(W, np.linalg.pinv(Z, 1e-10) @ (Y - Y.mean(axis=0)), 1e-7)  # the rank is 29


@pytest.mark.parametrize("fit", [ridge, elastic_net])
def test_a_column_in_small_units_takes_nothing_from_the_others(fit):
    X, Y = planted()
    basis = np.linalg.qr(np.column_stack([np.ones(120), X]))[0]
    apart = np.random.default_rng(0).normal(size=120)
    apart -= basis @ (basis.T @ apart)  # the others' weights are those without it
    got = fit(gram_of_rows(np.column_stack([X, 1e10 * apart]), Y).centred("none")).weights
    assert close(got[:-1], fit(gram_of_rows(X, Y).centred("none")).weights, 1e-7)


def test_dependent_columns_in_large_units_take_nothing_from_the_others():
    """Of 3a and 4a the weights are 3/5 and 4/5 of that of 5a, and those of columns in small units
    stay what they are."""
    X, Y = planted()
    a, others = np.round(X[:, :1] * 64) * 2.0**24, np.round(X[:, 12:17] * 64) * 2.0**-13
    got = ridge(gram_of_rows(np.hstack([3 * a, others, 4 * a]), Y).centred("none")).weights
    one = ridge(gram_of_rows(np.hstack([5 * a, others]), Y).centred("none")).weights
    assert close(got[1:-1], one[1:], 1e-9)
    assert close(got[0], 0.6 * one[0], 1e-7) and close(got[-1], 0.8 * one[0], 1e-7)


def test_convergence_is_reported_honestly(case):
    got = elastic_net(case[2], 0.0005, 1.0, max_iter=2)
    assert not got.converged and got.extra["gap"] > 1e-10 and got.iterations <= 3


def test_degenerate(case):
    gram = case[2]
    assert close(elastic_net(gram, 0.3, 0.0).weights, ridge(gram, 0.3 * gram.n).weights, 1e-9)
    nothing = gram_of_rows(np.ones((4, 2)), np.eye(4)).centred()
    assert elastic_net(nothing).weights.shape == (0, 4)
