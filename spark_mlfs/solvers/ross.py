"""Information between real features and classes, by nearest neighbours: of one feature, or jointly
with the picks."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma

from .pool import Path, Pool
from .ties import TIE
from .units import UNCONSTRAINED, PickConstraints

BLOCK = 512  # rows whose distances are computed together
DECIMALS = 10  # the grid on which distances are compared
HALF = 0.5 * 10.0**-DECIMALS


def information(x: np.ndarray, classes: np.ndarray, k: int) -> float:
    """The estimate for one real variable `x` (n,) and `classes` (n,), each of two rows or more, in
    O(n log n): neighbours on a line are neighbours in the sorted order. The standardised distances
    are rounded to ten decimals: equal ones are equal."""
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
    line, reach = (
        np.sort(x),
        np.maximum(radius - HALF, HALF),
    )  # those nearer than the radius, or, where that is 0, at 0
    inside = np.searchsorted(line, values + reach, "left") - np.searchsorted(
        line, values - reach, "right"
    )
    return _estimate(len(x), neighbours, ends - starts, np.maximum(inside, 1))


def _estimate(n: int, k: np.ndarray, same: np.ndarray, inside: np.ndarray) -> float:
    return max(
        0.0, float(digamma(n) + digamma(k).mean() - digamma(same).mean() - digamma(inside).mean())
    )


def _kth_distance(
    values: np.ndarray, starts: np.ndarray, ends: np.ndarray, k: np.ndarray
) -> np.ndarray:
    """Distance of each value to its k-th nearest other value in its own sorted run [start, end): of
    the k + 1 windows of k + 1 sorted values that hold it, the one that reaches least far."""
    n = len(values)
    at = np.arange(n)
    out = np.full(n, np.inf)
    for left in range(int(k.max()) + 1):
        low, high = at - left, at - left + k
        v = np.flatnonzero((left <= k) & (low >= starts) & (high < ends))
        reach = np.maximum(values[v] - values[low[v]], values[high[v]] - values[v])
        out[v] = np.minimum(out[v], reach)
    return out


def select_jointly(
    x: np.ndarray,
    classes: np.ndarray,
    k: int,
    first: np.ndarray,
    count: int,
    constraints: PickConstraints = UNCONSTRAINED,
) -> Path:
    """Greedy selection by the estimate of I((f, X_S); class), distances in the maximum norm over
    the standardised columns of `x`, rounded to ten decimals, until no candidate raises it by 1e-10.
    Cost: count · v · n²; blocks of rows bound the memory."""
    pool, reached = Pool(x.shape[1], count, constraints, TIE), 0.0

    def revalue(pick: int, path: Path) -> np.ndarray:
        nonlocal reached
        reached += path.gains[-1]
        values = np.full(x.shape[1], -np.inf)
        values[pool.open] = _joint_estimates(x[:, path.picks], x[:, pool.open], classes, k)
        return values - reached

    return pool.run(first, revalue, count)


def _joint_estimates(
    joint: np.ndarray, candidates: np.ndarray, classes: np.ndarray, k: int
) -> np.ndarray:
    n, v = candidates.shape
    same = np.bincount(classes)[classes]
    neighbours = np.minimum(k, same - 1)
    inside = np.empty((n, v))
    for c in np.unique(classes):
        rows = np.flatnonzero(classes == c)
        kth = int(neighbours[rows[0]])
        for start in range(0, len(rows), BLOCK):
            some = rows[start : start + BLOCK]
            base = np.zeros((len(some), n))
            for j in range(joint.shape[1]):
                np.maximum(base, np.abs(joint[some, j, None] - joint[None, :, j]), out=base)
            for f in range(v):
                distance = np.maximum(
                    base, np.abs(candidates[some, f, None] - candidates[None, :, f])
                )
                kept = np.partition(distance[:, rows], kth, axis=1)[
                    :, kth
                ]  # the row itself is among them, at 0
                radius = np.round(kept, DECIMALS)
                # radius 0: the rows equal to this one, as scikit-learn counts
                inside[some, f] = (distance < np.maximum(radius - HALF, HALF)[:, None]).sum(axis=1)
    inside = np.maximum(inside, 1)
    return np.array([_estimate(n, neighbours, same, inside[:, f]) for f in range(v)])
