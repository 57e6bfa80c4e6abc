"""Trials against an oracle; nothing of the test rows is fitted; one answer in one task and over a
cluster."""

from __future__ import annotations

import dataclasses
import threading
import time
from types import SimpleNamespace

import numpy as np
import pytest
import scipy.sparse as sp
from oracles.information import mutual_information
from oracles.mlknn import MLkNN
from pyspark.ml.linalg import Vectors
from sklearn import metrics as sk

from spark_mlfs import pipeline
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.block import Block
from spark_mlfs.blocks.dataset import InMemoryDataset
from spark_mlfs.blocks.pack import pack
from spark_mlfs.blocks.profile import profile_block
from spark_mlfs.classify import CLASSIFIERS
from spark_mlfs.engine import base
from spark_mlfs.engine import tasks as in_tasks
from spark_mlfs.engine.spark import SparkEngine
from spark_mlfs.errors import ParameterError, WorkerBudgetError, spelled
from spark_mlfs.evaluate import trials as experiment
from spark_mlfs.evaluate.data import marked
from spark_mlfs.evaluate.protocol import Protocol
from spark_mlfs.evaluate.trials import (
    Candidate,
    Choose,
    ClassifierSpec,
    Design,
    Trial,
    run_trials,
    size_of,
)
from spark_mlfs.params import check
from spark_mlfs.pipeline import Request
from spark_mlfs.select import Constraints
from spark_mlfs.statistics.base import Budgets

N, D, Q = 240, 12, 4


def judge(name="mlknn", **parameters):
    return ClassifierSpec(name, name, check(CLASSIFIERS.create(name).parameters, parameters, name))


def rows(seed=0, n=N):
    rng = np.random.default_rng(seed)
    x = np.round(rng.normal(size=(n, D)), 4)
    y = (x[:, [0, 3, 5, 7]] + 0.5 * rng.normal(size=(n, Q)) > 0.4).astype(float)
    return np.arange(n) * 3 + 1, x, y


def frame_of(spark, ids, x, y):
    lines = [
        (int(i), Vectors.dense(a), Vectors.dense(b)) for i, a, b in zip(ids, x, y, strict=True)
    ]
    return spark.createDataFrame(lines, ["id", "features", "labels"])


@pytest.fixture(scope="module")
def data(spark):
    ids, x, y = rows()
    packed = pack(frame_of(spark, ids, x, y), row_id="id")
    yield ids, x, y, packed
    packed.release()


def held(ids, x, y):
    """The rows in this process."""
    lists = sp.csr_matrix(y)
    block = Block(x, ids, lists.indptr, lists.indices)
    names = [
        [f"{what}_{j}" for j in range(width)] for what, width in (("features", D), ("labels", Q))
    ]
    return InMemoryDataset(profile_block(block, Q), *names, blocks=[block])


@pytest.fixture(scope="module")
def here():
    ids, x, y = rows()
    return ids, x, y, held(ids, x, y)


def results(packed, trials, **how: int):
    by_key = {}
    run_trials(
        packed,
        dict(enumerate(trials)),
        lambda key, result: by_key.__setitem__(key, result),
        budgets=Budgets(**how),
    )
    return [by_key[key] for key in range(len(trials))]


def without_seconds(result):
    drop = ("seconds", "wall", "fit", "predict")
    kept = {k: v for k, v in result.items() if k not in (*drop, "cells")}
    return kept | {
        "cells": [{k: v for k, v in cell.items() if k not in drop} for cell in result["cells"]]
    }


def test_a_trial_equals_the_oracle(here):
    ids, x, y, packed = here
    split = Protocol.of("3-fold").splits()[1]
    design = Design(("2", "50%"), (judge(k=5),), ("standard", "msfs-2022"))
    (result,) = results(packed, [Trial(Candidate("mim", (Request.of("mim"),)), split, design)])
    test = split.of(ids)
    xt, yt, xs, ys = x[~test], y[~test].astype(int), x[test], y[test].astype(int)
    low, high = xt.min(axis=0), xt.max(axis=0)
    codes = np.minimum(4, np.floor((xt - low) * 5 / (high - low))).astype(int)
    score = [
        sum(mutual_information(codes[:, j], yt[:, label]) for label in range(Q)) for j in range(D)
    ]
    order = np.argsort(-np.round(score, 12), kind="stable")
    assert result["order"] == order[:6].tolist()
    assert result["rows"] == [len(xt), len(xs)]
    assert [cell["count"] for cell in result["cells"]] == [2, 6]
    for cell in result["cells"]:
        kept = np.sort(order[: cell["count"]])
        oracle = MLkNN(k=5).fit(xt[:, kept], yt)
        scores, labels = oracle.posterior(xs[:, kept]), oracle.predict(xs[:, kept])
        assert cell["standard"]["hammingLoss"] == pytest.approx(
            sk.hamming_loss(ys, labels), abs=1e-12
        )
        assert cell["standard"]["averagePrecision"] == pytest.approx(
            sk.label_ranking_average_precision_score(ys, scores), abs=1e-9
        )
        assert cell["standard"]["rankingLoss"] == pytest.approx(
            sk.label_ranking_loss(ys, scores), abs=1e-9
        )
        assert cell["standard"]["macroF1"] == pytest.approx(
            sk.f1_score(ys, labels, average="macro", zero_division=0), abs=1e-12
        )
        assert cell["msfs-2022"]["averagePrecision"] != cell["standard"]["averagePrecision"]


@pytest.mark.slow
def test_included_features_are_first_in_every_split_and_excluded_ones_in_none(data):
    """As a selection from the training rows alone ranks them: in one process, over the cluster, and
    where inner folds choose; behind a screen, too."""
    ids, x, y, packed = data
    held_to = Constraints.of({"include": [9, 3], "exclude": [0, 6]})
    design = Design(("3", "100%"), (judge("brknn"),), choosing=Choose(folds=2))
    names = list(packed.feature_names)

    def candidate(name, screen, grids=({},)):
        requests = tuple(
            Request.of(name, cell, screen=screen, constraints=held_to) for cell in grids
        )
        return Candidate(name, requests).for_names([], names)

    ridge = ({"alpha": 0.1}, {"alpha": 1000.0})
    methods = [
        *(candidate("jmi", None), candidate("fisher", "chi2:6"), candidate("ridge", None, ridge)),
        *(candidate("jmi", "chi2:6"), candidate("fisher", None)),
        candidate("ridge", "chi2:6", ridge),
    ]
    trials = [
        Trial(method, split, design)
        for split in Protocol.of("2-fold").splits()
        for method in methods
    ]
    found = results(held(ids, x, y), trials)
    for trial, result in zip(trials, found, strict=True):
        assert (
            result["order"][:2] == [9, 3]
            and not {0, 6} & set(result["order"])
            and len(result["order"]) == D - 2
        )
        assert [cell["count"] for cell in result["cells"]] == [3, D - 2]
        train = ~trial.split.of(ids)
        name = trial.candidate.title
        screen = trial.candidate.requests[0].screen
        screen = screen and f"{screen.method}:{screen.count}"
        request = Request.of(name, result["parameters"], D, screen=screen, constraints=held_to)
        (alone,) = pipeline.rank(pack_arrays(x[train], y[train])[0], [request])
        assert result["order"] == list(alone.ranking["index"])
    again = results(packed, trials[:3], small=0)  # of the first split
    assert [without_seconds(result) for result in again] == [
        without_seconds(result) for result in found[:3]
    ]


def test_features_that_the_data_do_not_have_are_told(here):
    *_, packed = here
    asked = Candidate(
        "jmi", (Request.of("jmi", constraints=Constraints.of({"include": ["fetures_1"]})),)
    )
    with pytest.raises(
        ParameterError,
        match="include: the data have no feature 'fetures_1'; did you mean 'features_1'",
    ):
        asked.for_names([], packed.feature_names)


@pytest.mark.slow
def test_all_features_and_a_ranking_made_elsewhere(here):
    *_, packed = here
    split = Protocol.of("70/30").splits()[0]
    design = Design(("3", "6"), (judge("brknn"), judge("br-svm")))
    every, ranked = results(
        packed,
        [
            Trial(Candidate("all"), split, design),
            Trial(Candidate("g", order=(5, 7, 0)), split, design),
        ],
    )
    assert [(c["size"], c["count"]) for c in every["cells"]] == [("100%", D), ("100%", D)]
    assert ranked["order"] == [5, 7, 0, 1, 2, 3]
    assert {c["classifier"] for c in ranked["cells"]} == {"brknn", "br-svm"}


def test_nothing_that_is_fitted_sees_the_test_rows(here):
    ids, x, y, packed = here
    split = Protocol.of("3-fold").splits()[0]
    rng = np.random.default_rng(9)
    test = split.of(ids)
    other_x, other_y = x.copy(), y.copy()
    other_x[test] = rng.normal(size=(test.sum(), D)) * 50
    other_y[test] = rng.random((test.sum(), Q)) < 0.5
    grid = tuple(Request.of("ridge", {"alpha": a}) for a in (0.01, 10.0, 1000.0))
    design = Design(
        ("2", "4", "8"), (judge(k=3),), choosing=Choose(metric="hammingLoss", folds=2, size=True)
    )
    trial = Trial(Candidate("ridge", grid), split, design)
    (one,), (two,) = results(packed, [trial]), results(held(ids, other_x, other_y), [trial])
    for what in ("order", "parameters", "choices", "chosen_size"):
        assert one[what] == two[what], what
    assert one["cells"][0]["standard"] != two["cells"][0]["standard"]


def test_the_choice_is_the_best_inner_mean(here):
    *_, packed = here
    split = Protocol.of("70/30").splits()[0]
    grid = tuple(
        Request.of("lasso", {"alpha": a}) for a in (0.4, 0.01)
    )  # the first removes every feature: rank by index
    for metric, sign in (("averagePrecision", 1), ("rankingLoss", -1)):
        design = Design(("1", "4"), (judge(k=5),), choosing=Choose(metric=metric, folds=3))
        (result,) = results(packed, [Trial(Candidate("lasso", grid), split, design)])
        means = [np.mean(choice["values"]) for choice in result["choices"]]
        assert (
            result["parameters"]
            == result["choices"][int(np.argmax(sign * np.array(means)))]["parameters"]
            == {"alpha": 0.01}
        )
        assert not any(cell["chosen"] for cell in result["cells"])
        sized = dataclasses.replace(design, choosing=Choose(metric=metric, folds=3, size=True))
        (result,) = results(packed, [Trial(Candidate("lasso", grid), split, sized)])
        values = sign * np.array([choice["values"] for choice in result["choices"]])
        assert (
            result["chosen_size"] == ("1", "4")[np.unravel_index(values.argmax(), values.shape)[1]]
        )
        assert [c["chosen"] for c in result["cells"]] == [
            c["size"] == result["chosen_size"] for c in result["cells"]
        ]


@pytest.mark.slow
def test_over_a_cluster_as_in_one_task(data):
    """Others, and a screen: where features are included, above."""
    *_, packed = data
    split = Protocol.of("stratified 3-fold").splits(packed)[0]
    choosing = Choose(folds=2, sizes=("3",))
    chosen = Design(("3", "5"), (judge(k=5),), choosing=choosing)
    plain = Design(("5",), (judge("br-svm"),))
    grid = tuple(Request.of("ridge", {"alpha": a}) for a in (0.1, 100.0))
    trials = [
        Trial(Candidate("ridge", grid), split, chosen),
        Trial(Candidate("all"), split, plain),
    ]
    for here, there in zip(results(packed, trials), results(packed, trials, small=0), strict=True):
        assert here["order"] == there["order"] and here["parameters"] == there["parameters"]
        for one, two in zip(here["cells"], there["cells"], strict=True):
            assert one["standard"] == pytest.approx(two["standard"], abs=1e-12, nan_ok=True)


@pytest.mark.slow
def test_grams_of_all_training_sets_come_from_one_scan(data, monkeypatch):
    """With folds that are unions of groups, no trial of a Gram method scans for a Gram matrix of
    its own."""
    *_, packed = data
    scans = []
    compute = SparkEngine._compute
    monkeypatch.setattr(
        SparkEngine,
        "_compute",
        lambda self, wanted: (
            scans.extend(type(s).__name__ for s in wanted.values()) or compute(self, wanted)
        ),
    )
    splits = Protocol.of("2-fold").splits()
    design = Design(("4",), (judge("br-svm"),), choosing=Choose(folds=2))
    grid = tuple(Request.of("ridge", {"alpha": a}) for a in (0.1, 100.0))
    results(packed, [Trial(Candidate("ridge", grid), split, design) for split in splits], small=0)
    assert scans.count("Gram") == 1


def test_training_and_test_files(spark):
    ids, x, y = rows(1, 200)
    frame, split = marked(
        frame_of(spark, ids[:120], x[:120], y[:120]), frame_of(spark, ids[120:], x[120:], y[120:])
    )
    packed = pack(frame, row_id="id")
    try:
        design = Design(("3",), (judge(k=5),))
        (result,) = results(
            packed, [Trial(Candidate("f", (Request.of("f-statistic"),)), split, design)]
        )
    finally:
        packed.release()
    assert result["rows"] == [120, 80]
    with pytest.raises(ParameterError, match="the test rows have columns"):
        marked(frame, frame.drop("labels"))


@pytest.mark.slow
def test_what_cannot_be_run_says_why_and_the_others_go_on(data):
    *_, packed = data
    split = Protocol.of("70/30").splits()[0]
    good, bad = Design(("3",), (judge(k=5),)), Design(("3",), (judge(k=N),))
    trials = [Trial(Candidate("all"), split, bad), Trial(Candidate("all"), split, good)]
    for small in (1 << 20, 0):
        wrong, right = results(packed, trials, small=small)
        assert "lower k" in wrong["error"] and right["cells"]


def test_budgets_go_with_the_rows():
    """Whatever a trial makes of its rows in one task has the task's budgets."""
    ids, x, y = rows()
    lists = sp.csr_matrix(y)
    block = Block(x, ids, lists.indptr, lists.indices)
    budgets = Budgets(driver=12345678, worker=23456789)
    rows_ = experiment.RowSet(InMemoryDataset(profile_block(block, Q), blocks=[block]), budgets)
    with rows_.split(Protocol.of("3-fold").splits()[0]) as (train, test):
        fewer = train.changed(lambda part: dataclasses.replace(part, x=part.x[:, :5]), True)
        engines = [e.engine() for e in (train, test, fewer)] + [
            e.engine(np.array([1, 3])) for e in (train, fewer)
        ]
    assert [e.num_features for e in engines] == [D, D, 5, 2, 2]
    assert {(e.budgets.driver, e.budgets.worker) for e in engines} == {(12345678, 23456789)}


@pytest.mark.slow
def test_what_one_task_may_not_hold_runs_over_the_cluster(data, monkeypatch):
    *_, packed = data
    one_task, on, tasks, spread = in_tasks.run_in_one_task, Trial.on, [], []

    def in_one_task(packed, trial, budgets):
        tasks.append((trial.candidate.title, budgets.worker))
        if trial.candidate.title == "spec" and budgets.worker == tight:
            raise WorkerBudgetError("similarities of rows")
        return one_task(packed, trial, budgets)

    def over_cluster(trial, rows):
        if rows.packed is packed:
            spread.append((trial.candidate.title, rows.budgets.worker))
        return on(trial, rows)

    monkeypatch.setattr(in_tasks, "run_in_one_task", in_one_task)
    monkeypatch.setattr(Trial, "on", over_cluster)
    split = Protocol.of("3-fold").splits()[0]
    design = Design(("3", "5"), (judge("br-svm"),))
    trials = [
        Trial(Candidate(name, (Request.of(name),)), split, design) for name in ("mim", "spec")
    ]
    tight = 1 << 22
    plenty = results(packed, trials)
    assert not spread
    tasks.clear()
    scarce = results(packed, trials, worker=tight)
    assert sorted(tasks) == [("mim", tight), ("spec", tight)] and spread == [("spec", tight)]
    for one, two in zip(plenty, scarce, strict=True):
        assert without_seconds(one) == without_seconds(two)
    # the rows alone are too much: no task is tried, and the classifier has too little
    less = results(packed, trials, worker=packed.profile.size)
    assert len(tasks) == 2
    assert all("workerBytes" in spelled(result["error"]) for result in less)  # by pyspark's names


def test_a_fault_of_ours_is_not_hidden(data, monkeypatch):
    *_, packed = data
    split = Protocol.of("70/30").splits()[0]
    design = Design(("3",), (judge(k=5),))
    monkeypatch.setattr(experiment, "run_selection", lambda *a: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        results(packed, [Trial(Candidate("all"), split, design)], small=0)


def test_an_interrupt_ends_what_is_under_way(monkeypatch):
    """Also a trial that began while others were ended: it was waited for, however long it took."""
    begun, second, ended, calls = [], threading.Event(), threading.Event(), []

    def work(packed, trial, *budgets):
        begun.append(trial)
        if len(begun) > 1:
            second.set()
            ended.wait(20)
        return {}, None

    def interrupt():
        calls.append(1)
        if len(calls) > 1:
            ended.set()

    def done(*_):
        second.wait(20)
        raise KeyboardInterrupt

    monkeypatch.setattr(in_tasks, "run_in_one_task", work)
    packed = SimpleNamespace(
        frame=SimpleNamespace(sparkSession=SimpleNamespace(interruptAll=interrupt))
    )
    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        experiment._run_in_tasks(packed, dict(enumerate("abcd")), done, 1, experiment.Budgets())
    assert len(calls) > 1 and begun == ["a", "b"] and time.perf_counter() - started < 15


def test_an_interrupt_does_not_wait_for_who_never_answers(monkeypatch):
    never, begun = threading.Event(), threading.Event()
    monkeypatch.setattr(base, "SECONDS_TO_END", 0.3)

    def endless():
        begun.set()
        never.wait(30)

    def interrupted(*_):
        raise KeyboardInterrupt

    started = time.perf_counter()
    with pytest.raises(KeyboardInterrupt):
        base.side_by_side(
            SimpleNamespace(interruptAll=never.wait),
            2,
            {"short": begun.wait, "endless": endless, "later": endless},
            interrupted,
        )
    assert time.perf_counter() - started < 5
    never.set()


def test_sizes():
    assert [size_of(t, 80) for t in ("10%", "0.1%", "100%", "7", "500")] == [8, 1, 80, 7, 80]
    for wrong in ("0", "-3", "120%", "0%", "many", "%"):
        with pytest.raises(ParameterError, match="give a number of features"):
            size_of(wrong, 80)


def test_a_marked_split_needs_marked_rows(spark, data):
    *_, _packed = data
    from spark_mlfs.blocks.folds import Marked, Split

    ids, x, y = rows(2, 40)
    odd = pack(frame_of(spark, ids * 2 + 1, x, y), row_id="id")
    try:
        (result,) = results(
            odd,
            [
                Trial(
                    Candidate("all"), Split("files", 0, 0, Marked()), Design(("3",), (judge(k=3),))
                )
            ],
        )
    finally:
        odd.release()
    assert "training rows" in result["error"]


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
def test_one_answer_whatever_the_partitions(spark, sparse):
    ids, x, y = rows(3, 150)
    x[np.random.default_rng(1).random(x.shape) < 0.6] = 0
    lines = [
        (
            int(i),
            Vectors.sparse(D, [(int(j), float(a[j])) for j in np.flatnonzero(a)])
            if sparse
            else Vectors.dense(a),
            Vectors.dense(b),
        )
        for i, a, b in zip(ids, x, y, strict=True)
    ]
    frame = spark.createDataFrame(lines, ["id", "features", "labels"])
    grid = tuple(Request.of("csfs", {"mu": m}) for m in (1.0, 100.0))
    design = Design(("3", "50%"), (judge(k=5),), choosing=Choose(folds=2, sizes=("3",)))
    per_partitioning = []
    for partitions in (1, 7):
        packed = pack(frame.repartition(partitions), row_id="id")
        trial = Trial(
            Candidate("csfs", grid), Protocol.of("stratified 3-fold").splits(packed)[0], design
        )
        per_partitioning.append(without_seconds(results(packed, [trial])[0]))
        assert packed.profile.sparse == sparse
        packed.release()
    assert per_partitioning[0] == per_partitioning[1]


def test_a_ranking_of_other_data_is_refused(here):
    *_, packed = here
    trial = Trial(
        Candidate("elsewhere", order=(0, D)),
        Protocol.of("70/30").splits()[0],
        Design(("1",), (judge(k=5),)),
    )
    (result,) = results(packed, [trial])
    assert f"names feature {D}" in result["error"]


def test_a_column_of_categories_is_one_feature():
    """Of methods that keep its 0/1 features together; to others each of them is one, as to
    `select`."""
    rng = np.random.default_rng(0)
    ids, x, y = rows()
    values = rng.integers(0, 4, N)
    y[:, 1] = values % 2
    x = np.column_stack([x[:, :2], np.eye(4)[values], x[:, 2:8]])
    here = held(ids, x, y)
    names, groups = (
        [*"ab", *(f"k={v}" for v in range(4)), *"cdefgh"],
        (("k", tuple(f"k={v}" for v in range(4))),),
    )
    design = Design(("1", "2", "50%", "100%"), (judge(),))
    split = next(iter(Protocol.of("2-fold", 0).splits()))
    for method in ("ridge", "forward", "mim"):
        candidate = Candidate(method, (Request.of(method),)).for_names([*"wxyz"], names, groups)
        (found,) = results(here, [Trial(candidate, split, design)])
        order = found["order"]
        at = order.index(next(f for f in order if 2 <= f < 6))
        assert sorted(order[at : at + 4]) == [2, 3, 4, 5] and found["features"] == 9
        assert [cell["count"] for cell in found["cells"]] == [1, 2, 4, 9] and len(order) == 12
        for cell in found["cells"]:
            row = cell["count"] + 3 * (cell["count"] > at)
            plain = Candidate("given", order=tuple(order[:row]))
            (wanted,) = results(here, [Trial(plain, split, Design((str(row),), (judge(),)))])
            assert wanted["cells"][0]["standard"] == cell["standard"]
    whole, apart = Candidate("all"), Candidate("auto", (Request.of("auto"),))
    (found,) = results(here, [Trial(whole.for_names([*"wxyz"], names, groups), split, design)])
    assert [cell["count"] for cell in found["cells"]] == [9] == [found["features"]]
    assert not apart.for_names([*"wxyz"], names, groups).columns
