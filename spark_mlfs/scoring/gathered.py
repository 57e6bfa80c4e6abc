"""Columns of numbers, texts and dates as the features that they were in training."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from numpy import ndarray

from ..adapters.rows import CellReader
from ..errors import DataError
from ..frames.frame import Kind
from ..frames.schema import CATEGORIES
from ..kernels.categories import Categories
from ..kernels.matrix import Matrix
from ..read.canonical import cells_here, numbers_of
from ..read.layout import known_categories

LISTS = pa.list_(pa.float64())


@dataclass(frozen=True)
class Gathered:
    """Columns as one; a missing number, null or an empty text, is NaN."""

    categories: Categories  # which has the columns' names

    @staticmethod
    def of(params: Mapping[str, Any], kinds: Mapping[str, Kind]) -> Gathered:
        """Return what the Params of a gatherer ask for, of a table's columns.

        Raises `DataError` for a column that is no number. Absent ones are left out: a stage behind
        names what it lacks."""
        columns = [name for name in params["inputCols"] if name in kinds]
        categories = Categories("", False, columns=columns)
        if params.get(CATEGORIES):
            categories = known_categories(params[CATEGORIES], columns, kinds)
        for place, name in enumerate(columns):
            kind = kinds[name]
            is_known = kind.number or kind.text or kind.name == "void"
            if not (is_known or place in categories.dates):
                raise DataError(f"column {name!r} is {kind.name}, not numeric; cast it first")
        return Gathered(categories)

    def of_table(self, batch: pa.RecordBatch) -> pa.ListArray:
        """Return the features of a table's rows."""
        return self.lists([batch.column(name) for name in self.categories.columns])

    def lists(self, columns: Sequence[pa.Array]) -> pa.ListArray:
        x = self.matrix(columns)
        return pa.FixedSizeListArray.from_arrays(pa.array(x.ravel()), x.shape[1]).cast(LISTS)

    def matrix(self, columns: Sequence[pa.Array]) -> ndarray:
        """Return (n, features) of the columns."""
        categories = self.categories
        coded = categories.values.keys() | categories.dates
        cells = [
            column if place in coded else numbers_of(column, categories.columns[place])
            for place, column in enumerate(columns)
        ]
        return cells_here(cells, categories)


@dataclass(frozen=True)
class GatheredCells:
    """Reads structs of columns, gathered: as `read` reads lists, or as they are."""

    gathered: Gathered
    read: CellReader | None = None
    structs = True

    def __call__(self, column: pa.StructArray, *place: Any) -> Matrix:
        columns = column.flatten()
        if self.read is None:
            return self.gathered.matrix(columns)
        return self.read(self.gathered.lists(columns), *place)
