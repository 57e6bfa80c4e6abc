"""Folders called ``key=value``: their columns, on both engines, by formats and commands."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest
from test_local_json import opened
from test_xc import HERE

from spark_mlfs.cli.command import main
from spark_mlfs.errors import DataError
from spark_mlfs.frames import paths
from spark_mlfs.frames.frame import NeedsSpark, kinds_of
from spark_mlfs.read import load
from spark_mlfs.read.tables import open_table

FOLDERS = ["year=2023/month=01/kind=a%20b", "year=2024/month=12/kind=__HIVE_DEFAULT_PARTITION__"]
COLUMNS = {"year": [2023, 2024], "month": [1, 12], "kind": ["a b", None]}


def written(folder, format, places=FOLDERS, n=20, widened=False):
    """A folder of two files, each in folders of its own."""
    rng = np.random.default_rng(0)
    for place in places:
        x = rng.normal(size=n).round(3)
        if widened and place == places[0]:
            x = np.arange(n)
        table = pa.table({"x": x, "tags": ["u;v" if v > 0 else "v" for v in x], "key": [*range(n)]})
        where = folder / place
        where.mkdir(parents=True)
        if format == "parquet":
            pq.write_table(table, where / "part.parquet")
        elif format == "csv":
            pa.csv.write_csv(table, where / "part.csv")
        else:
            lines = [json.dumps(row) for row in table.to_pylist()]
            (where / "part.json").write_text("\n".join(lines))
        (folder / "_SUCCESS").touch()
    return str(folder)


@pytest.mark.parametrize("format", ["csv", "json", "parquet"])
def test_folders_are_columns(tmp_path, monkeypatch, format):
    path = written(tmp_path, format)
    frame = open_table(HERE, path, format)
    assert {name: kinds_of(frame)[name].name for name in COLUMNS} == {
        "year": "int",
        "month": "int",
        "kind": "string",
    }
    rows = frame.collect()
    assert len(rows) == 40
    for name, (first, second) in COLUMNS.items():
        assert [row[name] for row in rows] == [first] * 20 + [second] * 20
    assert [row["year"] for row in frame.select("year").collect()] == [2023] * 20 + [2024] * 20
    # one of them beside a column of the files; parts and blocks of few rows
    monkeypatch.setattr(paths, "SPLIT_BYTES", 100)
    monkeypatch.setattr(paths, "BLOCK_BYTES", 40)
    how = {"labels": "tags", "label_delimiter": ";", "missing": "zero"}
    frame = load(HERE, path, format, features=["year", "x"], **how)
    batches = [*frame.batches()]
    values = np.concatenate([b["features"].field("values").flatten().to_numpy() for b in batches])
    assert values[::2].tolist() == [2023] * 20 + [2024] * 20
    labels = load(HERE, path, format, features="x", labels="month", label_delimiter=";")
    tags = [tag for batch in labels.batches() for tag in batch["labels"].to_pylist()]
    assert tags == [["01" if format == "csv" else "1"]] * 20 + [["12"]] * 20
    # a path within is no column
    inner = open_table(HERE, f"{path}/year=2023", format)
    assert "year" not in inner.columns and "month" in inner.columns


def test_what_is_refused(tmp_path):
    written(tmp_path / "a", "csv", ["year=1", "month=1"])
    with pytest.raises(DataError, match=r"part.csv: its folders name year, and those of .* month"):
        open_table(HERE, str(tmp_path / "a"), "csv")
    for format in ("csv", "parquet"):
        written(tmp_path / format, format, ["x=1", "x=2"])
        with pytest.raises(DataError, match="column 'x' is in the files, and in the names of"):
            open_table(HERE, str(tmp_path / format), format)
    written(tmp_path / "c", "csv", ["year"])
    with pytest.raises(NeedsSpark, match="has folders in it"):
        open_table(HERE, str(tmp_path / "c"), "csv")


@pytest.mark.slow
def test_both_engines_read_the_same(spark, tmp_path):
    for format in ("csv", "json", "parquet", "parquet"):
        widened = (tmp_path / format).exists()  # files of int and of double
        path = written(tmp_path / (format + "!" * widened), format, widened=widened)
        here, there = (opened(session, path, format) for session in (HERE, spark))
        assert [*here[0].items()] == [*there[0].items()] and here[1] == there[1]
        data = ["--data", path, "--format", format, "--labels-col", "tags", "--id", "key"]
        data += ["--option", "label_delimiter=;", "--features", "year", "month", "x"]
        if format != "csv" and not widened:
            continue
        for engine in ("local", "spark"):
            out = str(tmp_path / f"{format}-{engine}{widened}")
            assert (
                main(["select", *data, "--method", "mim", "--output", out, "--engine", engine]) == 0
            )
        here, there = (tmp_path / f"{format}-{e}{widened}" for e in ("local", "spark"))
        assert (here / "ranking.csv").read_bytes() == (there / "ranking.csv").read_bytes()


@pytest.mark.slow
def test_scores_know_the_columns_of_folders(tmp_path):
    path = written(tmp_path / "data", "parquet")
    run = str(tmp_path / "run")
    data = ["--data", path, "--format", "parquet", "--engine", "local"]
    columns = ["--labels-col", "month", "--features", "x", "year"]
    chosen = ["--method", "mim", "--classifier", "mlknn", "--output", run]
    assert main(["select", *data, *columns, "--option", "label_delimiter=;", *chosen]) == 0
    assert main(["score", *data, "--model", run, "--output", str(tmp_path / "scored")]) == 0
