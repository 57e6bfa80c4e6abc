"""Scatter of features between and within classes, from counts, sums and squares."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy import ndarray

from ..kernels.sparse_counts import PairMoments, add_unstored

ROUNDING = 4 * np.finfo(float).eps


def class_scatter(
    count: ndarray,
    total: ndarray,
    square: ndarray,
    centre: ndarray | None = None,
) -> tuple[ndarray, ndarray]:
    """Return Σ_c n_c (μ_c − μ)² and Σ_c Σ_{i∈c} (x_i − μ_c)², (v,) each.

    From counts, sums and squares of classes that may share rows; μ is `centre`, or Σ n_c μ_c / Σ
    n_c. A feature that varies by less than 1e-12 of its squares has neither."""
    used = count > 0
    n = count[used, None].astype(float)
    total = total[used]
    square = square[used]
    rows = n.sum()
    mean = total / n
    if centre is None:
        centre = total.sum(axis=0) / rows
    spread = _without_noise(square - total * mean, square)
    squares = square.sum(axis=0)
    varies = squares - total.sum(axis=0) ** 2 / rows > 1e-12 * squares
    between = (n * (mean - centre) ** 2).sum(axis=0)
    return np.where(varies, between, 0.0), np.where(varies, spread.sum(axis=0), 0.0)


def _without_noise(spread: ndarray, square: ndarray) -> ndarray:
    """Return a spread as 0 where it is rounding noise of its own terms.

    Two equal values have no variance."""
    return np.where(spread <= ROUNDING * square, 0.0, spread)


def stored_scatter(moments: PairMoments, centre: ndarray | None = None) -> tuple[ndarray, ndarray]:
    """Return `class_scatter`, from the pairs (feature, class) whose sums are not 0."""
    class_rows = moments.rows.positive
    n = class_rows[moments.group]
    total = moments.total
    square = moments.square
    rows = max(int(class_rows.sum()), 1)
    mean = total / n
    sums = moments.over(total)
    centre = sums / rows if centre is None else centre
    spread = _without_noise(square - total * mean, square)
    squares = moments.over(square)
    varies = squares - sums**2 / rows > 1e-12 * squares
    stored = moments.over(n * (mean - centre[moments.feature]) ** 2)
    between = stored + (rows - moments.over(n)) * centre**2
    return np.where(varies, between, 0.0), np.where(varies, moments.over(spread), 0.0)


def stored_two_class_ratio(moments: PairMoments) -> tuple[ndarray, ndarray]:
    """Return (F,) the mean of `floored_ratio` over the labels with both values, and `varies`.

    The ratio is that of the scatters of the label's rows and of the others; `varies` is whether the
    feature does. From the pairs (feature, label) whose sums are not 0."""
    rows = moments.rows
    n = rows.n
    total = moments.all_total
    square = moments.all_square
    varies = square - total**2 / n > 1e-12 * square
    two_valued = (rows.distinct > 0) & (rows.distinct < n)
    count = max(int(rows.labels[two_valued].sum()), 1)

    def ratio(
        p: ndarray,
        inside: tuple[Any, Any],
        outside: tuple[Any, Any],
        centre: ndarray,
    ) -> ndarray:
        """Return the ratio of p rows with the label, by sums and squares in- and outside."""
        within = np.zeros(())
        between = np.zeros(())
        for size, (sums, squares) in zip((p, n - p), (inside, outside), strict=True):
            mean = sums / size
            within = within + _without_noise(squares - sums * mean, squares)
            between = between + size * (mean - centre) ** 2
        return floored_ratio(between, within)

    f = moments.feature
    p = rows.positive[moments.group]
    used = (p > 0) & (p < n)
    inside = (moments.total, moments.square)
    outside = (total[f] - moments.total, square[f] - moments.square)
    ratios = ratio(np.where(used, p, 1), inside, outside, total[f] / n)
    out = moments.over(np.where(used, ratios, 0.0))

    def unstored(features: slice) -> ndarray:
        sums = total[features, None]
        squares = square[features, None]
        return ratio(rows.distinct[two_valued], (0.0, 0.0), (sums, squares), sums / n)

    add_unstored(
        out,
        rows,
        f,
        moments.group,
        moments.edges,
        unstored,
        two_valued,
    )
    return np.where(varies, out / count, 0.0), varies


def floored_ratio(numerator: ndarray, denominator: ndarray) -> ndarray:
    """Return numerator / denominator; 0/0 = 0.

    The denominator is floored at 1e-12·(numerator + denominator)."""
    floor = 1e-12 * (numerator + denominator)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(numerator > 0, numerator / np.maximum(denominator, floor), 0.0)
