"""SplitMix64, the hash behind every random number by row: 64 mixed bits of 64 given ones, and numbers in [0, 1) made of bits."""

from __future__ import annotations

import numpy as np

GOLDEN = 0x9E3779B97F4A7C15  # 2⁶⁴ over the golden ratio: what SplitMix64 adds from one state to the next
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def mixed(state: np.ndarray) -> np.ndarray:
    """The output function of SplitMix64 (Steele, Lea & Flood 2014) of uint64 states, in place."""
    with np.errstate(over="ignore"):
        state ^= state >> np.uint64(30)
        state *= _FIRST
        state ^= state >> np.uint64(27)
        state *= _SECOND
        state ^= state >> np.uint64(31)
    return state


def unmixed(bits: np.ndarray) -> np.ndarray:
    """The uint64 states that `mixed` made these bits of, in place."""
    with np.errstate(over="ignore"):
        for shift, factor in ((31, _SECOND), (27, _FIRST), (30, np.uint64(1))):
            bits ^= (bits >> np.uint64(shift)) ^ (bits >> np.uint64(2 * shift))
            bits *= np.uint64(pow(int(factor), -1, 1 << 64))
    return bits


def in_unit(bits: np.ndarray) -> np.ndarray:
    """float64 in [0, 1) of the upper 53 bits of uint64: multiples of 2⁻⁵³, all as likely."""
    return (bits >> np.uint64(11)).astype(np.float64) * 2.0**-53
