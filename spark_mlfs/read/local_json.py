"""JSON of this machine, a record a line, without Spark: the fields and types that Spark infers, read by pyarrow.

What pyarrow and Spark read differently:

===========================================  =======================================  ======================================
record or value                              Spark                                    here
===========================================  =======================================  ======================================
``1``, ``1.0``, ``1e3``, ``NaN``             bigint, and double for the others        the same
whole numbers beyond 64 bits                 decimal, or double                       `NeedsSpark`, as are doubles of 2^63 on
texts that are dates                         text                                     the same
null or ``[]`` and no other values           text, array of texts                     the same
values of several types in a field           their text                               `NeedsSpark`
an object in a field                         struct                                   `NeedsSpark` where it is used
a field twice, by case alone or without name an error, or no field                    `NeedsSpark`
``[{}, {}]``, ``null``, ``{} x`` as a line   as many records, a null one, the first   `NeedsSpark`
quotes such as ``'a'``, half a surrogate     read                                     `NeedsSpark`
another line that is no record               `DataError`                              the same
===========================================  =======================================  ======================================
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from ..frame import Batches, LocalFrame, NeedsSpark
from .errors import refuse_json
from .local import kind_of_arrow
from .paths import BOM, Split, files_of, filled_lines, sizes_of, splits_of


def open_json(paths: Sequence[str], options: Mapping[str, str]) -> LocalFrame:
    """Return the records of JSON files with the types that all of them show."""
    where = ", ".join(paths[:3])
    if options:
        raise NeedsSpark(f"JSON with reader_options {', '.join(options)} is read by Spark")
    files = [file for path in paths for file in files_of(path)]
    splits = splits_of(files)
    looks = [*LocalFrame([partial(_blocks, split) for split in splits], {}).each(partial(_look, where))]
    types = _merged(where, [schema for schema, _, _ in looks])
    bad = [line for _, _, line in looks if line is not None]
    if bad:
        refuse_json(where, next(first for _, first, _ in looks if first), bad[0] if types else None)
    if "" in types or len({name.lower() for name in types}) < len(types):
        raise NeedsSpark(f"{where}: fields without a name, or with names that differ by case alone")
    types = {name: _plain(types[name], pa.string()) for name in sorted(types)}
    kinds = {name: kind_of_arrow(kind) for name, kind in types.items()}
    return LocalFrame([_Part(split, types) for split in splits], kinds, sizes=sizes_of(files, [*kinds]))


def _blocks(split: Split) -> Batches:
    """The lines of a part of a file, blocks of them a row."""
    for number, block in enumerate(split.blocks()):
        lines = block.removeprefix(BOM) if number == 0 and split.start == 0 else block
        yield pa.record_batch({"lines": pa.array([lines], pa.large_binary())})


def _table(block: bytes, types: Mapping[str, pa.DataType] | None = None) -> pa.Table:
    from pyarrow import json as reader

    told = {} if types is None else {"explicit_schema": pa.schema(list(types.items())), "unexpected_field_behavior": "ignore"}
    reading = reader.ReadOptions(use_threads=False, block_size=len(block) + 1)
    return reader.read_json(pa.BufferReader(block), reading, reader.ParseOptions(**told))


@dataclass(frozen=True)
class _Part:
    """The records of a part of a file."""

    split: Split
    types: Mapping[str, pa.DataType]

    def only(self, columns: Sequence[str]) -> _Part:
        """Return the part with some of its fields; `NeedsSpark` for types that only Spark reads."""
        for name in columns:
            if "struct" in kind_of_arrow(self.types[name]).name:
                raise NeedsSpark(f"field {name!r} of JSON holds objects")
        return replace(self, types={name: self.types[name] for name in columns})

    def __call__(self) -> Batches:
        part = self.only([*self.types])
        for batch in _blocks(self.split):
            block = batch.column(0)[0].as_py()
            if block.strip():
                yield from _table(block, part.types).select([*part.types]).combine_chunks().to_batches()


def _look(where: str, batches: Batches) -> tuple[pa.Schema, str, str | None]:
    """What a part of a file shows: the fields' types, its first line, its first line that is no record."""
    schemas, first, bad = [pa.schema([])], "", None
    for batch in batches:
        block = batch.column(0)[0].as_py()
        data, edges = filled_lines(np.frombuffer(block, np.uint8))
        if len(edges) == 1:
            continue
        first = first or data[edges[0] : edges[1]].tobytes().decode(errors="replace").strip(" \r\n")
        last = edges[1:] - 1
        for ends in (10, 13):
            last = last - (data[last] == ends)
        shaped = (data[edges[:-1]] == ord("{")).all() and (data[last] == ord("}")).all()  # pyarrow does not survive others
        table, message = _records(block, len(edges) - 1) if shaped else (None, "")
        if table is None:
            names: dict[str, pa.DataType] = {}
            for raw in data.tobytes().splitlines():
                line = raw.decode(errors="replace")
                record = _record(where, line, strict=bad is None)
                bad = line if record is None and bad is None else bad
                names.update(dict.fromkeys(record or (), pa.null()))
            schemas.append(pa.schema([*names.items()]))
            if bad is None and not message:
                table, message = _records(block, len(edges) - 1)
        if table is not None:
            schemas.append(pa.schema([(name, _seen(where, name, table[name])) for name in table.column_names]))
        elif bad is None:
            raise NeedsSpark(f"{where}: {message}")
    return pa.schema([*_merged(where, schemas).items()]), first, bad


def _records(lines: bytes, count: int) -> tuple[pa.Table | None, str]:
    """The records of lines, or why there are not as many."""
    try:
        lines.decode()
        table = _table(lines)
    except (pa.ArrowInvalid, UnicodeDecodeError) as error:
        return None, str(error).splitlines()[0][:120]
    return (table, "") if table.num_rows == count else (None, "a line is not one record")


def _record(where: str, line: str, strict: bool) -> dict[str, Any] | None:
    """The record of a line, None where it is none; `NeedsSpark` where only Spark can tell, if `strict`."""
    try:
        record, end = json.JSONDecoder().raw_decode(line.strip())
    except ValueError:
        if strict and "'" in line:
            raise NeedsSpark(f"{where}: single quotes in JSON are read by Spark") from None
        return None
    if strict and (isinstance(record, list) or record is None or (isinstance(record, dict) and end < len(line.strip()))):
        raise NeedsSpark(f"{where}: a line that is not one record is read by Spark")
    return record if isinstance(record, dict) else None


# ---- types ----


def _seen(where: str, name: str, column: pa.ChunkedArray) -> pa.DataType:
    """The type that the values of a field show."""
    for values in column.chunks:
        while pa.types.is_list(values.type):
            values = values.flatten()
        if pa.types.is_floating(values.type) and (pc.max(pc.abs(values)).as_py() or 0) >= 2.0**63:
            raise NeedsSpark(f"{where}: field {name!r} holds numbers beyond 64 bits")
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


def _merged(where: str, schemas: Sequence[pa.Schema]) -> dict[str, pa.DataType]:
    """The types of fields that several places show."""
    try:
        return {field.name: field.type for field in pa.unify_schemas(schemas, promote_options="permissive")}
    except pa.ArrowTypeError as error:
        raise NeedsSpark(f"{where}: {str(error)[:120]}") from None
