"""Tiny ONNX models, made here, and files for them."""

from __future__ import annotations

import io

import numpy as np
import onnx
from onnx import TensorProto as T
from onnx import helper as h
from onnx import numpy_helper
from PIL import Image

OPSETS = [h.make_opsetid("", 20), h.make_opsetid("ai.onnx.ml", 3)]


def weight(name, *shape, seed=0):
    rng = np.random.default_rng([seed, len(name), *map(ord, name)])
    return numpy_helper.from_array(rng.normal(size=shape).astype(np.float32), name)


def model(nodes, inputs, outputs, weights=()):
    def told(values):
        return [h.make_tensor_value_info(name, kind, shape) for name, kind, shape in values]

    graph = h.make_graph(
        [h.make_node(op, i, o, **a) for op, i, o, a in nodes],
        "g",
        told(inputs),
        told(outputs),
        list(weights),
    )
    return h.make_model(graph, opset_imports=OPSETS, ir_version=9)


def saved(path, *how, **more):
    onnx.save(model(*how, **more), str(path))
    return str(path)


def images(batch="N", size=24, width=12, channels=3, last=False, kind=T.FLOAT):
    """A convolution, the mean over the places, and a linear layer."""
    shape = [batch, size, size, channels] if last else [batch, channels, size, size]
    nodes = [("Cast", ["x"], ["xf"], {"to": T.FLOAT})]
    nodes += (
        [("Transpose", ["xf"], ["xt"], {"perm": [0, 3, 1, 2]})]
        if last
        else [("Identity", ["xf"], ["xt"], {})]
    )
    nodes += [
        ("Conv", ["xt", "w"], ["c"], {}),
        ("Relu", ["c"], ["r"], {}),
        ("GlobalAveragePool", ["r"], ["p"], {}),
        ("Flatten", ["p"], ["f"], {}),
        ("Gemm", ["f", "g", "b"], ["embedding"], {}),
    ]
    weights = [weight("w", 8, channels, 5, 5), weight("g", 8, width), weight("b", width)]
    return nodes, [("x", kind, shape)], [("embedding", T.FLOAT, [batch, width])], weights


def tokens(mask=True, width=6, words=50, batch="N", length="L"):
    """A vector a token, through a linear layer; what is masked does not count in the shift by the
    row's mean."""
    inputs = [("input_ids", T.INT64, [batch, length])] + [
        ("attention_mask", T.INT64, [batch, length])
    ] * mask
    nodes = [("Gather", ["e", "input_ids"], ["v"], {})]
    if mask:
        nodes += [
            ("Cast", ["attention_mask"], ["mf"], {"to": T.FLOAT}),
            ("Unsqueeze", ["mf", "two"], ["m"], {}),
            ("Mul", ["v", "m"], ["vm"], {}),
            ("ReduceSum", ["vm", "one"], ["s"], {}),
            ("Add", ["v", "s"], ["u"], {}),
        ]
    nodes += [
        ("MatMul", ["u" if mask else "v", "g"], ["k"], {}),
        ("Add", ["k", "b"], ["hidden"], {}),
    ]
    axes = (
        [numpy_helper.from_array(np.array([axis]), name) for axis, name in ((1, "one"), (2, "two"))]
        if mask
        else []
    )
    weights = [weight("e", words, 5), weight("g", 5, width), weight("b", width), *axes]
    return nodes, inputs, [("hidden", T.FLOAT, [batch, length, width])], weights


def texts():
    """A row of numbers by the whole text, of four that are known."""
    keys = ["a b", "c", "c d", "e"]
    known = {
        "domain": "ai.onnx.ml",
        "keys_strings": keys,
        "values_int64s": [1, 2, 3, 4],
        "default_int64": 0,
    }
    nodes = [("LabelEncoder", ["t"], ["i"], known), ("Gather", ["e", "i"], ["out"], {})]
    return nodes, [("t", T.STRING, ["N"])], [("out", T.FLOAT, ["N", 3])], [weight("e", 5, 3)]


def jpeg(seed, height=30, width=40, format="JPEG"):
    file = io.BytesIO()
    Image.fromarray(
        np.random.default_rng(seed).integers(0, 255, (height, width, 3), dtype=np.uint8)
    ).save(file, format)
    return file.getvalue()
