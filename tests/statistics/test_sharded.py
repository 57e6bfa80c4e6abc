"""Counts of features by labels that are finished range by range of features: to the bit the numbers
of the whole table, wherever the features and the rows are cut, and no process holds more than its
share."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pytest
import scipy.sparse as sp
from sklearn.feature_selection import chi2 as sklearn_chi2
from sklearn.metrics import mutual_info_score

from spark_mlfs import pipeline
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.block import Block
from spark_mlfs.blocks.codec import binary_array, decode, encode
from spark_mlfs.blocks.grades import ONE, Grades
from spark_mlfs.blocks.pack import pack
from spark_mlfs.blocks.profile import profile_block
from spark_mlfs.engine.base import COUNT_COPIES, Engine
from spark_mlfs.engine.local import LocalEngine
from spark_mlfs.engine.spark import SparkEngine
from spark_mlfs.engine.tasks import reduce_shards, sharded_states
from spark_mlfs.errors import WorkerBudgetError
from spark_mlfs.kernels import exact
from spark_mlfs.methods import METHODS, counting, fisher
from spark_mlfs.params import check
from spark_mlfs.statistics import moments
from spark_mlfs.statistics.base import Budgets, FeatureNumbers, compact, cuts
from spark_mlfs.statistics.contingency import TwoWay

Q = 12


def table(kind, n=700, d=40, q=Q, seed=0):
    """(x, y, unknown): features that are ever rarer, labels that follow some; label 0 in most rows,
    3 in all, 2 in none."""
    rng = np.random.default_rng(seed)
    share = 1.0 if kind == "dense" else 0.5 / (1 + np.arange(d))
    values = {"binary": np.ones((n, d)), "counts": rng.integers(1, 9, (n, d))}.get(
        kind, rng.normal(size=(n, d))
    )
    x = (rng.random((n, d)) < share) * values
    y = rng.random((n, q)) < 0.5 / (1 + np.arange(q))
    y[:, 1] |= x[:, 0] > 0
    y[:, 0], y[:, 2], y[:, 3] = rng.random(n) < 0.98, False, True
    x[n // 2 :], y[n // 2 :] = x[: n - n // 2], y[: n - n // 2]  # rows repeat
    unknown = (rng.random((n, q)) < 0.03) & ~y & (kind == "unknown")
    return x.astype(float), y, unknown


def block_of(x, y, unknown, dense=False):
    labels, more = sp.csr_matrix(y.astype(float)), (None, None)
    if unknown.any():
        gaps = sp.csr_matrix(unknown.astype(float))
        more = gaps.indptr, gaps.indices
    return Block(
        x if dense else sp.csr_matrix(x), np.arange(len(x)), labels.indptr, labels.indices, *more
    )


RUNS = [
    ("mim", {}),
    ("mim", {"label_coding": "lp"}),
    ("mim", {"bias_correction": "miller-madow"}),
    ("mim", {"bias_correction": "chance"}),
    ("mim", {"bias_correction": "chance", "label_coding": "lp"}),
    ("chi2", {}),
    ("chi2", {"aggregate": "mean"}),
    ("chi2", {"aggregate": "max"}),
    ("chi2", {"label_coding": "lp"}),
    ("enm", {}),
    ("gmm", {}),
    ("gmm", {"bias_correction": "miller-madow"}),
    ("igmf", {}),
    ("jmi", {}),
    ("jmi", {"label_coding": "lp"}),
    ("jmi", {"bias_correction": "miller-madow"}),
    ("scls", {}),
    ("mdmr", {}),
]
MOMENTS = [
    ("f-statistic", {}),
    ("fisher", {}),
    ("fisher", {"label_coding": "overlap"}),
    ("fisher", {"label_coding": "lp"}),
]
KINDS = ("binary", "counts", "signed", "dense", "unknown")
HEAVY = MOMENTS[:3]  # what takes grades
GRADED = Grades.of({"graded_labels": True})


def engine(kind, **budgets):
    block = block_of(*table(kind), dense=kind == "dense")
    return LocalEngine(profile_block(block, Q), [block], Budgets(**budgets))


def scores(engine, method, given, count=4):
    found = METHODS.create(method)
    return found.score(engine, check(found.parameters, given, method), count)


def bits(scores):
    path = scores.path
    return scores.values.tobytes(), path and (path.picks, path.gains)


@pytest.fixture
def ended(monkeypatch):
    """All counts are finished where they are made."""
    monkeypatch.setattr(
        Engine,
        "collects_whole_states",
        lambda engine, statistic, beside=0: not statistic.shardable(engine.profile),
    )


def test_a_feature_alone_has_the_bits_it_has_among_others():
    """Of a geometric mean over many labels, some of one value: sums go by the layout of what is
    added."""
    engine_ = engine("dense")
    method = METHODS.create("gmm")
    whole = method.score(engine_, check(method.parameters, {}, "gmm"), 4).values
    reduction = method.reduction(counting.Counting(engine_, check(method.parameters, {}, "gmm")))
    counts = counting.Counting(engine_, check(method.parameters, {}, "gmm")).two_way
    for feature in range(counts.count):
        one = replace(
            counts, table=counts.table[feature : feature + 1], first=feature, last=feature + 1
        )
        assert reduction(one).tobytes() == whole[feature : feature + 1].tobytes()


@pytest.mark.slow
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("method", "given"), RUNS, ids=lambda v: str(v))
def test_pieces_give_the_bits_of_the_whole(kind, method, given, monkeypatch, request):
    whole = scores(engine(kind), method, given)
    request.getfixturevalue("ended")
    for budget in (1 << 30, 1 << 19):
        cut = engine(kind)
        cut.budgets = Budgets(worker=budget)  # edges only: the rows are what they are
        monkeypatch.setattr(cut, "_refuse", lambda statistics: [])
        assert bits(scores(cut, method, given)) == bits(whole)


@pytest.mark.parametrize("kind", ["binary", "counts", "signed"])
def test_stored_counts_against_full_tables(kind):
    """The same from a dense table of the same codes, and from scikit-learn."""
    thin, full = engine(kind), engine(kind)
    p = {"num_bins": 5, "binning": "width"}
    full._codings[5, "width"] = replace(full.coding(), sparse=False)
    assert thin.coding().sparse
    for method, given in RUNS:
        one, other = (scores(e, method, given).values for e in (thin, full))
        assert np.allclose(one, other, rtol=1e-9, atol=1e-13), (method, given)
    coding, (coded,) = thin.coding(), thin._read(TwoWay(thin.coding(), thin.labels()))
    _, y, _ = table(kind)
    codes = np.stack([coded.feature(coding, f) for f in range(thin.num_features)], axis=1)
    each = np.array(
        [[mutual_info_score(y[:, label], codes[:, f]) for label in range(Q)] for f in (0, 3, 30)]
    )
    assert np.allclose(
        scores(thin, "enm", p).values[[0, 3, 30]], np.sqrt((each**2).sum(axis=1)), rtol=1e-9
    )
    if kind == "binary":
        # of indicators, scikit-learn's χ² is the half of the table where the feature is 1
        found = scores(thin, "chi2", {}).values
        x = table(kind)[0]
        both = [label for label in range(Q) if 0 < y[:, label].sum() < len(y)]
        wanted = sum(
            sklearn_chi2(x, y[:, label])[0] + sklearn_chi2(1 - x, y[:, label])[0] for label in both
        )
        assert np.allclose(found, wanted, rtol=1e-9)


@pytest.mark.parametrize("kind", ["binary", "counts", "signed", "unknown"])
@pytest.mark.parametrize(("method", "given"), MOMENTS, ids=lambda v: str(v))
def test_moments_of_stored_values_against_dense_ones(kind, method, given, monkeypatch):
    one = scores(engine(kind), method, given).values
    assert moments.thin(engine(kind).profile)
    dense = block_of(*table(kind), dense=True)
    assert (
        scores(LocalEngine(profile_block(dense, Q), [dense]), method, given).values.tobytes()
        == one.tobytes()
    )
    with monkeypatch.context() as patch:
        for module in (moments, fisher):
            patch.setattr(module, "thin", lambda profile: False)
        assert np.allclose(scores(engine(kind), method, given).values, one, rtol=1e-9, atol=1e-13)
    cut = engine(kind)
    cut.budgets = Budgets(worker=1 << 16)
    monkeypatch.setattr(cut, "_refuse", lambda statistics: [])
    assert scores(cut, method, given).values.tobytes() == one.tobytes()


def heavy_block(kind, graded, weighted, dense=False):
    """The rows with grades of their labels, and weights of 14 million rows together."""
    block = block_of(*table(kind), dense=dense)
    rng = np.random.default_rng(4)
    half = block.n // 2  # rows repeat with their grades
    if graded:
        labels = int(block.label_indptr[half])
        units = rng.integers(1, ONE + 1, labels)
        units[rng.random(labels) < 0.2] = ONE
        block.grades = np.concatenate([units, units[: len(block.label_indices) - labels]]).astype(
            np.uint16
        )
    if weighted:
        block.weights = np.tile(rng.integers(1, 40_000, half).astype(float), 2)
    return block


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "graded", "weighted"),
    [
        ("binary", True, True),
        ("counts", True, False),
        ("counts", False, True),
        ("signed", True, True),
        ("signed", False, True),
    ],
)
def test_moments_of_heavy_rows_end_on_the_executors(kind, graded, weighted, monkeypatch):
    """Grades and weights beyond int64: as dense tables of the same have them, to the bit wherever
    rows and features are cut."""
    block = heavy_block(kind, graded, weighted)
    held = LocalEngine(profile_block(block, Q), [block])
    assert (
        moments.thin(held.profile) and moments.heavy(held.profile) and held.profile.graded == graded
    )
    for method, given in HEAVY if graded else MOMENTS:
        (statistic,) = METHODS.create(method).needs(
            held, check(METHODS.create(method).parameters, given, method)
        )
        sharded = isinstance(statistic, FeatureNumbers)
        assert (sharded and statistic.parts[0].stored) or given == {"label_coding": "lp"}
        one = scores(held, method, given).values
        with monkeypatch.context() as patch:
            for module in (moments, fisher):
                patch.setattr(module, "thin", lambda profile: False)
            table_ = scores(LocalEngine(held.profile, [block]), method, given).values
        assert np.allclose(table_, one, rtol=1e-9, atol=1e-13), method
        if not sharded:
            continue
        for cuts_ in ((0, 100, 101, 450, block.n), tuple(range(0, block.n + 1, 140))):
            parts = [block.part(a, z) for a, z in itertools.pairwise(cuts_)]
            edges = np.arange(0, held.num_features + 1, 10)
            pieces = [[*statistic.shards([part], held.profile, edges)] for part in parts]
            for i, (a, z) in enumerate(itertools.pairwise(edges)):
                state = pieces[0][i]
                for other in pieces[1:]:
                    assert len(encode(compact(other[i]))) <= statistic.shard_bytes(
                        held.profile, a, z
                    )
                    state = statistic.merge(decode(encode(compact(other[i]))), state)
                numbers = statistic.reduce_shard(state, a, z, held.profile)
                assert (
                    numbers.tobytes()
                    == np.ascontiguousarray(held.run(statistic)[0][:, a:z]).tobytes()
                )


def test_two_words_hold_what_leaves_int64():
    """Sums of values of 41 bits times counts of 51, against Python's own whole numbers."""
    rng = np.random.default_rng(0)
    values = sp.csr_matrix(
        rng.integers(-(1 << 40), 1 << 40, (5, 300)) * (rng.random((5, 300)) < 0.4)
    )
    values.data[:40] = 1 << 40
    by = sp.csr_matrix(rng.integers(0, 1 << 51, (300, 7)) * (rng.random((300, 7)) < 0.5))

    def product(data, right):
        return sp.csr_matrix((data, values.indices, values.indptr), shape=values.shape) @ right

    low, above = (word.toarray() for word in moments._two_words(values.data, by, product))
    exact_ = values.toarray().astype(object) @ by.toarray().astype(object)
    assert (low >= 0).all() and (low < 1 << 40).all() and max(map(abs, exact_.ravel())) > 1 << 64
    assert (above.astype(object) * (1 << 40) + low.astype(object) == exact_).all()


@pytest.mark.slow
@pytest.mark.parametrize(("method", "given"), HEAVY[:2], ids=lambda v: str(v))
def test_grades_of_sparse_wide_rows_take_no_table_of_features_and_labels(method, given):
    """2000 features by 5000 labels: 800 MB as a table; the driver takes 8 MB, a worker 16 MB."""
    rng = np.random.default_rng(1)
    n, d, q = 3000, 2000, 5000
    x = sp.random(
        n // 2,
        d,
        0.005,
        "csr",
        random_state=1,
        data_rvs=lambda size: rng.integers(1, 6, size).astype(float),
    )
    x = sp.vstack([x, x], format="csr")
    y = sp.random(n, q, 3 / q, "csr", random_state=2)
    block = Block(x, np.arange(n), y.indptr, y.indices)
    block.grades = rng.integers(1, ONE + 1, y.nnz).astype(np.uint16)
    held = LocalEngine(profile_block(block, q), [block], Budgets(driver=8 << 20, worker=16 << 20))
    assert moments.GroupMoments(held.labels()).state_bytes(held.profile) > 1 << 29
    found = scores(held, method, given).values
    some, g = x[:, :25].toarray(), np.zeros((n, q))
    g[block.label_rows(), y.indices] = block.grades / ONE
    g = g[:, g.any(axis=0)]
    mean, size = (g.T @ some) / g.sum(axis=0)[:, None], g.sum(axis=0)[:, None]
    square = (g.T @ (some * some)) - size * mean**2
    if method == "f-statistic":
        centre = (g.sum(axis=1) @ some) / g.sum()
        wanted = (size * (mean - centre) ** 2).sum(axis=0) / square.sum(axis=0)
        wanted *= max(n - q, 1) / (q - 1)
    else:
        rest = (some.sum(axis=0) - size * mean) / (n - size)
        outside = (some**2).sum(axis=0) - size * mean**2 - square - (n - size) * rest**2
        between = (
            size * (mean - some.mean(axis=0)) ** 2 + (n - size) * (rest - some.mean(axis=0)) ** 2
        )
        wanted = (between / (square + outside)).mean(axis=0)
    varying = held.profile.varying
    assert np.allclose(found[: (varying < 25).sum()], wanted[varying[varying < 25]], rtol=1e-8)


def test_beyond_four_million_rows_sums_of_squares_are_two_words(monkeypatch):
    one = [scores(engine("signed"), *run).values.tobytes() for run in MOMENTS]
    monkeypatch.setattr(exact, "WIDE_ROWS", 1)
    assert [scores(engine("signed"), *run).values.tobytes() for run in MOMENTS] == one


@pytest.mark.parametrize("kind", KINDS)
def test_no_piece_is_larger_than_it_announces(kind, ended):
    held = engine(kind)
    p = check(METHODS.create("mim").parameters, {}, "mim")
    (statistic,) = METHODS.create("mim").needs(held, p)
    for size in (1, 2000, 1 << 20):
        edges = statistic.edges(held.profile, size)
        assert edges[0] == 0 and edges[-1] == held.num_features and (np.diff(edges) > 0).all()
        states = statistic.shards(held._read(statistic), held.profile, edges)
        for a, z, state in zip(edges[:-1], edges[1:], states, strict=True):
            assert len(encode(compact(state))) <= statistic.shard_bytes(held.profile, a, z)


def test_cuts():
    assert cuts(np.array([3, 3, 3, 9, 1, 1]), 6).tolist() == [0, 2, 3, 4, 6]
    assert cuts(np.full(7, 2), 5, 3).tolist() == [0, 3, 6, 7]
    assert cuts(np.zeros(0, int), 5).tolist() == [0]


def frame_of(spark, kind, partitions):
    """The rows as a frame, in as many partitions."""
    x, y, unknown = table(kind)
    labels = np.where(unknown, None, y.astype(float))
    rows = [(row.tolist(), of_row.tolist()) for row, of_row in zip(x, labels, strict=True)]
    return spark.createDataFrame(rows, "features array<double>, labels array<double>").repartition(
        partitions
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["counts", "dense"])
def test_any_partitions_give_the_same_bits(spark, kind, ended, monkeypatch):
    runs = [*RUNS[:4], ("jmi", {}), *(MOMENTS[:2] if kind == "counts" else [])]
    whole = {str(run): bits(scores(engine(kind), *run)) for run in runs}
    for partitions in (1, 3) if kind == "counts" else (3,):
        packed = pack(frame_of(spark, kind, partitions))
        run = SparkEngine(
            packed, Budgets(worker=1 << 18)
        )  # some rows at a time, some features at a time
        for method, given in runs:
            assert bits(scores(run, method, given)) == whole[str((method, given))], (
                partitions,
                method,
            )
        assert run.cost.driver_bytes < 40 * 16 * 100
        run.release()
        packed.release()


@pytest.mark.slow
def test_grades_in_any_partitions_give_the_same_bits(spark):
    """700 sparse rows of three grades a label: arrays, one task, and tasks that hold a few rows and
    features at a time."""
    x, y, _ = table("counts")
    graded = y * np.random.default_rng(2).choice([0.25, 0.7, 1.0], y.shape)
    held = pack_arrays(sp.csr_matrix(x), graded, grades=GRADED)[0]
    whole = {str(run): bits(scores(LocalEngine(held.profile, [held.block]), *run)) for run in HEAVY}
    # a ranking leaves constant labels out, which statistics know nothing of
    (ranked,) = pipeline.rank(held, [pipeline.Request.of("f-statistic", {})])
    rows = [(row.tolist(), of_row.tolist()) for row, of_row in zip(x, graded, strict=True)]
    frame = spark.createDataFrame(rows, "features array<double>, labels array<double>")
    for partitions in (1, 3):
        packed = pack(frame.repartition(partitions), grades=GRADED)
        run = SparkEngine(packed, Budgets(worker=1 << 18))
        for method, given in HEAVY:
            (statistic,) = METHODS.create(method).needs(
                run, check(METHODS.create(method).parameters, given, method)
            )
            assert not run.collects_whole_states(statistic.parts[0]) and packed.profile.graded
            assert bits(scores(run, method, given)) == whole[str((method, given))], (
                partitions,
                method,
            )
        (one,) = pipeline.rank(
            packed, [pipeline.Request.of("f-statistic", {})], small_bytes=1 << 40
        )
        assert one.scores.values.tobytes() == ranked.scores.values.tobytes()
        assert run.cost.driver_bytes < 40 * 16 * 100
        run.release()
        packed.release()


def test_a_feature_that_no_worker_may_hold_is_refused(ended):
    for held in (engine("counts", worker=1000), engine("dense", worker=1000)):
        (statistic,) = METHODS.create("mim").needs(
            held, check(METHODS.create("mim").parameters, {}, "mim")
        )
        with pytest.raises(
            WorkerBudgetError,
            match=r"TwoWay over \d+ features needs 1 MB in one worker.*raise workerBytes",
        ):
            held.edges_of(statistic)


def test_a_task_counts_what_it_has_read_before_it_holds_too_much(ended):
    """However many rows there are: pieces are handed on for each share of them, and add up to the
    whole."""
    held = engine("counts")
    (statistic,) = METHODS.create("mim").needs(
        held, check(METHODS.create("mim").parameters, {}, "mim")
    )
    edges = held.edges_of(statistic)
    (coded,) = held._read(statistic)
    parts = [coded.take(np.arange(a, a + 70)) for a in range(0, 700, 70)]
    batches = [
        pa.RecordBatch.from_arrays([binary_array(part.encode())], names=["block"]) for part in parts
    ]

    def numbers(share):
        states = [*sharded_states(iter(batches), [statistic], held.profile, [edges], share)]
        (merged,) = reduce_shards(iter(states), [statistic], held.profile, [edges])
        return len(states), decode(merged.column(2)[0].as_py())["numbers"]

    once, whole = numbers(1 << 30)
    often, found = numbers(len(parts[0].encode()) + 1)
    assert (once, often) == (1, 5)
    assert found.tobytes() == whole.tobytes() == held.run(statistic)[0].tobytes()


@pytest.mark.parametrize("held_together", [True, False])
def test_counts_are_kept_in_one_process_only_where_they_fit(monkeypatch, held_together):
    """Where all rows are, two-way counts stay for the links of every pick, if the process may hold
    them, the rows and what is laid out of them; else each pick counts them again, range by range.
    The bits are the same."""
    held = engine("counts")
    whole = scores(held, "jmi", {})
    two_way = TwoWay(held.coding(), held.labels())
    size = two_way.state_bytes(held.profile)
    assert two_way.key() in held._results
    links = held._results[two_way.key()].links
    arrays = [
        v
        for holder in (links, *links.parts)
        for v in vars(holder).values()
        if isinstance(v, np.ndarray)
    ]
    assert (
        sum(v.nbytes for v in arrays) + size <= COUNT_COPIES * size
    )  # what is told before they are made
    wide = engine("counts")
    wide.budgets = Budgets(worker=wide.bytes_of_counts(two_way) - (not held_together))
    monkeypatch.setattr(wide, "_refuse", lambda statistics: [])
    assert bits(scores(wide, "jmi", {})) == bits(whole)
    assert (two_way.key() in wide._results) is held_together
