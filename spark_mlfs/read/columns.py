"""Columns of a table as the canonical frame: names and patterns, features, labels, ids."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
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
)

from ..errors import LARGE_WHOLE, DataError, ParameterError, as_text, option
from ..kernels.missing import REFUSED
from ..schema import FEATURES, ID, LABELS, WEIGHT, attribute_names, with_names, with_packed_from
from .errors import first_repeated, reading
from .lines import near
from .missing import MISSING_TAKES, impute

if TYPE_CHECKING:
    pass

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


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
class ColumnOfCells:
    """Features or labels as one column. `form`: "vector", "array" (of double; with `nulls` some entries may be null), or "asis"
    (labels that are encoded later). `said` names the column in messages, `names` its entries."""

    column: Column
    form: str
    said: str
    names: list[str] | None = None
    nulls: bool = False
    grades: bool = False  # labels that are numbers other than 0 and 1

    def renamed(self, names: Sequence[str]) -> ColumnOfCells:
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
    rows: DataFrame, x: ColumnOfCells, y: ColumnOfCells, missing: str, nulls_only: bool = False, needed: Sequence[str] = ()
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
        n = ColumnOfCells(F.col("needed"), "array", needed[0], [*needed])
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


def _features(source: DataFrame, columns: list[str], kinds: dict[str, DataType]) -> ColumnOfCells:
    first = kinds[columns[0]]
    if len(columns) == 1 and isinstance(first, VectorUDT):
        return ColumnOfCells(F.col(quoted(columns[0])), "vector", columns[0], attribute_names(source, columns[0]))
    if len(columns) == 1 and isinstance(first, ArrayType) and _is_number(first.elementType):
        column = F.col(quoted(columns[0]))
        if isinstance(first.elementType, LongType):
            column = exact(column, column, columns)
        return ColumnOfCells(column.cast("array<double>"), "array", columns[0], nulls=first.containsNull)
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
    return ColumnOfCells(
        exact(gathered, F.array(*map(quoted, large)), large) if large else gathered, "array", columns[0], columns
    )


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
) -> ColumnOfCells:
    first, column = kinds[columns[0]], F.col(quoted(columns[0]))
    if delimiter is not None and (len(columns) > 1 or not isinstance(first, StringType)):
        raise ParameterError(
            f"{option('label_delimiter', delimiter)} is for one string column; {columns[0]!r} is {first.simpleString()}"
        )
    if len(columns) == 1:
        if isinstance(first, VectorUDT):
            return ColumnOfCells(column, "vector", columns[0], attribute_names(source, columns[0]), grades=graded)
        element = first.elementType if isinstance(first, ArrayType) else first
        if graded and not _is_number(element):
            raise ParameterError(
                f"{option('labels')}: column {columns[0]!r} is {first.simpleString()}, and grades are numbers: give "
                "numeric columns, a vector or an array of numbers, or leave graded out"
            )
        if isinstance(first, ArrayType):
            if isinstance(first.elementType, StringType):
                return ColumnOfCells(column, "asis", columns[0])
            if isinstance(first.elementType, IntegralType) and not graded:
                return ColumnOfCells(column.cast("array<bigint>"), "asis", columns[0])
            if isinstance(first.elementType, FractionalType) or graded:
                return ColumnOfCells(column.cast("array<double>"), "array", columns[0], nulls=first.containsNull, grades=graded)
        if isinstance(first, StringType):
            if not delimiter:
                raise ParameterError(
                    f"{option('labels')}: column {columns[0]!r} is a string; pass {option('label_delimiter', ';')} (what "
                    "stands between its labels)"
                )
            parts = F.transform(F.split(column, _literal(delimiter)), lambda t: F.trim(t))
            return ColumnOfCells(F.filter(parts, lambda t: t != ""), "asis", columns[0])
    for name in columns:
        if not _is_number(kinds[name]):
            raise DataError(
                f"{option('labels')}: column {name!r} is {kinds[name].simpleString()}"
                f"{_not_a_number(source, name, kinds[name])}; labels are 0/1 columns, or one column of tags, label numbers or "
                "multi-hot vectors"
            )
    return ColumnOfCells(_gathered(columns), "array", columns[0], columns, grades=graded)


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
