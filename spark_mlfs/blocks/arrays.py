"""Tables in memory become one block: NumPy, SciPy sparse, pandas and Polars, and labels as any of them, as classes, or as tags.

The block is what packing a Spark frame of the same rows gives: the same narrowest type, label lists and row ids.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import DataError
from .block import Block
from .grades import Grades
from .grades import fixed as fixed_grades
from .identity import profiled
from .prepared import Held, check_and_name
from .weights import fixed, wrong_weight

SPARK_FIRST = "is a Spark frame; its estimators are spark_mlfs.JMISelector and the like, or collect it: .toPandas()"


def narrowest(x: np.ndarray) -> np.ndarray:
    """`x` in the narrowest of uint8, float32 and float64 that holds every value exactly."""
    probe = x.reshape(-1)[:4096]
    with np.errstate(invalid="ignore", over="ignore"):
        for dtype in (np.uint8, np.float32):
            if (probe.astype(dtype) == probe).all():
                small = x.astype(dtype)
                if (small == x).all():
                    return small
    return np.ascontiguousarray(x, np.float64)


def hold(X: Any, Y: Any, weights: Any = None, grades: Grades | None = None) -> tuple[Held, Labelled]:
    """The rows of X (n, d) with their labels Y, and their weights (n,), as one block of this process, profiled, their ids the
    hashes of their content; and the labels as they were read, as `grades` say. `DataError` for what is wrong with them."""
    x, names = features_of(X)
    wrong_value(x, names)
    labels = labels_of(Y, grades)
    if labels.rows != x.shape[0]:
        raise DataError(
            f"X has {x.shape[0]} samples, Y has {labels.rows}: inconsistent numbers of samples; give every row its labels"
        )
    block = Block(x, np.zeros(x.shape[0], np.int64), *labels.lists, grades=labels.grades)
    if weights is not None:
        block.weights = weights_of(weights, block.n)
        if not block.weights.any():
            raise DataError("the weights in sample_weight are all zero; give some rows a weight above 0")
        if not block.weights.all():
            block = block.take(np.flatnonzero(block.weights))  # a row of weight 0 is none
    block, profile = profiled(block, len(labels.names), named=False)
    profile.partitions = 1
    held = Held(block, profile, names or [f"x{j}" for j in range(x.shape[1])], labels.names, names is not None)
    check_and_name(held, "X", "Y")
    return held, labels


# ---- features ----


def kind_of(table: Any) -> str:
    """The package whose table it is: "pandas", "polars", "pyspark", or "" for arrays and lists."""
    package = type(table).__module__.partition(".")[0]
    return package if package in ("pandas", "polars", "pyspark") and hasattr(table, "columns") else ""


def features_of(X: Any) -> tuple[np.ndarray | sp.csr_matrix, list[str] | None]:
    """(the features as a dense matrix or CSR in the narrowest type that holds them, their names where they are all text)."""
    kind = kind_of(X)
    if kind == "pyspark":
        raise DataError(f"X {SPARK_FIRST}")
    if sp.issparse(X):
        return _csr(X), None
    names = None
    if kind:
        names = [name for name in X.columns] if all(isinstance(name, str) for name in X.columns) else None
        if kind == "pandas" and len(X.columns) and all(hasattr(dtype, "fill_value") for dtype in X.dtypes):
            return _csr(X.sparse.to_coo()), names
        x = _numbers_of_frame(X, kind)
    else:
        x = numbers(X, "X")
    if x.ndim != 2:
        raise DataError(
            f"X has {x.ndim} dimension(s), rows and features make 2. Reshape your data: X.reshape(-1, 1) if it is one feature, "
            "X.reshape(1, -1) if it is one row"
        )
    _enough(x.shape)
    return narrowest(np.ascontiguousarray(x)), names


def _enough(shape: tuple[int, ...]) -> None:
    for count, what in zip(shape, ("sample", "feature"), strict=True):
        if not count:
            raise DataError(f"X has 0 {what}(s) (shape={shape}) while a minimum of 1 is required.")


def _csr(X: Any) -> sp.csr_matrix:
    """Sparse features as CSR without stored zeros, columns ascending."""
    _real(X.dtype, "X")
    if X.dtype == object:
        raise DataError("X is a sparse matrix of objects; give numbers")
    _enough(X.shape)
    x = sp.csr_matrix(X, dtype=np.float64, copy=True)
    x.sum_duplicates()
    x.eliminate_zeros()
    x.data = narrowest(x.data)
    return sp.csr_matrix((x.data, x.indices.astype(np.int32), x.indptr.astype(np.int32)), shape=x.shape)


def _real(dtype: np.dtype, what: str) -> None:
    if np.issubdtype(dtype, np.complexfloating):
        raise DataError(f"Complex data not supported: {what} is {dtype}; give real and imaginary parts as columns of their own")


def numbers(values: Any, what: str) -> np.ndarray:
    """Values as an array of numbers; None is NaN."""
    if hasattr(values, "mask") and hasattr(values, "filled"):
        raise DataError(f"{what} is a masked array; fill it first: {what}.filled(...)")
    try:
        x = np.asarray(values)
    except ValueError:
        raise DataError(f"the rows of {what} are of different lengths; a table has as many entries in every row") from None
    _real(x.dtype, what)
    if x.dtype.kind in "biuf":
        return x.astype(np.float64, copy=False)
    if x.dtype.kind in "OUS":
        try:
            return x.astype(np.float64)
        except (TypeError, ValueError):
            raise _NotNumbers(what, _first(x.reshape(-1))) from None
    raise DataError(f"{what} holds {x.dtype} values; give numbers")


class _NotNumbers(DataError, TypeError):
    """A value is no number; scikit-learn has such an error be a TypeError."""

    def __init__(self, what: str, value: Any) -> None:
        super().__init__(f"{what} holds {value!r}; every argument must be a numeric string or a number: encode it, or drop it")


def _first(values: np.ndarray) -> Any:
    """The first of some values that is no number."""
    for value in values:
        try:
            float(value)
        except (TypeError, ValueError):
            if value is not None:
                return value
    return None


def _numbers_of_frame(X: Any, kind: str, what: str = "X") -> np.ndarray:
    """The columns of a pandas or Polars frame as float64; `DataError` names a column that holds something else."""
    columns = []
    for place, name in enumerate(X.columns):
        column = X.iloc[:, place].to_numpy() if kind == "pandas" else X[name].to_numpy()
        if kind == "pandas" and X.dtypes.iloc[place].kind in "biuf" and column.dtype == object:  # nullable
            column = X.iloc[:, place].to_numpy(np.float64, na_value=np.nan)
        if column.dtype.kind in "mM":
            raise DataError(f"column {name!r} of {what} holds {column.dtype} values; give numbers")
        columns.append(numbers(column, f"column {name!r} of {what}"))
    return np.column_stack(columns) if columns else np.zeros((len(X), 0))


def wrong_value(x: np.ndarray | sp.csr_matrix, names: Sequence[str] | None = None) -> None:
    """`DataError` names the first value that is not finite."""
    values = x.data if sp.issparse(x) else x
    if values.dtype == np.uint8 or np.isfinite(values.sum(dtype=np.float64)):  # cheap: finite when every entry is, overflow aside
        return
    if sp.issparse(x):
        bad = np.flatnonzero(~np.isfinite(x.data))
        places = np.stack([np.searchsorted(x.indptr, bad, "right") - 1, x.indices[bad]], axis=1)
    else:
        places = np.argwhere(~np.isfinite(x))
    if len(places):
        row, column = (int(i) for i in places[0])
        called = repr(names[column]) if names else column
        told = "missing (NaN); fill it first" if np.isnan(x[row, column]) else f"{x[row, column]:g}; features must be finite"
        raise DataError(f"row {row} of X: feature {called} is {told} ({len(places)} such value(s))")


def weights_of(weights: Any, rows: int) -> np.ndarray:
    """(n,) float64 fixed-point weights; `DataError` names the first that cannot be used. One number is that of every row."""
    w = numbers(weights.to_numpy() if kind_of(weights) or hasattr(weights, "to_numpy") else weights, "sample_weight")
    w = np.full(rows, float(w)) if w.ndim == 0 else w
    if w.shape != (rows,):
        raise DataError(f"sample_weight has shape {w.shape}, X has {rows} samples; give every row one weight")
    wrong = wrong_weight(w)
    if wrong is not None:
        raise DataError(f"row {wrong[1]} of sample_weight: {wrong[0]}")
    return fixed(w)


# ---- labels ----


@dataclass(frozen=True)
class Labelled:
    """Labels of rows. `lists` CSR of the positive and of the unknown ones, and the rows without any label information, as a
    `Block` takes them; `names` of the labels; `classes` where Y gave one class a row; `grades` of the positive ones where not all
    are 1."""

    lists: tuple
    names: list[str]
    classes: np.ndarray | None = None
    grades: np.ndarray | None = None

    @property
    def rows(self) -> int:
        return len(self.lists[0]) - 1


def labels_of(Y: Any, grades: Grades | None = None) -> Labelled:
    """The labels of Y: an indicator matrix (array, SciPy sparse or frame; 1 positive, 0 negative, NaN or None unknown), one class
    a row (each class becomes a label), or a list of tags a row (None: nothing is known; labels in alphabetical order). With
    `grades` a matrix of numbers, or one label's (n,)."""
    if Y is None:
        raise DataError("the labels are missing: this requires y to be passed, but the target y is None")
    kind = kind_of(Y)
    if kind == "pyspark":
        raise DataError(f"Y {SPARK_FIRST}")
    names = [str(name) for name in Y.columns] if kind else None
    if not kind and hasattr(Y, "to_list"):  # a pandas or Polars series
        Y = Y.to_list()
    if grades is not None:
        return _graded(Y, names, grades)
    if _are_tags(Y):
        return _tags(Y)
    matrix = _indicators(Y)
    if not sp.issparse(matrix) and (matrix.ndim == 1 or (matrix.shape[1] == 1 and not _is_indicator(matrix))):
        return _classes(matrix.reshape(-1))
    values = matrix.data if sp.issparse(matrix) else matrix
    if not _is_indicator(values):
        raise _wrong_label(matrix, names)
    if matrix.shape[1] == 0:
        raise DataError("Y has no labels (0 columns); give at least one")
    return Labelled(_lists(matrix), names or [f"y{j}" for j in range(matrix.shape[1])])


def _are_tags(Y: Any) -> bool:
    """Whether Y is a sequence of lists of texts, or of sets."""
    if not isinstance(Y, list | tuple) and not (isinstance(Y, np.ndarray) and Y.ndim == 1):
        return False
    cells = [cell for cell in Y if isinstance(cell, list | tuple | set | frozenset | np.ndarray)]
    some = next((tag for cell in cells for tag in cell), None)
    return isinstance(some, str) or any(isinstance(cell, set | frozenset) for cell in cells)


def _tags(Y: Sequence[Collection[Any] | None]) -> Labelled:
    """Labels from lists of tags."""
    for row, cell in enumerate(Y):
        if cell is not None and (isinstance(cell, str) or not all(isinstance(tag, str) for tag in cell)):
            raise DataError(f"row {row} of Y is {cell!r} where others are lists of tags; give a list of texts, or None")
    names = sorted({tag for cell in Y if cell is not None for tag in cell})
    if not names:
        raise DataError("no row of Y has a tag; give at least one")
    number = {name: place for place, name in enumerate(names)}
    lists = [sorted({number[tag] for tag in cell}) if cell is not None else [] for cell in Y]
    indptr = np.concatenate([[0], np.cumsum([len(cell) for cell in lists])]).astype(np.int32)
    indices = np.array([label for cell in lists for label in cell], np.int32)
    unlabelled = np.array([row for row, cell in enumerate(Y) if cell is None], np.int64)
    return Labelled((indptr, indices, None, None, unlabelled if len(unlabelled) else None), names)


def _indicators(Y: Any) -> np.ndarray | sp.csr_matrix:
    """Y as numbers, or as it is where it holds one class a row."""
    if sp.issparse(Y):
        _real(Y.dtype, "Y")
        y = sp.csr_matrix(Y, dtype=np.float64, copy=True)
        y.sum_duplicates()
        y.eliminate_zeros()
        return y
    kind = kind_of(Y)
    y = _numbers_of_frame(Y, kind) if kind and len(Y.columns) > 1 else np.asarray(Y)
    _real(y.dtype, "Y")
    if y.ndim not in (1, 2):
        raise DataError(f"Y has {y.ndim} dimension(s); give a matrix of 0 and 1 of rows by labels, or lists of tags")
    if y.ndim == 1 or y.shape[1] == 1:
        return y if y.dtype.kind in "OUS" else y.astype(np.float64) if y.dtype.kind == "b" else y
    return numbers(y, "Y")


def _is_indicator(values: np.ndarray) -> bool:
    if values.dtype.kind not in "biuf":
        return False
    return bool(((values == 0) | (values == 1) | np.isnan(values)).all())


def _wrong_label(matrix: np.ndarray | sp.csr_matrix, names: list[str] | None) -> DataError:
    dense = matrix.toarray() if sp.issparse(matrix) else matrix
    row, column = np.argwhere(~((dense == 0) | (dense == 1) | np.isnan(dense)))[0]
    called = repr(names[column]) if names else column
    return DataError(
        f"row {row} of Y: label {called} is {dense[row, column]:g}; labels are 0, 1 or unknown (NaN), or "
        "give lists of tags, or grades with graded_labels=True"
    )


def _graded(Y: Any, names: list[str] | None, grades: Grades) -> Labelled:
    """Labels that are grades, of a matrix (n, q), or of one label (n,)."""
    if sp.issparse(Y):
        matrix = _indicators(Y).tocoo()
        rows, labels, values = matrix.row.astype(np.int64), matrix.col.astype(np.int64), matrix.data
        short = len(values) < matrix.shape[0] * matrix.shape[1]
        if grades.zero_matters and short:
            raise DataError("Y is sparse, and a 0, which it does not store, would not be the lowest grade; give it dense")
    else:
        if _are_tags(Y):
            raise DataError("Y holds lists of tags, which have no grades: give a matrix of numbers, or leave graded_labels out")
        kind = kind_of(Y)
        matrix = _numbers_of_frame(Y, kind, "Y") if kind else numbers(Y, "Y")
        if matrix.ndim not in (1, 2):
            raise DataError(f"Y has {matrix.ndim} dimension(s); give a matrix of grades of rows by labels")
        matrix = matrix.reshape(len(matrix), -1)
        rows, labels = (each.ravel() for each in np.indices(matrix.shape))
        values = matrix.ravel()
    n, q = matrix.shape
    if not q:
        raise DataError("Y has no labels (0 columns); give at least one")
    wrong = np.flatnonzero(grades.wrong(values))
    if len(wrong):
        at = wrong[0]
        called = repr(names[labels[at]]) if names else labels[at]
        said = grades.why(float(values[at])).replace("gradeRange", "grade_range").replace(" (--grade-range)", "")
        raise DataError(f"row {rows[at]} of Y: label {called} is {said}")
    unknown = np.isnan(values)
    at, of, units = grades.entries(rows[~unknown], labels[~unknown], values[~unknown])
    order = np.lexsort((of, at))
    shape = n, q * grades.width
    lists = [*_of_pairs(at[order], of[order], shape), None, None, None]
    if unknown.any():
        lists[2:4] = _of_pairs(*grades.unknown(rows[unknown], labels[unknown]), shape)
    return Labelled(tuple(lists), grades.names(names or [f"y{j}" for j in range(q)]), grades=fixed_grades(units[order]))


def _of_pairs(rows: np.ndarray, labels: np.ndarray, shape: tuple[int, int]) -> tuple[np.ndarray, np.ndarray]:
    """CSR (indptr, indices) of pairs (row, label)."""
    out = sp.csr_matrix((np.ones(len(rows), np.int8), (rows, labels)), shape=shape)
    out.sort_indices()
    return out.indptr.astype(np.int32), out.indices.astype(np.int32)


def _classes(y: np.ndarray) -> Labelled:
    """Each class of one class a row becomes a label."""
    if y.dtype.kind == "f":
        if not np.isfinite(y).all():
            raise DataError("Y holds NaN or inf; where classes are unknown give an indicator matrix with NaN, or lists of tags")
        if (y != np.rint(y)).any():
            raise DataError("Unknown label type: Y has continuous values; give classes, a matrix of 0 and 1, or lists of tags")
    if y.dtype.kind == "O" and any(value is None or value != value for value in y):
        raise DataError("Y holds None or NaN; where classes are unknown give an indicator matrix with NaN, or lists of tags")
    try:
        classes, found = np.unique(y, return_inverse=True)
    except TypeError:
        raise DataError("Y holds text and numbers; give classes of one kind, a matrix of 0 and 1, or lists of tags") from None
    if len(classes) == 1:
        raise DataError(f"Y holds one class only, {classes[0]!r}; a ranking needs rows of at least two")
    indptr = np.arange(len(y) + 1, dtype=np.int32)
    return Labelled((indptr, found.astype(np.int32), None, None, None), [str(value) for value in classes], classes)


def _lists(matrix: np.ndarray | sp.csr_matrix) -> tuple:
    """The label fields of a `Block` from indicators."""
    known, unknown = sp.csr_matrix(matrix == 1), None
    values = matrix.data if sp.issparse(matrix) else matrix
    if np.isnan(values).any():
        if sp.issparse(matrix):
            unknown = sp.csr_matrix((np.isnan(matrix.data), matrix.indices, matrix.indptr), shape=matrix.shape)
            unknown.eliminate_zeros()
        else:
            unknown = sp.csr_matrix(np.isnan(matrix))
    more = (None, None) if unknown is None else (unknown.indptr.astype(np.int32), unknown.indices.astype(np.int32))
    return known.indptr.astype(np.int32), known.indices.astype(np.int32), *more, None
