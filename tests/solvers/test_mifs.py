"""MIFS against naive n x n alternation, and the Gram-only form against the explicit one."""

from __future__ import annotations

import numpy as np
import pytest
from in_memory.grams import gram_of_rows
from oracles import loader
from oracles import regression as oracle
from scipy import sparse
from scipy.sparse.linalg import LinearOperator, aslinearoperator

from spark_mlfs.solvers.mifs import _ExplicitLatent, _solve_shifted, heat_laplacian, mifs


def planted(n=70):
    rng = np.random.default_rng(8)
    X = rng.normal(size=(n, 12))
    return X, (X[:, :4] @ rng.normal(size=(4, 8)) + rng.normal(size=(n, 8)) > 0.4).astype(float)


def prepared(X, Y, k=5):
    L, directed = oracle.heat_laplacian(X, k)
    neighbours = np.array([[j for i, j in directed if i == row] for row in range(len(X))])
    squared = np.array([[directed[row, j] for j in neighbours[row]] for row in range(len(X))])
    return gram_of_rows(X, Y).uncentred("none"), L, neighbours, squared


def falls(trace):
    trace = np.array(trace)
    return (np.diff(trace) <= 1e-12 * np.abs(trace[:-1])).all()


def agree(W, want, tolerance):
    a, b = np.linalg.norm(W, axis=1), np.linalg.norm(want, axis=1)
    return np.abs(a - b).max() <= tolerance * b.max()


@pytest.mark.parametrize("constraint", ["orthonormal", "none"])
@pytest.mark.parametrize("beta", [0.0, 0.1, 2.0])
@pytest.mark.parametrize("steps", [1, 2, 25])
def test_iterates_equal_the_naive_ones(constraint, beta, steps):
    X, Y = planted()
    gram, L, neighbours, squared = prepared(X, Y)
    ours = heat_laplacian(neighbours, squared)
    np.testing.assert_allclose(ours.toarray(), L, atol=1e-12)
    got = mifs(gram, 0.7, beta, 1.5, 3, constraint, X, Y, ours, tol=0, max_iter=steps)
    trace, W, _V, B = oracle.mifs(X, Y, L, 0.7, beta, 1.5, 3, steps, constraint)
    size = np.linalg.norm(B, axis=1)
    assert agree(got.weights, W * size, 1e-8) and falls(got.objective)
    np.testing.assert_allclose(got.objective, trace, rtol=1e-8)
    np.testing.assert_allclose(np.linalg.norm(got.extra["B"], axis=1), 1)


@pytest.mark.parametrize("name", ["planted", "emotions"])
def test_without_manifold_the_gram_matrices_suffice(name, request):
    X, Y = (
        planted() if name == "planted" else oracle.load(name, request.getfixturevalue("data_dir"))
    )
    X = oracle.standardise(X)
    gram = gram_of_rows(X, Y).uncentred()
    got = mifs(gram, beta=0.0)
    tiny = mifs(gram, beta=1e-300, X=X, Y=Y, laplacian=sparse.csr_matrix((len(X), len(X))))
    assert got.converged and tiny.converged and falls(got.objective)
    assert agree(got.weights, tiny.weights, 1e-6)
    V = X @ got.extra["P"] + Y @ got.extra["Q"]  # one optimum in every rotation of the latent axes
    np.testing.assert_allclose(V @ V.T, tiny.extra["V"] @ tiny.extra["V"].T, atol=1e-5)
    np.testing.assert_allclose(
        got.extra["B"] @ got.extra["B"].T, np.eye(len(got.extra["B"])), atol=1e-9
    )


@pytest.mark.parametrize("name", ["emotions", "yeast"])
def test_real_sets_converge(name, data_dir):
    X, Y = oracle.load(name, data_dir)
    X = oracle.standardise(X)
    n = len(X)
    d2 = (X**2).sum(axis=1)[:, None] + (X**2).sum(axis=1) - 2 * X @ X.T
    np.fill_diagonal(d2, np.inf)
    neighbours = np.argsort(d2, axis=1)[:, :5]
    L = heat_laplacian(neighbours, np.take_along_axis(d2, neighbours, axis=1))
    operator = LinearOperator(
        X.shape,
        matvec=lambda w: X @ w,
        rmatvec=lambda v: X.T @ v,
        matmat=lambda w: X @ w,
        rmatmat=lambda v: X.T @ v,
    )
    gram = gram_of_rows(X, Y).uncentred()
    got = mifs(gram, X=operator, Y=Y, laplacian=L)
    assert got.converged and falls(got.objective)
    if n < 700:
        trace, _W, _, _ = oracle.mifs(X, Y, L.toarray(), 1.0, 0.1, 1.0, 2, 25)
        np.testing.assert_allclose(got.objective[:25], trace, rtol=1e-8)


def test_the_papers_form_has_no_minimum_and_says_so():
    X, Y = planted()
    gram, *_ = prepared(X, Y)
    got = mifs(gram, beta=0.0, constraint="none", max_iter=300)
    assert falls(got.objective) and not got.converged and got.iterations == 300


def test_degenerate_graphs():
    assert heat_laplacian(np.array([[1], [0]]), np.zeros((2, 1))).toarray().tolist() == [
        [1, -1],
        [-1, 1],
    ]
    assert heat_laplacian(np.array([[-1], [0]]), np.array([[np.inf], [4.0]])).nnz > 0


@pytest.mark.slow
@pytest.mark.parametrize("name", ["planted", "emotions", "scene"])
@pytest.mark.parametrize("beta", [0.0, 0.3])
def test_acceleration_reaches_a_fixed_point_of_the_same_cycles(name, beta, request):
    """The first thirty cycles are the plain ones; the end is where plain cycles end, or lower, and
    one more moves nothing."""
    X, Y = (
        planted()
        if name == "planted"
        else loader.load(name, request.getfixturevalue("data_dir"))[:2]
    )
    X, Y = oracle.standardise(X[:600]), Y[:600].astype(float)
    more = {}
    if beta:
        d2 = (X**2).sum(axis=1)[:, None] + (X**2).sum(axis=1) - 2 * X @ X.T
        np.fill_diagonal(d2, np.inf)
        neighbours = np.argsort(d2, axis=1)[:, :5]
        laplacian = heat_laplacian(neighbours, np.take_along_axis(d2, neighbours, axis=1))
        more = {"X": X, "Y": Y, "laplacian": laplacian}
    gram = gram_of_rows(X, Y).uncentred()
    fast = mifs(gram, beta=beta, **more)
    slow = mifs(gram, beta=beta, accelerate=False, max_iter=300, **more)
    assert fast.converged and falls(fast.objective) and fast.iterations <= 150
    np.testing.assert_allclose(fast.objective[:30], slow.objective[:30], rtol=1e-12)
    assert fast.objective[-1] <= slow.objective[-1] * (1 + 1e-8)
    W, B = fast.weights, fast.extra["B"]
    V = fast.extra["V"] if beta else X @ fast.extra["P"] + Y @ fast.extra["Q"]
    used = np.linalg.norm(W, axis=1) > 1e-6 * np.linalg.norm(W, axis=1).max()
    slope = 2 * X.T @ (X @ W - V) + 1.0 * W / np.maximum(
        np.linalg.norm(W, axis=1, keepdims=True), 1e-300
    )
    assert np.abs(slope[used]).max() < 1e-3
    assert np.linalg.norm(2 * X.T @ (X @ W - V), axis=1).max() <= 1 + 1e-3
    L = more["laplacian"] if beta else sparse.csr_matrix((len(X), len(X)))
    np.testing.assert_allclose(2 * V + beta * (L @ V), X @ W + Y @ B.T, atol=1e-5 * np.abs(V).max())
    left, _, right = np.linalg.svd(V.T @ Y, full_matrices=False)
    np.testing.assert_allclose(left @ right, B, atol=1e-5)


def test_identical_columns_weigh_alike():
    X, Y = planted()
    X = oracle.standardise(np.column_stack([X, X[:, 0], -X[:, 0]]))
    got = mifs(gram_of_rows(X, Y).uncentred(), beta=0.0)
    assert got.converged
    np.testing.assert_allclose(got.weights[[12, 13]], [got.weights[0], -got.weights[0]], atol=1e-9)


def test_eliminating_v_equals_the_inverse():
    """P, H and N with more features than are multiplied out at a time, from a dense X and from
    products alone."""
    rng = np.random.default_rng(0)
    n, d, alpha, beta = 90, 300, 0.7, 0.3
    X, Y = rng.normal(size=(n, d)), (rng.random((n, 5)) < 0.3).astype(float)
    edges = np.triu(rng.random((n, n)) < 0.05, 1) * rng.random((n, n))
    L = np.diag((edges + edges.T).sum(axis=1)) - edges - edges.T
    inverse = np.linalg.inv((1 + alpha) * np.eye(n) + beta * L)
    want = (X.T @ X - X.T @ inverse @ X, X.T @ inverse @ Y, Y.T @ inverse @ Y)
    for given in (aslinearoperator(X), aslinearoperator(sparse.csr_matrix(X))):
        for got, expected in zip(
            _ExplicitLatent(given, Y, sparse.csr_matrix(L)).eliminated(alpha, beta),
            want,
            strict=True,
        ):
            np.testing.assert_allclose(got, expected, rtol=0, atol=1e-12 * np.abs(expected).max())


@pytest.mark.parametrize("shift", [1.0, 1e180])
def test_shifted_solves_keep_to_the_numbers_range(shift):
    """Columns as small, and shifts as large, as V and B reach where constraint="none" lets them
    drift apart."""
    rng = np.random.default_rng(1)
    edges = np.triu(rng.random((40, 40)) < 0.1, 1) * rng.random((40, 40))
    L = np.diag((edges + edges.T).sum(axis=1)) - edges - edges.T
    shifts, rhs = np.array([shift, 2.0, 3.0]), rng.normal(size=(40, 3)) * [1e150, 1e-160, 0.0]
    want = np.stack(
        [
            np.linalg.solve(np.eye(40) + 0.3 / s * L, b) / s
            for s, b in zip(shifts, rhs.T, strict=True)
        ],
        axis=1,
    )
    with np.errstate(over="raise", invalid="raise", divide="raise"):
        got = _solve_shifted(sparse.csr_matrix(L), 0.3, shifts, rhs, rhs / shifts)
    for column in range(3):
        np.testing.assert_allclose(
            got[:, column], want[:, column], rtol=0, atol=1e-12 * np.abs(want[:, column]).max()
        )
