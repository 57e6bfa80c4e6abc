"""CSV, JSON and texts of this machine read in this process: the frame that Spark gives of them, to
the bit, or a refusal that says what only Spark reads."""

from __future__ import annotations

import bz2
import gzip
import itertools
import json

import numpy as np
import pytest
from test_local import HERE, assert_same, rows_here

from spark_mlfs.errors import DataError, SparkMlfsError, worker_errors
from spark_mlfs.frames import paths
from spark_mlfs.frames.frame import NeedsSpark, kinds_of
from spark_mlfs.read import load
from spark_mlfs.read.tables import open_table


def opened(session, path, format, **options):
    """The types and rows of a table, or what is said of it."""
    try:
        frame = open_table(session, str(path), format, options)
        with worker_errors():
            rows = [[*row.values()] if isinstance(row, dict) else [*row] for row in frame.collect()]
        return {name: kind.name for name, kind in kinds_of(frame).items()}, sorted(map(repr, rows))
    except DataError as error:
        return str(error)


def assert_same_table(spark, path, format, **options):
    outcomes = [opened(session, path, format, **options) for session in (spark, HERE)]
    assert outcomes[0] == outcomes[1]
    return outcomes[1]


# ---- CSV ----

# the cells of a column, whose type Spark infers of all of them
COLUMNS = [
    ["1", "2"], ["+1", "007"], ["-0", "12"], ["2147483648", "-1"], ["00000000000000000000012"], ["9223372036854775807"],
    ["-9223372036854775808"], ["1e5"], ["1E400"], [".5"], ["1d", "2f", "3D"], [" 1"], ["1 ", "2"], ["1e+5"], ["-0", "1.5"],
    ["12345678901234567890", "1.5"], ["1.", "1.5"], ["1" * 39], ["1.50e1"], ["1.5e1", "2.5"], ["1.500000000000000000e+00"],
    ["0.1", "5e-324", "1.7976931348623157e308", "123456789.123456789123456789"], ["NaN", "1"], ["+NaN"], ["Infinity"],
    ["-Infinity", "Inf", "-Inf"], ["inf"], ["nan"], ["."], ["-"], ["+"], ["--1"], ["1_000"], ["1e"], ["0x1F"], ['"1,234"'],
    ['"1"', "2"], ['""', "2"], ["", "2"], ["", ""], ['""', ""], ["true", "FALSE"], ["true", "1"], ["1", "true"], [" true"],
    ["9999-12-31", "2020-02-29"], ["2020-01-05"], ["2020-02-30"], ["2020-01-05", "true"], ["x", "1", "2020-01-01", "12:30"],
    ["a\\b", "\\"], ['"a \\"b\\" c\\d"', '"\\""'],
    ["'a'"], ["a\tb"], ["#a"], ["null"], ["é ", "\u2028"], ['"x,y"', "z"], ["\u00a0"], ["1\u00a0"],
]  # fmt: skip
OF_SPARK = [
    "1.", "1.5e1", "1e0", "12345678901234567890", "0x1p3", "٣", "2020-1-5", "2020-01", " 2020-01-05", "2020-01-05 12:00", "12:30",
    "1:3", "1\x00", "2020-02-30 12:00", "2020-01-05T12:00:00.123Z", '"a ""b"""', '"a\\\\b"', 'a\\"b', '"a\\"', 'a"b', '"a" ',
    ' "a"', '"a', "1\n2020-01-05", "2020-01-05\n2020", '"a\nb"', "a,z",
]  # fmt: skip


def table_of(columns, separator=","):
    rows = itertools.zip_longest(*columns, fillvalue="")
    return (
        "\n".join(separator.join(row) for row in [[f"c{k}" for k in range(len(columns))], *rows])
        + "\n"
    )


def test_types_of_cells(spark, tmp_path):
    path = tmp_path / "cells.csv"
    path.write_text(table_of([*COLUMNS, ["1"] * 4]))
    kinds, rows = assert_same_table(spark, path, "csv")
    assert len(kinds) == len(COLUMNS) + 1 and len(rows) == 4
    assert set(kinds.values()) == {"int", "bigint", "double", "boolean", "date", "string"}


@pytest.mark.slow
def test_types_of_any_cells(spark, tmp_path):
    generator = np.random.default_rng(5)
    pieces = [
        "1",
        "0",
        "12",
        "-",
        "+",
        ".",
        "e",
        "E5",
        " ",
        "NaN",
        "Inf",
        "true",
        "2020-01-05",
        "f",
        "x",
        ":3",
        "é",
        "00",
    ]
    columns, texts = [], 0
    path = tmp_path / "cells.csv"
    while len(columns) < 150:
        cells = [
            "".join(generator.choice(pieces, generator.integers(0, 4)))
            for _ in range(generator.integers(1, 3))
        ]
        path.write_text(table_of([cells, ["0"] * 4]))
        try:
            text = opened(HERE, path, "csv")[0]["c0"] == "string"
        except NeedsSpark:
            continue
        texts += text
        if not text or texts < 50:
            columns.append(cells)
    path.write_text(table_of([*columns, ["0"] * 4]))
    assert len(set(assert_same_table(spark, path, "csv")[0].values())) > 4


@pytest.mark.slow
@pytest.mark.parametrize("options", [{}, {"escape": '"'}, {"sep": ";", "quote": "'"}], ids=str)
def test_quotes_in_any_lines(spark, tmp_path, options):
    generator = np.random.default_rng(8)
    quote, separator = options.get("quote", '"'), options.get("sep", ",")
    pieces = [
        quote,
        quote,
        quote + separator + quote,
        separator,
        "\\" + quote,
        "\\",
        "x",
        " y",
        quote * 2,
    ]
    lines, path = [], tmp_path / "rows.csv"
    while len(lines) < 60:
        line = "".join(generator.choice(pieces, generator.integers(1, 9)))
        path.write_text(f"a{separator}b\nz{separator}z\n{line}\n")
        try:
            if not isinstance(opened(HERE, path, "csv", **options), str):
                lines.append(line)
        except NeedsSpark:
            continue
    path.write_text("\n".join([f"a{separator}b", *lines]))
    assert not isinstance(assert_same_table(spark, path, "csv", **options), str)


@pytest.mark.parametrize("cell", OF_SPARK)
def test_cells_that_only_spark_reads(tmp_path, cell):
    path = tmp_path / "cells.csv"
    path.write_text(
        f"a,z\n{cell}\n".replace("\n", ",1\n").replace("a,z,1", "a,z")
        if cell != "a,z"
        else "a,z\n1,2\na,z\n"
    )
    with pytest.raises(NeedsSpark):
        opened(HERE, path, "csv")


@pytest.mark.slow
@pytest.mark.parametrize(
    "content",
    [
        b"", b"\n\n", b"a,b\n", b"a,A\n1,2\n", b"\xef\xbb\xbfa,b\n1,2\n", b"a,a,A\n1,2,3\n", b'a,,""\n1,2,3\n', b" a , b\n1,2\n",
        b"a\r1\r2\r\n3\n", b"a,b\n\n  \n1,2\n\t\n", b"\n \na,b\n1,2", b'a\n1\n\n2\n""\n', b"a,b,\n1,2,\n", b"a,b\n1,2\n\x1a",
        b'"a,b","c"\n1,2\n',
        b"a,b\n1,2\n3\n4,5,6\n", b"a,b\n1,2\n  4\t 5   \x0b6" + b"x" * 90, b"a;b\n1;2\n", b"a\tb\n1\t2\n", b"a\n1,2\n",
        b"a,b\n1,2,3\n", b"\xc2\xa0\na,b\n", b"a,b\n1,2\n\xc2\xa0\n",
    ],
)  # fmt: skip
def test_lines_and_headers(spark, tmp_path, content):
    path = tmp_path / "rows.csv"
    path.write_bytes(content)
    assert_same_table(spark, path, "csv")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("content", "options"),
    [
        ("1,2\n3,4\n", {"header": "false"}),
        ("a,b\n1,2\n", {"inferSchema": "false"}),
        ("a\t\tb\n\t\t\n1\t\t2\n\tx\t3\n", {"sep": "\t"}),
        ("a\tb\n1\t2\n", {"delimiter": "\\t"}),
        ("a;b\n1,5;2\n", {"sep": ";"}),
        ("a,b\n'x,y',2\n", {"quote": "'"}),
        ("a,b\nx,NA\nNA,5\n,\n", {"nullValue": "NA"}),
        ('a,b\n"a ""b"" c",1\n"""x",2\n"x\\""",3\n"a\\b",\n"""",\n', {"escape": '"'}),
    ],
)
def test_options_of_csv(spark, tmp_path, content, options):
    path = tmp_path / "rows.csv"
    path.write_text(content)
    assert not isinstance(assert_same_table(spark, path, "csv", **options), str)


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "DROPMALFORMED"},
        {"header": "perhaps"},
        {"sep": "||"},
        {"quote": ""},
        {"escape": "'"},
    ],
    ids=str,
)
def test_options_that_only_spark_knows(tmp_path, options):
    path = tmp_path / "rows.csv"
    path.write_text("a,b\n1,2\n")
    with pytest.raises(NeedsSpark):
        opened(HERE, path, "csv", **options)


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    """2,000 rows in four files, a third of them repeated, names with dots, empty cells."""
    generator = np.random.default_rng(7)
    folder = tmp_path_factory.mktemp("table")
    rows = []
    for k in range(1334):
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
    lines += lines[:666]
    head = 'f.a,f_b,f c,f_d,`f`,l.x,l_y,tags,"day"\n'
    text = [
        head + "\r\n".join(part) + "\n"
        for part in (lines[:900], lines[900:1000], lines[1000:1500], lines[1500:])
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
    assert len(rows) > 1800 and (len(rows) == 2000) == (missing != "drop")
    assert_same(
        spark, table, "csv", labels="tags", label_delimiter=";", id="f.a", weight="f_b", **how
    )


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
    monkeypatch.setattr(paths, "SPLIT_BYTES", 5000)
    monkeypatch.setattr(paths, "BLOCK_BYTES", 900)
    frame = load(HERE, f"{table}/b.csv", "csv", **how)
    assert len(frame.parts) > 5 and rows_here(frame) == whole


@pytest.mark.slow
@pytest.mark.parametrize(
    "second", ["a,c,y\n3,4,0\n", '"a",b,y\n3,4,0\n', "a,b,y \n3,4,0\n", "\n", "a,b,y\n"]
)
def test_headers_of_several_files(spark, tmp_path, second):
    (tmp_path / "1.csv").write_text("a,b,y\n1,2,1\n2,1,1\n3,3,3\n")
    (tmp_path / "2.csv").write_text(second)
    try:
        assert_same_table(spark, tmp_path, "csv")
    except NeedsSpark as error:
        assert "headers that are written differently" in str(error)


# ---- JSON ----

LINES_OF_JSON = [
    b'{"b":1,"a":2.5}\n\n{"a":1}\n  \n', b'{"a":NaN}\n', b'{"a":1e3}\n{"a":2}\n', b'{"a":"2020-01-01"}\n', b'{"a":[]}\n',
    b'{"a":[1,2.5,null]}\n', b'{"a":null}\n', b'{}\n{"a":1}\n', b"{}\n", b"", b"\n", b'{"a":-0,"b":-0.0}\n',
    b'\xef\xbb\xbf{"a":1}\n', b'{"a":"\\ud83d\\ude00 \\u00e9\\n\\"\\\\"}\n', b'{"a":[[1],[2]],"b":[[]],"c":[null]}\n',
    b'{"a":1}\r{"a":2}\r\n  {"a":3,"b":[true]}', b'{"b":1,"a":"2020-01-01T00:00:00","C":"x"}\n{"a":"z"}\n',
    b'{"a":9223372036854775807}\n{"a":-9223372036854775808}\n', b'{"a":9007199254740993}\n{"a":0.5}\n', b'{"a.b":1,"c d":"x"}\n',
    b'{"a":1E5,"b":1e-7,"c":123456789.123456789123}\n',
    # no records
    b'5\n{"a":1}\n', b'{"a":01}\n', b'{"a":"x\ty"}\n', b'{\n"a":1\n}\n', b'[\n{"a":1},\n{"a":2}\n]\n', b"hello\n", b"a,b\n1,2\n",
    b'{"a":1}\nhello "you"\n{"a":2}\nbye\n', b'{"a":1\n{"a":2}\n', b'{"a":1,}\n', b"{a:1}\n", b"  \nbad line\n{}\n",
]  # fmt: skip
JSON_OF_SPARK = [
    b'{"a":1}{"a":2}\n', b'{"a":1} x\n', b"{'a':1}\n", b'{"a":1,"a":2}\n', b'[{"a":1},{"a":2}]\n',
    b'{"a":12345678901234567890}\n', b'{"a":["x",1]}\n', b'{"a":{"b":1}}\n', b'{"a":1,"A":2}\n', b'{"a":1e400}\n',
    b'{"a":"\xff"}\n', b'{"":1,"a":2}\n', b'null\n{"a":1}\n', b'{"a":true}\n{"a":1}\n', b'{"a":"\\ud83d"}\n', b'{"a":1},\n',
]  # fmt: skip


@pytest.mark.slow
@pytest.mark.parametrize("content", LINES_OF_JSON)
def test_records_of_json(spark, tmp_path, content):
    path = tmp_path / "rows.json"
    path.write_bytes(content)
    assert_same_table(spark, path, "json")


@pytest.mark.parametrize("content", JSON_OF_SPARK)
def test_records_that_only_spark_reads(tmp_path, content):
    path = tmp_path / "rows.json"
    path.write_bytes(content)
    with pytest.raises(NeedsSpark):
        opened(HERE, path, "json")


@pytest.mark.slow
def test_a_table_of_json(spark, monkeypatch, tmp_path):
    generator = np.random.default_rng(3)
    lines = []
    for k in range(1334):
        row = {
            "z": float(generator.normal()),
            "f.b": k % 7,
            "f_c": k % 2 == 0,
            "tags": [f"t{k % 3}"] * (k % 3),
            "l_x": k % 2,
        }
        row |= {
            "numbers": [k % 5, k % 3],
            "hot": [0.0, float(k % 2)],
            "cells": [k % 3, 0.25],
            "void": None,
            "o": {"p": k},
        }
        lines.append(
            json.dumps({name: value for name, value in row.items() if name != "z" or k % 13 != 3})
        )
    lines += lines[:666]
    (tmp_path / "1.json").write_text("\n".join(lines[:1200]))
    (tmp_path / "2.json.gz").write_bytes(gzip.compress("\n".join(lines[1200:]).encode()))
    choices = [
        {"features": ["f.b", "f_c"], "labels": "tags"},
        {"features": ["z", "f*"], "labels": "numbers", "missing": "mean"},
        {"features": "cells", "labels": "l_x", "id": "f_c", "missing": "keep"},
        {"features": "z", "labels": "hot", "missing": "drop", "weight": "l_x"},
        {"features": "o", "labels": "tags"},
        {"features": "void", "labels": "tags"},
    ]
    outcomes = [assert_same(spark, str(tmp_path), "json", **how) for how in choices]
    assert len(outcomes[0][0]) == 2000 and "struct<p:bigint>" in outcomes[4]
    monkeypatch.setattr(paths, "SPLIT_BYTES", 20000)
    monkeypatch.setattr(paths, "BLOCK_BYTES", 5000)
    frame = load(HERE, str(tmp_path), "json", **choices[0])
    assert len(frame.parts) > 5 and rows_here(frame) == outcomes[0][0]


# ---- texts ----

TEXTS = [
    "The cat, the Cat; THE dog_1!", "a A b", None, "", "é été Été naïve", "\u212aelvin \u0130ce", "x" * 40 + " x",
    "dog dog\tdog\ncat", "the and of", "zebra 12 12.5", "-- --", "cat-dog",
]  # fmt: skip


@pytest.fixture(scope="module")
def texts(spark, tmp_path_factory):
    """A folder with the same texts as Parquet, CSV (without line ends) and JSON: 360 rows, many of
    them repeated."""
    folder = tmp_path_factory.mktemp("texts")
    rows = [
        (
            k,
            TEXTS[k % 12],
            [f"t{k % 3}"] if k % 4 else [],
            k % 2,
            None if k % 5 == 0 else k % 3 // 2,
        )
        for k in range(360)
    ]
    frame = spark.createDataFrame(
        rows, "key bigint, `the.text` string, tags array<string>, l_x int, l_y int"
    ).coalesce(1)
    frame.write.parquet(f"{folder}/rows.parquet")
    flat = frame.selectExpr("key", "translate(`the.text`, '\n', ' ') as words", "l_x", "l_y")
    flat.write.csv(f"{folder}/rows.csv", header=True)
    frame.write.json(f"{folder}/rows.json")
    return folder


@pytest.mark.slow
@pytest.mark.parametrize(
    "options",
    [
        {},
        {"min_df": 1, "vocab_size": 5},
        {"min_df": 0.05, "binary": True, "id": "key"},
        {"stop_words": ["The", "dog"], "labels": "tags"},
        {"vocabulary": ["zebra", "absent", "the", "cat"], "stop_words": ["the"], "weight": "key"},
        {"min_df": 300},
        {"text": "key"},
        {"text": "absent"},
    ],
    ids=str,
)
def test_words_of_texts(spark, texts, options):
    how = {"text": "`the.text`", "labels": "l_*", "source": "parquet", **options}
    assert_same(spark, f"{texts}/rows.parquet", "text", **how)


def test_words_of_csv(spark, texts):
    rows, names, _, _ = assert_same(
        spark, f"{texts}/rows.csv", "text", text="words", labels="l_*", source="csv", min_df=1
    )
    assert len(rows) == 360 and {"the", "cat", "dog_1", "i", "ce", "kelvin"} <= {*names[0]}


@pytest.mark.spark35
def test_words_of_json(spark, texts):
    assert_same(
        spark,
        f"{texts}/rows.json",
        "text",
        text="`the.text`",
        labels="tags",
        source="json",
        id="l_x",
        min_df=1,
    )


def test_words_that_only_spark_counts(texts):
    for options in ({"pattern": None}, {"pattern": r"\s"}, {"stop_words": "english"}):
        with pytest.raises(NeedsSpark):
            load(
                HERE,
                f"{texts}/rows.parquet",
                "text",
                text="the.text",
                labels="l_*",
                source="parquet",
                **options,
            )


def test_labels_of_texts_that_are_no_numbers(spark, texts):
    said = assert_same(
        spark, f"{texts}/rows.csv", "text", text="words", labels=["l_x", "words"], source="csv"
    )
    assert "(it holds 'The cat" in said


def test_a_table_without_a_column_or_a_row_is_said(tmp_path):
    for text, said in (
        ("", "no column 'body': there is none"),
        ("body,tags\n", "give more texts, or lower min_df"),
    ):
        (tmp_path / "t.csv").write_text(text)
        with pytest.raises(SparkMlfsError, match=said):
            load(
                HERE,
                str(tmp_path / "t.csv"),
                "text",
                source="csv",
                text="body",
                labels="tags",
                label_delimiter=";",
            )
