"""Penalties by feature: against scikit-learn on divided columns, residuals, conditions of an
optimum; every face; refusals."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from oracles import forward
from sklearn.linear_model import Lasso

import spark_mlfs
from spark_mlfs import METHODS, pipeline
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.folds import fold_of
from spark_mlfs.errors import ParameterError
from spark_mlfs.select import Constraints, CrossValidation
from spark_mlfs.select.rules import Rule
from spark_mlfs.sklearn import LassoSelector
from spark_mlfs.solvers import l21_gram

PENALISED = [name for name, method in METHODS.items() if method.penalised and method.takes_grams()]
SETTINGS = {
    "lasso": {"alpha": 0.03},
    "elastic-net": {"alpha": 0.05},
    "ridge": {"alpha": 5.0},
    "mssl": {"alpha": 0.2, "beta": 4.0},
}
WIDTH, LABELS = 14, 3


@pytest.fixture(scope="module")
def table():
    """Correlated columns, one constant, one nearly a copy."""
    rng = np.random.default_rng(3)
    x = rng.normal(size=(110, WIDTH)) @ (np.eye(WIDTH) + 0.3 * rng.normal(size=(WIDTH, WIDTH)))
    x[:, 9] = x[:, 0] + 0.05 * rng.normal(size=110)
    x[:, 6] = 2.0
    y = (x[:, :LABELS] + rng.normal(size=(110, LABELS)) > 0).astype(float)
    return pd.DataFrame(
        x, columns=[f"title_{j}" if j < 5 else f"body_{j}" for j in range(WIDTH)]
    ), y


def penalties(zero=(), low=0.2, high=4.0, seed=0):
    p = np.exp(np.random.default_rng(seed).uniform(np.log(low), np.log(high), WIDTH))
    p[list(zero)] = 0.0
    return p


def standard(x):
    varying = np.ptp(x, axis=0) > 0
    return (x[:, varying] - x[:, varying].mean(axis=0)) / x[:, varying].std(axis=0), np.flatnonzero(
        varying
    )


def scored(frame, y, method, p, **further):
    """(d,) the score of every feature, and the ranking."""
    got = spark_mlfs.rank(frame, y, method, None, penalties=p, **{**SETTINGS[method], **further})
    out = np.zeros(WIDTH)
    out[got["index"]] = got["score"]
    return out, got


@pytest.mark.parametrize(("low", "high"), [(0.2, 4.0), (1e-4, 1e3)])
def test_lasso_is_that_of_columns_divided_by_their_penalties(table, low, high):
    frame, y = table
    p = penalties(low=low, high=high)
    got, ranking = scored(frame, y, "lasso", p)
    z, varying = standard(frame.to_numpy())
    z = z / p[varying]
    fits = [
        Lasso(0.03, tol=1e-12, max_iter=100_000).fit(z, y[:, j]).coef_ / p[varying]
        for j in range(LABELS)
    ]
    want = np.linalg.norm(fits, axis=0)
    want[want < 1e-8 * want.max()] = 0
    np.testing.assert_allclose(got[varying], want, rtol=0, atol=1e-9)
    np.testing.assert_array_equal(ranking.set_index("index")["penalty"].sort_index(), p)


def test_lasso_with_free_features_is_that_of_the_residuals(table):
    """Frisch, Waugh & Lovell: what is not penalised is taken off columns and labels by least
    squares."""
    frame, y = table
    p, free = penalties((2, 9)), [2, 8]  # places among the varying features: 9 is the eighth
    got, _ = scored(frame, y, "lasso", p)
    z, varying = standard(frame.to_numpy())
    kept = np.setdiff1d(np.arange(len(varying)), free)
    off = z[:, free] @ np.linalg.pinv(z[:, free])
    x, labels, centred = (
        z[:, kept] - off @ z[:, kept],
        y - y.mean(axis=0),
        np.zeros((len(varying), LABELS)),
    )
    left = labels - off @ labels
    for j in range(LABELS):
        fit = Lasso(0.03, tol=1e-13, max_iter=100_000, fit_intercept=False).fit(
            x / p[varying][kept], left[:, j]
        )
        centred[kept, j] = fit.coef_ / p[varying][kept]
    centred[free] = np.linalg.pinv(z[:, free]) @ (labels - z[:, kept] @ centred[kept])
    np.testing.assert_allclose(got[varying], np.linalg.norm(centred, axis=1), rtol=0, atol=1e-9)
    assert got[2] > 0 and got[9] > 0 and (got == 0).sum() > 2


@pytest.mark.parametrize(
    ("method", "group"),
    [
        ("lasso", True),
        ("elastic-net", False),
        ("elastic-net", True),
        ("mssl", None),
        ("ridge", None),
    ],
)
@pytest.mark.parametrize("zero", [(), (0, 9), tuple(range(WIDTH))], ids=["", "free", "all free"])
def test_weights_satisfy_the_conditions_of_an_optimum(table, method, group, zero):
    from spark_mlfs.kernels.gram import GramStatistics

    frame, y = table
    p = penalties(zero, 1e-2, 10.0, 1)
    z, varying = standard(frame.to_numpy())
    z, n, p = z, len(z), p[varying]
    labels = y - y.mean(axis=0)
    moments = GramStatistics(
        n,
        z.sum(0),
        labels.sum(0),
        z.T @ z,
        z.T @ labels,
        labels.T @ labels,
        0 * p,
        np.zeros(LABELS),
    )
    view = moments.centred("none")
    view.penalties = p
    given = {**{q.name: q.default for q in METHODS[method].parameters}, **SETTINGS[method]} | (
        {} if group is None else {"group": group}
    )
    solution = METHODS.create(method).solve(view, given)
    assert solution.converged
    w, norms = solution.weights, np.linalg.norm(solution.weights, axis=1)
    pull, a = z.T @ (labels - z @ w) / n, given["alpha"]
    if method == "ridge":
        limit = np.zeros(len(p))
        pull -= a * p[:, None] * w / n
    elif method == "mssl":
        pull -= a * l21_gram.feature_laplacian(view.G, n, given["k"]) @ w / n
        limit, group = given["beta"] * p / 2 / n, True
    else:
        rho = given.get("rho", 1.0)
        limit = a * rho * p
        pull -= a * (1 - rho) * p[:, None] * w
    if group:
        on = norms > 1e-7 * norms.max()
        assert np.abs(pull[on] - (limit / np.maximum(norms, 1e-300))[on, None] * w[on]).max() < 1e-8
        assert (np.linalg.norm(pull[~on], axis=1) <= limit[~on] + 1e-8).all()
    else:
        np.testing.assert_allclose(pull[w != 0], (limit[:, None] * np.sign(w))[w != 0], atol=1e-9)
        assert (np.abs(pull) <= limit[:, None] + 1e-9).all()
    fit = np.sum((labels - z @ w) ** 2)
    extra = {"ridge": a * (p[:, None] * w * w).sum()}.get(method, 0.0)
    if method == "mssl":
        extra = (
            a * np.trace(w.T @ (l21_gram.feature_laplacian(view.G, n, given["k"]) @ w))
            + given["beta"] * (p * norms).sum()
        )
    elif method != "ridge":
        size = norms if given["group"] else np.abs(w).sum(axis=1)
        extra = n * a * (2 * rho * (p * size).sum() + (1 - rho) * (p * norms**2).sum())
    whole = (fit + extra) / {"ridge": 1, "mssl": 2}.get(method, 2 * n)
    assert solution.objective[-1] == pytest.approx(whole, rel=1e-6, abs=1e-9)


@pytest.mark.slow
@pytest.mark.parametrize("method", PENALISED)
def test_one_number_for_all_is_another_penalty_in_losses_half_samples_and_knockoffs(table, method):
    frame, y = table
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(
        frame.to_numpy() + 0.3 * rng.normal(size=frame.shape), columns=frame.columns
    )
    weight = "beta" if method == "mssl" else "alpha"
    other = {**SETTINGS[method], weight: 2.5 * SETTINGS[method][weight]}
    for extra in (CrossValidation(5), Rule("stability", 0.6, 3), Rule("knockoffs", 0.4)):
        one = run(frame, y, method, SETTINGS[method], extra, {"*": 2.5})
        two = run(frame, y, method, other, extra, None)
        assert list(one.ranking["index"]) == list(two.ranking["index"])
        a, b = one.outcomes[extra], two.outcomes[extra]
        if isinstance(extra, Rule):
            a, b = a.columns, b.columns
            a, b = (next(iter(columns.values())) for columns in (a, b))
        np.testing.assert_allclose(a, b, rtol=1e-6, atol=1e-8)


def run(frame, y, method, parameters, extra=None, penalties=None, **further):
    held_to = Constraints.of({"penalties": penalties, **further})
    request = pipeline.Request.of(
        method, parameters, None, extras=() if extra is None else (extra,), constraints=held_to
    )
    return pipeline.rank(pack_arrays(frame, y)[0], [request])[0]


@pytest.mark.slow
@pytest.mark.parametrize("method", ["lasso", "mssl"])
def test_evidence_is_of_the_features_own_penalties(table, method):
    """A feature of an immense penalty is in no half-sample's choice and tells nothing against its
    knockoff; its neighbours do."""
    frame, y = table
    frame = frame.drop(columns=["body_9"])
    for place in (0, 2):
        given = {f"title_{place}": 1e6}
        frequency = run(
            frame, y, method, SETTINGS[method], Rule("stability", 0.6, 3), given
        ).ranking.set_index("index")["frequency"]
        assert frequency[place] == 0 and frequency[1] > 0.6
        knockoff = run(
            frame, y, method, SETTINGS[method], Rule("knockoffs", 0.5), given
        ).ranking.set_index("index")["knockoff"]
        assert knockoff[place] == 0 and knockoff.abs().max() > 0
    loss = [
        run(frame, y, method, SETTINGS[method], CrossValidation(5), p).scores.details["cv_loss"]
        for p in (None, {"title_[0-2]": 1e6})
    ]
    assert loss[1] > loss[0] + 0.02


@pytest.mark.parametrize("method", PENALISED)
def test_what_is_included_is_not_shrunk(table, method):
    frame, y = table
    got = spark_mlfs.rank(
        frame, y, method, None, include=["body_7", 6], penalties={"body_*": 3}, **SETTINGS[method]
    )
    want = spark_mlfs.rank(
        frame, y, method, None, penalties={"body_*": 3, "body_7": 0}, **SETTINGS[method]
    )
    assert list(got["index"][:2]) == [7, 6] and list(got["index"][2:]) == [
        i for i in want["index"] if i not in (7, 6)
    ]
    np.testing.assert_array_equal(
        got.sort_values("index")["score"], want.sort_values("index")["score"]
    )
    only = spark_mlfs.rank(frame, y, method, None, include=["body_7"], **SETTINGS[method])
    free = spark_mlfs.rank(frame, y, method, None, penalties={"body_7": 0}, **SETTINGS[method])
    np.testing.assert_array_equal(
        only.sort_values("index")["score"], free.sort_values("index")["score"]
    )
    assert "penalty" not in only and only["score"][0] > 0
    grouped = spark_mlfs.rank(
        frame,
        y,
        method,
        None,
        include=["body_7"],
        groups={"g": ["body_7", "body_8"]},
        **SETTINGS[method],
    )
    both = spark_mlfs.rank(frame, y, method, None, penalties={"body_[78]": 0}, **SETTINGS[method])
    np.testing.assert_array_equal(
        grouped.sort_values("index")["score"], both.sort_values("index")["score"]
    )


def test_behind_a_screen_and_without_the_excluded_penalties_stay_with_their_features(table):
    frame, y = table
    p = penalties((3,))
    left = [j for j in range(WIDTH) if j not in (0, 5)]
    got = spark_mlfs.rank(frame, y, "lasso", None, penalties=p, exclude=[0, 5], alpha=0.03)
    want = spark_mlfs.rank(frame.iloc[:, left], y, "lasso", None, penalties=p[left], alpha=0.03)
    assert list(got["name"]) == list(want["name"])
    np.testing.assert_array_equal(got["score"], want["score"])
    behind = spark_mlfs.rank(frame, y, "lasso", 5, screen="fisher:5", penalties=p, alpha=0.03)
    some = sorted(behind["index"])
    alone = spark_mlfs.rank(frame.iloc[:, some], y, "lasso", None, penalties=p[some], alpha=0.03)
    assert list(behind["name"]) == list(alone["name"])
    np.testing.assert_allclose(behind["score"], alone["score"], rtol=1e-9)


def test_names_patterns_numbers_and_sparse_rows_say_the_same(table):
    frame, y = table
    named = {"title_3": 0, "title_*": 0.5, "*": 2}
    p = np.where(np.arange(WIDTH) < 5, 0.5, 2.0)
    p[3] = 0
    want = spark_mlfs.rank(frame, y, "lasso", None, penalties=named)
    for given in (p, list(p), pd.Series(p, frame.columns)):
        pd.testing.assert_frame_equal(
            spark_mlfs.rank(frame, y, "lasso", None, penalties=given), want
        )
    sparse = spark_mlfs.rank(sp.csr_matrix(frame.to_numpy()), y, "lasso", None, penalties=p)
    assert list(sparse["index"]) == list(want["index"])
    fitted = LassoSelector(penalties=named, num_top_features=4).fit(frame, y)
    pd.testing.assert_frame_equal(fitted.ranking_, want)
    general = spark_mlfs.sklearn.MultiLabelSelector("lasso", penalties=p).fit(frame, y)
    pd.testing.assert_frame_equal(general.ranking_, want)


@pytest.mark.parametrize("method", [*PENALISED, "forward"])
def test_a_row_of_weight_two_is_two_rows(table, method):
    frame, y = table
    weights, p = np.random.default_rng(1).integers(0, 3, len(y)), penalties((2,))
    rows = np.repeat(np.arange(len(y)), weights)
    given = {"penalties": list(p), "method_params": SETTINGS.get(method)}
    got = spark_mlfs.rank(frame, y, method, None, sample_weight=weights, **given)
    want = spark_mlfs.rank(frame.iloc[rows], y[rows], method, None, **given)
    assert list(got["name"]) == list(want["name"])
    np.testing.assert_allclose(got["relevance"], want["relevance"], rtol=1e-6, atol=1e-9)


def test_a_column_of_categories_is_penalised_by_the_names_of_its_values(table):
    frame, y = table
    words = pd.DataFrame(
        {
            "low": (frame["title_0"] > 0) * 1,
            "word": np.where(frame["title_1"] > 0.5, "x", "y"),
            "no": 1 - y[:, 0],
        }
    )
    words.loc[:30, "word"] = "z"
    apart = (
        pd.DataFrame(
            {
                "low": words["low"],
                **{f"word={w}": words["word"] == w for w in "xyz"},
                "no": words["no"],
            }
        )
        * 1.0
    )
    got = spark_mlfs.rank(words, y, "lasso", None, alpha=0.05, penalties={"word=*": 0.5, "no": 2})
    want = spark_mlfs.rank(apart, y, "lasso", None, alpha=0.05, penalties=[1, 0.5, 0.5, 0.5, 2])
    pd.testing.assert_series_equal(
        got.set_index("name")["score"].sort_index(), want.set_index("name")["score"].sort_index()
    )


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (
            {"penalties": {"*": -1}},
            "penalties must be finite numbers of 0 or from 1e-06 to 1000000",
        ),
        ({"penalties": {"*": float("nan")}}, "penalties must be finite numbers of 0 or"),
        ({"penalties": {"*": float("inf")}}, "penalties must be finite numbers of 0 or"),
        ({"penalties": {"*": 1e-9}}, "penalties must be finite numbers of 0 or"),
        (
            {"penalties": {"titel_*": 1}},
            "penalties: the pattern matches no feature 'titel_*'; did you mean 'title_",
        ),
        (
            {"penalties": {"titel_1": 1}},
            "penalties: the data have no feature 'titel_1'; did you mean 'title_1'?",
        ),
        ({"penalties": 7}, "penalties must be"),
        ({"penalties": "a"}, "penalties must be"),
        (
            {"penalties": [1, 2]},
            f"penalties: 2 numbers for {WIDTH} features; give one for each, or by name",
        ),
        (
            {"method": "mim", "penalties": {"*": 1}},
            "mim has no penalty of each feature: leave penalties out, or take one of",
        ),
        ({"method": "csfs", "penalties": {"*": 1}}, "csfs has no penalty of each feature"),
        ({"method": "auto", "penalties": {"*": 1}}, "auto has no penalty of each feature"),
    ],
    ids=str,
)
def test_what_is_refused_and_how(table, arguments, said):
    frame, y = table
    with pytest.raises(ParameterError) as error:
        spark_mlfs.rank(frame, y, **{"method": "lasso", **arguments})
    assert said in str(error.value) and "\n" not in str(error.value)
    assert arguments.get("method") != "mim" or all(name in str(error.value) for name in PENALISED)


@pytest.mark.slow
def test_a_spark_frame_a_saved_model_and_the_same_answer_job_by_job(spark, table, tmp_path):
    frame, y = table
    data = spark.createDataFrame(
        [(a.tolist(), b.tolist()) for a, b in zip(frame.to_numpy(), y, strict=True)],
        ["features", "labels"],
    )
    given = {"features_0": 0.0, "features_1?": 0.5, "*": 2.0}
    selector = spark_mlfs.LassoSelector(alpha=0.03, penalties=given, include=[4])
    selector.write().save(str(tmp_path / "selector"))
    again = spark_mlfs.LassoSelector.load(str(tmp_path / "selector"))
    assert again.getPenalties() == given
    model = again.fit(data)
    model.write().save(str(tmp_path / "model"))
    loaded = spark_mlfs.MultiLabelSelectorModel.load(str(tmp_path / "model"))
    pd.testing.assert_frame_equal(loaded.ranking, model.ranking)
    held, _ = pack_arrays(frame.set_axis([f"features_{j}" for j in range(WIDTH)], axis=1), y)
    constraints = Constraints.of({"penalties": given, "include": [4]})
    methods = [name for name, method in spark_mlfs.METHODS.items() if method.penalised]
    assert {"ridge", "lasso", "elastic-net", "mssl", "forward"} <= set(methods)
    requests = [
        pipeline.Request.of(name, SETTINGS.get(name, {}), None, constraints=constraints)
        for name in methods
    ]
    here = [result.ranking for result in pipeline.rank(held, requests)]
    for parts, small in ((1, 1 << 40), (3, 0)):
        there = pipeline.rank(data.repartition(parts), requests, small_bytes=small)
        for name, ours, got in zip(methods, here, there, strict=True):
            assert got.distributed == (not small)
            pd.testing.assert_frame_equal(
                ours, got.ranking, check_exact=True, obj=f"{name} of {parts} partitions"
            )
    assert here[methods.index("lasso")].equals(model.ranking)


@pytest.mark.parametrize("penalty", [1.0, 0.0])
@pytest.mark.parametrize("zero", [(), (2, 9)], ids=["", "free"])
def test_forward_is_that_of_the_refitted_rows(table, penalty, zero):
    frame, y = table
    p, held = penalties(zero), pack_arrays(frame, y)[0]
    fold = fold_of(held.block, 5, held.profile)
    picks, gains, first, _ = forward.forward(frame.to_numpy(), y, fold, WIDTH - 1, penalty * p)
    got = run(frame, y, "forward", {"penalty": penalty}, penalties=list(p))
    kept = len(got.scores.path.picks)
    assert list(got.ranking["index"][:kept]) == picks[:kept] and kept > 5
    np.testing.assert_allclose(got.scores.path.gains, gains[:kept], atol=1e-9)
    relevance = got.ranking.set_index("index")["relevance"].sort_index()
    np.testing.assert_allclose(relevance[np.isfinite(first)], first[np.isfinite(first)], atol=1e-9)
    assert list(got.ranking.set_index("index")["penalty"].sort_index()) == list(p)


def test_forward_of_more_features_than_the_driver_holds():
    """The first step's J has each feature's own penalty, too; of many different ones it is
    refused."""
    rng = np.random.default_rng(5)
    x = rng.normal(size=(300, 240))
    y = (x[:, :2] + rng.normal(size=(300, 2)) > 0).astype(float)
    held, _ = pack_arrays(x, y)
    p = rng.choice([0.0, 0.5, 3.0], 240)
    requests = [
        pipeline.Request.of("forward", {}, 5, constraints=Constraints.of({"penalties": each}))
        for each in (p, p + rng.random(240))
    ]
    whole = pipeline.rank(held, requests[:1])[0]
    few = pipeline.rank(held, requests[:1], driver_bytes=1 << 20)[0]
    assert "candidates" in few.scores.details and few.scores.path.picks == whole.scores.path.picks
    np.testing.assert_allclose(few.scores.values, whole.scores.values, atol=1e-9)
    with pytest.raises(
        ParameterError,
        match=r"penalties: 240 different numbers .* where forward takes 16: round them",
    ):
        pipeline.rank(held, requests[1:], driver_bytes=1 << 20)
