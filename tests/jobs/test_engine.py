"""Where a command works: in this process, on Spark, and what is said where it cannot be as
asked."""

from __future__ import annotations

import json
import os
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from spark_mlfs.adapters.selection import LocalSelection
from spark_mlfs.ml.selectors import MultiLabelSelectorModel

WITHOUT_SPARK = """
import sys
class NoSpark:
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
sys.meta_path.insert(0, NoSpark())
import io, json
from contextlib import redirect_stderr, redirect_stdout
from spark_mlfs.cli import main
told = []
for words in json.loads(sys.argv[1]):
    with redirect_stdout(io.StringIO()) as out, redirect_stderr(io.StringIO()) as err:
        code = main(words)
    told.append((code, out.getvalue(), err.getvalue()))
print(json.dumps(told))
"""
MADE = (
    "--format",
    "planted",
    "--option",
    "num_rows=400",
    "--option",
    "num_features=12",
    "--option",
    "num_labels=3",
)


def alone(*commands):
    """Commands in a process without pyspark and without Java: code, output and errors of each."""
    environment = {k: v for k, v in os.environ.items() if k not in ("JAVA_HOME", "SPARK_HOME")}
    words = json.dumps([[*map(str, command)] for command in commands])
    done = subprocess.run(
        [sys.executable, "-c", WITHOUT_SPARK, words],
        capture_output=True,
        text=True,
        env={**environment, "PATH": "/nowhere"},
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_quickstart_runs_without_spark(tmp_path):
    flags = ("--format", "numbers", "--num-top-features", 5, "--output", tmp_path / "out")
    ((code, out, err),) = alone(("select", *flags))
    assert code == 0, err
    assert "2000 rows x 405 features x 10 labels; kept 5" in out and "in this process" in out
    assert sorted(p.name for p in (tmp_path / "out").iterdir()) == [
        "labels.csv", "manifest.json", "model", "ranking.csv", "ranking.parquet", "report.html",
    ]  # fmt: skip


@pytest.mark.slow
def test_what_only_spark_does_is_said_where_there_is_none(tmp_path):
    table = ("--format", "delta", "--features", "x", "--labels-col", "y")
    (tmp_path / "t.csv").write_text("x,y\na,0\nb,1\n")
    given = ("select", "--data", tmp_path / "t.csv", *table, "--output", tmp_path / "out")
    codes, _, told = zip(
        *alone(
            given,
            ("select", *MADE, "--output", tmp_path / "out", "--engine", "spark"),
            ("select", *MADE, "--output", "s3://bucket/out"),
            (*given, "--engine", "local"),
        ),
        strict=True,
    )
    assert codes == (2, 2, 2, 2), told
    assert "format delta is read by Spark" in told[0]
    assert "pip install 'spark_mlfs[local]'" in told[0]
    assert "Spark, which is not installed" in told[1]
    assert "s3://bucket/out is not on this machine" in told[2]
    assert told[3].count("\n") == 1 and "format delta is read by Spark" in told[3]
    assert not (tmp_path / "out").exists()


@pytest.fixture
def both(run, tmp_path):
    """The outputs of a selection by each engine."""

    def call(*arguments):
        for engine in ("local", "spark"):
            code, _, err = run(
                "select", *arguments, "--engine", engine, "--output", tmp_path / engine
            )
            assert code == 0, err
        return tmp_path / "local", tmp_path / "spark"

    return call


def test_both_engines_write_the_same_files(both):
    local, spark = both(*MADE, "--method", "jmi", "--num-top-features", 4, "--include", "noise_1")
    assert (local / "ranking.csv").read_bytes() == (spark / "ranking.csv").read_bytes()
    names = [
        sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))
        for folder in (local, spark)
    ]
    assert names[0] == names[1]
    one, other = (json.loads((folder / "manifest.json").read_text()) for folder in (local, spark))
    for key in ("data", "method", "selection", "solution", "constraints"):
        for holder in (one, other):
            holder[key].pop("packed_bytes", None)
        assert one[key] == other[key], key
    saved = [
        json.loads(next((folder / "model" / "metadata").glob("part-*")).read_text())
        for folder in (local, spark)
    ]
    for each in saved:
        for name in ("timestamp", "uid", "checksum", "command"):
            each.pop(name, None)
        each["defaultParamMap"].pop("outputCol")
        for name in ("seconds", "jobs"):
            each["selection"].pop(name)
    assert saved[0] == saved[1]


@pytest.mark.slow
def test_a_model_is_read_by_the_other_engine(both, spark, run, tmp_path):
    local, there = both(*MADE, "--method", "fisher", "--selection-mode", "fdr", "--fdr", 0.2)
    model, own = (
        MultiLabelSelectorModel.load(str(local / "model")),
        LocalSelection.load(str(there / "model")),
    )
    assert model.selectedFeatures == own.selectedFeatures and model.featureNames == own.featureNames
    assert (
        model.getSelectionMode() == "fdr"
        and own.cut() == model.cut()
        and model.numFeatures == own.numFeatures == 12
    )
    for name, other in (("a", there), ("b", local)):
        code, _, err = run(
            "select",
            *MADE,
            "--method",
            "mim",
            "--exclude-from",
            other,
            "--engine",
            "local",
            "--output",
            tmp_path / name,
        )
        assert code == 0, err
    assert (tmp_path / "a" / "ranking.csv").read_bytes() == (
        tmp_path / "b" / "ranking.csv"
    ).read_bytes()


def test_a_damaged_model_is_refused_in_this_process(both, refused, tmp_path):
    local, _ = both(*MADE, "--method", "mim")
    metadata = next((local / "model" / "metadata").glob("part-*"))
    text = metadata.read_text()
    for damage, said in (
        (text[:-20], "is damaged"),
        (text.replace('"mim"', '"jmi"'), "checksum is not that of its content"),
        (text.replace('"format":3', '"format":4'), "reads formats up to 3"),
        ("{}", "it lacks 'class'"),
    ):
        metadata.write_text(damage)
        more = ("--exclude-from", local, "--engine", "local", "--output", tmp_path / "out")
        assert said in refused("select", *MADE, "--method", "mim", *more)


def test_rows_beyond_the_memory_go_to_spark(refused, tmp_path, data_dir):
    path = data_dir / "yeast" / "yeast-train.arff.gz"
    more = ("--memory-bytes", 1 << 20, "--output", tmp_path / "out")
    said = refused(
        "select",
        "--data",
        path,
        "--format",
        "arff",
        "--option",
        "labels=-14",
        "--engine",
        "local",
        *more,
    )
    assert "more than --memory-bytes" in said


@pytest.mark.slow
def test_rows_whose_counts_are_beyond_the_memory_go_to_spark_unread(tmp_path):
    """The first rows tell that the sums of all do not fit, as does the dry run. Chosen, this
    process reads and finds out."""
    rng = np.random.default_rng(0)
    rows = pd.DataFrame({"x": [*rng.random((4000, 300))], "y": [["a"], ["b"]] * 2000})
    rows.to_parquet(tmp_path / "rows.parquet")
    data = [
        "--data",
        tmp_path / "rows.parquet",
        "--features",
        "x",
        "--labels-col",
        "y",
        "--memory-bytes",
        2 << 20,
    ]
    command = ["select", *data, "--method", "ridge", "--output", tmp_path / "out"]
    ways = ([*command, "--dry-run"], command, [*command, "--engine", "local"])
    lines = ("rows and statistics take", "rows and statistics take", "needs")
    for (code, _, err), said in zip(alone(*ways), lines, strict=True):
        assert code == 2 and said in err and "more than --memory-bytes 2 MB" in err, err
        assert ("takes Spark, which is not installed" in err) == (said != "needs")


def test_the_engine_of_a_file(run, tmp_path):
    config = tmp_path / "run.toml"
    config.write_text(
        '[data]\nformat = "planted"\noptions = {num_rows = 300, num_features = 9, num_labels = '
        f'2}}\n[run]\noutput = "{tmp_path / "out"}"\nengine = "local"\nmemory_bytes = 100000000\n'
    )
    code, out, err = run("select", "--config", config)
    assert code == 0 and "in this process" in out, err
    config.write_text(config.read_text().replace('"local"', '"laptop"'))
    code, _, err = run("select", "--config", config, "--overwrite")
    assert code == 2 and "engine" in err and "'auto', 'local', 'spark'" in err.replace('"', "'"), (
        err
    )
