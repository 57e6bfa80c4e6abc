"""The k nearest of each query so far: additive under tiles and merges, in any order
(`kernels.knn`)."""

from __future__ import annotations

import numpy as np

from .knn import GRID, Pairs, Reference, Rows, Tile, batched
from .labels import Lookup

SINGLE_SHARE = 1 / 256  # of the k-th distance, at most, that the error of single precision may be


NONE = np.iinfo(np.int64).max  # the id where there is no neighbour


class Nearest:
    """The k best so far of `size` queries: `keys`, `ids` (NONE: fewer), `squares` (from
    differences), (size, k), best first."""

    def __init__(self, size: int, k: int) -> None:
        self.k = k
        self.keys = np.full((size, k), np.inf)
        self.ids = np.full((size, k), NONE, np.int64)
        self.squares = np.full((size, k), np.inf)

    @property
    def filled(self) -> np.ndarray:
        return (self.ids != NONE).sum(axis=1)

    def update(
        self, tile: Pairs, allowed: Lookup | None = None, rows: np.ndarray | None = None
    ) -> None:
        """Take in a tile; `allowed`: which pairs may be neighbours; `rows`: where its queries stand
        here (None: in order)."""
        worst = self.keys[slice(None) if rows is None else rows, -1]
        cut = self._cut(tile, allowed, worst)
        crude = tile.single and not np.median(tile.error) <= SINGLE_SHARE * np.median(cut)
        if not crude:
            queries, ids, i, j, approx = self._possible(tile, cut, allowed, rows)
            crude = tile.single and len(i) > 2 * self.k * len(
                cut
            )  # many distances are all but equal
        if crude and isinstance(tile, Tile):
            tile = tile.double
            queries, ids, i, j, approx = self._possible(
                tile, self._cut(tile, allowed, worst), allowed, rows
            )
        keys, squares = tile.keys(i, j, approx)
        better = self._better(queries, keys, ids)
        better = better[np.argsort(queries[better], kind="stable")]
        self._take(queries[better], [x[better] for x in (keys, ids, squares, i, j)], tile)

    def _possible(
        self, tile: Pairs, cut: np.ndarray, allowed: Lookup | None, rows: np.ndarray | None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
        """Queries, ids, i, j and approximate d2 of the pairs that may be among the k best."""
        i, j, approx = tile.near(cut, allowed)
        queries, ids = i if rows is None else rows[i], tile.ids(j)
        # of equal rows most are out by their ids alone: no key is below `least`
        least = np.rint(np.maximum(approx - tile.error[i], 0.0) / (tile.features * GRID))
        kept = self._better(queries, least, ids)
        return queries[kept], ids[kept], i[kept], j[kept], approx[kept]

    def _better(self, queries: np.ndarray, keys: np.ndarray, ids: np.ndarray) -> np.ndarray:
        """Which entries come before the k-th kept."""
        worst = self.keys[queries, -1]
        return np.flatnonzero((keys < worst) | ((keys == worst) & (ids < self.ids[queries, -1])))

    def _cut(self, tile: Pairs, allowed: Lookup | None, worst: np.ndarray) -> np.ndarray:
        """(a,) a pair with d2 above it cannot have a key as small as the k-th, `worst` so far."""
        unit = tile.features * GRID
        cut = (worst + 1.0) * unit + tile.error
        open_ = np.flatnonzero(np.isinf(worst))
        if len(open_) and tile.width > self.k:
            values = tile.values(open_)
            if allowed is not None:
                values = np.where(allowed.take(open_).full(), values, np.inf)
            cut[open_] = np.partition(values, self.k - 1, axis=1)[:, self.k - 1]
            cut[open_] += unit + 2 * tile.error[open_]
        return cut

    def _take(self, queries: np.ndarray, new: list[np.ndarray], tile: Pairs) -> None:
        """New (keys, ids, squares where known, i, j) for `queries`, sorted."""
        touched, start, count = np.unique(queries, return_index=True, return_counts=True)
        many = (
            count > 2 * self.k + 8
        )  # apart, so that a few queries with many new rows do not widen the table of all
        for some in (np.flatnonzero(~many), np.flatnonzero(many)):
            if len(some):
                within = np.arange(count[some].sum()) - np.repeat(
                    np.cumsum(count[some]) - count[some], count[some]
                )
                entries = np.repeat(start[some], count[some]) + within
                row = np.repeat(np.arange(len(some)), count[some])
                self._take_table(touched[some], row, within, [x[entries] for x in new], tile)

    def _take_table(
        self,
        touched: np.ndarray,
        row: np.ndarray,
        column: np.ndarray,
        new: list[np.ndarray],
        tile: Pairs,
    ) -> None:
        """New entries at (row, column) of a table beside the k old ones of the touched queries."""
        shape, column = (len(touched), self.k + int(column.max()) + 1), self.k + column
        keys, ids, squares = tables = np.full(shape, np.inf), np.full(shape, NONE), np.empty(shape)
        for table, old, values in zip(
            tables, (self.keys, self.ids, self.squares), new, strict=False
        ):
            table[:, : self.k], table[row, column] = old[touched], values
        chosen = np.lexsort((ids, keys), axis=1)[:, : self.k]
        kept = np.zeros(shape, bool)
        np.put_along_axis(kept, chosen, True, axis=1)
        unknown = np.flatnonzero(kept[row, column] & np.isnan(new[2]))
        squares[row[unknown], column[unknown]] = tile.squares(new[3][unknown], new[4][unknown])
        for table, old in zip(tables, (self.keys, self.ids, self.squares), strict=True):
            old[touched] = np.take_along_axis(table, chosen, axis=1)

    def merge(self, other: Nearest) -> Nearest:
        """The k best of two states over the same queries and disjoint reference rows."""
        both = _joined([self, other], axis=1)
        order = np.lexsort((both["ids"], both["keys"]), axis=1)[:, : self.k]
        return Nearest.from_state(
            {name: np.take_along_axis(value, order, axis=1) for name, value in both.items()}
        )

    def state(self) -> dict[str, np.ndarray]:
        return {"keys": self.keys, "ids": self.ids, "squares": self.squares}

    @staticmethod
    def from_state(state: dict[str, np.ndarray]) -> Nearest:
        out = Nearest(0, state["keys"].shape[1])
        out.keys, out.ids, out.squares = state["keys"], state["ids"], state["squares"]
        return out

    @staticmethod
    def stacked(parts: list[Nearest]) -> Nearest:
        return Nearest.from_state(_joined(parts, axis=0))


def _joined(parts: list[Nearest], axis: int) -> dict[str, np.ndarray]:
    return {
        name: np.concatenate([part.state()[name] for part in parts], axis=axis)
        for name in ("keys", "ids", "squares")
    }


def nearest(query: Rows, rows: Rows, k: int) -> Nearest:
    """The k nearest of every query among the rows, in memory."""
    sieve, batches = batched(query)
    reference, parts = Reference(rows, sieve), [Nearest(0, k)]
    for some in batches:
        parts.append(Nearest(len(some), k))
        for tile, _ in reference.tiles(some):
            parts[-1].update(tile)
    return Nearest.stacked(parts)
