"""SPEC from labelset statistics against the n x n graph."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from in_memory.labelsets import labelset_codes
from oracles import spec as oracle
from oracles.loader import load

from spark_mlfs.errors import BudgetError, DataError
from spark_mlfs.kernels import labels
from spark_mlfs.kernels.labels import LabelsetSimilarity
from spark_mlfs.solvers import spec
from spark_mlfs.solvers.spec import PowerSums, spec_scores

CRITERIA = ("phi1", "phi2", "phi3")


def scores(X, Y, criterion, **options):
    members, codes, counts = labelset_codes(Y)
    rows = np.eye(len(counts))[codes].T  # (m, n) of each labelset
    return spec_scores(
        PowerSums(np.bincount(codes, minlength=len(counts)), rows @ X, rows @ (X * X)),
        LabelsetSimilarity(members, Y.sum(axis=0)),
        criterion,
        **options,
    )


def planted(n=120, d=15, q=5, seed=0, rate=0.35):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, q)) < rate).astype(float)
    X = rng.normal(size=(n, d))
    X[:, : d // 3] += 2 * Y @ rng.normal(size=(q, d // 3))
    return X, Y


def varying(X):
    return X[:, X.max(axis=0) > X.min(axis=0)]


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("name", ["planted", "flags", "emotions"])
def test_equals_the_all_pairs_computation(criterion, name, request):
    X, Y = planted() if name == "planted" else load(name, request.getfixturevalue("data_dir"))[:2]
    X = varying(X)
    np.testing.assert_allclose(
        scores(X, Y, criterion), oracle.spec(X, Y, criterion), rtol=1e-10, atol=1e-11
    )


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [2, 3, 7, 20, 1000])
def test_phi3_takes_whole_eigenspaces_within_labelsets_too(seed, k):
    # few labelsets, unconnected ones among them: k reaches the eigenvalues above 1 that live within
    # a labelset
    X, Y = planted(40, 6, 3, seed, 0.3)
    np.testing.assert_allclose(
        scores(X, Y, "phi3", k=k), oracle.spec(X, Y, "phi3", k), rtol=1e-9, atol=1e-12
    )


def test_phi3_of_one_label_is_zero_without_rounding_noise():
    X, Y = planted(90, 12, 1)
    assert not scores(
        X, Y, "phi3"
    ).any()  # its one eigenvalue is that of D^½1, which does not count


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from(CRITERIA), st.sampled_from([0.05, 0.3, 0.7]))
def test_small_graphs_with_isolated_rows(seed, criterion, rate):
    X, Y = planted(25, 4, 4, seed, rate)
    members, _codes, counts = labelset_codes(Y)
    degree = LabelsetSimilarity(members, Y.sum(axis=0)).degrees(counts)
    if not degree.any():
        with pytest.raises(DataError, match="no edge"):
            scores(X, Y, criterion)
        return
    np.testing.assert_allclose(
        scores(X, Y, criterion), oracle.spec(X, Y, criterion), rtol=1e-9, atol=1e-11
    )


def test_known_values():
    # two pairs of twins: the indicator of a component has no loss, a feature that splits the twins
    # has the most
    Y = np.array([[1, 0], [1, 0], [0, 1], [0, 1]])
    X = np.array([[1.0, 1, 1], [1, -1, 1], [-1, 1, 1], [-1, -1, -3]])
    # 3rd: x'Lx = (1 + 3)^2/3 in standardised units of variance 3, x'Dx = 4
    np.testing.assert_allclose(scores(X, Y, "phi1"), [0.0, -2.0, -(16 / 3) / 4], atol=1e-14)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_feature_that_varies_on_isolated_rows_only(criterion):
    X, Y = planted(30, 3, 2, 3)
    Y[:6] = 0
    X[:, 0] = 1e6
    X[:6, 0] += np.linspace(-1, 1, 6)  # its mean stays where the connected rows are
    X[:, 1] = 0.0
    X[:5, 1] = 1.0  # here it does not
    got = scores(X, Y, criterion)
    assert got[0] == (0 if criterion == "phi3" else -2)
    if criterion == "phi1":
        assert abs(got[1]) < 1e-12  # constant on the graph, not zero
    else:
        assert got[1] == (0 if criterion == "phi3" else -2)


@pytest.mark.parametrize("criterion", CRITERIA)
def test_shift_scale_copy_and_permutation(criterion):
    X, Y = planted()
    base = scores(X, Y, criterion)
    np.testing.assert_allclose(scores(3 * X + 50, Y, criterion), base, rtol=1e-9)
    order = np.random.default_rng(0).permutation(X.shape[1])
    np.testing.assert_allclose(scores(X[:, order], Y, criterion), base[order], rtol=1e-12)
    doubled = scores(np.hstack([X, X[:, :1]]), Y, criterion)
    assert abs(doubled[-1] - doubled[0]) <= 1e-12 * abs(doubled[0])
    rows = np.random.default_rng(1).permutation(len(X))
    np.testing.assert_allclose(scores(X[rows], Y[rows], criterion), base, rtol=1e-10)


def test_planted_features_come_first():
    X, Y = planted(400, 15, 5)
    for criterion in CRITERIA:
        assert set(np.argsort(-scores(X, Y, criterion))[:5]) == set(range(5))


@pytest.mark.parametrize("criterion", CRITERIA)
def test_any_block_size(criterion, monkeypatch):
    X, Y = planted()
    want = scores(X, Y, criterion)
    monkeypatch.setattr(labels, "BLOCK_BYTES", 1)
    np.testing.assert_allclose(scores(X, Y, criterion), want, rtol=1e-13)


def test_phi3_by_lanczos_equals_the_dense_eigenvectors(monkeypatch):
    X, Y = planted(300, 6, 9)
    want = scores(X, Y, "phi3")
    monkeypatch.setattr(spec, "DENSE_EIGEN", 20)
    np.testing.assert_allclose(scores(X, Y, "phi3"), want, rtol=1e-10)


def test_errors(monkeypatch):
    X, Y = planted()
    monkeypatch.setattr(spec, "TABLE_BYTES", 1000)
    with pytest.raises(BudgetError, match="phi3"):
        scores(X, Y, "phi3")
