"""How many rows Spark hands to Python at once."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ..frame import LocalSession
from ..lazy import SparkSession

BATCH_BYTES = 4 << 20  # of an Arrow batch, about
BATCH_ROWS = 2000  # of one where Spark cannot count bytes


@contextmanager
def small_batches(spark: SparkSession, row_bytes: Callable[[], int] | None = None) -> Iterator[None]:
    """Have Spark hand rows over in Arrow batches of about `BATCH_BYTES` (before 4.1 of `row_bytes()` a row): wide rows take half
    as long. The session's own settings come back when the last of several threads leaves."""
    if isinstance(spark, LocalSession):
        yield
        return
    try:
        name, before = _BATCH_BYTES, spark.conf.get(_BATCH_BYTES)  # Spark before 4.1 has no such setting
        small = str(BATCH_BYTES)
    except Exception:
        name, before = _BATCH_RECORDS, spark.conf.get(_BATCH_RECORDS, "10000")
        most = BATCH_ROWS if row_bytes is None else max(1, min(BATCH_ROWS, BATCH_BYTES // max(1, row_bytes())))
        rows = int(before or 0)
        small = str(min(rows, most) if rows > 0 else most)
    try:
        with _BATCHES:
            users, own = _small_batches_of(spark)
            own = own if users else str(spark.conf.get(name, before))
            spark.conf.set(_BATCHES_SMALL, f"{users + 1} {own}")
            try:
                spark.conf.set(name, small)
            except Exception:
                spark.conf.unset(_BATCHES_SMALL)
                raise
    except Exception:  # whatever the platform says: it is slower, not wrong
        yield
        return
    try:
        yield
    finally:
        with _BATCHES:
            users, own = _small_batches_of(spark)
            if users > 1:
                spark.conf.set(_BATCHES_SMALL, f"{users - 1} {own}")
            else:
                spark.conf.set(name, own)
                spark.conf.unset(_BATCHES_SMALL)


def _small_batches_of(spark: SparkSession) -> tuple[int, str]:
    """How many have the session's Arrow batches small at the moment, and what it had before."""
    users, _, own = (spark.conf.get(_BATCHES_SMALL, "") or "0 ").partition(" ")
    return int(users), own


_BATCH_BYTES = "spark.sql.execution.arrow.maxBytesPerBatch"
_BATCH_RECORDS = "spark.sql.execution.arrow.maxRecordsPerBatch"
_BATCHES_SMALL = "spark.mlfs.smallBatches"  # noted in the session: a process may have several
_BATCHES = threading.Lock()
