"""Stretched features: one value is so far from the others that it decides what is made of them.

Bins of equal width leave nearly all rows in one code; one value has most of the variance. Counts
and moments that a method takes anyhow show it. Features of few values (`Profile.variety`) are left
alone: what is rare among them is no outlier."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy import ndarray

from ..blocks.profile import Profile
from ..kernels.sparse_counts import PairMoments
from .base import Reduction
from .contingency import Counts
from .moments import Moments

MANY_VALUES = 5  # bits of `Profile.variety`, at least
SHARE_OUTSIDE = 0.01  # of the rows that are not 0, at most
SHARE_OF_VARIANCE = 0.5  # of one value, at least
Far = tuple[float, float]  # a value that stretches a feature, and a share


@dataclass
class Stretched:
    """Stretched features by index, with the value and a share.

    `by_counts` it is that of the rows in one of `num_bins` codes, `by_moments` that of the
    variance."""

    by_counts: dict[int, Far] = field(default_factory=dict)
    by_moments: dict[int, Far] = field(default_factory=dict)
    num_bins: int = 0

    def note_counts(self, profile: Profile, num_bins: int, commonest: ndarray) -> None:
        """Note features by their `commonest` codes and the rows of these, (2, v)."""
        code, rows = commonest
        features = profile.varying
        stored = profile.stored[features] * (profile.total / profile.n)
        outside = profile.total - rows
        stretched = _of_many_values(profile) & (outside <= SHARE_OUTSIDE * stored)
        far = np.where(code < num_bins / 2, profile.high[features], profile.low[features])
        share = rows / profile.total
        self.num_bins = num_bins
        self.by_counts |= _by_feature(features, stretched, far, share)

    def note_moments(self, profile: Profile, mean: ndarray, variance: ndarray) -> None:
        """Note features by the mean and the variance of the varying ones, (v,) each."""
        features = profile.varying
        above = profile.high[features] - mean
        below = mean - profile.low[features]
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            share = np.maximum(above, below) ** 2 / (profile.n * variance)
        stretched = _of_many_values(profile) & (share >= SHARE_OF_VARIANCE)
        far = np.where(above > below, profile.high[features], profile.low[features])
        self.by_moments |= _by_feature(features, stretched, far, share)


def _of_many_values(profile: Profile) -> ndarray:
    if not may_stretch(profile):
        return np.zeros(len(profile.varying), bool)
    bits = np.unpackbits(profile.variety.view(np.uint8)).reshape(-1, 16)
    many = bits.sum(axis=1) >= MANY_VALUES
    if len(profile.categories):
        many &= profile.categories == 0
    return many[profile.varying]


def may_stretch(profile: Profile) -> bool:
    """Return whether some feature may have as many values as one that is stretched."""
    variety = profile.variety
    return len(variety) == profile.d and bool((variety & (variety - 1)).any())


def _by_feature(
    features: ndarray,
    stretched: ndarray,
    far: ndarray,
    share: ndarray,
) -> dict[int, Far]:
    places = np.flatnonzero(stretched)
    return {int(features[p]): (float(far[p]), float(share[p])) for p in places}


def commonest(counts: Counts) -> ndarray:
    """Return (2, features) the commonest code of each and its rows, group 0 being all rows."""
    rows = counts.rows_by_code()
    code = rows.argmax(axis=1)
    return np.stack([code, rows[np.arange(len(rows)), code]])


def mean_and_variance(m: Moments | PairMoments) -> ndarray:
    """Return (2, features), group 0 being all rows."""
    if isinstance(m, PairMoments):
        mean = m.all_total / m.rows.n
        return np.stack([mean, m.all_square / m.rows.n - mean**2])
    mean = m.total[0] / m.count[0]
    variance = m.square[0] / m.count[0] - mean**2
    return np.stack([m.centre + mean, variance])


def mean_and_variance_of_groups(m: Moments) -> ndarray:
    """Return (2, features) over the rows of all groups, of which each row is in one."""
    rows = m.count.sum()
    mean = m.total.sum(axis=0) / rows
    return np.stack([m.centre + mean, m.square.sum(axis=0) / rows - mean**2])


@dataclass(frozen=True)
class Beside(Reduction):
    """The numbers of a reduction, and then the two that show which features are stretched.

    `facts`: `commonest` of counts, `mean_and_variance` of moments."""

    reduction: Reduction
    facts: Callable[[Any], ndarray]

    @property
    def in_any_order(self) -> bool:  # type: ignore[override]
        return self.reduction.in_any_order

    def worker_view(self) -> Beside:
        return replace(self, reduction=self.reduction.worker_view())

    def __call__(self, *results: Any) -> ndarray:
        return np.vstack([self.reduction(*results), self.facts(results[0])])
