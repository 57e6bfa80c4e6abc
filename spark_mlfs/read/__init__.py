"""Reading: a format becomes the canonical frame ``id, features, labels``. `load` finds the reader
by name (`formats.READERS`).

A reader looks at as little as it must; what is wrong with a row shows when the frame is used. An
action that this library starts raises `DataError`. An action of your own (``frame.count()``) raises
Spark's exception, whose text ends in that line, but for an SQLSTATE; ``with
spark_mlfs.errors.worker_errors():`` around it makes it a `DataError`. What was read all the same
and should be known is a warning, `DataNotice`.

>>> import spark_mlfs
>>> frame = spark_mlfs.read.numbers(spark_mlfs.local_session(), num_rows=4)
>>> frame.columns, frame.first()["features"].size
(['id', 'features', 'labels'], 405)"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ..errors import DataNotice
from ..formats import READERS, function_of, with_text
from ..lazy import DataFrame, SparkSession
from .arff import Arff
from .libsvm import Libsvm
from .samples import Numbers, Planted, PlantedTruth, planted_truth
from .tables import open_by, table
from .texts import text

__all__ = ["DataNotice", "PlantedTruth", "READERS", "load"]
__all__ += ["arff", "libsvm", "numbers", "planted", "planted_truth", "table", "text"]

arff, libsvm, numbers, planted = (
    function_of(reader, open_by) for reader in (Arff, Libsvm, Numbers, Planted)
)


def load(
    spark: SparkSession,
    path: str | Sequence[str] | None,
    format: str,
    **options: Any,
) -> DataFrame:
    """Read `path` by the reader called `format`, one of `READERS`, with that reader's options.

    `path` is one path, a list, a folder or a glob (plain, ``.gz``, ``.bz2``), a table name for
    ``table``, None for the samples ``numbers`` and ``planted``. For ``text`` the option ``source``
    names the format of the table that holds the text (default "table"); a table of which a column
    is ``text`` is read so, too. An unknown format or option
    raises `ParameterError` listing those there are.

    >>> import pathlib, spark_mlfs
    >>> file = pathlib.Path("pages.csv").absolute()
    >>> written = file.write_text("length,links,tags\\n3,0,a;b\\n5,2,b\\n")
    >>> options = {"features": ["length", "links"], "labels": "tags", "label_delimiter": ";"}
    >>> frame = spark_mlfs.read.load(spark_mlfs.local_session(), str(file), "csv", **options)
    >>> frame.first()["labels"]
    ['a', 'b']"""
    reader, options = with_text(format, options)
    return open_by(READERS.create(reader), spark, path, **options)


def __getattr__(name: str) -> Callable[..., DataFrame]:
    """Return a reader as a function by the name of its format: those of other packages, too."""
    if name in READERS:
        return function_of(READERS[name], open_by)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
