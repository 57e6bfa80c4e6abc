"""Label quotas against the oracle, on arrays, in ranges of labels, from states and on Spark."""

from __future__ import annotations

import itertools
from dataclasses import replace
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from oracles import loader
from oracles import quota as oracle

from spark_mlfs import BudgetError, DataError, ParameterError, pipeline, rank, states
from spark_mlfs.blocks.codec import decode, encode
from spark_mlfs.blocks.coding import BINNED, LARGER, NOT_ZERO, rules_of
from spark_mlfs.blocks.profile import Profile, profile_block
from spark_mlfs.engine.base import Engine
from spark_mlfs.engine.local import LocalEngine, SizingEngine
from spark_mlfs.engine.spark import SparkEngine
from spark_mlfs.errors import DataNotice, SparkMlfsError
from spark_mlfs.kernels.label_places import leading, ranks_of
from spark_mlfs.methods import METHODS, label_entries
from spark_mlfs.sklearn import QuotaSelector
from spark_mlfs.statistics.base import Budgets, compact
from spark_mlfs.testing import rank_here

KINDS = {
    "numbers": lambda rng, zero: rng.normal(size=len(zero)),
    "0 and 1": lambda rng, zero: rng.integers(0, 2, len(zero)),
    "two values": lambda rng, zero: rng.choice([2.0, 5.0], len(zero)),
    "mostly 0": lambda rng, zero: np.where(zero, 0, rng.normal(size=len(zero))),
    "counts": lambda rng, zero: np.where(zero, 0, rng.integers(1, 4, len(zero))),
    "0 and -1": lambda rng, zero: np.where(zero, 0, -1.0),
    "constant": lambda rng, zero: np.full(len(zero), 3.0),
    "negative": lambda rng, zero: rng.integers(-3, 0, len(zero)),
}


def table(seed):
    """Some columns of each kind, twins among them, and labels rare, common, constant, unknown."""
    rng = np.random.default_rng(seed)
    n, d, q = rng.integers(12, 60), rng.integers(2, 14), rng.integers(1, 6)
    columns = [
        KINDS[kind](rng, rng.random(n) < rng.choice([0.1, 0.4, 0.6, 0.9]))
        for kind in rng.choice([*KINDS], d)
    ]
    X = np.stack([rng.normal(size=n), *columns, columns[0]], axis=1)
    Y = (rng.random((n, q)) < rng.choice([0.1, 0.3, 0.5, 0.9], q)).astype(float)
    Y[:2, 0] = 0, 1
    if rng.random() < 0.3:
        Y[rng.random((n, q)) < 0.15] = np.nan
        Y[:2, 0] = 0, 1
    return X, Y, rng


def settings(rng, n, d, q):
    """Arguments of `rank` and of the oracle."""
    ours, theirs = {}, {}
    if rng.random() < 0.3:
        whole = rng.integers(1, 6, n)
        unit = rng.choice([1.0, 0.25])
        ours["sample_weight"] = whole * unit
        theirs |= {"weights": whole, "unit": unit}
    elif rng.random() < 0.2:
        ours["binning"], theirs["quantile"] = "quantile", True
    common = {
        "label_weights": lambda: [1.0, *rng.choice([0, 0.5, 1, 2.0], q - 1).tolist()],
        "power": lambda: float(rng.choice([0, 0.5, 0.75, 2])),
        "per_label": lambda: int(rng.integers(1, 4)),
        "num_bins": lambda: int(rng.choice([2, 3, 8])),
    }
    if rng.random() < 0.15:
        ours["label_noise"] = theirs["noise"] = [0.04, 0.25]
    for name, value in common.items():
        if rng.random() < 0.3:
            ours[name] = theirs[name] = value()
    k = None if rng.random() < 0.4 else int(rng.integers(2, d))
    include, exclude = [], []
    if rng.random() < 0.3:
        include, exclude = ([int(f)] for f in rng.permutation(d)[:2])
        ours |= {"include": include, "exclude": exclude}
        theirs |= {"include": include, "exclude": exclude}
    return {"k": k, **ours}, {"count": k, **theirs}


def check_against_oracle(X, Y, ours, theirs):
    order, score, with_turn = oracle.rank(X, Y, **theirs)
    include = theirs.get("include", [])
    order = include + [f for f in order if f not in include]
    count = len(order) if ours["k"] is None else ours["k"]
    if "per_label" in ours:
        count = min(count, len(with_turn.union(include)))
    results = [rank(x, Y, "quota", **ours) for x in (X, sp.csr_matrix(X))]
    pd.testing.assert_frame_equal(*results, check_exact=True)
    assert results[0]["index"].tolist() == order[:count]
    np.testing.assert_allclose(results[0]["score"], score[order[:count]], rtol=1e-8)


@pytest.mark.parametrize("seed", range(25))
def test_quotas_are_the_oracles(seed):
    for number in range(4):
        X, Y, rng = table([seed, number])
        check_against_oracle(X, Y, *settings(rng, *X.shape, Y.shape[1]))


SETS = ("flags", "emotions", "yeast")
SLOW_SETS = ("birds", "scene", "enron", "slashdot", "corel5k")


@pytest.mark.parametrize(
    "name", [*SETS, *(pytest.param(name, marks=pytest.mark.slow) for name in SLOW_SETS)]
)
def test_real_sets_as_the_oracle_has_them(name, data_dir):
    X, Y = loader.load(name, data_dir)[:2]
    k = max(2, X.shape[1] // 10)
    check_against_oracle(X, Y.astype(float), {"k": k}, {"count": k})


def test_quotas_by_hand():
    """Three labels of 4, 2 and 1 rows: turns 1/4, 2/4, 1/2, 1/1."""
    Y = np.array([[1, 0, 0], [1, 0, 0], [1, 1, 0], [1, 1, 0], [0, 0, 1], [0, 0, 0], [0, 0, 0]])
    X = np.array(
        [  # of label 0, its copy but for a row, of label 1, of label 2, of none, constant
            [1, 1, 0, 0, 0, 7],
            [1, 1, 0, 0, 0, 7],
            [1, 1, 1, 0, 0, 7],
            [1, 0, 1, 0, 0, 7],
            [0, 0, 0, 1, 0, 7],
            [0, 0, 0, 0, 1, 7],
            [0, 0, 0, 0, 1, 7],
        ]
    )
    ranking = rank(X, Y, "quota", k=None)
    assert ranking["index"].tolist() == [0, 1, 2, 3, 4, 5]
    assert ranking["score"].tolist() == [4, 2, 2, 1, 0, 0]
    assert rank(X, Y, "quota", k=None, per_label=1)["index"].tolist() == [0, 2, 3]
    assert rank(X, Y, "quota", k=2, per_label=1)["index"].tolist() == [0, 2]
    third = rank(X, Y, "quota", k=1, label_weights=[1, 1, 10])
    assert third["index"].tolist() == [3] and third["score"].tolist() == [10]
    assert rank(X, Y, "quota", k=None, power=0)["score"].tolist() == [1, 1, 1, 0.5, 0, 0]


def test_a_number_of_features_is_optional_beside_places_of_labels():
    rng = np.random.default_rng(0)
    X, Y = (rng.random((300, 90)) < 0.2).astype(float), (rng.random((300, 60)) < 0.2).astype(int)
    _, _, union = oracle.rank(X, Y.astype(float), per_label=2)
    assert len(union) > 50
    chosen = QuotaSelector(per_label=2).fit(X, Y)
    assert set(chosen.get_support(indices=True)) == union
    assert QuotaSelector(per_label=2, num_top_features=7).fit(X, Y).get_support().sum() == 7


def test_noise_of_labels_is_corrected_first():
    """Of a label that is missed in half of its rows and never invented, a and N are doubled."""
    rng = np.random.default_rng(1)
    Y = rng.random((4000, 3)) < [0.1, 0.3, 0.4]
    X = (rng.random((4000, 6)) < 0.2) | (Y[:, [0, 1, 2, 0, 1, 2]] & (rng.random((4000, 6)) < 0.5))
    seen = Y & (rng.random(Y.shape) < 0.5)
    corrected = rank(X, seen.astype(int), "quota", k=None, label_noise=[0, 0.5])
    plain = rank(X, seen.astype(int), "quota", k=None)
    assert corrected["index"].tolist() == plain["index"].tolist()
    np.testing.assert_allclose(corrected["score"], 2 * plain["score"], rtol=1e-6)
    dense = rank(X.astype(float), seen.astype(int), "quota", k=None, label_noise=[0.02, 0.3])
    thin = rank(sp.csr_matrix(X), seen.astype(int), "quota", k=None, label_noise=[0.02, 0.3])
    pd.testing.assert_frame_equal(dense, thin, check_exact=True)


def test_what_it_does_not_take():
    X, Y, _ = table(1)
    for setting in ({"label_coding": "lp"}, {"label_sketch": 3}, {"bias_correction": "chance"}):
        with pytest.raises(ParameterError, match="has no parameter"):
            rank(X, Y, "quota", **setting)
    with pytest.raises(ParameterError, match="takes labels of 0 and 1, not grades"):
        rank(X, np.nan_to_num(Y) / 2, "quota", graded_labels=True)
    for setting in ({"power": -1}, {"per_label": 0}, {"power": float("nan")}):
        with pytest.raises(ParameterError, match="must be"):
            rank(X, Y, "quota", **setting)


def test_groups_costs_and_rules_see_all_places():
    """As many places as features: the same whatever the number that is kept."""
    X, Y, _ = table(7)
    Y = np.nan_to_num(Y)
    names = [f"x{j}" for j in range(X.shape[1])]
    for setting in (
        {"groups": {"pair": [0, 1]}},
        {"costs": {"*": 2.0}},
        {"costs": {"*": 2.0}, "budget": 5},
    ):
        small = rank(pd.DataFrame(X, columns=names), Y, "quota", k=2, **setting)
        whole = rank(pd.DataFrame(X, columns=names), Y, "quota", k=len(names), **setting)
        assert small["score"].tolist() == whole["score"].tolist()[: len(small)]
    score = oracle.rank(X, Y)[1]
    grouped = rank(X, Y, "quota", k=None, groups={"three": [0, 1, 2, 3]})
    mean = np.sort(score[:4])[-3:].mean()
    before = grouped["group"].eq("three").to_numpy().argmax()
    assert (grouped["score"][:before] >= mean).all()


# ---- facts of the columns ----


def test_features_that_say_nothing_of_a_label_leave_none_and_say_so():
    """Each column is independent of the label in this very sample: every place is missing."""
    X = np.array([[0, 1], [1, 0], [0, 1], [1, 0]] * 5)
    Y = np.array([[0], [0], [1], [1]] * 5)
    reason = "quota gives no feature a score above 0: .*leave per_label out"
    with pytest.warns(DataNotice, match=reason):
        assert not len(rank(X, Y, "quota", per_label=1))
    constraints = ({"exclude": ["x0"]}, {"groups": {"a": ["x0", "x1"]}}, {"costs": {"*": 2.0}})
    for constraint in constraints:
        with pytest.raises(ParameterError, match=reason):
            rank(X, Y, "quota", 2, per_label=1, **constraint)
    included = rank(X, Y, "quota", 2, per_label=1, include=["x1"])
    assert included["name"].tolist() == ["x1"]


def test_rules_of_columns_follow_their_values_alone():
    X = np.array([[0, 0, 0, 2, -1, 1], [0, 0, 1, 5, 0, 2], [3, 0, 1, 5, -1, 3.0]])
    y = sp.csr_matrix(np.array([[1.0], [0], [1]]))

    def profile(rows, dense, weights=None):
        x = X[rows] if dense else sp.csr_matrix(X[rows])
        from spark_mlfs.blocks.block import Block

        part = y[rows]
        return profile_block(
            Block(x, np.array(rows), part.indptr, part.indices, weights=weights), 1
        )

    for dense in (True, False):
        whole = profile([0, 1, 2], dense)
        assert whole.filled.tolist() == [1, 0, 2, 3, 2, 3]
        assert whole.two_valued.tolist() == [True, True, True, True, True, False]
        expected = [NOT_ZERO, NOT_ZERO, NOT_ZERO, LARGER, LARGER, BINNED]
        assert rules_of(whole).tolist() == expected
        merged = Profile()
        for row in (2, 0, 1):
            merged = merged.merge(profile([row], dense))
        for name in ("filled", "two_valued"):
            assert getattr(merged, name).tolist() == getattr(whole, name).tolist()
        heavy = profile([0, 1, 2], dense, np.array([1.0, 5.5, 1]))
        assert rules_of(heavy)[4] == NOT_ZERO  # 0 weighs 5.5 of 7.5
        assert (heavy.filled * heavy.weight_unit).tolist() == [1, 0, 6.5, 7.5, 2, 7.5]
        assert whole.label_pairs.tolist() == ([12] if dense else [8])


def test_ranks_are_nine_digits():
    rng = np.random.default_rng(0)
    values = 10 ** rng.uniform(-30, 20, 5000)
    values = np.concatenate([values, [0.99999999996, 1, 9.9999999996, 1.000000001, 1e-300, 0]])
    digits = np.array([oracle.nine(value) for value in values])
    order = np.argsort(digits, kind="stable")
    steps = np.diff(ranks_of(values)[order])
    assert ((np.diff(digits[order]) > 0) == (steps > 0)).all() and (steps >= 0).all()


@pytest.mark.parametrize("most", [None, 1, 7, 400])
def test_the_first_of_many_entries(most):
    rng = np.random.default_rng(2)
    counts = np.array([0, 3000, 5, 1, 2500, 0, 40])
    starts = np.concatenate([[0], np.cumsum(counts)])
    values = rng.integers(1, 60, starts[-1]) / 64
    entries, place = leading(starts, values, most)
    expected = []
    for first, last in itertools.pairwise(starts.tolist()):
        order = sorted(range(first, last), key=lambda i: (-values[i], i))[:most]
        expected += [*zip(order, itertools.count(1), strict=False)]
    assert [*zip(entries.tolist(), place.tolist(), strict=True)] == expected


def test_the_first_of_entries_of_any_size():
    """Also where label, value and place are too many for one number."""
    rng = np.random.default_rng(4)
    counts = rng.integers(0, 9, 300)
    starts = np.concatenate([[0], np.cumsum(counts)])
    for least, most in ((-12, 6), (-290, None), (-290, 2)):
        values = 10.0 ** rng.uniform(least, 1, starts[-1]).round(1)
        entries, place = leading(starts, values, most)
        expected = []
        for first, last in itertools.pairwise(starts.tolist()):
            order = sorted(range(first, last), key=lambda i: (-oracle.nine(values[i]), i))[:most]
            expected += [*zip(order, itertools.count(1), strict=False)]
        assert [*zip(entries.tolist(), place.tolist(), strict=True)] == expected


# ---- ranges of labels ----


def engine_of(seed, sparse, budgets=None):
    X, Y, _ = table(seed)
    rows, _ = pack(sp.csr_matrix(X) if sparse else X, Y)
    return LocalEngine(rows.profile, rows.blocks, budgets or Budgets())


def pack(X, Y):
    from spark_mlfs.blocks.arrays import pack_arrays

    return pack_arrays(X, Y)


@pytest.mark.parametrize("sparse", [False, True])
def test_ranges_of_labels_give_the_bits_of_the_whole(sparse, monkeypatch):
    for seed in range(12):
        engine = engine_of([9, seed], sparse)
        request = pipeline.Request.of("quota", {}, 3)
        whole = rank_here(engine, request)
        (statistic,) = METHODS.create("quota").needs(engine, request.settings)
        profile = engine.profile
        (block,) = engine._read(statistic)
        edges = np.unique(np.linspace(0, profile.q, 4).astype(int))
        parts = [block.take(np.arange(r, block.n, 3)) for r in range(3)]
        pieces = [[*statistic.shards([part], profile, edges)] for part in parts]
        numbers = []
        for piece, (first, last) in enumerate(itertools.pairwise(edges.tolist())):
            state = None
            for part in pieces:
                data = encode(compact(part[piece]))
                assert len(data) <= statistic.shard_bytes(profile, first, last)
                state = decode(data) if state is None else statistic.merge(decode(data), state)
            numbers.append(statistic.reduce_shard(state, first, last, profile))
        (expected,) = engine.run(statistic)
        assert statistic.gather(numbers).tobytes() == np.ascontiguousarray(expected).tobytes()
        with monkeypatch.context() as patch:
            patch.setattr(Engine, "collects_whole_states", lambda *_, **__: False)
            cut = engine_of([9, seed], sparse)
            patch.setattr(cut, "edges_of", lambda statistic, q=profile.q: np.arange(q + 1))
            again = rank_here(cut, request)
        assert again[0].tolist() == whole[0].tolist()
        assert again[1].tobytes() == whole[1].tobytes()


@pytest.mark.parametrize("sparse", [False, True])
def test_few_or_many_labels_at_once_give_the_same_bits(sparse, monkeypatch):
    for seed in range(12):
        request = pipeline.Request.of("quota", {}, 3)
        whole = rank_here(engine_of([9, seed], sparse), request)
        with monkeypatch.context() as patch:
            patch.setattr(label_entries, "CELLS", 1)
            patch.setattr(label_entries, "ENTRIES", 1)
            again = rank_here(engine_of([9, seed], sparse), request)
        assert again[0].tolist() == whole[0].tolist()
        assert again[1].tobytes() == whole[1].tobytes()


# ---- states ----


def day(rng, sparse, weighted):
    X = np.where(rng.random((60, 8)) < 0.2, rng.integers(-2, 4, (60, 8)), 0).astype(float)
    if not sparse:
        X[:, 0], X[:, 1] = rng.integers(0, 3, 60), rng.choice([2.0, 5.0], 60)
    Y = (rng.random((60, 5)) < 0.3).astype(float)
    Y[rng.random((60, 5)) < 0.1] = np.nan
    weights = rng.integers(1, 5, 60) / 4 if weighted else None
    return sp.csr_matrix(X) if sparse else X, Y, weights


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("sparse", [False, True])
def test_states_rank_as_their_rows(sparse, weighted, tmp_path):
    rng = np.random.default_rng([3, sparse, weighted])
    days = [day(rng, sparse, weighted) for _ in range(3)]
    first, *later = itertools.chain(
        [states.collect(*days[0][:2], "quota", name="0", sample_weight=days[0][2])]
    )
    later = [
        states.collect(X, Y, "quota", like=first, name=str(i), sample_weight=w)
        for i, (X, Y, w) in enumerate(days[1:], 1)
    ]
    merged = states.merge(first, *later)
    states.save(merged, str(tmp_path / "all"))
    stack = sp.vstack if sparse else np.vstack
    for held, chosen in (
        (merged, days),
        (states.load(str(tmp_path / "all")), days),
        (states.subtract(merged, later[0]), [days[0], days[2]]),
    ):
        X, Y = stack([d[0] for d in chosen]), np.vstack([d[1] for d in chosen])
        weights = np.concatenate([d[2] for d in chosen]) if weighted else None
        for setting in ({"k": None}, {"k": 3, "power": 0.5}, {"k": None, "per_label": 2}):
            from_rows = rank(X, Y, "quota", sample_weight=weights, **setting)
            from_states = states.rank(held, "quota", **setting)
            pd.testing.assert_frame_equal(from_states, from_rows, check_exact=True)


def test_states_refuse_a_column_that_became_of_another_kind():
    rows = [["a"], ["b"], ["a"], ["b"]]
    first = states.collect([[0.0], [0], [0], [1]], rows, "quota", name="first")
    other = states.collect([[3.0], [5], [4], [1]], rows, "quota", like=first, name="other")
    with pytest.raises(DataError, match="feature 'x0' is no longer of the kind"):
        states.rank(states.merge(first, other), "quota")
    plain = states.collect([[0.0], [0], [0], [1]], rows, "mim", name="first")
    with pytest.raises(SparkMlfsError, match="not collected for quota"):
        states.collect([[0.0], [0], [0], [1]], rows, "quota", like=plain, name="second")


# ---- Spark ----


@pytest.mark.slow
def test_partitions_give_what_arrays_give(spark):
    """Over partitions, rows repeated, whole states and ranges of labels."""
    from pyspark.ml.linalg import Vectors

    X, Y, _ = table(11)
    Y = np.nan_to_num(Y)
    X, Y = np.vstack([X, X[:7]]), np.vstack([Y, Y[:7]])
    wanted = rank(X, Y.astype(int), "quota", k=4)
    rows = [
        (Vectors.sparse(len(x), [*enumerate(x.tolist())]), Vectors.dense(y))
        for x, y in zip(X, Y, strict=True)
    ]
    frame = spark.createDataFrame(rows, ["features", "labels"]).repartition(3)
    request = pipeline.Request.of("quota", {}, 4)
    for budgets in ({}, {"small_bytes": 0}, {"small_bytes": 0, "worker_bytes": 1 << 13}):
        (result,) = pipeline.rank(frame, [request], **budgets)
        kept = result.kept
        assert kept["index"].tolist() == wanted["index"].tolist()
        assert kept["score"].tolist() == wanted["score"].tolist()
    assert result.distributed


def test_its_statistic_is_announced():
    engine = engine_of(3, True)
    (statistic,) = METHODS.create("quota").needs(engine, pipeline.Request.of("quota", {}).settings)
    assert not statistic.by_features and replace(statistic).key() == statistic.key()


# ---- hundreds of thousands of labels ----


def reckoned(n, d, q, words, tags):
    """The profile of 0/1 rows whose words and labels follow 1/rank."""

    def spread(count, total):
        share = 1 / np.arange(1, count + 1)
        return np.clip(total * share / share.sum(), 1, n - 1).astype(np.int64)

    rows, positive = spread(d, n * words), spread(q, n * tags)
    return Profile(
        n=n,
        d=d,
        q=q,
        low=np.zeros(d),
        high=np.ones(d),
        binary=np.ones(d, bool),
        two_valued=np.ones(d, bool),
        nonzero=int(rows.sum()),
        stored=rows,
        filled=rows,
        positive=positive,
        unknown=np.zeros(q, np.int64),
        labelled=n,
        label_pairs=positive * words,
        feature_label_pairs=int(positive.sum()) * words,
        widest=20 * words,
        most_labels=20 * tags,
        size=int(5 * rows.sum() + 4 * positive.sum()) + 12 * n,
        partitions=64,
        sparse=True,
    )


@pytest.mark.slow
def test_what_670_000_labels_take_is_within_the_budgets():
    """Pieces of counts, and the numbers that meet on the driver; in one process 12 GB for all."""
    profile = reckoned(490_000, 136_000, 670_000, 76, 5)
    settings = pipeline.Request.of("quota", {}, 13_600).settings
    spark = SparkEngine(SimpleNamespace(profile=profile))
    here = SizingEngine(profile, Budgets(worker=12 << 30))
    for engine in (spark, here):
        (statistic,) = METHODS.create("quota").needs(engine, settings)
        edges = engine.edges_of(statistic)
        pieces = [*itertools.pairwise(edges.tolist())]
        largest = max(statistic.shard_bytes(profile, *piece) for piece in pieces)
        assert largest <= engine.budgets.worker // 8
        assert len(pieces) * 4 * 8 * profile.d <= 80 << 20
    assert here.fits([statistic])
    assert here.bytes_in_one_process([statistic], [here.bytes_at_once(statistic)]) <= 6 << 30
    spark.budgets = Budgets(driver=64 << 20)
    with pytest.raises(
        BudgetError, match=r"136000 features needs 75 MB on the driver, more than dr"
    ):
        spark.edges_of(statistic)
    spark.budgets = Budgets(worker=32 << 20)
    with pytest.raises(BudgetError, match=r"driver_?[bB]ytes|worker_?[bB]ytes"):
        spark.edges_of(statistic)
