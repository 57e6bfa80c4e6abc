"""The features of a column of contents, and the rows whose content cannot be used."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

import pyarrow as pa

from ..errors import DataError, option
from ..frame import Batches, Kind, LocalFrame
from ..lazy import DataFrame, F
from ..media.base import EncodeCells
from ..schema import with_names
from . import vectors
from .batches import small_batches
from .errors import reading
from .layout import quoted

PATH, CONTENT, REASON = "path", "content", "reason"
LISTED = 100_000  # rejected files that are listed


def encoded(frame: Any, encoder: EncodeCells, output: str, column: str = CONTENT, reason: str = REASON) -> Any:
    """`frame` with the features of a column as a vector, and reasons: those it had, and why a cell has no features (its vector is
    zero then). In this process the column itself goes."""
    if isinstance(frame, LocalFrame):
        kinds = {name: kind for name, kind in frame.kinds.items() if name not in (column, reason, output)}
        function = partial(_encoded, encoder=encoder, column=column, output=output, reason=reason, kept=list(kinds))
        metadata = {name: told for name, told in frame.metadata.items() if name in kinds}
        made = frame.mapInArrow(function, {**kinds, output: Kind("vector"), reason: Kind("string")})
        return with_names(replace(made, metadata=metadata), output, encoder.names)  # type: ignore[arg-type]
    from pyspark.ml.functions import array_to_vector

    known = F.col(quoted(reason)) if reason in frame.columns else F.lit(None).cast("string")
    out = frame.withColumn("_encoded", encoder.sent(frame.sparkSession).udf()(F.col(quoted(column)), known))
    out = out.withColumn(output, array_to_vector(F.col("_encoded.c0"))).withColumn(reason, F.col("_encoded.c1")).drop("_encoded")
    return with_names(out, output, encoder.names)


def _encoded(
    batches: Batches, encoder: EncodeCells, column: str, output: str, reason: str, kept: Sequence[str]
) -> Iterator[pa.RecordBatch]:
    task = encoder.open()
    for batch in batches:
        known = batch[reason] if reason in batch.schema.names else None
        values, reasons = task(batch[column], known)
        x = vectors.dense(values).to_arrow()
        yield pa.RecordBatch.from_arrays([*(batch[name] for name in kept), x, reasons], [*kept, output, reason])


# ---- what cannot be used ----


@dataclass(frozen=True)
class Rejected:
    """Files that cannot be used: `count` of `all`; `rows` of path and reason, at most `LISTED`; a `gallery` of the others; the
    `cached` features of all."""

    all: int
    count: int
    rows: list[tuple[str, str]]
    gallery: Any = field(default=None, compare=False, repr=False)
    cached: Any = field(default=None, compare=False, repr=False)

    def release(self) -> None:
        """Have Spark keep the features no longer: files are decoded anew where these are read again."""
        if self.cached is not None:
            self.cached.unpersist()

    def table(self) -> Any:
        """The rows as a pandas frame."""
        import pandas as pd

        return pd.DataFrame(self.rows, columns=[PATH, REASON])

    def told(self) -> dict[str, Any]:
        """What a manifest says of them."""
        return {
            "files": self.all,
            "rejected": self.count,
            "reasons": dict(Counter(kind_of(r) for _, r in self.rows).most_common(20)),
        }


def refuse(path: str, reason: str) -> DataError:
    """The error for a file that cannot be used."""
    return DataError(f"{path}: {reason}; remove it, or give {option('on_error', 'skip')}")


def rejected_rows(frame: Any, path: str = PATH) -> list[tuple[str, str]]:
    """Path and reason of the rows that have one, by path, at most `LISTED`."""
    if isinstance(frame, LocalFrame):
        some = (batch.filter(batch[REASON].is_valid()) for batch in frame.select(path, REASON).batches())
        return sorted((str(row[path]), row[REASON]) for batch in some for row in batch.to_pylist())[:LISTED]
    with reading():
        rows = frame.where(F.col(REASON).isNotNull()).select(F.col(quoted(path)).cast("string"), REASON).orderBy(REASON)
        return sorted((row[0], row[1]) for row in rows.limit(LISTED).collect())


def kind_of(reason: str) -> str:
    """A reason without what only one file has: its figures."""
    return re.sub(r"\d+", "N", reason)


def persisted(rows: DataFrame, table: DataFrame) -> tuple[DataFrame, Rejected]:
    """The encoded rows, kept by Spark so that no file is decoded twice, and which of them cannot be used."""
    rows = rows.drop(CONTENT)
    try:
        rows = rows.persist()
    except Exception as error:  # where nothing can be cached, files are decoded at each use
        if "SUPPORT" not in str(error).upper():
            raise
    bad = F.col(REASON).isNotNull()
    with small_batches(rows.sparkSession, lambda: widest(table), files=True), reading():
        every, count = rows.select(F.count(F.lit(1)), F.count_if(bad)).head() or (0, 0)
    return rows, Rejected(every, count, rejected_rows(rows) if count else [], cached=rows)


def widest(rows: DataFrame) -> int:
    """The bytes of the largest file, of the listing alone."""
    with reading():
        row = rows.where(F.col(REASON).isNull()).select(F.max("size")).head()
    return int((row and row[0]) or 1)
