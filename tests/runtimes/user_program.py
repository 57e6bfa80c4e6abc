"""What a library that depends on this one does, for `mypy --strict`: what is revealed stands
behind each line, what must be refused has the code of the error. No name of a test file."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
from typing_extensions import reveal_type

import spark_mlfs
from spark_mlfs import states
from spark_mlfs.sklearn import JMISelector, MLkNNClassifier, MultiLabelSelector, TextFeatures
from spark_mlfs.typing import Labels, Table

frame = pd.DataFrame({"a": [0, 1, 1, 0], "b": [0, 0, 1, 1]})
array = np.array([[0, 1], [0, 0], [1, 1], [1, 0]])
lists = [[0, 1], [0, 0], [1, 1], [1, 0]]
tags = [["x"], ["x"], ["y"], ["y"]]
columns = pl.DataFrame({"a": [0, 1, 1, 0], "b": [0, 0, 1, 1]})

reveal_type(spark_mlfs.rank(frame, tags))  # DataFrame of pandas
reveal_type(spark_mlfs.rank(array, pd.Series([0, 1, 1, 0]), "jmi", k=1))  # DataFrame of pandas
reveal_type(spark_mlfs.rank(lists, array, k=None, num_bins=3))  # DataFrame of pandas
reveal_type(spark_mlfs.rank(columns, tags, sample_weight=[1, 2, 3, 4]))  # DataFrame of polars
reveal_type(spark_mlfs.rank(columns.lazy(), tags))  # DataFrame of polars
reveal_type(spark_mlfs.by_label(frame, tags))  # DataFrame of pandas

selector = JMISelector(num_top_features=1, num_bins=3).fit(frame, tags)
reveal_type(selector)  # JMISelector of spark_mlfs
reveal_type(selector.ranking_)  # DataFrame of pandas
reveal_type(selector.transform(array))  # ndarray of numpy
reveal_type(selector.transform(frame))  # ndarray of numpy | DataFrame of pandas
reveal_type(MultiLabelSelector("chi2").fit(array, array).get_support())  # ndarray of numpy
reveal_type(MLkNNClassifier(k=3).fit(array, tags).predict(array))  # ndarray of numpy
reveal_type(MLkNNClassifier().fit(frame, tags).score(frame, tags))  # float
reveal_type(states.rank(states.collect(frame, tags, "mim"), "mim"))  # DataFrame of pandas


def mine(table: Table, labels: Labels) -> list[str]:
    """Pass on what is passed in."""
    selected = MultiLabelSelector("mim").fit(table, labels)
    return [str(name) for name in selected.get_feature_names_out()]


mine(frame, tags)
TextFeatures(min_df=1).fit(["red fish", None])
spark_mlfs.rank(3, tags)  # error: call-overload
spark_mlfs.rank("table.csv", tags)  # error: arg-type
spark_mlfs.rank(array, 3)  # error: call-overload
spark_mlfs.rank(frame, tags, missing="mode")  # error: call-overload
JMISelector(num_bin=3)  # error: call-arg
JMISelector().fit(array, 3)  # error: arg-type
print(spark_mlfs.no_such_name)  # error: attr-defined
