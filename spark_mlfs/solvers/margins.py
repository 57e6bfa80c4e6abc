"""GMBA's steps from the margin loss and its gradient, which `kernels.hinges` sums, to weights."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress

import numpy as np
from numpy import ndarray
from scipy.optimize import Bounds, minimize

from .problems import Solution

# L-BFGS-B has stalled when this many passes gain less than this share of the gap
PATIENCE = 5
STALL = 0.1
# of the way from the best point to the minimiser of the planes: fewest passes among .3, .5, .7
STEP = 0.3
PRECISION = {
    "maxcor": 20,
    "ftol": 1e-13,
    "gtol": 1e-13,
}  # of L-BFGS-B, which `_Search` stops

Evaluate = Callable[[ndarray], tuple[float, ndarray]]
Watch = Callable[[int, float, float], None] | None


def paper_descent(gradients: Iterable[ndarray], width: int, beta: float = 0.9) -> ndarray:
    """Return the weights (d,) of `mode="paper"`.

    w ← w − β·grad / ‖grad‖, grad = 2w∘g_i, from w = 1, each anchor once, in the order of
    `gradients`, which yields g_i (d,). A zero gradient makes no step. The weights may become
    negative and are ranked as they are, as the paper does."""
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
    """Minimise f(v) = Loss(v) + η/2 ‖v − 1‖² over v ≥ 0, as `mode="convex"` does.

    `evaluate` v (d,) → (Loss(v), a subgradient (d,)), one distributed pass; Loss convex. `eta`
    None: .01 of the mean absolute gradient at v = 1. Stops when f(v) less the lower bound is at
    most `tol` · f(1). `progress(pass, best, gap)`.

    The loss is piecewise linear, but of so many pieces that L-BFGS-B with bounds works as on a
    smooth function; it leads. Every pass also gives a plane below the loss, Loss(v_t) + g_t'(v −
    v_t). The minimum of the highest plane plus the quadratic bounds f from below: when the bound is
    within `tol` the solution is proved. Where L-BFGS-B stalls at kinks, as on a few dozen rows,
    steps towards the model's minimiser take over. `objective` is the best after each pass,
    `extra["gap"]` it less the bound."""
    search = _Search(
        evaluate,
        width,
        eta,
        tol,
        max_passes,
        progress,
    )
    with suppress(_Finished):
        search(np.ones(width))
        options = {
            "maxiter": max_passes,
            "maxfun": max_passes + 1,
            **PRECISION,
        }
        start = np.ones(width)
        bounds = Bounds(0, np.inf)
        with suppress(_Stalled):
            minimize(
                search.lead,
                start,
                jac=True,
                method="L-BFGS-B",
                bounds=bounds,
                options=options,
            )
        passes = 0
        while len(search.trace) > passes:  # a plane that changes nothing ends it
            passes = len(search.trace)
            search.certify()
            search(search.best + STEP * (search.model - search.best))
    return Solution(
        search.best,
        np.zeros(0),
        search.trace,
        search.converged,
        len(search.trace),
        {"gap": search.gap},
    )


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
        self.evaluate = evaluate
        self.fixed_eta = eta
        self.tol, self.max_passes = tol, max_passes
        self.progress = progress
        self.slopes = np.zeros((0, width))
        self.heights = np.zeros(0)
        self.share = np.zeros(0)
        self.best = self.model = np.ones(width)
        self.eta, self.unit = 0.0, 1.0
        self.bound = -np.inf
        self.converged = False
        self.trace: list[float] = []
        self.last: tuple[ndarray, float, ndarray] | None = None

    @property
    def gap(self) -> float:
        return max(0.0, self.trace[-1] - self.bound)

    def __call__(self, v: ndarray) -> tuple[float, ndarray]:
        v = np.maximum(v, 0.0)
        if self.last is not None and np.array_equal(v, self.last[0]):
            return self.last[1], self.last[2]
        if len(self.trace) >= self.max_passes:
            self.certify()
            raise _Finished
        loss, slope = self.evaluate(v)
        if not self.trace:
            self._begin(loss, slope)
        shift = v - 1.0
        value = loss + 0.5 * self.eta * float(shift @ shift)
        self.slopes = np.vstack([self.slopes, slope / self.unit])
        self.heights = np.append(self.heights, (loss - slope @ v) / self.unit)
        if not self.trace or value < self.trace[-1]:
            self.best = v.copy()
        self.trace.append(min([value, *self.trace[-1:]]))
        gradient = (slope + self.eta * shift) / self.unit
        self.last = (v.copy(), value / self.unit, gradient)
        passes = len(self.trace)
        if passes > 4 and passes % max(1, passes // 10) == 0:
            self.certify()
        if self.progress:
            self.progress(passes, self.trace[-1], self.gap)
        return self.last[1], self.last[2]

    def _begin(self, loss: float, slope: ndarray) -> None:
        """Choose the unit and η by the first pass."""
        self.unit = abs(loss) or 1.0
        self.eta = self.fixed_eta  # type: ignore[assignment]
        if self.fixed_eta is None:
            self.eta = 0.01 * float(np.abs(slope).mean())
        if self.eta == 0:  # the loss is flat at v = 1, hence least there
            self.trace = [loss]
            self.bound = loss
            self.converged = True
            raise _Finished

    def lead(self, v: ndarray) -> tuple[float, ndarray]:
        """Evaluate for L-BFGS-B, which is stopped once it stalls."""
        value = self(v)
        if len(self.trace) > 2 * PATIENCE:
            gain = self.trace[-1 - PATIENCE] - self.trace[-1]
            if gain < STALL * self.gap:
                raise _Stalled
        return value

    def certify(self) -> None:
        """Raise the lower bound to that of all planes so far.

        Ends the search when it meets the best objective."""
        start = np.append(self.share, np.zeros(len(self.heights) - len(self.share)))
        eta = self.eta / self.unit
        bound, self.model, self.share = _lower_bound(self.slopes, self.heights, eta, start)
        self.bound = max(self.bound, bound * self.unit)
        self.converged = self.gap <= self.tol * abs(self.trace[-1])
        if self.converged:
            raise _Finished


def _lower_bound(
    slopes: ndarray,
    heights: ndarray,
    eta: float,
    share: ndarray,
    rounds: int = 500,
) -> tuple[float, ndarray, ndarray]:
    """Bound min over v ≥ 0 of max_t (heights_t + slopes_t'v) + η/2 ‖v − 1‖² from below.

    Returns the bound with its v and shares. Its dual maximises, over shares a of the planes that
    add up to 1, the minimum in v of a'heights + (a'slopes)'v + the quadratic, which is at v = [1 −
    a'slopes/η]₊. Pairwise Frank-Wolfe: move share from the lowest plane in use to the highest at
    v."""
    if not share.any():
        share[-1] = 1.0
    mixed = share @ slopes
    for _ in range(rounds):
        v = np.maximum(0.0, 1.0 - mixed / eta)
        level = heights + slopes @ v
        used = np.flatnonzero(share > 0)
        up = int(np.argmax(level))
        down = int(used[np.argmin(level[used])])
        if level[up] - share @ level <= 1e-9 * abs(level[up]):
            break
        direction = slopes[up] - slopes[down]
        rise = heights[up] - heights[down]
        step = _share_to_move(
            mixed,
            direction,
            rise,
            eta,
            share[down],
        )
        share[up] += step
        share[down] = share[down] - step if step < share[down] else 0.0
        mixed = share @ slopes
    share = share / share.sum()
    mixed = share @ slopes
    v = np.maximum(0.0, 1.0 - mixed / eta)
    shift = v - 1.0
    bound = share @ heights + mixed @ v + 0.5 * eta * (shift @ shift)
    return float(bound), v, share


def _share_to_move(
    mixed: ndarray,
    direction: ndarray,
    rise: float,
    eta: float,
    most: float,
) -> float:
    """Return the t in [0, most] where the slope of the dual is 0.

    The slope, rise + direction'[1 − (mixed + t direction)/η]₊, falls in t."""
    start = 1.0 - mixed / eta
    inside = (start > 0) | ((start == 0) & (direction < 0))
    with np.errstate(divide="ignore", invalid="ignore"):
        turn = start * eta / direction
    leaves = (direction > 0) & (start > 0)
    enters = (direction < 0) & (start < 0)
    turns = np.flatnonzero((leaves | enters) & (turn < most))
    turns = turns[np.argsort(turn[turns])]
    sign = np.where(direction[turns] > 0, -1.0, 1.0)
    # between two turns the slope is linear in t: a level less a fall
    level = direction * start
    fall = direction * direction / eta
    first_level = rise + level[inside].sum()
    levels = np.cumsum(np.concatenate([[first_level], sign * level[turns]]))
    falls = np.cumsum(np.concatenate([[fall[inside].sum()], sign * fall[turns]]))
    ends = np.append(turn[turns], most)
    crossed = np.flatnonzero(levels - falls * ends <= 0)
    if not len(crossed):
        return most
    piece = crossed[0]
    begin = turn[turns[piece - 1]] if piece else 0.0
    if not falls[piece] > 0:
        return float(begin)
    return float(np.clip(levels[piece] / falls[piece], begin, ends[piece]))
