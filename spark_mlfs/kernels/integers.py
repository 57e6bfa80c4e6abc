"""Sums of whole numbers that no int64 holds: several words of 40 bits, whatever the order.

A number x of the name ``x`` is the int64 arrays ``x 0``, ``x 1``, ``x 2`` (and ``x 3``) of a state,
x = Σ word_i · 2^(40i). Of the last word nothing is carried: it has all that is above."""

from __future__ import annotations

import itertools

import numpy as np
from numpy import ndarray

from .products import BITS, LOW, MASK, WORD, State, add_by_name, mass_parts

WORDS = (" 0", " 1", " 2", " 3")  # behind the name of a number
THREE, FOUR = 3, 4
TOTAL = -2 * WORD  # the exponent by which `number` reads a `total`, in its units
SUMMED_ROWS = 1 << 22  # of 2⁴⁰ each: their sum fits int64

Shifted = tuple[ndarray, int]  # (value, shift): the whole numbers value · 2^shift


def words(name: str, *parts: Shifted, count: int = THREE) -> State:
    """Return Σ value · 2^shift of int64 arrays of one shape as the words of the number `name`.

    Three words take what is below 2¹⁴⁰, four 2¹⁸⁰."""
    sums = [np.zeros(np.shape(parts[0][0]), np.int64) for _ in range(count)]
    for value, shift in parts:
        _add_shifted(sums, value & MASK, shift)
        _add_shifted(sums, value >> WORD, shift + WORD)
    named = {name + suffix: word for suffix, word in zip(WORDS, sums, strict=False)}
    return add_words({}, named)


def _add_shifted(sums: list[ndarray], value: ndarray, shift: int) -> None:
    """Add value · 2^shift to the words it belongs to, which then have more than 40 bits."""
    last = len(sums) - 1
    index, offset = divmod(shift, WORD)
    if index >= last:
        sums[last] += value << (shift - last * WORD)
        return
    fitting = WORD - offset  # bits of the value that the word has room for
    sums[index] += (value & ((1 << fitting) - 1)) << offset
    sums[index + 1] += value >> fitting


def add_words(left: State, right: State) -> State:
    """Return the sum of two states of whole numbers, some of them of several words."""
    sums = add_by_name(left, right)
    names = [name.removesuffix(WORDS[0]) for name in sums if name.endswith(WORDS[0])]
    for name in names:
        for lower, upper in itertools.pairwise(WORDS):
            if name + upper in sums:
                above = sums[name + lower] >> WORD
                sums[name + lower] = sums[name + lower] & MASK
                sums[name + upper] = sums[name + upper] + above
    return sums


def number(state: State, name: str, exponent: int) -> ndarray:
    """Return the number `name` times 2^exponent, in float64.

    It is one value however many words it takes: they are added from the last one on."""
    parts = [np.asarray(state[name + word], np.float64) for word in WORDS if name + word in state]
    last = len(parts) - 1
    value = np.ldexp(parts[last], exponent + last * WORD)
    for index in range(last - 1, -1, -1):
        value = value + np.ldexp(parts[index], exponent + index * WORD)
    return value


def total(
    name: str,
    values: ndarray,
    unit: float,
    mass: ndarray | None = None,
) -> State:
    """Return Σ over the first axis of float64 values, in three words of unit · 2^`TOTAL`.

    No value exceeds `unit`, a power of two. `mass` (n,) int64 below 2⁵²: how many times each
    counts, 2⁵² times all together at most."""
    scaled = np.ldexp(values / unit, WORD)
    coarse = np.rint(scaled)
    fine = np.rint(np.ldexp(scaled - coarse, WORD))
    if mass is not None:
        return words(name, *_times_mass(coarse.astype(np.int64), fine.astype(np.int64), mass))
    parts = [*_sums_of_rows(coarse, WORD), *_sums_of_rows(fine, 0)]
    return words(name, *parts)


def _sums_of_rows(integers: ndarray, shift: int) -> list[Shifted]:
    sums = []
    for first in range(0, max(1, len(integers)), SUMMED_ROWS):
        rows = integers[first : first + SUMMED_ROWS].astype(np.int64)
        sums.append((np.atleast_1d(rows.sum(axis=0)), shift))
    return sums


def _times_mass(coarse: ndarray, fine: ndarray, mass: ndarray) -> list[Shifted]:
    """Return the parts of Σ mass · (2⁴⁰ coarse + fine) over the rows, as `words` takes them.

    20 bits of the mass and of a value at a time: the product of both has 40."""
    parts = []
    for rows, m, power in mass_parts(mass):
        times = m.astype(np.int64).reshape(-1, *(1,) * (coarse.ndim - 1))
        shift = BITS * power
        parts += _products(coarse[rows], times, shift + WORD)
        parts += _products(fine[rows], times, shift)
    return parts


def _products(values: ndarray, times: ndarray, shift: int) -> list[Shifted]:
    """Return Σ values · times · 2^shift over the rows, of the values' upper and lower 20 bits."""
    lower = (values & LOW) * times
    upper = (values >> BITS) * times
    return [
        (np.atleast_1d(lower.sum(axis=0)), shift),
        (np.atleast_1d(upper.sum(axis=0)), shift + BITS),
    ]
