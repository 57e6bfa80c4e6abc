"""Shared by the commands: exit codes, arguments, the stages of a run on the terminal, the session, a saved selection."""

from __future__ import annotations

import argparse
import logging
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from typing import TYPE_CHECKING, Any

from ..errors import DataError, ParameterError, in_python, spelled
from ..formats import READERS, accept_options, no_format, tabular
from ..frame import LocalSession
from ..methods import DEFAULT_METHOD
from ..params import Integer, Number

if TYPE_CHECKING:
    from pyspark.sql import DataFrame, SparkSession

    from ..adapters.selection import Selected
    from ..output.folder import Output
    from ..output.table import OutputTable
    from ..scoring.base import SavedPipeline

OK, FAILED, USER_ERROR, NOT_MET, INTERRUPTED = 0, 1, 2, 3, 130
STATES = "states"  # stands for a format where a run has sums in the place of rows
SECONDS_BETWEEN_LINES = 20  # of progress within a stage, where there is no terminal
SECONDS_BETWEEN_TICKS = 0.5  # of the clock, where there is one


def accepted(constraint: Integer | Number) -> Callable[[str], Any]:
    """Return the type of a flag whose value a constraint of `params` takes."""

    def accept(text: str) -> Any:
        try:
            return constraint.accept(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {constraint}, not {text!r}") from None

    return accept


COUNT, ANY_NUMBER = accepted(Integer(1)), accepted(Number())


class Flags:
    """A group of a command's flags, a line each; and those that several commands have."""

    def __init__(self, parser: argparse.ArgumentParser, title: str) -> None:
        self.group = parser.add_argument_group(title)

    def one(self, flag: str, metavar: str | tuple[str, ...] | None, help: str, **more: Any) -> None:
        self.group.add_argument(flag, metavar=metavar, help=help, **more)

    def many(self, flag: str, metavar: str, help: str, **more: Any) -> None:
        """A flag with several values, which may be given again."""
        self.one(flag, metavar, help, nargs="+", action="extend", **more)

    def repeated(self, flag: str, metavar: str, help: str) -> None:
        """A flag with a value, given again for more."""
        self.one(flag, metavar, f"{help}; repeat for more", action="append", default=[])

    def switch(self, flag: str, help: str) -> None:
        self.group.add_argument(flag, action="store_true", help=help)

    @staticmethod
    def data(parser: argparse.ArgumentParser, weights: bool = False, pipeline: bool = False, windows: bool = False) -> None:
        """What is read, of a command that takes row `weights` and grades, or two `windows`; before it the saved `pipeline` that
        one applies."""
        if pipeline:
            said = "a saved pipeline (or the folder of a selection run with --classifier) or classifier"
            parser.add_argument("--model", metavar="DIR", help=said)
        flags = Flags(parser, "data")
        for flag, of in {"--before": " of earlier rows", "--after": " of later rows"}.items() if windows else [("--data", "")]:
            flags.many(flag, "PATH", f"file, folder, glob or several{of}; a table's name; nothing for the samples")
        formats = f"{', '.join(READERS)} (default: as the files' names end); spark-mlfs methods NAME lists the options of one"
        flags.one("--format", "NAME", formats)
        flags.repeated(
            "--option", "NAME=VALUE", "an option of the reader, such as labels=scene.xml, labels=-6, missing=mean, "
            "num_labels=101; a name given twice has a list",
        )  # fmt: skip
        if windows:
            flags.repeated("--after-option", "NAME=VALUE", "an option of the reader for the later rows")
        flags.many("--features", "COLUMN", "feature column or columns of a table; same as --option features=")
        flags.many("--labels-col", "COLUMN", "label column or columns; same as --option labels=")
        flags.one("--id", "COLUMN", "row id column; same as --option id=")
        said = "a file that cannot be used: skip (default; it is listed with its reason) or refuse; same as --option on_error="
        flags.one("--on-error", "WHAT", said)
        if not weights:
            return
        column = "column of the rows' weights, for methods of counts and moments; same as --option weight="
        flags.one("--weight-col", "COLUMN", column)
        grades = "labels are grades, numbers from 0 to 1 or in --grade-range, for methods of moments; of a table's columns"
        flags.switch("--graded-labels", grades)
        flags.one("--grade-range", ("LOW", "HIGH"), "what grades go from and to, such as 1 5 of ratings", nargs=2)
        cuts = "for all other methods: a label is positive where its grade is at least this; several make a label each"
        flags.one("--label-cuts", "GRADE", cuts, nargs="+")

    def method(self, grid: str) -> None:
        """A method; `grid` says what becomes of the values that are tried."""
        self.one("--method", None, f"name of the method (default {DEFAULT_METHOD}); another than the file's drops its parameters")
        self.repeated("--set", "NAME=VALUE", "a parameter of the method")
        self.one("--screen", "METHOD:K", "run this filter first, the method on its K best, such as chi2:10000")
        self.repeated("--grid", "NAME=V1,V2", grid)

    def tags(self) -> None:
        self.one("--top-n", "N", "give every row its N best labels instead of the predicted ones", type=COUNT)
        self.one("--threshold", "T", "give every row the labels that score at least T", type=ANY_NUMBER)

    @staticmethod
    def output(parser: argparse.ArgumentParser, table: str = "", dry_run: str = "") -> Flags:
        """Where the results go, and what a command says: of one that also writes `table`, or only says `dry_run`."""
        flags = Flags(parser, "output")
        where = "folder to write; without a scheme it is on this machine; {date} in it is today's"
        flags.one("--output", "DIR", where, type=_dated)
        flags.switch("--overwrite", "replace the output of an earlier run, once the new one is complete")
        flags.switch("--json", "the result as one JSON object on standard output, nothing else there")
        flags.switch("--quiet", "nothing but errors")
        flags.switch("--verbose", "a line per stage on standard error, also where that is no terminal")
        flags.switch("--debug", "show Spark's log and the traceback of every error")
        if table:
            flags.one("--output-table", "TABLE", f"write {table} as a table, too: table, schema.table or catalog.schema.table")
            flags.one("--table-format", "NAME", "its format, delta or parquet (default: that of the session's tables)")
        if dry_run:
            flags.switch("--dry-run", f"only say what would run: {dry_run}")
        return flags

    def engine(self, budgets: bool = False) -> None:
        """Where a command works; with the `budgets` of Spark's processes."""
        self.one("--engine", "NAME", "auto (default): in this process where the data are files of this machine and fit its "
                 "memory, else on Spark; local; spark")  # fmt: skip
        self.one("--memory-bytes", "BYTES", "rows and statistics this process holds (default: three quarters of the machine)")
        if budgets:
            self.one("--driver-bytes", "BYTES", "largest statistic the driver takes (default 1 GiB)")
            self.one("--worker-bytes", "BYTES", "rows and statistics one worker process holds (default 1 GiB)")


def _dated(output: str) -> str | None:
    from ..read.toml import dated

    return dated(output) or None


def data_flags(args: argparse.Namespace) -> dict[str, Any]:
    """The [data] section as the flags give it."""
    options = pairs(args.option, "--option")
    for name, flag, value in (
        ("features", "--features", args.features),
        ("labels", "--labels-col", args.labels_col),
        ("id", "--id", args.id),
        ("weight", "--weight-col", getattr(args, "weight_col", None)),
        ("on_error", "--on-error", args.on_error),
    ):
        if value is None:
            continue
        if name in options:
            raise ParameterError(f"{flag} and --option {name}= say the same thing; give one of them")
        options[name] = value if isinstance(value, str) else single(value)
    graded = {name: getattr(args, name, None) or None for name in ("graded_labels", "grade_range", "label_cuts")}
    return set_values(path=single(args.data), format=args.format, options=options or None, **graded)


def single(values: Sequence[str] | None) -> str | Sequence[str] | None:
    """The one value of a flag that takes several, or all."""
    return values[0] if values is not None and len(values) == 1 else values


def pairs(items: Sequence[str], flag: str) -> dict[str, Any]:
    """``key=value`` arguments as a dict; a key given several times has the list of its values."""
    out: dict[str, list[str]] = {}
    for item in items:
        key, separator, text = item.partition("=")
        if not separator or not key.strip():
            raise ParameterError(f"{flag} {item!r}: write it as {flag} name=value")
        out.setdefault(key.strip(), []).append(text)
    return {key: single(texts) for key, texts in out.items()}


def method_flags(args: argparse.Namespace, **further: Any) -> dict[str, Any]:
    """The [method] section as the flags give it; ``--grid name=v1,v2`` as lists of values by name."""
    grid = {name: str(values).split(",") for name, values in pairs(args.grid, "--grid").items()}
    own = pairs(args.set, "--set")
    return set_values(name=args.method, parameters=own or None, screen=args.screen, grid=grid or None, **further)


def tags_asked(args: argparse.Namespace) -> dict[str, Any]:
    """Which labels rows get, as the flags say; `ParameterError` where they say it twice."""
    if args.top_n is not None and args.threshold is not None:
        raise ParameterError("give --top-n or --threshold, not both")
    return {"top_n": args.top_n, "threshold": args.threshold}


def set_values(**values: Any) -> dict[str, Any]:
    """The values that are not None: what the flags say of a section."""
    return {k: v for k, v in values.items() if v is not None}


def require(command: str, **values: Any) -> None:
    """`ParameterError` naming the first flag that is missing."""
    for name, value in values.items():
        if value is None and name == "format":
            raise no_format("--format")
        if value is None:
            raise ParameterError(f"{command} needs --{name}; see spark-mlfs {command} --help")


def inputs(path: str | list[str] | None, format: str | None) -> list[str]:
    """The paths a run reads (a table's name is none)."""
    return [] if path is None or format == "table" else [path] if isinstance(path, str) else list(path)


def output_table(name: str | None, format: str | None, overwrite: bool) -> OutputTable | None:
    """The table that --output-table names, if it is given."""
    if name is None:
        if format is not None:
            raise ParameterError("--table-format goes with --output-table")
        return None
    from ..output.table import OutputTable

    return OutputTable(name, format, overwrite)


def check_data(path: str | list[str] | None, format: str, options: Mapping[str, Any]) -> None:
    """Refuse wrong options of a reader, and a file of this machine that is not there, before a session starts."""
    READERS.create(format).check(path, options)
    check_there(inputs(path, format))


def check_there(paths: Sequence[str], what: str = "file", remedy: str = "give a path that is there") -> None:
    """`DataError` for a path of this machine where nothing is, before a session of our own starts: another's may be elsewhere."""
    from ..output.folder import local_path
    from ..session.local import of_our_own

    if not of_our_own() or {"HADOOP_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME"} & set(os.environ):
        return
    for given in paths:
        here = local_path(given)
        if here is not None and not any(sign in given for sign in "*?[{,") and not here.exists():
            raise DataError(f"{given}: no such {what}; {remedy}")


def print_result(args: argparse.Namespace, text: str, result: Mapping[str, Any]) -> int:
    """Print a command's result on standard output, `text`, with --json `result`, with --quiet nothing; return the exit code."""
    from ..output.manifest import as_json

    if args.json:
        print(as_json(result), end="", flush=True)
    elif not args.quiet:
        print(text, flush=True)
    return OK


def print_forecast(args: argparse.Namespace, lines: Mapping[str, str | None], found: Mapping[str, Any]) -> int:
    """Print what --dry-run found, a line each under its heading, None left out; returns the exit code."""
    text = "\n".join(f"{name:<11} {line}" for name, line in lines.items() if line is not None)
    return print_result(args, text, {"job": args.command, "dry_run": True, **found})


class Work:
    """A command at work: what it reads (`options` in their types), where it writes (if it does), its stages and session."""

    def __init__(
        self,
        args: argparse.Namespace,
        output: Output | None,
        table: OutputTable | None = None,
        path: Any = None,
        format: str = "",
        options: Mapping[str, Any] | None = None,
    ) -> None:
        self.args, self.path, self.format, self.options = args, path, format, dict(options or {})
        self.output, self.table = output, table
        self.sources = [(path, format)]  # what is read, by which reader
        self.stages = Stages(args.verbose, args.quiet)

    @staticmethod
    def of(args: argparse.Namespace, replaces: bool = False) -> Work:
        """Return the output that the flags name; it is replaced with --overwrite, or where the command `replaces` it anyway."""
        from ..output.folder import Output

        data, replaces = data_flags(args), replaces or args.overwrite
        options = accept_options(args.format, data.get("options", {}))
        output = Output(args.output, replaces) if args.output else None
        table = output_table(getattr(args, "output_table", None), getattr(args, "table_format", None), replaces)
        return Work(args, output, table, data.get("path"), args.format, options)

    def check(self, saved: str = "", remedy: str = "", options: bool = False) -> None:
        """Refuse paths that are not there, or that are written and read, and wrong `options` of the reader, before a session
        starts; `saved` is what --model names, where the command applies something."""
        paths, models = inputs(self.path, self.format), [self.args.model] if saved else []
        if self.output is not None:
            self.output.check([*paths, *models])
        if options:
            check_data(self.path, self.format, self.options)
        check_there(paths)
        check_there(models, saved, remedy)

    @contextmanager
    def session(self, ahead: Sequence[str] = (), resumes: bool = False) -> Iterator[SparkSession]:
        """The session there is, or one of our own, which is stopped at the end, where no output is of an earlier run; what
        was cut short may be there where a run `resumes`. `ahead`: modules of this package to import while Java starts."""
        from pyspark.sql import SparkSession

        from ..session.local import local_session, remote

        stages, debug = self.stages, self.args.debug
        if not debug and not logging.root.handlers:
            logging.root.addHandler(logging.NullHandler())  # py4j logs an interrupt with two tracebacks
        had = SparkSession.getActiveSession() is not None or "DATABRICKS_RUNTIME_VERSION" in os.environ

        def importing() -> None:
            with suppress(Exception):  # which the command's own import shall tell
                for name in ahead:
                    import_module(f"..{name}", __package__)

        threading.Thread(target=importing, daemon=True).start()
        if not had and (server := remote()) and not stages.quiet:
            stages.line(f"connecting to {server[0]}:{server[1]}")
        with stages.stage("session"):
            spark = local_session("spark-mlfs", {"spark.log.level": "WARN"} if debug else {}, quiet=not debug)
        try:
            if self.output is not None:
                self.output.check(spark=spark, resumes=resumes)
            if self.table is not None:
                self.table.check(spark, inputs(self.path, None) if self.format == "table" else ())
            yield spark
        finally:
            if not had:
                spark.stop()

    def manifest(self, spark: SparkSession, results: Mapping[str, Any], model: Mapping[str, Any] | None = None) -> dict[str, Any]:
        """Return the entries of manifest.json; of one that applies a `model` to data, these first."""
        from ..output.manifest import opening, versions

        read = {"path": self.path, "format": self.format, "options": self.options}
        return {
            **opening(self.args.command, self.args.argv),
            **({} if model is None else {"model": model, "data": read}),
            **results,
            "seconds": self.stages.seconds,
            "versions": versions(spark.version),
        }

    def count_rows(self, spark: SparkSession, frame: DataFrame) -> int:
        """The rows of the data, of which `frame` was read; of a table without looking at their values."""
        from ..read.errors import reading

        whole = self.table_read(spark)
        with reading():
            return (frame if whole is None else whole).count()

    def table_read(self, spark: Any) -> DataFrame | None:
        """The user's own table that is read; None of another format."""
        from ..read.tables import open_table

        if self.format == "files":
            from ..read.content import open_files

            return open_files(spark, self.path, READERS.create("files").check(self.path, self.options), labelled=True)
        kind = self.options.get("source", "table") if self.format == "text" else self.format
        return open_table(spark, self.path or "", kind, self.options.get("reader_options")) if tabular(kind) else None

    def note(self, text: str) -> None:
        if not self.args.quiet:
            text = spelled(text, getattr(self.args, "spelling", in_python))
            print(f"spark-mlfs: note: {text}", file=sys.stderr, flush=True)


def some_of(names: Sequence[str]) -> str:
    """The first six names, and how many more there are."""
    return ", ".join(names[:6]) + (f" and {len(names) - 6} more" if len(names) > 6 else "")


class Stages:
    """Names and times the stages; on a terminal it shows them as they run, with the time they have taken so far."""

    def __init__(self, verbose: bool, quiet: bool = False) -> None:
        self.seconds: dict[str, float] = {}
        self.quiet = quiet
        self.terminal = sys.stderr.isatty() and not quiet
        # spark-submit takes our standard error for its standard output, so that it never is a terminal
        self.lines = not quiet and (verbose or self.terminal or "PYSPARK_GATEWAY_PORT" in os.environ)
        self.last_line = time.perf_counter()
        self.bar: Any = None

    @contextmanager
    def stage(self, name: str) -> Iterator[None]:
        from tqdm import tqdm

        started, done = time.perf_counter(), threading.Event()
        shape = "{desc} {elapsed}"  # until it is known how many steps there are
        self.bar = tqdm(total=1, desc=name, leave=False, file=sys.stderr, disable=not self.terminal, bar_format=shape)

        def tick() -> None:  # the time passes while a stage has nothing to report
            while not done.wait(SECONDS_BETWEEN_TICKS):
                self.bar.refresh()

        ticking = threading.Thread(target=tick, daemon=True)
        if self.terminal:
            ticking.start()
        try:
            yield
        finally:
            done.set()
            if self.terminal:
                ticking.join()
            self.bar.close()
        self.seconds[name] = round(time.perf_counter() - started, 4)
        if self.lines:
            self.line(f"{name:<24} {self.seconds[name]:8.2f} s")

    def line(self, text: str) -> None:
        """A line on standard error, with the time where that is no terminal but a log."""
        when = "" if self.terminal else time.strftime("%Y-%m-%dT%H:%M:%S%z ")
        print(f"{when}spark-mlfs: {text}", file=sys.stderr, flush=True)

    def report(self, what: str, done: int, total: int) -> None:
        if self.terminal and self.bar is not None:
            self.bar.total, self.bar.n = total, done
            self.bar.bar_format = "{desc} |{bar}| {n_fmt}/{total_fmt} {elapsed}"
            self.bar.set_description_str(what)
        elif self.lines and done < total and time.perf_counter() - self.last_line > SECONDS_BETWEEN_LINES:
            self.last_line = time.perf_counter()
            self.line(f"{what} {done} of {total}")


def load_selection(path: str, session: SparkSession | LocalSession) -> Selected:
    """The saved selection at `path`, or at ``path/model``, by Spark or in this process."""
    selection: Selected = load_model(path, session)[0]
    return selection


def load_model(path: str, session: SparkSession | LocalSession | None = None) -> tuple[Any, str]:
    """The saved selection at `path` or ``path/model``, by Spark or in this process, and where it was."""
    root = path.rstrip("/")
    places: tuple[str, ...] = (root, f"{root}/model")
    damaged: ParameterError | None = None
    if isinstance(session, LocalSession):
        from ..adapters.selection import LocalSelection
        from ..read.paths import here

        place = next((where for where in places if os.path.isdir(f"{here(where)}/metadata")), None)
        if place is not None:
            return LocalSelection.load(here(place)), place
        places = ()
    else:
        from ..ml.selectors import MultiLabelSelectorModel
    for where in places:
        try:
            return MultiLabelSelectorModel.load(where), where
        except ParameterError as error:
            if error.__cause__ is None:  # something else was saved there
                raise
            cause = str(error.__cause__)
            if "PATH_NOT_FOUND" not in cause and "does not exist" not in cause:
                damaged = damaged or error
    raise damaged or ParameterError(f"no saved selection at {path}; give the model/ folder that spark-mlfs select wrote")


def load_pipeline(session: SparkSession | LocalSession, path: str) -> SavedPipeline:
    """The saved pipeline at `path`, by Spark or in this process."""
    if isinstance(session, LocalSession):
        from ..scoring.local import load_here

        return load_here(path)
    from ..scoring.scorer import load_scorer

    return load_scorer(session, path)


def reader_options_of(model: Selected, format: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a reader whose features are to be those of a saved selection."""
    # a text corpus has words of its own: count the ones the selection was made among
    vocabulary = {"vocabulary": model.featureNames} if format == "text" else {}
    return vocabulary | model.reader_options(format, options)
