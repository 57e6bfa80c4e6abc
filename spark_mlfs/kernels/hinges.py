"""What GMBA sums over rows near each other, by tiles and blocks (`methods.gmba` has the formulas).

Hinges between some anchors and a chunk of rows. For anchor i, hit j and miss r with an active
hinge, c_jr = s_ij − s_ir; with w_ir = Σ_j c_jr everything follows from exact sums (`kernels.exact`)
of the c, taken as whole numbers, and of quantised coordinates:

    Σ_jr c_jr (m_i + d²_ij) and Σ_jr c_jr Δ²_ij    from    reach_ij = Σ_r c_jr,
    Σ_r w_ir Δ²_ir = x_i² Σ_j reach_ij − 2 x_i ∘ Σ_r w_ir x_r + Σ_r w_ir x_r²,

and the loss is what the first has more than v times the third. What cancels in the third does so
exactly: summed over the anchors the three are whole numbers; of a single anchor whose misses are
so near that the columns' grid is coarse beside them, it is taken from differences. Nor does
rounding decide which hinges are active: where the product's error could, distances are computed
from differences. A gradient of `ZERO` of what cancels in it, or less, is 0."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from . import exact, integers
from .exact import Quantised
from .knn import GRID, Rows, Tile, differences, pair_squares, tiles
from .labels import LabelsetSimilarity
from .matrix import Matrix, changed, dense
from .products import BITS, WORD, State, plus, rows_times

SPARSE_BELOW = 0.04  # share of active pairs under which the weighted sums are sparse products
HALF = 31  # bits of a half of a sum: times a coordinate's 20 bits, over the anchors, it fits int64
ZERO = 1e-9  # share of the magnitudes that cancel up to which a gradient is 0
# rounding of a limit and a distance, as a share of the limit: a nearest hit and miss are exact ties
ROUNDING = 1e-13
COARSE = 1e-10  # share of an anchor's limit that the square of a column's grid may be


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

    def limit(self, weights: ndarray | None = None) -> ndarray:
        """Return (a, k) m_i + d2_v: how far an active miss may be, for each hit."""
        return self.margin[:, None] + self.squares(weights)

    def unit(self) -> ndarray:
        """Return powers of two (a,) that no unweighted d2 of an active miss exceeds."""
        limit = self.limit().max(axis=1) * (1 + 2 * ROUNDING)
        return np.asarray(exact.power_above(limit + self.rows.width * GRID))

    def are_close(self, grid: Grid) -> ndarray:
        """Return for which anchors (a,) the grid is coarse beside their active misses."""
        step = np.ldexp(grid.unit.max(initial=0.0) ** 2, -2 * BITS)
        return step > COARSE * self.limit().max(axis=1)

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
    `summed` over the anchors (`closed`, `convex`): ``reach`` and the four words of ``apart`` (d,),
    without its x_i², else (`paper`) ``reach`` and four (a, d) arrays."""
    reference = _weighted(block, weights)
    z = exact.quantised(block.x.copy(), grid.unit)
    coordinates = {"z": z}
    if not summed:
        coordinates["zz"] = exact.quantised(changed(block.x, np.square), grid.unit**2)
    w_of_rows = np.zeros(len(block), np.int64)  # Σ_i w_ir
    parts = []
    apart: list[integers.Shifted] = [(np.zeros(block.width, np.int64), 0)]
    for anchors in batches:
        reach = np.zeros((len(anchors), anchors.k), np.int64)
        sums = _Products(len(anchors), z)
        is_close = None if summed or weights is not None else anchors.are_close(grid)
        limit = anchors.limit(weights)
        query = _weighted(anchors.rows, weights)
        for piece, run in tiles(query, reference, tile):
            rows = block.take(run)
            i, r, c = _active(
                piece,
                limit,
                anchors,
                rows,
                similarity,
                s_min,
            )
            c = np.rint(np.ldexp(c, grid.bits))
            for j in range(anchors.k):
                reach[:, j] += np.bincount(i, c[j], minlength=len(anchors)).astype(np.int64)
            w = c.sum(axis=0)
            w_of_rows[run] += np.bincount(r, w, minlength=run.stop - run.start).astype(np.int64)
            if is_close is not None and is_close.any():
                close = np.flatnonzero(is_close[i])
                _add_differences(
                    sums,
                    anchors,
                    rows,
                    i[close],
                    r[close],
                    w[close],
                )
                others = np.flatnonzero(~is_close[i])
                i = i[others]
                r = r[others]
                w = w[others]
            of_run = {name: (h[run], _cut(low, run)) for name, (h, low) in coordinates.items()}
            sums.add(i, r, w, of_run)
        if summed:
            parts.append({"reach": reach})
            apart += sums.with_anchors(exact.quantised(anchors.rows.x.copy(), grid.unit))
        else:
            parts.append({"reach": reach} | sums.per_anchor(coordinates))
    out: State = {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if summed:
        apart += _weighted_squares(z, w_of_rows)
        out |= integers.words("apart", *apart, count=integers.FOUR)
    return out


def _cut(matrix: Matrix | None, rows: slice) -> Matrix | None:
    return None if matrix is None else matrix[rows]


def _weighted_squares(z: Quantised, times: ndarray) -> list[integers.Shifted]:
    """Return Σ times_r z_r² (d,) of whole numbers in units of 2⁻⁸⁰, as `integers.words` takes
    them."""
    coarse, fine = z
    state = exact.group_moments(coarse, fine, sp.csr_matrix(times[None, :]))
    parts = []
    for name, shift in (("hh", 2 * BITS), ("hl", BITS + 1), ("ll", 0)):
        if name in state:
            parts.append((state[name][0], shift))
            parts.append((state[name + "+"][0], shift + WORD))
    return parts


def _add_differences(
    sums: _Products,
    anchors: Anchors,
    rows: Rows,
    i: ndarray,
    r: ndarray,
    w: ndarray,
) -> None:
    """Add Σ_r w_ir Δ²_ir of pairs (anchor i, row r), by i, to ``zz``, in units of the anchors."""
    unit = anchors.unit()
    for part, apart in differences(anchors.rows.x, rows.x, i, r):
        squares = changed(apart, np.square)
        share = rows_times(squares, 1 / unit[i[part]])
        coordinates = {"zz": exact.quantised(share, np.ones(rows.width))}
        of_part = i[part]
        sums.add(
            of_part,
            np.arange(len(of_part)),
            w[part],
            coordinates,
        )


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
    farthest = limit.max(axis=1)
    i, r, squares = tile.near(farthest + np.maximum(unit, ROUNDING * farthest) + tile.error)
    s = similarity.between(anchors.rows.labelset_codes, block.labelset_codes).pairs(i, r)
    miss = np.flatnonzero(s < s_min)
    i = i[miss]
    r = r[miss]
    s = s[miss]
    squares = squares[miss]
    slack = 2 * tile.error[i]
    limits = limit.T[:, i]
    limits = limits + np.maximum(0.5 * unit, ROUNDING * limits)  # rint(x) >= 0 from x = -1/2 on
    doubtful = np.zeros(len(i), bool)  # where the product's error could decide
    for row in limits:
        doubtful |= np.abs(row - squares) <= slack
    unsure = np.flatnonzero(doubtful)
    if len(unsure):
        squares[unsure] = pair_squares(tile.query.x, tile.reference.x, i[unsure], r[unsure])
    # what the similarities differ by is positive: s_ij >= s_min > s_ir
    c = anchors.similarity.T[:, i] - s
    c *= limits >= squares
    return i, r, c


class _Products:
    """Σ_r w_ir z_r of the `count` anchors of a batch, for each of some quantised coordinates z.

    `sums` has for each the whole numbers (a, d) of the coarse parts' product, ``h``, of the mixed
    ones', ``m``, which count 2⁻²⁰ of the first, and of the fine ones', ``l``, 2⁻⁴⁰."""

    def __init__(self, count: int, like: Quantised) -> None:
        coarse, _ = like
        self.shape = count, coarse.shape[1]
        self.is_sparse = sp.issparse(coarse)
        self.sums: dict[str, Any] = {}

    def add(
        self,
        i: ndarray,
        r: ndarray,
        w: ndarray,
        coordinates: dict[str, Quantised],
    ) -> None:
        """Take in pairs (anchor i, row r of `coordinates` (b, d)) in the order of i.

        w are whole numbers below 2⁴⁰: 20 bits at a time, so that the products of 2048 rows are
        exact, those of both digits' sums too: (1.5 · 2²⁰)² · 2048 < 2⁵³."""
        high = np.rint(np.ldexp(w, -BITS))
        low = w - np.ldexp(high, BITS)
        (coarse, _), *_ = coordinates.values()
        rows = coarse.shape[0]
        upper = self._matrix(i, r, high, rows) if high.any() else None
        lower = self._matrix(i, r, low, rows) if low.any() else None
        both = None if upper is None or lower is None else upper + lower
        for name, (coarse, fine) in coordinates.items():
            of_coarse = self._add_product(name + " h", upper, coarse)
            of_fine = self._add_product(name + " l", lower, fine)
            if both is None or fine is None:
                self._add_product(name + " m", upper, fine)
                self._add_product(name + " m", lower, coarse)
            else:  # (a + b)(c + d) − ac − bd: one product for two
                mixed = self._product(both, plus(coarse, fine))
                self._add(name + " m", mixed - of_coarse - of_fine)

    def _product(self, pairs: Matrix, values: Matrix) -> Any:
        return (pairs @ values).astype(np.int64)

    def _add_product(self, key: str, pairs: Matrix | None, values: Matrix | None) -> Any:
        if pairs is None or values is None:
            return None
        product = self._product(pairs, values)
        self._add(key, product)
        return product

    def _add(self, key: str, product: Any) -> None:
        self.sums[key] = self.sums[key] + product if key in self.sums else product

    def _matrix(
        self,
        i: ndarray,
        r: ndarray,
        w: ndarray,
        b: int,
    ) -> Matrix:
        """Return the w as a matrix (a, b rows), in the form whose product is quicker."""
        a = self.shape[0]
        if self.is_sparse or len(i) < SPARSE_BELOW * a * b:
            indptr = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=a))])
            return sp.csr_matrix((w, r, indptr), shape=(a, b))
        out = np.zeros((a, b))
        out[i, r] = w
        return out

    def per_anchor(self, names: Iterable[str]) -> State:
        """Return the sums of some coordinates, dense, without what is below 2⁻²⁰ of the units."""
        out: State = {}
        for key in (name + part for name in names for part in (" h", " m")):
            is_known = key in self.sums
            out[key] = dense(self.sums[key]) if is_known else np.zeros(self.shape, np.int64)
        return out

    def with_anchors(self, x: Quantised) -> list[integers.Shifted]:
        """Return −2 Σ_ir w_ir x_i ∘ z_r (d,) in units of 2⁻⁸⁰, as `integers.words` takes it.

        x are the anchors' own coordinates."""
        parts: list[integers.Shifted] = []
        for values, shift in zip(x, (BITS, 0), strict=True):
            for part, power in ((" h", 2), (" m", 1), (" l", 0)):
                parts += self._times(values, "z" + part, shift + power * BITS + 1)
        return parts

    def _times(self, x: Matrix | None, key: str, shift: int) -> list[integers.Shifted]:
        """Return −Σ_i x_i ∘ sums_i · 2^shift, the sums taken by halves."""
        if x is None or key not in self.sums:
            return []
        x = x.astype(np.int64)
        sums = self.sums[key]
        upper = _column_products(x, changed(sums, lambda values: values >> HALF))
        lower = _column_products(x, changed(sums, lambda values: values & ((1 << HALF) - 1)))
        return [(-upper, shift + HALF), (-lower, shift)]


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
    parts = []
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
        parts.append((anchors, part))
    v = np.ones(len(grid.unit)) if weights is None else weights
    if not summed:
        is_plain = weights is None
        of_anchors = [_apart(state, anchors, part, grid, is_plain) for anchors, part in parts]
        apart, error = (np.concatenate(values) for values in zip(*of_anchors, strict=True))
        gradient = _gradient(np.concatenate(hits), lam * apart, lam * error)
        return HingePart(gradient, np.concatenate(losses) - lam * (apart * v).sum(axis=1))
    distances = {name: value for name, value in state.items() if name.startswith("apart")}
    for anchors, part in parts:
        x = exact.quantised(anchors.rows.x.copy(), grid.unit)
        squares = _weighted_squares(x, state["reach"][part].sum(axis=1))
        words = integers.words("apart", *squares, count=integers.FOUR)
        distances = integers.add_words(distances, words)
    apart = integers.number(distances, "apart", -grid.bits - 4 * BITS) * grid.unit**2
    total = float(np.concatenate(losses).sum() - lam * (apart * v).sum())
    total_hits = sum(hits, start=np.zeros(len(grid.unit)))
    return HingePart(_gradient(total_hits, lam * apart), total)


def _gradient(hits: ndarray, apart: ndarray, error: ndarray | float = 0.0) -> ndarray:
    """Return hits − apart, both ≥ 0; 0 where that is within rounding, or an `error`."""
    gradient = hits - apart
    gradient[np.abs(gradient) <= ZERO * (hits + apart) + error] = 0.0
    return gradient


def _apart(
    state: State,
    anchors: Anchors,
    part: slice,
    grid: Grid,
    plain: bool,
) -> tuple[ndarray, ndarray]:
    """Return Σ_r w_ir Δ²_ir of each anchor (a, d), and what it may be off by.

    `plain`: distances have no weights."""
    w = np.ldexp(state["reach"][part].astype(np.float64), -grid.bits).sum(axis=1)[:, None]
    squares = _sums_of_anchors(state, "zz", part, grid)
    x = dense(anchors.rows.x)
    apart = w * x * x + squares * grid.unit**2
    apart -= 2 * x * (_sums_of_anchors(state, "z", part, grid) * grid.unit)
    error = w * np.ldexp(grid.unit**2, 3 - 2 * BITS)
    if plain:
        close = np.flatnonzero(anchors.are_close(grid))
        apart[close] = squares[close] * anchors.unit()[close, None]
        error[close] = 0.0
    return apart, error


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
