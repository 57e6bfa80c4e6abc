"""IGMF: information gain with the labelset, normalised.

2·I(f; labelset) / (H(f) + H(labelset)), the symmetric uncertainty of the discretised feature and the labelset as one class (the
empty labelset is a class): a number in [0, 1], 0 where neither varies. Two scans: for the labelsets, then for their counts.
Rows with an unknown label have no labelset and are left out.

Errors: `DataError` where no row has all its labels known, `BudgetError` where the counts (features × bins × labelsets) exceed
the driver's budget.
Source: Li, Liu, Ma, Mo, Duan, Zhou & Zhao, "Multi-label feature selection via information gain", ADMA 2014.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.base import Engine
from ..errors import DataError
from ..kernels import information as info
from ..statistics.base import Statistic
from ..statistics.contingency import LabelsetCounts
from .base import Scores
from .counting import Counting, CountingMethod


class IGMF(CountingMethod):
    """2·I(f; labelset) / (H(f) + H(labelset))."""

    name = "igmf"
    title = "symmetric uncertainty with the labelset"
    source = "Li et al. 2014"

    def needs(self, engine: Engine, p: Mapping[str, Any]) -> list[Statistic]:
        return [LabelsetCounts()]

    def score(self, engine: Engine, p: Mapping[str, Any], count: int) -> Scores:
        (sets,) = engine.run(LabelsetCounts())
        if not len(sets.counts):
            raise DataError(
                "no row has all its labels known: labelsets need fully known rows; drop the labels that are never known"
            )
        counting = Counting(engine, {**p, "labels": "lp"})
        spread = np.empty(engine.num_features)
        for first, last, counts in counting.two_way.chunks(copies=4):
            spread[first:last] = info.entropy(counting.logs, counts.sum(axis=2))
        spread += info.entropy(counting.logs, sets.counts)
        return Scores(np.divide(2 * counting.relevance, spread, out=np.zeros(engine.num_features), where=spread > 0))
