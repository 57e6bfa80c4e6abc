"""What commands say: as text, as JSON, not at all, before they run; about methods, to a shell, and
before a session starts."""

from __future__ import annotations

import copy
import io
import json
import os
import pickle
import re
import socket
import subprocess
import sys
import time
import traceback
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from spark_mlfs import CLASSIFIERS, EXTRACTORS, METHODS, cli
from spark_mlfs.adapters.arrays import in_arrays
from spark_mlfs.cli import command, work
from spark_mlfs.cli.command import parser, spelling_of
from spark_mlfs.cli.completion import script
from spark_mlfs.cli.terminal import Stages
from spark_mlfs.errors import (
    ON_THE_DRIVER,
    BudgetError,
    DataNotice,
    NotInstalledError,
    ParameterError,
    marked_text,
    option,
    setting,
    spelled,
    spelled_by,
    worker_errors,
)
from spark_mlfs.session import local

INDEX = (Path(__file__).resolve().parents[2] / "notebooks" / "methods" / "README.md").read_text()
CONF = Path(__file__).resolve().parents[2] / "conf" / "runs"
TABLE = ("--format", "csv", "--features", "a", "b", "c", "--labels-col", "y*", "--id", "k")


@pytest.fixture(scope="module")
def table(tmp_path_factory) -> Path:
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        {
            "k": range(90),
            "a": rng.random(90).round(3),
            "b": rng.integers(0, 3, 90),
            "c": rng.integers(0, 2, 90),
        }
    )
    frame["y1"], frame["y2"] = (frame["a"] > 0.5).astype(int), frame["c"]
    path = tmp_path_factory.mktemp("said") / "data.csv"
    frame.to_csv(path, index=False)
    return path


# ---- settings by name ----


def test_a_setting_is_named_as_each_face_has_it():
    text = (
        f"{setting('worker_bytes', 3, 'MB')}: raise {setting('worker_bytes')}, lower "
        f"{setting('num_bins')}, screen ({setting('screen', 'chi2:9')}) {ON_THE_DRIVER}; "
        f"{option('missing', 'mean')}, {option('labels')}"
    )
    error = BudgetError(text)
    python = "screen='chi2:9') on the driver; missing='mean', labels"
    assert str(error) == f"workerBytes = 3 MB: raise workerBytes, lower numBins, screen ({python}"
    with pytest.raises(BudgetError) as caught, spelled_by(in_arrays):
        raise error
    python = "screen='chi2:9') in this process; missing='mean', labels"
    assert (
        str(caught.value)
        == f"memory_bytes = 3 MB: raise memory_bytes, lower num_bins, screen ({python}"
    )
    assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)
    flags = {"--worker-bytes", "--screen", "--labels-col", "--set"}
    said = (
        "--worker-bytes 3 MB: raise --worker-bytes, lower --set num_bins, screen (--screen "
        "chi2:9) on the driver; "
    )
    assert (
        spelled(text, spelling_of(["select"], flags))
        == said + "--option missing=mean, --labels-col"
    )
    typed = ["select", "--classifier-set", "k=0", "--grid", "alpha=1,x"]
    assert (
        spelled(f"{setting('k')}, {setting('alpha')}", spelling_of(typed, flags))
        == "--classifier-set k, --grid alpha"
    )
    said = spelled(
        text, spelling_of(["select", "--config", "f", "--option", "missing=drop"], flags)
    )
    assert said.startswith("worker_bytes = 3 MB: raise --worker-bytes") and said.endswith(
        "--option missing=mean, labels"
    )


@pytest.mark.parametrize("kind", [ParameterError, BudgetError, NotInstalledError])
def test_a_message_is_plain_text_wherever_it_is_looked_at(kind):
    text = f"{setting('num_bins', 1)}: raise {setting('num_bins')}, {option('missing', 'mean')}"
    plain = "num_bins = 1: raise num_bins, missing='mean'"
    error = kind(text)
    in_spark = plain.replace("num_bins", "numBins")
    assert (str(error), error.args) == (in_spark, (in_spark,))
    assert repr(error) == f'{kind.__name__}("{in_spark}")'
    assert str(pickle.loads(pickle.dumps(error))) == in_spark
    with pytest.raises(kind) as caught, spelled_by(in_arrays):
        raise error from kind(text)
    for again in (caught.value, copy.copy(error), pickle.loads(pickle.dumps(error))):
        assert (str(again), again.args) == (plain, (plain,))
        assert repr(again) == f'{kind.__name__}("{plain}")'
    told = "".join(traceback.format_exception(caught.value))
    assert plain in told and in_spark in told and not set(told) & set("❴❵❲❳❨❩")


@pytest.mark.parametrize("kind", [ParameterError, NotInstalledError])
def test_a_face_spells_a_message_that_was_pickled(kind):
    error = pickle.loads(pickle.dumps(kind(f"raise {setting('num_bins')}")))
    with pytest.raises(kind, match=r"^raise num_bins$"), spelled_by(in_arrays):
        raise error


def test_a_setting_is_named_by_the_face_that_gets_a_workers_error(spark):
    def refuse(batches):
        yield from ()
        raise BudgetError(f"raise {setting('worker_bytes')}")

    with pytest.raises(BudgetError, match=r"raise workerBytes$") as caught, worker_errors():
        spark.range(1).mapInArrow(refuse, "id long").collect()
    assert (
        spelled(marked_text(caught.value), spelling_of(["select"], {"--worker-bytes"}))
        == "raise --worker-bytes"
    )


# ---- a result as it is asked for ----


@pytest.mark.local
def test_one_meaning_of_score_everywhere(run, table, tmp_path):
    base = ("select", "--data", table, *TABLE, "--method", "jmi", "--num-top-features", 2)
    code, said, err = run(*base, "--output", tmp_path / "run")
    assert code == 0, err
    ranking = pd.read_csv(tmp_path / "run" / "ranking.csv", float_precision="round_trip")
    gains = json.loads((tmp_path / "run" / "manifest.json").read_text())["solution"]["gains"]
    assert (
        list(ranking["score"][:2]) == gains
        and np.isnan(ranking["score"][2])
        and ranking["relevance"].notna().all()
    )
    lines = said.splitlines()
    assert lines[1].split() == ["rank", "score", "relevance", "name"]
    for line, row in zip(lines[2:4], ranking.itertuples(), strict=False):
        assert line.split() == [str(row.rank), f"{row.score:.6g}", f"{row.relevance:.6g}", row.name]
    page = (tmp_path / "run" / "report.html").read_text()
    assert ">score</th>" in page and ">relevance</th>" in page and lines[4] in page


@pytest.mark.local
def test_json_is_all_there_is_on_standard_output(run, table, tmp_path):
    code, said, err = run(
        "select",
        "--data",
        table,
        *TABLE,
        "--num-top-features",
        2,
        "--output",
        tmp_path / "run",
        "--json",
    )
    found = json.loads(said)
    assert code == 0 and err == "" and found["output"] == str(tmp_path / "run")
    ranking = pd.read_csv(tmp_path / "run" / "ranking.csv", float_precision="round_trip")[:2]
    assert [row["name"] for row in found["selected"]] == list(ranking["name"])
    assert [row["score"] for row in found["selected"]] == list(ranking["score"])
    code, said, _ = run(
        "transform",
        "--model",
        tmp_path / "run",
        "--data",
        table,
        *TABLE,
        "--output",
        tmp_path / "t",
        "--json",
    )
    assert code == 0 and json.loads(said)["rows"] == 90


@pytest.mark.local
def test_quiet_says_nothing_but_errors(run, refused, table, tmp_path):
    base = (
        "select",
        "--data",
        table,
        *TABLE,
        "--num-top-features",
        2,
        "--output",
        tmp_path / "run",
        "--quiet",
    )
    assert run(*base) == (0, "", "")
    assert "exists" in refused(*base)


@pytest.mark.local
def test_a_dry_run_says_what_the_run_then_does(run, table, tmp_path):
    base = (
        "select",
        "--data",
        table,
        *TABLE,
        "--num-top-features",
        2,
        "--output",
        tmp_path / "run",
    )
    code, said, err = run(*base, "--dry-run", "--json")
    assert code == 0 and err == "" and not (tmp_path / "run").exists()
    found = json.loads(said)
    assert run(*base)[0] == 0
    done = json.loads((tmp_path / "run" / "manifest.json").read_text())
    for name in ("rows", "features", "labels", "packed_bytes", "stored_as"):
        assert found[name] == done["data"][name]
    assert (
        found["one_task"] is not done["cost"]["distributed"]
        and found["kept"] == 2
        and found["statistics"]
    )
    assert all(
        0 < found[name]["needed"] < found[name]["allowed"]
        for name in ("worker_bytes", "driver_bytes")
    )
    text = run(
        "select",
        "--data",
        table,
        *TABLE,
        "--output",
        tmp_path / "x",
        "--dry-run",
        "--worker-bytes",
        1 << 20,
    )[1]
    assert "90 rows x 3 features x 2 labels" in text and "nothing was written" in text


@pytest.mark.local
def test_a_dry_run_of_transform(run, table, tmp_path):
    assert (
        run(
            "select",
            "--data",
            table,
            *TABLE,
            "--num-top-features",
            2,
            "--output",
            tmp_path / "run",
            "--no-report",
        )[0]
        == 0
    )
    base = (
        "transform",
        "--model",
        tmp_path / "run",
        "--data",
        table,
        *TABLE,
        "--as",
        "columns",
        "--output",
        tmp_path / "t",
    )
    code, said, err = run(*base, "--dry-run", "--json")
    found = json.loads(said)
    assert code == 0 and err == "" and not (tmp_path / "t").exists()
    assert (found["rows"], found["features"], found["kept"], found["dense_bytes"]) == (
        90,
        3,
        2,
        8 * 2 * 90,
    )
    assert "2 of 3 features" in run(*base, "--dry-run")[1]
    done = json.loads(run(*base, "--json")[1])
    assert found["columns"] == done["columns"] and found["rows"] == done["rows"]


@pytest.mark.local
def test_a_sample_is_taken_for_all_rows(run, tmp_path):
    """More rows than are looked at: what grows with them does so in proportion."""
    planted = (
        "select",
        "--format",
        "planted",
        "--option",
        "num_rows=9000",
        "--option",
        "num_features=8",
        "--option",
        "num_labels=3",
    )
    found = json.loads(
        run(*planted, "--method", "mim", "--output", tmp_path / "x", "--dry-run", "--json")[1]
    )
    assert found["rows"] == 9000 and found["rows_looked_at"] == 2000
    assert (
        run(*planted, "--method", "mim", "--num-top-features", 3, "--output", tmp_path / "x")[0]
        == 0
    )
    done = json.loads((tmp_path / "x" / "manifest.json").read_text())["data"]
    assert 0.7 < found["packed_bytes"] / done["packed_bytes"] < 1.5


@pytest.mark.local
def test_evaluate_takes_a_file_and_flags_over_it(run, tmp_path):
    base = (
        "evaluate",
        "--config",
        CONF / "evaluate.toml",
        "--output",
        tmp_path / "x",
        "--dry-run",
        "--json",
    )
    found = json.loads(run(*base)[1])
    assert (found["methods"], found["protocol"], found["trials"]) == (
        ["jmi", "all features"],
        "70/30",
        2,
    )
    assert found["classifier_fits"] == 4  # three sizes of jmi, one of all features
    more = (
        "--method",
        "mim",
        "--protocol",
        "2x5-fold",
        "--sizes",
        "3",
        "--classifier",
        "brknn",
        "--no-all-features",
    )
    found = json.loads(run(*base, *more)[1])
    assert (found["methods"], found["classifiers"], found["trials"]) == (["mim"], ["brknn"], 10)


def test_a_file_of_another_kind_is_refused_by_evaluate(refused):
    said = refused("evaluate", "--config", CONF / "quickstart.toml", "--output", "x")
    assert "there is no section [selection] here" in said and "--sizes" in said
    assert "compare takes several" in refused(
        "evaluate", "--config", CONF / "compare.toml", "--output", "x"
    )


# ---- what there is ----


@pytest.mark.parametrize(
    ("registry", "name"), [(r, n) for r in (METHODS, EXTRACTORS, CLASSIFIERS) for n in r]
)
def test_all_about_one(capsys, registry, name):
    assert cli.main(["methods", name]) == 0
    text = capsys.readouterr().out
    entry = registry[name]
    assert (
        entry.when
        and entry.cost
        and f"when   {entry.when}" in text
        and f"cost   {entry.cost}" in text
    )
    assert all(f"{p.name} = {p.default}" in text for p in entry.parameters)
    assert (
        re.search(r"^ {4}\S.*[=≥∑Σ‖⟨ŷ]|min |max ", text, re.M) and "Symbols:" in text
    )  # the formula
    assert cli.main(["methods", name, "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["kind"], found["name"]) == (registry.kind, name) and len(
        found["parameters"]
    ) == len(entry.parameters)


def test_the_index_of_methods_says_the_same_of_the_cost():
    rows = re.findall(r"^\| \[`([\w-]+)`\]\(.*?\) \| .*? \| .*? \| (.*?) \| ", INDEX, re.M)
    told = dict(rows)
    assert {name: METHODS[name].cost for name in METHODS} == {
        name: told.get(name) for name in METHODS
    }


def test_no_such_name(capsys):
    assert cli.main(["methods", "jmj"]) == 2
    said = capsys.readouterr().err
    assert (
        "did you mean 'jmi'" in said and "extractors lift" in said and "classifiers mlknn" in said
    )


@pytest.mark.parametrize(
    ("line", "offered"),
    [
        ("sel", ["select"]),
        ("select --meth", ["--method"]),
        ("select --method mi", ["mim", "mifs"]),
        ("methods br", ["brknn", "br-svm"]),
        ("transform --order r", ["rank"]),
        ("completion -", ["-h", "--help"]),
        ("completion z", ["zsh"]),
        ("transform --model c", ["conf"]),
    ],
)
def test_the_shell_completes(tmp_path, line, offered):
    (tmp_path / "script").write_text(script(parser(), "bash"))
    (tmp_path / "conf").mkdir()
    words = ["spark-mlfs", *line.split(" ")]
    shell = (
        f"source {tmp_path}/script; COMP_WORDS=({' '.join(words)}); "
        f"COMP_CWORD={len(words) - 1}; _shtab_spark_mlfs"
    )
    done = subprocess.run(
        ["bash", "-c", f'{shell}; echo "${{COMPREPLY[@]}}"'],
        capture_output=True,
        text=True,
        check=True,
        cwd=tmp_path,
    )
    assert done.stdout.split() == offered and done.stderr == ""


# ---- before and while a session works ----


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (
            ("select", "--data", "absent.csv", *TABLE, "--output", "x"),
            r"absent.csv: no such file; give a path",
        ),
        (
            ("select", "--data", "{data}", *TABLE, "--option", "labls=y", "--output", "x"),
            r"option 'labls' is not known",
        ),
        (
            ("select", "--data", "{data}", "--format", "csv", "--features", "a", "--output", "x"),
            r"needs --labels-col",
        ),
        (
            ("transform", "--model", "absent", "--data", "{data}", *TABLE, "--output", "x"),
            r"absent: no such saved selection",
        ),
        (
            ("score", "--model", "absent", "--data", "{data}", "--format", "csv", "--output", "x"),
            r"absent: no such saved pipeline",
        ),
        (
            ("check", "--model", "absent", "--data", "{data}", "--format", "csv"),
            r"which columns hold the labels",
        ),
        (
            ("evaluate", "--data", "absent.csv", *TABLE, "--output", "x"),
            r"absent.csv: no such file",
        ),
    ],
)
def test_refused_before_a_session_starts(refused, monkeypatch, tmp_path, table, arguments, line):
    def started(*_, **__):
        raise AssertionError("a session was started")

    monkeypatch.setattr("spark_mlfs.cli.work.of_our_own", lambda: True)
    monkeypatch.setattr("spark_mlfs.cli.work.local_session", started)
    for name in ("HADOOP_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.chdir(tmp_path)
    assert re.search(line, refused(*(str(a).format(data=table) for a in arguments)))


@pytest.mark.local
def test_a_pipe_is_no_file(refused, tmp_path):
    os.mkfifo(tmp_path / "rows.csv")  # reading it would wait for ever
    said = refused("select", "--data", tmp_path / "rows.csv", *TABLE, "--output", tmp_path / "x")
    assert said.endswith(
        "rows.csv is a pipe, and data are read more than once: save them in a file first"
    )


@pytest.mark.slow
@pytest.mark.parametrize("closed", [">&-", "2>&-"])
def test_a_closed_stream_is_written_to_nowhere(closed):
    line = f"{sys.executable} -m spark_mlfs.cli methods mim {closed}"
    done = subprocess.run(["sh", "-c", line], capture_output=True, text=True, check=False)
    assert done.returncode == 0 and done.stderr == "" and bool(done.stdout) == (closed == "2>&-")


@pytest.mark.local
def test_a_text_column_is_no_feature(refused, tmp_path):
    rows = "".join(f"{i},some words {i},x;y\n" for i in range(9))
    (tmp_path / "docs.csv").write_text("doc,body,tags\n" + rows)
    data = (
        "--data",
        tmp_path / "docs.csv",
        "--format",
        "csv",
        "--labels-col",
        "tags",
        "--option",
        "label_delimiter=;",
    )
    said = refused("select", *data, "--features", "body", "--output", tmp_path / "x")
    assert (
        "give --format text --option source=csv --option text=body instead of --features body"
        in said
    )


@pytest.mark.slow
def test_a_stage_shows_the_time_that_passes(monkeypatch):
    class Terminal(io.StringIO):
        def isatty(self):
            return True

    terminal = Terminal()
    monkeypatch.setattr(sys, "stderr", terminal)
    monkeypatch.setattr("spark_mlfs.cli.terminal.SECONDS_BETWEEN_TICKS", 0.2)
    stages = Stages(verbose=False)
    with stages.stage("thinking"):
        time.sleep(2.3)
    assert {"thinking 00:00", "thinking 00:01", "thinking 00:02"} <= set(
        re.findall(r"thinking \d\d:\d\d", terminal.getvalue())
    )
    with stages.stage("reading"), command._notices_in_one_line(False):
        warnings.warn(DataNotice("odd rows"), stacklevel=1)
    shown = [line.rpartition("\r")[2] for line in terminal.getvalue().splitlines()]
    assert "spark-mlfs: note: odd rows" in shown, "it stands behind the progress"
    quiet = Stages(verbose=True, quiet=True)
    terminal.truncate(0)
    with quiet.stage("nothing"):
        pass
    assert "nothing" not in terminal.getvalue() and "nothing" in quiet.seconds


def test_lines_in_a_log_say_when(capfd):
    stages = Stages(verbose=True)
    with stages.stage("thinking"):
        pass
    stages.last_line = -100.0
    stages.report("part", 1, 3)
    lines = capfd.readouterr().err.splitlines()
    assert len(lines) == 2 and all(
        re.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d{4} spark-mlfs: (thinking|part 1 of 3)", a)
        for a in lines
    )


def test_with_json_what_fails_is_an_object(run, table, monkeypatch):
    code, said, err = run("select", "--data", "absent.csv", *TABLE, "--output", "x", "--json")
    found = json.loads(said)
    assert (
        code == 2 == found["code"]
        and err == f"spark-mlfs: error: {found['error']}\n"
        and "no such file" in found["error"]
    )
    for raised, code in ((KeyError("x"), 1), (KeyboardInterrupt(), 130)):
        monkeypatch.setattr(
            work, "data_flags", lambda args, raised=raised: (_ for _ in ()).throw(raised)
        )
        done, said, _ = run("check", "--model", "m", "--format", "json", "--json")
        assert done == code == json.loads(said)["code"] and json.loads(said)["error"]


@pytest.mark.local
def test_an_output_is_dated(run, table, tmp_path, monkeypatch):
    monkeypatch.setattr("spark_mlfs.sections.time.strftime", lambda _: "2026-02-03")
    data = ("--data", table, *TABLE)
    assert (
        json.loads(run("select", *data, "--output", "runs/{date}", "--dry-run", "--json")[1])[
            "output"
        ]
        == "runs/2026-02-03"
    )
    (tmp_path / "c.toml").write_text('[run]\noutput = "a/{date}/b"\n')
    assert (
        json.loads(run("select", "--config", tmp_path / "c.toml", *data, "--dry-run", "--json")[1])[
            "output"
        ]
        == "a/2026-02-03/b"
    )
    assert (
        "a/2026-02-03/b" in run("evaluate", "--config", tmp_path / "c.toml", *data, "--dry-run")[1]
    )


def test_a_dead_server_is_told_at_once(monkeypatch, capfd):
    """In seconds: Spark's client goes on trying for two minutes and a half."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    for name in ("grpc_proxy", "https_proxy", "http_proxy", "PYSPARK_GATEWAY_PORT"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("SPARK_REMOTE", f"sc://127.0.0.1:{port}/;token=secret")
    monkeypatch.setattr("pyspark.sql.SparkSession.getActiveSession", lambda: None)
    started = time.perf_counter()
    code = cli.main(["sample", "documents", "--output", "x"])
    said = capfd.readouterr()
    assert code == 2 and time.perf_counter() - started < 10 and "secret" not in said.err
    first, second = said.err.splitlines()
    assert first.endswith(f"spark-mlfs: connecting to 127.0.0.1:{port}")
    assert second.startswith(
        f"spark-mlfs: error: no Spark Connect server answers at 127.0.0.1:{port} (connection "
        "refused): start"
    )


def test_a_server_that_spark_starts_itself_is_not_asked(monkeypatch):
    for text, found in (
        ("local[2]", None),
        ("sc://host", ("host", 15002)),
        ("sc://[::1]:7/;a=b", ("::1", 7)),
        ("sc://h:x", None),
    ):
        monkeypatch.setenv("SPARK_REMOTE", text)
        assert local.remote() == found
