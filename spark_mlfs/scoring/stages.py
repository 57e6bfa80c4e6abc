"""A selection and a classifier as one saved pipeline, with the stages that make features of a table's columns."""

from __future__ import annotations

from typing import Any

from pyspark.ml import PipelineModel, Transformer, feature
from pyspark.ml.functions import array_to_vector
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasInputCol, HasInputCols, HasOutputCol
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..errors import ParameterError, camel
from ..frame import kinds_of
from ..kernels.categories import Categories
from ..media.base import encoder_of_class
from ..ml.classifiers import ESTIMATORS
from ..ml.encoders import ENCODING
from ..ml.persistence import Storable
from ..pipeline import Progress
from ..read.columns import cells, number_of
from ..read.layout import known, quoted
from ..read.sessions import OF_THE_JVM, jvm_within_reach
from ..read.words import WordCounts, counted
from ..schema import FEATURES, ID, LABELS, with_names
from .base import STATE, column_stages


class ColumnMaker(Transformer, HasOutputCol, Storable):
    """Common part of the stages that make features of a table's columns: params by keyword, saved as all stages of ours."""

    def __init__(self, **values: Any) -> None:
        super().__init__()
        self._set(**values)


class ColumnGatherer(ColumnMaker, HasInputCols):
    """Numeric columns as one vector that carries their names, whatever these hold; a null becomes NaN, and so does an empty text,
    which is all that a column read from a CSV may hold.

    Spark ML's VectorAssembler takes a dot in a name for a field of a struct, and stops at a null with a trace. Columns of texts
    and dates become what they were in training, which `categories` tells (`read.layout`)."""

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


def fit_pipeline(
    frame: DataFrame,
    selector: Any,
    name: str,
    parameters: dict[str, Any],
    source: DataFrame | None,
    format: str,
    options: dict[str, Any],
    progress: Progress | None = None,
) -> PipelineModel:
    """A classifier fitted on the selected features, in a PipelineModel with the selection and what makes its features."""
    selector = selector.copy()
    selector._set(outputCol="selected").setFeaturesCol(FEATURES)
    estimator = ESTIMATORS[name]().setParams(**{camel(k): v for k, v in parameters.items()})
    estimator.setFeaturesCol("selected").setLabelsCol(LABELS).setIdCol(ID)
    fitted = estimator.onProgress(progress).fit(selector.transform(frame))
    jvm = jvm_within_reach()
    before, column = column_stages(source, format, options, selector, jvm)
    selector.setFeaturesCol(column)
    return PipelineModel(stages=[*(_stage(kind, params, jvm) for kind, params in before), selector, fitted])


def _stage(kind: str, params: dict[str, Any], jvm: bool) -> Any:
    own = {"ColumnGatherer": ColumnGatherer, "WordCounter": WordCounter}.get(kind)
    if own is not None:
        return own(**params)
    if encoder_of_class(kind) is not None:
        state = params.pop(STATE, None)
        return ENCODING.named(kind)(**params).withState(state)
    if not jvm:
        raise ParameterError(f"features: {OF_THE_JVM}, which read a column whose name holds a dot; rename it without dots")
    made = getattr(feature, kind)
    if kind == "CountVectorizerModel":
        return made.from_vocabulary(params["vocabulary"], params["inputCol"], params["outputCol"]).setBinary(params["binary"])
    return made(**params)
