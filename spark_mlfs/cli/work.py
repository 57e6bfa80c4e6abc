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
    Spelling,
    WorkerBudgetError,
    in_python,
    marked_text,
    setting,
    spelled,
)
from ..formats import READERS, accept_options, counts_words, tabular, with_text
from ..frames.errors import absent, reading
from ..frames.frame import ENGINE, MEMORY, LocalSession, NeedsSpark
from ..frames.paths import machine_path, matching
from ..frames.schema import FEATURES, GROUP, ID, LABELS, WEIGHT
from ..frames.unchanged import ReadFiles
from ..lazy import DataFrame, SparkSession
from ..output.folder import Output, local_path, plain_path
from ..output.manifest import opening, versions
from ..output.table import OutputTable
from ..read.content import open_files
from ..read.tables import how_files_are_read, open_table
from ..read.texts import text_source
from ..scoring.base import SavedPipeline
from ..scoring.local import load_here
from ..session.local import local_session, of_our_own, remote
from .flags import data_flags
from .terminal import Stages

# variables that are set where a path may be another file system's
SPARK_VARIABLES = {"HADOOP_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME"}

Source = tuple[Any, str, dict[str, Any]]
NO_SOURCE: Source = (None, "", {})


def inputs(path: str | list[str] | None, format: str | None) -> list[str]:
    """Return the paths a run reads (a table's name is none)."""
    if path is None or format == "table":
        return []
    return [path] if isinstance(path, str) else list(path)


def output_table(name: str | None, format: str | None, overwrite: bool) -> OutputTable | None:
    """Return the table that --output-table names, if it is given."""
    if name is None and format is not None:
        raise ParameterError("--table-format goes with --output-table")
    return None if name is None else OutputTable(name, format, overwrite)


def check_exist(
    paths: Sequence[str], kind: str = "file", remedy: str = "give a path that is there"
) -> None:
    """Raise `DataError` for a path of this machine where nothing is.

    This is before a session of our own starts: another's may be elsewhere."""
    if not of_our_own() or _other_file_system():
        return
    for path in paths:
        plain = plain_path(path)
        is_pattern = any(sign in path for sign in "*?[{,")
        if plain is not None and not is_pattern and not os.path.exists(plain):
            raise DataError(f"{path}: no such {kind}; {remedy}")


def _other_file_system() -> bool:
    return not SPARK_VARIABLES.isdisjoint(os.environ)


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
        self.args = args
        self.output = output
        self.table = table
        self.sources = list(sources)
        self.path, self.format, self.options = next(iter(sources), NO_SOURCE)
        self.files = ReadFiles()  # what is read, as it was when the run began
        self.stages = Stages(args.verbose, args.quiet)

    @staticmethod
    def of(args: argparse.Namespace, replaces: bool = False) -> Work:
        """Return the work of a command on the data and the output that its flags name.

        The output is replaced with --overwrite, or where the command `replaces` it anyway."""
        data = data_flags(args)
        overwrite = replaces or args.overwrite
        format, options = with_text(args.format, data.get("options", {}))
        options = accept_options(format, options)
        output = Output(args.output, overwrite) if args.output else None
        name = getattr(args, "output_table", None)
        table = output_table(name, getattr(args, "table_format", None), overwrite)
        return Work(args, output, table, [(data.get("path"), format or "", options)])

    @property
    def inputs(self) -> list[str]:
        """Return the paths of all that is read."""
        return [name for path, format, _ in self.sources for name in inputs(path, format)]

    def check(
        self,
        models: Sequence[str] = (),
        saved: str = "",
        remedy: str = "",
        options: bool = False,
    ) -> None:
        """Refuse paths that are absent or both written and read, before a session starts.

        With `options` wrong options of the readers are refused, too. `saved` names what the
        `models` are that the command applies."""
        if self.output is not None:
            self.output.check([*self.inputs, *models])
        for path, format, reader_options in self.sources:
            if options:
                READERS.create(format).check(path, reader_options)
            check_exist(inputs(path, format))
        check_exist(models, saved, remedy)

    def run_on_engine_for(
        self,
        run: Callable[..., int],
        *arguments: Any,
        settings: Any = None,
        needs_spark: str | None = None,
        ahead: Sequence[str] = (),
        resumes: bool = False,
    ) -> int:
        """Return the exit code of `run`, called with this, its `arguments` and a session.

        This is a `LocalSession` where the engine of `settings` or of the flags is local, or where
        it is auto and all that is read and written is on this machine; else one of Spark's.
        `needs_spark`: what of the command only Spark does."""
        if not resumes:  # its parts look at their own files
            self.files = ReadFiles.of_sources(self.sources)
        try:
            return self._run_on_engine_for(run, arguments, settings, needs_spark, ahead, resumes)
        except Exception:  # may be of a file that is half the old one, half the new one
            self.files.check()
            raise

    def _run_on_engine_for(
        self,
        run: Callable[..., int],
        arguments: Sequence[Any],
        settings: Any,
        needs_spark: str | None,
        ahead: Sequence[str],
        resumes: bool,
    ) -> int:
        chosen = settings or self.args
        engine = ENGINE.accept(chosen.engine or ENGINE.default)
        memory = MEMORY.accept(chosen.memory_bytes)
        has_session = not of_our_own()
        if has_session and engine == "auto":
            reason: str | None = "a Spark session was chosen"
        else:
            reason = needs_spark or self._elsewhere()
        if engine == "local" and reason is not None:
            raise ParameterError(
                f"{setting('engine', 'local')}: {reason}; leave it out, or give "
                f"{setting('engine', 'spark')}"
            )
        if engine != "spark" and reason is None:
            try:
                return run(self, *arguments, LocalSession(memory, chosen.scratch))
            except (NeedsSpark, WorkerBudgetError) as error:
                if engine == "local":
                    raise
                reason = marked_text(error)
        if engine != "spark" and not has_session and reason is not None:
            if not _spark_is_installed():
                raise NotInstalledError(
                    f"{reason}; that takes Spark, which is not installed: pip install "
                    "'spark_mlfs[local]'"
                )
            self.note(f"on Spark: {reason}")
        with self.session(ahead, resumes) as spark:
            return run(self, *arguments, spark)

    def is_here(self, chosen: Any) -> bool:
        """Return whether this process does the work, by the engine that was chosen."""
        engine = ENGINE.accept(chosen.engine or ENGINE.default)
        is_free = engine == "auto" and of_our_own()
        return engine == "local" or (is_free and self._elsewhere() is None)

    def _elsewhere(self) -> str | None:
        """Return what of a command's input and output is not of this machine; None for nothing."""
        for _, format, _ in self.sources:
            if format in READERS and not READERS[format].local:
                return f"format {format} is read by Spark"
        if self.table is not None:
            return "a table of the catalog is written by Spark"
        if self.output is not None and self.output.local is None:
            return f"{self.output.path} is not on this machine"
        for path in self.inputs:
            local = local_path(path)
            if local is None or (not matching(str(local)) and _other_file_system()):
                return f"{path} is not on this machine"
        return None

    @contextmanager
    def session(self, ahead: Sequence[str] = (), resumes: bool = False) -> Iterator[SparkSession]:
        """Yield the active session, or one of our own, which is stopped at the end.

        An output of an earlier run is refused; what was cut short may be there where a run
        `resumes`. `ahead`: modules of this package to import while Java starts."""
        from pyspark.sql import SparkSession

        stages = self.stages
        debug = self.args.debug
        if not debug and not logging.root.handlers:
            # py4j logs an interrupt with two tracebacks
            logging.root.addHandler(logging.NullHandler())
        is_active = SparkSession.getActiveSession() is not None
        is_ours = not (is_active or "DATABRICKS_RUNTIME_VERSION" in os.environ)
        threading.Thread(target=_import_modules, args=(ahead,), daemon=True).start()
        server = remote() if is_ours else None
        if server and not stages.quiet:
            stages.line(f"connecting to {server[0]}:{server[1]}")
        configuration = {"spark.log.level": "WARN"} if debug else {}
        with stages.stage("session"):
            spark = local_session("spark-mlfs", configuration, quiet=not debug)
        try:
            if self.output is not None:
                self.output.check(spark=spark, resumes=resumes)
            if self.table is not None:
                names = inputs(self.path, None) if self.format == "table" else ()
                self.table.check(spark, names)
            yield spark
        finally:
            if is_ours:
                spark.stop()

    def manifest(
        self,
        spark: SparkSession,
        results: Mapping[str, Any],
        model: Mapping[str, Any] | None = None,
    ) -> dict[str, Any]:
        """Return the entries of manifest.json; those of the applied `model` and the data first.

        Raises `DataError` where a file that was read is no longer what it was."""
        self.files.check()
        data = {
            "path": self.path,
            "format": self.format,
            "options": self.options,
        }
        return {
            **opening(self.args.command, self.args.argv),
            **({} if model is None else {"model": model, "data": data}),
            **results,
            "seconds": self.stages.seconds,
            "versions": versions(spark.version),
        }

    def count_rows(self, spark: SparkSession, frame: DataFrame) -> int:
        """Count the rows of the data, of which `frame` was read.

        Those of a table are counted without looking at their values."""
        table = self.table_read(spark)
        with reading():
            return frame.count() if table is None else table.count()

    def table_read(self, spark: Any) -> DataFrame | None:
        """Return the user's own table that is read; None of another format."""
        if self.format == "files":
            parameters = READERS.create("files").check(self.path, self.options)
            return open_files(spark, self.path, parameters, labelled=True)
        kind = self.format
        if kind == "text":
            kind = text_source(self.path, self.options)
        if not tabular(kind):
            return None
        return open_table(spark, self.path or "", kind, how_files_are_read(self.options))

    @property
    def spelling(self) -> Spelling:
        """How messages of this command name settings."""
        spelling: Spelling = getattr(self.args, "spelling", in_python)
        return spelling

    def note(self, text: str) -> None:
        if not self.args.quiet:
            print(f"spark-mlfs: note: {spelled(text, self.spelling)}", file=sys.stderr, flush=True)


def _spark_is_installed() -> bool:
    with suppress(ImportError):
        return find_spec("pyspark") is not None
    return False


def _import_modules(names: Sequence[str]) -> None:
    with suppress(Exception):  # the command's own import shall raise it
        for name in names:
            import_module(f"..{name}", __package__)


def packed(
    frame: Any,
    spark: Any,
    grades: Any,
    **options: Any,
) -> Any:
    """Return the rows of a frame, packed with the weights and groups they have.

    Those of this process know its memory."""
    weight = WEIGHT if WEIGHT in frame.columns else None
    rows = pack(
        frame,
        FEATURES,
        LABELS,
        ID,
        weight=weight,
        groups=GROUP if GROUP in frame.columns else None,
        grades=grades,
        scratch=spark.scratch if isinstance(spark, LocalSession) else None,
        **options,
    )
    if isinstance(rows, InMemoryDataset):
        rows.memory = spark.memory
    return rows


def load_model(path: str, session: Any = None) -> tuple[Any, str]:
    """Return the saved selection at `path` or ``path/model``, and which of them it was.

    It is loaded by Spark or in this process."""
    root = path.rstrip("/")
    places = (root, f"{root}/model")
    none = ParameterError(
        f"no saved selection at {path}; give the model/ folder that spark-mlfs select wrote"
    )
    if isinstance(session, LocalSession):
        for place in places:
            if os.path.isdir(f"{machine_path(place)}/metadata"):
                return LocalSelection.load(machine_path(place)), place
        raise none
    from ..ml.selectors import MultiLabelSelectorModel

    damaged: ParameterError | None = None
    for place in places:
        try:
            return MultiLabelSelectorModel.load(place), place
        except ParameterError as error:
            if error.__cause__ is None:  # something else was saved there
                raise
            if damaged is None and not absent(error.__cause__):
                damaged = error
    raise damaged or none


def load_pipeline(
    session: SparkSession | LocalSession, path: str, text: str | None = None
) -> SavedPipeline:
    """Return the saved pipeline at `path`, loaded by Spark or in this process.

    It reads its texts from the column `text`, if that is given."""
    scorer: SavedPipeline
    if isinstance(session, LocalSession):
        scorer = load_here(path, session.memory)
    else:
        from ..scoring.stages import load_scorer

        scorer = load_scorer(session, path)
    if text is not None:
        scorer.read_texts_of(text)
    return scorer


def reader_options_of(model: Selected, format: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of a reader whose features are to be those of a saved selection."""
    # a text corpus has words of its own: count the ones the selection was made among
    vocabulary = {"vocabulary": model.featureNames} if counts_words(format) else {}
    return vocabulary | model.reader_options(format, options)
