"""Saving and loading: parameters as JSON text, arrays as Parquet, without the JVM.

Pipelines saved and loaded without the JVM, in pyspark's own format: pyspark's writer and reader ask
for a SparkContext, and its reader imports whatever module a folder names."""

from __future__ import annotations

import importlib
import json
import sys
from pathlib import Path
from typing import Any, cast

from pyspark.errors import AnalysisException, PySparkException
from pyspark.ml import PipelineModel
from pyspark.ml.param import Params
from pyspark.ml.util import (
    DefaultParamsReader,
    DefaultParamsWriter,
    JavaMLReadable,
    MLReadable,
    MLReader,
    MLWritable,
    MLWriter,
)
from pyspark.sql import SparkSession

from ..adapters import saved
from ..adapters.saved import AGAIN, PACKAGE, SavedData, stamp
from ..blocks.codec import State
from ..classify import CLASSIFIERS
from ..errors import DataError, ParameterError, SparkMlfsError, from_worker, worker_errors
from ..extract import EXTRACTORS
from ..frames.sessions import OF_THE_JVM, jvm_within_reach
from ..methods import METHODS


class StageWriter(MLWriter):
    """Params as JSON text in ``metadata/``, what was learned as Parquet in ``data/``, without the
    JVM."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def _handleOverwrite(self, path: str) -> None:
        """Nothing: `saveImpl` writes with mode overwrite."""

    def saveImpl(self, path: str) -> None:
        spark, learned = self.sparkSession, self._data()
        mode = "overwrite" if self.shouldOverwrite else "error"
        if learned is not None:
            frame = spark.createDataFrame(learned.frame, learned.schema)
            frame.coalesce(1).write.mode(mode).parquet(f"{path}/data")
        text = [(self._metadata(learned),)]
        spark.createDataFrame(text, "value string").coalesce(1).write.mode(mode).text(
            f"{path}/metadata"
        )

    def save_here(self, folder: Path) -> None:
        """The same files written by this process: a Spark job a file takes longer than all of
        them."""
        learned = self._data()
        saved.save_here(folder, self._metadata(learned), learned)

    def _data(self) -> SavedData | None:
        return self.instance._saved_data() if hasattr(self.instance, "_saved_data") else None

    def _metadata(self, learned: SavedData | None) -> str:
        extra = {"class": class_path(type(self.instance)), **stamp()}
        text = DefaultParamsWriter._get_metadata_to_save(
            self.instance, self.sparkSession, extraMetadata=extra
        )
        return saved.metadata_text(json.loads(text), learned)


class StageReader(MLReader[Any]):
    """Loads what `StageWriter` saved, of the class asked for or one below it; `ParameterError` says
    what else is there."""

    def __init__(self, cls: type) -> None:
        super().__init__()
        self.cls = cls

    def load(self, path: str) -> Any:
        spark = self.sparkSession
        with worker_errors():
            metadata = metadata_at(spark, path, self.cls.__name__)
            instance = self._class(path, metadata["class"])()
            saved.check_format(metadata, path)
            try:
                instance._resetUid(metadata["uid"])
                DefaultParamsReader.getAndSetParams(instance, metadata)
                if hasattr(instance, "_saved_data"):
                    instance._load_data(spark, f"{path}/data", metadata)
            except SparkMlfsError:
                raise
            except AnalysisException as error:
                own = from_worker(error)
                raise own or ParameterError(
                    f"{path}/data is not there, or holds no Parquet: {AGAIN}"
                ) from None
            except (KeyError, TypeError, ValueError, AttributeError) as error:
                raise saved.damaged(f"{path}/metadata", error) from None
            except PySparkException as error:
                raise from_worker(error) or ParameterError(
                    f"{path} cannot be loaded: {AGAIN}"
                ) from error
        return instance

    def _class(self, path: str, name: str) -> type:
        name = name.replace("org.apache.spark", "pyspark")
        module, _, kind = name.rpartition(".")
        own = module.partition(".")[0] == PACKAGE
        # a public class is known by its name, wherever in the package it stood when it was saved
        stored = (attribute(PACKAGE, kind) if own else None) or attribute(module, kind)
        if isinstance(stored, type) and issubclass(stored, self.cls):
            return stored
        where = PACKAGE if own else module
        raise ParameterError(
            f"{path!r} holds a {kind}, not a {self.cls.__name__}: call "
            f"{where}.{kind}.load({path!r})"
        )


class Storable(MLReadable[Any], MLWritable):
    """A stage or model that saves and loads with `StageWriter` and `StageReader`."""

    def write(self) -> MLWriter:
        return StageWriter(self)

    @classmethod
    def read(cls) -> MLReader[Any]:
        return StageReader(cls)


def class_path(cls: type) -> str:
    """How a saved stage names its class: a public class of this package by its public name, which
    outlives moves within it."""
    public = cls.__module__.partition(".")[0] == PACKAGE and attribute(PACKAGE, cls.__name__) is cls
    return f"{PACKAGE if public else cls.__module__}.{cls.__name__}"


def attribute(module: str, name: str) -> Any:
    """An attribute of a module; None where there is no such module, or the module has none of that
    name. What is saved has only this package, pyspark's ML and those of registered entries
    imported, and is answered from what the process has imported."""
    registered = (
        METHODS.packages() | EXTRACTORS.packages() | CLASSIFIERS.packages()
    )  # this one, too
    own = f"{module}.".startswith("pyspark.ml.") or module.partition(".")[0] in registered
    try:
        return getattr(importlib.import_module(module) if own else sys.modules[module], name, None)
    except (ImportError, ValueError, KeyError, SystemExit):
        return None


def load_state(spark: SparkSession, path: str, expected: int | None = None) -> State:
    """The inverse of `state_rows`, of the digest `expected`; `DataError` for absent or damaged
    pieces."""
    frame = spark.read.parquet(path)
    if not {"piece", "state"} <= set(frame.columns):
        raise DataError(
            f"{path} holds no saved state (its columns are {', '.join(frame.columns)}): {AGAIN}"
        )
    return saved.whole_state([row.asDict() for row in frame.toLocalIterator()], path, expected)


def save_pipeline(
    spark: SparkSession, pipeline: PipelineModel, path: str, overwrite: bool = False
) -> None:
    """Saves a pipeline whose stages are Python's own; `PipelineModel.load` and `load_pipeline` read
    it."""
    mode = "overwrite" if overwrite else "error"
    stages: list[Any] = pipeline.stages
    told = {"stageUids": [stage.uid for stage in stages], "language": "Python"}
    text = DefaultParamsWriter._get_metadata_to_save(pipeline, spark, paramMap=told)
    spark.createDataFrame([(text,)], "value string").coalesce(1).write.mode(mode).text(
        f"{path}/metadata"
    )
    for number, stage in enumerate(stages):
        place = _place(path, number, stage.uid, len(stages))
        if hasattr(stage, "stages"):
            save_pipeline(spark, stage, place, overwrite)
        else:
            (stage.write().overwrite() if overwrite else stage.write()).save(place)


def load_pipeline(spark: SparkSession, path: str) -> PipelineModel:
    """The pipeline saved at `path` by `save_pipeline`, or by pyspark. `ParameterError` where there
    is none, a stage is of the JVM that this client does not reach, or of a class that is not to be
    imported: pyspark's own reader imports whatever is named."""
    saved = metadata_at(spark, path)
    told = saved.get("paramMap", {})
    if not str(saved.get("class")).endswith(".PipelineModel"):
        raise ParameterError(f"{path} holds no pipeline")
    if told.get("language") != "Python" or "stageUids" not in told:
        if jvm_within_reach() and told.get("language") != "Python":
            return PipelineModel.load(
                path
            )  # all of its stages are the JVM's, which has the classes it was started with
        raise ParameterError(
            f"{path} holds no pipeline of Python's own stages: {OF_THE_JVM}; load it with a client "
            "of Spark 4"
        )
    stages = []
    for number, uid in enumerate(told["stageUids"]):
        place = _place(path, number, uid, len(told["stageUids"]))
        named = str(metadata_at(spark, place).get("class"))
        module, _, name = named.replace("org.apache.spark", "pyspark").rpartition(".")
        if named.startswith("org.apache.spark") and not jvm_within_reach():
            raise ParameterError(
                f"{path}: its stage {name} is of the JVM: {OF_THE_JVM}; load it with a client of "
                "Spark 4"
            )
        kind: Any = attribute(module, name)
        whole = (
            (JavaMLReadable, PipelineModel) if module.startswith("pyspark.") else Params
        )  # the others load what they hold
        if not isinstance(kind, type) or not issubclass(kind, whole):
            raise ParameterError(
                f"{path}: its stage {named} is not imported from a saved folder, which takes "
                "spark_mlfs, pyspark.ml (no stage of which holds others) and packages of "
                "registered methods: install or import the package it is of, if you trust it"
            )
        stages.append(
            load_pipeline(spark, place)
            if issubclass(kind, PipelineModel)
            else cast(Any, kind).load(place)
        )
    return PipelineModel(stages)._resetUid(saved["uid"])


def _place(path: str, number: int, uid: str, count: int) -> str:
    return f"{path}/stages/{number:0{len(str(count))}d}_{uid}"


def metadata_at(spark: SparkSession, path: str, what: str = "was") -> dict[str, Any]:
    """Return the metadata saved at `path`; `saved.AbsentError` where there are none,
    `ParameterError` where they are damaged."""
    try:
        with worker_errors():
            (text,) = spark.read.text(f"{path}/metadata").first() or ("",)
    except AnalysisException as error:
        raise saved.absent(path, what) from error
    return saved.metadata_of(text, path)
