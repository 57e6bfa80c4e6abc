"""Rows in an order that depends on their ids alone, for float sums that have one value whatever the partitioning."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from .block import Block
from .profile import Profile
from .rowhash import GROUPS, group_of


@dataclass(frozen=True)
class Spans:
    """How rows are put in an order that depends on their ids alone: `count` spans of consecutive groups, each sorted by row id
    and cut into chunks of `rows`. `count` divides 60."""

    count: int
    rows: int

    @staticmethod
    def of(profile: Profile, blocks: int = 1) -> Spans:
        """Spans of at least a thousand rows or so, their number a multiple of `blocks`; chunks of at most 8 MB of float64."""
        wanted = max(1, profile.n // 1024)
        fitting = [s for s in (1, 2, 3, 4, 5, 6, 10, 12, 15, 20, 30, GROUPS) if s % blocks == 0]
        count = next((s for s in fitting if s >= wanted), GROUPS)
        width = max(1, int(profile.d * max(profile.density, 0.05)) if profile.sparse else profile.d)
        return Spans(count, min(2048, max(128, (8 << 20) // (8 * width))))

    def number(self, ids: np.ndarray) -> np.ndarray:
        """The span of each row id."""
        return group_of(ids) * self.count // GROUPS

    def split(self, block: Block) -> Iterator[tuple[int, Block]]:
        """The rows of a block by span, each span sorted by row id."""
        span = self.number(block.ids)
        order = np.lexsort((block.ids, span))
        span = span[order]
        edges = np.flatnonzero(np.concatenate([[True], span[1:] != span[:-1], [True]]))
        for a, z in zip(edges[:-1], edges[1:], strict=True):
            yield int(span[a]), block.take(order[a:z])

    def chunks(self, span: Block) -> Iterator[Block]:
        """A whole sorted span in chunks of nearly equal size."""
        pieces = max(1, -(-span.n // self.rows))
        cuts = [span.n * i // pieces for i in range(pieces + 1)]
        for a, z in zip(cuts[:-1], cuts[1:], strict=True):
            yield span if pieces == 1 else span.part(a, z)
