"""Label columns of every accepted form, and what they become inside a block: CSR lists of positive and unknown labels."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

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
from .block import Attributes
from .grades import Grades
from .lists import WrongRow, label_lists, wrong_entry

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


def read_labels(column: pa.Array, source: LabelSource) -> tuple[Attributes, int]:
    """The label cells of one Arrow batch as the label fields of a block, and how many labels the rows themselves tell, 0 where
    they do not. A row whose cell is null has no label information: every label is unknown. `WrongRow` for what cannot be read."""
    n = len(column)
    unlabelled = np.flatnonzero(column.is_null().to_numpy(zero_copy_only=False))
    if source.kind == "vector":
        rows, labels, values, width = vector_entries(column)
    else:
        lengths: Any = np.diff(np.asarray(column.offsets, np.int64))
        lengths[unlabelled] = 0
        flat, rows = column.flatten(), np.repeat(np.arange(n), lengths)
        if source.kind == "tags" and source.vocabulary is not None:
            rows, labels = _tag_numbers(flat, rows, source)
            return label_lists(n, rows, labels, unlabelled=unlabelled), len(source.vocabulary)
        if source.kind == "ids":
            labels = flat.fill_null(-1).to_numpy(zero_copy_only=False)
            _check_numbers(labels, rows)
            return label_lists(n, rows, labels, unlabelled=unlabelled), 0
        values = flat.fill_null(np.nan).to_numpy(zero_copy_only=False)
        full = np.delete(lengths, unlabelled)
        width = int(full[0]) if len(full) else 0
        if (full != width).any():
            row = np.flatnonzero(lengths != width)[0]
            raise WrongRow(f"its multi-hot label array has {lengths[row]} entries where others have {width}", row)
        labels = _within(lengths)
    at = wrong_entry(values, source.grades)
    if at is not None and source.grades is not None:
        raise WrongRow(f"label {labels[at]} is {source.grades.why(float(values[at]))}", rows[at])
    if at is not None:
        said = f"label {labels[at]} is {values[at]:g}; labels are 0, 1 or unknown (null or NaN)"
        raise WrongRow(f"{said}, with {setting('graded_labels')} grades", rows[at])
    if source.grades is None:
        return label_lists(n, rows, labels, values, unlabelled=unlabelled), width
    _check_stored(n, rows, labels, width, unlabelled, source.grades)
    return label_lists(n, rows, labels, values, source.grades, unlabelled), width * source.grades.width


def _within(lengths: Any) -> np.ndarray:
    """The place of each entry of lists of these lengths within its list."""
    return np.arange(lengths.sum()) - np.repeat(np.cumsum(lengths) - lengths, lengths)


def _tag_numbers(flat: pa.Array, rows: np.ndarray, source: LabelSource) -> tuple[np.ndarray, np.ndarray]:
    """(row, label) of tags; null tags say nothing."""
    labels = pc.index_in(flat, value_set=source.tags.cast(flat.type)).fill_null(-1).to_numpy()
    keep = labels >= 0
    strange = np.flatnonzero(~keep & flat.is_valid().to_numpy(zero_copy_only=False))
    if len(strange):
        names = f"the {len(source.tags)} labels that were named"
        tag = flat[strange[0]].as_py()[:60]
        raise WrongRow(f"tag {tag!r} is none of {names}; name it, too, or correct it", rows[strange[0]])
    return rows[keep], labels[keep]


def _check_numbers(labels: np.ndarray, rows: np.ndarray) -> None:
    """`WrongRow` for label numbers that cannot be."""
    bad = np.flatnonzero(labels < 0)
    if len(bad):
        raise WrongRow("a label number is null or negative; label numbers count from 0", rows[bad[0]])
    large = np.flatnonzero(labels >= MAX_TAGS)
    if len(large):
        told = f"label number {labels[large[0]]} is absurdly large (at most {MAX_TAGS - 1}); correct it, or give tags"
        raise WrongRow(told, rows[large[0]])


def _check_stored(n: int, rows: np.ndarray, labels: np.ndarray, width: int, unlabelled: np.ndarray, grades: Grades) -> None:
    """`WrongRow` where sparse vectors leave grades open, or name one twice."""
    if grades.zero_matters:
        short = np.bincount(rows, minlength=n) < width
        short[unlabelled] = False
        if short.any():
            raise WrongRow(
                "its label vector is sparse, and a 0, which it does not store, would not be the lowest grade; give dense vectors",
                int(np.argmax(short)),
            )
    key = rows * max(width, 1) + labels
    if not (key[1:] > key[:-1]).all():
        key = np.sort(key)
        again = np.flatnonzero(key[1:] == key[:-1])
        if len(again):
            raise WrongRow("its label vector names an entry twice; correct it", key[again[0]] // max(width, 1))


def vector_entries(column: pa.StructArray, what: str = "label") -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """(row, slot, value) of the stored entries of VectorUDT cells, and their width; `WrongRow` where one is of another width."""
    kind, size, indices, values = column.flatten()
    rows = len(column)
    dense = kind.fill_null(0).to_numpy(zero_copy_only=False) == 1
    absent = column.is_null().to_numpy(zero_copy_only=False)
    lengths = np.asarray(pc.list_value_length(values).fill_null(0).to_numpy(zero_copy_only=False), np.int64)
    width = np.where(dense, lengths, size.fill_null(0).to_numpy(zero_copy_only=False))
    flat = values.flatten().to_numpy(zero_copy_only=False)
    positions = np.repeat(np.arange(rows), lengths)
    slots = _within(lengths)
    if not dense.all():
        slots[~dense[positions]] = indices.flatten().to_numpy(zero_copy_only=False)
    present = np.flatnonzero(~absent)
    first = int(width[present[0]]) if len(present) else 0
    other = present[width[present] != first]
    if len(other):
        raise WrongRow(f"its {what} vector has size {width[other[0]]} where others have {first}", other[0])
    return positions, slots, flat, first
