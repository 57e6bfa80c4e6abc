"""MIM: mutual information maximisation.

R(f) = Σ_l I(f; Y_l) (``labels="br"``, Eq. 7 of the paper) or I(f; labelset) (``"lp"``, Eq. 5; the empty labelset is a class).
Source: Sechidis, Nikolaou & Brown 2014. Cost: one two-way count, n·d·(1 + labels per row).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ..engine.base import Engine
from .base import Scores
from .counting import COUNTING, LABELS, Counting, CountingMethod


class MIM(CountingMethod):
    """Mutual information maximisation: R(f) = Σ_l I(f; Y_l), or I(f; labelset)."""

    name = "mim"
    title = "mutual information with each label (or the labelset)"
    source = "Sechidis et al. 2014, Eq. 5 and 7"
    parameters = (*COUNTING, LABELS)

    def score(self, engine: Engine, p: Mapping[str, Any], count: int) -> Scores:
        return Scores(Counting(engine, p).relevance)
