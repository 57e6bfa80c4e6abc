"""Columns that `score` takes along, of any name: kept as they are, or refused before the work."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

from spark_mlfs import cli
from spark_mlfs.media.generate import write_files

pytestmark = pytest.mark.local(spark=True)
# of columns on the way, on either engine
KEPT = (
    *("reason", "content", "path", "id", "tags", "Scores", "number", "block", "rank"),
    *("_kept_0", "_kept_1", "_tags", "_scores", "_encoded", "_truth", "_called", "_passage"),
    *("__labels__", "__spark_mlfs_rows__", "__spark_mlfs_source__", "_spark_mlfs_bad_record"),
    *("features", "labels", "selected", "prediction", "weight", "truth", "z", "s", "x", "y", "i"),
    *("size", "modified", "folder", "file", "value", "start", "_metadata", "a.b", "`q`", "e e"),
)
REFUSED = ("part", "Part", "rawPrediction", "RAWPREDICTION", "best_passages", "Predicted_Tags")


def table() -> pd.DataFrame:
    r = np.random.default_rng(0)
    rows = pd.DataFrame(r.normal(size=(40, 3)).round(3), columns=["f", "g", "h"])
    rows["t"], rows["u"] = (rows.f > 0).astype(int), (rows.g > 0).astype(int)
    for name in (*KEPT, *REFUSED[:1]):
        rows[name] = [f"{name} {k}" for k in range(len(rows))]
    return rows


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kept")
    table().to_parquet(folder / "rows.parquet")
    for name in REFUSED[1:]:
        table()[["f", "g", "h"]].assign(**{name: "x"}).to_parquet(folder / f"{name}.parquet")
    flags = "--engine local --format parquet --features f g h --labels-col t u --method mim"
    command = ["select", "--data", str(folder / "rows.parquet"), *flags.split()]
    more = ["--classifier", "mlknn", "--quiet", "--output", str(folder / "model")]
    assert cli.main([*command, *more]) == 0
    return folder


def score(home, data, output, *keep):
    flags = ("--model", home / "model", "--data", home / data, "--format", "parquet")
    return ("score", *flags, "--output", output, "--keep", *keep)


def test_they_are_kept_as_they_are(home, tmp_path, run):
    code, _, err = run(*score(home, "rows.parquet", tmp_path / "out", *KEPT), "--id", "id")
    assert code == 0, err
    scored = pd.read_parquet(tmp_path / "out/data").sort_values("id")
    expected = table().sort_values("id")
    for name in KEPT:
        assert scored[name].tolist() == expected[name].tolist(), name
    assert {"predicted_tags", "predicted_scores"} <= {*scored}
    assert {*scored["part"].astype(int)} == {0}


@pytest.mark.local  # before an engine works
@pytest.mark.parametrize("name", REFUSED)
def test_what_the_output_has_is_refused(home, tmp_path, refused, name):
    data = "rows.parquet" if name == "part" else f"{name}.parquet"
    line = refused(*score(home, data, tmp_path / "out", name))
    assert f"the column '{name}' cannot be kept: the output has one of that name; rename it" in line
    assert not (tmp_path / "out").exists()


def test_an_id_in_capitals_is_the_id(home, tmp_path, run):
    """Spark takes it for the same column, and put hashes of the rows into it."""
    rows = table()[["f", "g", "h"]].assign(ID=range(40))
    rows.to_parquet(tmp_path / "rows.parquet")
    code, _, err = run(*score(home, tmp_path / "rows.parquet", tmp_path / "out", "f"))
    assert code == 0, err
    scored = pd.read_parquet(tmp_path / "out/data").sort_values("ID")
    assert [*scored][:2] == ["ID", "f"] and scored["f"].tolist() == rows["f"].tolist()


@pytest.mark.local
def test_of_files_the_reason_is_there_already(tmp_path, run, refused):
    write_files(
        "images",
        tmp_path,
        24,
        0,
        True,
    )
    of_files = ("--data", tmp_path / "labels.csv", "--format", "files")
    labels = ("--labels-col", "tags", "--option", "label_delimiter=;", "--num-top-features", "9")
    flags = (*labels, "--method", "mim", "--classifier", "mlknn", "--output", tmp_path / "model")
    code, _, err = run("select", *of_files, *flags)
    assert code == 0, err
    command = ("score", "--model", tmp_path / "model", *of_files, "--output", tmp_path / "out")
    assert "the column 'reason' cannot be kept" in refused(*command, "--keep", "reason")
    code, _, err = run(*command, "--keep", "size")
    assert code == 0 and (pd.read_parquet(tmp_path / "out/data")["size"] > 0).all(), err
