"""Selection rules: evidence against naive forms on rows, the same whatever the partitioning, and
what estimators make of it."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from in_memory.grams import gram_of_rows
from oracles import regression as naive
from oracles.discretise import discretise
from pyspark.ml.functions import vector_to_array
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql import types as T
from scipy import stats

import spark_mlfs
from spark_mlfs import pipeline
from spark_mlfs.blocks.block import Block
from spark_mlfs.blocks.pack import pack
from spark_mlfs.blocks.profile import profile_block
from spark_mlfs.engine.local import LocalEngine
from spark_mlfs.errors import DataError, DataNotice, ParameterError
from spark_mlfs.kernels.hashing import group_of, normal
from spark_mlfs.methods import METHODS
from spark_mlfs.select.rules import Rule, passing
from spark_mlfs.select.stability_rule import PAIRS, error_bound, half_sample, halves, most_chosen
from spark_mlfs.sklearn import FStatisticSelector, RidgeSelector
from spark_mlfs.solvers.knockoffs import copies, sampler, statistic

N, D, Q, RELEVANT = 400, 30, 3, 8


def data(seed=0, n=N, d=D, sparse=False):
    """Features 0..7 drive three labels, 9 is constant, 10 binary, the rest noise; ids are not in
    order."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    if sparse:
        x[rng.random(x.shape) < 0.9] = 0
    x[:, 9], x[:, 10] = 1.5, x[:, 10] > 0.5
    effect = rng.choice([-1.0, 1.0], size=(RELEVANT, Q)) * rng.uniform(0.6, 1.2, size=(RELEVANT, Q))
    y = (x[:, :RELEVANT] @ effect * (3 if sparse else 1) + rng.normal(size=(n, Q)) > 0.5).astype(
        float
    )
    return x, y, rng.permutation(10 * n)[:n].astype(np.int64)


def engine_of(x, y, ids):
    """An engine over rows in this process; a label that is NaN is unknown."""
    labels, unknown = sp.csr_matrix(y == 1), sp.csr_matrix(np.isnan(y))
    lists = (
        labels.indptr,
        labels.indices,
        *((unknown.indptr, unknown.indices) if unknown.nnz else ()),
    )
    block = Block(sp.csr_matrix(x) if (x == 0).mean() > 0.5 else x, ids, *lists)
    return LocalEngine(profile_block(block, y.shape[1]), [block])


def evidence(x, y, ids, name, rule, **parameters):
    request = pipeline.Request.of(name, parameters, rule=rule)
    return rule.outcome(engine_of(x, y, ids), request.implementation, request.parameters)


# ---- the evidence ----


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("binning", ["width", "quantile"])
def test_p_values_from_rows_with_unknown_labels(sparse, binning):
    """SciPy's tests on the oracle's codes, over the rows in which the label is known, Cauchy
    combined, Benjamini–Hochberg."""
    x, y, ids = data(sparse=sparse)
    y[np.random.default_rng(1).random(y.shape) < 0.2] = np.nan
    tests = evidence(x, y, ids, "mim", Rule("fdr", 0.05), num_bins=4, binning=binning)
    codes = discretise(x, 4, binning)
    p = np.full(D, np.nan)
    for f in range(D):
        each = []
        for label in range(Q):
            known = ~np.isnan(y[:, label])
            table = pd.crosstab(codes[known, f], y[known, label]).to_numpy()
            if min(table.shape) > 1:
                few = len(y) <= 200 or stats.contingency.expected_freq(table).min() < 5
                test = "pearson" if few else "log-likelihood"
                found = stats.chi2_contingency(table, correction=False, lambda_=test)
                if few and table.shape == (2, 2):
                    found = stats.fisher_exact(table)
                each.append(found.pvalue)
        if f != 9:
            p[f] = stats.cauchy.sf(np.mean(1 / np.tan(np.pi * np.minimum(each, 1 - 1 / N))))
    assert np.allclose(tests.columns["p_value"], p, rtol=1e-6, atol=1e-14, equal_nan=True)
    tested = ~np.isnan(p)
    assert np.allclose(
        tests.columns["q_value"][tested],
        stats.false_discovery_control(p[tested]),
        rtol=1e-6,
        atol=1e-14,
    )
    assert np.array_equal(tests.passed[tested], stats.false_discovery_control(p[tested]) <= 0.05)
    assert not tests.passed[9] and tests.passed[:RELEVANT].sum() >= 5
    assert tests.facts["features_tested"] == D - 1 and tests.facts["tests"] == Q * (D - 1)


@pytest.mark.parametrize("scaling", ["standard", "minmax", "none"])
def test_knockoffs_from_rows(scaling):
    """The same knockoffs drawn on the whole matrix, and ridge on [X, X̃] by the naive solver."""
    x, y, ids = data()
    rule = Rule("knockoffs", 0.2, seed=7)
    against = evidence(x, y, ids, "ridge", rule, alpha=2.0, scaling=scaling)
    v = np.flatnonzero(x.std(axis=0) > 0)
    plain = gram_of_rows(x[:, v], y)
    drawing = sampler(plain.centred(), plain.centre_x)
    centred = x[:, v] - plain.centre_x
    made = drawing.shift + centred @ drawing.mean + normal(ids, v, 7) @ drawing.root
    both = np.hstack([x[:, v], made + plain.centre_x])
    scale = {"standard": both.std(axis=0), "minmax": np.ptp(both, axis=0), "none": 1.0}[scaling]
    w = np.full(D, np.nan)
    w[v] = statistic(naive.ridge((both - both.mean(axis=0)) / scale, y, 2.0)[0])
    w[9] = np.nan
    assert np.allclose(against.columns["knockoff"], w, atol=1e-7, equal_nan=True)
    assert against.passed[:RELEVANT].all() and against.facts["knockoffs_above"] == (w < 0).sum()


def test_knockoffs_leave_rows_with_unknown_labels_out():
    x, y, ids = data()
    y[::5, 0] = np.nan
    rule = Rule("knockoffs", 0.2)
    with_them = evidence(x, y, ids, "lasso", rule)
    known = ~np.isnan(y).any(axis=1)
    without = evidence(x[known], y[known], ids[known], "lasso", rule)
    assert np.allclose(
        with_them.columns["knockoff"], without.columns["knockoff"], atol=1e-6, equal_nan=True
    )
    with pytest.raises(ParameterError, match="fills in unknown labels"):
        evidence(x, y, ids, "csfs", rule)
    assert evidence(x[known], y[known], ids[known], "csfs", rule).kept >= RELEVANT


def test_half_samples_are_complementary_pairs_of_thirty_groups():
    pairs = halves(0)
    assert pairs.shape == (2 * PAIRS, 60) and (pairs.sum(axis=1) == 30).all()
    assert (pairs[::2] != pairs[1::2]).all()
    assert len(np.unique(pairs, axis=0)) == 2 * PAIRS and (halves(1) != pairs).any()


def test_frequencies_of_ridge_from_rows():
    x, y, ids = data()
    rare = np.zeros(N)
    rare[np.flatnonzero(group_of(ids) == 3)[:2]] = (
        1  # constant in every half-sample without group 3
    )
    x[:, 11] = rare
    stable = evidence(x, y, ids, "ridge", Rule("stability", 0.6, 9, seed=2), alpha=1.5)
    times = np.zeros(D)
    for half in halves(2):
        rows = half[group_of(ids)]
        v = np.flatnonzero(np.ptp(x[rows], axis=0) > 0)
        z = (x[rows][:, v] - x[rows][:, v].mean(axis=0)) / x[rows][:, v].std(axis=0)
        size = np.linalg.norm(naive.ridge(z, y[rows], 1.5)[0], axis=1)
        times[v[np.argsort(-size, kind="stable")[:9]]] += 1
    times[9] = np.nan
    assert np.array_equal(stable.columns["frequency"], times / (2 * PAIRS), equal_nan=True)
    assert stable.passed[:RELEVANT].all()
    assert stable.facts["expected_false_at_most"] == pytest.approx(81 / (0.2 * (D - 1)))


@pytest.mark.parametrize("name", ["chi2", "jmi"])
def test_frequencies_of_other_methods_are_those_of_runs_on_half_of_the_rows(name):
    x, y, ids = data(n=200)
    stable = evidence(x, y, ids, name, Rule("stability", 0.7, 5))
    times = np.zeros(D)
    for half in halves(0):
        rows = half[group_of(ids)]
        engine = engine_of(x[rows], y[rows], ids[rows])
        scores = METHODS.create(name).score(engine, pipeline.Request.of(name).parameters, 5)
        best = scores.path.picks if scores.path else np.argsort(-scores.values, kind="stable")
        times[engine.profile.varying[best[:5]]] += 1
    times[9] = np.nan
    assert np.array_equal(stable.columns["frequency"], times / (2 * PAIRS), equal_nan=True)


def test_a_score_of_zero_is_no_choice():
    """Lasso with a large penalty has fewer than K features: the others are not chosen by their
    index."""
    x, y, ids = data()
    stable = evidence(x, y, ids, "lasso", Rule("stability", 0.6, 20), alpha=0.08)
    assert stable.facts["mean_chosen"] < 15
    assert np.nanmax(stable.columns["frequency"][RELEVANT:]) < 0.6


def test_stability_keeps_few_features_of_noise():
    """Labels that no feature has to do with: the expected number kept is below the bound K²/((2π −
    1)d)."""
    kept = []
    for seed in range(8):
        x, y, ids = data(seed, n=200)
        y = (np.random.default_rng(seed).random(y.shape) < 0.4).astype(float)
        kept.append(evidence(x, y, ids, "ridge", Rule("stability", 0.8, 3)).kept)
    assert np.mean(kept) <= error_bound(3, 0.8, D - 1) + 2 * np.std(kept) / 8**0.5


def test_stability_as_it_comes_keeps_no_noise_of_few_features():
    """K from the number of features: 50 of 30 would keep every one, and says so where it is set."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 30))
    causes = x[:, :9].reshape(400, 3, 3).sum(axis=2) + rng.normal(size=(400, 3))
    y = (causes > causes.mean(axis=0)).astype(int)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        selector = FStatisticSelector(selection_mode="stability").fit(x, y)
    assert set(selector.selected_) <= set(range(9)) and len(selector.selected_) >= 3
    assert [most_chosen(0.6, d) for d in (3, 20, 30, 200, 4000)] == [1, 4, 6, 40, 50]
    assert most_chosen(0.9, 20) == 16
    with pytest.warns(DataNotice, match=r"keeps all 30 features.*up to 150 may be noise.* 6 at"):
        FStatisticSelector(selection_mode="stability", num_top_features=30).fit(x, y)


def test_knockoffs_name_copies():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(600, 20))
    y = (x[:, :6].reshape(600, 3, 2).sum(axis=2) + rng.normal(size=(600, 3)) > 0).astype(int)
    x = np.column_stack([x, x[:, 1], 3 - 2 * x[:, 4], x[:, 1] + 1e-3 * rng.normal(size=600)])
    assert [g.tolist() for g in copies(np.corrcoef(x.T))] == [[1, 20], [4, 21]]
    frame = pd.DataFrame(x, columns=[f"word {f}" for f in range(23)])
    told = (
        "tell no feature from a copy: 'word 1' and 'word 20', 'word 4' and 'word 21' are the same"
    )
    with pytest.warns(DataNotice, match=told):
        RidgeSelector(selection_mode="knockoffs", fdr=0.2).fit(frame, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        RidgeSelector(selection_mode="knockoffs", fdr=0.2).fit(frame.iloc[:, :20], y)


def test_half_sample_knows_what_is_constant():
    """Blocks whose profile says that a feature varies, of rows in which it does not, beyond
    rounding."""
    rng = np.random.default_rng(0)
    parts = []
    for _ in range(5):
        x = rng.normal(size=(40, 3))
        x[:, 1] = 0.1
        part = gram_of_rows(x, np.ones((40, 1)), centre_x=np.full(3, -7.3), centre_y=np.zeros(1))
        part.low, part.high = np.full(3, -9.0), np.full(3, 9.0)
        parts.append(part)
    assert half_sample(parts).centred().varying.tolist() == [0, 2]
    with pytest.raises(DataError, match="too few"):
        half_sample([])


def test_passing_at_other_levels():
    p = np.array([0.001, 0.012, 0.03, 0.9, np.nan])
    assert [passing(mode, 0.05, p).tolist() for mode in ("fpr", "fdr", "fwe")] == [
        [True, True, True, False, False],
        [True, True, True, False, False],
        [True, True, False, False, False],
    ]
    assert passing("stability", 0.6, np.array([0.6, 0.59, np.nan])).tolist() == [True, False, False]
    assert not passing("knockoffs", 0.1, np.arange(1.0, 10.0)).any()  # nine: (1 + 0)/9 is above 0.1
    assert passing("knockoffs", 0.1, np.arange(1.0, 11.0)).all()
    with pytest.raises(ParameterError, match=r"above 0.5"):
        error_bound(3, 0.5, 10)


def test_rules_that_cannot_be_are_refused_before_any_work():
    with pytest.raises(ParameterError, match=r"not jmi: give .*ridge.*csfs|not jmi: give .*csfs"):
        pipeline.Request.of("jmi", rule=Rule("knockoffs", 0.1))
    for mode in ("knockoffs", "stability"):
        with pytest.raises(ParameterError, match="leave the screen out"):
            pipeline.Request.of("ridge", screen="chi2:10", rule=Rule(mode, 0.6))
    with pytest.raises(ParameterError, match="fpr, fdr, fwe, knockoffs, stability"):
        pipeline.Request.of("ridge", rule=Rule("holm", 0.1))
    assert {name for name, method in METHODS.items() if method.takes_grams()} == {
        "ridge",
        "lasso",
        "elastic-net",
        "csfs",
        "mssl",
    }
    x, y, ids = data(n=50)
    engine = engine_of(x, y, ids)
    engine.in_one_process = False
    with pytest.raises(ParameterError, match=r"in one task.*ridge"):
        Rule("stability", 0.6, 5).outcome(
            engine, METHODS.create("jmi"), pipeline.Request.of("jmi").parameters
        )


# ---- on Spark ----


SCHEMA = T.StructType(
    [
        T.StructField("id", T.LongType()),
        T.StructField("features", VectorUDT()),
        T.StructField("cells", T.ArrayType(T.FloatType())),
        T.StructField("labels", VectorUDT()),
    ]
)


@pytest.fixture(scope="module")
def frame(spark):
    x, y, ids = data()
    rows = [
        (int(i), Vectors.dense(a), [float(v) for v in a], Vectors.dense(b))
        for i, a, b in zip(ids, x, y, strict=True)
    ]
    persisted = spark.createDataFrame(rows, SCHEMA).persist()
    yield persisted
    persisted.unpersist()


@pytest.mark.slow
def test_one_answer_whatever_the_partitioning(frame):
    """Tests, knockoffs and half-samples of Gram matrices: in one task, and distributed over five
    partitions."""
    x, y, ids = data()
    requests = [
        pipeline.Request.of("jmi", count=50, rule=Rule("fdr", 0.01)),
        pipeline.Request.of("ridge", rule=Rule("knockoffs", 0.2)),
        pipeline.Request.of("lasso", rule=Rule("stability", 0.6, 8)),
    ]
    by_partitioning = []
    for partitions, small in ((2, 1 << 40), (5, 0)):
        packed = pack(frame.repartition(partitions), row_id="id")
        by_partitioning.append(pipeline.rank(packed, requests, small_bytes=small))
        packed.release()
        assert all(result.distributed == (not small) for result in by_partitioning[-1])
    for results in by_partitioning[1:]:
        for one, other in zip(by_partitioning[0], results, strict=True):
            pd.testing.assert_frame_equal(one.ranking, other.ranking, check_exact=True)
            assert one.evidence.facts == other.evidence.facts
    tests, _copies, _halves = by_partitioning[0]
    assert (
        len(tests.scores.path.picks) == tests.evidence.kept == len(tests.kept)
    )  # no more picks than features that passed
    for result in by_partitioning[0]:
        direct = evidence(x, y, ids, result.request.method, result.request.extras[0])
        assert all(
            np.allclose(direct.columns[k], v, equal_nan=True)
            for k, v in result.evidence.columns.items()
        )
        order = result.ranking["index"]
        assert np.array_equal(
            result.ranking.iloc[:, 5],
            result.evidence.columns[result.ranking.columns[5]][order],
            equal_nan=True,
        )


def test_tests_look_at_all_features_behind_a_screen(frame):
    packed = pack(frame, row_id="id")
    plain, screened = (
        pipeline.rank(
            packed, [pipeline.Request.of("ridge", screen=screen, rule=Rule("fwe", 0.05))]
        )[0]
        for screen in (None, "chi2:12")
    )
    packed.release()
    assert screened.evidence.facts["features_tested"] == D - 1
    p = [r.ranking.set_index("index")["p_value"].sort_index() for r in (plain, screened)]
    pd.testing.assert_series_equal(*p)
    assert set(screened.kept["index"]) == set(plain.kept["index"])


def test_estimator_selects_what_passed_and_saves_it(spark, frame, tmp_path):
    model = spark_mlfs.JMISelector(
        selectionMode="fdr", fdr=0.001, idCol="id", outputCol="kept"
    ).fit(frame)
    ranking = model.ranking
    assert list(ranking.columns) == [
        "rank",
        "index",
        "name",
        "score",
        "relevance",
        "p_value",
        "q_value",
    ]
    assert (
        set(model.selectedFeatures)
        == set(ranking["index"][ranking["q_value"] <= 0.001])
        >= set(range(6))
    )
    assert model.selectedFeatures == [
        i for i in ranking["index"] if i in set(model.selectedFeatures)
    ]
    assert (
        model.summary["selection"]["mode"] == "fdr" and model.summary["selection"]["level"] == 0.001
    )
    row = model.transform(frame).select("features", "kept").first()
    assert np.array_equal(row.kept.toArray(), row.features.toArray()[model.selectedFeatures])
    model.write().save(str(tmp_path / "model"))
    loaded = spark_mlfs.MultiLabelSelectorModel.load(str(tmp_path / "model"))
    pd.testing.assert_frame_equal(loaded.ranking, ranking)
    assert loaded.selectedFeatures == model.selectedFeatures
    # other levels and tests from the same p-values, and a number again
    assert len(loaded.setFdr(0.9).selectedFeatures) > len(model.selectedFeatures)
    assert len(loaded.setSelectionMode("fwe").setFwe(1e-9).selectedFeatures) < len(
        model.selectedFeatures
    )
    assert len(loaded.setSelectionMode("numTopFeatures").setNumTopFeatures(4).selectedFeatures) == 4
    with pytest.raises(ParameterError, match="without selectionMode='stability'"):
        _ = loaded.setSelectionMode("stability").selectedFeatures


def test_knockoffs_and_stability_as_params(frame):
    assert spark_mlfs.RidgeSelector(selectionMode="knockoffs").level() == 0.1
    model = spark_mlfs.RidgeSelector(selectionMode="knockoffs", fdr=0.2, idCol="id").fit(frame)
    assert model.level() == 0.2 == model.summary["selection"]["level"]
    w = model.ranking["knockoff"]
    assert set(model.selectedFeatures) == set(
        model.ranking["index"][w >= model.summary["selection"]["threshold"]]
    )
    assert model.setFdr(0.5).level() == 0.5
    assert len(model.selectedFeatures) >= RELEVANT
    kept = spark_mlfs.MIMSelector(
        selectionMode="stability", numTopFeatures=6, stabilityThreshold=0.9, idCol="id"
    ).fit(frame)
    assert set(kept.selectedFeatures) == set(
        kept.ranking["index"][kept.ranking["frequency"] >= 0.9]
    )
    assert kept.summary["selection"]["count"] == 6


def test_nothing_passes(spark, frame):
    """As with pyspark's selectors: nothing is selected, vectors and arrays without entries come
    out; and it is told."""
    with pytest.warns(UserWarning, match="no feature passes fwe 1e-300.*smallest p-value"):
        model = spark_mlfs.MIMSelector(
            selectionMode="fwe", fwe=1e-300, idCol="id", outputCol="kept"
        ).fit(frame)
    assert model.selectedFeatures == [] and model.selectedFeatureNames == []
    out = model.transform(frame)
    assert out.select(vector_to_array("kept").alias("kept")).first().kept == []
    arrays = model.setFeaturesCol("cells").transform(frame)
    assert arrays.first().kept == [] and arrays.schema["kept"].dataType == T.ArrayType(
        T.FloatType()
    )
    with pytest.warns(UserWarning, match="knockoffs at fdr 0.02: 50 must"):
        spark_mlfs.RidgeSelector(selectionMode="knockoffs", fdr=0.02, idCol="id").fit(frame)
    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        spark_mlfs.MIMSelector(selectionMode="fpr", idCol="id").fit(frame)


def test_wrong_params_are_told(frame):
    with pytest.raises(
        ParameterError, match=r"selectionMode must be one of .*'knockoffs', 'stability'"
    ):
        spark_mlfs.JMISelector(selectionMode="holm")
    with pytest.raises(ParameterError, match="fdr must be a number from above 0 to 1"):
        spark_mlfs.JMISelector(fdr=0)
    with pytest.raises(
        ParameterError, match=r"stabilityThreshold must be a number from above 0.5 to 1"
    ):
        spark_mlfs.JMISelector(stabilityThreshold=0.5)
    with pytest.raises(ParameterError, match=r"knockoffs need .* not jmi"):
        spark_mlfs.JMISelector(selectionMode="knockoffs").fit(frame)
