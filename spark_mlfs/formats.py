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

import re
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
    """How one format becomes the canonical frame.

    `parameters` are its options, the default `REQUIRED` where one must be given; `takes_path` is
    False where rows are made, `tabular` True where Spark reads the format as named columns,
    `counts_words` where features are the words of a text, `local`
    where this process reads files of this machine, too (by a `frames.frame.LocalSession`),
    `endings` are those of its files' names."""

    source: ClassVar[str] = "none"
    takes_path: ClassVar[bool] = True
    tabular: ClassVar[bool] = False
    counts_words: ClassVar[bool] = False
    local: ClassVar[bool] = False
    endings: ClassVar[tuple[str, ...]] = ()

    def read(self, spark: SparkSession, path: Any, p: Mapping[str, Any]) -> DataFrame:
        """Return the canonical frame of what is at `path`; `p` has the value of every parameter."""
        raise NotImplementedError

    def __call__(self, spark: SparkSession, path: Any = None, **options: Any) -> DataFrame:
        return self.read(spark, path, self.check(path, options))

    def check(self, path: Any, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the value of every parameter.

        `ParameterError` for what can be refused before anything is read."""
        constraints = {p.name: p.constraint for p in self.parameters}
        known = ", ".join(constraints)
        for name in options:
            if name not in constraints:
                raise ParameterError(
                    f"option {name!r} is not known for format {self.name!r}; its options are "
                    f"{known}"
                )
        if self.takes_path and path is None:
            raise ParameterError(f"format {self.name!r} needs {option('path')}")
        if not self.takes_path and path is not None:
            raise ParameterError(
                f"format {self.name!r} takes no {option('path')} (it makes its rows): leave it out"
            )
        values = {p.name: p.default for p in self.parameters} | self.accept(options, typed=True)
        for name, value in values.items():
            if value is REQUIRED:
                raise ParameterError(
                    f"format {self.name!r} needs {option(name)} ({constraints[name]}); its options "
                    f"are {known}"
                )
        return values

    def accept(self, options: Mapping[str, Any], typed: bool = False) -> dict[str, Any]:
        """Return options in their types.

        Unless they are `typed` already, a text becomes a number, true or false, None or a list
        where the option takes one. Unknown ones are left to `check`."""
        constraints = {p.name: p.constraint for p in self.parameters}
        out = dict(options)
        for name, value in options.items():
            constraint = constraints.get(name)
            if constraint is None:
                continue
            is_text = typed and isinstance(value, str)
            try:
                out[name] = _accept_text(constraint, value) if is_text else constraint.accept(value)
            except ParameterError:  # the constraint says it better
                raise
            except (ValueError, TypeError, OverflowError):
                problem = f"must be {constraint}, not {shown(value)}"
                raise ParameterError(f"option {name!r} of format {self.name!r} {problem}") from None
        return out


def _accept_text(constraint: Constraint, text: str) -> Any:
    """Accept a text of Python's, which stands for no number and no None.

    It stands for a list where one name is as good as a list."""
    if isinstance(constraint, Optional):
        constraint = constraint.inner
    value = constraint.accept(text)
    if not isinstance(value, str) and not isinstance(constraint, Names):
        raise ValueError
    return value


READERS: Registry[Reader] = Registry(
    "format",
    "spark_mlfs.read",
    {
        "arff": "arff.Arff",
        "libsvm": "libsvm.Libsvm",
        "xc": "xc.Xc",
        "mat": "mat.Mat",
        "parquet": "tables.Parquet",
        "delta": "tables.Delta",
        "csv": "tables.Csv",
        "json": "tables.Json",
        "table": "tables.Table",
        "text": "texts.TextTable",
        "fasttext": "fasttext.FastText",
        "files": "content.Files",
        "numbers": "samples.Numbers",
        "planted": "samples.Planted",
    },
    group="spark_mlfs.readers",
)


def tabular(format: str | None) -> bool:
    """Return whether Spark reads the format as a table of named columns."""
    return format is not None and format in READERS and READERS[format].tabular


def counts_words(format: str | None) -> bool:
    """Return whether the features of the format are the words of a text."""
    return format is not None and format in READERS and READERS[format].counts_words


def format_of(path: str | Sequence[str] | None) -> str | None:
    """Return the format whose files end as `path`, or as all of several paths.

    ``.gz``, ``.bz2`` and ``.zst`` are left out; None where not one format does."""
    paths = [path] if isinstance(path, str) else path or ()
    names = [re.sub(r"\.(gz|bz2|zst)$", "", name.lower()) for name in paths]
    formats = []
    for format, reader in READERS.items():
        if reader.endings and all(name.endswith(reader.endings) for name in names):
            formats.append(format)
    return formats[0] if names and len(formats) == 1 else None


def with_text(format: str | None, options: Mapping[str, Any]) -> tuple[str | None, dict[str, Any]]:
    """Return a format and its options; of a table of which a column of text is read, those of it.

    >>> with_text("csv", {"text": "body"})
    ('text', {'text': 'body', 'source': 'csv'})"""
    if tabular(format) and "text" in options and not counts_words(format):
        return "text", {**options, "source": format}
    return format, dict(options)


def no_format(setting: str) -> ParameterError:
    """Return the error where the names of the files do not determine the format.

    The `setting`, a flag or a key, gives it."""
    known = ", ".join(f"{name} (images, sounds)" if name == "files" else name for name in READERS)
    return ParameterError(f"which format do the data have? give {setting}: {known}")


def accept_options(format: str | None, options: Mapping[str, Any]) -> dict[str, Any]:
    """Return a reader's options in their types (`Reader.accept`).

    Those of an unknown format stay as they are."""
    if format is None or format not in READERS:
        return dict(options)
    return READERS[format]().accept(options)


@cache
def function_of(
    reader: type[Reader], open: Callable[..., DataFrame] = Reader.__call__
) -> Callable[..., DataFrame]:
    """Return the reader as a function ``(spark, path, option=value, ...)``.

    It has the reader's signature and documentation; `open` calls the reader."""
    defaults: dict[str, Any] = {"spark": REQUIRED}
    if reader.takes_path:
        defaults["path"] = REQUIRED
    for p in sorted(reader.parameters, key=lambda p: p.default is not REQUIRED):
        defaults[p.name] = p.default
    arguments = []
    for name, value in defaults.items():
        default = Argument.empty if value is REQUIRED else value
        arguments.append(Argument(name, Argument.POSITIONAL_OR_KEYWORD, default=default))
    signature = Signature(arguments)

    def read(*positional: Any, **options: Any) -> DataFrame:
        values = signature.bind(*positional, **options).arguments
        return open(reader(), values.pop("spark"), values.pop("path", None), **values)

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

    description: str = "a text or a list of texts"
    listed: bool = False

    def accept(self, value: Any) -> Any:
        if isinstance(value, str):
            text = value
            value = None
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
        if names is None:
            return None
        if not names or not all(names) or len(set(names)) < len(names):
            raise ValueError
        return names

    def __str__(self) -> str:
        return f"{self.description}, or None"


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
    """A value that one of several constraints takes, in the type of the first that does."""

    alternatives: Sequence[Constraint]

    def accept(self, value: Any) -> Any:
        for constraint in self.alternatives:
            try:
                return constraint.accept(value)
            except (ValueError, TypeError, OverflowError):
                pass
        raise ValueError

    def __str__(self) -> str:
        return ", or ".join(map(str, self.alternatives))
