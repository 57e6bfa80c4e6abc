"""An estimator for every classifier: `help` tells what each takes, and editors read the stub."""

# fmt: off
from __future__ import annotations

from .classifiers import ESTIMATORS, ClassifierEstimator


class MLkNNClassifier(ClassifierEstimator, entry="mlknn"): ...
class BRkNNClassifier(ClassifierEstimator, entry="brknn"): ...
class BRSVMClassifier(ClassifierEstimator, entry="br-svm"): ...
class ClassifierChainClassifier(ClassifierEstimator, entry="cc"): ...

__getattr__ = ESTIMATORS.named  # the class of an entry from outside, made when it is first asked for
