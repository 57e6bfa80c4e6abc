"""Pipelines saved and loaded without the JVM, in pyspark's own format: where pyspark's writer and reader of pipelines ask for a
SparkContext, which a Connect client before 4.0 has not."""

from __future__ import annotations

import json
from typing import Any

from pyspark.errors import AnalysisException
from pyspark.ml import PipelineModel
from pyspark.ml.util import DefaultParamsWriter
from pyspark.sql import SparkSession

from ..errors import ParameterError, worker_errors
from ..read.frames import OF_THE_JVM
from .persistence import AGAIN, attribute


def save_pipeline(spark: SparkSession, pipeline: PipelineModel, path: str, overwrite: bool = False) -> None:
    """Saves a pipeline whose stages are Python's own; `PipelineModel.load` and `load_pipeline` read it."""
    mode, stages = "overwrite" if overwrite else "error", pipeline.stages
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
    """The pipeline saved at `path` by `save_pipeline`, or by pyspark with stages of Python's own. `ParameterError` where there is
    none, or a stage is of the JVM."""
    saved = _metadata(spark, path)
    told = saved.get("paramMap", {})
    if not str(saved.get("class")).endswith(".PipelineModel") or "stageUids" not in told or told.get("language") != "Python":
        raise ParameterError(f"{path} holds no pipeline of Python's own stages: {OF_THE_JVM}; load it with a client of Spark 4")
    stages = []
    for number, uid in enumerate(told["stageUids"]):
        place = _place(path, number, uid, len(told["stageUids"]))
        module, _, name = str(_metadata(spark, place).get("class")).rpartition(".")
        if module.startswith("org.apache.spark"):
            raise ParameterError(f"{path}: its stage {name} is of the JVM: {OF_THE_JVM}; load it with a client of Spark 4")
        kind: Any = attribute(module, name)
        if kind is None:
            raise ParameterError(f"{path}: there is no class {module}.{name} here; install the package it is of")
        stages.append(load_pipeline(spark, place) if issubclass(kind, PipelineModel) else kind.load(place))
    return PipelineModel(stages)._resetUid(saved["uid"])


def _place(path: str, number: int, uid: str, count: int) -> str:
    """Where pyspark has the stage of that number."""
    return f"{path}/stages/{number:0{len(str(count))}d}_{uid}"


def _metadata(spark: SparkSession, path: str) -> dict[str, Any]:
    try:
        with worker_errors():
            return json.loads(spark.read.text(f"{path}/metadata").first()[0])
    except AnalysisException:
        raise ParameterError(f"{path!r} holds nothing that was saved (no metadata to read): give a pipeline's folder") from None
    except (ValueError, TypeError):
        raise ParameterError(f"{path}/metadata is damaged, or not of a saved pipeline: {AGAIN}") from None
