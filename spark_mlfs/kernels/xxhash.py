"""XXH64 of columns as Spark's ``xxhash64`` has it: the id of a row that has none is the hash of its
cells.

A null leaves the hash as it is; of several cells each is hashed with what the ones before gave as
the seed, 42 at first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
from numpy import ndarray

SEED = 42
_P1 = np.uint64(0x9E3779B185EBCA87)
_P2 = np.uint64(0xC2B2AE3D27D4EB4F)
_P3 = np.uint64(0x165667B19E3779F9)
_P4 = np.uint64(0x85EBCA77C2B2AE63)
_P5 = np.uint64(0x27D4EB2F165667C5)
_STRIPE = 32  # bytes that the four lanes take in at once
ROWS = 4096  # at a time: the arrays stay in the processor's cache


def _rotated(h: ndarray, bits: int) -> ndarray:
    rotated: ndarray = (h << np.uint64(bits)) | (h >> np.uint64(64 - bits))
    return rotated


def _avalanche(h: ndarray) -> ndarray:
    """Return the hash of what was taken in: every bit of it depends on every bit of that."""
    h ^= h >> np.uint64(33)
    h *= _P2
    h ^= h >> np.uint64(29)
    h *= _P3
    h ^= h >> np.uint64(32)
    return h


def _round(lane: ndarray, word: ndarray) -> ndarray:
    return _rotated(lane + word * _P2, 31) * _P1


def of_longs(values: ndarray, seed: ndarray) -> ndarray:
    """Return the hashes (n,) of 64-bit values, each with its own seed; both uint64."""
    h = _rotated(values * _P2, 31) * _P1
    h ^= seed + (_P5 + np.uint64(8))
    return _avalanche(_rotated(h, 27) * _P1 + _P4)


def of_ints(values: ndarray, seed: ndarray) -> ndarray:
    """Return the hashes (n,) of 32-bit values, each with its own seed."""
    h = (values.astype(np.int32).view(np.uint32).astype(np.uint64)) * _P1
    h ^= seed + (_P5 + np.uint64(4))
    return _avalanche(_rotated(h, 23) * _P2 + _P3)


def of_doubles(values: ndarray, seed: ndarray) -> ndarray:
    """Return the hashes of doubles: -0 as 0, every NaN as one."""
    canonical = np.where(np.isnan(values), np.nan, values + 0.0).astype(np.float64)
    return of_longs(canonical.view(np.uint64), seed)


def of_floats(values: ndarray, seed: ndarray) -> ndarray:
    """Return the hashes of floats: -0 as 0, every NaN as one."""
    canonical = np.where(np.isnan(values), np.float32(np.nan), values + np.float32(0))
    return of_ints(canonical.astype(np.float32).view(np.int32), seed)


def of_bytes(
    data: ndarray,
    first: ndarray,
    lengths: ndarray,
    seed: ndarray,
) -> ndarray:
    """Return the hashes (n,) of strings of bytes.

    They have these `lengths` and begin at `first` in `data`."""
    words = _Words(data)
    place = first.astype(np.int64)
    remaining = lengths.astype(np.int64)
    h = seed + _P5
    long = np.flatnonzero(remaining >= _STRIPE)
    if len(long):
        h[long] = _of_stripes(words, place[long], remaining[long], seed[long])
    place = place + (remaining & ~(_STRIPE - 1))
    remaining = remaining & (_STRIPE - 1)
    h += lengths.astype(np.uint64)
    while (rows := np.flatnonzero(remaining >= 8)).size:
        word = _rotated(words.take(place[rows]) * _P2, 31) * _P1
        h[rows] = _rotated(h[rows] ^ word, 27) * _P1 + _P4
        place[rows] += 8
        remaining[rows] -= 8
    rows = np.flatnonzero(remaining >= 4)
    h[rows] = _rotated(h[rows] ^ (words.take(place[rows], 4) * _P1), 23) * _P2 + _P3
    place[rows] += 4
    remaining[rows] -= 4
    while (rows := np.flatnonzero(remaining > 0)).size:
        h[rows] = _rotated(h[rows] ^ (words.take(place[rows], 1) * _P5), 11) * _P1
        place[rows] += 1
        remaining[rows] -= 1
    return _avalanche(h)


class _Words:
    """The bytes of strings as words of up to 8."""

    def __init__(self, data: ndarray) -> None:
        padded = np.concatenate([np.asarray(data, np.uint8), np.zeros(8, np.uint8)])
        self._windows = np.lib.stride_tricks.sliding_window_view(padded, 8)

    def take(self, places: ndarray, size: int = 8) -> ndarray:
        """Return (n,) uint64 the `size` bytes at each place."""
        raw = np.zeros((len(places), 8), np.uint8)
        raw[:, :size] = self._windows[places][:, :size]
        return raw.view(np.uint64).reshape(-1)


def _of_stripes(
    words: _Words,
    place: ndarray,
    remaining: ndarray,
    seed: ndarray,
) -> ndarray:
    """Return what four lanes make of whole stripes of bytes from each place on."""
    lanes = [seed + _P1 + _P2, seed + _P2, seed.copy(), seed - _P1]
    while (rows := np.flatnonzero(remaining >= _STRIPE)).size:
        for k in range(4):
            lanes[k][rows] = _round(lanes[k][rows], words.take(place[rows] + 8 * k))
        place[rows] += _STRIPE
        remaining[rows] -= _STRIPE
    merged = _rotated(lanes[0], 1) + _rotated(lanes[1], 7)
    merged = merged + _rotated(lanes[2], 12) + _rotated(lanes[3], 18)
    for lane in lanes:
        merged = (merged ^ (_rotated(lane * _P2, 31) * _P1)) * _P1 + _P4
    return merged


Hash = Callable[[ndarray, ndarray], ndarray]


def fold(
    h: ndarray,
    values: ndarray,
    valid: ndarray | None,
    hashed: Hash,
) -> None:
    """Replace the hashes h (n,) by those of `values` with h as the seed.

    Where they are `valid` (None: all are)."""
    with np.errstate(over="ignore"):
        for first in range(0, len(h), ROWS):
            part = slice(first, first + ROWS)
            new = hashed(values[part], h[part])
            h[part] = new if valid is None else np.where(valid[part], new, h[part])
