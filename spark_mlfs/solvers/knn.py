"""Exact k nearest neighbours by blocks: a matrix product for the distances, plain differences where it cannot
be trusted.

Neighbours are ordered by key(i, j) = round(d2_ij / features, 10), then by the row id of j; a row is never its
own neighbour; d2 is the squared Euclidean distance. |x|^2 + |z|^2 - 2x'z costs one product of the blocks but
may be off by up to err = (features + 8) eps (|x| + |z|)^2. So a tile of products only proposes: pairs within
err of the cut are candidates, a candidate whose rounding the error could change is computed again from
differences, and the k kept carry distances from differences. Keys, ties and distances are therefore those of
the naive computation, for any block sizes.

Sparse blocks are CSR and must not be centred: distances do not change by centring. Memory: one tile, and k
entries a query.

    best = Nearest(len(query), k)
    for block in blocks:
        for tile in tiles(query, block):
            best.update(tile, allowed)        # best.merge(other) joins the results of two sets of blocks
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import scipy.sparse as sp

from spark_mlfs.errors import DataError
from spark_mlfs.solvers.label_similarity import LabelsetSimilarity

GRID = 1e-10  # distances per feature are compared on this grid
TILE = 1024
NONE = np.iinfo(np.int64).max  # the id of a place that is not taken
CHUNK_BYTES = 32 << 20
_EPS = np.finfo(np.float64).eps


class Rows:
    """Rows ready for distances: `x` (n, d) float64, dense C order or CSR; `ids` (n,) int64, unique; `codes`
    (n,) labelset codes or None.

    `scale` (d,) divides the features, `offset` (d,) is taken off first (dense only; it changes no distance but
    may keep large means from drowning small differences).
    """

    def __init__(
        self,
        x: np.ndarray | sp.csr_matrix,
        ids: np.ndarray,
        codes: np.ndarray | None = None,
        scale: np.ndarray | None = None,
        offset: np.ndarray | None = None,
    ) -> None:
        if sp.issparse(x):
            x = sp.csr_matrix(x, dtype=np.float64, copy=scale is not None)
            if scale is not None:
                x.data /= np.asarray(scale, np.float64)[x.indices]
            self.norms = np.asarray(x.multiply(x).sum(axis=1), np.float64).ravel()
            finite = np.isfinite(self.norms).all()
        else:
            x = np.ascontiguousarray(x, np.float64)
            if offset is not None:
                x = x - offset
            if scale is not None:
                x = x / scale
            self.norms = np.einsum("ij,ij->i", x, x)
            finite = np.isfinite(self.norms).all()
        if not finite:
            raise DataError("distances need finite features: the rows hold NaN, an infinity or values beyond 1e154")
        self.x = x
        self.ids = np.asarray(ids, np.int64)
        self.codes = None if codes is None else np.asarray(codes, np.int64)

    def __len__(self) -> int:
        return self.x.shape[0]

    @property
    def width(self) -> int:
        return self.x.shape[1]

    @property
    def sparse(self) -> bool:
        return sp.issparse(self.x)

    def take(self, rows: np.ndarray | slice) -> Rows:
        """Some of the rows; a slice of dense rows is not copied."""
        out = object.__new__(Rows)
        out.x, out.ids, out.norms = self.x[rows], self.ids[rows], self.norms[rows]
        out.codes = None if self.codes is None else self.codes[rows]
        return out

    def dense(self) -> np.ndarray:
        return self.x.toarray() if self.sparse else self.x


def pair_squares(
    left: np.ndarray | sp.csr_matrix,
    right: np.ndarray | sp.csr_matrix,
    i: np.ndarray,
    j: np.ndarray,
    weights: np.ndarray | None = None,
    features: np.ndarray | None = None,
) -> np.ndarray:
    """sum_f weights_f (left[i_t, f] - right[j_t, f])^2 for each t, from the differences, in bounded memory."""
    out = np.empty(len(i))
    step = max(1, CHUNK_BYTES // (8 * max(1, left.shape[1])))
    for a in range(0, len(i), step):
        part = slice(a, a + step)
        if sp.issparse(left) or sp.issparse(right):
            diff = sp.csr_matrix(left[i[part]]) - sp.csr_matrix(right[j[part]])
            diff = diff.multiply(diff)
            out[part] = np.asarray(diff.sum(axis=1)).ravel() if weights is None else diff @ weights
        else:
            diff = left[i[part]]
            diff -= right[j[part]]
            diff *= diff
            out[part] = diff.sum(axis=1) if weights is None else diff @ weights
    return out


class Tile:
    """Distances of some query rows to some reference rows, by products: `approx` (a, b) with error at most
    `error` (a,).

    The same row on both sides has `approx` infinity. `features` divides the distances for the grid: the number
    of features.
    """

    def __init__(self, query: Rows, reference: Rows, features: int | None = None) -> None:
        self.query, self.reference = query, reference
        self.features = max(1, features or query.width)
        approx = products(query.x, reference.x)
        approx *= -2.0
        approx += query.norms[:, None]
        approx += reference.norms
        root = np.sqrt(query.norms) + np.sqrt(reference.norms.max(initial=0.0))
        self.error = (query.width + 8) * _EPS * root * root
        _, mine, other = np.intersect1d(query.ids, reference.ids, assume_unique=True, return_indices=True)
        approx[mine, other] = np.inf
        self.approx = approx
        self.rows: np.ndarray | None = None
        self.columns: np.ndarray | None = None

    def transposed(self) -> Tile:
        """The same tile seen from the reference rows: symmetric work is done once."""
        out = object.__new__(Tile)
        out.query, out.reference, out.features = self.reference, self.query, self.features
        out.approx, out.rows, out.columns = self.approx.T, None, None
        root = np.sqrt(self.reference.norms) + np.sqrt(self.query.norms.max(initial=0.0))
        out.error = (self.query.width + 8) * _EPS * root * root
        return out

    def part(self, rows: np.ndarray, columns: np.ndarray) -> Tile:
        """Some queries against some reference rows of a whole tile; the rows themselves are not copied."""
        out = object.__new__(Tile)
        out.query, out.reference, out.features = self.query, self.reference, self.features
        out.approx, out.error = self.approx[rows[:, None], columns], self.error[rows]
        out.rows, out.columns = rows, columns
        return out

    def ids(self, j: np.ndarray) -> np.ndarray:
        """Row ids of reference rows given by their places in the tile."""
        return self.reference.ids[j if self.columns is None else self.columns[j]]

    def squares(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """d2 of listed pairs, from differences."""
        i, j = i if self.rows is None else self.rows[i], j if self.columns is None else self.columns[j]
        return pair_squares(self.query.x, self.reference.x, i, j)

    def keys(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        """rint(d2 / features * 1e10) of listed pairs, exactly as from differences."""
        unit = self.features * GRID
        value = self.approx[i, j] / unit
        key = np.rint(value)
        unsure = np.flatnonzero(0.5 - np.abs(value - key) <= self.error[i] / unit)
        if len(unsure):
            key[unsure] = grid_key(self.squares(i[unsure], j[unsure]), self.features)
        return key


def tiles(query: Rows, reference: Rows, features: int | None = None, size: int = TILE) -> Iterator[tuple[Tile, slice]]:
    """The tiles of `query` against runs of at most `size` reference rows, with the run."""
    for first in range(0, len(reference), size):
        run = slice(first, min(first + size, len(reference)))
        yield Tile(query, reference.take(run), features), run


def products(left: np.ndarray | sp.csr_matrix, right: np.ndarray | sp.csr_matrix) -> np.ndarray:
    """left @ right.T, dense, whatever the two are."""
    out = left @ right.T
    return out.toarray() if sp.issparse(out) else np.asarray(out)


def grid_key(squares: np.ndarray, features: int) -> np.ndarray:
    """round(d2 / features, 10) in units of 1e-10: what neighbours are ordered by."""
    return np.rint(squares / features * 1e10)


class Nearest:
    """The k best so far of each of `size` queries: `keys`, `ids` (NONE where fewer were found) and `squares`,
    (size, k), best first. `squares` are d2 from differences. The state is additive: update by tiles in any
    order, merge in any order."""

    def __init__(self, size: int, k: int) -> None:
        self.k = k
        self.keys = np.full((size, k), np.inf)
        self.ids = np.full((size, k), NONE, np.int64)
        self.squares = np.full((size, k), np.inf)

    @property
    def found(self) -> np.ndarray:
        """(size,) how many neighbours each query has."""
        return (self.ids != NONE).sum(axis=1)

    def update(self, tile: Tile, allowed: np.ndarray | None = None, rows: np.ndarray | None = None) -> None:
        """Take in a tile.

        `allowed`: None, (b,) booleans for the reference rows, or (a, b) booleans for the pairs.
        `rows`: the places of the tile's queries in this state; None: all, in order.
        """
        approx = tile.approx
        if allowed is not None and allowed.ndim == 1:
            columns = np.flatnonzero(allowed)
            if len(columns) < len(allowed):
                approx = approx[:, columns]
            allowed = None
        else:
            columns = None
        a, b = approx.shape
        if not a or not b:
            return
        worst = self.keys[:, -1] if rows is None else self.keys[rows, -1]
        unit = tile.features * GRID
        # a pair with d2 above the cut cannot have a key as small as the k-th
        cut = (worst + 1.0) * unit + tile.error
        open_ = np.flatnonzero(np.isinf(worst))
        if len(open_) and b > self.k:
            values = approx[open_]
            if allowed is not None:
                values = np.where(allowed[open_], values, np.inf)
            cut[open_] = np.partition(values, self.k - 1, axis=1)[:, self.k - 1]
            cut[open_] += unit + 2 * tile.error[open_]
        near = approx <= cut[:, None]
        if allowed is not None:
            near &= allowed
        flat = np.flatnonzero(near)
        i, j = np.divmod(flat, b)
        if columns is not None:
            j = columns[j]
        beyond = np.isinf(tile.approx[i, j])  # the row itself
        if beyond.any():
            i, j = i[~beyond], j[~beyond]
        if not len(i):
            return
        keys = tile.keys(i, j)
        places = i if rows is None else rows[i]
        self._take(places, keys, tile.ids(j), i, j, tile)

    def _take(self, places: np.ndarray, keys: np.ndarray, ids: np.ndarray, i: np.ndarray, j: np.ndarray, tile: Tile) -> None:
        # what is no better than the k-th kept is out at once
        better = (keys < self.keys[places, -1]) | ((keys == self.keys[places, -1]) & (ids < self.ids[places, -1]))
        places, keys, ids, i, j = places[better], keys[better], ids[better], i[better], j[better]
        if not len(places):
            return
        touched, at = np.unique(places, return_inverse=True)
        k = self.k
        old = len(touched) * k
        group = np.concatenate([np.repeat(np.arange(len(touched)), k), at])
        every_key = np.concatenate([self.keys[touched].ravel(), keys])
        every_id = np.concatenate([self.ids[touched].ravel(), ids])
        order = np.lexsort((every_id, every_key, group))
        starts = np.searchsorted(group[order], np.arange(len(touched)))
        chosen = order[starts[:, None] + np.arange(k)]  # each group holds at least the k old places
        squares = np.empty(len(group))
        squares[:old] = self.squares[touched].ravel()
        new = np.unique(chosen[chosen >= old])
        squares[new] = tile.squares(i[new - old], j[new - old])
        self.keys[touched] = every_key[chosen]
        self.ids[touched] = every_id[chosen]
        self.squares[touched] = squares[chosen]

    def merge(self, other: Nearest) -> Nearest:
        """The k best of two states over the same queries and disjoint reference rows."""
        keys = np.concatenate([self.keys, other.keys], axis=1)
        ids = np.concatenate([self.ids, other.ids], axis=1)
        squares = np.concatenate([self.squares, other.squares], axis=1)
        order = np.lexsort((ids, keys), axis=1)[:, : self.k]
        out = Nearest(0, self.k)
        out.keys = np.take_along_axis(keys, order, axis=1)
        out.ids = np.take_along_axis(ids, order, axis=1)
        out.squares = np.take_along_axis(squares, order, axis=1)
        return out

    def state(self) -> dict[str, np.ndarray]:
        """The arrays of the state, for travelling."""
        return {"keys": self.keys, "ids": self.ids, "squares": self.squares}

    @staticmethod
    def from_state(state: dict[str, np.ndarray]) -> Nearest:
        out = Nearest(0, state["keys"].shape[1])
        out.keys, out.ids, out.squares = state["keys"], state["ids"], state["squares"]
        return out


# ---- conditions: (a, b) or (b,) booleans for `Nearest.update` ----


def same_labelset(query: np.ndarray, reference: np.ndarray, empty: int | None = None) -> np.ndarray:
    """(a, b) whether two rows have the same labelset, from their codes; rows of the code `empty` match nothing."""
    same = query[:, None] == reference
    if empty is not None:
        same &= (reference != empty)[None, :]
    return same


def similar(similarity: LabelsetSimilarity, query: np.ndarray, reference: np.ndarray, s_min: float) -> np.ndarray:
    """(a, b) whether s >= s_min, from labelset codes."""
    return similarity.between(query, reference).at_least(s_min).full()


def sharing(similarity: LabelsetSimilarity, query: np.ndarray, reference: np.ndarray) -> np.ndarray:
    """(a, b) whether two rows share a label, from labelset codes."""
    return similarity.between(query, reference).positive().full()


def has_and_lacks(members: sp.csr_matrix, codes: np.ndarray, a: int, b: int) -> np.ndarray:
    """(n,) whether a row has label a and not label b, from the labelsets (m, q) and the rows' codes."""
    columns = members[:, [a, b]].toarray() > 0
    return (columns[:, 0] & ~columns[:, 1])[codes]


def nearest(
    query: Rows,
    blocks: Rows | list[Rows],
    k: int,
    condition=None,
    features: int | None = None,
    batch: int = 256,
    tile: int = TILE,
) -> Nearest:
    """The k nearest of every query among the rows of the blocks, in memory.

    `condition(query_rows, reference_rows)` returns booleans as for `Nearest.update`, or None.
    """
    blocks = [blocks] if isinstance(blocks, Rows) else blocks
    parts = []
    for first in range(0, len(query), batch):
        some = query.take(slice(first, first + batch))
        best = Nearest(len(some), k)
        for block in blocks:
            for found, _ in tiles(some, block, features, tile):
                best.update(found, None if condition is None else condition(some, found.reference))
        parts.append(best)
    out = Nearest(0, k)
    if parts:
        out.keys = np.concatenate([p.keys for p in parts])
        out.ids = np.concatenate([p.ids for p in parts])
        out.squares = np.concatenate([p.squares for p in parts])
    return out
