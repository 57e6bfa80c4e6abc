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
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import PurePath
from typing import TYPE_CHECKING, Any

from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql.types import (
    ArrayType,
    BooleanType,
    DataType,
    FractionalType,
    IntegralType,
    LongType,
    NullType,
    NumericType,
    StringType,
    StructField,
    StructType,
)

from ..errors import LARGE_WHOLE, DataError, ParameterError, as_text, option
from ..formats import READERS, Distinct, Names, Reader, Texts, documentation, tabular
from ..kernels.missing import REFUSED
from ..params import REQUIRED, Flag, Optional, Parameter, Text
from ..schema import FEATURES, ID, LABELS, WEIGHT, attribute_names, with_names, with_packed_from
from .errors import first_repeated, notice, of_spark, reading
from .frames import as_spark
from .lines import checked, near, paths_of, plain
from .missing import MISSING_FEATURES, MISSING_TAKES, impute

if TYPE_CHECKING:
    import pandas as pd

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
_BAD = "_spark_mlfs_bad_record"  # the text of a CSV row or JSON record that does not fit


FEATURES_COLUMN = Parameter("features", REQUIRED, Names("a column, a list of them or a pattern with *"), "the features")
# what a row has beside its features, and how Spark reads the table: options of text, too
COLUMNS = (
    Parameter("labels", REQUIRED, Names("a column, a list of them or a pattern with *"), "the labels"),
    Parameter("id", None, Optional(Text("a column")), "column of the row ids"),
    Parameter("label_delimiter", None, Optional(Text("a text")), "what stands between the tags of a text"),
    Parameter(
        "label_names", None, Distinct("a list of different names"),
        "the labels of one column, in order: tags are then not gathered by a pass of their own, and another tag is refused",
    ),
    Parameter(
        "reader_options", None, Optional(Texts('an object of texts, such as {"sep": ";"}')),
        "of Spark's reader (CSV: header and inferSchema are on unless given)",
    ),
    Parameter("weight", None, Optional(Text("a column")), "column of the rows' weights, which becomes weight"),
)  # fmt: skip


class Table(Reader):
    """Read a table into ``id, features, labels``; see the module for `features`, `labels` and `id`.

    `path` is a path, a list or a glob for the file formats, a table name for ``format="table"``, or a frame of Spark's or
    pandas'. Raises `DataError` and `ParameterError`; what only the rows show is raised on an action.
    """

    name, title = "table", "a table of the catalog, or a frame"
    tabular = True
    parameters = (
        FEATURES_COLUMN,
        *COLUMNS,
        MISSING_FEATURES,
        Parameter("graded", False, Flag(), "labels are numbers other than 0 and 1: tell the estimator, too (gradedLabels)"),
        Parameter(
            "needed", (), Names("a list of columns", listed=True), "numeric columns without a missing value, whatever `missing`"
        ),
    )

    def read(self, spark: SparkSession, path: Any, p: Mapping[str, Any]) -> DataFrame:
        return assemble(source_of(spark, path, self.name, p["reader_options"]), p)


class Parquet(Table):
    """Parquet files."""

    name, title = "parquet", "Parquet files"


class Delta(Table):
    """Delta tables."""

    name, title = "delta", "Delta tables by their folder"


class Csv(Table):
    """CSV files."""

    name, title = "csv", "CSV files"


class Json(Table):
    """JSON files."""

    name, title = "json", "JSON, one record a line"


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
    return READERS.create(format)(spark, path, features=features, labels=labels, **options)


table.__doc__ = documentation(Table)


def check_tabular(format: str) -> None:
    """Raise `ParameterError` for a format that Spark does not read as named columns."""
    if not tabular(format):
        raise ParameterError(f"format={format!r} is not a table format: it is one of {', '.join(filter(tabular, READERS))}")


def source_of(spark: SparkSession, path: Any, format: str, reader_options: dict[str, str] | None) -> DataFrame:
    """The table at a path, or a frame of Spark's or pandas'; `ParameterError` says what to call for anything else."""
    if isinstance(path, (str, PurePath, list, tuple)):
        return open_table(spark, path, format, reader_options)  # type: ignore[arg-type]
    return as_spark(path, spark)


def open_table(
    spark: SparkSession, path: str | Sequence[str], format: str, reader_options: dict[str, str] | None = None
) -> DataFrame:
    """The table as Spark reads it."""
    check_tabular(format)
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
            f"{where}: JSON over several lines; pass {option('reader_options', {'multiLine': 'true'})}, or write one record "
            "a line"
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
        raise ParameterError(f"{option(what, wanted)}: give a column name, a list of them or a pattern with *")
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
                raise DataError(f"{option(what)}: no column matches {name!r}: {near(name, known)}")
            columns += matched
        else:
            raise DataError(f"{option(what)}: no column {name!r}: {near(name, known)}")
    twice = first_repeated(columns)
    if twice is not None:
        raise ParameterError(f"{option(what)}: column {twice!r} is given twice; give each column once")
    return columns


def _is_number(kind: DataType) -> bool:
    return isinstance(kind, (NumericType, BooleanType))


def quoted(name: str) -> str:
    """A column's name as Spark takes it whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


def assemble(source: DataFrame, p: Mapping[str, Any]) -> DataFrame:
    """``id, features, labels``, and ``weight`` where it is named, out of the columns of a DataFrame that the options of `Table`
    name."""
    missing, needed = p["missing"], p["needed"]
    id_columns, weight_columns = ([] if p[what] is None else columns_of(source, p[what], what) for what in ("id", "weight"))
    for what, columns in (("id", id_columns), ("weight", weight_columns)):
        if len(columns) > 1:
            raise ParameterError(f"{option(what, p[what])} stands for {len(columns)} columns; give one")
    label_columns = columns_of(source, p["labels"], "labels", id_columns + weight_columns)
    feature_columns = columns_of(source, p["features"], "features", id_columns + label_columns + weight_columns)
    both = set(label_columns) & set(feature_columns)
    if both:
        raise ParameterError(f"column {sorted(both)[0]!r} is a feature and a label; it can be only one of them")
    for column in weight_columns:
        if column in feature_columns + label_columns:
            raise ParameterError(f"column {column!r} is the weight and a feature or label; it can be only one of them")
    kinds = {f.name: f.dataType for f in source.schema.fields}
    for column in weight_columns:
        if not isinstance(kinds[column], NumericType):
            raise ParameterError(f"weight column {column!r} is {kinds[column].simpleString()}; give numbers")

    x = _features(source, feature_columns, kinds)
    y = _labels(source, label_columns, kinds, p["label_delimiter"], p["graded"])
    if p["label_names"] is not None:
        y = y.renamed(p["label_names"])
    shown = F.lit(None).cast("string")
    if not id_columns:
        every = [F.col(quoted(c)) for c in feature_columns + label_columns]
        key = F.xxhash64(*every, F.array(*(c.isNull() for c in every)))  # the hash of cells alone passes over nulls
    elif isinstance(kinds[id_columns[0]], IntegralType):
        key = F.col(quoted(id_columns[0])).cast("bigint")
        shown = key.cast("string")
    else:  # a hash names no row to a person: the text it was made of comes along
        key = F.when(F.col(quoted(id_columns[0])).isNotNull(), F.xxhash64(F.col(quoted(id_columns[0]))))
        shown = F.col(quoted(id_columns[0])).cast("string")
    rows = source.select(
        F.monotonically_increasing_id().alias("at"),  # its own column, and before any filter: it counts what it is asked for
        key.alias("key"),
        shown.alias("shown"),
        x.column.alias("x"),
        *([_gathered(needed).alias("needed")] if needed else []),
        y.column.alias("y"),
        *(F.col(quoted(column)).cast("double").alias("w") for column in weight_columns),
    )
    if missing == "drop":
        rows = rows.where(F.col("x").isNotNull() & ~x.lacking("x"))
    unchecked = _checked(rows, x, y, missing, nulls_only=True)
    rows = _checked(rows, x, y, missing, needed=needed)
    cells = F.col("x")
    if x.form == "array":
        if missing == "zero":
            filled = F.transform("x", lambda v: F.coalesce(F.nanvl(v, F.lit(0.0)), F.lit(0.0)))
            cells = F.when(x.lacking("x"), filled).otherwise(cells)
        elif missing in ("mean", "keep") and x.nulls:
            cells = F.when(x.lacking("x"), F.transform("x", lambda v: F.coalesce(v, F.lit(_NAN)))).otherwise(cells)
        cells = array_to_vector(cells)
    labels_column = F.col("y")
    if y.form == "array":
        known = F.when(y.lacking("y"), F.transform("y", lambda v: F.coalesce(v, F.lit(_NAN)))).otherwise(labels_column)
        labels_column = array_to_vector(known if y.nulls else labels_column)
    key = F.coalesce("key", F.lit(0).cast("bigint")).alias(ID)  # which has no null here, and its schema shall say so
    weights = [F.col("w").alias(WEIGHT) for _ in weight_columns]
    frame = rows.select(key, cells.alias(FEATURES), labels_column.alias(LABELS), *weights)
    unchecked = unchecked.select(key, F.col("x").alias(FEATURES), labels_column.alias(LABELS), *weights)
    frame = impute(frame, missing, x.names, settled=missing != "zero" or x.form != "vector")
    if y.names:
        frame, unchecked = (with_names(each, LABELS, y.names) for each in (frame, unchecked))
    return with_packed_from(frame, unchecked) if missing in ("error", "drop") else frame


@dataclass(frozen=True)
class Cells:
    """Features or labels as one column. `form`: "vector", "array" (of double; with `nulls` some entries may be null), or "asis"
    (labels that are encoded later). `said` names the column in messages, `names` its entries."""

    column: Column
    form: str
    said: str
    names: list[str] | None = None
    nulls: bool = False
    grades: bool = False  # labels that are numbers other than 0 and 1

    def renamed(self, names: Sequence[str]) -> Cells:
        """The same labels by other names."""
        if self.form == "array" and self.names:
            raise ParameterError("label_names is for one column of labels; 0/1 columns have names of their own")
        return replace(self, names=list(names))

    def values(self, column: str) -> Column:
        """The stored values of a row."""
        return F.unwrap_udt(F.col(column)).getField("values") if self.form == "vector" else F.col(column)

    def lacking(self, column: str) -> Column:
        """Whether an entry of a row is NaN or null. Without a lambda, which Spark interprets value by value."""
        values = self.values(column)
        nan = F.coalesce(F.array_contains(values, _NAN), F.lit(False))
        # what is not found in an array is null instead of false where the array holds a null
        return nan | F.array_contains(values, _INFINITY).isNull() if self.nulls else nan

    def infinite(self, column: str) -> Column:
        """Whether an entry of a row is infinite."""
        values = self.values(column)
        return F.coalesce(F.array_contains(values, _INFINITY), F.lit(False)) | F.coalesce(
            F.array_contains(values, -_INFINITY), F.lit(False)
        )

    def slot(self, column: str, wrong: Callable[[Column], Column]) -> Column:
        """The number of the first entry of a row that is wrong, from 0."""
        place = F.array_position(F.transform(self.values(column), lambda v: F.coalesce(wrong(v), F.lit(False))), True)
        return self._slot_at(column, place)

    def _slot_at(self, column: str, place: Column) -> Column:
        if self.form != "vector":
            return (place - 1).cast("int")
        indices = F.unwrap_udt(F.col(column)).getField("indices")  # of a sparse vector
        return F.coalesce(F.element_at(indices, place.cast("int")), (place - 1).cast("int"))

    def called(self, slot: Column, without: str) -> Column:
        """Return the name of an entry in messages; `without` names its number."""
        if self.names is None or sum(map(len, self.names)) > _LONGEST_NAMES:
            return F.concat(F.lit(without), slot.cast("string"))
        return F.element_at(F.split(F.lit("\n".join(map(repr, self.names))), "\n"), slot + 1)


_NAN, _INFINITY = float("nan"), float("inf")
_LONGEST_NAMES = 1 << 16  # letters of all names that go into a plan, for messages alone


def _checked(
    rows: DataFrame, x: Cells, y: Cells, missing: str, nulls_only: bool = False, needed: Sequence[str] = ()
) -> DataFrame:
    """`rows` (at, key, shown, x, y) as they are; an action on one that cannot be used raises `DataError`. With `nulls_only` only
    nulls that packing would take for something else are looked for: it sees all other faults itself."""
    place = F.concat(
        (F.col("at").bitwiseAND((1 << 33) - 1) + 1).cast("string"), F.lit(" of part "), F.shiftright("at", 33).cast("string")
    )
    named = F.concat(F.lit("row "), F.coalesce("shown", place), F.lit(": "))
    wrong: list[tuple[Column, Column]] = [
        (
            F.col("key").isNull(),
            F.concat(F.lit("row "), place, F.lit(": the id column holds a null; fill or drop those rows")),
        ),
        (
            F.col("x").isNull(),
            F.concat(named, F.lit(f"column {x.said!r} holds a null instead of features; pass {option('missing', 'drop')}")),
        ),
    ]
    entry = f"column {x.said!r}, feature "

    def feature(bad: Callable[[Column], Column], what: str) -> Column:
        return F.concat(named, F.lit("feature " if x.names else ""), x.called(x.slot("x", bad), entry), F.lit(what))

    wrong.append((x.infinite("x"), feature(lambda v: F.abs(v) == _INFINITY, " is infinite; make it finite or null")))
    if needed:
        n = Cells(F.col("needed"), "array", needed[0], [*needed])
        which = n.called(n.slot("needed", F.isnan), "")
        wrong.append((n.lacking("needed"), F.concat(named, F.lit("feature "), which, F.lit(" " + REFUSED))))
    if missing == "error":
        remedy = f": the value is missing; pass {MISSING_TAKES}, or correct the data"
        wrong.append((x.lacking("x"), feature(lambda v: v.isNull() | F.isnan(v), remedy)))
    if y.form != "asis":
        null = F.concat(named, F.lit(f"column {y.said!r} holds a null instead of labels; drop or fill the row"))
        values = y.values("y")
        others = F.array_except(values, F.array(F.lit(0.0), F.lit(1.0), F.lit(_NAN), F.lit(None).cast("double")))
        other = F.element_at(others, 1)
        label = y.called(y._slot_at("y", F.array_position(values, other)), f"{y.said!r}, position ")
        remedy = (
            "; labels are 0, 1 or null (unknown): correct it, or make it 0/1 first (value > 0), or leave the column out of the "
            f"labels, or read grades ({option('graded', True)}; spark-mlfs select --graded-labels)"
        )
        number = F.regexp_replace(other.cast("string"), r"\.0$", "")
        wrong += [
            (F.col("y").isNull(), null),
            (
                F.lit(False) if y.grades else F.coalesce(F.size(others) > 0, F.lit(False)),
                F.concat(named, F.lit("label "), label, F.lit(" is "), number, F.lit(remedy)),
            ),
        ]
    if nulls_only:
        wrong = wrong[:1] + ([] if y.form == "asis" else [(F.col("y").isNull(), null)])
    bad, said = F.lit(False), F.lit(None).cast("string")
    for condition, message in reversed(wrong):
        bad, said = condition | bad, F.when(condition, message).otherwise(said)
    raised = F.raise_error(F.concat(F.lit("spark_mlfs.errors.DataError: "), said))
    return rows.where(F.when(~bad, F.lit(True)).otherwise(raised.isNull()))


def _features(source: DataFrame, columns: list[str], kinds: dict[str, DataType]) -> Cells:
    first = kinds[columns[0]]
    if len(columns) == 1 and isinstance(first, VectorUDT):
        return Cells(F.col(quoted(columns[0])), "vector", columns[0], attribute_names(source, columns[0]))
    if len(columns) == 1 and isinstance(first, ArrayType) and _is_number(first.elementType):
        column = F.col(quoted(columns[0]))
        if isinstance(first.elementType, LongType):
            column = exact(column, column, columns)
        return Cells(column.cast("array<double>"), "array", columns[0], nulls=first.containsNull)
    for name in columns:
        if not _is_number(kinds[name]):
            kind = f"{kinds[name].simpleString()}{_not_a_number(source, name, kinds[name])}"
            wrong = f"{option('features')}: column {name!r} is {kind}"
            if len(columns) == 1 and isinstance(kinds[name], StringType):
                raise DataError(f"{wrong}; to count its words {as_text(name)}")
            raise DataError(
                f"{wrong}; features are numeric columns, or one column of vectors or numeric arrays: cast or encode it, or leave "
                "it out"
            )
    gathered, large = _gathered(columns), [name for name in columns if isinstance(kinds[name], LongType)]
    return Cells(exact(gathered, F.array(*map(quoted, large)), large) if large else gathered, "array", columns[0], columns)


def exact(column: Column, whole: Column, names: Sequence[str]) -> Column:
    """`column`; a `DataError` where a bigint in the array `whole` becomes another as double, with the name of its place, or the
    only one."""
    wrong = F.transform(whole, lambda v: F.coalesce(~v.between(-(1 << 53), 1 << 53) & (v % 1024 != 0), F.lit(False)))
    place = F.array_position(wrong, True)
    name = F.element_at(F.split(F.lit("\x00".join(names)), "\x00"), place.cast("int")) if len(names) > 1 else F.lit(names[0])
    said = F.concat(F.lit("spark_mlfs.errors.DataError: column '"), name, F.lit(f"' holds {LARGE_WHOLE}"))
    return F.when(place > 0, F.raise_error(said)).otherwise(column)


def labels_of(source: DataFrame, labels: str | Sequence[str], delimiter: str | None, called: str) -> tuple[DataFrame, str]:
    """`source` with its labels as the one column `called`: a vector, an array, or tags; with names where there are some. Null and
    NaN are unknown."""
    columns = columns_of(source, labels, "labels")
    y = _labels(source, columns, {f.name: f.dataType for f in source.schema.fields}, delimiter)
    frame = source.withColumn(called, y.column)
    return (with_names(frame, called, y.names) if y.names else frame), called


def _gathered(columns: Sequence[str]) -> Column:
    """Numeric columns as one array; null is NaN."""
    return F.array(*(F.coalesce(F.col(quoted(c)).cast("double"), F.lit(_NAN)) for c in columns))


def _labels(
    source: DataFrame, columns: list[str], kinds: dict[str, DataType], delimiter: str | None, graded: bool = False
) -> Cells:
    first, column = kinds[columns[0]], F.col(quoted(columns[0]))
    if delimiter is not None and (len(columns) > 1 or not isinstance(first, StringType)):
        raise ParameterError(
            f"{option('label_delimiter', delimiter)} is for one string column; {columns[0]!r} is {first.simpleString()}"
        )
    if len(columns) == 1:
        if isinstance(first, VectorUDT):
            return Cells(column, "vector", columns[0], attribute_names(source, columns[0]), grades=graded)
        element = first.elementType if isinstance(first, ArrayType) else first
        if graded and not _is_number(element):
            raise ParameterError(
                f"{option('labels')}: column {columns[0]!r} is {first.simpleString()}, and grades are numbers: give "
                "numeric columns, a vector or an array of numbers, or leave graded out"
            )
        if isinstance(first, ArrayType):
            if isinstance(first.elementType, StringType):
                return Cells(column, "asis", columns[0])
            if isinstance(first.elementType, IntegralType) and not graded:
                return Cells(column.cast("array<bigint>"), "asis", columns[0])
            if isinstance(first.elementType, FractionalType) or graded:
                return Cells(column.cast("array<double>"), "array", columns[0], nulls=first.containsNull, grades=graded)
        if isinstance(first, StringType):
            if not delimiter:
                raise ParameterError(
                    f"{option('labels')}: column {columns[0]!r} is a string; pass {option('label_delimiter', ';')} (what "
                    "stands between its labels)"
                )
            parts = F.transform(F.split(column, _literal(delimiter)), lambda t: F.trim(t))
            return Cells(F.filter(parts, lambda t: t != ""), "asis", columns[0])
    for name in columns:
        if not _is_number(kinds[name]):
            raise DataError(
                f"{option('labels')}: column {name!r} is {kinds[name].simpleString()}"
                f"{_not_a_number(source, name, kinds[name])}; labels are 0/1 columns, or one column of tags, label numbers or "
                "multi-hot vectors"
            )
    return Cells(_gathered(columns), "array", columns[0], columns, grades=graded)


def number_of(name: str, kind: DataType) -> Column:
    """A column of numbers as double, or of texts that are numbers or empty, such as all that a CSV with nothing in a column has.
    `DataError` for another type; an action on another text raises it."""
    column = F.col(quoted(name))
    if isinstance(kind, StringType):
        said = F.concat(F.lit(f"spark_mlfs.errors.DataError: column {name!r} holds "), F.substring(column, 1, 40))
        refused = F.raise_error(F.concat(said, F.lit(", no number; correct it, or leave it empty")))
        return F.when(column.rlike(NUMBER), column).when(F.trim(column) != "", refused).cast("double")
    if not (_is_number(kind) or isinstance(kind, NullType)):
        raise DataError(f"column {name!r} is {kind.simpleString()}, not numeric; cast it first")
    return column.cast("double")


def _not_a_number(source: DataFrame, name: str, kind: DataType) -> str:
    """The first text of a string column that is no number, for the message about the column."""
    if not isinstance(kind, StringType):
        return ""
    column = F.col(quoted(name))
    numeric = column.rlike(NUMBER)
    with reading():
        text = source.where(column.isNotNull() & ~numeric).select(F.substring(column, 1, 41)).head()
    return "" if text is None else f" (it holds {text[0][:40]!r})"


def _literal(text: str) -> str:
    """A Java regular expression for the text itself."""
    return "".join(c if c.isalnum() else "\\" + c for c in text)
