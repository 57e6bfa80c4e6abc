"""Metrics against scikit-learn on random and degenerate input, the MSFS paper's printed numbers, and frames."""

from __future__ import annotations

import gzip

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from oracles.mlknn import MLkNN
from pyspark.ml.linalg import Vectors
from sklearn import metrics as sk

from spark_mlfs.errors import DataError, ParameterError
from spark_mlfs.evaluate.metrics import LARGER_IS_BETTER, MultiLabelEvaluator, Sums, evaluate, label_statistics, sums_of


def arrays(seed, n, q, levels, share):
    rng = np.random.default_rng(seed)
    truth, predicted = (rng.random((n, q)) < share).astype(int), (rng.random((n, q)) < 0.4).astype(int)
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


def test_batches_add_up():
    truth, predicted, scores = arrays(1, 50, 5, 4, 0.4)
    parts = [Sums.of(truth[a:z], predicted[a:z], scores[a:z]) for a, z in ((0, 7), (7, 7), (7, 50))]
    total = parts[0] + parts[1] + parts[2]
    for name, value in evaluate(truth, predicted, scores).items():
        assert total.metrics()[name] == pytest.approx(value, rel=1e-12)


def test_the_msfs_papers_base_row(data_dir):
    """Emotions, 391 training and 202 test rows, raw features, k = 7: .2979, .1824, .4257, 3.0050, .5381."""

    def part(name):
        with gzip.open(data_dir / "emotions" / f"emotions-{name}.arff.gz", "rt") as lines:
            table = [line for line in map(str.strip, lines) if line and not line.startswith(("@", "%"))]
        table = np.array([[float(v) for v in line.split(",")] for line in table])
        return table[:, :72], table[:, 72:].astype(int)

    (x, y), (z, u) = part("train"), part("test")
    assert len(x) == 391 and len(z) == 202
    model = MLkNN(7).fit(x, y)
    labels, scores = model.predict(z), model.posterior(z)
    found = evaluate(u, labels, scores, "msfs-2022")
    got = [found[name] for name in ("hammingLoss", "rankingLoss", "oneError", "coverage", "averagePrecision")]
    assert [round(v, 4) for v in got] == [0.2979, 0.1824, 0.4257, 3.005, 0.5381]
    assert evaluate(u, labels, scores)["averagePrecision"] == pytest.approx(
        sk.label_ranking_average_precision_score(u, scores), rel=1e-12
    )


def test_per_label_view():
    truth = np.array([[1, 0, 1], [1, 0, 0], [1, 1, 0]])
    predicted = np.array([[1, 0, 0], [0, 0, 0], [1, 1, 1]])
    view = Sums.of(truth, predicted, predicted.astype(float)).per_label(["a", "b", "c"])
    assert list(view["support"]) == [3, 1, 1] and list(view["tail"]) == [False, True, False]
    np.testing.assert_allclose(view["precision"], [1, 1, 0])
    np.testing.assert_allclose(view["recall"], [2 / 3, 1, 0])
    np.testing.assert_allclose(view["f1"], [0.8, 1, 0])


@pytest.mark.parametrize("form", ["vector", "array"])
def test_frames_are_evaluated_without_collecting(spark, form, tmp_path):
    truth, predicted, scores = arrays(3, 80, 4, 5, 0.4)
    make = Vectors.dense if form == "vector" else lambda row: [float(v) for v in row]
    rows = [(make(t), make(p), make(s)) for t, p, s in zip(truth, predicted, scores, strict=True)]
    rows.append((make([1.0, np.nan, 0.0, 0.0]), make([0.0] * 4), make([0.0] * 4)))  # unknown: left out
    frame = spark.createDataFrame(rows, ["labels", "prediction", "rawPrediction"]).repartition(3)
    want = evaluate(truth, predicted, scores)
    assert sums_of(frame).metrics() == pytest.approx(want, rel=1e-12)
    evaluator = MultiLabelEvaluator(metricName="coverage")
    assert evaluator.evaluate(frame) == pytest.approx(want["coverage"]) and not evaluator.isLargerBetter()
    evaluator.save(f"file://{tmp_path}/e")
    assert MultiLabelEvaluator.load(f"file://{tmp_path}/e").getMetricName() == "coverage"
    with pytest.raises(ParameterError, match="metricName must be one of"):
        MultiLabelEvaluator(metricName="f1")
    with pytest.raises(ParameterError, match="no column 'labels'"):
        sums_of(frame.drop("labels"))
    with pytest.raises(DataError, match="nothing to evaluate"):
        sums_of(frame.where("false"))


def test_wrong_shapes_are_told():
    with pytest.raises(DataError, match="one shape"):
        evaluate(np.zeros((2, 3)), np.zeros((2, 2)), np.zeros((2, 3)))
    with pytest.raises(ParameterError, match="msfs-2022"):
        evaluate(np.zeros((2, 3)), np.zeros((2, 3)), np.zeros((2, 3)), "other")


def test_label_statistics():
    found = label_statistics(np.array([4, 2, 0]), 4, 3, 2)
    assert found == {"cardinality": 1.5, "density": 0.5, "distinctLabelsets": 3, "meanIR": 1.5, "pmc": 0.5}
