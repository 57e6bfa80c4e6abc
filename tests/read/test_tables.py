"""Tables and text: every form of features and labels, ids, missing values, and what is refused."""

from __future__ import annotations

import numpy as np
import pytest
from pyspark.ml.linalg import DenseVector, SparseVector, Vectors, VectorUDT
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DoubleType,
    IntegerType,
    LongType,
    StringType,
    StructField,
    StructType,
)

from spark_mlfs.blocks.pack import pack
from spark_mlfs.errors import DataError, ParameterError, from_worker, worker_errors
from spark_mlfs.frames.schema import FEATURES, LABELS, attribute_metadata, attribute_names
from spark_mlfs.read import load, table, text


def rows_of(frame):
    with worker_errors():
        return sorted(frame.collect(), key=lambda r: r["id"])


@pytest.fixture(scope="module")
def wide(spark):
    return spark.createDataFrame(
        [
            (7, 1.5, 2, True, 1, 0, "a; b"),
            (3, -1.0, 0, False, 0, None, ""),
            (5, 0.0, 4, None, 1, 1, "c"),
        ],
        "key long, f_a double, f_b int, f_c boolean, l_x int, l_y int, tags string",
    )


@pytest.mark.spark35
def test_columns_patterns_and_labels(spark, wide):
    frame = table(spark, wide, features="f_*", labels="l_*", id="key", missing="zero")
    rows = rows_of(frame)
    assert [r["id"] for r in rows] == [3, 5, 7]
    assert [r["features"] for r in rows] == [
        DenseVector(v) for v in ([-1, 0, 0], [0, 4, 0], [1.5, 2, 1])
    ]
    np.testing.assert_array_equal(
        [r["labels"].toArray() for r in rows], [[0, np.nan], [1, 1], [1, 0]]
    )
    assert attribute_names(frame, FEATURES) == ["f_a", "f_b", "f_c"] and attribute_names(
        frame, LABELS
    ) == ["l_x", "l_y"]
    chosen = table(
        spark, wide, features=["f_b", "f_a"], labels="tags", label_delimiter=";", id="key"
    )
    rows = rows_of(chosen)
    assert [r["labels"] for r in rows] == [[], ["c"], ["a", "b"]] and rows[2][
        "features"
    ] == DenseVector([2, 1.5])
    assert chosen.schema["id"].dataType == LongType() and not chosen.schema["id"].nullable
    everything = table(
        spark, wide.drop("tags"), features="*", labels=["l_x"], id="key", missing="zero"
    )
    assert attribute_names(everything, FEATURES) == ["f_a", "f_b", "f_c", "l_y"]
    indexed = table(
        spark,
        wide.withColumn("__index_level_0__", wide.key),
        features="*_*",
        labels=["l_x", "l_y"],
        missing="zero",
    )
    assert attribute_names(indexed, FEATURES) == ["f_a", "f_b", "f_c"]  # pandas wrote its index


@pytest.mark.slow
def test_missing_policies(spark, wide):
    with pytest.raises(
        DataError, match=r"row 5: feature 'f_c': the value is missing.*missing='mean'"
    ):
        rows_of(table(spark, wide, features="f_*", labels="l_*", id="key"))
    with pytest.raises(
        Exception, match="the value is missing; pass ❲missing='mean'❳, 'zero' or 'drop', or correct"
    ) as caught:
        table(
            spark, wide, features="f_*", labels="l_*", id="key"
        ).collect()  # an action of the user's own: Spark tells
    assert str(from_worker(caught.value)).endswith(
        "pass missing='mean', 'zero' or 'drop', or correct the data"
    )
    assert [
        r["id"] for r in rows_of(table(spark, wide, "f_*", "l_*", id="key", missing="drop"))
    ] == [3, 7]
    frame = table(spark, wide, features="f_*", labels="l_*", id="key", missing="mean")
    assert [r["features"][2] for r in rows_of(frame)] == [0, 0.5, 1] and attribute_names(
        frame, FEATURES
    )[2] == "f_c"


@pytest.mark.slow
def test_means_do_not_depend_on_partitioning(spark):
    values = np.random.default_rng(3).normal(size=500) * 10.0 ** np.arange(500) ** 0.3
    data = [(k, None if k % 9 == 0 else float(v), 0) for k, v in enumerate(values)]
    found = set()
    for parts in (1, 3, 8):
        source = spark.createDataFrame(data, "id long, x double, l int").repartition(parts)
        found.add(
            rows_of(table(spark, source, ["x"], ["l"], id="id", missing="mean"))[0]["features"][0]
        )
    assert len(found) == 1
    assert found.pop() == pytest.approx(
        np.mean([v for _, v, _ in data if v is not None]), rel=1e-14
    )


@pytest.mark.slow
def test_vectors_and_arrays(spark):
    metadata = attribute_metadata(["u", "v", "w"])
    schema = StructType(
        [
            StructField("id", IntegerType()),
            StructField("vec", VectorUDT()),
            StructField("arr", ArrayType(DoubleType())),
            StructField("hot", VectorUDT()),
            StructField("hots", ArrayType(DoubleType())),
            StructField("num", ArrayType(IntegerType())),
            StructField("tags", ArrayType(StringType())),
        ]
    )
    source = spark.createDataFrame(
        [
            (
                0,
                Vectors.sparse(3, {1: 2.5}),
                [1.0, 2.0],
                Vectors.dense([1, 0]),
                [0.0, 1.0],
                [4, 2],
                ["a"],
            ),
            (1, Vectors.dense([1, 0, 3]), [3.0, None], Vectors.sparse(2, {}), [1.0, None], [], []),
        ],
        schema,
    ).withMetadata("vec", metadata)
    frame = table(spark, source, features="vec", labels="hot", id="id")
    rows = rows_of(frame)
    assert isinstance(rows[0]["features"], SparseVector) and rows[0]["features"] == SparseVector(
        3, {1: 2.5}
    )
    assert rows[1]["features"] == DenseVector([1, 0, 3]) and isinstance(
        rows[1]["features"], DenseVector
    )
    assert [r["labels"].toArray().tolist() for r in rows] == [[1, 0], [0, 0]]
    assert attribute_names(frame, FEATURES) == ["u", "v", "w"]
    rows = rows_of(table(spark, source, features="arr", labels="hots", id="id", missing="zero"))
    assert [r["features"].toArray().tolist() for r in rows] == [[1, 2], [3, 0]]
    means = rows_of(table(spark, source, features="arr", labels="hots", id="id", missing="mean"))
    assert [r["features"].toArray().tolist() for r in means] == [
        [1, 2],
        [3, 2],
    ]  # of the one row that has it
    np.testing.assert_array_equal([r["labels"].toArray() for r in rows], [[0, 1], [1, np.nan]])
    assert [r["labels"] for r in rows_of(table(spark, source, "vec", "num", id="id"))] == [
        [4, 2],
        [],
    ]
    assert [r["labels"] for r in rows_of(table(spark, source, "vec", "tags", id="id"))] == [
        ["a"],
        [],
    ]
    by_hash = source.withColumn("key", F.concat(F.lit("k"), "id"))
    expected = {r[0] for r in by_hash.select(F.xxhash64("key")).collect()}
    assert {r["id"] for r in rows_of(table(spark, by_hash, "vec", "tags", id="key"))} == expected
    assert len({r["id"] for r in rows_of(table(spark, source, "vec", "hot"))}) == 2


@pytest.mark.slow
def test_refused(spark, wide):
    with pytest.raises(DataError, match=r"features: no column 'f_aa': did you mean 'f_a'"):
        table(spark, wide, features=["f_aa"], labels="l_*")
    with pytest.raises(DataError, match=r"labels: no column matches 'm_\*'"):
        table(spark, wide, features="f_*", labels="m_*")
    with pytest.raises(DataError, match=r"column 'tags' is string"):
        table(spark, wide, features=["tags"], labels="l_*")
    with pytest.raises(ParameterError, match=r"pass label_delimiter"):
        table(spark, wide, features="f_*", labels="tags")
    with pytest.raises(ParameterError, match=r"'l_x' is a feature and a label"):
        table(spark, wide, features=["f_a", "l_x"], labels="l_*")
    with pytest.raises(DataError, match=r"row 5: label 'f_b' is 4; labels are 0, 1 or null"):
        rows_of(
            table(spark, wide.where("key = 5"), features=["f_a"], labels=["l_x", "f_b"], id="key")
        )
    with pytest.raises(DataError, match=r"the id column holds a null"):
        rows_of(
            table(
                spark, wide.withColumn("key", F.lit(None).cast("long")), ["f_a"], ["l_x"], id="key"
            )
        )
    uneven = spark.createDataFrame(
        [(0, [1.0], 1), (1, [1.0, 2.0], 0)], "id int, x array<double>, l int"
    ).coalesce(1)
    with pytest.raises(
        DataError, match=r"row 1: its feature vector has size 2 where others have 1"
    ):
        pack(table(spark, uneven, "x", ["l"], id="id"), row_id="id")


@pytest.mark.slow
def test_file_formats(spark, wide, tmp_path):
    arguments = dict(features=["f_a", "f_b"], labels="l_*", id="key")
    expected = rows_of(table(spark, wide, **arguments))
    for form in ("parquet", "json", "csv"):
        path = str(tmp_path / form)
        writer = wide.write.option("header", "true") if form == "csv" else wide.write
        getattr(writer, form)(path)
        found = rows_of(load(spark, path, form, **arguments))
        assert str(found) == str(expected)  # NaN is not equal to itself
    wide.createOrReplaceTempView("a_view")
    assert str(rows_of(load(spark, "a_view", "table", **arguments))) == str(expected)
    with pytest.raises(DataError, match="no table or view 'no_such'"):
        load(spark, "no_such", "table", **arguments)
    with pytest.raises(DataError, match="no such file"):
        load(spark, str(tmp_path / "none"), "parquet", **arguments)
    with pytest.raises(DataError, match="no Delta: install delta-spark"):
        load(spark, str(tmp_path / "parquet"), "delta", **arguments)
    with pytest.raises(ParameterError, match=r"needs labels \(a column, .*\); its options are"):
        load(spark, "a_view", "table", features="f_*")


@pytest.mark.slow
def test_text(spark):
    source = spark.createDataFrame(
        [
            (0, "The cat, the dog", "x"),
            (1, "a dog and a CAT", "x;y"),
            (2, None, ""),
            (3, "the bird", "y"),
        ],
        "id int, body string, tags string",
    )
    arguments = dict(text="body", labels="tags", label_delimiter=";", id="id")
    for parts in (1, 3):
        frame = text(spark, source.repartition(parts), min_df=2, **arguments)
        assert attribute_names(frame, FEATURES) == ["the", "cat", "dog"]
        rows = rows_of(frame)
        assert [r["features"].toArray().tolist() for r in rows] == [
            [2, 1, 1],
            [0, 1, 1],
            [0, 0, 0],
            [1, 0, 0],
        ]
        assert [r["labels"] for r in rows] == [["x"], ["x", "y"], [], ["y"]]
    frame = text(
        spark, source, stop_words="english", min_df=1, vocab_size=2, binary=True, **arguments
    )
    assert attribute_names(frame, FEATURES) == ["cat", "dog"]
    source.createOrReplaceTempView("texts")
    frame = load(spark, "texts", "text", source="table", binary=True, min_df=0.5, **arguments)
    assert rows_of(frame)[0]["features"].toArray().tolist() == [1, 1, 1]
    frame = text(
        spark, source, vocabulary=["dog", "emu", "the"], **arguments
    )  # those words, in that order
    assert attribute_names(frame, FEATURES) == ["dog", "emu", "the"]
    assert [r["features"].toArray().tolist() for r in rows_of(frame)] == [
        [1, 0, 2],
        [1, 0, 0],
        [0, 0, 0],
        [0, 0, 1],
    ]
    for wrong in ("dog", [], ["dog", "dog"], ["dog", 3]):
        with pytest.raises(ParameterError, match="vocabulary"):
            text(spark, source, vocabulary=wrong, **arguments)
    with pytest.raises(DataError, match="no term of column 'body'"):
        text(spark, source, min_df=4, **arguments)


def test_rows_that_differ_in_which_cell_is_null_have_ids_of_their_own(spark):
    """Spark's hash of several columns passes over nulls: (null, 1) and (1, null) are one to it."""
    from spark_mlfs import pipeline

    rows = [
        (None, 1.0, 1),
        (1.0, None, 1),
        (2.0, 3.0, 0),
        (0.5, 4.0, 0),
        (0.1, 2.0, 1),
        (0.7, 7.0, 0),
    ] * 3
    source = spark.createDataFrame(rows, "a double, b double, y int")
    frame = table(spark, source, ["a", "b"], ["y"], missing="mean")
    ids = [row.id for row in frame.select("id").collect()]
    assert len(set(ids)) == 6
    (result,) = pipeline.rank(
        frame, [pipeline.Request.of("relieff", {"mode": "hamming", "k": 1})], row_id="id"
    )
    assert len(result.ranking) == 2
