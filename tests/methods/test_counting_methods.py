"""The counting and moment methods against naive oracles: whole rankings on real data and planted
sets, by the whole pipeline."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import pytest
from oracles import information as oracle
from oracles import moments
from oracles.discretise import constant_columns, discretise
from oracles.loader import load
from sklearn.metrics import mutual_info_score

import spark_mlfs
from spark_mlfs import METHODS, pipeline
from spark_mlfs.blocks.pack import pack
from spark_mlfs.errors import DataNotice

GREEDY = ("jmi", "cmi", "d2f", "pmu", "mdmr", "scls", "lrfs")
# (method, parameters): everything that counts, with each way to take the labels
COUNTING = [
    *((m, {"label_coding": coding}) for m in ("mim", "jmi", "cmi") for coding in ("br", "lp")),
    *((m, {}) for m in ("d2f", "pmu", "mdmr", "scls", "lrfs", "fimf", "enm", "gmm")),
    *(("chi2", {"aggregate": aggregate}) for aggregate in ("sum", "mean", "max")),
    ("chi2", {"label_coding": "lp"}),
    ("fimf", {"num_labels": 3}),
    ("ppt-cmi", {}),
    ("ppt-cmi", {"criterion": "mim"}),
]
NAMES = [f"{method} {' '.join(map(str, p.values()))}".strip() for method, p in COUNTING]


class Data:
    """A set's `rows`, and what the oracles take: codes, and which features are constant."""

    def __init__(self, rows):
        self.rows, self.x, self.y = rows, rows.x, rows.y.astype(int)
        self.constant = constant_columns(self.x)
        self.codes = discretise(self.x)

    def run(self, method, count=None, small=True, **parameters):
        return self.run_all([pipeline.Request.of(method, parameters, count)], small)[0]

    def run_all(self, requests, small=True):
        """The results in this process, or of Spark's jobs."""
        return pipeline.rank(self.rows.held if small else self.rows.packed, requests, small_bytes=0)

    @cached_property
    def distributed(self):
        """The rankings of all that counts, of the same jobs: each has its ranking of them alone
        (`conformance`)."""
        requests = [pipeline.Request.of(method, p, 4) for method, p in COUNTING]
        return dict(zip(NAMES, self.run_all(requests, small=False), strict=True))

    def agrees(self, method, parameters, count, found=None):
        """The library's whole ranking, scores and gains are the oracle's."""
        found = found or self.run(method, count, **parameters)
        of = getattr(oracle, method.replace("-", "_"))
        greedy = METHODS[method].greedy and parameters.get("criterion") != "mim"
        more = {"num_features": count} if greedy else {}
        want = of(self.codes, self.y, constant=self.constant, **parameters, **more)
        assert list(found.ranking["index"]) == list(want.ranking)
        if greedy:
            close(np.array(found.scores.path.gains), want.gains)
        else:
            close(found.ranking["score"].to_numpy(), want.scores[want.ranking])


@pytest.fixture(scope="module")
def sets(rows):
    """`sets(name)`: those of `rows`; of enron every third feature."""
    made = {}

    def get(name):
        if name not in made:
            whole = rows(name)
            if name == "enron":
                whole = type(whole)(None, whole.x[:, ::3], whole.y, sparse=True)
            made[name] = Data(whole)
        return made[name]

    return get


def close(got, want, tolerance=1e-10):
    assert len(got) == len(want)
    scale = max(1e-300, np.abs(want).max(initial=0))
    assert np.abs(got - want).max(initial=0) <= tolerance * scale, np.abs(got - want).max() / scale


@pytest.mark.slow
@pytest.mark.parametrize("name", ["emotions", "planted"])
@pytest.mark.parametrize(("method", "parameters"), COUNTING, ids=NAMES)
def test_whole_rankings(sets, name, method, parameters):
    sets(name).agrees(method, parameters, 20)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["yeast", "enron"])
@pytest.mark.parametrize(("method", "parameters"), COUNTING, ids=NAMES)
def test_whole_rankings_of_larger_sets(sets, name, method, parameters):
    """Each set one way, yeast by Spark's jobs: that both give the same bits is a law of every
    method, which `conformance` has."""
    data = sets(name)
    if name == "yeast":
        found = data.distributed[f"{method} {' '.join(map(str, parameters.values()))}".strip()]
        assert found.distributed
        data.agrees(method, parameters, 4, found)
    else:  # a pick takes seconds over the labelsets
        data.agrees(method, parameters, 2 if parameters.get("label_coding") == "lp" else 3)


@pytest.mark.slow
def test_mutual_information_equals_scikit_learn(sets):
    for name in ("emotions", "enron"):
        data = sets(name)
        got = dict(zip(*data.run("mim").ranking[["index", "score"]].to_numpy().T, strict=True))
        for f in np.flatnonzero(~data.constant)[:20]:
            want = sum(mutual_info_score(data.codes[:, f], y) for y in data.y.T)
            assert abs(got[f] - want) <= 1e-10 * max(1, want)


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["emotions", "yeast", pytest.param("enron", marks=pytest.mark.slow), "planted"]
)
def test_moment_methods(sets, name):
    data = sets(name)
    cases = [("f-statistic", {}, moments.f_statistic(data.x, data.y))]
    cases += [
        ("fisher", {"label_coding": v}, moments.fisher(data.x, data.y, v))
        for v in ("br", "overlap", "lp")
    ]
    for method, parameters, want in cases:
        found = data.run(method, **parameters).ranking
        scores = np.empty(len(found))
        scores[found["index"]] = found["score"]
        close(scores, want.scores, 1e-8)
        along = want.scores[found["index"]]
        assert (np.diff(along) <= 1e-8 * np.abs(along).max()).all()


@pytest.mark.slow
def test_nearest_neighbour_estimates(sets):
    data = sets("emotions")
    found = data.run("ppt-cmi", criterion="mim", estimator="knn").ranking
    want = oracle.ppt_knn(data.x, data.y, criterion="mim")
    assert list(found["index"]) == list(want.ranking)
    close(found["score"].to_numpy(), want.scores[want.ranking])
    for name, small in (("emotions", True), ("planted", False)):
        data = sets(name)
        path = data.run("ppt-cmi", 3, small, estimator="knn").scores.path
        joint = oracle.ppt_knn(data.x, data.y, num_features=len(path.picks))
        varying = np.flatnonzero(~data.constant)
        assert list(varying[path.picks]) == list(joint.ranking[: len(path.picks)])
        close(
            np.cumsum(path.gains), joint.gains
        )  # ours are increments, the oracle's the joint values


@pytest.mark.slow
def test_binning_and_correction(sets):
    choices = [(2, "width"), (7, "width"), (5, "quantile"), (3, "quantile")]
    requests = [
        pipeline.Request.of("mim", {"num_bins": bins, "binning": binning})
        for bins, binning in choices
    ]
    for name, small in (("emotions", True), ("planted", False)):
        data = sets(name)
        for result, (bins, binning) in zip(data.run_all(requests, small), choices, strict=True):
            want = oracle.mim(discretise(data.x, bins, binning), data.y, constant=data.constant)
            assert list(result.ranking["index"]) == list(want.ranking)
            close(result.ranking["score"].to_numpy(), want.scores[want.ranking])
    data = sets("emotions")
    for method in ("mim", "jmi", "cmi", "d2f", "pmu", "mdmr", "scls", "lrfs", "fimf", "enm", "gmm"):
        want = getattr(oracle, method)(
            data.codes, data.y, constant=data.constant, miller_madow=True
        )
        got = data.run(method, 6, bias_correction="miller-madow")
        if METHODS[method].greedy:
            close(np.array(got.scores.path.gains), want.gains[:6])
        else:
            close(got.ranking["score"].to_numpy(), want.scores[want.ranking])


@pytest.mark.slow
def test_unknown_labels_are_not_negative(spark, data_dir):
    from pyspark.ml.linalg import Vectors

    x, y, _, _ = load("emotions", data_dir)
    x, y = x[:200, :15], y[:200].astype(float)
    rng = np.random.default_rng(0)
    y[rng.random(y.shape) < 0.2] = np.nan
    rows = [(i, Vectors.dense(x[i]), Vectors.dense(y[i])) for i in range(len(x))]
    packed = pack(spark.createDataFrame(rows, ["id", "features", "labels"]), row_id="id")
    codes = discretise(x)
    for small in (1 << 40, 0):
        for method in ("mim", "jmi", "chi2"):
            (result,) = pipeline.rank(
                packed, [pipeline.Request.of(method, {}, 5)], small_bytes=small
            )
            want = getattr(oracle, method)(
                codes, y, **({"num_features": 5} if method == "jmi" else {})
            )
            assert list(result.ranking["index"]) == list(want.ranking)
            if method == "jmi":  # its oracle gives the picks a place, and each of them its gain
                close(np.array(result.scores.path.gains), np.array(want.gains))
            else:
                close(result.ranking["score"].to_numpy(), want.scores[want.ranking])
    packed.release()


def test_identities(sets):
    """JMI-BR = |S|·R − Z + const; I(f; LP) ≥ max_l I(f; Y_l): contract, section 3."""
    data = sets("planted")
    path = data.run("jmi", 5).scores.path
    picks = list(np.flatnonzero(~data.constant)[path.picks])
    relevance = oracle.per_target(data.codes, data.y)
    each = relevance.sum(axis=1)
    for size in range(1, 5):
        z = sum(oracle.co_with_picked(data.codes, data.y, s).sum(axis=1) for s in picks[:size])
        # const = Σ_s R(s), since I((f, s); l) = I(f; l) + I(s; l) − co(f, s, l)
        want = size * each - z + sum(each[s] for s in picks[:size])
        assert abs(path.gains[size] - want[picks[size]]) < 1e-9
    lp = data.run("mim", label_coding="lp").ranking.set_index("index")["score"]
    for f, value in lp.items():
        assert value >= relevance[f].max() - 1e-12


def test_rare_labelsets_are_kept_where_there_are_no_others():
    """The two commonest, with a notice; the ranking is that of a count that drops none of them."""
    x, y = (
        np.random.default_rng(0).normal(size=(12, 5)),
        np.repeat([[0, 1], [1, 0], [1, 1]], (5, 4, 3), axis=0),
    )
    with pytest.warns(DataNotice, match="the 2 commonest are kept"):
        few = spark_mlfs.rank(x, y, "ppt-cmi", 3)
    assert few.equals(spark_mlfs.rank(x, y, "ppt-cmi", 3, min_count=4))
