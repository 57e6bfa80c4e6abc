"""The metrics as an Evaluator of Spark's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from pyspark import keyword_only
from pyspark.ml.evaluation import Evaluator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable

from ..adapters.columns import LABELS
from ..lazy import DataFrame
from ..ml.params import known_params
from ..ml.shared import PredictionAccessors
from ..params import Choice, Parameter
from .metrics import LARGER_IS_BETTER, METRICS, evaluate_frame

METRIC = Parameter(
    "metricName", "averagePrecision", Choice(tuple(METRICS)), "metric that is computed"
)


class MultiLabelEvaluator(
    Evaluator,
    PredictionAccessors,
    DefaultParamsReadable[Any],
    DefaultParamsWritable,
    parameters=(METRIC, LABELS),
):
    """Evaluator of predicted labels and scores, for `CrossValidator` and by hand.

    metricName : one of `METRICS`, averagePrecision by default
    labelsCol, predictionCol, rawPredictionCol : true labels, predicted labels, scores; vectors or
        arrays of q numbers"""

    @keyword_only
    def __init__(
        self,
        *,
        metricName: str = METRIC.default,
        labelsCol: str = LABELS.default,
        predictionCol: str = "prediction",
        rawPredictionCol: str = "rawPrediction",
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    def setParams(self, **values: Any) -> MultiLabelEvaluator:
        """Set several params: those that are passed."""
        return self._set(**known_params(self, values, [p.name for p in self.params]))

    if TYPE_CHECKING:  # made of the table

        def getMetricName(self) -> str: ...
        def setMetricName(self, value: str) -> MultiLabelEvaluator: ...
        def getLabelsCol(self) -> str: ...
        def setLabelsCol(self, value: str) -> MultiLabelEvaluator: ...

    def _evaluate(self, dataset: DataFrame) -> float:
        columns = (self.getLabelsCol(), self.getPredictionCol(), self.getRawPredictionCol())
        return float(evaluate_frame(dataset, *columns)[self.getMetricName()])

    def isLargerBetter(self) -> bool:
        return LARGER_IS_BETTER[self.getMetricName()]
