"""The k nearest of each query so far: additive under tiles and merges, in any order
(`kernels.knn`)."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from .knn import GRID, Pairs, Reference, Rows, Tile, batched
from .labels import Lookup

SINGLE_SHARE = 1 / 256  # of the k-th distance, at most, that the error of single precision may be
NONE = np.iinfo(np.int64).max  # the id where there is no neighbour
_FIELDS = ("keys", "ids", "squares")


@dataclass
class Candidates:
    """Listed pairs that may come among the k best.

    `queries`, numbered as they are here, and `ids`; `i`, `j` in their tile; `keys`; `squares`, NaN
    where they are not known."""

    queries: ndarray
    ids: ndarray
    i: ndarray
    j: ndarray
    keys: ndarray
    squares: ndarray

    def take(self, entries: ndarray) -> Candidates:
        return Candidates(*(values[entries] for values in vars(self).values()))


class Nearest:
    """The k best so far of `size` queries: `keys`, `ids` (NONE: fewer), `squares` (from
    differences), (size, k), best first."""

    def __init__(self, size: int, k: int) -> None:
        self.k = k
        self.keys = np.full((size, k), np.inf)
        self.ids = np.full((size, k), NONE, np.int64)
        self.squares = np.full((size, k), np.inf)

    @property
    def filled(self) -> ndarray:
        return (self.ids != NONE).sum(axis=1)

    def update(
        self, tile: Pairs, allowed: Lookup | None = None, rows: ndarray | None = None
    ) -> None:
        """Take in a tile.

        `allowed`: which pairs may be neighbours; `rows`: where its queries stand here (None: in
        order)."""
        worst = self.keys[slice(None) if rows is None else rows, -1]
        cut = self._cut(tile, allowed, worst)
        is_crude = tile.single and not np.median(tile.error) <= SINGLE_SHARE * np.median(cut)
        if not is_crude:
            queries, ids, i, j, approx = self._possible(tile, cut, allowed, rows)
            # many distances are all but equal
            is_crude = tile.single and len(i) > 2 * self.k * len(cut)
        if is_crude and isinstance(tile, Tile):
            tile = tile.double
            cut = self._cut(tile, allowed, worst)
            queries, ids, i, j, approx = self._possible(tile, cut, allowed, rows)
        keys, squares = tile.keys(i, j, approx)
        better = self._better(queries, keys, ids)
        better = better[np.argsort(queries[better], kind="stable")]
        self._insert(
            Candidates(
                queries,
                ids,
                i,
                j,
                keys,
                squares,
            ).take(better),
            tile,
        )

    def _possible(
        self,
        tile: Pairs,
        cut: ndarray,
        allowed: Lookup | None,
        rows: ndarray | None,
    ) -> tuple[ndarray, ndarray, ndarray, ndarray, ndarray]:
        """Return queries, ids, i, j and approximate d2 of pairs that may be among the k best."""
        i, j, approx = tile.near(cut, allowed)
        queries = i if rows is None else rows[i]
        ids = tile.ids(j)
        # of equal rows most are out by their ids alone: no key is below `least`
        least = np.rint(np.maximum(approx - tile.error[i], 0.0) / (tile.features * GRID))
        better = self._better(queries, least, ids)
        return queries[better], ids[better], i[better], j[better], approx[better]

    def _better(self, queries: ndarray, keys: ndarray, ids: ndarray) -> ndarray:
        """Return which entries come before the k-th so far."""
        worst = self.keys[queries, -1]
        return np.flatnonzero((keys < worst) | ((keys == worst) & (ids < self.ids[queries, -1])))

    def _cut(self, tile: Pairs, allowed: Lookup | None, worst: ndarray) -> ndarray:
        """Return (a,) d2 above which no pair has a key as small as the k-th, `worst` so far."""
        unit = tile.features * GRID
        cut = (worst + 1.0) * unit + tile.error
        unfilled = np.flatnonzero(np.isinf(worst))
        if len(unfilled) and tile.width > self.k:
            values = tile.values(unfilled)
            if allowed is not None:
                values = np.where(allowed.take(unfilled).full(), values, np.inf)
            cut[unfilled] = np.partition(values, self.k - 1, axis=1)[:, self.k - 1]
            cut[unfilled] += unit + 2 * tile.error[unfilled]
        return cut

    def _insert(self, new: Candidates, tile: Pairs) -> None:
        """Put in new entries, sorted by query."""
        queries, start, count = np.unique(new.queries, return_index=True, return_counts=True)
        # apart, so that a few queries with many new rows do not widen the table of all
        has_many = count > 2 * self.k + 8
        for part in (np.flatnonzero(~has_many), np.flatnonzero(has_many)):
            if len(part):
                counts = count[part]
                before = np.repeat(np.cumsum(counts) - counts, counts)
                column = np.arange(counts.sum()) - before
                entries = np.repeat(start[part], counts) + column
                row = np.repeat(np.arange(len(part)), counts)
                self._insert_table(
                    queries[part],
                    row,
                    column,
                    new.take(entries),
                    tile,
                )

    def _insert_table(
        self,
        queries: ndarray,
        row: ndarray,
        column: ndarray,
        new: Candidates,
        tile: Pairs,
    ) -> None:
        """Put in new entries at (row, column) of a table beside the k old ones of the queries."""
        shape = (len(queries), self.k + int(column.max()) + 1)
        column = self.k + column
        keys = np.full(shape, np.inf)
        keys[:, : self.k] = self.keys[queries]
        keys[row, column] = new.keys
        ids = np.full(shape, NONE)
        ids[:, : self.k] = self.ids[queries]
        ids[row, column] = new.ids
        squares = np.empty(shape)
        squares[:, : self.k] = self.squares[queries]
        squares[row, column] = new.squares
        chosen = np.lexsort((ids, keys), axis=1)[:, : self.k]
        is_chosen = np.zeros(shape, bool)
        np.put_along_axis(is_chosen, chosen, True, axis=1)
        unknown = np.flatnonzero(is_chosen[row, column] & np.isnan(new.squares))
        squares[row[unknown], column[unknown]] = tile.squares(new.i[unknown], new.j[unknown])
        self.keys[queries] = np.take_along_axis(keys, chosen, axis=1)
        self.ids[queries] = np.take_along_axis(ids, chosen, axis=1)
        self.squares[queries] = np.take_along_axis(squares, chosen, axis=1)

    def merge(self, other: Nearest) -> Nearest:
        """Return the k best of two states over the same queries and disjoint reference rows."""
        both = _joined([self, other], axis=1)
        order = np.lexsort((both["ids"], both["keys"]), axis=1)[:, : self.k]
        best = {name: np.take_along_axis(value, order, axis=1) for name, value in both.items()}
        return Nearest.from_state(best)

    def state(self) -> dict[str, ndarray]:
        return {
            "keys": self.keys,
            "ids": self.ids,
            "squares": self.squares,
        }

    @staticmethod
    def from_state(state: dict[str, ndarray]) -> Nearest:
        out = Nearest(0, state["keys"].shape[1])
        out.keys = state["keys"]
        out.ids = state["ids"]
        out.squares = state["squares"]
        return out

    def take(self, queries: slice) -> Nearest:
        """Return the k best of some queries."""
        return Nearest.from_state({name: value[queries] for name, value in self.state().items()})

    @staticmethod
    def stacked(parts: list[Nearest]) -> Nearest:
        return Nearest.from_state(_joined(parts, axis=0))


def _joined(parts: list[Nearest], axis: int) -> dict[str, ndarray]:
    states = [part.state() for part in parts]
    return {name: np.concatenate([s[name] for s in states], axis=axis) for name in _FIELDS}


def nearest(query: Rows, rows: Rows, k: int) -> Nearest:
    """Return the k nearest of every query among the rows, in memory."""
    sieve, batches = batched(query)
    reference = Reference(rows, sieve)
    parts = [Nearest(0, k)]
    for batch in batches:
        best = Nearest(len(batch), k)
        for tile, _ in reference.tiles(batch):
            best.update(tile)
        parts.append(best)
    return Nearest.stacked(parts)
