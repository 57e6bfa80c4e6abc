"""Label factorisations from distinct labelsets against the same thing over all rows."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import regression as oracle

from spark_mlfs.errors import DataError
from spark_mlfs.solvers.factorise import latent_width, nmf, svd, truncated_svd


@pytest.fixture(params=["made", "emotions", "yeast"])
def labels(request):
    if request.param == "made":
        rng = np.random.default_rng(0)
        Y = (rng.random((80, 7)) < rng.uniform(0.1, 0.6, 7)).astype(float)
    else:
        Y = oracle.load(request.param, request.getfixturevalue("data_dir"))[1]
    sets, inverse, counts = np.unique(Y, axis=0, return_inverse=True, return_counts=True)
    return Y, sets, inverse.ravel(), counts


def test_svd_is_the_best_approximation(labels):
    Y, sets, inverse, counts = labels
    for c in (1, 3):
        got = svd(sets, counts, c)
        U, S, Vt = np.linalg.svd(Y, full_matrices=False)
        np.testing.assert_allclose(got.V[inverse] @ got.B, (U[:, :c] * S[:c]) @ Vt[:c], atol=1e-9)
        assert got.objective[0] == pytest.approx((S[c:] ** 2).sum(), rel=1e-9)
        np.testing.assert_allclose(got.B @ got.B.T, np.eye(c), atol=1e-12)


@pytest.mark.parametrize("iterations", [1, 7, 60])
def test_nmf_iterates_equal_those_over_all_rows(labels, iterations):
    Y, sets, inverse, counts = labels
    got = nmf(sets, counts, 3, tol=-1.0, max_iter=iterations)
    V, B = oracle.nmf(Y, 3, iterations)
    assert got.iterations == iterations and not got.converged
    np.testing.assert_allclose(got.V[inverse], V, atol=1e-7)
    np.testing.assert_allclose(got.B, B, atol=1e-7)


def test_nmf_descends_to_a_scaled_non_negative_stationary_point(labels):
    Y, sets, inverse, counts = labels
    got = nmf(sets, counts)
    assert got.B.shape == (latent_width(Y.shape[1]), Y.shape[1]) and got.V.shape[0] == len(sets)
    assert (got.V >= 0).all() and (got.B >= 0).all()
    np.testing.assert_allclose(np.linalg.norm(got.B, axis=1), 1)
    trace = np.array(got.objective)
    assert got.converged and (np.diff(trace) <= 0).all()
    assert trace[-1] == pytest.approx(((Y - got.V[inverse] @ got.B) ** 2).sum(), rel=1e-9)
    gradient = (got.V[inverse] @ got.B - Y) @ got.B.T  # 0 where V > 0, and nowhere clearly negative
    assert np.abs(gradient * got.V[inverse]).max() < 1e-2 * np.abs(Y @ got.B.T).max()


def test_latent_width_is_exact():
    assert [latent_width(q) for q in (1, 3, 6, 10, 14, 20, 53, 100)] == [1, 1, 2, 3, 5, 6, 16, 30]


def test_rank_signs_and_errors():
    sets = np.array([[1.0, 1, 0], [0, 0, 1], [0, 0, 0]])
    assert svd(sets, [2, 3, 1], 3).B.shape == (2, 3)
    assert np.isfinite(nmf(sets, [2, 3, 1], 3).V).all()
    _, _, Vt = truncated_svd(sets, np.array([2, 3, 1]), 2)
    assert (Vt.sum(axis=1) > 0).all()
    with pytest.raises(DataError, match="empty"):
        svd(np.zeros((1, 3)), [4], 1)
