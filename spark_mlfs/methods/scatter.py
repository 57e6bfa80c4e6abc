"""The scatter of features between and within groups of rows, of `fisher` and `f_statistic`."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels.sparse_counts import PairMoments
from ..solvers.scatter import class_scatter, stored_scatter
from ..statistics.base import Reduction
from ..statistics.moments import Moments


@dataclass(frozen=True)
class Scatter(Reduction):
    """Between and within the groups from the `first` on, `count` of them (None: all), about their
    mean or that of all rows."""

    first: int = 0
    count: int | None = None
    about_all: bool = False

    def __call__(self, m: Moments | PairMoments) -> np.ndarray:
        if isinstance(m, PairMoments):
            return np.stack(stored_scatter(m, m.all_total / m.rows.n if self.about_all else None))
        part = slice(self.first, None if self.count is None else self.first + self.count)
        centre = m.total[0] / m.count[0] if self.about_all else None  # group 0 is all rows then
        return np.stack(class_scatter(m.count[part], m.total[part], m.square[part], centre))
