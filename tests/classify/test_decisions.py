"""A row's decision values do not depend on the rows it is predicted with."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp

from spark_mlfs.classify.svm import Machines, decisions
from spark_mlfs.errors import DataError
from spark_mlfs.sklearn import BRSVMClassifier
from spark_mlfs.testing import example


def machines(rng, v, q, further=0):
    return {
        "weights": rng.normal(size=(q, v + further)), "intercept": rng.normal(size=q), "offset": np.zeros(v), "scale": np.ones(v),
        "columns": None, "scores": "decision", "a": np.ones(q), "b": np.zeros(q),
    } | ({"order": np.arange(q)[::-1]} if further else {})  # fmt: skip


@pytest.mark.parametrize("chained", [False, True])
@pytest.mark.parametrize(("v", "q"), [(24, 4), (300, 6)])
def test_a_row_is_predicted_alike_in_any_batch(chained, v, q):
    rng = np.random.default_rng(v)
    x, state = rng.normal(size=(500, v + 5)), machines(rng, v, q, q if chained else 0)
    state["columns"] = np.arange(2, v + 2)
    for rows in (x, sp.csr_matrix(np.where(x > 0.5, x, 0))):
        labels, whole = Machines(state).predict(rows)
        for n in (1, 2, 3, 7, 50, 333):
            some = rng.permutation(500)[:n]
            mine, scores = Machines(state).predict(rows[some])
            assert np.array_equal(mine, labels[some]) and np.array_equal(scores, whole[some])


def test_decisions_are_the_product():
    rng = np.random.default_rng(1)
    x, w = rng.normal(size=(40, 9)), rng.normal(size=(5, 9))
    for rows in (x, sp.csr_matrix(x)):
        np.testing.assert_allclose(
            decisions(rows, w),
            [[sum(a * b for a, b in zip(r, m, strict=True)) for m in w] for r in x],
        )


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_features_beyond_what_liblinear_ends_on_are_refused(form):
    x, y = example()
    with pytest.raises(DataError, match="no features beyond 1e\\+75: give scaling='standard'"):
        BRSVMClassifier(norm="none").fit(form(x * 1e100), y)
    assert BRSVMClassifier(norm="l2").fit(form(x * 1e100), y).score(form(x), y) > 0.3
    assert BRSVMClassifier(scaling="standard").fit(x * 1e100, y).score(x * 1e100, y) > 0.3


def test_rows_that_are_all_in_one_fold_are_learned_from():
    """Nothing is left to calibrate on, nor to train without them."""
    for rows in np.random.default_rng(0).normal(size=(40, 2, 1)):
        assert BRSVMClassifier(c=1e3, scores="calibrated").fit(rows, [[1], [0]]).predict(
            rows
        ).tolist() == [[1], [0]]
