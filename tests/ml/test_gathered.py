"""Columns of numbers, texts and dates as one vector: the same on every version of Spark."""

from __future__ import annotations

import datetime as dt
import math

import pytest

from spark_mlfs.kernels.categories import Categories
from spark_mlfs.scoring.stages import ColumnGatherer


@pytest.mark.spark35
def test_nulls_and_empty_texts_are_nan_in_the_vector(spark):
    schema = "`a.b` int, t string, d date, s string"
    rows = [(1, " -4e1 ", dt.date(1970, 1, 3), "x"), (None, "", None, None)]
    frame = spark.createDataFrame(rows, schema)
    facts = Categories("", False, columns=["a.b", "t", "d", "s"])
    facts.dates.add(2)
    facts.values[3] = ["x", "y"]
    gatherer = ColumnGatherer(
        inputCols=["a.b", "t", "d", "s"], outputCol="x", categories=facts.facts
    )
    first, second = (row["x"].toArray().tolist() for row in gatherer.transform(frame).collect())
    assert first == [1, -40, 2, 1, 0]
    assert all(map(math.isnan, second))
