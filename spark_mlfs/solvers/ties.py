"""From scores to an order: one rule for ties and for constant features, so that every method ranks
alike."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

TIE = 1e-10


def significant(values: ndarray, digits: int = 9) -> ndarray:
    """Round values to so many significant digits, which is what scores are compared by."""
    values = np.asarray(values, float)
    with np.errstate(divide="ignore"):
        exponent = np.where(values == 0, 0.0, np.floor(np.log10(np.abs(values))))
    # powers of ten above 1e22 are inexact, and one factor of a tiny score would overflow: two do
    # not
    shift = digits - 1 - exponent
    first_shift = np.floor(shift / 2)
    second_shift = shift - first_shift
    first_power = 10.0**first_shift
    second_power = 10.0**second_shift
    return np.rint(values * first_power * second_power) / first_power / second_power


def by_score(scores: ndarray) -> ndarray:
    """Return indices by decreasing score; equal scores (to 9 significant digits) by index."""
    values = -significant(scores)
    order = np.argsort(values)  # several times as quick as a stable one, which differs in ties
    ascending = values.take(order)
    changes = ascending[1:] != ascending[:-1]
    changes &= ~np.isnan(ascending[:-1])  # which come last
    if changes.all():
        return order
    place_bits = len(order).bit_length()
    key = np.append(0, np.cumsum(changes)) << place_bits
    key |= order
    key.sort()
    key &= (1 << place_bits) - 1
    return key


def best(values: ndarray, open_: ndarray) -> int:
    """Return the open index of the largest value.

    Values within 1e-10·max(1, |best|) of it are equal, and the smallest index wins."""
    candidates = np.flatnonzero(open_)
    open_values = values[candidates]
    top = open_values.max()
    is_tied = open_values >= top - TIE * max(1.0, abs(top))
    return int(candidates[np.flatnonzero(is_tied)[0]])


def complete(
    values: ndarray,
    varying: ndarray,
    width: int,
    picks: list[int] | None = None,
    constant: ndarray | None = None,
    order: ndarray | None = None,
) -> tuple[ndarray, ndarray]:
    """Return (order, values) over all `width` features from the values of the varying ones.

    Greedy `picks` (positions among the varying) come first, the others by value, or as their
    `order` has them. Constant features, and those at the positions `constant`, which do not vary
    over the rows in use, get min(0, the smallest other score) and rank last, by index."""
    if constant is not None and len(constant):
        in_use = np.setdiff1d(np.arange(len(values)), constant, assume_unique=True)
        if picks is not None:
            picks = [int(i) for i in np.searchsorted(in_use, picks)]
        values = values[in_use]
        varying = varying[in_use]
    order = by_score(values) if order is None else order
    if picks is not None:
        is_unpicked = np.ones(len(values), bool)
        is_unpicked[picks] = False
        first = np.asarray(picks, np.int64)
        order = np.concatenate([first, order[is_unpicked[order]]]).astype(np.int64)
    lowest = min(0.0, float(values.min(initial=0.0)))
    all_values = np.full(width, lowest)
    all_values[varying] = values
    last = np.setdiff1d(np.arange(width), varying, assume_unique=True)
    return np.concatenate([varying[order], last]), all_values
