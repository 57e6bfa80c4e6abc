"""Numbers of a sound without a model: how loud each band of pitch is and how much that changes, how
bright and noisy it is.

The sound (WAV, FLAC, OGG; the mean of its channels) is cut into windows of about ``window``
seconds, a power of two of samples, half a window apart.
    mel_7_mean         mean over the windows of the power in band 7 of ``bands`` on Slaney's mel
                       scale up to ``max_hertz``, in decibels (of full scale, at least -100);
                       mel_7_deviation its standard deviation
    zero_crossings     share of the samples where the sign changes
    centroid_mean      mean frequency of a window by magnitude, in hertz; centroid_deviation
    seconds            how long it is"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import Any

import numpy as np
import scipy.sparse as sp
from numpy import ndarray

from ..params import Integer, Number, Parameter, Values
from .base import Encoder, Unreadable, require
from .images import jpeg

FORMATS = ("WAV", "WAVEX", "RF64", "FLAC", "OGG", "AIFF")
LEAST = 1e-10  # of a power
MOST_RATE = 1_000_000  # samples a second; of more a window is larger than memory
PICTURE_WINDOWS = 8192  # of a spectrogram, about
UNKNOWN_SIZES = (0, 0xFFFFFFFF)  # of a WAV that was written as a stream
MAX_SAMPLES = Parameter(
    "max_samples",
    40_000_000,
    Integer(1),
    "a sound of more, all channels together, is not decoded: it becomes a row with a reason",
)
SOUND = """\
>>> import io, numpy as np, soundfile
>>> soundfile.write(file := io.BytesIO(), np.sin(np.arange(16000)), 16000, format="WAV")
>>> content = file.getvalue()"""  # what examples encode


class SoundFeatures(Encoder):
    """Log-mel means and deviations, zero crossings and spectral centroid of a sound."""

    name, title = "sound", "log-mel bands, zero crossings and spectral centroid of a sound"
    source = 'Slaney, "Auditory toolbox", 1998'
    needs = (("soundfile", "soundfile"),)
    example = (("width", "84"), ("made", SOUND))
    parameters = (
        Parameter("bands", 40, Integer(1, 256), "bands of pitch"),
        Parameter("window", 0.046, Number(0.001, 10), "seconds of a window, about"),
        Parameter("max_hertz", 8000.0, Number(0, above=True), "where the highest band ends"),
        MAX_SAMPLES,
    )

    def picture(self, content: bytes, p: Values) -> bytes | None:
        return picture(content, max_samples=p["max_samples"])

    def names(self, p: Values) -> list[str]:
        bands = [f"mel_{b}" for b in range(p["bands"])]
        means = [f"{band}_mean" for band in bands]
        deviations = [f"{band}_deviation" for band in bands]
        others = ["zero_crossings", "centroid_mean", "centroid_deviation", "seconds"]
        return [*means, *deviations, *others]

    def features(self, content: bytes, p: Values) -> ndarray:
        samples, rate = decoded(content, p["max_samples"])
        size = window_of(rate, p["window"])
        hertz = np.fft.rfftfreq(size, 1 / rate)
        filters = mel_filters(rate, size, p["bands"], p["max_hertz"])

        def windows() -> Iterator[ndarray]:
            """Yield the decibels of the bands and the centroid of some windows after others."""
            for power in spectra(samples, size):
                magnitude = np.sqrt(power)
                total = magnitude.sum(axis=1)
                weighted = (magnitude * hertz).sum(axis=1)
                centroid = weighted / np.where(total > 0, total, 1)
                decibels = _decibels(power @ filters)
                yield np.column_stack([decibels, centroid])

        mean, deviation = _moments(windows())
        negative = np.signbit(samples)
        crossings = np.count_nonzero(negative[1:] != negative[:-1]) / len(samples)
        of_bands = (mean[:-1], deviation[:-1])
        others = [crossings, mean[-1], deviation[-1], len(samples) / rate]
        return np.concatenate([*of_bands, others])


def _moments(parts: Iterable[ndarray]) -> tuple[ndarray, ndarray]:
    """Return mean and deviation of the columns of arrays that are not held together."""
    count = 0
    mean: Any = 0.0
    squares: Any = 0.0
    for part in parts:
        part_mean = part.mean(axis=0)
        share = len(part) / (count + len(part))
        apart = part_mean - mean
        squares = squares + ((part - part_mean) ** 2).sum(axis=0) + apart**2 * count * share
        mean = mean + apart * share
        count += len(part)
    return mean, np.sqrt(squares / count)


def decoded(content: bytes, max_samples: int) -> tuple[ndarray, int]:
    """Return the mean of the channels, from -1 to 1, and samples a second.

    Raises `Unreadable` for what is no sound, or is cut short."""
    import soundfile

    try:
        with soundfile.SoundFile(io.BytesIO(content)) as file:
            if file.format not in FORMATS:
                raise Unreadable(f"no sound of WAV, FLAC or OGG, but {file.format}")
            frames = file.frames
            rate = file.samplerate
            if frames * file.channels > max_samples:
                raise Unreadable(
                    f"{frames} samples in {file.channels} channels, more than max_samples = "
                    f"{max_samples}"
                )
            if rate > MOST_RATE:
                raise Unreadable(f"{rate} samples a second, more than {MOST_RATE}")
            _refuse_cut(content)
            samples = file.read(dtype="float32", always_2d=True)
    except Unreadable:
        raise
    except soundfile.LibsndfileError as error:
        reason = str(error.error_string).removeprefix("Error : ").rstrip(".")
        raise Unreadable(f"no sound of WAV, FLAC or OGG, or a damaged one ({reason})") from None
    except Exception as error:  # decoders raise whatever a damaged file leads them to
        raise Unreadable(f"damaged sound ({str(error) or type(error).__name__})") from None
    if len(samples) < frames:
        raise Unreadable(f"cut short: {len(samples)} of {frames} samples")
    if not len(samples):
        raise Unreadable("a sound of no samples")
    mean = samples.mean(axis=1, dtype=np.float64)
    if not np.isfinite(mean).all():
        raise Unreadable("a sample is no finite number")
    return mean, rate


def _refuse_cut(content: bytes) -> None:
    """Raise `Unreadable` for a WAV whose data end before its header says.

    libsndfile takes what there is."""
    if content[:4] != b"RIFF":
        return
    start = 12  # of a chunk: its name, its size, its bytes
    while start + 8 <= len(content):
        name = content[start : start + 4]
        size = int.from_bytes(content[start + 4 : start + 8], "little")
        start += 8
        if name == b"data":
            stored = len(content) - start
            if size not in UNKNOWN_SIZES and size > stored:
                raise Unreadable(f"cut short: {stored} of {size} bytes of samples")
            return
        start += size + size % 2


def window_of(rate: int, seconds: float) -> int:
    """Return the samples of a window: the power of two nearest to so many seconds."""
    return 1 << max(4, round(math.log2(rate * seconds)))


def spectra(samples: ndarray, size: int) -> Iterator[ndarray]:
    """Yield the power (windows, size // 2 + 1) of some windows (Hann) after others.

    They are centred every half of one, over the ends zeros; 1 is a constant of full scale."""
    padded = np.pad(samples, size // 2)
    hann = 0.5 - 0.5 * np.cos(2 * np.pi * np.arange(size) / size)
    windows = np.lib.stride_tricks.sliding_window_view(padded, size)[:: size // 2]
    step = max(1, (1 << 20) // max(size, 256))  # windows at a time, of which each has bands, too
    for start in range(0, len(windows), step):
        spectrum = np.fft.rfft(windows[start : start + step] * hann)
        yield np.abs(spectrum) ** 2 / hann.sum() ** 2


def _decibels(power: ndarray) -> ndarray:
    return 10 * np.log10(np.maximum(power, LEAST))


@lru_cache(maxsize=8)  # files may have any rate
def mel_filters(
    rate: int,
    size: int,
    bands: int,
    max_hertz: float,
) -> sp.csc_array:
    """Return triangles (size // 2 + 1, bands) of equal area on Slaney's mel scale.

    It is linear to 1000 Hz, then logarithmic."""
    step = 200 / 3
    log_step = np.log(6.4) / 27
    top = min(max_hertz, rate / 2)
    mel = top / step if top < 1000 else 15 + np.log(top / 1000) / log_step
    mels = np.linspace(0, mel, bands + 2)
    logarithmic = 1000 * np.exp(log_step * (mels - 15))
    edges = np.where(mels < 15, mels * step, logarithmic)
    hertz = np.fft.rfftfreq(size, 1 / rate)
    # of each triangle the places between its ends alone: all of them would be bands × window
    starts = np.searchsorted(hertz, edges[:-2])
    lengths = np.searchsorted(hertz, edges[2:]) - starts
    band = np.repeat(np.arange(bands), lengths)
    places = np.arange(len(band)) + np.repeat(starts - (np.cumsum(lengths) - lengths), lengths)
    low, middle, high = (edges[band + side] for side in range(3))
    rising = (hertz[places] - low) / (middle - low)
    falling = (high - hertz[places]) / (high - middle)
    triangles = np.minimum(rising, falling).clip(0)
    filters = sp.csc_array((triangles * (2 / (high - low)), (places, band)), (len(hertz), bands))
    filters.eliminate_zeros()
    return filters


def picture(content: bytes, side: int = 72, max_samples: int = MAX_SAMPLES.default) -> bytes:
    """Return a small spectrogram of a sound as JPEG, low bands below.

    Raises `Unreadable` where it is none."""
    image = require("PIL.Image", "Pillow", "a spectrogram")
    samples, rate = decoded(content, max_samples)
    size = max(window_of(rate, 0.046), window_of(len(samples), 2 / PICTURE_WINDOWS))
    filters = mel_filters(rate, size, side, 8000.0)
    decibels = np.concatenate([_decibels(power @ filters) for power in spectra(samples, size)])
    loudest = decibels.max()
    grey = np.interp(decibels, [loudest - 60, loudest], [255, 0])
    pixels = grey.T[::-1].astype(np.uint8)
    return jpeg(image.fromarray(pixels).resize((side, side)))
