"""Fits, saved models and scores as plain values, from any session; as a program, from a local Spark
Connect server."""

from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path

sys.path[0] = str(Path(__file__).resolve().parents[2])  # and not this folder

import spark_mlfs  # noqa: E402
from spark_mlfs.session import java  # noqa: E402
from spark_mlfs.statistics.base import Budgets  # noqa: E402

# those that differ in the statistics they ask for; what is done in one task is one job for all
METHODS = ("jmi", "relieff", "lasso")


def everything(spark):
    from pyspark.ml import Pipeline, PipelineModel

    from spark_mlfs.evaluate.metrics import MultiLabelEvaluator

    frame = spark_mlfs.read.planted(spark, 300, 15, 4, seed=1, num_partitions=3)
    out = {}
    for small in (1 << 40, 0):
        requests = [spark_mlfs.pipeline.Request.of(method, {}, 3) for method in METHODS]
        for found in spark_mlfs.pipeline.rank(frame, requests, row_id="id", small_bytes=small):
            assert found.distributed == (small == 0)
            scores = [v.hex() for v in map(float, found.scores.values)]
            out[f"{found.request.method} {small}"] = [
                list(map(int, found.ranking["index"])),
                scores,
            ]
    folder = tempfile.mkdtemp()
    named = frame.withColumnsRenamed({"id": "row.id", "features": "x.y", "labels": "tags.all"})
    columns = {"labelsCol": "tags.all", "idCol": "row.id"}
    stages = [
        spark_mlfs.MIMSelector(
            numTopFeatures=8, featuresCol="x.y", outputCol="kept.eight", **columns
        ),
        spark_mlfs.LIFTExtractor(featuresCol="kept.eight", outputCol="lift", **columns),
        spark_mlfs.BRSVMClassifier(featuresCol="lift", **columns),
    ]
    whole = Pipeline(stages=stages).fit(named)
    whole.write().overwrite().save(folder + "/whole")
    loaded = PipelineModel.load(folder + "/whole")
    whole.stages[0].write().overwrite().save(folder + "/model")
    again = spark_mlfs.MultiLabelSelectorModel.load(folder + "/model")
    assert again.ranking.equals(whole.stages[0].ranking)
    assert loaded.stages[0].ranking.equals(again.ranking)
    kept = again.transform(named).schema["kept.eight"]
    out["names"] = [a["name"] for a in kept.metadata["ml_attr"]["attrs"]["numeric"]]
    rows = loaded.transform(named).orderBy("`row.id`").limit(20).collect()
    out["scores"] = [[float(v).hex() for v in (*r["kept.eight"], *r.rawPrediction)] for r in rows]
    near = spark_mlfs.MLkNNClassifier(k=5, idCol="id").fit(frame)
    out["tags"] = [
        [r.tags, [v.hex() for v in r.scores]]
        for r in near.tagged(frame, top_n=2).orderBy("id").limit(20).collect()
    ]
    out["precision"] = MultiLabelEvaluator().evaluate(near.transform(frame)).hex()
    out["encoded"] = encoded(spark, folder)
    out["files"] = of_files(spark, folder)
    return out


def of_files(spark, folder):
    """Pictures of a folder, one of which is damaged: their features, why it is left out, and what a
    page shows."""
    from spark_mlfs.frames.schema import rejected_of
    from spark_mlfs.media.generate import write_files

    root = Path(folder, "pictures")
    root.mkdir()
    write_files("images", root, 6, 0, True)
    (root / "files" / "000001.png").write_bytes(b"no image")
    how = {"thumbnail": 2, "cells": 0, "hues": 0}
    frame = spark_mlfs.read.files(
        spark, f"{root}/labels.csv", labels="tags", label_delimiter=";", feature_options=how
    )
    found = rejected_of(frame)
    rows = [
        [[v.hex() for v in map(float, row.features)], sorted(row.labels)]
        for row in frame.orderBy("id").collect()
    ]
    shown = found.gallery.of([0])
    found.release()
    return json.loads(json.dumps([rows, found.rows, shown]))


def encoded(spark, folder):
    """Pictures by a model that is too large for a message."""
    sys.path.append(str(Path(__file__).parents[1] / "media"))
    from onnx_models import images, jpeg, saved

    from spark_mlfs.media import model

    whole, model.LARGE = model.LARGE, 1000
    rows = spark.createDataFrame(
        [(i, jpeg(i)) for i in range(9)], "number int, content binary"
    ).repartition(3)
    encoder = spark_mlfs.OnnxEncoder(modelPath=saved(f"{folder}/model.onnx", *images()))
    encoder.write().overwrite().save(f"{folder}/encoder")
    made = (
        spark_mlfs.OnnxEncoder.load(f"{folder}/encoder").transform(rows).orderBy("number").collect()
    )
    model.LARGE = whole
    return [[float(v).hex() for v in row.features] for row in made]


def extract(spark, folder):
    """An extractor job by job, and one that is saved and loaded, into `folder`."""
    import numpy as np

    from spark_mlfs import params
    from spark_mlfs.adapters.classes import Fit
    from spark_mlfs.blocks.pack import pack

    held = np.load(folder / "data.npz")
    rows = [
        (i, x.tolist(), [int(v) for v in y])
        for i, (x, y) in enumerate(zip(held["x"], held["y"], strict=True))
    ]
    frame = spark.createDataFrame(
        rows, "id long, features array<double>, labels array<int>"
    ).repartition(3)
    packed = pack(frame, "features", "labels", "id", "multihot")
    checked = params.check(spark_mlfs.EXTRACTORS["mddm"].parameters, {}, "mddm")
    fit = Fit(spark_mlfs.EXTRACTORS.create("mddm"), checked)
    state, _, distributed = spark_mlfs.pipeline.compute(packed, fit, budgets=Budgets(small=0))
    assert distributed
    np.savez(folder / "mddm.npz", **state)
    packed.release()
    model = spark_mlfs.MDDMExtractor(idCol="id", labelsForm="multihot", outputCol="z").fit(frame)
    model.write().overwrite().save(str(folder / "model"))
    loaded = spark_mlfs.MultiLabelExtractorModel.load(str(folder / "model"))
    assert loaded.ranking.equals(model.ranking)
    np.savez(
        folder / "out.npz",
        z=np.array([row.z.toArray() for row in loaded.transform(frame).orderBy("id").collect()]),
    )


if __name__ == "__main__":
    os.environ["JAVA_HOME"] = str(java.java_home())
    from pyspark.sql import SparkSession

    remote = (
        SparkSession.builder.remote("local[2]")
        .config("spark.sql.shuffle.partitions", "2")
        .getOrCreate()
    )
    (Path(sys.argv[1]) / "everything.json").write_text(json.dumps(everything(remote)))
    extract(remote, Path(sys.argv[1]))
    remote.stop()
