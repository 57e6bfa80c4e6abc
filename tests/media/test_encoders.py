"""Numbers of images and sounds against scikit-image and librosa; hostile content becomes a
reason."""

from __future__ import annotations

import io
import struct
import sys
import tracemalloc
import zlib
from types import SimpleNamespace
from unittest.mock import Mock

import numpy as np
import pyarrow as pa
import pytest
from PIL import Image

from spark_mlfs.errors import NotInstalledError, ParameterError
from spark_mlfs.media import ENCODERS, generate
from spark_mlfs.media.base import EncodeCells
from spark_mlfs.media.images import decoded
from spark_mlfs.media.sounds import _moments


def png(array, mode=None, **how):
    out = io.BytesIO()
    Image.fromarray(array, mode).save(out, how.pop("format", "PNG"), **how)
    return out.getvalue()


def wav(samples, rate=16000, **how):
    import soundfile

    out = io.BytesIO()
    soundfile.write(out, samples, rate, format=how.pop("format", "WAV"), **how)
    return out.getvalue()


def encode(name, files, known=None, **parameters):
    encoder = EncodeCells.of(name, parameters)
    x, reasons = encoder.open()(
        pa.array(files, pa.binary()), None if known is None else pa.array(known, pa.string())
    )
    assert x.shape == (len(files), len(encoder.names)) and len(set(encoder.names)) == len(
        encoder.names
    )
    assert not x[[r is not None for r in reasons.to_pylist()]].any()
    return x, reasons.to_pylist(), encoder.names


RNG = np.random.default_rng(0)
PICTURE = RNG.integers(0, 256, (100, 140, 3), dtype=np.uint8)
PICTURE[20:60, 30:90] = [200, 10, 10]


@pytest.mark.parametrize(("cells", "orientations"), [(4, 9), (8, 6), (1, 4)])
def test_gradients_are_scikit_images(cells, orientations):
    from skimage.feature import hog

    x, reasons, names = encode(
        "image", [png(PICTURE)], cells=cells, orientations=orientations, thumbnail=0, hues=0
    )
    grey = np.asarray(decoded(png(PICTURE), 64, 10**6), float) / 255 @ [0.299, 0.587, 0.114]
    expected = hog(grey, orientations, (64 // cells, 64 // cells), (cells, cells), "L2-Hys")
    assert reasons == [None] and names[-1] == f"hog_r{cells - 1}_c{cells - 1}_o{orientations - 1}"
    np.testing.assert_allclose(x[0], expected, atol=1e-6)


def test_colours_are_scikit_images():
    from skimage.color import rgb2hsv

    x, _, names = encode("image", [png(PICTURE)], cells=0, thumbnail=0)
    hue, saturation, value = np.moveaxis(
        rgb2hsv(np.asarray(decoded(png(PICTURE), 64, 10**6))), 2, 0
    )
    edges = [np.linspace(0, 1, n + 1) for n in (12, 4, 8)]
    expected = [
        np.histogram(hue, edges[0], weights=saturation)[0],
        *(np.histogram(v, e)[0] for v, e in zip((saturation, value), edges[1:], strict=True)),
    ]
    assert names[3] == "hue_3" and names[-1] == "brightness_7"
    np.testing.assert_allclose(
        x[0], np.concatenate(expected) / hue.size, atol=1e-3
    )  # values on an edge


def test_a_thumbnail_is_the_mean_of_its_parts():
    grey = np.kron(np.arange(16).reshape(4, 4), np.ones((16, 16))).astype(np.uint8) * 17
    x, _, names = encode("image", [png(grey)], thumbnail=4, cells=0, hues=0)
    assert names[:5] == ["pixel_r0_c0", "pixel_r0_c1", "pixel_r0_c2", "pixel_r0_c3", "pixel_r1_c0"]
    np.testing.assert_allclose(x[0] * 15, np.arange(16), atol=1e-9)


@pytest.fixture
def librosa(monkeypatch):
    """As it is written: Numba takes twenty seconds to compile what nobody calls here."""

    def as_written(*words, **more):
        return words[0] if words and callable(words[0]) else lambda function: function

    names = ("jit", "vectorize", "guvectorize", "stencil")
    monkeypatch.setitem(sys.modules, "numba", SimpleNamespace(**dict.fromkeys(names, as_written)))
    return pytest.importorskip("librosa")


@pytest.mark.slow
@pytest.mark.parametrize("rate", [8000, 16000, 44100])
def test_mel_features_are_librosas(rate, librosa):
    y = RNG.normal(0, 0.1, 3 * rate) * np.linspace(0, 1, 3 * rate)
    x, reasons, names = encode("sound", [wav(y, rate, subtype="DOUBLE")])
    y = y.astype(np.float32).astype(float)
    size = 1 << round(np.log2(0.046 * rate))
    power = (
        np.abs(librosa.stft(y, n_fft=size, hop_length=size // 2)) ** 2
        / (librosa.filters.get_window("hann", size).sum()) ** 2
    )
    mel = librosa.feature.melspectrogram(
        S=power, sr=rate, n_fft=size, n_mels=40, fmax=min(8000, rate / 2)
    )
    mel = librosa.power_to_db(mel, ref=1.0, amin=1e-10, top_db=None)
    centroid = librosa.feature.spectral_centroid(S=np.sqrt(power), sr=rate, n_fft=size)
    crossings = np.count_nonzero(np.diff(np.signbit(y))) / len(y)
    expected = [*mel.mean(1), *mel.std(1), crossings, centroid.mean(), centroid.std(), 3]
    assert reasons == [None] and names[0] == "mel_0_mean" and names[40] == "mel_0_deviation"
    np.testing.assert_allclose(x[0], expected, rtol=1e-5, atol=1e-4)


def bomb(width, height):
    """A PNG of so many pixels in a few bytes."""
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    chunks = [(b"IHDR", head), (b"IDAT", zlib.compress(bytes(1000))), (b"IEND", b"")]
    body = b"".join(
        struct.pack(">I", len(d)) + name + d + struct.pack(">I", zlib.crc32(name + d))
        for name, d in chunks
    )
    return b"\x89PNG\r\n\x1a\n" + body


HOSTILE_IMAGES = {
    "empty": (b"", "empty"),
    "cut": (png(PICTURE)[:300], "damaged"),
    "bits": (png(PICTURE)[:60] + bytes(200) + png(PICTURE)[260:], "damaged"),
    "200 megapixels": (bomb(20000, 10000), "more than 178956970 pixels"),
    "60 megapixels": (bomb(10000, 6000), "10000 x 6000 pixels, more than max_pixels"),
    "a bomb": (bomb(2**31 - 1, 2**31 - 1), "pixels"),
    "svg": (
        b'<?xml version="1.0"?><svg xmlns="http://www.w3.org/2000/svg"><image href="file:///a"/></svg>',
        "but an SVG",
    ),
    "text": (b"hello", "but a text"),
    "sound": (wav(np.zeros(100)), "but WAV"),
    "eps": (b"%!PS-Adobe-3.0 EPSF-3.0\n%%BoundingBox: 0 0 9 9\n(/etc/passwd) run\n", "no image"),
}


@pytest.mark.parametrize("what", HOSTILE_IMAGES)
def test_a_hostile_image_is_a_reason(what, recwarn):
    content, expected = HOSTILE_IMAGES[what]
    x, reasons, _ = encode("image", [png(PICTURE), content, png(PICTURE)])
    assert reasons[0] is reasons[2] is None and expected in reasons[1] and "\n" not in reasons[1]
    assert (x[0] == x[2]).all() and x[0].any() and not recwarn


def test_images_of_other_kinds_are_read():
    rgba = np.dstack([PICTURE, np.zeros((100, 140), np.uint8)])
    grey16 = (PICTURE[..., 0].astype(np.uint16)) * 257
    x, reasons, names = encode(
        "image",
        [
            png(rgba),
            png(grey16),
            png(PICTURE[..., 0]),
            png(PICTURE, format="GIF"),
            png(PICTURE, format="WEBP"),
        ],
    )
    assert reasons == [None] * 5
    assert x[0, names.index("brightness_7")] == 1  # transparent: white
    np.testing.assert_allclose(x[1], x[2], atol=0.01)


def test_a_photograph_is_turned_as_it_says():
    exif = Image.Exif()
    exif[0x0112] = 3  # upside down
    x, _, _ = encode(
        "image",
        [png(PICTURE[::-1, ::-1].copy(), format="TIFF"), png(PICTURE, format="TIFF", exif=exif)],
    )
    np.testing.assert_allclose(x[0], x[1])


def flac(samples):
    return wav(samples, format="FLAC")


NOISE = RNG.normal(0, 0.1, 16000)
HOSTILE_SOUNDS = {
    "empty": (b"", "empty"),
    "cut": (wav(NOISE)[:9000], "cut short: 8956 of 32000 bytes"),
    "flac cut": (flac(NOISE)[:9000], ""),
    "silence": (wav(np.zeros(0)), "no samples"),
    "header": (wav(NOISE)[:20], "no sound"),
    "image": (png(PICTURE), "no sound"),
    "long": (flac(np.zeros(3_000_000, np.int16)), "max_samples"),
    "not finite": (wav(np.array([0.0, np.nan]), subtype="FLOAT"), "finite"),
    "rate": (wav(NOISE, 2**31 - 1), "2147483647 samples a second, more than 1000000"),
}


@pytest.mark.parametrize("what", HOSTILE_SOUNDS)
def test_a_hostile_sound_is_a_reason(what):
    content, expected = HOSTILE_SOUNDS[what]
    _, reasons, _ = encode("sound", [wav(NOISE), content], max_samples=1_000_000)
    assert reasons[0] is None and reasons[1] is not None and expected in reasons[1]


@pytest.mark.parametrize("rate", [1_000_000, 100])
def test_memory_is_that_of_the_samples_whatever_the_rate(rate):
    """The triangles of 10 s at a million a second, all places of each, would be 8 GB."""
    content = wav(np.zeros(400_000), rate, subtype="PCM_U8")
    encoder = EncodeCells.of("sound", {"window": 10 if rate > 100 else 0.001, "bands": 256})
    tracemalloc.start()
    _, (reason,) = encoder.encoder.open(encoder.parameters)([content])
    assert encoder.picture(content) and reason is None
    assert tracemalloc.get_traced_memory()[1] < 1 << (30 if rate > 100 else 26)
    tracemalloc.stop()


def test_parts_of_windows_have_the_moments_of_all():
    values = RNG.normal(5, 2, (1000, 3))
    mean, deviation = _moments(np.split(values, [1, 2, 500]))
    np.testing.assert_allclose(mean, values.mean(axis=0), rtol=1e-14)
    np.testing.assert_allclose(deviation, values.std(axis=0), rtol=1e-13)


def test_no_memory_is_a_reason(monkeypatch):
    encoder = EncodeCells.of("image", {})
    monkeypatch.setattr(type(encoder.encoder), "features", Mock(side_effect=MemoryError))
    _, reasons = encoder.encoder.open(encoder.parameters)([png(PICTURE)])
    assert reasons == ["too large for the memory there is"]


def test_two_channels_are_their_mean():
    x, _, _ = encode(
        "sound",
        [
            wav(np.stack([NOISE, -NOISE], 1), subtype="DOUBLE"),
            flac(NOISE),
            wav(NOISE, subtype="PCM_16"),
        ],
    )
    assert x[0, :40].max() == -100 and np.allclose(x[1], x[2], rtol=1e-3)


def test_what_is_known_to_be_bad_is_not_looked_at():
    _, reasons, _ = encode("image", [png(PICTURE), None], ["too large", None])
    assert reasons == ["too large", "empty: it holds no bytes"]


def test_wrong_parameters_say_what_to_do():
    with pytest.raises(ParameterError, match=r"no encoder 'picture'.*image, sound"):
        EncodeCells.of("picture", {})
    with pytest.raises(ParameterError, match=r"no parameter 'cell'; did you mean 'cells'"):
        EncodeCells.of("image", {"cell": 3})
    with pytest.raises(ParameterError, match="cells must be a whole number"):
        EncodeCells.of("image", {"cells": -3})
    nothing = EncodeCells.of("image", {"cells": 0, "thumbnail": 0, "hues": 0})
    with pytest.raises(ParameterError, match="leave no features"):
        nothing.open()


def test_an_extra_that_is_absent_is_said(monkeypatch):
    import sys

    monkeypatch.setitem(sys.modules, "soundfile", None)
    with pytest.raises(
        NotInstalledError,
        match=r"encoder 'sound' needs soundfile .*pip install 'spark_mlfs\[media\]'",
    ):
        EncodeCells.of("sound", {})


@pytest.mark.parametrize("kind", generate.FILES)
def test_generated_files_are_the_same_of_a_seed_and_readable(kind):
    make = generate.FILES[kind][1]
    files = [make(np.random.default_rng([1, i])) for i in range(20)]
    assert files == [make(np.random.default_rng([1, i])) for i in range(20)]
    _, reasons, _ = encode(kind.removesuffix("s"), [content for content, _ in files])
    assert reasons == [None] * 20 and len({tag for _, tags in files for tag in tags}) >= 4


def test_every_encoder_has_both_faces():
    import spark_mlfs
    from spark_mlfs import sklearn as arrays

    for name in ENCODERS:
        kind = ENCODERS.class_name(name)
        assert getattr(spark_mlfs, kind).entry is getattr(arrays, kind).entry is ENCODERS[name]
