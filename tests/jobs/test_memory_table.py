"""The table of memory beside the promise: how it measures, and a few of its cells."""

from __future__ import annotations

import sys
from pathlib import Path

import pandas as pd
import pytest

from spark_mlfs.frames.memory import FEATURE_BYTES

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY))

from jobs.benchmarks import memory  # noqa: E402


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("memory")


def test_a_process_is_measured_apart_from_the_one_that_starts_it():
    held = bytearray(300 << 20)
    small = memory.peak("-S", "-c", "pass")
    large = memory.peak("-S", "-c", "bytearray(200 << 20)")
    assert len(held) >> 20 > small["MB"] + 200
    assert 190 < large["MB"] - small["MB"] < 230
    failed = memory.peak("-S", "-c", "import sys; sys.exit('too little memory')")
    assert (failed["code"], failed["error"]) == (1, "too little memory\n")
    assert memory.peak("-S", "-c", "while True: pass", limit=0.2)["code"] == -9


@pytest.mark.parametrize(
    ("ended", "text", "keeps"),
    [
        ({"code": 0, "MB": 300, "error": ""}, "100", True),
        ({"code": 0, "MB": 700, "error": ""}, "**500**", False),
        ({"code": 2, "MB": 210, "error": "more than --memory-bytes 64 MB"}, "refused 10", True),
        ({"code": 2, "MB": 210, "error": "takes labels of 0 and 1"}, "–", True),
        ({"code": 1, "MB": 210, "error": "Traceback"}, "**failed**", False),
        ({"code": -9, "MB": 250, "error": ""}, "slow 50", True),
    ],
)
def test_cells_of_the_table(ended, text, keeps, monkeypatch, folder):
    monkeypatch.setattr(memory, "_run", lambda *arguments: ended)
    monkeypatch.setattr(memory, "_imports", lambda *arguments: 200)
    figures = memory.cell(folder, "dense", "mim", 10)
    assert (figures["text"], figures["keeps"]) == (text, keeps)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("shape", "entry"),
    [
        ("labels", "+ mlknn"),
        ("sparse", "ridge"),
        ("dense", "score + mlknn"),
    ],
)
def test_commands_keep_to_their_promise(shape, entry, folder):
    figures = memory.cell(folder, shape, entry, 120)
    assert figures["keeps"], figures
    assert figures["code"] == (2 if entry == "ridge" else 0), figures


@pytest.mark.slow
def test_a_million_features_are_ranked_and_written(tmp_path):
    """Each takes no more than is counted, imports and what is written at once aside."""
    (tmp_path / "w.svm").write_text("1 1:1 1000000:2\n2 5:1\n1 7:1\n2 9:3\n")
    command = f"select --engine local --memory-bytes 268435456 --data {tmp_path}/w.svm --quiet"
    command += f" --method mim --num-top-features 2 --output {tmp_path}/out"
    ended = memory.peak("-m", "spark_mlfs.cli", *command.split())
    assert ended["code"] == 0, ended
    assert ended["MB"] << 20 < FEATURE_BYTES * 1_000_000 + (330 << 20)
    ranking = pd.read_parquet(tmp_path / "out" / "ranking.parquet")
    assert len(ranking) == 1_000_000
    # all five features tie: each is in one row of four
    assert sorted(ranking["name"].head(2)) == ["f1", "f5"]
    with (tmp_path / "out" / "ranking.csv").open() as file:
        assert sum(1 for _ in file) == 1_000_001
