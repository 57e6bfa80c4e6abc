"""The rows of a data set before they are packed: read, sampled, training and test files as one."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np
import pyarrow as pa
from numpy import ndarray

from .. import read
from ..blocks.folds import Marked, Split
from ..errors import ParameterError
from ..frames.frame import Batches, Kind, LocalFrame, kinds_of
from ..frames.names import column_named
from ..frames.schema import CATEGORIES, FEATURES, ID, attribute_names, categories_of
from ..frames.stages import MadeColumn, with_columns
from ..kernels import xxhash
from ..lazy import F
from ..read.texts import corpus_of
from .division import columns_with_metadata
from .plan import DataSet
from .term_weights import all_terms


def open_data(
    session: Any,
    data: DataSet,
    seed: int = 0,
    weighed: bool = False,
) -> tuple[Any, Split | None]:
    """Return the frame of a data set, cut to its number of rows, and the split it came with.

    Features of texts are counts, which `term_weights` weighs by the training rows, or are `weighed`
    by all rows."""
    if data.options.get("weight") is not None:
        raise ParameterError(
            "evaluate and compare take no row weights; leave the option weight out, or rank with "
            "select"
        )
    if data.options.get("missing") == "mean":
        raise ParameterError(
            "missing='mean' fills training rows with a mean of test rows, too: fill them, or give "
            "zero or drop"
        )
    path: Any = data.path  # None where the rows are generated
    options = data.options if weighed else all_terms(data)
    train = read.load(session, path, data.format or "", **options)
    corpus = corpus_of(train)
    if corpus is not None:
        train = corpus.ranked(False) if weighed else corpus.counted()
    if data.test_path is None:
        if data.rows is not None:
            train = sampled(train, data.rows, seed, ID)
        return train, None
    # test rows may lack a category: columns go by those of the training rows
    categories = categories_of(train, FEATURES)
    if categories:
        options = {**options, CATEGORIES: categories}
    if corpus is not None:
        options = {**options, "vocabulary": attribute_names(train, FEATURES)}
    test = read.load(session, data.test_path, data.format or "", **options)
    test_corpus = corpus_of(test)
    if corpus is not None and test_corpus is not None:
        test_corpus = replace(test_corpus, known=corpus.known)
        test = test_corpus.ranked(False) if weighed else test_corpus.counted()
    if data.rows is not None:
        train = sampled(train, data.rows, seed, ID)
        test = sampled(test, data.rows, seed, ID)
    return marked(train, test, ID)


def _ids(batch: pa.RecordBatch, row_id: str) -> ndarray:
    column = batch.column(batch.schema.get_field_index(row_id))
    return column.to_numpy(zero_copy_only=False).astype(np.int64)


# ---- training and test rows in one frame ----


def marked(train: Any, test: Any, row_id: str = "id") -> tuple[Any, Split]:
    """Return one frame of training and test rows with new ids, and the split that parts them.

    The lowest bit of a new id marks a test row (`blocks.folds.Marked`). Raises `ParameterError`
    where the two frames have other columns, types or names of features."""
    _check_same_columns(train, test)
    split = Split("the files' own split", 0, 0, Marked())
    if isinstance(train, LocalFrame):
        even = _mark_local(train, row_id, 0)
        odd = _mark_local(test, row_id, 1)
        sizes = {"rows": even.bytes + odd.bytes}
        return replace(even, parts=[*even.parts, *odd.parts], sizes=sizes), split
    rows = _mark(train, row_id, 0).unionByName(_mark(test, row_id, 1))
    return rows.select(*columns_with_metadata(train)), split


def _check_same_columns(train: Any, test: Any) -> None:
    if train.columns != test.columns:
        raise ParameterError(
            f"the test rows have columns {', '.join(test.columns)}, training rows "
            f"{', '.join(train.columns)}"
        )
    for column in train.columns:
        train_kind = kinds_of(train)[column].name
        test_kind = kinds_of(test)[column].name
        if train_kind != test_kind:
            raise ParameterError(
                f"column {column!r} is {test_kind} in the test rows but {train_kind} in the "
                "training rows"
            )
        if attribute_names(train, column) != attribute_names(test, column):
            raise ParameterError(
                f"the entries of {column!r} have other names, or another order, in the test rows"
            )


def _mark(frame: Any, row_id: str, mark: int) -> Any:
    doubled = F.shiftleft(column_named(row_id).cast("bigint"), 1)
    return frame.withColumn(row_id, doubled.bitwiseOR(F.lit(mark).cast("bigint")))


def _mark_local(frame: LocalFrame, row_id: str, mark: int) -> LocalFrame:
    ids = MadeColumn(Kind("bigint"), partial(_marked_ids, row_id, mark), [row_id])
    marked: LocalFrame = with_columns(frame, {row_id: ids})
    return marked


def _marked_ids(row_id: str, mark: int, batch: pa.RecordBatch) -> pa.Array:
    return pa.array(_ids(batch, row_id) << 1 | mark)


# ---- a sample ----


def sampled(
    frame: Any,
    rows: int,
    seed: int,
    row_id: str,
) -> Any:
    """Return at most so many rows of a frame: those with the smallest seeded hashes of their ids.

    Raises `ParameterError` where the rows have no ids."""
    if row_id not in frame.columns:
        raise ParameterError(
            f"rows = {rows} draws rows by their ids, and these have none: name the id column in "
            "the options"
        )
    if not isinstance(frame, LocalFrame):
        hash_of_id = F.xxhash64(column_named(row_id), F.lit(seed))
        return frame.orderBy(hash_of_id, column_named(row_id)).limit(rows)
    ids_of_parts = list(frame.map_parts(partial(_ids_of_part, row_id)))
    ids = np.concatenate([np.zeros(0, np.int64), *ids_of_parts])
    order = np.lexsort((ids, _spark_hashes(ids, seed)))
    mask = np.zeros(len(ids), bool)
    mask[order[:rows]] = True
    edges = np.cumsum([0, *map(len, ids_of_parts)])
    masks = [mask[start:stop] for start, stop in pairwise(edges)]
    parts = [partial(_filtered, *pair) for pair in zip(masks, frame.parts, strict=True)]
    size = frame.bytes * int(mask.sum()) // max(1, len(ids))
    return replace(frame, parts=parts, sizes={"rows": size})


def _ids_of_part(row_id: str, batches: Batches) -> ndarray:
    return np.concatenate([np.zeros(0, np.int64), *(_ids(batch, row_id) for batch in batches)])


def _spark_hashes(ids: ndarray, seed: int) -> ndarray:
    """Return the hashes (n,) that Spark's ``xxhash64(id, seed)`` gives."""
    hashes = np.full(len(ids), xxhash.SEED, np.uint64)
    seeds = np.full(len(ids), seed, np.int64).view(np.uint64)
    of_seed = xxhash.of_ints if abs(seed) < 1 << 31 else xxhash.of_longs  # a literal int or bigint
    xxhash.fold(hashes, ids.view(np.uint64), None, xxhash.of_longs)
    xxhash.fold(hashes, seeds, None, of_seed)
    return hashes.view(np.int64)


def _filtered(mask: ndarray, part: Callable[[], Batches]) -> Batches:
    start = 0
    for batch in part():
        yield batch.filter(pa.array(mask[start : start + batch.num_rows]))
        start += batch.num_rows
