"""Columns far from 0: distances between rows do not depend on where a column's zero is."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from oracles.gmba import Gmba

import spark_mlfs
from spark_mlfs.extract.lift import distances
from spark_mlfs.sklearn import BRkNNClassifier, MLkNNClassifier

ROWS = 50


def near_zero():
    """Columns of fractions of 256, so that they are exact wherever they are moved."""
    rng = np.random.default_rng(3)
    x = np.round(256 * rng.normal(size=(ROWS, 4))) / 256
    y = (rng.random((ROWS, 2)) < 0.4).astype(int)
    y[:, 0] = x[:, 0] > 0
    return x, y


def moved(x, sparse):
    far = x + np.array([2.0**30, 0, -(2.0**20), 2.0**10])
    return sp.csr_matrix(far) if sparse else far


def scores(x, y, method, **parameters):
    ranking = spark_mlfs.rank(x, y, method, k=None, row_ids=np.arange(ROWS), **parameters)
    return ranking.sort_values("index")["score"].to_numpy()


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scaling", ["none", "standard", "minmax"])
@pytest.mark.parametrize("mode", ["closed", "paper", "convex"])
def test_gmba(mode, scaling, sparse):
    x, y = near_zero()
    parameters = {"mode": mode, "scaling": scaling, "shuffle": False}
    near = scores(x, y, "gmba", **parameters)
    found = scores(moved(x, sparse), y, "gmba", **parameters)
    # a minimum is reached to 1e-4 of its objective, by steps that the last bits may turn
    tolerance = 1e-2 if mode == "convex" else 1e-7
    np.testing.assert_allclose(found, near, rtol=0, atol=tolerance * np.abs(near).max())
    if scaling == "none" and mode != "convex":
        naive = Gmba(x, y)
        wanted = naive.closed() if mode == "closed" else naive.paper(range(ROWS))
        np.testing.assert_allclose(near, wanted, rtol=0, atol=1e-8 * np.abs(wanted).max())


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(
    ("method", "parameters"),
    [
        ("relieff", {}),
        ("relieff", {"mode": "hamming"}),
        ("msfs", {"scaling": "none"}),
        ("msfs", {}),
        ("mssl", {"scaling": "none"}),
        ("mssl", {}),
        ("mifs", {}),
    ],
)
def test_other_methods_of_pairs(method, parameters, sparse):
    x, y = near_zero()
    near = scores(x, y, method, **parameters)
    found = scores(moved(x, sparse), y, method, **parameters)
    np.testing.assert_allclose(found, near, rtol=0, atol=1e-7 * np.abs(near).max())


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("scaling", ["none", "standard"])
def test_neighbours_of_classifiers(scaling, sparse):
    x, y = near_zero()
    for classifier in (MLkNNClassifier, BRkNNClassifier):
        model = classifier(k=3, scaling=scaling)
        near = model.fit(x, y).predict(x)
        far = moved(x, sparse)
        np.testing.assert_array_equal(model.fit(far, y).predict(far), near)


def test_distances_to_centres():
    """Of sparse rows, which are not moved before the products are made."""
    x, _ = near_zero()
    shift = np.array([2.0**30, 0, -(2.0**20), 2.0**10])
    centres = x[:7] + 1 / 64
    wanted = np.sqrt(((x[:, None] - centres) ** 2).sum(axis=2))
    found = distances(moved(x, True), centres, shift)
    np.testing.assert_allclose(found, wanted, rtol=1e-12)
