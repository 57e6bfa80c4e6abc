"""A sample of the labelled rows, the same on any cluster.

Those rows whose ids have the smallest seeded hashes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..blocks.block import Block, concatenate
from ..blocks.codec import State, decode, envelope
from ..blocks.profile import Profile
from ..kernels.hashing import GROUPS, mix
from .base import Statistic

PART = 64  # rows of a part at least, on average: smaller ones are joined


def rows_bytes(profile: Profile, rows: int) -> int:
    """Return the most bytes of so many rows as parts of a state."""
    parts = min(rows, profile.n // PART + GROUPS)
    return profile.rows_bytes(rows) + parts * (envelope(9) + envelope(1)) + envelope(1)


@dataclass
class SampledRows(Statistic, layout="identified", divisible=False, graded=True):
    """A `Block` of `count` rows (all, where there are fewer) in the order of their ids.

    State: the rows themselves."""

    count: int
    seed: int = 0

    def _best(self, block: Block) -> Block:
        if block.n > self.count:
            order = np.lexsort((block.ids, mix(block.ids, self.seed)))[: self.count]
            block = block.take(np.sort(order))
        return block.take(np.argsort(block.ids, kind="stable"))

    def partial(self, block: Block, profile: Profile) -> State:
        return self.pack(self._best(block.known()))

    @staticmethod
    def pack(block: Block) -> State:
        """Return rows as a state: parts that lie side by side until they are too many."""
        if not block.n:
            return {"n": 0}
        return {"n": block.n, "0": np.frombuffer(bytes(block.encode()), np.uint8)}

    @staticmethod
    def _parts(state: State) -> list[np.ndarray]:
        return [value for name, value in state.items() if name != "n"]

    def _joined(self, state: State) -> Block:
        parts = [Block.from_state(decode(part.tobytes())) for part in self._parts(state)]
        return self._best(concatenate(parts))

    def merge(self, left: State, right: State) -> State:
        parts = self._parts(left) + self._parts(right)
        n = left["n"] + right["n"]
        out: State = {"n": n, **{str(i): part for i, part in enumerate(parts)}}
        too_many = n > 2 * self.count or len(parts) > n // PART + GROUPS
        return self.pack(self._joined(out)) if too_many else out

    def finish(self, state: State, profile: Profile) -> Block:
        return self._joined(state) if state["n"] else Block.empty(profile.d)

    def state_bytes(self, profile: Profile) -> int:
        return rows_bytes(profile, 2 * self.count)


@dataclass
class AllRows(SampledRows, weighted=True):
    """All rows whose labels are known, of `count` rows, with the weights they have.

    Result and state as of `SampledRows`."""
