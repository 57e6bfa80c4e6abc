"""One pass in: readers of tables are column expressions, values are packed as they come, in small
batches."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import scipy.sparse as sp
from pyspark.ml.linalg import DenseVector, SparseVector, Vectors, VectorUDT
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    DoubleType,
    IntegerType,
    StringType,
    StructField,
    StructType,
)

from spark_mlfs import pipeline
from spark_mlfs.blocks import pack as packing
from spark_mlfs.blocks.block import Block, WrongRow, concatenate
from spark_mlfs.blocks.labels import LabelSource, read_features
from spark_mlfs.blocks.pack import Pack, merge_profiles, pack
from spark_mlfs.blocks.profile import profile_block
from spark_mlfs.errors import DataError, ParameterError, worker_errors
from spark_mlfs.frames import vectors
from spark_mlfs.frames.names import picked
from spark_mlfs.frames.schema import LABELS, packed_from, with_names
from spark_mlfs.frames.sessions import FILE_WEIGHT, session_setting, small_batches
from spark_mlfs.read import load, table

# ---- batches and blocks, without Spark ----


def batch_of(
    x: np.ndarray | sp.csr_matrix, labels: list[list[int]], first: int = 0
) -> pa.RecordBatch:
    """Rows as Spark hands them over: vectors, label numbers, ids, hashes."""
    if sp.issparse(x):
        rows = np.repeat(np.arange(x.shape[0]), np.diff(x.indptr))
        column = vectors.sparse(*x.shape, rows, x.indices, x.data).to_arrow()
    else:
        column = vectors.dense(x).to_arrow()
    ids = pa.array(np.arange(first, first + x.shape[0]))
    return pa.RecordBatch.from_arrays(
        [column, pa.array(labels, pa.list_(pa.int64())), ids, ids], names=["x", "y", "i", "h"]
    )


def unpacked(batches: list[pa.RecordBatch]) -> tuple[list[Block], packing.Profile]:
    rows = [batch.to_pylist()[0] for batch in Pack(LabelSource("ids"), True)(batches)]
    assert [row["number"] for row in rows] == list(range(len(rows)))
    profile = merge_profiles(row["summary"] for row in rows if row["summary"] is not None)
    return [Block.decode(row["block"]) for row in rows if row["block"] is not None], profile


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("size", [1, 7, 40])
def test_blocks_hold_the_rows_however_they_were_handed_over(sparse, size):
    rng = np.random.default_rng(size)
    x = rng.integers(0, 4, (120, 9)).astype(float) * (rng.random((120, 9)) < 0.4)
    labels = [sorted(set(rng.integers(0, 5, 3).tolist())) for _ in x]
    starts = range(0, len(x), size)
    some = [
        (sp.csr_matrix(x[a : a + size]) if sparse else x[a : a + size], labels[a : a + size], a)
        for a in starts
    ]
    blocks, profile = unpacked([batch_of(*part) for part in some])
    assert len(blocks) == 1  # narrow batches become one block
    (block,) = blocks
    assert block.x.dtype == np.uint8 and block.sparse == sparse
    np.testing.assert_array_equal(block.dense(), x)
    np.testing.assert_array_equal(block.ids, np.arange(len(x)))
    assert [
        block.label_indices[a:z].tolist()
        for a, z in zip(block.label_indptr, block.label_indptr[1:], strict=False)
    ] == labels
    whole = profile_block(block, 0)
    for name in ("low", "high", "binary", "positive"):
        np.testing.assert_array_equal(getattr(profile, name), getattr(whole, name), err_msg=name)
    assert (profile.n, profile.nonzero) == (len(x), np.count_nonzero(x))
    assert (
        profile.stored >= np.count_nonzero(x, axis=0)
    ).all() and profile.feature_label_pairs >= np.count_nonzero(x, axis=1) @ list(map(len, labels))
    if sparse:  # else some batches count as full
        np.testing.assert_array_equal(profile.stored, np.count_nonzero(x, axis=0))


def test_blocks_are_neither_small_nor_large(monkeypatch):
    rng = np.random.default_rng(0)
    monkeypatch.setattr(packing, "BLOCK_BYTES", 40_000)
    monkeypatch.setattr(packing, "ENOUGH_BYTES", 20_000)
    sizes = [3, 50, 700, 20, 20, 20, 400, 1]
    parts = [batch_of(rng.normal(size=(n, 10)), [[0]] * n, 1000 * i) for i, n in enumerate(sizes)]
    blocks, profile = unpacked(parts)
    assert sum(b.n for b in blocks) == sum(sizes) == profile.n
    assert all(b.nbytes >= 20_000 for b in blocks[:-1]) and all(b.nbytes < 80_000 for b in blocks)


def test_a_type_is_widened_for_its_own_batch_only():
    tall = np.arange(40.0).reshape(20, 2)
    blocks, _ = unpacked(
        [
            batch_of(tall, [[0]] * 20),
            batch_of(tall + 0.5, [[0]] * 20, 20),
            batch_of(tall / 3, [[0]] * 20, 40),
        ]
    )
    assert [b.x.dtype for b in blocks] == [np.uint8, np.float32, np.float64]
    np.testing.assert_array_equal(
        concatenate(blocks).x, np.concatenate([tall, tall + 0.5, tall / 3])
    )


def test_a_vector_of_another_size_in_a_later_batch_is_named():
    parts = [batch_of(np.ones((3, 4)), [[0]] * 3), batch_of(np.ones((2, 5)), [[0]] * 2, 3)]
    _, profile = unpacked(parts)
    assert profile.problem == ("its feature vector has size 5 where others have 4", [3], None)


@pytest.mark.parametrize(
    "values",
    [np.array([1.0]), np.array([1.0, 2.0]), np.array([0.0, 1.0, -3.5]), np.array([1.0, np.inf])],
)
def test_sparse_cells_are_read_alike_from_buffers_and_one_by_one(values):
    """Cells that are all sparse come straight from Arrow's buffers; one dense cell among them sends
    all the slow way."""
    rng = np.random.default_rng(len(values))
    n, d = 50, 30
    stored = rng.random((n, d)) < 0.2
    rows, slots = np.nonzero(stored)
    data = rng.choice(values, len(rows))
    column = vectors.Vectors(
        d, np.zeros(n, bool), np.bincount(rows, minlength=n), slots.astype(np.int32), data
    ).to_arrow()
    whole = pa.concat_arrays([column, vectors.dense(np.zeros((1, d))).to_arrow()])
    for part, shift in ((column, 0), (column.slice(7), 7)):
        if np.isinf(values).any():
            with pytest.raises(WrongRow, match="is inf") as fast_error:
                read_features(part, True)
            with pytest.raises(WrongRow, match="is inf") as slow_error:
                read_features(whole.slice(shift), True)
            assert vars(fast_error.value) == vars(slow_error.value)
            continue
        fast, slow = read_features(part, True), read_features(whole.slice(shift), True)
        expected = sp.csr_matrix((data, (rows, slots)), shape=(n, d))[shift:].toarray()
        np.testing.assert_array_equal(fast.toarray(), expected)
        np.testing.assert_array_equal(slow.toarray()[:-1], expected)
        assert fast.dtype == slow.dtype and (fast.data != 0).all()


def test_the_profile_of_ones_is_that_of_any_values():
    rng = np.random.default_rng(3)
    x = (rng.random((60, 12)) < np.linspace(0, 1, 12)).astype(
        np.uint8
    )  # the first column empty, the last full
    profile = profile_block(
        Block(sp.csr_matrix(x), np.arange(60), np.zeros(61, np.int32), np.zeros(0, np.int32)), 0
    )
    np.testing.assert_array_equal(profile.low, x.min(axis=0))
    np.testing.assert_array_equal(profile.high, x.max(axis=0))
    np.testing.assert_array_equal(profile.stored, x.sum(axis=0))
    assert (
        profile.binary.all()
        and profile.nonzero == x.sum()
        and profile.widest == x.sum(axis=1).max()
    )


class Settings:
    """A session's runtime settings: of a Spark that knows `known`, on a platform that may let
    nobody set any."""

    def __init__(self, known: dict[str, str], locked: bool = False) -> None:
        self.values, self.locked, self.conf = dict(known), locked, self

    def get(self, name: str, *default: str) -> str:
        if name not in self.values and not default:
            raise ValueError(f"[SQL_CONF_NOT_FOUND] {name}")
        return self.values.get(name, *default)

    def set(self, name: str, value: str) -> None:
        if self.locked:
            raise PermissionError(f"[CONFIG_NOT_AVAILABLE] {name}")
        self.values[name] = value

    def unset(self, name: str) -> None:
        self.values.pop(name, None)

    @property
    def sparks(self) -> dict[str, str]:
        """Those that Spark knows."""
        return {name: value for name, value in self.values.items() if name in (BYTES, RECORDS)}


BYTES, RECORDS = (
    "spark.sql.execution.arrow.maxBytesPerBatch",
    "spark.sql.execution.arrow.maxRecordsPerBatch",
)


@pytest.mark.parametrize(
    ("known", "within"),
    [
        ({BYTES: "268435456", RECORDS: "10000"}, {BYTES: str(4 << 20), RECORDS: "10000"}),
        ({RECORDS: "10000"}, {RECORDS: "2000"}),
        ({RECORDS: "500"}, {RECORDS: "500"}),
        ({RECORDS: "0"}, {RECORDS: "2000"}),  # which stands for no limit
    ],
)
def test_small_batches_are_asked_for_and_the_settings_come_back(known, within):
    session = Settings(known)
    with pytest.raises(KeyError), small_batches(session):
        assert session.sparks == within
        raise KeyError
    assert session.values == known
    locked = Settings(known, locked=True)
    with small_batches(locked):
        assert locked.values == known


def test_settings_come_back_when_the_last_of_several_threads_leaves():
    known = {BYTES: "268435456", RECORDS: "10000"}
    session = Settings(known)
    first, second, third = (small_batches(session) for _ in range(3))
    first.__enter__()
    second.__enter__()
    first.__exit__(None, None, None)  # the first to come is the first to leave
    assert session.values[BYTES] == str(4 << 20)
    third.__enter__()
    second.__exit__(None, None, None)
    assert session.values[BYTES] == str(4 << 20)
    third.__exit__(None, None, None)
    assert session.values == known


def test_tasks_take_many_small_files_where_rows_are_files():
    cost = "spark.sql.files.openCostInBytes"
    known = {BYTES: "268435456", cost: "4194304"}
    session = Settings(known)
    with small_batches(session):
        assert session.values[cost] == "4194304"
    with small_batches(session, files=True), session_setting(session, FILE_WEIGHT, 1):
        assert session.values[cost] == "1"
    assert session.values == known


def test_a_platform_that_takes_no_setting_of_spark_keeps_no_note():
    class Half(Settings):
        def set(self, name, value):
            if name in (BYTES, RECORDS):
                raise PermissionError(f"[CONFIG_NOT_AVAILABLE] {name}")
            super().set(name, value)

    session = Half({RECORDS: "10000"})
    with small_batches(session):
        assert session.values == {RECORDS: "10000"}
    assert session.values == {RECORDS: "10000"}


def test_where_spark_counts_rows_long_ones_make_small_batches():
    for width, rows in (
        (100 << 10, "40"),
        (1 << 20, "4"),
        (9 << 20, "1"),
        (10, "2000"),
        (0, "2000"),
    ):
        session = Settings({RECORDS: "10000"})
        with small_batches(session, lambda width=width: width):
            assert session.sparks == {RECORDS: rows}
        assert session.values == {RECORDS: "10000"}

    def nobody_asks():
        raise AssertionError("a job that is of no use")

    session = Settings({BYTES: "268435456", RECORDS: "10000"})
    with small_batches(session, nobody_asks):
        assert session.values[BYTES] == str(4 << 20)


def test_the_session_hands_rows_over_by_bytes(spark):
    def sizes(batches):
        for batch in batches:
            yield pa.RecordBatch.from_arrays([pa.array([batch.num_rows])], ["rows"])

    frame = (
        spark.range(0, 6000, 1, 1)
        .select(F.array_repeat(F.lit(1.5), 500).alias("x"))
        .mapInArrow(sizes, "rows long")
    )
    before = spark.conf.get(RECORDS)
    with small_batches(spark):
        rows = [row.rows for row in frame.collect()]
    assert sum(rows) == 6000 and max(rows) <= 2000 and spark.conf.get(RECORDS) == before


# ---- tables as column expressions ----

LABELLED = StructType(
    [
        StructField("key", StringType()),
        StructField("vec", VectorUDT()),
        StructField("arr", ArrayType(DoubleType())),
        StructField("hot", VectorUDT()),
        StructField("a", DoubleType()),
        StructField("y", IntegerType()),
        StructField("tags", ArrayType(StringType())),
    ]
)
NAN, INF = float("nan"), float("inf")


def row(key="p", vec=None, arr=(1.0, 2.0), hot=(1, 0), a=1.0, y=1, tags=("u",)):
    return (
        key,
        SparseVector(4, {1: 1.0, 3: 2.0}) if vec is None else vec,
        list(arr),
        DenseVector(hot),
        a,
        y,
        list(tags),
    )


def used(spark, rows, features, labels, **more):
    frame = table(
        spark,
        spark.createDataFrame(rows, LABELLED).coalesce(1),
        features,
        labels,
        **{"id": "key", **more},
    )
    with worker_errors():
        return frame.collect()


FAULTS = [
    (
        row("q", vec=DenseVector([1, -INF, 0, 0])),
        "vec",
        "hot",
        "row q: column 'vec', feature 1 is infinite",
    ),
    (
        row("q", arr=(1.0, None)),
        "arr",
        "hot",
        "row q: column 'arr', feature 1: the value is missing",
    ),
    (
        row("q", hot=(1, 2.5)),
        "vec",
        "hot",
        "row q: label 'hot', position 1 is 2.5; labels are 0, 1 or null",
    ),
    (row(None), "vec", "hot", "row 2 of part 0: the id column holds a null"),
    (
        ("q", None, [1.0], DenseVector([1]), 1.0, 1, []),
        "vec",
        ["y"],
        "row q: column 'vec' holds a null instead of features",
    ),
    (
        ("q", SparseVector(4, {}), [1.0], None, 1.0, 1, []),
        "vec",
        "hot",
        "row q: column 'hot' holds a null instead of labels",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("bad", "features", "labels", "said"), FAULTS, ids=[f[-1][:40] for f in FAULTS]
)
def test_an_action_names_the_row(spark, bad, features, labels, said):
    rows = [row(), bad, row("r")]
    with pytest.raises(DataError) as raised:
        used(spark, rows, features, labels)
    assert said in str(raised.value)
    # packing takes the rows before their values are checked: it sees each of these itself, and says
    # it as the reader does
    with pytest.raises(DataError) as packed:
        pack(
            table(
                spark, spark.createDataFrame(rows, LABELLED).coalesce(1), features, labels, id="key"
            ),
            row_id="id",
        )
    assert str(packed.value) == str(raised.value)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("form", "parts"), [("columns", 4), ("dense", 1), ("sparse", 4), ("arrays", 1)]
)
def test_unchecked_rows_pack_to_the_same(spark, form, parts):
    """A third of the rows repeated, no id, names with dots."""
    rng = np.random.default_rng(parts)
    x = rng.integers(0, 5, (900, 6)) * (rng.random((900, 6)) < 0.3)
    x, y = x[picked := rng.integers(0, 600, 900)].astype(float), (x[picked, :2] > 2).astype(int)
    names = [f"text.{j}" for j in range(6)]
    frame = pd.DataFrame(x, columns=names).assign(**{"y.a": y[:, 0], "y.b": y[:, 1]})
    if form != "columns":
        cells = {
            "dense": Vectors.dense,
            "sparse": lambda row: Vectors.sparse(6, np.flatnonzero(row), row[row != 0]),
        }
        frame["x"] = [cells.get(form, list)(row) for row in x]
    source = spark.createDataFrame(frame).repartition(parts)
    read = table(spark, source, names if form == "columns" else "x", ["y.a", "y.b"])
    taken = packed_from(read)
    assert taken is not None and packed_from(read.where("true")) is None
    plain, checked = pack(read), pack(read.select("*"))
    assert (
        plain.profile.encode() == checked.profile.encode()
        and plain.feature_names == checked.feature_names
    )
    for packed in (plain, checked):
        packed.release()


def test_the_rows_of_a_cached_frame_are_taken(spark):
    """They are the ones the user keeps, and need not be read again."""
    frame = table(
        spark, spark.createDataFrame([row("p"), row("q")], LABELLED), "vec", "hot", id="key"
    )
    assert packed_from(frame) is not None and packed_from(frame.cache()) is None
    frame.unpersist()
    assert packed_from(frame) is not None


@pytest.mark.slow
def test_rows_without_an_id_column_are_named_by_their_place(spark):
    with pytest.raises(DataError, match="row 3 of part 0: feature 'a' is infinite"):
        used(spark, [row(), row(), row(a=INF)], ["a"], ["y"], id=None)
    with pytest.raises(
        DataError, match="row 3 of part 0: feature 'a' is infinite"
    ):  # counted before rows are dropped
        used(spark, [row(a=None), row(), row(a=INF)], ["a"], ["y"], id=None, missing="drop")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("features", "zero", "kept"),
    [
        ("arr", [[1, 2], [0, 0]], [[1, 2]]),
        ("vec", [[0, 1, 0, 2], [0, 0, 0, 5]], [[0, 1, 0, 2]]),
        (["a"], [[1], [0]], [[1]]),
    ],
)
def test_missing_values_of_every_form(spark, features, zero, kept):
    rows = [row("p"), row("q", vec=SparseVector(4, {1: NAN, 3: 5.0}), arr=(None, NAN), a=None)]
    for missing, expected in (("zero", zero), ("drop", kept)):
        found = used(spark, rows, features, ["y"], missing=missing)
        assert sorted(r.features.toArray().tolist() for r in found) == sorted(map(list, expected))


@pytest.mark.slow
def test_a_table_is_read_in_the_pass_that_packs(spark, capsys, tmp_path, monkeypatch):
    """One pass through Python from raw cells to blocks, of files of CSV, too."""
    rows = [row("p"), row("q", SparseVector(4, {0: 1.0}), (0.0, 1.0), (0, 1), 2.0, 0, ())]
    source = spark.createDataFrame(rows, LABELLED)
    forms = [("vec", "hot"), ("arr", "tags"), (["a"], ["y"])]
    frames = [table(spark, source, features, labels, id="key") for features, labels in forms]
    (tmp_path / "t.csv").write_text("a,b,tags\n1,x,p;q\n,y,q\n")
    options = {"features": ["a", "b"], "labels": "tags", "label_delimiter": ";", "missing": "mean"}
    frames.append(load(spark, str(tmp_path / "t.csv"), "csv", **options))
    monkeypatch.setattr(packing, "persist", lambda blocks: False)
    for frame in frames:
        pack(frame).frame.explain()
        plan = capsys.readouterr().out
        assert plan.count("MapInArrow") == 1, plan


def test_the_labels_alone_need_no_features(spark, capsys):
    source = spark.createDataFrame([(1.0, "p;q")], "a double, t string")
    rows = packed_from(table(spark, source, ["a"], "t", label_delimiter=";"))
    picked(rows, {"y": "labels"}).explain()
    plan = capsys.readouterr().out
    assert plan.count("MapInArrow") == 1 and "AS c0" in plan and "AS c1" not in plan


def test_tags_are_compared_in_their_composed_form(spark):
    """One label, however an accent is written, in lists of Spark's as in texts."""
    rows = [(1.0, ["caf\u00e9"]), (2.0, ["cafe\u0301"]), (3.0, [])]
    source = spark.createDataFrame(rows, "a double, t array<string>")
    packed = pack(table(spark, source, ["a"], "t"))
    assert packed.label_names == ["caf\u00e9"] and packed.profile.positive.tolist() == [2]
    packed.release()


# ---- labels that are named ----


@pytest.mark.slow
def test_named_tags_take_no_job_and_rank_the_same(spark):
    rows = [
        (
            i,
            [float(i % 3), float(i % 5)],
            [t for t, m in (("b", 2), ("c", 3), ("a", 5)) if i % m == 0],
        )
        for i in range(60)
    ]
    source = spark.createDataFrame(rows, "id long, x array<double>, tags array<string>")
    plain = pack(table(spark, source, "x", "tags", id="id"), row_id="id")
    named = pack(
        table(spark, source, "x", "tags", id="id", label_names=["c", "none", "a", "b"]), row_id="id"
    )
    assert (plain.jobs, named.jobs) == (2, 1)
    assert (plain.label_names, named.label_names) == (["a", "b", "c"], ["c", "none", "a", "b"])
    np.testing.assert_array_equal(named.profile.positive, [20, 0, 12, 30])
    request = pipeline.Request.of("mim")
    first, second = (pipeline.rank(packed, [request])[0].ranking for packed in (plain, named))
    np.testing.assert_array_equal(first["index"], second["index"])
    np.testing.assert_allclose(first["score"], second["score"], rtol=1e-13)
    for packed in (plain, named):
        packed.release()
    by_metadata = pack(
        with_names(source.withColumnRenamed("tags", LABELS), LABELS, ["a", "b", "c"]),
        "x",
        LABELS,
        "id",
    )
    np.testing.assert_array_equal(by_metadata.profile.positive, plain.profile.positive)
    by_metadata.release()


def test_a_tag_that_was_not_named_is_refused(spark):
    source = spark.createDataFrame(
        [(0, [1.0], ["a"]), (7, [2.0], ["zz", "a"])], "id long, x array<double>, tags array<string>"
    )
    with pytest.raises(
        DataError, match=r"row 7: tag 'zz' is none of the 2 labels that were named; name it, too"
    ):
        pack(table(spark, source, "x", "tags", id="id", label_names=["a", "b"]), row_id="id")
    for wrong in ("ab", [], ["a", "a"], ["a", 3], [""]):
        with pytest.raises(
            ParameterError,
            match="'label_names' of format 'table' must be a list of different names",
        ):
            table(spark, source, "x", "tags", label_names=wrong)
    columns = spark.createDataFrame([(1.0, 1, 0)], "x double, y1 int, y2 int")
    with pytest.raises(ParameterError, match="label_names is for one column of labels"):
        table(spark, columns, ["x"], ["y1", "y2"], label_names=["a", "b"])


def test_labels_of_different_lengths_are_refused_across_parts(spark):
    rows = [(i, [float(i)], [1.0, 0.0] if i < 2 else [0.0, 1.0, 1.0]) for i in range(4)]
    source = spark.createDataFrame(
        rows, "id long, x array<double>, hot array<double>"
    ).repartitionByRange(2, "id")
    with pytest.raises(DataError, match="some rows have 2 labels, others 3"):
        pack(source, "x", "hot", "id")
