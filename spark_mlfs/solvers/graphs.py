"""The solvers of `methods.graphs`: criteria from labelset statistics alone, and GMBA's steps from
the margin loss and its gradient, which `kernels.graphs` sums, to weights.

Let u run over the m distinct labelsets, c_u its rows, d_u the degree of each of them, S_u = Σ x_i
and Q_u = Σ x_i² over its rows:

    x'Dx = Σ_u d_u Q_u
    x'Ax = Σ_uv s_uv S_u S_v  −  Σ_u s_uu Q_u         (a row is not its own neighbour)

The eigenvalues γ and eigenvectors ξ of phi3, those of the normalised Laplacian I − N, N = D^−½ A
D^−½, of the n rows, are known from m × m: N maps the vectors that are constant on labelsets to
themselves, and those that add up to zero on each, too.

- Constant: f_i = g_u / √c_u. N acts on g as B_uv = √(c_u c_v) s_uv / √(d_u d_v) − [u = v] s_uu /
  d_u, so every eigenpair (β, g) of B gives γ = 1 − β and ξ'D^½x = Σ_u g_u √(d_u / c_u) S_u.
- Zero-sum within u: there the first term of N vanishes and −s_uu / d_u is left: γ = 1 + s_uu / d_u,
  c_u − 1 times; the squared length of D^½x in that space is d_u (Q_u − S_u² / c_u).

Together m + Σ(c_u − 1) = n. Rows of degree 0 drop out of the graph, not out of the
standardisation."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

import numpy as np
from scipy import linalg
from scipy.optimize import Bounds, minimize
from scipy.sparse.linalg import LinearOperator, eigsh

from ..errors import BudgetError, DataError
from ..kernels.labels import LabelsetSimilarity
from .linear import Solution

WORST = -2.0  # the largest eigenvalue a normalised Laplacian can have
EIGENSPACE = 1e-9
FLAT = 1e-12  # a quadratic form this far below the terms it is made of is zero
DENSE_EIGEN = 1500
TABLE_BYTES = 2 << 30  # the most that phi3 may take for all pairs of labelsets


@dataclass
class PowerSums:
    """`count` (m,) rows of each labelset, `total`, `square` (m, d) sums of x less any fixed value,
    such as its mean."""

    count: np.ndarray
    total: np.ndarray
    square: np.ndarray

    def scaled(self, offset: np.ndarray, scale: np.ndarray) -> PowerSums:
        c = self.count[:, None]
        total = (self.total - c * offset) / scale
        square = (self.square - 2 * offset * self.total + c * offset * offset) / (scale * scale)
        return PowerSums(self.count, total, np.maximum(square, 0.0))


def spec_scores(
    sums: PowerSums, similarity: LabelsetSimilarity, criterion: str = "phi1", k: int | None = None
) -> np.ndarray:
    """Scores (d,), larger is better: −phi1, −phi2 or phi3.

    `sums` per labelset, of the features that vary; `similarity` of the same labelsets, in the same
    order; `k` eigenvalues used by phi3, counted with their multiplicity (None: the number of
    labels), the eigenspace of the k-th as a whole (up to γ_k + 1e-9).

    A feature with x'Dx = 0 (zero on every row that has a neighbour) scores −2 under phi1 and phi2,
    one that is constant there −2 under phi2; phi3 is 0 for both. Raises `DataError` when no two
    rows share a label, `BudgetError`."""
    n = sums.count.sum()
    mean = sums.total.sum(axis=0) / n
    # from squares about the mean: adding before subtracting would lose what is small
    spread = (sums.square - 2 * mean * sums.total + sums.count[:, None] * mean * mean).sum(axis=0)
    sums = sums.scaled(mean, np.sqrt(np.maximum(spread, 0.0) / n))
    count = sums.count.astype(np.float64)
    degree = similarity.degrees(count)
    live = (degree > 0) & (count > 0)
    if not live.any():
        raise DataError(
            "no two rows share a label: the similarity graph has no edge and SPEC is not defined "
            "on it"
        )
    weight = degree * count
    energy = degree @ sums.square  # x'Dx
    # what x'Dx would be if no row sat on the value that standardises to zero: the measure of
    # rounding noise
    noise = FLAT * degree @ (sums.square + count[:, None])
    flat = energy <= noise
    shift = (degree @ sums.total) / weight.sum()
    if criterion == "phi1":
        centred, centred_energy = sums, energy
    else:
        centred = sums.scaled(shift, np.ones_like(shift))
        centred_energy = degree @ centred.square
        flat = flat | (centred_energy <= np.maximum(noise, FLAT * energy))
    if criterion == "phi3":
        gain = _leading(centred, similarity, degree, live, k or similarity.members.shape[1])
        flat = flat | (
            gain <= FLAT * FLAT * energy
        )  # ξ₁ itself leaves the square of rounding noise
        return np.where(flat, 0.0, gain / np.where(flat, 1.0, energy))
    rest = similarity.self_similarity @ centred.square
    joined = np.zeros(sums.total.shape[1])
    for rows, s in similarity.blocks():
        joined += (centred.total[rows] * (s @ centred.total)).sum(axis=0)
    phi = (centred_energy - joined + rest) / np.where(flat, 1.0, centred_energy)
    return np.where(flat, WORST, -phi)


def _leading(
    sums: PowerSums, similarity: LabelsetSimilarity, degree: np.ndarray, live: np.ndarray, k: int
) -> np.ndarray:
    """Σ over the eigenvalues up to γ_k of (2 − γ)(ξ'D^½x)², for x centred by degree, which takes
    D^½1 out."""
    at = np.flatnonzero(live)
    c, d = sums.count[at].astype(np.float64), degree[at]
    own = similarity.self_similarity[at]
    total, square = sums.total[at], sums.square[at]
    if 16 * len(at) ** 2 > TABLE_BYTES:
        told = f"phi3 needs the eigenvectors of {len(at)} labelsets, {16 * len(at) ** 2 >> 20} MiB"
        raise BudgetError(
            f"{told}; the budget is {TABLE_BYTES >> 20} MiB: raise it, or use phi1 or phi2"
        )
    inner = np.sort(
        np.repeat(1 + own / d, np.minimum(c.astype(np.int64) - 1, k))
    )  # at most k of each can matter
    root = np.sqrt(c / d)
    adjacency = similarity.similarity(at, at)
    adjacency *= root[:, None]
    adjacency *= root
    adjacency[np.diag_indices_from(adjacency)] -= own / d
    wanted = min(k, len(at))
    while True:
        extra = min(wanted + 8, len(at))
        gamma, vectors = _smallest(adjacency, extra)
        merged = np.sort(np.concatenate([gamma, inner]))
        cut = merged[min(k, len(merged)) - 1] + EIGENSPACE
        if gamma[-1] > cut or extra == len(at):
            break
        wanted = 2 * extra
    used = gamma <= cut
    projected = vectors[:, used].T @ (np.sqrt(d / c)[:, None] * total)
    out = (2 - gamma[used]) @ (projected * projected)
    within = 1 + own / d <= cut
    spread = np.maximum(square - total * total / c[:, None], 0.0)
    return out + ((1 - own / d) * d)[within] @ spread[within]


def _smallest(adjacency: np.ndarray, wanted: int) -> tuple[np.ndarray, np.ndarray]:
    """The `wanted` smallest eigenvalues of I − adjacency, ascending, with orthonormal
    eigenvectors."""
    m = len(adjacency)
    if m <= DENSE_EIGEN or wanted > m // 4:
        beta, vectors = linalg.eigh(
            adjacency, subset_by_index=(m - wanted, m - 1), check_finite=False
        )
    else:
        operator = LinearOperator((m, m), matvec=lambda v: adjacency @ v, dtype=np.float64)
        start = 1 + 0.5 * np.cos(np.arange(m))  # fixed, so that one input has one answer
        beta, vectors = eigsh(
            operator, k=wanted, which="LA", v0=start, ncv=min(m, max(4 * wanted, 64)), tol=0
        )
        order = np.argsort(beta)
        beta, vectors = beta[order], vectors[:, order]
    return (1 - beta)[::-1], vectors[:, ::-1]


PATIENCE, STALL = (
    5,
    0.1,
)  # L-BFGS-B has stalled when this many passes gain less than this share of the gap
# of the way from the best point to the minimiser of the planes: fewest passes among .3, .5, .7
STEP = 0.3

Evaluate = Callable[[np.ndarray], tuple[float, np.ndarray]]
Watch = Callable[[int, float, float], None] | None


def paper_descent(gradients: Iterable[np.ndarray], width: int, beta: float = 0.9) -> np.ndarray:
    """(d,) the weights of `mode="paper"`: w ← w − β·grad / ‖grad‖, grad = 2w∘g_i, from w = 1, each
    anchor once, in the order of `gradients`, which yields g_i (d,). A zero gradient makes no step.
    The weights may become negative and are ranked as they are, as the paper does."""
    weights = np.ones(width)
    for g in gradients:
        step = weights * g
        length = np.sqrt(step @ step)
        if length > 0:
            weights -= (beta / length) * step
    return weights


def convex(
    evaluate: Evaluate,
    width: int,
    eta: float | None = None,
    tol: float = 1e-5,
    max_passes: int = 100,
    progress: Watch = None,
) -> Solution:
    """`mode="convex"`: minimise f(v) = Loss(v) + η/2 ‖v − 1‖² over v ≥ 0.

    `evaluate` v (d,) → (Loss(v), a subgradient (d,)), one distributed pass; Loss convex. `eta`
    None: .01 of the mean absolute gradient at v = 1. Stops when f(v) less the lower bound is at
    most `tol` · f(1). `progress(pass, best, gap)`.

    The loss is piecewise linear, but of so many pieces that L-BFGS-B with bounds works as on a
    smooth function; it leads. Every pass also gives a plane below the loss, Loss(v_t) + g_t'(v −
    v_t). The minimum of the highest plane plus the quadratic bounds f from below: when the bound is
    within `tol` the solution is proved. Where L-BFGS-B stalls at kinks, as on a few dozen rows,
    steps towards the model's minimiser take over. `objective` is the best after each pass,
    `extra["gap"]` it less the bound."""
    search = _Search(evaluate, width, eta, tol, max_passes, progress)
    try:
        search(np.ones(width))
        options = {
            "maxiter": max_passes,
            "maxfun": max_passes + 1,
            "maxcor": 20,
            "ftol": 1e-13,
            "gtol": 1e-13,
        }
        try:
            bounds = Bounds(0, np.inf)
            minimize(
                search.lead,
                np.ones(width),
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                options=options,
            )
        except _Stalled:
            pass
        while True:
            search.certify()
            search(search.best + STEP * (search.model - search.best))
    except _Finished:
        trace, gap = search.trace, {"gap": search.gap}
        return Solution(search.best, np.zeros(0), trace, search.converged, len(trace), gap)


class _Finished(Exception):
    """The search is over: proved, or out of passes."""


class _Stalled(Exception):
    """L-BFGS-B gains little beside the gap: it has met kinks."""


class _Search:
    """The objective as L-BFGS-B sees it, divided by its value at v = 1, and the bundle of planes
    below it."""

    def __init__(
        self,
        evaluate: Evaluate,
        width: int,
        eta: float | None,
        tol: float,
        max_passes: int,
        progress: Watch,
    ) -> None:
        self.evaluate, self.given, self.tol, self.max_passes, self.progress = (
            evaluate,
            eta,
            tol,
            max_passes,
            progress,
        )
        self.slopes, self.heights, self.share = np.zeros((0, width)), np.zeros(0), np.zeros(0)
        self.best = self.model = np.ones(width)
        self.eta, self.unit, self.bound, self.converged = 0.0, 1.0, -np.inf, False
        self.trace: list[float] = []
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
            self.eta = 0.01 * float(np.abs(slope).mean()) if self.given is None else self.given
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
        value = self(v)
        if (
            len(self.trace) > 2 * PATIENCE
            and self.trace[-1 - PATIENCE] - self.trace[-1] < STALL * self.gap
        ):
            raise _Stalled
        return value

    def certify(self) -> None:
        """Raise the lower bound to that of all planes so far; end the search when it meets the best
        objective."""
        start = np.append(self.share, np.zeros(len(self.heights) - len(self.share)))
        bound, self.model, self.share = _lower_bound(
            self.slopes, self.heights, self.eta / self.unit, start
        )
        self.bound = max(self.bound, bound * self.unit)
        self.converged = self.gap <= self.tol * abs(self.trace[-1])
        if self.converged:
            raise _Finished


def _lower_bound(
    slopes: np.ndarray, heights: np.ndarray, eta: float, share: np.ndarray, rounds: int = 500
) -> tuple[float, np.ndarray, np.ndarray]:
    """A lower bound of min over v ≥ 0 of max_t (heights_t + slopes_t'v) + η/2 ‖v − 1‖², with its v
    and shares. Its dual maximises, over shares a of the planes that add up to 1, the minimum in v
    of a'heights + (a'slopes)'v + the quadratic, which is at v = [1 − a'slopes/η]₊. Pairwise
    Frank-Wolfe: move share from the lowest plane in use to the highest at v."""
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


def _share_to_move(
    mixed: np.ndarray, direction: np.ndarray, rise: float, eta: float, most: float
) -> float:
    """The t in [0, most] where the dual's slope rise + direction'[1 − (mixed + t direction)/η]₊,
    which falls in t, is 0."""
    start = 1.0 - mixed / eta
    inside = (start > 0) | ((start == 0) & (direction < 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = start * eta / direction
    turns = np.flatnonzero(
        ((direction > 0) & (start > 0) | (direction < 0) & (start < 0)) & (turn < most)
    )
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
    return (
        float(np.clip(levels[at] / falls[at], begin, ends[at])) if falls[at] > 0 else float(begin)
    )
