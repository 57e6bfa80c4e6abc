"""`spark-mlfs compare` and `evaluate`: tables, tests, the page, a run cut short that goes on, and
what is wrong in one line."""

from __future__ import annotations

import json
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from scipy import stats

from spark_mlfs import cli, methods
from spark_mlfs.blocks.block import Block
from spark_mlfs.blocks.folds import Marked, Split
from spark_mlfs.blocks.profile import profile_block
from spark_mlfs.engine.local import LocalEngine
from spark_mlfs.errors import ParameterError
from spark_mlfs.evaluate import compare
from spark_mlfs.evaluate import summary as tables
from spark_mlfs.evaluate.metrics import METRICS
from spark_mlfs.evaluate.plan import comparison, published, read_comparison
from spark_mlfs.evaluate.significance import bonferroni_dunn_quantile
from spark_mlfs.markup import render
from spark_mlfs.output.journal import Journal
from spark_mlfs.report import comparison_page, paper_files
from spark_mlfs.report.comparison_page import ComparisonOutcome

ROWS = (
    "options = { num_rows = 150, num_features = 10, num_relevant = 4, num_redundant = 1, "
    "num_labels = 4, seed = %d }"
)
PLAN = """
title = "Planted <sets>"
notes = "What it is about.\\n\\nHow to read it."
published = "paper.csv"
[[data]]
name = "one"
format = "planted"
OPTIONS0
[[data]]
name = "two"
format = "planted"
OPTIONS1
[[data]]
name = "three"
format = "planted"
OPTIONS2
[[method]]
name = "mim"
[[method]]
name = "ridge"
title = "Ridge"
grid = { alpha = [0.1, 1000.0] }
[[classifier]]
name = "mlknn"
parameters = { k = 5 }
[[classifier]]
name = "br-svm"
[protocol]
folds = "2-fold"
sizes = [2, "40%"]
metrics = ["standard", "msfs-2022"]
choose = { metric = "microF1", folds = 2 }
[run]
output = "OUTPUT"
engine = "local"
"""


OPTIONS = {
    "num_rows": 150,
    "num_features": 10,
    "num_relevant": 4,
    "num_redundant": 1,
    "num_labels": 4,
}


def write_plan(folder: Path, text: str = PLAN) -> Path:
    for i in range(3):
        text = text.replace(f"OPTIONS{i}", ROWS % i)
    file = folder / "plan.toml"
    file.write_text(text.replace("OUTPUT", str(folder / "out")), encoding="utf-8")
    (folder / "paper.csv").write_text(
        "# table 9\ndata,method,metrics,metric,value,spread\none,mim,standard,microF1,0.9,0.01\none,PMU,standard,microF1,0.8,\n",
        encoding="utf-8",
    )
    return file


@pytest.fixture(scope="module")
def finished(spark, tmp_path_factory):
    folder = tmp_path_factory.mktemp("comparison")
    assert (
        cli.main(
            [
                "compare",
                "--config",
                str(write_plan(folder)),
                "--figures",
                "pdf,svg",
                "--tables",
                "latex",
            ]
        )
        == 0
    )
    return folder / "out"


@pytest.mark.slow
def test_every_cell_is_there_once(finished):
    cells = pd.read_parquet(finished / "cells.parquet")
    key = ["data", "method", "classifier", "split", "size", "metrics"]
    assert not cells.duplicated(key).any()
    counts = cells.groupby("method").size()
    assert (
        counts["mim"] == counts["Ridge"] == 3 * 2 * 2 * 2 * 2
    )  # data, splits, classifiers, sizes, kinds
    assert counts["all features"] == 3 * 2 * 2 * 2
    assert set(cells["features"]) == {2, 4, 10}
    again = pd.read_csv(finished / "cells.csv")
    assert np.allclose(again["microF1"], cells["microF1"])
    trials = pd.read_csv(finished / "trials.csv")
    assert len(trials) == 3 * 2 * 3
    assert set(trials.loc[trials["method"] == "Ridge", "parameters"]) <= {
        '{"alpha": 0.1}',
        '{"alpha": 1000.0}',
    }
    assert (trials["training_rows"] + trials["test_rows"] == 150).all()
    labels = pd.read_csv(finished / "labels.csv")
    actual = labels.groupby(["data", "method", "classifier"])["actual"].sum()
    assert actual.groupby("data").nunique().eq(1).all()  # over the folds every row is tested once


@pytest.mark.slow
def test_tables_by_hand(finished):
    cells = pd.read_parquet(finished / "cells.parquet")
    summary = tables.summary(
        cells, "standard", "microF1", "mlknn", ["mim", "Ridge", "all features"]
    )
    mine = cells.query(
        "data == 'two' and method == 'mim' and classifier == 'mlknn' and metrics == 'standard'"
    )
    by_split = mine.groupby("split")["microF1"].mean()
    assert summary.mean.loc["two", "mim"] == pytest.approx(by_split.mean())
    assert summary.spread.loc["two", "mim"] == pytest.approx(np.std(by_split, ddof=1))
    assert list(summary.mean.columns) == ["mim", "Ridge", "all features"] and list(
        summary.mean.index
    ) == ["one", "two", "three"]
    won = tables.best(summary, "microF1")
    differ = summary.mean[["mim", "Ridge"]].round(4).nunique(axis=1) > 1
    assert not won["all features"].any() and won[["mim", "Ridge"]].any(axis=1).equals(differ)
    test = tables.test_of(summary, "microF1")
    values = summary.mean[["mim", "Ridge"]].to_numpy()
    ranks = stats.rankdata(-values, axis=1).mean(axis=0)
    assert np.allclose(test.friedman.ranks, ranks) and test.friedman.data_sets == 3
    assert test.quantile == bonferroni_dunn_quantile(2)


def test_chosen_sizes_are_what_the_tables_show():
    lines = [
        ("x", "5", True, 0.5),
        ("x", "9", False, 0.9),
        ("y", "5", False, 0.2),
        ("y", "9", False, 0.4),
    ]
    cells = pd.DataFrame(lines, columns=["method", "size", "chosen", "microF1"])
    cells = cells.assign(data="d", split="a", classifier="k", metrics="standard", whole=False)
    summary = tables.summary(cells, "standard", "microF1", "k", ["x", "y"])
    assert summary.mean.loc["d", "x"] == 0.5 and summary.mean.loc["d", "y"] == pytest.approx(0.3)


class _Page(HTMLParser):
    VOID = ("meta", "input", "br", "line", "path")

    def __init__(self, text):
        super().__init__()
        self.open, self.links, self.ids = [], [], []
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        named = dict(attrs)
        self.links += [v for k, v in attrs if k in ("href", "src")]
        self.ids += [named["id"]] if "id" in named else []
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        pass

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, (tag, self.open[-5:])
        self.open.pop()


@pytest.mark.slow
def test_the_page_is_whole_light_and_self_contained(finished):
    text = (finished / "comparison.html").read_text(encoding="utf-8")
    page = _Page(text)
    assert not page.open
    assert all(link.startswith("#") and link[1:] in page.ids for link in page.links)
    assert "<script" not in text and "url(" not in text and len(text) < 300_000
    assert "Planted &lt;sets&gt;" in text and "How to read it." in text
    for part in (
        "Friedman",
        "Critical difference",
        "Beside the published numbers",
        "PMU",
        "Stability",
        "alpha",
    ):
        assert part in text, part
    assert text.count('class="cdd"') == 1
    assert (
        len([*finished.glob("figures/*.pdf")])
        == len([*finished.glob("figures/*.svg")])
        == 2 * (3 + 1)
    )  # curves, cd
    assert len([*finished.glob("tables/*.tex")]) == 2 * 2 * len(METRICS)
    manifest = json.loads((finished / "manifest.json").read_text(encoding="utf-8"))
    assert manifest["trials"] == 18 and manifest["failed"] == 0


METHODS = ["b&w_50%", "lasso", "fastcan"]


def outcome(values, **more):
    """An outcome of given means: {data: {method: value}}, each at two sizes of two splits."""
    lines = [
        {
            "data": data,
            "method": method,
            "split": split,
            "repeat": 0,
            "fold": split,
            "classifier": "mlknn",
            "size": str(size),
        }
        | {"features": size, "whole": False, "chosen": False, "metrics": "standard"}
        | {m: value + 0.01 * split for m in tables.TITLES}
        for data, row in values.items()
        for method, value in row.items()
        for split in (0, 1)
        for size in (2, 4)
    ]
    plan = comparison(
        {"data": [{"name": d, "format": "planted"} for d in values], "method": [{"name": "mim"}]}
    )
    empty = pd.DataFrame()
    data = pd.DataFrame({"name": list(values)})
    return ComparisonOutcome(
        pd.DataFrame(lines), empty, empty, empty, empty, data, empty, METHODS, plan
    )


TIED = {
    "one": dict(zip(METHODS, (0.5, 0.7, 0.6), strict=True)),
    "two": dict(zip(METHODS, (0.5, 0.6, 0.7), strict=True)),
}


def test_ties_are_told_and_methods_are_rows():
    def said(of):
        """The findings of the page, and what they are made of."""
        made = comparison_page.ComparisonView(of, of.plan)
        ((judge, found),) = made.verdict()
        assert judge == "mlknn"
        return " ".join(
            render("comparison_verdict.html.j2", found=found, few=comparison_page.FEW).split()
        ), made

    text, shown = said(outcome(TIED))
    first = (
        "<b>lasso and fastcan</b> rank best (mean rank 1.50 each of 3 over 2 data sets); so "
        "few data sets decide nothing."
    )
    assert text == first
    text, _ = said(outcome({"one": dict(zip(METHODS, (0.7, 0.7, 0.7), strict=True))}))
    assert text == "<b>b&amp;w_50%, lasso and fastcan</b> do best on one (0.7050 each)."
    assert [name for name, _ in shown.table("mlknn", "standard", "coverage")["rows"]] == METHODS
    wide = outcome({"one": dict(zip(METHODS, (0.5, 12.0, 3.0), strict=True))})
    rows = tables.summary_rows(
        tables.summary(wide.cells, "standard", "coverage", "mlknn", METHODS), "coverage"
    )
    # one precision
    assert {
        len(n.split(".")[1])
        for _, cells in rows
        for mean, spread, _ in cells
        for n in (mean, spread)
    } == {3}
    ranks = shown.tests()
    assert [name for name, _ in ranks["ranks"]] == METHODS and ranks["heads"][-1] == "mean"


@pytest.mark.slow
def test_figures_and_tables_as_files(tmp_path):
    pytest.importorskip("matplotlib")
    tied = outcome(TIED)
    written = [
        dict(paper_files.files(tied, ["pdf", "svg", "png"], ["latex", "latex:ranks"]))
        for _ in range(2)
    ]
    assert written[0] == written[1]  # no dates, no ids drawn
    names = {
        f"figures/{what}-mlknn.{kind}"
        for what in ("cd", "curves-one", "curves-two")
        for kind in ("pdf", "svg", "png")
    }
    names.add("tables/ranks-mlknn.tex")
    assert set(written[0]) == names | {f"tables/{m}-mlknn.tex" for m in METRICS}
    ranks = written[0]["tables/ranks-mlknn.tex"].decode()
    assert f"lasso: {methods.METHODS.create('lasso').title}" in ranks.replace("$", "")
    assert ranks.count("{") == ranks.count("}") and "Hamming loss" in ranks and "& mean" in ranks
    for name, start in (
        ("cd-mlknn.pdf", b"%PDF"),
        ("cd-mlknn.png", b"\x89PNG"),
        ("curves-one-mlknn.svg", b"<?xml"),
    ):
        assert written[0][f"figures/{name}"].startswith(start)
    assert (
        b"b&amp;w_50%" in written[0]["figures/cd-mlknn.svg"]
        and b"lasso 1.50" in written[0]["figures/cd-mlknn.svg"]
    )
    text = written[0]["tables/averagePrecision-mlknn.tex"].decode()
    assert "b\\&w\\_50\\% & 0.5050 $\\pm$ 0.0071 & 0.5050 $\\pm$ 0.0071 \\\\\n" in text
    assert "lasso & \\textbf{0.7050} $\\pm$ 0.0071 & 0.6050" in text and text.count("\\textbf") == 2
    assert text.count("{") == text.count("}") and all(
        f"\\{rule}rule" in text for rule in ("top", "mid", "bottom")
    )
    tied.cd_diagram(str(tmp_path / "cd.pdf"))
    assert (tmp_path / "cd.pdf").read_bytes() == written[0]["figures/cd-mlknn.pdf"]
    with pytest.raises(ParameterError, match="figures can be pdf, svg, png, not 'jpg'"):
        tied.cd_diagram(str(tmp_path / "cd.jpg"))
    with pytest.raises(
        ParameterError, match="no critical difference diagram: tests need two data sets"
    ):
        outcome({"one": TIED["one"]}).cd_diagram(str(tmp_path / "cd.png"))


@pytest.mark.slow
def test_a_run_cut_short_goes_on(run, tmp_path, monkeypatch):
    file = write_plan(
        tmp_path,
        PLAN.replace('folds = "2-fold"', 'folds = "70/30"').replace(
            'published = "paper.csv"\n', ""
        ),
    )
    done, count = Journal.mark_done, []

    def fails(self, number, entry):
        if len(count) == 4:
            raise KeyboardInterrupt
        count.append(number)
        done(self, number, entry)

    monkeypatch.setattr(Journal, "mark_done", fails)
    code, _, err = run("compare", "--config", file, "--parallelism", 1)
    assert code == 130 and "4 of 9 trials are done and kept" in err
    assert not (tmp_path / "out").exists()
    ran = []
    monkeypatch.setattr(
        Journal,
        "mark_done",
        lambda self, number, entry: ran.append(number) or done(self, number, entry),
    )
    code, out, _ = run("compare", "--config", file)
    assert code == 0 and "4 of them in an earlier run" in out
    assert sorted([*count, *ran]) == list(range(9))
    assert not [p for p in tmp_path.iterdir() if p.name.startswith(".")]


SECOND = """
[[data]]
name = "second"
path = "{path}"
format = "csv"
options = {{ features = ["a", "b"], labels = ["u", "v"] }}
"""


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (None, "second.csv: no such file"),
        ("a,b,u\n1,2,0\n2,1,1\n", "second: labels: no column 'v'"),
        ("a,b,u,v\n1,2,0,1\n2,,1,0\n0,1,1,0\n", "second: "),
    ],
    ids=["missing", "another header", "a missing value"],
)
def test_all_data_are_read_before_the_first_trial(refused, tmp_path, monkeypatch, text, line):
    path, plan = tmp_path / "second.csv", PLAN
    if text is not None:
        path.write_text(text, encoding="utf-8")
    else:  # where Spark is set up, it may see a file that is not here
        plan = PLAN.replace('engine = "local"', 'engine = "spark"')
    file = write_plan(
        tmp_path, plan.replace("[[method]]", SECOND.format(path=path) + "[[method]]", 1)
    )
    started = []
    monkeypatch.setattr(compare, "run_trials", lambda *a, **k: started.append(a))
    assert line in refused("compare", "--config", file)
    assert not started
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_labels_that_only_test_rows_have_are_told(run, tmp_path):
    rng = np.random.default_rng(0)
    tags = {"train.csv": ["p", "q", "p;q"], "test.csv": ["p", "q;new", "newer;p"]}
    for name, cells in tags.items():
        lines = [
            f"{a:.3f},{b:.3f},{cells[i % 3]}" for i, (a, b) in enumerate(rng.normal(size=(30, 2)))
        ]
        (tmp_path / name).write_text("a,b,tags\n" + "\n".join(lines) + "\n", encoding="utf-8")
    code, _, err = run(
        "evaluate", "--data", tmp_path / "train.csv", "--test-data", tmp_path / "test.csv", "--format", "csv", "--features", "a",
        "b", "--labels-col", "tags", "--option", "label_delimiter=;", "--sizes", 1, "--output", tmp_path / "out",
        "--engine", "local",
    )  # fmt: skip
    assert code == 0
    notes = [line for line in err.splitlines() if "note: " in line]
    assert notes == [
        "spark-mlfs: note: train: 2 of the 4 labels of the test rows (50 %) are on no training row "
        "('new', 'newer'): no classifier can learn them, and they are 40 % of what is to be "
        "predicted"
    ]
    assert "unseen" not in pd.read_csv(tmp_path / "out" / "data.csv")


def test_labels_by_part_are_counted():
    y = np.array([[1, 0, 1], [0, 0, 1], [1, 1, 0], [0, 0, 1], [0, 1, 1]])
    ids = np.array([2, 4, 3, 8, 5])  # odd ids are test rows
    lists = sp.csr_matrix(y)
    block = Block(np.arange(10.0).reshape(5, 2), ids, lists.indptr, lists.indices)
    split = Split("files", 0, 0, Marked())
    counts = LocalEngine(profile_block(block, 3), [block]).run(compare.LabelsByPart(split))[0][
        "counts"
    ]
    assert counts.tolist() == [[1, 1], [0, 2], [3, 1]]
    unseen = compare.unseen_labels(counts, ["u", "v", "w"])
    assert unseen == {"labels": 1, "of": 3, "share": 0.5, "names": ["v"]}
    assert compare.unseen_labels(counts[[0, 2]], ["u", "w"]) is None


@pytest.mark.local
def test_a_method_that_cannot_be_run_is_told(run, tmp_path):
    text = (
        PLAN.replace("parameters = { k = 5 }", "parameters = { k = 120 }")
        .replace('"2-fold"', '"50/50"')
        .replace('published = "paper.csv"\n', "")
    )
    file = write_plan(tmp_path, text)
    code, _, err = run("compare", "--config", file)
    assert code == 2 and "lower k" in err and len(err.strip().splitlines()) == 1
    assert (
        "error: all 9 trials failed: mim on one: " in err
        and "; and 6 more" in err
        and "goes on" not in err
    )
    assert not [p.name for p in tmp_path.iterdir() if p.name.startswith(".")]


def test_trials_that_failed_are_run_again():
    """With larger budgets they may succeed."""
    plan = comparison({"data": [{"name": "one", "format": "planted"}], "method": [{"name": "mim"}]})
    journal = compare.ForgetfulJournal()
    journal.mark_done(0, {"cells": []})
    journal.mark_done(1, {"error": "raise worker_bytes"})
    assert compare._unfinished(plan, journal, 3, {"one"}) == {0: [1, 2]}


@pytest.mark.slow
@pytest.mark.local
def test_evaluate_a_saved_ranking_and_a_method(run, tmp_path):
    data = [
        "--format",
        "planted",
        "--option",
        "num_rows=150",
        "--option",
        "num_features=10",
        "--option",
        "num_relevant=4",
    ]
    data += ["--option", "num_redundant=1", "--option", "num_labels=4"]
    few = ("--num-top-features", 3, "--no-report")
    assert run("select", *data, "--method", "mim", *few, "--output", tmp_path / "selection")[0] == 0
    code, out, _ = run(
        "evaluate",
        "--model",
        tmp_path / "selection",
        *data,
        "--sizes",
        2,
        5,
        "--protocol",
        "70/30",
        "--output",
        tmp_path / "judged",
    )
    assert code == 0 and "the saved ranking" in out
    assert "made from these very rows" in (tmp_path / "judged" / "comparison.html").read_text(
        encoding="utf-8"
    )
    order = pd.read_csv(tmp_path / "selection" / "ranking.csv")["index"].head(5).tolist()
    rankings = pd.read_csv(tmp_path / "judged" / "rankings.csv")
    assert rankings["index"].tolist() == order
    code, out, _ = run(
        "evaluate", *data, "--method", "ridge", "--grid", "alpha=0.1,10", "--sizes", 4, "--protocol", "2-fold",
        "--classifier", "brknn", "--classifier-set", "k=5", "--no-all-features", "--output", tmp_path / "ridge",
    )  # fmt: skip
    assert code == 0 and "ridge" in out
    assert set(pd.read_csv(tmp_path / "ridge" / "cells.csv")["classifier"]) == {"brknn"}


@pytest.mark.local
def test_what_a_method_includes_and_excludes(run, tmp_path):
    """First in every split, and in none; said on the page; a name that a data set lacks is told
    before the first trial."""
    plan = (
        '[[data]]\nname = "one"\nformat = "planted"\nOPTIONS0\n[[method]]\nname = '
        '"mim"\n[[method]]\nname = "jmi"\ntitle = "beside"\ninclude = ["noise_2", 0]\nexclude = '
        '["relevant_[12]"]\n[[classifier]]\nname = "brknn"\n[protocol]\nfolds = "3-fold"\nsizes = '
        f'[3, "100%"]\n[run]\nengine = "local"\noutput = "{tmp_path / "out"}"\n'
    )
    file = write_plan(tmp_path, plan)
    code, _, err = run("compare", "--config", file)
    assert code == 0, err
    rankings = pd.read_csv(tmp_path / "out" / "rankings.csv")
    names = {
        method: rows.sort_values("rank").groupby("split")["name"].agg(list)
        for method, rows in rankings.groupby("method")
    }
    everything = set(names["mim"].iloc[0])
    first = rankings.loc[rankings["index"] == 0, "name"].iloc[0]
    assert len(names["beside"]) == 3
    for listed in names["beside"]:
        assert listed[:2] == ["noise_2", first] and set(listed) == everything - {
            "relevant_1",
            "relevant_2",
        }
    assert set(names["mim"].iloc[0][:2]) != {"noise_2", first}
    page = (tmp_path / "out" / "comparison.html").read_text()
    assert "include = noise_2, 0; exclude = relevant_[12]" in page
    other = write_plan(
        tmp_path,
        plan.replace("relevant_[12]", "relevent_1").replace(
            str(tmp_path / "out"), str(tmp_path / "no")
        ),
    )
    code, _, err = run("compare", "--config", other)
    assert (
        code == 2
        and "exclude: the data have no feature 'relevent_1'; did you mean 'relevant_1'" in err
    )


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ('name = "mim"', 'name = "mimm"', "did you mean 'mim'"),
        ("alpha = [0.1, 1000.0]", "alhpa = [0.1]", "alpha"),
        ('name = "br-svm"', 'name = "svm"', "there is no classifier 'svm'"),
        ('folds = "2-fold"', 'folds = "2 folds"', "write K-fold"),
        ('sizes = [2, "40%"]', 'sizes = ["much"]', "give a number of features"),
        ('sizes = [2, "40%"]', "sizes = []", "sizes is empty"),
        ('metric = "microF1"', 'metric = "microF"', "metric must be one of"),
        ('"msfs-2022"]', '"msfs"]', "must be one of 'standard', 'msfs-2022'"),
        ("[protocol]", "[protocoll]", "has no key 'protocoll'; did you mean 'protocol'"),
        (
            'title = "Ridge"',
            'titel = "Ridge"',
            "[[method]] 2 has no key 'titel'; did you mean 'title'",
        ),
        ('title = "Ridge"', 'title = "mim"', "both called 'mim'"),
        (
            'name = "one"\nformat = "planted"',
            'name = "one"\nformat = "plantd"',
            "format 'plantd' is not one of",
        ),
        (
            'name = "one"\nformat = "planted"',
            'name = "one"',
            "which format do the data have? give ",
        ),
        (
            'name = "one"\n',
            'name = "one"\ntest_path = "x"\n',
            "test_path needs [protocol] folds = 'files'",
        ),
        ('folds = "2-fold"', 'folds = "files"', "needs test_path"),
        ('name = "one"\n', "", "name is missing"),
        ('published = "paper.csv"', 'published = "none.csv"', "none.csv' cannot be read as CSV"),
        ('output = "OUTPUT"', "worker_bytes = 5", "[run] worker_bytes"),
        (
            "[protocol]",
            '[constraints]\ninclude = ["a"]\n[protocol]',
            "constraints is for spark-mlfs",
        ),
        (
            'title = "Ridge"',
            "title = \"Ridge\"\ncosts = {'*' = 1}",
            "costs is for spark-mlfs select",
        ),
        ('title = "Ridge"', 'title = "Ridge"\nexclude = [true]', "exclude"),
        ('title = "Ridge"', 'title = "Ridge"\ninclude = [true]', "include"),
        ('name = "br-svm"', 'name = "br-svm"\nexclude = ["a"]', "exclude is for spark-mlfs select"),
        (
            'name = "one"\n',
            'name = "one"\ngraded_labels = true\n',
            "graded_labels is for spark-mlfs select",
        ),
    ],
)
def test_what_is_wrong_in_a_plan(tmp_path, old, new, told):
    assert old in PLAN
    file = write_plan(tmp_path, PLAN.replace(old, new, 1))
    with pytest.raises(ParameterError) as error:
        read_comparison(str(file))
    assert told in str(error.value) and "\n" not in str(error.value)


def test_the_names_of_files_tell_their_format():
    plan = comparison(
        {"data": [{"name": "one", "path": ["a.svm", "b.svm.gz"]}], "method": [{"name": "mim"}]},
        "p.toml",
    )
    assert plan.data[0].format == "libsvm"


def test_a_plan_has_data():
    for layer in ({}, {"data": []}):
        with pytest.raises(ParameterError, match=r"p.toml: \[\[data\]\] is missing"):
            comparison(layer, "p.toml")


def test_what_is_wrong_in_the_flags(refused, tmp_path):
    assert "--config" in refused("compare", "--output", tmp_path / "x")
    assert "no such configuration file" in refused("compare", "--config", tmp_path / "none.toml")
    assert "--output DIR" in refused("evaluate", "--format", "planted")
    plan = ("compare", "--config", write_plan(tmp_path))
    assert "figures can be pdf, svg, png, not 'jpg'" in refused(*plan, "--figures", "pdf,jpg")
    assert "tables can be latex, latex:ranks, not 'word'" in refused(*plan, "--tables", "word")
    several = refused(*plan, "--figures", "pdf", "svg", "--tables", "latex", "latex:ranks", "word")
    assert "latex:ranks, not 'word'" in several  # as the page for papers writes them
    few = ("--worker-bytes", "5", "--output", tmp_path / "x")
    for command in (
        ("evaluate", "--format", "planted"),
        ("compare", "--config", write_plan(tmp_path)),
    ):
        assert refused(*command, *few).startswith("spark-mlfs: error: --worker-bytes must be")
    assert "give --format" in refused("evaluate", "--output", tmp_path / "x")
    gaps = (
        "--data",
        "x.csv",
        "--format",
        "csv",
        "--features",
        "f",
        "--labels-col",
        "y",
        "--option",
        "missing=mean",
    )
    assert "with a mean of test rows" in refused("evaluate", *gaps, "--output", tmp_path / "x")
    both = refused(
        "evaluate",
        "--format",
        "planted",
        "--model",
        "m",
        "--method",
        "jmi",
        "--output",
        tmp_path / "x",
    )
    assert "--model, or --method" in both
    assert "no saved selection" in refused(
        "evaluate", "--format", "numbers", "--model", tmp_path / "m", "--output", tmp_path / "x"
    )


def test_the_examples_are_valid():
    folder = Path(__file__).resolve().parents[2] / "conf" / "runs"
    papers = sorted((folder / "papers").glob("*.toml"))
    assert [path.stem for path in papers] == ["gmba", "information", "lift-rsm", "msfs", "omfs"]
    plans = [*papers, folder / "compare.toml"]
    for file in plans:
        plan = read_comparison(str(file))
        if plan.published:
            assert len(published(plan.published))


def test_published_numbers_need_their_columns(tmp_path):
    (tmp_path / "p.csv").write_text("data,method\na,b\n")
    with pytest.raises(ParameterError, match="column 'metric' is missing"):
        published(str(tmp_path / "p.csv"))
    with pytest.raises(ParameterError, match="cannot be read"):
        published(str(tmp_path / "none.csv"))


@pytest.mark.slow
def test_extractors_take_part(spark, tmp_path):
    plan = comparison(
        {
            "data": [{"name": "p", "format": "planted", "options": OPTIONS}],
            "extractor": [{"name": "lift"}, {"name": "mddm"}],
            "classifier": [{"name": "mlknn"}],
            "protocol": {"folds": "70/30", "all_features": False},
        }
    )
    values = []
    for distributed in (False, True):
        journal = Journal(
            spark, "", tmp_path / f"j{distributed}", compare.settings_of(plan, plan.candidates())
        )
        journal.start()
        outcome = compare.run(spark, plan, journal, small_bytes=0 if distributed else 1 << 20)
        assert set(outcome.cells["size"]) == {"extracted"} and len(outcome.cells) == 2
        values.append(outcome.cells["microF1"].to_numpy())
    assert values[0] == pytest.approx(values[1])
    dimensions = json.loads(outcome.trials.set_index("method").loc["lift", "dimensions"])
    assert (
        len(dimensions) == 4
        and sum(dimensions)
        == outcome.cells.set_index(["method", "classifier"]).loc[("lift", "mlknn"), "features"]
    )


@pytest.mark.slow
def test_rows_and_a_screen_by_data_set(spark):
    """A set is cut to so many rows, the same ones however they are parted; its screen stands in
    front of methods without one."""
    from spark_mlfs.evaluate.data import open_data

    entry = {"name": "cut", "format": "planted", "options": OPTIONS, "rows": 60, "screen": "chi2:3"}
    methods = [{"name": "jmi"}, {"name": "ridge", "screen": "mim:4"}]
    protocol = {"folds": "2-fold", "sizes": [2], "all_features": False}
    plan = comparison({"data": [entry], "method": methods, "protocol": protocol})
    frame, _ = open_data(spark, plan.data[0])
    kept = {row.id for row in frame.select("id").collect()}
    assert len(kept) == 60 and kept != set(range(60))
    plan.data[0].options = {**OPTIONS, "num_partitions": 7}
    again, _ = open_data(spark, plan.data[0])
    assert {row.id for row in again.select("id").collect()} == kept
    behind = [
        candidate.behind(plan.data[0].screen).requests[0].screen for candidate in plan.candidates()
    ]
    assert [(s.method, s.count) for s in behind] == [("chi2", 3), ("mim", 4)]
    outcome = compare.run(spark, plan, compare.ForgetfulJournal())
    assert list(outcome.data["rows"]) == [60] and len(outcome.failed) == 0
    with pytest.raises(ParameterError, match="METHOD:COUNT"):
        comparison({"data": [{**entry, "screen": "chi2"}], "method": methods})
