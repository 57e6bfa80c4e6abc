"""Sums by fold of the rows whose labels are all known: second moments, and what a feature alone says of the labels held out.

A row's fold goes by its id, or without ids by its features (`blocks.folds.fold_of`): equal rows share a fold. Exact sums of
quantised values, as of `statistics.gram` and `statistics.moments`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
import scipy.sparse as sp

from ..blocks.block import Block
from ..blocks.codec import State
from ..blocks.folds import fold_of
from ..blocks.grades import BITS
from ..blocks.profile import Profile
from ..kernels.folds import FoldSums, alone
from ..kernels.information import PairMoments
from ..kernels.sketch import sign_sketch
from .base import Reduction
from .gram import Gram, sums_of
from .moments import Moments
from .targets import Labels, Target


@dataclass
class FoldGrams(Gram):
    """`FoldSums` of the folds that have rows, of the features at the places `features` among the varying ones (None: all). With
    `sketch` = r above 0 r columns of the labels' sketch, in which label l counts `sizes`[l] times, stand for the labels. State:
    8·F·(2v² + 2vq + 2q) bytes."""

    blocks: int = 5
    sizes: np.ndarray | None = None
    features: np.ndarray | None = None
    layout = "rows"
    across = False

    def seen(self, profile: Profile) -> Profile:
        """The profile of the features it is about."""
        return profile if self.features is None else profile.only(profile.varying[self.features])

    def groups_of(self, block: Block, profile: Profile) -> np.ndarray:
        return fold_of(block, self.blocks, profile)

    def partial(self, block: Block, profile: Profile) -> State:
        return super().partial(block, self.seen(profile))

    def labels(self, block: Block, profile: Profile) -> sp.csr_matrix:
        if self.sketch:
            return sign_sketch(block.label_indptr, block.label_indices, self.sketch, self.sizes)
        return super().labels(block, profile)

    def finish(self, state: State, profile: Profile) -> FoldSums:  # type: ignore[override]
        profile, q = self.seen(profile), self.outputs(profile)
        present = sorted({int(name.split()[0]) for name in state})
        sums = [sums_of(state, profile, f"{fold} ", q) for fold in present]
        n = np.array([float(each["n"].item()) for each in sums])
        sum_x, xx, sum_y, yy, xy = (np.array([each[name] for each in sums]) for name in ("sum_x", "xx", "sum_y", "yy", "xy"))
        return FoldSums(n, sum_x, xx, sum_y, yy, xy, tuple(present))

    def state_bytes(self, profile: Profile) -> int:
        return super().state_bytes(self.seen(profile))


@dataclass(frozen=True)
class FoldedLabels(Target):
    """Of the rows of fold f whose labels are all known group f·(1 + q) is all, f·(1 + q) + 1 + l those with label l."""

    q: int
    folds: int
    profile: Profile = field(compare=False, repr=False)

    @property
    def size(self) -> int:
        return self.folds * (1 + self.q)

    def groups(self, block: Block) -> tuple[np.ndarray, np.ndarray]:
        rows, groups = Labels(self.q, only_known=True).groups(block)
        return rows, fold_of(block, self.folds, self.profile)[rows] * (1 + self.q) + groups

    def grade_units(self, block: Block) -> np.ndarray:
        """As `Labels.grade_units`."""
        return Labels(self.q, only_known=True).grade_units(block)

    def bounds(self, profile: Profile) -> tuple[int, int]:
        return 1 + profile.most_labels, profile.nonzero + profile.feature_label_pairs

    def totals(self, profile: Profile) -> np.ndarray:
        return np.zeros(self.size, np.int64)  # nobody asks for them


CELLS = 1 << 19  # pairs of features and labels that are looked at together


@dataclass(frozen=True)
class Alone(Reduction):
    """J of each feature alone (`kernels.folds.alone`), NaN of a constant one, from the moments of `FoldedLabels` in units of
    `unit` rows; `base` the sums of no features, `weights` (q,) of the labels."""

    base: FoldSums
    weights: np.ndarray
    penalty: float
    unit: float

    def __call__(self, moments: Moments | PairMoments) -> np.ndarray:
        q, present = len(self.weights), list(self.base.folds)
        folds = present[-1] + 1
        if isinstance(moments, PairMoments):
            fold, group = np.divmod(moments.group, 1 + q)
            kept, all_ = group > 0, np.zeros((2, moments.count, folds))
            for sums, values in zip(all_, (moments.total, moments.square), strict=True):
                sums[moments.feature[~kept], fold[~kept]] = values[~kept]
            keys, at = np.unique(moments.feature[kept] * q + group[kept] - 1, return_inverse=True)
            met = np.zeros((len(keys), folds))
            met[at, fold[kept]] = moments.total[kept]
            return self._of(all_[0], all_[1], np.stack(np.divmod(keys, q)), met)
        total, square = (np.moveaxis(m.reshape(-1, 1 + q, m.shape[1]), 2, 0) for m in (moments.total, moments.square))
        out = []  # (v, F, 1 + q)
        for first in range(0, len(total), step := max(1, CELLS // q)):
            some = slice(first, first + step)
            met = np.moveaxis(total[some, :folds, 1:], 1, 2).reshape(-1, folds)
            pairs = np.stack(np.divmod(np.arange(len(met)), q))
            out.append(self._of(total[some, :folds, 0], square[some, :folds, 0], pairs, met))
        return np.concatenate(out)

    def _of(self, total: np.ndarray, square: np.ndarray, pairs: np.ndarray, met: np.ndarray) -> np.ndarray:
        total, square, met = (each[:, list(self.base.folds)] * self.unit for each in (total, square, met))
        return alone(self.base, self.weights, self.penalty, total, square, pairs, met)


def unit_of_moments(profile: Profile) -> float:
    """How many rows a row of `FoldedLabels` counts for a unit of."""
    return profile.weight_unit * (2.0**-BITS if profile.graded else 1.0)
