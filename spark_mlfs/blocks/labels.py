"""Label columns of every accepted form, and what they become inside a block: CSR lists of positive and unknown labels."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from pyspark.ml.linalg import VectorUDT
from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F
from pyspark.sql import types as T

from ..errors import DataError, ParameterError, setting, worker_errors
from ..lazy import cached_property
from ..schema import attribute_names
from .grades import Grades, fixed

FORMS = ("auto", "tags", "ids", "multihot")
MAX_TAGS = 1_000_000


@dataclass(frozen=True)
class LabelSource:
    """How to read one label column.

    `kind`        "vector" (``VectorUDT``), "multihot" (array of 0/1), "ids" (array of label numbers), "tags" (array of strings)
    `vocabulary`  tags only: the tags in label order
    `names`       the labels' names, where the column tells them
    `grades`      vector and multihot only: entries are grades
    """

    kind: str
    vocabulary: tuple[str, ...] | None = None
    names: tuple[str, ...] | None = None
    told: bool = False  # whether the column's metadata named the tags
    grades: Grades | None = None  # how values between 0 and 1 are read

    @cached_property
    def tags(self) -> pa.Array:
        """The vocabulary as Arrow has it."""
        return pa.array(self.vocabulary, pa.string())


def label_source(frame: DataFrame, column: str, form: str = "auto", grades: Grades | None = None) -> tuple[LabelSource, Column]:
    """How `column` holds its labels, and the Spark expression the packer reads.

    ``VectorUDT``            multi-hot; NaN is unknown
    ``array<string>``        tags; labels are those the column's metadata names, in that order, and no others may occur; or the
                             distinct tags in alphabetical order (one job)
    ``array<float|double>``  multi-hot; null or NaN is unknown
    ``array<int|bigint…>``   label numbers from 0, or multi-hot: ``form="auto"`` looks at the rows (one job) and takes them for
                             multi-hot where they hold 0, 1 and null only and some row repeats an entry or holds a null;
                             ``"ids"`` and ``"multihot"`` decide without looking

    A label number repeated in a row is one label; one below 0, or from `MAX_TAGS` on, is a problem of its row. Where labels are
    `grades`, an array of numbers of any type holds one for every label.
    """
    if form not in FORMS:
        raise ParameterError(f"{setting('labels_form')} must be one of {', '.join(map(repr, FORMS))}, not {form!r}")
    kind = frame.schema[column].dataType
    if isinstance(kind, VectorUDT):
        names = attribute_names(frame, column)
        return LabelSource("vector", names=tuple(names) if names else None, grades=grades), F.col(column)
    if grades is not None and (form not in ("auto", "multihot") or not _holds_numbers(kind)):
        form = f", {setting('labels_form', form)}" if form in ("tags", "ids") else ""
        raise ParameterError(
            f"{setting('graded_labels')}: labels column {column!r} is {kind.simpleString()}{form}; grades are a vector or an "
            "array of numbers, one for every label (gather columns with F.array)"
        )
    if isinstance(kind, T.ArrayType):
        element = kind.elementType
        if grades is not None:
            return LabelSource("multihot", grades=grades), F.col(column).cast("array<double>")
        if isinstance(element, T.StringType):
            named = attribute_names(frame, column)
            tags = tuple(named) if named else _vocabulary(frame, column)
            return LabelSource("tags", vocabulary=tags, names=tags, told=bool(named)), F.col(column)
        if isinstance(element, (T.FloatType, T.DoubleType, T.DecimalType, T.BooleanType)):
            return LabelSource("multihot"), F.col(column).cast("array<double>")
        if isinstance(element, (T.ByteType, T.ShortType, T.IntegerType, T.LongType)):
            if form == "auto":
                form = "multihot" if _looks_multihot(frame, column) else "ids"
            named = attribute_names(frame, column)
            source = LabelSource(form, names=tuple(named) if named else None)
            return source, F.col(column).cast("array<double>" if form == "multihot" else "array<bigint>")
    raise ParameterError(
        f"labels column {column!r} is {kind.simpleString()}; give a multi-hot vector, array<string> tags, array<int> label "
        "numbers or an array of 0/1 (split a delimited string with F.split, gather 0/1 columns with F.array)"
    )


def _holds_numbers(kind: T.DataType) -> bool:
    return isinstance(kind, T.ArrayType) and isinstance(kind.elementType, (T.NumericType, T.BooleanType))


def _vocabulary(frame: DataFrame, column: str) -> tuple[str, ...]:
    """The distinct tags of a column, in alphabetical order."""
    tags = frame.select(F.explode(F.col(column)).alias("tag")).where("tag is not null").distinct().limit(MAX_TAGS + 1)
    with worker_errors():
        vocabulary = sorted(row.tag for row in tags.collect())
    if len(vocabulary) > MAX_TAGS:
        raise DataError(f"labels column {column!r} holds more than {MAX_TAGS} distinct tags; keep the frequent ones first")
    if not vocabulary:
        raise DataError(f"labels column {column!r} holds no tag in any row; check the column")
    return tuple(vocabulary)


def _looks_multihot(frame: DataFrame, column: str) -> bool:
    """Whether an array of whole numbers is read as 0/1 flags and not as label numbers (`label_source`)."""
    entry = F.col(column)
    repeated = (F.size(F.array_distinct(entry)) < F.size(entry)) | F.exists(entry, lambda e: e.isNull())
    number = F.exists(entry, lambda e: e.isNotNull() & ~e.isin(0, 1))
    with worker_errors():
        ((some_repeat, some_number),) = frame.select(F.max(repeated), F.max(F.coalesce(number, F.lit(False)))).collect()
    return bool(some_repeat) and not some_number


@dataclass
class LabelLists:
    """Labels of some rows: CSR of the positive ones, CSR of the unknown ones, rows without any label information; `grades` of the
    positive ones where they are not all 1."""

    indptr: np.ndarray
    indices: np.ndarray
    unknown_indptr: np.ndarray | None
    unknown_indices: np.ndarray | None
    unlabelled: np.ndarray | None  # positions of rows whose label cell is null: every label is unknown
    width: int  # number of labels the rows themselves tell, 0 where they do not
    problem: tuple[str, int] | None  # what is wrong, at which position
    grades: np.ndarray | None = None


def read_labels(column: pa.Array, source: LabelSource) -> LabelLists:
    """The label cells of one Arrow batch as lists."""
    rows = len(column)
    unlabelled = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False)) if column.null_count else None
    if source.kind == "vector":
        positions, labels, values, width, problem = vector_entries(column)
    else:
        lists = column
        offsets = np.asarray(lists.offsets, np.int64)
        lengths = np.diff(offsets)
        if unlabelled is not None:
            lengths = lengths.copy()
            lengths[unlabelled] = 0
        flat = lists.flatten()
        positions = np.repeat(np.arange(rows), lengths)
        problem, width = None, 0
        if source.kind == "tags" and source.vocabulary is not None:
            labels = pc.index_in(flat, value_set=source.tags.cast(flat.type)).fill_null(-1).to_numpy()
            keep = labels >= 0  # null tags say nothing
            strange = np.flatnonzero(~keep & flat.is_valid().to_numpy(zero_copy_only=False))
            if len(strange):
                at = strange[0]
                names = f"the {len(source.vocabulary)} labels that were named"
                problem = (f"tag {flat[at].as_py()[:60]!r} is none of {names}; name it, too, or correct it", int(positions[at]))
            positions, labels = positions[keep], labels[keep]
            values, width = np.ones(len(labels)), len(source.vocabulary)
        elif source.kind == "ids":
            labels = flat.fill_null(-1).to_numpy(zero_copy_only=False)
            values = np.ones(len(labels))
            bad = np.flatnonzero(labels < 0)
            if len(bad):
                problem = ("a label number is null or negative; label numbers count from 0", int(positions[bad[0]]))
            large = np.flatnonzero(labels >= MAX_TAGS)
            if problem is None and len(large):
                at = large[0]
                problem = (
                    f"label number {int(labels[at])} is absurdly large (at most {MAX_TAGS - 1}); correct it, or give tags",
                    int(positions[at]),
                )
            labels = labels.clip(0, MAX_TAGS - 1)  # a row with a problem is counted before it is told
        else:
            values = flat.fill_null(np.nan).to_numpy(zero_copy_only=False)
            full = lengths if unlabelled is None else np.delete(lengths, unlabelled)
            width = int(full[0]) if len(full) else 0
            if len(full) and (full != width).any():
                where = int(np.flatnonzero(lengths != width)[0])
                problem = (f"its multi-hot label array has {lengths[where]} entries where others have {width}", where)
            labels = np.arange(len(values)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    unknown = np.isnan(values)
    if source.grades is not None:
        return _graded(source.grades, rows, positions, labels, values, unknown, unlabelled, width, problem)
    positive = values == 1
    wrong = ~(positive | unknown | (values == 0))
    if problem is None and wrong.any():
        at = int(np.flatnonzero(wrong)[0])
        said = f"label {int(labels[at])} is {values[at]:g}; labels are 0, 1 or unknown (null or NaN)"
        problem = (f"{said}, with {setting('graded_labels')} grades", int(positions[at]))
    indptr, indices = _lists(rows, positions[positive], labels[positive])
    a, b = _lists(rows, positions[unknown], labels[unknown]) if unknown.any() else (None, None)
    return LabelLists(indptr, indices, a, b, unlabelled, width, problem)


def _graded(
    grades: Grades,
    rows: int,
    positions: np.ndarray,
    labels: np.ndarray,
    values: np.ndarray,
    unknown: np.ndarray,
    unlabelled: np.ndarray | None,
    width: int,
    problem: tuple[str, int] | None,
) -> LabelLists:
    """The label cells of a batch whose entries (position, label, value) are grades."""
    wrong = np.flatnonzero(grades.wrong(values))
    if problem is None and len(wrong):
        at = int(wrong[0])
        problem = (f"label {int(labels[at])} is {grades.why(float(values[at]))}", int(positions[at]))
    if problem is None and grades.zero_matters:
        short = np.bincount(positions, minlength=rows) < width
        if unlabelled is not None:
            short[unlabelled] = False
        if short.any():
            problem = (
                "its label vector is sparse, and a 0, which it does not store, would not be the lowest grade; give dense vectors",
                int(np.flatnonzero(short)[0]),
            )
    fit = ~unknown if problem is None else np.zeros(len(values), bool)
    row, of, units = grades.entries(positions[fit], labels[fit], values[fit])
    order = np.lexsort((of, row))
    again = order[1:][(row[order][1:] == row[order][:-1]) & (of[order][1:] == of[order][:-1])]
    if problem is None and len(again):
        problem = ("its label vector names an entry twice; correct it", int(row[again[0]]))
    indptr, indices = _lists(rows, row, of)
    a, b = _lists(rows, *grades.unknown(positions[unknown], labels[unknown])) if unknown.any() else (None, None)
    kept = None if problem is not None else fixed(units[order])
    return LabelLists(indptr, indices, a, b, unlabelled, width * grades.width, problem, kept)


def vector_entries(column: pa.StructArray) -> tuple[np.ndarray, np.ndarray, np.ndarray, int, tuple[str, int] | None]:
    """(row, slot, value) of the stored entries of VectorUDT cells, their width, and a row of another width."""
    kind, size, indices, values = column.flatten()
    rows = len(column)
    dense = kind.fill_null(0).to_numpy(zero_copy_only=False) == 1
    absent = column.is_null().to_numpy(zero_copy_only=False)
    lengths = np.asarray(pc.list_value_length(values).fill_null(0).to_numpy(zero_copy_only=False), np.int64)
    width = np.where(dense, lengths, size.fill_null(0).to_numpy(zero_copy_only=False))
    flat = values.flatten().to_numpy(zero_copy_only=False)
    positions = np.repeat(np.arange(rows), lengths)
    slots = np.arange(len(flat)) - np.repeat(np.cumsum(lengths) - lengths, lengths)
    if not dense.all():
        slots[~dense[positions]] = indices.flatten().to_numpy(zero_copy_only=False)
    present = np.flatnonzero(~absent)
    if not len(present):
        return positions, slots, flat, 0, None
    first = int(width[present[0]])
    other = present[width[present] != first]
    problem = None
    if len(other):
        problem = (f"its label vector has size {width[other[0]]} where others have {first}", int(other[0]))
    return positions, slots, flat, first, problem


def _lists(rows: int, positions: np.ndarray, labels: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """CSR (indptr, indices) of (row, label) pairs, each row's labels ascending and named once."""
    width = int(labels.max(initial=0)) + 1
    key = positions * width + labels
    if not (key[1:] > key[:-1]).all():
        key = np.sort(key)
        key = key[np.concatenate([[True], key[1:] != key[:-1]])]
        positions, labels = np.divmod(key, width)
    labels = labels.astype(np.int32)
    indptr = np.zeros(rows + 1, np.int32)
    np.cumsum(np.bincount(positions, minlength=rows), out=indptr[1:])
    return indptr, labels
