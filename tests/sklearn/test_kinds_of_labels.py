"""What goes in as truth values, numbers, texts, dates or tags comes back as such, and is scored."""

from __future__ import annotations

import datetime
import json
import pickle
import warnings

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from sklearn.feature_selection import SelectKBest, f_classif
from sklearn.metrics import accuracy_score
from sklearn.model_selection import KFold, StratifiedKFold, cross_val_predict
from sklearn.preprocessing import MultiLabelBinarizer

import spark_mlfs
from spark_mlfs import DataError, ParameterError
from spark_mlfs.cli import main
from spark_mlfs.sklearn import (
    BRSVMClassifier,
    MIMSelector,
    MLkNNClassifier,
    MultiLabelStratifiedKFold,
)

draw = np.random.default_rng(0)
GROUP = np.arange(80) % 2
X = draw.normal(size=(80, 2))
X[:, 0] += 6 * GROUP
DAYS = np.array([datetime.date(2020, 1, 1), datetime.date(2021, 1, 1)])
TIMES = [pd.Timestamp("2020"), pd.Timestamp("2021")]
CLASSES = {
    "truth values": GROUP == 1,
    "whole numbers": GROUP + 7,
    "whole floats": GROUP + 7.0,
    "texts": np.array(["no", "yes"])[GROUP],
    "text objects": pd.Series(np.array(["no", "yes"], object)[GROUP]),
    "number objects": (GROUP + 7).astype(object),
    "truth objects": (GROUP == 1).astype(object),
    "days": DAYS[GROUP],
    "times": pd.Series([TIMES[g] for g in GROUP]),
    "time objects": pd.Series([TIMES[g] for g in GROUP], dtype=object),
    "a categorical": pd.Categorical(np.array(["no", "yes"])[GROUP]),
    "nullable": pd.Series(GROUP, dtype="Int64"),
    "Arrow": pa.array(["no", "yes"]).take(pa.array(GROUP)),
    "a column": pd.DataFrame({"y": np.array(["no", "yes"])[GROUP]}),
}


@pytest.mark.parametrize("kind", CLASSES)
def test_classes_come_back_as_they_came(kind: str) -> None:
    y = CLASSES[kind]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        model = BRSVMClassifier().fit(X, y)
        predicted = model.predict(X)
        assert model.score(X, y) == 1
    plain = np.asarray(y.to_pylist() if kind == "Arrow" else y).ravel()
    assert model.classes_.tolist() == np.unique(plain).tolist()
    assert predicted.tolist() == plain.tolist()
    assert {type(value) for value in predicted} == {type(value) for value in model.classes_}
    if plain.dtype.kind != "O":
        assert predicted.dtype == model.classes_.dtype == plain.dtype
    weights = draw.random(80)
    wrong = np.roll(plain, 1)
    wrong[:40] = plain[:40]
    expected = accuracy_score(wrong.astype(str), plain.astype(str), sample_weight=weights)
    assert model.score(X, wrong, weights) == pytest.approx(expected)


def test_names_of_labels_come_back_as_they_came() -> None:
    Y = pd.DataFrame({7: GROUP, pd.Timestamp("2020"): 1 - GROUP})
    assert MLkNNClassifier().fit(X, Y).label_names_.tolist() == [7, pd.Timestamp("2020")]
    assert MLkNNClassifier().fit(X, GROUP == 1).label_names_.tolist() == [False, True]
    numbers = [[10, 2] if g else [2, 1] for g in GROUP]
    for tags in (pd.Series(numbers), [{*row} for row in numbers], [*numbers[:-1], [10]]):
        model = MLkNNClassifier().fit(X, tags)
        assert model.label_names_.tolist() == [1, 2, 10]  # 10 behind 2
        assert model.score(X, tags) > 0.9
    days = [[DAYS[1], DAYS[0]] if g else [DAYS[0]] for g in GROUP]
    assert MLkNNClassifier().fit(X, days).label_names_.tolist() == [*DAYS]
    for tags in ([[True, False], [True]] * 40, [["a", 1], [2]] * 40, [[None], ["a"]] * 40):
        with pytest.raises(DataError, match=r"row \d of Y is .* where others are lists of tags"):
            spark_mlfs.rank(X, tags, "mim")
    with pytest.raises(DataError, match="5; labels are 0, 1 or unknown"):
        spark_mlfs.rank(X, [[5, 3], [4, 1]] * 40, "mim")  # ratings? tags? it is not said


def test_blanks_around_tags_and_empty_tags_go_from_lists() -> None:
    tags = [["b", "a"] if g else ["b"] for g in GROUP]
    dressed = [[f" {tag}\u200b" for tag in row] + [""] for row in tags]
    right = spark_mlfs.rank(X, tags, "mim")
    for form in (dressed, pa.array(dressed), pd.Series(dressed), [{*row} for row in dressed]):
        pd.testing.assert_frame_equal(spark_mlfs.rank(X, form, "mim"), right)
    assert MLkNNClassifier().fit(X, dressed).score(X, tags) > 0.5


WORDS = {
    "yes and no": ("no", "yes"),
    "as people write them": (" No", "YES "),
    "letters": ("f", "T"),
    "on and off": ("off", "on"),
    "words of Python": ("False", "True"),
    "numbers": ("0", "1.0"),
}
TABLES = {
    "pandas": lambda frame: frame,
    "categoricals": lambda frame: frame.astype("category"),
    "texts": lambda frame: frame.astype("string"),
    "Polars": pl.from_pandas,
    "Arrow": pa.Table.from_pandas,
    "an array": lambda frame: frame.to_numpy(),
}


@pytest.mark.parametrize("table", TABLES)
@pytest.mark.parametrize("words", WORDS)
def test_columns_of_words_are_those_of_numbers(words: str, table: str) -> None:
    truth = np.stack([GROUP, draw.integers(0, 2, 80)], axis=1)
    frame = pd.DataFrame(np.array(WORDS[words], object)[truth], columns=["u", "v"])
    right = spark_mlfs.rank(X, pd.DataFrame(truth, columns=["u", "v"]), "mim")
    assert spark_mlfs.rank(X, TABLES[table](frame), "mim").equals(right)
    frame["v"] = truth[:, 1]  # beside numbers
    frame.loc[frame.index % 7 == 3, "u"] = None
    known = truth * 1.0
    known[3::7, 0] = np.nan
    assert spark_mlfs.rank(X, TABLES[table](frame), "mim").equals(spark_mlfs.rank(X, known, "mim"))


def test_columns_of_words_are_read_as_in_files(tmp_path) -> None:
    rows = pd.DataFrame(X, columns=["a", "b"])
    rows["u"] = np.array(["no", "yes"])[GROUP]
    rows["v"] = np.array(["f", "t", ""])[draw.integers(0, 3, 80)]
    rows.to_csv(tmp_path / "t.csv", index=False)
    flags = ["--data", str(tmp_path / "t.csv"), "--features", "a", "b", "--labels-col", "u", "v"]
    run = ["select", *flags, "--method", "fisher", "--engine", "local", "--quiet"]
    assert main([*run, "--output", str(tmp_path / "run")]) == 0
    written = pd.read_csv(tmp_path / "run" / "ranking.csv")
    ranking = spark_mlfs.rank(rows[["a", "b"]], rows[["u", "v"]], "fisher")
    assert ranking["name"].tolist() == written["name"].tolist()
    assert ranking["score"].tolist() == pytest.approx(written["score"].tolist(), rel=1e-9)


def test_words_that_stand_for_nothing_are_named() -> None:
    frame = pd.DataFrame({"u": ["yes", "no"] * 40, "v": ["ja", "nein"] * 40, "w": ["x", ""] * 40})
    frame["?"] = ["yes", "0", "?", "no"] * 20
    remedy = r"give 0 and 1, True and False \(Y == 'x' where 'x' counts as 1\), or yes and no$"
    with pytest.raises(DataError, match=rf"'v' \('ja'\), 'w' \('x'\), '\?' \('\?'\); {remedy}"):
        spark_mlfs.rank(X, frame, "mim")
    ticked = frame[["v", "w"]] == ["ja", "x"]
    spark_mlfs.rank(X, ticked, "mim")


def test_tags_as_columns_of_arrow() -> None:
    tags = [["b", "a"] if g else ["b", "c"] for g in GROUP]
    tags[0] = None
    right = spark_mlfs.rank(X, tags, "mim")
    column = pa.array([None, *tags[1:]])
    forms = [
        column,
        pa.chunked_array([column[:30], column[30:]]),
        pd.Series(column, dtype=pd.ArrowDtype(column.type)),
        pa.array([None if row is None else [*row, None] for row in tags]),
        column.cast(pa.large_list(pa.dictionary(pa.int32(), pa.string()))),
    ]
    for form in forms:
        assert spark_mlfs.rank(X, form, "mim").equals(right)


LISTS = [["b", "a"] if g else ["b"] for g in GROUP[:78]] + [[], ["c"]]


@pytest.mark.parametrize("write", [repr, json.dumps, lambda tags: str(np.array(tags, object))])
def test_texts_of_lists_are_lists(write) -> None:
    right = spark_mlfs.rank(X, LISTS, "mim")
    texts = [write(tags) for tags in LISTS]
    for form in (texts, np.array(texts), pd.Series(texts), pd.DataFrame({"tags": texts})):
        for delimiter in (None, ","):
            out = spark_mlfs.rank(X, form, "mim", label_delimiter=delimiter)
            assert out.equals(right)
        assert MLkNNClassifier().fit(X, form).label_names_.tolist() == ["a", "b", "c"]
    with pytest.raises(DataError, match=r"row 1 of Y: \"\['b', 'a\" opens like a list of tags"):
        spark_mlfs.rank(X, [texts[0], "['b', 'a", *texts[2:]], "mim")
    with pytest.raises(DataError, match=r"row 2 of Y is 'b' where others are texts of lists"):
        spark_mlfs.rank(X, [*texts[:2], "b", *texts[3:]], "mim")
    flags = np.stack([GROUP, 1 - GROUP, draw.random(80) < 0.5], axis=1).astype(int)
    written = [str(row.tolist()) for row in flags]
    assert spark_mlfs.rank(X, written, "mim").equals(spark_mlfs.rank(X, flags, "mim"))


def test_whatever_fits_is_scored() -> None:
    tags = [["a"] if g else ["b"] for g in GROUP]
    model = MLkNNClassifier().fit(X, tags)
    empty = [[] for _ in tags]
    assert model.score(X, empty) == model.score(X, pd.Series(empty)) == 0
    assert model.score(X, [*empty[:-1], tags[-1]]) == 1 / 80
    assert model.score(X, [[*row, "other"] for row in tags]) == 0
    assert model.score(X, [*tags[:40], *[None] * 40]) == 1
    with pytest.raises(DataError, match="no row of y counts"):
        model.score(X, [None] * 80)
    with pytest.raises(DataError, match="80 samples, y has 79"):
        model.score(X, tags[1:])
    Y = pd.DataFrame({"a": GROUP, "b": 1 - GROUP})
    assert model.score(X, Y) == model.score(X, Y[["b", "a"]]) == model.score(X, Y.to_numpy()) == 1
    with pytest.raises(DataError, match="y has other columns than the training rows"):
        model.score(X, Y.rename(columns={"b": "c"}))
    unknown = Y.astype(float)
    unknown.iloc[:40, 0] = np.nan
    unknown.iloc[60:, 1] = 1 - unknown.iloc[60:, 1]
    assert model.score(X, unknown) == 0.5
    by_place = MLkNNClassifier().fit(X, Y.to_numpy())
    assert by_place.score(X, Y) == by_place.score(X, Y.to_numpy().tolist()) == 1
    with pytest.raises(DataError, match="labels of the training rows had no names"):
        by_place.score(X, tags)
    one = MLkNNClassifier().fit(X, GROUP.reshape(-1, 1))
    assert one.score(X, GROUP.reshape(-1, 1)) == one.score(X, GROUP) == 1
    three = MLkNNClassifier().fit(X[:, :1], GROUP + (X[:, 1] > 0))
    assert three.score(X[GROUP == 0, :1], np.zeros((40, 1), int)) < 1


def test_seeds_are_those_of_scikit_learn() -> None:
    Y = draw.random((80, 3)) < 0.3

    def folds(splitter, labels, seed):
        split = splitter(4, shuffle=True, random_state=seed).split(X, labels)
        return [test.tolist() for _, test in split]

    for kind in (np.int64, np.int32, np.uint8, lambda seed: np.array(seed)[()]):
        right = folds(MultiLabelStratifiedKFold, Y, 7)
        assert folds(MultiLabelStratifiedKFold, Y, kind(7)) == right
    for seed in (-1, 2**40, 1.5, "7"):
        with pytest.raises(ValueError, match=r"[Ss]eed") as theirs:
            folds(StratifiedKFold, Y[:, 0], seed)
        with pytest.raises(ValueError, match=r"[Ss]eed") as ours:
            folds(MultiLabelStratifiedKFold, Y, seed)
        assert str(ours.value) == str(theirs.value)


# ---- columns of one meaning ----

MIXED = [["z"] if g else ["m"] for g in GROUP]
for place in (3, 5, 7):
    MIXED[place] = ["z", "b"]  # b stands in the first half only
for place in (60, 62, 64):
    MIXED[place] = ["m", "x"]  # x in the second half only


def test_predictions_of_folds_go_together_by_tag() -> None:
    binarizer = MultiLabelBinarizer()
    flags = binarizer.fit_transform(MIXED)
    right = cross_val_predict(MLkNNClassifier(k=3), X, flags, cv=KFold(2))
    for model in (MLkNNClassifier(k=3), MLkNNClassifier(k=3, classes=list("bmxz"))):
        predicted = cross_val_predict(model, X, MIXED, cv=KFold(2))
        assert predicted.tolist() == right.tolist()
    turned = MLkNNClassifier(k=3, classes=np.array(["z", "x", "m", "b"]))
    predicted = cross_val_predict(turned, X, MIXED, cv=KFold(2))
    assert predicted[:, ::-1].tolist() == right.tolist()


def test_scores_of_days_go_together_with_classes_alone() -> None:
    days = (slice(None, 40), slice(40, None))

    def stacked(**settings):
        models = [MLkNNClassifier(k=3, **settings).fit(X[day], MIXED[day]) for day in days]
        models = pickle.loads(pickle.dumps(models))
        return np.vstack([model.predict_proba(X) for model in models])

    with pytest.raises(DataError, match=r"'b' is not in all.*give each the same classes"):
        stacked()
    proba = stacked(classes=list("bmxz"))
    assert proba.shape == (160, 4) and type(proba) is np.ndarray
    flags = MultiLabelBinarizer().fit_transform(MIXED)
    first = MLkNNClassifier(k=3).fit(X[:40], flags[:40]).predict_proba(X)
    assert np.array_equal(proba[:80], first)
    with pytest.raises(DataError, match="row 60 of Y has the tag 'x', which is none of the cl"):
        MLkNNClassifier(classes=list("bmz")).fit(X, MIXED)
    for classes in ("bmxz", {"b", "m"}, ["b", "b"], []):
        with pytest.raises(ParameterError, match="classes must be a list of labels"):
            MLkNNClassifier(classes=classes).fit(X, MIXED)


def test_classes_of_other_labels() -> None:
    model = MLkNNClassifier(classes=[9, 8, 7]).fit(X, GROUP + 7.0)
    assert model.classes_.tolist() == [9, 8, 7] and model.predict_proba(X).shape == (80, 3)
    assert model.score(X, GROUP + 7) == 1
    with pytest.raises(DataError, match="Y holds the class 7"):
        MLkNNClassifier(classes=[9, 8]).fit(X, GROUP + 7)
    Y = pd.DataFrame({"a": GROUP, 3: 1 - GROUP})
    model = MLkNNClassifier(classes=[3, "a"]).fit(X, Y)
    assert model.predict(X)[:, 1].tolist() == GROUP.tolist() and model.score(X, Y) == 1
    with pytest.raises(DataError, match="Y has other columns than classes"):
        MLkNNClassifier(classes=["a", "c"]).fit(X, Y)
    with pytest.raises(DataError, match="there are 3 classes, and Y has 2 columns"):
        MLkNNClassifier(classes=["a", "b", "c"]).fit(X, Y.to_numpy())


# ---- columns of frames ----


def test_frames_keep_the_types_of_their_columns() -> None:
    polars = pytest.importorskip("polars")
    table = pd.DataFrame(
        {
            "age": draw.integers(0, 90, 80),
            "paid": draw.normal(size=80),
            "small": draw.normal(size=80).astype(np.float32),
            "member": draw.random(80) > 0.5,
            "visits": pd.Series(draw.integers(0, 9, 80), dtype="Int64"),
            "flag": pd.arrays.SparseArray(GROUP),
        }
    )
    plain = table.drop(columns="flag")  # Polars has no sparse columns
    for to, rows in (("pandas", table), ("polars", plain)):
        theirs = SelectKBest(f_classif, k="all").set_output(transform=to).fit(rows, GROUP)
        ours = MIMSelector(num_top_features=rows.shape[1]).set_output(transform=to)
        out = ours.fit(rows, GROUP).transform(rows)
        assert [*out.dtypes] == [*theirs.transform(rows).dtypes]
        assert out.equals(theirs.transform(rows))
    frame = polars.from_pandas(plain)
    ours = MIMSelector(num_top_features=5).fit(frame, GROUP)
    assert ours.set_output(transform="polars").transform(frame).equals(frame)
    kept = ours.set_output(transform="pandas").transform(frame)
    assert kept["age"].dtype.kind == "i" and kept["member"].dtype == bool
    assert isinstance(ours.set_output(transform="default").transform(frame), np.ndarray)


def test_filled_and_coded_columns_are_numbers() -> None:
    table = pd.DataFrame(
        {
            "age": pd.Series([None, *range(79)], dtype="Int64"),
            "name": np.array(["x", "y"])[GROUP],
            "count": GROUP,
        }
    )
    out = (
        MIMSelector(num_top_features=3, missing="mean")
        .set_output(transform="pandas")
        .fit(table, GROUP)
        .transform(table)
    )
    assert out["age"].dtype == out["name"].dtype == np.float64
    assert out["age"].iloc[0] == 39 and out["count"].dtype == table["count"].dtype
