"""The command line, and what ``jobs/*.py`` call. A command is a module of this folder, with an
`EPILOG` if it has examples, `add_arguments(parser)` and `run(args)`, which returns the exit code;
and a line in `COMMANDS`.

Exit codes: 0 done; 2 the user's error, told in one line on standard error; 130 interrupted, 143
ended by SIGTERM, both with what is kept; 3 what `--require` asks for is not met; 1 anything
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
import time
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
    ForecastNotice,
    ParameterError,
    SparkMlfsError,
    Spelling,
    face,
    from_worker,
    in_python,
    marked_text,
    out_of_memory,
    spelled,
)
from ..formats import READERS, format_of
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
_CODES: dict[int, int] = {
    signal.SIGTERM: 128 + signal.SIGTERM,
    signal.SIGINT: INTERRUPTED,
}  # by signals
SECONDS_TO_CLEAN_UP = 20  # that a process has after a signal
SECONDS_TO_EXIT = 5  # that Python takes to leave it, at most
_EXAMPLE = """\
example (data this library makes itself, nothing to download):
  spark-mlfs select --format numbers --method jmi --num-top-features 50 --output runs/numbers
"""


def _reader_option(flag: str) -> str:
    """Return how a reader's option is given, where a flag is called like one."""
    name = flag.lstrip("-").replace("-", "_")
    options = {p.name for reader in READERS for p in READERS.create(reader).parameters}
    return f": it is an option of readers, --option {name}=…" if name in options else ""


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
            flag = unknown.split("=")[0]
            hint = _reader_option(flag) if "--option" in known else ""
            message = f"unknown argument {unknown}{hint or self._near(flag, known)}"
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
    """Return the parser of all commands, with the flags of all or of those `flagged`.

    Only the modules of these are imported. What it parses has the command's `run` and `parser`."""
    layout: Any = {"formatter_class": argparse.RawDescriptionHelpFormatter, "allow_abbrev": False}
    top = _Parser(
        "spark-mlfs",
        description="Multi-label feature selection on arrays, files and Apache Spark.",
        epilog=_EXAMPLE,
        **layout,
    )
    top.add_argument("--version", action="version", version=f"spark-mlfs {__version__}")
    commands = top.add_subparsers(dest="command", metavar="command")
    for name, summary in COMMANDS.items():
        description = summary[0].upper() + summary[1:] + "."
        sub = commands.add_parser(
            name.replace("_", "-"), help=summary, description=description, **layout
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


class _VisibleControls:
    """A stream of text that shows control characters, as JSON writes them: a name from the data
    gives the terminal no command."""

    def __init__(self, stream: Any, unchanged: str = "") -> None:
        self._stream = stream
        self._table = {code: text for code, text in _CONTROLS.items() if chr(code) not in unchanged}

    def write(self, text: str) -> int:
        visible = text.translate(self._table).encode("utf-8", "backslashreplace").decode()
        with self._tolerates_closed_pipe():
            self._stream.write(visible)
        return len(text)

    def flush(self) -> None:
        with self._tolerates_closed_pipe():
            self._stream.flush()

    @contextmanager
    def _tolerates_closed_pipe(self) -> Iterator[None]:
        """Go on where nobody reads any more, as after ``| head``: the text goes nowhere."""
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
    # None: closed, as by >&-
    out = sys.stdout or open(os.devnull, "w")  # noqa: SIM115
    err = sys.stderr or open(os.devnull, "w")  # noqa: SIM115
    visible_out = _VisibleControls(out)
    visible_err = _VisibleControls(err, "\r")  # where a bar grows
    with redirect_stdout(visible_out), redirect_stderr(visible_err):
        yield
        sys.stdout.flush()


@_controls_shown()
def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit code. Without `argv` it is the process's own."""
    # jobs put their command in front
    ending = _Ending(is_process=argv is None or [*argv[1:]] == sys.argv[1:])
    argv = sys.argv[1:] if argv is None else list(argv)
    args = None
    try:
        _check_surroundings(argv)
        top = parser([word.replace("-", "_") for word in argv[:1]])
        if not argv:
            top.print_help(sys.stderr)
            return USER_ERROR

        with _notices_in_one_line("--quiet" in argv) as spellings, ending.by_signals():
            args = top.parse_args(argv)
            if argv[0] in _ON_DATA and len(argv) == 1:
                args.parser.print_help(sys.stderr)
                return USER_ERROR
            args.argv = argv
            args.spelling = spelling_of(argv, args.parser._option_string_actions)
            spellings.append(args.spelling)
            if "format" in args and args.format is None and not getattr(args, "config", None):
                paths = args.before if "before" in args else args.data
                args.format = format_of(paths)
            with face(args.spelling):
                code: int = args.run(args)
            return code
    except SystemExit as ended:  # --help, --version
        return int(ended.code or 0)
    except KeyboardInterrupt as error:
        number = signal.SIGTERM if isinstance(error, Terminated) else signal.SIGINT
        return ending.say(number, argv, str(error))
    except Exception as error:
        flags = args.parser._option_string_actions if args else ()
        bound = "memory_bytes" if "--memory-bytes" in flags else None
        user_error = _user_error(error) or out_of_memory(error, bound)
        if user_error is None or "--debug" in argv:
            traceback.print_exc()
        if user_error is None:
            first_line = str(error).strip().partition("\n")[0]
            return _failed(f"{type(error).__name__}: {first_line}", FAILED, argv)
        user_error.spell(spelling_of(argv, flags))
        line = " ".join(str(user_error).split())
        if len(line) > MAX_LINE:
            line = f"{line[: MAX_LINE - 300]} … {line[-290:]}"
        print(f"spark-mlfs: error: {line}", file=sys.stderr)
        return _failed(line, USER_ERROR, argv)


def _failed(line: str, code: int, argv: Sequence[str]) -> int:
    """Return the exit code; with --json print an object with the message in place of the result."""
    if "--json" in argv:
        print(json.dumps({"error": line, "code": code}), flush=True)
    return code


_FLAGS = {
    "path": "--data",
    "labels": "--labels-col",
    "weight": "--weight-col",
    "group": "--group-col",
    "features": "--features",
    "text": "--text",
    "id": "--id",
}


def spelling_of(argv: Sequence[str], flags: Collection[str]) -> Spelling:  # noqa: C901
    """Return how a message names settings to who typed `argv`.

    A setting that is one of the command's `flags` is named as that flag, a method's parameter as
    ``--set NAME=VALUE``, an option of the reader as ``--option NAME=VALUE``; what a file may have
    set, by its key."""
    typed = {word.partition("=")[0] for word in argv if word.startswith("--")}
    options: set[str] = set()
    owners: dict[str, str] = {}
    format = None
    for flag, word in itertools.pairwise(argv):
        name = word.partition("=")[0]
        if flag == "--option":
            options.add(name)
        elif flag in ("--classifier-set", "--grid"):
            owners[name] = flag
        elif flag == "--format" and format is None:
            format = word
    with_file = "--config" in typed

    def spell(kind: str, name: str, value: str | None) -> str:
        if kind == "words":
            if name != AS_TEXT or value is None or format is None:
                return in_python(kind, name, value)
            column = _typed(value)
            return (
                f"give --format text --option source={format} --option text={column} instead "
                f"of --features {column}"
            )
        is_option = kind == "option"
        flag = _FLAGS.get(name) if is_option else "--" + name.replace("_", "-")
        as_option = is_option and name in options
        has_flag = flag is not None and flag in flags and not as_option
        if has_flag and (flag in typed or not with_file or kind == "setting"):
            if value is None:
                return str(flag)
            if flag in typed or not with_file:
                return f"{flag} {_typed(value)}"
        elif as_option or not with_file:
            owner = "--option" if is_option else owners.get(name) or _owner(argv, name)
            if value is None:
                return f"{owner} {name}"
            return f"{owner} {shlex.quote(f'{name}={_typed(value)}')}"
        return in_python(kind, name, value)

    return spell


def _owner(argv: Sequence[str], name: str) -> str:
    """Return the flag that sets a parameter: of the classifier in `argv`, if that has it alone."""
    from ..classify import CLASSIFIERS
    from ..methods import METHODS

    flags: dict[str, Any] = {"--method": METHODS, "--classifier": CLASSIFIERS}
    owners = [
        flag
        for flag, word in itertools.pairwise(argv)
        if flag in flags and word in flags[flag]
        if any(parameter.name == name for parameter in flags[flag].create(word).parameters)
    ]
    return "--classifier-set" if owners == ["--classifier"] else "--set"


def _typed(value: str) -> str:
    """Return a value as it is typed: a text without its quotes."""
    quote = value[:1]
    return value[1:-1] if quote in QUOTES and value.endswith(quote) else value


def job() -> None:
    """Run `main` for a scheduler that takes no exit code (a Databricks wheel task).

    An error ends it."""
    code = main()
    if code != OK:
        raise SystemExit(code)


class Terminated(KeyboardInterrupt):
    """SIGTERM: a scheduler, or `docker stop`, ends the run. It is cleaned up and reported as after
    Ctrl-C."""


class _Ending:
    """The end of a command by a signal: an interrupt, after which the command cleans up.

    Where it is a process of its own, and still waits for something some seconds later, the process
    ends as it stands. What is written is whole all the same, or set aside (`output.folder`)."""

    def __init__(self, is_process: bool) -> None:
        self.is_process = is_process
        self.is_said = threading.Event()

    @contextmanager
    def by_signals(self) -> Iterator[None]:
        """Raise `Terminated` at SIGTERM and KeyboardInterrupt at SIGINT.

        The process keeps the handlers that it has of its own."""
        usual: dict[int, Any] = {
            signal.SIGTERM: signal.SIG_DFL,
            signal.SIGINT: signal.default_int_handler,
        }
        if threading.current_thread() is not threading.main_thread():
            usual = {}
        replaced = [number for number in usual if signal.getsignal(number) is usual[number]]
        for number in replaced:
            signal.signal(number, self._end)
        try:
            yield
        finally:
            for number in replaced:
                if signal.getsignal(number) in (self._end, signal.SIG_IGN):
                    signal.signal(number, usual[number])

    def _end(self, number: int, _: Any) -> NoReturn:
        if number == signal.SIGTERM:
            signal.signal(number, signal.SIG_IGN)  # once: what follows is the cleaning up
        if self.is_process:
            threading.Thread(target=self._at_last, args=(number,), daemon=True).start()
        raise Terminated if number == signal.SIGTERM else KeyboardInterrupt

    def _at_last(self, number: int) -> None:
        is_said = self.is_said.wait(SECONDS_TO_CLEAN_UP)
        if is_said:
            time.sleep(SECONDS_TO_EXIT)
        else:
            self.say(number, sys.argv[1:])
        os._exit(_CODES[number])

    def say(self, number: int, argv: Sequence[str], kept: str = "") -> int:
        """Print what ended the command, and what is `kept`; return the exit code."""
        self.is_said.set()
        line = "ended by SIGTERM" if number == signal.SIGTERM else "interrupted"
        if kept:
            line = f"{line}: {kept}"
        print(f"spark-mlfs: {line}", file=sys.stderr, flush=True)
        return _failed(line, _CODES[number], argv)


@contextmanager
def _notices_in_one_line(quiet: bool) -> Iterator[list[Spelling]]:
    """Print DataNotice warnings on standard error, a line each, behind the result.

    A forecast is printed at once. Where there is an error it is the one line. Settings are named
    by the last of the spellings that the block puts into the list."""
    spellings: list[Spelling] = [in_python]
    usual = warnings.showwarning
    notes: list[str] = []

    def show(
        message: Warning | str,
        category: type[Warning],
        *args: Any,
        **kwargs: Any,
    ) -> None:
        if not isinstance(message, DataNotice):
            usual(message, category, *args, **kwargs)
            return
        text = spelled(marked_text(message), spellings[-1])
        if isinstance(message, ForecastNotice):
            _print_note("" if quiet else text)
        else:
            notes.append(" ".join(text.split()))

    warnings.showwarning = show
    try:
        yield spellings
    finally:
        warnings.showwarning = usual
    for note in [] if quiet else notes:
        _print_note(note)


def _print_note(text: str) -> None:
    if text:  # above a bar, not behind it
        tqdm.write(f"spark-mlfs: note: {text}", file=sys.stderr)


def _user_error(error: BaseException) -> SparkMlfsError | None:
    """Return the error that the user can put right; None for any other.

    These are errors of this package, also out of a worker, and paths that are not there or not
    accessible."""
    ours = from_worker(error)
    if ours is not None:
        return ours
    text = str(error)
    if isinstance(error, OSError) and "usable temporary directory" in text:
        return DataError(f"{error.strerror}: set TMPDIR to a folder that can be written")
    if isinstance(error, OSError) and error.filename is not None:
        return DataError(f"{error.filename}: {(error.strerror or text)[:200].lower()}")
    if "DATA_SOURCE_NOT_FOUND" in text:
        return DataError(
            "this Spark session does not have the output format; for delta start it with "
            "delta-spark and its extensions"
        )
    if "[PATH_NOT_FOUND]" in text:
        return DataError(text.split("[PATH_NOT_FOUND]", 1)[1].split("SQLSTATE")[0].strip())
    if "No FileSystem for scheme" in text or "UNSUPPORTED_FILE_SYSTEM" in text:
        scheme = text.split("scheme", 1)[-1].split('"')[1] if '"' in text else "of the path"
        return DataError(
            f"this Spark has no file system {scheme}; add its connector with --packages, or use a "
            "path it knows"
        )
    return None
