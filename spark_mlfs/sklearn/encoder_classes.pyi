"""A transformer for every encoder of files, typed: written by ``python conf/developers/generate.py``."""

# fmt: off
# ruff: noqa: E501
from typing import Literal, TypedDict

from typing_extensions import Unpack

from .encoders import EncoderOfFiles

class _Common(TypedDict, total=False):
    on_error: Literal['refuse', 'zero']


class ImageFeatures(EncoderOfFiles, entry="image"):
    """Small grey picture, histogram of colours and directions of edges of an image."""
    def __init__(
        self, *, side: int = 64, thumbnail: int = 8, hues: int = 12, cells: int = 4, orientations: int = 9,
        max_pixels: int = 50000000, **common: Unpack[_Common],
    ) -> None: ...
class SoundFeatures(EncoderOfFiles, entry="sound"):
    """Log-mel means and deviations, zero crossings and spectral centroid of a sound."""
    def __init__(
        self, *, bands: int = 40, window: float = 0.046, max_hertz: float = 8000.0, max_samples: int = 40000000,
        **common: Unpack[_Common],
    ) -> None: ...
