"""Information between real features and classes, by nearest neighbours: of one feature, or jointly
with the picks."""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from scipy.special import digamma

from .pool import Path, Pool
from .ties import TIE
from .units import UNCONSTRAINED, PickConstraints

BLOCK = 512  # rows whose distances are computed together
DECIMALS = 10  # the grid on which distances are compared
HALF = 0.5 * 10.0**-DECIMALS


def information(x: ndarray, classes: ndarray, k: int) -> float:
    """Estimate the information of one real variable `x` (n,) and `classes` (n,), in O(n log n).

    Each class has two rows or more. Neighbours on a line are neighbours in the sorted order. The
    standardised distances are rounded to ten decimals: equal ones are equal."""
    spread = x.std()
    x = (x - x.mean()) / (spread if spread > 0 else 1.0)
    order = np.lexsort((x, classes))
    sizes = np.bincount(classes)
    sizes = sizes[sizes > 0]
    starts = np.repeat(np.cumsum(sizes) - sizes, sizes)
    ends = starts + np.repeat(sizes, sizes)
    values = x[order]
    neighbours = np.minimum(k, ends - starts - 1)
    radius = np.round(_kth_distance(values, starts, ends, neighbours), DECIMALS)
    # those nearer than the radius, or, where that is 0, at 0
    reach = np.maximum(radius - HALF, HALF)
    line = np.sort(x)
    right = np.searchsorted(line, values + reach, "left")
    left = np.searchsorted(line, values - reach, "right")
    return _estimate(len(x), neighbours, ends - starts, np.maximum(right - left, 1))


def _estimate(
    n: int,
    k: ndarray,
    same: ndarray,
    inside: ndarray,
) -> float:
    in_class = digamma(n) + digamma(k).mean() - digamma(same).mean()
    return max(0.0, float(in_class - digamma(inside).mean()))


def _kth_distance(
    values: ndarray,
    starts: ndarray,
    ends: ndarray,
    k: ndarray,
) -> ndarray:
    """Return the distance of each value to its k-th nearest other value in its own sorted run.

    The run is [start, end). Of the k + 1 windows of k + 1 sorted values that hold the value, it is
    the one that reaches least far."""
    n = len(values)
    places = np.arange(n)
    out = np.full(n, np.inf)
    for left in range(int(k.max()) + 1):
        low = places - left
        high = low + k
        v = np.flatnonzero((left <= k) & (low >= starts) & (high < ends))
        below = values[v] - values[low[v]]
        above = values[high[v]] - values[v]
        out[v] = np.minimum(out[v], np.maximum(below, above))
    return out


def select_jointly(
    x: ndarray,
    classes: ndarray,
    k: int,
    first: ndarray,
    count: int,
    constraints: PickConstraints = UNCONSTRAINED,
) -> Path:
    """Select greedily by the estimate of I((f, X_S); class).

    Distances in the maximum norm over the standardised columns of `x`, rounded to ten decimals,
    until no candidate raises it by 1e-10. Cost: count · v · n²; blocks of rows bound the memory."""
    pool = Pool(x.shape[1], count, constraints, TIE)
    reached = 0.0

    def revalue(pick: int, path: Path) -> ndarray:
        nonlocal reached
        reached += path.gains[-1]
        values = np.full(x.shape[1], -np.inf)
        values[pool.open] = _joint_estimates(x[:, path.picks], x[:, pool.open], classes, k)
        return values - reached

    return pool.run(first, revalue, count)


def _joint_estimates(
    joint: ndarray,
    candidates: ndarray,
    classes: ndarray,
    k: int,
) -> ndarray:
    """Return the estimate of every candidate together with the `joint` columns."""
    n, v = candidates.shape
    same = np.bincount(classes)[classes]
    neighbours = np.minimum(k, same - 1)
    inside = np.empty((n, v))
    for c in np.unique(classes):
        rows = np.flatnonzero(classes == c)
        kth = int(neighbours[rows[0]])
        for start in range(0, len(rows), BLOCK):
            block = rows[start : start + BLOCK]
            base = np.zeros((len(block), n))
            for column in joint.T:
                np.maximum(base, _distances(column, block), out=base)
            for f, column in enumerate(candidates.T):
                distance = np.maximum(base, _distances(column, block))
                # the row itself is among them, at 0
                nearest = np.partition(distance[:, rows], kth, axis=1)
                radius = np.round(nearest[:, kth], DECIMALS)
                # radius 0: the rows equal to this one, as scikit-learn counts
                reach = np.maximum(radius - HALF, HALF)
                inside[block, f] = (distance < reach[:, None]).sum(axis=1)
    inside = np.maximum(inside, 1)
    return np.array([_estimate(n, neighbours, same, inside[:, f]) for f in range(v)])


def _distances(column: ndarray, block: ndarray) -> ndarray:
    return np.abs(column[block, None] - column[None, :])
