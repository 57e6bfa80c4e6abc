"""Reading: a format becomes the canonical frame ``id, features, labels``. `load` finds the reader by name.

A reader looks at as little as it must; what is wrong with a row shows when the frame is used. An action that this library
starts raises `DataError`. An action of your own (``frame.count()``) raises Spark's exception, whose text ends in that line,
but for an SQLSTATE; ``with spark_mlfs.errors.worker_errors():`` around it makes it a `DataError`. What was read all the same
and should be known is a warning, `DataNotice`.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from ..errors import ParameterError, option
from .arff import arff
from .errors import DataNotice
from .libsvm import libsvm
from .samples import PlantedTruth, numbers, planted, planted_truth
from .tables import table
from .text import text

__all__ = [
    "DataNotice",
    "PlantedTruth",
    "READERS",
    "arff",
    "libsvm",
    "load",
    "numbers",
    "planted",
    "planted_truth",
    "table",
    "text",
]

# name -> (reader, arguments the name fixes). Samples take no path.
READERS: dict[str, tuple[Callable[..., DataFrame], dict[str, Any]]] = {
    "arff": (arff, {}),
    "libsvm": (libsvm, {}),
    "parquet": (table, {"format": "parquet"}),
    "delta": (table, {"format": "delta"}),
    "csv": (table, {"format": "csv"}),
    "json": (table, {"format": "json"}),
    "table": (table, {"format": "table"}),
    "text": (text, {}),
    "numbers": (numbers, {}),
    "planted": (planted, {}),
}

_ENDINGS = (".parquet", ".csv", ".csv.gz", ".json", ".json.gz", ".txt")


def load(spark: SparkSession, path: str | Sequence[str] | None, format: str, **options: Any) -> DataFrame:
    """Read `path` by the reader called `format`, with that reader's options; see `READERS`.

    `path` is one path, a list, a folder or a glob (plain, ``.gz``, ``.bz2``), a table name for ``table``, None for the
    samples ``numbers`` and ``planted``. For ``text`` the option ``source`` names the format of the table that holds the
    text (default "table"). An unknown format or option raises `ParameterError` listing those there are.
    """
    check_options(path, format, options)
    reader, fixed = READERS[format]
    call = partial(reader, spark)
    if "path" in inspect.signature(reader).parameters:
        call = partial(call, path)
    if reader is text and "source" in options:
        options["format"] = options.pop("source")
    return call(**fixed, **options)


def check_options(path: str | Sequence[str] | None, format: str, options: Mapping[str, Any]) -> None:
    """`ParameterError` for what `load` refuses before it reads anything."""
    if format not in READERS:
        raise ParameterError(f"format={format!r} is not known; the formats are {', '.join(READERS)}")
    reader, fixed = READERS[format]
    taken = inspect.signature(reader).parameters
    known = [p for p in taken if p not in ("spark", "path") and p not in fixed]
    if reader is text:
        known[known.index("format")] = "source"
    for name in options:
        if name not in known:
            raise ParameterError(f"option {name!r} is not known for format {format!r}; its options are {', '.join(known)}")
    if "path" in taken:
        if path is None:
            raise ParameterError(f"format {format!r} needs {option('path')}")
    elif path is not None:
        raise ParameterError(f"format {format!r} takes no {option('path')} (it makes its rows): leave it out")
    if reader is text and "source" not in options and isinstance(path, str) and ("/" in path or path.endswith(_ENDINGS)):
        kind = next((f for f in ("parquet", "csv", "json") if f".{f}" in path.rpartition("/")[2]), "parquet")
        raise ParameterError(
            f"format 'text' reads {path!r} as the name of a table; to read a file say of which format, such as "
            f"{option('source', kind)}"
        )
    needed = [
        p.name
        for p in taken.values()
        if p.default is inspect.Parameter.empty and p.name not in ("spark", "path", *options, *fixed)
    ]
    if needed:
        raise ParameterError(f"format {format!r} needs {option(needed[0])}; its options are {', '.join(known)}")
