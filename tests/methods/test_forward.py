"""Forward selection by held-out variance: against hand-computed numbers and fits of the rows
(`oracles.forward`), its folds, what goes on where memory is short, and how many features are
enough."""

from __future__ import annotations

import tracemalloc
import warnings

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from oracles import forward as oracle
from oracles.loader import load

import spark_mlfs
import spark_mlfs.sklearn
from spark_mlfs import BudgetError, DataError, ParameterError, pipeline
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.folds import fold_of
from spark_mlfs.blocks.grades import Grades
from spark_mlfs.blocks.identity import feature_keys
from spark_mlfs.blocks.pack import pack
from spark_mlfs.cli.config import configure
from spark_mlfs.engine.base import Engine
from spark_mlfs.kernels.fold_sums import FoldSums
from spark_mlfs.kernels.hashing import GROUPS, group_of, mix, unmix
from spark_mlfs.methods import candidates, forward
from spark_mlfs.methods.base import HELD_OUT, NESTED
from spark_mlfs.output.manifest import selection_manifest
from spark_mlfs.report.page import page
from spark_mlfs.select import Constraints, Cut
from spark_mlfs.solvers import forward as solver
from spark_mlfs.statistics.base import Budgets
from spark_mlfs.testing import check_method, engine_of, example, frame_of, thin

WHOLE = [  # name, picks, each so many rows
    ("birds", 15, 1), ("scene", 10, 2), ("yeast", 15, 2), ("enron", 4, 2), ("corel5k", 4, 4), ("slashdot", 3, 4),
    ("tmc2007-500", 4, 24), ("rcv1sub1", 3, 24),
]  # fmt: skip
FOLDS, READ = 5, Grades.of({"graded_labels": True})


def scored(engine, count=6, terms=None, **parameters):
    return pipeline.score(engine, pipeline.Request.of("forward", parameters, count))


def picks(engine, scores):
    return engine.profile.varying[scores.path.picks].tolist()


def folds(engine, count=FOLDS):
    return fold_of(engine.rows, count, engine.profile)


def agrees(engine, x, y, count=6, penalty=1.0, **more):
    """The picks are the oracle's, J and relevance to 1e-10; and so is each cumulative gain with its
    error."""
    found = scored(engine, count, penalty=penalty)
    wanted, gains, first, shares = oracle.forward(x, y, folds(engine), count, penalty, **more)
    assert picks(engine, found) == wanted
    np.testing.assert_allclose(found.path.gains, gains, rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(found.values, first[engine.profile.varying], rtol=1e-9, atol=1e-11)
    total, error = (found.columns[name][found.path.picks] for name in HELD_OUT)
    np.testing.assert_allclose(total, np.cumsum(gains), rtol=1e-9, atol=1e-11)
    wanted_error = np.cumsum(shares, axis=1).std(axis=0, ddof=1) / np.sqrt(len(shares))
    np.testing.assert_allclose(error, wanted_error, rtol=1e-7, atol=1e-10)


def balanced(each=8):
    """Rows of which every fold has the four values of two 0/1 columns equally often: their label is
    the first column."""
    group = group_of(np.arange(4000)) * FOLDS // GROUPS
    ids = np.concatenate([np.flatnonzero(group == f)[: 4 * each] for f in range(FOLDS)])
    x = np.tile([[0, 0], [0, 1], [1, 0], [1, 1]], (FOLDS * each, 1)).astype(float)
    return np.column_stack([x[:, 1], x[:, 0], x[:, 0]]), x[:, :1], ids


@pytest.mark.parametrize("penalty", [0.0, 0.5, 1.0])
def test_by_hand(penalty):
    """A column equal to the label: z = ±1, b = 1/(2(1 + λ)), J = 1 − (λ/(1 + λ))². A column that
    says nothing has J = 0. Beside the first at λ = 1 its copy is half as long, the label a quarter
    less: b = 1/10, J = (2/80 − 1/400)·4 = 0.09."""
    x, y, ids = balanced()
    engine = engine_of(x, y, ids)
    found = scored(engine, 3, penalty=penalty)
    best = 1 - (penalty / (1 + penalty)) ** 2
    assert found.values == pytest.approx([0, best, best], abs=1e-12)
    assert found.path.picks[0] == 1
    if penalty == 1:
        assert found.path.picks == [1, 2, 0] and found.path.gains[1] == pytest.approx(
            0.09, abs=1e-12
        )
    if not penalty:  # nothing is left of the copy, and of the label
        assert found.path.gains[1:] == pytest.approx([0, 0], abs=1e-12)
    assert found.details["cv_loss"] == pytest.approx(
        1 - np.cumsum(found.path.gains).max(), abs=1e-12
    )


@pytest.mark.parametrize("kind", ["dense", "sparse", "thin"])
@pytest.mark.parametrize("penalty", [0.0, 0.3, 1.0])
def test_against_fits_of_the_rows(kind, penalty):
    x, y = example()
    x = thin(x) if kind == "thin" else x
    x[:, 5] += 1e5  # far from 0
    agrees(engine_of(sp.csr_matrix(x) if kind == "sparse" else x, y), x, y, 10, penalty)


@pytest.mark.parametrize("name", ["flags", "emotions"])
def test_real_sets(name, data_dir):
    x, y, _, _ = load(name, data_dir)
    agrees(engine_of(x, y.astype(float)), x, y, 8)


def test_weights_grades_and_label_weights():
    """Fractions of rows, and grades, are the oracle's weights and labels."""
    x, y = example()
    w = np.random.default_rng(1).integers(1, 9, len(x)) / 4
    graded = np.round((y + np.tanh(x[:, :4]) + 1) / 3 * 2**15) / 2**15
    for labels, weights, own in (
        (y, w, {}),
        (graded, None, {}),
        (graded, w, {}),
        (y, None, {"label_weights": [3, 0, 1, 0.5]}),
    ):
        held = pack_arrays(x, labels, weights, READ if labels is graded else None)[0]
        (result,) = pipeline.rank(held, [pipeline.Request.of("forward", own, 6)])
        fold = fold_of(held.block, FOLDS, held.profile)
        wanted, gains, _, _ = oracle.forward(
            x, labels, fold, 6, 1.0, weights, np.array(own.get("label_weights", 1.0))
        )
        assert list(result.ranking["index"][:6]) == wanted
        np.testing.assert_allclose(result.scores.path.gains, gains, rtol=1e-8)


def test_the_laws():
    check_method(spark_mlfs.METHODS["forward"])


def test_scale_and_place_of_columns_do_not_matter():
    """Of rows that have ids."""
    x, y = example()
    plain = scored(engine_of(x, y), 8)
    scale = np.where(np.arange(x.shape[1]) % 2, 1e-3, 77.0)
    scaled = scored(engine_of(x * scale + 5, y), 8)
    assert scaled.path.picks == plain.path.picks
    np.testing.assert_allclose(scaled.path.gains, plain.path.gains, rtol=1e-9)
    turned = engine_of(-x, y)
    assert scored(turned, 8).path.picks == plain.path.picks


def test_unknown_labels_leave_rows_out():
    """A feature that is constant over the rest is ranked as constant, and no known row is said
    so."""
    x, y = example()
    unknown = y.copy()
    unknown[::7, 1] = np.nan
    x[np.arange(len(x)) % 7 != 0, 5] = 2.0
    known = np.arange(len(x)) % 7 != 0
    found, rest = (
        scored(engine_of(x, unknown), 6),
        engine_of(x[known], y[known], np.flatnonzero(known)),
    )
    wanted = scored(rest, 6)
    varying = engine_of(x, unknown).profile.varying
    assert varying[found.path.picks].tolist() == picks(rest, wanted)
    np.testing.assert_allclose(found.path.gains, wanted.path.gains, rtol=1e-9)
    assert varying[found.constant].tolist() == [5] and found.details["labelled_rows"] == known.sum()
    unknown[:, 0] = np.nan
    with pytest.raises(DataError, match="no row has all its labels known"):
        scored(engine_of(x, unknown))
    with pytest.raises(DataError, match="share a fold, as those of one id and equal ones do"):
        scored(engine_of(x[:4], y[:4], np.zeros(4, int)))


def test_labels_of_one_value_count_for_nothing():
    x, y = example()
    plain = scored(engine_of(x, y), 4)
    more = scored(engine_of(x, np.column_stack([y, np.ones(len(y)), np.zeros(len(y))])), 4)
    assert more.path.picks == plain.path.picks
    np.testing.assert_allclose(more.path.gains, plain.path.gains, rtol=1e-12)
    still = scored(engine_of(x, np.ones_like(y)), 4)
    assert (still.values == 0).all() and still.path.picks == [0, 1, 2, 3]


# ---- folds ----


def test_equal_rows_share_a_fold_whatever_their_labels_and_weights():
    ids = np.random.default_rng(0).integers(-(2**63), 2**63 - 1, 500)
    assert np.array_equal(unmix(mix(ids, 17), 17), ids)
    x, y = example()
    x, y = np.vstack([x, x]), np.vstack([y, 1 - y])
    y[5, 2] = np.nan
    w = np.random.default_rng(1).integers(1, 5, len(x))
    for rows in (x, sp.csr_matrix(x)):
        for weights in (None, w):
            held = pack_arrays(rows, y, weights)[0]
            assert held.profile.content_ids
            keys = feature_keys(held.block, held.profile)
            assert np.array_equal(keys[:200], keys[200:]) and len(np.unique(keys)) == 200
    share = np.bincount(fold_of(held.block, FOLDS, held.profile), minlength=FOLDS) / len(x)
    assert share.min() > 0.1
    named = engine_of(x, y, np.arange(len(x)))
    assert np.array_equal(folds(named), group_of(np.arange(len(x))) * FOLDS // GROUPS)


def test_a_request_beside_methods_that_number_the_rows():
    """Others give equal rows ids of their own; the folds stay what they were."""
    x, y = example()
    held = pack_arrays(np.vstack([x, x[:90]]), np.vstack([y, y[:90]]))[0]
    forward = pipeline.Request.of("forward", {}, 5)
    (alone,) = pipeline.rank(held, [forward])
    _, beside = pipeline.rank(held, [pipeline.Request.of("relieff", {"mode": "hamming"}), forward])
    assert alone.ranking.equals(beside.ranking)


# ---- where memory is short ----


def cut(x, y, budget, count=5, **parameters):
    engine = engine_of(x, y)
    engine.budgets = Budgets(driver=budget)
    return scored(engine, count, **parameters)


@pytest.mark.parametrize("kind", ["dense", "thin", "unknown"])
@pytest.mark.parametrize("penalty", [0.0, 1.0])
def test_the_best_alone_go_on(kind, penalty):
    """Relevance is that of the whole; the picks are those of the features that go on."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(300, 90)) * (rng.random((300, 90)) < (0.08 if kind == "thin" else 2))
    y = (x[:, :5] @ rng.normal(size=(5, 6)) + 0.5 * rng.normal(size=(300, 6)) > 0.4).astype(float)
    x[:, 20] = x[:, 3]
    if kind == "unknown":
        y[::9, 2] = np.nan
        x[np.arange(300) % 9 != 0, 11] = 1.0
    rows = sp.csr_matrix(x) if kind == "thin" else x
    whole, few = (
        scored(engine_of(rows, y), 5, penalty=penalty),
        cut(rows, y, 200_000, penalty=penalty),
    )
    np.testing.assert_allclose(few.values, whole.values, rtol=1e-9, atol=1e-12)
    kept = int(few.details["candidates"].split()[0])
    assert 5 < kept < 89 and "candidates" not in whole.details
    order = np.argsort(-np.round(whole.values, 12), kind="stable")[:kept]
    alone = scored(engine_of(rows[:, np.sort(order)], y), 5, penalty=penalty)
    assert few.path.picks == np.sort(order)[alone.path.picks].tolist()
    np.testing.assert_allclose(few.path.gains, alone.path.gains, rtol=1e-9)
    with pytest.raises(BudgetError):
        cut(rows, y, 100)


@pytest.mark.slow
@pytest.mark.parametrize(("width", "labels"), [(300, 4), (100, 200), (200, 40)])
def test_what_the_picks_take_is_within_what_is_told(width, labels):
    """Moments and 32·F·v·(v + q) bytes beside them, though every feature is picked: one byte less,
    and the best go on."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, width))
    y = (x[:, np.arange(labels) % width] + rng.normal(size=(400, labels)) > 0.3).astype(float)
    engine, names = engine_of(x, y), [f"x{j}" for j in range(width)]
    for request in (
        pipeline.Request.of("forward", {}, width),
        pipeline.Request.of("forward", {}, cut=Cut("auto")),
    ):
        whole = forward.moments(engine.profile, request.settings)
        beside = 32 * FOLDS * width * (width + labels)
        engine.run(whole)
        tracemalloc.start()
        found = pipeline.score(engine, request.for_features(names))
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert len(found.path.picks) == width and beside / 4 < peak < beside
        if labels == 4:
            told = whole.state_bytes(engine.profile) + beside
            assert (
                "candidates" not in cut(x, y, told).details
                and "candidates" in cut(x, y, told - 1).details
            )


def test_no_more_than_the_candidates_go_on():
    """The best alone of more features, whatever the memory; from no more they are all picked."""
    rng = np.random.default_rng(4)
    x = rng.normal(size=(300, 90))
    y = (x[:, :5] @ rng.normal(size=(5, 6)) + 0.5 * rng.normal(size=(300, 6)) > 0.4).astype(float)
    whole = scored(engine_of(x, y), 5, candidates=None)
    few = scored(engine_of(x, y), 5, candidates=12)
    np.testing.assert_allclose(few.values, whole.values, rtol=1e-9, atol=1e-12)
    order = np.sort(np.argsort(-np.round(whole.values, 12), kind="stable")[:12])
    alone = scored(engine_of(x[:, order], y), 5)
    assert few.path.picks == order[alone.path.picks].tolist()
    np.testing.assert_allclose(few.path.gains, alone.path.gains, rtol=1e-9)
    assert few.details["candidates"].startswith("12 of 90 features went on")
    assert few.details["candidates"].endswith("as many as candidates = 12 says")
    assert "candidates" not in scored(engine_of(x, y), 5, candidates=90).details
    request = pipeline.Request.of("forward", {"candidates": 12}, 20)
    (result,) = pipeline.rank(pack_arrays(x, y)[0], [request])
    assert result.ranking["score"].notna().sum() == 12  # the others follow by what they say alone


def suppressed(n=400, d=120):
    """Labels of a signal that column 7 has beside noise; column 100 is that noise, and says nothing
    alone."""
    rng = np.random.default_rng(8)
    signal, noise = rng.normal(size=(2, n))
    x = rng.normal(size=(n, d))
    x[:, 7] = signal + 1.5 * noise
    x[:, 100] = noise
    x[:, 20:40] += 0.15 * signal[:, None]
    y = signal[:, None] + 0.3 * rng.normal(size=(n, 2)) > [0, 0.5]
    return x, y.astype(float)


@pytest.mark.parametrize("kind", ["dense", "sparse", "weighted"])
def test_in_further_rounds_all_features_meet_the_picks(kind, monkeypatch):
    """What is weak alone and strong beside a pick goes on; J beside picks is that of fits."""
    monkeypatch.setattr(candidates, "BLOCK", 17)
    x, y = suppressed()
    weights = np.random.default_rng(0).integers(1, 4, len(x)) / 2 if kind == "weighted" else None
    rows = sp.csr_matrix(x) if kind == "sparse" else x

    def run(count=4, **parameters):
        held = pack_arrays(rows, y, weights=weights)[0]
        request = pipeline.Request.of("forward", parameters, count)
        return pipeline.rank(held, [request])[0]

    one, two, whole = (run(candidates=16), run(candidates=16, rounds=2), run())
    assert 100 not in one.kept["index"].tolist()
    assert two.kept["index"].tolist() == whole.kept["index"].tolist()
    assert {7, 100} <= set(two.kept["index"])
    assert "those that explain most alone or beside picks" in two.scores.details["candidates"]
    for driver in (1 << 30, 3 << 20):  # scans of some blocks, and of all
        engine = engine_of(rows, y)
        engine.budgets = Budgets(driver=driver)
        p = pipeline.Request.of("forward", {"candidates": 16}).settings
        picks, others = np.array([7, 25, 3]), np.setdiff1d(np.arange(120), [7, 25, 3])
        (base,) = engine.run(candidates.moments_of_labels(p))
        blocks = candidates._beside(engine, p, base, others, picks)
        gains = np.concatenate([*blocks])
        sides = [
            oracle.Fold(x, y, folds(engine) == f, np.ones(len(x)), x.std(axis=0), 1.0)
            for f in range(FOLDS)
        ]
        label = 1 / y.var(axis=0)
        total = sum(label @ side.variation for side in sides)
        for side in sides:
            for pick in picks:
                side.take(pick)
        wanted = [sum(label @ side.explained(j) for side in sides) / total for j in others]
        np.testing.assert_allclose(gains, wanted, rtol=1e-8, atol=1e-11)


def test_further_rounds_count_the_products_with_picks_alone(monkeypatch):
    """Not those of all features with each other; a round of the same picks takes no scan."""
    x, y = suppressed()
    products, run = [], Engine.run

    def noted(self, *statistics, **options):
        results = run(self, *statistics, **options)
        products.extend(r.xx.shape[1:] for r in results if isinstance(r, FoldSums))
        return results

    monkeypatch.setattr(Engine, "run", noted)
    found, scans = {}, {}
    for rounds in (1, 2, 3, 6):
        products.clear()
        engine = engine_of(x, y)
        found[rounds] = picks(engine, scored(engine, 8, candidates=40, rounds=rounds))
        scans[rounds] = engine.cost.scans
        assert max(v * w for v, w in products) == 40 * 40
        assert ((120, 11) in products) == (rounds > 1)
    assert found[2] == found[3] == found[6]
    assert scans[2] == scans[1] + 2 and scans[6] - scans[3] <= 1


def test_picks_at_once_leave_what_they_leave_one_by_one():
    x, y = example()
    engine = engine_of(x, y)
    statistic = candidates.moments(engine.profile, pipeline.Request.of("forward").settings)
    (sums,) = engine.run(statistic)
    weights, penalty = sums.label_weights(), np.ones(x.shape[1])
    one_by_one, at_once = (solver._Folds(sums, weights, penalty, 4) for _ in range(2))
    for pick in (5, 0, 9, 2):
        one_by_one.take(pick)
    at_once.take_all([5, 0, 9, 2])
    np.testing.assert_allclose(at_once.labels, one_by_one.labels, rtol=1e-9, atol=1e-9)
    np.testing.assert_array_equal(at_once.squares, one_by_one.squares)


def test_the_power_of_a_label_is_a_weight_of_its_variance():
    x, y = example()
    y[:, 0] *= np.arange(len(y)) % 3 == 0  # of another variance
    for power in (0, 0.5, 0.75, 2):
        weights = y.var(axis=0) ** (1 - power)
        by_power = scored(engine_of(x, y), label_power=power)
        by_weight = scored(engine_of(x, y), label_weights=weights.tolist())
        assert by_power.path.picks == by_weight.path.picks
        np.testing.assert_allclose(by_power.path.gains, by_weight.path.gains, rtol=1e-9)
        sketched = scored(engine_of(x, y), label_power=power, label_sketch=3)
        alike = scored(engine_of(x, y), label_weights=weights.tolist(), label_sketch=3)
        np.testing.assert_allclose(sketched.path.gains, alike.path.gains, rtol=1e-5)


def test_included_features_and_whole_groups_go_on():
    rng = np.random.default_rng(6)
    x = rng.normal(size=(300, 90))
    y = (x[:, :4] + rng.normal(size=(300, 4)) > 0.4).astype(float)
    held = pack_arrays(x, y)[0]
    held_to = Constraints(include=(80,), groups=(("g", (2, 60, 61)), ("h", (70, 71))))
    request = pipeline.Request.of("forward", {}, 8, constraints=held_to)
    (result,) = pipeline.rank(held, [request], driver_bytes=200_000)
    order = result.ranking["index"].tolist()
    assert order[0] == 80 and "candidates" in result.scores.details
    at = order.index(2)
    assert {2, 60, 61} <= set(order[max(0, at - 2) : at + 3])


@pytest.mark.slow
def test_partitions_and_engines_give_the_same_bits(spark):
    """Arrays, one task, jobs over one partition and four; the whole in one scan, and where the
    best of all features go on."""
    rng = np.random.default_rng(3)
    x = np.round(rng.normal(size=(240, 40)), 2) * (rng.random((240, 40)) < 0.2)
    y = (x[:, :3] + 0.3 * rng.normal(size=(240, 3)) > 0.2).astype(float)
    frame = frame_of(spark, x, y, sparse=True).drop("id")
    in_rounds = {"candidates": 12, "rounds": 2}
    for driver, parameters in ((1 << 30, {}), (100_000, {}), (1 << 30, in_rounds)):
        request = [pipeline.Request.of("forward", parameters, 6)]
        (want,) = pipeline.rank(pack_arrays(x, y)[0], request, driver_bytes=driver)
        whole = driver == 1 << 30 and not parameters
        assert ("candidates" in want.scores.details) != whole
        for parts, small in ((4, 0), (3, 1 << 40) if whole else (1, 0)):
            packed = pack(frame.repartition(parts))
            (got,) = pipeline.rank(packed, request, small_bytes=small, driver_bytes=driver)
            packed.release()
            assert got.distributed == (not small)
            same = got.ranking.drop(columns="name").equals(want.ranking.drop(columns="name"))
            assert same and got.scores.details == want.scores.details, (parts, small, driver)


def test_labels_by_the_ten_thousand_are_sketched():
    """Each by its weight: near the exact ones; alone, of wide data, features are scored by all
    labels."""
    rng = np.random.default_rng(8)
    x = rng.normal(size=(400, 12))
    y = (
        x[:, :3] @ rng.normal(size=(3, 40)) + rng.normal(size=(400, 40)) > np.linspace(0.5, 3.5, 40)
    ).astype(float)
    whole, sketched = scored(engine_of(x, y), 3), scored(engine_of(x, y), 3, label_sketch=32)
    assert sketched.details["label_sketch"] == 32 and set(sketched.path.picks) == set(
        whole.path.picks
    ) == {0, 1, 2}
    assert np.abs(sketched.path.gains[0] / whole.path.gains[0] - 1) < 0.5
    x[rng.random(x.shape) < 0.95] = 0
    few = cut(sp.csr_matrix(x), y, 40_000, 3, label_sketch=32)
    assert "candidates" in few.details
    np.testing.assert_allclose(few.values, scored(engine_of(x, y), 3).values, rtol=1e-9, atol=1e-12)


# ---- how many ----


@pytest.mark.slow
@pytest.mark.parametrize("name", ["example", "emotions", "noise"])
def test_as_few_as_are_enough(name, data_dir):
    if name == "noise":
        rng = np.random.default_rng(0)
        x, y = rng.normal(size=(100, 8)), (rng.random((100, 3)) < 0.4).astype(float)
    else:
        x, y = example() if name == "example" else load(name, data_dir)[:2]
    held = pack_arrays(x, y)[0]
    _, gains, _, shares = oracle.forward(x, y, fold_of(held.block, FOLDS, held.profile), 72)
    wanted = oracle.how_many(gains, shares)
    assert (wanted > 0) == (name != "noise")
    with warnings.catch_warnings(record=True) as told:
        warnings.simplefilter("always")
        ranking = spark_mlfs.rank(x, y, "forward", "auto")
        selector = spark_mlfs.sklearn.ForwardSelector(num_top_features="auto").fit(x, y)
    assert len(ranking) == len(selector.selected_) == selector.transform(x).shape[1] == wanted
    assert [("no feature explains" in str(each.message)) for each in told] == [True, True] * (
        not wanted
    )
    if wanted:
        assert list(ranking["index"]) == list(selector.selected_)


def test_picks_made_without_a_fold_are_tried_on_it():
    x, y = example()
    held = pack_arrays(x, y)[0]
    request = pipeline.Request.of("forward", {}, cut=Cut("auto"))
    (result,) = pipeline.rank(held, [request])
    told = result.ranking[[*NESTED]].dropna().to_numpy()
    wanted = oracle.nested(x, y, fold_of(held.block, FOLDS, held.profile), len(told))
    np.testing.assert_allclose(told[:, 0], wanted.mean(axis=0), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(
        told[:, 1], wanted.std(axis=0, ddof=1) / np.sqrt(FOLDS), rtol=1e-7, atol=1e-10
    )
    assert len(result.kept) == len(told) > 3


def test_nested_gains_with_groups_are_those_of_the_rows():
    """Each fold's picks go by groups, whole, as all do; members by what they explained as the group
    was chosen."""
    x, y = example()
    groups = {"a": [1, 5, 6, 8], "b": [0, 2], "c": [3, 10, 11]}
    held = pack_arrays(x, y)[0]
    fold, listed = fold_of(held.block, FOLDS, held.profile), [*groups.values()]
    held_to = Constraints.of({"groups": groups})
    (result,) = pipeline.rank(
        held, [pipeline.Request.of("forward", {}, cut=Cut("auto"), constraints=held_to)]
    )
    picks, gains, _, _ = oracle.forward(x, y, fold, x.shape[1], groups=listed)
    assert list(result.ranking["index"][: len(picks)]) == picks
    np.testing.assert_allclose(result.gains[: len(picks)], gains, rtol=1e-9, atol=1e-11)
    told = result.ranking[[*NESTED]].dropna().to_numpy()
    wanted = oracle.nested(x, y, fold, len(told), groups=listed)
    np.testing.assert_allclose(told[:, 0], wanted.mean(axis=0), rtol=1e-9, atol=1e-11)
    np.testing.assert_allclose(
        told[:, 1], wanted.std(axis=0, ddof=1) / np.sqrt(FOLDS), rtol=1e-7, atol=1e-10
    )


def test_auto_keeps_a_group_whole_that_is_larger_than_what_it_is_tried_with():
    """A column of 30 values is as many features, which go together: it was left out, as if there
    were nothing to find."""
    rng = np.random.default_rng(0)
    values = rng.integers(0, 30, 2000)
    x = np.column_stack([np.eye(30)[values], rng.normal(size=(2000, 3))])
    y = np.column_stack([values % 3 == 0, values < 12]) ^ (rng.random((2000, 2)) < 0.1)
    table = pd.DataFrame(
        {"v": [f"v{value:02}" for value in values]} | {f"n{j}": x[:, 30 + j] for j in range(3)}
    )
    ranking = spark_mlfs.rank(table, y.astype(int), "forward", "auto")
    assert len(ranking) == 30 and set(ranking["group"]) == {"v"}
    again = spark_mlfs.rank(x, y.astype(int), "forward", "auto", groups={"v": list(range(30))})
    assert set(again["index"]) == set(range(30))
    assert again["nested_gain"].max() == ranking["nested_gain"].max() > 0.3


def test_picks_among_sparse_columns_are_those_of_fits_of_the_rows(data_dir):
    """The picks of the oracle that refits each column, and those of the one for large sets."""
    x, y = (each[:400] for each in load("corel5k", data_dir)[:2])
    x, y = (
        x[:, np.sort(np.argsort(-x.sum(axis=0), kind="stable")[:40])],
        y[:, np.sort(np.argsort(-y.sum(axis=0))[:30])],
    )
    engine = engine_of(sp.csr_matrix(x), y)
    agrees(engine, x, y, 5)
    one, other = (
        oracle.forward(x, y, folds(engine), 5),
        oracle.wide(sp.csr_matrix(x), y, folds(engine), 5, block=7),
    )
    assert one[0] == other[0]
    for mine, its in zip(one[1:], other[1:], strict=True):
        np.testing.assert_allclose(mine, its, rtol=1e-9, atol=1e-12)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "count", "step"), WHOLE)
def test_picks_on_whole_sets_are_those_of_fits_of_the_rows(name, count, step, data_dir):
    """Dense and sparse; of columns whose products exceed the budget, the oracle picks among as
    many."""
    x, y = (rows[::step] for rows in load(name, data_dir)[:2])
    dense = [] if np.prod(x.shape) > 2e7 else [x.toarray() if sp.issparse(x) else x]
    wanted = None
    for rows in [sp.csr_matrix(x), *dense]:
        held = pack_arrays(rows, y)[0]
        (result,) = pipeline.rank(held, [pipeline.Request.of("forward", {}, count)])
        if wanted is None:
            fold, few = (
                fold_of(held.block, FOLDS, held.profile),
                result.scores.details.get("candidates"),
            )
            among = np.arange(x.shape[1])
            if few:
                first = oracle.wide(x, y, fold, 1)[2]
                among = np.sort(
                    np.argsort(-np.round(np.nan_to_num(first, nan=-9), 12), kind="stable")[
                        : int(few.split()[0])
                    ]
                )
            picks, gains, alone, _ = oracle.wide(x[:, among], y, fold, count)
            wanted, first = among[picks].tolist(), first if few else alone
        assert list(result.ranking["index"][: len(wanted)]) == wanted
        np.testing.assert_allclose(result.gains[: len(wanted)], gains, rtol=1e-8, atol=1e-12)
        relevance = result.ranking.set_index("index")["relevance"].sort_index().to_numpy()
        np.testing.assert_allclose(
            relevance[np.isfinite(first)], first[np.isfinite(first)], rtol=1e-8, atol=1e-12
        )


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore:no feature explains")
def test_of_noise_nothing_is_kept():
    """Though the best of a hundred features seem to explain something of the rows that they were
    picked by."""
    kept = []
    for seed in range(12):
        rng = np.random.default_rng(seed)
        x, y = rng.normal(size=(300, 100)), (rng.random((300, 3)) < 0.4).astype(float)
        kept.append(len(spark_mlfs.rank(x, y, "forward", "auto")))
    assert kept.count(0) >= 11
    held = pack_arrays(x, y)[0]
    _, gains, _, shares = oracle.forward(x, y, fold_of(held.block, FOLDS, held.profile), 4)
    assert oracle.how_many(gains, shares) > 0


@pytest.mark.slow
def test_every_face_takes_auto_and_saves_it(spark, tmp_path):
    x, y = example()
    frame = frame_of(spark, x, y)
    fits = [spark_mlfs.ForwardSelector(numTopFeatures="auto", idCol="id").fit(frame)]
    fits.append(
        spark_mlfs.MultiLabelSelector(method="forward", idCol="id")
        .setNumTopFeatures("auto")
        .fit(frame)
    )
    fits[0].write().overwrite().save(str(tmp_path / "model"))
    fits.append(spark_mlfs.MultiLabelSelectorModel.load(str(tmp_path / "model")))
    kept = [list(model.selectedFeatures) for model in fits]
    assert (
        kept[0] == kept[1] == kept[2]
        and 4 <= len(kept[0]) < 10
        and fits[2].getNumTopFeatures() == "auto"
    )
    assert fits[2].setNumTopFeatures(2).selectedFeatures == kept[0][:2]
    noise = frame_of(spark, x, (np.random.default_rng(2).random(y.shape) < 0.5).astype(float))
    with pytest.warns(UserWarning, match="no feature explains the labels"):
        none = spark_mlfs.ForwardSelector(numTopFeatures="auto", idCol="id").fit(noise)
    assert none.selectedFeatures == [] and none.transform(noise).count() == len(x)
    other = spark_mlfs.MIMSelector(idCol="id").fit(frame)
    with pytest.raises(ParameterError, match="does not say how many features are enough"):
        _ = other.setNumTopFeatures("auto").selectedFeatures


def test_what_auto_does_not_go_with():
    x, y = example()
    for more, why in (
        ({"method": "jmi"}, "jmi does not say how many features are enough.*forward"),
        ({"k": "some"}, "k must be a whole number, at least 1, or 'auto'"),
        ({"costs": {"*": 1}, "budget": 3}, "costs and a budget"),
    ):
        with pytest.raises(ParameterError, match=why):
            spark_mlfs.rank(x, y, **{"method": "forward", "k": "auto", **more})
    for mode in ("percentile", "stability", "fdr"):
        with pytest.raises(ParameterError, match=rf"'auto' says how many are kept, as {mode} does"):
            spark_mlfs.sklearn.ForwardSelector(num_top_features="auto", selection_mode=mode).fit(
                x, y
            )
    included = spark_mlfs.rank(x, y, "forward", "auto", include=[9, 4])
    assert list(included["index"][:2]) == [9, 4] and len(included) > 4


def test_a_run_of_the_command_line_says_how_many():
    """The configuration, the manifest, and the report with its curve."""
    x, y = example()
    flags = {"data": {"format": "numbers"}, "run": {"output": "x"}, "method": {"name": "forward"}}
    config = configure(None, {**flags, "selection": {"num_top_features": "auto"}})
    (request,) = config.requests()
    assert request.cut == Cut("auto") and request.auto
    for table, title in (
        (y, "cumulative held-out gain"),
        (np.random.default_rng(2).random(y.shape) < 0.5, "Nothing selected"),
    ):
        (result,) = pipeline.rank(pack_arrays(x, table.astype(float))[0], [request])
        manifest = selection_manifest(config, result, len(result.kept), "0", {}, {}, ["select"])
        assert title in page(result, manifest, len(result.kept))
        assert manifest["solution"]["cv_loss"] == result.scores.details["cv_loss"]


def test_grids_choose_by_what_is_held_out():
    x, y = example()
    flags = {
        "data": {"format": "numbers"},
        "run": {"output": "x"},
        "method": {"name": "forward", "grid": {"penalty": [0.1, 1, 10]}},
    }
    cells = pipeline.rank(pack_arrays(x, y)[0], configure(None, flags).requests())
    loss = [cell.scores.details["cv_loss"] for cell in cells]
    assert (
        loss == [1 - np.cumsum(cell.scores.path.gains).max() for cell in cells]
        and len(set(loss)) == 3
    )


def test_bad_parameters():
    for wrong in (
        {"penalty": -1},
        {"penalty": float("nan")},
        {"folds": 1},
        {"folds": 11},
        {"label_sketch": -1},
    ):
        with pytest.raises(ParameterError, match=f"{next(iter(wrong))[:5]}.* must be"):
            pipeline.Request.of("forward", wrong)
