"""Similarities of labelsets against exact fractions."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp
from in_memory.labelsets import labelset_codes
from oracles import neighbours as oracle

from spark_mlfs.kernels import labels
from spark_mlfs.kernels.labels import LabelsetSimilarity

label_matrices = hnp.arrays(
    np.int8, st.tuples(st.integers(1, 12), st.integers(1, 5)), elements=st.integers(0, 1)
)


def similarity_of(Y, jaccard=False):
    members, codes, counts = labelset_codes(Y)
    return LabelsetSimilarity(members, None if jaccard else Y.sum(axis=0)), codes, counts


@settings(max_examples=60, deadline=None)
@given(label_matrices, st.booleans())
def test_equals_exact_fractions_row_by_row(Y, jaccard):
    Y = Y if jaccard else oracle.varying_labels(Y)  # constant labels have left before
    assume(Y.shape[1])
    table, codes, counts = similarity_of(Y, jaccard)
    want = oracle.label_fractions(Y, [1] * Y.shape[1] if jaccard else None)
    s = table.between(codes, codes).full()
    assert all(s[i, j] == float(want[i][j]) for i in range(len(Y)) for j in range(len(Y)))
    degree = [
        sum((want[i][j] for j in range(len(Y)) if j != i), start=0 * want[0][0])
        for i in range(len(Y))
    ]
    np.testing.assert_allclose(
        table.degrees(counts)[codes], [float(v) for v in degree], rtol=1e-13, atol=0
    )


@settings(max_examples=60, deadline=None)
@given(label_matrices)
def test_symmetric_in_0_1_and_1_only_for_equal_labelsets(Y):
    table, _codes, _ = similarity_of(Y)
    s = table.similarity(np.arange(table.size))
    assert (s == s.T).all() and (s >= 0).all() and (s <= 1).all()
    some = np.asarray(table.members.sum(axis=1)).ravel() > 0
    assert ((s == 1) == (np.eye(len(s), dtype=bool) & some)).all()


@pytest.mark.parametrize("block_bytes", [1, 100, 1 << 20])
def test_blocks_make_up_the_table(block_bytes, monkeypatch):
    Y = (np.random.default_rng(0).random((60, 7)) < 0.3).astype(int)
    table, _, counts = similarity_of(Y)
    want = table.degrees(counts)
    monkeypatch.setattr(labels, "BLOCK_BYTES", block_bytes)
    rows, values = zip(*table.blocks(), strict=True)
    assert (np.concatenate(rows) == np.arange(table.size)).all()
    assert (np.concatenate(values) == table.similarity(np.arange(table.size))).all()
    np.testing.assert_allclose(table.degrees(counts), want, rtol=1e-14)


def test_threshold_admits_the_ratio_the_decimal_means():
    # 1 shared label of 10: 1/10 >= 0.1, though the float 0.1 is above one tenth
    members = np.zeros((2, 10), int)
    members[0] = 1
    members[1, 0] = 1
    table = LabelsetSimilarity(members)
    assert table.between([0], [1]).compared(np.greater_equal, 0.1).full().all()
    assert not table.between([0], [1]).compared(np.greater_equal, np.nextafter(0.1, 1)).full().any()
    assert (
        table.between([0], [1]).compared(np.less, 1.0).full().all()
        and table.between([0], [1]).compared(np.greater, 0).full().all()
    )


def test_sums_are_whole_numbers():
    Y = (np.random.default_rng(1).random((50, 6)) < 0.4).astype(int)
    table, _, _ = similarity_of(Y)
    both = (table._weighted @ table._columns).toarray()
    either = table.totals[:, None] + table.totals - both
    assert (both == np.rint(both)).all() and (either == np.rint(either)).all()
    members = table.members.toarray() > 0
    assert (either == (members[:, None] | members) @ table.weights).all()


def test_codes_number_labelsets_by_first_row_dense_and_sparse():
    Y = np.array([[1, 0, 1], [0, 0, 0], [1, 0, 1], [0, 1, 0], [0, 0, 0]])
    for given_ in (Y, sp.csr_matrix(Y)):
        members, codes, counts = labelset_codes(given_)
        assert codes.tolist() == [0, 1, 0, 2, 1] and counts.tolist() == [2, 2, 1]
        assert (members.toarray()[codes] == Y).all()
