"""Columns of a table as the canonical frame: names and patterns, features, labels, ids."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from ..errors import LARGE_WHOLE, DataError
from ..frames.frame import Kind, LocalFrame, kinds_of
from ..frames.names import columns_of, quoted
from ..frames.schema import FEATURES, GROUP, ID, LABELS, PACKED_FROM, WEIGHT, with_names
from ..kernels.categories import Categories
from ..lazy import Column, DataFrame, F
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


def assemble(source: DataFrame, p: Mapping[str, Any]) -> DataFrame:
    """Return ``id, features, labels``, and ``weight`` where it is named, of the columns that the
    options of `Table` name."""
    source, layout = layout_of(source, p)
    layout = replace(
        layout, x=with_categories(source, layout.x, p.get("categories", "auto"), p["missing"])
    )
    x, y, missing = layout.x, layout.y, layout.missing
    if isinstance(source, LocalFrame):
        from .local import assembled

        frame, unchecked = (assembled(source, layout, checked) for checked in (True, False))
    else:
        frame, unchecked = _assembled(source, layout)
    frame = impute(
        frame,
        missing,
        x.names,
        settled=missing != "zero" or x.form != "vector",
        categories=x.categories,
    )
    if y.names:
        frame, unchecked = (with_names(rows, LABELS, y.names) for rows in (frame, unchecked))
    if missing in ("error", "drop"):
        setattr(frame, PACKED_FROM, unchecked)
    return frame


def _assembled(source: DataFrame, layout: Layout) -> tuple[DataFrame, DataFrame]:
    """The rows of a frame of Spark's, checked as vectors, and unchecked as packing takes them."""
    x, y, missing = Expressions(layout.x), Expressions(layout.y), layout.missing
    shown = F.lit(None).cast("string")
    if layout.id is None:
        columns = [F.col(quoted(c)) for c in layout.hashed]
        key = F.xxhash64(
            *columns, F.array(*(c.isNull() for c in columns))
        )  # the hash of cells alone passes over nulls
    elif layout.id_kind is not None and layout.id_kind.integer:
        key = F.col(quoted(layout.id)).cast("bigint")
        shown = key.cast("string")
    else:  # a hash names no row to a person: the text it was made of comes along
        key = F.when(F.col(quoted(layout.id)).isNotNull(), F.xxhash64(F.col(quoted(layout.id))))
        shown = F.col(quoted(layout.id)).cast("string")
    rows = source.select(
        F.monotonically_increasing_id().alias(
            "at"
        ),  # its own column, and before any filter: it counts what it is asked for
        key.alias("key"),
        shown.alias("shown"),
        x.column.alias("x"),
        *([_present(layout.needed, layout.x.kinds).alias("needed")] if layout.needed else []),
        y.column.alias("y"),
        *(
            [F.col(quoted(layout.weight)).cast("double").alias("w")]
            if layout.weight is not None
            else []
        ),
        *_groups(source, layout),
    )
    if missing == "drop":
        rows = rows.where(F.col("x").isNotNull() & ~x.lacking("x"))
    unchecked, rows = _checked(rows, layout, nulls_only=True), _checked(rows, layout)
    fill = {
        "zero": 0.0,
        "mean": _NAN,
        "keep": _NAN,
    }.get(missing)
    features, labels = (
        x.as_vectors("x", fill).alias(FEATURES),
        y.as_vectors("y", _NAN).alias(LABELS),
    )
    # which has no null here, and its schema shall say so
    id = (
        F.coalesce("shown", F.lit(""))
        if layout.texts
        else F.coalesce("key", F.lit(0).cast("bigint"))
    ).alias(ID)
    weights = [F.col("w").alias(WEIGHT)] if layout.weight is not None else []
    groups = [F.col(GROUP)] if layout.group is not None else []
    others = [*weights, *groups]
    frame = rows.select(id, features, labels, *others)
    return frame, unchecked.select(id, F.col("x").alias(FEATURES), labels, *others)


def _groups(source: DataFrame, layout: Layout) -> list[Column]:
    """Return the column of groups, as numbers or texts; none where there is none."""
    if layout.group is None:
        return []
    kind = "bigint" if kinds_of(source)[layout.group].integer else "string"
    return [F.col(quoted(layout.group)).cast(kind).alias(GROUP)]


@dataclass(frozen=True)
class Expressions:
    """Features or labels as expressions of Spark's."""

    cells: ColumnOfCells

    @property
    def column(self) -> Column:
        if self.cells.several:
            gathered = cells(
                self.cells.columns,
                self.cells.kinds,
                self.cells.categories or Categories("", False),
                self._label if self.cells.truth else None,
            )
            return (
                exact(
                    gathered,
                    F.array(*map(quoted, self.cells.large_integers)),
                    self.cells.large_integers,
                )
                if self.cells.large_integers
                else gathered
            )
        column = F.col(quoted(self.cells.columns[0]))
        if self.cells.form == "vector":
            return column
        if self.cells.form == "array":
            return (
                exact(column, column, self.cells.large_integers)
                if self.cells.large_integers
                else column
            ).cast("array<double>")
        if self.cells.tags is not None:
            return self.cells.tags.column_of_spark(column)
        return column.cast(self.cells.kind) if self.cells.kind else column

    def _label(self, name: str, kind: Kind) -> Column:
        column = F.col(quoted(name))
        truth = self.cells.truth.get(name)
        return column.cast("double") if truth is None else truth_there(column, truth, kind.text)

    def values(self, column: str) -> Column:
        return (
            F.unwrap_udt(F.col(column)).getField("values")
            if self.cells.form == "vector"
            else F.col(column)
        )

    def as_vectors(self, column: str, fill: float | None) -> Column:
        """The cells of a row as a vector; `fill` in place of null and NaN, None where there are
        none."""
        from pyspark.ml.functions import array_to_vector

        if self.cells.form != "array":
            return F.col(column)
        cells = F.col(column)
        if fill is not None and (fill == 0 or self.cells.nulls):
            filled = F.transform(column, lambda v: F.coalesce(F.nanvl(v, F.lit(fill)), F.lit(fill)))
            cells = F.when(self.lacking(column), filled).otherwise(cells)
        return array_to_vector(cells)

    def lacking(self, column: str) -> Column:
        """Whether an entry of a row is NaN or null. Without a lambda, which Spark interprets value
        by value."""
        values = self.values(column)
        nan = F.coalesce(F.array_contains(values, _NAN), F.lit(False))
        # what is not found in an array is null instead of false where the array holds a null
        return nan | F.array_contains(values, _INFINITY).isNull() if self.cells.nulls else nan

    def infinite(self, column: str) -> Column:
        ends = (F.array_contains(self.values(column), end) for end in (_INFINITY, -_INFINITY))
        above, below = (F.coalesce(contained, F.lit(False)) for contained in ends)
        return above | below

    def slot(self, column: str, wrong: Callable[[Column], Column]) -> Column:
        """The number of the first entry of a row that is wrong, from 0."""
        place = F.array_position(
            F.transform(self.values(column), lambda v: F.coalesce(wrong(v), F.lit(False))), True
        )
        return self._slot_at(column, place)

    def _slot_at(self, column: str, place: Column) -> Column:
        if self.cells.form != "vector":
            return (place - 1).cast("int")
        indices = F.unwrap_udt(F.col(column)).getField("indices")  # of a sparse vector
        return F.coalesce(F.element_at(indices, place.cast("int")), (place - 1).cast("int"))

    def called(self, slot: Column, without: str) -> Column:
        """Return the name of an entry in messages; `without` names its number."""
        if self.cells.names is None or sum(map(len, self.cells.names)) > _LONGEST_NAMES:
            return F.concat(F.lit(without), slot.cast("string"))
        return F.element_at(F.split(F.lit("\n".join(map(repr, self.cells.names))), "\n"), slot + 1)


_NAN, _INFINITY = float("nan"), float("inf")
_LONGEST_NAMES = 1 << 16  # letters of all names that go into a plan, for messages alone


def _checked(rows: DataFrame, layout: Layout, nulls_only: bool = False) -> DataFrame:
    """`rows` (at, key, shown, x, y) as they are; an action on one that cannot be used raises
    `DataError` (`Layout.faults`)."""
    x, y = Expressions(layout.x), Expressions(layout.y)
    number = (F.col("at").bitwiseAND((1 << 33) - 1) + 1).cast("string")
    place = F.concat(number, F.lit(" of part "), F.shiftright("at", 33).cast("string"))
    entry = f"column {x.cells.name!r}, feature "
    parts = {
        "place": place,
        "row": F.concat(F.lit("row "), F.coalesce("shown", place), F.lit(": ")),
    }
    conditions = {
        "no id": F.col("key").isNull(),
        "no features": F.col("x").isNull(),
        "no labels": F.col("y").isNull(),
    }
    wrong: list[tuple[Column, Column]] = []
    for fault, message in layout.faults(nulls_only):
        if fault in ("infinite", "missing"):
            infinite = fault == "infinite"
            conditions[fault] = x.infinite("x") if infinite else x.lacking("x")
            slot = x.slot(
                "x",
                (lambda v: F.abs(v) == _INFINITY)
                if infinite
                else (lambda v: v.isNull() | F.isnan(v)),
            )
            parts["feature"] = x.called(slot, entry)
        elif fault == "needed":
            n = Expressions(
                ColumnOfCells([*layout.needed], "array", [*layout.needed], several=True)
            )
            conditions[fault], parts[fault] = n.lacking(fault), n.called(n.slot(fault, F.isnan), "")
        elif fault == "no label":
            values = y.values("y")
            others = F.array_except(
                values, F.array(F.lit(0.0), F.lit(1.0), F.lit(_NAN), F.lit(None).cast("double"))
            )
            other = F.element_at(others, 1)
            conditions[fault] = F.coalesce(F.size(others) > 0, F.lit(False))
            parts["label"] = y.called(
                y._slot_at("y", _position(values, other)), f"{y.cells.name!r}, position "
            )
            parts["value"] = F.regexp_replace(other.cast("string"), r"\.0$", "")
        pieces = message.split("\x01")
        reason = F.concat(
            *(parts[piece] if k % 2 else F.lit(piece) for k, piece in enumerate(pieces))
        )
        wrong.append((conditions[fault], reason))
    bad, reason = F.lit(False), F.lit(None).cast("string")
    for condition, text in reversed(wrong):
        bad, reason = condition | bad, F.when(condition, text).otherwise(reason)
    raised = F.raise_error(F.concat(F.lit("spark_mlfs.errors.DataError: "), reason))
    return rows.where(F.when(~bad, F.lit(True)).otherwise(raised.isNull()))


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
        from .local import labels_here

        frame: Any = labels_here(source, y, called)
    else:
        column = Expressions(y).column
        if y.form == "asis" and not y.kind and y.tags is None:
            column = composed_there(column)
        frame = source.withColumn(called, column)
    return (with_names(frame, called, y.names) if y.names else frame), called


def _present(columns: Sequence[str], kinds: Mapping[str, Kind]) -> Column:
    """Columns as an array whose entry is NaN where a value is missing."""
    others = {name for name, kind in kinds.items() if not kind.number}
    cells = {name: F.col(quoted(name)) for name in columns}
    numbers = (
        F.when(c.isNotNull(), 0.0) if name in others else c.cast("double")
        for name, c in cells.items()
    )
    return F.array(*(F.coalesce(number, F.lit(_NAN)) for number in numbers))


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
