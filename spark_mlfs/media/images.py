"""Numbers of an image without a model: a small grey picture, a histogram of its colours, and the
directions of its edges.

The image (PNG, JPEG, GIF, BMP, WEBP, TIFF; the first frame, turned as its EXIF says, on white where
it is transparent) is scaled to ``side`` × ``side`` pixels. Of those
    pixel_r2_c5        mean grey of the part in row 2 and column 5 of ``thumbnail`` × ``thumbnail``,
    from 0 to 1
    hue_3              share of the pixels of that hue of ``hues``, each counted by its saturation
    saturation_1       share of the pixels of that saturation, of 4 steps; brightness_5 the same, of
    8
    hog_r2_c1_o5       gradient in direction 5 of ``orientations`` in that cell of ``cells`` ×
                       ``cells`` (Dalal & Triggs 2005, unsigned, the whole image one block,
                       L2-Hys)"""

from __future__ import annotations

import io
import warnings
from functools import cache
from typing import Any

import numpy as np

from ..params import Integer, Parameter, Values
from .base import Encoder, Unreadable, require

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
        places = [f"r{r}_c{c}" for r in range(p["thumbnail"]) for c in range(p["thumbnail"])]
        colours = (
            {"hue": p["hues"], "saturation": SATURATIONS, "brightness": BRIGHTNESSES}
            if p["hues"]
            else {}
        )
        return [
            *(f"pixel_{place}" for place in places),
            *(f"{what}_{k}" for what, count in colours.items() for k in range(count)),
            *(
                f"hog_r{r}_c{c}_o{o}"
                for r in range(p["cells"])
                for c in range(p["cells"])
                for o in range(p["orientations"])
            ),
        ]

    def features(self, content: bytes, p: Values) -> np.ndarray:
        rgb = np.asarray(decoded(content, p["side"], p["max_pixels"]), np.float64)
        grey = (
            0.299 * rgb[..., 0] + 0.587 * rgb[..., 1] + 0.114 * rgb[..., 2]
        ) / 255  # no BLAS: the same bits from any thread
        parts = (
            shrunk(grey, p["thumbnail"]),
            colours(rgb, p["hues"]),
            gradients(grey, p["cells"], p["orientations"]),
        )
        return np.concatenate([part.ravel() for part in parts])


def decoded(content: bytes, side: int, max_pixels: int) -> Any:
    """Return the image as RGB of `side` × `side` pixels; `Unreadable` for what is none, or too
    large to decode."""
    image = opened(content, (2 * side, 2 * side), max_pixels)
    return image.resize((side, side), _pillow().Resampling.BOX, reducing_gap=None)


def opened(content: bytes, least: tuple[int, int], max_pixels: int) -> Any:
    """Return the image as RGB, of a JPEG perhaps smaller, but no smaller than `least`; `Unreadable`
    likewise."""
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
            image = Image.fromarray(
                (values / 257 if values.max(initial=0) > 255 else values)
                .clip(0, 255)
                .astype(np.uint8)
            )
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
        raise Unreadable("too large for the memory there is") from None
    except Exception as error:  # decoders raise whatever a damaged file leads them to
        raise Unreadable(f"damaged image ({str(error) or type(error).__name__})") from None


@cache
def _pillow() -> Any:
    """Pillow's Image, which shall not warn of what is refused here anyway."""
    from PIL import Image

    warnings.filterwarnings("ignore", category=Image.DecompressionBombWarning)
    return Image


def _guess(content: bytes) -> str:
    head = content[:1000].lstrip().lower()
    kinds = {"an SVG": b"<svg" in head, "a PDF": head.startswith(b"%pdf"), "HTML": b"<html" in head}
    kinds |= {
        "WAV": head.startswith(b"riff") and b"wave" in head[:16],
        "a text": content[:1000].isascii() and b"\0" not in head,
    }
    return next((f", but {kind}" for kind, found in kinds.items() if found), "")


def shrunk(grey: np.ndarray, size: int) -> np.ndarray:
    """(size, size) the means of the parts of a picture, which begin where whole pixels do."""
    if not size:
        return np.empty((0, 0))
    edges = np.arange(size) * len(grey) // size
    widths = np.diff([*edges, len(grey)]).clip(1)
    return np.add.reduceat(np.add.reduceat(grey, edges, 0), edges, 1) / (widths[:, None] * widths)


def colours(rgb: np.ndarray, hues: int) -> np.ndarray:
    """The histograms of hue, saturation and brightness of (r, c, 3) values from 0 to 255."""
    if not hues:
        return np.empty(0)
    top, low = rgb.max(axis=2), rgb.min(axis=2)
    spread = top - low
    safe = np.where(spread > 0, spread, 1)
    r, g, b = np.moveaxis(rgb, 2, 0)
    hue = (
        np.where(
            top == r, (g - b) / safe % 6, np.where(top == g, (b - r) / safe + 2, (r - g) / safe + 4)
        )
        / 6
    )
    saturation = spread / np.where(top > 0, top, 1)

    def histogram(values: np.ndarray, steps: int, weights: np.ndarray | None = None) -> np.ndarray:
        at = np.minimum((values * steps).astype(np.int64), steps - 1).ravel()
        return np.bincount(at, None if weights is None else weights.ravel(), steps) / values.size

    of_hues = histogram(hue, hues, saturation)
    return np.concatenate(
        [of_hues, histogram(saturation, SATURATIONS), histogram(top / 255, BRIGHTNESSES)]
    )


def gradients(grey: np.ndarray, cells: int, orientations: int) -> np.ndarray:
    """(cells, cells, orientations) histograms of oriented gradients, normalised together."""
    if not cells:
        return np.empty(0)
    down, across = np.zeros_like(grey), np.zeros_like(grey)
    down[1:-1] = grey[2:] - grey[:-2]
    across[:, 1:-1] = grey[:, 2:] - grey[:, :-2]
    turn = np.rad2deg(np.arctan2(down, across)) % 180
    direction = np.minimum((turn * orientations / 180).astype(np.int64), orientations - 1)
    place = np.arange(len(grey)) * cells // len(grey)
    at = (place[:, None] * cells + place) * orientations + direction
    out = (
        np.bincount(at.ravel(), np.hypot(down, across).ravel(), cells * cells * orientations)
        * (cells / len(grey)) ** 2
    )
    out = np.minimum(out / np.sqrt((out**2).sum() + EPS**2), CLIP)
    return (out / np.sqrt((out**2).sum() + EPS**2)).reshape(cells, cells, orientations)


def thumbnail(content: bytes, side: int = 72, max_pixels: int = MAX_PIXELS.default) -> bytes:
    """Return an image as a small JPEG; `Unreadable` where it is none."""
    require("PIL.Image", "Pillow", "a thumbnail")
    return jpeg(decoded(content, side, max_pixels))


def jpeg(image: Any) -> bytes:
    """Return a picture of a page."""
    out = io.BytesIO()
    image.save(out, "JPEG", quality=70)
    return out.getvalue()
