"""The places of features in the orders of labels, by their informations.

Entries are pairs (label, feature) with a value above 0. A label's entries stand together, its
features ascending: of equal values the first one has the smaller place. Values are compared by nine
significant digits."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

DIGITS = 10**9  # numbers of nine digits are below
DECADES = 340  # of float64 above and below 1
EXACT = 22  # powers of ten up to this one are exact
TENTHS = 10.0 ** np.arange(-EXACT, EXACT + 1)


def ranks_of(values: ndarray) -> ndarray:
    """Return (n,) int64 that order values above 0 as their nine significant digits do."""
    with np.errstate(divide="ignore"):
        exponent = np.floor(np.log10(values))
    lowest = exponent.min(initial=0.0)
    if lowest < 8 - EXACT or exponent.max(initial=0.0) > 8 + EXACT:
        return _ranks_of_any(values, exponent)
    power = TENTHS.take((8 + EXACT - exponent).astype(np.int64))
    power *= values
    digits = np.rint(power, out=power)
    # 9.9999999996 has the digits of 10
    exponent += DECADES
    exponent *= 9 * DIGITS // 10
    exponent += digits
    return exponent.astype(np.int64)


def _ranks_of_any(values: ndarray, exponent: ndarray) -> ndarray:
    """Return `ranks_of` values of any size, whose decimal exponents may be out of `TENTHS`."""
    exponent = np.clip(np.where(values > 0, exponent, -DECADES), -DECADES, DECADES)
    shift = 8 - exponent
    near = np.abs(shift) <= EXACT
    power = TENTHS[np.where(near, shift, 0).astype(np.int64) + EXACT]
    digits = np.rint(values * power)
    far = ~near
    half = np.floor(shift[far] / 2)
    digits[far] = np.rint(values[far] * 10.0**half * 10.0 ** (shift[far] - half))
    return np.asarray((exponent + DECADES) * (9 * DIGITS // 10) + digits).astype(np.int64)


def leading(starts: ndarray, values: ndarray, most: int | None) -> tuple[ndarray, ndarray]:
    """Return which entries are the first `most` of their labels, and the place of each from 1.

    `starts` (labels + 1,) where the entries of each label begin in `values`. They come label by
    label, by place."""
    counts = np.diff(starts)
    candidates = None
    if most is not None and (counts > 2 * most + 1000).any():
        candidates = _candidates(starts, values, most)
        values = values[candidates]
        starts = np.searchsorted(candidates, starts)
        counts = np.diff(starts)
    order = _by_label(np.repeat(np.arange(len(counts)), counts), ranks_of(values))
    entries = order if candidates is None else candidates[order]
    place = np.arange(1, len(entries) + 1)
    place -= np.repeat(starts[:-1], counts)
    if most is None or counts.max(initial=0) <= most:
        return entries, place
    inside = place <= most
    return entries[inside], place[inside]


def _by_label(label: ndarray, rank: ndarray) -> ndarray:
    """Return the order of entries by `label`, then by falling `rank`, then by place.

    The three are sorted as one number where they fit: that is several times quicker."""
    if not len(label):
        return np.zeros(0, np.int64)
    largest = int(rank.max())
    span = largest - int(rank.min()) + 1
    bits = (len(label) - 1).bit_length()
    if (int(label[-1]) + 1) * span >= 1 << (62 - bits):
        return np.lexsort((-rank, label))
    key = label * span
    key += largest
    key -= rank
    key <<= bits
    key |= np.arange(len(label))
    key.sort()
    key &= (1 << bits) - 1
    return key


def _candidates(starts: ndarray, values: ndarray, most: int) -> ndarray:
    """Return the entries that may be among the first `most` of their labels."""
    possible = np.ones(len(values), bool)
    for label in np.flatnonzero(np.diff(starts) > 2 * most + 1000).tolist():
        part = slice(starts[label], starts[label + 1])
        least = np.partition(values[part], -most)[-most]
        possible[part] = values[part] >= least * (1 - 1e-8)  # nine digits may make them equal
    return np.flatnonzero(possible)
