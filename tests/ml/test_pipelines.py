"""Pipelines saved and loaded without the JVM: pyspark reads what we write, we what it writes; a
stage of the JVM is one line. And what scoring by them hands over to Python."""

from __future__ import annotations

import uuid
from contextlib import suppress
from pathlib import Path

import pandas as pd
import pytest
from pyspark.ml import Pipeline, PipelineModel, Transformer
from pyspark.ml.feature import SQLTransformer
from pyspark.sql import functions as F

import spark_mlfs
from spark_mlfs import cli
from spark_mlfs.errors import ParameterError
from spark_mlfs.ml import persistence
from spark_mlfs.ml.persistence import load_pipeline, save_pipeline
from spark_mlfs.output import folder
from spark_mlfs.output.folder import OutputTarget
from spark_mlfs.scoring import corpus
from spark_mlfs.scoring import stages as scorer
from spark_mlfs.scoring.check import Check
from spark_mlfs.texts.word_vectors import TextReader


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
    return [
        row.rawPrediction.toArray().tobytes()
        for row in model.transform(frame).orderBy("id").collect()
    ]


@pytest.mark.slow
def test_each_reads_what_the_other_writes(spark, fitted, tmp_path):
    frame, model = fitted
    ours, theirs = f"file://{tmp_path}/ours", f"file://{tmp_path}/theirs"
    save_pipeline(spark, model, ours)
    model.write().save(theirs)
    read_by_pyspark = PipelineModel.load(ours)
    with pytest.raises(ParameterError, match="ours exists already: give another path"):
        save_pipeline(spark, model, ours)
    save_pipeline(spark, model, ours, overwrite=True)
    want = scores(model, frame)
    for found in (read_by_pyspark, load_pipeline(spark, theirs), load_pipeline(spark, ours)):
        assert found.uid == model.uid and [s.uid for s in found.stages] == [
            s.uid for s in model.stages
        ]
        assert scores(found, frame) == want


@pytest.mark.slow
def test_without_the_jvm_commands_save_and_load(spark, fitted, tmp_path, monkeypatch):
    """As on a Connect client of Spark 3.5: `select` saves and `score` loads without pyspark's
    writer and reader of pipelines."""
    _frame, model = fitted
    for module in (persistence, folder):
        monkeypatch.setattr(module, "jvm_within_reach", lambda: False)

    def refused(*_):
        raise AssertionError("asks for a SparkContext")

    monkeypatch.setattr(PipelineModel, "write", refused)
    monkeypatch.setattr(PipelineModel, "load", refused)
    OutputTarget(spark, f"file://{tmp_path}", tmp_path, "error").model("pipeline", model)
    found = scorer.load_scorer(spark, f"file://{tmp_path}")
    assert [type(stage) for stage in found.stages] == [
        type(stage) for stage in (*model.stages[0].stages, model.stages[1])
    ]


@pytest.mark.slow
def test_words_are_counted_the_same_without_the_jvm(spark, tmp_path, monkeypatch):
    """A saved pipeline's scores: to the bit those of one that was fitted without Spark."""
    texts = [
        ("Ka be, be! cell_1 x9", ["t"]),
        (None, ["u"]),
        ("\u212aa b\u0130 Be  the", ["t", "u"]),
        ("", []),
        ("the ka", ["u"]),
    ]
    rows = [(i, text, tags) for i, (text, tags) in enumerate(texts * 12)]
    frame = spark.createDataFrame(rows, "doc long, body string, tags array<string>")
    frame.write.parquet(f"file://{tmp_path}/in")
    flags = ["--format", "text", "--option", "source=parquet", "--option", "text=body", "--option", "labels=tags", "--id", "doc",
             "--option", "stop_words=the", "--option", "stop_words=x9", "--method", "mim", "--num-top-features", "3",
             "--classifier", "br-svm", "--no-report", "--quiet"]  # fmt: skip

    def found(engine):
        name = f"of {engine}"
        more = ["--engine", engine, "--output", f"{tmp_path}/{name}"]
        assert cli.main(["select", "--data", f"{tmp_path}/in", *flags, *more]) == 0
        loaded = scorer.load_scorer(spark, f"file://{tmp_path}/{name}")
        scored = loaded.tagged(frame, ["doc"], top_n=2).orderBy("doc").collect()
        _, cells = loaded.features(loaded.read_of(frame))
        assert isinstance(
            cells.read, TextReader
        )  # counted where the classifier reads them, whatever stages counted before
        return scored, {type(stage).__name__ for stage in loaded.stages}

    with_jvm, _ = found("local")
    for module in (persistence, folder):
        monkeypatch.setattr(module, "jvm_within_reach", lambda: False)
    without, stages = found("spark")
    assert without == with_jvm and "TextFeaturesModel" in stages


@pytest.mark.spark35
def test_what_is_of_the_jvm_is_one_line(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(persistence, "jvm_within_reach", lambda: False)
    path = f"file://{tmp_path}/saved"
    PipelineModel([SQLTransformer(statement="SELECT * FROM __THIS__")]).write().save(path)
    with pytest.raises(
        ParameterError,
        match=r"a Connect client before 4.0 has none of the JVM's classes; load it with a client",
    ):
        load_pipeline(spark, path)
    with pytest.raises(ParameterError, match="holds nothing that was saved"):
        load_pipeline(spark, f"{path}/nothing")


class Noting(Transformer):
    """Leaves a file for each batch of texts that a worker is handed: how many characters it has."""

    def __init__(self, folder):
        super().__init__()
        self.folder = str(folder)

    def _transform(self, dataset):
        folder = self.folder

        def noted(texts: pd.Series) -> pd.Series:
            Path(folder, f"{uuid.uuid4()}").write_text(str(int(texts.str.len().sum())))
            return texts

        return dataset.withColumn("body", F.pandas_udf(noted, "string")("body"))

    def batches(self):
        """What was noted since the last time."""
        files = [*Path(self.folder).iterdir()]
        sizes = [int(file.read_text()) for file in files]
        for file in files:
            file.unlink()
        return sizes


def settings(spark):
    """How large Arrow batches are, as far as this Spark has settings for it."""
    out = {}
    for name in ("maxRecordsPerBatch", "maxBytesPerBatch"):
        with suppress(Exception):
            out[name] = spark.conf.get(f"spark.sql.execution.arrow.{name}")
    return out


@pytest.mark.slow
def test_long_texts_come_in_small_batches(spark, tmp_path):
    """16 texts of 1 MB: a worker is handed 4 MB of them at a time, by `score` and by `check`; left
    alone it gets them all."""
    rows = [
        (i, "cat purr" if i % 2 else "dog bark", ["cats"] if i % 2 else ["dogs"]) for i in range(40)
    ]
    table = spark.createDataFrame(rows, "doc bigint, body string, topics array<string>")
    options = {"text": "body", "labels": "topics", "id": "doc", "min_df": 1}
    training = spark_mlfs.read.text(spark, table, **options)
    selector = spark_mlfs.MIMSelector(numTopFeatures=3, idCol="id").fit(training)
    stages = scorer.fit_pipeline(training, selector, "br-svm", {}, table, "text", options).stages
    (tmp_path / "noted").mkdir()
    noting = Noting(tmp_path / "noted")
    ready = scorer.Scorer("", [noting, *stages])
    text = 1 << 20
    body = F.rpad(F.when(F.col("id") % 2 == 0, "dog bark ").otherwise("cat purr "), text, "-")
    tags = F.array(F.when(F.col("id") % 2 == 0, "dogs").otherwise("cats")).alias("topics")
    long = spark.range(0, 16, 1, 1).select(F.col("id").alias("doc"), body.alias("body"), tags)
    long.write.parquet(f"file://{tmp_path}/in")
    rows_ = spark.read.parquet(f"file://{tmp_path}/in")
    ready.tagged(rows_, ["doc"]).write.format("noop").mode("overwrite").save()
    assert noting.batches() == [16 * text]
    before = settings(spark)
    done = corpus.Scoring(
        spark, ready, f"{tmp_path}/in", "parquet", f"{tmp_path}/out", id="doc"
    ).run()
    sizes = noting.batches()
    assert done["rows"] == 16 and done["tags"] == {"cats": 8, "dogs": 8}
    assert sum(sizes) == 16 * text and max(sizes) <= (4 << 20) + text
    checked = Check(ready, "topics").run(rows_)
    sizes = noting.batches()
    assert (
        checked.metrics()["microF1"] == 1
        and sum(sizes) == 16 * text
        and max(sizes) <= (4 << 20) + text
    )
    assert settings(spark) == before
