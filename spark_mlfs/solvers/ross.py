"""Ross' nearest-neighbour estimate of the mutual information of a continuous and a discrete variable: `methods.criteria`."""

from __future__ import annotations

import numpy as np
from scipy.special import digamma

from .greedy import TIE, UNCONSTRAINED, Path, PickConstraints, Pool

SATURATED = TIE
DECIMALS = 10  # the grid on which distances are compared
HALF = 0.5 * 10.0**-DECIMALS


def information(x: np.ndarray, classes: np.ndarray, k: int) -> float:
    """The estimate for one real variable `x` (n,) and `classes` (n,), each of two rows or more, in O(n log n): neighbours on a
    line are neighbours in the sorted order. The standardised distances are rounded to ten decimals: equal ones are equal."""
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
    return _estimate(len(x), neighbours, ends - starts, _strictly_nearer(np.sort(x), values, radius))


def _strictly_nearer(line: np.ndarray, values: np.ndarray, radius: np.ndarray) -> np.ndarray:
    """How many of the sorted `line` have a rounded distance below `radius` (on the grid), or, where that is 0, equal to 0."""
    reach = np.maximum(radius - HALF, HALF)
    inside = np.searchsorted(line, values + reach, "left") - np.searchsorted(line, values - reach, "right")
    return np.maximum(inside, 1)


def _estimate(n: int, k: np.ndarray, same: np.ndarray, inside: np.ndarray) -> float:
    return max(0.0, float(digamma(n) + digamma(k).mean() - digamma(same).mean() - digamma(inside).mean()))


def _kth_distance(values: np.ndarray, starts: np.ndarray, ends: np.ndarray, k: np.ndarray) -> np.ndarray:
    """Distance of each value to its k-th nearest other value in its own sorted run [start, end): of the k + 1 windows of k + 1
    sorted values that hold it, the one that reaches least far."""
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
    block: int = 512,
    terms: PickConstraints = UNCONSTRAINED,
) -> Path:
    """Greedy selection by the estimate of I((f, X_S); class), distances in the maximum norm over the standardised columns of `x`,
    rounded to ten decimals, until no candidate raises it by 1e-10. Cost: count · v · n²; blocks of rows bound the memory."""
    pool, reached = Pool(x.shape[1], count, terms, SATURATED), 0.0

    def revalue(pick: int, path: Path) -> np.ndarray:
        nonlocal reached
        reached += path.gains[-1]
        values = np.full(x.shape[1], -np.inf)
        values[pool.open] = _joint_estimates(x[:, path.picks], x[:, pool.open], classes, k, block)
        return values - reached

    return pool.run(first, revalue, count)


def _joint_estimates(joint: np.ndarray, candidates: np.ndarray, classes: np.ndarray, k: int, block: int) -> np.ndarray:
    n, v = candidates.shape
    same = np.bincount(classes)[classes]
    neighbours = np.minimum(k, same - 1)
    members = {c: np.flatnonzero(classes == c) for c in np.unique(classes)}
    inside = np.empty((n, v))
    for c, rows in members.items():
        kth = int(neighbours[rows[0]])
        for start in range(0, len(rows), block):
            some = rows[start : start + block]
            base = np.zeros((len(some), n))
            for j in range(joint.shape[1]):
                np.maximum(base, np.abs(joint[some, j, None] - joint[None, :, j]), out=base)
            for f in range(v):
                distance = np.maximum(base, np.abs(candidates[some, f, None] - candidates[None, :, f]))
                own = distance[:, members[c]]
                radius = np.round(np.partition(own, kth, axis=1)[:, kth], DECIMALS)  # the row itself is among them, at 0
                # radius 0: the rows equal to this one, as scikit-learn counts
                inside[some, f] = (distance < np.maximum(radius - HALF, HALF)[:, None]).sum(axis=1)
    inside = np.maximum(inside, 1)
    return np.array([_estimate(n, neighbours, same, inside[:, f]) for f in range(v)])
