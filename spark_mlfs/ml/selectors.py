"""pyspark.ml Estimators and one Model over every method: fit, transform, copy, save, load, Pipeline, names in and out.

`MultiLabelSelector(method="jmi", ...)` takes any registered method; for each there is also a class with the method's own
parameters as pyspark.ml Params (`JMISelector(numBins=5, labels="br")`), generated from the method's parameter list. All fit to a
`MultiLabelSelectorModel`.
"""

from __future__ import annotations

import inspect
import warnings
from collections.abc import Mapping
from typing import Any

import numpy as np
import pandas as pd
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.param import Param, Params
from pyspark.ml.param.shared import HasFeaturesCol, HasOutputCol
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from .. import params as spec
from .. import pipeline
from ..errors import DataError, ParameterError
from ..methods import METHODS
from ..methods.base import Method
from ..params import Optional, Parameter, Text
from ..schema import attribute_names, with_names
from ..select import modes
from ..select.modes import COLUMNS, LEVELS, RULES
from ..select.rules import Rule, passing
from .base import MultiLabelEstimator, Saved
from .params import FITTING, declare, set_params
from .rows import place

SELECTION = modes.parameters()
SCREENING = (
    Parameter(
        "screen", None, Optional(Text("METHOD:COUNT, such as chi2:10000")), "filter that runs first, the method on its best"
    ),
)


class _Selection(HasFeaturesCol, HasOutputCol):
    """Params the estimators and the model share."""

    def setFeaturesCol(self, value: str) -> Any:
        """Sets `featuresCol`."""
        return self._set(featuresCol=value)

    def setOutputCol(self, value: str) -> Any:
        """Sets `outputCol`."""
        return self._set(outputCol=value)

    def level(self) -> float:
        """The rate, or the threshold of the frequency, that the selection mode goes by."""
        mode = self.getSelectionMode()
        if mode == "stability":
            return self.getStabilityThreshold()
        if mode == "knockoffs":
            return self.getFdr() if self.isSet("fdr") else LEVELS["knockoffs"]
        return self.getOrDefault(mode)

    def rule(self, width: int) -> Rule | None:
        """Which of `width` features are worth keeping, where the selection mode asks that."""
        mode = self.getSelectionMode()
        if mode not in RULES:
            return None
        return Rule(mode, self.level(), self.keep(width), self.getCombination(), self.getSelectionSeed())

    def keep(self, width: int) -> int:
        """How many of `width` features the selection keeps; `ParameterError` where more are asked for than there are. Where a
        rule says how many: how many a greedy method picks at most, or K of stability."""
        if self.getSelectionMode() == "percentile":
            return max(1, int(self.getPercentile() * width))
        count = self.getNumTopFeatures()
        if count > width and self.isSet("numTopFeatures"):
            raise ParameterError(f"numTopFeatures = {count} but the data have {width} features; give at most {width}")
        return min(count, width)


declare(_Selection, SELECTION)


class _SelectorEstimator(MultiLabelEstimator, _Selection):
    """Common part of the selectors."""

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(**{p.camel: p.default for p in (*SELECTION, *SCREENING)})

    def _method(self) -> tuple[str, Mapping[str, Any]]:
        raise NotImplementedError

    def _fit(self, dataset: DataFrame) -> MultiLabelSelectorModel:
        from ..blocks.pack import pack

        name, given = self._method()
        # a wrong parameter is told before any work
        pipeline.Request.of(name, given, None, self.getScreen(), self.rule(self.getNumTopFeatures()))
        packed = pack(dataset, self.getFeaturesCol(), self.getLabelsCol(), self.getIdCol(), self.getLabelsForm())
        try:
            count = self.keep(packed.profile.d)
            request = pipeline.Request.of(name, given, count, self.getScreen(), self.rule(packed.profile.d))
            budgets = {"driver_bytes": self.getDriverBytes(), "worker_bytes": self.getWorkerBytes()}
            (result,) = pipeline.rank(packed, [request], progress=self._progress, **budgets)
        finally:
            packed.release()
        if result.evidence is not None and not result.evidence.kept:
            warnings.warn(result.evidence.why_none(), stacklevel=3)
        return self._learned(MultiLabelSelectorModel.of(result))


declare(_SelectorEstimator, SCREENING)


def _registered(name: str) -> str:
    """The name of a method, if there is one of that name."""
    return METHODS.create(name).name


class MultiLabelSelector(_SelectorEstimator):
    """Selects features of multi-label data with any registered method.

    Parameters
    ----------
    method : name of the method (`spark_mlfs.METHODS` lists them), default "jmi"
    methodParams : dict of the method's own parameters; they may also be given as keywords (``labels="lp"``, ``numBins=10``)
    featuresCol : vector or array<number> column, sparse or dense
    labelsCol : multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : column of the selected features
    selectionMode : how many to keep: "numTopFeatures" (default) or "percentile"; or which are worth keeping: "fpr", "fdr" or
        "fwe" (G-tests with every label), "knockoffs" or "stability" (`spark_mlfs.select` says what each promises).
        Then possibly none, which is warned of
    numTopFeatures, percentile, fpr, fdr, fwe, combination, stabilityThreshold, selectionSeed : what the selection mode goes by
    screen : a filter that runs first, such as "chi2:10000"; the method sees its best features only
    idCol, labelsForm, driverBytes, workerBytes : see `explainParams`

    Raises `ParameterError` for a wrong parameter or column, `DataError` for data that cannot be used, `BudgetError` where a
    statistic exceeds ``driverBytes`` or ``workerBytes``.
    """

    method = Param(Params._dummy(), "method", "name of the method", typeConverter=_registered)
    methodParams = Param(Params._dummy(), "methodParams", "the method's own parameters", typeConverter=dict)

    def __init__(self, method: str | None = None, methodParams: Mapping[str, Any] | None = None, **values: Any) -> None:
        super().__init__()
        self._setDefault(method="jmi", methodParams={})
        self.setParams(method=method, methodParams=methodParams, **values)

    def setParams(self, **values: Any) -> MultiLabelSelector:
        """Sets several params; keywords that are not params of the selector are the method's."""
        own = {k: v for k, v in values.items() if v is not None and self.hasParam(k)}
        if "method" in own:
            self._set(method=own.pop("method"))
        further = {k: v for k, v in values.items() if not self.hasParam(k)}
        if further or "methodParams" in own:
            merged = {**self.getMethodParams(), **own.pop("methodParams", {}), **further}
            registered = METHODS.create(self.getMethod())
            spec.check(registered.parameters, merged, f"method {registered.name!r}")
            self._set(methodParams=merged)
        return self._set(**own)

    def setMethod(self, value: str) -> MultiLabelSelector:
        """Sets `method`."""
        return self._set(method=value)

    def getMethod(self) -> str:
        """Value of `method`."""
        return self.getOrDefault("method")

    def setMethodParams(self, value: Mapping[str, Any]) -> MultiLabelSelector:
        """Sets `methodParams`."""
        return self._set(methodParams=dict(value))

    def getMethodParams(self) -> dict[str, Any]:
        """Value of `methodParams`."""
        return self.getOrDefault("methodParams")

    def _method(self) -> tuple[str, Mapping[str, Any]]:
        return self.getMethod(), self.getMethodParams()


def _class_name(name: str) -> str:
    return METHODS[name].__name__ + "Selector"


def _generate(name: str, method: type[Method]) -> type:
    """An estimator class of one method, with the method's parameters as Params."""
    defaults = {p.camel: p.default for p in method.parameters}

    def __init__(self: Any, **values: Any) -> None:
        _SelectorEstimator.__init__(self)
        self._setDefault(**defaults)
        self.setParams(**values)

    def setParams(self: Any, **values: Any) -> Any:
        """Sets several params."""
        return set_params(self, values)

    def _method(self: Any) -> tuple[str, Mapping[str, Any]]:
        return name, {p.name: self.getOrDefault(p.camel) for p in method.parameters}

    common = ["featuresCol", "labelsCol", "outputCol", "idCol", *(p.camel for p in (*SELECTION, *SCREENING, *FITTING))]
    keywords = [
        inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(key, None)) for key in (*defaults, *common)
    ]
    __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *keywords]
    )
    members = {
        "__doc__": f"{inspect.getdoc(method)}\n\nThe method's documentation: ``{method.__module__}``. Source: {method.source}.",
        "__module__": __name__,
        "__init__": __init__,
        "setParams": setParams,
        "_method": _method,
    }
    made = type(_class_name(name), (_SelectorEstimator,), members)
    declare(made, method.parameters)
    return made


SELECTORS: dict[str, type] = {name: _generate(name, method) for name, method in METHODS.items()}
globals().update({made.__name__: made for made in SELECTORS.values()})


class MultiLabelSelectorModel(Saved, _Selection):
    """A ranking of features, and the transformer that keeps the best of them.

    ranking : pandas frame with rank (from 1), index, name and score of every feature, best first; and what its selection goes by,
        NaN where a feature was not tested: p_value and q_value (fpr, fdr, fwe), knockoff (W), frequency (stability)
    selectedFeatures : indices of the kept features in rank order (pyspark's own selectors give them unordered)
    selectedFeatureNames : their names, in the same order
    gains : of a greedy method, the criterion's value at each pick
    objective, converged : of an iterative solver, the objective after each iteration and whether it converged
    summary : method, parameters, sizes, seconds, Spark jobs

    `transform` keeps the selected features in the order of their indices, as pyspark's selectors do. ``numTopFeatures`` may be
    changed on the model; beyond what a greedy method picked, features follow by its first criterion. So may the rates and the
    threshold, and the selection mode as far as the ranking has what it goes by. Where nothing passes nothing is selected, and
    `transform` gives vectors without entries, as pyspark's selectors do.
    """

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(featuresCol="features", **{p.camel: p.default for p in SELECTION})
        self._ranking = pd.DataFrame({"rank": [], "index": [], "name": [], "score": []})
        self._extra: dict[str, Any] = {}

    @staticmethod
    def of(result: pipeline.Result) -> MultiLabelSelectorModel:
        """The model of a run's result."""
        model = MultiLabelSelectorModel()
        model._ranking = result.ranking
        path = result.scores.path
        model._extra = {
            "method": result.request.method,
            "parameters": dict(result.request.parameters),
            "rows": result.profile.n,
            "features": result.profile.d,
            "labels": result.label_names if len(result.label_names) <= 10_000 else len(result.label_names),
            "named": result.named,
            "fingerprint": f"{result.profile.fingerprint:016x}",
            "gains": [] if path is None else path.gains,
            "objective": result.scores.objective,
            "converged": result.scores.converged,
            "seconds": result.seconds,
            "jobs": result.jobs,
            "scans": result.scans,
            "distributed": result.distributed,
        }
        if result.evidence is not None:
            rule = result.evidence.rule
            model._extra["selection"] = {"mode": rule.mode, "level": rule.level, **result.evidence.told}
        return model

    @property
    def ranking(self) -> pd.DataFrame:
        return self._ranking.copy()

    def _kept(self) -> pd.DataFrame:
        """The part of the ranking that is selected."""
        mode = self.getSelectionMode()
        if mode not in RULES:
            return self._ranking.iloc[: self.keep(len(self._ranking))]
        column = COLUMNS[mode]
        if column not in self._ranking:
            raise ParameterError(
                f"this model was fitted without selectionMode {mode!r}: its ranking has no {column}; fit it again"
            )
        return self._ranking[passing(mode, self.level(), self._ranking[column].to_numpy())]

    @property
    def selectedFeatures(self) -> list[int]:
        return [int(i) for i in self._kept()["index"]]

    @property
    def selectedFeatureNames(self) -> list[str]:
        return list(self._kept()["name"])

    @property
    def numFeatures(self) -> int:
        return len(self._ranking)

    @property
    def gains(self) -> list[float]:
        return list(self._extra.get("gains", []))

    @property
    def objective(self) -> list[float]:
        return list(self._extra.get("objective", []))

    @property
    def converged(self) -> bool | None:
        return self._extra.get("converged")

    @property
    def summary(self) -> dict[str, Any]:
        return {k: v for k, v in self._extra.items() if k not in ("gains", "objective", "converged")}

    def _transform(self, dataset: DataFrame) -> DataFrame:
        column, output = self.getFeaturesCol(), self.getOutputCol()
        if column not in dataset.columns:
            raise ParameterError(f"there is no column {column!r}; the columns are {', '.join(dataset.columns)}")
        if output in dataset.columns:
            raise ParameterError(f"outputCol {output!r} exists already; set another outputCol or drop the column")
        indices = np.sort(np.array(self.selectedFeatures, np.int64))
        kind = dataset.schema[column].dataType
        if isinstance(kind, T.ArrayType):
            width = len(self._ranking)
            if len(indices):
                places = F.array(*(F.lit(int(i) + 1) for i in indices))
                found = F.transform(places, lambda place: F.element_at(F.col(column), place))
            else:
                found = F.array().cast(kind)
            told = f"spark_mlfs.errors.DataError: an array in {column!r} has not the {width} entries the selection was fitted on"
            fits = F.col(column).isNull() | (F.size(column) == width)
            return dataset.withColumn(output, F.when(fits, found).otherwise(F.raise_error(F.lit(told))))
        if not isinstance(kind, VectorUDT):
            raise ParameterError(f"features column {column!r} is {kind.simpleString()}; give a vector or an array of numbers")
        names = self._ranking.sort_values("index")["name"].to_numpy()
        found = attribute_names(dataset, column)
        indices = self._place(names, indices, found, column)
        if not len(indices):  # VectorSlicer refuses to take nothing
            return dataset.withColumn(output, array_to_vector(F.array().cast("array<double>")))
        from pyspark.ml.feature import VectorSlicer

        source, temporary = column, "__spark_mlfs_checked__"
        if found is None:  # the schema does not tell the width of the vectors
            parts = F.unwrap_udt(F.col(column))
            size = F.when(parts["type"] == 0, parts["size"]).otherwise(F.size(parts["values"]))
            fits = F.col(column).isNull() | (size == len(names))
            told = f"a vector in {column!r} has not the {len(names)} entries the selection was fitted on"
            source, wrong = temporary, F.raise_error(F.lit(f"spark_mlfs.errors.DataError: {told}"))
            dataset = dataset.withColumn(temporary, F.when(fits, F.col(column)).otherwise(wrong))
        slicer = VectorSlicer(inputCol=source, outputCol=output, indices=[int(i) for i in indices])
        sliced = slicer.transform(dataset).drop(temporary)
        kept = names[np.sort(self.selectedFeatures)]
        return with_names(sliced, output, kept) if self._extra.get("named") else sliced

    def _place(self, names: np.ndarray, indices: np.ndarray, found: list[str] | None, column: str) -> np.ndarray:
        """Where the selected features are in a frame whose names are `found`: by name where both sides have names."""
        if found is None or not self._extra.get("named"):
            if found is not None and len(found) != len(names):
                raise DataError(f"{column!r} has {len(found)} features, the selection was fitted on {len(names)}")
            return indices
        if len(found) == len(names) and all(found[i] == names[i] for i in indices):
            return indices
        return place(names, indices, found, column)

    def copy(self, extra: Any = None) -> MultiLabelSelectorModel:
        copied = super().copy(extra)
        copied._ranking, copied._extra = self._ranking, dict(self._extra)
        return copied

    def _save_data(self, spark: SparkSession, path: str, mode: str) -> dict[str, Any]:
        spark.createDataFrame(self._ranking, pipeline.ranking_schema(self._ranking)).coalesce(1).write.mode(mode).parquet(path)
        return {"selection": self._extra}

    def _load_data(self, spark: SparkSession, path: str, metadata: dict[str, Any]) -> None:
        self._extra = metadata["selection"]
        self._ranking = spark.read.parquet(path).toPandas().sort_values("rank", ignore_index=True)


__all__ = ["MultiLabelSelector", "MultiLabelSelectorModel", *sorted(made.__name__ for made in SELECTORS.values())]
