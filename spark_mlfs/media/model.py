"""The files of an ONNX model: read with all that they ask for, or refused; and a model without
entries of its output.

A model may name files that hold its weights. They are read of its own folder only, here and nowhere
else: what goes to a worker, or into a saved pipeline, are bytes."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, ParameterError
from .base import require

LARGE = 1 << 20  # bytes of a model that are not sent with every plan


@dataclass(frozen=True)
class OnnxModel:
    """A model's files as bytes by their names: first its own, then those of its weights, if it has
    such."""

    files: dict[str, bytes]
    digest: str

    @staticmethod
    def of(files: Mapping[str, bytes], where: str) -> OnnxModel:
        """The model of these files; `ParameterError` where the first is none, or asks for
        others."""
        content = next(iter(files.values()))
        for name in files:
            if Path(name).is_absolute() or ".." in Path(name).parts:
                raise _outside(where, name)
        for location in external_files(content, where):
            if location not in files:
                raise ParameterError(
                    f"{where} asks for {location!r}, which does not belong to it: export the model "
                    "again"
                )
        sums = [hashlib.sha256(content).hexdigest() for content in files.values()]
        whole = (
            sums[0]
            if len(sums) == 1
            else hashlib.sha256(" ".join([*sums, *list(files)[1:]]).encode()).hexdigest()
        )
        return OnnxModel(dict(files), whole)

    @staticmethod
    def read(path: str) -> OnnxModel:
        """Read a model and what it asks for in its folder; `ParameterError` for what is no model,
        or asks for other files."""
        name = path.removeprefix("file://")
        files = {os.path.basename(name): _content(name, path)}
        folder = Path(name).parent
        for location in external_files(next(iter(files.values())), path):
            there = folder / location
            if Path(location).is_absolute() or not there.resolve().is_relative_to(folder.resolve()):
                raise _outside(path, location)
            files[location] = _content(str(there), f"{path} asks for {location!r}, which")
        return OnnxModel.of(files, path)

    def state(self) -> dict[str, Any]:
        """The model as arrays and plain values, as `blocks.codec` encodes them."""
        arrays = {
            f"file{i}": np.frombuffer(content, np.uint8)
            for i, content in enumerate(self.files.values())
        }
        return {"names": list(self.files), "sha256": self.digest, **arrays}

    @staticmethod
    def of_state(state: Mapping[str, Any], where: str) -> OnnxModel:
        """The inverse of `state`; `DataError` where the files are not those that were saved."""
        files = {name: state[f"file{i}"].tobytes() for i, name in enumerate(state["names"])}
        model = OnnxModel.of(files, where)
        if model.digest != state["sha256"]:
            raise DataError(
                f"{where} holds another model than was saved (its sha256 is {model.digest[:12]}…): "
                "save it again"
            )
        return model

    def load(self) -> OnnxModel:
        """The model itself, of one that may be elsewhere."""
        return self

    def save(self, path: str) -> None:
        """Write the model, and the files of its weights beside it."""
        for i, (name, content) in enumerate(self.files.items()):
            target = Path(path) if not i else Path(path).parent / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


@dataclass(frozen=True)
class SentModel:
    """A model that lies with the workers of a session as a file. Without Connect Spark broadcasts a
    large closure by itself."""

    name: str
    digest: str

    def load(self) -> OnnxModel:
        from pyspark import SparkFiles

        loaded: OnnxModel = pickle.loads(Path(SparkFiles.get(self.name)).read_bytes())
        return loaded


def sent(spark: Any, model: OnnxModel | SentModel) -> OnnxModel | SentModel:
    """A model as the workers of a session get it: as a file, once, where it is too large for the
    messages of Connect."""
    small = isinstance(model, SentModel) or sum(map(len, model.files.values())) <= LARGE
    if small or ".connect." not in type(spark).__module__:
        return model
    name, known = f"{model.digest}.onnx", vars(spark).setdefault("_spark_mlfs_sent", set())
    if name not in known:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, name).write_bytes(pickle.dumps(model))
            spark.addArtifacts(f"{folder}/{name}", file=True)
        known.add(name)
    return SentModel(name, model.digest)


def _outside(where: str, name: str) -> ParameterError:
    said = "which is not read: put the file beside the model, and export the model again"
    return ParameterError(f"{where} asks for {name!r} outside its folder, {said}")


def external_files(content: bytes, where: str) -> list[str]:
    """Return the files that a model asks for; `ParameterError` where it is no model."""
    onnx = require("onnx", "onnx", "an ONNX model")
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # of the library that reads it
        raise ParameterError(
            f"{where} is no ONNX model ({str(error)[:80]}): give the file that was exported"
        ) from None
    if not model.HasField("graph"):
        raise ParameterError(
            f"{where} is no ONNX model (it has no graph): give the file that was exported"
        )
    entries = (
        entry for tensor in _tensors(model, onnx.TensorProto) for entry in tensor.external_data
    )
    return list(dict.fromkeys(entry.value for entry in entries if entry.key == "location"))


def _tensors(message: Any, kind: type) -> Iterator[Any]:
    """Iterate over the tensors of a message, however deep they are in it."""
    if isinstance(message, kind):
        yield message
        return
    for field, value in message.ListFields():
        for each in (
            (value if isinstance(value, Sequence) else [value]) if field.message_type else ()
        ):
            yield from _tensors(each, kind)


def _content(name: str, where: str) -> bytes:
    try:
        return Path(name).read_bytes()
    except OSError as error:
        said = (error.strerror or str(error)).lower()
        raise ParameterError(
            f"{where} cannot be read ({said}): give the path of an ONNX file on this machine"
        ) from None


# ---- without entries of an output ----

# in a model's metadata: the numbers that the entries of an output had before it was cut
KEPT = "spark_mlfs.kept"
_ENTRY_BY_ENTRY = {
    "Identity",
    "Cast",
    "Relu",
    "LeakyRelu",
    "Elu",
    "Gelu",
    "Sigmoid",
    "Tanh",
    "Softplus",
    "Dropout",
}
_OF_TWO = {"Add", "Sub", "Mul", "Div"}


def pruned(model: OnnxModel, output: str, width: int, places: Sequence[int]) -> OnnxModel:
    """Return the model with only the entries `places` of an output of `width`, in that order: the
    others are not computed any more. `ParameterError` where the last layer is not linear (Gemm or
    MatMul; entry by entry what comes behind)."""
    onnx = require("onnx", "onnx", "cutting a model")
    name = next(iter(model.files))
    with tempfile.TemporaryDirectory() as folder:
        model.save(f"{folder}/{name}")
        proto = onnx.load(f"{folder}/{name}")
    graph = proto.graph
    makers = {made: node for node in graph.node for made in node.output}
    weights = {tensor.name: tensor for tensor in graph.initializer}
    uses = Counter([*_names_used(graph), *(each.name for each in graph.output)])
    passed = set()

    def refuse(why: str) -> ParameterError:
        return ParameterError(
            f"{name}: {output!r} cannot be cut to some of its numbers: {why}; encode with the "
            "whole model"
        )

    def cut(value: str, axis: int = -1) -> str:
        """Have a value made without what is not kept; the name of it then."""
        if value in weights:
            whole = onnx.numpy_helper.to_array(weights[value])
            if axis < 0 and (not whole.ndim or whole.shape[-1] == 1):  # one number for all
                return value
            if whole.shape[axis] != width:
                raise refuse(f"{value!r} has another shape")
            fresh = f"{value}/kept"
            while fresh in uses:
                fresh += "_"
            graph.initializer.append(
                onnx.numpy_helper.from_array(np.ascontiguousarray(whole.take(places, axis)), fresh)
            )
            return fresh
        node: Any = makers.get(value)
        kind = None if node is None else node.op_type
        if uses[value] > 1:
            raise refuse(f"another layer reads {value!r}, too")
        if kind == "Gemm" or (kind == "MatMul" and node.input[1] in weights):
            across = any(each.name == "transB" and each.i for each in node.attribute)
            node.input[1] = cut(node.input[1], 0 if across else 1)
            node.input[2:] = [cut(each) if each else each for each in node.input[2:]]
        elif kind in _ENTRY_BY_ENTRY | _OF_TWO:
            count = len(node.input) if kind in _OF_TWO else 1
            node.input[:count] = [cut(each) for each in node.input[:count]]
        else:
            raise refuse(f"a layer {kind} makes it, not a linear one (Gemm or MatMul)")
        passed.add(value)
        return value

    cut(output)
    used = set(_names_used(graph))
    for tensor in [each for each in graph.initializer if each.name not in used]:
        graph.initializer.remove(tensor)
    for each in [*graph.output, *graph.value_info]:
        if each.name in passed and each.type.tensor_type.shape.dim:
            each.type.tensor_type.shape.dim[-1].dim_value = len(places)
    told = {each.key: each.value for each in proto.metadata_props}
    kept = json.loads(told.get(KEPT, "{}"))
    numbers = kept.get(output) or range(width)
    told[KEPT] = json.dumps({**kept, output: [numbers[place] for place in places]})
    onnx.helper.set_model_props(proto, told)
    return OnnxModel.of({name: proto.SerializeToString()}, name)


def _names_used(graph: Any) -> Iterator[str]:
    """Iterate over what the nodes of a graph, and of those inside it, read."""
    for node in graph.node:
        yield from node.input
        for inside in (
            each for attribute in node.attribute for each in (attribute.g, *attribute.graphs)
        ):
            yield from _names_used(inside)
            yield from (output.name for output in inside.output)
