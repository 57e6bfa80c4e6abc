"""Where a command works: in this process where one machine holds the rows, else on Spark."""

from __future__ import annotations

import argparse
import os
from collections.abc import Callable, Sequence
from contextlib import suppress
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from ..errors import NotInstalledError, ParameterError, WorkerBudgetError, setting
from ..formats import READERS
from ..frame import ENGINE, MEMORY, LocalSession, NeedsSpark, check_memory

if TYPE_CHECKING:
    from .shared import Work

__all__ = ["ENGINE", "MEMORY", "check_memory", "on_engine", "packed"]


def asked(args: argparse.Namespace) -> tuple[str, int | None]:
    """Return the engine and the memory that the flags of a command ask for."""
    return ENGINE.accept(args.engine or ENGINE.default), MEMORY.accept(args.memory_bytes)


def on_engine(
    work: Work,
    run: Callable[[Any], int],
    engine: str,
    memory: int | None,
    needs_spark: str | None = None,
    ahead: Sequence[str] = (),
    **session: Any,
) -> int:
    """Return what `run` returns of a session: a `LocalSession` where the engine is local, or where it is auto and all that is
    read and written is on this machine; else one of Spark's. `needs_spark`: what of the command only Spark does."""
    from ..session.local import of_our_own

    chosen = not of_our_own()
    why = "a Spark session was chosen" if chosen and engine == "auto" else needs_spark or _elsewhere(work)
    if engine == "local" and why is not None:
        raise ParameterError(f"{setting('engine', 'local')}: {why}; leave it out, or give {setting('engine', 'spark')}")
    if engine != "spark" and why is None:
        try:
            return run(LocalSession(memory))
        except (NeedsSpark, WorkerBudgetError) as error:
            if engine == "local":
                raise
            why = error.args[0]
    if engine != "spark" and not chosen and why is not None:
        if not _spark_is_installed():
            raise NotInstalledError(f"{why}; that takes Spark, which is not installed: pip install 'spark_mlfs[local]'")
        work.note(f"on Spark: {why}")
    with work.session(ahead, **session) as spark:
        return run(spark)


def packed(frame: Any, spark: Any, grades: Any, **more: Any) -> Any:
    """The rows of a frame, packed with the weights they have; those of this process know its memory."""
    from ..blocks.dataset import InMemoryDataset
    from ..blocks.pack import pack
    from ..schema import FEATURES, ID, LABELS, WEIGHT

    rows = pack(frame, FEATURES, LABELS, ID, weight=WEIGHT if WEIGHT in frame.columns else None, grades=grades, **more)
    if isinstance(rows, InMemoryDataset):
        rows.memory = spark.memory
    return rows


def _spark_is_installed() -> bool:
    with suppress(ImportError):
        return find_spec("pyspark") is not None
    return False


def _elsewhere(work: Work) -> str | None:
    """What of a command's input and output is not of this machine."""
    from ..output.folder import local_path
    from ..read.paths import matching
    from .shared import inputs

    for _, format in work.sources:
        if format in READERS and not READERS[format].local:
            return f"format {format} is read by Spark"
    if work.table is not None:
        return "a table of the catalog is written by Spark"
    if work.output is not None and work.output.local is None:
        return f"{work.output.path} is not on this machine"
    for path in (path for source in work.sources for path in inputs(*source)):
        here = local_path(path)
        if here is None or (not matching(str(here)) and {"HADOOP_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME"} & set(os.environ)):
            return f"{path} is not on this machine"
    return None
