"""The distinct labelsets, and sums over the rows of each, in one scan.

The labelsets need not be known beforehand."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.grades import BITS as GRADE_BITS
from ..blocks.profile import Profile
from ..kernels import exact, products
from ..kernels.counts import rows_by_group
from .base import Statistic
from .gram import features_of
from .moments import Moments, most_words, provisional_centre, row_parts, unit_of


@dataclass
class Labelsets:
    """The distinct labelsets.

    `hashes` (m,) sorted uint64, `counts` (m,) rows or their units of weight, and their labels as
    CSR; `grades` those of the labels in units of 2⁻¹⁵, where they distinguish labelsets."""

    hashes: ndarray
    counts: ndarray
    indptr: ndarray
    indices: ndarray
    grades: ndarray | None = None

    def matrix(self, q: int) -> sp.csr_matrix:
        """Return the labels as CSR of 0 and 1, or of the grades, (m, q)."""
        values = np.ones(len(self.indices), np.int8)
        if self.grades is not None:
            values = np.ldexp(self.grades.astype(np.float64), -GRADE_BITS)
        return sp.csr_matrix((values, self.indices, self.indptr), (len(self.counts), q))


@dataclass
class LabelsetCounts(
    Statistic, layout="rows", divisible=False, by_labelset=True, weighted=True, graded=True
):
    """The distinct labelsets of the rows whose labels are all known, and how often each occurs.

    `by` ``"labels"``, which are 0 and 1; of graded ones ``"support"``, the labels of a grade above
    0, or ``"grades"``, the distinct rows. State: O(labelsets)."""

    by: str = "labels"

    def takes_grades(self) -> bool:
        return self.by != "labels"

    def hashes(self, block: Block) -> ndarray:
        return block.grades_hash if self.by == "grades" else block.labelset_hash

    def partial(self, block: Block, profile: Profile) -> State:
        hashes = self.hashes(block)
        rows = np.arange(block.n) if block.complete is None else np.flatnonzero(block.complete)
        distinct, first, code = np.unique(hashes[rows], return_index=True, return_inverse=True)
        counts = rows_by_group(rows, code, len(distinct), block.masses(profile))
        by_grades = self.by == "grades"
        values = block.grade_units() if by_grades else np.ones(len(block.label_indices), np.int64)
        cells = (values, block.label_indices, block.label_indptr)
        sets = sp.csr_matrix(cells, shape=(block.n, profile.q))[rows[first]]
        return {
            "hashes": distinct,
            "counts": counts,
            **self._labels_of(sets),
        }

    def _labels_of(self, sets: sp.csr_matrix) -> State:
        """Return the labels of the labelsets, with their grades where labelsets are by these."""
        state = {"indptr": sets.indptr.astype(np.int64), "indices": sets.indices.astype(np.int64)}
        if self.by == "grades":
            state["grades"] = sets.data
        return state

    def merge(self, left: State, right: State) -> State:
        hashes = np.concatenate([left["hashes"], right["hashes"]])
        distinct, first, inverse = np.unique(hashes, return_index=True, return_inverse=True)
        counts = np.concatenate([left["counts"], right["counts"]])
        total = np.bincount(inverse, counts, len(distinct))  # whole, below 2⁵³
        width = 1 + max(int(side["indices"].max(initial=0)) for side in (left, right))
        sets = []
        for side in (left, right):
            ones = np.ones(len(side["indices"]), np.int64)
            values = side["grades"] if self.by == "grades" else ones
            cells = (values, side["indices"], side["indptr"])
            sets.append(sp.csr_matrix(cells, (len(side["hashes"]), width)))
        labels = self._labels_of(sp.vstack(sets, format="csr")[first])
        return {
            "hashes": distinct,
            "counts": total.astype(np.int64),
            **labels,
        }

    def finish(self, state: State, profile: Profile) -> Labelsets:
        return Labelsets(
            state["hashes"],
            state["counts"],
            state["indptr"],
            state["indices"],
            state.get("grades"),
        )

    def state_bytes(self, profile: Profile) -> int:
        sets = profile.most_labelsets
        labels = min(sets * profile.most_labels, int(profile.positive.sum()))
        labels *= 2 if self.by == "grades" else 1
        return 8 * (3 * sets + 1 + labels) + envelope(5)


@dataclass
class LabelsetSums(LabelsetCounts, quantised=True):
    """The `Labelsets` of the known rows, and the `Moments` of the rows of each.

    With ``by="grades"`` by distinct rows of grades. State: 16·m·v bytes, m labelsets; 40 where
    values need a second slice (without `squares` 8, 16)."""

    squares: bool = False

    def partial(self, block: Block, profile: Profile) -> State:
        block = block.known()
        state = super().partial(block, profile)
        codes = np.searchsorted(state["hashes"], self.hashes(block))
        m = len(state["hashes"])
        unit = unit_of(profile)
        wide = profile.n >= exact.WIDE_ROWS
        sums: State = {}
        for number, part in enumerate(row_parts(block)):
            code = codes[number * products.ROWS :][: part.n]
            cells = (np.ones(part.n), (code, np.arange(part.n)))
            member = sp.csr_matrix(cells, shape=(m, part.n))
            coarse, fine = exact.quantised(features_of(part, profile), unit)
            mass = part.masses(profile)
            moments = exact.group_moments(
                coarse,
                fine,
                member,
                self.squares,
                wide,
                mass,
            )
            sums = exact.add(sums, moments)
        return state | sums

    def merge(self, left: State, right: State) -> State:
        out = super().merge(left, right)
        sides = []
        for side in (left, right):
            places = np.searchsorted(out["hashes"], side["hashes"])
            sums = {}
            for name in side.keys() - out.keys():
                sums[name] = np.zeros((len(out["hashes"]), side[name].shape[1]), np.int64)
                sums[name][places] = side[name]
            sides.append(sums)
        return out | exact.add(*sides)

    def finish(  # type: ignore[override]
        self, state: State, profile: Profile
    ) -> tuple[Labelsets, Moments]:
        shape = (len(state["hashes"]), len(profile.varying))
        total, square = exact.sums_of(state, unit_of(profile), shape)
        square = square if self.squares else np.zeros((0, 0))
        moments = Moments(provisional_centre(profile), state["counts"], total, square)
        return super().finish(state, profile), moments

    def state_bytes(self, profile: Profile) -> int:
        words = most_words(profile, profile.weighted, self.squares)
        sums = 8 * words * profile.most_labelsets * len(profile.varying)
        return super().state_bytes(profile) + sums + envelope(10)
