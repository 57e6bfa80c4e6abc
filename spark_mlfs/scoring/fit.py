"""A selection and a classifier as one saved pipeline, with what makes features of a table's columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame
from pyspark.sql.types import BooleanType, NumericType

from ..errors import ParameterError, camel
from ..read.frames import OF_THE_JVM, jvm_within_reach
from ..read.layout import quoted
from ..read.words import PATTERN
from .corpus import Progress
from .stages import ColumnGatherer, WordCounter

if TYPE_CHECKING:
    from pyspark.ml import PipelineModel


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
    """A classifier fitted on the selected features of the canonical `frame`, in one PipelineModel with the selection and
    whatever makes features of the columns of the user's own table: counting the words of a text, gathering numeric columns."""
    from pyspark.ml import PipelineModel

    from ..ml.classifiers import ESTIMATORS
    from ..schema import FEATURES, ID, LABELS

    selector = selector.copy()
    selector._set(outputCol="selected").setFeaturesCol(FEATURES)
    estimator = ESTIMATORS[name]().setParams(**{camel(k): v for k, v in parameters.items()})
    estimator.setFeaturesCol("selected").setLabelsCol(LABELS).setIdCol(ID)
    fitted = estimator.onProgress(progress).fit(selector.transform(frame))
    before, column = _column_stages(source, format, options, selector.featureNames, selector.selectedFeatureNames)
    selector.setFeaturesCol(column)
    return PipelineModel(stages=[*before, selector, fitted])


def _column_stages(
    source: DataFrame | None, format: str, options: dict[str, Any], names: list[str], selected: list[str]
) -> tuple[list[Any], str]:
    """The stages that make features of a table's own columns as the reader did, and the column they give: of numeric columns the
    selected ones."""
    from pyspark.ml.feature import CountVectorizerModel, SQLTransformer

    from ..read.layout import columns_of
    from ..read.text import python_stop_words, word_stages
    from ..schema import FEATURES

    if source is None:
        return [], FEATURES
    if format == "text" and not jvm_within_reach():
        column = columns_of(source, options["text"], "text")[0]
        stop = sorted(python_stop_words(options.get("pattern", PATTERN), options.get("stop_words")))
        binary = bool(options.get("binary", False))
        counter = WordCounter(inputCol=column, outputCol="counts", vocabulary=names, stopWords=stop, binary=binary)
        return [counter], "counts"
    if format == "text":
        body = quoted(columns_of(source, options["text"], "text")[0])
        no_null = SQLTransformer(statement=f"SELECT *, coalesce({body}, '') AS _text FROM __THIS__")
        stages, tokens = word_stages("_text", options.get("pattern", r"\W+"), options.get("stop_words"))
        counted = CountVectorizerModel.from_vocabulary(names, inputCol=tokens, outputCol="counts")
        return [no_null, *stages, counted.setBinary(bool(options.get("binary", False)))], "counts"
    identity = options.get("id")
    labels = columns_of(source, options["labels"], "labels", [identity] if identity else [])
    columns = columns_of(source, options["features"], "features", [*([identity] if identity else []), *labels])
    if len(columns) > 1 or isinstance(source.schema[columns[0]].dataType, (NumericType, BooleanType)):
        kept = [name for name in columns if name in selected]  # others may be absent from later tables
        return [ColumnGatherer(inputCols=kept, outputCol="gathered")], "gathered"
    if not set(columns[0]) & set(".`"):
        return [], columns[0]
    if not jvm_within_reach():
        raise ParameterError(f"features: {OF_THE_JVM}, which read a column called {columns[0]!r}; rename it without dots")
    # Spark ML takes a dot for a field of a struct.
    return [SQLTransformer(statement=f"SELECT *, {quoted(columns[0])} AS gathered FROM __THIS__")], "gathered"
