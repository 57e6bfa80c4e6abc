"""Minimum redundancy, maximum relevance: both from second moments, and the greedy selection by
either scheme."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np
from numpy import ndarray

from ..kernels.gram import GramView
from .greedy import forward
from .pool import Path, Progress
from .units import UNCONSTRAINED, PickConstraints

FLOOR = 1e-3  # of a correlation
NO_INFORMATION = 1e-12  # floor of an information that is divided by
COPY = 1e-10  # a correlation this near to 1 is one of identical columns
NONE = 1e-11  # a correlation this small is what rounding leaves of none
SEPARATED = 1e-12  # floor of 1 − r²


def f_relevance(view: GramView) -> ndarray:
    """Return (v,) mean over the labels of the two-class F statistic, from a centred view.

    F = r²(n − 2)/(1 − r²), r the correlation of feature and 0/1 label, 1 − r² ≥ 1e-12. A label with
    one value adds 0."""
    squares = np.diag(view.S)
    # what rounding leaves of the spread of a constant 0/1 label is far below that of a single row
    two_valued = squares > 1e-6
    if not two_valued.any():
        return np.zeros(len(view.C))
    lengths = np.sqrt(np.diag(view.G)[:, None] * squares[two_valued])
    r = view.C[:, two_valued] / lengths
    square = np.where(np.abs(r) <= NONE, 0.0, np.minimum(r * r, 1.0))
    ratio = square / np.maximum(1 - square, SEPARATED)
    return max(view.n - 2, 1) * ratio.sum(axis=1) / len(squares)


def correlation_with(G: ndarray, s: int) -> ndarray:
    """Return (v,) max(|r_fs|, .001) of every feature f with s.

    Identical columns (up to sign and scale) have exactly 1."""
    squares = np.diag(G)
    r = np.abs(G[s]) / np.sqrt(squares * squares[s])
    return np.where(r >= 1 - COPY, 1.0, np.maximum(r, FLOOR))


def select_mrmr(
    relevance: ndarray,
    links: Callable[[Sequence[int]], dict[int, ndarray]],
    scheme: str,
    count: int,
    candidates: ndarray | None = None,
    ahead: int = 1,
    progress: Progress = None,
    constraints: PickConstraints = UNCONSTRAINED,
) -> Path:
    """Pick by relevance less (``"difference"``) or over (``"quotient"``) the mean redundancy.

    The first pick is the argmax of `relevance` (v,), then the mean is over the picks.
    `links(features)` gives {s: (v,) redundancy of every feature with s}, requested for `ahead` at a
    time; only `candidates` (ascending; all by default) and what `constraints` include are picked,
    `count` at most. In a quotient 0 counts as 1e-12, and a mean redundancy of exactly 1 as
    infinite: a copy of all that is picked has value 0."""
    features = np.arange(len(relevance))
    if candidates is not None:
        features = np.union1d(candidates, np.array(constraints.include, int))
    first = relevance[features]

    def links_among(positions: Sequence[int]) -> dict[int, ndarray]:
        by_feature = links([int(features[p]) for p in positions])
        return {p: by_feature[int(features[p])][features] for p in positions}

    def term(s: int, redundancy: ndarray) -> ndarray:
        return np.maximum(redundancy, NO_INFORMATION) if scheme == "quotient" else redundancy

    def value(total: ndarray, picks: int) -> ndarray:
        mean = total / picks
        if scheme == "difference":
            return first - mean
        return np.where(mean == 1.0, 0.0, first / mean)

    count = min(count, len(features))
    among = constraints.among(features)
    path = forward(
        first,
        term,
        value,
        links_among,
        count,
        ahead,
        progress,
        among,
    )
    return path.spread(features, len(relevance))
