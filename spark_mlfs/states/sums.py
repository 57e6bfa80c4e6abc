"""What states hold: the sums of each kind of statistic, feature by feature, so that they are joined
by name and cut by features.

A kind is a text, such as ``"counts 5 width"``; its sums are arrays of whole numbers, dense or CSR,
by name. `KINDS` says what each axis of an array stands for: f features, s the codes of features
(`Coding.offsets`), g groups of rows (`DeclaredLabels`), G those but the first, q labels, m labelsets,
of which the CSR ``sets`` (m, q) holds the labels; L pairs of labels, k all rows and the labels
(`collect`). Sums of quantised values (`kernels.exact`) are in words of 40 bits throughout, so that
any number of states add up. All sums are linear: they merge, and are taken away."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..blocks.block import labelset_hashes
from ..blocks.codec import State
from ..frames.frame import num_cores
from ..kernels.matrix import changed
from ..statistics.moments import WORD

MOMENTS = {
    "n": ".",
    "y": "q",
    "yy": "qq",
    "h": "f",
    "l": "f",
    "hh": "ff",
    "rest": "ff",
    "hy": "fq",
    "ly": "fq",
}
SETS = {"sets": "mq", "counts": "m"}
KINDS: dict[str, tuple[str, dict[str, str]]] = {  # what it is in words; the axes of its arrays
    "counts": ("counts of values by label", {"table": "sg"}),
    "labelset counts": ("counts of values by labelset", {"table": "sm", **SETS}),
    "labelsets": ("counts of labelsets", SETS),
    "labelset sums": (
        "sums by labelset",
        {**dict.fromkeys(("h", "l", "hh", "hl", "ll"), "fm"), **SETS},
    ),
    "moments": (
        "sums by label",
        {"count": "g", **dict.fromkeys(("rows", "h", "l", "hh", "hl", "ll"), "fG")},
    ),
    "gram": ("second moments", MOMENTS),
    "groups": ("second moments by group of rows", MOMENTS),
    "folds": ("second moments by fold", MOMENTS),
    "outside": ("", {"outside": "f"}),
    "pairs": ("counts of pairs of features by label", {"joint": ".g"}),
    "plain pairs": ("counts of pairs of features", {"joint": ".."}),
    "label pairs": (
        "counts of pairs of labels by feature",
        {"both": ".L", "single": ".k", "allboth": "L", "allsingle": "k"},
    ),
}
PAIR_KINDS = ("pairs", "plain pairs", "label pairs")
IN_WORDS = frozenset({"h", "l", "hh", "hl", "ll", "hy", "ly", "yy"})  # sums of quantised values
COUNTED = ("table", "rows", "counts", "count", "n", "outside", "joint", "both", "single")
MASK = (1 << WORD) - 1
RANGE = 1 << 19  # cells of CSR tables that are added up in a dense one
RANGES = 16  # that are added up by one thread
SHIFT = 20  # bits that words are raised by at a time


def name_of(kind: str) -> str:
    """The kind without its parameters."""
    return next(name for name in sorted(KINDS, key=len, reverse=True) if kind.startswith(name))


def describe_kind(kind: str) -> str:
    """A kind in words."""
    name = name_of(kind)
    return KINDS[name][0] + (f" ({kind.removeprefix(name).strip()})" if kind != name else "")


def bins_of(kind: str) -> tuple[int, str]:
    """The number of bins, and how they are cut, of a kind that has codes."""
    _, num_bins, binning = kind.rsplit(" ", 2)
    return int(num_bins), binning


def describe_kinds(kinds: Iterable[str]) -> str:
    """Kinds in words, for messages."""
    return ", ".join(filter(None, map(describe_kind, sorted(kinds))))


def axes_of(kind: str, name: str, dims: int) -> str:
    """The axes of an array of a kind that has so many, 0 of a CSR matrix."""
    base = _base(name)
    if name.startswith("all "):
        return "f"
    axes = KINDS[name_of(kind)][1][base]
    if not dims:
        return axes
    if base == "table":
        return "f." + axes[1]
    return axes.replace("G", "g") if dims == len(axes) else axes[:dims]


def dims_of(value: Any) -> int:
    """How many axes an array has; 0 of a CSR matrix."""
    return 0 if sp.issparse(value) else value.ndim


def some_rows(kind: str, state: State, at: Mapping[str, Any]) -> State:
    """The state with the rows of some features alone, in the arrays that go by features: `at` is
    where, by their first axis."""
    whole = slice(None)
    return {
        name: value[at.get(axes_of(kind, name, dims_of(value))[:1], whole)]
        for name, value in state.items()
    }


class LazySums(Mapping[str, State]):
    """Sums by kind, of which each is made when it is asked for, and kept; `of` some features it is
    made alone, and not kept."""

    def __init__(self, kinds: Collection[str]) -> None:
        self._kinds, self._made = sorted(kinds), dict[str, State]()

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
        """The sums of the features first..last."""
        raise NotImplementedError


def _base(name: str) -> str:
    return name.removesuffix("+").rpartition(" ")[2]


def in_words(state: State) -> State:
    """The sums with those of quantised values in words of 40 bits."""
    narrow = [
        name for name, value in state.items() if name == "table" and sp.issparse(value)
    ]  # of counts, half the memory
    out = {
        name: value if name in narrow else value.astype(np.int64, copy=False)
        for name, value in state.items()
    }
    for name in [name for name in out if name.endswith("rest")]:
        above = out[name] >> WORD
        upper = name.removesuffix("rest") + "hh"
        out[upper], out[name] = out[upper] + above, out[name] - (above << WORD)
    for name in [name for name in out if not name.endswith("+") and _base(name) in IN_WORDS]:
        value, before = out[name], out.get(name + "+")
        out[name], above = changed(value, lambda v: v & MASK), changed(value, lambda v: v >> WORD)
        out[name + "+"] = above if before is None else above + before
    for name, value in out.items():
        if sp.issparse(value):
            out[name] = _canonical(value)
    return out


def _canonical(matrix: Any) -> sp.csr_matrix:
    if matrix.format == "csr" and matrix.has_canonical_format and matrix.data.all():
        return matrix
    out = sp.csr_matrix(matrix, copy=True)  # index arrays are shared, and change
    out.sum_duplicates()
    out.eliminate_zeros()
    return out


def shifted_up(state: State, bits: int) -> State:
    """The sums times 2^bits: of weights in a finer unit. The labels of labelsets stay as they
    are."""
    while bits > 0:
        step = min(bits, SHIFT)
        state = in_words(
            {n: v if n == "sets" else v.astype(np.int64) * (1 << step) for n, v in state.items()}
        )
        bits -= step
    return state


def shifted_down(state: State, bits: int) -> State:
    """The inverse of `shifted_up`."""
    while bits > 0:
        step = min(bits, SHIFT)
        out = {"sets": state["sets"]} if "sets" in state else {}
        for name in state.keys() - out.keys():
            value, upper = (
                state[name],
                name.removesuffix("rest") + "hh" if name.endswith("rest") else name + "+",
            )
            if upper in state:
                value = value + changed(
                    state[upper], lambda v, step=step: (v & (1 << step) - 1) << WORD
                )  # type: ignore[misc]
            out[name] = changed(value, lambda v, step=step: v >> step)  # type: ignore[misc]
        state, bits = in_words(out), bits - step
    return state


# ---- adding up ----

Places = dict[str, tuple[np.ndarray, int]]  # by axis: where entries go, and how many there are


def hashes_of(sets: sp.csr_matrix, graded: bool) -> np.ndarray:
    """(m,) the hashes of labelsets, as blocks have them."""
    return labelset_hashes(sets.indices, sets.indptr, sets.data if graded else None)


def added(
    kind: str, states: Sequence[State], places: Sequence[Places], signs: Sequence[int], graded: bool
) -> State:
    """The sum of states of a kind, of which each has its `places` in what all of them are about; a
    sign of −1 takes away."""
    places = [dict(each) for each in places]
    out: State = {}
    if "sets" in states[0]:
        sets = [
            _placed(state["sets"], (None, place["q"]))
            for state, place in zip(states, places, strict=True)
        ]
        hashes = [hashes_of(each, graded) for each in sets]
        every, first = np.unique(np.concatenate(hashes), return_index=True)
        for place, own in zip(places, hashes, strict=True):
            place["m"] = np.searchsorted(every, own), len(every)
        out["sets"] = sp.vstack(sets, format="csr")[first]
    for name in sorted({name for state in states for name in state} - {"sets"}):
        having = [
            (s[name], p, sign)
            for s, p, sign in zip(states, places, signs, strict=True)
            if name in s
        ]
        out[name] = _sum(
            [
                (value, [p.get(a) for a in axes_of(kind, name, dims_of(value))], sign)
                for value, p, sign in having
            ]
        )
    return without_empty(in_words(out))


def without_empty(state: State) -> State:
    """Without labelsets, groups and folds of no rows: as if there had been none."""
    if "sets" in state and not state["counts"].all():
        rest, own = np.flatnonzero(state["counts"]), ("sets", "counts")
        out = {
            n: v[..., rest] if isinstance(v, np.ndarray) else v[:, rest]
            for n, v in state.items()
            if n not in own
        }
        state = {**out, **{name: state[name][rest] for name in own}}
    gone = [
        name.removesuffix("n")
        for name, value in state.items()
        if name.endswith(" n") and not value.any()
    ]
    return {n: v for n, v in state.items() if not any(n.startswith(prefix) for prefix in gone)}


Term = tuple[
    Any, list[tuple[np.ndarray, int] | None], int
]  # an array, the places of its axes, a sign


def _sum(terms: Sequence[Term]) -> Any:
    """The sum of arrays, each placed."""
    value, axes, _ = terms[0]
    shape = tuple(
        size if place is None else place[1] for size, place in zip(value.shape, axes, strict=True)
    )
    if sp.issparse(value):
        return _sparse_sum([(_placed(v, places), sign) for v, places, sign in terms], shape)
    out = np.zeros(shape, np.int64)
    for v, places, sign in terms:
        at = [
            np.arange(n) if place is None else place[0]
            for n, place in zip(v.shape, places, strict=True)
        ]
        whole = v.shape == shape and all(np.array_equal(a, np.arange(len(a))) for a in at)
        part: Any = ... if whole else np.ix_(*at)
        out[part] += sign * v.astype(np.int64)
    return out


def _placed(
    matrix: sp.csr_matrix, places: Sequence[tuple[np.ndarray, int] | None]
) -> sp.csr_matrix:
    """The matrix with its rows at places, which ascend, and its columns."""
    rows, columns = (p or (np.arange(n), n) for p, n in zip(places, matrix.shape, strict=True))
    indptr = np.zeros(rows[1] + 1, np.int64)
    indptr[1 + rows[0]] = np.diff(matrix.indptr)
    same = np.array_equal(columns[0], np.arange(len(columns[0])))
    indices = matrix.indices if same else columns[0][matrix.indices]
    return sp.csr_matrix((matrix.data, indices, np.cumsum(indptr)), shape=(rows[1], columns[1]))


def _sparse_sum(
    terms: Sequence[tuple[sp.csr_matrix, int]], shape: tuple[int, ...]
) -> sp.csr_matrix:
    """The sum of CSR tables of whole numbers: range by range of rows, in a dense table where that
    is the quicker way."""
    if len(terms) == 1 and terms[0][1] == 1:
        return terms[0][0]
    if sum(t.nnz for t, _ in terms) * 32 < shape[0] * shape[1]:
        total = sum(
            (sign * t.astype(np.int64) for t, sign in terms[1:]),
            terms[0][1] * terms[0][0].astype(np.int64),
        )
        return _canonical(total)
    step = max(1, RANGE // max(1, shape[1]))
    most = sum(
        int(np.abs(t.data.max(initial=0))) + int(np.abs(t.data.min(initial=0))) for t, _ in terms
    )
    kind = np.int32 if most < 1 << 31 else np.int64

    def of_range(first: int) -> tuple[np.ndarray, ...]:
        last = min(shape[0], first + step)
        starts = np.arange(0, (last - first) * shape[1], shape[1], dtype=np.int32)
        places, counts = [], []
        for t, sign in terms:
            own = slice(t.indptr[first], t.indptr[last])
            places.append(np.repeat(starts, np.diff(t.indptr[first : last + 1])) + t.indices[own])
            counts.append(sign * t.data[own].astype(kind))
        cells = np.concatenate(counts), np.concatenate(places), [0, sum(map(len, places))]
        table = sp.csr_matrix(cells, (1, (last - first) * shape[1])).toarray().reshape(-1, shape[1])
        at = np.flatnonzero(table)
        return table.reshape(-1)[at], at % shape[1], np.count_nonzero(table, axis=1)

    room = min(
        sum(t.nnz for t, _ in terms), shape[0] * shape[1]
    )  # pages that are not written take no memory
    data, indices = np.empty(room, kind), np.empty(room, np.int32 if room < 1 << 31 else np.int64)
    starts = [np.zeros(1, np.int64)]
    ranges = range(0, shape[0], step)
    with ThreadPoolExecutor(num_cores()) as threads:  # which begin when there is work
        for counts, columns, lengths in (threads.map if len(ranges) > RANGES else map)(
            of_range, ranges
        ):
            first = int(starts[-1][-1])
            data[first : first + len(counts)], indices[first : first + len(counts)] = (
                counts,
                columns,
            )
            starts.append(first + np.cumsum(lengths))
    size = int(starts[-1][-1])
    return sp.csr_matrix((data[:size], indices[:size], np.concatenate(starts)), shape)


def triangle(a: Any, b: Any, size: int) -> np.ndarray:
    """The places of pairs a ≤ b of `size` things, row by row of the upper triangle; in either
    order."""
    first, second = np.minimum(a, b), np.maximum(a, b)
    out: np.ndarray = first * size - first * (first + 1) // 2 + second
    return out


def counts_less(state: State) -> bool:
    """Whether rows are counted less than never: what was taken away had not been there."""
    counts = [v.data if sp.issparse(v) else v for n, v in state.items() if _base(n) in COUNTED]
    return any(v.min(initial=0) < 0 for v in counts)


def group_places(labels: np.ndarray, q: int, had: bool, has: bool) -> tuple[np.ndarray, int]:
    """Where groups go (`DeclaredLabels`), the labels being at `labels` of q; whether some are unknown
    on either side."""
    parts: Iterable[Any] = ([0], 1 + labels, *(([1 + q], 2 + q + labels) if had else ()))
    return np.concatenate([np.asarray(p, np.int64) for p in parts]), 1 + q + (1 + q if has else 0)
