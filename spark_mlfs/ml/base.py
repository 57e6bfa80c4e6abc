"""The common part of the pyspark.ml estimators and models, and the one recipe of fit."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Mapping, Sequence
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
from ..adapters.learned import Learned, facts_of_learned, learned_of, warn_of_early_stop
from ..adapters.saved import PIECES, SavedData, state_rows
from ..blocks.codec import State
from ..blocks.pack import Packed, pack
from ..blocks.profile import Profile
from ..errors import ParameterError, worker_errors
from ..frames.schema import fill_of
from ..frames.sessions import as_spark
from ..lazy import Self
from ..statistics.base import Budgets
from .params import Checked, known_params
from .persistence import Storable, load_state
from .rows import FeatureSource, beside_twins, feature_cells
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

    def __init_subclass__(cls, entry: str | None = None, **keywords: Any) -> None:
        parameters = () if entry is None else cls.registry[entry].parameters
        super().__init_subclass__(entry=entry, parameters=parameters, **keywords)

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

    @worker_errors()
    def _fit(self, dataset: DataFrame) -> Fitted:
        """Check, pack, compute within the budgets, release.

        The model has the estimator's uid and the params that both have."""
        dataset = self._frame(dataset)
        checked = self._check(dataset)
        started = time.perf_counter()
        with self._pack(dataset, checked) as packed:
            model = self._compute(packed, checked, started)
        model._extra |= fill_of(dataset, self.getFeaturesCol())
        return self._copyValues(model._resetUid(self.uid))

    def _frame(self, dataset: Any) -> DataFrame:
        """Return a frame of Spark or pandas as Spark's."""
        frame = as_spark(dataset)
        was_pandas = frame is not dataset
        if was_pandas and self.getFeaturesCol() not in frame.columns:
            raise ParameterError(
                f"the pandas frame has no column {self.getFeaturesCol()!r} of arrays; gather its "
                "columns with spark_mlfs.read.table(spark, frame, features=[...], labels=[...]), "
                f"or call spark_mlfs.sklearn.{type(self).__name__}"
            )
        return frame

    def _pack(self, dataset: DataFrame, checked: Checks) -> Packed:
        columns = self.getFeaturesCol(), self.getLabelsCol(), self.getIdCol()
        return pack(dataset, *columns, self.getLabelsForm(), **self._row_settings(checked))

    def _row_settings(self, checked: Checks) -> dict[str, Any]:
        """Return further arguments of `pack`: weights of rows, how grades are read."""
        return {}

    def _check(self, dataset: DataFrame) -> Checks:
        """Return the checked settings of `_compute`.

        Raises `ParameterError` for what is wrong, before any row is read."""
        raise NotImplementedError

    def _compute(self, packed: Packed, checked: Checks, started: float) -> Fitted:
        """Return the model of packed data; the fit began at `started` (`time.perf_counter`)."""
        raise NotImplementedError

    _progress: pipeline.Progress | None = None

    def onProgress(self, report: Callable[[str, int, int], None] | None) -> Self:
        """Have `report(what, done, total)` called while fitting; return the estimator.

        It is not pickled with the estimator."""
        self._progress = report
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_progress"}

    def copy(self, extra: dict[Param[Any], Any] | None = None) -> Self:
        copied = super().copy(extra)
        copied._progress = self._progress
        return copied


class Saved(Checked, Model, Storable):
    """A model that saves and loads; `_extra` are the facts of its training."""

    _extra: dict[str, Any]

    def transform(
        self, dataset: DataFrame | pd.DataFrame, params: dict[Param[Any], Any] | None = None
    ) -> DataFrame:
        """Return `dataset` with the output columns; a pandas frame goes through the session."""
        stage = self.copy(params) if params else self
        return beside_twins(as_spark(dataset), stage, stage._transform)


class StateModel(Learned, Saved, FeatureAccessors):
    """A model whose learned part is `state`, a dict of arrays, CSR matrices and plain values.

    `featureNames` and `labelNames` of the training data; `summary`: algorithm, parameters, sizes,
    seconds, Spark jobs."""

    def __init__(self) -> None:
        super().__init__()
        self.state = {}
        self._extra = {}

    @classmethod
    def of(cls, state: State, extra: dict[str, Any]) -> Self:
        """Return the model of a learned state, and of the facts of its `summary`."""
        model = cls()
        model.state = state
        model._extra = extra
        return model

    def places(self, dataset: DataFrame) -> np.ndarray | None:
        """Return where the training features are in `dataset` (`places_in`)."""
        column = self.getFeaturesCol()
        return self.places_in(self._slots(dataset), column)

    def _slots(self, dataset: DataFrame) -> Sequence[str] | None:
        column = self.getFeaturesCol()
        return self.slots(dataset, column) if column in dataset.columns else None

    def cells(self, dataset: DataFrame) -> FeatureSource:
        """Return the training features of `dataset`, missing values filled as in training."""
        column = self.getFeaturesCol()
        return feature_cells(dataset, column, *self.reading(self._slots(dataset), column))

    def _saved_data(self) -> SavedData:
        return SavedData(state_rows(self.state), PIECES, {"learned": self._extra})

    def _load_data(self, spark: SparkSession, path: str, metadata: dict[str, Any]) -> None:
        self._extra = learned_of(metadata)
        self.state = load_state(spark, path, metadata.get("data"))


class StateEstimator(MultiLabelEstimator[Trained, Fit[Learner]], Generic[Trained, Learner]):
    """Common part of extractors and classifiers: their entry's `fit` learns a state of arrays."""

    model: ClassVar[type[StateModel]]

    def _check(self, dataset: DataFrame) -> Fit[Learner]:
        table = self.entry.parameters
        owner = f"{self.registry.kind} {self.entry.name!r}"
        checked = spec.check(table, self._values(table), owner)
        return Fit(self.entry(), checked, self._added(dataset, checked))

    def _added(self, dataset: DataFrame, parameters: Mapping[str, Any]) -> dict[str, Any]:
        return {}

    def _small_bytes(self, fit: Fit[Learner], profile: Profile) -> int:
        """Return the size of blocks below which they are fitted in one task."""
        raise NotImplementedError

    def _compute(self, packed: Packed, checked: Fit[Learner], started: float) -> Trained:
        small = self._small_bytes(checked, packed.profile)
        budgets = Budgets(small, self.getDriverBytes(), self.getWorkerBytes())
        state, cost, distributed = pipeline.compute(packed, checked, self._progress, budgets)
        warn_of_early_stop(checked, state, stacklevel=5)
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
