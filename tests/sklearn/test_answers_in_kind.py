"""`rank` of lazy frames, Arrow tables and streams: the ranking of NumPy, in the kind of the rows."""

from __future__ import annotations

from decimal import Decimal

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import spark_mlfs
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.errors import DataError

RNG = np.random.default_rng(0)
X = RNG.normal(size=(60, 4)).round(3)
TAGS = [[tag for j, tag in enumerate("abc") if X[i, j] > 0] for i in range(60)]
COLUMNS = {f"c{j}": X[:, j] for j in range(4)}


class Stream:
    """What streams a table, as a relation of DuckDB does."""

    def __init__(self, table):
        self.table = table

    def __arrow_c_stream__(self, requested_schema=None):
        return self.table.__arrow_c_stream__(requested_schema)


ARROW = pa.table(COLUMNS)
KINDS = [
    (pd.DataFrame(COLUMNS), pd.DataFrame),
    (pl.DataFrame(COLUMNS), pl.DataFrame),
    (pl.DataFrame(COLUMNS).lazy(), pl.DataFrame),
    (ARROW, pa.Table),
    (ARROW.to_batches()[0], pa.Table),
    (Stream(ARROW), pa.Table),
    (X, pd.DataFrame),
]


@pytest.mark.parametrize(("rows", "kind"), KINDS, ids=lambda value: type(value).__name__)
def test_rows_of_any_kind_rank_alike(rows, kind):
    expected = spark_mlfs.rank(pd.DataFrame(COLUMNS), TAGS, "mim", 3)
    labels = [
        TAGS,
        pd.Series(TAGS),
        pl.Series(TAGS),
        pl.DataFrame({"t": TAGS}).lazy(),
        pa.array(TAGS),
        pa.chunked_array([TAGS[:9], TAGS[9:]]),
        pa.table({"t": TAGS}),
        Stream(pa.table({"t": TAGS})),
        pa.table({tag: [int(tag in row) for row in TAGS] for tag in "abc"}),
    ]
    for Y in labels:
        ranking = spark_mlfs.rank(rows, Y, "mim", 3)
        assert type(ranking) is kind
        frame = ranking if kind is pd.DataFrame else ranking.to_pandas()
        names = (
            expected["name"] if kind is not pd.DataFrame or rows is not X else ["x0", "x1", "x2"]
        )
        assert frame["index"].tolist() == expected["index"].tolist()
        assert frame["score"].tolist() == expected["score"].tolist()
        assert sorted(frame["name"]) == sorted(names)


def test_a_table_of_one_column_of_numbers_is_a_label():
    label = [int("a" in row) for row in TAGS]
    expected = spark_mlfs.rank(X, np.array(label)[:, None], "mim", 3)
    for Y in (pa.table({"y": label}), pl.DataFrame({"y": label}).lazy()):
        assert spark_mlfs.rank(X, Y, "mim", 3).equals(expected)


def test_a_stream_is_read_once():
    reader = ARROW.to_reader()
    assert spark_mlfs.rank(reader, TAGS, "mim", 3).num_rows == 3
    assert reader.read_all().num_rows == 0


def test_cells_of_arrow_keep_their_values():
    whole = [None, 2**53 - 1, *range(58)]
    table = pa.table(
        {
            "whole": pa.array(whole, pa.int64()),
            "money": pa.array([*map(Decimal, range(60))], pa.decimal128(12, 2)),
            "day": pa.array(range(60), pa.date32()),
            "kind": pa.array(["u", "v"] * 30).dictionary_encode(),
            "truth": pa.array([None, True, *[False] * 58]),
        }
    )
    pandas = table.to_pandas(date_as_object=False)
    pandas["money"] = pandas["money"].astype(float)
    pandas["truth"] = pandas["truth"].astype("boolean")
    for method in ("mim", "fisher"):
        here = spark_mlfs.rank(table, TAGS, method, None, missing="mean").to_pandas()
        expected = spark_mlfs.rank(pandas, TAGS, method, None, missing="mean")
        pd.testing.assert_frame_equal(here, expected, check_exact=True)
    with pytest.raises(DataError, match="whole"):
        big = pa.table({"whole": pa.array([None, 2**53 + 1, *range(58)]), "x": X[:, 0]})
        spark_mlfs.rank(big, TAGS, "mim", missing="zero")


def test_tags_are_compared_in_their_composed_form():
    decomposed = [["cafe\u0301"] if i % 2 else ["caf\u00e9", "tea"] for i in range(60)]
    packed, _ = pack_arrays(X, decomposed)
    assert packed.label_names == ["caf\u00e9", "tea"]
    classes = ["cafe\u0301" if i % 3 else "caf\u00e9" if i % 2 else "tea" for i in range(60)]
    packed, _ = pack_arrays(X, classes)
    assert packed.label_names == ["caf\u00e9", "tea"]


@pytest.mark.slow
def test_tags_of_spark_are_compared_in_their_composed_form(spark, tmp_path):
    from spark_mlfs.blocks.labels import label_source
    from spark_mlfs.blocks.pack import pack
    from spark_mlfs.read import table

    rows = [(float(i), ["cafe\u0301"] if i % 2 else ["caf\u00e9", "tea"]) for i in range(6)]
    rows[0] = (0.0, ["tea"])
    frame = spark.createDataFrame(rows, "x double, tags array<string>")
    canonical = table(spark, frame, features=["x"], labels="tags")
    assert label_source(canonical, "labels")[0].names == ("caf\u00e9", "tea")
    packed = pack(canonical)
    assert packed.label_names == ["caf\u00e9", "tea"]
    assert packed.profile.positive.tolist() == [5, 3]
    packed.release()
