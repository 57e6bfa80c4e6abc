"""A file that is replaced or written to between two readings: one line, and no output."""

from __future__ import annotations

import os
import shutil

import numpy as np
import pandas as pd
import pytest

from spark_mlfs import cli, read
from spark_mlfs.blocks import pack as packing
from spark_mlfs.cli import select
from spark_mlfs.errors import DataError
from spark_mlfs.evaluate.compare import ForgetfulJournal
from spark_mlfs.evaluate.compare import run as compare
from spark_mlfs.evaluate.plan import Comparison
from spark_mlfs.frames.frame import LocalSession
from spark_mlfs.frames.unchanged import ReadFiles
from spark_mlfs.media.generate import write_files
from spark_mlfs.scoring import corpus

CHANGED = "changed or replaced since the run began to read it"
COLUMNS = {"features": ["a", "b"], "labels": ["t", "u"]}
OPTIONS = {
    "csv": COLUMNS,
    "parquet": COLUMNS,
    "json": COLUMNS,
    "text": {"source": "csv", "text": "words", "labels": ["t", "u"], "min_df": 1},
    "arff": {"labels": ["t", "u"]},
    "libsvm": {},
}


def table(seed: int = 0) -> pd.DataFrame:
    r = np.random.default_rng(seed)
    rows = pd.DataFrame(r.integers(1, 9, (60, 2)), columns=["a", "b"])
    rows["words"] = [f"w{k} v{k % 3}" for k in r.integers(0, 9, 60)]
    rows["t"], rows["u"] = (rows.a > 4).astype(int), (rows.b > 4).astype(int)
    return rows


def write(path, format: str, seed: int = 0) -> None:
    rows = table(seed)
    if format == "parquet":
        rows.to_parquet(path)
    elif format == "json":
        rows.to_json(path, orient="records", lines=True)
    elif format == "arff":
        kinds = {"a": "numeric", "b": "numeric", "t": "{0,1}", "u": "{0,1}"}
        head = "".join(f"@attribute {name} {kind}\n" for name, kind in kinds.items())
        cells = rows[[*kinds]].to_csv(header=False, index=False)
        path.write_text(f"@relation r\n{head}@data\n{cells}")
    elif format == "libsvm":
        lines = [f"{row.t},{row.u + 2} 1:{row.a} 2:{row.b}\n" for row in rows.itertuples()]
        path.write_text("".join(lines))
    else:
        rows.to_csv(path, index=False)


def replace_with_equal_times(path) -> None:
    """Another file in its place: of the same size and time, as `cp -p` and `tar` leave them."""
    other = path.with_name("other")
    shutil.copy2(path, other)
    os.replace(other, path)


CHANGES = {
    "replaced": replace_with_equal_times,
    "longer": lambda path: path.write_bytes(path.read_bytes() + b"\n"),
    "touched": lambda path: os.utime(path, ns=(1, path.stat().st_mtime_ns + 1)),
    "gone": lambda path: path.unlink(),
}


@pytest.mark.parametrize("change", CHANGES)
@pytest.mark.parametrize("format", OPTIONS)
def test_between_reading_the_head_and_the_rows(tmp_path, format, change):
    path = tmp_path / "data"
    write(path, format)
    frame = read.load(LocalSession(), str(path), format, **OPTIONS[format])
    packing.pack(frame)
    CHANGES[change](path)
    with pytest.raises(DataError, match=f"^{path}: {CHANGED}.*copy$"):
        packing.pack(frame)
    if change in ("replaced", "touched"):
        packing.pack(read.load(LocalSession(), str(path), format, **OPTIONS[format]))


def test_rows_of_another_shape_are_the_same_line(tmp_path):
    """What a reader says of half an old file and half a new one is not what is wrong."""
    path = tmp_path / "data.parquet"
    write(path, "parquet")
    frame = read.load(LocalSession(), str(path), "parquet", **COLUMNS)
    pd.DataFrame({"z": [1]}).to_parquet(path)
    with pytest.raises(DataError, match=CHANGED):
        packing.pack(frame)


def test_between_ranking_and_fitting(tmp_path, monkeypatch, capfd):
    """The command opens its table anew to fit: the ranking would be of the file before."""
    path = tmp_path / "data.csv"
    write(path, "csv")
    fit = select._fit_pipeline

    def late(*arguments):
        write(path, "csv", 1)
        return fit(*arguments)

    monkeypatch.setattr(select, "_fit_pipeline", late)
    flags = "--format csv --features a b --labels-col t u --method mim --classifier mlknn"
    output = tmp_path / "out"
    command = ["select", "--engine", "local", "--data", str(path), *flags.split()]
    assert cli.main([*command, "--quiet", "--output", str(output)]) == 2
    error = capfd.readouterr().err
    assert CHANGED in error and error.count("\n") == 1
    assert [entry.name for entry in tmp_path.iterdir()] == ["data.csv"]


def test_files_by_their_table_of_labels(tmp_path, monkeypatch):
    write_files(
        "images",
        tmp_path,
        6,
        0,
        True,
    )
    listed = ReadFiles.of(
        str(tmp_path / "files"), "files", {"labels_from": tmp_path / "labels.csv"}
    )
    assert len(listed.states) == 7
    picture = next((tmp_path / "files").iterdir())
    CHANGES["replaced"](picture)
    with pytest.raises(DataError, match=f"^{picture}: {CHANGED}"):
        listed.check()
    listed.check([str(tmp_path / "labels.csv"), "elsewhere.csv", "s3://bucket/x.csv"])


def test_what_is_not_a_file_of_this_machine():
    for path, format in (
        (None, "numbers"),
        ("s3://bucket/rows", "csv"),
        ("missing.csv", "csv"),
        ("database.table", "table"),
        (table(), "table"),
    ):
        assert ReadFiles.of(path, format, {}) == ReadFiles()


def test_a_part_that_is_scored_is_of_the_file_that_was_looked_at(tmp_path, monkeypatch, capfd):
    path = tmp_path / "data.csv"
    write(path, "csv")
    flags = f"--engine local --data {path} --format csv".split()
    chosen = "--features a b --labels-col t u --method mim --classifier mlknn".split()
    model = str(tmp_path / "model")
    assert cli.main(["select", *flags, *chosen, "--quiet", "--output", model]) == 0
    count = corpus._count

    def late(*arguments):
        counts = count(*arguments)
        CHANGES["replaced"](path)
        return counts

    monkeypatch.setattr(corpus, "_count", late)
    command = ["score", *flags, "--model", model, "--quiet", "--output", str(tmp_path / "scored")]
    assert cli.main(command) == 2
    assert CHANGED in capfd.readouterr().err
    monkeypatch.setattr(corpus, "_count", count)
    assert cli.main(command) == 0


def test_a_comparison_goes_on_with_the_rows_it_began_with(tmp_path):
    """What earlier trials measured is of other rows."""
    path = tmp_path / "data.csv"
    write(path, "csv")
    data = [{"name": "d", "path": str(path), "format": "csv", "options": COLUMNS}]
    plan = Comparison.of({"data": data, "method": [{"name": "mim"}]})
    journal = ForgetfulJournal()
    compare(LocalSession(), plan, journal)
    journal.parts.popitem()
    write(path, "csv", 1)
    with pytest.raises(DataError, match="not those of the trials that an earlier run has done"):
        compare(LocalSession(), plan, journal)


@pytest.mark.slow
def test_on_spark(tmp_path, spark):
    """Spark reads what it listed; a cached frame is read no more."""
    path = tmp_path / "data.csv"
    write(path, "csv")
    frame = read.load(spark, str(path), "csv", **COLUMNS)
    packing.pack(frame).release()
    cached = read.load(spark, str(path), "csv", **COLUMNS).cache()
    cached.count()
    write(path, "csv", 1)
    with pytest.raises(DataError, match=CHANGED):
        packing.pack(frame)
    packing.pack(cached).release()
    cached.unpersist()
