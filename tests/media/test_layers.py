"""Inner tensors of an ONNX model: listed, taken, saved; against onnxruntime on the model itself."""

from __future__ import annotations

import json

import numpy as np
import onnx
import onnx_models
import onnxruntime
import pytest

from spark_mlfs import cli
from spark_mlfs.errors import ParameterError
from spark_mlfs.media.base import EncodeCells
from spark_mlfs.media.layers import layers_of
from spark_mlfs.media.model import OnnxModel


@pytest.fixture
def path(tmp_path):
    return onnx_models.saved(tmp_path / "net.onnx", *onnx_models.images())


def encode(path, cells, **settings):
    opened = EncodeCells.of("onnx", {"model_path": str(path), **settings})
    return opened.encoder.open(opened.parameters)(cells)


def test_layers_are_listed_the_last_first(path):
    layers = {layer.name: layer.shape[1:] for layer in layers_of(OnnxModel.read(path))}
    assert [*layers] == ["embedding", "f", "p", "r", "c", "xt", "xf"]
    assert layers["embedding"] == (12,) and layers["f"] == (8,) and layers["c"] == (8, 20, 20)


def test_the_command_lists_them(path, capsys):
    assert cli.main(["methods", "onnx", "--model", path, "--json"]) == 0
    listed = json.loads(capsys.readouterr().out)["layers"]
    assert listed[0] == {"name": "embedding", "shape": [None, 12], "output": True}
    assert cli.main(["methods", "jmi", "--model", path]) == 2
    assert "--model goes with onnx" in capsys.readouterr().err


def test_a_layer_is_what_the_model_computes_there(path):
    cells = [onnx_models.jpeg(0, 24, 24), onnx_models.jpeg(1, 24, 24)]
    vectors, reasons = encode(path, cells, layer="f")
    assert reasons == [None, None] and vectors.shape == (2, 8)
    whole, _ = encode(path, cells)
    model = onnx.load(path)
    weights = {w.name: onnx.numpy_helper.to_array(w) for w in model.graph.initializer}
    np.testing.assert_allclose(vectors @ weights["g"] + weights["b"], whole, rtol=1e-5)


def test_a_layer_that_is_none_is_one_line(path):
    with pytest.raises(ParameterError, match="has no layer 'embeding': did you mean 'embedding'"):
        encode(path, [], layer="embeding")
    with pytest.raises(ParameterError, match="give layer or output, not both"):
        encode(path, [], layer="f", output="embedding")
    assert onnxruntime.InferenceSession(path).get_outputs()[0].name == "embedding"
