"""A filter in front of a method: it sees the best features of a cheaper one only."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

import numpy as np

from ..errors import ParameterError
from ..methods import METHODS
from ..methods.base import Method


@dataclass(frozen=True)
class Screen:
    """A filter that runs first: the method sees the `count` best features by `method` only. The others rank after them, in
    the filter's order."""

    method: str
    count: int
    filter: Method = field(compare=False, repr=False)

    @staticmethod
    def of(text: str) -> Screen | None:
        """ "chi2:10000" as a screen, "none" as none."""
        if text.lower() in ("", "none"):
            return None
        name, _, count = text.partition(":")
        if not re.fullmatch(r"0*[1-9][0-9]{0,15}", count):
            raise ParameterError(f"screen must be METHOD:COUNT, such as chi2:10000, not {text!r}")
        method = METHODS.create(name)
        if method.greedy:
            raise ParameterError(
                f"screen {text!r}: {name} picks one by one; screen with a method of one scan, such as mim or chi2"
            )
        return Screen(name, int(count), method)

    def survivors(self, order: np.ndarray, varying: np.ndarray) -> np.ndarray:
        """The features that the method sees, ascending: those among the first of the filter's `order` that vary."""
        return np.intersect1d(order[: self.count], varying)
