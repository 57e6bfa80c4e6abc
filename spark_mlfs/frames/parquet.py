"""Types of Arrow as Spark calls them, and Parquet files of this machine as frames."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Container, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa

from ..errors import LARGE_WHOLE, DataError
from .frame import UNKNOWN, Batches, Kind, LocalFrame, NeedsSpark, Part
from .names import INDEX, OBJECTS
from .paths import files_of, runs

if TYPE_CHECKING:
    import pandas as pd

VECTOR = pa.struct(
    [
        ("type", pa.int8()),
        ("size", pa.int32()),
        ("indices", pa.list_(pa.int32())),
        ("values", pa.list_(pa.float64())),
    ]
)
# of a Parquet file that Spark wrote: its schema as JSON
SPARK_ROW = b"org.apache.spark.sql.parquet.row.metadata"
PART_BYTES = 64 << 20  # of a Parquet file, decoded, that one core reads at a time
BATCH_BYTES = 4 << 20
# of a file at once: a whole column would be memory that is asked for anew each time
READ_BYTES = 1 << 20
# of a value in memory, by its type in a file; of texts as many as there
VALUE_BYTES = {
    "BOOLEAN": 1,
    "INT32": 4,
    "FLOAT": 4,
    "INT64": 8,
    "DOUBLE": 8,
    "INT96": 8,
}
ROWS_AT_ONCE = 1 << 18  # of a pandas frame that is written
NAMES = {
    pa.bool_(): "boolean",
    pa.int8(): "tinyint",
    pa.int16(): "smallint",
    pa.int32(): "int",
    pa.int64(): "bigint",
    pa.float32(): "float",
    pa.float64(): "double",
    pa.string(): "string",
    pa.binary(): "binary",
    pa.date32(): "date",
    pa.null(): "void",
}


def kind_of_arrow(kind: pa.DataType) -> Kind:
    """Return a type of Arrow's as Spark calls it."""
    if pa.types.is_list(kind):
        element = kind_of_arrow(kind.value_type)
        return Kind(f"array<{element.name}>", element, kind.value_field.nullable)
    if pa.types.is_decimal(kind):
        return Kind(f"decimal({kind.precision},{kind.scale})")
    if pa.types.is_timestamp(kind):
        name = "timestamp" if kind.tz else "timestamp_ntz"
        return Kind(name)
    if pa.types.is_struct(kind) and not kind.num_fields:
        return UNKNOWN
    if pa.types.is_struct(kind):
        fields = [f"{field.name}:{kind_of_arrow(field.type).name}" for field in kind]
        return Kind(f"struct<{','.join(fields)}>")
    return Kind(NAMES[kind]) if kind in NAMES else UNKNOWN


# unsigned integers and numbers of 16 bits, which Spark has not
_WIDER = {
    pa.uint8(): pa.int16(),
    pa.uint16(): pa.int32(),
    pa.uint32(): pa.int64(),
    pa.uint64(): pa.decimal128(20, 0),
    pa.float16(): pa.float32(),
}


def plain_type(kind: pa.DataType) -> pa.DataType:
    """Return the type that Spark reads a type of Arrow's as."""
    if pa.types.is_dictionary(kind):
        return plain_type(kind.value_type)
    # PyArrow 14 does not know string_view
    if pa.types.is_large_string(kind) or str(kind) == "string_view":
        return pa.string()
    if pa.types.is_large_binary(kind):
        return pa.binary()
    if pa.types.is_list(kind) or pa.types.is_large_list(kind) or pa.types.is_fixed_size_list(kind):
        return pa.list_(kind.value_field.with_type(plain_type(kind.value_type)))
    return _WIDER.get(kind, kind)


def open_parquet(paths: Sequence[str], options: Mapping[str, Any]) -> LocalFrame:
    """Return the rows of Parquet files, some row groups a part.

    Raises `NeedsSpark` for what this process does not read."""
    import pyarrow.parquet as pq

    if options:
        raise NeedsSpark("format parquet with reader_options is read by Spark")
    files = [file for path in paths for file in files_of(path)]
    try:
        readers = [pq.ParquetFile(file) for file in files]
    except (pa.ArrowInvalid, OSError) as error:
        raise DataError(
            f"{files[0]}: no Parquet file ({str(error).splitlines()[0][:120]}); give its format"
        ) from None
    schema = merged([reader.schema_arrow for reader in readers])
    kinds, metadata = _columns(schema, readers[0].metadata.metadata or {})
    if len(set(map(str.lower, schema.names))) < len(schema.names):
        raise NeedsSpark(f"{files[0]} has columns whose names differ by case alone")
    parts: list[Callable[[], Batches]] = []
    sizes: Counter[str] = Counter()
    num_rows = 0
    for reader, file in zip(readers, files, strict=True):
        groups: list[tuple[int, int, Counter[str]]] = []  # number, rows, decoded bytes by column
        for number in range(reader.num_row_groups):
            group = reader.metadata.row_group(number)
            groups.append((number, group.num_rows, _decoded(group, kinds)))
        for run in runs(groups, lambda group: group[2].total(), PART_BYTES):
            numbers, row_counts, decoded = zip(*run, strict=True)
            rows = sum(row_counts)
            read = partial(_row_groups, file, numbers, rows, schema)
            parts.append(Part(read, rows, file=file))
            sizes = sum(decoded, sizes)
            num_rows += rows
        reader.close()
    frame = LocalFrame(
        parts,
        kinds,
        metadata,
        sizes,
        num_rows=num_rows,
    )
    setattr(frame, INDEX, index_of(readers[0].metadata.metadata))
    objects = {f.name: f.type for f in schema if kinds[f.name].name != "vector"}
    setattr(frame, OBJECTS, objects_of(objects))
    return frame


def objects_of(types: Mapping[str, pa.DataType]) -> dict[str, pa.DataType]:
    """Return the columns that hold objects, or lists of objects."""
    return {
        name: kind
        for name, kind in types.items()
        if pa.types.is_struct(kind.value_type if pa.types.is_list(kind) else kind)
    }


def index_of(file_metadata: Mapping[bytes, bytes] | None) -> list[str]:
    """Return the columns that hold the index of a frame of pandas, by the metadata of its file."""
    try:
        facts = json.loads((file_metadata or {}).get(b"pandas", b"{}"))
    except ValueError:
        return []
    return [name for name in facts.get("index_columns", ()) if isinstance(name, str)]


def merged(schemas: Sequence[pa.Schema]) -> pa.Schema:
    """Return the columns of files by name, each of the narrowest type that holds all of its values.

    Where there is none the type is an empty struct, which nothing reads."""
    types: dict[str, pa.DataType] = {}
    for schema in schemas:
        for field in schema:
            kind = plain_type(field.type)
            before = types.setdefault(field.name, kind)
            if before != kind:
                pair = [pa.schema([("", before)]), pa.schema([("", kind)])]
                try:
                    kind = pa.unify_schemas(pair, promote_options="permissive").field(0).type
                except (pa.ArrowTypeError, pa.ArrowInvalid):
                    kind = pa.struct([])
                types[field.name] = kind
    return pa.schema(list(types.items()))


def lacks(file: str, column: str) -> DataError:
    """Return the error of a file without a column that others have and that is used."""
    return DataError(
        f"{file} has no column {column!r}, which other files have; add it, leave the file out, or "
        "the column"
    )


def _columns(
    schema: pa.Schema, file_metadata: Mapping[bytes, bytes]
) -> tuple[dict[str, Kind], dict[str, dict[str, Any]]]:
    """Return the types and the metadata of columns; vectors are those that Spark declared so."""
    declared = json.loads(file_metadata.get(SPARK_ROW, b'{"fields": []}'))["fields"]
    facts_of = {field["name"]: field for field in declared}
    kinds: dict[str, Kind] = {}
    metadata: dict[str, dict[str, Any]] = {}
    for field in schema:
        facts = facts_of.get(field.name, {})
        spark_type = facts.get("type")
        class_name = spark_type.get("class", "") if isinstance(spark_type, dict) else ""
        if class_name.endswith("linalg.VectorUDT"):
            kinds[field.name] = Kind("vector")
        else:
            kinds[field.name] = kind_of_arrow(plain_type(field.type))
        metadata[field.name] = facts.get("metadata", {})
    return kinds, metadata


def _decoded(group: Any, names: Container[str]) -> Counter[str]:
    """Return how many bytes each column of a row group takes in memory, about."""
    sizes: Counter[str] = Counter()
    for column in map(group.column, range(group.num_columns)):
        name = column.path_in_schema
        while name not in names and "." in name:  # what is inside a column
            name = name.rpartition(".")[0]
        width = VALUE_BYTES.get(column.physical_type)
        size = column.total_uncompressed_size if width is None else width * column.num_values
        sizes[name] += size
    return sizes


def _row_groups(
    file: str,
    groups: Sequence[int],
    rows: int,
    schema: pa.Schema,
    columns: Sequence[str] | None,
) -> Batches:
    import pyarrow.parquet as pq

    names = schema.names if columns is None else columns
    with pq.ParquetFile(file, buffer_size=READ_BYTES) as reader:
        size = sum(reader.metadata.row_group(group).total_byte_size for group in groups)
        batch_rows = max(64, int(BATCH_BYTES * max(1, rows) / max(1, size)))
        batches = reader.iter_batches(batch_rows, list(groups), columns=columns, use_threads=False)
        present = {*reader.schema_arrow.names}
        absent = [name for name in names if name not in present]
        if absent and columns is not None:
            raise lacks(file, absent[0])
        for batch in batches:
            cells = dict(zip(batch.schema.names, batch.columns, strict=True))
            for name in absent:
                cells[name] = pa.nulls(batch.num_rows, schema.field(name).type)
            typed = [_typed(cells[name], schema.field(name).type, name) for name in names]
            yield pa.RecordBatch.from_arrays(typed, list(names))


def _typed(column: pa.Array, kind: pa.DataType, name: str) -> pa.Array:
    if kind == column.type:
        return column
    try:
        return column.cast(kind)
    except pa.ArrowInvalid:
        if not pa.types.is_floating(kind):
            raise
        raise DataError(f"column {name!r} holds {LARGE_WHOLE}") from None


def write_table(frame: pd.DataFrame, path: Path, rows_at_once: int = ROWS_AT_ONCE) -> None:
    """Write a pandas frame into a Parquet file, so many rows at once.

    Where it is row by row, the first has the types of all."""
    import pyarrow.parquet as pq

    typed = frame.head(1) if rows_at_once == 1 else frame
    table = pa.Table.from_pandas(typed, preserve_index=False)
    schema = table.schema
    # numbers hardly repeat: looking for those that do takes twice as long as writing them
    texts: Any = [field.name for field in schema if pa.types.is_string(field.type)]
    with pq.ParquetWriter(path, schema, use_dictionary=texts or False) as writer:
        for first in range(0, max(1, len(frame)), rows_at_once):
            if rows_at_once == 1:
                rows = frame.iloc[first : first + rows_at_once]
                table = pa.Table.from_pandas(rows, schema, preserve_index=False)
            writer.write_table(table.slice(0 if rows_at_once == 1 else first, rows_at_once))
