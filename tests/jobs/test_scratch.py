"""Commands over rows that exceed their memory: the same ranking, bounded memory, nothing left."""

from __future__ import annotations

import json
import random
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY))

from jobs.benchmarks import memory  # noqa: E402


def written(folder, rows, features=40):
    """The flags of rows of normal numbers in a file of several row groups."""
    rng = np.random.default_rng(1)
    x = rng.normal(size=(rows, features))
    columns = {f"f{j}": x[:, j] for j in range(features)}
    columns["tags"] = pa.array([[f"t{int(a > 0)}", f"u{int(b > 1)}"] for a, b in x[:, :2]])
    path = folder / f"{rows}.parquet"
    pq.write_table(pa.table(columns), path, row_group_size=5000)
    return ["--data", path, "--format", "parquet", "--features", "f*", "--labels-col", "tags"]


@pytest.mark.parametrize("method", ["mim", "jmi", "ridge"])
def test_the_ranking_is_that_of_rows_in_memory(run, tmp_path, method):
    flags = ["select", *written(tmp_path, 12_000), "--method", method, "--num-top-features", 5]
    flags += ["--engine", "local"]
    for place, bound in (("memory", []), ("disk", ["--memory-bytes", "2M"])):
        code, out, err = run(*flags, *bound, "--output", tmp_path / place)
        assert code == 0 and "in this process" in out, err
    here, there = (tmp_path / place / "ranking.csv" for place in ("memory", "disk"))
    assert here.read_bytes() == there.read_bytes()
    labels = [(tmp_path / place / "labels.csv").read_bytes() for place in ("memory", "disk")]
    assert labels[0] == labels[1]


def test_a_folder_without_room_or_none(run, tmp_path, monkeypatch):
    flags = ["select", *written(tmp_path, 12_000), "--memory-bytes", "2M", "--engine", "local"]
    flags += ["--method", "mim", "--output", tmp_path / "out"]
    code, _, err = run(*flags, "--scratch", tmp_path / "absent")
    assert code == 2 and err.count("\n") == 1
    assert "--scratch" in err and "is no folder: make it, or name another" in err
    from spark_mlfs.frames import scratch

    usage = scratch.shutil.disk_usage(tmp_path)
    monkeypatch.setattr(scratch.shutil, "disk_usage", lambda place: usage._replace(free=10_000))
    code, _, err = run(*flags, "--scratch", tmp_path)
    assert code == 2 and err.count("\n") == 1
    assert f"on disk, and {tmp_path} has 9.8 KB left: name a folder with more (--scratch)" in err


def test_a_classifier_beyond_the_memory_is_refused_before_the_ranking(run, tmp_path, monkeypatch):
    from spark_mlfs import pipeline

    flags = ["select", *written(tmp_path, 12_000), "--method", "mim", "--engine", "local"]
    flags += ["--num-top-features", 30, "--classifier", "br-svm", "--output", tmp_path / "out"]
    monkeypatch.setattr(pipeline, "rank", lambda *_, **__: pytest.fail("it ranks"))
    code, _, err = run(*flags, "--memory-bytes", "4M")
    assert code == 2 and err.count("\n") == 1
    assert "this needs all 12000 rows of 30 features and 4 labels" in err
    assert "more than --memory-bytes 4 MB: raise --memory-bytes" in err


@pytest.mark.slow
def test_a_run_that_is_killed_leaves_nothing(tmp_path):
    flags = [*map(str, written(tmp_path, 60_000))]
    scratch = tmp_path / "scratch"
    scratch.mkdir()
    words = ["select", *flags, "--method", "jmi", "--memory-bytes", "2M", "--engine", "local"]
    words += ["--scratch", str(scratch), "--output", str(tmp_path / "out"), "--quiet"]
    random.seed(3)
    for number in range(2):
        process = subprocess.Popen([sys.executable, "-m", "spark_mlfs.cli", *words], cwd=REPOSITORY)
        time.sleep(1 + number / 2 + random.random() / 2)
        process.kill()
        process.wait()
        assert [*scratch.iterdir()] == []


@pytest.mark.slow
def test_memory_does_not_grow_with_the_rows(tmp_path):
    """MB of the process: of rows of 250 with 16 of memory, above those of a few rows."""
    few = written(tmp_path, 3000)
    many = written(tmp_path, 80_000)
    copies = [tmp_path / f"{number}.copy.parquet" for number in range(10)]
    for copy in copies:
        copy.hardlink_to(many[1])
    peaks = []
    for flags in (few, [many[0], *copies, *many[2:]]):
        words = ["select", *map(str, flags), "--method", "mim", "--memory-bytes", "16M"]
        words += ["--engine", "local", "--no-report", "--quiet", "--output", str(tmp_path / "out")]
        ended = memory.peak("-m", "spark_mlfs.cli", *words, "--overwrite")
        assert ended["code"] == 0, ended
        peaks.append(ended["MB"])
    assert peaks[1] - peaks[0] < 16 + memory.SLACK_MB


@pytest.mark.slow
@pytest.mark.parametrize("further", [[], ["--classifier", "br-svm"]])
def test_small_rows_keep_to_the_bytes_that_are_said(run, tmp_path, further):
    """What does not grow with the rows is in the bound, too."""
    flags = [*map(str, written(tmp_path, 20_000)), "--method", "mim", *further]
    words = ["select", *flags, "--engine", "local", "--output", str(tmp_path / "out")]
    code, out, err = run(*words, "--dry-run", "--json")
    assert code == 0, err
    ended = memory.peak("-m", "spark_mlfs.cli", *words, "--quiet")
    assert ended["code"] == 0, ended
    assert ended["MB"] << 20 < json.loads(out)["memory_bytes"]
