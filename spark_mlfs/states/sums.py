"""Sums by kind as states hold them: made when they are needed, in words, added up exactly.

Arrays go by feature, label and labelset (`kinds`), so that they are joined by name and cut by
features. Sums of quantised values (`kernels.exact`) are in words of 40 bits throughout, so that any
number of states add up: array ``h+`` has what is above the lower word ``h``. All sums are linear:
they merge, and are taken away."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import labelset_hashes
from ..blocks.codec import State
from ..frames.frame import num_cores
from ..kernels.matrix import changed
from ..statistics.moments import WORD
from .kinds import axes_of, base_of, dims_of

IN_WORDS = frozenset({"h", "l", "hh", "hl", "ll", "hy", "ly", "yy"})  # sums of quantised values
COUNTED = ("table", "rows", "counts", "count", "n", "outside", "joint", "both", "single")
MASK = (1 << WORD) - 1
RANGE = 1 << 19  # cells of CSR tables that are added up in a dense one
RANGES = 16  # that are added up by one thread
SHIFT = 20  # bits that words are shifted by at a time

Axis = tuple[ndarray, int]  # where the entries of an axis go, and how long it is then
Places = dict[str, Axis]  # by the letter of the axis
Term = tuple[Any, list[Axis | None], int]  # an array, the places of its axes, a sign


class LazySums(Mapping[str, State]):
    """Sums by kind, each made when it is needed, and kept.

    Of a range of features (`of`) they are made without the others, and not kept."""

    def __init__(self, kinds: Collection[str]) -> None:
        self._kinds = sorted(kinds)
        self._made: dict[str, State] = {}

    def __iter__(self) -> Iterator[str]:
        return iter(self._kinds)

    def __len__(self) -> int:
        return len(self._kinds)

    def __contains__(self, kind: object) -> bool:
        return kind in self._kinds

    def __getitem__(self, kind: str) -> State:
        if kind not in self._made and kind in self:
            self._made[kind] = self.of(kind)
        return self._made[kind]

    def of(self, kind: str, first: int = 0, last: int | None = None) -> State:
        """Return the sums of the features first..last."""
        raise NotImplementedError


# ---- words ----


def in_words(state: State) -> State:
    """Return the sums with those of quantised values in words of 40 bits."""
    out: State = {}
    for name, value in state.items():
        is_sparse_table = name == "table" and sp.issparse(value)
        # its counts stay narrow, half the memory
        out[name] = value if is_sparse_table else value.astype(np.int64, copy=False)
    for name in [name for name in out if name.endswith("rest")]:
        upper = _upper_of(name)
        above = out[name] >> WORD
        out[upper] = out[upper] + above
        out[name] = out[name] - (above << WORD)
    lower_words = [n for n in out if not n.endswith("+") and base_of(n) in IN_WORDS]
    for name in lower_words:
        value = out[name]
        out[name] = changed(value, lambda word: word & MASK)
        above = changed(value, lambda word: word >> WORD)
        upper = _upper_of(name)
        out[upper] = above + out[upper] if upper in out else above
    for name, value in out.items():
        if sp.issparse(value):
            out[name] = _canonical(value)
    return out


def _upper_of(name: str) -> str:
    """Return the name of the array that has what is above the word of an array."""
    if name.endswith("rest"):  # of Gram: X'X is ``hh`` · 2⁴⁰ + ``rest``
        return name.removesuffix("rest") + "hh"
    return name + "+"


def _canonical(matrix: Any) -> sp.csr_matrix:
    if matrix.format == "csr" and matrix.has_canonical_format and matrix.data.all():
        return matrix
    out = sp.csr_matrix(matrix, copy=True)  # index arrays are shared, and change
    out.sum_duplicates()
    out.eliminate_zeros()
    return out


def shifted_up(state: State, bits: int) -> State:
    """Return the sums times 2^bits: of weights in a finer unit.

    The labels of labelsets stay as they are."""
    while bits > 0:
        step = min(bits, SHIFT)
        out: State = {}
        for name, value in state.items():
            out[name] = value if name == "sets" else value.astype(np.int64) * (1 << step)
        state = in_words(out)
        bits -= step
    return state


def shifted_down(state: State, bits: int) -> State:
    """Return the inverse of `shifted_up`."""
    while bits > 0:
        step = min(bits, SHIFT)
        out: State = {}
        for name, value in state.items():
            if name == "sets":
                out[name] = value
                continue
            upper = _upper_of(name)
            if upper in state:
                value = value + _lowest_bits(state[upper], step)
            out[name] = _without_lowest_bits(value, step)
        state = in_words(out)
        bits -= step
    return state


def same_sums(state: State, other: State) -> bool:
    """Return whether two states have the same sums, in words alike."""
    return state.keys() == other.keys() and not any(
        (state[name] != other[name]).sum() for name in state if name != "sets"
    )


def _lowest_bits(upper: Any, bits: int) -> Any:
    """Return the lowest bits of upper words, as they count in the words below."""
    return changed(upper, lambda word: (word & (1 << bits) - 1) << WORD)


def _without_lowest_bits(value: Any, bits: int) -> Any:
    return changed(value, lambda word: word >> bits)


# ---- adding up ----


def hashes_of(sets: sp.csr_matrix, graded: bool) -> ndarray:
    """Return the hashes of labelsets as blocks have them, (m,)."""
    grades = sets.data if graded else None
    return labelset_hashes(sets.indices, sets.indptr, grades)


def added(
    kind: str,
    states: Sequence[State],
    places: Sequence[Places],
    signs: Sequence[int],
    graded: bool,
) -> State:
    """Return the sum of states of a kind, placed where `places` has their entries.

    A sign of −1 takes a state away."""
    out: State = {}
    if "sets" in states[0]:
        out["sets"], places = _joined_labelsets(states, places, graded)
    for name in sorted({name for state in states for name in state} - {"sets"}):
        terms: list[Term] = []
        for state, place, sign in zip(states, places, signs, strict=True):
            if name in state:
                value = state[name]
                axes = axes_of(kind, name, dims_of(value))
                terms.append((value, [place.get(letter) for letter in axes], sign))
        out[name] = _sum(terms)
    return without_empty(in_words(out))


def _joined_labelsets(
    states: Sequence[State], places: Sequence[Places], graded: bool
) -> tuple[sp.csr_matrix, list[Places]]:
    """Return the distinct labelsets of states, and the places with those of their labelsets."""
    pairs = zip(states, places, strict=True)
    sets = [_placed(state["sets"], (None, place["q"])) for state, place in pairs]
    hashes = [hashes_of(labelsets, graded) for labelsets in sets]
    distinct, first = np.unique(np.concatenate(hashes), return_index=True)
    joined = []
    for place, own_hashes in zip(places, hashes, strict=True):
        labelsets = (np.searchsorted(distinct, own_hashes), len(distinct))
        joined.append({**place, "m": labelsets})
    return sp.vstack(sets, format="csr")[first], joined


def without_empty(state: State) -> State:
    """Return the state without labelsets, groups and folds that have no rows."""
    if "sets" in state and not state["counts"].all():
        occurring = np.flatnonzero(state["counts"])
        out: State = {}
        for name, value in state.items():
            if name in ("sets", "counts"):
                out[name] = value[occurring]
            elif isinstance(value, ndarray):
                out[name] = value[..., occurring]
            else:
                out[name] = value[:, occurring]
        state = out
    empty = [
        name.removesuffix("n")
        for name, value in state.items()
        if name.endswith(" n") and not value.any()
    ]
    return {name: value for name, value in state.items() if not name.startswith(tuple(empty))}


def _sum(terms: Sequence[Term]) -> Any:
    """Return the sum of arrays, each placed."""
    value, axes, _ = terms[0]
    sizes = zip(value.shape, axes, strict=True)
    shape = tuple(size if axis is None else axis[1] for size, axis in sizes)
    if sp.issparse(value):
        return _sparse_sum([(_placed(matrix, axes), sign) for matrix, axes, sign in terms], shape)
    out = np.zeros(shape, np.int64)
    for array, axes, sign in terms:
        sizes = zip(array.shape, axes, strict=True)
        positions = [np.arange(size) if axis is None else axis[0] for size, axis in sizes]
        in_place = array.shape == shape and all(map(_are_in_place, positions))
        cells: Any = ... if in_place else np.ix_(*positions)
        out[cells] += sign * array.astype(np.int64)
    return out


def _are_in_place(positions: ndarray) -> bool:
    return np.array_equal(positions, np.arange(len(positions)))


def _placed(matrix: sp.csr_matrix, axes: Sequence[Axis | None]) -> sp.csr_matrix:
    """Return the matrix with its rows at ascending places, and its columns at theirs."""
    rows, num_rows = axes[0] or (np.arange(matrix.shape[0]), matrix.shape[0])
    columns, num_columns = axes[1] or (np.arange(matrix.shape[1]), matrix.shape[1])
    lengths = np.zeros(num_rows + 1, np.int64)
    lengths[1 + rows] = np.diff(matrix.indptr)
    indices = matrix.indices if _are_in_place(columns) else columns[matrix.indices]
    return sp.csr_matrix((matrix.data, indices, np.cumsum(lengths)), shape=(num_rows, num_columns))


def _sparse_sum(
    terms: Sequence[tuple[sp.csr_matrix, int]], shape: tuple[int, ...]
) -> sp.csr_matrix:
    """Return the sum of CSR tables of whole numbers.

    Range by range of rows it is taken in a dense table, where that is the quicker way."""
    first_table, first_sign = terms[0]
    if len(terms) == 1 and first_sign == 1:
        return first_table
    cells = shape[0] * shape[1]
    stored = sum(table.nnz for table, _ in terms)
    if stored * 32 < cells:
        total = first_sign * first_table.astype(np.int64)
        for table, sign in terms[1:]:
            total = total + sign * table.astype(np.int64)
        return _canonical(total)
    dtype = np.int32 if sum(_largest(table) for table, _ in terms) < 1 << 31 else np.int64
    step = max(1, RANGE // max(1, shape[1]))

    def of_range(first: int) -> tuple[ndarray, ...]:
        return _dense_sum(
            terms,
            first,
            min(shape[0], first + step),
            shape[1],
            dtype,
        )

    room = min(stored, cells)  # pages that are not written take no memory
    index_dtype = np.int32 if room < 1 << 31 else np.int64
    data = np.empty(room, dtype)
    indices = np.empty(room, index_dtype)
    indptr = [np.zeros(1, np.int64)]
    ranges = range(0, shape[0], step)
    with ThreadPoolExecutor(num_cores()) as threads:  # which begin when there is work
        run = threads.map if len(ranges) > RANGES else map
        for counts, columns, lengths in run(of_range, ranges):
            start = int(indptr[-1][-1])
            end = start + len(counts)
            data[start:end] = counts
            indices[start:end] = columns
            indptr.append(start + np.cumsum(lengths))
    size = int(indptr[-1][-1])
    return sp.csr_matrix((data[:size], indices[:size], np.concatenate(indptr)), shape)


def _largest(table: sp.csr_matrix) -> int:
    """Return what no entry of a table exceeds in size."""
    return abs(int(table.data.max(initial=0))) + abs(int(table.data.min(initial=0)))


def _dense_sum(
    terms: Sequence[tuple[sp.csr_matrix, int]],
    first: int,
    last: int,
    width: int,
    dtype: Any,
) -> tuple[ndarray, ndarray, ndarray]:
    """Return entries, columns, and entries a row of the sum of the rows first..last of tables."""
    starts = np.arange(0, (last - first) * width, width, dtype=np.int32)
    places = []
    counts = []
    for table, sign in terms:
        stored = slice(table.indptr[first], table.indptr[last])
        lengths = np.diff(table.indptr[first : last + 1])
        places.append(np.repeat(starts, lengths) + table.indices[stored])
        counts.append(sign * table.data[stored].astype(dtype))
    # SciPy adds up what shares a cell of one long row
    row = (np.concatenate(counts), np.concatenate(places), [0, sum(map(len, places))])
    dense = sp.csr_matrix(row, (1, (last - first) * width)).toarray().reshape(-1, width)
    nonzero = np.flatnonzero(dense)
    return dense.reshape(-1)[nonzero], nonzero % width, np.count_nonzero(dense, axis=1)


def triangle(a: Any, b: Any, size: int) -> ndarray:
    """Return the places of pairs a ≤ b of `size` things, given in either order.

    Pairs are row by row of the upper triangle."""
    first = np.minimum(a, b)
    second = np.maximum(a, b)
    out: ndarray = first * size - first * (first + 1) // 2 + second
    return out


def has_negative_counts(state: State) -> bool:
    """Return whether some count is below 0: what was taken away had not been there."""
    for name, value in state.items():
        if base_of(name) in COUNTED:
            counts = value.data if sp.issparse(value) else value
            if counts.min(initial=0) < 0:
                return True
    return False


def group_places(
    labels: ndarray,
    q: int,
    before: bool,
    after: bool,
) -> Axis:
    """Return where the groups of `DeclaredLabels` go, the labels being at `labels` of q.

    Whether some labels are unknown `before`, and `after`."""
    positions = [np.zeros(1, np.int64), 1 + labels]
    if before:
        positions += [np.array([1 + q], np.int64), 2 + q + labels]
    size = 1 + q + (1 + q if after else 0)
    return np.concatenate(positions), size
