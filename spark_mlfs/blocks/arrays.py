"""Tables in memory become one block, with their labels, weights and ids.

The block is what packing a Spark frame of the same rows gives: the same narrowest type, label lists
and row ids."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from numbers import Integral
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..errors import BudgetError, DataError
from ..frames.frame import default_memory, num_cores
from ..frames.memory import FEATURE_BYTES
from ..frames.names import NumberedNames
from ..frames.scratch import Scratch
from ..kernels import xxhash
from ..kernels.categories import Categories
from ..kernels.matrix import Matrix, TermMatrix, with_values
from ..kernels.missing import KEEP, MISSING_OF_SELECTORS, fill_of_rows, fill_values, filled
from ..markup import size
from .block import Block
from .dataset import InMemoryDataset, check_and_name
from .grades import Grades
from .groups import Placed
from .held import HeldBlocks, Packing
from .identity import profiled
from .label_cells import absent, cells_of
from .profile import Profile
from .streams import NumberTable
from .table_labels import Labelled, labels_of
from .tables import aligned_rows, features_of, kind_of, narrowest, numbers, wrong_value
from .weights import fixed, wrong_weight


def pack_arrays(  # noqa: PLR0913
    X: Any,
    Y: Any,
    weights: Any = None,
    grades: Grades | None = None,
    delimiter: str | None = None,
    missing: str = "error",
    codes: bool = False,
    partial_rows: bool = False,
    ids: Any = None,
    classes: Sequence[Any] | None = None,
    groups: Any = None,
    label_key: str | None = None,
    scratch: Scratch | None = None,
) -> tuple[InMemoryDataset, Labelled]:
    """Return the rows of X (n, d), profiled in blocks, and the labels as they were read.

    Rows have their `ids`, or else hashes of their content. `missing` decides what becomes of NaN in
    X (`kernels.missing`), `codes` whether categories stay one feature (`categories`);
    `partial_rows`: they are some of the rows that are ranked; `classes`: the labels that there are,
    `label_key`: the field of objects that is the tag (`labels_of`); `groups`: of rows, which folds
    keep whole; `scratch`: where rows go that exceed the memory. `DataError` for what is wrong with
    them."""
    X, Y, weights, ids, groups = aligned_rows(
        X=X,
        Y=Y,
        sample_weight=weights,
        row_ids=ids,
        groups=groups,
    ).values()
    missing = MISSING_OF_SELECTORS.accept(missing)
    categories = Categories(missing, codes)
    stream = _stream_of(X, missing)
    if stream is None:
        x, names = _values_of(X, categories)
    else:  # the values come in chunks, once all else of the rows is there
        names = stream.names
    if missing == "drop":
        complete = _complete_rows(x)
        before = x.shape[0]
        x = _rows_at(x, complete, before)
        Y = _rows_at(Y, complete, before)
        weights = _rows_at(weights, complete, before)
        ids = _rows_at(ids, complete, before)
        groups = _rows_at(groups, complete, before)
    fitted = {} if stream is not None else fill_of_rows(x, "mean" if missing == KEEP else missing)
    if missing != "error":
        x = narrowest(filled(x, fill_values(fitted, x.shape[1])))
    labels = Y
    if not isinstance(Y, Labelled):
        labels = labels_of(
            Y,
            grades,
            delimiter,
            classes,
            key=label_key,
        )
    if stream is not None:
        x = np.zeros((labels.rows, 0), np.uint8)
    n = x.shape[0]
    _check_samples(n, labels)
    row_ids = np.zeros(n, np.int64) if ids is None else ids_of(ids, n)
    block = Block(x, row_ids, **labels.fields)
    if weights is not None:
        block.weights = _some_weights(weights, n)
    if groups is not None:
        keys = groups_of(groups, n)
        block.groups = Placed.of(*np.unique(keys, return_counts=True))(keys)
    blocks = _blocks_of(stream, block, labels)
    all_blocks, profile = _packed(blocks, labels, ids is not None, scratch)
    profile.named_ids = ids is not None
    profile.partitions = 1
    profile.terms = isinstance(X, TermMatrix)
    if codes and categories.values:
        profile.categories = categories.counts
    rows = InMemoryDataset(
        profile,
        names or NumberedNames("x", 0, profile.d),
        labels.names,
        names is not None,
        blocks=all_blocks,
        cores=1 if stream is None and all_blocks.disk is None else num_cores(),
        fitted=fitted,
        grouped=groups is not None,
        scratch=scratch,
    )
    if categories.values or categories.dates:
        rows.categories = categories
    check_and_name(rows, "X", "Y", partial_rows)
    return rows, labels


def _some_weights(weights: Any, rows: int) -> ndarray:
    """Return the weights of rows as they are counted; `DataError` where all are 0."""
    out = fixed(weights_of(weights, rows))
    if not out.any():
        raise DataError(
            "the weights in sample_weight are all zero; give some rows a weight above 0"
        )
    return out


def _stream_of(X: Any, missing: str) -> NumberTable | None:
    """Return X where its rows are packed chunk by chunk; None where all are looked at first."""
    return X if isinstance(X, NumberTable) and not X.empty and missing == "error" else None


def _values_of(X: Any, categories: Categories) -> tuple[Matrix, Sequence[str] | None]:
    """Return the values of X, and the names of its columns; `DataError` for one that is wrong."""
    X = X.frame() if isinstance(X, NumberTable) else X
    if sp.issparse(X):  # whose columns cost nothing until they are ranked
        needed = FEATURE_BYTES * X.shape[1]
        if needed > default_memory():
            raise BudgetError(
                f"a ranking of {X.shape[1]} features takes {size(needed)}, more than the "
                f"{size(default_memory())} that this machine has for it: leave out columns, such "
                "as those without a value"
            )
    x, names = features_of(X, categories)
    wrong_value(x, names, categories.missing != "error")
    return x, names


def _blocks_of(stream: NumberTable | None, rows: Block, labels: Labelled) -> Iterator[Block]:
    """Yield the chunks of a stream as blocks, with the ids, labels and the like of `rows`.

    Without a stream the rows themselves. `DataError` for a value that is not finite, and where
    there are more rows or fewer."""
    if stream is None:
        yield rows
        return
    start = 0
    for chunk in stream.chunks:
        wrong_value(chunk, stream.names, first_row=start)
        end = start + len(chunk)
        if end <= labels.rows:
            yield replace(rows.part(start, end), x=chunk)
        start = end
    _check_samples(start, labels)


def _packed(
    blocks: Iterator[Block],
    labels: Labelled,
    named: bool,
    scratch: Scratch | None,
) -> tuple[HeldBlocks, Profile]:
    """Return blocks in memory or on disk, and the profile of all rows."""
    first = next(blocks)
    packing = Packing(scratch, -(-labels.rows // max(1, first.n)), 0)
    profile: Profile | None = None
    for block in itertools.chain([first], blocks):
        rows, facts = profiled(block.of_some_weight(), len(labels.names), named)
        profile = facts if profile is None else profile.merge(facts)
        part = packing.new_part()
        packing.add(rows, part)
        packing.end_part(part)
    assert profile is not None
    return packing.end(), profile


def _check_samples(rows: int, labels: Labelled) -> None:
    if labels.rows != rows:
        raise DataError(
            f"X has {rows} samples, Y has {labels.rows}: inconsistent numbers of samples; give "
            "every row its labels"
        )


def packed_chunks(
    chunks: Iterable[Any],
    labels: Labelled,
    weights: Any,
    ids: Any,
    grades: Grades | None,
    missing: str,
) -> Iterator[InMemoryDataset]:
    """Yield the rows of the chunks of X one after the other, with the `labels` of all.

    Of each the rows are some of those that are ranked."""
    if weights is not None:
        weights = weights_of(weights, labels.rows)
    if ids is not None:
        ids = ids_of(ids, labels.rows)
    start = 0
    for chunk in chunks:
        end = start + len(chunk)
        if end <= labels.rows:
            yield pack_arrays(
                chunk,
                labels.part(start, end),
                None if weights is None else weights[start:end],
                grades,
                missing=missing,
                partial_rows=True,
                ids=None if ids is None else ids[start:end],
            )[0]
        start = end
    _check_samples(start, labels)
    if not start:
        raise DataError("X has no rows; give at least one")


def _complete_rows(x: Matrix) -> ndarray:
    """Return the rows without NaN; `DataError` where there are none."""
    absent = with_values(x, np.isnan(x.data)) if sp.issparse(x) else np.isnan(x)
    absent_values = np.asarray(absent.sum(axis=1)).ravel()
    complete = np.flatnonzero(absent_values == 0)
    if not len(complete):
        raise DataError(
            "every row of X lacks a value, and missing='drop' leaves none: give missing='mean' or "
            "'zero'"
        )
    return complete


def _rows_at(values: Any, rows: ndarray, count: int) -> Any:
    """Return some `rows` of a table, list or series of `count` rows.

    One of another length is returned as it is: it is refused later."""
    if isinstance(values, list | tuple):
        return [values[row] for row in rows] if len(values) == count else values
    if (getattr(values, "shape", None) or [0])[0] != count:
        return values
    if hasattr(values, "iloc"):
        return values.iloc[rows]
    return values.tocsr()[rows] if sp.issparse(values) else values[rows]


def groups_of(groups: Any, rows: int) -> ndarray:
    """Return (n,) int64 the group of each row, by `ids_of`; what is no number and no text as text.

    `DataError` where a row has none."""
    column = cells_of(groups)
    values = np.asarray(groups).tolist() if column is None else column
    for row, value in enumerate(values):
        if absent(value):
            raise DataError(
                f"row {row} has no group (groups holds {value}); give it one, or drop it"
            )
    if not all(isinstance(value, Integral) and not isinstance(value, bool) for value in values):
        values = [str(value) for value in values]
    return ids_of(values, rows, "groups")


def ids_of(ids: Any, rows: int, name: str = "row_ids") -> ndarray:
    """Return (n,) int64 ids: whole numbers, or the hashes of texts by which the readers know them.

    The hashes are those of `kernels.xxhash`; errors call the ids `name`."""
    ids = ids.tolist() if isinstance(ids, np.ma.MaskedArray) else ids  # what is masked is None
    # a list may mix numbers, texts and NaN
    values = np.asarray(ids) if hasattr(ids, "dtype") else np.array(ids, object)
    if values.shape != (rows,):
        raise DataError(
            f"{name} has shape {values.shape}, X has {rows} samples; give every row one id"
        )
    texts = values.tolist() if values.dtype.kind not in "iu" else []
    integers = all(type(number) is int or isinstance(number, np.integer) for number in texts)
    if values.dtype.kind in "iuO" and integers:
        if rows and not -(1 << 63) <= values.min() <= values.max() < 1 << 63:
            raise DataError(
                f"{name} holds whole numbers beyond 64 bits with a sign; give smaller ones, or "
                "texts"
            )
        return values.astype(np.int64)
    if not all(isinstance(text, str) for text in texts):
        raise DataError(
            f"{name} holds other things than whole numbers, or than texts; give every row one of "
            "either kind"
        )
    content = [text.encode(errors="surrogatepass") for text in texts]
    lengths = np.array([len(data) for data in content], np.int64)
    first = np.cumsum(lengths) - lengths
    data = np.frombuffer(b"".join(content), np.uint8)
    seeds = np.full(rows, xxhash.SEED, np.uint64)
    return xxhash.of_bytes(data, first, lengths, seeds).view(np.int64)


def weights_of(weights: Any, rows: int) -> ndarray:
    """Return (n,) float64 weights; `DataError` names the first that cannot be used.

    One number is that of every row."""
    if hasattr(weights, "to_pylist"):  # of Arrow, with nulls
        weights = weights.to_pylist()
    elif kind_of(weights) or hasattr(weights, "to_numpy"):
        weights = weights.to_numpy()
    w = numbers(weights, "sample_weight")
    w = np.full(rows, float(w)) if w.ndim == 0 else w
    if w.shape != (rows,):
        raise DataError(
            f"sample_weight has shape {w.shape}, X has {rows} samples; give every row one weight"
        )
    wrong = wrong_weight(w)
    if wrong is not None:
        raise DataError(f"row {wrong[1]} of sample_weight: {wrong[0]}")
    return w
