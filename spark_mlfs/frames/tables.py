"""Tables in memory, of Arrow or what streams one, as rows of this process."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from ..errors import DataError
from .frame import Batches, LocalFrame, Part
from .names import OBJECTS, with_text_names
from .parquet import kind_of_arrow, objects_of, plain_type

ROWS = 1 << 16  # of a part


def unlazy(data: Any) -> Any:
    """Return a frame of Polars with its rows; series and frames that have them as they are."""
    import polars

    return polars.collect_all([data])[0] if isinstance(data, polars.LazyFrame) else data


def arrow_table(data: Any) -> pa.Table | None:
    """Return a table of Arrow, of what streams one, of Polars or pandas; None of anything else.

    A stream is read once, and held."""
    package = type(data).__module__.partition(".")[0]
    if package == "polars":
        data = unlazy(data)
    if package == "pandas" and hasattr(data, "columns"):
        try:
            return pa.Table.from_pandas(with_text_names(data), preserve_index=False)
        except (pa.ArrowInvalid, pa.ArrowTypeError) as error:
            reason = str(error).splitlines()[0][:200]
            raise DataError(
                f"this pandas frame is no table ({reason}); give each column one type of value"
            ) from None
    if isinstance(data, pa.RecordBatch):
        return pa.Table.from_batches([data])
    if isinstance(data, pa.Table) or not hasattr(data, "__arrow_c_stream__"):
        return data if isinstance(data, pa.Table) else None
    return data.read_all() if hasattr(data, "read_all") else pa.table(data)


def frame_of(table: pa.Table) -> LocalFrame:
    """Return the rows of a table, not copied where their types are those of files."""
    schema = pa.schema([(field.name, plain_type(field.type)) for field in table.schema])
    if schema.types != table.schema.types:
        table = table.cast(schema)
    parts = [
        Part(partial(_batches, table.slice(start, ROWS)), min(ROWS, table.num_rows - start))
        for start in range(0, max(1, table.num_rows), ROWS)
    ]
    kinds = {field.name: kind_of_arrow(field.type) for field in schema}
    sizes = {name: table[name].nbytes for name in schema.names}
    frame = LocalFrame(parts, kinds, sizes=sizes, num_rows=table.num_rows)
    setattr(frame, OBJECTS, objects_of({f.name: f.type for f in schema}))
    return frame


def _batches(table: pa.Table, columns: Sequence[str] | None) -> Batches:
    yield from (table if columns is None else table.select(list(columns))).to_batches()
