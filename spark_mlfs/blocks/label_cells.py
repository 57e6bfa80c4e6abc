"""Labels in memory as a column of cells: a class a row, or a list of tags, or a text of several."""

from __future__ import annotations

import datetime
from collections.abc import Collection, Sequence
from numbers import Integral
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy import ndarray

from ..errors import DataError, shown
from ..frames.tag_texts import AROUND, parse_tag_text, parted, tidy_text
from .block import Attributes, label_lists
from .tables import kind_of

COLLECTIONS = (list, tuple, set, frozenset, ndarray)
KINDS = (str, Integral, datetime.date)  # of tags
FLAGS = {"0", "1"}
Tags = Sequence[Collection[Any] | None]


def cells_of(Y: Any) -> list[Any] | None:
    """Return labels that are a column as a list of cells; None for a matrix.

    Columns of numbers are none, but in a list."""
    if isinstance(Y, list | tuple):
        return list(Y)
    kind = kind_of(Y)
    if sp.issparse(Y) or (kind and len(Y.columns) != 1):
        return None
    if hasattr(Y, "to_pylist"):
        return None if hasattr(Y, "columns") else [_without_nulls(cell) for cell in _pylist(Y)]
    if kind or (isinstance(Y, ndarray) and Y.ndim == 2 and Y.shape[1] == 1):
        column = Y[:, 0] if isinstance(Y, ndarray) else _first_column(Y, kind)
        cells = cells_of(column) or []
        return cells if any(isinstance(cell, (str, *COLLECTIONS)) for cell in cells) else None
    if getattr(Y, "ndim", 1) != 1 or _of_numbers(Y):
        return None
    if hasattr(Y, "tolist"):
        return list(Y.tolist())
    return list(Y.to_list()) if hasattr(Y, "to_list") else None


def _first_column(table: Any, kind: str) -> Any:
    return table.iloc[:, 0] if kind == "pandas" else table.to_series()


def _of_numbers(column: Any) -> bool:
    """Return whether a column holds numbers, truth values or dates of NumPy's."""
    dtype = getattr(column, "dtype", None)
    return isinstance(dtype, np.dtype) and dtype.kind in "biufcM"


def _pylist(column: Any) -> list[Any]:
    """Return the cells of a column of Arrow, equal texts as one object."""
    cells: list[Any] = []
    if not pa.types.is_string(column.type) and not pa.types.is_large_string(column.type):
        cells = column.to_pylist()
        return cells
    encoded = column.dictionary_encode()
    for chunk in getattr(encoded, "chunks", [encoded]):
        texts = chunk.dictionary.to_pylist()
        cells += [None if place is None else texts[place] for place in chunk.indices.to_pylist()]
    return cells


def _without_nulls(cell: Any) -> Any:
    """Return a cell of Arrow's without the missing tags of a list."""
    return [tag for tag in cell if tag is not None] if isinstance(cell, list) else cell


def absent(cell: Any) -> bool:
    """Return whether a cell is None, NaN, NaT or pandas' NA."""
    if cell is None or type(cell).__name__ == "NAType":
        return True
    return isinstance(cell, (float, datetime.datetime)) and cell != cell


# ---- texts ----


def tags_of_texts(cells: list[Any], delimiter: str | None, key: str | None = None) -> list[Any]:
    """Return cells with the texts among them that are lists, or of several tags, as lists.

    `key` names the field of objects that is the tag. As they are where no text is a list and there
    is no `delimiter`."""
    lists: dict[str, list[str] | None] = {}
    for row, cell in enumerate(cells):
        if isinstance(cell, str) and cell not in lists:
            try:
                lists[cell] = parse_tag_text(cell, key)
            except DataError as error:
                raise error.reworded(f"row {row} of Y: ".__add__) from None
    if delimiter is None and not any(tags is not None for tags in lists.values()):
        return cells
    out = []
    for row, cell in enumerate(cells):
        tags = lists[cell] if isinstance(cell, str) else cell
        if tags is None and isinstance(cell, str):
            if delimiter is None and cell.strip(AROUND):
                raise DataError(
                    f"row {row} of Y is {shown(cell)} where others are texts of lists, "
                    f"{shown(next(text for text, tags in lists.items() if tags is not None))}: "
                    "write all alike"
                )
            tags = parted(cell, delimiter) if delimiter is not None else []
        out.append(tags)
    return _flags(out)


def _flags(cells: list[Any]) -> list[Any]:
    """Return rows of 0 and 1 that were written as texts as numbers; other cells as they are.

    As on Spark a row that repeats an entry tells them from tags."""
    rows = [cell for cell in cells if isinstance(cell, list)]
    if not all(FLAGS.issuperset(row) for row in rows):
        return cells
    if all(len({*row}) == len(row) for row in rows):
        return cells
    if len({len(row) for row in rows}) > 1:
        raise DataError(
            "Y holds texts of 0 and 1 of different lengths; write as many in every row, or tags"
        )
    width = len(rows[0])
    return [[int(v) for v in cell] if cell is not None else [np.nan] * width for cell in cells]


# ---- lists of tags ----


def are_tags(cells: list[Any], matrix_rows: bool) -> bool:
    """Return whether cells are lists of tags.

    Lists of as many numbers each are rows of a matrix, where they may be `matrix_rows`, and where
    they hold 0 and 1 alone."""
    collections = [cell for cell in cells if isinstance(cell, COLLECTIONS)]
    if not collections:
        return False
    if any(isinstance(cell, set | frozenset) for cell in collections):
        return True
    first_tag = next((tag for cell in collections for tag in cell), None)
    if first_tag is None or isinstance(first_tag, (str, datetime.date)):
        return True
    if len({len(cell) for cell in collections}) > 1:
        return True
    flat = (tag for cell in collections for tag in cell)
    return not matrix_rows and any(isinstance(tag, Integral) and tag not in (0, 1) for tag in flat)


def tag_labels(
    cells: list[Any], classes: Sequence[Any] | None, partial: bool
) -> tuple[Attributes, list[Any]]:
    """Return the label fields of lists of tags, and the tags that there are, in order.

    They are the `classes` where these are given; `partial`: there may be none."""
    rows_of_tags = [None if absent(cell) else cell for cell in cells]
    _check_tags(rows_of_tags)
    flat = [tag for cell in rows_of_tags if cell is not None for tag in cell]
    if any(tidy_text(tag) != tag or tag == "" for tag in {*flat}):
        tidy = [None if cell is None else [*map(tidy_text, cell)] for cell in rows_of_tags]
        rows_of_tags = [
            None if cell is None else [tag for tag in cell if tag != ""] for cell in tidy
        ]
    values = _tags_in_order(rows_of_tags) if classes is None else list(classes)
    if not values and not partial:
        raise DataError("no row of Y has a tag; give at least one")
    number = {tidy_text(str(value)): place for place, value in enumerate(values)}
    lengths = [0 if cell is None else len(cell) for cell in rows_of_tags]
    rows = np.repeat(np.arange(len(rows_of_tags)), lengths)
    labels = np.zeros(len(rows), np.int64)
    flat = [tag for cell in rows_of_tags if cell is not None for tag in cell]
    for entry, tag in enumerate(flat):
        place = number.get(str(tag))
        if place is None:
            raise DataError(
                f"row {rows[entry]} of Y has the tag {shown(tag)}, which is none of the classes "
                "that were named: name it, too, or correct it"
            )
        labels[entry] = place
    unlabelled = np.flatnonzero([cell is None for cell in rows_of_tags])
    return label_lists(len(cells), rows, labels, unlabelled=unlabelled), values


def _check_tags(cells: Tags) -> None:
    """Raise `DataError` for the first cell that is no list of tags of one kind."""
    kind = None
    for row, cell in enumerate(cells):
        if cell is None:
            continue
        kinds = {_kind(tag) for tag in cell} if isinstance(cell, COLLECTIONS) else {None}
        kind = next(iter(kinds), None) if kind is None else kind
        if kinds - {kind} or None in kinds:
            raise DataError(
                f"row {row} of Y is {shown(cell)} where others are lists of tags; give a list of "
                "texts, of whole numbers or of dates, or None"
            )


def _kind(tag: Any) -> type | None:
    if isinstance(tag, bool):
        return None
    return next((kind for kind in KINDS if isinstance(tag, kind)), None)


def _tags_in_order(cells: Tags) -> list[Any]:
    tags = {tag for cell in cells if cell is not None for tag in cell}
    try:
        return sorted(tag.item() if isinstance(tag, np.generic) else tag for tag in tags)
    except TypeError:  # days, and times of days
        raise DataError("Y holds tags of several kinds; give texts, numbers or dates") from None
