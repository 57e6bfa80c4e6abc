"""`spark-mlfs` in this process: what it writes, what it refuses, and how it says so."""

from __future__ import annotations

import json
import os
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as F

import spark_mlfs
from spark_mlfs import cli
from spark_mlfs.cli import transform
from spark_mlfs.errors import BudgetError
from spark_mlfs.frames.schema import attribute_names
from spark_mlfs.output import folder as report_output
from spark_mlfs.select.label_sets import SetsByLabel

VOID = {"meta", "br", "img", "line", "polyline", "polygon", "link", "hr", "input"}


class Checker(HTMLParser):
    """Collects text and refuses tags that do not match."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.tags: set[str] = set()
        self.text: list[str] = []
        self.sources: list[str] = []

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.sources += [value for name, value in attrs if name in ("src", "href", "srcset")]
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attrs):
        self.tags.add(tag)

    def handle_endtag(self, tag):
        assert self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-3:]}"
        self.open.pop()

    def handle_data(self, data):
        self.text.append(data)


def parsed(page: Path) -> Checker:
    checker = Checker()
    checker.feed(page.read_text(encoding="utf-8"))
    checker.close()
    assert not checker.open
    return checker


def csv_file(folder: Path, text: str, name: str = "data.csv") -> Path:
    path = folder / name
    path.write_text(text)
    return path


GOOD = "k,a,b,c,y1,y2\n" + "".join(
    f"{i},{i % 3},{i * i % 7},{i % 2},{i % 2},{int(i % 3 == 0)}\n" for i in range(40)
)
TABLE = ("--format", "csv", "--features", "a", "b", "c", "--labels-col", "y*", "--id", "k")


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Path:
    return csv_file(tmp_path_factory.mktemp("table"), GOOD)


@pytest.fixture(scope="module")
def selection(spark, data_dir, tmp_path_factory) -> Path:
    """A selection run on emotions."""
    emotions = data_dir / "emotions"
    out = tmp_path_factory.mktemp("runs") / "emotions"
    code = cli.main(
        [
            "select",
            "--data",
            str(emotions / "emotions.arff.gz"),
            "--format",
            "arff",
            "--option",
            f"labels={emotions / 'emotions.xml'}",
            "--method",
            "jmi",
            "--set",
            "label_coding=br",
            "--set",
            "num_bins=4",
            "--num-top-features",
            "12",
            "--output",
            str(out),
        ]
    )
    assert code == 0
    return out


# ------------------------------------------------------------------------------------------------------------------
# selection


@pytest.mark.slow
def test_same_ranking_as_the_python_api(spark, data_dir, selection):
    emotions = data_dir / "emotions"
    frame = spark_mlfs.read.arff(
        spark, str(emotions / "emotions.arff.gz"), labels=str(emotions / "emotions.xml")
    )
    model = spark_mlfs.MultiLabelSelector(
        method="jmi", numBins=4, numTopFeatures=12, outputCol="s"
    ).fit(frame)
    for found in (
        pd.read_csv(selection / "ranking.csv", float_precision="round_trip"),
        spark.read.parquet(str(selection / "ranking.parquet"))
        .toPandas()
        .sort_values("rank", ignore_index=True),
        spark_mlfs.MultiLabelSelectorModel.load(str(selection / "model")).ranking,
    ):
        pd.testing.assert_frame_equal(found, model.ranking, check_dtype=False, check_exact=True)
    loaded = spark_mlfs.MultiLabelSelectorModel.load(str(selection / "model"))
    assert loaded.selectedFeatures == model.selectedFeatures and len(loaded.selectedFeatures) == 12


def test_manifest(spark, selection):
    manifest = json.loads((selection / "manifest.json").read_text())
    data = manifest["data"]
    assert (data["rows"], data["features"], data["labels"]) == (593, 72, 6)
    assert data["label_cardinality"] == pytest.approx(1.869, abs=1e-3)
    assert len(data["fingerprint"]) == 16 and data["path"].endswith("emotions.arff.gz")
    assert manifest["method"] == {
        "name": "jmi",
        "parameters": {
            "num_bins": 4,
            "binning": "width",
            "bias_correction": "none",
            "label_coding": "br",
            "label_weights": "uniform",
            "label_noise": None,
        },
    }
    assert manifest["selection"] == {"num_top_features": 12, "kept": 12}
    stages = {
        "session",
        "read",
        "prepare",
        "statistics and solve",
        "portrait of the picks",
        "write",
    }
    assert set(manifest["cost"]["seconds"]) == stages
    assert (
        manifest["cost"]["spark_jobs"]["all"] >= 2
        and manifest["versions"]["spark"] == spark.version
    )
    assert len(manifest["solution"]["gains"]) == 12 and manifest["command"][:2] == [
        "spark-mlfs",
        "select",
    ]


def test_nothing_but_the_results_is_left(selection):
    assert {p.name for p in selection.iterdir()} == {
        "ranking.csv",
        "ranking.parquet",
        "labels.csv",
        "model",
        "manifest.json",
        "report.html",
    }
    assert [p.name for p in selection.parent.iterdir()] == ["emotions"]


def test_report_is_self_contained_and_complete(selection):
    page = parsed(selection / "report.html")
    assert page.sources == [] and not page.tags & {"script", "img", "link", "iframe"}
    assert {"svg", "polyline", "table"} <= page.tags
    text = " ".join(page.text)
    for part in (
        "Score curve",
        "amazed-suprised",
        "Mean_Acc1298",
        "593",
        "num_bins",
        "fingerprint",
        "Spark jobs",
    ):
        assert part in text


def test_names_are_escaped_in_the_report_and_quoted_in_the_csv(spark, run, tmp_path):
    nasty = ['<script>alert("x")</script>', "a&b,'c'", "plain"]
    rows = [
        (i, [float(i % 2), float(i % 3), 1.0 * (i % 5)], [float(i % 2), float(i % 3 == 0)])
        for i in range(30)
    ]
    frame = spark.createDataFrame([(i, *x, *y) for i, x, y in rows], ["k", *nasty, "y<b>", "y&2"])
    frame.write.parquet(str(tmp_path / "data"))
    code, _, err = run(
        *(
            "select",
            "--data",
            tmp_path / "data",
            "--format",
            "parquet",
            "--features",
            *nasty,
            "--labels-col",
            "y<b>",
            "y&2",
        ),
        *("--id", "k", "--method", "mim", "--output", tmp_path / "out"),
    )
    assert code == 0, err
    page = parsed(tmp_path / "out" / "report.html")
    assert (
        not page.tags & {"script", "b>"}
        and nasty[0] in page.text
        and nasty[1] in page.text
        and "y<b>" in page.text
    )
    assert set(pd.read_csv(tmp_path / "out" / "ranking.csv")["name"]) == set(nasty)


@pytest.mark.local
def test_flags_override_the_file_and_no_report(run, table, tmp_path):
    config = tmp_path / "run.toml"
    config.write_text(
        f'[data]\npath = "{table}"\nformat = "csv"\noptions = {{ features = ["a", "b", "c"], '
        'labels = "y*", id = "k" }\n[method]\nname = "mim"\n[selection]\nnum_top_features = '
        f'2\n[run]\noutput = "{tmp_path / "never"}"\n'
    )
    out = tmp_path / "out"
    code, said, err = run(
        "select",
        "--config",
        config,
        "--num-top-features",
        1,
        "--set",
        "num_bins=3",
        "--output",
        out,
        "--no-report",
    )
    assert code == 0, err
    manifest = json.loads((out / "manifest.json").read_text())
    assert manifest["selection"]["kept"] == 1 and manifest["method"]["parameters"]["num_bins"] == 3
    assert not (out / "report.html").exists() and not (tmp_path / "never").exists()
    assert "kept 1" in said and str(out) in said


@pytest.mark.slow
def test_progress_lines_when_asked_for(run, table, tmp_path):
    command = ("select", "--data", table, *TABLE, "--engine", "local", "--output", tmp_path / "a")
    assert run(*command)[2] == ""
    code, _, err = run("select", "--data", table, *TABLE, "--output", tmp_path / "b", "--verbose")
    assert code == 0
    stages = [line.split("spark-mlfs: ")[1].split("  ")[0].strip() for line in err.splitlines()]
    assert stages == [
        "session",
        "read",
        "prepare",
        "statistics and solve",
        "portrait of the picks",
        "write",
    ]


# ---------------------------------------------------------------------------------------------------------
# output, overwriting


def snapshot(folder: Path) -> dict[str, bytes]:
    return {
        str(p.relative_to(folder)): p.read_bytes() for p in sorted(folder.rglob("*")) if p.is_file()
    }


@pytest.mark.local
def test_output_is_refused_replaced_and_kept_on_failure(run, refused, table, tmp_path, monkeypatch):
    out = tmp_path / "out"
    base = ("select", "--data", table, *TABLE, "--output", out)
    assert run(*base, "--num-top-features", 1)[0] == 0
    before = snapshot(out)
    assert "exists" in refused(*base) and "--overwrite" in refused(*base)
    assert snapshot(out) == before

    # failing at the last file, when all others are written
    def broken(*_):
        raise RuntimeError("disk on fire")

    with monkeypatch.context() as patch:
        patch.setattr("spark_mlfs.output.manifest.as_json", broken)
        code, _, err = run(*base, "--overwrite")
    assert code == 1 and "disk on fire" in err and "Traceback" in err
    assert snapshot(out) == before and [p.name for p in tmp_path.iterdir()] == ["out"]

    # failing at the swap itself
    rename = os.rename

    def second_fails(source, target):
        if Path(target) == out and ".new" in str(source):
            raise OSError("cannot rename")
        rename(source, target)

    with monkeypatch.context() as patch:
        patch.setattr(report_output.os, "rename", second_fails)
        assert run(*base, "--overwrite")[0] == 1
    assert snapshot(out) == before and [p.name for p in tmp_path.iterdir()] == ["out"]

    assert run(*base, "--overwrite", "--num-top-features", 2)[0] == 0
    assert json.loads((out / "manifest.json").read_text())["selection"]["kept"] == 2
    assert [p.name for p in tmp_path.iterdir()] == ["out"]


@pytest.mark.local
def test_interrupt_leaves_nothing(run, table, tmp_path, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("spark_mlfs.output.manifest.as_json", interrupted)
    code, _, err = run("select", "--data", table, *TABLE, "--output", tmp_path / "out")
    assert code == 130 and "interrupted" in err and "Traceback" not in err
    assert list(tmp_path.iterdir()) == []


@pytest.mark.local
def test_folders_of_others_are_never_replaced(refused, table, tmp_path):
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("text")
    (tmp_path / "file").write_text("text")
    for name in ("thesis", "file"):
        said = refused(
            "select", "--data", table, *TABLE, "--output", tmp_path / name, "--overwrite"
        )
        assert "not written by spark-mlfs" in said
    assert (
        (tmp_path / "thesis" / "chapter.txt").read_text()
        == (tmp_path / "file").read_text()
        == "text"
    )


@pytest.mark.local
def test_output_that_meets_an_input(refused, tmp_path):
    (tmp_path / "data").mkdir()
    file = csv_file(tmp_path / "data", GOOD)
    for data, out in (
        (tmp_path / "data", tmp_path / "data" / "out"),
        (tmp_path / "data", tmp_path / "data"),
        (file, tmp_path / "data"),
        (f"file://{tmp_path}/data", f"{tmp_path}/data/../data/x"),
        (tmp_path / "d*", tmp_path / "data" / "x"),
        ("s3://bucket/data", "s3a://bucket/data/out/"),
    ):
        assert "lies in" in refused(
            "select", "--data", data, *TABLE, "--output", out, "--overwrite"
        )
    assert snapshot(tmp_path / "data") == {"data.csv": GOOD.encode()}


@pytest.mark.local
def test_unwritable_output(refused, table, tmp_path):
    (tmp_path / "file").write_text("")
    assert "cannot write" in refused(
        "select", "--data", table, *TABLE, "--output", tmp_path / "file" / "out"
    )


@pytest.mark.slow
def test_paths_of_other_file_systems_are_written_in_place(spark, tmp_path, monkeypatch):
    """Tried on a local disk taken for a remote one: only Spark writes, and an existing output is
    seen through Spark."""
    monkeypatch.setattr(report_output, "local_path", lambda path: None)
    where = f"file://{tmp_path}/out"
    base = [
        "select",
        "--format",
        "planted",
        "--option",
        "num_rows=60",
        "--option",
        "num_features=8",
        "--option",
        "num_labels=2",
    ]
    base += ["--method", "mim", "--output", where]
    assert cli.main([*base, "--num-top-features", "3"]) == 0
    assert cli.main(base) == 2
    assert cli.main([*base, "--num-top-features", "4", "--overwrite"]) == 0
    manifest = json.loads(
        "\n".join(r[0] for r in spark.read.text(f"{where}/manifest.json", wholetext=True).collect())
    )
    assert manifest["selection"]["kept"] == 4
    assert (
        spark.read.csv(f"{where}/ranking.csv", header=True).count()
        == spark.read.parquet(f"{where}/ranking.parquet").count()
        == 8
    )
    assert len(spark_mlfs.MultiLabelSelectorModel.load(f"{where}/model").selectedFeatures) == 4


# -------------------------------------------------------------------------------------------------------------------
# bad input

ROWS = GOOD.splitlines()


def cell(row: int, name: str, value: str) -> str:
    place = ROWS[0].split(",").index(name)
    lines = [line.split(",") for line in ROWS]
    lines[row + 1][place] = value
    return "\n".join(",".join(line) for line in lines) + "\n"


def constant_features() -> str:
    lines = [line.split(",") for line in ROWS[1:]]
    return (
        "\n".join([ROWS[0], *(",".join([line[0], "0", "5", "1", *line[4:]]) for line in lines)])
        + "\n"
    )


def no_labels() -> str:
    return "\n".join([ROWS[0], *(line[:-3] + "0,0" for line in ROWS[1:])]) + "\n"


@pytest.mark.local
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        (no_labels(), ["no row has a label"]),
        (
            "\n".join([ROWS[0], *(line[:-3] + "1,1" for line in ROWS[1:])]),
            ["no label", "both values"],
        ),
        (constant_features(), ["every feature", "constant"]),
        (cell(4, "b", ""), ["row 4", "'b'", "missing"]),
        (cell(4, "b", "NaN"), ["row 4", "'b'", "missing"]),
        (cell(6, "a", "Infinity"), ["row 6", "infinite"]),
        (cell(6, "a", "-Infinity"), ["row 6", "infinite"]),
        ("\n".join(ROWS[:2]), ["one row"]),
        (cell(4, "b", "word"), ["'b'", "string", "'word'", "categories=onehot"]),
        (cell(3, "y1", "2"), ["row 3", "y1", "2"]),
    ],
    ids=[
        "no labels",
        "one value",
        "constant",
        "empty cell",
        "NaN",
        "inf",
        "-inf",
        "one row",
        "wrong type",
        "label 2",
    ],
)
def test_bad_tables(refused, tmp_path, text, parts):
    said = refused(
        "select",
        "--data",
        csv_file(tmp_path, text),
        *TABLE,
        "--method",
        "mim",
        "--output",
        tmp_path / "out",
    )
    for part in parts:
        assert part in said
    assert not (tmp_path / "out").exists()


def test_table_without_rows(spark, refused, tmp_path):
    spark.createDataFrame([], "k int, a double, b double, c double, y1 int, y2 int").write.parquet(
        str(tmp_path / "data")
    )
    said = refused(
        "select",
        "--data",
        tmp_path / "data",
        "--format",
        "parquet",
        *TABLE[2:],
        "--output",
        tmp_path / "out",
    )
    assert "no rows" in said


ARFF = "@relation r\n@attribute a numeric\n@attribute b numeric\n@attribute y {0,1}\n@data\n"


@pytest.mark.local
@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("", ["data.arff"]),
        (ARFF, ["data.arff", "row"]),
        (ARFF + "1,2,0\n3,x,1\n", ["data.arff:7", "'b'", "x"]),
        (ARFF + "1,2,0\n3,1\n", ["data.arff:7"]),
        (ARFF.replace("attribute b", "attribute a") + "1,2,0\n3,4,1\n", ["'a'"]),
        (ARFF.replace("{0,1}", "{0,1,2}") + "1,2,0\n3,4,2\n", ["'y'", "binarize_labels"]),
    ],
    ids=["empty file", "no row", "corrupt line", "short line", "duplicate name", "label not 0/1"],
)
def test_bad_files(refused, tmp_path, text, parts):
    (tmp_path / "data.arff").write_text(text)
    arguments = (
        "--data",
        tmp_path / "data.arff",
        "--format",
        "arff",
        "--option",
        "labels=-1",
        "--method",
        "mim",
    )
    said = refused("select", *arguments, "--output", tmp_path / "out")
    for part in parts:
        assert part in said
    assert not (tmp_path / "out").exists()


@pytest.mark.local
@pytest.mark.parametrize(
    ("arguments", "parts"),
    [
        (["--num-top-features", "4"], ["--num-top-features 4", "3 features"]),
        (["--num-top-features", "0"], ["--num-top-features", "1"]),
        (["--num-top-features", "-3"], ["--num-top-features"]),
        (["--num-top-features", "many"], ["--num-top-features", "many"]),
        (["--percentile", "0"], ["--percentile"]),
        (["--num-top-features", "2", "--percentile", "0.5"], ["not both"]),
        (["--method", "jmii"], ["'jmii'", "'jmi'?"]),
        (["--method", "jmi", "--set", "num_bin=3"], ["'num_bin'", "'num_bins'?"]),
        (["--method", "jmi", "--set", "label_coding=xx"], ["label_coding", "'br'", "'xx'"]),
        (["--set", "labels"], ["--set", "name=value"]),
        (["--option", "labelz=y"], ["'labelz'", "labels"]),
        (["--option", "features=a"], ["--features", "same thing"]),
        (["--num-feature", "3"], ["--num-feature", "did you mean --num-top-features?"]),
        (["--config", "no.toml"], ["no.toml"]),
        (["--driver-bytes", "5"], ["--driver-bytes"]),
    ],
)
def test_bad_arguments(refused, table, tmp_path, arguments, parts):
    said = refused("select", "--data", table, *TABLE, "--output", tmp_path / "out", *arguments)
    for part in parts:
        assert part in said


def test_bad_data_arguments(refused, table, tmp_path):
    out = ("--output", tmp_path / "out")
    assert "no such file" in refused("select", "--data", tmp_path / "none.csv", *TABLE, *out)
    assert "no such file" in refused(
        "select", "--data", tmp_path / "none.arff", "--format", "arff", *out
    )
    assert "arff, libsvm" in refused("select", "--data", table, "--format", "xls", *out)
    assert "--format" in refused("select", "--data", tmp_path, *out)
    assert "needs --features (a column" in refused(
        "select", "--data", table, *out
    )  # as its name ends
    assert "--output" in refused("select", "--data", table, *TABLE)
    unknown = ("--format", "csv", "--features", "a", "bb", "--labels-col", "y*")
    assert "'bb'" in refused("select", "--data", table, *unknown, *out)
    assert "needs --features" in refused("select", "--data", table, "--format", "csv", *out)
    assert "xyz" in refused("select", "--data", "xyz://bucket/data", *TABLE, *out)


@pytest.mark.local
def test_unexpected_errors_have_a_traceback_and_code_1(run, table, tmp_path, monkeypatch):
    def broken(*_, **__):
        raise ZeroDivisionError("a bug")

    monkeypatch.setattr("spark_mlfs.pipeline.rank", broken)
    code, _, err = run("select", "--data", table, *TABLE, "--output", tmp_path / "out")
    assert code == 1 and "Traceback" in err and "a bug" in err


@pytest.mark.local
def test_debug_shows_the_traceback_of_a_users_error(run, tmp_path):
    code, _, err = run(
        "select", "--data", tmp_path / "none.csv", *TABLE, "--output", tmp_path / "out", "--debug"
    )
    assert (
        code == 2 and "Traceback" in err and err.splitlines()[-1].startswith("spark-mlfs: error: ")
    )


# ----------------------------------------------------------------------------------------------------------------------
# others


def test_usage(capsys):
    assert cli.main([]) == 2 and "spark-mlfs" in capsys.readouterr().err
    assert cli.main(["select"]) == 2
    said = capsys.readouterr().err
    assert "usage: spark-mlfs select" in said and "example" in said and "--num-top-features" in said
    for arguments in (["--help"], ["select", "--help"], ["transform", "-h"], ["--version"]):
        assert cli.main(arguments) == 0
    assert "--output-format" in capsys.readouterr().out
    assert cli.main(["chose"]) == 2
    assert "spark-mlfs: error: " in capsys.readouterr().err


def test_methods_lists_every_method_and_parameter(capsys):
    assert cli.main(["methods"]) == 0
    said = capsys.readouterr().out
    for name, method in spark_mlfs.METHODS.items():
        assert name in said and method.source in said
        assert all(p.name in said for p in method.parameters)
    assert cli.main(["methods", "jmi"]) == 0 and "greedy" in capsys.readouterr().out.lower()
    assert (
        cli.main(["methods", "text"]) == 0
        and "\nRaw text as features: tokens" in capsys.readouterr().out
    )
    assert cli.main(["methods", "jm"]) == 2


def test_java_home(capsys):
    assert cli.main(["java-home"]) == 0
    assert (Path(capsys.readouterr().out.strip()) / "bin" / "java").exists()


# -------------------------------------------------------------------------------------------------------------------
# transform


def emotions(data_dir: Path) -> tuple[str, ...]:
    folder = data_dir / "emotions"
    return (
        "--data",
        str(folder / "emotions.arff.gz"),
        "--format",
        "arff",
        "--option",
        f"labels={folder / 'emotions.xml'}",
    )


def write_selection(table, output):
    """A selection of two features, made without Spark."""
    words = ["select", "--data", table, *TABLE, "--num-top-features", 2, "--output", output]
    assert cli.main([str(word) for word in (*words, "--engine", "local")]) == 0


@pytest.mark.slow
def test_transform_to_vectors(spark, run, data_dir, selection, tmp_path):
    out = tmp_path / "reduced"
    code, said, err = run(
        "transform", "--model", selection / "model", *emotions(data_dir), "--output", out
    )
    assert code == 0, err
    assert "593 rows x 12 of 72 features" in said
    found = spark.read.parquet(str(out))
    folder = data_dir / "emotions"
    whole = spark_mlfs.read.arff(
        spark, str(folder / "emotions.arff.gz"), labels=str(folder / "emotions.xml")
    )
    names = attribute_names(whole, "features")
    ranking = pd.read_csv(selection / "ranking.csv", float_precision="round_trip")
    kept = list(ranking["index"][:12])
    assert found.columns == ["id", "features", "labels"]
    assert attribute_names(found, "features") == [names[i] for i in kept]
    assert attribute_names(found, "labels") == attribute_names(whole, "labels")
    a = found.orderBy("id").toPandas()
    b = whole.orderBy("id").toPandas()
    assert list(a["id"]) == list(range(593))
    np.testing.assert_array_equal(
        np.stack([v.toArray() for v in a["features"]]),
        np.stack([v.toArray()[kept] for v in b["features"]]),
    )
    np.testing.assert_array_equal(
        np.stack([v.toArray() for v in a["labels"]]), np.stack([v.toArray() for v in b["labels"]])
    )
    manifest = json.loads((out / "_manifest.json").read_text())
    assert manifest["rows"] == 593 and manifest["features"] == list(ranking["name"][:12])
    # the reduced set is itself data: select again on it
    again = (
        "--data",
        out,
        "--format",
        "parquet",
        "--features",
        "features",
        "--labels-col",
        "labels",
        "--id",
        "id",
    )
    code, _, err = run(
        "select",
        *again,
        "--method",
        "mim",
        "--num-top-features",
        5,
        "--engine",
        "local",
        "--output",
        tmp_path / "second",
    )
    assert code == 0, err
    assert set(pd.read_csv(tmp_path / "second" / "ranking.csv")["name"]) == set(
        ranking["name"][:12]
    )


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["csv", "json"])  # Parquet: `test_local_apply`
def test_transform_to_columns(spark, run, data_dir, selection, tmp_path, kind):
    out = tmp_path / "reduced"
    further = ("--num-top-features", 3, "--output-format", kind, "--as", "columns", "--output", out)
    code, _, err = run("transform", "--model", selection, *emotions(data_dir), *further)
    assert code == 0, err
    reader = (
        spark.read.option("header", "true").option("inferSchema", "true")
        if kind == "csv"
        else spark.read
    )
    found = reader.format(kind).load(str(out)).toPandas()
    ranking = pd.read_csv(selection / "ranking.csv", float_precision="round_trip")
    kept = list(ranking["name"][:3])
    labels = [
        "amazed-suprised",
        "happy-pleased",
        "relaxing-calm",
        "quiet-still",
        "sad-lonely",
        "angry-aggresive",
    ]
    assert set(found.columns) == {"id", *kept, *labels} and len(found) == 593
    if kind != "json":
        assert list(found.columns) == ["id", *kept, *labels]
    assert found[labels].to_numpy().sum() / 593 == pytest.approx(1.869, abs=1e-3)


@pytest.mark.slow
@pytest.mark.local(spark=True)
def test_transform_of_a_corpus_without_labels(spark, run, table, tmp_path):
    write_selection(table, tmp_path / "run")
    bare = csv_file(
        tmp_path, "\n".join(",".join(line.split(",")[:4]) for line in ROWS) + "\n", "bare.csv"
    )
    further = ("--format", "csv", "--features", "a", "b", "c", "--id", "k")
    code, _, err = run(
        "transform",
        "--model",
        tmp_path / "run",
        "--data",
        bare,
        *further,
        "--output",
        tmp_path / "reduced",
    )
    assert code == 0, err
    found = spark.read.parquet(str(tmp_path / "reduced"))
    assert found.columns == ["id", "features"] and found.count() == 40
    assert attribute_names(found, "features") == list(
        pd.read_csv(tmp_path / "run" / "ranking.csv")["name"][:2]
    )


@pytest.mark.slow
def test_transform_of_raw_text_counts_the_words_of_the_selection(spark, run, tmp_path, monkeypatch):
    """A new corpus has other words, in other frequencies: the columns are those the selection was
    made on. Rows are written while Arrow batches are small."""
    setting, seen, write = "spark.sql.execution.arrow.maxBytesPerBatch", [], transform._write
    monkeypatch.setattr(
        transform, "_write", lambda *how: seen.append(spark.conf.get(setting)) or write(*how)
    )
    before = spark.conf.get(setting)
    old = [
        (0, "red green", "x"),
        (1, "red red blue", "y"),
        (2, "green blue blue", "x"),
        (3, "red", "y"),
    ]
    new = [(7, "mauve mauve blue red", "y"), (8, "green green", "x")]
    schema = "id int, body string, tags string"
    for name, rows in (("old", old), ("new", new)):
        spark.createDataFrame(rows, schema).withColumn("tags", F.split("tags", ";")).write.parquet(
            str(tmp_path / name)
        )
    text = [
        "--format",
        "text",
        "--option",
        "source=parquet",
        "--option",
        "text=body",
        "--option",
        "id=id",
    ]
    which = [
        "--option",
        "labels=tags",
        "--option",
        "min_df=1",
        "--method",
        "chi2",
        "--num-top-features",
        2,
    ]
    here = ("--engine", "local", "--output", tmp_path / "selection")
    code, _, err = run("select", *text, "--data", tmp_path / "old", *which, *here)
    assert code == 0, err
    ranking = pd.read_csv(tmp_path / "selection" / "ranking.csv")
    kept = list(ranking["name"][:2])
    for name, labels in (("cut", ()), ("labelled", ("--option", "labels=tags"))):
        paths = ["--model", tmp_path / "selection", "--data", tmp_path / "new"]
        code, _, err = run("transform", *text, *labels, *paths, "--output", tmp_path / name)
        assert code == 0, err
        cut = spark.read.parquet(str(tmp_path / name))
        assert attribute_names(cut, "features") == kept and ("labels" in cut.columns) == bool(
            labels
        )
        counts = {r["id"]: r["features"].toArray().tolist() for r in cut.collect()}
        assert counts == {i: [body.split().count(word) for word in kept] for i, body, _ in new}
    assert seen == [str(4 << 20)] * 2 and spark.conf.get(setting) == before != seen[0]


@pytest.mark.slow
def test_transform_replaces_and_refuses(spark, run, refused, table, tmp_path):
    write_selection(table, tmp_path / "run")
    out = tmp_path / "reduced"
    base = ("transform", "--model", tmp_path / "run", "--data", table, *TABLE, "--output", out)
    here = ("--engine", "local")  # what Spark writes is read by others
    assert run(*base, *here)[0] == 0
    before = snapshot(out)
    assert "exists" in refused(*base)
    # a row that cannot be read is found while writing: the old output stays, nothing else does
    selected = pd.read_csv(tmp_path / "run" / "ranking.csv")["name"][0]
    bad = csv_file(tmp_path, cell(4, selected, ""), "bad.csv")
    wrong = [bad if a == table else a for a in base]
    assert "row 4" in refused(*wrong, "--overwrite")
    assert snapshot(out) == before and {p.name for p in tmp_path.iterdir()} == {
        "run",
        "reduced",
        "bad.csv",
    }
    assert run(*base, *here, "--overwrite", "--num-top-features", 1)[0] == 0
    assert attribute_names(spark.read.parquet(str(out)), "features") == [
        pd.read_csv(tmp_path / "run" / "ranking.csv")["name"][0]
    ]

    assert "no saved selection" in refused(
        *base[:2], tmp_path / "nothing", *base[3:], "--overwrite"
    )
    assert "give at most" in refused(*base, "--overwrite", "--num-top-features", 9)
    assert "no vectors" in refused(*base, "--overwrite", "--output-format", "csv", "--as", "vector")
    assert "lies in" in refused(*base[:-1], tmp_path / "run" / "model", "--overwrite")
    assert "delta-spark" in refused(*base, "--overwrite", "--output-format", "delta")
    assert snapshot(tmp_path / "run") and {p.name for p in tmp_path.iterdir()} == {
        "run",
        "reduced",
        "bad.csv",
    }
    assert "needs --model" in refused("transform", "--data", table, *TABLE, "--output", out)
    lacking = (
        "transform",
        "--model",
        tmp_path / "run",
        "--data",
        table,
        "--format",
        "csv",
        "--features",
        "k",
        "--labels-col",
        "y*",
    )
    assert "lacks" in refused(*lacking, "--output", tmp_path / "other")


# ------------------------------------------------------------------------------------------------------------
# selection rules


@pytest.mark.slow
@pytest.mark.parametrize(
    ("engine", "arguments", "column", "line"),
    [
        (
            "spark",
            ("--method", "mim", "--selection-mode", "fdr", "--fdr", "0.01"),
            "q_value",
            "Benjamini–Hochberg line at 0.01",
        ),
        (
            "local",
            ("--method", "ridge", "--selection-mode", "knockoffs"),
            "knockoff",
            "threshold at fdr 0.1",
        ),
        (
            "local",
            ("--method", "lasso", "--selection-mode", "stability", "--num-top-features", "15"),
            "frequency",
            "threshold 0.6",
        ),
    ],
    ids=["fdr", "knockoffs", "stability"],
)
def test_a_rule_says_how_many(run, spark, tmp_path, engine, arguments, column, line):
    """That both engines cut alike is a law of `sklearn/test_same_ranking`."""
    out = tmp_path / "run"
    made = (
        "--format",
        "planted",
        "--option",
        "num_rows=1500",
        "--option",
        "num_features=60",
        "--option",
        "num_labels=4",
    )
    code, said, err = run("select", *made, *arguments, "--output", out)
    assert code == 0, err
    manifest = json.loads((out / "manifest.json").read_text())
    ranking = pd.read_csv(out / "ranking.csv")
    model = spark_mlfs.MultiLabelSelectorModel.load(str(out / "model"))
    kept = manifest["selection"]["kept"]
    assert f"kept {kept}" in said and 0 < kept < 60
    assert len(model.selectedFeatures) == kept and manifest["selection"]["mode"] == arguments[3]
    assert column in ranking and column in spark.read.parquet(str(out / "ranking.parquet")).columns
    page = parsed(out / "report.html")
    text = " ".join(page.text)
    assert "How many features" in text and line in text and f"kept {kept}" in text


@pytest.mark.slow
def test_a_rule_that_nothing_passes(run, refused, spark, table, tmp_path):
    out = tmp_path / "run"
    given = (
        "select",
        "--data",
        table,
        *TABLE,
        "--method",
        "mim",
        "--selection-mode",
        "fwe",
        "--fwe",
        "1e-200",
        "--engine",
        "local",
    )
    code, said, err = run(*given, "--output", out)
    assert code == 0, err
    assert "kept 0" in said and "no feature passes fwe 1e-200" in said
    assert "no feature passes" in " ".join(parsed(out / "report.html").text)
    assert "nothing to fit the classifier on" in refused(
        *given, "--classifier", "br-svm", "--output", tmp_path / "other"
    )
    for form, engine in (("vector", "spark"), ("columns", "local")):
        reduced, how = tmp_path / form, ("--as", form, "--engine", engine)
        code, said, err = run(
            "transform", "--model", out, "--data", table, *TABLE, *how, "--output", reduced
        )
        assert code == 0 and "0 of 3 features" in said, err
        assert set(spark.read.parquet(str(reduced)).columns) == (
            {"id", "features", "labels"} if form == "vector" else {"id", "y1", "y2"}
        )


@pytest.mark.local
def test_row_weights_of_a_column(run, refused, tmp_path):
    """--weight-col: the ranking of the repeated rows, told in the manifest; what takes no weights
    is refused before it runs."""
    lines = GOOD.splitlines()
    weights = [i % 4 for i in range(40)]
    heavy = "\n".join(
        [lines[0] + ",w", *(f"{line},{w}" for line, w in zip(lines[1:], weights, strict=True))]
    )
    copies = [line for line, w in zip(lines[1:], weights, strict=True) for _ in range(w)]
    copied = "\n".join(
        [lines[0], *(f"{i},{line.partition(',')[2]}" for i, line in enumerate(copies))]
    )
    common = (*TABLE, "--method", "chi2", "--num-top-features", 2, "--no-report")
    heavy, copied = csv_file(tmp_path, heavy, "heavy.csv"), csv_file(tmp_path, copied, "copied.csv")
    for data, more, output in ((heavy, ("--weight-col", "w"), "one"), (copied, (), "two")):
        code, _, err = run("select", "--data", data, *more, *common, "--output", tmp_path / output)
        assert code == 0, err
    assert (tmp_path / "one/ranking.csv").read_text() == (tmp_path / "two/ranking.csv").read_text()
    one, two = (
        json.loads((tmp_path / name / "manifest.json").read_text()) for name in ("one", "two")
    )
    assert (
        one["data"]["weight"] == sum(weights) == two["data"]["rows"]
        and one["cost"]["scans"] == two["cost"]["scans"]
    )
    given = ("select", "--data", heavy, *TABLE, "--weight-col", "w", "--output", tmp_path / "three")
    assert "relieff takes no row weights" in refused(*given, "--method", "relieff")
    assert "br-svm takes no row weights" in refused(
        *given, "--method", "mim", "--classifier", "br-svm"
    )
    assert "fdr takes no row weights" in refused(
        *given, "--method", "mim", "--selection-mode", "fdr"
    )


def test_sets_by_label_that_exceed_the_memory_are_left_out_in_one_line(run, monkeypatch, tmp_path):
    def exceeds(self, engine):
        raise BudgetError("too large")

    monkeypatch.setattr(SetsByLabel, "__call__", exceeds)
    flags = ("--format", "numbers", "--method", "mim", "--num-top-features", "5")
    code, _, err = run("select", *flags, "--engine", "local", "--output", tmp_path / "out")
    assert code == 0 and err.count("labels.csv is not written") == 1, err
    assert not (tmp_path / "out" / "labels.csv").exists()
    monkeypatch.undo()
    code, _, err = run("select", *flags, "--engine", "local", "--output", tmp_path / "whole")
    assert code == 0 and "labels.csv" not in err and (tmp_path / "whole" / "labels.csv").exists()
