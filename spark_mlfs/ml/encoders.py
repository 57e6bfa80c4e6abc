"""Transformers over every encoder of files (a class each in `ml.encoder_classes`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pyspark.ml import Transformer
from pyspark.sql import DataFrame, SparkSession

from ..adapters.classes import EstimatorClasses
from ..adapters.saved import PIECES, SavedData, state_rows
from ..errors import ParameterError
from ..media import ENCODERS
from ..media.base import EncodeCells
from ..read.content import encoded
from ..read.frames import as_spark
from .base import EntryStage
from .persistence import Storable, load_state
from .rows import refuse_taken
from .shared import ENCODED, EncodedAccessors

if TYPE_CHECKING:
    from typing_extensions import Self


class EncoderStage(EntryStage, EncodedAccessors, Transformer, Storable):
    """Common part of the encoders: a column of binary content to a vector, and a column of reasons why a row has none."""

    registry = ENCODERS
    _common = ENCODED
    _state: dict[str, Any] | None = None  # what was saved, in place of what the params name
    _state_of: tuple[Any, ...] = ()

    def _encoder(self) -> EncodeCells:
        """The encoder with its parameters, for use outside Spark."""
        values = self._values(self.entry.parameters)
        state = self._state if self._named(values) == self._state_of else None  # what names another file is read anew
        return EncodeCells.of(self.entry.name, values, state, f"the saved {type(self).__name__}")

    def pruned(self, names: Sequence[str]) -> Self:
        """An encoder that computes only the numbers of these names (`selectedFeatureNames` of a selection), in that order.
        `ParameterError` where its last layer is not linear."""
        cut = self.copy()
        cut._state, cut._state_of = self._encoder().pruned(names).state, self._named(self._values(self.entry.parameters))
        return cut

    def writeModel(self, path: str) -> None:
        """Write the file of the encoder's model, as it was cut, on this machine."""
        encoder = self._encoder()
        encoder.encoder.write(encoder.parameters, path)

    def _named(self, values: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(value for name, value in values.items() if name.endswith("_path"))

    def _saved_data(self) -> SavedData | None:
        state = self._encoder().state
        return None if state is None else SavedData(state_rows(state), PIECES, {"encoder": {"sha256": state["sha256"]}})

    def _load_data(self, spark: SparkSession, path: str, metadata: dict[str, Any]) -> None:
        if "encoder" in metadata:
            self._state = load_state(spark, path, metadata.get("data"))
            self._state_of = self._named(self._values(self.entry.parameters))
            self._encoder()

    def _transform(self, dataset: DataFrame) -> DataFrame:
        dataset, column = as_spark(dataset), self.getInputCol()
        if column not in dataset.columns:
            raise ParameterError(f"inputCol {column!r} is no column; there are {', '.join(dataset.columns[:12])}")
        refuse_taken(dataset, [self.getOutputCol()])
        out: DataFrame = encoded(dataset, self._encoder(), self.getOutputCol(), column, self.getReasonCol())
        return out


ENCODING = EstimatorClasses(EncoderStage, "", f"{__package__}.encoder_classes")
