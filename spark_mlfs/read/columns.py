"""Columns of a table as the canonical frame: names and patterns, features, labels, ids."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from typing import Any

from ..errors import LARGE_WHOLE, DataError, for_driver
from ..frames.frame import Kind, Kinds, LocalFrame, kinds_of
from ..frames.names import columns_of, quoted
from ..frames.schema import ID, LABELS, PACKED_FROM, with_names
from ..frames.stages import MadeColumn, mapped, with_columns
from ..lazy import Column, DataFrame, F
from ..params import Values
from .canonical import CanonicalRows, cells_of, kind_of_cells
from .csv_files import narrowed
from .fields import by_key, with_fields
from .layout import Layout, cells_of_labels, label_texts, layout_of, with_categories
from .missing import impute
from .row_hashes import is_hashed


def assemble(source: DataFrame, p: Values) -> DataFrame:
    """Return ``id, features, labels``, and ``weight`` where it is named, of the columns that the
    options of `Table` name."""
    source, layout = layout_of(source, p)
    x = with_categories(source, layout.x, p.get("categories", "auto"), p["missing"])
    layout = replace(layout, x=x)
    source, layout = _with_hashed_id(source, layout)
    kinds = kinds_of(source)
    kinds = {name: kinds[name] for name in layout.used}
    frame, unchecked = (_canonical(source, layout, kinds, checked) for checked in (True, False))
    frame = impute(frame, layout.missing, x.names, categories=x.categories)
    names = layout.y.names
    if names:
        frame, unchecked = (with_names(rows, LABELS, names) for rows in (frame, unchecked))
    if layout.missing in ("error", "drop"):
        setattr(frame, PACKED_FROM, unchecked)
    return frame


def _canonical(
    source: DataFrame,
    layout: Layout,
    kinds: Kinds,
    checked: bool,
) -> Any:
    rows = CanonicalRows(layout, kinds, checked)
    return mapped(source, rows, rows.made, never_null=[ID])


def _with_hashed_id(source: DataFrame, layout: Layout) -> tuple[DataFrame, Layout]:
    """Return a table of Spark's with the hashes of ids in their place, of a type that only Spark
    hashes."""
    kind = layout.id_kind
    if isinstance(source, LocalFrame) or layout.id is None or kind is None or is_hashed(kind):
        return source, layout
    hashes = F.xxhash64(F.col(quoted(layout.id)))
    return source.withColumn(layout.id, hashes), replace(layout, id_kind=Kind("bigint"))


def exact(column: Column, integers: Column, name: str) -> Column:
    """`column`, called so; `DataError` where a bigint in the array `integers` becomes another as
    double."""
    limit = 1 << 53

    def becomes_another(value: Column) -> Column:
        return ~value.between(-limit, limit) & (value % 1024 != 0)

    fault = for_driver(DataError(f"column {name!r} holds {LARGE_WHOLE}"))
    is_wrong = F.exists(integers, becomes_another)
    return F.when(is_wrong, F.raise_error(F.lit(fault))).otherwise(column)


def labels_of(source: DataFrame, p: Values, called: str) -> tuple[DataFrame, str]:
    """Return a table with its labels as the one column `called`: a vector, array or tags.

    The options `p` are those of `Table`; the labels are named where they have names."""
    p = by_key(source, p)
    source = with_fields(source, {"labels": p["labels"]})
    columns = columns_of(source, p["labels"], "labels")
    source = narrowed(source, None, label_texts(source, columns, p))
    y = cells_of_labels(source, columns, kinds_of(source), p)
    labels = MadeColumn(kind_of_cells(y, False), partial(cells_of, cells=y), y.columns)
    frame = with_columns(source, {called: labels})
    return (with_names(frame, called, y.names) if y.names else frame), called
