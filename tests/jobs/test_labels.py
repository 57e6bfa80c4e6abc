"""Labels that are grades, and label weights by name, from flags and files; one line for what is
wrong."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import spark_mlfs
from spark_mlfs import pipeline
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.cli.config import RunConfig
from spark_mlfs.cli.select import Ranked, ranking_text
from spark_mlfs.cli.terminal import Stages
from spark_mlfs.output.manifest import as_json, selection_manifest
from spark_mlfs.report.page import page
from spark_mlfs.testing import example


@pytest.mark.local
def test_grades_of_a_table(run, refused, tmp_path):
    x, y = example()
    x, stars = x[:, [0, 1, 2, 3, 5, 7]], np.rint(2 + 1.5 * y + 0.5 * np.tanh(x[:, :4]))
    stars[::11, 2] = np.nan
    table, folder = tmp_path / "rated.parquet", tmp_path / "run"
    columns = {f"f.{j}": x[:, j] for j in range(6)} | {
        f"stars.{j}": pd.Series(stars[:, j]).astype("Int64") for j in range(4)
    }
    pd.DataFrame(columns).to_parquet(table)
    read = [
        "select",
        "--data",
        table,
        "--format",
        "parquet",
        "--features",
        "f.*",
        "--labels-col",
        "stars.*",
    ]
    read += ["--num-top-features", 3, "--output", folder]
    said = refused(*read, "--method", "ridge")
    assert (
        "stars.0" in said
        and "labels are 0, 1 or null (unknown)" in said
        and "--graded-labels" in said
    )
    said = refused(*read, "--method", "ridge", "--graded-labels")
    assert "grades are from 0 to 1: correct it, or say in --grade-range what they go from" in said
    assert "scls takes labels of 0 and 1, not grades: give --label-cuts, such as 0.5" in refused(
        *read, "--graded-labels", "--method", "scls"
    )
    assert "set --graded-labels, too" in refused(*read, "--label-cuts", 3)
    assert "--grade-range" in refused(*read, "--graded-labels", "--grade-range", 1, "five")
    assert "classifier mlknn takes labels of 0 and 1, not grades" in refused(
        *read, "--graded-labels", "--label-cuts", 3, "--classifier", "mlknn"
    )
    assert "graded labels are read of tables" in refused(
        "select", "--format", "planted", "--graded-labels", "--method", "ridge", "--output", folder
    )

    weights = {"stars.1": 3}
    code, _, err = run(
        *read,
        "--method",
        "ridge",
        "--graded-labels",
        "--grade-range",
        1,
        5,
        "--set",
        "label_weights=stars.1=3",
    )
    assert code == 0, err
    labels = pd.DataFrame(stars, columns=[f"stars.{j}" for j in range(4)])
    rated = {"graded_labels": True, "grade_range": [1, 5]}
    here = spark_mlfs.rank(x, labels, "ridge", k=None, label_weights=weights, **rated)
    ranking, manifest = (
        pd.read_csv(folder / "ranking.csv"),
        json.loads((folder / "manifest.json").read_text()),
    )
    assert list(ranking["index"]) == list(here["index"]) and np.allclose(
        ranking["score"], here["score"], rtol=1e-12
    )
    assert manifest["method"]["parameters"]["label_weights"] == weights
    assert manifest["data"]["grade_range"] == [1, 5] and manifest["data"]["label_cuts"] is None
    np.testing.assert_allclose(manifest["data"]["mean_grades"], np.nanmean((stars - 1) / 4, axis=0))
    assert "above the lowest" in (folder / "report.html").read_text()
    said = refused(
        *read,
        "--method",
        "ridge",
        "--graded-labels",
        "--grade-range",
        1,
        5,
        "--set",
        "label_weights=stars_1=3",
        "--overwrite",
    )
    assert "label_weights: there is no label 'stars_1'; did you mean 'stars." in said

    config = tmp_path / "cuts.toml"
    config.write_text(
        f'[data]\npath = "{table}"\nformat = "parquet"\ngraded_labels = true\nlabel_cuts = [3, '
        '4]\n[data.options]\nfeatures = "f.*"\nlabels = "stars.*"\n[method]\nname = '
        '"mim"\nparameters = { label_weights = { "stars.1>=4" = 2.0 } }\n'
    )
    code, _out, err = run("select", "--config", config, "--output", tmp_path / "cut", "--no-report")
    assert code == 0, err
    cut = spark_mlfs.rank(
        x,
        labels,
        "mim",
        k=None,
        graded_labels=True,
        label_cuts=[3, 4],
        label_weights={"stars.1>=4": 2.0},
    )
    assert list(pd.read_csv(tmp_path / "cut" / "ranking.csv")["index"]) == list(cut["index"])
    rated = ["--graded-labels", "--grade-range", 1, 5, "--overwrite"]
    found = json.loads(run(*read, "--method", "lasso", *rated, "--dry-run", "--json")[1])
    assert found["dry_run"] and found["labels"] == 4


def test_what_auto_chose_is_told():
    """On the terminal, in the report and in what --json prints."""
    x, y = example()
    request = pipeline.Request.of("auto", {"methods": "mim,ridge", "judge": "linear"}, 3)
    (result,) = pipeline.rank(pack_arrays(x, y)[0], [request])
    verdict = result.scores.details["verdict"]
    assert "of 2 tried: average precision" in verdict
    text = ranking_text(Ranked(result, 3, {}, None, [result], None), Stages(False, True))
    assert text.splitlines()[1] == verdict
    config = RunConfig()
    manifest = selection_manifest(config, result, 3, "4.0", {}, {}, [])
    assert json.loads(as_json(manifest))["solution"]["verdict"] == verdict
    assert verdict.split(";")[0].split("±")[0] in page(result, manifest, 3, None)
