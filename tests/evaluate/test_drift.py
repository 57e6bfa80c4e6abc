"""Windows of rows compared: who changed, who only looks so; arrays, budgets, Spark; names that only
one window has."""

from __future__ import annotations

import dataclasses
import itertools
import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from oracles import drift as slow
from scipy.stats import false_discovery_control

import spark_mlfs
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.errors import DataError, ParameterError
from spark_mlfs.evaluate.stability import agreement
from spark_mlfs.states import CollectedPart, changes, collect
from spark_mlfs.states import windows as states_windows
from spark_mlfs.states.changes import change as compare
from spark_mlfs.states.collect import collected
from spark_mlfs.states.needs import needs_of
from spark_mlfs.states.windows import Window, WindowPair
from spark_mlfs.statistics.base import Budgets


def corpus(seed: int, rows: int = 3000, features: int = 1000, labels: int = 20, flipped: int = 0):
    """Rows of 0/1, sparse and continuous features, the first 200 of which go with a label; of the
    first `flipped` the relation is turned round, their share and that of the label the same. Labels
    of 30 % down to ten rows, one of them unknown in places."""
    rng = np.random.default_rng(seed)
    share = np.array([0.3, 0.2, 0.1, 0.05, *[0.15] * (labels - 5), 10 / rows])
    Y = (rng.random((rows, labels)) < share).astype(float)
    kind = np.arange(features) % 4
    X = np.where(
        kind == 3,
        rng.normal(size=(rows, features)),
        rng.random((rows, features)) < np.choose(kind, [0.5, 0.3, 0.04, 0]),
    )
    for j in range(min(200, features)):
        p, y = share[j % 3], Y[:, j % 3]
        lift = -0.2 if j < flipped else 0.2
        if kind[j] == 3:
            X[:, j] += 3 * lift * (y - p)
        else:  # P(x | label) and P(x | not) of one mean
            X[:, j] = rng.random(rows) < 0.4 + lift * (y - p) / (1 - p)
    Y[rng.random(rows) < 0.1, 1] = np.nan
    return X, Y


def windows(*tables) -> list[Window]:
    return [Window(str(i), pack_arrays(*table)[0]) for i, table in enumerate(tables)]


def found(seed: int, flipped: int, **sizes):
    change = compare(
        *windows(corpus(2 * seed, **sizes), corpus(2 * seed + 1, flipped=flipped, **sizes))
    )
    return change, change.features["changed"].to_numpy()


def test_flips_are_found_and_little_else():
    change, changed = found(0, 20)
    assert changed[:20].mean() >= 0.95
    assert changed[20:].sum() <= 2
    assert (change.features["psi"][:20] < 0.05).all()
    told = change.pairs.groupby("feature").first().loc[[f"x{j}" for j in range(20) if changed[j]]]
    assert (told["correlation_before"] > 0).all() and (told["correlation_after"] < 0).all()
    assert (told["label"] == [f"y{int(name[1:]) % 3}" for name in told.index]).all()
    assert found(1, 0, features=400)[1].sum() <= 1


@pytest.mark.slow
def test_over_ten_seeds_flips_are_found_and_nothing_is_where_nothing_changed():
    """FDP ≤ .1, power ≥ .95; under no change at most one run in twenty has any alarm, by the odds
    of ten."""
    runs = [found(seed, 20, features=500)[1] for seed in range(10)]
    assert np.mean([run[:20].mean() for run in runs]) >= 0.95
    assert np.mean([run[20:].sum() / max(1, run.sum()) for run in runs]) <= 0.1
    still = [found(100 + seed, 0, features=500) for seed in range(10)]
    assert sum(run.any() for _, run in still) <= 3  # P(more | 5 %) < .002
    assert np.mean([run.mean() for _, run in still]) <= 0.05
    assert np.mean([change.facts["shifted"] for change, _ in still]) <= 1


def test_a_commoner_label_and_a_commoner_feature_are_no_changed_relation():
    """As many rows again of a label, and of the rows that have a feature: odds ratios stay, shares
    do not."""
    X, Y = corpus(5, rows=4000, features=100)
    X2, Y2 = corpus(6, rows=4000, features=100)
    twice = np.concatenate(
        [np.arange(4000), np.flatnonzero(Y2[:, 0] == 1), np.flatnonzero(Y2[:, 0] == 1)]
    )
    change = compare(*windows((X, Y), (X2[twice], Y2[twice])))
    assert change.labels["q_value"][0] < 1e-6
    assert not change.features["changed"][[j for j in range(100) if j % 3 == 0]].any()
    often = np.concatenate([np.arange(4000), *[np.flatnonzero(X2[:, 4])] * 2])
    change = compare(*windows((X, Y), (X2[often], Y2[often])))
    assert change.features["shift_q_value"][4] < 1e-6 and change.features["psi"][4] > 0.1
    assert not change.features["changed"][4]


def test_the_numbers_are_those_of_counts_by_hand():
    (X, Y), (X2, Y2) = corpus(1, 900, 8, 6), corpus(2, 700, 8, 6)
    X[:, 0], X2[:, 0] = (
        np.floor(5 * np.random.default_rng(0).random(900)),
        np.floor(6 * np.random.default_rng(1).random(700)),
    )
    change = compare(*windows((X, Y), (X2, Y2)))
    known = [~np.isnan(y[:, 1]) for y in (Y, Y2)]
    codes = [
        np.clip(np.floor((x[:, 0] - X[:, 0].min()) * 5 / np.ptp(X[:, 0])), 0, 4) for x in (X, X2)
    ]
    counts = [[int((code == v).sum()) for v in range(5)] for code in codes]
    assert change.features["psi"][0] == pytest.approx(slow.psi(*counts))
    table = np.array(
        [[[((c == v) & k & (y[:, 1] == label)).sum() for c, k, y in zip(codes, known, (Y, Y2), strict=True)] for label in (0, 1)]
         for v in range(5)]
    )  # fmt: skip
    value, _ = slow.interaction_test(table)
    shared = WindowPair(tuple(windows((X, Y), (X2, Y2))), 5, "width")
    ((_, (one, other)),) = shared.chunks(np.array([0]))
    tests = changes.drift.relation_tests((one.known, other.known), (one.positive, other.positive))
    assert tests.statistic[tests.label == 1] == pytest.approx(value)


def same(one, other) -> None:
    for name in ("features", "pairs", "labels"):
        pd.testing.assert_frame_equal(getattr(one, name), getattr(other, name), check_exact=True)


@pytest.mark.parametrize("sparse", [False, True])
def test_ranges_and_chunks_do_not_show(monkeypatch, sparse):
    one, other = corpus(3, 600, 60, 6), corpus(4, 600, 60, 6, flipped=5)
    if sparse:
        one, other = ((sp.csr_matrix(X * (np.abs(X) > 0.9)), Y) for X, Y in (one, other))
    whole = compare(*windows(one, other))
    monkeypatch.setattr(states_windows, "CHUNK_BYTES", 1 << 16)
    few = Budgets(driver=40 << 10)
    some = [dataclasses.replace(window, budgets=few) for window in windows(one, other)]
    assert len(list(WindowPair(tuple(some), 5, "width").ranges())) > 3
    same(compare(*some), whole)


@pytest.mark.slow
@pytest.mark.parametrize("binning", ["width", "quantile"])
def test_spark_gives_the_same_bits(spark, binning):
    from pyspark.ml.linalg import Vectors

    tables = corpus(7, 300, 12, 5), corpus(8, 300, 12, 5, flipped=3)
    tables = [(X, np.nan_to_num(Y)) for X, Y in tables]
    frames = [
        spark.createDataFrame(
            [(Vectors.dense(x), y.tolist()) for x, y in zip(X, Y, strict=True)],
            ["features", "labels"],
        )
        for X, Y in tables
    ]
    here = spark_mlfs.drift(*tables, binning=binning)
    there = spark_mlfs.drift(*frames, binning=binning)
    names = {f"features_{j}": f"x{j}" for j in range(12)} | {
        f"labels_{j}": f"y{j}" for j in range(5)
    }
    told = there.features.assign(
        feature=there.features["feature"].map(names),
        label=there.features["label"].map(names).fillna(""),
    )
    pd.testing.assert_frame_equal(told, here.features, check_exact=True)
    if binning == "quantile":
        return  # what follows is a law of `in_memory/test_rows_on_disk` of quantiles, too
    longer = [
        (
            pd.DataFrame(np.tile(X, (50, 1))).add_prefix("features_"),
            pd.DataFrame(np.tile(Y, (50, 1))).add_prefix("labels_"),
        )
        for X, Y in tables
    ]
    # rows of tables behind a Spark frame that exceed the memory go to files
    by_memory = [
        spark_mlfs.drift(frames[0], *longer, binning=binning, memory_bytes=memory).features
        for memory in ("1MB", "100MB")
    ]
    pd.testing.assert_frame_equal(*by_memory, check_exact=True)


def test_weights_count_rows_and_names_join():
    (X, Y), (X2, Y2) = corpus(1, 500, 10, 5), corpus(2, 500, 10, 5)
    weight = np.random.default_rng(0).integers(0, 4, 500)
    weight[0] = 2
    again = np.repeat(np.arange(500), weight)
    weighted, repeated = (
        compare(*windows((X, Y), w)) for w in ((X2, Y2, weight), (X2[again], Y2[again]))
    )
    same(weighted, repeated)
    names, labels = [f"x{j}" for j in range(10)], [f"y{j}" for j in range(5)]
    mixed = np.random.default_rng(1).permutation(10)
    frame = pd.DataFrame(X2, columns=names)[[names[j] for j in mixed]]
    moved = compare(*windows((X, Y), (frame, pd.DataFrame(Y2, columns=labels)[labels[::-1]])))
    same(moved, compare(*windows((X, Y), (X2, Y2))))


def test_a_sparse_feature_or_label_that_only_one_window_has_is_0_in_the_other():
    rng = np.random.default_rng(0)
    X = sp.random(800, 30, 0.1, "csr", rng=rng, data_rvs=lambda n: np.ones(n))
    tags = [
        [name for name, at in zip("abc", row, strict=True) if at] or ["d"]
        for row in rng.random((800, 3)) < 0.3
    ]
    one, other = (pack_arrays(X, tags)[0] for _ in range(2))
    other.feature_names = [*other.feature_names[:29], "new"]
    other.label_names = ["a", "b", "c", "e"]
    change = compare(Window("1", one), Window("2", other))
    table = change.features.set_index("feature")
    assert len(table) == 31 and (table["shift_q_value"][["x29", "new"]] < 1e-6).all()
    assert (table["psi"].drop(["x29", "new"]) == 0).all() and not table["changed"].any()
    labels = change.labels.set_index("label")
    assert (
        labels["share_before"]["e"] == 0 < labels["share_after"]["e"]
        and labels["share_after"]["d"] == 0
    )


@pytest.mark.parametrize("binning", ["width", "quantile"])
def test_a_constant_that_moves_is_a_shift(binning):
    (X, Y), (X2, Y2) = corpus(1, 500, 4, 5), corpus(2, 500, 4, 5)
    X[:, :3], X2[:, :3] = [0, 7, 7], [1, 20, 7]
    table = compare(*windows((X, Y), (X2, Y2)), binning=binning).features
    assert (table["psi"][:2] > 1).all() and (table["shift_q_value"][:2] < 1e-6).all()
    assert table["psi"][2] == 0 and np.isnan(table["shift_p_value"][2])


def test_several_windows_are_drawn():
    tables = [corpus(seed, 800, 40, 5, flipped=5 * (seed > 2)) for seed in range(5)]
    names = [f"day <{i}>" for i in range(5)]
    found = spark_mlfs.drift(*tables, names=names, method="chi2")
    assert list(found.features["window"].unique()) == names[1:] and found.method == "chi2"
    assert set(found.stability["window"]) == {*names[1:], "all"}
    page = found.page()
    assert (
        "day &lt;4&gt;" in page
        and "day <" not in page
        and "://" not in page.replace("http://www.w3.org", "")
    )
    assert page.count("<svg") == 4 and "<script" not in page
    last = spark_mlfs.drift(*tables, names=names, against="previous")
    assert [(c.before, c.after) for c in last.changes] == [*itertools.pairwise(names)]


def test_a_rate_over_all_windows_is_benjamini_and_hochbergs_of_all_their_tests():
    days = [
        corpus(seed, rows=400, features=60, labels=6, flipped=5 * (seed == 4)) for seed in range(5)
    ]
    drift = spark_mlfs.drift(*days_of(days), fdr_over="all")
    alone = spark_mlfs.drift(*days_of(days))
    for p, q in (("p_value", "q_value"), ("shift_p_value", "shift_q_value")):
        table = drift.features.dropna(subset=p)
        expected = false_discovery_control(table[p])
        np.testing.assert_allclose(table[q], expected, rtol=1e-12)
    assert (drift.features["p_value"].dropna() == alone.features["p_value"].dropna()).all()
    q_value = drift.features["q_value"]
    assert (drift.features["changed"] == (q_value <= 0.05)).all()
    assert "5" in {*drift.features.query("changed")["window"]}
    for change in drift.changes:  # pairs of the features that changed, at the rate of all windows
        assert {*change.pairs["feature"]} <= {*change.features.query("changed")["feature"]}


def days_of(tables):
    return [(pd.DataFrame(X).add_prefix("x"), Y) for X, Y in tables]


@pytest.mark.slow
def test_a_quiet_month_alarms_on_one_day_at_most():
    rng = np.random.default_rng(0)
    days = [(rng.random((500, 100)) < 0.3, rng.random((500, 5)) < 0.3) for _ in range(31)]
    drift = spark_mlfs.drift(*days, fdr_over="all")
    alarms = [change.facts["changed"] + change.facts["shifted"] > 0 for change in drift.changes]
    assert len(alarms) == 30 and sum(alarms) <= 1


def test_agreement_is_kunchevas_index_of_two():
    rng = np.random.default_rng(0)
    orders = [[f"f{i}" for i in rng.permutation(30)] for _ in range(2)]
    both = len({*orders[0][:8]} & {*orders[1][:8]})
    assert agreement(orders, 8).value == pytest.approx((both - 64 / 30) / (8 - 64 / 30))


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize(("bins", "binning"), [(5, "width"), (4, "quantile")])
def test_states_tell_what_their_rows_do(sparse, bins, binning):
    tables = (
        corpus(1, 500, 40, 6),
        corpus(2, 500, 40, 6, flipped=3),
        corpus(3, 500, 40, 6, flipped=6),
    )
    if sparse:
        tables = [(sp.csr_matrix(X * (np.abs(X) > 0.9)), Y) for X, Y in tables]
    how = {"num_bins": bins, "binning": binning}
    states = [collect(*tables[0], "mim", method_params=how)]
    states += [
        collect(*table, "mim", like=states[0], name=str(i), method_params=how)
        for i, table in enumerate(tables)
    ]
    by_rows, by_states = (
        spark_mlfs.drift(*tables, method_params=how, **how),
        spark_mlfs.states.compare(*states[1:]),
    )
    told = spark_mlfs.drift(*states[1:])
    for table in ("features", "pairs", "labels"):
        pd.testing.assert_frame_equal(getattr(told, table), getattr(by_states, table))
        got, wanted = (getattr(each, table) for each in (by_states, by_rows))
        if binning == "width" or table != "features":
            columns = [
                c for c in wanted if not c.startswith("rank_after")
            ]  # that of rows has codes of its own
            pd.testing.assert_frame_equal(got[columns], wanted[columns], check_exact=True)
    assert "<svg" in told.page()


def test_states_with_new_features_and_labels_are_compared():
    rng = np.random.default_rng(0)
    words = [f"w{j}" for j in range(20)]
    X = [pd.DataFrame((rng.random((400, 20)) < 0.2).astype(int), columns=words) for _ in range(2)]
    sparse = [frame.astype(pd.SparseDtype(int, 0)) for frame in (X[0][words[:19]], X[1][words[1:]])]
    Y = [[["a"] if row else ["b", *more] for row in rng.random(400) < 0.5] for more in ([], ["c"])]
    rows = [pack_arrays(sp.csr_matrix(x), y)[0] for x, y in zip(sparse, Y, strict=True)]
    for held, frame in zip(rows, sparse, strict=True):
        held.feature_names = [*frame.columns]
    need = needs_of("mim")
    told = {"weights": False, "graded": False}
    first = collected(
        rows[0], need, None, CollectedPart("1", "", "", [], [], rows[0].profile), told, Budgets()
    )
    later = collected(
        rows[1], need, first, CollectedPart("2", "", "", [], [], rows[1].profile), told, Budgets()
    )
    got = spark_mlfs.states.compare(first, later)
    wanted = compare(
        *(Window(name, held) for name, held in zip(("before", "after"), rows, strict=True))
    )
    columns = wanted.features.columns
    table = got.features.set_index("feature").loc[wanted.features["feature"]].reset_index()[columns]
    pd.testing.assert_frame_equal(table, wanted.features, check_exact=True)
    assert set(got.labels["label"]) == {"a", "b", "c"}


def test_states_that_do_not_fit_are_one_line():
    X, Y = corpus(1, 200, 10, 5)
    one, other = collect(X, Y), collect(X[:, :9], Y)
    with pytest.raises(ParameterError, match="only one has the feature 'x9'"):
        spark_mlfs.states.compare(one, other)
    with pytest.raises(ParameterError, match="states are compared with states"):
        spark_mlfs.drift(one, (X, Y))
    ridge = collect(X, Y, "ridge")
    with pytest.raises(ParameterError, match="second moments"):
        spark_mlfs.states.compare(
            ridge, collect(X, Y, "ridge", like=ridge, name="2"), method="ridge"
        )


WRONG = {
    r"give \(X, Y\)": lambda X, Y: ((X, Y), X),
    "weights of after are no whole numbers": lambda X, Y: ((X, Y), (X, Y, np.full(len(X), 0.5))),
    "feature 'x9' is in before only": lambda X, Y: ((X, Y), (X[:, :9], Y)),
    "binning='quantile'": lambda X, Y: ((X, Y, np.full(len(X), 2)), (X, Y)),
    "beyond 2": lambda X, Y: ((X, Y), (X * 1e200, Y)),
    "at least two windows": lambda X, Y: ((X, Y),),
}


@pytest.mark.parametrize("line", WRONG)
def test_what_cannot_be_compared_is_one_line(line):
    X, Y = corpus(1, 200, 10, 5)
    with pytest.raises((ParameterError, DataError), match=line) as error:
        spark_mlfs.drift(*WRONG[line](X, Y), binning="quantile" if "quantile" in line else "width")
    assert "\n" not in str(error.value) and not re.search(r"\{|\\x", str(error.value))


@pytest.mark.parametrize(
    ("settings", "line"),
    [
        ({"fdr": 2}, "fdr"),
        ({"bins": 3}, "bins"),
        ({"kinds": 3}, "kinds"),
        ({"method": "no"}, "no"),
        ({"against": "last"}, "first"),
        ({"reading": {"mising": "zero"}}, "mising"),
        ({"reading": {"missing": "mean"}}, "zero or drop"),
    ],
)
def test_wrong_settings_are_one_line(settings, line):
    X, Y = corpus(1, 200, 10, 5)
    with pytest.raises(ParameterError, match=line):
        spark_mlfs.drift((X, Y), (X, Y), **settings)
