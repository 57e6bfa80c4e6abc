"""Folds: partitions of the rows that depend on ids alone, balanced labels, training rows only,
noise."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.stratification import iterative_stratification
from pyspark.ml.linalg import Vectors
from scipy import stats

from spark_mlfs import pipeline
from spark_mlfs.blocks.block import Block
from spark_mlfs.blocks.folds import Split, stratify
from spark_mlfs.blocks.pack import pack
from spark_mlfs.blocks.profile import profile_block
from spark_mlfs.engine.local import LocalEngine, part_of
from spark_mlfs.engine.spark import SparkEngine
from spark_mlfs.errors import DataError, ParameterError
from spark_mlfs.evaluate import block_folds, protocol
from spark_mlfs.evaluate.derived import held_out, noisy, training
from spark_mlfs.evaluate.protocol import Protocol
from spark_mlfs.kernels.gram import leave_out
from spark_mlfs.kernels.hashing import group_of, mix, normal
from spark_mlfs.statistics.gram import Gram

N, D, Q = 300, 6, 5


def example(seed=0, n=N, sparse=False):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, D)) * np.array([1, 10, 0.1, 1, 5, 1])
    x[:, 5] = 2.0  # constant
    if sparse:
        x[rng.random(x.shape) < 0.7] = 0
        x[:, 5] = 0
    y = (rng.random((n, Q)) < [0.5, 0.3, 0.2, 0.05, 0.02]).astype(float)
    ids = rng.permutation(10 * n)[:n]
    return ids, x, y


def frame_of(spark, ids, x, y, sparse=False):
    def vector(row):
        return (
            Vectors.sparse(D, [(int(j), float(row[j])) for j in np.flatnonzero(row)])
            if sparse
            else Vectors.dense(row)
        )

    rows = [(int(i), vector(a), Vectors.dense(b)) for i, a, b in zip(ids, x, y, strict=True)]
    return spark.createDataFrame(rows, ["id", "features", "labels"])


@pytest.fixture(scope="module")
def data(spark):
    ids, x, y = example()
    frame = frame_of(spark, ids, x, y)
    packed = pack(frame, row_id="id")
    yield ids, x, y, frame, packed
    packed.release()


# ---- folds by hash ----


@pytest.mark.parametrize(
    "text", ["5-fold", "7-fold", "3x4-fold", "30x50/50", "2x70/30", "66.6/33.4"]
)
def test_folds_cover_every_row_once_and_have_their_shares(text):
    ids = np.arange(6000) * 7 - 3000
    chosen = Protocol.of(text, seed=3)
    splits = chosen.splits()
    assert len(splits) == chosen.repeats * (1 if chosen.random else len(chosen.shares))
    assert len({s.name for s in splits}) == len(splits)
    for repeat in range(chosen.repeats):
        tested = np.array([s.of(ids) for s in splits if s.repeat == repeat])
        if not chosen.random:
            assert (tested.sum(axis=0) == 1).all()
        np.testing.assert_allclose(tested.mean(axis=1), chosen.shares[: len(tested)], atol=0.035)
    again = Protocol.of(text, seed=3).splits()
    order = np.random.default_rng(0).permutation(len(ids))
    for a, b in zip(splits, again, strict=True):
        assert (a.of(ids)[order] == b.of(ids[order])).all()  # of the id alone
    assert (Protocol.of(text, seed=4).splits()[0].of(ids) != splits[0].of(ids)).any()


def test_repeats_differ_like_independent_ones():
    ids = np.arange(20_000)
    tested = np.array([s.of(ids) for s in Protocol.of("30x50/50").splits()])
    together = np.corrcoef(tested)[np.triu_indices(30, 1)]
    assert np.abs(together).max() < 0.65 and abs(together.mean()) < 0.05


def test_every_training_set_of_every_repeat_comes_from_one_scan_of_grams():
    ids, x, y = example(n=3000)
    lists = sp.csr_matrix(y)
    block = Block(x, ids, lists.indptr, lists.indices)
    engine = LocalEngine(profile_block(block, Q), [block])
    parts = [*engine.run(Gram(60))[0].values()]
    assert len(parts) == 60
    for split in Protocol.of("2x5-fold", seed=1).splits()[::3] + Protocol.of("70/30").splits():
        assert set(split.groups) == set(group_of(ids[split.of(ids)]))
        rest = leave_out(parts, split.groups)
        (want,) = part_of(engine, split, False).run(Gram())
        assert rest.n == want.n
        np.testing.assert_allclose(rest.centred().G, want.centred().G, rtol=1e-9, atol=1e-7)
    assert engine.cost.scans == 1
    assert Protocol.of("7-fold").splits()[0].groups is None


@pytest.mark.parametrize("text", ["fold", "1-fold", "0x5-fold", "50/40", "100/0", "5x", ""])
def test_wrong_protocols_are_told(text):
    with pytest.raises(ParameterError, match="protocol"):
        Protocol.of(text)


# ---- stratified folds ----


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 60),
    q=st.integers(1, 6),
    folds=st.integers(2, 5),
    share=st.sampled_from([0.0, 0.1, 0.4, 1.0]),
)
def test_stratification_equals_the_papers_algorithm(seed, n, q, folds, share):
    rng = np.random.default_rng(seed)
    y, ids = (rng.random((n, q)) < share).astype(int), rng.permutation(5 * n)[:n]
    shares = tuple(np.full(folds, 1 / folds)) if seed % 2 else (0.3, 0.7)
    stratified = stratify(ids, sp.csr_matrix(y), shares, seed)
    hashes = mix(ids, seed)
    order = np.argsort(hashes)
    want = iterative_stratification(
        [set(np.flatnonzero(y[i])) for i in order], shares, [int(h) for h in hashes[order]]
    )
    split = [Split("", 0, fold, stratified).of(ids[order]) for fold in range(len(shares))]
    assert np.argmax(split, axis=0).tolist() == want


def test_stratified_folds_have_even_labels(data):
    ids, _, y, _, packed = data
    chosen = Protocol.of("stratified 2x5-fold", seed=2)
    splits = chosen.splits(packed)
    assert len(splits) == 10
    tested = np.array([s.of(ids) for s in splits[:5]])
    assert (tested.sum(axis=0) == 1).all() and np.ptp(tested.sum(axis=1)) <= 4
    plain = np.array([s.of(ids) for s in Protocol.of("5-fold", seed=2).splits()])

    def unevenness(folds):
        return np.abs(folds @ y - y.sum(axis=0) / 5).mean()

    assert (
        unevenness(tested) < 0.4 * unevenness(plain)
        and np.abs(tested @ y - y.sum(axis=0) / 5).max() <= 2.01
    )
    assert (splits[0].of(ids) != splits[5].of(ids)).any()
    with pytest.raises(ParameterError, match="give the packed data"):
        chosen.splits()
    with pytest.raises(DataError, match="was not among the rows"):
        splits[0].of(np.array([-1]))


def test_rows_of_one_id_stay_together():
    ids = np.array([5, 5, 5, 9, 11, 12])
    first_fold = Split("", 0, 0, stratify(ids, sp.csr_matrix(np.eye(6)[:, :4]), (0.5, 0.5), 1)).of(
        ids
    )
    assert len(set(first_fold[:3])) == 1 and first_fold.sum() == 3


@pytest.mark.slow
def test_many_rows_are_stratified_by_labelset(spark, data, monkeypatch):
    ids, _, y, frame, packed = data
    monkeypatch.setattr(protocol, "MOST_LISTED_ROWS", 10)
    splits = Protocol.of("stratified 2x5-fold", seed=2).splits(packed)
    assert isinstance(splits[0].folds, protocol.ByLabelset)
    other = pack(frame.repartition(7), row_id="id")
    again = Protocol.of("stratified 2x5-fold", seed=2).splits(other)
    lists = sp.csr_matrix(y)
    block = Block(np.zeros((N, 1)), ids, lists.indptr, lists.indices)
    tested = np.array([s.of(block) for s in splits[:5]])
    assert (tested.sum(axis=0) == 1).all()
    assert all((a.of(block) == b.of(block)).all() for a, b in zip(splits, again, strict=True))
    for labelset in np.unique(y, axis=0):
        mine = (y == labelset).all(axis=1)
        assert np.ptp(tested[:, mine].sum(axis=1)) <= 2  # each within one of its share
    assert (splits[0].of(block) != splits[5].of(block)).any()
    part = held_out(packed, splits[0])
    assert part.profile.n == tested[0].sum()
    part.release()
    with pytest.raises(ParameterError, match="divided by labelset"):
        splits[0].of(block.ids)
    other.release()


def test_rare_labelsets_are_divided_by_their_shares():
    hashes = (
        np.random.default_rng(0).integers(0, 2**63, 20_000).astype(np.uint64)
    )  # each of one row
    for shares in ((0.2, 0.8), (0.25,) * 4):
        found = [
            block_folds.fold_ends(hashes, np.arange(20_000), shares, [draw]) for draw in (1, 2)
        ]
        for draw, state in zip((1, 2), found, strict=True):
            (folds,) = block_folds.by_labelset([state], [draw])
            rows = SimpleNamespace(ids=np.arange(20_000), labelset_hash=hashes)
            np.testing.assert_allclose(np.bincount(folds.of(rows)) / 20_000, shares, atol=0.012)


# ---- applying them ----


@pytest.mark.slow
def test_training_rows_are_profiled_on_their_own(spark, data):
    ids, x, y, frame, packed = data
    split = Protocol.of("3-fold", seed=5).splits()[1]
    mask = split.of(ids)
    part, rest = training(packed, split), held_out(packed, split)
    assert (part.profile.n, rest.profile.n) == ((~mask).sum(), mask.sum())
    np.testing.assert_array_equal(part.profile.low, x[~mask].min(axis=0))
    np.testing.assert_array_equal(rest.profile.positive, y[mask].sum(axis=0))
    assert 5 not in part.profile.varying and part.feature_names == packed.feature_names
    # a ranking of the training part is the ranking of a frame of these rows
    other = pack(frame.where(frame.id.isin([int(i) for i in ids[~mask]])), row_id="id")
    for small in (0, 1 << 40):
        requests = [pipeline.Request.of("mim"), pipeline.Request.of("ridge")]
        for a, b in zip(
            pipeline.rank(part, requests, small_bytes=small),
            pipeline.rank(other, requests, small_bytes=small),
            strict=True,
        ):
            assert a.ranking.equals(b.ranking)
    for division in (part, rest, other):
        division.release()


def test_too_few_rows_are_told(spark):
    ids, x, _y = example(n=4)
    packed = pack(
        frame_of(spark, ids, x, np.array([[1.0, 0], [0, 1], [1, 1], [0, 0]])), row_id="id"
    )
    empty = next(s for s in Protocol.of("60-fold").splits() if not s.of(ids).any())
    with pytest.raises(DataError, match=r"the test rows of fold .* of 60 are 0; give fewer folds"):
        held_out(packed, empty)
    packed.release()


# ---- noise ----


def test_deviates_are_standard_normal_and_of_the_cell_alone():
    z = normal(np.arange(4000), np.arange(10), 3)
    assert stats.kstest(z.ravel(), "norm").pvalue > 1e-3
    assert np.abs(np.corrcoef(z.T) - np.eye(10)).max() < 0.07
    assert np.abs(np.corrcoef(z[:-1].ravel(), z[1:].ravel())[0, 1]) < 0.02
    np.testing.assert_array_equal(normal([17, 3], [4, 1], 3), z[np.ix_([17, 3], [4, 1])])
    assert (normal([17], [4], 4) != z[17, 4]).all()


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
def test_noise_is_a_share_of_the_spread(spark, sparse):
    ids, x, y = example(1, sparse=sparse)
    frame = frame_of(spark, ids, x, y, sparse)
    by_partitioning = []
    for parts in (1, 4):
        packed = pack(frame.repartition(parts), row_id="id")
        with_noise = noisy(packed, 0.15, seed=7)
        blocks = [
            Block.decode(bytes(row.block))
            for row in with_noise.frame.where("block is not null").collect()
        ]
        rows = {int(i): row for b in blocks for i, row in zip(b.ids, b.dense(), strict=True)}
        by_partitioning.append(np.array([rows[i] for i in ids]))
        assert with_noise.profile.sparse == sparse
        np.testing.assert_array_equal(with_noise.profile.high, by_partitioning[-1].max(axis=0))
        packed.release()
        with_noise.release()
    np.testing.assert_array_equal(by_partitioning[0], by_partitioning[1])
    noise = by_partitioning[0] - x
    if sparse:
        assert (noise[x == 0] == 0).all()
    assert (noise[:, 5] == 0).all()
    want = normal(ids, np.arange(D), 7) * 0.15 * x.std(axis=0)
    np.testing.assert_allclose(noise, np.where(x != 0, want, 0) if sparse else want, atol=1e-12)
    with pytest.raises(ParameterError, match="amount"):
        noisy(packed, 0)


def test_engines_agree_on_a_part(data):
    ids, x, y, _, packed = data
    split = Protocol.of("4-fold").splits()[0]
    lists = sp.csr_matrix(y)
    block = Block(x, ids, lists.indptr, lists.indices)
    local = part_of(LocalEngine(profile_block(block, Q), [block]), split, False)
    part = training(packed, split)
    engine = SparkEngine(part)
    np.testing.assert_array_equal(engine.run(Gram())[0].xx, local.run(Gram())[0].xx)
    engine.release()
    part.release()
