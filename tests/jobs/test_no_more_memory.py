"""A process that gets no more memory says so in one line, with what to change."""

from __future__ import annotations

import errno

import numpy as np
import pyarrow as pa
import pytest

import spark_mlfs
from spark_mlfs.cli import methods, select
from spark_mlfs.cli.command import main
from spark_mlfs.engine import local
from spark_mlfs.errors import BudgetError, out_of_memory
from spark_mlfs.sklearn import MIMSelector, MLkNNClassifier

X, Y = np.arange(12.0).reshape(6, 2), np.arange(6) % 2


def of_numpy():
    with pytest.raises(MemoryError) as raised:
        np.empty(1 << 50)
    return raised.value


LACKS = [
    MemoryError(),
    of_numpy(),
    pa.lib.ArrowMemoryError("malloc of size 99 failed"),
    pa.lib.ArrowException("Unknown error: Failed to launch worker thread: Resource temporarily"),
    OSError(errno.ENOMEM, "Cannot allocate memory"),
    RuntimeError("can't start new thread"),
    ImportError("libx.so: failed to map segment from shared object"),
]


def raising(error):
    def fail(*args, **kwargs):
        raise error

    return fail


@pytest.mark.parametrize("error", LACKS, ids=lambda error: type(error).__name__)
def test_commands_say_it_in_one_line(error, monkeypatch, capsys):
    monkeypatch.setattr(select, "run", raising(error))
    assert main(["select", "--data", "x"]) == 2
    (line,) = capsys.readouterr().err.splitlines()
    assert line.startswith("spark-mlfs: error: this process may take no more memory")
    assert line.endswith(
        "give fewer rows or features, or --memory-bytes below what it may take, so that larger "
        "work is cut or refused beforehand"
    )


def test_a_command_without_the_setting_names_none(monkeypatch, capsys):
    monkeypatch.setattr(methods, "run", raising(MemoryError("Unable to allocate 2 GiB")))
    assert main(["methods"]) == 2
    assert capsys.readouterr().err == (
        "spark-mlfs: error: this process may take no more memory (Unable to allocate 2 GiB): give "
        "fewer rows or features\n"
    )


@pytest.mark.parametrize(
    "work",
    [
        lambda: spark_mlfs.rank(X, Y, "mim"),
        lambda: MIMSelector().fit(X, Y),
        lambda: MLkNNClassifier(k=2).fit(X, Y),
    ],
)
def test_python_raises_a_budget_error_from_it(work, monkeypatch):
    lack = MemoryError("Unable to allocate 2 GiB")
    monkeypatch.setattr(local.LocalEngine, "__init__", raising(lack))
    with pytest.raises(BudgetError, match=r"\(Unable to allocate 2 GiB\).*memory_bytes") as raised:
        work()
    assert raised.value.__cause__ is lack


def test_other_errors_are_none():
    for error in (RuntimeError("no such"), OSError(2, "absent"), KeyError("memory")):
        assert out_of_memory(error, "memory_bytes") is None
