"""An estimator on arrays for every classifier.

Written by ``python -m spark_mlfs.ml.generate``: change the classifiers, not this file.
"""

# fmt: off
# ruff: noqa: E501, E701
from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from .classifiers import ESTIMATORS, ClassifierOfArrays


class MLkNNClassifier(ClassifierOfArrays, entry="mlknn"):
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
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, k: int = 10, s: float = 1.0, scaling: Literal["none", "standard", "minmax"] = "none",
        memory_bytes: int | None = None,
    ) -> None:
        self.k = k
        self.s = s
        self.scaling = scaling
        self.memory_bytes = memory_bytes


class BRkNNClassifier(ClassifierOfArrays, entry="brknn"):
    """Majority vote of the k nearest training rows, label by label.

    Classifier 'brknn', documented in ``spark_mlfs.classify.knn``. Source: Spyromitros, Tsoumakas & Vlahavas 2008.

    Parameters
    ----------
    k : int, default 3
        neighbours (a whole number, at least 1)
    scaling : {"none", "standard", "minmax"}, default "none"
        what is done to the features first
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, k: int = 3, scaling: Literal["none", "standard", "minmax"] = "none", memory_bytes: int | None = None,
    ) -> None:
        self.k = k
        self.scaling = scaling
        self.memory_bytes = memory_bytes


class BRSVMClassifier(ClassifierOfArrays, entry="br-svm"):
    """A linear support vector machine per label.

    Classifier 'br-svm', documented in ``spark_mlfs.classify.svm``. Source: Fan et al. 2008 (LIBLINEAR).

    Parameters
    ----------
    c : float, default 1.0
        weight of the loss against the penalty ½‖w‖² (a number above 0)
    max_iter : int, default 10000
        iterations of the solver, at most (a whole number, at least 1)
    tol : float, default 0.0001
        the solver's stopping tolerance (a number above 0)
    seed : int, default 0
        seed of the solver's draws (a whole number from 0 to 2147483647)
    label_specific : bool, default False
        each machine sees the features an extractor (lift, lift-rsm) made for its label
    scores : {"decision", "calibrated"}, default "decision"
        decision values, or Platt's probabilities
    scaling : {"none", "standard", "minmax"}, default "none"
        what is done to the features first
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, c: float = 1.0, max_iter: int = 10000, tol: float = 0.0001, seed: int = 0, label_specific: bool = False,
        scores: Literal["decision", "calibrated"] = "decision", scaling: Literal["none", "standard", "minmax"] = "none",
        memory_bytes: int | None = None,
    ) -> None:
        self.c = c
        self.max_iter = max_iter
        self.tol = tol
        self.seed = seed
        self.label_specific = label_specific
        self.scores = scores
        self.scaling = scaling
        self.memory_bytes = memory_bytes


class ClassifierChainClassifier(ClassifierOfArrays, entry="cc"):
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
    max_iter : int, default 10000
        iterations of the solver, at most (a whole number, at least 1)
    tol : float, default 0.0001
        the solver's stopping tolerance (a number above 0)
    seed : int, default 0
        seed of the solver's draws (a whole number from 0 to 2147483647)
    scaling : {"none", "standard", "minmax"}, default "none"
        what is done to the features first
    memory_bytes : int | None, default None
        bytes that rows and statistics may take together; None: three quarters of this machine's memory (a whole number, at
        least 1048576, or None)
    """

    def __init__(
        self, *, base: Literal["svm", "knn"] = "svm", order: Literal["random", "frequency", "index"] = "random", k: int = 3,
        c: float = 1.0, max_iter: int = 10000, tol: float = 0.0001, seed: int = 0,
        scaling: Literal["none", "standard", "minmax"] = "none", memory_bytes: int | None = None,
    ) -> None:
        self.base = base
        self.order = order
        self.k = k
        self.c = c
        self.max_iter = max_iter
        self.tol = tol
        self.seed = seed
        self.scaling = scaling
        self.memory_bytes = memory_bytes


__all__ = [
    "BRSVMClassifier", "BRkNNClassifier", "ClassifierChainClassifier", "MLkNNClassifier",
]


if not TYPE_CHECKING:

    def __getattr__(name: str) -> type:
        """The class of an entry from outside, made when it is first asked for."""
        return ESTIMATORS.named(name)
