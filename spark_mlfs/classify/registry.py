"""Name to classifier, one explicit line each."""

from __future__ import annotations

from difflib import get_close_matches

from ..errors import ParameterError
from .base import Classifier
from .chain import ClassifierChain
from .knn import BRkNN, MLkNN
from .svm import BRSVM

CLASSIFIERS: dict[str, type[Classifier]] = {each.name: each for each in (MLkNN, BRkNN, BRSVM, ClassifierChain)}


def classifier(name: str) -> Classifier:
    """The classifier of that name; `ParameterError` lists the valid ones."""
    if name in CLASSIFIERS:
        return CLASSIFIERS[name]()
    near = get_close_matches(str(name), CLASSIFIERS, n=1)
    hint = f"did you mean {near[0]!r}? " if near else ""
    raise ParameterError(f"there is no classifier {name!r}; {hint}classifiers are {', '.join(CLASSIFIERS)}")
