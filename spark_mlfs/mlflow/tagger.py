"""A selection and a classifier as NumPy alone: the tags of plain tables, to the bit those of
Spark."""

from __future__ import annotations

import pickle
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from ..adapters.tags import best_labels, check_choice
from ..blocks.codec import State
from ..blocks.tables import features_of, wrong_value
from ..classify import CLASSIFIERS
from ..errors import DataError, ParameterError
from ..extract import EXTRACTORS
from ..extract.base import scaled
from ..kernels.matrix import Matrix
from ..kernels.missing import filled


@dataclass
class Steps:
    """Stages of a tagger for rows of features x (n, d): columns are taken, extracted from, and a
    classifier predicts.

    `columns` are the names of the d features a table must have, None where they have none; `steps`
    pairs of "take" and the places of columns, of "fill" and what stands for their missing values,
    or of "extract" and (name, state); then the classifier's name and state, and the labels'
    names."""

    width: int
    columns: list[str] | None
    steps: list[tuple[str, Any]]
    classifier: str
    state: State
    labels: list[str]
    _predictor: Any = field(default=None, repr=False, compare=False)

    @staticmethod
    def of(pipeline: Any) -> Steps:
        """The steps of a fitted pipeline. `ParameterError` where it has others."""
        from ..ml.base import StateModel
        from ..ml.learners import MultiLabelClassificationModel, MultiLabelExtractorModel
        from ..ml.selectors import MultiLabelSelectorModel
        from ..scoring.stages import ColumnGatherer, stages_of

        stages = stages_of(pipeline) if hasattr(pipeline, "stages") else list(pipeline)
        if not stages or not isinstance(stages[-1], MultiLabelClassificationModel):
            raise ParameterError(
                "a tagger ends with a classifier: fit one behind the selection, in one Pipeline"
            )
        steps: list[tuple[str, Any]] = []
        width, columns = 0, None
        names: list[str] | None = None  # of the columns as they stand before a stage
        for stage in stages:
            if isinstance(stage, ColumnGatherer):
                if steps or names is not None:
                    raise ParameterError(
                        "columns are gathered first in a tagger; put the stage that gathers them "
                        "in front"
                    )
                if stage.getOrDefault("categories"):
                    told = (
                        "a tagger without Spark takes no columns of texts or dates; log the "
                        "pipeline with spark_mlfs.mlflow."
                    )
                    raise ParameterError(f"{told}log_model, which runs on Spark")
                names = columns = stage.getInputCols()
                width = len(names)
                continue
            if not isinstance(stage, MultiLabelSelectorModel | StateModel):
                known = (
                    "a tagger without Spark knows selections, extractors and classifiers of "
                    "this library"
                )
                remedy = "log the pipeline with spark_mlfs.mlflow.log_model, which runs on Spark"
                raise ParameterError(f"{known}, not {type(stage).__name__}; {remedy}")
            own, named, fill = stage.featureNames, bool(stage.summary.get("named")), stage.fill()
            if not width:
                width, columns = len(own), own if named else None
                names = columns
            kept = np.array(
                stage.selectedFeatures if hasattr(stage, "selectedFeatures") else range(len(own)),
                np.int64,
            )
            places = (
                _places([own[i] for i in kept], names)
                if named and names not in (None, own)
                else kept
            )
            if len(places) < len(own) or (places != np.arange(len(places))).any() or not steps:
                steps.append(("take", places))
            if fill is not None:
                steps.append(("fill", fill[kept]))
            if isinstance(stage, MultiLabelSelectorModel):
                names = [own[i] for i in kept] if named else None
            if isinstance(stage, MultiLabelExtractorModel):
                steps.append(("extract", (stage.summary["extractor"], stage.state)))
                names = stage.names
        last = stages[-1]
        return Steps(width, columns, steps, last.summary["classifier"], last.state, last.labelNames)

    def predict(self, table: Any) -> tuple[np.ndarray, np.ndarray]:
        """(labels (n, q) of 0 and 1, scores (n, q)) of the rows of a table. `DataError` for what it
        lacks."""
        x, names, steps = self._features(table)
        for what, how in steps:
            if what == "take":
                x, names = x[:, how], None if names is None else [names[i] for i in how]
            elif what == "fill":
                x = filled(x, how)
            else:
                wrong_value(x, names)
                name, state = how
                x, names = EXTRACTORS.create(name).project(state, scaled(state, x)), None
        wrong_value(x, names)
        if self._predictor is None:
            self._predictor = CLASSIFIERS.create(self.classifier).predictor(self.state)
        labels, scores = self._predictor.predict(x)
        return labels, scores

    def _features(self, table: Any) -> tuple[Matrix, list[str] | None, list[tuple[str, Any]]]:
        """Return the features of a table, their names, and the steps to come: of named columns
        those that are needed."""
        steps = self.steps
        if isinstance(table, pd.DataFrame):
            cells = table.iloc[:, 0] if table.shape[1] == 1 else ()
            if any(isinstance(cell, list | tuple | np.ndarray) for cell in cells):
                try:
                    table = np.array([np.asarray(cell, float) for cell in cells])
                except (TypeError, ValueError):
                    raise DataError(
                        f"the cells of {table.columns[0]!r} are not arrays of {self.width} numbers "
                        "each"
                    ) from None
            elif self.columns is not None and any(isinstance(name, str) for name in table.columns):
                needed, steps = self.columns, self.steps
                if steps and steps[0][0] == "take":
                    needed, steps = [self.columns[i] for i in steps[0][1]], steps[1:]
                absent = [name for name in needed if name not in table.columns]
                if absent:
                    raise DataError(
                        f"the table lacks {len(absent)} of the columns the model was fitted on, "
                        f"{absent[0]!r} first"
                    )
                table = table[needed]
        x, names = features_of(table)
        if steps is self.steps and x.shape[1] != self.width:
            raise DataError(
                f"the table has {x.shape[1]} features, the model was fitted on {self.width}"
            )
        return x.astype(np.float64), names, steps

    def __reduce__(self) -> tuple[Any, ...]:
        held = pickle.dumps({**self.__dict__, "_predictor": None})
        return _whole, (held, zlib.crc32(held))


def _whole(held: bytes, checksum: int) -> Steps:
    """Return the saved steps; raise `DataError` where they are damaged."""
    if zlib.crc32(held) != checksum:
        raise DataError(
            "the saved tagger is damaged (its checksum is not that of its content): log it again, "
            "or fetch it again"
        )
    return Steps(**pickle.loads(held))


def _places(trained: list[str], names: list[str]) -> np.ndarray:
    where = {name: i for i, name in enumerate(names)}
    absent = [name for name in trained if name not in where]
    if absent:
        raise ParameterError(
            f"a stage was fitted on {absent[0]!r}, which the stage before it does not give"
        )
    return np.array([where[name] for name in trained], np.int64)


def tags(steps: Steps, table: Any, top_n: int | None, threshold: float | None) -> pd.DataFrame:
    """A frame of ``tags`` and ``scores``, a row a row."""
    check_choice(top_n, threshold, len(steps.labels))
    chosen, scores, counts = best_labels(*steps.predict(table), top_n, threshold)
    ends = np.cumsum(counts)
    rows = list(zip(ends - counts, ends, strict=True))
    names = [steps.labels[i] for i in chosen]
    return pd.DataFrame(
        {"tags": [names[a:z] for a, z in rows], "scores": [scores[a:z].tolist() for a, z in rows]}
    )
