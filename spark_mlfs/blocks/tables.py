"""Tables in memory as matrices of numbers: NumPy, SciPy sparse, pandas and Polars."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp
from numpy import ndarray

from ..errors import LARGE_WHOLE, DataError, shown
from ..kernels.categories import Categories
from ..kernels.matrix import Matrix, with_values

SPARK_FIRST = (
    "is a Spark frame; its estimators are spark_mlfs.JMISelector and the like, or "
    "collect it: .toPandas()"
)


# for texts that are no numbers
REMEDIES = {"Y": "give 0 and 1, True and False (Y == 'x' where 'x' counts as 1), or yes and no"}


def narrowest(x: Matrix) -> Matrix:
    """Return `x` in the narrowest of uint8, float32 and float64 that holds every value exactly."""
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


def kind_of(table: Any) -> str:
    """Return the package whose table it is, "" for arrays and lists.

    "pandas", "polars" or "pyspark"."""
    package = type(table).__module__.partition(".")[0]
    if package == "polars" and hasattr(table, "collect"):
        raise DataError("a lazy frame of Polars has no rows yet; collect it: frame.collect()")
    is_table = package in ("pandas", "polars", "pyspark") and hasattr(table, "columns")
    return package if is_table else ""


def in_kind(result: pd.DataFrame, rows: Any) -> Any:
    """Return a frame as one of the package that `rows` are of: Polars, Arrow, or else pandas."""
    package = type(rows).__module__.partition(".")[0]
    if package == "polars":
        import polars

        return polars.from_pandas(result)
    arrow = hasattr(rows, "__arrow_c_stream__") or isinstance(rows, pa.RecordBatch)
    if package == "pandas" or not arrow:
        return result
    return pa.Table.from_pandas(result, preserve_index=False).replace_schema_metadata(None)


def column_names(X: Any) -> list[str] | None:
    """Return the names of a frame's columns as text.

    None for arrays, and for a pandas frame whose columns were never named: they go by place."""
    kind = kind_of(X)
    if not kind:
        return None
    columns = X.columns
    if isinstance(columns, pd.RangeIndex) and columns.equals(pd.RangeIndex(len(columns))):
        return None
    return [str(name) for name in columns]


def aligned(
    values: Any,
    table: Any,
    name: str,
    reference: str = "X",
) -> Any:
    """Return a pandas frame or series in the order of the index of a `table`, others as they are.

    `DataError` where their index holds other rows; it calls the table `reference`."""
    if not (_has_index(table) and _has_index(values)):
        return values
    if values.index.equals(table.index) or len(values) != len(table):
        return values
    unique = table.index.is_unique and values.index.is_unique
    if not unique or len(values.index.intersection(table.index)) < len(table):
        raise DataError(
            f"the index of {name} holds other rows than that of {reference}: give both the same, "
            f"or leave theirs out: {name}.to_numpy()"
        )
    return values.reindex(table.index)


def aligned_rows(**tables: Any) -> dict[str, Any]:
    """Return tables, labels and the like by name, in the order of the first that has an index."""
    reference = next((name for name, table in tables.items() if _has_index(table)), None)
    if reference is None:
        return tables
    first = tables[reference]
    return {name: aligned(table, first, name, reference) for name, table in tables.items()}


def _has_index(values: Any) -> bool:
    """Return whether rows have pandas' names, which a frame and a series of it have."""
    return hasattr(values, "iloc") and kind_of(values) in ("", "pandas")


def in_order(
    table: Any,
    names: Sequence[str],
    title: str,
    reference: str,
) -> Any:
    """Return a frame with its columns in the order of `names`; what has no names as it is.

    `DataError` where they are others; it calls the frame `title`, what has the names
    `reference`."""
    columns = column_names(table)
    if columns is None or columns == list(names):
        return table
    order = places_of(
        names,
        columns,
        reference,
        title,
        f"give both the same names, or leave theirs out: {title}.to_numpy()",
    )
    return table.iloc[:, order] if hasattr(table, "iloc") else table[:, order]


def places_of(
    names: Sequence[str],
    columns: Sequence[str],
    reference: str,
    title: str,
    remedy: str = "give both the same names",
) -> list[int]:
    """Return where `names`, those of `reference`, are among the `columns` of `title`.

    `DataError` where these are others."""
    places = {column: place for place, column in enumerate(columns)}
    lone = sorted(places.keys() ^ set(names))
    if lone or len(places) < len(columns):
        fault = "a name stands twice in one"
        if lone:
            fault = f"{lone[0]!r} is in {title if lone[0] in places else reference} only"
        raise DataError(f"{title} has other columns than {reference} ({fault}): {remedy}")
    return [places[name] for name in names]


def label_matrices(**tables: Any) -> list[Any]:
    """Return tables of rows by labels, by name, as matrices with the rows and labels of the first.

    Rows go by the index of pandas and labels by the names of columns, where there are some; arrays
    by place. `DataError` where they hold other rows or labels."""
    tables = aligned_rows(**tables)
    reference, names = "", None
    for title, table in tables.items():
        if names is None:
            reference, names = title, column_names(table)
        else:
            tables[title] = in_order(
                table,
                names,
                title,
                reference,
            )
    matrices = []
    for title, table in tables.items():
        kind = kind_of(table)
        if kind == "pyspark":
            raise DataError(f"{title} {SPARK_FIRST}")
        matrix: Any = numbers_of_frame(table, kind, title) if kind else table
        matrices.append(matrix.tocsr() if sp.issparse(matrix) else array_of(matrix, title))
    return matrices


def array_of(values: Any, name: str) -> ndarray:
    """Return values as an array of any type; `DataError` where rows have different lengths."""
    try:
        return np.asarray(unmasked(values))
    except ValueError:
        raise DataError(
            f"the rows of {name} are of different lengths; a table has as many entries in every row"
        ) from None


def features_of(X: Any, categories: Categories | None = None) -> tuple[Matrix, list[str] | None]:
    """Return the features and their names, None where they have none.

    They are a dense matrix or CSR in the narrowest type that holds them. With `categories` columns
    of categories and dates are features, too: it codes them, or learns them where it is not fitted
    yet."""
    kind = kind_of(X)
    if categories is not None and categories.fitted and not kind:
        raise DataError(
            f"X is {type(X).__name__}, and the training rows were a frame with categories or "
            "dates; give a frame"
        )
    if kind == "pyspark":
        raise DataError(f"X {SPARK_FIRST}")
    if sp.issparse(X):
        return _csr(X), None
    names = column_names(X)
    if kind == "pandas" and _is_sparse(X):
        return _csr(X.sparse.to_coo()), names
    x = numbers_of_frame(X, kind, categories=categories) if kind else numbers(X, "X")
    if x.ndim != 2:
        raise DataError(
            f"X has {x.ndim} dimension(s), rows and features make 2. Reshape your data: "
            "X.reshape(-1, 1) if it is one feature, X.reshape(1, -1) if it is one row"
        )
    _check_shape(x.shape)
    x = narrowest(np.ascontiguousarray(x))
    if categories is None or not (categories.values or categories.dates):
        return x, names
    default_names = names or [f"x{j}" for j in range(x.shape[1])]
    categories.columns = categories.columns or default_names
    return categories.features(x), categories.names


def _is_sparse(X: Any) -> bool:
    zeros = [getattr(dtype, "fill_value", None) == 0 for dtype in X.dtypes]
    return bool(zeros) and all(zeros)


def _check_shape(shape: tuple[int, ...]) -> None:
    for count, unit in zip(shape, ("sample", "feature"), strict=True):
        if not count:
            raise DataError(f"X has 0 {unit}(s) (shape={shape}) while a minimum of 1 is required.")


def _csr(X: Any) -> sp.csr_matrix:
    """Return sparse features as CSR without stored zeros, columns ascending."""
    check_real(X.dtype, "X")
    if X.dtype == object:
        raise DataError("X is a sparse matrix of objects; give numbers")
    _check_shape(X.shape)
    check_indices(X, "X")
    if X.dtype.kind in "iu" and X.dtype.itemsize == 8:
        data = X.tocsr().data
        _check_exact(data, data.astype(np.float64), "X")
    x = without_zeros(X)
    indices = x.indices.astype(np.int32)
    indptr = x.indptr.astype(np.int32)
    return sp.csr_matrix((narrowest(x.data), indices, indptr), shape=x.shape)


def without_zeros(matrix: Any) -> sp.csr_matrix:
    """Return a copy as CSR without stored zeros, entries of one place summed."""
    x = sp.csr_matrix(matrix, dtype=np.float64, copy=True)
    x.sum_duplicates()
    x.eliminate_zeros()
    return x


def check_indices(matrix: Any, name: str) -> None:
    """Raise `DataError` where indices of a sparse matrix are outside its shape.

    SciPy would read and write there."""
    try:
        if matrix.format == "coo":
            sp.coo_matrix((matrix.data, (matrix.row, matrix.col)), matrix.shape)
        elif hasattr(matrix, "check_format"):
            matrix.check_format(full_check=True)
    except ValueError as error:
        raise DataError(f"{name} is a corrupt sparse matrix: {error}") from None


def check_real(dtype: np.dtype, name: str) -> None:
    """Raise `DataError` for complex numbers."""
    if np.issubdtype(dtype, np.complexfloating):
        raise DataError(
            f"Complex data not supported: {name} is {dtype}; give real and imaginary parts as "
            "columns of their own"
        )


def numbers(values: Any, name: str) -> ndarray:
    """Return values as an array of numbers; None is NaN."""
    x = array_of(values, name)
    check_real(x.dtype, name)
    if x.dtype.kind not in "biufOUS":
        raise DataError(f"{name} holds {x.dtype} values; give numbers")
    if x.dtype == object:  # arrays of one number were numbers to NumPy before 2.4
        array = next((v for v in x.flat if isinstance(v, ndarray) and v.ndim), None)
        if array is not None:
            raise NotNumbers(name, array)
    try:
        as_float = x.astype(np.float64, copy=False)
    except OverflowError:
        raise DataError(f"{name} holds whole numbers beyond those of float64; scale them") from None
    except (TypeError, ValueError):
        wrong = next((value for value in x.reshape(-1) if not _is_number(value)), None)
        raise NotNumbers(name, wrong) from None
    if x.dtype.kind in "iuO" and x.dtype.itemsize == 8:
        _check_exact(x, as_float, name)
    return as_float


def _check_exact(x: ndarray, as_float: ndarray, name: str) -> None:
    """Raise `DataError` for whole numbers that become others as float64."""
    with np.errstate(invalid="ignore"):
        large = np.argwhere(np.abs(as_float) >= 1 << 53)
    for position in map(tuple, large):
        value = x[position].item() if hasattr(x[position], "item") else x[position]
        if isinstance(value, int) and value != int(as_float[position]):
            place = f"column {position[1]} of {name}" if len(position) > 1 else name
            raise DataError(f"{place} holds {LARGE_WHOLE} ({value})")


def unmasked(values: Any) -> Any:
    """Return a masked array with NaN, or None, where it is masked; anything else as it is."""
    if not isinstance(values, np.ma.MaskedArray):
        return values
    if values.dtype.kind in "biuf":
        return np.ma.filled(values.astype(np.float64), np.nan)
    return np.ma.filled(values.astype(object), None)


class NotNumbers(DataError, TypeError):
    """A value is no number; scikit-learn has such an error be a TypeError."""

    def __init__(self, name: str, value: Any) -> None:
        self.value = value
        reason = "; every argument must be a string or a number"
        if isinstance(value, str):
            reason = ", which is no number"
        super().__init__(f"{name} holds {shown(value)}{reason}: encode it, or drop it")


def _is_number(value: Any) -> bool:
    try:
        float(value)
    except (TypeError, ValueError):
        return value is None
    return True


def numbers_of_frame(
    X: Any,
    kind: str,
    name: str = "X",
    categories: Categories | None = None,
    read: Callable[[Any, str], ndarray] = numbers,
) -> ndarray:
    """Return the columns of a pandas or Polars frame as float64, each as `read` gives its numbers.

    `DataError` names those that hold something else. `categories` codes those that are categories
    or dates."""
    columns = []
    wrong = {}
    for place, column_name in enumerate(X.columns):
        cells = X.iloc[:, place] if kind == "pandas" else X[column_name]
        column = cells.to_numpy()
        if column.ndim > 1:  # arrays and structs of Polars
            wrong[column_name] = f"{column.shape[1]} numbers a row"
            continue
        coded = None
        if categories is not None:
            coded = categories.column(
                place,
                column_name,
                cells,
                column,
                _is_text(column),
            )
        if coded is not None:
            columns.append(coded)
            continue
        title = f"column {column_name!r} of {name}"
        column = _with_nan(cells, column, title)
        try:
            columns.append(read(column, title))
        except NotNumbers as error:
            wrong[column_name] = repr(error.value)
        except DataError:
            if column.dtype.kind not in "mM":
                raise
            wrong[column_name] = str(column.dtype)
    if wrong:
        examples = [f"{column_name!r} ({value})" for column_name, value in wrong.items()]
        others = "" if categories is None else ", or texts, booleans or dates alone"
        raise DataError(
            f"columns of {name} that hold no numbers{others}: {_first_ten(examples)}; "
            f"{REMEDIES.get(name, 'encode them, or drop them')}"
        )
    return np.column_stack(columns) if columns else np.zeros((len(X), 0))


def _with_nan(cells: Any, column: ndarray, title: str) -> ndarray:
    """Return a column of numbers of which some may be null, as its type holds them, with NaN."""
    dtype = cells.dtype
    nullable = getattr(dtype, "numpy_dtype", None)  # of pandas
    if nullable is not None and nullable.kind in "biuf" and column.dtype != nullable:
        numbers(cells.dropna().to_numpy(nullable), title)
        return np.asarray(cells.to_numpy(np.float64, na_value=np.nan))
    if column.dtype.kind == "f" and hasattr(dtype, "is_integer") and dtype.is_integer():  # Polars
        numbers(cells.drop_nulls().to_numpy(), title)
    return column


def _first_ten(texts: Sequence[str]) -> str:
    return ", ".join(texts[:10]) + (" …" if len(texts) > 10 else "")


def _is_text(column: ndarray) -> bool:
    """Return whether some cell is no number."""
    if column.dtype.kind in "OUS":
        try:
            column.astype(np.float64)
        except (TypeError, ValueError):
            return True
    return False


def wrong_value(
    x: Matrix,
    names: Sequence[str | int] | None = None,
    keep_missing: bool = False,
    first_row: int = 0,
) -> None:
    """Raise `DataError` for the first value that is not finite; `names` may be places.

    With `keep_missing` for the first that is infinite. Rows count from `first_row`."""
    values = x.data if sp.issparse(x) else x
    with np.errstate(over="ignore", invalid="ignore"):
        # cheap: the sum of finite entries is finite, overflow aside
        if values.dtype == np.uint8 or np.isfinite(values.sum(dtype=np.float64)):
            return
    bad = np.isinf(values) if keep_missing else ~np.isfinite(values)
    places = np.argwhere(bad)
    if sp.issparse(x):
        rows = np.searchsorted(x.indptr, places[:, 0], "right") - 1
        places = np.stack([rows, x.indices[bad]], axis=1)
    if not len(places):
        return
    row = int(places[0][0])
    column = int(places[0][1])
    labels = [repr(name) for name in names] if names else None
    columns = np.unique(places[:, 1])
    others = [labels[i] if labels else str(i) for i in columns if i != column]
    elsewhere = f", and in {_first_ten(others)}" if others else ""
    problem = f"{x[row, column]:g}; features must be finite"
    if np.isnan(x[row, column]):
        problem = "missing (NaN); fill it first, or give missing='mean', 'zero' or 'drop'"
    raise DataError(
        f"row {first_row + row} of X: feature {labels[column] if labels else column} is {problem} "
        f"({len(places)} such value(s){elsewhere})"
    )
