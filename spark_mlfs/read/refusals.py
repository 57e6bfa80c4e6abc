"""What of CSV and JSON files is refused, by Spark and this process alike."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import NoReturn

from ..errors import DataError, option
from ..frames.errors import notice

# what a message says before and after the text of a row of CSV
BAD_CELLS = (
    ": the row '",
    "' has not the {} cells of the header; complete or remove it (quote a cell that holds the "
    "separator)",
)


def check_separator(columns: Sequence[str], where: str, options: Mapping[str, str]) -> None:
    """`DataError` where a CSV has one column whose name holds what must be the separator."""
    if len(columns) != 1 or {"sep", "delimiter"} & {k.lower() for k in options}:
        return
    name = columns[0]
    separator = next((s for s in (";", "\t", "|") if s in name), None)
    if separator is not None and name.replace("\t", " ").isprintable():
        remedy = option("reader_options", {"sep": separator})
        raise DataError(
            f"{where}: one column, {name[:40]!r}, that {separator!r} seems to separate; pass "
            f"{remedy}"
        )


def tell_unnamed(columns: Sequence[str], where: str) -> None:
    """Tell of columns without a name in the header."""
    unnamed = [c for k, c in enumerate(columns) if c == f"_c{k}"]
    if unnamed and len(unnamed) < len(columns):
        notice(
            f"{where}: {len(unnamed)} columns have no name in the header; they are called "
            f"{', '.join(unnamed[:3])} here"
        )


def refuse_headers(headers: Sequence[tuple[str, str]]) -> None:
    """`DataError` where (header, file) are not of one header."""
    first = dict(sorted(headers, key=itemgetter(1), reverse=True))  # of each header the first file
    if len(first) < 2:
        return
    (one, its_file), (other, file) = sorted(first.items(), key=itemgetter(1))[:2]
    k = next(
        (k for k, (a, b) in enumerate(zip(one, other, strict=False)) if a != b),
        min(len(one), len(other)),
    )
    k = max(0, k - 20)
    shown = ["…" * (k > 0) + text[k : k + 60] + "…" * (len(text) > k + 60) for text in (one, other)]
    remedy = "columns are read by their place: give all files one header, or read them apart"
    raise DataError(
        f"{file}: its header {shown[1]!r} is not {shown[0]!r} as in {its_file}; {remedy}"
    )


def refuse_json(where: str, first: str, bad: str | None) -> NoReturn:
    """`DataError` of JSON files whose first line and first bad record, where it is known, are
    these."""
    if first[:1] == "[" or first.strip() == "{":
        remedy = (
            f"pass {option('reader_options', {'multiLine': 'true'})}, or write one record a line"
        )
        raise DataError(f"{where}: JSON over several lines; {remedy}")
    said = (first if bad is None else bad)[:60]
    raise DataError(
        f"{where}: {said!r} is no JSON record; correct or remove the line, or give the format the "
        "file has"
    )
