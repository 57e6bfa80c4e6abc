"""An estimator for every extractor.

Written by ``python -m spark_mlfs.ml.generate``: change the extractors, not this file.
"""

# fmt: off
# ruff: noqa: E501, E701
from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from pyspark.ml.param import Param

from .extractors import ESTIMATORS, ExtractorEstimator
from .params import keyword_only

if TYPE_CHECKING:
    from typing_extensions import Self


class LIFTExtractor(ExtractorEstimator, entry="lift"):
    """Distances to cluster centres of each label's positive and negative rows.

    Extractor 'lift', documented in ``spark_mlfs.extract.lift``. Source: Zhang & Wu 2015.

    Parameters
    ----------
    ratio : float, default 0.1
        centres a side, as a share of the smaller side's rows (a number from above 0 to 1)
    maxIter : int, default 50
        iterations of k-means at most (a whole number, at least 1)
    seed : int, default 0
        seed of the first centres (a whole number from 0 to 2147483647)
    scaling : {"standard", "minmax", "none"}, default "standard"
        what is done to the features first
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "extracted"
        vector of the extracted features, their names in its metadata
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
        self, *, ratio: float = 0.1, maxIter: int = 50, seed: int = 0,
        scaling: Literal["standard", "minmax", "none"] = "standard", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "extracted", idCol: str | None = None, labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto",
        driverBytes: int = 1073741824, workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, ratio: float = 0.1, maxIter: int = 50, seed: int = 0,
        scaling: Literal["standard", "minmax", "none"] = "standard", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "extracted", idCol: str | None = None, labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto",
        driverBytes: int = 1073741824, workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    ratio: Param[float]
    def getRatio(self) -> float: return self.getOrDefault(self.ratio)
    def setRatio(self, value: float) -> Self: return self._set(ratio=value)
    maxIter: Param[int]
    def getMaxIter(self) -> int: return self.getOrDefault(self.maxIter)
    def setMaxIter(self, value: int) -> Self: return self._set(maxIter=value)
    seed: Param[int]
    def getSeed(self) -> int: return self.getOrDefault(self.seed)
    def setSeed(self, value: int) -> Self: return self._set(seed=value)
    scaling: Param[Literal["standard", "minmax", "none"]]
    def getScaling(self) -> Literal["standard", "minmax", "none"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["standard", "minmax", "none"]) -> Self: return self._set(scaling=value)


class LIFTRSMExtractor(ExtractorEstimator, entry="lift-rsm"):
    """Label-specific features reduced under pairwise constraints in random subspaces.

    Extractor 'lift-rsm', documented in ``spark_mlfs.extract.lift_rsm``. Source: Zhang, Li & Li 2018.

    Parameters
    ----------
    ratio : float, default 0.2
        centres a side, as a share of the smaller side's rows (a number from above 0 to 1)
    subspaces : int, default 10
        random subspaces T (a whole number, at least 1)
    width : int, default 20
        columns of a subspace P (a whole number, at least 1)
    alpha : float, default 0.05
        weight of the between-class neighbours (a number, at least 0)
    beta : float, default 0.05
        weight of the neighbours (a number, at least 0)
    thr : float, default 0.95
        share of the eigenvalue sum that is kept (a number from above 0 to 1)
    whiten : bool, default False
        extracted features of unit variance over the training rows, as linear machines need
    maxIter : int, default 50
        iterations of k-means at most (a whole number, at least 1)
    seed : int, default 0
        seed of the first centres (a whole number from 0 to 2147483647)
    scaling : {"standard", "minmax", "none"}, default "standard"
        what is done to the features first
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "extracted"
        vector of the extracted features, their names in its metadata
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
        self, *, ratio: float = 0.2, subspaces: int = 10, width: int = 20, alpha: float = 0.05, beta: float = 0.05,
        thr: float = 0.95, whiten: bool = False, maxIter: int = 50, seed: int = 0,
        scaling: Literal["standard", "minmax", "none"] = "standard", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "extracted", idCol: str | None = None, labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto",
        driverBytes: int = 1073741824, workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, ratio: float = 0.2, subspaces: int = 10, width: int = 20, alpha: float = 0.05, beta: float = 0.05,
        thr: float = 0.95, whiten: bool = False, maxIter: int = 50, seed: int = 0,
        scaling: Literal["standard", "minmax", "none"] = "standard", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "extracted", idCol: str | None = None, labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto",
        driverBytes: int = 1073741824, workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    ratio: Param[float]
    def getRatio(self) -> float: return self.getOrDefault(self.ratio)
    def setRatio(self, value: float) -> Self: return self._set(ratio=value)
    subspaces: Param[int]
    def getSubspaces(self) -> int: return self.getOrDefault(self.subspaces)
    def setSubspaces(self, value: int) -> Self: return self._set(subspaces=value)
    width: Param[int]
    def getWidth(self) -> int: return self.getOrDefault(self.width)
    def setWidth(self, value: int) -> Self: return self._set(width=value)
    alpha: Param[float]
    def getAlpha(self) -> float: return self.getOrDefault(self.alpha)
    def setAlpha(self, value: float) -> Self: return self._set(alpha=value)
    beta: Param[float]
    def getBeta(self) -> float: return self.getOrDefault(self.beta)
    def setBeta(self, value: float) -> Self: return self._set(beta=value)
    thr: Param[float]
    def getThr(self) -> float: return self.getOrDefault(self.thr)
    def setThr(self, value: float) -> Self: return self._set(thr=value)
    whiten: Param[bool]
    def getWhiten(self) -> bool: return self.getOrDefault(self.whiten)
    def setWhiten(self, value: bool) -> Self: return self._set(whiten=value)
    maxIter: Param[int]
    def getMaxIter(self) -> int: return self.getOrDefault(self.maxIter)
    def setMaxIter(self, value: int) -> Self: return self._set(maxIter=value)
    seed: Param[int]
    def getSeed(self) -> int: return self.getOrDefault(self.seed)
    def setSeed(self, value: int) -> Self: return self._set(seed=value)
    scaling: Param[Literal["standard", "minmax", "none"]]
    def getScaling(self) -> Literal["standard", "minmax", "none"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["standard", "minmax", "none"]) -> Self: return self._set(scaling=value)


class MDDMExtractor(ExtractorEstimator, entry="mddm"):
    """Projection of maximum dependence on the labels.

    Extractor 'mddm', documented in ``spark_mlfs.extract.mddm``. Source: Zhang & Zhou 2010.

    Parameters
    ----------
    variant : {"p", "f"}, default "p"
        orthonormal projection, or uncorrelated features
    mu : float, default 0.5
        weight of the features' covariance in the constraint (f) (a number from 0 to 1)
    dim : int | None, default None
        extracted features; None: as many as labels, at most the rank (a whole number, at least 1, or None)
    scaling : {"standard", "minmax", "none"}, default "standard"
        what is done to the features first
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "extracted"
        vector of the extracted features, their names in its metadata
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
        self, *, variant: Literal["p", "f"] = "p", mu: float = 0.5, dim: int | None = None,
        scaling: Literal["standard", "minmax", "none"] = "standard", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "extracted", idCol: str | None = None, labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto",
        driverBytes: int = 1073741824, workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, variant: Literal["p", "f"] = "p", mu: float = 0.5, dim: int | None = None,
        scaling: Literal["standard", "minmax", "none"] = "standard", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "extracted", idCol: str | None = None, labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto",
        driverBytes: int = 1073741824, workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    variant: Param[Literal["p", "f"]]
    def getVariant(self) -> Literal["p", "f"]: return self.getOrDefault(self.variant)
    def setVariant(self, value: Literal["p", "f"]) -> Self: return self._set(variant=value)
    mu: Param[float]
    def getMu(self) -> float: return self.getOrDefault(self.mu)
    def setMu(self, value: float) -> Self: return self._set(mu=value)
    dim: Param[int | None]
    def getDim(self) -> int | None: return self.getOrDefault(self.dim)
    def setDim(self, value: int | None) -> Self: return self._set(dim=value)
    scaling: Param[Literal["standard", "minmax", "none"]]
    def getScaling(self) -> Literal["standard", "minmax", "none"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["standard", "minmax", "none"]) -> Self: return self._set(scaling=value)


class MLSIExtractor(ExtractorEstimator, entry="mlsi"):
    """Latent features that keep both the inputs and the labels.

    Extractor 'mlsi', documented in ``spark_mlfs.extract.mlsi``. Source: Yu, Yu & Tresp 2005.

    Parameters
    ----------
    beta : float, default 0.5
        weight of the labels against the features (a number from 0 to 1)
    gamma : float, default 1.0
        ridge of the constraint (a number above 0)
    dim : int, default 50
        extracted features, at most as many as there are (a whole number, at least 1)
    scaling : {"standard", "minmax", "none"}, default "standard"
        what is done to the features first
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "extracted"
        vector of the extracted features, their names in its metadata
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
        self, *, beta: float = 0.5, gamma: float = 1.0, dim: int = 50,
        scaling: Literal["standard", "minmax", "none"] = "standard", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "extracted", idCol: str | None = None, labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto",
        driverBytes: int = 1073741824, workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, beta: float = 0.5, gamma: float = 1.0, dim: int = 50,
        scaling: Literal["standard", "minmax", "none"] = "standard", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "extracted", idCol: str | None = None, labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto",
        driverBytes: int = 1073741824, workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    beta: Param[float]
    def getBeta(self) -> float: return self.getOrDefault(self.beta)
    def setBeta(self, value: float) -> Self: return self._set(beta=value)
    gamma: Param[float]
    def getGamma(self) -> float: return self.getOrDefault(self.gamma)
    def setGamma(self, value: float) -> Self: return self._set(gamma=value)
    dim: Param[int]
    def getDim(self) -> int: return self.getOrDefault(self.dim)
    def setDim(self, value: int) -> Self: return self._set(dim=value)
    scaling: Param[Literal["standard", "minmax", "none"]]
    def getScaling(self) -> Literal["standard", "minmax", "none"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["standard", "minmax", "none"]) -> Self: return self._set(scaling=value)


class MLNBExtractor(ExtractorEstimator, entry="mlnb"):
    """Principal components chosen by a genetic search for naive Bayes.

    Extractor 'mlnb', documented in ``spark_mlfs.extract.mlnb``. Source: Zhang, Peña & Robles 2009.

    Parameters
    ----------
    share : float, default 0.3
        principal components kept, as a share of the features (a number from above 0 to 1)
    population : int, default 20
        bit strings (a whole number, at least 2)
    generations : int, default 100
        generations (a whole number, at least 1)
    folds : int, default 10
        folds the loss is a mean of (a whole number from 2 to 60)
    seed : int, default 0
        seed of the search (a whole number from 0 to 2147483647)
    scaling : {"standard", "minmax", "none"}, default "standard"
        what is done to the features first
    featuresCol : str, default "features"
        vector or array<number> column, sparse or dense
    labelsCol : str, default "labels"
        multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1; null or NaN is unknown
    outputCol : str, default "extracted"
        vector of the extracted features, their names in its metadata
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
        self, *, share: float = 0.3, population: int = 20, generations: int = 100, folds: int = 10, seed: int = 0,
        scaling: Literal["standard", "minmax", "none"] = "standard", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "extracted", idCol: str | None = None, labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto",
        driverBytes: int = 1073741824, workerBytes: int = 1073741824,
    ) -> None:
        super().__init__()
        self._set(**self._input_kwargs)

    @keyword_only
    def setParams(
        self, *, share: float = 0.3, population: int = 20, generations: int = 100, folds: int = 10, seed: int = 0,
        scaling: Literal["standard", "minmax", "none"] = "standard", featuresCol: str = "features", labelsCol: str = "labels",
        outputCol: str = "extracted", idCol: str | None = None, labelsForm: Literal["auto", "tags", "ids", "multihot"] = "auto",
        driverBytes: int = 1073741824, workerBytes: int = 1073741824,
    ) -> Self:
        """Sets several params: those that are passed."""
        return self._set(**self._input_kwargs)

    share: Param[float]
    def getShare(self) -> float: return self.getOrDefault(self.share)
    def setShare(self, value: float) -> Self: return self._set(share=value)
    population: Param[int]
    def getPopulation(self) -> int: return self.getOrDefault(self.population)
    def setPopulation(self, value: int) -> Self: return self._set(population=value)
    generations: Param[int]
    def getGenerations(self) -> int: return self.getOrDefault(self.generations)
    def setGenerations(self, value: int) -> Self: return self._set(generations=value)
    folds: Param[int]
    def getFolds(self) -> int: return self.getOrDefault(self.folds)
    def setFolds(self, value: int) -> Self: return self._set(folds=value)
    seed: Param[int]
    def getSeed(self) -> int: return self.getOrDefault(self.seed)
    def setSeed(self, value: int) -> Self: return self._set(seed=value)
    scaling: Param[Literal["standard", "minmax", "none"]]
    def getScaling(self) -> Literal["standard", "minmax", "none"]: return self.getOrDefault(self.scaling)
    def setScaling(self, value: Literal["standard", "minmax", "none"]) -> Self: return self._set(scaling=value)


__all__ = [
    "LIFTExtractor", "LIFTRSMExtractor", "MDDMExtractor", "MLNBExtractor", "MLSIExtractor",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> type:
        """The class of an entry from outside, made when it is first asked for."""
        return ESTIMATORS.named(name)
