"""Between- and within-class scatter of single features from the classes' counts, sums and sums of squares."""

from __future__ import annotations

import numpy as np


def class_scatter(count: np.ndarray, total: np.ndarray, square: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Σ_c n_c (μ_c − μ)² and Σ_c Σ_{i∈c} (x_i − μ_c)², (v,) each, from (classes,), (classes, v), (classes, v)."""
    return overlapping_scatter(count, total, square)


def overlapping_scatter(
    count: np.ndarray, total: np.ndarray, square: np.ndarray, centre: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """The same where classes may share rows; μ is `centre`, or Σ n_c μ_c / Σ n_c. A feature that does not vary over these rows
    beyond rounding (1e-12 of its squares) has neither."""
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
    return np.where(varies, (n * (mean - centre) ** 2).sum(axis=0), 0.0), np.where(varies, spread.sum(axis=0), 0.0)


def floored_ratio(numerator: np.ndarray, denominator: np.ndarray) -> np.ndarray:
    """numerator / denominator with the denominator floored at 1e-12·(numerator + denominator); 0/0 = 0."""
    floor = 1e-12 * (numerator + denominator)
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.where(numerator > 0, numerator / np.maximum(denominator, floor), 0.0)
