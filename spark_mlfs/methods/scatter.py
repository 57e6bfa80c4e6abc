"""The scatter of features between and within groups of rows, of `fisher` and `f_statistic`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..engine.base import Engine
from ..kernels.sparse_counts import PairMoments
from ..solvers.scatter import class_scatter, stored_scatter
from ..statistics.base import FeatureNumbers, Reduction, Statistic
from ..statistics.moments import GroupMoments, Moments
from ..statistics.stretched import Beside, mean_and_variance


def moment_numbers(moments: GroupMoments, reduction: Reduction) -> FeatureNumbers:
    """Return the statistic of a reduction of moments, of which group 0 is all rows."""
    return FeatureNumbers((moments,), Beside(reduction, mean_and_variance))


def run_moment_numbers(engine: Engine, numbers: Statistic) -> np.ndarray:
    """Return the numbers (k, v) of `moment_numbers`, and note which features are stretched."""
    (result,) = engine.run(numbers)
    engine.stretched.note_moments(engine.profile, *result[-2:])
    reduced: np.ndarray = result[:-2]
    return reduced


@dataclass(frozen=True)
class Scatter(Reduction):
    """The scatter between and within `count` groups (None: all) from the `first` on.

    It is about the mean of these groups, or with `about_all` about that of all rows."""

    first: int = 0
    count: int | None = None
    about_all: bool = False

    def __call__(self, m: Moments | PairMoments) -> np.ndarray:
        if isinstance(m, PairMoments):
            centre = m.all_total / m.rows.n if self.about_all else None
            return np.stack(stored_scatter(m, centre))
        last = None if self.count is None else self.first + self.count
        groups = slice(self.first, last)
        centre = m.total[0] / m.count[0] if self.about_all else None  # group 0 is all rows then
        return np.stack(class_scatter(m.count[groups], m.total[groups], m.square[groups], centre))
