"""χ² statistic of feature against each label (sum, mean or maximum over labels), or against the
labelset.

    χ²(f, l) = Σ_{a,y} (O_ay − E_ay)²/E_ay,    E_ay = O_a· O_·y / O_··

``label_coding="br"``: score Σ_l χ²(f, l), its mean over all q labels, or max_l, by ``aggregate``;
``"lp"``: χ² against the labelset as one class. Cells with E = 0 are skipped. For a 2 × 2 table χ² =
n·r², r the correlation.
Symbols: $one; a its value; y ∈ {0, 1} that of label l of q, or one of m labelsets, the empty one
included; O_ay rows with both (of label l: of those where it is known), a dot sums. Score (v,),
without unit.
Raises: $coded.
Source: Trohidis, Tsoumakas, Kalliris & Vlahavas 2008.
Deviations: none known; the sum over the labels ranks as the mean does."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..kernels import information as info
from ..kernels import sparse_counts
from ..params import Choice, Parameter
from ..statistics.base import Reduction
from ..statistics.contingency import Counts
from ..statistics.targets import NOISE_BITS, Labels, Target
from .counting import BINNING, LABELS, NUM_BINS, Counting, CountingMethod
from .label_settings import LABEL_NOISE, LABEL_WEIGHTS


@dataclass(frozen=True)
class ChiSquare(Reduction):
    """χ², times the `unit` of the rows' weights, against each label, combined by `aggregate`, or
    against the class."""

    target: Target
    aggregate: str
    unit: float

    def __call__(self, counts: Counts) -> np.ndarray:
        labels, out = (
            self.target if isinstance(self.target, Labels) else None,
            np.empty(counts.count),
        )
        if not counts.coding.sparse or (labels is not None and not labels.plain):
            over = getattr(np, self.aggregate)
            for at, table in counts.chunks(4):
                out[at] = (
                    info.class_chi_square(table)
                    if labels is None
                    else over(self._each(labels, table), axis=1)
                )
            return out * self.unit
        for at, some in counts.stored(labels is not None):
            if labels is None:
                out[at] = sparse_counts.stored_class_chi_square(some, counts.totals)
                continue
            combine = (
                sparse_counts.largest_stored
                if self.aggregate == "max"
                else sparse_counts.stored_label_sums
            )
            out[at] = combine(
                some, counts.label_rows, *sparse_counts.stored_chi_square(some, counts.label_rows)
            )
        return (
            out / labels.q if labels is not None and self.aggregate == "mean" else out
        ) * self.unit

    def _each(self, target: Labels, counts: np.ndarray) -> np.ndarray:
        """(F, q) χ² of each label, times its weight."""
        unit = 1.0 if target.noise is None else 2.0**-NOISE_BITS
        counts = target.denoised_counts(counts)
        each = info.chi_square(counts, target.q, target.unknown(counts)) * unit
        return each if target.weights is None else each * np.array(target.weights)


class Chi2(CountingMethod):
    """χ² statistic of feature against each label (sum, mean or maximum over labels), or against the
    labelset."""

    name = "chi2"
    title = "χ² statistic of feature against label"
    source = "Trohidis et al. 2008"
    when = "counts or categories, very many features, one pass; a filter in front of other methods"
    parameters = (
        NUM_BINS,
        BINNING,
        LABELS,
        Parameter(
            "aggregate",
            "sum",
            Choice(("sum", "mean", "max")),
            "how the labels' statistics are combined (br only)",
        ),
        LABEL_WEIGHTS,
        LABEL_NOISE,
    )

    def reduction(self, counting: Counting) -> ChiSquare:
        return ChiSquare(
            counting.target, counting.p["aggregate"], counting.engine.profile.weight_unit
        )
