"""Pruned labelsets as one class, then CMI or MIM; plug-in or k-nearest-neighbour estimates.

    criterion="cmi"   J(f) = I(f; Y | X_S), greedy        criterion="mim"   R(f) = I(f; Y)

over the rows whose labelset occurs at least ``min_count`` times, the labelset Y as one class.
``estimator="plug-in"`` counts: `cmi` and `mim` under label powerset. ``estimator="knn"`` is Ross'
for a real variable x and a class:

    I = ψ(n) + ⟨ψ(k_i)⟩ − ⟨ψ(n_i)⟩ − ⟨ψ(m_i)⟩,    k_i = min(k, n_i − 1), values below 0 set to 0

on one standardised feature exact from one sort; greedy on X_S ∪ {f} jointly, in the maximum norm.
Distances are compared at ten decimals; classes of one row are dropped.
Symbols: f one of the v features that vary, for counts discretised into b ≤ ``num_bins`` bins; S the
picked ones, X_S their joint value; n rows kept, n_i of them in the class of row i; m_i row i itself
and the rows strictly nearer than its k_i-th neighbour of the same class; ψ the digamma function,
⟨·⟩ the mean over the rows. Score R (v,), nats; value of a pick J. Where fewer than two labelsets
occur as often, the two commonest are kept, with a notice.
Raises: $unlabelled, or there are no two labelsets; $counts, or the rows do with ``estimator="knn"``
and ``criterion="cmi"``, which holds them in one process; $range.
Source: Doquire & Verleysen 2013; Ross 2014, with scikit-learn's conventions.
Deviations:
- counting is the default; the paper estimates by nearest neighbours;
- bins are those of all training rows, not of the rows kept."""

from __future__ import annotations

import warnings
from functools import partial

import numpy as np

from ..blocks.block import Block
from ..engine.base import Engine
from ..errors import DataError, DataNotice, ParameterError, setting
from ..params import Choice, Integer, Parameter, Values
from ..solvers import ross
from ..solvers.pool import Path
from ..solvers.units import UNCONSTRAINED, PickConstraints
from ..statistics.base import Statistic
from ..statistics.labelsets import LabelsetCounts
from ..statistics.targets import Classes
from .base import Scores
from .cmi import select_jointly
from .counting import BY_CHANCE, Counting, CountingMethod, known_labelsets


class PPTCMI(CountingMethod):
    """Pruned labelsets as one class, then CMI or MIM; plug-in or k-nearest-neighbour estimates."""

    name = "ppt-cmi"
    title = "pruned labelsets, then conditional mutual information"
    source = "Doquire & Verleysen 2013"
    when = (
        "labels that depend on each other, rare labelsets pruned; without bins by nearest "
        "neighbours"
    )
    cost = "as `cmi`"
    parameters = (
        *BY_CHANCE,
        Parameter("criterion", "cmi", Choice(("cmi", "mim")), "greedy CMI, or MIM"),
        Parameter(
            "estimator",
            "plug-in",
            Choice(("plug-in", "knn")),
            "plug-in counts, or Ross' nearest-neighbour estimator",
        ),
        Parameter("min_count", 6, Integer(1), "labelsets that occur less often are dropped"),
        Parameter("k", 6, Integer(1), "neighbours of the knn estimator"),
    )
    greedy = True
    conditions = True

    def takes_codes(self, p: Values) -> bool:
        return p["estimator"] == "plug-in"

    def needs(self, engine: Engine, p: Values) -> list[Statistic]:
        return [LabelsetCounts()]

    def score(
        self, engine: Engine, p: Values, count: int, terms: PickConstraints = UNCONSTRAINED
    ) -> Scores:
        if p["bias_correction"] == "chance" and (p["criterion"], p["estimator"]) != (
            "mim",
            "plug-in",
        ):
            said = f"{setting('bias_correction', 'chance')} is of counts, and of two variables"
            raise ParameterError(
                f"{said}: give {setting('criterion', 'mim')} and {setting('estimator', 'plug-in')}"
            )
        sets = known_labelsets(engine)
        floor = max(p["min_count"], 2 if p["estimator"] == "knn" else 1)
        times = sets.counts * engine.profile.weight_unit
        kept = times >= floor
        if kept.sum() < 2 <= len(times) and np.sort(times)[-2] >= min(floor, 2):
            kept = times >= np.sort(times)[-2]
            told = (
                "ppt-cmi: fewer than two labelsets occur at least min_count = "
                f"{p['min_count']} times"
            )
            warnings.warn(DataNotice(f"{told}; the {kept.sum()} commonest are kept"), stacklevel=2)
        if kept.sum() < 2:
            raise DataError(
                f"{int(kept.sum())} labelset(s) occur at least min_count = {p['min_count']} times "
                f"(of {len(kept)}; the commonest "
                f"{sets.counts.max() * engine.profile.weight_unit:g} times); two are needed: lower "
                "min_count"
            )
        target, rows = Classes(sets.hashes[kept], sets.counts[kept]), int(sets.counts[kept].sum())
        if p["estimator"] == "plug-in":
            counting = Counting(engine, p, target, rows)
            return (
                Scores(counting.relevance)
                if p["criterion"] == "mim"
                else select_jointly(counting, count, terms)
            )
        relevance = engine.over_columns(partial(ross_by_column, p["k"]), target)
        if p["criterion"] == "mim":
            return Scores(relevance)
        count = min(count, engine.num_features)
        return Scores(
            relevance,
            engine.in_memory(partial(joint_ross, target, p["k"], relevance, count, terms)),
        )


def ross_by_column(k: int, values: np.ndarray, classes: np.ndarray) -> np.ndarray:
    """Ross' estimate of I(f; class) for every column of a slice."""
    return np.array([ross.information(values[:, j], classes, k) for j in range(values.shape[1])])


def joint_ross(
    target: Classes,
    k: int,
    relevance: np.ndarray,
    count: int,
    terms: PickConstraints,
    x: np.ndarray,
    block: Block,
) -> Path:
    """Greedy selection by Ross' estimate of I((f, X_S); class); needs the kept rows in one
    memory."""
    rows, classes = target.groups(block)
    return ross.select_jointly(x[rows], classes, k, relevance, count, constraints=terms)
