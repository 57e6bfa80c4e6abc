"""What of CSV and JSON files is refused, by Spark and this process alike."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import NoReturn

from ..errors import DataError, option
from ..frames.errors import notice

# what else than the rows, as data, its to_json writes by orient
_OF_PANDAS = {"schema", "columns", "index", "data", "index_names", "column_names"}


def tell_unnamed(columns: Sequence[str], source: str) -> None:
    """Give notice of columns without a name in the header."""
    unnamed = [c for k, c in enumerate(columns) if c == f"_c{k}"]
    if unnamed and len(unnamed) < len(columns):
        count = "1 column has" if len(unnamed) == 1 else f"{len(unnamed)} columns have"
        called = "it is called" if len(unnamed) == 1 else "they are called"
        shown = ", ".join(unnamed[:3])
        notice(f"{source}: {count} no name in the header; {called} {shown} here")


def refuse_header(
    header: Sequence[str],
    file: str,
    usual: Sequence[str],
    usual_file: str,
    separator: str,
) -> NoReturn:
    """Raise `DataError` for a file whose header, cell by cell, is not that of another."""
    first, second = (
        separator.join(f'"{cell}"' if separator in cell else cell for cell in cells)
        for cells in (header, usual)
    )
    differing = (k for k, (a, b) in enumerate(zip(first, second, strict=False)) if a != b)
    start = max(0, next(differing, min(len(first), len(second))) - 20)
    remedy = "columns are read by their place: give all files one header, or read them apart"
    raise DataError(
        f"{file}: its header {_excerpt(first, start)!r} is not {_excerpt(second, start)!r} as in "
        f"{usual_file}; {remedy}"
    )


def _excerpt(text: str, start: int) -> str:
    """Return 60 letters of a text from `start` on, with marks of what is left out."""
    return "…" * (start > 0) + text[start : start + 60] + "…" * (len(text) > start + 60)


def refuse_some_arrays(array: str, other: str) -> NoReturn:
    """Raise `DataError` where some files of JSON are an array each, and others are not."""
    raise DataError(
        f"{array} is an array of JSON, and {other} has a record a line; read them apart, or write "
        "them alike"
    )


def refuse_json(source: str, first: str, bad: str | None) -> NoReturn:
    """Raise `DataError` of JSON files by their first line and first bad record, where known."""
    if first.strip() == "{":
        remedy = option("reader_options", {"multiLine": "true"})
        raise DataError(
            f"{source}: JSON over several lines; pass {remedy}, or write one record a line"
        )
    record = (first if bad is None else bad)[:60]
    remedy = "correct or remove the line, or give the format the file has"
    if re.match(r"\s*\{\s*'", record):
        remedy = "it is a dict of Python: write it with json.dumps"
    if record.lstrip().startswith("["):
        remedy = 'a row is an object with the names of its columns, such as {"a": 1}'
    raise DataError(f"{source}: {record!r} is no JSON record; {remedy}")


def refuse_one_object(source: str, kinds: Mapping[str, str]) -> None:
    """Raise `DataError` of JSON whose fields, with their types, are those of all rows together."""
    several = [name for name, kind in kinds.items() if re.match("array<(array|struct)<", kind)]
    by_row = all(re.match(r"struct<\d", kind) for kind in kinds.values())
    rows_by_number = all(n.isdigit() and k.startswith("struct<") for n, k in kinds.items())
    of_pandas = several == ["data"] and kinds.keys() <= _OF_PANDAS
    if kinds and (by_row or rows_by_number or of_pandas or len(several) == len(kinds) == 1):
        raise DataError(
            f"{source}: one object holds all rows: write them alone, an object each (pandas' "
            "to_json with orient='records')"
        )


def refuse_more(source: str, line: str) -> NoReturn:
    """Raise `DataError` of a line of JSON on which something stands behind a record."""
    raise DataError(
        f"{source}: {line.strip()[:60]!r} has more than one record, or a comma behind it; write "
        "one record a line, or all as one array"
    )


def twice(source: object) -> DataError:
    """Return the error of JSON in which a field stands twice."""
    return DataError(
        f"{source}: a field of JSON stands twice in a record, or its name differs by case alone; "
        "rename or remove one"
    )
