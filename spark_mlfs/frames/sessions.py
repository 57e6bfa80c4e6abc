"""Sessions: how many rows go to Python at once, how many files a task takes, pandas, the JVM,
Connect."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

from ..errors import DataError, ParameterError
from ..lazy import DataFrame, SparkSession
from .clock import times_of_the_clock, with_columns, with_times
from .frame import LocalFrame, LocalSession
from .names import with_text_names
from .tables import arrow_table, frame_of

BATCH_BYTES = 4 << 20  # of an Arrow batch, about
BATCH_ROWS = 2000  # of one where Spark cannot count bytes
# that a file weighs beside its content: of small ones a task takes 1,024, of Spark's 4 MB only 32
FILE_BYTES = 128 << 10
FILE_WEIGHT = "spark.sql.files.openCostInBytes"
_BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_BATCH_RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_STACK = "spark.sql.connect.serverStacktrace.enabled"
_SETTING = threading.Lock()
ARRAYS = "for tables in memory call spark_mlfs.rank or the estimators of spark_mlfs.sklearn"
OF_THE_JVM = "a Connect client before 4.0 has none of the JVM's classes"


@contextmanager
def small_batches(
    spark: SparkSession, row_bytes: Callable[[], int] | None = None, files: bool = False
) -> Iterator[None]:
    """Have Spark hand rows over in Arrow batches of about `BATCH_BYTES`.

    Wide rows take half as long so. Spark before 4.1 counts rows, of `row_bytes()` each. Where rows
    are `files`, tasks take many small ones."""
    if isinstance(spark, LocalSession):
        yield
        return
    meet(spark)
    try:
        spark.conf.get(_BATCH_BYTES)  # Spark before 4.1 has no such setting
        name = _BATCH_BYTES
        value = BATCH_BYTES
    except Exception:
        name = _BATCH_RECORDS
        records = int(spark.conf.get(name, "10000") or 0)
        value = BATCH_ROWS
        if row_bytes is not None:
            fitting = BATCH_BYTES // max(1, row_bytes())
            value = max(1, min(BATCH_ROWS, fitting))
        if records > 0:
            value = min(records, value)
    file_weight: AbstractContextManager[None] = nullcontext()
    if files:
        file_weight = session_setting(spark, FILE_WEIGHT, FILE_BYTES)
    with session_setting(spark, name, value), file_weight:
        yield


@contextmanager
def session_setting(spark: SparkSession, name: str, value: int | str) -> Iterator[None]:
    """Give a session's setting a value meanwhile, where the platform lets it be set.

    Without, work is slower, not wrong. The setting before comes back when the last of several
    threads leaves."""
    # in the session, of which a process may have several: how many use the value, and the old one
    note = f"spark.mlfs.{name}"
    try:
        with _SETTING:
            users, before = _users(spark, note)
            if not users:
                before = str(spark.conf.get(name))
            spark.conf.set(note, f"{users + 1} {before}")
            try:
                spark.conf.set(name, str(value))
            except Exception:
                spark.conf.unset(note)
                raise
    except Exception:
        yield
        return
    try:
        yield
    finally:
        with _SETTING:
            users, before = _users(spark, note)
            if users > 1:
                spark.conf.set(note, f"{users - 1} {before}")
            else:
                spark.conf.set(name, before)
                spark.conf.unset(note)


def _users(spark: SparkSession, note: str) -> tuple[int, str]:
    users, _, before = (spark.conf.get(note, "") or "0 ").partition(" ")
    return int(users), before


def meet(spark: SparkSession) -> None:
    """Have a session of Connect, once, report an error as classic Spark does: without Java's stack.

    Its client waits no longer than `frames.connect` says for a server that answers no more."""
    if not type(spark).__module__.startswith("pyspark.sql.connect"):
        return
    with suppress(ImportError):  # Spark 3.5 has neither
        from . import connect

        if connect.meet(spark.client):
            with suppress(Exception):  # where the platform does not let it be set
                spark.conf.set(_STACK, "false")


def jvm_within_reach() -> bool:
    """Return whether Spark ML's own stages can be made and loaded.

    A Connect client before 4.0 cannot."""
    import pyspark
    from pyspark.sql.utils import is_remote

    return not is_remote() or int(pyspark.__version__.split(".")[0]) >= 4


def as_spark(data: Any, spark: SparkSession | None = None) -> DataFrame:
    """Return a Spark frame as it is, others through the session (None: the active one).

    They are frames of pandas and Polars, and what streams a table of Arrow. Raises `ParameterError`
    for anything else."""
    if type(data).__module__.startswith("pyspark.") or isinstance(data, LocalFrame):
        return data
    is_pandas = type(data).__module__.startswith("pandas.")
    local = isinstance(spark, LocalSession)
    table = arrow_table(data) if spark is not None and (local or not is_pandas) else None
    if table is not None:
        if local:
            frame: Any = frame_of(table)
            return frame
        data = table.to_pandas()
    if not (is_pandas or table is not None) or not hasattr(data, "columns"):
        kind = f"{type(data).__module__.partition('.')[0]}.{type(data).__name__}"
        raise ParameterError(f"a Spark or a pandas frame is needed, not {kind}; {ARRAYS}")
    from pyspark.sql import SparkSession

    spark = spark or SparkSession.getActiveSession()
    if spark is None:
        raise ParameterError(
            "a pandas frame needs a Spark session: start one with spark_mlfs.local_session(); "
            f"{ARRAYS}"
        )
    data = with_text_names(data)
    times = times_of_the_clock(data)
    try:
        return with_times(spark.createDataFrame(with_columns(data, times)), times)
    except Exception as error:
        reason = str(error).strip().split("\n")[0][:200]
        raise DataError(
            f"Spark cannot take this pandas frame ({reason}); give each column one type of value"
        ) from None
