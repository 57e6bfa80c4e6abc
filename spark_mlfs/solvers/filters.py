"""Single features, each by itself: G-tests over labels, the scatter of classes, and informations by
nearest neighbours.

Which features depend on a label at all: G-tests of two-way counts, combined over labels, corrected
over features.

Symbols: F features, b occupied bins of one, q labels, n rows in which a label is known. Under
independence

    G = 2 Σ_cells o log(o/e) = 2n·I(f; Y_l)  ~  χ² on (b − 1)(r − 1) degrees of freedom,

r = 2 where the label takes both values, asymptotically: with expected counts below about 1 the
p-value is rough (a rare label, a bin of few rows), and `thin` tells such tests. The null hypothesis
is marginal: a feature may pass because it goes with another that matters. Sources: Sokal & Rohlf,
"Biometry"; Liu & Xie, JASA 115 (2020); Benjamini & Hochberg, JRSS B 57 (1995)."""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy import special
from scipy.special import digamma

from ..kernels.information import CountLogs, PairMoments, add_unstored, label_information
from .greedy import TIE, UNCONSTRAINED, Path, PickConstraints, Pool

COMBINATIONS = ("cauchy", "bonferroni")
CORRECTIONS = ("fpr", "fdr", "fwe")


def g_tests(
    logs: CountLogs, counts: np.ndarray, q: int, unknown: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """p-values (F, q) of the G-test of every feature with every label, and `thin` (F, q): whether a
    cell's expected count is below 1. NaN and False where there is nothing to test: one occupied
    bin, or a label with one value among its known rows.

    `counts` (F, b, 1 + q) rows with code v, and those with label l; `unknown` (F, b, q) those whose
    label l is unknown, which are left out of that label's test. `logs` without a bias
    correction."""
    positive = counts[:, :, 1 : 1 + q]
    observed = counts[:, :, :1] if unknown is None else counts[:, :, :1] - unknown
    n, n_l = observed.sum(axis=1), positive.sum(axis=1)
    bins = (observed > 0).sum(axis=1)
    freedom = np.broadcast_to(bins - 1, n_l.shape) * ((n_l > 0) & (n_l < n))
    tested = freedom > 0
    g = 2 * n * np.maximum(label_information(logs, counts, q, unknown), 0.0)
    p = np.full(n_l.shape, np.nan)
    p[tested] = special.chdtrc(freedom[tested], np.broadcast_to(g, n_l.shape)[tested])
    smallest = np.where(observed > 0, observed, np.iinfo(np.int64).max).min(axis=1)
    thin = tested & (smallest * np.minimum(n_l, n - n_l) < n)
    return p, thin


def combine(p: np.ndarray, how: str = "cauchy", n: int = 1 << 40) -> np.ndarray:
    """(F,) one p-value a feature from p-values (F, q), NaN ones left out; 1 where a feature has
    none.

    ``cauchy``      P(C > mean_l tan((½ − p_l)π)), C standard Cauchy (Liu & Xie 2020): right for
                    small p whatever the dependence of the labels. p_l is taken as at most 1 − 1/n,
                    n rows: a p-value of exactly 1 would weigh infinitely.
    ``bonferroni``  min(1, q·min_l p_l)"""
    tested = ~np.isnan(p)
    size = tested.sum(axis=1)
    smallest = np.where(tested, p, 1.0).min(axis=1, initial=1.0)
    if how == "bonferroni":
        return np.minimum(1.0, np.maximum(size, 1) * smallest)
    capped = np.where(tested, np.minimum(p, 1 - 1 / max(n, 2)), 0.5)
    with np.errstate(divide="ignore"):
        # tan((½ − p)π) = 1/tan(πp), which is exact for p near 0 where ½ − p is not
        terms = np.where(tested, 1 / np.tan(np.pi * np.where(capped > 0, capped, 1.0)), 0.0)
        terms[tested & (p == 0)] = np.inf
        mean = terms.sum(axis=1) / np.maximum(size, 1)
        far = (
            np.arctan(1 / np.where(mean == 0, 1.0, mean)) / np.pi
        )  # for large means, where ½ − arctan loses every digit
    near = 0.5 - np.arctan(mean) / np.pi
    out = np.where(mean > 1, far, near)
    return np.where(size > 1, out, smallest)  # a single test, or none, stands as it is


def corrected(p: np.ndarray, how: str) -> np.ndarray:
    """(F,) p-values corrected for testing all features that are not NaN (which stay NaN). ``fpr``
    none; ``fwe`` Bonferroni, min(1, m·p); ``fdr`` Benjamini–Hochberg, min_{j ≥ i} m·p_(j)/j (for
    independent and positively dependent features)."""
    p = np.asarray(p, np.float64)
    out = np.full(p.shape, np.nan)
    tested = np.flatnonzero(~np.isnan(p))
    m = len(tested)
    if how == "fpr":
        return p.copy()
    if how == "fwe":
        return np.minimum(1.0, m * p)
    order = tested[np.argsort(p[tested], kind="stable")]
    steps = p[order] * m / np.arange(1, m + 1)
    out[order] = np.minimum(1.0, np.minimum.accumulate(steps[::-1])[::-1])
    return out


def class_scatter(
    count: np.ndarray, total: np.ndarray, square: np.ndarray, centre: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """Σ_c n_c (μ_c − μ)² and Σ_c Σ_{i∈c} (x_i − μ_c)², (v,) each, from counts, sums and squares of
    classes that may share rows; μ is `centre`, or Σ n_c μ_c / Σ n_c. A feature that varies by less
    than 1e-12 of its squares has neither."""
    used = count > 0
    n, total, square = count[used, None].astype(float), total[used], square[used]
    mean = total / n
    if centre is None:
        centre = total.sum(axis=0) / n.sum()
    spread = square - total * mean
    # a spread that is rounding noise of its own terms is zero: two equal values have no variance
    spread = np.where(spread <= 4 * np.finfo(float).eps * square, 0.0, spread)
    squares = square.sum(axis=0)
    varies = squares - total.sum(axis=0) ** 2 / n.sum() > 1e-12 * squares
    return np.where(varies, (n * (mean - centre) ** 2).sum(axis=0), 0.0), np.where(
        varies, spread.sum(axis=0), 0.0
    )


def stored_scatter(
    moments: PairMoments, centre: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """`class_scatter`, from the pairs (feature, class) whose sums are not 0."""
    rows, f = moments.rows.positive, moments.feature
    n = rows[moments.group]
    total, square, every = moments.total, moments.square, max(int(rows.sum()), 1)
    mean, sums = total / n, moments.over(total)
    centre = sums / every if centre is None else centre
    spread = square - total * mean
    spread = np.where(spread <= 4 * np.finfo(float).eps * square, 0.0, spread)
    squares = moments.over(square)
    varies = squares - sums**2 / every > 1e-12 * squares
    between = moments.over(n * (mean - centre[f]) ** 2) + (every - moments.over(n)) * centre**2
    return np.where(varies, between, 0.0), np.where(varies, moments.over(spread), 0.0)


def stored_two_class_ratio(moments: PairMoments) -> tuple[np.ndarray, np.ndarray]:
    """(F,) the mean, over the labels with both values, of `floored_ratio` of the scatters of the
    label's rows and of the others, and whether the feature varies: from the pairs (feature, label)
    whose sums are not 0."""
    rows, n = moments.rows, moments.rows.n
    total, square = moments.all_total, moments.all_square
    varies = square - total**2 / n > 1e-12 * square
    both = (rows.distinct > 0) & (rows.distinct < n)
    count = max(int(rows.labels[both].sum()), 1)

    def noise(spread: np.ndarray, of: np.ndarray) -> np.ndarray:
        return np.where(spread <= 4 * np.finfo(float).eps * of, 0.0, spread)

    def ratio(
        p: np.ndarray, inside: tuple[Any, Any], outside: tuple[Any, Any], centre: np.ndarray
    ) -> np.ndarray:
        within, between = np.zeros(()), np.zeros(())
        for size, sums, squares in ((p, *inside), (n - p, *outside)):
            mean = sums / size
            within = within + noise(squares - sums * mean, squares)
            between = between + size * (mean - centre) ** 2
        return floored_ratio(between, within)

    f, p = moments.feature, rows.positive[moments.group]
    used = (p > 0) & (p < n)
    safe = np.where(used, p, 1)
    outside = total[f] - moments.total, square[f] - moments.square
    met = np.where(used, ratio(safe, (moments.total, moments.square), outside, total[f] / n), 0.0)
    out = moments.over(met)

    def unstored(some: slice) -> np.ndarray:
        t, s = total[some, None], square[some, None]
        return ratio(rows.distinct[both], (0.0, 0.0), (t, s), t / n)

    add_unstored(out, rows, f, moments.group, moments.edges, unstored, both)
    return np.where(varies, out / count, 0.0), varies


def floored_ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """numerator / denominator with the denominator floored at 1e-12·(numerator + denominator); 0/0
    = 0."""
    floor = 1e-12 * (numerator + denominator)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(numerator > 0, numerator / np.maximum(denominator, floor), 0.0)


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
    terms: PickConstraints = UNCONSTRAINED,
) -> Path:
    """Greedy selection by the estimate of I((f, X_S); class), distances in the maximum norm over
    the standardised columns of `x`, rounded to ten decimals, until no candidate raises it by 1e-10.
    Cost: count · v · n²; blocks of rows bound the memory."""
    pool, reached = Pool(x.shape[1], count, terms, TIE), 0.0

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
