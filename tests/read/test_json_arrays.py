"""JSON that is one array, and fields of objects, against Python's json; both engines."""

from __future__ import annotations

import gzip
import json
import random

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from test_local_json import opened
from test_xc import HERE, rows_here

from spark_mlfs.cli.command import main
from spark_mlfs.errors import DataError, worker_errors
from spark_mlfs.frames.schema import FEATURES, attribute_names
from spark_mlfs.read import json_arrays, load

RECORDS = [
    {"a": {"b": 1, "c": {"d": 2.5}}, "m": {"tags": ["x", "y"]}, "n": 1},
    {"a": {"b": 2, "c": None}, "m": {"tags": []}, "n": 2},
    {"a": None, "m": {"tags": ["y"]}, "n": 3, "a.q": 7},
]


def some_value(chance, depth=0):
    kind = chance.randrange(7)
    if kind == 0:
        return chance.random()
    if kind == 1:
        return "".join(chance.choice('a"\\[]{},\n \u00e9') for _ in range(chance.randrange(6)))
    if kind == 2 and depth < 3:
        return [some_value(chance, depth + 1) for _ in range(chance.randrange(3))]
    if kind == 3 and depth < 3:
        return {f"k{i}": some_value(chance, depth + 1) for i in range(chance.randrange(3))}
    return chance.choice([None, True, 3])


def test_elements_become_lines_wherever_blocks_end(monkeypatch):
    chance = random.Random(0)
    for trial in range(25):
        monkeypatch.setattr(json_arrays, "BLOCK", chance.choice([1, 5, 1 << 22]))
        records = [{"a": some_value(chance), "b": some_value(chance)} for _ in range(trial % 5)]
        indent = chance.choice([None, 1, 2])
        text = json.dumps(records, indent=indent, ensure_ascii=trial % 2 == 0).encode()
        assert json_arrays.is_array(text)
        for size in (1, 7, 1000):
            blocks = [text[start : start + size] for start in range(0, len(text), size)]
            lines = b"".join(json_arrays.lines_of_array(blocks, "f")).split(b"\n")
            assert [json.loads(line) for line in lines if line.strip()] == records, text


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('[{"a":1}', "it is not closed: the file may be cut short"),
        ('[{"a":"x]', "it is not closed"),
        ('[{"a":1},]', "an element is empty: a comma too many"),
        ('[{"a":1},,{}]', "an element is empty"),
        ('[\n{"a":1}] x', "there is more than the array"),
        ('[\n{"a":1}\n]\n[]', "there is more than the array"),
        ('[{"a":1} {"a":2}]', "no comma stands between elements"),
        ('[{"a":1},\n{"a":x}]', '{"a":x}] is no record'),
    ],
)
def test_what_is_refused(tmp_path, text, message):
    (tmp_path / "a.json").write_text(text)
    with pytest.raises(DataError, match=f"a.json: an array of JSON, and {message}"):
        load(HERE, str(tmp_path / "a.json"), "json", features="a", labels="b")


def test_arrays_among_lines_are_refused(tmp_path):
    (tmp_path / "1.json").write_text('[\n{"a":1}\n]')
    (tmp_path / "2.json").write_text('{"a":1}\n')
    with pytest.raises(DataError, match=r"1.json is an array of JSON, and .*2.json has a record a"):
        load(HERE, str(tmp_path), "json", features="a", labels="a")


@pytest.mark.parametrize("indent", [None, 1])
def test_fields_of_objects_are_columns(tmp_path, indent):
    (tmp_path / "a.json").write_text(json.dumps(RECORDS, indent=indent))
    pq.write_table(pa.Table.from_pylist(RECORDS[:1] + RECORDS), tmp_path / "a.parquet")
    for name, first in (("a.json", 0), ("a.parquet", 1)):
        path = str(tmp_path / name)
        named = {"features": ["a.b", "a.c.d", "n"], "labels": "m.tags"}
        frame = load(HERE, path, name[2:], missing="zero", **named)
        assert attribute_names(frame, FEATURES) == named["features"]
        rows = [row for batch in frame.batches() for row in batch["labels"].to_pylist()]
        assert rows[first:] == [["x", "y"], [], ["y"]]
        _, x, _ = rows_here(
            load(
                HERE,
                path,
                name[2:],
                missing="zero",
                **{**named, "labels": "n"} | {"graded": True, "features": named["features"][:2]},
            )
        )
        assert x[first:].tolist() == [[1, 2.5], [2, 0], [0, 0]]
    frame = load(
        HERE, str(tmp_path / "a.json"), "json", features="a.*", labels="m.tags", missing="zero"
    )  # a column that is called so comes first
    assert attribute_names(frame, FEATURES) == ["a.q", "a.b", "a.c.d"]
    with pytest.raises(DataError, match=r"no column 'a.x'"):
        load(HERE, str(tmp_path / "a.json"), "json", features="a.x", labels="m.tags")


def table(folder, n=200):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(n, 3)).round(3)
    records = [
        {"id": k, "o": {"x": x[k, 0], "y": x[k, 1]}, "z": x[k, 2], "tags": tags}
        for k, tags in enumerate([[f"t{j}" for j in range(3) if x[k, j] > 0] for k in range(n)])
    ]
    for name, half in (("1.json", records[:100]), ("2.json", records[100:])):
        (folder / name).write_text(json.dumps(half, indent=1))
    return records


@pytest.mark.slow
def test_commands_read_arrays_and_fields(tmp_path, capsys):
    (tmp_path / "data").mkdir()
    table(tmp_path / "data")
    data = ["--data", str(tmp_path / "data"), "--format", "json", "--engine", "local"]
    columns = ["--features", "o.x", "o.y", "z", "--labels-col", "tags"]
    run = str(tmp_path / "run")
    chosen = ["--method", "mim", "--num-top-features", "2", "--classifier", "mlknn"]
    assert main(["select", *data, *columns, *chosen, "--output", run]) == 0
    model = ["--model", run]
    assert main(["score", *data, *model, "--id", "id", "--output", str(tmp_path / "out")]) == 0
    capsys.readouterr()
    assert main(["check", *data, *model, "--labels-col", "tags", "--json"]) == 0
    assert json.loads(capsys.readouterr().out)["rows"] == 200
    assert main(["transform", *data, *model, *columns, "--output", str(tmp_path / "cut")]) == 0


@pytest.mark.slow
def test_spark_reads_the_same(spark, tmp_path):
    records = [{"b": k, "a": None if k % 3 else k / 2, "t": ["x"] * (k % 2)} for k in range(50)]
    pd.DataFrame(records).to_json(tmp_path / "1.json", orient="records")
    (tmp_path / "2.json").write_text("\ufeff" + json.dumps(records, indent=2))
    (tmp_path / "3.json.gz").write_bytes(gzip.compress(json.dumps(records[:9]).encode()))
    for path in (tmp_path / "2.json", tmp_path):
        here, there = (opened(session, path, "json") for session in (HERE, spark))
        assert here == there and len(here[1]) in (50, 109)
    (tmp_path / "more").mkdir()
    table(tmp_path / "more")
    how = {"features": ["o.x", "o.y"], "labels": "tags", "id": "id"}
    outcomes = []
    for session in (HERE, spark):
        frame = load(session, str(tmp_path / "more"), "json", **how)
        if session is HERE:
            ids = [i for batch in frame.batches() for i in batch["id"].to_pylist()]
            tags = [t for batch in frame.batches() for t in batch["labels"].to_pylist()]
            outcomes.append(sorted(zip(ids, tags, strict=True)))
        else:
            with worker_errors():
                outcomes.append(sorted((row["id"], row["labels"]) for row in frame.collect()))
    assert outcomes[0] == outcomes[1]
    run = ["--data", str(tmp_path / "more"), "--format", "json", "--features", "o.x", "o.y"]
    chosen = ["--labels-col", "tags", "--method", "mim", "--classifier", "mlknn"]
    for engine in ("local", "spark"):
        out = str(tmp_path / f"run-{engine}")
        assert main(["select", *run, *chosen, "--output", out, "--engine", engine]) == 0
        scored = str(tmp_path / f"scored-{engine}")
        given = ["score", "--model", str(tmp_path / "run-local"), *run[:4], "--id", "id"]
        assert main([*given, "--output", scored, "--engine", engine]) == 0
    rankings = [(tmp_path / f"run-{e}" / "ranking.csv").read_bytes() for e in ("local", "spark")]
    assert rankings[0] == rankings[1]


def test_what_pandas_writes_by_columns_is_refused_in_a_short_line(tmp_path):
    frame = pd.DataFrame({"x": range(300), "tags": [["a"], ["b"], []] * 100})
    frame.to_json(tmp_path / "t.json")
    with pytest.raises(
        DataError, match=r"t.json: one object holds all rows: write them alone"
    ) as error:
        load(HERE, str(tmp_path / "t.json"), "json", features=["x"], labels="tags")
    assert len(str(error.value)) < 200
    frame.to_json(tmp_path / "t.json", orient="records")
    rows = load(HERE, str(tmp_path / "t.json"), "json", features=["x"], labels="tags")
    assert rows.count() == 300


OF_OBJECTS = [
    {"n": 1, "tags": [{"name": "a", "id": 7}, {"name": " b", "id": 8}], "m": {"of": [{"id": 1}]}},
    {"n": 2, "tags": [], "m": {"of": []}},
    {"n": 3, "tags": None, "m": None},
    {"n": 4, "tags": [{"name": "a", "id": 7}, None], "m": {"of": [{"id": 2}, {"id": 3}]}},
]


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])
def test_the_field_of_objects_in_lists_is_a_list_of_tags(engine, request, tmp_path):
    session = HERE if engine == "local" else request.getfixturevalue("spark")
    (tmp_path / "t.json").write_text("\n".join(map(json.dumps, OF_OBJECTS)))
    pq.write_table(pa.Table.from_pylist(OF_OBJECTS), tmp_path / "t.parquet")
    for format in ("json", "parquet"):
        path = str(tmp_path / f"t.{format}")

        def tags(**options):
            with worker_errors():
                rows = load(session, path, format, features=["n"], id="n", **options).collect()  # noqa: B023
            return [row["labels"] for row in sorted(rows, key=lambda row: row["id"])]

        assert tags(labels="tags.name") == [["a", "b"], [], None, ["a"]]
        assert tags(labels="tags", label_key="name") == [["a", "b"], [], None, ["a"]]
        assert tags(labels="m.of.id") == [[1], [], None, [2, 3]]
        with pytest.raises(
            DataError, match=r"array<struct.*; name the field that is the tag: give"
        ):
            tags(labels="tags")


ROWS = [{"a": k / 2, "b": k % 3, "t": ["x", "y"][: k % 3]} for k in range(6)]
LISTS = [[*row.values()] for row in ROWS]
OTHERS = {  # what programs write beside records, and what is said of it
    json.dumps(
        {"hits": {"hits": [{"_source": row} for row in ROWS]}}
    ): "'hits' holds objects with it",
    json.dumps({"data": ROWS, "hits": 6}): "'data' holds objects with it: a field is named by its",
    json.dumps(LISTS): "is no object; a row has names",
    json.dumps(LISTS, indent=1): "is no object; a row has names",
    f"{json.dumps(LISTS)}\n[]\n": "a row is an object with the names of its columns",
    f"{json.dumps(ROWS)}\n{json.dumps(LISTS)}": "a row is an object with the names of its columns",
    "\n".join(map(json.dumps, LISTS)): "a row is an object with the names of its columns",
    "\n".join(map(str, ROWS)): "it is a dict of Python: write it with json.dumps",
    ",".join(map(json.dumps, ROWS)): "has more than one record, or a comma behind it",
    ",\n".join(map(json.dumps, ROWS)): "has more than one record, or a comma behind it",
    "": "the table holds no record",
    "[]": "the table holds no record",
}


FRAME = pd.DataFrame(ROWS)
WHOLE = (  # objects of all rows
    *(FRAME.to_json(orient=orient) for orient in ("columns", "index", "split", "table")),
    FRAME[["a"]].to_json(orient="split"),
    *(json.dumps({name: ROWS}) for name in ("rows", "data", "items")),
    *(json.dumps({name: LISTS}) for name in ("rows", "data")),
)


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])
def test_what_is_no_row_is_one_line(engine, request, tmp_path):
    session = HERE if engine == "local" else request.getfixturevalue("spark")
    whole = dict.fromkeys(WHOLE, r"\d.json: one object holds all rows: write them alone, .*'\)$")
    for number, (text, message) in enumerate((OTHERS | whole).items()):
        path = tmp_path / f"{number}.json"
        path.write_text(text)
        with pytest.raises(DataError, match=message) as error:
            load(session, str(path), "json", features=["a", "b"], labels="t")
        assert "\n" not in str(error.value)


def test_numbers_in_quotes_are_said_to_be(tmp_path):
    path = tmp_path / "t.json"
    path.write_text("\n".join(json.dumps({**row, "b": str(row["b"])}) for row in ROWS))
    with pytest.raises(DataError, match="numbers such as '0': write them without quotes"):
        load(HERE, str(path), "json", features=["a", "b"], labels="t")
