"""GMM: geometric mean of the per-label mutual informations.

(Π_l max(I(f; Y_l), 1e-12))^(1/labels) over the labels that take both values. Source: Gonzalez-Lopez, Ventura & Cano 2020.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.base import Engine
from ..kernels.information import small_label_information
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
        counting = Counting(engine, p)
        target, out = counting.target, np.empty(engine.num_features)
        for first, last, counts in counting.two_way.chunks(copies=8):
            each = small_label_information(counts, target.q, target.unknown(counts), p["bias_correction"])[:, both]
            out[first:last] = np.exp(np.log(np.maximum(each, 1e-12)).mean(axis=1))
        return Scores(out)
