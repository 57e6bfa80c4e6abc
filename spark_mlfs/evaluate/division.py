"""`split`: the rows of a Spark frame, or labels in memory, divided into training and test rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp

from ..blocks.arrays import groups_of
from ..blocks.block import Block, WrongRow
from ..blocks.folds import ByLabelset, Hashed, Listed, Split, positives
from ..blocks.labels import LabelSource, label_source, read_labels
from ..blocks.pack import check_column
from ..blocks.tables import aligned_rows, kind_of
from ..errors import DataError, quantity, worker_errors
from ..frames.frame import Batches, kinds_of
from ..frames.names import column_named, set_apart
from ..frames.sessions import small_batches
from ..lazy import Column, DataFrame, F
from .block_folds import (
    PAIR_SCHEMA,
    Read,
    by_labelset,
    fold_ends_of_blocks,
    groups_and_labels,
    labels_of_blocks,
    labels_of_groups,
)
from .protocol import MOST_LISTED_ROWS, Protocol

Sides = tuple[DataFrame, DataFrame]  # training and test rows


def split(
    rows: Any,
    protocol: str = "80/20",
    labels: str = "labels",
    row_id: str = "id",
    seed: int = 0,
    delimiter: str | None = None,
    groups: Any = None,
) -> Any:
    """Divide rows into training and test rows, the same ones on every call with one `seed`.

    Parameters
    ----------
    rows : a frame of Spark's with a column of row ids; or labels in memory as `rank` takes them, a
        matrix or frame (n, q), a class a row, or a list of tags a row
    protocol : TRAIN/TEST in per cent, "80/20", K-fold, "5-fold", or several times, "10x5-fold",
        "30x50/50"; with "stratified " in front every fold has its share of each label's rows, or
        nearly (`spark_mlfs.evaluate.protocol`)
    labels, row_id : columns of a Spark frame: its labels in any form that an estimator takes, and
        its row ids; rows of one id stay together
    delimiter : what stands between the tags of a row where labels in memory are a text a row
    groups : what must not be divided, such as patients or days: a group a row of labels in memory,
        or a column of a Spark frame. Folds are as even as whole groups allow; a notice says where
        they are not

    Returns a pair (training, test), or a list of pairs where there are several: of a Spark frame
    two frames with its columns, of labels in memory the places of the rows, ascending. Folds that
    are not stratified are equal within one row, up to 200,000 rows; above, and there alone, a Spark
    frame's rows go by the hash of their ids, and stratified ones by their labelset.

    >>> split([["a"], ["b"], ["a"], ["b"]], "stratified 50/50")
    (array([2, 3]), array([0, 1]))"""
    parsed = Protocol.of(protocol, seed)
    pairs: list[Any]
    if kind_of(rows) == "pyspark":
        names = [labels, row_id if groups is None else groups]
        apart = set_apart(rows, names)
        pairs = _split_frame(
            apart,
            parsed,
            labels,
            row_id,
            groups,
        )
        if apart is not rows:
            pairs = [tuple(side.toDF(*rows.columns) for side in pair) for pair in pairs]
    else:
        groups = aligned_rows(rows=rows, groups=groups)["groups"]
        matrix = positives(rows, delimiter)
        keys = None if groups is None else groups_of(groups, matrix.shape[0])
        pairs = _split_labels(
            matrix,
            parsed,
            protocol,
            keys,
        )
    return pairs[0] if len(pairs) == 1 else pairs


def _split_labels(
    labels: sp.csr_matrix,
    protocol: Protocol,
    text: str,
    groups: np.ndarray | None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Return the training and test positions of each split, of labels (n, q) of 0 and 1."""
    positions = np.arange(labels.shape[0])
    keys = positions if groups is None else groups
    pairs = []
    for part in protocol.splits_of(protocol.listed_folds(keys, labels, groups is not None)):
        tested = part.of(keys)
        pairs.append((np.flatnonzero(~tested), np.flatnonzero(tested)))
    if any(not len(side) for pair in pairs for side in pair):
        raise DataError(
            f"{text!r} of {quantity(len(positions), 'row')} leaves a side without rows; give fewer "
            "folds, or more rows"
        )
    return pairs


# ---- frames of Spark's ----


def _split_frame(
    frame: DataFrame,
    protocol: Protocol,
    labels: str,
    row_id: str,
    groups: str | None,
) -> list[Sides]:
    """Return the training and test side of each split of a Spark frame."""
    if groups is not None:
        return _split_groups(frame, protocol, labels, groups)
    check_column(frame, row_id)
    ids = _row_ids(frame, row_id)
    with worker_errors():
        head = frame.select(F.lit(1)).limit(MOST_LISTED_ROWS + 1)
        few = head.count() <= MOST_LISTED_ROWS
    if protocol.stratified:
        return _split_stratified(
            frame,
            protocol,
            labels,
            ids,
            few,
        )
    folds: Sequence[Hashed | Listed] = protocol.hashed_folds()
    if few:
        with worker_errors():
            rows = frame.select(ids).collect()
        collected = np.array([row[0] for row in rows], np.int64)
        no_labels = sp.csr_matrix((len(collected), 1))
        folds = protocol.listed_folds(collected, no_labels)
    return _sides_by_id(frame, ids, protocol.splits_of(folds))


def _split_groups(
    frame: DataFrame,
    protocol: Protocol,
    labels: str,
    groups: str,
) -> list[Sides]:
    """Return the sides of splits of a Spark frame that keep the groups in a column whole.

    The driver takes how many rows, and of stratified folds how many of each label, a group has."""
    check_column(frame, groups)
    keys = _row_ids(frame, groups)
    column = column_named(groups)
    with worker_errors():
        sizes = frame.groupBy(keys.alias("i"), column.isNull().alias("absent")).count()
        rows = sizes.limit(MOST_LISTED_ROWS + 1).collect()
    if any(row["absent"] for row in rows):
        raise DataError(f"a row has no group (a null in {groups!r}); give it one, or drop it")
    if len(rows) > MOST_LISTED_ROWS:
        return _sides_by_id(frame, keys, protocol.splits_of(protocol.hashed_folds_of_groups()))
    unique = np.array([row["i"] for row in rows], np.int64)
    order = np.argsort(unique)
    weights = np.array([row["count"] for row in rows], np.int64)[order]
    counts = sp.csr_matrix((len(unique), 0))
    if protocol.stratified:
        counts = _labels_of_groups(frame, labels, keys, unique[order])
    folds = protocol.folds_of_groups(unique[order], weights, counts)
    return _sides_by_id(frame, keys, protocol.splits_of(folds))


def _labels_of_groups(
    frame: DataFrame,
    labels: str,
    keys: Column,
    groups: np.ndarray,
) -> sp.csr_matrix:
    """Return how many rows of each label (m, q) the `groups` (m,), ascending, have."""
    source, y = _label_column(frame, labels)
    read = partial(_label_blocks, source)
    rows = frame.select(y.alias("y"), keys.alias("i"))
    pairs = rows.mapInArrow(partial(groups_and_labels, read), PAIR_SCHEMA)
    with small_batches(frame.sparkSession):
        return labels_of_groups(pairs, groups)


def _row_ids(frame: DataFrame, row_id: str) -> Column:
    """Return the row ids as whole numbers, of others a hash."""
    column = column_named(row_id)
    integer = kinds_of(frame)[row_id].integer
    number = column.cast("bigint") if integer else F.xxhash64(column)
    return F.coalesce(number, F.lit(0))


def _split_stratified(
    frame: DataFrame,
    protocol: Protocol,
    labels: str,
    ids: Column,
    few: bool,
) -> list[Sides]:
    """Return the sides of stratified splits: of `few` rows by iterative stratification."""
    source, y = _label_column(frame, labels)
    rows = frame.select(y.alias("y"), ids.alias("i"))
    read = partial(_label_blocks, source)
    with small_batches(frame.sparkSession):
        if few:
            listed = protocol.listed_folds(*labels_of_blocks(rows, read))
            return _sides_by_id(frame, ids, protocol.splits_of(listed))
        ends = fold_ends_of_blocks(rows, read, protocol.shares, protocol.repeat_seeds)
    folds = by_labelset(ends, protocol.repeat_seeds)
    if source.kind in ("vector", "multihot"):
        # the labels are checked by now: Python reads places of ones in a fifth of the time
        rows = frame.select(_places_of_ones(y, source).alias("y"), ids.alias("i"))
        read = partial(_label_blocks, LabelSource("ids"))
    schema = ", ".join(["_row bigint", *(f"{_fold(i)} int" for i in range(protocol.repeats))])
    folds_of_rows = rows.mapInArrow(partial(_folds_of_rows, folds, read), schema)
    return _sides_by_labelset(frame, ids, folds_of_rows, protocol.splits_of(folds))


def _label_column(frame: DataFrame, labels: str) -> tuple[LabelSource, Column]:
    """Return how a column holds its labels, and the column as the packer takes it."""
    check_column(frame, labels)
    source, cast = label_source(frame, labels)
    y = column_named(labels)
    return source, y if cast is None else y.cast(cast)


def _places_of_ones(y: Column, source: LabelSource) -> Column:
    """Return the places of the labels that are 1, of vectors or arrays of 0 and 1."""
    values = y
    stored = F.lit(None)
    if source.kind == "vector":
        values = F.unwrap_udt(y)["values"]
        stored = F.unwrap_udt(y)["indices"]  # null of a dense vector
    places = F.coalesce(stored, F.sequence(F.lit(0), F.size(values) - 1))
    return F.filter(places, lambda _, k: F.get(values, k) == 1).cast("array<bigint>")


def _sides_by_id(frame: DataFrame, ids: Column, splits: Sequence[Split]) -> list[Sides]:
    """Return the sides of splits whose folds go by the row ids."""
    tested = [_tested(split, ids) for split in splits]
    return [(frame.where(~mask), frame.where(mask)) for mask in tested]


def _tested(split: Split, ids: Column) -> Column:
    @F.pandas_udf("boolean")  # type: ignore[attr-defined, untyped-decorator]
    def tested(ids: pd.Series) -> pd.Series:
        return pd.Series(split.of(ids.to_numpy()))

    mask: Column = tested(ids)
    return mask


def _sides_by_labelset(
    frame: DataFrame,
    ids: Column,
    folds_of_rows: DataFrame,
    splits: Sequence[Split],
) -> list[Sides]:
    """Return the sides of splits whose folds stand in a frame beside the row ids, ``_row``."""
    repeats = folds_of_rows.columns[1:]
    # rows of one id stay together, whatever their labels
    one_row_an_id = folds_of_rows.groupBy("_row").agg(
        *(F.min(fold).alias(fold) for fold in repeats)
    )
    joined = frame.withColumn("_row", ids).join(one_row_an_id, "_row")
    columns = columns_with_metadata(frame)

    def side(condition: Column) -> DataFrame:
        return joined.where(condition).select(*columns)

    sides = []
    for split in splits:
        fold = column_named(_fold(split.repeat))
        sides.append((side(fold != split.fold), side(fold == split.fold)))
    return sides


def columns_with_metadata(frame: DataFrame) -> list[Column]:
    """Return the columns of a frame, with the metadata that a join or a union would lose."""
    columns = []
    for name in frame.columns:
        column = column_named(name)
        metadata = frame.schema[name].metadata
        if metadata:
            column = column.alias(name, metadata=metadata)
        columns.append(column)
    return columns


def _fold(repeat: int) -> str:
    return f"_fold_{repeat}"


# ---- on the workers ----


def _label_blocks(source: LabelSource, batches: Iterable[pa.RecordBatch]) -> Iterator[Block]:
    """Yield blocks without features, of batches of labels and ids."""
    for batch in batches:
        if batch.num_rows:
            ids = batch.column(1).to_numpy(zero_copy_only=False)
            try:
                fields, _ = read_labels(batch.column(0), source)
            except WrongRow as wrong:
                raise DataError(f"row {ids[wrong.row]}: {wrong.message}") from None
            yield Block(np.zeros((len(ids), 0)), ids, **fields)


def _folds_of_rows(folds: list[ByLabelset], read: Read, batches: Batches) -> Batches:
    """Yield the id of each row of blocks, and its fold at each repeat."""
    names = ["_row", *map(_fold, range(len(folds)))]
    for block in read(batches):
        columns = [pa.array(block.ids)]
        columns += [pa.array(of_repeat.of(block).astype(np.int32)) for of_repeat in folds]
        yield pa.RecordBatch.from_arrays(columns, names)
