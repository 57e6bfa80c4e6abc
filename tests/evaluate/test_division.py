"""`evaluate.split` and scikit-learn's splitters: the paper's algorithm on every face, even sizes,
rows that come back whole."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import scipy.sparse as sp
from oracles.stratification import iterative_stratification
from pyspark.ml.linalg import Vectors
from pyspark.sql import functions as F
from sklearn.model_selection import GridSearchCV, StratifiedKFold, cross_val_score
from sklearn.pipeline import make_pipeline

import spark_mlfs
from spark_mlfs import evaluate
from spark_mlfs.errors import DataError, ParameterError
from spark_mlfs.evaluate import division as module
from spark_mlfs.evaluate.protocol import Protocol
from spark_mlfs.kernels.hashing import mix
from spark_mlfs.sklearn import (
    MLkNNClassifier,
    MultiLabelSelector,
    MultiLabelStratifiedKFold,
    MultiLabelStratifiedShuffleSplit,
)

N, Q = 200, 4


def labelled(seed=0, n=N):
    rng = np.random.default_rng(seed)
    return (rng.random((n, Q)) < [0.5, 0.3, 0.1, 0.05]).astype(int)


def tags_of(y):
    return [[f"t{label}" for label in np.flatnonzero(row)] for row in y]


def by_the_paper(ids, y, shares, seed):
    """(n,) the fold of each row by the oracle."""
    hashes = mix(ids, seed)
    order = np.argsort(hashes)
    folds = iterative_stratification(
        [set(np.flatnonzero(y[i])) for i in order], shares, [int(h) for h in hashes[order]]
    )
    out = np.empty(len(ids), int)
    out[order] = folds
    return out


def test_labels_in_memory_are_split_as_the_paper_says_in_every_form():
    y = labelled()
    draw = Protocol.of("80/20", 3).repeat_seeds[0]
    want = np.flatnonzero(by_the_paper(np.arange(N), y, (0.2, 0.8), draw) == 0)
    forms = [
        y,
        sp.csr_matrix(y),
        pd.DataFrame(y, columns=list("abcd")),
        tags_of(y),
        np.where(y, 1.0, 0.0),
    ]
    for form in forms:
        train, test = spark_mlfs.evaluate.split(form, "stratified 80/20", seed=3)
        assert test.tolist() == want.tolist() and sorted([*train, *test]) == list(range(N))
    texts = [";".join(tags) for tags in tags_of(y)]
    if all(texts):
        assert (
            evaluate.split(texts, "stratified 80/20", seed=3, delimiter=";")[1].tolist()
            == want.tolist()
        )
    pairs = evaluate.split(y, "stratified 2x5-fold")
    assert len(pairs) == 10 and sorted(np.concatenate([test for _, test in pairs[:5]])) == list(
        range(N)
    )


@pytest.mark.parametrize(
    ("n", "text"),
    [(200, "5-fold"), (203, "5-fold"), (17, "10-fold"), (101, "3x7-fold"), (9, "70/30")],
)
def test_unstratified_folds_are_equal_within_one_row(n, text):
    pairs = evaluate.split(np.ones((n, 2)) * [1, 0], text)
    sizes = [len(test) for _, test in (pairs if isinstance(pairs, list) else [pairs])]
    wanted = Protocol.of(text).shares[0] * n
    assert all(np.floor(wanted) <= size <= np.ceil(wanted) for size in sizes) and np.ptp(sizes) <= 1


def test_what_cannot_be_split_is_told():
    with pytest.raises(ParameterError, match="protocol"):
        evaluate.split(labelled(), "80/30")
    with pytest.raises(DataError, match="leaves a side without rows"):
        evaluate.split(labelled(n=3), "5-fold")
    with pytest.raises(AttributeError):
        _ = evaluate.splits


# ---- frames of Spark's ----


@pytest.fixture(scope="module")
def frame(spark):
    y = labelled(1, 300)
    ids = np.random.default_rng(1).permutation(3000)[:300]
    rows = [
        (int(i), tags, f"text {i}", float(at))
        for at, (i, tags) in enumerate(zip(ids, tags_of(y), strict=True))
    ]
    table = spark.createDataFrame(rows, ["my.id", "labels", "x.y", "z"]).repartition(5).cache()
    yield ids, y, table
    table.unpersist()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "most"),
    [("stratified 80/20", 200_000), ("stratified 3-fold", 10), ("3-fold", 200_000), ("3-fold", 10)],
)
def test_frames_of_spark_are_split_with_all_their_columns(frame, monkeypatch, text, most):
    ids, y, rows = frame
    monkeypatch.setattr(module, "MOST_LISTED_ROWS", most)
    pairs = evaluate.split(rows, text, row_id="my.id", seed=2)
    pairs = pairs if isinstance(pairs, list) else [pairs]
    told = [{row[0] for row in test.select("`my.id`").collect()} for _, test in pairs]
    train, test = pairs[0]
    assert train.columns == test.columns == rows.columns
    assert sorted([*train.collect(), *test.collect()]) == sorted(rows.collect())
    if most > 10:
        protocol = Protocol.of(text, 2)
        if protocol.stratified:
            folds = by_the_paper(ids, y, protocol.shares, protocol.repeat_seeds[0])
            assert told == [set(ids[folds == fold]) for fold in range(len(told))]
        assert max(map(len, told)) - min(map(len, told)) <= (4 if protocol.stratified else 1)
    again = evaluate.split(rows.repartition(2), text, row_id="my.id", seed=2)
    again = again if isinstance(again, list) else [again]
    assert told == [{row[0] for row in test.select("`my.id`").collect()} for _, test in again]
    if text.startswith("stratified"):
        share = np.array([y[np.isin(ids, list(part))].sum(axis=0) for part in told]) / y.sum(axis=0)
        assert np.abs(share - Protocol.of(text).shares[0]).max() < (0.05 if most > 10 else 0.2)


@pytest.mark.slow
def test_rows_of_one_id_stay_together_on_spark(frame, monkeypatch):
    _, _, rows = frame
    twice = rows.union(rows.where("z < 100"))
    for most in (200_000, 10):
        monkeypatch.setattr(module, "MOST_LISTED_ROWS", most)
        train, test = evaluate.split(twice, "stratified 70/30", row_id="my.id")
        sides = [[row[0] for row in side.select("`my.id`").collect()] for side in (train, test)]
        assert sum(map(len, sides)) == 300 + 100 and not {*sides[0]} & {*sides[1]}


@pytest.mark.slow
def test_many_rows_of_spark_are_split_alike_in_every_form_of_their_labels(spark, monkeypatch):
    monkeypatch.setattr(module, "MOST_LISTED_ROWS", 10)
    rows = []
    for at, row in enumerate(labelled(2, 200)):
        positive = [int(label) for label in np.flatnonzero(row)]
        flags = [
            float(flag) if flag or (at + label) % 7 else None for label, flag in enumerate(row)
        ]  # 0, 1 and unknown
        unknown = [float("nan") if flag is None else flag for flag in flags]
        sparse = Vectors.sparse(len(row), positive, [1.0] * len(positive))
        rows.append((at, positive, flags if positive else None, sparse, Vectors.dense(unknown)))
    frame = spark.createDataFrame(rows, ["id", "ids", "flags", "sparse", "dense"])
    told = [
        {row.id for row in evaluate.split(frame, "stratified 70/30", form)[1].collect()}
        for form in ("ids", "flags", "sparse", "dense")
    ]
    assert 55 <= len(told[0]) <= 65 and all(each == told[0] for each in told)


@pytest.mark.slow
def test_a_frame_of_spark_needs_ids_and_labels(frame):
    _, _, rows = frame
    with pytest.raises(ParameterError, match="there is no column 'id'"):
        evaluate.split(rows, "stratified 80/20")
    with pytest.raises(ParameterError, match="no column 'tags'"):
        evaluate.split(rows, "stratified 80/20", "tags", "my.id")
    with pytest.raises(ParameterError, match=r"'x\.y' is string"):
        evaluate.split(rows, "stratified 80/20", "x.y", "my.id")
    texts = rows.withColumn("key", F.concat(F.lit("k"), F.col("`my.id`")))
    train, test = evaluate.split(texts, "stratified 80/20", row_id="key")
    tested = test.count()
    assert train.count() + tested == 300 and 50 <= tested <= 70


# ---- scikit-learn's splitters ----


def test_k_folds_are_the_papers_and_go_by_scikit_learns_conventions():
    y = labelled(2)
    folds = by_the_paper(np.arange(N), y, (0.25,) * 4, 7)
    splitter = MultiLabelStratifiedKFold(4, shuffle=True, random_state=7)
    pairs = list(splitter.split(np.zeros((N, 1)), y))
    assert splitter.get_n_splits() == 4 and [test.tolist() for _, test in pairs] == [
        np.flatnonzero(folds == fold).tolist() for fold in range(4)
    ]
    assert all(sorted([*train, *test]) == list(range(N)) for train, test in pairs)
    tagged = list(splitter.split(None, tags_of(y)))
    assert all(
        (a == b).all()
        for one, other in zip(pairs, tagged, strict=True)
        for a, b in zip(one, other, strict=True)
    )
    plain = [test.tolist() for _, test in MultiLabelStratifiedKFold().split(None, y)]
    assert (
        plain == [test.tolist() for _, test in MultiLabelStratifiedKFold().split(None, y)]
        and len(plain) == 5
    )
    drawn = MultiLabelStratifiedKFold(shuffle=True, random_state=np.random.RandomState(0))
    assert [t.tolist() for _, t in drawn.split(None, y)] != [
        t.tolist() for _, t in drawn.split(None, y)
    ]
    assert (
        repr(splitter)
        .replace(" ", "")
        .startswith("MultiLabelStratifiedKFold(n_splits=4,random_state=7")
    )
    for wrong in ({"n_splits": 1}, {"random_state": 1}, {"n_splits": 2.5}):
        with pytest.raises(ValueError, match=r"n_splits|random_state|folds"):
            MultiLabelStratifiedKFold(**wrong)
    with pytest.raises(ValueError, match="greater than the number of samples"):
        list(MultiLabelStratifiedKFold(9).split(None, labelled(n=5)))


def test_shuffled_splits_have_their_sizes_and_shares():
    y = labelled(3, 1000)
    splitter = MultiLabelStratifiedShuffleSplit(3, test_size=0.3, train_size=100, random_state=1)
    pairs = list(splitter.split(None, y))
    assert (
        splitter.get_n_splits() == len(pairs) == 3 and pairs[0][1].tolist() != pairs[1][1].tolist()
    )
    for train, test in pairs:
        assert (
            not np.intersect1d(train, test).size
            and abs(len(test) - 300) <= 6
            and abs(len(train) - 100) <= 6
        )
        np.testing.assert_allclose(y[test].sum(axis=0), 0.3 * y.sum(axis=0), atol=1.01)
    again = list(splitter.split(None, tags_of(y)))
    assert all(
        (a == b).all()
        for one, other in zip(pairs, again, strict=True)
        for a, b in zip(one, other, strict=True)
    )
    (default,) = MultiLabelStratifiedShuffleSplit(1, random_state=0).split(None, y)
    assert abs(len(default[1]) - 100) <= 4 and len(default[0]) + len(default[1]) == 1000


@pytest.mark.parametrize("form", [np.asarray, tags_of])
def test_they_serve_cross_validation_and_grid_search(form):
    y = labelled(4)
    rng = np.random.default_rng(0)
    x = y @ rng.normal(size=(Q, 6)) + rng.normal(size=(N, 6))
    model = make_pipeline(
        MultiLabelSelector(method="mim", num_top_features=3), MLkNNClassifier(k=3)
    )

    def accuracy(estimator, rows, given):
        truth = (
            np.array([[f"t{label}" in tags for label in range(Q)] for tags in given])
            if form is tags_of
            else given
        )
        return float((estimator.predict(rows) == truth).mean())

    for cv in (
        MultiLabelStratifiedKFold(3, shuffle=True, random_state=0),
        MultiLabelStratifiedShuffleSplit(2, random_state=0),
    ):
        scores = cross_val_score(model, x, form(y), cv=cv, scoring=accuracy)
        assert len(scores) == cv.get_n_splits() and scores.min() > 0.6
        search = GridSearchCV(
            model, {"multilabelselector__num_top_features": [1, 5]}, cv=cv, scoring=accuracy
        )
        assert search.fit(x, form(y)).best_params_["multilabelselector__num_top_features"] in (1, 5)
    assert isinstance(MultiLabelStratifiedKFold(3), StratifiedKFold)
