"""Fitted models on streams: a file source, every batch that is there, the same rows as the batch
read."""

from __future__ import annotations

import pytest

import spark_mlfs
from spark_mlfs.errors import ParameterError

pytestmark = pytest.mark.spark35


@pytest.fixture(scope="module")
def fitted(spark):
    frame = spark_mlfs.read.planted(spark, 120, 12, 3, seed=1, num_partitions=2).cache()
    selector = spark_mlfs.MIMSelector(numTopFeatures=6, outputCol="kept", idCol="id").fit(frame)
    kept = selector.transform(frame)
    extractor = spark_mlfs.MDDMExtractor(
        featuresCol="kept", outputCol="mddm", idCol="id", dim=2
    ).fit(kept)
    classifier = spark_mlfs.BRSVMClassifier(featuresCol="kept", idCol="id").fit(kept)
    yield frame, selector, extractor, classifier
    frame.unpersist()


def through(spark, fitted, frame):
    _, selector, extractor, classifier = fitted
    return classifier.transform(extractor.transform(selector.transform(frame))).select(
        "id", "kept", "mddm", "prediction", "rawPrediction"
    )


@pytest.mark.slow
def test_transform_of_a_stream_is_that_of_the_batch(spark, fitted, tmp_path):
    frame = fitted[0]
    frame.select("id", "features").write.parquet(str(tmp_path / "in"))
    stored = spark.read.parquet(str(tmp_path / "in"))
    source = (
        spark.readStream.schema(stored.schema)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(tmp_path / "in"))
    )
    assert source.isStreaming
    out = str(tmp_path / "out")
    query = (
        through(spark, fitted, source)
        .writeStream.format("parquet")
        .option("checkpointLocation", str(tmp_path / "seen"))
        .trigger(availableNow=True)
        .start(out)
    )
    try:
        assert query.awaitTermination(120) and query.exception() is None
        assert (
            len({p["batchId"] for p in query.recentProgress if p["numInputRows"]}) == 2
        )  # a file a batch
    finally:
        query.stop()
    streamed = (
        spark.read.schema(through(spark, fitted, stored).schema)
        .parquet(out)
        .orderBy("id")
        .collect()
    )
    assert len(streamed) == frame.count()
    assert streamed == through(spark, fitted, stored).orderBy("id").collect()


@pytest.mark.slow
def test_neighbours_by_blocks_say_what_to_do(spark, fitted, tmp_path, monkeypatch):
    """A training set too large for every task is joined, and a stream joins no batch that is to
    come together again."""
    from spark_mlfs.ml import learners

    monkeypatch.setattr(learners, "BROADCAST_BYTES", 0)
    frame = fitted[0]
    model = spark_mlfs.MLkNNClassifier(k=3, idCol="id").fit(frame)
    frame.select("id", "features").limit(5).write.parquet(str(tmp_path / "in"))
    schema = spark.read.parquet(str(tmp_path / "in")).schema
    with pytest.raises(ParameterError, match="foreachBatch"):
        model.transform(spark.readStream.schema(schema).parquet(str(tmp_path / "in")))
