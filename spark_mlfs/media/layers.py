"""Inner tensors of an ONNX model as its output."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

from ..errors import ParameterError
from ..frames.names import near
from .base import require
from .model import OnnxModel, one_line


@dataclass(frozen=True)
class Layer:
    """A tensor of numbers that a model computes, of rows (batch, …); None where a size is open."""

    name: str
    shape: tuple[int | None, ...]
    is_output: bool

    def __str__(self) -> str:
        sizes = " × ".join("?" if size is None else str(size) for size in self.shape[1:])
        return f"{self.name}  {sizes}{'  (output)' if self.is_output else ''}"


def layers_of(model: OnnxModel) -> list[Layer]:
    """Return the tensors that can be taken as features, the last one first.

    They are floats of a known number of axes, at least two, the first of which are the rows."""
    proto = _read(model)
    return list(_layers(proto, _inferred(proto)))


def with_layer(model: OnnxModel, name: str) -> OnnxModel:
    """Return the model with one of its tensors as its only output; `ParameterError` for no such."""
    onnx = require("onnx", "onnx", "an inner layer of a model")
    proto = _read(model)
    values = _inferred(proto)
    names = [layer.name for layer in _layers(proto, values)]
    if name not in names:
        source = next(iter(model.files))
        raise ParameterError(f"{source} has no layer {name!r}: {near(name, names)}")
    value = onnx.ValueInfoProto()
    value.CopyFrom(values[name])
    del proto.graph.output[:]
    proto.graph.output.append(value)
    first, *_ = model.files
    return OnnxModel.of({**model.files, first: proto.SerializeToString()}, first)


def _read(model: OnnxModel) -> Any:
    onnx = require("onnx", "onnx", "an inner layer of a model")
    return onnx.load_model_from_string(next(iter(model.files.values())))


def _inferred(proto: Any) -> dict[str, Any]:
    """Return what is known of the tensors by their names: type and shape."""
    onnx = require("onnx", "onnx", "an inner layer of a model")
    try:
        graph = onnx.shape_inference.infer_shapes(proto).graph
    except Exception as error:  # of the library, for a model that it cannot follow
        raise ParameterError(
            f"the layers of the model cannot be listed ({one_line(error)}): export it with the "
            "layer as an output"
        ) from None
    return {value.name: value for value in (*graph.value_info, *graph.output)}


def _layers(proto: Any, values: dict[str, Any]) -> Iterator[Layer]:
    onnx = require("onnx", "onnx", "an inner layer of a model")
    floats = {onnx.TensorProto.FLOAT, onnx.TensorProto.FLOAT16, onnx.TensorProto.DOUBLE}
    outputs = {output.name for output in proto.graph.output}
    computed = [name for node in proto.graph.node for name in node.output]
    for name in reversed(computed):
        if name not in values:
            continue
        tensor = values[name].type.tensor_type
        axes = tensor.shape.dim
        if tensor.elem_type in floats and len(axes) >= 2:
            sizes = tuple(d.dim_value if d.HasField("dim_value") else None for d in axes)
            yield Layer(name, sizes, name in outputs)
