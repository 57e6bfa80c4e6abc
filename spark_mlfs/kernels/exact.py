"""Exact sums: products of quantised columns in whole numbers, so that a sum has one value whatever
the order of the rows, the blocks, the threads or the BLAS.

A column of values x, shifted, with |x| ≤ u for a power of two u that does not depend on the rows at
hand, is taken as

    x = u · (h · 2⁻²⁰ + l · 2⁻⁴⁰),    h, l whole numbers, |h| ≤ 2²⁰, |l| ≤ 2¹⁹,

which is off by at most u · 2⁻⁴¹. The products of 3072 rows, those of h + l among them, stay below
2⁵³, where float64 is exact in any order, and add up in int64. Of the quantised values everything is
exact up to the last conversion: with H, L the columns' h and l,

    Σx = u(Σh 2⁻²⁰ + Σl 2⁻⁴⁰),    X'X = u u' (H'H 2⁻⁴⁰ + (H'L + L'H) 2⁻⁶⁰ + L'L 2⁻⁸⁰),    X'Y =
    u(H'Y 2⁻²⁰ + L'Y 2⁻⁴⁰).

Columns whose values need no more than 20 bits (0 and 1, bytes, counts) have l = 0; where all of a
block do, one product will do.

States are dicts of int64 arrays. A part that is absent is 0. The products of X'X are one whole
number in units of 2⁻⁸⁰, kept as two words: ``hh`` what is at or above 2⁴⁰, ``rest`` the 40 bits
below. Beyond 2²² rows the upper word may leave int64: `wide` states carry what is above 2⁴⁰ of it,
and of sums of squares, in a further word, named with a plus.

A row may count m times, m a whole number (`mass`): the sums are then those of m copies of the row,
to the bit. m is taken 20 bits at a time; with m·h = 2²⁰a₁ + a₀ and m·l = 2²⁰b₁ + b₀, in units of
2⁻⁸⁰,

    m(h 2²⁰ + l)(h 2²⁰ + l)' = 2⁶⁰ ha₁' + 2⁴⁰ (h(a₀ + b₁)' + la₁') + 2²⁰ (l(a₀ + b₁)' + hb₀') +
    lb₀',

six products that are exact as above. Such states are always wide, those of single columns, too."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .matrix import Matrix, dense, with_values
from .products import (
    BITS,
    LOW,
    MASK,
    NAMES,
    NEAR,
    ROWS,
    WORD,
    State,
    Words,
    of_mass,
    rows_times,
    split,
)

SPARSE_ROWS = 32 * ROWS  # of one product of columns that store few of them
WIDE_ROWS = 1 << 22  # from here on a sum of h² is two words
_ONE = float(1 << BITS)
_LEAST = -1000  # of a unit: 2^20 of a smaller one leave float64


def units(low: np.ndarray, high: np.ndarray, shift: np.ndarray) -> np.ndarray:
    """(v,) the least powers of two u with |x − shift| ≤ u for x in [low, high]; 1 where that is
    0."""
    reach = power_above(np.maximum(np.abs(low - shift), np.abs(high - shift)))
    return np.asarray(np.maximum(reach, np.ldexp(1.0, _LEAST)))


Quantised = tuple[Any, Any | None]  # h and l, (n, v)


def quantised(
    x: Matrix, unit: np.ndarray, shift: np.ndarray | None = None, room: Sequence[np.ndarray] = ()
) -> Quantised:
    """h and l, whole numbers, of shifted values (n, v), float64 or CSR, which may be overwritten; l
    is None where it is 0 throughout. With `shift` (v,) of an array less it, which is not
    overwritten: on the first rows of `room`, two arrays."""
    values = (
        (x.data if sp.issparse(x) else x)
        if shift is None
        else (room[1][: len(x)] if room else np.empty(x.shape))
    )
    coarse = room[0][: len(x)] if room else np.empty_like(values)
    scale, some, moved = _ONE / unit, False, shift is not None and bool(shift.any())
    step = max(1, NEAR // max(1, values[:1].size))
    for first in range(0, len(values), step):
        near = slice(first, first + step)
        rest, whole = values[near], coarse[near]
        if shift is not None:
            np.copyto(rest, x[near])  # a float32 less a float64 takes twice as long
            if moved:
                rest -= shift
        rest *= scale[x.indices[near]] if sp.issparse(x) else scale
        np.rint(rest, out=whole)
        rest -= whole
        some = some or bool(rest.any())
        if some:  # what came before is 0
            rest *= _ONE
            np.rint(rest, out=rest)
    fine = values if some else None
    if not sp.issparse(x):
        return coarse, fine
    return with_values(x, coarse), None if fine is None else with_values(x, fine)


def add(left: State, right: State, *, own: bool = False) -> State:
    """The sum of two states; with `own` the arrays of `left` may be changed. Of many groups, whose
    words are hundreds of names, only what `right` adds to is carried."""
    out = _summed(left, right, own)
    for name in [name for name in right if name.endswith("rest") and name in left]:
        above = out[name] >> WORD
        out[name] &= MASK
        upper = name.removesuffix("rest") + "hh"
        out[upper] = np.add(above, out[upper], out=above)
    return carried(out, right) if any(name.endswith("+") for name in out) else out


def _summed(left: State, right: State, own: bool = False) -> State:
    """The sum word by word."""
    out = dict(left)
    for name, value in right.items():
        if name in out:
            room = (
                out[name]
                if own and out[name].dtype == np.int64 and out[name].flags.writeable
                else None
            )
            value = np.add(out[name], value, dtype=np.int64, out=room)
        out[name] = value
    return out


def carried(state: State, names: Iterable[str] | None = None) -> State:
    """A state whose sums of products, or those of `names`, have what is above 2⁴⁰ apart."""
    out = dict(state)
    asked = list(state if names is None else names)
    for name in [
        name
        for name in asked
        if name + "+" in state or name.rsplit(" ", 1)[-1] in ("hh", "hl", "ll")
    ]:
        above = out[name] >> WORD
        out[name] = out[name] - (above << WORD)
        out[name + "+"] = out.get(name + "+", 0) + above
    return out


def _float(state: State, name: str, shape: tuple[int, ...]) -> np.ndarray:
    if name not in state:
        return np.zeros(shape)
    value = np.asarray(state[name], np.float64)
    return (
        value + np.ldexp(np.asarray(state[name + "+"], np.float64), WORD)
        if name + "+" in state
        else value
    )


def _whole(values: Any) -> np.ndarray:
    return dense(values).astype(np.int64)


# ---- second moments ----


def second_moments(
    parts: Iterable[tuple[Quantised, sp.csr_matrix, np.ndarray | None]],
    wide: bool = False,
    across: bool = True,
    state: State | None = None,
) -> State:
    """The state of [X, Y, 1]'[X, Y, 1] of the rows of some parts, `SPARSE_ROWS` each at most, and
    those of `state`, whose arrays are changed. A part: the features; y (n, q) CSR of 0 and 1, or of
    whole numbers up to 2¹⁵ (of 2²⁷ rows at most without mass); None or (n,) int64 how many times
    each row counts. Unless labels go `across` each other, ``yy`` is the diagonal of Y'Y."""
    state = state or {}
    products = Words({name: state[name] for name in NAMES if name in state}, wide)
    sums: State = {name: value for name, value in state.items() if name not in NAMES}
    for rows, y, mass in parts:
        y, whole = y.astype(np.float64), y.astype(np.int64)
        if mass is not None:
            sums = _add_weighted(sums, products, *rows, y, mass, across)
            continue
        one: State = {"n": np.array([y.shape[0]]), "y": _sums(whole)}
        one["yy"] = whole.T @ whole if across else _sums(_times(whole, whole))
        for a, b, labels in _steps(rows, y):
            for name, values in (("h", a), ("l", b)):
                if values is not None:
                    for key, sum_ in ((name, _sums(values)), (name + "y", (labels.T @ values).T)):
                        one[key] = one[key] + sum_ if key in one else sum_
            products.square(a, b)
        sums = add(sums, {name: _whole(sum_) for name, sum_ in one.items()})
    return sums | products.carried()


def _sums(columns: Any) -> np.ndarray:
    return np.asarray(columns.sum(axis=0)).ravel()


def _steps(rows: Quantised, y: sp.csr_matrix) -> Iterator[tuple[Any, Any | None, Matrix]]:
    """Yield h, l and the labels of rows of a part of which so few meet in a column that their
    products are exact."""
    n, (coarse, fine), labels, step = max(y.shape[0], 1), rows, y, ROWS
    if sp.issparse(coarse):
        step = n if np.bincount(coarse.indices).max(initial=0) <= ROWS else step
    elif 8 * y.nnz > n * y.shape[1]:  # the dense product is the quicker one
        labels = y.toarray()
    for first in range(0, n, step):
        some = slice(first, first + step)
        yield coarse[some], None if fine is None else fine[some], labels[some]


def _add_weighted(
    sums: State,
    products: Words,
    coarse: Any,
    fine: Any | None,
    y: sp.csr_matrix,
    mass: np.ndarray,
    across: bool,
) -> State:
    """`sums` with those of rows that count `mass` times, and `products` with theirs."""
    v = coarse.shape[1]
    for part, m, raised in _mass_parts(mass):
        a, b, c = coarse[part], None if fine is None else fine[part], y[part]
        one: State = {"n": np.array([int(m.sum())], np.int64), "y": _whole(c.T @ m).ravel()}
        label_upper, label_lower = split(rows_times(c, m))
        squares = [
            c.T @ part if across else _whole(_sums(_times(c, part)))
            for part in (label_upper, label_lower)
        ]
        one |= _linear("yy", tuple(squares))
        of_rows, times = of_mass(a, b, m)
        for name, values, (upper, lower) in (("h", a, times[0]), ("l", b, times[-1])):
            if values is not None:
                one |= _linear(name, m @ values, v) | _linear(
                    name + "y", ((c.T @ upper).T, (c.T @ lower).T)
                )
        products.add_all([(place + raised, left, right) for place, left, right in of_rows])
        sums = add(sums, _raised(one, raised))
    return sums


def _mass_parts(mass: np.ndarray) -> Iterator[tuple[slice, np.ndarray, int]]:
    """(rows, float64 m, k) of products' worth of rows that count m·2^(20k) times, m below 2²⁰; at
    least one, of no rows."""
    for first in range(0, max(len(mass), 1), ROWS):
        rest, raised = mass[first : first + ROWS], 0
        while raised == 0 or rest.any():
            yield slice(first, first + ROWS), (rest & LOW).astype(np.float64), raised
            rest, raised = rest >> BITS, raised + 1


def _member_parts(member: sp.csr_matrix) -> Iterator[tuple[slice, sp.csr_matrix, int]]:
    """(rows, part, k) of products' worth of rows that count part·2^(20k) times in a group, part (g,
    rows) below 2²⁰; at least one."""
    for first in range(0, max(member.shape[1], 1), ROWS):
        some = slice(first, first + ROWS)
        rest, raised = member[:, some], 0
        while raised == 0 or rest.data.any():
            digits = (rest.data & LOW).astype(np.float64)
            yield some, with_values(rest, digits), raised
            rest.data >>= BITS
            raised += 1


def _raised(state: State, times: int) -> State:
    """2^(20·times) times the state, its words in order."""
    state = add({}, state)
    for _ in range(times):
        state = add({}, {name: value << BITS for name, value in state.items()})
    return state


def _linear(name: str, total: Any, v: int | None = None) -> State:
    """A sum of whole numbers, of upper and lower parts where it is a pair, as a word of 40 bits and
    one of what is above."""
    if v is not None:
        whole = _whole(total).reshape(v)
        return {name: whole & MASK, name + "+": whole >> WORD}
    upper, lower = (_whole(part) for part in total)
    whole = ((upper & LOW) << BITS) + lower
    return {name: whole & MASK, name + "+": (upper >> BITS) + (whole >> WORD)}


def _of_products(state: State, shape: tuple[int, ...]) -> np.ndarray:
    """The words of products in float64, in place: a matrix may be as large as memory allows."""
    out = _float(state, "hh", shape)
    if "rest" in state:
        below = state["rest"].astype(np.float64)
        out += np.ldexp(below, -WORD, out=below)
    return np.ldexp(out, -2 * BITS, out=out)


def moments_of(state: State, unit: np.ndarray, q: int) -> dict[str, np.ndarray]:
    """n, sum_x (v,), sum_y (q,), xx (v, v), xy (v, q), yy (q, q) in float64: of the shifted
    features, the labels as they are."""
    v = len(unit)
    xx = _of_products(state, (v, v))
    xx *= unit[:, None]
    xx *= unit
    xy = (
        np.ldexp(_float(state, "hy", (v, q)) + np.ldexp(_float(state, "ly", (v, q)), -BITS), -BITS)
        * unit[:, None]
    )
    total = (
        np.ldexp(_float(state, "h", (v,)) + np.ldexp(_float(state, "l", (v,)), -BITS), -BITS) * unit
    )
    return {
        "n": np.asarray(state["n"], np.float64),
        "sum_x": total,
        "sum_y": _float(state, "y", (q,)),
        "xx": xx,
        "xy": xy,
        "yy": _float(state, "yy", (q, q)),
    }


# ---- sums and squares by group ----


def group_moments(
    coarse: Any,
    fine: Any | None,
    member: sp.csr_matrix,
    squares: bool = True,
    wide: bool = False,
    mass: np.ndarray | None = None,
) -> State:
    """The state of Σx and Σx² over groups of rows: `member` (g, n) 0/1 CSR says which rows a group
    has. Parts are (g, v). `mass` (n,) int64: how many times each row counts; or `member` itself
    says how many times each row counts in a group, int64."""
    state: State = {}
    one: State
    if mass is not None or member.dtype == np.int64:
        member = sp.csr_matrix(member, dtype=np.int64, copy=True)
        if mass is not None:
            member.data *= mass[member.indices]
        for part, each, raised in _member_parts(member):
            a, b = coarse[part], None if fine is None else fine[part]
            one = {}
            for name, x, y in (
                ("h", a, None),
                ("l", b, None),
                ("hh", a, a),
                ("hl", a, b),
                ("ll", b, b),
            ):
                if (b is None and "l" in name) or (y is not None and not squares):
                    continue
                parts = split(x if y is None else _times(x, y))
                one |= _linear(name, tuple(each @ p for p in parts))
            state = add(state, _raised(one, raised))
        return state
    for first in range(0, max(coarse.shape[0], 1), ROWS):
        part = slice(first, first + ROWS)
        a, b, m = (
            coarse[part],
            None if fine is None else fine[part],
            member[:, part].astype(np.float64),
        )
        one = {"h": _whole(m @ a)}
        if squares:
            one["hh"] = _whole(m @ _times(a, a))
        if b is not None:
            one["l"] = _whole(m @ b)
            if squares:
                one |= {"hl": _whole(m @ _times(a, b)), "ll": _whole(m @ _times(b, b))}
        state = add(state, one)
    return carried(state) if wide else state


def _times(a: Any, b: Any) -> Any:
    return a.multiply(b).tocsr() if sp.issparse(a) else a * b


def sums_of(
    state: State, unit: np.ndarray, shape: tuple[int, ...]
) -> tuple[np.ndarray, np.ndarray]:
    """Σx and Σx² (g, v) in float64, of the shifted values."""
    total = (
        np.ldexp(_float(state, "h", shape) + np.ldexp(_float(state, "l", shape), -BITS), -BITS)
        * unit
    )
    square = _float(state, "hh", shape) + np.ldexp(_float(state, "hl", shape), 1 - BITS)
    square += np.ldexp(_float(state, "ll", shape), -2 * BITS)
    return total, np.ldexp(square, -2 * BITS) * (unit * unit)


# ---- products of two quantised matrices, and of one with weights ----


def cross(left: tuple[Any, Any | None], right: tuple[Any, Any | None], wide: bool = False) -> State:
    """The two words ``hh`` and ``rest`` of A'B: coarse and fine of A (n, v) and of B (n, w)."""
    n, v, w = left[0].shape[0], left[0].shape[1], right[0].shape[1]
    words = Words({"hh": np.zeros((v, w), np.int64)}, wide)
    for first in range(0, n, ROWS):
        part = slice(first, first + ROWS)
        a, b, c, d = (None if each is None else each[part] for each in (*left, *right))
        if left is right:
            words.square(a, b)
            continue
        pairs: list[tuple[int, Any, Any]] = [(2, a, c), (1, a, d), (1, b, c), (0, b, d)]
        present = [(place, x, y) for place, x, y in pairs if x is not None and y is not None]
        words.add((slice(0, v), slice(0, w)), *((place, dense(x.T @ y)) for place, x, y in present))
    return words.carried()


def product_of(state: State, left: np.ndarray, right: np.ndarray, prefix: str = "") -> np.ndarray:
    """(v, w) A'B in float64 from a state of `cross`, the units (v,) and (w,) of its columns."""
    own = {name[len(prefix) :]: value for name, value in state.items() if name.startswith(prefix)}
    shape = len(left), len(right)
    out = _of_products(own, shape)
    out *= left[:, None]
    out *= right
    return out


def applied(coarse: Any, fine: Any | None, unit: np.ndarray, weights: np.ndarray) -> np.ndarray:
    """(n, w) X @ `weights` (v, w) of quantised rows X, to 2⁻⁶⁰ of unit @ max|weights|: the bits of
    a row do not depend on the others, which a product of floats does not promise."""
    weights = weights * unit[:, None]
    scale = units(
        weights.min(axis=0, initial=0.0),
        weights.max(axis=0, initial=0.0),
        np.zeros(weights.shape[1]),
    )
    rest, parts = np.ldexp(weights / scale, BITS), []
    for _ in range(3):
        parts.append(np.rint(rest))
        rest = np.ldexp(rest - parts[-1], BITS)
    out = np.zeros((coarse.shape[0], len(scale)))
    for first in range(0, len(unit), ROWS):
        columns = slice(first, first + ROWS)
        whole = first == 0 and len(unit) <= ROWS
        a, b = (each if each is None or whole else each[:, columns] for each in (coarse, fine))
        high, middle, low = (np.asarray(a @ part[columns]) for part in parts)
        if b is not None:
            middle = middle + np.asarray(b @ parts[0][columns])
            low = low + np.asarray(b @ parts[1][columns])
        out += high
        out += np.ldexp(middle, -BITS)
        out += np.ldexp(low, -2 * BITS)
    return np.ldexp(out, -2 * BITS) * scale


def weighted_square(
    coarse: Any, fine: Any | None, mass: np.ndarray
) -> list[tuple[np.ndarray, int]]:
    """X'MX of quantised columns (n, v) of rows that count `mass` (n,) times: parts (int64, shift),
    as of `words`, of 2⁻⁸⁰."""
    parts = []
    for rows, m, raised in _mass_parts(mass):
        products, _ = of_mass(coarse[rows], None if fine is None else fine[rows], m)
        parts += [
            (_whole(left.T @ right), BITS * (power + raised)) for power, left, right in products
        ]
    return parts


# ---- whole numbers of several words ----

WORDS = (" 0", " 1", " 2", " 3")  # of 40 bits each, the last one with all that is above
THREE, FOUR = 3, 4


def words(name: str, *parts: tuple[np.ndarray, int], count: int = THREE) -> State:
    """Σ value · 2^shift of int64 arrays of one shape as the `count` words of `name`: below 2¹⁴⁰, of
    four words 2¹⁸⁰."""
    out = [np.zeros(np.shape(parts[0][0]), np.int64) for _ in range(count)]
    last = count - 1
    for value, shift in parts:
        for piece, at in ((value & MASK, shift), (value >> WORD, shift + WORD)):
            word, above = divmod(at, WORD)
            if word >= last:
                out[last] += piece << (at - last * WORD)
                continue
            out[word] += (piece & ((1 << (WORD - above)) - 1)) << above
            out[word + 1] += piece >> (WORD - above)
    return add_words({}, {name + word: value for word, value in zip(WORDS, out, strict=False)})


def add_words(left: State, right: State) -> State:
    """The sum of two states of whole numbers, some of them of several words."""
    out = _summed(left, right)
    for name in [name.removesuffix(WORDS[0]) for name in out if name.endswith(WORDS[0])]:
        for lower, upper in itertools.pairwise(WORDS):
            if name + upper in out:
                above = out[name + lower] >> WORD
                out[name + lower] = out[name + lower] & MASK
                out[name + upper] = out[name + upper] + above
    return out


def number(state: State, name: str, exponent: int) -> np.ndarray:
    """The whole number of several words `name`, times 2^exponent, in float64: one value however
    many words it takes."""
    parts = [np.asarray(state[name + word], np.float64) for word in WORDS if name + word in state]
    out = np.ldexp(parts[-1], exponent + (len(parts) - 1) * WORD)
    for at in range(len(parts) - 2, -1, -1):
        out = out + np.ldexp(parts[at], exponent + at * WORD)
    return out


TOTAL = -2 * WORD  # the exponent by which `number` reads a `total`, in its units


def total(name: str, values: np.ndarray, unit: float, mass: np.ndarray | None = None) -> State:
    """Σ over the first axis of float64 values of at most a power of two `unit`, in three words of
    unit · 2^`TOTAL`; `mass` (n,) int64 below 2⁵²: how many times each counts, 2⁵² times all
    together at most."""
    scaled = np.ldexp(values / unit, WORD)
    coarse = np.rint(scaled)
    fine = np.rint(np.ldexp(scaled - coarse, WORD))
    if mass is not None:
        return words(name, *_times_mass(coarse.astype(np.int64), fine.astype(np.int64), mass))
    # 2²² rows of 2⁴⁰ fit int64
    parts = [
        (each[first : first + WIDE_ROWS].astype(np.int64).sum(axis=0), shift)
        for each, shift in ((coarse, WORD), (fine, 0))
        for first in range(0, max(1, len(values)), WIDE_ROWS)
    ]
    return words(name, *((np.atleast_1d(value), shift) for value, shift in parts))


def _times_mass(
    coarse: np.ndarray, fine: np.ndarray, mass: np.ndarray
) -> list[tuple[np.ndarray, int]]:
    """Parts of Σ mass · (2⁴⁰ coarse + fine) over the rows, as `words` takes them: 20 bits of each
    at a time."""
    parts = []
    for rows, m, raised in _mass_parts(mass):
        times = m.astype(np.int64).reshape(-1, *(1,) * (coarse.ndim - 1))
        for each, shift in ((coarse[rows], WORD), (fine[rows], 0)):
            for piece, above in ((each & LOW, 0), (each >> BITS, BITS)):
                parts.append(
                    (np.atleast_1d((piece * times).sum(axis=0)), shift + above + BITS * raised)
                )
    return parts


def power_above(values: np.ndarray | np.floating[Any] | float) -> Any:
    """The least powers of two that are at least the values; 1 for 0."""
    mantissa, exponent = np.frexp(values)
    return np.where(mantissa > 0, np.ldexp(1.0, exponent - (mantissa == 0.5)), 1.0)
