"""ENM: Euclidean norm of the per-label mutual informations.

‖(I(f; Y_1), …, I(f; Y_q))‖₂. Source: Gonzalez-Lopez, Ventura & Cano, "Distributed multi-label feature selection using
individual mutual information measures", 2020.
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
