"""Missing feature values, the same for every reader: `kernels.missing` says what becomes of them.
``"keep"`` leaves them NaN, for a fitted model, which fills them.

The frame says in the metadata of its features what was done, and the fill of every feature: an
estimator takes it from there."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
from numpy import ndarray

from ..errors import DataError, ParameterError, option
from ..frames import vectors
from ..frames.errors import reading
from ..frames.frame import Batches, Kind, LocalFrame
from ..frames.names import with_metadata
from ..frames.schema import CATEGORIES, FEATURES, FILL, attribute_metadata
from ..frames.stages import LastStage, MadeColumn, mapped, with_columns
from ..frames.vectors import Vectors
from ..kernels import missing as policies
from ..kernels.categories import Categories
from ..lazy import DataFrame, F
from ..params import Choice, Parameter

MISSING_TAKES = f"{option('missing', 'mean')}, 'zero' or 'drop'"
MISSING_FEATURES = Parameter(
    "missing",
    "error",
    Choice((*policies.POLICIES, "keep")),
    "what becomes of a feature value that is missing",
)


def left_to(fitted: Mapping[str, Any], missing: str | None) -> str:
    """Return the policy of a reader of later rows: what a model was `fitted` to fill is left to it.

    Raises `ParameterError` for another fill."""
    policy = fitted.get("missing")
    if policy not in ("mean", "zero"):
        return missing or "error"
    if missing in ("mean", "zero") and missing != policy:
        raise ParameterError(
            f"missing={missing!r}: the model was trained with missing={policy!r}, and fills "
            "values as it did there"
        )
    return "keep" if missing in (None, policy) else missing


def settle(
    features: Vectors, missing: str, cell_name: Callable[[int, int], str]
) -> tuple[ndarray, Vectors]:
    """Return the rows to keep and their vectors under a policy.

    NaN stays where ``"mean"`` is left to `impute`. ``"error"`` raises `DataError`, which calls a
    cell as `cell_name` does of row and slot."""
    n = len(features)
    unknown = np.isnan(features.values)
    if not unknown.any() or missing in ("keep", "mean"):
        return np.arange(n), features
    if missing == "error":
        entry = np.flatnonzero(unknown)[0]
        cell = cell_name(int(features.rows[entry]), int(features.indices[entry]))
        raise DataError(f"{cell}: the value is missing; pass {MISSING_TAKES}, or correct the data")
    if missing == "drop":
        complete = np.setdiff1d(np.arange(n), features.rows[unknown])
        return complete, features.take(complete)
    return np.arange(n), filled(features, np.zeros(features.size))


def filled(features: Vectors, fill: ndarray) -> Vectors:
    """Return vectors with the fill of each feature in place of its missing values."""
    values = features.values.copy()
    unknown = np.isnan(features.values)
    values[unknown] = fill[features.indices[unknown]]
    # A stored 0 in a sparse vector is legal, but no reader stores one.
    in_dense = np.repeat(features.dense, features.lengths)
    stored = ~(unknown & (values == 0)) | in_dense
    lengths = np.bincount(features.rows[stored], minlength=len(features))
    return Vectors(
        features.size,
        features.dense,
        lengths,
        features.indices[stored],
        values[stored],
    )


def impute(
    frame: DataFrame,
    missing: str,
    names: Sequence[str] | None,
    categories: Categories | None = None,
) -> DataFrame:
    """Return a frame without missing features, named and with their fill in its metadata.

    Of what a reader's rows have settled a mean is left to do, which takes a pass of its own. The
    metadata also have what columns of texts and dates became (`categories`)."""
    fitted: dict[str, Any] = {} if missing in ("error", "keep") else {"missing": missing}
    if categories is not None:
        fitted[CATEGORIES] = categories.facts
    if missing == "mean":
        fill, lacking = _means(frame)
        fitted["fill"] = fill.tolist()
        if lacking:
            column = MadeColumn(Kind("vector"), partial(_imputed, fill=fill), [FEATURES])
            frame = with_columns(frame, {FEATURES: column})
    metadata = attribute_metadata(names) if names else {}
    if fitted:
        metadata[FILL] = fitted
    return with_metadata(frame, FEATURES, metadata) if metadata else frame


def _imputed(batch: pa.RecordBatch, fill: ndarray) -> pa.Array:
    return filled(vectors.from_arrow(batch[FEATURES]), fill).to_arrow()


EXTENT = {
    "missing": "sum",
    "largest": "max",
    "rows": "sum",
}


def _means(frame: DataFrame) -> tuple[ndarray, bool]:
    """Return the mean of the known values of every column, and whether any value is missing.

    The columns are those up to the last one with a value other than 0."""
    with reading():
        extents = _by_slot(frame, _extent, EXTENT)
        slots = extents["slot"].to_numpy()
        width = int(slots.max(initial=-1)) + 1
        missing = np.zeros(width, np.int64)
        largest = np.zeros(width)
        in_columns = slots >= 0
        missing[slots[in_columns]] = extents["missing"][in_columns]
        largest[slots[in_columns]] = extents["largest"][in_columns]
        scale = policies.scale_above(largest)
        sums = _by_slot(frame, partial(_fixed_point, scale=scale), {"high": "sum", "low": "sum"})
    high, low = np.zeros((2, width), np.int64)
    high[sums["slot"]] = sums["high"]
    low[sums["slot"]] = sums["low"]
    known = int(extents["rows"].sum()) - missing
    return np.array(policies.means_of_sums(high, low, known, scale)), bool(missing.any())


def missing_slots(frame: DataFrame) -> set[int]:
    """Return the slots of the features of which some value is missing."""
    with reading():
        extents = _by_slot(frame, _extent, EXTENT)
    return {*extents["slot"][(extents["missing"] > 0) & (extents["slot"] >= 0)]}


def largest_values(frame: DataFrame, width: int) -> ndarray:
    """Return the largest magnitude (width,) of the values of each feature."""
    with reading():
        extents = _by_slot(frame, _extent, EXTENT)
    largest = np.zeros(width)
    of_features = extents[extents["slot"] >= 0]
    largest[of_features["slot"]] = of_features["largest"]
    return largest


def _by_slot(frame: DataFrame, task: Any, columns: Mapping[str, str]) -> pd.DataFrame:
    """Return the numbers that tasks give slots of the features, aggregated by slot as `columns` has
    it."""
    types = {"max": Kind("double"), "sum": Kind("bigint")}
    kinds = {"slot": Kind("int")}
    kinds |= {name: types[function] for name, function in columns.items()}
    numbers = mapped(frame, LastStage(task, [FEATURES]), kinds)
    if isinstance(numbers, LocalFrame):
        rows = [batch.to_pandas() for batches in numbers.map_parts(list) for batch in batches]
        return pd.concat(rows).groupby("slot", as_index=False).agg(columns)
    aggregates = [getattr(F, function)(name).alias(name) for name, function in columns.items()]
    return numbers.groupBy("slot").agg(*aggregates).toPandas()


def _extent(batches: Batches) -> Batches:
    """Yield missing values and largest magnitude of every column that has one or the other.

    Slot -1 counts rows."""
    rows = 0
    missing = np.zeros(0, np.int64)
    largest = np.zeros(0)
    for batch in batches:
        v = vectors.from_arrow(batch.column(0))
        rows += int((~np.asarray(v.null)).sum())
        missing = np.pad(missing, (0, max(0, v.size - len(missing))))
        largest = np.pad(largest, (0, max(0, v.size - len(largest))))
        counts, magnitudes = policies.count_missing(v.indices, v.values, len(missing))
        missing = missing + counts
        largest = np.maximum(largest, magnitudes)
    slots = np.flatnonzero((missing > 0) | (largest > 0))
    no_rows = np.zeros(len(slots), np.int64)
    yield pa.RecordBatch.from_pydict(
        {
            "slot": np.concatenate([[-1], slots]).astype(np.int32),
            "missing": np.concatenate([[0], missing[slots]]),
            "largest": np.concatenate([[0.0], largest[slots]]),
            "rows": np.concatenate([[rows], no_rows]),
        }
    )


def _fixed_point(batches: Batches, scale: ndarray) -> Batches:
    """Yield sums of the known values of every column: integers of 2·30 bits below its scale."""
    high, low = np.zeros((2, len(scale)), np.int64)
    for batch in batches:
        v = vectors.from_arrow(batch.column(0))
        stored = v.indices < len(scale)  # others are 0
        leading, trailing = policies.sum_known(v.indices[stored], v.values[stored], scale)
        high = high + leading
        low = low + trailing
    yield pa.RecordBatch.from_pydict(
        {
            "slot": np.arange(len(scale), dtype=np.int32),
            "high": high,
            "low": low,
        }
    )
