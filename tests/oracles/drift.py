"""The change of a relation the slow way: iterative proportional fitting of one table code × label ×
window, no shortcuts."""

from __future__ import annotations

import numpy as np
from scipy import stats


def proportional_fit(table: np.ndarray, rounds: int = 5000) -> np.ndarray:
    """The fit of the model with all margins of two of a table (codes, 2, 2)."""
    e = np.ones(table.shape)
    for _ in range(rounds):
        before = e.copy()
        for axis in range(3):
            seen, fitted = table.sum(axis=axis, keepdims=True), e.sum(axis=axis, keepdims=True)
            e = e * np.divide(seen, fitted, out=np.zeros_like(fitted), where=fitted > 0)
        if np.abs(e - before).max() < 1e-12:
            break
    return e


def interaction_test(table: np.ndarray) -> tuple[float, float]:
    """(Pearson's X², its p-value) of no three-way interaction in a table (codes, 2, 2) without
    empty codes."""
    e = proportional_fit(table)
    x2 = float(((table - e) ** 2 / e).sum())
    return x2, float(stats.chi2.sf(x2, len(table) - 1))


def psi(before: list[int], after: list[int]) -> float:
    """The population stability index, with half a row added to each code."""
    total = 0.0
    for a, b in zip(before, after, strict=True):
        a_share, b_share = (
            (a + 0.5) / (sum(before) + len(before) / 2),
            (b + 0.5) / (sum(after) + len(after) / 2),
        )
        total += (a_share - b_share) * np.log(a_share / b_share)
    return total
