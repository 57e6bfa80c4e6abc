"""Shared by the commands: exit codes, arguments, the stages of a run on the terminal, the session, a saved selection."""

from __future__ import annotations

import argparse
import csv
import io
import logging
import os
import sys
import threading
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import DataError, ParameterError, renamed
from ..params import from_json, text_in

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from ..ml.selectors import MultiLabelSelectorModel
    from ..output.table import OutputTable

OK, FAILED, USER_ERROR, NOT_MET, INTERRUPTED = 0, 1, 2, 3, 130
SECONDS_BETWEEN_LINES = 20  # of progress within a stage, where there is no terminal
SECONDS_BETWEEN_TICKS = 0.5  # of the clock, where there is one


# ---- arguments ----


def data_arguments(parser: argparse.ArgumentParser, weights: bool = False) -> None:
    """The flags of what is read; of a command that takes row `weights` and grades."""
    group = parser.add_argument_group("data")
    group.add_argument(
        "--data",
        nargs="+",
        action="extend",
        metavar="PATH",
        help="file, folder, glob or several; a table's name; nothing for the samples",
    )
    group.add_argument(
        "--format", metavar="NAME", help="arff, libsvm, parquet, delta, csv, json, table, text; samples: numbers, planted"
    )
    group.add_argument(
        "--option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of the reader, such as labels=scene.xml, labels=-6, missing=mean, num_labels=101; repeat for more, "
        "or with the same name for a list",
    )
    group.add_argument(
        "--features",
        nargs="+",
        action="extend",
        metavar="COLUMN",
        help="feature column or columns of a table; same as --option features=",
    )
    group.add_argument(
        "--labels-col", nargs="+", action="extend", metavar="COLUMN", help="label column or columns; same as --option labels="
    )
    group.add_argument("--id", metavar="COLUMN", help="row id column; same as --option id=")
    if weights:
        group.add_argument(
            "--weight-col",
            metavar="COLUMN",
            help="column of the rows' weights, for methods of counts and moments; same as --option weight=",
        )
        group.add_argument(
            "--graded-labels",
            action="store_true",
            help="labels are grades, numbers from 0 to 1 or in --grade-range, for methods of moments; of a table's columns",
        )
        group.add_argument(
            "--grade-range", nargs=2, metavar=("LOW", "HIGH"), help="what grades go from and to, such as 1 5 of ratings"
        )
        group.add_argument(
            "--label-cuts",
            nargs="+",
            metavar="GRADE",
            help="for all other methods: a label is positive where its grade is at least this; several make a label each",
        )


def output_arguments(parser: argparse.ArgumentParser) -> Any:
    """The flags of where the results go; the group, for a command's own."""
    group = parser.add_argument_group("output")
    group.add_argument(
        "--output",
        metavar="DIR",
        type=_dated,
        help="folder to write; without a scheme it is on this machine; {date} in it is today's",
    )
    group.add_argument(
        "--overwrite", action="store_true", help="replace the output of an earlier run, once the new one is complete"
    )
    telling_arguments(group)
    return group


def _dated(output: str) -> str | None:
    from ..read.toml import dated  # not before it is asked for: it needs pyspark

    return dated(output) or None


def telling_arguments(group: Any) -> None:
    """The flags of what a command says."""
    group.add_argument("--json", action="store_true", help="the result as one JSON object on standard output, nothing else there")
    group.add_argument("--quiet", action="store_true", help="nothing but errors")
    group.add_argument(
        "--verbose", action="store_true", help="a line per stage on standard error, also where that is no terminal"
    )
    group.add_argument("--debug", action="store_true", help="show Spark's log and the traceback of every error")


class _FormerFlag(argparse.Action):
    """Takes the value of the flag that is called `const` now, and says so."""

    def __call__(self, parser: Any, namespace: argparse.Namespace, values: Any, option: str | None = None) -> None:
        renamed(str(option), self.const)
        setattr(namespace, self.dest, values)


def former_flag(group: Any, before: str, now: str) -> None:
    """The name that a flag with a value had before; no help and no completion shows it."""
    dest = now.removeprefix("--").replace("-", "_")
    group.add_argument(before, action=_FormerFlag, const=now, dest=dest, default=argparse.SUPPRESS, help=argparse.SUPPRESS)


def dry_run_argument(group: Any, what: str) -> None:
    """The flag of a run that only says what it would do."""
    group.add_argument("--dry-run", action="store_true", help=f"only say what would run: {what}")


def table_arguments(group: Any, what: str) -> None:
    """The flags of a table that is written beside the folder."""
    group.add_argument(
        "--output-table", metavar="TABLE", help=f"write {what} as a table, too: table, schema.table or catalog.schema.table"
    )
    group.add_argument(
        "--table-format", metavar="NAME", help="its format, delta or parquet (default: that of the session's tables)"
    )


def data_flags(args: argparse.Namespace) -> dict[str, Any]:
    """The [data] section as the flags give it."""
    options = pairs(args.option, "--option")
    for name, flag, value in (
        ("features", "--features", args.features),
        ("labels", "--labels-col", args.labels_col),
        ("id", "--id", args.id),
        ("weight", "--weight-col", getattr(args, "weight_col", None)),
    ):
        if value is None:
            continue
        if name in options:
            raise ParameterError(f"{flag} and --option {name}= say the same thing; give one of them")
        options[name] = value[0] if isinstance(value, list) and len(value) == 1 else value
    data: dict[str, Any] = {}
    if args.data is not None:
        data["path"] = args.data[0] if len(args.data) == 1 else args.data
    if args.format is not None:
        data["format"] = args.format
    if options:
        data["options"] = options
    for name in ("graded_labels", "grade_range", "label_cuts"):
        value = getattr(args, name, None)
        if value:
            data[name] = value
    return data


def pairs(items: Sequence[str], flag: str) -> dict[str, Any]:
    """``key=value`` arguments as a dict; a key given several times has the list of its values."""
    out: dict[str, Any] = {}
    for item in items:
        key, separator, text = item.partition("=")
        if not separator or not key.strip():
            raise ParameterError(f"{flag} {item!r}: write it as {flag} name=value")
        key = key.strip()
        if key in out:
            out[key] = [*(out[key] if isinstance(out[key], list) else [out[key]]), text]
        else:
            out[key] = text
    return out


def grid_pairs(items: Sequence[str]) -> dict[str, list[str]]:
    """``--grid name=v1,v2`` arguments as lists of values by name."""
    return {name: str(values).split(",") for name, values in pairs(items, "--grid").items()}


def set_values(**values: Any) -> dict[str, Any]:
    """The values that are not None: what the flags say of a section."""
    return {k: v for k, v in values.items() if v is not None}


def require(command: str, **values: Any) -> None:
    """`ParameterError` naming the first flag that is missing."""
    for name, value in values.items():
        if value is None:
            raise ParameterError(f"{command} needs --{name}; see spark-mlfs {command} --help")


def number(flag: str, text: str | None, kind: type, least: float | None = None) -> Any:
    """A flag's text as a number of `kind`, None where it is not there; `ParameterError` for anything else."""
    if text is None:
        return None
    try:
        value = kind(text)
    except ValueError:
        value = None
    if value is None or (least is not None and value < least) or value != value:
        what = "a whole number" if kind is int else "a number"
        raise ParameterError(
            f"{flag} must be {what}" + (f", at least {least:g}" if least is not None else "") + f", not {text!r}"
        )
    return value


def inputs(path: str | list[str] | None, format: str | None) -> list[str]:
    """The paths a run reads (a table's name is none)."""
    if path is None or format == "table":
        return []
    return [path] if isinstance(path, str) else list(path)


def output_table(name: str | None, format: str | None, overwrite: bool) -> OutputTable | None:
    """The table that --output-table names, if it is given."""
    from ..output.table import OutputTable

    if name is None:
        if format is not None:
            raise ParameterError("--table-format goes with --output-table")
        return None
    return OutputTable(name, format, overwrite)


def check_data(path: str | list[str] | None, format: str, options: Mapping[str, Any]) -> None:
    """Refuse wrong options of a reader, and a file of this machine that is not there, before a session starts."""
    from ..read import check_options

    check_options(path, format, options)
    check_there(inputs(path, format))


def check_there(paths: Sequence[str], what: str = "file", remedy: str = "give a path that is there") -> None:
    """`DataError` for a path of this machine where nothing is, before a session of our own starts: another session's paths may be
    elsewhere."""
    from ..output.folder import local_path
    from ..session.local import of_our_own

    if not of_our_own() or {"HADOOP_CONF_DIR", "SPARK_CONF_DIR", "SPARK_HOME"} & set(os.environ):
        return
    for given in paths:
        here = local_path(given)
        if here is not None and not any(sign in given for sign in "*?[{,") and not here.exists():
            raise DataError(f"{given}: no such {what}; {remedy}")


# ---- a run ----


def print_result(args: argparse.Namespace, text: str, result: Mapping[str, Any]) -> None:
    """Print a command's result on standard output: `text`, or with --json `result`; with --quiet nothing."""
    from ..output.manifest import as_json

    if args.json:
        print(as_json(result), end="", flush=True)
    elif not args.quiet:
        print(text, flush=True)


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
        ticking = threading.Thread(target=_tick, args=(self.bar, done), daemon=True)
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
        """The pipeline's progress."""
        if self.terminal and self.bar is not None:
            self.bar.total, self.bar.n = total, done
            self.bar.bar_format = "{desc} |{bar}| {n_fmt}/{total_fmt} {elapsed}"
            self.bar.set_description_str(what)
        elif self.lines and done < total and time.perf_counter() - self.last_line > SECONDS_BETWEEN_LINES:
            self.last_line = time.perf_counter()
            self.line(f"{what} {done} of {total}")


def _tick(bar: Any, done: threading.Event) -> None:
    """Shows the time that passes while a stage has nothing to report."""
    while not done.wait(SECONDS_BETWEEN_TICKS):
        bar.refresh()


@contextmanager
def session(stages: Stages, debug: bool, ahead: Sequence[str] = ()) -> Iterator[SparkSession]:
    """The session there is, or one of our own, which is stopped at the end. Its log is off: what goes wrong is told by us.
    `ahead`: modules of this package the command needs next; they are imported while Java starts."""
    from pyspark.sql import SparkSession

    from ..session.local import local_session, remote

    if not debug and not logging.root.handlers:
        logging.root.addHandler(logging.NullHandler())  # py4j logs an interrupt with two tracebacks
    had = SparkSession.getActiveSession() is not None or "DATABRICKS_RUNTIME_VERSION" in os.environ
    importing = threading.Thread(target=_import, args=(ahead,), daemon=True)
    importing.start()
    if not had and (server := remote()) and not stages.quiet:
        stages.line(f"connecting to {server[0]}:{server[1]}")
    with stages.stage("session"):
        spark = local_session("spark-mlfs", {"spark.log.level": "WARN"} if debug else {}, quiet=not debug)
    try:
        yield spark
    finally:
        if not had:
            spark.stop()


def _import(modules: Sequence[str]) -> None:
    with suppress(Exception):  # which the command's own import shall tell
        for name in modules:
            import_module(f"..{name}", __package__)


def load_model(path: str) -> tuple[MultiLabelSelectorModel, str]:
    """The saved selection at `path`, or at ``path/model``, and where it was; `ParameterError` where neither holds one."""
    from ..ml.selectors import MultiLabelSelectorModel

    root = path.rstrip("/")
    damaged: ParameterError | None = None
    for where in (root, f"{root}/model"):
        try:
            return MultiLabelSelectorModel.load(where), where
        except ParameterError as error:
            if error.__cause__ is None:  # something else was saved there
                raise
            cause = str(error.__cause__)
            if "PATH_NOT_FOUND" not in cause and "does not exist" not in cause:
                damaged = damaged or error
    raise damaged or ParameterError(f"no saved selection at {path}; give the model/ folder that spark-mlfs select wrote")


def names_in(path: str, what: str) -> list[str] | None:
    """The features that a file on this machine lists: the column ``name`` of a .csv, else a name a line. None for what may be the
    folder of a saved selection; `ParameterError` where nothing of the path is there, or it is no such file."""
    file = Path(path)
    if not file.is_file():
        if "://" not in path and not file.exists():
            raise ParameterError(f"{what}: {path} is not there; give a file with a name a line, or the folder of a selection")
        return None
    if file.suffix.lower() == ".csv":
        return [row["name"] for row in _rows_in(path, what, "name")]
    return [name for line in _text_in(path, what) if (name := line.rstrip("\r\n"))]


MAX_LIST = 1 << 28


def _text_in(path: str, what: str) -> io.StringIO:
    """The text of a file that lists features; `ParameterError` where it cannot be read."""
    try:
        return io.StringIO(text_in(path, MAX_LIST, "list of features"), newline="")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ParameterError(f"{what}: {path} cannot be read: {said}") from None


def _rows_in(path: str, what: str, *columns: str) -> list[dict[str, str]]:
    """The rows of a .csv, which has these columns, and in every row."""
    rows = csv.DictReader(_text_in(path, what))
    try:
        if not set(columns) <= set(rows.fieldnames or ()):
            need = f"the column{'s' * (len(columns) > 1)} {' and '.join(map(repr, columns))}"
            raise ParameterError(f"{what}: {path} needs {need}: name them so in its first line")
        out = list(rows)
    except csv.Error as error:
        raise ParameterError(f"{what}: {path}:{rows.line_num} cannot be read as CSV: {error}") from None
    if any(row[column] is None for row in out for column in columns):
        raise ParameterError(f"{what}: a row of {path} has too few cells: give it one for every column")
    return out


def mapping_in(path: str, what: str, column: str) -> dict[str, Any]:
    """The groups or costs of a file on this machine: a table of a .toml or .json, or the columns ``name`` and `column` of a .csv,
    where features of one group are gathered."""
    kind = Path(path).suffix.lower()
    if kind == ".csv":
        pairs = [(row["name"], row[column]) for row in _rows_in(path, what, "name", column)]
        if column == "cost":
            return dict(pairs)
        out: dict[str, Any] = {}
        for name, group in pairs:
            if group:
                out.setdefault(group, []).append(name)
        return out
    if kind == ".toml":
        from ..read.toml import read_toml

        return read_toml(path)
    try:
        found = from_json(_text_in(path, what).read())
    except ValueError as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(f"{what}: {path} cannot be read: give a .toml, .json or .csv") from None
    if not isinstance(found, dict):
        raise ParameterError(f'{what}: {path} holds no table of names: give one such as {{"name": ...}}')
    return found


def reader_options_of(model: MultiLabelSelectorModel, format: str, options: Mapping[str, Any]) -> dict[str, Any]:
    """The options of a reader whose features are to be those of a saved selection."""
    from ..read.missing import left_to
    from ..read.tables import FORMATS

    out = dict(options)
    if format == "libsvm" and not {"num_features", "feature_names"} & set(out):
        out["num_features"] = model.numFeatures  # a small corpus need not reach the last feature
    if format == "text":  # the corpus has words of its own: count the ones the selection was made among
        out.setdefault("vocabulary", model.featureNames)
    if format in (*FORMATS, "arff"):
        out["missing"] = left_to(model.summary, out.get("missing"))
    return out
