"""A selection and a classifier as NumPy alone, which gives plain tables the tags of Spark, to the
bit."""

from __future__ import annotations

import pickle
import zlib
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp

from ..adapters.tags import best_labels, check_choice
from ..blocks.codec import State
from ..blocks.tables import column_names, features_of, wrong_value
from ..classify import CLASSIFIERS
from ..errors import DataError, ParameterError
from ..extract import EXTRACTORS
from ..extract.base import scaled
from ..frames.names import with_text_names
from ..kernels.matrix import Matrix
from ..kernels.missing import filled


@dataclass
class Steps:
    """Stages of a tagger: columns of x (n, d) are taken, extracted from, and a classifier predicts.

    `width` is d, `columns` are the names of the features that a table must have, None where they
    have none. `steps` are pairs of "texts" (the first) and what reads them, of "take" and the
    places of columns, of "fill" and what stands for their missing values, or of "extract" and
    (name, state); then come the classifier's name and state, and the labels' names."""

    width: int
    columns: list[str] | None
    steps: list[tuple[str, Any]]
    classifier: str
    state: State
    labels: list[str]
    _predictor: Any = field(default=None, repr=False, compare=False)

    @staticmethod
    def of(pipeline: Any) -> Steps:
        """Return the steps of a fitted pipeline; `ParameterError` where it has others."""
        from ..ml.learners import MultiLabelClassificationModel
        from ..ml.texts import TextFeaturesModel
        from ..scoring.stages import ColumnGatherer, stages_of

        stages = stages_of(pipeline) if hasattr(pipeline, "stages") else list(pipeline)
        if not stages or not isinstance(stages[-1], MultiLabelClassificationModel):
            raise ParameterError(
                "a tagger ends with a classifier: fit one behind the selection, in one Pipeline"
            )
        path = _Path()
        for stage in stages:
            if isinstance(stage, ColumnGatherer):
                path.gather(stage)
            elif isinstance(stage, TextFeaturesModel):
                path.read(stage)
            else:
                path.apply(stage)
        last = stages[-1]
        classifier = last.summary["classifier"]
        return Steps(
            path.width,
            path.columns,
            path.steps,
            classifier,
            last.state,
            last.labelNames,
        )

    def predict(self, table: Any) -> tuple[np.ndarray, np.ndarray]:
        """Return labels (n, q) of 0 and 1 and scores (n, q) of the rows of a table.

        Raises `DataError` for what it lacks."""
        x, names, steps = self._features(table)
        for kind, argument in steps:
            if kind == "take":
                x = x[:, argument]
                if sp.issparse(x):
                    x.sort_indices()
                names = None if names is None else [names[i] for i in argument]
            elif kind == "fill":
                x = filled(x, argument)
            else:
                wrong_value(x, names)
                name, state = argument
                x = EXTRACTORS.create(name).project(state, scaled(state, x))
                names = None
        wrong_value(x, names)
        if self._predictor is None:
            self._predictor = CLASSIFIERS.create(self.classifier).predictor(self.state)
        labels, scores = self._predictor.predict(x)
        return labels, scores

    def _features(self, table: Any) -> tuple[Matrix, list[str] | None, list[tuple[str, Any]]]:
        """Return the features of a table, their names, and the steps to come.

        Of named columns they are those that are needed."""
        steps = self.steps
        if steps and steps[0][0] == "texts":
            return steps[0][1](self._texts(table)), None, steps[1:]
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
            elif self.columns is not None and column_names(table) is not None:
                table = with_text_names(table)
                needed = self.columns
                if steps and steps[0][0] == "take":
                    needed = [self.columns[i] for i in steps[0][1]]
                    steps = steps[1:]
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

    def _texts(self, table: Any) -> pa.Array:
        """Return the texts of a table; `DataError` where it has none."""
        (column,) = self.columns or [""]
        if isinstance(table, pd.DataFrame):
            if column not in table.columns and table.shape[1] > 1:
                raise DataError(f"the table lacks the column {column!r} of texts")
            table = table[column] if column in table.columns else table.iloc[:, 0]
        try:
            return pa.array(list(table), pa.large_string(), from_pandas=True).fill_null("")
        except (pa.ArrowException, TypeError) as error:
            reason = " ".join(str(error).split())[:120]
            raise DataError(f"column {column!r} holds what is no text ({reason})") from None

    def __reduce__(self) -> tuple[Any, ...]:
        content = pickle.dumps({**self.__dict__, "_predictor": None})
        return _whole, (content, zlib.crc32(content))


def _whole(content: bytes, checksum: int) -> Steps:  # saved taggers know it by this name
    """Return the saved steps; raise `DataError` where they are damaged."""
    if zlib.crc32(content) != checksum:
        raise DataError(
            "the saved tagger is damaged (its checksum is not that of its content): log it again, "
            "or fetch it again"
        )
    return Steps(**pickle.loads(content))


class _Path:
    """The columns of a table on their way through the stages of a pipeline.

    `names` are those before the next stage, None where they have none; `count` says how many."""

    def __init__(self) -> None:
        self.width = 0
        self.count = 0
        self.columns: list[str] | None = None
        self.names: list[str] | None = None
        self.steps: list[tuple[str, Any]] = []

    def gather(self, stage: Any) -> None:
        """Begin with the columns that a stage gathers."""
        if self.steps or self.names is not None:
            raise ParameterError(
                "columns are gathered first in a tagger; put the stage that gathers them in front"
            )
        if stage.getOrDefault("categories"):
            raise ParameterError(
                "a tagger without Spark takes no columns of texts or dates; log the pipeline with "
                "spark_mlfs.mlflow.log_model, which runs on Spark"
            )
        columns: list[str] = stage.getInputCols()
        self.columns = columns
        self.names = columns
        self.width = self.count = len(columns)

    def read(self, stage: Any) -> None:
        """Begin with a column of texts."""
        if self.steps or self.names is not None:
            raise ParameterError(
                "texts are read first in a tagger; put the stage that reads them in front"
            )
        vectors = stage.vectors()
        self.columns = [stage.getInputCol()]
        self.names = list(vectors.vocabulary)
        self.width = len(self.names)
        self.steps.append(("texts", vectors))

    def apply(self, stage: Any) -> None:
        """Add the steps of a selection, an extractor or a classifier."""
        from ..ml.base import StateModel
        from ..ml.learners import MultiLabelExtractorModel
        from ..ml.selectors import MultiLabelSelectorModel

        if not isinstance(stage, MultiLabelSelectorModel | StateModel):
            raise ParameterError(
                "a tagger without Spark knows selections, extractors and classifiers of this "
                f"library, not {type(stage).__name__}; log the pipeline with "
                "spark_mlfs.mlflow.log_model, which runs on Spark"
            )
        features = stage.featureNames
        named = bool(stage.summary.get("named"))
        if not self.width:
            self.width = self.count = len(features)
            self.columns = features if named else None
            self.names = self.columns
        selected = np.array(getattr(stage, "selectedFeatures", range(len(features))), np.int64)
        selected_names = [features[i] for i in selected]
        places = selected
        if named and self.names is not None and self.names != features:
            places = _places(selected_names, self.names)
        unchanged = np.array_equal(places, np.arange(self.count))
        if not unchanged or not self.steps:
            self.steps.append(("take", places))
        self.count = len(places)
        fill = stage.fill()
        if fill is not None:
            self.steps.append(("fill", fill[selected]))
        if isinstance(stage, MultiLabelSelectorModel):
            self.names = selected_names if named else None
        if isinstance(stage, MultiLabelExtractorModel):
            self.steps.append(("extract", (stage.summary["extractor"], stage.state)))
            self.names = stage.names
            self.count = len(stage.names)


def _places(trained: list[str], names: list[str]) -> np.ndarray:
    """Return the places of the columns that a stage was fitted on."""
    place = {name: i for i, name in enumerate(names)}
    absent = [name for name in trained if name not in place]
    if absent:
        raise ParameterError(
            f"a stage was fitted on {absent[0]!r}, which the stage before it does not give"
        )
    return np.array([place[name] for name in trained], np.int64)


def tags(
    steps: Steps,
    table: Any,
    top_n: int | None,
    threshold: float | None,
) -> pd.DataFrame:
    """Return a frame of ``tags`` and ``scores``, a row a row."""
    check_choice(top_n, threshold, len(steps.labels))
    labels, scores, counts = best_labels(*steps.predict(table), top_n, threshold)
    names = [steps.labels[i] for i in labels]
    ends = np.cumsum(counts)
    rows = [slice(start, end) for start, end in zip(ends - counts, ends, strict=True)]
    tags_of_rows = [names[row] for row in rows]
    scores_of_rows = [scores[row].tolist() for row in rows]
    return pd.DataFrame({"tags": tags_of_rows, "scores": scores_of_rows})
