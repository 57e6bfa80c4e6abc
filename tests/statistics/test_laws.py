"""One law over every `Statistic` class there is.

Merge is commutative and associative, folding blocks in equals merging their states, rows in any
order and cut anywhere have one state, that of no rows changes nothing, a state that is cut and
pasted is the same, so is one that has travelled, and no state is larger than it announced. All of
it to the bit. A class without an example here fails."""

from __future__ import annotations

import importlib.util
import itertools
import pkgutil
from dataclasses import fields, replace
from functools import cache

import numpy as np
import pytest
import scipy.sparse as sp

import spark_mlfs
from spark_mlfs.blocks.block import Block
from spark_mlfs.blocks.codec import decode, encode
from spark_mlfs.blocks.coding import code_block, plan_coding
from spark_mlfs.blocks.folds import Marked, Split
from spark_mlfs.blocks.profile import Profile, profile_block
from spark_mlfs.blocks.weights import fixed
from spark_mlfs.classify import CLASSIFIERS
from spark_mlfs.engine.local import LocalEngine
from spark_mlfs.evaluate.compare import LabelsByPart
from spark_mlfs.evaluate.trials import PredictionSums
from spark_mlfs.extract import EXTRACTORS, lift, lift_rsm, mlnb
from spark_mlfs.extract import base as extract_base
from spark_mlfs.kernels.hashing import group_of
from spark_mlfs.kernels.information import CountLogs
from spark_mlfs.methods import METHODS, csfs, gmba, relieff, rfs
from spark_mlfs.methods.counting import Relevance
from spark_mlfs.methods.enm import InformationNorm
from spark_mlfs.params import check
from spark_mlfs.select import portrait
from spark_mlfs.select.knockoff_rule import KnockoffGram
from spark_mlfs.select.rules import Rule
from spark_mlfs.states import own_statistics
from spark_mlfs.statistics import (
    contingency,
    gram,
    joint,
    label_ranges,
    labelsets,
    links,
    moments,
    neighbours,
    quantiles,
    sample,
    targets,
)
from spark_mlfs.statistics.base import (
    FeatureNumbers,
    FeatureShardedStatistic,
    PerFeatureStatistic,
    Reduction,
    Statistic,
    compact,
    cut,
    paste,
)

PARTS = 5


# ---- data
# ----------------------------------------------------------------------------------------------------------------


def rows_of(x, y, unknown=None, unlabelled=None):
    """Rows as one block, without Spark; `y` and `unknown` sparse 0/1."""
    more = (None, None) if unknown is None else (unknown.indptr, unknown.indices)
    return Block(x, np.arange(len(y.indptr) - 1) * 7 + 3, y.indptr, y.indices, *more, unlabelled)


def members(rng, n, q, each, power=1.0):
    """(n, q) 0/1, `each` draws a row, label l with weight (l + 1)^-power."""
    weight = (1.0 + np.arange(q)) ** -power
    drawn = rng.choice(q, (n, each), p=weight / weight.sum())
    out = sp.csr_matrix(
        (np.ones(n * each), (np.repeat(np.arange(n), each), drawn.ravel())), shape=(n, q)
    )
    out.data[:] = 1
    return out


def dense(n=360, d=12, q=4, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, d))
    x[:, 2], x[:, 4], x[:, 5] = x[:, 2] > 0, 1.5, 1e6 + rng.integers(0, 9, n)
    y = sp.csr_matrix((x[:, :q] + rng.normal(size=(n, q)) > 0.5).astype(float))
    return rows_of(x, y)


def thin():
    """X is sparse, X'Y is not: every feature meets every label sooner or later. The last rows are
    much longer than the others."""
    rng = np.random.default_rng(1)
    x = sp.vstack([members(rng, 580, 120, 6, 0.3), members(rng, 20, 120, 70, 0.3)], format="csr")
    x.data = rng.integers(1, 6, len(x.data)).astype(float)
    return rows_of(
        x, sp.vstack([members(rng, 580, 12, 3, 0.2), members(rng, 20, 12, 9, 0.2)], format="csr")
    )


def half_known():
    rng = np.random.default_rng(2)
    block = dense(seed=2)
    unlabelled = np.flatnonzero(rng.random(block.n) < 0.05)
    y = block.labels(4).toarray()
    y[unlabelled] = 0
    unknown = (rng.random(y.shape) < 0.04) & (y == 0)
    unknown[unlabelled] = False
    return rows_of(block.x, sp.csr_matrix(y), sp.csr_matrix(unknown), unlabelled)


def thin_half_known():
    rng = np.random.default_rng(6)
    block = thin()
    unlabelled = np.flatnonzero(rng.random(block.n) < 0.02)
    y = block.labels(12).toarray()
    y[unlabelled] = 0
    unknown = (rng.random(y.shape) < 0.03) & (y == 0)
    unknown[unlabelled] = False
    return rows_of(block.x, sp.csr_matrix(y), sp.csr_matrix(unknown), unlabelled)


def many_sets():
    """8000 rows, nearly as many labelsets of 2000 labels."""
    rng = np.random.default_rng(3)
    return rows_of(rng.normal(size=(8000, 2)), members(rng, 8000, 2000, 4, 0.0))


def wide():
    """10,000 labels, 3 a row."""
    rng = np.random.default_rng(4)
    return rows_of(members(rng, 3000, 400, 8), members(rng, 3000, 10_000, 3))


def wide_dense():
    rng = np.random.default_rng(5)
    return rows_of(rng.normal(size=(1200, 5)), members(rng, 1200, 4000, 3))


DATA = {
    f.__name__: f for f in (dense, thin, half_known, thin_half_known, many_sets, wide, wide_dense)
}
FEW = (
    "dense",
    "thin",
    "half_known",
    "thin_half_known",
)  # labels few enough for states of q², and for methods
WIDTH = {
    "dense": 4,
    "thin": 12,
    "half_known": 4,
    "thin_half_known": 12,
    "many_sets": 2000,
    "wide": 10_000,
    "wide_dense": 4000,
}


@cache
def case(name) -> tuple[Block, Profile]:
    block = DATA[name]()
    return block, profile_block(block, WIDTH[name])


# ---- an example of every class
# -------------------------------------------------------------------------------------------


class Watched(LocalEngine):
    """Keeps what was asked of it, and over which profile."""

    def _compute(self, statistics):
        self.asked = [
            *getattr(self, "asked", []),
            *((s, self.profile) for s in statistics.values()),
        ]
        return super()._compute(statistics)


def engine_of(name):
    block, profile = case(name)
    return Watched(profile, [block])


@cache
def asked_by_method(name, method, *given):
    engine, found = engine_of(name), METHODS.create(method)
    found.score(engine, check(found.parameters, dict(given), method), 3)
    return engine.asked


@cache
def asked_by_extractor(name, extractor, *given):
    engine, found = engine_of(name), EXTRACTORS.create(extractor)
    found.fit(engine, check(found.parameters, dict(given), extractor))
    return engine.asked


@cache
def asked_by_rule(name):
    engine, rule, found = engine_of(name), Rule("knockoffs", 0.2), METHODS.create("ridge")
    parameters = check(found.parameters, {}, "ridge")
    rule.before(engine, found, parameters)
    rule.outcome(engine, found, parameters)
    return engine.asked


def of(kind, asked, most=2):
    """The statistics of one class among those asked for: the first and the last."""
    mine = [(s, p) for s, p in asked if type(s) is kind]
    return mine[:1] + mine[1:][-1:] if most == 2 else mine[:most]


def by_method(kind, *runs):
    return lambda name: [found for run in runs for found in of(kind, asked_by_method(name, *run))]


def by_extractor(kind, *runs):
    return lambda name: [
        found for run in runs for found in of(kind, asked_by_extractor(name, *run))
    ]


def on(build):
    """Examples from a function of the profile."""
    return lambda name: [(s, case(name)[1]) for s in build(case(name)[1], name)]


def codings(profile):
    return [plan_coding(profile, 5, "width")]


def all_targets(profile, name):
    """What rows can be counted by."""
    block, _ = case(name)
    watch = range(profile.q) if profile.unlabelled else np.flatnonzero(profile.unknown)
    sets = labelsets.LabelsetCounts().partial(block, profile)
    often = sets["counts"] >= np.sort(sets["counts"])[-min(50, len(sets["counts"]))]
    return [
        targets.Everything(),
        targets.Labels(profile.q, tuple(int(i) for i in watch)),
        targets.Labels(profile.q, only_known=True),
        targets.Classes(sets["hashes"], sets["counts"]),
        targets.Classes(sets["hashes"][often], sets["counts"][often]),
        targets.LabelPairs(tuple(range(min(profile.q, 12)))),
    ]


def two_ways(profile, name):
    return [contingency.TwoWay(c, t) for c in codings(profile) for t in all_targets(profile, name)]


def pairs(profile, name):
    """Three-way counts of the first feature and the last."""
    out = []
    for c in codings(profile):
        for t in all_targets(profile, name):
            selected = (0, len(c.features) - 1)
            common = tuple(int(c.zero[s]) for s in selected) if c.sparse else (0, 2)
            out.append(links.pair_counts(c, t, selected, common, CountLogs(profile.n, 100)))
    return out


def crossed(profile, name):
    return [part for numbers in pairs(profile, name) for part in numbers.parts[1:]]


class SideBySide(Reduction):
    """All that counts, or moments, say of each feature, side by side."""

    def __call__(self, *results):
        return np.concatenate([self.of(result) for result in results])

    @staticmethod
    def of(result):
        if isinstance(result, contingency.Counts):
            return result.dense(result.first, result.last).reshape(result.count, -1).T
        out = np.zeros((2, len(result.rows.positive), result.count))
        out[:, result.group, result.feature] = result.total, result.square
        return np.concatenate([*out, [result.all_total, result.all_square]])


def feature_numbers(profile, name):
    """Of every target, of pairs of features, and of pairs of labels."""
    listed = targets.LabelPairs(tuple(range(min(profile.q, 12))))
    terms = 8 * (profile.q + 2)
    out = [FeatureNumbers((s,), SideBySide()) for s in two_ways(profile, name)] + pairs(
        profile, name
    )
    out += [FeatureNumbers((s,), SideBySide()) for s in in_cells(profile, name) if profile.q < 1000]
    return out + [
        links.label_pair_counts(c, listed, profile.has_unknown, terms) for c in codings(profile)
    ]


def by_counts_of_labels(name):
    """What quotas ask for: with the rules of occurrence, whose codes differ where values do."""
    engine, p = engine_of(name), check(METHODS["quota"].parameters, {}, "quota")
    return [(s, engine.profile) for s in METHODS.create("quota").needs(engine, p)]


def targets_by_fold(profile, name):
    return [gram.FoldedLabels(profile.q, 3, profile)] if profile.q <= 100 else []


def folded(profile, name):
    """Of all features and of some; with as many labels as there are, and with three columns that
    stand for them."""
    sizes = 1 + np.arange(profile.q) % 7
    return [
        gram.FoldGrams(),
        gram.FoldGrams(3, 3, sizes),
        gram.FoldGrams(features=np.array([0, 2])),
        gram.FoldGrams(features=sizes[:0]),
    ]


def group_moments(profile, name):
    stored = (
        [moments.GroupMoments(targets.Labels(profile.q), True)] if moments.thin(profile) else []
    )
    folded = targets_by_fold(profile, name)
    stored += [moments.GroupMoments(t, True) for t in folded] if moments.thin(profile) else []
    if name == "wide":  # 32 MB of each array
        return stored
    stored += [moments.GroupMoments(t) for t in folded]
    return [moments.GroupMoments(t) for t in all_targets(profile, name)[:3]] + stored


def in_cells(profile, name):
    return [
        contingency.TwoWay(c, joint.JointCells(t, c, (0, 1)))
        for c in codings(profile)
        for t in all_targets(profile, name)
    ]


def cell_informations(profile, name):
    logs = CountLogs(profile.n, 8 * (profile.q + 2))
    return [
        joint.CellInformation(c, t, (0, 1), logs)
        for c in codings(profile)
        for t in all_targets(profile, name)
    ]


def weights(profile, seed=0):
    rng = np.random.default_rng(seed)
    return rng.normal(size=(len(profile.varying), profile.q)) * 1e-3, rng.normal(size=profile.q)


def sketched_and_not(profile, name):
    """One with as many labels as there are, and one on three columns that stand for them."""
    w, b = weights(profile)
    return [
        rfs.ReweightedGram(w, b, 1e-6),
        rfs.ReweightedGram(w[:, :3].copy(), b[:3].copy(), 1e-6, 3),
    ]


def quantile_steps(profile, name):
    v = profile.varying
    edges = np.linspace(profile.low[v], profile.high[v], 7, axis=1)[:, 1:-1]
    return [quantiles.CountsBelow(np.sort(quantiles.to_key(edges), axis=1), 0)]


def predictions(name):
    engine, found = engine_of(name), CLASSIFIERS.create("mlknn")
    predictor = found.predictor(found.fit(engine, check(found.parameters, {}, "mlknn")))
    return [(PredictionSums(predictor, ("standard",)), case(name)[1])]


EVERY = tuple(DATA)
GMBA = ("gmba", ("mode", "closed")), ("gmba", ("mode", "paper"))
RELIEFF = ("relieff", ("mode", "pairwise")), ("relieff", ("mode", "hamming"))

# class: (data sets, examples on a data set)
EXAMPLES = {
    labelsets.LabelsetCounts: (
        EVERY,
        on(lambda p, name: [labelsets.LabelsetCounts(), labelsets.LabelsetCounts("grades")]),
    ),
    contingency.TwoWay: (
        EVERY,
        on(lambda p, name: two_ways(p, name) + crossed(p, name) + in_cells(p, name)),
    ),
    FeatureNumbers: (EVERY, on(feature_numbers)),
    label_ranges.LabelRanges: (EVERY, by_counts_of_labels),
    joint.CellInformation: (("dense", "thin", "wide", "wide_dense"), on(cell_informations)),
    joint.JointCounts: (
        ("dense", "thin", "half_known", "thin_half_known", "wide"),
        on(
            lambda p, name: [
                joint.JointCounts(c, t, ((0,), (1, 2, 4), (3, 5, 6, 7)), most)
                for c in codings(p)
                for t in all_targets(p, name)
                for most in (1024, 30, 2)
            ]
        ),
    ),
    gram.Gram: (FEW, on(lambda p, name: [gram.Gram(), gram.Gram(5), gram.Gram(sketch=3)])),
    rfs.ReweightedGram: (FEW, on(sketched_and_not)),
    csfs.FilledSums: (
        FEW,
        on(lambda p, name: [csfs.FilledSums(None, None), csfs.FilledSums(*weights(p))]),
    ),
    gram.AllRowsGram: (FEW, on(lambda p, name: [gram.AllRowsGram()])),
    gram.FoldGrams: (FEW, on(folded)),
    portrait.PortraitGrams: (
        FEW,
        on(
            lambda p, name: [
                portrait.PortraitGrams(
                    shown=tuple(range(p.q - 1, -1, -2)),
                    rows=rows,
                    picks=tuple(p.varying[: len(p.varying) // times].tolist()),
                )
                for rows, times in ((p.n, 1), (p.n // 2, 2))
            ]
        ),
    ),
    portrait.LabelCorrelations: (
        FEW,
        on(
            lambda p, name: [
                portrait.LabelCorrelations(tuple(range(p.q - 1, -1, -2)), rows)
                for rows in (p.n, p.n // 2)
            ]
        ),
    ),
    KnockoffGram: (FEW, lambda name: of(KnockoffGram, asked_by_rule(name))),
    labelsets.LabelsetSums: (
        (*FEW, "many_sets", "wide", "wide_dense"),
        on(lambda p, name: [labelsets.LabelsetSums(), labelsets.LabelsetSums(squares=True)]),
    ),
    moments.GroupMoments: ((*FEW, "many_sets", "wide", "wide_dense"), on(group_moments)),
    quantiles.CountsBelow: (EVERY, on(quantile_steps)),
    sample.SampledRows: (
        EVERY,
        on(lambda p, name: [sample.SampledRows(k, 1) for k in (1, 40, p.n // 2, p.n + 1)]),
    ),
    sample.AllRows: (EVERY, on(lambda p, name: [sample.AllRows(p.n)])),
    neighbours.NearestRows: (FEW, by_method(neighbours.NearestRows, *GMBA, RELIEFF[1], ("msfs",))),
    neighbours.RowsById: (FEW, by_method(neighbours.RowsById, *GMBA, RELIEFF[1])),
    gmba.HingeSums: (FEW, by_method(gmba.HingeSums, *GMBA)),
    relieff.PairNearest: (FEW, by_method(relieff.PairNearest, RELIEFF[0])),
    relieff.LinkDifferences: (FEW, by_method(relieff.LinkDifferences, *RELIEFF)),
    neighbours.EdgeDifferences: (FEW, by_method(neighbours.EdgeDifferences, ("msfs",))),
    extract_base.KnownRows: (EVERY, on(lambda p, name: [extract_base.KnownRows()])),
    lift_rsm.SmallestHashes: (
        EVERY,
        on(lambda p, name: [lift_rsm.SmallestHashes(k, 1) for k in (1, 100, p.n + 5)]),
    ),
    lift.FirstRows: (FEW, by_extractor(lift.FirstRows, ("lift",))),
    lift.ClusterSums: (FEW, by_extractor(lift.ClusterSums, ("lift",))),
    mlnb.ComponentMoments: (FEW, by_extractor(mlnb.ComponentMoments, ("mlnb", ("generations", 2)))),
    mlnb.PopulationLoss: (FEW, by_extractor(mlnb.PopulationLoss, ("mlnb", ("generations", 2)))),
    PredictionSums: (("dense", "thin"), predictions),
    own_statistics.Fingerprint: (EVERY, on(lambda p, name: [own_statistics.Fingerprint()])),
    own_statistics.KeyedGrams: (FEW, on(lambda p, name: [own_statistics.KeyedGrams()])),
    own_statistics.OutOfRangeCounts: (
        EVERY,
        on(
            lambda p, name: [
                own_statistics.OutOfRangeCounts(p.low + (p.high - p.low) / 4, p.high, p.binary)
            ]
        ),
    ),
    LabelsByPart: (EVERY, on(lambda p, name: [LabelsByPart(Split("files", 0, 0, Marked()))])),
}


def every_class():
    for found in pkgutil.walk_packages(spark_mlfs.__path__, "spark_mlfs."):
        try:
            importlib.import_module(found.name)
        except ImportError:
            if importlib.util.find_spec("pyspark"):  # no statistic is where Spark is needed
                raise
    out, waiting = [], [Statistic]
    while waiting:
        for kind in waiting.pop().__subclasses__():
            out.append(kind)
            waiting.append(kind)
    bases = FeatureShardedStatistic, PerFeatureStatistic, moments.ExactSums
    return [
        kind
        for kind in dict.fromkeys(out)
        if kind.__module__.startswith("spark_mlfs.") and kind not in bases
    ]


@pytest.mark.parametrize("kind", [k for k in EXAMPLES if "logs" in {f.name for f in fields(k)}])
def test_a_key_says_what_finish_goes_by(kind):
    """Results of other label weights, noise or bias correction are not taken for each other."""
    name = EXAMPLES[kind][0][0]
    one = next(s for s, _ in EXAMPLES[kind][1](name) if isinstance(s.target, targets.Labels))
    logs = [CountLogs(50, 100, correction) for correction in ("none", "miller-madow", "chance")]
    goals = [
        replace(one.target, **more)
        for more in ({}, {"weights": (2.0,) * one.target.q}, {"noise": (0.1, 0.2)})
    ]
    keys = {replace(one, logs=log, target=goal).key() for log in logs for goal in goals}
    assert len(keys) == 9 and replace(one).key() == one.key()


@pytest.mark.parametrize(
    "kind", [links.LinkInformation, joint.InformationInCells, Relevance, InformationNorm]
)
def test_the_key_of_a_reduction_says_what_it_goes_by(kind):
    logs = [CountLogs(50, 100, correction) for correction in ("none", "miller-madow", "chance")]
    goals = [
        targets.Labels(3, **more) for more in ({}, {"weights": (2.0,) * 3}, {"noise": (0.1, 0.2)})
    ]
    if kind is joint.InformationInCells:
        goals = [joint.JointCells(goal, None, (0,)) for goal in goals]
    keys = {kind(goal, log).key() for log in logs for goal in goals}
    assert len(keys) == 9 and kind(goals[0], logs[0]).key() in keys


@pytest.mark.slow
@pytest.mark.parametrize("name", FEW)
def test_shards_finish_as_the_whole_state_does(name):
    """To the bit, wherever features and rows are cut: the numbers of the whole states' results."""
    block, profile = case(name)
    found = feature_numbers(profile, name)
    found += [FeatureNumbers((s,), SideBySide()) for s in group_moments(profile, name) if s.stored]
    for statistic in found:
        statistic = replace(statistic, reduction=SideBySide())
        blocks = blocks_of(statistic, block, profile)
        whole = []
        for part in statistic.parts:
            state = None
            for b in blocks:
                state = part.fold(state, b, profile)
            whole.append(part.finish(state, profile))
        numbers = statistic.reduced(whole)
        for size in (20_000, 1 << 30):
            edges = statistic.edges(profile, size)
            states = [*statistic.shards(blocks[:2], profile, edges)]
            for b in blocks[2:]:
                states = [
                    statistic.merge(*both)
                    for both in zip(states, statistic.shards([b], profile, edges), strict=True)
                ]
            ranges = [(int(a), int(z)) for a, z in itertools.pairwise(edges)]
            parts = [
                statistic.reduce_shard(state, *ends, profile)
                for state, ends in zip(states, ranges, strict=True)
            ]
            assert np.concatenate(parts, axis=1).tobytes() == numbers.tobytes(), (
                statistic.key()[1],
                size,
            )


def test_every_statistic_has_an_example():
    assert {kind.__name__ for kind in every_class()} == {kind.__name__ for kind in EXAMPLES}


# ---- the laws
# ------------------------------------------------------------------------------------------------------------


def blocks_of(statistic, block, profile):
    """The rows in parts as the engines give them: cells and folds not divided."""
    if statistic.layout in ("coded", "cells"):
        coded = code_block(block, statistic.coding)
        place = np.arange(block.n) * PARTS // block.n
        if statistic.layout == "cells":
            place = joint.cells_of(coded, statistic.coding, statistic.selected) % PARTS
        return [coded.take(np.flatnonzero(place == i)) for i in np.unique(place)]
    folds = getattr(statistic, "blocks", 1)
    if folds > 1:
        fold = group_of(block.ids) * folds // 60
        return [
            block.take(part)
            for f in np.unique(fold)
            for part in np.array_split(np.flatnonzero(fold == f), 2)
            if len(part)
        ]
    cuts = np.linspace(0, block.n, PARTS + 1).astype(int)
    return [block.part(a, z) for a, z in itertools.pairwise(cuts)]


BY_RESULT = (
    sample.SampledRows,
    neighbours.RowsById,
    lift.FirstRows,
)  # rows held in any order; the result puts them in theirs


def differs(statistic, profile, a, b):
    """What differs between two states, to the bit, or ""."""
    if isinstance(statistic, BY_RESULT):
        a, b = ({"rows": encoded(statistic.finish(s, profile))} for s in (a, b))
    if a.keys() != b.keys():
        return f"{sorted(a)} and {sorted(b)}"
    for name, left in a.items():
        right = b[name]
        if sp.issparse(left):
            if left.shape != right.shape or (left != right).nnz:
                return name
            continue
        left, right = np.asarray(left), np.asarray(right)
        if left.shape != right.shape:
            return f"{name} {left.shape} and {right.shape}"
        if not np.array_equal(left, right):
            return name
    return ""


def encoded(result):
    block = result[0] if isinstance(result, tuple) else result
    return np.frombuffer(bytes(block.encode()), np.uint8)


def travelled(state):
    return decode(bytes(encode(compact(state))))


def broken_laws(statistic, block, profile):
    """Every law the statistic breaks on these rows, one line each."""
    out = []

    def law(name, found, wanted):
        try:
            what = differs(statistic, profile, found(), wanted)
        except Exception as error:  # told with the others
            what = f"{type(error).__name__}: {error}"
        if what:
            out.append(f"{name}: {what}")

    blocks = blocks_of(statistic, block, profile)
    worker_view = statistic.worker_view()
    states = [worker_view.partial(b, profile) for b in blocks]
    merge = statistic.merge

    def all_of(parts):
        total = parts[0]
        for part in parts[1:]:
            total = merge(total, part)
        return total

    whole = all_of(states)
    if len(states) > 1:
        first, second, rest = states[0], states[1], all_of(states[2:] or states[:1])
        law("merge is commutative", lambda: merge(second, first), merge(first, second))
        law(
            "merge is associative",
            lambda: merge(first, merge(second, rest)),
            merge(merge(first, second), rest),
        )
        law("merge in reverse", lambda: all_of(states[::-1]), whole)

    def folded():
        state = None
        for b in blocks:
            state = worker_view.fold(state, b, profile)
        return state

    law("fold equals merge of partials", folded, whole)

    def cut_otherwise():
        rng = np.random.default_rng(0)
        cuts = np.sort(rng.integers(0, block.n, 3))
        return all_of(
            [
                worker_view.partial(block.take(rows), profile)
                for rows in np.split(rng.permutation(block.n), cuts)
            ]
        )

    if statistic.layout in ("rows", "identified"):
        law("rows in any order, cut anywhere", cut_otherwise, whole)

    def nothing():
        return worker_view.partial(blocks[0].take(np.zeros(0, np.int64)), profile)

    law("no rows, then all", lambda: merge(nothing(), whole), whole)
    law("all rows, then none", lambda: merge(whole, nothing()), whole)
    law("a state that travelled", lambda: travelled(whole), whole)
    law("states that travelled merge", lambda: all_of([travelled(s) for s in states]), whole)
    if statistic.divisible:
        for pieces in (2, 7):
            law(
                f"cut into {pieces} and pasted",
                lambda pieces=pieces: paste(cut(whole, pieces)),
                whole,
            )
            law(
                f"merged in {pieces} pieces",
                lambda pieces=pieces: paste(
                    [all_of(parts) for parts in zip(*(cut(s, pieces) for s in states), strict=True)]
                ),
                whole,
            )
    announced = statistic.state_bytes(profile)
    for what, state in [("all rows", whole), *((f"block {i}", s) for i, s in enumerate(states))]:
        size = len(encode(compact(state)))
        if size > announced:
            out.append(f"announces {announced} bytes; the state of {what} has {size}")
            break
    return out


@pytest.mark.parametrize("name", ["thin", "thin_half_known", "wide", "half_known"])
def test_what_a_profile_bounds(name):
    """The numbers that sizes follow from, of the rows together and merged from parts, against the
    matrices."""
    block, profile = case(name)
    cuts = np.linspace(0, block.n, PARTS + 1).astype(int)
    parts = [profile_block(block.part(a, z), WIDTH[name]) for a, z in itertools.pairwise(cuts)]
    merged = parts[0]
    for part in parts[1:]:
        merged = Profile.decode(bytes(merged.merge(part).encode()))
    x, y, unknown = block.csr() != 0, block.labels(profile.q), block.unknown_indptr
    in_row, labels = np.asarray(x.sum(axis=1)).ravel(), np.diff(y.indptr)
    gone = np.zeros(block.n, bool)
    gone[[] if block.unlabelled is None else block.unlabelled] = True
    missing = np.zeros(block.n, int) if unknown is None else np.where(gone, 0, np.diff(unknown))
    exact = profile.sparse
    for found in (profile, merged):
        for value, wanted in (
            (found.stored, np.asarray(x.sum(axis=0)).ravel()),
            (found.widest, in_row.max()),
            (found.feature_label_pairs, in_row @ labels),
            (found.feature_unknown_pairs, in_row @ missing),
            (found.unlabelled_stored, in_row[gone].sum()),
        ):
            assert np.array_equal(value, wanted) if exact else np.all(value >= wanted)
        assert found.most_labels == labels.max() and found.most_unknown == missing.max()


def test_rows_with_every_label_known_are_asked_for_twice():
    block, profile = case("half_known")
    target = targets.Labels(profile.q, only_known=True)
    coded = code_block(block, plan_coding(profile, 5, "width"))
    first, second = (targets.groups_of(coded, target) for _ in range(2))
    known = np.flatnonzero(block.complete)
    y = block.labels(profile.q)[known].tocoo()
    for rows, groups in (first, second):
        assert sorted(zip(rows.tolist(), groups.tolist(), strict=True)) == sorted(
            [(int(r), 0) for r in known]
            + [(int(known[r]), 1 + int(c)) for r, c in zip(y.row, y.col, strict=True)]
        )


def test_sizes_are_announced_tightly():
    """What is refused for its size is nearly that large: counts of sparse rows; once labelsets are
    counted, sums by labelset."""
    for name in ("dense", "thin", "wide", "many_sets"):
        block, profile = case(name)
        sets = len(labelsets.LabelsetCounts().partial(block, profile)["hashes"])
        assert profile.most_labelsets >= sets
        profile = replace(profile, labelsets=sets)
        found = [(labelsets.LabelsetCounts(),), (labelsets.LabelsetSums(squares=True),)]
        found += [(s,) for s in two_ways(profile, name) if isinstance(s.target, targets.Labels)]
        found += [
            s.parts[1:]
            for s in pairs(profile, name)
            if isinstance(s.parts[0].target, targets.Labels)
        ]
        for parts in found:
            (coded,) = (
                [block] if parts[0].layout != "coded" else [code_block(block, parts[0].coding)]
            )
            size = sum(len(encode(compact(s.partial(coded, profile)))) for s in parts)
            # a count of sparse rows and its index are announced with four bytes each, as a process
            # holds them, and travel in one and two where they fit
            assert size <= sum(s.state_bytes(profile) for s in parts) <= 15 * size + 4096, (
                name,
                parts[0].key()[0],
            )


SECONDS = {(relieff.PairNearest, "thin"), (relieff.PairNearest, "thin_half_known")}
SECONDS |= {(contingency.TwoWay, "wide_dense"), (contingency.TwoWay, "many_sets")}
SECONDS |= {(mlnb.PopulationLoss, "thin"), (mlnb.PopulationLoss, "thin_half_known")}


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        pytest.param(kind, name, marks=pytest.mark.slow if (kind, name) in SECONDS else ())
        for kind, (names, _) in EXAMPLES.items()
        for name in names
    ],
)
def test_laws(kind, name):
    block = case(name)[0]
    found = EXAMPLES[kind][1](name)
    assert found, "no example"
    broken = []
    for statistic, profile in found:
        assert type(statistic) is kind
        shown = (
            type(getattr(statistic, "target", None)).__name__
            if hasattr(statistic, "target")
            else ""
        )
        broken += [
            f"{kind.__name__}({shown}) on {name}: {line}"
            for line in broken_laws(statistic, block, profile)
        ]
    assert not broken, "\n" + "\n".join(dict.fromkeys(broken))


# which take seconds, and `Gram` has weights of each kind
MADE_OF_GRAMS = (own_statistics.KeyedGrams, portrait.PortraitGrams)
WEIGHTED = [k for k in EXAMPLES if k.weighted or issubclass(k, FeatureNumbers)]
WEIGHTS = (
    "whole",
    "fractions",
    "far apart",
)  # below 2^22 together, above it, and of more than 20 bits


@cache
def weighted(name, which):
    """The rows of a case with weights."""
    block, _ = case(name)
    rng = np.random.default_rng(9)
    found = {"whole": rng.integers(1, 4, block.n), "fractions": rng.uniform(1, 2, block.n)}
    found["far apart"] = np.where(rng.random(block.n) < 0.5, 1, 0.01) * found["fractions"]
    block = replace(block, weights=fixed(found[which]))
    profile = profile_block(block, WIDTH[name])
    assert (profile.total < 1 << 22, profile.heaviest < 1 << 20) == {
        "whole": (1, 1),
        "fractions": (0, 1),
    }.get(which, (0, 0))
    return block, profile


@pytest.mark.slow
@pytest.mark.parametrize(
    ("kind", "which"),
    [
        (kind, which)
        for kind in WEIGHTED
        for which in (WEIGHTS[-1:] if kind in MADE_OF_GRAMS else WEIGHTS)
    ],
)
def test_laws_of_weighted_rows(kind, which):
    """On dense rows and on sparse ones in turn, so that every kind has weights on both."""
    broken = []
    names = sorted({*EXAMPLES[kind][0]} & {"half_known", "thin_half_known"}) or ["dense", "thin"]
    turn = 0 if kind in MADE_OF_GRAMS else WEIGHTED.index(kind) + WEIGHTS.index(which)
    name = names[turn % len(names)]
    block, profile = weighted(name, which)
    for statistic, _ in EXAMPLES[kind][1](name):
        if isinstance(getattr(statistic, "logs", None), CountLogs):
            statistic = replace(statistic, logs=CountLogs(profile.total, 8 * (profile.q + 2)))
        shown = (
            type(getattr(statistic, "target", None)).__name__
            if hasattr(statistic, "target")
            else ""
        )
        broken += [
            f"{kind.__name__}({shown}) on {name}: {line}"
            for line in broken_laws(statistic, block, profile)
        ]
    assert not broken, "\n" + "\n".join(dict.fromkeys(broken))


QUANTISED = (
    gram.Gram,
    gram.FoldGrams,
    csfs.FilledSums,
    gram.AllRowsGram,
    rfs.ReweightedGram,
    KnockoffGram,
    moments.GroupMoments,
)
ABOUT_LABELS = (
    "centre_y",
    "sum_y",
    "xy",
    "yy",
)  # whose centre is the positive rows' share of the number of rows
QUANTISED += (
    neighbours.EdgeDifferences,
    lift.ClusterSums,
    mlnb.ComponentMoments,
    gmba.HingeSums,
    labelsets.LabelsetSums,
)


@pytest.mark.parametrize("kind", QUANTISED)
def test_laws_of_states_that_can_hold_many_rows(kind):
    """What is announced for 2²³ rows, where sums of squares take a further word."""
    block = case("half_known")[0]
    for statistic, profile in EXAMPLES[kind][1]("half_known"):
        many = replace(profile, n=1 << 23)
        assert not broken_laws(statistic, block, many)
        results = [
            numbers(statistic.finish(statistic.worker_view().partial(block, p), p))
            for p in (profile, many)
        ]
        assert len(results[0]) == len(results[1]) > 0
        for one, other in zip(*results, strict=True):
            assert np.allclose(
                one, other, rtol=1e-9, atol=1e-9 * max(1.0, np.abs(one).max(initial=0.0))
            )


def numbers(result):
    """The float arrays of a result, but for those about the labels' centre."""
    if isinstance(result, np.ndarray):
        return [result] if result.dtype.kind == "f" else []
    if isinstance(result, (list, tuple)):
        return [found for part in result for found in numbers(part)]
    fields = result if isinstance(result, dict) else getattr(result, "__dict__", {})
    return [
        found
        for name, part in sorted(fields.items())
        if name not in ABOUT_LABELS
        for found in numbers(part)
    ]
