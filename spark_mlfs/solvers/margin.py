"""GMBA: graph-margin loss of an anchor against all rows, by blocks, and the three ways to weights.

    Loss_i(v) = sum_{j in nb} s_ij d2_v(i,j)
                + lam sum_{j in nb} sum_{r in dissim} (s_ij - s_ir) [m_i + d2_v(i,j) - d2_v(i,r)]_+
    m_i = |d2(i, nearest hit) - d2(i, nearest miss)|,    d2_v = sum_f v_f (x_if - x_jf)^2,    v = w^2 >= 0

nb: the k nearest hits (s >= s_min), dissim: all other rows but i. Rows with fewer than k hits or no miss are no
anchors. For fixed activity of the hinges the loss is linear in v, so the gradient in v is the d-vector

    g_i = sum_j s_ij D2_ij + lam sum_{j,r active} c_jr (D2_ij - D2_ir)
    c_jr = s_ij - s_ir,    D2_ij = (x_i - x_j)^2

With W_ir = sum_j c_jr the part over r is x_i^2 sum_r W_ir - 2 x_i (W X)_i + (W X^2)_i: per block of rows one
product for the distances and two for these sums (one if only the sum over the anchors is wanted), whatever k
is. Where few hinges are active W is sparse.

A hinge is active when round((m_i + d2_ij - d2_ir) / features, 10) >= 0, distances from differences where the
product could mislead.

Pass A finds hits and misses (`knn`), pass B is `hinge_part` on every (anchors, block), additive; `attraction`
adds the first sum once.

Source: Yan & Li, ECML PKDD 2016, Eq. 6-16. Eq. 8 leaves i' free: the sum runs over hits and misses. Eq. 15
tests unweighted distances; hence the printed gradient is 2 w * g_i with g_i fixed, and the descent needs one
vector per anchor. The authors' code looks the hit's similarity up in a wrong row and re-adds earlier hits: not
followed. `convex` and `closed` are ours.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp
from scipy.optimize import Bounds, minimize

from spark_mlfs.errors import ParameterError
from spark_mlfs.solvers.knn import GRID, Rows, Tile, pair_squares, tiles
from spark_mlfs.solvers.label_similarity import LabelsetSimilarity

PATIENCE, STALL = 5, 0.1  # L-BFGS-B has stalled when this many passes gain less than this share of the gap
STEP = 0.3  # of the way from the best point to the minimiser of the planes: fewest passes among .3, .5, .7
SPARSE_BELOW = 0.04  # share of active pairs under which the weighted sums are sparse products
_EPS = np.finfo(np.float64).eps


@dataclass
class Anchors:
    """Usable anchors with what pass A found.

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
            places, ends = np.arange(a * k), np.arange(0, a * k + 1, k)
            group = sp.csr_matrix((coefficients.ravel(), places, ends), shape=(a, a * k))
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
    if weights is not None:
        block_rows = _weighted(block, np.sqrt(weights))
    else:
        block_rows = block
    for found, run in tiles(query, block_rows, features, tile):
        some = block.take(run)
        i, r, excess, c = _active(found, limit, anchors, some, similarity, s_min)
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


# ---- from gradients to weights ----


@dataclass
class MarginSolution:
    """`weights` (d,) to rank by; `trace` the objective after each iteration (of the descent: none, it has no
    objective that falls); `converged`; `passes` evaluations; `gap` objective minus a proven lower bound."""

    weights: np.ndarray
    trace: list[float]
    converged: bool
    passes: int
    gap: float | None = None


def closed(gradient: np.ndarray) -> np.ndarray:
    """`mode="closed"`: score -sum_i g_i (d,) at v = 1, the direction in which the loss falls; ranked as it is.

    Weights, where they are wanted, are its positive part.
    """
    return -np.asarray(gradient, np.float64)


def paper_descent(gradients: Iterable[np.ndarray], width: int, beta: float = 0.9) -> MarginSolution:
    """`mode="paper"`: w <- w - beta * grad / ||grad||, grad = 2 w * g_i, from w = 1, the anchors in the order
    given, each once.

    `gradients` yields g_i (d,) or blocks of them (rows, d) in visiting order. A zero gradient makes no step.
    The weights may become negative and are ranked as they are, as the paper does. One step an anchor, at most n
    of them: `converged` is True by definition, and there is no objective that falls: no trace.
    """
    if not 0 < beta:
        raise ParameterError(f"beta = {beta}: the step must be positive")
    weights = np.ones(width)
    steps = 0
    for block in gradients:
        for g in np.atleast_2d(block):
            step = weights * g
            length = np.sqrt(step @ step)
            if length > 0:
                weights -= (beta / length) * step
            steps += 1
    return MarginSolution(weights, [], True, steps)


def convex(
    evaluate: Callable[[np.ndarray], tuple[float, np.ndarray]],
    width: int,
    eta: float | None = None,
    tol: float = 1e-5,
    max_passes: int = 100,
    progress: Callable[[int, float, float], None] | None = None,
) -> MarginSolution:
    """`mode="convex"`: minimise f(v) = Loss(v) + eta/2 ||v - 1||^2 over v >= 0.

    Parameters
    ----------
    evaluate : v (d,) -> (Loss(v), a subgradient (d,)): one distributed pass. Loss convex.
    eta : None: 0.01 x the mean absolute gradient of the loss at v = 1.
    tol : stop when f(v) minus the lower bound is at most tol x f(1).
    progress : called with (pass, best objective, gap).

    The loss is piecewise linear, but of so many pieces that L-BFGS-B with bounds works as on a smooth function;
    it leads. Every pass also gives a plane below the loss, Loss(v_t) + g_t'(v - v_t). The minimum of the
    highest plane plus the quadratic bounds f from below: when the bound is within `tol` the solution is proved.
    Where L-BFGS-B stalls at kinks, as on a few dozen rows, steps towards the model's minimiser take over.
    `trace` is the best objective after each pass.
    """
    if eta is not None and not eta > 0:
        raise ParameterError(f"eta = {eta}: must be positive, the loss alone may have many minimisers")
    if not tol > 0:
        raise ParameterError(f"tol = {tol}: must be positive")
    if max_passes < 1:
        raise ParameterError(f"max_passes = {max_passes}: at least one pass over the data is needed")
    search = _Search(evaluate, width, eta, tol, max_passes, progress)
    try:
        search(np.ones(width))
        options = {"maxiter": max_passes, "maxfun": max_passes + 1, "maxcor": 20, "ftol": 1e-13, "gtol": 1e-13}
        try:
            bounds = Bounds(0, np.inf)
            minimize(search.lead, np.ones(width), jac=True, method="L-BFGS-B", bounds=bounds, options=options)
        except _Stalled:
            pass
        while True:
            search.certify()
            search(search.best + STEP * (search.model - search.best))
    except _Finished:
        return MarginSolution(search.best, search.trace, search.converged, len(search.trace), search.gap)


class _Finished(Exception):
    """The search is over: proved, or out of passes."""


class _Stalled(Exception):
    """L-BFGS-B gains little beside the gap: it has met kinks."""


class _Search:
    """The objective as L-BFGS-B sees it, divided by its value at v = 1, and the bundle of planes below it."""

    def __init__(
        self,
        evaluate: Callable[[np.ndarray], tuple[float, np.ndarray]],
        width: int,
        eta: float | None,
        tol: float,
        max_passes: int,
        progress: Callable[[int, float, float], None] | None,
    ) -> None:
        self.evaluate, self.eta, self.tol, self.max_passes, self.progress = evaluate, eta, tol, max_passes, progress
        self.slopes = np.zeros((0, width))
        self.heights = np.zeros(0)
        self.share = np.zeros(0)
        self.trace: list[float] = []
        self.best = self.model = np.ones(width)
        self.unit = 1.0
        self.bound = -np.inf
        self.converged = False
        self.last: tuple[np.ndarray, float, np.ndarray] | None = None

    @property
    def gap(self) -> float:
        return max(0.0, self.trace[-1] - self.bound)

    def __call__(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        v = np.maximum(v, 0.0)
        if self.last is not None and np.array_equal(v, self.last[0]):
            return self.last[1], self.last[2]
        if len(self.trace) >= self.max_passes:
            self.certify()
            raise _Finished
        loss, slope = self.evaluate(v)
        if not self.trace:
            self.unit = abs(loss) or 1.0
            if self.eta is None:
                self.eta = 0.01 * float(np.abs(slope).mean())
            if self.eta == 0:  # the loss is flat at v = 1, hence least there
                self.trace, self.bound, self.converged = [loss], loss, True
                raise _Finished
        shift = v - 1.0
        value = loss + 0.5 * self.eta * float(shift @ shift)
        self.slopes = np.vstack([self.slopes, slope / self.unit])
        self.heights = np.append(self.heights, (loss - slope @ v) / self.unit)
        if not self.trace or value < self.trace[-1]:
            self.best = v.copy()
        self.trace.append(min(value, self.trace[-1]) if self.trace else value)
        self.last = (v.copy(), value / self.unit, (slope + self.eta * shift) / self.unit)
        passes = len(self.trace)
        if passes > 4 and passes % max(1, passes // 10) == 0:
            self.certify()
        if self.progress:
            self.progress(passes, self.trace[-1], self.gap)
        return self.last[1], self.last[2]

    def lead(self, v: np.ndarray) -> tuple[float, np.ndarray]:
        """The same for L-BFGS-B, which is stopped once it stalls."""
        found = self(v)
        if len(self.trace) > 2 * PATIENCE and self.trace[-1 - PATIENCE] - self.trace[-1] < STALL * self.gap:
            raise _Stalled
        return found

    def certify(self) -> None:
        """Raise the lower bound to that of all planes so far; end the search when it meets the best objective."""
        start = np.append(self.share, np.zeros(len(self.heights) - len(self.share)))
        bound, self.model, self.share = _lower_bound(self.slopes, self.heights, self.eta / self.unit, start)
        self.bound = max(self.bound, bound * self.unit)
        self.converged = self.gap <= self.tol * abs(self.trace[-1])
        if self.converged:
            raise _Finished


def _lower_bound(
    slopes: np.ndarray, heights: np.ndarray, eta: float, share: np.ndarray, rounds: int = 500
) -> tuple[float, np.ndarray, np.ndarray]:
    """A lower bound of min over v >= 0 of max_t (heights_t + slopes_t'v) + eta/2 ||v - 1||^2, with its v and shares.

    Its dual maximises, over shares a of the planes that add up to 1, the minimum in v of a'heights +
    (a'slopes)'v + the quadratic, which is at v = [1 - a'slopes/eta]_+. Any shares give a bound. Pairwise
    Frank-Wolfe: move share from the lowest plane in use to the highest at v, as far as the two differ.
    """
    if not share.any():
        share[-1] = 1.0
    mixed = share @ slopes
    for _ in range(rounds):
        v = np.maximum(0.0, 1.0 - mixed / eta)
        level = heights + slopes @ v
        used = np.flatnonzero(share > 0)
        up, down = int(np.argmax(level)), int(used[np.argmin(level[used])])
        if level[up] - share @ level <= 1e-9 * abs(level[up]):
            break
        direction, rise = slopes[up] - slopes[down], heights[up] - heights[down]
        step = _share_to_move(mixed, direction, rise, eta, share[down])
        share[up] += step
        share[down] = share[down] - step if step < share[down] else 0.0
        mixed = share @ slopes
    share = share / share.sum()
    mixed = share @ slopes
    v = np.maximum(0.0, 1.0 - mixed / eta)
    shift = v - 1.0
    return float(share @ heights + mixed @ v + 0.5 * eta * (shift @ shift)), v, share


def _share_to_move(mixed: np.ndarray, direction: np.ndarray, rise: float, eta: float, most: float) -> float:
    """The t in [0, most] where the dual's slope rise + direction'[1 - (mixed + t direction)/eta]_+, which falls
    in t, is 0.

    The slope is linear between the t at which a coordinate becomes 0 or ceases to be.
    """
    start = 1.0 - mixed / eta
    inside = (start > 0) | ((start == 0) & (direction < 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = start * eta / direction
    turns = np.flatnonzero(((direction > 0) & (start > 0) | (direction < 0) & (start < 0)) & (turn < most))
    turns = turns[np.argsort(turn[turns])]
    sign = np.where(direction[turns] > 0, -1.0, 1.0)
    level, fall = direction * start, direction * direction / eta
    levels = np.cumsum(np.concatenate([[rise + level[inside].sum()], sign * level[turns]]))
    falls = np.cumsum(np.concatenate([[fall[inside].sum()], sign * fall[turns]]))
    ends = np.append(turn[turns], most)
    crossed = np.flatnonzero(levels - falls * ends <= 0)
    if not len(crossed):
        return most
    at = crossed[0]
    begin = turn[turns[at - 1]] if at else 0.0
    return float(np.clip(levels[at] / falls[at], begin, ends[at])) if falls[at] > 0 else float(begin)
