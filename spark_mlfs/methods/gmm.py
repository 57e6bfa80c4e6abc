"""GMM: geometric mean of the per-label mutual informations.

    score(f) = (Π_{l∈L} max(I(f; Y_l), 1e-12))^(1/|L|)

Symbols: $one; $label; L the labels that take both values; $plugin, over the rows where label l is known. Score (v,), nats.
Raises: $counts; $range.
Source: $measures.
Deviations: labels with one value are left out; the floor at 1e-12: one label without information does not make features equal.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels import information as info
from ..statistics.base import Reduction
from ..statistics.contingency import Counts
from ..statistics.targets import Labels
from .counting import Counting, CountingMethod

FLOOR = 1e-12


@dataclass(frozen=True)
class GeometricMean(Reduction):
    """The geometric mean of max(I(f; Y_l), 1e-12) over the labels of `both` values."""

    target: Labels
    both: np.ndarray
    correction: str

    def __call__(self, counts: Counts) -> np.ndarray:
        target, out = self.target, np.zeros(counts.count)
        if not self.both.any():
            return out
        if counts.coding.sparse and not target.watch:
            rows = counts.label_rows

            def logarithm(each: np.ndarray, p: np.ndarray) -> np.ndarray:
                return np.where((p > 0) & (p < rows.n), np.log(np.maximum(each, FLOOR)), 0.0)

            for at, some in counts.stored(True):
                touched, untouched = info.small_stored_information(some, rows, self.correction)
                met = logarithm(touched, rows.positive[some.pairs()[1]])
                sums = info.stored_label_sums(some, rows, met, lambda r, p: logarithm(untouched(r, p), p))  # noqa: B023
                out[at] = sums / np.count_nonzero(self.both)
        else:
            for at, table in counts.chunks(8):
                each = info.small_label_information(table, target.q, target.unknown(table), self.correction)[:, self.both]
                each = np.ascontiguousarray(each)  # a sum's bits go by the layout, and that of one feature is another
                out[at] = np.log(np.maximum(each, FLOOR)).mean(axis=1)
        return np.exp(out)


class GMM(CountingMethod):
    """Geometric mean over the labels of I(f; Y_l), each floored at 1e-12."""

    name = "gmm"
    title = "geometric mean of the per-label mutual informations"
    source = "Gonzalez-Lopez et al. 2020"
    when = "a feature shall say something of every label"

    def reduction(self, counting: Counting) -> GeometricMean:
        profile = counting.engine.profile
        both = (profile.positive > 0) & (profile.positive < profile.observed)  # weights are above 0
        assert isinstance(counting.target, Labels)
        return GeometricMean(counting.target, both, counting.correction)
