"""Files of features that a selection is held to: names, groups, costs, penalties."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..frames.errors import first_repeated
from ..params import from_json, text_in
from ..read.sections import read_toml

MAX_LIST = 1 << 28


def read_names(path: str, what: str) -> list[str] | None:
    """The features that a file on this machine lists: the column ``name`` of a .csv, else a name a
    line. None for what may be the folder of a saved selection; `ParameterError` where nothing of
    the path is there, or it is no such file."""
    file = Path(path)
    if not file.is_file():
        if "://" not in path and not file.exists():
            raise ParameterError(
                f"{what}: {path} is not there; give a file with a name a line, or the folder of a "
                "selection"
            )
        return None
    if file.suffix.lower() == ".csv":
        return [row["name"] for row in _rows_in(path, what, "name")]
    return [name for line in _text_in(path, what) if (name := line.rstrip("\r\n"))]


def _text_in(path: str, what: str) -> io.StringIO:
    try:
        return io.StringIO(text_in(path, MAX_LIST, "list of features"), newline="")
    except (OSError, UnicodeDecodeError) as error:
        said = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ParameterError(f"{what}: {path} cannot be read: {said}") from None


def _rows_in(path: str, what: str, *columns: str) -> list[dict[str, str]]:
    """The rows of a .csv, which has these columns, and in every row."""
    rows = csv.DictReader(_text_in(path, what))
    try:
        if not set(columns) <= set(rows.fieldnames or ()):
            need = f"the column{'s' * (len(columns) > 1)} {' and '.join(map(repr, columns))}"
            raise ParameterError(f"{what}: {path} needs {need}: name them so in its first line")
        out = list(rows)
    except csv.Error as error:
        raise ParameterError(
            f"{what}: {path}:{rows.line_num} cannot be read as CSV: {error}"
        ) from None
    if any(row[column] is None for row in out for column in columns):
        raise ParameterError(
            f"{what}: a row of {path} has too few cells: give it one for every column"
        )
    return out


def read_mapping(path: str, what: str, column: str) -> dict[str, Any]:
    """The groups, costs or penalties of a file on this machine: a table of a .toml or .json, or the
    columns ``name`` and `column` of a .csv, where features of one group are gathered."""
    kind = Path(path).suffix.lower()
    if kind == ".csv":
        rows, groups = _rows_in(path, what, "name", column), dict[str, Any]()
        for row in rows if column == "group" else ():
            if row["group"]:
                groups.setdefault(row["group"], []).append(row["name"])
        if (
            column != "group"
            and (twice := first_repeated([row["name"] for row in rows])) is not None
        ):
            raise ParameterError(f"{what}: {path} names {twice!r} twice: leave one")
        return groups if column == "group" else {row["name"]: row[column] for row in rows}
    if kind == ".toml" and Path(path).is_file():
        return read_toml(path)
    try:
        found = from_json(_text_in(path, what).read())
    except ValueError as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            f"{what}: {path} cannot be read: give a .toml, .json or .csv"
        ) from None
    if not isinstance(found, dict):
        raise ParameterError(
            f'{what}: {path} holds no table of names: give one such as {{"name": ...}}'
        )
    return found
