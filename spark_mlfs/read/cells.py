"""Numbers out of the bytes of many lines at once, by Arrow's reader of CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyarrow import csv

from ..frames.vectors import raw_bytes


class Irregular(Exception):
    """The batch is not of the plain form the fast path reads: read it line by line, which also
    finds the errors."""


def joined(lines: pa.Array, end: str = "\n") -> bytes:
    """Return the lines one after the other, each with its `end`."""
    data, offsets = raw_bytes(pc.binary_join_element_wise(lines, pa.scalar(""), pa.scalar(end)))
    return data[int(offsets[0]) : int(offsets[-1])].tobytes()


def cells(
    data: bytes | np.ndarray,
    types: Mapping[int, pa.DataType],
    width: int,
    separator: str,
    quote: str | bool,
    **nulls: Any,
) -> pa.Table:
    """Return columns of lines of `width` cells in these types; `nulls` as Arrow's
    ``ConvertOptions`` take them."""
    reading = csv.ReadOptions(
        column_names=[*map(str, range(width))], use_threads=False, block_size=len(data) + 2
    )
    wanted = {str(k): kind for k, kind in types.items()}
    converting = csv.ConvertOptions(column_types=wanted, include_columns=[*wanted], **nulls)
    parsing = csv.ParseOptions(delimiter=separator, quote_char=quote)
    return csv.read_csv(pa.BufferReader(pa.py_buffer(data)), reading, parsing, converting)


def known_cells(
    data: bytes, types: Sequence[pa.DataType], separator: str, quote: str | bool = False
) -> pa.Table:
    """Return the columns of lines of cells, ``?`` being null. Raises `Irregular` where they are not
    of these types."""
    try:
        return cells(
            data,
            dict(enumerate(types)),
            len(types),
            separator,
            quote,
            null_values=["?"],
            strings_can_be_null=False,
        )
    except pa.ArrowInvalid:
        raise Irregular from None


def finite(column: pa.ChunkedArray | pa.Array) -> np.ndarray:
    """Return a column of numbers, NaN for null. Raises `Irregular` where one is not finite."""
    values = np.asarray(column)
    if np.isfinite(values).sum() + column.null_count != len(values):
        raise Irregular
    return values


def whole(values: np.ndarray) -> np.ndarray:
    """Return whole numbers as int64. Raises `Irregular` where one is none."""
    with np.errstate(invalid="ignore"):
        as_int = values.astype(np.int64)
    if not (as_int == values).all():
        raise Irregular
    return as_int


def pairs(
    lines: pa.Array, delimiter: str, table: bytes, dropped: bytes = b""
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return row, index and value of every ``index<delimiter>value``, no index twice; `table`: what
    parts pairs is a newline."""
    data = joined(lines, "\r").translate(
        table, dropped
    )  # \r ends a row, \n a pair: both end a line of the CSV
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    for end in (b"\n", b"\r"):
        data = data.replace(end + b" ", end).replace(b" " + end, end)
    data = data.lstrip(b" ")
    raw = np.frombuffer(data, np.uint8)
    ends, marks = np.flatnonzero(raw == 0x0D), np.flatnonzero(raw == ord(delimiter))
    if len(ends) != len(lines):
        raise Irregular
    if not data.strip():
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    found = known_cells(data, [pa.float64(), pa.float64()], delimiter)
    if found.num_rows != len(marks):
        raise Irregular
    row = np.repeat(np.arange(len(lines)), np.diff(np.searchsorted(marks, ends), prepend=0))
    index = whole(finite(found.column(0)))
    if not ((row[1:] > row[:-1]) | (index[1:] > index[:-1])).all():
        order = np.lexsort((index, row))
        if ((np.diff(row[order]) == 0) & (np.diff(index[order]) == 0)).any():
            raise Irregular
    return row, index, finite(found.column(1))


def number(text: str) -> float:
    """One token as a finite float; raises ValueError (Python's own float also takes 1_000, inf and
    nan)."""
    value = float(text)
    if "_" in text or not np.isfinite(value):
        raise ValueError(text)
    return value
