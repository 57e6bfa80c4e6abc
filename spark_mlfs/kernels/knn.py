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

from ..errors import DataError
from ..lazy import cached_property
from .labels import Lookup
from .matrix import Matrix, changed, dense

SievedParts = tuple[sp.csr_matrix, np.ndarray, np.ndarray, np.ndarray]  # of `Sieve.split`

GRID = 1e-10  # distances per feature are compared on this grid
BATCH, TILE = 512, 1024  # queries and reference rows in a tile
SIEVED_BATCH = 1024  # queries met with such a tile at once
SIEVED_TILE = 2048  # reference rows in a tile of sparse rows: what is kept of it is small
# a condition is looked up pair by pair where fewer than one pair in so many is within the cut
DENSE_BELOW = 16
# of the rows' squared norms that the frequent features may hold, so that the bound stays sharp
FREQUENT_SHARE = 0.1
MOST_FREQUENT = 512  # of them at most: they are kept dense
SIEVED_PRODUCTS = (
    1.5  # rare features shared by a pair, on average, up to which a sieve is the faster way
)
CHUNK_BYTES, CACHED_BYTES = 32 << 20, 1 << 19
_EPS, _EPS_SINGLE = np.finfo(np.float64).eps, np.finfo(np.float32).eps


class Rows:
    """Rows ready for distances: `x` (n, d) float64, dense C order or CSR; `ids` (n,) int64, unique;
    `codes` (n,) of labelsets. `scale` (d,) divides features, `offset` (d,) is taken off dense ones
    first: large means would drown small differences."""

    def __init__(
        self,
        x: Matrix,
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
        self._single: np.ndarray | None = None

    def __len__(self) -> int:
        return self.x.shape[0]

    @property
    def labelset_codes(self) -> np.ndarray:
        assert self.codes is not None
        return self.codes

    @property
    def width(self) -> int:
        return self.x.shape[1]

    @property
    def sparse(self) -> bool:
        return sp.issparse(self.x)

    def take(self, rows: np.ndarray | slice) -> Rows:
        """Some of the rows; a slice of dense rows is not copied."""
        out = object.__new__(Rows)
        out.x, out.ids, out.norms, out._split = self.x[rows], self.ids[rows], self.norms[rows], None
        out.codes = None if self.codes is None else self.codes[rows]
        out._single = (
            self._single[rows] if self._single is not None and isinstance(rows, slice) else None
        )
        return out

    def single(self) -> np.ndarray:
        if self._single is None:
            self._single = self.x.astype(np.float32)
        return self._single

    def split(self, sieve: Sieve) -> SievedParts:
        if self._split is None or self._split[0] is not sieve:
            self._split = sieve, sieve.split(self)
        return self._split[1]


def pair_squares(
    left: Matrix, right: Matrix, i: np.ndarray, j: np.ndarray, weights: np.ndarray | None = None
) -> np.ndarray:
    """sum_f weights_f (left[i_t, f] - right[j_t, f])^2 for each t, from the differences, in bounded
    memory."""
    out = np.empty(len(i))
    for part, diff in differences(left, right, i, j):
        squares = changed(diff, lambda values: np.square(values, out=values))
        out[part] = (
            np.asarray(squares.sum(axis=1)).ravel() if weights is None else squares @ weights
        )
    return out


def differences(
    left: Matrix, right: Matrix, i: np.ndarray, j: np.ndarray
) -> Iterator[tuple[slice, Matrix]]:
    """Yield runs of t and left[i_t] - right[j_t] for each, CSR where one of both is, in bounded
    memory."""
    sparse = sp.issparse(left) or sp.issparse(right)
    wide = (
        sum(x.nnz // max(1, x.shape[0]) if sp.issparse(x) else x.shape[1] for x in (left, right))
        if sparse
        else left.shape[1]
    )
    step = max(1, (CHUNK_BYTES // 32 if sparse else CACHED_BYTES // 8) // max(1, wide))
    for a in range(0, len(i), step):
        part = slice(a, a + step)
        one, other = left[i[part]], right[j[part]]
        yield (
            part,
            sp.csr_matrix(one) - sp.csr_matrix(other)
            if sparse
            else np.subtract(one, other, out=one),
        )


class Pairs:
    """Query rows against reference rows whose distances are first approximated by products, with
    error at most `error` (a,)."""

    query: Rows
    reference: Rows
    error: np.ndarray
    single = False  # whether `error` is that of single precision

    def _bound(self) -> np.ndarray:
        root = np.sqrt(self.query.norms) + np.sqrt(self.reference.norms.max(initial=0.0))
        # in single precision the rows and their norms are rounded, too
        return (self.query.width + 8) * (2 * _EPS_SINGLE if self.single else _EPS) * root * root

    @property
    def width(self) -> int:
        return len(self.reference)

    @property
    def features(self) -> int:
        """Return the divisor that brings distances to the grid."""
        return max(1, self.query.width)

    def values(self, rows: np.ndarray) -> np.ndarray:
        """(len(rows), width) approximate d2 of some queries; a row and itself are infinitely far
        apart."""
        raise NotImplementedError

    def near(
        self, cut: np.ndarray, allowed: Lookup | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """i, j and approximate d2 of the `allowed` pairs of different rows with approximate d2 <=
        cut_i."""
        raise NotImplementedError

    def ids(self, j: np.ndarray) -> np.ndarray:
        return self.reference.ids[j]

    def squares(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return pair_squares(self.query.x, self.reference.x, i, j)

    def keys(
        self, i: np.ndarray, j: np.ndarray, approx: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """rint(d2 / features * 1e10) of listed pairs, exactly as from differences, and the d2 that
        were computed so, else NaN."""
        unit = self.features * GRID
        value = approx / unit
        key = np.rint(value)
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
        self.query, self.reference, self.single = query, reference, single
        approx = query.single() @ reference.single().T if single else products(query.x, reference.x)
        approx *= -2.0
        approx += query.norms[:, None].astype(approx.dtype)
        approx += reference.norms.astype(approx.dtype)
        _, mine, other = np.intersect1d(
            query.ids, reference.ids, assume_unique=True, return_indices=True
        )
        approx[mine, other] = np.inf
        self.approx, self.error = approx, self._bound()
        self.rows: np.ndarray | None = None
        self.columns: np.ndarray | None = None

    @property
    def width(self) -> int:
        return self.approx.shape[1]

    def values(self, rows: np.ndarray) -> np.ndarray:
        return self.approx[rows]

    def near(
        self, cut: np.ndarray, allowed: Lookup | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        if self.single:  # rounded up, so that the comparison stays in single precision
            cut = np.nextafter(cut.astype(np.float32), np.float32(np.inf))
        within = self.approx <= cut[:, None]
        if allowed is not None and DENSE_BELOW * np.count_nonzero(within) > within.size:
            within &= allowed.full()
            allowed = None
        i, j = np.divmod(np.flatnonzero(within), max(1, self.width))
        if allowed is not None:
            kept = np.flatnonzero(allowed.pairs(i, j))
            i, j = i[kept], j[kept]
        approx = self.approx[i, j].astype(np.float64)
        if np.isinf(approx).any():  # an open cut admits the row itself
            others = np.isfinite(approx)
            i, j, approx = i[others], j[others], approx[others]
        return i, j, approx

    def transposed(self) -> Tile:
        """The same tile seen from the reference rows: symmetric work is done once."""
        out = object.__new__(Tile)
        out.query, out.reference, out.single = self.reference, self.query, self.single
        out.approx, out.rows, out.columns = self.approx.T, None, None
        out.error = out._bound()
        return out

    def part(self, rows: np.ndarray, columns: np.ndarray) -> Tile:
        """Some queries against some reference rows of a whole tile; the rows themselves are not
        copied."""
        out = object.__new__(Tile)
        out.query, out.reference, out.single = self.query, self.reference, self.single
        out.approx, out.error = self.approx[rows[:, None], columns], self.error[rows]
        out.rows, out.columns = rows, columns
        return out

    @cached_property
    def double(self) -> Tile:
        return Tile(self.query, self.reference)

    def ids(self, j: np.ndarray) -> np.ndarray:
        return super().ids(j if self.columns is None else self.columns[j])

    def squares(self, i: np.ndarray, j: np.ndarray) -> np.ndarray:
        return super().squares(
            i if self.rows is None else self.rows[i], j if self.columns is None else self.columns[j]
        )


@dataclass(eq=False)
class Sieve:
    """The frequent features of sparse rows: where most products come from, up to a tenth of the
    squared norms and 512 of them."""

    frequent: np.ndarray

    @staticmethod
    def of(rows: Rows) -> Sieve | None:
        """A sieve for rows like these; None where they are dense, or share so many features that it
        would not pay."""
        if not rows.sparse or not len(rows):
            return None
        d = rows.width
        counts = np.bincount(rows.x.indices, minlength=d)
        weight = np.bincount(rows.x.indices, rows.x.data**2, minlength=d)
        order = np.argsort(-counts, kind="stable")
        few = min(
            MOST_FREQUENT,
            np.searchsorted(np.cumsum(weight[order]), FREQUENT_SHARE * weight.sum(), side="right"),
        )
        rare = counts[order[few:]] / len(rows)
        return Sieve(np.sort(order[:few])) if rare @ rare <= SIEVED_PRODUCTS else None

    def split(self, rows: Rows) -> SievedParts:
        """The rare features (n, d), their squared norms (n,), and the frequent ones, dense (n, f),
        with their norms (n,)."""
        x = rows.x
        often = np.zeros(rows.width, bool)
        often[self.frequent] = True
        rare = ~often[x.indices]
        ends = np.concatenate([[0], np.cumsum(rare)])[x.indptr]
        part = sp.csr_matrix((x.data[rare], x.indices[rare], ends), shape=x.shape)
        dense = x[:, self.frequent].toarray()
        squares = np.add.reduceat(np.append(part.data**2, 0.0), np.minimum(ends[:-1], part.nnz)) * (
            np.diff(ends) > 0
        )
        return part, squares, dense, np.sqrt(np.einsum("ij,ij->i", dense, dense))


class SievedRows:
    """Reference rows ready for a sieve, in the order of the squared norms of their rare features,
    `squares`."""

    def __init__(self, rows: Rows, sieve: Sieve) -> None:
        part, squares, dense, root = sieve.split(rows)
        order = np.argsort(squares, kind="stable")
        self.rows = rows.take(order)
        self.squares, self.dense, self.root = squares[order], dense[order], root[order]
        columns = part[order].tocsc()
        self.transposed = sp.csr_matrix(
            (columns.data, columns.indices, columns.indptr), shape=columns.shape[::-1]
        )


class SievedTile(Pairs):
    """Distances of some sparse query rows to some sparse reference rows, of which only those within
    a cut are ever formed."""

    def __init__(self, query: Rows, split: SievedParts, reference: SievedRows) -> None:
        self.query, self.reference, self._ready = query, reference.rows, reference
        _, self._squares, self._dense, self._root = split
        self.error = self._bound()

    @cached_property
    def _product(self) -> sp.csr_matrix:
        return self.query.x @ self._ready.transposed

    @cached_property
    def _rest(self) -> np.ndarray:
        rest = self._ready.squares[self._product.indices]
        rest -= 2 * self._product.data
        return rest

    def values(self, rows: np.ndarray) -> np.ndarray:
        return Tile(self.query.take(rows), self.reference).approx

    def near(
        self, cut: np.ndarray, allowed: Lookup | None = None
    ) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        ready, b = self._ready, self.width
        slack = cut - self._squares  # what the other terms of the bound may come to
        first = np.searchsorted(
            ready.squares, slack, side="right"
        )  # rows that may be near without a rare feature in common
        wide = np.flatnonzero(first > b // 4)
        if 2 * len(wide) > len(cut):  # most rows pass, as where many are empty
            return Tile(self.query, self.reference).near(cut, allowed)
        parts = []
        if len(wide):
            some = None if allowed is None else allowed.take(wide)
            i, j, approx = Tile(self.query.take(wide), self.reference).near(cut[wide], some)
            parts.append((wide[i], j, approx))
            first[wide], slack[wide] = 0, -np.inf
        product, shared = self._product, np.diff(self._product.indptr)
        passed = np.flatnonzero(self._rest <= np.repeat(slack, shared))
        within = np.flatnonzero(product.indices < np.repeat(first, shared))
        start = np.concatenate([[0], np.cumsum(first)])
        alone = np.ones(start[-1], bool)
        alone[start[_row_of(product.indptr, within)] + product.indices[within]] = False
        alone = np.flatnonzero(alone)
        i = _row_of(start, alone)
        j = np.concatenate([product.indices[passed], alone - start[i]])
        i = np.concatenate([_row_of(product.indptr, passed), i])
        rare = np.concatenate([product.data[passed], np.zeros(len(alone))])
        apart = self._root[i] - ready.root[j]
        bound = ready.squares[j] - 2 * rare + apart * apart
        near = np.flatnonzero((bound <= slack[i]) & (self.query.ids[i] != self.reference.ids[j]))
        if allowed is not None:
            near = near[allowed.pairs(i[near], j[near])]
        i, j, rare = i[near], j[near], rare[near]
        approx = (
            self.query.norms[i]
            + self.reference.norms[j]
            - 2 * (rare + row_products(self._dense, ready.dense, i, j))
        )
        near = np.flatnonzero(approx <= cut[i])
        parts.append((i[near], j[near], approx[near]))
        i, j, approx = (
            (np.concatenate(each) for each in zip(*parts, strict=True))
            if len(parts) > 1
            else parts[0]
        )
        return i, j, approx


def _row_of(indptr: np.ndarray, entries: np.ndarray) -> np.ndarray:
    return np.searchsorted(indptr, entries, side="right") - 1


def row_products(left: np.ndarray, right: np.ndarray, i: np.ndarray, j: np.ndarray) -> np.ndarray:
    """left[i_t]'right[j_t] for each t, in bounded memory."""
    out = np.empty(len(i))
    step = max(1, CACHED_BYTES // (8 * max(1, left.shape[1])))
    for a in range(0, len(i), step):
        part = slice(a, a + step)
        np.einsum("ij,ij->i", left[i[part]], right[j[part]], out=out[part])
    return out


class Reference:
    """Reference rows ready to be met by many queries, in runs of at most `size` rows, through a
    `sieve` if there is one."""

    def __init__(
        self, rows: Rows, sieve: Sieve | None = None, size: int | None = None, single: bool = True
    ) -> None:
        # squares of what is rounded must neither vanish nor overflow
        self.single = single and not rows.sparse and 1e-20 < rows.norms.max(initial=0.0) < 1e30
        size = size or (TILE if sieve is None else SIEVED_TILE)
        self.sieve = sieve
        self.runs: list[tuple[slice, Rows | SievedRows]] = []
        for first in range(0, len(rows), size):
            run = slice(first, min(first + size, len(rows)))
            some = rows if run == slice(0, len(rows)) else rows.take(run)
            self.runs.append((run, some if sieve is None else SievedRows(some, sieve)))

    def tiles(self, query: Rows) -> Iterator[tuple[Pairs, slice]]:
        split = None if self.sieve is None else query.split(self.sieve)
        for run, some in self.runs:
            if split is not None and isinstance(some, SievedRows):
                yield SievedTile(query, split, some), run
                continue
            single = self.single and query.norms.max(initial=0.0) < 1e30
            assert isinstance(some, Rows)
            tile = Tile(query, some, single)
            yield tile, run
            if "double" in tile.__dict__:  # it was not good enough, nor will the next be
                self.single = False


def batched(query: Rows) -> tuple[Sieve | None, list[Rows]]:
    """A sieve for queries, if it pays, and the queries in batches that tiles take."""
    sieve = Sieve.of(query)
    size = BATCH if sieve is None else SIEVED_BATCH
    return sieve, [query.take(slice(first, first + size)) for first in range(0, len(query), size)]


def tiles(query: Rows, reference: Rows, size: int = TILE) -> Iterator[tuple[Tile, slice]]:
    """The whole tiles of `query` against runs of at most `size` reference rows, with the run."""
    for tile, run in Reference(reference, None, size, single=False).tiles(query):
        assert isinstance(tile, Tile)
        yield tile, run


def products(left: Matrix, right: Matrix) -> np.ndarray:
    """left @ right.T, dense, whatever the two are."""
    return dense(left @ right.T)
