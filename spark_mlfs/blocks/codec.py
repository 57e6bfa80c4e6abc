"""States and blocks as bytes, and as cells of Arrow batches: a JSON header, then the raw aligned
buffers, read without a copy."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import pyarrow as pa
import scipy.sparse as sp
from numpy import ndarray

from ..errors import DataError
from ..frames.frame import Batches

State = dict[str, Any]  # arrays, CSR matrices and plain values by name
Buffer = bytes | bytearray | memoryview
_ALIGN = 16
_DTYPE = re.compile(r"[<>|=][biufcSU]\d+")  # as `encode` writes those it encodes
_DAMAGE = (
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    AttributeError,
    OverflowError,
    RecursionError,
)


def encode(state: State) -> bytearray:
    """Encode a dict of arrays, CSR matrices and plain values as bytes.

    They are a JSON header, then the raw aligned buffers."""
    header: dict[str, Any] = {}
    buffers: list[ndarray] = []
    offset = 0

    def put(array: ndarray) -> list[Any]:
        nonlocal offset
        array = np.ascontiguousarray(array)
        buffers.append(array)
        spec = [array.dtype.str, list(array.shape), offset]
        offset += _aligned(array.nbytes)
        return spec

    for name, value in state.items():
        if isinstance(value, ndarray):
            header[name] = {"a": put(value)}
        elif sp.issparse(value):
            value = value.tocsr()
            indices = value.indices
            if value.shape[1] <= 1 << 16:  # a row of few columns has short indices
                indices = indices.astype(np.uint16)
            arrays = [put(value.data), put(indices), put(value.indptr)]
            header[name] = {"s": [*arrays, list(value.shape)]}
        else:
            header[name] = {"v": value}
    head = json.dumps(header).encode()
    start = _aligned(8 + len(head))
    encoded = bytearray(start + offset)
    encoded[:8] = len(head).to_bytes(8, "little")
    encoded[8 : 8 + len(head)] = head
    body = np.frombuffer(encoded, np.uint8)  # slices of a bytearray itself copy twice
    position = start
    for array in buffers:
        if array.nbytes:
            body[position : position + array.nbytes] = array.reshape(-1).view(np.uint8)
        position += _aligned(array.nbytes)
    return encoded


def state_bytes(state: State) -> int:
    """Return the bytes of the arrays and matrices of a state."""
    total = 0
    for value in state.values():
        arrays = [value.data, value.indices, value.indptr] if sp.issparse(value) else [value]
        total += sum(array.nbytes for array in arrays if isinstance(array, ndarray))
    return total


def _aligned(size: int) -> int:
    return -(-size // _ALIGN) * _ALIGN


def envelope(arrays: int) -> int:
    """Return the bytes of an encoded state beside those of its arrays, at most.

    They are its header and their alignment. A CSR matrix counts as three arrays."""
    return 64 + 160 * arrays


def binary_array(data: Buffer | None) -> pa.Array:
    """Return one binary cell as an Arrow array, without copying it."""
    if data is None:
        return pa.array([None], pa.binary())
    offsets = pa.py_buffer(np.array([0, len(data)], np.int32))
    return pa.Array.from_buffers(pa.binary(), 1, [None, offsets, pa.py_buffer(data)])


def binary_cells(batch: pa.RecordBatch, name: str) -> Iterator[memoryview]:
    """Return the cells of a binary column of a batch, without copying them."""
    column = batch.column(batch.schema.get_field_index(name))
    return (memoryview(value.as_buffer()) for value in column)


def encoded_cells(batches: Iterable[pa.RecordBatch], name: str = "block") -> Iterator[memoryview]:
    """Return the cells of a binary column of all batches."""
    return (cell for batch in batches for cell in binary_cells(batch, name))


def numbered_cells(
    batches: Batches, number: str, name: str = "block"
) -> Iterator[tuple[int, memoryview]]:
    """Yield the cells of a binary column of all batches, each with the number beside it."""
    for batch in batches:
        numbers = batch.column(batch.schema.get_field_index(number)).to_pylist()
        yield from zip(numbers, binary_cells(batch, name), strict=True)


def decode(data: Buffer, rows: Callable[[str, int], slice] | None = None) -> State:
    """Return the state that `encode` encoded, without a copy.

    `DataError` for other bytes, as far as sizes, dtypes and offsets tell. ``rows(name, axes)``, by
    the name of an array and the number of its axes (0 of a CSR matrix), are the rows that are
    decoded; None: all."""
    view = memoryview(data)
    try:
        return _decode(view, rows)
    except _DAMAGE as error:
        reason = " ".join(str(error).split())[:80]
        raise DataError(
            f"a state is damaged: its {view.nbytes} bytes are not as they were encoded ({reason})"
        ) from None


def _decode(view: memoryview, rows: Callable[[str, int], slice] | None) -> State:  # noqa: C901
    size = int.from_bytes(view[:8], "little")
    start = _aligned(8 + size)
    if start > view.nbytes:
        raise ValueError("cut off in the header")
    header = json.loads(bytes(view[8 : 8 + size]))

    def get(spec: list[Any]) -> ndarray:
        kind, shape, offset = spec
        if type(kind) is not str or not _DTYPE.fullmatch(kind):
            raise ValueError("an array of a type that is not encoded")
        sized = type(shape) is list and all(
            type(size) is int and size >= 0 for size in [*shape, offset]
        )
        dtype = np.dtype(kind)
        count = math.prod(shape) if sized else 0
        if not sized or count * dtype.itemsize > view.nbytes:
            raise ValueError("an array of no size or type that is encoded")
        if not count:
            return np.zeros(shape, dtype)
        return np.frombuffer(view, dtype, count, start + offset).reshape(shape)

    state: State = {}
    for name, spec in header.items():
        if "a" in spec:
            array = get(spec["a"])
            state[name] = array if rows is None else array[rows(name, array.ndim)]
        elif "s" in spec:
            values, indices, indptr, shape = spec["s"]
            data = get(values)
            columns = get(indices)
            starts = get(indptr)
            if rows is not None:
                wanted_rows = rows(name, 0)
                starts = starts[wanted_rows.start : wanted_rows.stop + 1]
                cells = slice(starts[0], starts[-1])
                data = data[cells]
                columns = columns[cells]
                starts = starts - starts[0]
                shape = (len(starts) - 1, shape[1])
            if columns.dtype == np.uint16:
                columns = columns.astype(starts.dtype)
            if columns.dtype.kind != "i" or starts.dtype.kind != "i":
                raise ValueError("indices that are no whole numbers")
            state[name] = sp.csr_matrix((data, columns, starts), shape=shape)
        else:
            state[name] = spec["v"]
    return state
