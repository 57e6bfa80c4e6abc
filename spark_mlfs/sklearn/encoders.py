"""Encoders of files in memory or on this machine; the classes are in `sklearn.encoder_classes`."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Sequence, Sized
from pathlib import PurePath
from typing import Any

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, TransformerMixin, clone

from ..adapters.arrays import in_arrays
from ..adapters.classes import EstimatorClasses
from ..errors import DataError, ParameterError, spelled_by
from ..lazy import Self
from ..media import ENCODERS
from ..media.base import EncodeCells, FirstRows
from ..params import Choice, Parameter
from ..read.encoded import tell_duration
from .base import ArrayEstimator

ON_ERROR = Parameter(
    "on_error",
    "refuse",
    Choice(("refuse", "zero")),
    "a file that cannot be used: an error, or a row of zeros (`reasons_` says why)",
)


class EncoderOfFiles(TransformerMixin, ArrayEstimator):
    """Common part of the encoders.

    X is a list of paths, or of the files' contents as bytes; of a model of token ids or texts a
    list of these.

    Attributes after transform
    --------------------------
    reasons_ : why a file has no features, None where it has"""

    registry = ENCODERS
    _common = (ON_ERROR,)
    _example = """$made
>>> from spark_mlfs.sklearn import $name
>>> $name($settings).transform([content]).shape
(1, $width)"""

    def __sklearn_tags__(self) -> Any:
        tags = BaseEstimator.__sklearn_tags__(self)
        tags.requires_fit = False
        return tags

    def fit(self, X: object = None, y: object = None) -> Self:
        """Learn nothing; keep the content of a model's file, to be pickled with the estimator."""
        self.state_ = None  # the file is read anew
        self.state_ = self._encoder().state
        return self

    def pruned(self, names: Sequence[str]) -> Self:
        """Return a fitted encoder that computes only the numbers of these names, in that order.

        Raises `ParameterError` where its last layer is not linear."""
        cut: Self = clone(self)
        cut.state_ = self._encoder().pruned(names).state
        return cut

    def write_model(self, path: str) -> None:
        """Write the file of the encoder's model, as it was cut."""
        encoder = self._encoder()
        encoder.encoder.write(encoder.parameters, path)

    @spelled_by(in_arrays)
    def transform(self, X: Iterable[object]) -> np.ndarray:
        """Return the features (files, width) of files, by path or as bytes."""
        encoder = self._encoder()
        if isinstance(X, (str, bytes, PurePath)):
            raise ParameterError("give a list of paths, or of the files' contents as bytes")
        count = len(X) if isinstance(X, Sized) else 0
        task = encoder.open(FirstRows(count, tell_duration))
        kind = _CELLS.get(encoder.encoder.takes(encoder.parameters))
        out: list[np.ndarray] = [np.empty((0, len(encoder.names)))]
        reasons: list[str | None] = []
        files = iter(X)
        while True:
            batch = list(itertools.islice(files, AT_ONCE))
            if not batch:
                break
            values, found_reasons = task(*_cells(batch, kind))
            wrong = next((i for i, reason in enumerate(found_reasons) if reason.is_valid), None)
            if wrong is not None and self.on_error == "refuse":
                by_path = kind is None and not isinstance(batch[wrong], bytes)
                row = str(batch[wrong]) if by_path else f"row {len(reasons) + wrong}"
                reason = found_reasons[wrong]
                raise DataError(f"{row}: {reason}; leave it out, or give on_error='zero'")
            out.append(values)
            reasons += found_reasons.to_pylist()
        self.reasons_ = reasons
        return np.concatenate(out)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Return the names of the features."""
        return np.array(self._encoder().names, object)

    @spelled_by(in_arrays)
    def _encoder(self) -> EncodeCells:
        ON_ERROR.accept(self.on_error)
        state = getattr(self, "state_", None)
        return EncodeCells.of(self.entry.name, self._own_parameters(), state, "the estimator")


AT_ONCE = 64  # files in memory
_CELLS = {"tokens": pa.list_(pa.int64()), "text": pa.string()}


def _cells(batch: Sequence[Any], kind: pa.DataType | None) -> tuple[pa.Array, pa.Array]:
    """Return contents of files, or cells of a kind, and why one cannot be read."""
    if kind is None:
        contents, reasons = zip(*map(_content, batch), strict=True)
    else:
        contents = tuple(batch)
        reasons = (None,) * len(batch)
    try:
        cells = pa.array(contents, kind or pa.binary(), from_pandas=True)
    except (pa.ArrowException, TypeError) as error:
        reason = " ".join(str(error).split())[:120]
        noun = "text" if kind == pa.string() else "list of token ids"
        raise ParameterError(f"X holds what is no {noun} ({reason})") from None
    return cells, pa.array(reasons, pa.string())


def _content(file: Any) -> tuple[bytes | None, str | None]:
    """Return the content of a file, or why it cannot be read."""
    if isinstance(file, bytes):
        return file, None
    if not isinstance(file, (str, PurePath)):
        raise ParameterError(
            f"X holds a {type(file).__name__}; give paths, or the files' contents as bytes"
        )
    try:
        with open(file, "rb") as opened:
            return opened.read(), None
    except OSError as error:
        return None, f"cannot be read ({error.strerror})"


ENCODING = EstimatorClasses(EncoderOfFiles, "", f"{__package__}.encoder_classes")
