"""XXH64 of columns as Spark's ``xxhash64`` has it: the id of a row that has none is the hash of its
cells.

A null leaves the hash as it is; of several cells each is hashed with what the ones before gave as
the seed, 42 at first."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

SEED = 42
_P1, _P2, _P3, _P4, _P5 = (
    np.uint64(p)
    for p in (
        0x9E3779B185EBCA87,
        0xC2B2AE3D27D4EB4F,
        0x165667B19E3779F9,
        0x85EBCA77C2B2AE63,
        0x27D4EB2F165667C5,
    )
)
ROWS = 4096  # at a time: the arrays stay in the processor's cache


def _turned(h: np.ndarray, by: int) -> np.ndarray:
    turned: np.ndarray = (h << np.uint64(by)) | (h >> np.uint64(64 - by))
    return turned


def _ended(h: np.ndarray) -> np.ndarray:
    h ^= h >> np.uint64(33)
    h *= _P2
    h ^= h >> np.uint64(29)
    h *= _P3
    h ^= h >> np.uint64(32)
    return h


def of_longs(values: np.ndarray, seed: np.ndarray) -> np.ndarray:
    """Return the hashes (n,) of 64-bit values, each with its own seed; both uint64."""
    h = _turned(values * _P2, 31) * _P1
    h ^= seed + (_P5 + np.uint64(8))
    return _ended(_turned(h, 27) * _P1 + _P4)


def of_ints(values: np.ndarray, seed: np.ndarray) -> np.ndarray:
    """Return the hashes (n,) of 32-bit values, each with its own seed."""
    h = (values.astype(np.int32).view(np.uint32).astype(np.uint64)) * _P1
    h ^= seed + (_P5 + np.uint64(4))
    return _ended(_turned(h, 23) * _P2 + _P3)


def of_doubles(values: np.ndarray, seed: np.ndarray) -> np.ndarray:
    """Return the hashes of doubles: -0 as 0, every NaN as one."""
    return of_longs(
        np.where(np.isnan(values), np.nan, values + 0.0).astype(np.float64).view(np.uint64), seed
    )


def of_floats(values: np.ndarray, seed: np.ndarray) -> np.ndarray:
    """Return the hashes of floats: -0 as 0, every NaN as one."""
    values = np.where(np.isnan(values), np.float32(np.nan), values + np.float32(0)).astype(
        np.float32
    )
    return of_ints(values.view(np.int32), seed)


def of_bytes(
    data: np.ndarray, first: np.ndarray, lengths: np.ndarray, seed: np.ndarray
) -> np.ndarray:
    """Return the hashes (n,) of strings of bytes of these `lengths`, which begin at `first` in
    `data`."""
    padded = np.concatenate([np.asarray(data, np.uint8), np.zeros(8, np.uint8)])
    windows = np.lib.stride_tricks.sliding_window_view(padded, 8)

    def words(at: np.ndarray, size: int = 8) -> np.ndarray:
        raw = np.zeros((len(at), 8), np.uint8)
        raw[:, :size] = windows[at][:, :size]
        return raw.view(np.uint64).reshape(-1)

    at, left = first.astype(np.int64), lengths.astype(np.int64)
    h = seed + _P5
    long = np.flatnonzero(left >= 32)
    if len(long):
        s, where, rest = seed[long], at[long], left[long]
        lanes = [s + _P1 + _P2, s + _P2, s.copy(), s - _P1]
        while (some := np.flatnonzero(rest >= 32)).size:
            for k in range(4):
                lanes[k][some] = (
                    _turned(lanes[k][some] + words(where[some] + 8 * k) * _P2, 31) * _P1
                )
            where[some] += 32
            rest[some] -= 32
        merged = (
            _turned(lanes[0], 1)
            + _turned(lanes[1], 7)
            + _turned(lanes[2], 12)
            + _turned(lanes[3], 18)
        )
        for lane in lanes:
            merged = (merged ^ (_turned(lane * _P2, 31) * _P1)) * _P1 + _P4
        h[long] = merged
    at, left = at + (left & ~31), left & 31
    h += lengths.astype(np.uint64)
    while (some := np.flatnonzero(left >= 8)).size:
        h[some] = _turned(h[some] ^ (_turned(words(at[some]) * _P2, 31) * _P1), 27) * _P1 + _P4
        at[some] += 8
        left[some] -= 8
    some = np.flatnonzero(left >= 4)
    h[some] = _turned(h[some] ^ (words(at[some], 4) * _P1), 23) * _P2 + _P3
    at[some] += 4
    left[some] -= 4
    while (some := np.flatnonzero(left > 0)).size:
        h[some] = _turned(h[some] ^ (words(at[some], 1) * _P5), 11) * _P1
        at[some] += 1
        left[some] -= 1
    return _ended(h)


Hash = Callable[[np.ndarray, np.ndarray], np.ndarray]


def fold(h: np.ndarray, values: np.ndarray, valid: np.ndarray | None, hashed: Hash) -> None:
    """Replace the hashes h (n,) by those of `values` with h as the seed, where they are `valid`
    (None: all are)."""
    with np.errstate(over="ignore"):
        for a in range(0, len(h), ROWS):
            part = slice(a, a + ROWS)
            new = hashed(values[part], h[part])
            h[part] = new if valid is None else np.where(valid[part], new, h[part])
