"""Linear machines of sparse rows: what LinearSVC learns, rows of length 1, weights by feature."""

from __future__ import annotations

import pickle
import sys
import warnings
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.exceptions import ConvergenceWarning
from sklearn.feature_selection import RFE, SelectFromModel
from sklearn.linear_model import LogisticRegression
from sklearn.preprocessing import normalize
from sklearn.svm import LinearSVC

from spark_mlfs import DataError, ParameterError
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.errors import DataNotice
from spark_mlfs.kernels.hashing import mix
from spark_mlfs.kernels.platt import platt
from spark_mlfs.kernels.scaling import unit_rows
from spark_mlfs.sklearn import (
    BRkNNClassifier,
    BRSVMClassifier,
    ClassifierChainClassifier,
    LogisticClassifier,
    MLkNNClassifier,
)


def words(n=160, d=60, q=3, seed=0):
    """Counts of words, of which the first speak for the labels, and the labels."""
    rng = np.random.default_rng(seed)
    y = (rng.random((n, q)) < 0.3).astype(int)
    rate = np.full((n, d), 0.15)
    for label in range(q):
        rate[:, 3 * label : 3 * label + 3] += 1.2 * y[:, [label]]
    return sp.csr_matrix(rng.poisson(rate * rng.uniform(0.5, 4, (n, 1))).astype(float)), y


@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_rows_come_to_length_1(form):
    rows = np.array([[3.0, 0, -4], [0, 0, 0], [3e200, 0, 4e200], [0, 5e-200, 0], [1, 2, 2]])
    expected = [[0.6, 0, -0.8], [0, 0, 0], [0.6, 0, 0.8], [0, 1, 0], [1 / 3, 2 / 3, 2 / 3]]
    out = unit_rows(form(rows.copy()))
    np.testing.assert_allclose(np.asarray(sp.csr_matrix(out).todense()), expected, rtol=1e-15)
    rows = np.random.default_rng(0).normal(size=(50, 7))
    whole = unit_rows(form(rows.copy()))
    np.testing.assert_allclose(sp.csr_matrix(whole).toarray(), normalize(rows), rtol=1e-15)
    for row in range(0, 50, 7):
        alone = unit_rows(form(rows[row : row + 1].copy()))
        assert (sp.csr_matrix(alone).toarray() == sp.csr_matrix(whole[row]).toarray()).all()


@pytest.mark.parametrize("norm", ["auto", "l2", "none"])
def test_sparse_rows_are_learned_as_linear_svc_learns_them(norm):
    x, y = words()
    z, _ = words(seed=1)
    model = BRSVMClassifier(norm=norm, tol=1e-6).fit(x, y)
    seen = (x, z) if norm == "none" else (normalize(x), normalize(z))
    scores = model.decision_function(z)
    for label in range(3):
        theirs = LinearSVC(tol=1e-6, max_iter=10_000, random_state=0).fit(seen[0], y[:, label])
        np.testing.assert_allclose(scores[:, label], theirs.decision_function(seen[1]), atol=1e-4)
    assert model.state_["norm"] == ("none" if norm == "none" else "l2")
    # a chain's machines see rows of the same length, and the labels before behind them
    chain = ClassifierChainClassifier(norm=norm, order="index", tol=1e-6).fit(x, y)
    inputs = sp.hstack([seen[0], y[:, :2]])
    theirs = LinearSVC(tol=1e-6, max_iter=10_000, random_state=0).fit(inputs, y[:, 2])
    np.testing.assert_allclose(chain.state_["weights"][2, :62], theirs.coef_[0], atol=1e-4)


def test_rows_that_are_dense_or_scaled_keep_their_length():
    x, y = words()
    dense = BRSVMClassifier().fit(x.toarray(), y)
    assert dense.state_["norm"] == "none"
    assert BRSVMClassifier(scaling="standard").fit(x, y).state_["norm"] == "none"
    assert BRSVMClassifier(norm="l2").fit(x.toarray(), y).state_["norm"] == "l2"
    # what learned of sparse rows brings dense ones to length 1, too
    sparse = BRSVMClassifier().fit(x, y)
    np.testing.assert_allclose(
        sparse.decision_function(x), sparse.decision_function(x.toarray()), rtol=1e-12
    )


def test_models_of_before_score_the_same():
    x, y = words()
    model = BRSVMClassifier(norm="none").fit(x, y)
    before = model.decision_function(x)
    del model.state_["norm"], model.norm  # as of a version without
    old = pickle.loads(pickle.dumps(model))
    assert old.decision_function(x).tobytes() == before.tobytes()


def test_neighbours_in_a_chain_take_rows_of_length_1_where_told():
    x, y = words()
    plain = ClassifierChainClassifier(base="knn").fit(x, y)
    unit = ClassifierChainClassifier(base="knn", norm="l2").fit(x, y)
    before = ClassifierChainClassifier(base="knn").fit(normalize(x), y)
    assert plain.state_["norm"] == "none"
    same = unit.predict_proba(x * 3) == before.predict_proba(normalize(x))
    assert same.mean() > 0.95  # equal distances are ordered by the rows' ids


def test_a_machine_that_does_not_converge_says_what_helps():
    x, y = words()
    raw = x.copy()
    raw.data *= 1e3
    with pytest.warns(ConvergenceWarning, match="give scaling='standard' or norm='l2', or raise"):
        BRSVMClassifier(norm="none", max_iter=2).fit(raw, y)
    with warnings.catch_warnings():
        warnings.simplefilter("error", ConvergenceWarning)
        BRSVMClassifier().fit(raw, y)


def test_probabilities_are_those_of_a_calibration_by_folds():
    """The same folds, machines and targets by scikit-learn's own classes."""
    x, y = words(400)
    seen = normalize(x)
    ids = pack_arrays(x, y)[0].blocks[0].ids
    fold = (mix(ids, 0xF01D) % np.uint64(3)).astype(int)
    splits = [(np.flatnonzero(fold != f), np.flatnonzero(fold == f)) for f in range(3)]
    model = BRSVMClassifier(scores="calibrated", tol=1e-8).fit(x, y)
    ours = model.predict_proba(x)
    for label in range(3):
        machine = LinearSVC(tol=1e-8, max_iter=10_000, random_state=0)
        theirs = CalibratedClassifierCV(machine, method="sigmoid", cv=splits, ensemble=False)
        expected = theirs.fit(seen, y[:, label]).predict_proba(seen)[:, 1]
        np.testing.assert_allclose(ours[:, label], expected, atol=2e-4)


def test_the_sigmoid_is_the_minimum():
    rng = np.random.default_rng(2)
    for scale in (1e-3, 1.0, 1e6):
        truth = rng.random(300) < 0.2
        values = scale * (truth + rng.normal(size=300))
        a, b = platt(values, truth)
        targets = np.where(truth, (truth.sum() + 1) / (truth.sum() + 2), 1 / (2 + (~truth).sum()))
        p = 1 / (1 + np.exp(a * values + b))
        error = targets - p  # the gradient is 0
        assert abs(error.sum()) < 1e-6 and abs(error @ values) < 1e-6 * scale * 300
    a, b = platt(np.arange(10) - 4.5, np.arange(10) > 4)  # separable: the targets bound the slope
    assert np.isfinite([a, b]).all() and a < 0


@pytest.mark.parametrize("scaling", ["none", "standard", "minmax"])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_weights_by_feature_give_the_scores(scaling, form):
    x, y = words()
    x = np.hstack([x.toarray(), np.ones((160, 1))])  # one feature does not vary
    model = BRSVMClassifier(scaling=scaling, norm="none").fit(form(x), y)
    assert model.coef_.shape == (3, 61) and model.intercept_.shape == (3,)
    np.testing.assert_allclose(
        x @ model.coef_.T + model.intercept_, model.decision_function(form(x)), atol=1e-10
    )
    unit = BRSVMClassifier(scaling=scaling, norm="l2").fit(sp.csr_matrix(x), y)
    lengths = np.linalg.norm(x[:, :60] / unit.state_["scale"], axis=1)
    divided = np.divide(x, lengths[:, None], where=lengths[:, None] > 0, out=np.zeros_like(x))
    np.testing.assert_allclose(
        divided @ unit.coef_.T + unit.intercept_, unit.decision_function(x), atol=1e-10
    )
    classes = BRSVMClassifier(norm="none").fit(x, np.array(["no", "yes"])[y[:, 0]])
    np.testing.assert_allclose(
        x @ classes.coef_[0] + classes.intercept_, classes.decision_function(x), atol=1e-10
    )


def test_what_is_not_linear_has_no_weights():
    x, y = words()
    for model in (MLkNNClassifier(k=3), ClassifierChainClassifier()):
        assert not hasattr(model.fit(x, y), "coef_")
    assert not hasattr(BRSVMClassifier(), "coef_")
    assert not hasattr(BRSVMClassifier(scaling="standard", norm="l2").fit(x.toarray(), y), "coef_")


def test_scikit_learn_selects_by_the_weights():
    x, y = words(400)
    kept = RFE(BRSVMClassifier(), n_features_to_select=9, step=10).fit(x, y).support_
    assert kept[:9].sum() >= 8
    selector = SelectFromModel(BRSVMClassifier(), max_features=9, threshold=-np.inf).fit(x, y)
    assert selector.get_support()[:9].sum() >= 8
    model = BRSVMClassifier().fit(x, y)
    by_norm = np.linalg.norm(model.coef_, ord=1, axis=0)
    assert set(selector.get_support(indices=True)) == set(np.argsort(-by_norm)[:9])


def test_logistic_regression_is_that_of_scikit_learn():
    x, y = words()
    z, _ = words(seed=1)
    y[:, 2] = 1
    model = LogisticClassifier(tol=1e-8).fit(x, y)
    scores = model.predict_proba(z)
    for label in range(2):
        theirs = LogisticRegression(solver="liblinear", C=3, tol=1e-8, max_iter=10_000)
        expected = theirs.fit(normalize(x), y[:, label]).predict_proba(normalize(z))[:, 1]
        np.testing.assert_allclose(scores[:, label], expected, atol=1e-6)
        assert (model.predict(z)[:, label] == (scores[:, label] > 0.5)).all()
    assert (scores[:, 2] > 1 - 1e-12).all()
    dense = model.fit(x.toarray(), y).predict_proba(z.toarray())  # of any length
    theirs = LogisticRegression(solver="liblinear", C=1, tol=1e-8, max_iter=10_000)
    expected = theirs.fit(x.toarray(), y[:, 0]).predict_proba(z.toarray())[:, 1]
    np.testing.assert_allclose(dense[:, 0], expected, atol=1e-6)


@pytest.mark.parametrize("width", [20, 90])
def test_machines_learned_by_several_threads_are_those_of_one(width):
    """The dual solver draws from one row of numbers, and filters of warnings are all threads'."""
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, width))
    y = (x[:, :2] + rng.normal(size=(60, 2)) > 0).astype(int)
    alone = BRSVMClassifier(c=10.0).fit(x, y).coef_
    filters = warnings.filters[:]
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-5)
    try:
        with ThreadPoolExecutor(4) as threads:
            fits = [*threads.map(lambda _: BRSVMClassifier(c=10.0).fit(x, y).coef_, range(12))]
    finally:
        sys.setswitchinterval(interval)
    assert all(np.array_equal(weights, alone) for weights in fits)
    assert warnings.filters == filters


FAR = np.random.default_rng(1)
ROWS = FAR.normal(size=(60, 4))
TRUTH = (ROWS[:, :2] + 0.5 * FAR.normal(size=(60, 2)) > 0).astype(int)


@pytest.mark.parametrize("scaling", ["standard", "minmax"])
@pytest.mark.parametrize("exponent", [-1000, -560, 560, 1000])
@pytest.mark.parametrize("form", [np.asarray, sp.csr_matrix])
def test_the_unit_of_a_scaled_feature_changes_nothing(form, exponent, scaling):
    rows = form(np.abs(ROWS))
    model = LogisticClassifier(scaling=scaling)
    right = model.fit(rows, TRUTH).predict_proba(rows)
    moved = np.abs(ROWS)
    moved[:, 1] = np.ldexp(moved[:, 1], exponent)
    out = model.fit(form(moved), TRUTH).predict_proba(form(moved))
    np.testing.assert_allclose(out, right, rtol=1e-9)


def test_values_beyond_what_is_learned_or_scored_are_refused():
    for model, far in ((LogisticClassifier(), 1e31), (BRSVMClassifier(), 1e76)):
        with pytest.raises(DataError, match=r"no features beyond .*: give scaling='standard'$"):
            model.fit(far * ROWS, TRUTH)
        model.fit(ROWS, TRUTH)
        with pytest.raises(DataError, match=r"a row has features up to 1.7e\+308 as they are sca"):
            model.predict(np.where(ROWS > 0, 1.7e308, -1.7e308))


@pytest.mark.parametrize("kind", [LogisticClassifier, BRSVMClassifier, ClassifierChainClassifier])
def test_weights_of_the_loss_by_which_liblinear_ends(kind):
    """With others it did not come to an end."""
    for c in (1e-300, 1e61, 1e300):
        with pytest.raises(ParameterError, match=r"^c = .*: liblinear takes 1e-60 to 1e\+60$"):
            kind(c=c).fit(ROWS, TRUTH)
    with pytest.raises(DataError, match=r"no features beyond 1e\+15: give scaling='standard'$"):
        kind(c=1e60).fit(1e16 * ROWS, TRUTH)
    for c in (1e-60, 1e60):
        model = kind(c=c).fit(1e14 * ROWS, TRUTH)
        assert np.isfinite(model.predict(1e14 * ROWS)).all()


@pytest.mark.parametrize("model", [MLkNNClassifier(), BRkNNClassifier()])
def test_small_units_that_round_distances_away_are_told(model):
    with pytest.warns(DataNotice, match=r"vary by at most 5.\de-06, .*: give scaling='standard'"):
        model.fit(1e-6 * ROWS, TRUTH)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model.fit(0.01 * ROWS, TRUTH)
        clone(model).set_params(scaling="standard").fit(1e-6 * ROWS, TRUTH)
