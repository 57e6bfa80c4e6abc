"""Sums of a Spark frame are those of arrays, byte for byte; an estimator fits on states."""

from __future__ import annotations

import pandas as pd
import pytest
import scipy.sparse as sp
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql import types as T

from spark_mlfs import MultiLabelSelector, states
from spark_mlfs.frames.schema import with_names

from .test_states import data


def framed(spark, X, Y, ids):
    schema = T.StructType(
        [
            T.StructField("id", T.LongType()),
            T.StructField("features", VectorUDT()),
            T.StructField("labels", VectorUDT()),
        ]
    )
    sparse = sp.issparse(X)
    rows = []
    for i, id in enumerate(ids):
        if sparse:
            row = X[i].tocoo()
            x = Vectors.sparse(
                X.shape[1], sorted(zip(row.col.tolist(), row.data.tolist(), strict=True))
            )
        else:
            x = Vectors.dense(X[i].tolist())
        rows.append((int(id), x, Vectors.dense(Y[i].tolist())))
    frame = spark.createDataFrame(rows, schema).repartition(3)
    frame = with_names(frame, "features", [f"x{j}" for j in range(X.shape[1])])
    return with_names(frame, "labels", [f"y{j}" for j in range(Y.shape[1])])


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["dense", "sparse unknown"])
def test_sums_of_a_spark_frame_are_those_of_arrays(spark, kind, tmp_path):
    X, Y, _ = data(kind)
    names = {"columns": [f"y{j}" for j in range(Y.shape[1])]}
    methods = ["mim", "igmf", "fisher", "spec", "lasso", "omfs", "pmu", "scls"]
    frame, labels = framed(spark, X, Y, range(len(Y))), pd.DataFrame(Y, **names)
    one = states.collect(X[:100], labels[:100], methods, name="first", pairs_of=6)
    two = states.collect(X[100:], labels[100:], methods, one, name="rest")
    first = states.collect(frame.where("id < 100"), methods=methods, name="first", pairs_of=6)
    rest = states.collect(frame.where("id >= 100"), methods=methods, like=first, name="rest")
    assert first.basis.id == one.basis.id
    for here, there in ((one, first), (two, rest)):
        states.save(here, str(tmp_path / "here"), overwrite=True)
        states.save(there, str(tmp_path / "there"), overwrite=True)
        for file in ("features", "labels", "sums"):
            same = [
                (tmp_path / side / f"{file}.parquet").read_bytes() for side in ("here", "there")
            ]
            assert same[0] == same[1], file
    model = MultiLabelSelector(method="mim", numTopFeatures=5).fitStates(states.merge(first, two))
    assert model.selectedFeatureNames == states.rank([one, rest], "mim", 5)["name"].tolist()
    picked = MultiLabelSelector(method="jmi", numTopFeatures=4).fitStates(states.merge(first, two))
    assert picked.selectedFeatureNames == states.rank([one, rest], "jmi", 4)["name"].tolist()
    assert model.transform(frame).select("id", model.getOutputCol()).count() == len(Y)


@pytest.mark.slow
def test_texts_of_tags_and_ids_of_a_spark_frame_are_those_of_arrays(spark):
    X, Y, _ = data("dense")
    tags = [";".join(f"t{label}" for label in row.nonzero()[0]) for row in Y]
    frame = framed(spark, X, Y, range(len(Y)))
    texts = spark.createDataFrame(list(enumerate(tags)), "id long, tags string")
    frame = frame.join(texts, "id").withColumnRenamed("id", "number")
    frame = with_names(frame, "features", [f"x{j}" for j in range(X.shape[1])])
    methods = ["mim", "forward"]
    there = states.collect(frame, "tags", methods, name="a", row_ids="number", label_delimiter=";")
    here = states.collect(X, tags, methods, name="a", row_ids=range(len(Y)), label_delimiter=";")
    assert there.basis.id == here.basis.id and there.basis.labels == here.basis.labels
    scores = [states.rank(side, "forward", k=5)["score"].tolist() for side in (here, there)]
    assert scores[0] == scores[1]
