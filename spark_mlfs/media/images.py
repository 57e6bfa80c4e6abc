"""Numbers of an image without a model: a small grey picture, a histogram of its colours, and the
directions of its edges.

The image (PNG, JPEG, GIF, BMP, WEBP, TIFF; the first frame, turned as its EXIF says, on white where
it is transparent) is scaled to ``side`` × ``side`` pixels. Of those
    pixel_r2_c5        mean grey of the part in row 2 and column 5 of ``thumbnail`` × ``thumbnail``,
                       from 0 to 1
    hue_3              share of the pixels of that hue of ``hues``, each counted by its saturation
    saturation_1       share of the pixels of that saturation, of 4 steps; brightness_5 the same,
                       of 8
    hog_r2_c1_o5       gradient in direction 5 of ``orientations`` in that cell of ``cells`` ×
                       ``cells`` (Dalal & Triggs 2005, unsigned, the whole image one block, L2-Hys)
"""

from __future__ import annotations

import io
import warnings
from functools import cache
from typing import Any

import numpy as np
from numpy import ndarray

from ..params import Integer, Parameter, Values
from .base import NO_MEMORY, Encoder, Unreadable, require

FORMATS = ("PNG", "JPEG", "GIF", "BMP", "WEBP", "TIFF")
SATURATIONS, BRIGHTNESSES = 4, 8
CLIP, EPS = 0.2, 1e-5  # of L2-Hys
MOST_PIXELS = 178_956_970  # that Pillow opens
MAX_PIXELS = Parameter(
    "max_pixels",
    50_000_000,
    Integer(1, MOST_PIXELS),
    "an image of more is not decoded: it becomes a row with a reason",
)

PICTURE = """\
>>> import io
>>> from PIL import Image
>>> Image.new("RGB", (32, 32), "red").save(file := io.BytesIO(), "PNG")
>>> content = file.getvalue()"""  # what examples encode


class ImageFeatures(Encoder):
    """Small grey picture, histogram of colours and directions of edges of an image."""

    name, title = "image", "grey thumbnail, colour histogram and oriented gradients of an image"
    source = 'Dalal & Triggs, "Histograms of oriented gradients for human detection", 2005'
    needs = (("PIL.Image", "Pillow"),)
    example = (("made", PICTURE), ("width", "232"))
    parameters = (
        Parameter("side", 64, Integer(8, 1024), "pixels that the image is scaled to, each way"),
        Parameter("thumbnail", 8, Integer(0, 64), "rows and columns of the grey picture; 0: none"),
        Parameter("hues", 12, Integer(0, 360), "steps of hue; 0: no histogram of colours"),
        Parameter(
            "cells",
            4,
            Integer(0, 64),
            "rows and columns of cells that edges are counted in; 0: none",
        ),
        Parameter("orientations", 9, Integer(1, 36), "directions of edges"),
        MAX_PIXELS,
    )

    def picture(self, content: bytes, p: Values) -> bytes | None:
        return thumbnail(content, max_pixels=p["max_pixels"])

    def names(self, p: Values) -> list[str]:
        side = range(p["thumbnail"])
        cells = range(p["cells"])
        names = [f"pixel_r{r}_c{c}" for r in side for c in side]
        if p["hues"]:
            names += [f"hue_{k}" for k in range(p["hues"])]
            names += [f"saturation_{k}" for k in range(SATURATIONS)]
            names += [f"brightness_{k}" for k in range(BRIGHTNESSES)]
        names += [
            f"hog_r{r}_c{c}_o{o}" for r in cells for c in cells for o in range(p["orientations"])
        ]
        return names

    def features(self, content: bytes, p: Values) -> ndarray:
        rgb = np.asarray(decoded(content, p["side"], p["max_pixels"]), np.float64)
        # no BLAS: the same bits from any thread
        r, g, b = np.moveaxis(rgb, 2, 0)
        grey = (0.299 * r + 0.587 * g + 0.114 * b) / 255
        parts = (
            shrunk(grey, p["thumbnail"]),
            colours(rgb, p["hues"]),
            gradients(grey, p["cells"], p["orientations"]),
        )
        return np.concatenate([part.ravel() for part in parts])


def decoded(content: bytes, side: int, max_pixels: int) -> Any:
    """Return the image as RGB of `side` × `side` pixels.

    Raises `Unreadable` for what is none, or too large to decode."""
    image = opened(content, (2 * side, 2 * side), max_pixels)
    return image.resize((side, side), _pillow().Resampling.BOX, reducing_gap=None)


def opened(content: bytes, least: tuple[int, int], max_pixels: int) -> Any:
    """Return the image as RGB, of a JPEG perhaps smaller, but no smaller than `least`.

    Raises `Unreadable` for what is none, or too large to decode."""
    from PIL import ImageOps, UnidentifiedImageError

    Image = _pillow()
    try:
        image = Image.open(io.BytesIO(content), formats=FORMATS)
        if image.width * image.height > max_pixels:
            raise Unreadable(
                f"{image.width} x {image.height} pixels, more than max_pixels = {max_pixels}"
            )
        image.draft("RGB", least)  # a JPEG is decoded no larger than needed
        image = ImageOps.exif_transpose(image)
        if image.mode.startswith("I"):
            values = np.asarray(image, np.float64)
            if values.max(initial=0) > 255:  # 16 bits
                values = values / 257
            image = Image.fromarray(values.clip(0, 255).astype(np.uint8))
        if image.mode in ("RGBA", "LA", "PA", "La", "RGBa") or "transparency" in image.info:
            image = image.convert("RGBA")
            image = Image.alpha_composite(Image.new("RGBA", image.size, "white"), image)
        return image.convert("RGB")
    except Unreadable:
        raise
    except Image.DecompressionBombError:  # whose limit is beyond any of ours
        raise Unreadable(f"more than {MOST_PIXELS} pixels, and max_pixels = {max_pixels}") from None
    except UnidentifiedImageError:
        raise Unreadable(f"no image of {', '.join(FORMATS)}{_guess(content)}") from None
    except MemoryError:
        raise Unreadable(NO_MEMORY) from None
    except Exception as error:  # decoders raise whatever a damaged file leads them to
        raise Unreadable(f"damaged image ({str(error) or type(error).__name__})") from None


@cache
def _pillow() -> Any:
    """Return Pillow's Image, which shall not warn of what is refused here anyway."""
    from PIL import Image

    warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)
    return Image


def _guess(content: bytes) -> str:
    """Return what a file holds in the place of an image, for a message."""
    head = content[:1000].lstrip().lower()
    if b"<svg" in head:
        return ", but an SVG"
    if head.startswith(b"%pdf"):
        return ", but a PDF"
    if b"<html" in head:
        return ", but HTML"
    if head.startswith(b"riff") and b"wave" in head[:16]:
        return ", but WAV"
    if content[:1000].isascii() and b"\0" not in head:
        return ", but a text"
    return ""


def shrunk(grey: ndarray, size: int) -> ndarray:
    """Return the means (size, size) of the parts of a picture, which begin where pixels do."""
    if not size:
        return np.empty((0, 0))
    edges = np.arange(size) * len(grey) // size
    widths = np.diff([*edges, len(grey)]).clip(1)
    sums = np.add.reduceat(np.add.reduceat(grey, edges, 0), edges, 1)
    return sums / (widths[:, None] * widths)


def colours(rgb: ndarray, hues: int) -> ndarray:
    """Return histograms of hue, saturation and brightness, of (r, c, 3) values from 0 to 255."""
    if not hues:
        return np.empty(0)
    top = rgb.max(axis=2)
    spread = top - rgb.min(axis=2)
    safe = np.where(spread > 0, spread, 1)
    r, g, b = np.moveaxis(rgb, 2, 0)
    red_is_top = (g - b) / safe % 6
    green_is_top = (b - r) / safe + 2
    blue_is_top = (r - g) / safe + 4
    hue = np.where(top == r, red_is_top, np.where(top == g, green_is_top, blue_is_top)) / 6
    saturation = spread / np.where(top > 0, top, 1)

    def histogram(values: ndarray, steps: int, weights: ndarray | None = None) -> ndarray:
        bins = np.minimum((values * steps).astype(np.int64), steps - 1)
        return np.bincount(bins.ravel(), weights, steps) / values.size

    return np.concatenate(
        [
            histogram(hue, hues, saturation.ravel()),
            histogram(saturation, SATURATIONS),
            histogram(top / 255, BRIGHTNESSES),
        ]
    )


def gradients(grey: ndarray, cells: int, orientations: int) -> ndarray:
    """Return histograms (cells, cells, orientations) of oriented gradients, normalised together."""
    if not cells:
        return np.empty(0)
    down = np.zeros_like(grey)
    across = np.zeros_like(grey)
    down[1:-1] = grey[2:] - grey[:-2]
    left = grey[:, :-2]
    right = grey[:, 2:]
    across[:, 1:-1] = right - left
    turn = np.rad2deg(np.arctan2(down, across)) % 180
    direction = np.minimum((turn * orientations / 180).astype(np.int64), orientations - 1)
    cell = np.arange(len(grey)) * cells // len(grey)
    bins = (cell[:, None] * cells + cell) * orientations + direction
    length = np.hypot(down, across)
    sums = np.bincount(bins.ravel(), length.ravel(), cells * cells * orientations)
    histograms = sums * (cells / len(grey)) ** 2
    clipped = np.minimum(_normalised(histograms), CLIP)
    return _normalised(clipped).reshape(cells, cells, orientations)


def _normalised(values: ndarray) -> ndarray:
    return np.asarray(values / np.sqrt((values**2).sum() + EPS**2))


def thumbnail(content: bytes, side: int = 72, max_pixels: int = MAX_PIXELS.default) -> bytes:
    """Return an image as a small JPEG; `Unreadable` where it is none."""
    require("PIL.Image", "Pillow", "a thumbnail")
    return jpeg(decoded(content, side, max_pixels))


def jpeg(image: Any) -> bytes:
    """Return the bytes of a picture for a page."""
    file = io.BytesIO()
    image.save(file, "JPEG", quality=70)
    return file.getvalue()
