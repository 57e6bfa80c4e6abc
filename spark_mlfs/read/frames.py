"""Frames that users have beside Spark's, and sessions that have no JVM at hand."""

from __future__ import annotations

from typing import Any

from ..errors import DataError, ParameterError
from ..frame import LocalFrame
from ..lazy import DataFrame, SparkSession

ARRAYS = "for tables in memory call spark_mlfs.rank or the estimators of spark_mlfs.sklearn"
OF_THE_JVM = "a Connect client before 4.0 has none of the JVM's classes"


def jvm_within_reach() -> bool:
    """Whether Spark ML's own stages can be made and loaded: not by a Connect client before 4.0."""
    import pyspark
    from pyspark.sql.utils import is_remote

    return not is_remote() or int(pyspark.__version__.split(".")[0]) >= 4


def as_spark(data: Any, spark: SparkSession | None = None) -> DataFrame:
    """A Spark frame as it is, a pandas frame through the session (None: the active one); `ParameterError` for anything else."""
    if type(data).__module__.startswith("pyspark.") or isinstance(data, LocalFrame):
        return data
    if not (type(data).__module__.startswith("pandas.") and hasattr(data, "columns")):
        kind = f"{type(data).__module__.partition('.')[0]}.{type(data).__name__}"
        raise ParameterError(f"a Spark or a pandas frame is needed, not {kind}; {ARRAYS}")
    from pyspark.sql import SparkSession

    spark = spark or SparkSession.getActiveSession()
    if spark is None:
        raise ParameterError(f"a pandas frame needs a Spark session: start one with spark_mlfs.local_session(); {ARRAYS}")
    if not all(isinstance(name, str) for name in data.columns):
        raise DataError("the columns of a pandas frame need texts as names: frame.columns = frame.columns.astype(str)")
    try:
        return spark.createDataFrame(data)
    except Exception as error:
        said = str(error).strip().split("\n")[0][:200]
        raise DataError(f"Spark cannot take this pandas frame ({said}); give each column one type of value") from None
