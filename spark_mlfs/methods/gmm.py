"""GMM: geometric mean of the per-label mutual informations.

(Π_l max(I(f; Y_l), 1e-12))^(1/labels) over the labels that take both values. Source: Gonzalez-Lopez, Ventura & Cano 2020.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..statistics.runner import Engine
from .base import Scores
from .counting import Counting, CountingMethod


class GMM(CountingMethod):
    """Geometric mean over the labels of I(f; Y_l), each floored at 1e-12."""

    name = "gmm"
    title = "geometric mean of the per-label mutual informations"
    source = "Gonzalez-Lopez et al. 2020"

    def score(self, engine: Engine, p: Mapping[str, Any], count: int) -> Scores:
        profile = engine.profile
        both = (profile.positive > 0) & (profile.positive < profile.observed)
        per_label = Counting(engine, p).per_label[:, both]
        return Scores(np.exp(np.log(np.maximum(per_label, 1e-12)).mean(axis=1)))
