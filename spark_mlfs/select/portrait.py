"""A portrait of the picked features, from one scan over them alone.

Which label each is related to, which of them are most related to each label, which carry the same
information, and how much of the labels the first k explain on rows they were not fitted on:

    r_jl = corr(x_j, y_l),    r_jj' = corr(x_j, x_j')
    R²(k) = 1 − Σ‖y − W_k'x_{1..k} − b‖² / Σ‖y − ȳ‖²,    W_k ridge (penalty 1) on the z-scored first
            k picks of one half of the rows, the sums over the other half, ȳ the first half's mean

over 20 random halvings, each half in turn; of more picks R² of the first 60, 200, 600 and 2000 (or
all) over one halving with the penalty n/10, n its rows, where a pass over so many picks is cheap.
Suggested K: the smallest k whose R² is below the best by no more than a standard deviation of that
difference over the halves. The picks were made of all rows, so that R² flatters them all; what it
compares is k with k.
Symbols: x_j one of at most 60 picks, in their order, for each label's best any of the kept
features; y_l ∈ {0, 1} one of the 40 commonest labels; rows with all labels known, of more than
100,000 about as many, those whose id hashes lowest. Rows alike (or with one id) are in the same
half."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse as sp
from numpy import ndarray
from scipy.linalg import cholesky, solve_triangular

from ..blocks.block import Block, concatenate
from ..blocks.codec import State
from ..blocks.profile import Profile
from ..engine.base import Cost, Engine, one_thread
from ..kernels import exact
from ..kernels.gram import GramStatistics, total
from ..kernels.hashing import uniform
from ..statistics.base import Budgets, FeatureShardedStatistic, Statistic, cuts
from ..statistics.gram import DENSE_FROM, Gram, exact_statistics
from ..statistics.moments import GroupMoments
from ..statistics.targets import SomeLabels

MOST_PICKS = 60
MOST_LABELS = 40
BLOCKS = 20  # groups of rows
HALVINGS = 20
PENALTY = 1.0
STRONG_PENALTY = 0.1  # times the rows: what many picks are judged with
MOST_ROWS = 100_000
SEED = 0x9047
MOST_BYTES = 256 << 20  # of the Gram matrices
SIZES = (200, 600, 2000)  # of more than `MOST_PICKS` so many are judged, and all if they are fewer
MOST_PRODUCTS = {True: 2e7, False: 2e9}  # of two values of a row in a pass; whether sparse
FEWEST_ROWS = 2000  # of which they are judged, or all
MOST_BYTES_OF_TASK = 32 << 20  # of their matrices, where each of many tasks has some


@dataclass(frozen=True)
class Portrait:
    """How the picked features, the labels and each other are related.

    `picks` (K,) indices, best first; `labels` (L,) indices, the commonest first; `relevance` (K, L)
    and `redundancy` (K, K) correlations; `explained` (K,) the mean R² of the first k, `spread` its
    standard deviation over the halves; `suggested` K; `best` (L, 2) the features most correlated
    with each label among the first `num_candidates` picks, `strength` (L, 2) their correlations.
    Of more picks `sizes` (S,) numbers of them with R² `explained_at` (S,), and the number of them
    that is `enough`."""

    picks: ndarray
    labels: ndarray
    relevance: ndarray
    redundancy: ndarray
    explained: ndarray
    spread: ndarray
    suggested: int
    best: ndarray
    strength: ndarray
    num_candidates: int
    sizes: tuple[int, ...] = ()
    explained_at: tuple[float, ...] = ()
    enough: int = 0


def _sampled(block: Block, profile: Profile, rows: int) -> Block:
    """Draw about so many rows, by the hash of the id that a row came with.

    Equal rows need no ids of their own here."""
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
        rows = _sampled(block, profile, self.rows)
        return super().fold(state, rows, profile.only(np.array(self.picks)))

    def labels(self, block: Block, profile: Profile) -> sp.csr_matrix:
        return super().labels(block, profile)[:, list(self.shown)]

    def outputs(self, profile: Profile) -> int:
        return len(self.shown)

    def _statistics(self, state: State, profile: Profile, prefix: str) -> GramStatistics:
        picked = profile.only(np.array(self.picks))
        return exact_statistics(
            state,
            picked,
            prefix,
            len(self.shown),
            labels=list(self.shown),
        )

    def state_bytes(self, profile: Profile) -> int:
        return super().state_bytes(profile.only(np.array(self.picks)))


@dataclass
class LabelCorrelations(FeatureShardedStatistic, layout="rows", weighted=True, graded=True):
    """cov(x_j, y_l) / sd(x_j) of the `shown` labels and every varying feature, (labels, v).

    Over about `rows` of the rows, those whose labels are all known; divided by sd(y_l) it is their
    correlation. A feature's state: 16 bytes a label, 40 where values need a second slice, twice
    that of weighted rows and of grades."""

    shown: tuple[int, ...] = ()
    rows: int = MOST_ROWS

    def _of(self, profile: Profile, first: int, last: int) -> tuple[GroupMoments, Profile]:
        moments = GroupMoments(SomeLabels(self.shown, only_known=True))
        return moments, profile.only(profile.varying[first:last])

    def edges(self, profile: Profile, size: int) -> ndarray:
        return cuts(np.full(len(profile.varying), 88 * (1 + len(self.shown))), size)

    def shard_bytes(self, profile: Profile, first: int, last: int) -> int:
        moments, features = self._of(profile, first, last)
        return moments.state_bytes(features)

    def shards(self, blocks: list[Block], profile: Profile, edges: ndarray) -> Iterator[State]:
        block = _sampled(concatenate(blocks), profile, self.rows)
        for first, last in itertools.pairwise(edges):
            moments, features = self._of(profile, first, last)
            yield moments.partial(block, features)

    def merge(self, left: State, right: State) -> State:
        return exact.add(left, right)

    def reduce_shard(
        self,
        state: State,
        first: int,
        last: int,
        profile: Profile,
    ) -> ndarray:
        moments, features = self._of(profile, first, last)
        m = moments.finish(state, features)
        n = max(float(m.count[0]), 1.0)
        mean = m.total[0] / n
        deviation = np.sqrt(np.maximum(m.square[0] / n - mean**2, 0))
        covariance = m.total[1:] / n - (m.count[1:, None] / n) * mean
        return np.divide(covariance, deviation, out=np.zeros_like(covariance), where=deviation > 0)


@dataclass(frozen=True)
class Portray:
    """The portrait of `picks`, best first, over an engine of these features alone.

    None where the budgets are too small, or no row knows all its labels. Picklable, so that it can
    run in one task."""

    picks: tuple[int, ...]

    def needs(self, engine: Engine) -> list[Statistic]:
        """Return the Gram matrices, and the correlations of all kept features if budgets allow."""
        shown = tuple(_commonest(engine.profile).tolist())
        grams = PortraitGrams(shown=shown, picks=tuple(sorted(self.picks[:MOST_PICKS])))
        budgets = engine.budgets
        if grams.state_bytes(engine.profile) > _most_bytes(budgets):
            return []
        if len(self.picks) <= MOST_PICKS or not shown:
            return [grams]
        larger = _larger(engine, self.picks, shown)
        correlations = LabelCorrelations(shown, grams.rows)
        size = max(8 * len(shown) * len(self.picks), engine.bytes_at_once(correlations))
        fits = size <= min(MOST_BYTES, budgets.driver)
        return [grams, *larger, *([correlations] if fits else [])]

    def __call__(self, engine: Engine) -> tuple[Portrait | None, Cost]:
        engine.rescale_extremes()
        statistics = self.needs(engine)
        if not statistics:
            return None, engine.cost
        groups, *further = engine.run(*statistics)
        halves = [list(result.values()) for result in further if isinstance(result, dict)]
        correlations = [result for result in further if not isinstance(result, dict)]
        parts = list(groups.values())
        if len(parts) < 2 or not sum(part.n for part in parts):
            return None, engine.cost
        picks = np.array(self.picks)
        first = picks[:MOST_PICKS]
        positions = np.searchsorted(np.sort(first), first)
        candidates = None
        if correlations:
            columns = np.searchsorted(engine.profile.varying, picks)
            candidates = (picks, correlations[0][:, columns])
        with one_thread():
            drawn = portrait(
                parts,
                first,
                positions,
                _commonest(engine.profile),
                candidates,
            )
            if drawn is not None and halves and len(halves[0]) == 2:
                (larger,) = [s.picks for s in statistics[1:] if isinstance(s, PortraitGrams)]
                drawn = _judged(drawn, halves[0], picks[: len(larger)])
            return drawn, engine.cost


def _most_bytes(budgets: Budgets) -> int:
    return min(MOST_BYTES, budgets.driver, budgets.worker // 4)


def _sizes(num_picks: int) -> list[int]:
    """Return the numbers of picks that are judged beside the first `MOST_PICKS`."""
    most = min(num_picks, SIZES[-1])
    return [*(size for size in SIZES if size < most), most]


def _larger(engine: Engine, picks: Sequence[int], shown: tuple[int, ...]) -> list[PortraitGrams]:
    """Return the Gram matrices of two halves, of as many picks as a cheap pass can have."""
    if not engine.reads_rows:
        return []
    profile = engine.profile
    most_bytes = _most_bytes(engine.budgets)
    if not engine.in_one_process:
        most_bytes = min(most_bytes, MOST_BYTES_OF_TASK)
    for size in reversed(_sizes(len(picks))):
        first = np.sort(np.array(picks[:size]))
        grams = PortraitGrams(2, shown=shown, picks=tuple(first.tolist()))
        values_a_row = max(1.0, float(profile.stored[first].sum()) / max(profile.n, 1))
        most_rows = MOST_PRODUCTS[profile.density < DENSE_FROM] / values_a_row**2
        grams.rows = int(min(profile.n, MOST_ROWS, most_rows))
        is_small = grams.state_bytes(profile) <= most_bytes
        if is_small and grams.rows >= min(profile.n, FEWEST_ROWS):
            return [grams]
    return []


def _judged(drawn: Portrait, halves: Sequence[GramStatistics], picks: ndarray) -> Portrait:
    """Return the portrait with the R² of several numbers of picks, from those of two halves."""
    sizes = [MOST_PICKS, *_sizes(len(picks))]
    positions = np.searchsorted(np.sort(picks), picks)
    curves = [
        _curve(train.flattened(), test, positions, sizes, STRONG_PENALTY * train.n)
        for train, test in (halves, halves[::-1])
        if train.n >= 2 and test.n
    ]
    if not curves:
        return drawn
    explained = np.array(curves)[:, np.array(sizes) - 1]
    return replace(
        drawn,
        sizes=tuple(sizes),
        explained_at=tuple(explained.mean(axis=0).tolist()),
        enough=sizes[_enough(explained)],
    )


def _enough(curves: ndarray) -> int:
    """Return the first place of curves (halves, K) that loses no more than its own deviation."""
    top = int(np.argmax(curves.mean(axis=0)))
    loss = curves[:, [top]] - curves
    return int(np.flatnonzero(loss.mean(axis=0) <= loss.std(axis=0) + 1e-12)[0])


def _commonest(profile: Profile) -> ndarray:
    """Return the labels that are shown: the commonest ones that some row has."""
    labels = np.argsort(-profile.positive, kind="stable")[:MOST_LABELS]
    return labels[profile.positive[labels] > 0]


def portrait(
    parts: Sequence[GramStatistics],
    picks: ndarray,
    positions: ndarray,
    labels: ndarray,
    candidates: tuple[ndarray, ndarray] | None = None,
) -> Portrait | None:
    """Draw the portrait from the Gram matrices of groups of rows with these `labels`.

    `positions` of the picks in the matrices; `candidates` all kept features and their
    `LabelCorrelations`, for each label's best. None where no label varies."""
    view = total(parts).flattened().centred("standard")
    varies = np.flatnonzero(np.isin(positions, view.varying))
    columns = np.searchsorted(view.varying, positions[varies])
    deviation = np.sqrt(np.maximum(np.diag(view.S), 0) / view.n)  # of the labels
    if not len(varies) or not (deviation > 0).any():
        return None
    relevance = np.zeros((len(picks), len(labels)))
    redundancy = np.eye(len(picks))
    with np.errstate(divide="ignore", invalid="ignore"):
        r = view.C[columns] / (view.n * deviation)
    relevance[varies] = np.where(np.isfinite(r), np.clip(r, -1, 1), 0.0)
    correlations = view.G[np.ix_(columns, columns)] / view.n
    redundancy[np.ix_(varies, varies)] = np.clip(correlations, -1, 1)
    if candidates is None:
        features = picks
        r = relevance.T
    else:
        features, covariance = candidates
        scale = deviation[:, None]
        r = np.divide(covariance, scale, out=np.zeros_like(covariance), where=scale > 0)
        r = np.clip(r, -1, 1)
    best = np.argsort(-np.abs(r), axis=1, kind="stable")[:, :2]
    curves = _explained(parts, positions)
    if not curves.size:  # no half has rows whose labels are all known
        return None
    return Portrait(
        picks,
        labels,
        relevance,
        redundancy,
        curves.mean(axis=0),
        curves.std(axis=0),
        _enough(curves) + 1,
        features[best],
        np.take_along_axis(r, best, axis=1),
        len(features),
    )


def _explained(parts: Sequence[GramStatistics], positions: ndarray) -> ndarray:
    """Return (2 · halvings, K) R² of the first k picks on the half they were not fitted on."""
    rng = np.random.default_rng(0)
    out = []
    for _ in range(HALVINGS):
        order = rng.permutation(len(parts))
        halves = [total(parts[i] for i in sorted(half)) for half in np.array_split(order, 2)]
        for train, test in (halves, halves[::-1]):
            if train.n >= 2 and test.n:
                out.append(_curve(train.flattened(), test, positions))
    return np.array(out)


def _curve(
    train: GramStatistics,
    test: GramStatistics,
    positions: ndarray,
    sizes: Sequence[int] | None = None,
    penalty: float = PENALTY,
) -> ndarray:
    """Return (K,) R² of the first k picks, fitted on one half, on the other.

    Only of `sizes` where they are given: the others have that of the last one before."""
    is_judged = np.isin(np.arange(1, len(positions) + 1), sizes) if sizes else positions >= 0
    view = train.centred("standard")
    rows = test.in_view(view)
    num_features = len(view.varying)
    variation = rows.squared_error(np.zeros((num_features, test.q)), view.offset_y).sum()
    varies = np.isin(positions, view.varying)
    columns = np.searchsorted(view.varying, positions[varies])
    if len(columns):
        # a leading block of L is the factor of the first picks alone: one factorisation serves all
        gram = view.G[np.ix_(columns, columns)] + penalty * np.eye(len(columns))
        lower = cholesky(gram, lower=True)
        half_solved = solve_triangular(lower, view.C[columns], lower=True)
    curve = np.zeros(len(positions))
    explained = 0.0
    k = 0
    for number in range(len(positions)):
        k += int(varies[number])
        if is_judged[number] and k and variation > 0:
            weights = np.zeros((num_features, test.q))
            weights[columns[:k]] = solve_triangular(
                lower[:k, :k], half_solved[:k], lower=True, trans="T"
            )
            error = rows.squared_error(weights, view.offset_y).sum()
            explained = 1 - float(error) / float(variation)
        curve[number] = explained
    return curve
