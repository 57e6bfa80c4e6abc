"""RFS by Newton steps: a duality certificate, and the optimum that reweighting reaches."""

from __future__ import annotations

import numpy as np
import pytest
from in_memory.scans import ResidualReweighting
from oracles import loader
from oracles import regression as oracle

from spark_mlfs.solvers import l21_scans
from spark_mlfs.solvers.rfs_newton import rfs_newton


def wide(n=60, d=45, q=4, seed=2):
    """Few rows a feature: many are fitted exactly."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return oracle.standardise(X), (
        X[:, :5] @ rng.normal(size=(5, q)) + 0.3 * rng.normal(size=(n, q)) > 0.3
    ).astype(float)


def certified(X, Y, gamma, got, weights=1.0):
    """A dual feasible point whose value is the objective: 1'T = 0, ||t_i|| <= m_i, ||X_j'T|| <=
    gamma, value tr T'Y."""
    T = got.extra["dual"]
    T = T - T.mean(axis=0) * np.broadcast_to(weights / np.mean(weights), len(X))[:, None]
    T = T / max(
        1.0,
        (np.linalg.norm(T, axis=1) / weights).max(),
        np.linalg.norm(X.T @ T, axis=1).max() / gamma,
    )
    primal = oracle.rfs_objective(X, Y, got.weights, got.intercept, gamma, weights)
    return (T * Y).sum() <= primal * (1 + 1e-12) and primal - (T * Y).sum() <= 1e-6 * primal


@pytest.mark.parametrize("gamma", [0.05, 1.0, 8.0])
@pytest.mark.parametrize("seed", [0, 1, 2])
def test_the_duality_gap_closes(gamma, seed):
    X, Y = wide(seed=seed)
    got = rfs_newton(X, Y, gamma)
    assert got.converged and got.iterations <= 60 and (np.diff(got.objective) <= 0).all()
    assert certified(X, Y, gamma, got)
    scan = l21_scans.rfs(ResidualReweighting(X, Y), gamma, max_iter=3000)
    assert got.objective[-1] <= scan.objective[-1] * (1 + 1e-9)
    if scan.converged:
        a, b = np.linalg.norm(got.weights, axis=1), np.linalg.norm(scan.weights, axis=1)
        assert np.abs(a - b).max() <= 1e-3 * a.max()


def test_the_first_steps_are_nies():
    X, Y = wide()
    floor = 1e-8 * np.mean(np.linalg.norm(Y - Y.mean(axis=0), axis=1))
    path = oracle.rfs_nie(X, Y, 0.7, 3, floor)
    for steps in (1, 2, 3):
        got = rfs_newton(X, Y, 0.7, max_iter=steps)
        np.testing.assert_allclose(
            got.weights, path[steps - 1][0], rtol=0, atol=1e-9 * np.abs(got.weights).max()
        )
        np.testing.assert_allclose(got.intercept, path[steps - 1][1], atol=1e-9)
        assert not got.converged


def test_copies_repeated_rows_and_shifted_features():
    X, Y = wide()
    plain = rfs_newton(X, Y, 2.0)
    moved = rfs_newton(X + 3.0, Y, 2.0)  # the bias is free
    np.testing.assert_allclose(
        moved.weights, plain.weights, atol=1e-6 * np.abs(plain.weights).max()
    )
    more = rfs_newton(np.column_stack([X, X[:, 0], -X[:, 0], X[:, 7]]), Y, 2.0)
    np.testing.assert_array_equal(
        more.weights[[45, 46, 47]], [more.weights[0], -more.weights[0], more.weights[7]]
    )
    assert more.converged and more.objective[-1] == pytest.approx(plain.objective[-1], rel=1e-9)
    assert np.linalg.norm(3 * more.weights[0]) == pytest.approx(
        np.linalg.norm(plain.weights[0]), rel=1e-4, abs=1e-9
    )
    twice_x, twice_y = np.repeat(X, 2, axis=0), np.repeat(Y, 2, axis=0)
    got = rfs_newton(twice_x, twice_y, 4.0)
    assert got.converged and certified(twice_x, twice_y, 4.0, got)
    assert got.objective[-1] == pytest.approx(2 * plain.objective[-1], rel=1e-6)


@pytest.mark.parametrize("gamma", [0.05, 1.0, 8.0])
def test_rows_that_have_weights(gamma):
    """A row of weight m is m rows; fractions, far apart, have the certificate; the first steps are
    those of the n x n form."""
    X, Y = wide()
    m = np.random.default_rng(8).integers(1, 5, len(X))
    got = rfs_newton(X, Y, gamma, mass=m)
    copies = rfs_newton(np.repeat(X, m, axis=0), np.repeat(Y, m, axis=0), gamma)
    assert got.converged and copies.converged and got.objective == copies.objective
    assert np.array_equal(got.weights, copies.weights) and np.array_equal(
        got.intercept, copies.intercept
    )
    order = np.random.default_rng(1).permutation(len(X))
    assert np.array_equal(got.weights, rfs_newton(X[order], Y[order], gamma, mass=m[order]).weights)
    assert certified(np.repeat(X, m, axis=0), np.repeat(Y, m, axis=0), gamma, copies)
    m = np.random.default_rng(9).gamma(0.5, size=len(X)) + 1e-3
    got = rfs_newton(X, Y, gamma, mass=m)
    assert (
        got.converged
        and got.iterations <= 100
        and (np.diff(got.objective) <= 0).all()
        and certified(X, Y, gamma, got, m)
    )
    floor = 1e-8 * np.average(
        np.linalg.norm(Y - np.average(Y, axis=0, weights=m), axis=1), weights=m
    )
    path = oracle.rfs_nie(X, Y, gamma, 3, floor, m)
    for steps in (1, 2, 3):
        few = rfs_newton(X, Y, gamma, max_iter=steps, mass=m)
        np.testing.assert_allclose(
            few.weights, path[steps - 1][0], rtol=0, atol=1e-8 * np.abs(few.weights).max()
        )
    plain, ones = rfs_newton(X, Y, gamma), rfs_newton(X, Y, gamma, mass=np.ones(len(X)))
    np.testing.assert_array_equal(plain.weights, ones.weights)


def test_enron_in_a_dozen_solves(data_dir):
    X, Y = loader.load("enron", data_dir)[:2]
    X, Y = np.asarray(X, dtype=float)[:500], Y[:500].astype(float)
    X = oracle.standardise(X[:, X.std(axis=0) > 0][:, :600])
    got = rfs_newton(X, Y, 1.0)
    assert got.converged and got.iterations <= 40 and certified(X, Y, 1.0, got)


def test_nothing_to_fit():
    X, Y = wide()
    none = rfs_newton(X, np.zeros_like(Y))
    assert not none.weights.any() and none.converged
