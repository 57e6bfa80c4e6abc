"""pyspark.ml Estimators over every extractor (a class each in `ml.extractor_classes`), and the model they fit to."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd
from pyspark.sql import DataFrame

from .. import pipeline
from ..adapters.classes import FEATURES, LABELS, ROW_ID, EstimatorClasses, Fit
from ..blocks.codec import State
from ..blocks.profile import Profile
from ..errors import ParameterError
from ..extract import EXTRACTORS
from ..extract.base import Extractor, label_slices, scaled
from ..kernels.matrix import Matrix
from ..schema import SLICES, attribute_metadata
from ..solvers.greedy import complete
from ..statistics.base import Budgets
from .base import FRAME, StateEstimator, StateModel
from .params import FITTING
from .rows import map_rows
from .shared import EXTRACTED, ExtractedAccessors


@dataclass(frozen=True)
class Project:
    """A projection as the column of `map_rows`."""

    extractor: Extractor
    state: State
    output: str

    def __call__(self, x: Matrix) -> dict[str, np.ndarray]:
        return {self.output: self.extractor.project(self.state, scaled(self.state, x))}


class MultiLabelExtractorModel(StateModel, ExtractedAccessors):
    """A fitted extractor: adds the extracted features to a frame.

    `outputCol`  vector of the extracted features, their names in its metadata
    `names`      of the extracted features
    `ranking`    pandas frame rank, index, name, score, relevance (the same) of the original features, where the extractor ranks
                 them (mddm, mlsi), else None
    `state`      what was learned, as arrays: `projection` or `centres`, `slices` (where each label's features begin), …

    >>> import spark_mlfs
    >>> spark = spark_mlfs.local_session()
    >>> frame = spark_mlfs.read.planted(spark, num_rows=100, num_features=10, num_labels=2)
    >>> model = spark_mlfs.MDDMExtractor().fit(frame)
    >>> model.names, model.transform(frame).first()["extracted"].size
    (['mddm_0', 'mddm_1'], 2)"""

    @property
    def _extractor(self) -> Extractor:
        return EXTRACTORS.create(self._extra["extractor"])

    @property
    def names(self) -> list[str]:
        return self._extractor.names(self.state, self.labelNames)

    @property
    def ranking(self) -> pd.DataFrame | None:
        scores = self._extractor.scores(self.state)
        if scores is None:
            return None
        order, values = complete(scores, self.state["varying"], self.numFeatures)
        ranks, names, of = np.arange(1, len(order) + 1), np.array(self.featureNames, object), values[order]
        return pd.DataFrame({"rank": ranks, "index": order, "name": names[order].tolist(), "score": of, "relevance": of})

    def _transform(self, dataset: DataFrame) -> DataFrame:
        output = self.getOutputCol()
        if output in dataset.columns:
            raise ParameterError(f"outputCol {output!r} exists already; set another outputCol or drop the column")
        task = Project(self._extractor, self.state, output)
        out = map_rows(dataset, self.cells(dataset), task, {output: "vector"})
        metadata = attribute_metadata(self.names)
        if len(widths := self.label_slices()) > 1:
            metadata[SLICES] = widths
        return out.withMetadata(output, metadata)

    def label_slices(self) -> list[int]:
        """(q + 1) positions at which each label's features begin in the output; nothing where they are not each label's own."""
        return label_slices(self.state)


class ExtractorEstimator(StateEstimator[MultiLabelExtractorModel, Extractor], ExtractedAccessors):
    """Common part of the extractors."""

    registry = EXTRACTORS
    _common = (FEATURES, LABELS, *EXTRACTED, ROW_ID, *FITTING)
    model = MultiLabelExtractorModel
    _example = f"""{FRAME}>>> model = spark_mlfs.$name($settings).fit(frame)
>>> model.transform(frame).first()["extracted"].size == len(model.names)
True"""

    def _small_bytes(self, fit: Fit[Extractor], profile: Profile) -> int:
        return 0 if fit.learner.pairs(profile, fit.parameters) > pipeline.MANY_PAIRS else Budgets.small


ESTIMATORS = EstimatorClasses(ExtractorEstimator, "Extractor", f"{__package__}.extractor_classes")
