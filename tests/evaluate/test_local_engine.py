"""A comparison in this process: the same numbers as on Spark, to the byte, and nothing of Spark is
imported."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pandas as pd
import pytest

from spark_mlfs import cli, read
from spark_mlfs.blocks.pack import pack
from spark_mlfs.evaluate import compare, data
from spark_mlfs.evaluate import protocol as splits
from spark_mlfs.evaluate.plan import comparison
from spark_mlfs.frames.frame import LocalSession, NeedsSpark
from spark_mlfs.report.comparison_page import compare as compared

PLANTED = {"num_rows": 130, "num_features": 12, "num_relevant": 4, "num_labels": 4, "seed": 3}
TABLE = {"features": "f*", "labels": "l*"}
METHODS = """
[[method]]
name = "jmi"
[[method]]
name = "ridge"
grid = { alpha = [0.1, 1000.0] }
[[method]]
name = "relieff"
[[extractor]]
name = "mddm"
[[classifier]]
name = "mlknn"
parameters = { k = 5 }
[[classifier]]
name = "br-svm"
"""


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Training and test rows without ids, some of them repeated, counts among the features; a label
    that only test rows have."""
    folder, generator = tmp_path_factory.mktemp("tables"), np.random.default_rng(5)
    for name, n in (("train", 90), ("test", 60)):
        x = np.column_stack(
            [generator.integers(0, 3, n), generator.normal(size=n), generator.poisson(0.3, (n, 3))]
        )
        rows = pd.DataFrame(x, columns=[f"f{j}" for j in range(5)])
        for label in range(3):
            rows[f"l{label}"] = (x[:, label] + generator.normal(size=n) > 0.6).astype(int)
        rows["l3"] = (np.arange(n) % 7 == 0).astype(int) if name == "test" else 0
        pd.concat([rows, rows.head(15)]).to_parquet(folder / f"{name}.parquet", index=False)
    return folder


def outcomes(folder, plan, *arguments):
    """The files of a comparison on both engines, as text."""
    file, out = folder / "plan.toml", []
    file.write_text(plan, encoding="utf-8")
    for engine in ("local", "spark"):
        target = folder / engine
        assert (
            cli.main(
                [
                    "compare",
                    "--config",
                    str(file),
                    "--engine",
                    engine,
                    "--output",
                    str(target),
                    *arguments,
                ]
            )
            == 0
        )
        files = {}
        for path in sorted(target.glob("*.csv")):
            rows = pd.read_csv(path, dtype=str)
            files[path.name] = rows[[c for c in rows if not c.endswith("_seconds")]].to_csv(
                index=False
            )
        out.append(files)
    return out


@pytest.mark.slow
def test_data_sets_with_stratified_folds(spark, tmp_path, tables):
    options = ", ".join(f"{name} = {value}" for name, value in PLANTED.items())
    plan = f"""
[[data]]
name = "planted"
format = "planted"
options = {{ {options} }}
rows = 100
[[data]]
name = "table"
path = "{tables}/test.parquet"
format = "parquet"
options = {{ features = "f*", labels = "l*" }}
screen = "chi2:4"
[[method]]
name = "relieff"
title = "of too few rows"
parameters = {{ k = 8 }}
{METHODS}
[protocol]
folds = "stratified 60/40"
noise = 0.1
sizes = [2, "60%"]
metrics = ["standard", "msfs-2022"]
choose = {{ folds = 2, size = true }}
"""
    here, there = outcomes(tmp_path, plan)
    assert here == there
    assert set(here) == {
        f"{name}.csv"
        for name in ("cells", "trials", "choices", "rankings", "labels", "data", "failed")
    }
    assert [len(here[f"{name}.csv"].splitlines()) for name in ("trials", "failed")] == [
        1 + 2 * 5,
        1 + 2,
    ]
    page = [
        (tmp_path / engine / "comparison.html").read_text(encoding="utf-8")
        for engine in ("local", "spark")
    ]
    assert [p.count("<svg") for p in page] == [page[0].count("<svg")] * 2


@pytest.mark.slow
def test_training_and_test_files(spark, tmp_path, tables, capsys):
    plan = f"""
[[data]]
name = "table"
path = "{tables}/train.parquet"
test_path = "{tables}/test.parquet"
format = "parquet"
options = {{ features = "f*", labels = "l*" }}
{METHODS}
[protocol]
folds = "files"
sizes = [2]
choose = {{ folds = 2 }}
"""
    here, there = outcomes(tmp_path, plan)
    assert here == there
    assert "105,75" in here["trials.csv"]


def test_folds_of_many_rows_are_the_same(spark, monkeypatch, tables):
    """By labelset, where the label lists are too many for one process; of repeated rows each has a
    fold of its own."""
    monkeypatch.setattr(splits, "MOST_LISTED_ROWS", 10)
    folds = []
    for session in (LocalSession(), spark):
        packed = pack(read.load(session, f"{tables}/test.parquet", "parquet", **TABLE), row_id="id")
        (division,) = {
            id(s.folds): s.folds for s in splits.Protocol.of("stratified 3-fold", 4).splits(packed)
        }.values()
        folds.append([division.hashes.tolist(), division.ends.tolist(), division.order.tolist()])
        packed.release()
    assert folds[0] == folds[1]


@pytest.mark.parametrize("seed", [0, -7, 1 << 40])
def test_the_rows_that_are_drawn_are_the_same(spark, seed):
    drawn = []
    for session in (LocalSession(), spark):
        frame = data.sampled(read.load(session, None, "planted", **PLANTED), 40, seed, "id")
        drawn.append(sorted(row["id"] for row in frame.collect()))
    assert drawn[0] == drawn[1] and len(drawn[0]) == 40


def test_what_does_not_fit_goes_to_spark_after_all_others():
    """With the engine chosen it has failed, and the others are reported."""
    layer = {
        "data": [{"name": "p", "format": "planted", "options": {**PLANTED, "num_features": 400}}],
        "method": [{"name": "ridge"}, {"name": "mim"}],
        "protocol": {"folds": "70/30", "sizes": [3]},
    }
    session, journal = LocalSession(3 << 20), compare.ForgetfulJournal()
    with pytest.raises(NeedsSpark, match=r"Gram over 400 features .* raise memoryBytes"):
        compare.run(session, comparison(layer), journal)
    assert sorted(journal.parts) == [1, 2] and "error" not in str(journal.parts)
    outcome = compare.run(
        session, comparison({**layer, "run": {"engine": "local"}}), compare.ForgetfulJournal()
    )
    assert outcome.failed["method"].tolist() == ["ridge"] and len(outcome.trials) == 2
    assert compared(LocalSession(), layer).failed.empty


NO_SPARK = """
import sys
from importlib.abc import MetaPathFinder


class Nothing(MetaPathFinder):
    def find_spec(self, name, path=None, target=None):
        if name.partition(".")[0] in ("pyspark", "py4j"):
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)


sys.meta_path.insert(0, Nothing())
from spark_mlfs import cli

assert cli.main(["select", *sys.argv[2:], "--method", "mim", "--output", sys.argv[1] + "/selection", "--no-report"]) == 0
for number, ranking in enumerate((["--method", "jmi"], ["--model", sys.argv[1] + "/selection"])):
    assert cli.main(["evaluate", *sys.argv[2:], *ranking, "--sizes", "3", "--output", f"{sys.argv[1]}/{number}"]) == 0
"""


@pytest.mark.slow
def test_without_spark(tmp_path):
    options = [word for name, value in PLANTED.items() for word in ("--option", f"{name}={value}")]
    command = [sys.executable, "-c", NO_SPARK, str(tmp_path), "--format", "planted", *options]
    run = subprocess.run(command, capture_output=True, text=True)
    assert run.returncode == 0, run.stderr
    rankings = [pd.read_csv(tmp_path / name / "rankings.csv") for name in "01"]
    selected = pd.read_csv(tmp_path / "selection" / "ranking.csv")
    assert (
        len(rankings[0]) == 15
        and rankings[1]["index"].head(3).tolist() == selected["index"].head(3).tolist()
    )
