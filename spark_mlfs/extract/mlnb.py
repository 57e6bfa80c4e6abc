"""MLNB: principal components, a genetic search over subsets of them, and naive Bayes.

    min over bit strings s of (1/folds) Σ_fold (Hamming loss + ranking loss)/2,    z = P'x,
    log p(l | z_s) − log p(¬l | z_s) = ln (n_l + 1)/(n − n_l + 1) + Σ_{j∈s} [ln N(z_j; μ_jl, σ²_jl) − ln N(z_j; μ_j¬l, σ²_j¬l)]

of Gaussian naive Bayes, one classifier a label, fitted outside the fold. Binary tournaments, one-point crossover, bit flips at
rate 1/c, the best string survives. Extracted: the chosen components. The log-likelihoods add up over components, so one pass
over the rows serves a whole population: two matrix products a fold.
Symbols: x (v,) the scaled features that vary, centred; P (v, c) the leading principal directions, c = max(1, ⌊share · v⌋);
s ∈ {0, 1}^c not empty; n rows outside the fold whose labels are all known, n_l of them with label l of q; μ, σ² means and
population variances of component j over the rows with and without l, σ² at least 1e-9 of the component's own. Both losses are
in [0, 1]; ties count as reversed in the ranking loss, rows without or with all labels are left out of it.
Raises: `DataError` where no row has all its labels known, no feature varies over those, or no label takes both values;
`BudgetError` where the Gram matrix or the components' moments exceed ``driverBytes``, or a worker's share ``workerBytes``;
`ParameterError` where a parameter is out of its range.
Source: Zhang, Peña & Robles 2009.
Deviations: folds by hash of the row id and draws by hash of the seed, so that one seed gives one answer; the floor of the
variances.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from scipy import linalg

from ..blocks.block import Block
from ..blocks.codec import State, envelope
from ..blocks.profile import Profile
from ..blocks.rowhash import GROUPS, group_of, uniform
from ..engine.base import Engine, one_thread
from ..methods.regression import labelled_view
from ..params import Integer, Number, Parameter
from ..statistics.base import Statistic
from .base import Linear, signed
from .mddm import SCALING

FLOOR = 1e-9  # of a variance, relative to the component's own


@dataclass
class ComponentMoments(Statistic):
    """Per fold, label and class: rows, sums and sums of squares of the components."""

    columns: np.ndarray
    projection: np.ndarray
    shift: np.ndarray
    folds: int
    layout = "spans"

    def key(self) -> Hashable:
        return "component moments", self.projection.tobytes(), self.folds

    def components(self, block: Block) -> np.ndarray:
        x = block.x[:, self.columns]
        x = sp.csr_matrix(x, dtype=np.float64) if sp.issparse(x) else x.astype(np.float64)
        return np.asarray(x @ self.projection) - self.shift

    def partial(self, block: Block, profile: Profile) -> State:
        block = block.known()
        z, q = self.components(block), profile.q
        y = block.labels(q)
        fold = group_of(block.ids) * self.folds // GROUPS
        member = sp.csr_matrix((np.ones(block.n), (fold, np.arange(block.n))), shape=(self.folds, block.n))
        out: State = {"n": np.bincount(fold, minlength=self.folds).astype(np.int64)}
        for name, values in (("s", z), ("ss", z * z)):
            out[name] = member @ values
            out[name + "1"] = np.stack([(y.multiply((fold == f)[:, None]).T @ values) for f in range(self.folds)])
        out["n1"] = np.rint(np.asarray((member @ y).todense())).astype(np.int64)
        return out

    def state_bytes(self, profile: Profile) -> int:
        return 8 * self.folds * (profile.q + 1) * (1 + 2 * self.projection.shape[1]) + envelope(6)


@dataclass
class PopulationLoss(Statistic):
    """Sums over the held-out rows of Hamming and ranking loss for every bit string."""

    moments: ComponentMoments
    square: np.ndarray  # (folds, q, c): coefficients of z², z and 1 of the log-likelihood ratio
    linear: np.ndarray
    constant: np.ndarray
    prior: np.ndarray  # (folds, q)
    population: np.ndarray  # (p, c) bool
    layout = "spans"

    def key(self) -> Hashable:
        return "population loss", self.population.tobytes()

    def partial(self, block: Block, profile: Profile) -> State:
        block = block.known()
        z = self.moments.components(block)
        y = block.labels(profile.q).toarray() > 0
        fold = group_of(block.ids) * self.moments.folds // GROUPS
        folds, size = self.moments.folds, len(self.population)
        wrong, ranking, ranked = np.zeros((folds, size)), np.zeros((folds, size)), np.zeros(folds)
        for f in np.unique(fold):
            some, truth = z[fold == f], y[fold == f]
            for i, mask in enumerate(self.population):
                part = some[:, mask]
                score = part**2 @ self.square[f][:, mask].T + part @ self.linear[f][:, mask].T
                score += self.constant[f][:, mask].sum(axis=1) + self.prior[f]
                wrong[f, i] = ((score > 0) != truth).sum()
                ranking[f, i], ranked[f] = ranking_loss(truth, score)
        return {"wrong": wrong, "ranking": ranking, "ranked": ranked, "rows": np.bincount(fold, minlength=folds).astype(np.int64)}

    def finish(self, state: State, profile: Profile) -> np.ndarray:
        rows = np.maximum(state["rows"], 1)[:, None]
        hamming = state["wrong"] / (rows * profile.q)
        ranking = state["ranking"] / np.maximum(state["ranked"], 1)[:, None]
        return ((hamming + ranking) / 2).mean(axis=0)

    def state_bytes(self, profile: Profile) -> int:
        return 16 * self.moments.folds * (len(self.population) + 1) + envelope(4)


def ranking_loss(truth: np.ndarray, score: np.ndarray) -> tuple[float, int]:
    """(sum of the rows' shares of reversed label pairs, ties counting as reversed; rows that have such pairs)."""
    relevant = truth.sum(axis=1)
    rows = np.flatnonzero((relevant > 0) & (relevant < truth.shape[1]))
    if not len(rows):
        return 0.0, 0
    s, t = score[rows], truth[rows]
    order = np.argsort(s, axis=1, kind="stable")
    sorted_s, sorted_t = np.take_along_axis(s, order, axis=1), np.take_along_axis(t, order, axis=1)
    # irrelevant labels at least as high as a relevant one: those after the first position of its score
    first = np.empty(s.shape, np.int64)
    new = np.concatenate([np.ones((len(rows), 1), bool), sorted_s[:, 1:] != sorted_s[:, :-1]], axis=1)
    first = np.maximum.accumulate(np.where(new, np.arange(s.shape[1]), 0), axis=1)
    irrelevant = np.concatenate([np.zeros((len(rows), 1), np.int64), np.cumsum(~sorted_t, axis=1)], axis=1)
    above = irrelevant[:, -1:] - np.take_along_axis(irrelevant, first, axis=1)
    reversed_ = (above * sorted_t).sum(axis=1)
    return float((reversed_ / (relevant[rows] * (t.shape[1] - relevant[rows]))).sum()), len(rows)


def bayes(m: State, q: int) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Coefficients (folds, q, c) of z², z, 1 in log p(z|1) − log p(z|0) and the prior's (folds, q), from the rows outside each
    fold."""
    n, n1 = m["n"].sum() - m["n"], m["n1"].sum(axis=0) - m["n1"]
    s, ss = m["s"].sum(axis=0) - m["s"], m["ss"].sum(axis=0) - m["ss"]
    s1, ss1 = m["s1"].sum(axis=0) - m["s1"], m["ss1"].sum(axis=0) - m["ss1"]
    overall = ss / n[:, None] - (s / n[:, None]) ** 2
    parts = []
    for count, total, square in ((n1, s1, ss1), (n[:, None] - n1, s[:, None] - s1, ss[:, None] - ss1)):
        size = np.maximum(count, 1)[:, :, None]
        mean = total / size
        variance = np.maximum(square / size - mean**2, FLOOR * overall[:, None] + 1e-300)
        parts.append((-0.5 / variance, mean / variance, -0.5 * (np.log(variance) + mean**2 / variance)))
    prior = np.log((n1 + 1.0) / (n[:, None] - n1 + 1.0))
    both = ((n1 > 0) & (n1 < n[:, None]))[:, :, None]  # a label of one value shows in its prior alone
    square, linear, constant = (np.where(both, a - b, 0.0) for a, b in zip(*parts, strict=True))
    return square, linear, constant, prior


class MLNB(Linear):
    """Principal components chosen by a genetic search for naive Bayes."""

    name = "mlnb"
    title = "principal components chosen by a genetic search for naive Bayes"
    source = "Zhang, Peña & Robles 2009"
    parameters = (
        Parameter("share", 0.3, Number(0, 1, above=True), "principal components kept, as a share of the features"),
        Parameter("population", 20, Integer(2), "bit strings"),
        Parameter("generations", 100, Integer(1), "generations"),
        Parameter("folds", 10, Integer(2, 60), "folds the loss is a mean of"),
        Parameter("seed", 0, Integer(0, 2**31 - 1), "seed of the search"),
        SCALING,
    )

    def learn(self, engine: Engine, p: Mapping[str, Any]) -> State:
        view = labelled_view(engine, p["scaling"])
        columns = engine.profile.varying[view.varying]
        with one_thread():
            v = len(view.G)
            width = max(1, int(p["share"] * v))
            values, vectors = linalg.eigh(view.G, subset_by_index=(v - width, v - 1), check_finite=False)
            P = signed(vectors[:, ::-1])
            raw = P / view.scale[:, None]
            moments = ComponentMoments(columns, raw, view.offset @ raw, p["folds"])
            (by_class,) = engine.run(moments, keep=False)
            fitted = bayes(by_class, engine.profile.q)

            def loss(population: np.ndarray) -> np.ndarray:
                return engine.run(PopulationLoss(moments, *fitted, population), keep=False)[0]

            best, trace = search(loss, width, p["population"], p["generations"], p["seed"], engine.progress)
        return {
            "columns": columns,
            "offset": view.offset,
            "scale": view.scale,
            "projection": P[:, best],
            "components": np.flatnonzero(best),
            "loss": np.array(trace),
            "eigenvalues": values[::-1],
        }


class HashedNumbers:
    """Random numbers by hash of (seed, number of the draw): one sequence whatever the versions of the libraries."""

    def __init__(self, seed: int) -> None:
        self.seed, self.used = seed, 0

    def uniform(self, *shape: int) -> np.ndarray:
        """Numbers in [0, 1)."""
        first, self.used = self.used, self.used + int(np.prod(shape))
        return uniform(np.arange(first, self.used), self.seed).reshape(shape)

    def below(self, limit: int, *shape: int) -> np.ndarray:
        """Whole numbers from 0 to limit - 1."""
        return (self.uniform(*shape) * limit).astype(np.int64)


def search(
    loss: Callable[[np.ndarray], np.ndarray],
    width: int,
    size: int,
    generations: int,
    seed: int,
    progress: Callable[[str, int, int], None] | None = None,
) -> tuple[np.ndarray, list[float]]:
    """(bits of the best string, its loss after each generation)."""
    draws = HashedNumbers(seed)
    population = draws.uniform(size, width) < 0.5
    population[~population.any(axis=1), 0] = True
    value = loss(population)
    trace = []
    for generation in range(generations):
        if progress:
            progress("mlnb: generation", generation, generations)
        best = int(np.argmin(value))
        trace.append(float(value[best]))
        pairs = draws.below(size, 2 * (size - 1), 2)
        parents = np.where(value[pairs[:, 0]] <= value[pairs[:, 1]], pairs[:, 0], pairs[:, 1])
        cut = draws.below(width + 1, size - 1)
        left = np.arange(width) < cut[:, None]
        children = np.where(left, population[parents[::2]], population[parents[1::2]])
        children ^= draws.uniform(*children.shape) < 1.0 / width
        children[~children.any(axis=1), 0] = True
        fresh = loss(children)
        population = np.concatenate([population[best : best + 1], children])
        value = np.concatenate([value[best : best + 1], fresh])
    best = int(np.argmin(value))
    return population[best], [*trace, float(value[best])]
