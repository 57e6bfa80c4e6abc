"""Folds that keep groups of rows whole, as even as can be."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyspark.sql import functions as F
from sklearn.model_selection import GroupKFold, KFold, StratifiedGroupKFold, cross_val_score

import spark_mlfs
from spark_mlfs import DataError, ParameterError, compare, pipeline, rank
from spark_mlfs.blocks.arrays import pack_arrays
from spark_mlfs.blocks.folds import Hashed, Listed, fold_of
from spark_mlfs.blocks.pack import pack
from spark_mlfs.errors import DataNotice
from spark_mlfs.evaluate import block_folds, split
from spark_mlfs.evaluate import protocol as protocols
from spark_mlfs.evaluate.block_folds import collect_groups, count_groups
from spark_mlfs.evaluate.outcome import leakage_line
from spark_mlfs.evaluate.protocol import Protocol
from spark_mlfs.frames.frame import LocalSession
from spark_mlfs.select.request import Cut
from spark_mlfs.select.stability_rule import halves
from spark_mlfs.sklearn import (
    ForwardSelector,
    MIMSelector,
    MLkNNClassifier,
    MLNBExtractor,
    MultiLabelSelector,
    MultiLabelStratifiedKFold,
    MultiLabelStratifiedShuffleSplit,
)


def rows(seed: int, groups: int, n: int = 600) -> tuple[np.ndarray, np.ndarray]:
    """Labels that differ from group to group, and groups of unequal sizes."""
    draw = np.random.default_rng(seed)
    weight = draw.pareto(2.5, groups) + 0.3
    group = np.concatenate(
        [np.arange(groups), draw.choice(groups, n - groups, p=weight / weight.sum())]
    )
    rate = draw.beta(1, 3, (groups, 4))
    return (draw.random((n, 4)) < rate[group]).astype(int), group


def unevenness(folds: list[np.ndarray], Y: np.ndarray) -> tuple[float, float]:
    """How far sizes, and rows of labels, of folds are from their shares, relative to these."""
    sizes = np.array([len(fold) for fold in folds]) * len(folds) / len(Y)
    labels = np.array([Y[fold].sum(axis=0) for fold in folds]) * len(folds) / Y.sum(axis=0)
    return np.abs(sizes - 1).max(), np.abs(labels - 1).mean()


def whole(folds: list[np.ndarray], group: np.ndarray) -> bool:
    return sum(len(set(group[fold])) for fold in folds) == len(set(group))


@pytest.mark.filterwarnings("ignore::spark_mlfs.errors.DataNotice")
def test_groups_stay_whole_and_folds_are_as_even_as_elsewhere() -> None:
    ours, theirs, sizes = [], [], []
    for seed in range(12):
        Y, group = rows(seed, (20, 60, 200)[seed % 3])
        X = np.zeros((len(Y), 1))
        folds = [test for _, test in MultiLabelStratifiedKFold(5).split(X, Y, group)]
        assert whole(folds, group) and sum(map(len, folds)) == len(Y)
        ours.append(unevenness(folds, Y))
        labelsets = Y @ (1 << np.arange(4))
        other = StratifiedGroupKFold(5).split(X, labelsets, group)
        theirs.append(unevenness([test for _, test in other], Y))
        plain = [test for _, test in split(Y, "5-fold", groups=group)]
        by_size = [test for _, test in GroupKFold(5).split(X, groups=group)]
        assert whole(plain, group)
        sizes.append((unevenness(plain, Y)[0], unevenness(by_size, Y)[0]))
    assert (np.mean(ours, axis=0) < np.mean(theirs, axis=0)).all()
    assert np.mean(sizes, axis=0)[0] < np.mean(sizes, axis=0)[1] + 0.01


def test_every_face_takes_groups_of_any_kind() -> None:
    Y, group = rows(0, 60)
    right = [fold.tolist() for fold in split(Y, "stratified 3-fold", seed=1, groups=group)[0]]
    for kind in (list, pd.Series, lambda values: pd.Series(values, dtype="Int64")):
        pair = split(Y, "stratified 3-fold", seed=1, groups=kind(group))[0]
        assert [fold.tolist() for fold in pair] == right
    texts = np.array([f"patient {g}" for g in group])
    days = pd.to_datetime("2020-01-01") + pd.to_timedelta(group, "D")
    for groups in (texts, pd.Categorical(texts), days, days.date):
        training, test = split(Y, "70/30", groups=groups)
        assert not set(group[training]) & set(group[test])
    order = np.random.default_rng(0).permutation(len(Y))
    labels = pd.DataFrame(Y)
    for shuffled in (pd.Series(group).iloc[order],):
        pair = split(labels, "stratified 3-fold", seed=1, groups=shuffled)[0]
        assert [fold.tolist() for fold in pair] == right
    X = pd.DataFrame(np.random.default_rng(0).normal(size=(len(Y), 2)))
    first = next(MultiLabelStratifiedKFold(4).split(X, labels.iloc[order], pd.Series(group)))
    assert first[1].tolist() == next(MultiLabelStratifiedKFold(4).split(X, Y, group))[1].tolist()
    drawn = {tuple(split(Y, "2x50/50", groups=group)[i][1]) for i in range(2)}
    assert len(drawn) == 2  # repeats differ
    shuffled_split = MultiLabelStratifiedShuffleSplit(3, test_size=0.25, random_state=0)
    for training, test in shuffled_split.split(X, Y, group):
        assert not set(group[training]) & set(group[test]) and abs(len(test) - 150) < 15
    scores = cross_val_score(MLkNNClassifier(), X, Y, groups=group, cv=MultiLabelStratifiedKFold(3))
    assert len(scores) == 3


def test_what_cannot_be_even_is_said() -> None:
    Y, group = rows(1, 30)
    group[:300] = 0
    with pytest.warns(DataNotice, match=r"one has .* % of the rows in the place of 20 %"):
        split(Y, "5-fold", groups=group)
    Y[:, 3] = np.arange(len(Y)) == 599
    with pytest.warns(DataNotice, match="fewer groups than folds have 1 label, which"):
        split(Y, "stratified 5-fold", groups=np.arange(len(Y)) // 2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        split(Y[:, :3], "stratified 5-fold", groups=np.arange(len(Y)) // 2)
    with pytest.raises(DataError, match="3 groups of rows make no 5 parts"):
        split(Y, "5-fold", groups=np.arange(len(Y)) % 3)
    with pytest.raises(DataError, match=r"row 2 has no group \(groups holds nan\)"):
        split(Y, "5-fold", groups=[1, 2, np.nan, *range(len(Y) - 3)])
    with pytest.raises(DataError, match="groups has shape"):
        split(Y, "5-fold", groups=group[1:])


def test_one_row_a_group_is_no_group() -> None:
    Y, _ = rows(2, 30)
    folds = [test for _, test in split(Y, "stratified 5-fold", groups=np.arange(len(Y)))]
    others = [test for _, test in MultiLabelStratifiedKFold(5).split(Y, Y)]
    chance = [test for _, test in KFold(5).split(Y)]
    assert unevenness(folds, Y)[1] <= unevenness(others, Y)[1] + 0.01 < unevenness(chance, Y)[1]


@pytest.mark.slow
def test_groups_of_a_spark_frame_are_those_in_memory(spark) -> None:
    Y, group = rows(3, 40)
    names = [f"p{g}" for g in group]
    tags = [[f"t{j}" for j in np.flatnonzero(row)] for row in Y]
    table = list(zip(range(len(Y)), tags, names, group.tolist(), strict=True))
    frame = spark.createDataFrame(table, "id bigint, labels array<string>, name string, g int")
    for column, groups, protocol in (
        ("name", names, "stratified 3-fold"),
        ("g", group, "2x60/40"),
    ):
        pairs = split(frame, protocol, seed=5, groups=column)
        for (_, test), (_, places) in zip(
            pairs, split(tags, protocol, seed=5, groups=groups), strict=True
        ):
            assert sorted(row.id for row in test.select("id").collect()) == places.tolist()
    with pytest.raises(ParameterError, match="there is no column 'nam'"):
        split(frame, "5-fold", groups="nam")


# ---- folds of methods and comparisons ----


def leaking(seed: int = 0) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Features of which the last is the group's own number, as is the last label's value."""
    draw = np.random.default_rng(seed)
    group = draw.integers(0, 40, 600)
    X = draw.normal(size=(600, 6))
    Y = (draw.random((600, 2)) < 0.4).astype(int)
    X[:, 0] += Y[:, 0]
    X[:, 5] = draw.normal(size=40)[group]
    return X, np.column_stack([Y, (draw.random(40) < 0.5)[group]]), group


def explained(X: np.ndarray, Y: np.ndarray, fold: np.ndarray) -> np.ndarray:
    """J of each feature alone, worked out row by row (`methods.forward`, penalty 1)."""
    weights = 1 / Y.var(axis=0)
    gained = np.zeros(X.shape[1])
    total = 0.0
    for number in np.unique(fold):
        held_out = fold == number
        train = ~held_out
        z = (X - X[train].mean(axis=0)) / X.std(axis=0)
        y = Y - Y[train].mean(axis=0)
        total += (weights * (y[held_out] ** 2).sum(axis=0)).sum()
        b = (z[train].T @ y[train]) / ((z[train] ** 2).sum(axis=0) + train.sum())[:, None]
        gain = (
            2 * b * (z[held_out].T @ y[held_out]) - b**2 * (z[held_out] ** 2).sum(axis=0)[:, None]
        )
        gained += gain @ weights
    return gained / total


@pytest.mark.parametrize("method", ["ridge", "mim"])
def test_half_samples_keep_groups_whole(method: str) -> None:
    """Of the Gram matrices of groups and of rows: frequencies against half-samples made here."""
    X, Y, group = leaking()
    rows, _ = pack_arrays(X, Y, groups=group)
    place = rows.block.groups & 63
    assert len(set(zip(place, group, strict=True))) == len(set(group))
    chosen = np.zeros((100, X.shape[1]))
    for number, half in enumerate(halves(0)):
        members = half[place]
        assert 0.3 < members.mean() < 0.7
        found = rank(X[members], Y[members], method, 2, row_ids=np.flatnonzero(members))
        chosen[number, found["index"]] = 1
    selector = MultiLabelSelector(method, selection_mode="stability", num_top_features=2)
    ranking = selector.fit(X, Y, groups=group).ranking_
    frequency = ranking.sort_values("index")["frequency"]
    assert np.array_equal(frequency, chosen.mean(axis=0))


def test_forward_holds_whole_groups_out() -> None:
    X, Y, group = leaking()
    ranking = rank(X, Y, "forward", None, row_groups=group).sort_values("index")
    rows, _ = pack_arrays(X, Y, groups=group)
    fold = fold_of(rows.block, 5, rows.profile)
    assert whole([np.flatnonzero(fold == number) for number in range(5)], group)
    assert np.bincount(fold).max() < 1.15 * 600 / 5
    assert np.allclose(ranking["relevance"], explained(X, Y, fold), atol=1e-12)
    # what knows the group alone seems to explain its label, unless groups are held out
    alone = rank(X, Y, "forward", None).sort_values("index")
    assert alone["relevance"].iloc[5] > 0.01 > ranking["relevance"].iloc[5] + 0.004
    names = [f"p{g}" for g in group]
    assert ForwardSelector(num_top_features=2).fit(X, Y, groups=names).converged_ is not False
    for refused in (
        lambda: rank(X, Y, "mim", row_groups=group),
        lambda: MIMSelector().fit(X, Y, groups=group),
    ):
        with pytest.raises(ParameterError, match="mim makes no folds of rows"):
            refused()
    with pytest.warns(DataNotice, match="a group has 50 % of the rows"):
        rank(X, Y, "forward", 1, row_groups=np.where(np.arange(600) < 300, -1, group))


@pytest.mark.parametrize("protocol", ["stratified 3-fold", "2x70/30"])
def test_folds_of_packed_rows_keep_groups_whole(protocol: str) -> None:
    X, Y, group = leaking()
    rows, _ = pack_arrays(X, Y, groups=[f"p{g}" for g in group])
    for part in Protocol.of(protocol).splits(rows):
        tested = part.of(rows.block)
        assert not set(group[tested]) & set(group[~tested]) and 0.2 < tested.mean() < 0.5


@pytest.mark.parametrize("protocol", ["3-fold", "7-fold", "2x70/30"])
def test_more_groups_than_a_list_holds_stay_whole_by_their_hash(monkeypatch, protocol) -> None:
    monkeypatch.setattr(protocols, "MOST_LISTED_ROWS", 30)
    X, Y, group = leaking()
    rows, _ = pack_arrays(X, Y, groups=[f"p{g}" for g in group])
    splits = Protocol.of(protocol).splits(rows)
    tested = np.array([part.of(rows.block) for part in splits])
    assert isinstance(splits[0].folds, Hashed)
    for sides in tested:
        assert not set(group[sides]) & set(group[~sides]) and 0 < sides.mean() < 0.6
    if "fold" in protocol:
        assert (tested.sum(axis=0) == 1).all()
    with pytest.raises(ParameterError, match="keep at most 30 groups whole; leave 'stratified'"):
        Protocol.of(f"stratified {protocol}").splits(rows)
    monkeypatch.setattr(protocols, "MOST_LISTED_ROWS", 40)
    assert isinstance(Protocol.of(protocol).splits(rows)[0].folds, Listed)


def table(folder: Path) -> str:
    X, Y, group = leaking()
    columns = {f"x{j}": X[:, j] for j in range(6)} | {f"y{j}": Y[:, j] for j in range(3)}
    frame = pd.DataFrame(columns).assign(patient=[f"p{g}" for g in group], row=range(600))
    frame.to_parquet(folder / "rows.parquet", index=False)
    return str(folder / "rows.parquet")


def plan_of(path: str, **options: object) -> dict:
    options = {"features": "x*", "labels": "y*", "id": "row", **options}
    return {
        "data": [{"name": "visits", "format": "parquet", "path": path, "options": options}],
        "method": [{"name": "forward"}],
        "protocol": {"folds": "stratified 3-fold", "sizes": [2]},
    }


def test_a_comparison_keeps_groups_whole_and_says_so(tmp_path: Path) -> None:
    path = table(tmp_path)
    plain = compare(LocalSession(), plan_of(path))
    grouped = compare(LocalSession(), plan_of(path, group="patient"))
    assert leakage_line(plain.plan, plain.data) == "features selected within folds; groups: none"
    line = "features selected within folds; groups: patient (40, kept whole)"
    assert leakage_line(grouped.plan, grouped.data) == line
    assert line in grouped.page() and grouped.data["groups"].tolist() == [40]
    features = {
        name: outcome.rankings["name"].eq("x5").sum()
        for name, outcome in (("plain", plain), ("grouped", grouped))
    }
    assert features["plain"] == 3 > features["grouped"]  # picked in every fold, and not


@pytest.mark.slow
def test_spark_has_the_folds_of_this_process(spark, tmp_path: Path, monkeypatch) -> None:
    path = table(tmp_path)
    X, Y, group = leaking()
    frame = spark_mlfs.read.load(
        spark, path, "parquet", features="x*", labels="y*", id="row", group="patient"
    )
    model = spark_mlfs.ForwardSelector(numTopFeatures=6, groupCol="group").fit(frame)
    names = [f"p{g}" for g in group]
    expected = rank(X, Y, "forward", 6, row_groups=names, row_ids=np.arange(600))
    assert model.ranking["score"].tolist() == expected["score"].tolist()
    rows, _ = pack_arrays(X, Y, ids=np.arange(600), groups=names)
    cut = Cut.of({"selection_mode": "stability", "num_top_features": 2})
    request = pipeline.Request.of("ridge", {}, cut=cut)
    (halves_here,) = pipeline.rank(rows, [request])
    with pack(frame, row_id="id", groups="group") as packed:
        (by_jobs,) = pipeline.rank(packed, [request], small_bytes=0)
        assert count_groups(packed) == count_groups(rows) == 40
        assert all(collect_groups(data, 39, True) is None for data in (packed, rows))
        for counted, width in ((False, 0), (True, rows.profile.q)):
            sums = [collect_groups(data, 40, counted) for data in (packed, rows)]
            assert sums[0][2].shape == (40, width)
            for there, here in zip(*sums, strict=True):
                assert (there != here).sum() == 0
        pairs = sums[0][2].nnz
        monkeypatch.setattr(block_folds, "MOST_GROUP_LABELS", pairs)
        assert collect_groups(packed, 40, True) is not None
        monkeypatch.setattr(block_folds, "MOST_GROUP_LABELS", pairs - 1)
        with pytest.raises(ParameterError, match=f"{pairs - 1} labels together at most; leave"):
            collect_groups(packed, 40, True)
        with pytest.raises(ParameterError, match="leave 'stratified' out"):
            split(frame, "stratified 2-fold", groups="group")
        assert collect_groups(packed, 40, False) is not None
        monkeypatch.undo()
    assert by_jobs.distributed
    frequency = halves_here.ranking["frequency"].tolist()
    assert by_jobs.ranking["frequency"].tolist() == frequency
    selector = spark_mlfs.RidgeSelector(
        selectionMode="stability", numTopFeatures=2, groupCol="group", idCol="id"
    )
    assert selector.fit(frame).ranking["frequency"].tolist() == frequency
    extractor = spark_mlfs.MLNBExtractor(generations=1, groupCol="group", idCol="id")
    by_groups = MLNBExtractor(generations=1).fit(X, Y, groups=names).state_
    assert extractor.fit(frame).state["loss"].tolist() == by_groups["loss"].tolist()
    here = compare(LocalSession(), plan_of(path, group="patient"))
    there = compare(spark, plan_of(path, group="patient"))
    metrics = ["microF1", "averagePrecision"]
    assert here.cells[metrics].equals(there.cells[metrics])
    with pytest.raises(DataError, match="its group is null"):
        null = frame.withColumn("group", F.when(F.col("id") != 7, F.col("group")))
        spark_mlfs.ForwardSelector(groupCol="group").fit(null)
