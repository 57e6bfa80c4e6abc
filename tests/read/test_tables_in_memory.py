"""Tables in memory as readers take them without Spark: pandas, Polars, Arrow and streams."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from test_xc import HERE

import spark_mlfs
from spark_mlfs.errors import DataError, ParameterError
from spark_mlfs.frames import tables
from spark_mlfs.read import load, table

X = np.random.default_rng(0).normal(size=(40, 3)).round(3)
COLUMNS = {f"x{j}": X[:, j] for j in range(3)}
COLUMNS |= {"n": np.arange(40), "kind": ["u", "v"] * 20}
TAGS = [[tag for j, tag in enumerate("ab") if X[i, j] > 0] for i in range(40)]
ARROW = pa.table({**COLUMNS, "tags": TAGS})


class Stream:
    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


@pytest.mark.parametrize(
    "data",
    [
        pd.DataFrame({**COLUMNS, "tags": TAGS}),
        pl.DataFrame({**COLUMNS, "tags": TAGS}),
        pl.DataFrame({**COLUMNS, "tags": TAGS}).lazy(),
        ARROW,
        ARROW.to_batches()[0],
        Stream(ARROW),
        ARROW.set_column(4, "kind", ARROW["kind"].dictionary_encode()),
    ],
    ids=lambda data: f"{type(data).__module__.partition('.')[0]} {type(data).__name__}",
)
def test_rows_are_those_of_the_table(monkeypatch, data):
    monkeypatch.setattr(tables, "ROWS", 16)
    frame = table(HERE, data, features=["x0", "x1", "n"], labels="tags", id="n")
    rows = [row for batch in frame.batches() for row in batch.to_pylist()]
    assert [row["id"] for row in rows] == [*range(40)] and [row["labels"] for row in rows] == TAGS
    assert [row["features"]["values"] for row in rows] == np.c_[X[:, :2], np.arange(40)].tolist()
    frame = load(HERE, data, "table", features="kind", labels="tags", categories="codes")
    codes = [row["features"]["values"] for b in frame.batches() for row in b.to_pylist()]
    assert codes == [[0], [1]] * 20


def test_a_stream_is_read_once():
    reader = ARROW.to_reader()
    frame = table(HERE, reader, features=["x0"], labels="tags")
    assert frame.count() == 40 and frame.count() == 40
    assert reader.read_all().num_rows == 0


def test_what_is_refused():
    with pytest.raises(DataError, match="this pandas frame is no table"):
        table(HERE, pd.DataFrame({"x": [1, "a"], "y": [0, 1]}), features=["x"], labels=["y"])
    with pytest.raises(ParameterError, match=r"a Spark or a pandas frame is needed, not numpy"):
        table(HERE, X, features=["x0"], labels="tags")


def test_states_are_collected_of_any_table():
    rows = {f"x{j}": X[:, j] for j in range(3)}
    expected = spark_mlfs.states.rank(spark_mlfs.states.collect(X, TAGS, "fisher"), "fisher", 3)
    for data in (pa.table(rows), pl.DataFrame(rows).lazy(), Stream(pa.table(rows))):
        for labels in (TAGS, pa.array(TAGS), Stream(pa.table({"t": TAGS}))):
            states = spark_mlfs.states.collect(data, labels, "fisher")
            ranking = spark_mlfs.states.rank(states, "fisher", 3)
            assert ranking["score"].tolist() == expected["score"].tolist()
            assert ranking["index"].tolist() == expected["index"].tolist()
