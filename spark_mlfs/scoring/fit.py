"""A selection and a classifier as one saved pipeline, with what makes features of a table's columns."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame

from ..errors import ParameterError, camel
from ..read.frames import OF_THE_JVM, jvm_within_reach
from .base import STATE, column_stages
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
    """A classifier fitted on the selected features, in a PipelineModel with the selection and what makes its features."""
    from pyspark.ml import PipelineModel

    from ..ml.classifiers import ESTIMATORS
    from ..schema import FEATURES, ID, LABELS

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
    from pyspark.ml import feature

    from ..media.base import encoder_of_class
    from ..ml.encoders import ENCODING

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
