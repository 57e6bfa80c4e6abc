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

SHAPES = ("circle", "square", "triangle")
TEXTURES = ("plain", "stripes", "checks", "noise")
PIXELS = 96
RATE, SECONDS = 16000, 1.0
TONES = ("low", "high", "sweep", "clicks", "hiss")


def image(rng: np.random.Generator) -> tuple[bytes, list[str]]:
    """Draw a PNG of one or two shapes on a texture; return it and its tags."""
    Image = require("PIL.Image", "Pillow", "a sample of images")
    ImageDraw = require("PIL.ImageDraw", "Pillow", "a sample of images")
    texture = str(rng.choice(TEXTURES))
    down, across = np.mgrid[:PIXELS, :PIXELS]
    period = int(rng.integers(6, 12))
    dark, light = np.sort(rng.integers(90, 220, 2))
    angle = rng.uniform(0, np.pi)
    turned = across * np.cos(angle) + down * np.sin(angle)
    bright = {
        "plain": np.zeros_like(down),
        "stripes": (turned // period % 2).astype(int),
        "checks": (down // period + across // period) % 2,
        "noise": rng.integers(0, 2, (PIXELS, PIXELS)),
    }[texture]
    grey = np.where(bright > 0, light, dark) + rng.normal(0, 4, (PIXELS, PIXELS))
    pixels = grey.clip(0, 255).astype(np.uint8)
    picture = Image.fromarray(np.repeat(pixels[..., None], 3, axis=2))
    pen = ImageDraw.Draw(picture)
    tags = {texture}
    for shape in rng.choice(SHAPES, 1 + int(rng.random() < 0.4), replace=False):
        size = int(rng.integers(16, 30))
        x, y = rng.integers(size, PIXELS - size, 2).tolist()
        colour = tuple(rng.integers(0, 256, 3).tolist())
        box = (x - size, y - size, x + size, y + size)
        if shape == "circle":
            pen.ellipse(box, fill=colour)
        elif shape == "square":
            pen.rectangle(box, fill=colour)
        else:
            corners = [(x, y - size), (x - size, y + size), (x + size, y + size)]
            pen.polygon(corners, fill=colour)
        tags.add(str(shape))
    file = io.BytesIO()
    picture.save(file, "PNG")
    return file.getvalue(), sorted(tags)


def sound(rng: np.random.Generator) -> tuple[bytes, list[str]]:
    """Make a WAV of one or two sounds over a little noise; return it and its tags."""
    soundfile = require("soundfile", "soundfile", "a sample of sounds")
    t = np.arange(int(RATE * SECONDS)) / RATE
    samples = rng.normal(0, 0.003, len(t))
    tags = set()
    for tone in rng.choice(TONES, 1 + int(rng.random() < 0.4), replace=False):
        pitch = float(rng.uniform(0.9, 1.4))
        loudness = float(rng.uniform(0.05, 0.3))
        waves = {
            "low": np.sin(2 * np.pi * 150 * pitch * t),
            "high": np.sin(2 * np.pi * 2500 * pitch * t),
            "sweep": np.sin(2 * np.pi * (300 * pitch + 1200 * t) * t),
            "clicks": (np.arange(len(t)) % int(1600 * pitch) < 12).astype(float),
            "hiss": rng.normal(0, 0.4, len(t)),
        }
        samples += loudness * waves[str(tone)]
        tags.add(str(tone))
    file = io.BytesIO()
    soundfile.write(
        file,
        samples.clip(-1, 1),
        RATE,
        format="WAV",
        subtype="PCM_16",
    )
    return file.getvalue(), sorted(tags)


Generate = Callable[[np.random.Generator], tuple[bytes, list[str]]]
FILES: dict[str, tuple[str, Generate]] = {"images": ("png", image), "sounds": ("wav", sound)}


def write_files(
    kind: str,
    folder: Any,
    rows: int,
    seed: int,
    tagged: bool,
) -> None:
    """Write so many files of a kind into ``folder/files``, and ``labels.csv`` if `tagged`."""
    ending, generate = FILES[kind]
    (folder / "files").mkdir()
    lines = ["path,tags\n"]
    for i in range(rows):
        content, tags = generate(np.random.default_rng([seed, i]))
        name = f"files/{i:06d}.{ending}"
        (folder / name).write_bytes(content)
        lines.append(f"{name},{';'.join(tags)}\n")
    if tagged:
        (folder / "labels.csv").write_text("".join(lines))
