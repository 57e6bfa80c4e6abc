"""Methods that look at all picks jointly: conditional mutual information, of all labelsets or of the frequent ones."""

from __future__ import annotations

import warnings
from dataclasses import dataclass

import numpy as np

from ..blocks.block import Block
from ..engine.base import Engine
from ..errors import DataError, DataNotice, ParameterError, setting
from ..params import Choice, Integer, Parameter, Values
from ..solvers import ross
from ..solvers.greedy import UNCONSTRAINED, Path, PickConstraints, Pool
from ..statistics.base import Statistic
from ..statistics.labelsets import LabelsetCounts
from ..statistics.targets import Classes
from .base import Scores
from .counting import BY_CHANCE, COUNTING, LABELS, Counting, CountingMethod, known_labelsets, picking

SATURATED = 1e-10


class CMI(CountingMethod):
    """Conditional mutual information: Σ_l I(f; Y_l | X_S), S jointly, or with the labelset as one class.

        label_coding="br"   J(f) = Σ_l I(f; Y_l | X_S)
        label_coding="lp"   J(f) = I(f; Y | X_S)

    Greedy: the first pick maximises J with S empty, which is `mim`'s R. J saturates once the joint cells of X_S are singletons:
    picking stops when every J is below 1e-10, the rest follow by R. Rows alone in their cell, or whose cell agrees on all labels,
    carry no information and are dropped, so a pick costs less the further the selection is.
    Symbols: $one; S the picked features, X_S their joint value; $label; Y the labelset as one class of m, the empty one included;
    I plug-in (conditional) mutual information in nats. Score R (v,); value of a pick J.
    Raises: $coded; `DataError` where a label is unknown and ``label_coding="br"`` (joint cells need every label of a row).
    Source: Sechidis, Nikolaou & Brown 2014, Eq. 4 (br) and Eq. 3 (lp); there "X: none".
    Deviations: the stop at 1e-10, which the paper does not have: gains below it are rounding."""

    name = "cmi"
    title = "conditional mutual information given all picked features"
    source = "Sechidis et al. 2014, Eq. 3 and 4"
    when = "a handful of features that together say most: it looks at all picks jointly, and saturates early"
    cost = "one count a pick"
    parameters = (*COUNTING, LABELS)
    greedy = True
    conditions = True

    def score(self, engine: Engine, p: Values, count: int, terms: PickConstraints = UNCONSTRAINED) -> Scores:
        if engine.profile.has_unknown and p["label_coding"] == "br":
            raise DataError(
                "cmi needs every label known (joint cells cannot be counted over observed pairs): fill the unknown labels, "
                "drop such rows, or use jmi"
            )
        return select_jointly(Counting(engine, p), count, terms)


def select_jointly(counting: Counting, count: int, terms: PickConstraints) -> Scores:
    """Greedy selection by I(f; target | X_S) until every gain is below 1e-10."""
    engine, relevance = counting.engine, counting.relevance

    def revalue(pick: int, path: Path) -> np.ndarray:
        path.asked += 1
        path.used += 1
        return engine.cell_information(counting.coding, counting.target, tuple(path.picks), counting.logs)

    return Scores(relevance, Pool(len(relevance), count, terms, SATURATED).run(relevance, revalue, count, picking(engine)))


class PPTCMI(CountingMethod):
    """Pruned labelsets as one class, then CMI or MIM; plug-in or k-nearest-neighbour estimates.

        criterion="cmi"   J(f) = I(f; Y | X_S), greedy        criterion="mim"   R(f) = I(f; Y)

    over the rows whose labelset occurs at least ``min_count`` times, the labelset Y as one class. ``estimator="plug-in"`` counts:
    `cmi` and `mim` under label powerset. ``estimator="knn"`` is Ross' for a real variable x and a class:

        I = ψ(n) + ⟨ψ(k_i)⟩ − ⟨ψ(n_i)⟩ − ⟨ψ(m_i)⟩,    k_i = min(k, n_i − 1), values below 0 set to 0

    on one standardised feature exact from one sort; greedy on X_S ∪ {f} jointly, in the maximum norm. Distances are compared at
    ten decimals; classes of one row are dropped.
    Symbols: f one of the v features that vary, for counts discretised into b ≤ ``num_bins`` bins; S the picked ones, X_S their
    joint value; n rows kept, n_i of them in the class of row i; m_i row i itself and the rows strictly nearer than its k_i-th
    neighbour of the same class; ψ the digamma function, ⟨·⟩ the mean over the rows. Score R (v,), nats; value of a pick J.
    Where fewer than two labelsets occur as often, the two commonest are kept, with a notice.
    Raises: $unlabelled, or there are no two labelsets; $counts, or the rows do with ``estimator="knn"`` and ``criterion="cmi"``,
    which holds them in one process; $range.
    Source: Doquire & Verleysen 2013; Ross 2014, with scikit-learn's conventions.
    Deviations:
    - counting is the default; the paper estimates by nearest neighbours;
    - bins are those of all training rows, not of the rows kept."""

    name = "ppt-cmi"
    title = "pruned labelsets, then conditional mutual information"
    source = "Doquire & Verleysen 2013"
    when = "labels that depend on each other, rare labelsets pruned; without bins by nearest neighbours"
    cost = "as `cmi`"
    parameters = (
        *BY_CHANCE,
        Parameter("criterion", "cmi", Choice(("cmi", "mim")), "greedy CMI, or MIM"),
        Parameter("estimator", "plug-in", Choice(("plug-in", "knn")), "plug-in counts, or Ross' nearest-neighbour estimator"),
        Parameter("min_count", 6, Integer(1), "labelsets that occur less often are dropped"),
        Parameter("k", 6, Integer(1), "neighbours of the knn estimator"),
    )
    greedy = True
    conditions = True

    def takes_codes(self, p: Values) -> bool:
        return p["estimator"] == "plug-in"

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        return [LabelsetCounts()]

    def score(self, engine: Engine, p: Values, count: int, terms: PickConstraints = UNCONSTRAINED) -> Scores:
        if p["bias_correction"] == "chance" and (p["criterion"], p["estimator"]) != ("mim", "plug-in"):
            said = f"{setting('bias_correction', 'chance')} is of counts, and of two variables"
            raise ParameterError(f"{said}: give {setting('criterion', 'mim')} and {setting('estimator', 'plug-in')}")
        sets = known_labelsets(engine)
        floor = max(p["min_count"], 2 if p["estimator"] == "knn" else 1)
        times = sets.counts * engine.profile.weight_unit
        kept = times >= floor
        if kept.sum() < 2 <= len(times) and np.sort(times)[-2] >= min(floor, 2):
            kept = times >= np.sort(times)[-2]
            told = f"ppt-cmi: fewer than two labelsets occur at least min_count = {p['min_count']} times"
            warnings.warn(DataNotice(f"{told}; the {kept.sum()} commonest are kept"), stacklevel=2)
        if kept.sum() < 2:
            raise DataError(
                f"{int(kept.sum())} labelset(s) occur at least min_count = {p['min_count']} times (of {len(kept)}; the commonest "
                f"{sets.counts.max() * engine.profile.weight_unit:g} times); two are needed: lower min_count"
            )
        target, rows = Classes(sets.hashes[kept], sets.counts[kept]), int(sets.counts[kept].sum())
        if p["estimator"] == "plug-in":
            counting = Counting(engine, p, target, rows)
            return Scores(counting.relevance) if p["criterion"] == "mim" else select_jointly(counting, count, terms)
        relevance = engine.over_columns(RossByColumn(p["k"]), target)
        if p["criterion"] == "mim":
            return Scores(relevance)
        return Scores(relevance, engine.in_memory(JointRoss(target, p["k"], relevance, min(count, engine.num_features), terms)))


@dataclass(frozen=True)
class RossByColumn:
    """Ross' estimate of I(f; class) for every column of a slice."""

    k: int

    def __call__(self, values: np.ndarray, classes: np.ndarray) -> np.ndarray:
        return np.array([ross.information(values[:, j], classes, self.k) for j in range(values.shape[1])])


@dataclass(frozen=True)
class JointRoss:
    """Greedy selection by Ross' estimate of I((f, X_S); class); needs the kept rows in one memory."""

    target: Classes
    k: int
    relevance: np.ndarray
    count: int
    terms: PickConstraints

    def __call__(self, x: np.ndarray, block: Block) -> Path:
        rows, classes = self.target.groups(block)
        return ross.select_jointly(x[rows], classes, self.k, self.relevance, self.count, terms=self.terms)
