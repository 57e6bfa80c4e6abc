"""The common part of the pyspark.ml estimators and models."""

from __future__ import annotations

from typing import Any

import numpy as np
from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasFeaturesCol
from pyspark.ml.util import DefaultParamsReadable, MLReadable, MLReader, MLWritable, MLWriter
from pyspark.sql import DataFrame, SparkSession

from ..blocks.codec import State
from ..schema import attribute_names
from .params import FITTING, Checked, _name_or_none, declare
from .persistence import Reader, Writer, load_state, save_state
from .rows import place


class MultiLabelEstimator(Checked, Estimator, HasFeaturesCol, DefaultParamsReadable, MLWritable):
    """Common part of every estimator: the columns it reads and how it runs."""

    labelsCol = Param(Params._dummy(), "labelsCol", "labels column name", typeConverter=TypeConverters.toString)
    idCol = Param(
        Params._dummy(),
        "idCol",
        "row id column name: unique and stable; without one a row is known by the hash of its content",
        typeConverter=_name_or_none,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(featuresCol="features", labelsCol="labels", idCol=None, **{p.camel: p.default for p in FITTING})

    def setFeaturesCol(self, value: str) -> Any:
        """Sets `featuresCol`."""
        return self._set(featuresCol=value)

    def setLabelsCol(self, value: str) -> Any:
        """Sets `labelsCol`."""
        return self._set(labelsCol=value)

    def getLabelsCol(self) -> str:
        """Value of `labelsCol`."""
        return self.getOrDefault("labelsCol")

    def setIdCol(self, value: str | None) -> Any:
        """Sets `idCol`."""
        return self._set(idCol=value)

    def getIdCol(self) -> str | None:
        """Value of `idCol`."""
        return self.getOrDefault("idCol")

    def write(self) -> MLWriter:
        return Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        return Reader(cls)

    _progress: Any = None

    def onProgress(self, report: Any) -> Any:
        """Calls `report(what, done, total)` while fitting; returns the estimator. It is not pickled with the estimator."""
        self._progress = report
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_progress"}

    def copy(self, extra: Any = None) -> Any:
        copied = super().copy(extra)
        copied._progress = self._progress
        return copied

    def _learned(self, model: Any) -> Any:
        """The model as `fit` returns it: with the estimator's uid, as pyspark's own have, and the params that both have."""
        return self._copyValues(model._resetUid(self.uid))


declare(MultiLabelEstimator, FITTING)


# ---- models made of arrays ----


class Saved(Checked, Model, MLReadable, MLWritable):
    """A model that saves and loads with `Writer` and `Reader`."""

    def _save_data(self, spark: SparkSession, path: str, mode: str) -> dict[str, Any]:
        """Writes what was learned to `path`; returns what joins the metadata."""
        raise NotImplementedError

    def _load_data(self, spark: SparkSession, path: str, metadata: dict[str, Any]) -> None:
        """The inverse of `_save_data`."""
        raise NotImplementedError

    def write(self) -> MLWriter:
        return Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        return Reader(cls)


class StateModel(Saved, HasFeaturesCol):
    """A model whose learned part is `state`, a dict of arrays, CSR matrices and plain values.

    `featureNames` and `labelNames` of the training data; `summary`: algorithm, parameters, sizes, seconds, Spark jobs.
    """

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(featuresCol="features")
        self.state: State = {}
        self._extra: dict[str, Any] = {}

    def setFeaturesCol(self, value: str) -> Any:
        """Sets `featuresCol`."""
        return self._set(featuresCol=value)

    @property
    def featureNames(self) -> list[str]:
        return list(self._extra["feature_names"])

    @property
    def labelNames(self) -> list[str]:
        return list(self._extra["label_names"])

    @property
    def numFeatures(self) -> int:
        return len(self._extra["feature_names"])

    @property
    def summary(self) -> dict[str, Any]:
        return {k: v for k, v in self._extra.items() if k not in ("feature_names", "label_names")}

    def copy(self, extra: Any = None) -> Any:
        copied = super().copy(extra)
        copied.state, copied._extra = self.state, dict(self._extra)
        return copied

    def _places(self, dataset: DataFrame) -> np.ndarray | None:
        """Where the training features are in `dataset`: None where they are in place."""
        column = self.getFeaturesCol()
        found = attribute_names(dataset, column) if column in dataset.columns else None
        if found is None or not self._extra.get("named"):
            return None
        names = self.featureNames
        if found == names:
            return None
        return place(np.array(names, object), np.arange(len(names)), found, column)

    def _save_data(self, spark: SparkSession, path: str, mode: str) -> dict[str, Any]:
        save_state(spark, path, self.state, mode)
        return {"learned": self._extra}

    def _load_data(self, spark: SparkSession, path: str, metadata: dict[str, Any]) -> None:
        self.state, self._extra = load_state(spark, path), metadata["learned"]
