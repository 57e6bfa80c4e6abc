"""Missing values of tables in memory: filled in training, by the same values in `transform` and
`predict`."""

from __future__ import annotations

import pickle
import warnings
from fractions import Fraction

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from sklearn.base import clone
from sklearn.ensemble import HistGradientBoostingClassifier
from sklearn.pipeline import make_pipeline

from spark_mlfs import DataError, ParameterError, rank, states
from spark_mlfs.sklearn import (
    BRSVMClassifier,
    JMISelector,
    LIFTExtractor,
    MDDMExtractor,
    MIMSelector,
    MLkNNClassifier,
    MultiLabelSelector,
)

RNG = np.random.default_rng(0)
X = RNG.normal(size=(5000, 6)).round(2) * 10.0 ** np.arange(-3, 3)
Y = (X[:, :3] / 10.0 ** np.arange(-3, 0) + RNG.normal(size=(5000, 3)) / 5 > 0).astype(int)
HOLES = X.copy()
HOLES[[3, 4, 700, 4999], [0, 1, 1, 5]] = np.nan
LACKING = np.isnan(HOLES).any(axis=1)
MEANS = np.array(
    [float(sum(map(Fraction, c[~np.isnan(c)])) / int((~np.isnan(c)).sum())) for c in HOLES.T]
)
FILLED = {"mean": np.where(np.isnan(HOLES), MEANS, HOLES), "zero": np.nan_to_num(HOLES)}
SPARSE = sp.csr_matrix(np.where(np.abs(HOLES) < np.nanmedian(np.abs(HOLES), axis=0), 0, HOLES))


@pytest.mark.parametrize("missing", ["mean", "zero", "drop"])
def test_a_ranking_of_filled_rows_is_that_of_rows_filled_by_hand(missing):
    tags = [[f"t{j}" for j in np.flatnonzero(y)] for y in Y]
    keep = ~LACKING
    for given, by_hand in (
        (Y, Y[keep]),
        (tags, [t for t, k in zip(tags, keep, strict=True) if k]),
        (sp.csr_matrix(Y), Y[keep]),
    ):
        want = (
            rank(HOLES[keep], by_hand, "jmi")
            if missing == "drop"
            else rank(FILLED[missing], given, "jmi")
        )
        pd.testing.assert_frame_equal(
            rank(HOLES, given, "jmi", missing=missing), want, check_exact=True
        )
    frame = pd.DataFrame(HOLES, columns=list("abcdef"))
    found = rank(
        frame, pd.DataFrame(Y), "jmi", missing=missing, sample_weight=pd.Series(np.ones(5000))
    )
    assert found["name"].tolist() == ["abcdef"[i] for i in want["index"]]
    dense = SPARSE.toarray()
    by_hand = {"mean": np.nanmean(dense, axis=0), "zero": np.zeros(6), "drop": None}[missing]
    of = (
        (dense[keep], Y[keep])
        if by_hand is None
        else (np.where(np.isnan(dense), by_hand, dense), Y)
    )
    assert (
        rank(SPARSE, Y, "jmi", missing=missing)["index"].tolist()
        == rank(*of, "jmi")["index"].tolist()
    )


def test_rows_that_all_lack_a_value_are_told():
    for x in (
        np.where(np.eye(4) > 0, np.nan, 1.0),
        sp.csr_matrix(np.where(np.eye(4) > 0, np.nan, 0.0)),
    ):
        with pytest.raises(DataError, match="every row of X lacks a value"):
            rank(x, Y[:4], "mim", missing="drop")


@pytest.mark.parametrize("missing", ["mean", "zero"])
def test_transform_and_predict_fill_as_in_training(missing):
    day = RNG.normal(size=(50, 6))
    day[np.arange(50), np.arange(50) % 6] = np.nan
    by_hand = np.where(np.isnan(day), MEANS if missing == "mean" else 0.0, day)
    selector = JMISelector(num_top_features=3, missing=missing).fit(HOLES, Y)
    assert selector.fill_.tolist() == (MEANS.tolist() if missing == "mean" else [0.0] * 6)
    plain = JMISelector(num_top_features=3).fit(FILLED[missing], Y)
    assert selector.transform(day).tobytes() == plain.transform(by_hand).tobytes()
    again = pickle.loads(pickle.dumps(selector))
    assert (
        again.transform(sp.csr_matrix(day)).toarray().tobytes()
        == plain.transform(by_hand).tobytes()
    )
    assert (
        np.isnan(day[:, selector.get_support()]).any()
        and selector.transform(day.astype(np.float32)).dtype == np.float32
    )
    for estimator, method in (
        (BRSVMClassifier(missing=missing), "predict"),
        (MDDMExtractor(missing=missing), "transform"),
    ):
        fitted = clone(estimator).fit(HOLES, Y)
        want = clone(estimator).set_params(missing="error").fit(FILLED[missing], Y)
        assert getattr(fitted, method)(day).tobytes() == getattr(want, method)(by_hand).tobytes()
    pipe = make_pipeline(
        MultiLabelSelector("mim", num_top_features=4, missing=missing), BRSVMClassifier()
    ).fit(HOLES, Y)
    assert pipe.predict(day).shape == (50, 3)


def test_what_is_not_filled_is_refused():
    frame, day = (
        pd.DataFrame(HOLES, columns=list("abcdef")),
        pd.DataFrame(X[:9].copy(), columns=list("abcdef")),
    )
    selector = JMISelector(num_top_features=3, missing="drop").fit(frame, Y)
    assert selector.fill_ is None
    kept, aside = (list(frame.columns[selector.get_support() == flag]) for flag in (True, False))
    day.loc[4, aside[0]] = np.nan  # is nobody's business
    assert selector.transform(day).shape == (9, 3)
    day.loc[5, kept[1]] = np.nan
    with pytest.raises(DataError, match=f"row 5 of X: feature '{kept[1]}' is missing"):
        selector.transform(day)
    strict = JMISelector(num_top_features=3).fit(pd.DataFrame(X, columns=list("abcdef")), Y)
    with pytest.raises(DataError, match=r"row 5 of X: feature '.' is missing"):
        strict.transform(day)
    with pytest.raises(ParameterError, match="missing"):
        rank(HOLES, Y, "jmi", missing="median")
    broken = HOLES.copy()
    broken[8, 2] = np.inf
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        with pytest.raises(DataError, match="row 8 of X: feature 2 is inf"):
            rank(broken, Y, "jmi", missing="mean")
    with pytest.raises(DataError, match="row 3 of X: feature 0 is missing"):
        rank(HOLES, Y, "jmi")


def test_an_estimator_pickled_before_there_was_a_fill():
    selector = JMISelector(num_top_features=2).fit(X, Y)
    state = {k: v for k, v in selector.__getstate__().items() if k not in ("missing", "fill_")}
    before = JMISelector.__new__(JMISelector)
    before.__setstate__(state)
    assert (
        before.transform(X[:5]).tobytes() == selector.transform(X[:5]).tobytes()
        and before.get_params()["missing"] == "error"
    )


def test_kept_missing_values_pass_on_to_a_model_that_takes_them():
    draw = np.random.default_rng(0)
    y = (draw.random(300) < 0.4).astype(int)
    x = draw.normal(size=(300, 5))
    x[:, 1] += 2 * y
    x[draw.random(x.shape) < 0.1] = np.nan
    frame = pd.DataFrame(x, columns=list("abcde")).astype({"b": "Float64"})
    selector = MIMSelector(num_top_features=2, missing="keep")
    for table in (x, frame):
        model = make_pipeline(selector, HistGradientBoostingClassifier()).fit(table, y)
        assert model.score(table, y) > 0.9
        kept = np.asarray(model[0].transform(table), float)
        assert np.array_equal(kept, x[:, model[0].get_support()], equal_nan=True)
        filled = MIMSelector(num_top_features=2, missing="mean").fit(table, y)
        assert model[0].ranking_.equals(filled.ranking_)
    out = selector.set_output(transform="pandas").fit(frame, y).transform(frame)
    assert out.equals(frame[out.columns])
    assert rank(x, y, "mim", missing="keep").equals(rank(x, y, "mim", missing="mean"))
    for estimator in (MLkNNClassifier(missing="keep"), LIFTExtractor(missing="keep")):
        with pytest.raises(ParameterError, match="missing must be one of 'error', 'mean', 'zero'"):
            estimator.fit(x, y)
    with pytest.raises(ParameterError, match="missing='keep' fills rows of each time with another"):
        states.collect(x, y, missing="keep")
    x[7, 3] = np.inf
    with pytest.raises(DataError, match="row 7 of X: feature 3 is inf"):
        selector.fit(x, y)


def test_missing_values_of_features_that_are_not_kept_do_not_matter():
    draw = np.random.default_rng(0)
    y = (draw.random(200) < 0.4).astype(int)
    x = draw.normal(size=(200, 4))
    x[:, 2] += 3 * y
    for missing in ("error", "mean", "drop"):
        selector = MIMSelector(num_top_features=1, missing=missing).fit(x, y)
        later = x.copy()
        later[5, [0, 1, 3]] = np.nan, np.inf, -np.inf
        assert np.array_equal(selector.transform(later), x[:, [2]])
    later[6, 2] = np.nan
    with pytest.raises(DataError, match=r"row 6 of X: feature 2 is missing"):
        selector.transform(later)
