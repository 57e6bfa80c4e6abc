"""A sample of the labelled rows, the same on any cluster: those whose ids have the smallest seeded hashes."""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass, field

import numpy as np

from ..prepare.blocks import Block, Profile, concatenate, mix
from .base import State, Statistic, decode


@dataclass
class SampledRows(Statistic):
    """A `Block` of `count` rows (all, where there are fewer) in the order of their ids. State: the rows themselves."""

    count: int
    seed: int = 0
    layout: str = field(default="spans", init=False)
    divisible: bool = field(default=False, init=False)

    def key(self) -> Hashable:
        return "sample", self.count, self.seed

    def _best(self, block: Block) -> Block:
        if block.n > self.count:
            order = np.lexsort((block.ids, mix(block.ids, self.seed)))[: self.count]
            block = block.take(np.sort(order))
        return block.take(np.argsort(block.ids, kind="stable"))

    def partial(self, block: Block, profile: Profile) -> State:
        complete = block.complete
        if complete is not None:
            block = block.take(np.flatnonzero(complete))
        return {"rows": np.frombuffer(bytes(self._best(block).encode()), np.uint8)}

    def merge(self, left: State, right: State) -> State:
        blocks = [Block.from_state(decode(side["rows"].tobytes())) for side in (left, right)]
        return {"rows": np.frombuffer(bytes(self._best(concatenate(blocks)).encode()), np.uint8)}

    def finish(self, state: State, profile: Profile) -> Block:
        return Block.from_state(decode(state["rows"].tobytes()))

    def state_bytes(self, profile: Profile) -> int:
        return int(profile.size * min(1.0, self.count / max(1, profile.n))) + (1 << 16)
