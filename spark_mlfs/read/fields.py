"""Fields of objects as columns: ``a.b`` is b of the column a, unless a column is called so."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..frames.frame import Batches, Kind, LocalFrame, Part
from ..frames.names import OBJECTS, STAGED, column_named
from ..lazy import Column, DataFrame

ROLES = ("features", "labels", "id", "weight", "group", "text", "needed")


def with_fields(source: DataFrame, options: Mapping[str, Any]) -> DataFrame:
    """Return a table with the fields of objects that the options of a reader name as columns."""
    names: list[str] = []
    for role in ROLES:
        value = options.get(role)
        names += [value] if isinstance(value, str) else list(value or ())
    names = [name for name in names if isinstance(name, str) and "." in name]
    return with_columns_of_fields(source, names) if names else source


def with_columns_of_fields(source: DataFrame, names: Iterable[str]) -> DataFrame:
    """Return a table with fields of objects, named or matched, as columns of their own."""
    known = {*source.columns}
    unknown = [name for name in names if name not in known]
    if not unknown:
        return source
    is_local = isinstance(source, LocalFrame)
    fields: dict[str, tuple[list[str], Any]] = {}
    for name, kind in (vars(source).get(OBJECTS, {}) if is_local else _objects(source)).items():
        fields |= _leaves([name], kind)
    patterns = [name.replace("[", "[[]") for name in unknown]
    used = {
        field: leaf
        for field, leaf in fields.items()
        if field not in known
        and (field in unknown or any(fnmatch.fnmatchcase(field, pattern) for pattern in patterns))
    }
    if not used:
        return source
    if is_local:
        return _fields_here(source, used)
    columns = [column_named(name) for name in source.columns]
    for field, (path, _) in used.items():
        columns.append(_below(path).alias(field))
    out = source.select(*columns)
    for name, value in vars(source).items():
        if name.startswith("_spark_mlfs") and name != STAGED:  # rows have more columns now
            setattr(out, name, value)
    return out


def _objects(source: DataFrame) -> dict[str, Any]:
    """Return the columns of a frame of Spark's that hold objects."""
    return {f.name: f.dataType for f in source.schema.fields if hasattr(f.dataType, "fields")}


def _leaves(path: list[str], kind: Any) -> dict[str, tuple[list[str], Any]]:
    """Return the fields below a column: their path, and their type."""
    leaves: dict[str, tuple[list[str], Any]] = {}
    fields = kind if isinstance(kind, pa.DataType) else kind.fields
    for field in fields:
        inner = field.type if isinstance(kind, pa.DataType) else field.dataType
        below = [*path, field.name]
        is_object = hasattr(inner, "fields")
        if isinstance(inner, pa.DataType):
            is_object = pa.types.is_struct(inner)
        if is_object:
            leaves |= _leaves(below, inner)
        else:
            leaves[".".join(below)] = (below, inner)
    return leaves


def _fields_here(source: Any, fields: Mapping[str, tuple[list[str], pa.DataType]]) -> Any:
    from ..frames.parquet import kind_of_arrow

    paths = {field: path for field, (path, _) in fields.items()}
    kinds: dict[str, Kind] = dict(source.kinds)
    kinds |= {field: kind_of_arrow(kind) for field, (_, kind) in fields.items()}
    parts = []
    for part in source.parts:
        rows = part.rows if isinstance(part, Part) else None
        parts.append(Part(partial(_rows, part, paths, [*source.kinds]), rows))
    sizes = dict(source.sizes)
    sizes |= {field: sizes.get(path[0], 0) for field, path in paths.items()}
    out = replace(source, parts=parts, kinds=kinds, sizes=sizes)
    for name, value in vars(source).items():
        if name.startswith("_spark_mlfs"):
            setattr(out, name, value)
    return out


def _rows(
    part: Any,
    paths: Mapping[str, list[str]],
    others: Sequence[str],
    columns: Sequence[str] | None,
) -> Batches:
    """Yield columns of a part, some of them fields of others."""
    names = [*others, *paths] if columns is None else [*columns]
    read = [*dict.fromkeys(paths[name][0] if name in paths else name for name in names)]
    batches = replace(part, columns=read)() if isinstance(part, Part) else part()
    for batch in batches:
        cells = []
        for name in names:
            if name in paths:
                root, *inner = paths[name]
                cells.append(pc.struct_field(batch[root], inner))
            else:
                cells.append(batch[name])
        yield pa.RecordBatch.from_arrays(cells, names)


def _below(path: Sequence[str]) -> Column:
    """Return a field of a column of Spark's."""
    root, *inner = path
    column = column_named(root)
    for name in inner:
        column = column.getField(name)
    return column
