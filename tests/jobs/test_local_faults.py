"""What goes wrong while this process reads, ranks and writes: one line, and nothing is left."""

from __future__ import annotations

import gzip
import os
import resource
import signal
import subprocess
import sys
import time

import pytest

MANY = (
    "--format",
    "planted",
    "--option",
    "num_rows=200000",
    "--option",
    "num_features=400",
    "--option",
    "num_labels=20",
)
COMMAND = [sys.executable, "-m", "spark_mlfs.cli", "select", "--engine", "local", "--output"]


def started(*arguments, before):
    return subprocess.Popen(
        [*COMMAND, *map(str, arguments)], stderr=subprocess.PIPE, text=True, preexec_fn=before
    )


@pytest.mark.slow
def test_an_interrupt_is_one_line(tmp_path):
    process = started(
        tmp_path / "out",
        *MANY,
        before=lambda: signal.signal(signal.SIGINT, signal.default_int_handler),
    )
    deadline = time.time() + 60
    while (
        time.time() < deadline and process.poll() is None
    ):  # until it works on rows, on threads of its own
        if len(os.listdir(f"/proc/{process.pid}/task")) > 1 + (os.cpu_count() or 1):
            break
        time.sleep(0.05)
    process.send_signal(signal.SIGINT)
    said = process.communicate(timeout=120)[1]
    assert (
        process.returncode == 130
        and said == "spark-mlfs: interrupted\n"
        and not list(tmp_path.iterdir())
    )


@pytest.mark.slow
def test_a_full_disk_is_one_line(tmp_path):
    def little_room():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))

    few = (
        "--format",
        "planted",
        "--option",
        "num_rows=300",
        "--option",
        "num_features=300",
        "--option",
        "num_labels=3",
    )
    process = started(tmp_path / "out", *few, before=little_room)
    said = process.communicate()[1]
    assert (
        process.returncode == 2
        and "cannot be written: a file may not grow so large" in said
        and said.count("\n") == 1
    )
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    "name", ["cut.svm.gz", "cut.csv.gz", "none.parquet", "absent.arff", "cut.arff.bz2"]
)
def test_a_file_that_cannot_be_read_is_named(refused, tmp_path, name):
    path, format = tmp_path / name, name.split(".")[1].replace("svm", "libsvm")
    lines = "a,b,c\n" + "1.5,0,1\n" * 4000 if format == "csv" else "1,0 1:2 3:1\n" * 4000
    if name != "absent.arff":
        content = gzip.compress(lines.encode())
        path.write_bytes(content[: len(content) // 2])
    more = ("--features", "a", "--labels-col", "b", "c") if format in ("csv", "parquet") else ()
    said = refused(
        "select",
        "--data",
        path,
        "--format",
        format,
        *more,
        "--engine",
        "local",
        "--output",
        tmp_path / "out",
    )
    assert str(path) in said and not (tmp_path / "out").exists()
