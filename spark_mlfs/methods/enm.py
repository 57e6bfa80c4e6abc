"""ENM: Euclidean norm of the per-label mutual informations.

    score(f) = ‖(I(f; Y_1), …, I(f; Y_q))‖₂

Symbols: f ∈ {0, …, b − 1} one of the v features that vary, discretised into b ≤ ``num_bins`` bins; Y_l ∈ {0, 1} label l of q; I
plug-in mutual information in nats, clipped at 0 (or Miller–Madow), over the rows where label l is known. Score (v,), nats.
Raises: `BudgetError` where the counts exceed ``driverBytes``, or a worker's share ``workerBytes``; `ParameterError` where a
parameter is out of its range.
Source: Gonzalez-Lopez, Ventura & Cano, "Distributed multi-label feature selection using individual mutual information
measures", 2020.
Deviations: none known; unknown labels are an addition.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels import information as info
from ..statistics.base import Reduction
from ..statistics.contingency import Counts
from ..statistics.targets import Labels
from .counting import BY_LABEL, Counting, CountingMethod, dense_parts, informations, stored_parts


@dataclass(frozen=True)
class InformationNorm(Reduction):
    """‖(√w_l I(f; Y_l))_l‖₂, w_l = 1 but for weighted labels."""

    target: Labels
    logs: info.CountLogs

    def __call__(self, counts: Counts) -> np.ndarray:
        target, logs, out = self.target, self.logs, np.empty(counts.count)
        if counts.coding.sparse and target.plain:
            for at, some in stored_parts(counts, True):
                touched, untouched = info.stored_label_information(logs, some, counts.label_rows)
                squares = info.stored_label_sums(some, counts.label_rows, touched**2, lambda r, p: untouched(r, p) ** 2)  # noqa: B023
                out[at] = squares
        else:
            for at, table in dense_parts(counts, 6):
                out[at] = target.summed(informations(target, logs, table) ** 2)
        return np.sqrt(out)


class ENM(CountingMethod):
    """‖(I(f; Y_l))_l‖₂."""

    name = "enm"
    title = "Euclidean norm of the per-label mutual informations"
    source = "Gonzalez-Lopez et al. 2020"
    when = "a feature that tells one label very well shall beat one that tells many a little"
    cost = "one scan"
    parameters = BY_LABEL

    def reduction(self, counting: Counting) -> InformationNorm:
        assert isinstance(counting.target, Labels)
        return InformationNorm(counting.target, counting.logs)
