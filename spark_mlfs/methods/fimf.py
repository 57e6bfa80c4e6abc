"""FIMF: fast information-theoretic multi-label filter.

R(f) − Σ co(f, l, l') over the unordered pairs of the Q labels of highest entropy (ties by index); R over all labels. One pass.
Source: Lee & Kim, "Fast multi-label feature selection based on information-theoretic feature ranking", 2015.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.base import Engine
from ..kernels import information as info
from ..params import Integer, Parameter
from .base import Scores
from .counting import COUNTING, Counting, CountingMethod


class FIMF(CountingMethod):
    """R(f) − Σ over pairs of the highest-entropy labels of co(f, l, l')."""

    name = "fimf"
    title = "relevance less interaction of the highest-entropy labels"
    source = "Lee & Kim 2015"
    parameters = (*COUNTING, Parameter("num_labels", 10, Integer(0), "how many labels of highest entropy are paired"))

    def score(self, engine: Engine, p: Mapping[str, Any], count: int) -> Scores:
        counting = Counting(engine, p)
        profile = engine.profile
        rows = np.stack([profile.positive, profile.observed - profile.positive], axis=1)
        order = np.argsort(-np.round(info.entropy(counting.logs, rows), 12), kind="stable")
        labels = tuple(sorted(int(label) for label in order[: p["num_labels"]]))
        return Scores(counting.relevance - counting.label_pairs(labels)[0])
