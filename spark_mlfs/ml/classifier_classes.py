"""An estimator for every classifier.

Written by ``python -m spark_mlfs.ml.generate``: change the classifiers, not this file.
"""

# fmt: off
# ruff: noqa: E501, E701
from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pyspark.ml.param import Param

from .classifiers import ESTIMATORS, ClassifierEstimator
from .params import keyword_only

if TYPE_CHECKING:
    from typing_extensions import Self


class MLkNNClassifier(ClassifierEstimator, entry="mlknn"):
    """Maximum a posteriori label from how many of the k nearest training rows have it.

    Classifier 'mlknn', documented in ``spark_mlfs.classify.knn``. Source: Zhang & Zhou 2007.

    Parameters
    ----------
    k : int, default 10
        neighbours (a whole number, at least 1)
    s : float, default 1.0
        smoothing of the counts (a number above 0)
    scaling : {"none", "standard", "minmax"}, default "none"
        what is done to the features first
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    predictionCol : str, default "prediction"
        multi-hot vector of the predicted labels, their names in its metadata
    rawPredictionCol : str, default "rawPrediction"
        vector of the labels' scores, larger is likelier
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, k: int = 10, s: float = 1.0, scaling: Literal["none", "standard", "minmax"] = "none",
        featuresCol: str = "features", labelsCol: str = "labels", predictionCol: str = "prediction",
        rawPredictionCol: str = "rawPrediction", idCol: str | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, k: int = 10, s: float = 1.0, scaling: Literal["none", "standard", "minmax"] = "none",
        featuresCol: str = "features", labelsCol: str = "labels", predictionCol: str = "prediction",
        rawPredictionCol: str = "rawPrediction", idCol: str | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    k: Param[int]
    def getK(self) -> int: return self.getOrDefault(self.k)
    def setK(self, value: int) -> Self: return self._set(k=value)
    s: Param[float]
    def getS(self) -> float: return self.getOrDefault(self.s)
    def setS(self, value: float) -> Self: return self._set(s=value)
    scaling: Param[Literal["none", "standard", "minmax"]]
    def getScaling(self) -> Literal["none", "standard", "minmax"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["none", "standard", "minmax"]) -> Self: return self._set(scaling=value)


class BRkNNClassifier(ClassifierEstimator, entry="brknn"):
    """Majority vote of the k nearest training rows, label by label.

    Classifier 'brknn', documented in ``spark_mlfs.classify.knn``. Source: Spyromitros, Tsoumakas & Vlahavas 2008.

    Parameters
    ----------
    k : int, default 3
        neighbours (a whole number, at least 1)
    scaling : {"none", "standard", "minmax"}, default "none"
        what is done to the features first
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    predictionCol : str, default "prediction"
        multi-hot vector of the predicted labels, their names in its metadata
    rawPredictionCol : str, default "rawPrediction"
        vector of the labels' scores, larger is likelier
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, k: int = 3, scaling: Literal["none", "standard", "minmax"] = "none", featuresCol: str = "features",
        labelsCol: str = "labels", predictionCol: str = "prediction", rawPredictionCol: str = "rawPrediction",
        idCol: str | None = None, labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, k: int = 3, scaling: Literal["none", "standard", "minmax"] = "none", featuresCol: str = "features",
        labelsCol: str = "labels", predictionCol: str = "prediction", rawPredictionCol: str = "rawPrediction",
        idCol: str | None = None, labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    k: Param[int]
    def getK(self) -> int: return self.getOrDefault(self.k)
    def setK(self, value: int) -> Self: return self._set(k=value)
    scaling: Param[Literal["none", "standard", "minmax"]]
    def getScaling(self) -> Literal["none", "standard", "minmax"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["none", "standard", "minmax"]) -> Self: return self._set(scaling=value)


class BRSVMClassifier(ClassifierEstimator, entry="br-svm"):
    """A linear support vector machine per label.

    Classifier 'br-svm', documented in ``spark_mlfs.classify.svm``. Source: Fan et al. 2008 (LIBLINEAR).

    Parameters
    ----------
    c : float, default 1.0
        weight of the loss against the penalty ½‖w‖² (a number above 0)
    maxIter : int, default 10000
        iterations of the solver, at most (a whole number, at least 1)
    tol : float, default 0.0001
        the solver's stopping tolerance (a number above 0)
    seed : int, default 0
        seed of the solver's draws (a whole number from 0 to 2147483647)
    labelSpecific : bool, default False
        each machine sees the features an extractor (lift, lift-rsm) made for its label
    scores : {"decision", "calibrated"}, default "decision"
        decision values, or Platt's probabilities
    scaling : {"none", "standard", "minmax"}, default "none"
        what is done to the features first
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    predictionCol : str, default "prediction"
        multi-hot vector of the predicted labels, their names in its metadata
    rawPredictionCol : str, default "rawPrediction"
        vector of the labels' scores, larger is likelier
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, c: float = 1.0, maxIter: int = 10000, tol: float = 0.0001, seed: int = 0, labelSpecific: bool = False,
        scores: Literal["decision", "calibrated"] = "decision", scaling: Literal["none", "standard", "minmax"] = "none",
        featuresCol: str = "features", labelsCol: str = "labels", predictionCol: str = "prediction",
        rawPredictionCol: str = "rawPrediction", idCol: str | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, c: float = 1.0, maxIter: int = 10000, tol: float = 0.0001, seed: int = 0, labelSpecific: bool = False,
        scores: Literal["decision", "calibrated"] = "decision", scaling: Literal["none", "standard", "minmax"] = "none",
        featuresCol: str = "features", labelsCol: str = "labels", predictionCol: str = "prediction",
        rawPredictionCol: str = "rawPrediction", idCol: str | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    c: Param[float]
    def getC(self) -> float: return self.getOrDefault(self.c)
    def setC(self, value: float) -> Self: return self._set(c=value)
    maxIter: Param[int]
    def getMaxIter(self) -> int: return self.getOrDefault(self.maxIter)
    def setMaxIter(self, value: int) -> Self: return self._set(maxIter=value)
    tol: Param[float]
    def getTol(self) -> float: return self.getOrDefault(self.tol)
    def setTol(self, value: float) -> Self: return self._set(tol=value)
    seed: Param[int]
    def getSeed(self) -> int: return self.getOrDefault(self.seed)
    def setSeed(self, value: int) -> Self: return self._set(seed=value)
    labelSpecific: Param[bool]
    def getLabelSpecific(self) -> bool: return self.getOrDefault(self.labelSpecific)
    def setLabelSpecific(self, value: bool) -> Self: return self._set(labelSpecific=value)
    scores: Param[Literal["decision", "calibrated"]]
    def getScores(self) -> Literal["decision", "calibrated"]: return self.getOrDefault(self.scores)
    def setScores(self, value: Literal["decision", "calibrated"]) -> Self: return self._set(scores=value)
    scaling: Param[Literal["none", "standard", "minmax"]]
    def getScaling(self) -> Literal["none", "standard", "minmax"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["none", "standard", "minmax"]) -> Self: return self._set(scaling=value)


class ClassifierChainClassifier(ClassifierEstimator, entry="cc"):
    """A chain of linear support vector machines or of nearest-neighbour votes.

    Classifier 'cc', documented in ``spark_mlfs.classify.chain``. Source: Read, Pfahringer, Holmes & Frank 2009.

    Parameters
    ----------
    base : {"svm", "knn"}, default "svm"
        what predicts a label
    order : {"random", "frequency", "index"}, default "random"
        order of the labels in the chain
    k : int, default 3
        neighbours, with base knn (a whole number, at least 1)
    c : float, default 1.0
        weight of the loss against the penalty ½‖w‖² (a number above 0)
    maxIter : int, default 10000
        iterations of the solver, at most (a whole number, at least 1)
    tol : float, default 0.0001
        the solver's stopping tolerance (a number above 0)
    seed : int, default 0
        seed of the solver's draws (a whole number from 0 to 2147483647)
    scaling : {"none", "standard", "minmax"}, default "none"
        what is done to the features first
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    predictionCol : str, default "prediction"
        multi-hot vector of the predicted labels, their names in its metadata
    rawPredictionCol : str, default "rawPrediction"
        vector of the labels' scores, larger is likelier
    idCol : str | None, default None
        row id, unique and stable; without one a row is known by the hash of its content
    labelsForm : {"auto", "tags", "ids", "multihot"}, default "auto"
        how an array column holds the labels
    driverBytes : int, default 1073741824
        largest statistic the driver takes, in bytes (a whole number, at least 1048576)
    workerBytes : int, default 1073741824
        rows and statistics one worker process holds, in bytes (a whole number, at least 1048576)
    """

    @keyword_only
    def __init__(
        self, *, base: Literal["svm", "knn"] = "svm", order: Literal["random", "frequency", "index"] = "random", k: int = 3,
        c: float = 1.0, maxIter: int = 10000, tol: float = 0.0001, seed: int = 0,
        scaling: Literal["none", "standard", "minmax"] = "none", featuresCol: str = "features", labelsCol: str = "labels",
        predictionCol: str = "prediction", rawPredictionCol: str = "rawPrediction", idCol: str | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, base: Literal["svm", "knn"] = "svm", order: Literal["random", "frequency", "index"] = "random", k: int = 3,
        c: float = 1.0, maxIter: int = 10000, tol: float = 0.0001, seed: int = 0,
        scaling: Literal["none", "standard", "minmax"] = "none", featuresCol: str = "features", labelsCol: str = "labels",
        predictionCol: str = "prediction", rawPredictionCol: str = "rawPrediction", idCol: str | None = None,
        labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto", driverBytes: int = 1073741824,
        workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    base: Param[Literal["svm", "knn"]]
    def getBase(self) -> Literal["svm", "knn"]: return self.getOrDefault(self.base)
    def setBase(self, value: Literal["svm", "knn"]) -> Self: return self._set(base=value)
    order: Param[Literal["random", "frequency", "index"]]
    def getOrder(self) -> Literal["random", "frequency", "index"]: return self.getOrDefault(self.order)
    def setOrder(self, value: Literal["random", "frequency", "index"]) -> Self: return self._set(order=value)
    k: Param[int]
    def getK(self) -> int: return self.getOrDefault(self.k)
    def setK(self, value: int) -> Self: return self._set(k=value)
    c: Param[float]
    def getC(self) -> float: return self.getOrDefault(self.c)
    def setC(self, value: float) -> Self: return self._set(c=value)
    maxIter: Param[int]
    def getMaxIter(self) -> int: return self.getOrDefault(self.maxIter)
    def setMaxIter(self, value: int) -> Self: return self._set(maxIter=value)
    tol: Param[float]
    def getTol(self) -> float: return self.getOrDefault(self.tol)
    def setTol(self, value: float) -> Self: return self._set(tol=value)
    seed: Param[int]
    def getSeed(self) -> int: return self.getOrDefault(self.seed)
    def setSeed(self, value: int) -> Self: return self._set(seed=value)
    scaling: Param[Literal["none", "standard", "minmax"]]
    def getScaling(self) -> Literal["none", "standard", "minmax"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["none", "standard", "minmax"]) -> Self: return self._set(scaling=value)


__all__ = [
    "BRSVMClassifier", "BRkNNClassifier", "ClassifierChainClassifier", "MLkNNClassifier",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> type:
        """The class of an entry from outside, made when it is first asked for."""
        return ESTIMATORS.named(name)
