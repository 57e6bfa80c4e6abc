"""Labels in memory: indicator matrices, grades, one class a row, or tags."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..errors import DataError, DataNotice, shown
from ..kernels.matrix import Matrix
from .block import Attributes, label_lists, wrong_entry
from .grades import Grades
from .tables import (
    SPARK_FIRST,
    check_indices,
    check_real,
    kind_of,
    numbers,
    numbers_of_frame,
    unmasked,
    without_zeros,
)

COLLECTIONS = (list, tuple, set, frozenset, ndarray)


@dataclass(frozen=True)
class Labelled:
    """Labels of rows: the `fields` of a `Block`, the `names` of the labels, `classes` where Y gave
    one class a row."""

    fields: Attributes
    names: list[str]
    classes: ndarray | None = None

    @property
    def rows(self) -> int:
        return len(self.fields["label_indptr"]) - 1


def labels_of(Y: Any, grades: Grades | None = None, delimiter: str | None = None) -> Labelled:  # noqa: C901
    """Return the labels of Y in any of its forms.

    An indicator matrix (1 positive, 0 negative, NaN or None unknown), one class a row (each a
    label) or a list of tags (None: unknown), which a `delimiter` parts of texts; with `grades` a
    matrix of numbers, or one label's (n,)."""
    if Y is None:
        raise DataError(
            "the labels are missing: this requires y to be passed, but the target y is None"
        )
    kind = kind_of(Y)
    if kind == "pyspark":
        raise DataError(f"Y {SPARK_FIRST}")
    names = [str(name) for name in Y.columns] if kind else None
    Y = unmasked(Y)
    if kind and len(Y.columns) == 1 and grades is None:
        cells = (Y.iloc[:, 0] if kind == "pandas" else Y.to_series()).to_list()
        if any(isinstance(cell, (str, *COLLECTIONS)) for cell in cells):  # classes or tags
            Y = cells
            kind = ""
            names = None
    if not kind and hasattr(Y, "to_list"):  # a pandas or Polars series
        Y = Y.to_list()
    if delimiter is not None:
        if kind or sp.issparse(Y):
            raise DataError(
                "label_delimiter parts a text a row into tags, and Y is a matrix; leave it out"
            )
        Y = [_parted(cell, delimiter) if isinstance(cell, str) else cell for cell in Y]
    if are_tags(Y):
        if grades is not None:
            raise DataError(
                "Y holds lists of tags, which have no grades: give a matrix of numbers, or leave "
                "graded_labels out"
            )
        return _tags(Y)
    matrix = _indicators(Y) if grades is None or sp.issparse(Y) else _matrix_of_grades(Y)
    if grades is None and not sp.issparse(matrix):
        indicator = matrix.dtype.kind in "biuf" and wrong_entry(matrix, None) is None
        if matrix.ndim == 1 or (matrix.shape[1] == 1 and not indicator):
            return _classes(matrix.reshape(-1))
    return _labels_of_matrix(matrix, grades, names)


def _labels_of_matrix(matrix: Matrix, grades: Grades | None, names: list[str] | None) -> Labelled:
    n, q = matrix.shape
    if not q:
        raise DataError("Y has no labels (0 columns); give at least one")
    rows, labels, values = _entries(matrix, grades)
    wrong = wrong_entry(
        values, grades, "unknown (NaN), or give lists of tags, or grades with graded_labels=True"
    )
    if wrong is not None:
        position, problem = wrong
        label = labels[position]
        raise DataError(
            f"row {rows[position]} of Y: label {repr(names[label]) if names else label} is "
            f"{problem}"
        )
    names = names or [f"y{j}" for j in range(q)]
    if grades is not None:
        names = grades.names(names)
    return Labelled(
        label_lists(
            n,
            rows,
            labels,
            values,
            grades,
        ),
        names,
    )


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


def _absent(cell: Any) -> bool:
    """Return whether a cell is None, NaN or pandas' NA."""
    if cell is None or type(cell).__name__ == "NAType":
        return True
    return isinstance(cell, float) and cell != cell


def _parted(text: str, delimiter: str) -> list[str]:
    tags = [part.strip() for part in text.split(delimiter)]
    return [tag for tag in tags if tag]


def are_tags(Y: Any) -> bool:
    """Return whether Y is a sequence of lists of texts.

    Or of sets or lists that are no rows of a matrix."""
    is_vector = isinstance(Y, ndarray) and Y.ndim == 1
    if not isinstance(Y, list | tuple) and not hasattr(Y, "to_list") and not is_vector:
        return False
    cells = [cell for cell in Y if isinstance(cell, COLLECTIONS)]
    first_tag = next((tag for cell in cells for tag in cell), None)
    if isinstance(first_tag, str) or any(isinstance(cell, set | frozenset) for cell in cells):
        return True
    if len({len(cell) for cell in cells}) > 1:
        return True
    return bool(cells) and isinstance(Y, ndarray)


def _tags(Y: Sequence[Collection[Any] | None]) -> Labelled:
    """Return labels from lists of tags."""
    Y = [None if _absent(cell) else cell for cell in Y]
    for row, cell in enumerate(Y):
        if cell is None:
            continue
        if not isinstance(cell, COLLECTIONS) or not all(isinstance(tag, str) for tag in cell):
            raise DataError(
                f"row {row} of Y is {cell!r} where others are lists of tags; give a list of texts, "
                "or None"
            )
    names = sorted({tag for cell in Y if cell is not None for tag in cell})
    if not names:
        raise DataError("no row of Y has a tag; give at least one")
    number = {name: place for place, name in enumerate(names)}
    lengths = [0 if cell is None else len(cell) for cell in Y]
    rows = np.repeat(np.arange(len(Y)), lengths)
    labels = np.array([number[tag] for cell in Y if cell is not None for tag in cell])
    unlabelled = np.flatnonzero([cell is None for cell in Y])
    return Labelled(label_lists(len(Y), rows, labels, unlabelled=unlabelled), names)


def _indicators(Y: Any) -> Matrix:
    """Return Y as numbers, or as it is where it holds one class a row."""
    if sp.issparse(Y):
        check_real(Y.dtype, "Y")
        check_indices(Y, "Y")
        return without_zeros(Y)
    kind = kind_of(Y)
    y = numbers_of_frame(Y, kind, "Y") if kind and len(Y.columns) > 1 else np.asarray(Y)
    check_real(y.dtype, "Y")
    if y.ndim not in (1, 2):
        raise DataError(
            f"Y has {y.ndim} dimension(s); give a matrix of 0 and 1 of rows by labels, or lists of "
            "tags"
        )
    if y.ndim == 2 and y.shape[1] != 1:
        return numbers(y, "Y")
    return y.astype(np.float64) if y.dtype.kind == "b" else y


def _matrix_of_grades(Y: Any) -> ndarray:
    """Return grades as a matrix (n, q); one label's may be (n,)."""
    kind = kind_of(Y)
    matrix = numbers_of_frame(Y, kind, "Y") if kind else numbers(Y, "Y")
    if matrix.ndim not in (1, 2):
        raise DataError(
            f"Y has {matrix.ndim} dimension(s); give a matrix of grades of rows by labels"
        )
    return matrix.reshape(len(matrix), -1)


def _classes(y: ndarray) -> Labelled:
    """Return each class of one class a row as a label."""
    numeric = y.dtype.kind == "f"
    absent = ""
    if numeric and not np.isfinite(y).all():
        absent = "NaN or inf"
    elif y.dtype.kind == "O" and any(map(_absent, y)):
        absent = "None or NaN"
    if absent:
        raise DataError(
            f"Y holds {absent}; where classes are unknown give an indicator matrix with NaN, or "
            "lists of tags"
        )
    if numeric and (y != np.rint(y)).any():
        raise DataError(
            "Unknown label type: Y has continuous values; give classes, a matrix of 0 and 1, or "
            "lists of tags"
        )
    try:
        classes, numbered = np.unique(y, return_inverse=True)
    except TypeError:
        raise DataError(
            "Y holds text and numbers; give classes of one kind, a matrix of 0 and 1, or lists of "
            "tags"
        ) from None
    _warn_of_delimiters(classes)
    if len(classes) == 1:
        raise DataError(
            f"Y holds one class only, {shown(classes[0])}; a ranking needs rows of at least two"
        )
    labels = label_lists(len(y), np.arange(len(y)), numbered)
    return Labelled(labels, [str(value) for value in classes], classes)


def _warn_of_delimiters(classes: ndarray) -> None:
    """Warn where parts of texts repeat, as those of several tags in one text do."""
    texts = [value for value in classes if isinstance(value, str)]
    for mark in ",;|":
        parts = [tag for text in texts for tag in set(_parted(text, mark))]
        if len(set(parts)) == len(parts):
            continue
        example = str(next(value for value in classes if mark in str(value)))
        message = (
            f"Y holds texts such as {example!r}, each read as one class; rank takes "
            f"label_delimiter={mark!r}, which parts them into tags; or give lists"
        )
        warnings.warn(DataNotice(message), stacklevel=3)
