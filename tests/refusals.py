"""Wrong inputs as cases: how each is built, how it ends and the line it says.

An exit code is that of `spark_mlfs.cli.main`, an exception that of a call from Python. `None` is
input that is read all the same, with a notice. No case may show a traceback of Python or Java,
write an output, or leave a hidden folder behind. The cases stand in the tests of their rooms."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from spark_mlfs import cli
from spark_mlfs.errors import worker_errors
from spark_mlfs.read import DataNotice

Files = dict[str, "str | bytes | pa.Table"]


@dataclass
class Case:
    name: str
    files: Files
    call: list[str] | Callable[[Any, Path], object]
    ends: int | type[Exception] | None
    line: str


def select(data: str, format: str, *more: str) -> list[str]:
    return [
        "select",
        "--data",
        "{at}/" + data,
        "--format",
        format,
        *more,
        "--method",
        "mim",
        "--output",
        "{at}/out",
    ]


def rows(frame: Any) -> list[Any]:
    with worker_errors():
        return frame.collect()


HEAD = (
    "@relation r\n@attribute a numeric\n@attribute b {red,'light blue'}\n@attribute y "
    "{0,1}\n@data\n"
)
GOOD = HEAD + "1,red,0\n2,'light blue',1\n3,red,1\n"
CSV = "k,a,b,y\n" + "".join(f"{i},{i % 3},{i * i % 7},{i % 2}\n" for i in range(20))
TABLE = ["--features", "a", "b", "--labels-col", "y*", "--id", "k"]
LONG = "x" * 5000
XML = '<?xml version="1.0" encoding="{e}"?><labels><label name="{n}"></label></labels>'
CAFE = "@relation r\n@attribute a numeric\n@attribute café {0,1}\n@data\n1,0\n2,1\n"


def arff_row(name: str, row: str, line: str) -> Case:
    return Case(
        f"arff row: {name}",
        {"d.arff": GOOD + row + "\n"},
        select("d.arff", "arff", "--option", "labels=-1"),
        2,
        line,
    )


def arff_head(name: str, old: str, new: str, line: str) -> Case:
    assert old in HEAD
    files: Files = {"d.arff": GOOD.replace(old, new, 1)}
    return Case(
        f"arff header: {name}", files, select("d.arff", "arff", "--option", "labels=-1"), 2, line
    )


def arff_labels(
    name: str, option: str, line: str, files: Files | None = None, text: str | bytes = GOOD
) -> Case:
    more = ["--option", option] if option else []
    return Case(
        f"arff labels: {name}",
        {"d.arff": text, **(files or {})},
        select("d.arff", "arff", *more),
        2,
        line,
    )


def svm(name: str, row: str, line: str, *options: str) -> Case:
    more = [word for option in options for word in ("--option", option)]
    return Case(
        f"libsvm: {name}",
        {"d.svm": "1 1:2 2:1\n0 1:1 2:3\n" + row + "\n"},
        select("d.svm", "libsvm", *more),
        2,
        line,
    )


def csv(name: str, text: str | bytes, line: str, *more: str) -> Case:
    return Case(f"csv: {name}", {"d.csv": text}, select("d.csv", "csv", *(more or TABLE)), 2, line)


def file(name: str, file: str, content: Any, format: str, line: str, *more: str) -> Case:
    return Case(f"file: {name}", {file: content}, select(file, format, *(more or TABLE)), 2, line)


def toml(name: str, text: str | bytes, line: str) -> Case:
    return Case(
        f"toml: {name}",
        {"r.toml": text},
        ["select", "--config", "{at}/r.toml", "--output", "{at}/out"],
        2,
        line,
    )


def flags(name: str, line: str, *arguments: str) -> Case:
    return Case(f"flags: {name}", {"d.csv": CSV}, list(arguments), 2, line)


def notice(name: str, files: Files, call: Callable[[Any, Path], object], line: str) -> Case:
    return Case(f"notice: {name}", files, call, None, line)


def python(
    name: str,
    call: Callable[[Any, Path], object],
    error: type[Exception],
    line: str,
    files: Files | None = None,
) -> Case:
    return Case(
        f"python: {name}",
        files or {"d.csv": CSV, "d.arff": GOOD, "d.svm": "1 1:2\n"},
        call,
        error,
        line,
    )


def for_spark(cases: list[Case], early: tuple[str, ...]) -> list[Any]:
    """The cases as parameters for Spark: of those whose names begin so, every fourth. The driver,
    or a task, tells them by the code of the local engine."""
    alike = [case.name for case in cases if case.name.startswith(early)]
    left = {name for number, name in enumerate(alike) if number % 4}
    assert left
    return params([case for case in cases if case.name not in left])


def cut(data: bytes) -> bytes:
    return data[: len(data) // 2]


def garbled(data: bytes) -> bytes:
    return data[:20] + bytes(b ^ 0x5A for b in data[20:300]) + data[300:]


def parquet(columns: dict[str, Any], packing: str = "none") -> bytes:
    sink = pa.BufferOutputStream()
    pq.write_table(pa.table(columns), sink, compression=packing)
    return sink.getvalue().to_pybytes()


NUMBERS = {
    "k": list(range(200)),
    "a": [i % 3 / 1 for i in range(200)],
    "b": [i * i % 7 / 1 for i in range(200)],
}
PARQUET = parquet({**NUMBERS, "y": [i % 2 for i in range(200)]}, "snappy")
MANY = (GOOD + "".join(f"{i * 7919 % 1000},red,{i % 2}\n" for i in range(5000))).encode()


def put(folder: Path, files: Files) -> None:
    for name, content in files.items():
        target = folder / name
        target.parent.mkdir(exist_ok=True, parents=True)
        target.write_bytes(content.encode() if isinstance(content, str) else content)


def params(cases: list[Case]) -> list[Any]:
    """The cases as parameters; no two share a name."""
    assert len({case.name for case in cases}) == len(cases) > 0
    return [pytest.param(case, id=case.name) for case in cases]


def ended(case: Case, spark: Any, folder: Path, capfd: Any, *more: str) -> None:
    """Runs a case, a command with `more` flags, and holds it to its exit code or exception, its one
    line, and what is left."""
    put(folder, case.files)
    before = sorted(str(p) for p in folder.rglob("*"))
    if isinstance(case.call, list):
        capfd.readouterr()
        code = cli.main([word.replace("{at}", str(folder)) for word in [*case.call, *more]])
        said = capfd.readouterr()
        lines = [line for line in said.err.splitlines() if line.strip()]
        assert code == case.ends, said.err
        assert len(lines) == 1 and lines[0].startswith("spark-mlfs: error: "), said.err
        assert said.out == ""
        line = lines[0]
    elif case.ends is None:
        with pytest.warns(DataNotice, match=case.line):
            case.call(spark, folder)
        return
    else:
        with pytest.raises(case.ends) as raised:  # type: ignore[arg-type]
            case.call(spark, folder)
        line = str(raised.value)
    assert re.search(case.line, line), line
    assert "\n" not in line and len(line) < 1050
    assert not re.search(
        r"Traceback|org\.apache|java\.lang|\bat [a-z]+\.[a-z]+\.|Py4J|SQLSTATE", line
    ), line
    assert sorted(str(p) for p in folder.rglob("*")) == before


OF_SPARK = re.compile(
    r"flags: (the (path|table) |\w+ with the model |rows beyond|SQL for|a path for|a table that|text without|pattern that"
    r"|unknown language)"
)


def without_spark(
    cases: list[Case], other_words: dict[str, str | None], less_well: tuple[str, ...] = ()
) -> list[Any]:
    """The commands among the cases that the local engine refuses, in its `other_words` if it has
    some (None: it reads the input); those that it tells `less_well` are expected to fail."""
    out = []
    for case in cases:
        line = other_words.get(case.name, case.line)
        if isinstance(case.call, list) and not OF_SPARK.match(case.name) and line is not None:
            marks = [pytest.mark.xfail(strict=True)] if case.name in less_well else []
            out.append(pytest.param(replace(case, line=line), id=case.name, marks=marks))
    assert {*other_words, *less_well} <= {case.name for case in cases}
    return out


def told_without_spark(case: Case, folder: Path, capfd: Any) -> None:
    """Runs a case on the local engine."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        ended(case, None, folder, capfd, "--engine", "local")


def told_on_spark(case: Case, spark: Any, folder: Path, capfd: Any) -> None:
    """Runs a case on Spark."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataNotice)
        ended(case, spark, folder, capfd)
