"""The flags of the commands, those that several have alike, and what was given of them."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from typing import Any

from ..errors import ParameterError
from ..formats import READERS, no_format
from ..methods import DEFAULT_METHOD, TEXT_METHOD
from ..params import Integer, Number
from ..sections import Section, dated


def flag_type(constraint: Integer | Number) -> Callable[[str], Any]:
    """Return the type of a flag whose value a constraint of `params` takes."""

    def accept(text: str) -> Any:
        try:
            return constraint.accept(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"must be {constraint}, not {text!r}") from None

    return accept


COUNT = flag_type(Integer(1))
ANY_NUMBER = flag_type(Number())


class Flags:
    """A group of a command's flags, a line each; and those that several commands have."""

    def __init__(self, parser: argparse.ArgumentParser, title: str) -> None:
        self.group = parser.add_argument_group(title)

    def value(
        self,
        flag: str,
        metavar: str | tuple[str, ...] | None,
        help: str,
        **options: Any,
    ) -> None:
        self.group.add_argument(flag, metavar=metavar, help=help, **options)

    def values(
        self,
        flag: str,
        metavar: str,
        help: str,
        **options: Any,
    ) -> None:
        """Add a flag with several values, which may be given again."""
        self.value(
            flag,
            metavar,
            help,
            nargs="+",
            action="extend",
            **options,
        )

    def repeated(self, flag: str, metavar: str, help: str) -> None:
        """Add a flag with a value, given again for more."""
        self.value(
            flag,
            metavar,
            f"{help}; repeat for more",
            action="append",
            default=[],
        )

    def switch(self, flag: str, help: str) -> None:
        self.group.add_argument(flag, action="store_true", help=help)

    @staticmethod
    def data(
        parser: argparse.ArgumentParser,
        weights: bool = False,
        groups: bool = False,
        pipeline: bool = False,
        windows: bool = False,
    ) -> None:
        """Add what is read, of a command that takes row `weights` and grades, or two `windows`.

        Before it the saved `pipeline` that a command applies."""
        if pipeline:
            model = (
                "a saved pipeline (or the folder of a selection run with --classifier) or "
                "classifier"
            )
            parser.add_argument("--model", metavar="DIR", help=model)
        flags = Flags(parser, "data")
        paths = {"--data": ""}
        if windows:
            paths = {"--before": " of earlier rows", "--after": " of later rows"}
        for flag, rows in paths.items():
            flags.values(
                flag,
                "PATH",
                f"file, folder, glob or several{rows}; a table's name; nothing for the samples",
            )
        formats = (
            f"{', '.join(READERS)} (default: as the files' names end); spark-mlfs methods "
            "NAME lists the options of one"
        )
        flags.value("--format", "NAME", formats)
        option = (
            "an option of the reader, such as labels=scene.xml, labels=-6, missing=mean, "
            "num_labels=101; a name given twice has a list"
        )
        flags.repeated("--option", "NAME=VALUE", option)
        if windows:
            flags.repeated(
                "--after-option", "NAME=VALUE", "an option of the reader for the later rows"
            )
        flags.values(
            "--features",
            "COLUMN",
            "feature column or columns of a table; same as --option features=",
        )
        text = "column of a table that holds a text, whose words are features; of score and check "
        text += "the column that the saved pipeline reads"
        flags.value("--text", "COLUMN", text)
        flags.values("--labels-col", "COLUMN", "label column or columns; same as --option labels=")
        flags.value("--id", "COLUMN", "row id column; same as --option id=")
        on_error = (
            "a file that cannot be used: skip (default; it is listed with its reason) or "
            "refuse; same as --option on_error="
        )
        flags.value("--on-error", "WHAT", on_error)
        if groups:
            group = (
                "column of the rows' groups, such as patients or days, which folds keep whole; "
                "same as --option group="
            )
            flags.value("--group-col", "COLUMN", group)
        if weights:
            flags._weights_and_grades()

    def _weights_and_grades(self) -> None:
        column = (
            "column of the rows' weights, for methods of counts and moments; same as "
            "--option weight="
        )
        self.value("--weight-col", "COLUMN", column)
        grades = (
            "labels are grades, numbers from 0 to 1 or in --grade-range, for methods of "
            "moments; of a table's columns"
        )
        self.switch("--graded-labels", grades)
        self.value(
            "--grade-range",
            ("LOW", "HIGH"),
            "what grades go from and to, such as 1 5 of ratings",
            nargs=2,
        )
        cuts = (
            "for all other methods: a label is positive where its grade is at least this; "
            "several make a label each"
        )
        self.value("--label-cuts", "GRADE", cuts, nargs="+")

    def method(self, grid: str) -> None:
        """Add a method; `grid` is the help on the values that are tried."""
        self.value(
            "--method",
            None,
            f"name of the method (default {DEFAULT_METHOD}, of texts {TEXT_METHOD}); another than "
            "the file's drops its parameters",
        )
        self.repeated("--set", "NAME=VALUE", "a parameter of the method")
        self.value(
            "--screen",
            "METHOD:K",
            "run this filter first, the method on its K best, such as chi2:10000",
        )
        self.repeated("--grid", "NAME=V1,V2", grid)

    def tags(self) -> None:
        self.value(
            "--top-n",
            "N",
            "give every row its N best labels instead of the predicted ones",
            type=COUNT,
        )
        self.value(
            "--threshold", "T", "give every row the labels that score at least T", type=ANY_NUMBER
        )

    @staticmethod
    def output(parser: argparse.ArgumentParser, table: str = "", dry_run: str = "") -> Flags:
        """Add where the results go, and what a command prints.

        `table` is what a command also writes as a table, `dry_run` what a dry run reports."""
        flags = Flags(parser, "output")
        folder = "folder to write; without a scheme it is on this machine; {date} in it is today's"
        flags.value("--output", "DIR", folder, type=lambda path: dated(path) or None)
        flags.switch(
            "--overwrite", "replace the output of an earlier run, once the new one is complete"
        )
        flags.switch(
            "--json", "the result as one JSON object on standard output, nothing else there"
        )
        flags.switch("--quiet", "nothing but errors")
        flags.switch(
            "--verbose", "a line per stage on standard error, also where that is no terminal"
        )
        flags.switch("--debug", "show Spark's log and the traceback of every error")
        if table:
            flags.value(
                "--output-table",
                "TABLE",
                f"write {table} as a table, too: table, schema.table or catalog.schema.table",
            )
            flags.value(
                "--table-format",
                "NAME",
                "its format, delta or parquet (default: that of the session's tables)",
            )
        if dry_run:
            flags.switch("--dry-run", f"only say what would run: {dry_run}")
        return flags

    def engine(self, budgets: bool = False) -> None:
        """Add where a command works; with the `budgets` of Spark's processes."""
        engine = (
            "auto (default): in this process where the data are files of this machine and fit its "
            "memory, else on Spark; local; spark"
        )
        self.value("--engine", "NAME", engine)
        self.value(
            "--memory-bytes",
            "BYTES",
            "rows and statistics this process holds, such as 2GB, 500M or 2e9 (default: three "
            "quarters of the machine)",
        )
        self.value(
            "--scratch",
            "DIR",
            "folder for rows that exceed that, on a disk (default: the temporary folder)",
        )
        if budgets:
            self.value(
                "--driver-bytes", "BYTES", "largest statistic the driver takes (default 1 GiB)"
            )
            self.value(
                "--worker-bytes",
                "BYTES",
                "rows and statistics one worker process holds (default 1 GiB)",
            )


def data_flags(args: argparse.Namespace) -> dict[str, Any]:
    """Return the [data] section as the flags give it."""
    options = pairs(args.option, "--option")
    flags = {
        "features": "--features",
        "text": "--text",
        "labels": "--labels-col",
        "id": "--id",
        "weight": "--weight-col",
        "group": "--group-col",
        "on_error": "--on-error",
    }
    for name, flag in flags.items():
        value = getattr(args, flag.removeprefix("--").replace("-", "_"), None)
        if value is None:
            continue
        if name in options:
            raise ParameterError(
                f"{flag} and --option {name}= say the same thing; give one of them"
            )
        options[name] = value if isinstance(value, str) else single(value)
    graded = {
        name: getattr(args, name, None) or None
        for name in ("graded_labels", "grade_range", "label_cuts")
    }
    return set_values(
        path=single(getattr(args, "data", None)),
        format=args.format,
        options=options or None,
        **graded,
    )


def single(values: Sequence[str] | None) -> str | Sequence[str] | None:
    """Return the only value of a flag that takes several, or all of them."""
    return values[0] if values is not None and len(values) == 1 else values


def pairs(items: Sequence[str], flag: str) -> dict[str, Any]:
    """Return ``key=value`` arguments as a dict.

    A key given several times has the list of its values."""
    values: dict[str, list[str]] = {}
    for item in items:
        key, separator, text = item.partition("=")
        if not separator or not key.strip():
            raise ParameterError(f"{flag} {item!r}: write it as {flag} name=value")
        values.setdefault(key.strip(), []).append(text)
    return {key: single(texts) for key, texts in values.items()}


def method_flags(args: argparse.Namespace, **settings: Any) -> dict[str, Any]:
    """Return the [method] section as the flags give it.

    ``--grid name=v1,v2`` gives lists of values by name; `settings` are further keys."""
    grid = {name: str(values).split(",") for name, values in pairs(args.grid, "--grid").items()}
    parameters = pairs(args.set, "--set") or None
    return set_values(
        name=args.method,
        parameters=parameters,
        screen=args.screen,
        grid=grid or None,
        **settings,
    )


def tag_settings(args: argparse.Namespace) -> dict[str, Any]:
    """Return which labels rows get; `ParameterError` where the flags give it twice."""
    if args.top_n is not None and args.threshold is not None:
        raise ParameterError("give --top-n or --threshold, not both")
    return {"top_n": args.top_n, "threshold": args.threshold}


def set_values(**values: Any) -> dict[str, Any]:
    """Return the values that are not None: what the flags set of a section."""
    return {name: value for name, value in values.items() if value is not None}


def flag_values(args: argparse.Namespace, section: type[Section]) -> dict[str, Any]:
    """Return the keys of a section that flags of their names give."""
    values = {key: getattr(args, key, None) for key in section.fields}
    return {key: value for key, value in values.items() if value}


def require(command: str, **values: Any) -> None:
    """Raise `ParameterError` naming the first flag that is missing."""
    for name, value in values.items():
        if value is None and name == "format":
            raise no_format("--format")
        if value is None:
            raise ParameterError(f"{command} needs --{name}; see spark-mlfs {command} --help")
