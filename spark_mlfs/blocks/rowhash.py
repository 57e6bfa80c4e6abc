"""Hashes of row ids: the library's one source of randomness by row, the same on any cluster and in NumPy."""

from __future__ import annotations

import numpy as np
from scipy.special import ndtri

GROUPS = 60  # rows fall into 60 groups by the hash of their id: 60 divides into 2, 3, 4, 5, 6, 10, 12, 15, 20 and 30 folds


def mix(ids: np.ndarray, seed: int = 0) -> np.ndarray:
    """SplitMix64 of (seed, row id) as uint64: the library's one source of randomness by row."""
    with np.errstate(over="ignore"):
        z = ids.astype(np.int64).view(np.uint64) + np.uint64((0x9E3779B97F4A7C15 * (seed + 1)) & (2**64 - 1))
        z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        return z ^ (z >> np.uint64(31))


def group_of(ids: np.ndarray) -> np.ndarray:
    """The row's group in 0..59, from its id alone."""
    return (mix(ids, 0x5EED) % np.uint64(GROUPS)).astype(np.int64)


# ---- noise ----


def normal(ids: np.ndarray, columns: np.ndarray, seed: int = 0) -> np.ndarray:
    """(len(ids), len(columns)) standard normal deviates, each from (seed, row id, column) alone."""
    rows = mix(np.asarray(ids, np.int64), seed).view(np.int64)
    with np.errstate(over="ignore"):
        cells = rows[:, None] + mix(np.asarray(columns, np.int64), seed + 1).view(np.int64)
    u = ((mix(cells, seed) >> np.uint64(11)).astype(np.float64) + 0.5) * 2.0**-53
    return ndtri(u)
