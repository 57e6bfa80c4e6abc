"""Exact k nearest neighbours by blocks: a matrix product for the distances, plain differences where
it cannot be trusted.

Neighbours are ordered by key(i, j) = round(d2_ij / features, 10), then by the row id of j; a row is
never its own neighbour; d2 is the squared Euclidean distance. |x|^2 + |z|^2 - 2x'z costs one
product of the blocks (of dense rows in single precision, as long as that is small beside the
distances that count) but may be off by up to err = (features + 8) eps (|x| + |z|)^2. So a tile of
products only proposes: pairs within err of the cut are candidates, a candidate whose rounding the
error could change is computed again from differences, as those of the k kept are. Keys, ties and
distances are the naive computation's, by any blocks.

Sparse blocks are CSR and not centred, which changes no distance. With r the rare features and c the
frequent ones,

    d2 >= |x_r|^2 + |z_r|^2 - 2 x_r'z_r + (|x_c| - |z_c|)^2,

and x_r'z_r is 0 for most pairs: it is computed only where it is not (a sparse product), the other
pairs that the cut admits are the first rows in the order of |z_r|, and only what passes is
completed (`Sieve`). Memory: one tile, k entries a query."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..errors import DataError
from ..lazy import cached_property
from .labels import Lookup
from .matrix import Matrix, changed, dense

GRID = 1e-10  # distances per feature are compared on this grid
BATCH, TILE = 512, 1024  # queries and reference rows in a tile
SIEVED_BATCH = 1024  # queries met with such a tile at once
SIEVED_TILE = 2048  # reference rows in a tile of sparse rows: what is kept of it is small
# a condition is looked up pair by pair where fewer than one pair in so many is within the cut
DENSE_BELOW = 16
# of the rows' squared norms that the frequent features may hold, so that the bound stays sharp
FREQUENT_SHARE = 0.1
MOST_FREQUENT = 512  # of them at most: they are kept dense
# rare features shared by a pair, on average, up to which a sieve is the faster way
SIEVED_PRODUCTS = 1.5
CHUNK_BYTES = 32 << 20  # of differences of sparse rows
CACHED_BYTES = 1 << 19  # of dense ones, which stay in the cache
# squared norms of which a product in single precision neither vanishes nor overflows
SINGLE_LEAST, SINGLE_MOST = 1e-20, 1e30
_EPS = np.finfo(np.float64).eps
_EPS_SINGLE = np.finfo(np.float32).eps

Listed = tuple[ndarray, ndarray, ndarray]  # i, j and approximate d2 of pairs


class Rows:
    """Rows ready for distances: `x` (n, d) float64, dense C order or CSR; `ids` (n,) int64, unique;
    `codes` (n,) of labelsets.

    `scale` (d,) divides features, `offset` (d,) is taken off dense ones first: large means would
    drown small differences."""

    def __init__(
        self,
        x: Matrix,
        ids: ndarray,
        codes: ndarray | None = None,
        scale: ndarray | None = None,
        offset: ndarray | None = None,
    ) -> None:
        if sp.issparse(x):
            x = sp.csr_matrix(x, dtype=np.float64, copy=scale is not None)
            if scale is not None:
                x.data /= np.asarray(scale, np.float64)[x.indices]
            self.norms = np.asarray(x.multiply(x).sum(axis=1), np.float64).ravel()
        else:
            x = np.ascontiguousarray(x, np.float64)
            if offset is not None:
                x = x - offset
            if scale is not None:
                x = x / scale
            self.norms = np.einsum("ij,ij->i", x, x)
        if not np.isfinite(self.norms).all():
            raise DataError(
                "distances need finite features: the rows hold NaN, an infinity or values beyond "
                "1e154"
            )
        self.x = x
        self.ids = np.asarray(ids, np.int64)
        self.codes = None if codes is None else np.asarray(codes, np.int64)
        self._split: tuple[Sieve, SievedParts] | None = None
        self._single: ndarray | None = None

    def __len__(self) -> int:
        return self.x.shape[0]

    @property
    def labelset_codes(self) -> ndarray:
        assert self.codes is not None
        return self.codes

    @property
    def width(self) -> int:
        return self.x.shape[1]

    @property
    def sparse(self) -> bool:
        return sp.issparse(self.x)

    def take(self, rows: ndarray | slice) -> Rows:
        """Return some of the rows; a slice of dense rows is not copied."""
        out = object.__new__(Rows)
        out.x = self.x[rows]
        out.ids = self.ids[rows]
        out.norms = self.norms[rows]
        out.codes = None if self.codes is None else self.codes[rows]
        out._split = None
        out._single = None
        if self._single is not None and isinstance(rows, slice):
            out._single = self._single[rows]
        return out

    def single(self) -> ndarray:
        """Return x in single precision, converted once."""
        if self._single is None:
            self._single = self.x.astype(np.float32)
        return self._single

    def split(self, sieve: Sieve) -> SievedParts:
        """Return the parts of the rows for a sieve, split once."""
        if self._split is None or self._split[0] is not sieve:
            self._split = sieve, sieve.split(self)
        return self._split[1]


# ---- distances from differences ----


def pair_squares(
    left: Matrix,
    right: Matrix,
    i: ndarray,
    j: ndarray,
    weights: ndarray | None = None,
) -> ndarray:
    """Return sum_f weights_f (left[i_t, f] - right[j_t, f])^2 for each t, from the differences.

    In bounded memory."""
    out = np.empty(len(i))
    for part, apart in differences(left, right, i, j):
        squares = changed(apart, lambda values: np.square(values, out=values))
        if weights is None:
            out[part] = np.asarray(squares.sum(axis=1)).ravel()
        else:
            out[part] = squares @ weights
    return out


def differences(
    left: Matrix,
    right: Matrix,
    i: ndarray,
    j: ndarray,
) -> Iterator[tuple[slice, Matrix]]:
    """Yield runs of t and left[i_t] - right[j_t] for each, in bounded memory.

    CSR where one of both is."""
    is_sparse = sp.issparse(left) or sp.issparse(right)
    if is_sparse:
        values = CHUNK_BYTES // 32
        width = _values_a_row(left) + _values_a_row(right)
    else:
        values = CACHED_BYTES // 8
        width = left.shape[1]
    step = max(1, values // max(1, width))
    for first in range(0, len(i), step):
        part = slice(first, first + step)
        a = left[i[part]]
        b = right[j[part]]
        if is_sparse:
            yield part, sp.csr_matrix(a) - sp.csr_matrix(b)
        else:
            yield part, np.subtract(a, b, out=a)


def _values_a_row(x: Matrix) -> int:
    return x.nnz // max(1, x.shape[0]) if sp.issparse(x) else x.shape[1]


def row_products(
    left: ndarray,
    right: ndarray,
    i: ndarray,
    j: ndarray,
) -> ndarray:
    """Return left[i_t]'right[j_t] for each t, in bounded memory."""
    out = np.empty(len(i))
    step = max(1, CACHED_BYTES // (8 * max(1, left.shape[1])))
    for first in range(0, len(i), step):
        part = slice(first, first + step)
        np.einsum("ij,ij->i", left[i[part]], right[j[part]], out=out[part])
    return out


# ---- tiles of approximate distances ----


class Pairs:
    """Query rows against reference rows whose distances are first approximated by products, with
    error at most `error` (a,)."""

    query: Rows
    reference: Rows
    error: ndarray
    single = False  # whether `error` is that of single precision

    def _bound(self) -> ndarray:
        root = np.sqrt(self.query.norms) + np.sqrt(self.reference.norms.max(initial=0.0))
        # in single precision the rows and their norms are rounded, too
        eps = 2 * _EPS_SINGLE if self.single else _EPS
        return (self.query.width + 8) * eps * root * root

    @property
    def width(self) -> int:
        return len(self.reference)

    @property
    def features(self) -> int:
        """The divisor that brings distances to the grid."""
        return max(1, self.query.width)

    def values(self, rows: ndarray) -> ndarray:
        """Return (len(rows), width) approximate d2 of some queries.

        A row and itself are infinitely far apart."""
        raise NotImplementedError

    def near(self, cut: ndarray, allowed: Lookup | None = None) -> Listed:
        """Return the `allowed` pairs of different rows with approximate d2 <= cut_i."""
        raise NotImplementedError

    def ids(self, j: ndarray) -> ndarray:
        return self.reference.ids[j]

    def squares(self, i: ndarray, j: ndarray) -> ndarray:
        return pair_squares(self.query.x, self.reference.x, i, j)

    def keys(self, i: ndarray, j: ndarray, approx: ndarray) -> tuple[ndarray, ndarray]:
        """Return rint(d2 / features * 1e10) of listed pairs, exactly as from differences.

        And the d2 that were computed so, else NaN."""
        unit = self.features * GRID
        value = approx / unit
        key = np.rint(value)
        # the error could take the value across the half between two keys
        unsure = np.flatnonzero(0.5 - np.abs(value - key) <= self.error[i] / unit)
        squares = np.full(len(i), np.nan)
        if len(unsure):
            squares[unsure] = self.squares(i[unsure], j[unsure])
            key[unsure] = np.rint(squares[unsure] / self.features * 1e10)
        return key, squares


class Tile(Pairs):
    """All distances of some rows to some others: `approx` (a, b), infinity of a row and itself;
    `single`: in single precision."""

    def __init__(self, query: Rows, reference: Rows, single: bool = False) -> None:
        self.query = query
        self.reference = reference
        self.single = single
        approx = query.single() @ reference.single().T if single else products(query.x, reference.x)
        approx *= -2.0
        approx += query.norms[:, None].astype(approx.dtype)
        approx += reference.norms.astype(approx.dtype)
        _, i, j = np.intersect1d(query.ids, reference.ids, assume_unique=True, return_indices=True)
        approx[i, j] = np.inf
        self.approx = approx
        self.error = self._bound()
        self.rows: ndarray | None = None
        self.columns: ndarray | None = None

    @property
    def width(self) -> int:
        return self.approx.shape[1]

    def values(self, rows: ndarray) -> ndarray:
        return self.approx[rows]

    def near(self, cut: ndarray, allowed: Lookup | None = None) -> Listed:
        if self.single:  # rounded up, so that the comparison stays in single precision
            cut = np.nextafter(cut.astype(np.float32), np.float32(np.inf))
        within = self.approx <= cut[:, None]
        if allowed is not None and DENSE_BELOW * np.count_nonzero(within) > within.size:
            within &= allowed.full()
            allowed = None
        i, j = np.divmod(np.flatnonzero(within), max(1, self.width))
        if allowed is not None:
            admitted = np.flatnonzero(allowed.pairs(i, j))
            i = i[admitted]
            j = j[admitted]
        approx = self.approx[i, j].astype(np.float64)
        if np.isinf(approx).any():  # an open cut admits the row itself
            others = np.isfinite(approx)
            i = i[others]
            j = j[others]
            approx = approx[others]
        return i, j, approx

    def transposed(self) -> Tile:
        """Return the same tile seen from the reference rows: symmetric work is done once."""
        out = object.__new__(Tile)
        out.query = self.reference
        out.reference = self.query
        out.single = self.single
        out.approx = self.approx.T
        out.error = out._bound()
        out.rows = None
        out.columns = None
        return out

    def part(self, rows: ndarray, columns: ndarray) -> Tile:
        """Return some queries against some reference rows of a whole tile.

        The rows themselves are not copied."""
        out = object.__new__(Tile)
        out.query = self.query
        out.reference = self.reference
        out.single = self.single
        out.approx = self.approx[rows[:, None], columns]
        out.error = self.error[rows]
        out.rows = rows
        out.columns = columns
        return out

    @cached_property
    def double(self) -> Tile:
        return Tile(self.query, self.reference)

    def ids(self, j: ndarray) -> ndarray:
        if self.columns is not None:
            j = self.columns[j]
        return super().ids(j)

    def squares(self, i: ndarray, j: ndarray) -> ndarray:
        i = i if self.rows is None else self.rows[i]
        j = j if self.columns is None else self.columns[j]
        return super().squares(i, j)


def products(left: Matrix, right: Matrix) -> ndarray:
    """Return left @ right.T, dense, whatever the two are."""
    return dense(left @ right.T)


# ---- sparse rows through a sieve ----


@dataclass(frozen=True)
class SievedParts:
    """Rows by a sieve: `rare` features (n, d), their squared norms `squares` (n,), the frequent
    ones `dense` (n, f), and their norms `root` (n,)."""

    rare: sp.csr_matrix
    squares: ndarray
    dense: ndarray
    root: ndarray


@dataclass(eq=False)
class Sieve:
    """The frequent features of sparse rows: where most products come from, up to a tenth of the
    squared norms and 512 of them."""

    frequent: ndarray

    @staticmethod
    def of(rows: Rows) -> Sieve | None:
        """Return a sieve for rows like these; None where it would not pay.

        They are dense then, or share too many features."""
        if not rows.sparse or not len(rows):
            return None
        d = rows.width
        counts = np.bincount(rows.x.indices, minlength=d)
        weight = np.bincount(rows.x.indices, rows.x.data**2, minlength=d)
        order = np.argsort(-counts, kind="stable")
        weight_of_first = np.cumsum(weight[order])
        within = np.searchsorted(weight_of_first, FREQUENT_SHARE * weight.sum(), side="right")
        few = min(MOST_FREQUENT, within)
        rare = counts[order[few:]] / len(rows)
        return Sieve(np.sort(order[:few])) if rare @ rare <= SIEVED_PRODUCTS else None

    def split(self, rows: Rows) -> SievedParts:
        """Split the features of rows."""
        x = rows.x
        is_frequent = np.zeros(rows.width, bool)
        is_frequent[self.frequent] = True
        is_rare = ~is_frequent[x.indices]
        ends = np.concatenate([[0], np.cumsum(is_rare)])[x.indptr]
        rare = sp.csr_matrix((x.data[is_rare], x.indices[is_rare], ends), shape=x.shape)
        # with a 0 behind all; a row without a rare feature has 0
        values = np.append(rare.data**2, 0.0)
        squares = np.add.reduceat(values, np.minimum(ends[:-1], rare.nnz))
        squares = squares * (np.diff(ends) > 0)
        frequent = x[:, self.frequent].toarray()
        root = np.sqrt(np.einsum("ij,ij->i", frequent, frequent))
        return SievedParts(rare, squares, frequent, root)


class SievedRows:
    """Reference rows ready for a sieve, in the order of the squared norms of their rare features,
    `squares`."""

    def __init__(self, rows: Rows, sieve: Sieve) -> None:
        parts = sieve.split(rows)
        order = np.argsort(parts.squares, kind="stable")
        self.rows = rows.take(order)
        self.squares = parts.squares[order]
        self.dense = parts.dense[order]
        self.root = parts.root[order]
        columns = parts.rare[order].tocsc()
        entries = (columns.data, columns.indices, columns.indptr)
        self.transposed = sp.csr_matrix(entries, shape=columns.shape[::-1])


class SievedTile(Pairs):
    """Distances of some sparse query rows to some sparse reference rows, of which only those within
    a cut are ever formed."""

    def __init__(self, query: Rows, parts: SievedParts, reference: SievedRows) -> None:
        self.query = query
        self.reference = reference.rows
        self._parts = parts
        self._ready = reference
        self.error = self._bound()

    @cached_property
    def _product(self) -> sp.csr_matrix:
        """x_r'z_r of the pairs that share a rare feature."""
        return self.query.x @ self._ready.transposed

    @cached_property
    def _bounds(self) -> ndarray:
        """|z_r|^2 - 2 x_r'z_r of these pairs."""
        bounds = self._ready.squares[self._product.indices]
        bounds -= 2 * self._product.data
        return bounds

    def values(self, rows: ndarray) -> ndarray:
        return Tile(self.query.take(rows), self.reference).approx

    def near(self, cut: ndarray, allowed: Lookup | None = None) -> Listed:
        slack = cut - self._parts.squares  # what the other terms of the bound may come to
        # rows that may be near without a rare feature in common: so many, in their order
        first = np.searchsorted(self._ready.squares, slack, side="right")
        wide = np.flatnonzero(first > self.width // 4)
        if 2 * len(wide) > len(cut):  # most rows pass, as where many are empty
            return Tile(self.query, self.reference).near(cut, allowed)
        if not len(wide):
            return self._near(cut, slack, first, allowed)
        allowed_wide = None if allowed is None else allowed.take(wide)
        i, j, approx = Tile(self.query.take(wide), self.reference).near(cut[wide], allowed_wide)
        first[wide] = 0
        slack[wide] = -np.inf
        i_narrow, j_narrow, approx_narrow = self._near(cut, slack, first, allowed)
        return (
            np.concatenate([wide[i], i_narrow]),
            np.concatenate([j, j_narrow]),
            np.concatenate([approx, approx_narrow]),
        )

    def _near(
        self,
        cut: ndarray,
        slack: ndarray,
        first: ndarray,
        allowed: Lookup | None,
    ) -> Listed:
        """Return the pairs within the cut: of those that the bound lets pass, the distances."""
        ready = self._ready
        i, j, rare = self._passing(slack, first)
        apart = self._parts.root[i] - ready.root[j]
        bound = ready.squares[j] - 2 * rare + apart * apart
        passes = (bound <= slack[i]) & (self.query.ids[i] != self.reference.ids[j])
        near = np.flatnonzero(passes)
        if allowed is not None:
            near = near[allowed.pairs(i[near], j[near])]
        i = i[near]
        j = j[near]
        product = rare[near] + row_products(self._parts.dense, ready.dense, i, j)
        approx = self.query.norms[i] + self.reference.norms[j] - 2 * product
        near = np.flatnonzero(approx <= cut[i])
        return i[near], j[near], approx[near]

    def _passing(self, slack: ndarray, first: ndarray) -> Listed:
        """Return the pairs i, j that the first part of the bound lets pass, and their x_r'z_r."""
        product = self._product
        sharing = np.diff(product.indptr)  # pairs of each query that share a rare feature
        passed = np.flatnonzero(self._bounds <= np.repeat(slack, sharing))
        # of the `first` rows of each query those that share none
        within = np.flatnonzero(product.indices < np.repeat(first, sharing))
        start = np.concatenate([[0], np.cumsum(first)])
        shares_none = np.ones(start[-1], bool)
        shares_none[start[_row_of(product.indptr, within)] + product.indices[within]] = False
        others = np.flatnonzero(shares_none)
        i_of_others = _row_of(start, others)
        i = np.concatenate([_row_of(product.indptr, passed), i_of_others])
        j = np.concatenate([product.indices[passed], others - start[i_of_others]])
        rare = np.concatenate([product.data[passed], np.zeros(len(others))])
        return i, j, rare


def _row_of(indptr: ndarray, entries: ndarray) -> ndarray:
    return np.searchsorted(indptr, entries, side="right") - 1


# ---- reference rows and queries ----


class Reference:
    """Reference rows ready to be met by many queries, in runs of at most `size` rows, through a
    `sieve` if there is one."""

    def __init__(
        self,
        rows: Rows,
        sieve: Sieve | None = None,
        size: int | None = None,
        single: bool = True,
    ) -> None:
        largest = rows.norms.max(initial=0.0)
        self.single = single and not rows.sparse and SINGLE_LEAST < largest < SINGLE_MOST
        self.sieve = sieve
        self.runs: list[tuple[slice, Rows | SievedRows]] = []
        size = size or (TILE if sieve is None else SIEVED_TILE)
        for first in range(0, len(rows), size):
            run = slice(first, min(first + size, len(rows)))
            part = rows if run == slice(0, len(rows)) else rows.take(run)
            self.runs.append((run, part if sieve is None else SievedRows(part, sieve)))

    def tiles(self, query: Rows) -> Iterator[tuple[Pairs, slice]]:
        """Yield the tiles of some queries against the runs, with the run."""
        parts = None if self.sieve is None else query.split(self.sieve)
        for run, rows in self.runs:
            if parts is not None and isinstance(rows, SievedRows):
                yield SievedTile(query, parts, rows), run
                continue
            single = self.single and query.norms.max(initial=0.0) < SINGLE_MOST
            assert isinstance(rows, Rows)
            tile = Tile(query, rows, single)
            yield tile, run
            if "double" in tile.__dict__:  # it was not good enough, nor will the next be
                self.single = False


def batched(query: Rows) -> tuple[Sieve | None, list[Rows]]:
    """Return a sieve for queries, if it pays, and the queries in batches that tiles take."""
    sieve = Sieve.of(query)
    size = BATCH if sieve is None else SIEVED_BATCH
    return sieve, [query.take(slice(first, first + size)) for first in range(0, len(query), size)]


def tiles(query: Rows, reference: Rows, size: int = TILE) -> Iterator[tuple[Tile, slice]]:
    """Yield the whole tiles of `query` against runs of at most `size` rows, with the run."""
    for tile, run in Reference(reference, None, size, single=False).tiles(query):
        assert isinstance(tile, Tile)
        yield tile, run
