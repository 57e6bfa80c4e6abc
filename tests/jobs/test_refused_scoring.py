"""Scoring finds columns by name, whatever the name, and refuses others."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from refusals import (
    parquet,
)

from spark_mlfs import cli

ODD = ["x.a", "x`b", "plain"]


@pytest.fixture(scope="module")
def scorer(spark, tmp_path_factory) -> Path:
    """A selection with a classifier on columns whose names hold dots and back ticks."""
    folder = tmp_path_factory.mktemp("odd")
    rng = np.random.default_rng(1)
    x = rng.normal(size=(80, 3))
    columns = {
        "doc.id": [f"d{i}" for i in range(80)],
        **{n: x[:, j] for j, n in enumerate(ODD)},
        "y.1": (x[:, 0] > 0) * 1,
        "y`2": (x[:, 1] > 0) * 1,
    }
    (folder / "train.parquet").write_bytes(parquet(columns))
    code = cli.main(
        [
            "select",
            "--data",
            str(folder / "train.parquet"),
            "--format",
            "parquet",
            "--features",
            "x.a",
            "`x``b`",
            "plain",
            "--labels-col",
            "y.1",
            "y`2",
            "--id",
            "`doc.id`",
            "--method",
            "mim",
            "--num-top-features",
            "2",
            "--classifier",
            "br-svm",
            "--output",
            str(folder / "model"),
        ]
    )
    assert code == 0
    return folder


def scoring(folder: Path, data: Path, out: Path, *more: str) -> int:
    return cli.main(
        [
            "score",
            "--model",
            str(folder / "model"),
            "--data",
            str(data),
            "--format",
            "parquet",
            "--output",
            str(out),
            *more,
        ]
    )


@pytest.mark.slow
def test_score_finds_dotted_columns(spark, scorer, tmp_path, capfd):
    out = tmp_path / "out"
    assert (
        scoring(scorer, scorer / "train.parquet", out, "--id", "doc.id", "--keep", "`x.a`") == 0
    ), capfd.readouterr().err
    found = {r["doc.id"]: r for r in spark.read.parquet(str(out / "data")).collect()}
    trained = pq.read_table(scorer / "train.parquet").to_pylist()
    assert len(found) == 80 and all(found[r["doc.id"]]["x.a"] == r["x.a"] for r in trained)
    agreed = np.mean([("y.1" in found[r["doc.id"]]["tags"]) == bool(r["y.1"]) for r in trained])
    assert agreed > 0.9


SCORED: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "an absent column": (
        lambda c: {k: v for k, v in c.items() if k != "x.a"},
        r"no column 'x.a', which the saved pipeline reads: .*score a table",
    ),
    "a column of text": (
        lambda c: {**c, "x.a": ["x"] * 80},
        r"column 'x.a' holds x, no number; correct it",
    ),
    "a null": (lambda c: {**c, "x.a": [None, *c["x.a"][1:]]}, r"missing|null or NaN"),
    "a NaN": (lambda c: {**c, "x.a": [float("nan"), *c["x.a"][1:]]}, r"missing|null or NaN|NaN"),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", SCORED)
def test_score_refuses(scorer, tmp_path, capfd, name):
    change, line = SCORED[name]
    columns = pq.read_table(scorer / "train.parquet").to_pydict()
    (tmp_path / "data.parquet").write_bytes(parquet(change(columns)))
    capfd.readouterr()
    assert scoring(scorer, tmp_path / "data.parquet", tmp_path / "out", "--id", "doc.id") == 2
    said = capfd.readouterr()
    assert len(said.err.splitlines()) == 1 and re.search(line, said.err), said.err
    assert not (tmp_path / "out").exists()
