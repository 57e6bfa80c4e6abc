"""Tables with named columns (Parquet, Delta, CSV, JSON, the catalog) as features and labels.

`features`
    one column: a vector, or array<numeric>; a list of numeric columns; or a pattern with ``*`` (label and id columns
    excluded, order of the table)
`labels`
    one column: array<string> tags, array<int> label numbers, a multi-hot vector or array<double>, or a string of tags
    joined by `label_delimiter`; or a list or pattern of 0/1 columns (null: unknown)
`id`
    an integer column, taken as it is and expected to be unique; another type becomes xxhash64 of the column; without it
    the id is xxhash64 of the features and labels, so equal rows share one id (and any random draw keyed by it)

Result: ``id`` bigint; ``features`` a vector, with names where columns or metadata gave them; ``labels`` a multi-hot
vector for 0/1 columns, vectors and array<double>, and array<string> or array<int> for tags and numbers, which are
encoded later.
"""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator, Sequence
from functools import partial

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
    IntegerType,
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
from .lines import checked, near, paths_of
from .missing import check_policy, impute, settle
from .vectors import Vectors

FORMATS = ("parquet", "delta", "csv", "json", "table")


def table(
    spark: SparkSession,
    path: str | Sequence[str] | DataFrame,
    features: str | Sequence[str],
    labels: str | Sequence[str],
    format: str = "table",
    id: str | None = None,
    label_delimiter: str | None = None,
    missing: str = "error",
    reader_options: dict[str, str] | None = None,
) -> DataFrame:
    """Read a table into ``id, features, labels``; see the module for `features`, `labels` and `id`.

    `path` is a path, a list or a glob for the file formats, a table name for ``format="table"``, or a DataFrame.
    `reader_options` go to Spark's reader (CSV: header and inferSchema are on unless given). `missing` says what a null
    or NaN feature becomes (see `missing`). Raises `DataError` and `ParameterError`; what only the rows show is raised on
    an action.
    """
    check_policy(missing)
    source = path if isinstance(path, DataFrame) else open_table(spark, path, format, reader_options)
    return assemble(source, features, labels, id, label_delimiter, missing)


def open_table(
    spark: SparkSession, path: str | Sequence[str], format: str, reader_options: dict[str, str] | None = None
) -> DataFrame:
    """The table as Spark reads it."""
    if format not in FORMATS:
        raise ParameterError(f"format={format!r} is not a table format: it is one of {', '.join(FORMATS)}")
    options = {"header": "true", "inferSchema": "true"} if format == "csv" else {}
    options |= {k: str(v) for k, v in (reader_options or {}).items()}
    try:
        if format == "table":
            frame = spark.table(str(path))
            _ = frame.schema
            return frame
        paths = paths_of(path)
        reader = spark.read.format(format).options(**options)
        return checked(lambda: reader.load(paths if len(paths) > 1 else paths[0]), ", ".join(paths[:3]))
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
        if "UNABLE_TO_INFER_SCHEMA" in text:
            raise DataError(f"{path}: no {format} data there; check the path and the format") from None
        raise


def columns_of(frame: DataFrame, wanted: str | Sequence[str], what: str, exclude: Sequence[str] = ()) -> list[str]:
    """The column names an argument stands for: one name, a list, or a pattern with ``*``."""
    known = frame.columns
    names = [wanted] if isinstance(wanted, str) else list(wanted or [])
    if not names or not all(isinstance(n, str) for n in names):
        raise ParameterError(f"{what}={wanted!r}: give a column name, a list of them or a pattern with *")
    found: list[str] = []
    for name in names:
        if name in known:
            found.append(name)
        elif "*" in name:
            matched = [c for c in known if fnmatch.fnmatchcase(c, name.replace("[", "[[]")) and c not in exclude]
            if not matched:
                raise DataError(f"{what}: no column matches {name!r}: {near(name, known)}")
            found += matched
        else:
            raise DataError(f"{what}: no column {name!r}: {near(name, known)}")
    twice = next((n for n in found if found.count(n) > 1), None) if len(set(found)) < len(found) else None
    if twice is not None:
        raise ParameterError(f"{what}: column {twice!r} is given twice; give each column once")
    return found


def _is_number(kind: DataType) -> bool:
    return isinstance(kind, (NumericType, BooleanType))


def _quoted(name: str) -> str:
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
        row_id = F.xxhash64(*(F.col(_quoted(c)) for c in feature_columns + label_columns))
    elif isinstance(kinds[id_columns[0]], IntegralType):
        row_id = F.col(_quoted(id_columns[0])).cast("bigint")
    else:
        row_id = F.when(F.col(_quoted(id_columns[0])).isNotNull(), F.xxhash64(F.col(_quoted(id_columns[0]))))
    schema = StructType(
        [
            StructField(ID, LongType(), False),
            StructField(FEATURES, VectorUDT(), False),
            StructField(LABELS, y_type, not isinstance(y_type, VectorUDT)),
        ]
    )
    frame = source.select(
        row_id.alias("id"), *(c.alias(f"x{k}") for k, c in enumerate(x)), *(c.alias(f"y{k}") for k, c in enumerate(y))
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
        return [F.col(_quoted(columns[0]))], "vector", attribute_names(source, columns[0])
    if len(columns) == 1 and isinstance(first, ArrayType) and _is_number(first.elementType):
        return [F.col(_quoted(columns[0])).cast("array<double>")], "array", None
    for name in columns:
        if not _is_number(kinds[name]):
            raise DataError(
                f"features: column {name!r} is {kinds[name].simpleString()}; features are numeric columns, or one column of "
                "vectors or numeric arrays: cast or encode it, or leave it out"
            )
    return [F.col(_quoted(c)).cast("double") for c in columns], "columns", columns


def _labels(
    source: DataFrame, columns: list[str], kinds: dict[str, DataType], delimiter: str | None
) -> tuple[list, str, list[str] | None, DataType]:
    first, column = kinds[columns[0]], F.col(_quoted(columns[0]))
    if delimiter is not None and (len(columns) > 1 or not isinstance(first, StringType)):
        raise ParameterError(f"label_delimiter={delimiter!r} is for one string column; {columns[0]!r} is {first.simpleString()}")
    if len(columns) == 1:
        if isinstance(first, VectorUDT):
            return [column], "vector", attribute_names(source, columns[0]), VectorUDT()
        if isinstance(first, ArrayType):
            if isinstance(first.elementType, StringType):
                return [column], "asis", None, ArrayType(StringType())
            if isinstance(first.elementType, IntegralType):
                return [column.cast("array<int>")], "asis", None, ArrayType(IntegerType())
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
                f"labels: column {name!r} is {kinds[name].simpleString()}; labels are 0/1 columns, or one column of tags, "
                "label numbers or multi-hot vectors"
            )
    return [F.col(_quoted(c)).cast("double") for c in columns], "columns", columns, VectorUDT()


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
) -> Iterator[pa.RecordBatch]:
    size: dict[str, int] = {}
    for batch in batches:
        if not batch.num_rows:
            continue
        ids = batch.column(0)
        if ids.null_count:
            raise DataError("the id column holds a null; fill or drop those rows")

        def row(k: int, ids: pa.Array = ids) -> str:
            return f"row {ids[int(k)].as_py()}"

        x = _received(batch, x_form, 1, num_x)
        keep = np.ones(batch.num_rows, bool)
        if x.null is not None and x.null.any():
            if missing != "drop":
                at = np.flatnonzero(x.null)[0]
                raise DataError(f"{row(at)}: column {x_column!r} holds a null instead of features; pass missing='drop'")
            keep = ~x.null
            x = x.take(keep)
        kept_ids = ids.filter(pa.array(keep))
        _same_size(x, x_column, size, kept_ids)
        if np.isinf(x.values).any():
            at = x.rows[np.isinf(x.values)][0]
            raise DataError(
                f"row {kept_ids[int(at)].as_py()}: column {x_column!r} and on: a feature is infinite; make it finite or null"
            )

        def where(k: int, slot: int, kept_ids: pa.Array = kept_ids) -> str:
            name = f"feature {x_names[slot]!r}" if x_names else f"column {x_column!r}, feature {slot}"
            return f"row {kept_ids[k].as_py()}: {name}"

        settled, x = settle(x, missing, where)
        kept = np.flatnonzero(keep)[settled]
        if not len(kept):
            continue
        if len(kept) < batch.num_rows:
            columns = [c.take(pa.array(kept)) for c in batch.columns]
            batch = pa.RecordBatch.from_arrays(columns, names=batch.schema.names)
            ids = batch.column(0)
        if y_form == "asis":
            y = batch.column(1 + num_x)
        else:
            y = _multi_hot(batch, y_form, 1 + num_x, y_names, y_column, ids, size)
        yield pa.RecordBatch.from_arrays([ids, x.to_arrow(), y], [ID, FEATURES, LABELS])


def _same_size(v: Vectors, column: str, size: dict[str, int], ids: pa.Array) -> None:
    if v.sizes is None or not len(v):
        return
    expected = size.setdefault(column, int(v.sizes[0]))
    other = np.flatnonzero(v.sizes != expected)
    if len(other):
        raise DataError(
            f"row {ids[int(other[0])].as_py()}: column {column!r} has {v.sizes[other[0]]} values, other rows {expected}; "
            "give all rows one length"
        )
    v.size = expected


def _multi_hot(
    batch: pa.RecordBatch, form: str, first: int, names: list[str] | None, column: str, ids: pa.Array, size: dict[str, int]
) -> pa.Array:
    y = _received(batch, form, first, batch.num_columns - first)
    if y.null is not None and y.null.any():
        at = int(np.flatnonzero(y.null)[0])
        raise DataError(f"row {ids[at].as_py()}: column {column!r} holds a null instead of labels; drop or fill the row")
    _same_size(y, column, size, ids)
    bad = ~((y.values == 0) | (y.values == 1) | np.isnan(y.values))
    if bad.any():
        at = int(np.flatnonzero(bad)[0])
        name = repr(names[y.indices[at]]) if names else f"{column!r}, position {y.indices[at]}"
        raise DataError(
            f"row {ids[int(y.rows[at])].as_py()}: label {name} is {y.values[at]:g}; labels are 0, 1 or null (unknown)"
        )
    return vectors.sparse(len(y), y.size, y.rows, y.indices, y.values).to_arrow()
