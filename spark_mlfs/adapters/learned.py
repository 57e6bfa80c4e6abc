"""What was learned as arrays: the facts of a model of such a state, and a model of this process."""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from ..blocks.codec import State
from ..blocks.dataset import Dataset
from ..classify import CLASSIFIERS
from ..classify.base import Predictor
from ..engine.base import Cost
from ..errors import ParameterError, setting
from ..extract import EXTRACTORS
from ..frames.schema import SLICES
from ..select.notices import stopped_early
from .classes import Fit
from .rows import Fitted
from .saved import (
    PACKAGE,
    PIECES,
    SavedData,
    check_format,
    rows_here,
    stage_here,
    state_rows,
    whole_state,
)

CLASSIFIER = "MultiLabelClassificationModel"


def learned_of(metadata: Mapping[str, Any]) -> dict[str, Any]:
    """Return what the metadata of a saved model say of its training; `KeyError` or `ValueError`
    where they are damaged."""
    extra = dict(metadata["learned"])
    for name in ("feature_names", "label_names"):
        if not isinstance(extra[name], list):
            raise ValueError(f"{name} is no list")
    return extra


def check_makes_folds(entry: Any) -> None:
    """Raise `ParameterError` where an extractor has no folds, which could keep groups whole."""
    if not _makes_folds(entry):
        able = ", ".join(name for name in EXTRACTORS if _makes_folds(EXTRACTORS[name]))
        raise ParameterError(
            f"{entry.name} makes no folds of rows: leave {setting('group_col')} out, or choose "
            f"{able}"
        )


def _makes_folds(entry: Any) -> bool:
    return any(parameter.name == "folds" for parameter in entry.parameters)


def facts_of_learned(
    kind: str,
    fit: Fit[Any],
    rows: Dataset,
    state: State,
    cost: Cost,
    seconds: float,
    distributed: bool = False,
) -> dict[str, Any]:
    """Return what a model says of its training."""
    extra = {
        kind: fit.learner.name,
        "parameters": dict(fit.parameters),
        "rows": rows.profile.n,
        "known_rows": rows.profile.n - rows.profile.unlabelled,
        "feature_names": list(rows.feature_names),
        "named": rows.named,
        "label_names": rows.label_names,
        "label_shares": (rows.profile.positive / np.maximum(rows.profile.observed, 1)).tolist(),
        "fingerprint": f"{rows.profile.fingerprint:016x}",
        "seconds": seconds,
        "jobs": rows.jobs + cost.jobs,
        "scans": 1 + cost.scans,
        "distributed": distributed,
    }
    return extra | ({"converged": bool(np.all(state["converged"]))} if "converged" in state else {})


def warn_of_early_stop(fit: Fit[Any], state: State, stacklevel: int) -> None:
    """Warn where the solver of a fit stopped early, as if `stacklevel` calls up."""
    if not np.all(state.get("converged", True)):
        remedy = f"raise max_iter = {fit.parameters['max_iter']}"
        if fit.parameters.get("scaling") == state.get("norm") == "none":
            remedy = f"give scaling='standard' or norm='l2', or {remedy}"
        warnings.warn(stopped_early(fit.learner.name, remedy), stacklevel=stacklevel + 1)


def slices_of(
    parameters: Mapping[str, Any], metadata: Mapping[str, Any] | None, column: str
) -> dict[str, Any]:
    """Return where each label's own features begin in a column of these metadata, for a classifier
    that goes by them."""
    if not parameters.get("label_specific"):
        return {}
    if SLICES not in (metadata or {}):
        raise ParameterError(
            f"labelSpecific needs features made label by label, and {column!r} does not say whose "
            "they are: put LIFTExtractor or LIFTRSMExtractor in front, and nothing between that "
            "drops the column's metadata"
        )
    return {"slices": [int(i) for i in (metadata or {})[SLICES]]}


class Learned(Fitted):
    """A model whose learned part is `state`."""

    state: State
    _aside = (*Fitted._aside, "feature_names", "label_names", "label_shares", "known_rows")

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
    def labelShares(self) -> dict[str, float]:
        """The share of the training rows that have a label, by its name; empty of a model of format
        2."""
        return dict(zip(self.labelNames, self._extra.get("label_shares", ()), strict=False))

    @property
    def knownRows(self) -> int:
        """The training rows whose labels are known; of models that do not say, all."""
        return int(self._extra.get("known_rows", self._extra["rows"]))

    def reading(self, slots: Sequence[str] | None, column: str) -> tuple[Any, ...]:
        """Return how `FeatureCells` reads the training features of a column whose entries are
        called `slots`."""
        return (
            self.numFeatures,
            self.places_in(slots, column),
            self.fill(),
            self.names_for_messages(np.arange(self.numFeatures)),
        )

    def places_in(self, slots: Sequence[str] | None, column: str) -> np.ndarray | None:
        """Return where the training features are in such a column; None: in their order.

        `find` has the rules."""
        in_order = np.arange(self.numFeatures)
        places = self.find(in_order, slots, repr(column))
        return None if places is in_order else places


class LocalClassifier(Learned):
    """A fitted classifier of this process, with the files of `MultiLabelClassificationModel`."""

    def __init__(self, uid: str, extra: Mapping[str, Any], state: State) -> None:
        self.uid = uid
        self._extra = dict(extra)
        self.state = state

    @staticmethod
    def load(path: str, metadata: Mapping[str, Any]) -> LocalClassifier:
        """Return the classifier saved in a folder of this machine, of these `metadata`."""
        check_format(metadata, path)
        state = whole_state(
            rows_here(path).to_dict("records"), f"{path}/data", metadata.get("data")
        )
        return LocalClassifier(metadata["uid"], learned_of(metadata), state)

    def save_here(self, folder: Path) -> None:
        """Write the model into a new folder; it stands behind a selection."""
        defaults = {
            "featuresCol": "features",
            "predictionCol": "prediction",
            "rawPredictionCol": "rawPrediction",
            "outputTagsCol": None,
        }
        learned = SavedData(state_rows(self.state), PIECES, {"learned": self._extra})
        stage_here(
            folder,
            f"{PACKAGE}.{CLASSIFIER}",
            self.uid,
            {"featuresCol": "selected"},
            defaults,
            learned,
        )

    def predictor(self) -> Predictor:
        return CLASSIFIERS.create(self._extra["classifier"]).predictor(self.state)
