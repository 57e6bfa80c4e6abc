"""NumPy functions of rows as columns of a frame, Arrow in and out."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp
from pyspark.ml.functions import array_to_vector
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F

from ..blocks.features import read_features
from ..blocks.lists import WrongRow
from ..blocks.pack import are_vectors, check_column
from ..errors import DataError, ParameterError
from ..kernels.matrix import Matrix
from ..kernels.missing import IS_MISSING, REFUSED, filled


def feature_positions(names: np.ndarray, indices: np.ndarray, slots: Sequence[str], column: str) -> np.ndarray:
    """Where the features names[indices] are among `slots`, the names of a frame's column. `DataError` where one of them is not
    there, or where there is one that is none of `names`."""
    problem = unmatched(names, indices, slots)
    if problem is not None:
        raise DataError(f"{column!r} {problem}")
    where = {name: index for index, name in enumerate(slots)}
    return np.array([where[names[i]] for i in indices], np.int64)


def unmatched(names: np.ndarray, indices: np.ndarray, slots: Sequence[str]) -> str | None:
    """Return the first mismatch between the names `slots` and the features names[indices] of `names`; None where
    nothing is."""
    known = set(slots)
    missing = [names[i] for i in indices if names[i] not in known]
    if missing:
        return f"lacks {len(missing)} of the features it was fitted on, {missing[0]!r} first; give it the training features"
    trained = set(names)
    further = [name for name in slots if name not in trained]
    if further:
        count = f"{len(further)} feature{'s' if len(further) > 1 else ''}"
        return f"has {count} it was not fitted on, {further[0]!r} first; leave them out"
    return None


# ---- functions of rows ----


def _partition() -> int:
    """The partition that this task works on."""
    from pyspark import TaskContext

    context = TaskContext.get()
    return 0 if context is None else context.partitionId()


Reader = Callable[..., Matrix]  # of a batch's cells, how many rows of the partition came before, and maybe the rows' ids


@dataclass(frozen=True)
class FeatureCells:
    """Reads arrays, or the structs of vectors, as (rows, width) float64 features; CSR where any row is sparse. `positions`
    selects and orders the columns: what others hold does not matter. `fill` are the values of missing ones, `names` those of the
    features, both in that order. `DataError` for null cells, what is no finite number, and other widths; it names the row by its
    id, or with `before`, how many rows of the partition came before, by its place."""

    vectors: bool
    width: int
    positions: np.ndarray | None = None
    fill: np.ndarray | None = None
    names: Sequence[str] | None = None

    def __call__(self, column: pa.Array, before: int | None = None, ids: pa.Array | None = None) -> Matrix:
        used = None
        if self.positions is not None:
            used = np.zeros(self.width, bool)
            used[self.positions] = True
        try:
            x: Any = read_features(column, self.vectors, narrow=False, used=used, keep_missing=self.fill is not None)
        except WrongRow as wrong:
            what, row, slot = wrong.what, wrong.row, wrong.slot
            called = "a row" if before is None else f"row {before + row + 1} of part {_partition()}"
            called = f"row {ids[row]}" if ids is not None and ids[row].is_valid else called
            if slot is not None:
                what = f"its feature {self._called(slot)} {REFUSED if what == IS_MISSING else what}"
            raise DataError(f"{called} cannot be used: {what}") from None
        if x.shape[1] != self.width:
            raise DataError(f"a feature vector has {x.shape[1]} entries, the model was fitted on {self.width}")
        if self.positions is not None and not sp.issparse(x):
            x = np.take(x, self.positions, axis=1)
        elif self.positions is not None:
            x = x[:, self.positions]
            x.sort_indices()  # sums over a row's entries are in the order of the features
        return filled(x, self.fill)

    def _called(self, slot: int) -> str:
        """Return the name of a column, or its number."""
        if self.names is None:
            return str(slot)
        return repr(self.names[slot if self.positions is None else int(np.flatnonzero(self.positions == slot)[0])])


@dataclass(frozen=True)
class FeatureSource:
    """Where rows get their features from: a column of a frame, and what reads its cells in the workers."""

    column: Column
    read: Reader
    id: Column | None = None  # what messages call a row


def feature_cells(dataset: DataFrame, features: str, width: int, *how: Any, id: Column | None = None) -> FeatureSource:
    """The column of vectors or arrays of `width` entries, which `how` says to read as `FeatureCells` does. `ParameterError` where
    it is absent or something else."""
    check_column(dataset, features)
    vectors = are_vectors(dataset, features)
    cells = F.unwrap_udt(F.col(features)) if vectors else F.col(features).cast("array<double>")
    return FeatureSource(cells, FeatureCells(vectors, width, *how), id)


def lists_of(values: np.ndarray | tuple[np.ndarray, np.ndarray]) -> pa.ListArray:
    """A (rows, w) array, or a pair (values, lengths) of rows of different lengths, as an Arrow array of lists."""
    if isinstance(values, tuple):
        flat, lengths = values
    else:
        flat, lengths = values.ravel(), np.full(len(values), values.shape[1])
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat))


def map_rows(
    dataset: DataFrame,
    cells: FeatureSource,
    function: Callable[[Matrix], Mapping[str, np.ndarray]],
    outputs: Mapping[str, str],
) -> DataFrame:
    """`dataset` with columns computed row by row from its features, which `cells` reads.

    `function(x)` takes (rows, width) raw features, dense float64 or CSR, and returns for each key of `outputs` what `lists_of`
    takes. `outputs` maps a new column's name to ``"vector"`` (dense), ``array<double>`` or ``array<int>``.
    The function and what it closes over travel to the workers: keep it within some tens of MB. Raises `ParameterError` for an
    output column that exists.
    """
    refuse_taken(dataset, outputs)
    types = ["array<double>" if type_name == "vector" else type_name for type_name in outputs.values()]
    schema = ", ".join(f"c{i} {type_name}" for i, type_name in enumerate(types))
    lists = {name: pa.list_(pa.int32() if type_name == "array<int>" else pa.float64()) for name, type_name in outputs.items()}
    task = RowTask(function, lists, cells.read)
    temporary, input_column = "__spark_mlfs_rows__", "__spark_mlfs_source__"
    # a step of its own, kept apart by the condition: Spark 4.3 cannot hand a vector column of a Parquet file past a UDF
    dataset = dataset.withColumn(input_column, F.when(F.spark_partition_id() >= 0, cells.column))
    ids = [] if cells.id is None else [cells.id.cast("string")]
    out = dataset.withColumn(temporary, task.udf(schema, len(ids))(F.col(input_column), *ids))
    return with_outputs(out, outputs, f"{temporary}.c{{}}").drop(temporary, input_column)


def refuse_taken(dataset: DataFrame, outputs: Iterable[str]) -> None:
    """`ParameterError` for an output column that exists."""
    for name in outputs:
        if name in dataset.columns:
            raise ParameterError(f"column {name!r} exists already; set another output column or drop it")


def with_outputs(rows: DataFrame, outputs: Mapping[str, str], source: str) -> DataFrame:
    """`rows` with each output, of its type, from the array column that `source` gives its number."""
    for i, (name, type_name) in enumerate(outputs.items()):
        value = F.col(source.format(i))
        rows = rows.withColumn(name, array_to_vector(value) if type_name == "vector" else value)
    return rows


class RowTask:
    """Worker side of `map_rows`."""

    def __init__(self, function: Callable[..., Any], lists: dict[str, pa.ListType], read: Reader) -> None:
        self.function, self.lists, self.read = function, lists, read
        self.seen = 0  # rows of the partition so far

    def __call__(self, column: pa.Array, *ids: pa.Array) -> pa.StructArray:
        from ..engine.base import one_thread

        if not len(column):
            return self._struct([pa.array([], kind) for kind in self.lists.values()])
        with one_thread():
            columns = self.function(self.read(column, self.seen, *ids))
        self.seen += len(column)
        return self._struct([lists_of(columns[name]) for name in self.lists])

    def _struct(self, columns: list[pa.Array]) -> pa.StructArray:
        return pa.StructArray.from_arrays(columns, [f"c{i}" for i in range(len(columns))])

    def udf(self, schema: str, ids: int = 0) -> Any:
        """The task as an iterator of batches, so that what it holds is unpickled once a task; with `ids` = 1 the rows' ids come
        beside their cells. Spark before 4.1 has no UDF of Arrow arrays: there they pass through pandas, value by value."""
        if hasattr(F, "arrow_udf"):

            def arrays(columns: Iterator[Any]) -> Iterator[pa.Array]:
                return itertools.starmap(self, columns) if ids else map(self, columns)

            batch: Any = tuple[pa.Array, pa.Array] if ids else pa.Array
            arrays.__annotations__ = {"columns": Iterator[batch], "return": Iterator[pa.Array]}
            return F.arrow_udf(arrays, schema)

        def frames(columns: Iterator[Any]) -> Iterator[pd.DataFrame]:
            for column in columns:
                computed = self(_arrow(column[0]), pa.array(column[1], pa.string())) if ids else self(_arrow(column))
                yield pd.DataFrame({field.name: computed.field(field.name).to_pandas() for field in computed.type})

        # a vector arrives as a struct: one column a field
        cells: Any = pd.DataFrame if getattr(self.read, "vectors", False) else pd.Series
        batches: Any = Iterator[tuple[cells, pd.Series]] if ids else Iterator[cells]
        frames.__annotations__ = {"columns": batches, "return": Iterator[pd.DataFrame]}
        return F.pandas_udf(frames, schema)  # type: ignore[attr-defined]


def _arrow(column: pd.Series | pd.DataFrame) -> pa.Array:
    """Convert a pandas column of arrays, of the structs of vectors, or of texts back to Arrow."""
    if isinstance(column, pd.Series):
        texts = len(column) and isinstance(column.iloc[0], str)
        return pa.array(column, pa.string() if texts else pa.list_(pa.float64()))
    kinds = {"type": pa.int8(), "size": pa.int32(), "indices": pa.list_(pa.int32()), "values": pa.list_(pa.float64())}
    absent = column["type"].isna().to_numpy()
    parts = [pa.array(column[name], kind, from_pandas=True) for name, kind in kinds.items()]
    return pa.StructArray.from_arrays(parts, list(kinds), mask=pa.array(absent))
