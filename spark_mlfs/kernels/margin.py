"""GMBA's hinges between some anchors and a chunk of rows: sums over the misses, by tiles."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from .knn import GRID, Rows, Tile, pair_squares, tiles
from .label_similarity import LabelsetSimilarity

SPARSE_BELOW = 0.04  # share of active pairs under which the weighted sums are sparse products
_EPS = np.finfo(np.float64).eps


@dataclass
class Anchors:
    """Usable anchors with their hits and margins (pass A, `methods.gmba`).

    rows : the a anchors, with labelset codes. hits : the a*k rows of their hits, anchor by anchor, nearest
    first. similarity : (a, k) s_ij.
    margin : (a,) m_i.
    """

    rows: Rows
    hits: np.ndarray | sp.csr_matrix
    similarity: np.ndarray
    margin: np.ndarray
    _squares: np.ndarray | None = field(default=None, repr=False)

    @staticmethod
    def of(
        rows: Rows,
        hits: np.ndarray | sp.csr_matrix,
        hit_codes: np.ndarray,
        margin: np.ndarray,
        table: LabelsetSimilarity,
    ) -> Anchors:
        """With the similarities of the hits looked up from their labelset codes, (a, k)."""
        a, k = hit_codes.shape
        lookup = table.between(rows.codes, hit_codes.ravel())
        similarity = lookup.pairs(np.repeat(np.arange(a), k), np.arange(a * k)).reshape(a, k)
        return Anchors(rows, hits, similarity, np.asarray(margin, np.float64))

    def __len__(self) -> int:
        return len(self.rows)

    @property
    def k(self) -> int:
        return self.similarity.shape[1]

    def part(self, first: int, last: int) -> Anchors:
        """A run of the anchors."""
        return Anchors(
            self.rows.take(slice(first, last)),
            self.hits[first * self.k : last * self.k],
            self.similarity[first:last],
            self.margin[first:last],
        )

    def squares(self, weights: np.ndarray | None = None) -> np.ndarray:
        """(a, k) d2_v of the hits, from differences; unweighted without `weights`."""
        if weights is None and self._squares is not None:
            return self._squares
        at = np.repeat(np.arange(len(self)), self.k)
        out = pair_squares(self.rows.x, self.hits, at, np.arange(len(at)), weights).reshape(len(self), self.k)
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
            group = sp.csr_matrix((coefficients.ravel(), np.arange(a * k), np.arange(0, a * k + 1, k)), shape=(a, a * k))
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


@dataclass
class HingePart:
    """An additive part of loss and gradient: `gradient` (a, d) per anchor or (d,) summed, `loss` (a,) or a
    number, `active` pairs (hit, miss) whose hinge is active."""

    gradient: np.ndarray
    loss: np.ndarray | float
    active: int

    def __add__(self, other: HingePart) -> HingePart:
        return HingePart(self.gradient + other.gradient, self.loss + other.loss, self.active + other.active)


def attraction(anchors: Anchors, weights: np.ndarray | None = None, summed: bool = False) -> HingePart:
    """The first sum: s_ij D2_ij over the hits and s_ij d2_v(i,j), once for every anchor."""
    loss = (anchors.similarity * anchors.squares(weights)).sum(axis=1)
    return HingePart(anchors.weighted_hits(anchors.similarity, summed), float(loss.sum()) if summed else loss, 0)


def hinge_part(
    anchors: Anchors,
    block: Rows,
    similarity: LabelsetSimilarity,
    s_min: float = 1.0,
    lam: float = 1.0,
    weights: np.ndarray | None = None,
    summed: bool = False,
    features: int | None = None,
    tile: int = 2048,
) -> HingePart:
    """The second sum over the misses that one block holds: its value and its gradient in v at v = `weights`
    (None: ones).

    Parameters
    ----------
    anchors : a batch; a few hundred keep the tiles in the cache.
    block : rows with labelset codes; the anchors themselves may be among them (by id).
    summed : add over the anchors (`closed`, `convex`) instead of one vector per anchor (`paper`).
    features : what distances are divided by on the grid; None: the width.
    tile : reference rows that are met at once.
    """
    a, d = len(anchors), block.width
    features = max(1, features or d)
    gradient = np.zeros(d) if summed else np.zeros((a, d))
    loss = np.zeros(a)
    reach = np.zeros((a, anchors.k))  # sum_r c_jr
    active = 0
    own = anchors.squares(weights)
    limit = anchors.margin[:, None] + own
    query = anchors.rows if weights is None else _weighted(anchors.rows, np.sqrt(weights))
    reference = block if weights is None else _weighted(block, np.sqrt(weights))
    for piece, run in tiles(query, reference, features, tile):
        some = block.take(run)
        i, r, excess, c = _active(piece, limit, anchors, some, similarity, s_min)
        if not len(i):
            continue
        active += int(np.count_nonzero(c))
        for j in range(anchors.k):
            reach[:, j] += np.bincount(i, c[j], minlength=a)
        loss += np.bincount(i, (c * excess).sum(axis=0), minlength=a)
        gradient -= _pulled(anchors.rows, some, i, r, c.sum(axis=0), summed)
    gradient += anchors.weighted_hits(reach, summed)
    gradient *= lam
    loss *= lam
    return HingePart(gradient, float(loss.sum()) if summed else loss, active)


def _weighted(rows: Rows, root: np.ndarray) -> Rows:
    """The rows with each feature times `root` (d,)."""
    x = sp.csr_matrix(rows.x.multiply(root)) if rows.sparse else rows.x * root
    return Rows(x, rows.ids, rows.codes)


def _active(
    tile: Tile, limit: np.ndarray, anchors: Anchors, block: Rows, similarity: LabelsetSimilarity, s_min: float
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """The pairs (anchor i, miss r) that may have an active hinge: i, r, and per hit (k, t): [m_i + d2_ij - d2_ir]_+ and
    c_jr, 0 where inactive."""
    unit = tile.features * GRID
    top = limit.max(axis=1) + unit + tile.error
    i, r, squares = tile.near(top)
    s = similarity.between(anchors.rows.codes, block.codes).pairs(i, r)
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
    excess = limits - squares
    # what the similarities differ by is positive: s_ij >= s_min > s_ir
    c = anchors.similarity.T[:, i] - s
    c *= np.rint(excess / unit) >= 0
    np.maximum(excess, 0.0, out=excess)
    return i, r, excess, c


def _pulled(anchors: Rows, block: Rows, i: np.ndarray, r: np.ndarray, w: np.ndarray, summed: bool) -> np.ndarray:
    """sum_r w_ir (x_i - x_r)^2 over listed pairs: (a, d), or (d,) summed over the anchors."""
    a, b = len(anchors), len(block)
    pairs = sp.csr_matrix((w, (i, r)), shape=(a, b))
    own = np.bincount(i, w, minlength=a)
    if anchors.sparse:
        x, z = anchors.x, block.x
        squared, other = x.multiply(x).tocsr(), z.multiply(z).tocsr()
        if summed:
            column = np.bincount(r, w, minlength=b)
            cross = np.asarray(x.multiply(pairs @ z).sum(axis=0)).ravel()
            return squared.T @ own + other.T @ column - 2 * cross
        return (squared.multiply(own[:, None]) - 2 * x.multiply(pairs @ z) + pairs @ other).toarray()
    matrix = pairs if len(i) < SPARSE_BELOW * a * b else pairs.toarray()
    x, z = anchors.x, block.x
    if summed:
        column = np.bincount(r, w, minlength=b)
        return own @ (x * x) + column @ (z * z) - 2 * np.einsum("ij,ij->j", x, matrix @ z)
    out = x * x
    out *= own[:, None]
    cross = matrix @ z
    cross *= x
    cross *= 2
    out -= cross
    out += matrix @ (z * z)
    return out
