"""What Spark says of a file it cannot read, as the library's own one line; and what a reader tells without refusing."""

from __future__ import annotations

import posixpath
import re
import warnings
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from urllib.parse import unquote

from ..errors import DataError, SparkMlfsError, from_worker

PACKED = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate")
_READING = re.compile(r"[Ee]ncountered error while reading file\s+(.+?)\.\s+(?:Could not read|SQLSTATE|at |Caused)", re.DOTALL)
_NEWLINES = re.compile(r"\s+")


class DataNotice(UserWarning):
    """Something about the data that was read all the same and should be known, in one line."""


def notice(text: str) -> None:
    """Warns of `text`, once a process."""
    warnings.warn_explicit(DataNotice(text), None, "spark-mlfs", 0, registry=_told)


_told: dict = {}


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


_COLON = "Hadoop's file systems read no name with a colon; rename it"


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


@contextmanager
def reading() -> Iterator[None]:
    """Around whatever a reader asks of Spark: the errors of workers and of files are the library's own."""
    try:
        yield
    except SparkMlfsError:
        raise
    except Exception as error:
        own = from_worker(error) or of_spark(error)
        if own is None:
            raise
        raise own from None


def first_repeated(names: Sequence[str]) -> str | None:
    """The first name that is there twice."""
    seen: set[str] = set()
    for name in names:
        if name in seen:
            return name
        seen.add(name)
    return None
