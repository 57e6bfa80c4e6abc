"""Labels in memory: indicator matrices, grades, one class a row, or tags."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, replace
from numbers import Integral, Real
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..errors import DataError, DataNotice, shown
from ..frames.tag_texts import composed_text, parted
from ..kernels.matrix import Matrix
from .block import Attributes, Block, label_lists, wrong_entry
from .grades import Grades
from .label_cells import absent, are_tags, cells_of, tag_labels, tags_of_texts
from .labels import tags_of_column
from .tables import (
    SPARK_FIRST,
    NotNumbers,
    array_of,
    check_indices,
    check_real,
    column_names,
    kind_of,
    numbers,
    numbers_of_frame,
    places_of,
    unmasked,
    without_zeros,
)


@dataclass(frozen=True)
class Labelled:
    """Labels of rows.

    The `fields` of a `Block`; the `values` that name the labels, as they came; `classes` where Y
    gave one class a row; `tagged` where it gave tags; `by_place` where it was a matrix whose
    columns have no names."""

    fields: Attributes
    values: list[Any]
    classes: ndarray | None = None
    tagged: bool = False
    by_place: bool = False

    @property
    def names(self) -> list[str]:
        return [str(value) for value in self.values]

    def part(self, first: int, last: int) -> Labelled:
        """Return the labels of some rows, of all labels."""
        n = self.rows
        rows = Block(np.zeros((n, 0), np.uint8), np.zeros(n, np.int64), **self.fields)
        places = np.arange(first, min(last, n))
        return replace(self, fields=rows.taken(places))

    @property
    def rows(self) -> int:
        return len(self.fields["label_indptr"]) - 1


def labels_of(
    Y: Any,
    grades: Grades | None = None,
    delimiter: str | None = None,
    classes: Sequence[Any] | None = None,
    partial: bool = False,
    key: str | None = None,
) -> Labelled:
    """Return the labels of Y in any of its forms.

    An indicator matrix (1 positive, 0 negative, NaN or None unknown), one class a row (each a
    label) or a list of tags (None: unknown), which a `delimiter` parts of texts; with `grades` a
    matrix of numbers, or one label's (n,). `classes` are the labels that there are, in their order;
    `partial`: there may be no tag, or one class; `key`: the field of objects, in texts, that is the
    tag."""
    if Y is None:
        raise DataError(
            "the labels are missing: this requires y to be passed, but the target y is None"
        )
    if kind_of(Y) == "pyspark":
        raise DataError(f"Y {SPARK_FIRST}")
    Y = unmasked(Y)
    tagged = tags_of_column(Y) if grades is None and classes is None else None
    if tagged is not None:
        return Labelled(*tagged, tagged=True)
    cells = _cells(Y, delimiter, key)
    all_unknown = partial and cells is not None and all(map(absent, cells))
    if cells is not None and (all_unknown or are_tags(cells, isinstance(Y, list | tuple))):
        if grades is not None:
            raise DataError(
                "Y holds lists of tags, which have no grades: give a matrix of numbers, or leave "
                "graded_labels out"
            )
        return Labelled(*tag_labels(cells, classes, partial), tagged=True)
    if grades is not None and not sp.issparse(Y):
        return _labels_of_matrix(_matrix_of_grades(Y), Y, grades, classes)
    if cells is not None:
        texts = [isinstance(cell, str) for cell in cells]
        Y = objects(cells) if any(texts) and not all(texts) else cells  # NumPy would make texts
    matrix = _indicators(Y)
    if not sp.issparse(matrix):
        indicator = matrix.dtype.kind in "biuf" and wrong_entry(matrix, None) is None
        if matrix.ndim == 1 or (matrix.shape[1] == 1 and not indicator):
            return _classes(matrix.reshape(-1), classes, partial)
    return _labels_of_matrix(matrix, Y, grades, classes)


def _cells(Y: Any, delimiter: str | None, key: str | None) -> list[Any] | None:
    """Return labels that are a column as cells, those of texts of several tags as lists."""
    cells = cells_of(Y)
    has_texts = cells is not None and any(isinstance(cell, str) for cell in cells)
    if delimiter is not None and cells is None:
        raise DataError(
            "label_delimiter parts a text a row into tags, and Y is a matrix; leave it out"
        )
    return tags_of_texts(cells, delimiter, key) if cells is not None and has_texts else cells


def _labels_of_matrix(
    matrix: Matrix,
    Y: Any,
    grades: Grades | None,
    classes: Sequence[Any] | None,
) -> Labelled:
    """Return the labels of a matrix, named as the columns of Y, or in the order of `classes`."""
    q = matrix.shape[1]
    if not q:
        raise DataError("Y has no labels (0 columns); give at least one")
    values = list(Y.columns) if kind_of(Y) else None
    by_place = column_names(Y) is None
    if classes is not None:
        if by_place and len(classes) != q:
            raise DataError(f"there are {len(classes)} classes, and Y has {q} columns")
        if not by_place:
            ordered = [str(value) for value in classes]
            columns = [str(column) for column in values or ()]
            matrix = matrix[:, places_of(ordered, columns, "classes", "Y")]
        values = list(classes)
    n = matrix.shape[0]
    names = None if values is None else [str(value) for value in values]
    rows, labels, entries = _entries(matrix, grades)
    wrong = wrong_entry(
        entries, grades, "unknown (NaN), or give lists of tags, or grades with graded_labels=True"
    )
    if wrong is not None:
        position, problem = wrong
        label = labels[position]
        raise DataError(
            f"row {rows[position]} of Y: label {repr(names[label]) if names else label} is "
            f"{problem}"
        )
    if values is None:
        values = [f"y{j}" for j in range(q)]
    if grades is not None:
        values = grades.names([str(value) for value in values])
    fields = label_lists(
        n,
        rows,
        labels,
        entries,
        grades,
    )
    return Labelled(fields, values, by_place=by_place)


def _entries(matrix: Matrix, grades: Grades | None) -> tuple[ndarray, ndarray, ndarray]:
    """Return (row, label, value) of the entries of a matrix that are not 0.

    Of all where a 0 may be a grade."""
    zero_matters = grades is not None and grades.zero_matters
    if sp.issparse(matrix):
        if zero_matters and matrix.nnz < matrix.shape[0] * matrix.shape[1]:
            raise DataError(
                "Y is sparse, and a 0, which it does not store, would not be the lowest grade; "
                "give it dense"
            )
        entries = matrix.tocoo()
        rows = entries.row.astype(np.int64)
        labels = entries.col.astype(np.int64)
        return rows, labels, entries.data
    if zero_matters:
        rows, labels = np.indices(matrix.shape)
        return rows.ravel(), labels.ravel(), matrix.ravel()
    rows, labels = np.nonzero(matrix)
    return rows, labels, matrix[rows, labels]


def _indicators(Y: Any) -> Matrix:
    """Return Y as numbers, or as it is where it holds one class a row."""
    if sp.issparse(Y):
        check_real(Y.dtype, "Y")
        check_indices(Y, "Y")
        return without_zeros(Y)
    kind = kind_of(Y)
    if kind and len(Y.columns) > 1:
        y = numbers_of_frame(Y, kind, "Y", read=_numbers_of_labels)
    else:
        y = array_of(Y, "Y")
    check_real(y.dtype, "Y")
    if y.ndim not in (1, 2):
        raise DataError(
            f"Y has {y.ndim} dimension(s); give a matrix of 0 and 1 of rows by labels, or lists of "
            "tags"
        )
    if y.ndim == 2 and y.shape[1] != 1:
        return _numbers_of_labels(y, "Y")
    return y.astype(np.float64) if y.ndim == 2 and y.dtype.kind == "b" else y


def _numbers_of_labels(values: ndarray, name: str) -> ndarray:
    """Return labels as numbers: those of texts that stand for 0 and 1, as in files, too."""
    try:
        return numbers(values, name)
    except NotNumbers:
        if values.ndim > 1:
            columns = [_numbers_of_labels(column, name) for column in values.T]
            return np.stack(columns, axis=-1)
        return _truth(values, name)


def _truth(column: ndarray, name: str) -> ndarray:
    """Return what the texts of a column of labels stand for; raise where one stands for nothing."""
    from ..read.label_cells import truth_of

    cells = [None if absent(cell) else cell for cell in column.tolist()]
    texts = [cell for cell in cells if isinstance(cell, str)]
    others = [cell for cell in cells if cell is not None and not isinstance(cell, str)]
    truth = None if others else truth_of({*texts}, None, None)
    if truth is None:
        unknown = (text for text in dict.fromkeys(texts) if truth_of({text}, None, None) is None)
        raise NotNumbers(name, next(unknown, [*others, *texts][0]))
    return np.array([np.nan if cell is None else truth[cell] for cell in cells])


def _matrix_of_grades(Y: Any) -> ndarray:
    """Return grades as a matrix (n, q); one label's may be (n,)."""
    kind = kind_of(Y)
    matrix = numbers_of_frame(Y, kind, "Y") if kind else numbers(Y, "Y")
    if matrix.ndim not in (1, 2):
        raise DataError(
            f"Y has {matrix.ndim} dimension(s); give a matrix of grades of rows by labels"
        )
    return matrix.reshape(len(matrix), -1)


def classes_of(Y: Any) -> ndarray:
    """Return one class a row as an array (n,), in the type that it came in.

    `DataError` where Y is a matrix or has lists of tags."""
    Y = unmasked(Y)
    cells = cells_of(Y)
    y = objects(cells) if cells is not None else array_of(Y, "Y")
    if y.ndim > 2 or (y.ndim == 2 and y.shape[1] != 1) or (cells and are_tags(cells, False)):
        raise DataError("Y holds several labels a row, and training had one class a row")
    return of_one_type(y.reshape(-1))


def _classes(y: ndarray, classes: Sequence[Any] | None, partial: bool) -> Labelled:
    """Return each class of one class a row as a label."""
    y = of_one_type(y)
    if y.dtype.kind in "UO" and not all(str(value).isascii() for value in y):
        y = of_one_type(objects([*map(composed_text, y.tolist())]))
    missing = ""
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        missing = "NaN or inf"
    elif y.dtype.kind == "M" and np.isnat(y).any():
        missing = "NaT"
    elif y.dtype.kind == "O" and any(map(absent, y)):
        missing = "None or NaN"
    if missing:
        raise DataError(
            f"Y holds {missing}; where classes are unknown give an indicator matrix with NaN, or "
            "lists of tags"
        )
    if y.dtype.kind == "f" and (y != np.rint(y)).any():
        raise DataError(
            "Unknown label type: Y has continuous values; give classes, a matrix of 0 and 1, or "
            "lists of tags"
        )
    try:
        distinct, numbered = np.unique(y, return_inverse=True)
    except TypeError:
        raise DataError(
            "Y holds text and numbers; give classes of one kind, a matrix of 0 and 1, or lists of "
            "tags"
        ) from None
    _warn_of_delimiters(distinct)
    if len(distinct) == 1 and classes is None and not partial:
        raise DataError(
            f"Y holds one class only, {shown(distinct[0])}; a ranking needs rows of at least two"
        )
    if classes is not None:
        numbered = _places_of_classes(distinct, classes)[numbered]
        distinct = of_one_type(objects(classes))
    labels = label_lists(len(y), np.arange(len(y)), numbered)
    return Labelled(labels, list(distinct), distinct)


def _places_of_classes(distinct: ndarray, classes: Sequence[Any]) -> ndarray:
    """Return where classes that occur are among those that were named."""
    place = {str(value): i for i, value in enumerate(classes)}  # of a date of any package
    place |= {value: i for i, value in enumerate(classes)}  # 1 and 1.0 alike
    places = [place.get(value, place.get(str(value))) for value in distinct]
    for value, known in zip(distinct, places, strict=True):
        if known is None:
            raise DataError(
                f"Y holds the class {shown(value)}, which is none of the classes that were named: "
                "name it, too, or correct it"
            )
    return np.array(places, np.int64)


def objects(values: Sequence[Any]) -> ndarray:
    """Return values as an array (n,) of objects, tuples and lists among them as they are."""
    out = np.empty(len(values), object)
    out[:] = list(values)
    return out


def of_one_type(y: ndarray) -> ndarray:
    """Return an array of objects that are all truth values, or all numbers, as one of these."""
    if y.dtype.kind != "O" or not len(y):
        return y
    for kind, dtype in (((bool, np.bool_), bool), (Integral, np.int64), (Real, np.float64)):
        if all(isinstance(value, kind) for value in y):
            try:
                return y.astype(dtype)
            except OverflowError:
                return y
    return y


def _warn_of_delimiters(classes: ndarray) -> None:
    """Warn where parts of texts repeat, as those of several tags in one text do."""
    texts = [value for value in classes if isinstance(value, str)]
    for mark in ",;|":
        parts = [tag for text in texts for tag in set(parted(text, mark))]
        if len(set(parts)) == len(parts):
            continue
        example = str(next(value for value in classes if mark in str(value)))
        message = (
            f"Y holds texts such as {example!r}, each read as one class; rank takes "
            f"label_delimiter={mark!r}, which parts them into tags; or give lists"
        )
        warnings.warn(DataNotice(message), stacklevel=3)
