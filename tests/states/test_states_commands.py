"""spark-mlfs collect, select --states, states: as a user types them, without Spark; and a state of
format 1, read for ever."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spark_mlfs import states
from spark_mlfs.cli.command import main
from spark_mlfs.states import files

KEPT = Path(__file__).parent / "format-1"


@pytest.fixture
def days(tmp_path, monkeypatch):
    """Three days of rows; one more by which a feature is far outside."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    for day in range(3):
        X = rng.normal(size=(120, 6)).round(2)
        Y = (X[:, :2] + rng.normal(size=(120, 2)) > 0).astype(int)
        frame = pd.DataFrame(np.hstack([X, Y]), columns=[*(f"f{j}" for j in range(6)), "y0", "y1"])
        frame.to_parquet(f"day{day}.parquet")
    frame.assign(f3=1e6).to_parquet("far.parquet")
    return tmp_path


def run(*words, capsys=None):
    columns = []
    if words[0] == "collect":
        columns = [
            "--data",
            f"{words[1]}.parquet",
            "--features",
            *(f"f{j}" for j in range(6)),
            "--labels-col",
            "y0",
            "y1",
        ]
        columns, words = (
            [*columns, "--format", "parquet", "--engine", "local"],
            ("collect", *words[2:]),
        )
    code = main([*map(str, words), *columns])
    return code if capsys is None else (code, capsys.readouterr())


def collect(day, *more, capsys=None):
    return run(
        "collect",
        day,
        "--for",
        "mim",
        "--for",
        "forward",
        "--output",
        f"states/{day}",
        *more,
        capsys=capsys,
    )


def test_from_days_to_a_ranking(days, capsys):
    assert collect("day0") == 0
    folder = f"file://{days}/states"
    assert (
        collect("day1", "--like", "states/day0") == collect("day2", "--like", f"{folder}/day0") == 0
    )
    assert "values outside the first state's edges" in capsys.readouterr().out
    assert run("states", "merge", f"{folder}/day*", "--output", f"{folder}/all") == 0
    assert run("states", "subtract", "states/all", "states/day1", "--output", "states/rest") == 0
    for method in ("mim", "forward"):
        for name in ("day[02]", "rest"):
            assert (
                run(
                    "select",
                    "--states",
                    f"{folder}/{name}",
                    "--method",
                    method,
                    "--output",
                    f"runs/{method}-{name[0]}",
                )
                == 0
            )
        one, other = (pd.read_parquet(f"runs/{method}-{name}/ranking.parquet") for name in "dr")
        pd.testing.assert_frame_equal(one, other, check_exact=True)
    capsys.readouterr()
    assert run("states", "show", "states/rest", "--json") == 0
    shown = json.loads(capsys.readouterr().out)
    assert shown["rows"] == 240
    assert [part["name"] for part in shown["parts"]] == ["day0", "day2"]


def test_labels_that_no_row_has_are_told(days, capsys):
    assert collect("day0") == 0
    assert "no row has" not in capsys.readouterr().out
    pd.read_parquet("day1.parquet").assign(y1=0).to_parquet("day1.parquet")
    assert collect("day1", "--like", "states/day0") == 0
    assert "labels that no row has: y1" in capsys.readouterr().out


def test_pairs_of_the_best(days, capsys):
    asked = ["--for", "jmi", "--pairs-of", "4"]
    assert collect("day0", *asked) == collect("day1", "--for", "jmi", "--like", "states/day0") == 0
    assert run("select", "--states", "states/day*", "--method", "jmi", "--output", "runs/jmi") == 0
    assert pd.read_parquet("runs/jmi/ranking.parquet")["score"].notna().sum() == 4
    assert collect("day2", "--for", "jmi") == 2
    assert (
        "jmi needs the rows, or the pairs of the best features: give --pairs-of 500"
        in capsys.readouterr().err
    )


def test_a_killed_collect_leaves_nothing(days, monkeypatch):
    def killed(*args, **more):
        raise KeyboardInterrupt

    monkeypatch.setattr(files, "_cut", killed)
    assert collect("day0") == 130
    assert not list(days.glob("states*"))
    assert not list(days.glob("**/.day0*"))


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("select", "--states", "states/day*", "--method", "relieff", "--output", "r"), "relieff needs the rows"),
        (("select", "--states", "states/day0", "--method", "lasso", "--output", "r"), "the second "
            "moments that lasso takes"),
        (("select", "--states", "none*", "--output", "r"), "no such states"),
        (("select", "--states", "states/day0", "--data", "x", "--output", "r"), "leave --data, --format"),
        (("select", "--states", "states/day0", "states/other", "--method", "mim", "--output", "r"), "collect later states like"),
        (("states", "merge", "states/day0"), "give --output DIR"),
        (("states", "subtract", "states/day0", "--output", "r"), "takes two at least"),
        (("states", "subtract", "states/day0", "states/day1", "--output", "r"), "is not among what was merged"),
        (("states", "show", "."), "no states"),
        (("states", "shew", "."), "invalid choice"),
        (("collect", "far", "--like", "states/day0", "--for", "mim", "--output", "r"), "beyond the grid"),
        (("collect", "day1", "--for", "mimm", "--output", "r"), "did you mean 'mim'"),
        (("collect", "day1", "--output", "r"), "for which methods"),
        (("collect", "day1", "--for", "mim", "--like", "x", "--output", "r"), "x: no states"),
        (("collect", "day1", "--for", "mim", "--output", "s3://b/x"), "s3://b/x is not on this "
            "machine"),
        (("collect", "day1", "--for", "mim", "--like", "s3://b/x", "--output", "r"), "s3://b/x is "
            "not on this machine"),
        (("select", "--states", "hdfs://h:9/d*", "--method", "mim", "--output", "r"), "hdfs://h:9/d* is not on this machine"),
        (("states", "compare", "states/day0", "hdfs://h/d", "--output", "r"), "hdfs://h/d is not "
            "on this machine"),
        (("states", "merge", "states/day*", "--output", "hdfs://h/d"), "hdfs://h/d is not on this "
            "machine"),
    ],
)  # fmt: skip
def test_what_is_wrong_is_one_line(days, capsys, words, told):
    collect("day0")
    collect("day1", "--like", "states/day0")
    run("collect", "day2", "--for", "mim", "--for", "forward", "--output", "states/other")
    code, said = run(*words, capsys=capsys)
    lines = [line for line in said.err.splitlines() if "error" in line]
    assert code == 2
    assert len(lines) == 1
    assert told in lines[0]
    assert not Path("r").exists()


def test_states_of_format_1_are_read():
    """Written by the first version that had states: later ones must rank by them as it did."""
    expected = json.loads((KEPT / "expected.json").read_text())
    merged = states.load(str(KEPT / "first"), str(KEPT / "later"))
    for method, names in expected["merged"].items():
        assert states.rank(merged, method, 8)["name"].tolist() == names, method
    left = states.subtract(merged, states.load(str(KEPT / "first")))
    for method, names in expected["later"].items():
        assert states.rank(left, method, 8)["name"].tolist() == names, method


def test_a_later_format_is_refused(tmp_path):
    (tmp_path / "manifest.json").write_text(json.dumps({"format": files.FORMAT + 1, "basis": "x"}))
    with pytest.raises(states.files.DataError, match="a later version wrote"):
        states.load(str(tmp_path))
