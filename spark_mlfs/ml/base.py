"""The common part of the pyspark.ml estimators and models, and the one recipe of fit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping
from typing import Any, ClassVar, Generic, TypeVar

import numpy as np
import pandas as pd
from pyspark.ml import Estimator, Model
from pyspark.ml.param import Param
from pyspark.sql import DataFrame, SparkSession

from .. import params as spec
from .. import pipeline
from ..adapters.classes import EntryEstimator, Fit, Learner
from ..adapters.docstrings import ROWS
from ..adapters.learned import Learned, facts_of_learned, learned_of
from ..adapters.saved import PIECES, SavedData, state_rows
from ..blocks.codec import State
from ..blocks.pack import Packed, pack
from ..blocks.profile import Profile
from ..errors import ParameterError
from ..frames.schema import fill_of
from ..frames.sessions import as_spark
from ..lazy import Self
from ..statistics.base import Budgets
from .params import Checked, known_params
from .persistence import Storable, load_state
from .rows import FeatureSource, feature_cells
from .shared import FeatureAccessors, FittingAccessors

Fitted = TypeVar("Fitted", bound="Saved")
Trained = TypeVar("Trained", bound="StateModel")
Checks = TypeVar("Checks")  # what the checks before packing hand to the computation


SESSION = ">>> import spark_mlfs\n>>> spark = spark_mlfs.local_session()\n"
FRAME = (
    f"{SESSION}{ROWS}>>> frame = spark_mlfs.read.table(spark, X.assign(tags=tags), "
    'features=[*X], labels="tags")\n'
)


class EntryStage(EntryEstimator, Checked):
    """A stage whose parameters are those of a registry's entry, as Params."""

    def __init_subclass__(cls, entry: str | None = None, **further: Any) -> None:
        own = () if entry is None else cls.registry[entry].parameters
        super().__init_subclass__(entry=entry, parameters=own, **further)

    @classmethod
    def _give_methods(cls, known: dict[str, Any]) -> None:
        def setParams(self: Any, **values: Any) -> Any:
            """Sets several params: those that are passed."""
            return self._take(values, known)

        super()._give_methods(known)
        cls._add(setParams, "Self")

    def _take(self, values: dict[str, Any], known: Mapping[str, Any]) -> Self:
        return self._set(**known_params(self, values, known))

    def _values(self, parameters: Iterable[spec.Parameter]) -> dict[str, Any]:
        return {p.name: self.getOrDefault(p.camel) for p in parameters}


class MultiLabelEstimator(
    EntryStage,
    FittingAccessors,
    FeatureAccessors,
    Estimator[Fitted],
    Storable,
    Generic[Fitted, Checks],
):
    """Common part of every estimator: the columns it reads and how it runs."""

    def _fit(self, dataset: DataFrame) -> Fitted:
        """Check, pack, compute within the budgets, release. The model has the estimator's uid and
        the params that both have."""
        given, dataset = dataset, as_spark(dataset)
        if dataset is not given and self.getFeaturesCol() not in dataset.columns:
            raise ParameterError(
                f"the pandas frame has no column {self.getFeaturesCol()!r} of arrays; gather its "
                "columns with spark_mlfs.read.table(spark, frame, features=[...], labels=[...]), "
                f"or call spark_mlfs.sklearn.{type(self).__name__}"
            )
        checked = self._check(dataset)
        started = time.perf_counter()
        columns = self.getFeaturesCol(), self.getLabelsCol(), self.getIdCol()
        with pack(dataset, *columns, self.getLabelsForm(), **self._row_settings(checked)) as packed:
            model = self._compute(packed, checked, started)
        model._extra |= fill_of(dataset, self.getFeaturesCol())
        return self._copyValues(model._resetUid(self.uid))

    def _row_settings(self, checked: Checks) -> dict[str, Any]:
        """The weights of rows, how grades are read and the like, as `pack` is told by an estimator
        that takes them."""
        return {}

    def _check(self, dataset: DataFrame) -> Checks:
        """Return the checked settings of `_compute`. `ParameterError` for what is wrong, before any
        row is read."""
        raise NotImplementedError

    def _compute(self, packed: Packed, checked: Checks, started: float) -> Fitted:
        """The model of packed data; the fit began at `started` (`time.perf_counter`)."""
        raise NotImplementedError

    _progress: pipeline.Progress | None = None

    def onProgress(self, report: Callable[[str, int, int], None] | None) -> Self:
        """Calls `report(what, done, total)` while fitting; returns the estimator. It is not pickled
        with the estimator."""
        self._progress = report
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_progress"}

    def copy(self, extra: dict[Param[Any], Any] | None = None) -> Self:
        copied = super().copy(extra)
        copied._progress = self._progress
        return copied


class Saved(Checked, Model, Storable):
    """A model that saves and loads; `_extra` is what it says of its training."""

    _extra: dict[str, Any]

    def transform(
        self, dataset: DataFrame | pd.DataFrame, params: dict[Param[Any], Any] | None = None
    ) -> DataFrame:
        """`dataset` with the output columns; a pandas frame goes through the session."""
        return super().transform(as_spark(dataset), params)


class StateModel(Learned, Saved, FeatureAccessors):
    """A model whose learned part is `state`, a dict of arrays, CSR matrices and plain values.

    `featureNames` and `labelNames` of the training data; `summary`: algorithm, parameters, sizes,
    seconds, Spark jobs."""

    def __init__(self) -> None:
        super().__init__()
        self.state, self._extra = {}, {}

    @classmethod
    def of(cls, state: State, extra: dict[str, Any]) -> Self:
        """The model of what was learned, and of what `summary` tells about it."""
        model = cls()
        model.state, model._extra = state, extra
        return model

    def places(self, dataset: DataFrame) -> np.ndarray | None:
        """Return where the training features are in `dataset` (`places_in`)."""
        column = self.getFeaturesCol()
        return self.places_in(
            self.slots(dataset, column) if column in dataset.columns else None, column
        )

    def cells(self, dataset: DataFrame) -> FeatureSource:
        """The features of `dataset` as they were trained on, missing values filled as they were
        there."""
        column = self.getFeaturesCol()
        names = self.slots(dataset, column) if column in dataset.columns else None
        return feature_cells(dataset, column, *self.reading(names, column))

    def _saved_data(self) -> SavedData:
        return SavedData(state_rows(self.state), PIECES, {"learned": self._extra})

    def _load_data(self, spark: SparkSession, path: str, metadata: dict[str, Any]) -> None:
        self._extra = learned_of(metadata)
        self.state = load_state(spark, path, metadata.get("data"))


class StateEstimator(MultiLabelEstimator[Trained, Fit[Learner]], Generic[Trained, Learner]):
    """Common part of extractors and classifiers: their entry's `fit` learns a state of arrays."""

    model: ClassVar[type[StateModel]]

    def _check(self, dataset: DataFrame) -> Fit[Learner]:
        checked = spec.check(
            self.entry.parameters,
            self._values(self.entry.parameters),
            f"{self.registry.kind} {self.entry.name!r}",
        )
        return Fit(self.entry(), checked, self._further(dataset, checked))

    def _further(self, dataset: DataFrame, parameters: Mapping[str, Any]) -> dict[str, Any]:
        return {}

    def _small_bytes(self, fit: Fit[Learner], profile: Profile) -> int:
        """Blocks below this size are fitted in one task."""
        raise NotImplementedError

    def _compute(self, packed: Packed, checked: Fit[Learner], started: float) -> Trained:
        small = self._small_bytes(checked, packed.profile)
        budgets = Budgets(small, self.getDriverBytes(), self.getWorkerBytes())
        state, cost, distributed = pipeline.compute(packed, checked, self._progress, budgets)
        facts = facts_of_learned(
            self.registry.kind,
            checked,
            packed,
            state,
            cost,
            time.perf_counter() - started,
            distributed,
        )
        return self.model.of(state, facts)  # type: ignore[return-value]
