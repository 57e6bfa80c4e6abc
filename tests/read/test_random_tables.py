"""Random tables by writers and dialects: names, types, cells, missing ones and tags are those that
were written, on both engines; a table is a file, or a folder of many by several writers.

``python tests/read/test_random_tables.py FILES [SEED] [SECONDS]`` tries more: so many files here,
and folders of them on both engines for so many seconds."""

from __future__ import annotations

import sys
import time
import warnings
from itertools import islice
from pathlib import Path

import numpy as np
import pytest
from random_tables import changed, dialect, expected, table, writers_of

from spark_mlfs import cli
from spark_mlfs.errors import worker_errors
from spark_mlfs.frames import paths
from spark_mlfs.frames.frame import LocalFrame, LocalSession, kinds_of
from spark_mlfs.read import load
from spark_mlfs.read.tables import open_table

HERE = LocalSession(1 << 30)
FILES = 40  # of a folder; 100 where more are tried
PART = "spark.sql.files.maxPartitionBytes"
NUMBERS = ("int", "bigint", "double", "boolean")


def tables(folder, seed=0):
    """Random tables of one file each without end: columns, the path, options, the writer."""
    number = 0
    while True:
        generator = np.random.default_rng([seed, number])
        path = Path(folder) / f"{number}.csv"
        columns = table(generator, [int(generator.integers(1, 30))])
        form = dialect(generator)
        writers = writers_of(form)
        writer = writers[number % len(writers)]
        writer(columns, path, generator, form)
        yield columns, path, form.options, writer.__name__
        number += 1


def folders(folder, seed=0, files=FILES):
    """Random tables of many files each, by all that write their dialect, without end."""
    number = 0
    while True:
        generator = np.random.default_rng([seed, number, files])
        path = Path(folder) / f"folder{number}"
        path.mkdir()
        sizes = [int(n) for n in generator.integers(0, 30, files)]
        sizes[int(generator.integers(2))] += 1
        columns = table(generator, sizes)
        form = dialect(generator)
        writers = writers_of(form)
        start = 0
        for place, size in enumerate(sizes):
            part = {name: cells[start : start + size] for name, cells in columns.items()}
            writer = writers[generator.integers(len(writers))]
            file = path / f"{place:02}-{writer.__name__}.csv"
            writer(part, file, generator, form)
            changed(file, generator, form)
            start += size
        if number % 3 == 0:
            (path / "empty.csv").touch()
        yield columns, path, form.options, str(form)
        number += 1


# ---- what is read ----


def rows_of(frame):
    if isinstance(frame, LocalFrame):
        return [row for batch in frame.batches() for row in batch.to_pylist()]
    with worker_errors():
        return [row.asDict() for row in frame.collect()]


def check(session, columns, path, options, writer):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = open_table(session, str(path), "csv", options)
        how = {"features": ["key"], "labels": "tags", "id": "key", "label_delimiter": "+"}
        tagged = load(session, frame, "table", **how)
    kinds = {name: kind.name for name, kind in kinds_of(frame).items()}
    rows = sorted(rows_of(frame), key=lambda row: row["key"])
    assert [*kinds] == [*columns], (writer, path)
    for name, cells in columns.items():
        if name == "tags":
            continue
        kind, values = expected(cells)
        found = [row[name] for row in rows]
        if all(value is None for value in values):
            assert all(value is None for value in found), (writer, path, name)
            continue
        assert (kinds[name], found) == (kind, values), (writer, path, name)
    tags = [[tag for tag in cell.split("+") if tag] for cell in columns["tags"]]
    rows = sorted(rows_of(tagged), key=lambda row: row["id"])
    assert [[*row["labels"]] for row in rows] == tags, (writer, path)


def ranking(columns, path, options, engine):
    """The bytes of the ranking of the columns of numbers."""
    features = [name for name, cells in columns.items() if _is_number(cells)]
    output = path.with_name(f"{path.name}-{engine}")
    command = ["select", "--data", path, "--format", "csv", "--engine", engine, "--quiet"]
    command += ["--features", *features, "--labels-col", "tags", "--id", "key"]
    command += ["--option", "label_delimiter=+", "--option", "missing=mean", "--method", "mim"]
    for name, sign in options.items():
        command += ["--option", f"{name}={sign}"]
    command += ["--num-top-features", len(features), "--no-report", "--output", output]
    assert cli.main([*map(str, command)]) == 0, path
    return (output / "ranking.csv").read_bytes()


def _is_number(cells):
    """Whether cells are features as they are: whole numbers beyond 2^53 are refused."""
    kind, values = expected(cells)
    small = kind != "bigint" or all(abs(value or 0) < 1 << 53 for value in values)
    return kind in NUMBERS and small


def check_folder(spark, columns, path, options, form):
    """Compare a folder on both engines with what was written; some are read in small parts."""
    usual = spark.conf.get(PART)
    in_parts = len(columns) == 3
    with pytest.MonkeyPatch.context() as patch:
        if in_parts:
            spark.conf.set(PART, "1500")
            patch.setattr(paths, "SPLIT_BYTES", 1500)
        for session in (HERE, spark):
            check(session, columns, path, options, form)
        spark.conf.set(PART, usual)
    if any(columns["tags"]):
        rankings = [ranking(columns, path, options, engine) for engine in ("local", "spark")]
        assert rankings[0] == rankings[1], (form, path)


@pytest.mark.slow
def test_random_tables_are_read_as_they_were_written(tmp_path):
    for item in islice(tables(tmp_path), 60):
        check(HERE, *item)


@pytest.mark.slow
def test_random_folders_are_read_as_they_were_written_by_both_engines(spark, tmp_path):
    for item in islice(folders(tmp_path), 1):
        check_folder(spark, *item)


def tried(checked, items, seconds):
    """Print what is wrong with some tables, for so many seconds, and return their and its number."""
    faults = count = 0
    end = time.monotonic() + seconds
    for item in items:
        try:
            checked(*item)
        except Exception as error:
            faults += 1
            print(item[3], item[1], type(error).__name__, str(error)[:600], flush=True)
        count += 1
        if faults > 25 or time.monotonic() > end:
            break
    return count, faults


if __name__ == "__main__":
    import tempfile
    from functools import partial

    count, seed, seconds = [int(word) for word in [*sys.argv[1:], "7", "0"][:3]]
    with tempfile.TemporaryDirectory() as temporary:
        items = islice(tables(temporary, seed), count)
        print("files, faults", *tried(partial(check, HERE), items, 1 << 20), flush=True)
    if seconds:
        from spark_mlfs.session.local import local_session

        spark = local_session("tables", {"spark.sql.shuffle.partitions": "2"})
        with tempfile.TemporaryDirectory() as temporary:
            checked = partial(check_folder, spark)
            print("folders, faults", *tried(checked, folders(temporary, seed, 100), seconds))
        spark.stop()
