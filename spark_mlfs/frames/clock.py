"""Times without a zone on their way from pandas to Spark: what the clock showed, in any session.

Spark takes them for times of the session's zone, and none that its summer time skips."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..lazy import DataFrame, F

_EPOCH = "timestamp_ntz'1970-01-01 00:00:00'"
_MICROSECOND = "interval '0.000001' second"


def times_of_the_clock(data: Any) -> dict[int, list[int | None]]:
    """Return the columns of a pandas frame that hold times without a zone, by their places.

    Their values are microseconds since the beginning of 1970."""
    times: dict[int, list[int | None]] = {}
    for place in range(data.shape[1]):
        column = data.iloc[:, place]
        if not _has_times(column):
            continue
        cells = np.asarray(column.astype("datetime64[ns]" if _old_pandas() else "datetime64[us]"))
        micros = cells.astype("datetime64[us]").astype(np.int64).tolist()
        absent = np.isnat(cells)
        times[place] = [None if absent[row] else value for row, value in enumerate(micros)]
    return times


def _old_pandas() -> bool:
    """Return whether this pandas counts nanoseconds alone."""
    import pandas as pd

    return int(pd.__version__.split(".")[0]) < 2


def _has_times(column: Any) -> bool:
    from pandas.api.types import infer_dtype

    kind = column.dtype.kind
    if kind == "M":
        return column.dt.tz is None
    if kind != "O" or infer_dtype(column, skipna=True) not in ("datetime", "datetime64"):
        return False
    return all(getattr(value, "tzinfo", None) is None for value in column.dropna())


def with_columns(data: Any, columns: Mapping[int, list[int | None]]) -> Any:
    """Return a pandas frame with other values in some columns, by their places."""
    import pandas as pd

    if not columns:
        return data
    changed = data.copy(deep=False)
    for place, values in columns.items():
        known = values if any(value is not None for value in values) else [0] * len(values)
        changed.isetitem(place, pd.Series(known, data.index, dtype=object))
    return changed


def with_times(frame: DataFrame, times: Mapping[int, list[int | None]]) -> DataFrame:
    """Return a frame of Spark's with `times` in place of their microseconds."""
    if not times:
        return frame
    names = frame.columns
    places = [f"c{place}" for place in range(len(names))]
    cells = []
    for place in range(len(names)):
        cell = F.col(f"c{place}")
        if place in times:
            since_epoch = cell.cast("bigint") * F.expr(_MICROSECOND)
            no_time = all(value is None for value in times[place])
            time = F.lit(None) if no_time else F.expr(_EPOCH) + since_epoch
            cell = time.cast("timestamp_ntz")
        cells.append(cell)
    return frame.toDF(*places).select(*cells).toDF(*names)
