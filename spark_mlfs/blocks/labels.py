"""Columns of features and labels in every accepted form, as they become part of a block.

Features are dense or CSR in the narrowest type that holds every value, labels are CSR lists of
positive and unknown ones."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, TypeVar

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import scipy.sparse as sp
from numpy import ndarray

from ..errors import DataError, ParameterError, setting, worker_errors
from ..frames.frame import LocalFrame, kinds_of
from ..frames.names import picked
from ..frames.parquet import plain_type
from ..frames.schema import attribute_names
from ..frames.tag_texts import tidied, tidy_text
from ..frames.vectors import vectors_and_sizes, within
from ..kernels.matrix import Matrix
from ..kernels.missing import IS_MISSING
from ..lazy import DataFrame, F, cached_property
from .block import Attributes, Block, WrongRow, joined, label_lists, wrong_entry
from .grades import Grades
from .tables import narrowest

FORMS = ("auto", "tags", "ids", "multihot")
MAX_TAGS = 1_000_000
TAGS = "_spark_mlfs_tags"  # attribute of a frame of this process: its tags by column
Outcome = TypeVar("Outcome")


@dataclass(frozen=True)
class LabelSource:
    """How to read a label column.

    `kind`: "vector" (``VectorUDT``), "multihot" (array of 0/1), "ids" (array of label numbers),
    "tags" (array of strings). `names` of the labels: of tags all that may occur, else those of the
    column's metadata."""

    kind: str
    names: tuple[str, ...] | None = None
    named_by_column: bool = False  # whether the column's metadata named the tags
    grades: Grades | None = None  # how values between 0 and 1 are read

    @cached_property
    def tags(self) -> pa.Array:
        """Return the tags that may occur as an Arrow array."""
        return pa.array([*map(tidy_text, self.names or ())], pa.string())


def label_source(
    frame: DataFrame,
    column: str,
    form: str = "auto",
    grades: Grades | None = None,
) -> tuple[LabelSource, str | None]:
    """Return how `column` holds its labels, and the type that the packer casts it to.

    None: as it is.

    ``VectorUDT``            multi-hot; NaN is unknown
    ``array<string>``        tags; labels are those the column's metadata names, in that order, and
                             no others may occur; or the distinct tags in alphabetical order (one
                             job)
    ``array<float|double>``  multi-hot; null or NaN is unknown
    ``array<int|bigint…>``   label numbers from 0, or multi-hot: ``form="auto"`` looks at the rows
                             (one job) and takes them for multi-hot where they hold 0, 1 and null
                             only and some row repeats an entry or holds a null, or every row has
                             one entry (a label); ``"ids"`` and ``"multihot"`` decide without
                             looking

    A label number repeated in a row is one label; one below 0, or from `MAX_TAGS` on, is a problem
    of its row. Where labels are `grades`, an array of numbers of any type holds one for every
    label."""
    if form not in FORMS:
        raise ParameterError(
            f"{setting('labels_form')} must be one of {', '.join(map(repr, FORMS))}, not {form!r}"
        )
    kind = kinds_of(frame)[column]
    names = tuple(attribute_names(frame, column) or ()) or None
    element = kind.element
    if kind.vector:
        return LabelSource("vector", names, grades=grades), None
    holds_grades = element is not None and element.number and form in ("auto", "multihot")
    if grades is not None and not holds_grades:
        option = f", {setting('labels_form', form)}" if form in ("tags", "ids") else ""
        raise ParameterError(
            f"{setting('graded_labels')}: labels column {column!r} is {kind.name}{option}; grades "
            "are a vector or an array of numbers, one for every label (gather columns with "
            "F.array)"
        )
    if element is not None:
        if element.text:
            tags = names or vocabulary_of(frame, column)
            return LabelSource("tags", tags, named_by_column=names is not None), None
        if grades is not None or element.fractional or element.name == "boolean":
            return LabelSource("multihot", grades=grades), "array<double>"
        if element.integer:
            if form == "auto":
                form = "multihot" if _looks_multihot(frame, column) else "ids"
            cast = "array<double>" if form == "multihot" else "array<bigint>"
            return LabelSource(form, names), cast
    raise ParameterError(
        f"labels column {column!r} is {kind.name}; give a multi-hot vector, array<string> tags, "
        "array<int> label numbers or an array of 0/1 (split a delimited string with F.split, "
        "gather 0/1 columns with F.array)"
    )


def _of_cells(
    frame: LocalFrame, column: str, work: Callable[[pa.Array], Outcome]
) -> Iterator[Outcome]:
    """Iterate over the outcomes of `work` on the cells of a column, batch by batch.

    No other column is read."""

    def of_part(batches: Iterable[pa.RecordBatch]) -> list[Outcome]:
        return [work(batch.column(0)) for batch in batches]

    return chain.from_iterable(frame.select(column).map_parts(of_part))


def vocabulary_of(frame: DataFrame, column: str) -> tuple[str, ...]:
    """Return the distinct tags of a column, in alphabetical order.

    Of a frame of this process they are gathered once."""
    gathered: dict[str, tuple[str, ...]] = {}
    if isinstance(frame, LocalFrame):
        gathered = vars(frame).setdefault(TAGS, gathered)
    if column not in gathered:
        gathered[column] = _vocabulary(frame, column)
    return gathered[column]


def _vocabulary(frame: DataFrame, column: str) -> tuple[str, ...]:
    if isinstance(frame, LocalFrame):
        by_batch = _of_cells(frame, column, lambda cells: pc.unique(cells.flatten()).to_pylist())
        distinct = set(chain.from_iterable(by_batch))
        vocabulary = sorted({*map(tidy_text, distinct - {None})} - {""})
    else:
        labels = picked(frame, {"y": column})
        tags = labels.select(F.explode("y").alias("tag")).where("tag is not null")
        distinct_tags = tags.distinct().limit(MAX_TAGS + 1)
        with worker_errors():
            vocabulary = sorted({tidy_text(row.tag) for row in distinct_tags.collect()} - {""})
    if len(vocabulary) > MAX_TAGS:
        raise DataError(
            f"labels column {column!r} holds more than {MAX_TAGS} distinct tags; keep the frequent "
            "ones first"
        )
    if not vocabulary:
        raise DataError(f"labels column {column!r} holds no tag in any row; check the column")
    return tuple(vocabulary)


def _looks_multihot(frame: DataFrame, column: str) -> bool:
    """Return whether an array of whole numbers is read as 0/1 flags, not as label numbers.

    See `label_source`."""
    if isinstance(frame, LocalFrame):
        signs = np.array([*_of_cells(frame, column, _multihot_signs)], bool).reshape(-1, 3)
        some_repeat, some_number, some_list = signs.any(axis=0)
    else:
        entry = F.col("y")
        has_null = F.exists(entry, lambda e: e.isNull())
        repeated = (F.size(F.array_distinct(entry)) < F.size(entry)) | has_null
        number = F.exists(entry, lambda e: e.isNotNull() & ~e.isin(0, 1))
        signs_of_row = (repeated, number, F.size(entry) != 1)
        signs_of_all = [F.max(F.when(entry.isNotNull(), sign)) for sign in signs_of_row]
        rows = picked(frame, {"y": column})
        with worker_errors():
            ((some_repeat, some_number, some_list),) = rows.select(*signs_of_all).collect()
    return bool((some_repeat or not some_list) and not some_number)


def _multihot_signs(cells: pa.ListArray) -> tuple[bool, bool, bool]:
    """Return whether some row repeats an entry or holds a null, and whether some entry is a number.

    A number is an entry other than 0, 1 and null. And whether some row has not one entry."""
    flat = cells.flatten()
    lengths = np.asarray(pc.list_value_length(cells).fill_null(0))
    is_list = (lengths != 1) & np.asarray(cells.is_valid())
    rows = np.repeat(np.arange(len(cells)), lengths)
    values = flat.fill_null(-1).to_numpy()
    pairs = np.unique(np.stack([rows, values]), axis=1)
    number = pc.invert(pc.is_in(flat, pa.array([0, 1, None], flat.type)))
    repeats = flat.null_count > 0 or pairs.shape[1] < len(values)
    return repeats, bool(pc.any(number).as_py()), bool(is_list.any())


def read_labels(column: pa.Array, source: LabelSource) -> tuple[Attributes, int]:
    """Return the label fields of a block, and how many labels the rows declare (0: none).

    A null cell is unknown. `WrongRow` for cells that cannot be read."""
    n = len(column)
    unlabelled = _nulls(column)
    if source.kind == "vector":
        rows, labels, values, width = vector_entries(column)
    else:
        lengths: Any = np.diff(np.asarray(column.offsets, np.int64))
        lengths[unlabelled] = 0
        flat = column.flatten()
        rows = np.repeat(np.arange(n), lengths)
        if source.kind == "tags":
            rows, labels = _tag_numbers(flat, rows, source)
            return label_lists(n, rows, labels, unlabelled=unlabelled), len(source.tags)
        if source.kind == "ids":
            labels = flat.fill_null(-1).to_numpy(zero_copy_only=False)
            if (labels < 0).any():
                raise WrongRow(
                    "a label number is null or negative; label numbers count from 0",
                    rows[np.argmax(labels < 0)],
                )
            if (labels >= MAX_TAGS).any():
                position = int(np.argmax(labels >= MAX_TAGS))
                raise WrongRow(
                    f"label number {labels[position]} is absurdly large (at most {MAX_TAGS - 1}); "
                    "correct it, or give tags",
                    rows[position],
                )
            return label_lists(n, rows, labels, unlabelled=unlabelled), 0
        values = flat.fill_null(np.nan).to_numpy(zero_copy_only=False)
        full = np.delete(lengths, unlabelled)
        width = int(full[0]) if len(full) else 0
        if (full != width).any():
            row = np.flatnonzero(lengths != width)[0]
            raise WrongRow(
                f"its multi-hot label array has {lengths[row]} entries where others have {width}",
                row,
            )
        labels = within(lengths)
    wrong = wrong_entry(
        values, source.grades, f"unknown (null or NaN), with {setting('graded_labels')} grades"
    )
    if wrong is not None:
        position, problem = wrong
        raise WrongRow(f"label {labels[position]} is {problem}", rows[position])
    grades = source.grades
    if grades is not None:
        _check_stored(
            n,
            rows,
            labels,
            width,
            unlabelled,
            grades,
        )
        width *= grades.width
    return label_lists(
        n,
        rows,
        labels,
        values,
        grades,
        unlabelled,
    ), width


def tags_of_column(column: Any) -> tuple[Attributes, list[str]] | None:
    """Return the label fields of a column of lists of texts, and the tags in order.

    None of any other column, and of one without tags."""
    if not isinstance(column, pa.Array | pa.ChunkedArray) or not _holds_texts(column.type):
        return None
    chunks = column.chunks if isinstance(column, pa.ChunkedArray) else [column]
    lists = [chunk.cast(pa.list_(pa.string())) for chunk in chunks if len(chunk)]
    distinct = (pc.unique(cells.flatten().drop_null()).to_pylist() for cells in lists)
    names = sorted({*map(tidy_text, chain.from_iterable(distinct))} - {""})
    if not names:
        return None
    source = LabelSource("tags", tuple(names))
    rows = [
        Block(np.zeros((len(cells), 0)), np.zeros(len(cells)), **read_labels(cells, source)[0])
        for cells in lists
    ]
    return joined(rows), names


def _holds_texts(kind: pa.DataType) -> bool:
    lists = pa.types.is_list(kind) or pa.types.is_large_list(kind)
    return lists and plain_type(kind.value_type) == pa.string()


def _tag_numbers(flat: pa.Array, rows: ndarray, source: LabelSource) -> tuple[ndarray, ndarray]:
    """Return (row, label) of tags; null and empty tags are left out."""
    vocabulary = source.tags.cast(flat.type)
    labels = pc.index_in(flat, value_set=vocabulary).fill_null(-1).to_numpy()
    unknown = np.flatnonzero((labels < 0) & flat.is_valid().to_numpy(zero_copy_only=False))
    if len(unknown):
        labels = labels.copy()
        tags = tidied(flat.take(pa.array(unknown)))
        labels[unknown] = pc.index_in(tags, value_set=vocabulary).fill_null(-1).to_numpy()
        unknown = unknown[(labels[unknown] < 0) & np.asarray(pc.not_equal(tags, ""))]
    known = labels >= 0
    if len(unknown):
        position = unknown[0]
        raise WrongRow(
            f"tag {flat[position].as_py()[:60]!r} is none of the {len(source.tags)} labels that "
            "were named; name it, too, or correct it",
            rows[position],
        )
    return rows[known], labels[known]


def _check_stored(
    n: int,
    rows: ndarray,
    labels: ndarray,
    width: int,
    unlabelled: ndarray,
    grades: Grades,
) -> None:
    """Raise `WrongRow` where sparse vectors leave grades open, or name one twice."""
    short = np.bincount(rows, minlength=n) < width
    short[unlabelled] = False
    if grades.zero_matters and short.any():
        raise WrongRow(
            "its label vector is sparse, and a 0, which it does not store, would not be the "
            "lowest grade; give dense vectors",
            int(np.argmax(short)),
        )
    slots = max(width, 1)
    key = np.sort(rows * slots + labels)
    repeated = np.flatnonzero(key[1:] == key[:-1])
    if len(repeated):
        row = key[repeated[0]] // slots
        raise WrongRow("its label vector names an entry twice; correct it", row)


def vector_entries(
    column: pa.StructArray, name: str = "label"
) -> tuple[ndarray, ndarray, ndarray, int]:
    """Return (row, slot, value) of the stored entries of VectorUDT cells, and their width.

    `WrongRow` where one is of another width."""
    cells, sizes = vectors_and_sizes(column)
    present = np.flatnonzero(column.is_valid())
    first = int(sizes[present[0]]) if len(present) else 0
    other = present[sizes[present] != first]
    if len(other):
        raise WrongRow(
            f"its {name} vector has size {sizes[other[0]]} where others have {first}", other[0]
        )
    return cells.rows, cells.indices.astype(np.int64), cells.values, first


def read_features(
    column: pa.Array,
    vectors: bool,
    narrow: bool = True,
    used: ndarray | None = None,
    keep_missing: bool = False,
) -> Matrix:
    """Return the feature cells as a matrix, float64 or as narrow as holds them.

    `WrongRow` for values that are not finite, but for NaN with `keep_missing`; values of features
    that are not `used` (width,) do not matter."""
    if column.null_count:
        raise WrongRow("its feature cell is null; fill or drop such rows", _nulls(column)[0])
    lists = column
    if vectors:
        kind, _, _, lists = column.flatten()
        dense = kind.to_numpy(zero_copy_only=False)
        if not dense.all():
            x = None if dense.any() else _all_sparse(column)
            if x is None:
                x = _sparse_entries(column, used, keep_missing)
            return narrowest(x) if narrow else x
    x = _dense_rows(lists, used, keep_missing)
    return narrowest(x) if narrow else np.asarray(x, np.float64)


def _sparse_entries(
    column: pa.StructArray, used: ndarray | None, keep_missing: bool
) -> sp.csr_matrix:
    """Return cells of which some are sparse as CSR."""
    rows, slots, values, width = vector_entries(column, "feature")
    bad = np.isinf(values) if keep_missing else ~np.isfinite(values)
    if used is not None and len(used) == width:
        bad &= used[slots]
    if bad.any():
        position = int(np.argmax(bad))
        raise WrongRow(_not_finite(values[position]), rows[position], int(slots[position]))
    keep = values != 0  # true of NaN
    lengths = np.bincount(rows[keep], minlength=len(column))
    indptr = np.concatenate([[0], np.cumsum(lengths)]).astype(np.int32)
    entries = (values[keep], slots[keep].astype(np.int32), indptr)
    return sp.csr_matrix(entries, shape=(len(column), width))


def _dense_rows(lists: pa.ListArray, used: ndarray | None, keep_missing: bool) -> ndarray:
    """Return lists of equal lengths as a matrix."""
    lengths = np.diff(np.asarray(lists.offsets, np.int64))
    width = int(lengths[0])
    if (lengths != width).any():
        row = int(np.argmax(lengths != width))
        raise WrongRow(f"its feature vector has size {lengths[row]} where others have {width}", row)
    flat = lists.flatten()
    used = None if used is None or len(used) != width or used.all() else used
    if flat.null_count and used is None and not keep_missing:
        raise WrongRow(_not_finite(np.nan), *divmod(int(_nulls(flat)[0]), width))
    x = flat.to_numpy(zero_copy_only=False).reshape(len(lists), width)
    with np.errstate(over="ignore", invalid="ignore"):
        total = x.sum()
    if not np.isfinite(total):  # cheap: the sum is finite when every entry is (overflow aside)
        wrong = np.isinf(x) if keep_missing else ~np.isfinite(x)
        if used is not None:
            wrong &= used
        bad = np.argwhere(wrong)
        if len(bad):
            row, slot = bad[0].tolist()
            raise WrongRow(_not_finite(x[row, slot]), row, slot)
    return x


def _all_sparse(column: pa.StructArray) -> sp.csr_matrix | None:
    """Return sparse cells as CSR, straight from their buffers.

    None where something is wrong with them, or a zero is stored."""
    _, size, indices, values = column.flatten()
    sizes = size.to_numpy(zero_copy_only=False)
    offsets = np.asarray(values.offsets)
    flat = values.flatten().to_numpy(zero_copy_only=False)
    slots = indices.flatten().to_numpy(zero_copy_only=False)
    if (sizes != sizes[0]).any() or len(slots) != len(flat):
        return None
    if not np.isfinite(flat).all() or (flat == 0).any():
        return None
    return sp.csr_matrix((flat, slots, offsets - offsets[0]), shape=(len(column), int(sizes[0])))


def _nulls(column: pa.Array) -> ndarray:
    return np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))


def _not_finite(value: float) -> str:
    return IS_MISSING if np.isnan(value) else f"is {value:g}; features must be finite numbers"
