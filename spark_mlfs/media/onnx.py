"""An ONNX model as a function of rows: images, token ids or texts in, vectors out.

The inference is onnxruntime's.

A row's vector depends on the row alone, whatever rows are beside it: a batch has always
`batch_size` rows (zeros where there are fewer), a row of tokens is padded to the next power of two,
not to the longest of its batch, and a batch is worked on by one thread; the cores of a task take a
batch each. What cannot be encoded gives a reason."""

from __future__ import annotations

import math
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache, partial
from typing import Any

import numpy as np
from numpy import ndarray

from ..errors import ParameterError, setting, task_context
from ..frames.frame import num_cores
from ..params import Choice, Integer, Number, NumberList, Optional, Parameter, Text, Values
from .base import (
    NO_CONTENT,
    PASSAGES,
    Encode,
    Encoder,
    Unreadable,
    passages_of,
    pooled,
    require,
    spans,
)
from .images import MAX_PIXELS, PICTURE, opened, thumbnail
from .layers import with_layer
from .model import OnnxModel, numbers_kept, one_line, pruned, sent

LEAST_BUCKET = 8  # tokens that a row is padded to at least
MOST_SESSIONS = 4  # that a process keeps
LONGEST_NAME = 200  # of an output, which features are called by
MOST_NUMBERS = 1 << 28  # of a row's input
# what transformers' exports call the inputs beside the tokens
MASK = "attention_mask"
TYPES = "token_type_ids"
PARAMETERS = (
    Parameter(
        "model_path",
        None,
        Optional(Text("a path")),
        "the ONNX file, on this machine; it travels with a saved pipeline",
    ),
    Parameter(
        "output",
        None,
        Optional(Text("a name")),
        "the model's output that is taken, where it has several",
    ),
    Parameter(
        "layer",
        None,
        Optional(Text("a name")),
        "an inner tensor that is taken in the place of an output; `spark-mlfs methods onnx --model "
        "FILE` lists them",
    ),
    Parameter(
        "pooling",
        "mean",
        Choice(("mean", "max", "first")),
        "how a vector a token, or a place of an image, becomes one",
    ),
    Parameter(
        "batch_size",
        16,
        Integer(1, 4096),
        "rows of a batch; all batches have so many, filled with zeros",
    ),
    Parameter(
        "batch_bytes",
        64 << 20,
        Integer(1 << 10),
        "bytes of a batch's input at most: of larger rows a batch has fewer",
    ),
    Parameter(
        "image_size",
        None,
        Optional(Integer(1, 4096)),
        "height and width of the images, where the model leaves them open",
    ),
    Parameter(
        "mean",
        [0.0],
        NumberList(Number(), "numbers, one or one a channel"),
        "subtracted from pixels in [0, 1]",
    ),
    Parameter(
        "deviation",
        [1.0],
        NumberList(Number(0, above=True), "numbers above 0, one or one a channel"),
        "pixels are divided by it",
    ),
    Parameter("channels", "rgb", Choice(("rgb", "bgr")), "order of the colours"),
    Parameter(
        "resize",
        "crop",
        Choice(("crop", "stretch")),
        "how an image of another shape becomes square: cut, or stretched",
    ),
    MAX_PIXELS,
    Parameter("max_length", 512, Integer(1), "tokens of a row, or of a passage, that are read"),
    Parameter("pad_id", 0, Integer(0), "token that fills a row up"),
    *PASSAGES,
)
TAKES = (
    "an encoder takes images (batch, 3, height, width) or (batch, height, width, 3), token "
    "ids (batch, length) or texts (batch)"
)


EXAMPLE = (
    f"{PICTURE}\n"
    ">>> import onnx.parser\n"
    '>>> means = "means (float[N, 3, 8, 8] x) => (float[N, 3] y) '
    '{ y = ReduceMean<axes=[2, 3], keepdims=0>(x) }"\n'
    ">>> onnx.save(onnx.parser.parse_model("
    """'<ir_version: 8, opset_import: ["": 13]>' + means), "means.onnx")"""
)


# ---- the session ----

_SESSIONS: dict[str, Any] = {}
_OPENING = threading.Lock()


def session_of(model: Any) -> Any:
    """Return the process' one session of a model.

    Raises `ParameterError` where onnxruntime takes it not."""
    with _OPENING:
        if model.digest not in _SESSIONS:
            while len(_SESSIONS) >= MOST_SESSIONS:
                del _SESSIONS[next(iter(_SESSIONS))]
            _SESSIONS[model.digest] = _opened(model.load())
        return _SESSIONS[model.digest]


def _opened(model: OnnxModel) -> Any:
    runtime = require("onnxruntime", "onnxruntime", "an ONNX model")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.use_deterministic_compute = True
    open_session = partial(
        runtime.InferenceSession, sess_options=options, providers=["CPUExecutionProvider"]
    )
    name = next(iter(model.files))
    try:
        if len(model.files) == 1:
            return open_session(model.files[name])
        with tempfile.TemporaryDirectory() as folder:
            model.save(f"{folder}/{name}")
            return open_session(f"{folder}/{name}")
    except Exception as error:
        raise ParameterError(
            f"{name}: onnxruntime cannot load the model ({one_line(error)}): export it again"
        ) from None


# ---- rows ----


@dataclass(frozen=True)
class Encoding:
    """A model and how rows go through it; it is pickled to the workers.

    `kind` "image", "tokens" or "text"; `feeds` the model's inputs, the rows' own first; `shape` of
    a row's input where it is fixed; `dtype` of its numbers; `names` of a vector's entries, by the
    numbers they have in the whole model's output."""

    model: Any
    settings: dict[str, Any]
    kind: str
    feeds: tuple[str, ...]
    shape: tuple[int, ...]
    dtype: str
    output: str
    names: tuple[str, ...] = ()
    cores: int | None = field(default=None, compare=False)

    @staticmethod
    def of(model: OnnxModel, settings: Values) -> Encoding:
        """Return the encoder of a model, which is tried on zeros.

        Raises `ParameterError` where it takes no such rows."""
        length = settings["passage_length"]
        if length is not None and settings["passage_overlap"] >= length:
            raise ParameterError(
                f"{setting('passage_overlap')} must be below {setting('passage_length')}"
            )
        session = session_of(model)
        name = next(iter(model.files))
        inputs = session.get_inputs()
        rows = next((i for i in inputs if i.name not in (MASK, TYPES)), None)
        if rows is None:
            raise ParameterError(f"{name} has no input: {TAKES}")
        others = [i.name for i in inputs if i is not rows]
        kind, shape = _kind(rows, settings, name)
        if kind == "tokens" and length is not None:
            most = min(settings["max_length"], *shape, 1 << 30)
            if length > most:
                raise ParameterError(
                    f"{setting('passage_length', length)}: of a row {most} tokens are read; give "
                    "no more than that"
                )
        if math.prod(shape) > MOST_NUMBERS:
            raise ParameterError(
                f"{name}: a row of input {rows.name!r} has {math.prod(shape)} numbers, more than "
                f"{MOST_NUMBERS}: export it for smaller rows"
            )
        _check_inputs(
            rows,
            others,
            kind,
            settings["batch_size"],
            name,
        )
        output = _output([output.name for output in session.get_outputs()], settings, name)
        feeds = (rows.name, *others)
        encoding = Encoding(
            model,
            dict(settings),
            kind,
            feeds,
            shape,
            _dtype(rows),
            output,
        )
        try:
            bucket = encoding._bucket(1)
            vectors = encoding._run([encoding._zero(bucket)], bucket)
        except Unreadable as error:
            raise ParameterError(
                f"{name} does not take rows as it says ({error}): export it again"
            ) from None
        metadata = session.get_modelmeta().custom_metadata_map
        numbers = numbers_kept(metadata, output, vectors.shape[1], name)[output]
        return replace(encoding, names=tuple(f"{output}_{i}" for i in numbers))

    @property
    def width(self) -> int:
        return len(self.names)

    def pruned(self, names: Sequence[str]) -> Encoding:
        """Return the encoding to the entries of these names alone.

        The last layer of its model computes no others."""
        place = {name: i for i, name in enumerate(self.names)}
        absent = next((name for name in names if name not in place), None)
        if absent is not None:
            raise ParameterError(
                f"the encoder has no number {absent!r}; it has {self.names[0]} to {self.names[-1]}"
            )
        places = [place[name] for name in names]
        model = pruned(self.model.load(), self.output, self.width, places)
        return Encoding.of(model, self.settings)

    def __call__(self, cells: Sequence[Any]) -> tuple[ndarray, list[str | None]]:
        """Return vectors (rows, width) of the cells and reasons, zeros where there is a reason."""
        reasons: list[str | None] = [None] * len(cells)
        items: list[Any] = []
        owners: list[int] = []
        for row, cell in enumerate(cells):
            try:
                passages = self._passages(cell)
            except Unreadable as error:
                reasons[row] = str(error)
            else:
                items += passages
                owners += [row] * len(passages)
        of_items = np.full((len(items), self.width), np.nan)
        batches = self._batches(items)
        cores = self.cores or _cores()
        work = map if cores == 1 else _threads(cores).map
        results = work(lambda batch: self._batch(items, *batch), batches)
        for (_, places), (values, faults) in zip(batches, results, strict=True):
            of_items[places] = values
            for place, reason in faults.items():
                reasons[owners[places[place]]] = reason
        pooling = self.settings["passage_pooling"]
        vectors = pooled(of_items, np.array(owners, np.int64), len(cells), pooling)
        for row in np.flatnonzero(~np.isfinite(vectors).all(axis=1)).tolist():
            reasons[row] = reasons[row] or "the model gives no finite numbers for it"
        vectors[[reason is not None for reason in reasons]] = 0
        return vectors, reasons

    def _passages(self, cell: Any) -> list[Any]:
        """Return what a row gives the model, passage by passage; of an image its file."""
        if cell is None or (self.kind == "image" and not cell):
            raise Unreadable(NO_CONTENT)
        length = self.settings["passage_length"]
        overlap = self.settings["passage_overlap"]
        if self.kind == "image":
            return [cell]
        if self.kind == "text":
            if not isinstance(cell, str):
                raise Unreadable(f"a {type(cell).__name__}, not a text")
            return list(passages_of(cell, length, overlap))
        ids = np.asarray(cell)
        if ids.ndim != 1 or not len(ids):
            raise Unreadable("no tokens")
        if ids.dtype.kind not in "iu":
            raise Unreadable("tokens that are no whole numbers")
        if (ids < 0).any() or (ids.astype(self.dtype) != ids).any():
            raise Unreadable("tokens below 0, or beyond what the model counts to")
        most = self.settings["max_length"]
        passages = spans(len(ids), length, overlap)
        return [ids[start : min(stop, start + most)] for start, stop in passages]

    def _bucket(self, count: int) -> int:
        """Return how many tokens a row of so many is padded to."""
        if self.kind != "tokens":
            return 0
        if self.shape:
            return int(self.shape[0])
        if MASK not in self.feeds:  # what fills up would count
            return count
        power = 1 << (count - 1).bit_length()
        return min(max(LEAST_BUCKET, power), max(count, self.settings["max_length"]))

    def _rows(self, bucket: int) -> int:
        """Return how many rows a batch of a bucket has."""
        row_bytes = 8 * bucket * len(self.feeds)
        if self.kind == "image":
            row_bytes = 4 * int(np.prod(self.shape))
        rows = self.settings["batch_bytes"] // max(1, row_bytes)
        return max(1, min(self.settings["batch_size"], rows))

    def _batches(self, items: Sequence[Any]) -> list[tuple[int, list[int]]]:
        """Return the tokens and the places of the items of each batch, longest first."""
        buckets: dict[int, list[int]] = {}
        for place, item in enumerate(items):
            bucket = self._bucket(len(item)) if self.kind == "tokens" else 0
            buckets.setdefault(bucket, []).append(place)
        batches = []
        for bucket in sorted(buckets, reverse=True):
            places = buckets[bucket]
            step = self._rows(bucket)
            starts = range(0, len(places), step)
            batches += [(bucket, places[start : start + step]) for start in starts]
        return batches

    def _batch(
        self, items: Sequence[Any], bucket: int, places: Sequence[int]
    ) -> tuple[ndarray, dict[int, str]]:
        """Return vectors of some items, NaN where there is none, and why."""
        rows: list[Any] = []
        faults: dict[int, str] = {}
        for i, place in enumerate(places):
            row = items[place]
            if self.kind == "image":
                try:
                    row = self._image(row)
                except Unreadable as error:
                    faults[i] = str(error)
                    row = self._zero(bucket)
            rows.append(row)
        try:
            return self._run(rows, bucket), faults
        except Unreadable as error:
            if len(rows) == 1:
                return np.full((1, self.width), np.nan), {0: str(error)}
        # one of the rows is to blame: each goes through the model alone
        vectors = []
        faults = {}
        for i, place in enumerate(places):
            vector, fault = self._batch(items, bucket, [place])
            vectors.append(vector)
            if fault:
                faults[i] = fault[0]
        return np.concatenate(vectors), faults

    def _zero(self, bucket: int) -> Any:
        """Return a row of zeros, or an empty text."""
        if self.kind == "text":
            return ""
        shape = self.shape if self.kind == "image" else (bucket,)
        return np.zeros(shape, self.dtype)

    def _run(self, rows: Sequence[Any], bucket: int) -> ndarray:
        """Return the vectors (rows, width) of the model's output.

        Raises `Unreadable` where it takes not what it is given."""
        session = session_of(self.model)
        size = self._rows(bucket)
        if self.kind == "tokens":
            ids = np.full((size, bucket), self.settings["pad_id"], self.dtype)
            mask = np.zeros((size, bucket), self.dtype)
            mask[len(rows) :, 0] = 1  # a row without any token divides by 0
            for i, row in enumerate(rows):
                ids[i, : len(row)] = row[:bucket]
                mask[i, : len(row)] = 1
            inputs = {
                MASK: mask,
                TYPES: np.zeros_like(ids),
                self.feeds[0]: ids,
            }
            feeds = {name: inputs[name] for name in self.feeds}
        else:
            blank = [self._zero(bucket)] * (size - len(rows))
            batch = np.array([*rows, *blank], self.dtype)
            feeds = {self.feeds[0]: batch.reshape(size, *self.shape)}
            mask = np.ones((size, 1))
        try:
            (output,) = session.run([self.output], feeds)
        except Exception as error:
            raise Unreadable(f"the model refuses it ({one_line(error)})") from None
        return self._vectors(np.asarray(output), mask)[: len(rows)]

    def _vectors(self, output: ndarray, mask: ndarray) -> ndarray:
        """Return one vector a row, of an output that may have one a token or a place."""
        is_batch = output.shape[:1] == mask.shape[:1]
        if output.dtype.kind != "f" or not is_batch or output.ndim > 4:
            raise Unreadable(
                f"its output {self.output!r} is {output.dtype} of shape {list(output.shape)}, "
                f"where {len(mask)} vectors are expected"
            )
        pooling = self.settings["pooling"]
        if output.ndim == 3:  # a vector a token
            mask = mask if mask.shape == output.shape[:2] else np.ones(output.shape[:2])
            if pooling == "first":
                return np.asarray(output[:, 0])
            is_token = mask[:, :, None] > 0
            if pooling == "max":
                return np.asarray(np.where(is_token, output, -np.inf).max(axis=1))
            total = np.where(is_token, output, 0).sum(axis=1, dtype=np.float64)
            return np.asarray(total / mask.sum(axis=1, keepdims=True))
        if output.ndim == 4:  # a number a place of an image
            places = output.reshape(*output.shape[:2], -1)
            if pooling == "first":
                return np.asarray(places[:, :, 0])
            if pooling == "max":
                return np.asarray(places.max(axis=2))
            return np.asarray(places.mean(axis=2))
        return output.reshape(len(mask), -1)

    def _image(self, cell: Any) -> ndarray:
        """Return the pixels of an image's file as the model takes them.

        Raises `Unreadable` where it is none, damaged or too large."""
        from PIL import Image, ImageOps

        if not isinstance(cell, bytes | bytearray):
            raise Unreadable(f"a {type(cell).__name__}, not the bytes of a file")
        p = self.settings
        planes_first = self.shape[0] in (1, 3)
        if planes_first:
            planes, height, width = self.shape
        else:
            height, width, planes = self.shape
        picture = opened(bytes(cell), (width, height), p["max_pixels"])
        if planes != 3:
            picture = picture.convert("L")
        if p["resize"] == "crop":
            picture = ImageOps.fit(picture, (width, height), Image.Resampling.BILINEAR)
        else:
            picture = picture.resize((width, height), Image.Resampling.BILINEAR)
        pixels = np.asarray(picture).reshape(height, width, planes)
        if p["channels"] == "bgr":
            pixels = pixels[:, :, ::-1]
        if self.dtype != "uint8":
            mean = np.array(p["mean"], np.float32)
            deviation = np.array(p["deviation"], np.float32)
            shares = pixels.astype(np.float32) / np.float32(255)
            pixels = ((shares - mean) / deviation).astype(self.dtype)
        if planes_first:
            pixels = pixels.transpose(2, 0, 1)
        return np.ascontiguousarray(pixels)


def _cores() -> int:
    """Return the cores of this task, or of this process: so many batches are worked on at once."""
    context = task_context()
    return num_cores() if context is None else int(context.cpus())


@cache
def _threads(cores: int) -> ThreadPoolExecutor:
    """Return the process' threads for batches, whichever rows these are of."""
    return ThreadPoolExecutor(cores)


# ---- what a model takes and gives ----


def _dtype(rows: Any) -> str:
    """Return the NumPy type of an input, such as "f" of tensor(float)."""
    kind = rows.type.removeprefix("tensor(").removesuffix(")")
    return {
        "float16": "e",
        "float": "f",
        "double": "d",
        "string": "O",
    }.get(kind, kind)


def _kind(rows: Any, settings: Values, name: str) -> tuple[str, tuple[int, ...]]:
    """Return what rows an input takes, and the shape of one where it is fixed."""
    shape = [size if isinstance(size, int) and size > 0 else None for size in rows.shape]
    rank = len(shape)
    pixels = rows.type in ("tensor(float)", "tensor(float16)", "tensor(double)", "tensor(uint8)")
    if pixels and rank == 4 and (shape[1] in (1, 3) or shape[3] in (1, 3)):
        return "image", _image_shape(rows, shape[1:], settings, name)
    if rows.type in ("tensor(int64)", "tensor(int32)") and rank == 2:
        return "tokens", () if shape[1] is None else (shape[1],)
    if rows.type == "tensor(string)" and (rank == 1 or (rank == 2 and shape[1] in (1, None))):
        return "text", (1,) * (rank - 1)
    kind = f"{rows.type[7:-1]} of shape {list(rows.shape)}"
    raise ParameterError(f"{name}: input {rows.name!r} is {kind}; {TAKES}")


def _image_shape(
    rows: Any,
    shape: list[int | None],
    settings: Values,
    name: str,
) -> tuple[int, ...]:
    """Return the shape of an image, planes first or last, with the size that the settings give."""
    planes_first = shape[0] in (1, 3)
    planes = shape[0] if planes_first else shape[2]
    for part, neutral in {"mean": 0, "deviation": 1}.items():
        if len(settings[part]) not in (1, planes):
            raise ParameterError(
                f"{setting(part)} has {len(settings[part])} numbers, the images have {planes} "
                "channels"
            )
        if rows.type == "tensor(uint8)" and set(settings[part]) != {neutral}:
            raise ParameterError(f"{name} takes pixels as bytes: leave {setting(part)} out")
    size = settings["image_size"]
    if size is None and None in shape:
        raise ParameterError(
            f"{name} leaves the size of its images open: set {setting('image_size')}, such as 224"
        )
    fixed = [length or size or 1 for length in shape]
    sides = fixed[1:] if planes_first else fixed[:2]
    if size is not None and sides != [size, size]:
        raise ParameterError(
            f"{name} takes images of {sides[0]} × {sides[1]}: leave {setting('image_size')} out"
        )
    return tuple(fixed)


def _check_inputs(
    rows: Any,
    others: Sequence[str],
    kind: str,
    batch_size: int,
    name: str,
) -> None:
    """Raise `ParameterError` for inputs that nothing fills, or batches of another size."""
    unknown = [other for other in others if kind != "tokens" or other not in (MASK, TYPES)]
    if unknown:
        raise ParameterError(
            f"{name} also has an input {unknown[0]!r}, which nothing is known to fill: export "
            "it without"
        )
    fixed = rows.shape[0]
    if isinstance(fixed, int) and fixed > 0 and fixed != batch_size:
        raise ParameterError(
            f"{name}: the batch axis of input {rows.name!r} is fixed at {fixed}, not dynamic: set "
            f"{setting('batch_size', fixed)}, or export the model with a dynamic batch axis"
        )


def _output(outputs: Sequence[str], settings: Values, name: str) -> str:
    """Return the name of the output that is taken."""
    output = settings["output"]
    listed = ", ".join(outputs)[:200]
    odd = next((o for o in outputs if not o.isprintable() or len(o) > LONGEST_NAME), None)
    if odd is not None or not outputs:
        fault = "no output" if odd is None else f"an output with the name {odd[:40]!r}"
        raise ParameterError(
            f"{name} has {fault}: export it with one of at most {LONGEST_NAME} printed characters"
        )
    if output is None:
        if len(outputs) > 1:
            raise ParameterError(
                f"{name} has the outputs {listed}: set {setting('output', outputs[0])}, or another"
            )
        return str(outputs[0])
    if output not in outputs:
        raise ParameterError(f"{name} has no output {output!r}; it has {listed}")
    return str(output)


class OnnxEncoder(Encoder):
    """Vectors of images, token ids or texts by an ONNX model, run by onnxruntime."""

    name, title = "onnx", "vectors of images, token ids or texts by an ONNX model"
    source = "the model's"
    needs = (("onnxruntime", "onnxruntime"),)
    example = (("settings", 'model_path="means.onnx"'), ("width", "3"), ("made", EXAMPLE))
    parameters = PARAMETERS

    def prepared(self, p: Values) -> Values:
        p = super().prepared(p)
        if p["model_path"] is None:
            raise ParameterError(
                f"set {setting('model_path')}: the ONNX file that encodes the rows"
            )
        model = OnnxModel.read(p["model_path"])
        if p["layer"] is not None:
            if p["output"] is not None:
                raise ParameterError(f"give {setting('layer')} or {setting('output')}, not both")
            model = with_layer(model, p["layer"])
        return {**p, "encoding": Encoding.of(model, p)}

    def picture(self, content: bytes, p: Values) -> bytes | None:
        return thumbnail(content) if self.takes(p) == "file" else None

    def takes(self, p: Values) -> str:
        return {"image": "file"}.get(p["encoding"].kind, p["encoding"].kind)

    def state(self, p: Values) -> dict[str, Any] | None:
        return dict(p["encoding"].model.state())

    def restored(self, p: Values, state: Mapping[str, Any], source: str) -> Values:
        return {
            **super().prepared(p),
            "encoding": Encoding.of(OnnxModel.of_state(state, source), p),
        }

    def sent(self, p: Values, spark: Any) -> Values:
        return {**p, "encoding": replace(p["encoding"], model=sent(spark, p["encoding"].model))}

    def pruned(self, p: Values, names: Sequence[str]) -> Values:
        return {**p, "encoding": p["encoding"].pruned(names)}

    def write(self, p: Values, path: str) -> None:
        p["encoding"].model.load().save(path)

    def names(self, p: Values) -> list[str]:
        return list(p["encoding"].names)

    def open(self, p: Values) -> Encode:
        encoding: Encoding = p["encoding"]
        session_of(encoding.model)
        return encoding
