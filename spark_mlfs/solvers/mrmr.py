"""Minimum redundancy, maximum relevance: both from second moments, and the greedy selection by either scheme."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from . import greedy

FLOOR = 1e-3  # of a redundancy that is divided by
COPY = 1e-10  # a correlation this near to 1 is one of identical columns
NONE = 1e-11  # a correlation this small is what rounding leaves of none
SEPARATED = 1e-12  # floor of 1 − r²


def f_relevance(G: np.ndarray, C: np.ndarray, S: np.ndarray, n: float) -> np.ndarray:
    """(v,) mean over the labels of the two-class F statistic r²(n − 2)/(1 − r²), r the correlation of feature and 0/1 label, 1 −
    r² ≥ 1e-12, from centred second moments G (v, v), C (v, q), S (q, q) of n rows. A label with one value adds 0."""
    squares = np.diag(S)
    # what rounding leaves of the spread of a constant 0/1 label is far below that of a single row
    two_valued = squares > 1e-6
    if not two_valued.any():
        return np.zeros(len(C))
    r = C[:, two_valued] / np.sqrt(np.diag(G)[:, None] * squares[two_valued])
    square = np.where(np.abs(r) <= NONE, 0.0, np.minimum(r * r, 1.0))
    return max(n - 2, 1) * (square / np.maximum(1 - square, SEPARATED)).sum(axis=1) / len(S)


def correlation_with(G: np.ndarray, s: int) -> np.ndarray:
    """(v,) max(|r_fs|, .001) of every feature f with s; identical columns (up to sign and scale) have exactly 1."""
    squares = np.diag(G)
    r = np.abs(G[s]) / np.sqrt(squares * squares[s])
    return np.where(r >= 1 - COPY, 1.0, np.maximum(r, FLOOR))


def criterion(scheme: str, relevance: np.ndarray, redundancy: np.ndarray) -> np.ndarray:
    """The value of every candidate: relevance less (``"difference"``) or over (``"quotient"``) its mean redundancy. Of a quotient
    a mean redundancy of exactly 1 counts as infinite: a copy of all that is picked has value 0."""
    if scheme == "difference":
        return relevance - redundancy
    return np.where(redundancy == 1.0, 0.0, relevance / redundancy)


def select(
    relevance: np.ndarray,
    links: Callable[[Sequence[int]], dict[int, np.ndarray]],
    scheme: str,
    count: int,
    candidates: np.ndarray | None = None,
    ahead: int = 1,
    progress: Callable[[int, int], None] | None = None,
    terms: greedy.PickConstraints = greedy.UNCONSTRAINED,
) -> greedy.Path:
    """Greedy selection: the argmax of `relevance` (v,), then of `criterion` with the mean redundancy over the picks.
    `links(features)` gives {s: (v,) redundancy of every feature with s}, asked for `ahead` at a time; only `candidates`
    (ascending; all by default) and what `terms` include are picked, `count` at most. A quotient floors redundancies at .001."""
    at = np.arange(len(relevance))
    if candidates is not None:
        at = np.union1d(candidates, np.array(terms.include, int))
    first = relevance[at]
    total = np.zeros(len(at))

    def of(features: Sequence[int]) -> dict[int, np.ndarray]:
        asked = links([int(at[f]) for f in features])
        return {f: asked[int(at[f])][at] for f in features}

    def absorb(s: int, redundancy: np.ndarray) -> None:
        total[:] += np.maximum(redundancy, FLOOR) if scheme == "quotient" else redundancy

    path = greedy.forward(
        first,
        lambda picks: criterion(scheme, first, total / picks),
        absorb,
        of,
        min(count, len(at)),
        ahead,
        progress,
        terms.among(at),
    )
    return path.spread(at, len(relevance))
