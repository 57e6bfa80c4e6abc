"""Saving and loading: parameters as JSON text, arrays as Parquet, without the JVM.

Pipelines saved and loaded without the JVM, in pyspark's own format: pyspark's writer and reader ask
for a SparkContext, and its reader imports whatever module a folder names."""

from __future__ import annotations

import importlib
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

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
from ..errors import NO_PARQUET, ParameterError, SparkMlfsError, from_worker, worker_errors
from ..extract import EXTRACTORS
from ..frames.sessions import OF_THE_JVM, jvm_within_reach
from ..methods import METHODS


class StageWriter(MLWriter):
    """Params as JSON text in ``metadata/``, learned data as Parquet in ``data/``, without the
    JVM."""

    def __init__(self, instance: Any) -> None:
        super().__init__()
        self.instance = instance

    def _handleOverwrite(self, path: str) -> None:
        """Do nothing: `saveImpl` writes with mode overwrite."""

    def saveImpl(self, path: str) -> None:
        spark = self.sparkSession
        learned = self._data()
        with _written(path, self.shouldOverwrite) as mode:
            if learned is not None:
                frame = spark.createDataFrame(learned.frame, learned.schema)
                frame.coalesce(1).write.mode(mode).parquet(f"{path}/data")
            text = [(self._metadata(learned),)]
            spark.createDataFrame(text, "value string").coalesce(1).write.mode(mode).text(
                f"{path}/metadata"
            )

    def save_here(self, folder: Path) -> None:
        """Write the same files by this process: a Spark job a file takes longer than all."""
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


@contextmanager
def _written(path: str, overwrite: bool) -> Iterator[str]:
    """Yield Spark's mode of writing.

    Raises `ParameterError` where something is at `path` that is not to be replaced."""
    with worker_errors():
        try:
            yield "overwrite" if overwrite else "error"
        except AnalysisException as error:
            if "PATH_ALREADY_EXISTS" not in str(error):
                raise
            raise ParameterError(
                f"{path} exists already: give another path, or overwrite it (overwrite=True, or "
                ".write().overwrite().save(path))"
            ) from None


class StageReader(MLReader[Any]):
    """Loads what `StageWriter` saved, of the requested class or one below it.

    `ParameterError` names the class that is there instead."""

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
                    with _data():
                        instance._load_data(spark, f"{path}/data", metadata)
            except SparkMlfsError:
                raise
            except AnalysisException as error:
                raise from_worker(error) or saved.unreadable(path) from None
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
        is_ours = module.partition(".")[0] == PACKAGE
        # a public class is known by its name, wherever in the package it stood when it was saved
        stored = (attribute(PACKAGE, kind) if is_ours else None) or attribute(module, kind)
        if isinstance(stored, type) and issubclass(stored, self.cls):
            return stored
        package = PACKAGE if is_ours else module
        raise ParameterError(
            f"{path!r} holds a {kind}, not a {self.cls.__name__}: call "
            f"{package}.{kind}.load({path!r})"
        )


@contextmanager
def _data() -> Iterator[None]:
    """Surround the reading of what was learned; of a damaged file the message says what to copy."""
    try:
        yield
    except Exception as error:
        known = str(from_worker(error))
        if known.endswith(f": {NO_PARQUET}"):
            raise saved.no_parquet(known.removesuffix(f": {NO_PARQUET}")) from None
        raise


class Storable(MLReadable[Any], MLWritable):
    """A stage or model that saves and loads with `StageWriter` and `StageReader`."""

    def write(self) -> MLWriter:
        return StageWriter(self)

    @classmethod
    def read(cls) -> MLReader[Any]:
        return StageReader(cls)


def class_path(cls: type) -> str:
    """Return the name of a class in a saved stage.

    Of a public class of this package the public name, which outlives moves within it."""
    public = cls.__module__.partition(".")[0] == PACKAGE and attribute(PACKAGE, cls.__name__) is cls
    return f"{PACKAGE if public else cls.__module__}.{cls.__name__}"


def attribute(module: str, name: str) -> Any:
    """Return an attribute of a module; None where there is no such module or attribute.

    A saved folder has only this package, pyspark's ML and those of registered entries imported; of
    others it gets what the process has imported."""
    # the packages of entries, this one among them
    registered = METHODS.packages() | EXTRACTORS.packages() | CLASSIFIERS.packages()
    may_import = f"{module}.".startswith("pyspark.ml.") or module.partition(".")[0] in registered
    try:
        loaded = importlib.import_module(module) if may_import else sys.modules[module]
    except (ImportError, ValueError, KeyError, SystemExit):
        return None
    return getattr(loaded, name, None)


def load_state(spark: SparkSession, path: str, expected: int | None = None) -> State:
    """Load a state, the inverse of `state_rows`, of the digest `expected`.

    Raises `DataError` for absent or damaged pieces."""
    rows = spark.read.parquet(path).toLocalIterator()
    return saved.whole_state([row.asDict() for row in rows], path, expected)


def save_pipeline(
    spark: SparkSession,
    pipeline: PipelineModel,
    path: str,
    overwrite: bool = False,
) -> None:
    """Save a pipeline whose stages are Python's own.

    `PipelineModel.load` and `load_pipeline` read it."""
    stages: list[Any] = pipeline.stages
    param_map = {"stageUids": [stage.uid for stage in stages], "language": "Python"}
    text = DefaultParamsWriter._get_metadata_to_save(pipeline, spark, paramMap=param_map)
    with _written(path, overwrite) as mode:
        spark.createDataFrame([(text,)], "value string").coalesce(1).write.mode(mode).text(
            f"{path}/metadata"
        )
    for number, stage in enumerate(stages):
        place = _place(path, number, stage.uid, len(stages))
        if hasattr(stage, "stages"):
            save_pipeline(spark, stage, place, overwrite)
        else:
            writer = stage.write()
            (writer.overwrite() if overwrite else writer).save(place)


def load_pipeline(spark: SparkSession, path: str) -> PipelineModel:
    """Load the pipeline saved at `path` by `save_pipeline`, or by pyspark.

    Raises `ParameterError` where there is none, a stage is of the JVM that this client does not
    reach, or of a class that is not to be imported: pyspark's own reader imports whatever is
    named."""
    metadata = metadata_at(spark, path)
    if not str(metadata.get("class")).endswith(".PipelineModel"):
        raise ParameterError(f"{path} holds no pipeline")
    uids = saved.stage_uids(metadata, path)
    if uids is None:
        if jvm_within_reach():
            # all of its stages are the JVM's, which has the classes it was started with
            return PipelineModel.load(path)
        raise ParameterError(
            f"{path} holds no pipeline of Python's own stages: {OF_THE_JVM}; load it with a client "
            "of Spark 4"
        )
    stages: list[Any] = []
    for number, uid in enumerate(uids):
        place = _place(path, number, uid, len(uids))
        with saved.stage_of(path, place.removeprefix(f"{path}/")):
            kind = _stage_class(spark, path, place)
        if issubclass(kind, PipelineModel):
            stages.append(load_pipeline(spark, place))
        else:
            stages.append(kind.load(place))
    return PipelineModel(stages)._resetUid(metadata["uid"])


def _stage_class(spark: SparkSession, path: str, place: str) -> Any:
    """Return the class of the stage saved at `place`, of the pipeline at `path`.

    Raises `ParameterError` for one that this client cannot load, or does not import."""
    class_name = str(metadata_at(spark, place).get("class"))
    module, _, name = class_name.replace("org.apache.spark", "pyspark").rpartition(".")
    if class_name.startswith("org.apache.spark") and not jvm_within_reach():
        raise ParameterError(
            f"{path}: its stage {name} is of the JVM: {OF_THE_JVM}; load it with a client of "
            "Spark 4"
        )
    kind: Any = attribute(module, name)
    # other classes of pyspark load the stages that they hold
    of_pyspark = module.startswith("pyspark.")
    loadable: Any = (JavaMLReadable, PipelineModel) if of_pyspark else Params
    if not isinstance(kind, type) or not issubclass(kind, loadable):
        raise ParameterError(
            f"{path}: its stage {class_name} is not imported from a saved folder, which takes "
            "spark_mlfs, pyspark.ml (no stage of which holds others) and packages of "
            "registered methods: install or import the package it is of, if you trust it"
        )
    return kind


def _place(
    path: str,
    number: int,
    uid: str,
    count: int,
) -> str:
    return f"{path}/stages/{number:0{len(str(count))}d}_{uid}"


def metadata_at(spark: SparkSession, path: str, kind: str = "was") -> dict[str, Any]:
    """Return the metadata saved at `path`.

    Raises `saved.AbsentError`, which names the `kind`, where there are none, `ParameterError` where
    they are damaged."""
    try:
        with worker_errors():
            (text,) = spark.read.text(f"{path}/metadata").first() or ("",)
    except AnalysisException as error:
        raise saved.absent(path, kind) from error
    return saved.metadata_of(text, path)
