"""Frames go by their index and their names wherever two of them meet; arrays go by place."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import f1_score, label_ranking_average_precision_score

import spark_mlfs
from spark_mlfs import DataError
from spark_mlfs.evaluate import metrics, significance, stability
from spark_mlfs.evaluate.at_k import at_k, propensities

draw = np.random.default_rng(0)
TRUTH = pd.DataFrame((draw.random((80, 3)) < [0.6, 0.3, 0.1]).astype(int), columns=list("abc"))
SCORES = TRUTH * 0.4 + draw.random((80, 3)) * 0.6
PREDICTED = (SCORES > 0.5).astype(int)
SHUFFLED = TRUTH.sample(frac=1, random_state=0)


def test_metrics_of_frames() -> None:
    right = metrics.evaluate(TRUTH, PREDICTED, SCORES)
    assert right["microF1"] == pytest.approx(f1_score(TRUTH, PREDICTED, average="micro"))
    assert right["averagePrecision"] == pytest.approx(
        label_ranking_average_precision_score(TRUTH, SCORES)
    )
    assert metrics.evaluate(TRUTH.to_numpy(), PREDICTED.to_numpy(), SCORES.to_numpy()) == right
    for truth in (SHUFFLED, TRUTH[list("cba")], SHUFFLED[list("bca")].astype("Int64")):
        assert metrics.evaluate(truth, PREDICTED, SCORES) == pytest.approx(right, rel=1e-14)
        predicted = PREDICTED.loc[truth.index, truth.columns]
        assert metrics.evaluate(TRUTH, predicted, SCORES) == right
        assert at_k(truth, SCORES) == at_k(TRUTH.to_numpy(), SCORES.to_numpy())
    numbered = {"a": 7, "b": 5, "c": pd.Timestamp("2020")}
    turned = [frame[list("cab")].rename(columns=numbered) for frame in (PREDICTED, SCORES)]
    assert metrics.evaluate(TRUTH.rename(columns=numbered), *turned) == right


def test_polars_frames_go_by_name() -> None:
    polars = pytest.importorskip("polars")
    truth = polars.from_pandas(TRUTH[list("cba")])
    assert at_k(truth, polars.from_pandas(SCORES)) == at_k(TRUTH, SCORES)
    assert at_k(truth, SCORES) == at_k(TRUTH, SCORES)


def test_columns_without_names_go_by_place() -> None:
    right = at_k(TRUTH, SCORES)
    assert at_k(TRUTH, pd.DataFrame(SCORES.to_numpy())) == right
    assert at_k(TRUTH, SCORES.to_numpy()) == right
    assert at_k(SHUFFLED.to_numpy(), SCORES.loc[SHUFFLED.index]) == right


@pytest.mark.parametrize(
    ("truth", "message"),
    [
        (TRUTH.rename(columns={"c": "d"}), "'c' is in predicted only"),
        (TRUTH[["a", "b"]], "'c' is in predicted only"),
        (TRUTH.assign(d=0), "'d' is in truth only"),
        (TRUTH.set_axis(["a", "b", "b"], axis=1), "'c' is in predicted only"),
        (TRUTH.set_index(np.arange(80) + 5), "the index of predicted holds other rows than that"),
        (TRUTH.head(79), "must have one shape"),
        ([[1, 0, 1], [1]], "rows of truth are of different lengths"),
    ],
)
def test_frames_of_other_rows_or_labels_are_refused(truth: object, message: str) -> None:
    with pytest.raises(DataError, match=message):
        metrics.evaluate(truth, PREDICTED, SCORES)


def test_propensities_go_by_label() -> None:
    by_label = propensities(TRUTH.sum(), len(TRUTH))
    assert by_label.index.tolist() == list("abc")
    right = at_k(TRUTH, SCORES, [1], by_label.to_numpy())
    assert at_k(TRUTH, SCORES, [1], by_label[list("cab")]) == right
    assert at_k(TRUTH.to_numpy(), SCORES, [1], by_label[list("bca")]) == right
    assert at_k(TRUTH.to_numpy(), SCORES.to_numpy(), [1], by_label) == right
    with pytest.raises(DataError, match="propensities has other columns than truth"):
        at_k(TRUTH, SCORES, [1], by_label.rename({"a": "z"}))


def test_names_of_other_tables() -> None:
    results = pd.DataFrame(draw.random((12, 3)), columns=["ours", "theirs", 3])
    pairs = significance.wilcoxon_holm(results)
    assert pairs[["first", "second"]].to_numpy().tolist() == [
        ["ours", "theirs"],
        ["ours", "3"],
        ["theirs", "3"],
    ]
    X = pd.DataFrame(draw.random((80, 4)), columns=list("wxyz"))
    rankings = [spark_mlfs.rank(X, TRUTH, method) for method in ("mim", "ridge")]
    names = [ranking["name"].tolist() for ranking in rankings]
    assert stability.agreement(rankings, 2) == stability.agreement(names, 2)


def test_labels_weights_and_ids_share_an_index_where_the_rows_have_none() -> None:
    X = pd.DataFrame(draw.random((80, 4)))
    weights = pd.Series(draw.integers(1, 4, 80))
    ids = pd.Series(np.arange(80) + 7)
    right = spark_mlfs.rank(X, TRUTH, "mim", sample_weight=weights, row_ids=ids)
    order = draw.permutation(80)
    for x in (X, X.to_numpy()):
        parts = (weights.iloc[order], ids.iloc[order])
        out = spark_mlfs.rank(x, TRUTH, "mim", sample_weight=parts[0], row_ids=parts[1])
        assert out.equals(right)
    with pytest.raises(DataError, match="index of sample_weight holds other rows than that of Y"):
        spark_mlfs.rank(X.to_numpy(), TRUTH, "mim", sample_weight=weights.set_axis(order + 1))


def test_columns_of_spark_go_by_the_names_of_labels(spark) -> None:
    from pyspark.ml.linalg import Vectors

    from spark_mlfs.evaluate.at_k import at_k_of_frame
    from spark_mlfs.frames.schema import with_names

    rows = [
        tuple(Vectors.dense(values) for values in row)
        for row in zip(
            TRUTH[list("cba")].to_numpy(float),
            PREDICTED.to_numpy(float),
            SCORES[list("bca")].to_numpy(),
            strict=True,
        )
    ]
    plain = spark.createDataFrame(rows, ["labels", "prediction", "rawPrediction"])
    frame = plain
    for column, names in (("labels", "cba"), ("prediction", "abc"), ("rawPrediction", "bca")):
        frame = with_names(frame, column, list(names))
    right = metrics.evaluate(TRUTH[list("cba")], PREDICTED, SCORES)
    assert metrics.evaluate_frame(frame) == right
    assert at_k_of_frame(frame) == at_k(TRUTH, SCORES)
    with pytest.raises(DataError, match=r"prediction has other columns than labels \('c' is in la"):
        metrics.evaluate_frame(with_names(frame, "prediction", list("abd")))
