"""Greedy criteria over counts: sums over the picks (JMI, D2F, …), and all picks jointly (CMI,
PPT-CMI)."""

from __future__ import annotations

import warnings
from dataclasses import replace
from functools import partial

import numpy as np

from ..blocks.block import Block
from ..engine.base import Engine
from ..errors import DataError, DataNotice, ParameterError, setting
from ..params import Choice, Integer, Parameter, Values
from ..solvers import ross
from ..solvers.pool import Path, Pool
from ..solvers.units import UNCONSTRAINED, PickConstraints
from ..statistics.base import Statistic
from ..statistics.labelsets import LabelsetCounts
from ..statistics.targets import Classes, Everything, Labels
from .base import Scores
from .counting import (
    BY_CHANCE,
    BY_LABEL,
    CODED,
    COUNTING,
    LABELS,
    Counting,
    CountingMethod,
    Criterion,
    GreedyCountingMethod,
    known_labelsets,
    picking,
)


class D2F(GreedyCountingMethod):
    """R(f) − Σ_s Σ_l co(f, s, l): relevance less what the picked features already tell.

        J(f) = R(f) − Σ_{s∈S} Σ_l co(f, s, l),    R(f) = Σ_l I(f; Y_l),    co(f, s, l) = I(f; Y_l) −
        I(f; Y_l | s)

    Greedy: the first pick maximises R, each further one J; unpicked features follow by R. Symbols:
    $two; $plugin, over the rows where label l is known; co the interaction information of three
    variables. Score R (v,); value of a pick J, negative where the picks tell more than f adds.
    Raises: $counts; $range. Source: Lee & Kim, "Mutual information-based multi-label feature
    selection using interaction information", 2015. Deviations: none; unknown labels are an
    addition."""

    name = "d2f"
    title = "relevance less three-way interaction with the picked features"
    source = "Lee & Kim 2015"
    when = "as jmi, where repetition shall count more"
    cost = "as `jmi`"
    parameters = BY_LABEL

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        relevance = counting.relevance
        return Criterion(
            relevance,
            lambda s, conditional, pair: relevance - conditional,
            lambda total, picks: relevance - total,
        )


class JMI(GreedyCountingMethod):
    """Joint mutual information: J(f) = Σ_{s∈S} Σ_l I((f, s); Y_l), or with the labelset as one
    class.

        label_coding="br"   J(f) = Σ_{s∈S} Σ_l I((f, s); Y_l)
        label_coding="lp"   J(f) = Σ_{s∈S} I((f, s); Y)

    Greedy: the first pick maximises R(f) = Σ_l I(f; Y_l) or I(f; Y), as `mim`; each further one J.
    By the chain rule I((f, s); Y) = I(s; Y) + I(f; Y | s), so a pick adds one three-way count. With
    ``label_noise`` I((f, s); Y_l) is that of the corrected counts of the joint value. Unpicked
    features follow by R. Symbols: $two; Y the labelset as one class of m, the empty one included;
    $plugin, for label l over the rows where it is known, for Y over those where all are. Score R
    (v,); value of a pick: R of the first, J of the others; where features have costs, of the others
    the mean over S of I(f; Y | s), which orders them as J does and is what f adds. Raises: $coded.
    Source: Sechidis, Nikolaou & Brown 2014, Eq. 8 (br) and Eq. 6 (lp); there "X: partial".
    Deviations: none. The paper leaves the first pick open; here it is that of MIM."""

    name = "jmi"
    title = "joint mutual information with the picked features"
    source = "Sechidis et al. 2014, Eq. 6 and 8"
    when = "no idea yet: relevant features that do not repeat each other"
    cost = "one three-way count a pick, in batches"
    parameters = CODED

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        relevance, alone, noisy = counting.relevance, np.zeros(counting.engine.num_features), None
        # of counts that are clipped the chain rule does not hold
        if isinstance(counting.target, Labels) and counting.target.noise:
            alone, noisy = relevance, replace(counting.target, joint=True)
        if costs:
            return Criterion(
                relevance,
                lambda s, link, pair: link - alone[s],
                lambda total, picks: total / picks,
                noisy,
            )
        return Criterion(
            relevance,
            lambda s, link, pair: relevance[s] - alone[s] + link,
            lambda total, picks: total,
            noisy,
        )


class LRFS(GreedyCountingMethod):
    """Σ_{l≠l'} I(f; Y_l' | Y_l) − mean_s I(f; s).

        J(f) = A(f) − (1/|S|) Σ_{s∈S} I(f; s),    A(f) = Σ_{l≠l'} I(f; Y_l' | Y_l), over ordered
        pairs of labels

    Greedy: the first pick maximises A, each further one J; unpicked features follow by A. Symbols:
    $two; $plugin, A over the rows whose labels are all known. Score A (v,); value of a pick J.
    Raises: $pairs. Source: Zhang, Liu & Gao, "Distinguishing two types of labels for multi-label
    feature selection", 2019. Deviations: none; unknown labels are an addition."""

    name = "lrfs"
    title = "relevance conditioned on the other labels"
    source = "Zhang et al. 2019"
    when = "strongly dependent labels: what a feature says beyond the other labels"
    cost = "pair counts, and label pairs"

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        own = counting.label_pairs(tuple(range(counting.engine.profile.q)))[1]
        return Criterion(
            own,
            lambda s, conditional, pair: pair,
            lambda total, picks: own - total / picks,
            Everything(),
        )


class MDMR(GreedyCountingMethod):
    """R(f) − mean_s [I(f; s) − Σ_l I(f; Y_l | s)].

        J(f) = R(f) − (1/|S|) Σ_{s∈S} [I(f; s) − Σ_l I(f; Y_l | s)],    R(f) = Σ_l I(f; Y_l)

    Greedy: the first pick maximises R, each further one J; unpicked features follow by R. Symbols:
    $two; $plugin, with Y_l over the rows where label l is known. Score R (v,); value of a pick J.
    Raises: $counts; $range. Source: Lin, Hu, Liu & Duan, "Multi-label feature selection based on
    max-dependency and min-redundancy", 2015. Deviations: none; unknown labels are an addition."""

    name = "mdmr"
    title = "maximum dependency, minimum redundancy"
    source = "Lin et al. 2015"
    when = "as jmi, where repetition counts as far as it is not about the labels"
    cost = "as `jmi`"
    parameters = BY_LABEL

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        relevance = counting.relevance
        return Criterion(
            relevance,
            lambda s, link, pair: pair - link,
            lambda total, picks: relevance - total / picks,
        )


class PMU(GreedyCountingMethod):
    """R(f) − Σ_s Σ_l co(f, s, l) − Σ_{l<l'} co(f, l, l').

        J(f) = R(f) − Σ_{s∈S} Σ_l co(f, s, l) − Q(f),    R(f) = Σ_l I(f; Y_l),    Q(f) = Σ_{l<l'}
        co(f, l, l'), co(f, s, l) = I(f; Y_l) − I(f; Y_l | s),         co(f, l, l') = I(f; Y_l) −
        I(f; Y_l | Y_l')

    Greedy: the first pick maximises R − Q, each further one J; unpicked features follow by R − Q.
    co is the interaction information. Symbols: $two; $plugin, over rows where label l is known, in
    Q where all are. Score R − Q (v,); value of a pick J. Raises: $pairs. Source: Lee & Kim,
    "Feature selection for multi-label classification using multivariate mutual information", 2013.
    Deviations: none; unknown labels are an addition."""

    name = "pmu"
    title = "multivariate mutual information up to three variables"
    source = "Lee & Kim 2013"
    when = "pairs of labels that a feature tells together"
    cost = "as `jmi`, and label pairs"

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        relevance = counting.relevance
        own = relevance - counting.label_pairs(tuple(range(counting.engine.profile.q)))[0]
        return Criterion(
            own,
            lambda s, conditional, pair: relevance - conditional,
            lambda total, picks: own - total,
        )


class SCLS(GreedyCountingMethod):
    """R(f)·(1 − Σ_s I(f; s)/H(f)): the redundancy is label-free.

        J(f) = R(f)·(1 − Σ_{s∈S} I(f; s)/H(f)),    R(f) = Σ_l I(f; Y_l)

    Greedy: the first pick maximises R, each further one J; unpicked features follow by R. Symbols:
    $two; $plugin, with Y_l over the rows where label l is known; H entropy, as I. A feature that
    falls into one bin has H = 0 and J = R = 0. Score R (v,); value of a pick J. Raises: $counts;
    $range. Source: Lee & Kim, "SCLS: Multi-label feature selection based on scalable criterion for
    large label set", 2017. Deviations: none; unknown labels are an addition."""

    name = "scls"
    title = "relevance scaled by label-free redundancy"
    source = "Lee & Kim 2017"
    when = "very many labels: what features repeat is measured without them"
    cost = "one pair count a pick"
    parameters = BY_LABEL

    def criterion(self, counting: Counting, costs: bool) -> Criterion:
        relevance, entropy = counting.relevance, counting.entropy

        def term(s: int, conditional: np.ndarray, pair: np.ndarray) -> np.ndarray:
            # a varying feature may still fall into one bin: it tells nothing and scores 0
            return np.divide(pair, entropy, out=np.zeros_like(pair), where=entropy > 0)

        return Criterion(
            relevance, term, lambda share, picks: relevance * (1 - share), Everything()
        )


SATURATED = 1e-10


class CMI(CountingMethod):
    """Conditional mutual information: Σ_l I(f; Y_l | X_S), S jointly, or with the labelset as one
    class.

        label_coding="br"   J(f) = Σ_l I(f; Y_l | X_S)
        label_coding="lp"   J(f) = I(f; Y | X_S)

    Greedy: the first pick maximises J with S empty, which is `mim`'s R. J saturates once the joint
    cells of X_S are singletons: picking stops when every J is below 1e-10, the rest follow by R.
    Rows alone in their cell, or whose cell agrees on all labels, carry no information and are
    dropped, so a pick costs less the further the selection is. Symbols: $one; S the picked
    features, X_S their joint value; $label; Y the labelset as one class of m, the empty one
    included; I plug-in (conditional) mutual information in nats. Score R (v,); value of a pick J.
    Raises: $coded; `DataError` where a label is unknown and ``label_coding="br"`` (joint cells need
    every label of a row). Source: Sechidis, Nikolaou & Brown 2014, Eq. 4 (br) and Eq. 3 (lp); there
    "X: none". Deviations: the stop at 1e-10, which the paper does not have: gains below it are
    rounding."""

    name = "cmi"
    title = "conditional mutual information given all picked features"
    source = "Sechidis et al. 2014, Eq. 3 and 4"
    when = (
        "a handful of features that together say most: it looks at all picks jointly, and "
        "saturates early"
    )
    cost = "one count a pick"
    parameters = (*COUNTING, LABELS)
    greedy = True
    conditions = True

    def score(
        self, engine: Engine, p: Values, count: int, terms: PickConstraints = UNCONSTRAINED
    ) -> Scores:
        if engine.profile.has_unknown and p["label_coding"] == "br":
            told = "cmi needs every label known (joint cells cannot be counted over observed pairs)"
            raise DataError(f"{told}: fill the unknown labels, drop such rows, or use jmi")
        return select_jointly(Counting(engine, p), count, terms)


def select_jointly(counting: Counting, count: int, terms: PickConstraints) -> Scores:
    """Greedy selection by I(f; target | X_S) until every gain is below 1e-10."""
    engine, relevance = counting.engine, counting.relevance

    def revalue(pick: int, path: Path) -> np.ndarray:
        path.requested += 1
        path.used += 1
        return engine.cell_information(
            counting.coding, counting.target, tuple(path.picks), counting.logs
        )

    return Scores(
        relevance,
        Pool(len(relevance), count, terms, SATURATED).run(
            relevance, revalue, count, picking(engine)
        ),
    )


class PPTCMI(CountingMethod):
    """Pruned labelsets as one class, then CMI or MIM; plug-in or k-nearest-neighbour estimates.

        criterion="cmi"   J(f) = I(f; Y | X_S), greedy        criterion="mim"   R(f) = I(f; Y)

    over the rows whose labelset occurs at least ``min_count`` times, the labelset Y as one class.
    ``estimator="plug-in"`` counts: `cmi` and `mim` under label powerset. ``estimator="knn"`` is
    Ross' for a real variable x and a class:

        I = ψ(n) + ⟨ψ(k_i)⟩ − ⟨ψ(n_i)⟩ − ⟨ψ(m_i)⟩,    k_i = min(k, n_i − 1), values below 0 set to 0

    on one standardised feature exact from one sort; greedy on X_S ∪ {f} jointly, in the maximum
    norm. Distances are compared at ten decimals; classes of one row are dropped. Symbols: f one of
    the v features that vary, for counts discretised into b ≤ ``num_bins`` bins; S the picked ones,
    X_S their joint value; n rows kept, n_i of them in the class of row i; m_i row i itself and the
    rows strictly nearer than its k_i-th neighbour of the same class; ψ the digamma function, ⟨·⟩
    the mean over the rows. Score R (v,), nats; value of a pick J. Where fewer than two labelsets
    occur as often, the two commonest are kept, with a notice. Raises: $unlabelled, or there are no
    two labelsets; $counts, or the rows do with ``estimator="knn"`` and ``criterion="cmi"``, which
    holds them in one process; $range. Source: Doquire & Verleysen 2013; Ross 2014, with
    scikit-learn's conventions. Deviations:
    - counting is the default; the paper estimates by nearest neighbours;
    - bins are those of all training rows, not of the rows kept."""

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
