"""One answer whatever the engine: rankings of files read in this process are those of Spark, to the
byte of ranking.csv."""

from __future__ import annotations

import gzip
import io

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_mlfs import METHODS, DataError, pipeline, rank, read
from spark_mlfs.blocks.grades import Grades
from spark_mlfs.blocks.pack import pack
from spark_mlfs.frames.frame import LocalSession
from spark_mlfs.output.folder import csv_text

HERE = LocalSession()
COUNT = 6
NUMBERS = [f"x.{j}" for j in range(9)]


@pytest.fixture(scope="module")
def table(spark, tmp_path_factory):
    """600 rows, a third of them repeated, dotted names, holes, unknown labels, weights and grades;
    several row groups."""
    rng = np.random.default_rng(5)
    x = np.round(rng.normal(size=(400, 9)) * 4) / 4
    y = (x[:, :3] + rng.normal(size=(400, 3)) > 0.3).astype(float)
    rows = rng.permutation(np.concatenate([np.arange(400), rng.integers(0, 200, 200)]))
    holes, unknown = rng.random((400, 9)) < 0.03, rng.random((400, 3)) < 0.04
    weights, grades = rng.integers(0, 4, 400), np.round(np.clip(0.5 + x[:, :2] / 6, 0, 1), 2)

    def cells(values, absent=None):
        return [
            None if absent is not None and a else float(v)
            for v, a in zip(values, absent, strict=True)
        ]

    data = [
        (
            *cells(x[r], holes[r]), *cells(y[r], unknown[r]), float(weights[r]), *map(float, grades[r]),
            [f"t{j}" for j in range(3) if y[r, j]],
        )
        for r in rows
    ]  # fmt: skip
    names = [
        *(f"`{name}` double" for name in NUMBERS),
        "y_0 double",
        "y_1 double",
        "y_2 double",
        "w double",
    ]
    schema = ", ".join([*names, "g_0 double", "g_1 double", "tags array<string>"])
    path = str(tmp_path_factory.mktemp("table") / "rows.parquet")
    spark.createDataFrame(data, schema).repartition(3).write.parquet(path)
    return path


def rankings(session, path, requests, options, grades=None, **how):
    """The bytes of ranking.csv of every request, each with an id-less table of its own session."""
    frame = read.load(session, path, options.pop("format"), **options)
    packed = pack(
        frame, row_id="id", weight="weight" if "weight" in frame.columns else None, grades=grades
    )
    try:
        return [csv_text(result.ranking) for result in pipeline.rank(packed, requests, **how)]
    finally:
        packed.release()


def same(spark, path, requests, grades=None, **options):
    one = rankings(spark, path, requests, dict(options), grades)
    here = rankings(HERE, path, requests, dict(options), grades)
    for request, there, local in zip(requests, one, here, strict=True):
        assert there == local, request.method
    return here


def takes(method, **profile):
    """Whether a method ranks rows with weights, or grades."""
    try:
        pipeline.check_rows([pipeline.Request.of(method, {}, COUNT)], *profile.values())
    except pipeline.ParameterError:
        return False
    return True


@pytest.mark.slow
def test_every_method_ranks_alike(spark, kit, table):
    requests = [pipeline.Request.of(method, kit.quick(method), COUNT) for method in METHODS]
    same(spark, table, requests, format="parquet", features="x.*", labels="tags", missing="mean")
    unknown = [
        pipeline.Request.of(method, {}, COUNT)
        for method in ("jmi", "ridge", "fisher", "csfs", "relieff", "spec")
    ]
    same(spark, table, unknown, format="parquet", features="x.*", labels="y_*", missing="zero")


@pytest.mark.slow
def test_rows_with_weights_and_grades_rank_alike(spark, kit, table):
    weighted = [
        pipeline.Request.of(method, kit.quick(method), COUNT)
        for method in METHODS
        if takes(method, weighted=True, graded=False)
    ]
    assert len(weighted) > 10
    same(
        spark,
        table,
        weighted,
        format="parquet",
        features="x.*",
        labels="tags",
        missing="zero",
        weight="w",
    )
    graded = [
        pipeline.Request.of(method, kit.quick(method), COUNT)
        for method in METHODS
        if takes(method, weighted=False, graded=True)
    ]
    assert len(graded) > 5
    grades = Grades.of({"graded_labels": True, "grade_range": None, "label_cuts": None})
    options = {
        "format": "parquet",
        "features": "x.*",
        "labels": "g_*",
        "missing": "drop",
        "graded": True,
    }
    same(spark, table, graded, grades, **options)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["scene", "enron"])
def test_real_sets_rank_alike(spark, data_dir, name):
    path = str(data_dir / name / f"{name}-test.arff.gz")
    requests = [
        pipeline.Request.of(method, {}, 5) for method in ("jmi", "fisher", "relieff", "scls")
    ]
    same(spark, path, requests, format="arff", labels=str(data_dir / name / f"{name}.xml"))


def test_several_cores_give_the_same_bits(monkeypatch, spark, table):
    from spark_mlfs.engine import local

    methods = [method for method in METHODS if method not in ("auto", "deepfs")]
    requests = [pipeline.Request.of(method, {}, COUNT) for method in methods]
    options = {"format": "parquet", "features": "x.*", "labels": "tags", "missing": "mean"}
    whole = rankings(HERE, table, requests, dict(options))
    monkeypatch.setattr(local, "STORED_A_CORE", 0)
    monkeypatch.setattr("spark_mlfs.blocks.pack.num_cores", lambda: 3)
    assert rankings(HERE, table, requests, dict(options)) == whole


def test_lines_of_libsvm_rank_alike(spark, tmp_path):
    rng = np.random.default_rng(2)
    path = tmp_path / "rows.txt.gz"
    lines = []
    for _ in range(500):
        words = np.unique(rng.integers(1, 60, 9))
        lines.append(
            f"{words[0] % 4},{words[-1] % 5} "
            + " ".join(f"{w}:{rng.integers(1, 4)}" for w in words)
        )
    path.write_bytes(gzip.compress("\n".join(lines + lines[:250]).encode()))
    requests = [
        pipeline.Request.of(method, {}, 20) for method in ("mim", "jmi", "chi2", "ridge", "relieff")
    ]
    same(spark, str(path), requests, format="libsvm")


@pytest.mark.parametrize("kind", ["numbers", "texts"])
def test_arrays_with_the_ids_of_a_file_rank_as_the_file(tmp_path, kind):
    """What draws rows by their ids, or divides them into folds, too; rows are repeated, features
    cells of any type."""
    rng = np.random.default_rng(6)
    x = rng.integers(0, 5, (90, 6))[rng.integers(0, 60, 90)]
    tags = [[f"t{j}" for j in range(3) if row[j] > 2] for row in x]
    ids = (
        rng.permutation(90) * 7
        if kind == "numbers"
        else [f"document {number}" for number in rng.permutation(90)]
    )
    path = str(tmp_path / "rows.parquet")
    pq.write_table(
        pa.table({"doc": ids, "tags": tags} | {f"f{j}": x[:, j] for j in range(6)}), path
    )
    frame, differ = pd.DataFrame(x, columns=[f"f{j}" for j in range(6)]), []
    options = {"format": "parquet", "features": ["f*"], "labels": "tags", "id": "doc"}
    for method in ("forward", "msfs", "mifs", "relieff", "deepfs"):
        (wanted,) = rankings(HERE, path, [pipeline.Request.of(method, {}, COUNT)], dict(options))
        found = rank(frame, tags, method, COUNT, row_ids=ids)
        wanted = pd.read_csv(io.StringIO(wanted), float_precision="round_trip").head(COUNT)
        assert found.to_csv(index=False) == wanted[list(found)].to_csv(index=False), method
        differ.append(not found.equals(rank(frame, tags, method, COUNT)))
    assert any(differ)  # without them other rows are drawn
    with pytest.raises(DataError, match=r"row_ids has shape \(89,\), X has 90 samples"):
        rank(frame, tags, "mim", row_ids=ids[:-1])
    with pytest.raises(DataError, match="row_ids holds other things than whole numbers"):
        rank(frame, tags, "mim", row_ids=[None, *ids[1:]])
    numbered = rank(frame, tags, "forward", row_ids=np.arange(90)[::-1])
    for same in ([*np.arange(90)[::-1]], pd.Index(range(89, -1, -1))):
        assert rank(frame, tags, "forward", row_ids=same).equals(numbered)
    masked, days = (
        np.ma.masked_array(range(90), np.arange(90) == 7),
        pd.date_range("2026-01-01", periods=90),
    )
    for wrong in (
        [np.nan, *map(str, ids[1:])],
        [*map(str, ids[1:]), 5],
        [1.5, *range(89)],
        masked,
        days,
    ):
        with pytest.raises(DataError, match="row_ids holds other things than whole numbers"):
            rank(frame, tags, "mim", row_ids=wrong)
    with pytest.raises(DataError, match="beyond 64 bits"):
        rank(frame, tags, "mim", row_ids=np.arange(90, dtype=np.uint64) + np.uint64(1 << 63))
    with pytest.raises(DataError, match="share the row id"):
        rank(frame, tags, "relieff", row_ids=np.zeros(90, int))
