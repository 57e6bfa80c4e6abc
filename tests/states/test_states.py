"""States: rows cut in any way, merged in any order, some taken away, rank to the bit as the remaining rows do in one pass."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp

import spark_mlfs
from spark_mlfs import states

N, D, Q = 240, 14, 4
COUNTING = ["mim", "chi2", "enm", "gmm", "igmf"]
MOMENTS = ["fisher", "f-statistic"]
GRAMS = ["ridge", "lasso", "elastic-net", "mssl", "omfs", "fastcan", "forward", "csfs", "spec"]
MORE = [("mim", {"label_coding": "lp"}), ("chi2", {"num_bins": 3}), ("fisher", {"label_coding": "lp"})]
MORE += [("fisher", {"label_coding": "overlap"}), ("spec", {"criterion": "phi3"}), ("ridge", {"scaling": "minmax"})]
ALL = [(name, {}) for name in (*COUNTING, *MOMENTS, *GRAMS)] + MORE
KINDS = ["dense", "sparse", "weights", "grades", "unknown", "repeated", "sparse unknown", "sparse weights"]


def data(kind, seed=0):
    """X, Y and what else `collect` takes, of a kind of rows."""
    rng = np.random.default_rng(seed)
    X, more = rng.normal(size=(N, D)).round(3), {}
    X[:, 2], X[:, 3], X[:, 5] = X[:, 2] > 0, rng.integers(0, 5, N), 1
    X[200:, 5] = 2  # constant in the first rows
    X[:, 6] = 1e3 + X[:, 6] / 8
    Y = (X[:, :Q] * [1, 1, 1, 0.5] + rng.normal(size=(N, Q)) > [0, 0.3, 0.5, 1]).astype(float)
    if "sparse" in kind:
        likely = 0.1 + 0.2 * Y[:, np.arange(D) % Q]
        X = np.where(rng.random((N, D)) < likely / 2, rng.integers(1, 4, (N, D)), 0)
        X = sp.csr_matrix(X.astype(float))
    if "unknown" in kind:
        Y[rng.random((N, Q)) < 0.05] = np.nan
    if "weights" in kind:
        more["sample_weight"] = rng.integers(1, 9, N) / np.where(np.arange(N) < 120, 4, 16)  # the unit changes
    if kind == "grades":
        Y, more["graded_labels"] = np.clip((Y * 2 + rng.integers(0, 3, (N, Q))) / 4, 0, 1), True
    if kind == "repeated":
        X, Y = X[rng.integers(0, 60, N)], Y[rng.integers(0, 3, N)]
    return X, Y, more


def part_of(given, rows):
    X, Y, more = given
    return X[rows], Y[rows], {name: v[rows] if isinstance(v, np.ndarray) else v for name, v in more.items()}


def collected(given, rows, methods, like, name, **params):
    X, Y, more = part_of(given, rows)
    return states.collect(X, Y, methods, like, name=name, method_params=params, **more)


def takes(method, params, kind):
    if kind == "grades":
        return spark_mlfs.METHODS.create(method).takes_grades({"label_coding": "br", **params}) and method not in ("mrmr",)
    if method == "spec" and "weights" in kind:
        return False
    return not ("unknown" in kind and method == "csfs")


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("method", "params"), ALL, ids=str)
def test_any_cut_any_order_some_taken_away(method, params, kind):
    if not takes(method, params, kind):
        pytest.skip("refused, tested below")
    given, rng = data(kind), np.random.default_rng(5)
    first = collected(given, np.arange(100), method, None, "first", **params)
    of_part = rng.integers(0, 30, N)
    parts = [collected(given, np.flatnonzero(of_part == i), method, first, str(i), **params) for i in np.unique(of_part)]
    order = rng.permutation(len(parts))
    merged = states.merge(states.merge([parts[i] for i in order[:11]]), *[parts[i] for i in order[11:]])
    whole = collected(given, np.arange(N), method, first, "whole", **params)
    pd.testing.assert_frame_equal(
        states.rank(merged, method, None, **params), states.rank(whole, method, None, **params), check_exact=True
    )
    taken = [parts[i] for i in order[3:8]]
    left = states.subtract(merged, *taken)
    rows = np.flatnonzero(~np.isin(of_part, order[3:8]))
    remaining = collected(given, rows, method, first, "rest", **params)
    pd.testing.assert_frame_equal(
        states.rank(left, method, None, **params), states.rank(remaining, method, None, **params), check_exact=True
    )


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("method", "params"), ALL, ids=str)
def test_the_first_state_alone_ranks_as_its_rows_do(method, params, kind):
    if not takes(method, params, kind):
        pytest.skip("refused, tested below")
    X, Y, more = data(kind)
    own = states.rank(states.collect(X, Y, method, method_params=params, **more), method, None, **params)
    rows = spark_mlfs.rank(X, Y, method, None, **params, **more)
    assert own["name"].tolist() == rows["name"].tolist()
    exact = method in COUNTING
    for column in ("score", "relevance"):
        np.testing.assert_allclose(own[column], rows[column], rtol=0 if exact else 1e-6, atol=0 if exact else 1e-9)
