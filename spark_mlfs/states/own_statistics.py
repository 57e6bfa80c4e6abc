"""Statistics that only states collect: by declared labels, by groups of ids, out of range."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from numpy import ndarray

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.coding import CodedBlock
from ..blocks.identity import content_hashes
from ..blocks.profile import Profile
from ..kernels.hashing import GROUPS, group_of
from ..kernels.matrix import with_values
from ..statistics.base import Statistic
from ..statistics.gram import Gram
from ..statistics.targets import Labels


@dataclass(frozen=True)
class DeclaredLabels(Labels):
    """Groups of all rows and of each label, and of rows whose labels are unknown.

    Group 0: all rows; 1 + l those with label l; where some are `undeclared` 1 + q those of which no
    label is declared, and 2 + q + l those where label l by itself is unknown. So the groups hold
    for whatever labels the rows of other states have, too."""

    undeclared: bool = False

    @property
    def size(self) -> int:
        return 1 + self.q + (1 + self.q if self.undeclared else 0)

    def key(self) -> Any:
        return "told labels", self.undeclared

    def groups(self, block: Block | CodedBlock) -> tuple[ndarray, ndarray]:
        rows, groups = Labels(self.q).groups(block)
        if not self.undeclared:
            return rows, groups
        unlabelled = block.unlabelled_rows()
        of_unlabelled = np.full(len(unlabelled), 1 + self.q)
        unknown_rows, unknown_labels = block.unknown_entries()
        of_unknown = 2 + self.q + unknown_labels.astype(np.int64)
        all_rows = np.concatenate([rows, unlabelled, unknown_rows])
        return all_rows, np.concatenate([groups, of_unlabelled, of_unknown])

    def bounds(self, profile: Profile) -> tuple[int, int]:
        groups_a_row = 1 + profile.most_labels
        cells = profile.nonzero + profile.feature_label_pairs
        if self.undeclared:
            groups_a_row += 1 + profile.most_unknown
            cells += profile.feature_unknown_pairs + profile.unlabelled_stored
        return groups_a_row, cells


@dataclass
class KeyedGrams(Gram):
    """Second moments by the 60 groups of the ids that rows were packed with: equal rows share a
    group, in whatever state."""

    blocks: int = GROUPS
    layout: ClassVar[str] = "rows"  # type: ignore[misc]

    def groups_of(self, block: Block, profile: Profile) -> ndarray:
        return group_of(block.ids)


@dataclass
class OutOfRangeCounts(Statistic, layout="rows", weighted=True, graded=True):
    """Rows in which a feature lies outside its edges, (d,); of a `binary` one also any value but
    0 and 1."""

    low: ndarray
    high: ndarray
    binary: ndarray

    def partial(self, block: Block, profile: Profile) -> State:
        features = np.arange(block.d)
        mass = block.masses(profile)
        if mass is None:
            mass = np.ones(block.n, np.int64)
        if not block.sparse:
            return {"outside": mass @ self._outside(block.x, features)}
        stored = with_values(block.x, np.ones(block.x.nnz, np.int64))
        unstored = mass.sum() - mass @ stored
        outside = with_values(block.x, self._outside(block.x.data, block.x.indices))
        zero_outside = self._outside(np.zeros(block.d), features)
        return {"outside": mass @ outside + unstored * zero_outside}

    def _outside(self, values: ndarray, features: ndarray) -> ndarray:
        """Return 1 for values of these features that are outside, else 0."""
        inside = (values >= self.low[features]) & (values <= self.high[features])
        third_value = self.binary[features] & (values != 0) & (values != 1)
        return np.asarray(~inside | third_value, np.int64)

    def state_bytes(self, profile: Profile) -> int:
        return 8 * profile.d + envelope(1)


@dataclass
class Fingerprint(Statistic, layout="rows", divisible=False, weighted=True, graded=True):
    """The sum of the hashes of the rows' content, modulo 2⁶⁴, as profiles have it.

    The sums of the upper and the lower halves of the hashes are kept."""

    def partial(self, block: Block, profile: Profile) -> State:
        hashes = content_hashes(block)
        halves = [hashes >> np.uint64(32), hashes & np.uint64(2**32 - 1)]
        return {"halves": np.array([int(half.sum()) for half in halves], np.int64)}

    def finish(self, state: State, profile: Profile) -> int:
        upper, lower = map(int, state["halves"])
        return ((upper << 32) + lower) % 2**64

    def state_bytes(self, profile: Profile) -> int:
        return 16 + envelope(1)
