"""Generated files as users have them, to try the commands on: pictures of shapes on textures,
sounds of tones and noises.

File i depends on (seed, i) alone. ``spark-mlfs sample images`` writes them, with ``labels.csv``
(path, tags)."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import Any

import numpy as np

from .base import require

SHAPES, TEXTURES = ("circle", "square", "triangle"), ("plain", "stripes", "checks", "noise")
PIXELS, RATE, SECONDS = 96, 16000, 1.0
TONES = ("low", "high", "sweep", "clicks", "hiss")


def image(rng: np.random.Generator) -> tuple[bytes, list[str]]:
    """A PNG of one or two shapes on a texture, and its tags."""
    Image, draw = (
        require("PIL.Image", "Pillow", "a sample of images"),
        require("PIL.ImageDraw", "Pillow", "a sample of images"),
    )
    texture = str(rng.choice(TEXTURES))
    down, across = np.mgrid[:PIXELS, :PIXELS]
    period, (light, dark) = int(rng.integers(6, 12)), np.sort(rng.integers(90, 220, 2))[::-1]
    turned = across * np.cos(angle := rng.uniform(0, np.pi)) + down * np.sin(angle)
    bright = {
        "plain": np.zeros_like(down),
        "stripes": (turned // period % 2).astype(int),
        "checks": (down // period + across // period) % 2,
        "noise": rng.integers(0, 2, (PIXELS, PIXELS)),
    }[texture]
    grey = np.where(bright > 0, light, dark) + rng.normal(0, 4, (PIXELS, PIXELS))
    picture = Image.fromarray(np.repeat(grey.clip(0, 255).astype(np.uint8)[..., None], 3, axis=2))
    pen, tags = draw.Draw(picture), {texture}
    for shape in rng.choice(SHAPES, 1 + int(rng.random() < 0.4), replace=False):
        size = int(rng.integers(16, 30))
        x, y = (int(v) for v in rng.integers(size, PIXELS - size, 2))
        colour = tuple(int(v) for v in rng.integers(0, 256, 3))
        box = (x - size, y - size, x + size, y + size)
        if shape == "circle":
            pen.ellipse(box, fill=colour)
        elif shape == "square":
            pen.rectangle(box, fill=colour)
        else:
            pen.polygon([(x, y - size), (x - size, y + size), (x + size, y + size)], fill=colour)
        tags.add(str(shape))
    out = io.BytesIO()
    picture.save(out, "PNG")
    return out.getvalue(), sorted(tags)


def sound(rng: np.random.Generator) -> tuple[bytes, list[str]]:
    """A WAV of one or two sounds over a little noise, and its tags."""
    soundfile = require("soundfile", "soundfile", "a sample of sounds")
    t = np.arange(int(RATE * SECONDS)) / RATE
    samples, tags = rng.normal(0, 0.003, len(t)), set()
    for tone in rng.choice(TONES, 1 + int(rng.random() < 0.4), replace=False):
        pitch, loud = float(rng.uniform(0.9, 1.4)), float(rng.uniform(0.05, 0.3))
        heard = {
            "low": np.sin(2 * np.pi * 150 * pitch * t),
            "high": np.sin(2 * np.pi * 2500 * pitch * t),
            "sweep": np.sin(2 * np.pi * (300 * pitch + 1200 * t) * t),
            "clicks": (np.arange(len(t)) % int(1600 * pitch) < 12).astype(float),
            "hiss": rng.normal(0, 0.4, len(t)),
        }
        samples += loud * heard[str(tone)]
        tags.add(str(tone))
    out = io.BytesIO()
    soundfile.write(out, samples.clip(-1, 1), RATE, format="WAV", subtype="PCM_16")
    return out.getvalue(), sorted(tags)


FILES: dict[str, tuple[str, Callable[[np.random.Generator], tuple[bytes, list[str]]]]] = {
    "images": ("png", image),
    "sounds": ("wav", sound),
}


def write_files(kind: str, folder: Any, rows: int, seed: int, tagged: bool) -> None:
    """Write so many files of a kind into ``folder/files``, and ``folder/labels.csv`` if they are
    `tagged`."""
    ending, made = FILES[kind]
    (folder / "files").mkdir()
    lines = ["path,tags\n"]
    for i in range(rows):
        content, tags = made(np.random.default_rng([seed, i]))
        name = f"files/{i:06d}.{ending}"
        (folder / name).write_bytes(content)
        lines.append(f"{name},{';'.join(tags)}\n")
    if tagged:
        (folder / "labels.csv").write_text("".join(lines))
