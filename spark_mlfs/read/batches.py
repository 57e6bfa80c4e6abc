"""How many rows Spark hands to Python at once, and how many files a task takes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext

from ..frame import LocalSession
from ..lazy import SparkSession

BATCH_BYTES = 4 << 20  # of an Arrow batch, about
BATCH_ROWS = 2000  # of one where Spark cannot count bytes
FILE_BYTES = 128 << 10  # that a file weighs beside its content: of small ones a task takes 1,024, of Spark's 4 MB only 32


@contextmanager
def small_batches(spark: SparkSession, row_bytes: Callable[[], int] | None = None, files: bool = False) -> Iterator[None]:
    """Have Spark hand rows over in Arrow batches of about `BATCH_BYTES` (before 4.1 of `row_bytes()` a row): wide rows take half
    as long. Where rows are `files`, tasks take many small ones."""
    if isinstance(spark, LocalSession):
        yield
        return
    try:
        name, before = _BATCH_BYTES, spark.conf.get(_BATCH_BYTES)  # Spark before 4.1 has no such setting
        small = BATCH_BYTES
    except Exception:
        name, before = _BATCH_RECORDS, spark.conf.get(_BATCH_RECORDS, "10000")
        most = BATCH_ROWS if row_bytes is None else max(1, min(BATCH_ROWS, BATCH_BYTES // max(1, row_bytes())))
        rows = int(before or 0)
        small = min(rows, most) if rows > 0 else most
    with session_setting(spark, name, small), file_weight(spark, FILE_BYTES) if files else nullcontext():
        yield


@contextmanager
def session_setting(spark: SparkSession, name: str, value: int) -> Iterator[None]:
    """Give a session's setting a value meanwhile, where the platform lets it be set: without, work is slower, not wrong. Its own
    comes back when the last of several threads leaves."""
    note = f"spark.mlfs.{name}"  # in the session, of which a process may have several: how many use the value, and its own
    try:
        with _SETTING:
            users, own = _users(spark, note)
            own = own if users else str(spark.conf.get(name))
            spark.conf.set(note, f"{users + 1} {own}")
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
            users, own = _users(spark, note)
            if users > 1:
                spark.conf.set(note, f"{users - 1} {own}")
            else:
                spark.conf.set(name, own)
                spark.conf.unset(note)


def file_weight(spark: SparkSession, size: int) -> AbstractContextManager[None]:
    """Let a file weigh so many bytes beside its content meanwhile, when files are put together for a task."""
    return session_setting(spark, "spark.sql.files.openCostInBytes", size)


def _users(spark: SparkSession, note: str) -> tuple[int, str]:
    users, _, own = (spark.conf.get(note, "") or "0 ").partition(" ")
    return int(users), own


_BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_BATCH_RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_SETTING = threading.Lock()
