"""ReliefF by blocks against loops over pairs and rows."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from in_memory.labelsets import labelset_codes
from oracles import relieff as oracle
from oracles.loader import load

from spark_mlfs.kernels import relief
from spark_mlfs.kernels.knn import Rows, tiles
from spark_mlfs.kernels.nearest import NONE, Nearest


def blocks_of(X, codes, size, sparse):
    low, high = X.min(axis=0), X.max(axis=0)
    if sparse:  # |x_i - x_j| and distances do not see the offset
        return [
            Rows(
                sp.csr_matrix(X[a : a + size]),
                np.arange(a, min(a + size, len(X))),
                codes[a : a + size],
                high - low,
            )
            for a in range(0, len(X), size)
        ]
    unit = (X - low) / (high - low)
    return [
        Rows(unit[a : a + size], np.arange(a, min(a + size, len(X))), codes[a : a + size])
        for a in range(0, len(X), size)
    ]


def taken(block, anchors):
    return block.take(np.flatnonzero(np.isin(block.ids, anchors)))


def pairwise(X, Y, k=3, size=10**9, tile=64, sparse=False, anchors=None):
    members, codes, counts = labelset_codes(Y)
    membership = relief.PairMembership(members, relief.label_pairs(members, counts, k))
    blocks = blocks_of(X, codes, size, sparse)
    anchors = np.arange(len(X)) if anchors is None else np.asarray(anchors)
    sizes = membership.sizes(np.bincount(codes[anchors], minlength=len(counts)))
    total = np.zeros(X.shape[1])
    for home in blocks:
        batch = taken(home, anchors)
        parts = []
        for block in blocks:
            part = relief.PairNeighbours(batch.codes, membership, k)
            for found, _ in tiles(batch, block, size=tile):
                part.update(found)
            parts.append(part)
        state = parts[0]
        for part in parts[1:]:
            state.best = {
                pair: nearest.merge(part.best[pair]) for pair, nearest in state.best.items()
            }
        links = state.links(sizes)
        scale = relief.whole_scale([links])
        total += sum(links.differences(batch, block, scale)[0] for block in blocks) / scale[0]
    return total


def hamming(X, Y, k=3, size=10**9, tile=64, sparse=False, anchors=None):
    members, codes, _ = labelset_codes(Y)
    blocks = blocks_of(X, codes, size, sparse)
    anchors = np.arange(len(X)) if anchors is None else np.asarray(anchors)
    total = None
    for home in blocks:
        batch = taken(home, anchors)
        best = Nearest(len(batch), k)
        for block in blocks:
            for found, _ in tiles(batch, block, size=tile):
                best.update(found)
        their = codes[np.where(best.ids == NONE, 0, best.ids)]
        links = relief.hamming_links(best, batch.codes, their, members)
        scale = relief.whole_scale([links])
        differences = (
            sum(links.differences(batch, block, scale) for block in blocks) / scale[:, None]
        )
        state = {"differences": differences, "weights": links.values.sum(axis=0)}
        total = state if total is None else {name: total[name] + state[name] for name in state}
    return relief.hamming_scores(total)


BOTH = pytest.mark.parametrize(
    ("kernel", "naive"), [(pairwise, oracle.pairwise), (hamming, oracle.hamming)]
)


def planted(n=90, d=8, q=4, seed=0):
    rng = np.random.default_rng(seed)
    Y = (rng.random((n, q)) < 0.4).astype(int)
    X = rng.normal(size=(n, d))
    X[:, :3] += 3 * Y @ rng.normal(size=(q, 3))
    return X, Y


@pytest.mark.slow
@BOTH
@pytest.mark.parametrize(("size", "tile"), [(10**9, 1000), (37, 16), (5, 3)])
@pytest.mark.parametrize("sparse", [False, True])
def test_equals_the_loops_for_any_blocks(kernel, naive, size, tile, sparse):
    X, Y = planted(60)
    X[40:50] = X[:10]
    np.testing.assert_allclose(
        kernel(X, Y, 3, size, tile, sparse), naive(X, Y, 3), rtol=1e-10, atol=1e-13
    )


@BOTH
@pytest.mark.parametrize("name", ["flags", "emotions"])
def test_real_sets(kernel, naive, name, data_dir):
    X, Y = load(name, data_dir)[:2]
    X, Y = X[:250], Y[:250].astype(int)
    X = X[:, X.max(axis=0) > X.min(axis=0)]
    got, want = kernel(X, Y, 3, 100, 64), naive(X, Y, 3)
    assert np.abs(got - want).max() <= 1e-11 * np.abs(want).max()


@BOTH
def test_sampled_anchors(kernel, naive):
    X, Y = planted(70)
    anchors = np.random.default_rng(0).permutation(70)[:25]
    np.testing.assert_allclose(
        kernel(X, Y, 2, 20, 16, anchors=anchors), naive(X, Y, 2, anchors=set(anchors)), atol=1e-12
    )


@settings(max_examples=30, deadline=None)
@given(st.integers(0, 10**6), st.integers(1, 5), st.sampled_from([2, 3, 50]))
def test_ties_and_rare_labels(seed, k, levels):
    rng = np.random.default_rng(seed)
    X = rng.integers(0, levels, size=(30, 5)).astype(float)
    X[0], X[1] = 0, levels  # every column varies
    Y = (rng.random((30, 4)) < [0.05, 0.3, 0.5, 0.9]).astype(int)
    np.testing.assert_allclose(pairwise(X, Y, k, 11, 4), oracle.pairwise(X, Y, k), atol=1e-12)
    np.testing.assert_allclose(hamming(X, Y, k, 11, 4), oracle.hamming(X, Y, k), atol=1e-12)


@BOTH
def test_invariants(kernel, naive):
    X, Y = planted()
    base = kernel(X, Y)
    order = np.random.default_rng(0).permutation(X.shape[1])
    np.testing.assert_allclose(kernel(X[:, order], Y), base[order], atol=1e-13)
    np.testing.assert_allclose(kernel(5 * X - 3, Y), base, atol=1e-12)
    np.testing.assert_allclose(kernel(X, Y[:, ::-1]), base, atol=1e-13)
    copied = kernel(np.hstack([X, X[:, :1]]), Y)
    assert abs(copied[0] - copied[-1]) <= 1e-14
    pairs = 6 if kernel is pairwise else 1
    assert np.abs(base).max() <= pairs


@BOTH
def test_planted_features_come_first(kernel, naive):
    X, Y = planted(300)
    assert set(np.argsort(-kernel(X, Y))[:3]) == {0, 1, 2}


def test_pair_sizes_and_filter():
    _X, Y = planted(50, q=5)
    Y[:, 4] = 0
    Y[:3, 4] = 1
    members, _, counts = labelset_codes(Y)
    for k in (1, 3):
        pairs = relief.label_pairs(members, counts, k)
        want = [
            (a, b)
            for a in range(5)
            for b in range(a + 1, 5)
            if min((Y[:, a] > Y[:, b]).sum(), (Y[:, b] > Y[:, a]).sum()) >= k + 1
        ]
        assert [tuple(p) for p in pairs] == want
        sizes = relief.PairMembership(members, pairs).sizes(counts)
        assert sizes.tolist() == [int((Y[:, a] != Y[:, b]).sum()) for a, b in want]


def test_one_label_has_no_pair_and_equal_labelsets_no_miss():
    X, Y = planted(40)
    assert (pairwise(X, Y[:, :1]) == 0).all()
    alike = hamming(X, np.ones_like(Y))
    np.testing.assert_allclose(alike, oracle.hamming(X, np.ones_like(Y)), atol=1e-14)
    assert (alike < 0).all()
