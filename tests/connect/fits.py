"""Fits, saved models and scores as plain values, from any session; as a program, from a local Spark Connect server."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[2])  # and not this folder

import spark_mlfs  # noqa: E402
from spark_mlfs.session import local as session  # noqa: E402

METHODS = {
    "fisher": {},
    "mim": {},
    "jmi": {},
    "spec": {},
    "gmba": {"mode": "closed"},
    "relieff": {},
    "lasso": {},
    "csfs": {},
    "omfs": {},
}
METHODS |= {"rfs": {"max_iter": 2}, "msfs": {}, "mifs": {}}
BY_JOBS = ("jmi", "relieff", "lasso")  # job by job only those that differ in the statistics they ask for


def everything(spark):
    from pyspark.ml import Pipeline, PipelineModel

    from spark_mlfs.evaluate.metrics import MultiLabelEvaluator

    frame = spark_mlfs.read.planted(spark, 300, 15, 4, seed=1, num_partitions=3)
    out = {}
    for method, p in METHODS.items():
        for small in (1 << 40, 0) if method in BY_JOBS else (1 << 40,):
            request = spark_mlfs.pipeline.Request.of(method, p, 5)
            found = spark_mlfs.pipeline.rank(frame, [request], row_id="id", small_bytes=small)[0]
            out[f"{method} {small}"] = [
                list(map(int, found.ranking["index"])),
                [v.hex() for v in map(float, found.scores.values)],
            ]
    selector = spark_mlfs.JMISelector(numTopFeatures=4, outputCol="kept", idCol="id")
    fitted = Pipeline(stages=[selector]).fit(frame)
    folder = tempfile.mkdtemp()
    fitted.stages[0].write().overwrite().save(folder + "/model")
    fitted.write().overwrite().save(folder + "/pipeline")
    loaded = PipelineModel.load(folder + "/pipeline").stages[0]
    again = spark_mlfs.MultiLabelSelectorModel.load(folder + "/model")
    assert loaded.ranking.equals(fitted.stages[0].ranking) and again.ranking.equals(loaded.ranking)
    kept = again.transform(frame)
    out["names"] = [a["name"] for a in kept.schema["kept"].metadata["ml_attr"]["attrs"]["numeric"]]
    stages = [
        spark_mlfs.MIMSelector(numTopFeatures=8, outputCol="kept", idCol="id"),
        spark_mlfs.LIFTExtractor(featuresCol="kept", outputCol="lift", idCol="id"),
        spark_mlfs.BRSVMClassifier(featuresCol="lift", idCol="id"),
    ]
    whole = Pipeline(stages=stages).fit(frame)
    whole.write().overwrite().save(folder + "/whole")
    scored = PipelineModel.load(folder + "/whole").transform(frame)
    out["scores"] = [[float(v).hex() for v in r.rawPrediction] for r in scored.orderBy("id").limit(20).collect()]
    near = spark_mlfs.MLkNNClassifier(k=5, idCol="id").fit(frame)
    out["tags"] = [[r.tags, [v.hex() for v in r.scores]] for r in near.tagged(frame, top_n=2).orderBy("id").limit(20).collect()]
    out["precision"] = MultiLabelEvaluator().evaluate(near.transform(frame)).hex()
    out["row"] = [float(v) for v in kept.orderBy("id").first().kept]
    return out


if __name__ == "__main__":
    os.environ["JAVA_HOME"] = str(session.java_home())
    from pyspark.sql import SparkSession

    builder = SparkSession.builder.remote("local[2]").config("spark.sql.shuffle.partitions", "2")
    remote = builder.config("spark.ui.enabled", "false").getOrCreate()
    print("RESULT" + json.dumps(everything(remote)))
    remote.stop()
