"""An estimator for every classifier, typed: written by ``python conf/developers/generate.py``."""

# fmt: off
# ruff: noqa: E501, I001
from collections.abc import Sequence
from typing import Literal, TypedDict

from typing_extensions import Unpack

from .learners import ClassifierOfArrays

class _Common(TypedDict, total=False):
    missing: Literal['error', 'mean', 'zero', 'drop']
    memory_bytes: int | None
    classes: Sequence[object] | None


class MLkNNClassifier(ClassifierOfArrays, entry="mlknn"):
    """Maximum a posteriori label from how many of the k nearest training rows have it."""
    def __init__(self, *, k: int = 10, s: float = 1.0,
        scaling: Literal['none', 'standard', 'minmax'] = "none", **common: Unpack[_Common]) -> None: ...
class BRkNNClassifier(ClassifierOfArrays, entry="brknn"):
    """Majority vote of the k nearest training rows, label by label."""
    def __init__(self, *, k: int = 3, scaling: Literal['none', 'standard', 'minmax'] = "none",
        **common: Unpack[_Common]) -> None: ...
class BRSVMClassifier(ClassifierOfArrays, entry="br-svm"):
    """A linear support vector machine per label."""
    def __init__(self, *, c: float = 1.0, max_iter: int = 10000, tol: float = 0.0001, seed: int = 0,
        norm: Literal['auto', 'l2', 'none'] = "auto", label_specific: bool = False,
        scores: Literal['decision', 'calibrated'] = "decision",
        scaling: Literal['none', 'standard', 'minmax'] = "none", **common: Unpack[_Common]) -> None: ...
class LogisticClassifier(ClassifierOfArrays, entry="logistic"):
    """Logistic regression per label."""
    def __init__(self, *, c: float | None = None, max_iter: int = 10000, tol: float = 0.0001,
        seed: int = 0, norm: Literal['auto', 'l2', 'none'] = "auto",
        scaling: Literal['none', 'standard', 'minmax'] = "none", **common: Unpack[_Common]) -> None: ...
class ClassifierChainClassifier(ClassifierOfArrays, entry="cc"):
    """A chain of linear support vector machines or of nearest-neighbour votes."""
    def __init__(self, *, base: Literal['svm', 'knn'] = "svm",
        order: Literal['random', 'frequency', 'index'] = "random", k: int = 3, c: float = 1.0,
        max_iter: int = 10000, tol: float = 0.0001, seed: int = 0,
        norm: Literal['auto', 'l2', 'none'] = "auto",
        scaling: Literal['none', 'standard', 'minmax'] = "none", **common: Unpack[_Common]) -> None: ...
