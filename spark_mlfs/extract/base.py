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
        """Learn a state, and `varying`, the features that vary over the rows in use.

        Their labels are all known. `DataError` where there are none, or nothing to learn from."""
        restrict(engine)
        return {**self.learn(engine, p), "varying": engine.profile.varying}

    def learn(self, engine: Engine, p: Values) -> State:
        """Learn at least `columns`, `offset`, `scale` and what `project` needs.

        The features used are (x − offset)/scale; `scores` (v,) of the original features `varying`,
        where the extractor ranks them."""
        raise NotImplementedError

    def pairs(self, profile: Profile, p: Values) -> float:
        """Return the pairs of rows that the fit compares.

        Many are worth several tasks even where the data are small."""
        return 0.0

    def project(self, state: State, x: Matrix) -> np.ndarray:
        """Return the extracted features (rows, width) of scaled rows x (rows, v).

        A sparse x is scaled but not moved by the offset."""
        raise NotImplementedError

    def names(self, state: State, labels: Sequence[str]) -> list[str]:
        """Return the names of the extracted features."""
        raise NotImplementedError


def restrict(engine: Engine) -> None:
    """Set the engine's profile to the range and the positive labels of the known rows.

    They decide which features vary."""
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
        ends = {
            "low": known["low"],
            "high": known["high"],
            "positive": known["positive"],
        }
        profile = dataclasses.replace(profile, **ends)
        engine.profile = profile
    place = "over the rows whose labels are all known" if profile.has_unknown else "in the data"
    if not len(profile.varying):
        raise DataError(f"no feature varies {place}; label more rows")
    profile.refuse_extremes()
    two_valued = (profile.positive > 0) & (profile.positive < n)
    if not two_valued.any():
        raise DataError(
            f"no label takes both values {place}; an extractor needs positive and negative rows"
        )


def scaled(state: State, x: Matrix) -> Matrix:
    """Return raw rows as `Extractor.project` takes them.

    The features in use, (x − offset)/scale; sparse rows are not moved."""
    return Scaling(state["offset"], state["scale"]).apply(x, state["columns"])


class Linear(Extractor):
    """An extractor that multiplies the centred features by a matrix `projection` (v, width)."""

    def project(self, state: State, x: Matrix) -> np.ndarray:
        out = np.asarray(x @ state["projection"])
        if sp.issparse(x):
            return out - (state["offset"] / state["scale"]) @ state["projection"]
        return out

    @staticmethod
    def state_of(
        engine: Engine,
        view: GramView,
        projection: np.ndarray,
        **results: Any,
    ) -> State:
        """Return the state of a projection, with further results."""
        return {
            "columns": engine.profile.varying[view.varying],
            "offset": view.offset,
            "scale": view.scale,
            "projection": projection,
            **results,
        }

    def names(self, state: State, labels: Sequence[str]) -> list[str]:
        return [f"{self.name}_{i}" for i in range(state["projection"].shape[1])]


def label_slices(state: State) -> list[int]:
    """Return (q + 1) positions where each label's extracted features begin.

    None where they do not go label by label."""
    if "widths" in state:
        return [0, *(int(i) for i in np.cumsum(state["widths"]))]
    return [int(i) for i in state["slices"]] if "slices" in state else []
