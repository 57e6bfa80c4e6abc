"""The jobs as programs of their own: through spark-submit, from the root and from inside jobs/, and
as a module."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pandas as pd
import pytest

from spark_mlfs import cli
from spark_mlfs.session.java import java_home

REPOSITORY = Path(__file__).resolve().parents[2]
PLANTED = ["--format", "planted"] + [
    part
    for option in ("num_rows=300", "num_features=12", "num_labels=3", "seed=4")
    for part in ("--option", option)
]


def environment() -> dict[str, str]:
    found = {
        k: v
        for k, v in os.environ.items()
        if not k.startswith(("PYSPARK_", "SPARK_")) and k != "PYTHONPATH"
    }
    found["SPARK_SUBMIT_OPTS"] = os.environ["SPARK_SUBMIT_OPTS"]
    return {**found, "PYSPARK_PYTHON": sys.executable, "JAVA_HOME": str(java_home())}


def launch(command: list[object], folder: Path) -> subprocess.CompletedProcess:
    return subprocess.run(
        [str(part) for part in command],
        cwd=folder,
        env=environment(),
        capture_output=True,
        text=True,
        timeout=300,
    )


def submit(
    job: Path | str, *arguments: object, folder: Path = REPOSITORY
) -> subprocess.CompletedProcess:
    import pyspark

    program = Path(sys.executable).with_name("spark-submit")
    if not program.exists():
        program = Path(pyspark.__file__).parent / "bin" / "spark-submit"
    properties = ("--properties-file", REPOSITORY / "conf" / "spark" / "local.conf")
    # interpreted, as in the tests' own sessions (`tests/conf`)
    plans = ("codegen.wholeStage=false", "codegen.factoryMode=NO_CODEGEN", "shuffle.partitions=1")
    settings = [word for plan in plans for word in ("--conf", f"spark.sql.{plan}")]
    settings += ["--master", "local[1]"]  # one worker imports what all need
    return launch(
        [program, *properties, "--driver-memory", "1g", *settings, job, *arguments], folder
    )


@pytest.fixture(scope="module")
def expected(tmp_path_factory) -> pd.DataFrame:
    """What this process selects without Spark."""
    out = tmp_path_factory.mktemp("expected") / "run"
    flags = [*PLANTED, "--method", "jmi", "--num-top-features", "5", "--engine", "local"]
    assert cli.main(["select", *flags, "--output", str(out)]) == 0
    return ranking(out)


def ranking(folder: Path) -> pd.DataFrame:
    return pd.read_csv(folder / "ranking.csv", float_precision="round_trip")


@pytest.mark.slow
def test_select_from_inside_jobs_and_an_error_of_transform_from_the_root(expected, tmp_path):
    """`jobs` has a `select.py`, as Python's library has a module. What is wrong with a row ends
    spark-submit with code 2 and one line."""
    run = tmp_path / "run"
    arguments = (*PLANTED, "--method", "jmi", "--num-top-features", 5, "--output", run)
    done = submit("select.py", *arguments, folder=REPOSITORY / "jobs")
    assert done.returncode == 0, done.stdout + done.stderr
    pd.testing.assert_frame_equal(ranking(run), expected, check_dtype=False, check_exact=True)
    assert (run / "report.html").stat().st_size > 5000

    names = ranking(run)["name"]
    head = ["@relation r", *(f"@attribute {name} numeric" for name in names), "@attribute y {0,1}"]
    rows = [",".join([*cells, "1"]) for cells in (["0"] * 12, ["x"] * 12)]
    (tmp_path / "bad.arff").write_text("\n".join([*head, "@data", *rows]) + "\n")
    data = ("--data", tmp_path / "bad.arff", "--format", "arff", "--option", "labels=-1")
    output = ("--output", tmp_path / "reduced")
    done = submit("jobs/transform.py", "--model", run, *data, *output)
    said = done.stdout + done.stderr
    assert done.returncode == 2, said
    lines = [line for line in said.splitlines() if line.startswith("spark-mlfs: error: ")]
    assert len(lines) == 1 and "bad.arff:17" in lines[0], said
    assert "Traceback" not in said and not (tmp_path / "reduced").exists()


@pytest.mark.slow
def test_as_a_module(expected, tmp_path):
    """Without Spark; `test_score` starts and ends one with it."""
    arguments = (*PLANTED, "--method", "jmi", "--num-top-features", 5, "--output", "run")
    command = [sys.executable, "-m", "spark_mlfs.cli", "select", *arguments, "--engine", "local"]
    done = subprocess.run(
        [str(part) for part in command],
        cwd=tmp_path,
        env={**environment(), "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
        timeout=300,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    pd.testing.assert_frame_equal(
        ranking(tmp_path / "run"), expected, check_dtype=False, check_exact=True
    )


@pytest.mark.parametrize(
    "importer",
    ["import select; select.select", "import selectors, socket; import select; select.select"],
)
def test_python_started_inside_jobs_finds_the_standard_librarys_select(importer):
    """Spark starts its Python workers in the folder spark-submit was called in, and Python looks
    there first."""
    done = launch([sys.executable, "-c", importer], REPOSITORY / "jobs")
    assert done.returncode == 0, done.stderr
