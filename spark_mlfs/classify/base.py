"""The contract of a classifier: parameters, a fit on an engine, and a NumPy prediction.

A fit gives a state of arrays, from which rows are predicted.

The pyspark.ml classes (`ml.learners`), saving, names, jobs and checks are the base's business, as
for methods."""

from __future__ import annotations

from typing import Any

import numpy as np

from ..blocks.block import Block
from ..blocks.codec import State
from ..blocks.profile import Profile
from ..engine.base import Engine
from ..errors import DataError
from ..kernels.matrix import Matrix
from ..kernels.scaling import Scaling
from ..params import Choice, Parameter, Values
from ..registry import Entry

SCALING = Parameter(
    "scaling", "none", Choice(("none", "standard", "minmax")), "what is done to the features first"
)


class Classifier(Entry):
    """Base of every classifier."""

    def fit(self, engine: Engine, p: Values) -> State:
        """Learn a state: a dict of arrays, CSR matrices and plain values."""
        raise NotImplementedError

    def by_label(self, p: Values) -> bool:
        """Return whether the labels are trained apart from each other.

        They may be trained side by side then."""
        return False

    def probabilities(self, p: Values) -> bool:
        """Return whether the scores are in [0, 1], a label being predicted from about one half."""
        return False

    def predictor(self, state: State) -> Predictor:
        raise NotImplementedError


class Predictor:
    """`predict(x)` of raw features x (rows, d), dense or CSR: (labels (rows, q) uint8, scores
    (rows, q) float64). Picklable; what it derives from its state is made once a task."""

    def __init__(self, state: State) -> None:
        self.state = state

    def __getstate__(self) -> dict[str, Any]:
        return {"state": self.state}

    def scaled(self, x: Matrix, columns: np.ndarray | None = None) -> Matrix:
        """Return rows scaled as the training rows are, of their `columns` (None: all)."""
        return Scaling(self.state["offset"], self.state["scale"]).apply(x, columns)

    def predict(self, x: Matrix) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError


def refuse_unknown(profile: Profile) -> None:
    """Raise `DataError` where single labels of a row are unknown."""
    if profile.unknown.any():
        label = int(np.flatnonzero(profile.unknown)[0])
        raise DataError(
            f"label {label} is unknown (NaN) in {int(profile.unknown[label])} rows whose other "
            "labels are known; a classifier needs fully known rows: drop these rows, or drop the "
            "label"
        )


def known_rows(block: Block, profile: Profile) -> Block:
    """Return the rows whose labels are all known, without those with a null label cell.

    `DataError` where single labels are unknown."""
    refuse_unknown(profile)
    if block.unlabelled is None or not len(block.unlabelled):
        return block
    return block.take(np.setdiff1d(np.arange(block.n), block.unlabelled))
