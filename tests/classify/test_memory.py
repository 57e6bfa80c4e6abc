"""Classifiers of many labels keep to the memory that they are allowed, or refuse beforehand."""

from __future__ import annotations

import tracemalloc

import numpy as np
import pytest
import scipy.sparse as sp
from oracles.mlknn import MLkNN as NaiveMLkNN
from sklearn.svm import LinearSVC

from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.classify import CLASSIFIERS
from spark_mlfs.classify.base import Predictor
from spark_mlfs.engine.local import LocalEngine
from spark_mlfs.errors import BudgetError, WorkerBudgetError
from spark_mlfs.evaluate.metrics import Sums
from spark_mlfs.evaluate.trials import PredictionSums
from spark_mlfs.kernels import neighbour_votes
from spark_mlfs.params import check
from spark_mlfs.sklearn import ClassifierChainClassifier, MLkNNClassifier
from spark_mlfs.statistics.base import Budgets

EACH = [("mlknn", {}), ("brknn", {}), ("br-svm", {}), ("cc", {}), ("cc", {"base": "knn"})]


def table(n, d, q, labels, seed=0):
    """Rows of random features, of which each has some of the first `labels` of q labels."""
    rng = np.random.default_rng(seed)
    y = sp.csr_matrix((rng.random((n, labels)) < 3 / labels).astype(float))
    return rng.random((n, d)), sp.csr_matrix((y.data, y.indices, y.indptr), shape=(n, q))


def fitted(name, parameters, x, y, memory=1 << 30):
    rows, _ = pack_arrays(x, y)
    engine = LocalEngine(rows.profile, rows.blocks, Budgets(worker=memory))
    classifier = CLASSIFIERS.create(name)
    state = classifier.fit(engine, check(classifier.parameters, parameters, name))
    return classifier.predictor(state), engine


def peak(work):
    """The most bytes that were taken beside what was there before."""
    tracemalloc.start()
    try:
        work()
        return tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()


@pytest.mark.parametrize(("name", "parameters"), EACH)
def test_many_labels_take_no_table_of_all_rows_and_labels(name, parameters):
    """4,000 rows and 1,200 labels as numbers are 38 MB; of the labels few have rows."""
    x, y = table(4000, 5, 1200, 4)
    parameters = {**parameters, **({"order": "index"} if name == "cc" else {})}
    size = peak(lambda: fitted(name, parameters, x, y))
    # a chain's weights are as many as labels times labels before: they are kept
    kept = 8 * 1200 * 1200 if (name, parameters.get("base")) == ("cc", None) else 0
    assert size < (12 << 20) + 2 * kept


@pytest.mark.parametrize(("name", "parameters"), EACH[:3])
def test_prediction_of_many_labels_goes_by_runs_of_rows(name, parameters):
    x, y = table(2000, 5, 3000, 4)
    predictor, _ = fitted(name, parameters, x[:300], y[:300])

    def predict():
        for _, labels, scores in predictor.parts(x, 3000):
            assert labels.shape == scores.shape and scores.size <= predictor.cells

    assert peak(predict) < 30 << 20  # the scores of all rows are 48 MB


@pytest.mark.parametrize(("name", "parameters"), EACH)
def test_runs_of_rows_give_the_same_bits(name, parameters, monkeypatch):
    x, y = table(100, 6, 7, 7)
    predictor, engine = fitted(name, parameters, x, y)
    labels, scores = predictor.predict(x[:90])
    monkeypatch.setattr(type(predictor), "cells", 140)
    for rows, *of_run in predictor.parts(x[:90], 7):
        assert of_run[0].tobytes() == labels[rows].tobytes()
        assert of_run[1].tobytes() == scores[rows].tobytes()
    statistic = PredictionSums(predictor, ("standard", "msfs-2022"))
    (block,) = engine._blocks
    by_runs = statistic.finish(statistic.partial(block, engine.profile), engine.profile)
    for kind, sums in zip(statistic.kinds, by_runs, strict=True):
        whole = Sums.of(y, *predictor.predict(block.x), kind)
        assert sums.metrics() == whole.metrics()


@pytest.mark.parametrize("counted", [1, 50, 1 << 20])
def test_tables_by_runs_of_rows_are_the_naive_ones(counted, monkeypatch):
    monkeypatch.setattr(neighbour_votes, "COUNTED", counted)
    x, y = table(120, 4, 9, 8, seed=3)  # one label without rows
    truth = y.toarray()
    truth[:, 7] = 1  # and one of all
    predictor, _ = fitted("mlknn", {"k": 4, "s": 0.5}, x, truth)
    naive = NaiveMLkNN(k=4, s=0.5).fit(x, truth)
    labels, scores = predictor.predict(x + 0.01)
    np.testing.assert_array_equal(labels, naive.predict(x + 0.01))
    np.testing.assert_allclose(scores, naive.posterior(x + 0.01), rtol=1e-12)


@pytest.mark.parametrize("is_sparse", [False, True])
def test_a_chain_is_linear_svc_on_features_and_labels_before(is_sparse):
    x, y = table(150, 5, 4, 4, seed=1)
    truth = y.toarray()
    rows = sp.csr_matrix(x) if is_sparse else x
    predictor, engine = fitted("cc", {"order": "frequency", "norm": "none"}, rows, y)
    state = predictor.state
    order = np.argsort(-truth.sum(axis=0), kind="stable")
    assert state["order"].tolist() == order.tolist()
    ids = engine.gathered()
    x, truth = np.asarray(ids.dense(), float), ids.labels(4).toarray()
    for position, label in enumerate(order):
        inputs = np.hstack([x, truth[:, order[:position]]])
        machine = LinearSVC(dual="auto", random_state=0, max_iter=10_000).fit(
            inputs, truth[:, label]
        )
        assert state["weights"][label, : 5 + position].tobytes() == machine.coef_[0].tobytes()
        assert not state["weights"][label, 5 + position :].any()


@pytest.mark.parametrize(("name", "parameters"), EACH)
def test_what_is_too_large_is_refused_before_the_work(name, parameters):
    x, y = table(2000, 100, 50, 50)
    with pytest.raises(WorkerBudgetError, match="needs all 2000 rows of 100 features and 50"):
        fitted(name, parameters, x, y, memory=4 << 20)


def test_the_estimators_name_their_setting():
    x, y = table(2000, 5, 1000, 4)
    with pytest.raises(BudgetError, match="more than memory_bytes = 4 MB: raise memory_bytes"):
        ClassifierChainClassifier(memory_bytes=4 << 20).fit(x, y)
    model = MLkNNClassifier(memory_bytes=8 << 20).fit(x, y)
    with pytest.raises(
        BudgetError,
        match="predicting 2000 rows of 1000 labels needs 16 MB, more than memory_bytes = 8 MB: "
        "raise memory_bytes, or predict fewer rows at once",
    ):
        model.predict_proba(x)
    assert model.predict_proba(x[:50]).shape == (50, 1000)


def test_a_plain_predictor_goes_by_runs():
    class Zeros(Predictor):
        cells = 10

        def predict(self, x):
            return np.zeros((len(x), 3), np.uint8), np.zeros((len(x), 3))

    runs = [rows for rows, *_ in Zeros({}).parts(np.zeros((7, 2)), 3)]
    assert runs == [slice(0, 3), slice(3, 6), slice(6, 7)]
