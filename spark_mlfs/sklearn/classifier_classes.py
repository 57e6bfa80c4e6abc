"""An estimator for every classifier of tables in memory: `help` tells what each takes, and editors read the stub."""

# fmt: off
from __future__ import annotations

from .classifiers import ESTIMATORS, ClassifierOfArrays


class MLkNNClassifier(ClassifierOfArrays, entry="mlknn"): ...
class BRkNNClassifier(ClassifierOfArrays, entry="brknn"): ...
class BRSVMClassifier(ClassifierOfArrays, entry="br-svm"): ...
class ClassifierChainClassifier(ClassifierOfArrays, entry="cc"): ...

__getattr__ = ESTIMATORS.named  # the class of an entry from outside, made when it is first asked for
