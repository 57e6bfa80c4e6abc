"""`spark-mlfs states compare`: what changed between saved states."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import spark_mlfs
from spark_mlfs import cli
from spark_mlfs.states import collect, save


@pytest.fixture(scope="module")
def home(tmp_path_factory):
    """States of four days, on the last two of which x0 tells the other label; one of other
    codes."""
    folder, first = tmp_path_factory.mktemp("states"), None
    for day in range(4):
        rng = np.random.default_rng(day)
        y = rng.random(500) < 0.4
        X = pd.DataFrame(rng.random((500, 12)), columns=[f"x{j}" for j in range(12)])
        X["x0"] = (rng.random(500) < np.where(y ^ (day > 1), 0.7, 0.3)).astype(int)
        Y = pd.DataFrame({"a": y.astype(int), "b": (rng.random(500) < 0.5).astype(int)})
        states = collect(
            X, Y, ["mim", "ridge"], like=first, name=f"day {day}", method_params={"num_bins": 4}
        )
        first = first or states
        save(states, str(folder / f"day-{day}"))
    save(collect(X, Y, ["mim", "ridge"], method_params={"num_bins": 4}), str(folder / "other"))
    for name in ("sums-0", "sums-1"):
        save(collect(X, Y, "ridge", name=name), str(folder / name))
    return folder


def run(capsys, *words) -> tuple[int, str, str]:
    capsys.readouterr()
    code = cli.main(["states", "compare", *map(str, words)])
    return code, *capsys.readouterr()


def test_days_are_compared_with_the_first(home, tmp_path, capsys):
    code, out, _ = run(
        capsys, home / "day-*", "--method", "ridge", "--fdr", "1e-4", "--output", tmp_path / "out"
    )
    assert code == 0 and "day-0 → day-2, 500 and 500 rows" in out
    table = pd.read_csv(tmp_path / "out" / "drift.csv")
    assert table[table["changed"]][["window", "feature"]].to_numpy().tolist() == [
        ["day-2", "x0"],
        ["day-3", "x0"],
    ]
    told = json.loads((tmp_path / "out" / "manifest.json").read_text())
    assert told["windows"] == [f"day-{i}" for i in range(4)] and told["changes"][0]["num_bins"] == 4
    page = (tmp_path / "out" / "report.html").read_text()
    assert "rank by ridge" in page and "day-3" in page
    names = [str(home / f"day-{i}") for i in range(4)]
    again = spark_mlfs.states.compare(
        *map(spark_mlfs.states.load, names),
        names=[f"day-{i}" for i in range(4)],
        method="ridge",
        fdr=1e-4,
    )
    assert again.features["q_value"].tolist() == pytest.approx(
        table["q_value"].tolist(), nan_ok=True
    )


def test_or_each_with_the_one_before(home, tmp_path, capsys):
    code, _, _ = run(
        capsys,
        home / "day-*",
        "--against",
        "previous",
        "--fdr",
        "1e-4",
        "--output",
        tmp_path / "out",
        "--quiet",
    )
    table = pd.read_csv(tmp_path / "out" / "drift.csv")
    assert code == 0 and table[table["changed"]][["window", "feature"]].to_numpy().tolist() == [
        ["day-2", "x0"]
    ]


@pytest.mark.parametrize(
    ("words", "line"),
    [
        (["day-0"], "at least two windows"),
        (["day-0", "none"], "no states"),
        (["day-0", "other"], "does not go with"),
        (["sums-0", "sums-1"], "not the counts"),
        (["day-0", "day-1", "--method", "jmi"], "not the counts of pairs of features by label"),
        (["day-0", "day-1", "--num-bins", "5"], "not the counts"),
        (["day-0", "day-1", "--against", "last"], "--against"),
        (["day-0", "day-1", "--fdr", "0"], "--fdr"),
    ],
)
def test_what_is_wrong_is_one_line(home, tmp_path, capsys, words, line):
    given = [
        home / word if word.startswith(("day", "other", "sums", "none")) else word for word in words
    ]
    code, _, err = run(capsys, *given, "--output", tmp_path / "out")
    assert code == 2 and line in err and err.count("\n") == 1 and not (tmp_path / "out").exists()


def test_its_flags_are_its_own(home, tmp_path, capsys):
    assert cli.main(["states", "show", str(home / "day-0"), "--fdr", "0.1"]) == 2
    assert "--fdr goes with compare, not show" in capsys.readouterr().err


def test_it_says_where_to(home, capsys):
    assert "give --output DIR" in run(capsys, home / "day-0", home / "day-1")[2]


@pytest.mark.parametrize("pairs_of", [4, 13])
def test_pairs_are_ranked_and_change_no_test(pairs_of):
    """Of rows of which a third is there twice: tests as over the rows, ranks and overlaps as those
    of the rows' columns."""
    rng, windows = np.random.default_rng(4), []
    for day in range(2):
        X = rng.integers(0, 5, (2000, 16)).astype(float)
        X[0], X[1] = 0, 4  # the same codes on both days
        Y = (
            X[:, :3] + X[:, 3:6] * [1, 0, day] + rng.normal(size=(2000, 3)) * 3 > [5, 3, 4]
        ).astype(float)
        again = np.concatenate([np.arange(2000), rng.integers(0, 2000, 1000)])
        windows.append((X[again], Y[again]))
    first = collect(*windows[0], ["jmi", "pmu"], name="0", pairs_of=pairs_of)
    states = [first, collect(*windows[1], ["jmi", "pmu"], first, name="1")]
    kept, rows = first.basis.paired, spark_mlfs.drift(*windows)
    for method in ("jmi", "pmu", "mrmr", "scls"):
        own = spark_mlfs.drift(*states, method=method)
        ranks = ["rank_before", "rank_after"]
        pd.testing.assert_frame_equal(
            own.features.drop(columns=ranks), rows.features.drop(columns=ranks), check_exact=True
        )
        pd.testing.assert_frame_equal(own.pairs, rows.pairs, check_exact=True)
        orders = [
            [f"x{kept[i]}" for i in spark_mlfs.rank(X[:, kept], Y, method, None)["index"]]
            for X, Y in windows
        ]
        assert [ranking["name"].tolist() for ranking in own.rankings] == orders, method
        table = own.features.set_index("feature")
        assert table["rank_after"].dropna().to_dict() == {
            name: i for i, name in enumerate(orders[1], 1)
        }
        told = own.stability[["features", "overlap"]].to_numpy().tolist()
        assert told == (
            [[10, len({*orders[0][:10]} & {*orders[1][:10]}) / 10]] if pairs_of > 10 else []
        )
        page = own.page()
        assert (">– → –</td>" in page) == (pairs_of == 4), method
        assert "None" not in page
