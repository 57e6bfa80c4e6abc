"""Exception types of the library, and the way a worker's error becomes a user's error again.

An error says what is wrong, where (file and line, row id, column, feature name) and what to do, in
one line.

>>> issubclass(DataError, SparkMlfsError), issubclass(DataError, ValueError)
(True, True)
>>> issubclass(BudgetError, ValueError)
False"""

from __future__ import annotations

import json
import os
import posixpath
import re
import shutil
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from errno import ENOMEM
from typing import Any, TypeVar
from urllib.parse import unquote

# ---- settings by name: a message holds a mark, which every face of the package spells in its own
# way ----

# rare brackets by kind: what an action of the user raises on a worker, Spark reports as it is, and
# there no face spells a mark
_BRACKETS = {
    "setting": ("❴", "❵"),
    "option": ("❲", "❳"),
    "words": ("❨", "❩"),
}
_KINDS = {opening: kind for kind, (opening, _) in _BRACKETS.items()}
_MARK = re.compile("([❴❲❨])([^❴❲❨❵❳❩=]*)(?:=([^❴❲❨❵❳❩]*))?[❵❳❩]")
_IN_VALUES = str.maketrans("❴❲❨❵❳❩", "<<<>>>")
LONGEST_VALUE = 120  # characters of a value that a message quotes
Spelling = Callable[[str, str, "str | None"], str]  # of a mark's kind, name and value


def setting(name: str, value: object = None, unit: str = "") -> str:
    """Return the mark of a setting, of the estimators or of a method, for a message.

    ``f"raise {setting('worker_bytes')}"``; with a `value`, ``setting("screen", "chi2:5000")``."""
    return _mark("setting", name, value, unit)


def option(name: str, value: object = None) -> str:
    """Return the mark of an option of a reader for a message."""
    return _mark("option", name, value)


def as_text(column: str) -> str:
    """Return the mark of a remedy: read the words of a column."""
    return _mark("words", AS_TEXT, column)


def beyond(
    size: int,
    name: str,
    allowed: int,
    place: str = "",
) -> str:
    """Return the part of a message about a `size` in bytes above a budget.

    "5 MB on the driver, more than driverBytes = 3 MB: raise driverBytes"; other remedies may
    follow."""
    megabytes = -(-size >> 20)
    suffix = f" {place}" if place else ""
    limit = setting(name, allowed >> 20, "MB")
    return f"{megabytes} MB{suffix}, more than {limit}: raise {setting(name)}"


def _mark(
    kind: str,
    name: str,
    value: object = None,
    unit: str = "",
) -> str:
    opening, closing = _BRACKETS[kind]
    if value is None:
        return opening + name + closing
    text = json.dumps(value) if isinstance(value, dict) else shown(value)
    suffix = f" {unit}" if unit else ""
    return f"{opening}{name}={text.translate(_IN_VALUES)}{suffix}{closing}"


ON_THE_DRIVER = _mark("words", "on the driver")
ONE_WORKER = _mark("words", "one worker process")
AS_TEXT = "read it by spark_mlfs.read.text with text"
QUOTES = ("'", '"')


def shown(value: Any) -> str:
    """Return a value as a message quotes it, in at most 120 characters of one line.

    A value of NumPy's is quoted as Python's."""
    value = value.item() if getattr(value, "ndim", None) == 0 else value
    try:
        text = " ".join(repr(value).split("\n"))
    except (RecursionError, ValueError):  # nested too deep, a number of too many digits
        text = f"a {type(value).__name__} that is too large to show"
    if len(text) <= LONGEST_VALUE:
        return text
    if text[0] in QUOTES:
        return text[: LONGEST_VALUE - 2] + "…" + text[0]
    return text[: LONGEST_VALUE - 1] + "…"


def quantity(count: int, noun: str) -> str:
    """Return a number of things, whose plural ends in s.

    >>> quantity(1, "row"), quantity(1200, "row")
    ('1 row', '1200 rows')"""
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def camel(name: str) -> str:
    """Return a name as pyspark.ml writes it."""
    first, *others = name.split("_")
    return first + "".join(word.capitalize() for word in others)


def in_python(kind: str, name: str, value: str | None) -> str:
    """Spell a mark as an assignment of Python, or as the keyword of a call.

    A text, or an option, is the keyword of a call."""
    if value is None:
        return name
    is_assignment = kind == "setting" and value[:1] not in QUOTES
    return f"{name} = {value}" if is_assignment else f"{name}={value}"


def in_pyspark(kind: str, name: str, value: str | None) -> str:
    """Spell a mark as the estimators of pyspark.ml do."""
    if kind == "setting":
        name = camel(name)
    return in_python(kind, name, value)


def spelled(text: str, spelling: Spelling = in_pyspark) -> str:
    """Return a message in the words of a face."""
    return _MARK.sub(lambda mark: spelling(_KINDS[mark[1]], mark[2], mark[3]), text)


# of the face that is at work
_FACE: ContextVar[Spelling] = ContextVar("face", default=in_pyspark)


@contextmanager
def face(spelling: Spelling) -> Iterator[None]:
    """Let `spelled_here` name settings in that way within this block."""
    token = _FACE.set(spelling)
    try:
        yield
    finally:
        _FACE.reset(token)


def spelled_here(value: Any) -> Any:
    """Return a message, or what holds some, in the words of the face that is at work."""
    if isinstance(value, str):
        return spelled(value, _FACE.get())
    if isinstance(value, list):
        return [*map(spelled_here, value)]
    if isinstance(value, dict):
        return {name: spelled_here(part) for name, part in value.items()}
    return value


def task_context() -> Any:
    """Return Spark's context of the task that a worker runs; None outside of one."""
    module = sys.modules.get("pyspark.taskcontext")
    return None if module is None else module.TaskContext.get()


# in words of Python, of the loader, of C++ and Arrow, where no MemoryError is raised
_LACKS_MEMORY = (
    "can't start new thread",
    "Failed to launch worker thread",
    "failed to map segment from shared object",
    "Cannot allocate memory",
    "std::bad_alloc",
)


AnyError = TypeVar("AnyError", bound="SparkMlfsError")


class SparkMlfsError(Exception):
    """Base of every error this library raises. Its text names settings as pyspark.ml does, or as
    the face that raises it.

    >>> import spark_mlfs
    >>> try:
    ...     spark_mlfs.rank([[1, 0], [0, 1]], [0, 1], screen="jmi")
    ... except spark_mlfs.SparkMlfsError as error:
    ...     print(error)
    screen must be METHOD:COUNT, such as chi2:10000, not 'jmi'"""

    _is_spelled = False  # by a face: no other one changes the words then

    def __init__(self, message: object = "") -> None:
        self._marked_text = str(message)
        super().__init__(spelled(self._marked_text))

    def __str__(self) -> str:
        if not self._is_spelled and task_context() is not None:
            return self._marked_text  # Spark sends it to the driver, where a face spells it
        return Exception.__str__(self)

    def reworded(self: AnyError, change: Callable[[str], str]) -> AnyError:
        """Return an error of the same kind whose message, its marks in it, is changed."""
        return type(self)(change(self._marked_text))

    def spell(self, spelling: Spelling) -> None:
        """Name settings in that way wherever the message is looked at."""
        self.args = (spelled(self._marked_text, spelling),)
        self._is_spelled = True


def marked_text(error: SparkMlfsError | DataNotice) -> str:
    """Return the message of an error with its marks, for who spells them in another way."""
    return error._marked_text


@contextmanager
def spelled_by(spelling: Spelling) -> Iterator[None]:
    """Let the library's errors out of this block name settings in that way.

    A lack of memory is one of them."""
    try:
        with face(spelling), memory_errors():
            yield
    except SparkMlfsError as error:
        if not error._is_spelled:
            error.spell(spelling)
        raise


class DataError(SparkMlfsError, ValueError):
    """The data cannot be used as they are.

    >>> import spark_mlfs
    >>> spark_mlfs.rank([[1, 1], [1, 1]], [0, 1])
    Traceback (most recent call last):
    spark_mlfs.errors.DataError: every feature in 'X' is constant; there is nothing to rank"""


class ParameterError(SparkMlfsError, ValueError):
    """A parameter is unknown, of the wrong type or out of its range.

    >>> import spark_mlfs
    >>> spark_mlfs.rank([[0, 1], [1, 0]], [0, 1], "jmi", num_bins=1)
    Traceback (most recent call last):
    spark_mlfs.errors.ParameterError: num_bins must be a whole number from 2 to 250, not 1"""


class BudgetError(SparkMlfsError):
    """A result would not fit into the memory it is allowed; the message names the setting.

    >>> import numpy as np, spark_mlfs
    >>> try:
    ...     spark_mlfs.rank(np.eye(500), np.arange(500) % 2, "ridge", memory_bytes=1 << 20)
    ... except BudgetError as error:
    ...     print(str(error).partition(":")[0])
    Gram over 500 features needs 2 MB in this process, more than memory_bytes = 1 MB"""


class PlatformError(SparkMlfsError):
    """The platform of a run lacks something: room on a disk, the package on a worker."""


class NotInstalledError(PlatformError, ImportError):
    """A package that this needs is not installed, or goes with another version of one that is."""


class WorkerBudgetError(BudgetError):
    """One process may not hold all rows and what is asked of them; several tasks may."""


def must_fit(
    size: int,
    allowed: int,
    name: str,
    needs: str,
    remedy: str,
    place: str = "",
    error: type[BudgetError] = BudgetError,
) -> None:
    """Raise an `error` where the `size` in bytes is above what the setting `name` allows.

    The message says what `needs` it, and a further `remedy`."""
    if size > allowed:
        raise error(f"{needs} {beyond(size, name, allowed, place)}, {remedy}")


def out_of_memory(error: BaseException, name: str | None) -> BudgetError | None:
    """Return the error for memory that this process did not get; None for any other `error`.

    It names the setting `name`, if there is one that bounds the work."""
    text = " ".join(str(error).split())
    lacks = isinstance(error, MemoryError) or getattr(error, "errno", None) == ENOMEM
    if type(error).__module__.partition(".")[0] in ("builtins", "pyarrow"):  # no error of Spark's
        lacks = lacks or any(sign in text for sign in _LACKS_MEMORY)
    if not lacks:
        return None
    reason = f" ({text[:LONGEST_VALUE]})" if text else ""
    remedy = "give fewer rows or features"
    if name is not None:
        remedy += (
            f", or {setting(name)} below what it may take, so that larger work is cut or refused "
            "beforehand"
        )
    return BudgetError(f"this process may take no more memory{reason}: {remedy}")


@contextmanager
def memory_errors(name: str = "memory_bytes") -> Iterator[None]:
    """Raise `BudgetError`, which names a setting, where this block gets no more memory."""
    try:
        yield
    except Exception as error:
        lack = out_of_memory(error, name)
        if lack is None:
            raise
        raise lack from error


class DataNotice(UserWarning):
    """Something about data, or a ranking, that stands all the same and should be known, in one
    line. Its text names settings as Python does, that of a command its flags."""

    def __init__(self, message: object = "") -> None:
        self._marked_text = str(message)
        super().__init__(spelled(self._marked_text, in_python))


class ForecastNotice(DataNotice):
    """How long something takes, in one line, while it does."""


_ON_WORKERS: dict[str, type[SparkMlfsError]] = {
    kind.__name__: kind
    for kind in (
        DataError,
        ParameterError,
        BudgetError,
        PlatformError,
        NotInstalledError,
        WorkerBudgetError,
    )
}
_RAISED = re.compile(rf"spark_mlfs\.errors\.({'|'.join(_ON_WORKERS)}): (.*)")


def from_worker(error: BaseException) -> SparkMlfsError | None:
    """Return the library's error in place of one that Spark or an import raised.

    It is the error of this library that Spark reports as text, or one about what the user can put
    right; None for any other."""
    if isinstance(error, SparkMlfsError):
        return error
    if isinstance(error, ImportError):
        return _of_import(error)
    raised = _RAISED.search(str(error))
    if not raised:
        return of_spark(error)
    kind = _ON_WORKERS[raised[1]]
    return kind(raised[2].split(" SQLSTATE: ")[0].strip())


def for_driver(error: SparkMlfsError) -> str:
    """Return an error of a worker as the text in which `from_worker` knows it again."""
    return f"{__name__}.{type(error).__name__}: {error}"


@contextmanager
def worker_errors() -> Iterator[None]:
    """Raise an error of a worker as itself, around a Spark action or an import.

    A `DataError` raised on a worker is raised here as a `DataError`, without the stack."""
    try:
        yield
    except SparkMlfsError:
        raise
    except Exception as error:
        replacement = from_worker(error)
        if replacement is None:
            raise
        raise replacement from None


def _of_import(error: ImportError) -> NotInstalledError | None:
    """Return the error about a package that is missing, or does not go with another one.

    None for any other error."""
    if error.name and error.name.partition(".")[0] in ("pyspark", "py4j"):
        without = "spark_mlfs.rank and spark_mlfs.sklearn need none"
        return NotInstalledError(
            f"this needs Spark, which is not installed: pip install 'spark_mlfs[local]'; {without}"
        )
    if str(error).startswith("pyarrow requires NumPy"):
        return NotInstalledError(
            f"{error}: pip install 'pyarrow<26', or 'numpy>=2' where pyspark allows it"
        )
    return None


# ---- what Spark reports of a file, a path or a table's columns ----

LARGE_WHOLE = (
    "whole numbers above 2^53, which become equal as float64; drop ids, or subtract the least"
)
PACKED = (".gz", ".bz2", ".zst", ".lz4", ".snappy", ".deflate")
_READING = re.compile(r"\s*(\S.*?)\.\s{1,20}(?:Could not read|SQLSTATE|at |Caused)", re.DOTALL)
_ABSENT = re.compile(r"ModuleNotFoundError: No module named '([\w.]+)'")
_WRITING = re.compile(r"Task failed while writing rows to (\S+?)\.?\s")
_FULL = {
    "no space left on device": "the disk is full",
    "disk quota exceeded": "the quota is used up",
    "file too large": "a file may not grow so large there (ulimit -f)",
}
# of Java's stack where Spark writes what it spills, caches or shuffles
_SPARKS_OWN = (
    "DiskBlockObjectWriter",
    "storage.DiskStore",
    "SpillWriter",
    "shuffle.sort",
    "SpillableColumnarBatch",
)
_COLON = "Hadoop's file systems read no name with a colon; rename it"
# of the workers, of tables and of a Connect server: what Spark and Hadoop report, the class of our
# error and its message
_OF_WORKERS: dict[str, tuple[type[SparkMlfsError], str]] = {
    r"\[LOCATION_ALREADY_EXISTS\][^\n]*location '([^']*)'": (
        DataError,
        "{} lies where the table is to be, of one that is no more: delete it, or give another name",
    ),
    r'Cannot run program "([^"]*)"': (
        PlatformError,
        "the workers' Python {} cannot be run: correct PYSPARK_PYTHON (or spark.pyspark.python)",
    ),
    r"different version: (\d+\.\d+) than that in driver:? (\d+\.\d+)": (
        PlatformError,
        "the workers run Python {}, this process Python {}, and Spark needs the same: set "
        "PYSPARK_PYTHON, on a server of Spark Connect where it is started, or start this process "
        "with the workers' Python",
    ),
    r"DirectByteBuffer\.<init>\(long, int\) not available": (
        PlatformError,
        "the Arrow of this Spark needs Java 17 to 20, and Spark runs on a newer one: start Spark "
        "3.5 on Java 17 (JAVA_HOME), or take Spark 4",
    ),
    (
        r"(?s)\A(?=.*Python worker).*(?:MemoryError|failed to map segment from shared object"
        r"|Cannot allocate memory|can't start new thread)"
    ): (
        PlatformError,
        "a Python worker may take no more memory: all workers of an executor share what "
        "spark.executor.pyspark.memory says; set it higher, or leave it out",
    ),
    r"(?s)StatusCode\.UNAVAILABLE(?:.*?details = \"([^\"\n]{1,200}))?": (
        PlatformError,
        "the Spark Connect server answers no more ({}): see what it says, start it again, and run "
        "this again in a new session",
    ),
    r"INVALID_HANDLE\.(SESSION_\w+)|(RESPONSE_ALREADY_RECEIVED|NO_ACTIVE_SESSION)": (
        PlatformError,
        "the Spark Connect server knows this session no more, it was started again or closed it: "
        "run this again in a new session",
    ),
}
# of paths, names and columns
_OF_PATHS = {
    r"(?:COLUMN_ALREADY_EXISTS|Found duplicate column)(?:[^`]*`([^`]+)`)?": "two columns differ in "
    "nothing but the case of their letters ({}); set spark.sql.caseSensitive=true for the "
    "session, or rename one",
    r"Illegal Parquet type: ([^\n]{1,60}?)\.? ?(?:SQLSTATE|\n|$)": "Spark reads no Parquet column "
    "of type {}; of times write microseconds, as by to_parquet(path, coerce_timestamps='us') "
    "of pandas, of numbers of 16 bits those of 32",
    "while assembling a row": "a feature column holds a null or NaN; fill it, or drop those rows",
    r"Illegal file pattern: ([^\n]{1,200})": "no pattern of paths ({}): close its bracket, or "
    "write \\ before it",
    r"Expected scheme[^\n:]{1,60}: ([^\n]{1,200})": "{} is no path: write what follows the scheme, "
    "as in scheme://host/path",
    r"Incomplete HDFS URI, no host: (\S{1,200})": "{}: it names no host; write hdfs://HOST/path",
    r"UnknownHostException: (\S{1,200})": "there is no host {}; correct the path",
    r"ConnectException: Call From \S{1,200} to (\S{1,200}) failed": "{} takes no connection; "
    "correct the path, or start it",
    r"Class org\.apache\.hadoop\.fs\.[\w.]{0,99}\.(\w{1,99}) not found": "this Spark has no {}: "
    "add it with --packages",
    r"URISyntaxException(?:(?s:.*)absolute URI: ([^\n]*))?": "{}: " + _COLON,
}
NO_PARQUET = "no Parquet file, or a damaged one; give the format it has, or fetch it again"
# of a file while it is read
_OF_FILES = {
    r"CANNOT_READ_FILE_FOOTER|is not a Parquet file|Could not read footer": NO_PARQUET,
    r"FILE_NOT_EXIST|FileNotFoundException": "the file went away while it was read; keep the data "
    "still, and start again",
    r"AccessControlException|Permission denied": "permission denied; make it readable for the user "
    "Spark runs as",
    r"MALFORMED_RECORD_IN_PARSING|Malformed records are detected": "a record cannot be parsed; "
    "correct it, or read without mode=FAILFAST",
}


def of_spark(error: BaseException) -> SparkMlfsError | None:
    """Return the library's error in place of Spark's about a file, a path or a table's columns.

    None for any other error."""
    text = str(error)
    full = disk_error(error)
    if full:
        return full
    for sign, (kind, message) in _OF_WORKERS.items():
        match = re.search(sign, text)
        if match:
            return kind(message.format(*match.groups()))
    absent = _ABSENT.search(text)
    if absent:
        return _absent_on_workers(absent[1].partition(".")[0])
    reading = _READING.match(text.partition("ncountered error while reading file")[2])
    if reading:
        return _unreadable(_without_scheme(unquote(reading[1])), text)
    for sign, message in _OF_PATHS.items():
        match = re.search(sign, text)
        if match:
            parts = ((part or text[:80]).strip() for part in match.groups())
            return DataError(message.format(*parts))
    is_value_refused = "Options`" in text and "INVALID_PARAMETER_VALUE" in text
    is_csv_refused = "csv.CSVOptions" in text and "IndexOutOfBounds" in text
    if is_value_refused or is_csv_refused:
        match = re.search(r"The value of parameter\(s\) (.*?)(?: SQLSTATE|\n|$)", text)
        reason = f": {match[1]}" if match else ""
        return DataError(f"reader_options: Spark refuses one of them{reason}; correct it")
    return None


def _absent_on_workers(name: str) -> PlatformError:
    """Return the error about a Python package that the workers do not have."""
    if "SPARK_LOCAL_REMOTE" in os.environ:  # a server on this machine that this process started
        program = os.environ.get("PYSPARK_PYTHON") or shutil.which("python3")
        return PlatformError(
            f"{program} runs the workers and has no Python package {name}: set "
            f"PYSPARK_PYTHON={sys.executable}"
        )
    remedy = "install it on every one"
    if name == "spark_mlfs":
        remedy += ", or pass a zip of it (--py-files spark_mlfs.zip)"
    return PlatformError(f"the workers have no Python package {name}: {remedy}")


def _without_scheme(path: str) -> str:
    return re.sub(r"^file:/+", "/", path)


def full_disk(text: str) -> str | None:
    """Return the message of an error about a full disk; None for any other error."""
    lower = text.lower()
    return next((message for sign, message in _FULL.items() if sign in lower), None)


def disk_error(error: BaseException, output: str | None = None) -> PlatformError | None:
    """Return the error about a full disk in place of one of Python, Arrow or Spark.

    The message names the `output` that was written; None for any error of another cause."""
    text = str(error)
    cause = full_disk(text)
    if cause is None:
        return None
    writing = _WRITING.search(text)
    if output is None and writing:
        output = _without_scheme(writing[1])
    place = "where Spark keeps its working files (spark.local.dir)"
    if any(sign in text for sign in _SPARKS_OWN):
        remedy = f"{cause} {place}; free some room there"
    elif output:
        remedy = f"{output} cannot be written: {cause}; free some room there"
    else:
        remedy = f"{cause}; free some room where the output goes and {place}"
    return PlatformError(f"{remedy}, and start again")


def _unreadable(path: str, text: str) -> DataError:
    """Return the error about a file that Spark cannot read, from the `text` of Spark's."""
    name = posixpath.basename(path)
    matches = (message for sign, message in _OF_FILES.items() if re.search(sign, text))
    reason = next(matches, None)
    if ":" in name and reason != NO_PARQUET:
        reason = _COLON
    if reason is None and name.endswith(PACKED):
        reason = (
            "damaged, or not packed as its name says; test it (gzip -t, bzip2 -t) and fetch it "
            "again"
        )
    if reason is None:
        cause = _root_cause(text)
        addition = f" ({cause})" if cause else ""
        reason = f"cannot be read, it is damaged or of another format{addition}"
    return DataError(f"{path}: {reason}")


def _root_cause(text: str) -> str:
    """Return the last cause that Java's stack names, without the class of its exception."""
    if "Caused by: " not in text:
        return ""
    line = text.rpartition("Caused by: ")[2].split("\n")[0]
    return " ".join(re.sub(r"^[\w.$]+: ", "", line).split())[:160]
