"""`spark-mlfs drift`: files of two times to tables and a page, here and on Spark; what is wrong is
one line. That Spark's figures are those of this process is a law of `tests/evaluate/test_drift.py`."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

pytestmark = pytest.mark.local


@pytest.fixture(scope="module")
def tables(tmp_path_factory):
    """Two tables: x0 turns round, =x1 becomes commoner, x2 is noise."""
    folder = tmp_path_factory.mktemp("drift")
    for name, seed in (("old", 0), ("new", 1)):
        rng = np.random.default_rng(seed)
        y = rng.random(600) < 0.5
        frame = pd.DataFrame(
            {"x0": (rng.random(600) < np.where(y ^ bool(seed), 0.8, 0.2)).astype(int)}
        )
        frame["=x1"], frame["x2"] = (
            (rng.random(600) < 0.3 + 0.4 * seed).astype(int),
            rng.random(600),
        )
        frame["a"], frame["b"], frame["often"], frame["part"] = (
            y.astype(int),
            (rng.random(600) < 0.2).astype(int),
            2,
            0.5,
        )
        frame.to_csv(folder / f"{name}.csv", index=False)
    return folder


def flags(tables) -> list[object]:
    sides = "--before", tables / "old.csv", "--after", tables / "new.csv", "--format", "csv"
    return ["drift", *sides, "--features", "x*", "=x1", "--labels-col", "a", "b"]


@pytest.mark.local(spark=True)
def test_a_run(run, tables, tmp_path):
    code, out, err = run(*flags(tables), "--output", tmp_path / "out")
    assert code == 0, err
    assert "1 of 3 features changed in what they say about a label: x0; 0 have too few rows" in out
    table = pd.read_csv(tmp_path / "out" / "drift.csv").set_index("feature")
    assert table["changed"].to_dict() == {"x0": True, "'=x1": False, "x2": False}
    assert table["psi"]["'=x1"] > 0.5 > 0.05 > table["psi"]["x0"] and table["label"]["x0"] == "a"
    pairs = pd.read_csv(tmp_path / "out" / "labels.csv")
    assert (
        len(pairs) == 1
        and pairs["correlation_before"][0] > 0.5
        and pairs["correlation_after"][0] < -0.5
    )
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert (
        manifest["job"] == "drift"
        and manifest["changes"][0]["changed"] == 1
        and manifest["changes"][0]["rows"] == [600, 600]
    )
    assert len(manifest["data"]) == 2 and "x0" in (tmp_path / "out" / "report.html").read_text()
    assert len(pd.read_csv(tmp_path / "out" / "prevalence.csv")) == 2


@pytest.mark.local(spark=True)
def test_weights_json_and_cuts(run, tables, tmp_path):
    more = (
        "--weight-col",
        "often",
        "--json",
        "--num-bins",
        "7",
        "--method",
        "chi2",
        "--set",
        "num_bins=3",
    )
    code, out, _ = run(*flags(tables), *more, "--output", tmp_path / "out")
    told = json.loads(out)
    assert code == 0 and told["changes"][0]["rows"] == [1200, 1200] and told["method"] == "chi2"
    assert told["changed"][0]["feature"] == "x0" and told["changes"][0]["num_bins"] == 7
    cut = "--graded-labels", "--label-cuts", "0.5"
    assert run(*flags(tables), *cut, "--output", tmp_path / "cut")[0] == 0


def test_conditions_are_an_alarm(run, tables, tmp_path):
    held = "--require", "changed<=1", "--require", "psi<=1", "--require", "prevalence<=0.2"
    assert run(*flags(tables), *held, "--output", tmp_path / "held")[0] == 0
    failed = "--require", "changed<=0", "--require", "psi<=0.25", "--require", "shifted<=9"
    code, out, err = run(*flags(tables), *failed, "--json", "--output", tmp_path / "failed")
    manifest = json.loads(out)
    psi = pd.read_csv(tmp_path / "failed" / "drift.csv")["psi"].max()
    lines = err.splitlines()[-2:]
    assert code == 3
    assert lines[0] == "spark-mlfs: not met: changed<=0: changed is 1"
    assert lines[1].endswith(f": psi is {psi:.4g}")
    assert manifest["not_met"] == ["changed<=0", "psi<=0.25"]


@pytest.mark.slow
def test_a_configuration_and_what_it_would_do(run, tables, tmp_path):
    file = tmp_path / "drift.toml"
    file.write_text(f"""
[data]
format = "csv"
options = {{ features = ["x*", "=x1"], labels = ["a", "b"] }}
[drift]
before = "{tables}/old.csv"
after = "{tables}/new.csv"
num_bins = 7
[method]
name = "chi2"
parameters = {{ num_bins = 3 }}
[run]
output = "{tmp_path}/out"
""")
    code, out, _ = run("drift", "--config", file, "--dry-run", "--json")
    told = json.loads(out)
    assert code == 0 and not (tmp_path / "out").exists()
    assert [(side["rows"], side["features"], side["labels"]) for side in told["windows"]] == [
        (600, 3, 2)
    ] * 2
    assert told["tests"] == 6 and told["windows"][0]["counts_bytes"] >= 8 * 3 * 7 * 3
    code, out, err = run("drift", "--config", file, "--binning", "quantile", "--json")
    told = json.loads(out)
    assert code == 0, err
    assert (
        told["changes"][0]["num_bins"] == 7
        and told["changes"][0]["binning"] == "quantile"
        and told["method"] == "chi2"
    )
    assert [feature["feature"] for feature in told["changed"]] == ["x0"]


@pytest.mark.local(spark=True)
def test_the_words_of_texts_are_those_of_either(run, tmp_path):
    for name, words in (("old", ["one two", "one three"]), ("new", ["one two", "two four"])):
        frame = pd.DataFrame({"text": words * 40, "tags": [["a"], ["b"]] * 40})
        frame.to_parquet(tmp_path / f"{name}.parquet", index=False)
    options = "--option", "source=parquet", "--option", "text=text", "--labels-col", "tags"
    sides = (
        "--before",
        tmp_path / "old.parquet",
        "--after",
        tmp_path / "new.parquet",
        "--format",
        "text",
    )
    assert run("drift", *sides, *options, "--output", tmp_path / "out")[0] == 0
    table = pd.read_csv(tmp_path / "out" / "drift.csv").set_index("feature")
    assert (
        set(table.index) == {"one", "two", "three", "four"}
        and (table["psi"][["three", "four"]] > 1).all()
    )


def test_a_wrong_configuration_is_one_line(refused, tmp_path):
    file = tmp_path / "drift.toml"
    for text, line in {
        '[data]\nformat = "csv"\npath = "old.csv"': "give [drift] before and after",
        "[drift]\nbins = 3": "section [drift] has no key 'bins'; did you mean",
        "[drift]\nfdr = 2": "[drift] fdr",
    }.items():
        file.write_text(text)
        assert line in refused(
            "drift", "--config", file, "--format", "csv", "--output", tmp_path / "out"
        )


WRONG = {
    "drift needs --after": ["--after"],
    "none.csv": ["--after", "none.csv"],
    "--fdr must be": ["--fdr", "2"],
    "weights of before are no whole numbers": ["--weight-col", "part"],
    "not grades: give --label-cuts": ["--graded-labels"],
    "give zero or drop": ["--option", "missing=mean"],
    "no metric 'chnaged': did you mean 'changed'": ["--require", "chnaged<=2"],
    "write it as 'changed<=2'": ["--require", "changed"],
    "there is no method 'jmo'": ["--method", "jmo"],
    "takes no row weights": ["--weight-col", "often", "--binning", "quantile"],
}


@pytest.mark.parametrize("line", WRONG)
def test_what_is_wrong_is_one_line(refused, tables, tmp_path, line):
    given = flags(tables)
    if WRONG[line][0] == "--after":
        at = given.index("--after")
        given[at : at + 2] = WRONG[line] if len(WRONG[line]) > 1 else []
        more: list[object] = []
    else:
        more = WRONG[line]
    assert line in refused(*given, *more, "--output", tmp_path / "out")
    assert not (tmp_path / "out").exists()
