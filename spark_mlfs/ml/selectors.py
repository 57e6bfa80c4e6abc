"""pyspark.ml Estimators and one Model over every method: fit, transform, copy, save, load,
Pipeline, names in and out.

`MultiLabelSelector(method="jmi", ...)` takes any registered method; for each there is a class in
`ml.selector_classes`, too."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, cast

import numpy as np
import pandas as pd
from pyspark.ml.param import Param, Params
from pyspark.ml.param.shared import HasOutputCol
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from .. import params as spec
from .. import pipeline
from ..adapters import glance
from ..adapters.arrays import SCREEN, grades_of
from ..adapters.classes import EstimatorClasses
from ..adapters.columns import FEATURES, GROUP, LABELS, ROW_ID, WEIGHT
from ..adapters.saved import SavedData, whole_ranking
from ..adapters.selection import OUTPUT, Selected, facts_of
from ..blocks.dataset import Dataset
from ..blocks.grades import Grades
from ..blocks.pack import are_vectors, check_column
from ..errors import ParameterError, worker_errors
from ..frames.names import column_named
from ..frames.schema import CATEGORIES, are_terms, with_categories, with_names
from ..lazy import Self
from ..methods import DEFAULT_METHOD, METHODS
from ..select import Constraints, Cut
from ..select.label_sets import COLUMNS
from ..statistics.base import Budgets
from .base import FRAME, MultiLabelEstimator, Saved
from .params import FITTING
from .rows import FeatureSource, feature_cells
from .shared import (
    CONSTRAINTS,
    GRADING,
    SELECTION,
    FeatureAccessors,
    RankingAccessors,
    SelectionAccessors,
)
from .vector_entries import filled_array, filled_vector, sliced, wrong_length


class _Selection(SelectionAccessors, FeatureAccessors, HasOutputCol):
    """Params the estimators and the model share."""

    def setOutputCol(self, value: str) -> Self:
        """Set `outputCol`."""
        return self._set(outputCol=value)

    def level(self) -> float | str:
        """Return the rate, or the threshold of the frequency, of the selection mode."""
        level = self.cut().level
        return self.getNumTopFeatures() if level is None else level

    def cut(self) -> Cut:
        """Return the cut of the selection.

        A number of features that was not set may be more than there are."""
        params = [p for p in SELECTION if self.isSet(p.camel)]
        return Cut.of({p.name: self.getOrDefault(p.camel) for p in params})


class MultiLabelSelectorModel(Selected, Saved, _Selection):
    """A ranking of features, and the transformer that keeps the best of them.

    ranking : pandas frame with rank (from 1), index, name, score and relevance of every feature
        that is not excluded, best first: of a greedy method score is the gain at the pick (NaN
        where it picked no more) and relevance what the feature is worth alone, of others both are
        the method's score; with `include` and a greedy method gain, the criterion's value given the
        included features; and what its selection goes by, NaN where a feature was not tested:
        p_value and q_value (fpr, fdr, fwe), knockoff (W), frequency (stability)
    selectedFeatures : indices of the kept features in rank order, or with ``order="index"`` in that
        of the data
    selectedFeatureNames : their names, in the same order
    featureNames : of all features it was fitted on
    gains : of a greedy method, the criterion's value at each pick
    objective, converged : of an iterative solver, the objective after each iteration and whether it
        converged
    summary : method, parameters, sizes, seconds, Spark jobs; of `auto` what was tried, what was
        chosen and the verdict
    plot() : the first selected features as a figure

    `transform` gives the selected features, and their names in the metadata, in that order, too: as
    ranked, or with ``order="index"`` as they stand in the data, which pyspark's own selectors do.
    ``numTopFeatures`` may be changed on the model; beyond what a greedy method picked, features
    follow by their relevance. So may the rates and the threshold, and the selection mode as far as
    the ranking has what it goes by. Where nothing passes nothing is selected, and `transform` gives
    vectors without entries, as pyspark's selectors do.

    >>> import spark_mlfs
    >>> spark = spark_mlfs.local_session()
    >>> frame = spark_mlfs.read.planted(spark, num_rows=100, num_features=10, num_labels=2)
    >>> model = spark_mlfs.MIMSelector(numTopFeatures=2, outputCol="selected").fit(frame)
    >>> model.ranking[["rank", "name"]].head(2).values.tolist()
    [[1, 'relevant_1'], [2, 'relevant_0']]
    >>> model.transform(frame).first()["selected"].size
    2"""

    def __init__(self) -> None:
        super().__init__()
        columns = ("rank", "index", "name", "score", "relevance")
        self._ranking = pd.DataFrame({name: [] for name in columns})
        self._extra: dict[str, Any] = {}

    @staticmethod
    def of(result: pipeline.Result) -> MultiLabelSelectorModel:
        """Return the model of a run's result."""
        model = MultiLabelSelectorModel()
        model._ranking = result.ranking
        model._extra = facts_of(result)
        return model

    def plot(self, most: int = 30, ax: Any = None) -> Any:
        """Draw the relevance of the first `most` selected features, the scores of picks as marks.

        Returns matplotlib's axes."""
        return glance.plot(
            self._title(),
            self._passing(),
            self.gains,
            most,
            ax,
        )

    def _repr_html_(self) -> str:
        """Return the first selected features as HTML, for a notebook."""
        return glance.table(self._title(), self._passing(), self.gains)

    def _title(self) -> str:
        method = self._extra.get("method", "selection")
        return f"{method}: {len(self._kept())} of {self.numFeatures} features"

    def _transform(self, dataset: DataFrame) -> DataFrame:
        column = self.getFeaturesCol()
        output = self.getOutputCol()
        check_column(dataset, column)
        if output in dataset.columns:
            raise ParameterError(
                f"outputCol {output!r} exists already; set another outputCol or drop the column"
            )
        indices = np.array(self.selectedFeatures, np.int64)
        fill = self.fill()
        if fill is not None:
            fill = fill[indices]
        if isinstance(dataset.schema[column].dataType, T.ArrayType):
            return self._transform_arrays(dataset, indices, fill)
        are_vectors(dataset, column)  # or else an error
        places, width = self.places(dataset)
        out = sliced(
            dataset,
            column,
            output,
            places,
            width,
        )
        if fill is not None and len(indices):
            out = out.withColumn(output, filled_vector(column_named(output), fill))
        names = np.array(self.featureNames, object)[indices].tolist()
        if self._extra.get("named") and names:
            out = with_names(out, output, names, are_terms(dataset, column))
        return with_categories(out, output, self._extra.get(CATEGORIES, {}))

    def _transform_arrays(
        self, dataset: DataFrame, indices: np.ndarray, fill: np.ndarray | None
    ) -> DataFrame:
        """Return `dataset` with the entries `indices` of its arrays, missing ones filled."""
        column = self.getFeaturesCol()
        cell = column_named(column)
        if len(indices):
            ordinals = F.array(*(F.lit(int(i) + 1) for i in indices))
            entries = F.transform(ordinals, lambda ordinal: F.element_at(cell, ordinal))
            if fill is not None:
                entries = filled_array(entries.cast("array<double>"), fill)
        else:
            entries = F.array().cast(dataset.schema[column].dataType)
        wrong = wrong_length(f"an array in {column!r}", F.size(cell), self.numFeatures)
        fits = cell.isNull() | (F.size(cell) == self.numFeatures)
        return dataset.withColumn(self.getOutputCol(), F.when(fits, entries).otherwise(wrong))

    def places(self, dataset: DataFrame) -> tuple[np.ndarray, int]:
        """Return where the selected features are in `dataset`, and its number of features.

        `places_in` has the rules."""
        column = self.getFeaturesCol()
        return self.places_in(self.slots(dataset, column), column)

    def cells(
        self, dataset: DataFrame, order: np.ndarray | None = None, id: Column | None = None
    ) -> FeatureSource:
        """Return the selected features of `dataset` as `transform` gives them, in `order`.

        Messages name a row by its `id`."""
        column = self.getFeaturesCol()
        reading = self.reading(self.slots(dataset, column), column, order)
        return feature_cells(dataset, column, *reading, id=id)

    def _saved_data(self) -> SavedData:
        schema = pipeline.ranking_schema(self._ranking)
        return SavedData(self._ranking, schema, {"selection": self._extra})

    def _load_data(self, spark: SparkSession, path: str, metadata: dict[str, Any]) -> None:
        self._extra = dict(metadata["selection"])
        rows: Any = spark.read.parquet(path).toPandas()
        num_excluded = len(self._constrained("exclude"))
        self._ranking = whole_ranking(rows, path, num_excluded, metadata.get("data"))


class SelectorEstimator(
    RankingAccessors, MultiLabelEstimator[MultiLabelSelectorModel, pipeline.Request], _Selection
):
    """Common part of the selectors."""

    registry = METHODS
    _common = (
        FEATURES,
        LABELS,
        OUTPUT,
        ROW_ID,
        WEIGHT,
        GROUP,
        *GRADING,
        *SELECTION,
        SCREEN,
        *CONSTRAINTS,
        *FITTING,
    )
    _example = f"""{FRAME}>>> model = spark_mlfs.$name(numTopFeatures=2).fit(frame)
>>> sorted(model.selectedFeatureNames)
['goal', 'vote']"""

    def _row_settings(self, checked: pipeline.Request) -> dict[str, Any]:
        grades = Grades.of(self._values(GRADING))
        return {
            "weight": self.getWeightCol(),
            "groups": self.getGroupCol(),
            "grades": grades,
            "counted": checked.takes_codes,
        }

    def _named(self) -> tuple[str, Mapping[str, Any]]:
        return self.entry.name, self._values(self.entry.parameters)

    def _check(self, dataset: DataFrame) -> pipeline.Request:
        request = self._request()
        grades_of(self._values(GRADING), request, self.getWeightCol() is not None)
        pipeline.check_rows([request], False, False, self.getGroupCol() is not None)
        return request

    def _request(self) -> pipeline.Request:
        method, parameters = self._named()
        constraints = Constraints.of(self._values(CONSTRAINTS))
        return pipeline.Request.of(
            method,
            parameters,
            screen=self.getScreen(),
            constraints=constraints,
            cut=self.cut(),
        )

    def fitStates(self, states: Any) -> MultiLabelSelectorModel:
        """Fit on the rows of states (`spark_mlfs.states.load`), which are not read again."""
        request = self._request()
        model = self._compute(states.dataset(requests=[request]), request, 0.0)
        return self._copyValues(model._resetUid(self.uid))

    @worker_errors()
    def byLabel(self, dataset: DataFrame) -> pd.DataFrame:
        """Return which of the features that `fit` keeps of these rows speak for each label.

        A pandas frame of label, place, name, strength, speaks ("for" or "against") and counts of
        rows (`select.label_sets`), without rows where labels are not looked at one by one. It costs
        a fit, and one scan: a model keeps no rows."""
        frame = self._frame(dataset)
        checked = self._check(frame)
        budgets = Budgets(driver=self.getDriverBytes(), worker=self.getWorkerBytes())
        with self._pack(frame, checked) as packed:
            table, _ = pipeline.by_label(packed, self._ranked(packed, checked), budgets)
        return pd.DataFrame(columns=[*COLUMNS]) if table is None else table

    def _ranked(self, packed: Dataset, checked: pipeline.Request) -> pipeline.Result:
        (result,) = pipeline.rank(
            packed,
            [checked],
            progress=self._progress,
            driver_bytes=self.getDriverBytes(),
            worker_bytes=self.getWorkerBytes(),
        )
        return result

    def _compute(
        self, packed: Dataset, checked: pipeline.Request, started: float
    ) -> MultiLabelSelectorModel:
        result = self._ranked(packed, checked)
        result.warn(stacklevel=5)
        return MultiLabelSelectorModel.of(result)


def _registered(name: str) -> str:
    return METHODS.create(name).name


class MultiLabelSelector(SelectorEstimator):
    """Selects features of multi-label data with any registered method.

    Parameters
    ----------
    method : name of the method (`spark_mlfs.METHODS` lists them), default "forward"
    methodParams : dict of the method's own parameters; they may also be given as keywords
        (``labelCoding="lp"``, ``numBins=10``)
    featuresCol : vector or array<number> column, sparse or dense
    labelsCol : multi-hot vector, array<string> tags, array<int> label numbers, or array of 0/1;
        null or NaN is unknown
    outputCol : column of the selected features
    selectionMode : how many to keep: "numTopFeatures" (default) or "percentile"; or which are worth
        keeping: "fpr", "fdr" or "fwe" (G-tests with every label), "knockoffs" or "stability"
        (`spark_mlfs.select` says what each promises). Then possibly none, which is warned of
    numTopFeatures, percentile, fpr, fdr, fwe, combination, stabilityThreshold, selectionSeed : what
        the selection mode goes by
    order : order of the kept features, of their names and of `transform`: "rank" (default), or
        "index" as in the data
    screen : a filter that runs first, such as "chi2:10000"; the method sees its best features only
    include, exclude : features that are picked first, and features that never are: names, patterns
        such as "title_*", or places
    groups : {name: features} that are picked or left together
    costs, budget : what features cost, {name or pattern: cost} or a list, and what the selection
        may cost
    penalties : what features' penalties are multiplied by, {name or pattern: number} or a list; 0:
        never shrunk away
    weightCol : column of the rows' weights, numbers of 0 or more; for methods of counts and moments
    groupCol : column of the rows' groups, such as patients, which the folds of forward and auto
        and the half-samples of stability keep whole
    gradedLabels, gradeRange : whether labels are grades, numbers from 0 to 1, and what they go from
        and to where it is not that; for methods of moments
    labelCuts : for all others: a label is positive where its grade is at least the cut; several
        cuts make a label each
    idCol, labelsForm, driverBytes, workerBytes : see `explainParams`

    Raises `ParameterError` for a wrong parameter or column, `DataError` for data that cannot be
    used, `BudgetError` where a statistic exceeds ``driverBytes`` or ``workerBytes``.

    >>> import spark_mlfs
    >>> spark = spark_mlfs.local_session()
    >>> frame = spark_mlfs.read.planted(spark, num_rows=100, num_features=10, num_labels=2)
    >>> model = MultiLabelSelector(method="mrmr", numTopFeatures=2, numBins=3).fit(frame)
    >>> model.selectedFeatureNames
    ['relevant_1', 'relevant_0']"""

    method = Param(Params._dummy(), "method", "name of the method", typeConverter=_registered)
    methodParams = Param(
        Params._dummy(), "methodParams", "the method's own parameters", typeConverter=dict
    )

    def __init__(
        self,
        method: str | None = None,
        methodParams: Mapping[str, Any] | None = None,
        **values: Any,
    ) -> None:
        super().__init__()
        self._setDefault(method=DEFAULT_METHOD, methodParams={})
        self.setParams(method=method, methodParams=methodParams, **values)

    def setParams(self, **values: Any) -> MultiLabelSelector:
        """Set several params; keywords that are not params of the selector are the method's."""
        params = {k: v for k, v in values.items() if v is not None and self.hasParam(k)}
        if "method" in params:
            self._set(method=params.pop("method"))
        of_method = {k: v for k, v in values.items() if not self.hasParam(k)}
        if of_method or "methodParams" in params:
            registered = METHODS.create(self.getMethod())
            merged = {
                **self.getMethodParams(),
                **params.pop("methodParams", {}),
                **of_method,
            }
            spec.check(registered.parameters, merged, f"method {registered.name!r}")
            self._set(methodParams=merged)
        return self._set(**params)

    def setMethod(self, value: str) -> MultiLabelSelector:
        """Sets `method`."""
        return self._set(method=value)

    def getMethod(self) -> str:
        """Value of `method`."""
        return str(self.getOrDefault("method"))

    def setMethodParams(self, value: Mapping[str, Any]) -> MultiLabelSelector:
        """Sets `methodParams`."""
        return self._set(methodParams=dict(value))

    def getMethodParams(self) -> dict[str, Any]:
        """Value of `methodParams`."""
        return cast(dict[str, Any], self.getOrDefault("methodParams"))

    def _named(self) -> tuple[str, Mapping[str, Any]]:
        return self.getMethod(), self.getMethodParams()


SELECTORS = EstimatorClasses(SelectorEstimator, "Selector", f"{__package__}.selector_classes")
