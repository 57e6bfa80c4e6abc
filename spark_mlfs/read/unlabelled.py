"""Files of which nobody said what they show: their features, and the names of their folders."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import pyarrow as pa

from ..formats import Reader
from ..frames.frame import Kind, LocalFrame
from ..frames.stages import MadeColumn, with_columns
from ..lazy import DataFrame, F
from .content import FOLDER, NO_FOLDER, Files, locate, open_files
from .encoded import REASON


def files_without_labels(spark: Any, path: Any, options: Mapping[str, Any]) -> DataFrame:
    """Return the rows of files for which no labels were given: the folders' names, or none."""
    reader = Files()
    p = Reader.check(reader, path, options)
    table: Any = open_files(spark, path, p, labelled=locate(path, p["root"]).table is None)
    return reader.read_table(spark, path, p, _without_labels(table))


def _without_labels(table: Any) -> Any:
    """Return rows of files with a column of folders, none of them refused for lack of one."""
    if isinstance(table, LocalFrame):
        columns = {REASON: MadeColumn(Kind("string"), _other_reasons, [REASON])}
        if FOLDER not in table.columns:
            tags = Kind("array<string>", Kind("string"))
            columns[FOLDER] = MadeColumn(tags, _no_folders, [REASON])
        return with_columns(table, columns)
    if FOLDER not in table.columns:
        table = table.withColumn(FOLDER, F.array().cast("array<string>"))
    return table.withColumn(REASON, F.when(F.col(REASON) != NO_FOLDER, F.col(REASON)))


def _other_reasons(batch: pa.RecordBatch) -> pa.Array:
    reasons = batch[REASON].to_pylist()
    return pa.array([None if reason == NO_FOLDER else reason for reason in reasons], pa.string())


def _no_folders(batch: pa.RecordBatch) -> pa.Array:
    return pa.array([[]] * batch.num_rows, pa.list_(pa.string()))
