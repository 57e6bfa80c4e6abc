"""An ONNX model as a function of rows: images, token ids or texts in, vectors out. The inference is
onnxruntime's.

A row's vector depends on the row alone, whatever rows are beside it: a batch has always
`batch_size` rows (zeros where there are fewer), a row of tokens is padded to the next power of two,
not to the longest of its batch, and a batch is worked on by one thread; the cores of a task take a
batch each. What cannot be encoded gives a reason."""

from __future__ import annotations

import json
import tempfile
import threading
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field, replace
from functools import cache
from typing import Any

import numpy as np

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
from .model import KEPT, OnnxModel, pruned, sent

LEAST_BUCKET = 8  # tokens that a row is padded to at least
MOST_SESSIONS = 4  # that a process keeps
MASK, TYPES = (
    "attention_mask",
    "token_type_ids",
)  # what transformers' exports call the inputs beside the tokens
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


# ---- the session ----

_SESSIONS: dict[str, Any] = {}
_OPENING = threading.Lock()


def session_of(model: Any) -> Any:
    """The process' one session of a model; `ParameterError` where onnxruntime takes it not."""
    with _OPENING:
        if model.digest not in _SESSIONS:
            while len(_SESSIONS) >= MOST_SESSIONS:
                del _SESSIONS[next(iter(_SESSIONS))]
            _SESSIONS[model.digest] = _opened(model.load())
        return _SESSIONS[model.digest]


def _opened(model: OnnxModel) -> Any:
    runtime = require("onnxruntime", "onnxruntime", "an ONNX model")
    options = runtime.SessionOptions()
    options.intra_op_num_threads = options.inter_op_num_threads = 1
    options.log_severity_level = 4
    options.use_deterministic_compute = True
    name = next(iter(model.files))
    try:
        if len(model.files) == 1:
            return runtime.InferenceSession(
                model.files[name], options, providers=["CPUExecutionProvider"]
            )
        with tempfile.TemporaryDirectory() as folder:
            model.save(f"{folder}/{name}")
            return runtime.InferenceSession(
                f"{folder}/{name}", options, providers=["CPUExecutionProvider"]
            )
    except Exception as error:
        raise ParameterError(
            f"{name}: onnxruntime cannot load the model ({_said(error)}): export it again"
        ) from None


def _said(error: Exception) -> str:
    return " ".join(str(error).split())[:160]


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
        """The encoder of a model, which is tried on zeros; `ParameterError` where it takes no such
        rows."""
        length = settings["passage_length"]
        if length is not None and settings["passage_overlap"] >= length:
            raise ParameterError(
                f"{setting('passage_overlap')} must be below {setting('passage_length')}"
            )
        session, name = session_of(model), next(iter(model.files))
        inputs = session.get_inputs()
        first = next((i for i in inputs if i.name not in (MASK, TYPES)), None)
        if first is None:
            raise ParameterError(f"{name} has no input: {TAKES}")
        others = [i.name for i in inputs if i is not first]
        kind, shape = _kind(first, settings, name)
        if (
            kind == "tokens"
            and length is not None
            and length > (most := min(settings["max_length"], *shape, 1 << 30))
        ):
            raise ParameterError(
                f"{setting('passage_length', length)}: of a row {most} tokens are read; give no "
                "more than that"
            )
        unknown = [other for other in others if kind != "tokens" or other not in (MASK, TYPES)]
        if unknown:
            raise ParameterError(
                f"{name} also has an input {unknown[0]!r}, which nothing is known to fill: export "
                "it without"
            )
        size, fixed = settings["batch_size"], first.shape[0]
        if isinstance(fixed, int) and fixed > 0 and fixed != size:
            told = (
                f"the batch axis of input {first.name!r} is fixed at {fixed}, not dynamic: set "
                f"{setting('batch_size', fixed)}"
            )
            raise ParameterError(f"{name}: {told}, or export the model with a dynamic batch axis")
        outputs, output = [each.name for each in session.get_outputs()], settings["output"]
        if output is None and len(outputs) > 1:
            told = f"set {setting('output', outputs[0])}, or another"
            raise ParameterError(f"{name} has the outputs {', '.join(outputs)[:200]}: {told}")
        if output is not None and output not in outputs:
            raise ParameterError(
                f"{name} has no output {output!r}; it has {', '.join(outputs)[:200]}"
            )
        output = output or str(outputs[0])
        dtype = (
            first.type[7:-1]
            .replace("float16", "e")
            .replace("float", "f")
            .replace("double", "d")
            .replace("string", "O")
        )
        encoding = Encoding(
            model, dict(settings), kind, (first.name, *others), shape, dtype, output
        )
        try:
            tried = encoding._run([encoding._zero(encoding._bucket(1))], encoding._bucket(1))
        except Unreadable as error:
            raise ParameterError(
                f"{name} does not take rows as it says ({error}): export it again"
            ) from None
        told = session.get_modelmeta().custom_metadata_map.get(KEPT)
        kept = json.loads(told).get(output) if told else None
        return replace(
            encoding, names=tuple(f"{output}_{i}" for i in kept or range(tried.shape[1]))
        )

    @property
    def width(self) -> int:
        return len(self.names)

    def pruned(self, names: Sequence[str]) -> Encoding:
        """Return the encoding to the entries of these names alone, by a model whose last layer
        computes no others."""
        place = {name: i for i, name in enumerate(self.names)}
        absent = next((name for name in names if name not in place), None)
        if absent is not None:
            raise ParameterError(
                f"the encoder has no number {absent!r}; it has {self.names[0]} to {self.names[-1]}"
            )
        return Encoding.of(
            pruned(self.model.load(), self.output, self.width, [place[name] for name in names]),
            self.settings,
        )

    def __call__(self, cells: Sequence[Any]) -> tuple[np.ndarray, list[str | None]]:
        """(rows, width) vectors of the cells, zeros where there is a reason, and the reasons."""
        found: list[str | None] = [None] * len(cells)
        items: list[Any] = []
        owners: list[int] = []
        for row, cell in enumerate(cells):
            try:
                passages = self._passages(cell)
            except Unreadable as error:
                found[row] = str(error)
            else:
                items += passages
                owners += [row] * len(passages)
        out, of_rows = np.full((len(items), self.width), np.nan), np.array(owners, np.int64)
        context = (
            task_context()
        )  # a task works on as many batches at once as it has cores, this process likewise
        batches, cores = (
            self._batches(items),
            self.cores or (num_cores() if context is None else int(context.cpus())),
        )
        work = map if cores == 1 else _threads(cores).map
        for (_, places), (values, wrong) in zip(
            batches, work(lambda batch: self._batch(items, *batch), batches), strict=True
        ):
            out[places] = values
            for place, why in wrong.items():
                found[owners[places[place]]] = why
        vectors = pooled(out, of_rows, len(cells), self.settings["passage_pooling"])
        for lost in np.flatnonzero(~np.isfinite(vectors).all(axis=1)):
            found[lost] = found[lost] or "the model gives no finite numbers for it"
        vectors[[why is not None for why in found]] = 0
        return vectors, found

    def _passages(self, cell: Any) -> list[Any]:
        """What a row gives the model, passage by passage; of an image its file."""
        if cell is None or (self.kind == "image" and not cell):
            raise Unreadable(NO_CONTENT)
        length, overlap = self.settings["passage_length"], self.settings["passage_overlap"]
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
        return [
            ids[a : min(z, a + self.settings["max_length"])]
            for a, z in spans(len(ids), length, overlap)
        ]

    def _bucket(self, count: int) -> int:
        """How many tokens a row of so many is padded to."""
        if self.kind != "tokens":
            return 0
        if self.shape:
            return int(self.shape[0])
        if MASK not in self.feeds:  # what fills up would count
            return count
        return min(
            max(LEAST_BUCKET, 1 << (count - 1).bit_length()),
            max(count, self.settings["max_length"]),
        )

    def _rows(self, bucket: int) -> int:
        """How many rows a batch of a bucket has."""
        size = (
            4 * int(np.prod(self.shape)) if self.kind == "image" else 8 * bucket * len(self.feeds)
        )
        return max(
            1, min(self.settings["batch_size"], self.settings["batch_bytes"] // max(1, size))
        )

    def _batches(self, items: Sequence[Any]) -> list[tuple[int, list[int]]]:
        """The places of the items of each batch, longest first, and how many tokens these have."""
        buckets: dict[int, list[int]] = {}
        for place, item in enumerate(items):
            buckets.setdefault(self._bucket(len(item)) if self.kind == "tokens" else 0, []).append(
                place
            )
        out = []
        for bucket in sorted(buckets, reverse=True):
            places, rows = buckets[bucket], self._rows(bucket)
            out += [(bucket, places[a : a + rows]) for a in range(0, len(places), rows)]
        return out

    def _batch(
        self, items: Sequence[Any], bucket: int, places: Sequence[int]
    ) -> tuple[np.ndarray, dict[int, str]]:
        """Vectors of some items, and why some have none."""
        rows, wrong = [], {}
        for i, place in enumerate(places):
            try:
                rows.append(self._image(items[place]) if self.kind == "image" else items[place])
            except Unreadable as error:
                wrong[i] = str(error)
                rows.append(self._zero(bucket))
        try:
            return self._run(rows, bucket), wrong
        except Unreadable as error:
            if len(rows) == 1:
                return np.full((1, self.width), np.nan), {0: str(error)}
        parts = [self._batch(items, bucket, [place]) for place in places]  # one of them is to blame
        return np.concatenate([values for values, _ in parts]), {
            i: why[0] for i, (_, why) in enumerate(parts) if why
        }

    def _zero(self, bucket: int) -> Any:
        return (
            ""
            if self.kind == "text"
            else np.zeros(self.shape if self.kind == "image" else bucket, self.dtype)
        )

    def _run(self, rows: Sequence[Any], bucket: int) -> np.ndarray:
        """(rows, width) of the model's output; `Unreadable` where it takes not what it is given."""
        session, size = session_of(self.model), self._rows(bucket)
        if self.kind == "tokens":
            ids = np.full((size, bucket), self.settings["pad_id"], self.dtype)
            mask = np.zeros((size, bucket), self.dtype)
            mask[len(rows) :, 0] = 1  # a row without any token divides by 0
            for i, row in enumerate(rows):
                ids[i, : len(row)], mask[i, : len(row)] = row[:bucket], 1
            given = {MASK: mask, TYPES: np.zeros_like(ids)}
            fed = {name: ids if not i else given[name] for i, name in enumerate(self.feeds)}
        else:
            blank = [self._zero(bucket)] * (size - len(rows))
            whole = np.array([*rows, *blank], self.dtype)
            fed, mask = {self.feeds[0]: whole.reshape(size, *self.shape)}, np.ones((size, 1))
        try:
            (out,) = session.run([self.output], fed)
        except Exception as error:
            raise Unreadable(f"the model refuses it ({_said(error)})") from None
        return self._vectors(np.asarray(out), mask)[: len(rows)]

    def _vectors(self, out: np.ndarray, mask: np.ndarray) -> np.ndarray:
        if out.dtype.kind != "f" or out.shape[:1] != mask.shape[:1] or out.ndim > 4:
            what = f"{out.dtype} of shape {list(out.shape)}"
            raise Unreadable(
                f"its output {self.output!r} is {what}, where {len(mask)} vectors are expected"
            )
        how = self.settings["pooling"]
        if out.ndim == 3:  # a vector a token
            mask = mask if mask.shape == out.shape[:2] else np.ones(out.shape[:2])
            if how == "first":
                return np.asarray(out[:, 0])
            if how == "max":
                return np.asarray(np.where(mask[:, :, None] > 0, out, -np.inf).max(axis=1))
            total = np.where(mask[:, :, None] > 0, out, 0).sum(axis=1, dtype=np.float64)
            return np.asarray(total / mask.sum(axis=1, keepdims=True))
        if out.ndim == 4:  # a number a place of an image
            out = out.reshape(*out.shape[:2], -1)
            return np.asarray(
                out[:, :, 0]
                if how == "first"
                else out.max(axis=2)
                if how == "max"
                else out.mean(axis=2)
            )
        return out.reshape(len(mask), -1)

    def _image(self, cell: Any) -> np.ndarray:
        """The pixels of an image's file as the model takes them; `Unreadable` where it is none,
        damaged or too large."""
        from PIL import Image, ImageOps

        if not isinstance(cell, bytes | bytearray):
            raise Unreadable(f"a {type(cell).__name__}, not the bytes of a file")
        p, first = self.settings, self.shape[0] in (1, 3)
        height, width = self.shape[1:] if first else self.shape[:2]
        planes = self.shape[0] if first else self.shape[2]
        picture, how = (
            opened(bytes(cell), (width, height), p["max_pixels"]),
            Image.Resampling.BILINEAR,
        )
        picture = picture if planes == 3 else picture.convert("L")
        made = (
            ImageOps.fit(picture, (width, height), how)
            if p["resize"] == "crop"
            else picture.resize((width, height), how)
        )
        pixels = np.asarray(made).reshape(height, width, planes)
        if p["channels"] == "bgr":
            pixels = pixels[:, :, ::-1]
        if self.dtype != "uint8":
            mean, deviation = (np.array(p[name], np.float32) for name in ("mean", "deviation"))
            pixels = ((pixels.astype(np.float32) / np.float32(255) - mean) / deviation).astype(
                self.dtype
            )
        return np.ascontiguousarray(pixels.transpose(2, 0, 1) if first else pixels)


@cache
def _threads(cores: int) -> ThreadPoolExecutor:
    """The process' threads for batches, whichever rows these are of."""
    return ThreadPoolExecutor(cores)


def _kind(given: Any, settings: Values, name: str) -> tuple[str, tuple[int, ...]]:
    """What rows an input takes, and the shape of one where it is fixed."""
    shape = [size if isinstance(size, int) and size > 0 else None for size in given.shape]
    numbers, rank = (
        given.type in ("tensor(float)", "tensor(float16)", "tensor(double)", "tensor(uint8)"),
        len(shape),
    )
    if numbers and rank == 4 and (shape[1] in (1, 3) or shape[3] in (1, 3)):
        for part, none in (("mean", 0), ("deviation", 1)):
            planes = shape[1] if shape[1] in (1, 3) else shape[3]
            if len(settings[part]) not in (1, planes):
                raise ParameterError(
                    f"{setting(part)} has {len(settings[part])} numbers, the images have {planes} "
                    "channels"
                )
            if given.type == "tensor(uint8)" and set(settings[part]) != {none}:
                raise ParameterError(f"{name} takes pixels as bytes: leave {setting(part)} out")
        size = settings["image_size"]
        if size is None and None in shape[1:]:
            raise ParameterError(
                f"{name} leaves the size of its images open: set {setting('image_size')}, such as "
                "224"
            )
        said = [size or 1 if each is None else each for each in shape[1:]]
        fixed = said[1:] if shape[1] in (1, 3) else said[:2]
        if size is not None and fixed != [size, size]:
            raise ParameterError(
                f"{name} takes images of {fixed[0]} × {fixed[1]}: leave {setting('image_size')} out"
            )
        return "image", tuple(said)
    if given.type in ("tensor(int64)", "tensor(int32)") and rank == 2:
        return "tokens", () if shape[1] is None else (shape[1],)
    if given.type == "tensor(string)" and (rank == 1 or (rank == 2 and shape[1] in (1, None))):
        return "text", (1,) * (rank - 1)
    told = f"{given.type[7:-1]} of shape {list(given.shape)}"
    raise ParameterError(f"{name}: input {given.name!r} is {told}; {TAKES}")


class OnnxEncoder(Encoder):
    """Vectors of images, token ids or texts by an ONNX model, run by onnxruntime."""

    name, title = "onnx", "vectors of images, token ids or texts by an ONNX model"
    source = "the model's"
    needs = (("onnxruntime", "onnxruntime"),)
    example = ("settings", 'model_path="means.onnx"'), ("width", "3"), ("made", f"""{PICTURE}
>>> import onnx.parser
>>> means = "means (float[N, 3, 8, 8] x) => (float[N, 3] y) {{ y = ReduceMean<axes=[2, 3], keepdims=0>(x) }}"
>>> onnx.save(onnx.parser.parse_model('<ir_version: 8, opset_import: ["": 13]>' + means), "means.onnx")""")  # fmt: skip
    parameters = PARAMETERS

    def prepared(self, p: Values) -> Values:
        p = super().prepared(p)
        if p["model_path"] is None:
            raise ParameterError(
                f"set {setting('model_path')}: the ONNX file that encodes the rows"
            )
        return {**p, "encoding": Encoding.of(OnnxModel.read(p["model_path"]), p)}

    def picture(self, content: bytes, p: Values) -> bytes | None:
        return thumbnail(content) if self.takes(p) == "file" else None

    def takes(self, p: Values) -> str:
        return {"image": "file"}.get(p["encoding"].kind, p["encoding"].kind)

    def state(self, p: Values) -> dict[str, Any] | None:
        return dict(p["encoding"].model.state())

    def restored(self, p: Values, state: Mapping[str, Any], where: str) -> Values:
        return {**super().prepared(p), "encoding": Encoding.of(OnnxModel.of_state(state, where), p)}

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
