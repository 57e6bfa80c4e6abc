"""Divide rows into training and test rows: `split` for frames of Spark's and for labels in memory."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp

from ..blocks.arrays import kind_of
from ..blocks.block import Block, WrongRow
from ..blocks.folds import ByLabelset, Hashed, Split
from ..blocks.labels import LabelSource, label_source, read_labels
from ..blocks.pack import BLOCK_SCHEMA, block_row, check_column
from ..blocks.stratification import positives
from ..errors import DataError, worker_errors
from ..frame import kinds_of
from ..lazy import Column, DataFrame, F
from ..read.layout import quoted
from .protocol import STRATIFY_ROWS, Protocol, blocks_of, by_labelset, ends_of_blocks, labels_of_blocks


def split(
    rows: Any, protocol: str = "80/20", labels: str = "labels", row_id: str = "id", seed: int = 0, delimiter: str | None = None
) -> Any:
    """Divide rows into training and test rows, the same ones on every call with one `seed`.

    Parameters
    ----------
    rows : a frame of Spark's with a column of row ids; or labels in memory as `rank` takes them, a matrix or frame (n, q), a
        class a row, or a list of tags a row
    protocol : TRAIN/TEST in per cent, "80/20", K-fold, "5-fold", or several times, "10x5-fold", "30x50/50"; with "stratified " in
        front every fold has its share of each label's rows, or nearly
        (`spark_mlfs.evaluate.protocol`)
    labels, row_id : columns of a Spark frame: its labels in any form that an estimator takes, and its row ids; rows of one id
        stay together
    delimiter : what stands between the tags of a row where labels in memory are a text a row

    Returns a pair (training, test), or a list of pairs where there are several: of a Spark frame two frames with its columns, of
    labels in memory the places of the rows, ascending. Folds that are not stratified are equal within one row, up to 200,000
    rows; above, and there alone, a Spark frame's rows go by the hash of their ids, and stratified ones by their labelset.

    >>> split([["a"], ["b"], ["a"], ["b"]], "stratified 50/50")
    (array([2, 3]), array([0, 1]))"""
    chosen = Protocol.of(protocol, seed)
    if kind_of(rows) == "pyspark":
        pairs: list[Any] = _of_frame(rows, chosen, labels, row_id)
    else:
        of_labels = positives(rows, delimiter)
        places = np.arange(of_labels.shape[0])
        tested = [one.of(places) for one in chosen.named(chosen.divide(places, of_labels))]
        pairs = [(np.flatnonzero(~test), np.flatnonzero(test)) for test in tested]
        if any(not len(side) for pair in pairs for side in pair):
            raise DataError(f"{protocol!r} of {len(places)} rows leaves a side without rows; give fewer folds, or more rows")
    return pairs[0] if len(pairs) == 1 else pairs


def _of_frame(frame: DataFrame, chosen: Protocol, labels: str, row_id: str) -> list[tuple[DataFrame, DataFrame]]:
    """Each training and test side of a Spark frame."""
    check_column(frame, row_id)
    known = F.col(quoted(row_id))
    identity = F.coalesce(known.cast("bigint") if kinds_of(frame)[row_id].whole else F.xxhash64(known), F.lit(0))
    with worker_errors():
        small = frame.select(F.lit(1)).limit(STRATIFY_ROWS + 1).count() <= STRATIFY_ROWS
    if not chosen.stratified:
        if not small:
            return _sides(frame, identity, chosen, [Hashed(chosen.shares, chosen.seed, turn) for turn in range(chosen.repeats)])
        with worker_errors():
            ids = np.array([row[0] for row in frame.select(identity).collect()], np.int64)
        return _sides(frame, identity, chosen, chosen.divide(ids, sp.csr_matrix((len(ids), 1))))
    check_column(frame, labels)
    source, cast = label_source(frame, labels)
    y = F.col(quoted(labels))
    rows = frame.select((y if cast is None else y.cast(cast)).alias("y"), identity.alias("i"))
    blocks = rows.mapInArrow(partial(_label_blocks, source), BLOCK_SCHEMA)
    if small:
        return _sides(frame, identity, chosen, chosen.divide(*labels_of_blocks(blocks)))
    parts = int(frame.sparkSession.conf.get("spark.sql.shuffle.partitions", "200") or 200)
    folds = by_labelset(ends_of_blocks(blocks, parts, chosen.shares, chosen.draws), chosen.draws)
    given = [f"_fold_{turn}" for turn in range(chosen.repeats)]
    told = blocks.mapInArrow(partial(_folds, folds), ", ".join(["_row bigint", *(f"{name} int" for name in given)]))
    told = told.groupBy("_row").agg(*(F.min(name).alias(name) for name in given))  # rows of one id stay together
    joined = frame.withColumn("_row", identity).join(told, "_row")
    metadata = {column: frame.schema[column].metadata for column in frame.columns}
    columns = [F.col(quoted(c)).alias(c, metadata=m) if m else F.col(quoted(c)) for c, m in metadata.items()]

    def side(condition: Column) -> DataFrame:
        return joined.where(condition).select(*columns)

    return [(side(F.col(given[s.repeat]) != s.fold), side(F.col(given[s.repeat]) == s.fold)) for s in chosen.named(folds)]


def _sides(frame: DataFrame, identity: Column, chosen: Protocol, folds: Sequence[Any]) -> list[tuple[DataFrame, DataFrame]]:
    """The sides of folds that go by the row ids."""
    tests = [_tested(one, identity) for one in chosen.named([*folds])]
    return [(frame.where(~test), frame.where(test)) for test in tests]


def _tested(split: Split, identity: Column) -> Column:
    @F.pandas_udf("boolean")  # type: ignore[attr-defined, untyped-decorator]
    def tested(ids: pd.Series) -> pd.Series:
        return pd.Series(split.of(ids.to_numpy()))

    out: Column = tested(identity)
    return out


def _label_blocks(source: LabelSource, batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Blocks without features of batches of labels and ids."""
    for batch in batches:
        if batch.num_rows:
            ids = batch.column(1).to_numpy(zero_copy_only=False)
            try:
                fields, _ = read_labels(batch.column(0), source)
            except WrongRow as wrong:
                raise DataError(f"row {ids[wrong.row]}: {wrong.what}") from None
            yield block_row(0, Block(np.zeros((len(ids), 0)), ids, **fields).encode(), None)


def _folds(folds: list[ByLabelset], batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The id of each row of blocks, and its fold at each repeat."""
    for block in blocks_of(batches):
        columns = [pa.array(block.ids), *(pa.array(one.of(block).astype(np.int32)) for one in folds)]
        yield pa.RecordBatch.from_arrays(columns, ["_row", *(f"_fold_{turn}" for turn in range(len(folds)))])
