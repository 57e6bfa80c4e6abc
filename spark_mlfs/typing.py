"""Types of tables and labels in memory, for annotations of your own.

They go by what a table can do, so that they need no package that you do not have."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Protocol, TypeAlias

import numpy as np

__all__ = [
    "ArrayTable",
    "ArrowTable",
    "Column",
    "Labels",
    "PandasTable",
    "PolarsTable",
    "SparseTable",
    "Table",
]


class _Array(Protocol):
    def __array__(self, *args: Any, **kwargs: Any) -> np.ndarray: ...


class SparseTable(Protocol):
    """A sparse matrix of SciPy."""

    def tocsr(self, *args: Any, **kwargs: Any) -> Any: ...


class PandasTable(Protocol):
    """A frame or a series of pandas."""

    @property
    def iloc(self) -> object: ...


class PolarsTable(Protocol):
    """A frame of Polars, lazy or not."""

    def lazy(self) -> object: ...
    def collect_schema(self) -> object: ...


class ArrowTable(Protocol):
    """A table of Arrow, or what streams one, such as a relation of DuckDB."""

    def __arrow_c_stream__(self, requested_schema: object | None = None) -> object: ...


Lists: TypeAlias = "np.ndarray | Sequence[Sequence[float | None] | _Array]"
ArrayTable: TypeAlias = "Lists | PandasTable | SparseTable"
Table: TypeAlias = "ArrayTable | PolarsTable | ArrowTable"
Column: TypeAlias = "_Array | PandasTable | ArrowTable | Sequence[object]"  # a value for each row
Labels: TypeAlias = "Column | SparseTable | PolarsTable"
