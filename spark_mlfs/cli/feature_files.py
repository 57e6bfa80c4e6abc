"""Files of features that a selection is held to: names, groups, costs, penalties."""

from __future__ import annotations

import csv
import io
from pathlib import Path
from typing import Any

from ..errors import ParameterError
from ..frames.names import first_repeated
from ..params import from_json, text_in
from ..sections import read_toml

MAX_LIST = 1 << 28  # bytes


def read_names(path: str, setting: str) -> list[str] | None:
    """Return the features that a file on this machine lists.

    These are the column ``name`` of a .csv, else a name a line. None for what may be the folder of
    a saved selection; `ParameterError`, which names the `setting`, where nothing of the path is
    there, or it is no such file."""
    file = Path(path)
    if not file.is_file():
        if "://" not in path and not file.exists():
            raise ParameterError(
                f"{setting}: {path} is not there; give a file with a name a line, or the folder of "
                "a selection"
            )
        return None
    if file.suffix.lower() == ".csv":
        return [row["name"] for row in _csv_rows(path, setting, "name")]
    names = [line.rstrip("\r\n") for line in _open_text(path, setting)]
    return [name for name in names if name]


def _open_text(path: str, setting: str) -> io.StringIO:
    try:
        return io.StringIO(text_in(path, MAX_LIST, "list of features"), newline="")
    except (OSError, UnicodeDecodeError) as error:
        reason = error.strerror if isinstance(error, OSError) else "it is not UTF-8"
        raise ParameterError(f"{setting}: {path} cannot be read: {reason}") from None


def _csv_rows(path: str, setting: str, *columns: str) -> list[dict[str, str]]:
    """Return the rows of a .csv, which has these columns, and in every row."""
    reader = csv.DictReader(_open_text(path, setting))
    try:
        if not set(columns) <= set(reader.fieldnames or ()):
            names = " and ".join(map(repr, columns))
            plural = "s" if len(columns) > 1 else ""
            raise ParameterError(
                f"{setting}: {path} needs the column{plural} {names}: name them so in its first "
                "line"
            )
        rows = list(reader)
    except csv.Error as error:
        raise ParameterError(
            f"{setting}: {path}:{reader.line_num} cannot be read as CSV: {error}"
        ) from None
    if any(row[column] is None for row in rows for column in columns):
        raise ParameterError(
            f"{setting}: a row of {path} has too few cells: give it one for every column"
        )
    return rows


def read_mapping(path: str, setting: str, column: str) -> dict[str, Any]:
    """Return the groups, costs or penalties of a file on this machine.

    The file is a table of a .toml or .json, or a .csv with the columns ``name`` and `column`;
    there features of one group are gathered."""
    kind = Path(path).suffix.lower()
    if kind == ".csv":
        rows = _csv_rows(path, setting, "name", column)
        return _groups(rows) if column == "group" else _by_name(rows, path, setting, column)
    if kind == ".toml" and Path(path).is_file():
        return read_toml(path)
    try:
        content = from_json(_open_text(path, setting).read())
    except ValueError as error:
        if isinstance(error, ParameterError):
            raise
        raise ParameterError(
            f"{setting}: {path} cannot be read: give a .toml, .json or .csv"
        ) from None
    if not isinstance(content, dict):
        raise ParameterError(
            f'{setting}: {path} holds no table of names: give one such as {{"name": ...}}'
        )
    return content


def _groups(rows: list[dict[str, str]]) -> dict[str, list[str]]:
    groups: dict[str, list[str]] = {}
    for row in rows:
        if row["group"]:
            groups.setdefault(row["group"], []).append(row["name"])
    return groups


def _by_name(
    rows: list[dict[str, str]],
    path: str,
    setting: str,
    column: str,
) -> dict[str, str]:
    repeated = first_repeated([row["name"] for row in rows])
    if repeated is not None:
        raise ParameterError(f"{setting}: {path} names {repeated!r} twice: leave one")
    return {row["name"]: row[column] for row in rows}
