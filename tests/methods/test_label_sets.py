"""Sets by label against the oracle of quotas, scikit-learn, SciPy and NumPy."""

from __future__ import annotations

import csv
import importlib.util
import itertools
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from oracles import quota as oracle
from scipy.stats import chi2_contingency
from sklearn.metrics import mutual_info_score, roc_auc_score

import spark_mlfs
from spark_mlfs import cli, pipeline
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.engine.base import Engine
from spark_mlfs.select.label_sets import COLUMNS
from spark_mlfs.sklearn import Chi2Selector, MultiLabelSelector, QuotaSelector
from spark_mlfs.testing import frame_of


def words(seed, unknown=False):
    """Words that occur or not, some with counts, of labels that some of them follow."""
    rng = np.random.default_rng(seed)
    Y = (rng.random((80, 5)) < [0.5, 0.3, 0.2, 0.1, 0.05]).astype(float)
    X = (rng.random((80, 14)) < 0.15).astype(float)
    X[:, :5] = np.maximum(X[:, :5], Y * (rng.random((80, 5)) < 0.6))
    X[:, 3:6] *= rng.integers(1, 4, (80, 3))
    if unknown:
        Y[rng.random(Y.shape) < 0.1] = np.nan
    return X, Y


def sets_of(X, Y, method, k, **parameters):
    rows, _ = pack_arrays(X, Y)
    (result,) = pipeline.rank(rows, [pipeline.Request.of(method, parameters, k)])
    return pipeline.by_label(rows, result)[0], result


def both_sides(X, Y, method, k, **parameters):
    """The table, the same of dense and sparse rows."""
    dense, result = sets_of(X, Y, method, k, **parameters)
    thin, _ = sets_of(sp.csr_matrix(X), Y, method, k, **parameters)
    pd.testing.assert_frame_equal(dense, thin, check_exact=True)
    return dense, result


@pytest.mark.parametrize("seed", range(6))
def test_a_label_lists_the_features_it_keeps(seed):
    X, Y = words(seed, unknown=seed % 2 == 1)
    table, result = both_sides(X, Y, "quota", 6)
    assert list(table.columns) == list(COLUMNS)
    order, score, _ = oracle.rank(X, Y, 6)
    last = 1 / score[order[5]]
    lines = []
    for number, label in enumerate(oracle.labels_of(X, Y)):
        for place, f in enumerate(label.order, 1):
            if f in order[:6] and place / label.N <= last * (1 + 1e-8):
                facts = (label.information[f], label.a[f], label.F[f], label.N, label.n)
                lines.append((f"y{number}", place, f"x{f}", *facts))
    wanted = pd.DataFrame(lines, columns=[name for name in COLUMNS if name != "speaks"])
    assert (table["speaks"] == "for").all() and len(table) >= 6
    pd.testing.assert_frame_equal(
        table.drop(columns="speaks"), wanted, check_dtype=False, rtol=1e-9
    )
    assert set(table["name"]) == set(result.kept["name"])


def kept_by(X, Y, result, strength, most=20):
    """Lines of the strongest kept features of each label, where they meet it."""
    lines = []
    for label, y in enumerate(Y.T):
        values = [(f, strength(X[:, f], y)) for f in sorted(result.kept["index"])]
        met = [(f, value) for f, value in values if ((X[:, f] > 0) & (y == 1)).any()]
        met.sort(key=lambda pair: (-round(pair[1], 11), pair[0]))
        lines += [(f"y{label}", i, f"x{f}", value) for i, (f, value) in enumerate(met[:most], 1)]
    return lines


@pytest.mark.parametrize("method", ["mim", "chi2"])
def test_counts_tell_how_strong_a_feature_is(method):
    X, Y = words(7)
    X = (X > 0).astype(float)
    table, result = both_sides(X, Y, method, 9)

    def strength(x, y):
        if method == "mim":
            return mutual_info_score(x, y)
        return chi2_contingency(pd.crosstab(x, y), correction=False)[0]

    wanted = pd.DataFrame(kept_by(X, Y, result, strength), columns=COLUMNS[:4])
    pd.testing.assert_frame_equal(table[list(COLUMNS[:4])], wanted, rtol=1e-9)
    for line in table.itertuples():
        x, y = X[:, int(line.name[1:])], Y[:, int(line.label[1:])]
        counts = (line.both, line.feature_rows, line.label_rows, line.known_rows)
        assert counts == (x @ y, x.sum(), y.sum(), len(y))
        sign = x @ y * len(y) - x.sum() * y.sum()
        assert line.speaks == ("for" if sign > 0 else "against" if sign < 0 else "")


@pytest.mark.parametrize("method", ["fisher", "f-statistic"])
def test_moments_tell_r_squared_over_the_rows_where_the_label_is_known(method):
    X, Y = words(3, unknown=True)
    table, result = both_sides(X, Y, method, 4)
    lines = []
    for label, y in enumerate(Y.T):
        known = ~np.isnan(y)
        r = {f: np.corrcoef(X[known, f], y[known])[0, 1] for f in result.kept["index"]}
        order = sorted(r, key=lambda f: (-(r[f] ** 2), f))
        sides = {True: "for", False: "against"}
        lines += [
            (f"y{label}", i, f"x{f}", r[f] ** 2, sides[r[f] > 0]) for i, f in enumerate(order, 1)
        ]
    wanted = pd.DataFrame(lines, columns=COLUMNS[:5])
    pd.testing.assert_frame_equal(table, wanted, rtol=1e-7)


def test_a_linear_model_tells_its_weights():
    X, Y = words(4)
    table, _ = sets_of(X, Y, "ridge", 14, alpha=2.0)
    Z = (X - X.mean(axis=0)) / X.std(axis=0)
    W = np.linalg.solve(Z.T @ Z + 2.0 * np.eye(14), Z.T @ (Y - Y.mean(axis=0)))
    for line in table.itertuples():
        w = W[int(line.name[1:]), int(line.label[1:])]
        assert line.strength == pytest.approx(abs(w), rel=1e-6)
        assert line.speaks == ("for" if w > 0 else "against")
    assert len(table) == 14 * 5


def test_constant_labels_keep_the_names_of_the_others_right():
    X, Y = words(5)
    Y = np.insert(Y, [0, 2], 0.0, axis=1)
    Y[:, 0] = 1
    for method in ("quota", "mim", "fisher", "ridge"):
        table, _ = sets_of(X, Y, method, 6)
        without, _ = sets_of(X, np.delete(Y, [0, 3], axis=1), method, 6)
        names = dict(zip("y0 y1 y2 y3 y4".split(), "y1 y2 y4 y5 y6".split(), strict=True))
        pd.testing.assert_frame_equal(table, without.assign(label=without["label"].map(names)))


def test_a_selector_of_arrays_tells_them():
    X, Y = words(3)
    frame = pd.DataFrame(X, columns=[f"w{j}" for j in range(X.shape[1])])
    weights = np.random.default_rng(0).integers(1, 4, len(X)) / 2
    for selector, method in ((QuotaSelector, "quota"), (Chi2Selector, "chi2")):
        estimator = selector(num_top_features=6)
        table = estimator.by_label(frame, Y, weights)
        wanted = spark_mlfs.by_label(frame, Y, method, 6, sample_weight=weights)
        pd.testing.assert_frame_equal(table, wanted, check_exact=True)
        assert len(table) and not hasattr(estimator, "ranking_")
        kept = estimator.fit(frame, Y, weights).get_feature_names_out()
        assert {*table["name"]} <= {*kept}
    general = MultiLabelSelector("mrmr", num_top_features=3)
    assert {*general.by_label(frame, Y).columns} <= {*COLUMNS}


@pytest.mark.slow
def test_an_estimator_of_spark_tells_them(spark, monkeypatch):
    """Rows in one partition and in seven, and labels one range each: the table of arrays."""
    X, Y = words(3)
    wanted = spark_mlfs.by_label(X, Y, "quota", 6)
    compared = ["place", "strength", "speaks", "both", "feature_rows", "label_rows", "known_rows"]
    frame = frame_of(spark, X, Y, sparse=True)

    def check(num_partitions):
        selector = spark_mlfs.QuotaSelector(numTopFeatures=6)
        table = selector.byLabel(frame.repartition(num_partitions))
        assert len(table) == len(wanted)
        pd.testing.assert_frame_equal(table[compared], wanted[compared], check_exact=True)

    check(7)
    monkeypatch.setattr(Engine, "collects_whole_states", lambda *_, **__: False)
    monkeypatch.setattr(Engine, "edges_of", lambda engine, _: np.arange(engine.profile.q + 1))
    check(1)
    check(7)


def test_what_has_no_set_of_a_label():
    X, Y = words(6)
    assert sets_of(X, Y, "mim", 5, label_coding="lp")[0] is not None  # r² then
    table, result = sets_of(X, Y, "quota", 5, label_weights=[1, 0, 0, 0, 0])
    assert set(table["label"]) == {"y0"} and len(result.kept) == 5


@pytest.mark.slow
def test_many_labels_give_the_bits_of_few(monkeypatch):
    """Ranges of labels, cut anywhere."""
    X, Y = words(8, unknown=True)
    whole = {method: sets_of(X, Y, method, 6)[0] for method in ("quota", "mim", "chi2")}
    monkeypatch.setattr(Engine, "collects_whole_states", lambda *_, **__: False)
    monkeypatch.setattr(Engine, "edges_of", lambda engine, _: np.arange(engine.profile.q + 1))
    for method in ("quota",):
        pd.testing.assert_frame_equal(sets_of(X, Y, method, 6)[0], whole[method], check_exact=True)


def test_the_command_writes_labels_csv_and_shows_it(tmp_path):
    rng = np.random.default_rng(0)
    Y = rng.random((400, 230)) < 0.02
    X = (rng.random((400, 230)) < 0.03) | Y
    names = [f"tag{i}" for i in range(230)]
    lines = [
        [*map(int, x), ";".join(itertools.compress(names, y))] for x, y in zip(X, Y, strict=True)
    ]
    with (tmp_path / "rows.csv").open("w", newline="") as file:
        csv.writer(file).writerows([[*(f"w{j}" for j in range(230)), "tags"], *lines])
    command = [
        "select",
        "--data",
        str(tmp_path / "rows.csv"),
        "--labels-col",
        "tags",
        "--features",
        "w*",
    ]
    command += ["--format", "csv", "--engine", "local", "--option", "label_delimiter=;"]
    command += ["--method", "quota", "--num-top-features", "150"]
    assert cli.main([*command, "--output", str(tmp_path / "out")]) == 0
    table = pd.read_csv(tmp_path / "out" / "labels.csv")
    assert list(table.columns) == list(COLUMNS)
    ranking = pd.read_csv(tmp_path / "out" / "ranking.csv")
    assert set(table["name"]) == set(ranking["name"][:150])
    page = (tmp_path / "out" / "report.html").read_text()
    assert "Features of each label" in page and "<script" not in page
    assert page.index("Features of each label") < page.index("Score curve")
    rows = table.groupby("label")["label_rows"].first()
    others = page.count("<option value=")
    assert others == max(0, len(rows) - 200)


def test_few_latents_tell_a_concept_and_shuffled_labels_tell_nothing():
    path = Path(__file__).parents[2] / "notebooks" / "figures" / "probes.py"
    spec = importlib.util.spec_from_file_location("probes", path)
    probes = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(probes)
    lines, share, by_chance, _ = probes.sweep(1500, 3000, 25)
    assert share >= 0.95 and by_chance <= 0.05
    true = lines["true labels"]
    assert true.iloc[0] > 0.8 and true.iloc[2] > true.iloc[0]
    assert (lines["shuffled labels"] - 0.5).abs().max() < 0.03
    # the areas are scikit-learn's
    x, y, _ = probes.activations(600, 300, 5)
    table = probes.sets(x, y)
    for concept, area in enumerate(probes.areas(table, x, y, 1)):
        (latent,) = table[(table["label"] == str(concept)) & (table["place"] == 1)]["name"]
        fires = x[:, int(latent[1:])].toarray()[:, 0] != 0
        assert area == pytest.approx(roc_auc_score(y[:, concept], fires))


def test_what_is_rounding_speaks_for_no_label():
    """Of a label that varies only where another one is unknown a linear model has no weight."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 4)) * [1, 0.3, 7, 1e-3] + 0.1
    y = np.stack([np.arange(60) < 20, x[:, 0] > 0, rng.random(60) < 0.3], axis=1).astype(float)
    y[:25, 1] = np.nan
    y[20:25, 0] = np.nan
    table = spark_mlfs.by_label(x, y, "ridge")
    assert set(table["label"]) == {"y1", "y2"} and table["name"].iloc[0] == "x0"
