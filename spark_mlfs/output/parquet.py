"""Rows of this process as Parquet files that Spark takes for its own.

Columns of vectors are vectors there, with their names."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from ..frames.frame import Batches, LocalFrame, NeedsSpark
from ..frames.parquet import SPARK_ROW, VECTOR, kind_of_arrow

GROUP_BYTES = 32 << 20  # of a row group, in memory
# where JSON has another name than SQL
_NAMES = {
    "tinyint": "byte",
    "smallint": "short",
    "int": "integer",
    "bigint": "long",
}
_ARROW = {
    "bigint": pa.int64(),
    "int": pa.int32(),
    "double": pa.float64(),
    "string": pa.string(),
    "vector": VECTOR,
    "array<string>": pa.list_(pa.string()),
    "array<bigint>": pa.list_(pa.int64()),
    "array<double>": pa.list_(pa.float64()),
}


def write_rows(frame: LocalFrame, folder: Path) -> int:
    """Write the rows of a frame into a folder, a file a part; return how many they are."""
    folder.mkdir(parents=True, exist_ok=True)
    parts = [
        partial(_written, part, frame, folder / f"part-{i:05d}.snappy.parquet")
        for i, part in enumerate(frame.parts)
    ]
    rows = replace(frame, parts=parts).count()
    if not any(folder.glob("part-*")):
        kinds = [kind.name for kind in frame.kinds.values()]
        if not set(kinds) <= set(_ARROW):
            raise NeedsSpark("there are no rows, and columns whose types only Spark knows")
        fields = [(name, _ARROW[kind]) for name, kind in zip(frame.kinds, kinds, strict=True)]
        _writer(frame, folder / "part-00000.snappy.parquet", pa.schema(fields)).close()
    (folder / "_SUCCESS").touch()
    return rows


def _written(part: Callable[[], Batches], frame: LocalFrame, path: Path) -> Batches:
    """Yield the batches of a part, written as they pass, several of them as a row group."""
    writer: Any = None
    with ExitStack() as file:
        for batches in _groups(part()):
            table = pa.Table.from_batches(batches)
            writer = writer or file.enter_context(_writer(frame, path, table.schema))
            writer.write_table(table, row_group_size=table.num_rows)
            yield from batches


def _groups(batches: Batches) -> Iterator[list[pa.RecordBatch]]:
    group: list[pa.RecordBatch] = []
    for batch in batches:
        group += [batch] if batch.num_rows else []
        if sum(waiting.nbytes for waiting in group) >= GROUP_BYTES:
            yield group
            group = []
    if group:
        yield group


def _writer(frame: LocalFrame, path: Path, schema: pa.Schema) -> Any:
    import pyarrow.parquet as pq

    fields = []
    for f in schema:
        kind = _VECTOR if frame.kinds[f.name].vector else _type(f.type)
        fields.append(_field(f.name, kind, frame.metadata.get(f.name)))
    spark_schema = json.dumps({"type": "struct", "fields": fields})
    return pq.ParquetWriter(
        path,
        schema.with_metadata({SPARK_ROW: spark_schema}),
        version="2.4",
        compression="snappy",
        coerce_timestamps="us",  # which Spark reads
        allow_truncated_timestamps=True,
    )


def _field(name: str, kind: Any, metadata: Any = None) -> dict[str, Any]:
    return {
        "name": name,
        "type": kind,
        "nullable": True,
        "metadata": dict(metadata or {}),
    }


def _type(kind: pa.DataType) -> Any:
    """Return a type as Spark's JSON has it."""
    if pa.types.is_list(kind):
        return {
            "type": "array",
            "elementType": _type(kind.value_type),
            "containsNull": True,
        }
    if pa.types.is_struct(kind):
        return {"type": "struct", "fields": [_field(f.name, _type(f.type)) for f in kind]}
    name = kind_of_arrow(kind).name
    if name in ("unknown", "void"):
        raise NeedsSpark(f"a column of type {kind} is written by Spark")
    return _NAMES.get(name, name)


_VECTOR = {
    "type": "udt",
    "class": "org.apache.spark.ml.linalg.VectorUDT",
    "pyClass": "pyspark.ml.linalg.VectorUDT",
    "sqlType": _type(VECTOR),
}
