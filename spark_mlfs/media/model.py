"""The files of an ONNX model, read with all that they ask for; and a model cut to some entries of
its output.

A model may name files that hold its weights. They are read of its own folder only, here and nowhere
else: what goes to a worker, or into a saved pipeline, are bytes."""

from __future__ import annotations

import hashlib
import json
import os
import pickle
import stat
import tempfile
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ..errors import DataError, ParameterError, quantity
from .base import require

LARGE = 1 << 20  # bytes of a model that are not sent with every plan
MOST_BYTES = 8 << 30  # of a model's files together, which are held in memory


@dataclass(frozen=True)
class OnnxModel:
    """A model's files as bytes by their names: first its own, then those of its weights."""

    files: dict[str, bytes]
    digest: str

    @staticmethod
    def of(files: Mapping[str, bytes], source: str) -> OnnxModel:
        """Return the model of these files.

        Raises `ParameterError` where the first is none, or asks for others."""
        content = next(iter(files.values()))
        for name in files:
            if Path(name).is_absolute() or ".." in Path(name).parts or "\0" in name:
                raise _outside(source, name)
        for location in external_files(content, source):
            if location not in files:
                raise ParameterError(
                    f"{source} asks for {location!r}, which does not belong to it: export the "
                    "model again"
                )
        digests = [hashlib.sha256(file).hexdigest() for file in files.values()]
        if len(digests) == 1:
            return OnnxModel(dict(files), digests[0])
        text = " ".join([*digests, *list(files)[1:]])
        return OnnxModel(dict(files), hashlib.sha256(text.encode()).hexdigest())

    @staticmethod
    def read(path: str | os.PathLike[str]) -> OnnxModel:
        """Read a model and what it asks for in its folder.

        Raises `ParameterError` for what is no model, or asks for other files."""
        path = os.fspath(path)
        name = path.removeprefix("file://")
        content = _content(name, path, MOST_BYTES)
        files = {os.path.basename(name): content}
        folder = os.path.dirname(name) or "."
        left = MOST_BYTES - len(content)
        for location in external_files(content, path):
            file = os.path.join(folder, location)
            if "\0" in location or not _is_inside(file, folder):
                raise _outside(path, location)
            files[location] = _content(file, f"{path} asks for {location[:200]!r}, which", left)
            left -= len(files[location])
        return OnnxModel.of(files, path)

    def state(self) -> dict[str, Any]:
        """Return the model as arrays and plain values, as `blocks.codec` encodes them."""
        arrays = {
            f"file{i}": np.frombuffer(content, np.uint8)
            for i, content in enumerate(self.files.values())
        }
        return {
            "names": list(self.files),
            "sha256": self.digest,
            **arrays,
        }

    @staticmethod
    def of_state(state: Mapping[str, Any], source: str) -> OnnxModel:
        """Return the model of a `state`; `DataError` where the files are not those saved."""
        files = {name: state[f"file{i}"].tobytes() for i, name in enumerate(state["names"])}
        model = OnnxModel.of(files, source)
        if model.digest != state["sha256"]:
            raise DataError(
                f"{source} holds another model than was saved (its sha256 is "
                f"{model.digest[:12]}…): save it again"
            )
        return model

    def load(self) -> OnnxModel:
        """Return the model itself, of one that may be elsewhere."""
        return self

    def save(self, path: str) -> None:
        """Write the model, and the files of its weights beside it."""
        for i, (name, content) in enumerate(self.files.items()):
            target = Path(path) if not i else Path(path).parent / name
            target.parent.mkdir(parents=True, exist_ok=True)
            target.write_bytes(content)


@dataclass(frozen=True)
class SentModel:
    """A model that lies with the workers of a session as a file.

    Without Connect Spark broadcasts a large closure by itself."""

    name: str
    digest: str

    def load(self) -> OnnxModel:
        from pyspark import SparkFiles

        loaded: OnnxModel = pickle.loads(Path(SparkFiles.get(self.name)).read_bytes())
        return loaded


def sent(spark: Any, model: OnnxModel | SentModel) -> OnnxModel | SentModel:
    """Return a model as the workers of a session get it.

    It is sent as a file, once, where it is too large for the messages of Connect."""
    if isinstance(model, SentModel) or ".connect." not in type(spark).__module__:
        return model
    if sum(map(len, model.files.values())) <= LARGE:
        return model
    name = f"{model.digest}.onnx"
    known = vars(spark).setdefault("_spark_mlfs_sent", set())
    if name not in known:
        with tempfile.TemporaryDirectory() as folder:
            Path(folder, name).write_bytes(pickle.dumps(model))
            spark.addArtifacts(f"{folder}/{name}", file=True)
        known.add(name)
    return SentModel(name, model.digest)


def one_line(error: Exception) -> str:
    """Return the beginning of what an error of another library says."""
    return " ".join(str(error).split())[:160]


def _outside(source: str, name: str) -> ParameterError:
    return ParameterError(
        f"{source} asks for {name[:200]!r} outside its folder, which is not read: put the file "
        "beside the model, and export the model again"
    )


def external_files(content: bytes, source: str) -> list[str]:
    """Return the files that a model asks for; `ParameterError` where it is no model."""
    onnx = require("onnx", "onnx", "an ONNX model")
    try:
        model = onnx.load_model_from_string(content)
    except Exception as error:  # of the library that reads it
        raise ParameterError(
            f"{source} is no ONNX model ({one_line(error)}): give the file that was exported"
        ) from None
    if not model.HasField("graph"):
        raise ParameterError(
            f"{source} is no ONNX model (it has no graph): give the file that was exported"
        )
    locations = []
    for tensor in _tensors(model, onnx.TensorProto):
        locations += [entry.value for entry in tensor.external_data if entry.key == "location"]
    return list(dict.fromkeys(locations))


def _tensors(message: Any, kind: type) -> Iterator[Any]:
    """Yield the tensors of a message, however deep they are in it."""
    if isinstance(message, kind):
        yield message
        return
    for field, value in message.ListFields():
        if field.message_type:
            parts = value if isinstance(value, Sequence) else [value]
            for part in parts:
                yield from _tensors(part, kind)


def _is_inside(file: str, folder: str) -> bool:
    real = os.path.realpath(folder)
    return os.path.realpath(file).startswith(real.rstrip("/") + "/")


def _content(name: str, title: str, most: int) -> bytes:
    """Return the bytes of a regular file, `ParameterError` where it is none or larger."""
    try:
        # a pipe without a writer would wait for one
        with open(os.open(name, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0)), "rb") as file:
            status = os.fstat(file.fileno())
            if stat.S_ISREG(status.st_mode) and status.st_size <= most:
                content = file.read(most + 1)
                if len(content) <= most:
                    return content
        reason = f"it has more than the {most} bytes that are left for it"
        if not stat.S_ISREG(status.st_mode):
            reason = "is a directory" if stat.S_ISDIR(status.st_mode) else "is no regular file"
    except (OSError, ValueError) as error:
        reason = (getattr(error, "strerror", None) or str(error)).lower()
    raise ParameterError(
        f"{title} cannot be read ({reason}): give the path of an ONNX file on this machine"
    )


# ---- without entries of an output ----

# in a model's metadata: the numbers that the entries of an output had before it was cut
KEPT = "spark_mlfs.kept"
_ENTRY_BY_ENTRY = frozenset(
    "Identity Cast Relu LeakyRelu Elu Gelu Sigmoid Tanh Softplus Dropout".split()
)
_OF_TWO = frozenset(("Add", "Sub", "Mul", "Div"))


def numbers_kept(
    metadata: Mapping[str, str],
    output: str,
    width: int,
    source: str,
) -> dict[str, list[int]]:
    """Return by output the numbers of its entries in the whole model, those of `output` for sure.

    Raises `ParameterError` for metadata that this library did not write."""
    fault = None
    kept: Any = {}
    try:
        kept = json.loads(metadata.get(KEPT) or "{}")
    except (ValueError, RecursionError):
        fault = "is no JSON"
    if not isinstance(kept, dict) or not all(map(_is_numbers, kept.values())):
        fault = fault or "is no object of lists of different whole numbers"
    elif len(kept.get(output, range(width))) != width:
        fault = f"has {quantity(len(kept[output]), 'number')} for the {width} entries of {output!r}"
    if fault is not None:
        raise ParameterError(
            f"{source}: its metadata {KEPT!r} {fault}: export the model again, or take it out"
        )
    return {output: [*range(width)], **kept}


def _is_numbers(entry: Any) -> bool:
    if not isinstance(entry, list) or not all(type(number) is int for number in entry):
        return False
    return len({*entry}) == len(entry) and all(0 <= number < 1 << 31 for number in entry)


def pruned(
    model: OnnxModel,
    output: str,
    width: int,
    places: Sequence[int],
) -> OnnxModel:
    """Return the model with only the entries `places` of an output of `width`, in that order.

    The others are not computed any more. Raises `ParameterError` where the last layer is not linear
    (Gemm or MatMul; entry by entry what comes behind)."""
    onnx = require("onnx", "onnx", "cutting a model")
    name = next(iter(model.files))
    try:
        with tempfile.TemporaryDirectory() as folder:
            model.save(f"{folder}/{name}")
            proto = onnx.load(f"{folder}/{name}")
        graph = proto.graph
        cut = _OutputCut(onnx, graph, width, places)
        cut.value(output)
    except (
        Exception
    ) as fault:  # of the library, too, which reads weights otherwise than onnxruntime
        raise ParameterError(
            f"{name}: {output!r} cannot be cut to some of its numbers: {one_line(fault)}; encode "
            "with the whole model"
        ) from None
    used = set(_names_used(graph))
    for tensor in [tensor for tensor in graph.initializer if tensor.name not in used]:
        graph.initializer.remove(tensor)
    for value in (*graph.output, *graph.value_info):
        shape = value.type.tensor_type.shape
        if value.name in cut.values and shape.dim:
            shape.dim[-1].dim_value = len(places)
    metadata = {entry.key: entry.value for entry in proto.metadata_props}
    by_output = numbers_kept(metadata, output, width, name)
    by_output[output] = [by_output[output][place] for place in places]
    metadata[KEPT] = json.dumps(by_output)
    onnx.helper.set_model_props(proto, metadata)
    return OnnxModel.of({name: proto.SerializeToString()}, name)


class _CannotCut(Exception):
    """The reason why an output cannot be cut."""


class _OutputCut:
    """The cut of a graph back from its output to the last linear layer, whose weights become fewer.

    `values` are the names of what has fewer entries now."""

    def __init__(
        self,
        onnx: Any,
        graph: Any,
        width: int,
        places: Sequence[int],
    ) -> None:
        self.helper = onnx.numpy_helper
        self.graph = graph
        self.width = width
        self.places = places
        self.makers: dict[str, Any] = {name: node for node in graph.node for name in node.output}
        self.weights = {tensor.name: tensor for tensor in graph.initializer}
        self.uses = Counter([*_names_used(graph), *(output.name for output in graph.output)])
        self.values: set[str] = set()

    def value(self, name: str, axis: int = -1) -> str:
        """Have a value made with the places of its last axis alone, weights with those of `axis`.

        Returns its name then."""
        if name in self.weights:
            return self.weight(name, axis)
        node: Any = self.makers.get(name)
        kind = None if node is None else node.op_type
        if self.uses[name] > 1:
            raise _CannotCut(f"another layer reads {name!r}, too")
        if kind == "Gemm" or (kind == "MatMul" and node.input[1] in self.weights):
            transposed = any(entry.name == "transB" and entry.i for entry in node.attribute)
            weight_axis = 0 if transposed else 1
            node.input[1] = self.value(node.input[1], weight_axis)
            node.input[2:] = [self.value(bias) if bias else bias for bias in node.input[2:]]
        elif kind in _ENTRY_BY_ENTRY | _OF_TWO:
            count = len(node.input) if kind in _OF_TWO else 1
            node.input[:count] = [self.value(operand) for operand in node.input[:count]]
        else:
            raise _CannotCut(f"a layer {kind} makes it, not a linear one (Gemm or MatMul)")
        self.values.add(name)
        return name

    def weight(self, name: str, axis: int) -> str:
        """Add weights with the places of an axis alone; return their name."""
        weights = self.helper.to_array(self.weights[name])
        if axis < 0 and (not weights.ndim or weights.shape[-1] == 1):  # one number for all
            return name
        if weights.shape[axis] != self.width:
            raise _CannotCut(f"{name!r} has another shape")
        new_name = f"{name}/kept"
        while new_name in self.uses:
            new_name += "_"
        taken = np.ascontiguousarray(weights.take(self.places, axis))
        self.graph.initializer.append(self.helper.from_array(taken, new_name))
        return new_name


def _names_used(graph: Any) -> Iterator[str]:
    """Yield what the nodes of a graph, and of those inside it, read."""
    for node in graph.node:
        yield from node.input
        for attribute in node.attribute:
            for inner in (attribute.g, *attribute.graphs):
                yield from _names_used(inner)
                yield from (output.name for output in inner.output)
