"""The folder a job writes: refused where it exists, written aside and put in place whole.

A path without a scheme (or ``file:``) is on the driver's own file system. Everything is written
into a hidden sibling folder, which is renamed when it is complete; with ``overwrite`` the old
folder is moved out of the way first and deleted last. Only a folder that an earlier run wrote is
ever replaced. One run at a time writes there (`output.lock`); it deletes what one that was killed
left.

A path with another scheme (``s3:``, ``hdfs:``, ``dbfs:``, ``abfss:`` …) is written by Spark alone,
which cannot rename: each part goes to its place directly, ``ranking.csv``, ``manifest.json`` and
``report.html`` become folders holding one text file, and the manifest is written last: an output
without it is not complete.

In a CSV a text that a spreadsheet would take for a formula (it begins with ``=``, ``+``, ``-``,
``@``, narrow or wide, a tab or an end of a line) has a ``'`` before it. Parquet and JSON hold the
text as it is."""

from __future__ import annotations

import csv
import fnmatch
import io
import os
import re
import secrets
import shutil
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any

import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from pandas.api.types import is_numeric_dtype

from ..errors import DataError, ParameterError, PlatformError, disk_error, full_disk
from ..frames.errors import notice, unless_absent
from ..frames.parquet import ROWS_AT_ONCE, write_table
from ..frames.sessions import jvm_within_reach
from ..lazy import SparkSession
from ..params import from_json
from . import manifest
from .csv_columns import lines_of, plain_texts
from .lock import locked

MANIFEST = "manifest.json"
# of a data set the manifest's name starts with _, which Spark does not take for data
MARKS = (MANIFEST, "_" + MANIFEST)
NOT_VISIBLE = (
    "the workers' files are not visible on this machine: a local output needs a local master or a "
    "shared disk; give --output a path that all can reach, such as s3:, hdfs: or dbfs:"
)
# seconds that a run whose result is ready waits for another to write its own
PATIENCE = 30.0
_SCHEME = re.compile(r"^([A-Za-z][A-Za-z0-9+.-]+):")  # of two letters or more: C:\ is a drive
# mounts that Spark and Python see under one name, and file: does not reach
_SHARED = ("/Volumes/", "/Workspace/", "/dbfs/")


def plain_path(path: str) -> str | None:
    """Return a path of the driver's file system without its scheme; None where it is elsewhere."""
    scheme = _SCHEME.match(path)
    if scheme is not None and scheme[1].lower() != "file":
        return None
    return re.sub(r"^file:(//)?(?=/)", "", path, flags=re.IGNORECASE)


def local_path(path: str) -> Path | None:
    """Return the same path, absolute and without links."""
    plain = plain_path(path)
    return None if plain is None else Path(os.path.realpath(plain))


def _inside(path: str, pattern: str) -> bool:
    """Return whether `path` is, or lies in, what `pattern` stands for."""
    parts = path.rstrip("/").split("/")
    patterns = pattern.rstrip("/").split("/")
    if len(parts) < len(patterns):
        return False
    return all(
        part == sign or (len(sign) < 4096 and fnmatch.fnmatchcase(part, sign))
        for part, sign in zip(parts, patterns, strict=False)
    )


def _canonical(path: str) -> str:
    local = local_path(path)
    if local is not None:
        return str(local)
    return re.sub(r"/{2,}", "/", re.sub(r"^s3[an]:", "s3:", path))


class Output:
    """A job's output folder. Use `check` before any work, then `writing`."""

    def __init__(self, path: str, overwrite: bool) -> None:
        self.path = path.rstrip("/") or path
        self.overwrite = overwrite
        self.local = local_path(path)

    def check(
        self, inputs: Iterable[str] = (), spark: SparkSession | None = None, resumes: bool = False
    ) -> None:
        """Refuse an output that exists, is or contains an input, or lies in one.

        With overwrite it may exist. Of a remote output only Spark can tell whether it exists: give
        the session. Where a run `resumes`, a remote one that was cut short may be there."""
        if self.path.split("/")[0] == "~":
            raise ParameterError(
                f"the output {self.path}: only a shell knows ~, and only without quotes; write the "
                "whole path"
            )
        mine = _canonical(self.path)
        for path in inputs:
            other = _canonical(path)
            if _inside(mine, other):
                raise ParameterError(
                    f"the output {self.path} is, or lies in, the input {path}; choose another "
                    "folder"
                )
            if _inside(other, mine):
                raise ParameterError(
                    f"the input {path} lies in the output {self.path}; choose another folder"
                )
        if not self._exists(spark, resumes):
            return
        if not self.overwrite:
            raise ParameterError(
                f"the output {self.path} exists; give another, or --overwrite to replace it"
            )
        if self.local is not None and not _of_earlier_run(self.local):
            raise ParameterError(
                f"the output {self.path} exists and was not written by spark-mlfs (it has no "
                f"{MANIFEST}): it is not replaced"
            )

    def _exists(self, spark: SparkSession | None, resumes: bool) -> bool:
        if self.local is not None:
            return self.local.exists()
        path = f"{self.path}/_{MANIFEST}" if resumes else self.path
        return spark is not None and exists(spark, path)

    @contextmanager
    def writing(self, spark: SparkSession) -> Iterator[OutputTarget]:
        """Yield a place to write into.

        What was written appears under the output's name when the block ends without an error."""
        if self.local is None:
            mode = "overwrite" if self.overwrite else "error"
            yield OutputTarget(spark, self.path, None, mode)
            return
        target = self.local
        aside = target.with_name(f".{target.name}.{secrets.token_hex(4)}.new")
        with (
            on_a_full_disk(self.path),
            parents_of(aside, self.path),
            one_run(target, self.path, PATIENCE),
        ):
            try:
                _make(aside, self.path)
                yield OutputTarget(spark, spark_path(aside), aside, "error")
                if os.path.lexists(target) and not self.overwrite:
                    raise ParameterError(
                        f"the output {self.path} has come into being meanwhile; give another, or "
                        "--overwrite to replace it"
                    )
                replace_folder(aside, target)
            finally:
                shutil.rmtree(aside, ignore_errors=True)  # gone already where all went well


@contextmanager
def one_run(target: Path, output: str, patience: float = 0.0) -> Iterator[None]:
    """Hold the lock of an output of this machine, and delete what killed runs left of it.

    `ParameterError` where another run holds it after so many seconds."""
    with locked(target.with_name(f".{target.name}.lock"), output, patience):
        _sweep(target)
        yield


def _sweep(target: Path) -> None:
    """Delete what runs that were killed left half-written or half-deleted, and give notice.

    The output that was there before such a run stays where no other is in its place."""
    aside = re.compile(rf"\.{re.escape(target.name)}\.[0-9a-f]{{8}}\.(new|old)")
    with os.scandir(target.parent) as entries:
        left = [
            (match[1], Path(entry.path))
            for entry in entries
            if (match := aside.fullmatch(entry.name)) and entry.is_dir(follow_symlinks=False)
        ]
    for kind, folder in sorted(left):
        if kind == "old" and not os.path.lexists(target):
            notice(f"{folder} is {target.name} as it was before a run that was killed: it is kept")
            continue
        shutil.rmtree(folder, ignore_errors=True)
        if not folder.exists():
            notice(f"{folder} was deleted: a run that was killed had left it")


def _of_earlier_run(folder: Path) -> bool:
    """Return whether a run wrote it, or nothing is in it."""
    for name in MARKS:
        with suppress(OSError, ValueError, AttributeError):
            entries = from_json((folder / name).read_text(encoding="utf-8"))
            if entries.get("tool") == "spark_mlfs":
                return True
    return folder.is_dir() and not any(folder.iterdir())


def replace_folder(aside: Path, target: Path) -> None:
    """Put `aside` in the place of a folder.

    The old one is moved out of the way, comes back on failure, and is deleted last."""
    if not os.path.lexists(target):
        os.rename(aside, target)
        return
    old = target.with_name(f".{target.name}.{secrets.token_hex(4)}.old")
    os.rename(target, old)
    try:
        os.rename(aside, target)
    except BaseException as error:
        try:
            os.rename(old, target)
        except OSError:
            raise DataError(
                f"{target} could not be replaced ({error}) nor brought back: it is {old} now, move "
                "it back"
            ) from None
        raise
    shutil.rmtree(old, ignore_errors=True)


@contextmanager
def parents_of(folder: Path, output: str) -> Iterator[None]:
    """Make the folders that `folder` of an output is to lie in.

    Those that were made and are empty at the end are deleted."""
    fresh = [p for p in folder.parents if not os.path.lexists(p)]  # innermost first
    try:
        _make(folder.parent, output)
        yield
    finally:
        with suppress(OSError):  # not empty
            for parent in fresh:
                parent.rmdir()


def _make(folder: Path, output: str) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        reason = full_disk(str(error)) or error.strerror or error
        raise ParameterError(f"cannot write the output {output}: {reason}") from None


@contextmanager
def on_a_full_disk(path: str) -> Iterator[None]:
    """Surround writing the output `path`: of a full disk the error is one line that names it.

    It takes the place of what Python, Arrow or Spark raise."""
    try:
        yield
    except PlatformError:
        raise
    except Exception as error:
        of_disk = disk_error(error, f"the output {path}")
        if of_disk is None:
            raise
        raise of_disk from None


class OutputTarget:
    """Where the parts of one output are written: a folder of this machine, or a path only Spark
    knows."""

    def __init__(
        self,
        spark: SparkSession,
        path: str,
        folder: Path | None,
        mode: str,
    ) -> None:
        self.spark = spark
        self.path = path
        self.folder = folder
        self.mode = mode

    def text(self, name: str, content: str) -> None:
        """Write a small text file; on a remote file system a folder with one."""
        if self.folder is not None:
            (self.folder / name).write_text(content, encoding="utf-8")
            return
        lines = [(line,) for line in content.rstrip("\n").split("\n")]
        frame = self.spark.createDataFrame(lines, "value string").coalesce(1)
        frame.write.mode(self.mode).text(f"{self.path}/{name}")

    def json(self, name: str, entries: Mapping[str, Any]) -> None:
        self.text(name, manifest.as_json(entries))

    def model(self, name: str, saved: Any) -> None:
        if self.folder is not None and hasattr(saved, "save_here"):
            saved.save_here(self.folder / name)
            return
        from pyspark.ml import PipelineModel

        from ..ml.persistence import StageWriter, save_pipeline

        path = f"{self.path}/{name}"
        overwrite = self.mode == "overwrite"
        if isinstance(saved, PipelineModel) and not jvm_within_reach():
            save_pipeline(self.spark, saved, path, overwrite)
            self.require_data(name)
            return
        writer = saved.write()
        if self.folder is not None and isinstance(writer, StageWriter):
            writer.save_here(self.folder / name)
            return
        if overwrite:
            writer = writer.overwrite()
        writer.save(path)
        self.require_data(name)

    def table(self, name: str, frame: pd.DataFrame, saved: Path | None = None) -> None:
        """Write a table as Parquet and CSV; `saved` is a file that has it already, here."""
        if self.folder is not None:
            parquet = self.folder / f"{name}.parquet"
            if saved is None:
                write_table(frame, parquet)
            else:
                shutil.copyfile(saved, parquet)
            with (self.folder / f"{name}.csv").open("w", encoding="utf-8") as file:
                file.writelines(csv_parts(frame))
            return
        rows = self.spark.createDataFrame(frame).coalesce(1)
        rows.write.mode(self.mode).parquet(f"{self.path}/{name}.parquet")
        self.text(f"{name}.csv", csv_text(frame))

    def require_data(self, name: str = "") -> None:
        """Raise `DataError` where Spark's workers wrote to their own disks.

        On a cluster a local path may be another machine's."""
        if self.folder is None:
            return
        files = (self.folder / name).rglob("part-*")
        if not any(path.is_file() for path in files):
            raise DataError(NOT_VISIBLE)


# the signs, as wide as an ideograph too, behind a byte order mark, which readers pass over
_FORMULA = re.compile("^['\ufeff]*[=+\\-@\t\r\n\uff1d\uff0b\uff0d\uff20]")
_RETURN = re.compile("\r")


def csv_text(frame: pd.DataFrame) -> str:
    """Return a pandas frame as CSV, its texts and column names escaped for spreadsheets."""
    return "".join(csv_parts(frame))


def csv_parts(frame: pd.DataFrame) -> Iterator[str]:
    """Yield the text of `csv_text`, some rows after the others."""
    names = [*frame.columns]
    columns = [frame.iloc[:, place] for place in range(len(names))]
    texts = {place: plain_texts(column) for place, column in enumerate(columns)}
    plain = {place: cells for place, cells in texts.items() if cells is not None}
    cells = [
        column
        for place, column in enumerate(columns)
        if place not in plain and not is_numeric_dtype(column.dtype)
    ]
    quoting: Any = csv.QUOTE_MINIMAL
    if any(_hold(_RETURN, column) for column in [pd.Series(names, dtype=object), *cells]):
        quoting = csv.QUOTE_NONNUMERIC  # it ends a line for most readers, and is not quoted else
    yield _lines([[*map(_escaped, names)]], quoting)
    for first in range(0, len(frame), ROWS_AT_ONCE):
        rows = [column.iloc[first : first + ROWS_AT_ONCE] for column in columns]
        rows = [row if place in plain else _safe(row) for place, row in enumerate(rows)]
        at_once = None
        if quoting == csv.QUOTE_MINIMAL:
            parts = {place: cells.slice(first, ROWS_AT_ONCE) for place, cells in plain.items()}
            at_once = lines_of(rows, parts)
        yield at_once or _lines(zip(*map(_written, rows), strict=True), quoting)


def _lines(rows: Iterable[Sequence[Any]], quoting: Any) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n", quoting=quoting).writerows(rows)
    return text.getvalue()


def _safe(column: pd.Series) -> pd.Series:
    """Return cells of which none is a formula to a spreadsheet, times as texts."""
    if column.dtype.kind in "mM":  # as pandas writes times
        column = column.astype(str).where(column.notna())
    if is_numeric_dtype(column.dtype) or not _hold(_FORMULA, column):
        return column
    return pd.Series([*map(_escaped, column.tolist())], dtype=object)


def _written(column: pd.Series) -> list[Any]:
    """Return cells as a writer of CSV takes them: nothing for a missing one."""
    cells: list[Any] = column.tolist()
    if column.hasnans:
        absent = column.isna().tolist()
        cells = ["" if lacks else cell for cell, lacks in zip(cells, absent, strict=True)]
    return cells


def _hold(pattern: re.Pattern[str], column: pd.Series) -> bool:
    """Return whether some cell, as a text, matches a pattern."""
    try:
        texts = pa.array(column, pa.large_string(), from_pandas=True)
    except (pa.ArrowException, UnicodeError):
        return any(pattern.search(str(cell)) for cell in column)
    return bool(pc.any(pc.match_substring_regex(texts, pattern.pattern)).as_py())


def _escaped(cell: Any) -> Any:
    if isinstance(cell, str) and _FORMULA.match(cell):
        return "'" + cell
    return cell


def spark_path(path: Path) -> str:
    """Return the name of a local folder for Spark, whatever its default file system is."""
    text = str(path)
    return text if text.startswith(_SHARED) else "file://" + text


def exists(spark: SparkSession, path: str) -> bool:
    """Return whether there is anything at a path that only Spark knows."""
    with unless_absent():
        _ = spark.read.format("binaryFile").load(path).schema
        return True
    return False
