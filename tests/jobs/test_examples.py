"""The configurations that ship run as they stand, on the data they name."""

from __future__ import annotations

import re
import shlex

import numpy as np
import pytest
from pyspark.sql import functions as F

from spark_mlfs import cli
from spark_mlfs.cli import check
from spark_mlfs.cli.conditions import Condition
from spark_mlfs.frames.frame import LocalSession
from spark_mlfs.read.samples import GENERATED

CONF = __import__("pathlib").Path(__file__).resolve().parents[2] / "conf" / "runs"


def ran(*arguments) -> None:
    assert cli.main([str(a) for a in arguments]) == 0


@pytest.mark.slow
@pytest.mark.parametrize("kind", list(GENERATED))
def test_rows_depend_on_seed_and_number_alone(spark, kind):
    def rows(*given, **more):
        return sorted(map(str, GENERATED[kind](spark, *given, **more).collect()))

    assert rows(60, 3, num_partitions=1) == rows(60, 3, num_partitions=7)
    assert set(rows(20, 3)) < set(rows(60, 3)) and rows(20, 3) != rows(20, 4)
    here = GENERATED[kind](LocalSession(), 60, 3, num_partitions=2).collect()
    assert sorted(map(str, here)) == sorted(
        str(row.asDict()) for row in GENERATED[kind](spark, 60, 3).collect()
    )


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "more"), [("documents", ["--without-tags"]), ("embeddings", [])])
def test_a_sample_written_without_spark_is_that_of_spark(spark, tmp_path, kind, more):
    for engine in ("local", "spark"):
        ran(
            "sample",
            kind,
            "--rows",
            300,
            "--output",
            tmp_path / engine,
            "--engine",
            engine,
            "--quiet",
            *more,
        )
    here, there = (
        spark.read.parquet(f"file://{tmp_path}/{engine}") for engine in ("local", "spark")
    )
    assert here.schema == there.schema
    assert sorted(map(str, here.collect())) == sorted(map(str, there.collect()))


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "config", "column", "engine"),
    [
        ("documents", "text-tags", "body", "spark"),
        ("embeddings", "embeddings", "embedding", "local"),
    ],
)
def test_from_raw_to_scored(spark, tmp_path, kind, config, column, engine):
    here = ("--engine", "local", "--output")
    ran("sample", kind, "--rows", 1500, *here, tmp_path / "train")
    ran("sample", kind, "--rows", 2000, "--without-tags", *here, tmp_path / "new")
    assert column in spark.read.parquet(f"file://{tmp_path}/new").columns
    ran(
        "select",
        "--config",
        CONF / f"{config}.toml",
        "--data",
        tmp_path / "train",
        "--engine",
        engine,
        "--output",
        tmp_path / "run",
    )
    ran("score", "--model", tmp_path / "run", "--data", tmp_path / "new", "--format", "parquet", "--id", "doc",
        "--engine", engine, "--output", tmp_path / "tags")  # fmt: skip
    found = {
        row.doc: set(row.tags)
        for row in spark.read.parquet(f"file://{tmp_path}/tags/data").collect()
    }
    truth = (
        GENERATED[kind](spark, 2000).where(F.col("doc") >= 1500).collect()
    )  # rows that were not trained on
    both = sum(len(found[r.doc] & set(r.tags)) for r in truth)
    f1 = 2 * both / (sum(len(found[r.doc]) for r in truth) + sum(len(r.tags) for r in truth))
    assert len(found) == 2000 and f1 > 0.8, f1


@pytest.mark.parametrize("config", ["gmba", "omfs", "msfs"])
def test_the_papers_parameters_are_valid(config):
    from spark_mlfs.cli.config import configure

    run = configure(str(CONF / f"{config}.toml"), {})
    requests = run.requests()
    assert requests[0].method == config
    assert len(requests) == int(np.prod([len(v) for v in run.method.grid.values()]))


def test_a_grid_writes_every_ranking(spark, tmp_path):
    ran("select", "--format", "planted", "--option", "num_rows=300", "--option", "num_features=12", "--option", "num_labels=3",
        "--method", "ridge", "--grid", "alpha=1,1000000", "--num-top-features", 3, "--output", tmp_path / "run")  # fmt: skip
    lines = (tmp_path / "run" / "grid.csv").read_text().splitlines()
    assert lines[0].startswith("cell,alpha,cv_loss") and len(lines) == 3
    losses = [float(line.split(",")[2]) for line in lines[1:]]
    assert losses[0] < losses[1] and lines[1].endswith("True") and lines[2].endswith("False")
    assert (tmp_path / "run" / "grid-0.csv").read_text() == (
        tmp_path / "run" / "ranking.csv"
    ).read_text()
    assert (tmp_path / "run" / "grid-1.csv").exists()


def test_the_nightly_page_says_what_the_commands_take():
    from spark_mlfs.cli.command import parser
    from spark_mlfs.cli.config import configure

    script = re.search(
        r"```sh\n(.*?)```",
        (CONF.parents[1] / "notebooks" / "how-to" / "every-night.md").read_text(),
        re.DOTALL,
    )[1]
    commands = re.findall(
        r"^ *spark-mlfs (.*?)(?: > .*)?$", script.replace("\\\n", " "), re.MULTILINE
    )
    ran = [parser().parse_args(shlex.split(command, comments=True)) for command in commands]
    assert [args.command for args in ran] == ["select", "check", "score"]
    assert all(Condition.parse(text, check.METRICS, "") for text in ran[1].require)
    run = configure(str(CONF / "every-night.toml"), {})
    assert (
        re.fullmatch(r"runs/\d{4}-\d\d-\d\d", run.run.output)
        and run.classifier.checked()["scores"] == "calibrated"
    )
