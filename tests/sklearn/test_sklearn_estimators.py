"""The scikit-learn face keeps scikit-learn's rules; a class for every entry of the registries, with
its parameters."""

from __future__ import annotations

import inspect
import pickle

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, KFold, cross_val_score
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.utils.estimator_checks import estimator_checks_generator

import spark_mlfs.sklearn as face
from spark_mlfs import METHODS, BudgetError, DataError, ParameterError
from spark_mlfs.sklearn.learners import CLASSIFYING, EXTRACTING
from spark_mlfs.sklearn.selectors import SELECTORS
from spark_mlfs.testing import example

ROOMS = {"selector": SELECTORS, "extractor": EXTRACTING, "classifier": CLASSIFYING}
CLASSES = [(classes, name) for classes in ROOMS.values() for name in classes]
# on every run; the others differ in nothing but the entry
QUICK = ("mim", "relieff", "mddm", "br-svm")
SHORT = {"max_iter": 20, "epochs": 5, "generations": 2, "population": 4}


def made(classes, name, **values):
    """An estimator with few iterations, of few neighbours."""
    few = {**SHORT, "k": 2 if classes is CLASSIFYING else 1}  # the rules try ten rows
    if name == "gmba":  # whose minimum takes seconds where rows have hundreds of pairs
        few["mode"] = "closed"
    own = {p.name for p in classes.registry[name].parameters if p.default is not None}
    return classes[name](**{key: value for key, value in few.items() if key in own}, **values)


def checks():
    """Every check of those above, and of each other entry every third, so that each check has a
    dozen of them: the classes are made of one table."""
    for place, (classes, name) in enumerate(CLASSES):
        pairs = estimator_checks_generator(made(classes, name))
        for number, (estimator, check) in enumerate(pairs):
            if name in QUICK or (place + number) % 3 == 0:
                title = f"{name}-{getattr(check, 'func', check).__name__}"
                yield pytest.param(estimator, check, id=title)


@pytest.mark.slow
@pytest.mark.parametrize(("estimator", "check"), list(checks()))
@pytest.mark.filterwarnings("ignore")
def test_rules_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize(("classes", "name"), CLASSES, ids=[name for _, name in CLASSES])
def test_every_entry_has_a_class_with_its_parameters(classes, name):
    """Named, with defaults and documented, in the written source; clone keeps every value, and
    names go out."""
    entry, cls = classes.registry[name], classes[name]
    signature = inspect.signature(cls.__init__).parameters
    assert (
        getattr(face, cls.__name__) is cls
        and cls.__name__ in face.__all__
        and cls.__module__.startswith(face.__name__)
    )
    for p in entry.parameters:
        assert signature[p.name].default == p.default and f"\n{p.name} : " in inspect.getdoc(cls)
    x, y = example()
    estimator = made(classes, name)
    fitted = clone(estimator).fit(x, y)
    assert clone(fitted).get_params() == estimator.get_params()
    assert pickle.loads(pickle.dumps(fitted)).get_params() == estimator.get_params()
    if classes is CLASSIFYING:
        assert fitted.predict(x).shape == y.shape
    else:
        out = fitted.transform(x)
        assert out.shape == (len(x), len(fitted.get_feature_names_out()))


def test_the_table_of_a_fitted_selector():
    x, y = example()
    selector = face.JMISelector(num_top_features=4).fit(x, y)
    best = selector.ranking_["index"].to_numpy()[:4]
    assert (
        list(selector.selected_) == list(best)
        and selector.scores_.shape == (x.shape[1],)
        and len(selector.gains_) == 4
    )
    assert (
        np.array_equal(selector.get_support(indices=True), np.sort(best))
        and selector.get_support().sum() == 4
    )
    assert np.array_equal(selector.transform(x), x[:, np.sort(best)])
    assert (
        np.array_equal(selector.scores_[best], selector.gains_)
        and np.isnan(selector.scores_).sum() == x.shape[1] - 4
    )
    assert all(
        selector.relevance_[row["index"]] == row["relevance"]
        for _, row in selector.ranking_.iterrows()
    )
    # by the order of the columns, as scikit-learn's own selectors: names and values go together
    assert list(selector.get_feature_names_out()) == [f"x{j}" for j in np.sort(best)]


def test_modes():
    x, y = example()
    share = face.MIMSelector(selection_mode="percentile", percentile=0.25).fit(x, y)
    assert len(share.selected_) == 3
    strict = face.MIMSelector(selection_mode="fwe", fwe=1e-3).fit(x, y)
    tested = strict.ranking_.set_index("index")["p_value"]
    assert set(strict.selected_) == set(
        tested.index[tested * tested.notna().sum() <= 1e-3]
    )  # Holm's first step at least
    with pytest.warns(UserWarning, match="no feature passes"):
        none = face.MIMSelector(selection_mode="fwe", fwe=1e-300).fit(
            x[:, 9:10].repeat(2, 1) + np.eye(len(x))[:, :2], y
        )
    assert none.transform(x[:, :2]).shape == (len(x), 0)


def test_names_go_in_and_out():
    x, y = example()
    frame = pd.DataFrame(x, columns=[f"cell {j}" for j in range(x.shape[1])])
    tags = pd.DataFrame(y, columns=list("wxyz"))
    selector = (
        face.FisherSelector(num_top_features=3).set_output(transform="pandas").fit(frame, tags)
    )
    out = selector.transform(frame)
    assert list(out.columns) == list(selector.get_feature_names_out()) and set(out.columns) <= set(
        frame.columns
    )
    assert list(selector.ranking_["name"][:3]) == [f"cell {j}" for j in selector.selected_]
    assert list(selector.label_names_) == list("wxyz")
    with pytest.raises(ValueError, match="feature names should match"):
        selector.transform(frame[frame.columns[::-1]])


def test_a_pipeline_is_searched():
    x, y = example()
    pipe = make_pipeline(face.MultiLabelSelector(), KNeighborsClassifier())
    grid = {
        "multilabelselector__method": ["mim", "f-statistic"],
        "multilabelselector__num_top_features": [1, 6],
    }
    search = GridSearchCV(pipe, grid, cv=3).fit(x, y.astype(int))
    assert search.best_params_["multilabelselector__num_top_features"] == 6
    assert search.predict(x).shape == y.shape
    ours = make_pipeline(face.JMISelector(num_top_features=5), face.BRSVMClassifier()).fit(x, y)
    assert ours.score(x, y) > 0.3


def test_frames_are_scored_by_name_and_index():
    x, y = example()
    model, labels = (
        face.MLkNNClassifier().fit(x, pd.DataFrame(y)),
        pd.DataFrame(y).rename(columns=str),
    )
    labels.columns = model.label_names_
    turned = labels[labels.columns[::-1]]
    assert model.score(x, turned) == model.score(x, y) > model.score(x, turned.to_numpy())
    assert model.score(pd.DataFrame(x), labels[::-1]) == model.score(x, y)
    weights = pd.Series(np.arange(len(x), dtype=float))
    assert (
        model.score(pd.DataFrame(x), labels, weights[::-1])
        == model.score(x, y, weights.to_numpy())
        != model.score(x, y)
    )


def test_lists_of_tags_are_scored():
    """By `score`, in a pipeline and in cross-validation: the accuracy of the same labels as a
    matrix."""
    x, y = example()
    tags = [[f"t{j}" for j in np.flatnonzero(row)] for row in y]
    pipe = make_pipeline(face.MIMSelector(num_top_features=6), face.BRSVMClassifier())
    want, folds = cross_val_score(pipe, x, y, cv=KFold(3)), KFold(3)
    assert pipe.fit(x, tags).score(x, tags) == pipe.fit(x, y).score(x, y) > 0.3
    assert np.array_equal(cross_val_score(pipe, x, tags, cv=folds), want)
    assert np.array_equal(cross_val_score(pipe, x, [set(row) for row in tags], cv=3), want)
    model = face.MLkNNClassifier().fit(x, tags)
    right = (model.predict(x) == y).all(axis=1)
    assert model.score(x, [[*row, "new"] for row in tags]) == 0
    assert (
        model.score(x, [None if i < 50 else row for i, row in enumerate(tags)]) == right[50:].mean()
    )
    assert model.score(pd.DataFrame(x), pd.Series(tags), sample_weight=right) == 1


def test_features_made_label_by_label():
    """The pandas frame of an extractor tells the classifier behind it whose features are whose."""
    x, y = example()
    pipe = make_pipeline(
        face.LIFTExtractor().set_output(transform="pandas"),
        face.BRSVMClassifier(label_specific=True),
    )
    slices = pipe.fit(x, y)[0].label_slices_
    weights = pipe[1].state_["weights"]
    for label in range(y.shape[1]):
        others = np.setdiff1d(np.arange(slices[-1]), np.arange(slices[label], slices[label + 1]))
        assert not weights[label, others].any() and weights[label].any()
    with pytest.raises(ParameterError, match="set_output"):
        face.BRSVMClassifier(label_specific=True).fit(x, y)


def test_classes_instead_of_labels():
    x, y = example()
    kinds = np.where(y[:, 0] > 0, "yes", "no")
    model = face.BRSVMClassifier().fit(x, kinds)
    assert list(model.classes_) == ["no", "yes"] and model.score(x, kinds) > 0.8
    assert np.array_equal(model.decision_function(x) > 0, model.predict(x) == "yes")
    shares = face.MLkNNClassifier().fit(x, kinds).predict_proba(x)
    assert np.allclose(shares.sum(axis=1), 1) and not hasattr(model, "predict_proba")


def test_an_entry_from_outside_has_a_class():
    class Mine(METHODS["mim"]):
        """Mine. Source: none."""

        name = "mine"

    METHODS.register(Mine)
    try:
        x, y = example()
        assert face.MineSelector(num_bins=3, num_top_features=2).fit(x, y).selected_.shape == (2,)
    finally:
        METHODS.forget("mine")


@pytest.mark.parametrize(
    ("values", "what"),
    [
        ({"method": "jmy"}, "there is no method 'jmy'; did you mean 'jmi'"),
        ({"method_params": {"bins": 3}}, "method 'forward' has no parameter 'bins'"),
        ({"selection_mode": "best"}, "selection_mode must be one of 'num_top_features'"),
        ({"num_top_features": 0}, "num_top_features must be a whole number, at least 1"),
        ({"num_top_features": 99}, "num_top_features = 99 but the data have 12 features"),
        ({"screen": "chi2"}, "screen must be METHOD:COUNT"),
        (
            {"memory_bytes": 3},
            "memory_bytes must be a size such as 2GB, 500M or 2e9, at least 1048576",
        ),
        (
            {"selection_mode": "knockoffs"},
            "knockoffs need a method that finishes on the Gram matrix",
        ),
    ],
)
def test_wrong_parameters_are_one_line(values, what):
    with pytest.raises(ParameterError) as error:
        face.MultiLabelSelector(**values).fit(*example())
    assert what in str(error.value) and "\n" not in str(error.value)


def test_what_memory_does_not_hold_is_refused():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(400, 600))
    with pytest.raises(BudgetError, match="raise memory_bytes"):
        face.RidgeSelector(memory_bytes=1 << 20).fit(x, (x[:, :2] > 0).astype(int))


def test_not_fitted():
    from sklearn.exceptions import NotFittedError

    for estimator in (face.JMISelector(), face.MDDMExtractor(), face.MLkNNClassifier()):
        with pytest.raises(NotFittedError):
            (estimator.predict if hasattr(estimator, "predict") else estimator.transform)(
                example()[0]
            )
    with pytest.raises(DataError):
        face.JMISelector().fit(example()[0], None)
