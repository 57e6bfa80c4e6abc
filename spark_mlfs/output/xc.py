"""Rows as one file of the Extreme Classification Repository: ``N D L``, then labels and features.

Rows without a feature are left out, on which readers of such files abort, and a notice counts them.
Names of features and labels stand beside, one a line."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Sequence
from functools import partial
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp

from ..blocks.block import WrongRow
from ..blocks.labels import LabelSource, label_source, read_features, read_labels
from ..errors import DataError, worker_errors
from ..frames.errors import notice
from ..frames.frame import Batches, LocalFrame
from ..frames.names import NumberedNames
from ..frames.schema import FEATURES, ID, LABELS
from ..lazy import DataFrame, F
from .folder import OutputTarget

FILE = "part-00000.txt"
_LINES = "value string, labels int"


def write_xc(frame: DataFrame, target: OutputTarget, features: Sequence[str]) -> int:
    """Write the rows of a canonical frame; return how many were written.

    Raises `DataError` for a missing feature and an unknown label, which such files do not have."""
    source, cast = label_source(frame, LABELS)
    task = partial(_lines, source=source)
    if isinstance(frame, LocalFrame):
        rows, written = _write_here(frame, task, target, len(features))
    else:
        if cast is not None:
            frame = frame.withColumn(LABELS, F.col(LABELS).cast(cast))
        rows, written = _write_there(frame, task, target, len(features))
    if written < rows:
        notice(
            f"{rows - written} of {rows} rows have none of the {len(features)} features: they are "
            "left out, as readers of such files abort on them"
        )
    labels = source.names or ()
    for kind, names in (("features", features), ("labels", labels)):
        if names and not isinstance(names, NumberedNames):
            lines = [" ".join(name.split()) + "\n" for name in names]
            target.text(f"_{kind}.txt", "".join(lines))
    return written


def _write_here(
    frame: LocalFrame,
    task: Any,
    target: OutputTarget,
    width: int,
) -> tuple[int, int]:
    assert target.folder is not None
    body = target.folder / f"_{FILE}"
    rows = written = num_labels = 0
    with body.open("wb") as file:
        for total, batches in frame.map_parts(partial(_of_part, task=task)):
            rows += total
            for batch in batches:
                written += batch.num_rows
                num_labels = max(num_labels, pc.max(batch["labels"]).as_py() or 0)
                file.writelines(text.encode() + b"\n" for text in batch["value"].to_pylist())
    _refuse_none(written)
    with (target.folder / FILE).open("wb") as out, body.open("rb") as file:
        out.write(f"{written} {width} {num_labels}\n".encode())
        shutil.copyfileobj(file, out)
    body.unlink()
    return rows, written


def _of_part(batches: Batches, task: Any) -> tuple[int, list[pa.RecordBatch]]:
    """Return how many rows a part has, and its lines."""
    rows = 0

    def counted() -> Iterable[pa.RecordBatch]:
        nonlocal rows
        for batch in batches:
            rows += batch.num_rows
            yield batch

    lines = [*task(counted())]
    return rows, lines


def _write_there(
    frame: DataFrame,
    task: Any,
    target: OutputTarget,
    width: int,
) -> tuple[int, int]:
    rows = frame.select(ID, FEATURES, LABELS)
    lines = rows.mapInArrow(task, _LINES)
    with worker_errors():
        total = rows.count()
        counts = lines.agg(F.count("value"), F.coalesce(F.max("labels"), F.lit(0)))
        ((written, num_labels),) = counts.collect()
        _refuse_none(written)
        in_order = lines.withColumn("at", F.monotonically_increasing_id())
        in_order = in_order.repartition(1).sortWithinPartitions("at").select("value")
        headed = partial(_headed, head=f"{written} {width} {num_labels}")
        mode = "append" if target.folder is not None else target.mode
        in_order.mapInArrow(headed, "value string").write.mode(mode).text(target.path)
    target.require_data()
    return total, written


def _refuse_none(written: int) -> None:
    if not written:
        raise DataError("no row has one of the features: there is nothing to write; keep more")


def _headed(batches: Batches, head: str) -> Batches:
    yield pa.RecordBatch.from_pydict({"value": [head]})
    yield from batches


def _lines(batches: Batches, source: LabelSource) -> Batches:
    """Yield the line of every row that has a feature, and how many labels the rows declare."""
    for batch in batches:
        if not batch.num_rows:
            continue
        try:
            matrix = read_features(batch[FEATURES], vectors=True, narrow=False)
            labels, num_labels = read_labels(batch[LABELS], source)
        except WrongRow as error:
            raise DataError(f"row {batch[ID][error.row].as_py()}: {error.message}") from None
        if labels["unlabelled"] is not None or labels["unknown_indptr"] is not None:
            raise DataError(
                "some labels are unknown, which files of this format cannot say; leave those rows "
                "out, or write parquet"
            )
        x = sp.csr_matrix(matrix)
        entries = pc.binary_join_element_wise(_texts(x.indices), _texts(x.data), ":")
        features = _joined(entries, x.indptr, " ")
        tags = _joined(_texts(labels["label_indices"]), labels["label_indptr"], ",")
        lines = pc.binary_join_element_wise(tags, features, " ")
        lines = lines.filter(pa.array(np.diff(x.indptr) > 0))
        width = num_labels or int(labels["label_indices"].max(initial=-1)) + 1
        widths = pa.array(np.full(len(lines), width, np.int32))
        yield pa.RecordBatch.from_arrays([lines, widths], ["value", "labels"])


def _texts(values: np.ndarray) -> pa.Array:
    return pa.array(values).cast(pa.string())


def _joined(words: pa.Array, indptr: np.ndarray, between: str) -> pa.Array:
    lists = pa.ListArray.from_arrays(pa.array(indptr.astype(np.int32)), words)
    return pc.binary_join(lists, between)
