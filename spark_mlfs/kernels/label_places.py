"""The places of features in the orders of labels, by their informations.

Entries are pairs (label, feature) with a value above 0. A label's entries stand together, its
features ascending: of equal values the first one has the smaller place. Values are compared by nine
significant digits."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

DIGITS = 10**9  # numbers of nine digits are below
DECADES = 340  # of float64 above and below 1
TENTHS = 10.0 ** np.arange(-22, 23)


def ranks_of(values: ndarray) -> ndarray:
    """Return (n,) int64 that order values above 0 as their nine significant digits do."""
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log10(values))
    exponent = np.clip(np.where(values > 0, exponent, -DECADES), -DECADES, DECADES)
    shift = 8 - exponent
    near = np.abs(shift) <= 22  # where powers of ten are exact
    power = TENTHS[np.where(near, shift, 0).astype(np.int64) + 22]
    digits = np.rint(values * power)
    if not near.all():
        far = ~near
        half = np.floor(shift[far] / 2)
        digits[far] = np.rint(values[far] * 10.0**half * 10.0 ** (shift[far] - half))
    # 9.9999999996 has the digits of 10
    return np.asarray((exponent + DECADES) * (9 * DIGITS // 10) + digits).astype(np.int64)


def leading(starts: ndarray, values: ndarray, most: int | None) -> tuple[ndarray, ndarray]:
    """Return which entries are the first `most` of their labels, and the place of each from 1.

    `starts` (labels + 1,) where the entries of each label begin in `values`. They come label by
    label, by place."""
    counts = np.diff(starts)
    candidates = np.arange(starts[-1])
    if most is not None and (counts > 2 * most + 1000).any():
        candidates = _candidates(starts, values, most)
    label = np.repeat(np.arange(len(counts)), counts)[candidates]
    rank = ranks_of(values[candidates])
    span = int(rank.max(initial=0)) + 1
    if len(counts) < (1 << 62) // span:
        order = np.argsort(label * span - rank, kind="stable")
    else:
        order = np.lexsort((-rank, label))
    label = label[order]
    first = np.searchsorted(label, np.arange(len(counts)))
    place = np.arange(len(label)) - first[label] + 1
    entries = candidates[order]
    if most is None:
        return entries, place
    inside = place <= most
    return entries[inside], place[inside]


def _candidates(starts: ndarray, values: ndarray, most: int) -> ndarray:
    """Return the entries that may be among the first `most` of their labels."""
    possible = np.ones(len(values), bool)
    for label in np.flatnonzero(np.diff(starts) > 2 * most + 1000).tolist():
        part = slice(starts[label], starts[label + 1])
        least = np.partition(values[part], -most)[-most]
        possible[part] = values[part] >= least * (1 - 1e-8)  # nine digits may make them equal
    return np.flatnonzero(possible)
