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

from ..errors import DataError, ParameterError, option
from ..frames import vectors
from ..frames.errors import reading
from ..frames.frame import Batches, LocalFrame
from ..frames.schema import CATEGORIES, FEATURES, FILL, attribute_metadata
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
    """Return the policy of a reader of later rows: what a model was `fitted` to fill is left to it;
    another is refused."""
    own = fitted.get("missing")
    if own not in ("mean", "zero"):
        return missing or "error"
    if missing in ("mean", "zero") and missing != own:
        raise ParameterError(
            f"missing={missing!r}: the model was trained with missing={own!r}, and fills values as "
            "it did there"
        )
    return "keep" if missing in (None, own) else missing


def settle(
    features: Vectors, missing: str, where: Callable[[int, int], str]
) -> tuple[np.ndarray, Vectors]:
    """The rows to keep and their vectors under a policy; NaN stays where ``"mean"`` is left to
    `impute`."""
    n, unknown = len(features), np.isnan(features.values)
    if not unknown.any() or missing in ("keep", "mean"):
        return np.arange(n), features
    if missing == "error":
        at = np.flatnonzero(unknown)[0]
        place = where(int(features.rows[at]), int(features.indices[at]))
        raise DataError(f"{place}: the value is missing; pass {MISSING_TAKES}, or correct the data")
    if missing == "drop":
        kept = np.setdiff1d(np.arange(n), features.rows[unknown])
        return kept, features.take(kept)
    return np.arange(n), _filled(features, np.zeros(features.size))


def _filled(features: Vectors, fill: np.ndarray) -> Vectors:
    values, unknown = features.values.copy(), np.isnan(features.values)
    values[unknown] = fill[features.indices[unknown]]
    # A stored 0 in a sparse vector is legal, but no reader stores one.
    kept = ~(unknown & (values == 0)) | np.repeat(features.dense, features.lengths)
    lengths = np.bincount(features.rows[kept], minlength=len(features))
    return Vectors(features.size, features.dense, lengths, features.indices[kept], values[kept])


def impute(
    frame: DataFrame,
    missing: str,
    names: Sequence[str] | None,
    settled: bool = False,
    made: Categories | None = None,
) -> DataFrame:
    """`frame` without missing features, named and with their fill; where `settled` only a mean is
    left, of a pass of its own. It says what columns of texts and dates were `made` of."""
    fitted: dict[str, Any] = {} if missing in ("error", "keep") else {"missing": missing}
    fitted |= {} if made is None else {CATEGORIES: made.facts}
    fill, lacking = None, missing != "keep" and not settled
    if missing == "mean":
        fill, lacking = _means(frame)
        fitted["fill"] = fill.tolist()
    if lacking:
        schema = frame.kinds if isinstance(frame, LocalFrame) else frame.schema
        frame = frame.mapInArrow(partial(_impute, fill=fill), schema)
    metadata = {
        **(attribute_metadata(names) if names else {}),
        **({FILL: fitted} if fitted else {}),
    }
    return frame.withMetadata(FEATURES, metadata) if metadata else frame


def _impute(batches: Batches, fill: np.ndarray | None) -> Batches:
    for batch in batches:
        columns, features = (
            dict(zip(batch.schema.names, batch.columns, strict=True)),
            vectors.from_arrow(batch[FEATURES]),
        )
        columns[FEATURES] = _filled(
            features, np.zeros(features.size) if fill is None else fill
        ).to_arrow()
        yield pa.RecordBatch.from_pydict(columns)


def _means(frame: DataFrame) -> tuple[np.ndarray, bool]:
    """The mean of the known values of every column up to the last with one other than 0, and
    whether any value is missing."""
    features = frame.select(FEATURES)
    with reading():
        extents = _by_slot(features, _extent, {"missing": "sum", "largest": "max", "rows": "sum"})
        slots = extents["slot"].to_numpy()
        width = int(slots.max(initial=-1)) + 1
        missing, largest, some = np.zeros(width, np.int64), np.zeros(width), slots >= 0
        missing[slots[some]], largest[slots[some]] = (
            extents["missing"][some],
            extents["largest"][some],
        )
        scale = policies.scale_above(largest)
        sums = _by_slot(features, partial(_fixed_point, scale=scale), {"high": "sum", "low": "sum"})
    high, low = np.zeros((2, width), np.int64)
    high[sums["slot"]], low[sums["slot"]] = sums["high"], sums["low"]
    known = int(extents["rows"].sum()) - missing
    return np.array(policies.means_of_sums(high, low, known, scale)), bool(missing.any())


def missing_slots(frame: DataFrame) -> set[int]:
    """Return the slots of the features of which some value is missing."""
    with reading():
        found = _by_slot(
            frame.select(FEATURES), _extent, {"missing": "sum", "largest": "max", "rows": "sum"}
        )
    return {*found["slot"][(found["missing"] > 0) & (found["slot"] >= 0)]}


def _by_slot(features: DataFrame, task: Any, columns: Mapping[str, str]) -> pd.DataFrame:
    """Return the numbers that tasks give slots, summed, or the largest, by slot."""
    types = ", ".join(
        f"{name} {'double' if how == 'max' else 'long'}" for name, how in columns.items()
    )
    numbers = features.mapInArrow(task, f"slot int, {types}")
    if isinstance(numbers, LocalFrame):
        rows = [batch.to_pandas() for batches in numbers.each(list) for batch in batches]
        return pd.concat(rows).groupby("slot", as_index=False).agg(columns)
    wanted = [getattr(F, how)(name).alias(name) for name, how in columns.items()]
    return numbers.groupBy("slot").agg(*wanted).toPandas()


def _extent(batches: Batches) -> Batches:
    """Missing values and largest magnitude of every column with a missing value or a stored one;
    slot -1 counts rows."""
    rows, missing, largest = 0, np.zeros(0, np.int64), np.zeros(0)
    for batch in batches:
        v = vectors.from_arrow(batch.column(0))
        rows += int((~np.asarray(v.null)).sum())
        missing = np.pad(missing, (0, max(0, v.size - len(missing))))
        largest = np.pad(largest, (0, max(0, v.size - len(largest))))
        counts, magnitudes = policies.count_missing(v.indices, v.values, len(missing))
        missing, largest = missing + counts, np.maximum(largest, magnitudes)
    slots = np.flatnonzero((missing > 0) | (largest > 0))
    columns = {
        "missing": (0, missing[slots]),
        "largest": (0.0, largest[slots]),
        "rows": (rows, np.zeros(len(slots), np.int64)),
    }
    numbers = {name: np.concatenate([[first], rest]) for name, (first, rest) in columns.items()}
    yield pa.RecordBatch.from_pydict(
        {"slot": np.concatenate([[-1], slots]).astype(np.int32), **numbers}
    )


def _fixed_point(batches: Batches, scale: np.ndarray) -> Batches:
    """Sums of the known values of every column as integers of 2·30 bits below the column's
    scale."""
    high, low = np.zeros((2, len(scale)), np.int64)
    for batch in batches:
        v = vectors.from_arrow(batch.column(0))
        stored = v.indices < len(scale)  # others are 0
        whole, rest = policies.sum_known(v.indices[stored], v.values[stored], scale)
        high, low = high + whole, low + rest
    yield pa.RecordBatch.from_pydict(
        {"slot": np.arange(len(scale), dtype=np.int32), "high": high, "low": low}
    )
