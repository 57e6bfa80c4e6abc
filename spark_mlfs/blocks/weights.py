"""Row weights in fixed point: whole numbers of one power of two, so that every weighted count and
sum is a sum of whole numbers.

A weight that is a whole number below 2²⁴ stays as it is; any other is rounded to 16 significant
bits, which is off by at most 2⁻¹⁶ of it. The unit is the largest power of two that divides all of
them, at most 1 unless all are 2²⁴ or more: smaller whole numbers have the unit 1, and a row of
weight w counts as w rows, to the bit. Other weights may be multiplied by any power of two (of four
where roots are taken): what does not go by the number of rows stays the same, to the bit, as the
units are as many. The weights of all rows together stay below 2⁵² units, or the run is refused. A
row of weight 0 is no row: it is left out before anything is counted."""

from __future__ import annotations

import numpy as np
from numpy import ndarray

from ..errors import DataError

BITS = 16  # significant ones of a weight that is no whole number
WHOLE = 1 << 24  # below, whole numbers stay as they are
FARTHEST = 300  # power of two of the weights of all rows: methods take third powers of it
MOST = 1 << 52  # units of all rows together: sums of them are exact in float64, too
TOO_FAR = (
    "the weights of the rows are too far apart, or too large: in units of the finest, {:g}, they "
    "add up to more than 2^52; divide, round or clip them, so that the smallest is no less than "
    "about a thousandth of the largest"
)


def fixed(weights: ndarray) -> ndarray:
    """Return the weights as they are counted, float64."""
    weights = np.asarray(weights, np.float64)
    mantissa, exponent = np.frexp(weights)
    rounded = np.ldexp(np.rint(np.ldexp(mantissa, BITS)), exponent - BITS)
    return np.where((weights < WHOLE) & (weights == np.rint(weights)), weights, rounded)


def exponent_of(weights: ndarray) -> int:
    """Return the largest e such that 2^e divides all of some fixed-point weights above 0.

    e ≤ 0 unless none is below `WHOLE`."""
    fractions = weights if (weights >= WHOLE).all() else weights[weights != np.rint(weights)]
    if not len(fractions):
        return 0 if len(weights) else 1 << 10  # no weights have any unit
    mantissa, exponent = np.frexp(fractions)
    significand = np.ldexp(mantissa, BITS).astype(np.int64)
    lowest_bit = (significand & -significand).astype(np.float64)
    trailing = np.frexp(lowest_bit)[1] - 1
    return int((exponent - BITS + trailing).min())


def check_size(exponent: int, total: int) -> None:
    """Raise `DataError` for weights whose `total`, in units of 2^`exponent`, is out of range."""
    power = exponent + total.bit_length()
    if abs(power) > FARTHEST:
        raise DataError(
            f"the weights of the rows add up to about 2^{power}, which leaves float64 in some "
            "method: multiply all of them by one number, so that they add up to some thousands"
        )


def in_units(weights: ndarray, exponent: int) -> ndarray:
    """Return (n,) int64 fixed-point weights in units of 2^exponent."""
    return np.ldexp(weights, -exponent).astype(np.int64)


def wrong_weight(weights: ndarray, absent: ndarray | None = None) -> tuple[str, int] | None:
    """Return the problem of the first weight that cannot be used, and its position.

    `absent` (n,): whether weights are null."""
    bad = np.flatnonzero(~(np.isfinite(weights) & (weights >= 0)))
    if not len(bad):
        return None
    position = int(bad[0])
    value = f"{weights[position]:g}"
    if np.isnan(weights[position]):
        value = "missing (NaN)"
    if absent is not None and absent[position]:
        value = "null"
    message = (
        f"its weight is {value}; weights are finite numbers of 0 or more: correct it, or drop the "
        "row"
    )
    return message, position
