"""GMM: geometric mean of the per-label mutual informations.

    score(f) = (Π_{l∈L} max(I(f; Y_l), 1e-12))^(1/|L|)

Symbols: f ∈ {0, …, b − 1} one of the v features that vary, discretised into b ≤ ``num_bins`` bins; Y_l ∈ {0, 1} label l of q; L
the labels that take both values; I plug-in mutual information in nats (Miller–Madow on request), over the rows where label l is
known. Score (v,), nats.
Raises: `BudgetError` where the counts exceed ``driverBytes``, or a worker's share ``workerBytes``; `ParameterError` where a
parameter is out of its range.
Source: Gonzalez-Lopez, Ventura & Cano, "Distributed multi-label feature selection using individual mutual information
measures", 2020.
Deviations: the floor at 1e-12, so that one label without information does not make all features equal; labels with one value
are left out.
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
        if not both.any():
            return Scores(np.zeros(engine.num_features))
        counting = Counting(engine, p)
        target, out = counting.target, np.empty(engine.num_features)
        for first, last, counts in counting.two_way.chunks(copies=8):
            each = small_label_information(counts, target.q, target.unknown(counts), p["bias_correction"])[:, both]
            out[first:last] = np.exp(np.log(np.maximum(each, 1e-12)).mean(axis=1))
        return Scores(out)
