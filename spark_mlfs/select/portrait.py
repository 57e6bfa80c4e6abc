"""A portrait of the picked features, from one scan over them alone: which label each speaks of,
which of them speak most of each label, which say the same, and how much of the labels the first k
explain on rows they were not fitted on.

    r_jl = corr(x_j, y_l),    r_jj' = corr(x_j, x_j')
    R²(k) = 1 − Σ‖y − W_k'x_{1..k} − b‖² / Σ‖y − ȳ‖²,    W_k ridge (penalty 1) on the z-scored first
            k picks of one half of the rows, the sums over the other half, ȳ the first half's mean

over 20 random halvings, each half in turn. Suggested K: the smallest k whose R² is below the best
by no more than a standard deviation of that difference over the halves. The picks were made of all
rows, so that R² flatters them all; what it compares is k with k.
Symbols: x_j one of at most 60 picks, in their order, for each label's best any of the kept
features; y_l ∈ {0, 1} one of the 40 commonest labels; rows with all labels known, of more than
100,000 about as many, those whose id hashes lowest. Rows alike (or with one id) are in the same
half."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from scipy.linalg import cholesky, solve_triangular

from ..blocks.block import Block, concatenate
from ..blocks.codec import State
from ..blocks.profile import Profile
from ..engine.base import Cost, Engine, one_thread
from ..kernels import exact
from ..kernels.gram import GramStatistics, total
from ..kernels.hashing import uniform
from ..statistics.base import FeatureShardedStatistic, Statistic, cuts
from ..statistics.gram import Gram, exact_statistics
from ..statistics.moments import GroupMoments
from ..statistics.targets import SomeLabels

MOST_PICKS, MOST_LABELS, BLOCKS, HALVINGS, PENALTY = 60, 40, 20, 20, 1.0
MOST_ROWS, SEED = 100_000, 0x9047
MOST_BYTES = 256 << 20  # of the Gram matrices


@dataclass(frozen=True)
class Portrait:
    """`picks` (K,) indices, best first; `labels` (L,) indices, the commonest first; `relevance` (K,
    L) and `redundancy` (K, K) correlations; `explained` (K,) the mean R² of the first k, `spread`
    its standard deviation over the halves; `suggested` K; `best` (L, 2) the features that go best
    with each label among the first `seen` picks, `strength` (L, 2) their correlations."""

    picks: np.ndarray
    labels: np.ndarray
    relevance: np.ndarray
    redundancy: np.ndarray
    explained: np.ndarray
    spread: np.ndarray
    suggested: int
    best: np.ndarray
    strength: np.ndarray
    seen: int


def _sampled(block: Block, profile: Profile, rows: int) -> Block:
    """About so many rows of all of them. By the hash of the id that a row came with: equal rows
    need none of their own here."""
    if profile.n <= rows:
        return block
    return block.take(np.flatnonzero(uniform(block.ids, SEED) * profile.n < rows))


@dataclass
class PortraitGrams(Gram, layout="rows"):
    """`statistics.gram.Gram` by groups of rows, of the `picks` (ascending indices), some `shown`
    labels and about `rows` of the rows."""

    blocks: int = BLOCKS
    shown: tuple[int, ...] = ()
    rows: int = MOST_ROWS
    picks: tuple[int, ...] = ()

    def fold(self, state: State | None, block: Block, profile: Profile) -> State:
        return super().fold(
            state, _sampled(block, profile, self.rows), profile.only(np.array(self.picks))
        )

    def labels(self, block: Block, profile: Profile) -> sp.csr_matrix:
        return super().labels(block, profile)[:, list(self.shown)]

    def outputs(self, profile: Profile) -> int:
        return len(self.shown)

    def _statistics(self, state: State, profile: Profile, prefix: str) -> GramStatistics:
        some = profile.only(np.array(self.picks))
        return exact_statistics(state, some, prefix, len(self.shown), labels=list(self.shown))

    def state_bytes(self, profile: Profile) -> int:
        return super().state_bytes(profile.only(np.array(self.picks)))


@dataclass
class LabelCorrelations(FeatureShardedStatistic, layout="rows", weighted=True, graded=True):
    """cov(x_j, y_l) / sd(x_j) of the `shown` labels and every varying feature, (labels, v), over
    about `rows` of the rows, those whose labels are all known; divided by sd(y_l) it is their
    correlation. A feature's state: 16 bytes a label, 40 where values need a second slice, twice
    that of weighted rows and of grades."""

    shown: tuple[int, ...] = ()
    rows: int = MOST_ROWS

    def _of(self, profile: Profile, first: int, last: int) -> tuple[GroupMoments, Profile]:
        return GroupMoments(SomeLabels(self.shown, only_known=True)), profile.only(
            profile.varying[first:last]
        )

    def edges(self, profile: Profile, size: int) -> np.ndarray:
        return cuts(np.full(len(profile.varying), 88 * (1 + len(self.shown))), size)

    def shard_bytes(self, profile: Profile, first: int, last: int) -> int:
        moments, some = self._of(profile, first, last)
        return moments.state_bytes(some)

    def shards(self, blocks: list[Block], profile: Profile, edges: np.ndarray) -> Iterator[State]:
        block = _sampled(concatenate(blocks), profile, self.rows)
        for first, last in itertools.pairwise(edges):
            moments, some = self._of(profile, first, last)
            yield moments.partial(block, some)

    def merge(self, left: State, right: State) -> State:
        return exact.add(left, right)

    def reduce_shard(self, state: State, first: int, last: int, profile: Profile) -> np.ndarray:
        moments, some = self._of(profile, first, last)
        m = moments.finish(state, some)
        n = max(float(m.count[0]), 1.0)
        mean = m.total[0] / n
        deviation = np.sqrt(np.maximum(m.square[0] / n - mean**2, 0))
        covariance = m.total[1:] / n - (m.count[1:, None] / n) * mean
        return np.divide(covariance, deviation, out=np.zeros_like(covariance), where=deviation > 0)


@dataclass(frozen=True)
class Portray:
    """The portrait of `picks`, best first, over an engine of these features alone; None where the
    budgets are too small, or no row knows all its labels. Picklable, so that it can run in one
    task."""

    picks: tuple[int, ...]

    def needs(self, engine: Engine) -> list[Statistic]:
        """Return the statistics that are asked for; each label's best is sought beyond the first
        picks where budgets allow it."""
        shown = tuple(_commonest(engine.profile).tolist())
        grams = PortraitGrams(shown=shown, picks=tuple(sorted(self.picks[:MOST_PICKS])))
        every = LabelCorrelations(shown, grams.rows)
        if grams.state_bytes(engine.profile) > min(
            MOST_BYTES, engine.budgets.driver, engine.budgets.worker // 4
        ):
            return []
        size = max(8 * len(shown) * len(self.picks), engine._held(every))
        more = (
            len(self.picks) > MOST_PICKS
            and shown
            and size <= min(MOST_BYTES, engine.budgets.driver)
        )
        return [grams, every] if more else [grams]

    def __call__(self, engine: Engine) -> tuple[Portrait | None, Cost]:
        engine.rescale_extremes()
        wanted = self.needs(engine)
        if not wanted:
            return None, engine.cost
        groups, *found = engine.run(*wanted)
        parts = list(groups.values())
        if len(parts) < 2 or not sum(part.n for part in parts):
            return None, engine.cost
        picks, first = np.array(self.picks), np.array(self.picks[:MOST_PICKS])
        at, every = (
            np.searchsorted(np.sort(first), first),
            np.searchsorted(engine.profile.varying, picks),
        )
        with one_thread():
            seen = portrait(
                parts,
                first,
                at,
                _commonest(engine.profile),
                (picks, found[0][:, every]) if found else None,
            )
            return seen, engine.cost


def _commonest(profile: Profile) -> np.ndarray:
    """The labels that are shown: the commonest ones that some row has."""
    labels = np.argsort(-profile.positive, kind="stable")[:MOST_LABELS]
    return labels[profile.positive[labels] > 0]


def portrait(
    parts: Sequence[GramStatistics],
    picks: np.ndarray,
    at: np.ndarray,
    labels: np.ndarray,
    every: tuple[np.ndarray, np.ndarray] | None = None,
) -> Portrait | None:
    """From the Gram matrices of groups of rows with these `labels`; `at` where each pick stands in
    them; `every` kept feature and its `LabelCorrelations`. None where no label varies."""
    whole = total(parts).flattened()
    view = whole.centred("standard")
    known = np.flatnonzero(np.isin(at, view.varying))
    own = np.searchsorted(view.varying, at[known])
    spread = np.sqrt(np.maximum(np.diag(view.S), 0) / view.n)
    if not len(known) or not (spread > 0).any():
        return None
    relevance, redundancy = np.zeros((len(picks), len(labels))), np.eye(len(picks))
    with np.errstate(divide="ignore", invalid="ignore"):
        r = view.C[own] / (view.n * spread)
    relevance[known] = np.where(np.isfinite(r), np.clip(r, -1, 1), 0.0)
    redundancy[np.ix_(known, known)] = np.clip(view.G[np.ix_(own, own)] / view.n, -1, 1)
    of, r = (picks, relevance.T) if every is None else every
    if every is not None:
        r = np.clip(
            np.divide(r, spread[:, None], out=np.zeros_like(r), where=spread[:, None] > 0), -1, 1
        )
    best = np.argsort(-np.abs(r), axis=1, kind="stable")[:, :2]
    curves = _explained(parts, at)
    mean = curves.mean(axis=0)
    top = int(np.argmax(mean))
    short = curves[:, [top]] - curves
    enough = np.flatnonzero(short.mean(axis=0) <= short.std(axis=0) + 1e-12)
    strength = np.take_along_axis(r, best, axis=1)
    suggested = int(enough[0]) + 1
    return Portrait(
        picks,
        labels,
        relevance,
        redundancy,
        mean,
        curves.std(axis=0),
        suggested,
        of[best],
        strength,
        len(of),
    )


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
    varies = np.isin(at, view.varying)
    own = np.searchsorted(view.varying, at[varies])
    values, before, done = np.zeros(len(at)), 0.0, 0
    if len(own):
        lower = cholesky(view.G[np.ix_(own, own)] + PENALTY * np.eye(len(own)), lower=True)
        half = solve_triangular(lower, view.C[own], lower=True)
    for number in range(len(at)):
        if varies[number] and whole > 0:
            done += 1
            weights = np.zeros((len(view.varying), test.q))
            weights[own[:done]] = solve_triangular(
                lower[:done, :done], half[:done], lower=True, trans="T"
            )
            before = 1 - float(moved.squared_error(weights, view.offset_y).sum()) / float(whole)
        values[number] = before
    return values
