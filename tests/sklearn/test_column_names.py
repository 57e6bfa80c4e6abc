"""Columns whose names are no text: names, as text, in every face."""

from __future__ import annotations

import datetime
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer

import spark_mlfs
from spark_mlfs import DataError, ParameterError, states
from spark_mlfs.sklearn import MIMSelector, MLkNNClassifier

NAMES = {
    "integers": [101, 102, 103],
    "mixed": ["a", "b", 3],
    "negative": [-1, 5, 0],
    "floats": [400.5, 401.0, 1e-3],
    "dates": list(pd.date_range("2020-01-30", periods=3)),
    "days": [datetime.date(2020, 1, day) for day in (1, 2, 3)],
    "tuples": list(pd.MultiIndex.from_product([["a"], [1, 2, 3]])),
    "places": [2, 0, 1],
}


def window(seed: int, names: list, order: list | None = None) -> tuple[pd.DataFrame, np.ndarray]:
    """Rows whose first column says everything, the last says something, in the order of names."""
    draw = np.random.default_rng(seed)
    Y = (draw.random((400, 1)) < 0.4).astype(int)
    X = draw.normal(size=(400, 3))
    X[:, 0] += 3 * Y[:, 0]
    X[:, 2] += 0.5 * Y[:, 0]
    columns = pd.Index(names, tupleize_cols=True)
    return pd.DataFrame(X, columns=columns)[names if order is None else order], Y


@pytest.mark.parametrize("kind", NAMES)
def test_rows_of_other_days_are_joined_by_name(kind: str) -> None:
    names = NAMES[kind]
    texts = [str(name) for name in names]
    first = window(0, names)
    later = window(1, names, names[::-1])
    assert spark_mlfs.rank(*first, "mim", k=None)["name"].tolist()[0] == texts[0]
    state = states.collect(*first, "mim")
    merged = states.merge(state, states.collect(*later, "mim", like=state))
    both = pd.concat([first[0], later[0]]).reset_index(drop=True)
    both = both.set_axis(texts, axis=1)
    expected = spark_mlfs.rank(both, np.vstack([first[1], later[1]]), "mim", k=None)
    ranking = states.rank(merged, "mim", k=None)
    assert ranking["name"].tolist() == expected["name"].tolist()
    # bins are those of the first day
    assert np.allclose(ranking["relevance"], expected["relevance"], atol=0.05)
    psi = spark_mlfs.drift(first, later).features.set_index("feature")["psi"]
    assert sorted(psi.index) == sorted(texts)
    assert psi.max() < 0.15


@pytest.mark.parametrize("kind", NAMES)
def test_settings_name_columns_as_the_frame_does(kind: str) -> None:
    names = NAMES[kind]
    texts = [str(name) for name in names]
    X, Y = window(0, names)
    assert texts[0] not in spark_mlfs.rank(X, Y, "mim", k=None, exclude=names[:1])["name"].tolist()
    assert spark_mlfs.rank(X, Y, "mim", k=1, include=X.columns[1:2])["name"].tolist() == texts[1:2]
    costs = spark_mlfs.rank(X, Y, "mim", k=None, costs=dict(zip(names, (3, 2, 1), strict=True)))
    assert dict(zip(costs["name"], costs["cost"], strict=True)) == dict(
        zip(texts, (3, 2, 1), strict=True)
    )
    groups = spark_mlfs.rank(X, Y, "mim", k=None, groups={7: names[:2]})
    assert sorted(groups.loc[groups["group"] == "7", "name"]) == sorted(texts[:2])
    state = states.collect(X, Y, "mim")
    assert texts[2] not in states.rank(state, "mim", k=None, exclude=names[2:])["name"].tolist()


@pytest.mark.parametrize("kind", NAMES)
def test_estimators_of_such_frames(kind: str) -> None:
    names = NAMES[kind]
    X, Y = window(0, names)
    selector = MIMSelector(num_top_features=2, exclude=names[1:2])
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        out = selector.set_output(transform="pandas").fit(X, Y).transform(X)
        MLkNNClassifier().fit(X, Y).predict(X)
    assert selector.get_feature_names_out().tolist() == [str(names[0]), str(names[2])]
    assert out.columns.tolist() == [str(names[0]), str(names[2])]
    assert np.array_equal(out.to_numpy(), X[[names[0], names[2]]].to_numpy())
    with pytest.raises(ValueError, match="same order"):
        selector.transform(X[names[::-1]])


def test_whole_numbers_are_names_or_places() -> None:
    X, Y = window(0, [2, 0, 1])
    assert spark_mlfs.rank(X, Y, "mim", k=None, exclude=[2])["name"].tolist() == ["1", "0"]
    assert spark_mlfs.rank(X, Y, "mim", k=None, exclude=np.array([2]))["name"].tolist() == [
        "1",
        "0",
    ]
    # arrays, and frames whose columns were never named, go by place
    for table in (X.to_numpy(), pd.DataFrame(X.to_numpy())):
        ranking = spark_mlfs.rank(table, Y, "mim", k=None, exclude=[2], costs={0: 5, "*": 1})
        assert ranking["name"].tolist() == ["x0", "x1"] and ranking["cost"].tolist() == [5, 1]
    named = X.set_axis([5, 6, 7], axis=1)
    with pytest.raises(ParameterError, match="no feature '0'; they are named by numbers like '5'"):
        spark_mlfs.rank(named, Y, "mim", exclude=[0])
    with pytest.raises(ParameterError, match="0 is the name of one feature and the place of an"):
        spark_mlfs.rank(X.set_axis(["b", 0, "c"], axis=1), Y, "mim", exclude=[0])
    with pytest.raises(DataError, match="both named '1'"):
        spark_mlfs.rank(X.set_axis([1, "1", "c"], axis=1), Y, "mim")
    with pytest.raises(ParameterError, match="costs must be"):
        spark_mlfs.rank(X, Y, "mim", costs={1: 2, "1": 3})


def test_columns_that_were_never_named_are_those_named_by_place() -> None:
    X, Y = window(0, [0, 1, 2])
    plain = pd.DataFrame(X.to_numpy())
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for fitted, others in ((plain, (X, X.to_numpy())), (X, (plain,))):
            selector = MIMSelector(num_top_features=1).fit(fitted, Y)
            for table in (fitted, *others):
                assert np.array_equal(selector.transform(table), X[[0]].to_numpy())
    for fitted in (plain, X):
        with pytest.raises(ValueError, match="order"):
            MIMSelector(num_top_features=1).fit(fitted, Y).transform(X[[2, 1, 0]])
    columns = ColumnTransformer([("m", MIMSelector(num_top_features=1), [0, 2])]).fit(plain, Y)
    assert columns.get_feature_names_out().tolist() == ["m__0"]
