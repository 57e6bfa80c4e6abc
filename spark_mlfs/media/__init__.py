"""Features of the content of files, images and sounds."""

from .base import ENCODERS, Encoder

__all__ = ["ENCODERS", "Encoder"]
