"""Metrics at k beside sums by hand and scikit-learn's; propensities; the same bits of any parts;
frames."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from pyspark.ml.linalg import Vectors
from sklearn.metrics import ndcg_score

from spark_mlfs.errors import DataError, ParameterError
from spark_mlfs.evaluate.at_k import AT_K, SumsAtK, at_k, at_k_of_frame, propensities
from spark_mlfs.evaluate.metrics import METRICS, MultiLabelEvaluator
from spark_mlfs.frames.schema import with_names


def by_hand(truth, predicted, k, p):
    """`predicted`: of each row its labels, best first."""
    found = {
        name: 0.0
        for name in ("precisionAt", "ndcgAt", "pspAt", "psndcgAt", "bestPsp", "bestPsndcg")
    }
    for y, order in zip(truth, predicted, strict=True):
        true = [label for label, value in enumerate(y) if value]
        ideal = sum(1 / math.log2(i + 1) for i in range(1, min(k, len(true)) + 1))
        for i, label in enumerate(order[:k], 1):
            if y[label]:
                found["precisionAt"] += 1 / k
                found["ndcgAt"] += 1 / math.log2(i + 1) / ideal
                found["pspAt"] += 1 / p[label] / k
                found["psndcgAt"] += 1 / p[label] / math.log2(i + 1) / ideal
        for i, worth in enumerate(sorted((1 / p[label] for label in true), reverse=True)[:k], 1):
            found["bestPsp"] += worth / k
            found["bestPsndcg"] += worth / math.log2(i + 1) / ideal
    out = {
        name: found[name] / len(truth) for name in ("precisionAt", "ndcgAt", "pspAt", "psndcgAt")
    }
    for name in ("Psp", "Psndcg"):
        best = found[f"best{name}"]
        out[f"normalised{name}At"] = found[f"{name.lower()}At"] / best if best else math.nan
    return {f"{name}{k}": value for name, value in out.items()}


@settings(max_examples=60, deadline=None)
@given(
    seed=st.integers(0, 10**6),
    n=st.integers(1, 25),
    q=st.integers(1, 12),
    levels=st.sampled_from([1, 2, 4, 10**6]),
    share=st.sampled_from([0.0, 0.1, 0.5, 1.0]),
    stored=st.sampled_from([0.0, 0.3, 1.0]),
)
def test_sums_by_hand(seed, n, q, levels, share, stored):
    rng = np.random.default_rng(seed)
    truth, scores = (
        (rng.random((n, q)) < share).astype(int),
        rng.integers(-levels, levels, (n, q)) / levels,
    )
    p = rng.uniform(0.01, 1, q)
    rows, labels = np.nonzero(rng.random((n, q)) < stored)
    sparse = sp.csr_matrix(
        (scores[rows, labels], (rows, labels)), (n, q)
    )  # of which zeros are predictions, too
    for given_scores, of_row in (
        (scores, lambda i: range(q)),
        (sparse, lambda i: labels[rows == i]),
    ):
        predicted = [
            sorted(of_row(i), key=lambda label, i=i: (-scores[i, label], label)) for i in range(n)
        ]
        want = {}
        for k in (1, 2, 3, 15):
            want |= by_hand(truth, predicted, k, p)
        for y in (truth, sp.csr_matrix(truth), truth.astype(bool)):
            ours = at_k(y, given_scores, [1, 2, 3, 15], p)
            assert ours.keys() == want.keys()
            for name in want:
                np.testing.assert_allclose(
                    ours[name], want[name], rtol=1e-11, atol=1e-11, err_msg=name
                )


def test_scikit_learns_gain():
    rng = np.random.default_rng(3)
    truth, scores = (rng.random((400, 30)) < 0.1).astype(int), rng.random((400, 30))
    ours = at_k(truth, scores, [1, 5, 40])
    for k in (1, 5, 40):
        np.testing.assert_allclose(
            ours[f"ndcgAt{k}"], ndcg_score(truth, scores, k=k, ignore_ties=True), rtol=1e-11
        )


def test_propensities_are_those_of_the_formula():
    rows, a, b = 15539, 0.55, 1.5
    c = (math.log(rows) - 1) * (b + 1) ** a
    want = [1 / (1 + c * math.exp(-a * math.log(count + b))) for count in (0, 1, 7, 15539)]
    np.testing.assert_allclose(propensities([0, 1, 7, 15539], rows), want, rtol=1e-14)
    assert propensities([3], 100, 0.6, 2.6)[0] == pytest.approx(
        1 / (1 + (math.log(100) - 1) * (3.6 / 5.6) ** 0.6), rel=1e-14
    )


def test_parts_add_up_to_the_same_bits(monkeypatch):
    rng = np.random.default_rng(0)
    truth, scores, p = (
        rng.random((500, 40)) < 0.1,
        rng.normal(size=(500, 40)),
        rng.uniform(0.01, 1, 40),
    )
    whole = SumsAtK.of(truth, scores, 5, p)
    cuts = [0, 3, 3, 77, 500]
    parts = [SumsAtK.of(truth[a:z], scores[a:z], 5, p) for a, z in itertools.pairwise(cuts)]
    total = parts[3] + parts[1] + parts[0] + SumsAtK.decode(parts[2].encode())
    monkeypatch.setattr("spark_mlfs.evaluate.at_k.CELLS", 100)
    for other in (
        total,
        SumsAtK.of(truth, scores, 5, p),
        SumsAtK.of(sp.csc_matrix(truth), sp.coo_matrix(scores), 5, p),
    ):
        assert other.rows == whole.rows
        np.testing.assert_array_equal(other.values, whole.values)


def test_the_state_of_any_number_of_labels_is_small():
    for labels in (10, 10**6):
        nothing = sp.csr_matrix((2, labels))
        assert len(SumsAtK.of(nothing, nothing, 5, np.full(labels, 0.5)).encode()) < 1000


def test_the_largest_values_do_not_wrap():
    truth = np.ones((2, 1200))
    found = at_k(truth, truth, [1000], np.full(1200, 1e-3))
    assert found["pspAt1000"] == pytest.approx(1000) and found["psndcgAt1000"] == pytest.approx(
        1000
    )
    assert found["normalisedPspAt1000"] == 1


def test_what_cannot_be_is_refused():
    y = np.eye(3)
    for change, said in (
        (lambda: at_k(y, np.ones((3, 2))), "must have one shape"),
        (lambda: at_k(2 * y, y), "labels are 0 or 1"),
        (lambda: at_k(np.full((1, 3), np.nan), y[:1]), "labels are 0 or 1"),
        (lambda: at_k(y, y / 0.0), "not a finite number"),
        (lambda: at_k(y, y, propensities=[0.5, 0.5]), "give one a label, 3 of them"),
        (lambda: at_k(y, y, propensities=[0.5, 0, 1]), "0.001 to 1"),
        (lambda: propensities([5], 4), "of each label 0 to all of them"),
        (lambda: propensities([1], 2), "three training rows"),
    ):
        with np.errstate(all="ignore"), pytest.raises(DataError, match=said):
            change()
    for k in ([], [0], [3, 1001]):
        with pytest.raises(ParameterError, match="numbers of labels"):
            at_k(y, y, k)
    with pytest.raises(ParameterError, match="above 0"):
        propensities([1], 4, a=0)
    with pytest.raises(ParameterError, match="do not add up"):
        SumsAtK.of(y, y) + SumsAtK.of(y, y, propensities=[1, 1, 1])


def test_no_array_that_is_given_is_changed():
    truth = sp.csr_matrix(
        (np.array([0.0, 1.0, 1.0]), np.array([2, 1, 0]), np.array([0, 2, 3])), (2, 3)
    )
    before = truth.data.copy(), truth.indices.copy(), truth.indptr.copy()
    at_k(truth, truth)
    for a, b in zip(before, (truth.data, truth.indices, truth.indptr), strict=True):
        np.testing.assert_array_equal(a, b)


@pytest.mark.slow
def test_frames(spark):
    rng = np.random.default_rng(5)
    truth, scores, p = (
        (rng.random((200, 9)) < 0.2).astype(float),
        rng.integers(0, 4, (200, 9)) / 4,
        rng.uniform(0.01, 1, 9),
    )
    stored = [
        {int(j): float(scores[i, j]) for j in np.flatnonzero(rng.random(9) < 0.4)}
        for i in range(200)
    ]
    sparse = sp.lil_matrix((200, 9))
    rows = []
    for i in range(200):
        y = truth[i].copy()
        if i % 50 == 7:
            y[3] = np.nan
        rows.append((Vectors.dense(y), scores[i].tolist(), Vectors.sparse(9, stored[i])))
    frame = spark.createDataFrame(rows, ["labels", "rawPrediction", "few"]).repartition(5)
    known = np.arange(200) % 50 != 7
    entries = [(i, j, v) for i in range(200) for j, v in stored[i].items()]
    i, j, v = map(np.array, zip(*entries, strict=True))
    sparse = sp.csr_matrix((v, (i, j)), (200, 9))
    assert at_k_of_frame(frame, propensities=p) == at_k(truth[known], scores[known], propensities=p)
    twice = np.concatenate(
        [np.flatnonzero(known), np.flatnonzero(known[:67])]
    )  # a third of the rows again
    again = frame.union(spark.createDataFrame(rows[:67], frame.schema))
    for parts in (1, 7):
        assert at_k_of_frame(again.repartition(parts), propensities=p) == at_k(
            truth[twice], scores[twice], propensities=p
        )
    assert at_k_of_frame(frame, rawPredictionCol="few", k=[2], propensities=p) == at_k(
        truth[known], sparse[known], [2], p
    )
    with pytest.raises(ParameterError, match="column"):
        at_k_of_frame(frame, "nothing")


@pytest.fixture
def predictions(spark):
    """Truth, scores, propensities of 40 rows and 7 labels, and a frame of them."""
    rng = np.random.default_rng(8)
    truth = (rng.random((40, 7)) < 0.3).astype(float)
    scores = rng.integers(0, 4, (40, 7)) / 4
    p = rng.uniform(0.05, 1, 7)
    rows = [(Vectors.dense(y), Vectors.dense(s)) for y, s in zip(truth, scores, strict=True)]
    frame = spark.createDataFrame(rows, ["labels", "rawPrediction"]).repartition(3)
    return truth, scores, p, frame


def expected(truth, scores, k, p):
    order = np.argsort(-scores, axis=1, kind="stable")
    return by_hand(truth.tolist(), order.tolist(), k, p)


@pytest.mark.slow
def test_an_evaluator_has_every_metric(predictions, tmp_path):
    truth, scores, p, frame = predictions
    by_hand_at = {k: expected(truth, scores, k, p) for k in (1, 3, 5)}
    every = {name: value for found in by_hand_at.values() for name, value in found.items()}
    evaluator = MultiLabelEvaluator(propensities=p)
    options = evaluator.metricName.doc
    assert all(repr(name) in options for name in AT_K)
    for name in sorted(AT_K)[::2]:  # of each at one k or two
        evaluator.setMetricName(name)
        assert math.isclose(evaluator.evaluate(frame), every[name], rel_tol=1e-9), name
        assert evaluator.isLargerBetter()
    assert {*every} == {*AT_K} and all(repr(name) in options for name in METRICS)
    evaluator.save(f"file://{tmp_path}/e")
    loaded = MultiLabelEvaluator.load(f"file://{tmp_path}/e")
    assert loaded.getMetricName() == name and loaded.getPropensities() == p.tolist()


def test_an_evaluator_goes_by_names(predictions):
    """Propensities by name follow labels whose order is another one."""
    truth, scores, p, frame = predictions
    want = expected(truth, scores, 3, p)
    names = [*"gfedcba"]
    named = with_names(with_names(frame, "labels", names), "rawPrediction", names)
    by_name = pd.Series(p, names).sort_index()
    found = at_k_of_frame(named, k=[3], propensities=by_name)
    assert {name: round(value, 9) for name, value in found.items()} == {
        name: round(value, 9) for name, value in want.items()
    }
    for given_as in (by_name, by_name.to_dict()):
        evaluator = MultiLabelEvaluator(metricName="pspAt3", propensities=given_as)
        assert math.isclose(evaluator.evaluate(named), want["pspAt3"], rel_tol=1e-9)
    with pytest.raises(ParameterError, match="neither 'labels' nor 'rawPrediction' names"):
        evaluator.evaluate(frame)


def test_what_an_evaluator_cannot_compute_is_refused(predictions, spark):
    frame = predictions[-1]
    with pytest.raises(ParameterError, match="psndcgAt1 goes by propensities: set them"):
        MultiLabelEvaluator(metricName="psndcgAt1").evaluate(frame)
    few = spark.createDataFrame([([1.0, 0.0], [0.2, 0.1])], ["labels", "rawPrediction"])
    with pytest.raises(DataError, match="ndcgAt3 is of more labels than the 2 that there are"):
        MultiLabelEvaluator(metricName="ndcgAt3").evaluate(few)
    assert MultiLabelEvaluator(metricName="precisionAt1").evaluate(few) == 1
    with pytest.raises(ParameterError, match="propensities must be one number from"):
        MultiLabelEvaluator(propensities=[0.5, 2])
