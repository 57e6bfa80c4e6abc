"""Columns of texts, categoricals and dates of tables: the same features in Spark, in this process
and in memory."""

from __future__ import annotations

import numpy as np
import pandas as pd
import polars
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_mlfs import DataError, MultiLabelSelector, ParameterError, pipeline, rank, read
from spark_mlfs.blocks.pack import pack
from spark_mlfs.cli import main
from spark_mlfs.errors import DataNotice
from spark_mlfs.frames.frame import LocalSession
from spark_mlfs.kernels.categories import MAX_BINS, Categories
from spark_mlfs.ml.selectors import MultiLabelSelectorModel

N, LABELS = 700, ["y0", "y1"]
RNG = np.random.default_rng(0)
WORDS = np.array([*"gfed", "B", "ä", "red, green"], object)
CODES = RNG.integers(0, [7, 3], size=(N, 2))
STAMPS = pd.Timestamp("2019-12-31 23:59:59.5") + pd.to_timedelta(
    RNG.integers(0, 10**9, N), unit="ms"
)
TABLE = pd.DataFrame({
    "of.words": WORDS[CODES[:, 0]], "k": WORDS[CODES[:, 1]], "day": STAMPS.date, "at": STAMPS, "flag": RNG.random(N) < 0.5,
    "number": RNG.normal(size=N).round(3),
    "y0": (np.isin(CODES[:, 0], [1, 4]) ^ (RNG.random(N) < 0.1)).astype(int),
    "y1": ((CODES[:, 1] == 1) | (RNG.random(N) < 0.2)).astype(int),
})  # fmt: skip
FEATURES = ["of.words", "k", "day", "at", "flag", "number"]
COUNTING = ("jmi", "mim", "chi2")
OTHERS = ("ridge", "forward")


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    where = tmp_path_factory.mktemp("categories")
    categorical = TABLE.assign(k=TABLE["k"].astype("category"))
    categorical.to_parquet(where / "t.parquet", coerce_timestamps="us", row_group_size=100)
    TABLE.drop(columns="at").to_csv(where / "t.csv", index=False)
    return where


def result(frame, method, k=None, **further):
    counts = pipeline.Request.of(method).takes_codes
    packed = pack(frame, counted=counts)
    try:
        return pipeline.rank(packed, [pipeline.Request.of(method, count=k)], **further)[0]
    finally:
        packed.release()


def options(method, **further):
    how = "codes" if pipeline.Request.of(method).takes_codes else "onehot"
    return {"features": FEATURES, "labels": LABELS, "categories": how, **further}


@pytest.mark.filterwarnings("ignore::spark_mlfs.errors.DataNotice")
@pytest.mark.parametrize("method", [*COUNTING, *OTHERS])
def test_tables_of_files_give_what_frames_in_memory_give(folder, method):
    want = rank(TABLE[FEATURES], TABLE[LABELS], method, k=None)
    frame = read.parquet(LocalSession(), str(folder / "t.parquet"), **options(method))
    pd.testing.assert_frame_equal(result(frame, method).ranking, want, check_exact=True)
    for k in (1, 2, 4):
        kept = rank(TABLE[FEATURES], TABLE[LABELS], method, k=k)
        assert result(frame, method, k).kept["name"].tolist() == kept["name"].tolist()
    columns = [name for name in FEATURES if name != "at"]
    frame = read.csv(LocalSession(), str(folder / "t.csv"), **options(method, features=columns))
    want = rank(TABLE[columns], TABLE[LABELS], method, k=None)
    pd.testing.assert_frame_equal(result(frame, method).ranking, want, check_exact=True)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spark_mlfs.errors.DataNotice")
@pytest.mark.parametrize("method", ["jmi", "forward"])
def test_spark_gives_the_same_bits_in_one_task_and_in_three_partitions(spark, folder, method):
    want = rank(TABLE[FEATURES], TABLE[LABELS], method, k=None)
    table = spark.read.parquet(str(folder / "t.parquet"))
    for source, small in ((table, 1 << 30), (table.repartition(3), 0)):
        frame = read.table(spark, source, **options(method))
        pd.testing.assert_frame_equal(
            result(frame, method, small_bytes=small).ranking, want, check_exact=True
        )
    if method == "jmi":
        sessions = LocalSession(), spark
        here, there = (
            read.parquet(session, str(folder / "t.parquet"), **options(method)).select("id")
            for session in sessions
        )
        ids = [row.id for row in there.collect()]
        assert ids == [row["id"] for batch in here.batches() for row in batch.to_pylist()]
        return
    columns = [name for name in FEATURES if name != "at"]
    frame = read.csv(spark, str(folder / "t.csv"), **options(method, features=columns))
    want = rank(TABLE[columns], TABLE[LABELS], method, k=None)
    pd.testing.assert_frame_equal(result(frame, method).ranking, want, check_exact=True)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spark_mlfs.errors.DataNotice")
def test_estimators_take_such_frames_and_apply_to_later_rows(spark, tmp_path):
    later = TABLE.iloc[:4].assign(
        **{"of.words": ["new", "g", "newer", "f"], "k": ["g", "e", "f", "mauve"]}
    )
    data = {"features": FEATURES, "labels": LABELS}
    codes = read.table(spark, TABLE, **data, categories="codes")
    model = MultiLabelSelector(method="jmi", numTopFeatures=3, idCol="id").fit(codes)
    want = rank(TABLE[FEATURES], TABLE[LABELS], "jmi", k=3)["name"].tolist()
    assert model.selectedFeatureNames == want and {"of.words", "k"} <= set(want)
    model.write().overwrite().save(str(tmp_path / "model"))
    for each in (model, MultiLabelSelectorModel.load(str(tmp_path / "model"))):
        with pytest.raises(
            DataError,
            match=r"feature '.*' of 'features' is a category of other values .*reader_options",
        ):
            each.transform(read.table(spark, later, **data, categories="codes"))
        told = each.reader_options("table", data)
        rows = each.setOutputCol("out").transform(read.table(spark, later, **told))
        found = dict(
            zip(want, np.array([row.out.toArray() for row in rows.collect()]).T, strict=True)
        )
        assert found["of.words"].tolist() == [
            7,
            sorted(WORDS).index("g"),
            7,
            sorted(WORDS).index("f"),
        ]
        assert found["k"].tolist() == [2, 0, 1, 3]
    with pytest.raises(ParameterError, match=r"is a category told as codes, .* categories"):
        MultiLabelSelector(method="ridge", idCol="id").fit(codes)
    hot = read.table(spark, TABLE, **data)
    model = MultiLabelSelector(method="ridge", numTopFeatures=2, idCol="id").fit(hot)
    want = rank(TABLE[FEATURES], TABLE[LABELS], "ridge", k=2)["name"].tolist()
    assert model.selectedFeatureNames == want and len(want) > 2
    rows = model.transform(read.table(spark, later, **model.reader_options("table", data)))
    found = dict(
        zip(
            want,
            np.array([row[model.getOutputCol()].toArray() for row in rows.collect()]).T,
            strict=True,
        )
    )
    assert [sum(found[f"of.words={w}"][i] for w in WORDS) for i in range(4)] == [0, 1, 0, 1]
    with pytest.raises(DataError, match=r"it was not fitted on|lacks"):
        model.transform(read.table(spark, later, **data))


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spark_mlfs.errors.DataNotice")
@pytest.mark.parametrize("missing", ["mean", "zero", "drop"])
def test_missing_values_are_what_they_are_in_memory(spark, missing):
    holes = TABLE[[*FEATURES, *LABELS]].astype({"flag": float})
    holes.loc[[3, 500], "of.words"] = None
    holes.loc[[5, 6], "day"] = None
    holes.loc[[7], "number"] = np.nan
    for method in {"mean": ("jmi", "ridge"), "zero": ("jmi",), "drop": ("ridge",)}[missing]:
        want = rank(holes[FEATURES], holes[LABELS], method, k=None, missing=missing)
        frame = read.table(
            spark, spark.createDataFrame(pa_table(holes)), **options(method, missing=missing)
        )
        pd.testing.assert_frame_equal(result(frame, method).ranking, want, check_exact=True)
    if missing == "mean":
        with pytest.raises(DataError, match=r"feature 'of\.words=B': the value is missing"):
            there = spark.createDataFrame(pa_table(holes))
            result(read.table(spark, there, **options("ridge")), "ridge")


def pa_table(frame):
    """Rows for Spark; a missing text is null, not NaN."""
    return polars.from_pandas(frame).to_arrow().to_pandas(date_as_object=True)


def test_what_is_no_category_is_refused_by_its_name(tmp_path):
    def said(column, **further):
        table = {"a": pa.array(range(600)), "b": column, "y": pa.array([0, 1] * 300)}
        pq.write_table(pa.table(table), tmp_path / "t.parquet")
        with pytest.raises(DataError) as error:
            read.parquet(
                LocalSession(),
                str(tmp_path / "t.parquet"),
                **{"features": ["a", "b"], "labels": "y", **further},
            )
        return str(error.value)

    for how in ("auto", "onehot", "codes"):
        assert "column 'b' is string" in (
            many := said(pa.array([f"c{i}" for i in range(600)]), categories=how)
        )
        assert f"over {MAX_BINS} different values" in many and "\n" not in many
    assert "over 250 different values or 200 letters" in said(pa.array(["word " * 50] * 600))
    stray = ["many", *map(str, range(599))]
    assert "(it holds 'many')" in said(pa.array(stray)) and "(it holds 'many')" in said(
        pa.array((stray[:100]) * 6)
    )
    assert "numbers such as '0'" in said(pa.array(stray[:100] * 6))
    assert "holds no value" in said(pa.array([None] * 600, pa.string()))
    assert "column 'b' is string" in said(pa.array(["x", "y"] * 300), features="b")
    assert "column 'b' is binary" in said(pa.array([b"x"] * 600))
    pq.write_table(
        pa.table({"b": ["1", "x"] * 300, "a": range(600), "y": [0, 1] * 300}),
        tmp_path / "t.parquet",
    )
    told = {"features": ["b", "a"], "labels": "y", "categories": "codes"}
    with pytest.warns(DataNotice, match="column 'b' holds texts: it is a category of 2 values"):
        read.parquet(LocalSession(), str(tmp_path / "t.parquet"), **told)
    for wrong in ("index", {"columns": ["b"]}, 3):
        with pytest.raises(ParameterError, match="option 'categories' of format 'parquet' must be"):
            read.parquet(
                LocalSession(), str(tmp_path / "t.parquet"), **{**told, "categories": wrong}
            )
    facts = Categories("error", True, {0: ["1", "x"]}, columns=["b", "a"]).facts
    pq.write_table(
        pa.table({"b": [1.0, 2.0] * 300, "a": range(600), "y": [0, 1] * 300}),
        tmp_path / "t.parquet",
    )
    with pytest.raises(
        DataError, match="column 'b' is double and held texts in training; give texts"
    ):
        read.parquet(LocalSession(), str(tmp_path / "t.parquet"), **{**told, "categories": facts})


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spark_mlfs.errors.DataNotice")
@pytest.mark.parametrize("engine", ["local", "spark"])
def test_commands_select_transform_and_score_them(folder, tmp_path, engine, request):
    if engine == "spark":
        request.getfixturevalue("spark")
    at = [
        "--data",
        str(folder / "t.csv"),
        "--format",
        "csv",
        "--features",
        "of.words",
        "k",
        "day",
        "flag",
        "number",
    ]
    at += ["--labels-col", *LABELS, "--engine", engine, "--quiet"]
    columns = [name for name in FEATURES if name != "at"]
    later = TABLE.iloc[:30].assign(k=["mauve", *TABLE["k"][1:30]]).drop(columns=["flag", "at"])
    later.to_csv(tmp_path / "later.csv", index=False)
    rows = ["--data", str(tmp_path / "later.csv"), "--format", "csv", "--engine", engine, "--quiet"]
    for method in ("jmi", "ridge") if engine == "local" else ("ridge",):
        want = rank(TABLE[columns], TABLE[LABELS], method, k=2)["name"].tolist()
        out = str(tmp_path / method)
        assert (
            main(["select", *at, "--method", method, "--num-top-features", "2", "--output", out])
            == 0
        )
        assert pd.read_csv(f"{out}/ranking.csv")["name"].tolist()[: len(want)] == want
        given = [*rows, "--features", *columns, "--as", "columns", "--output", f"{out}-later"]
        assert main(["transform", "--model", out, *given]) == 0
        found = pd.concat(
            map(pd.read_parquet, sorted((tmp_path / f"{method}-later").glob("*.parquet")))
        )
        assert found.columns[1:].tolist() == want and len(found) == 30
        if method == "ridge":
            assert found[[name for name in want if name.startswith("k=")]].sum(axis=1).min() == 0
        else:
            assert found["k"].max() == 3
    both = [
        *at,
        "--method",
        "jmi",
        "--num-top-features",
        "2",
        "--classifier",
        "br-svm",
        "--output",
        str(tmp_path / "both"),
    ]
    assert main(["select", *both]) == 0
    names = pd.read_csv(tmp_path / "both" / "ranking.csv")["name"].tolist()
    assert any(name.startswith("k=") for name in names)  # a classifier takes codes for numbers
    given = ["--model", str(tmp_path / "both"), *rows, "--output", str(tmp_path / "scored")]
    assert main(["score", *given]) == 0
    scored = pd.read_parquet(next((tmp_path / "scored" / "data").rglob("*.parquet")))
    assert len(scored) == 30


# ---- attributes of ARFF ----


def arff_and_csv(folder, rows, sparse=False):
    """The same rows as ARFF, whose labels are the last, and as CSV with their numbers as ids."""
    words = {name: sorted(rows[name].dropna().unique()) for name in ("of.words", "k")}
    kinds = [
        "{" + ",".join(f"'{word}'" for word in words[name]) + "}" if name in words else "numeric"
        for name in rows
    ]
    head = [
        "@relation r",
        *(f"@attribute {name} {kind}" for name, kind in zip(rows, kinds, strict=True)),
        "@data",
    ]
    cells = [
        ["?" if pd.isna(c) else f"'{c}'" if isinstance(c, str) else repr(c) for c in row]
        for row in rows.to_numpy(object)
    ]
    zero = [
        f"'{words[name][0]}'" if name in words else "0" for name in rows
    ]  # what a sparse row leaves out
    lines = [
        "{" + ",".join(f"{j} {c}" for j, c in enumerate(row) if c != zero[j]) + "}" for row in cells
    ]
    lines = lines if sparse else [",".join(row) for row in cells]
    (folder / "r.arff").write_text("\n".join([*head, *lines, ""]))
    rows.to_csv(folder / "r.csv", index_label="id")
    return str(folder / "r.arff"), str(folder / "r.csv")


ROWS = TABLE[["of.words", "number", "k", *LABELS]]


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore::spark_mlfs.errors.DataNotice")
@pytest.mark.parametrize(
    ("missing", "engine"),
    [("error", "local"), ("zero", "local"), ("mean", "local"), ("mean", "spark")],
)
def test_nominal_attributes_give_the_rankings_of_texts_of_csv(tmp_path, engine, missing, request):
    """To the byte. A missing value is one of its own there, too; values that later rows alone have
    are none."""
    if engine == "spark":
        request.getfixturevalue("spark")
    rows = ROWS.copy()
    if missing != "error":
        rows.loc[[3, 500], "k"], rows.loc[[7], "number"] = None, np.nan
    further = ["--quiet", "--option", f"missing={missing}", "--engine"]
    sides = {
        "csv": ["--features", "of.words", "number", "k", "--labels-col", *LABELS, "--id", "id"]
    }
    sides |= {
        side: ["--option", "labels=-2", "--option", "categories=auto"]
        for side in ("arff", "sparse")
    }
    for method in ("jmi", "forward"):
        found = set()
        for side, own in sides.items():
            if engine == "spark" and side == ("sparse" if method == "jmi" else "arff"):
                continue  # each once
            paths = arff_and_csv(tmp_path, rows, side == "sparse")
            own = [
                *own,
                "--data",
                paths[side == "csv"],
                "--format",
                "csv" if side == "csv" else "arff",
                *further,
                "local" if side == "csv" else engine,  # both read it alike (above)
            ]
            assert (
                main(
                    [
                        "select",
                        *own,
                        "--method",
                        method,
                        "--output",
                        str(tmp_path / f"{method}-{side}"),
                    ]
                )
                == 0
            )
            found.add((tmp_path / f"{method}-{side}" / "ranking.csv").read_bytes())
        assert len(found) == 1
    later = rows.iloc[:20].assign(k=["mauve", *rows["k"][1:20]])
    path = arff_and_csv(tmp_path, later)[0]
    for method, name in (("jmi", "k"), ("forward", "k=e")):
        if engine == "spark" and method == "forward":
            continue  # `test_commands_select_transform_and_score_them` has names of values there
        out = str(tmp_path / f"{method}-arff")
        own = [
            *further,
            engine,
            "--data",
            path,
            "--format",
            "arff",
            "--option",
            "labels=-2",
            "--as",
            "columns",
            "--output",
            f"{out}-later",
        ]
        assert main(["transform", "--model", out, *own]) == 0
        kept = pd.concat(
            map(pd.read_parquet, sorted((tmp_path / f"{method}-arff-later").glob("*.parquet")))
        ).sort_values("id")
        values = sorted(rows["k"].dropna().unique())
        codes = (
            later["k"].map({value: code for code, value in enumerate(values)}).fillna(len(values))
        )
        codes[0] = len(values) + (missing != "error")  # behind the missing ones
        assert kept[name].tolist() == (codes if name == "k" else (later["k"] == "e") * 1).tolist()


def test_nominal_attributes_that_are_none(tmp_path):
    many = ",".join(f"v{i}" for i in range(MAX_BINS + 1))
    text = (
        f"@relation r\n@attribute a {{{many}}}\n@attribute b {{x,y}}\n@attribute y "
        "{0,1}\n@data\nv0,x,0\nv9,y,1\n"
    )
    (tmp_path / "r.arff").write_text(text)
    with pytest.raises(
        DataError, match=r"r.arff:2: attribute 'a' has 251 values.*categories='index'"
    ):
        read.arff(LocalSession(), str(tmp_path / "r.arff"), labels=-1, categories="auto")
    frame = read.arff(LocalSession(), str(tmp_path / "r.arff"), labels=-1, categories="index")
    assert pipeline.rank(pack(frame), [pipeline.Request.of("mim")])[0].ranking["name"].tolist() == [
        "a",
        "b",
    ]
    facts = Categories("error", True, {0: ["x", "z"]}, columns=["n", "b"]).facts
    (tmp_path / "r.arff").write_text(text.replace(f"{{{many}}}", "numeric").replace("v", ""))
    with pytest.raises(
        DataError, match=r"attribute 'a' is numeric and held categories in training"
    ):
        read.arff(
            LocalSession(),
            str(tmp_path / "r.arff"),
            labels=-1,
            categories={**facts, "values": {"a": ["x", "z"]}},
        )
