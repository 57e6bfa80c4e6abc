"""An estimator on arrays for every extractor.

Written by ``python -m spark_mlfs.ml.generate``: change the extractors, not this file.
"""

# fmt: off
# ruff: noqa: E501, E701
from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .extractors import ESTIMATORS, ExtractorOfArrays


class LIFTExtractor(ExtractorOfArrays, entry="lift"):
    """Distances to cluster centres of each label's positive and negative rows.

    Extractor 'lift', documented in ``spark_mlfs.extract.lift``. Source: Zhang & Wu 2015.

    Parameters
    ----------
    ratio : float, default 0.1
        centres a side, as a share of the smaller side's rows (a number from above 0 to 1)
    max_iter : int, default 50
        iterations of k-means at most (a whole number, at least 1)
    seed : int, default 0
        seed of the first centres (a whole number from 0 to 2147483647)
    scaling : {"standard", "minmax", "none"}, default "standard"
        what is done to the features first
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, ratio: float = 0.1, max_iter: int = 50, seed: int = 0,
        scaling: Literal["standard", "minmax", "none"] = "standard", memory_bytes: int | None = None,
    ) -> None:
        self.ratio = ratio
        self.max_iter = max_iter
        self.seed = seed
        self.scaling = scaling
        self.memory_bytes = memory_bytes


class LIFTRSMExtractor(ExtractorOfArrays, entry="lift-rsm"):
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
    max_iter : int, default 50
        iterations of k-means at most (a whole number, at least 1)
    seed : int, default 0
        seed of the first centres (a whole number from 0 to 2147483647)
    scaling : {"standard", "minmax", "none"}, default "standard"
        what is done to the features first
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, ratio: float = 0.2, subspaces: int = 10, width: int = 20, alpha: float = 0.05, beta: float = 0.05,
        thr: float = 0.95, whiten: bool = False, max_iter: int = 50, seed: int = 0,
        scaling: Literal["standard", "minmax", "none"] = "standard", memory_bytes: int | None = None,
    ) -> None:
        self.ratio = ratio
        self.subspaces = subspaces
        self.width = width
        self.alpha = alpha
        self.beta = beta
        self.thr = thr
        self.whiten = whiten
        self.max_iter = max_iter
        self.seed = seed
        self.scaling = scaling
        self.memory_bytes = memory_bytes


class MDDMExtractor(ExtractorOfArrays, entry="mddm"):
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
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, variant: Literal["p", "f"] = "p", mu: float = 0.5, dim: int | None = None,
        scaling: Literal["standard", "minmax", "none"] = "standard", memory_bytes: int | None = None,
    ) -> None:
        self.variant = variant
        self.mu = mu
        self.dim = dim
        self.scaling = scaling
        self.memory_bytes = memory_bytes


class MLSIExtractor(ExtractorOfArrays, entry="mlsi"):
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
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, beta: float = 0.5, gamma: float = 1.0, dim: int = 50,
        scaling: Literal["standard", "minmax", "none"] = "standard", memory_bytes: int | None = None,
    ) -> None:
        self.beta = beta
        self.gamma = gamma
        self.dim = dim
        self.scaling = scaling
        self.memory_bytes = memory_bytes


class MLNBExtractor(ExtractorOfArrays, entry="mlnb"):
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
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, share: float = 0.3, population: int = 20, generations: int = 100, folds: int = 10, seed: int = 0,
        scaling: Literal["standard", "minmax", "none"] = "standard", memory_bytes: int | None = None,
    ) -> None:
        self.share = share
        self.population = population
        self.generations = generations
        self.folds = folds
        self.seed = seed
        self.scaling = scaling
        self.memory_bytes = memory_bytes


__all__ = [
    "LIFTExtractor", "LIFTRSMExtractor", "MDDMExtractor", "MLNBExtractor", "MLSIExtractor",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> type:
        """The class of an entry from outside, made when it is first asked for."""
        return ESTIMATORS.named(name)
