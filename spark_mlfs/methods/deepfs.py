"""DeepFS: independent stochastic (hard-concrete) gates in front of a network of one or two hidden layers; score the keep
probability.

Mean summed cross-entropy + lam · Σ P(gate open), by Adam, on at most ``sample`` labelled rows (those of the smallest seeded hash
of their ids), z-scored. The least of this family: not convex, another seed gives another ranking, correlated features share a
gate arbitrarily. Source: the ``dl-selection`` method the MSFS paper compares with; Louizos, Welling & Kingma 2018.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ..blocks.block import Block
from ..engine.base import Engine, one_thread
from ..errors import DataError
from ..params import Integer, Number, Parameter
from ..solvers import gates
from ..statistics.moments import known_range
from ..statistics.sample import SampledRows
from .base import Method, Scores


class DeepFS(Method):
    """Keep probabilities of stochastic gates trained with a small network."""

    name = "deepfs"
    title = "stochastic gates on a small network"
    source = "Louizos, Welling & Kingma 2018"
    stochastic = True
    parameters = (
        Parameter("hidden", 32, Integer(1), "width of the hidden layer"),
        Parameter("hidden2", 0, Integer(0), "width of a second hidden layer; 0: none"),
        Parameter("lam", 0.05, Number(0), "price of an open gate"),
        Parameter("epochs", 100, Integer(1), "passes over the sample at most"),
        Parameter("batch", 64, Integer(1), "rows a step"),
        Parameter("rate", 0.01, Number(0, above=True), "Adam's learning rate"),
        Parameter("sample", 10_000, Integer(2), "rows trained on at most"),
        Parameter("seed", 0, Integer(0, 2**31 - 1), "seed of the sample, the start and the draws"),
    )

    def score(self, engine: Engine, p: Any, count: int) -> Scores:
        (block,) = engine.run(SampledRows(p["sample"], p["seed"]), keep=False)
        low, high = known_range(engine)
        places = np.flatnonzero(high > low)
        found = Train(dict(p), engine.profile.varying[places], engine.profile.q)(block)
        told = {"objective": found.objective, "converged": found.converged, "details": found.details}
        return Scores.of_varying(found.values, places, engine.num_features, **told)


@dataclass(frozen=True)
class Train:
    """The network on a sample of rows."""

    p: dict[str, Any]
    varying: np.ndarray
    q: int

    def __call__(self, block: Block) -> Scores:
        p = self.p
        if not block.n:
            raise DataError("no row has all its labels known; deepfs trains on fully known rows")
        x = block.dense()[:, self.varying].astype(np.float64)
        x -= x.min(axis=0)  # a large mean would drown the digits of a small spread, and equal values are exactly 0
        spread = x.std(axis=0)
        x = (x - x.mean(axis=0)) / np.where(spread > 0, spread, 1.0)
        y = block.labels(self.q).toarray()
        hidden = (p["hidden"], p["hidden2"]) if p["hidden2"] else (p["hidden"],)
        with one_thread():
            found = gates.deepfs(x, y, hidden, p["lam"], p["epochs"], p["batch"], p["rate"], p["seed"])
        values = np.where(spread > 0, found.weights[:, 0], 0.0)
        objective = [float(v) for v in found.objective]
        return Scores(values, objective=objective, converged=found.converged, details={"rows_trained_on": block.n})
