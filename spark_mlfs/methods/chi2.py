"""χ² of the discretised feature against each label, or against the labelset.

Σ (O − E)²/E over the table's cells, cells with E = 0 skipped. ``labels="br"`` combines the labels by ``aggregate``:
sum, mean over all q, or max; ``"lp"`` takes the labelset as one class. For a 2×2 table it equals n·r². The ranking is
by the statistic, never by its p-value, which underflows.
Source: Trohidis et al. 2008.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.base import Engine
from ..kernels import information as info
from ..params import Choice, Parameter
from .base import Scores
from .counting import BINNING, LABELS, NUM_BINS, Counting, CountingMethod


class Chi2(CountingMethod):
    """χ² statistic of feature against each label (sum, mean or maximum over labels), or against the labelset."""

    name = "chi2"
    title = "χ² statistic of feature against label"
    source = "Trohidis et al. 2008"
    parameters = (
        NUM_BINS,
        BINNING,
        LABELS,
        Parameter("aggregate", "sum", Choice(("sum", "mean", "max")), "how the labels' statistics are combined (br only)"),
    )

    def score(self, engine: Engine, p: Mapping[str, Any], count: int) -> Scores:
        counting = Counting(engine, p)
        target, out = counting.target, np.empty(engine.num_features)
        for first, last, counts in counting.two_way.chunks(copies=4):
            if p["labels"] == "lp":
                out[first:last] = info.class_chi_square(counts)
            else:
                each = info.chi_square(counts, target.q, target.unknown(counts))
                out[first:last] = {"sum": np.sum, "mean": np.mean, "max": np.max}[p["aggregate"]](each, axis=1)
        return Scores(out)
