"""A command at work: what it reads and writes, and where: in this process, or on Spark."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import threading
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from ..adapters.selection import LocalSelection, Selected
from ..blocks.dataset import InMemoryDataset
from ..blocks.pack import pack
from ..errors import (
    DataError,
    NotInstalledError,
    ParameterError,
    WorkerBudgetError,
    in_python,
    marked_text,
    setting,
    spelled,
)
from ..formats import READERS, accept_options, tabular
from ..frames.errors import absent, reading
from ..frames.frame import ENGINE, MEMORY, LocalSession, NeedsSpark
from ..frames.paths import machine_path, matching
from ..frames.schema import FEATURES, ID, LABELS, WEIGHT
from ..lazy import DataFrame, SparkSession
from ..output.folder import Output, local_path, plain_path
from ..output.manifest import opening, versions
from ..output.table import OutputTable
from ..read.content import open_files
from ..read.tables import open_table
from ..scoring.base import SavedPipeline
from ..scoring.local import load_here
from ..session.local import local_session, of_our_own, remote
from .flags import data_flags
from .terminal import Stages

SPARKS_OWN = (
    "HADOOP_CONF_DIR",
    "SPARK_CONF_DIR",
    "SPARK_HOME",
)  # set where a path may be another file system's

Source = tuple[Any, str, dict[str, Any]]
NO_SOURCE: Source = (None, "", {})


def inputs(path: str | list[str] | None, format: str | None) -> list[str]:
    """The paths a run reads (a table's name is none)."""
    return (
        [] if path is None or format == "table" else [path] if isinstance(path, str) else list(path)
    )


def output_table(name: str | None, format: str | None, overwrite: bool) -> OutputTable | None:
    """The table that --output-table names, if it is given."""
    if name is None and format is not None:
        raise ParameterError("--table-format goes with --output-table")
    return None if name is None else OutputTable(name, format, overwrite)


def check_there(
    paths: Sequence[str], what: str = "file", remedy: str = "give a path that is there"
) -> None:
    """`DataError` for a path of this machine where nothing is, before a session of our own starts:
    another's may be elsewhere."""
    if not of_our_own() or {*SPARKS_OWN} & set(os.environ):
        return
    for given in paths:
        plain = plain_path(given)
        if (
            plain is not None
            and not any(sign in given for sign in "*?[{,")
            and not os.path.exists(plain)
        ):
            raise DataError(f"{given}: no such {what}; {remedy}")


class Work:
    """A command at work: what it reads (`sources`: path, format, and options in their types), where
    it writes (if it does), its stages and session."""

    def __init__(
        self,
        args: argparse.Namespace,
        output: Output | None,
        table: OutputTable | None = None,
        sources: Sequence[Source] = (),
    ) -> None:
        self.args, self.output, self.table, self.sources = args, output, table, list(sources)
        self.path, self.format, self.options = next(iter(sources), NO_SOURCE)
        self.stages = Stages(args.verbose, args.quiet)

    @staticmethod
    def of(args: argparse.Namespace, replaces: bool = False) -> Work:
        """Return the output that the flags name; it is replaced with --overwrite, or where the
        command `replaces` it anyway."""
        data, replaces = data_flags(args), replaces or args.overwrite
        options = accept_options(args.format, data.get("options", {}))
        output = Output(args.output, replaces) if args.output else None
        table = output_table(
            getattr(args, "output_table", None), getattr(args, "table_format", None), replaces
        )
        return Work(args, output, table, [(data.get("path"), args.format, options)])

    @property
    def inputs(self) -> list[str]:
        """The paths of all that is read."""
        return [each for path, format, _ in self.sources for each in inputs(path, format)]

    def check(
        self, models: Sequence[str] = (), saved: str = "", remedy: str = "", options: bool = False
    ) -> None:
        """Refuse paths that are not there, or that are written and read, and wrong `options` of the
        readers, before a session starts; `saved` is what the `models` are that the command
        applies."""
        if self.output is not None:
            self.output.check([*self.inputs, *models])
        for path, format, given in self.sources:
            if options:
                READERS.create(format).check(path, given)
            check_there(inputs(path, format))
        check_there(models, saved, remedy)

    def run_on_engine_for(
        self,
        run: Callable[..., int],
        *given: Any,
        settings: Any = None,
        needs_spark: str | None = None,
        ahead: Sequence[str] = (),
        resumes: bool = False,
    ) -> int:
        """Return what `run` returns of this, what is `given`, and a session: a `LocalSession` where
        the engine that `settings` or the flags ask for is local, or where it is auto and all that
        is read and written is on this machine; else one of Spark's. `needs_spark`: what of the
        command only Spark does."""
        asked = settings or self.args
        engine, memory = (
            ENGINE.accept(asked.engine or ENGINE.default),
            MEMORY.accept(asked.memory_bytes),
        )
        chosen = not of_our_own()
        why = (
            "a Spark session was chosen"
            if chosen and engine == "auto"
            else needs_spark or self._elsewhere()
        )
        if engine == "local" and why is not None:
            raise ParameterError(
                f"{setting('engine', 'local')}: {why}; leave it out, or give "
                f"{setting('engine', 'spark')}"
            )
        if engine != "spark" and why is None:
            try:
                return run(self, *given, LocalSession(memory))
            except (NeedsSpark, WorkerBudgetError) as error:
                if engine == "local":
                    raise
                why = marked_text(error)
        if engine != "spark" and not chosen and why is not None:
            if not _spark_is_installed():
                raise NotInstalledError(
                    f"{why}; that takes Spark, which is not installed: pip install "
                    "'spark_mlfs[local]'"
                )
            self.note(f"on Spark: {why}")
        with self.session(ahead, resumes) as spark:
            return run(self, *given, spark)

    def _elsewhere(self) -> str | None:
        """What of a command's input and output is not of this machine."""
        for _, format, _ in self.sources:
            if format in READERS and not READERS[format].local:
                return f"format {format} is read by Spark"
        if self.table is not None:
            return "a table of the catalog is written by Spark"
        if self.output is not None and self.output.local is None:
            return f"{self.output.path} is not on this machine"
        for path in self.inputs:
            local = local_path(path)
            if local is None or (not matching(str(local)) and {*SPARKS_OWN} & set(os.environ)):
                return f"{path} is not on this machine"
        return None

    @contextmanager
    def session(self, ahead: Sequence[str] = (), resumes: bool = False) -> Iterator[SparkSession]:
        """The session there is, or one of our own, which is stopped at the end, where no output is
        of an earlier run; what was cut short may be there where a run `resumes`. `ahead`: modules
        of this package to import while Java starts."""
        from pyspark.sql import SparkSession

        stages, debug = self.stages, self.args.debug
        if not debug and not logging.root.handlers:
            logging.root.addHandler(
                logging.NullHandler()
            )  # py4j logs an interrupt with two tracebacks
        had = (
            SparkSession.getActiveSession() is not None
            or "DATABRICKS_RUNTIME_VERSION" in os.environ
        )

        def importing() -> None:
            with suppress(Exception):  # which the command's own import shall tell
                for name in ahead:
                    import_module(f"..{name}", __package__)

        threading.Thread(target=importing, daemon=True).start()
        if not had and (server := remote()) and not stages.quiet:
            stages.line(f"connecting to {server[0]}:{server[1]}")
        with stages.stage("session"):
            spark = local_session(
                "spark-mlfs", {"spark.log.level": "WARN"} if debug else {}, quiet=not debug
            )
        try:
            if self.output is not None:
                self.output.check(spark=spark, resumes=resumes)
            if self.table is not None:
                self.table.check(spark, inputs(self.path, None) if self.format == "table" else ())
            yield spark
        finally:
            if not had:
                spark.stop()

    def manifest(
        self,
        spark: SparkSession,
        results: Mapping[str, Any],
        model: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the entries of manifest.json; of one that applies a `model` to data, these
        first."""
        read = {"path": self.path, "format": self.format, "options": self.options}
        return {
            **opening(self.args.command, self.args.argv),
            **({} if model is None else {"model": model, "data": read}),
            **results,
            "seconds": self.stages.seconds,
            "versions": versions(spark.version),
        }

    def count_rows(self, spark: SparkSession, frame: DataFrame) -> int:
        """The rows of the data, of which `frame` was read; of a table without looking at their
        values."""
        whole = self.table_read(spark)
        with reading():
            return (frame if whole is None else whole).count()

    def table_read(self, spark: Any) -> DataFrame | None:
        """The user's own table that is read; None of another format."""
        if self.format == "files":
            return open_files(
                spark,
                self.path,
                READERS.create("files").check(self.path, self.options),
                labelled=True,
            )
        kind = self.options.get("source", "table") if self.format == "text" else self.format
        return (
            open_table(spark, self.path or "", kind, self.options.get("reader_options"))
            if tabular(kind)
            else None
        )

    def note(self, text: str) -> None:
        if not self.args.quiet:
            text = spelled(text, getattr(self.args, "spelling", in_python))
            print(f"spark-mlfs: note: {text}", file=sys.stderr, flush=True)


def _spark_is_installed() -> bool:
    with suppress(ImportError):
        return find_spec("pyspark") is not None
    return False


def packed(frame: Any, spark: Any, grades: Any, **more: Any) -> Any:
    """The rows of a frame, packed with the weights they have; those of this process know its
    memory."""
    rows = pack(
        frame,
        FEATURES,
        LABELS,
        ID,
        weight=WEIGHT if WEIGHT in frame.columns else None,
        grades=grades,
        **more,
    )
    if isinstance(rows, InMemoryDataset):
        rows.memory = spark.memory
    return rows


def load_model(path: str, session: Any = None) -> tuple[Any, str]:
    """The saved selection at `path` or ``path/model``, by Spark or in this process, and where it
    was."""
    root = path.rstrip("/")
    places = (root, f"{root}/model")
    none = ParameterError(
        f"no saved selection at {path}; give the model/ folder that spark-mlfs select wrote"
    )
    if isinstance(session, LocalSession):
        place = next(
            (where for where in places if os.path.isdir(f"{machine_path(where)}/metadata")), None
        )
        if place is None:
            raise none
        return LocalSelection.load(machine_path(place)), place
    from ..ml.selectors import MultiLabelSelectorModel

    damaged: ParameterError | None = None
    for where in places:
        try:
            return MultiLabelSelectorModel.load(where), where
        except ParameterError as error:
            if error.__cause__ is None:  # something else was saved there
                raise
            damaged = damaged or (None if absent(error.__cause__) else error)
    raise damaged or none


def load_pipeline(session: SparkSession | LocalSession, path: str) -> SavedPipeline:
    """The saved pipeline at `path`, by Spark or in this process."""
    if isinstance(session, LocalSession):
        return load_here(path)
    from ..scoring.stages import load_scorer

    return load_scorer(session, path)


def reader_options_of(model: Selected, format: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a reader whose features are to be those of a saved selection."""
    # a text corpus has words of its own: count the ones the selection was made among
    vocabulary = {"vocabulary": model.featureNames} if format == "text" else {}
    return vocabulary | model.reader_options(format, options)
