"""Fields of objects as columns: ``a.b`` is b of the column a, unless a column is called so."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..frames.frame import LocalFrame
from ..frames.names import OBJECTS, STAGED, column_named
from ..frames.parquet import kind_of_arrow
from ..frames.stages import MadeColumn, with_columns
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
        leaves = {
            field: MadeColumn(kind_of_arrow(kind), partial(_field, path=path), path[:1])
            for field, (path, kind) in used.items()
        }
        out: Any = with_columns(source, leaves)
    else:
        columns = [column_named(name) for name in source.columns]
        columns += [_below(path).alias(field) for field, (path, _) in used.items()]
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


def _field(batch: pa.RecordBatch, path: Sequence[str]) -> pa.Array:
    root, *inner = path
    return pc.struct_field(batch[root], inner)


def _below(path: Sequence[str]) -> Column:
    """Return a field of a column of Spark's."""
    root, *inner = path
    column = column_named(root)
    for name in inner:
        column = column.getField(name)
    return column
