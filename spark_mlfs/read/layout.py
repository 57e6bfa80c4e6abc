"""Which columns of a table are features, labels, ids and weights, and what may be wrong with a row
of them: the same for tables of Spark's and of this process.

Columns of texts and dates become features as `kernels.categories` says. `categories` says what
becomes of a column of texts: ``"onehot"`` 0/1 features, one for each value, ``"codes"`` one
feature, which methods that count take as the category it is and others refuse. ``"auto"``, the
default, is ``"onehot"`` (``spark-mlfs select`` takes codes for methods that count), and refuses
texts among which are numbers, a single column of texts, which may be prose, and what has more than
250 different values. A mapping, which a model's ``reader_options`` hold, has later rows read as its
training rows were: a value that was not there is one of its own. The values of all columns are
gathered in one pass."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..errors import DataError, ParameterError, as_text, option
from ..frames.errors import notice, reading
from ..frames.frame import UNKNOWN, Batches, Kind, LocalFrame, NeedsSpark, kinds_of
from ..frames.names import columns_of, quoted
from ..frames.schema import attribute_names
from ..kernels.categories import MAX_BINS, Categories
from ..kernels.missing import REFUSED
from ..lazy import DataFrame, F
from ..params import Flag, Parameter
from .missing import MISSING_TAKES

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
DAY = 86_400e6  # microseconds
MISSING_WORDS = ("NA", "N/A", "NaN", "nan", "NULL", "null", "None", "?", "-")


@dataclass(frozen=True)
class ColumnOfCells:
    """Features or labels as one column of vectors, arrays or texts (parted at `delimiter` into
    tags), or of several of numbers. `form`: "vector", "array" (of double; with `nulls` entries may
    be null), "asis" (labels encoded later, of Spark's `kind`). `names` of the entries, `whole` the
    columns of large whole numbers."""

    columns: list[str]
    form: str
    names: list[str] | None = None
    nulls: bool = False
    grades: bool = False  # labels that are numbers other than 0 and 1
    several: bool = False
    kind: str = ""
    delimiter: str | None = None
    whole: Sequence[str] = ()
    made: Categories | None = None  # what columns of texts and dates stand for
    kinds: Mapping[str, Kind] = field(default_factory=dict)  # of all columns, where there are such

    @property
    def said(self) -> str:
        """The column in messages."""
        return self.columns[0]

    def renamed(self, names: Sequence[str]) -> ColumnOfCells:
        if self.form == "array" and self.names:
            raise ParameterError(
                "label_names is for one column of labels; 0/1 columns have names of their own"
            )
        return replace(self, names=list(names))


TEXT_IDS = Parameter(
    "text_ids",
    False,
    Flag(),
    "ids that are texts stay texts, for output; else they become their hashes",
)


@dataclass(frozen=True)
class Layout:
    """How columns become the canonical frame; no column of `needed` may lack a value, `id_kind` is
    the type of the ids, which are `texts` or else numbers."""

    x: ColumnOfCells
    y: ColumnOfCells
    id: str | None
    weight: str | None
    id_kind: Kind | None
    missing: str
    needed: Sequence[str]
    texts: bool

    @property
    def hashed(self) -> list[str]:
        """The columns whose hash is the id of a row without one."""
        return [*self.x.columns, *self.y.columns]

    def faults(self, nulls_only: bool) -> list[tuple[str, str]]:
        """Return what may be wrong with a row, and the message; with `nulls_only` only nulls that
        packing would not see."""
        x, y, row = self.x, self.y, mark("row")
        feature = f"{row}{'feature ' if x.names else ''}{mark('feature')}"
        no_labels = (
            "no labels",
            f"{row}column {y.said!r} holds a null instead of labels; drop or fill the row",
        )
        out = [
            ("no id", f"row {mark('place')}: the id column holds a null; fill or drop those rows")
        ]
        if nulls_only:
            return out if y.form == "asis" else [*out, no_labels]
        drop = option("missing", "drop")
        out += [
            (
                "no features",
                f"{row}column {x.said!r} holds a null instead of features; pass {drop}",
            ),
            ("infinite", f"{feature} is infinite; make it finite or null"),
        ]
        if self.needed:
            out.append(("needed", f"{row}feature {mark('needed')} {REFUSED}"))
        if self.missing == "error":
            out.append(
                (
                    "missing",
                    f"{feature}: the value is missing; pass {MISSING_TAKES}, or correct the data",
                )
            )
        if y.form != "asis":
            remedy = (
                "correct it, or make it 0/1 first (value > 0), or leave the column out of "
                "the labels, or read grades"
            )
            remedy += f" ({option('graded', True)}; spark-mlfs select --graded-labels)"
            out.append(no_labels)
            if not y.grades:
                out.append(
                    (
                        "no label",
                        f"{row}label {mark('label')} is {mark('value')}; labels are 0, 1 or null "
                        f"(unknown): {remedy}",
                    )
                )
        return out


def mark(name: str) -> str:
    """Return what stands for a part of a message that the row says."""
    return f"\x01{name}\x01"


def layout_of(source: DataFrame, p: Mapping[str, Any]) -> Layout:
    """Return the layout that the options of `Table` ask for; `ParameterError` or `DataError` for
    columns that are not there."""
    id_columns, weight_columns = (
        [] if p[what] is None else columns_of(source, p[what], what) for what in ("id", "weight")
    )
    for what, columns in (("id", id_columns), ("weight", weight_columns)):
        if len(columns) > 1:
            raise ParameterError(
                f"{option(what, p[what])} stands for {len(columns)} columns; give one"
            )
    label_columns = columns_of(source, p["labels"], "labels", id_columns + weight_columns)
    feature_columns = columns_of(
        source, p["features"], "features", id_columns + label_columns + weight_columns
    )
    both = set(label_columns) & set(feature_columns)
    if both:
        raise ParameterError(
            f"column {sorted(both)[0]!r} is a feature and a label; it can be only one of them"
        )
    kinds = kinds_of(source)
    other = next(
        (
            c
            for c in feature_columns + label_columns + id_columns + weight_columns
            if kinds[c] == UNKNOWN
        ),
        None,
    )
    if other is not None:
        raise NeedsSpark(f"column {other!r} is of a type that this process does not read")
    for column in weight_columns:
        if column in feature_columns + label_columns:
            raise ParameterError(
                f"column {column!r} is the weight and a feature or label; it can be only one of "
                "them"
            )
        if not kinds[column].numeric:
            raise ParameterError(f"weight column {column!r} is {kinds[column].name}; give numbers")
    x = _features(source, feature_columns, kinds, p.get("categories", "auto"))
    y = cells_of_labels(source, label_columns, kinds, p["label_delimiter"], p["graded"])
    if p["label_names"] is not None:
        y = y.renamed(p["label_names"])
    id_column, weight = next(iter(id_columns), None), next(iter(weight_columns), None)
    id_kind = kinds.get(id_column or "")
    texts = bool(p.get(TEXT_IDS.name)) and id_kind is not None and id_kind.text
    return Layout(x, y, id_column, weight, id_kind, p["missing"], p["needed"], texts)


def _features(
    source: DataFrame, columns: list[str], kinds: Mapping[str, Kind], how: Any
) -> ColumnOfCells:
    """Features, among which may be texts and dates as `categories` of the options has them, which
    `with_categories` sees to."""
    first = kinds[columns[0]]
    if len(columns) == 1 and first.vector:
        return ColumnOfCells(columns, "vector", attribute_names(source, columns[0]))
    if len(columns) == 1 and first.element is not None and first.element.number:
        return ColumnOfCells(
            columns,
            "array",
            nulls=first.nulls,
            whole=columns if first.element.name == "bigint" else (),
        )
    for name in columns:
        if isinstance(how, Mapping) and "columns" in how:
            fits = name in how["values"] or name in how["dates"]
        else:
            prose = len(columns) == 1 and how in ("auto", {"codes": True})
            fits = kinds[name].date or (kinds[name].text and not prose)
        if not (fits or kinds[name].number):
            told = (
                "features are columns of numbers, texts or dates, or one column of vectors or "
                "numeric arrays: leave it out"
            )
            if len(columns) == 1 and kinds[name].text:
                told = f"to count its words {as_text(name)}"
            wrong = (
                f"column {name!r} is {kinds[name].name}{not_a_number(source, name, kinds[name])}"
            )
            raise DataError(f"{option('features')}: {wrong}; {told}")
    whole = [name for name in columns if kinds[name].name == "bigint"]
    return ColumnOfCells(columns, "array", columns, several=True, whole=whole)


def cells_of_labels(
    source: DataFrame,
    columns: list[str],
    kinds: Mapping[str, Kind],
    delimiter: str | None,
    graded: bool = False,
) -> ColumnOfCells:
    """Return how columns become labels; `ParameterError` or `DataError` where they cannot."""
    first = kinds[columns[0]]
    if delimiter is not None and (len(columns) > 1 or not first.text):
        raise ParameterError(
            f"{option('label_delimiter', delimiter)} is for one string column; {columns[0]!r} is "
            f"{first.name}"
        )
    if len(columns) == 1:
        if first.vector:
            return ColumnOfCells(
                columns, "vector", attribute_names(source, columns[0]), grades=graded
            )
        element = first.element or first
        if graded and not element.number:
            remedy = "give numeric columns, a vector or an array of numbers, or leave graded out"
            raise ParameterError(
                f"{option('labels')}: column {columns[0]!r} is {first.name}, and grades are "
                f"numbers: {remedy}"
            )
        if first.element is not None:
            if element.text:
                return ColumnOfCells(columns, "asis")
            if element.whole and not graded:
                return ColumnOfCells(columns, "asis", kind="array<bigint>")
            if element.fractional or graded:
                return ColumnOfCells(columns, "array", nulls=first.nulls, grades=graded)
        if first.text:
            if not delimiter:
                with reading():
                    empty = not source.limit(1).count()
                if empty:
                    raise DataError(
                        "the data have no rows; check the path and the filters before this step"
                    )
                remedy = f"pass {option('label_delimiter', ';')} (what stands between its labels)"
                raise ParameterError(
                    f"{option('labels')}: column {columns[0]!r} is a string; {remedy}"
                )
            return ColumnOfCells(columns, "asis", delimiter=delimiter)
    for name in columns:
        if not kinds[name].number:
            wrong = (
                f"column {name!r} is {kinds[name].name}{not_a_number(source, name, kinds[name])}"
            )
            remedy = (
                "labels are 0/1 columns, or one column of tags, label numbers or multi-hot vectors"
            )
            raise DataError(f"{option('labels')}: {wrong}; {remedy}")
    return ColumnOfCells(columns, "array", columns, grades=graded, several=True)


def not_a_number(source: DataFrame, name: str, kind: Kind) -> str:
    """Return the first text of a string column that is no number, for the message about the
    column."""
    if not kind.text:
        return ""
    if isinstance(source, LocalFrame):
        cells = (
            cell for batch in source.select(name).batches() for cell in batch.column(0).to_pylist()
        )
        text = next(
            (cell for cell in cells if cell is not None and not re.match(NUMBER, cell)), None
        )
    else:
        column = F.col(quoted(name))
        with reading():
            row = (
                source.where(column.isNotNull() & ~column.rlike(NUMBER))
                .select(F.substring(column, 1, 41))
                .head()
            )
        text = None if row is None else row[0]
    if text in MISSING_WORDS:  # of a CSV, most often
        return (
            f" (it holds {text!r}: if that is missing pass "
            f"{option('reader_options', {'nullValue': text})})"
        )
    return "" if text is None else f" (it holds {text[:40]!r})"


# ---- columns of texts and dates ----

LONGEST = 200  # letters of a value of a category


@dataclass(frozen=True)
class Facts:
    """What columns stood for in training (`Categories.facts`), or of those alone whether they are
    codes."""

    def accept(self, value: Any) -> Mapping[str, Any]:
        if isinstance(value, Mapping) and set(value) in (
            {"codes"},
            set(Categories("", False).facts),
        ):
            return value
        raise ValueError

    def __str__(self) -> str:
        return "what a model's reader_options hold"


def with_categories(source: DataFrame, x: ColumnOfCells, how: Any, missing: str) -> ColumnOfCells:
    """Return features of which columns of texts and dates are some, as `how` (see above) says;
    `DataError` where they cannot."""
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
            wrong += (
                f"{not_a_number(source, name, kinds[name])} and has over {MAX_BINS} "
                f"different values or {LONGEST} letters"
            )
            remedy = (
                "correct it where it is numbers, join rare values of a category, leave it "
                "out, or to count words"
            )
            raise DataError(f"{wrong}: {remedy} {as_text(name)}")
        if not words:
            raise DataError(f"{wrong} and holds no value; leave it out")
        if auto and number is not None:
            told = (
                f"{not_a_number(source, name, kinds[name])} and holds numbers such as "
                f"{number!r}: correct it, or"
            )
            raise DataError(
                f"{wrong}{told}, where it is a category, give {option('categories', 'onehot')}"
            )
        made.values[place] = [*words, None] if lacking and missing in ("mean", "zero") else [*words]
        notice(f"column {name!r} holds texts: it is a category of {len(words)} values")
    made.dates |= {place for place, name in enumerate(x.columns) if kinds[name].date}
    for place in sorted(made.dates):
        notice(f"column {x.columns[place]!r} holds dates: its feature is days since 1970-01-01")
    return replace(x, made=made, names=made.names, kinds=kinds)


def known(facts: Mapping[str, Any], names: Sequence[str], kinds: Mapping[str, Kind]) -> Categories:
    """Return what columns of later rows stand for, as `facts` of the training tell; `DataError` for
    columns of another kind."""
    made = Categories.of_facts(facts, names)
    for place, name in enumerate(names):
        kind, empty = kinds[name], kinds[name].name == "void"
        if place in made.dates and not (kind.date or empty):
            raise DataError(
                f"column {name!r} is {kind.name} and held dates in training; give dates"
            )
        if place in made.values and not (kind.text or kind.whole or empty):
            raise DataError(
                f"column {name!r} is {kind.name} and held texts in training; give texts"
            )
    return made


def _values(source: DataFrame, names: list[str]) -> list[set[str | None]]:
    """The different values of columns of texts: of more than a category has some, each cut behind
    its first letters."""
    out: list[set[str | None]] = [set() for _ in names]
    if isinstance(source, LocalFrame):
        parts = source.select(*names).each(lambda batches: list(_distinct(batches, names)))
        rows = [row for part in parts for batch in part for row in batch.to_pylist()]
    else:
        frame = source.select(
            *(F.col(quoted(name)).alias(str(place)) for place, name in enumerate(names))
        )
        task = partial(_distinct, names=[*map(str, range(len(names)))])
        with reading():  # of more rows than these some column has too many values
            rows = (
                frame.mapInArrow(task, "place int, value string")
                .distinct()
                .limit(len(names) * (MAX_BINS + 2))
                .collect()
            )
    for row in rows:
        out[row["place"]].add(row["value"])
    return out


def _distinct(batches: Batches, names: Sequence[str]) -> Batches:
    found = [pa.array([], pa.string())] * len(names)
    for batch in batches:
        for place, name in enumerate(names):
            if len(found[place]) <= MAX_BINS + 1:
                cells = pc.utf8_slice_codeunits(batch[name].cast(pa.string()), 0, LONGEST + 1)
                found[place] = pc.unique(pa.concat_arrays([found[place], pc.unique(cells)]))[
                    : MAX_BINS + 2
                ]
    places = np.repeat(np.arange(len(names), dtype=np.int32), [*map(len, found)])
    yield pa.RecordBatch.from_arrays(
        [pa.array(places), pa.concat_arrays(found)], ["place", "value"]
    )
