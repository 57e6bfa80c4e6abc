"""What a short run costs beside its work: Spark jobs, and libraries that it does not need."""

from __future__ import annotations

import json
import subprocess
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

import spark_mlfs
from spark_mlfs import cli

QUICKSTART = Path(__file__).resolve().parents[2] / "conf" / "runs" / "quickstart.toml"


def jobs_of(spark) -> int:
    """Spark jobs of the session so far, by Spark's own count (it hears of a job a moment later)."""
    time.sleep(0.5)
    return len(spark.sparkContext.statusTracker().getJobIdsForGroup(None))


@pytest.mark.slow
def test_the_quickstart_takes_three_jobs_and_writes_without_one(spark, tmp_path):
    before = jobs_of(spark)
    assert cli.main(["select", "--config", str(QUICKSTART), "--output", str(tmp_path / "run")]) == 0
    taken = jobs_of(spark) - before
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    assert (
        taken == 3 == manifest["cost"]["spark_jobs"]["all"]
    )  # prepare, rank, portray the picks for the report
    # what was written without Spark is what Spark reads, and what a model that Spark saved reads
    # back as
    model = spark_mlfs.MultiLabelSelectorModel.load(str(tmp_path / "run" / "model"))
    model.save(str(tmp_path / "saved"))
    again = spark_mlfs.MultiLabelSelectorModel.load(str(tmp_path / "saved"))
    for found in (model.ranking, again.ranking):
        pd.testing.assert_frame_equal(
            found,
            pd.read_csv(tmp_path / "run" / "ranking.csv", float_precision="round_trip"),
            check_exact=True,
        )
    assert model.selectedFeatures == again.selectedFeatures and len(again.selectedFeatures) == 50
    here, there = (
        spark.read.parquet(str(tmp_path / at)) for at in ("run/model/data", "saved/data")
    )
    assert here.dtypes == there.dtypes and sorted(here.collect()) == sorted(there.collect())


def test_a_run_imports_no_library_it_does_not_use():
    """scikit-learn and matplotlib take seconds: the sample is read from scikit-learn's file, the
    report draws by itself."""
    modules = (
        "cli.command, cli.select, cli.config, ml.selectors, read.samples, output.manifest, "
        "report.page"
    )
    code = "import importlib, sys\n"
    code += "".join(
        f"importlib.import_module('spark_mlfs.{name}')\n" for name in modules.split(", ")
    )
    code += "from spark_mlfs.read.samples import _digits\n_digits()\n"
    code += (
        "print(*{m.split('.')[0] for m in sys.modules} & {'sklearn', 'matplotlib', "
        "'scikit_posthocs', 'jinja2'})"
    )
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert said.stdout.split() == []
