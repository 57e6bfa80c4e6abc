"""The l2,1 methods against naive oracles, optimality conditions and the identities between them."""

from __future__ import annotations

import numpy as np
import pytest
from in_memory.grams import gram_of_rows, to_input
from in_memory.scans import LabelFilling, ResidualReweighting, residual_weights
from oracles import graphs_msfs
from oracles import regression as oracle

from spark_mlfs.kernels.gram import row_norms
from spark_mlfs.solvers import box_newton, l21, l21_gram, l21_scans
from spark_mlfs.solvers.armijo import omfs_armijo
from spark_mlfs.solvers.linear import elastic_net, ridge


def planted():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(90, 20)) @ (np.eye(20) + 0.3 * rng.normal(size=(20, 20)))
    return X, (X[:, :4] @ rng.normal(size=(4, 5)) + rng.normal(size=(90, 5)) > 0.3).astype(float)


@pytest.fixture(params=["planted", "emotions", "yeast"], scope="module")
def case(request):
    X, Y = (
        planted()
        if request.param == "planted"
        else oracle.load(request.param, request.getfixturevalue("data_dir"))
    )
    return oracle.standardise(X), Y, gram_of_rows(X, Y).centred()


def falls(trace):
    trace = np.array(trace)
    return (np.diff(trace) <= 1e-12 * np.abs(trace[:-1])).all()


def agree(W, want, tolerance=1e-3):
    a, b = np.linalg.norm(W, axis=1), np.linalg.norm(want, axis=1)
    return np.abs(a - b).max() <= tolerance * b.max()


def optimal(A, C, W, beta, tolerance):
    """2(AW - C)_i + beta w_i/||w_i|| = 0 on used rows, ||2(C - AW)_i|| <= beta on the others."""
    norms = row_norms(W)
    used = norms > 0
    gradient = 2 * (A @ W - C)
    inside = np.abs(gradient[used] + beta * W[used] / norms[used, None]).max(initial=0)
    outside = np.linalg.norm(gradient[~used], axis=1).max(initial=0)
    return inside <= tolerance * beta and outside <= beta * (1 + tolerance)


@pytest.mark.parametrize("share", [0.01, 0.1, 0.5])
@pytest.mark.parametrize("accelerate", [True, False])
def test_the_minimum_of_the_convex_problem(share, accelerate):
    X, Y = planted()
    gram = gram_of_rows(X, Y).centred()
    beta = share * 2 * np.linalg.norm(gram.C, axis=1).max()
    got = l21.minimise_l21(
        gram.G, gram.C, beta, np.trace(gram.S), max_iter=20_000, accelerate=accelerate
    )
    best = oracle.proximal(gram.G, gram.C, beta)
    assert got.converged and falls(got.objective)
    assert agree(got.weights, best, 1e-6 if accelerate else 1e-5)
    value = np.trace(gram.S) + np.sum(best * (gram.G @ best - 2 * gram.C)) + beta * oracle.l21(best)
    assert got.objective[-1] == pytest.approx(value, rel=1e-9)


@pytest.mark.parametrize("mu", [1.0, 10.0, 100.0])
def test_optimality_conditions(case, mu):
    X, Y, gram = case
    got = l21_gram.csfs(gram, mu)
    assert got.converged and falls(got.objective)
    assert optimal(X.T @ X, X.T @ (Y - Y.mean(axis=0)), got.weights, mu, 1e-4)


def test_csfs(case):
    X, Y, gram = case
    for mu in (1.0, 10.0):
        got = l21_gram.csfs(gram, mu)
        if len(X) < 700:
            W, b, _ = oracle.csfs(X, Y, mu)
        else:  # n x n in every step would take too long
            W, b = oracle.reweighted(X.T @ X, X.T @ (Y - Y.mean(axis=0)), mu), Y.mean(axis=0)
        assert agree(got.weights, W, 1e-6)
        np.testing.assert_allclose(got.intercept, b, atol=1e-9)


def test_csfs_is_group_lasso(case):
    _, _, gram = case
    mu = 20.0
    group = elastic_net(gram, mu / (2 * gram.n), 1.0, group=True)
    assert agree(l21_gram.csfs(gram, mu).weights, group.weights, 1e-5)


@pytest.mark.slow
@pytest.mark.parametrize(("alpha", "beta", "k"), [(0.1, 1.0, 10), (1.0, 20.0, 3)])
def test_mssl(case, alpha, beta, k):
    X, Y, gram = case
    np.testing.assert_allclose(
        l21_gram.feature_laplacian(gram.G, gram.n, k).toarray(), oracle.feature_laplacian(X, k)
    )
    got = l21_gram.mssl(gram, alpha, beta, k)
    W = oracle.mssl(X, Y, alpha, beta, k)
    assert got.converged and falls(got.objective) and agree(got.weights, W, 1e-5)
    L = oracle.feature_laplacian(X, k)
    value = 0.5 * ((X @ W + Y.mean(axis=0) - Y) ** 2).sum() + alpha / 2 * np.trace(W.T @ L @ W)
    value += beta / 2 * oracle.l21(W)
    assert got.objective[-1] == pytest.approx(value, rel=1e-8)


def test_feature_graph_settles_ties_by_index():
    X = np.random.default_rng(0).normal(size=(30, 4))
    X = oracle.standardise(np.column_stack([X, X[:, 1], X[:, 1], X[:, 0]]))
    for k in (1, 2, 3, 9):
        np.testing.assert_allclose(
            l21_gram.feature_laplacian(X.T @ X, 30, k).toarray(), oracle.feature_laplacian(X, k)
        )
    assert l21_gram.feature_laplacian(np.ones((1, 1)), 30, 5).shape == (1, 1)


@pytest.mark.parametrize("walk", ["dfs", "bfs"])
@pytest.mark.parametrize("sigma", [None, 5.0])
def test_msfs_against_the_dense_form(walk, sigma):
    X, Y = planted()
    gram = gram_of_rows(X, Y).centred()
    X = oracle.standardise(X)
    P = graphs_msfs.transitions(
        graphs_msfs.similarity(X, Y, sigma, neighbors=10 if sigma is None else None)
    )
    expected = graphs_msfs.expected_visits(P, 20, walk)
    uniforms = np.random.default_rng(1).random((len(X), 20))
    for C in (expected, graphs_msfs.sampled_visits(P, 20, walk, uniforms)):
        S = graphs_msfs.neighbourhood(C)
        for alpha, beta, rho in ((0.1, 10.0, 0.5), (1.0, 1.0, 1.0), (0.01, 5.0, 0.0)):
            W, b = oracle.msfs(X, Y, S, alpha, beta, rho)
            got = l21_gram.msfs(gram, graphs_msfs.xlx(X, S), alpha, beta, rho)
            assert got.converged and falls(got.objective) and agree(got.weights, W, 1e-6)
            np.testing.assert_allclose(got.intercept, b, atol=1e-9)
            value = 0.5 * ((X @ W + b - Y) ** 2).sum() + alpha / 2 * np.trace(
                W.T @ X.T @ graphs_msfs.laplacian(S) @ X @ W
            )
            value += beta / 2 * (rho * oracle.l21(W) + (1 - rho) * (W**2).sum())
            assert got.objective[-1] == pytest.approx(value, rel=1e-8)


def test_msfs_identities(case):
    _, _, gram = case
    xlx = np.ones_like(gram.G)
    np.testing.assert_allclose(
        l21_gram.msfs(gram, xlx, 0.0, 7.0, 0.0).weights,
        ridge(gram, 7.0).weights,
        rtol=1e-8,
        atol=1e-10,
    )
    assert agree(
        l21_gram.msfs(gram, xlx, 0.0, 7.0, 1.0).weights, l21_gram.csfs(gram, 7.0).weights, 1e-9
    )


def test_omfs_both_solvers(case):
    X, Y, _ = case
    gram = gram_of_rows(X, Y).uncentred()
    V, _ = oracle.nmf(Y, 2, 50)
    for gamma in (0.8, 30.0):
        square = (V**2).sum()
        fast = l21.minimise_l21(gram.G, X.T @ V, gamma, square)
        slow = omfs_armijo(gram.G, X.T @ V, gamma, square)
        assert fast.converged and falls(fast.objective) and slow.converged and falls(slow.objective)
        assert agree(fast.weights, oracle.omfs(X, V, gamma), 1e-5)
        J = [((X @ W - V) ** 2).sum() + gamma * oracle.l21(W) for W in (fast.weights, slow.weights)]
        assert J[1] == pytest.approx(J[0], rel=1e-5)
        assert agree(slow.weights, fast.weights, 1e-3)


def test_rfs_iterates_are_those_of_the_n_by_n_form():
    X, Y = planted()
    X = oracle.standardise(X)
    floor = 1e-8 * np.mean(np.linalg.norm(Y - Y.mean(axis=0), axis=1))
    scan = ResidualReweighting(X, Y)
    assert scan.floor == pytest.approx(floor)
    labelsets, counts = np.unique(Y, axis=0, return_counts=True)
    assert l21_scans.residual_floor(labelsets, counts) == pytest.approx(floor)
    for gamma in (0.3, 5.0):
        path = oracle.rfs_nie(X, Y, gamma, 12, floor)
        for steps in (1, 2, 5, 12):
            got = l21_scans.rfs(
                ResidualReweighting(X, Y), gamma, tol=0, max_iter=steps + 1, accelerate=False
            )
            W, b = path[steps - 1]
            assert got.iterations == steps
            assert np.abs(got.weights - W).max() <= 1e-9 * np.abs(W).max()
            np.testing.assert_allclose(got.intercept, b, atol=1e-9)
            assert got.objective[-1] == pytest.approx(
                oracle.rfs_objective(X, Y, W, b, gamma), rel=1e-8
            )


@pytest.mark.parametrize("gamma", [0.5, 5.0])
def test_rfs_reaches_one_optimum(case, gamma):
    X, Y, _ = case
    scan = ResidualReweighting(X, Y)
    fast = l21_scans.rfs(scan, gamma)
    slow = l21_scans.rfs(
        ResidualReweighting(X, Y), gamma, tol=1e-7, max_iter=2000, accelerate=False
    )
    assert fast.converged and slow.converged and falls(fast.objective) and falls(slow.objective)
    assert fast.extra["scans"] == scan.scans <= 500
    assert agree(fast.weights, slow.weights, 1e-3)
    value = oracle.rfs_objective(X, Y, fast.weights, fast.intercept, gamma)
    assert fast.objective[-1] == pytest.approx(value, rel=1e-6)


def test_rfs_accepts_statistics_of_raw_features():
    X, Y = planted()
    view = gram_of_rows(X, Y).centred()
    floor = l21_scans.residual_floor(Y)

    def scan(W, b):  # as a distributed scan would: raw rows, coefficients in input units
        if W is None:
            return gram_of_rows(X, Y).in_view(view), np.nan
        coefficients, intercept = to_input(view, W, b)
        weights, loss = residual_weights(
            np.linalg.norm(X @ coefficients + intercept - Y, axis=1), floor
        )
        return gram_of_rows(X, Y, weights).in_view(view), loss

    got, want = l21_scans.rfs(scan), l21_scans.rfs(ResidualReweighting(oracle.standardise(X), Y))
    assert agree(got.weights, want.weights, 1e-6)


@pytest.mark.parametrize("unknown", [0.0, 0.4, 0.9])
@pytest.mark.parametrize("mu", [1.0, 10.0])
def test_csfs_with_unlabelled_rows(unknown, mu):
    X, Y = planted()
    gram = gram_of_rows(X, Y).centred()
    X = oracle.standardise(X)
    Y = Y.copy()
    Y[np.random.default_rng(0).random(len(Y)) < unknown] = np.nan
    scan = LabelFilling(X, Y)
    got = l21_scans.csfs_unlabelled(gram.G, gram.n, scan, mu)
    assert got.converged and falls(got.objective) and scan.scans == got.extra["scans"] <= 150
    W, b, _ = oracle.csfs(X, Y, mu, 20_000, 1e-10)
    assert agree(got.weights, W, 1e-4)
    value = oracle.csfs_objective(X, Y, got.weights, got.intercept, mu)
    assert got.objective[-1] == pytest.approx(value, rel=1e-7)
    assert value <= oracle.csfs_objective(X, Y, W, b, mu) * (1 + 1e-7)
    if unknown == 0:
        assert agree(got.weights, l21_gram.csfs(gram, mu).weights, 1e-7)


def test_warm_start_and_a_penalty_that_keeps_nothing(case):
    _X, _, gram = case
    near = l21_gram.csfs(gram, 30.0).weights
    assert agree(
        l21_gram.csfs(gram, 15.0, start=near).weights, l21_gram.csfs(gram, 15.0).weights, 1e-5
    )
    top = 2 * np.linalg.norm(gram.C, axis=1).max()
    got = l21_gram.csfs(gram, 1.01 * top)
    assert got.converged and falls(got.objective)
    np.testing.assert_allclose(
        got.weights / np.abs(got.weights).max(), gram.C / np.abs(gram.C).max(), atol=1e-6
    )
    assert row_norms(l21_gram.csfs(gram, 0.95 * top).weights).max() > 1e-6


def test_a_row_that_shrank_too_far_comes_back():
    """Rows started near 0 must not be taken for converged."""
    X, Y = planted()
    gram = gram_of_rows(X, Y).centred()
    state = l21._Reweighting(gram.G, gram.C, 10.0, 1e-9, True, np.ones(len(gram.C)), 1.0)
    state.eps = 1e-12
    W = l21_gram.csfs(gram, 10.0).weights
    dropped = W.copy()
    strongest = int(np.argmax(np.linalg.norm(W, axis=1)))
    dropped[strongest] *= 1e-12
    norms = np.linalg.norm(dropped, axis=1)
    before = state.objective(dropped, norms)
    brought = state.bring_back(l21._Iterate(dropped, norms, before))
    assert brought.t[strongest] > 1e-3 and brought.value < before
    assert state.bring_back(l21._Iterate(W, np.linalg.norm(W, axis=1), 0.0)) is None


def test_honest_about_running_out(case):
    X, Y, gram = case
    assert not l21_gram.csfs(gram, 30.0, max_iter=3).converged
    assert not l21_scans.rfs(ResidualReweighting(X, Y), 10.0, max_iter=4).converged
    none = l21.minimise_l21(gram.G, np.zeros_like(gram.C), 1.0)
    assert none.converged and not none.weights.any()


def correlated(n=400, d=60, q=12, seed=0):
    """Columns that copy one another, exactly (either sign), nearly and as sums: where reweighting
    alone is slow."""
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < 0.1) * rng.random((n, d))
    X[:, 10] = X[:, 3]
    X[:, 11] = -X[:, 3]
    X[:, 12] = X[:, 4] + 1e-5 * rng.normal(size=n)
    X[:, 13] = X[:, 5] + X[:, 6]
    Y = (X[:, :8] @ rng.normal(size=(8, q)) + 0.2 * rng.normal(size=(n, q)) > 0.1).astype(float)
    return X, Y


@pytest.mark.parametrize("share", [1e-4, 0.01, 0.2, 0.7])
def test_newton_steps_satisfy_the_optimality_conditions(share):
    X, Y = correlated()
    gram = gram_of_rows(X, Y).centred()
    beta = share * 2 * np.linalg.norm(gram.C, axis=1).max()
    got = l21_gram.csfs(gram, beta)
    assert got.converged and falls(got.objective) and got.iterations <= 60
    assert optimal(gram.G, gram.C, got.weights, beta, 1e-6)
    W = got.weights  # identical columns share alike, as reweighting has it
    np.testing.assert_allclose(W[[10, 11]], [W[3], -W[3]], rtol=1e-12, atol=1e-15)
    best = oracle.proximal(gram.G, gram.C, beta)
    value = np.trace(gram.S) + np.sum(best * (gram.G @ best - 2 * gram.C)) + beta * oracle.l21(best)
    assert got.objective[-1] <= value * (1 + 1e-9)


def test_identical_columns_take_the_steps_of_one():
    """Copies solved as one: the iterates, floors included, are those of the full problem."""
    X, Y = correlated()
    gram = gram_of_rows(X, Y).centred()
    for steps in (1, 2, 3):
        one = l21_gram.csfs(gram, 5.0, max_iter=steps)
        all_ = l21_gram.csfs(gram, 5.0, max_iter=steps, accelerate=False)
        np.testing.assert_allclose(
            one.weights, all_.weights, atol=1e-12 * np.abs(all_.weights).max() + 1e-13
        )
        np.testing.assert_allclose(one.objective, all_.objective, rtol=1e-12)
        assert one.extra["eps"] == pytest.approx(all_.extra["eps"])
    start = l21_gram.csfs(gram, 8.0).weights
    assert agree(
        l21_gram.csfs(gram, 5.0, start=start).weights, l21_gram.csfs(gram, 5.0).weights, 1e-6
    )


def test_the_model_of_a_newton_step_is_the_second_derivative():
    """g(x) = -tr C'W(x) + beta/4 sum x: its gradient and Hessian by differences."""
    X, Y = planted()
    gram = gram_of_rows(X, Y).centred()
    beta, x = 7.0, np.random.default_rng(0).random(20) + 0.1

    def slope(x):
        W = np.linalg.solve(gram.G + beta * np.diag(1 / x), gram.C)
        return beta / 4 - beta * ((W / x[:, None]) ** 2).sum(axis=1)

    def value(x):
        return (
            -np.sum(gram.C * np.linalg.solve(gram.G + beta * np.diag(1 / x), gram.C))
            + beta / 4 * x.sum()
        )

    h = 1e-5
    differences = np.array([(value(x + h * e) - value(x - h * e)) / (2 * h) for e in np.eye(20)])
    np.testing.assert_allclose(slope(x), differences, rtol=1e-5, atol=1e-5)
    hessian = np.array([(slope(x + h * e) - slope(x - h * e)) / (2 * h) for e in np.eye(20)])
    W, factor = l21.factored_step(gram.G, gram.C, beta, x)
    model = box_newton.BoxNewton.of_l21(factor, W, x, beta, np.zeros(20))
    H = np.tril(model.H) + np.tril(model.H, -1).T
    s = np.sqrt(x)
    np.testing.assert_allclose(
        2 / beta * H / np.outer(s, s), hessian, rtol=1e-5, atol=1e-5 * np.abs(hessian).max()
    )


def test_a_newton_step_stays_above_the_floor_and_minimises_the_model():
    rng = np.random.default_rng(1)
    Q = rng.normal(size=(12, 12))
    H, g, x, floor = Q @ Q.T, rng.normal(size=12), rng.random(12) + 0.01, np.full(12, 1e-3)
    got = box_newton.BoxNewton(H, g, x, floor, 1.0).step(1e-9)
    y = (got - x) / np.sqrt(x)
    assert (got >= floor).all()
    inside = got > floor * (1 + 1e-9)
    assert np.abs((H @ y + g)[inside]).max() < 1e-6 and 0 < inside.sum() < 12


def test_csfs_of_more_features_than_rows(monkeypatch):
    """A third of the rows unlabelled: the optimality conditions hold, and each fit starts where the
    last one ended."""
    rng = np.random.default_rng(0)
    X = (rng.random((120, 180)) < rng.beta(0.5, 4, 180)).astype(float)
    X = oracle.standardise(X[:, X.std(axis=0) > 0])
    Y = (
        X @ (rng.normal(size=(X.shape[1], 5)) * (rng.random((X.shape[1], 5)) < 0.05)) > 1.0
    ).astype(float)
    Y[::3] = np.nan
    solves, plain = [], l21.minimise_l21
    monkeypatch.setattr(
        l21_scans, "minimise_l21", lambda *a, **k: solves.append(plain(*a, **k)) or solves[-1]
    )
    G, fill = X.T @ X, LabelFilling(X, Y)
    got = l21_scans.csfs_unlabelled(G, len(X), fill, 5.0)
    assert got.converged and falls(got.objective)
    assert np.mean([s.iterations for s in solves[1:]]) < 9
    (C, mean, _), norms = fill(got.weights, got.intercept), np.linalg.norm(got.weights, axis=1)
    slope = np.linalg.norm(2 * (C - G @ got.weights), axis=1)
    kept = norms > 1e-6 * norms.max()
    assert (
        0 < kept.sum()
        and np.allclose(slope[kept], 5.0, rtol=1e-4)
        and (slope <= 5.0 * (1 + 1e-4)).all()
    )
    np.testing.assert_allclose(got.intercept, mean, atol=1e-5)
