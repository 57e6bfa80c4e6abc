"""Greedy forward selection with look-ahead.

The caller supplies the terms that link a candidate f to a feature s already picked. They are asked for in batches: for the new
winner and the candidates most likely to win next, kept, and used when their turn comes. The picks are exactly those of asking
one by one.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np

TIE = 1e-10


@dataclass
class Path:
    """Picked features in order, the criterion's value at each pick, and how many link vectors were computed and used."""

    picks: list[int]
    gains: list[float]
    asked: int = 0
    used: int = 0
    batches: list[int] = field(default_factory=list)


def best(values: np.ndarray, open_: np.ndarray) -> int:
    """The open index of the largest value; those within 1e-10·max(1, |best|) of it are equal and the smallest index wins."""
    candidates = np.flatnonzero(open_)
    v = values[candidates]
    top = v.max()
    return int(candidates[np.flatnonzero(v >= top - TIE * max(1.0, abs(top)))[0]])


def forward(
    first: np.ndarray,
    criterion: Callable[[int], np.ndarray],
    absorb: Callable[[int, object], None],
    links: Callable[[Sequence[int]], dict[int, object]],
    count: int,
    ahead: int = 1,
    progress: Callable[[int, int], None] | None = None,
) -> Path:
    """Pick `count` features: the first by `first`, then by `criterion(picked so far)` after `absorb(s, link of s)`.

    `links(features)` returns the link of each feature asked for; `ahead` is how many are asked for at once at first. As long as
    four in five of what was asked for has been used, the next batch is half as large again: few requests, little counted in vain.
    """
    open_ = np.ones(len(first), bool)
    path = Path([], [])
    kept: dict[int, object] = {}
    values = first
    while len(path.picks) < count:
        winner = best(values, open_)
        path.picks.append(winner)
        path.gains.append(float(values[winner]))
        open_[winner] = False
        if progress:
            progress(len(path.picks), count)
        if len(path.picks) == count:
            break
        if winner not in kept:
            wanted = [winner]
            if ahead > 1:
                if path.batches and path.used >= 0.8 * path.asked:
                    ahead = ahead * 3 // 2
                left = count - len(path.picks) - 1  # the last pick needs no link
                order = np.argsort(-np.where(open_, values, -np.inf), kind="stable")
                size = min(ahead, max(1, left + 1), int(open_.sum()) + 1)
                for f in order:
                    if len(wanted) >= size:
                        break
                    if open_[f] and int(f) not in kept:
                        wanted.append(int(f))
            kept.update(links(wanted))
            path.asked += len(wanted)
            path.batches.append(len(wanted))
        absorb(winner, kept.pop(winner))
        path.used += 1
        values = criterion(len(path.picks))
    return path
