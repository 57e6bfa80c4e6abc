"""Which columns of a table are features, labels, ids and weights, and what may be wrong with a row of them: the same for tables
of Spark's and of this process."""

from __future__ import annotations

import fnmatch
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from ..errors import DataError, ParameterError, as_text, option
from ..frame import UNKNOWN, Kind, LocalFrame, NeedsSpark, kinds_of
from ..kernels.categories import Categories
from ..kernels.missing import REFUSED
from ..lazy import DataFrame, F
from ..schema import attribute_names
from .errors import first_repeated, reading
from .lines import near
from .missing import MISSING_TAKES

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"


PANDAS_INDEX = r"__index_level_\d+__"  # the column that pandas writes its index to


def quoted(name: str) -> str:
    """A column's name as Spark takes it whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


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
            matched = [c for c in matched if not re.fullmatch(PANDAS_INDEX, c)]
            if not matched:
                raise DataError(f"{option(what)}: no column matches {name!r}: {near(name, known)}")
            columns += matched
        else:
            raise DataError(f"{option(what)}: no column {name!r}: {near(name, known)}")
    twice = first_repeated(columns)
    if twice is not None:
        raise ParameterError(f"{option(what)}: column {twice!r} is given twice; give each column once")
    return columns


@dataclass(frozen=True)
class ColumnOfCells:
    """Features or labels as one column of vectors, arrays or texts (parted at `delimiter` into tags), or of several of numbers.
    `form`: "vector", "array" (of double; with `nulls` entries may be null), "asis" (labels encoded later, of Spark's `kind`).
    `names` of the entries, `whole` the columns of large whole numbers."""

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
        """The same labels by other names."""
        if self.form == "array" and self.names:
            raise ParameterError("label_names is for one column of labels; 0/1 columns have names of their own")
        return replace(self, names=list(names))


@dataclass(frozen=True)
class Layout:
    """How columns become the canonical frame; no column of `needed` may lack a value, `id_kind` is the type of the ids."""

    x: ColumnOfCells
    y: ColumnOfCells
    id: str | None
    weight: str | None
    id_kind: Kind | None
    missing: str
    needed: Sequence[str]

    @property
    def hashed(self) -> list[str]:
        """The columns whose hash is the id of a row without one."""
        return [*self.x.columns, *self.y.columns]

    def faults(self, nulls_only: bool) -> list[tuple[str, str]]:
        """Return what may be wrong with a row, and the message; with `nulls_only` only nulls that packing would not see."""
        x, y, row = self.x, self.y, mark("row")
        feature = f"{row}{'feature ' if x.names else ''}{mark('feature')}"
        no_labels = ("no labels", f"{row}column {y.said!r} holds a null instead of labels; drop or fill the row")
        out = [("no id", f"row {mark('place')}: the id column holds a null; fill or drop those rows")]
        if nulls_only:
            return out if y.form == "asis" else [*out, no_labels]
        drop = option("missing", "drop")
        out += [
            ("no features", f"{row}column {x.said!r} holds a null instead of features; pass {drop}"),
            ("infinite", f"{feature} is infinite; make it finite or null"),
        ]
        if self.needed:
            out.append(("needed", f"{row}feature {mark('needed')} {REFUSED}"))
        if self.missing == "error":
            out.append(("missing", f"{feature}: the value is missing; pass {MISSING_TAKES}, or correct the data"))
        if y.form != "asis":
            remedy = (
                "labels are 0, 1 or null (unknown): correct it, or make it 0/1 first (value > 0), or leave the column out of the "
                f"labels, or read grades ({option('graded', True)}; spark-mlfs select --graded-labels)"
            )
            out.append(no_labels)
            if not y.grades:
                out.append(("no label", f"{row}label {mark('label')} is {mark('value')}; {remedy}"))
        return out


def mark(name: str) -> str:
    """Return what stands for a part of a message that the row says."""
    return f"\x01{name}\x01"


def layout_of(source: DataFrame, p: Mapping[str, Any]) -> Layout:
    """Return the layout that the options of `Table` ask for; `ParameterError` or `DataError` for columns that are not there."""
    id_columns, weight_columns = ([] if p[what] is None else columns_of(source, p[what], what) for what in ("id", "weight"))
    for what, columns in (("id", id_columns), ("weight", weight_columns)):
        if len(columns) > 1:
            raise ParameterError(f"{option(what, p[what])} stands for {len(columns)} columns; give one")
    label_columns = columns_of(source, p["labels"], "labels", id_columns + weight_columns)
    feature_columns = columns_of(source, p["features"], "features", id_columns + label_columns + weight_columns)
    both = set(label_columns) & set(feature_columns)
    if both:
        raise ParameterError(f"column {sorted(both)[0]!r} is a feature and a label; it can be only one of them")
    kinds = kinds_of(source)
    other = next((c for c in feature_columns + label_columns + id_columns + weight_columns if kinds[c] == UNKNOWN), None)
    if other is not None:
        raise NeedsSpark(f"column {other!r} is of a type that this process does not read")
    for column in weight_columns:
        if column in feature_columns + label_columns:
            raise ParameterError(f"column {column!r} is the weight and a feature or label; it can be only one of them")
        if not kinds[column].numeric:
            raise ParameterError(f"weight column {column!r} is {kinds[column].name}; give numbers")
    x = _features(source, feature_columns, kinds, p.get("categories", "auto"))
    y = cells_of_labels(source, label_columns, kinds, p["label_delimiter"], p["graded"])
    if p["label_names"] is not None:
        y = y.renamed(p["label_names"])
    id_column, weight = next(iter(id_columns), None), next(iter(weight_columns), None)
    return Layout(x, y, id_column, weight, kinds.get(id_column or ""), p["missing"], p["needed"])


def _features(source: DataFrame, columns: list[str], kinds: Mapping[str, Kind], how: Any) -> ColumnOfCells:
    """Features, among which may be texts and dates as `categories` of the options has them, which `read.categories` sees to."""
    first = kinds[columns[0]]
    if len(columns) == 1 and first.vector:
        return ColumnOfCells(columns, "vector", attribute_names(source, columns[0]))
    if len(columns) == 1 and first.element is not None and first.element.number:
        return ColumnOfCells(columns, "array", nulls=first.nulls, whole=columns if first.element.name == "bigint" else ())
    for name in columns:
        if isinstance(how, Mapping) and "columns" in how:
            fits = name in how["values"] or name in how["dates"]
        else:
            prose = len(columns) == 1 and how in ("auto", {"codes": True})
            fits = kinds[name].date or (kinds[name].text and not prose)
        if not (fits or kinds[name].number):
            told = "features are columns of numbers, texts or dates, or one column of vectors or numeric arrays: leave it out"
            if len(columns) == 1 and kinds[name].text:
                told = f"to count its words {as_text(name)}"
            wrong = f"column {name!r} is {kinds[name].name}{not_a_number(source, name, kinds[name])}"
            raise DataError(f"{option('features')}: {wrong}; {told}")
    whole = [name for name in columns if kinds[name].name == "bigint"]
    return ColumnOfCells(columns, "array", columns, several=True, whole=whole)


def cells_of_labels(
    source: DataFrame, columns: list[str], kinds: Mapping[str, Kind], delimiter: str | None, graded: bool = False
) -> ColumnOfCells:
    """Return how columns become labels; `ParameterError` or `DataError` where they cannot."""
    first = kinds[columns[0]]
    if delimiter is not None and (len(columns) > 1 or not first.text):
        raise ParameterError(f"{option('label_delimiter', delimiter)} is for one string column; {columns[0]!r} is {first.name}")
    if len(columns) == 1:
        if first.vector:
            return ColumnOfCells(columns, "vector", attribute_names(source, columns[0]), grades=graded)
        element = first.element or first
        if graded and not element.number:
            raise ParameterError(
                f"{option('labels')}: column {columns[0]!r} is {first.name}, and grades are numbers: give "
                "numeric columns, a vector or an array of numbers, or leave graded out"
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
                if not _has_rows(source):
                    raise DataError("the data have no rows; check the path and the filters before this step")
                remedy = f"pass {option('label_delimiter', ';')} (what stands between its labels)"
                raise ParameterError(f"{option('labels')}: column {columns[0]!r} is a string; {remedy}")
            return ColumnOfCells(columns, "asis", delimiter=delimiter)
    for name in columns:
        if not kinds[name].number:
            wrong = f"column {name!r} is {kinds[name].name}{not_a_number(source, name, kinds[name])}"
            remedy = "labels are 0/1 columns, or one column of tags, label numbers or multi-hot vectors"
            raise DataError(f"{option('labels')}: {wrong}; {remedy}")
    return ColumnOfCells(columns, "array", columns, grades=graded, several=True)


def _has_rows(source: DataFrame) -> bool:
    if isinstance(source, LocalFrame):
        return any(batch.num_rows for batch in source.batches())
    with reading():
        return source.head() is not None


def not_a_number(source: DataFrame, name: str, kind: Kind) -> str:
    """Return the first text of a string column that is no number, for the message about the column."""
    if not kind.text:
        return ""
    if isinstance(source, LocalFrame):
        cells = (cell for batch in source.select(name).batches() for cell in batch.column(0).to_pylist())
        text = next((cell for cell in cells if cell is not None and not re.match(NUMBER, cell)), None)
        return "" if text is None else f" (it holds {text[:40]!r})"
    column = F.col(quoted(name))
    with reading():
        row = source.where(column.isNotNull() & ~column.rlike(NUMBER)).select(F.substring(column, 1, 41)).head()
    return "" if row is None else f" (it holds {row[0][:40]!r})"
