"""Names of columns: those an argument stands for, those that are close to it, those given twice."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Iterable, Sequence

from ..errors import DataError, ParameterError, option
from ..lazy import DataFrame

# columns that pandas writes its index to
PANDAS_INDEX = r"__index_level_\d+__|Unnamed: 0(\.\d+)*"
INDEX = "_spark_mlfs_index"  # the attribute of frames that names columns which only count rows


def quoted(name: str) -> str:
    """Return a column's name as Spark takes it whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


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
                raise DataError(f"{option(argument)}: no {fault}: {near(pattern, known)}")
            names += matched
    twice = first_repeated(names)
    if twice is not None:
        raise ParameterError(
            f"{option(argument)}: column {twice!r} is given twice; give each column once"
        )
    return names


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
    name = str(name)
    known = [str(k)[:80] for k in known]
    close: list[str] = []
    # A long name is no slip, and among very many names the comparison takes minutes.
    if len(name) <= 80:
        close = difflib.get_close_matches(name, known[:20_000], n=3, cutoff=0.6)
    if close:
        return "did you mean " + " or ".join(map(repr, close)) + "?"
    if not known:
        return "there is none"
    listed = ", ".join(map(repr, known[:12]))
    return f"there are {listed}" + (", …" if len(known) > 12 else "")


def first_repeated(names: Sequence[str]) -> str | None:
    """Return the name whose second place comes first, None where no name stands twice."""
    different: set[str] = set()
    for name in names:
        if name in different:
            return name
        different.add(name)
    return None
