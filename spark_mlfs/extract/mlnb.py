"""MLNB: principal components, a genetic search over subsets of them, and naive Bayes.

    min over bit strings s of (1/folds) Σ_fold (Hamming loss + ranking loss)/2,    z = P'x,
    log p(l | z_s) − log p(¬l | z_s) = ln (n_l + 1)/(n − n_l + 1)
        + Σ_{j∈s} [ln N(z_j; μ_jl, σ²_jl) − ln N(z_j; μ_j¬l, σ²_j¬l)]

of Gaussian naive Bayes, one classifier a label, fitted outside the fold. Binary tournaments,
one-point crossover, bit flips at rate 1/c, the best string survives. The components come first, of
all rows whose labels are known, and do not see the labels: a fold's rows take part in them, not in
the classifiers it is held out from. Extracted: the chosen components. The log-likelihoods add up
over components, so one pass over the rows serves a whole population: two matrix products a fold.
Symbols: x (v,) the scaled features that vary, centred; P (v, c) the leading principal directions, c
= max(1, ⌊share · v⌋); s ∈ {0, 1}^c not empty; n rows outside the fold whose labels are all known,
n_l of them with label l of q; μ, σ² means and population variances of component j over the rows
with and without l, σ² at least 1e-9 of the component's own. Both losses are in [0, 1]; ties count
as reversed in the ranking loss, rows without or with all labels are left out of it.
Raises: $one_value; `BudgetError` where the Gram matrix or the components' moments exceed $budget;
$range.
Source: Zhang, Peña & Robles 2009.
Deviations: folds by hash of the row id and draws by hash of the seed: one seed, one answer; the
floor of the variances; folds keep groups of rows whole where rows have some."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import scipy.sparse as sp
from numpy import ndarray
from scipy import linalg

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.groups import places_of
from ..blocks.profile import Profile
from ..engine.base import Engine, one_thread
from ..kernels import exact
from ..kernels.hashing import GROUPS, uniform
from ..kernels.label_ranks import LabelRanks
from ..kernels.matrix import Matrix
from ..methods.regression import labelled_view
from ..params import Integer, Number, Parameter, Values
from ..solvers.factorise import signed
from ..statistics.base import Statistic
from ..statistics.gram import features_of
from ..statistics.moments import ExactSums, row_parts, unit_of
from .base import SCALING, Linear

FLOOR = 1e-9  # of a variance, relative to the component's own


@dataclass
class ComponentMoments(ExactSums, layout="identified"):
    """Rows, sums and sums of squares of the components, per fold, label and class; exact sums.

    z = (x − c)P − shift, x the features at `positions` among those that vary, c their provisional
    centre. State: 40·folds·(q + 1)·c bytes."""

    positions: ndarray
    projection: ndarray
    shift: ndarray
    folds: int

    def features(self, block: Block, profile: Profile) -> Matrix:
        x = features_of(block, profile)
        return x if len(self.positions) == x.shape[1] else x[:, self.positions]

    def components(self, block: Block, profile: Profile) -> ndarray:
        """Return z (n, c), each row the same bits whatever the others."""
        unit = unit_of(profile)[self.positions]
        slices = exact.quantised(self.features(block, profile), unit)
        return exact.applied(*slices, unit, self.projection) - self.shift

    def reach(self, profile: Profile) -> ndarray:
        """Return (c,) powers of two that no component exceeds in size."""
        unit = unit_of(profile)[self.positions]
        largest = unit @ np.abs(self.projection) + np.abs(self.shift)
        return exact.power_above(1.01 * largest)

    def sums(self, rows: Block, profile: Profile) -> State:
        classes = profile.q + 1  # all rows, then those with each label
        size = self.folds * classes
        fold = places_of(rows) * self.folds // GROUPS
        members = np.concatenate([np.arange(rows.n), rows.label_rows()])
        class_of = np.concatenate([np.zeros(rows.n, np.int64), 1 + rows.label_indices])
        groups = fold[members] * classes + class_of
        member = sp.csr_matrix((np.ones(len(members)), (groups, members)), shape=(size, rows.n))
        z = exact.quantised(self.components(rows, profile), self.reach(profile))
        state = exact.group_moments(*z, member, wide=profile.n >= exact.WIDE_ROWS)
        return state | {"count": np.bincount(groups, minlength=size).astype(np.int64)}

    def finish(self, state: State, profile: Profile) -> dict[str, ndarray]:
        """Return the sums of all rows, and of those with each label.

        n (folds,), s, ss (folds, c) of all rows; n1 (folds, q), s1, ss1 (folds, q, c)."""
        width = len(self.shift)
        classes = profile.q + 1
        total, square = exact.sums_of(state, self.reach(profile), (self.folds * classes, width))
        count = state["count"].reshape(self.folds, classes)
        total = total.reshape(self.folds, classes, width)
        square = square.reshape(self.folds, classes, width)
        return {
            "n": count[:, 0],
            "n1": count[:, 1:],
            "s": total[:, 0],
            "s1": total[:, 1:],
            "ss": square[:, 0],
            "ss1": square[:, 1:],
        }

    def state_bytes(self, profile: Profile) -> int:
        arrays = 5 if profile.n < exact.WIDE_ROWS else 8
        numbers = 1 + arrays * self.projection.shape[1]
        return 8 * self.folds * (profile.q + 1) * numbers + envelope(9)


@dataclass
class PopulationLoss(Statistic, layout="identified", quantised=True):
    """Sums over the held-out rows of Hamming and ranking loss for every bit string.

    A row's ranking loss is a whole number of 2⁻⁶² n (2⁻⁵² at most). What rounding could decide is
    decided by scores that depend on the row alone."""

    moments: ComponentMoments
    square: ndarray  # (folds, q, c): coefficients of z², z and 1 of the log-likelihood ratio
    linear: ndarray
    constant: ndarray
    prior: ndarray  # (folds, q)
    population: ndarray  # (p, c) bool

    def partial(self, block: Block, profile: Profile) -> State:
        block = block.known()
        moments = self.moments
        folds = moments.folds
        size = len(self.population)
        scale = self._scale(profile)
        wrong = np.zeros((folds, size), np.int64)
        ranking = np.zeros((folds, size), np.int64)
        rows = np.zeros(folds, np.int64)
        ranked = np.zeros(folds, np.int64)
        for part in row_parts(block):
            z = np.asarray(moments.features(part, profile) @ moments.projection) - moments.shift
            y = part.labels(profile.q).toarray() > 0
            fold = places_of(part) * folds // GROUPS
            rows += np.bincount(fold, minlength=folds)
            for f in np.unique(fold):
                members = np.flatnonzero(fold == f)
                held_out = z[members]
                truth = y[members]
                for i, mask in enumerate(self.population):
                    score = self._score(held_out[:, mask], f, mask)
                    unsure = self._unsure(score, f, mask, profile)
                    if len(unsure):
                        components = moments.components(part.take(members[unsure]), profile)
                        score[unsure] = self._score_by_row(components[:, mask], f, mask)
                    wrong[f, i] += int(((score > 0) != truth).sum())
                    shares = ranking_loss(truth, score)
                    ranking[f, i] += np.rint(shares * scale).astype(np.int64).sum()
                ranked[f] += len(shares)
        return {
            "wrong": wrong,
            "ranking": ranking,
            "ranked": ranked,
            "rows": rows,
        }

    def _score(self, z: ndarray, fold: int, mask: ndarray) -> ndarray:
        square = self.square[fold][:, mask]
        linear = self.linear[fold][:, mask]
        return z**2 @ square.T + z @ linear.T + self._constant(fold, mask)

    def _constant(self, fold: int, mask: ndarray) -> ndarray:
        return self.constant[fold][:, mask].sum(axis=1) + self.prior[fold]

    def _score_by_row(self, z: ndarray, fold: int, mask: ndarray) -> ndarray:
        """Score without products of matrices: labels of equal coefficients have equal scores."""
        square = self.square[fold][:, mask]
        linear = self.linear[fold][:, mask]
        by_label = []
        for a, b in zip(square, linear, strict=True):
            by_label.append(((z * z) * a).sum(axis=1) + (z * b).sum(axis=1))
        return np.stack(by_label, axis=1) + self._constant(fold, mask)

    def _unsure(
        self,
        score: ndarray,
        fold: int,
        mask: ndarray,
        profile: Profile,
    ) -> ndarray:
        """Return the rows whose loss rounding may decide.

        A score, or a difference of two, may be on the other side of 0."""
        reach = self.moments.reach(profile)[mask]
        square = np.abs(self.square[fold][:, mask])
        linear = np.abs(self.linear[fold][:, mask])
        constant = np.abs(self.constant[fold][:, mask]).sum(axis=1)
        terms = square @ reach**2 + linear @ reach + constant + np.abs(self.prior[fold])
        operations = 4 * (len(self.moments.positions) + len(reach) + 8)
        # of the products, and of the grid that components of their own are computed on
        error = (operations * np.finfo(np.float64).eps + 2.0**-39) * terms.max()
        gaps = np.diff(np.sort(score, axis=1), axis=1)
        near_zero = (np.abs(score) <= error).any(axis=1)
        near_tie = (gaps <= 2 * error).any(axis=1)
        return np.flatnonzero(near_zero | near_tie)

    def _scale(self, profile: Profile) -> float:
        return 2.0 ** min(52, 62 - profile.n.bit_length())

    def finish(self, state: State, profile: Profile) -> ndarray:
        rows = np.maximum(state["rows"], 1)[:, None]
        hamming = state["wrong"] / (rows * profile.q)
        ranking = state["ranking"] / self._scale(profile) / np.maximum(state["ranked"], 1)[:, None]
        return ((hamming + ranking) / 2).mean(axis=0)

    def state_bytes(self, profile: Profile) -> int:
        return 16 * self.moments.folds * (len(self.population) + 1) + envelope(4)


def ranking_loss(truth: ndarray, score: ndarray) -> ndarray:
    """Return the shares of reversed label pairs of the rows that have such pairs.

    Ties count as reversed."""
    q = truth.shape[1]
    relevant = truth.sum(axis=1)
    rows = np.flatnonzero((relevant > 0) & (relevant < q))
    pairs = relevant[rows] * (q - relevant[rows])
    return LabelRanks.of(truth[rows], score[rows]).reversed_pairs() / pairs


def bayes(m: State, q: int) -> tuple[ndarray, ndarray, ndarray, ndarray]:
    """Return the coefficients of z², z, 1 in log p(z|1) − log p(z|0), and the prior.

    They are (folds, q, c), the prior (folds, q), from the rows outside each fold."""

    def outside(name: str) -> ndarray:
        return m[name].sum(axis=0) - m[name]

    n = outside("n")
    n1 = outside("n1")
    n0 = n[:, None] - n1
    s = outside("s")
    s1 = outside("s1")
    ss = outside("ss")
    ss1 = outside("ss1")
    overall = ss / n[:, None] - (s / n[:, None]) ** 2
    floor = FLOOR * overall[:, None] + 1e-300
    positive = _gaussian(n1, s1, ss1, floor)
    negative = _gaussian(n0, s[:, None] - s1, ss[:, None] - ss1, floor)
    two_valued = (n1 > 0) & (n1 < n[:, None])  # a label of one value shows in its prior alone
    ratio = [
        np.where(two_valued[:, :, None], a - b, 0.0)
        for a, b in zip(positive, negative, strict=True)
    ]
    prior = np.log((n1 + 1.0) / (n0 + 1.0))
    return ratio[0], ratio[1], ratio[2], prior


def _gaussian(
    count: ndarray,
    total: ndarray,
    square: ndarray,
    floor: ndarray,
) -> tuple[ndarray, ndarray, ndarray]:
    """Return the coefficients of z², z and 1 in the logarithm of a class's density."""
    size = np.maximum(count, 1)[:, :, None]
    mean = total / size
    variance = np.maximum(square / size - mean**2, floor)
    constant = -0.5 * (np.log(variance) + mean**2 / variance)
    return -0.5 / variance, mean / variance, constant


class MLNB(Linear):
    """Principal components chosen by a genetic search for naive Bayes."""

    name = "mlnb"
    title = "principal components chosen by a genetic search for naive Bayes"
    source = "Zhang, Peña & Robles 2009"
    when = "naive Bayes behind; few features, and time for a genetic search"
    cost = "one scan for the components, one a generation of the search"
    example = (("settings", "share=1.0, generations=2"),)
    parameters = (
        Parameter(
            "share",
            0.3,
            Number(0, 1, above=True),
            "principal components kept, as a share of the features",
        ),
        Parameter("population", 20, Integer(2), "bit strings"),
        Parameter("generations", 100, Integer(1), "generations"),
        Parameter("folds", 10, Integer(2, 60), "folds the loss is a mean of"),
        Parameter("seed", 0, Integer(0, 2**31 - 1), "seed of the search"),
        SCALING,
    )

    def learn(self, engine: Engine, p: Values) -> State:
        view = labelled_view(engine, p["scaling"])
        with one_thread():
            v = len(view.G)
            width = max(1, int(p["share"] * v))
            values, vectors = linalg.eigh(
                view.G, subset_by_index=(v - width, v - 1), check_finite=False
            )
            P = signed(vectors[:, ::-1])
            raw = P / view.scale[:, None]
            moments = ComponentMoments(view.varying, raw, view.shift @ raw, p["folds"])
            (by_class,) = engine.run(moments, keep=False)
            fitted = bayes(by_class, engine.profile.q)

            def loss(population: ndarray) -> ndarray:
                return engine.run(PopulationLoss(moments, *fitted, population), keep=False)[0]

            best, trace = search(
                loss,
                width,
                p["population"],
                p["generations"],
                p["seed"],
                engine.progress,
            )
        return self.state_of(
            engine,
            view,
            P[:, best],
            components=np.flatnonzero(best),
            loss=np.array(trace),
            eigenvalues=values[::-1],
        )


def search(
    loss: Callable[[ndarray], ndarray],
    width: int,
    size: int,
    generations: int,
    seed: int,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[ndarray, list[float]]:
    """Return the bits of the best string, and its loss after each generation."""
    used = 0

    def draws(*shape: int) -> ndarray:
        """Draw random numbers by hash of (seed, number of the draw).

        It is one sequence whatever the versions of the libraries."""
        nonlocal used
        first = used
        used += int(np.prod(shape))
        return uniform(np.arange(first, used), seed).reshape(shape)

    population = draws(size, width) < 0.5
    population[~population.any(axis=1), 0] = True
    value = loss(population)
    trace = []
    for generation in range(generations):
        if progress:
            progress("mlnb: generation", generation, generations)
        best = int(np.argmin(value))
        trace.append(float(value[best]))
        pairs = (draws(2 * (size - 1), 2) * size).astype(np.int64)
        first, second = pairs.T
        parents = np.where(value[first] <= value[second], first, second)
        cut = (draws(size - 1) * (width + 1)).astype(np.int64)
        left = np.arange(width) < cut[:, None]
        children = np.where(left, population[parents[::2]], population[parents[1::2]])
        children ^= draws(*children.shape) < 1.0 / width
        children[~children.any(axis=1), 0] = True
        survivor = slice(best, best + 1)
        population = np.concatenate([population[survivor], children])
        value = np.concatenate([value[survivor], loss(children)])
    best = int(np.argmin(value))
    return population[best], [*trace, float(value[best])]
