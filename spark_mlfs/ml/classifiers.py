"""pyspark.ml Estimators over every classifier (a class each in `ml.classifier_classes`), and the model they fit to. They stand
behind a selector or extractor in one `Pipeline`, which saves and loads as a whole."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from pyspark.ml.param import Param
from pyspark.sql import DataFrame
from pyspark.sql import functions as F

from ..adapters import tags as tagging
from ..adapters.classes import FEATURES, LABELS, ROW_ID, EstimatorClasses, Fit
from ..adapters.learned import slices_of
from ..blocks.profile import Profile
from ..classify import CLASSIFIERS
from ..classify.base import Classifier, Predictor
from ..classify.knn import NeighbourVote
from ..errors import ParameterError
from ..kernels.nearest import Nearest, label_counts
from ..schema import with_names
from ..statistics.base import Budgets
from .base import FRAME, StateEstimator, StateModel
from .params import FITTING
from .rows import FeatureSource, map_against, map_rows, training_blocks
from .shared import PREDICTIONS, PredictionAccessors

if TYPE_CHECKING:
    from typing_extensions import Self

# training machines costs far more than reading the rows: above this, side by side
SIDE_BY_SIDE_BYTES = 256 << 10
# a larger training set of a nearest-neighbour classifier does not travel to every task: it is joined by blocks
BROADCAST_BYTES = 32 << 20


@dataclass(frozen=True)
class PredictionOfNeighbours:
    """The same of the nearest training rows, as `map_against` calls it."""

    predictor: NeighbourVote
    columns: tagging.ColumnsOf

    def __call__(self, nearest: Nearest) -> tagging.Columns:
        return self.columns(*self.predictor.vote(label_counts(nearest, self.predictor.state["y"].astype(np.float64))))


class MultiLabelClassificationModel(StateModel, PredictionAccessors):
    """A fitted classifier: adds the predicted labels and their scores to a frame.

    predictionCol : multi-hot vector of the predicted labels, their names in its metadata
    rawPredictionCol : vector of the labels' scores (ML-kNN: posterior probability; SVM: decision value), larger is likelier
    labelNames, featureNames : of the training data; a frame whose features have these names in another order is understood

    >>> import spark_mlfs
    >>> spark = spark_mlfs.local_session()
    >>> frame = spark_mlfs.read.planted(spark, num_rows=100, num_features=10, num_labels=2)
    >>> model = spark_mlfs.MLkNNClassifier().fit(frame)
    >>> model.transform(frame).select("prediction").first()[0].size, model.labelNames
    (2, ['label_0', 'label_1'])"""

    def predictor(self) -> Predictor:
        """The NumPy prediction, for use outside Spark: ``model.predictor().predict(x)``."""
        return CLASSIFIERS.create(self._extra["classifier"]).predictor(self.state)

    @property
    def joins_blocks(self) -> bool:
        """Whether the training rows are too many to travel to every task: they are joined by blocks."""
        predictor = self.predictor()
        return isinstance(predictor, NeighbourVote) and predictor.nbytes > BROADCAST_BYTES

    def predicted(
        self, dataset: DataFrame, columns: tagging.ColumnsOf, outputs: dict[str, str], cells: FeatureSource | None = None
    ) -> DataFrame:
        """`dataset` with what `columns` makes of the predictions of its rows, whose features `cells` reads where it is given."""
        predictor = self.predictor()
        joins = cells is None and self.joins_blocks
        if cells is None:
            cells = self.cells(dataset)
        if joins:
            read: Any = cells.read
            if self._blocks is None:
                self._blocks = training_blocks(dataset.sparkSession, self.state["x"])
            assert isinstance(predictor, NeighbourVote)
            light = type(predictor)({name: value for name, value in self.state.items() if name != "x"})
            return map_against(
                dataset, self.getFeaturesCol(), read, self._blocks, light.rows, light.stored, self.state["k"],
                PredictionOfNeighbours(light, columns), outputs,
            )  # fmt: skip
        return map_rows(dataset, cells, tagging.PredictionOfRows(predictor, columns), outputs)

    _blocks: DataFrame | None = None

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_blocks"}

    def copy(self, extra: dict[Param[Any], Any] | None = None) -> Self:
        copied = super().copy(extra)
        copied._blocks = self._blocks
        return copied

    def _transform(self, dataset: DataFrame) -> DataFrame:
        prediction, raw = self.getPredictionCol(), self.getRawPredictionCol()
        out = self.predicted(dataset, tagging.LabelVectors(prediction, raw), {prediction: "vector", raw: "vector"})
        return with_names(with_names(out, prediction, self.labelNames), raw, self.labelNames)

    def tagged(
        self,
        dataset: DataFrame,
        top_n: int | None = None,
        threshold: float | None = None,
        all_scores: bool = False,
        names: tuple[str, str] | None = None,
        cells: FeatureSource | None = None,
    ) -> DataFrame:
        """`dataset` with ``tags`` (array<string>) and their ``scores`` (array<double>), best first: the predicted labels, or the
        `top_n` best scores, or the labels that score at least `threshold`. `all_scores` adds rawPredictionCol as
        array<double>. `names` of the two columns; without, a frame that has ``tags`` or ``scores`` of its own gets
        ``predicted_tags`` and ``predicted_scores``. `cells` reads the features elsewhere than in featuresCol."""
        tagging.check_choice(top_n, threshold, len(self.labelNames))
        raw = self.getRawPredictionCol()
        tagged, scored = names or tagging.output_names(dataset.columns)
        outputs = {"__labels__": "array<int>", scored: "array<double>"} | ({raw: "array<double>"} if all_scores else {})
        if cells is not None and isinstance(cells.read, tagging.PassageReader):
            outputs[tagging.BEST] = "array<string>"
        if tagged in dataset.columns:
            raise ParameterError(f"column {tagged!r} exists already; rename it first")
        out = self.predicted(dataset, tagging.BestLabels(top_n, threshold, raw, scored), outputs, cells)
        every = F.array(*(F.lit(name) for name in self.labelNames))
        tags = F.transform("__labels__", lambda label: F.element_at(every, label + 1))
        return out.withColumn(tagged, tags).drop("__labels__")


class ClassifierEstimator(StateEstimator[MultiLabelClassificationModel, Classifier], PredictionAccessors):
    """Common part of the classifiers."""

    registry = CLASSIFIERS
    _common = (FEATURES, LABELS, *PREDICTIONS, ROW_ID, *FITTING)
    model = MultiLabelClassificationModel
    _example = f"""{FRAME}>>> model = spark_mlfs.$name().fit(frame)
>>> model.tagged(frame).first()["tags"]
['sport']"""

    def _further(self, dataset: DataFrame, parameters: Mapping[str, Any]) -> dict[str, Any]:
        column = self.getFeaturesCol()
        return slices_of(parameters, dataset.schema[column].metadata if column in dataset.columns else {}, column)

    def _small_bytes(self, fit: Fit[Classifier], profile: Profile) -> int:
        return SIDE_BY_SIDE_BYTES if fit.learner.by_label(fit.parameters) else Budgets.small


ESTIMATORS = EstimatorClasses(ClassifierEstimator, "Classifier", f"{__package__}.classifier_classes")
