"""Features that go together and features that cost: against naive selection, and what is
refused."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from oracles import canonical, constrained, information, mrmr
from oracles.discretise import constant_columns, discretise
from sklearn.metrics import mutual_info_score

import spark_mlfs
from spark_mlfs import METHODS, pipeline
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.folds import fold_of
from spark_mlfs.errors import ParameterError
from spark_mlfs.select import Constraints
from spark_mlfs.sklearn import CMISelector, JMISelector
from spark_mlfs.solvers import units

GREEDY = [name for name, method in METHODS.items() if method.conditions]
SCORING = ["mim", "ridge", "fisher", "csfs", "relieff"]
GROUPED = {
    "a": ["title.0", "title.5", "body.x[7]"],
    "b": ["body.x[89]"],
    "c": [3, 10],
}  # a holds a constant feature
MEMBERS = [[0, 5], [8, 9], [3, 10]]


@pytest.fixture(scope="module")
def table():
    """Dotted names, a constant column, a third of the rows repeated: small enough for naive
    selection."""
    rng = np.random.default_rng(11)
    x = np.round(rng.normal(size=(90, 12)), 2)
    x[:, 5] = x[:, 0] + 0.3 * np.round(rng.normal(size=90), 2)
    x[:, 7] = 3.0
    y = (x[:, :3] + 0.5 * rng.normal(size=(90, 3)) > 0.4).astype(float)
    rows = np.concatenate([np.arange(60), rng.choice(60, 30)])
    names = [
        f"title.{j}" if j < 6 else f"body.x[{j}]" if j == 7 else f"body.x{j}" for j in range(12)
    ]
    return pd.DataFrame(x[rows], columns=names), y[rows]


def naive(method, x, y, include=()):
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
        return constrained.formula(mrmr.mrmr, x, codes, y)
    oracle = getattr(information, method.replace("-", "_"))
    more = {"min_count": 2} if method == "ppt-cmi" else {}
    return constrained.formula(oracle, codes, y.astype(int), constant=constant, **more)


def parameters(method):
    return {"min_count": 2} if method == "ppt-cmi" else {}


def run(frame, y, method, count, **constraints):
    request = pipeline.Request.of(
        method, parameters(method), count, constraints=Constraints.of(constraints)
    )
    return pipeline.rank(pack_arrays(frame, y)[0], [request])[0]


@pytest.mark.parametrize("method", GREEDY)
def test_greedy_methods_pick_groups_whole(table, method):
    frame, y = table
    picks, gains = constrained.grouped(naive(method, frame.to_numpy(), y), MEMBERS, 11)
    result = run(frame, y, method, 12, groups=GROUPED)
    got = [f for f in result.ranking["index"] if f != 7][: len(picks)]
    assert got == picks
    np.testing.assert_allclose(result.scores.path.gains, gains, rtol=1e-7, atol=1e-10)
    side_by_side(result.ranking)


def side_by_side(ranking):
    place = ranking["group"].dropna().index
    for name, size in (("a", 3), ("b", 2), ("c", 2)):
        own = place[ranking["group"][place] == name]
        assert len(own) == size and own[-1] - own[0] == size - 1


@pytest.mark.parametrize("method", SCORING)
def test_scores_of_groups(table, method):
    """The mean of the three best members; of rows of weights the norm over them all; of `mim` what
    they tell together."""
    frame, y = table
    plain = spark_mlfs.rank(frame, y, method, None).set_index("index")["score"]
    norm = method in ("ridge", "csfs")
    worth = {min(g): constrained.group_gain(plain, g, norm) for g in MEMBERS}
    if method == "mim":
        codes = discretise(frame.to_numpy())
        joint = {
            min(g): np.unique(codes[:, g], axis=0, return_inverse=True)[1].ravel() for g in MEMBERS
        }
        worth = {
            head: sum(mutual_info_score(values, label) for label in y.T)
            for head, values in joint.items()
        }
    worth |= {f: plain[f] for f in range(12) if f != 7 and not any(f in g for g in MEMBERS)}
    want = []
    for head in sorted(worth, key=lambda f: (-float(f"{worth[f]:.8e}"), f)):
        unit = next((g for g in MEMBERS if head in g), [head])
        want += sorted(unit, key=lambda f: (-plain[f], f))
    ranking = run(frame, y, method, None, groups=GROUPED).ranking
    assert [f for f in ranking["index"] if f != 7] == want
    side_by_side(ranking)


def test_the_norm_of_a_group_is_over_all_its_rows_and_the_mean_over_the_three_best():
    values = np.array([1.0, 5.0, 3.0, 0.5, 4.0, 2.0])
    groups = (units.Group((0, 2, 4, 5)), units.Group((1, 3)))
    worth = units.Units(6, units.PickConstraints(groups=groups)).group_gain(values)
    assert worth[0] == pytest.approx((4 + 3 + 2) / 3) and worth[1] == pytest.approx((5 + 0.5) / 2)
    worth = units.Units(6, units.PickConstraints(groups=groups, norm=True)).group_gain(values)
    assert worth[0] == pytest.approx(np.sqrt(1 + 9 + 16 + 4)) and worth[1] == pytest.approx(
        np.sqrt(25.25)
    )


@pytest.mark.parametrize("method", ["jmi", "mim"])
def test_k_counts_features_and_leaves_out_the_group_that_would_pass_it(table, method):
    frame, y = table
    whole = run(frame, y, method, 12, groups=GROUPED).ranking
    place = next(i for i in range(11) if whole["group"][i] == "a")  # the first of three
    for count in range(place or 3, 12):
        kept = run(frame, y, method, count, groups=GROUPED).kept
        want = count
        while (
            want < 12
            and want
            and whole["group"][want] is not None
            and whole["group"][want] == whole["group"][want - 1]
        ):
            want -= 1
        assert list(kept["index"]) == list(whole["index"][:want])


def test_a_member_brings_its_group_in_and_an_excluded_one_leaves_it(table):
    frame, y = table
    result = run(frame, y, "jmi", 5, groups=GROUPED, include=["title.5"], exclude=["body.x8"])
    assert (
        list(result.ranking["index"][:3]) == [5, 0, 7]
        and list(result.ranking["group"][:3]) == ["a"] * 3
    )
    assert list(result.ranking.loc[result.ranking["group"] == "b", "index"]) == [9]
    assert result.ranking["gain"].notna().sum() == 10


@pytest.mark.parametrize("seed", [0, 1, 2])
@pytest.mark.parametrize("method", GREEDY)
def test_greedy_methods_buy_the_most_gain_per_cost(table, method, seed):
    frame, y = table
    rng = np.random.default_rng(seed)
    costs = np.round(rng.uniform(0.5, 8, 12), 2)
    budget, include = float(np.round(rng.uniform(6, 16), 2)), [(), (6,), (6, 2)][seed]
    budget += sum(costs[list(include)])
    formula = naive(method, frame.to_numpy(), y, include)
    value = None
    if method == "jmi":  # J less what the picked ones tell by themselves, over their number

        def value(picked):
            known = sum(formula.first[s] for s in picked)
            return (
                (constrained.value_of(formula, picked) - known) / len(picked)
                if picked
                else formula.first
            )

    picks, total, single = constrained.budgeted(formula, costs, budget, include, value)
    result = run(frame, y, method, None, costs=costs, budget=budget, include=list(include))
    assert list(result.kept["index"]) == picks
    path = result.scores.path
    assert path.single == single and sum(gain for _, _, gain in path.purchases) == pytest.approx(
        total, rel=1e-7, abs=1e-9
    )
    assert costs[picks].sum() <= budget + 1e-9


@pytest.mark.parametrize("method", ["mim", "ridge", "relieff", "fimf"])
def test_methods_that_score_buy_by_score_over_cost(table, method):
    frame, y = table
    scores = spark_mlfs.rank(frame, y, method, None).sort_values("index")["score"].to_numpy()
    formula = SimpleNamespace(
        first=scores, criterion=lambda picked: scores, constant=np.arange(12) == 7, stop_below=None
    )
    rng = np.random.default_rng(4)
    for _ in range(5):
        costs, budget = np.round(rng.uniform(0.5, 8, 12), 2), float(np.round(rng.uniform(3, 20), 2))
        picks, _, single = constrained.budgeted(formula, costs, budget)
        if not picks:
            continue
        result = run(frame, y, method, None, costs=costs, budget=budget)
        assert list(result.kept["index"]) == picks and result.scores.budget_path.single == single
        rest = [f for f in result.ranking["index"] if f not in picks and f != 7 and scores[f] > 0]
        assert rest == sorted(rest, key=lambda f: (-float(f"{scores[f] / costs[f]:.8e}"), f))


def test_the_single_best_takes_the_place_of_cheap_ones():
    """One good dear feature against a cheap bad one that leaves too little for it."""
    rng = np.random.default_rng(0)
    y = (rng.random((200, 1)) < 0.5).astype(float)
    noisy = np.where(rng.random(200) < 0.25, 1 - y[:, 0], y[:, 0])
    x = np.column_stack([noisy, y[:, 0]])
    for method in ("cmi", "mim", "fastcan"):
        result = run(x, y, method, None, costs=[1.0, 10.0], budget=10.0)
        assert list(result.kept["index"]) == [1]
        assert (result.scores.budget_path or result.scores.path).single
        both = run(x, y, method, None, costs=[1.0, 10.0], budget=11.0)
        assert both.kept["index"].iloc[0] == 0


def test_half_of_the_best_subset_there_is(table):
    """An additive gain: at least half of what the best of all subsets gains, as greedy with the
    ratio test promises."""
    frame, y = table
    scores = spark_mlfs.rank(frame, y, "mim", None).sort_values("index")["score"].to_numpy()
    subsets = (np.arange(1 << 12)[:, None] >> np.arange(12)) & 1
    rng = np.random.default_rng(9)
    for _ in range(10):
        costs = rng.uniform(0.5, 8, 12)
        budget = float(rng.uniform(8, 20))
        top = (subsets @ scores)[subsets @ costs <= budget].max()
        got = run(frame, y, "mim", None, costs=costs, budget=budget).kept
        assert costs[got["index"]].sum() <= budget and got["score"].sum() >= top / 2


def test_groups_that_cost_are_bought_whole(table):
    frame, y = table
    result = run(
        frame, y, "mim", None, groups=GROUPED, costs={"*": 1.0, "title.0": 2.0}, budget=5.0
    )
    kept = result.kept
    assert kept["cost"].sum() <= 5 and (kept["index"] == 7).sum() == (kept["index"] == 0).sum()
    for name, size in (("a", 3), ("b", 2), ("c", 2)):
        assert (kept["group"] == name).sum() in (0, size)


def test_costs_by_name_pattern_and_place(table):
    frame, _ = table
    names = list(frame.columns)
    by_name = Constraints.of({"costs": {"title.*": 2, "title.3": 5, "*": 1}}).resolve(names).costs
    np.testing.assert_array_equal(by_name, [2, 2, 2, 5, 2, 2, 1, 1, 1, 1, 1, 1])
    series = pd.Series(np.arange(1.0, 13), index=names)
    np.testing.assert_array_equal(
        Constraints.of({"costs": series}).resolve(names).costs, np.arange(1.0, 13)
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            {"k": 2, "groups": {"all": ["title.*"]}},
            "group 'all' is the best and has 6 features, more than the 2 that are kept",
        ),
        ({"groups": {"g": ["title.0"], "h": [0, 1]}}, "'title.0' is in the groups 'g' and 'h'"),
        ({"groups": {"g": ["titel.0"]}}, "groups: g: the data have no feature 'titel.0'"),
        ({"groups": {"g": []}}, "groups must be lists of names"),
        ({"groups": ["title.0"]}, "groups must be lists of names"),
        ({"costs": {"title.*": 1}}, "costs: 'body.x6' has none, nor have 5 others"),
        ({"costs": {"*": 0}}, "costs must be finite numbers above 0"),
        ({"costs": {"*": float("inf")}}, "costs must be finite numbers above 0"),
        ({"costs": {"*": float("nan")}}, "costs must be finite numbers above 0"),
        ({"costs": [1, 2]}, "costs: 2 numbers for 12 features"),
        ({"budget": 3}, "a budget needs costs"),
        ({"costs": {"*": 2}, "budget": -1}, "budget must be a number above 0"),
        ({"costs": {"*": 2}, "budget": 1}, "no feature that costs at most 1 a score above 0"),
        (
            {"costs": {"*": 2}, "budget": 3, "include": [0, 1]},
            "the included features cost 4, more than the budget of 3",
        ),
        ({"method": "spec", "costs": {"*": 1}}, "spec gives no feature a score above 0"),
        ({"method": "mrmr", "scheme": "quotient", "costs": {"*": 1}}, "give scheme='difference'"),
    ],
    ids=str,
)
def test_what_is_refused_and_how(table, arguments, said):
    frame, y = table
    with pytest.raises(ParameterError) as error:
        spark_mlfs.rank(frame, y, **{"method": "mim", **arguments})
    assert said in str(error.value) and "\n" not in str(error.value)


def test_rules_take_no_groups_and_no_costs(table):
    frame, y = table
    for constraint in ({"groups": {"g": [0, 1]}}, {"costs": {"*": 1}}):
        with pytest.raises(ParameterError, match="fdr judges features one by one"):
            JMISelector(selection_mode="fdr", **constraint).fit(frame, y)


def test_a_budget_keeps_what_it_pays_and_k_bounds_it_where_it_is_set(table):
    frame, y = table
    free = CMISelector(costs={"*": 1}, budget=3).fit(frame, y)
    assert len(free.selected_) == 3
    assert list(
        CMISelector(costs={"*": 1}, budget=3, num_top_features=2).fit(frame, y).selected_
    ) == list(free.selected_[:2])


@pytest.mark.slow
def test_saved_models_and_the_same_answer_job_by_job(spark, table, tmp_path):
    frame, y = table
    rows = [(a.tolist(), b.tolist()) for a, b in zip(frame.to_numpy(), y, strict=True)]
    data = spark.createDataFrame(rows, ["features", "labels"])
    groups = {"g": ["features_0", "features_5"], "h": [8, 9, 7]}
    selector = spark_mlfs.JMISelector(
        groups=groups, costs={"*": 1.5, "features_1": 4.0}, budget=9.0, outputCol="out"
    )
    selector.write().save(str(tmp_path / "selector"))
    again = spark_mlfs.JMISelector.load(str(tmp_path / "selector"))
    assert again.getGroups() == groups and again.getBudget() == 9.0
    model = again.fit(data)
    model.write().save(str(tmp_path / "model"))
    loaded = spark_mlfs.MultiLabelSelectorModel.load(str(tmp_path / "model"))
    pd.testing.assert_frame_equal(loaded.ranking, model.ranking)
    assert loaded.selectedFeatures == model.selectedFeatures
    assert sum(loaded.ranking.head(len(loaded.selectedFeatures))["cost"]) <= 9
    loaded.setNumTopFeatures(1)
    assert len(loaded.selectedFeatures) <= 1
    constraints = Constraints.of(
        {"groups": groups, "costs": {"*": 1.5, "features_1": 4.0}, "budget": 9.0}
    )
    request = pipeline.Request.of("jmi", {}, None, constraints=constraints)
    plain = pipeline.Request.of("jmi", {}, None)
    held, _ = pack_arrays(frame.set_axis([f"features_{j}" for j in range(12)], axis=1), y)
    for small in (1 << 40, 0):
        here, there = (
            pipeline.rank(held, [request])[0],
            pipeline.rank(data, [request], small_bytes=small)[0],
        )
        pd.testing.assert_frame_equal(here.ranking, there.ranking)
        assert there.jobs <= pipeline.rank(data, [plain], small_bytes=small)[0].jobs
