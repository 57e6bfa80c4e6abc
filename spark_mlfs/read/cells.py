"""Numbers out of the bytes of many lines at once, by Arrow's reader of CSV."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy import ndarray
from pyarrow import csv

from ..frames.vectors import raw_bytes

Types = Mapping[int, pa.DataType]  # of columns, by place


class Irregular(Exception):
    """A batch that is not of the plain form the fast path reads.

    It is then read line by line, which also finds the errors."""


def joined(lines: pa.Array, end: str = "\n") -> bytes:
    """Return the lines one after the other, each with its `end`."""
    nothing, ending = pa.scalar(b"", lines.type), pa.scalar(end.encode(), lines.type)
    data, _ = raw_bytes(pc.binary_join_element_wise(lines, nothing, ending))
    return data.tobytes()


def cells(
    data: bytes | ndarray,
    types: Types,
    width: int,
    separator: str,
    quote: str | bool,
    **conversion: Any,
) -> pa.Table:
    """Return columns of records of `width` cells in these types.

    `conversion` is what Arrow's ``ConvertOptions`` take."""
    reading = csv.ReadOptions(
        column_names=[*map(str, range(width))], use_threads=False, block_size=len(data) + 2
    )
    columns = {str(k): kind for k, kind in types.items()}
    converting = csv.ConvertOptions(column_types=columns, include_columns=[*columns], **conversion)
    parsing = csv.ParseOptions(delimiter=separator, quote_char=quote, newlines_in_values=True)
    return csv.read_csv(pa.BufferReader(pa.py_buffer(data)), reading, parsing, converting)


def known_cells(
    data: bytes,
    types: Sequence[pa.DataType],
    separator: str,
    quote: str | bool = False,
) -> pa.Table:
    """Return the columns of lines of cells, ``?`` being null.

    Raises `Irregular` where they are not of these types."""
    columns = dict(enumerate(types))
    nulls: dict[str, Any] = {"null_values": ["?"], "strings_can_be_null": False}
    try:
        return cells(
            data,
            columns,
            len(types),
            separator,
            quote,
            **nulls,
        )
    except pa.ArrowInvalid:
        raise Irregular from None


def finite(column: pa.ChunkedArray | pa.Array) -> ndarray:
    """Return a column of numbers, NaN for null. Raises `Irregular` where one is not finite."""
    values = np.asarray(column)
    if np.isfinite(values).sum() + column.null_count != len(values):
        raise Irregular
    return values


def as_integers(values: ndarray) -> ndarray:
    """Return whole numbers as int64. Raises `Irregular` where one is none."""
    with np.errstate(invalid="ignore"):
        as_int = values.astype(np.int64)
    if not (as_int == values).all():
        raise Irregular
    return as_int


def pairs(
    lines: pa.Array,
    delimiter: str,
    table: bytes,
    dropped: bytes = b"",
) -> tuple[ndarray, ndarray, ndarray]:
    """Return row, index and value of every ``index<delimiter>value``.

    `table` translates what parts pairs to a newline; `dropped` bytes go. Raises `Irregular` where
    an index stands twice in a row."""
    # \r ends a row, \n a pair: both end a line of the CSV
    data = joined(lines, "\r").translate(table, dropped)
    while b"  " in data:
        data = data.replace(b"  ", b" ")
    for end in (b"\n", b"\r"):
        data = data.replace(end + b" ", end).replace(b" " + end, end)
    data = data.lstrip(b" ")
    raw = np.frombuffer(data, np.uint8)
    ends = np.flatnonzero(raw == 0x0D)
    marks = np.flatnonzero(raw == ord(delimiter))
    if len(ends) != len(lines):
        raise Irregular
    if not data.strip():
        return np.empty(0, np.int64), np.empty(0, np.int64), np.empty(0)
    columns = known_cells(data, [pa.float64(), pa.float64()], delimiter)
    if columns.num_rows != len(marks):
        raise Irregular
    pairs_by_row = np.diff(np.searchsorted(marks, ends), prepend=0)
    row = np.repeat(np.arange(len(lines)), pairs_by_row)
    index = as_integers(finite(columns.column(0)))
    later_row = row[1:] > row[:-1]
    larger_index = index[1:] > index[:-1]
    if not (later_row | larger_index).all():
        order = np.lexsort((index, row))
        repeated = (np.diff(row[order]) == 0) & (np.diff(index[order]) == 0)
        if repeated.any():
            raise Irregular
    return row, index, finite(columns.column(1))


def number(text: str) -> float:
    """Return one token as a finite float; raises ValueError.

    Python's own float also takes 1_000, inf and nan."""
    value = float(text)
    if "_" in text or not np.isfinite(value):
        raise ValueError(text)
    return value
