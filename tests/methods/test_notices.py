"""What a ranking says of itself: kept features without a score, a solver that stopped early, by
every face."""

from __future__ import annotations

import json
import pickle
import warnings

import numpy as np
import pandas as pd
import pytest
from pyspark.ml.linalg import Vectors
from sklearn.exceptions import ConvergenceWarning
from sklearn.linear_model import ElasticNet, Lasso, MultiTaskLasso

from spark_mlfs import cli, rank, states
from spark_mlfs.adapters.selection import LocalSelection
from spark_mlfs.errors import DataNotice
from spark_mlfs.sklearn import (
    BRSVMClassifier,
    ElasticNetSelector,
    LassoSelector,
    MultiLabelSelector,
)

N = 4000
RARE = 10  # rows with the label


def rare():
    """Return features of which the last three tell the one label that few rows have."""
    generator = np.random.default_rng(5)
    y = np.zeros(N)
    y[:RARE] = 1
    x = generator.normal(size=(N, 12))
    x[:, 9:] += y[:, None] * [4, 3, 2]
    return x, y[:, None]


def noticed(function, *arguments, **settings):
    """Return what a call gives, and the texts of its notices."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = function(*arguments, **settings)
    return result, [str(w.message) for w in caught if issubclass(w.category, DataNotice)]


def weights(kind, x, y, alpha):
    """Return how many features have a weight, by scikit-learn."""
    z = (x - x.mean(axis=0)) / x.std(axis=0)
    model = {
        "lasso": Lasso(alpha),
        "elastic-net": ElasticNet(alpha=alpha, l1_ratio=0.5),
        "group": MultiTaskLasso(alpha),
    }[kind]
    coefficients = model.set_params(tol=1e-10).fit(z, y - y.mean(axis=0)).coef_
    return int((np.abs(np.atleast_2d(coefficients)).max(axis=0) > 1e-12).sum())


@pytest.mark.parametrize("kind", ["lasso", "elastic-net", "group"])
def test_a_penalty_that_leaves_no_weight_names_the_one_that_leaves_as_many_as_are_kept(kind):
    x, y = rare()
    settings = {"alpha": 0.05, "group": kind == "group"}
    ranking, texts = noticed(rank, x, y, kind.replace("group", "lasso"), k=3, **settings)
    assert (ranking["score"] == 0).all() and ranking["index"].tolist() == [0, 1, 2]
    assert texts[0] == "3 of 3 kept features have score 0 and stand in column order"
    before, _, after = texts[1].partition("; at alpha = ")
    alpha, _, rest = after.partition(" ")
    assert (
        rest == "3 features have a weight" and "alpha = 0.05 gives every feature weight 0" in before
    )
    assert weights(kind, x, y, float(alpha)) >= 3 > weights(kind, x, y, 1.3 * float(alpha))
    largest = float(before.partition("as any from ")[2].partition(" ")[0])
    assert weights(kind, x, y, 1.01 * largest) == 0 < weights(kind, x, y, 0.99 * largest)
    found = rank(x, y, kind.replace("group", "lasso"), k=3, **settings | {"alpha": float(alpha)})
    assert sorted(found["index"]) == [9, 10, 11]


def test_alpha_as_a_share_of_the_largest():
    x, y = rare()
    largest = np.abs(((x - x.mean(axis=0)) / x.std(axis=0)).T @ (y - y.mean())).max() / N
    for share in (0.3, 1.0):
        by_share = LassoSelector(alpha_share=share, num_top_features=3).fit(x, y).scores_
        plain = LassoSelector(alpha=share * largest, num_top_features=3).fit(x, y).scores_
        np.testing.assert_allclose(by_share, plain, atol=1e-9)
    by_share = ElasticNetSelector(alpha_share=0.3, num_top_features=3).fit(x, y).scores_
    plain = ElasticNetSelector(alpha=0.6 * largest, num_top_features=3).fit(x, y).scores_
    np.testing.assert_allclose(by_share, plain, atol=1e-9)


def table():
    """Return six features of which the first two, in the fourth and fifth place, say all."""
    generator = np.random.default_rng(0)
    x = generator.normal(size=(200, 6))
    y = (x[:, 3:5] + 0.1 * generator.normal(size=(200, 2)) > 0).astype(float)
    return x, y


STRONG = {"alpha": 0.3}  # two features have a weight


def test_features_without_a_weight_that_fill_up_a_number_are_counted():
    x, y = table()
    assert (rank(x, y, "lasso", k=None, **STRONG)["score"] > 0).sum() == 2
    _, texts = noticed(rank, x, y, "lasso", k=5, **STRONG)
    assert texts == ["3 of 5 kept features have score 0 and stand in column order: keep 2 at most"]
    _, texts = noticed(rank, x, y, "lasso", k=3, **STRONG)
    assert texts == ["1 of 3 kept features has score 0 and stands in column order: keep 2 at most"]
    selector, texts = noticed(LassoSelector(num_top_features=5, **STRONG).fit, x, y)
    assert selector.notices_ == texts and len(texts) == 1
    _, texts = noticed(
        LassoSelector(selection_mode="percentile", percentile=0.5, **STRONG).fit, x, y
    )
    assert texts == ["1 of 3 kept features has score 0 and stands in column order: keep 2 at most"]


@pytest.mark.parametrize(
    "settings",
    [
        {"k": 2},
        {"k": None},
        {"k": 50},
        {"k": 4, "include": [0, 1]},
        {"k": 3, "groups": {"pair": [2, 4]}},
    ],
    ids=str,
)
def test_no_wolf_is_cried_where_no_feature_is_kept_for_its_place(settings):
    x, y = table()
    assert noticed(rank, x, y, "lasso", **STRONG, **settings)[1] == []


@pytest.mark.parametrize("mode", ["fdr", "stability"])
def test_rules_keep_no_feature_for_its_place(mode):
    x, y = table()
    selector = LassoSelector(selection_mode=mode, num_top_features=2, **STRONG)
    fitted, texts = noticed(selector.fit, x, y)
    assert texts == [] and len(fitted.selected_)


@pytest.mark.parametrize(
    ("method", "penalty"),
    [("rfs", "gamma"), ("csfs", "mu"), ("omfs", "gamma"), ("msfs", "beta"), ("mifs", "gamma")],
)
def test_weights_that_a_solver_leaves_of_0_are_none(method, penalty):
    rng = np.random.default_rng(0)
    x, y = rng.normal(size=(40, 3)), (rng.random((40, 2)) < 0.4).astype(float)
    ranking, texts = noticed(rank, x, y, method, k=2, **{penalty: 1e4})
    assert ranking["score"].max() < 1e-8
    said = texts[0].startswith("no feature has a weight: the scores, ")
    assert said or texts[0] == "2 of 2 kept features have score 0 and stand in column order"
    _, texts = noticed(rank, x, y, method, k=2, **{penalty: 1e-3})
    assert not any("no feature has a weight" in text for text in texts)


def test_scores_that_are_rounding_are_none():
    """Two features that say all together and nothing alone, balanced to the row."""
    x = np.array([[a, b, c] for a in (0, 1) for b in (0, 1) for c in (0, 1)] * 5, float)
    y = (x[:, :1] != x[:, 1:2]).astype(float)
    for method in ("mim", "chi2", "f-statistic", "fisher", "ridge", "gmm"):
        _, texts = noticed(rank, x, y, method, k=2)
        assert texts[:1] == ["2 of 2 kept features have score 0 and stand in column order"], method
        _, texts = noticed(rank, x, y, method, k=None)
        assert texts[:1] == ["3 of 3 kept features have score 0 and stand in column order"], method
    # the second pick has a gain after the first, which is the first column for nothing
    _, texts = noticed(rank, x, y, "cmi", k=2)
    assert texts == ["1 of 2 kept features has score 0 and stands in column order"]


@pytest.mark.parametrize("scale", [1e-15, 1e15])
def test_scores_of_any_unit_are_scores(scale):
    x, y = table()
    assert noticed(rank, x, y, "mim", k=3, label_weights=[scale, scale])[1] == []
    assert noticed(rank, x * scale, y, "ridge", k=3, scaling="none", alpha=1e-40)[1] == []
    assert noticed(rank, x, y, "ridge", k=3, sample_weight=np.full(200, scale))[1] == []
    assert noticed(rank, x, y, "chi2", k=3, sample_weight=np.full(200, scale))[1] == []


# ---- solvers that stop early ----

EARLY = "stopped before it converged, and more iterations may change the result: raise max_iter = 1"


def near_copies():
    generator = np.random.default_rng(0)
    x = generator.normal(size=(100, 20))
    x[:, 1:] = x[:, :1] + 0.05 * x[:, 1:]
    y = (x[:, :2] + generator.normal(size=(100, 2)) > 0).astype(int)
    return x, y


@pytest.mark.parametrize("method", ["lasso", "elastic-net", "mssl", "gmba", "mifs", "omfs", "msfs"])
def test_a_solver_that_stops_early_warns_as_those_of_scikit_learn(method):
    x, y = near_copies()
    with pytest.warns(ConvergenceWarning, match=f"^{method} {EARLY}$"):
        ranking = rank(x, y, method, k=20, max_iter=1)
    assert ranking.attrs["converged"] is False
    selector = MultiLabelSelector(method, method_params={"max_iter": 1}, num_top_features=20)
    with pytest.warns(ConvergenceWarning, match=EARLY) as caught:
        selector.fit(x, y)
    assert selector.converged_ is False and caught[0].filename == __file__
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        if method != "gmba":
            assert rank(x, y, method, k=20).attrs["converged"] is True


def test_a_classifier_that_stops_early_warns():
    x, y = near_copies()
    for settings in ({}, {"scores": "calibrated"}):
        with pytest.warns(ConvergenceWarning, match="^br-svm stopped before .* max_iter = 1$"):
            BRSVMClassifier(max_iter=1, **settings).fit(x, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        BRSVMClassifier().fit(x, y)


def test_states_say_it_too():
    x, y = near_copies()
    collected = states.collect(x, y, "lasso")
    with pytest.warns(ConvergenceWarning, match=EARLY) as caught:
        assert states.rank(collected, "lasso", k=20, max_iter=1).attrs == {"converged": False}
    assert caught[0].filename == __file__
    assert "converged" not in states.rank(states.collect(x, y, "mim"), "mim").attrs


def test_the_command_says_it_in_its_text_its_manifest_and_its_report(tmp_path, capsys):
    x, y = near_copies()
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(20)])
    frame[["y0", "y1"]] = y
    frame.to_parquet(tmp_path / "rows.parquet")
    where = ["--data", str(tmp_path / "rows.parquet"), "--labels-col", "y0", "y1"]
    method = ["--features", "x*", "--method", "lasso", "--set", "max_iter=1", "--set", "alpha=.05"]
    flags = [*where, *method, "--num-top-features", "18", "--engine", "local"]
    assert cli.main(["select", *flags, "--output", str(tmp_path / "run")]) == 0
    text = capsys.readouterr().out
    manifest = json.loads((tmp_path / "run" / "manifest.json").read_text())
    report = (tmp_path / "run" / "report.html").read_text()
    assert len(manifest["notices"]) == 2
    assert "of 18 kept features have score 0 and stand in column order" in manifest["notices"][0]
    assert manifest["notices"][1] == f"lasso {EARLY}"
    for notice in manifest["notices"]:
        assert notice in text and notice in report
    model = LocalSelection.load(str(tmp_path / "run" / "model"))
    assert model.summary["notices"] == manifest["notices"]


@pytest.mark.slow
def test_pyspark_says_it(spark):
    from spark_mlfs import LassoSelector as OnSpark

    x, y = near_copies()
    rows = [(Vectors.dense(a), Vectors.dense(b)) for a, b in zip(x, y, strict=True)]
    frame = spark.createDataFrame(rows, ["features", "labels"])
    with pytest.warns(ConvergenceWarning, match=EARLY) as caught:
        model = OnSpark(maxIter=1, alpha=0.05, numTopFeatures=18, outputCol="kept").fit(frame)
    texts = [str(w.message) for w in caught if issubclass(w.category, DataNotice)]
    assert model.summary["notices"] == texts and "score 0 and stand in column order" in texts[0]
    assert caught[0].filename == __file__


def test_the_notice_of_convergence_passes_between_processes():
    from spark_mlfs.select.notices import stopped_early

    notice = pickle.loads(pickle.dumps(stopped_early("lasso", "raise max_iter = 1")))
    assert isinstance(notice, ConvergenceWarning)
    assert str(notice).startswith("lasso stopped before it converged")
