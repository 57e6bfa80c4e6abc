"""Encoders of files in memory or on this machine: a class for each in `sklearn.encoder_classes`."""

from __future__ import annotations

from pathlib import PurePath
from typing import TYPE_CHECKING, Any

import numpy as np
import pyarrow as pa
from sklearn.base import BaseEstimator, TransformerMixin

from ..adapters.arrays import in_arrays
from ..adapters.classes import EstimatorClasses
from ..errors import DataError, ParameterError, spelled_by
from ..media import ENCODERS
from ..media.base import EncodeCells
from ..params import Choice, Parameter
from .base import ArrayEstimator

if TYPE_CHECKING:
    from typing_extensions import Self

ON_ERROR = Parameter(
    "on_error",
    "refuse",
    Choice(("refuse", "zero")),
    "a file that cannot be used: an error, or a row of zeros (`reasons_` says why)",
)


class EncoderOfFiles(TransformerMixin, ArrayEstimator):
    """Common part of the encoders. X is a list of paths, or of the files' contents as bytes.

    Attributes after transform
    --------------------------
    reasons_ : why a file has no features, None where it has
    """

    registry = ENCODERS
    _common = (ON_ERROR,)

    def __sklearn_tags__(self) -> Any:
        tags = BaseEstimator.__sklearn_tags__(self)
        tags.requires_fit = False
        return tags

    def fit(self, X: Any = None, y: Any = None) -> Self:
        """Nothing is learned."""
        return self

    @spelled_by(in_arrays)
    def transform(self, X: Any) -> np.ndarray:
        """(files, width) the features of files, by path or as bytes."""
        encoder = self._encoder()
        if isinstance(X, (str, bytes, PurePath)):
            raise ParameterError("give a list of paths, or of the files' contents as bytes")
        task, out, reasons = encoder.open(), [np.empty((0, len(encoder.names)))], []
        for at, file in enumerate(X):
            cell, reason = _content(file)
            values, found = task(pa.array([cell], None if cell else pa.binary()), pa.array([reason], pa.string()))
            out.append(values)
            reasons.append(found[0].as_py())
            if reasons[-1] is not None and self.on_error == "refuse":
                called = f"row {at}" if isinstance(file, bytes) else str(file)
                raise DataError(f"{called}: {reasons[-1]}; leave it out, or give on_error='zero'")
        self.reasons_ = reasons
        return np.concatenate(out)

    def get_feature_names_out(self, input_features: Any = None) -> np.ndarray:
        """Names of the features."""
        return np.array(self._encoder().names, object)

    def _encoder(self) -> EncodeCells:
        ON_ERROR.accept(self.on_error)
        return EncodeCells.of(self.entry.name, self._own_parameters())


def _content(file: Any) -> tuple[bytes | None, str | None]:
    """The content of a file, or why it cannot be read."""
    if isinstance(file, bytes):
        return file, None
    if not isinstance(file, (str, PurePath)):
        raise ParameterError(f"X holds a {type(file).__name__}; give paths, or the files' contents as bytes")
    try:
        with open(file, "rb") as opened:
            return opened.read(), None
    except OSError as error:
        return None, f"cannot be read ({error.strerror})"


ENCODING = EstimatorClasses(EncoderOfFiles, "", f"{__package__}.encoder_classes")
