"""An estimator for every classifier, typed: written by ``python conf/developers/generate.py``."""

# fmt: off
# ruff: noqa: E501
from typing import Literal, TypedDict

from pyspark.ml.param import Param
from typing_extensions import Self, Unpack

from .classifiers import ClassifierEstimator

class _Common(TypedDict, total=False):
    featuresCol: str
    labelsCol: str
    predictionCol: str
    rawPredictionCol: str
    idCol: str | None
    labelsForm: Literal['auto', 'tags', 'ids', 'multihot']
    driverBytes: int
    workerBytes: int

class _K:
    k: Param[int]
    def getK(self) -> int: ...
    def setK(self, value: int) -> Self: ...
class _S:
    s: Param[float]
    def getS(self) -> float: ...
    def setS(self, value: float) -> Self: ...
class _Scaling:
    scaling: Param[Literal['none', 'standard', 'minmax']]
    def getScaling(self) -> Literal['none', 'standard', 'minmax']: ...
    def setScaling(self, value: Literal['none', 'standard', 'minmax']) -> Self: ...
class _C:
    c: Param[float]
    def getC(self) -> float: ...
    def setC(self, value: float) -> Self: ...
class _MaxIter:
    maxIter: Param[int]
    def getMaxIter(self) -> int: ...
    def setMaxIter(self, value: int) -> Self: ...
class _Tol:
    tol: Param[float]
    def getTol(self) -> float: ...
    def setTol(self, value: float) -> Self: ...
class _Seed:
    seed: Param[int]
    def getSeed(self) -> int: ...
    def setSeed(self, value: int) -> Self: ...
class _LabelSpecific:
    labelSpecific: Param[bool]
    def getLabelSpecific(self) -> bool: ...
    def setLabelSpecific(self, value: bool) -> Self: ...
class _Scores:
    scores: Param[Literal['decision', 'calibrated']]
    def getScores(self) -> Literal['decision', 'calibrated']: ...
    def setScores(self, value: Literal['decision', 'calibrated']) -> Self: ...
class _Base:
    base: Param[Literal['svm', 'knn']]
    def getBase(self) -> Literal['svm', 'knn']: ...
    def setBase(self, value: Literal['svm', 'knn']) -> Self: ...
class _Order:
    order: Param[Literal['random', 'frequency', 'index']]
    def getOrder(self) -> Literal['random', 'frequency', 'index']: ...
    def setOrder(self, value: Literal['random', 'frequency', 'index']) -> Self: ...

class MLkNNClassifier(_K, _S, _Scaling, ClassifierEstimator, entry="mlknn"):
    """Maximum a posteriori label from how many of the k nearest training rows have it."""
    def __init__(
        self, *, k: int = 10, s: float = 1.0, scaling: Literal['none', 'standard', 'minmax'] = "none", **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, k: int = 10, s: float = 1.0, scaling: Literal['none', 'standard', 'minmax'] = "none", **common: Unpack[_Common],
    ) -> Self: ...
class BRkNNClassifier(_K, _Scaling, ClassifierEstimator, entry="brknn"):
    """Majority vote of the k nearest training rows, label by label."""
    def __init__(
        self, *, k: int = 3, scaling: Literal['none', 'standard', 'minmax'] = "none", **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, k: int = 3, scaling: Literal['none', 'standard', 'minmax'] = "none", **common: Unpack[_Common],
    ) -> Self: ...
class BRSVMClassifier(_C, _MaxIter, _Tol, _Seed, _LabelSpecific, _Scores, _Scaling, ClassifierEstimator, entry="br-svm"):
    """A linear support vector machine per label."""
    def __init__(
        self, *, c: float = 1.0, maxIter: int = 10000, tol: float = 0.0001, seed: int = 0, labelSpecific: bool = False,
        scores: Literal['decision', 'calibrated'] = "decision", scaling: Literal['none', 'standard', 'minmax'] = "none",
        **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, c: float = 1.0, maxIter: int = 10000, tol: float = 0.0001, seed: int = 0, labelSpecific: bool = False,
        scores: Literal['decision', 'calibrated'] = "decision", scaling: Literal['none', 'standard', 'minmax'] = "none",
        **common: Unpack[_Common],
    ) -> Self: ...
class ClassifierChainClassifier(_Base, _Order, _K, _C, _MaxIter, _Tol, _Seed, _Scaling, ClassifierEstimator, entry="cc"):
    """A chain of linear support vector machines or of nearest-neighbour votes."""
    def __init__(
        self, *, base: Literal['svm', 'knn'] = "svm", order: Literal['random', 'frequency', 'index'] = "random", k: int = 3,
        c: float = 1.0, maxIter: int = 10000, tol: float = 0.0001, seed: int = 0,
        scaling: Literal['none', 'standard', 'minmax'] = "none", **common: Unpack[_Common],
    ) -> None: ...
    def setParams(
        self, *, base: Literal['svm', 'knn'] = "svm", order: Literal['random', 'frequency', 'index'] = "random", k: int = 3,
        c: float = 1.0, maxIter: int = 10000, tol: float = 0.0001, seed: int = 0,
        scaling: Literal['none', 'standard', 'minmax'] = "none", **common: Unpack[_Common],
    ) -> Self: ...
