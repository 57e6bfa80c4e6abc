"""MSFS's graph and walks against the naive dense oracle."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from oracles import graphs_msfs as oracle
from oracles.regression import standardise

from spark_mlfs.solvers import walks


def data(n=40, d=5, q=4, seed=0):
    rng = np.random.default_rng(seed)
    X = standardise(rng.normal(size=(n, d)))
    Y = (rng.random((n, q)) < 0.4).astype(float)
    Y[0] = 0  # a row that shares no label with any other
    X[5] = X[6] = X[7]
    return X, Y


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("walk", ["dfs", "bfs"])
def test_sampled_walks_follow_the_draws(walk, sparse):
    X, Y = data()
    P = oracle.transitions(oracle.similarity(X, Y, neighbors=6))
    uniforms = np.random.default_rng(1).random((len(X), 25))
    want = oracle.sampled_visits(P, 25, walk, uniforms)
    got = walks.sampled_visits(
        sp.csr_matrix(P) if sparse else P, 25, walk, lambda step: uniforms[:, step]
    )
    np.testing.assert_array_equal(got.toarray(), want)
    assert got.toarray()[0].sum() == 0  # the row without mass


@pytest.mark.parametrize("sparse_x", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_the_expected_form_needs_no_powers(sparse, sparse_x):
    X, Y = data()
    P = oracle.transitions(oracle.similarity(X, Y, neighbors=6))
    S = oracle.neighbourhood(oracle.expected_visits(P, 30))
    want = oracle.xlx(X, S)
    got = walks.expected_form(
        sp.csr_matrix(P) if sparse else P, 30, sp.csr_matrix(X) if sparse_x else X
    )
    np.testing.assert_allclose(got, want, atol=1e-9 * np.abs(want).max())


@pytest.mark.slow
def test_many_walks_approach_the_expectation():
    X, Y = data(30)
    P = oracle.transitions(oracle.similarity(X, Y, neighbors=6))
    rng = np.random.default_rng(0)
    total = (
        sum(
            walks.sampled_visits(P, 5, "dfs", lambda step: rng.random(30)).toarray()
            for _ in range(3000)
        )
        / 3000
    )
    assert np.abs(total - oracle.expected_visits(P, 5)).max() < 0.08


def test_kernel_and_jaccard():
    assert walks.kernel(np.array([0.0, 1.0, 4.0]), np.array([0.0, 0.0, 2.0])).tolist() == [
        1.0,
        0.0,
        np.exp(-2.0),
    ]
    members = sp.csr_matrix(np.array([[1, 1, 0], [0, 1, 1], [0, 0, 0]]))
    assert walks.ruzicka(members, np.array([0, 0, 2]), np.array([1, 0, 2])).tolist() == [
        1 / 3,
        1.0,
        0.0,
    ]
