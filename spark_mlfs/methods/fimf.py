"""R(f) − Σ over pairs of the highest-entropy labels of co(f, l, l').

    score(f) = R(f) − Σ_{l<l', both in Q} co(f, l, l')
    R(f) = Σ_l I(f; Y_l),    co(f, l, l') = I(f; Y_l) − I(f; Y_l | Y_l')

One pass, no greedy search. R is over all q labels, the pairs are unordered and over Q alone.
Symbols: $one; $label; Q the ``num_labels`` labels of highest entropy H(Y_l) (ties by index);
$plugin, in R over the rows where label l is known, in co, the interaction information, over the
rows whose labels are all known. Score (v,), nats.
Raises: $pairs.
Source: Lee & Kim, "Fast multi-label feature selection based on information-theoretic feature
ranking", 2015.
Deviations: none; unknown labels are an addition."""

from __future__ import annotations

import numpy as np

from ..engine.base import Engine
from ..kernels import information as info
from ..params import Integer, Parameter, Values
from .base import Scores
from .counting import COUNTING, Counting, CountingMethod


class FIMF(CountingMethod):
    """R(f) − Σ over pairs of the highest-entropy labels of co(f, l, l')."""

    name = "fimf"
    title = "relevance less interaction of the highest-entropy labels"
    source = "Lee & Kim 2015"
    when = "very many labels, one pass: only those of the highest entropy interact"
    cost = "one scan, and label pairs"
    parameters = (
        *COUNTING,
        Parameter("num_labels", 10, Integer(0), "how many labels of highest entropy are paired"),
    )

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        counting = Counting(engine, p)
        profile = engine.profile
        negative = profile.observed_total - profile.positive_total
        rows = np.stack([profile.positive_total, negative], axis=1)
        entropies = np.round(info.entropy(counting.logs, rows), 12)
        order = np.argsort(-entropies, kind="stable")
        labels = tuple(sorted(int(label) for label in order[: p["num_labels"]]))
        return Scores(counting.relevance - counting.label_pairs(labels)[0])
