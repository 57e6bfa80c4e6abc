"""Scatter of features between and within classes, from counts, sums and squares."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..kernels.sparse_counts import PairMoments, add_unstored


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
