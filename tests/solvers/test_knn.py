"""Blocked neighbours against sorting everything, with ties, conditions, blocks of any size, dense
and sparse."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from in_memory.labelsets import labelset_codes
from oracles import neighbours as oracle
from oracles.loader import load
from oracles.mlknn import MLkNN
from oracles.regression import standardise

from spark_mlfs.errors import DataError
from spark_mlfs.kernels import knn
from spark_mlfs.kernels.knn import Reference, Rows, Sieve, Tile, tiles
from spark_mlfs.kernels.labels import LabelsetSimilarity
from spark_mlfs.kernels.nearest import NONE, Nearest, nearest


def cut(X, sizes, ids=None, codes=None, sparse=False):
    ids = np.arange(len(X)) if ids is None else ids
    edges = np.cumsum([0, *sizes])
    edges = np.append(edges[edges < len(X)], len(X))
    form = sp.csr_matrix if sparse else np.asarray
    return [
        Rows(form(X[a:b]), ids[a:b], None if codes is None else codes[a:b])
        for a, b in itertools.pairwise(edges)
    ]


def nearest_in(query, blocks, k, condition=None, batch=512, tile=1024):
    """As `nearest`, of blocks of any sizes met in batches and tiles of any sizes, under a
    condition."""
    sieve, parts = Sieve.of(query), [Nearest(0, k)]
    for first in range(0, len(query), batch):
        some = query.take(slice(first, first + batch))
        parts.append(Nearest(len(some), k))
        for block in blocks:
            for piece, _ in Reference(block, sieve, tile).tiles(some):
                parts[-1].update(
                    piece, None if condition is None else condition(some, piece.reference)
                )
    return Nearest.stacked(parts)


def as_lists(best):
    return [[int(i) for i in row if i != NONE] for row in best.ids]


def tied(seed, n, d, levels):
    """Few values, duplicate rows: ties everywhere."""
    return np.random.default_rng(seed).integers(0, levels, size=(n, d)).astype(float)


@pytest.mark.slow
@settings(max_examples=80, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 40),
    d=st.integers(1, 6),
    k=st.integers(1, 8),
    levels=st.sampled_from([2, 3, 1000]),
    sizes=st.lists(st.integers(1, 15), max_size=4),
    tile=st.sampled_from([1, 3, 8, 64]),
    batch=st.sampled_from([1, 7, 64]),
    sparse=st.booleans(),
    scaled=st.booleans(),
)
def test_any_blocks_equal_sorting(seed, n, d, k, levels, sizes, tile, batch, sparse, scaled):
    X = tied(seed, n, d, levels)
    if scaled:
        X = X / (0.1 + np.random.default_rng(seed).random(d))
    if seed % 3 == 0:
        X[: n // 2] = X[0]
    blocks = cut(X, sizes, sparse=sparse)
    query = Rows(sp.csr_matrix(X) if sparse else X, np.arange(n))
    best = nearest_in(query, blocks[::-1], k, batch=batch, tile=tile)
    assert as_lists(best) == oracle.all_nearest(X, k)
    assert (best.filled == min(k, n - 1)).all()
    d2 = oracle.squared_distances(X)
    for i, row in enumerate(as_lists(best)):
        np.testing.assert_allclose(best.squares[i, : len(row)], d2[i, row], rtol=1e-14)
        assert np.isinf(best.squares[i, len(row) :]).all()


@pytest.mark.parametrize("sparse", [False, True])
def test_products_that_cancel_do_not_decide(sparse):
    # values near 1e7: |x|^2 - 2x'z + |z|^2 is off by more than the distances differ by
    rng = np.random.default_rng(0)
    X = 1e7 + np.round(rng.normal(size=(60, 5)), 3)
    X[30:40] = X[:10]
    rows = Rows(sp.csr_matrix(X) if sparse else X, np.arange(60))
    assert as_lists(nearest(rows, rows, 6)) == oracle.all_nearest(X, 6)


def test_equal_distances_on_the_edge_of_the_grid():
    """Equal distances (exact: all differences are dyadic) that lie halfway between two keys, where
    products are not exact."""
    rng = np.random.default_rng(1)
    d = 24
    base = np.rint(rng.normal(size=d) * 2**34) / 2**20  # its squares need more than 53 bits
    for _ in range(10**5):
        delta = rng.integers(1, 2**9, size=d) / 2**8
        if abs((delta @ delta) / d * 1e10 % 1 - 0.5) < 1e-6:
            break
    X = np.array([base] + [base + rng.permutation(delta) for _ in range(60)])
    rows = Rows(X, rng.permutation(61))
    assert (
        len(set(np.rint(Tile(rows, rows).approx[0, 1:] / d * 1e10))) > 1
    )  # the products do not see the tie
    best = nearest(rows, rows, 20)
    assert best.ids[0].tolist() == sorted(rows.ids[1:])[:20]


@pytest.mark.slow
@pytest.mark.parametrize("name", ["emotions", "flags"])
@pytest.mark.parametrize("sparse", [False, True])
def test_real_sets_with_every_condition(name, sparse, data_dir):
    X, Y = load(name, data_dir)[:2]
    X = standardise(X)
    X, Y = X[:300], Y[:300].astype(int)
    members, codes, _ = labelset_codes(Y)
    table = LabelsetSimilarity(members, Y.sum(axis=0))
    s = oracle.label_similarity(Y)
    same = (Y[:, None] == Y).all(axis=2)
    conditions = {
        "all": (None, None),
        "same": (
            lambda q, r: table.between(q.codes, r.codes).compared(np.greater_equal, 1.0),
            same & (Y.sum(axis=1) > 0),
        ),
        "similar": (
            lambda q, r: table.between(q.codes, r.codes).compared(np.greater_equal, 0.4),
            s >= 0.4,
        ),
        "other": (lambda q, r: table.between(q.codes, r.codes).compared(np.less, 0.4), s < 0.4),
        "sharing": (
            lambda q, r: table.between(q.codes, r.codes).compared(np.greater, 0),
            Y @ Y.T > 0,
        ),
    }
    query = Rows(sp.csr_matrix(X) if sparse else X, np.arange(len(X)), codes)
    blocks = cut(X, [100, 77], codes=codes, sparse=sparse)
    for what, (condition, allowed) in conditions.items():
        best = nearest_in(query, blocks, 5, condition, batch=64, tile=50)
        assert as_lists(best) == oracle.all_nearest(X, 5, allowed), what


def test_states_merge_in_any_order_and_travel():
    X = tied(5, 50, 3, 3)
    query = Rows(X, np.arange(50))
    parts = []
    for block in cut(X, [11, 5, 20]):
        best = Nearest(50, 4)
        for tile, _ in tiles(query, block):
            best.update(tile)
        parts.append(Nearest.from_state(best.state()))
    want = nearest(query, query, 4)
    for order in ([0, 1, 2, 3], [3, 1, 0, 2]):
        merged = Nearest(50, 4)
        for part in order:
            merged = merged.merge(parts[part])
        assert (merged.ids == want.ids).all() and (merged.squares == want.squares).all()


@pytest.mark.slow
@settings(max_examples=120, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(2, 60),
    d=st.integers(2, 30),
    k=st.integers(1, 6),
    density=st.sampled_from([0.02, 0.1, 0.5]),
    share=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    values=st.sampled_from(["ones", "levels", "signed", "large"]),
    size=st.sampled_from([3, 16, 64]),
    labels=st.booleans(),
)
def test_sieved_tiles_find_what_sorting_finds(seed, n, d, k, density, share, values, size, labels):
    rng = np.random.default_rng(seed)
    X = (rng.random((n, d)) < density * np.linspace(0.3, 3, d)).astype(float)
    X *= {
        "ones": np.ones((n, d)),
        "levels": rng.integers(1, 3, (n, d)),
        "signed": rng.normal(size=(n, d)),
        "large": 100 + np.round(rng.normal(size=(n, d)), 3),
    }[values]
    if seed % 2:
        X = X / (0.1 + rng.random(d))
    Y = rng.integers(0, 2, (n, 3))
    members, codes, _ = labelset_codes(Y)
    table = LabelsetSimilarity(members)
    order = np.argsort(-(X != 0).sum(axis=0), kind="stable")
    sieve = Sieve(np.sort(order[: round(share * d)]))
    ids = rng.permutation(n)
    query = Rows(sp.csr_matrix(X[ids]), ids, codes[ids])
    best = Nearest(n, k)
    for block in cut(X[ids], [n // 3, n // 2], ids, codes[ids], sparse=True):
        for tile, _ in Reference(block, sieve, size).tiles(query):
            best.update(
                tile,
                table.between(query.codes, tile.reference.codes).compared(np.greater, 0)
                if labels
                else None,
            )
    want = oracle.all_nearest(X, k, Y @ Y.T > 0 if labels else None)
    assert as_lists(best) == [want[i] for i in ids]
    d2 = oracle.squared_distances(X)
    for i, row in enumerate(as_lists(best)):
        np.testing.assert_allclose(best.squares[i, : len(row)], d2[ids[i], row], rtol=1e-14)


def test_sieve_spares_pairs_and_is_chosen_where_it_pays():
    rng = np.random.default_rng(0)
    share = np.minimum(0.4, 3 / np.arange(1, 601))
    X = sp.csr_matrix((rng.random((3000, 600)) < share) / np.sqrt(share))
    rows = Rows(X, np.arange(3000))
    sieve = Sieve.of(rows)
    weight = np.asarray(X.multiply(X).sum(axis=0)).ravel()
    assert 0 < weight[sieve.frequent].sum() <= knn.FREQUENT_SHARE * weight.sum()
    assert Sieve.of(Rows(X.toarray(), np.arange(3000))) is None
    assert Sieve.of(Rows(sp.csr_matrix(rng.random((500, 30))), np.arange(500))) is None
    wide = sp.random(200, 50_000, 2e-3, "csr", rng=rng)
    assert len(Sieve.of(Rows(wide, np.arange(200))).frequent) == knn.MOST_FREQUENT
    completed = []
    whole = knn.row_products

    def counted(left, right, i, j):
        completed.append(len(i))
        return whole(left, right, i, j)

    knn.row_products = counted
    try:
        best = nearest(rows, rows, 5)
    finally:
        knn.row_products = whole
    assert 0 < sum(completed) < 0.1 * 3000**2
    assert (
        best.ids
        == nearest(Rows(X.toarray(), np.arange(3000)), Rows(X.toarray(), np.arange(3000)), 5).ids
    ).all()


def test_transposed_tiles_serve_both_sides():
    X = np.random.default_rng(2).normal(size=(40, 6))
    X[20:30] = X[5:15]
    a, b = cut(X, [17])
    left, right = Nearest(17, 5), Nearest(23, 5)
    for tile, run in tiles(a, b, size=10):
        left.update(tile)
        right.update(tile.transposed(), rows=np.arange(23)[run])
    for block, state in ((a, left), (b, right)):
        for tile, _ in tiles(block, block):
            state.update(tile)
    assert as_lists(left) + as_lists(right) == oracle.all_nearest(X, 5)


def test_rows_of_other_data_and_ids_out_of_order():
    rng = np.random.default_rng(3)
    X, Z = (
        rng.integers(0, 3, size=(30, 4)).astype(float),
        rng.integers(0, 3, size=(9, 4)).astype(float),
    )
    ids = rng.permutation(1000)[:30]
    best = nearest_in(Rows(Z, -1 - np.arange(9)), cut(X, [8, 9], ids), 6)
    d2 = oracle.squared_distances(Z, X)
    for i in range(9):
        want = sorted((round(d2[i, j] / 4, 10), int(ids[j])) for j in range(30))[:6]
        assert best.ids[i].tolist() == [j for _, j in want]


def test_error_bound_holds():
    rng = np.random.default_rng(4)
    for scale in (1, 1e4):
        X = rng.normal(size=(200, 300)) * scale + 10 * scale
        tile = Tile(Rows(X[:80], np.arange(80)), Rows(X[80:], np.arange(80, 200)))
        exact = oracle.squared_distances(X[:80], X[80:])
        off = np.abs(tile.approx - exact)
        assert (off <= tile.error[:, None]).all() and off.max() > 0
        single = Tile(tile.query, tile.reference, single=True)
        off = np.abs(single.approx - exact)
        assert single.approx.dtype == np.float32
        assert (off <= single.error[:, None]).all() and off.max() > 1e6 * np.abs(
            tile.approx - exact
        ).max()


def test_single_precision_proposes_while_its_error_is_small_and_is_given_up_for_good():
    rng = np.random.default_rng(8)
    X = rng.normal(size=(300, 40))
    X[100:120] = X[:20]
    X[120:140] = X[20:40] + 1e-7 * rng.normal(
        size=(20, 40)
    )  # apart by less than single precision sees
    for rows, used in ((X, True), (X + 1e4, False), (1e-12 * X, False), (1e16 * X, False)):
        ready = Rows(rows, np.arange(300))
        reference = Reference(ready, size=64)
        best = Nearest(300, 5)
        kinds = []
        for tile, _ in reference.tiles(ready):
            kinds.append(tile.single)
            best.update(tile)
        assert reference.single == used and all(kinds) == used and any(kinds[1:]) != (not used)
        if rows.max() < 1e10:  # beyond it the grid is finer than a float
            assert as_lists(best) == oracle.all_nearest(rows, 5)
        d2 = oracle.squared_distances(rows)
        np.testing.assert_allclose(
            best.squares, np.take_along_axis(d2, best.ids, axis=1), rtol=1e-12
        )


def test_scaling_in_the_rows():
    X = np.random.default_rng(6).normal(size=(30, 3)) + 5
    mean, deviation = X.mean(axis=0), X.std(axis=0)
    Z = (X - mean) / deviation
    dense = Rows(X, np.arange(30), offset=mean, scale=deviation)
    sparse = Rows(sp.csr_matrix(X), np.arange(30), scale=deviation)
    assert (
        as_lists(nearest(dense, dense, 4))
        == as_lists(nearest(sparse, sparse, 4))
        == oracle.all_nearest(Z, 4)
    )


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_refuses_what_has_no_distance(bad):
    with pytest.raises(DataError, match="finite"):
        Rows(np.array([[1.0, bad]]), np.array([0]))


def test_mlknn_counts_from_the_kernel(data_dir):
    """The neighbour counts of ML-kNN's histograms and predictions are those of the oracle."""
    X, Y = load("flags", data_dir)[:2]
    X, Y = standardise(X), Y.astype(int)
    train, test = np.arange(120), np.arange(120, 194)
    model = MLkNN(k=7).fit(X[train], Y[train])
    rows = Rows(X[train], train)
    own = Y[nearest(rows, rows, 7).ids].sum(axis=1)
    kappa = np.zeros((Y.shape[1], 8))
    for label in range(Y.shape[1]):
        kappa[label] = np.bincount(own[Y[train, label] == 1, label], minlength=8)
    np.testing.assert_allclose(
        (1 + kappa) / (8 + kappa.sum(axis=1, keepdims=True)), model.likelihood, rtol=1e-15
    )
    counts = Y[nearest(Rows(X[test], test), rows, 7).ids].sum(axis=1)
    assert (counts == model.counts(X[test])).all()
    assert ((model.posterior(X[test]) > 0.5) == model.predict(X[test])).all()
