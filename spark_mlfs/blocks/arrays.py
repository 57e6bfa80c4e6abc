"""Tables in memory become one block: NumPy, SciPy sparse, pandas and Polars, and labels as any of
them, as classes, or as tags.

The block is what packing a Spark frame of the same rows gives: the same narrowest type, label lists
and row ids."""

from __future__ import annotations

import warnings
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..errors import LARGE_WHOLE, DataError, DataNotice, shown
from ..kernels import xxhash
from ..kernels.categories import Categories
from ..kernels.matrix import Matrix, with_values
from ..kernels.missing import MISSING, fill_of_rows, fill_values, filled
from .block import Attributes, Block, label_lists, wrong_entry
from .dataset import InMemoryDataset, check_and_name
from .grades import Grades
from .identity import profiled
from .weights import fixed, wrong_weight

SPARK_FIRST = (
    "is a Spark frame; its estimators are spark_mlfs.JMISelector and the like, or "
    "collect it: .toPandas()"
)


def narrowest(x: Matrix) -> Matrix:
    """`x` in the narrowest of uint8, float32 and float64 that holds every value exactly."""
    if sp.issparse(x):
        return with_values(x, narrowest(x.data))
    probe = x.reshape(-1)[:4096]
    with np.errstate(invalid="ignore", over="ignore"):
        for dtype in (np.uint8, np.float32):
            if (probe.astype(dtype) == probe).all():
                small = x.astype(dtype)
                if (small == x).all():
                    return small
    return np.ascontiguousarray(x, np.float64)


def pack_arrays(
    X: Any,
    Y: Any,
    weights: Any = None,
    grades: Grades | None = None,
    delimiter: str | None = None,
    missing: str = "error",
    codes: bool = False,
    some: bool = False,
    ids: Any = None,
) -> tuple[InMemoryDataset, Labelled]:
    """The rows of X (n, d), labels Y and weights as one profiled block, by their `ids` or else by
    content hashes, and the labels as they were read. `missing` says what becomes of NaN in X
    (`kernels.missing`), `codes` whether categories stay one feature (`categories`), `some` that
    they are some of the rows that are ranked. `DataError` for what is wrong with them."""
    Y, weights, ids = (
        aligned(*each) for each in ((Y, X, "Y"), (weights, X, "sample_weight"), (ids, X, "row_ids"))
    )
    missing = MISSING.accept(missing)
    made = Categories(missing, codes)
    x, names = features_of(X, made)
    wrong_value(x, names, missing != "error")
    if missing == "drop":
        lacking = with_values(x, np.isnan(x.data)) if sp.issparse(x) else np.isnan(x)
        keep = np.flatnonzero(np.asarray(lacking.sum(axis=1)).ravel() == 0)
        if not len(keep):
            raise DataError(
                "every row of X lacks a value, and missing='drop' leaves none: give missing='mean' "
                "or 'zero'"
            )
        x, Y, weights, ids = (_rows_at(values, keep, x.shape[0]) for values in (x, Y, weights, ids))
    fitted = fill_of_rows(x, missing)
    x = narrowest(filled(x, fill_values(fitted, x.shape[1]))) if missing != "error" else x
    labels = labels_of(Y, grades, delimiter)
    n, d = x.shape
    if labels.rows != n:
        raise DataError(
            f"X has {n} samples, Y has {labels.rows}: inconsistent numbers of samples; give every "
            "row its labels"
        )
    block = Block(x, np.zeros(n, np.int64) if ids is None else ids_of(ids, n), **labels.fields)
    if weights is not None:
        block.weights = weights_of(weights, n)
        if not block.weights.any():
            raise DataError(
                "the weights in sample_weight are all zero; give some rows a weight above 0"
            )
    block, profile = profiled(block.of_some_weight(), len(labels.names), named=ids is not None)
    profile.named_ids = ids is not None
    profile.partitions, of = 1, made if made.values or made.dates else None
    if codes and made.values:
        profile.categories = made.counts
    named, names = names is not None, names or [f"x{j}" for j in range(d)]
    held = InMemoryDataset(
        profile, names, labels.names, named, categories=of, blocks=[block], fitted=fitted
    )
    check_and_name(held, "X", "Y", some)
    return held, labels


def aligned(values: Any, X: Any, what: str) -> Any:
    """A pandas frame or series in the order of the index of X; `DataError` where theirs holds other
    rows."""
    if (
        not (kind_of(X) == "pandas" and hasattr(values, "iloc"))
        or values.index.equals(X.index)
        or len(values) != len(X)
    ):
        return values
    if (
        not X.index.is_unique
        or not values.index.is_unique
        or len(values.index.intersection(X.index)) < len(X)
    ):
        said = "holds other rows than that of X: give both the same, or leave theirs out"
        raise DataError(f"the index of {what} {said}: {what}.to_numpy()")
    return values.reindex(X.index)


def _rows_at(values: Any, keep: np.ndarray, rows: int) -> Any:
    """Return some of the rows of a table, list or series; what has not so many as it is, to be
    refused as it is."""
    if isinstance(values, list | tuple):
        return [values[row] for row in keep] if len(values) == rows else values
    if (getattr(values, "shape", None) or [0])[0] != rows:
        return values
    return (
        values.iloc[keep]
        if hasattr(values, "iloc")
        else (values.tocsr() if sp.issparse(values) else values)[keep]
    )


# ---- features ----


def kind_of(table: Any) -> str:
    """The package whose table it is: "pandas", "polars", "pyspark", or "" for arrays and lists."""
    package = type(table).__module__.partition(".")[0]
    if package == "polars" and hasattr(table, "collect"):
        raise DataError("a lazy frame of Polars has no rows yet; collect it: frame.collect()")
    return (
        package if package in ("pandas", "polars", "pyspark") and hasattr(table, "columns") else ""
    )


def features_of(X: Any, made: Categories | None = None) -> tuple[Matrix, list[str] | None]:
    """(the features as a dense matrix or CSR in the narrowest type that holds them, their names
    where they are all text). With `made` columns of categories and dates are features, too: as it
    says, or where it is not fitted yet, it learns them."""
    kind = kind_of(X)
    if made is not None and made.fitted and not kind:
        raise DataError(
            f"X is {type(X).__name__}, and the training rows were a frame with categories or "
            "dates; give a frame"
        )
    if kind == "pyspark":
        raise DataError(f"X {SPARK_FIRST}")
    if sp.issparse(X):
        return _csr(X), None
    names = list(X.columns) if kind and all(isinstance(name, str) for name in X.columns) else None
    if (
        kind == "pandas"
        and len(X.columns)
        and all(getattr(d, "fill_value", None) == 0 for d in X.dtypes)
    ):
        return _csr(X.sparse.to_coo()), names
    x = _numbers_of_frame(X, kind, made=made) if kind else numbers(X, "X")
    if x.ndim != 2:
        remedy = (
            "Reshape your data: X.reshape(-1, 1) if it is one feature, X.reshape(1, -1) if "
            "it is one row"
        )
        raise DataError(f"X has {x.ndim} dimension(s), rows and features make 2. {remedy}")
    _enough(x.shape)
    x = narrowest(np.ascontiguousarray(x))
    if made is None or not (made.values or made.dates):
        return x, names
    made.columns = made.columns or names or [f"x{j}" for j in range(x.shape[1])]
    return made.features(x), made.names


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
    _sound(X, "X")
    if X.dtype.kind in "iu" and X.dtype.itemsize == 8:
        data = X.tocsr().data
        _exact(data, data.astype(np.float64), "X")
    x = _without_zeros(X)
    return sp.csr_matrix(
        (narrowest(x.data), x.indices.astype(np.int32), x.indptr.astype(np.int32)), shape=x.shape
    )


def _without_zeros(matrix: Any) -> sp.csr_matrix:
    x = sp.csr_matrix(matrix, dtype=np.float64, copy=True)
    x.sum_duplicates()
    x.eliminate_zeros()
    return x


def _sound(matrix: Any, what: str) -> None:
    """`DataError` where indices of a sparse matrix are outside its shape: SciPy would read and
    write there."""
    try:
        if matrix.format == "coo":
            sp.coo_matrix((matrix.data, (matrix.row, matrix.col)), matrix.shape)
        elif hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
    except ValueError as error:
        raise DataError(f"{what} is a corrupt sparse matrix: {error}") from None


def _real(dtype: np.dtype, what: str) -> None:
    if np.issubdtype(dtype, np.complexfloating):
        raise DataError(
            f"Complex data not supported: {what} is {dtype}; give real and imaginary parts as "
            "columns of their own"
        )


def numbers(values: Any, what: str) -> np.ndarray:
    """Values as an array of numbers; None is NaN."""
    try:
        x = np.asarray(_unmasked(values))
    except ValueError:
        raise DataError(
            f"the rows of {what} are of different lengths; a table has as many entries in every row"
        ) from None
    _real(x.dtype, what)
    if x.dtype.kind not in "biufOUS":
        raise DataError(f"{what} holds {x.dtype} values; give numbers")
    try:
        out = x.astype(np.float64, copy=False)
    except OverflowError:
        raise DataError(f"{what} holds whole numbers beyond those of float64; scale them") from None
    except (TypeError, ValueError):
        raise _NotNumbers(
            what, next((value for value in x.reshape(-1) if not _is_number(value)), None)
        ) from None
    if x.dtype.kind in "iuO" and x.dtype.itemsize == 8:
        _exact(x, out, what)
    return out


def _exact(x: np.ndarray, as_float: np.ndarray, what: str) -> None:
    """`DataError` for whole numbers that become others as float64."""
    with np.errstate(invalid="ignore"):
        large = np.argwhere(np.abs(as_float) >= 1 << 53)
    for place in map(tuple, large):
        value = x[place].item() if hasattr(x[place], "item") else x[place]
        if isinstance(value, int) and value != int(as_float[place]):
            where = f"column {place[1]} of {what}" if len(place) > 1 else what
            raise DataError(f"{where} holds {LARGE_WHOLE} ({value})")


def _unmasked(values: Any) -> Any:
    """A masked array with NaN, or None, where it is masked; anything else as it is."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    real = values.dtype.kind in "biuf"
    return np.ma.filled(values.astype(np.float64 if real else object), np.nan if real else None)


class _NotNumbers(DataError, TypeError):
    """A value is no number; scikit-learn has such an error be a TypeError."""

    def __init__(self, what: str, value: Any) -> None:
        self.value = value
        told = (
            ", which is no number"
            if isinstance(value, str)
            else "; every argument must be a string or a number"
        )
        super().__init__(f"{what} holds {shown(value)}{told}: encode it, or drop it")


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return value is None
    return True


def _numbers_of_frame(
    X: Any, kind: str, what: str = "X", made: Categories | None = None
) -> np.ndarray:
    """The columns of a pandas or Polars frame as float64; `DataError` names those that hold
    something else. `made` tells of those that are categories or dates."""
    columns, wrong = [], {}
    for place, name in enumerate(X.columns):
        cells = X.iloc[:, place] if kind == "pandas" else X[name]
        column = cells.to_numpy()
        if column.ndim > 1:  # arrays and structs of Polars
            wrong[name] = f"{column.shape[1]} numbers a row"
            continue
        if (
            made is not None
            and (known := made.column(place, name, cells, column, _is_text(column))) is not None
        ):
            columns.append(known)
            continue
        if (
            kind == "pandas" and X.dtypes.iloc[place].kind in "biuf" and column.dtype == object
        ):  # nullable
            numbers(
                X.iloc[:, place].dropna().to_numpy(X.dtypes.iloc[place].numpy_dtype),
                f"column {name!r} of {what}",
            )
            column = X.iloc[:, place].to_numpy(np.float64, na_value=np.nan)
        try:
            columns.append(numbers(column, f"column {name!r} of {what}"))
        except _NotNumbers as error:
            wrong[name] = repr(error.value)
        except DataError:
            if column.dtype.kind not in "mM":
                raise
            wrong[name] = column.dtype
    if wrong:
        some = [f"{name!r} ({told})" for name, told in wrong.items()]
        told = (
            f"columns of {what} that hold no "
            f"numbers{', or texts, booleans or dates alone' if made is not None else ''}"
        )
        raise DataError(
            f"{told}: {', '.join(some[:10])}{' …' if len(some) > 10 else ''}; encode them, or drop "
            "them"
        )
    return np.column_stack(columns) if columns else np.zeros((len(X), 0))


def _is_text(column: np.ndarray) -> bool:
    """Whether some cell is no number."""
    if column.dtype.kind in "OUS":
        try:
            column.astype(np.float64)
        except (TypeError, ValueError):
            return True
    return False


def wrong_value(x: Matrix, names: Sequence[str] | None = None, keep_missing: bool = False) -> None:
    """`DataError` names the first value that is not finite; with `keep_missing` that is
    infinite."""
    values = x.data if sp.issparse(x) else x
    with np.errstate(over="ignore", invalid="ignore"):
        if values.dtype == np.uint8 or np.isfinite(
            values.sum(dtype=np.float64)
        ):  # cheap: of finite entries, overflow aside
            return
    bad = np.isinf(values) if keep_missing else ~np.isfinite(values)
    places = np.argwhere(bad)
    if sp.issparse(x):
        places = np.stack(
            [np.searchsorted(x.indptr, places[:, 0], "right") - 1, x.indices[bad]], axis=1
        )
    if len(places):
        row, column = (int(i) for i in places[0])
        called = repr(names[column]) if names else column
        told = f"{x[row, column]:g}; features must be finite"
        if np.isnan(x[row, column]):
            told = "missing (NaN); fill it first, or give missing='mean', 'zero' or 'drop'"
        others = [
            repr(names[i]) if names else str(i) for i in np.unique(places[:, 1]) if i != column
        ]
        also = (
            f", and in {', '.join(others[:10])}{' …' if len(others) > 10 else ''}" if others else ""
        )
        raise DataError(
            f"row {row} of X: feature {called} is {told} ({len(places)} such value(s){also})"
        )


def ids_of(ids: Any, rows: int) -> np.ndarray:
    """(n,) int64 ids: whole numbers, or of texts the hashes by which the readers know them
    (`kernels.xxhash`)."""
    ids = ids.tolist() if isinstance(ids, np.ma.MaskedArray) else ids  # what is masked is None
    values = (
        np.asarray(ids) if hasattr(ids, "dtype") else np.array(ids, object)
    )  # a list may mix numbers, texts and NaN
    if values.shape != (rows,):
        raise DataError(
            f"row_ids has shape {values.shape}, X has {rows} samples; give every row one id"
        )
    texts = values.tolist() if values.dtype.kind not in "iu" else []
    if values.dtype.kind in "iuO" and all(
        type(number) is int or isinstance(number, np.integer) for number in texts
    ):
        if rows and not -(1 << 63) <= values.min() <= values.max() < 1 << 63:
            raise DataError(
                "row_ids holds whole numbers beyond 64 bits with a sign; give smaller ones, or "
                "texts"
            )
        return values.astype(np.int64)
    if not all(isinstance(text, str) for text in texts):
        raise DataError(
            "row_ids holds other things than whole numbers, or than texts; give every row one of "
            "either kind"
        )
    content = [text.encode(errors="surrogatepass") for text in texts]
    lengths = np.array([len(each) for each in content], np.int64)
    data, first = np.frombuffer(b"".join(content), np.uint8), np.cumsum(lengths) - lengths
    return xxhash.of_bytes(data, first, lengths, np.full(rows, xxhash.SEED, np.uint64)).view(
        np.int64
    )


def weights_of(weights: Any, rows: int) -> np.ndarray:
    """(n,) float64 fixed-point weights; `DataError` names the first that cannot be used. One number
    is that of every row."""
    w = numbers(
        weights.to_numpy() if kind_of(weights) or hasattr(weights, "to_numpy") else weights,
        "sample_weight",
    )
    w = np.full(rows, float(w)) if w.ndim == 0 else w
    if w.shape != (rows,):
        raise DataError(
            f"sample_weight has shape {w.shape}, X has {rows} samples; give every row one weight"
        )
    wrong = wrong_weight(w)
    if wrong is not None:
        raise DataError(f"row {wrong[1]} of sample_weight: {wrong[0]}")
    return fixed(w)


# ---- labels ----


@dataclass(frozen=True)
class Labelled:
    """Labels of rows: the `fields` of a `Block`, the `names` of the labels, `classes` where Y gave
    one class a row."""

    fields: Attributes
    names: list[str]
    classes: np.ndarray | None = None

    @property
    def rows(self) -> int:
        return len(self.fields["label_indptr"]) - 1


def labels_of(Y: Any, grades: Grades | None = None, delimiter: str | None = None) -> Labelled:
    """The labels of Y: an indicator matrix (1 positive, 0 negative, NaN or None unknown), one class
    a row (each a label) or a list of tags (None: unknown), which a `delimiter` parts of texts; with
    `grades` a matrix of numbers, or one label's (n,)."""
    if Y is None:
        raise DataError(
            "the labels are missing: this requires y to be passed, but the target y is None"
        )
    kind = kind_of(Y)
    if kind == "pyspark":
        raise DataError(f"Y {SPARK_FIRST}")
    names = [str(name) for name in Y.columns] if kind else None
    Y = _unmasked(Y)
    if kind and len(Y.columns) == 1 and grades is None:
        cells = (Y.iloc[:, 0] if kind == "pandas" else Y.to_series()).to_list()
        if any(isinstance(cell, (str, *COLLECTIONS)) for cell in cells):  # classes or tags
            Y, kind, names = cells, "", None
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
    n, q = matrix.shape
    if not q:
        raise DataError("Y has no labels (0 columns); give at least one")
    rows, labels, values = _entries(matrix, grades)
    wrong = wrong_entry(
        values, grades, "unknown (NaN), or give lists of tags, or grades with graded_labels=True"
    )
    if wrong is not None:
        at, why = wrong
        raise DataError(
            f"row {rows[at]} of Y: label {repr(names[labels[at]]) if names else labels[at]} is "
            f"{why}"
        )
    names = names or [f"y{j}" for j in range(q)]
    return Labelled(
        label_lists(n, rows, labels, values, grades),
        names if grades is None else grades.names(names),
    )


def _entries(matrix: Matrix, grades: Grades | None) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """(row, label, value) of the entries of a matrix that are not 0; of all where a 0 may be a
    grade."""
    if sp.issparse(matrix):
        if (
            grades is not None
            and grades.zero_matters
            and matrix.nnz < matrix.shape[0] * matrix.shape[1]
        ):
            raise DataError(
                "Y is sparse, and a 0, which it does not store, would not be the lowest grade; "
                "give it dense"
            )
        entries = matrix.tocoo()
        return entries.row.astype(np.int64), entries.col.astype(np.int64), entries.data
    if grades is not None and grades.zero_matters:
        rows, labels = (each.ravel() for each in np.indices(matrix.shape))
        return rows, labels, matrix.ravel()
    rows, labels = np.nonzero(matrix)
    return rows, labels, matrix[rows, labels]


COLLECTIONS = (list, tuple, set, frozenset, np.ndarray)


def _absent(cell: Any) -> bool:
    """Whether a cell is None, NaN or pandas' NA."""
    return (
        cell is None
        or type(cell).__name__ == "NAType"
        or (isinstance(cell, float) and cell != cell)
    )


def _parted(text: str, delimiter: str) -> list[str]:
    return [tag for part in text.split(delimiter) if (tag := part.strip())]


def are_tags(Y: Any) -> bool:
    """Whether Y is a sequence of lists of texts, or of sets or lists that are no rows of a
    matrix."""
    if (
        not isinstance(Y, list | tuple)
        and not hasattr(Y, "to_list")
        and not (isinstance(Y, np.ndarray) and Y.ndim == 1)
    ):
        return False
    cells = [cell for cell in Y if isinstance(cell, COLLECTIONS)]
    some = next((tag for cell in cells for tag in cell), None)
    if isinstance(some, str) or any(isinstance(cell, set | frozenset) for cell in cells):
        return True
    return len({len(cell) for cell in cells}) > 1 or (bool(cells) and isinstance(Y, np.ndarray))


def _tags(Y: Sequence[Collection[Any] | None]) -> Labelled:
    """Labels from lists of tags."""
    Y = [None if _absent(cell) else cell for cell in Y]
    for row, cell in enumerate(Y):
        if cell is not None and not (
            isinstance(cell, COLLECTIONS) and all(isinstance(tag, str) for tag in cell)
        ):
            raise DataError(
                f"row {row} of Y is {cell!r} where others are lists of tags; give a list of texts, "
                "or None"
            )
    names = sorted({tag for cell in Y if cell is not None for tag in cell})
    if not names:
        raise DataError("no row of Y has a tag; give at least one")
    number = {name: place for place, name in enumerate(names)}
    rows = np.repeat(np.arange(len(Y)), [0 if cell is None else len(cell) for cell in Y])
    labels = np.array([number[tag] for cell in Y if cell is not None for tag in cell])
    unlabelled = np.flatnonzero([cell is None for cell in Y])
    return Labelled(label_lists(len(Y), rows, labels, unlabelled=unlabelled), names)


def _indicators(Y: Any) -> Matrix:
    """Y as numbers, or as it is where it holds one class a row."""
    if sp.issparse(Y):
        _real(Y.dtype, "Y")
        _sound(Y, "Y")
        return _without_zeros(Y)
    y = (
        _numbers_of_frame(Y, kind, "Y")
        if (kind := kind_of(Y)) and len(Y.columns) > 1
        else np.asarray(Y)
    )
    _real(y.dtype, "Y")
    if y.ndim not in (1, 2):
        raise DataError(
            f"Y has {y.ndim} dimension(s); give a matrix of 0 and 1 of rows by labels, or lists of "
            "tags"
        )
    if y.ndim == 1 or y.shape[1] == 1:
        return y if y.dtype.kind in "OUS" else y.astype(np.float64) if y.dtype.kind == "b" else y
    return numbers(y, "Y")


def _matrix_of_grades(Y: Any) -> np.ndarray:
    """Grades as a matrix (n, q); one label's may be (n,)."""
    matrix = _numbers_of_frame(Y, kind, "Y") if (kind := kind_of(Y)) else numbers(Y, "Y")
    if matrix.ndim not in (1, 2):
        raise DataError(
            f"Y has {matrix.ndim} dimension(s); give a matrix of grades of rows by labels"
        )
    return matrix.reshape(len(matrix), -1)


def _classes(y: np.ndarray) -> Labelled:
    """Each class of one class a row becomes a label."""
    numeric = y.dtype.kind == "f"
    if not np.isfinite(y).all() if numeric else y.dtype.kind == "O" and any(map(_absent, y)):
        held = "NaN or inf" if numeric else "None or NaN"
        raise DataError(
            f"Y holds {held}; where classes are unknown give an indicator matrix with NaN, or "
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
    for mark in ",;|":
        parts = [
            tag for value in classes if isinstance(value, str) for tag in set(_parted(value, mark))
        ]
        if len(set(parts)) < len(parts):
            told = (
                f"Y holds texts such as {str(next(c for c in classes if mark in str(c)))!r}, "
                "each read as one class"
            )
            remedy = (
                f"rank takes label_delimiter={mark!r}, which parts them into tags; or give lists"
            )
            warnings.warn(DataNotice(f"{told}; {remedy}"), stacklevel=2)
    if len(classes) == 1:
        raise DataError(
            f"Y holds one class only, {shown(classes[0])}; a ranking needs rows of at least two"
        )
    return Labelled(
        label_lists(len(y), np.arange(len(y)), numbered), [str(value) for value in classes], classes
    )
