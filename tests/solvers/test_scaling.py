"""Scaling against scikit-learn's scalers, for dense and sparse rows, and from sums instead of
rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.preprocessing import MinMaxScaler, StandardScaler

from spark_mlfs import METHODS, DataError, pipeline
from spark_mlfs.kernels.scaling import SCALINGS, Scaling
from spark_mlfs.testing import FEATURES, engine_of, example, thin

SCALERS = {"standard": StandardScaler, "minmax": MinMaxScaler}


def rows(n=60, d=8, seed=4):
    """Columns of different scales, a constant one, and one of zeros."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d)) * 10.0 ** np.arange(-3, d - 3) + np.arange(d)
    x[rng.random(x.shape) < 0.5] = 0
    x[:, 5], x[:, 6] = 0.1, 0.0  # the mean of 0.1 and 0.1 and 0.1 is not 0.1
    return x


@pytest.mark.parametrize("how", SCALERS)
def test_dense_rows_as_scikit_learn_scales_them(how):
    x = rows()
    np.testing.assert_allclose(
        Scaling.of_rows(x, how).apply(x), SCALERS[how]().fit_transform(x), rtol=1e-12, atol=1e-12
    )


@pytest.mark.parametrize("how", SCALINGS)
def test_sparse_rows_are_divided_by_the_same_and_not_moved(how):
    x = rows()
    dense, sparse = Scaling.of_rows(x, how), Scaling.of_rows(sp.csr_matrix(x), how)
    np.testing.assert_allclose(sparse.scale, dense.scale, rtol=1e-9)
    assert not sparse.offset.any()
    out = sparse.apply(sp.csr_matrix(x))
    assert sp.issparse(out) and out.nnz == np.count_nonzero(x)
    np.testing.assert_allclose(out.toarray(), x / dense.scale, rtol=1e-9)


def test_a_column_without_spread_has_scale_one():
    for how in SCALINGS:
        for x in (rows(), sp.csr_matrix(rows())):
            np.testing.assert_array_equal(Scaling.of_rows(x, how).scale[[5, 6]], 1.0)


def test_none_leaves_the_values():
    x = rows()
    np.testing.assert_array_equal(Scaling.of_rows(x, "none").apply(x), x)


def test_moments_and_ranges_give_what_the_rows_give():
    x, centre = rows(), rows()[0]
    y = x - centre
    some = (
        Scaling.of_moments(len(x), y.sum(axis=0), (y * y).sum(axis=0), centre),
        Scaling.of_range(x.min(axis=0), x.max(axis=0)),
    )
    for scaling, how in zip(some, ("standard", "minmax"), strict=True):
        of_rows = Scaling.of_rows(x, how)
        np.testing.assert_allclose(scaling.offset, of_rows.offset, rtol=1e-12, atol=1e-15)
        np.testing.assert_allclose(scaling.scale, of_rows.scale, rtol=1e-12)


@pytest.mark.parametrize(
    "make",
    [np.asarray, sp.csr_matrix, lambda x: x.astype(np.float32)],
    ids=["dense", "sparse", "float32"],
)
def test_some_columns_as_they_stand_among_all(make):
    x, columns = make(rows()), np.array([0, 2, 7])
    scaling = Scaling.of_rows(x[:, columns], "standard")
    before = x.copy()
    out, expected = scaling.apply(x, columns), scaling.apply(x[:, columns])
    assert out.dtype == np.float64
    for a, b in ((out, expected), (x, before)):
        np.testing.assert_array_equal(*(v.toarray() if sp.issparse(v) else v for v in (a, b)))


def far(method):
    """Rankings by a method of the example, its columns times powers of two; rows have ids of their
    own, so that draws agree."""
    x, y = example()
    tried = {"methods": "fastcan,fisher", "folds": 2}
    more = {"deepfs": {"epochs": 2}, "auto": tried}.get(method, {})
    if method.endswith("knn"):
        method, more = "ppt-cmi", {"estimator": "knn", "min_count": 3}

    def ranked(exponents, sparse=False, **settings):
        rows = np.ldexp(thin(x) if sparse else x, exponents)
        engine = engine_of(sp.csr_matrix(rows) if sparse else rows, y)
        ((scores, _, _),), _ = pipeline.Solve(
            (pipeline.Request.of(method, {**more, **settings}, 6),)
        )(engine)
        path = scores.path and (scores.path.picks, scores.path.gains)
        return scores.values.tobytes(), path

    return ranked


@pytest.mark.slow
@pytest.mark.parametrize("method", [*METHODS, "ppt-cmi knn"])
def test_a_ranking_is_the_same_at_any_magnitude(method):
    """Powers of two on all columns, or on some: the same bits. (`auto` has a judge that takes
    columns in their proportion.)"""
    ranked = far(method)
    for sparse in (False, True):
        near = ranked(0, sparse)
        for exponent in (600, -900) if method == "gmba" else (1000, -900):
            assert ranked(exponent, sparse) == near, (sparse, exponent)
            if method != "auto" and (method != "gmba" or not sparse):
                assert ranked(np.where(np.arange(FEATURES) % 3, 0, exponent), sparse) == near, (
                    sparse,
                    exponent,
                )


@pytest.mark.slow
def test_unscaled_features_beyond_double_precision_are_refused():
    """The penalty is in the features' units: no other scale gives what was asked for."""
    for method in ("ridge", "lasso", "mifs"):
        with pytest.raises(DataError, match="scaling='standard'"):
            far(method)(600, scaling="none")
        far(method)(400, scaling="none")
