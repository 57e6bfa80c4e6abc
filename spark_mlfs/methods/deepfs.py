"""DeepFS: independent stochastic (hard-concrete) gates in front of a network of one or two hidden
layers.

    min (1/n) Σ_i Σ_l CE(y_il, g_l(z ∘ x_i)) + λ Σ_j p_j,    score p_j
    p_j = P(z_j > 0) = sigmoid(a_j − T ln(0.1/1.1))
    z_j = clip(1.2 s − 0.1, 0, 1),    s = sigmoid((ln u − ln(1 − u) + a_j)/T),    T = 2/3

by Adam in batches, on at most ``sample`` labelled rows (those of the smallest seeded hash of their
ids), z-scored; the parameters of the best epoch count. Not convex: another seed gives another
ranking, correlated features share a gate arbitrarily.
Symbols: x_i (v,) the features that vary in row i of n sampled rows; y_il ∈ {0, 1} label l of q, a
graded one in [0, 1]; g the network, v → ``hidden`` (→ ``hidden2``) → q, ReLU between, sigmoid at
the end; CE the cross-entropy, nats; a_j ∈ ℝ the gate of feature j, u ~ U(0, 1); λ ≥ 0 ``lam``, nats
an open gate. Score (v,), a probability.
Raises: $unlabelled, or the loss is not a number; `BudgetError` where the sample exceeds $budget;
$range.
Source: Louizos, Welling & Kingma 2018; the ``dl-selection`` method that Li & Zhai compare with.
Deviations: none known; how long to train, on how many rows and with which layers is unstated in Li
& Zhai and chosen here."""

from __future__ import annotations

import numpy as np

from ..engine.base import Engine, one_thread
from ..errors import DataError
from ..kernels.scaling import Scaling
from ..params import Integer, Number, Parameter, Values
from ..solvers import gates
from ..statistics.moments import KnownRows, known_range
from ..statistics.sample import SampledRows
from .base import Method, Scores


class DeepFS(Method):
    """Keep probabilities of stochastic gates trained with a small network."""

    name = "deepfs"
    title = "stochastic gates on a small network"
    source = "Louizos, Welling & Kingma 2018"
    when = "relations that are not linear, and time to train; another seed gives another ranking"
    cost = "one scan, a sample"
    stochastic = True
    statistics = (SampledRows, KnownRows)
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

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        (block,) = engine.run(SampledRows(p["sample"], p["seed"]), keep=False)
        low, high = known_range(engine)
        varying = np.flatnonzero(high > low)
        if not block.n:
            raise DataError("no row has all its labels known; deepfs trains on fully known rows")
        x = block.dense()[:, engine.profile.varying[varying]].astype(np.float64)
        # a large mean would drown the digits of a small spread, and equal values are exactly 0
        x -= x.min(axis=0)
        spread = x.std(axis=0)
        x = Scaling.of_rows(x, "standard").apply(x)
        y = block.labels(engine.profile.q).toarray()
        hidden = (p["hidden"], p["hidden2"]) if p["hidden2"] else (p["hidden"],)
        with one_thread():
            solution = gates.deepfs(
                x,
                y,
                hidden,
                p["lam"],
                p["epochs"],
                p["batch"],
                p["rate"],
                p["seed"],
            )
        scores = np.where(spread > 0, solution.weights[:, 0], 0.0)
        return Scores.of_varying(
            scores,
            varying,
            engine.num_features,
            objective=[float(v) for v in solution.objective],
            converged=solution.converged,
            details={"rows_trained_on": block.n},
        )
