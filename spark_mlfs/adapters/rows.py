"""NumPy functions of rows as functions of Arrow arrays, for either engine: which features are read,
and what becomes of them."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp

from ..blocks.block import WrongRow
from ..blocks.labels import read_features
from ..errors import DataError, task_context
from ..formats import tabular
from ..frames.schema import CATEGORIES, attribute_names, categories_of
from ..kernels.matrix import Matrix
from ..kernels.missing import IS_MISSING, REFUSED, fill_values, filled
from ..lazy import F

MOST_NAMES = 1 << 16  # that travel to the workers, for messages alone


def unmatched(names: np.ndarray, indices: np.ndarray, slots: Sequence[str]) -> str | None:
    """Return the first mismatch between the names `slots` and the features names[indices] of
    `names`, if there is one."""
    known = set(slots)
    missing = [names[i] for i in indices if names[i] not in known]
    if missing:
        return (
            f"lacks {len(missing)} of the features it was fitted on, {missing[0]!r} first; "
            "give it the training features"
        )
    trained = set(names)
    further = [name for name in slots if name not in trained]
    if further:
        count = f"{len(further)} feature{'s' if len(further) > 1 else ''}"
        return f"has {count} it was not fitted on, {further[0]!r} first; leave them out"
    return None


class Fitted:
    """What is fitted on `numFeatures` features called `featureNames`; `_extra` is what it says of
    its training."""

    numFeatures: Any
    featureNames: Any
    _extra: dict[str, Any]
    said = "the model"  # of it in messages
    _aside: ClassVar[tuple[str, ...]] = (
        "fill",
        CATEGORIES,
    )  # of `_extra`, what is not for the summary

    @property
    def summary(self) -> dict[str, Any]:
        return {k: v for k, v in self._extra.items() if k not in self._aside}

    def fill(self) -> np.ndarray | None:
        """Return (numFeatures,) what stands for a missing value of each feature
        (`kernels.missing`); None where nothing does."""
        return fill_values(self._extra, self.numFeatures)

    def reader_options(self, format: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a reader whose features are to be those of the training."""
        from ..read.missing import left_to

        out = dict(options)
        if format == "libsvm" and not {"num_features", "feature_names"} & set(out):
            out["num_features"] = self.numFeatures  # fewer rows need not reach the last feature
        if format == "arff" or tabular(format):
            out["missing"] = left_to(self.summary, out.get("missing"))
            if CATEGORIES in self._extra:
                out[CATEGORIES] = self._extra[CATEGORIES]
        return out

    def slots(self, frame: Any, column: str) -> list[str] | None:
        """Return what the entries of a column are called; `DataError` where codes of categories
        stand for other values than in training."""
        own, theirs = self._extra.get(CATEGORIES, {}), categories_of(frame, column)
        if own.get("codes") and theirs:
            other = next(
                (
                    name
                    for name, values in own["values"].items()
                    if theirs["values"].get(name, values) != values
                ),
                None,
            )
            if other is not None:
                raise DataError(
                    f"feature {other!r} of {column!r} is a category of other values than "
                    f"{self.said} was fitted on: read the rows with the options that its "
                    "reader_options(format, options) returns"
                )
        return attribute_names(frame, column)

    def find(self, indices: np.ndarray, slots: Sequence[str] | None, where: str) -> np.ndarray:
        """Return where the features of these indices are in a column whose entries are called
        `slots`, by name where both sides have names; `indices` where they are in their places.
        `DataError` where they are not those of the training; it calls the column `where`."""
        if slots is None:
            return indices
        names = self.featureNames
        if not self._extra.get("named"):
            if len(slots) != len(names):
                raise DataError(
                    f"{where} has {len(slots)} features, {self.said} was fitted on {len(names)}"
                )
            return indices
        if len(slots) == len(names) and all(slots[i] == names[i] for i in indices):
            return indices
        problem = unmatched(np.array(names, object), indices, slots)
        if problem is not None:
            raise DataError(f"{where} {problem}")
        places = {name: index for index, name in enumerate(slots)}
        return np.array([places[names[i]] for i in indices], np.int64)

    def names_told(self, kept: np.ndarray) -> list[str] | None:
        """Return the names of features for messages, where they are not too many to travel to the
        workers."""
        told = self._extra.get("named") and len(kept) <= MOST_NAMES
        return np.array(self.featureNames, object)[kept].tolist() if told else None


CellReader = Callable[
    ..., Matrix
]  # of a batch's cells, how many rows of the partition came before, and maybe the rows' ids


@dataclass(frozen=True)
class FeatureCells:
    """Reads arrays, or the structs of vectors, as (rows, width) float64 features; CSR where any row
    is sparse. `positions` selects and orders the columns: what others hold does not matter. `fill`
    are the values of missing ones, `names` those of the features, both in that order. `DataError`
    for null cells, what is no finite number, and other widths; it names the row by its id, or with
    `before`, how many rows of the partition came before, by its place."""

    vectors: bool
    width: int
    positions: np.ndarray | None = None
    fill: np.ndarray | None = None
    names: Sequence[str] | None = None

    def __call__(
        self, column: pa.Array, before: int | None = None, ids: pa.Array | None = None
    ) -> Matrix:
        used = None
        if self.positions is not None:
            used = np.zeros(self.width, bool)
            used[self.positions] = True
        try:
            x: Any = read_features(
                column, self.vectors, narrow=False, used=used, keep_missing=self.fill is not None
            )
        except WrongRow as wrong:
            what, row, slot = wrong.message, wrong.row, wrong.slot
            part = 0 if (context := task_context()) is None else context.partitionId()
            called = "a row" if before is None else f"row {before + row + 1} of part {part}"
            called = f"row {ids[row]}" if ids is not None and ids[row].is_valid else called
            if slot is not None:
                what = f"its feature {self._called(slot)} {REFUSED if what == IS_MISSING else what}"
            raise DataError(f"{called} cannot be used: {what}") from None
        if x.shape[1] != self.width:
            raise DataError(
                f"a feature vector has {x.shape[1]} entries, the model was fitted on {self.width}"
            )
        if self.positions is not None and not sp.issparse(x):
            x = np.take(x, self.positions, axis=1)
        elif self.positions is not None:
            x = x[:, self.positions]
            x.sort_indices()  # sums over a row's entries are in the order of the features
        return filled(x, self.fill)

    def _called(self, slot: int) -> str:
        if self.names is None:
            return str(slot)
        return repr(
            self.names[
                slot if self.positions is None else int(np.flatnonzero(self.positions == slot)[0])
            ]
        )


def lists_of(values: np.ndarray | tuple[np.ndarray, np.ndarray]) -> pa.ListArray:
    """A (rows, w) array, or a pair (values, lengths) of rows of different lengths, as an Arrow
    array of lists."""
    if isinstance(values, tuple):
        flat, lengths = values  # of texts a list
    else:
        flat, lengths = values.ravel(), np.full(len(values), values.shape[1])
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat))


class RowTask:
    """Worker side of `map_rows`; it takes `rows` at once at most, of more that Spark hands over."""

    def __init__(
        self,
        function: Callable[..., Any],
        lists: dict[str, pa.ListType],
        read: CellReader,
        rows: int | None = None,
    ) -> None:
        self.function, self.lists, self.read, self.rows = function, lists, read, rows
        self.seen = 0  # rows of the partition so far

    def __call__(self, column: pa.Array, *ids: pa.Array) -> pa.StructArray:
        from ..engine.base import one_thread

        arrays = [pa.array([], kind) for kind in self.lists.values()]
        if len(column):
            with one_thread():
                columns = self.function(self.read(column, self.seen, *ids))
            self.seen += len(column)
            arrays = [lists_of(columns[name]) for name in self.lists]
        return pa.StructArray.from_arrays(arrays, [f"c{i}" for i in range(len(arrays))])

    def parts(self, *columns: pa.Array) -> Iterator[pa.StructArray]:
        """The task on so many rows after the other, of columns of as many."""
        count = len(columns[0])
        step = self.rows or max(1, count)
        for first in range(0, max(1, count), step):
            yield self(*(column.slice(first, step) for column in columns))

    def udf(self, schema: str, ids: int = 0) -> Any:
        """The task as an iterator of batches, so that what it holds is unpickled once a task; with
        `ids` = 1 the rows' ids come beside their cells. Spark before 4.1 has no UDF of Arrow
        arrays: there they pass through pandas, value by value."""
        if hasattr(F, "arrow_udf"):

            def arrays(columns: Iterator[Any]) -> Iterator[pa.Array]:
                return itertools.chain.from_iterable(
                    itertools.starmap(self.parts, columns) if ids else map(self.parts, columns)
                )

            batch: Any = tuple[pa.Array, pa.Array] if ids else pa.Array
            arrays.__annotations__ = {"columns": Iterator[batch], "return": Iterator[pa.Array]}
            return F.arrow_udf(arrays, schema)

        def frames(columns: Iterator[Any]) -> Iterator[pd.DataFrame]:
            for column in columns:
                for part in self.parts(
                    *(
                        (_arrow(column[0]), pa.array(column[1], pa.string()))
                        if ids
                        else (_arrow(column),)
                    )
                ):
                    yield pd.DataFrame(
                        {field.name: part.field(field.name).to_pandas() for field in part.type}
                    )

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
    kinds = {
        "type": pa.int8(),
        "size": pa.int32(),
        "indices": pa.list_(pa.int32()),
        "values": pa.list_(pa.float64()),
    }
    absent = column["type"].isna().to_numpy()
    parts = [pa.array(column[name], kind, from_pandas=True) for name, kind in kinds.items()]
    return pa.StructArray.from_arrays(parts, list(kinds), mask=pa.array(absent))
