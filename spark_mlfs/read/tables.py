"""Tables with named columns (Parquet, Delta, CSV, JSON, the catalog) as features and labels.

`features`
    one column: a vector, or array<numeric>; a list of numeric columns; or a pattern with ``*`` (label and id columns
    excluded, order of the table)
`labels`
    one column: array<string> tags, array<int> label numbers, a multi-hot vector or array<double>, or a string of tags
    joined by `label_delimiter`; or a list or pattern of 0/1 columns (null: unknown)
`id`
    an integer column, taken as it is and expected to be unique; another type becomes xxhash64 of the column; without it
    the id is xxhash64 of the features and labels, so equal rows share one id (and any random draw keyed by it). Messages
    name a row by its id column, or as ``row 17 of part 3`` where there is none: the 17th of partition 3

Column names may hold dots and back ticks; a name may also be written in back ticks, as in SQL.

A CSV row with more or fewer cells than the header, or a JSON record that does not parse, is refused (on an action), unless
`reader_options` set ``mode`` otherwise. Several CSV files are read by the place of a column: headers that differ are refused,
unless `reader_options` hold ``enforceSchema``.

Result: ``id`` bigint; ``features`` a vector, with names where columns or metadata gave them; ``labels`` a multi-hot
vector for 0/1 columns, vectors and array<double>, and array<string> or array<bigint> for tags and numbers, which are
encoded later.
"""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
import pyarrow as pa
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    FractionalType,
    IntegralType,
    LongType,
    NumericType,
    StringType,
    StructField,
    StructType,
)

from ..errors import DataError, ParameterError
from ..schema import FEATURES, ID, LABELS, attribute_names, with_names
from . import vectors
from .faults import first_repeated, notice, of_spark, reading
from .frames import as_spark
from .lines import checked, near, paths_of, plain
from .missing import check_policy, impute, settle
from .vectors import Vectors

if TYPE_CHECKING:
    import pandas as pd

FORMATS = ("parquet", "delta", "csv", "json", "table")
_BAD = "_spark_mlfs_bad_record"  # the text of a CSV row or JSON record that does not fit


def table(
    spark: SparkSession,
    path: str | Sequence[str] | DataFrame | pd.DataFrame,
    features: str | Sequence[str],
    labels: str | Sequence[str],
    format: str = "table",
    id: str | None = None,
    label_delimiter: str | None = None,
    missing: str = "error",
    reader_options: dict[str, str] | None = None,
) -> DataFrame:
    """Read a table into ``id, features, labels``; see the module for `features`, `labels` and `id`.

    `path` is a path, a list or a glob for the file formats, a table name for ``format="table"``, or a frame of Spark's or
    pandas'.
    `reader_options` go to Spark's reader (CSV: header and inferSchema are on unless given). `missing` says what a null
    or NaN feature becomes (see `missing`). Raises `DataError` and `ParameterError`; what only the rows show is raised on
    an action.
    """
    check_policy(missing)
    source = as_spark(path, spark) if hasattr(path, "columns") else open_table(spark, path, format, reader_options)
    return assemble(source, features, labels, id, label_delimiter, missing)


def open_table(
    spark: SparkSession, path: str | Sequence[str], format: str, reader_options: dict[str, str] | None = None
) -> DataFrame:
    """The table as Spark reads it."""
    if format not in FORMATS:
        raise ParameterError(f"format={format!r} is not a table format: it is one of {', '.join(FORMATS)}")
    options = {"header": "true", "inferSchema": "true"} if format == "csv" else {}
    options |= {k: str(v) for k, v in (reader_options or {}).items()}
    lenient = {k.lower() for k in options} & {"mode", "columnnameofcorruptrecord"}
    if format == "json" and not lenient:
        options["columnNameOfCorruptRecord"] = _BAD
    try:
        if format == "table":
            frame = spark.table(str(path))
            _ = frame.schema
            return frame
        paths = paths_of(path)
        where = ", ".join(paths[:3])
        reader = spark.read.format(format).options(**options)
        frame = checked(lambda: reader.load(paths if len(paths) > 1 else paths[0]), where)
    except DataError:
        raise
    except Exception as error:
        text = str(error)
        if format == "delta" and any(s in text for s in ("DATA_SOURCE_NOT_FOUND", "Failed to find", "DeltaSparkSession")):
            raise DataError(
                "this Spark session has no Delta: install delta-spark of your Spark version and start the session with "
                "spark.sql.extensions=io.delta.sql.DeltaSparkSessionExtension and "
                "spark.sql.catalog.spark_catalog=org.apache.spark.sql.delta.catalog.DeltaCatalog"
            ) from None
        if "TABLE_OR_VIEW_NOT_FOUND" in text:
            raise DataError(f"no table or view {path!r} in the catalog; check the name with spark.catalog.listTables()") from None
        if format == "table" and any(s in text for s in ("PARSE_", "SINGLE_PART_NAMESPACE", "CATALOG_NOT_FOUND")):
            hint = "to read a file give its format, such as parquet or csv" if "/" in str(path) else "write it as database.table"
            raise DataError(f"{str(path)[:80]!r} is no name of a table; {hint}") from None
        if "UNABLE_TO_INFER_SCHEMA" in text:
            raise DataError(f"{path}: no {format} data there; check the path and the format") from None
        own = of_spark(error)
        if own is None:
            raise
        raise own from None
    if format == "csv":
        _check_separator(frame, where, options)
        unnamed = [c for k, c in enumerate(frame.columns) if c == f"_c{k}"]
        if unnamed and len(unnamed) < len(frame.columns):
            notice(f"{where}: {len(unnamed)} columns have no name in the header; they are called {', '.join(unnamed[:3])} here")
        if not {"enforceschema"} & {k.lower() for k in options} and options["header"].lower() == "true":
            _check_headers(spark, frame, paths, next((v for k, v in options.items() if k.lower() == "comment"), ""))
        if not lenient and frame.columns:
            frame = csv_rows(spark, paths, frame.schema, options)
    elif format == "json" and _BAD in frame.columns:
        _refuse_json(spark, frame, paths)
    return frame


def csv_rows(spark: SparkSession, paths: list[str], schema: StructType, options: dict[str, str]) -> DataFrame:
    """CSV files of a schema; an action on a row of more or fewer cells raises `DataError` with its text."""
    reader = spark.read.format("csv").options(**options, columnNameOfCorruptRecord=_BAD)
    frame = reader.schema(StructType([*schema.fields, StructField(_BAD, StringType())])).load(paths)
    first = F.col(quoted(schema.names[0]))
    message = F.concat(
        F.lit("spark_mlfs.errors.DataError: "),
        F.regexp_replace(F.col("_metadata.file_path"), "^file:/+", "/"),
        F.lit(": the row '"),
        F.substring(F.regexp_replace(F.col(_BAD), r"\s+", " "), 1, 60),
        F.coalesce(F.substring(first.cast("string"), 1, 0), F.lit("")),  # Spark reads no column of bad rows alone
        F.lit(f"' has not the {len(schema)} cells of the header; complete or remove it (quote a cell that holds the separator)"),
    )
    fits = F.when(F.col(_BAD).isNull(), F.lit(True)).otherwise(F.raise_error(message).isNull())
    return frame.where(fits).select(*(F.col(quoted(c)) for c in schema.names))


def _check_separator(frame: DataFrame, where: str, options: dict[str, str]) -> None:
    """`DataError` where a CSV has one column whose name holds what must be the separator."""
    if len(frame.columns) != 1 or {"sep", "delimiter"} & {k.lower() for k in options}:
        return
    name = frame.columns[0]
    separator = next((s for s in (";", "\t", "|") if s in name), None)
    if separator is not None and name.replace("\t", " ").isprintable():
        raise DataError(
            f"{where}: one column, {name[:40]!r}, that {separator!r} seems to separate; pass "
            f'reader_options={{"sep": "{separator if separator != chr(9) else chr(92) + "t"}"}}'
        )


def _check_headers(spark: SparkSession, frame: DataFrame, paths: list[str], comment: str) -> None:
    """`DataError` where several CSV files have not one header: Spark takes the first one's and reads all by the place."""
    if len(frame.inputFiles()) < 2:
        return
    told = F.trim(F.col("value")) != ""
    lines = spark.read.text(paths).where((F.col("_metadata.file_block_start") == 0) & told)
    if comment:
        lines = lines.where(~F.col("value").startswith(comment))
    lines = lines.select(
        F.trim(F.regexp_replace("value", '[\ufeff"]', "")).alias("header"),
        F.col("_metadata.file_path").alias("file"),
        F.monotonically_increasing_id().alias("place"),
    )
    first = lines.groupBy("file").agg(F.min_by("header", "place").alias("header"))
    with reading():
        found = first.groupBy("header").agg(F.min("file").alias("file")).orderBy("file").limit(2).collect()
    if len(found) < 2:
        return
    one, other = (row["header"] for row in found)
    k = next((k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b), min(len(one), len(other)))
    k = max(0, k - 20)
    shown = ["…" * (k > 0) + text[k : k + 60] + "…" * (len(text) > k + 60) for text in (one, other)]
    raise DataError(
        f"{plain(found[1]['file'])}: its header {shown[1]!r} is not {shown[0]!r} as in {plain(found[0]['file'])}; columns are "
        "read by their place: give all files one header, or read them apart"
    )


def _refuse_json(spark: SparkSession, frame: DataFrame, paths: list[str]) -> None:
    with reading():
        first = spark.read.text(paths).where("trim(value) != ''").select(F.substring(F.trim("value"), 1, 80)).head()
    text, where = (first[0] if first else ""), ", ".join(paths[:3])
    if text[:1] == "[" or text.strip() == "{":
        raise DataError(
            f'{where}: JSON over several lines; pass reader_options={{"multiLine": "true"}}, or write one record a line'
        )
    bad = None
    if len(frame.columns) > 1:  # Spark refuses to read the column of bad records alone
        others = [F.col(quoted(c)).isNull() for c in frame.columns if c != _BAD]
        with reading():
            bad = frame.where(F.col(_BAD).isNotNull()).select(_BAD, others[0].alias("_")).head()
    said = bad[0] if bad else text
    raise DataError(f"{where}: {said[:60]!r} is no JSON record; correct or remove the line, or give the format the file has")


def columns_of(frame: DataFrame, wanted: str | Sequence[str], what: str, exclude: Sequence[str] = ()) -> list[str]:
    """The column names an argument stands for: one name, a list, or a pattern with ``*``."""
    known = frame.columns
    names = [wanted] if isinstance(wanted, str) else list(wanted or [])
    if not names or not all(isinstance(n, str) for n in names):
        raise ParameterError(f"{what}={wanted!r}: give a column name, a list of them or a pattern with *")
    columns: list[str] = []
    for name in names:
        plain = name[1:-1].replace("``", "`") if re.fullmatch(r"`(?:[^`]|``)+`", name) else name
        if name in known:
            columns.append(name)
        elif plain in known:
            columns.append(plain)
        elif "*" in name:
            matched = [c for c in known if fnmatch.fnmatchcase(c, name.replace("[", "[[]")) and c not in exclude]
            if not matched:
                raise DataError(f"{what}: no column matches {name!r}: {near(name, known)}")
            columns += matched
        else:
            raise DataError(f"{what}: no column {name!r}: {near(name, known)}")
    twice = first_repeated(columns)
    if twice is not None:
        raise ParameterError(f"{what}: column {twice!r} is given twice; give each column once")
    return columns


def _is_number(kind: DataType) -> bool:
    return isinstance(kind, (NumericType, BooleanType))


def quoted(name: str) -> str:
    """A column's name as Spark takes it whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


def assemble(
    source: DataFrame,
    features: str | Sequence[str],
    labels: str | Sequence[str],
    id: str | None = None,
    label_delimiter: str | None = None,
    missing: str = "error",
) -> DataFrame:
    """``id, features, labels`` out of the named columns of a DataFrame."""
    id_columns = [] if id is None else columns_of(source, id, "id")
    if len(id_columns) > 1:
        raise ParameterError(f"id={id!r} stands for {len(id_columns)} columns; give one")
    label_columns = columns_of(source, labels, "labels", id_columns)
    feature_columns = columns_of(source, features, "features", id_columns + label_columns)
    both = set(label_columns) & set(feature_columns)
    if both:
        raise ParameterError(f"column {sorted(both)[0]!r} is a feature and a label; it can be only one of them")
    kinds = {f.name: f.dataType for f in source.schema.fields}

    x, x_form, x_names = _features(source, feature_columns, kinds)
    y, y_form, y_names, y_type = _labels(source, label_columns, kinds, label_delimiter)
    if id is None:
        cells = [F.col(quoted(c)) for c in feature_columns + label_columns]
        row_id = F.xxhash64(*cells, F.array(*(c.isNull() for c in cells)))  # the hash of cells alone passes over nulls
    elif isinstance(kinds[id_columns[0]], IntegralType):
        row_id = F.col(quoted(id_columns[0])).cast("bigint")
    else:
        row_id = F.when(F.col(quoted(id_columns[0])).isNotNull(), F.xxhash64(F.col(quoted(id_columns[0]))))
    # A hash names no row to a person: the text it was made of comes along, or rows are counted.
    naming = "place" if id is None else "id" if isinstance(kinds[id_columns[0]], IntegralType) else "column"
    shown = [F.col(quoted(id_columns[0])).cast("string").alias("shown")] if naming == "column" else []
    schema = StructType(
        [
            StructField(ID, LongType(), False),
            StructField(FEATURES, VectorUDT(), False),
            StructField(LABELS, y_type, not isinstance(y_type, VectorUDT)),
        ]
    )
    frame = source.select(
        row_id.alias("id"),
        *(c.alias(f"x{k}") for k, c in enumerate(x)),
        *(c.alias(f"y{k}") for k, c in enumerate(y)),
        *shown,
    ).mapInArrow(
        partial(
            _rows,
            x_form=x_form,
            y_form=y_form,
            num_x=len(x),
            x_names=x_names,
            y_names=y_names,
            x_column=feature_columns[0],
            y_column=label_columns[0],
            missing=missing,
            naming=naming,
        ),
        schema,
    )
    if missing == "mean":
        frame = impute(frame, missing, x_names)
    if x_names:
        frame = with_names(frame, FEATURES, x_names)
    if y_names:
        frame = with_names(frame, LABELS, y_names)
    return frame


def _features(source: DataFrame, columns: list[str], kinds: dict[str, DataType]) -> tuple[list, str, list[str] | None]:
    """The columns to read, their form and the names of the features."""
    first = kinds[columns[0]]
    if len(columns) == 1 and isinstance(first, VectorUDT):
        return [F.col(quoted(columns[0]))], "vector", attribute_names(source, columns[0])
    if len(columns) == 1 and isinstance(first, ArrayType) and _is_number(first.elementType):
        return [F.col(quoted(columns[0])).cast("array<double>")], "array", None
    for name in columns:
        if not _is_number(kinds[name]):
            raise DataError(
                f"features: column {name!r} is {kinds[name].simpleString()}{_not_a_number(source, name, kinds[name])}; features "
                "are numeric columns, or one column of vectors or numeric arrays: cast or encode it, or leave it out"
            )
    return [F.col(quoted(c)).cast("double") for c in columns], "columns", columns


def _labels(
    source: DataFrame, columns: list[str], kinds: dict[str, DataType], delimiter: str | None
) -> tuple[list, str, list[str] | None, DataType]:
    first, column = kinds[columns[0]], F.col(quoted(columns[0]))
    if delimiter is not None and (len(columns) > 1 or not isinstance(first, StringType)):
        raise ParameterError(f"label_delimiter={delimiter!r} is for one string column; {columns[0]!r} is {first.simpleString()}")
    if len(columns) == 1:
        if isinstance(first, VectorUDT):
            return [column], "vector", attribute_names(source, columns[0]), VectorUDT()
        if isinstance(first, ArrayType):
            if isinstance(first.elementType, StringType):
                return [column], "asis", None, ArrayType(StringType())
            if isinstance(first.elementType, IntegralType):
                return [column.cast("array<bigint>")], "asis", None, ArrayType(LongType())
            if isinstance(first.elementType, FractionalType):
                return [column.cast("array<double>")], "array", None, VectorUDT()
        if isinstance(first, StringType):
            if not delimiter:
                raise ParameterError(
                    f"labels: column {columns[0]!r} is a string; pass label_delimiter=';' (what stands between its labels)"
                )
            parts = F.transform(F.split(column, _literal(delimiter)), lambda t: F.trim(t))
            return [F.filter(parts, lambda t: t != "")], "asis", None, ArrayType(StringType())
    for name in columns:
        if not _is_number(kinds[name]):
            raise DataError(
                f"labels: column {name!r} is {kinds[name].simpleString()}{_not_a_number(source, name, kinds[name])}; labels are "
                "0/1 columns, or one column of tags, label numbers or multi-hot vectors"
            )
    return [F.col(quoted(c)).cast("double") for c in columns], "columns", columns, VectorUDT()


def _not_a_number(source: DataFrame, name: str, kind: DataType) -> str:
    """The first text of a string column that is no number, for the message about the column."""
    if not isinstance(kind, StringType):
        return ""
    column = F.col(quoted(name))
    numeric = column.rlike(r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$")
    with reading():
        text = source.where(column.isNotNull() & ~numeric).select(F.substring(column, 1, 41)).head()
    return "" if text is None else f" (it holds {text[0][:40]!r})"


def _literal(text: str) -> str:
    """A Java regular expression for the text itself."""
    return "".join(c if c.isalnum() else "\\" + c for c in text)


def _received(batch: pa.RecordBatch, form: str, first: int, count: int) -> Vectors:
    if form == "columns":
        matrix = np.empty((batch.num_rows, count))
        for k in range(count):
            matrix[:, k] = batch.column(first + k).to_numpy(zero_copy_only=False)  # null: NaN
        return vectors.dense(matrix)
    column = batch.column(first)
    return vectors.from_arrow(column) if form == "vector" else vectors.from_lists(column)


def _rows(
    batches: Iterator[pa.RecordBatch],
    x_form: str,
    y_form: str,
    num_x: int,
    x_names: list[str] | None,
    y_names: list[str] | None,
    x_column: str,
    y_column: str,
    missing: str,
    naming: str,
) -> Iterator[pa.RecordBatch]:
    size: dict[str, int] = {}
    before = 0
    for batch in batches:
        if not batch.num_rows:
            continue
        ids, rows_before = batch.column(0), before
        before += batch.num_rows
        if ids.null_count:
            at = rows_before + int(np.flatnonzero(np.asarray(ids.is_null()))[0])
            raise DataError(f"row {_place(at)}: the id column holds a null; fill or drop those rows")
        shown = batch.column(batch.num_columns - 1) if naming == "column" else ids
        if naming == "column":
            batch = batch.select(range(batch.num_columns - 1))

        def row(k: int, shown: pa.Array = shown, rows_before: int = rows_before) -> str:
            return "row " + (_place(rows_before + int(k)) if naming == "place" else str(shown[int(k)].as_py()))

        x = _received(batch, x_form, 1, num_x)
        keep = np.ones(batch.num_rows, bool)
        if x.null is not None and x.null.any():
            if missing != "drop":
                at = np.flatnonzero(x.null)[0]
                raise DataError(f"{row(at)}: column {x_column!r} holds a null instead of features; pass missing='drop'")
            keep = ~x.null
            x = x.take(keep)
        present = np.flatnonzero(keep)

        def named(k: int, row: Callable[[int], str] = row, present: np.ndarray = present) -> str:
            return row(present[int(k)])

        def where(k: int, slot: int, named: Callable[[int], str] = named) -> str:
            name = f"feature {x_names[slot]!r}" if x_names else f"column {x_column!r}, feature {slot}"
            return f"{named(k)}: {name}"

        _same_size(x, x_column, size, named)
        infinite = np.isinf(x.values)
        if infinite.any():
            at = int(np.flatnonzero(infinite)[0])
            raise DataError(f"{where(int(x.rows[at]), int(x.indices[at]))} is infinite; make it finite or null")

        settled, x = settle(x, missing, where)
        kept = np.flatnonzero(keep)[settled]
        if not len(kept):
            continue
        if len(kept) < batch.num_rows:
            columns = [c.take(pa.array(kept)) for c in batch.columns]
            batch = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
            ids = batch.column(0)

        def labelled(k: int, row: Callable[[int], str] = row, kept: np.ndarray = kept) -> str:
            return row(kept[int(k)])

        if y_form == "asis":
            y = batch.column(1 + num_x)
        else:
            y = _multi_hot(batch, y_form, 1 + num_x, y_names, y_column, labelled, size)
        yield pa.RecordBatch.from_arrays([ids, x.to_arrow(), y], [ID, FEATURES, LABELS])


def _place(row: int) -> str:
    """A row by its place in the partition this process works on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return f"{row + 1} of part {context.partitionId() if context else 0}"


def _same_size(v: Vectors, column: str, size: dict[str, int], row: Callable[[int], str]) -> None:
    if v.sizes is None or not len(v):
        return
    expected = size.setdefault(column, int(v.sizes[0]))
    other = np.flatnonzero(v.sizes != expected)
    if len(other):
        raise DataError(
            f"{row(int(other[0]))}: column {column!r} has {v.sizes[other[0]]} values, other rows {expected}; "
            "give all rows one length"
        )
    v.size = expected


def _multi_hot(
    batch: pa.RecordBatch,
    form: str,
    first: int,
    names: list[str] | None,
    column: str,
    row: Callable[[int], str],
    size: dict[str, int],
) -> pa.Array:
    y = _received(batch, form, first, batch.num_columns - first)
    if y.null is not None and y.null.any():
        at = int(np.flatnonzero(y.null)[0])
        raise DataError(f"{row(at)}: column {column!r} holds a null instead of labels; drop or fill the row")
    _same_size(y, column, size, row)
    bad = ~((y.values == 0) | (y.values == 1) | np.isnan(y.values))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        name = repr(names[y.indices[at]]) if names else f"{column!r}, position {y.indices[at]}"
        raise DataError(
            f"{row(int(y.rows[at]))}: label {name} is {y.values[at]:g}; labels are 0, 1 or null (unknown): correct it, or make "
            "it 0/1 first (value > 0), or leave the column out of the labels"
        )
    return vectors.sparse(len(y), y.size, y.rows, y.indices, y.values).to_arrow()
