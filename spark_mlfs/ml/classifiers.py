"""pyspark.ml Estimators over every classifier, and the model they fit to.

`MLkNNClassifier(k=10)`, `BRkNNClassifier()`, `BRSVMClassifier(c=1.0)`, `ClassifierChainClassifier(base="svm")`: one class each,
generated from the classifiers' parameter lists. They stand behind a selector or extractor in one `Pipeline`, which saves and
loads as a whole.
"""

from __future__ import annotations

import inspect
import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import scipy.sparse as sp
from pyspark.ml.param.shared import HasPredictionCol, HasRawPredictionCol
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .. import params as spec
from .. import pipeline
from ..blocks.codec import State
from ..blocks.pack import pack
from ..classify import CLASSIFIERS
from ..classify.base import Classifier, Predictor
from ..classify.knn import NeighbourVote, label_counts
from ..engine.base import SMALL_BYTES, Cost
from ..errors import ParameterError
from ..schema import SLICES, with_names
from .base import MultiLabelEstimator, StateModel
from .join import map_against, training_blocks
from .params import FITTING, declare, set_params
from .rows import map_rows

# training machines costs far more than reading the rows: above this, side by side
SIDE_BY_SIDE_BYTES = 256 << 10
# a larger training set of a nearest-neighbour classifier does not travel to every task: it is joined by blocks
BROADCAST_BYTES = 32 << 20


class _Outputs(HasPredictionCol, HasRawPredictionCol):
    """Output columns the estimators and the model share."""

    def setPredictionCol(self, value: str) -> Any:
        """Sets `predictionCol`: multi-hot vector of the predicted labels, their names in its metadata."""
        return self._set(predictionCol=value)

    def setRawPredictionCol(self, value: str) -> Any:
        """Sets `rawPredictionCol`: vector of the labels' scores, larger is likelier."""
        return self._set(rawPredictionCol=value)

    def _set_outputs(self) -> None:
        self._setDefault(predictionCol="prediction", rawPredictionCol="rawPrediction")


@dataclass(frozen=True)
class Fit:
    """A classifier's fit; picklable, so that it can run in one task."""

    name: str
    parameters: Mapping[str, Any]

    def __call__(self, engine: Any) -> tuple[State, Cost]:
        return CLASSIFIERS.create(self.name).fit(engine, self.parameters), engine.cost


class _ClassifierEstimator(MultiLabelEstimator, _Outputs):
    """Common part of the classifiers."""

    _classifier: str

    def __init__(self) -> None:
        super().__init__()
        self._set_outputs()

    def _fit(self, dataset: DataFrame) -> MultiLabelClassificationModel:
        found = CLASSIFIERS.create(self._classifier)
        given = {p.name: self.getOrDefault(p.camel) for p in found.parameters}
        checked = spec.check(found.parameters, given, f"classifier {found.name!r}")
        known = dict(checked)
        if checked.get("label_specific"):
            column = self.getFeaturesCol()
            metadata = dataset.schema[column].metadata if column in dataset.columns else {}
            if SLICES not in (metadata or {}):
                raise ParameterError(
                    f"labelSpecific needs features made label by label, and {column!r} does not say whose they are: put "
                    "LIFTExtractor or LIFTRSMExtractor in front, and nothing between that drops the column's metadata"
                )
            known["slices"] = [int(i) for i in metadata[SLICES]]
        started = time.perf_counter()
        packed = pack(dataset, self.getFeaturesCol(), self.getLabelsCol(), self.getIdCol(), self.getLabelsForm())
        try:
            small = SIDE_BY_SIDE_BYTES if found.by_label(checked) else SMALL_BYTES
            budgets = self.getDriverBytes(), self.getWorkerBytes()
            state, cost, distributed = pipeline.compute(packed, Fit(found.name, known), self._progress, small, *budgets)
        finally:
            packed.release()
        extra = {
            "classifier": found.name,
            "parameters": checked,
            "rows": packed.profile.n,
            "feature_names": packed.feature_names,
            "named": packed.named,
            "label_names": packed.label_names,
            "fingerprint": f"{packed.profile.fingerprint:016x}",
            "seconds": time.perf_counter() - started,
            "jobs": packed.jobs + cost.jobs,
            "scans": 1 + cost.scans,
            "distributed": distributed,
        }
        if "converged" in state:
            extra["converged"] = state["converged"]
        return self._learned(MultiLabelClassificationModel.of(state, extra))


def _generate(made: type[Classifier]) -> type:
    """An estimator class of one classifier, with its parameters as Params."""
    defaults = {p.camel: p.default for p in made.parameters}

    def __init__(self: Any, **values: Any) -> None:
        _ClassifierEstimator.__init__(self)
        self._setDefault(**defaults)
        self.setParams(**values)

    def setParams(self: Any, **values: Any) -> Any:
        """Sets several params."""
        return set_params(self, values)

    common = ["featuresCol", "labelsCol", "predictionCol", "rawPredictionCol", "idCol", *(p.camel for p in FITTING)]
    keywords = [inspect.Parameter(key, inspect.Parameter.KEYWORD_ONLY, default=defaults.get(key)) for key in (*defaults, *common)]
    __init__.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter("self", inspect.Parameter.POSITIONAL_OR_KEYWORD), *keywords]
    )
    members = {
        "__doc__": f"{inspect.getdoc(made)}\n\nIts documentation: ``{made.__module__}``. Source: {made.source}.",
        "__module__": __name__,
        "__init__": __init__,
        "setParams": setParams,
        "_classifier": made.name,
    }
    out = type(made.__name__ + "Classifier", (_ClassifierEstimator,), members)
    declare(out, made.parameters)
    return out


ESTIMATORS: dict[str, type] = {name: _generate(made) for name, made in CLASSIFIERS.items()}
globals().update({made.__name__: made for made in ESTIMATORS.values()})


@dataclass(frozen=True)
class Apply:
    """Labels and scores as vector columns."""

    prediction: str
    raw: str

    def __call__(self, labels: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
        return {self.prediction: labels.astype(np.float64), self.raw: scores}


@dataclass(frozen=True)
class Predicted:
    """Columns made of a predictor's labels and scores, as `map_rows` calls them."""

    predictor: Predictor
    columns: Any

    def __call__(self, x: np.ndarray | sp.csr_matrix) -> dict[str, Any]:
        return self.columns(*self.predictor.predict(x))


@dataclass(frozen=True)
class AfterVote:
    """The same from the nearest training rows, as `map_against` calls it."""

    predictor: NeighbourVote
    columns: Any

    def __call__(self, best: Any) -> dict[str, Any]:
        return self.columns(*self.predictor.vote(label_counts(best, self.predictor.state["y"].astype(np.float64))))


class MultiLabelClassificationModel(StateModel, _Outputs):
    """A fitted classifier: adds the predicted labels and their scores to a frame.

    predictionCol : multi-hot vector of the predicted labels, their names in its metadata
    rawPredictionCol : vector of the labels' scores (ML-kNN: posterior probability; SVM: decision value), larger is likelier
    labelNames, featureNames : of the training data; a frame whose features have these names in another order is understood
    """

    def __init__(self) -> None:
        super().__init__()
        self._set_outputs()

    @staticmethod
    def of(state: State, extra: dict[str, Any]) -> MultiLabelClassificationModel:
        model = MultiLabelClassificationModel()
        model.state, model._extra = state, extra
        return model

    def predictor(self) -> Predictor:
        """The NumPy prediction, for use outside Spark: ``model.predictor().predict(x)``."""
        return CLASSIFIERS.create(self._extra["classifier"]).predictor(self.state)

    def _columns(self, dataset: DataFrame, columns: Any, outputs: dict[str, str]) -> DataFrame:
        """`dataset` with what `columns` makes of the predictions of its rows."""
        predictor, places = self.predictor(), self._places(dataset)
        if isinstance(predictor, NeighbourVote) and predictor.nbytes > BROADCAST_BYTES:
            if self._blocks is None:
                self._blocks = training_blocks(dataset.sparkSession, self.state["x"])
            light = type(predictor)({name: value for name, value in self.state.items() if name != "x"})
            return map_against(
                dataset, self.getFeaturesCol(), self.numFeatures, places, self._blocks, light.rows, light.stored, self.state["k"],
                AfterVote(light, columns), outputs,
            )  # fmt: skip
        return map_rows(dataset, self.getFeaturesCol(), self.numFeatures, Predicted(predictor, columns), outputs, places)

    _blocks: DataFrame | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_blocks"}

    def copy(self, extra: Any = None) -> Any:
        copied = super().copy(extra)
        copied._blocks = self._blocks
        return copied

    def _transform(self, dataset: DataFrame) -> DataFrame:
        prediction, raw = self.getPredictionCol(), self.getRawPredictionCol()
        out = self._columns(dataset, Apply(prediction, raw), {prediction: "vector", raw: "vector"})
        return with_names(with_names(out, prediction, self.labelNames), raw, self.labelNames)

    def tagged(
        self, dataset: DataFrame, top_n: int | None = None, threshold: float | None = None, all_scores: bool = False
    ) -> DataFrame:
        """`dataset` with ``tags`` (array<string>) and their ``scores`` (array<double>), best first: the predicted labels, or the
        `top_n` best scores, or the labels that score at least `threshold`. `all_scores` adds rawPredictionCol as
        array<double>."""
        if top_n is not None and threshold is not None:
            raise ParameterError("give top_n or threshold, not both")
        if top_n is not None and not 1 <= top_n <= len(self.labelNames):
            raise ParameterError(f"top_n = {top_n}: there are {len(self.labelNames)} labels; give 1 to {len(self.labelNames)}")
        raw = self.getRawPredictionCol()
        outputs = {"__places__": "array<int>", "scores": "array<double>"} | ({raw: "array<double>"} if all_scores else {})
        for name in ("tags", "scores"):
            if name in dataset.columns:
                raise ParameterError(f"column {name!r} exists already; rename it first")
        out = self._columns(dataset, Tag(top_n, threshold, raw), outputs)
        names = F.array(*(F.lit(name) for name in self.labelNames))
        tags = F.transform("__places__", lambda place: F.element_at(names, place + 1))
        return out.withColumn("tags", tags).drop("__places__")


@dataclass(frozen=True)
class Tag:
    """The chosen labels of each row and their scores as arrays, best first."""

    top_n: int | None
    threshold: float | None
    raw: str

    def __call__(self, labels: np.ndarray, scores: np.ndarray) -> dict[str, Any]:
        order = np.argsort(-scores, axis=1, kind="stable")  # ties by label index
        if self.top_n is not None:
            chosen = np.zeros(scores.shape, bool)
            chosen[:, : self.top_n] = True
        else:
            wanted = labels > 0 if self.threshold is None else scores >= self.threshold
            chosen = np.take_along_axis(wanted, order, axis=1)
        counts = chosen.sum(axis=1)
        return {
            "__places__": (order[chosen].astype(np.int32), counts),
            "scores": (np.take_along_axis(scores, order, axis=1)[chosen], counts),
            self.raw: scores,
        }


__all__ = ["MultiLabelClassificationModel", *sorted(made.__name__ for made in ESTIMATORS.values())]
