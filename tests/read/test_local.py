"""Files of this machine read in this process: the frame that Spark gives of them, to the bit, and
what it says of wrong ones."""

from __future__ import annotations

import datetime
import decimal
import json
import tracemalloc
from itertools import product

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from pyspark.ml.linalg import Vectors, VectorUDT
from pyspark.sql import functions as F
from pyspark.sql.types import ArrayType, DoubleType, StructField, StructType

from spark_mlfs.blocks.pack import pack
from spark_mlfs.errors import DataError, ParameterError, worker_errors
from spark_mlfs.frames import parquet, vectors
from spark_mlfs.frames.frame import Kind, LocalSession, NeedsSpark
from spark_mlfs.frames.memory import HELD
from spark_mlfs.frames.parquet import SPARK_ROW
from spark_mlfs.frames.schema import FEATURES, LABELS, attribute_names, fill_of
from spark_mlfs.read import load
from spark_mlfs.read.row_hashes import hash_of_rows

HERE = LocalSession()


def cell_of(value):
    """A cell as text that tells values to the bit, whether a vector is sparse, and null from
    NaN."""
    if hasattr(value, "toArray"):
        stored = [*value.indices, *value.values] if hasattr(value, "indices") else value.values
        return [hasattr(value, "indices"), len(value), [float(v).hex() for v in stored]]
    if isinstance(value, float):
        return value.hex()
    return value


def vector_of(cells: pa.Array, row: int):
    v = vectors.from_arrow(cells.slice(row, 1))
    if v.null is not None and v.null[0]:
        return None
    return Vectors.dense(v.values) if v.dense[0] else Vectors.sparse(v.size, v.indices, v.values)


def rows_there(frame):
    with worker_errors():
        return sorted(json.dumps([cell_of(value) for value in row]) for row in frame.collect())


def rows_here(frame):
    out = []
    for batch in frame.batches():
        assert batch.schema.names == frame.columns
        columns = [
            [vector_of(column, row) for row in range(len(column))]
            if pa.types.is_struct(column.type)
            else column.to_pylist()
            for column in batch.columns
        ]
        out += [json.dumps([cell_of(value) for value in row]) for row in zip(*columns, strict=True)]
    return sorted(out)


def assert_same(spark, path, format, **options):
    """Both engines give the same rows, names and fill, or the same error."""
    outcomes = []
    for session, rows in ((spark, rows_there), (HERE, rows_here)):
        try:
            frame = load(session, path, format, **options)
            names = [attribute_names(frame, column) for column in (FEATURES, LABELS)]
            outcomes.append((rows(frame), names, fill_of(frame, FEATURES), frame.columns))
        except (DataError, ParameterError) as error:
            outcomes.append(str(error))
    assert outcomes[0] == outcomes[1]
    return outcomes[1]


# ---- lines ----


QUIRKS = [
    "weather",
    "weather-sparse",
    "foodtruck",
    "meka",
    "solar_flare",
    "hierarchical-train",
    "Music-test",
    "FilterTest",
]
WITH_HOLES = ("hierarchical-train", "FilterTest")  # of the others each policy gives the same
WITH_WORDS = ("weather", "weather-sparse", "foodtruck", "FilterTest")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "missing"),
    [*((name, "mean") for name in QUIRKS), *zip(WITH_HOLES, ("error", "drop"), strict=True)],
)
def test_quirks_of_arff(spark, data_dir, name, missing):
    folder = data_dir / "quirks"
    path = next(p for p in sorted(folder.glob(f"{name}.arff*")))
    xml = folder / f"{name.removesuffix('-train')}.xml"
    how = {"labels": str(xml)} if xml.exists() else {}
    assert_same(spark, str(path), "arff", missing=missing, **how)
    if missing == "mean" and name in WITH_WORDS:
        how = {"labels": 2, "binarize_labels": True, "categories": "onehot"}
        assert_same(spark, str(path), "arff", missing=missing, **how)


@pytest.mark.slow
def test_several_files_and_packed_ones_are_numbered_as_spark_does(spark, tmp_path, data_dir):
    import bz2
    import gzip

    text = gzip.decompress((data_dir / "scene" / "scene-test.arff.gz").read_bytes())
    head, rows = text.split(b"@data", 1)
    lines = rows.split(b"\n")[1:]
    folder = tmp_path / "parts"
    folder.mkdir()
    (folder / "b.arff").write_bytes(head + b"@data\r\n" + b"\r\n".join(lines[:60]) + b"\r\n")
    (folder / "a.arff").write_bytes(head + b"@data\n" + b"\n".join(lines[60:100]))
    (folder / "c.arff.gz").write_bytes(
        gzip.compress(head + b"@data\n% none\n\n" + b"\n".join(lines[100:120]))
    )
    (folder / "d.arff.bz2").write_bytes(
        bz2.compress(head + b"@data\n" + b"\n".join(lines[120:130]))
    )
    (folder / "_hidden.arff").write_bytes(b"?")
    assert len(assert_same(spark, str(folder), "arff", labels=-6)[0]) == 130
    assert_same(spark, f"{folder}/[ab].arff", "arff", labels=-6)
    assert_same(spark, f"{folder}/{{a,b}}.arff", "arff", labels=-6)
    assert_same(spark, [f"{folder}/b.arff", f"{folder}/a.arff"], "arff", labels=-6)


@pytest.mark.slow
def test_a_large_file_in_parts_has_the_same_numbers(monkeypatch, tmp_path, spark):
    from spark_mlfs.frames import paths

    generator = np.random.default_rng(0)
    lines = [
        f"{k % 7},{k % 3} " + " ".join(f"{j + 1}:{generator.integers(1, 9)}" for j in range(k % 11))
        for k in range(1500)
    ]
    path = tmp_path / "rows.txt"
    path.write_text("\n".join(lines))
    whole = rows_here(load(HERE, str(path), "libsvm"))
    monkeypatch.setattr(paths, "SPLIT_BYTES", 1200)
    monkeypatch.setattr(paths, "BLOCK_BYTES", 300)
    assert len(load(HERE, str(path), "libsvm").parts) > 10
    assert (
        rows_here(load(HERE, str(path), "libsvm"))
        == whole
        == rows_there(load(spark, str(path), "libsvm"))
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        b"1 1:2\rr 1:3\n",
        b"1 1:2\r0 2:3\r",
        b"",
        b"\n\n",
        b"\xff\xfe1\x00",
        b"1 1:nan\n",
        b"0 1:1 1:2\n",
    ],
)
def test_what_is_wrong_with_lines_is_said_alike(spark, tmp_path, content):
    path = tmp_path / "rows.txt"
    path.write_bytes(content)
    assert_same(spark, str(path), "libsvm")


@pytest.mark.slow
def test_made_rows(spark):
    assert_same(spark, None, "numbers", num_rows=300)
    assert_same(spark, None, "planted", num_rows=200, num_features=30, num_labels=4, seed=3)
    assert_same(spark, None, "planted", num_rows=200, num_features=300, num_labels=40, density=0.02)


# ---- Parquet ----


@pytest.fixture(scope="module")
def columns(spark, tmp_path_factory):
    """A table of every type, nulls, NaN and -0 in it, a third of its rows repeated."""
    generator = np.random.default_rng(1)
    rows = []
    for k in range(300):
        k = k % 200
        null = k % 17 == 3
        rows.append(
            (
                k, f"row {k}" * (k % 9), None if null else float(generator.normal()) if k % 5 else -0.0, k % 3, k % 2 == 0,
                None if k % 19 == 5 else float(k % 4), k % 100, decimal.Decimal(k) / 4, datetime.date(2020, 1, 1 + k % 28),
                [float(k % 3), None if null else 1.0, -0.0], [f"t{k % 3}", f"t{k % 7}"] if k % 4 else [],
                [k % 3, k % 5], [float(k % 2), None if k % 13 == 0 else 1.0], None if k % 31 == 0 else f" a{k % 3}; b ;;c{k % 2}",
                float(k % 2), k % 2, float("nan") if k % 23 == 0 else 1.5, datetime.datetime(2021, 3, 4, 5, 6, k % 60, 789),
            )
        )  # fmt: skip
    schema = (
        "key bigint, name string, `f.a` double, f_b int, f_c boolean, f_d float, f_e smallint, "
        "price decimal(10,2), day date, cells array<double>, tags array<string>, numbers "
        "array<int>, hot array<double>, text string, l_x double, l_y int, holes double, at "
        "timestamp"
    )
    frame = spark.createDataFrame(rows, schema)
    sparse = F.when(F.col("key") % 2 == 0, F.col("hot")).otherwise(F.array(F.lit(0.0), F.lit(1.0)))
    from pyspark.ml.functions import array_to_vector

    frame = frame.withColumn(
        "vector", array_to_vector(F.transform(sparse, lambda v: F.coalesce(v, F.lit(2.0))))
    )
    folder = str(tmp_path_factory.mktemp("columns") / "table.parquet")
    frame.coalesce(1).write.parquet(folder)
    return folder


FEATURE_CHOICES = [
    ["f.a", "f_b", "f_c", "f_d", "f_e"],
    "cells",
    "vector",
    ["price", "f_b"],
    "f*",
    "holes",
    ["f_b", "f_c"],
]
# of the others each policy gives the same
HOLES = [*product(FEATURE_CHOICES[:1], ("error", "zero", "drop", "keep"))]
HOLES += [("cells", "zero"), ("cells", "keep"), ("holes", "drop")]
LABEL_CHOICES = [{"labels": "tags"}, {"labels": "numbers"}, {"labels": "hot"}, {"labels": "l_*"}]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("features", "missing"),
    [
        *((features, "mean") for features in FEATURE_CHOICES),
        *HOLES,
    ],
    ids=str,
)
def test_features_of_a_table(spark, columns, features, missing):
    assert_same(
        spark, columns, "parquet", features=features, labels="tags", id="key", missing=missing
    )
    if (features, missing) == (FEATURE_CHOICES[0], "mean"):
        assert_same(spark, columns, "parquet", features=features, labels="l_*", missing=missing)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("labels", "id"),
    [
        *((labels, id) for labels in LABEL_CHOICES for id in (None, "key")),
        *((LABEL_CHOICES[0], id) for id in ("name", "f_e", "price", "day", "at")),
    ],
    ids=str,
)
def test_labels_and_ids_of_a_table(spark, columns, labels, id):
    how = {"features": ["f_b", "f_c"], "id": id, "weight": "f_e"}
    assert_same(spark, columns, "parquet", **how, **labels)


@pytest.mark.slow
@pytest.mark.spark35
def test_ids_that_stay_texts_are_the_same_rows(spark, columns):
    how = {"features": ["f_b", "f_c"], "labels": "tags", "id": "name"}
    said = assert_same(spark, columns, "parquet", text_ids=True, **how)
    assert {json.loads(row)[0] for row in said[0]} >= {"", "row 1"}
    ids = []
    for more in ({}, {"text_ids": True}):
        packed = pack(load(HERE, columns, "parquet", **how, **more), row_id="id")
        ids.append(np.concatenate([block.ids for block in packed.blocks]))
    assert (ids[0] == ids[1]).all() and len(np.unique(ids[0])) > 150
    there = load(spark, columns, "parquet", **how, text_ids=True).select(F.xxhash64("id"))
    assert {row[0] for row in there.collect()} == set(ids[0].tolist())


@pytest.mark.slow
def test_ids_of_texts_that_are_parted(spark, columns):
    said = assert_same(
        spark,
        columns,
        "parquet",
        features="f_b",
        labels="text",
        label_delimiter=";",
        missing="zero",
    )
    assert len(said[0]) == 300
    assert_same(
        spark, columns, "parquet", features=["price", "f_b"], labels="text", label_delimiter=";"
    )


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"features": "absent", "labels": "tags"},
        {"features": "name", "labels": "tags"},
        {"features": "day", "labels": "tags"},
        {"features": "cells", "labels": "f_e"},
        {"features": "f_b", "labels": "f_e"},
        {"features": "f_b", "labels": "name"},
        {"features": "f_b", "labels": "tags", "id": "f_d"},
        {"features": "f_b", "labels": "tags", "weight": "name"},
        {"features": "f_b", "labels": "tags", "weight": "f_b"},
        {"features": "f_b", "labels": "f_e", "graded": True},
        {"features": "tags", "labels": "tags"},
    ],
    ids=str,
)
def test_what_is_refused_is_refused_alike(spark, columns, options):
    assert isinstance(assert_same(spark, columns, "parquet", **options), (str, tuple))


def test_a_type_that_only_spark_reads_is_left_to_it(tmp_path):
    path = str(tmp_path / "rows.parquet")
    values = pa.array([[("k", 1)]] * 3, pa.map_(pa.string(), pa.int64()))
    pq.write_table(pa.table({"x": [1.0, 2.0, 4.0], "n": values, "y": [0, 1, 1]}), path)
    assert len(rows_here(load(HERE, path, "parquet", features="x", labels="y"))) == 3
    with pytest.raises(NeedsSpark, match="column 'n' is of a type that this process does not read"):
        load(HERE, path, "parquet", features=["x", "n"], labels="y")


@pytest.mark.slow
def test_whole_numbers_without_a_sign_are_the_same_rows(spark, tmp_path):
    """Of 64 bits, which Spark has as decimals."""
    values = pa.array([1, 2**63 + 1024, 3], pa.uint64())
    labels = pa.array([0, 1, 1], pa.uint64())
    pq.write_table(pa.table({"n": values, "y": labels}), tmp_path / "rows.parquet")
    rows = assert_same(spark, str(tmp_path / "rows.parquet"), "parquet", features=["n"], labels="y")
    assert len(rows[0]) == 3
    pq.write_table(
        pa.table({"n": pa.array([1, 2**63 + 1, 3], pa.uint64()), "y": labels}),
        tmp_path / "large.parquet",
    )
    with pytest.raises(DataError, match=r"column .n. holds whole numbers above 2.53"):
        load(HERE, str(tmp_path / "large.parquet"), "parquet", features=["n"], labels="y").collect()


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
def test_packing_takes_what_is_announced(tmp_path, sparse):
    rng = np.random.default_rng(0)
    n, d = (20_000, 2_000) if sparse else (20_000, 200)
    if sparse:
        x = sp.random(n, d, 0.05, "csr", rng=rng)
        entries = {
            "type": pa.array(np.zeros(n, np.int8)),
            "size": pa.array(np.full(n, d, np.int32)),
            "indices": pa.ListArray.from_arrays(x.indptr, x.indices),
            "values": pa.ListArray.from_arrays(x.indptr, x.data),
        }
        features = pa.StructArray.from_arrays(list(entries.values()), names=list(entries))
    else:
        features = pa.FixedSizeListArray.from_arrays(rng.random(n * d), d).cast(
            pa.list_(pa.float64())
        )
    labels = pa.array([[float(v) for v in row] for row in rng.integers(0, 2, (n, 3))])
    table = pa.table({"features": features, "labels": labels})
    if sparse:  # by which Spark knows vectors
        kinds = StructType(
            [StructField("features", VectorUDT()), StructField("labels", ArrayType(DoubleType()))]
        )
        table = table.replace_schema_metadata({SPARK_ROW: kinds.json()})
    pq.write_table(table, tmp_path / "t.parquet", row_group_size=1000)
    frame = load(HERE, str(tmp_path / "t.parquet"), "parquet", features="features", labels="labels")
    before = pa.default_memory_pool().max_memory()
    tracemalloc.start()
    try:
        held = pack(frame, "features", "labels")
        peak = tracemalloc.get_traced_memory()[1] + pa.default_memory_pool().max_memory() - before
    finally:
        tracemalloc.stop()
    assert held.profile.n == n and frame.bytes > 15e6
    assert peak <= HELD * frame.bytes + (24 << 20)  # and a few batches


@pytest.mark.parametrize("missing", ["zero", "drop"])
def test_the_tags_are_looked_up_without_the_features(tmp_path, monkeypatch, missing):
    tags = pa.array([["b"], None, ["a", "b"], []] * 25, pa.list_(pa.string()))
    table = {
        "x": pa.array([1.0, 2.0, None, 4.0] * 25),
        "y": pa.array(range(100), pa.float64()),
        "tags": tags,
    }
    pq.write_table(pa.table(table), tmp_path / "t.parquet", row_group_size=30)
    read = []
    whole = parquet._row_groups
    monkeypatch.setattr(
        parquet, "_row_groups", lambda *given: read.append(given[-1]) or whole(*given)
    )
    frame = load(
        HERE,
        str(tmp_path / "t.parquet"),
        "parquet",
        features=["x", "y"],
        labels="tags",
        missing=missing,
    )
    alone = [
        cell for batch in frame.select(LABELS).batches() for cell in batch.column(0).to_pylist()
    ]
    columns, read[:] = {tuple(sorted(c)) for c in read}, []
    assert columns == ({("tags", "x", "y")} if missing == "drop" else {("tags",)})
    both = [
        cell
        for batch in frame.batches()
        for cell in batch.column(frame.columns.index(LABELS)).to_pylist()
    ]
    assert alone == both
    assert len(alone) == (75 if missing == "drop" else 100)


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])
def test_parts_of_different_columns(engine, request, tmp_path):
    """Whole numbers widen, columns go by name, and one that is used must be in every part."""
    session = HERE if engine == "local" else request.getfixturevalue("spark")
    first = pa.table({"x": pa.array([1.5, None]), "y": [0, 1], "z": ["a", "b"]})
    second = pa.table({"y": pa.array([1, 0], pa.int32()), "x": [2, 3], "w": [5, 6]})
    for number, table in enumerate((first, second)):
        pq.write_table(table, tmp_path / f"{number}.parquet")
    frame = load(session, str(tmp_path), "parquet", features="x", labels=["y"], missing="zero")
    rows = rows_here(frame) if engine == "local" else rows_there(frame)
    cells = [json.loads(row)[1:] for row in rows]
    values = sorted((float.fromhex(x[2][0]), float.fromhex(y[2][0])) for x, y in cells)
    assert values == [(0, 1), (1.5, 0), (2, 1), (3, 0)]
    with pytest.raises(DataError, match=r"0.parquet has no column 'w', which other files have"):
        pack(load(session, str(tmp_path), "parquet", features="w", labels=["y"]))
    large = pa.table({"x": [2**53 + 1], "y": [1], "w": [1]})
    pq.write_table(large, tmp_path / "1.parquet")
    with pytest.raises(DataError, match="column 'x' holds whole numbers above 2"):
        pack(load(session, str(tmp_path), "parquet", features="x", labels=["y"], missing="zero"))


def test_times_of_nanoseconds_are_those_of_microseconds(tmp_path):
    times = np.array([0, 1_500, 86_400_000_000_001], "M8[ns]")
    for kind in (pa.timestamp("ns"), pa.timestamp("ns", "UTC")):
        pq.write_table(
            pa.table({"t": pa.array(times, kind), "l": [0, 1, 0]}), tmp_path / "t.parquet"
        )
        rows = load(HERE, str(tmp_path / "t.parquet"), "parquet", features=["t"], labels="l")
        values = sorted(float(row["features"]["values"][0]) for row in rows.collect())
        assert values == [0.0, 1 / 86_400e6, 1.0]


def test_empty_tags_of_a_list_are_none_and_blanks_around_others_go(tmp_path):
    tags = [["a", " a", ""], [" b\u200b"], [""], None, ["e\u0301 ", None]]
    table = pa.table({"x": range(5), "tags": pa.array(tags)})
    pq.write_table(table, tmp_path / "t.parquet")
    rows = load(HERE, str(tmp_path / "t.parquet"), "parquet", features=["x"], labels="tags")
    found = [row["labels"] for row in rows.collect()]
    assert found == [["a", "a"], ["b"], [], None, ["\u00e9"]]


def test_an_index_of_pandas_is_no_feature(tmp_path):
    frame = pd.DataFrame({"x": [1.0, 2], "y": [0, 1]}, index=pd.Index([5, 7], name="row"))
    frame.to_parquet(tmp_path / "t.parquet")
    how = {"labels": "y"}
    found = load(HERE, str(tmp_path / "t.parquet"), "parquet", features="*", **how)
    assert attribute_names(found, FEATURES) == ["x"]
    found = load(HERE, str(tmp_path / "t.parquet"), "parquet", features=["row", "x"], **how)
    assert attribute_names(found, FEATURES) == ["row", "x"]


@pytest.mark.parametrize("digits", [18, 19, 38])
def test_hashes_of_decimals_are_those_of_spark(spark, digits):
    """Long ones go by the bytes that Java's BigInteger has."""
    numbers = [0, 1, -1, 127, 128, -128, -129, 255, 10 ** (digits - 1), -(10 ** (digits - 1)), None]
    cells = [None if n is None else decimal.Decimal(n).scaleb(-2) for n in numbers]
    kind = f"decimal({digits},2)"
    frame = spark.createDataFrame([(cell,) for cell in cells], f"a {kind}")
    there = [row[0] for row in frame.select(F.xxhash64("a")).collect()]
    batch = pa.record_batch([pa.array(cells, pa.decimal128(digits, 2))], ["a"])
    assert hash_of_rows(batch, ["a"], {"a": Kind(kind)}).to_pylist() == there
