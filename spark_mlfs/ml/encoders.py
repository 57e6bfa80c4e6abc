"""Transformers over every encoder of files (a class each in `ml.encoder_classes`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from pyspark.ml import Transformer
from pyspark.sql import DataFrame, SparkSession

from ..adapters.classes import EstimatorClasses
from ..adapters.saved import ENCODED, SavedData, saved_encoder
from ..errors import ParameterError
from ..frames.sessions import as_spark
from ..lazy import Self
from ..media import ENCODERS
from ..media.base import EncodeCells
from ..read.encoded import encoded
from .base import SESSION, EntryStage
from .persistence import Storable, load_state
from .rows import beside_twins, refuse_existing
from .shared import ENCODED as COLUMNS
from .shared import EncodedAccessors


class EncoderStage(EntryStage, EncodedAccessors, Transformer, Storable):
    """Common part of the encoders: a column of binary content to a vector.

    A second column has the reason why a row has none."""

    registry = ENCODERS
    _common = COLUMNS
    _example = f"""{SESSION}$made
>>> encoder = spark_mlfs.$name($settings)
>>> encoder.transform(spark.createDataFrame([(content,)], "content binary")).first()\
["features"].size
$width"""
    _state: dict[str, Any] | None = None  # saved beside the params, in place of the file they name
    _state_of: tuple[Any, ...] = ()
    _known: tuple[dict[str, Any], EncodeCells] | None = None

    def _encoder(self) -> EncodeCells:
        """Return the encoder with its parameters, for use outside Spark."""
        values = self._values(self.entry.parameters)
        if self._state is None or self._named(values) != self._state_of:
            return EncodeCells.of(self.entry.name, values)  # another file is read anew
        if self._known is None or self._known[0] != values:
            owner = f"the saved {type(self).__name__}"
            self._known = (values, EncodeCells.of(self.entry.name, values, self._state, owner))
        return self._known[1]

    def pruned(self, names: Sequence[str]) -> Self:
        """Return an encoder that computes only the numbers of these names, in that order.

        Such as `selectedFeatureNames` of a selection. Raises `ParameterError` where its last layer
        is not linear."""
        return self.copy().withState(self._encoder().pruned(names).state)

    def withState(self, state: dict[str, Any] | None) -> Self:
        """Set the state that is saved beside the params, in place of the file that they name.

        Returns the encoder."""
        self._state = state
        self._known = None
        self._state_of = self._named(self._values(self.entry.parameters))
        return self

    def writeModel(self, path: str) -> None:
        """Write the file of the encoder's model, as it was cut, on this machine."""
        encoder = self._encoder()
        encoder.encoder.write(encoder.parameters, path)

    def _named(self, values: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(value for name, value in values.items() if name.endswith("_path"))

    def _saved_data(self) -> SavedData | None:
        state = self._encoder().state
        return None if state is None else saved_encoder(state)

    def _load_data(self, spark: SparkSession, path: str, metadata: dict[str, Any]) -> None:
        if ENCODED in metadata:
            self.withState(load_state(spark, path, metadata.get("data")))._encoder()

    def _transform(self, dataset: DataFrame) -> DataFrame:
        dataset = as_spark(dataset)
        column = self.getInputCol()
        if column not in dataset.columns:
            raise ParameterError(
                f"inputCol {column!r} is no column; there are {', '.join(dataset.columns[:12])}"
            )
        refuse_existing(dataset, [self.getOutputCol()])
        names = (self.getOutputCol(), column, self.getReasonCol())
        return beside_twins(dataset, self, lambda rows: encoded(rows, self._encoder(), *names))


ENCODING = EstimatorClasses(EncoderStage, "", f"{__package__}.encoder_classes")
