"""2·I(f; labelset) / (H(f) + H(labelset)).

    score(f) = 2·I(f; Y) / (H(f) + H(Y))

The symmetric uncertainty, a number in [0, 1]; 0 where neither varies. Rows with an unknown label
are left out.
Symbols: $one; Y the labelset as one class of m, the empty one included; $plugin, H entropy, as I:
the score (v,) has no unit.
Raises: $unlabelled; $counts; $range.
Source: Li, Liu, Ma, Mo, Duan, Zhou & Zhao, "Multi-label feature selection via information gain",
ADMA 2014.
Deviations: none known; unknown labels are an addition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..engine.base import Engine
from ..kernels import information as info
from ..params import Values
from ..statistics.base import Reduction, Statistic
from ..statistics.contingency import Counts
from ..statistics.labelsets import LabelsetCounts
from .base import Scores
from .counting import Counting, CountingMethod, known_labelsets


@dataclass(frozen=True)
class CodeEntropy(Reduction):
    """H(f) over the rows in a class."""

    logs: info.CountLogs

    def __call__(self, counts: Counts) -> np.ndarray:
        logs = self.logs
        entropies = np.empty(counts.count)
        if counts.coding.sparse:
            n = int(counts.totals.sum())
            for part, stored in counts.stored(False):
                rows = stored.by_feature(
                    stored.rows
                )  # with a stored code; the others have one code
                terms = stored.by_feature(logs(stored.rows)) + logs(n - rows)
                entropies[part] = logs.nats(logs(n) - terms, n)
        else:
            for part, table in counts.chunks(4):
                entropies[part] = info.entropy(logs, table.sum(axis=2))
        return entropies


class IGMF(CountingMethod):
    """2·I(f; labelset) / (H(f) + H(labelset))."""

    name = "igmf"
    title = "symmetric uncertainty with the labelset"
    source = "Li et al. 2014"
    when = "features with few values beside features with many: informations are normalised"
    cost = "two scans"

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        return [LabelsetCounts()]

    def score(self, engine: Engine, p: Values, count: int) -> Scores:
        sets = known_labelsets(engine)
        counting = Counting(engine, {**p, "label_coding": "lp"})
        entropies = counting.numbers(CodeEntropy(counting.logs))[0]
        entropies += info.entropy(counting.logs, sets.counts)
        scores = np.zeros(engine.num_features)
        np.divide(2 * counting.relevance, entropies, out=scores, where=entropies > 0)
        return Scores(scores)
