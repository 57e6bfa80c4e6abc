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
        logs, out = self.logs, np.empty(counts.count)
        if counts.coding.sparse:
            n = int(counts.totals.sum())
            for at, some in counts.stored(False):
                codes = some.by_feature(logs(some.rows)) + logs(n - some.by_feature(some.rows))
                out[at] = logs.nats(logs(n) - codes, n)
        else:
            for at, table in counts.chunks(4):
                out[at] = info.entropy(logs, table.sum(axis=2))
        return out


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
        spread = counting.numbers(CodeEntropy(counting.logs))[0]
        spread += info.entropy(counting.logs, sets.counts)
        return Scores(
            np.divide(
                2 * counting.relevance, spread, out=np.zeros(engine.num_features), where=spread > 0
            )
        )
