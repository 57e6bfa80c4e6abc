"""What GMBA sums over rows near each other, by tiles and blocks (`methods.gmba` has the formulas).

Hinges between some anchors and a chunk of rows. For anchor i, hit j and miss r with an active
hinge, c_jr = s_ij − s_ir; with w_ir = Σ_j c_jr everything follows from exact sums (`kernels.exact`)
of the c, taken as whole numbers, and of quantised coordinates:

    Σ_jr c_jr (m_i + d²_ij) and Σ_jr c_jr Δ²_ij    from    reach_ij = Σ_r c_jr,
    Σ_r w_ir Δ²_ir = x_i² Σ_j reach_ij − 2 x_i ∘ Σ_r w_ir x_r + Σ_r w_ir x_r²,

and the loss is what the first has more than v times the third. Which hinges are active does not
depend on rounding: where the product's error could decide, distances are computed from differences."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import scipy.sparse as sp

from . import exact, integers
from .knn import GRID, Rows, Tile, pair_squares, tiles
from .labels import LabelsetSimilarity
from .matrix import Matrix, changed, dense
from .products import BITS, State

SPARSE_BELOW = 0.04  # share of active pairs under which the weighted sums are sparse products


Quantised = tuple[Any, Any | None]  # coarse and fine (`exact.quantised`)


@dataclass
class Anchors:
    """Usable anchors: `rows` (a), `hits` (a·k) their hits, nearest first, `similarity` (a, k) s_ij,
    `margin` (a,) m_i."""

    rows: Rows
    hits: Matrix
    similarity: np.ndarray
    margin: np.ndarray
    _squares: np.ndarray | None = field(default=None, repr=False)

    @staticmethod
    def of(
        rows: Rows,
        hits: Matrix,
        hit_codes: np.ndarray,
        margin: np.ndarray,
        table: LabelsetSimilarity,
    ) -> Anchors:
        a, k = hit_codes.shape
        lookup = table.between(rows.labelset_codes, hit_codes.ravel())
        similarity = lookup.pairs(np.repeat(np.arange(a), k), np.arange(a * k)).reshape(a, k)
        return Anchors(rows, hits, similarity, np.asarray(margin, np.float64))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def k(self) -> int:
        return self.similarity.shape[1]

    def squares(self, weights: np.ndarray | None = None) -> np.ndarray:
        """(a, k) d2_v of the hits, from differences; unweighted without `weights`."""
        if weights is None and self._squares is not None:
            return self._squares
        at = np.repeat(np.arange(len(self)), self.k)
        out = pair_squares(self.rows.x, self.hits, at, np.arange(len(at)), weights).reshape(
            len(self), self.k
        )
        if weights is None:
            self._squares = out
        return out

    def weighted_hits(self, coefficients: np.ndarray, summed: bool) -> np.ndarray:
        """sum_j coefficients_ij (x_i - x_j)^2: (a, d), or (d,) summed over the anchors."""
        a, k, d = len(self), self.k, self.rows.width
        if self.rows.sparse:
            diff = sp.csr_matrix(self.rows.x[np.repeat(np.arange(a), k)]) - sp.csr_matrix(self.hits)
            diff = diff.multiply(diff).tocsr()
            if summed:
                return np.asarray(diff.T @ coefficients.ravel()).ravel()
            group = sp.csr_matrix(
                (coefficients.ravel(), np.arange(a * k), np.arange(0, a * k + 1, k)),
                shape=(a, a * k),
            )
            return (group @ diff).toarray()
        out = np.zeros(d) if summed else np.zeros((a, d))
        hits = self.hits.reshape(a, k, d)
        for j in range(k):
            diff = self.rows.x - hits[:, j]
            diff *= diff
            if summed:
                out += coefficients[:, j] @ diff
            else:
                diff *= coefficients[:, j, None]
                out += diff
        return out


@dataclass(frozen=True)
class Grid:
    """The exact integers: c in units of 2^-bits, coordinates (d,) in parts of `unit`, powers of two
    that none exceeds."""

    bits: int
    unit: np.ndarray

    @staticmethod
    def of(rows: int, k: int, unit: np.ndarray) -> Grid:
        """For sums over so many rows and k hits: w is below 2⁴⁰, its sum over the rows below
        2⁶²."""
        return Grid(min(BITS * 2, 61 - rows.bit_length()) - (k - 1).bit_length(), unit)


@dataclass
class HingePart:
    """`gradient` (a, d) per anchor or (d,) summed, `loss` (a,) or a number."""

    gradient: np.ndarray
    loss: np.ndarray | float


def hinge_state(
    batches: list[Anchors],
    block: Rows,
    similarity: LabelsetSimilarity,
    grid: Grid,
    s_min: float = 1.0,
    weights: np.ndarray | None = None,
    summed: bool = False,
    tile: int = 2048,
) -> State:
    """The sums over the misses that one block holds; they add up in any order by `integers.add_words`.

    `batches` anchors, a few hundred each so that tiles of `tile` rows stay in the cache; `block`
    rows with labelset codes, the anchors themselves may be among them (by id); `weights` (d,) the v
    of the distances in the hinges, None: ones; `summed` over the anchors (`closed`, `convex`):
    ``reach`` and six (d,) arrays, else (`paper`) four (a, d) ones."""
    reference = block if weights is None else _weighted(block, np.sqrt(weights))
    z, square = (
        exact.quantised(x, u)
        for x, u in ((block.x.copy(), grid.unit), (changed(block.x, np.square), grid.unit**2))
    )
    column, parts = np.zeros(len(block), np.int64), []
    out: State = integers.words("cross", (np.zeros(block.width, np.int64), 0)) if summed else {}
    for anchors in batches:
        reach, sums = (
            np.zeros((len(anchors), anchors.k), np.int64),
            _Products(anchors, z, None if summed else square),
        )
        limit = anchors.margin[:, None] + anchors.squares(weights)
        query = anchors.rows if weights is None else _weighted(anchors.rows, np.sqrt(weights))
        for piece, run in tiles(query, reference, tile):
            i, r, c = _active(piece, limit, anchors, block.take(run), similarity, s_min)
            c = np.rint(np.ldexp(c, grid.bits))
            for j in range(anchors.k):
                reach[:, j] += np.bincount(i, c[j], minlength=len(anchors)).astype(np.int64)
            w = c.sum(axis=0)
            column[run] += np.bincount(r, w, minlength=run.stop - run.start).astype(np.int64)
            sums.add(i, r, w, run)
        parts.append({"reach": reach} | ({} if summed else sums.per_anchor()))
        if summed:
            out = integers.add_words(
                out, sums.with_anchors(exact.quantised(anchors.rows.x.copy(), grid.unit))
            )
    out |= {name: np.concatenate([part[name] for part in parts]) for name in parts[0]}
    if summed:
        share = exact.quantised(column[:, None].astype(np.float64), _most(batches, grid))
        product = exact.cross(share, square)
        rest = [(product["rest"][0], 0)] if "rest" in product else []
        out |= integers.words("square", (product["hh"][0], 2 * BITS), *rest)
    return out


def _most(batches: list[Anchors], grid: Grid) -> np.ndarray:
    """(1,) what the sum of w over the anchors cannot exceed, in units of the grid."""
    return np.atleast_1d(
        exact.power_above(2.0**grid.bits * sum(len(each) * each.k for each in batches))
    )


def hinges(
    batches: list[Anchors],
    state: State,
    grid: Grid,
    lam: float = 1.0,
    weights: np.ndarray | None = None,
    summed: bool = False,
) -> HingePart:
    """Loss and gradient at v = `weights`, from the complete state: Σ_j s_ij (Δ²_ij and d²_v(i,j))
    and λ times the hinges."""
    reach, first = np.ldexp(state["reach"].astype(np.float64), -grid.bits), 0
    hits, losses, pulled = [], [], []
    for anchors in batches:
        part = slice(first, first + len(anchors))
        own, first = reach[part], first + len(anchors)
        near = anchors.squares(weights)
        losses.append(
            (anchors.similarity * near).sum(axis=1)
            + lam * (own * (anchors.margin[:, None] + near)).sum(axis=1)
        )
        hits.append(anchors.weighted_hits(anchors.similarity + lam * own, summed))
        pulled.append(_scaled_rows(changed(anchors.rows.x, np.square), own.sum(axis=1), summed))
        if not summed:
            high = {
                name: np.ldexp(state[name + " h"][part].astype(np.float64), -grid.bits)
                for name in ("z", "zz")
            }
            low = {
                name: np.ldexp(state[name + " m"][part].astype(np.float64), -grid.bits - BITS)
                for name in high
            }
            pulled[-1] += (high["zz"] + low["zz"]) * grid.unit**2
            pulled[-1] -= 2 * dense(anchors.rows.x) * ((high["z"] + low["z"]) * grid.unit)
    v = np.ones(len(grid.unit)) if weights is None else weights
    if not summed:
        apart = np.concatenate(pulled)
        return HingePart(
            np.concatenate(hits) - lam * apart,
            np.concatenate(losses) - lam * (apart * v).sum(axis=1),
        )
    cross = integers.number(state, "cross", -grid.bits - 3 * BITS) * grid.unit**2
    square = (
        integers.number(state, "square", -grid.bits - 4 * BITS)
        * _most(batches, grid)
        * grid.unit**2
    )
    apart = sum(pulled) - 2 * cross + square
    return HingePart(
        sum(hits) - lam * apart, float(np.concatenate(losses).sum() - lam * (apart * v).sum())
    )


class _Products:
    """Σ_r w_ir z_r of the anchors of a batch, and with `square` Σ_r w_ir z_r², z (b, d) quantised:
    for each the whole numbers (a, d) of the coarse parts' product and of the mixed ones', which
    count 2⁻²⁰ of the first."""

    def __init__(self, anchors: Anchors, z: Quantised, square: Quantised | None) -> None:
        self.shape = len(anchors), z[0].shape[1]
        self.of = {"z": z} if square is None else {"z": z, "zz": square}
        self.sums: dict[str, Any] = {}

    def add(self, i: np.ndarray, r: np.ndarray, w: np.ndarray, run: slice) -> None:
        """Take in pairs (anchor i, row r of the run) in the order of i, of whole numbers w below
        2⁴⁰."""
        high = np.rint(np.ldexp(w, -BITS))
        upper, lower = (
            self._matrix(i, r, part, run) if part.any() else None
            for part in (high, w - np.ldexp(high, BITS))
        )
        for name, (coarse, fine) in self.of.items():
            coarse, fine = coarse[run], None if fine is None else fine[run]
            for key, pairs, values in (
                (f"{name} h", upper, coarse),
                (f"{name} m", upper, fine),
                (f"{name} m", lower, coarse),
            ):
                if pairs is not None and values is not None:
                    product = (pairs @ values).astype(np.int64)
                    self.sums[key] = self.sums[key] + product if key in self.sums else product

    def _matrix(self, i: np.ndarray, r: np.ndarray, w: np.ndarray, run: slice) -> Matrix:
        a, b = self.shape[0], run.stop - run.start
        if sp.issparse(self.of["z"][0]) or len(i) < SPARSE_BELOW * a * b:
            indptr = np.concatenate([[0], np.cumsum(np.bincount(i, minlength=a))])
            return sp.csr_matrix((w, r, indptr), shape=(a, b))
        out = np.zeros((a, b))
        out[i, r] = w
        return out

    def per_anchor(self) -> State:
        out: State = {
            f"{name} {kind}": np.zeros(self.shape, np.int64)
            for name in self.of
            for kind in ("h", "m")
        }
        return out | {
            key: value.toarray() if sp.issparse(value) else value
            for key, value in self.sums.items()
        }

    def with_anchors(self, x: Quantised) -> State:
        """Σ_ir w_ir x_i ∘ z_r (d,) as three words of 2⁻⁶⁰ of the units, x the anchors' own
        coordinates."""
        parts = [(np.zeros(self.shape[1], np.int64), 0)]
        for own, up in zip(x, (BITS, 0), strict=True):
            for kind, higher in (("h", BITS), ("m", 0)):
                value = self.sums.get("z " + kind)
                if own is None or value is None:
                    continue
                own = own.astype(np.int64)
                for piece, above in _halves(value):
                    total = (
                        own.multiply(piece).sum(axis=0)
                        if sp.issparse(own)
                        else np.einsum("ij,ij->j", own, piece)
                    )
                    parts.append((np.asarray(total, np.int64).ravel(), up + higher + above))
        return integers.words("cross", *parts)


def _halves(value: Matrix) -> list[tuple[Matrix, int]]:
    """Whole numbers as what is above 2³¹ and the rest, with the powers of two that they count."""
    return [
        (changed(value, lambda v: v >> 31), 31),
        (changed(value, lambda v: v & ((1 << 31) - 1)), 0),
    ]


def _scaled_rows(x: Matrix, factors: np.ndarray, summed: bool) -> np.ndarray:
    """(a, d) factors_i x_i, or (d,) summed over the rows."""
    if summed:
        return np.asarray(x.T @ factors)
    return dense(x.multiply(factors[:, None])) if sp.issparse(x) else x * factors[:, None]


def _weighted(rows: Rows, root: np.ndarray) -> Rows:
    x = sp.csr_matrix(rows.x.multiply(root)) if rows.sparse else rows.x * root
    return Rows(x, rows.ids, rows.codes)


def _active(
    tile: Tile,
    limit: np.ndarray,
    anchors: Anchors,
    block: Rows,
    similarity: LabelsetSimilarity,
    s_min: float,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The pairs (anchor i, miss r) that may have an active hinge, by i: i, r, and per hit c_jr (k,
    t), 0 where inactive."""
    unit = tile.features * GRID
    i, r, squares = tile.near(limit.max(axis=1) + unit + tile.error)
    s = similarity.between(anchors.rows.labelset_codes, block.labelset_codes).pairs(i, r)
    miss = np.flatnonzero(s < s_min)
    i, r, s, squares = i[miss], r[miss], s[miss], squares[miss]
    slack = 2 * tile.error[i]
    limits = limit.T[:, i]
    # rint(x) >= 0 as soon as x >= -1/2; recompute where the product's error could cross that
    doubtful = np.zeros(len(i), bool)
    for row in limits:
        doubtful |= np.abs(row - squares + 0.5 * unit) <= slack
    doubtful = np.flatnonzero(doubtful)
    if len(doubtful):
        squares[doubtful] = pair_squares(tile.query.x, tile.reference.x, i[doubtful], r[doubtful])
    # what the similarities differ by is positive: s_ij >= s_min > s_ir
    c = anchors.similarity.T[:, i] - s
    c *= np.rint((limits - squares) / unit) >= 0
    return i, r, c
