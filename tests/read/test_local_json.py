"""JSON and texts of this machine read in this process: the frame that Spark gives of them, to the
bit, or a refusal that says what only Spark reads."""

from __future__ import annotations

import gzip
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
    b'{"a":1}{"a":2}\n', b'{"a":1}\t{"a":2}\n', b'{"a":1}\n{"a":2}, {"a":3}\n', b'{"a":1} x\n', b'{"a":1},\n{"a":2}\n', b"{'a':1}\n", b"[1,2]\n[3,4]\n",
    b"[[1,2],[3,4]]", b"[[1,2],[3,4]]\n[]\n", b'[{"a":1}]\n[[1,2]]\n', b'null\n[1]\n', b'{"rows":[[1,"x"]]}', b'{"a":1,"a":2}\n', b'{"a":1,"A":2}\n', '{"a":1}\n'.encode("utf-16"),
]  # fmt: skip
JSON_OF_SPARK = [
    b'[{"a":1},{"a":2}]\n[]\n',
    b'{"a":12345678901234567890}\n', b'{"a":["x",1]}\n', b'{"a":{"b":1}}\n', b'{"a":1e400}\n',
    b'{"a":"\xff"}\n', b'{"":1,"a":2}\n', b'null\n{"a":1}\n', b'{"a":true}\n{"a":1}\n', b'{"a":"\\ud83d"}\n',
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
    for k in range(667):
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
    lines += lines[:333]
    (tmp_path / "1.json").write_text("\n".join(lines[:600]))
    (tmp_path / "2.json.gz").write_bytes(gzip.compress("\n".join(lines[600:]).encode()))
    choices = [
        {"features": ["f.b", "f_c"], "labels": "tags"},
        {"features": ["z", "f*"], "labels": "numbers", "missing": "mean"},
        {"features": "cells", "labels": "l_x", "id": "f_c", "missing": "keep"},
        {"features": "z", "labels": "hot", "missing": "drop", "weight": "l_x"},
        {"features": "o", "labels": "tags"},
        {"features": "void", "labels": "tags"},
    ]
    outcomes = [assert_same(spark, str(tmp_path), "json", **how) for how in choices]
    assert len(outcomes[0][0]) == 1000 and "struct<p:bigint>" in outcomes[4]
    monkeypatch.setattr(paths, "SPLIT_BYTES", 10000)
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
        {"term_weight": "tfidf", "ngrams": [1, 2], "sublinear": True, "max_df": 0.5},
        {"weight": "tfidf", "norm": None, "strip_accents": True, "token_pattern": r"\pL+"},
        {"analyzer": "char", "ngrams": [2, 3], "binary": True, "min_length": 1},
        {"pattern": r"\s"},
        {"text": "key"},
        {"text": "absent"},
    ],
    ids=str,
)
def test_words_of_texts(spark, texts, options):
    how = {"text": "`the.text`", "labels": "l_*", "source": "parquet", **options}
    assert_same(spark, f"{texts}/rows.parquet", "text", **how)


@pytest.mark.slow
def test_words_of_csv(spark, texts):
    rows, names, _, _ = assert_same(
        spark, f"{texts}/rows.csv", "text", text="words", labels="l_*", source="csv", min_df=1
    )
    assert len(rows) == 360 and {"the", "cat", "dog_1", "été", "ice", "kelvin"} <= {*names[0]}


@pytest.mark.slow
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
