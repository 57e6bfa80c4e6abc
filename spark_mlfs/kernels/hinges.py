"""What GMBA sums over rows near each other, by tiles and blocks (`methods.gmba` has the formulas).

Hinges between some anchors and a chunk of rows. For anchor i, hit j and miss r with an active
hinge, c_jr = s_ij − s_ir; with w_ir = Σ_j c_jr everything follows from exact sums (`kernels.exact`)
of the c, taken as whole numbers, and of quantised coordinates:

    Σ_jr c_jr (m_i + d²_ij) and Σ_jr c_jr Δ²_ij    from    reach_ij = Σ_r c_jr,
    Σ_r w_ir Δ²_ir = x_i² Σ_j reach_ij − 2 x_i ∘ Σ_r w_ir x_r + Σ_r w_ir x_r²,

and the loss is what the first has more than v times the third. Which hinges are active does not
depend on rounding: where the product's error could decide, distances are computed from
differences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from . import exact, integers
from .exact import Quantised
from .knn import GRID, Rows, Tile, pair_squares, tiles
from .labels import LabelsetSimilarity
from .matrix import Matrix, changed, dense
from .products import BITS, State

SPARSE_BELOW = 0.04  # share of active pairs under which the weighted sums are sparse products
HALF = 31  # bits of a half of a sum: times a coordinate's 20 bits, over the anchors, it fits int64


@dataclass
class Anchors:
    """Usable anchors: `rows` (a), `hits` (a·k) their hits, nearest first, `similarity` (a, k) s_ij,
    `margin` (a,) m_i."""

    rows: Rows
    hits: Matrix
    similarity: ndarray
    margin: ndarray
    _squares: ndarray | None = field(default=None, repr=False)

    @staticmethod
    def of(
        rows: Rows,
        hits: Matrix,
        hit_codes: ndarray,
        margin: ndarray,
        table: LabelsetSimilarity,
    ) -> Anchors:
        """Make anchors of rows, their hits, and the hits' labelset codes (a, k)."""
        a, k = hit_codes.shape
        lookup = table.between(rows.labelset_codes, hit_codes.ravel())
        similarity = lookup.pairs(np.repeat(np.arange(a), k), np.arange(a * k)).reshape(a, k)
        return Anchors(rows, hits, similarity, np.asarray(margin, np.float64))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def k(self) -> int:
        return self.similarity.shape[1]

    def squares(self, weights: ndarray | None = None) -> ndarray:
        """Return (a, k) d2_v of the hits, from differences; unweighted without `weights`."""
        if weights is None and self._squares is not None:
            return self._squares
        anchor = np.repeat(np.arange(len(self)), self.k)
        hit = np.arange(len(anchor))
        squares = pair_squares(
            self.rows.x,
            self.hits,
            anchor,
            hit,
            weights,
        )
        squares = squares.reshape(len(self), self.k)
        if weights is None:
            self._squares = squares
        return squares

    def weighted_hits(self, coefficients: ndarray, summed: bool) -> ndarray:
        """Return sum_j coefficients_ij (x_i - x_j)^2: (a, d), or (d,) summed over the anchors."""
        if self.rows.sparse:
            return self._weighted_sparse_hits(coefficients, summed)
        a = len(self)
        k = self.k
        d = self.rows.width
        out = np.zeros(d) if summed else np.zeros((a, d))
        hits = self.hits.reshape(a, k, d)
        for j in range(k):
            square = self.rows.x - hits[:, j]
            square *= square
            if summed:
                out += coefficients[:, j] @ square
            else:
                square *= coefficients[:, j, None]
                out += square
        return out

    def _weighted_sparse_hits(self, coefficients: ndarray, summed: bool) -> ndarray:
        a = len(self)
        k = self.k
        anchors = sp.csr_matrix(self.rows.x[np.repeat(np.arange(a), k)])
        apart = anchors - sp.csr_matrix(self.hits)
        square = apart.multiply(apart).tocsr()
        if summed:
            return np.asarray(square.T @ coefficients.ravel()).ravel()
        entries = (coefficients.ravel(), np.arange(a * k), np.arange(0, a * k + 1, k))
        by_anchor = sp.csr_matrix(entries, shape=(a, a * k))
        return (by_anchor @ square).toarray()


@dataclass(frozen=True)
class Grid:
    """The exact integers: c in units of 2^-bits, coordinates (d,) in parts of `unit`, powers of two
    that none exceeds."""

    bits: int
    unit: ndarray

    @staticmethod
    def of(rows: int, k: int, unit: ndarray) -> Grid:
        """Make the grid for sums over so many rows and k hits.

        w is below 2⁴⁰, its sum over the rows below 2⁶²."""
        bits_of_w = min(BITS * 2, 61 - rows.bit_length())
        return Grid(bits_of_w - (k - 1).bit_length(), unit)  # w adds up k of the c


@dataclass
class HingePart:
    """`gradient` (a, d) per anchor or (d,) summed, `loss` (a,) or a number."""

    gradient: ndarray
    loss: ndarray | float


# ---- sums over the rows of a block ----


def hinge_state(
    batches: list[Anchors],
    block: Rows,
    similarity: LabelsetSimilarity,
    grid: Grid,
    s_min: float = 1.0,
    weights: ndarray | None = None,
    summed: bool = False,
    tile: int = 2048,
) -> State:
    """Return the sums over the misses of one block.

    They add up in any order by `integers.add_words`. `batches` anchors, a few hundred each so that
    tiles of `tile` rows stay in the cache; `block` rows with labelset codes, the anchors themselves
    may be among them (by id); `weights` (d,) the v of the distances in the hinges, None: ones;
    `summed` over the anchors (`closed`, `convex`): ``reach`` and six (d,) arrays, else (`paper`)
    four (a, d) ones."""
    reference = _weighted(block, weights)
    coordinates = {"z": exact.quantised(block.x.copy(), grid.unit)}
    square = exact.quantised(changed(block.x, np.square), grid.unit**2)
    if not summed:
        coordinates["zz"] = square
    w_of_rows = np.zeros(len(block), np.int64)  # Σ_i w_ir
    parts = []
    out: State = integers.words("cross", (np.zeros(block.width, np.int64), 0)) if summed else {}
    for anchors in batches:
        reach = np.zeros((len(anchors), anchors.k), np.int64)
        sums = _Products(len(anchors), coordinates)
        limit = anchors.margin[:, None] + anchors.squares(weights)
        query = _weighted(anchors.rows, weights)
        for piece, run in tiles(query, reference, tile):
            i, r, c = _active(
                piece,
                limit,
                anchors,
                block.take(run),
                similarity,
                s_min,
            )
            c = np.rint(np.ldexp(c, grid.bits))
            for j in range(anchors.k):
                reach[:, j] += np.bincount(i, c[j], minlength=len(anchors)).astype(np.int64)
            w = c.sum(axis=0)
            w_of_rows[run] += np.bincount(r, w, minlength=run.stop - run.start).astype(np.int64)
            sums.add(i, r, w, run)
        if summed:
            parts.append({"reach": reach})
            x = exact.quantised(anchors.rows.x.copy(), grid.unit)
            out = integers.add_words(out, sums.with_anchors(x))
        else:
            parts.append({"reach": reach} | sums.per_anchor())
    out |= {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if summed:
        out |= _weighted_squares(w_of_rows, square, _most(batches, grid))
    return out


def _weighted_squares(w_of_rows: ndarray, square: Quantised, most: ndarray) -> State:
    """Return Σ_ir w_ir z_r² as words, from Σ_i w_ir, in parts of what it cannot exceed."""
    share = exact.quantised(w_of_rows[:, None].astype(np.float64), most)
    product = exact.cross(share, square)
    parts = [(product["hh"][0], 2 * BITS)]
    if "rest" in product:
        parts.append((product["rest"][0], 0))
    return integers.words("square", *parts)


def _most(batches: list[Anchors], grid: Grid) -> ndarray:
    """Return (1,) what the sum of w over the anchors cannot exceed, in units of the grid."""
    hits = sum(len(anchors) * anchors.k for anchors in batches)
    return np.atleast_1d(exact.power_above(2.0**grid.bits * hits))


def _active(
    tile: Tile,
    limit: ndarray,
    anchors: Anchors,
    block: Rows,
    similarity: LabelsetSimilarity,
    s_min: float,
) -> tuple[ndarray, ndarray, ndarray]:
    """Return the pairs (anchor i, miss r) that may have an active hinge, by i: i, r and c.

    c (k, t) is c_jr for each hit j, 0 where inactive."""
    unit = tile.features * GRID
    i, r, squares = tile.near(limit.max(axis=1) + unit + tile.error)
    s = similarity.between(anchors.rows.labelset_codes, block.labelset_codes).pairs(i, r)
    miss = np.flatnonzero(s < s_min)
    i = i[miss]
    r = r[miss]
    s = s[miss]
    squares = squares[miss]
    slack = 2 * tile.error[i]
    limits = limit.T[:, i]
    # rint(x) >= 0 as soon as x >= -1/2; recompute where the product's error could cross that
    doubtful = np.zeros(len(i), bool)
    for row in limits:
        doubtful |= np.abs(row - squares + 0.5 * unit) <= slack
    unsure = np.flatnonzero(doubtful)
    if len(unsure):
        squares[unsure] = pair_squares(tile.query.x, tile.reference.x, i[unsure], r[unsure])
    # what the similarities differ by is positive: s_ij >= s_min > s_ir
    c = anchors.similarity.T[:, i] - s
    c *= np.rint((limits - squares) / unit) >= 0
    return i, r, c


class _Products:
    """Σ_r w_ir z_r of the `count` anchors of a batch, for each of some quantised `coordinates` z
    (b, d).

    `sums` has for each the whole numbers (a, d) of the coarse parts' product, ``h``, and of the
    mixed ones', ``m``, which count 2⁻²⁰ of the first."""

    def __init__(self, count: int, coordinates: dict[str, Quantised]) -> None:
        self.coordinates = coordinates
        coarse, _ = coordinates["z"]
        self.shape = count, coarse.shape[1]
        self.is_sparse = sp.issparse(coarse)
        self.sums: dict[str, Any] = {}

    def add(
        self,
        i: ndarray,
        r: ndarray,
        w: ndarray,
        run: slice,
    ) -> None:
        """Take in pairs (anchor i, row r of the run) in the order of i.

        w are whole numbers below 2⁴⁰: 20 bits at a time, so that the products are exact."""
        high = np.rint(np.ldexp(w, -BITS))
        low = w - np.ldexp(high, BITS)
        upper = self._matrix(i, r, high, run) if high.any() else None
        lower = self._matrix(i, r, low, run) if low.any() else None
        for name, (coarse, fine) in self.coordinates.items():
            near = coarse[run]
            near_fine = None if fine is None else fine[run]
            self._add_product(name + " h", upper, near)
            self._add_product(name + " m", upper, near_fine)
            self._add_product(name + " m", lower, near)

    def _add_product(self, key: str, pairs: Matrix | None, values: Matrix | None) -> None:
        if pairs is None or values is None:
            return
        product = (pairs @ values).astype(np.int64)
        self.sums[key] = self.sums[key] + product if key in self.sums else product

    def _matrix(
        self,
        i: ndarray,
        r: ndarray,
        w: ndarray,
        run: slice,
    ) -> Matrix:
        """Return the w as a matrix (a, rows of the run), in the form whose product is quicker."""
        a = self.shape[0]
        b = run.stop - run.start
        if self.is_sparse or len(i) < SPARSE_BELOW * a * b:
            indptr = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=a))])
            return sp.csr_matrix((w, r, indptr), shape=(a, b))
        out = np.zeros((a, b))
        out[i, r] = w
        return out

    def per_anchor(self) -> State:
        """Return the sums, dense."""
        out: State = {}
        for name in self.coordinates:
            out[name + " h"] = np.zeros(self.shape, np.int64)
            out[name + " m"] = np.zeros(self.shape, np.int64)
        return out | {key: dense(value) for key, value in self.sums.items()}

    def with_anchors(self, x: Quantised) -> State:
        """Return Σ_ir w_ir x_i ∘ z_r (d,) as three words of 2⁻⁶⁰ of the units.

        x are the anchors' own coordinates."""
        parts = [(np.zeros(self.shape[1], np.int64), 0)]
        coarse, fine = x
        parts += self._times(coarse, "z h", 2 * BITS)
        parts += self._times(coarse, "z m", BITS)
        parts += self._times(fine, "z h", BITS)
        parts += self._times(fine, "z m", 0)
        return integers.words("cross", *parts)

    def _times(self, x: Matrix | None, key: str, shift: int) -> list[integers.Shifted]:
        """Return Σ_i x_i ∘ sums_i · 2^shift, the sums taken by halves."""
        if x is None or key not in self.sums:
            return []
        x = x.astype(np.int64)
        sums = self.sums[key]
        upper = _column_products(x, changed(sums, lambda values: values >> HALF))
        lower = _column_products(x, changed(sums, lambda values: values & ((1 << HALF) - 1)))
        return [(upper, shift + HALF), (lower, shift)]


def _column_products(x: Matrix, y: Matrix) -> ndarray:
    """Return Σ_i x_i ∘ y_i (d,) of whole numbers."""
    if sp.issparse(x):
        return np.asarray(x.multiply(y).sum(axis=0), np.int64).ravel()
    return np.einsum("ij,ij->j", x, y)


def _weighted(rows: Rows, weights: ndarray | None) -> Rows:
    """Return the rows whose plain distances are those of `rows` by the weights."""
    if weights is None:
        return rows
    root = np.sqrt(weights)
    x = sp.csr_matrix(rows.x.multiply(root)) if rows.sparse else rows.x * root
    return Rows(x, rows.ids, rows.codes)


# ---- loss and gradient ----


def hinges(
    batches: list[Anchors],
    state: State,
    grid: Grid,
    lam: float = 1.0,
    weights: ndarray | None = None,
    summed: bool = False,
) -> HingePart:
    """Return loss and gradient at v = `weights`, from the complete state.

    They are Σ_j s_ij (Δ²_ij and d²_v(i,j)) and λ times the hinges."""
    reach = np.ldexp(state["reach"].astype(np.float64), -grid.bits)
    hits = []
    losses = []
    misses = []
    first = 0
    for anchors in batches:
        part = slice(first, first + len(anchors))
        first = part.stop
        reach_of_part = reach[part]
        near = anchors.squares(weights)
        loss = (anchors.similarity * near).sum(axis=1)
        hinge_loss = (reach_of_part * (anchors.margin[:, None] + near)).sum(axis=1)
        losses.append(loss + lam * hinge_loss)
        hits.append(anchors.weighted_hits(anchors.similarity + lam * reach_of_part, summed))
        own_squares = changed(anchors.rows.x, np.square)
        miss = _scaled_rows(own_squares, reach_of_part.sum(axis=1), summed)
        if not summed:
            miss += _sums_of_anchors(state, "zz", part, grid) * grid.unit**2
            sums = _sums_of_anchors(state, "z", part, grid)
            miss -= 2 * dense(anchors.rows.x) * (sums * grid.unit)
        misses.append(miss)
    v = np.ones(len(grid.unit)) if weights is None else weights
    if not summed:
        apart = np.concatenate(misses)
        gradient = np.concatenate(hits) - lam * apart
        return HingePart(gradient, np.concatenate(losses) - lam * (apart * v).sum(axis=1))
    cross = integers.number(state, "cross", -grid.bits - 3 * BITS) * grid.unit**2
    square = integers.number(state, "square", -grid.bits - 4 * BITS)
    square = square * _most(batches, grid) * grid.unit**2
    apart = sum(misses) - 2 * cross + square
    total = float(np.concatenate(losses).sum() - lam * (apart * v).sum())
    return HingePart(sum(hits) - lam * apart, total)


def _sums_of_anchors(
    state: State,
    name: str,
    part: slice,
    grid: Grid,
) -> ndarray:
    """Return Σ_r w_ir z_r of some anchors, in the coordinates' units."""
    high = np.ldexp(state[name + " h"][part].astype(np.float64), -grid.bits)
    mixed = np.ldexp(state[name + " m"][part].astype(np.float64), -grid.bits - BITS)
    return high + mixed


def _scaled_rows(x: Matrix, factors: ndarray, summed: bool) -> ndarray:
    """Return (a, d) factors_i x_i, or (d,) summed over the rows."""
    if summed:
        return np.asarray(x.T @ factors)
    if sp.issparse(x):
        return dense(x.multiply(factors[:, None]))
    return x * factors[:, None]
