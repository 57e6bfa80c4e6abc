"""jobs/benchmark.py at its smallest: every row has its bare cost, which is of the same thing, and
picks are compared."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow.csv
import pyarrow.parquet
import pytest
from sklearn.feature_selection import chi2, f_classif
from sklearn.metrics import mutual_info_score

from spark_mlfs import cli, pipeline
from spark_mlfs.blocks.arrays import pack_arrays

REPOSITORY = Path(__file__).resolve().parents[2]
sys.path.append(str(REPOSITORY))

from jobs.benchmarks import bare, csv_files, laptop, peers, scale, table, texts  # noqa: E402
from jobs.benchmarks.corpora import CORPORA, parts_of  # noqa: E402

SHARE = 0.0002
# a row of each function, with each kind of corpus; others give it another method, corpus or share
ROWS = (
    *("jmi-screen", "mim-ten-times", "mim-10000-labels", "pack-dense", "ridge-dense", "jmi-dense"),
    *("mim-amazon", "score-texts"),
)


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return tmp_path_factory.mktemp("corpora")


@pytest.fixture(scope="module")
def bench(spark, folder):
    with bare.Bare() as process:
        yield scale.Bench(spark, process, SHARE, folder=folder)


@pytest.fixture(scope="module")
def sparse(folder):
    corpus = CORPORA["sparse"].scaled(SHARE)
    return tuple(parts_of(corpus, folder))


def test_a_corpus_is_written_once_and_depends_on_its_seed_alone(folder, sparse, tmp_path):
    before = [(Path(file).stat().st_mtime_ns, Path(file).read_bytes()) for file in sparse]
    again = parts_of(CORPORA["sparse"].scaled(SHARE), folder)
    assert [Path(file).stat().st_mtime_ns for file in again] == [when for when, _ in before]
    other = parts_of(CORPORA["sparse"].scaled(SHARE), tmp_path)
    assert [Path(file).read_bytes() for file in other] == [content for _, content in before]
    x, y = bare.sparse_rows(sparse)
    assert (
        x.shape == (200, 200)
        and y.shape[0] == 200
        and set(x.data) == {1.0}
        and set(y.data) == {1.0}
    )
    assert x.nnz == len({*zip(*x.nonzero(), strict=True)})


def test_the_whole_sizes_are_those_of_the_table():
    assert {c.title for c in (CORPORA[name].scaled(1.0) for name in CORPORA)} == {
        "1,000,000 × 100,000 × 500",
        "1,000,000 × 500 × 10",
        "100,000 × 100,000 × 10,000",
        "490,449 × 135,909 × 670,091",
        "400,000 × 5,000 × 200",
    }
    assert CORPORA["sparse"].scaled(0.1).title == "100,000 × 100,000 × 500"


def test_bare_scores_are_those_of_scikit_learn(sparse):
    x, y = bare.sparse_rows(sparse)
    x, y = x.toarray(), y.toarray()
    some = np.arange(0, x.shape[1], 17)
    information = [sum(mutual_info_score(x[:, f], label) for label in y.T) for f in some]
    np.testing.assert_allclose(
        bare.label_scores(sparse, "mim")["values"][some], information, atol=1e-9
    )
    both = [
        sum(chi2(np.c_[x[:, f], 1 - x[:, f]], label)[0].sum() for label in y.T)
        for f in some
        if 0 < x[:, f].sum() < len(x)
    ]
    varies = [f for f in some if 0 < x[:, f].sum() < len(x)]
    np.testing.assert_allclose(bare.label_scores(sparse, "chi2")["values"][varies], both, rtol=1e-9)
    fisher = [
        np.mean([f_classif(x[:, [f]], label)[0][0] / (len(x) - 2) for label in y.T]) for f in varies
    ]
    np.testing.assert_allclose(
        bare.label_scores(sparse, "fisher")["values"][varies], fisher, rtol=1e-7, atol=1e-12
    )
    rows, labels = y.nonzero()  # a row once for each of its labels
    groups = [x[rows[labels == label]] for label in range(y.shape[1])]
    centre = x[rows].mean(axis=0)
    between = sum(len(g) * (g.mean(axis=0) - centre) ** 2 for g in groups)
    within = sum(((g - g.mean(axis=0)) ** 2).sum(axis=0) for g in groups)
    expected = (len(x) - y.shape[1]) / (y.shape[1] - 1) * between[varies] / within[varies]
    np.testing.assert_allclose(
        bare.label_scores(sparse, "f-statistic")["values"][varies], expected, rtol=1e-9
    )


def check(bench, names, file):
    rows = {row["row"]: row for row in scale.run(bench, names)}
    assert [*rows] == names
    assert [row for row in rows.values() if "failed" in row] == []
    for name, row in rows.items():
        assert row["wall"] > 0 and row["bare s"] > 0 and row["bare"] and row["to reach"], name
        assert row["driver MB"] > 0 and row["jvm MB"] > 0 and row["worker MB"] > 0, name
        agrees = row.get("agrees")
        if name.startswith(("mim", "chi2", "f-statistic", "fisher")):
            assert agrees == "1.00", name
        elif name.startswith("jmi") and name != "jmi-dense":
            assert agrees == "first pick", name
        elif name.startswith(("pack", "score")):
            assert agrees == "200 rows", name
    table.write(
        file,
        "scale",
        scale.PREFACE,
        scale.COLUMNS,
        [*scale.ROWS],
        [scale.cells(row) for row in rows.values()],
    )
    lines = [line for line in file.read_text().splitlines() if line.startswith("| ")][1:]
    assert [line.split(" | ")[0].removeprefix("| ") for line in lines] == names
    assert {line.count(" | ") for line in lines} == {len(scale.COLUMNS) - 1}
    return rows


@pytest.mark.slow
def test_a_row_has_its_bare_cost_which_finds_the_same(bench, tmp_path):
    rows = check(bench, [*ROWS], tmp_path / "benchmarks.md")
    assert rows["mim-ten-times"]["times rows"] > 0 and rows["mim-10000-labels"]["times few"] > 0


@pytest.mark.slow
def test_a_row_that_is_refused_says_so_and_the_next_one_follows(bench, monkeypatch):
    from spark_mlfs.errors import BudgetError

    def refused(bench):
        raise BudgetError("too large: take less")

    reach = scale.Reach("≤ 1 s", 1)
    fine = {"wall": 1.0, "cpu": 1.0, "bare": "x", "bare s": 1.0}
    monkeypatch.setattr(scale, "ROWS", {"a": (refused, reach), "b": (lambda bench: fine, reach)})
    first, second = scale.run(bench, ["a", "b"])
    assert (
        first["failed"] == "too large: take less"
        and scale.cells(first)["data"] == "failed: too large: take less"
    )
    assert second["wall"] == 1.0 and second["reached"] == ""  # seconds are those of the whole size


def test_what_is_to_be_reached():
    row = {"wall": 10.0, "bare s": 4.0, "to the driver MB": 11}
    assert (
        scale.Reach("", 10).reached(row, True) == "yes"
        and scale.Reach("", 9).reached(row, True) == "no"
    )
    assert (
        scale.Reach("", of_bare=2, slack=2).reached(row, False) == "yes"
        and scale.Reach("", of_bare=2).reached(row, False) == "no"
    )
    assert scale.Reach("", 10, most={"to the driver MB": 10}).reached(row, True) == "no"


def test_rows_measured_again_take_their_place_and_others_stay(tmp_path):
    file, columns = tmp_path / "b.md", ("row", "wall s")
    table.write(
        file,
        "one",
        "## One",
        columns,
        ["a", "b", "c"],
        [{"row": "c", "wall s": 1.0}, {"row": "a", "wall s": 0.1234}],
    )
    table.write(file, "two", "## Two", columns, ["z"], [{"row": "z", "wall s": None}])
    table.write(
        file,
        "one",
        "## One",
        columns,
        ["a", "b", "c"],
        [{"row": "b", "wall s": 1234.0}, {"row": "a", "wall s": 2.0}],
    )
    lines = [
        line
        for line in file.read_text().splitlines()
        if line.startswith("| ") and "wall" not in line
    ]
    assert lines == ["| a | 2.0 |", "| b | 1,234 |", "| c | 1.0 |", "| z | – |"]


def check_peers(spark, names, said):
    data = peers.Data(spark, n=300, d=8, q=2, K=3, narrow=4)
    absent = {"mrmr", "fastcan"} - {
        name for name in ("mrmr", "fastcan") if importlib.util.find_spec(name)
    }
    rows = {row["row"]: row for row in peers.run(data, names)}
    out = said.readouterr().out
    assert [*rows] == [name for name in names if peers.ROWS[name][1] not in absent]
    needed = {peers.ROWS[name][1] for name in names}
    assert all(f"{package} is not installed" in out for package in absent & needed)
    for name, row in rows.items():
        assert (row["theirs wall s"] > 0 or name == "products-forward") and row[
            "ours wall s"
        ] > 0, name
        assert 0 <= row.get("overlap@K", 0) <= 1, name
        if name not in (
            "sklearn-mi-neighbours",
            "fastcan-forward",
            "products-forward",
        ):  # of all others ours is the same formula
            assert row["overlap@K"] == 1, name
            assert row.get("rank correlation") in (None, 1.0), name
    return rows


@pytest.mark.slow
def test_peers_are_compared_on_the_same_rows(spark, capsys, monkeypatch):
    """On Spark where ours has the first label alone: it gives what arrays give."""
    ours = peers.Data.ours

    def of_all_labels(self, method, *parameters, **first):
        if first:
            return ours(self, method, *parameters, **first)
        (result,) = pipeline.rank(
            pack_arrays(*self.arrays)[0], [pipeline.Request.of(method, {}, self.K)]
        )
        return {"ours": method, "ours wall s": 1.0, "ours CPU s": 1.0}, result

    monkeypatch.setattr(peers.Data, "ours", of_all_labels)
    rows = check_peers(spark, [*peers.ROWS], capsys)
    assert rows["sklearn-mi"]["compared"] == "scores" and rows["mllib-anova"]["compared"] == "picks"


def test_a_package_that_is_missing_is_said_in_one_line(spark, monkeypatch, capsys):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    monkeypatch.setattr(peers.Data, "ours", lambda *some, **more: None)
    assert [
        *peers.run(peers.Data(spark, n=200, d=8, q=2), ["fastcan", "mrmr-pandas", "mrmr-spark"])
    ] == []
    assert capsys.readouterr().out.splitlines() == [
        "fastcan is not installed (pip install 'spark_mlfs[peers]'): left out are fastcan",
        "mrmr is not installed (pip install 'spark_mlfs[peers]'): left out are mrmr-pandas, "
        "mrmr-spark",
    ]


def test_overlap_and_rank_correlation_by_hand():
    import pandas as pd

    class Result:
        ranking = pd.DataFrame({"index": [3, 1, 0, 2], "score": [4.0, 3.0, 2.0, 1.0]})

    found = peers.compared([1, 3, 2], Result, 3)
    assert found["overlap@K"] == pytest.approx(2 / 3) and found["compared"] == "picks"
    assert peers.compared([3, 1, 0], Result, 3)["rank correlation"] == 1.0
    scores = np.array([2.0, 3.0, 1.0, 4.0])
    assert peers.compared([3, 1, 0], Result, 3, -scores)["rank correlation"] == -1.0
    assert (
        scale.agreement(scores, Result.ranking, 2) == "1.00"
        and scale.agreement(-scores, Result.ranking, 2) == "0.00"
    )


@pytest.mark.losses
@pytest.mark.parametrize("name", ["mim-cli", "mim-executors"])
def test_commands_of_spark_are_measured_beside_a_bare_one(bench, monkeypatch, name):
    given = scale.environment
    conf = {"SPARK_CONF_DIR": os.environ["SPARK_CONF_DIR"]}  # plans as in the tests' own sessions
    monkeypatch.setattr(scale, "environment", lambda: given() | conf)
    (row,) = scale.run(bench, [name])
    assert "failed" not in row, row
    assert (
        row["bare s"] > 0
        and row["driver MB"] > 50
        and row["jvm MB"] > 100
        and row["worker MB"] > 50
    )
    assert row["agrees"].startswith("1.00")
    assert ("executor MB" in row) == (name == "mim-executors")


@pytest.mark.slow
def test_a_cold_start_is_measured_beside_a_bare_one(bench, monkeypatch):
    """The quickstart as it is without Java, whose starts others measure."""
    figures = scale.command_figures

    def without_java(command, variables):
        return figures(["local" if word == "spark" else word for word in command], variables)

    monkeypatch.setattr(scale, "command_figures", without_java)
    monkeypatch.setattr(scale, "EMPTY", "import numpy")
    (row,) = scale.run(bench, ["cold"])
    assert "failed" not in row, row
    assert row["wall"] > row["bare s"] > 0 and row["driver MB"] > 50 and row["jobs"] == 0


def run_here(monkeypatch, case, chosen):
    """Have the chosen commands of a case run in this process, not measured."""
    measured = case.measured

    def run(*command, **environment):
        if command[1] != "spark_mlfs.cli" or not chosen(command):
            return measured(*command, **environment)
        assert cli.main([*command[2:]]) == 0
        return {"wall": 1.0, "cpu": 1.0, "MB": 100}

    monkeypatch.setattr(case, "measured", run)
    monkeypatch.chdir(REPOSITORY)


@pytest.mark.slow
def test_whole_commands_are_measured_without_spark(tmp_path, data_dir, monkeypatch):
    """`mim` and the imports in processes of their own; the two small commands in this one."""
    run_here(monkeypatch, laptop, lambda command: {"--config", "arff"} & {*command})
    rows = list(laptop.run(tmp_path, data_dir, 0.002, ["small", "mim"]))
    assert [row["row"] for row in rows] == ["quickstart", "jmi scene", "mim"]
    for row in rows:
        assert (
            all(row[name] > 0 for name in ("wall s", "CPU s", "MB", "bare s", "wall / bare"))
            and row["MB"] > 50
        )


@pytest.mark.slow
def test_texts_stand_beside_a_pass_that_splits_them(tmp_path, data_dir, monkeypatch):
    """The first row in processes of their own."""
    run_here(monkeypatch, texts, lambda command: "min_df=3" not in command)
    rows = list(texts.run(tmp_path, data_dir, 0.001, ["training", "scoring"]))
    assert [row["row"] for row in rows] == ["training", "training, min_df 2", "scoring"]
    assert rows[0]["gives"].endswith("candidates") and rows[2]["gives"] == "400 rows"
    assert all(row["CPU s"] > 0 and row["bare CPU s"] > 0 for row in rows)


@pytest.mark.slow
def test_a_csv_stands_beside_the_passes_that_it_needs(tmp_path):
    rows = list(csv_files.run(tmp_path, 0.001, ["local"]))
    assert [row["row"] for row in rows] == ["local"] and rows[0]["reached"] in ("yes", "no")
    assert all(rows[0][name] > 0 for name in ("CPU s", "splits CPU s", "read_csv CPU s"))
    table_read = pyarrow.csv.read_csv(next(tmp_path.glob("*.csv")))
    assert table_read.equals(pyarrow.parquet.read_table(next(tmp_path.glob("*.parquet"))))


def test_a_row_that_is_not_there_is_refused_before_a_session_starts(capsys):
    spec = importlib.util.spec_from_file_location(
        "benchmark_job", REPOSITORY / "jobs" / "benchmark.py"
    )
    job, path = importlib.util.module_from_spec(spec), list(sys.path)
    try:
        spec.loader.exec_module(job)
    finally:
        sys.path[:] = path
    with pytest.raises(SystemExit):
        job.main(["--case", "scale", "--only", "mim-sparce"])
    said = capsys.readouterr().err.strip().splitlines()[-1]
    assert "'mim-sparce' is no row" in said and "mim-sparse" in said
    assert "mim-executors" not in job.chosen_rows("scale", None, None)
    assert "mim-executors" in job.chosen_rows("scale", None, "local-cluster[2,1,2048]")
    whole, quick = (job.chosen_rows("scale", None, None, short) for short in (False, True))
    assert [name for name in whole if name not in quick] == ["warmed-up"]
    assert job.chosen_rows("scale", ["warmed-up"], None, True) == ["warmed-up"]
