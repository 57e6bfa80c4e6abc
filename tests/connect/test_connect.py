"""The same fits on a local Spark Connect server: same bits as classic. Each kind of session needs a process of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import pytest

SCRIPT = """
import json, sys, tempfile
from spark_mlfs import session
import os
os.environ["JAVA_HOME"] = str(session.java_home())
from pyspark.sql import SparkSession
builder = SparkSession.builder.remote("local[2]") if sys.argv[1] == "connect" else SparkSession.builder.master("local[2]")
spark = builder.config("spark.sql.shuffle.partitions", "2").config("spark.ui.enabled", "false").getOrCreate()
import spark_mlfs
from pyspark.ml import Pipeline, PipelineModel
frame = spark_mlfs.read.planted(spark, 300, 15, 4, seed=1, num_partitions=3)
out = {}
asked = [("mim", {}), ("jmi", {}), ("fisher", {}), ("spec", {}), ("gmba", {"mode": "closed"}), ("relieff", {}), ("lasso", {}),
    ("csfs", {}), ("rfs", {"max_iter": 2}), ("omfs", {}), ("msfs", {}), ("mifs", {})]
for method, p in asked:  # job by job only those that differ in the statistics they ask for
    for small in (1 << 40, 0) if method in ("jmi", "relieff", "lasso") else (1 << 40,):
        r = spark_mlfs.pipeline.rank(frame, [spark_mlfs.pipeline.Request.of(method, p, 5)], row_id="id", small_bytes=small)[0]
        out[f"{method} {small}"] = [list(map(int, r.ranking["index"])), [v.hex() for v in map(float, r.scores.values)]]
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
stages = [spark_mlfs.MIMSelector(numTopFeatures=8, outputCol="kept", idCol="id"), spark_mlfs.LIFTExtractor(
    featuresCol="kept", outputCol="lift", idCol="id"), spark_mlfs.BRSVMClassifier(featuresCol="lift", idCol="id")]
whole = Pipeline(stages=stages).fit(frame)
whole.write().overwrite().save(folder + "/whole")
scored = PipelineModel.load(folder + "/whole").transform(frame)
out["scores"] = [[float(v).hex() for v in r.rawPrediction] for r in scored.orderBy("id").limit(20).collect()]
near = spark_mlfs.MLkNNClassifier(k=5, idCol="id").fit(frame)
out["tags"] = [[r.tags, [v.hex() for v in r.scores]] for r in near.tagged(frame, top_n=2).orderBy("id").limit(20).collect()]
from spark_mlfs.evaluate.metrics import MultiLabelEvaluator
out["precision"] = MultiLabelEvaluator().evaluate(near.transform(frame)).hex()
out["row"] = [float(v) for v in kept.orderBy("id").first().kept]
print("RESULT" + json.dumps(out))
spark.stop()
"""


def result(kind):
    env = {**os.environ, "SPARK_TESTING": "1", "PYSPARK_PYTHON": sys.executable}
    env.pop("SPARK_REMOTE", None)
    done = subprocess.run([sys.executable, "-c", SCRIPT, kind], capture_output=True, text=True, env=env, timeout=400)
    lines = [line for line in done.stdout.splitlines() if "RESULT" in line]
    assert lines, done.stderr[-3000:]
    return json.loads(lines[0].split("RESULT", 1)[1])


@pytest.mark.slow
@pytest.mark.ci
def test_connect_equals_classic():
    assert result("connect") == result("classic")
