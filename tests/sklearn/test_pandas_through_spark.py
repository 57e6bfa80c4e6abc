"""A pandas frame goes to Spark's estimators through the session; what does not is told what to
call."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import spark_mlfs
from spark_mlfs import ParameterError
from spark_mlfs.testing import example

X, Y = example()


def test_fit_takes_a_pandas_frame(spark):
    frame = pd.DataFrame({"features": list(X), "labels": list(Y)})
    model = spark_mlfs.JMISelector(numTopFeatures=4).fit(frame)
    assert model.selectedFeatures == spark_mlfs.rank(X, Y, "jmi", 4)["index"].tolist()
    kept = model.setOutputCol("kept").transform(frame).select("kept").collect()
    assert sorted(map(tuple, X[:, model.selectedFeatures])) == sorted(
        tuple(row.kept) for row in kept
    )


@pytest.mark.slow
def test_words_of_a_pandas_frame(spark):
    frame = pd.DataFrame(
        {
            "body": ["red apple", "green apple", "red sea"] * 4,
            "tags": ["fruit", "fruit", "water"] * 4,
        }
    )
    read = spark_mlfs.read.text(spark, frame, "body", "tags", label_delimiter=";")
    assert spark_mlfs.MIMSelector(numTopFeatures=1).fit(read).selectedFeatureNames == ["apple"]


def test_a_table_may_be_a_pandas_frame(spark):
    names = [f"x{j}" for j in range(X.shape[1])]
    frame = pd.DataFrame(np.hstack([X, Y]), columns=[*names, *"wxyz"]).assign(key=np.arange(len(X)))
    read = spark_mlfs.read.table(spark, frame, names, list("wxyz"), id="key")
    model = spark_mlfs.MIMSelector(numTopFeatures=4).fit(read)
    assert model.selectedFeatureNames == spark_mlfs.rank(frame[names], Y, "mim", 4)["name"].tolist()


def test_names_that_are_no_text_are_names_as_text(spark):
    frame = pd.DataFrame(np.hstack([X, Y]))
    names = [str(j) for j in range(X.shape[1])]
    labels = [str(X.shape[1] + j) for j in range(Y.shape[1])]
    read = spark_mlfs.read.table(spark, frame, names, labels)
    model = spark_mlfs.MIMSelector(numTopFeatures=4, exclude=[0]).fit(read)
    expected = spark_mlfs.rank(frame[frame.columns[: X.shape[1]]], Y, "mim", 4, exclude=[0])
    assert model.selectedFeatures == expected["index"].tolist()


def test_what_is_not_taken(spark):
    polars = pytest.importorskip("polars")
    selector = spark_mlfs.JMISelector()
    for data, what in (
        (
            pd.DataFrame(X, columns=[f"x{j}" for j in range(X.shape[1])]),
            "spark_mlfs.sklearn.JMISelector",
        ),
        (
            polars.DataFrame({"features": X.tolist()}),
            "not polars.DataFrame; for tables in memory call spark_mlfs.rank",
        ),
        (X, "not numpy.ndarray"),
    ):
        with pytest.raises(ParameterError) as error:
            selector.fit(data)
        assert what in str(error.value) and "\n" not in str(error.value)
    for data in (X, {"a": [1]}):
        for read in (spark_mlfs.read.table, spark_mlfs.read.text):
            with pytest.raises(ParameterError, match=r"spark_mlfs.rank"):
                read(spark, data, "a", "b")
