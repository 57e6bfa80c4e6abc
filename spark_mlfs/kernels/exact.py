"""Exact sums: products of quantised columns in whole numbers.

A sum has one value whatever the order of the rows, the blocks, the threads or the BLAS.

Quantised columns. The values x of a column, shifted, with |x| ≤ u for a power of two u, its unit,
that does not depend on the rows at hand, are taken as

    x = u · (h · 2⁻²⁰ + l · 2⁻⁴⁰),    h, l whole numbers, |h| ≤ 2²⁰, |l| ≤ 2¹⁹,

h the coarse part, l the fine one. For some rows of v columns, X are these values, H and L the parts
h and l, (n, v) each, Y the labels (n, q), u₁ and u₂ the units of the two columns of a product:

    Σx  = u (Σh 2⁻²⁰ + Σl 2⁻⁴⁰)
    X'X = u₁u₂ (H'H 2⁻⁴⁰ + (H'L + L'H) 2⁻⁶⁰ + L'L 2⁻⁸⁰)
    X'Y = u (H'Y 2⁻²⁰ + L'Y 2⁻⁴⁰)

Columns whose values need no more than 20 bits (0 and 1, bytes, counts) have l = 0; where all of a
block do, one product will do.

Exactness. The products of 3072 rows stay below 2⁵³, where float64 is exact in any order, and so do
those of H + L, from which `Words.square` has H'L + L'H: (1.5 · 2²⁰)² · 3072 = 6912 · 2⁴⁰ < 2⁵³.
They add up in int64. The sums of the quantised values are exact up to the last conversion.

Accuracy. A value is off by at most u · 2⁻⁴¹, equal values by the same. Of n rows, if they are many,
an entry of X'X or X'Y is off by at most 1.3·10⁻¹² √n of the product of the centred columns' norms.
Where one value is far from n equal ones, up to max(3·10⁻¹², 1.6·10⁻¹³ √n) was measured; mostly it
is much less. tests/kernels/test_exact.py derives the bound and holds both.

States are dicts of int64 arrays by name; an absent name is 0. The caller may put a prefix before
the names that ends with a blank, such as that of a group of rows. A sum that may leave int64 is two
words: ``name`` has its lowest 40 bits and ``name+`` what is above; to carry is to move what has
come to be above there. X'X and A'B are cut alike: the lowest 40 bits are ``rest``, what is above is
``hh``. Columns v, w, labels q, groups g:

    name   | which function                | meaning                           | unit
    n      | second_moments                | number of rows (1,)               | 1
    y      | second_moments                | Σy (q,)                           | 1
    yy     | second_moments                | Y'Y (q, q), or its diagonal (q,)  | 1
    h      | second_moments, group_moments | Σh (v,), by group (g, v)          | u 2⁻²⁰
    l      | second_moments, group_moments | Σl (v,), by group (g, v)          | u 2⁻⁴⁰
    hy     | second_moments                | H'Y (v, q)                        | u 2⁻²⁰
    ly     | second_moments                | L'Y (v, q)                        | u 2⁻⁴⁰
    hh     | second_moments, cross         | X'X (v, v), A'B (v, w) from 2⁴⁰   | u₁u₂ 2⁻⁴⁰
    rest   | second_moments, cross         | the 40 bits of these below ``hh`` | u₁u₂ 2⁻⁸⁰
    hh     | group_moments                 | Σh² (g, v), no ``rest``           | u² 2⁻⁴⁰
    hl     | group_moments                 | Σhl (g, v)                        | u² 2⁻⁶⁰
    ll     | group_moments                 | Σl² (g, v)                        | u² 2⁻⁸⁰
    name+  | all, if `wide` or with `mass` | what is above 40 bits of ``name`` | 2⁴⁰ of ``name``'s

So ``hh`` has two meanings: in X'X and A'B it goes with ``rest``, the two being one whole number in
units of 2⁻⁸⁰; by group it is a sum of its own. `wide` states, which 2²² rows or more need, have a
``name+`` of ``hh``, ``hl`` and ``ll``.

Mass. A row may count m times, m ≥ 0 a whole number (`mass`): the sums are then those of m copies of
the row, to the bit. m is taken a digit of 20 bits at a time. For a digit m and the h and l (v,) of
the row, with m·h = 2²⁰a₁ + a₀ and m·l = 2²⁰b₁ + b₀, in units of 2⁻⁸⁰

    m(h 2²⁰ + l)(h 2²⁰ + l)' =
        2⁶⁰ ha₁' + 2⁴⁰ (h(a₀ + b₁)' + la₁') + 2²⁰ (l(a₀ + b₁)' + hb₀') + lb₀',

six products that are exact as above. Such states are always wide; ``h``, ``l``, ``hy``, ``ly`` and
``yy`` have a ``name+``, too. ``n`` and ``y`` have none: callers refuse masses of 2⁵² together, and
2⁴⁶ where labels are grades, which are up to 2¹⁵.

In the code H and L are those of the rows of one product, `coarse` and `fine` those of all rows a
function is given; L and `fine` are None if no value has a fine part, and may be all zeros
otherwise. `digit` is the number k of a digit of m, `place` the k of a product times 2^(20k)."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..errors import DataError
from .matrix import Matrix, dense, with_values
from .products import (
    BITS,  # 20, of h and of a digit
    LOW,  # 2²⁰ − 1
    MASK,  # 2⁴⁰ − 1
    NAMES,  # rest, hh, hh+
    NEAR,  # 2¹⁵ values
    ROWS,  # 3072, of one product
    WORD,  # 40
    State,
    Words,
    add_by_name,
    check_counts,
    mass_parts,
    rows_times,
    split,
    terms_of_mass,
)

# rows of a part of `second_moments`: Σhy of a part is float64, 2²⁰ · 2¹⁵ · 32 · 3072 < 2⁵²
PART_ROWS = 32 * ROWS
WIDE_ROWS = 1 << 22  # of so many rows Σh² is two words: of fewer it is below 2⁶², half of int64
LARGEST_POWER = 2.0**1023
_STEPS = float(1 << BITS)  # of h in a unit, and of l in a step of h
_LEAST_EXPONENT = -1000  # of a unit: 2²⁰ / 2⁻¹⁰⁰⁰ = 2¹⁰²⁰ < 2¹⁰²⁴, where float64 ends
_PRODUCTS = ("hh", "hl", "ll")

Quantised = tuple[Any, Any | None]  # h and l, (n, v)

# ---- quantised columns ----


def power_above(values: ndarray | np.floating[Any] | float) -> Any:
    """Return the least powers of two that are at least the values, sizes of numbers; 1 for 0.

    NaN does not come here: rows that have it are refused, filled or left out before. Raises
    `DataError` for values above 2¹⁰²³, which no such power of float64 reaches."""
    if np.any(np.asarray(values, np.float64) > LARGEST_POWER):
        raise DataError(
            "numbers grow beyond 2^1023, where float64 ends: give features and labels in larger "
            "units"
        )
    mantissa, exponent = np.frexp(values)  # ½ ≤ mantissa < 1: a power of two has ½
    return np.where(mantissa > 0, np.ldexp(1.0, exponent - (mantissa == 0.5)), 1.0)


def units(low: ndarray, high: ndarray, shift: ndarray) -> ndarray:
    """Return the least powers of two u (v,) with |x − shift| ≤ u for x in [low, high].

    They are at least 2⁻¹⁰⁰⁰, and 1 for a column whose low and high both equal the shift."""
    reach = power_above(np.maximum(np.abs(low - shift), np.abs(high - shift)))
    return np.asarray(np.maximum(reach, np.ldexp(1.0, _LEAST_EXPONENT)))


def quantised(
    x: Matrix,
    unit: ndarray,
    shift: ndarray | None = None,
    buffers: Sequence[ndarray] = (),
) -> Quantised:
    """Return h and l, whole numbers in float64, of shifted values (n, v).

    Without `shift`, `x`, float64 or CSR of float64, is shifted already, and overwritten: its memory
    becomes l. With `shift` (v,), which is subtracted, `x` is dense, perhaps float32, and kept; h
    and l are then new arrays, or the first rows of two `buffers`. l is None if all values · 2²⁰ / u
    are whole numbers. If not, it may still be all zeros, since it is rounded."""
    is_sparse = sp.issparse(x)
    if shift is None:  # `fine` has the values, then what h leaves of them, then l
        fine = x.data if is_sparse else x
    elif buffers:
        fine = buffers[1][: len(x)]
    else:
        fine = np.empty(x.shape)
    coarse = buffers[0][: len(x)] if buffers else np.empty_like(fine)
    scale = _STEPS / unit
    is_shifted = shift is not None and bool(shift.any())
    has_fine = False
    # rows, or single values of CSR, that stay near the processor
    step = max(1, NEAR // max(1, fine[:1].size))
    for first in range(0, len(fine), step):
        near = slice(first, first + step)
        remainder = fine[near]
        integer = coarse[near]
        if shift is not None:
            np.copyto(remainder, x[near])  # quicker than float32 less float64 at once
            if is_shifted:
                remainder -= shift
        remainder *= scale[x.indices[near]] if is_sparse else scale
        np.rint(remainder, out=integer)
        remainder -= integer  # exact, and at most ½: so |l| ≤ 2¹⁹
        has_fine = has_fine or bool(remainder.any())
        if has_fine:  # the remainders before are 0, as their l
            remainder *= _STEPS
            np.rint(remainder, out=remainder)
    if not is_sparse:
        return coarse, fine if has_fine else None
    return with_values(x, coarse), with_values(x, fine) if has_fine else None


def _cut(matrix: Any | None, rows: slice) -> Any | None:
    return None if matrix is None else matrix[rows]


# ---- states ----


def add(left: State, right: State, *, in_place: bool = False) -> State:
    """Return the sum of two states; with `in_place` the arrays of `left` may be changed.

    Only names in `right` are carried. The others have not changed, and a state of many groups has
    hundreds of names. A ``rest`` of `right` alone has nothing to carry."""
    total = add_by_name(left, right, in_place)
    for name in right:
        if name.endswith("rest") and name in left:
            above = total[name] >> WORD
            total[name] &= MASK
            upper = name.removesuffix("rest") + "hh"
            # into `above`, as the array of ``hh`` may be an operand's
            total[upper] = np.add(above, total[upper], out=above)
    is_wide = any(name.endswith("+") for name in total)
    return carried(total, right) if is_wide else total


def carried(state: State, names: Iterable[str] | None = None) -> State:
    """Return a state with what is above 40 bits of its sums, or of those of `names`, carried.

    That is done of sums of products, and of other sums that are two words."""
    out = dict(state)
    listed = state if names is None else names
    for name in list(listed):
        is_product = name.rsplit(" ", 1)[-1] in _PRODUCTS  # behind a prefix
        if is_product or name + "+" in state:
            word = np.asarray(out[name], np.int64)  # small ones travel as int32
            above = word >> WORD
            out[name] = word & MASK
            out[name + "+"] = out.get(name + "+", 0) + above
    return out


def _float(state: State, name: str, shape: tuple[int, ...]) -> ndarray:
    """Return a sum, of one word or of two, in float64."""
    if name not in state:
        return np.zeros(shape)
    value = np.asarray(state[name], np.float64)
    if name + "+" not in state:
        return value
    return value + np.ldexp(np.asarray(state[name + "+"], np.float64), WORD)


def _column_sums(
    state: State,
    coarse_name: str,
    fine_name: str,
    shape: tuple[int, ...],
) -> ndarray:
    """Return Σh 2⁻²⁰ + Σl 2⁻⁴⁰ in float64, of the sums of two names."""
    fine_sums = np.ldexp(_float(state, fine_name, shape), -BITS)
    return np.ldexp(_float(state, coarse_name, shape) + fine_sums, -BITS)


def _products_in_units(state: State, shape: tuple[int, ...]) -> ndarray:
    """Return hh 2⁻⁴⁰ + rest 2⁻⁸⁰ in float64.

    The words are copied to float64, then worked on in place: they may be as large as memory
    allows."""
    out = _float(state, "hh", shape)
    if "rest" in state:
        below = state["rest"].astype(np.float64)
        out += np.ldexp(below, -WORD, out=below)
    return np.ldexp(out, -2 * BITS, out=out)


def _integers(values: Any) -> ndarray:
    """Return a sum that is exact in float64 as int64, dense."""
    return dense(values).astype(np.int64)


def _column_totals(columns: Any) -> ndarray:
    return np.asarray(columns.sum(axis=0)).ravel()


def _times(x: Any, y: Any) -> Any:
    """Return the products of two matrices entry by entry."""
    return x.multiply(y).tocsr() if sp.issparse(x) else x * y


def _two_words(name: str, integers: ndarray) -> State:
    """Return a sum of whole numbers as a word of 40 bits and one of what is above."""
    return {name: integers & MASK, name + "+": integers >> WORD}


def _joined_words(name: str, upper_sum: Any, lower_sum: Any) -> State:
    """Return 2²⁰·upper + lower as a word of 40 bits and one of what is above."""
    upper = _integers(upper_sum)
    lower = _integers(lower_sum)
    below = ((upper & LOW) << BITS) + lower  # upper's part of the word and all of lower: < 2⁵⁴
    return {name: below & MASK, name + "+": (upper >> BITS) + (below >> WORD)}


def _shifted_up(state: State, digit: int) -> State:
    """Return 2^(20·digit) times the state, each word that has a ``name+`` below 2⁴⁰."""
    state = carried(state)
    for _ in range(digit):  # 20 bits at a time: of words of 40, int64 holds no more
        state = carried({name: value << BITS for name, value in state.items()})
    return state


# ---- second moments ----


def second_moments(
    parts: Iterable[tuple[Quantised, sp.csr_matrix, ndarray | None]],
    wide: bool = False,
    across: bool = True,
    state: State | None = None,
    columns: ndarray | None = None,
) -> State:
    """Return the state of [X, Y, 1]'[X, Y, 1] of the rows of some parts and those of `state`.

    parts    of `PART_ROWS` rows at most: the features; y (n, q) CSR of 0 and 1, or of whole numbers
             up to 2¹⁵; (n,) int64 how many times each row counts, or None: once. Of whole numbers
             there may be 2²⁷ rows without mass: Σhy is at most 2²⁰ · 2¹⁵ · 2²⁷ = 2⁶² then
    wide     whether ``hh+`` is kept, as it is from the first part with mass on
    across   whether ``yy`` is Y'Y (q, q) or its diagonal (q,)
    state    what is added to; its arrays ``hh``, ``rest`` and ``hh+`` are changed
    columns  (k,) those of X'X that are wanted: it is then (v, k + 1), its diagonal last"""
    state = state or {}
    products = Words({name: state[name] for name in NAMES if name in state}, wide, columns)
    sums: State = {name: value for name, value in state.items() if name not in NAMES}
    for (coarse, fine), labels, mass in parts:
        if mass is None:
            sums = add(
                sums,
                _add_rows(
                    products,
                    coarse,
                    fine,
                    labels,
                    across,
                ),
            )
            continue
        for rows, m, digit in mass_parts(mass):
            H = coarse[rows]
            L = _cut(fine, rows)
            Y = labels[rows].astype(np.float64)
            sums = add(
                sums,
                _add_rows_of_mass(
                    products,
                    H,
                    L,
                    Y,
                    m,
                    digit,
                    across,
                ),
            )
    return sums | products.carried()


def _add_rows(
    products: Words,
    coarse: Any,
    fine: Any | None,
    labels: sp.csr_matrix,
    across: bool,
) -> State:
    """Add X'X of rows that count once to `products`; return their other sums."""
    counts = labels.astype(np.int64)
    sums: State = {"n": np.array([labels.shape[0]]), "y": _column_totals(counts)}
    sums["yy"] = counts.T @ counts if across else _column_totals(_times(counts, counts))
    # the sums of features are float64, exact, until all rows are added
    for H, L, Y in _exact_steps(coarse, fine, labels.astype(np.float64)):
        _add_column_sums(sums, "h", H, Y)
        if L is not None:
            _add_column_sums(sums, "l", L, Y)
        products.square(H, L)
    return {name: _integers(value) for name, value in sums.items()}


def _add_column_sums(
    sums: State,
    name: str,
    columns: Any,
    Y: Matrix,
) -> None:
    """Add the sums of some columns, and those by label, to `sums`."""
    _accumulate(sums, name, _column_totals(columns))
    _accumulate(sums, name + "y", (Y.T @ columns).T)


def _accumulate(sums: State, name: str, value: Any) -> None:
    sums[name] = sums[name] + value if name in sums else value


def _exact_steps(
    coarse: Any, fine: Any | None, Y: sp.csr_matrix
) -> Iterator[tuple[Any, Any | None, Matrix]]:
    """Yield H, L and Y of so few rows that their products are exact."""
    n = max(Y.shape[0], 1)  # without rows one empty step, so that all names exist
    step = ROWS
    labels: Matrix = Y
    if sp.issparse(coarse):
        # a product of two columns adds up no more terms than one of them stores
        if np.bincount(coarse.indices).max(initial=0) <= ROWS:
            step = n
    elif 8 * Y.nnz > n * Y.shape[1]:  # the dense product is the quicker one, as measured
        labels = Y.toarray()
    for first in range(0, n, step):
        rows = slice(first, first + step)
        yield coarse[rows], _cut(fine, rows), labels[rows]


def _add_rows_of_mass(
    products: Words,
    H: Any,
    L: Any | None,
    Y: sp.csr_matrix,
    m: ndarray,
    digit: int,
    across: bool,
) -> State:
    """Add X'X of rows that count m·2^(20·digit) times to `products`; return their other sums."""
    sums: State = {"n": np.array([int(m.sum())], np.int64)}
    sums["y"] = _integers(Y.T @ m).ravel()
    upper_labels, lower_labels = split(rows_times(Y, m))
    if across:
        sums |= _joined_words("yy", Y.T @ upper_labels, Y.T @ lower_labels)
    else:
        upper_squares = _column_totals(_times(Y, upper_labels))
        lower_squares = _column_totals(_times(Y, lower_labels))
        sums |= _joined_words("yy", upper_squares, lower_squares)
    terms, parts = terms_of_mass(H, L, m)
    sums |= _sums_of_mass(
        "h",
        H,
        parts[0],
        Y,
        m,
    )
    if L is not None:
        sums |= _sums_of_mass(
            "l",
            L,
            parts[1],
            Y,
            m,
        )
    products.add_all([(place + digit, left, right) for place, left, right in terms])
    return _shifted_up(sums, digit)


def _sums_of_mass(
    name: str,
    columns: Any,
    parts: tuple[Any, Any],
    Y: sp.csr_matrix,
    m: ndarray,
) -> State:
    """Return the sums of some columns of rows that count m times, and those by label.

    `parts`: those of the columns times m, m·h = 2²⁰·upper + lower."""
    upper, lower = parts
    total = _integers(m @ columns).reshape(columns.shape[1])
    by_label = _joined_words(name + "y", (Y.T @ upper).T, (Y.T @ lower).T)
    return _two_words(name, total) | by_label


def moments_of(
    state: State, unit: ndarray, q: int, columns: ndarray | None = None
) -> dict[str, ndarray]:
    """Return the second moments of a state in float64: of the shifted features, labels as they are.

    They are n, sum_x (v,), sum_y (q,), xx (v, v), or of some `columns` (v, k + 1), the diagonal
    last, xy (v, q) and yy, (q, q), or (q,) of a state made without `across`."""
    v = len(unit)
    xx = _products_in_units(state, (v, v if columns is None else len(columns) + 1))
    xx *= unit[:, None]
    if columns is None:
        xx *= unit
    else:
        xx[:, :-1] *= unit[columns]
        xx[:, -1] *= unit
    return {
        "n": np.asarray(state["n"], np.float64),
        "sum_x": _column_sums(state, "h", "l", (v,)) * unit,
        "sum_y": _float(state, "y", (q,)),
        "xx": xx,
        "xy": _column_sums(state, "hy", "ly", (v, q)) * unit[:, None],
        "yy": _float(state, "yy", (q, q)),
    }


# ---- sums and squares by group ----


def group_moments(
    coarse: Any,
    fine: Any | None,
    member: sp.csr_matrix,
    squares: bool = True,
    wide: bool = False,
    mass: ndarray | None = None,
) -> State:
    """Return the state of Σx and, with `squares`, Σx² over groups of rows; its parts are (g, v).

    `member` (g, n) CSR: how many times a row counts in a group, of dtype int64 any whole number
    ≥ 0, of another dtype 0 or 1. `mass` (n,) int64 ≥ 0 multiplies it: how many times each row
    counts. With `mass`, or of an int64 `member`, the state is wide whatever `wide` says, and ``h``
    and ``l`` have a ``name+``, too."""
    if mass is not None or member.dtype == np.int64:
        member = sp.csr_matrix(member, dtype=np.int64, copy=True)  # which is overwritten
        if mass is not None:
            member.data *= mass[member.indices]
        return _group_moments_of_mass(coarse, fine, member, squares)
    state: State = {}
    # without rows one empty step, so that all names exist
    for first in range(0, max(coarse.shape[0], 1), ROWS):
        rows = slice(first, first + ROWS)
        M = member[:, rows].astype(np.float64)
        sums: State = {}
        for name, values in _group_summands(coarse[rows], _cut(fine, rows), squares):
            sums[name] = _integers(M @ values)
            del values  # before the next are made
        state = add(state, sums)
    return carried(state) if wide else state


def _group_moments_of_mass(
    coarse: Any,
    fine: Any | None,
    member: sp.csr_matrix,
    squares: bool,
) -> State:
    """Return the state of `group_moments` of rows that count as often as `member` has it."""
    state: State = {}
    for rows, M, digit in _member_parts(member):
        sums: State = {}
        for name, values in _group_summands(coarse[rows], _cut(fine, rows), squares):
            upper, lower = split(values)  # of 20 bits each: their sums times M are exact
            sums |= _joined_words(name, M @ upper, M @ lower)
        state = add(state, _shifted_up(sums, digit))
    return state


def _group_summands(H: Any, L: Any | None, squares: bool) -> Iterator[tuple[str, Any]]:
    """Yield the name of each sum by group and what it adds up."""
    yield "h", H
    if L is not None:
        yield "l", L
    if squares:
        yield "hh", _times(H, H)
        if L is not None:
            yield "hl", _times(H, L)
            yield "ll", _times(L, L)


def _member_parts(member: sp.csr_matrix) -> Iterator[tuple[slice, sp.csr_matrix, int]]:
    """Yield (rows, M, k): `ROWS` rows at most, which count M·2^(20k) times in a group.

    M (g, rows) is below 2²⁰. Without rows there is one empty part, so that all names exist."""
    check_counts(member.data)
    for first in range(0, max(member.shape[1], 1), ROWS):
        rows = slice(first, first + ROWS)
        remaining = member[:, rows]  # in memory of its own
        digit = 0
        while digit == 0 or remaining.data.any():
            digits = (remaining.data & LOW).astype(np.float64)
            yield rows, with_values(remaining, digits), digit
            remaining.data >>= BITS
            digit += 1


def sums_of(state: State, unit: ndarray, shape: tuple[int, ...]) -> tuple[ndarray, ndarray]:
    """Return Σx and Σx² (g, v) in float64, of the shifted values."""
    total = _column_sums(state, "h", "l", shape) * unit
    # hl comes twice in (h + l)²
    square = _float(state, "hh", shape) + np.ldexp(_float(state, "hl", shape), 1 - BITS)
    square += np.ldexp(_float(state, "ll", shape), -2 * BITS)
    square = np.ldexp(square, -2 * BITS)
    square *= unit  # one after the other: u² may leave float64 where Σx² does not
    square *= unit
    return total, square


# ---- products of two quantised matrices, and of one with weights ----


def cross(left: Quantised, right: Quantised, wide: bool = False) -> State:
    """Return the two words ``hh`` and ``rest`` of A'B, of quantised A (n, v) and B (n, w).

    If `left` and `right` are one object (`left is right`), A'A is worked out by the symmetric
    algorithm, `Words.square`; the sums are the same."""
    n, v = left[0].shape
    w = right[0].shape[1]
    products = Words({"hh": np.zeros((v, w), np.int64)}, wide)
    for first in range(0, n, ROWS):
        rows = slice(first, first + ROWS)
        H_a = left[0][rows]
        L_a = _cut(left[1], rows)
        if left is right:
            products.square(H_a, L_a)
            continue
        H_b = right[0][rows]
        L_b = _cut(right[1], rows)
        terms = [(2, H_a, H_b), (1, H_a, L_b), (1, L_a, H_b), (0, L_a, L_b)]
        present = [(place, a, b) for place, a, b in terms if a is not None and b is not None]
        everywhere = (slice(0, v), slice(0, w))
        products.add(everywhere, *((place, dense(a.T @ b)) for place, a, b in present))
    return products.carried()


def product_of(
    state: State,
    left_unit: ndarray,
    right_unit: ndarray,
    prefix: str = "",
) -> ndarray:
    """Return A'B (v, w) in float64 from a state of `cross`, whose names begin with `prefix`.

    `left_unit` (v,) and `right_unit` (w,) are those of the columns of A and B."""
    words = {name[len(prefix) :]: value for name, value in state.items() if name.startswith(prefix)}
    out = _products_in_units(words, (len(left_unit), len(right_unit)))
    out *= left_unit[:, None]
    out *= right_unit
    return out


def applied(
    coarse: Any,
    fine: Any | None,
    unit: ndarray,
    weights: ndarray,
) -> ndarray:
    """Return X @ `weights` (n, w) of quantised rows X, with float64 rounding in a fixed order.

    So the bits of a row do not depend on the other rows, which a product of floats does not
    promise. Rounded are the additions to the result, three for every `ROWS` columns; the sums of
    products that are added are exact. Weights times units are cut to three digits of 20 bits of
    `scale`, the least power of two they do not exceed in size. That is off by 2⁻⁶¹ of `scale` a
    column at most, and so the product of l and the third digit, 2⁻⁶² at most, is left out."""
    weights = weights * unit[:, None]
    least = weights.min(axis=0, initial=0.0)
    largest = weights.max(axis=0, initial=0.0)
    scale = units(least, largest, np.zeros(weights.shape[1]))
    first_digit, second_digit, third_digit = _digits(weights / scale)
    out = np.zeros((coarse.shape[0], len(scale)))
    for first in range(0, len(unit), ROWS):
        columns = slice(first, first + ROWS)
        H = coarse
        L = fine
        if len(unit) > ROWS:  # a product of more columns would not be exact
            H = coarse[:, columns]
            L = None if fine is None else fine[:, columns]
        upper = np.asarray(H @ first_digit[columns])
        middle = np.asarray(H @ second_digit[columns])
        lower = np.asarray(H @ third_digit[columns])
        if L is not None:
            middle = middle + np.asarray(L @ first_digit[columns])
            lower = lower + np.asarray(L @ second_digit[columns])
        out += upper
        out += np.ldexp(middle, -BITS)
        out += np.ldexp(lower, -2 * BITS)
    return np.ldexp(out, -2 * BITS) * scale


def _digits(values: ndarray) -> list[ndarray]:
    """Return three whole numbers of 20 bits: values ≈ d₁ 2⁻²⁰ + d₂ 2⁻⁴⁰ + d₃ 2⁻⁶⁰, |values| ≤ 1."""
    digits = []
    remainder = np.ldexp(values, BITS)
    for _ in range(3):
        digits.append(np.rint(remainder))
        remainder = np.ldexp(remainder - digits[-1], BITS)
    return digits


def weighted_square(coarse: Any, fine: Any | None, mass: ndarray) -> list[tuple[ndarray, int]]:
    """Return the parts of X'MX of quantised columns (n, v), of rows that count `mass` (n,) times.

    They are (int64, shift), as `integers.words` takes them, and Σ int64 · 2^shift is X'MX in units
    of u₁u₂ 2⁻⁸⁰."""
    parts = []
    for rows, m, digit in mass_parts(mass):
        terms, _ = terms_of_mass(coarse[rows], _cut(fine, rows), m)
        for place, left, right in terms:
            parts.append((_integers(left.T @ right), BITS * (place + digit)))
    return parts
