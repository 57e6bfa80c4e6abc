"""Columns of texts and dates of a table as features (`kernels.categories`), in Spark and in this process.

`categories` says what becomes of a column of texts: ``"onehot"`` 0/1 features, one for each value, ``"codes"`` one feature, which
methods that count take as the category it is and others refuse. ``"auto"``, the default, is ``"onehot"`` (``spark-mlfs select``
takes codes for methods that count), and refuses texts among which are numbers, a single column of texts, which may be prose, and
what has more than 250 different values. A mapping, which a model's ``reader_options`` hold, has later rows read as its training
rows were: a value that was not there is one of its own. The values of all columns are gathered in one pass.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DataError, as_text, option
from ..frame import Batches, Kind, LocalFrame, kinds_of
from ..kernels.categories import MAX_BINS, Categories
from ..lazy import Column, DataFrame, F
from .errors import notice, reading
from .layout import NUMBER, ColumnOfCells, not_a_number, quoted

LONGEST = 200  # letters of a value of a category


@dataclass(frozen=True)
class Facts:
    """What columns stood for in training (`Categories.facts`), or of those alone whether they are codes."""

    def accept(self, value: Any) -> Mapping[str, Any]:
        if isinstance(value, Mapping) and set(value) in ({"codes"}, set(Categories("", False).facts)):
            return value
        raise ValueError

    def __str__(self) -> str:
        return "what a model's reader_options hold"


def with_categories(source: DataFrame, x: ColumnOfCells, how: Any, missing: str) -> ColumnOfCells:
    """Return features of which columns of texts and dates are some, as `how` (see above) says; `DataError` where they cannot."""
    kinds = kinds_of(source)
    given = isinstance(how, Mapping) and "columns" in how
    if not x.several or (not given and all(kinds[name].number for name in x.columns)):
        return x
    if given:
        made = known(how, x.columns, kinds)
        return replace(x, made=made, names=made.names, kinds=kinds)
    auto, codes = how in ("auto", {"codes": True}), how not in ("auto", "onehot")
    made = Categories(missing, codes, columns=x.columns)
    texts = {place: name for place, name in enumerate(x.columns) if kinds[name].text}
    found = _values(source, [*texts.values()]) if texts else []
    for (place, name), values in zip(texts.items(), found, strict=True):
        words, lacking = sorted(value for value in values if value is not None), None in values
        wrong = f"{option('features')}: column {name!r} is {kinds[name].name}"
        number = next((word for word in words if re.match(NUMBER, word)), None)
        if len(words) > MAX_BINS - lacking or any(len(word) > LONGEST for word in words):
            raise DataError(
                f"{wrong}{not_a_number(source, name, kinds[name])} has over {MAX_BINS} different values or {LONGEST} letters: "
                "correct it where it is numbers, join rare values of a category, leave it out, or to count words "
                f"{as_text(name)}"
            )
        if not words:
            raise DataError(f"{wrong} and holds no value; leave it out")
        if auto and number is not None:
            told = f"{not_a_number(source, name, kinds[name])} and holds numbers such as {number!r}: correct it, or"
            raise DataError(f"{wrong}{told}, where it is a category, give {option('categories', 'onehot')}")
        made.values[place] = [*words, None] if lacking and missing in ("mean", "zero") else [*words]
        notice(f"column {name!r} holds texts: it is a category of {len(words)} values")
    made.dates |= {place for place, name in enumerate(x.columns) if kinds[name].date}
    for place in sorted(made.dates):
        notice(f"column {x.columns[place]!r} holds dates: its feature is days since 1970-01-01")
    return replace(x, made=made, names=made.names, kinds=kinds)


def known(facts: Mapping[str, Any], names: Sequence[str], kinds: Mapping[str, Kind]) -> Categories:
    """Return what columns of later rows stand for, as `facts` of the training tell; `DataError` for columns of another kind."""
    made = Categories.of_facts(facts, names)
    for place, name in enumerate(names):
        kind, empty = kinds[name], kinds[name].name == "void"
        if place in made.dates and not (kind.date or empty):
            raise DataError(f"column {name!r} is {kind.name} and held dates in training; give dates")
        if place in made.values and not (kind.text or kind.whole or empty):
            raise DataError(f"column {name!r} is {kind.name} and held texts in training; give texts")
    return made


def _values(source: DataFrame, names: list[str]) -> list[set[str | None]]:
    """The different values of columns of texts: of more than a category has some, each cut behind its first letters."""
    out: list[set[str | None]] = [set() for _ in names]
    if isinstance(source, LocalFrame):
        parts = source.select(*names).each(lambda batches: list(_distinct(batches, names)))
        rows = [row for part in parts for batch in part for row in batch.to_pylist()]
    else:
        frame = source.select(*(F.col(quoted(name)).alias(str(place)) for place, name in enumerate(names)))
        task = partial(_distinct, names=[*map(str, range(len(names)))])
        with reading():  # of more rows than these some column has too many values
            rows = frame.mapInArrow(task, "place int, value string").distinct().limit(len(names) * (MAX_BINS + 2)).collect()
    for row in rows:
        out[row["place"]].add(row["value"])
    return out


def _distinct(batches: Batches, names: Sequence[str]) -> Batches:
    found = [pa.array([], pa.string())] * len(names)
    for batch in batches:
        for place, name in enumerate(names):
            if len(found[place]) <= MAX_BINS + 1:
                cells = pc.utf8_slice_codeunits(
                    batch.column(batch.schema.get_field_index(name)).cast(pa.string()), 0, LONGEST + 1
                )
                found[place] = pc.unique(pa.concat_arrays([found[place], pc.unique(cells)]))[: MAX_BINS + 2]
    places = np.repeat(np.arange(len(names), dtype=np.int32), [*map(len, found)])
    yield pa.RecordBatch.from_arrays([pa.array(places), pa.concat_arrays(found)], ["place", "value"])


# ---- cells ----


def cells_here(columns: Sequence[pa.Array], made: Categories) -> np.ndarray:
    """(n, features) of columns of this process; a missing number is NaN."""
    x = np.empty((len(columns[0]), len(columns)))
    for place, column in enumerate(columns):
        if place in made.values:
            values = made.values[place]
            codes = pc.index_in(column.cast(pa.string()), pa.array([v for v in values if v is not None], pa.string()))
            x[:, place] = codes.fill_null(len(values)).to_numpy(zero_copy_only=False)
            x[np.asarray(column.is_null()), place] = made.lacking(place)
        elif place in made.dates and pa.types.is_timestamp(column.type):
            micros = column.cast(pa.timestamp("us", column.type.tz)).cast(pa.int64()).cast(pa.float64())
            x[:, place] = micros.to_numpy(zero_copy_only=False) / _DAY
        else:
            small = pa.types.is_boolean(column.type) or pa.types.is_date(column.type)
            column = column.cast(pa.int32()) if small else column
            x[:, place] = column.cast(pa.float64()).to_numpy(zero_copy_only=False)
    return made.features(x)


def cells(
    names: Sequence[str], kinds: Mapping[str, Kind], made: Categories, number: Callable[[str, Kind], Column] | None = None
) -> Column:
    """The same as an array of Spark's; `number` of a column of numbers."""
    pieces: list[list[Column]] = [[]]
    for place, name in enumerate(names):
        column = F.col(quoted(name))
        if place in made.values:
            count, lacking = len(made.values[place]), made.lacking(place)
            words = F.array(*(F.lit(value) for value in made.values[place] if value is not None))
            at = (F.array_position(words, column.cast("string")) - 1).cast("int")  # -1: a value that training had not
            code = F.when(column.isNull(), F.lit(lacking)).when(at < 0, F.lit(float(count))).otherwise(at.cast("double"))
            if made.codes:
                pieces[-1].append(code)
            else:
                pieces += [[_hot(code, count)], []]
        elif place in made.dates and kinds[name].date:
            pieces[-1].append(F.coalesce(_days(column, kinds[name]), _NAN()))
        else:
            pieces[-1].append(F.coalesce(number(name, kinds[name]) if number else column.cast("double"), _NAN()))
    arrays = [piece[0] if number % 2 else F.array(*piece) for number, piece in enumerate(pieces) if piece]
    return F.concat(*arrays)


def _hot(code: Column, count: int) -> Column:
    """0/1 numbers, as many as a category has values."""
    at, zero = code.cast("int"), F.lit(0.0)
    known = F.array_repeat(F.lit(1.0), (at < count).cast("int"))
    hot = F.concat(F.array_repeat(zero, at), known, F.array_repeat(zero, F.lit(count - 1) - at))
    return F.when(F.isnan(code), F.array_repeat(_NAN(), count)).otherwise(hot)


def _NAN() -> Column:
    return F.lit(float("nan"))


def _days(column: Column, kind: Kind) -> Column:
    if kind.name == "date":
        return F.unix_date(column).cast("double")
    if kind.name == "timestamp":
        return F.unix_micros(column).cast("double") / _DAY
    # without a zone there is no point in time: days and time of the day
    seconds = F.hour(column) * 3600 + F.minute(column) * 60
    micros = seconds.cast("bigint") * 1_000_000 + (F.date_part(F.lit("SECOND"), column) * 1_000_000).cast("bigint")
    return (F.unix_date(column.cast("date")).cast("bigint") * F.lit(86_400_000_000) + micros).cast("double") / _DAY


_DAY = 86_400e6
