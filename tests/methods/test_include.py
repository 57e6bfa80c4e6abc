"""Features that must be in a selection, and features that may not: against naive greedy selection,
and what is refused."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from oracles import canonical, constrained, information, mrmr
from oracles.discretise import constant_columns, discretise
from oracles.loader import load

import spark_mlfs
from spark_mlfs import METHODS, pipeline
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.folds import fold_of
from spark_mlfs.engine.local import LocalEngine
from spark_mlfs.errors import ParameterError
from spark_mlfs.select import Constraints
from spark_mlfs.sklearn import JMISelector, MIMSelector

GREEDY = [name for name, method in METHODS.items() if method.conditions]
FEW = {"max_iter": (500, 10), "epochs": (100, 8)}


@pytest.fixture(scope="module")
def table():
    """Dotted names, a constant column, a third of the rows repeated: small enough for naive
    selection."""
    rng = np.random.default_rng(5)
    x = np.round(rng.normal(size=(90, 12)), 2)
    x[:, 5] = x[:, 0] + 0.1 * np.round(rng.normal(size=90), 2)
    x[:, 7] = 3.0
    y = (x[:, :3] + 0.5 * rng.normal(size=(90, 3)) > 0.4).astype(float)
    rows = np.concatenate([np.arange(60), rng.choice(60, 30)])
    return pd.DataFrame(
        x[rows], columns=[f"title.{j}" if j < 6 else f"body.x[{j}]" for j in range(12)]
    ), y[rows]


def naive(method, x, y, include, **p):
    codes, constant = discretise(x), constant_columns(x)
    if method == "forward":
        held = pack_arrays(x, y)[0]
        shrunk = ~np.isin(np.arange(x.shape[1]), include)  # what is included is not
        return constrained.held_out(
            x, y, fold_of(held.block, 5, held.profile), shrunk.astype(float)
        )
    if method == "fastcan":
        return constrained.formula(canonical.fastcan, x, y, None)
    if method == "mrmr":
        return constrained.formula(mrmr.mrmr, x, codes, y, **p)
    oracle = getattr(information, method.replace("-", "_"))
    return constrained.formula(oracle, codes, y.astype(int), constant=constant, **p)


CASES = [(method, {}) for method in GREEDY] + [
    ("jmi", {"label_coding": "lp"}),
    ("mrmr", {"relevance": "f", "redundancy": "correlation", "scheme": "quotient"}),
]


@pytest.mark.parametrize(
    ("method", "p"), CASES, ids=[f"{m} {'-'.join(p.values())}" for m, p in CASES]
)
def test_what_greedy_methods_pick_given_some_features(table, method, p):
    frame, y = table
    if method == "ppt-cmi":
        p = {"min_count": 2}
    include, exclude = [6, 5], [1, 9]
    picks, gains, given = constrained.included(
        naive(method, frame.to_numpy(), y, include, **p), include, exclude, 6
    )
    request = pipeline.Request.of(
        method, p, 6, constraints=Constraints(tuple(include), tuple(exclude))
    )
    (result,) = pipeline.rank(pack_arrays(frame, y)[0], [request])
    ranking = result.ranking
    assert list(ranking["index"])[: len(picks)] == picks
    assert sorted(ranking["index"]) == [j for j in range(12) if j not in exclude]
    np.testing.assert_allclose(result.scores.path.gains, gains, rtol=1e-7, atol=1e-10)
    gain = ranking.set_index("index")["gain"]
    others = [j for j in range(12) if j not in (*include, *exclude, 7)]
    np.testing.assert_allclose(gain[others], given[others], rtol=1e-7, atol=1e-9)
    np.testing.assert_allclose(gain[include], gains[:2], rtol=1e-7, atol=1e-10)
    picked = len(result.scores.path.gains)
    assert np.isnan(gain[7]) and np.array_equal(ranking["score"][:picked], result.scores.path.gains)
    assert ranking["score"][picked:].isna().all() and ranking["relevance"].notna().all()


@pytest.mark.parametrize(
    "method", [name for name in METHODS if not METHODS[name].greedy and not METHODS[name].penalised]
)
def test_methods_that_score_rank_the_included_first_and_the_others_as_without(table, method):
    frame, y = table
    own = {p.name: p.default for p in METHODS[method].parameters}
    p = {key: short for key, (limit, short) in FEW.items() if key in own and own[key] <= limit}
    plain = spark_mlfs.rank(frame, y, method, None, method_params=p)
    got = spark_mlfs.rank(frame, y, method, None, method_params=p, include=["title.4", "body.x[7]"])
    rest = [i for i in plain["index"] if i not in (4, 7)]
    assert list(got["index"]) == [4, 7, *rest] and "gain" not in got
    pd.testing.assert_series_equal(
        got.set_index("index")["score"].sort_index(), plain.set_index("index")["score"].sort_index()
    )


@pytest.mark.parametrize("method", ["mim", "ridge", "jmi", "fastcan"])
def test_without_the_excluded_as_if_they_were_not_there(table, method):
    frame, y = table
    got = spark_mlfs.rank(frame, y, method, 4, exclude=["title.[0-2]", 11])
    left = [j for j in range(12) if j not in (0, 1, 2, 11)]
    want = spark_mlfs.rank(frame.iloc[:, left], y, method, 4)
    assert list(got["name"]) == list(want["name"])


def test_names_patterns_places_and_rankings_say_the_same(table):
    frame, y = table
    held, _ = pack_arrays(frame, y)
    two = ["body.x[6]", "title.4"]
    for listed in (two, [6, 4], np.array(two), pd.DataFrame({"name": two})):
        assert list(spark_mlfs.rank(frame, y, k=3, include=listed)["index"])[:2] == [6, 4]
    assert Constraints(("title.*", 6, "title.2")).resolve(held.feature_names).include == (
        0,
        1,
        2,
        3,
        4,
        5,
        6,
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            {"include": ["titel.3"]},
            "include: the data have no feature 'titel.3'; did you mean 'title.3'?",
        ),
        ({"exclude": ["head_*"]}, "exclude: the pattern matches no feature 'head_*'"),
        ({"exclude": [12]}, "numbered from 0 to 11"),
        ({"include": [3], "exclude": ["title.*"]}, "'title.3' is both included and excluded"),
        ({"exclude": ["*"]}, "exclude leaves no feature that varies"),
        (
            {"include": ["*"], "k": 5},
            "include lists 12 features, more than the 5 that are kept: raise num_top_features",
        ),
        ({"include": {"title.3": 1}}, "include must be a list of names"),
        ({"include": [-1]}, "include: there is no feature -1"),
        ({"include": [True]}, "include must be a list of names"),
        ({"exclude": [1], "k": 12}, None),
    ],
    ids=str,
)
def test_what_is_refused_and_how(table, arguments, said):
    frame, y = table
    if said is None:  # k is cut at what there is
        assert len(spark_mlfs.rank(frame, y, **arguments)) == 11
        return
    with pytest.raises(ParameterError) as error:
        spark_mlfs.rank(frame, y, **{"method": "mim", **arguments})
    assert said in str(error.value) and "\n" not in str(error.value)


def test_a_method_that_picks_in_a_way_of_its_own_says_so(table):
    frame, y = table
    with pytest.raises(
        ParameterError, match="auto picks one by one in a way of its own: leave include out"
    ):
        spark_mlfs.rank(frame, y, "auto", include=[0])


@pytest.mark.parametrize("method", ["jmi", "ridge"])
def test_behind_a_screen(table, method):
    """The filter does not see the excluded, the method sees the included."""
    frame, y = table
    plain = spark_mlfs.rank(frame, y, "mim", None, exclude=[0])
    worst = int(plain["index"].iloc[-2])  # the last is constant
    got = spark_mlfs.rank(frame, y, method, None, screen="mim:3", include=[worst], exclude=[0])
    assert got["index"][0] == worst and {*got["index"][:4]} == {worst, *plain["index"][:3]}
    assert list(got["index"][4:]) == [i for i in plain["index"][3:] if i != worst]
    assert 0 not in set(got["index"])


def test_rules_keep_the_included_besides_what_passes(table):
    frame, y = table
    plain = MIMSelector(selection_mode="fdr", fdr=1e-6).fit(frame, y)
    weakest = int(plain.ranking_["index"].iloc[-2])
    got = MIMSelector(selection_mode="fdr", fdr=1e-6, include=[weakest]).fit(frame, y)
    assert list(got.selected_) == [weakest, *plain.selected_]
    assert weakest not in plain.selected_ and len(plain.selected_)
    picked = JMISelector(selection_mode="fdr", fdr=1e-6, include=[weakest]).fit(frame, y)
    assert {*picked.selected_} == {*got.selected_} and len(picked.gains_) >= len(got.selected_)


def test_the_selector_of_arrays_never_takes_the_excluded(table):
    frame, y = table
    got = JMISelector(num_top_features=11, exclude=["title.0"]).fit(frame, y)
    assert not got.get_support()[0] and got.get_support().sum() == 11 and np.isnan(got.scores_[0])
    with pytest.raises(ParameterError, match="num_top_features = 12 but the data have 11 features"):
        JMISelector(num_top_features=12, exclude=["title.0"]).fit(frame, y)


@pytest.mark.parametrize("method", ["jmi", "scls", "mrmr"])
def test_links_are_asked_for_ahead_and_in_no_more_requests(table, method, monkeypatch):
    frame, y = table
    include, exclude = (6, 5, 8, 2), (1,)
    one_by_one = run(frame, y, method, 8, include, exclude)
    monkeypatch.setattr(LocalEngine, "look_ahead", 3)
    ahead, free = run(frame, y, method, 8, include, exclude), run(frame, y, method, 8)
    pd.testing.assert_frame_equal(ahead.ranking, one_by_one.ranking)
    assert ahead.scores.path.gains == one_by_one.scores.path.gains
    assert len(ahead.scores.path.batches) <= len(free.scores.path.batches)
    only = run(
        frame, y, method, 4, include, exclude
    )  # no further pick: the gains given them all the same
    np.testing.assert_array_equal(
        only.ranking.sort_values("index")["gain"], ahead.ranking.sort_values("index")["gain"]
    )


def run(frame, y, method, count, include=(), exclude=()):
    constraints = Constraints(include, exclude) if include or exclude else None
    return pipeline.rank(
        pack_arrays(frame, y)[0], [pipeline.Request.of(method, {}, count, constraints=constraints)]
    )[0]


@pytest.mark.slow
def test_on_a_real_set_as_many_jobs_and_the_same_answer_job_by_job(spark, data_dir):
    """emotions with a third of its rows twice: in this process, in one task, and job by job."""
    from pyspark.ml.linalg import Vectors

    x, y, _names, _ = load("emotions", data_dir)
    rng = np.random.default_rng(0)
    rows = np.concatenate([np.arange(200), rng.choice(200, 100)])
    x, y = x[rows], y[rows].astype(float)
    frame = spark.createDataFrame(
        [(Vectors.dense(a), Vectors.dense(b)) for a, b in zip(x, y, strict=True)],
        ["features", "labels"],
    )
    held, _ = pack_arrays(x, y)
    free = [pipeline.Request.of(m, {}, 5) for m in ("jmi", "fastcan")]
    bound = [
        pipeline.Request.of(m, {}, 5, constraints=Constraints((60, 3, 40), (4,)))
        for m in ("jmi", "fastcan")
    ]
    for small in (1 << 40, 0):
        for plain, request in zip(free, bound, strict=True):
            here = pipeline.rank(held, [request])[0]
            there = pipeline.rank(frame, [request], small_bytes=small)[0]
            np.testing.assert_array_equal(
                here.ranking.drop(columns="name"), there.ranking.drop(columns="name")
            )
            without = pipeline.rank(frame, [plain], small_bytes=small)[0]
            assert there.jobs <= without.jobs and there.scans <= without.scans


@pytest.mark.slow
def test_the_model_is_saved_with_them(spark, table, tmp_path):
    frame, y = table
    rows = [(a.tolist(), b.tolist()) for a, b in zip(frame.to_numpy(), y, strict=True)]
    data = spark.createDataFrame(rows, ["features", "labels"])
    selector = spark_mlfs.JMISelector(
        numTopFeatures=4, include=[6, "features_5"], exclude=["features_1*"], outputCol="out"
    )
    selector.write().save(str(tmp_path / "selector"))
    again = spark_mlfs.JMISelector.load(str(tmp_path / "selector"))
    assert again.getInclude() == [6, "features_5"] and again.getExclude() == ["features_1*"]
    model = again.fit(data)
    model.write().save(str(tmp_path / "model"))
    loaded = spark_mlfs.MultiLabelSelectorModel.load(str(tmp_path / "model"))
    assert loaded.selectedFeatures == model.selectedFeatures and loaded.selectedFeatures[:2] == [
        6,
        5,
    ]
    assert (
        loaded.numFeatures == 12
        and len(loaded.ranking) == 9
        and loaded.featureNames == [f"features_{j}" for j in range(12)]
    )
    assert loaded.summary["constraints"]["exclude"] == ["features_1", "features_10", "features_11"]
    pd.testing.assert_frame_equal(loaded.ranking, model.ranking)
    kept = np.array([row.out for row in loaded.transform(data).collect()])
    np.testing.assert_array_equal(kept, frame.to_numpy()[:, model.selectedFeatures])


def test_sparse_rows_as_dense_ones(table):
    frame, y = table
    x = np.where(np.abs(frame.to_numpy()) < 0.8, 0, frame.to_numpy())
    dense = spark_mlfs.rank(x, y, "jmi", 6, include=[6], exclude=[2])
    pd.testing.assert_frame_equal(
        spark_mlfs.rank(sp.csr_matrix(x), y, "jmi", 6, include=[6], exclude=[2]), dense
    )


def test_an_included_constant_feature_leaves_the_column_gain():
    """It tells nothing, so that the others gain what they would alone."""
    x = np.column_stack([np.full(90, 2.0), np.random.default_rng(3).normal(size=(90, 4))])
    y = (x[:, 1:3] > 0).astype(float)
    got = spark_mlfs.rank(x, y, "jmi", None, include=[0])
    assert got["index"][0] == 0 and np.isnan(got["gain"][0])
    assert got["gain"][1:].tolist() == got["relevance"][1:].tolist()
    both = spark_mlfs.rank(x, y, "jmi", None, include=[0, 3]).set_index("index")["gain"]
    one = spark_mlfs.rank(x, y, "jmi", None, include=[3]).set_index("index")["gain"]
    assert both.drop(0).equals(one.reindex(both.index).drop(0))
    assert "gain" not in spark_mlfs.rank(x, y, "ridge", include=[0])
