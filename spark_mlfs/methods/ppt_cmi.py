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
from numpy import ndarray

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
from .cmi import joint_cells, select_jointly
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

    def later(self, engine: Engine, p: Values) -> list[Statistic]:
        return [joint_cells(engine, p)]

    def score(
        self,
        engine: Engine,
        p: Values,
        count: int,
        terms: PickConstraints = UNCONSTRAINED,
    ) -> Scores:
        by_counts = p["estimator"] == "plug-in"
        one_by_one = p["criterion"] == "cmi"
        if p["bias_correction"] == "chance" and (one_by_one or not by_counts):
            raise ParameterError(
                f"{setting('bias_correction', 'chance')} is of counts, and of two variables: give "
                f"{setting('criterion', 'mim')} and {setting('estimator', 'plug-in')}"
            )
        target, rows = self._target(engine, p)
        if by_counts:
            counting = Counting(engine, p, target, rows)
            if one_by_one:
                return select_jointly(counting, count, terms)
            return Scores(counting.relevance)
        relevance = engine.over_columns(partial(ross_by_column, p["k"]), target)
        if not one_by_one:
            return Scores(relevance)
        count = min(count, engine.num_features)
        select = partial(
            joint_ross,
            target,
            p["k"],
            relevance,
            count,
            terms,
        )
        return Scores(relevance, engine.in_memory(select))

    def _target(self, engine: Engine, p: Values) -> tuple[Classes, int]:
        """Return the frequent labelsets as classes, and how many units of rows have one."""
        sets = known_labelsets(engine)
        floor = p["min_count"] if p["estimator"] == "plug-in" else max(p["min_count"], 2)
        times = sets.counts * engine.profile.weight_unit
        frequent = times >= floor
        if frequent.sum() < 2 <= len(times):
            second = np.sort(times)[-2]
            if second >= min(floor, 2):
                frequent = times >= second
                message = (
                    "ppt-cmi: fewer than two labelsets occur at least min_count = "
                    f"{p['min_count']} times; the {frequent.sum()} commonest are kept"
                )
                warnings.warn(DataNotice(message), stacklevel=3)
        if frequent.sum() < 2:
            raise DataError(
                f"{int(frequent.sum())} labelset(s) occur at least min_count = {p['min_count']} "
                f"times (of {len(frequent)}; the commonest {times.max():g} times); two are needed: "
                f"lower {setting('min_count')}"
            )
        counts = sets.counts[frequent]
        return Classes(sets.hashes[frequent], counts), int(counts.sum())


def ross_by_column(k: int, values: ndarray, classes: ndarray) -> ndarray:
    """Return Ross' estimate of I(f; class) for every column of a slice."""
    return np.array([ross.information(values[:, j], classes, k) for j in range(values.shape[1])])


def joint_ross(
    target: Classes,
    k: int,
    relevance: ndarray,
    count: int,
    terms: PickConstraints,
    x: ndarray,
    block: Block,
) -> Path:
    """Pick by Ross' estimate of I((f, X_S); class), of all rows in one memory."""
    rows, classes = target.groups(block)
    return ross.select_jointly(
        x[rows],
        classes,
        k,
        relevance,
        count,
        constraints=terms,
    )
