"""Graded labels in fixed point: a row has a label to a degree from 0 to 1.

Such as a share of a distribution, or a rating.

A grade v between the ends a < b of its range is g = (v − a)/(b − a), taken as the whole number
rint(g · 2¹⁵) of 2⁻¹⁵ (off by at most 2⁻¹⁶), so that every sum of products with grades is a sum of
whole numbers. Grades that are all 0 or 1 are labels as ever, to the bit. With `cuts` grades become
labels of 0 and 1 where they are read: a label is positive where its grade is at least the cut, and
with several cuts it becomes as many labels, the cuts of one label side by side."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from ..errors import ParameterError, setting
from ..params import Flag, Number, NumberList, Optional, Parameter
from ..params import number as written

BITS = 15
ONE = 1 << BITS
MOST = 1 << (61 - BITS)  # units of weight of all rows together: sums of them times grades fit int64
SETTINGS = (
    Parameter(
        "graded_labels", False, Flag(), "labels are grades: numbers from 0 to 1, or in grade_range"
    ),
    Parameter(
        "grade_range",
        None,
        Optional(NumberList(Number(), "two numbers, the lowest grade and the highest", 2)),
        "what grades go from and to, such as 1 and 5 of ratings; None: 0 and 1",
    ),
    Parameter(
        "label_cuts",
        None,
        Optional(NumberList(Number(), "grades, ascending")),
        "a label is positive where its grade is at least this, for methods that take 0 and 1; "
        "several cuts: a label for each",
    ),
)


@dataclass(frozen=True)
class Grades:
    """How grades are read: from `low` to `high` (None: 0 and 1, with cuts any), and the `cuts`, in
    the same numbers."""

    low: float | None = None
    high: float | None = None
    cuts: tuple[float, ...] = ()

    @staticmethod
    def of(values: Mapping[str, Any]) -> Grades | None:
        """Return the grades by the values of `SETTINGS`, None for labels of 0 and 1.

        `ParameterError` for nonsense."""
        checked = {p.name: p.accept(values.get(p.name, p.default)) for p in SETTINGS}
        if not checked.pop("graded_labels"):
            for name, value in checked.items():
                if value is not None:
                    raise ParameterError(
                        f"{setting(name)} is about grades: set {setting('graded_labels')}, too, or "
                        "leave it out"
                    )
            return None
        ends = checked["grade_range"]
        cuts = checked["label_cuts"]
        scale = setting("grade_range")
        if ends is not None and ends[0] >= ends[1]:
            raise ParameterError(
                f"{scale} goes from the lowest to the highest grade, not from {ends[0]:g} to "
                f"{ends[1]:g}"
            )
        if cuts is not None and any(a >= b for a, b in itertools.pairwise(cuts)):
            raise ParameterError(
                f"{setting('label_cuts')} ascend, not {', '.join(f'{c:g}' for c in cuts)}"
            )
        for cut in cuts or ():
            if ends is not None and not ends[0] < cut <= ends[1]:
                raise ParameterError(
                    f"{setting('label_cuts')}: grades from {ends[0]:g} to {ends[1]:g} ({scale}) "
                    f"are all on one side of {cut:g}; give a cut above the lowest, at most the "
                    "highest"
                )
        low, high = ends or (None, None)
        return Grades(low, high, tuple(cuts or ()))

    @property
    def width(self) -> int:
        """Return how many labels become of one."""
        return len(self.cuts) or 1

    def names(self, names: Sequence[str]) -> list[str]:
        """Return the names of the labels that become of labels of these names."""
        if len(self.cuts) < 2:
            return list(names)
        return [f"{name}>={written(cut)}" for name in names for cut in self.cuts]

    def wrong(self, values: ndarray) -> ndarray:
        """Return whether each value is no grade: neither unknown (NaN) nor in the range."""
        low, high = 0.0, 1.0
        if self.low is not None and self.high is not None:
            low = self.low
            high = self.high
        elif self.cuts:
            high = float(np.finfo(float).max)
            low = -high
        return ~(np.isnan(values) | ((values >= low) & (values <= high)))

    def why(self, value: float) -> str:
        """Return the message for a wrong value."""
        if not np.isfinite(value):
            return f"{value:g}; a grade is a finite number, or unknown (null or NaN)"
        if self.low is None or self.high is None:
            return (
                f"{value:g}; grades are from 0 to 1: correct it, or say in "
                f"{setting('grade_range')} what they go from and to"
            )
        ends = f"{self.low:g} to {self.high:g}"
        return (
            f"{value:g}; grades are from {ends} ({setting('grade_range')}): correct it, or "
            "make it unknown (null or NaN)"
        )

    @property
    def zero_matters(self) -> bool:
        """Return whether a 0, which a sparse row does not store, would be more than no label.

        Or would be no grade."""
        if self.low is not None and self.high is not None and not self.low <= 0 <= self.high:
            return True
        return self.cuts[0] <= 0 if self.cuts else bool(self.low)

    def entries(self, rows: ndarray, labels: ndarray, values: ndarray) -> tuple[ndarray, ...]:
        """Return (rows, labels, units) of the grades above 0 among entries (row, label, value).

        Units (k,) are of 2⁻¹⁵."""
        if self.cuts:
            rows = np.repeat(rows, self.width)
            values = np.repeat(values, self.width)
            cut = np.arange(len(values)) % self.width
            labels = np.repeat(labels, self.width) * self.width + cut
            units = np.where(values >= np.array(self.cuts)[cut], ONE, 0)
        else:
            low, high = 0.0, 1.0
            if self.low is not None and self.high is not None:
                low = self.low
                high = self.high
            grades = (values - low) / (high - low)
            units = np.rint(np.ldexp(grades, BITS)).astype(np.int64)
        positive = units > 0
        return rows[positive], labels[positive], units[positive]

    def unknown(self, rows: ndarray, labels: ndarray) -> tuple[ndarray, ndarray]:
        """Return (rows, labels) that are unknown, of the entries (row, label) that are."""
        if self.width > 1:
            rows = np.repeat(rows, self.width)
            labels = np.repeat(labels * self.width, self.width)
            labels = labels + np.arange(len(labels)) % self.width
        return rows, labels
