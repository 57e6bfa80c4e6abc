"""A selection behind an ONNX encoder as a saved pipeline: the model travels, what is dropped is not
computed."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
import pytest

from spark_mlfs import cli
from spark_mlfs.media.generate import write_files

sys.path.append(str(Path(__file__).parents[1] / "media"))
from onnx_models import images, saved


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Pictures, of which one is damaged, and a pipeline that was fitted on them without Spark; its
    model's file is gone."""
    folder = tmp_path_factory.mktemp("pipelines")
    write_files("images", folder, 60, 0, True)
    (folder / "files" / "000003.png").write_bytes(b"no image")
    model = saved(folder / "model.onnx", *images(width=40))
    given = [
        "--format",
        "files",
        "--data",
        str(folder / "labels.csv"),
        "--labels-col",
        "tags",
        "--option",
        "label_delimiter=;",
    ]
    given += [
        "--option",
        "features=onnx",
        "--option",
        f"feature_options={json.dumps({'model_path': model})}",
    ]
    given += ["--method", "mim", "--num-top-features", "6", "--classifier", "mlknn", "--quiet"]
    assert cli.main(["select", *given, "--engine", "local", "--output", str(folder / "run")]) == 0
    (folder / "model.onnx").rename(folder / "elsewhere.onnx")
    return folder


def score(folder, output, engine, *more):
    given = [
        "--model",
        str(folder / "run"),
        "--format",
        "files",
        "--data",
        str(folder / "files"),
        "--top-n",
        "2",
        "--quiet",
    ]
    assert (
        cli.main(["score", *given, "--engine", engine, "--output", str(folder / output), *more])
        == 0
    )
    return pq.read_table(folder / output / "data").sort_by("path").to_pylist()


def test_the_pipeline_has_the_model_cut_to_what_was_kept(folder):
    stage = next((folder / "run" / "pipeline" / "stages").glob("*_OnnxEncoder_*"))
    kept = pd.read_csv(folder / "run" / "ranking.csv")["name"][:6].tolist()
    from spark_mlfs.scoring.local import load_here

    scorer = load_here(str(folder / "run"))
    found = scorer.encoder[1]
    assert (
        found.names == kept
        and "sha256" in json.loads(next((stage / "metadata").glob("part-*")).read_text())["encoder"]
    )
    graph = found.state["file0"].tobytes()
    assert len(graph) < (folder / "elsewhere.onnx").stat().st_size


@pytest.mark.parametrize("engine", ["local", pytest.param("spark", marks=pytest.mark.slow)])
def test_new_files_are_tagged_by_the_saved_pipeline(folder, engine):
    rows = score(folder, engine, engine)
    assert len(rows) == 60
    reasons = [row["reason"] for row in rows]
    assert (
        [i for i, reason in enumerate(reasons) if reason] == [3]
        and "no image" in reasons[3]
        and rows[3]["tags"] is None
    )
    if engine == "spark":
        assert rows == score(folder, "local beside", "local")


def test_tags_are_those_of_the_whole_model(folder):
    """The whole encoder in arrays, and the same selection and classifier behind it."""
    from spark_mlfs.sklearn import MLkNNClassifier, OnnxEncoder

    names = sorted(path for path in (folder / "files").glob("*.png") if path.name != "000003.png")
    encoder = OnnxEncoder(model_path=str(folder / "elsewhere.onnx"))
    x = pd.DataFrame(encoder.transform(names), columns=encoder.get_feature_names_out())
    kept = pd.read_csv(folder / "run" / "ranking.csv")["name"][:6].tolist()
    tags = pd.read_csv(folder / "labels.csv").set_index("path")["tags"].str.split(";")
    fitted = MLkNNClassifier().fit(x[kept], [tags[f"files/{name.name}"] for name in names])
    scores = fitted.predict_proba(x[kept])
    rows = [row for row in score(folder, "again", "local") if row["reason"] is None]
    for row, expected in zip(rows, scores, strict=True):
        np.testing.assert_allclose(row["scores"], np.sort(expected)[::-1][:2], rtol=1e-6)


def test_a_pipeline_whose_model_was_changed_is_refused(folder, tmp_path, capsys):
    import shutil

    shutil.copytree(folder / "run", tmp_path / "run")
    part = next((tmp_path / "run" / "pipeline" / "stages").glob("*_OnnxEncoder_*/data/*.parquet"))
    rows = pd.read_parquet(part)
    state = bytearray(rows.loc[0, "state"])
    state[-100] ^= 1
    rows.loc[0, "state"] = bytes(state)
    rows.to_parquet(part)
    given = [
        "--format",
        "files",
        "--data",
        str(folder / "files"),
        "--engine",
        "local",
        "--output",
        str(tmp_path / "out"),
    ]
    assert cli.main(["score", "--model", str(tmp_path / "run"), *given]) != 0
    assert "damaged" in capsys.readouterr().err.strip().splitlines()[-1]
