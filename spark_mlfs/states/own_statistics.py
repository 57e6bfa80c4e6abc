"""Statistics."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.coding import CodedBlock
from ..blocks.profile import Profile
from ..kernels.hashing import GROUPS, group_of
from ..kernels.matrix import with_values
from ..statistics.base import Statistic
from ..statistics.gram import Gram
from ..statistics.targets import Labels


@dataclass(frozen=True)
class DeclaredLabels(Labels):
    """Group 0: all rows; 1 + l those with label l; where some are `undeclared` 1 + q those whose labels
    are not told at all, and 2 + q + l those where label l by itself is unknown: whatever labels
    other rows have, these are told of them, too."""

    undeclared: bool = False

    @property
    def size(self) -> int:
        return 1 + self.q + (1 + self.q if self.undeclared else 0)

    def key(self) -> Any:
        return "told labels", self.undeclared

    def groups(self, block: Block | CodedBlock) -> tuple[np.ndarray, np.ndarray]:
        rows, groups = Labels(self.q).groups(block)
        if not self.undeclared:
            return rows, groups
        (some, labels), none = block.unknown_entries(), block.unlabelled_rows()
        of_none, of_some = np.full(len(none), 1 + self.q), 2 + self.q + labels.astype(np.int64)
        return np.concatenate([rows, none, some]), np.concatenate([groups, of_none, of_some])

    def bounds(self, profile: Profile) -> tuple[int, int]:
        each, met = 1 + profile.most_labels, profile.nonzero + profile.feature_label_pairs
        if not self.undeclared:
            return each, met
        return (
            each + 1 + profile.most_unknown,
            met + profile.feature_unknown_pairs + profile.unlabelled_stored,
        )


@dataclass
class KeyedGrams(Gram):
    """Second moments by the 60 groups of the ids that rows were packed with: equal rows share a
    group, in whatever state."""

    blocks: int = GROUPS
    layout: ClassVar[str] = "rows"  # type: ignore[misc]

    def groups_of(self, block: Block, profile: Profile) -> np.ndarray:
        return group_of(block.ids)


@dataclass
class OutOfRangeCounts(Statistic, layout="rows", weighted=True, graded=True):
    """(d,) rows in which a feature lies outside its edges."""

    low: np.ndarray
    high: np.ndarray
    two: np.ndarray

    def partial(self, block: Block, profile: Profile) -> State:
        x, mass, every = block.x, block.masses(profile), np.arange(block.d)
        mass = np.ones(block.n, np.int64) if mass is None else mass
        if not block.sparse:
            return {"outside": mass @ self._out(x, every)}
        zeros = mass.sum() - mass @ with_values(x, np.ones(x.nnz, np.int64))  # that are not stored
        return {
            "outside": mass @ with_values(x, self._out(x.data, x.indices))
            + zeros * self._out(np.zeros(block.d), every)
        }

    def _out(self, values: np.ndarray, columns: np.ndarray) -> np.ndarray:
        inside = (values >= self.low[columns]) & (values <= self.high[columns])
        out: np.ndarray = ~inside | (self.two[columns] & (values != 0) & (values != 1))
        return out.astype(np.int64)

    def state_bytes(self, profile: Profile) -> int:
        return 8 * profile.d + envelope(1)
