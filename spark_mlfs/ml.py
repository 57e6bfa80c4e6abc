"""pyspark.ml plumbing that selectors, extractors and classifiers share.

Params from parameter lists, estimators that pack their data once, models whose state is a dict of arrays (saved as JSON and
Parquet, without the JVM), and NumPy functions of rows as columns of a frame.
"""

from __future__ import annotations

import importlib
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import scipy.sparse as sp
from pyspark.errors import AnalysisException
from pyspark.ml import Estimator, Model
from pyspark.ml.functions import array_to_vector
from pyspark.ml.linalg import VectorUDT
from pyspark.ml.param import Param, Params, TypeConverters
from pyspark.ml.param.shared import HasFeaturesCol
from pyspark.ml.util import (
    DefaultParamsReadable,
    DefaultParamsReader,
    DefaultParamsWriter,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F
from pyspark.sql import types as T

from .errors import DataError, ParameterError
from .params import Choice, Integer, Parameter
from .prepare.blocks import read_features
from .prepare.labels import FORMS
from .schema import attribute_names
from .statistics.base import State, decode, encode
from .statistics.runner import DRIVER_BYTES, WORKER_BYTES

FITTING = (
    Parameter("labels_form", "auto", Choice(FORMS), "how an array column holds the labels"),
    Parameter("driver_bytes", DRIVER_BYTES, Integer(1 << 20), "largest statistic the driver takes, in bytes"),
    Parameter("worker_bytes", WORKER_BYTES, Integer(1 << 20), "rows and statistics one worker process holds, in bytes"),
)
PIECE_BYTES = 16 << 20  # of a saved state: well below what a Parquet page or a Connect message takes


# ---- Params ----


def declare(owner: type, parameters: Sequence[Parameter]) -> None:
    """pyspark.ml Params, setters and getters of `parameters` on a class."""
    for parameter in parameters:
        name = parameter.camel
        doc = f"{parameter.doc} ({parameter.constraint})"
        setattr(owner, name, Param(Params._dummy(), name, doc, typeConverter=parameter.accept))
        head = name[0].upper() + name[1:]

        def setter(self: Any, value: Any, _name: str = name) -> Any:
            return self._set(**{_name: value})

        def getter(self: Any, _name: str = name) -> Any:
            return self.getOrDefault(_name)

        setter.__doc__, getter.__doc__ = f"Sets `{name}`: {doc}.", f"Value of `{name}`: {doc}."
        setattr(owner, f"set{head}", setter)
        setattr(owner, f"get{head}", getter)


def set_params(stage: Any, values: Mapping[str, Any]) -> Any:
    """Sets several params of a stage; `ParameterError` names an unknown one."""
    for key in values:
        if not stage.hasParam(key):
            valid = ", ".join(sorted(p.name for p in stage.params))
            raise ParameterError(f"{type(stage).__name__} has no param {key!r}; it takes: {valid}")
    return stage._set(**values)


class Checked(Params):
    """Params that refuse None where it is no value of theirs; pyspark's own take it unasked."""

    def _set(self, **values: Any) -> Any:
        for name, value in values.items():
            if value is None:
                self.getParam(name).typeConverter(value)
        return super()._set(**values)


def _name_or_none(value: Any) -> str | None:
    return None if value is None else str(value)


class MultiLabelEstimator(Checked, Estimator, HasFeaturesCol, DefaultParamsReadable, MLWritable):
    """Common part of every estimator: the columns it reads and how it runs."""

    labelsCol = Param(Params._dummy(), "labelsCol", "labels column name", typeConverter=TypeConverters.toString)
    idCol = Param(
        Params._dummy(),
        "idCol",
        "row id column name: unique and stable; without one a row is known by the hash of its content",
        typeConverter=_name_or_none,
    )

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(featuresCol="features", labelsCol="labels", idCol=None, **{p.camel: p.default for p in FITTING})

    def setFeaturesCol(self, value: str) -> Any:
        """Sets `featuresCol`."""
        return self._set(featuresCol=value)

    def setLabelsCol(self, value: str) -> Any:
        """Sets `labelsCol`."""
        return self._set(labelsCol=value)

    def getLabelsCol(self) -> str:
        """Value of `labelsCol`."""
        return self.getOrDefault("labelsCol")

    def setIdCol(self, value: str | None) -> Any:
        """Sets `idCol`."""
        return self._set(idCol=value)

    def getIdCol(self) -> str | None:
        """Value of `idCol`."""
        return self.getOrDefault("idCol")

    def write(self) -> MLWriter:
        return Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        return Reader(cls)

    _progress: Any = None

    def onProgress(self, report: Any) -> Any:
        """Calls `report(what, done, total)` while fitting; returns the estimator. It is not pickled with the estimator."""
        self._progress = report
        return self

    def __getstate__(self) -> dict[str, Any]:
        return {name: value for name, value in self.__dict__.items() if name != "_progress"}

    def copy(self, extra: Any = None) -> Any:
        copied = super().copy(extra)
        copied._progress = self._progress
        return copied

    def _learned(self, model: Any) -> Any:
        """The model as `fit` returns it: with the estimator's uid, as pyspark's own have, and the params that both have."""
        return self._copyValues(model._resetUid(self.uid))


declare(MultiLabelEstimator, FITTING)


# ---- models made of arrays ----


class Saved(Checked, Model, MLReadable, MLWritable):
    """A model that saves and loads with `Writer` and `Reader`."""

    def _save_data(self, spark: SparkSession, path: str, mode: str) -> dict[str, Any]:
        """Writes what was learned to `path`; returns what joins the metadata."""
        raise NotImplementedError

    def _load_data(self, spark: SparkSession, path: str, metadata: dict[str, Any]) -> None:
        """The inverse of `_save_data`."""
        raise NotImplementedError

    def write(self) -> MLWriter:
        return Writer(self)

    @classmethod
    def read(cls) -> MLReader:
        return Reader(cls)


class StateModel(Saved, HasFeaturesCol):
    """A model whose learned part is `state`, a dict of arrays, CSR matrices and plain values.

    `featureNames` and `labelNames` of the training data; `summary`: algorithm, parameters, sizes, seconds, Spark jobs.
    """

    def __init__(self) -> None:
        super().__init__()
        self._setDefault(featuresCol="features")
        self.state: State = {}
        self._extra: dict[str, Any] = {}

    def setFeaturesCol(self, value: str) -> Any:
        """Sets `featuresCol`."""
        return self._set(featuresCol=value)

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
    def summary(self) -> dict[str, Any]:
        return {k: v for k, v in self._extra.items() if k not in ("feature_names", "label_names")}

    def copy(self, extra: Any = None) -> Any:
        copied = super().copy(extra)
        copied.state, copied._extra = self.state, dict(self._extra)
        return copied

    def _places(self, dataset: DataFrame) -> np.ndarray | None:
        """Where the training features are in `dataset`: None where they are in place."""
        column = self.getFeaturesCol()
        found = attribute_names(dataset, column) if column in dataset.columns else None
        if found is None or not self._extra.get("named"):
            return None
        names = self.featureNames
        if found == names:
            return None
        return place(np.array(names, object), np.arange(len(names)), found, column)

    def _save_data(self, spark: SparkSession, path: str, mode: str) -> dict[str, Any]:
        save_state(spark, path, self.state, mode)
        return {"learned": self._extra}

    def _load_data(self, spark: SparkSession, path: str, metadata: dict[str, Any]) -> None:
        self.state, self._extra = load_state(spark, path), metadata["learned"]


def place(names: np.ndarray, indices: np.ndarray, found: Sequence[str], column: str) -> np.ndarray:
    """Where the features names[indices] are among the names `found` of a frame's column."""
    where = {name: index for index, name in enumerate(found)}
    missing = [names[i] for i in indices if names[i] not in where]
    if missing:
        some = ", ".join(map(repr, missing[:3]))
        raise DataError(
            f"{column!r} lacks {len(missing)} of the features it was fitted on ({some}…); give the frame the training features"
        )
    return np.array([where[names[i]] for i in indices])


class Writer(MLWriter):
    """Params as JSON text in ``metadata/``, what was learned as Parquet in ``data/``: readable by anything, written without the
    JVM."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def _handleOverwrite(self, path: str) -> None:
        """Nothing: `saveImpl` writes with mode overwrite."""

    def saveImpl(self, path: str) -> None:
        spark, instance = self.sparkSession, self.instance
        mode = "overwrite" if self.shouldOverwrite else "error"
        extra = instance._save_data(spark, f"{path}/data", mode) if isinstance(instance, Saved) else None
        extra = None if extra is None else json.loads(json.dumps(extra, default=plain))
        metadata = DefaultParamsWriter._get_metadata_to_save(instance, spark, extraMetadata=extra)
        spark.createDataFrame([(metadata,)], "value string").coalesce(1).write.mode(mode).text(f"{path}/metadata")


class Reader(MLReader):
    """Loads an estimator or a model that `Writer` saved, of the class asked for or one below it. `ParameterError` says what else
    the path holds and what loads it."""

    def __init__(self, cls: type) -> None:
        super().__init__()
        self.cls = cls

    def load(self, path: str) -> Any:
        spark = self.sparkSession
        metadata = self._metadata(spark, path)
        instance = self._class(path, metadata["class"])()
        instance._resetUid(metadata["uid"])
        DefaultParamsReader.getAndSetParams(instance, metadata)
        if isinstance(instance, Saved):
            instance._load_data(spark, f"{path}/data", metadata)
        return instance

    def _metadata(self, spark: SparkSession, path: str) -> dict[str, Any]:
        try:
            metadata = json.loads(spark.read.text(f"{path}/metadata").first()[0])
            return metadata | {"class": str(metadata["class"]), "uid": str(metadata["uid"])}
        except (AnalysisException, ValueError, TypeError, KeyError) as error:
            raise ParameterError(
                f"{path!r} holds nothing that {self.cls.__name__} saved (no metadata to read): give the folder that was saved to"
            ) from error

    def _class(self, path: str, name: str) -> type:
        """The class a path holds."""
        name = name.replace("org.apache.spark", "pyspark")
        module, _, kind = name.rpartition(".")
        try:
            held = getattr(importlib.import_module(module), kind)
        except (ImportError, AttributeError, ValueError):
            held = None
        if isinstance(held, type) and issubclass(held, self.cls):
            return held
        where = "spark_mlfs" if module.startswith("spark_mlfs.") else module
        raise ParameterError(f"{path!r} holds a {kind}, not a {self.cls.__name__}: call {where}.{kind}.load({path!r})")


def plain(value: Any) -> Any:
    """NumPy numbers and arrays as what JSON takes."""
    if isinstance(value, (np.integer, np.floating, np.bool_)):
        return value.item()
    if isinstance(value, np.ndarray):
        return value.tolist()
    raise TypeError(f"cannot save {type(value).__name__}")


def save_state(spark: SparkSession, path: str, state: State, mode: str = "error") -> None:
    """A dict of arrays as Parquet: its encoding (`statistics.base.encode`) cut into pieces of 16 MB."""
    data = bytes(encode(state))
    pieces = [(i, data[a : a + PIECE_BYTES]) for i, a in enumerate(range(0, len(data), PIECE_BYTES))]
    spark.createDataFrame(pieces, "piece int, state binary").coalesce(1).write.mode(mode).parquet(path)


def load_state(spark: SparkSession, path: str) -> State:
    """The inverse of `save_state`."""
    pieces = sorted(spark.read.parquet(path).toLocalIterator(), key=lambda row: row.piece)
    return decode(b"".join(bytes(row.state) for row in pieces))


# ---- functions of rows ----


def model_rows(column: pa.Array, vectors: bool, width: int, places: np.ndarray | None) -> np.ndarray | sp.csr_matrix:
    """(rows, width) float64 features of a batch of arrays, or of the structs of vectors; CSR where any row is sparse. `places`
    reorders the columns first. `DataError` for null cells, what is no finite number, and other widths."""
    x, problem = read_features(column, vectors, narrow=False)
    if problem is not None:
        what, _, slot = problem
        raise DataError(f"a row cannot be used: {what if slot is None else f'its feature {slot} {what}'}")
    if places is not None and places.max(initial=-1) < x.shape[1]:
        x = x[:, places]
    elif x.shape[1] != width or places is not None:
        raise DataError(f"a feature vector has {x.shape[1]} entries, the model was fitted on {width}")
    return x


def lists_of(values: Any) -> pa.ListArray:
    """A (rows, w) array, or a pair (values, lengths) of rows of different lengths, as an Arrow array of lists."""
    if isinstance(values, tuple):
        flat, lengths = values
    else:
        flat, lengths = values.ravel(), np.full(len(values), values.shape[1])
    offsets = np.zeros(len(lengths) + 1, np.int32)
    np.cumsum(lengths, out=offsets[1:])
    return pa.ListArray.from_arrays(pa.array(offsets), pa.array(flat))


def map_rows(
    dataset: DataFrame,
    features: str,
    width: int,
    function: Callable[[np.ndarray | sp.csr_matrix], Mapping[str, np.ndarray]],
    outputs: Mapping[str, str],
    places: np.ndarray | None = None,
) -> DataFrame:
    """`dataset` with columns computed row by row from its features column.

    `function(x)` takes (rows, width) raw features, dense float64 or CSR, and returns for each key of `outputs` what `lists_of`
    takes. `outputs` maps a new column's name to ``"vector"`` (dense), ``array<double>`` or ``array<int>``.
    `places` reorders the dataset's features first. The function and what it closes over travel to the workers: keep it
    within some tens of MB. Raises `ParameterError` for an absent column and for an output column that exists.
    """
    if features not in dataset.columns:
        raise ParameterError(f"there is no column {features!r}; the columns are {', '.join(dataset.columns)}")
    for name in outputs:
        if name in dataset.columns:
            raise ParameterError(f"column {name!r} exists already; set another output column or drop it")
    kind = dataset.schema[features].dataType
    if isinstance(kind, VectorUDT):
        source = F.unwrap_udt(F.col(features))
    elif isinstance(kind, T.ArrayType) and isinstance(kind.elementType, T.NumericType):
        source = F.col(features).cast("array<double>")
    else:
        raise ParameterError(f"features column {features!r} is {kind.simpleString()}; give a vector or an array of numbers")
    types = ["array<double>" if wanted == "vector" else wanted for wanted in outputs.values()]
    schema = ", ".join(f"c{i} {wanted}" for i, wanted in enumerate(types))
    cells = {name: pa.list_(pa.int32() if wanted == "array<int>" else pa.float64()) for name, wanted in outputs.items()}
    task = RowTask(function, cells, width, places, isinstance(kind, VectorUDT))
    temporary, given = "__spark_mlfs_rows__", "__spark_mlfs_given__"
    # a step of its own, kept apart by the condition: Spark 4.3 cannot hand a vector column of a Parquet file past a UDF
    dataset = dataset.withColumn(given, F.when(F.monotonically_increasing_id() >= 0, source))
    out = dataset.withColumn(temporary, task.udf(schema)(F.col(given)))
    for i, (name, wanted) in enumerate(outputs.items()):
        value = F.col(f"{temporary}.c{i}")
        out = out.withColumn(name, array_to_vector(value) if wanted == "vector" else value)
    return out.drop(temporary, given)


class RowTask:
    """Worker side of `map_rows`."""

    def __init__(
        self, function: Callable, cells: dict[str, pa.ListType], width: int, places: np.ndarray | None, vectors: bool
    ) -> None:
        self.function, self.cells, self.width, self.places, self.vectors = function, cells, width, places, vectors

    def __call__(self, column: pa.Array) -> pa.StructArray:
        from .statistics.runner import one_thread

        if not len(column):
            return self._struct([pa.array([], kind) for kind in self.cells.values()])
        with one_thread():
            found = self.function(model_rows(column, self.vectors, self.width, self.places))
        return self._struct([lists_of(found[name]) for name in self.cells])

    def _struct(self, columns: list[pa.Array]) -> pa.StructArray:
        return pa.StructArray.from_arrays(columns, [f"c{i}" for i in range(len(columns))])

    def udf(self, schema: str) -> Callable[[Column], Column]:
        """The task as an iterator of batches, so that what it holds is unpickled once a task. Spark before 4.1 has no UDF of
        Arrow arrays: there they pass through pandas, value by value."""
        if hasattr(F, "arrow_udf"):

            def arrays(columns: Iterator[pa.Array]) -> Iterator[pa.Array]:
                return map(self, columns)

            arrays.__annotations__ = {"columns": Iterator[pa.Array], "return": Iterator[pa.Array]}
            return F.arrow_udf(arrays, schema)

        def frames(columns: Iterator[Any]) -> Iterator[pd.DataFrame]:
            for column in columns:
                found = self(_arrow(column))
                yield pd.DataFrame({field.name: found.field(field.name).to_pandas() for field in found.type})

        cells = pd.DataFrame if self.vectors else pd.Series  # a vector arrives as a struct: one column a field
        frames.__annotations__ = {"columns": Iterator[cells], "return": Iterator[pd.DataFrame]}
        return F.pandas_udf(frames, schema)


def _arrow(column: pd.Series | pd.DataFrame) -> pa.Array:
    """What pandas made of a column of arrays, or of the structs of vectors, in Arrow again."""
    if isinstance(column, pd.Series):
        return pa.array(column, pa.list_(pa.float64()))
    kinds = {"type": pa.int8(), "size": pa.int32(), "indices": pa.list_(pa.int32()), "values": pa.list_(pa.float64())}
    absent = column["type"].isna().to_numpy()
    parts = [pa.array(column[name], kind, from_pandas=True) for name, kind in kinds.items()]
    return pa.StructArray.from_arrays(parts, list(kinds), mask=pa.array(absent))
