"""The contract of an encoder: parameters, the names of its numbers, and a function of cells that
gives these, or says why not.

What a file holds is anybody's: an encoder refuses what it cannot take by `Unreadable`, whose text
is the `reason` of the row."""

from __future__ import annotations

import re
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar

import numpy as np
import pyarrow as pa
from numpy import ndarray

from ..errors import NotInstalledError, ParameterError
from ..lazy import F
from ..params import Choice, Integer, Optional, Parameter, Values, check
from ..registry import Entry, Registry

NO_CONTENT = "empty: it holds no bytes"
NO_MEMORY = "too large for the memory there is"
Encode = Callable[[Sequence[Any]], tuple[ndarray, list["str | None"]]]


class Unreadable(ValueError):
    """The reason why a file has no features, in one line."""


class Encoder(Entry):
    """Base of every encoder."""

    source = "none"
    # what is imported, and what is installed for that
    needs: ClassVar[tuple[tuple[str, str], ...]] = ()

    def names(self, p: Values) -> list[str]:
        """Return the names of the numbers."""
        raise NotImplementedError

    def features(self, content: bytes, p: Values) -> ndarray:
        """Return the numbers of one file; `Unreadable` where it has none."""
        raise NotImplementedError

    def open(self, p: Values) -> Encode:
        """Return the function of many cells.

        It gives numbers (cells, width), zeros where there is a reason, and the reasons."""
        width = len(self.names(p))

        def encode(cells: Sequence[Any]) -> tuple[ndarray, list[str | None]]:
            numbers = np.zeros((len(cells), width))
            reasons: list[str | None] = [None] * len(cells)
            for i, cell in enumerate(cells):
                try:
                    if not cell:
                        raise Unreadable(NO_CONTENT)
                    numbers[i] = self.features(cell, p)
                except Unreadable as error:
                    numbers[i] = 0
                    reasons[i] = " ".join(str(error).split())[:200]
                except MemoryError:
                    numbers[i] = 0
                    reasons[i] = NO_MEMORY
            return numbers, reasons

        return encode

    def prepared(self, p: Values) -> Values:
        """Return the parameters' values, checked together before any file is read.

        Raises `ParameterError` or `NotInstalledError`."""
        for module, package in self.needs:
            require(module, package, f"encoder {self.name!r}")
        return p

    def picture(self, content: bytes, p: Values) -> bytes | None:
        """Return a small JPEG of what a file holds; None, or `Unreadable`, where there is none."""
        return None

    def takes(self, p: Values) -> str:
        """Return what a cell holds: a "file", of some encoders "tokens" or a "text"."""
        return "file"

    def state(self, p: Values) -> dict[str, Any] | None:
        """Return what is saved beside the parameters, arrays and plain values, or None."""
        return None

    def restored(self, p: Values, state: Mapping[str, Any], source: str) -> Values:
        """Return the parameters' values with the state that was saved in the place of files.

        Messages name the `source` it was saved in."""
        return p

    def sent(self, p: Values, spark: Any) -> Values:
        """Return the parameters' values as they go to the workers of a session."""
        return p

    def pruned(self, p: Values, names: Sequence[str]) -> Values:
        """Return the values with which only the numbers of these names are computed.

        Raises `ParameterError` where all have to be."""
        raise ParameterError(f"encoder {self.name!r} is not cut: it has no last layer of weights")

    def write(self, p: Values, path: str) -> None:
        """Write the file of the encoder's model; `ParameterError` where it has none."""
        raise ParameterError(f"encoder {self.name!r} has no model to write")


def require(
    module: str,
    package: str,
    title: str,
    extra: str = "media",
) -> Any:
    """Return a module of an extra; raise `NotInstalledError` that says what to install."""
    from importlib import import_module

    try:
        return import_module(module)
    except (ImportError, OSError) as error:  # soundfile without its library
        raise NotInstalledError(
            f"{title} needs {package} ({error}): pip install 'spark_mlfs[{extra}]'"
        ) from None


ENCODERS: Registry[Encoder] = Registry(
    "encoder",
    __package__,
    {
        "image": "images.ImageFeatures",
        "sound": "sounds.SoundFeatures",
        "onnx": "onnx.OnnxEncoder",
    },
    group="spark_mlfs.encoders",
)


def encoder_of_class(kind: str) -> str | None:
    """Return the name of the encoder whose class is called so."""
    return next((name for name in ENCODERS if ENCODERS.class_name(name) == kind), None)


TIMED_ROWS = 16  # of each thread, that the time of all is told by
LEAST_SECONDS = 20.0  # that are told


class FirstRows:
    """Times the first rows that are encoded, and tells what all of `total` take; one for all
    threads.

    Rows of all threads count, so that it does not matter how many of them work, nor whether the
    encoder has threads of its own."""

    def __init__(self, total: int, tell: Callable[[int, float], None]) -> None:
        self.total = total
        self.tell = tell
        self._is_over = total <= TIMED_ROWS
        self._lock = threading.Lock()
        self._threads: set[int] = set()
        self._began = 0.0
        self._encoded = 0

    def timed(self, encode: Encode, cells: Sequence[Any]) -> tuple[ndarray, list[str | None]]:
        """Return what `encode` makes of the cells; the first calls tell the time."""
        results = []
        start = 0
        while not self._is_over and start < len(cells):
            results.append(self._measured(encode, cells[start : start + TIMED_ROWS]))
            start += TIMED_ROWS
        if start < len(cells) or not results:
            results.append(encode(cells[start:]))
        numbers = np.concatenate([values for values, _ in results])
        return numbers, [reason for _, reasons in results for reason in reasons]

    def _measured(self, encode: Encode, cells: Sequence[Any]) -> tuple[ndarray, list[str | None]]:
        with self._lock:
            if not self._threads:
                self._began = time.perf_counter()
            self._threads.add(threading.get_ident())
        result = encode(cells)
        with self._lock:
            self._encoded += len(cells)
            if not self._is_over and self._encoded >= TIMED_ROWS * len(self._threads):
                self._is_over = True
                seconds = (time.perf_counter() - self._began) / self._encoded
                tell_long(self.total, seconds * (self.total - self._encoded), self.tell)
        return result


def tell_long(total: int, seconds: float, tell: Callable[[int, float], None]) -> None:
    """Tell what all of `total` rows take, where it is worth a line."""
    if seconds >= LEAST_SECONDS:
        tell(total, seconds)


@dataclass(frozen=True)
class EncodeCells:
    """An encoder with its parameters, for tasks of either engine."""

    encoder: Encoder
    parameters: Values

    @staticmethod
    def of(
        name: str,
        parameters: Values,
        state: Mapping[str, Any] | None = None,
        source: str = "",
    ) -> EncodeCells:
        """Return the encoder of a name, with the state that was saved in a `source`.

        Raises `ParameterError` for an unknown name or parameter."""
        encoder = ENCODERS.create(name)
        p = check(encoder.parameters, parameters, f"encoder {name!r}")
        if state is None:
            return EncodeCells(encoder, encoder.prepared(p))
        return EncodeCells(encoder, encoder.restored(p, state, source))

    @property
    def state(self) -> dict[str, Any] | None:
        return self.encoder.state(self.parameters)

    def sent(self, spark: Any) -> EncodeCells:
        return replace(self, parameters=self.encoder.sent(self.parameters, spark))

    def picture(self, content: bytes) -> bytes | None:
        try:
            return self.encoder.picture(content, self.parameters)
        except (Unreadable, MemoryError):
            return None

    def pruned(self, names: Sequence[str]) -> EncodeCells:
        return replace(self, parameters=self.encoder.pruned(self.parameters, names))

    @property
    def names(self) -> list[str]:
        names = self.encoder.names(self.parameters)
        if not names:
            raise ParameterError(
                f"encoder {self.encoder.name!r}: these parameters leave no features; set one above "
                "0"
            )
        return names

    def open(
        self, first: FirstRows | None = None
    ) -> Callable[[pa.Array, pa.Array | None], tuple[ndarray, pa.Array]]:
        """Return the function of cells and of reasons known before.

        It gives numbers (cells, width), zeros where there is a reason, and all reasons. `first`
        tells how long all rows take."""
        encode = self.encoder.open(self.parameters)
        if first is not None:
            encode = partial(first.timed, encode)
        width = len(self.names)

        def task(cells: pa.Array, known: pa.Array | None) -> tuple[ndarray, pa.Array]:
            reasons = [None] * len(cells) if known is None else known.to_pylist()
            numbers = np.zeros((len(cells), width))
            readable = [i for i, reason in enumerate(reasons) if reason is None]
            if readable:
                contents = cells.take(pa.array(readable)).to_pylist()
                numbers[readable], new_reasons = encode(contents)
                for i, reason in zip(readable, new_reasons, strict=True):
                    reasons[i] = reason
            return numbers, pa.array(reasons, pa.string())

        return task

    def udf(self) -> Any:
        """Return the task as a UDF of cells and known reasons: struct<c0, c1>.

        It is nondeterministic, so that it is not run twice: filters stay behind it."""
        schema = "c0 array<double>, c1 string"

        def arrays(columns: Iterator[Any]) -> Iterator[pa.Array]:
            task = self.open()
            for content, known in columns:
                values, reasons = task(content, known)
                lists = pa.FixedSizeListArray.from_arrays(pa.array(values.ravel()), values.shape[1])
                yield pa.StructArray.from_arrays(
                    [lists.cast(pa.list_(pa.float64())), reasons], ["c0", "c1"]
                )

        if hasattr(F, "arrow_udf"):
            arrays.__annotations__ = {
                "columns": Iterator[tuple[pa.Array, pa.Array]],
                "return": Iterator[pa.Array],
            }
            return F.arrow_udf(arrays, schema).asNondeterministic()
        import pandas as pd

        def in_arrow(pair: Any) -> tuple[pa.Array, pa.Array]:
            content, known = pair
            if not len(content):
                kind = pa.binary()
            elif isinstance(next((cell for cell in content if cell is not None), b""), str):
                kind = pa.string()
            else:
                kind = None
            cells = pa.array(content, kind, from_pandas=True)
            return cells, pa.array(known, pa.string(), from_pandas=True)

        def frames(columns: Iterator[Any]) -> Iterator[pd.DataFrame]:
            for result in arrays(map(in_arrow, columns)):
                yield pd.DataFrame({name: result.field(name).to_pandas() for name in ("c0", "c1")})

        frames.__annotations__ = {
            "columns": Iterator[tuple[pd.Series, pd.Series]],
            "return": Iterator[pd.DataFrame],
        }
        return F.pandas_udf(frames, schema).asNondeterministic()  # type: ignore[attr-defined]


# ---- long rows as passages of a length that overlap: each is encoded, or scored, alone; the
# results come together by row ----

PASSAGES = (
    Parameter(
        "passage_length",
        None,
        Optional(Integer(1)),
        "tokens (of texts: words) of a passage; None: a row is one passage",
    ),
    Parameter(
        "passage_overlap",
        0,
        Integer(0),
        "tokens or words that a passage has in common with the one before",
    ),
    Parameter(
        "passage_pooling",
        "mean",
        Choice(("mean", "max")),
        "how the vectors of a row's passages become one",
    ),
)
WORD = re.compile(r"\S+")


def spans(count: int, length: int | None, overlap: int) -> list[tuple[int, int]]:
    """Return where the passages of `count` tokens begin and end, as few as cover all of them.

    An empty row is one passage."""
    if length is None or count <= length:
        return [(0, count)]
    step = length - overlap
    return [(first, min(first + length, count)) for first in range(0, count - overlap, step)]


def passages_of(text: str, length: int | None, overlap: int) -> list[str]:
    """Return the passages of a text, `length` words each, as they stand in it."""
    if length is None:
        return [text]
    words = [word.span() for word in WORD.finditer(text)]
    if len(words) <= length:
        return [text]
    passages = []
    for first, stop in spans(len(words), length, overlap):
        start, _ = words[first]
        _, end = words[stop - 1]
        passages.append(text[start:end])
    return passages


def pooled(
    values: ndarray,
    owners: ndarray,
    rows: int,
    pooling: str,
) -> ndarray:
    """Return the mean or the largest (rows, w) of the values (n, w) of each row's passages.

    `owners` (n,), rising, are the rows of the passages. NaN for a row of which one has NaN, or that
    has none."""
    if len(owners) == rows and (owners == np.arange(rows)).all():
        return values
    vectors = np.full((rows, values.shape[1]), np.nan)
    firsts = np.flatnonzero(np.diff(owners, prepend=-1))
    if pooling == "max":
        vectors[owners[firsts]] = np.maximum.reduceat(values, firsts)
    elif len(firsts):
        counts = np.diff(firsts, append=len(owners))
        # passage after passage, so that a row's sum is the same whatever rows are beside it
        sums = np.zeros((len(firsts), values.shape[1]))
        for place in range(counts.max()):
            longer = counts > place
            sums[longer] += values[firsts[longer] + place]
        vectors[owners[firsts]] = sums / counts[:, None]
    return vectors
