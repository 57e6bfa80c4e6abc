"""Numbers out of the bytes of many lines at once."""

from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from .lines import raw_bytes


class Irregular(Exception):
    """The batch is not of the plain form the fast path reads: read it line by line, which also finds the errors."""


def table_of(separators: bytes) -> np.ndarray:
    """Lookup of 256 flags: True for the bytes that end a token."""
    flags = np.zeros(256, bool)
    flags[np.frombuffer(separators, np.uint8)] = True
    return flags


class Tokens:
    """Maximal runs of bytes that are no separator, in all lines of a batch; the line end is always one.

    `data` the bytes, `offsets` where each line starts in them, `starts` and `ends` of each token, `per_row` the tokens of
    each line and `first` the number of each line's first token.
    """

    def __init__(self, lines: pa.Array, separators: np.ndarray):
        # Lines lie end to end in Arrow; a byte between keeps the tokens of two lines apart.
        ended = pc.binary_join_element_wise(lines, pa.scalar(""), pa.scalar("\n"))
        data, offsets = raw_bytes(ended)
        self.data = data[int(offsets[0]) : int(offsets[-1])]
        self.offsets = (offsets - offsets[0]).astype(np.int64)
        inside = np.zeros(len(self.data) + 2, bool)
        np.logical_not(separators[self.data], out=inside[1:-1])
        edges = np.flatnonzero(inside[1:] != inside[:-1])
        self.inside = inside[1:-1]
        self.starts, self.ends = edges[0::2], edges[1::2]
        self.first = np.searchsorted(self.starts, self.offsets)
        self.per_row = np.diff(self.first)
        self.first = self.first[:-1]

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def row(self) -> np.ndarray:
        return np.repeat(np.arange(len(self.per_row)), self.per_row)

    @property
    def position(self) -> np.ndarray:
        """Number of each token within its line."""
        return np.arange(len(self)) - np.repeat(self.first, self.per_row)

    def strings(self) -> pa.Array:
        """The tokens as an Arrow string column."""
        offsets = np.zeros(len(self) + 1, np.int32)
        np.cumsum(self.ends - self.starts, out=offsets[1:])
        return pa.Array.from_buffers(pa.string(), len(self), [None, pa.py_buffer(offsets), pa.py_buffer(self.data[self.inside])])


def numbers(strings: pa.Array) -> np.ndarray:
    """Strings as float64, exactly; ``?`` is NaN. Raises `Irregular` where one is no finite number."""
    unknown = pc.equal(strings, "?")
    missing = np.asarray(unknown) if pc.any(unknown).as_py() else None
    if missing is not None:
        strings = pc.if_else(unknown, pa.scalar(None, pa.string()), strings)
    try:
        values = pc.cast(strings, pa.float64()).to_numpy(zero_copy_only=False).copy()  # Arrow's is read-only
    except pa.ArrowInvalid:
        raise Irregular from None
    finite = np.isfinite(values)
    if not (finite.all() if missing is None else (finite | missing).all()):
        raise Irregular
    return values


def number(text: str) -> float:
    """One token as a finite float; raises ValueError (Python's own float also takes 1_000, inf and nan)."""
    value = float(text)
    if "_" in text or not np.isfinite(value):
        raise ValueError(text)
    return value
