"""Exception types of the library, and the way a worker's error becomes a user's error again.

An error says what is wrong, where (file and line, row id, column, feature name) and what to do, in one line.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterator
from contextlib import contextmanager
from urllib.parse import unquote


class SparkMlfsError(Exception):
    """Base of every error this library raises on purpose."""


class DataError(SparkMlfsError, ValueError):
    """The data cannot be used as they are."""


class ParameterError(SparkMlfsError, ValueError):
    """A parameter is unknown, of the wrong type or out of its range."""


class BudgetError(SparkMlfsError):
    """A result would not fit into the memory it is allowed; the message names the setting."""


class WorkerBudgetError(BudgetError):
    """One process may not hold all rows and what is asked of them; several tasks may."""


_RAISED = re.compile(r"spark_mlfs\.errors\.(DataError|ParameterError|BudgetError|WorkerBudgetError): (.*)")


def from_worker(error: BaseException) -> SparkMlfsError | None:
    """The library's own error inside a Spark exception (Spark hands a worker's exception on as text), or in place of one that
    tells of what the user can put right; else None."""
    if isinstance(error, SparkMlfsError):
        return error
    found = _RAISED.search(str(error))
    if not found:
        return of_spark(error)
    kinds = {kind.__name__: kind for kind in (DataError, ParameterError, BudgetError, WorkerBudgetError)}
    return kinds[found[1]](found[2].split(" SQLSTATE: ")[0].strip())


@contextmanager
def worker_errors() -> Iterator[None]:
    """Around a Spark action: a `DataError` raised on a worker is raised here as a `DataError`, without the stack."""
    try:
        yield
    except SparkMlfsError:
        raise
    except Exception as error:
        own = from_worker(error)
        if own is None:
            raise
        raise own from None


# ---- what Spark says of a file, a path or a table's columns ----

PACKED = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate")
_READING = re.compile(r"[Ee]ncountered error while reading file\s+(.+?)\.\s+(?:Could not read|SQLSTATE|at |Caused)", re.DOTALL)
_NEWLINES = re.compile(r"\s+")
_COLON = "Hadoop's file systems read no name with a colon; rename it"


def of_spark(error: BaseException) -> SparkMlfsError | None:
    """The library's error in place of Spark's about a file, a path or a table's columns; None for any other."""
    text = str(error)
    found = _READING.search(text)
    if found:
        return _unreadable(re.sub(r"^file:/+", "/", unquote(found[1])), text)
    if "COLUMN_ALREADY_EXISTS" in text or "Found duplicate column" in text:
        name = re.search(r"`([^`]+)`", text)
        return DataError(
            f"two columns differ in nothing but the case of their letters ({name[1] if name else text[:80]}); set "
            "spark.sql.caseSensitive=true for the session, or rename one"
        )
    if "while assembling a row" in text:
        return DataError("a feature column holds a null or NaN; fill it, or drop those rows")
    if "URISyntaxException" in text:
        path = text.rpartition("absolute URI: ")[2].split("\n")[0].strip()
        return DataError(f"{path}: {_COLON}")
    if "Options`" in text and "INVALID_PARAMETER_VALUE" in text or "csv.CSVOptions" in text and "IndexOutOfBounds" in text:
        said = re.search(r"The value of parameter\(s\) (.*?)(?: SQLSTATE|\n|$)", text)
        return DataError(f"reader_options: Spark refuses one of them{': ' + said[1] if said else ''}; correct it")
    return None


def _unreadable(path: str, text: str) -> DataError:
    name = posixpath.basename(path)
    if "CANNOT_READ_FILE_FOOTER" in text or "is not a Parquet file" in text or "Could not read footer" in text:
        return DataError(f"{path}: no Parquet file, or a damaged one; give the format it has, or fetch it again")
    if ":" in name:
        return DataError(f"{path}: {_COLON}")
    if "FILE_NOT_EXIST" in text or "FileNotFoundException" in text:
        return DataError(f"{path}: the file went away while it was read; keep the data still, and start again")
    if "AccessControlException" in text or "Permission denied" in text:
        return DataError(f"{path}: permission denied; make it readable for the user Spark runs as")
    if "MALFORMED_RECORD_IN_PARSING" in text or "Malformed records are detected" in text:
        return DataError(f"{path}: a record cannot be parsed; correct it, or read without mode=FAILFAST")
    if name.endswith(PACKED):
        return DataError(f"{path}: damaged, or not packed as its name says; test it (gzip -t, bzip2 -t) and fetch it again")
    cause = text.rpartition("Caused by: ")[2].split("\n")[0] if "Caused by: " in text else ""
    cause = re.sub(r"^[\w.$]+: ", "", cause)  # the class of Java's exception
    return DataError(f"{path}: cannot be read, it is damaged or of another format{f' ({_one_line(cause)})' if cause else ''}")


def _one_line(text: str) -> str:
    return _NEWLINES.sub(" ", text).strip()[:160]
