"""From scores to a ranking: one rule for ties, constants and greedy paths, so that every method ranks alike."""

from __future__ import annotations

import numpy as np


def significant(values: np.ndarray, digits: int = 9) -> np.ndarray:
    """Values rounded to so many significant digits: what scores are compared by."""
    values = np.asarray(values, float)
    with np.errstate(divide="ignore"):
        exponent = np.where(values == 0, 0.0, np.floor(np.log10(np.abs(values))))
    # powers of ten above 1e22 are inexact; splitting the scale keeps tiny scores from overflowing it
    half = np.floor((digits - 1 - exponent) / 2)
    rest = digits - 1 - exponent - half
    return np.rint(values * 10.0**half * 10.0**rest) / 10.0**half / 10.0**rest


def by_score(scores: np.ndarray) -> np.ndarray:
    """Indices by decreasing score; equal scores (to 9 significant digits) by index."""
    return np.argsort(-significant(scores), kind="stable")


def complete(
    values: np.ndarray, varying: np.ndarray, width: int, picks: list[int] | None = None, constant: np.ndarray | None = None
) -> tuple[np.ndarray, np.ndarray]:
    """(order, values) over all `width` features from the values of the varying ones: greedy `picks` (positions among these)
    first, the rest by value; constant features, and those at the positions `constant`, which do not vary over the rows in use,
    get min(0, the smallest other score) and rank last, by index."""
    if constant is not None and len(constant):
        kept = np.setdiff1d(np.arange(len(values)), constant, assume_unique=True)
        picks = None if picks is None else [int(i) for i in np.searchsorted(kept, picks)]
        values, varying = values[kept], varying[kept]
    order = by_score(values)
    if picks is not None:
        rest = np.ones(len(values), bool)
        rest[picks] = False
        order = np.concatenate([np.asarray(picks, np.int64), order[rest[order]]]).astype(np.int64)
    every = np.full(width, min(0.0, float(values.min(initial=0.0))))
    every[varying] = values
    constant = np.setdiff1d(np.arange(width), varying, assume_unique=True)
    return np.concatenate([varying[order], constant]), every
