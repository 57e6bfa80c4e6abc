"""The contract of a classifier: parameters, a fit on an engine, and a NumPy prediction.

A fit gives a state of arrays, from which rows are predicted.

The pyspark.ml classes (`ml.learners`), saving, names, jobs and checks are the base's business, as
for methods."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, ClassVar

import numpy as np

from ..blocks.block import Block
from ..blocks.codec import State
from ..blocks.profile import Profile
from ..engine.base import Engine
from ..errors import DataError, quantity
from ..kernels.matrix import Matrix
from ..kernels.scaling import Scaling, unit_rows
from ..kernels.terms import LargestTerms
from ..params import Choice, Parameter, Values
from ..registry import Entry

CELLS = 1 << 18  # rows × labels that are predicted at once
SCALING = Parameter(
    "scaling", "none", Choice(("none", "standard", "minmax")), "what is done to the features first"
)


class Classifier(Entry):
    """Base of every classifier. `one_thread`: it learns on one, whatever the cores."""

    one_thread: ClassVar[bool] = False

    def bytes_beside(self, profile: Profile, p: Values) -> int:
        """Return the bytes of what is learned, and of what it is learned with, beside the rows."""
        return 0

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

    def coefficients(self, state: State, d: int) -> tuple[np.ndarray, np.ndarray] | None:
        """Return weights (q, d) of the features, and a constant (q,) of each label, which together
        are its decision value; None of a classifier that is not linear.

        Of one that brings rows to length 1 they are those of the scaled row, divided by its length
        afterwards."""
        return None


class Predictor:
    """`predict(x)` of raw features x (rows, d), dense or CSR: (labels (rows, q) uint8, scores
    (rows, q) float64). Picklable; what it derives from its state is made once a task."""

    cells = CELLS

    def __init__(self, state: State) -> None:
        self.state = state

    def __getstate__(self) -> dict[str, Any]:
        return {"state": self.state}

    @property
    def working_bytes(self) -> int:
        """Return the bytes that are derived of the state, and stay while rows are predicted."""
        return 0

    def scaled(self, x: Matrix, columns: np.ndarray | None = None) -> Matrix:
        """Return rows scaled as the training rows are, of their `columns` (None: all)."""
        x = Scaling(self.state["offset"], self.state["scale"]).apply(x, columns)
        return unit_rows(x) if self.state.get("norm") == "l2" else x

    def predict(self, x: Matrix) -> tuple[np.ndarray, np.ndarray]:
        raise NotImplementedError

    @property
    def is_linear(self) -> bool:
        """Return whether a score is a constant and a sum of terms, one a feature."""
        return False

    def terms(
        self,
        x: Matrix,
        rows: np.ndarray,
        labels: np.ndarray,
        k: int,
    ) -> tuple[LargestTerms, np.ndarray]:
        """Return the k largest terms of the decision values of pairs of a row of raw x and a label,
        and the constant (pairs,) of each; of a linear predictor."""
        raise NotImplementedError

    def parts(self, x: Matrix, q: int) -> Iterator[tuple[slice, np.ndarray, np.ndarray]]:
        """Yield runs of rows with what `predict` gives of them, of q labels `cells` at once."""
        for rows in self.runs(x.shape[0], q):
            yield rows, *self.predict(x[rows])

    def runs(self, n: int, q: int) -> Iterator[slice]:
        """Yield runs of n rows of q labels, whose scores are made at once."""
        step = max(1, self.cells // max(1, q))
        return (slice(first, min(n, first + step)) for first in range(0, max(1, n), step))


def feature_bytes(profile: Profile) -> int:
    """Return the bytes of the varying features of all rows as float64."""
    if profile.sparse:
        return 12 * stored_values(profile) + 4 * profile.n
    return 8 * profile.n * len(profile.varying)


def stored_values(profile: Profile) -> int:
    """Return how many values of the varying features are stored at most."""
    return int(profile.stored[profile.varying].sum())


def refuse_unknown(profile: Profile) -> None:
    """Raise `DataError` where single labels of a row are unknown."""
    if profile.unknown.any():
        label = int(np.flatnonzero(profile.unknown)[0])
        rows = quantity(int(profile.unknown[label]), "row")
        raise DataError(
            f"label {label} is unknown (NaN) in {rows} whose other labels are known; a classifier "
            "needs fully known rows: drop these rows, or drop the label"
        )


def known_rows(block: Block, profile: Profile) -> Block:
    """Return the rows whose labels are all known, without those with a null label cell.

    `DataError` where single labels are unknown."""
    refuse_unknown(profile)
    if block.unlabelled is None or not len(block.unlabelled):
        return block
    return block.take(np.setdiff1d(np.arange(block.n), block.unlabelled))
