"""Names of columns of every kind: each is taken as it stands in the schema, in every Param."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.ml import PipelineModel
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions as F

import spark_mlfs
from spark_mlfs import evaluate
from spark_mlfs.blocks.pack import check_column
from spark_mlfs.evaluate.metrics import MultiLabelEvaluator
from spark_mlfs.ml import learners

ROLES = ("id", "features", "labels", "weight", "other", "last")
PLAIN = dict(zip(ROLES, ROLES, strict=True))
DOTS = {role: f"{role}.a" for role in ROLES} | {"other": "id"}
ODD = ("a.b", "a.`b`", "`a.b.c`", "a.*", "a", " a 'b' \"c\"`\t(ü),=;{} ")
ODDLY = dict(zip(ROLES, ODD, strict=True))
TWINS = dict(zip(ROLES, ("Features", "features", "labels", "LABELS", "c", "C"), strict=True))
RNG = np.random.default_rng(0)
X = np.round(RNG.normal(size=(60, 5)), 2)
Y = (X[:, :2] + 0.3 * RNG.normal(size=(60, 2)) > 0).astype(int)


def frame_of(spark, names, tags=False):
    rows = []
    for i in range(60):
        x, y = Vectors.dense(X[i]), Vectors.dense(Y[i])
        if tags:
            x, y = X[i].tolist(), [f"t{j}" for j in range(2) if Y[i, j]]
        rows.append((i, x, y, float(1 + i % 3), f"r{i}", 3))
    return spark.createDataFrame(rows, [names[role] for role in ROLES])


def selector(names, output):
    columns = {f"{role}Col": names[role] for role in ("features", "labels", "id", "weight")}
    return spark_mlfs.MIMSelector(numTopFeatures=3, outputCol=output, **columns)


def values(frame, count):
    """The last columns of a frame as plain numbers and texts, by row."""
    return [[np.array(cell).tolist() for cell in row[-count:]] for row in frame.collect()]


def test_a_dot_in_every_name(spark):
    model = selector(DOTS, "selected.x").fit(frame_of(spark, DOTS))
    expected = spark_mlfs.rank(X, Y, "mim", sample_weight=1.0 + np.arange(60) % 3)
    assert model.ranking["index"].tolist() == expected["index"].tolist()
    out = model.transform(frame_of(spark, DOTS))
    assert out.columns == [*DOTS.values(), "selected.x"]
    assert values(out, 1)[7] == [X[7][model.selectedFeatures].tolist()]


def outcome(spark, names, tags, folder):
    """What every stage makes of rows whose columns have these names."""
    suffix = names["last"].removeprefix("last")
    frame = frame_of(spark, names, tags)
    columns = {f"{role}Col": names[role] for role in ("features", "labels", "id")}
    selected, extracted = f"sel{suffix}", f"lift{suffix}"
    outputs = {"predictionCol": f"pred{suffix}", "rawPredictionCol": f"raw{suffix}"}
    model = selector(names, selected).fit(frame)
    model.write().overwrite().save(f"{folder}/model")
    model = spark_mlfs.MultiLabelSelectorModel.load(f"{folder}/model")
    out = {"ranking": model.ranking[["index", "score"]].to_numpy().tolist()}
    assert model.transform(frame).columns == [*frame.columns, selected]
    lift = spark_mlfs.LIFTExtractor(outputCol=extracted, **columns).fit(frame)
    rows = PipelineModel([model, lift]).transform(frame)
    assert rows.columns == [*frame.columns, selected, extracted]
    out["selected and extracted"] = values(rows, 2)
    classifier = spark_mlfs.MLkNNClassifier(k=3, **columns, **outputs).fit(frame)
    rows = classifier.transform(frame)
    assert rows.columns == [*frame.columns, *outputs.values()]
    out["predicted"] = values(rows, 2)
    out["tagged"] = [
        [text.replace(names["labels"], "labels") for text in row.tags]
        for row in classifier.tagged(frame, top_n=1).collect()
    ]
    evaluator = MultiLabelEvaluator(labelsCol=names["labels"], **outputs)
    out["metric"] = evaluator.evaluate(rows)
    for protocol in ("80/20", "stratified 80/20"):
        sides = evaluate.split(frame, protocol, names["labels"], names["id"])
        assert [side.columns for side in sides] == [frame.columns] * 2
        out[protocol] = [sorted(row[0] for row in side.collect()) for side in sides]
    small, learners.BROADCAST_BYTES = learners.BROADCAST_BYTES, 0  # joined block by block
    joined = classifier.transform(frame)
    learners.BROADCAST_BYTES = small
    assert joined.columns == rows.columns
    by_row = sorted(joined.collect(), key=lambda row: row[0])
    assert [[np.array(cell).tolist() for cell in row[-2:]] for row in by_row] == out["predicted"]
    return out


@pytest.mark.slow
def test_every_kind_of_name_in_every_stage(spark, tmp_path):
    """Of vectors, and, by names that differ in case alone, of arrays and tags: these have the same
    values, and names of their own."""
    plain = outcome(spark, PLAIN, False, tmp_path)
    assert outcome(spark, ODDLY, False, tmp_path) == plain
    arrays = outcome(spark, TWINS, True, tmp_path)
    labels = [[text.replace("t", "labels_") for text in row] for row in arrays.pop("tagged")]
    assert labels == plain.pop("tagged") and arrays == plain


def test_messages_name_the_column_that_differs_in_case(spark):
    frame = spark.range(1).select(F.lit(1).alias("Label"), F.lit(1).alias("labels"))
    with pytest.raises(spark_mlfs.ParameterError, match="did you mean 'labels'"):
        check_column(frame, "LABELS")
    with pytest.raises(spark_mlfs.ParameterError, match="did you mean 'Label'"):
        check_column(frame, "label")
    with pytest.raises(spark_mlfs.ParameterError, match=r"2 columns are called 'x'; rename one"):
        check_column(spark.range(1).select(F.lit(1).alias("x"), F.lit(2).alias("x")), "x")


@pytest.mark.slow
def test_an_output_that_differs_in_case_from_a_column_replaces_nothing(spark):
    names = {**PLAIN, "last": "SELECTED"}
    rows = selector(names, "selected").fit(frame_of(spark, names)).transform(frame_of(spark, names))
    assert rows.columns == [*names.values(), "selected"]
    assert rows.first()[5] == 3
    with pytest.raises(spark_mlfs.ParameterError, match="'FEATURES' and 'features' differ only"):
        selector(PLAIN, "FEATURES").fit(frame_of(spark, PLAIN)).transform(frame_of(spark, PLAIN))
