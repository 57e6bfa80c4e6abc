"""Texts as vectors, as a stage of pyspark's pipelines."""

from __future__ import annotations

from typing import Any

from pyspark.ml import Estimator, Model
from pyspark.ml.param.shared import HasInputCol, HasOutputCol
from pyspark.sql import DataFrame

from ..adapters.classes import EstimatorClasses
from ..adapters.columns import TEXT_COLUMNS
from ..errors import ParameterError, worker_errors
from ..frames.names import column_named
from ..frames.schema import with_names
from ..frames.sessions import as_spark
from ..texts.text_options import (
    SAVED,
    TEXT_ENCODERS,
    fitted_vectors,
    restored_vectors,
    saved_vectors,
)
from ..texts.word_vectors import TermVectors, vector_cells
from .base import SESSION, EntryStage
from .params import Checked
from .persistence import Storable
from .rows import beside_twins, refuse_existing


class TextAccessors(Checked, HasInputCol, HasOutputCol, parameters=TEXT_COLUMNS):
    """Where texts are, and where their vectors go."""


class TextFeaturesModel(TextAccessors, Model, Storable, parameters=SAVED):
    """Texts as vectors of the terms that were found in training.

    >>> import spark_mlfs
    >>> spark = spark_mlfs.local_session()
    >>> frame = spark.createDataFrame([("red fish",), ("blue fish",)], "text string")
    >>> model = spark_mlfs.TextFeatures(minDf=1, weight="count").fit(frame)
    >>> model.getVocabulary()
    ['fish', 'blue', 'red']"""

    def __init__(self, **values: Any) -> None:
        super().__init__()
        self._set(**values)

    def vectors(self) -> TermVectors:
        """Return what makes rows of texts."""
        return restored_vectors({p.name: self.getOrDefault(p.camel) for p in SAVED})

    def _transform(self, dataset: DataFrame) -> DataFrame:
        return beside_twins(as_spark(dataset), self, self._with_vectors)

    def _with_vectors(self, rows: DataFrame) -> DataFrame:
        output = self.getOutputCol()
        _check_column(rows, self.getInputCol())
        refuse_existing(rows, [output])
        vectors = self.vectors()
        cells = vector_cells(column_named(self.getInputCol()), vectors)
        rows = rows.withColumn(output, cells)
        return with_names(rows, output, vectors.vocabulary, terms=True)


class TextStage(EntryStage, TextAccessors, Estimator[TextFeaturesModel], Storable):
    """Common part of what finds the terms of texts."""

    registry = TEXT_ENCODERS
    _common = TEXT_COLUMNS
    _example = f"""{SESSION}>>> frame = spark.createDataFrame([("red fish",), ("blue fish",)], \
"text string")
>>> model = spark_mlfs.$name(minDf=1, weight="count").fit(frame)
>>> model.transform(frame).first()["features"]  # of fish, blue, red
SparseVector(3, {{0: 1.0, 2: 1.0}})"""

    def _fit(self, dataset: DataFrame) -> TextFeaturesModel:
        """Find the terms; the model has the estimator's uid and columns."""
        rows = as_spark(dataset)
        _check_column(rows, self.getInputCol())
        values = self._values(self.entry.parameters)
        texts = rows.select(column_named(self.getInputCol()).alias("text"))
        with worker_errors():
            vectors = fitted_vectors(texts, values)
        saved = saved_vectors(vectors)
        model = TextFeaturesModel(**{p.camel: saved[p.name] for p in SAVED})
        model._set(inputCol=self.getInputCol(), outputCol=self.getOutputCol())
        return model._resetUid(self.uid)


TEXTS = EstimatorClasses(TextStage, "", f"{__package__}.text_features")


def _check_column(rows: DataFrame, column: str) -> None:
    """Raise `ParameterError` where there is no such column of texts."""
    if column not in rows.columns:
        raise ParameterError(
            f"inputCol {column!r} is no column; there are {', '.join(rows.columns[:12])}"
        )
    kind = dict(rows.dtypes)[column]
    if not kind.startswith(("string", "varchar", "char")):
        raise ParameterError(f"inputCol {column!r} is {kind}; give a column of texts")
