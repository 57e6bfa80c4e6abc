"""What readers say of data: notices, and what of files is refused by Spark and this process
alike."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from operator import itemgetter
from typing import Any, NoReturn

from ..errors import DataError, DataNotice, option, worker_errors


def notice(text: str) -> None:
    """Warns of `text`, once a process."""
    warnings.warn_explicit(DataNotice(text), None, "spark-mlfs", 0, registry=_told)


_told: dict[Any, Any] = {}

reading = worker_errors  # around whatever a reader asks of Spark


def absent(error: BaseException) -> bool:
    """Whether Spark says that there is nothing at a path."""
    return "PATH_NOT_FOUND" in str(error) or "does not exist" in str(error)


@contextmanager
def unless_absent() -> Iterator[None]:
    """Passes over what Spark says of a path at which there is nothing."""
    try:
        yield
    except Exception as error:
        if not absent(error):
            raise


def first_repeated(names: Sequence[str]) -> str | None:
    """The first name that is there twice."""
    first = {name: place for place, name in reversed(list(enumerate(names)))}
    return next((name for place, name in enumerate(names) if first[name] < place), None)


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
