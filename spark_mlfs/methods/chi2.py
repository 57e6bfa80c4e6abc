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
from numpy import ndarray

from ..kernels import information as info
from ..kernels import sparse_counts
from ..params import Choice, Parameter
from ..statistics.base import Reduction
from ..statistics.contingency import Counts
from ..statistics.targets import Labels, Target
from .counting import BINNING, LABELS, NUM_BINS, Counting, CountingMethod
from .label_entries import ChiSquares
from .label_settings import LABEL_NOISE, LABEL_WEIGHTS


@dataclass(frozen=True)
class ChiSquare(Reduction):
    """χ², times the `unit` of the rows' weights, against each label, combined by `aggregate`, or
    against the class."""

    target: Target
    aggregate: str
    unit: float

    def __call__(self, counts: Counts) -> ndarray:
        labels = self.target if isinstance(self.target, Labels) else None
        values = np.empty(counts.count)
        if not counts.coding.sparse or (labels is not None and not labels.plain):
            for part, table in counts.chunks(4):
                values[part] = self._of_tables(labels, table)
            return values * self.unit
        for features, stored in counts.stored(labels is not None):
            if labels is None:
                values[features] = sparse_counts.stored_class_chi_square(stored, counts.totals)
                continue
            combine = (
                sparse_counts.largest_stored
                if self.aggregate == "max"
                else sparse_counts.stored_label_sums
            )
            statistics = sparse_counts.stored_chi_square(stored, counts.label_rows)
            values[features] = combine(stored, counts.label_rows, *statistics)
        if labels is not None and self.aggregate == "mean":
            values = values / labels.q
        return values * self.unit

    def _of_tables(self, labels: Labels | None, counts: ndarray) -> ndarray:
        """Return (F,) χ² by dense counts (F, values, groups)."""
        if labels is None:
            return info.class_chi_square(counts)
        aggregate = getattr(np, self.aggregate)
        return aggregate(self._by_label(labels, counts), axis=1)

    def _by_label(self, target: Labels, counts: ndarray) -> ndarray:
        """Return (F, q) χ² of each label, times its weight."""
        unit = 2.0**-target.noise_bits
        counts = target.denoised_counts(counts)
        values = info.chi_square(counts, target.q, target.unknown(counts)) * unit
        return values if target.weights is None else values * np.array(target.weights)


class Chi2(CountingMethod):
    """χ² statistic of feature against each label (sum, mean or maximum over labels), or against the
    labelset."""

    name = "chi2"
    title = "χ² statistic of feature against label"
    source = "Trohidis et al. 2008"
    strength = "χ²"
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

    def measure(self, counting: Counting) -> ChiSquares:
        assert isinstance(counting.target, Labels)
        return ChiSquares(counting.engine.profile.weight_unit * 2.0**-counting.target.noise_bits)
