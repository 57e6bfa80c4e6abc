"""The metrics as an Evaluator of Spark's."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import pandas as pd
from pyspark import keyword_only
from pyspark.ml.evaluation import Evaluator
from pyspark.ml.util import DefaultParamsReadable, DefaultParamsWritable

from ..adapters.columns import LABELS
from ..errors import ParameterError
from ..lazy import DataFrame
from ..ml.params import known_params
from ..ml.shared import PredictionAccessors
from ..params import Choice, Number, NumberList, Optional, Parameter
from .at_k import MOST, NAMES, sums_at_k_of
from .families import K_BEST, LARGER_IS_BETTER, pairs_of, value_of
from .metrics import METRICS, evaluate_frame, label_names


class _ByLabel(NumberList):
    """Numbers, one a label, or by the labels' names; a series is by names where it has them."""

    def accept(self, value: Any) -> Any:
        if isinstance(value, pd.Series) and all(isinstance(name, str) for name in value.index):
            value = value.to_dict()
        return super().accept(value)


METRIC = Parameter(
    "metricName",
    "averagePrecision",
    Choice(tuple(name for _, name in pairs_of(["standard", K_BEST]))),
    "metric that is computed",
)
PROPENSITIES = Parameter(
    "propensities",
    None,
    Optional(
        _ByLabel(
            Number(1 / MOST, 1),
            "one number from .001 to 1 for each label, in their order, or {label: number}",
            named=True,
        )
    ),
    "propensities of the labels, which the metrics psp… go by (evaluate.at_k.propensities)",
)


class MultiLabelEvaluator(
    Evaluator,
    PredictionAccessors,
    DefaultParamsReadable[Any],
    DefaultParamsWritable,
    parameters=(METRIC, PROPENSITIES, LABELS),
):
    """Evaluator of predicted labels and scores, for `CrossValidator` and by hand.

    metricName : a metric of `METRICS`, averagePrecision by default, or of `AT_K`, such as
        precisionAt3, ndcgAt5 and normalisedPspAt1
    propensities : numbers of the labels, which the metrics psp… go by: those of the training rows
    labelsCol, predictionCol, rawPredictionCol : true labels, predicted labels, scores; vectors or
        arrays of q numbers; metrics at k take no predicted labels"""

    @keyword_only
    def __init__(
        self,
        *,
        metricName: str = METRIC.default,
        propensities: Any = None,
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
        def getPropensities(self) -> list[float] | dict[str, float] | None: ...
        def setPropensities(self, value: Any) -> MultiLabelEvaluator: ...
        def getLabelsCol(self) -> str: ...
        def setLabelsCol(self, value: str) -> MultiLabelEvaluator: ...

    def _evaluate(self, dataset: DataFrame) -> float:
        name = self.getMetricName()
        if name in METRICS:
            columns = (self.getLabelsCol(), self.getPredictionCol(), self.getRawPredictionCol())
            return float(evaluate_frame(dataset, *columns)[name])
        return self._at_k(dataset, name)

    def _at_k(self, dataset: DataFrame, name: str) -> float:
        columns = (self.getLabelsCol(), self.getRawPredictionCol())
        propensities: Any = self.getPropensities()
        if propensities is None and not name.startswith(NAMES[0]):
            raise ParameterError(
                f"{name} goes by propensities: set them to those of the training rows, which "
                "spark_mlfs.evaluate.at_k.propensities works out of the labels' counts"
            )
        if isinstance(propensities, Mapping):
            propensities = pd.Series(propensities)
            if not label_names(dataset, columns):
                raise ParameterError(
                    f"propensities by name, and neither {columns[0]!r} nor {columns[1]!r} names "
                    "its labels: give a list in their order"
                )
        sums = sums_at_k_of(dataset, columns, propensities=propensities)
        return float(value_of(sums, sums.q, name))

    def isLargerBetter(self) -> bool:
        return LARGER_IS_BETTER[self.getMetricName()]
