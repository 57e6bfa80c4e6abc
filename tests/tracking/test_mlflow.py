"""Selections and pipelines in MLflow: what a run holds, models in a fresh process, tags without
Spark."""

from __future__ import annotations

import json
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

import spark_mlfs
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.errors import DataError, ParameterError

mlflow = pytest.importorskip("mlflow")

from pyspark.ml import Pipeline  # noqa: E402
from pyspark.ml.functions import vector_to_array  # noqa: E402

import spark_mlfs.mlflow as ours  # noqa: E402

NO_SPARK = "import sys; sys.modules['pyspark'] = None"  # an import of it fails


@pytest.fixture(scope="module")
def fitted(spark):
    frame = spark_mlfs.read.planted(spark, 150, 12, 3, seed=1, num_partitions=2).cache()
    stages = [
        spark_mlfs.JMISelector(numTopFeatures=6, outputCol="kept", idCol="id"),
        spark_mlfs.BRSVMClassifier(featuresCol="kept", idCol="id"),
    ]
    yield frame, Pipeline(stages=stages).fit(frame)
    frame.unpersist()


@pytest.fixture
def store(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    uri = f"file://{tmp_path}/runs"
    before = mlflow.get_tracking_uri()
    mlflow.set_tracking_uri(uri)
    mlflow.set_experiment("tests")
    yield uri
    while mlflow.active_run():
        mlflow.end_run()
    mlflow.set_tracking_uri(before)


def fresh(program, store):
    """What a program prints as JSON, run in a process of its own."""
    env = {**os.environ, "MLFLOW_TRACKING_URI": store, "PYSPARK_PYTHON": sys.executable}
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, env=env, timeout=300
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return json.loads(done.stdout.strip().splitlines()[-1])


def table_of(frame):
    rows = frame.orderBy("id").select(vector_to_array("features").alias("x")).collect()
    names = [a["name"] for a in frame.schema["features"].metadata["ml_attr"]["attrs"]["numeric"]]
    return pd.DataFrame(np.array([r.x for r in rows]), columns=names)


def test_a_selection_is_logged(fitted, store):
    model = fitted[1].stages[0]
    run = mlflow.get_run(ours.log_selection(model))
    assert run.data.params["method"] == "jmi" and run.data.params["param.num_bins"] == str(
        model.summary["parameters"]["num_bins"]
    )
    assert (
        run.data.metrics["rows"],
        run.data.metrics["features"],
        run.data.metrics["selected"],
    ) == (150, 12, 6)
    gains = mlflow.MlflowClient().get_metric_history(run.info.run_id, "gain")
    assert [m.value for m in sorted(gains, key=lambda m: m.step)] == model.gains
    folder = mlflow.artifacts.download_artifacts(run_id=run.info.run_id, artifact_path="selection")
    assert sorted(os.listdir(folder)) == [
        "ranking.csv",
        "ranking.parquet",
        "report.html",
        "summary.json",
    ]
    assert pd.read_csv(f"{folder}/ranking.csv")["name"].tolist() == model.ranking["name"].tolist()
    pd.testing.assert_frame_equal(pd.read_parquet(f"{folder}/ranking.parquet"), model.ranking)
    report = Path(folder, "report.html").read_text(encoding="utf-8")
    assert all(f"<td>{name}</td>" in report for name in model.selectedFeatureNames)


def test_it_joins_the_run_that_is_active(fitted, store):
    with mlflow.start_run() as run:
        assert ours.log_selection(fitted[1].stages[0]) == run.info.run_id
        assert mlflow.active_run() is not None


@pytest.mark.slow
def test_a_logged_model_is_loaded(fitted, store):
    """In this process: that what is saved is read in another is a law of `tests/runtimes`, where it
    has another Spark."""
    frame, pipeline = fitted
    loaded = mlflow.spark.load_model(ours.log_model(pipeline).model_uri)
    rows = [model.transform(frame).orderBy("id").collect() for model in (loaded, pipeline)]
    found, expected = ([row.rawPrediction.toArray().tobytes() for row in each] for each in rows)
    assert found == expected and len(found) == 150


@pytest.mark.slow
def test_a_tagger_needs_no_spark(fitted, store, tmp_path):
    frame, pipeline = fitted
    uri = ours.log_tagger(pipeline, top_n=2).model_uri
    table = table_of(frame)
    shuffled = table[table.columns[::-1]].assign(further=1.0)
    shuffled.to_parquet(tmp_path / "in.parquet")
    program = f"""
{NO_SPARK}
import json, mlflow.pyfunc, pandas as pd
model = mlflow.pyfunc.load_model({uri!r})
found = model.predict(pd.read_parquet({str(tmp_path / "in.parquet")!r}))
print(json.dumps([[row.tags, [v.hex() for v in row.scores]] for row in found.itertuples()]))
"""
    classifier = pipeline.stages[-1]
    tagged = classifier.tagged(pipeline.stages[0].transform(frame), top_n=2).orderBy("id").collect()
    assert fresh(program, store) == [[row.tags, [v.hex() for v in row.scores]] for row in tagged]


def test_a_tagger_takes_params_through_mlflow(fitted, store):
    frame, pipeline = fitted
    model = mlflow.pyfunc.load_model(ours.log_tagger(pipeline, threshold=0.2).model_uri)
    table = table_of(frame)
    scores = model.predict(table, params={"top_n": 3})["scores"]
    assert scores.map(len).eq(3).all()
    assert model.predict(table)["scores"].explode().dropna().min() >= 0.2
    assert model.predict(table, params={"threshold": 0.9})["scores"].explode().dropna().min() >= 0.9


def test_a_stage_may_take_the_first_columns_of_those_before_it():
    """Of six columns four are kept, of which the classifier was fitted on two."""
    from spark_mlfs import params, pipeline
    from spark_mlfs.adapters.classes import Fit
    from spark_mlfs.adapters.learned import facts_of_learned
    from spark_mlfs.mlflow.tagger import Steps

    draw = np.random.default_rng(0)
    table = pd.DataFrame(draw.normal(size=(60, 6)), columns=list("abcdef"))
    labels = (table.to_numpy()[:, :2] > 0).astype(int)
    rows, _ = pack_arrays(table, labels)
    (kept,) = pipeline.rank(rows, [pipeline.Request.of("mim", {}, 4)])
    selection = spark_mlfs.MultiLabelSelectorModel.of(kept)
    few = table[selection.selectedFeatureNames[:2]]
    rows, _ = pack_arrays(few, labels)
    learner = spark_mlfs.CLASSIFIERS.create("mlknn")
    fit = Fit(learner, params.check(learner.parameters, {"k": 3}, "mlknn"))
    state, cost, _ = pipeline.compute(rows, fit)
    facts = facts_of_learned("classifier", fit, rows, state, cost, 0.0)
    model = spark_mlfs.MultiLabelClassificationModel.of(state, facts)
    _, scores = Steps.of([selection, model]).predict(table)
    assert scores.tolist() == model.predictor().predict(few.to_numpy())[1].tolist()


@pytest.mark.slow
def test_steps_of_a_pipeline_with_an_extractor(fitted):
    from spark_mlfs.mlflow.tagger import Steps, tags

    frame = fitted[0]
    stages = [
        spark_mlfs.MIMSelector(numTopFeatures=8, outputCol="kept", idCol="id"),
        spark_mlfs.LIFTExtractor(featuresCol="kept", outputCol="lift", idCol="id"),
        spark_mlfs.MLkNNClassifier(k=5, featuresCol="lift", idCol="id"),
    ]
    pipeline = Pipeline(stages=stages).fit(frame)
    steps = Steps.of(pipeline)
    table = table_of(frame)
    want = np.array(
        [r.rawPrediction.toArray() for r in pipeline.transform(frame).orderBy("id").collect()]
    )
    for given in (table, table.to_numpy(), pd.DataFrame({"features": list(table.to_numpy())})):
        assert steps.predict(given)[1].tobytes() == want.tobytes()
    predicted = tags(steps, table, None, None)
    assert [len(t) for t in predicted["tags"]] == (steps.predict(table)[0] > 0).sum(axis=1).tolist()


def test_what_a_tagger_refuses(spark, fitted):
    from pyspark.ml.feature import SQLTransformer

    from spark_mlfs.mlflow.tagger import Steps, tags

    frame, pipeline = fitted
    steps = Steps.of(pipeline)
    table = table_of(frame)
    first, aside = (
        pipeline.stages[0].selectedFeatureNames[0],
        set(table.columns) - set(pipeline.stages[0].selectedFeatureNames),
    )
    assert (
        steps.predict(table.drop(columns=aside))[1].tobytes() == steps.predict(table)[1].tobytes()
    )
    with pytest.raises(
        DataError, match=f"lacks 1 of the columns the model was fitted on, '{first}' first"
    ):
        steps.predict(table.drop(columns=first))
    with pytest.raises(DataError, match="has 3 features, the model was fitted on 12"):
        steps.predict(np.zeros((2, 3)))
    with pytest.raises(ParameterError, match="top_n or threshold, not both"):
        tags(steps, table, 1, 0.5)
    other = table.rename(columns=lambda name: f"other_{name}")
    with pytest.raises(
        DataError, match=r"lacks 6 of the columns the model was fitted on"
    ):  # by name or not at all
        steps.predict(other)
    by_place = pd.DataFrame(table.to_numpy())
    assert steps.predict(by_place)[1].tobytes() == steps.predict(table)[1].tobytes()
    for cells in (
        [[1.0] * 12, [1.0] * 11],
        [[1.0] * 12, None],
        [["a"] * 12] * 2,
        [[[1.0]], [[1.0, 2.0]]],
    ):
        with pytest.raises(
            DataError, match=r"^the cells of 'x' are not arrays of 12 numbers each$"
        ):
            steps.predict(pd.DataFrame({"x": cells}))
    with pytest.raises(ParameterError, match="ends with a classifier"):
        Steps.of([pipeline.stages[0]])
    with pytest.raises(
        ParameterError,
        match=r"not SQLTransformer; log the pipeline with spark_mlfs.mlflow.log_model",
    ):
        Steps.of([SQLTransformer(statement="SELECT * FROM __THIS__"), *pipeline.stages])


def test_autologging_takes_models_of_the_allowlist(fitted, monkeypatch):
    from pyspark.ml import PipelineModel
    from pyspark.ml.feature import VectorSlicer

    autolog = pytest.importorskip("mlflow.pyspark.ml")
    stages = fitted[1].stages
    monkeypatch.setattr(autolog, "_log_model_allowlist", set(), raising=True)
    assert not autolog._should_log_model(stages[0])
    monkeypatch.setattr(autolog, "_log_model_allowlist", set(ours.ALLOWLIST))
    for model in (*stages, fitted[1], PipelineModel([VectorSlicer(), *stages])):
        assert autolog._should_log_model(model)


def test_a_damaged_tagger_is_refused():
    from spark_mlfs.mlflow.tagger import Steps

    steps = Steps(
        2, ["a", "b"], [("take", np.array([1]))], "mlknn", {"k": np.arange(3.0)}, ["alpha", "beta"]
    )
    saved = pickle.dumps(steps)
    assert (
        pickle.loads(saved).labels == ["alpha", "beta"] and pickle.loads(saved).state["k"][2] == 2.0
    )
    with pytest.raises(DataError, match="the saved tagger is damaged"):
        pickle.loads(saved.replace(b"alpha", b"alphb"))
