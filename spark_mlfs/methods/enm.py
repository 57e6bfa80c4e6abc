"""ENM: Euclidean norm of the per-label mutual informations.

    score(f) = ‖(I(f; Y_1), …, I(f; Y_q))‖₂

Symbols: f ∈ {0, …, b − 1} one of the v features that vary, discretised into b ≤ ``num_bins`` bins; Y_l ∈ {0, 1} label l of q; I
plug-in mutual information in nats, clipped at 0 (or Miller–Madow), over the rows where label l is known. Score (v,), nats.
Raises: `BudgetError` where the counts exceed ``driverBytes``, or a worker's share ``workerBytes``; `ParameterError` where a
parameter is out of its range.
Source: Gonzalez-Lopez, Ventura & Cano, "Distributed multi-label feature selection using individual mutual information
measures", 2020.
Deviations: none known; unknown labels are an addition.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.base import Engine
from .base import Scores
from .counting import Counting, CountingMethod


class ENM(CountingMethod):
    """‖(I(f; Y_l))_l‖₂."""

    name = "enm"
    title = "Euclidean norm of the per-label mutual informations"
    source = "Gonzalez-Lopez et al. 2020"

    def score(self, engine: Engine, p: Mapping[str, Any], count: int) -> Scores:
        return Scores(Counting(engine, p).over_labels(lambda each: np.sqrt((each**2).sum(axis=1))))
