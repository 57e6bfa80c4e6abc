"""Names of columns: those an argument stands for, those that are close to it, those given twice.

A name is taken as it stands in the schema: Spark reads dots, backticks and stars within one, and
takes names that differ only in case for one name. Here alone names become columns of Spark's."""

from __future__ import annotations

import difflib
import fnmatch
import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from operator import eq
from typing import Any, overload

from ..errors import DataError, ParameterError, option
from ..lazy import Column, DataFrame, F
from .frame import kinds_of

WIDE = 1 << 16  # names, from which on those of numbers are no longer written out
MOST_COMPARED = 20_000  # names, with one that is not among them
# columns that pandas writes its index to
PANDAS_INDEX = r"__index_level_\d+__|Unnamed: 0(\.\d+)*"
OBJECTS = "_spark_mlfs_objects"  # the attribute of local frames: types of columns of objects
INDEX = "_spark_mlfs_index"  # the attribute of frames that names columns which only count rows
STAGED = "_spark_mlfs_staged"  # the attribute of frames whose rows `frames.stages` made


class NumberedNames(Sequence[str]):
    """Names of a prefix and the whole numbers from `first` on, each made when it is asked for.

    >>> names = NumberedNames("f", 1, 3)
    >>> names[1], list(names), "f4" in names
    ('f2', ['f1', 'f2', 'f3'], False)"""

    def __init__(self, prefix: str, first: int, count: int) -> None:
        self.prefix = prefix
        self.numbers = range(first, first + count)

    def __len__(self) -> int:
        return len(self.numbers)

    @overload
    def __getitem__(self, place: int) -> str: ...
    @overload
    def __getitem__(self, place: slice) -> list[str]: ...
    def __getitem__(self, place: int | slice) -> str | list[str]:
        if isinstance(place, slice):
            return [f"{self.prefix}{number}" for number in self.numbers[place]]
        return f"{self.prefix}{self.numbers[place]}"

    def __iter__(self) -> Iterator[str]:
        return (f"{self.prefix}{number}" for number in self.numbers)

    def __contains__(self, name: object) -> bool:
        return self._place(name) is not None

    def index(self, name: str, start: int = 0, stop: int | None = None) -> int:
        """Return the place of a name; `ValueError` where there is none."""
        place = self._place(name)
        if place is None or place not in range(len(self))[start:stop]:
            raise ValueError(f"{name!r} is none of the names")
        return place

    def _place(self, name: object) -> int | None:
        if not isinstance(name, str) or not name.startswith(self.prefix):
            return None
        digits = name[len(self.prefix) :]
        if not (digits.isascii() and digits.isdigit() and len(digits) < 20):
            return None
        number = int(digits)
        is_name = str(number) == digits and number in self.numbers
        return self.numbers.index(number) if is_name else None

    def __eq__(self, other: object) -> bool:
        if isinstance(other, NumberedNames):
            return (self.prefix, self.numbers) == (other.prefix, other.numbers)
        if isinstance(other, list):
            return len(self) == len(other) and all(map(eq, self, other))
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]  # it equals lists

    def __repr__(self) -> str:
        return f"NumberedNames({self.prefix!r}, {self.numbers.start}, {len(self)})"


def quoted(name: str) -> str:
    """Return a column's name as Spark takes it whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


def column_named(name: str) -> Column:
    """Return the column of that name, whatever it holds."""
    return F.col(quoted(name))


def picked(frame: DataFrame, names: Mapping[str, str]) -> DataFrame:
    """Return the columns `names`, called as the keys are.

    Those among them, too, that Spark takes for one. Of rows that stages made no other columns are
    made."""
    staged = vars(frame).get(STAGED)
    if staged is not None:
        frame = staged.narrowed(frame, [*names.values()])
    columns = frame.columns
    twins = _twins(columns)
    if any(name.lower() in twins for name in names.values()):
        places = [f"c{place}" for place in range(len(columns))]
        frame = frame.toDF(*places)
        names = {key: places[columns.index(name)] for key, name in names.items()}
    return frame.select(*(column_named(name).alias(key) for key, name in names.items()))


def set_apart(frame: DataFrame, names: Iterable[str]) -> DataFrame:
    """Return `frame` with another name for each column that is one of `names` but for the case.

    Spark takes the two for one. Raises `ParameterError` for two such `names`."""
    names = {*names}
    lower = {name.lower() for name in names}
    if len(lower) < len(names):
        twins = _twins(names)
        first, second = sorted(name for name in names if name.lower() in twins)[:2]
        raise ParameterError(
            f"{first!r} and {second!r} differ only in case, which Spark takes for one column; give "
            "another name to one"
        )
    columns = [
        f"__spark_mlfs_{place}__" if name.lower() in lower and name not in names else name
        for place, name in enumerate(frame.columns)
    ]
    return frame if columns == frame.columns else frame.toDF(*columns)


def with_metadata(frame: Any, name: str, metadata: Mapping[str, Any]) -> Any:
    """Return a frame with the metadata of a column."""
    if not re.search(r"[.`*]", name) or not hasattr(frame, "toDF"):
        out = frame.withMetadata(name, metadata)
        if STAGED in vars(frame):  # the rows are the same
            setattr(out, STAGED, vars(frame)[STAGED])
        return out
    # Spark reads the name as an expression
    columns = list(frame.columns)
    place = columns.index(name)
    plain = [*columns]
    plain[place] = "__spark_mlfs_named__"
    return frame.toDF(*plain).withMetadata(plain[place], metadata).toDF(*columns)


def _twins(columns: Iterable[str]) -> set[str]:
    """Return the names, in small letters, that several columns have but for the case."""
    counts = Counter(name.lower() for name in columns)
    return {name for name, count in counts.items() if count > 1}


def with_attributes(source: Any, out: Any, *others: str) -> Any:
    """Return a frame with what this library notes of another, but for `others`."""
    for name, value in vars(source).items():
        if name.startswith("_spark_mlfs") and name not in others:
            setattr(out, name, value)
    return out


def with_text_names(table: Any) -> Any:
    """Return a pandas frame with its columns' names as text, the cells not copied.

    Anything else as it is."""
    names = getattr(table, "columns", ())
    if all(isinstance(name, str) for name in names):
        return table
    out = table.copy(deep=False)
    out.columns = [str(name) for name in names]
    return out


def columns_of(
    frame: DataFrame,
    columns: str | Sequence[str],
    argument: str,
    exclude: Sequence[str] = (),
) -> list[str]:
    """Return the column names an `argument` stands for: one name, a list, or a pattern with ``*``.

    A pattern stands for no columns of `exclude`."""
    known = frame.columns
    patterns = [columns] if isinstance(columns, str) else list(columns or [])
    if not patterns or not all(isinstance(pattern, str) for pattern in patterns):
        raise ParameterError(
            f"{option(argument, columns)}: give a column name, a list of them or a pattern with *"
        )
    names: list[str] = []
    for pattern in patterns:
        plain = pattern
        if re.fullmatch(r"`(?:[^`]|``)+`", pattern):
            plain = pattern[1:-1].replace("``", "`")
        if pattern in known:
            names.append(pattern)
        elif plain in known:
            names.append(plain)
        else:
            counts_rows = vars(frame).get(INDEX, ())  # on Connect any other name is a column
            others = [*exclude, *counts_rows]
            matched = _matched(pattern, known, others) if "*" in pattern else []
            if not matched:
                fault = f"column matches {pattern!r}" if "*" in pattern else f"column {pattern!r}"
                hint = _inside(frame, pattern) or near(pattern, known)
                raise DataError(f"{option(argument)}: no {fault}: {hint}")
            names += matched
    twice = first_repeated(names)
    if twice is not None:
        raise ParameterError(
            f"{option(argument)}: column {twice!r} is given twice; give each column once"
        )
    return names


def _inside(frame: Any, name: str) -> str | None:
    """Return what to do where a column is a field of objects that hold all rows, or rows lack."""
    if not frame.columns:
        return "there is none: the table holds no record"
    for column, kind in kinds_of(frame).items():
        if re.search(rf"[<,]{re.escape(name)}:", kind.name):
            return (
                f"{column!r} holds objects with it: a field is named by its path, as 'a.b'; where "
                "the objects are the rows, write them alone (pandas' to_json with orient='records')"
            )
    return None


def _matched(pattern: str, known: Sequence[str], exclude: Sequence[str]) -> list[str]:
    """Return the columns that a pattern with ``*`` stands for, but for an index of rows."""
    pattern = pattern.replace("[", "[[]")
    return [
        name
        for name in known
        if fnmatch.fnmatchcase(name, pattern)
        and name not in exclude
        and not re.fullmatch(PANDAS_INDEX, name)
    ]


def near(name: str, known: Iterable[str]) -> str:
    """Return "did you mean …" for an unknown name, or the known names where none is close."""
    known = [str(k)[:80] for k in islice(known, MOST_COMPARED)]
    composed = unicodedata.normalize("NFC", str(name))
    similar = [other for other in known if unicodedata.normalize("NFC", other) == composed]
    if similar and not composed.isascii():
        return f"did you mean {similar[0]!a}, whose letters are composed otherwise?"
    close = closest(str(name), known)
    if close:
        return "did you mean " + " or ".join(map(repr, close)) + "?"
    if not known:
        return "there is none"
    listed = ", ".join(map(repr, known[:12]))
    return f"there are {listed}" + (", …" if len(known) > 12 else "")


def closest(name: str, known: Sequence[str], most: int = 3) -> list[str]:
    """Return the known names close to `name`: those that differ only in case, else others."""
    # A long name is no slip, and among very many names the comparison takes minutes.
    if len(name) > 80:
        return []
    but_for_case = [other for other in known if other.lower() == name.lower()]
    return but_for_case[:most] or difflib.get_close_matches(name, known[:MOST_COMPARED], n=most)


def first_repeated(names: Sequence[str]) -> str | None:
    """Return the name whose second place comes first, None where no name stands twice."""
    if isinstance(names, NumberedNames) or len({*names}) == len(names):
        return None
    different: set[str] = set()
    for name in names:
        if name in different:
            return name
        different.add(name)
    return None
