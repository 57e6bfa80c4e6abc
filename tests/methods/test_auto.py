"""`auto`: what a method is worth against independent computations, the choice on planted data,
refusals."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from oracles.mlknn import MLkNN
from sklearn.linear_model import Ridge
from sklearn.metrics import label_ranking_average_precision_score

from spark_mlfs.cli import main
from spark_mlfs.errors import DataError, ParameterError
from spark_mlfs.kernels.label_ranks import LabelRanks
from spark_mlfs.methods import auto
from spark_mlfs.pipeline import Request
from spark_mlfs.sklearn import AutoSelector
from spark_mlfs.testing import block_of, engine_of, rank_here


def test_precision_equals_scikit_learn():
    rng = np.random.default_rng(0)
    truth = rng.random((300, 7)) < 0.3
    truth = truth[(truth.sum(axis=1) > 0) & (truth.sum(axis=1) < 7)]
    scores = np.round(rng.random(truth.shape), 1)  # many ties
    assert LabelRanks.of(truth, scores).precision().mean() == pytest.approx(
        label_ranking_average_precision_score(truth, scores)
    )


@pytest.mark.parametrize("sparse", [False, True])
def test_judges_equal_what_they_are_named_after(sparse):
    rng = np.random.default_rng(1)
    x, y = rng.normal(size=(90, 4)), (rng.random((90, 3)) < 0.4).astype(float)
    query = rng.normal(size=(40, 4))
    y[:, 0] = x[:, 0] > 0.2
    shown = sp.csr_matrix if sparse else np.asarray
    scores = auto.predict("linear", shown(x), sp.csr_matrix(y), shown(query))
    mean, scale = x.mean(axis=0), x.std(axis=0)
    assert np.allclose(
        scores, Ridge(alpha=1.0).fit((x - mean) / scale, y).predict((query - mean) / scale)
    )
    got = auto.predict("mlknn", shown(x), sp.csr_matrix(y), shown(query))
    assert np.allclose(got, MLkNN().fit(x, y).posterior(query))


def test_equal_rows_share_a_fold():
    rng = np.random.default_rng(2)
    x = rng.integers(0, 3, size=(300, 3)).astype(float)  # 27 different rows
    y = (rng.random((300, 2)) < 0.5).astype(float)
    for rows in (x, sp.csr_matrix(x)):
        fold = auto.folds_of(block_of(rows, y), 3, 0)
        for same in np.unique(x, axis=0):
            assert len(set(fold[(x == same).all(axis=1)])) == 1
    plain = auto.folds_of(block_of(rng.normal(size=(300, 3)), y), 3, 0)
    assert list(np.bincount(plain)) == [100, 100, 100]


def bent(seed=3):
    """One label of |x0|, one of |x1|: no linear statistic sees them; eight columns of noise."""
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(400, 10))
    return x, (np.abs(x[:, :2]) > 0.8).astype(float)


def test_takes_what_predicts_best_and_ranks_as_that_does():
    x, y = bent()
    order, _values, scores = rank_here(
        engine_of(x, y), Request.of("auto", {"methods": "fisher,mim", "judge": "mlknn"}, 2)
    )
    assert scores.details["chosen_method"] == "mim"
    assert list(order) == list(rank_here(engine_of(x, y), Request.of("mim", {}, 2))[0])
    tried = {line["method"]: line for line in scores.details["tried"]}
    assert tried["mim"]["average_precision"] > tried["fisher"]["average_precision"]
    assert tried["mim"]["best_in"] + tried["fisher"]["best_in"] == pytest.approx(1)
    assert "mim, of 2 tried" in scores.details["verdict"]


def test_keeps_the_first_in_doubt():
    x, y = bent()
    same = Request.of("auto", {"methods": "mim,enm"}, 2)  # both pick the two
    assert rank_here(engine_of(x, y), same)[2].details["chosen_method"] == "mim"
    other = Request.of("auto", {"methods": "enm,mim"}, 2)
    assert rank_here(engine_of(x, y), other)[2].details["chosen_method"] == "enm"


def test_what_cannot_be_tried_is_told():
    x, y = bent()
    y[:] = np.arange(400)[:, None] % 2 == 0  # one labelset but the empty one
    x[:, 0] += y[:, 0]
    engine = engine_of(x, y)
    result = rank_here(engine, Request.of("auto", {"methods": "ppt-cmi,mim"}, 2))[2]
    assert {line["method"] for line in result.details["tried"]} == {"ppt-cmi", "mim"}
    few = rank_here(engine_of(x[:15], y[:15]), Request.of("auto", {"methods": "mim,chi2"}, 2))[2]
    assert (
        few.details["chosen_method"] == "mim"
        and "too few to try methods on" in few.details["verdict"]
    )
    with pytest.raises(DataError, match="equal"):
        rank_here(
            engine_of(np.repeat([[0.0], [1.0]], [29, 1], axis=0), y[:30]),
            Request.of("auto", {"folds": 2}, 1),
        )


@pytest.mark.parametrize("exponent", [-20, -900])
def test_the_unit_of_the_features_changes_no_choice(exponent):
    x, y = bent()
    query = np.random.default_rng(5).normal(size=(40, 10))
    labels = sp.csr_matrix(y)
    right = auto.predict("mlknn", x, labels, query)
    for form in (np.asarray, sp.csr_matrix):
        rows, others = form(np.ldexp(x, exponent)), form(np.ldexp(query, exponent))
        np.testing.assert_array_equal(auto.predict("mlknn", rows, labels, others), right)


def test_a_refusal_names_settings_as_the_face_does(tmp_path, capsys):
    """`ridge` takes products of all features, more than one process may here."""
    x = np.random.default_rng(3).integers(0, 3, size=(60, 500)).astype(np.uint8)
    settings = {"methods": "mim,ridge", "sample": 40, "judge": "mlknn"}
    selector = AutoSelector(**settings, num_top_features=2, memory_bytes=1 << 20)
    details = selector.fit(x, (x[:, :2] > 1).astype(int)).details_
    refused = details["tried"][1]["refused"]
    assert "more than memory_bytes = 1 MB: raise memory_bytes, lower num_bins" in refused
    assert refused in details["verdict"]
    frame = pd.DataFrame(x, columns=[f"x{j}" for j in range(500)])
    frame.assign(t=x[:, 0] > 1, u=x[:, 1] > 1).to_parquet(tmp_path / "t.parquet")
    flags = "--format parquet --features x* --labels-col t u --method auto --engine local"
    flags += " --set methods=mim,ridge --set sample=40 --memory-bytes 2M --num-top-features 2"
    run = ["select", "--data", str(tmp_path / "t.parquet"), *flags.split()]
    assert main([*run, "--output", str(tmp_path / "run")]) == 0
    out = capsys.readouterr().out
    assert re.search(r"Not tried: ridge .* than --memory-bytes 2 MB: raise --memory-bytes,", out)


def test_folds_in_which_nothing_varies_are_left_out():
    """One feature that varies, in a few rows: without those it is constant."""
    x, y = np.zeros((60, 3)), np.random.default_rng(0).random((60, 2)) < 0.5
    for rows in (1, 2, 3, 5):
        x[:rows, 1] = np.arange(1, rows + 1)
        try:
            assert rank_here(engine_of(x, y.astype(float)), Request.of("auto", {}, 2))[
                0
            ].tolist() == [1, 0, 2]
        except DataError as error:
            assert rows < 5 and "name a method" in str(error)


@pytest.mark.parametrize(
    ("methods", "word"),
    [("mim,auto", "own methods"), ("mmi", "did you mean 'mim'"), (" , ", "commas")],
)
def test_names_are_checked_before_any_row_is_read(methods, word):
    with pytest.raises(ParameterError, match=word):
        Request.of("auto", {"methods": methods})
