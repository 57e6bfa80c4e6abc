"""The command line, and what ``jobs/*.py`` call. A command is a module of this folder, with an
`EPILOG` if it has examples, `add_arguments(parser)` and `run(args)`, which returns the exit code;
and a line in `COMMANDS`.

Exit codes: 0 done; 2 the user's error, told in one line on standard error; 130 interrupted, 143
ended by SIGTERM, both with what is kept; 3 what `check --require` asks for is not met; 1 anything
else, with its traceback. With --json what failed is an object on standard output, too. Nothing is
written unless all of it is (`output.folder`)."""

from __future__ import annotations

import argparse
import itertools
import json
import os
import re
import shlex
import signal
import sys
import threading
import traceback
import warnings
from collections.abc import Collection, Container, Iterator, Sequence
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from difflib import get_close_matches
from importlib import import_module
from typing import Any, NoReturn

from tqdm import tqdm

from ..errors import (
    AS_TEXT,
    QUOTES,
    DataError,
    DataNotice,
    ParameterError,
    SparkMlfsError,
    Spelling,
    from_worker,
    in_python,
)
from ..formats import format_of
from ..version import __version__
from .terminal import FAILED, INTERRUPTED, OK, USER_ERROR

# without flags these do nothing, and print their help
_ON_DATA = (
    "select",
    "collect",
    "states",
    "transform",
    "score",
    "evaluate",
    "compare",
    "check",
    "drift",
)
COMMANDS = {
    "select": "rank the features of a data set and keep the best",
    "collect": "count the rows of a day once: sums that later rankings are made of",
    "states": "merge states, take some away, show what is in them, or what changed",
    "transform": "cut a data set down to the features of a saved selection",
    "score": "give every row of a corpus its labels, by a saved pipeline",
    "evaluate": "measure how good a selection is, by classifiers on rows it has not seen",
    "compare": "compare methods on data sets, as a table, curves and tests",
    "check": "measure a saved pipeline on rows whose labels are known",
    "drift": "tell what changed between earlier and later rows",
    "sample": "write a generated table, as Parquet, or files to try the jobs on",
    "methods": "list the methods, extractors, classifiers and formats with their parameters; with "
    "a name, all about one",
    "completion": "print a script that completes commands, flags and names in bash or zsh",
    "warm_up": "keep Java's classes ready, so that every later run on this machine starts seconds "
    "sooner",
    "java_home": "print the JAVA_HOME a local Spark uses",
}
MAX_LINE = 1000  # characters of an error
_EXAMPLE = """\
example (data this library makes itself, nothing to download):
  spark-mlfs select --format numbers --method jmi --num-top-features 50 --output runs/numbers
"""


class _Parser(argparse.ArgumentParser):
    """An argument parser whose errors are ours: one line, with the near flag for an unknown one."""

    def error(self, message: str) -> NoReturn:
        if message.startswith("unrecognized arguments: "):
            unknown = message.removeprefix("unrecognized arguments: ").split()[0]
            known = [
                flag
                for flag, action in self._option_string_actions.items()
                if action.help != argparse.SUPPRESS
            ]
            message = f"unknown argument {unknown}" + self._near(unknown.split("=")[0], known)
        elif message.startswith("argument command: invalid choice: "):
            unknown = message.split("'")[1]
            message = f"there is no command {unknown!r}" + self._near(
                unknown, [name.replace("_", "-") for name in COMMANDS]
            )
        raise ParameterError(re.sub(r"^argument (--[\w-]+): must", r"\1 must", message))

    def _near(self, unknown: str, known: Collection[str]) -> str:
        near = get_close_matches(unknown, known, n=1)
        return f"; did you mean {near[0]}?" if near else f"; see {self.prog} --help"

    def parse_args(self, args: Any = None, namespace: Any = None) -> Any:
        parsed, unknown = self.parse_known_args(args, namespace)
        if unknown:
            command = getattr(parsed, "parser", self)
            command.error("unrecognized arguments: " + " ".join(unknown))
        return parsed


def parser(flagged: Container[str] = COMMANDS) -> argparse.ArgumentParser:
    """The parser of all commands, with the flags of all or of those `flagged`, whose modules are
    imported. What it gives has the command's `run` and `parser`."""
    written: Any = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    top = _Parser(
        "spark-mlfs",
        description="Multi-label feature selection on Apache Spark.",
        epilog=_EXAMPLE,
        **written,
    )
    top.add_argument("--version", action="version", version=f"spark-mlfs {__version__}")
    commands = top.add_subparsers(dest="command", metavar="command")
    for name, summary in COMMANDS.items():
        about = summary[0].upper() + summary[1:] + "."
        sub = commands.add_parser(
            name.replace("_", "-"), help=summary, description=about, **written
        )
        if name in flagged:
            module = import_module(f".{name}", __package__)
            sub.epilog = getattr(module, "EPILOG", None)
            sub.set_defaults(run=module.run, parser=sub)
            module.add_arguments(sub)
    return top


_CONTROLS = {
    code: f"\\u{code:04x}" for code in (*range(32), *range(127, 160)) if code not in b"\n\t"
}


class _Shown:
    """A stream of text that shows control characters, as JSON writes them: a name from the data
    gives the terminal no command."""

    def __init__(self, stream: Any, passed: str = "") -> None:
        self._stream = stream
        self._table = {code: text for code, text in _CONTROLS.items() if chr(code) not in passed}

    def write(self, text: str) -> int:
        with self._unread():
            self._stream.write(
                text.translate(self._table).encode("utf-8", "backslashreplace").decode()
            )
        return len(text)

    def flush(self) -> None:
        with self._unread():
            self._stream.flush()

    @contextmanager
    def _unread(self) -> Iterator[None]:
        """What nobody reads any more, as after ``| head``, goes nowhere; the run goes on."""
        try:
            yield
        except BrokenPipeError:
            os.dup2(os.open(os.devnull, os.O_WRONLY), self._stream.fileno())

    def __getattr__(self, name: str) -> Any:
        return getattr(self._stream, name)


def _check_surroundings(argv: Sequence[str]) -> None:
    try:
        os.getcwd()
    except FileNotFoundError:
        raise ParameterError("the working folder was deleted: cd to one that is there") from None
    for word in argv:
        if not word.isascii() and any("\ud800" <= letter <= "\udfff" for letter in word):
            raise ParameterError(f"{word} is no UTF-8, which Java needs names to be: rename it")


@contextmanager
def _controls_shown() -> Iterator[None]:
    out, err = (stream or open(os.devnull, "w") for stream in (sys.stdout, sys.stderr))  # noqa: SIM115  # None: closed, as by >&-
    with redirect_stdout(_Shown(out)), redirect_stderr(_Shown(err, "\r")):  # where a bar grows
        yield
        sys.stdout.flush()


@_controls_shown()
def main(argv: Sequence[str] | None = None) -> int:
    """Runs one command; returns the exit code."""
    argv = list(sys.argv[1:] if argv is None else argv)
    debug, args = "--debug" in argv, None
    try:
        _check_surroundings(argv)
        top = parser([word.replace("-", "_") for word in argv[:1]])
        if not argv:
            top.print_help(sys.stderr)
            return USER_ERROR
        with _notices_in_one_line("--quiet" in argv), _sigterm_interrupts():
            args = top.parse_args(argv)
            if argv[0] in _ON_DATA and len(argv) == 1:
                args.parser.print_help(sys.stderr)
                return USER_ERROR
            args.argv, args.spelling = argv, spelling_of(argv, args.parser._option_string_actions)
            if "format" in args and args.format is None and not getattr(args, "config", None):
                args.format = format_of(args.before if "before" in args else args.data)
            code: int = args.run(args)
            return code
    except SystemExit as done:  # --help, --version
        return int(done.code or 0)
    except KeyboardInterrupt as error:
        ended = isinstance(error, Terminated)
        line = ("ended by SIGTERM" if ended else "interrupted") + (
            f": {error}" if str(error) else ""
        )
        print(f"spark-mlfs: {line}", file=sys.stderr, flush=True)
        return _failed(line, 128 + signal.SIGTERM if ended else INTERRUPTED, argv)
    except Exception as error:
        own = _user_error(error)
        if own is None or debug:
            traceback.print_exc()
        if own is None:
            return _failed(
                f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}", FAILED, argv
            )
        own.spell(spelling_of(argv, args.parser._option_string_actions if args else ()))
        line = " ".join(str(own).split())
        line = line if len(line) <= MAX_LINE else f"{line[: MAX_LINE - 300]} … {line[-290:]}"
        print(f"spark-mlfs: error: {line}", file=sys.stderr)
        return _failed(line, USER_ERROR, argv)


def _failed(line: str, code: int, argv: Sequence[str]) -> int:
    """The exit code; with --json an object that says it stands on standard output in place of the
    result."""
    if "--json" in argv:
        print(json.dumps({"error": line, "code": code}), flush=True)
    return code


_FLAGS = {
    "path": "--data",
    "labels": "--labels-col",
    "weight": "--weight-col",
    "features": "--features",
    "id": "--id",
}


def spelling_of(argv: Sequence[str], flags: Collection[str]) -> Spelling:
    """How a message names settings to who typed `argv`, where the command has these `flags`: as
    flags, a method's parameter as ``--set NAME=VALUE``, an option of the reader as ``--option
    NAME=VALUE``; what a file may have said as there."""
    typed = {word.partition("=")[0] for word in argv if word.startswith("--")}
    options = {
        word.partition("=")[0] for flag, word in itertools.pairwise(argv) if flag == "--option"
    }
    owners = {
        word.partition("=")[0]: flag
        for flag, word in itertools.pairwise(argv)
        if flag in ("--classifier-set", "--grid")
    }
    format = next((word for flag, word in itertools.pairwise(argv) if flag == "--format"), None)

    def spell(kind: str, name: str, value: str | None) -> str:
        if kind == "words":
            said = in_python(kind, name, value)
            if name != AS_TEXT or value is None or format is None:
                return said
            column = _typed(value)
            return (
                f"give --format text --option source={format} --option text={column} instead "
                f"of --features {column}"
            )
        flag = _FLAGS.get(name) if kind == "option" else "--" + name.replace("_", "-")
        given = name in options if kind == "option" else False
        if (
            flag in flags
            and flag is not None
            and not given
            and (flag in typed or "--config" not in typed or kind == "setting")
        ):
            if value is None:
                return flag
            if flag in typed or "--config" not in typed:
                return f"{flag} {_typed(value)}"
        elif given or "--config" not in typed:
            owner = "--option" if kind == "option" else owners.get(name, "--set")
            return (
                f"{owner} {name}"
                if value is None
                else f"{owner} {shlex.quote(f'{name}={_typed(value)}')}"
            )
        return in_python(kind, name, value)

    return spell


def _typed(value: str) -> str:
    """A value as it is typed: a text without its quotes."""
    return value[1:-1] if value[:1] in QUOTES and value[:1] == value[-1:] else value


def job() -> None:
    """`main` for a scheduler that calls a function and takes no exit code (a Databricks wheel
    task): an error ends it."""
    code = main()
    if code != OK:
        raise SystemExit(code)


class Terminated(KeyboardInterrupt):
    """SIGTERM: a scheduler, or `docker stop`, ends the run. It is cleaned up and told as after
    Ctrl-C."""


@contextmanager
def _sigterm_interrupts() -> Iterator[None]:
    """SIGTERM raises `Terminated`, unless the process has a handler of its own."""
    if (
        threading.current_thread() is not threading.main_thread()
        or signal.getsignal(signal.SIGTERM) is not signal.SIG_DFL
    ):
        yield
        return

    def end(*_: Any) -> None:
        signal.signal(signal.SIGTERM, signal.SIG_IGN)  # once: what follows is the cleaning up
        raise Terminated

    signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)


@contextmanager
def _notices_in_one_line(quiet: bool) -> Iterator[None]:
    """Print DataNotice warnings as one line on standard error."""
    usual = warnings.showwarning

    def show(message: Warning | str, category: type[Warning], *more: Any, **named: Any) -> None:
        if issubclass(category, DataNotice):
            if not quiet:  # above a bar, not behind it
                tqdm.write("spark-mlfs: note: " + " ".join(str(message).split()), file=sys.stderr)
        else:
            usual(message, category, *more, **named)

    warnings.showwarning = show
    try:
        yield
    finally:
        warnings.showwarning = usual


def _user_error(error: BaseException) -> SparkMlfsError | None:
    """Return the error that the user can put right: ours, also out of a worker, and paths that are
    not there or not ours."""
    own = from_worker(error)
    if own is not None:
        return own
    text = str(error)
    if isinstance(error, OSError) and "usable temporary directory" in text:
        return DataError(f"{error.strerror}: set TMPDIR to a folder that can be written")
    if isinstance(error, OSError) and error.filename is not None:
        return DataError(f"{error.filename}: {(error.strerror or text)[:200].lower()}")
    if "DATA_SOURCE_NOT_FOUND" in text:
        said = (
            "this Spark session does not have the output format; for delta start it with "
            "delta-spark and its extensions"
        )
        return DataError(said)
    if "[PATH_NOT_FOUND]" in text:
        return DataError(text.split("[PATH_NOT_FOUND]", 1)[1].split("SQLSTATE")[0].strip())
    if "No FileSystem for scheme" in text or "UNSUPPORTED_FILE_SYSTEM" in text:
        scheme = text.split("scheme", 1)[-1].split('"')[1] if '"' in text else "of the path"
        return DataError(
            f"this Spark has no file system {scheme}; add its connector with --packages, or use a "
            "path it knows"
        )
    return None
