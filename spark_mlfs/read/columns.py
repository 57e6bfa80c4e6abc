"""Columns of a table as the canonical frame: names and patterns, features, labels, ids.

Beside it what is made of columns by expressions of Spark's, where its own stages score rows."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from ..errors import LARGE_WHOLE, DataError
from ..frames.frame import Kind, LocalFrame, kinds_of
from ..frames.names import columns_of, quoted
from ..frames.schema import ID, LABELS, PACKED_FROM, with_names
from ..frames.stages import mapped
from ..kernels.categories import Categories
from ..lazy import Column, DataFrame, F
from .canonical import CanonicalRows, labels_here
from .csv_files import narrowed
from .fields import with_fields
from .label_cells import composed_there, truth_there
from .layout import (
    DAY,
    NUMBER,
    ColumnOfCells,
    Layout,
    cells_of_labels,
    label_texts,
    layout_of,
    with_categories,
)
from .missing import impute
from .row_hashes import is_hashed

_NAN = float("nan")


def assemble(source: DataFrame, p: Mapping[str, Any]) -> DataFrame:
    """Return ``id, features, labels``, and ``weight`` where it is named, of the columns that the
    options of `Table` name."""
    source, layout = layout_of(source, p)
    x = with_categories(source, layout.x, p.get("categories", "auto"), p["missing"])
    layout = replace(layout, x=x)
    source, layout = _with_hashed_id(source, layout)
    kinds = kinds_of(source)
    kinds = {name: kinds[name] for name in layout.used}
    frame, unchecked = (_canonical(source, layout, kinds, checked) for checked in (True, False))
    frame = impute(
        frame,
        layout.missing,
        x.names,
        settled=layout.missing != "zero" or x.form != "vector",
        categories=x.categories,
    )
    names = layout.y.names
    if names:
        frame, unchecked = (with_names(rows, LABELS, names) for rows in (frame, unchecked))
    if layout.missing in ("error", "drop"):
        setattr(frame, PACKED_FROM, unchecked)
    return frame


def _canonical(
    source: DataFrame,
    layout: Layout,
    kinds: Mapping[str, Kind],
    checked: bool,
) -> Any:
    rows = CanonicalRows(layout, kinds, checked)
    return mapped(source, rows, rows.made, never_null=[ID])


def _with_hashed_id(source: DataFrame, layout: Layout) -> tuple[DataFrame, Layout]:
    """Return a table of Spark's with the hashes of ids in their place, of a type that only Spark
    hashes."""
    kind = layout.id_kind
    if isinstance(source, LocalFrame) or layout.id is None or kind is None or is_hashed(kind):
        return source, layout
    hashes = F.xxhash64(F.col(quoted(layout.id)))
    return source.withColumn(layout.id, hashes), replace(layout, id_kind=Kind("bigint"))


def exact(column: Column, integers: Column, names: Sequence[str]) -> Column:
    """`column`; `DataError` with the column's name where a bigint in the array `integers` becomes
    another as double."""
    wrong = F.transform(
        integers,
        lambda v: F.coalesce(~v.between(-(1 << 53), 1 << 53) & (v % 1024 != 0), F.lit(False)),
    )
    place = F.array_position(wrong, True)
    name = (
        F.element_at(F.split(F.lit("\x00".join(names)), "\x00"), place.cast("int"))
        if len(names) > 1
        else F.lit(names[0])
    )
    message = F.concat(
        F.lit("spark_mlfs.errors.DataError: column '"), name, F.lit(f"' holds {LARGE_WHOLE}")
    )
    return F.when(place > 0, F.raise_error(message)).otherwise(column)


def labels_of(source: DataFrame, p: Mapping[str, Any], called: str) -> tuple[DataFrame, str]:
    """Return a table with its labels as the one column `called`: a vector, array or tags.

    The options `p` are those of `Table`; the labels are named where they have names."""
    source = with_fields(source, {"labels": p["labels"]})
    columns = columns_of(source, p["labels"], "labels")
    source = narrowed(source, None, label_texts(source, columns, p))
    y = cells_of_labels(source, columns, kinds_of(source), p)
    if isinstance(source, LocalFrame):
        frame: Any = labels_here(source, y, called)
    else:
        frame = source.withColumn(called, _labels_there(y))
    return (with_names(frame, called, y.names) if y.names else frame), called


def _labels_there(y: ColumnOfCells) -> Column:
    """Return the labels of a table of Spark's as a column."""

    def number(name: str, kind: Kind) -> Column:
        column = F.col(quoted(name))
        truth = y.truth.get(name)
        return column.cast("double") if truth is None else truth_there(column, truth, kind.text)

    if y.several:
        return cells(y.columns, y.kinds, Categories("", False), number if y.truth else None)
    column = F.col(quoted(y.columns[0]))
    if y.tags is not None:
        return y.tags.column_of_spark(column)
    if y.form == "asis" and not y.kind:
        return composed_there(column)
    kind = "array<double>" if y.form == "array" else y.kind
    return column.cast(kind) if kind else column


def _position(values: Column, value: Column) -> Column:
    """The place of a value in an array, from 1; 0 where it is not. Spark 3.5's own function takes
    no column."""
    return F.call_function("array_position", values, value)


def cells(
    names: Sequence[str],
    kinds: Mapping[str, Kind],
    categories: Categories,
    number: Callable[[str, Kind], Column] | None = None,
) -> Column:
    """The features of columns as an array; a missing number is NaN. `number` of a column of
    numbers."""
    pieces: list[list[Column]] = [[]]
    for place, name in enumerate(names):
        column = F.col(quoted(name))
        if place in categories.values:
            count, lacking = len(categories.values[place]), categories.lacking(place)
            words = F.array(
                *(F.lit(value) for value in categories.values[place] if value is not None)
            )
            index = (_position(words, column.cast("string")) - 1).cast(
                "int"
            )  # -1: a value that training had not
            code = (
                F.when(column.isNull(), F.lit(lacking))
                .when(index < 0, F.lit(float(count)))
                .otherwise(index.cast("double"))
            )
            if categories.codes:
                pieces[-1].append(code)
            else:
                pieces += [[_hot(code, count)], []]
        elif place in categories.dates and kinds[name].date:
            pieces[-1].append(F.coalesce(_days(column, kinds[name]), F.lit(_NAN)))
        else:
            pieces[-1].append(
                F.coalesce(
                    number(name, kinds[name]) if number else column.cast("double"), F.lit(_NAN)
                )
            )
    arrays = [
        piece[0] if number % 2 else F.array(*piece) for number, piece in enumerate(pieces) if piece
    ]
    return F.concat(*arrays) if len(arrays) > 1 else arrays[0]


def _hot(code: Column, count: int) -> Column:
    """0/1 numbers, as many as a category has values."""
    index, zero = code.cast("int"), F.lit(0.0)
    known = F.array_repeat(F.lit(1.0), (index < count).cast("int"))
    hot = F.concat(
        F.array_repeat(zero, index), known, F.array_repeat(zero, F.lit(count - 1) - index)
    )
    return F.when(F.isnan(code), F.array_repeat(F.lit(_NAN), count)).otherwise(hot)


def _days(column: Column, kind: Kind) -> Column:
    if kind.name == "date":
        return F.unix_date(column).cast("double")
    if kind.name == "timestamp":
        return F.unix_micros(column).cast("double") / DAY
    # without a zone there is no point in time: days and time of the day
    seconds = F.hour(column) * 3600 + F.minute(column) * 60
    micros = seconds.cast("bigint") * 1_000_000 + (
        F.date_part(F.lit("SECOND"), column) * 1_000_000
    ).cast("bigint")
    return (F.unix_date(column.cast("date")).cast("bigint") * F.lit(86_400_000_000) + micros).cast(
        "double"
    ) / DAY


def number_of(name: str, kind: Kind) -> Column:
    """A column of numbers, or of texts that are numbers or empty, as double; `DataError` for
    others, of texts on an action."""
    column = F.col(quoted(name))
    if kind.text:
        message = F.concat(
            F.lit(f"spark_mlfs.errors.DataError: column {name!r} holds "),
            F.substring(column, 1, 40),
        )
        refused = F.raise_error(
            F.concat(message, F.lit(", no number; correct it, or leave it empty"))
        )
        return (
            F.when(column.rlike(NUMBER), column).when(F.trim(column) != "", refused).cast("double")
        )
    if not (kind.number or kind.name == "void"):
        raise DataError(f"column {name!r} is {kind.name}, not numeric; cast it first")
    return column.cast("double")
