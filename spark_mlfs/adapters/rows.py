"""NumPy functions of rows as functions of Arrow arrays, for either engine."""

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
from ..errors import DataError, SparkMlfsError, for_driver, quantity, task_context
from ..formats import counts_words, tabular
from ..frames.schema import CATEGORIES, attribute_names, categories_of
from ..kernels.matrix import Matrix
from ..kernels.missing import IS_MISSING, REFUSED, fill_values, filled
from ..lazy import F

MOST_NAMES = 1 << 16  # that travel to the workers, for messages alone
FAULT = "fault"  # the field of a UDF's answer that says why there is none


def unmatched(names: np.ndarray, indices: np.ndarray, slots: Sequence[str]) -> str | None:
    """Describe the first mismatch between the names `slots` and the features names[indices]."""
    known = set(slots)
    missing = [names[i] for i in indices if names[i] not in known]
    if missing:
        return (
            f"lacks {len(missing)} of the features it was fitted on, {missing[0]!r} first; "
            "give it the training features"
        )
    trained = set(names)
    unknown = [name for name in slots if name not in trained]
    if unknown:
        count = quantity(len(unknown), "feature")
        return f"has {count} it was not fitted on, {unknown[0]!r} first; leave them out"
    return None


class Fitted:
    """What is fitted on `numFeatures` features called `featureNames`; `_extra` are its facts."""

    numFeatures: Any
    featureNames: Any
    _extra: dict[str, Any]
    noun = "the model"  # in messages
    _aside: ClassVar[tuple[str, ...]] = ("fill", CATEGORIES)  # facts that no summary shows

    @property
    def summary(self) -> dict[str, Any]:
        return {k: v for k, v in self._extra.items() if k not in self._aside}

    def fill(self) -> np.ndarray | None:
        """Return the value (numFeatures,) that stands for a missing one of each feature, or None.

        `kernels.missing` has the rules."""
        return fill_values(self._extra, self.numFeatures)

    def reader_options(self, format: str, options: Mapping[str, Any]) -> dict[str, Any]:
        """Return the options of a reader whose features are to be those of the training."""
        from ..read.missing import left_to

        out = dict(options)
        if format == "libsvm" and not {"num_features", "feature_names"} & set(out):
            out["num_features"] = self.numFeatures  # fewer rows need not reach the last feature
        if format in ("arff", "mat") or (tabular(format) and not counts_words(format)):
            out["missing"] = left_to(self.summary, out.get("missing"))
            if CATEGORIES in self._extra:
                out[CATEGORIES] = self._extra[CATEGORIES]
        return out

    def slots(self, frame: Any, column: str) -> Sequence[str] | None:
        """Return the names of a column's entries.

        Raises `DataError` where codes of categories stand for other values than in training."""
        trained = self._extra.get(CATEGORIES, {})
        current = categories_of(frame, column)
        if trained.get("codes") and current:
            for name, values in trained["values"].items():
                if current["values"].get(name, values) != values:
                    raise DataError(
                        f"feature {name!r} of {column!r} is a category of other values than "
                        f"{self.noun} was fitted on: read the rows with the options that its "
                        "reader_options(format, options) returns"
                    )
        return attribute_names(frame, column)

    def find(self, indices: np.ndarray, slots: Sequence[str] | None, title: str) -> np.ndarray:
        """Return where features are in a column whose entries are called `slots`.

        By name where both sides have names; `indices` themselves where they are in their places.
        Raises `DataError`, which calls the column `title`, where they are not those of the
        training."""
        if slots is None:
            return indices
        names = self.featureNames
        if not self._extra.get("named"):
            if len(slots) != len(names):
                raise DataError(
                    f"{title} has {quantity(len(slots), 'feature')}, {self.noun} was fitted on "
                    f"{len(names)}"
                )
            return indices
        if len(slots) == len(names) and all(slots[i] == names[i] for i in indices):
            return indices
        problem = unmatched(np.array(names, object), indices, slots)
        if problem is not None:
            raise DataError(f"{title} {problem}")
        places = {name: index for index, name in enumerate(slots)}
        return np.array([places[names[i]] for i in indices], np.int64)

    def names_for_messages(self, features: np.ndarray) -> list[str] | None:
        """Return the names of features; None where they are too many to travel to the workers."""
        if not self._extra.get("named") or len(features) > MOST_NAMES:
            return None
        names: list[str] = np.array(self.featureNames, object)[features].tolist()
        return names


# of a batch's cells, how many rows of the partition came before, and maybe the rows' ids
CellReader = Callable[..., Matrix]


@dataclass(frozen=True)
class FeatureCells:
    """Reads arrays, or the structs of vectors, as (rows, width) float64 features.

    CSR where any row is sparse. `positions` selects and orders the columns: what others hold does
    not matter. `fill` are the values of missing ones, `names` those of the features, both in that
    order. `DataError` for null cells, what is no finite number, and other widths; it names the row
    by its id, or with `before`, how many rows of the partition came before, by its place."""

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
                column,
                self.vectors,
                narrow=False,
                used=used,
                keep_missing=self.fill is not None,
            )
        except WrongRow as wrong:
            raise DataError(self._message(wrong, before, ids)) from None
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

    def _message(self, wrong: WrongRow, before: int | None, ids: pa.Array | None) -> str:
        """Name the row and the feature of a wrong cell."""
        row = "a row"
        if ids is not None and ids[wrong.row].is_valid:
            row = f"row {ids[wrong.row]}"
        elif before is not None:
            context = task_context()
            part = 0 if context is None else context.partitionId()
            row = f"row {before + wrong.row + 1} of part {part}"
        problem = wrong.message
        if wrong.slot is not None:
            reason = REFUSED if problem == IS_MISSING else problem
            problem = f"its feature {self._name(wrong.slot)} {reason}"
        return f"{row} cannot be used: {problem}"

    def _name(self, slot: int) -> str:
        if self.names is None:
            return str(slot)
        if self.positions is not None:
            slot = int(np.flatnonzero(self.positions == slot)[0])
        return repr(self.names[slot])


def lists_of(values: np.ndarray | tuple[np.ndarray, np.ndarray]) -> pa.ListArray:
    """Return an Arrow array of lists of a (rows, w) array, or of a pair (values, lengths).

    The values of a pair may be an Arrow array."""
    if isinstance(values, tuple):
        flat, lengths = values  # of texts a list
    else:
        flat = values.ravel()
        lengths = np.full(len(values), values.shape[1])
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    entries = flat if isinstance(flat, pa.Array) else pa.array(flat)
    return pa.ListArray.from_arrays(pa.array(offsets), entries)


class RowTask:
    """Worker side of `map_rows`; it takes `rows` at once at most, of more that Spark hands over."""

    def __init__(
        self,
        function: Callable[..., Any],
        lists: dict[str, pa.ListType],
        read: CellReader,
        rows: int | None = None,
    ) -> None:
        self.function = function
        self.lists = lists
        self.read = read
        self.rows = rows
        self.rows_before = 0  # rows of the partition so far

    def __call__(self, column: pa.Array, *ids: pa.Array) -> pa.StructArray:
        from ..engine.base import one_thread

        arrays = [pa.array([], kind) for kind in self.lists.values()]
        if len(column):
            with one_thread():
                columns = self.function(self.read(column, self.rows_before, *ids))
            self.rows_before += len(column)
            arrays = [lists_of(columns[name]) for name in self.lists]
        return pa.StructArray.from_arrays(arrays, [f"c{i}" for i in range(len(arrays))])

    def parts(self, *columns: pa.Array) -> Iterator[pa.StructArray]:
        """Run the task on slices of `rows` rows of the columns, one after the other."""
        count = len(columns[0])
        step = self.rows or max(1, count)
        for first in range(0, max(1, count), step):
            yield self._answer([column.slice(first, step) for column in columns])

    def _answer(self, columns: Sequence[pa.Array]) -> pa.StructArray:
        """Return what the task makes of the columns, and the error that it raises as `FAULT`."""
        count = len(columns[0])
        try:
            fields = self(*columns).flatten()
            faults = pa.nulls(count, pa.string())
        except SparkMlfsError as error:
            fields = [pa.nulls(count, kind) for kind in self.lists.values()]
            faults = pa.array([for_driver(error)] * count)
        names = [f"c{i}" for i in range(len(fields))]
        return pa.StructArray.from_arrays([*fields, faults], [*names, FAULT])

    def udf(self, schema: str, ids: int = 0) -> Any:
        """Return the task as a UDF of an iterator of batches: it is unpickled once a Spark task.

        Its answers have a field `FAULT`. With `ids` = 1 the rows' ids come beside their cells.
        Spark before 4.1 has no UDF of Arrow arrays: there they pass through pandas, value by
        value."""
        schema += f", {FAULT} string"
        if hasattr(F, "arrow_udf"):

            def arrays(columns: Iterator[Any]) -> Iterator[pa.Array]:
                parts = itertools.starmap(self.parts, columns) if ids else map(self.parts, columns)
                return itertools.chain.from_iterable(parts)

            batch: Any = tuple[pa.Array, pa.Array] if ids else pa.Array
            arrays.__annotations__ = {"columns": Iterator[batch], "return": Iterator[pa.Array]}
            return F.arrow_udf(arrays, schema)

        def frames(columns: Iterator[Any]) -> Iterator[pd.DataFrame]:
            for column in columns:
                arrays = [_arrow(column[0] if ids else column)]
                if ids:
                    arrays.append(pa.array(column[1], pa.string()))
                for part in self.parts(*arrays):
                    yield pd.DataFrame(
                        {field.name: part.field(field.name).to_pandas() for field in part.type}
                    )

        # a vector arrives as a struct, as several columns do: one column a field
        structs = getattr(self.read, "vectors", False) or getattr(self.read, "structs", False)
        cells: Any = pd.DataFrame if structs else pd.Series
        batches: Any = Iterator[tuple[cells, pd.Series]] if ids else Iterator[cells]
        frames.__annotations__ = {"columns": batches, "return": Iterator[pd.DataFrame]}
        return F.pandas_udf(frames, schema)  # type: ignore[attr-defined]


def _arrow(column: pd.Series | pd.DataFrame) -> pa.Array:
    """Convert a pandas column of arrays, of structs, or of texts back to Arrow."""
    if isinstance(column, pd.Series):
        texts = len(column) and isinstance(column.iloc[0], str)
        return pa.array(column, pa.string() if texts else pa.list_(pa.float64()))
    kinds = {
        "type": pa.int8(),
        "size": pa.int32(),
        "indices": pa.list_(pa.int32()),
        "values": pa.list_(pa.float64()),
    }
    names = list(column.columns)
    parts = [pa.array(column[name], kinds.get(name), from_pandas=True) for name in names]
    absent = pa.array(column["type"].isna().to_numpy()) if "type" in names else None
    return pa.StructArray.from_arrays(parts, names, mask=absent)
