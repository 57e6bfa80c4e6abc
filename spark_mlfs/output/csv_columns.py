"""Columns of a table as texts of a CSV file, many cells at once: the ones that Python's writer of
CSV gives cell by cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import MappingProxyType

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
from numpy import ndarray
from pandas.api.types import is_numeric_dtype

from ..frames.vectors import raw_bytes

_TEXT = pa.large_string()
_COMMA, _END, _NOTHING = (pa.scalar(sign, _TEXT) for sign in (",", "\n", ""))
_QUOTED = '[,"\n]'
# Python writes numbers from here to there without an exponent, and Arrow does
_PLAIN = (1e-4, 1e10)
# of smaller ones Arrow writes zeros, Python an exponent
_DECADES = ((1e-5, "0.0000", "e-05"), (1e-6, "0.00000", "e-06"))


# bytes of texts that may be quoted or escaped; with the last begin a byte order mark and wide signs
_MARKED = np.zeros(256, bool)
_MARKED[[*b",\"'\n\r\t=+-@\xef"]] = True


def plain_texts(column: pd.Series) -> pa.Array | None:
    """Return the cells of a column of texts, none of which is quoted or escaped; None of another.

    A missing one is empty."""
    texts = _as_texts(column)
    if texts is None:
        return None
    data, _ = raw_bytes(texts)
    return None if _MARKED[data].any() else texts


def lines_of(
    columns: Sequence[pd.Series], plain: Mapping[int, pa.Array] = MappingProxyType({})
) -> str | None:
    """Return the lines of a table without its head; None where Python's writer must write them.

    It takes whole numbers, 64-bit floats and texts, none of which holds a carriage return. Some
    columns by their places are `plain_texts`."""
    texts: list[pa.Array] = []
    for place, column in enumerate(columns):
        same = next((k for k in range(place) if _are_same(columns[k], column)), None)
        cells = plain.get(place)
        if cells is None:
            cells = _texts(column) if same is None else texts[same]
        if cells is None:
            return None
        texts.append(cells)
    if len(texts) < 2:  # an empty cell is quoted where it is the only one
        return None
    texts[-1] = pc.binary_join_element_wise(texts[-1], _END, _NOTHING)
    data, _ = raw_bytes(pc.binary_join_element_wise(*texts, _COMMA))
    return data.tobytes().decode()


def _are_same(first: pd.Series, second: pd.Series) -> bool:
    """Return whether two columns of floats hold the same numbers, to the bit."""
    if not first.dtype == second.dtype == np.float64:
        return False
    bits, others = (column.to_numpy().view(np.int64) for column in (first, second))
    return np.array_equal(bits, others)


def _texts(column: pd.Series) -> pa.Array | None:
    if column.dtype.kind in "iu" and isinstance(column.dtype, np.dtype):
        return pa.array(column.to_numpy()).cast(_TEXT)
    if column.dtype == np.float64:
        return floats(column.to_numpy())
    texts = _as_texts(column)
    if texts is None:
        return None
    quoted = pc.match_substring_regex(texts, _QUOTED)
    if not pc.any(quoted).as_py():
        return texts
    mark = pa.scalar('"', _TEXT)
    doubled = pc.replace_substring(texts, '"', '""')
    return pc.if_else(quoted, pc.binary_join_element_wise(mark, doubled, mark, _NOTHING), texts)


def _as_texts(column: pd.Series) -> pa.Array | None:
    """Return a column of texts, empty where one is missing; None of another column."""
    if is_numeric_dtype(column.dtype) or column.dtype.kind in "mM":
        return None
    try:
        texts = pa.array(column, from_pandas=True)
    except (pa.ArrowException, UnicodeError):
        return None
    if not (pa.types.is_string(texts.type) or pa.types.is_large_string(texts.type)):
        return None
    if isinstance(texts, pa.ChunkedArray):
        texts = texts.combine_chunks()
    return texts.cast(_TEXT).fill_null("")


def floats(values: ndarray) -> pa.Array:
    """Return numbers (n,) as `repr` writes them, and nothing for NaN."""
    texts = pa.array(values).cast(_TEXT)
    sizes = np.abs(values)
    high, largest = _PLAIN
    plain = (sizes >= high) & (sizes < largest) | (sizes == 0)
    integral = np.zeros(len(values), bool)
    integral[plain] = np.rint(values[plain]) == values[plain]
    if integral.any():
        with_point = pc.binary_join_element_wise(texts, pa.scalar(".0", _TEXT), _NOTHING)
        texts = pc.if_else(pa.array(integral), with_point, texts)
    for low, zeros, exponent in _DECADES:
        small = (values >= low) & (values < high)
        if small.any():
            mask = pa.array(small)
            cells = _with_exponent(texts.filter(mask), zeros, exponent)
            texts = pc.replace_with_mask(texts, mask, cells)
        plain |= small
        high = low
    if plain.all():
        return texts
    others = ["" if value != value else repr(value) for value in values[~plain].tolist()]
    return pc.replace_with_mask(texts, pa.array(~plain), pa.array(others, _TEXT))


def _with_exponent(texts: pa.Array, zeros: str, exponent: str) -> pa.Array:
    """Return numbers that begin with such zeros by their digits and an exponent."""
    first = pc.utf8_slice_codeunits(texts, len(zeros), len(zeros) + 1)
    digits = pc.utf8_slice_codeunits(texts, len(zeros) + 1)
    point = pc.if_else(pc.equal(digits, _NOTHING), _NOTHING, pa.scalar(".", _TEXT))
    return pc.binary_join_element_wise(first, point, digits, pa.scalar(exponent, _TEXT), _NOTHING)
