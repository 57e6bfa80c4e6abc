"""pyspark.ml Estimators over every extractor and classifier (a class each in `ml.extractor_classes`
and `ml.classifier_classes`), and the models they fit to. A classifier stands behind a selector or
extractor in one `Pipeline`, which saves and loads as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np
import pandas as pd
from pyspark.ml.param import Param
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from .. import pipeline
from ..adapters import tags as tagging
from ..adapters.classes import EstimatorClasses, Fit
from ..adapters.columns import FEATURES, GROUP, LABELS, ROW_ID
from ..adapters.contributions import OF_ROW, WHY, Contributions, contributions_of
from ..adapters.learned import check_makes_folds, slices_of
from ..blocks.codec import State
from ..blocks.profile import Profile
from ..classify import CLASSIFIERS
from ..classify.base import Classifier, Predictor
from ..classify.knn import NeighbourVote
from ..errors import ParameterError
from ..extract import EXTRACTORS
from ..extract.base import Extractor, label_slices, scaled
from ..frames.names import with_metadata
from ..frames.schema import SLICES, attribute_metadata, with_names
from ..kernels.matrix import Matrix
from ..kernels.nearest import Nearest
from ..lazy import Self
from ..solvers.ties import complete
from ..statistics.base import Budgets
from .base import FRAME, StateEstimator, StateModel
from .params import FITTING
from .rows import FeatureSource, beside_twins, map_rows
from .shared import (
    EXTRACTED,
    PREDICTIONS,
    ExtractedAccessors,
    GroupAccessors,
    PredictionAccessors,
)
from .training_blocks import map_against, training_blocks

# training machines costs far more than reading the rows: above this, side by side
SIDE_BY_SIDE_BYTES = 256 << 10
# a larger training set of a nearest-neighbour classifier does not travel to every task: it is
# joined by blocks
BROADCAST_BYTES = 32 << 20


def project(
    extractor: Extractor,
    state: State,
    output: str,
    x: Matrix,
) -> dict[str, np.ndarray]:
    """Project rows, as the column of `map_rows`."""
    return {output: extractor.project(state, scaled(state, x))}


class MultiLabelExtractorModel(StateModel, ExtractedAccessors):
    """A fitted extractor: adds the extracted features to a frame.

    `outputCol`  vector of the extracted features, their names in its metadata
    `names`      of the extracted features
    `ranking`    pandas frame rank, index, name, score, relevance (the same) of the original
                 features, where the extractor ranks them (mddm, mlsi), else None
    `state`      what was learned, as arrays: `projection` or `centres`, `slices` (where each
    label's features begin), …

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
        if "scores" not in self.state:
            return None
        order, values = complete(self.state["scores"], self.state["varying"], self.numFeatures)
        names = np.array(self.featureNames, object)
        return pd.DataFrame(
            {
                "rank": np.arange(1, len(order) + 1),
                "index": order,
                "name": names[order].tolist(),
                "score": values[order],
                "relevance": values[order],
            }
        )

    def _transform(self, dataset: DataFrame) -> DataFrame:
        output = self.getOutputCol()
        if output in dataset.columns:
            raise ParameterError(
                f"outputCol {output!r} exists already; set another outputCol or drop the column"
            )
        task = partial(project, self._extractor, self.state, output)
        out = map_rows(dataset, self.cells(dataset), task, {output: "vector"})
        metadata = attribute_metadata(self.names)
        slices = self.label_slices()
        if len(slices) > 1:
            metadata[SLICES] = slices
        named: DataFrame = with_metadata(out, output, metadata)
        return named

    def label_slices(self) -> list[int]:
        """Return (q + 1) positions where each label's features begin in the output.

        Empty where they are not each label's own."""
        return label_slices(self.state)


class ExtractorEstimator(
    StateEstimator[MultiLabelExtractorModel, Extractor], ExtractedAccessors, GroupAccessors
):
    """Common part of the extractors."""

    registry = EXTRACTORS
    _common = (FEATURES, LABELS, *EXTRACTED, ROW_ID, GROUP, *FITTING)
    model = MultiLabelExtractorModel
    _example = f"""{FRAME}>>> model = spark_mlfs.$name($settings).fit(frame)
>>> model.transform(frame).first()["extracted"].size == len(model.names)
True"""

    def _check(self, dataset: DataFrame) -> Fit[Extractor]:
        if self.getGroupCol() is not None:
            check_makes_folds(self.entry)
        return super()._check(dataset)

    def _row_settings(self, checked: Fit[Extractor]) -> dict[str, Any]:
        return {"groups": self.getGroupCol()}

    def _small_bytes(self, fit: Fit[Extractor], profile: Profile) -> int:
        many_pairs = fit.learner.pairs(profile, fit.parameters) > pipeline.MANY_PAIRS
        return 0 if many_pairs else Budgets.small


def predicted_by(
    predictor: NeighbourVote, columns: tagging.ColumnsOf, nearest: Nearest
) -> tagging.Columns:
    """Make `columns` of a prediction from the nearest training rows, for `map_against`."""
    return columns(*predictor.vote(nearest.ids, predictor.state["y"].astype(np.float64)))


class MultiLabelClassificationModel(StateModel, PredictionAccessors):
    """A fitted classifier: adds the predicted labels and their scores to a frame.

    predictionCol : multi-hot vector of the predicted labels, their names in its metadata
    rawPredictionCol : vector of the labels' scores (ML-kNN: posterior probability; SVM: decision
        value), larger is likelier
    labelNames, featureNames : of the training data; a frame whose features have these names in
        another order is understood

    >>> import spark_mlfs
    >>> spark = spark_mlfs.local_session()
    >>> frame = spark_mlfs.read.planted(spark, num_rows=100, num_features=10, num_labels=2)
    >>> model = spark_mlfs.MLkNNClassifier().fit(frame)
    >>> model.transform(frame).select("prediction").first()[0].size, model.labelNames
    (2, ['label_0', 'label_1'])"""

    def predictor(self) -> Predictor:
        """Return the NumPy prediction, for use outside Spark: ``model.predictor().predict(x)``."""
        return CLASSIFIERS.create(self._extra["classifier"]).predictor(self.state)

    @property
    def joins_blocks(self) -> bool:
        """Whether blocks are joined, since the training rows are too many for every task."""
        predictor = self.predictor()
        return isinstance(predictor, NeighbourVote) and predictor.nbytes > BROADCAST_BYTES

    def predicted(
        self,
        dataset: DataFrame,
        columns: tagging.ColumnsOf,
        outputs: dict[str, str],
        cells: FeatureSource | None = None,
        why: Contributions | None = None,
    ) -> DataFrame:
        """Add what `columns` makes of the predictions of the rows.

        `cells` reads their features, where it is not None; `why` tells the terms of the scores."""
        predictor = self.predictor()
        joins = cells is None and self.joins_blocks
        if cells is None:
            cells = self.cells(dataset)
        most_rows = tagging.rows_at_once(self.labelNames)
        if joins:
            read: Any = cells.read
            if self._blocks is None:
                self._blocks = training_blocks(dataset.sparkSession, self.state["x"])
            assert isinstance(predictor, NeighbourVote)
            # without the training rows, which the blocks bring
            voter = type(predictor)({k: value for k, value in self.state.items() if k != "x"})
            return map_against(
                dataset,
                self.getFeaturesCol(),
                read,
                self._blocks,
                voter.rows,
                voter.stored,
                self.state["k"],
                partial(predicted_by, voter, columns),
                outputs,
                most_rows,
            )
        function = partial(tagging.predicted_columns, predictor, columns, why=why)
        return map_rows(
            dataset,
            cells,
            function,
            outputs,
            most_rows,
        )

    _blocks: DataFrame | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_blocks"}

    def copy(self, extra: dict[Param[Any], Any] | None = None) -> Self:
        copied = super().copy(extra)
        copied._blocks = self._blocks
        return copied

    def _transform(self, dataset: DataFrame) -> DataFrame:
        prediction = self.getPredictionCol()
        raw = self.getRawPredictionCol()
        tags = self.getOutputTagsCol()
        outputs = {prediction: "vector", raw: "vector"}
        columns = tagging.label_vectors
        if tags is not None:
            if tags in dataset.columns:
                raise ParameterError(f"column {tags!r} exists already; set another outputTagsCol")
            outputs[tagging.CHOSEN] = "array<int>"
            columns = tagging.vectors_and_labels
        out = self.predicted(dataset, partial(columns, prediction, raw), outputs)
        if tags is not None:
            out = self._with_tags(out, tags)
        return with_names(with_names(out, prediction, self.labelNames), raw, self.labelNames)

    def _with_tags(self, frame: DataFrame, column: str) -> DataFrame:
        """Return the frame with the chosen labels as the column of their names."""
        label_names = F.array(*(F.lit(name) for name in self.labelNames))
        tags = F.transform(tagging.CHOSEN, lambda label: F.element_at(label_names, label + 1))
        return frame.withColumn(column, tags).drop(tagging.CHOSEN)

    def tagged(
        self,
        dataset: DataFrame,
        top_n: int | None = None,
        threshold: float | None = None,
        all_scores: bool = False,
        names: tuple[str, str] | None = None,
        cells: FeatureSource | None = None,
        explain: int | None = None,
    ) -> DataFrame:
        """Add ``tags`` (array<string>) and their ``scores`` (array<double>), best first.

        The predicted labels, or the `top_n` best scores, or the labels that score at least
        `threshold`. `all_scores` adds rawPredictionCol as array<double>. `names` of the two
        columns; without, a frame that has ``tags`` or ``scores`` of its own gets ``predicted_tags``
        and ``predicted_scores``. `cells` reads the features elsewhere than in featuresCol.
        `explain` adds ``contributions``: for each tag of a linear classifier so many features of
        the largest terms of its score, with what the others and the constant add to it."""
        tagging.check_choice(top_n, threshold, len(self.labelNames))
        why = None
        if explain is not None:
            why = contributions_of(self.predictor(), self.featureNames, explain)
        raw = self.getRawPredictionCol()
        tagged, scored = names or tagging.output_names(dataset.columns)
        outputs = {tagging.CHOSEN: "array<int>", scored: "array<double>"}
        if all_scores:
            outputs[raw] = "array<double>"
        if cells is not None and isinstance(cells.read, tagging.PassageReader):
            outputs[tagging.BEST] = "array<string>"
        if why is not None:
            outputs[WHY] = OF_ROW
        if tagged in dataset.columns:
            raise ParameterError(f"column {tagged!r} exists already; rename it first")
        columns = partial(
            tagging.label_lists,
            top_n,
            threshold,
            raw,
            scored,
        )
        out = beside_twins(
            dataset, self, lambda rows: self.predicted(rows, columns, outputs, cells, why)
        )
        return self._with_tags(out, tagged)


class ClassifierEstimator(
    StateEstimator[MultiLabelClassificationModel, Classifier], PredictionAccessors
):
    """Common part of the classifiers."""

    registry = CLASSIFIERS
    _common = (FEATURES, LABELS, *PREDICTIONS, ROW_ID, *FITTING)
    model = MultiLabelClassificationModel
    _example = f"""{FRAME}>>> model = spark_mlfs.$name().fit(frame)
>>> model.tagged(frame).first()["tags"]
['sport']"""

    def _added(self, dataset: DataFrame, parameters: Mapping[str, Any]) -> dict[str, Any]:
        column = self.getFeaturesCol()
        metadata = dataset.schema[column].metadata if column in dataset.columns else {}
        return slices_of(parameters, metadata, column)

    def _small_bytes(self, fit: Fit[Classifier], profile: Profile) -> int:
        return SIDE_BY_SIDE_BYTES if fit.learner.by_label(fit.parameters) else Budgets.small


EXTRACTING = EstimatorClasses(ExtractorEstimator, "Extractor", f"{__package__}.extractor_classes")
CLASSIFYING = EstimatorClasses(
    ClassifierEstimator, "Classifier", f"{__package__}.classifier_classes"
)
