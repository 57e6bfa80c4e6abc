"""Random tables by writers and dialects: names, types, cells, missing ones and tags are those that
were written. ``python tests/read/test_random_tables.py COUNT [SEED]`` tries more."""

from __future__ import annotations

import csv
import datetime as dt
import sys
import warnings
from itertools import islice
from pathlib import Path

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest

from spark_mlfs.errors import worker_errors
from spark_mlfs.frames.frame import LocalFrame, LocalSession
from spark_mlfs.read import load
from spark_mlfs.read.tables import open_table

try:
    import duckdb
except ImportError:
    duckdb = None

HERE = LocalSession(1 << 30)
WORDS = [
    "a", "b c", "x,y", 'say "hi"', "line\nend", "two\r\nlines", "d;e", "tab\there", "\u00e9\u2013\u00fc", "'q'", "1,5 m",
    "-", "semi;", "back\\slash", '"', '""', "a|b", "#1", "  blanks  ", "\\", 'end"', "\u65e5\u672c", "\U0001f600", "1e5x", "[x", "{}",
    "true story", "2020-01-05 noon", "NAN", "na", "Null", "0x1F", "=1+1", "<b>",
]  # fmt: skip
TAGS = [
    "jazz",
    "rock & roll",
    "caf\u00e9",
    "7",
    "2020",
    "true",
    'so "called"',
    "a,b",
    "x'y",
    "-",
    "\u65e5",
]
MISSING = ["", "NA", "N/A", "nan", "NaN", "null", "NULL", "None", "#N/A"]


def whole(generator, n):
    return generator.integers(-50, 50, n).tolist()


def large(generator, n):
    return [int(v) for v in generator.integers(-(2**62), 2**62, n)]


def number(generator, n):
    return (generator.normal(size=n) * 10.0 ** generator.integers(-8, 8)).tolist()


def truth(generator, n):
    return (generator.random(n) < 0.5).tolist()


def day(generator, n):
    return [dt.date(1970, 1, 1) + dt.timedelta(int(k)) for k in generator.integers(-999, 20000, n)]


def time(generator, n):
    start = dt.datetime(1999, 12, 31, 23)
    return [start + dt.timedelta(microseconds=int(k)) for k in generator.integers(0, 10**15, n)]


def text(generator, n):
    return generator.choice(WORDS, n).tolist()


KINDS = [whole, large, number, truth, day, time, text, text]


def table(generator):
    """Names of columns, and the rows of their cells; the last but one are tags."""
    n = int(generator.integers(1, 30))
    columns = {"key": [*range(10, 10 + n)]}
    for k in range(int(generator.integers(1, 6))):
        kind = KINDS[generator.integers(len(KINDS))]
        cells = kind(generator, n)
        share = generator.choice([0, 0.2, 0.9])
        cells = [None if generator.random() < share else cell for cell in cells]
        if kind is text:
            cells[0] = "word"  # that not all may be missing, nor alike
        name = generator.choice(["x", "a b", "f,g", 'q"r', "\u00e9", "l\nm", "n;o", "p|q"])
        columns[f"{name}{k}"] = cells
    columns["tags"] = [
        generator.choice(TAGS, generator.integers(0, 4), replace=False).tolist() for _ in range(n)
    ]
    return columns


# ---- writers: each writes cells into a path, and returns the options of our reader ----


def cell_text(cell, decimal="."):
    if isinstance(cell, bool):
        return str(cell)
    if isinstance(cell, float):
        return repr(cell).replace(".", decimal)
    if isinstance(cell, dt.datetime):
        return cell.isoformat(" ")
    return str(cell)


def rows_of(columns):
    return [*zip(*columns.values(), strict=True)]


def by_pandas(columns, path, generator):
    frame = pd.DataFrame({name: pd.Series(cells, dtype=object) for name, cells in columns.items()})
    encoding = str(generator.choice(["utf-8", "utf-8-sig", "utf-16"]))
    escaped = {"doublequote": False, "escapechar": "\\"} if generator.random() < 0.3 else {}
    frame.to_csv(
        path,
        index=False,
        sep=str(generator.choice([",", ";", "\t", "|"])),
        quoting=int(generator.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL, csv.QUOTE_NONNUMERIC])),
        lineterminator=str(generator.choice(["\n", "\r\n"])),
        na_rep=str(generator.choice(MISSING)),
        encoding=encoding,
        compression=None,
        **escaped,
    )
    return {"escape": "\\"} if escaped else {}


def by_pandas_with_decimal_commas(columns, path, generator):
    frame = pd.DataFrame({name: pd.Series(cells) for name, cells in columns.items()})
    for name, cells in columns.items():
        if any(isinstance(cell, int) for cell in cells):
            frame[name] = pd.Series(cells, dtype=object)
    frame.to_csv(path, index=False, sep=";", decimal=",", encoding="utf-8-sig")
    return {"decimal": ","}


def by_polars(columns, path, generator):
    frame = pl.DataFrame(columns, strict=False)
    frame.write_csv(
        path,
        separator=str(generator.choice([",", ";", "\t", "|"])),
        quote_style=str(generator.choice(["necessary", "always", "non_numeric"])),
        null_value=str(generator.choice(MISSING)),
        line_terminator=str(generator.choice(["\n", "\r\n"])),
        include_bom=bool(generator.random() < 0.5),
    )
    return {}


def by_arrow(columns, path, generator):
    style = str(generator.choice(["needed", "all_valid"]))
    delimiter = str(generator.choice([",", ";", "\t", "|"]))
    options = pa.csv.WriteOptions(delimiter=delimiter, quoting_style=style)
    pa.csv.write_csv(pa.table(columns), path, options)
    return {}


def by_python(columns, path, generator):
    escape = "\\" if generator.random() < 0.3 else None
    quote = str(generator.choice(['"', "'"])) if escape is None else '"'
    quoting = int(generator.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
    if escape and not any(
        "\n" in str(cell) for row in [columns, *rows_of(columns)] for cell in row
    ):
        quoting = csv.QUOTE_NONE
    with open(path, "w", newline="", encoding="utf-8") as file:
        writer = csv.writer(
            file,
            delimiter=str(generator.choice([",", ";", "\t", "|"])),
            quoting=quoting,
            lineterminator=str(generator.choice(["\n", "\r\n"])),
            quotechar=quote,
            doublequote=escape is None,
            escapechar=escape,
        )
        writer.writerow(columns)
        writer.writerows(rows_of(columns))
    options = {"quote": quote} if quote != '"' else {}
    return options | ({"escape": escape} if escape else {})


def by_hand(columns, path, sep, end, encoding, absent, decimal, texts):
    def quoted(cell):
        return '"' + cell.replace('"', '""') + '"'

    lines = [sep.join(quoted(name) for name in columns)]
    for row in rows_of(columns):
        cells = []
        for cell in row:
            plain = absent if cell is None else cell_text(cell, decimal)
            special = any(sign in plain for sign in f'{sep}"\r\n')
            is_text = isinstance(cell, str)
            cells.append(quoted(plain) if (is_text and texts) or special else plain)
        lines.append(sep.join(cells))
    path.write_bytes((end.join(lines) + end).encode(encoding))


def by_r(columns, path, generator):
    by_hand(columns, path, ",", "\n", "utf-8", "NA", ".", True)
    return {}


def by_excel(columns, path, generator):
    encoding, sep = [("utf-8-sig", ";"), ("utf-16", "\t")][generator.integers(2)]
    by_hand(columns, path, sep, "\r\n", encoding, "", ",", False)
    return {"decimal": ","}


def by_duckdb(columns, path, generator):
    rows = pa.table(columns)
    session = duckdb.connect()
    session.register("rows", rows)
    sep = str(generator.choice([",", ";", "|"]))
    force = ", force_quote *" if generator.random() < 0.3 else ""
    session.execute(f"copy rows to '{path}' (format csv, header, delimiter '{sep}'{force})")
    return {}


WRITERS = [
    by_pandas,
    by_pandas_with_decimal_commas,
    by_polars,
    by_arrow,
    by_python,
    by_r,
    by_excel,
]
WRITERS += [by_duckdb] if duckdb is not None else []


# ---- what is to be read ----


def expected(cells):
    """The kind of a column and its values, by the cells that were written."""
    present = [cell for cell in cells if cell is not None and cell not in MISSING]
    kinds = {type(cell) for cell in present}
    values = [None if cell in MISSING else cell for cell in cells]
    if kinds == {int}:
        small = all(-(2**31) <= cell < 2**31 for cell in present)
        return "int" if small else "bigint", values
    names = {
        float: "double",
        bool: "boolean",
        dt.date: "date",
        dt.datetime: "timestamp_ntz",
    }
    return names.get(next(iter(kinds), str), "string"), values


def read(session, path, options):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = open_table(session, str(path), "csv", options)
    names = frame.columns
    if isinstance(frame, LocalFrame):
        rows = frame.collect()
        return {name: kind.name for name, kind in frame.kinds.items()}, rows
    with worker_errors():
        rows = [row.asDict() for row in frame.collect()]
    kinds = dict(frame.dtypes)
    return {name: kinds[name] for name in names}, rows


def tags_read(session, path, options):
    how = {"features": ["key"], "labels": "tags", "id": "key", "label_delimiter": "+"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = load(session, str(path), "csv", **how, **options)
    if isinstance(frame, LocalFrame):
        rows = [
            row for batch in frame.batches() for row in batch.select(["id", "labels"]).to_pylist()
        ]
    else:
        with worker_errors():
            rows = [row.asDict() for row in frame.select("id", "labels").collect()]
    return [row["labels"] for row in sorted(rows, key=lambda row: row["id"])]


def tables(folder, seed=0):
    """Random tables without end: columns as they were written, the path, options, the writer."""
    number = 0
    while True:
        generator = np.random.default_rng([seed, number])
        columns = table(generator)
        writer = WRITERS[number % len(WRITERS)]
        path = Path(folder) / f"{number}.csv"
        written = {**columns, "tags": ["+".join(cell) for cell in columns["tags"]]}
        options = writer(written, path, generator)
        yield columns, path, options, writer.__name__
        number += 1


def check(session, columns, path, options, writer):
    kinds, rows = read(session, path, options)
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
    tags = tags_read(session, path, options)
    assert [[*row] for row in tags] == columns["tags"], (writer, path)


@pytest.mark.slow
def test_random_tables_are_read_as_they_were_written(tmp_path):
    for item in islice(tables(tmp_path), 100):
        check(HERE, *item)


@pytest.mark.slow
def test_random_tables_are_read_so_by_spark(spark, tmp_path):
    for columns, path, options, writer in islice(tables(tmp_path, 1), 8):
        here, there = (read(session, path, options) for session in (HERE, spark))
        assert here[0] == there[0], (writer, path)
        assert sorted(map(repr, here[1])) == sorted(map(repr, there[1])), (writer, path)
        tags = tags_read(spark, path, options)
        assert [[*row] for row in tags] == columns["tags"], (writer, path)


if __name__ == "__main__":
    import tempfile

    faults = 0
    seed = int(sys.argv[2]) if len(sys.argv) > 2 else 7
    with tempfile.TemporaryDirectory() as folder:
        for item in islice(tables(folder, seed), int(sys.argv[1])):
            try:
                check(HERE, *item)
            except Exception as error:
                faults += 1
                print(item[3], item[1], type(error).__name__, str(error)[:300])
                if faults <= 12:
                    print(item[1].read_bytes()[:600])
                    print(item[0])
            item[1].unlink()
            if faults > 25:
                break
    print("faults", faults)
