"""Geometric mean over the labels of I(f; Y_l), each floored at 1e-12.

    score(f) = (Π_{l∈L} max(I(f; Y_l), 1e-12))^(1/|L|)

Symbols: $one; $label; L the labels that take both values; $plugin, over the rows where label l is
known. Score (v,), nats.
Raises: $counts; $range.
Source: $measures.
Deviations: labels with one value are left out; the floor at 1e-12: one label without information
does not make features equal."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy import ndarray

from ..kernels import information as info
from ..kernels import sparse_counts
from ..statistics.base import Reduction
from ..statistics.contingency import Counts
from ..statistics.targets import Labels
from .counting import Counting, CountingMethod

FLOOR = 1e-12


@dataclass(frozen=True)
class GeometricMean(Reduction):
    """The geometric mean of max(I(f; Y_l), 1e-12) over the labels of `both` values."""

    target: Labels
    both: ndarray
    correction: str

    def __call__(self, counts: Counts) -> ndarray:
        target = self.target
        logarithms = np.zeros(counts.count)
        if not self.both.any():
            return logarithms
        if counts.coding.sparse and not target.watch:
            for part, stored in counts.stored(True):
                logarithms[part] = self._of_stored(stored, counts.label_rows)
        else:
            for part, table in counts.chunks(8):
                informations = info.small_label_information(
                    table, target.q, target.unknown(table), self.correction
                )[:, self.both]
                # a sum's bits go by the layout, and that of one feature is another
                informations = np.ascontiguousarray(informations)
                logarithms[part] = np.log(np.maximum(informations, FLOOR)).mean(axis=1)
        return np.exp(logarithms)

    def _of_stored(
        self, stored: sparse_counts.StoredCounts, rows: sparse_counts.LabelRows
    ) -> ndarray:
        """Return the mean logarithms of features by their stored values; a label without both
        values adds 0 to the sums."""

        def logarithm(informations: ndarray, positive: ndarray) -> ndarray:
            both = (positive > 0) & (positive < rows.n)
            return np.where(both, np.log(np.maximum(informations, FLOOR)), 0.0)

        pair_values, unstored = sparse_counts.small_stored_information(
            stored, rows, self.correction
        )
        sums = sparse_counts.stored_label_sums(
            stored,
            rows,
            logarithm(pair_values, rows.positive[stored.pairs()[1]]),
            lambda r, p: logarithm(unstored(r, p), p),
        )
        return sums / np.count_nonzero(self.both)


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
