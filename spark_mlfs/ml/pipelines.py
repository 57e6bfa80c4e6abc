"""Pipelines saved and loaded without the JVM, in pyspark's own format: pyspark's writer and reader ask for a SparkContext,
and its reader imports whatever module a folder names."""

from __future__ import annotations

from typing import Any, cast

from pyspark.errors import AnalysisException
from pyspark.ml import PipelineModel
from pyspark.ml.param import Params
from pyspark.ml.util import DefaultParamsWriter, JavaMLReadable
from pyspark.sql import SparkSession

from ..adapters.saved import AGAIN
from ..errors import ParameterError, worker_errors
from ..params import from_json
from ..read.frames import OF_THE_JVM, jvm_within_reach
from .persistence import attribute


def save_pipeline(spark: SparkSession, pipeline: PipelineModel, path: str, overwrite: bool = False) -> None:
    """Saves a pipeline whose stages are Python's own; `PipelineModel.load` and `load_pipeline` read it."""
    mode = "overwrite" if overwrite else "error"
    stages: list[Any] = pipeline.stages
    told = {"stageUids": [stage.uid for stage in stages], "language": "Python"}
    text = DefaultParamsWriter._get_metadata_to_save(pipeline, spark, paramMap=told)
    spark.createDataFrame([(text,)], "value string").coalesce(1).write.mode(mode).text(f"{path}/metadata")
    for number, stage in enumerate(stages):
        place = _place(path, number, stage.uid, len(stages))
        if hasattr(stage, "stages"):
            save_pipeline(spark, stage, place, overwrite)
        else:
            (stage.write().overwrite() if overwrite else stage.write()).save(place)


def load_pipeline(spark: SparkSession, path: str) -> PipelineModel:
    """The pipeline saved at `path` by `save_pipeline`, or by pyspark. `ParameterError` where there is none, a stage is of the JVM
    that this client does not reach, or of a class that is not to be imported: pyspark's own reader imports whatever is named."""
    saved = _metadata(spark, path)
    told = saved.get("paramMap", {})
    if not str(saved.get("class")).endswith(".PipelineModel"):
        raise ParameterError(f"{path} holds no pipeline")
    if told.get("language") != "Python" or "stageUids" not in told:
        if jvm_within_reach() and told.get("language") != "Python":
            return PipelineModel.load(path)  # all of its stages are the JVM's, which has the classes it was started with
        raise ParameterError(f"{path} holds no pipeline of Python's own stages: {OF_THE_JVM}; load it with a client of Spark 4")
    stages = []
    for number, uid in enumerate(told["stageUids"]):
        place = _place(path, number, uid, len(told["stageUids"]))
        named = str(_metadata(spark, place).get("class"))
        module, _, name = named.replace("org.apache.spark", "pyspark").rpartition(".")
        if named.startswith("org.apache.spark") and not jvm_within_reach():
            raise ParameterError(f"{path}: its stage {name} is of the JVM: {OF_THE_JVM}; load it with a client of Spark 4")
        kind: Any = attribute(module, name)
        whole = (JavaMLReadable, PipelineModel) if module.startswith("pyspark.") else Params  # the others load what they hold
        if not isinstance(kind, type) or not issubclass(kind, whole):
            raise ParameterError(
                f"{path}: its stage {named} is not imported from a saved folder, which takes spark_mlfs, pyspark.ml (no stage of "
                "which holds others) and packages of registered methods: install or import the package it is of, if you trust it"
            )
        stages.append(load_pipeline(spark, place) if issubclass(kind, PipelineModel) else cast(Any, kind).load(place))
    return PipelineModel(stages)._resetUid(saved["uid"])


def _place(path: str, number: int, uid: str, count: int) -> str:
    return f"{path}/stages/{number:0{len(str(count))}d}_{uid}"


def _metadata(spark: SparkSession, path: str) -> dict[str, Any]:
    try:
        with worker_errors():
            first: Any = spark.read.text(f"{path}/metadata").first()
            return cast(dict[str, Any], from_json(first[0]))
    except AnalysisException:
        said = f"{path!r} holds nothing that was saved (no metadata to read): give a pipeline's whole folder"
        raise ParameterError(said) from None
    except (ValueError, TypeError):
        raise ParameterError(f"{path}/metadata is damaged, or not of a saved pipeline: {AGAIN}") from None
