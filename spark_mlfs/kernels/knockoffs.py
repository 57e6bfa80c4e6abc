"""Knockoffs of rows given what was prepared on the driver, and second moments of features and knockoffs together."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .gram import GramStatistics


@dataclass(frozen=True)
class Sampler:
    """x̃ − centre = shift + (x − centre) `mean` + z `root`, z (rows, k) standard normal, for the features at
    `positions` of a row.

    `shift` (k,), `mean` and `root` (k, k), in the units of the data; `s` (k,) and `shrinkage` for the record.
    """

    positions: np.ndarray
    shift: np.ndarray
    mean: np.ndarray
    root: np.ndarray
    s: np.ndarray
    shrinkage: float


def joined(first: GramStatistics, second: GramStatistics, cross: np.ndarray) -> GramStatistics:
    """Statistics of the features of both side by side; `cross` (d1, d2) Σ (x − a)(x̃ − ã)'. The labels are the first's."""
    return GramStatistics(
        first.n,
        np.concatenate([first.sum_x, second.sum_x]),
        first.sum_y,
        np.block([[first.xx, cross], [cross.T, second.xx]]),
        np.concatenate([first.xy, second.xy]),
        first.yy,
        np.concatenate([first.centre_x, second.centre_x]),
        first.centre_y,
        np.concatenate([first.low, second.low]),
        np.concatenate([first.high, second.high]),
    )
