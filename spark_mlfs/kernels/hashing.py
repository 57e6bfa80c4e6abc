"""Hashes of row ids: the library's one source of randomness by row, the same on any cluster and in
NumPy.

SplitMix64 makes 64 mixed bits of 64 given ones. `mix` gives 64 bits of (seed, row id), `uniform` a
number in [0, 1), `normal` a deviate for each of several columns, `group_of` one of 60 groups."""

from __future__ import annotations

import numpy as np
from numpy import ndarray
from scipy.special import ndtri

# 2⁶⁴ over the golden ratio: what SplitMix64 adds from one state to the next
GOLDEN = 0x9E3779B97F4A7C15
# rows fall into 60 groups by the hash of their id: 60 divides into 2, 3, 4, 5, 6, 10, 12, 15, 20
# and 30 folds
GROUPS = 60
_FIRST = np.uint64(0xBF58476D1CE4E5B9)
_SECOND = np.uint64(0x94D049BB133111EB)


def mixed(state: ndarray) -> ndarray:
    """Apply the output function of SplitMix64 (Steele, Lea & Flood 2014) to states, in place."""
    with np.errstate(over="ignore"):
        state ^= state >> np.uint64(30)
        state *= _FIRST
        state ^= state >> np.uint64(27)
        state *= _SECOND
        state ^= state >> np.uint64(31)
    return state


def mix(ids: ndarray, seed: int = 0) -> ndarray:
    """Return SplitMix64 of (seed, row id) as uint64."""
    with np.errstate(over="ignore"):
        return mixed(ids.astype(np.int64).view(np.uint64) + _start(seed))


def _start(seed: int) -> np.uint64:
    return np.uint64((GOLDEN * (seed + 1)) & (2**64 - 1))


def unmix(bits: ndarray, seed: int = 0) -> ndarray:
    """Return the int64 ids that `mix` made uint64 bits of."""
    bits = bits.copy()
    with np.errstate(over="ignore"):  # the steps of `mixed`, from the last one on
        _undo_shift(bits, 31)
        bits *= _inverse(_SECOND)
        _undo_shift(bits, 27)
        bits *= _inverse(_FIRST)
        _undo_shift(bits, 30)
        return (bits - _start(seed)).view(np.int64)


def _undo_shift(bits: ndarray, shift: int) -> None:
    """Take x back from x ^ (x >> shift), in place: of 64 bits, a shift of 22 or more."""
    bits ^= (bits >> np.uint64(shift)) ^ (bits >> np.uint64(2 * shift))


def _inverse(factor: np.uint64) -> np.uint64:
    """Return what undoes the multiplication by an odd factor, modulo 2⁶⁴."""
    return np.uint64(pow(int(factor), -1, 1 << 64))


def row_sums(values: ndarray, indptr: ndarray) -> ndarray:
    """Return sums of uint64 values over the rows of a CSR layout, modulo 2⁶⁴."""
    sums = np.zeros(len(values) + 1, np.uint64)
    np.cumsum(values, dtype=np.uint64, out=sums[1:])
    with np.errstate(over="ignore"):
        return sums[indptr[1:]] - sums[indptr[:-1]]


def in_unit(bits: ndarray) -> ndarray:
    """Return float64 in [0, 1) of the upper 53 bits of uint64.

    They are multiples of 2⁻⁵³, all as likely."""
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53


def uniform(ids: ndarray, seed: int = 0, draw: int | None = None) -> ndarray:
    """Return numbers in [0, 1), each of (seed, row id) alone.

    With `draw` of (seed, row id, draw): as many a row as there are draws."""
    bits = mix(ids, seed)
    if draw is not None:
        bits = mix(bits.view(np.int64), draw)
    return in_unit(bits)


def group_of(ids: ndarray) -> ndarray:
    """Return the row's group in 0..59, from its id alone."""
    return (mix(ids, 0x5EED) % np.uint64(GROUPS)).astype(np.int64)


def normal(ids: ndarray, columns: ndarray, seed: int = 0) -> ndarray:
    """Return (len(ids), len(columns)) standard normal deviates.

    Each is from (seed, row id, column) alone."""
    rows = mix(np.asarray(ids, np.int64), seed).view(np.int64)
    of_columns = mix(np.asarray(columns, np.int64), seed + 1).view(np.int64)
    with np.errstate(over="ignore"):
        cells = rows[:, None] + of_columns
    return ndtri(uniform(cells, seed) + 2.0**-54)  # the middle of each interval: never 0
