r"""JSON of this machine without Spark: the columns and types that Spark infers.

It is read by pyarrow in blocks of lines. A record is a line, or an element of the array that a file
is (`json_arrays`). What pyarrow and Spark read
differently stands below: first what Spark makes of it.

- ``1``, ``1.0``, ``1e3``, ``NaN``: bigint, and double for the others; here the same
- whole numbers beyond 64 bits: decimal, or double; here `NeedsSpark`, as are doubles of 2^63 on
- texts that are dates: text; here the same
- null or ``[]`` and no other values: text, array of texts; here the same
- values of several types in a field: their text; here `NeedsSpark`
- an object in a field: struct; here the same, and `NeedsSpark` where it is read as one
- a field twice, or by case alone: `DataError`; here the same
- a field without name: no field; here `NeedsSpark`
- ``[{}, {}]``, ``null`` as a line: as many records, a null one; here `NeedsSpark`
- half a surrogate: read; here `NeedsSpark`
- ``{} {}``, ``{},``, ``{'a': 1}`` or another line that is no record: `DataError`; here the same"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from operator import itemgetter
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..frames.frame import Batches, LocalFrame, NeedsSpark, Part
from ..frames.names import OBJECTS
from ..frames.parquet import kind_of_arrow, objects_of
from ..frames.paths import FileSplit, files_of, lines_about, sizes_of, splits_of
from .json_arrays import ArrayFile, is_array
from .lines import wide
from .refusals import refuse_json, refuse_more, refuse_one_object, refuse_some_arrays, twice


def open_json(paths: Sequence[str], options: Mapping[str, str]) -> LocalFrame:
    """Return the records of JSON files with the types that all of them show."""
    source = ", ".join(paths[:3])
    if options:
        raise NeedsSpark(f"JSON with reader_options {', '.join(options)} is read by Spark")
    files = [file for path in paths for file in files_of(path)]
    splits = _splits(files)
    blocks: Any = [split.blocks for split in splits]
    looks = [*LocalFrame(blocks, {}).map_parts(partial(_look, source))]
    types = _merged(source, [schema for schemas, _, _ in looks for schema in schemas])
    bad = [line for _, _, line in looks if line is not None]
    if bad:
        refuse_json(
            source, next(first for _, first, _ in looks if first), bad[0] if types else None
        )
    if len({name.lower() for name in types}) < len(types):
        raise twice(source)
    if "" in types:
        raise NeedsSpark(f"{source}: fields without a name")
    types = {name: _plain(types[name], pa.string()) for name in sorted(types)}
    kinds = {name: kind_of_arrow(kind) for name, kind in types.items()}
    refuse_one_object(source, {name: kind.name for name, kind in kinds.items()})
    frame = LocalFrame(
        [Part(partial(_json_rows, split, types), file=split.name) for split in splits],
        kinds,
        sizes=sizes_of(files, [*kinds]),
        num_rows=lines_about(files) if isinstance(splits[0], FileSplit) else None,
    )
    setattr(frame, OBJECTS, objects_of(types))
    return frame


def _splits(files: Sequence[str]) -> list[FileSplit] | list[ArrayFile]:
    """Return the parts of files that are lines, or files that are an array each."""
    firsts = [next(FileSplit(name, 0, None).blocks(), b"") for name in files]
    for name, block in zip(files, firsts, strict=True):
        if b"\0" in block[:4]:
            raise wide(name)
    arrays = [*map(is_array, firsts)]
    if not any(arrays):
        return splits_of(files)
    if not all(arrays):
        refuse_some_arrays(files[arrays.index(True)], files[arrays.index(False)])
    return [ArrayFile(name) for name in files]


def _table(block: bytes, types: Mapping[str, pa.DataType] | None = None) -> pa.Table:
    from pyarrow import json as reader

    options = (
        {}
        if types is None
        else {
            "explicit_schema": pa.schema(list(types.items())),
            "unexpected_field_behavior": "ignore",
        }
    )
    reading = reader.ReadOptions(use_threads=False, block_size=len(block) + 1)
    return reader.read_json(pa.BufferReader(block), reading, reader.ParseOptions(**options))


def _json_rows(
    split: FileSplit | ArrayFile,
    types: Mapping[str, pa.DataType],
    columns: Sequence[str] | None,
) -> Batches:
    for name, kind in types.items():
        if columns is None and "struct" in kind_of_arrow(kind).name:
            raise NeedsSpark(f"field {name!r} of JSON holds objects")
    types = {name: types[name] for name in columns or types}
    for block in split.blocks():
        if block.strip():
            yield from _table(block, types).select([*types]).combine_chunks().to_batches()


def _look(source: str, blocks: Iterable[bytes]) -> tuple[list[pa.Schema], str, str | None]:
    """What a part of a file shows: the fields' types, its first line, its first line that is no
    record."""
    schemas = [pa.schema([])]
    first = ""
    bad = None
    for block in blocks:
        lines = [*filter(bytes.strip, block.splitlines())]
        if not lines:
            continue
        first = first or lines[0].decode(errors="replace").strip(" ")
        table, reason = _records([*map(bytes.strip, lines)])
        names: dict[str, pa.DataType] = {}
        if table is not None:
            names = {name: _type_of(source, name, table[name]) for name in table.column_names}
        else:
            for line in lines:
                text = line.decode(errors="replace")
                records = _records_of(source, text)
                bad = text if records is None and bad is None else bad
                for record in records or ():
                    names |= dict.fromkeys(record, pa.null())
                    if len(lines) == 1:
                        refuse_one_object(source, {n: _kind(v) for n, v in record.items()})
            if bad is None:
                raise NeedsSpark(f"{source}: {reason}")
        schemas.append(pa.schema([*names.items()]))
    return schemas, first, bad


def _records(lines: Sequence[bytes]) -> tuple[pa.Table | None, str]:
    """The records of lines, or why there are not as many."""
    # pyarrow does not survive others
    if {*map(itemgetter(0, -1), lines)} != {(ord("{"), ord("}"))}:
        return None, "a line is not one record"
    block = b"\n".join(lines)
    try:
        block.decode()
        table = _table(block)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        return None, str(error).splitlines()[0][:120]
    return (table, "") if table.num_rows == len(lines) else (None, "a line is not one record")


def _kind(value: Any) -> str:
    """The type of a value of JSON, as far as what is in it begins."""
    if isinstance(value, dict):
        return f"struct<{next(iter(value), '')}:"
    return f"array<{_kind(next(iter(value), None))}" if isinstance(value, list) else ""


def _records_of(source: str, line: str) -> list[dict[str, Any]] | None:
    """The records of a line, as Spark reads it; None where it holds something else."""

    def fields(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        if len(dict(pairs)) < len(pairs):
            raise twice(source)
        return dict(pairs)

    try:
        record, end = json.JSONDecoder(object_pairs_hook=fields).raw_decode(line.strip())
    except json.JSONDecodeError:
        return None
    if isinstance(record, dict) and end < len(line.strip()):
        refuse_more(source, line)
    records = record if isinstance(record, list) else [record]
    if record is None:
        return []
    return records if all(isinstance(item, dict) for item in records) else None


# ---- types ----


def _type_of(source: str, name: str, column: pa.ChunkedArray) -> pa.DataType:
    """The type that the values of a field show."""
    for values in column.chunks:
        while pa.types.is_list(values.type):
            values = values.flatten()
        if pa.types.is_floating(values.type) and (pc.max(pc.abs(values)).as_py() or 0) >= 2.0**63:
            raise NeedsSpark(f"{source}: field {name!r} holds numbers beyond 64 bits")
    return _plain(column.type)


def _plain(kind: pa.DataType, unseen: pa.DataType | None = None) -> pa.DataType:
    """A type without the dates that pyarrow sees in texts; `unseen` where no value showed one."""
    if pa.types.is_list(kind):
        return pa.list_(_plain(kind.value_type, unseen))
    if pa.types.is_struct(kind):
        return pa.struct(sorted((field.name, _plain(field.type, unseen)) for field in kind))
    if pa.types.is_null(kind):
        return unseen or kind
    return pa.string() if pa.types.is_temporal(kind) else kind


def _merged(source: str, schemas: Sequence[pa.Schema]) -> dict[str, pa.DataType]:
    try:
        return {
            field.name: field.type
            for field in pa.unify_schemas(schemas, promote_options="permissive")
        }
    except pa.ArrowTypeError as error:
        raise NeedsSpark(f"{source}: {str(error)[:120]}") from None
