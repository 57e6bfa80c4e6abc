"""Saved pipelines whose parts without checksums are damaged: those of Spark ML. One line each."""

from __future__ import annotations

import json
import shutil
from functools import partial

import numpy as np
import pandas as pd
import pytest

from spark_mlfs import cli
from spark_mlfs.adapters.saved import whole
from spark_mlfs.errors import ParameterError, SparkMlfsError
from spark_mlfs.scoring.base import StageDescription
from spark_mlfs.scoring.local import LocalScorer, load_here
from spark_mlfs.scoring.stages import load_scorer

GONE = object()
VALUES = (GONE, None, 7, "x", [], {}, [7], [None], {"a": 1}, True)


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    home = tmp_path_factory.mktemp("pipelines")
    r = np.random.default_rng(0)
    rows = pd.DataFrame(r.normal(size=(40, 2)), columns=["a", "b"])
    rows["t"], rows["u"] = (rows.a > 0).astype(int), (rows.b > 0).astype(int)
    rows.to_parquet(home / "rows.parquet")
    flags = "--format parquet --features a b --labels-col t u --method mim --classifier mlknn"
    command = ["select", "--engine", "local", "--data", str(home / "rows.parquet"), *flags.split()]
    assert cli.main([*command, "--quiet", "--output", str(home / "model")]) == 0
    return home / "model"


@pytest.mark.parametrize(
    "keys",
    [(), ("class",), ("uid",), ("paramMap",), ("paramMap", "stageUids"), ("paramMap", "language")],
)
def test_every_key_of_a_pipeline(saved, tmp_path, keys):
    shutil.copytree(saved, tmp_path / "model")
    (path,) = (tmp_path / "model/pipeline/metadata").glob("part-*")
    text = path.read_text()
    for value in VALUES:
        metadata = inside = json.loads(text)
        for key in keys[:-1]:
            inside = inside[key]
        if not keys:
            metadata = None if value is GONE else value
        elif value is GONE:
            del inside[keys[-1]]
        else:
            inside[keys[-1]] = value
        path.write_text(json.dumps(metadata))
        if keys == ("uid",) and value is not GONE:  # which nothing goes by
            load_here(str(tmp_path / "model"))
            continue
        with pytest.raises(SparkMlfsError) as raised:
            load_here(str(tmp_path / "model"))
        assert "\n" not in str(raised.value) and "model/pipeline" in str(raised.value)


def part(path):
    return next(iter(sorted(path.glob("part-*"))))


COPY = r"copy the whole folder again, or save it again$"
NO_JSON = rf"stages/1_\w+/metadata is damaged \(it is cut off, or no JSON .*: {COPY}"
NO_DATA = rf"stages/2_\w+/data is not there, or holds no Parquet: {COPY}"
NO_PARQUET = rf"stages/2_\w+/data/part-\S+: no Parquet file, or a damaged one: {COPY}"
DAMAGES = {
    "no stage": (
        1,
        shutil.rmtree,
        rf"model/pipeline is damaged \(its stages/1_\w+ is not .*: {COPY}",
    ),
    "no metadata": (1, lambda s: part(s / "metadata").unlink(), NO_JSON),
    "other bytes": (1, lambda s: part(s / "metadata").write_bytes(b"\xff\xfe{}"), NO_JSON),
    "no data": (2, lambda s: shutil.rmtree(s / "data"), NO_DATA),
    "half of the data": (
        2,
        lambda s: part(s / "data").write_bytes(b"PAR1 and no more"),
        NO_PARQUET,
    ),
    "other data": (
        2,
        lambda s: pd.DataFrame({"x": [1]}).to_parquet(part(s / "data")),
        rf"stages/2_\w+/data holds no saved state \(its columns are x\): {COPY}",
    ),
}


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])
def test_what_is_damaged_is_said_alike(engine, request, saved, tmp_path):
    load = load_here
    if engine == "spark":
        load = partial(load_scorer, request.getfixturevalue("spark"))
    for number, (stage, damage, message) in enumerate(DAMAGES.values()):
        model = tmp_path / str(number) / "model"
        shutil.copytree(saved, model)
        damage(sorted((model / "pipeline" / "stages").iterdir())[stage])
        with pytest.raises(SparkMlfsError, match=message):
            load(str(model))


SPLIT = {"inputCol": "text", "outputCol": "t", "pattern": r"\W+", "gaps": True}
SPLIT |= {"toLowercase": True, "minTokenLength": 1}
WITHOUT = {"inputCol": "t", "outputCol": "k", "stopWords": ["the"], "caseSensitive": False}
COUNTS = {"inputCol": "k", "outputCol": "c", "minTF": 1.0, "binary": False}


@pytest.mark.parametrize(
    ("stage", "name"),
    [(0, name) for name in SPLIT]
    + [(1, name) for name in WITHOUT]
    + [(2, n) for n in COUNTS if n != "outputCol"],
)
def test_every_param_of_spark_ml_s_stages(saved, stage, name):
    fitted = load_here(str(saved)).stages[1:]
    kinds = ("RegexTokenizer", "StopWordsRemover", "CountVectorizerModel")
    params = [dict(SPLIT), dict(WITHOUT), dict(COUNTS)]
    stages = [StageDescription(*pair, ("a", "b")) for pair in zip(kinds, params, strict=True)]
    with whole("path"):
        LocalScorer("path", [*stages, *fitted]).check_params()
    del params[stage][name]
    lacks = pytest.raises(ParameterError, match=f"^path is damaged .it lacks '{name}'.: copy")
    with lacks, whole("path"):
        LocalScorer("path", [*stages, *fitted]).check_params()


def test_a_vocabulary_that_is_not_there(saved, tmp_path):
    shutil.copytree(saved, tmp_path / "model")
    stage = next((tmp_path / "model/pipeline/stages").glob("0_*"))
    metadata = {"class": "org.CountVectorizerModel", "uid": "c", "paramMap": {}}
    (path,) = (stage / "metadata").glob("part-*")
    path.write_text(json.dumps(metadata))
    (stage / "data").mkdir(exist_ok=True)
    for columns in ({"other": ["x"]}, {"vocabulary": []}, {"vocabulary": [7]}):
        pd.DataFrame(columns).to_parquet(stage / "data/part-0.parquet")
        with pytest.raises(ParameterError, match="is damaged"):
            load_here(str(tmp_path / "model"))
