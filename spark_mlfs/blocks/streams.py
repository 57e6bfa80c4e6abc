"""Tables of Arrow, which may come batch by batch: read once, numbers in the narrowest type."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy import ndarray

from ..frames.tables import unlazy
from .tables import narrowest, numbers

ROWS = 1 << 16  # of a batch, where the stream takes a wish
RUN_BYTES = 8 << 20  # of the rows that become a chunk: what is made of one is several times that


@dataclass
class NumberTable:
    """Rows of several columns of numbers: (n, d) in `chunks` of rows, NaN where one is null.

    The chunks are read once, when they are asked for; `empty`: there are none."""

    names: list[str]
    chunks: Iterable[ndarray]
    empty: bool

    def frame(self) -> pd.DataFrame:
        """Return all rows as one frame."""
        chunks = [np.zeros((0, len(self.names)), np.uint8), *self.chunks]
        return pd.DataFrame(np.concatenate(chunks), columns=self.names)


def as_frame(values: Any, name: str = "Y") -> Any:
    """Return rows as `as_table` does, numbers as a frame, too."""
    table = as_table(values, name)
    return table.frame() if isinstance(table, NumberTable) else table


def as_table(values: Any, name: str = "X") -> Any:
    """Return rows as a frame: of Arrow, or what streams it, of several numbers a `NumberTable`.

    Else pandas', lazy ones of Polars collected. A single column of Arrow that is no number as it
    is; anything else, too. Errors call them `name`."""
    lazy = type(values).__module__.partition(".")[0] == "polars"
    stream = _stream_of(values)
    if stream is None:
        return unlazy(values) if lazy else values
    schema, batches = stream
    if _are_numbers(schema):
        chunks = _narrow_chunks(schema, batches, name)
        begun = [*itertools.islice(chunks, 1)]
        names = [str(column) for column in schema.names]
        return NumberTable(names, itertools.chain(_handed_on(begun), chunks), not begun)
    if len(schema) == 1 and not _is_number(schema.types[0]):
        return pa.Table.from_batches(batches, schema).column(0)
    if lazy:
        return unlazy(values)
    table = pa.Table.from_batches(batches, schema)
    fields = [
        field.with_type(pa.float64()) if pa.types.is_decimal(field.type) else field
        for field in schema
    ]
    table = table.cast(pa.schema(fields))
    nulls = any(column.null_count for column in table.columns)
    mapper = _NULLABLE.get if nulls else None
    return table.to_pandas(types_mapper=mapper, date_as_object=False)


def _handed_on(items: list[ndarray]) -> Iterator[ndarray]:
    """Yield the items of a list, which lets each go."""
    while items:
        yield items.pop(0)


def chunks_of(values: Any) -> Iterator[pd.DataFrame] | None:
    """Return frames of the rows of a stream of numbers, one after the other; None of others.

    What has been read is not kept."""
    stream = _stream_of(values)
    if stream is None or not _are_numbers(stream[0]):
        return None
    names = [str(column) for column in stream[0].names]
    return (pd.DataFrame(x, columns=names) for x in _narrow_chunks(*stream, "X"))


def _are_numbers(schema: pa.Schema) -> bool:
    return len(schema) > 1 and all(map(_is_number, schema.types))


_NULLABLE = {pa.bool_(): pd.BooleanDtype()} | {
    getattr(pa, name.lower())(): getattr(pd, f"{name}Dtype")()
    for name in ("Int8", "Int16", "Int32", "Int64", "UInt8", "UInt16", "UInt32", "UInt64")
}


def _stream_of(values: Any) -> tuple[pa.Schema, Iterable[pa.RecordBatch]] | None:
    """Return the columns of a table of Arrow, or what streams one, and its batches.

    None of anything else. Lazy frames of Polars are worked out batch by batch."""
    package = type(values).__module__.partition(".")[0]
    if package == "polars":
        return _of_lazy_frame(values) if hasattr(values, "collect_batches") else None
    if isinstance(values, pa.RecordBatch):
        return values.schema, [values]
    none = package in ("pandas", "pyspark") or isinstance(values, (pa.Array, pa.ChunkedArray))
    if none or not hasattr(values, "__arrow_c_stream__"):
        return None
    if isinstance(values, pa.Table):
        return values.schema, values.to_batches()
    reader = values
    if not isinstance(values, pa.RecordBatchReader):
        by_batch = getattr(values, "to_arrow_reader", None)  # of DuckDB, which holds all otherwise
        if by_batch is not None:
            reader = by_batch(ROWS)
        elif hasattr(pa.RecordBatchReader, "from_stream"):  # from PyArrow 15 on
            reader = pa.RecordBatchReader.from_stream(values)
        else:
            reader = pa.table(values).to_reader()
    return reader.schema, reader


def _of_lazy_frame(frame: Any) -> tuple[pa.Schema, Iterable[pa.RecordBatch]]:
    import polars

    schema = polars.DataFrame(schema=frame.collect_schema()).to_arrow().schema
    parts = frame.collect_batches(chunk_size=ROWS)
    return schema, (batch for part in parts for batch in part.to_arrow().to_batches())


def _is_number(kind: pa.DataType) -> bool:
    checks = (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal, pa.types.is_boolean)
    return any(check(kind) for check in checks)


def _narrow_chunks(
    schema: pa.Schema, batches: Iterable[pa.RecordBatch], table: str
) -> Iterator[ndarray]:
    """Yield the rows of a stream of numbers in runs of about `RUN_BYTES`, as narrow as they go."""
    most = max(1, RUN_BYTES // (8 * len(schema)))
    count = most
    for batch in batches:
        first = 0
        while first < batch.num_rows:
            if count == most:
                x = np.empty((most, len(schema)))
                count = 0
            rows = batch.slice(first, most - count)
            for place, name in enumerate(schema.names):
                cells = _column(rows.column(place), f"column {name!r} of {table}")
                x[count : count + rows.num_rows, place] = cells
            first += rows.num_rows
            count += rows.num_rows
            if count == most:
                yield narrowest(x)
    if count < most:
        yield narrowest(x[:count].copy())
    pa.default_memory_pool().release_unused()


def _column(cells: pa.Array, title: str) -> ndarray:
    if pa.types.is_integer(cells.type):  # large ones must be the same as float64
        numbers(cells.drop_null().to_numpy(zero_copy_only=False), title)
    if not pa.types.is_floating(cells.type):
        cells = cells.cast(pa.float64(), safe=False)
    column: ndarray = cells.to_numpy(zero_copy_only=False)
    return column
