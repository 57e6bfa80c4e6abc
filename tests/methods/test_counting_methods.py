"""The counting and moment methods against naive oracles, on real data and on planted sets, through the whole pipeline."""

from __future__ import annotations

import numpy as np
import pytest
from oracles import information as oracle
from oracles.loader import load
from sklearn.metrics import mutual_info_score

from spark_mlfs import METHODS, pipeline
from spark_mlfs import read as readers
from spark_mlfs.prepare.blocks import pack

GREEDY = ("jmi", "cmi", "d2f", "pmu", "mdmr", "scls", "lrfs")


class Data:
    """A set read by the library and packed, beside the same set read by the tests' own reader."""

    def __init__(self, frame, x, y, rows=None):
        self.packed = pack(frame, row_id="id")
        self.x, self.y = x, y
        self.varying = np.flatnonzero(x.max(axis=0) > x.min(axis=0))
        self.codes = oracle.codes(x[:, self.varying])

    def run(self, method, count=None, small=True, **parameters):
        request = pipeline.Request.of(method, parameters, count)
        return pipeline.rank(self.packed, [request], small_bytes=1 << 40 if small else 0)[0]


@pytest.fixture(scope="module")
def sets(spark, data_dir):
    made = {}

    def get(name):
        if name not in made:
            if name == "planted":
                frame = readers.planted(spark, 400, 20, 5, seed=3, num_partitions=3)
                rows = sorted(frame.collect(), key=lambda r: r.id)
                x = np.array([r.features.toArray() for r in rows])
                y = np.array([r.labels.toArray() for r in rows]).astype(int)
            else:
                x, y, _, _ = load(name, data_dir)
                frame = readers.arff(spark, str(data_dir / name / f"{name}.arff.gz"), labels=str(data_dir / name / f"{name}.xml"))
            made[name] = Data(frame, x, y)
        return made[name]

    yield get
    for data in made.values():
        data.packed.release()


def close(got, want, tolerance=1e-10):
    scale = max(1e-300, np.abs(want).max())
    assert np.abs(got - want).max() <= tolerance * scale, np.abs(got - want).max() / scale


@pytest.mark.parametrize("name", ["emotions", "planted", "enron"])
@pytest.mark.parametrize("labels", ["br", "lp"])
def test_mim_equals_the_oracle_and_scikit_learn(sets, name, labels):
    data = sets(name)
    got = data.run("mim", labels=labels).scores.values
    ys = oracle.targets(data.y, labels)
    some = slice(None, 200)
    close(got[some], oracle.relevance(data.codes[:, some], ys))
    sklearn = [sum(mutual_info_score(data.codes[:, f], y) for y in ys) for f in range(20)]
    close(got[:20], np.array(sklearn))


@pytest.mark.parametrize("name", ["emotions", "planted"])
@pytest.mark.parametrize("method", GREEDY)
def test_greedy_methods_pick_what_the_oracle_picks(sets, name, method):
    data = sets(name)
    path = data.run(method, 8).scores.path
    gains = oracle.Greedy(method, data.codes, data.y).check(path.picks)
    close(np.array(path.gains), gains)


@pytest.mark.parametrize("method", ["jmi", "cmi"])
@pytest.mark.parametrize("name", ["emotions", "yeast"])
def test_greedy_methods_over_labelsets(sets, name, method):
    data = sets(name)
    path = data.run(method, 6, labels="lp").scores.path
    close(np.array(path.gains), oracle.Greedy(method, data.codes, data.y, "lp").check(path.picks))


@pytest.mark.parametrize(("name", "method"), [("yeast", "jmi"), ("yeast", "d2f"), ("enron", "jmi"), ("enron", "cmi")])
def test_greedy_methods_on_larger_sets(sets, name, method):
    data = sets(name)
    path = data.run(method, 4).scores.path
    # every pick against the oracle over a part of the candidates that holds all picks
    part = np.unique(np.concatenate([path.picks, np.arange(0, data.codes.shape[1], 12)]))
    small = oracle.Greedy(method, data.codes[:, part], data.y)
    close(np.array(path.gains), small.check(list(np.searchsorted(part, path.picks))))


@pytest.mark.parametrize("name", ["emotions", "planted"])
def test_methods_of_per_label_informations(sets, name):
    data = sets(name)
    each = np.array([[oracle.mutual(data.codes[:, f], y) for y in data.y.T] for f in range(data.codes.shape[1])])
    close(data.run("enm").scores.values, np.sqrt((each**2).sum(axis=1)))
    close(data.run("gmm").scores.values, np.exp(np.log(np.maximum(each, 1e-12)).mean(axis=1)))
    close(data.run("fimf").scores.values, each.sum(axis=1) - oracle.label_pair_sum(data.codes, data.y, range(data.y.shape[1])))
    few = data.run("fimf", num_labels=3).scores.values
    order = np.argsort([-oracle.entropy(y) for y in data.y.T], kind="stable")[:3]
    close(few, each.sum(axis=1) - oracle.label_pair_sum(data.codes, data.y, sorted(order)))


@pytest.mark.parametrize("name", ["emotions", "planted"])
def test_chi_square(sets, name):
    data = sets(name)
    c, y = data.codes, data.y
    each = np.array([[oracle.chi_square(c[:, f], column) for column in y.T] for f in range(c.shape[1])])
    for aggregate, combine in (("sum", np.sum), ("mean", np.mean), ("max", np.max)):
        close(data.run("chi2", aggregate=aggregate).scores.values, combine(each, axis=1))
    lp = oracle.targets(y, "lp")[0]
    close(data.run("chi2", labels="lp").scores.values, np.array([oracle.chi_square(c[:, f], lp) for f in range(c.shape[1])]))


@pytest.mark.parametrize("name", ["emotions", "yeast", "enron", "planted"])
def test_moment_methods(sets, name):
    data = sets(name)
    x = data.x[:, data.varying]
    close(data.run("f-statistic").scores.values, oracle.f_statistic(x, data.y), 1e-8)
    for labels in ("br", "overlap", "lp"):
        close(data.run("fisher", labels=labels).scores.values, oracle.fisher(x, data.y, labels), 1e-8)


def test_pruned_labelsets(sets):
    data = sets("emotions")
    sets_, counts = np.unique(data.y, axis=0, return_inverse=True)[1].ravel(), None
    counts = np.bincount(sets_)
    rows = counts[sets_] >= 6
    c, classes = data.codes[rows], sets_[rows]
    want = np.array([oracle.mutual(c[:, f], classes) for f in range(c.shape[1])])
    close(data.run("ppt-cmi", criterion="mim").scores.values, want)
    path = data.run("ppt-cmi", 5).scores.path
    reference = oracle.Greedy("cmi", c, classes[:, None])
    close(np.array(path.gains), reference.check(path.picks))
    x = data.x[rows][:, data.varying]
    some = [0, 3, 11, 40]
    ross = data.run("ppt-cmi", criterion="mim", estimator="knn").scores.values
    close(ross[some], np.array([oracle.ross(x[:, f], classes, 6) for f in some]))
    first = data.run("ppt-cmi", 2, estimator="knn").scores.path
    z = (data.x[:, data.varying] - data.x[:, data.varying].mean(0)) / data.x[:, data.varying].std(0)
    joint = oracle.ross(z[rows][:, first.picks], classes, 6)
    assert abs(sum(first.gains) - joint) < 1e-9


def test_binning_and_correction(sets):
    data = sets("emotions")
    x = data.x[:, data.varying]
    ys = oracle.targets(data.y, "br")
    for bins, binning in ((2, "width"), (7, "width"), (5, "quantile"), (3, "quantile")):
        c = oracle.codes(x, bins, binning)
        for small in (True, False):
            got = data.run("mim", small=small, num_bins=bins, binning=binning).scores.values
            close(got, oracle.relevance(c, ys))
    corrected = data.run("mim", bias_correction="miller-madow").scores.values
    close(corrected, oracle.relevance(data.codes, ys, correction=True))


def test_unknown_labels_are_not_negative(spark, data_dir):
    from pyspark.ml.linalg import Vectors

    x, y, _, _ = load("emotions", data_dir)
    x, y = x[:200, :15], y[:200].astype(float)
    rng = np.random.default_rng(0)
    y[rng.random(y.shape) < 0.2] = np.nan
    rows = [(i, Vectors.dense(x[i]), Vectors.dense(y[i])) for i in range(len(x))]
    packed = pack(spark.createDataFrame(rows, ["id", "features", "labels"]), row_id="id")
    for small in (1 << 40, 0):
        (result,) = pipeline.rank(packed, [pipeline.Request.of("mim")], small_bytes=small)
        close(result.scores.values, oracle.unknown_relevance(oracle.codes(x), y))
    packed.release()


@pytest.mark.parametrize("method", list(METHODS))
def test_one_task_and_distributed_agree_bit_for_bit(sets, method):
    data = sets("emotions")
    one, many = data.run(method, 6), data.run(method, 6, small=False)
    assert one.scores.values.tobytes() == many.scores.values.tobytes()
    assert one.ranking.equals(many.ranking)
    if one.scores.path:
        assert one.scores.path.gains == many.scores.path.gains


def test_identities(sets):
    """JMI-BR = |S|·R − Z + const; D2F = R − Z (contract, section 3); I(f; LP) ≥ max_l I(f; Y_l)."""
    data = sets("planted")
    picks = data.run("jmi", 4).scores.path.picks
    jmi, d2f = oracle.Greedy("jmi", data.codes, data.y), oracle.Greedy("d2f", data.codes, data.y)
    difference = jmi.values(picks) - (len(picks) * d2f.relevance - sum(d2f.term(s) for s in picks))
    assert np.ptp(difference) < 1e-9
    lp = data.run("mim", labels="lp").scores.values
    each = np.array([[oracle.mutual(data.codes[:, f], y) for y in data.y.T] for f in range(data.codes.shape[1])])
    assert (lp >= each.max(axis=1) - 1e-12).all()
