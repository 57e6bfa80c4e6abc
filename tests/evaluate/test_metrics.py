"""Metrics against scikit-learn on random and degenerate input, the MSFS paper's printed numbers,
and frames."""

from __future__ import annotations

import gzip
import itertools

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.mlknn import MLkNN
from pyspark.ml.linalg import Vectors
from sklearn import metrics as sk

from spark_mlfs.errors import DataError, ParameterError
from spark_mlfs.evaluate.metrics import (
    LARGER_IS_BETTER,
    MultiLabelEvaluator,
    Sums,
    evaluate,
    evaluate_frame,
    label_statistics,
    sums_of,
)
from spark_mlfs.statistics.labelsets import Labelsets


def emotions(data_dir, name):
    with gzip.open(data_dir / "emotions" / f"emotions-{name}.arff.gz", "rt") as lines:
        table = [line for line in map(str.strip, lines) if line and not line.startswith(("@", "%"))]
    table = np.array([[float(v) for v in line.split(",")] for line in table])
    return table[:, :72], table[:, 72:].astype(int)


def arrays(seed, n, q, levels, share):
    rng = np.random.default_rng(seed)
    truth, predicted = (
        (rng.random((n, q)) < share).astype(int),
        (rng.random((n, q)) < 0.4).astype(int),
    )
    return truth, predicted, rng.integers(0, levels, (n, q)) / levels


def theirs(truth, predicted, scores):
    some = truth.any(axis=1)
    first = np.argmax(scores, axis=1)
    return {
        "hammingLoss": sk.hamming_loss(truth, predicted),
        "rankingLoss": sk.label_ranking_loss(truth, scores),
        "oneError": float(np.mean(truth[some, first[some]] == 0)) if some.any() else np.nan,
        "coverage": sk.coverage_error(truth, scores) - 1,
        "averagePrecision": sk.label_ranking_average_precision_score(truth, scores),
        "microF1": sk.f1_score(truth, predicted, average="micro", zero_division=0),
        "macroF1": sk.f1_score(truth, predicted, average="macro", zero_division=0),
        "subsetAccuracy": sk.accuracy_score(truth, predicted),
    }


@pytest.mark.slow
@settings(max_examples=150, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 30),
    q=st.integers(2, 8),
    levels=st.sampled_from([1, 2, 4, 10**6]),
    share=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
)
def test_equal_to_scikit_learn(seed, n, q, levels, share):
    truth, predicted, scores = arrays(seed, n, q, levels, share)
    ours, want = evaluate(truth, predicted, scores), theirs(truth, predicted, scores)
    for name in LARGER_IS_BETTER:
        np.testing.assert_allclose(ours[name], want[name], rtol=1e-12, atol=1e-12, err_msg=name)


def test_batches_add_up_to_the_same_bits():
    truth, predicted, scores = arrays(1, 200, 7, 4, 0.4)
    scores = scores + np.random.default_rng(0).normal(size=scores.shape)
    for kind in ("standard", "msfs-2022"):
        at_once = Sums.of(truth, predicted, scores, kind)
        for cuts in ([0, 7, 7, 200], list(range(201))):
            parts = [
                Sums.of(truth[a:z], predicted[a:z], scores[a:z], kind)
                for a, z in itertools.pairwise(cuts)
            ]
            total = parts[-1]
            for part in parts[-2::-1]:
                total = Sums.decode(part.encode()) + total
            assert total.metrics() == at_once.metrics() and total.tail() == at_once.tail()
    with pytest.raises(ParameterError, match="do not add up"):
        Sums.of(truth, predicted, scores) + at_once
    with pytest.raises(DataError, match="do not add up"):
        at_once + Sums.of(truth[:, :3], predicted[:, :3], scores[:, :3], "msfs-2022")


def naive_msfs(truth, predicted):
    """Row by row, label by label, as the contract words it; None where every row is dropped."""
    rows = [(t, z) for t, z in zip(truth, predicted, strict=True) if 0 < t.sum() < len(t)]
    if not rows:
        return None
    by_row = []
    for t, z in rows:
        q, best = len(t), max(z[j] for j in range(len(t)) if not t[j])
        loss = sum(1 for j in range(q) if t[j] and z[j] <= best) / (t.sum() * (q - t.sum()))
        ascending = sorted(range(q), key=lambda j: z[j])  # Python's sort is stable
        coverage = max(q - 1 - ascending.index(j) for j in range(q) if t[j])
        precision = np.mean(
            [
                sum(1 for i in range(q) if t[i] and z[i] >= z[j]) / sum(z >= z[j])
                for j in range(q)
                if t[j]
            ]
        )
        first = max(range(q), key=lambda j: (z[j], -j))
        by_row.append([np.mean(t != z), loss, not t[first], coverage, precision])
    return dict(
        zip(
            ("hammingLoss", "rankingLoss", "oneError", "coverage", "averagePrecision"),
            np.mean(by_row, 0),
            strict=True,
        )
    )


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 12),
    q=st.integers(2, 6),
    share=st.sampled_from([0.0, 0.3, 0.6, 1.0]),
)
def test_msfs_metrics_equal_the_naive_ones(seed, n, q, share):
    truth, predicted, scores = arrays(seed, n, q, 3, share)
    ours, want = evaluate(truth, predicted, scores, "msfs-2022"), naive_msfs(truth, predicted)
    for name in ("hammingLoss", "rankingLoss", "oneError", "coverage", "averagePrecision"):
        np.testing.assert_allclose(
            ours[name], np.nan if want is None else want[name], rtol=1e-12, atol=1e-14, err_msg=name
        )


def test_the_msfs_papers_base_row(data_dir):
    """Emotions, 391 training and 202 test rows, raw features, k = 7: .2979, .1824, .4257, 3.0050,
    .5381."""

    (x, y), (z, u) = emotions(data_dir, "train"), emotions(data_dir, "test")
    assert len(x) == 391 and len(z) == 202
    model = MLkNN(7).fit(x, y)
    labels, scores = model.predict(z), model.posterior(z)
    values = evaluate(u, labels, scores, "msfs-2022")
    got = [
        values[name]
        for name in ("hammingLoss", "rankingLoss", "oneError", "coverage", "averagePrecision")
    ]
    assert [round(v, 4) for v in got] == [0.2979, 0.1824, 0.4257, 3.005, 0.5381]
    assert evaluate(u, labels, scores)["averagePrecision"] == pytest.approx(
        sk.label_ranking_average_precision_score(u, scores), rel=1e-12
    )


@settings(max_examples=40, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 20),
    q=st.integers(2, 8),
    share=st.sampled_from([0.0, 0.2, 1.0]),
)
def test_per_label_equals_scikit_learn(seed, n, q, share):
    truth, predicted, scores = arrays(seed, n, q, 2, share)
    sums = Sums.of(sp.csr_matrix(truth), sp.csr_matrix(predicted), scores)
    view = sums.per_label()
    want = sk.precision_recall_fscore_support(truth, predicted, zero_division=0)
    for name, values in zip(("precision", "recall", "f1", "support"), want, strict=True):
        np.testing.assert_allclose(view[name], values, rtol=1e-12)
    rare = np.argsort(truth.sum(axis=0), kind="stable")[: max(1, q // 3)]
    assert list(np.flatnonzero(view["tail"])) == sorted(rare)
    for average in ("micro", "macro"):
        want = sk.f1_score(truth, predicted, labels=rare, average=average, zero_division=0)
        assert sums.tail()[f"tail{average.capitalize()}F1"] == pytest.approx(want, rel=1e-12)


def test_per_label_view_by_hand():
    truth = np.array([[1, 0, 1], [1, 0, 0], [1, 1, 0]])
    predicted = np.array([[1, 0, 0], [0, 0, 0], [1, 1, 1]])
    view = Sums.of(truth, predicted, predicted.astype(float)).per_label(["a", "b", "c"])
    assert list(view["support"]) == [3, 1, 1] and list(view["tail"]) == [False, True, False]
    np.testing.assert_allclose(view["precision"], [1, 1, 0])
    np.testing.assert_allclose(view["recall"], [2 / 3, 1, 0])
    np.testing.assert_allclose(view["f1"], [0.8, 1, 0])


def predictions(spark, form="vector", n=80):
    truth, predicted, scores = arrays(3, n, 4, 5, 0.4)
    make = Vectors.dense if form == "vector" else lambda row: [float(v) for v in row]
    rows = [(make(t), make(p), make(s)) for t, p, s in zip(truth, predicted, scores, strict=True)]
    return (
        (truth, predicted, scores),
        spark.createDataFrame(rows, ["labels", "prediction", "rawPrediction"]),
        make,
    )


@pytest.mark.slow
@pytest.mark.parametrize("form", ["vector", "array"])
def test_frames_are_evaluated_without_collecting(spark, form, tmp_path):
    data, frame, make = predictions(spark, form)
    unknown = spark.createDataFrame(
        [(make([1.0, np.nan, 0.0, 0.0]), make([0.0] * 4), make([0.0] * 4))], frame.columns
    )
    frame = frame.union(unknown).repartition(3)  # the last row is left out
    want = evaluate(*data)
    for parts in (1, 3):
        assert evaluate_frame(frame.repartition(parts)) == want  # to the bit
    assert evaluate_frame(frame, metrics="msfs-2022") == evaluate(*data, "msfs-2022")
    evaluator = MultiLabelEvaluator(metricName="coverage")
    assert evaluator.evaluate(frame) == want["coverage"] and not evaluator.isLargerBetter()
    evaluator.save(f"file://{tmp_path}/e")
    assert MultiLabelEvaluator.load(f"file://{tmp_path}/e").getMetricName() == "coverage"
    (part,) = (tmp_path / "e" / "metadata").glob(
        "part-*"
    )  # of one that was saved while the class was in evaluate.metrics
    part.write_text(part.read_text().replace("evaluate.evaluator", "evaluate.metrics"))
    part.with_name(f".{part.name}.crc").unlink()
    assert "evaluate.metrics" in part.read_text()
    assert MultiLabelEvaluator.load(f"file://{tmp_path}/e").getMetricName() == "coverage"
    with pytest.raises(ParameterError, match="metricName must be one of"):
        MultiLabelEvaluator(metricName="f1")
    with pytest.raises(ParameterError, match="no column 'labels'"):
        sums_of(frame.drop("labels"))
    with pytest.raises(DataError, match="nothing to evaluate"):
        sums_of(frame.where("false"))


@pytest.mark.slow
def test_what_is_wrong_with_a_frame_is_told(spark):
    _, frame, _ = predictions(spark, "array", 6)
    from pyspark.sql import functions as F

    with pytest.raises(DataError, match="'prediction' is null"):
        evaluate_frame(frame.withColumn("prediction", F.lit(None).cast("array<double>")))
    with pytest.raises(DataError, match=r"predicted label is 0.5"):
        evaluate_frame(frame.withColumn("prediction", F.array(*[F.lit(0.5)] * 4)))
    with pytest.raises(DataError, match="one shape"):
        evaluate_frame(frame.withColumn("prediction", F.array(*[F.lit(0.0)] * 3)))
    with pytest.raises(DataError, match="not a finite number"):
        evaluate_frame(frame.withColumn("rawPrediction", F.array(*[F.lit(float("inf"))] * 4)))
    with pytest.raises(ParameterError, match="array<string>"):
        evaluate_frame(frame.withColumn("prediction", F.array(F.lit("a"))))


@pytest.mark.slow
def test_in_a_cross_validator(spark, data_dir):
    """pyspark's own CrossValidator picks the k whose Hamming loss is the smaller."""
    from pyspark.ml.tuning import CrossValidator, ParamGridBuilder

    from spark_mlfs import MLkNNClassifier, read

    path = data_dir / "emotions"
    frame = (
        read.load(
            spark, str(path / "emotions-train.arff.gz"), "arff", labels=str(path / "emotions.xml")
        )
        .limit(120)
        .cache()
    )
    stage = MLkNNClassifier(idCol="id")
    grid = ParamGridBuilder().addGrid(stage.k, [1, 15]).build()
    evaluator = MultiLabelEvaluator(metricName="hammingLoss")
    search = CrossValidator(
        estimator=stage, estimatorParamMaps=grid, evaluator=evaluator, numFolds=2, seed=3
    )
    best = search.fit(frame)
    few, many = best.avgMetrics
    assert few != many and best.bestModel.summary["parameters"]["k"] == (1 if few < many else 15)
    frame.unpersist()


def test_wrong_shapes_are_told():
    with pytest.raises(DataError, match="one shape"):
        evaluate(np.zeros((2, 3)), np.zeros((2, 2)), np.zeros((2, 3)))
    with pytest.raises(ParameterError, match="msfs-2022"):
        evaluate(np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3)), "other")


def test_label_statistics():
    """Rows {0}, {0, 1}, {0, 1}, {} of three labels, and the last never occurring."""
    sets = Labelsets(np.arange(3), np.array([1, 2, 1]), np.array([0, 1, 3, 3]), np.array([0, 0, 1]))
    values = label_statistics(sets, 3)
    assert values == {
        "pmc": 0.5,
        "cardinality": 1.25,
        "density": 1.25 / 3,
        "distinctLabelsets": 3,
        "meanIR": 1.25,
    }


def test_label_statistics_of_the_msfs_papers_table(data_dir):
    """Its Table 1 prints for emotions, 593 rows: PMC .6998, ANL 1.8685, Dens .3114."""
    y = np.concatenate([emotions(data_dir, name)[1] for name in ("train", "test")])
    distinct, counts = np.unique(y, axis=0, return_counts=True)
    rows = sp.csr_matrix(distinct)
    values = label_statistics(
        Labelsets(np.arange(len(counts)), counts, rows.indptr, rows.indices), 6
    )
    assert [round(values[name], 4) for name in ("pmc", "cardinality", "density")] == [
        0.6998,
        1.8685,
        0.3114,
    ]
    assert values["distinctLabelsets"] == 27


def test_tags_are_judged_by_the_names_of_the_predictions(spark):
    from spark_mlfs.frames.schema import with_names

    names = ["b", "a", "c"]
    truth = [["a"], [], ["a", "c"], None, ["b", "never learned"]]
    predicted = np.array([[0, 1, 0], [1, 0, 0], [0, 1, 0], [1, 1, 1], [1, 0, 0]], float)
    rows = [
        (t, Vectors.dense(p), Vectors.dense(p + 0.1)) for t, p in zip(truth, predicted, strict=True)
    ]
    frame = spark.createDataFrame(rows, ["labels", "prediction", "rawPrediction"])
    known = [0, 1, 2, 4]
    hot = np.array([[float(n in truth[i]) for n in names] for i in known])
    values = evaluate_frame(with_names(frame, "prediction", names))
    assert values == pytest.approx(evaluate(hot, predicted[known], predicted[known] + 0.1))
    with pytest.raises(ParameterError, match="does not name its labels"):
        evaluate_frame(frame)
