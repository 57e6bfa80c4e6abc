"""ONNX encoders as stages of pyspark.ml and scikit-learn: the same bits, and a model that travels
with what is saved."""

from __future__ import annotations

import pickle
import shutil

import numpy as np
import pandas as pd
import pytest
from onnx_models import images, jpeg, saved, texts, tokens
from pyspark.ml import Pipeline
from sklearn.base import clone
from sklearn.pipeline import make_pipeline

import spark_mlfs
from spark_mlfs import sklearn as arrays
from spark_mlfs.errors import DataError, ParameterError
from spark_mlfs.media import model as files_of_models
from spark_mlfs.ml.persistence import load_pipeline

FILES = [jpeg(i, 30 + i, 44) for i in range(40)]
TOKENS = [np.random.default_rng(i).integers(1, 50, 1 + 3 * i).tolist() for i in range(30)]


def test_rows_of_arrays(tmp_path):
    path = saved(tmp_path / "m.onnx", *images())
    (tmp_path / "a.jpg").write_bytes(FILES[0])
    encoder = arrays.OnnxEncoder(model_path=path, image_size=24)
    whole = encoder.transform(FILES)
    assert (
        whole.shape == (40, 12)
        and encoder.get_feature_names_out()[3] == "embedding_3"
        and encoder.reasons_ == [None] * 40
    )
    np.testing.assert_array_equal(
        encoder.transform([str(tmp_path / "a.jpg"), tmp_path / "a.jpg"]), whole[[0, 0]]
    )
    with pytest.raises(DataError, match="row 1: no image"):
        encoder.transform([FILES[0], b"x"])
    lenient = clone(encoder).set_params(on_error="zero")
    assert not lenient.transform([b"x", FILES[0]])[0].any() and "no image" in lenient.reasons_[0]


def test_tokens_and_texts_of_arrays(tmp_path):
    encoder = arrays.OnnxEncoder(
        model_path=saved(tmp_path / "m.onnx", *tokens()), passage_length=9, passage_overlap=2
    )
    assert encoder.transform(TOKENS).shape == (30, 6)
    np.testing.assert_array_equal(
        encoder.transform([np.array(row) for row in TOKENS]), encoder.transform(TOKENS)
    )
    with pytest.raises(ParameterError, match="no list of token ids"):
        encoder.transform(["a text"])
    encoder = arrays.OnnxEncoder(model_path=saved(tmp_path / "t.onnx", *texts()))
    assert encoder.transform(["c", "a b"]).shape == (2, 3)
    with pytest.raises(ParameterError, match="no text"):
        encoder.transform([[1, 2]])
    with pytest.raises(ParameterError, match="set model_path"):
        arrays.OnnxEncoder().transform(["a"])
    with pytest.raises(ParameterError, match="set model_path"):
        arrays.OnnxEncoder().fit()


def test_a_fitted_estimator_is_pickled_with_its_model(tmp_path):
    path = saved(tmp_path / "m.onnx", *images())
    x = arrays.OnnxEncoder(model_path=path).transform(FILES)
    y = (x[:, :2] > np.median(x[:, :2], axis=0)).astype(int)
    fitted = make_pipeline(
        arrays.OnnxEncoder(model_path=path),
        arrays.MIMSelector(num_top_features=4),
        arrays.MLkNNClassifier(),
    )
    fitted.fit(FILES, y)
    encoder = fitted[0]
    (tmp_path / "m.onnx").unlink()
    kept = encoder.get_feature_names_out()[[5, 2]]
    cut = encoder.pruned(kept)
    cut.write_model(str(tmp_path / "cut.onnx"))
    assert cut.get_feature_names_out().tolist() == kept.tolist()
    np.testing.assert_allclose(cut.transform(FILES), x[:, [5, 2]], rtol=1e-6, atol=1e-6)
    np.testing.assert_array_equal(
        arrays.OnnxEncoder(model_path=str(tmp_path / "cut.onnx")).transform(FILES),
        cut.transform(FILES),
    )
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(fitted)).predict(FILES), fitted.predict(FILES)
    )


@pytest.fixture(scope="module")
def frame(spark):
    rows = pd.DataFrame({"number": range(40), "content": FILES})
    rows.loc[7, "content"] = b"no image"
    rows["reason"] = [None] * 11 + ["known before"] + [None] * 28
    rows["tokens"] = [TOKENS[i % 30] for i in range(40)]
    schema = "number int, content binary, reason string, tokens array<int>"
    return spark.createDataFrame(rows, schema).repartition(3, "number")


def collected(rows, column="features"):
    rows = sorted(rows.select("number", column, "reason").collect())
    return np.array([row[1].toArray() for row in rows]), [row[2] for row in rows]


def test_partitions_give_what_arrays_give(spark, frame, tmp_path):
    path = saved(tmp_path / "m.onnx", *images())
    whole = arrays.OnnxEncoder(model_path=path).transform(FILES)
    encoder = spark_mlfs.OnnxEncoder(modelPath=path)
    out = encoder.transform(frame)
    got, reasons = collected(out)
    used = [i for i in range(40) if i not in (7, 11)]
    np.testing.assert_array_equal(got[used], whole[used])
    assert (
        reasons[11] == "known before"
        and "no image" in reasons[7]
        and [reasons[i] for i in used] == [None] * 38
    )
    assert not got[[7, 11]].any()
    from spark_mlfs.frames.schema import attribute_names

    assert attribute_names(out, "features")[11] == "embedding_11"
    words = {"modelPath": saved(tmp_path / "w.onnx", *tokens()), "passageLength": 9}
    got, _ = collected(
        spark_mlfs.OnnxEncoder(inputCol="tokens", **words).transform(frame.drop("reason"))
    )
    expected = arrays.OnnxEncoder(model_path=words["modelPath"], passage_length=9).transform(TOKENS)
    np.testing.assert_array_equal(got, expected[[i % 30 for i in range(40)]])


@pytest.mark.slow
def test_a_saved_stage_has_its_model(spark, frame, tmp_path):
    path = saved(tmp_path / "m.onnx", *images())
    encoder = spark_mlfs.OnnxEncoder(modelPath=path)
    before, _ = collected(encoder.transform(frame))
    encoder.save(str(tmp_path / "stage"))
    other = saved(tmp_path / "other.onnx", *images(width=3))
    shutil.copy(other, path)  # what lies there now is not asked
    loaded = spark_mlfs.OnnxEncoder.load(str(tmp_path / "stage"))
    np.testing.assert_array_equal(collected(loaded.transform(frame))[0], before)
    assert collected(loaded.setModelPath(other).transform(frame))[0].shape == (40, 3)
    part = next((tmp_path / "stage" / "data").glob("*.parquet"))
    rows = pd.read_parquet(part)
    rows.loc[0, "state"] = rows.loc[0, "state"][:-200] + b"x" + rows.loc[0, "state"][-199:]
    rows.to_parquet(part)
    part.with_name(f".{part.name}.crc").unlink()
    with pytest.raises(DataError, match="damaged"):
        spark_mlfs.OnnxEncoder.load(str(tmp_path / "stage"))


@pytest.mark.slow
def test_the_numbers_that_a_selection_drops_are_not_computed(spark, frame, tmp_path):
    path = saved(tmp_path / "m.onnx", *images())
    x = arrays.OnnxEncoder(model_path=path).transform(FILES)
    labels = pd.DataFrame(
        {
            "number": range(40),
            "labels": (x[:, 3:5] > np.median(x[:, 3:5], axis=0)).astype(int).tolist(),
        }
    )
    rows = (
        frame.drop("reason")
        .where("number != 7")
        .join(spark.createDataFrame(labels, "number int, labels array<int>"), "number")
    )
    encoder = spark_mlfs.OnnxEncoder(modelPath=path)
    selector = spark_mlfs.MIMSelector(numTopFeatures=4, outputCol="selected")
    pipeline = Pipeline(stages=[encoder, selector]).fit(rows)
    kept = pipeline.stages[1].selectedFeatureNames
    cut = encoder.pruned(kept)
    assert cut._encoder().names == kept and encoder._encoder().names[:2] == [
        "embedding_0",
        "embedding_1",
    ]
    pipeline.stages[0] = cut
    pipeline.write().overwrite().save(str(tmp_path / "pipeline"))
    (tmp_path / "m.onnx").unlink()
    got, _ = collected(load_pipeline(spark, str(tmp_path / "pipeline")).transform(rows), "selected")
    places = [int(name.rpartition("_")[2]) for name in kept]
    np.testing.assert_allclose(got, np.delete(x, 7, 0)[:, places], rtol=1e-6, atol=1e-6)
    with pytest.raises(ParameterError, match="not cut"):
        spark_mlfs.ImageFeatures().pruned(["pixel_r0_c0"])


def test_a_model_is_sent_once(tmp_path, monkeypatch):
    """What a session on Connect is sent; `tests/connect` has such a session."""
    monkeypatch.setattr(files_of_models, "LARGE", 10)

    class Session:
        sent = 0

        def addArtifacts(self, path, file):
            assert file
            Session.sent += 1
            shutil.copy(path, tmp_path)

    Session.__module__ = "pyspark.sql.connect.session"
    session, encoder = (
        Session(),
        spark_mlfs.media.base.EncodeCells.of(
            "onnx", {"model_path": saved(tmp_path / "m", *images())}
        ),
    )
    light = [pickle.loads(pickle.dumps(encoder.sent(session))) for _ in range(2)][1]
    assert Session.sent == 1 and len(pickle.dumps(light)) < 3000
    monkeypatch.setattr("pyspark.SparkFiles.get", lambda name: str(tmp_path / name))
    monkeypatch.setattr("spark_mlfs.media.onnx._SESSIONS", {})
    expected = encoder.encoder.open(encoder.parameters)(FILES)[0]
    monkeypatch.setattr("spark_mlfs.media.onnx._SESSIONS", {})
    np.testing.assert_array_equal(light.encoder.open(light.parameters)(FILES)[0], expected)
