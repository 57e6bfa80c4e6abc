"""‖(I(f; Y_l))_l‖₂.

    score(f) = ‖(I(f; Y_1), …, I(f; Y_q))‖₂

Symbols: $one; $label; $plugin, clipped at 0, over the rows where label l is known. Score (v,),
nats.
Raises: $counts; $range.
Source: $measures.
Deviations: none known; unknown labels are an addition."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels import information as info
from ..kernels import sparse_counts
from ..statistics.base import Reduction
from ..statistics.contingency import Counts
from ..statistics.targets import Labels
from .counting import BY_LABEL, Counting, CountingMethod
from .label_entries import informations


@dataclass(frozen=True)
class InformationNorm(Reduction):
    """‖(√w_l I(f; Y_l))_l‖₂, w_l = 1 but for weighted labels."""

    target: Labels
    logs: info.CountLogs

    def __call__(self, counts: Counts) -> np.ndarray:
        target = self.target
        squares = np.empty(counts.count)
        if counts.coding.sparse and target.plain:
            for part, stored in counts.stored(True):
                squares[part] = self._stored_squares(stored, counts.label_rows)
        else:
            for part, table in counts.chunks(6):
                squares[part] = target.summed(informations(target, self.logs, table) ** 2)
        return np.sqrt(squares)

    def _stored_squares(
        self, stored: sparse_counts.StoredCounts, rows: sparse_counts.LabelRows
    ) -> np.ndarray:
        pair_values, unstored = sparse_counts.stored_label_information(self.logs, stored, rows)
        return sparse_counts.stored_label_sums(
            stored, rows, pair_values**2, lambda r, p: unstored(r, p) ** 2
        )


class ENM(CountingMethod):
    """‖(I(f; Y_l))_l‖₂."""

    name = "enm"
    title = "Euclidean norm of the per-label mutual informations"
    source = "Gonzalez-Lopez et al. 2020"
    when = "a feature that tells one label very well shall beat one that tells many a little"
    parameters = BY_LABEL

    def reduction(self, counting: Counting) -> InformationNorm:
        assert isinstance(counting.target, Labels)
        return InformationNorm(counting.target, counting.logs)
