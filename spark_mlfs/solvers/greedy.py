"""Greedy forward selection with look-ahead.

The caller supplies the terms that link a candidate f to a feature s already picked. They are
requested in batches, for the new winner and those most likely to win next, and kept until their
turn comes. The picks are those of requesting one by one."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy import ndarray

from .pool import Path, Pool, Progress
from .units import UNCONSTRAINED, PickConstraints

Links = Callable[[Sequence[int]], Mapping[int, Any]]


@dataclass
class _LookAhead:
    """Links of the features that are picked or may be picked next, `ahead` of them a request."""

    links: Links
    pool: Pool
    costs: tuple[float, ...] | None
    ahead: int

    def __post_init__(self) -> None:
        self.unused: dict[int, Any] = {}

    def link(self, winner: int, values: ndarray, path: Path) -> Any:
        """Return the link of the winner, requested with those likely to win next by `values`."""
        if winner not in self.unused:
            features = [winner]
            if self.ahead > 1:
                if path.batches and path.used >= 0.8 * path.requested:
                    self.ahead = self.ahead * 3 // 2
                features += self._likely(values)
            self.unused.update(self.links(features))
            path.requested += len(features)
            path.batches.append(len(features))
        path.used += 1
        return self.unused.pop(winner)

    def _likely(self, values: ndarray) -> list[int]:
        """Return the open features most likely to win next of which no link is there."""
        pool = self.pool
        worth = values if self.costs is None else values / np.array(self.costs)
        order = np.argsort(-np.where(pool.open, worth, -np.inf), kind="stable")
        # the winner has a place of the batch, and the last pick needs no link
        most = min(self.ahead, max(1, pool.remaining), int(pool.open.sum()) + 1) - 1
        likely: list[int] = []
        for f in map(int, (*pool.queue, *order)):
            if len(likely) >= most:
                break
            if pool.open[f] and f not in self.unused and f not in likely:
                likely.append(f)
        return likely


def forward(
    first: ndarray,
    term: Callable[[int, Any], ndarray],
    criterion: Callable[[ndarray, int], ndarray],
    links: Links,
    count: int,
    ahead: int = 1,
    progress: Progress = None,
    constraints: PickConstraints = UNCONSTRAINED,
) -> Path:
    """Pick `count` features: the first by `first`, then by `criterion(sum, picked so far)`.

    The sum is over the picks s of `term(s, link of s)`; `constraints` rule. `links(features)`
    returns the link of each feature, `ahead` in one request at first; as long as four in five of
    them are used, the next batch is half as large again: few requests, little counted in vain."""
    pool = Pool(len(first), count, constraints)
    look_ahead = _LookAhead(links, pool, constraints.costs, ahead)
    values = first
    total = np.zeros(len(first))

    def revalue(winner: int, path: Path) -> ndarray:
        nonlocal values
        total[:] += term(winner, look_ahead.link(winner, values, path))
        values = criterion(total, len(path.picks))
        return values

    return pool.run(first, revalue, count, progress)
