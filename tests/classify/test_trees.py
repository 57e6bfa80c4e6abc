"""The label tree of napkinXC behind a selection: its rows, its labels, its bits, and what is said
without it."""

from __future__ import annotations

import json
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp

from spark_mlfs import CLASSIFIERS, DataError, cli, errors
from spark_mlfs.classify import trees
from spark_mlfs.classify.trees import TreePredictor
from spark_mlfs.evaluate.at_k import at_k
from spark_mlfs.params import check
from spark_mlfs.testing import engine_of, frame_of


def words(n=200, q=30, seed=0):
    """Rows of words by the labels they have; row 3 has no word, row 5 no label."""
    rng = np.random.default_rng(seed)
    y = (rng.random((n, q)) < 2.5 / q).astype(float)
    y[np.arange(n), rng.integers(0, q, n)] = 1
    x = np.repeat(y, 4, axis=1) * (rng.random((n, 4 * q)) < 0.7)
    x += rng.random(x.shape) < 0.01
    x[3], y[5] = 0, 0
    return sp.csr_matrix(x), y


def fitted(x, y, **parameters):
    classifier = CLASSIFIERS.create("plt")
    state = classifier.fit(engine_of(x, y), check(classifier.parameters, parameters, "plt"))
    return state, classifier.predictor(state)


def test_it_is_named_and_not_listed(monkeypatch):
    """Without its library one line says what to install; lists do not depend on what is there."""
    assert "plt" in CLASSIFIERS and "plt" not in list(CLASSIFIERS)
    x, y = words()
    monkeypatch.setitem(sys.modules, "napkinxc.models", None)
    with pytest.raises(errors.NotInstalledError, match=r"'plt' needs napkinxc .*spark_mlfs\[xmc\]"):
        fitted(x, y)
    assert "plt" not in list(CLASSIFIERS) and len(CLASSIFIERS) == len(list(CLASSIFIERS))


@pytest.mark.slow
def test_it_ranks_the_labels_of_rows_not_seen():
    pytest.importorskip("napkinxc")
    x, y = words()
    state, predictor = fitted(x, y)
    new, truth = words(seed=1)
    labels, scores = predictor.predict(new)
    assert at_k(truth, scores)["precisionAt1"] > 0.9  # labels keep their order
    assert not scores[3].any() and not labels[3].any()  # no word: never sent to the library
    assert (labels == (scores > 0.5)).all() and scores.max() <= 1
    assert np.array_equal(predictor.predict(new[:4].toarray())[1], scores[:4])
    again, _ = fitted(x.toarray(), y)
    assert {*again} == {*state}
    assert all(np.array_equal(state[name], again[name]) for name in state)
    few, _ = fitted(x, y, most_labels=2)
    assert (CLASSIFIERS.create("plt").predictor(few).predict(new)[1] > 0).sum(axis=1).max() == 2


@pytest.mark.parametrize("q", [1, 2, 9])
def test_labels_that_no_row_or_every_row_has(q):
    pytest.importorskip("napkinxc")
    x, y = words(q=30)
    y = y[:, :q]
    y[:, 0] = 1
    if q > 2:
        y[:, 1] = 0
    _, predictor = fitted(x, y, max_leaves=2)
    scores = predictor.predict(x)[1]
    assert scores.shape == (200, q) and scores[np.arange(200) != 3, 0].min() > 0.5
    if q > 2:
        assert scores[:, 1].max() < 0.01
    with pytest.raises(DataError, match="no row has a feature and a label"):
        fitted(x, 0 * y)


def test_threads_take_turns(monkeypatch):
    """Two at a time in the library end in a crash; of two models each thread has its own."""
    inside = []

    class Model:
        def __init__(self, label):
            self.label = label

        def predict_proba(self, rows, top_k):
            inside.append(1)
            assert len(inside) == 1
            time.sleep(0.001)
            inside.pop()
            return [[(self.label, 1.0)]] * rows.shape[0]

    monkeypatch.setattr(TreePredictor, "_load", lambda predictor: Model(predictor.state["label"]))
    monkeypatch.setattr(trees, "_loaded", {})
    state = {"columns": np.arange(2), "q": 2, "most": 2}
    states = [{**state, "label": label, "file a": np.array([label], np.uint8)} for label in (0, 1)]
    predictors = [TreePredictor(states[number % 2]) for number in range(40)]
    with ThreadPoolExecutor(8) as threads:
        scores = [*threads.map(lambda predictor: predictor.predict(np.eye(2))[1], predictors)]
    assert all((of[:, number % 2] == 1).all() for number, of in enumerate(scores))


def test_numbers_beyond_those_of_the_library():
    pytest.importorskip("napkinxc")
    x, y = words(n=60, q=8)
    far = sp.diags(np.logspace(-200, 200, 60)) @ x  # rows of any length
    _, predictor = fitted(far, y, c=1e-300, tol=1e-300, max_leaves=10**12)
    scores = predictor.predict(far)[1]
    assert np.isfinite(scores).all()
    assert np.array_equal(predictor.predict(x)[1], scores)
    with pytest.raises(
        errors.ParameterError, match="c must be a number from above 0 to 10000000000,"
    ):
        fitted(x, y, c=1e15)


@pytest.mark.slow
def test_behind_a_selection_it_is_trained_checked_and_scored(tmp_path, capsys):
    pytest.importorskip("napkinxc")
    for name, seed in (("train", 0), ("new", 1)):
        x, y = words(seed=seed)
        lines = [f"{x.shape[0]} {x.shape[1]} {y.shape[1]}"]
        for row, labels in zip(x, y, strict=True):
            tags = ",".join(map(str, np.flatnonzero(labels)))
            lines.append(f"{tags} {' '.join(f'{j}:1' for j in row.indices)}")
        (tmp_path / f"{name}.txt").write_text("\n".join(lines) + "\n")

    def run(*flags):
        assert cli.main([*map(str, flags), "--quiet"]) == 0
        return capsys.readouterr().out

    model, new = tmp_path / "model", tmp_path / "new.txt"
    selection = ["--format", "xc", "--method", "quota", "--num-top-features", 60]
    chosen = ["--data", tmp_path / "train.txt", *selection, "--classifier", "plt"]
    run("select", *chosen, "--output", model)
    found = json.loads(run("check", "--model", model, "--data", new, "--format", "xc", "--json"))
    metrics = found["metrics"]
    assert metrics["precisionAt1"] > 0.8 and metrics["normalisedPspAt5"] > 0.8
    scored = tmp_path / "scored"
    rows = ["--data", new, "--format", "xc", "--top-n", 1, "--output", scored]
    run("score", "--model", model, *rows)
    assert scored.exists()


@pytest.mark.slow
def test_on_spark_it_is_the_same_model(spark):
    pytest.importorskip("napkinxc")
    from spark_mlfs import classifier_class

    x, y = words()
    frame = frame_of(spark, x.toarray(), y, sparse=True).repartition(5)
    model = classifier_class("plt")(idCol="id").fit(frame)
    state, predictor = fitted(x, y)
    assert all(np.array_equal(state[name], model.state[name]) for name in state)
    rows = model.transform(frame).select("id", "rawPrediction").collect()
    scores = np.array([row.rawPrediction.toArray() for row in sorted(rows, key=lambda r: r.id)])
    assert np.array_equal(scores, predictor.predict(x)[1])
