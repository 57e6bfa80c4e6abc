"""Sums of products of exact columns (`kernels.exact`) as whole numbers of several words, in little
more memory than these take.

In units of 2⁻⁸⁰ a sum is ``rest`` + 2⁴⁰ ``hh`` + 2⁸⁰ ``hh+``: ``rest`` has 40 bits, ``hh`` as many
where there is ``hh+``, which narrow states do without."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from .matrix import dense, with_values

State = dict[str, Any]

BITS, WORD = 20, 40
LOW, MASK = (1 << BITS) - 1, (1 << WORD) - 1
ROWS = 3072  # of one product: ROWS · (1.5 · 2^BITS)² < 2^53
ROOM = 1 << 21  # values of the rows of one product, about, where it has many columns
TILE = 1024  # columns of a product that are in memory at once
MOST_PRODUCTS = 512  # whose sums stay below 2⁶³
NEAR = 1 << 15  # values at once that stay near the processor from one step to the next


def rows_of(v: int) -> int:
    """Return how many rows of `v` columns one product takes."""
    return min(ROWS, max(ROWS // 6, ROOM // max(1, v)))


def split(x: Any) -> tuple[Any, Any]:
    """Upper and lower parts of whole numbers below 2⁴⁰: x = 2²⁰·upper + lower."""
    values = x.data if sp.issparse(x) else x
    upper = np.rint(np.ldexp(values, -BITS))
    lower = values - np.ldexp(upper, BITS)
    if not sp.issparse(x):
        return upper, lower
    return with_values(x, upper), with_values(x, lower)


def plus(x: Any, y: Any) -> Any:
    """The sum of two matrices that store the same entries."""
    return with_values(x, x.data + y.data) if sp.issparse(x) else x + y


def rows_times(x: Any, m: np.ndarray) -> Any:
    """The rows of x times m."""
    if not sp.issparse(x):
        return x * m[:, None]
    return with_values(x, x.data * np.repeat(m, np.diff(x.indptr)))


NAMES = ("rest", "hh", "hh+")


class Words:
    """A sum of products as the words of a state, whose arrays are added to: whole float64 below
    2⁵³, each times 2^(20k) units of 2⁻⁸⁰. Symmetric sums are added up where the row is in no later
    tile of columns than the column, until they are `carried`; so what they take beside the words is
    a few tiles."""

    def __init__(self, words: State, wide: bool) -> None:
        self.words, self.wide, self.count, self.mirrors = words, wide, 0, False
        self.room = np.empty((0, 0))

    def square(self, a: Any, b: Any | None) -> None:
        """Add X'X of at most `ROWS` rows; h'l + l'h = (h + l)'(h + l) − h'h − l'l, three symmetric
        products."""
        tiles = self._tiles(a)
        upper = _product(a, a)
        if b is None:
            for at in tiles:
                self.add(at, (2, upper(at)))
            return
        both = plus(a, b) if sp.issparse(a) else self._sum(a, b)
        middle, lower = _product(both, both), _product(b, b)
        for at in tiles:
            high, low, between = upper(at), lower(at), middle(at)
            between -= high
            between -= low
            self.add(at, (2, high), (1, between), (0, low))

    def add_all(self, products: Sequence[tuple[int, Any, Any]]) -> None:
        """Add Σ left'right · 2^(20k) of (k, left, right), which is symmetric, as `of_mass` gives
        it."""
        self.wide = True
        each = [(place, _product(left, right)) for place, left, right in products]
        for at in self._tiles(products[0][1]):
            self.add(at, *((place, product(at)) for place, product in each))

    def _tiles(self, a: Any) -> list[Tile]:
        """The rows and columns of X'X that are worked out at once."""
        v = a.shape[1]
        if "hh" not in self.words:
            self.words["hh"] = np.zeros((v, v), np.int64)
        if sp.issparse(a):
            return [(rows, slice(0, v)) for rows in _slices(v, TILE * TILE // max(1, v))]
        self.mirrors = v > TILE
        return [
            (rows, columns)
            for rows in _slices(v, TILE)
            for columns in _slices(v, TILE)
            if columns.start >= rows.start
        ]

    def add(self, at: Tile, *products: tuple[int, np.ndarray]) -> None:
        """Add product · 2^(20k) of each (k, product) at some rows and columns."""
        self.count += len(products)
        if self.count > MOST_PRODUCTS:
            self._carry()
        (rows, columns), (height, width) = at, products[0][1].shape
        for some in _slices(height, NEAR // max(1, width)):  # which stay near the processor
            near = slice(rows.start + some.start, rows.start + some.stop), columns
            for place, product in products:
                whole, (word, odd) = product[some].astype(np.int64), divmod(place, 2)
                if word >= 2:
                    self._word(2)[near] += whole << BITS * (place - 4)
                elif odd:
                    self._word(word + 1)[near] += whole >> BITS
                    whole &= LOW
                    whole <<= BITS
                    self._word(word)[near] += whole
                else:
                    self._word(word)[near] += whole
            if "rest" in self.words:
                rest = self.words["rest"][near]
                self.words["hh"][near] += rest >> WORD
                rest &= MASK

    def _word(self, number: int) -> np.ndarray:
        name = NAMES[number]
        if name not in self.words:
            self.words[name] = np.zeros_like(self.words["hh"])
        return np.asarray(self.words[name])

    def _sum(self, a: np.ndarray, b: np.ndarray) -> np.ndarray:
        """a + b, in memory that is used again."""
        if self.room.shape[1] != a.shape[1] or len(self.room) < len(a):
            self.room = np.empty_like(a)
        return np.add(a, b, out=self.room[: len(a)])

    def _carry(self) -> None:
        """Take what is above 40 bits of the second word to the third, where there is one."""
        self.count = 0
        if self.words and (self.wide or "hh+" in self.words):
            upper, above = self.words["hh"], self._word(2)
            for some in _slices(len(upper), TILE):
                above[some] += upper[some] >> WORD
            upper &= MASK

    def carried(self) -> State:
        """Return the words, whole and carried."""
        self._carry()
        for word in self.words.values() if self.mirrors else ():
            for rows in _slices(len(word), TILE):
                word[rows.stop :, rows] = word[rows, rows.stop :].T
        return self.words


Tile = tuple[slice, slice]


def _slices(size: int, step: int) -> list[slice]:
    step = max(1, step)
    return [slice(first, min(first + step, size)) for first in range(0, size, step)]


def _product(left: Any, right: Any) -> Callable[[Tile], np.ndarray]:
    """Return left'right at a tile; of sparse matrices all columns of it."""
    if not sp.issparse(left):
        return lambda at: left[:, at[0]].T @ right[:, at[1]]
    transposed = left.T.tocsr()
    return lambda at: dense(transposed[at[0]] @ right)


def of_mass(
    a: Any, b: Any | None, m: np.ndarray
) -> tuple[list[tuple[int, Any, Any]], list[tuple[Any, Any]]]:
    """(k, left, right) whose left'right · 2^(20k) are the products of rows that count `m` times;
    and the upper and lower parts of those rows."""
    upper, lower = split(rows_times(a, m))
    if b is None:
        return [(3, a, upper), (2, a, lower)], [(upper, lower)]
    fine_upper, fine_lower = split(rows_times(b, m))
    both = plus(lower, fine_upper)
    products = [
        (3, a, upper),
        (2, a, both),
        (2, b, upper),
        (1, b, both),
        (1, a, fine_lower),
        (0, b, fine_lower),
    ]
    return products, [(upper, lower), (fine_upper, fine_lower)]
