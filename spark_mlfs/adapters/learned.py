"""What was learned as arrays: the facts of a model of such a state, and a model of this process."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from ..blocks.codec import State
from ..classify import CLASSIFIERS
from ..classify.base import Predictor
from .rows import Fitted
from .saved import check_format, rows_here, whole_state


def learned_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the metadata of a saved model say of its training; `KeyError` or `ValueError` where they are damaged."""
    extra = dict(metadata["learned"])
    for name in ("feature_names", "label_names"):
        if not isinstance(extra[name], list):
            raise ValueError(f"{name} is no list")
    return extra


class Learned(Fitted):
    """A model whose learned part is `state`."""

    state: State

    @property
    def featureNames(self) -> list[str]:
        return list(self._extra["feature_names"])

    @property
    def labelNames(self) -> list[str]:
        return list(self._extra["label_names"])

    @property
    def numFeatures(self) -> int:
        return len(self._extra["feature_names"])

    @property
    def summary(self) -> dict[str, Any]:
        return {k: v for k, v in self._extra.items() if k not in ("feature_names", "label_names", "label_shares", "fill")}

    @property
    def labelShares(self) -> dict[str, float]:
        """The share of the training rows that have a label, by its name; empty of a model of format 2."""
        return dict(zip(self.labelNames, self._extra.get("label_shares", ()), strict=False))

    def reading(self, slots: Sequence[str] | None, column: str) -> tuple[Any, ...]:
        """Return how `FeatureCells` reads the training features of a column whose entries are called `slots`."""
        return self.numFeatures, self.places_in(slots, column), self.fill(), self.names_told(np.arange(self.numFeatures))

    def places_in(self, slots: Sequence[str] | None, column: str) -> np.ndarray | None:
        """Return where the training features are in such a column (`find`); None where they are in their order."""
        every = np.arange(self.numFeatures)
        places = self.find(every, slots, column)
        return None if places is every else places


class LocalClassifier(Learned):
    """A fitted classifier of this process, as the folder of a saved one has it; `metadata` are those that are saved there."""

    def __init__(self, path: str, metadata: Mapping[str, Any]) -> None:
        check_format(metadata, path)
        self.uid, self._extra = metadata["uid"], learned_of(metadata)
        self.state = whole_state(rows_here(path).to_dict("records"), f"{path}/data", metadata.get("data"))

    def predictor(self) -> Predictor:
        """Return the NumPy prediction."""
        return CLASSIFIERS.create(self._extra["classifier"]).predictor(self.state)
