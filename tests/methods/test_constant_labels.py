"""Labels that no row or every row has are left out by every method, as constant features are; and
one label that varies is one, however it is given."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from pyspark.ml.linalg import Vectors
from sklearn.feature_selection import f_classif
from sklearn.metrics import mutual_info_score

from spark_mlfs import METHODS, DataError, ParameterError, pipeline, rank, states
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.pack import pack
from spark_mlfs.evaluate.rowset import GramPool, RowSet
from spark_mlfs.pipeline import Request
from spark_mlfs.sklearn import FStatisticSelector, RidgeSelector
from spark_mlfs.states.needs import ADDITIVE, PAIRED
from spark_mlfs.statistics.base import Budgets

N = 120
D = 8
PLACES = [1, 3, 4]  # of the labels that vary among seven
FEW = {"k": D, "row_ids": np.arange(N)}


def table(seed=0):
    """Return features of two decimals, one of them 0 and 1, and three labels."""
    generator = np.random.default_rng(seed)
    x = generator.normal(size=(N, D)).round(2)
    x[:, 3] = x[:, 3] > 0
    y = x[:, :3] + generator.normal(size=(N, 3)) > 0.4
    return x, y.astype(float)


def with_constant_labels(y):
    """Return the labels at `PLACES` of seven, of which two are in every row, two in none."""
    out = np.zeros((len(y), 7))
    out[:, PLACES] = y
    out[:, [2, 6]] = 1
    return out


def thin(x):
    return sp.csr_matrix(np.where(np.arange(D * N).reshape(N, D) % 5 < 2, x, 0))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("layout", [np.asarray, thin], ids=["dense", "sparse"])
def test_constant_labels_change_no_bit_of_a_ranking(method, layout):
    x, y = table()
    settings = {"max_iter": 5} if method in ("mifs", "gmba") else {}
    before = rank(layout(x), y, method, k=D, **settings)
    after = rank(layout(x), with_constant_labels(y), method, k=D, **settings)
    pd.testing.assert_frame_equal(after, before, check_exact=True)


@pytest.mark.parametrize("seed", range(3))
def test_unknown_cells_of_a_constant_label_leave_no_row_out(seed):
    x, y = table(seed)
    y[::7, 0] = np.nan
    more = with_constant_labels(y)
    more[::5, 0] = np.nan
    more[::3, 2] = np.nan
    for method in ("mim", "lrfs", "ridge", "fisher", "f-statistic", "spec"):
        before = rank(x, y, method, **FEW)
        pd.testing.assert_frame_equal(rank(x, more, method, **FEW), before, check_exact=True)


def test_weights_of_labels_go_by_all_of_them():
    x, y = table()
    weights = [5.0, 2.0, 7.0, 0.5, 1.0, 0.0, 3.0]
    before = rank(x, y, "mim", label_weights=[weights[place] for place in PLACES])
    more = with_constant_labels(y)
    pd.testing.assert_frame_equal(rank(x, more, "mim", label_weights=weights), before)
    by_name = {f"y{place}": weights[place] for place in PLACES}
    named = pd.DataFrame(more, columns=[f"y{j}" for j in range(7)])
    pd.testing.assert_frame_equal(rank(x, named, "mim", label_weights=by_name), before)
    with pytest.raises(ParameterError, match="has 3 numbers, the data have 7 labels"):
        rank(x, more, "mim", label_weights=[1.0, 2.0, 3.0])
    with pytest.raises(ParameterError, match="label that varies"):
        rank(x, more, "mim", label_weights=[1.0, 0, 0, 0, 0, 0, 0])


@pytest.mark.parametrize(
    "settings",
    [
        {"sample_weight": np.arange(N) % 4},
        {"screen": "f-statistic:4"},
        {"exclude": [2], "include": [5]},
        {"groups": {"pair": [0, 4]}},
    ],
    ids=lambda settings: next(iter(settings)),
)
@pytest.mark.parametrize("method", ["jmi", "chi2", "f-statistic", "lasso"])
def test_constant_labels_beside_weights_screens_and_constraints(method, settings):
    x, y = table()
    before = rank(x, y, method, **FEW, **settings)
    after = rank(x, with_constant_labels(y), method, **FEW, **settings)
    pd.testing.assert_frame_equal(after, before, check_exact=True)


def test_a_grade_that_is_constant_is_left_out():
    x, y = table()
    graded = np.column_stack([np.full(N, 0.5), y, np.zeros(N)])
    for method in ("ridge", "f-statistic", "omfs"):
        before = rank(x, y, method, **FEW)
        after = rank(x, graded, method, graded_labels=True, **FEW)
        pd.testing.assert_frame_equal(after, before, check_exact=True)


@pytest.mark.parametrize("mode", ["fdr", "knockoffs", "stability"])
def test_constant_labels_change_no_rule(mode):
    x, y = table()
    settings = {"selection_mode": mode, "selection_seed": 3, "num_top_features": 3}
    before = RidgeSelector(**settings).fit(x, y).ranking_
    after = RidgeSelector(**settings).fit(x, with_constant_labels(y)).ranking_
    pd.testing.assert_frame_equal(after, before, check_exact=True)


# ---- states, whose merge makes a label vary ----


@pytest.mark.parametrize("layout", [np.asarray, thin], ids=["dense", "sparse"])
def test_states_leave_out_the_labels_that_are_constant_after_the_merge(layout):
    x, y = table()
    order = np.argsort(y[:, 0], kind="stable")  # label 0 has one value in the first rows
    x, y = layout(x[order]), y[order]
    half = int((y[:, 0] == 0).sum()) - 5
    more = with_constant_labels(y)
    methods = [*ADDITIVE, *PAIRED]
    first = states.collect(x[:half], more[:half], methods, name="one", pairs_of=D)
    second = states.collect(x[half:], more[half:], methods, first, name="two")
    merged = states.merge(first, second)
    # bins and grids are those of the first rows: compared with states of the labels that vary
    one = states.collect(x[:half], y[:half], methods, name="one", pairs_of=D)
    two = states.collect(x[half:], y[half:], methods, one, name="two")
    expected = states.merge(one, two)
    for method in methods:
        found = states.rank(merged, method, D)
        pd.testing.assert_frame_equal(found, states.rank(expected, method, D), check_exact=True)


# ---- Spark ----


def frame_of(spark, x, y):
    rows = [(Vectors.dense(a), Vectors.dense(b)) for a, b in zip(x, y, strict=True)]
    return spark.createDataFrame(rows, ["features", "labels"]).repartition(3)


@pytest.mark.slow
@pytest.mark.parametrize("small_bytes", [0, 1 << 40], ids=["distributed", "one task"])
def test_constant_labels_on_spark(spark, small_bytes):
    x, y = table()
    x, y = np.tile(x, (2, 1)), np.tile(y, (2, 1))  # content hashes are shared
    names = ["lrfs", "f-statistic", "omfs", "deepfs"]
    requests = [Request.of(name) for name in names]
    here, _ = pack_arrays(x, y)
    with pack(frame_of(spark, x, with_constant_labels(y))) as packed:
        there = pipeline.rank(packed, requests, small_bytes=small_bytes)
        assert packed.profile.q == 7 and not len(packed.profile.left_out)
    columns = ["index", "score", "relevance"]
    for one, two in zip(pipeline.rank(here, requests), there, strict=True):
        pd.testing.assert_frame_equal(two.ranking[columns], one.ranking[columns], check_exact=True)


@pytest.mark.slow
def test_the_gram_matrices_of_folds_go_without_the_labels_that_are_constant_there(spark):
    x, y = map(np.vstack, zip(*map(table, range(10)), strict=True))  # some in every group
    request = Request.of("ridge")
    with pack(frame_of(spark, x, with_constant_labels(y))) as packed:
        pool = GramPool.over(packed, [request], Budgets())
        assert pool is not None
        pooled, plain = RowSet(packed, Budgets(), pool), RowSet(packed, Budgets())
        orders = [
            pipeline.ranked(rows.engine, packed.profile.varying, request)[1].values
            for rows in (pooled, plain)
        ]
        assert pooled.engine().cost.scans + 1 == plain.engine().cost.scans
    np.testing.assert_allclose(orders[0], orders[1], rtol=1e-12)


# ---- one varying label ----


def forms_of(y):
    return {
        "(n,)": y,
        "(n, 1)": y[:, None],
        "frame": pd.DataFrame({"spam": y}),
        "tags": [["spam"] if label else [] for label in y],
        "with constants": np.column_stack([np.zeros(len(y)), y, np.ones(len(y))]),
        "sparse": sp.csr_matrix(y[:, None]),
    }


@pytest.mark.parametrize("form", forms_of(np.zeros(2, int)))
def test_one_label_has_the_f_statistic_of_scikit_learn(form):
    x, y = table()
    y = y[:, 0].astype(int)
    found = rank(x, forms_of(y)[form], "f-statistic", k=None)
    expected, _ = f_classif(x, y)
    np.testing.assert_allclose(found.sort_values("index")["score"], expected, rtol=1e-9)
    sparse = rank(thin(x), forms_of(y)[form], "f-statistic", k=None)
    expected, _ = f_classif(thin(x).toarray(), y)
    np.testing.assert_allclose(sparse.sort_values("index")["score"], expected, rtol=1e-9)


def test_the_f_statistic_of_one_label_with_weights_grades_and_unknown_cells():
    x, y = table()
    y = y[:, :1]
    weights = np.arange(N) % 3
    repeated = np.repeat(np.arange(N), weights)
    found = rank(x, y, "f-statistic", k=None, sample_weight=weights).sort_values("index")
    expected, _ = f_classif(x[repeated], y[repeated, 0])
    np.testing.assert_allclose(found["score"], expected, rtol=1e-9)
    unknown = y.copy()
    unknown[::4] = np.nan
    known = ~np.isnan(unknown[:, 0])
    found = rank(x, unknown, "f-statistic", k=None).sort_values("index")
    expected, _ = f_classif(x[known], y[known, 0])
    np.testing.assert_allclose(found["score"], expected, rtol=1e-9)
    # a row of grade 1/4 is a quarter of a row with the label, three of one without it
    grades = y * 0.5 + 0.25
    x4 = np.repeat(x, 4, axis=0)
    y4 = (np.arange(4 * N) % 4 < np.repeat(4 * grades[:, 0], 4)).astype(int)
    found = rank(x, grades, "f-statistic", k=None, graded_labels=True).sort_values("index")
    expected, _ = f_classif(x4, y4)
    np.testing.assert_allclose(found["score"], expected * (N - 2) / (4 * N - 2), rtol=1e-9)


@pytest.mark.parametrize("form", forms_of(np.zeros(2, int)))
def test_one_label_has_the_lrfs_of_its_information(form):
    x, y = table()
    y = y[:, 0].astype(int)
    found = rank(x, forms_of(y)[form], "lrfs", k=D)
    low, high = x.min(axis=0), x.max(axis=0)
    codes = np.minimum(np.floor((x - low) * 5 / (high - low)), 4).astype(int)
    codes[:, 3] = x[:, 3]
    relevance = np.array([mutual_info_score(codes[:, j], y) for j in range(D)])
    picks = found["index"].tolist()
    np.testing.assert_allclose(found.sort_values("index")["relevance"], relevance, rtol=1e-9)
    assert picks[0] == relevance.argmax()
    for number in range(1, D):
        pick = picks[number]
        redundancy = [mutual_info_score(codes[:, pick], codes[:, s]) for s in picks[:number]]
        score = relevance[pick] - np.mean(redundancy)
        assert abs(found["score"][number] - score) < 1e-9


def test_a_screen_of_one_label_keeps_the_good_feature():
    x, y = table()
    y = (x[:, 6] > 0).astype(int)[:, None]
    assert rank(x, y, "mim", k=1, screen="f-statistic:1")["index"].tolist() == [6]
    assert rank(x, y, "f-statistic", k=1)["index"].tolist() == [6]
    selector = FStatisticSelector(num_top_features=1).fit(x, y)
    assert selector.get_support(indices=True).tolist() == [6]


def test_states_of_one_label():
    x, y = table()
    for labels in (y[:, 0], y[:, :1], with_constant_labels(y)[:, [0, 1, 2]]):
        collected = states.collect(x, labels, ["f-statistic", "lrfs"], pairs_of=D)
        for method in ("f-statistic", "lrfs"):
            expected = rank(x, y[:, :1], method, k=D)
            found = states.rank(collected, method, D)
            assert found["index"].tolist() == expected["index"].tolist()
            np.testing.assert_allclose(found["score"], expected["score"], rtol=1e-8)


def test_relieff_in_pairs_refuses_one_label():
    x, y = table()
    message = "relieff compares labels two by two, and the data have one that varies"
    for labels in (y[:, :1], np.column_stack([y[:, 0], np.ones(N)])):
        with pytest.raises(DataError, match=re.escape(message)):
            rank(x, labels, "relieff")
    assert rank(x, y[:, :1], "relieff", k=1, mode="hamming")["relevance"][0] > 0


@pytest.mark.slow
def test_one_label_on_spark(spark):
    x, y = table()
    label = y[:, 0].astype(int)
    expected = rank(x, y[:, :1], "f-statistic", k=D)
    cells = {
        "array<int>": [[int(v)] for v in label],
        "array<double>": [[float(v)] for v in label],
        "array<string>": [["spam"] if v else [] for v in label],
    }
    for kind, values in cells.items():
        rows = [(x[i].tolist(), values[i]) for i in range(N)]
        frame = spark.createDataFrame(rows, f"features array<double>, labels {kind}")
        with pack(frame) as packed:
            assert packed.profile.q == 1
            for small_bytes in (0, 1 << 40):
                request = Request.of("f-statistic")
                (result,) = pipeline.rank(packed, [request], small_bytes=small_bytes)
                found = result.ranking
                assert found["index"].tolist() == expected["index"].tolist()
                assert found["score"].tolist() == expected["score"].tolist()
