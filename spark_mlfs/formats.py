"""Formats that data are read from: one table of readers, and what a reader is.

A reader of your own is a class with a `name` (what ``--format`` takes), the `parameters` it takes
as options, and `read`:

    class Pairs(Reader):
        "Rows of pairs."
        name, title, source = "pairs", "pairs of words", "none"
        parameters = (Parameter("lower", True, Flag(), "whether case matters not"),)

        def read(self, spark, path, p):  # p: the value of every parameter, checked
            ...
            return frame  # `frames.schema` has its columns, and `with_names`

Installed with an entry point of the group ``spark_mlfs.readers`` (pairs =
"their_package.module:Pairs"), or given to ``READERS.register``, it works as those here do:
``--format pairs --option lower=false``, ``[data] format`` in TOML, ``spark_mlfs.read.load(spark,
path, "pairs")`` and ``spark_mlfs.read.pairs(spark, path)``."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from inspect import Parameter as Argument
from inspect import Signature, cleandoc
from typing import Any, ClassVar

from .errors import ParameterError, option, shown
from .lazy import DataFrame, SparkSession
from .params import REQUIRED, Constraint, Optional, Text, from_json
from .registry import Entry, Registry


class Reader(Entry):
    """How one format becomes the canonical frame. `parameters` are its options, the default
    `REQUIRED` where one must be given; `takes_path` is False where rows are made, `tabular` True
    where Spark reads the format as named columns, `local` where this process reads files of this
    machine, too (by a `frames.frame.LocalSession`), `endings` are those of its files'
    names."""

    source: ClassVar[str] = "none"
    takes_path: ClassVar[bool] = True
    tabular: ClassVar[bool] = False
    local: ClassVar[bool] = False
    endings: ClassVar[tuple[str, ...]] = ()

    def read(self, spark: SparkSession, path: Any, p: Mapping[str, Any]) -> DataFrame:
        """Return the canonical frame of what is at `path`; `p` has the value of every parameter."""
        raise NotImplementedError

    def __call__(self, spark: SparkSession, path: Any = None, **options: Any) -> DataFrame:
        return self.read(spark, path, self.check(path, options))

    def check(self, path: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the value of every parameter; `ParameterError` for what can be refused before
        anything is read."""
        known = [p.name for p in self.parameters]
        for name in options:
            if name not in known:
                raise ParameterError(
                    f"option {name!r} is not known for format {self.name!r}; its options are "
                    f"{', '.join(known)}"
                )
        if self.takes_path and path is None:
            raise ParameterError(f"format {self.name!r} needs {option('path')}")
        if not self.takes_path and path is not None:
            raise ParameterError(
                f"format {self.name!r} takes no {option('path')} (it makes its rows): leave it out"
            )
        values = {p.name: p.default for p in self.parameters} | self.accept(options, typed=True)
        lacking = next((name for name, value in values.items() if value is REQUIRED), None)
        if lacking is not None:
            what = next(p.constraint for p in self.parameters if p.name == lacking)
            raise ParameterError(
                f"format {self.name!r} needs {option(lacking)} ({what}); its options are "
                f"{', '.join(known)}"
            )
        return values

    def accept(self, options: Mapping[str, Any], typed: bool = False) -> dict[str, Any]:
        """Return options in their types: unless they are `typed` already, a text becomes a number,
        true or false, None or a list where the option takes one. Unknown ones are left to
        `check`."""
        known, out = {p.name: p.constraint for p in self.parameters}, dict(options)
        for name, value in options.items():
            constraint, text = known.get(name), typed and isinstance(value, str)
            if constraint is None:
                continue
            # a text of Python's stands for no number and no None, and for a list where one name is
            # as good as a list
            try:
                constraint = (
                    constraint.of if text and isinstance(constraint, Optional) else constraint
                )
                out[name] = constraint.accept(value)
                if text and not isinstance(out[name], str) and not isinstance(constraint, Names):
                    raise ValueError
            except ParameterError:  # the constraint says it better
                raise
            except (ValueError, TypeError, OverflowError):
                said = f"must be {known[name]}, not {shown(value)}"
                raise ParameterError(f"option {name!r} of format {self.name!r} {said}") from None
        return out


READERS: Registry[Reader] = Registry(
    "format",
    "spark_mlfs.read",
    {
        "arff": "arff.Arff",
        "libsvm": "libsvm.Libsvm",
        "parquet": "tables.Parquet",
        "delta": "tables.Delta",
        "csv": "tables.Csv",
        "json": "tables.Json",
        "table": "tables.Table",
        "text": "tables.TextTable",
        "files": "content.Files",
        "numbers": "samples.Numbers",
        "planted": "samples.Planted",
    },
    group="spark_mlfs.readers",
)


def tabular(format: str | None) -> bool:
    """Return whether Spark reads the format as a table of named columns."""
    return format is not None and format in READERS and READERS[format].tabular


def format_of(path: str | Sequence[str] | None) -> str | None:
    """Return the format whose files end as `path`, or all of them, but for ``.gz`` and ``.bz2``;
    None where not one does."""
    names = [
        name.lower().removesuffix(".gz").removesuffix(".bz2")
        for name in ([path] if isinstance(path, str) else path or ())
    ]
    alike = [
        f
        for f in READERS
        if READERS[f].endings and all(name.endswith(READERS[f].endings) for name in names)
    ]
    return alike[0] if names and len(alike) == 1 else None


def no_format(where: str) -> ParameterError:
    """Return the error where the names of the files do not say what they are; the format is given
    `where`."""
    known = ", ".join(f"{name} (images, sounds)" if name == "files" else name for name in READERS)
    return ParameterError(f"which format do the data have? give {where}: {known}")


def accept_options(format: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reader's options in their types (`Reader.accept`); those of an unknown format as
    they are."""
    return (
        READERS[format]().accept(options)
        if format is not None and format in READERS
        else dict(options)
    )


@cache
def function_of(reader: type[Reader]) -> Callable[..., DataFrame]:
    """Return the reader as a function ``(spark, path, option=value, ...)`` with its signature and
    documentation."""
    defaults: dict[str, Any] = {"spark": REQUIRED} | (
        {"path": REQUIRED} if reader.takes_path else {}
    )
    defaults |= {
        p.name: p.default
        for p in sorted(reader.parameters, key=lambda p: p.default is not REQUIRED)
    }
    kind, nothing = Argument.POSITIONAL_OR_KEYWORD, Argument.empty
    arguments = [
        Argument(name, kind, default=nothing if d is REQUIRED else d)
        for name, d in defaults.items()
    ]
    signature = Signature(arguments)

    def read(*positional: Any, **options: Any) -> DataFrame:
        values = signature.bind(*positional, **options).arguments
        return reader()(values.pop("spark"), values.pop("path", None), **values)

    read.__name__ = read.__qualname__ = reader.name
    read.__module__ = "spark_mlfs.read"  # where its name leads to it
    read.__doc__ = documentation(reader)
    read.__signature__ = signature  # type: ignore[attr-defined]
    return read


def documentation(reader: type[Reader]) -> str:
    """Return the documentation of a reader and its options, a line each."""
    options = [f"    {p.name:<15} {p.doc}; {p.constraint}" for p in reader.parameters]
    return "\n".join([cleandoc(reader.__doc__ or reader.title), "", "Options", *options])


# ---- what options take, beside what `params` has ----


@dataclass(frozen=True)
class Names(Text):
    """A list of texts, or one text, which stays one unless `listed`; on the command line also a
    JSON list."""

    what: str = "a text or a list of texts"
    listed: bool = False

    def accept(self, value: Any) -> Any:
        if isinstance(value, str):
            text, value = value, None
            with suppress(ValueError):  # a name may begin like a list
                value = from_json(text) if text[:1] == "[" else None
            if value is None:
                return [text] if self.listed else text
        if isinstance(value, Mapping) or not all(isinstance(name, str) for name in value):
            raise ValueError
        return list(value)


@dataclass(frozen=True)
class Distinct(Text):
    """A list of different texts, none empty, or None. One text is a list of one at the command
    line; in Python it is refused, where it may be a list by mistake."""

    def accept(self, value: Any) -> Any:
        names = Optional(Names(listed=True)).accept(value)
        if names is not None and (not names or not all(names) or len(set(names)) < len(names)):
            raise ValueError
        return names

    def __str__(self) -> str:
        return f"{self.what}, or None"


@dataclass(frozen=True)
class Texts(Text):
    """Texts by name; on the command line a JSON object."""

    def accept(self, value: Any) -> Any:
        value = from_json(value) if isinstance(value, str) else value
        if not isinstance(value, Mapping):
            raise ValueError
        return value


@dataclass(frozen=True)
class Either:
    """What the first of several constraints takes that takes it."""

    of: Sequence[Constraint]

    def accept(self, value: Any) -> Any:
        for constraint in self.of:
            try:
                return constraint.accept(value)
            except (ValueError, TypeError, OverflowError):
                pass
        raise ValueError

    def __str__(self) -> str:
        return ", or ".join(map(str, self.of))
