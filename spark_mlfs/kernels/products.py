"""Sums of products of exact columns (`kernels.exact`) as whole numbers of several words, in little
more memory than these take.

In units of 2⁻⁸⁰ a sum is ``rest`` + 2⁴⁰ ``hh`` + 2⁸⁰ ``hh+``: ``rest`` has 40 bits, ``hh`` as many
where there is ``hh+``, which narrow states do without."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..errors import DataError
from .matrix import dense, with_values

State = dict[str, Any]
Tile = tuple[slice, slice]  # rows and columns of a product
Term = tuple[int, Any, Any]  # (k, left, right): left'right · 2^(20k)

BITS, WORD = 20, 40  # of a digit, and of a word
LOW = (1 << BITS) - 1
MASK = (1 << WORD) - 1
ROWS = 3072  # of one product: ROWS · (1.5 · 2^BITS)² < 2^53
ROOM = 1 << 21  # values of the rows of one product, about, where it has many columns
TILE = 1024  # columns of a product that are in memory at once
MOST_PRODUCTS = 512  # whose sums stay below 2⁶³
NEAR = 1 << 15  # values at once that stay near the processor from one step to the next
NAMES = ("rest", "hh", "hh+")


def rows_of(v: int) -> int:
    """Return how many rows of `v` columns one product takes."""
    return min(ROWS, max(ROWS // 6, ROOM // max(1, v)))


def split(x: Any) -> tuple[Any, Any]:
    """Return upper and lower parts of whole numbers below 2⁴⁰: x = 2²⁰·upper + lower."""
    values = x.data if sp.issparse(x) else x
    upper = np.rint(np.ldexp(values, -BITS))
    lower = values - np.ldexp(upper, BITS)
    if not sp.issparse(x):
        return upper, lower
    return with_values(x, upper), with_values(x, lower)


def plus(x: Any, y: Any) -> Any:
    """Return the sum of two matrices that store the same entries."""
    return with_values(x, x.data + y.data) if sp.issparse(x) else x + y


def rows_times(x: Any, m: ndarray) -> Any:
    """Return the rows of x times m."""
    if not sp.issparse(x):
        return x * m[:, None]
    return with_values(x, x.data * np.repeat(m, np.diff(x.indptr)))


def add_by_name(left: State, right: State, in_place: bool = False) -> State:
    """Return the sum of two states name by name, nothing carried.

    With `in_place` the arrays of `left` may be changed."""
    total = dict(left)
    for name, value in right.items():
        if name in total:
            word = total[name]
            is_reused = in_place and word.dtype == np.int64 and word.flags.writeable
            target = word if is_reused else None
            value = np.add(word, value, dtype=np.int64, out=target)
        total[name] = value
    return total


# ---- sums of products ----


class Words:
    """A sum of products as the words of a state, whose arrays are added to.

    Products are whole float64 below 2⁵³, each times 2^(20k) units of 2⁻⁸⁰. Symmetric sums are added
    up where the row is in no later tile of columns than the column, until they are `carried`; so
    what they take beside the words is a few tiles. Of some `columns` (k,) alone, and of the
    diagonal behind them, the words are (v, k + 1)."""

    def __init__(self, words: State, wide: bool, columns: ndarray | None = None) -> None:
        self.words = words
        self.wide = wide
        self.columns = columns
        self.mirrors = False  # whether tiles below the diagonal are still to be filled
        self._products = 0  # added since the last carry
        self._buffer = np.empty((0, 0))

    def square(self, H: Any, L: Any | None) -> None:
        """Add X'X of at most `ROWS` rows, of their coarse and fine parts.

        H'L + L'H = (H + L)'(H + L) − H'H − L'L: three symmetric products."""
        if self.columns is not None:
            fine = [] if L is None else [(1, H, L), (1, L, H), (0, L, L)]
            self._add_columns([(2, H, H), *fine])
            return
        tiles = self._tiles(H)
        product_of_coarse = _product(H, H)
        if L is None:
            for tile in tiles:
                self.add(tile, (2, product_of_coarse(tile)))
            return
        both = plus(H, L) if sp.issparse(H) else self._sum(H, L)
        product_of_sum = _product(both, both)
        product_of_fine = _product(L, L)
        for tile in tiles:
            high = product_of_coarse(tile)
            low = product_of_fine(tile)
            middle = product_of_sum(tile)
            middle -= high
            middle -= low
            self.add(tile, (2, high), (1, middle), (0, low))

    def add_all(self, terms: Sequence[Term]) -> None:
        """Add Σ left'right · 2^(20k) of terms (k, left, right), which is symmetric.

        They are as `terms_of_mass` gives them."""
        self.wide = True
        if self.columns is not None:
            self._add_columns(terms)
            return
        products = [(power, _product(left, right)) for power, left, right in terms]
        for tile in self._tiles(terms[0][1]):
            self.add(tile, *((power, product(tile)) for power, product in products))

    def _add_columns(self, terms: Sequence[Term]) -> None:
        """Add the `columns` of the same sum, and its diagonal."""
        assert self.columns is not None
        shape = (terms[0][1].shape[1], len(self.columns) + 1)
        if "hh" not in self.words:
            self.words["hh"] = np.zeros(shape, np.int64)
        everywhere = (slice(0, shape[0]), slice(0, shape[1]))
        products = [
            (power, _columns_of_product(left, right, self.columns)) for power, left, right in terms
        ]
        self.add(everywhere, *products)

    def _tiles(self, x: Any) -> list[Tile]:
        """Return the rows and columns of X'X that are worked out at once."""
        v = x.shape[1]
        if "hh" not in self.words:
            self.words["hh"] = np.zeros((v, v), np.int64)
        if sp.issparse(x):
            return [(rows, slice(0, v)) for rows in _slices(v, TILE * TILE // max(1, v))]
        self.mirrors = v > TILE
        return [
            (rows, columns)
            for rows in _slices(v, TILE)
            for columns in _slices(v, TILE)
            if columns.start >= rows.start
        ]

    def add(self, tile: Tile, *products: tuple[int, ndarray]) -> None:
        """Add product · 2^(20k) of each (k, product) at some rows and columns."""
        self._products += len(products)
        if self._products > MOST_PRODUCTS:
            self._carry()
        rows, columns = tile
        height, width = products[0][1].shape
        for run in _slices(height, NEAR // max(1, width)):  # which stays near the processor
            near = (slice(rows.start + run.start, rows.start + run.stop), columns)
            for power, product in products:
                self._add_integers(near, power, product[run].astype(np.int64))
            if "rest" in self.words:
                below = self.words["rest"][near]  # a view
                self.words["hh"][near] += below >> WORD
                below &= MASK

    def _add_integers(self, near: Tile, power: int, integers: ndarray) -> None:
        """Add integers · 2^(20·power), whose array is overwritten, to the words it belongs to."""
        number, odd = divmod(power, 2)  # a word is two powers
        if number >= 2:
            self._word(2)[near] += integers << BITS * (power - 4)
        elif odd:  # across two words
            self._word(number + 1)[near] += integers >> BITS
            integers &= LOW
            integers <<= BITS
            self._word(number)[near] += integers
        else:
            self._word(number)[near] += integers

    def _word(self, number: int) -> ndarray:
        name = NAMES[number]
        if name not in self.words:
            self.words[name] = np.zeros_like(self.words["hh"])
        return np.asarray(self.words[name])

    def _sum(self, x: ndarray, y: ndarray) -> ndarray:
        """Return x + y, in memory that is used again."""
        if self._buffer.shape[1] != x.shape[1] or len(self._buffer) < len(x):
            self._buffer = np.empty_like(x)
        return np.add(x, y, out=self._buffer[: len(x)])

    def _carry(self) -> None:
        """Take what is above 40 bits of the second word to the third, where there is one."""
        self._products = 0
        if self.words and (self.wide or "hh+" in self.words):
            word = self.words["hh"]
            above = self._word(2)
            for rows in _slices(len(word), TILE):
                above[rows] += word[rows] >> WORD
            word &= MASK

    def carried(self) -> State:
        """Return the words, complete and carried."""
        self._carry()
        if self.mirrors:
            for word in self.words.values():
                for rows in _slices(len(word), TILE):
                    word[rows.stop :, rows] = word[rows, rows.stop :].T
        return self.words


def _slices(size: int, step: int) -> list[slice]:
    step = max(1, step)
    return [slice(first, min(first + step, size)) for first in range(0, size, step)]


def _product(left: Any, right: Any) -> Callable[[Tile], ndarray]:
    """Return left'right at a tile; of sparse matrices all columns of it."""
    if not sp.issparse(left):
        return lambda tile: left[:, tile[0]].T @ right[:, tile[1]]
    transposed = left.T.tocsr()
    return lambda tile: dense(transposed[tile[0]] @ right)


def _columns_of_product(left: Any, right: Any, columns: ndarray) -> ndarray:
    """Return some columns of left'right and, behind them, its diagonal.

    Sparse ones store the same entries."""
    if not sp.issparse(left):
        diagonal = np.einsum("ij,ij->j", left, right)
        return np.column_stack([left.T @ right[:, columns], diagonal])
    diagonal = np.bincount(left.indices, left.data * right.data, left.shape[1])
    return np.column_stack([dense(right[:, columns].T.tocsr() @ left).T, diagonal])


# ---- rows that count several times ----


def check_counts(counts: ndarray) -> None:
    """Raise `DataError` for rows that count less than no time, the parts of which never end."""
    if counts.min(initial=0) < 0:
        raise DataError(
            f"a row counts {counts.min()} times: weights and counts are 0 or more; the data are "
            "damaged, or were summed in too few bits"
        )


def mass_parts(mass: ndarray) -> Iterator[tuple[slice, ndarray, int]]:
    """Yield (rows, float64 m, k) of products' worth of rows that count m·2^(20k) times.

    m is below 2²⁰. There is at least one part, of no rows."""
    check_counts(mass)
    for first in range(0, max(len(mass), 1), ROWS):
        rows = slice(first, first + ROWS)
        remaining = mass[rows]
        power = 0
        while power == 0 or remaining.any():
            yield rows, (remaining & LOW).astype(np.float64), power
            remaining = remaining >> BITS
            power += 1


def terms_of_mass(H: Any, L: Any | None, m: ndarray) -> tuple[list[Term], list[tuple[Any, Any]]]:
    """Return the terms of X'MX of rows that count `m` times, and the parts of these rows.

    The terms are (k, left, right), a product left'right · 2^(20k) each, in the notation of
    `kernels.exact` with a = mH and b = mL; the parts (a₁, a₀) and, of fine values, (b₁, b₀)."""
    upper, lower = split(rows_times(H, m))
    if L is None:
        return [(3, H, upper), (2, H, lower)], [(upper, lower)]
    fine_upper, fine_lower = split(rows_times(L, m))
    middle = plus(lower, fine_upper)
    terms = [
        (3, H, upper),
        (2, H, middle),
        (2, L, upper),
        (1, L, middle),
        (1, H, fine_lower),
        (0, L, fine_lower),
    ]
    return terms, [(upper, lower), (fine_upper, fine_lower)]
