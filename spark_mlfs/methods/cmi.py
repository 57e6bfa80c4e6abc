"""Conditional mutual information: Σ_l I(f; Y_l | X_S), S jointly, or with the labelset as one
class.

    label_coding="br"   J(f) = Σ_l I(f; Y_l | X_S)
    label_coding="lp"   J(f) = I(f; Y | X_S)

Greedy: the first pick maximises J with S empty, which is `mim`'s R. J saturates once the joint
cells of X_S are singletons: picking stops when every J is below 1e-10, the rest follow by R. Rows
alone in their cell, or whose cell agrees on all labels, carry no information and are dropped, so a
pick costs less the further the selection is.
Symbols: $one; S the picked features, X_S their joint value; $label; Y the labelset as one class of
m, the empty one included; I plug-in (conditional) mutual information in nats. Score R (v,); value
of a pick J.
Raises: $coded; `DataError` where a label is unknown and ``label_coding="br"`` (joint cells need
every label of a row).
Source: Sechidis, Nikolaou & Brown 2014, Eq. 4 (br) and Eq. 3 (lp); there "X: none".
Deviations: the stop at 1e-10, which the paper does not have: gains below it are rounding."""

from __future__ import annotations

import numpy as np

from ..engine.base import Engine
from ..errors import DataError
from ..params import Values
from ..solvers.pool import Path, Pool
from ..solvers.units import UNCONSTRAINED, PickConstraints
from ..statistics.base import Statistic
from ..statistics.joint import CellInformation
from .base import Scores
from .counting import COUNTING, LABELS, Counting, CountingMethod, picking

SATURATED = 1e-10


class CMI(CountingMethod):
    """Conditional mutual information: Σ_l I(f; Y_l | X_S), S jointly, or with the labelset as one
    class."""

    name = "cmi"
    title = "conditional mutual information given all picked features"
    source = "Sechidis et al. 2014, Eq. 3 and 4"
    when = (
        "a handful of features that together say most: it looks at all picks jointly, and "
        "saturates early"
    )
    cost = "one count a pick"
    parameters = (*COUNTING, LABELS)
    greedy = True
    conditions = True

    def later(self, engine: Engine, p: Values) -> list[Statistic]:
        return [joint_cells(engine, p)]

    def score(
        self,
        engine: Engine,
        p: Values,
        count: int,
        terms: PickConstraints = UNCONSTRAINED,
    ) -> Scores:
        if engine.profile.has_unknown and p["label_coding"] == "br":
            raise DataError(
                "cmi needs every label known (joint cells cannot be counted over observed pairs): "
                "fill the unknown labels, drop such rows, or use jmi"
            )
        return select_jointly(Counting(engine, p), count, terms)


def joint_cells(engine: Engine, p: Values) -> CellInformation:
    """Return a statistic of the size of those that `select_jointly` asks for."""
    counting = Counting(engine, {**p, "label_coding": "br"})
    return CellInformation(counting.coding, counting.target, (0,), counting.logs)


def select_jointly(counting: Counting, count: int, terms: PickConstraints) -> Scores:
    """Pick by I(f; target | X_S) until every gain is below 1e-10."""
    engine = counting.engine
    relevance = counting.relevance

    def revalue(pick: int, path: Path) -> np.ndarray:
        path.requested += 1
        path.used += 1
        return engine.cell_information(
            counting.coding, counting.target, tuple(path.picks), counting.logs
        )

    pool = Pool(len(relevance), count, terms, SATURATED)
    return Scores(relevance, pool.run(relevance, revalue, count, picking(engine)))
