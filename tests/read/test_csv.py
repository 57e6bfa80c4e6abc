"""CSV as programs write it: the cells, types and refusals are the same on both engines."""

from __future__ import annotations

import bz2
import codecs
import csv
import datetime as dt
import gzip
import io
import itertools
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pytest
from test_local import HERE, assert_same, rows_here

from spark_mlfs.errors import DataError, DataNotice, ParameterError, worker_errors
from spark_mlfs.frames import paths
from spark_mlfs.frames.frame import kinds_of
from spark_mlfs.read import csv_files, load
from spark_mlfs.read.csv_files import narrowed
from spark_mlfs.read.dialect import MISSING_CELLS
from spark_mlfs.read.tables import open_table

WHOLE = 1 << 60


def opened(session, path, **options):
    """The types and rows of a table, or what is said of it."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            frame = open_table(session, str(path), "csv", options)
        with worker_errors():
            rows = [[*row.values()] if isinstance(row, dict) else [*row] for row in frame.collect()]
    except DataError as error:
        return str(error)
    return {name: kind.name for name, kind in kinds_of(frame).items()}, rows


def columns_of(session, path, **options):
    """The cells of each column in the order of the rows."""
    kinds, rows = opened(session, path, **options)
    return dict(zip(kinds, map(list, zip(*rows, strict=True)), strict=True))


# ---- types ----

DAY = dt.date(2020, 1, 5)
TYPES = [  # cells, their type, their values
    (["1", "+2", "007", "-0"], "int", [1, 2, 7, 0]),
    (["2147483648", "-1"], "bigint", [2147483648, -1]),
    (["9223372036854775807"], "bigint", [9223372036854775807]),
    (["9223372036854775808", "1"], "string", ["9223372036854775808", "1"]),
    (["9223372036854775808", "1.5"], "double", [2.0**63, 1.5]),
    (["1", "1.5", ".5", "1.", "-1e3", "1E+2"], "double", [1, 1.5, 0.5, 1, -1000, 100]),
    ([" 1", "2 "], "int", [1, 2]),
    (["inf", "-Infinity", "1"], "double", [np.inf, -np.inf, 1]),
    (["1d", "2"], "string", ["1d", "2"]),
    (["0x1F", "2"], "string", ["0x1F", "2"]),
    (["1_000"], "string", ["1_000"]),
    (['"1,5"', "2"], "string", ["1,5", "2"]),
    (["true", "FALSE", ""], "boolean", [True, False, None]),
    (["true", "1"], "string", ["true", "1"]),
    (["2020-01-05", "NA"], "date", [DAY, None]),
    (["2020-02-30"], "string", ["2020-02-30"]),
    (["2020-01-05", "2020-01-05 12:30"], "timestamp_ntz", [dt.datetime(2020, 1, 5), dt.datetime(2020, 1, 5, 12, 30)]),
    (["2020-01-05T12:30:01.123456789"], "timestamp_ntz", [dt.datetime(2020, 1, 5, 12, 30, 1, 123456)]),
    (["2020-01-05", "5"], "string", ["2020-01-05", "5"]),
    ([*MISSING_CELLS, "1"], "int", [None] * len(MISSING_CELLS) + [1]),
    ([*MISSING_CELLS, "x"], "string", [None] * len(MISSING_CELLS) + ["x"]),
    (["NONE", "na"], "string", ["NONE", "na"]),
    (["", ""], "string", [None, None]),
    (["é ", "\u2028", '"a ""b"""', "it's"], "string", ["é ", "\u2028", 'a "b"', "it's"]),
    (['"a\nb"', '"\r\n"', '","'], "string", ["a\nb", "\r\n", ","]),
    (['a"b', 'c""d', ' "e"'], "string", ['a"b', 'c""d', ' "e"']),
]  # fmt: skip


def test_types_of_cells(tmp_path):
    for number, (cells, kind, values) in enumerate(TYPES):
        path = tmp_path / f"{number}.csv"
        path.write_text("c,d\n" + "".join(f"{cell},1\n" for cell in cells), newline="")
        kinds, rows = opened(HERE, path)
        assert (kinds["c"], [row[0] for row in rows]) == (kind, values), cells


@pytest.mark.slow
def test_types_of_cells_on_spark(spark, tmp_path):
    """All columns in one table, its rows in any order."""
    path = tmp_path / "t.csv"
    lists = [cells for cells, _, _ in TYPES]
    rows = [",".join(row) for row in itertools.zip_longest(*lists, fillvalue="")]
    header = ",".join(f"c{k}" for k in range(len(TYPES)))
    path.write_text("\n".join([header, *rows]) + "\n", newline="")
    here, there = opened(HERE, path), opened(spark, path)
    assert here == there and [*here[0].values()] == [kind for _, kind, _ in TYPES]


def test_a_type_is_that_of_all_cells(monkeypatch, tmp_path):
    """Though what differs stands in the last of many parts."""
    path = tmp_path / "t.csv"
    body = "".join(f"{k},{k},2020-01-05\n" for k in range(3000))
    monkeypatch.setattr(paths, "SPLIT_BYTES", 5000)
    monkeypatch.setattr(paths, "BLOCK_BYTES", 900)
    path.write_text("a,b,c\n" + body + "0.5,x,2020-01-05 10:00\n")
    kinds, rows = opened(HERE, path)
    assert [*kinds.values()] == ["double", "string", "timestamp_ntz"] and len(rows) == 3001
    path.write_text("a,b,c\n" + body)
    assert [*opened(HERE, path)[0].values()] == ["int", "int", "date"]


def test_a_zone_is_a_point_in_time(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("t\n2020-01-05T12:00:00Z\n2020-01-05 14:30:00+02:30\n")
    kinds, rows = opened(HERE, path)
    assert kinds == {"t": "timestamp"} and rows[0] == rows[1]
    path.write_text("t\n2020-01-05T12:00:00Z\n2020-01-05 14:30:00\n")
    assert opened(HERE, path)[0] == {"t": "string"}


@pytest.mark.parametrize(
    ("options", "cells", "values"),
    [
        ({"decimal": ","}, ["3,5", "-,25", "1"], [3.5, -0.25, 1]),
        ({"decimal": ",", "thousands": "."}, ["1.234,5", "1.000.000", "2"], [1234.5, 1e6, 2]),
        ({"thousands": ","}, ['"1,234"', "5"], [1234, 5]),
        ({"thousands": " "}, ["1\u00a0234", "1 000\u202f000", "2"], [1234, 1e6, 2]),
        ({"thousands": "\u2019"}, ["1'234", "1\u2019000", "2"], [1234, 1000, 2]),
        ({"na_values": ["?", "-"]}, ["?", "-", "NA", "2"], [None, None, None, 2]),
        ({"na_values": "."}, [".", "2.5"], [None, 2.5]),
    ],
)
def test_numbers_in_dress(tmp_path, options, cells, values):
    path = tmp_path / "t.csv"
    path.write_text("a;b\n" + "".join(f"{cell};x\n" for cell in cells))
    assert columns_of(HERE, path, **options)["a"] == values


# ---- lines, quotes, encodings ----

FILES = [  # content, options, rows
    (b"a,b\r\n1,x\r\n\r\n2,y", {}, [[1, "x"], [2, "y"]]),
    (b"a,b\r1,x\r2,y\r", {}, [[1, "x"], [2, "y"]]),
    (b"\xef\xbb\xbfa,b\n1,\xc3\xa9\n", {}, [[1, "é"]]),
    (codecs.BOM_UTF16_LE + "a;b\n1;č\n2;Ċ\n".encode("utf-16-le"), {}, [[1, "č"], [2, "Ċ"]]),
    (codecs.BOM_UTF16_BE + "a,b\n1,č\n".encode("utf-16-be"), {}, [[1, "č"]]),
    ("a,b\n1,č\n".encode("utf-16-le"), {"encoding": "utf-16-le"}, [[1, "č"]]),
    ("a,b\n1,né\n".encode("latin-1"), {"encoding": "latin-1"}, [[1, "né"]]),
    ("a,b\n1,né €\n".encode("cp1252"), {"encoding": "cp1252"}, [[1, "né €"]]),
    ("a,b\n1,表ソ\n".encode("shift-jis"), {"encoding": "shift-jis"}, [[1, "表ソ"]]),
    (b"a\tb\n1\tx,y\n", {}, [[1, "x,y"]]),
    (b"a|b\n1|x;y\n", {}, [[1, "x;y"]]),
    (b'id;"height, m";tags\n1;2,5;x\n', {}, [[1, "2,5", "x"]]),
    (b"a\n1\n2\n", {}, [[1], [2]]),
    (b'a\nx\n""\n', {}, [["x"], [None]]),
    (b'"a ""b""","c\nd"\n1,"x\n\ny"\n', {}, [[1, "x\n\ny"]]),
    (b"1,2\n3,4\n", {"header": False}, [[1, 2], [3, 4]]),
    (b"a,b\n1,\"x, 'y'\"\n", {}, [[1, "x, 'y'"]]),
    (b"a,b\n1,'x,y'\n", {"quote": "'"}, [[1, "x,y"]]),
    (b'a,b\n1,"x\n2,y"\n', {"quote": ""}, [[1, '"x'], [2, 'y"']]),
    (b'a,b\n1,"x \\"y\\" \\\\ z"\n', {"escape": "\\"}, [[1, 'x "y" \\ z']]),
    (b'a,b\n1,"x \\"y\\", z"\n', {}, [[1, 'x "y", z']]),
    (b'a,b\n1,"c:\\\\"\n', {}, [[1, "c:\\\\"]]),
    (b"# of a sensor\na,b\n1,2\n#3,4\n", {"comment": "#"}, [[1, 2]]),
    (b"a,b\n1,2\n   \n3,4\n", {}, [[1, 2], [3, 4]]),
    (b"a\tb\n\t\n1\tx\n", {"sep": "\t"}, [[None, None], [1, "x"]]),
]  # fmt: skip
# line ends, a mark of bytes, UTF-16, letters of one byte and of two, a separator, a line break in
# quotes, no header, other quotes, an escape, comments
OF_SPARK = (0, 2, 3, 6, 8, 9, 14, 15, 17, 19, 22)


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])
def test_how_files_are_written(engine, request, tmp_path):
    """Spark's workers read the lines by the same code: of each kind of file one there."""
    session = HERE if engine == "local" else request.getfixturevalue("spark")
    for number, (content, options, rows) in enumerate(FILES):
        if engine == "spark" and number not in OF_SPARK:
            continue
        path = tmp_path / f"{number}.csv"
        path.write_bytes(content)
        assert opened(session, path, **options)[1] == rows, content


def test_names_of_columns(tmp_path):
    path = tmp_path / "t.csv"
    for header, names in (
        ("a,b,A", ["a0", "b", "A2"]),
        (",x,", ["_c0", "x", "_c2"]),
        (" a ,`b.c`,'d'", [" a ", "`b.c`", "'d'"]),
    ):
        path.write_text(header + "\n1,2,3\n")
        assert [*opened(HERE, path)[0]] == names
    path.write_text("1.5,2.5\n3.5,4.5\n")
    assert "holds numbers, '1.5' first, and no names" in opened(HERE, path)
    assert [*opened(HERE, path, header=True)[0]] == ["1.5", "2.5"]


def test_a_name_that_looks_the_same_is_shown_by_its_letters(tmp_path):
    (tmp_path / "t.csv").write_text("e\u0301,l\n1,0\n2,1\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"no column '\u00e9': did you mean 'e\\u0301', whose"):
        load(HERE, str(tmp_path / "t.csv"), "csv", features="\u00e9", labels="l")


REFUSED = [  # content, options, what is said
    (b"a,b\n1,2\n\n3\n", {}, "t.csv: line 4 has 1 cell; the header has 2: a line end that is not"),
    (b"a,b\n1,2\n3,4,5\n", {}, "line 3 has 3 cells; the header has 2: a separator that is not in"),
    (b'a,b\n"x\ny",2\n3\n', {}, "line 4 has 1 cell; the header has 2"),
    (b'a,b\n"x"y,2\n', {}, "line 2: text behind the quote that closes a cell"),
    (b'a,b\n"x,2\n3,4\n', {}, "line 2: a quote that opens a cell is never closed"),
    ("a,b\n1,2\n3,né\n".encode("latin-1"), {}, "line 3: not UTF-8; give encoding='latin-1', by which the line is '3,né'"),
    ("a,b\n1,né €\n".encode("cp1252"), {}, "line 2: not UTF-8; give encoding='cp1252'"),
    ("a,b\n1,2\n".encode("utf-16-le"), {}, "holds zero bytes: it is binary, or UTF-16"),
    (b"a,b\n1,\x9d\n", {"encoding": "cp1252"}, "not cp1252"),
    (b"sep=;\na;b\n1;2\n", {}, "first line 'sep=;' is Excel's and no header: remove it"),
    (b"# made by x\na,b\n1,2\n", {}, "is a comment and no header: remove it, or give reader_opt"),
    (gzip.compress(b"a,b\n1,2\n"), {}, "is packed by gzip: let its name end in .gz"),
    (gzip.compress(b"a"), {"encoding": "latin-1"}, "is packed by gzip: let its name end in .gz"),
    (bz2.compress(b"a,b\n1,2\n"), {}, "is packed by bzip2: let its name end in .bz2"),
    (b"PK\x03\x04\x14\x00", {}, "is a zip archive, or a workbook of Excel: save it as CSV"),
]  # fmt: skip


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])
def test_what_is_refused(engine, request, tmp_path):
    session = HERE if engine == "local" else request.getfixturevalue("spark")
    path = tmp_path / "t.csv"
    for content, options, line in REFUSED:
        path.write_bytes(content)
        assert line in opened(session, path, **options), content


def test_a_row_is_refused_whichever_columns_are_used(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("id,x,y,z\n1,2,1,0\n2,3,0\n")
    with pytest.raises(DataError, match="line 3 has 3 cells; the header has 4"):
        load(HERE, str(path), "csv", features="x", labels="y*")


@pytest.mark.parametrize(
    ("options", "line"),
    [
        ({"mode": "DROPMALFORMED"}, "rows that do not fit are never changed or left out"),
        ({"header": "perhaps"}, "give true or false"),
        ({"sep": "||"}, "give one sign"),
        ({"encoding": "klingon"}, "is no encoding; give utf-8"),
        ({"sep": ";", "quote": ";"}, "';' has two meanings"),
        ({"dateFormat": "dd"}, "option 'dateformat' is not known for CSV; its options are sep"),
    ],
)
def test_options_that_are_refused(tmp_path, options, line):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(ParameterError, match=line.replace("(", r"\(")):
        open_table(HERE, str(path), "csv", options)


@pytest.mark.parametrize("end", ["\r", "\n"])
@pytest.mark.parametrize("cell", ["two\nlines", "\n" + 4000 * "long\n"])
def test_parts_that_begin_in_quotes_refuse_nothing(end, cell, monkeypatch, tmp_path):
    rows = [[n, cell if n == 7 or len(cell) < 99 else "", n % 2] for n in range(60)]
    text = io.StringIO(newline="")
    writer = csv.writer(text, lineterminator=end, quoting=csv.QUOTE_ALL)
    writer.writerows([["x", "text", "a label\n" + 30 * "of long name"], *rows])
    path = tmp_path / "t.csv"
    path.write_bytes(text.getvalue().encode())
    monkeypatch.setattr(paths, "SPLIT_BYTES", 150)
    monkeypatch.setattr(paths, "BLOCK_BYTES", 60)
    found = [[*row.values()] for row in open_table(HERE, str(path), "csv", {}).collect()]
    assert found == [[n, text or None, label] for n, text, label in rows]
    path.write_bytes((text.getvalue() + f"1,2{end}").encode())
    with pytest.raises(DataError, match="has 2 cells"):
        open_table(HERE, str(path), "csv", {})


def test_a_large_file_with_line_ends_in_quotes(monkeypatch, tmp_path):
    """It is read by one task, which is said; parts of other files are not."""
    monkeypatch.setattr(paths, "SPLIT_BYTES", 4000)
    monkeypatch.setattr(paths, "BLOCK_BYTES", 700)
    rows = [[k, f'text "{k}"\n of, many\r\nlines' * (k % 3)] for k in range(800)]
    frame = pd.DataFrame(rows, columns=["k", "text"])
    frame.to_csv(tmp_path / "t.csv", index=False)
    plain = frame.assign(text=frame.text.str.replace("\n", " ").str.replace("\r", " "))
    plain.to_csv(tmp_path / "p.csv", index=False)
    with pytest.warns(match="cells hold line ends, so one task reads all of a file"):
        table = open_table(HERE, str(tmp_path / "t.csv"), "csv")
    assert len(table.parts) == 1
    assert [[row["k"], row["text"] or ""] for row in table.collect()] == rows
    table = open_table(HERE, str(tmp_path / "p.csv"), "csv")
    assert len(table.parts) > 5
    assert [row["text"] or "" for row in table.collect()] == plain.text.tolist()
    with (tmp_path / "p.csv").open("a") as file:
        file.write("1,2,3\n")
    said = opened(HERE, tmp_path / "p.csv")
    assert "p.csv: the row '1,2,3' has 3 cells; the header has 2" in said


def test_words_for_missing_values_are_counted(tmp_path):
    """Of the columns that are used; an empty cell is no word."""
    (tmp_path / "words.csv").write_text("a,b,c,t\nNA,null,NA,x\n1,,NA,NA\nNA,2,,x;y\n")
    how = {"labels": "t", "label_delimiter": ";", "missing": "zero"}
    said = (
        r"words.csv: words for a missing value \(NA, null\) in 4 cells of 3 columns: a 2, b 1, t 1$"
    )
    with pytest.warns(DataNotice, match=said):
        load(HERE, str(tmp_path / "words.csv"), "csv", features=["a", "b"], **how)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        (tmp_path / "none.csv").write_text("a,b,t\n1,,x\n2,NA,\n")
        load(HERE, str(tmp_path / "none.csv"), "csv", features=["a"], **how)


def test_later_blocks_of_numbers_are_looked_at_as_the_first_one_is(tmp_path, monkeypatch):
    """What pyarrow alone takes for a number is text; words for missing values are counted."""
    monkeypatch.setattr(paths, "BLOCK_BYTES", 1000)
    rows = [f"{i},{i}.5,{i},{i}.5,t" for i in range(1000)]
    rows[900:] = ["0x1F,1,NA,nan(1),t", *["1,-NAN,,NA,t"] * 99]
    (tmp_path / "late.csv").write_text("\n".join(["a,b,c,d,t", *rows]) + "\n")
    kinds, cells = opened(HERE, tmp_path / "late.csv")
    assert [*kinds.values()] == ["string", "string", "int", "string", "string"]
    assert cells[900] == ["0x1F", "1", None, "nan(1)", "t"] and cells[0][2] == 0
    how = {"labels": "t", "missing": "zero", "label_delimiter": ";"}
    with pytest.warns(DataNotice, match=r"words for a .*\(NA\) in 1 cell of 1 column: c 1$"):
        load(HERE, str(tmp_path / "late.csv"), "csv", features=["c"], **how)


def test_packed_files(tmp_path):
    text = b'a,b\n1,"x\ny"\n'
    (tmp_path / "1.csv.gz").write_bytes(gzip.compress(text))
    (tmp_path / "2.csv.bz2").write_bytes(bz2.compress(text))
    with pa.output_stream(str(tmp_path / "3.csv.zst"), compression="zstd") as file:
        file.write(text)
    assert opened(HERE, tmp_path)[1] == [[1, "x\ny"]] * 3


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])
def test_a_header_that_is_longer_than_what_is_looked_at(engine, request, tmp_path, monkeypatch):
    session = HERE if engine == "local" else request.getfixturevalue("spark")
    monkeypatch.setattr(csv_files, "HEAD_BYTES", 100)
    names = [f"feature_number_{j}" for j in range(50)]
    path = tmp_path / "t.csv"
    path.write_text("".join(";".join(map(str, row)) + "\n" for row in [names, *[[*range(50)]] * 9]))
    kinds, rows = opened(session, path)
    assert [*kinds] == names and rows == [[*range(50)]] * 9


def test_files_of_one_header(tmp_path):
    (tmp_path / "1.csv").write_bytes(b"a,b\n1,x\n")
    (tmp_path / "2.csv").write_bytes(b'\xef\xbb\xbf"a","b"\r\n2.5,y\r\n')
    (tmp_path / "3.csv").write_bytes(b"")
    (tmp_path / "4.csv").write_bytes(b"a,b\n")
    assert opened(HERE, tmp_path) == ({"a": "double", "b": "string"}, [[1.0, "x"], [2.5, "y"]])
    (tmp_path / "5.csv").write_bytes(b"a,c\n1,x\n")
    assert "5.csv: its header 'a,c' is not 'a,b' as in" in opened(HERE, tmp_path)
    (tmp_path / "5.csv").write_bytes(b'"a,b"\n1\n')
    assert """5.csv: its header '"a,b"' is not 'a,b' as in""" in opened(HERE, tmp_path)


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])
def test_the_first_file_with_a_header_is_named(engine, request, tmp_path):
    session = HERE if engine == "local" else request.getfixturevalue("spark")
    for name, text in {"1": "", "2": "\n \n", "3": "a,b\n1,NA\n", "4": "a,c\n1,2\n"}.items():
        (tmp_path / f"{name}.csv").write_text(text)
    assert "4.csv: its header 'a,c' is not 'a,b' as in" in opened(session, tmp_path)
    assert f"as in {tmp_path / '3.csv'};" in opened(session, tmp_path)
    (tmp_path / "4.csv").write_text("a,b\n2,1\n")
    with pytest.warns(DataNotice, match=r"3.csv: words for a missing value \(NA\) in 1 cell of 1"):
        load(session, str(tmp_path), "csv", features=["b"], labels="a", missing="zero")


# ---- what programs write ----

WORDS = ["a", "b c", "x,y", 'say "hi"', "line\nend", "d;e", "tab\there", "é–ü", "'q'", "1,5", "-", "semi;", "back\\slash"]  # fmt: skip


def random_table(generator):
    """A frame of columns of numbers, truth values, dates and texts, some cells missing."""
    n = int(generator.integers(2, 30))
    columns = {}
    for k in range(int(generator.integers(2, 6))):
        kind = generator.integers(0, 5)
        if kind == 0:
            cells = pd.array(generator.integers(-50, 50, n), "Int64")
        elif kind == 1:
            cells = pd.array(
                generator.normal(size=n) * 10.0 ** generator.integers(-8, 8), "Float64"
            )
        elif kind == 2:
            cells = pd.array(generator.random(n) < 0.5, "boolean")
        elif kind == 3:
            days = generator.integers(0, 20000, n).astype("datetime64[D]")
            cells = pd.array(days.astype(str), "string")
        else:
            cells = pd.array(generator.choice(WORDS, n), "string")
        column = pd.Series(cells)
        column[generator.random(n) < 0.2] = pd.NA
        columns[f"{'xyz'[k % 3]} {k}"] = column
    frame = pd.DataFrame(columns)
    frame.insert(0, "key", range(n))
    return frame


def of_pandas(frame, path, sep, quoting):
    frame.to_csv(path, index=False, sep=sep, quoting=quoting)


def of_pandas_for_excel(frame, path, sep, quoting):
    frame.to_csv(path, index=False, sep=sep, encoding="utf-8-sig", lineterminator="\r\n")


def of_pandas_as_utf16(frame, path, sep, quoting):
    frame.to_csv(path, index=False, sep=sep, quoting=quoting, encoding="utf-16")


def of_polars(frame, path, sep, quoting):
    style = "always" if quoting == csv.QUOTE_ALL else "necessary"
    pl.from_pandas(frame).write_csv(path, separator=sep, quote_style=style)


def of_arrow(frame, path, sep, quoting):
    options = pa.csv.WriteOptions(delimiter=sep)
    pa.csv.write_csv(pa.Table.from_pandas(frame, preserve_index=False), path, options)


def of_python(frame, path, sep, quoting):
    with open(path, "w", newline="") as file:
        writer = csv.writer(file, delimiter=sep, quoting=quoting)
        writer.writerow(frame.columns)
        writer.writerows(frame.astype(object).where(frame.notna(), None).to_numpy().tolist())


def of_r(frame, path, sep, quoting):
    """As `write.csv` of R has it: texts in quotes, NA without, no index."""
    texts = frame.astype(object).where(frame.notna(), None)
    out = io.StringIO()
    out.write(sep.join(f'"{name}"' for name in frame.columns) + "\n")
    for row in texts.to_numpy().tolist():
        cells = [
            "NA"
            if cell is None
            else '"' + cell.replace('"', '""') + '"'
            if isinstance(cell, str)
            else str(cell).upper()
            for cell in row
        ]
        out.write(sep.join(cells) + "\n")
    path.write_text(out.getvalue(), newline="")


WRITERS = [of_pandas, of_pandas_for_excel, of_pandas_as_utf16, of_polars, of_arrow, of_python, of_r]


def as_told(columns):
    """Cells that compare: numbers as they are, dates as texts, truth values as texts."""
    out = {}
    for name, cells in columns.items():
        out[name] = [
            None
            if cell is None or cell is pd.NA or cell != cell
            else str(cell)
            if isinstance(cell, (dt.date, bool, np.bool_))
            else cell
            for cell in cells
        ]
    return out


def of_pandas_reading(path, sep):
    encoding = "utf-16" if path.read_bytes()[:2] == codecs.BOM_UTF16_LE else "utf-8-sig"
    frame = pd.read_csv(path, sep=sep, encoding=encoding, float_precision="round_trip")
    return as_told({name: frame[name].astype(object).tolist() for name in frame})


def written(folder, count=100):
    """Tables of random cells, each with the path of what one of the writers wrote."""
    generator = np.random.default_rng(49)
    for number in range(count):
        frame = random_table(generator)
        writer = WRITERS[number % len(WRITERS)]
        sep = str(generator.choice([",", ";", "\t", "|"]))
        path = folder / f"{number}.csv"
        quoting = int(generator.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL]))
        writer(frame, path, sep, quoting)
        yield path, sep


def test_random_tables_are_read_as_pandas_reads_them(tmp_path):
    for path, sep in written(tmp_path):
        assert as_told(columns_of(HERE, path)) == of_pandas_reading(path, sep), path.read_bytes()


@pytest.mark.slow
def test_random_tables_are_the_same_on_spark(spark, tmp_path):
    for path, _ in [*written(tmp_path, 21)][::3]:
        assert opened(spark, path) == opened(HERE, path), path.read_bytes()


@pytest.mark.slow
def test_what_spark_writes(spark, tmp_path):
    rows = [(k, WORDS[k % len(WORDS)], k / 4) for k in range(40)]
    frame = spark.createDataFrame(rows, "k int, text string, x double").coalesce(1)
    frame.write.csv(str(tmp_path / "s"), header=True)
    for session in (HERE, spark):
        kinds, found = opened(session, tmp_path / "s")
        assert [*kinds.values()] == ["int", "string", "double"]
        assert sorted(found) == [[*row] for row in rows]


# ---- tables ----


def test_texts_as_they_are_in_the_file(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("a,b\n007,TRUE\n,1\nNA,2\n")
    frame = narrowed(open_table(HERE, str(path), "csv"), None, ["a", "b"])
    assert frame.collect() == [
        {"a": "007", "b": "TRUE"},
        {"a": "", "b": "1"},
        {"a": None, "b": "2"},
    ]


@pytest.mark.parametrize(
    ("header", "cells"),
    [(",x,y", "{k},{x},{y}"), ('"","x","y"', '"{one}",{x},{y}'), ("Unnamed: 0,x,y", "{k},{x},{y}")],
)
def test_the_numbers_of_rows_are_no_feature(tmp_path, header, cells):
    path = tmp_path / "t.csv"
    rows = [cells.format(k=k, one=k + 1, x=k % 5, y=k % 2) for k in range(20)]
    path.write_text("\n".join([header, *rows]))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        frame = load(HERE, str(path), "csv", features="*", labels="y")
        assert frame.metadata["features"]["ml_attr"]["num_attrs"] == 1
        path.write_text("\n".join([header, *rows[:-1], rows[0]]))  # counts no rows
        frame = load(HERE, str(path), "csv", features="*", labels="y")
    unnamed = header[0] in ',"'
    assert frame.metadata["features"]["ml_attr"]["num_attrs"] == 1 + unnamed


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """1,000 rows in four files, a third of them repeated, names with dots, empty cells."""
    generator = np.random.default_rng(7)
    folder = tmp_path_factory.mktemp("table")
    rows = []
    for k in range(667):
        number = generator.normal()
        some = [
            f"{number:.17g}",
            str(k % 7),
            "" if k % 11 == 3 else f"{number:.3f}",
            ("true", "False")[k % 2],
            str(k % 3),
        ]
        rows.append(
            [
                *some,
                str(k % 2),
                "" if k % 17 == 5 else str(k // 2 % 2),
                f'"a{k % 5}; b{k % 3}"',
                f"2020-01-{k % 28 + 1:02d}",
            ]
        )
    lines = [",".join(row) for row in rows]
    lines += lines[:333]
    head = 'f.a,f_b,f c,f_d,`f`,l.x,l_y,tags,"day"\n'
    text = [
        head + "\r\n".join(part) + "\n"
        for part in (lines[:450], lines[450:500], lines[500:750], lines[750:])
    ]
    (folder / "b.csv").write_text(text[0])
    (folder / "a.csv").write_text(text[1])
    (folder / "c.csv.gz").write_bytes(gzip.compress(text[2].encode()))
    (folder / "d.csv.bz2").write_bytes(bz2.compress(text[3].encode()))
    return str(folder)


@pytest.mark.slow
@pytest.mark.parametrize("missing", ["mean", "zero", "drop", "keep"])
def test_a_table_of_csv(spark, table, missing):
    how = {"features": ["f.a", "f_b", "f c", "f_d", "`f`"], "missing": missing}
    rows = assert_same(spark, table, "csv", labels=["l.x", "l_y"], **how)[0]
    assert len(rows) > 900 and (len(rows) == 1000) == (missing != "drop")
    if missing == "mean":
        more = {"label_delimiter": ";", "id": "f.a", "weight": "f_b"}
        assert_same(spark, table, "csv", labels="tags", **more, **how)


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {"features": "f*", "labels": "l*", "id": "day", "missing": "zero"},
        {"features": "day", "labels": "l*"},
        {"features": "absent", "labels": "l*"},
        {"features": "tags", "labels": "l*"},
        {"features": "f_b", "labels": "f_d"},
        {"features": "f_b", "labels": "`f`"},
    ],
    ids=str,
)
def test_columns_of_csv(spark, table, options):
    assert_same(spark, f"{table}/a.csv", "csv", **options)


def test_a_large_csv_in_parts_has_the_same_rows(monkeypatch, table):
    how = {"features": ["f.a", "f_b"], "labels": "l*"}
    whole = rows_here(load(HERE, f"{table}/b.csv", "csv", **how))
    monkeypatch.setattr(paths, "SPLIT_BYTES", 4000)
    monkeypatch.setattr(paths, "BLOCK_BYTES", 900)
    frame = load(HERE, f"{table}/b.csv", "csv", **how)
    assert len(frame.parts) > 5 and rows_here(frame) == whole
