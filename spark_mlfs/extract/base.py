"""What an extractor is: parameters, a fit on an engine that gives a state of arrays, and a NumPy projection from that state.

The pyspark.ml classes (`extractors.py`), saving, names and checks are common. Rows with unknown labels do not take part in a
fit; any row can be transformed.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, ClassVar

import numpy as np
import scipy.sparse as sp

from ..params import Parameter
from ..statistics.base import State
from ..statistics.runner import Engine


class Extractor:
    """Base of every extractor.

    `name` as users write it, `title` one line for tables, `source` the paper, `parameters` its own parameters.
    """

    name: ClassVar[str]
    title: ClassVar[str]
    source: ClassVar[str]
    parameters: ClassVar[tuple[Parameter, ...]] = ()

    def fit(self, engine: Engine, p: Mapping[str, Any]) -> State:
        """What is learned: at least `columns`, `offset`, `scale` (the features used are (x − offset)/scale) and what `project`
        needs."""
        raise NotImplementedError

    def project(self, state: State, x: np.ndarray | sp.csr_matrix) -> np.ndarray:
        """(rows, width) extracted features of scaled rows x (rows, v); a sparse x is scaled but not moved by the offset."""
        raise NotImplementedError

    def names(self, state: State, labels: Sequence[str]) -> list[str]:
        """Names of the extracted features."""
        raise NotImplementedError

    def scores(self, state: State) -> np.ndarray | None:
        """(v,) scores of the original features used, where the extractor ranks them."""
        return state.get("scores")


class Linear(Extractor):
    """An extractor that multiplies the centred features by a matrix `projection` (v, width)."""

    def project(self, state: State, x: np.ndarray | sp.csr_matrix) -> np.ndarray:
        out = np.asarray(x @ state["projection"])
        return out - (state["offset"] / state["scale"]) @ state["projection"] if sp.issparse(x) else out

    def names(self, state: State, labels: Sequence[str]) -> list[str]:
        return [f"{self.name}_{i}" for i in range(state["projection"].shape[1])]


def signed(vectors: np.ndarray) -> np.ndarray:
    """The columns with their largest entry (the first of a tie) positive: one answer everywhere."""
    size = np.abs(vectors)
    lead = np.argmax(size > (1 - 1e-9) * size.max(axis=0, initial=0.0), axis=0)
    return vectors * np.where(vectors[lead, np.arange(vectors.shape[1])] < 0, -1.0, 1.0)
