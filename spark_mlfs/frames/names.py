"""Names of columns: those an argument stands for, those that are close to it, those given twice."""

from __future__ import annotations

import difflib
import fnmatch
import re
from collections.abc import Iterable, Sequence

from ..errors import DataError, ParameterError, option
from ..lazy import DataFrame

PANDAS_INDEX = r"__index_level_\d+__"  # the column that pandas writes its index to


def quoted(name: str) -> str:
    """A column's name as Spark takes it whatever it holds."""
    return "`" + name.replace("`", "``") + "`"


def columns_of(
    frame: DataFrame, wanted: str | Sequence[str], what: str, exclude: Sequence[str] = ()
) -> list[str]:
    """The column names an argument stands for: one name, a list, or a pattern with ``*``."""
    known = frame.columns
    names = [wanted] if isinstance(wanted, str) else list(wanted or [])
    if not names or not all(isinstance(n, str) for n in names):
        raise ParameterError(
            f"{option(what, wanted)}: give a column name, a list of them or a pattern with *"
        )
    columns: list[str] = []
    for name in names:
        plain = name[1:-1].replace("``", "`") if re.fullmatch(r"`(?:[^`]|``)+`", name) else name
        if name in known:
            columns.append(name)
        elif plain in known:
            columns.append(plain)
        elif "*" in name:
            matched = [
                c
                for c in known
                if fnmatch.fnmatchcase(c, name.replace("[", "[[]")) and c not in exclude
            ]
            matched = [c for c in matched if not re.fullmatch(PANDAS_INDEX, c)]
            if not matched:
                raise DataError(f"{option(what)}: no column matches {name!r}: {near(name, known)}")
            columns += matched
        else:
            raise DataError(f"{option(what)}: no column {name!r}: {near(name, known)}")
    twice = first_repeated(columns)
    if twice is not None:
        raise ParameterError(
            f"{option(what)}: column {twice!r} is given twice; give each column once"
        )
    return columns


def near(name: str, known: Iterable[str]) -> str:
    """ "did you mean …" for an unknown name, or the known names where none is close."""
    known = [str(k)[:80] for k in known]
    # A long name is no slip, and among very many names the comparison takes minutes.
    close = (
        difflib.get_close_matches(str(name), known[:20_000], n=3, cutoff=0.6)
        if len(str(name)) <= 80
        else []
    )
    if close:
        return "did you mean " + " or ".join(repr(c) for c in close) + "?"
    if not known:
        return "there is none"
    return (
        "there are " + ", ".join(repr(k) for k in known[:12]) + (", …" if len(known) > 12 else "")
    )


def first_repeated(names: Sequence[str]) -> str | None:
    """The first name that is there twice."""
    first = {name: place for place, name in reversed(list(enumerate(names)))}
    return next((name for place, name in enumerate(names) if first[name] < place), None)
