"""The contract of an extractor: parameters, a fit on an engine that gives a state of arrays, and a
NumPy projection from it.

The pyspark.ml classes (`ml.learners`), saving, names and checks are common. Rows with unknown
labels do not take part in a fit, and neither do features that are constant on the other rows; any
row can be transformed."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from typing import Any

import numpy as np
import scipy.sparse as sp

from ..blocks.codec import State
from ..blocks.profile import Profile
from ..engine.base import Engine
from ..errors import DataError
from ..kernels.gram import GramView
from ..kernels.matrix import Matrix
from ..kernels.scaling import SCALINGS, Scaling
from ..params import Choice, Parameter, Values
from ..registry import Entry
from ..statistics.moments import KnownRows

SCALING = Parameter("scaling", "standard", Choice(SCALINGS), "what is done to the features first")


class Extractor(Entry):
    """Base of every extractor."""

    def fit(self, engine: Engine, p: Values) -> State:
        """Learn a state, and `varying`, the features that vary over the rows whose labels are all
        known. `DataError` where those rows are none, or hold nothing to learn from."""
        restrict(engine)
        return {**self.learn(engine, p), "varying": engine.profile.varying}

    def learn(self, engine: Engine, p: Values) -> State:
        """At least `columns`, `offset`, `scale` (the features used are (x − offset)/scale) and what
        `project` needs; `scores` (v,) of the original features `varying`, where the extractor ranks
        them."""
        raise NotImplementedError

    def pairs(self, profile: Profile, p: Values) -> float:
        """Pairs of rows the fit compares: many are worth several tasks even where the data are
        small."""
        return 0.0

    def project(self, state: State, x: Matrix) -> np.ndarray:
        """(rows, width) extracted features of scaled rows x (rows, v); a sparse x is scaled but not
        moved by the offset."""
        raise NotImplementedError

    def names(self, state: State, labels: Sequence[str]) -> list[str]:
        raise NotImplementedError


def restrict(engine: Engine) -> None:
    """Set the engine's profile to the range and the positive labels of the known rows: they decide
    which features vary."""
    profile = engine.profile
    n = profile.n
    if profile.has_unknown:
        (known,) = engine.run(KnownRows())
        n = int(known["n"][0])
        if not n:
            raise DataError(
                "no row has all its labels known; extractors learn from fully labelled rows: label "
                "some"
            )
        ends = {"low": known["low"], "high": known["high"], "positive": known["positive"]}
        profile = dataclasses.replace(profile, **ends)
        engine.profile = profile
    where = "over the rows whose labels are all known" if profile.has_unknown else "in the data"
    if not len(profile.varying):
        raise DataError(f"no feature varies {where}; label more rows")
    if not ((profile.positive > 0) & (profile.positive < n)).any():
        raise DataError(
            f"no label takes both values {where}; an extractor needs positive and negative rows"
        )


def scaled(state: State, x: Matrix) -> Matrix:
    """Raw rows as `Extractor.project` takes them: the features in use, (x − offset)/scale; sparse
    rows are not moved."""
    return Scaling(state["offset"], state["scale"]).apply(x, state["columns"])


class Linear(Extractor):
    """An extractor that multiplies the centred features by a matrix `projection` (v, width)."""

    def project(self, state: State, x: Matrix) -> np.ndarray:
        out = np.asarray(x @ state["projection"])
        return (
            out - (state["offset"] / state["scale"]) @ state["projection"]
            if sp.issparse(x)
            else out
        )

    @staticmethod
    def state_of(engine: Engine, view: GramView, projection: np.ndarray, **more: Any) -> State:
        columns = engine.profile.varying[view.varying]
        return {
            "columns": columns,
            "offset": view.offset,
            "scale": view.scale,
            "projection": projection,
            **more,
        }

    def names(self, state: State, labels: Sequence[str]) -> list[str]:
        return [f"{self.name}_{i}" for i in range(state["projection"].shape[1])]


def label_slices(state: State) -> list[int]:
    """(q + 1) positions where each label's features begin in what is extracted; none where they do
    not go label by label."""
    if "widths" in state:
        return [0, *(int(i) for i in np.cumsum(state["widths"]))]
    return [int(i) for i in state["slices"]] if "slices" in state else []
