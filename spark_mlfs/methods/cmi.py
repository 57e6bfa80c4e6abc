"""CMI: conditional mutual information.

Greedy: the first pick maximises R (MIM); then Σ_l I(f; Y_l | X_S) (``labels="br"``, Eq. 4) or I(f; labelset | X_S) (``"lp"``,
Eq. 3), S jointly. It saturates once the joint cells of X_S are singletons: picking stops when every gain is below 1e-10, the
rest follow by R. Source: Sechidis, Nikolaou & Brown 2014 (there "X: none"). Rows alone in their cell, or whose cell agrees on
all labels, carry no information and are dropped, so a pick costs less the further the selection is.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ..engine.base import Engine
from ..errors import DataError
from ..solvers import greedy
from .base import Scores
from .counting import COUNTING, LABELS, Counting, CountingMethod

SATURATED = 1e-10


class CMI(CountingMethod):
    """Conditional mutual information: Σ_l I(f; Y_l | X_S), S jointly, or with the labelset as one class."""

    name = "cmi"
    title = "conditional mutual information given all picked features"
    source = "Sechidis et al. 2014, Eq. 3 and 4"
    parameters = (*COUNTING, LABELS)
    greedy = True

    def score(self, engine: Engine, p: Mapping[str, Any], count: int) -> Scores:
        if engine.profile.has_unknown and p["labels"] == "br":
            raise DataError(
                "cmi needs every label known (joint cells cannot be counted over observed pairs): fill the unknown labels, "
                "drop such rows, or use jmi"
            )
        return select_jointly(Counting(engine, p), count)


def select_jointly(counting: Counting, count: int) -> Scores:
    """Greedy selection by I(f; target | X_S) until every gain is below 1e-10."""
    relevance = counting.relevance
    open_ = np.ones(len(relevance), bool)
    path = greedy.Path([], [])
    gains = relevance
    while len(path.picks) < min(count, len(relevance)):
        winner = greedy.best(gains, open_)
        if path.picks and gains[open_].max() < SATURATED:
            break
        path.picks.append(winner)
        path.gains.append(float(gains[winner]))
        open_[winner] = False
        if counting.engine.progress:
            counting.engine.progress("features picked", len(path.picks), count)
        if len(path.picks) < min(count, len(relevance)):
            gains = counting.engine.cell_information(counting.coding, counting.target, tuple(path.picks), counting.logs)
            path.asked += 1
            path.used += 1
    return Scores(relevance, path)
