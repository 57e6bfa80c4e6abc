"""Names that are numbers behind a prefix are made when they are asked for; what is written of very
many features is written some after the others."""

from __future__ import annotations

import json
import pickle
import tracemalloc
import zlib

import numpy as np
import pandas as pd
import pytest

from spark_mlfs import pipeline
from spark_mlfs.adapters.saved import digest
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.cli.command import main
from spark_mlfs.errors import BudgetError
from spark_mlfs.frames import parquet
from spark_mlfs.frames.frame import LocalSession
from spark_mlfs.frames.memory import FEATURE_BYTES
from spark_mlfs.frames.names import WIDE, NumberedNames, near
from spark_mlfs.frames.schema import FEATURES, attribute_metadata, attribute_names
from spark_mlfs.output import folder
from spark_mlfs.read import load


def test_numbered_names_are_a_list_of_them():
    names = NumberedNames("f", 1, 5)
    plain = ["f1", "f2", "f3", "f4", "f5"]
    assert names == plain
    assert plain == names
    assert [*names] == plain
    assert names[1:3] == ["f2", "f3"]
    assert names[-1] == "f5"
    assert names[np.int64(2)] == "f3"
    assert [names.index(name) for name in plain] == [0, 1, 2, 3, 4]
    assert names != ["f1", "f2"]
    assert names == pickle.loads(pickle.dumps(names))
    assert names != NumberedNames("f", 0, 5)
    for other in ("f0", "f6", "f01", "g1", "f", "f１", "f+1", 1, "f99999999999999999999999"):
        assert other not in names
    with pytest.raises(ValueError, match="none of the names"):
        names.index("f9")
    with pytest.raises(IndexError):
        names[5]
    assert near("f6", names) == near("f6", plain)


def test_metadata_hold_few_names_and_no_list_of_many():
    frame = type("Frame", (), {"schema": {}})
    for count in (3, WIDE + 1):
        names = NumberedNames("f", 1, count)
        metadata = json.loads(json.dumps(attribute_metadata(names)))
        frame.schema = {"features": type("Field", (), {"metadata": metadata})}
        assert attribute_names(frame, "features") == names
        assert metadata["ml_attr"]["num_attrs"] == count
        assert ("attrs" in metadata["ml_attr"]) == (count == 3)  # as Spark ML reads them
    assert len(json.dumps(metadata)) < 200


def test_ten_million_features_of_four_rows_take_no_memory_to_read(tmp_path):
    (tmp_path / "w.svm").write_text("1 1:1 10000000:2\n2 5:1\n1 7:1\n2 9:3\n")
    tracemalloc.start()
    try:
        frame = load(LocalSession(), str(tmp_path / "w.svm"), "libsvm")
        names = attribute_names(frame, FEATURES)
        assert len(names) == 10_000_000
        assert names[-1] == "f10000000"
        assert tracemalloc.get_traced_memory()[1] < 16 << 20
    finally:
        tracemalloc.stop()


def test_more_features_than_the_memory_holds_are_refused_before_the_rows(tmp_path, capsys):
    (tmp_path / "w.svm").write_text("1 1:1 10000000:2\n2 5:1\n1 7:1\n2 9:3\n")
    command = f"select --engine local --memory-bytes 268435456 --data {tmp_path}/w.svm"
    command += f" --method mim --num-top-features 2 --output {tmp_path}/out"
    assert main(command.split()) == 2
    assert capsys.readouterr().err == (
        "spark-mlfs: error: 10000000 features take about 2.0 GB in this process, more than "
        "--memory-bytes = 256 MB: raise --memory-bytes, or give fewer features\n"
    )


def test_arrays_by_feature_count_where_rows_are_few():
    rows, _ = pack_arrays([[0, 1, 2], [1, 0, 3]], [[0], [1]])
    rows.memory = 3 * FEATURE_BYTES
    with pytest.raises(BudgetError, match="memoryBytes = 0 MB: raise memoryBytes"):
        pipeline.rank(rows, [pipeline.Request.of("mim")])


@pytest.mark.parametrize("at_once", [1, 2, 3, 100])
@pytest.mark.parametrize("text", ["plain", "a\rb", "=1+1"])
def test_tables_are_written_alike_however_many_rows_at_once(at_once, text, tmp_path, monkeypatch):
    table = pd.DataFrame(
        {
            "rank": range(1, 6),
            "name": ["a", "b,c", text, 'd"', "-e"],
            "score": [0.5, np.nan, 1e-9, 2.0, -1.0],
            "group": [None, None, "g", None, "=h"],
        }
    )
    whole = folder.csv_text(table)
    assert whole.count('"rank"' if "\r" in text else "rank") == 1
    monkeypatch.setattr(folder, "ROWS_AT_ONCE", at_once)
    assert folder.csv_text(table) == whole
    path = tmp_path / "table.parquet"
    monkeypatch.setattr(parquet, "ROWS_AT_ONCE", at_once)
    parquet.write_table(table, path, max(2, at_once))
    pd.testing.assert_frame_equal(pd.read_parquet(path), table)
    assert folder.csv_text(table.head(0)) == "rank,name,score,group\n"


def test_very_many_names_are_a_list():
    from spark_mlfs.frames.frame import Kind, LocalFrame
    from spark_mlfs.frames.schema import attribute_names, with_names

    names = [f"wort {i * i}" for i in range((1 << 16) + 1)]
    frame = with_names(LocalFrame([], {"features": Kind("vector")}), "features", names)
    assert attribute_names(frame, "features") == names
    assert "attrs" not in frame.schema["features"].metadata["ml_attr"]


def test_names_are_digested_as_their_json():
    """Plain ones many at once: saved checksums stay as they are."""
    signs = [chr(code) for code in (*range(0x180), 0x2028, 0xD800, 0x1F600)]
    columns = [[], [""], ["a"], ["a", '", "'], ['"', ""], ["\\"], [None, "a"]]
    for cells in (*columns, *(["a", sign, f"b{sign}"] for sign in signs)):
        frame = pd.DataFrame({"name": pd.Series(cells, dtype=object)})
        text = json.dumps([cell if cell is not None else "" for cell in cells])
        assert digest(frame) == zlib.crc32(text.encode())
