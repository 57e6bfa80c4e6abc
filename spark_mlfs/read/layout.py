"""Which columns of a table are features, labels, ids and weights, and what may be wrong with rows.

It is the same for tables of Spark's and of this process.

Columns of texts and dates become features as `kernels.categories` says. `categories` says what
becomes of a column of texts: ``"onehot"`` is 0/1 features, one for each value; ``"codes"`` is one
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

from ..errors import DataError, ParameterError, as_text, option, quantity
from ..frames.errors import notice, reading
from ..frames.frame import UNKNOWN, Batches, Kind, Kinds, LocalFrame, NeedsSpark, kinds_of
from ..frames.names import columns_of
from ..frames.schema import attribute_names
from ..frames.stages import LastStage, mapped
from ..frames.tag_texts import parse_tag_text
from ..kernels.categories import MAX_BINS, Categories
from ..kernels.missing import REFUSED
from ..lazy import DataFrame
from ..params import Flag, Parameter, Values
from .csv_files import narrowed
from .dialect import GROUPINGS
from .fields import by_key, with_fields
from .label_cells import Tags, Truth, truth_of
from .missing import MISSING_TAKES

NUMBER = r"^\s*[+-]?(\d+\.?\d*|\.\d+)([eE][+-]?\d+)?\s*$"
LONGEST_KIND = 60  # letters of a type in a message
UNSIGNED = "decimal(20,0)"  # as which whole numbers of 64 bits without a sign are read
DAY = 86_400e6  # microseconds
MISSING_WORDS = ("NA", "N/A", "NaN", "nan", "NULL", "null", "None", "?", "-", ".", "--")


@dataclass(frozen=True)
class ColumnOfCells:
    """Features or labels as one column of vectors, arrays or texts, or as several of numbers.

    `form`: "vector"; "array" (of double); "asis" (labels that are encoded later, of Spark's type
    `kind`)."""

    columns: list[str]
    form: str
    names: Sequence[str] | None = None  # of the entries
    grades: bool = False  # labels that are numbers other than 0 and 1
    several: bool = False
    kind: str = ""
    tags: Tags | None = None  # of a column of texts
    truth: Mapping[str, Truth] = field(default_factory=dict)  # of columns of words for 0 and 1
    large_integers: Sequence[str] = ()  # columns of bigint, which double may not hold
    categories: Categories | None = None  # what columns of texts and dates stand for
    kinds: Kinds = field(default_factory=dict)  # of all columns, with categories

    @property
    def name(self) -> str:
        """Return the column as messages name it."""
        return self.columns[0]

    def renamed(self, names: Sequence[str]) -> ColumnOfCells:
        if self.form == "array" and self.names:
            raise ParameterError(
                f"{option('label_names')} is for one column of labels; 0/1 columns have names of "
                "their own"
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
    """How columns become the canonical frame.

    No column of `needed` may lack a value; `id_kind` is the type of the ids, which are `texts` or
    else numbers."""

    x: ColumnOfCells
    y: ColumnOfCells
    id: str | None
    weight: str | None
    group: str | None
    id_kind: Kind | None
    missing: str
    needed: Sequence[str]
    texts: bool

    @property
    def hashed(self) -> list[str]:
        """Return the columns whose hash is the id of a row without one."""
        return [*self.x.columns, *self.y.columns]

    @property
    def used(self) -> list[str]:
        """Return all columns that rows are made of."""
        others = filter(None, (self.id, self.weight, self.group))
        return list(dict.fromkeys([*self.hashed, *self.needed, *others]))

    def faults(self, nulls_only: bool) -> list[str]:
        """Return all that may be wrong with a row.

        With `nulls_only` only nulls that packing would not see."""
        no_labels = [] if self.y.form == "asis" else ["no labels"]
        if nulls_only:
            return ["no id", *no_labels]
        faults = ["no id", "no features", "infinite"]
        if self.needed:
            faults.append("needed")
        if self.missing == "error":
            faults.append("missing")
        faults += no_labels
        if no_labels and not self.y.grades:
            faults.append("no label")
        return faults

    def message(self, fault: str, slot: int, value: float) -> str:
        """Return what is wrong with an entry of this slot and value, and what to do about it."""
        x = self.x
        y = self.y
        if fault == "no id":
            return "the id column holds a null; fill or drop those rows"
        if fault == "no features":
            remedy = f"pass {option('missing', 'drop')}"
            return f"column {x.name!r} holds a null instead of features; {remedy}"
        if fault == "no labels":
            return f"column {y.name!r} holds a null instead of labels; drop or fill the row"
        if fault == "needed":
            return f"feature {self.needed[slot]!r} {REFUSED}"
        if fault == "no label":
            label = f"{y.name!r}, position {slot}" if y.names is None else repr(y.names[slot])
            number = f"{value!r}".removesuffix(".0")
            remedy = (
                "correct it, or make it 0/1 first (value > 0), or leave the column out of "
                f"the labels, or read grades ({option('graded', True)}; spark-mlfs select "
                "--graded-labels)"
            )
            return f"label {label} is {number}; labels are 0, 1 or null (unknown): {remedy}"
        feature = f"feature {x.names[slot]!r}" if x.names else f"column {x.name!r}, feature {slot}"
        if fault == "infinite":
            return f"{feature} is infinite; make it finite or null"
        return f"{feature}: the value is missing; pass {MISSING_TAKES}, or correct the data"


def layout_of(source: DataFrame, p: Values) -> tuple[DataFrame, Layout]:
    """Return a table with the columns that the options of `Table` use, and their layout.

    Raises `ParameterError` or `DataError` for columns that are not there."""
    p = by_key(source, p)
    source = with_fields(source, p)
    id_column, weight, group = (_single(source, p, role) for role in ("id", "weight", "group"))
    others = [name for name in (id_column, weight, group) if name is not None]
    label_columns = columns_of(source, p["labels"], "labels", others)
    feature_columns = columns_of(source, p["features"], "features", others + label_columns)
    both = set(label_columns) & set(feature_columns)
    if both:
        raise ParameterError(
            f"column {sorted(both)[0]!r} is a feature and a label; it can be only one of them"
        )
    used = [*feature_columns, *label_columns, *others, *p["needed"]]
    source = narrowed(source, used, label_texts(source, label_columns, p))
    kinds = kinds_of(source)
    for name in feature_columns + label_columns + others:
        if kinds[name] == UNKNOWN:
            raise NeedsSpark(f"column {name!r} is of a type that this process does not read")
    if weight is not None:
        if weight in feature_columns + label_columns:
            fault = "is the weight and a feature or label; it can be only one of them"
            raise ParameterError(f"column {weight!r} {fault}")
        if not kinds[weight].numeric:
            raise ParameterError(f"weight column {weight!r} is {kinds[weight].name}; give numbers")
    x = _features(source, feature_columns, kinds, p.get("categories", "auto"))
    y = cells_of_labels(source, label_columns, kinds, p)
    if p["label_names"] is not None:
        y = y.renamed(p["label_names"])
    id_kind = kinds.get(id_column or "")
    texts = bool(p.get(TEXT_IDS.name)) and id_kind is not None and id_kind.text
    return source, Layout(
        x,
        y,
        id_column,
        weight,
        group,
        id_kind,
        p["missing"],
        p["needed"],
        texts,
    )


def label_texts(source: DataFrame, columns: Sequence[str], p: Values) -> list[str]:
    """Return the columns of labels that are read as the texts that they are in the file."""
    if p.get("positive") is not None or p.get("unknown") is not None:
        return [*columns]
    if len(columns) > 1:
        return []
    is_text = kinds_of(source)[columns[0]].text
    return [*columns] if is_text or p.get("label_delimiter") is not None else []


def _single(source: DataFrame, p: Values, role: str) -> str | None:
    """Return the one column that an option names, None where it names none."""
    if p[role] is None:
        return None
    name, *others = columns_of(source, p[role], role)
    if others:
        count = 1 + len(others)
        raise ParameterError(f"{option(role, p[role])} stands for {count} columns; give one")
    return name


def _features(
    source: DataFrame,
    columns: list[str],
    kinds: Kinds,
    categories: Any,
) -> ColumnOfCells:
    """Return how columns become features; `with_categories` then sees to texts and dates."""
    first = kinds[columns[0]]
    if len(columns) == 1 and first.vector:
        return ColumnOfCells(columns, "vector", attribute_names(source, columns[0]))
    if len(columns) == 1 and first.element is not None and first.element.number:
        large_integers = columns if first.element.name == "bigint" else []
        return ColumnOfCells(columns, "array", large_integers=large_integers)
    for name in columns:
        kind = kinds[name]
        if is_from_training(categories):
            fits = name in categories["values"] or name in categories["dates"]
        else:
            prose = len(columns) == 1 and categories in ("auto", {"codes": True})
            fits = kind.date or (kind.text and not prose)
        if fits or kind.number:
            continue
        remedy = (
            "features are columns of numbers, texts or dates, or one column of vectors or "
            "numeric arrays: leave it out"
        )
        if len(columns) == 1 and kind.text:
            (values,) = _values(source, [name])
            _check_dress(name, sorted(value for value in values if value is not None))
            remedy = f"to count its words {as_text(name)}"
        raise _unusable(source, "features", name, kind, remedy)
    large_integers = [name for name in columns if kinds[name].name in ("bigint", UNSIGNED)]
    return ColumnOfCells(
        columns,
        "array",
        columns,
        several=True,
        large_integers=large_integers,
    )


def _unusable(
    source: DataFrame,
    role: str,
    name: str,
    kind: Kind,
    remedy: str,
) -> DataError:
    """Return the error of a column of another type than features or labels have."""
    shown = kind.name  # which may have thousands of fields
    if len(shown) > LONGEST_KIND:
        shown = shown[: LONGEST_KIND - 1] + "…"
    fault = f"column {name!r} is {shown}{not_a_number(source, name, kind)}"
    return DataError(f"{option(role)}: {fault}; {remedy}")


def cells_of_labels(
    source: DataFrame,
    columns: list[str],
    kinds: Kinds,
    p: Values,
) -> ColumnOfCells:
    """Return how columns become labels; `ParameterError` or `DataError` where they cannot."""
    first = kinds[columns[0]]
    delimiter = p.get("label_delimiter")
    graded = bool(p.get("graded"))
    plain = first.text or first.number or first.date
    if delimiter is not None and (len(columns) > 1 or not plain):
        raise ParameterError(
            f"{option('label_delimiter', delimiter)} is for one column of texts; {columns[0]!r} is "
            f"{first.name}"
        )
    if delimiter is not None:
        return ColumnOfCells(columns, "asis", tags=_tags(columns[0], p))
    truth = _truth(source, columns, kinds, p)
    if len(columns) == 1 and not truth:
        labels = _labels_of_one_column(
            source,
            columns,
            first,
            p,
        )
        if labels is not None:
            return labels
    for name in columns:
        kind = kinds[name]
        if not (kind.number or name in truth):
            remedy = (
                "labels are 0/1 columns, or one column of tags, label numbers or multi-hot vectors"
            )
            if kind.text:
                remedy += f"; {option('positive')} says which words are 1"
            if kind.name.startswith("array<struct"):
                remedy = f"name the field that is the tag: give {option('label_key', 'name')}"
            raise _unusable(source, "labels", name, kind, remedy)
    return ColumnOfCells(
        columns,
        "array",
        columns,
        grades=graded,
        several=True,
        truth=truth,
        kinds={name: kinds[name] for name in columns} if truth else {},
    )


_OF_SHELLS = {"\\t": "\t", "\\n": "\n"}  # which write no tab and no line end


def _tags(column: str, p: Values) -> Tags:
    delimiter: str | None = p.get("label_delimiter")
    return Tags(
        column,
        delimiter and _OF_SHELLS.get(delimiter, delimiter),
        p.get("label_key"),
        p.get("empty_tags", "none"),
    )


def _truth(
    source: DataFrame,
    columns: Sequence[str],
    kinds: Kinds,
    p: Values,
) -> dict[str, Truth]:
    """Return what the words in columns of labels stand for, of columns where they stand for it."""
    positive = p.get("positive")
    unknown = p.get("unknown")
    declared = positive is not None or unknown is not None
    worded = [name for name in columns if kinds[name].text or (declared and kinds[name].number)]
    if not worded:
        return {}
    truth: dict[str, Truth] = {}
    for name, values in zip(worded, _values(source, worded), strict=True):
        meanings = truth_of(values, positive, unknown) if len(values) <= MAX_BINS else None
        if meanings:
            truth[name] = meanings
    return truth


def _labels_of_one_column(
    source: DataFrame,
    columns: list[str],
    kind: Kind,
    p: Values,
) -> ColumnOfCells | None:
    """Return how a column that holds all labels of a row is read, None where it is of numbers."""
    name = columns[0]
    graded = bool(p.get("graded"))
    if kind.vector:
        return ColumnOfCells(columns, "vector", attribute_names(source, name), grades=graded)
    element = kind.element or kind
    if graded and not element.number:
        remedy = "give numeric columns, a vector or an array of numbers, or leave graded out"
        raise ParameterError(
            f"{option('labels')}: column {name!r} is {kind.name}, and grades are numbers: {remedy}"
        )
    if kind.element is not None:
        if element.text:
            return ColumnOfCells(columns, "asis")
        if element.integer and not graded:
            return ColumnOfCells(columns, "asis", kind="array<bigint>")
        if element.fractional or graded:
            return ColumnOfCells(columns, "array", grades=graded)
    if not kind.text:
        return None
    text = _first_text(source, name, r"\S", fits=True)
    if text is None:
        raise DataError(
            f"{option('labels')}: column {name!r} holds no value in any row; check the path, the "
            "column and the filters before this step"
        )
    if parse_tag_text(text, p.get("label_key")) is None:
        remedy = (
            f"pass {option('label_delimiter', ';')} (what stands between its labels), or, of one "
            f"label, {option('positive', text[:40])} (which words are 1)"
        )
        raise ParameterError(f"{option('labels')}: column {name!r} is a string; {remedy}")
    return ColumnOfCells(columns, "asis", tags=_tags(name, p))


def _first_text(
    source: DataFrame,
    name: str,
    pattern: str,
    fits: bool,
) -> str | None:
    """Return the first text of a column that a pattern fits, or does not fit."""
    task = partial(_first_cell, pattern=pattern, fits=fits)
    rows = mapped(source, LastStage(task, [name]), {"text": Kind("string")})
    with reading():
        row = next(iter(rows.limit(1).collect()), None)
    return None if row is None else str(row["text"])


def _first_cell(batches: Batches, pattern: str, fits: bool) -> Batches:
    for batch in batches:
        cells = batch.column(0).cast(pa.string()).drop_null()
        cells = cells.filter(pc.equal(pc.match_substring_regex(cells, pattern), fits))
        if len(cells):
            yield pa.RecordBatch.from_arrays([cells[:1]], ["text"])
            return


def not_a_number(source: DataFrame, name: str, kind: Kind) -> str:
    """Return the first text of a string column that is no number, for the message about it."""
    text = _first_text(source, name, NUMBER, fits=False) if kind.text else None
    if text is None:
        return ""
    if text in MISSING_WORDS:  # of a CSV, most often
        remedy = option("na_values", text)
        return f" (it holds {text!r}: if that is missing pass {remedy})"
    return f" (it holds {text[:40]!r})"


# ---- columns of texts and dates ----

LONGEST = 200  # letters of a value of a category


@dataclass(frozen=True)
class Facts:
    """What columns stood for in training (`Categories.facts`), or just whether they are codes."""

    def accept(self, value: Any) -> Mapping[str, Any]:
        keys = ({"codes"}, set(Categories("", False).facts))
        if isinstance(value, Mapping) and set(value) in keys:
            return value
        raise ValueError

    def __str__(self) -> str:
        return "what a model's reader_options hold"


def is_from_training(categories: Any) -> bool:
    """Return whether the option has what columns stood for in training."""
    return isinstance(categories, Mapping) and "columns" in categories


def with_categories(
    source: DataFrame,
    x: ColumnOfCells,
    categories: Any,
    missing: str,
) -> ColumnOfCells:
    """Return features with what their columns of texts and dates stand for.

    `categories` is the option (see the module). Raises `DataError` for a column that cannot be a
    category."""
    kinds = kinds_of(source)
    if not x.several:
        return x
    if is_from_training(categories):
        result = known_categories(categories, x.columns, kinds)
        return replace(x, categories=result, names=result.names, kinds=kinds)
    if all(kinds[name].number for name in x.columns):
        return x
    codes = categories not in ("auto", "onehot")
    result = Categories(missing, codes, columns=x.columns)
    texts = {slot: name for slot, name in enumerate(x.columns) if kinds[name].text}
    values_of = _values(source, [*texts.values()]) if texts else []
    for (slot, name), values in zip(texts.items(), values_of, strict=True):
        words = sorted(value for value in values if value is not None)
        lacking = None in values
        _check_category(
            source,
            name,
            kinds[name],
            words,
            lacking,
            categories,
        )
        result.values[slot] = [*words]
        if lacking and missing in ("mean", "zero"):
            result.values[slot].append(None)
        notice(f"column {name!r} holds texts: it is a category of {quantity(len(words), 'value')}")
    result.dates |= {slot for slot, name in enumerate(x.columns) if kinds[name].date}
    for slot in sorted(result.dates):
        notice(f"column {x.columns[slot]!r} holds dates: its feature is days since 1970-01-01")
    return replace(x, categories=result, names=result.names, kinds=kinds)


def _check_category(
    source: DataFrame,
    name: str,
    kind: Kind,
    words: list[str],
    lacking: bool,
    categories: Any,
) -> None:
    """Raise `DataError` where the values of a column of texts cannot be those of a category."""
    column = f"{option('features')}: column {name!r} is {kind.name}"
    if categories in ("auto", {"codes": True}):
        _check_dress(name, words)
    if len(words) > MAX_BINS - lacking or any(len(word) > LONGEST for word in words):
        remedy = (
            "correct it where it is numbers, join rare values of a category, leave it "
            "out, or to count words"
        )
        raise DataError(
            f"{column}{not_a_number(source, name, kind)} and has over {MAX_BINS} different values "
            f"or {LONGEST} letters: {remedy} {as_text(name)}"
        )
    if not words:
        raise DataError(f"{column} and holds no value; leave it out")
    number = next((word for word in words if re.match(NUMBER, word)), None)
    if categories in ("auto", {"codes": True}) and number is not None:
        are_numbers = all(re.match(NUMBER, word) for word in words)
        remedy = "write them without quotes" if are_numbers else "correct it"
        raise DataError(
            f"{column}{not_a_number(source, name, kind)} and holds numbers such as {number!r}: "
            f"{remedy}, or, where it is a category, give {option('categories', 'onehot')}"
        )


def _check_dress(name: str, words: Sequence[str]) -> None:
    """Raise `DataError` where the values of a column of texts are numbers in dress."""
    dressed = in_dress(words)
    if dressed is not None:
        raise DataError(
            f"{option('features')}: column {name!r} holds {dressed[0]!r}, a number that is not "
            f"read as one: {dressed[1]}; where it is a category, give "
            f"{option('categories', 'onehot')}"
        )


_DIGITS = r"[+-]?(?:\d{1,3}(?:[.,' \u00a0\u202f\u2009\u2019]\d{3})+|\d+)(?:[.,]\d+)?"
_MONEY = r"(?:[$€£¥₹]|EUR|USD|GBP|CHF|JPY)"
_DRESSES = {  # of numbers, with what to do about each
    rf"'{NUMBER[1:-1]}'": "give " + option("quote", "'"),
    rf"{_DIGITS}\s*[%‰]": "write it without the %",
    rf"{_DIGITS}\s*\+": "write it without the +",
    rf"{_DIGITS}\s*\*+": "write it without the *",
    rf"[+-]?{_MONEY}\s*{_DIGITS}|{_DIGITS}\s*{_MONEY}": "write it without the currency",
    rf"\({_DIGITS}\)": "write it with a minus, without the brackets",
    rf"{_DIGITS}|[+-]?,\d+": "",
}
_UNIT = re.compile(
    rf"{_DIGITS}(?:\s?([A-Za-zµμ°Ω]{{1,5}}[23²³]?(?:/[A-Za-z]{{1,3}})?)|\s([A-Za-z]{{3,12}}))"
)
# single letters that are units beside others: codes such as 1a, 2b are none
_ONE_LETTER = {*"gmlLshkKMGT"}
_ORDINALS = {"st", "nd", "rd", "th"}


def in_dress(words: Sequence[str]) -> tuple[str, str] | None:
    """Return a text that is a number with a comma, a sign or a unit, and what to do about it.

    None where there is none; units count where every text has one, and several texts share one."""
    for pattern, remedy in _DRESSES.items():
        for word in words:
            text = word.strip()
            if re.match(NUMBER, text) or not re.fullmatch(pattern, text):
                continue
            return word, remedy or _decimal_remedy(text)
    matches = [_UNIT.fullmatch(word.strip()) for word in words]
    units = {match[1] or match[2] for match in matches if match}
    if len(words) < 2 or not all(matches):
        return None
    if len(units) == 1:
        return words[0], "write it without the unit"
    are_units = all(len(unit) > 1 or unit in _ONE_LETTER for unit in units - _ORDINALS)
    if len(units) < len(words) and are_units and not units & _ORDINALS:
        return words[0], "write all in one unit, without it"
    return None


def _decimal_remedy(text: str) -> str:
    """Return the options by which a text is a number."""
    for sign, signs in GROUPINGS.items():
        text = re.sub(f"[{signs}]", sign, text)
    marks = re.sub(r"[\d+-]", "", text)
    grouped = len(marks) > 1 or re.fullmatch(r"[+-]?[1-9]\d{0,2}[.,' ]\d{3}", text)
    if len({*marks}) > 1:
        return f"give {option('decimal', marks[-1])} and {option('thousands', marks[0])}"
    if grouped and marks[0] != ",":
        return f"give {option('thousands', marks[0])}"
    if grouped:
        return f"give {option('thousands', ',')}, or {option('decimal', ',')}"
    return f"give {option('decimal', ',')}"


def known_categories(facts: Mapping[str, Any], names: Sequence[str], kinds: Kinds) -> Categories:
    """Return what columns of later rows stand for, by the `facts` of the training.

    Raises `DataError` for columns of another kind."""
    categories = Categories.of_facts(facts, names)
    for slot, name in enumerate(names):
        kind = kinds[name]
        empty = kind.name == "void"
        if slot in categories.dates and not (kind.date or empty):
            raise DataError(
                f"column {name!r} is {kind.name} and held dates in training; give dates"
            )
        if slot in categories.values and not (kind.text or kind.integer or empty):
            raise DataError(
                f"column {name!r} is {kind.name} and held texts in training; give texts"
            )
    return categories


def _values(source: DataFrame, names: list[str]) -> list[set[str | None]]:
    """Return the different values of columns of texts, each cut behind its first letters.

    Of a column with more values than a category has, some are returned, enough to see that."""
    values: list[set[str | None]] = [set() for _ in names]
    task = partial(_distinct, names=names)
    rows: Any = mapped(
        source, LastStage(task, names), {"place": Kind("int"), "value": Kind("string")}
    )
    if not isinstance(source, LocalFrame):  # of more rows than these some column has too many
        rows = rows.distinct().limit(len(names) * (MAX_BINS + 2))
    with reading():
        rows = rows.collect()
    for row in rows:
        values[row["place"]].add(row["value"])
    return values


def _distinct(batches: Batches, names: Sequence[str]) -> Batches:
    values = [pa.array([], pa.string())] * len(names)
    for batch in batches:
        for place, name in enumerate(names):
            if len(values[place]) > MAX_BINS + 1:
                continue
            cells = pc.utf8_slice_codeunits(batch[name].cast(pa.string()), 0, LONGEST + 1)
            both = pa.concat_arrays([values[place], pc.unique(cells)])
            values[place] = pc.unique(both)[: MAX_BINS + 2]
    places = np.repeat(np.arange(len(names), dtype=np.int32), [*map(len, values)])
    yield pa.RecordBatch.from_arrays(
        [pa.array(places), pa.concat_arrays(values)], ["place", "value"]
    )
