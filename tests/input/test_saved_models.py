"""What is saved meets data, and comes back damaged: features by name and width, and one line for every wrong folder."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from pyspark.ml.linalg import Vectors

import spark_mlfs
from spark_mlfs import cli
from spark_mlfs.errors import DataError
from spark_mlfs.schema import with_names

D, NAMES = 6, [f"x{j}" for j in range(6)]


def numbers(n=90, seed=5):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, D)).round(3)
    return x, (x[:, [0, 2, 5]] + 0.4 * rng.normal(size=(n, 3)) > 0.2).astype(int)


def csv_file(path: Path, names: list[str], x: np.ndarray, y: np.ndarray) -> Path:
    table = pd.DataFrame(x, columns=names)
    for j in range(y.shape[1]):
        table[f"y{j}"] = y[:, j]
    table.insert(0, "k", np.arange(len(x)))
    table.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def home(spark, tmp_path_factory) -> Path:
    """A selection with a classifier, made by a command of six named columns."""
    folder = tmp_path_factory.mktemp("saved")
    data = csv_file(folder / "train.csv", NAMES, *numbers())
    flags = ["--format", "csv", "--features", "x*", "--labels-col", "y*", "--id", "k", "--method", "mim", "--num-features", "4"]
    assert cli.main(["select", "--data", str(data), *flags, "--classifier", "mlknn", "--output", str(folder / "run")]) == 0
    return folder


@pytest.fixture
def run(spark, capfd):
    def call(*arguments: object) -> tuple[int, str]:
        capfd.readouterr()
        code = cli.main([str(a) for a in arguments])
        return code, capfd.readouterr().err

    return call


# ---- features by name and width ----


def evaluated(home: Path, data: Path, out: Path, *features: str) -> list[object]:
    table = ["--data", data, "--format", "csv", "--features", *features, "--labels-col", "y*", "--id", "k"]
    return ["evaluate", "--model", home / "run", *table, "--sizes", 2, 4, "--protocol", "60/40", "--output", out]


def test_evaluate_puts_reordered_features_in_order(home, run, tmp_path):
    x, y = numbers()
    turned = csv_file(tmp_path / "turned.csv", NAMES[::-1], x[:, ::-1], y)
    found = {}
    for name, data, features in (("as", home / "train.csv", NAMES), ("turned", turned, NAMES[::-1])):
        code, err = run(*evaluated(home, data, tmp_path / name, *features))
        assert code == 0, err
        rankings = pd.read_csv(tmp_path / name / "rankings.csv")
        cells = pd.read_csv(tmp_path / name / "cells.csv")
        quality = cells[cells["method"] == "the saved ranking"].drop(columns=["data", "fit_seconds", "predict_seconds"])
        found[name] = rankings["name"].tolist(), quality.reset_index(drop=True)
    ranking = pd.read_csv(home / "run" / "ranking.csv")
    assert found["as"][0] == found["turned"][0] == ranking["name"].head(4).tolist()
    pd.testing.assert_frame_equal(found["as"][1], found["turned"][1], atol=1e-9)


WRONG = {
    "other names": ([f"z{j}" for j in range(D)], 0, r"data.csv: lacks 6 of the features it was fitted on, 'x\d' first"),
    "one missing": ([*NAMES[:3], *NAMES[4:]], 0, r"data.csv: lacks 1 of the features it was fitted on, 'x3' first"),
    "one more": ([*NAMES, "x6"], 0, r"data.csv: has 1 feature it was not fitted on, 'x6' first"),
}


@pytest.mark.parametrize("case", WRONG)
def test_evaluate_refuses_other_features_before_anything_runs(home, run, tmp_path, monkeypatch, case):
    names, _, line = WRONG[case]
    x, y = numbers()
    wide = np.hstack([x, x])[:, : len(names)]
    data = csv_file(tmp_path / "data.csv", names, wide, y)

    def never(*_: object, **__: object) -> None:
        raise AssertionError("a trial was run")

    monkeypatch.setattr("spark_mlfs.evaluate.compare.pack", never)
    code, err = run(*evaluated(home, data, tmp_path / "out", *names))
    assert code == 2 and re.search(line, err) and len(err.splitlines()) == 1, err
    assert [p.name for p in tmp_path.iterdir()] == ["data.csv"]


def vectors(spark, width: int, names: list[str] | None = None):
    rng = np.random.default_rng(8)
    x = rng.normal(size=(30, width)).round(2)
    rows = [(i, Vectors.dense(a), Vectors.dense((a[:2] > 0) * 1.0)) for i, a in enumerate(x)]
    frame = spark.createDataFrame(rows, ["id", "features", "labels"])
    return with_names(frame, "features", names) if names else frame


def test_evaluate_of_features_without_names_goes_by_width(spark, run, tmp_path):
    for name, width in (("six", 6), ("ten", 10)):
        vectors(spark, width).write.parquet(str(tmp_path / name))
    table = ["--format", "parquet", "--features", "features", "--labels-col", "labels", "--id", "id"]
    out = ["--output", tmp_path / "run"]
    assert run("select", "--data", tmp_path / "six", *table, "--method", "mim", "--num-features", 3, *out)[0] == 0
    base = ["evaluate", "--model", tmp_path / "run", *table, "--sizes", 2, "--protocol", "60/40", "--output", tmp_path / "judged"]
    code, err = run(*base, "--data", tmp_path / "ten")
    assert code == 2 and re.search(r"ten: has 10 features, the selection was fitted on 6", err), err
    assert not (tmp_path / "judged").exists()
    code, err = run(*base, "--data", tmp_path / "six")
    assert code == 0, err


MODELS = {
    "selector": (lambda: spark_mlfs.MIMSelector(numTopFeatures=6, idCol="id", outputCol="out"), "out"),
    "extractor": (lambda: spark_mlfs.MDDMExtractor(idCol="id", outputCol="out"), "out"),
    "classifier": (lambda: spark_mlfs.MLkNNClassifier(k=3, idCol="id"), "prediction"),
}


@pytest.mark.parametrize("kind", MODELS)
def test_transform_refuses_other_features_at_once(spark, kind):
    estimator, _ = MODELS[kind]
    model = estimator().fit(vectors(spark, D, NAMES))
    for names, line in (
        ([*NAMES[:5], "z"], "'features' lacks 1 of the features it was fitted on, 'x5' first"),
        ([*NAMES, "x6", "x7"], "'features' has 2 features it was not fitted on, 'x6' first"),
    ):
        with pytest.raises(DataError, match=line):
            model.transform(vectors(spark, len(names), names))


@pytest.mark.parametrize("kind", ["extractor", "classifier"])
def test_vectors_wider_than_their_names_are_refused(spark, kind):
    """Names in another order, and a metadata that tells another width than the vectors have."""
    estimator, output = MODELS[kind]
    model = estimator().fit(vectors(spark, D, NAMES))
    lying = with_names(vectors(spark, D + 2), "features", NAMES[::-1])
    with pytest.raises(Exception, match="a feature vector has 8 entries, the model was fitted on 6"):
        model.transform(lying).select(output).collect()
    with pytest.raises(DataError, match="'features' has 5 features, the model was fitted on 6"):
        estimator().fit(vectors(spark, D)).transform(vectors(spark, 5, NAMES[:5]))
