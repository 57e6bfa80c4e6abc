"""Pipelines saved and loaded without the JVM: pyspark reads what we write, we what it writes; a stage of the JVM is one line."""

from __future__ import annotations

import pytest
from pyspark.ml import Pipeline, PipelineModel
from pyspark.ml.feature import SQLTransformer

import spark_mlfs
from spark_mlfs.errors import ParameterError
from spark_mlfs.ml import pipelines
from spark_mlfs.ml.pipelines import load_pipeline, save_pipeline
from spark_mlfs.output.folder import Place
from spark_mlfs.scoring import scorer

pytestmark = pytest.mark.spark35


@pytest.fixture(scope="module")
def fitted(spark):
    frame = spark_mlfs.read.planted(spark, 120, 12, 3, seed=1, num_partitions=2).cache()
    stages = [
        spark_mlfs.MIMSelector(numTopFeatures=6, outputCol="kept", idCol="id"),
        spark_mlfs.BRSVMClassifier(featuresCol="kept", idCol="id"),
    ]
    selector, classifier = Pipeline(stages=stages).fit(frame).stages
    yield frame, PipelineModel([PipelineModel([selector]), classifier])  # one within another
    frame.unpersist()


def scores(model, frame):
    return [row.rawPrediction.toArray().tobytes() for row in model.transform(frame).orderBy("id").collect()]


def test_each_reads_what_the_other_writes(spark, fitted, tmp_path):
    frame, model = fitted
    ours, theirs = f"file://{tmp_path}/ours", f"file://{tmp_path}/theirs"
    save_pipeline(spark, model, ours)
    model.write().save(theirs)
    want = scores(model, frame)
    for found in (PipelineModel.load(ours), load_pipeline(spark, theirs), load_pipeline(spark, ours)):
        assert found.uid == model.uid and [s.uid for s in found.stages] == [s.uid for s in model.stages]
        assert scores(found, frame) == want
    with pytest.raises(Exception, match="(?i)already.exists"):
        save_pipeline(spark, model, ours)
    save_pipeline(spark, model, ours, overwrite=True)
    assert scores(load_pipeline(spark, ours), frame) == want


def test_without_the_jvm_commands_save_and_load(spark, fitted, tmp_path, monkeypatch):
    """As on a Connect client of Spark 3.5: `select` saves and `score` loads without pyspark's writer and reader of pipelines."""
    frame, model = fitted
    for module in (pipelines, scorer, __import__("spark_mlfs.output.folder", fromlist=["folder"])):
        monkeypatch.setattr(module, "jvm_within_reach", lambda: False)

    def refused(*_):
        raise AssertionError("asks for a SparkContext")

    monkeypatch.setattr(PipelineModel, "write", refused)
    monkeypatch.setattr(PipelineModel, "load", refused)
    Place(spark, f"file://{tmp_path}", tmp_path, "error").model("pipeline", model)
    found = scorer.load_scorer(spark, f"file://{tmp_path}")
    assert [type(stage) for stage in found.stages] == [type(stage) for stage in (*model.stages[0].stages, model.stages[1])]


def test_what_is_of_the_jvm_is_one_line(spark, tmp_path):
    path = f"file://{tmp_path}/saved"
    PipelineModel([SQLTransformer(statement="SELECT * FROM __THIS__")]).write().save(path)
    with pytest.raises(ParameterError, match="a Connect client before 4.0 has none of the JVM's classes; load it with a client"):
        load_pipeline(spark, path)
    with pytest.raises(ParameterError, match="holds nothing that was saved"):
        load_pipeline(spark, f"{path}/nothing")
