"""Fields of objects as columns: ``a.b`` is b of the column a, unless a column is called so.

Of a list of objects it is the list of what they have."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc

from ..frames.frame import LocalFrame, kinds_of
from ..frames.names import OBJECTS, STAGED, column_named, with_attributes
from ..frames.parquet import kind_of_arrow, plain_type
from ..frames.stages import MadeColumn, with_columns
from ..frames.vectors import lengths_of, lists_of
from ..lazy import Column, DataFrame
from ..params import Values

ROLES = ("features", "labels", "id", "weight", "group", "text", "needed")


def with_fields(source: DataFrame, options: Values) -> DataFrame:
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
    kinds: Any = vars(source).get(OBJECTS, {})
    if not is_local:
        kinds = {f.name: f.dataType for f in source.schema.fields}
    fields: dict[str, tuple[list[str], Any]] = {}
    for name, kind in kinds.items():
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
            field: MadeColumn(
                kind_of_arrow(plain_type(kind)),
                partial(_field, path=path, kind=plain_type(kind)),
                path[:1],
            )
            for field, (path, kind) in used.items()
        }
        out: Any = with_columns(source, leaves)
    else:
        columns = [column_named(name) for name in source.columns]
        columns += [_below(path).alias(field) for field, (path, _) in used.items()]
        out = source.select(*columns)
    return with_attributes(source, out, STAGED)  # rows have more columns now


def by_key(source: DataFrame, options: Values) -> dict[str, Any]:
    """Return the options with the field that `label_key` names in the place of the labels.

    As they are where the labels are no list of objects."""
    labels = options["labels"]
    name = labels[0] if isinstance(labels, list | tuple) and len(labels) == 1 else labels
    key = options.get("label_key")
    if key is None or not isinstance(name, str):
        return dict(options)
    kind = kinds_of(source).get(name)
    if kind is None or not kind.name.startswith("array<struct"):
        return dict(options)
    return {**options, "labels": f"{name}.{key}"}


def _of_list(kind: Any) -> Any:
    """Return the type of the entries of a list, another type as it is."""
    if isinstance(kind, pa.DataType):
        return kind.value_type if pa.types.is_list(kind) else kind
    return getattr(kind, "elementType", kind)


def _fields_of(kind: Any) -> list[tuple[str, Any]] | None:
    """Return name and type of the fields of objects, or of those in a list; None of others."""
    entries = _of_list(kind)
    if isinstance(entries, pa.DataType):
        is_object = pa.types.is_struct(entries)
        return [(field.name, field.type) for field in entries] if is_object else None
    if not hasattr(entries, "fields"):
        return None
    return [(field.name, field.dataType) for field in entries.fields]


def _leaves(path: list[str], kind: Any, listed: bool = False) -> dict[str, tuple[list[str], Any]]:
    """Return the fields below a column: their path, and their type.

    Those of a list are `listed`; of a list within it there are none."""
    leaves: dict[str, tuple[list[str], Any]] = {}
    is_list = _of_list(kind) is not kind
    if listed and is_list:
        return leaves
    listed |= is_list
    for name, inner in _fields_of(kind) or ():
        below = [*path, name]
        if _fields_of(inner) is not None:
            leaves |= _leaves(below, inner, listed)
        elif not (listed and _of_list(inner) is not inner):
            is_arrow = listed and isinstance(inner, pa.DataType)
            leaves[".".join(below)] = (below, pa.list_(inner) if is_arrow else inner)
    return leaves


def _field(batch: pa.RecordBatch, path: Sequence[str], kind: pa.DataType) -> pa.Array:
    root, *inner = path
    column = _inside(batch[root], inner)
    return column if column.type == kind else column.cast(kind)


def _inside(column: pa.Array, path: Sequence[str]) -> pa.Array:
    """Return the field at a path of a column of objects, or of lists of them."""
    if not path:
        return column
    if not pa.types.is_list(column.type):
        return _inside(pc.struct_field(column, [path[0]]), path[1:])
    nulls = column.is_null() if column.null_count else None
    return lists_of(lengths_of(column), _inside(column.flatten(), path), nulls)


def _below(path: Sequence[str]) -> Column:
    """Return a field of a column of Spark's."""
    root, *inner = path
    column = column_named(root)
    for name in inner:
        column = column.getField(name)
    return column
