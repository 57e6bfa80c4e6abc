"""Tables with named columns (Parquet, Delta, CSV, JSON, the catalog) as features and labels.

`features`
    one column: a vector, or array<numeric>; a list of columns of numbers, texts and dates
    (`read.layout`); or a pattern with ``*`` (in the order of the table; label and id columns and
    pandas' index excluded)
`labels`
    one column: array<string> tags, array<int> label numbers, a multi-hot vector or array<double>,
    or a string of tags joined by `label_delimiter`; or a list or pattern of 0/1 columns (null:
    unknown)
`id`
    an integer column, taken as it is and expected to be unique; another type becomes xxhash64 of
    the column; without it the id is xxhash64 of the features and labels, so equal rows share one id
    (and any random draw keyed by it). Messages name a row by its id column, or as ``row 17 of part
    3`` where there is none: the 17th of partition 3

Column names may hold dots and back ticks; a name may also be written in back ticks, as in SQL.

CSV is read as RFC 4180 has it (`read.dialect`): a row with more or fewer cells than the header is
refused. Several CSV files are read by the place of a column: headers that differ are refused. A
JSON record that does not parse is refused, unless `reader_options` set ``mode`` otherwise.

Result: ``id`` bigint; ``features`` a vector, with names where columns or metadata gave them;
``labels`` a multi-hot vector for 0/1 columns, vectors and array<double>, and array<string> or
array<bigint> for tags and numbers, which are encoded later."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from functools import partial, reduce
from operator import or_
from pathlib import PurePath
from typing import Any, ClassVar

import pandas as pd
import pyarrow as pa

from .. import params
from ..errors import DataError, ParameterError
from ..formats import (
    READERS,
    Distinct,
    Either,
    Names,
    Reader,
    Texts,
    documentation,
    tabular,
)
from ..frames.errors import reading
from ..frames.frame import Batches, LocalSession, NeedsSpark, kinds_of
from ..frames.names import quoted
from ..frames.parquet import open_parquet
from ..frames.sessions import as_spark
from ..frames.unchanged import READ_FILES, ReadFiles
from ..lazy import DataFrame, F, SparkSession
from ..params import REQUIRED, Choice, Flag, Optional, Parameter, Values
from .columns import assemble
from .csv_files import open_csv
from .dialect import CSV_OPTIONS
from .json_arrays import are_arrays
from .label_cells import LABEL_OPTIONS
from .layout import TEXT_IDS, Facts
from .lines import checked, paths_of, wide
from .missing import MISSING_FEATURES
from .partitions import with_partitions
from .parts import parquet_there
from .refusals import refuse_json, refuse_more, refuse_one_object, twice
from .tagged_lines import open_tagged_lines

_BAD = "_spark_mlfs_bad_record"  # the text of a CSV row or JSON record that does not fit
# the attribute of frames that has options by which their files were read, beside those given
READ_OPTIONS = "_spark_mlfs_read_options"
FEATURES_COLUMN = Parameter(
    "features", REQUIRED, Names("a column, a list of them or a pattern with *"), "the features"
)
LABEL_DELIMITER = Parameter(
    "label_delimiter",
    None,
    Optional(params.Text("a text")),
    "what stands between the tags of a text",
)
# what a row has beside its features, and how Spark reads the table: options of text, too
COLUMNS = (
    Parameter(
        "labels", REQUIRED, Names("a column, a list of them or a pattern with *"), "the labels"
    ),
    Parameter("id", None, Optional(params.Text("a column")), "column of the row ids"),
    TEXT_IDS,
    LABEL_DELIMITER,
    *LABEL_OPTIONS,
    Parameter(
        "label_names",
        None,
        Distinct("a list of different names"),
        "the labels of one column, in order: tags are then not gathered by a pass of their own, "
        "and another tag is refused",
    ),
    Parameter(
        "reader_options",
        None,
        Optional(Texts('an object of texts, such as {"sep": ";"}')),
        "of Spark's reader (CSV: header and inferSchema are on unless given)",
    ),
    Parameter(
        "weight",
        None,
        Optional(params.Text("a column")),
        "column of the rows' weights, which becomes weight",
    ),
    Parameter(
        "group",
        None,
        Optional(params.Text("a column")),
        "column of the rows' groups, such as patients, which folds keep whole; it becomes group",
    ),
)


class Table(Reader):
    """Read a table into ``id, features, labels``; see the module for `features`, `labels` and `id`.

    `path` is a path, a list or a glob for the file formats, a table name for ``format="table"``, or
    a frame of Spark's or pandas'. Raises `DataError` and `ParameterError`; what only the rows show
    is raised on an action.

    >>> import pandas as pd, spark_mlfs
    >>> pages = pd.DataFrame({"length": [3, 5], "links": [0, 2], "tags": [["a", "b"], ["b"]]})
    >>> columns = {"features": ["length", "links"], "labels": "tags"}
    >>> frame = spark_mlfs.read.table(spark_mlfs.local_session(), pages, **columns)
    >>> frame.first()["labels"]
    ['a', 'b']"""

    name = "table"
    title = "a table of the catalog, or a frame"
    tabular = True
    parameters: ClassVar[tuple[Parameter, ...]] = (
        FEATURES_COLUMN,
        *COLUMNS,
        MISSING_FEATURES,
        Parameter(
            "categories",
            "auto",
            Either((Choice(("auto", "onehot", "codes")), Facts())),
            "what a column of texts becomes: 0/1 features (onehot), or one of its codes for "
            "methods that count (codes)",
        ),
        Parameter(
            "graded",
            False,
            Flag(),
            "labels are numbers other than 0 and 1: tell the estimator, too (gradedLabels)",
        ),
        Parameter(
            "needed",
            (),
            Names("a list of columns", listed=True),
            "numeric columns without a missing value, whatever `missing`",
        ),
    )

    def read(self, spark: SparkSession, path: Any, p: Values) -> DataFrame:
        return assemble(source_of(spark, path, self.name, how_files_are_read(p)), p)


DEFAULTS = {parameter.name: parameter.default for parameter in Table.parameters}


class Parquet(Table):
    """Parquet files."""

    name = "parquet"
    title = "Parquet files"
    local = True
    endings = (".parquet",)


class Delta(Table):
    """Delta tables."""

    name = "delta"
    title = "Delta tables by their folder"


class Csv(Table):
    """CSV files."""

    name = "csv"
    title = "CSV files"
    local = True
    endings = (".csv", ".tsv")
    parameters = (*Table.parameters, *CSV_OPTIONS)


class Json(Table):
    """JSON files."""

    name = "json"
    title = "JSON, one record a line"
    local = True
    endings = (".json", ".jsonl", ".ndjson")


def open_by(
    reader: Reader,
    spark: SparkSession,
    path: Any = None,
    **options: Any,
) -> DataFrame:
    """Return the frame of a reader, which knows the files that it reads (`frames.unchanged`)."""
    files = ReadFiles.of(path, reader.name, options)
    with files.unchanged():
        frame = reader(spark, path, **options)
    setattr(frame, READ_FILES, files)
    return frame


def table(
    spark: SparkSession,
    path: str | Sequence[str] | DataFrame | pd.DataFrame,
    features: str | Sequence[str],
    labels: str | Sequence[str],
    format: str = "table",
    **options: Any,
) -> DataFrame:
    """Read a table of any such format by the options of `Table`."""
    check_tabular(format)
    return open_by(
        READERS.create(format),
        spark,
        path,
        features=features,
        labels=labels,
        **options,
    )


table.__doc__ = documentation(Table)


def check_tabular(format: str) -> None:
    """Raise `ParameterError` for a format that Spark does not read as named columns."""
    if not tabular(format):
        raise ParameterError(
            f"format={format!r} is not a table format: it is one of "
            f"{', '.join(filter(tabular, READERS))}"
        )


# those that say how files are read, whatever is made of their columns
FILE_OPTIONS = ("reader_options", *(parameter.name for parameter in CSV_OPTIONS))


def how_files_are_read(p: Values) -> dict[str, Any]:
    """Return the options among those of a reader that say how its files are read."""
    options = dict(p.get("reader_options") or {})
    for parameter in CSV_OPTIONS:
        if p.get(parameter.name, parameter.default) != parameter.default:
            options[parameter.name] = p[parameter.name]
    return options


def source_of(
    spark: SparkSession,
    path: Any,
    format: str,
    reader_options: Values | None,
) -> DataFrame:
    """Return the table at a path, or a frame of Spark's or pandas'.

    Raises `ParameterError` for anything else."""
    if isinstance(path, (str, PurePath, list, tuple)):
        return open_table(spark, path, format, reader_options)  # type: ignore[arg-type]
    return as_spark(path, spark)


def open_table(
    spark: SparkSession,
    path: str | Sequence[str],
    format: str,
    reader_options: Values | None = None,
) -> DataFrame:
    """Return a table as Spark reads it, or as this process does."""
    check_tabular(format)
    paths = paths_of(path)
    source = ", ".join(paths[:3])
    if format == "csv":
        load: Any = partial(open_csv, spark, paths, reader_options or {})
        return _load(load, path, format, source)
    if format == "fasttext":
        return _load(partial(open_tagged_lines, spark, paths), path, format, source)
    if isinstance(spark, LocalSession):
        return _open_here(paths, format, reader_options or {})
    options = {k: str(v) for k, v in (reader_options or {}).items()}
    if format == "table":
        return _load(lambda: spark.table(str(path)), path, format, source)
    first_line = ""
    if format == "json":
        options, first_line = _json_options(spark, paths, source, options)
    reader = spark.read.format(format).options(**options)
    files = paths if len(paths) > 1 else paths[0]
    load = partial(reader.load, files)
    if format == "parquet" and not options:
        load = partial(parquet_there, spark, paths)
    frame = _load(load, path, format, source)
    if options.get("multiLine"):
        setattr(frame, READ_OPTIONS, {"multiLine": "true"})
    if format == "json" and _BAD in frame.columns:
        _refuse_json(frame, paths, first_line)
    if format == "json":
        refuse_one_object(source, {name: kind.name for name, kind in kinds_of(frame).items()})
    return frame


def _open_here(paths: list[str], format: str, reader_options: Values) -> DataFrame:
    from . import local_json

    readers: dict[str, Any] = {
        "parquet": open_parquet,
        "json": local_json.open_json,
    }
    if format not in readers:
        options = " with reader_options" if reader_options else ""
        raise NeedsSpark(f"format {format}{options} is read by Spark")
    return with_partitions(readers[format](paths, reader_options), paths)


def _load(
    load: Callable[[], DataFrame],
    path: Any,
    format: str,
    source: str,
) -> DataFrame:
    """Return `load()`; what Spark says of a table that is not there becomes `DataError`."""
    try:
        return checked(load, source)
    except DataError as error:
        if format == "json" and "nothing but the case" in str(error):
            raise twice(path) from None
        raise
    except Exception as error:
        message = _no_table(str(error), path, format)
        if message is None:
            raise
        raise DataError(message) from None


_NO_DELTA = ("DATA_SOURCE_NOT_FOUND", "Failed to find", "DeltaSparkSession")
_NO_NAME = ("PARSE_", "SINGLE_PART_NAMESPACE", "CATALOG_NOT_FOUND")


def _no_table(error: str, path: Any, format: str) -> str | None:
    """Return the message for an error of Spark's, None for one that says more by itself."""
    if format == "delta" and any(sign in error for sign in _NO_DELTA):
        return (
            "this Spark session has no Delta: install delta-spark of your Spark version and start "
            "the session with spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension and "
            "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog"
        )
    if "TABLE_OR_VIEW_NOT_FOUND" in error:
        return (
            f"no table or view {path!r} in the catalog; check the name with "
            "spark.catalog.listTables()"
        )
    if format == "table" and any(sign in error for sign in _NO_NAME):
        hint = "write it as database.table"
        if "/" in str(path):
            hint = "to read a file give its format, such as parquet or csv"
        return f"{str(path)[:80]!r} is no name of a table; {hint}"
    if "UNABLE_TO_INFER_SCHEMA" in error:
        return f"{path}: no {format} data there; check the path and the format"
    return None


def _json_options(
    spark: SparkSession,
    paths: list[str],
    source: str,
    options: dict[str, str],
) -> tuple[dict[str, str], str]:
    """Return the options by which Spark reads JSON as this process does, and the first line.

    Where options say what becomes of bad records, they are as they were given."""
    keys = {key.lower() for key in options}
    if keys & {"mode", "columnnameofcorruptrecord"}:
        return options, ""
    options = {"allowSingleQuotes": "false", **options, "columnNameOfCorruptRecord": _BAD}
    first_line = _first_line(spark, paths, source)
    if "\0" in first_line:
        raise wide(source)
    if "multiline" in keys:
        return options, first_line
    if first_line[:1] == "[" and are_arrays(spark, paths):
        options["multiLine"] = "true"
    else:
        _refuse_more(spark, paths, source)
    return options, first_line


def _first_line(spark: SparkSession, paths: list[str], source: str) -> str:
    """Return the beginning of the first line of files that is not empty."""
    lines = checked(partial(spark.read.text, paths), source)
    text = F.regexp_replace("value", "^[\\s\ufeff]+", "")
    with reading():
        first = lines.select(F.substring(text, 1, 80).alias("line")).where("line != ''").head()
    return first[0] if first else ""


def _refuse_more(spark: SparkSession, paths: list[str], source: str) -> None:
    """Raise `DataError` for a line with more than a record, of which Spark reads the first."""
    text = F.col("value")
    # most lines show by their bytes, in a third of the time of the patterns, that they are one
    up_to_first = F.octet_length(F.substring_index(text, "}", 1))
    goes_on = up_to_first + 1 < F.octet_length(F.rtrim(text))
    is_near = reduce(or_, (text.contains("}" + sign) for sign in "{, \t\v\f"))
    several = is_near & text.rlike(r"\}\s*,?\s*\{")
    ends_otherwise = ~text.endswith("}") & ~text.rlike(r"\}\s*$")
    lines = spark.read.text(paths).where(goes_on & (several | ends_otherwise))
    with reading():
        row = lines.mapInArrow(_with_more, "value string").head()
    if row is not None:
        refuse_more(source, row[0])


def _with_more(batches: Batches) -> Batches:
    for batch in batches:
        are_more = [_has_more(line) for line in batch["value"].to_pylist()]
        yield batch.filter(pa.array(are_more, pa.bool_()))


def _has_more(line: str) -> bool:
    try:
        record, end = json.JSONDecoder().raw_decode(line.strip("\ufeff \t\r"))
    except ValueError:
        return False
    return isinstance(record, dict) and end < len(line.strip("\ufeff \t\r"))


def _refuse_json(frame: DataFrame, paths: list[str], first_line: str) -> None:
    """Raise `DataError` with the first line of the files, or their first bad record."""
    bad = None
    others = [name for name in frame.columns if name != _BAD]
    if others:  # Spark refuses to read the column of bad records alone
        other = F.col(quoted(others[0])).isNull().alias("_")
        with reading():
            bad = frame.where(F.col(_BAD).isNotNull()).select(_BAD, other).head()
    bad_record = bad[0] if bad else None
    refuse_json(", ".join(paths[:3]), first_line, bad_record)
