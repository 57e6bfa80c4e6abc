"""What is saved meets data, and comes back damaged: features by name and width, and one line for
every wrong folder."""

from __future__ import annotations

import json
import re
import shutil
import sys
import zlib
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import scipy.sparse as sp
from pyspark.ml.linalg import Vectors

import spark_mlfs
from spark_mlfs import cli
from spark_mlfs.adapters import saved as saved_things
from spark_mlfs.adapters.saved import state_rows
from spark_mlfs.blocks.codec import encode
from spark_mlfs.errors import DataError, ParameterError, SparkMlfsError
from spark_mlfs.frames.schema import with_names
from spark_mlfs.ml.persistence import load_state, metadata_at
from spark_mlfs.output.journal import Journal

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
def home(tmp_path_factory) -> Path:
    """A selection with a classifier, made by a command of six named columns."""
    folder = tmp_path_factory.mktemp("saved")
    data = csv_file(folder / "train.csv", NAMES, *numbers())
    flags = ["--format", "csv", "--features", "x*", "--labels-col", "y*", "--id", "k"]
    flags += ["--method", "mim", "--num-top-features", "4", "--classifier", "mlknn"]
    flags += ["--engine", "local", "--output", str(folder / "run")]
    assert cli.main(["select", "--data", str(data), *flags]) == 0
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
    table = [
        "--data",
        data,
        "--format",
        "csv",
        "--features",
        *features,
        "--labels-col",
        "y*",
        "--id",
        "k",
    ]
    return [
        "evaluate",
        "--model",
        home / "run",
        *table,
        "--sizes",
        2,
        4,
        "--protocol",
        "60/40",
        "--engine",
        "local",
        "--output",
        out,
    ]


@pytest.mark.slow
def test_evaluate_puts_reordered_features_in_order(home, run, tmp_path):
    x, y = numbers()
    turned = csv_file(tmp_path / "turned.csv", NAMES[::-1], x[:, ::-1], y)
    found = {}
    for name, data, features in (
        ("as", home / "train.csv", NAMES),
        ("turned", turned, NAMES[::-1]),
    ):
        code, err = run(*evaluated(home, data, tmp_path / name, *features))
        assert code == 0, err
        rankings = pd.read_csv(tmp_path / name / "rankings.csv")
        cells = pd.read_csv(tmp_path / name / "cells.csv")
        quality = cells[cells["method"] == "the saved ranking"].drop(
            columns=["data", "fit_seconds", "predict_seconds"]
        )
        found[name] = rankings["name"].tolist(), quality.reset_index(drop=True)
    ranking = pd.read_csv(home / "run" / "ranking.csv")
    assert found["as"][0] == found["turned"][0] == ranking["name"].head(4).tolist()
    pd.testing.assert_frame_equal(found["as"][1], found["turned"][1], atol=1e-9)


WRONG = {
    "other names": (
        [f"z{j}" for j in range(D)],
        0,
        r"data.csv: lacks 6 of the features it was fitted on, 'x\d' first",
    ),
    "one missing": (
        [*NAMES[:3], *NAMES[4:]],
        0,
        r"data.csv: lacks 1 of the features it was fitted on, 'x3' first",
    ),
    "one more": ([*NAMES, "x6"], 0, r"data.csv: has 1 feature it was not fitted on, 'x6' first"),
}


@pytest.mark.slow
@pytest.mark.parametrize("case", WRONG)
def test_evaluate_refuses_other_features_before_anything_runs(
    home, run, tmp_path, monkeypatch, case
):
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
    table = [
        "--format",
        "parquet",
        "--features",
        "features",
        "--labels-col",
        "labels",
        "--id",
        "id",
    ]
    table += ["--engine", "local"]
    out = ["--output", tmp_path / "run"]
    assert (
        run(
            "select",
            "--data",
            tmp_path / "six",
            *table,
            "--method",
            "mim",
            "--num-top-features",
            3,
            *out,
        )[0]
        == 0
    )
    base = [
        "evaluate",
        "--model",
        tmp_path / "run",
        *table,
        "--sizes",
        2,
        "--protocol",
        "60/40",
        "--output",
        tmp_path / "judged",
    ]
    code, err = run(*base, "--data", tmp_path / "ten")
    assert code == 2 and re.search(r"ten: has 10 features, the selection was fitted on 6", err), err
    assert not (tmp_path / "judged").exists()
    code, err = run(*base, "--data", tmp_path / "six")
    assert code == 0, err


MODELS = {
    "selector": (
        lambda: spark_mlfs.MIMSelector(numTopFeatures=6, idCol="id", outputCol="out"),
        "out",
    ),
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


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["extractor", "classifier"])
def test_vectors_wider_than_their_names_are_refused(spark, kind):
    """Names in another order, and a metadata that tells another width than the vectors have."""
    estimator, output = MODELS[kind]
    model = estimator().fit(vectors(spark, D, NAMES))
    lying = with_names(vectors(spark, D + 2), "features", NAMES[::-1])
    with pytest.raises(
        Exception, match="a feature vector has 8 entries, the model was fitted on 6"
    ):
        model.transform(lying).select(output).collect()
    with pytest.raises(DataError, match="'features' has 5 features, the model was fitted on 6"):
        estimator().fit(vectors(spark, D)).transform(vectors(spark, 5, NAMES[:5]))


def predictions(out: Path) -> dict[Any, tuple[list[str], list[float]]]:
    rows = pq.read_table(out / "data").to_pylist()
    return {row["id"]: (row["tags"], [round(v, 9) for v in row["scores"]]) for row in rows}


@pytest.mark.slow
def test_score_finds_the_features_of_a_vector_column_by_name(spark, run, tmp_path):
    x, _ = numbers(40)
    y = [Vectors.dense((row[:2] > 0) * 1.0) for row in x]

    def corpus(name: str, names: list[str] | None, columns: np.ndarray) -> Path:
        rows = [(i, Vectors.dense(row), y[i]) for i, row in enumerate(columns)]
        frame = spark.createDataFrame(rows, ["id", "features", "labels"]).coalesce(1)
        (with_names(frame, "features", names) if names else frame).write.parquet(
            str(tmp_path / name)
        )
        return tmp_path / name

    train = corpus("train", NAMES, x)
    table = [
        "--format",
        "parquet",
        "--features",
        "features",
        "--labels-col",
        "labels",
        "--id",
        "id",
    ]
    code, err = run(
        "select", "--data", train, *table, "--method", "mim", "--num-top-features", 3, "--classifier", "mlknn",
        "--classifier-set", "k=3", "--engine", "local", "--output", tmp_path / "run",
    )  # fmt: skip
    assert code == 0, err

    def scored(data: Path, out: str, engine: str) -> tuple[int, str]:
        how = ["--format", "parquet", "--id", "id", "--engine", engine, "--output", tmp_path / out]
        return run("score", "--model", tmp_path / "run", "--data", data, *how)

    turned = corpus("turned", NAMES[::-1], x[:, ::-1])
    assert scored(train, "as", "local")[0] == 0
    for engine in ("spark", "local"):
        assert scored(turned, f"back {engine}", engine)[0] == 0
        back = predictions(tmp_path / f"back {engine}")
        assert predictions(tmp_path / "as") == back
    for engine, name, names, columns, line in (
        (
            "spark",
            "others",
            [f"z{j}" for j in range(D)],
            x,
            r"'features' lacks 3 of the features it was fitted on, 'x\d' first",
        ),
        (
            "local",
            "more",
            [*NAMES, "x6"],
            np.hstack([x, x[:, :1]]),
            r"'features' has 1 feature it was not fitted on, 'x6' first",
        ),
        (
            "spark",
            "wide",
            None,
            np.hstack([x, x]),
            r"a feature vector has 12 entries, the model was fitted on 6",
        ),
    ):
        code, err = scored(corpus(name, names, columns), f"out of {name}", engine)
        assert code == 2 and re.search(line, err) and len(err.splitlines()) == 1, err
        assert not (tmp_path / f"out of {name}").exists() and not list(tmp_path.glob(".*"))


@pytest.mark.slow
def test_score_of_libsvm_parts_that_do_not_reach_the_last_feature(spark, run, tmp_path):
    """The width is the model's, not that of the file."""
    x, y = numbers(60)

    def line(i: int) -> str:
        labels = ",".join(str(j) for j in np.flatnonzero(y[i])) or "0"
        return (
            labels + " " + " ".join(f"{j + 1}:{v}" for j, v in enumerate(x[i]) if i < 40 or j < 2)
        )

    (tmp_path / "train.svm").write_text("\n".join(line(i) for i in range(40)) + "\n")
    (tmp_path / "new.svm").write_text("\n".join(line(i) for i in range(40, 60)) + "\n")
    code, err = run(
        "select", "--data", tmp_path / "train.svm", "--format", "libsvm", "--method", "mim", "--num-top-features", 4,
        "--classifier", "mlknn", "--classifier-set", "k=3", "--engine", "local",
        "--output", tmp_path / "run",
    )  # fmt: skip
    assert code == 0, err
    base = [
        "--model",
        tmp_path / "run",
        "--data",
        tmp_path / "new.svm",
        "--format",
        "libsvm",
        "--engine",
        "local",
    ]
    code, err = run("score", *base, "--output", tmp_path / "out")
    assert code == 0, err
    assert len(predictions(tmp_path / "out")) == 20
    code, err = run("score", *base, "--option", "num_features=9", "--output", tmp_path / "other")
    assert code == 2 and "'features' has 3 features it was not fitted on, 'f7' first" in err, err


# ---- what is saved, and comes back damaged ----

Damage = Callable[[Path], object]


def part(folder: Path) -> Path:
    (found,) = folder.glob("part-*")
    return found


def rewritten(file: Path, content: bytes, checked: bool = False) -> None:
    """Other content; with `checked` Hadoop's own checksum beside it stays, and tells."""
    if not checked:
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    file.write_bytes(content)


def metadata(**changes: Any) -> Damage:
    """Entries of the metadata changed, with the checksum they have then; None takes one away."""

    def damage(folder: Path) -> None:
        file = part(folder / "metadata")
        entries = {
            k: v for k, v in {**json.loads(file.read_text()), **changes}.items() if v is not None
        }
        if "checksum" in entries and "checksum" not in changes:
            entries["checksum"] = saved_things.checksum(entries)
        rewritten(file, json.dumps(entries).encode())

    return damage


def text_of_metadata(change: Callable[[bytes], bytes], checked: bool = False) -> Damage:
    return lambda folder: rewritten(
        part(folder / "metadata"), change(part(folder / "metadata").read_bytes()), checked
    )


def bytes_of_data(change: Callable[[bytes], bytes], checked: bool = False) -> Damage:
    return lambda folder: rewritten(
        part(folder / "data"), change(part(folder / "data").read_bytes()), checked
    )


def rows_of_data(change: Callable[[list[dict[str, Any]]], list[dict[str, Any]]]) -> Damage:
    """The Parquet file written anew with other rows."""

    def damage(folder: Path) -> None:
        file = part(folder / "data")
        table = pa.Table.from_pylist(change(pq.read_table(file).to_pylist()))
        pq.write_table(table, file)
        file.with_name(f".{file.name}.crc").unlink(missing_ok=True)

    return damage


def gone(name: str) -> Damage:
    return lambda folder: shutil.rmtree(folder / name)


def emptied(name: str) -> Damage:
    def damage(folder: Path) -> None:
        shutil.rmtree(folder / name)
        (folder / name).mkdir()

    return damage


def flipped(data: bytes, at: int = -9) -> bytes:
    out = bytearray(data)
    out[at] ^= 0x5A
    return bytes(out)


def only(row: dict[str, Any], *names: str) -> dict[str, Any]:
    return {name: row[name] for name in names}


def with_state(change: Callable[[bytes], bytes]) -> Damage:
    """A state that was damaged before its checksum was taken."""

    def changed(row: dict[str, Any]) -> dict[str, Any]:
        state = change(row["state"])
        return row | {"state": state, "checksum": zlib.crc32(state)}

    def damage(folder: Path) -> None:
        rows_of_data(lambda rows: [changed(row) for row in rows])(folder)
        metadata(data=None)(folder)

    return damage


CUT = r"metadata is damaged \(it is cut off, or no JSON of a saved stage\): copy the whole folder again, or save it again"
NO_PARQUET = r"/data/part-\S+: no Parquet file, or a damaged one: copy the whole folder again"
NEWER = r"was saved by spark_mlfs 7.1.0 in format 9, this is spark_mlfs [\d.]+, which reads formats up to 3: install spark_mlfs 7.1.0"
WIDE = encode(
    {
        "projection": sp.csr_matrix(
            (np.ones(2), np.array([0, 9], np.int32), np.array([0, 2], np.int32)), shape=(1, 10)
        )
    }
)
WIDE = bytes(WIDE).replace(b"[1, 10]", b"[1, 5] ")

# which model, what is done to it, what is told
DAMAGED: dict[str, tuple[str, Damage, str]] = {
    "metadata cut off": ("selector", text_of_metadata(lambda b: b[: len(b) // 2]), CUT),
    "metadata cut off, checksum beside it": ("selector", text_of_metadata(lambda b: b[:40], True), r"/metadata/part-.*damaged"),
    "metadata empty": ("extractor", text_of_metadata(lambda b: b""), CUT),
    "metadata of other bytes": ("classifier", text_of_metadata(lambda b: bytes(range(256)) * 4), CUT),
    "metadata a list": ("classifier", text_of_metadata(lambda b: b"[1, 2]"), CUT),
    "metadata nested deep": ("classifier", text_of_metadata(lambda b: b"[" * 200_000), CUT),
    "no metadata": ("selector", gone("metadata"), r"holds nothing that \w+ saved \(no metadata to read\)"),
    "metadata without a file": ("selector", emptied("metadata"), CUT),
    "no class": ("selector", metadata(**{"class": None}), r"metadata is damaged \(it lacks 'class'\)"),
    "class of another package": (
        "selector", metadata(**{"class": "sklearn.svm.SVC"}),
        r"holds a SVC, not a \w+: call sklearn.svm.SVC",
    ),
    "class of no package": ("extractor", metadata(**{"class": "nowhere.at.All"}), r"holds a All, not a MultiLabelExtractorModel"),
    "class of another kind": ("extractor", metadata(**{"class": "spark_mlfs.MIMSelector"}), r"holds a MIMSelector, not a"),
    "class a number": ("extractor", metadata(**{"class": 5}), r"holds a 5, not a MultiLabelExtractorModel"),
    "no uid": ("classifier", metadata(uid=None), r"metadata is damaged \(it lacks 'uid'\)"),
    "no parameters": ("classifier", metadata(paramMap=None), r"metadata is damaged \(it lacks 'paramMap'\)"),
    "parameters a text": ("classifier", metadata(paramMap="x"), r"metadata is damaged"),
    "unknown parameter": ("selector", metadata(paramMap={"none": 1}), r"metadata is damaged|'none'"),
    "parameter of another type": (
        "selector", metadata(paramMap={"numTopFeatures": "many"}),
        r"numTopFeatures|metadata is damaged",
    ),
    "nothing learned": ("extractor", metadata(learned=None), r"metadata is damaged \(it lacks 'learned'\)"),
    "learned without names": (
        "extractor", metadata(learned={"named": True}),
        r"metadata is damaged \(it lacks 'feature_names'\)",
    ),
    "names a text": ("classifier", metadata(learned={"feature_names": "abc", "label_names": []}), r"feature_names is no list"),
    "nothing selected": ("selector", metadata(selection=None), r"metadata is damaged \(it lacks 'selection'\)"),
    "newer format": ("selector", metadata(format=9, spark_mlfs="7.1.0"), NEWER),
    "newer format, extractor": ("extractor", metadata(format=9, spark_mlfs="7.1.0"), NEWER),
    "newer format, classifier": ("classifier", metadata(format=9, spark_mlfs="7.1.0"), NEWER),
    "newer format of nobody": ("classifier", metadata(format=4, spark_mlfs=None), r"of a later version in format 4, this is"),
    "format a text": ("selector", metadata(format="one"), r"is damaged \(its format is 'one', not a number\)"),
    "a stamp without a format": ("selector", metadata(format=None, checksum=None), r"is damaged \(its format is 'None'"),
    "no checksum": ("extractor", metadata(checksum=None), r"is damaged \(its checksum is not that of its content\): copy"),
    "the format before checksums": ("selector", text_of_metadata(lambda b: b.replace(b'"format":3', b'"format":2')), r"checksum"),
    "a format no longer read": ("selector", metadata(format=1, checksum=None), r"is of format 1, .* reads formats from 2 to 3"),
    "a letter of a label": (
        "classifier", text_of_metadata(lambda b: re.sub(rb'(label_names":\["\w*)\w"', rb'\1z"', b)), r"its checksum is not",
    ),
    "a score of another": (
        "selector", rows_of_data(lambda rows: [row | {"score": row["score"] * 2} for row in rows]), r"does not hold what",
    ),
    "no data": ("selector", gone("data"), r"/data is not there, or holds no Parquet"),
    "no data of a state": ("classifier", gone("data"), r"/data is not there, or holds no Parquet"),
    "data without a file": ("extractor", emptied("data"), r"/data is not there, or holds no Parquet"),
    "data cut off": ("selector", bytes_of_data(lambda b: b[: len(b) // 2]), NO_PARQUET),
    "data cut off, checksum beside it": (
        "extractor", bytes_of_data(lambda b: b[: len(b) // 2], True),
        NO_PARQUET,
    ),
    "data of other bytes": ("classifier", bytes_of_data(lambda b: b"no Parquet at all" * 9), NO_PARQUET),
    "data garbled in the middle": (
        "selector", bytes_of_data(lambda b: b[:20] + bytes(c ^ 0x5A for c in b[20:300]) + b[300:]), r"/data/part-\S+: .*damaged",
    ),
    "ranking without scores": (
        "selector", rows_of_data(lambda rows: [only(row, "rank", "index", "name") for row in rows]), r"no column 'score'",
    ),
    "ranking of another table": (
        "selector", rows_of_data(lambda rows: [{"a": 1}]),
        r"no saved ranking \(it has no column 'rank'\)",
    ),
    "ranking cut": ("selector", rows_of_data(lambda rows: rows[1:]), r"/data holds no whole ranking"),
    "ranking twice": ("selector", rows_of_data(lambda rows: rows + rows), r"/data holds no whole ranking"),
    "state of another table": (
        "extractor", rows_of_data(lambda rows: [{"a": 1}]),
        r"/data holds no saved state \(its columns are a\)",
    ),
    "state without its second piece": (
        "extractor", rows_of_data(lambda rows: [row | {"pieces": 2} for row in rows]), r"/data: piece 2 of 2 is not there",
    ),
    "state without its first piece": (
        "extractor", rows_of_data(lambda rows: [row | {"piece": 1} for row in rows]), r"/data: piece 1 of 1 is not there",
    ),
    "a piece twice": ("extractor", rows_of_data(lambda rows: rows * 2), r"/data: piece \d of \d is not there"),
    "a null state": (
        "classifier", rows_of_data(lambda rows: [row | {"state": None} for row in rows]),
        r"piece 1 of 1 is damaged",
    ),
    "the state of another": (
        "classifier", rows_of_data(lambda rows: [row | {"state": b"x", "checksum": zlib.crc32(b"x")} for row in rows]),
        r"/data does not hold what its metadata tell of",
    ),
    "one byte of a state": (
        "classifier", rows_of_data(lambda rows: [row | {"state": flipped(row["state"])} for row in rows]),
        r"/data: piece 1 of 1 is damaged",
    ),
    "newer state": (
        "classifier", rows_of_data(lambda rows: [row | {"format": 9, "spark_mlfs": "7.1.0"} for row in rows]), "/data " + NEWER,
    ),
    "old state, cut off": ("extractor", with_state(lambda b: b[:-64]), r"/data: a state is damaged: .*as they were encoded"),
    "old state, cut off in the header": ("extractor", with_state(lambda b: b[:20]), r"cut off in the header"),
    "old state, empty": ("extractor", with_state(lambda b: b""), r"/data: a state is damaged"),
    "old state, no header": ("extractor", with_state(lambda b: bytes(len(b))), r"/data: a state is damaged"),
    "old state, another type": (
        "extractor", with_state(lambda b: b.replace(b'"<f8"', b'"|O8"', 1)),
        r"/data: a state is damaged",
    ),
    "old state, indices too large": ("extractor", with_state(lambda b: WIDE), r"/data: .*indices"),
}  # fmt: skip


@pytest.fixture(scope="module")
def saved(spark, tmp_path_factory) -> Path:
    """A fitted model of each kind."""
    folder = tmp_path_factory.mktemp("models")
    for kind, (estimator, _) in MODELS.items():
        estimator().fit(vectors(spark, D, NAMES)).save(str(folder / kind))
    return folder


CLASSES = {
    "selector": spark_mlfs.MultiLabelSelectorModel,
    "extractor": spark_mlfs.MultiLabelExtractorModel,
    "classifier": spark_mlfs.MultiLabelClassificationModel,
}


def one_line(told: str, line: str) -> None:
    assert re.search(line, told), told
    assert "\n" not in told and len(told) < 500
    assert not re.search(r"Traceback|org\.apache|java\.|Py4J|SQLSTATE", told), told


@pytest.mark.slow
@pytest.mark.parametrize("kind", CLASSES)
def test_what_is_whole_is_loaded(spark, saved, kind):
    assert CLASSES[kind].load(str(saved / kind)).numFeatures == D


@pytest.mark.slow
@pytest.mark.parametrize("name", DAMAGED)
def test_a_damaged_model_is_refused(spark, saved, tmp_path, name):
    kind, damage, line = DAMAGED[name]
    folder = tmp_path / kind
    shutil.copytree(saved / kind, folder)
    damage(folder)
    with pytest.raises(SparkMlfsError) as raised:
        CLASSES[kind].load(str(folder))
    one_line(str(raised.value), line)
    assert str(folder) in str(raised.value)


@pytest.mark.slow
def test_every_bit_of_the_metadata_counts(spark, saved):
    """Of each kind, one bit in each byte, another from byte to byte: refused, or the same
    entries."""

    class Read:
        text = b""

        def text_of(self, *_):
            return self

        read, first = (
            property(lambda self: SimpleNamespace(text=self.text_of)),
            lambda self: (self.text.decode("latin-1"),),
        )

    for kind in CLASSES:
        whole = part(saved / kind / "metadata").read_bytes().strip()
        Read.text = whole
        entries = metadata_at(Read(), "here")
        refused = 0
        for at in range(len(whole)):
            Read.text = whole[:at] + bytes([whole[at] ^ 1 << at % 8]) + whole[at + 1 :]
            try:
                assert metadata_at(Read(), "here") == entries
            except ParameterError as error:
                one_line(str(error), "^here")
                refused += 1
        assert refused > len(whole) * 0.95


def test_what_is_saved_says_its_format(spark, saved):
    for kind in MODELS:
        entries = json.loads(part(saved / kind / "metadata").read_text())
        assert (entries["format"], entries["spark_mlfs"]) == (
            saved_things.FORMAT,
            spark_mlfs.__version__,
        )
        if kind != "selector":
            row = pq.read_table(part(saved / kind / "data")).to_pylist()[0]
            assert (row["format"], row["spark_mlfs"]) == (
                saved_things.FORMAT,
                spark_mlfs.__version__,
            )


def test_a_state_of_several_pieces_comes_back(spark, tmp_path, monkeypatch):
    monkeypatch.setattr(saved_things, "PIECE_BYTES", 1000)
    rng = np.random.default_rng(0)
    state = {
        "a": rng.normal(size=(50, 9)),
        "s": sp.random(20, 30, 0.2, format="csr", random_state=1),
        "k": 3,
        "e": np.zeros((0, 4)),
    }
    (tmp_path / "state").mkdir()
    state_rows(state).to_parquet(tmp_path / "state" / "part-0.parquet", index=False)
    found = load_state(spark, str(tmp_path / "state"))
    assert list(found) == list(state) and found["k"] == 3 and found["e"].shape == (0, 4)
    assert (found["a"] == state["a"]).all() and (found["s"] != state["s"]).nnz == 0
    file = part(tmp_path / "state")
    rows = pq.read_table(file).to_pylist()
    assert len(rows) == rows[0]["pieces"] > 4
    pq.write_table(pa.Table.from_pylist([row for row in rows if row["piece"] != 2]), file)
    file.with_name(f".{file.name}.crc").unlink(missing_ok=True)
    with pytest.raises(DataError, match=rf"state: piece 3 of {len(rows)} is not there"):
        load_state(spark, str(tmp_path / "state"))


# ---- the same by command ----


def stage(number: int) -> Callable[[Path], Path]:
    return lambda run: sorted((run / "pipeline" / "stages").iterdir())[number]


def whole(run: Path) -> Path:
    return run / "pipeline"


def model(run: Path) -> Path:
    return run / "model"


# the command, the folder of the run that is damaged, what is done to it, what is told
COMMANDS: dict[str, tuple[str, Callable[[Path], Path], Damage, str]] = {
    "transform, metadata cut off": ("transform", model, text_of_metadata(lambda b: b[:99]), r"run/model/" + CUT),
    "transform, newer": ("transform", model, metadata(format=9, spark_mlfs="7.1.0"), r"run/model " + NEWER),
    "transform, no data": ("transform", model, gone("data"), r"run/model/data is not there"),
    "transform, no metadata": ("transform", model, gone("metadata"), r"no saved selection at \S+/run; give the model/ folder"),
    "transform, ranking without names": (
        "transform", model, rows_of_data(lambda rows: [only(row, "rank", "index") for row in rows]), r"has no column 'name'",
    ),
    "evaluate, newer": ("evaluate", model, metadata(format=9, spark_mlfs="7.1.0"), r"run/model " + NEWER),
    "evaluate, damaged data": ("evaluate", model, bytes_of_data(lambda b: b[:60]), "run/model" + NO_PARQUET),
    "score, pipeline cut off": ("score", whole, text_of_metadata(lambda b: b[:99]), r"run/pipeline/metadata is damaged"),
    "score, pipeline of other bytes": (
        "score", whole, text_of_metadata(lambda b: bytes(range(256))),
        r"pipeline/metadata is damaged",
    ),
    "score, pipeline a list": ("score", whole, text_of_metadata(lambda b: b"[]"), r"pipeline/metadata is damaged"),
    "score, pipeline gone": ("score", whole, gone("metadata"), r"no saved pipeline at \S+/run; give the folder"),
    "score, stages gone": ("score", whole, gone("stages"), r"its stages/0_\S+ is not there\): copy the whole"),
    "score, uids gone": ("score", whole, metadata(paramMap={"language": "Python"}), r"run/pipeline is damaged \(it lacks 'stageUids'\)"),
    "score, gatherer cut off": ("score", stage(0), text_of_metadata(lambda b: b[:50]), r"stages/0_\S+/metadata is damaged"),
    "score, stage cut off": (
        "score", stage(1), text_of_metadata(lambda b: b[:50]),
        r"stages/1_\S+/metadata is damaged|cannot be loaded",
    ),
    "score, stage newer": ("score", stage(2), metadata(format=9, spark_mlfs="7.1.0"), r"stages/2_\S+ " + NEWER),
    "score, stage of no package": (
        "score", stage(2), metadata(**{"class": "nowhere.at.All"}),
        r"its stage nowhere.at.All is not imported",
    ),
    "score, stage that loads others": (
        "score", stage(2), metadata(**{"class": "pyspark.ml.tuning.CrossValidatorModel"}), r"Model is not imported from a saved",
    ),
    "score, stage that is none": (
        "score", stage(2), metadata(**{"class": "os.path"}),
        r"its stage os.path is not imported",
    ),
    "score, classifier without data": ("score", stage(2), gone("data"), r"stages/2_\S+/data is not there, or holds no Parquet"),
    "score, classifier garbled": (
        "score", stage(2), rows_of_data(lambda rows: [row | {"state": flipped(row["state"])} for row in rows]),
        r"stages/2_\S+/data: piece 1 of 1 is damaged",
    ),
}  # fmt: skip


# of each command one, and what this process says in other words; the others ask the same code there
OF_SPARK = (
    "transform, newer",
    "evaluate, damaged data",
    "score, pipeline cut off",
    "score, pipeline of other bytes",
    "score, stages gone",
    "score, uids gone",
    "score, stage of no package",
    "score, stage that loads others",
    "score, stage that is none",
    "score, classifier garbled",
)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_a_command_tells_which_file_is_damaged(home, run, tmp_path, name):
    command, folder, damage, line = COMMANDS[name]
    engine = "spark" if name in OF_SPARK else "local"
    shutil.copytree(home / "run", tmp_path / "run")
    damage(folder(tmp_path / "run"))
    flags = [
        "--model",
        tmp_path / "run",
        "--data",
        home / "train.csv",
        "--format",
        "csv",
        "--engine",
        engine,
        "--output",
        tmp_path / "out",
    ]
    if command == "score":
        flags += ["--id", "k"]
    else:
        flags += ["--features", "x*", "--labels-col", "y*", "--id", "k"]
    code, err = run(command, *flags)
    assert code == 2, err
    assert len(err.splitlines()) == 1 and err.startswith("spark-mlfs: error: "), err
    one_line(err.strip(), line)
    assert [p.name for p in tmp_path.iterdir()] == ["run"]


@pytest.mark.slow
def test_a_saved_folder_has_nothing_of_its_own_imported(home, run, tmp_path, monkeypatch):
    """What it names lies in a folder that Python imports from; pyspark's reader of pipelines would
    import it."""
    shutil.copytree(home / "run", tmp_path / "run")
    (tmp_path / "run" / "evil_stage.py").write_text("raise SystemExit('it was imported')\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(str(tmp_path))
    for folder, command in ((stage(2), "score"), (model, "transform")):
        metadata(**{"class": "run.evil_stage.X"})(folder(tmp_path / "run"))
        flags = [
            "--data",
            home / "train.csv",
            "--format",
            "csv",
            "--id",
            "k",
            "--output",
            tmp_path / "out",
        ]
        more = [] if command == "score" else ["--features", "x*", "--labels-col", "y*"]
        code, err = run(command, "--model", tmp_path / "run", *flags, *more)
        assert code == 2 and not [name for name in sys.modules if "evil_stage" in name], err
        one_line(
            err.strip(),
            "its stage run.evil_stage.X is not imported|holds a X, not a MultiLabelSelectorModel",
        )


# ---- journals of runs that were cut short ----


def test_a_journal_of_a_newer_version_is_left_alone(tmp_path):
    settings = {"tool": "spark_mlfs", "job": "score", "model": "m"}

    def journal() -> Journal:
        return Journal.beside(None, str(tmp_path / "out"), "scoring", dict(settings))

    first = journal()
    first.start()
    first.mark_done(0, {"rows": 3})
    assert journal().open()
    file = tmp_path / ".out.scoring" / "_settings" / "0.json"
    written = json.loads(file.read_text())
    assert written.pop("checksum") == saved_things.checksum(written)
    assert written == {
        **settings,
        "format": saved_things.FORMAT,
        "spark_mlfs": spark_mlfs.__version__,
    }
    file.write_text(
        json.dumps(written | {"spark_mlfs": "0.0.9"})
    )  # another version, the same format
    assert journal().open()
    file.write_text(json.dumps(written | {"format": 9, "spark_mlfs": "7.1.0"}))
    with (
        pytest.raises(ParameterError, match=rf"^{re.escape(str(tmp_path))}/.out.scoring {NEWER}"),
        journal().running(),
    ):
        journal().open()
    assert sorted(p.name for p in (tmp_path / ".out.scoring").iterdir()) == ["_parts", "_settings"]


RENAMED = '{"checksum": "00", "part": 0, "rows": 7}'


@pytest.mark.parametrize(
    "entry", [RENAMED, "", "{", "[]", "5", "null", '{"part": "x"}', "[" * 100_000, '{"rows": 3}']
)
def test_a_damaged_entry_of_a_journal_is_done_again(tmp_path, entry):
    journal = Journal.beside(None, str(tmp_path / "out"), "scoring", {"job": "score"})
    journal.start()
    for number in (0, 1):
        journal.mark_done(number, {"rows": number})
    (tmp_path / ".out.scoring" / "_parts" / "0.json").write_text(entry)
    again = Journal.beside(None, str(tmp_path / "out"), "scoring", {"job": "score"})
    assert again.open() and again.parts == {1: {"part": 1, "rows": 1}}
