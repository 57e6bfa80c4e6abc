"""The labels' sketch against a matrix R written out, and the norms it keeps."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp

from spark_mlfs.kernels.sketch import entries, sign_sketch, sketched_labels


def matrix(q: int, width: int) -> np.ndarray:
    """R, a label a row: the sketch of rows with one label each."""
    return sign_sketch(np.arange(q + 1), np.arange(q), width).toarray()


@pytest.mark.parametrize(("q", "width"), [(500, 64), (37, 10), (20, 3), (5, 1)])
def test_every_label_has_one_sign_in_each_range(q, width):
    R, s = matrix(q, width), entries(width)
    assert R.shape == (q, width) and set(np.unique(R)) <= {-1, 0, 1}
    edges = np.arange(s + 1) * width // s
    for a, z in itertools.pairwise(edges):
        assert (np.abs(R[:, a:z]).sum(axis=1) == 1).all()


def test_rows_are_the_sums_of_their_labels():
    rng = np.random.default_rng(2)
    Y = sp.csr_matrix(rng.random((60, 300)) < 0.05)
    Z = sign_sketch(Y.indptr, Y.indices, 32)
    assert Z.dtype == np.int64
    np.testing.assert_array_equal(Z.toarray(), Y.toarray().astype(int) @ matrix(300, 32))
    np.testing.assert_allclose(
        sketched_labels(Y.indptr, Y.indices, 32).toarray(), Z.toarray() / 2, rtol=0
    )
    assert sign_sketch(np.zeros(4, np.int32), np.zeros(0, np.int32), 8).shape == (3, 8)


def test_columns_and_signs_are_even():
    R = matrix(40_000, 64)
    share = np.abs(R).mean(axis=0)
    np.testing.assert_allclose(share, 4 / 64, atol=5 * np.sqrt(1 / 16 / 40_000))
    assert abs(R.sum() / np.abs(R).sum()) < 5 / np.sqrt(4 * 40_000)


@pytest.mark.parametrize("width", [64, 256])
def test_norms_are_kept(width):
    """The relative error of ‖w'R‖²/s has mean 0 and a standard deviation of at most √(2/r), for
    even and for uneven w."""
    rng = np.random.default_rng(3)
    R = matrix(3000, width)
    w = rng.normal(size=(400, 3000)) * rng.pareto(2.0, (400, 3000))
    error = ((w @ R) ** 2).sum(axis=1) / entries(width) / (w * w).sum(axis=1) - 1
    assert abs(error.mean()) < 4 * error.std() / np.sqrt(len(error))
    assert error.std() < np.sqrt(2 / width)
