"""A transformer for every encoder of files, typed: written by ``python conf/developers/generate.py``."""

# fmt: off
# ruff: noqa: E501, I001
from collections.abc import Sequence
from typing import Literal, TypedDict

from typing_extensions import Unpack

from .encoders import EncoderOfFiles

class _Common(TypedDict, total=False):
    on_error: Literal['refuse', 'zero']


class ImageFeatures(EncoderOfFiles, entry="image"):
    """Small grey picture, histogram of colours and directions of edges of an image."""
    def __init__(self, *, side: int = 64, thumbnail: int = 8, hues: int = 12, cells: int = 4,
        orientations: int = 9, max_pixels: int = 50000000, **common: Unpack[_Common]) -> None: ...
class SoundFeatures(EncoderOfFiles, entry="sound"):
    """Log-mel means and deviations, zero crossings and spectral centroid of a sound."""
    def __init__(self, *, bands: int = 40, window: float = 0.046, max_hertz: float = 8000.0,
        max_samples: int = 40000000, **common: Unpack[_Common]) -> None: ...
class OnnxEncoder(EncoderOfFiles, entry="onnx"):
    """Vectors of images, token ids or texts by an ONNX model, run by onnxruntime."""
    def __init__(self, *, model_path: str | None = None, output: str | None = None,
        layer: str | None = None, pooling: Literal['mean', 'max', 'first'] = "mean",
        batch_size: int = 16, batch_bytes: int = 67108864, image_size: int | None = None,
        mean: Sequence[float] = [0.0], deviation: Sequence[float] = [1.0],
        channels: Literal['rgb', 'bgr'] = "rgb", resize: Literal['crop', 'stretch'] = "crop",
        max_pixels: int = 50000000, max_length: int = 512, pad_id: int = 0,
        passage_length: int | None = None, passage_overlap: int = 0,
        passage_pooling: Literal['mean', 'max'] = "mean", **common: Unpack[_Common]) -> None: ...
