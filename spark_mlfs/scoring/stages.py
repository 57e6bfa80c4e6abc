"""Stages that make features of a table's columns, in a pipeline."""

from __future__ import annotations

from typing import Any

from pyspark.ml import Transformer
from pyspark.ml.functions import array_to_vector
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasInputCol, HasInputCols, HasOutputCol
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..frame import kinds_of
from ..kernels.categories import Categories
from ..ml.persistence import Storable
from ..read.categories import cells, known
from ..read.columns import number_of
from ..read.layout import quoted
from ..read.words import WordCounts, counted
from ..schema import with_names


class ColumnMaker(Transformer, HasOutputCol, Storable):
    """Common part of the stages that make features of a table's columns: params by keyword, saved as all stages of ours."""

    def __init__(self, **values: Any) -> None:
        super().__init__()
        self._set(**values)


class ColumnGatherer(ColumnMaker, HasInputCols):
    """Numeric columns as one vector that carries their names, whatever these hold; a null becomes NaN, and so does an empty text,
    which is all that a column read from a CSV may hold.

    Spark ML's VectorAssembler takes a dot in a name for a field of a struct, and stops at a null with a trace. Columns of texts
    and dates become what they were in training, which `categories` tells (`read.categories`)."""

    categories = Param(Params._dummy(), "categories", "what columns of texts and dates stand for", typeConverter=dict)

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._setDefault(categories={})

    def _transform(self, dataset: DataFrame) -> DataFrame:
        kinds = kinds_of(dataset)
        columns = [name for name in self.getInputCols() if name in kinds]  # a stage behind names what it lacks
        facts = self.getOrDefault("categories")
        made = known(facts, columns, kinds) if facts else Categories("", False, columns=columns)
        gathered = dataset.withColumn(self.getOutputCol(), array_to_vector(cells(columns, kinds, made, number_of)))
        return with_names(gathered, self.getOutputCol(), made.names)


class WordCounter(ColumnMaker, HasInputCol):
    """How often each word of a vocabulary occurs in a text, as Spark ML's RegexTokenizer, StopWordsRemover and
    CountVectorizerModel count them; where a session has none of these."""

    vocabulary = Param(Params._dummy(), "vocabulary", "the words", typeConverter=TypeConverters.toListString)
    stopWords = Param(Params._dummy(), "stopWords", "words that are left out", typeConverter=TypeConverters.toListString)
    binary = Param(Params._dummy(), "binary", "whether a word occurs, not how often", typeConverter=TypeConverters.toBoolean)

    def __init__(self, **values: Any) -> None:
        super().__init__(**values)
        self._setDefault(stopWords=[], binary=False)

    def word_counts(self) -> WordCounts:
        words, stop = self.getOrDefault("vocabulary"), self.getOrDefault("stopWords")
        return WordCounts(tuple(words), self.getOrDefault("binary"), frozenset(stop))

    def _transform(self, dataset: DataFrame) -> DataFrame:
        counts = self.word_counts()
        column = counted(F.col(quoted(self.getInputCol())), counts)
        return with_names(dataset.withColumn(self.getOutputCol(), column), self.getOutputCol(), list(counts.vocabulary))
