"""A portrait of the picked features, from one scan over them alone: which label each speaks of, which of them say the same, and
how much of the labels the first k explain on rows they were not fitted on.

    r_jl = corr(x_j, y_l),    r_jj' = corr(x_j, x_j')
    R²(k) = 1 − Σ‖y − W_k'x_{1..k} − b‖² / Σ‖y − ȳ‖²,    W_k ridge (penalty 1) on the z-scored first k picks of one half of
            the rows, the sums over the other half, ȳ the first half's mean

over 20 random halvings, each half in turn. Suggested K: the smallest k whose R² is below the best by no more than a standard
deviation of that difference over the halves. The picks were made of all rows, so that R² flatters them all; what it compares is
k with k.
Symbols: x_j one of at most 60 picks, in their order; y_l ∈ {0, 1} one of the 40 commonest labels; rows with all labels known.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from scipy.linalg import cholesky, solve_triangular

from ..engine.base import Cost, Engine, one_thread
from ..kernels.gram import GramStatistics, total
from ..statistics.gram import Gram

MOST_PICKS, MOST_LABELS, BLOCKS, HALVINGS, PENALTY = 60, 40, 20, 20, 1.0
MOST_BYTES = 256 << 20  # of the Gram matrices


@dataclass(frozen=True)
class Portrait:
    """`picks` (K,) indices, best first; `labels` (L,) indices, the commonest first; `relevance` (K, L) and `redundancy` (K, K)
    correlations; `explained` (K,) the mean R² of the first k, `spread` its standard deviation over the halves; `suggested` K."""

    picks: np.ndarray
    labels: np.ndarray
    relevance: np.ndarray
    redundancy: np.ndarray
    explained: np.ndarray
    spread: np.ndarray
    suggested: int


@dataclass(frozen=True)
class Portray:
    """The portrait of `picks`, best first, over an engine of these features alone; None where the labels are too many, or no row
    knows them all. Picklable, so that it can run in one task."""

    picks: tuple[int, ...]

    def needs(self, engine: Engine) -> list[Gram]:
        """What it will ask for."""
        statistic = Gram(BLOCKS)
        size = statistic.state_bytes(engine.profile)
        return [statistic] if size <= min(MOST_BYTES, engine.driver_bytes, engine.worker_bytes // 4) else []

    def __call__(self, engine: Engine) -> tuple[Portrait | None, Cost]:
        wanted = self.needs(engine)
        if not wanted:
            return None, engine.cost
        (parts,) = engine.run(*wanted)
        if len(parts) < 2 or not sum(part.n for part in parts):
            return None, engine.cost
        labels = np.argsort(-engine.profile.positive, kind="stable")[:MOST_LABELS]
        labels = labels[engine.profile.positive[labels] > 0]
        at = np.searchsorted(engine.profile.varying, self.picks)
        with one_thread():
            return portrait(parts, np.array(self.picks), at, labels), engine.cost


def portrait(parts: Sequence[GramStatistics], picks: np.ndarray, at: np.ndarray, labels: np.ndarray) -> Portrait | None:
    """From the Gram matrices of groups of rows; `at` where each pick stands in them. None where no label varies."""
    whole = total(parts).flattened()
    view = whole.centred("standard")
    place = {feature: number for number, feature in enumerate(view.varying)}
    known = np.array([number for number, feature in enumerate(at) if feature in place], np.int64)
    own = np.array([place[at[number]] for number in known], np.int64)
    spread = np.sqrt(np.maximum(np.diag(view.S)[labels], 0) / view.n)
    if not len(known) or not (spread > 0).any():
        return None
    relevance, redundancy = np.zeros((len(picks), len(labels))), np.eye(len(picks))
    with np.errstate(divide="ignore", invalid="ignore"):
        r = view.C[np.ix_(own, labels)] / (view.n * spread)
    relevance[known] = np.where(np.isfinite(r), np.clip(r, -1, 1), 0.0)
    redundancy[np.ix_(known, known)] = np.clip(view.G[np.ix_(own, own)] / view.n, -1, 1)
    curves = _explained([_of_labels(part, labels) for part in parts], at)
    mean = curves.mean(axis=0)
    top = int(np.argmax(mean))
    short = curves[:, [top]] - curves
    enough = np.flatnonzero(short.mean(axis=0) <= short.std(axis=0) + 1e-12)
    return Portrait(picks, labels, relevance, redundancy, mean, curves.std(axis=0), int(enough[0]) + 1)


def _of_labels(part: GramStatistics, labels: np.ndarray) -> GramStatistics:
    """The moments of some labels only."""
    few = (part.sum_y[labels], part.xx, part.xy[:, labels], part.yy[np.ix_(labels, labels)])
    return GramStatistics(part.n, part.sum_x, *few, part.centre_x, part.centre_y[labels], part.low, part.high)


def _explained(parts: Sequence[GramStatistics], at: np.ndarray) -> np.ndarray:
    """(2 · halvings, K) R² of the first k picks on the half they were not fitted on."""
    rng = np.random.default_rng(0)
    out = []
    for _ in range(HALVINGS):
        order = rng.permutation(len(parts))
        halves = [total(parts[i] for i in sorted(some)) for some in np.array_split(order, 2)]
        for train, test in (halves, halves[::-1]):
            if train.n >= 2 and test.n:
                out.append(_curve(train.flattened(), test, at))
    return np.array(out)


def _curve(train: GramStatistics, test: GramStatistics, at: np.ndarray) -> np.ndarray:
    """(K,) R² of the first k picks, fitted on one half, on the other."""
    view = train.centred("standard")
    moved = test.in_view(view)
    whole = moved.squared_error(np.zeros((len(view.varying), test.q)), view.offset_y).sum()
    place = {feature: number for number, feature in enumerate(view.varying)}
    own = np.array([place[feature] for feature in at if feature in place], np.int64)
    values, before, done = np.zeros(len(at)), 0.0, 0
    if len(own):
        lower = cholesky(view.G[np.ix_(own, own)] + PENALTY * np.eye(len(own)), lower=True)
        half = solve_triangular(lower, view.C[own], lower=True)
    for number, feature in enumerate(at):
        if feature in place and whole > 0:
            done += 1
            weights = np.zeros((len(view.varying), test.q))
            weights[own[:done]] = solve_triangular(lower[:done, :done], half[:done], lower=True, trans="T")
            before = 1 - float(moved.squared_error(weights, view.offset_y).sum()) / float(whole)
        values[number] = before
    return values
