"""Gram statistics: the merge law, exactness, views and folds."""

from __future__ import annotations

import numpy as np
import pytest
from in_memory.grams import gram_of_rows, to_input
from scipy import sparse

from spark_mlfs.errors import DataError
from spark_mlfs.kernels.gram import leave_out, row_norms, total
from spark_mlfs.solvers.problems import solve_positive


@pytest.fixture
def rows():
    rng = np.random.default_rng(1)
    X = rng.normal(3, 2, (60, 6))
    X[:, 4] = 7.0
    X[rng.random((60, 6)) < 0.4] = 0
    X[:, 4] = 7.0
    return X, (rng.random((60, 3)) < 0.4).astype(float)


def same(a, b, rtol=1e-11):
    for name in ("G", "C", "S", "offset", "scale", "offset_y"):
        np.testing.assert_allclose(
            getattr(a, name), getattr(b, name), rtol=rtol, atol=1e-11, err_msg=name
        )
    assert a.n == b.n and list(a.varying) == list(b.varying)


@pytest.mark.parametrize("scaling", ["standard", "minmax", "none"])
def test_views_are_the_moments_of_the_scaled_rows(rows, scaling):
    X, Y = rows
    v = gram_of_rows(X, Y).centred(scaling)
    assert list(v.varying) == [0, 1, 2, 3, 5]
    K = X[:, v.varying]
    scale = {"standard": K.std(axis=0), "minmax": np.ptp(K, axis=0), "none": 1.0}[scaling]
    Z, D = (K - K.mean(axis=0)) / scale, Y - Y.mean(axis=0)
    np.testing.assert_allclose(v.G, Z.T @ Z, atol=1e-11)
    np.testing.assert_allclose(v.C, Z.T @ D, atol=1e-11)
    np.testing.assert_allclose(v.S, D.T @ D, atol=1e-11)
    u = gram_of_rows(X, Y).uncentred(scaling)
    Z = {"standard": Z, "minmax": (K - K.min(axis=0)) / np.ptp(K, axis=0), "none": K}[scaling]
    np.testing.assert_allclose(u.G, Z.T @ Z, atol=1e-10)
    np.testing.assert_allclose(u.C, Z.T @ Y, atol=1e-10)
    np.testing.assert_allclose(u.S, Y.T @ Y, atol=1e-10)
    np.testing.assert_allclose((K - u.offset) / u.scale, Z, atol=1e-12)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_matrix])
def test_addition_is_the_statistics_of_all_rows_about_any_centre(rows, form):
    X, Y = rows
    whole = gram_of_rows(X, Y)
    parts = [
        gram_of_rows(form(X[:20]), Y[:20]),
        gram_of_rows(form(X[20:20]), Y[20:20]),
        gram_of_rows(form(X[20:50]), Y[20:50], centre_x=np.full(6, 2.0), centre_y=np.full(3, 0.5)),
        gram_of_rows(X[50:], sparse.csr_matrix(Y[50:])),
    ]
    for scaling in ("standard", "minmax", "none"):
        same(total(parts).centred(scaling), whole.centred(scaling))
        same(total(parts[::-1]).uncentred(scaling), whole.uncentred(scaling))
    again = whole.recentred(np.full(6, -4.0), np.full(3, 1.0))
    np.testing.assert_allclose(again.xx, (X + 4).T @ (X + 4), rtol=1e-12)
    np.testing.assert_allclose(again.xy, (X + 4).T @ (Y - 1), rtol=1e-12)


def test_weights_count_rows(rows):
    X, Y = rows
    times = np.arange(len(X)) % 3
    weighted = gram_of_rows(X, Y, times.astype(float))
    repeated = gram_of_rows(np.repeat(X, times, axis=0), np.repeat(Y, times, axis=0))
    same(weighted.centred("none"), repeated.centred("none"))
    sparse_ = gram_of_rows(sparse.csr_matrix(X), Y, times.astype(float))
    same(sparse_.centred("none"), repeated.centred("none"))


def test_large_means_do_not_cancel():
    X = np.array([[1e9, 5.0], [1e9 + 1, 6.0], [1e9 + 2, 8.0]])
    blocks = [gram_of_rows(X[i : i + 1], np.array([[float(i % 2)]])) for i in range(3)]
    v = total(blocks).centred("none")
    assert v.G[0, 0] / 3 == pytest.approx(2 / 3, rel=1e-12)
    assert v.G[0, 1] == pytest.approx(3.0, rel=1e-9)
    assert total(blocks).centred().offset[0] == 1e9 + 1


@pytest.mark.parametrize("dropped", [[], [0], [1, 3], [0, 1, 2, 4]])
def test_leaving_blocks_out_is_the_statistics_of_the_rest(rows, dropped):
    X, Y = rows
    X = X.copy()
    X[:12, 1], X[12:, 1] = np.arange(12), 3.0  # varies in block 0 only
    blocks = [gram_of_rows(X[i : i + 12], Y[i : i + 12]) for i in range(0, 60, 12)]
    rest = np.concatenate([np.arange(i * 12, i * 12 + 12) for i in range(5) if i not in dropped])
    got = leave_out(blocks, dropped)
    want = gram_of_rows(X[rest], Y[rest])
    same(got.centred("minmax"), want.centred("minmax"), rtol=1e-9)
    assert (1 in got.centred().varying) == (0 not in dropped)
    with pytest.raises(DataError):
        leave_out(blocks, range(5))


def test_held_out_loss_and_input_units(rows):
    X, Y = rows
    held = gram_of_rows(X[40:], Y[40:])
    v = gram_of_rows(X[:40], Y[:40]).centred()
    W = solve_positive(v.G + np.eye(len(v.G)), v.C)
    coefficients, intercept = to_input(v, W)
    prediction = X[40:] @ coefficients + intercept
    Z = (X[40:, v.varying] - v.offset) / v.scale
    np.testing.assert_allclose(prediction, Z @ W + v.offset_y, atol=1e-12)
    np.testing.assert_allclose(
        held.squared_error(coefficients, intercept),
        ((Y[40:] - prediction) ** 2).sum(axis=0),
        rtol=1e-10,
    )
    moved = gram_of_rows(X[40:], Y[40:]).in_view(v).recentred(np.zeros(len(W)), np.zeros(3))
    np.testing.assert_allclose(moved.xx, Z.T @ Z, atol=1e-11)
    np.testing.assert_allclose(moved.xy, Z.T @ Y[40:], atol=1e-11)


def test_scores_cut_rounding_and_place_constant_features(rows):
    v = gram_of_rows(*rows).centred()
    W = np.array([[3.0, 4.0], [4e-8, 0], [6e-8, 0], [0, 0], [1, 0]])
    assert list(v.scores(W)) == [5, 0, 6e-8, 0, 0, 1]
    assert row_norms(np.zeros((2, 2))).tolist() == [0, 0]


def test_solve_positive_handles_a_singular_matrix():
    rng = np.random.default_rng(0)
    A = rng.normal(size=(5, 3))
    A, B = A @ A.T, A @ rng.normal(size=(3, 2))
    np.testing.assert_allclose(solve_positive(A, B), np.linalg.pinv(A) @ B, atol=1e-9)


def test_errors_name_the_cause(rows):
    X, Y = rows
    with pytest.raises(DataError, match="no row has all its labels known"):
        gram_of_rows(X[:0], Y[:0]).centred()
    with pytest.raises(DataError, match="minimum and maximum"):
        (gram_of_rows(X, Y) - gram_of_rows(X[:5], Y[:5])).centred("minmax")
