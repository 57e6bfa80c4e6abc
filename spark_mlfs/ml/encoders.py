"""Transformers over every encoder of files (a class each in `ml.encoder_classes`)."""

from __future__ import annotations

from pyspark.ml import Transformer
from pyspark.sql import DataFrame

from ..adapters.classes import EstimatorClasses
from ..errors import ParameterError
from ..media import ENCODERS
from ..media.base import EncodeCells
from ..read.content import encoded
from ..read.frames import as_spark
from .base import EntryStage
from .persistence import Storable
from .rows import refuse_taken
from .shared import ENCODED, EncodedAccessors


class EncoderStage(EntryStage, EncodedAccessors, Transformer, Storable):
    """Common part of the encoders: a column of binary content to a vector, and a column of reasons why a row has none."""

    registry = ENCODERS
    _common = ENCODED

    def _transform(self, dataset: DataFrame) -> DataFrame:
        dataset, column = as_spark(dataset), self.getInputCol()
        if column not in dataset.columns:
            raise ParameterError(f"inputCol {column!r} is no column; there are {', '.join(dataset.columns[:12])}")
        refuse_taken(dataset, [self.getOutputCol()])
        encoder = EncodeCells.of(self.entry.name, self._values(self.entry.parameters))
        out: DataFrame = encoded(dataset, encoder, self.getOutputCol(), column, self.getReasonCol())
        return out


ENCODING = EstimatorClasses(EncoderStage, "", f"{__package__}.encoder_classes")
