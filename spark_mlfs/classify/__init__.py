"""The classifiers; here one line each: the name users write, and where the class is."""

from __future__ import annotations

from ..registry import Registry
from .base import Classifier

CLASSIFIERS: Registry[Classifier] = Registry(
    "classifier",
    __name__,
    {
        "mlknn": "knn.MLkNN",
        "brknn": "knn.BRkNN",
        "br-svm": "svm.BRSVM",
        "logistic": "svm.Logistic",
        "cc": "svm.ClassifierChain",
    },
    of_extras={"plt": "trees.PLT"},
)
